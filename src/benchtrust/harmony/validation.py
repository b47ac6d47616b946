"""Does HARMONY by induced clusters agree with HARMONY by true domains? RedundantQA of arXiv 2509.25671."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.harmony.correlations import pearson, spearman
from benchtrust.harmony.index import cluster_scores, harmony
from benchtrust.harmony.partitions import Partition, partition
from benchtrust.harmony.similarity import Similarity


@dataclass(frozen=True)
class RedundantQA:
    """Estimated against true HARMONY over many accuracy profiles.

    Attributes
    ----------
    profiles : a row a profile, with the index of the profiles given; columns:

        - designed : H of the profile itself.
        - true : H by domain of the simulated answers.
        - estimated : H by cluster of the same answers; NaN where there is no partition.
        - by_lot : H by clusters of the same sizes whose items were drawn by lot, of the same answers.

    correlations : rows estimated and by_lot, each with true: pearson and spearman, each with low and high,
        the 95 % bootstrap interval over profiles, and n_undefined, draws without a correlation, left out.
    partition : the clusters.
    ari : adjusted Rand index of clusters and domains, at most 1; 0 is chance.
    homogeneity : 1 if no cluster mixes domains, 0 if clusters say nothing about them; it rises with k.
    """

    profiles: pd.DataFrame
    correlations: pd.DataFrame
    partition: Partition
    ari: float
    homogeneity: float


@dataclass(frozen=True)
class Preference:
    """How often a similarity puts a paraphrase nearer to its reference question than a look-alike.

    Attributes
    ----------
    value : share of the comparisons of a paraphrase and a look-alike of one family, ties as a half, averaged
        over families; ½ if it sees neither words nor meaning.
    low, high : the 95 % bootstrap interval over families.
    n_families : families with both.
    """

    value: float
    low: float
    high: float
    n_families: int


def accuracy_profiles(domains: Sequence[str], spreads: Sequence[float], mean: float = 0.5) -> pd.DataFrame:
    """Design accuracies of the domains: one mean, four shapes, several spreads, each domain in each place.

    One domain below all others, one above, half against half, and a ladder. HARMONY falls with the spread in
    all but the halves, where it stays 1: its blind spot belongs to the design.

    Parameters
    ----------
    domains : names of four or more.
    spreads : largest accuracy minus smallest, > 0.
    mean : accuracy over all domains.

    Returns
    -------
    A row a profile: its domains' accuracies, indexed by shape, spread and turn (how far the places are moved
    on).

    Raises
    ------
    SchemaError : fewer than four domains, or an accuracy outside 0..1.
    """
    k = len(domains)
    if k < 4:
        raise SchemaError(f"{k} domains: with fewer than four, the shapes are not different.")
    shapes = {
        "one below": np.arange(k) > 0,
        "one above": np.arange(k) < 1,
        "halves": np.arange(k) < k // 2,
        "ladder": np.arange(k) / (k - 1),
    }
    rows = {
        (shape, spread, turn): mean + spread * np.roll(steps - np.mean(steps), turn)
        for shape, steps in shapes.items()
        for spread in spreads
        for turn in range(k)
    }
    index = pd.MultiIndex.from_tuples(rows, names=["shape", "spread", "turn"])
    table = pd.DataFrame([*rows.values()], index=index, columns=list(domains))
    if not ((table >= 0) & (table <= 1)).all(axis=None):
        raise SchemaError(f"mean = {mean} and spreads to {max(spreads)} give accuracies outside 0..1.")
    return table


def redundant_qa(
    similarity: Similarity,
    domains: pd.Series,
    profiles: pd.DataFrame,
    k_range: tuple[int, int] | Sequence[int],
    bandwidth: float,
    n_draws: int,
    rng: np.random.Generator,
    n_null: int = 19,
) -> RedundantQA:
    """Simulate answers by true domain and take HARMONY of them twice: by domain and by cluster.

    The clusters come from the similarity, the answers from the profile alone: an item is right with its
    domain's accuracy, independently of all others. Both values of H are of the same answers.

    Parameters
    ----------
    similarity : of the items; of a model's answer distributions, n-grams or sentence embeddings.
    domains : true domain by item.
    profiles : profiles × domains, accuracies, as of `accuracy_profiles`.
    k_range, n_null : as in `partition`.
    bandwidth : as in `harmony`.
    n_draws : bootstrap draws of profiles. They say what another choice of profiles and answers would change;
        the clusters stay.
    rng : source of the partition, the answers and the draws.

    Raises
    ------
    SchemaError : an item without a domain, a domain without accuracies or items, fewer than three profiles,
        no draw, or as `partition` and `harmony`.

    Source: arXiv 2509.25671, RedundantQA; its items, profiles and kind of correlation are not published.
    """
    from sklearn.metrics import adjusted_rand_score, homogeneity_score

    own = _codes(similarity, domains, profiles)
    if len(profiles) < 3 or n_draws < 1:
        raise SchemaError(f"{len(profiles)} profiles, {n_draws} draws: a correlation needs three and one.")
    found = partition(similarity, k_range, rng, n_null=n_null)
    rows = [_values(accuracy, own, found, bandwidth, rng) for accuracy in profiles.to_numpy("float64")]
    table = pd.DataFrame(rows, index=profiles.index)
    picks = rng.integers(len(table), size=(n_draws, len(table)))
    kinds = ["estimated", "by_lot"]
    return RedundantQA(
        profiles=table,
        correlations=pd.DataFrame(
            [_correlations(table[kind], table["true"], picks) for kind in kinds], kinds
        ),
        partition=found,
        ari=float(adjusted_rand_score(own, found.labels)),
        homogeneity=float(homogeneity_score(own, found.labels)),
    )


def pair_similarities(
    similarity: Similarity, families: pd.Series, domains: pd.Series, roles: pd.Series
) -> pd.DataFrame:
    """Similarities of pairs of items, by what the two have in common.

    Parameters
    ----------
    similarity : of the items.
    families, domains, roles : of each item, by its name; roles reference, paraphrase or look-alike.

    Returns
    -------
    A row a pair: family (none across families), kind and similarity. Kinds: "paraphrase" and "look-alike",
    of a reference question with these; "same domain" and "other domain", of two families. Pairs of a family
    without its reference question are left out.

    Raises
    ------
    SchemaError : an item without a family, domain or role.
    """
    kinds = [named.reindex(similarity.items).rename(None) for named in (families, domains, roles)]
    facts = pd.concat(kinds, axis=1, keys=["family", "domain", "role"])
    if facts.isna().any(axis=None):
        raise SchemaError(f"Item {facts.index[facts.isna().any(axis=1)][0]!r} has no family, domain or role.")
    first, second = np.triu_indices(len(facts), 1)
    a, b = facts.iloc[first].reset_index(drop=True), facts.iloc[second].reset_index(drop=True)
    own = a["family"] == b["family"]
    with_reference = (a["role"] == "reference") ^ (b["role"] == "reference")
    other = b["role"].where(a["role"] == "reference", a["role"])
    across = (a["domain"] == b["domain"]).map({True: "same domain", False: "other domain"})
    table = pd.DataFrame({"family": a["family"].where(own), "kind": other.where(own, across)})
    table["similarity"] = similarity.over_items()[first, second]
    return table[~own | with_reference].reset_index(drop=True)


def paraphrase_preference(pairs: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> Preference:
    """How often a paraphrase is nearer to its reference question than a look-alike of the same family.

    Parameters
    ----------
    pairs : of `pair_similarities`.
    n_draws : bootstrap draws of families.
    rng : their source.

    Raises
    ------
    SchemaError : no family with a paraphrase and a look-alike beside its reference question.
    """
    known = pairs.dropna(subset="family")
    nearer = {}
    for family, own in known.groupby("family"):
        alike, apart = (own.loc[own["kind"] == kind, "similarity"] for kind in ("paraphrase", "look-alike"))
        if len(alike) and len(apart):
            gaps = alike.to_numpy()[:, None] - apart.to_numpy()
            nearer[family] = ((gaps > 0) + (gaps == 0) / 2).mean()
    if not nearer:
        raise SchemaError("No family has a reference question with a paraphrase and a look-alike.")
    values = np.array([*nearer.values()])
    drawn = values[rng.integers(len(values), size=(n_draws, len(values)))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Preference(float(values.mean()), float(low), float(high), len(values))


def _codes(similarity: Similarity, domains: pd.Series, profiles: pd.DataFrame) -> np.ndarray:
    """(n,) column of the profiles that belongs to each item."""
    own = domains.reindex(similarity.items)
    if own.isna().any():
        raise SchemaError(f"Item {own.index[own.isna()][0]!r} has no domain: name one for every item.")
    if odd := set(own) ^ set(profiles.columns):
        raise SchemaError(f"Domain {min(odd)!r} has items or accuracies, not both: profiles must fit.")
    return profiles.columns.get_indexer(own)


def _values(
    accuracy: np.ndarray, own: np.ndarray, found: Partition, bandwidth: float, rng: np.random.Generator
) -> dict[str, float]:
    answers = (rng.random(len(own)) < accuracy[own]).astype("float64")
    by_lot = rng.permutation(found.labels)
    return {
        "designed": harmony(accuracy, np.bincount(own), bandwidth).value,
        "true": _index(answers, own, bandwidth),
        "estimated": _index(answers, found.labels, bandwidth),
        "by_lot": _index(answers, by_lot, bandwidth),
    }


def _index(answers: np.ndarray, labels: np.ndarray, bandwidth: float) -> float:
    if not labels.any():
        return np.nan
    scores = cluster_scores(answers, labels)
    return harmony(scores.accuracy, scores.sizes, bandwidth).value


def _correlations(estimated: pd.Series, true: pd.Series, picks: np.ndarray) -> dict[str, float]:
    x, y = estimated.to_numpy(), true.to_numpy()
    row = {}
    for correlation in (pearson, spearman):
        name, drawn = correlation.__name__, correlation(x[picks], y[picks])
        known = drawn[~np.isnan(drawn)]
        low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
        row |= {
            name: correlation(x[None], y[None])[0],
            f"{name}_low": low,
            f"{name}_high": high,
            "n_undefined": len(drawn) - len(known),
        }
    return row
