"""Adaptive tests: against a plain unpruned one, and what holds at every step."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.irt import adaptive_test, information

few = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 2**32 - 1)
methods = st.sampled_from(["map", "eap", "ml"])
BOUND = 8.0


def slope(theta, x, a, b, prior):
    """Of the log posterior, without cancellation."""
    sign = np.where(x == 1, 1, -1)
    return (a * sign * expit(-sign * a * (theta - b))).sum() - prior * theta


def plain_ability(x, a, b, method):
    """Ability and standard error of one respondent by a root finder, or by a fine grid."""
    if method == "eap":
        nodes = np.linspace(-9, 9, 1001)
        z = np.where(x == 1, 1, -1)[:, None] * a[:, None] * (nodes - b[:, None])
        log_posterior = log_expit(z).sum(axis=0) - nodes**2 / 2
        weights = np.exp(log_posterior - log_posterior.max())
        mean = np.average(nodes, weights=weights)
        return mean, np.sqrt(np.average((nodes - mean) ** 2, weights=weights))
    prior, reach = (1.0, a.sum()) if method == "map" else (0.0, BOUND)
    if slope(-reach, x, a, b, prior) > 0 > slope(reach, x, a, b, prior):
        theta = brentq(slope, -reach, reach, (x, a, b, prior), xtol=1e-13)
    else:
        theta = reach if slope(reach, x, a, b, prior) >= 0 else -reach
    return theta, 1 / np.sqrt(information(theta, a, b).sum() + prior)


def plain_test(answers, items, length, start, method):
    """Items, abilities and errors of one respondent, every item looked at in every step."""
    a, b = items["a"].to_numpy(), items["b"].to_numpy()
    asked, told, theta = [], [], start
    for _ in range(length):
        value = np.where(np.isnan(answers), -1, information(theta, a, b))
        value[asked] = -1
        if value.max() < 0:
            break
        asked.append(int(value.argmax()))
        theta, se = plain_ability(answers[asked], a[asked], b[asked], method)
        told.append((theta, se))
    return list(items.index[asked]), np.array(told)


# ---------------------------------------------------------------- the plain test


@settings(max_examples=9, deadline=None)
@given(seeds, methods, st.floats(-2, 2), st.sampled_from([0.0, 0.4]))
def test_the_pruned_test_asks_what_the_plain_one_asks(bank, seed, method, start, missing):
    made = bank(seed, 4, 30, missing=missing)
    result = adaptive_test(made.matrix, made.items, 12, start, method)
    for model, answers in made.matrix.iterrows():
        asked, told = plain_test(answers.to_numpy(), made.items, 12, start, method)
        n = len(asked)
        assert result.asked.loc[model].dropna().tolist() == asked
        assert result.n_asked[model] == n
        assert result.theta.loc[model].to_numpy()[:n] == pytest.approx(told[:, 0], abs=1e-6)
        assert result.se.loc[model].to_numpy()[:n] == pytest.approx(told[:, 1], rel=1e-5)


@few
@given(seeds, st.sampled_from(["map", "ml"]))
def test_steep_items_do_not_throw_the_mode_off(seed, method):
    """Discriminations up to 60, where bare Newton steps jump to and fro for ever."""
    rng = np.random.default_rng(seed)
    items = pd.DataFrame({"a": rng.uniform(0.05, 60, 12), "b": rng.normal(0, 3, 12)})
    matrix = pd.DataFrame(rng.integers(0, 2, (5, 12)).astype(float))
    result = adaptive_test(matrix, items, 12, method=method)
    for row in range(5):
        for step, theta in result.theta.loc[row].items():
            asked = result.asked.loc[row, :step].tolist()
            known = matrix.loc[row, asked].to_numpy(), *items.loc[asked].to_numpy().T, float(method == "map")
            assert theta == BOUND or slope(theta + 1e-7, *known) <= 0
            assert theta == -BOUND or slope(theta - 1e-7, *known) >= 0


# ---------------------------------------------------------------- what holds at every step


@few
@given(seeds, methods, st.floats(-3, 3))
def test_no_item_is_asked_twice_nor_without_an_answer(bank, seed, method, start):
    made = bank(seed, 6, 25, missing=0.3)
    result = adaptive_test(made.matrix, made.items, 25, start, method)
    for model, asked in result.asked.iterrows():
        held = asked.dropna()
        assert held.is_unique
        assert set(held) == set(made.matrix.columns[made.matrix.loc[model].notna()])


@few
@given(seeds, st.sampled_from(["map", "eap"]), st.floats(-3, 3))
def test_ability_rises_with_a_right_answer_and_falls_with_a_wrong_one(bank, seed, method, start):
    made = bank(seed, 6, 40)
    result = adaptive_test(made.matrix, made.items, 40, start, method)
    theta = result.theta.to_numpy()
    moves = np.diff(theta, axis=1, prepend=0.0)
    for i, model in enumerate(made.matrix.index):
        right = made.matrix.loc[model, result.asked.loc[model].tolist()].to_numpy() == 1
        assert (moves[i][right] > 0).all()
        assert (moves[i][~right] < 0).all()


@few
@given(seeds, st.sampled_from(["map", "eap"]))
def test_with_a_prior_the_error_is_never_above_the_prior_s(bank, seed, method):
    made = bank(seed, 5, 30, spread=1.0)
    se = adaptive_test(made.matrix, made.items, 30, method=method).se
    assert ((se > 0) & (se < 1)).all().all()


@pytest.mark.parametrize("method", ["map", "eap"])
def test_the_mean_error_falls_at_each_step(bank, method):
    made = bank(3, 300, 60)
    se = adaptive_test(made.matrix, made.items, 60, method=method).se.mean()
    assert (np.diff(se) < 0).all()
    assert se[60] < 0.35


@few
@given(seeds, methods)
def test_respondents_do_not_depend_on_each_other(bank, seed, method):
    made = bank(seed, 6, 20, missing=0.2)
    together = adaptive_test(made.matrix, made.items, 10, 0.5, method)
    alone = adaptive_test(made.matrix.iloc[[4, 1]], made.items, 10, 0.5, method)
    for name in ("asked", "theta", "se"):
        pd.testing.assert_frame_equal(getattr(together, name).iloc[[4, 1]], getattr(alone, name))


def test_ties_go_to_the_first_item_given():
    items = pd.DataFrame({"a": [1.0, 2.0, 2.0, 2.0], "b": [0.0, 0.3, -0.3, 0.3]}, index=list("wxyz"))
    matrix = pd.DataFrame(1.0, index=["m"], columns=list("zyxw"))
    assert adaptive_test(matrix, items, 3).asked.loc["m"].tolist()[:2] == ["x", "z"]
    assert adaptive_test(matrix, items.loc[list("zyxw")], 3).asked.loc["m"].tolist()[:2] == ["z", "x"]
    equal = pd.DataFrame({"a": 1.0, "b": 0.0}, index=list("zwyx"))
    assert adaptive_test(matrix, equal, 4).asked.loc["m"].tolist() == list("zwyx")


def test_twenty_adaptive_items_tell_more_than_twenty_of_the_others(bank):
    made = bank(5, 400, 300)
    adaptive = adaptive_test(made.matrix, made.items, 20).theta[20]
    drawn = made.items.sample(20, random_state=1)
    fixed = adaptive_test(made.matrix, drawn, 20).theta[20]
    true = made.abilities["theta"]
    assert ((adaptive - true) ** 2).mean() < 0.5 * ((fixed - true) ** 2).mean()


@pytest.mark.parametrize("method", ["map", "eap"])
def test_errors_have_the_size_that_is_claimed(bank, method):
    made = bank(7, 1000, 200)
    result = adaptive_test(made.matrix, made.items, 30, method=method)
    z = (result.theta[30] - made.abilities["theta"]) / result.se[30]
    assert (z.abs() < 1.96).mean() == pytest.approx(0.95, abs=0.02)


# ---------------------------------------------------------------- start, stop, bounds, exposure


def test_the_start_chooses_the_first_item_and_enters_no_estimate():
    items = pd.DataFrame({"a": 1.5, "b": [-2.0, 0.0, 2.0]}, index=list("xyz"))
    matrix = pd.DataFrame([[1.0, 1.0, 1.0]], columns=list("xyz"))
    low, high = (adaptive_test(matrix, items, 3, start=start) for start in (-2.0, 2.0))
    assert (low.asked.iat[0, 0], high.asked.iat[0, 0]) == ("x", "z")
    assert low.theta.iat[0, 2] == pytest.approx(high.theta.iat[0, 2], abs=1e-9)


def test_a_test_stops_at_the_standard_error(bank):
    made = bank(11, 50, 200)
    full = adaptive_test(made.matrix, made.items, 60)
    stopped = adaptive_test(made.matrix, made.items, 60, stop_se=0.4)
    assert stopped.n_asked.nunique() > 1
    for model, n in stopped.n_asked.items():
        assert n == 1 + np.flatnonzero(full.se.loc[model].to_numpy() <= 0.4)[0]
        assert stopped.theta.loc[model, n] == full.theta.loc[model, n]
        assert stopped.asked.loc[model, n + 1 :].isna().all()
        assert stopped.theta.loc[model, n + 1 :].isna().all()
    assert (stopped.theta_after(60) == [stopped.theta.loc[m, n] for m, n in stopped.n_asked.items()]).all()
    pd.testing.assert_series_equal(stopped.theta_after(3), full.theta[3].rename("theta"))


def test_maximum_likelihood_of_equal_answers_stands_at_the_bound_and_is_counted():
    items = pd.DataFrame({"a": [1.0, 2.0, 1.5], "b": [0.0, 0.5, -0.5]}, index=list("xyz"))
    matrix = pd.DataFrame([[1.0] * 3, [0.0] * 3, [1.0, 0.0, 1.0]], ["all", "none", "some"], list("xyz"))
    result = adaptive_test(matrix, items, 3, method="ml")
    assert (result.theta.loc["all"] == BOUND).all()
    assert (result.theta.loc["none"] == -BOUND).all()
    assert abs(result.theta.loc["some", 3]) < BOUND
    assert result.n_at_bound == 6 + (result.theta.loc["some"].abs() == BOUND).sum()
    assert adaptive_test(matrix, items, 3).n_at_bound == 0


@few
@given(seeds, st.integers(1, 15), st.sampled_from([None, 0.6]))
def test_exposure_and_overlap_are_those_of_counting(bank, seed, length, stop_se):
    made = bank(seed, 5, 15, missing=0.1)
    result = adaptive_test(made.matrix, made.items, length, stop_se=stop_se)
    held = [set(row.dropna()) for _, row in result.asked.iterrows()]
    for item, rate in result.exposure.items():
        assert rate == pytest.approx(np.mean([item in own for own in held]))
    common = np.mean([len(one & other) for one, other in combinations(held, 2)])
    assert result.overlap == pytest.approx(common / np.mean([*map(len, held)]))


def test_overlap_of_fixed_length_is_the_published_function_of_the_exposure_rates(bank):
    """Chen, Ankenmann & Spray (2003): N Σ r² / (L (N - 1)) - 1 / (N - 1)."""
    made = bank(13, 30, 80)
    result = adaptive_test(made.matrix, made.items, 10)
    n, length = 30, 10
    published = n * (result.exposure**2).sum() / (length * (n - 1)) - 1 / (n - 1)
    assert 0 < result.overlap < 1
    assert result.overlap == pytest.approx(published)
    everything = adaptive_test(made.matrix, made.items, 80)
    assert everything.overlap == pytest.approx(1)
    assert np.isnan(adaptive_test(made.matrix.head(1), made.items, 5).overlap)


def test_items_without_parameters_are_named_and_never_asked(bank):
    made = bank(17, 5, 10)
    result = adaptive_test(made.matrix, made.items.drop(index=["i2", "i7"]), 8)
    assert result.left_out == ("i2", "i7")
    assert not result.asked.isin(["i2", "i7"]).any().any()


def test_a_respondent_without_answers_is_asked_nothing(bank):
    made = bank(19, 3, 10)
    made.matrix.loc["m1"] = np.nan
    result = adaptive_test(made.matrix, made.items, 4)
    assert result.n_asked.tolist() == [4, 0, 4]
    assert np.isnan(result.theta_after(4)["m1"])


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"length": 11}, SchemaError, "11 items from a pool of 10"),
        ({"length": 0}, SchemaError, "ask 1 to 10"),
        ({"length": 2.5}, SchemaError, "2.5 items from a pool of 10: ask 1 to 10, an integer"),
        ({"length": "3"}, SchemaError, "'3' items"),
        ({"length": True}, SchemaError, "True items"),
        ({"start": np.nan}, SchemaError, "finite"),
        ({"start": "0"}, SchemaError, "Starting ability '0'"),
        ({"stop_se": 0.0}, SchemaError, "above 0"),
        ({"method": "mpa"}, UnknownNameError, "map"),
    ],
)
def test_rules_that_cannot_be(bank, changes, error, says):
    made = bank(1, 4, 10)
    with pytest.raises(error, match=says):
        adaptive_test(**{"matrix": made.matrix, "items": made.items, "length": 5} | changes)


def test_there_is_no_ability_before_the_first_item(bank):
    made = bank(1, 4, 10)
    result = adaptive_test(made.matrix, made.items, np.int64(5))
    assert (result.theta_after(5) == result.theta_after(9)).all()
    for k in (0, -1):
        with pytest.raises(SchemaError, match=f"after {k} items"):
            result.theta_after(k)


def test_answers_and_items_that_do_not_fit(bank):
    made = bank(1, 4, 10)
    cases = [
        (made.matrix, made.items["a"], "Series"),
        (made.matrix, [1, 2], "list"),
        (made.matrix.T, made.items, "transpose"),
        (made.matrix.T.rename_axis(index=None), made.items, "transpose"),
        (made.matrix * 0.5, made.items, "threshold"),
        (made.matrix.rename(columns={"i3": "i2"}), made.items, "more than one item"),
        (made.matrix.drop(columns="i4"), made.items, "'i4'"),
        (made.matrix.to_numpy(), made.items, "ndarray"),
        (made.matrix, made.items.drop(columns="b"), "lack b"),
        (made.matrix, made.items.assign(a=-1.0), "a > 0"),
        (made.matrix, made.items.assign(b=np.inf), "finite"),
        (made.matrix, pd.concat([made.items, made.items.head(1)]), "two rows"),
    ]
    for matrix, items, says in cases:
        with pytest.raises(SchemaError, match=says):
            adaptive_test(matrix, items, 3)
