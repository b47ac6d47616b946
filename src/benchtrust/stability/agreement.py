"""Rank agreement: do the configurations rank the models alike? (SafetyRepro, arXiv 2605.25492)"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.stability.flips import TIE, leads, score_table


@dataclass(frozen=True)
class RankAgreement:
    """Mean Kendall τ_b over pairs of configurations.

    Attributes
    ----------
    tau : mean over the defined pairs, in [-1, 1]; NaN if there is none.
    n_pairs : unordered pairs of configurations.
    n_undefined : of these, the pairs left out: a configuration ranks all models equal, or lacks a model.
    """

    tau: float
    n_pairs: int
    n_undefined: int


def rank_agreement(scores: pd.DataFrame | np.ndarray, tie: float = TIE) -> RankAgreement:
    """Average Kendall's τ_b over all unordered pairs of configurations' model rankings.

    Without ties it equals the mean over model pairs of (|C| (1 - 2ρ)² - 1) / (|C| - 1).

    Parameters
    ----------
    scores : configurations × models; NaN = missing cell.
    tie : largest difference that counts as a tie.

    Raises
    ------
    SchemaError : as `score_table`, or fewer than two configurations.

    Source: SafetyRepro (arXiv 2605.25492), τ_R; τ_b where there are ties, undefined pairs counted.
    """
    table = score_table(scores)
    if len(table) < 2:
        raise SchemaError("Scores of one configuration: agreement needs two (a row each).")
    lead = leads(table.dropna().to_numpy(), tie)
    lead = lead[np.any(lead != 0, axis=1)]
    n_led = (lead**2).sum(axis=1)
    taus = (lead @ lead.T / np.sqrt(np.outer(n_led, n_led)))[np.triu_indices(len(lead), 1)]
    n_pairs = len(table) * (len(table) - 1) // 2
    return RankAgreement(
        tau=float(taus.mean()) if len(taus) else float("nan"),
        n_pairs=n_pairs,
        n_undefined=n_pairs - len(taus),
    )


def agreement_from_rates(rates: pd.DataFrame) -> float:
    """τ_R of rankings without ties, from the flip rates alone: the mean of (|C| (1 - 2ρ)² - 1) / (|C| - 1).

    Parameters
    ----------
    rates : frame of `flip_rates`.

    Returns
    -------
    A value in [-1, 1]; NaN where a pair is tied or missing somewhere, or there is one configuration only.

    Source: SafetyRepro (arXiv 2605.25492); proof in the book, "Rank flips: the theory".
    """
    n = rates["n"]
    if (rates[["n_tie", "n_missing"]] > 0).to_numpy().any() or (n < 2).any():
        return float("nan")
    return float(((n * (1 - 2 * rates["rho"]) ** 2 - 1) / (n - 1)).mean())
