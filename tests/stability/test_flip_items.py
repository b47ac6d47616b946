"""What items carry of a flip: shares that sum to one, and the flip rate without each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.stability import flip_items, flip_rates, item_scores


def answers(seed, shape=(2, 8, 9)):
    return np.random.default_rng(seed).integers(0, 2, shape).astype(float)


def test_one_item_carries_a_flip_alone():
    """a is right on item 0 in two cells and b in the other; on the rest they answer alike."""
    scores = np.zeros((2, 3, 4))
    scores[0, :2, 0] = scores[1, 2, 0] = 1
    scores[:, :, 1] = 1
    found = flip_items(scores, 0, 1)
    assert found.change == 0.5
    assert found.rho == pytest.approx(1 / 3)
    assert (found.n_ahead, found.n_behind) == (2, 1)
    top = found.items.iloc[0]
    assert top["item"] == 0
    assert (top["ahead"], top["behind"], top["share"]) == (0.25, -0.25, 1)
    assert found.items["rho_without"].tolist() == [0, found.rho, found.rho, found.rho]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["mean", "parity", "parts"]))
def test_shares_sum_to_the_change_of_the_gap(seed, rule):
    parts = ["x"] * 3 + ["y"] * 6 if rule == "parts" else None
    table = item_scores(answers(seed), parts, "parity" if rule == "parity" else "mean")
    gaps = table.cells[0] - table.cells[1]
    found = flip_items(table, 0, 1)
    if found is None:
        assert not ((gaps > 1e-9).any() and (gaps < -1e-9).any())
        return
    assert found.items["share"].sum() == pytest.approx(1)
    assert found.items["ahead"].sum() == pytest.approx(gaps[gaps > 1e-9].mean())
    assert found.items["behind"].sum() == pytest.approx(gaps[gaps < -1e-9].mean())
    assert found.rho == pytest.approx(flip_rates(table.cells)["rho"][0])


def test_the_flip_rate_without_an_item_is_that_of_the_others():
    scores, parts = answers(3), list("xxxxyyyyy")
    found = flip_items(item_scores(scores, parts), 0, 1).items.set_index("item")
    rest = [1, 2, 3, 4, 5, 6, 7, 8]
    own = item_scores(scores[:, :, rest], [parts[i] for i in rest])
    assert found.loc[0, "rho_without"] == flip_rates(own.cells)["rho"][0]


def test_the_other_order_of_the_pair_turns_the_signs():
    one, other = (
        flip_items(answers(4), *pair).items.set_index("item").sort_index() for pair in [(0, 1), (1, 0)]
    )
    assert np.allclose(one["share"], other["share"])
    assert np.allclose(one["ahead"], -other["behind"])


def test_without_a_reversal_there_is_nothing_to_carry():
    scores = answers(5)
    scores[0], scores[1] = 1, 0
    assert flip_items(scores, 0, 1) is None
    with pytest.raises(UnknownNameError):
        flip_items(scores, 0, 7)


def test_some_items_count_anew():
    table = item_scores(answers(6), list("xxxyyyyyy"))
    some = table.on([7, 0, 1])
    assert some.items == (7, 0, 1)
    expected = (table.scores[:, :, [0, 1]].mean(axis=2) + table.scores[:, :, 7]) / 2
    assert np.allclose(some.cells.to_numpy().T, expected)
    for bad in ([], [0, 0], [99]):
        with pytest.raises(SchemaError, match="choose some of 9"):
            table.on(bad)
