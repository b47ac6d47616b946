"""What a recording would hold: counts, filters, and names that are nearly right."""

from dataclasses import replace
from itertools import product

import pytest

from benchtrust import harness, items
from benchtrust.errors import UnknownNameError
from benchtrust.grid.plan import asked, blocks
from benchtrust.harness import Configuration
from benchtrust.inference.catalogue import entry

SMALL, HALF, BASE = "SmolLM2-135M-Instruct", "Qwen2.5-Coder-0.5B-Instruct", "gemma-3-270m"
ALL = list(items.BENCHMARKS)


def cells(plan) -> int:
    return sum(len(block.configurations) for block in plan)


def test_three_chat_models_have_612_cells_in_180_prompts():
    plan = blocks([SMALL, HALF, "Qwen2.5-Coder-1.5B-Instruct"], ALL)
    assert cells(plan) == 612
    assert len(plan) == 3 * 5 * 12


def test_a_choice_set_has_one_cell_a_model_base_models_too():
    models = [SMALL, HALF, "Qwen2.5-Coder-1.5B-Instruct", BASE]
    for tier in ("full", "core", "conservative"):
        plan = blocks(models, items.CHOICE_SETS, tier)
        assert [(block.model, block.benchmark) for block in plan] == list(product(models, items.CHOICE_SETS))
        assert {block.configurations for block in plan} == {(Configuration("minimal", 0, "none", "logprob"),)}
    assert blocks(models, items.CHOICE_SETS, template=["role"]) == []


def test_checkpoints_of_one_repository_are_models_of_their_own(monkeypatch):
    """Two entries that differ in name and commit alone have other cells."""
    base = replace(entry("Yi-1.5-9B-Chat"), chat=False)
    steps = {
        name: replace(base, name=name, revision=c * 40) for name, c in (("step-1", "a"), ("step-2", "b"))
    }
    monkeypatch.setitem(entry.__globals__, "catalogue", lambda: steps)
    plan = blocks(["step-2", "step-1"], ["pubmedqa"])
    assert [block.model for block in plan] == ["step-2", "step-1"]
    (configuration,) = plan[0].configurations
    sources = [entry(name).source for name in steps]
    made = [harness.definition("pubmedqa", "one name", s, "nf4", configuration, []) for s in sources]
    assert harness.cell_id(made[0]) != harness.cell_id(made[1])


def test_a_base_model_has_log_prob_cells_only():
    plan = blocks([BASE], ALL)
    assert cells(plan) == 5 * 12
    assert {c.scoring for block in plan for c in block.configurations} == {"logprob"}


@pytest.mark.parametrize(
    ("tier", "axes", "expected"),
    [
        ("full", {}, 48),
        ("core", {}, 27),
        ("conservative", {}, 4),
        ("full", {"scoring": ["logprob"]}, 12),
        ("full", {"scoring": ["logprob"], "shots": [0]}, 4),
        ("full", {"decoding": ["none"]}, 12),
        ("full", {"decoding": ["none", "greedy"]}, 24),
        ("full", {"template": ["minimal"], "shots": [0, 5]}, 8),
        ("full", {"template": ["minimal"], "shots": ["0"], "decoding": None}, 4),
        ("full", {"template": ["Minimal"], "decoding": ["Greedy"]}, 3),
        ("full", {"decoding": ["greedy"], "scoring": ["logprob"]}, 0),
        ("core", {"template": ["cot"]}, 0),
    ],
)
def test_axes_keep_the_levels_named(tier, axes, expected):
    assert cells(blocks([SMALL], ["bbq"], tier, **axes)) == expected


def test_a_block_shares_one_prompt_an_item():
    for block in blocks([SMALL], ["bbq", "crows_pairs"]):
        assert len({(c.template, c.shots) for c in block.configurations}) == 1
    names = [block.name for block in blocks([SMALL, BASE], ALL)]
    assert len(set(names)) == len(names)


def test_models_and_benchmarks_are_known_by_any_spelling():
    assert blocks(["smollm2 135m instruct"], ["CrowS-Pairs"]) == blocks([SMALL], ["crows_pairs"])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: blocks(["SmolLM2-135M"], ["bbq"]), f"Did you mean {SMALL}"),
        (lambda: blocks([SMALL], ["bqq"]), "Did you mean bbq"),
        (lambda: blocks([SMALL], ["bbq"], "ful"), "Did you mean full"),
        (lambda: blocks([SMALL], ["bbq"], source="practise"), "Did you mean practice"),
        (lambda: blocks([SMALL], ["bbq"], template=["minmal"]), "Did you mean minimal"),
        (lambda: blocks([SMALL], ["bbq"], shots=[4]), r"shots '4'.*Valid: 0, 3, 5"),
        (lambda: blocks([SMALL], ["bbq"], decoding=["gredy"]), "Did you mean greedy"),
        (lambda: blocks([SMALL], ["bbq"], scoring=["log-probs"]), "Did you mean logprob"),
        (lambda: blocks([SMALL], ["bbq"], shot=[0]), "Did you mean shots"),
    ],
)
def test_unknown_names_list_the_nearest(call, said):
    with pytest.raises(UnknownNameError, match=said):
        call()


@pytest.mark.parametrize("name", ALL)
def test_exemplars_and_items_of_a_block(name):
    block = blocks([SMALL], [name], source="practice")[0]
    pool, chosen = asked(block, 10)
    assert (len(pool), len(chosen)) == (5, 10)
    assert not {item.item_id for item in pool} & {item.item_id for item in chosen}
    assert asked(block, 6)[1] == chosen[:6]
