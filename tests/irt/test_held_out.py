"""Held-out answers and respondents: nothing leaks, and each model wins where it is true."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust.errors import SchemaError
from benchtrust.irt import (
    calibrate,
    half_correlations,
    held_out_log_loss,
    parameter_stability,
    shuffled,
    simulate,
    split_half_reliability,
)
from benchtrust.irt.held_out import MODELS, _folds

pytestmark = pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning")
seeds = st.integers(0, 2**32 - 1)


def rng(seed=0):
    return np.random.default_rng(seed)


# ---------------------------------------------------------------- held-out answers


@given(seed=seeds, n_folds=st.integers(2, 12), missing=st.floats(0, 0.9))
@settings(max_examples=25, deadline=None)
def test_each_respondents_answers_are_dealt_out_evenly(seed, n_folds, missing):
    values = np.where(rng(seed).random((7, 30)) < missing, np.nan, 1.0)
    folds = _folds(values, n_folds, rng(seed))
    assert ((folds == -1) == np.isnan(values)).all()
    for row in folds:
        sizes = np.bincount(row[row >= 0], minlength=n_folds)
        assert len(sizes) == n_folds
        assert np.ptp(sizes) <= 1


def test_every_answer_is_predicted_once_or_counted_as_left_out(bank):
    made = bank(1, 40, 25, missing=0.2)
    found = held_out_log_loss(made.matrix, rng(1), n_folds=5)
    n_answers = made.matrix.notna().sum(axis=1)
    assert (found.n_cells <= n_answers).all()
    assert found.n_left_out == n_answers.sum() - found.n_cells.sum()
    rare = made.matrix.assign(i0=1.0)
    rare.loc["m3", "i0"] = 0.0
    assert held_out_log_loss(rare, rng(1), n_folds=5).n_left_out > found.n_left_out


def test_coins_cannot_be_predicted(bank):
    """Whoever saw the held-out answers would do better than ln 2."""
    coins = bank(2, 60, 40).matrix * 0 + rng(2).integers(0, 2, (60, 40))
    found = held_out_log_loss(coins, rng(3), n_folds=5)
    assert (found.losses.mean() > np.log(2) - 0.005).all()
    assert (found.losses.mean() < np.log(2) + 0.05).all()


@pytest.mark.parametrize(("spread", "better"), [(0.02, "1pl"), (1.0, "2pl")])
def test_the_true_model_predicts_best(bank, spread, better):
    made = bank(3, 150, 60, spread=spread)
    found = held_out_log_loss(made.matrix, rng(4), n_folds=4)
    assert found.losses.mean().idxmin() == better
    gain = found.difference("base_rate", better)
    assert 0 < gain["low"] < gain["difference"] < gain["high"]


def test_the_interval_is_that_of_paired_respondents(bank):
    found = held_out_log_loss(bank(4, 30, 20).matrix, rng(5), n_folds=3)
    own = found.losses["1pl"] - found.losses["2pl"]
    gap = found.difference("1pl", "2pl", level=0.9)
    assert gap["difference"] == pytest.approx(found.losses["1pl"].mean() - found.losses["2pl"].mean())
    assert gap["high"] - gap["low"] == pytest.approx(2 * 1.699127 * own.std() / np.sqrt(30))


def test_two_runs_are_equal_and_one_fold_is_refused(bank):
    matrix = bank(5, 20, 12).matrix
    one, other = (held_out_log_loss(matrix, rng(6), n_folds=3) for _ in range(2))
    pd.testing.assert_frame_equal(one.losses, other.losses)
    assert list(one.losses) == list(MODELS)
    with pytest.raises(SchemaError, match="1 folds"):
        held_out_log_loss(matrix, rng(6), n_folds=1)


# ---------------------------------------------------------------- halves of respondents


def test_many_respondents_make_stable_parameters_and_few_do_not(bank):
    items = bank(6, 2, 30).items
    answers = simulate(rng(7).standard_normal(2000), items, rng(8))
    many = half_correlations(parameter_stability(answers, rng(9), n_draws=2))
    few = half_correlations(parameter_stability(answers.iloc[:60], rng(9), n_draws=8))
    assert (many[["a", "b"]] > 0.85).all(axis=None)
    assert few["a"].mean() < 0.6 < many["a"].min()
    assert few["b"].mean() > few["a"].mean()


def test_the_halves_share_nobody(bank):
    """The calibrations of a draw are those of two halves that make up the whole."""
    matrix = bank(7, 41, 10).matrix
    draw = parameter_stability(matrix, rng(10), n_draws=1)
    order = rng(10).permutation(41)
    for half, name in ((order[:21], "first"), (order[21:], "second")):
        items = calibrate(matrix.iloc[np.sort(half)]).items
        own = draw.set_index("item")
        np.testing.assert_allclose(own[f"a_{name}"], items["a"].loc[own.index], rtol=1e-9)
        np.testing.assert_allclose(own[f"b_{name}"], items["b"].loc[own.index], rtol=1e-9)
    assert half_correlations(draw)["n_items"].tolist() == [len(draw)]


def test_too_few_respondents_to_halve(bank):
    with pytest.raises(SchemaError, match="5 respondents"):
        parameter_stability(bank(8, 5, 10).matrix, rng())


# ---------------------------------------------------------------- the control


@given(seed=seeds, missing=st.floats(0, 0.8))
@settings(max_examples=20, deadline=None)
def test_shuffling_keeps_pass_rates_and_what_was_asked(bank, seed, missing):
    made = bank(9, 15, 12, missing=missing)
    found = shuffled(made.matrix, rng(seed))
    assert found.isna().equals(made.matrix.isna())
    pd.testing.assert_series_equal(found.sum(), made.matrix.sum())


def test_shuffled_answers_leave_no_discrimination_and_no_ranking(bank):
    """Case 20: whatever comes out of shuffled answers is chance."""
    made = bank(10, 77, 150)
    control = shuffled(made.matrix, rng(11))
    real, chance = (calibrate(own).items["a"].median() for own in (made.matrix, control))
    assert chance < 0.5 * real
    agreement = [np.nanmean(split_half_reliability(own, rng(12)).halves) for own in (made.matrix, control)]
    assert agreement[0] > 0.8
    assert abs(agreement[1]) < 0.25
    gain = held_out_log_loss(control, rng(13), n_folds=3).difference("base_rate", "2pl")
    assert gain["low"] < 0.001
    assert abs(half_correlations(parameter_stability(control, rng(14), n_draws=4))["a"].mean()) < 0.2
