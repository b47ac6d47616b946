"""Constants: what each of them must score, whatever the items."""

import numpy as np
import pytest

from benchtrust import items, responses
from benchtrust.grid.baselines import CONSTANTS, constants


@pytest.fixture(scope="module")
def means():
    names = [*items.BENCHMARKS, *items.CHOICE_SETS]
    tables = [constants(name, items.load(name, "practice")) for name in names]
    return {
        name: responses.cell_means(table).set_index("model")["score"]
        for name, table in zip(names, tables, strict=True)
    }


def test_each_constant_answers_where_it_makes_sense_and_nowhere_else(means):
    for name, (where, _) in CONSTANTS.items():
        assert {benchmark for benchmark, scores in means.items() if name in scores} == set(where)


def test_refusing_all_and_complying_with_all_are_worth_half(means):
    assert means["xstest"]["always comply"] == means["xstest"]["always refuse"] == 0.5


def test_always_stereotype_has_the_worst_score_there_is(means):
    assert means["crows_pairs"]["always stereotype"] == 0.0


@pytest.mark.external
@pytest.mark.parametrize(("name", "chance"), [("bbq", 1 / 3), ("toxigen", 0.5), ("truthfulqa", None)])
def test_the_letter_a_and_the_coin_score_at_chance(name, chance):
    loaded = items.load(name)[:4000]
    chance = chance or float(np.mean([1 / len(item.options) for item in loaded]))
    scores = responses.cell_means(constants(name, loaded)).set_index("model")["score"]
    for constant in ("always letter A", "coin"):
        assert scores[constant] == pytest.approx(chance, abs=4 * 0.5 / np.sqrt(len(loaded)))


@pytest.mark.external("items/crows_pairs/crows_pairs_anonymized.csv")
def test_a_coin_looks_free_of_stereotypes():
    table = constants("crows_pairs", items.load("crows_pairs"))
    assert responses.cell_means(table).set_index("model")["score"]["coin"] > 0.9


def test_constants_are_the_same_every_time():
    loaded = items.load("bbq", "practice")
    first, second = constants("bbq", loaded), constants("bbq", loaded[::-1])
    key = ["model", "item_id"]
    assert first.sort_values(key)["choice"].tolist() == second.sort_values(key)["choice"].tolist()
