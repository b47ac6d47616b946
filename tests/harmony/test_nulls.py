"""Nulls, bias, intervals, the cross-fitted test, stability of the partition and the τ × b sweep."""

from math import comb

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.harmony import (
    bias_curve,
    cluster_scores,
    cross_fitted,
    harmony,
    harmony_interval,
    harmony_null,
    partition_stability,
    predictive_similarity,
    sensitivity,
)
from benchtrust.harmony.nulls import _part


def benchmark(accuracy, sizes, rng) -> tuple[np.ndarray, np.ndarray]:
    """Right and wrong answers, and clusters."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return (rng.random(len(labels)) < np.asarray(accuracy)[labels]).astype(float), labels


def seen(own: np.ndarray, rng) -> np.ndarray:
    """Items × outcomes of a model that tells the kinds of items apart."""
    return np.array([rng.dirichlet(80 * (0.04 + 0.76 * np.eye(6)[kind])) for kind in own])


def kinds(n: int, k: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Clear clusters: items × outcomes, and the kind of each item."""
    own = rng.permutation(np.arange(n) % k)
    return seen(own, rng), own


@pytest.mark.parametrize(("n", "expected"), [(100, 0.78), (500, 0.96), (2000, 0.995)])
def test_small_samples_bias_a_uniform_benchmark_down(n, expected):
    found = bias_curve([0.6] * 10, None, [n], 0.1, 4000, np.random.default_rng(1)).iloc[0]
    assert found["true"] == pytest.approx(1)
    assert found["mean"] == pytest.approx(expected, abs=0.006)
    assert found["bias"] == pytest.approx(found["mean"] - 1)
    assert found["low"] < found["mean"] < found["high"]


def test_the_bias_depends_on_the_accuracies_and_can_be_upwards():
    rng = np.random.default_rng(2)
    uneven = bias_curve([0.9, 0.5, 0.3], [0.5, 0.3, 0.2], [50, 200, 5000], 0.1, 4000, rng)
    assert uneven["bias"].iloc[0] > 0.05
    assert (uneven["bias"].abs().diff().dropna() < 0).all()
    edge = bias_curve([0.95] * 10, None, [100], 0.1, 4000, rng)["bias"].item()
    assert edge > bias_curve([0.5] * 10, None, [100], 0.1, 4000, rng)["bias"].item() + 0.05


def test_random_partitions_follow_the_hypergeometric_distribution():
    """Two clusters of 3 and 6 items, 4 right: all ways to share them out."""
    scores, labels = np.array([1.0, 1, 0, 1, 1, 0, 0, 0, 0]), np.repeat([0, 1], [3, 6])
    drawn = harmony_null(scores, labels, 0.2, 20_000, np.random.default_rng(3)).partitions
    exact: dict[float, float] = {}
    for right in range(4):
        value = round(harmony([right / 3, (4 - right) / 6], [3, 6], 0.2).value, 9)
        exact[value] = exact.get(value, 0) + comb(3, right) * comb(6, 4 - right) / comb(9, 4)
    assert len(exact) > 2
    for value, chance in exact.items():
        assert np.isclose(drawn, value).mean() == pytest.approx(chance, abs=0.015)


def test_the_binomial_null_follows_the_enumerated_distribution():
    scores, labels = np.array([1.0, 1, 0, 1, 0]), np.repeat([0, 1], [2, 3])
    drawn = harmony_null(scores, labels, 0.3, 20_000, np.random.default_rng(4)).binomial
    exact: dict[float, float] = {}
    for a in range(3):
        for b in range(4):
            value = round(harmony([a / 2, b / 3], [2, 3], 0.3).value, 9)
            chance = comb(2, a) * comb(3, b) * 0.6 ** (a + b) * 0.4 ** (5 - a - b)
            exact[value] = exact.get(value, 0) + chance
    for value, chance in exact.items():
        assert np.isclose(drawn, value).mean() == pytest.approx(chance, abs=0.015)


def test_p_values_are_valid_without_a_difference_and_small_with_one():
    rng = np.random.default_rng(5)
    tails = [harmony_null(*benchmark([0.6] * 4, [30, 30, 20, 20], rng), 0.1, 99, rng) for _ in range(300)]
    for name in ("p_partitions", "p_binomial"):
        assert np.mean([getattr(tail, name) <= 0.1 for tail in tails]) == pytest.approx(0.1, abs=0.05)
    uneven = harmony_null(*benchmark([0.95, 0.6, 0.3, 0.6], [90, 90, 60, 60], rng), 0.1, 199, rng)
    assert uneven.p_partitions == uneven.p_binomial == 1 / 200


def test_partial_scores_and_items_not_asked_enter_the_null():
    scores = np.array([0.5, 1.0, np.nan, 0.0, 0.5, 1.0, np.nan, 0.5])
    labels = np.array([0, 0, 0, 1, 1, 0, 1, 1])
    null = harmony_null(scores, labels, 0.1, 50, np.random.default_rng(0))
    found = cluster_scores(scores, labels)
    assert null.observed.value == harmony(found.accuracy, found.sizes, 0.1).value
    assert found.n_missing == 2
    assert null.observed.mean == pytest.approx(np.nanmean(scores))


def test_labels_in_any_order_give_the_same_null():
    rng = np.random.default_rng(6)
    scores, labels = benchmark([0.8, 0.5, 0.6], [40, 20, 10], rng)
    order = rng.permutation(70)
    one = harmony_null(scores, labels, 0.1, 3000, np.random.default_rng(0)).partitions
    other = harmony_null(scores[order], labels[order], 0.1, 3000, np.random.default_rng(1)).partitions
    assert one.mean() == pytest.approx(other.mean(), abs=0.01)


def test_the_interval_is_the_bootstrap_over_items():
    """Against items drawn one by one."""
    rng = np.random.default_rng(7)
    scores, labels = benchmark([0.8, 0.5, 0.6], [40, 20, 12], rng)
    found = harmony_interval(scores, labels, 0.1, 4000, rng)
    draws = []
    for _ in range(4000):
        own = rng.integers(72, size=72)
        cells = cluster_scores(scores[own], labels[own])
        draws.append(harmony(cells.accuracy, cells.sizes, 0.1).value)
    for q in (0.1, 0.5, 0.9):
        assert np.quantile(found.draws, q) == pytest.approx(np.quantile(draws, q), abs=0.03)
    assert found.low < found.value < found.high
    assert found.drift == pytest.approx(found.draws.mean() - found.value)


def test_the_interval_covers_where_accuracies_differ_and_never_where_they_are_equal():
    rng = np.random.default_rng(8)
    for accuracy, covers in (([0.8, 0.6, 0.6, 0.5], True), ([0.6] * 4, False)):
        shares = np.array([0.4, 0.3, 0.2, 0.1]) if covers else np.full(4, 0.25)
        true = harmony(accuracy, shares, 0.1).value
        inside = []
        for _ in range(150):
            sizes = rng.multinomial(1000, shares)
            found = harmony_interval(*benchmark(accuracy, sizes, rng), 0.1, 300, rng)
            inside.append(found.low <= true <= found.high)
        assert np.mean(inside) == pytest.approx(0.95 if covers else 0.0, abs=0.05)


def test_a_cluster_that_a_draw_misses_has_no_mass():
    found = harmony_interval([1.0, 0, 1, 0, 1, 1], [0, 0, 0, 0, 0, 1], 0.1, 400, np.random.default_rng(0))
    assert found.draws.min() == 0
    assert np.isfinite(found.draws).all()


def test_the_cross_fitted_test_sees_through_a_model_s_own_confidence():
    """Each model is right where it happens to be sure: uneven on its own clusters, even on the others'."""
    rng = np.random.default_rng(9)
    similarities, rows = {}, {}
    for model in "abc":
        sure = rng.permutation(np.repeat([0, 1], [80, 40]))
        similarities[model] = predictive_similarity(seen(sure, rng), 0.5)
        rows[model] = (rng.random(120) < np.where(sure == 0, 0.95, 0.4)).astype(float)
    table = cross_fitted(similarities, pd.DataFrame(rows).T, (2, 4), 0.1, 199, rng, n_null=0)
    assert table.groupby("model")["fitted"].apply(list).tolist() == [["own", "others"]] * 3
    by = table.set_index(["fitted", "model"])
    assert (by.loc["own", "p"] == 1 / 200).all()
    assert (by.loc["others", "p"] > 0.01).all()


def test_the_cross_fitted_partition_is_that_of_the_other_models():
    """Two kinds that b and c see and a does not, for whom all items are alike: a is judged by them."""
    rng = np.random.default_rng(10)
    own = np.repeat([0, 1], [70, 30])
    similarities = {"a": predictive_similarity(np.full((100, 6), 1 / 6), 0.5)}
    similarities |= {model: predictive_similarity(seen(own, rng), 0.5) for model in "bc"}
    scores = pd.DataFrame([np.where(own == 0, 1.0, 0.0)] * 3, index=list("abc"))
    table = cross_fitted(similarities, scores, (2, 5), 0.2, 99, rng, n_null=3)
    row = table.set_index(["model", "fitted"]).loc[("a", "others")]
    assert row["k"] == 2
    assert row["value"] == pytest.approx(harmony([1.0, 0.0], [70, 30], 0.2).value)
    assert row["at_uniform"] == pytest.approx(harmony([0.5, 0.5], [70, 30], 0.2).value)
    assert row["p"] == 1 / 100
    none = table.set_index(["model", "fitted"]).loc[("a", "own")]
    assert none["k"] == 1
    assert np.isnan(none["value"])
    assert none["reason"].startswith("no partition")


def test_clear_clusters_are_stable_and_a_cloud_s_are_not():
    rng = np.random.default_rng(11)
    p, _ = kinds(90, 3, rng)
    clear = partition_stability(p, 1.0, (2, 5), rng, taus=(0.5, 2.0), n_seeds=3, n_subsamples=3)
    assert clear["varied"].tolist() == ["seed"] * 3 + ["tau"] * 2 + ["subsample"] * 3
    assert clear["setting"].tolist() == [0, 1, 2, 0.5, 2.0, 0, 1, 2]
    assert (clear["ari"] == 1).all()
    assert (clear["k"] == 3).all()
    cloud = partition_stability(rng.dirichlet(np.ones(6), 90), 1.0, (2, 5), rng, n_seeds=1, n_subsamples=4)
    assert cloud.loc[cloud["varied"] == "subsample", "ari"].mean() < 0.8


def test_a_part_of_the_items_has_the_similarity_of_those_items():
    p, _ = kinds(20, 2, np.random.default_rng(12))
    p = np.repeat(p, 4, axis=0)
    own = np.sort(np.random.default_rng(0).choice(80, 50, replace=False))
    part, alone = _part(predictive_similarity(p, 1.0), own), predictive_similarity(p[own], 1.0)
    assert part.affinity == pytest.approx(alone.affinity, abs=1e-7)
    assert part.weights.tolist() == alone.weights.tolist()
    assert part.representative.tolist() == alone.representative.tolist()
    assert part.items.tolist() == own.tolist()


def test_the_sweep_crosses_tau_and_bandwidth():
    rng = np.random.default_rng(13)
    p, own = kinds(90, 3, rng)
    scores = (rng.random(90) < np.array([0.9, 0.6, 0.3])[own]).astype(float)
    table = sensitivity(p, scores, (0.5, 1.0), (0.05, 0.2, 1.0), (2, 5), 50, rng, n_null=0)
    assert list(zip(table["tau"], table["bandwidth"], strict=True)) == [
        (tau, b) for tau in (0.5, 1.0) for b in (0.05, 0.2, 1.0)
    ]
    for _, rows in table.groupby("tau"):
        assert (np.diff(rows["value"]) > 0).all()
        assert rows["k"].nunique() == rows["silhouette"].nunique() == 1
    cells = cluster_scores(scores, own)
    assert table["value"].iloc[1] == pytest.approx(harmony(cells.accuracy, cells.sizes, 0.2).value)
    none = sensitivity(np.tile([0.5, 0.5], (20, 1)), np.ones(20), (1.0,), (0.1,), (2, 4), 50, rng)
    assert none["k"].item() == 1
    assert none[["value", "p"]].isna().all(axis=None)


def test_bad_input_is_named():
    rng = np.random.default_rng(0)
    scores, labels = benchmark([0.5, 0.5], [5, 5], rng)
    with pytest.raises(SchemaError, match="two clusters"):
        harmony_null(scores, np.zeros(10, dtype=int), 0.1, 10, rng)
    for call in (harmony_null, harmony_interval):
        with pytest.raises(SchemaError, match="0 draws"):
            call(scores, labels, 0.1, 0, rng)
    with pytest.raises(SchemaError, match="level"):
        harmony_interval(scores, labels, 0.1, 10, rng, level=95)
    with pytest.raises(SchemaError, match="0 draws"):
        bias_curve([0.5, 0.5], None, [10], 0.1, 0, rng)
    one = predictive_similarity(rng.dirichlet(np.ones(3), 10), 1.0)
    table = pd.DataFrame([scores, scores], index=["a", "b"])
    with pytest.raises(SchemaError, match="two models"):
        cross_fitted({"a": one}, table, (2, 3), 0.1, 10, rng)
    with pytest.raises(SchemaError, match="'c' has a similarity"):
        cross_fitted({"a": one, "c": one}, table, (2, 3), 0.1, 10, rng)
    with pytest.raises(SchemaError, match="items of 'a'"):
        cross_fitted({"a": one, "b": one}, table.add_prefix("i"), (2, 3), 0.1, 10, rng)
