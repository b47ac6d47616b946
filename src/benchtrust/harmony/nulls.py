"""What HARMONY is by chance, and what it hangs on: nulls, bias, intervals, τ, b and the partition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.harmony.index import Harmony, cluster_scores, entropy, harmony, masses
from benchtrust.harmony.partitions import Partition, partition
from benchtrust.harmony.similarity import (
    FLOOR,
    Similarity,
    Support,
    pooled_similarity,
    predictive_similarity,
)

AGAINST = ("value", "at_uniform", "size_free", "null_mean", "null_low", "null_high", "p")
"""What a table says of H beside random partitions of the same sizes."""

_CHUNK = 2**22
"""Numbers held at once while drawing."""


@dataclass(frozen=True)
class HarmonyNull:
    """HARMONY observed and without any difference between clusters.

    Attributes
    ----------
    observed : the benchmark's.
    partitions : (n_draws,) H of random partitions of the same sizes.
    binomial : (n_draws,) H of clusters whose items are right by lot, with one probability for all.
    """

    observed: Harmony
    partitions: np.ndarray
    binomial: np.ndarray

    @property
    def p_partitions(self) -> float:
        """P-value of an H as low as observed: (1 + #{partitions <= observed}) / (1 + draws)."""
        return _lower_tail(self.partitions, self.observed.value)

    @property
    def p_binomial(self) -> float:
        """The same against the binomial draws."""
        return _lower_tail(self.binomial, self.observed.value)

    @property
    def against_partitions(self) -> dict[str, float]:
        """`AGAINST`: value, at_uniform and size_free of H; mean, 5 and 95 % of random partitions; p."""
        seen, (low, high) = self.observed, np.quantile(self.partitions, [0.05, 0.95])
        values = [seen.value, seen.at_uniform, seen.size_free, self.partitions.mean(), low, high]
        return dict(zip(AGAINST, map(float, [*values, self.p_partitions]), strict=True))


@dataclass(frozen=True)
class HarmonyInterval:
    """HARMONY of items drawn again with replacement.

    Attributes
    ----------
    value : H observed.
    draws : (n_draws,) H of each draw.
    low, high : quantiles of the draws.
    drift : mean of the draws minus the value: resampling adds noise to the clusters' accuracies.
    """

    value: float
    draws: np.ndarray
    low: float
    high: float
    drift: float


def harmony_null(
    scores: np.ndarray | pd.Series,
    labels: np.ndarray,
    bandwidth: float,
    n_draws: int,
    rng: np.random.Generator,
) -> HarmonyNull:
    """Draw H with the clusters' items exchanged, and with all items equally hard.

    Both keep the sizes of the clusters, so that what small clusters cost by noise alone stays in the null.
    Random partitions keep the scores; the binomial null draws them, right with probability μ each.

    Parameters
    ----------
    scores, labels : as in `cluster_scores`.
    bandwidth : as in `harmony`.
    n_draws : number of draws of each kind.
    rng : their source.

    Raises
    ------
    SchemaError : as `cluster_scores` and `harmony`; no draw.

    Source: the book, "Sensitivity and nulls".
    """
    _check_draws(n_draws)
    found = cluster_scores(scores, labels)
    observed = harmony(found.accuracy, found.sizes, bandwidth)
    weights = found.sizes / found.sizes.sum()
    scores = np.asarray(scores, dtype="float64")
    asked = scores[~np.isnan(scores)]
    starts = np.concatenate([[0], np.cumsum(found.sizes)[:-1]])
    partitions = np.empty(n_draws)
    for block in blocks(n_draws, len(asked)):
        shuffled = rng.permuted(np.tile(asked, (block.stop - block.start, 1)), axis=1)
        accuracy = np.add.reduceat(shuffled, starts, axis=1) / found.sizes
        partitions[block] = entropy(masses(accuracy, weights, bandwidth))
    right = rng.binomial(found.sizes, observed.mean, size=(n_draws, observed.k))
    binomial = entropy(masses(right / found.sizes, weights, bandwidth))
    return HarmonyNull(observed, partitions, binomial)


def bias_curve(
    accuracy: np.ndarray,
    weights: np.ndarray | None,
    n_items: Sequence[int],
    bandwidth: float,
    n_draws: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Simulate H of benchmarks of several sizes whose clusters have known accuracies.

    Parameters
    ----------
    accuracy, weights, bandwidth : of the truth, as in `harmony`.
    n_items : sizes of the benchmark; how many items each cluster gets is drawn by weight.
    n_draws : benchmarks a size.
    rng : their source.

    Returns
    -------
    A row a size: n_items, true (H of the accuracies given), then mean, sd, low and high (5 and 95 %) of H
    over the draws, and bias, mean minus true. The bias depends on the accuracies as well as on n and k.

    Raises
    ------
    SchemaError : as `harmony`; no draw.

    Source: the book, "Sensitivity and nulls".
    """
    _check_draws(n_draws)
    true = harmony(accuracy, weights, bandwidth)
    accuracy = np.asarray(accuracy, dtype="float64")
    shares = np.ones(true.k) if weights is None else np.asarray(weights, dtype="float64")
    rows = []
    for n in n_items:
        sizes = rng.multinomial(n, shares / shares.sum(), size=n_draws)
        right = rng.binomial(sizes, accuracy)
        draws = entropy(masses(right / np.maximum(sizes, 1), sizes / n, bandwidth))
        low, high = np.quantile(draws, [0.05, 0.95])
        rows.append((n, true.value, draws.mean(), draws.std(), low, high, draws.mean() - true.value))
    return pd.DataFrame(rows, columns=["n_items", "true", "mean", "sd", "low", "high", "bias"])


def harmony_interval(
    scores: np.ndarray | pd.Series,
    labels: np.ndarray,
    bandwidth: float,
    n_draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> HarmonyInterval:
    """Bootstrap H over items, the partition as given: each draw takes items with their clusters.

    Items that share cluster and score are counted together, which gives the same draws as one by one. A
    cluster that a draw misses has mass 0 there and still counts in k. Where the accuracies differ, the
    percentile interval covers about as often as it says (.92 to .98 of simulations at 200 and 1,000 items).
    Where they are equal, H is at its edge and noise can only lower it: the interval misses it, `harmony_null`
    asks that question.

    Parameters
    ----------
    scores, labels : as in `cluster_scores`.
    bandwidth : as in `harmony`.
    n_draws, rng : draws and their source.
    level : of the interval, in (0, 1).

    Raises
    ------
    SchemaError : as `cluster_scores` and `harmony`; no draw, or a level outside its range.

    Source: Davison & Hinkley (1997), Bootstrap Methods and their Application, section 5.2.
    """
    _check_draws(n_draws)
    if not 0 < level < 1:
        raise SchemaError(f"level = {level}: give the share of the interval, such as .95.")
    found = cluster_scores(scores, labels)
    value = harmony(found.accuracy, found.sizes, bandwidth).value
    scores, labels = np.asarray(scores, dtype="float64"), np.asarray(labels)
    asked = ~np.isnan(scores)
    kinds, count = np.unique(np.column_stack([labels[asked], scores[asked]]), axis=0, return_counts=True)
    drawn = rng.multinomial(count.sum(), count / count.sum(), size=n_draws)
    member = kinds[:, :1] == np.arange(len(found.sizes))
    sizes, sums = drawn @ member, drawn @ (member * kinds[:, 1:])
    draws = entropy(masses(sums / np.maximum(sizes, 1), sizes / count.sum(), bandwidth))
    low, high = (float(q) for q in np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]))
    return HarmonyInterval(value, draws, low, high, float(draws.mean() - value))


def cross_fitted(
    similarities: Mapping[str, Similarity],
    scores: pd.DataFrame,
    k_range: tuple[int, int] | Sequence[int],
    bandwidth: float,
    n_draws: int,
    rng: np.random.Generator,
    n_null: int = 19,
) -> pd.DataFrame:
    """H of each model on its own partition, and on one made from all other models.

    A model's confidence forms its own clusters and predicts its accuracy, so its own partition can look
    uneven for that reason alone. A partition from the other models does not know its confidence.

    Parameters
    ----------
    similarities : of each model, the same items in the same order.
    scores : models × items, columns in the order of the similarities; NaN = not asked.
    k_range, n_null : as in `partition`.
    bandwidth : as in `harmony`.
    n_draws, rng : random partitions of the same sizes, and their source.

    Returns
    -------
    Two rows a model: model, fitted ("own" or "others"), k, value, at_uniform, size_free, null_mean, null_low,
    null_high (mean, 5 and 95 % of random partitions), p (lower tail) and reason. Without a partition k is 1
    and the numbers are NaN.

    Raises
    ------
    SchemaError : fewer than two models, scores that do not fit the similarities, or as `partition`.

    Source: the book, "Sensitivity and nulls".
    """
    models = list(similarities)
    if len(models) < 2:
        raise SchemaError("A cross-fitted test needs two models or more.")
    _check_fit(similarities, scores)
    rows = []
    for model in models:
        others = pooled_similarity([similarities[name] for name in models if name != model])
        for fitted, similarity in (("own", similarities[model]), ("others", others)):
            found = partition(similarity, k_range, rng, n_null=n_null)
            row = _against_partitions(found, scores.loc[model].to_numpy(), bandwidth, n_draws, rng)
            rows.append({"model": model, "fitted": fitted, **row, "reason": found.reason})
    return pd.DataFrame(rows)


def partition_stability(
    probabilities: Support | pd.DataFrame | np.ndarray,
    tau: float,
    k_range: tuple[int, int] | Sequence[int],
    rng: np.random.Generator,
    taus: Sequence[float] = (),
    n_seeds: int = 10,
    n_subsamples: int = 10,
    share: float = 0.8,
    floor: float = FLOOR,
) -> pd.DataFrame:
    """Compare the partition with those of other seeds, other τ and parts of the items.

    Whether there is structure is not asked: each partition is what the sweep cuts (`n_null` = 0).

    Parameters
    ----------
    probabilities, tau, floor : as in `predictive_similarity`.
    k_range : as in `partition`; a part of the items must carry the largest k.
    rng : source of the seeds and parts.
    taus : other values of τ.
    n_seeds, n_subsamples : how many of each.
    share : of the items in a part.

    Returns
    -------
    A row for each other partition: varied (seed, tau, subsample), setting (its number, or τ), k, and ari, the
    adjusted Rand index with the reference on the items that both have, at most 1, about 0 by chance.

    Raises
    ------
    SchemaError : as `predictive_similarity` and `partition`.

    Source: Hubert & Arabie (1985), Journal of Classification 2:193-218.
    """
    from sklearn.metrics import adjusted_rand_score

    similarity = predictive_similarity(probabilities, tau, floor)
    reference = partition(similarity, k_range, rng, n_null=0)
    n, every = len(similarity.items), np.arange(len(similarity.items))
    rows = []

    def compare(varied: str, setting: float, other: Similarity, own: np.ndarray) -> None:
        found = partition(other, k_range, rng, n_null=0)
        ari = adjusted_rand_score(reference.labels[own], found.labels)
        rows.append({"varied": varied, "setting": setting, "k": found.k, "ari": float(ari)})

    for number in range(n_seeds):
        compare("seed", number, similarity, every)
    for other in taus:
        compare("tau", other, predictive_similarity(probabilities, other, floor), every)
    for number in range(n_subsamples):
        own = np.sort(rng.choice(n, round(share * n), replace=False))
        compare("subsample", number, _part(similarity, own), own)
    return pd.DataFrame(rows, columns=["varied", "setting", "k", "ari"])


def sensitivity(
    probabilities: Support | pd.DataFrame | np.ndarray,
    scores: np.ndarray | pd.Series,
    taus: Sequence[float],
    bandwidths: Sequence[float],
    k_range: tuple[int, int] | Sequence[int],
    n_draws: int,
    rng: np.random.Generator,
    floor: float = FLOOR,
    n_null: int = 19,
) -> pd.DataFrame:
    """H for every τ × b, each beside random partitions of the same sizes.

    Parameters
    ----------
    probabilities, floor : as in `predictive_similarity`.
    scores : (n,) item scores of the model, as in `cluster_scores`.
    taus, bandwidths : values to cross.
    k_range, n_null : as in `partition`.
    n_draws, rng : random partitions, and source of everything.

    Returns
    -------
    A row a pair: tau, bandwidth, k, value, at_uniform, size_free, null_mean, null_low, null_high, p, as in
    `cross_fitted`, silhouette (the largest of the sweep), n_components and reason.

    Raises
    ------
    SchemaError : as `predictive_similarity`, `partition` and `harmony`.

    Source: the book, "Sensitivity and nulls"; arXiv 2509.25671 publishes neither τ nor b.
    """
    rows = []
    for tau in taus:
        found = partition(predictive_similarity(probabilities, tau, floor), k_range, rng, n_null=n_null)
        facts = {
            "silhouette": found.silhouettes.max(),
            "n_components": int(found.components.max()) + 1,
            "reason": found.reason,
        }
        for bandwidth in bandwidths:
            row = _against_partitions(found, np.asarray(scores), bandwidth, n_draws, rng)
            rows.append({"tau": tau, "bandwidth": bandwidth, **row, **facts})
    return pd.DataFrame(rows)


def _against_partitions(
    found: Partition, scores: np.ndarray, bandwidth: float, n_draws: int, rng: np.random.Generator
) -> dict[str, float]:
    """H by a partition beside random ones; NaN where there is no partition."""
    if found.k == 1:
        return {"k": 1, **dict.fromkeys(AGAINST, np.nan)}
    null = harmony_null(scores, found.labels, bandwidth, n_draws, rng)
    return {"k": found.k, **null.against_partitions}


def _part(similarity: Similarity, own: np.ndarray) -> Similarity:
    """Similarity of some of the items."""
    kept, representative = np.unique(similarity.representative[own], return_inverse=True)
    return Similarity(
        affinity=similarity.affinity[np.ix_(kept, kept)],
        weights=np.bincount(representative).astype("float64"),
        representative=representative,
        items=similarity.items[own],
        support=similarity.support,
        tau=similarity.tau,
        floor=similarity.floor,
    )


def _check_fit(similarities: Mapping[str, Similarity], scores: pd.DataFrame) -> None:
    for model, similarity in similarities.items():
        if model not in scores.index:
            raise SchemaError(f"Model {model!r} has a similarity and no scores: give a row for each model.")
        if not similarity.items.equals(pd.Index(scores.columns)):
            raise SchemaError(f"The items of {model!r} are not the columns of the scores, in this order.")


def _check_draws(n_draws: int) -> None:
    if n_draws < 1:
        raise SchemaError(f"{n_draws} draws: at least one is needed.")


def _lower_tail(draws: np.ndarray, observed: float) -> float:
    return (1 + int((draws <= observed + 1e-12).sum())) / (1 + len(draws))


def blocks(n_draws: int, numbers_per_draw: int) -> list[slice]:
    """Cut draws into slices of a bounded size in memory."""
    size = max(1, _CHUNK // numbers_per_draw)
    return [slice(start, min(start + size, n_draws)) for start in range(0, n_draws, size)]
