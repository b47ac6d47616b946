"""Paired draws of HARMONY, and trends over size."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from benchtrust.errors import SchemaError
from benchtrust.harmony import cluster_scores, harmony, harmony_interval, paired_harmony, size_trend


@pytest.fixture
def scores() -> pd.DataFrame:
    """Three respondents on 400 items of four clusters; the second is the first again."""
    rng = np.random.default_rng(1)
    accuracy = np.repeat([0.9, 0.7, 0.5, 0.4], 100)
    first, third = rng.random((2, 400)) < [accuracy, accuracy[::-1] ** 2]
    index = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")], names=["model", "style"])
    return pd.DataFrame(np.array([first, first, third], dtype=float), index=index)


LABELS = np.repeat(np.arange(4), 100)


def test_values_are_those_of_harmony_alone(scores):
    found = paired_harmony(scores, LABELS, 0.1, 2, np.random.default_rng(2))
    for place in range(3):
        own = cluster_scores(scores.iloc[place], LABELS)
        assert found.value.iloc[place] == harmony(own.accuracy, own.sizes, 0.1).value


def test_each_draw_takes_the_same_items_for_all(scores):
    draws = paired_harmony(scores, LABELS, 0.1, 60, np.random.default_rng(3)).draws
    assert draws.shape == (60, 3)
    assert (draws["a", "x"] == draws["a", "y"]).all()
    assert not np.allclose(draws["a", "x"], draws["b", "x"])


def test_draws_are_spread_as_those_of_one_respondent(scores):
    together = paired_harmony(scores, LABELS, 0.1, 3000, np.random.default_rng(4))
    for place in (0, 2):
        alone = harmony_interval(scores.iloc[place], LABELS, 0.1, 3000, np.random.default_rng(5))
        drawn = together.draws.iloc[:, place]
        assert drawn.std() == pytest.approx(alone.draws.std(), rel=0.08)
        assert drawn.mean() - together.value.iloc[place] == pytest.approx(alone.drift, abs=0.01)


def test_a_partition_each_is_taken_with_its_own_number_of_clusters(scores):
    labels = np.array([LABELS, LABELS // 2, LABELS])
    found = paired_harmony(scores, labels, 0.1, 5, np.random.default_rng(6))
    same = paired_harmony(scores, LABELS, 0.1, 5, np.random.default_rng(6))
    assert found.value.iloc[1] != found.value.iloc[0]
    assert found.draws.iloc[:, [0, 2]].equals(same.draws.iloc[:, [0, 2]])
    halves = cluster_scores(scores.iloc[1], LABELS // 2)
    assert found.value.iloc[1] == harmony(halves.accuracy, halves.sizes, 0.1).value


def test_a_cluster_that_a_draw_misses_counts_in_k(scores):
    """One item in a cluster of its own: where the draw misses it, k is still five."""
    labels = np.where(np.arange(400) == 0, 4, LABELS)
    draws = paired_harmony(scores, labels, 10.0, 200, np.random.default_rng(7)).draws.iloc[:, 0]
    assert draws.max() < np.log(4.3) / np.log(5)


def test_prompts_of_a_model_are_averaged_draw_by_draw(scores):
    found = paired_harmony(scores, LABELS, 0.1, 5, np.random.default_rng(8)).mean_by("model")
    assert list(found.value.index) == ["a", "b"]
    assert list(found.draws.columns) == ["a", "b"]
    again = paired_harmony(scores, LABELS, 0.1, 5, np.random.default_rng(8))
    assert np.allclose(found.draws["a"], again.draws["a"].mean(axis=1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": LABELS[:-1]}, "do not fit"),
        ({"labels": np.zeros(400, dtype=int)}, "two clusters"),
        ({"n_draws": 1}, "at least two"),
        ({"bandwidth": 0}, "must be positive"),
    ],
)
def test_bad_input_is_named(scores, change, message):
    given = {"labels": LABELS, "bandwidth": 0.1, "n_draws": 3} | change
    with pytest.raises(SchemaError, match=message):
        paired_harmony(scores, rng=np.random.default_rng(0), **given)


def test_a_missing_score_is_no_wrong_answer(scores):
    scores.iloc[1, 5] = np.nan
    with pytest.raises(SchemaError, match="1 scores are missing"):
        paired_harmony(scores, LABELS, 0.1, 3, np.random.default_rng(0))


# ---------------------------------------------------------------- trends

MODELS = ["s", "m", "l", "s-chat", "m-chat", "l-chat"]
SIZES = pd.Series([7, 13, 70, 7, 13, 70], index=MODELS)
KINDS = pd.Series(["base"] * 3 + ["chat"] * 3, index=MODELS)


@pytest.fixture
def family() -> tuple[pd.Series, pd.DataFrame]:
    rng = np.random.default_rng(9)
    line = 0.9 - 0.1 * np.log10(SIZES) - 0.2 * (KINDS == "chat")
    value = line + rng.normal(0, 0.02, 6)
    draws = pd.DataFrame(value.to_numpy() + rng.normal(0, 0.01, (4000, 6)), columns=MODELS)
    return value, draws


def test_slope_and_interval_over_models_are_those_of_a_regression(family):
    """Against statsmodels: H ~ log10(size) + kind."""
    value, draws = family
    found = size_trend(value, draws, SIZES, KINDS)
    frame = pd.DataFrame({"h": value, "x": np.log10(SIZES), "kind": KINDS})
    fit = smf.ols("h ~ x + kind", frame).fit()
    assert found.slope == pytest.approx(fit.params["x"])
    assert (found.low_models, found.high_models) == pytest.approx(tuple(fit.conf_int().loc["x"]))
    assert (found.models, found.sizes) == (6, 3)


def test_the_interval_over_items_follows_the_draws(family):
    """Independent draws of sd .01: the slope's sd is .01 over the root of the centred sum of squares."""
    value, draws = family
    found = size_trend(value, draws, SIZES, KINDS)
    x = np.log10(SIZES[:3])
    sd = 0.01 / np.sqrt(2 * ((x - x.mean()) ** 2).sum())
    assert found.high - found.low == pytest.approx(2 * 1.96 * sd, rel=0.05)
    assert (found.low + found.high) / 2 == pytest.approx(found.slope)
    assert found.drift == pytest.approx(0, abs=0.001)
    narrow = size_trend(value, draws, SIZES, KINDS, level=0.5)
    assert narrow.high - narrow.low < (found.high - found.low) / 2


def test_a_shift_of_a_kind_moves_no_slope(family):
    value, draws = family
    shifted = value + 0.5 * (KINDS == "chat")
    assert size_trend(shifted, draws, SIZES, KINDS).slope == pytest.approx(
        size_trend(value, draws, SIZES, KINDS).slope
    )


def test_two_models_say_nothing_of_others(family):
    value, draws = family
    found = size_trend(value[["s", "l"]], draws, SIZES, KINDS)
    assert found.slope == pytest.approx(value["l"] - value["s"])
    assert np.isnan(found.low_models)
    assert np.isnan(found.high_models)
    assert np.isfinite([found.low, found.high]).all()


def test_what_has_no_trend_is_refused(family):
    value, draws = family
    with pytest.raises(SchemaError, match="two sizes of one kind"):
        size_trend(value[["s", "m-chat"]], draws, SIZES, KINDS)
    with pytest.raises(SchemaError, match="'s' has no size"):
        size_trend(value, draws, SIZES.drop("s"), KINDS)
    with pytest.raises(SchemaError, match="positive"):
        size_trend(value, draws, SIZES * 0, KINDS)
    with pytest.raises(SchemaError, match=r"level = 1\.5"):
        size_trend(value, draws, SIZES, KINDS, level=1.5)
