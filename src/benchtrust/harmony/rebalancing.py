"""Does the score move when over-represented, over-similar items are taken out? (arXiv 2509.25671)"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.harmony.correlations import spearman
from benchtrust.harmony.index import entropy, masses
from benchtrust.harmony.nulls import blocks
from benchtrust.harmony.partitions import partition
from benchtrust.harmony.similarity import Similarity, pooled_similarity

MEAN = "mean of models"
"""Name of the row for the models' average score."""


@dataclass(frozen=True)
class Rebalanced:
    """A benchmark before and after pruning.

    Attributes
    ----------
    kept : (n,) whether an item stays.
    sizes_before, sizes_after : (k,) items of each cluster.
    uniform_before, uniform_after : H(w) / log k of these sizes.
    models : a row a model, the last for their mean score; columns:

        - before, after, shift : mean score, and after minus before.
        - low, high, p : 95 % bootstrap interval of the shift over items, paired, and two-sided p of no shift.
        - random_sd, random_move, p_random : spread and mean size of the shift under random pruning of as many
          items, and how often that moves the score at least as far.
        - harmony_before, harmony_after, harmony_random : H, and its mean under random pruning.
    """

    kept: np.ndarray
    sizes_before: np.ndarray
    sizes_after: np.ndarray
    uniform_before: float
    uniform_after: float
    models: pd.DataFrame


@dataclass(frozen=True)
class Association:
    """Rank correlation of HARMONY with how far the score moves, over benchmarks.

    Attributes
    ----------
    rho : Spearman's ρ of H before and |shift|.
    low, high : 95 % bootstrap interval over benchmarks.
    p : two-sided, by permutation.
    n_benchmarks : benchmarks compared.
    n_left_out : benchmarks without a partition.
    n_undefined : bootstrap draws without a ρ, left out.
    """

    rho: float
    low: float
    high: float
    p: float
    n_benchmarks: int
    n_left_out: int
    n_undefined: int


def prune(similarity: Similarity, labels: np.ndarray, n_removed: int) -> np.ndarray:
    """Choose the items to keep, from similarities and cluster sizes alone.

    Each item comes from the cluster that is largest then; within it, it is the one most similar on average to
    those that are left. Sizes level from the top, so H(w) / log k rises until they are equal.

    Parameters
    ----------
    similarity : of n items.
    labels : (n,) clusters 0..k-1.
    n_removed : items to take out; every cluster keeps one at least.

    Returns
    -------
    (n,) whether an item is kept.

    Raises
    ------
    SchemaError : labels that do not fit, one cluster, or more items to remove than n - k.

    Source: the book, "Rebalancing"; the paper's rule is not published.
    """
    labels = np.asarray(labels)
    if labels.shape != (len(similarity.items),):
        raise SchemaError(f"{labels.shape} labels do not fit {len(similarity.items)} items.")
    sizes = np.bincount(labels)
    if len(sizes) < 2:
        raise SchemaError("One cluster: there is nothing to rebalance.")
    if not 0 <= n_removed <= len(labels) - len(sizes):
        raise SchemaError(f"{n_removed} of {len(labels)} items in {len(sizes)} clusters cannot be taken out.")
    kept = np.ones(len(labels), dtype=bool)
    for cluster, quota in enumerate(_quotas(sizes, n_removed)):
        own = np.flatnonzero(labels == cluster)
        if quota:
            kept[own[_most_similar(similarity, own, quota)]] = False
    return kept


def rebalance(
    similarity: Similarity,
    labels: np.ndarray,
    scores: pd.DataFrame,
    share: float,
    bandwidth: float,
    n_draws: int,
    rng: np.random.Generator,
) -> Rebalanced:
    """Prune a benchmark and see how far the scores of models move that had no say in it.

    Parameters
    ----------
    similarity, labels : as in `prune`; from other models than those of `scores`.
    scores : models × items in [0, 1], complete, in the order of the similarity's items.
    share : of the items to take out, in (0, 1).
    bandwidth : as in `harmony`.
    n_draws, rng : bootstrap draws and random prunings, each, and their source.

    Raises
    ------
    SchemaError : as `prune`; missing scores, or others than the similarity's items; a share or number of
        draws outside its range.

    Source: arXiv 2509.25671, rebalancing; the book, "Rebalancing".
    """
    if not 0 < share < 1 or n_draws < 1:
        raise SchemaError(f"share = {share}, n_draws = {n_draws}: give a share between 0 and 1, and draws.")
    _check_scores(similarity, scores)
    n_removed = round(share * len(labels))
    kept = prune(similarity, labels, n_removed)
    table = np.vstack([scores.to_numpy(dtype="float64"), scores.to_numpy(dtype="float64").mean(axis=0)]).T
    selections = chain(
        [np.ones((1, len(kept))), kept[None]], _random_kept(len(kept), n_removed, n_draws, rng)
    )
    before, after, *random = (_summary(counts, table, np.asarray(labels), bandwidth) for counts in selections)
    drawn = np.concatenate([_shifts(counts, kept, table) for counts in _resampled(len(kept), n_draws, rng)])
    return Rebalanced(
        kept=kept,
        sizes_before=np.bincount(labels),
        sizes_after=np.bincount(labels, weights=kept).astype(int),
        uniform_before=float(before.uniform[0]),
        uniform_after=float(after.uniform[0]),
        models=_models_table([*scores.index, MEAN], before, after, random, drawn),
    )


def rebalance_benchmarks(
    benchmarks: Mapping[str, tuple[Mapping[str, Similarity], pd.DataFrame]],
    share: float,
    k_range: tuple[int, int] | Sequence[int],
    bandwidth: float,
    n_draws: int,
    rng: np.random.Generator,
    n_null: int = 19,
) -> pd.DataFrame:
    """Rebalance several benchmarks, each chosen on half of its models and judged on the rest.

    Parameters
    ----------
    benchmarks : name -> (similarities of each model, scores models × items), as in `cross_fitted`.
    share, bandwidth, n_draws : as in `rebalance`.
    k_range, n_null : as in `partition`.
    rng : source of the halves, partitions and draws.

    Returns
    -------
    A row a benchmark: benchmark, n_items, chosen and judged (names of the models), k, reason, uniform_before,
    uniform_after, then the mean row of `Rebalanced.models`, with H the mean of the judged models' own, and
    p_bh, p_random_bh after Benjamini-Hochberg over the benchmarks that have a partition.

    Raises
    ------
    SchemaError : a benchmark with fewer than two models, or as `rebalance` and `partition`.

    Source: the book, "Rebalancing"; Benjamini & Hochberg (1995), JRSS B 57:289-300.
    """
    rows = []
    for benchmark, (similarities, scores) in benchmarks.items():
        chosen, judged = _halves(list(similarities), benchmark, rng)
        pooled = pooled_similarity([similarities[name] for name in chosen])
        found = partition(pooled, k_range, rng, n_null=n_null)
        row = {
            "benchmark": benchmark,
            "n_items": len(pooled.items),
            "chosen": ", ".join(chosen),
            "judged": ", ".join(judged),
            "k": found.k,
            "reason": found.reason,
        }
        if found.k > 1:
            own = rebalance(pooled, found.labels, scores.loc[judged], share, bandwidth, n_draws, rng)
            row |= _mean_row(own)
        rows.append(row)
    table = pd.DataFrame(rows)
    for name in [name for name in ("p", "p_random") if name in table]:
        table[f"{name}_bh"] = _benjamini_hochberg(table[name])
    return table


def shift_association(table: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> Association:
    """Ask whether benchmarks of low HARMONY are those whose score moves when they are rebalanced.

    Parameters
    ----------
    table : of `rebalance_benchmarks`.
    n_draws, rng : bootstrap draws and permutations, each, and their source.

    Raises
    ------
    SchemaError : fewer than four benchmarks with a partition: no interval over so few.

    Source: arXiv 2509.25671, rebalancing; the book, "Rebalancing".
    """
    rows = table[["harmony_before", "shift"]].dropna() if "shift" in table else table.iloc[:0]
    n = len(rows)
    if n < 4:
        raise SchemaError(f"{n} benchmarks with a partition: an association needs four or more.")
    index, moved = rows["harmony_before"].to_numpy(), rows["shift"].abs().to_numpy()
    rho = spearman(index[None], moved[None])[0]
    picks = rng.integers(n, size=(n_draws, n))
    drawn = spearman(index[picks], moved[picks])
    shuffled = spearman(rng.permuted(np.tile(index, (n_draws, 1)), axis=1), np.tile(moved, (n_draws, 1)))
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return Association(
        rho=float(rho),
        low=float(low),
        high=float(high),
        p=(1 + int((np.abs(shuffled) >= abs(rho) - 1e-12).sum())) / (1 + n_draws),
        n_benchmarks=n,
        n_left_out=len(table) - n,
        n_undefined=int(np.isnan(drawn).sum()),
    )


@dataclass(frozen=True)
class _Summary:
    """Draws × models: mean score and H; draws: H of the sizes."""

    mean: np.ndarray
    harmony: np.ndarray
    uniform: np.ndarray


def _summary(counts: np.ndarray, table: np.ndarray, labels: np.ndarray, bandwidth: float) -> _Summary:
    """From how often each draw holds each item, (draws, n), and the scores (n, M)."""
    member = (labels[:, None] == np.arange(labels.max() + 1)).astype("float64")
    by_cluster = (table[:, :, None] * member[:, None, :]).reshape(len(table), -1)
    sizes = (counts @ member)[:, None, :]
    sums = (counts @ by_cluster).reshape(len(counts), -1, sizes.shape[-1])
    weights = np.broadcast_to(sizes / sizes.sum(axis=-1, keepdims=True), sums.shape)
    own = entropy(masses(sums / np.maximum(sizes, 1), weights, bandwidth))
    return _Summary(sums.sum(axis=-1) / sizes.sum(axis=-1), own, entropy(weights[:, 0]))


def _models_table(
    models: list, before: _Summary, after: _Summary, random: list[_Summary], drawn: np.ndarray
) -> pd.DataFrame:
    shift = (after.mean - before.mean)[0]
    moved = np.concatenate([draws.mean for draws in random]) - before.mean
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    columns = {
        "before": before.mean[0],
        "after": after.mean[0],
        "shift": shift,
        "low": low,
        "high": high,
        "p": _two_sided(drawn),
        "random_sd": moved.std(axis=0),
        "random_move": np.abs(moved).mean(axis=0),
        "p_random": (1 + (np.abs(moved) >= np.abs(shift) - 1e-12).sum(axis=0)) / (1 + len(moved)),
        "harmony_before": before.harmony[0],
        "harmony_after": after.harmony[0],
        "harmony_random": np.concatenate([draws.harmony for draws in random]).mean(axis=0),
    }
    return pd.DataFrame({"model": models, **columns})


def _quotas(sizes: np.ndarray, n_removed: int) -> np.ndarray:
    """How many items each cluster gives, each from the largest then."""
    left = sizes.copy()
    for _ in range(n_removed):
        left[left.argmax()] -= 1
    return sizes - left


def _most_similar(similarity: Similarity, own: np.ndarray, quota: int) -> list[int]:
    """Positions within `own` of the items most similar to those left, one after the other."""
    places = similarity.representative[own]
    affinity = similarity.affinity[np.ix_(places, places)]
    total, taken = affinity.sum(axis=1, dtype="float64"), []
    for _ in range(quota):
        taken.append(int(total.argmax()))
        total -= affinity[taken[-1]]
        total[taken[-1]] = -np.inf
    return taken


def _check_scores(similarity: Similarity, scores: pd.DataFrame) -> None:
    if not similarity.items.equals(pd.Index(scores.columns)):
        raise SchemaError("The columns of the scores are not the items of the similarity, in this order.")
    values = scores.to_numpy(dtype="float64")
    if not ((values >= 0) & (values <= 1)).all():
        raise SchemaError("Scores must lie between 0 and 1, none missing: leave out items not asked of all.")


def _resampled(n: int, n_draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """How often each bootstrap draw holds each item, in blocks of draws."""
    for block in blocks(n_draws, n):
        yield rng.multinomial(n, np.full(n, 1 / n), size=block.stop - block.start).astype("float64")


def _random_kept(n: int, n_removed: int, n_draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    kept = np.repeat([0.0, 1.0], [n_removed, n - n_removed])
    for block in blocks(n_draws, n):
        yield rng.permuted(np.tile(kept, (block.stop - block.start, 1)), axis=1)


def _shifts(counts: np.ndarray, kept: np.ndarray, table: np.ndarray) -> np.ndarray:
    """(draws, M) mean of the kept items minus mean of all, both from the same draw."""
    after = (counts * kept) @ table / np.maximum((counts @ kept)[:, None], 1)
    return after - counts @ table / counts.shape[1]


def _two_sided(drawn: np.ndarray) -> np.ndarray:
    sides = [(1 + (sign * drawn >= -1e-12).sum(axis=0)) / (1 + len(drawn)) for sign in (1, -1)]
    return np.minimum(2 * np.minimum(*sides), 1)


def _halves(models: list[str], benchmark: str, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    if len(models) < 2:
        raise SchemaError(f"{benchmark} has {len(models)} model(s): one half chooses, the other is judged.")
    mixed = [models[i] for i in rng.permutation(len(models))]
    return sorted(mixed[: len(models) // 2]), sorted(mixed[len(models) // 2 :])


def _mean_row(found: Rebalanced) -> dict[str, float]:
    own = found.models.iloc[:-1]
    row = found.models.iloc[-1].drop("model").to_dict()
    row |= {name: float(own[name].mean()) for name in own if name.startswith("harmony")}
    return {"uniform_before": found.uniform_before, "uniform_after": found.uniform_after, **row}


def _benjamini_hochberg(p: pd.Series) -> pd.Series:
    from statsmodels.stats.multitest import multipletests

    adjusted, known = pd.Series(np.nan, index=p.index), p.notna()
    adjusted[known] = multipletests(p[known], method="fdr_bh")[1]
    return adjusted
