"""Graded answers: Samejima's model holds the 2PL, and a cut throws information away."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from benchtrust import irt
from benchtrust.errors import SchemaError
from benchtrust.irt import (
    graded_ability,
    graded_contrast,
    graded_information,
    graded_probability,
    simulate_graded,
    threshold_sensitivity,
)
from benchtrust.irt.binarising import GRADES

few = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 2**32 - 1)
THETA = np.linspace(-4, 4, 33)


def rng(seed=0):
    return np.random.default_rng(seed)


def items(seed, n_items=6, n_steps=3):
    draw = rng(seed)
    return np.exp(0.5 * draw.standard_normal(n_items)), np.sort(
        draw.normal(size=(n_items, n_steps)) * 1.5, axis=1
    )


@few
@given(seeds)
def test_chances_are_chances_and_every_cut_is_a_2pl(seed):
    a, b = items(seed)
    chances = graded_probability(THETA, a, b)
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=2), 1)
    for cut in (1, 2, 3):
        reached = chances[:, :, cut:].sum(axis=2)
        np.testing.assert_allclose(reached, irt.probability(THETA[:, None], a, b[:, cut - 1]), atol=1e-12)


@few
@given(seeds)
def test_no_cut_tells_more_than_the_grades(seed):
    a, b = items(seed)
    graded = graded_information(THETA, a, b)
    for cut in (1, 2, 3):
        assert (graded >= irt.information(THETA[:, None], a, b[:, cut - 1]) - 1e-12).all()


@few
@given(seeds)
def test_information_is_the_variance_of_the_score(seed):
    a, b = items(seed)
    step = 1e-5
    chances = graded_probability(THETA, a, b)
    slope = (graded_probability(THETA + step, a, b) - graded_probability(THETA - step, a, b)) / (2 * step)
    expected = (slope**2 / np.maximum(chances, 1e-300)).sum(axis=2)
    np.testing.assert_allclose(graded_information(THETA, a, b), expected, rtol=1e-4, atol=1e-9)


def test_one_step_is_the_2pl():
    a, b = items(3, n_steps=1)
    np.testing.assert_allclose(
        graded_information(THETA, a, b), irt.information(THETA[:, None], a, b[:, 0]), rtol=1e-6
    )
    grades = simulate_graded(THETA, a, b, rng(2))
    grades = grades.mask(rng(4).random(grades.shape) < 0.3)
    table = pd.DataFrame({"a": a, "b": b[:, 0]}, grades.columns)
    expected = irt.ability(grades, table, "eap")
    answered = expected["n_answers"] > 0
    found = graded_ability(grades, a, b)[answered]
    np.testing.assert_allclose(found, expected.loc[answered, ["theta", "se"]], atol=1e-5)


def test_simulated_grades_come_at_their_chances():
    a, b = items(5)
    grades = simulate_graded(np.full(20_000, 0.4), a, b, rng(6)).to_numpy()
    chances = graded_probability(np.array([0.4]), a, b)[0]
    shares = np.array([(grades == grade).mean(axis=0) for grade in range(4)]).T
    np.testing.assert_allclose(shares, chances, atol=4 * np.sqrt(0.25 / 20_000))


def test_no_answers_leave_the_prior():
    a, b = items(5)
    silent = pd.DataFrame(np.nan, ["x"], range(6))
    assert graded_ability(silent, a, b).loc["x"].tolist() == pytest.approx([0, 1], abs=1e-6)


@pytest.mark.parametrize("value", [0.5, -1.0, 4.0])
def test_what_is_no_grade_is_refused(value):
    a, b = items(5)
    with pytest.raises(SchemaError, match="from 0 to 3"):
        graded_ability(pd.DataFrame([[value] * 6]), a, b)


def test_grades_recover_ability_better_than_any_cut_and_the_middle_better_than_the_ends():
    found = graded_contrast(200, 12, 30, rng(8), n_grades=5, step=1.2)
    mean = found.groupby("reading").mean()
    others = mean.drop(index=GRADES)
    assert mean.loc[GRADES, "rmse"] < others["rmse"].min() - 0.01
    assert mean.loc[GRADES, "spearman"] > others["spearman"].max() + 0.01
    assert others.loc[["2+", "3+"], "rmse"].max() < others.loc[["1+", "4+"], "rmse"].min()
    assert others["share"].is_monotonic_decreasing
    np.testing.assert_allclose(mean["rmse"], mean["se"], rtol=0.06)


def test_two_grades_leave_nothing_to_throw_away():
    found = graded_contrast(40, 10, 3, rng(1), n_grades=2).pivot(index="draw", columns="reading")
    np.testing.assert_allclose(found["rmse"][GRADES], found["rmse"]["1+"], atol=1e-5)


def test_sizes_are_checked():
    with pytest.raises(SchemaError, match="at least 3, 1, 1, 2"):
        graded_contrast(40, 10, 3, rng(1), n_grades=1)


# ---------------------------------------------------------------- thresholds


def test_a_threshold_can_turn_an_order():
    """One model is often middling, the other good or bad: the cut decides."""
    grades = pd.DataFrame([[0.5, 0.5, 0.5, 0.5], [1.0, 0.0, 0.0, 0.5]], ["steady", "wild"])
    found = threshold_sensitivity(grades, [0.5, 0.6]).set_index("threshold")
    assert found["n_turned"].tolist() == [0, 1]
    assert found["tau"].tolist() == pytest.approx([1, -1])
    assert found["share"].tolist() == [6 / 8, 1 / 8]
    assert found["n_pairs"].tolist() == [1, 1]


@few
@given(seeds)
def test_the_counts_are_those_of_kendall(seed):
    grades = pd.DataFrame(rng(seed).integers(0, 4, (6, 7)) / 3)
    found = threshold_sensitivity(grades, [0.3, 0.6, 1.0])
    for row in found.itertuples():
        binary = (grades >= row.threshold).mean(axis=1)
        own = kendalltau(grades.mean(axis=1).round(9), binary.round(9)).statistic
        assert row.tau == pytest.approx(own, nan_ok=True)


def test_binary_scores_know_one_threshold_only():
    matrix = irt.simulate(
        rng(1).standard_normal(8), pd.DataFrame({"a": [1.0] * 9, "b": np.linspace(-1, 1, 9)}), rng(2), 0.2
    )
    found = threshold_sensitivity(matrix, [0.2, 0.9])
    assert found["tau"].tolist() == [1, 1]
    assert found[["n_turned", "n_tied"]].to_numpy().sum() == 0


def test_a_threshold_that_nothing_passes_ties_all():
    found = threshold_sensitivity(pd.DataFrame([[0.1, 0.2], [0.3, 0.4]]), [0.9]).iloc[0]
    assert np.isnan(found["tau"])
    assert (found["n_tied"], found["share"]) == (1, 0)


def test_thresholds_need_models():
    with pytest.raises(SchemaError, match="2 and 1 at least"):
        threshold_sensitivity(pd.DataFrame([[0.1, 0.2]]), [0.5])
