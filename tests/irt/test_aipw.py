"""AIPW: exact by enumeration of all samples, identities, coverage by simulation."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust import irt
from benchtrust.errors import SchemaError
from benchtrust.irt import aipw, cross_fitted, select_items

few = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def rng(seed=0):
    return np.random.default_rng(seed)


def some_predictions(matrix, seed=0):
    return pd.DataFrame(rng(seed).random(matrix.shape), matrix.index, matrix.columns)


# ---------------------------------------------------------------- all samples


def test_over_all_simple_samples_estimate_and_variance_are_exact(bank):
    made = bank(1, 4, 8)
    predictions = some_predictions(made.matrix)
    found = [aipw(made.matrix, list(own), predictions) for own in combinations(made.matrix.columns, 3)]
    estimates = np.array([table["estimate"] for table in found])
    variances = np.array([table["se"] ** 2 for table in found])
    assert estimates.mean(axis=0) == pytest.approx(made.matrix.mean(axis=1).to_numpy())
    assert variances.mean(axis=0) == pytest.approx(estimates.var(axis=0))


def test_over_all_stratified_samples_they_are_exact_too(bank):
    made = bank(2, 4, 9)
    predictions = some_predictions(made.matrix)
    strata = pd.Series(list("xxxxxyyyy"), made.matrix.columns)
    groups = [made.matrix.columns[strata == name] for name in "xy"]
    samples = product(combinations(groups[0], 3), combinations(groups[1], 2))
    found = [aipw(made.matrix, [*one, *other], predictions, strata) for one, other in samples]
    estimates = np.array([table["estimate"] for table in found])
    variances = np.array([table["se"] ** 2 for table in found])
    assert estimates.mean(axis=0) == pytest.approx(made.matrix.mean(axis=1).to_numpy())
    assert variances.mean(axis=0) == pytest.approx(estimates.var(axis=0))


# ---------------------------------------------------------------- identities


@few
@given(seeds, st.integers(2, 19), st.floats(0, 1))
def test_constant_predictions_leave_the_sample_mean_with_its_finite_population_error(bank, seed, k, value):
    made = bank(seed, 5, 20)
    sample = select_items(made.matrix, k, "random", rng=rng(seed))
    found = aipw(made.matrix, sample, made.matrix * 0 + value)
    own = made.matrix[list(sample.items)]
    assert found["estimate"].to_numpy() == pytest.approx(own.mean(axis=1).to_numpy())
    expected = np.sqrt((1 - k / 20) * own.var(axis=1, ddof=1) / k)
    assert found["se"].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-12)


@few
@given(seeds, st.sampled_from(["random", "stratified"]))
def test_right_predictions_or_all_items_give_the_score_without_error(bank, seed, method):
    made = bank(seed, 5, 20)
    score = made.matrix.mean(axis=1).to_numpy()
    strata = pd.Series(np.arange(20) % 4, made.items.index) if method == "stratified" else None
    part, whole = (select_items(made.matrix, k, method, rng=rng(seed), strata=strata) for k in (9, 20))
    knowing = aipw(made.matrix, part, made.matrix)
    asking_all = aipw(made.matrix, whole, some_predictions(made.matrix))
    for found in (knowing, asking_all):
        for name in ("estimate", "low", "high"):
            assert found[name].to_numpy() == pytest.approx(score)
        assert found["se"].to_numpy() == pytest.approx(0)


@few
@given(seeds)
def test_the_estimate_is_the_inverse_probability_formula(bank, seed):
    """N⁻¹ [Σ_all P̂ + Σ_sample (x - P̂) / π], π from the strata."""
    made = bank(seed, 5, 20)
    sample = select_items(made.matrix, 9, "stratified", rng=rng(seed))
    predictions = some_predictions(made.matrix, seed)
    chosen = list(sample.items)
    inclusion = (
        sample.strata[chosen].map(sample.strata[chosen].value_counts() / sample.strata.value_counts())
    ).to_numpy()
    corrections = ((made.matrix[chosen] - predictions[chosen]) / inclusion).sum(axis=1)
    expected = (predictions.sum(axis=1) + corrections) / 20
    found = aipw(made.matrix, sample, predictions)
    assert found["estimate"].to_numpy() == pytest.approx(expected.to_numpy())


def test_a_stratum_with_one_sampled_item_has_no_known_error(bank):
    made = bank(5, 3, 10)
    strata = pd.Series(list("xxxxxxxxyz"), made.matrix.columns)
    found = aipw(made.matrix, ["i0", "i1", "i8", "i9"], some_predictions(made.matrix), strata)
    assert found["se"].notna().all()
    found = aipw(made.matrix, ["i0", "i8", "i9"], some_predictions(made.matrix), strata)
    assert found["estimate"].notna().all()
    assert found[["se", "low", "high"]].isna().all().all()


# ---------------------------------------------------------------- coverage


@pytest.mark.parametrize("method", ["random", "stratified"])
def test_intervals_cover_and_no_model_widens_them(bank, map_by_newton, method):
    """The model shortens those of simple samples; strata of the pass rate know the difficulties already."""
    made = bank(7, 50, 400)
    score, generator = made.matrix.mean(axis=1), rng(1)
    covered, widths = [], []
    for _ in range(25):
        sample = select_items(made.matrix, 60, method, rng=generator)
        predictions = cross_fitted(made.matrix, sample, made.items, 4, generator, map_by_newton)
        found, blind = (aipw(made.matrix, sample, guess) for guess in (predictions, made.matrix * 0))
        covered.append((found["low"] <= score) & (score <= found["high"]))
        widths.append((found["se"] / blind["se"]).mean())
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)
    assert np.mean(widths) < {"random": 0.95, "stratified": 1.03}[method]


# ---------------------------------------------------------------- cross-fitting


def test_no_prediction_sees_the_answer_that_is_set_against_it(bank, map_by_newton):
    made = bank(9, 1, 40)
    sample = select_items(made.matrix, 20, "random", rng=rng(2))
    before = cross_fitted(made.matrix, sample, made.items, 4, rng(3), map_by_newton)
    for item in sample.items:
        turned = made.matrix.copy()
        turned[item] = 1 - turned[item]
        after = cross_fitted(turned, sample, made.items, 4, rng(3), map_by_newton)
        same = np.isclose(before, after).ravel()
        assert same[made.items.index.get_loc(item)]
        assert same.sum() == 10


def test_predictions_are_chances_at_the_ability_of_the_other_folds(bank, map_by_newton):
    made = bank(11, 6, 30)
    sample = select_items(made.matrix, 15, "random", rng=rng(4))
    abilities = []

    def known(matrix, items):
        assert list(matrix.columns) == list(items.index)
        abilities.append(list(matrix.columns))
        return pd.Series(0.5, matrix.index)

    found = cross_fitted(made.matrix, sample, made.items, 3, rng(5), known)
    expected = irt.probability(0.5, made.items["a"], made.items["b"])
    assert found.to_numpy() == pytest.approx(np.tile(expected, (6, 1)))
    assert sum(map(len, abilities)) == 2 * 15
    default = cross_fitted(made.matrix, sample, made.items, 3, rng(5))
    ours = cross_fitted(made.matrix, sample, made.items, 3, rng(5), map_by_newton)
    pd.testing.assert_frame_equal(default, ours)


def test_without_an_answer_in_other_folds_ability_is_the_prior_mean(bank, map_by_newton):
    """One sampled item: the rest of its own fold is predicted from no answer, the other folds from one."""
    made = bank(11, 4, 12)
    found = cross_fitted(made.matrix, ["i3"], made.items, 3, rng(1), map_by_newton)
    fold = rng(1).permutation(np.arange(12) % 3)
    blind = fold == fold[3]
    a, b = made.items.to_numpy().T
    assert found.loc[:, blind].to_numpy() == pytest.approx(np.tile(1 / (1 + np.exp(a * b)), (4, 1))[:, blind])
    theta = map_by_newton(made.matrix[["i3"]], made.items.loc[["i3"]]).to_numpy()[:, None]
    assert found.loc[:, ~blind].to_numpy() == pytest.approx(irt.probability(theta, a, b)[:, ~blind])


# ---------------------------------------------------------------- bad input


def test_samples_that_are_none(bank):
    made = bank(1, 4, 10)
    predictions = some_predictions(made.matrix)
    chosen = select_items(made.matrix, 4, "total_fisher", made)
    drawn = select_items(made.matrix, 4, "random", rng=rng())
    gap = made.matrix.copy()
    gap.loc["m2", "i3"] = np.nan
    strata = pd.Series(list("xxxxxyyyyy"), made.matrix.columns)
    cases = [
        (made.matrix, chosen, predictions, None, "'total_fisher' are no random sample"),
        (made.matrix, drawn, predictions, strata, "brings its strata"),
        (made.matrix, drawn, predictions.drop(columns="i9"), None, "Drawn from 10 items, predicted 9"),
        (made.matrix, ["i1", "i1"], predictions, None, "more than one item"),
        (made.matrix, ["i1", "q"], predictions, None, "not in the matrix, such as 'q'"),
        (made.matrix, ["i1", "i2"], predictions.drop(columns="i2"), None, "such as 'i2'"),
        (gap, ["i1", "i3"], predictions, None, "'m2' has no answer to the sampled item 'i3'"),
        (made.matrix, ["i1", "i3"], predictions * 2, None, "chances"),
        (made.matrix, ["i1", "i3"], predictions.where(predictions > 0.5), None, "none missing"),
        (made.matrix, ["i1", "i3"], predictions.drop(index="m1"), None, "'m1'"),
        (made.matrix, ["i1", "i3"], predictions, strata, "Stratum 'y' has no item"),
        (made.matrix, ["i1", "i3"], predictions, strata.drop("i7"), "'i7' has no stratum"),
        (made.matrix * 0.5, ["i1", "i3"], predictions, None, "threshold"),
    ]
    for matrix, sample, predicted, own, says in cases:
        with pytest.raises(SchemaError, match=says):
            aipw(matrix, sample, predicted, own)


@pytest.mark.parametrize("level", [0, 1, 95, np.nan])
def test_a_confidence_that_is_no_share(bank, level):
    made = bank(1, 4, 10)
    with pytest.raises(SchemaError, match="such as 0"):
        aipw(made.matrix, ["i1", "i3"], some_predictions(made.matrix), level=level)


def test_folds_that_cannot_be(bank, map_by_newton):
    made = bank(1, 4, 10)
    for n_folds in (1, 11):
        with pytest.raises(SchemaError, match="give 2 to 10"):
            cross_fitted(made.matrix, ["i1", "i2"], made.items, n_folds, rng(), map_by_newton)
    with pytest.raises(SchemaError, match="not among the benchmark's, such as 'i2'"):
        cross_fitted(made.matrix, ["i1", "i2"], made.items.drop("i2"), 3, rng(), map_by_newton)
