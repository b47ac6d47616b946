"""Is a reversal real? Paired tests of two models, cell by cell and over all configurations at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import bdtr

from benchtrust.errors import SchemaError
from benchtrust.stability.flips import TIE
from benchtrust.stability.item_scores import ItemScores, item_scores
from benchtrust.stability.nulls import blocks

MCNEMAR, FLIPS, FOLDED = "mid-p McNemar", "sign flips of items", "sign flips of folded items"


@dataclass(frozen=True)
class McNemar:
    """Paired right and wrong answers of two models; arrays where several cells were given.

    Attributes
    ----------
    n01, n10 : items that only the second, only the first model has right.
    n : items with an answer of both.
    n_missing : items without one, left out.
    p : two-sided mid-p.
    p_ahead : one-sided mid-p of the first model being better.
    """

    n01: int | np.ndarray
    n10: int | np.ndarray
    n: int | np.ndarray
    n_missing: int | np.ndarray
    p: float | np.ndarray
    p_ahead: float | np.ndarray


def mcnemar(a: np.ndarray, b: np.ndarray) -> McNemar:
    """Exact McNemar test with the mid-p.

    Parameters
    ----------
    a, b : (..., items) answers of two models, 1 = right, 0 = wrong, NaN = not asked; the last axis is paired.

    Returns
    -------
    `McNemar`. Without a discordant item, p = 1 (and p_ahead = .5). The size stays at most nominal as long as
    some items are concordant; where the two differ on every item the mid-p can exceed it a little.

    Raises
    ------
    SchemaError : shapes that differ, or other values.

    Source: Fagerland, Lydersen & Laake (2013), BMC Medical Research Methodology 13:91.
    """
    a, b = np.asarray(a, dtype="float64"), np.asarray(b, dtype="float64")
    if a.shape != b.shape or a.ndim < 1:
        raise SchemaError(f"Answers of shapes {a.shape} and {b.shape} cannot be paired.")
    if not (_binary(a) and _binary(b)):
        raise SchemaError("McNemar needs answers that are right (1) or wrong (0): use `compare_cells`.")
    paired = ~(np.isnan(a) | np.isnan(b))
    n01, n10 = ((x < y).sum(axis=-1) for x, y in ((a, b), (b, a)))
    fewer, n = np.minimum(n01, n10), n01 + n10
    point = _below(fewer + 1, n) - _below(fewer, n)
    p = np.where(n01 == n10, 1 - point / 2, 2 * _below(fewer, n) + point)
    return McNemar(
        n01=n01[()],
        n10=n10[()],
        n=paired.sum(axis=-1)[()],
        n_missing=(~paired).sum(axis=-1)[()],
        p=np.where(n == 0, 1.0, p)[()],
        p_ahead=((_below(n01, n) + _below(n01 + 1, n)) / 2)[()],
    )


def holm(p: np.ndarray) -> np.ndarray:
    """P-values (n,) adjusted for being n, by Holm's step-down rule."""
    p = np.asarray(p, dtype="float64")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1)
    return adjusted


def compare_cells(
    items: ItemScores | np.ndarray | pd.DataFrame, n_draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Test each pair of models in each configuration.

    The test follows from how the benchmark makes a cell's score, and is named in the result:

    - a plain mean of right and wrong answers: mid-p McNemar;
    - any other mean (partial scores, decodings pooled, parts of unequal size): random sign flips of the
      items' differences;
    - parity: the same after folding. The score is twice the share of a model's rarer answer, so an item
      counts for a model if it holds the answer that is the rarer one there. McNemar on the answers themselves
      would compare the shares, not their distances from a half. Conservative near a half, where chance
      decides which answer is the rarer.

    Sign flips are exact, up to the draws, for models that are exchangeable within items; by parity, given
    which answers are the rarer ones. An item bootstrap of the difference is not used for p-values: with 10 to
    30 items its tails are too thin.

    Parameters
    ----------
    items : as in `item_scores`.
    n_draws : draws of the last two; the smallest p-value is 1 / (2 n_draws + 2).
    rng : their source.

    Returns
    -------
    A row per pair and configuration: model_a, model_b, the levels of the configuration,

    - gap : cell score of a minus that of b.
    - n01, n10 : items that only b, only a has right; NA where the test does not count them.
    - p_ahead, p_behind : one-sided mid-p of a, of b being better; p : two-sided.
    - p_ahead_holm, p_behind_holm, p_holm : the same after Holm over all rows.
    - test.

    Raises
    ------
    SchemaError, UnknownNameError : as `item_scores`; no draw for a test that draws.

    Source: the book, "Rank flips: the theory".
    """
    table = item_scores(items)
    gaps = pair_gaps(table.cells.to_numpy())
    test = _test(table)
    counts = {"n01": pd.NA, "n10": pd.NA}
    if test == MCNEMAR:
        first, second = np.triu_indices(len(table.models), 1)
        found = mcnemar(table.scores[first], table.scores[second])
        counts = {"n01": found.n01.ravel(), "n10": found.n10.ravel()}
        p_ahead, p = found.p_ahead, found.p
    else:
        p_ahead = _tail(gaps, _noise(table, n_draws, rng))
        p = 2 * np.minimum(p_ahead, 1 - p_ahead)
    p_values = {"p_ahead": p_ahead.ravel(), "p_behind": 1 - p_ahead.ravel(), "p": p.ravel()}
    frame = _pair_rows(table).assign(gap=gaps.ravel(), **counts, **p_values)
    return frame.assign(**{f"{name}_holm": holm(value) for name, value in p_values.items()}, test=test)


def qualitative_interaction(
    items: ItemScores | np.ndarray | pd.DataFrame, n_draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Test each pair for being ordered one way by some configurations and the other way by others.

    Gail and Simon's statistics: Q = Σ z² over the configurations in which a (or b) is ahead, z the gap in
    units of its noise. Their reference distribution takes the configurations as independent. Here these share
    their items, so noise is drawn for whole items, by flipping the signs of their differences in all
    configurations at once. "a is ahead nowhere" and "b is ahead nowhere" are each tested at their boundary,
    all gaps zero, and p is the larger of the two p-values (intersection-union).

    Parameters
    ----------
    items : as in `item_scores`.
    n_draws : number of draws; all are held: n_draws × pairs × configurations numbers.
    rng : their source.

    Returns
    -------
    A row per pair: model_a, model_b, q_ahead, q_behind, p_ahead, p_behind (a, b ahead somewhere), p.

    Raises
    ------
    SchemaError, UnknownNameError : as `compare_cells`.

    Source: Gail & Simon (1985), Biometrics 41:361-372, for the statistics.
    """
    table = item_scores(items)
    gaps = pair_gaps(table.cells.to_numpy())
    every = np.concatenate([gaps[None], *_noise(table, n_draws, rng)])
    scale = np.sqrt((every**2).mean(axis=0))
    z = np.divide(every, scale, where=scale > TIE, out=np.zeros_like(every))
    rows = pd.DataFrame(table.pairs, columns=["model_a", "model_b"])
    for side, sign in (("ahead", 1), ("behind", -1)):
        q = (np.maximum(sign * z, 0) ** 2).sum(axis=2)
        rows = rows.assign(**{f"q_{side}": q[0], f"p_{side}": (q >= q[0] * (1 - TIE)).mean(axis=0)})
    return rows.assign(p=rows[["p_ahead", "p_behind"]].max(axis=1))


def mean_leads(
    items: ItemScores | np.ndarray | pd.DataFrame, n_draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Test each pair for a lead on average over the configurations, the item as the unit.

    The noise of the mean gap is drawn for whole items, as in `qualitative_interaction`.

    Returns
    -------
    A row per pair: model_a, model_b, mean_gap (a minus b), p (two-sided mid-p).

    Raises
    ------
    SchemaError, UnknownNameError : as `compare_cells`.

    Source: the book, "Rank flips: the theory".
    """
    table = item_scores(items)
    gaps = pair_gaps(table.cells.to_numpy()).mean(axis=-1)
    ahead = _tail(gaps, (draws.mean(axis=-1) for draws in _noise(table, n_draws, rng)))
    rows = pd.DataFrame(table.pairs, columns=["model_a", "model_b"])
    return rows.assign(mean_gap=gaps, p=2 * np.minimum(ahead, 1 - ahead))


def pair_gaps(cells: np.ndarray) -> np.ndarray:
    """Gap of each pair from cell scores: (..., C, M) → (..., pairs, C)."""
    first, second = np.triu_indices(cells.shape[-1], 1)
    return np.swapaxes(cells[..., first] - cells[..., second], -1, -2)


def _binary(scores: np.ndarray) -> bool:
    return bool((np.isnan(scores) | (scores == 0) | (scores == 1)).all())


def _below(k: np.ndarray, n: np.ndarray) -> np.ndarray:
    """P(X < k) for X ~ Bin(n, 1/2)."""
    return np.where(k > 0, bdtr(np.maximum(k - 1, 0), n, 0.5), 0.0)


def _test(table: ItemScores) -> str:
    if table.parity:
        return FOLDED
    asked = table.weights > 0
    lowest = np.where(asked, table.weights, np.inf).min(axis=1)
    equal = bool(np.isclose(table.weights.max(axis=1), lowest).all())
    return MCNEMAR if equal and _binary(table.scores) else FLIPS


def _noise(table: ItemScores, n_draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draws of the gaps of models that are equally good, (draws, pairs, C), in blocks."""
    if n_draws < 1:
        raise SchemaError(f"{n_draws} draws: at least one is needed.")
    first, second = np.triu_indices(len(table.models), 1)
    differences = table.added[:, first] - table.added[:, second]
    flat = differences.reshape(len(differences), -1)
    signs = rng.choice([-1.0, 1.0], size=(n_draws, len(flat)))
    for block in blocks(n_draws, flat.shape[1]):
        yield (signs[block] @ flat).reshape(-1, *differences.shape[1:])


def _tail(observed: np.ndarray, noise: Iterator[np.ndarray]) -> np.ndarray:
    """One-sided mid-p of each observed gap, itself counted as one of the draws."""
    above, equal, n = np.zeros(observed.shape), np.ones(observed.shape), 1
    for draws in noise:
        beyond = draws - observed
        above += (beyond > TIE).sum(axis=0)
        equal += (np.abs(beyond) <= TIE).sum(axis=0)
        n += len(draws)
    return (above + equal / 2) / n


def _pair_rows(table: ItemScores) -> pd.DataFrame:
    """A row per pair and configuration with their names."""
    cells = table.configurations.to_frame(index=False)
    return pd.concat(
        [cells.assign(model_a=a, model_b=b)[["model_a", "model_b", *cells]] for a, b in table.pairs],
        ignore_index=True,
    )
