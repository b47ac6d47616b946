"""Partition: scikit-learn's on clear clusters, copies, components, no structure, determinism, bad input."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

from benchtrust.errors import SchemaError
from benchtrust.harmony import partition, predictive_similarity, sorted_profile
from benchtrust.harmony.partitions import clusters, connected, embedding, silhouettes


def mixture(n: int, k: int, seed: int, sharpness: float = 80) -> tuple[np.ndarray, np.ndarray]:
    """Items of k kinds, each kind near a distribution of its own over 6 outcomes."""
    rng = np.random.default_rng(seed)
    centres = 0.04 + 0.76 * np.eye(6)[:k]
    kinds = rng.permutation(np.arange(n) % k)
    return np.array([rng.dirichlet(sharpness * centre) for centre in centres[kinds]]), kinds


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two partitions are the same up to the names of the clusters."""
    return adjusted_rand_score(a, b) == 1


@pytest.mark.parametrize(("k", "tau"), [(2, 1.0), (3, 0.5), (5, 2.0)])
def test_clear_clusters_are_found_as_by_scikit_learn(k, tau):
    p, kinds = mixture(180, k, seed=k)
    similarity = predictive_similarity(p, tau)
    found = partition(similarity, (2, 8), np.random.default_rng(0), n_null=9)
    theirs = SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(
        similarity.over_items()
    )
    assert found.k == k
    assert same(found.labels, kinds)
    assert same(found.labels, theirs)
    assert np.bincount(found.labels).tolist() == sorted(np.bincount(kinds), reverse=True)
    assert (np.diff(found.eigenvalues) <= 1e-9).all()
    assert found.eigenvalues[0] == pytest.approx(1)


def test_a_large_affinity_goes_by_lanczos_to_the_same_partition(monkeypatch):
    p, kinds = mixture(240, 4, seed=1)
    dense = partition(predictive_similarity(p, 1.0), (2, 8), np.random.default_rng(0), n_null=0)
    monkeypatch.setattr("benchtrust.harmony.partitions._DENSE", 50)
    lanczos = partition(predictive_similarity(p, 1.0), (2, 8), np.random.default_rng(0), n_null=0)
    assert same(lanczos.labels, kinds)
    assert lanczos.eigenvalues == pytest.approx(dense.eigenvalues, abs=1e-4)
    assert lanczos.silhouettes.loc[4] == pytest.approx(dense.silhouettes.loc[4], abs=1e-4)


def test_silhouettes_are_scikit_learn_s_on_a_distance_with_a_zero_diagonal():
    p, _ = mixture(90, 3, seed=2)
    distance = 1 - predictive_similarity(p, 1.0).over_items()
    assert (np.diag(distance) == 0).all()
    found = partition(predictive_similarity(p, 1.0), (2, 6), np.random.default_rng(0), n_null=0)
    assert found.silhouettes.loc[found.k] == pytest.approx(
        silhouette_score(distance, found.labels, metric="precomputed"), abs=1e-6
    )
    assert found.silhouettes.idxmax() == found.k
    assert (found.realised == found.realised.index).all()


def test_silhouettes_count_an_item_alone_and_one_cluster_as_zero():
    p, kinds = mixture(30, 2, seed=3)
    affinity = predictive_similarity(p, 1.0, dtype=np.float64).over_items()
    alone, one = kinds.copy(), np.zeros(30, dtype=int)
    alone[5] = 2
    found = silhouettes(affinity, np.ones(30), [alone, one])
    assert found[0] == pytest.approx(silhouette_score(1 - affinity, alone, metric="precomputed"))
    assert found[1] == 0


@pytest.mark.parametrize("tau", [0.5, 2.0])
def test_copies_weigh_as_if_written_out(tau):
    """Eigenvectors, silhouettes and clusters of the collapsed problem are those of the expanded one."""
    p, kinds = mixture(40, 3, seed=4)
    own = np.repeat(np.arange(40), np.random.default_rng(0).integers(1, 6, 40))
    collapsed = predictive_similarity(p[own], tau, dtype=np.float64)
    affinity, n = collapsed.over_items(), len(own)
    joined = np.zeros(n, dtype=int)
    values, vectors = embedding(affinity, np.ones(n), joined, 5, 0)
    few, narrow = embedding(collapsed.affinity, collapsed.weights, joined[:40], 5, 0)
    assert few == pytest.approx(values)
    assert np.abs(narrow[collapsed.representative]) == pytest.approx(np.abs(vectors), abs=1e-8)
    labels = kinds[own]
    of_distinct = np.empty(40, dtype=int)
    of_distinct[collapsed.representative] = labels
    assert silhouettes(collapsed.affinity, collapsed.weights, [of_distinct]) == pytest.approx(
        silhouette_score(1 - affinity, labels, metric="precomputed")
    )
    found = partition(collapsed, (2, 6), np.random.default_rng(0), n_null=0)
    assert same(found.labels, labels)
    assert same(found.labels, partition(affinity, (2, 6), np.random.default_rng(0), n_null=0).labels)


def test_order_of_items_changes_nothing_and_that_of_outcomes_no_cluster():
    p, _ = mixture(120, 3, seed=5)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(120), rng.permutation(6)
    found, shuffled, turned = (
        partition(predictive_similarity(q, 1.0), (2, 6), np.random.default_rng(0), n_null=1)
        for q in (p, p[rows], p[:, columns])
    )
    assert same(shuffled.labels, found.labels[rows])
    assert (shuffled.silhouettes == found.silhouettes).all()
    assert same(turned.labels, found.labels)


def test_the_same_seed_gives_the_same_partition():
    p = np.random.default_rng(0).dirichlet(np.full(4, 0.3), 80)
    one, other, third = (
        partition(predictive_similarity(p, 1.0), (2, 8), np.random.default_rng(seed), n_null=3)
        for seed in (3, 3, 4)
    )
    assert (one.labels == other.labels).all()
    assert (one.silhouettes == other.silhouettes).all()
    assert (one.null == other.null).all()
    assert not (one.null == third.null).all()


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: predictive_similarity(rng.dirichlet(np.ones(6), 120), 1.0),
        lambda rng: predictive_similarity(rng.dirichlet(np.ones(2), 120), 1.0),
        lambda rng: predictive_similarity(sorted_profile(rng.dirichlet(np.ones(4), 120)), 1.0),
        lambda rng: predictive_similarity(sorted_profile(rng.dirichlet(np.ones(4), 120)), 4.0),
    ],
    ids=["six outcomes", "a line", "profiles", "profiles, large τ"],
)
def test_clouds_without_clusters_are_not_cut(draw):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        found = partition(draw(rng), (2, 6), rng, n_null=9)
        assert found.k == 1
        assert (found.labels == 0).all()
        assert found.reason.startswith("no partition: silhouette")
        assert found.null.max() >= found.silhouettes.max()


def test_without_the_null_a_line_is_cut_with_a_high_silhouette():
    """Why the silhouette alone does not tell."""
    line = np.linspace(0.3, 0.7, 120)
    similarity = predictive_similarity(np.column_stack([line, 1 - line]), 1.0)
    assert partition(similarity, (2, 4), np.random.default_rng(0), n_null=0).silhouettes.max() > 0.6
    assert partition(similarity, (2, 4), np.random.default_rng(0), n_null=9).k == 1


@pytest.mark.parametrize("tau", [1.0, 30.0, 100.0])
def test_the_null_of_a_line_is_a_line(tau):
    """The clouds have the items' extent under any τ: they are as well cut as the line itself."""
    line = np.random.default_rng(2).uniform(0.3, 0.7, 150)
    similarity = predictive_similarity(np.column_stack([line, 1 - line]), tau)
    found = partition(similarity, (2, 8), np.random.default_rng(0), n_null=9)
    assert found.null.mean() == pytest.approx(found.silhouettes.max(), abs=0.06)


def test_a_chain_of_links_is_compared_with_chains_that_hold_together():
    """Shuffled, its links leave items without any: they must not make the null undefined."""
    chain = np.eye(60) + 0.9 * (np.eye(60, k=1) + np.eye(60, k=-1))
    found = partition(np.minimum(chain, 1), (2, 6), np.random.default_rng(0), n_null=5)
    assert np.isfinite(found.null).all()


def test_noise_is_not_cut_and_equal_similarities_are_not_tried():
    rng = np.random.default_rng(0)
    noise = np.triu(rng.random((250, 250)), 1)
    found = partition(noise + noise.T + np.eye(250), (2, 6), rng, n_null=9)
    assert found.k == 1
    assert "draws without clusters" in found.reason
    for level in (0.0001, 0.5, 0.99):
        flat = np.full((60, 60), level) + (1 - level) * np.eye(60)
        found = partition(flat, (2, 6), rng)
        assert (found.k, found.reason) == (1, "no partition: all distinct items are equally similar")
    alike = predictive_similarity(np.tile([0.2, 0.3, 0.5], (20, 1)), 1.0)
    assert partition(alike, (2, 6), rng).reason == "no partition: no k from 1 components to 1 distinct items"


def test_two_kinds_of_copies_are_two_clusters():
    p = np.repeat([[0.5, 0.5], [0.6, 0.4]], [30, 50], axis=0)
    found = partition(predictive_similarity(p, 1.0), (2, 6), np.random.default_rng(0))
    assert found.k == 2
    assert np.bincount(found.labels).tolist() == [50, 30]
    assert found.silhouettes.loc[2] == pytest.approx(1)


@pytest.mark.parametrize("dense", [1000, 20])
def test_components_are_never_joined(dense, monkeypatch):
    """Four kinds that share no outcome, none of one size: no k below four is tried, and four are found."""
    monkeypatch.setattr("benchtrust.harmony.partitions._DENSE", dense)
    rng = np.random.default_rng(0)
    kinds = rng.permutation(np.repeat(np.arange(4), [50, 40, 30, 20]))
    p = np.zeros((140, 8))
    for item, kind in enumerate(kinds):
        p[item, 2 * kind : 2 * kind + 2] = rng.dirichlet([30, 30])
    found = partition(predictive_similarity(p, 2.0), (2, 8), rng)
    assert same(found.components, kinds)
    assert found.k == 4
    assert same(found.labels, kinds)
    assert found.silhouettes.index.min() == 4
    assert "4 components" in found.reason
    assert found.eigenvalues[:4] == pytest.approx(np.ones(4))


def test_affinities_near_one_or_far_apart_are_still_cut(monkeypatch):
    """Small τ: eigenvalues near 0 must not stall the iteration. Large τ: clouds must not fall apart."""
    monkeypatch.setattr("benchtrust.harmony.partitions._DENSE", 20)
    p = np.random.default_rng(1).dirichlet(np.ones(2), 200)
    for tau in (1e-3, 50.0):
        found = partition(predictive_similarity(p, tau), (2, 8), np.random.default_rng(0), n_null=3)
        assert np.isfinite(found.silhouettes).all()
        assert np.isfinite(found.null).all()
    p, kinds = mixture(200, 3, seed=9)
    near = predictive_similarity(p, 1e-3)
    assert near.affinity.min() > 0.99
    assert same(partition(near, (2, 8), np.random.default_rng(0), n_null=3).labels, kinds)


def test_more_components_than_clusters_are_no_partition():
    affinity = np.eye(30)
    found = partition(affinity, (2, 6), np.random.default_rng(0))
    assert found.k == 1
    assert found.reason == "no partition: the affinity falls into 30 components, more than the largest k"
    assert found.components.tolist() == list(range(30))


def test_components_follow_chains_of_links():
    affinity = np.eye(9)
    for a, b in [(0, 4), (4, 8), (8, 2), (1, 3), (3, 5)]:
        affinity[a, b] = affinity[b, a] = 0.1
    assert connected(affinity).tolist() == [0, 1, 0, 1, 0, 1, 2, 3, 0]
    assert len(set(connected(affinity, link=0.1))) == 9


def test_clusters_that_k_means_leaves_empty_are_not_counted():
    """Three places for five clusters: three are realised, without a warning."""
    vectors = np.repeat(np.eye(5)[:3], 4, axis=0)
    labels = clusters(vectors, np.ones(12), seed=0)
    assert sorted(set(labels)) == [0, 1, 2]
    assert same(labels, np.repeat([0, 1, 2], 4))


def test_clusters_weigh_the_rows_and_forget_their_length():
    """Three directions in two clusters: the nearer two join, unless the middle one is too heavy to move."""
    rows = np.column_stack([np.cos([0, 0.5, 1.2]), np.sin([0, 0.5, 1.2])])
    for scale in ([1, 1, 1], [5, 0.1, 3]):
        light = clusters(rows * np.array(scale)[:, None], np.ones(3), seed=0)
        heavy = clusters(rows * np.array(scale)[:, None], np.array([100.0, 100, 1]), seed=0)
        assert same(light, np.array([0, 0, 1]))
        assert same(heavy, np.array([0, 1, 1]))


def test_many_components_of_unequal_affinities_keep_their_eigenvectors(monkeypatch):
    """Twelve times the eigenvalue 1, which an iteration over all at once would find ten times."""
    monkeypatch.setattr("benchtrust.harmony.partitions._DENSE", 20)
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(12), 60)
    affinity = np.where(own[:, None] == own, rng.random((720, 720)), 0)
    affinity = (affinity + affinity.T) / 2
    np.fill_diagonal(affinity, 1)
    values, vectors = embedding(affinity, np.ones(720), own, 15, 1)
    assert (values > 1 - 1e-4).sum() == 12
    assert same(clusters(vectors[:, :12], np.ones(720), seed=0), own)


def test_numbers_of_clusters_may_be_given_as_a_range():
    p, _ = mixture(60, 3, seed=6)
    similarity = predictive_similarity(p, 1.0)
    pair = partition(similarity, (2, 5), np.random.default_rng(0), n_null=0)
    assert pair.silhouettes.index.tolist() == [2, 3, 4, 5]
    assert partition(similarity, range(2, 6), np.random.default_rng(0), n_null=0).silhouettes.equals(
        pair.silhouettes
    )
    some = partition(similarity, [3, 5, 8], np.random.default_rng(0), n_null=0)
    assert some.silhouettes.index.tolist() == [3, 5, 8]


@pytest.mark.parametrize(
    ("k_range", "message"),
    [
        ((2, 20), "30 items cannot carry 20 clusters: end k_range at 15"),
        ((1, 5), "from 2 on"),
        ((5, 4), "smallest"),
    ],
)
def test_bad_numbers_of_clusters_are_named(k_range, message):
    p, _ = mixture(30, 3, seed=7)
    with pytest.raises(SchemaError, match=message):
        partition(predictive_similarity(p, 1.0), k_range, np.random.default_rng(0))


def test_a_bad_affinity_is_named():
    with pytest.raises(SchemaError, match="symmetric"):
        partition(np.triu(np.ones((9, 9))), (2, 4), np.random.default_rng(0))
