"""Pruning by similarity and sizes, the move of the score against random pruning, benchmarks at once."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, spearmanr

from benchtrust.errors import SchemaError
from benchtrust.harmony import (
    given_similarity,
    harmony,
    predictive_similarity,
    prune,
    rebalance,
    rebalance_benchmarks,
    shift_association,
)

quick = settings(max_examples=40, deadline=None)


def blocks(sizes, within=0.9, between=0.1) -> tuple[np.ndarray, np.ndarray]:
    """Affinity of clusters of equal similarities, and the labels."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    affinity = np.where(labels[:, None] == labels, within, between)
    np.fill_diagonal(affinity, 1)
    return affinity, labels


def random_case(rng, sizes) -> tuple:
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return predictive_similarity(rng.dirichlet(np.ones(4), len(labels)), 1.0), labels


@quick
@given(st.lists(st.integers(1, 12), min_size=2, max_size=5), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_pruning_levels_the_sizes_from_the_top(sizes, seed, share):
    rng = np.random.default_rng(seed)
    similarity, labels = random_case(rng, sizes)
    n_removed = int(share * (sum(sizes) - len(sizes)))
    left = np.bincount(labels[prune(similarity, labels, n_removed)], minlength=len(sizes))
    assert left.sum() == sum(sizes) - n_removed
    cut = left < np.array(sizes)
    assert not cut.any() or left.max() - left[cut].min() <= 1
    if left.max() > min(sizes):
        before, after = (harmony(np.ones(len(sizes)), own).at_uniform for own in (sizes, left))
        assert after > before - 1e-12


def test_the_most_similar_items_of_the_largest_cluster_go_first():
    """Four near-copies among the larger cluster: three of them go before anything else."""
    affinity, labels = blocks([8, 4], within=0.5)
    affinity[:4, :4] = 0.99
    np.fill_diagonal(affinity, 1)
    kept = prune(given_similarity(affinity, "test"), labels, 3)
    assert kept[:4].sum() == 1
    assert kept[4:].all()


def test_similarity_is_to_the_items_that_are_left():
    """A pair of copies: once one is gone, the other is no more similar to the rest than anyone."""
    affinity, labels = blocks([6, 2], within=0.5)
    affinity[0, 1] = affinity[1, 0] = 0.99
    affinity[4, 5] = affinity[5, 4] = 0.9
    kept = prune(given_similarity(affinity, "test"), labels, 2)
    assert kept[[0, 1]].sum() == 1
    assert kept[[4, 5]].sum() == 1


def test_copies_are_pruned_one_by_one():
    p = np.vstack([np.tile([0.7, 0.2, 0.1], (6, 1)), np.random.default_rng(0).dirichlet(np.ones(3), 6)])
    labels = np.repeat([0, 1], [9, 3])
    kept = prune(predictive_similarity(p, 1.0), labels, 5)
    assert kept[:6].sum() == 1
    assert kept[6:].all()


def test_pruning_sees_no_score_and_no_order_of_clusters():
    rng = np.random.default_rng(1)
    similarity, labels = random_case(rng, [20, 9, 4])
    kept = prune(similarity, labels, 10)
    assert (kept == prune(similarity, np.array([2, 0, 1])[labels], 10)).all()


def test_rebalancing_moves_the_score_towards_the_small_clusters():
    """The large cluster is easy: its items go, the score falls, H rises; random pruning moves nothing."""
    rng = np.random.default_rng(2)
    affinity, labels = blocks([160, 20, 20])
    chance = np.array([0.95, 0.4, 0.4])[labels]
    scores = pd.DataFrame((rng.random((3, 200)) < chance).astype(float), index=list("abc"))
    found = rebalance(given_similarity(affinity, "test"), labels, scores, 0.5, 0.5, 400, rng)
    assert found.sizes_before.tolist() == [160, 20, 20]
    assert found.sizes_after.tolist() == [60, 20, 20]
    assert found.uniform_after > found.uniform_before + 0.1
    assert found.models["model"].tolist() == ["a", "b", "c", "mean of models"]
    models = found.models.set_index("model")
    assert (models["shift"] < -0.05).all()
    assert (models["high"] < 0).all()
    assert (models["p"] < 0.02).all()
    assert (models["p_random"] < 0.02).all()
    assert (models["harmony_after"] > models["harmony_before"]).all()
    assert models["harmony_random"].to_numpy() == pytest.approx(models["harmony_before"].to_numpy(), abs=0.03)
    for model, row in scores.iterrows():
        assert models.loc[model, "before"] == pytest.approx(row.mean())
        assert models.loc[model, "after"] == pytest.approx(row[found.kept].mean())
        cells = row.groupby(labels).mean().to_numpy(), np.bincount(labels)
        assert models.loc[model, "harmony_before"] == pytest.approx(harmony(*cells, 0.5).value)
    whole = scores.mean()
    assert models.loc["mean of models", "shift"] == pytest.approx(whole[found.kept].mean() - whole.mean())


def test_random_pruning_has_the_spread_of_sampling_without_replacement():
    rng = np.random.default_rng(3)
    affinity, labels = blocks([60, 40])
    scores = pd.DataFrame(rng.integers(0, 2, (1, 100)).astype(float), index=["a"])
    found = rebalance(given_similarity(affinity, "test"), labels, scores, 0.3, 0.1, 4000, rng).models.iloc[0]
    assert found["random_sd"] == pytest.approx(np.sqrt(scores.loc["a"].var() * (1 / 70 - 1 / 100)), rel=0.05)
    assert found["random_move"] == pytest.approx(found["random_sd"] * np.sqrt(2 / np.pi), rel=0.05)


def test_the_bootstrap_is_paired():
    """Scores equal in all items kept or not: the shift has no noise beyond that of the difference."""
    rng = np.random.default_rng(4)
    affinity, labels = blocks([60, 40])
    scores = pd.DataFrame(rng.integers(0, 2, (1, 100)).astype(float), index=["a"])
    found = rebalance(given_similarity(affinity, "test"), labels, scores, 0.1, 0.1, 2000, rng)
    row, x = found.models.iloc[0], scores.loc["a"].to_numpy()
    weight = found.kept / found.kept.sum()
    influence = weight * (x - row["after"]) - (x - row["before"]) / 100
    assert (row["high"] - row["low"]) / 3.92 == pytest.approx(np.sqrt((influence**2).sum()), rel=0.1)
    assert row["low"] < row["shift"] < row["high"]


def test_p_values_are_valid_when_clusters_do_not_differ():
    rng = np.random.default_rng(5)
    affinity, labels = blocks([50, 20, 10])
    similarity = given_similarity(affinity, "test")
    p = []
    for _ in range(150):
        scores = pd.DataFrame((rng.random((1, 80)) < 0.6).astype(float), index=["a"])
        p.append(rebalance(similarity, labels, scores, 0.3, 0.1, 99, rng).models[["p", "p_random"]].iloc[0])
    assert np.mean([row["p"] <= 0.1 for row in p]) == pytest.approx(0.1, abs=0.07)
    assert np.mean([row["p_random"] <= 0.1 for row in p]) == pytest.approx(0.1, abs=0.07)


def clear_benchmark(rng, sizes, chances, models="abcd") -> tuple[dict, pd.DataFrame]:
    """Similarities of models that see the same clusters, and their scores."""
    own = np.repeat(np.arange(len(sizes)), sizes)
    seen = {m: np.array([rng.dirichlet(80 * (0.04 + 0.76 * np.eye(6)[k])) for k in own]) for m in models}
    scores = (rng.random((len(models), len(own))) < np.asarray(chances)[own]).astype(float)
    similarities = {m: predictive_similarity(p, 0.5) for m, p in seen.items()}
    return similarities, pd.DataFrame(scores, index=list(models))


@pytest.fixture(scope="module")
def benchmarks() -> dict:
    rng = np.random.default_rng(6)
    sizes = [60, 20, 20]
    even = {f"even{i}": clear_benchmark(rng, sizes, [0.6, 0.6, 0.6]) for i in range(3)}
    uneven = {f"uneven{i}": clear_benchmark(rng, sizes, [0.98, 0.1, 0.5]) for i in range(2)}
    same = {m: predictive_similarity(np.tile([0.5, 0.5], (30, 1)), 1.0) for m in "ab"}
    none = {"none": (same, pd.DataFrame(np.ones((2, 30)), index=["a", "b"]))}
    return even | uneven | none


@pytest.fixture(scope="module")
def several(benchmarks) -> pd.DataFrame:
    return rebalance_benchmarks(benchmarks, 0.3, (2, 4), 0.2, 199, np.random.default_rng(7), n_null=0)


def test_only_the_judged_models_scores_are_looked_at(several, benchmarks):
    for row in several.dropna(subset="before").itertuples():
        scores = benchmarks[row.benchmark][1]
        assert row.before == pytest.approx(scores.loc[row.judged.split(", ")].to_numpy().mean())
        assert row.before != pytest.approx(scores.to_numpy().mean())


def test_benchmarks_are_chosen_on_one_half_and_judged_on_the_other(several):
    for row in several.itertuples():
        chosen, judged = row.chosen.split(", "), row.judged.split(", ")
        assert not set(chosen) & set(judged)
        assert sorted(chosen + judged) == list("ab" if row.benchmark == "none" else "abcd")
    assert len(set(several["chosen"])) > 1
    found = several.set_index("benchmark")
    assert (found["k"].drop("none") == 3).all()
    assert (found["n_items"].drop("none") == 100).all()
    assert found.loc["none", "k"] == 1
    assert np.isnan(found.loc["none", "shift"])
    assert (found.filter(like="uneven", axis=0)["shift"] < -0.05).all()
    assert (found.filter(like="uneven", axis=0)["harmony_before"] < 0.9).all()
    assert (found.filter(like="uneven", axis=0)["p_bh"] < 0.05).all()
    assert (found.filter(regex="^even", axis=0)["p"] > found.filter(like="uneven", axis=0)["p"].max()).all()


def test_p_values_are_adjusted_over_the_benchmarks_that_have_one(several):
    found = several.dropna(subset="p")
    assert len(found) == 5
    for name in ("p", "p_random"):
        assert found[f"{name}_bh"].to_numpy() == pytest.approx(false_discovery_control(found[name]))
    assert several.loc[several["benchmark"] == "none", "p_bh"].isna().all()


def test_the_association_is_spearman_s_over_benchmarks(several):
    found = shift_association(several, 300, np.random.default_rng(0))
    own = several.dropna(subset="shift")
    assert found.rho == pytest.approx(spearmanr(own["harmony_before"], own["shift"].abs()).statistic)
    assert found.low <= found.rho <= found.high
    assert (found.n_benchmarks, found.n_left_out) == (5, 1)
    assert found.n_undefined < 300


def test_the_association_s_p_value_is_that_of_all_permutations():
    """Five benchmarks in perfect order: 2 of 120 permutations are as extreme."""
    table = pd.DataFrame({"harmony_before": [0.1, 0.3, 0.5, 0.7, 0.9], "shift": [0.5, -0.4, 0.3, 0.2, -0.1]})
    found = shift_association(table, 20_000, np.random.default_rng(1))
    assert found.rho == pytest.approx(-1)
    assert found.p == pytest.approx(2 / 120, abs=0.004)


def test_bad_input_is_named():
    rng = np.random.default_rng(0)
    affinity, labels = blocks([6, 4])
    similarity = given_similarity(affinity, "test")
    scores = pd.DataFrame(np.ones((2, 10)))
    with pytest.raises(SchemaError, match="do not fit"):
        prune(similarity, labels[:5], 1)
    with pytest.raises(SchemaError, match="One cluster"):
        prune(similarity, np.zeros(10, dtype=int), 1)
    with pytest.raises(SchemaError, match="9 of 10 items"):
        prune(similarity, labels, 9)
    for share in (0, 1, 1.5):
        with pytest.raises(SchemaError, match="share"):
            rebalance(similarity, labels, scores, share, 0.1, 9, rng)
    with pytest.raises(SchemaError, match="not the items"):
        rebalance(similarity, labels, scores.add_prefix("i"), 0.2, 0.1, 9, rng)
    with pytest.raises(SchemaError, match="none missing"):
        rebalance(similarity, labels, scores.where(scores.index.to_series() == 0), 0.2, 0.1, 9, rng)
    with pytest.raises(SchemaError, match="one half chooses"):
        rebalance_benchmarks({"x": ({"a": similarity}, scores)}, 0.2, (2, 3), 0.1, 9, rng)
    with pytest.raises(SchemaError, match="four or more"):
        shift_association(pd.DataFrame({"harmony_before": [1.0], "shift": [0.1]}), 9, rng)
