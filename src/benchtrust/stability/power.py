"""How small a difference of two models a cell can show (arXiv 2605.28873)."""

import math
from statistics import NormalDist

import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.responses import CONFIGURATION


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
    if m < 1 or not 0 <= rho_d <= 1 or not 0 < alpha < 1 or not 0 < power < 1:
        raise ValueError(f"m={m}, rho_d={rho_d}, alpha={alpha}, power={power}: one is outside its range.")
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * math.sqrt(rho_d / m)


def discordance(frame: pd.DataFrame, a: str, b: str) -> pd.Series:
    """Share of items that two models answer differently, in each configuration that both have.

    Parameters
    ----------
    frame : responses to one benchmark, one sample an item; an answer without a score counts as 0.

    Returns
    -------
    Series indexed by template, shots, decoding, scoring.

    Raises
    ------
    SchemaError : no item that both were asked in one configuration.
    """
    own = frame[frame["model"].isin([a, b])].assign(score=lambda f: f["score"].fillna(0.0))
    wide = own.pivot(index=[*CONFIGURATION, "item_id"], columns="model", values="score").dropna()
    if not len(wide) or wide.shape[1] < 2:
        raise SchemaError(f"{a} and {b} were asked no common item in a common configuration.")
    return (wide[a] != wide[b]).groupby(level=CONFIGURATION).mean()
