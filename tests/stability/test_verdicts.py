"""The questions of each pair: planted answers are found, none is found where there is none."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.stability import (
    compare_cells,
    detectable_effect,
    flip_rates,
    holm,
    item_scores,
    verdicts,
)

PROMPTS = list(product("mr", (0, 3)))
ENVELOPE = [(t, s, d, "free_form") for (t, s), d in product(PROMPTS, ("greedy", "t0.3", "t0.7"))] + [
    (t, s, "none", "logprob") for t, s in PROMPTS
]
LOGPROB = np.array([scoring == "logprob" for *_, scoring in ENVELOPE])


def answers(better: np.ndarray, n_items: int, rng: np.random.Generator):
    """Right and wrong answers over an envelope of 16, from each model's share right in each configuration."""
    right = (rng.random((*better.shape, n_items)) < better[:, :, None]).astype(float)
    names = pd.MultiIndex.from_tuples(ENVELOPE, names=["template", "shots", "decoding", "scoring"])
    return replace(item_scores(right), configurations=names, models=tuple("abc"[: len(better)]))


def test_planted_answers_are_found():
    rng = np.random.default_rng(1)
    ahead = np.where(LOGPROB, 0.25, 0.8)
    better = np.stack([ahead, 1.05 - ahead, np.full(16, 0.02)])
    table = verdicts(answers(better, 60, rng), 999, rng).set_index(["model_a", "model_b"])
    assert table["verdict"].to_dict() == {
        ("a", "b"): "a real reversal",
        ("a", "c"): "one leads on average",
        ("b", "c"): "one leads on average",
    }
    found = table.loc[("a", "b")]
    assert found["p_reversal"] == 2 * min(found["p_cells"], found["p_interaction"]) < 0.05 < found["p_stable"]


def test_a_small_lead_that_holds_everywhere_is_more_stable_than_ties():
    rng = np.random.default_rng(2)
    table = verdicts(answers(np.stack([np.full(16, 0.15), np.full(16, 0.03)]), 80, rng), 999, rng)
    assert table["verdict"].item() == "more stable than ties"


def test_an_order_can_be_stable_and_yet_be_reversed_somewhere():
    rng = np.random.default_rng(2)
    seldom = np.arange(16) == 15
    better = np.stack([np.where(seldom, 0.02, 0.2), np.where(seldom, 0.7, 0.04)])
    table = verdicts(answers(better, 100, rng), 999, rng)
    assert table["verdict"].item() == "a real reversal, yet more stable than ties"


def test_a_lead_that_is_the_same_in_all_configurations_shows_on_average_only():
    """Tied models that answer alike everywhere have a stable order too: ρ says nothing of the lead."""
    rng = np.random.default_rng(3)
    once = answers(np.stack([np.full(16, 0.9), np.full(16, 0.1)]), 40, rng)
    same = replace(once, scores=np.repeat(once.scores[:, :1], 16, axis=1))
    (row,) = verdicts(same, 999, rng).to_dict("records")
    assert (row["rho"], row["null_high"], row["p_stable"]) == (0, 0, 1)
    assert row["verdict"] == "one leads on average"


def test_equal_models_are_undetermined():
    rng = np.random.default_rng(3)
    chosen = [
        verdicts(answers(np.full((2, 16), 0.5), 20, rng), 199, rng)["verdict"].item() for _ in range(40)
    ]
    assert chosen.count("undetermined at this m") >= 13
    assert chosen.count("a real reversal") <= 1


def test_columns_agree_with_the_functions_they_come_from():
    rng = np.random.default_rng(4)
    items = answers(np.full((3, 16), 0.6), 25, rng)
    table = verdicts(items, 999, rng)
    rates = flip_rates(items.cells)
    for name in ("model_a", "model_b", "n_plus", "n_minus", "n_tie", "n", "rho"):
        assert table[name].tolist() == rates[name].tolist()
    assert table["p_stable_holm"].to_numpy() == pytest.approx(holm(table["p_stable"]))
    smaller = np.minimum(table["p_cells"], table["p_interaction"])
    assert table["p_reversal"].tolist() == np.minimum(1, 2 * smaller).tolist()
    assert table["detectable"].to_numpy() == pytest.approx(
        [detectable_effect(25, d) for d in table["discordance"]]
    )
    assert (table["null_low"] <= table["null_mean"]).all()
    assert (table["band_low"] <= table["band_high"]).all()
    cells = compare_cells(items, 0, rng)
    for row in table.itertuples():
        own = cells[(cells["model_a"] == row.model_a) & (cells["model_b"] == row.model_b)]
        assert (row.lead_a, row.lead_b) == pytest.approx((own["gap"].max(), -own["gap"].min()))
        assert row.p_cells == max(own["p_ahead_holm"].min(), own["p_behind_holm"].min())


def test_too_few_draws_to_reach_alpha_are_refused():
    items = item_scores(np.random.default_rng(6).integers(0, 2, (3, 12, 10)).astype(float), rule="parity")
    with pytest.raises(ValueError, match="give at least 720"):
        verdicts(items, 719, np.random.default_rng(0))
    table = verdicts(items, 720, np.random.default_rng(0))
    assert set(table["test"]) == {"sign flips of folded items"}
    with pytest.raises(ValueError, match="give at least 40"):
        verdicts(np.zeros((2, 3, 4)), 39, np.random.default_rng(0))


@pytest.mark.parametrize("cube", [np.ones((2, 4, 6)), np.zeros((3, 1, 5)), np.eye(2)[:, None]])
def test_ties_and_single_configurations_are_undetermined_without_a_gap_in_the_table(cube):
    table = verdicts(cube, 200, np.random.default_rng(0))
    assert set(table["verdict"]) == {"undetermined at this m"}
    assert not table.drop(columns=["model_a", "model_b"]).isna().any(axis=None)


def test_one_model_is_refused():
    with pytest.raises(SchemaError, match="models >= 2"):
        verdicts(np.zeros((1, 4, 6)), 200, np.random.default_rng(0))
