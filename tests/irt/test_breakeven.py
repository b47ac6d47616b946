"""When calibration pays: the formula against counting model by model."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust.errors import SchemaError
from benchtrust.irt import CalibrationPlan, break_even, evaluation_costs
from benchtrust.irt.breakeven import CALIBRATED, FULL, RANDOM

designs = st.fixed_dictionaries(
    {
        "n_items": st.integers(20, 60),
        "n_calibration": st.integers(1, 8),
        "k": st.integers(1, 20),
        "k_random": st.integers(1, 20),
        "wanted": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        "answer_cost": st.sampled_from([0.5, 1.0, 2.0]),
        "fixed_cost": st.sampled_from([0.0, 8.0]),
    }
)


@settings(max_examples=40, deadline=None)
@given(designs)
def test_from_the_break_even_on_calibration_is_cheaper_and_before_it_is_not(design):
    n_star = break_even(CalibrationPlan(**design)).set_index("alternative")["n_star"]
    later = range(600)
    cost = evaluation_costs(CalibrationPlan(**design), later)
    cost = cost.pivot(index="n_later", columns="strategy", values="cost")
    for alternative in (FULL, RANDOM):
        cheaper = cost[CALIBRATED] < cost[alternative]
        first = n_star[alternative]
        assert cheaper.tolist() == [first is not pd.NA and n >= first for n in later]


def test_it_never_pays_against_a_random_subset_that_is_no_larger():
    table = break_even(CalibrationPlan(400, 77, k=12, k_random=12)).set_index("alternative")
    assert table["n_star"].isna().tolist() == [False, True]
    assert table.loc[FULL, "n_star"] == 1


def test_a_worked_example():
    """10 models of 100 items, 4 of them wanted: 1,000 answers against 400; each later model saves 80."""
    table = break_even(CalibrationPlan(100, 10, k=20, k_random=50, wanted=0.4)).set_index("alternative")
    assert table["outlay"].tolist() == [600, 800]
    assert table["saved_per_model"].tolist() == [80, 30]
    assert table["n_star"].tolist() == [8, 27]


@settings(deadline=None)
@given(designs, st.sampled_from([2.0, 4.0]))
def test_the_currency_does_not_matter(design, rate):
    other = design | {name: design[name] * rate for name in ("answer_cost", "fixed_cost")}
    one, two = (break_even(CalibrationPlan(**own))["n_star"] for own in (design, other))
    assert one.equals(two)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"k": 0}, "1 to 100"),
        ({"k_random": 101}, "1 to 100"),
        ({"n_calibration": 0}, "one at least"),
        ({"wanted": 1.5}, "a share"),
        ({"answer_cost": 0.0}, "above 0"),
        ({"fixed_cost": -1.0}, "from 0"),
    ],
)
def test_what_cannot_be_is_refused(wrong, said):
    design = {"n_items": 100, "n_calibration": 10, "k": 20}
    with pytest.raises(SchemaError, match=said):
        CalibrationPlan(**design | wrong)


def test_fewer_than_no_models_are_refused():
    with pytest.raises(SchemaError, match="from 0 on"):
        evaluation_costs(CalibrationPlan(100, 10, 20), [3, -1])
