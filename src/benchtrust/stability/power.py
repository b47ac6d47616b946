"""How small a difference of two models a cell can show (arXiv 2605.28873)."""

import math
from statistics import NormalDist

import numpy as np
import pandas as pd

from benchtrust.stability.flips import TIE, flip_rates
from benchtrust.stability.item_scores import ItemScores, item_scores


def detectable_effect(m: int, rho_d: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest difference of two paired scores that a two-sided test finds with the given power.

    Parameters
    ----------
    m : number of items, at least 1.
    rho_d : discordance, the share of items (0..1) that the two models answer differently.
    alpha, power : size and power of the test, each between 0 and 1.

    Returns
    -------
    δ* = (z₁₋α/₂ + z_power)·√(rho_d / m), an upper bound, in score points (0..1).

    Raises
    ------
    ValueError : a value outside its range.
    """
    if m < 1 or not 0 <= rho_d <= 1:
        raise ValueError(f"m={m}, rho_d={rho_d}: one is outside its range.")
    return multiple(alpha, power) * math.sqrt(rho_d / m)


def items_needed(difference: float, rho_d: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Smallest number of items at which `detectable_effect` is at most the given difference.

    Parameters
    ----------
    difference : in score points, in (0, 1].
    rho_d, alpha, power : as in `detectable_effect`.

    Raises
    ------
    ValueError : a value outside its range.
    """
    if not 0 < difference <= 1 or not 0 <= rho_d <= 1:
        raise ValueError(f"difference={difference}, rho_d={rho_d}: one is outside its range.")
    exact = rho_d * (multiple(alpha, power) / difference) ** 2
    return max(1, math.ceil(exact * (1 - TIE)))


def detectable_differences(
    items: ItemScores | np.ndarray | pd.DataFrame, alpha: float = 0.05, power: float = 0.8
) -> pd.DataFrame:
    """Smallest difference of cell scores that a cell can show, for each pair, before any correction.

    Parameters
    ----------
    items : as in `item_scores`.
    alpha, power : size and power of a two-sided test in one cell.

    Returns
    -------
    A row per pair: model_a, model_b,

    - n_items : mean number of items of a cell.
    - discordance : share of items that the two answer differently, mean over the configurations.
    - detectable : (z₁₋α/₂ + z_power) times the noise of the gap, its variance averaged over the
      configurations. For a plain mean of right and wrong answers this is `detectable_effect(n_items,
      discordance)`; by parity the rarer answer of each model counts as observed.

    Raises
    ------
    SchemaError, UnknownNameError : as `item_scores`.
    ValueError : a value outside its range.

    Source: arXiv 2605.28873, the paired detectable effect.
    """
    table = item_scores(items)
    first, second = np.triu_indices(len(table.models), 1)
    variance = ((table.added[:, first] - table.added[:, second]) ** 2).sum(axis=0).mean(axis=1)
    differs = np.abs(table.scores[first] - table.scores[second]) > TIE
    asked = table.weights > 0
    return pd.DataFrame(table.pairs, columns=["model_a", "model_b"]).assign(
        n_items=asked.sum(axis=1).mean(),
        discordance=(differs.sum(axis=2) / asked.sum(axis=1)).mean(axis=1),
        detectable=multiple(alpha, power) * np.sqrt(variance),
    )


def flips_beyond_margin(
    items: ItemScores | np.ndarray | pd.DataFrame, alpha: float = 0.05, power: float = 0.8
) -> pd.DataFrame:
    """Flip rates in which only leads count that a single cell could show.

    Each pair has its own margin, its `detectable` of `detectable_differences`; smaller leads are ties.

    Returns
    -------
    A row per pair: the columns of `detectable_differences`, with `margin` in place of `detectable`, then
    n_plus, n_minus, n_tie, n of `flip_rates` with leads up to the margin as ties, and `rate_beyond`, their ρ.

    Raises
    ------
    SchemaError, UnknownNameError, ValueError : as `detectable_differences`.
    """
    table = item_scores(items)
    margins = detectable_differences(table, alpha, power).rename(columns={"detectable": "margin"})
    rates = [
        flip_rates(table.cells[[pair.model_a, pair.model_b]], tie=max(pair.margin, TIE))
        for pair in margins.itertuples()
    ]
    counts = pd.concat(rates, ignore_index=True)[["n_plus", "n_minus", "n_tie", "n", "rho"]]
    return margins.join(counts.rename(columns={"rho": "rate_beyond"}))


def multiple(alpha: float, power: float) -> float:
    """z₁₋α/₂ + z_power: the true difference, in standard errors, that a two-sided test finds.

    Raises
    ------
    ValueError : alpha or power outside (0, 1).
    """
    if not 0 < alpha < 1 or not 0 < power < 1:
        raise ValueError(f"alpha={alpha}, power={power}: one is outside its range.")
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
