"""The questions of each pair of models, answered side by side: more stable than ties? a real reversal?"""

import math

import numpy as np
import pandas as pd

from benchtrust.stability.flips import flip_rates
from benchtrust.stability.item_scores import ItemScores, item_scores, pool_decoding
from benchtrust.stability.nulls import flip_null
from benchtrust.stability.power import detectable_differences
from benchtrust.stability.resampling import resampling_band
from benchtrust.stability.reversals import (
    MCNEMAR,
    compare_cells,
    holm,
    mean_leads,
    qualitative_interaction,
)

STABLE, REVERSED, UNDETERMINED = "more stable than ties", "a real reversal", "undetermined at this m"
BOTH = "a real reversal, yet more stable than ties"
LEADS = "one leads on average"


def verdicts(
    items: ItemScores | np.ndarray | pd.DataFrame,
    n_draws: int,
    rng: np.random.Generator,
    alpha: float = 0.05,
    power: float = 0.8,
) -> pd.DataFrame:
    """Answer both questions for each pair of models on one benchmark.

    *More stable than ties?* The two models' labels are permuted within items (`flip_null`), and the flip rate
    is compared with the lower tail. Where each model answers alike in all configurations, tied models have a
    stable order too, and this says nothing even of a large lead; so the mean gap is tested as well
    (`mean_leads`, Holm over the pairs).

    *A real reversal?* Two tests, Bonferroni over both. Some cell with a ahead and some cell with b ahead,
    each significant one-sided after Holm over pairs × configurations (`compare_cells`); and Gail and Simon's
    statistic with the decodings of a prompt pooled (`qualitative_interaction`), Holm over the pairs. The
    first finds a reversal by much in few cells, the second one by little in many.

    Parameters
    ----------
    items : as in `item_scores`; the same items in every configuration. Without a level named decoding nothing
        is pooled.
    n_draws : draws of each null and of the band.
    rng : their source.
    alpha : size of either answer, over the pairs of the benchmark.
    power : with `alpha`, of `detectable`.

    Returns
    -------
    A row per pair: the columns of `detectable_differences` (one cell, before any correction), then

    - n_plus, n_minus, n_tie, n, rho : as in `flip_rates`.
    - null_mean, null_low, null_high : mean, 5 and 95 % of ρ when the two are exchangeable.
    - p_stable : lower tail of the observed ρ there; p_stable_holm : after Holm over the pairs.
    - band_low, band_high, band_drift : 5 and 95 % of ρ under resampled items, and their mean minus ρ.
    - mean_gap, p_mean : gap averaged over the configurations, and its p-value after Holm over the pairs.
    - lead_a, lead_b : the largest lead of either, 0 if it never leads.
    - p_cells, p_pooled : intersection-union p-value of the first test, and the same of pooled decodings.
    - p_interaction : p-value of the second, after Holm over the pairs.
    - p_reversal : min(1, 2 min(p_cells, p_interaction)).
    - test : how single cells were compared.
    - verdict : "more stable than ties", "a real reversal", or both; else "one leads on average", or
      "undetermined at this m".

    Raises
    ------
    SchemaError, UnknownNameError : as `item_scores` and `resampled_cells`.
    ValueError : too few draws to reach `alpha` after the corrections.

    Source: the book, "Rank flips: the theory".
    """
    table = item_scores(items)
    answers = pd.concat(
        [
            detectable_differences(table, alpha, power),
            flip_rates(table.cells)[["n_plus", "n_minus", "n_tie", "n", "rho"]],
            _stable(table, n_draws, rng),
            resampling_band(table, n_draws, rng).quantiles()[["low", "high", "drift"]].add_prefix("band_"),
            _reversed(table, n_draws, rng, alpha),
        ],
        axis=1,
        join="inner",
    )
    stable, turned = answers["p_stable_holm"] <= alpha, answers["p_reversal"] <= alpha
    found = {BOTH: stable & turned, STABLE: stable, REVERSED: turned, LEADS: answers["p_mean"] <= alpha}
    return answers.assign(verdict=np.select(list(found.values()), list(found), default=UNDETERMINED))


def _stable(table: ItemScores, n_draws: int, rng: np.random.Generator) -> pd.DataFrame:
    nulls = [flip_null(table.pair(*pair), n_draws, rng) for pair in table.pairs]
    p = np.array([null.lower_tail for null in nulls])
    low, high = np.quantile([null.largest for null in nulls], [0.05, 0.95], axis=1)
    mean = [null.largest.mean() for null in nulls]
    return pd.DataFrame(
        {"null_mean": mean, "null_low": low, "null_high": high, "p_stable": p, "p_stable_holm": holm(p)}
    )


def _reversed(table: ItemScores, n_draws: int, rng: np.random.Generator, alpha: float) -> pd.DataFrame:
    cells = compare_cells(table, n_draws, rng)
    _check_draws(cells, len(table.pairs), n_draws, alpha)
    pooled = pool_decoding(table) if "decoding" in table.configurations.names else table
    gaps = cells["gap"].to_numpy().reshape(len(table.pairs), -1)
    p_cells = _both_ways(cells)
    p_interaction = holm(qualitative_interaction(pooled, n_draws, rng)["p"])
    means = mean_leads(table, n_draws, rng)
    return pd.DataFrame(
        {
            "mean_gap": means["mean_gap"],
            "p_mean": holm(means["p"]),
            "lead_a": gaps.max(axis=1).clip(min=0),
            "lead_b": (-gaps).max(axis=1).clip(min=0),
            "p_cells": p_cells,
            "p_pooled": _both_ways(compare_cells(pooled, n_draws, rng)),
            "p_interaction": p_interaction,
            "p_reversal": np.minimum(1, 2 * np.minimum(p_cells, p_interaction)),
            "test": cells["test"].iloc[0],
        }
    )


def _both_ways(cells: pd.DataFrame) -> np.ndarray:
    """Intersection-union p-value of each pair: a ahead somewhere and b ahead somewhere."""
    sides = cells.groupby(["model_a", "model_b"], sort=False)[["p_ahead_holm", "p_behind_holm"]].min()
    return sides.max(axis=1).to_numpy()


def _check_draws(cells: pd.DataFrame, n_pairs: int, n_draws: int, alpha: float) -> None:
    """Draws enough for the smallest p-values to reach alpha after all corrections."""
    drawn = 0 if (cells["test"] == MCNEMAR).all() else len(cells)
    needed = math.ceil(max(drawn, 2 * n_pairs) / alpha)
    if n_draws < needed:
        raise ValueError(f"n_draws={n_draws} cannot reach alpha={alpha}: give at least {needed}.")
