"""Flips: how often, and where, two models change places across configurations (arXiv 2605.25492)."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from math import factorial

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, UnknownNameError

TIE = 1e-12
"""Scores this close are tied: cell scores are means of rationals; equal ones may differ in the last bit."""


@dataclass(frozen=True)
class Orderings:
    """Orderings of the models that a set of configurations reaches.

    Attributes
    ----------
    table : a row per ordering, the most frequent first: `ordering` ("A > B = C"), `strict` (no tie), `n`
        configurations, `share` of the compared ones.
    n_strict : strict orderings reached, at most `n_possible` = m!.
    n_with_ties : configurations in which models tie.
    n_missing : configurations left out because a model has no score there.
    """

    table: pd.DataFrame
    n_strict: int
    n_possible: int
    n_with_ties: int
    n_missing: int


@dataclass(frozen=True)
class Reversal:
    """Configurations that reverse a pair: `a` leads by `lead_a` in `ahead`, `b` by `lead_b` in `behind`."""

    ahead: Hashable
    behind: Hashable
    lead_a: float
    lead_b: float


def score_table(scores: pd.DataFrame | np.ndarray) -> pd.DataFrame:
    """Check scores of configurations × models and return them as a frame of floats.

    Raises
    ------
    SchemaError : not two-dimensional, fewer than two models, no configuration, a model twice, values that are
        not numbers, or infinite ones.
    """
    if np.ndim(scores) != 2:
        raise SchemaError(f"Scores have {np.ndim(scores)} axes: give a configurations × models table.")
    table = pd.DataFrame(scores)
    if table.shape[1] < 2:
        raise SchemaError(f"Scores of {table.shape[1]} model(s): a comparison needs two (a column each).")
    if not len(table):
        raise SchemaError("Scores hold no configuration: give at least one row.")
    if not table.columns.is_unique:
        raise SchemaError(
            f"Model {table.columns[table.columns.duplicated()][0]!r} has two columns: keep one."
        )
    try:
        table = table.astype("float64")
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"Scores must be numbers ({error}): put the configuration into the index."
        ) from None
    if np.isinf(table.to_numpy()).any():
        raise SchemaError("Scores must be finite; NaN marks a missing cell.")
    return table


def leads(values: np.ndarray, tie: float = TIE) -> np.ndarray:
    """Who leads each pair of models.

    Parameters
    ----------
    values : (..., m) scores of m models.
    tie : largest difference that counts as a tie.

    Returns
    -------
    (..., m (m - 1) / 2): 1 where the first model of the pair leads, -1 where the second does, 0 in a tie, NaN
    where a score is missing. Pairs in the order of ``np.triu_indices(m, 1)``.
    """
    first, second = np.triu_indices(values.shape[-1], 1)
    lead = values[..., first] - values[..., second]
    return np.where(np.abs(lead) <= tie, 0.0, np.sign(lead))


def pair_rho(values: np.ndarray, tie: float = TIE) -> np.ndarray:
    """Flip rate ρ of each pair of models from complete scores: (..., C, m) → (..., m (m - 1) / 2)."""
    lead = leads(values, tie)
    return np.minimum((lead > 0).sum(axis=-2), (lead < 0).sum(axis=-2)) / lead.shape[-2]


def flip_rates(scores: pd.DataFrame | np.ndarray, tie: float = TIE) -> pd.DataFrame:
    """Count for each pair of models the configurations in which either leads.

    Parameters
    ----------
    scores : configurations × models; NaN = missing cell.
    tie : largest difference that counts as a tie.

    Returns
    -------
    A row per pair, in the order of the columns:

    - model_a, model_b : the pair.
    - n_plus, n_minus, n_tie : configurations in which a leads, b leads, they tie.
    - n_missing : configurations in which either has no score; neither compared nor counted in n.
    - n : n_plus + n_minus + n_tie, the |C| of the paper.
    - rho : min(n_plus, n_minus) / n, in [0, .5]; NaN if n = 0.
    - disagreement : min(n_plus, n_minus) / (n_plus + n_minus), in [0, .5]; NaN if all tie.

    Raises
    ------
    SchemaError : as `score_table`.

    Source: SafetyRepro (arXiv 2605.25492), the flip rate ρ_flip; ties count in |C| only.
    """
    table = score_table(scores)
    values = table.to_numpy()
    first, second = np.triu_indices(table.shape[1], 1)
    counts = [_counts(values[:, [i]] - values[:, i + 1 :], tie) for i in range(table.shape[1] - 1)]
    n_plus, n_minus, n_tie, n_missing = np.concatenate(counts, axis=1)
    rates = pd.DataFrame(
        {
            "model_a": table.columns[first],
            "model_b": table.columns[second],
            "n_plus": n_plus,
            "n_minus": n_minus,
            "n_tie": n_tie,
            "n_missing": n_missing,
            "n": n_plus + n_minus + n_tie,
        }
    )
    fewer = rates[["n_plus", "n_minus"]].min(axis=1)
    return rates.assign(rho=fewer / rates["n"], disagreement=fewer / (rates["n_plus"] + rates["n_minus"]))


def _counts(leads: np.ndarray, tie: float) -> np.ndarray:
    """(4, P) configurations in which the first of a pair leads, the second does, they tie, one is missing."""
    tied = np.abs(leads) <= tie
    return np.array([(leads > tie).sum(0), (leads < -tie).sum(0), tied.sum(0), np.isnan(leads).sum(0)])


def orderings(scores: pd.DataFrame | np.ndarray, tie: float = TIE) -> Orderings:
    """Count the orderings of the models that the configurations reach, ties told apart.

    Parameters
    ----------
    scores : configurations × models; a configuration with a NaN is left out and counted.
    tie : largest difference between neighbours that counts as a tie.

    Raises
    ------
    SchemaError : as `score_table`.

    Source: SafetyRepro (arXiv 2605.25492), reachable orderings.
    """
    table = score_table(scores)
    complete = table.dropna()
    names = [str(name) for name in table.columns]
    reached = Counter(_ordering(row, names, tie) for row in complete.to_numpy())
    rows = [(text, strict, n, n / len(complete)) for (text, strict), n in reached.items()]
    found = pd.DataFrame(rows, columns=["ordering", "strict", "n", "share"]).astype({"strict": bool})
    return Orderings(
        table=found.sort_values(["n", "ordering"], ascending=[False, True], ignore_index=True),
        n_strict=int(found["strict"].sum()),
        n_possible=factorial(len(names)),
        n_with_ties=int(found.loc[~found["strict"], "n"].sum()),
        n_missing=len(table) - len(complete),
    )


def reversal(
    scores: pd.DataFrame | np.ndarray, a: Hashable, b: Hashable, tie: float = TIE
) -> Reversal | None:
    """Find the two configurations that reverse models `a` and `b` by most, or None if none do.

    Proposition 1: the pair's rho is positive exactly if this is not None.

    Raises
    ------
    SchemaError : as `score_table`.
    UnknownNameError : no such model.

    Source: SafetyRepro (arXiv 2605.25492), Proposition 1.
    """
    table = score_table(scores)
    for model in (a, b):
        if model not in table.columns:
            raise UnknownNameError(f"Unknown model {model!r}. Models: {', '.join(map(str, table.columns))}.")
    lead = table[a] - table[b]
    if not (lead.max() > tie and lead.min() < -tie):
        return None
    top, bottom = int(np.nanargmax(lead)), int(np.nanargmin(lead))
    return Reversal(table.index[top], table.index[bottom], float(lead.iloc[top]), float(-lead.iloc[bottom]))


def _ordering(row: np.ndarray, names: list[str], tie: float) -> tuple[str, bool]:
    """One configuration's ordering as text, and whether it is strict."""
    ranked = np.argsort(-row, kind="stable")
    level = np.concatenate([[0], np.cumsum(-np.diff(row[ranked]) > tie)])
    groups = [sorted(ranked[level == place]) for place in range(level[-1] + 1)]
    text = " > ".join(" = ".join(names[model] for model in group) for group in groups)
    return text, len(groups) == len(names)
