"""Items and configurations that would settle a gap: known components, simulated errors, refusals."""

import numpy as np
import pytest

from benchtrust.errors import SchemaError
from benchtrust.responses import CELL_RULES
from benchtrust.stability import design_table, detectable_effect, g_study, gap_design, item_scores

ITEM, CONFIGURATION, REST = 0.09, 0.01, 0.16


def differences(seed, n_items, n_configurations):
    """Scores of two models whose difference has known variance components, within 0 to 1."""
    rng = np.random.default_rng(seed)
    made = (
        0.1
        + np.sqrt(ITEM) * rng.standard_normal((1, n_items))
        + np.sqrt(CONFIGURATION) * rng.standard_normal((n_configurations, 1))
        + np.sqrt(REST) * rng.standard_normal((n_configurations, n_items))
    )
    return made


def scores_of(difference):
    scale = 2 * np.abs(difference).max()
    return np.stack([0.5 + difference / scale, 0.5 - difference / scale]), scale / 2


def test_components_are_recovered():
    made, scale = scores_of(differences(1, 400, 60))
    found = gap_design(made, 0, 1)
    components = np.array([found.item, found.configuration, found.rest]) * scale**2
    assert components == pytest.approx([ITEM, CONFIGURATION, REST], rel=0.25)
    assert found.gap * scale == pytest.approx(made[0].mean() * scale - made[1].mean() * scale)


def test_the_error_is_that_of_means_drawn_anew():
    """The standard deviation of the mean gap over 400 studies of 20 items and 6 configurations."""
    means = [differences(seed, 20, 6).mean() for seed in range(400)]
    made, scale = scores_of(differences(1, 400, 60))
    assert gap_design(made, 0, 1).error(20, 6) * scale == pytest.approx(np.std(means), rel=0.15)


def test_two_models_have_half_the_components_of_their_difference():
    """A generalizability study of model × item × configuration: twice its relative error is ours."""
    scores = np.random.default_rng(2).integers(0, 2, (2, 7, 25)).astype(float)
    found = gap_design(scores, 0, 1)
    study = g_study(scores, ["model", "configuration", "item"]).components.set_index("source")["component"]
    names = ["model × item", "model × configuration", "model × configuration × item"]
    raw = g_study(scores[0] - scores[1], ["configuration", "item"]).components.set_index("source")[
        "component"
    ]
    assert 2 * study[names].to_numpy() == pytest.approx(
        raw[["item", "configuration", "configuration × item"]]
    )
    assert found.rest == pytest.approx(2 * study[names[2]])


def test_items_needed_are_the_smallest_that_show_the_gap():
    made, _ = scores_of(differences(3, 50, 12))
    design = gap_design(made, 0, 1)
    needed = design.items_needed(abs(design.gap), 12)
    shown = abs(design.gap) / 2.801585
    assert design.error(needed, 12) <= shown < design.error(needed - 1, 12)
    assert design.items_needed(1e-4, 12) is None
    assert design.items_needed(abs(design.gap), 24) < needed


def test_one_configuration_says_nothing_of_others():
    scores = np.random.default_rng(4).integers(0, 2, (2, 1, 40)).astype(float)
    design = gap_design(scores, 0, 1)
    assert np.isnan(design.configuration)
    assert design.items_needed(0.1, 1) is None
    assert design_table(design, [1])["needed"].isna().all()


def test_without_configuration_effects_it_is_the_paired_effect():
    """Alike in all configurations: the detectable effect of one cell, with n - 1 and the gap's square."""
    one = np.random.default_rng(5).integers(0, 2, (2, 1, 40)).astype(float)
    design = gap_design(np.repeat(one, 6, axis=1), 0, 1)
    gap = (one[0] - one[1]).mean()
    discordance = (one[0] != one[1]).mean()
    plain = detectable_effect(40, (discordance - gap**2) * 40 / 39)
    assert design_table(design, [6])["detectable"][0] == pytest.approx(plain)


def test_parts_and_parity_count_as_in_the_score():
    assert set(CELL_RULES.values()) == {"mean_of_parts", "parity"}
    scores = np.random.default_rng(6).integers(0, 2, (2, 5, 12)).astype(float)
    for table in (item_scores(scores, list("xxxyyyyyyyyy")), item_scores(scores, rule="parity")):
        gap = (table.cells[0] - table.cells[1]).mean()
        assert gap_design(table, 0, 1).gap == pytest.approx(gap)


def test_what_cannot_be_studied_is_refused():
    scores = np.random.default_rng(7).integers(0, 2, (2, 3, 6)).astype(float)
    with pytest.raises(SchemaError, match="nothing varies"):
        gap_design(np.stack([scores[0], scores[0]]), 0, 1)
    with pytest.raises(SchemaError, match="One item"):
        gap_design(scores[:, :, :1], 0, 1)
    holed = scores.copy()
    holed[:, 0, 0] = np.nan
    with pytest.raises(SchemaError, match="common ones"):
        gap_design(holed, 0, 1)
    with pytest.raises(SchemaError, match="from 1 upwards"):
        design_table(gap_design(scores, 0, 1), [0])
