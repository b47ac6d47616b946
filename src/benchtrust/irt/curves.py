"""The two-parameter logistic model: chance of a right answer, and what an answer tells about ability."""

import numpy as np
from scipy.special import expit


def probability(theta: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return P(x = 1) = σ(a(θ − b)).

    Parameters
    ----------
    theta : abilities on the logit scale, of any shape that broadcasts with the items.
    a : discriminations, > 0 (chance rises with ability).
    b : difficulties, on the scale of `theta`.

    Source: Birnbaum (1968); arXiv 2606.20626, section 2.
    """
    return expit(a * (theta - b))


def information(theta: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Fisher information I = a²P(1 − P) of one answer about `theta`; never negative.

    Shapes as `probability`. Summed over the items of a test it is the test information, whose inverse root is
    the standard error of the maximum-likelihood ability.

    Source: Birnbaum (1968); arXiv 2606.20626, section 2.
    """
    z = a * (theta - b)
    return a**2 * expit(z) * expit(-z)  # 1 - P would lose its digits where P is nearly 1
