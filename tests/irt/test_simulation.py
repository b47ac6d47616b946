"""Made-up answers: their chances, their labels, and that taking some away changes no other."""

import warnings

import numpy as np
import pandas as pd
import pytest

from benchtrust import irt
from benchtrust.errors import SchemaError
from benchtrust.irt import probability, simulate

ITEMS = pd.DataFrame(
    {"a": [0.5, 1.0, 2.0], "b": [-1.0, 0.0, 1.5]}, index=pd.Index(list("xyz"), name="item_id")
)


def test_answers_are_right_as_often_as_the_model_says():
    theta = np.repeat([-1.0, 2.0], 20_000)
    rate = simulate(theta, ITEMS, np.random.default_rng(0)).groupby(theta).mean()
    expected = probability(np.array([[-1.0], [2.0]]), ITEMS["a"].to_numpy(), ITEMS["b"].to_numpy())
    assert rate.to_numpy() == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(20_000))


def test_answers_are_independent_given_ability():
    answers = simulate(np.zeros(20_000), ITEMS, np.random.default_rng(0))
    assert np.abs(np.triu(answers.corr(), 1)).max() < 4 / np.sqrt(20_000)


def test_missing_answers_are_taken_away_at_random_and_change_no_other():
    whole = simulate(np.zeros(5000), ITEMS, np.random.default_rng(1))
    gaps = simulate(np.zeros(5000), ITEMS, np.random.default_rng(1), missing=0.3)
    assert gaps.isna().mean().to_numpy() == pytest.approx(0.3, abs=0.03)
    assert ((gaps == whole) | gaps.isna()).all(axis=None)
    assert whole.notna().all(axis=None)


def test_labels_are_kept_and_axes_named():
    theta = pd.Series([0.0, 1.0], index=["m1", "m2"])
    named = simulate(theta, ITEMS, np.random.default_rng(0))
    assert (list(named.index), list(named.columns)) == (["m1", "m2"], ["x", "y", "z"])
    assert (named.index.name, named.columns.name) == ("respondent", "item_id")
    assert simulate(theta.rename_axis("model"), ITEMS, np.random.default_rng(0)).index.name == "model"


@pytest.mark.parametrize("missing", [-0.1, 1.0, 1.5])
def test_a_share_outside_zero_to_one_is_refused(missing):
    with pytest.raises(SchemaError, match="0 to below 1"):
        simulate(np.zeros(3), ITEMS, np.random.default_rng(0), missing)


@pytest.mark.parametrize("theta", [[0.0, np.nan], [np.inf, 1.0]])
def test_an_ability_that_is_not_finite_answers_nothing(theta):
    """A chance that is no number is below any draw: all answers would be wrong."""
    with pytest.raises(SchemaError, match="not finite"):
        simulate(theta, ITEMS, np.random.default_rng(0))


DRAWING = {
    "simulate": lambda rng, m, c: irt.simulate([0.0, 1.0], ITEMS, rng),
    "simulate_graded": lambda rng, m, c: irt.simulate_graded([0.0], np.ones(1), np.array([[0.0, 1.0]]), rng),
    "graded_contrast": lambda rng, m, c: irt.graded_contrast(5, 4, 1, rng),
    "select_items": lambda rng, m, c: irt.select_items(m, 2, "random", rng=rng),
    "split_half_reliability": lambda rng, m, c: irt.split_half_reliability(m, rng),
    "half_agreement": lambda rng, m, c: irt.half_agreement(m, rng, 1),
    "held_out_log_loss": lambda rng, m, c: irt.held_out_log_loss(m, rng),
    "parameter_stability": lambda rng, m, c: irt.parameter_stability(m, rng),
    "shuffled": lambda rng, m, c: irt.shuffled(m, rng),
    "fit_bootstrap": lambda rng, m, c: irt.fit_bootstrap(m, c, 1, rng),
    "part_agreement": lambda rng, m, c: irt.part_agreement(m, c, m.columns[:4], 1, rng),
    "item_report": lambda rng, m, c: irt.item_report(m, c, rng),
    "tracking": lambda rng, m, c: irt.tracking(c, rng),
    "cross_fitted": lambda rng, m, c: irt.cross_fitted(m, [*m.columns[:4]], c.items, 2, rng),
    "agreement_on_banks": lambda rng, m, c: irt.agreement_on_banks(
        irt.Population(20, 10, cv=0.5, spread=1, mean_score=0.6, difficulty_sd=1),
        ["random"],
        [3],
        1,
        1,
        3,
        rng,
    ),
    "hold_out": lambda rng, m, c: irt.hold_out(m.index, 3, rng),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("rng", [1, None, np.random.RandomState(1)])
@pytest.mark.parametrize("name", DRAWING)
def test_a_seed_is_no_source_of_draws(name, rng, few_answers):
    with pytest.raises(SchemaError, match=r"rng is .*give rng=np.random.default_rng"):
        DRAWING[name](rng, *few_answers)


@pytest.fixture(scope="module")
def few_answers(bank):
    made = bank(2, 20, 12, spread=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.matrix, irt.calibrate(made.matrix)
