"""Ranks of scores and abilities, and how two rankings go together."""

import numpy as np

LEAST = 3
"""Numbers under which a rank correlation says nothing."""

_DECIMALS = 12


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from below; values that differ by rounding tie."""
    from scipy.stats import rankdata

    return rankdata(np.round(values, _DECIMALS))


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation of the pairs that lack neither; NaN with fewer than three or where a side is constant.

    Parameters
    ----------
    first, second : (n,) numbers, paired by place; NaN = missing.
    """
    pairs = np.array([first, second], dtype="float64")
    both = np.array([ranks(side) for side in pairs[:, ~np.isnan(pairs).any(axis=0)]])
    if both.shape[1] < LEAST or (np.ptp(both, axis=1) == 0).any():
        return float("nan")
    return float(np.corrcoef(both)[0, 1])
