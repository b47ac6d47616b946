"""Items that decide between two models: shares add up, and leaving items out does what is said."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.irt import ability, deciding_items

few = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)


@few
@given(seeds, st.sampled_from([0.0, 0.3]))
def test_the_shares_add_up_to_the_differences(bank, seed, missing):
    made = bank(seed, 2, 30, missing=missing)
    found = deciding_items(made.matrix, made.items, "m0", "m1")
    common = made.matrix.dropna(axis=1)
    theta, score = ability(common, made.items)["theta"], common.mean(axis=1)
    assert found.theta_difference == pytest.approx(theta["m0"] - theta["m1"], abs=1e-8)
    assert found.items["theta"].sum() == pytest.approx(found.theta_difference, abs=1e-7)
    assert found.items["score"].sum() == pytest.approx(score["m0"] - score["m1"])
    assert (found.n_common, found.n_not_common) == (common.shape[1], 30 - common.shape[1])
    assert set(found.items.index) == set(common.columns[common.loc["m0"] != common.loc["m1"]])


@few
@given(seeds)
def test_without_an_item_the_one_ahead_is_who_is_said(bank, seed):
    made = bank(seed, 2, 9)
    found = deciding_items(made.matrix, made.items, "m0", "m1")
    for item, row in found.items.iterrows():
        rest = made.matrix.drop(columns=item)
        for values, said in (
            (ability(rest, made.items)["theta"], row["order_without"]),
            (rest.mean(axis=1), row["score_order_without"]),
        ):
            gap = values["m0"] - values["m1"]
            assert said == ("" if abs(gap) < 1e-8 else "m0" if gap > 0 else "m1")


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_no_fewer_items_turn_the_order(bank, seed):
    made = bank(seed, 2, 8)
    found = deciding_items(made.matrix, made.items, "m0", "m1")
    lead = (made.matrix.loc["m0"] - made.matrix.loc["m1"]) * made.items["a"]
    for added, fewest in ((lead, found.n_to_turn), (np.sign(lead), found.n_to_turn_score)):
        total = added.sum()
        turning = [
            k
            for k in range(9)
            for out in combinations(range(8), k)
            if (total - added.iloc[list(out)].sum()) * np.sign(total) < 1e-9
        ]
        assert fewest == (min(turning) if abs(total) > 1e-9 else 0)


def test_the_other_way_round_all_signs_turn(bank):
    made = bank(3, 4, 30)
    one, two = (deciding_items(made.matrix, made.items, *pair) for pair in (("m1", "m2"), ("m2", "m1")))
    assert one.theta_difference == pytest.approx(-two.theta_difference)
    np.testing.assert_allclose(one.items["theta"], -two.items.loc[one.items.index, "theta"])
    assert (one.items["favours"] == two.items.loc[one.items.index, "favours"]).all()
    assert (one.n_to_turn, one.n_to_turn_score) == (two.n_to_turn, two.n_to_turn_score)


def test_models_that_differ_nowhere_have_nothing_to_decide(bank):
    made = bank(3, 2, 10)
    matrix = made.matrix.copy()
    matrix.loc["m1"] = matrix.loc["m0"]
    found = deciding_items(matrix, made.items, "m0", "m1")
    assert found.items.empty
    assert (found.theta_difference, found.n_to_turn, found.n_to_turn_score) == (0, 0, 0)


def test_equal_abilities_by_different_items_share_a_difference_of_none():
    items = pd.DataFrame({"a": [1.0, 1.0], "b": [0.0, 2.0]}, pd.Index(["x", "y"], name="item"))
    matrix = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], ["one", "two"], items.index)
    found = deciding_items(matrix, items, "one", "two")
    assert found.theta_difference == pytest.approx(0)
    assert found.items["theta"].tolist() == pytest.approx([-v for v in found.items["theta"][::-1]])
    assert found.items["order_without"].tolist() == ["two", "one"]
    assert found.n_to_turn == 0


def test_names_are_checked(bank):
    made = bank(3, 3, 10)
    with pytest.raises(UnknownNameError, match="Did you mean m1"):
        deciding_items(made.matrix, made.items, "m0", "m1x")
    with pytest.raises(SchemaError, match="name two models"):
        deciding_items(made.matrix, made.items, "m0", "m0")
    apart = made.matrix.copy()
    apart.iloc[0, :5], apart.iloc[1, 5:] = np.nan, np.nan
    with pytest.raises(SchemaError, match="share no calibrated item"):
        deciding_items(apart, made.items, "m0", "m1")
