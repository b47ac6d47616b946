"""Made-up answers: their chances, their labels, and that taking some away changes no other."""

import numpy as np
import pandas as pd
import pytest

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
