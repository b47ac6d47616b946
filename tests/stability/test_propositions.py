"""What is proved holds on any scores; tables that are not nested are caught; examples are found."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust.stability import flip_rates, proposition_checks

quick = settings(max_examples=40, deadline=None)
ALWAYS = ["one-line test", "range", "multiples", "rescaling", "larger envelope keeps reversals"]


def checks(envelopes, seed: int = 0) -> pd.DataFrame:
    return proposition_checks(envelopes, np.random.default_rng(seed)).set_index("statement")


@quick
@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=2, max_size=12),
    st.integers(1, 11),
    st.integers(0, 2**32 - 1),
)
def test_theorems_have_no_counterexample(rows, size, seed):
    large = pd.DataFrame(rows, columns=list("abc")) / 3
    found = checks([[large.iloc[:size], large]], seed)
    assert (found.loc[ALWAYS, "violations"] == 0).all()
    assert found.loc["one-line test", "cases"] == 6
    assert found.loc["one-line test", "examples"] == sum(
        (flip_rates(t)["rho"] > 0).sum() for t in (large.iloc[:size], large)
    )


def test_envelopes_that_are_not_nested_lose_a_reversal():
    turned = pd.DataFrame({"a": [0.2, 0.8], "b": [0.8, 0.2]})
    steady = pd.DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.1, 0.2, 0.3]})
    assert checks([[turned, steady]]).loc["larger envelope keeps reversals", "violations"] == 1


def test_examples_of_what_can_happen_are_counted():
    large = pd.DataFrame({"a": [0.2, 0.8, 0.9, 0.9], "b": [0.8, 0.2, 0.1, 0.1], "c": [0.8, 0.2, 0.1, 0.1]})
    found = checks([[large.iloc[:2], large]])["examples"]
    assert found["larger envelope may lower the rate"] == 2
    assert found["zero without an order"] == 2


def test_missing_cells_stay_missing_when_rescaled():
    scores = pd.DataFrame({"a": [0.2, np.nan, 0.9], "b": [0.8, 0.2, 0.1]})
    assert (checks([[scores]])["violations"] == 0).all()
