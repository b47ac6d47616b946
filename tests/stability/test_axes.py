"""Levels of the axes: shifts with simultaneous intervals, and spread against the noise of the items."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.stability import axis_levels, level_shifts, spread_beyond_noise

AXES = ["model", "template", "shots", "decoding", "scoring"]
CELLS = [
    (model, template, shots, *path)
    for model, template, shots, path in product(
        "AB",
        ("minimal", "cot", "role"),
        (0, 3),
        (("greedy", "free_form"), ("t0.7", "free_form"), ("none", "logprob")),
    )
]
RESPONDENTS = pd.MultiIndex.from_tuples(CELLS, names=AXES)


def scored(shift, seed, n_items=40, n_draws=300):
    """Scores of answers with cells that add `shift` to the chance of a right one, and their draws."""
    rng = np.random.default_rng(seed)
    chance = np.clip(rng.uniform(0.2, 0.8, n_items) + np.asarray(shift)[:, None], 0, 1)
    answers = (rng.random(chance.shape) < chance).astype(float)
    counts = rng.multinomial(n_items, np.full(n_items, 1 / n_items), n_draws) / n_items
    value = pd.Series(answers.mean(axis=1), RESPONDENTS)
    return value, pd.DataFrame(counts @ answers.T, columns=RESPONDENTS)


def test_levels_compare_like_with_like():
    levels = axis_levels(RESPONDENTS)
    logprob = RESPONDENTS.get_level_values("scoring") == "logprob"
    assert levels.loc[logprob, "decoding"].isna().all()
    assert levels.loc[~logprob, "decoding"].notna().all()
    assert levels["scoring"].value_counts().to_dict() == {"free_form": 12, "logprob": 12}
    with pytest.raises(SchemaError, match="no level 'template'"):
        axis_levels(RESPONDENTS.droplevel("template"))


def test_shifts_are_differences_of_means_within_the_model():
    value, draws = scored(np.zeros(len(CELLS)), 1)
    found = level_shifts(value, draws, axis_levels(RESPONDENTS)).set_index(["model", "axis", "level"])
    own = value.xs("A")
    cot = own.index.get_level_values("template") == "cot"
    assert found.loc[("A", "template", "cot"), "shift"] == pytest.approx(own[cot].mean() - own[~cot].mean())
    assert found.loc[("A", "template", "cot"), ["n", "n_others"]].tolist() == [6, 12]
    pairs = own.unstack(["decoding", "scoring"])
    paired = (pairs["none", "logprob"] - pairs["greedy", "free_form"]).mean()
    assert found.loc[("A", "scoring", "logprob"), "shift"] == pytest.approx(paired)
    by_template = found.loc["A"].loc["template", "shift"]
    assert by_template.sum() == pytest.approx(0, abs=1e-12)
    assert len(found) == 2 * (3 + 1 + 1 + 1)


def test_adding_a_constant_to_all_respondents_shifts_nothing():
    value, draws = scored(np.zeros(len(CELLS)), 2)
    levels = axis_levels(RESPONDENTS)
    moved = level_shifts(value + 3, draws + 3, levels)
    pd.testing.assert_frame_equal(moved, level_shifts(value, draws, levels))


def test_a_real_shift_is_found_and_only_there():
    templates = RESPONDENTS.get_level_values("template")
    value, draws = scored(np.where(templates == "cot", 0.3, 0.0), 3)
    found = level_shifts(value, draws, axis_levels(RESPONDENTS)).set_index(["model", "axis", "level"])
    assert (found.loc[[("A", "template", "cot"), ("B", "template", "cot")], "p"] < 0.05).all()
    assert found.loc[("A", "template", "cot"), "low"] > 0
    assert (found.query("axis != 'template'")["p"] > 0.05).all()


def test_the_intervals_hold_all_shifts_at_once():
    """Nominal .95; a pointwise interval of 12 shifts would hold all of them about half of the time."""
    levels, held, pointwise = axis_levels(RESPONDENTS), 0, 0
    for seed in range(60):
        found = level_shifts(*scored(np.zeros(len(CELLS)), 100 + seed), levels)
        held += bool(((found["low"] <= 0) & (found["high"] >= 0)).all())
        pointwise += bool((found["shift"].abs() <= 1.96 * found["se"]).all())
    assert held >= 52
    assert pointwise < held - 10


def test_a_shift_that_no_draw_moves_is_no_finding():
    value = pd.Series(0.5, RESPONDENTS)
    found = level_shifts(value, pd.DataFrame(0.5, range(5), RESPONDENTS), axis_levels(RESPONDENTS))
    assert (found["se"] == 0).all()
    assert (found["p"] == 1).all()


def test_nothing_to_compare_is_an_error():
    value, draws = scored(np.zeros(len(CELLS)), 4)
    one = pd.DataFrame({"template": "cot"}, RESPONDENTS)
    with pytest.raises(SchemaError, match="No axis has two levels"):
        level_shifts(value, draws, one)
    with pytest.raises(SchemaError, match="levels of 3"):
        level_shifts(value, draws, one.iloc[:3])
    with pytest.raises(SchemaError, match=r"level = 1.5"):
        level_shifts(value, draws, axis_levels(RESPONDENTS), level=1.5)


def cube(effect, seed, n=(2, 12, 60), n_draws=200):
    """Cell scores (groups, C) of a benchmark whose configurations differ by `effect`, and their draws."""
    rng = np.random.default_rng(seed)
    groups, cells, n_items = n
    chance = rng.uniform(0.2, 0.8, n_items) + effect * rng.standard_normal((groups, cells, 1))
    answers = (rng.random(n) < chance).astype(float)
    counts = rng.multinomial(n_items, np.full(n_items, 1 / n_items), n_draws) / n_items
    return answers.mean(axis=2), np.einsum("di,gci->dgc", counts, answers)


def test_without_an_effect_the_spread_is_that_of_the_items():
    found = [spread_beyond_noise(*cube(0.0, seed)) for seed in range(60)]
    assert np.mean([one.ratio for one in found]) == pytest.approx(1, abs=0.08)
    assert np.mean([one.p <= 0.05 for one in found]) <= 0.1


def test_an_effect_of_the_configurations_is_found_and_measured():
    found = [spread_beyond_noise(*cube(0.1, seed)) for seed in range(20)]
    assert np.mean([one.p <= 0.05 for one in found]) > 0.9
    assert np.mean([one.systematic for one in found]) == pytest.approx(0.1, abs=0.02)
    assert all(one.low < one.noise < one.high for one in found)


def test_what_moves_all_configurations_alike_is_no_spread():
    values, draws = cube(0.0, 5)
    common = np.random.default_rng(0).normal(size=(len(draws), 1, 1))
    assert spread_beyond_noise(values, draws + common).noise == pytest.approx(
        spread_beyond_noise(values, draws).noise
    )


def test_spread_wants_draws_of_the_same_configurations():
    values, draws = cube(0.0, 6)
    with pytest.raises(SchemaError, match="shape"):
        spread_beyond_noise(values[:, 1:], draws)
    with pytest.raises(SchemaError, match="missing"):
        spread_beyond_noise(np.where(values > 0, np.nan, values), draws)
    assert np.isnan(spread_beyond_noise(np.zeros((1, 3)), np.zeros((4, 1, 3))).ratio)
