"""Correlations of many draws at once."""

import numpy as np
from scipy.stats import rankdata


def pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(draws,) Pearson correlations of the rows of (draws, n) each; NaN where one is constant or unknown."""
    a, b = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.divide((a * b).sum(axis=1), scale, where=scale > 1e-12, out=np.full(len(a), np.nan))


def spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(draws,) rank correlations of the rows, as `pearson` of their ranks."""
    return pearson(*(rankdata(values, axis=1) for values in (x, y)))
