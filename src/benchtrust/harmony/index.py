"""HARMONY: how evenly a model performs over the clusters of a benchmark (arXiv 2509.25671)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import softmax, xlogy

from benchtrust.errors import SchemaError


@dataclass(frozen=True)
class Harmony:
    """HARMONY of one model on one partition, and other summaries of the same spread.

    Attributes
    ----------
    value : H, in [0, 1].
    k : number of clusters.
    bandwidth, epsilon : b and ε of the formula; no H means anything without its b.
    mean : weighted mean accuracy μ.
    masses : (k,) performance mass p of each cluster; they sum to one.
    at_uniform : H(w) / log k, what H would be at equal accuracy in all clusters. Not a bound.
    size_free : H with equal weights, in μ and in p.
    sd : weighted standard deviation of the accuracies.
    gini : weighted Gini coefficient of the accuracies, in [0, 1).
    renyi : Rényi entropy of order 2 of the masses over log k, in [0, 1].
    worst : lowest accuracy, and `worst_cluster`, its cluster.
    """

    value: float
    k: int
    bandwidth: float
    epsilon: float
    mean: float
    masses: np.ndarray
    at_uniform: float
    size_free: float
    sd: float
    gini: float
    renyi: float
    worst: float
    worst_cluster: int


@dataclass(frozen=True)
class ClusterScores:
    """What a model scored in each cluster.

    Attributes
    ----------
    accuracy : (k,) mean score of the cluster's items that were scored.
    sizes : (k,) how many these are.
    n_missing : items without a score, left out.
    """

    accuracy: np.ndarray
    sizes: np.ndarray
    n_missing: int


def harmony(
    accuracy: np.ndarray, weights: np.ndarray | None = None, bandwidth: float = 0.1, epsilon: float = 0.0
) -> Harmony:
    """HARMONY H = -(1 / log k) Σ p log(p + ε), with p ∝ w exp(-((Ψ - μ) / b)²) and μ = Σ w Ψ.

    Parameters
    ----------
    accuracy : (k,) accuracies Ψ of the clusters, in [0, 1].
    weights : (k,) sizes or shares w of the clusters, > 0; equal ones by default.
    bandwidth : b, > 0, in score points: a constant, since in units of the spread of Ψ itself H would not
        change with the spread.
    epsilon : ε, from 0 to below 1; not needed, since 0 log 0 is taken as 0. It lowers H a little.

    Raises
    ------
    SchemaError : one cluster, accuracies outside 0..1 or missing, weights that do not fit or are not
        positive, b or ε outside its range.

    Source: arXiv 2509.25671, HARMONY; the values of b and ε are not published there.
    """
    accuracy, weights = _checked(accuracy, weights)
    _check_constants(bandwidth, epsilon)
    k, equal = len(accuracy), np.full(len(accuracy), 1 / len(accuracy))
    mean = float(weights @ accuracy)
    mass = masses(accuracy, weights, bandwidth)
    pairs = np.abs(accuracy[:, None] - accuracy)
    return Harmony(
        value=float(entropy(mass, epsilon)),
        k=k,
        bandwidth=bandwidth,
        epsilon=epsilon,
        mean=mean,
        masses=mass,
        at_uniform=float(entropy(weights, epsilon)),
        size_free=float(entropy(masses(accuracy, equal, bandwidth), epsilon)),
        sd=float(np.sqrt(weights @ (accuracy - mean) ** 2)),
        gini=float(weights @ pairs @ weights / (2 * mean)) if mean > 0 else 0.0,
        renyi=float(-np.log((mass**2).sum()) / np.log(k)),
        worst=float(accuracy.min()),
        worst_cluster=int(accuracy.argmin()),
    )


def cluster_scores(scores: np.ndarray | pd.Series, labels: np.ndarray) -> ClusterScores:
    """Average item scores by cluster; these are the accuracies and weights of `harmony`.

    Parameters
    ----------
    scores : (n,) in [0, 1], NaN = not asked, left out and counted.
    labels : (n,) clusters 0..k-1, as of `partition`.

    Raises
    ------
    SchemaError : as many labels as scores are needed; a cluster without a scored item; scores outside 0..1.
    """
    scores, labels = np.asarray(scores, dtype="float64"), np.asarray(labels)
    if scores.ndim != 1 or scores.shape != labels.shape:
        raise SchemaError(f"{scores.shape} scores and {labels.shape} labels: give one of each for each item.")
    asked = ~np.isnan(scores)
    if ((scores[asked] < 0) | (scores[asked] > 1)).any():
        raise SchemaError("Item scores must lie between 0 and 1; NaN marks an item that was not asked.")
    sizes = np.bincount(labels[asked], minlength=int(labels.max()) + 1)
    if not sizes.all():
        raise SchemaError(
            f"Cluster {int(sizes.argmin())} has no item with a score: partition scored items only."
        )
    sums = np.bincount(labels[asked], weights=scores[asked], minlength=len(sizes))
    return ClusterScores(sums / sizes, sizes, int((~asked).sum()))


def masses(accuracy: np.ndarray, weights: np.ndarray, bandwidth: float) -> np.ndarray:
    """Performance masses p of arXiv 2509.25671 along the last axis, of any number of draws at once.

    Parameters
    ----------
    accuracy, weights : (..., k), the weights summing to one; a cluster of weight 0 counts in k.
    bandwidth : b, > 0.
    """
    mean = (weights * accuracy).sum(axis=-1, keepdims=True)
    logs = np.log(weights, where=weights > 0, out=np.full(weights.shape, -np.inf))
    return softmax(logs - ((accuracy - mean) / bandwidth) ** 2, axis=-1)


def redrawn(counts: np.ndarray, labels: np.ndarray, scores: np.ndarray, bandwidth: float) -> np.ndarray:
    """(draws,) H of items drawn again, the partition as given; a cluster that a draw misses counts in k.

    Parameters
    ----------
    counts : (draws, n) how often each item is in a draw.
    labels, scores : (n,) clusters 0..k-1 and scores of the items, none missing.
    bandwidth : as in `harmony`.
    """
    at, shape = (np.arange(len(labels)), labels), (len(labels), int(labels.max()) + 1)
    members, right = (sparse.csr_array((own, at), shape=shape) for own in (np.ones(len(labels)), scores))
    sizes, sums = counts @ members, counts @ right
    weights = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)
    return entropy(masses(sums / np.maximum(sizes, 1), weights, bandwidth))


def entropy(p: np.ndarray, epsilon: float = 0.0) -> np.ndarray:
    """Shannon entropy over its largest value, -(1 / log k) Σ p log(p + ε), along the last axis, k long."""
    return np.maximum(-xlogy(p, p + epsilon).sum(axis=-1) / np.log(p.shape[-1]), 0.0)


def _checked(accuracy: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    accuracy = np.asarray(accuracy, dtype="float64")
    if accuracy.ndim != 1 or len(accuracy) < 2:
        raise SchemaError(f"Accuracies of shape {accuracy.shape}: evenness needs two clusters or more.")
    if not ((accuracy >= 0) & (accuracy <= 1)).all():
        raise SchemaError("Accuracies must lie between 0 and 1, none missing.")
    weights = np.ones(len(accuracy)) if weights is None else np.asarray(weights, dtype="float64")
    if weights.shape != accuracy.shape:
        raise SchemaError(f"{weights.shape} weights do not fit {len(accuracy)} clusters: give one for each.")
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise SchemaError("Weights must be positive: leave empty clusters out.")
    return accuracy, weights / weights.sum()


def _check_constants(bandwidth: float, epsilon: float = 0.0) -> None:
    if not (0 < bandwidth < np.inf and 0 <= epsilon < 1):
        raise SchemaError(
            f"bandwidth = {bandwidth}, epsilon = {epsilon}: b must be positive, ε from 0 to below 1."
        )
