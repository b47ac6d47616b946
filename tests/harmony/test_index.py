"""HARMONY against the values found by checking the paper; its range, its symmetries, its neighbours."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchtrust.errors import SchemaError
from benchtrust.harmony import cluster_scores, harmony

quick = settings(max_examples=100, deadline=None)
unit = st.floats(0, 1)
clusters = st.lists(st.tuples(unit, st.floats(0.01, 1)), min_size=2, max_size=8)
bandwidths = st.floats(0.01, 3)


@pytest.mark.parametrize(
    ("accuracy", "weights", "bandwidth", "value"),
    [
        ([0.9, 0.1], None, 0.1, 1.0),
        ([0.9, 0.9, 0.1, 0.1], None, 0.1, 1.0),
        ([0.7, 0.7, 0.7, 0.1], None, 0.1, 0.79),
        ([0.7, 0.7, 0.7, 0.1], None, 0.01, 0.79),
        ([0.7, 0.7, 0.7, 0.1], None, 0.3, 0.89),
        ([0.6, 0.6, 0.6, 0.6], [85, 5, 5, 5], 0.1, 0.424),
        ([0.4, 0.5, 0.6, 0.7, 0.8], None, 0.05, 0.11),
        ([0.4, 0.5, 0.6, 0.7, 0.8], None, 0.1, 0.66),
        ([0.4, 0.5, 0.6, 0.7, 0.8], None, 0.2, 0.95),
        ([0.4, 0.5, 0.6, 0.7, 0.8], None, 0.5, 1.00),
        ([0.8, 0.6, 0.6, 0.6], [0.4, 0.2, 0.2, 0.2], 0.1, 0.9993),
    ],
)
def test_reference_values(accuracy, weights, bandwidth, value):
    digits = len(str(value).split(".")[1].rstrip("0")) or 2
    assert harmony(accuracy, weights, bandwidth).value == pytest.approx(
        value, abs=0.55 * 10 ** -max(digits, 2)
    )


def test_the_formula_term_by_term():
    accuracy, weights, b, eps = [0.8, 0.5, 0.65], [0.5, 0.3, 0.2], 0.15, 1e-3
    mu = sum(w * a for w, a in zip(weights, accuracy, strict=True))
    raw = [w * np.exp(-(((a - mu) / b) ** 2)) for w, a in zip(weights, accuracy, strict=True)]
    p = [r / sum(raw) for r in raw]
    found = harmony(accuracy, weights, b, eps)
    assert found.mean == pytest.approx(mu)
    assert found.masses == pytest.approx(p)
    assert found.value == pytest.approx(-sum(x * np.log(x + eps) for x in p) / np.log(3))
    assert found.sd == pytest.approx(
        np.sqrt(sum(w * (a - mu) ** 2 for w, a in zip(weights, accuracy, strict=True)))
    )
    assert found.renyi == pytest.approx(-np.log(sum(x**2 for x in p)) / np.log(3))
    assert (found.worst, found.worst_cluster) == (0.5, 1)


def test_the_value_at_uniform_accuracy_is_no_bound():
    found = harmony([0.8, 0.6, 0.6, 0.6], [0.4, 0.2, 0.2, 0.2], 0.1)
    assert found.at_uniform == pytest.approx(0.961, abs=5e-4)
    assert found.value > found.at_uniform + 0.03


def test_the_size_free_variant_uses_equal_weights_in_the_mean_too():
    found = harmony([0.9, 0.5, 0.5], [0.8, 0.1, 0.1], 0.2)
    assert found.size_free == pytest.approx(harmony([0.9, 0.5, 0.5], None, 0.2).value)
    assert harmony([0.6] * 4, [85, 5, 5, 5], 0.1).size_free == pytest.approx(1)


def test_a_bandwidth_in_units_of_the_spread_would_hide_the_spread():
    wide = np.array([0.2, 0.5, 0.9])
    narrow = 0.5 + (wide - 0.5) / 10
    assert harmony(wide, None, wide.std()).value == pytest.approx(harmony(narrow, None, narrow.std()).value)
    assert harmony(wide, None, 0.1).value < harmony(narrow, None, 0.1).value - 0.3


def test_gini_by_hand():
    """Two equal halves at 0 and 1: half of everything is out of place; nobody right: all are equal."""
    assert harmony([0.0, 1.0]).gini == pytest.approx(0.5)
    assert harmony([0.0, 1.0], [3, 1]).gini == pytest.approx(0.75)
    assert harmony([0.0, 0.0]).gini == 0


@quick
@given(clusters, bandwidths)
def test_everything_stays_in_its_range(rows, b):
    accuracy, weights = zip(*rows, strict=True)
    found = harmony(accuracy, weights, b)
    for value in (found.value, found.at_uniform, found.size_free, found.renyi):
        assert -1e-12 <= value <= 1 + 1e-12
    assert found.masses.sum() == pytest.approx(1)
    assert found.worst <= found.mean + 1e-12
    assert 0 <= found.gini < 1
    assert 0 <= found.sd <= 0.5 + 1e-12
    assert found.renyi <= found.value + 1e-9


@quick
@given(clusters, bandwidths, st.randoms())
def test_order_of_clusters_and_scale_of_weights_change_nothing(rows, b, random):
    accuracy, weights = np.array(rows).T
    order = list(range(len(rows)))
    random.shuffle(order)
    one, other = harmony(accuracy, weights, b), harmony(accuracy[order], 7 * weights[order], b)
    for name in ("value", "at_uniform", "size_free", "sd", "gini", "renyi", "worst"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-9)


@quick
@given(unit, st.lists(st.floats(0.01, 1), min_size=2, max_size=8), bandwidths)
def test_equal_accuracies_give_the_entropy_of_the_sizes(accuracy, weights, b):
    found = harmony([accuracy] * len(weights), weights, b)
    assert found.value == pytest.approx(found.at_uniform)
    assert found.size_free == pytest.approx(1)
    assert found.sd == pytest.approx(0, abs=1e-7)


@quick
@given(clusters, bandwidths)
def test_splitting_every_cluster_adds_its_entropy(rows, b):
    """Two equal halves of each: H log k grows by log 2, the spread and the mean stay."""
    accuracy, weights = np.array(rows).T
    whole = harmony(accuracy, weights, b)
    halves = harmony(np.repeat(accuracy, 2), np.repeat(weights / 2, 2), b)
    k = len(rows)
    assert halves.value * np.log(2 * k) == pytest.approx(whole.value * np.log(k) + np.log(2), abs=1e-9)
    assert halves.mean == pytest.approx(whole.mean)
    assert halves.gini == pytest.approx(whole.gini, abs=1e-9)


@quick
@given(unit, unit, bandwidths)
def test_two_equal_clusters_always_look_uniform(first, second, b):
    assert harmony([first, second], None, b).value == pytest.approx(1)


@quick
@given(clusters)
def test_a_tiny_bandwidth_does_not_underflow(rows):
    accuracy, weights = zip(*rows, strict=True)
    assume(np.ptp(accuracy) > 0.1)
    assert 0 <= harmony(accuracy, weights, 1e-6).value <= 1 + 1e-12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5],), "two clusters"),
        (([[0.5, 0.5]],), "shape"),
        (([0.5, 1.2],), "between 0 and 1"),
        (([0.5, np.nan],), "missing"),
        (([0.5, 0.6], [1, 2, 3]), "do not fit"),
        (([0.5, 0.6], [1, 0]), "positive"),
        (([0.5, 0.6], [1, np.nan]), "positive"),
        (([0.5, 0.6], None, 0), "bandwidth"),
        (([0.5, 0.6], None, 0.1, -1), "epsilon"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(SchemaError, match=message):
        harmony(*arguments)


def test_cluster_scores_leave_out_what_was_not_asked_and_count_it():
    found = cluster_scores([1, 0, np.nan, 0.5, 1], [0, 0, 0, 1, 1])
    assert found.accuracy.tolist() == [0.5, 0.75]
    assert found.sizes.tolist() == [2, 2]
    assert found.n_missing == 1


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1, 0], [0, 1, 1], "one of each"),
        ([1, np.nan], [0, 1], "Cluster 1 has no item"),
        ([1, 2], [0, 1], "between 0 and 1"),
    ],
)
def test_cluster_scores_name_bad_input(scores, labels, message):
    with pytest.raises(SchemaError, match=message):
        cluster_scores(scores, np.array(labels))
