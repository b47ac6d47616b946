"""The mean-variance plane: rows against the functions they rest on, known spreads, honest intervals."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from statsmodels.stats.meta_analysis import combine_effects

from benchtrust.errors import SchemaError
from benchtrust.harmony import (
    cluster_scores,
    harmony,
    harmony_by_model,
    harmony_interval,
    harmony_null,
    heterogeneity,
    plane,
    resampled,
    standard_errors,
)

TREATED = [(4, 119), (6, 300), (3, 228), (62, 13536), (33, 5036), (180, 1361), (8, 2537), (505, 87886)]
TREATED += [(29, 7470), (17, 1699), (186, 50448), (5, 2493), (27, 16886)]
CONTROLS = [(11, 128), (29, 274), (11, 209), (248, 12619), (47, 5761), (372, 1079), (10, 619), (499, 87892)]
CONTROLS += [(45, 7232), (65, 1600), (141, 27197), (3, 2338), (29, 17825)]
"""Ill and not ill in 13 trials of the BCG vaccine: Colditz et al. (1994), JAMA 271:698-702."""


def frames(rng, accuracies, n=200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Labels and scores of models with the same clusters and other accuracies in them."""
    own = rng.permutation(np.arange(n) % len(accuracies[0]))
    names = [f"model {i}" for i in range(len(accuracies))]
    right = np.array([rng.random(n) < np.asarray(row)[own] for row in accuracies], dtype=float)
    labels = pd.DataFrame(np.tile(own, (len(names), 1)).astype(float), names)
    return labels, pd.DataFrame(right, names)


def test_a_model_has_the_h_and_nulls_of_its_own_items():
    """The second model was asked half of the items, the third has no partition."""
    labels, scores = frames(np.random.default_rng(1), [(0.9, 0.4, 0.6)] * 3)
    labels.iloc[1, 100:], scores.iloc[1, 100:] = np.nan, np.nan
    labels.iloc[2] = 0.0
    table = harmony_by_model(labels, scores, 0.1, 300, np.random.default_rng(2)).set_index("model")
    own, right = labels.iloc[1, :100].to_numpy().astype(int), scores.iloc[1, :100].to_numpy()
    found = cluster_scores(right, own)
    row = table.loc["model 1"]
    assert row["value"] == pytest.approx(harmony(found.accuracy, found.sizes, 0.1).value)
    assert row["mean"] == pytest.approx(right.mean())
    assert row["worst"] == found.accuracy.min()
    assert row["worst_share"] == pytest.approx(found.sizes[found.accuracy.argmin()] / 100)
    null = harmony_null(right, own, 0.1, 4000, np.random.default_rng(3))
    assert row["corrected"] == pytest.approx(row["value"] - null.partitions.mean(), abs=0.02)
    assert row["p_partitions"] == pytest.approx(null.p_partitions, abs=0.06)
    assert row["p_binomial"] == pytest.approx(null.p_binomial, abs=0.06)
    assert list(table["items"]) == [200, 100, 200]
    assert list(table["k"]) == [3, 3, 1]
    assert table.loc["model 2", "value":].isna().all()
    assert table.loc["model 2", "mean"] == scores.iloc[2].mean()


def test_draws_are_those_of_the_interval_of_one_model():
    labels, scores = frames(np.random.default_rng(4), [(0.9, 0.4)])
    own = labels.iloc[0].to_numpy().astype(int)
    alone = harmony_interval(scores.iloc[0], own, 0.3, 4000, np.random.default_rng(5))
    drawn = resampled(labels, scores, 0.3, 4000, np.random.default_rng(6))["model 0"]
    assert drawn.std() == pytest.approx(alone.draws.std(), rel=0.08)
    assert drawn.mean() == pytest.approx(alone.draws.mean(), abs=0.01)


def test_items_are_drawn_for_all_models_at_once():
    labels, scores = frames(np.random.default_rng(7), [(0.9, 0.4)])
    twice = [pd.concat([frame, frame.set_axis(["copy"])]) for frame in (labels, scores)]
    drawn = resampled(*twice, 0.3, 300, np.random.default_rng(8))
    np.testing.assert_array_equal(drawn["copy"], drawn["model 0"])


def test_errors_count_noise_that_models_share_once():
    """H = truth + item noise common to all (sd .03) + model and item noise of each (sd .05 in all)."""
    rng = np.random.default_rng(14)
    n, m, apart = 200, 4, 0.05
    common, each = 0.03 * rng.standard_normal(n), 0.05 * rng.standard_normal((n, m))
    table = plane(rows({str(i): list(0.5 + common[i] + each[i]) for i in range(n)}))
    noise = 0.03 * rng.standard_normal((1000, 1)) + apart * rng.standard_normal((1000, m))
    errors = standard_errors(table, dict.fromkeys(table["benchmark"], pd.DataFrame(0.5 + noise)))
    assert errors[0] == pytest.approx(np.sqrt(0.03**2 + 0.05**2 / m), rel=0.05)
    assert table["mean"].std() == pytest.approx(errors[0], rel=0.12)
    with pytest.raises(SchemaError, match="fewer than two models"):
        standard_errors(plane(rows({"a": [0.2, 0.4], "b": [0.3]})), {})


def rows(values: dict[str, list[float]]) -> pd.DataFrame:
    made = [
        {"benchmark": name, "value": value, "k": 2 if value == value else 1, "items": 100}
        for name, own in values.items()
        for value in own
    ]
    return pd.DataFrame(made).assign(
        at_uniform=1.0, null_mean=0.9, corrected=lambda frame: frame["value"] - 0.9
    )


def test_plane_against_worked_numbers():
    """Mean .5 and variance .01 of three: t(2) = 4.302653, χ²(2) = 7.377759 and 0.050636."""
    table = plane(rows({"a": [0.4, 0.5, 0.6], "b": [0.9, 0.9, np.nan]}))
    a, b = table.iloc[0], table.iloc[1]
    half = 4.302653 * 0.1 / np.sqrt(3)
    assert (a["mean_low"], a["mean_high"]) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)
    assert (a["unevenness"], a["low"], a["high"]) == pytest.approx((0.5, 0.5 - half, 0.5 + half), abs=1e-6)
    assert (a["variance_low"], a["variance_high"]) == pytest.approx(
        (0.02 / 7.377759, 0.02 / 0.0506356), rel=1e-5
    )
    assert (a["models"], a["without"], b["models"], b["without"]) == (3, 0, 2, 1)
    assert a["corrected"] == pytest.approx(-0.4)


def test_interval_of_the_variance_covers_as_it_says():
    rng = np.random.default_rng(9)
    many = plane(rows({str(i): list(0.5 + 0.02 * rng.standard_normal(4)) for i in range(300)}))
    inside = many["variance_low"].le(0.0004) & many["variance_high"].ge(0.0004)
    assert inside.mean() == pytest.approx(0.95, abs=0.03)
    assert (many["mean_low"].le(0.5) & many["mean_high"].ge(0.5)).mean() == pytest.approx(0.95, abs=0.03)


def test_place_is_named_only_where_both_intervals_tell():
    even = list(0.9 + 0.0001 * np.arange(4))
    table = plane(rows({"even": even, "wide": [0.2, 0.6, 0.9, 0.4], "low": [0.1, 0.3, 0.2, 0.5]}))
    assert list(table["place"]) == ["high mean, low variance", "undetermined", "undetermined"]


def test_one_model_has_no_spread():
    row = plane(rows({"a": [0.7], "b": [0.2, 0.4]})).iloc[0]
    assert row["mean"] == 0.7
    assert np.isnan([row["variance"], row["variance_low"], row["low"], row["high"]]).all()
    assert row["place"] == "undetermined"


def test_spread_of_the_bcg_trials_as_published():
    """Log risk ratios: Q = 152.233, τ² from .1197 to 1.1115 (Viechtbauer, metafor, dat.bcg, confint)."""
    ill, well = np.array([TREATED, CONTROLS], dtype=float).transpose(2, 1, 0)
    ratios = np.log(ill / (ill + well)) @ [1, -1]
    found = heterogeneity(ratios, np.sqrt((1 / ill - 1 / (ill + well)).sum(axis=1)))
    assert found.q == pytest.approx(152.233, abs=5e-4)
    assert (found.low**2, found.high**2) == pytest.approx((0.1197, 1.1115), abs=5e-5)


def test_spread_against_statsmodels():
    """Its iterated method is Paule and Mandel's."""
    rng = np.random.default_rng(13)
    errors = rng.uniform(0.05, 0.4, 9)
    values = rng.normal(0, np.sqrt(errors**2 + 0.09))
    theirs = combine_effects(values, errors**2, method_re="iterated", atol=1e-10)
    found = heterogeneity(values, errors)
    assert found.sd**2 == pytest.approx(theirs.tau2, rel=1e-4)
    assert found.q == pytest.approx(theirs.q)


def test_noise_alone_is_no_spread():
    rng = np.random.default_rng(10)
    lows = [heterogeneity(rng.normal(0, 0.1, 9), np.full(9, 0.1)).low for _ in range(400)]
    assert np.mean(np.array(lows) > 0) == pytest.approx(0.025, abs=0.02)
    equal = heterogeneity([0.5, 0.5, 0.5], [0.1, 0.1, 0.1])
    assert (equal.sd, equal.high, equal.p) == (0.0, 0.0, 1.0)


def test_errors_that_are_too_large_leave_room_for_a_spread():
    """Q far below what the errors would give: no spread is shown, and none is excluded."""
    found = heterogeneity(0.5 + 0.001 * np.arange(9), np.full(9, 0.5))
    assert (found.sd, found.low) == (0.0, 0.0)
    assert 0.001 < found.high < 0.02


def test_equal_errors_give_the_usual_interval():
    """With one error s, the interval of s² + τ² is that of a variance."""
    values, df = np.array([0.1, 0.5, 0.9, 0.2, 0.7]), 4
    found = heterogeneity(values, np.full(5, 0.05))
    high = values.var(ddof=1) * df / chi2.ppf(0.025, df)
    assert found.sd**2 == pytest.approx(values.var(ddof=1) - 0.05**2)
    assert found.high**2 == pytest.approx(high - 0.05**2)


@pytest.mark.parametrize(
    ("values", "errors"),
    [([1, 2], [1, 1]), ([1, 2, np.nan], [1, 1, 1]), ([1, 2, 3], [1, 0, 1]), ([1, 2, 3], [1, 1])],
)
def test_estimates_that_give_no_spread_are_refused(values, errors):
    with pytest.raises(SchemaError):
        heterogeneity(values, errors)


def test_frames_that_do_not_fit_are_refused():
    labels, scores = frames(np.random.default_rng(11), [(0.9, 0.4)] * 2)
    rng = np.random.default_rng(12)
    with pytest.raises(SchemaError, match="same models"):
        harmony_by_model(labels, scores.iloc[:, ::-1], 0.1, 10, rng)
    with pytest.raises(SchemaError, match="no item"):
        harmony_by_model(labels.mul([np.nan, 1.0], axis=0), scores, 0.1, 10, rng)
    with pytest.raises(SchemaError, match="no H"):
        resampled(labels * 0, scores, 0.1, 10, rng)
    with pytest.raises(SchemaError, match="level"):
        plane(rows({"a": [0.1, 0.2]}), 1.0)
