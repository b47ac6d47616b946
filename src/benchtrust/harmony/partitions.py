"""Spectral partition of a benchmark's items, or the reason why there is none (arXiv 2509.25671)."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from benchtrust.errors import SchemaError
from benchtrust.harmony.similarity import Similarity, given_similarity

LINK = 1e-5
"""Similarities up to this are no link: at τ = 1 and the usual floor, items sure of different outcomes."""

_DENSE = 500
"""Items up to which all eigenvectors are computed."""

_DRAWN = 150
"""Items of an affinity without clusters, at most; fewer items give larger silhouettes by chance."""

_CLOUD_KS = (2, 4, 8, 16)
"""Numbers of clusters tried on a cloud, besides the one chosen."""

_STARTS, _NULL_STARTS = 10, 3
"""Starts of k-means, of which the best is kept."""


@dataclass(frozen=True)
class Partition:
    """Clusters of n items.

    Attributes
    ----------
    labels : (n,) cluster of each item, 0..k-1, the largest first; all 0 where there is no partition.
    k : clusters in `labels`; 1 where there is no partition.
    silhouettes : mean silhouette of the items for each k tried, in [-1, 1].
    realised : clusters that k-means made of each k tried.
    components : (n,) connected component of each item, 0..c-1.
    eigenvalues : leading ones of the normalised affinity, falling.
    null : (n_null,) largest silhouettes of affinities without clusters; empty if none was needed.
    reason : why this k, or why there is no partition.
    """

    labels: np.ndarray
    k: int
    silhouettes: pd.Series
    realised: pd.Series
    components: np.ndarray
    eigenvalues: np.ndarray
    null: np.ndarray
    reason: str


def partition(
    similarity: Similarity | np.ndarray,
    k_range: tuple[int, int] | Sequence[int],
    rng: np.random.Generator,
    link: float = LINK,
    n_null: int = 19,
) -> Partition:
    """Cut items into the number of clusters that has the largest mean silhouette.

    1. Connected components of the graph of similarities above `link`. A partition never joins parts of two,
       so no k below their number is tried.
    2. One spectral embedding for the whole sweep: the leading eigenvectors of the affinity without its
       diagonal, normalised by the degrees, component by component; for each k the first k of them, rows
       scaled to length one, then k-means. Copies of an item enter with their weight, as if written out.
    3. Mean silhouette of the items on the distance 1 - S. It is half the squared distance in the space whose
       kernel is S, and for small τ it is proportional to the divergence.
    4. A connected affinity must beat affinities without clusters, or there is no partition. Each of `n_null`
       draws takes up to 150 items twice: as a cloud, points uniform in a box whose sides have the variances
       of the items' principal coordinates under the squared distance -log S, and as noise, their
       similarities shuffled. The silhouette must exceed those of all draws, the largest over several k each:
       size at most about 1 / (1 + n_null) for items that form such a box. The silhouette alone does not tell,
       since a continuum can be cut too: halves of a line have about .6. Where τ is so large that nearly all
       similarities are near 0, the outline of a cloud that is no box counts as well, and the size grows.

    Parameters
    ----------
    similarity : `Similarity`, or an (n, n) affinity.
    k_range : smallest and largest k, or a list or range of three or more.
    rng : source of the starts and clouds; the same state gives the same partition.
    link : similarities up to this are no link.
    n_null : draws; 0 = cut whatever there is.

    Raises
    ------
    SchemaError : fewer items than 2k for the largest k, k below 2, or an affinity as in `given_similarity`.

    Source: arXiv 2509.25671 (spectral clustering, k by silhouette); Ng, Jordan & Weiss (2002), NIPS 14, for
    the embedding; Tibshirani, Walther & Hastie (2001), JRSS B 63:411-423, for the box.
    """
    if not isinstance(similarity, Similarity):
        similarity = given_similarity(similarity, "affinity as given")
    ks = _cluster_numbers(k_range, len(similarity.items))
    components = connected(similarity.affinity, link)
    n_components = int(components.max()) + 1
    affinity, weights = similarity.affinity, similarity.weights
    tried = [k for k in ks if n_components <= k <= len(affinity)]
    seeds = rng.integers(2**31, size=2)
    if not tried or _all_alike(similarity):
        return _none(similarity, components, _why_untried(len(affinity), n_components, tried, ks[-1]))
    values, vectors = embedding(affinity, weights, components, max(tried), seeds[0])
    labels = [clusters(vectors[:, :k], weights, seeds[1]) for k in tried]
    found = silhouettes(affinity, weights, labels)
    best = int(np.argmax(found))
    null = np.empty(0)
    if n_components == 1 and n_null:
        null = np.array([*_null_silhouettes(similarity, tried, tried[best], n_null, rng)])
    lost = found[best] <= max(null, default=0.0)
    return Partition(
        labels=_by_size(labels[best][similarity.representative]) if not lost else _zeros(similarity),
        k=1 if lost else int(labels[best].max()) + 1,
        silhouettes=pd.Series(found, index=tried),
        realised=pd.Series([int(label.max()) + 1 for label in labels], index=tried),
        components=components[similarity.representative],
        eigenvalues=values,
        null=null,
        reason=_reason(tried[best], found[best], null, n_components, lost),
    )


def connected(affinity: np.ndarray, link: float = LINK) -> np.ndarray:
    """(m,) connected component of each item in the graph of similarities above `link`, numbered as met."""
    component = np.full(len(affinity), -1)
    for number in range(len(affinity)):
        unseen = np.flatnonzero(component < 0)
        if not len(unseen):
            break
        front = unseen[:1]
        while len(front):
            component[front] = number
            unseen = np.flatnonzero(component < 0)
            reached = np.zeros(len(unseen), dtype=bool)
            for start in range(0, len(front), 512):
                reached |= (affinity[np.ix_(front[start : start + 512], unseen)] > link).any(axis=0)
            front = unseen[reached]
    return component


def embedding(
    affinity: np.ndarray, weights: np.ndarray, components: np.ndarray, n_vectors: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenvectors of the normalised affinity of all items, copies included, without its diagonal.

    Parameters
    ----------
    affinity, weights : m distinct items, as in `Similarity`.
    components : (m,) of `connected`; each has eigenvectors of its own, so that eigenvalues that several share
        are not mixed.
    n_vectors : how many.
    seed : of the iteration's start.

    Returns
    -------
    (v,) eigenvalues, falling, and (m, v) the vectors as columns; v is at most `n_vectors`.

    Source: Ng, Jordan & Weiss (2002); an item of weight w stands for w rows that are equal in every vector.
    """
    values, vectors = [], []
    for component in range(components.max() + 1):
        own = np.flatnonzero(components == component)
        part = affinity if len(own) == len(affinity) else affinity[np.ix_(own, own)]
        value, vector = _leading(part, weights[own], min(n_vectors, len(own)), seed)
        wide = np.zeros((len(affinity), len(value)))
        wide[own] = vector / np.sqrt(weights[own, None])
        values.append(value)
        vectors.append(wide)
    order = np.argsort(-np.concatenate(values), kind="stable")[:n_vectors]
    return np.concatenate(values)[order], np.hstack(vectors)[:, order]


def clusters(vectors: np.ndarray, weights: np.ndarray, seed: int, starts: int = _STARTS) -> np.ndarray:
    """K-means on the rows of k eigenvectors, scaled to length one: (m,) labels 0..r-1, r at most k."""
    from sklearn.cluster import KMeans

    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(length > 0, length, 1)
    means = KMeans(vectors.shape[1], n_init=starts, random_state=int(seed))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters")
        labels = means.fit(rows, sample_weight=weights).labels_
    return np.unique(labels, return_inverse=True)[1]


def silhouettes(affinity: np.ndarray, weights: np.ndarray, labels: Sequence[np.ndarray]) -> np.ndarray:
    """Mean silhouette of all items, copies included, on the distance 1 - S, for each of several partitions.

    Parameters
    ----------
    affinity, weights : m distinct items, as in `Similarity`; the diagonal must be 1.
    labels : partitions, (m,) labels 0..k-1 each.

    Returns
    -------
    A value in [-1, 1] for each partition; an item alone in its cluster counts 0, and so does one cluster.

    Source: Rousseeuw (1987), Journal of Computational and Applied Mathematics 20:53-65.
    """
    members = [(np.arange(label.max() + 1) == label[:, None]) * weights[:, None] for label in labels]
    near = affinity @ np.hstack(members).astype(affinity.dtype)
    ends = np.cumsum([member.shape[1] for member in members])
    parts = zip(members, np.split(near, ends[:-1], axis=1), labels, strict=True)
    own = [_silhouette(member.sum(axis=0), summed, label) for member, summed, label in parts]
    return np.average(own, axis=1, weights=weights)


def _silhouette(sizes: np.ndarray, near: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(m,) silhouettes from the sizes (k,) of the clusters and summed similarities (m, k) to each."""
    if len(sizes) < 2:
        return np.zeros(len(label))
    item = np.arange(len(label))
    far = sizes - near.astype("float64")
    own = far[item, label] / np.maximum(sizes[label] - 1, 1)
    others = far / sizes
    others[item, label] = np.inf
    other = others.min(axis=1)
    largest = np.maximum(own, other)
    alone = (sizes[label] <= 1) | (largest <= 0)
    return np.where(alone, 0.0, (other - own) / np.where(largest > 0, largest, 1))


def _leading(affinity: np.ndarray, weights: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest n eigenvalues, falling, and eigenvectors of D^-½ (W^½ S W^½ - I) D^-½, D the degrees."""
    if len(affinity) == 1:
        return np.ones(1), np.ones((1, 1))
    degree = (affinity @ weights.astype(affinity.dtype)).astype("float64") - 1
    scale = np.sqrt(weights / degree)

    if len(affinity) <= _DENSE:
        whole = scale[:, None] * affinity * scale - np.diag(1 / degree)
        values, vectors = eigh(whole, subset_by_index=[len(whole) - n, len(whole) - 1])
        return values[::-1], vectors[:, ::-1]

    def shifted(x: np.ndarray) -> np.ndarray:
        """One more than the matrix, so that ARPACK's relative tolerance is an absolute one near 0."""
        x = x.ravel()
        return scale * (affinity @ (scale * x).astype(affinity.dtype)) - x / degree + x

    operator = LinearOperator(affinity.shape, matvec=shifted, dtype="float64")
    start = np.random.default_rng(seed).uniform(0.5, 1, len(affinity))
    values, vectors = eigsh(operator, n, which="LA", v0=start, tol=1e-5, ncv=3 * n + 1)
    return values[::-1] - 1, vectors[:, ::-1]


def _null_silhouettes(
    similarity: Similarity, tried: list[int], k: int, n_draws: int, rng: np.random.Generator
) -> Iterator[float]:
    """Largest silhouette of a cloud and of noise, n_draws times; that of noise falls with k."""
    n = min(_DRAWN, len(similarity.items))
    drawn = similarity.representative[rng.choice(len(similarity.items), n, replace=False)]
    sample = similarity.affinity[np.ix_(drawn, drawn)].astype("float64")
    squared = -np.log(np.maximum(sample, sample[sample > 0].min()))
    centred = squared - squared.mean(axis=0)
    variances = np.linalg.eigvalsh(-(centred - centred.mean(axis=1, keepdims=True)) / 2) / n
    sides = np.sqrt(12 * variances[variances > 0])
    upper = np.triu_indices(n, 1)
    for seed in rng.integers(2**31, size=n_draws):
        points = rng.random((n, len(sides))) * sides
        norms = (points**2).sum(axis=1)
        apart = np.maximum(norms[:, None] + norms - 2 * points @ points.T, 0)
        noise = np.zeros((n, n))
        noise[upper] = rng.permutation(sample[upper])
        yield max(
            _largest_silhouette(np.exp(-apart), {k, *(own for own in tried if own in _CLOUD_KS)}, seed),
            _largest_silhouette(noise + noise.T, {k, tried[0]}, seed),
        )


def _largest_silhouette(affinity: np.ndarray, ks: set[int], seed: int) -> float:
    n, affinity = len(affinity), np.maximum(affinity, LINK)
    np.fill_diagonal(affinity, 1)
    ones = np.ones(n)
    _, vectors = embedding(affinity, ones, np.zeros(n, dtype=int), max(ks), seed)
    labels = [clusters(vectors[:, :k], ones, seed, _NULL_STARTS) for k in sorted(ks)]
    return float(silhouettes(affinity, ones, labels).max())


def _cluster_numbers(k_range: tuple[int, int] | Sequence[int], n_items: int) -> list[int]:
    ks = list(range(k_range[0], k_range[-1] + 1)) if len(k_range) == 2 else sorted(k_range)
    if not ks or ks[0] < 2:
        raise SchemaError(
            f"k_range = {k_range}: give the smallest and largest number of clusters, from 2 on."
        )
    if n_items < 2 * ks[-1]:
        raise SchemaError(
            f"{n_items} items cannot carry {ks[-1]} clusters: end k_range at {n_items // 2} or below."
        )
    return ks


def _all_alike(similarity: Similarity) -> bool:
    """Whether no two items differ, or all do and are equally similar: none less than the mean pair."""
    affinity, m = similarity.affinity, len(similarity.affinity)
    if m == 1 or similarity.weights.max() > 1:
        return m == 1
    return (affinity.sum(dtype="float64") - m) / (m * (m - 1)) - affinity.min() <= LINK


def _none(similarity: Similarity, components: np.ndarray, reason: str) -> Partition:
    empty = pd.Series(dtype="float64")
    own = components[similarity.representative]
    return Partition(_zeros(similarity), 1, empty, empty, own, np.empty(0), np.empty(0), reason)


def _why_untried(n_distinct: int, n_components: int, tried: list[int], largest: int) -> str:
    if n_components > largest:
        return f"no partition: the affinity falls into {n_components} components, more than the largest k"
    if not tried:
        return f"no partition: no k from {n_components} components to {n_distinct} distinct items"
    return "no partition: all distinct items are equally similar"


def _reason(k: int, silhouette: float, null: np.ndarray, n_components: int, lost: bool) -> str:
    what = f"silhouette {silhouette:.3f} at k = {k}"
    if n_components > 1:
        return f"{what}, the largest; the affinity falls into {n_components} components"
    if not len(null):
        return f"no partition: {what} is not positive" if lost else f"{what}, the largest"
    clouds = f"{len(null)} draws without clusters reach {null.max():.3f}"
    return f"no partition: {what}, and {clouds}" if lost else f"{what}, the largest; {clouds}"


def _zeros(similarity: Similarity) -> np.ndarray:
    return np.zeros(len(similarity.items), dtype=int)


def _by_size(labels: np.ndarray) -> np.ndarray:
    """Labels renumbered by falling size, ties by their first item."""
    _, first, own, size = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(size), dtype=int)
    rank[np.lexsort((first, -size))] = np.arange(len(size))
    return rank[own]
