"""Flip rates: every corollary of SafetyRepro's Proposition 1, and counts against brute force."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.stability import flip_rates, orderings, reversal

quick = settings(max_examples=60, deadline=None)
FEW_SCORES = st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])


def score_tables(values=FEW_SCORES):
    """Configurations × models, few distinct scores: ties, reversals and strict orders all occur."""
    shapes = st.tuples(st.integers(1, 9), st.integers(2, 4))
    return shapes.flatmap(lambda shape: arrays(float, shape, elements=values)).map(named)


def named(values):
    values = np.asarray(values, dtype=float)
    return pd.DataFrame(values, columns=[f"m{j}" for j in range(values.shape[1])])


def brute_force(scores):
    counts = []
    names = list(scores.columns)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            pairs = [(x, y) for x, y in zip(scores[a], scores[b], strict=True) if x == x and y == y]
            signs = [(x > y) - (x < y) for x, y in pairs]
            missing = len(scores) - len(pairs)
            counts.append((a, b, signs.count(1), signs.count(-1), signs.count(0), missing, len(signs)))
    return counts


@quick
@given(score_tables(values=st.sampled_from([0.0, 0.25, 0.5, 1.0, np.nan])))
def test_counts_equal_brute_force(scores):
    columns = ["model_a", "model_b", "n_plus", "n_minus", "n_tie", "n_missing", "n"]
    assert list(flip_rates(scores)[columns].itertuples(index=False, name=None)) == brute_force(scores)


@quick
@given(score_tables())
def test_rho_lies_in_0_to_half_and_counts_configurations(scores):
    rates = flip_rates(scores)
    assert rates["rho"].between(0, 0.5).all()
    flips = rates["rho"] * len(scores)
    assert np.allclose(flips, flips.round(), atol=1e-9)
    assert (rates["n"] == len(scores)).all()


@quick
@given(score_tables())
def test_proposition_1_rho_is_positive_exactly_if_two_configurations_reverse_the_pair(scores):
    for pair in flip_rates(scores).itertuples():
        lead = (scores[pair.model_a] - scores[pair.model_b]).to_numpy()
        reversed_somewhere = any(x > 0 > y for x in lead for y in lead)
        assert (pair.rho > 0) == reversed_somewhere
        assert (reversal(scores, pair.model_a, pair.model_b) is not None) == reversed_somewhere


@quick
@given(score_tables(), st.data())
def test_existence_of_a_flip_is_monotone_in_the_envelope(scores, data):
    kept = data.draw(st.lists(st.sampled_from(list(scores.index)), min_size=1, unique=True))
    inside = flip_rates(scores.loc[kept])["rho"].to_numpy() > 0
    outside = flip_rates(scores)["rho"].to_numpy() > 0
    assert (outside | ~inside).all()


def test_the_rate_is_not_monotone_in_the_envelope():
    small = named([[1, 0], [0, 1]])
    large = named([[1, 0], [0, 1], [1, 0], [1, 0]])
    assert flip_rates(small)["rho"].item() == 0.5
    assert flip_rates(large)["rho"].item() == 0.25


@quick
@given(score_tables(), st.data())
def test_rho_ignores_a_strictly_increasing_rescaling_of_each_configuration(scores, data):
    n = len(scores)
    slope = np.array(data.draw(st.lists(st.floats(0.1, 10), min_size=n, max_size=n)))[:, None]
    shift = np.array(data.draw(st.lists(st.floats(-5, 5), min_size=n, max_size=n)))[:, None]
    rescaled = slope * (scores**3 + scores) + shift
    counts = ["n_plus", "n_minus", "n_tie", "rho"]
    assert flip_rates(rescaled)[counts].equals(flip_rates(scores)[counts])


@quick
@given(score_tables())
def test_rho_depends_on_the_order_within_each_configuration_alone(scores):
    counts = ["n_plus", "n_minus", "n_tie", "rho"]
    ranks = scores.rank(axis=1, method="dense") ** 3
    assert flip_rates(ranks)[counts].equals(flip_rates(scores)[counts])


def test_rho_0_does_not_imply_a_strict_order():
    all_tied = flip_rates(named([[0.5, 0.5], [0.2, 0.2]]))
    assert all_tied["rho"].item() == 0
    assert all_tied["n_tie"].item() == 2
    assert np.isnan(all_tied["disagreement"].item())
    ahead_once = flip_rates(named([[0.5, 0.5], [0.3, 0.2]]))
    assert ahead_once[["rho", "disagreement"]].to_numpy().tolist() == [[0.0, 0.0]]


@quick
@given(score_tables(), st.randoms(use_true_random=False))
def test_order_of_rows_and_columns_does_not_matter(scores, random):
    rows, columns = list(scores.index), list(scores.columns)
    random.shuffle(rows)
    random.shuffle(columns)
    shuffled = flip_rates(scores.loc[rows, columns])
    expected = flip_rates(scores)

    def by_pair(rates):
        return {frozenset((r.model_a, r.model_b)): (r.rho, r.n_tie, r.n) for r in rates.itertuples()}

    assert by_pair(shuffled) == by_pair(expected)
    forward = {(r.model_a, r.model_b): (r.n_plus, r.n_minus) for r in expected.itertuples()}
    for r in shuffled.itertuples():
        here = (r.n_plus, r.n_minus)
        assert forward.get((r.model_a, r.model_b), here) == here
        assert forward.get((r.model_b, r.model_a), here[::-1]) == here[::-1]


def test_ties_enter_the_denominator_of_rho_but_not_of_disagreement():
    rates = flip_rates(named([[1, 0], [0, 1], [0, 0], [0, 0]]))
    assert rates["rho"].item() == 0.25
    assert rates["disagreement"].item() == 0.5


def test_equal_rationals_tie_although_their_floats_differ():
    third, same = sum([0.1] * 3), 0.3
    assert third != same
    assert flip_rates(named([[third, same]]))["n_tie"].item() == 1
    assert flip_rates(named([[third, same]]), tie=0.0)["n_tie"].item() == 0
    assert flip_rates(named([[0.3, 0.3 + 1e-6]]))["n_minus"].item() == 1


def test_a_missing_cell_leaves_only_its_own_pairs():
    rates = flip_rates(named([[1, 0, np.nan], [0, 1, 0.5], [np.nan, 1, 0.5]]))
    assert rates["n"].tolist() == [2, 1, 2]
    assert rates["n_missing"].tolist() == [1, 2, 1]
    assert rates["rho"].tolist() == [0.5, 0.0, 0.0]
    nothing = flip_rates(named([[1, np.nan], [np.nan, 1]]))
    assert nothing["n"].item() == 0
    assert np.isnan(nothing["rho"].item())


def test_published_counts_of_48_configurations():
    """TruthfulQA: 23 of 48 is the 47.9 % of the paper."""
    rates = flip_rates(named([[1, 0]] * 25 + [[0, 1]] * 23))
    assert round(100 * rates["rho"].item(), 1) == 47.9


def test_reversal_names_the_widest_lead_each_way():
    index = pd.MultiIndex.from_tuples([("minimal", 0), ("minimal", 3), ("role", 0), ("role", 3)])
    scores = pd.DataFrame({"A": [0.5, 0.9, 0.4, 0.1], "B": [0.5, 0.2, 0.6, 0.2]}, index=index)
    found = reversal(scores, "A", "B")
    assert (found.ahead, found.behind) == (("minimal", 3), ("role", 0))
    assert (found.lead_a, found.lead_b) == pytest.approx((0.7, 0.2))
    back = reversal(scores, "B", "A")
    assert (back.ahead, back.behind) == (found.behind, found.ahead)
    assert reversal(scores.iloc[:2], "A", "B") is None


def test_orderings_tell_ties_from_strict_orders():
    scores = pd.DataFrame(
        [[0.9, 0.5, 0.1], [0.8, 0.5, 0.1], [0.2, 0.5, 0.5], [0.5, 0.5, 0.5], [np.nan, 0.2, 0.1]],
        columns=["A", "B", "C"],
    )
    reached = orderings(scores)
    assert reached.table.to_dict("list") == {
        "ordering": ["A > B > C", "A = B = C", "B = C > A"],
        "strict": [True, False, False],
        "n": [2, 1, 1],
        "share": [0.5, 0.25, 0.25],
    }
    assert (reached.n_strict, reached.n_possible, reached.n_with_ties, reached.n_missing) == (1, 6, 2, 1)


def test_models_within_a_tie_stand_in_column_order_whatever_the_last_bit():
    scores = pd.DataFrame([[0.3, 0.1 + 0.2, 0.9], [0.1 + 0.2, 0.3, 0.9]], columns=["B", "A", "C"])
    assert orderings(scores).table["ordering"].tolist() == ["C > B = A"]


@quick
@given(score_tables())
def test_orderings_equal_brute_force(scores):
    levels = {tuple(np.unique(row, return_inverse=True)[1]) for row in scores.to_numpy()}
    reached = orderings(scores)
    assert len(reached.table) == len(levels)
    assert reached.n_strict == sum(len(set(level)) == scores.shape[1] for level in levels)
    assert reached.table["n"].sum() == len(scores)


def test_orderings_of_no_complete_configuration_are_none():
    reached = orderings(named([[np.nan, 1.0]]))
    assert (len(reached.table), reached.n_strict, reached.n_missing) == (0, 0, 1)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (named([[0.5]]), "two"),
        (pd.DataFrame({"A": [], "B": []}), "no configuration"),
        (np.zeros(3), "axes"),
        (named([[0.5, np.inf]]), "finite"),
        (pd.DataFrame([[0.1, 0.2]], columns=["A", "A"]), "'A' has two columns"),
        (pd.DataFrame({"template": ["minimal"], "A": [0.1]}), "must be numbers"),
    ],
)
@pytest.mark.parametrize("metric", [flip_rates, orderings])
def test_unusable_scores_are_refused(scores, says, metric):
    with pytest.raises(SchemaError, match=says):
        metric(scores)


def test_reversal_of_an_unknown_model_is_refused():
    with pytest.raises(UnknownNameError, match=r"'C'.*A, B"):
        reversal(pd.DataFrame({"A": [0.1], "B": [0.2]}), "A", "C")
