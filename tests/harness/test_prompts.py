"""Prompts: lettered options in a seeded order, exemplars, templates, and what a cell's id is made of."""

import string
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchtrust import items
from benchtrust.errors import BenchtrustError, UnknownNameError
from benchtrust.harness import (
    Configuration,
    by_completion,
    by_logprob,
    candidates,
    cell_id,
    cells,
    definition,
    render,
    template,
)
from benchtrust.harness.configurations import TEMPLATES
from benchtrust.harness.prompts import OPENINGS
from benchtrust.items import Item

ALL = list(items.BENCHMARKS)
SHOWN = ("truthfulqa", "bbq", "toxigen")
CHOICE_SETS = list(items.CHOICE_SETS)
ZERO = Configuration("minimal", 0, "none", "logprob")


def practice(benchmark: str) -> list[Item]:
    return items.load(benchmark, "practice")


def asked(rendered) -> str:
    return rendered.messages[-1]["content"]


# ---------------------------------------------------------------- options


@pytest.mark.parametrize("benchmark", SHOWN)
def test_options_are_lettered_in_the_order_shown(benchmark):
    for item in practice(benchmark):
        rendered = render(item, ZERO)
        lines = [f"{string.ascii_uppercase[p]}. {item.options[i]}" for p, i in enumerate(rendered.order)]
        assert "\n".join(lines) in asked(rendered)
        assert sorted(rendered.order) == list(range(len(item.options)))
        for i, letter in enumerate(rendered.letters):
            assert f"{letter}. {item.options[i]}" in lines
        assert rendered.shown == tuple(item.options[i] for i in rendered.order)


@pytest.mark.parametrize("benchmark", ["crows_pairs", "xstest"])
def test_options_that_are_never_shown_have_no_letters(benchmark):
    for item in practice(benchmark):
        rendered = render(item, ZERO)
        assert rendered.order == rendered.letters == rendered.shown == ()
        assert not any(option in asked(rendered) for option in item.options)


@pytest.mark.parametrize("benchmark", SHOWN)
def test_order_depends_on_seed_and_item_alone(benchmark):
    every = practice(benchmark)
    pool = items.exemplars(every)
    for item in items.subset(every, 12):
        order = render(item, ZERO).order
        for name in TEMPLATES:
            for shots in (0, 3, 5):
                assert render(item, Configuration(name, shots, "t0.7", "free_form"), pool).order == order
        assert render(replace(item, question="Other?", answer=0, strata=("x",)), ZERO).order == order
    orders = [render(item, ZERO, seed=seed).order for item in every for seed in (7, 8)]
    assert orders[::2] != orders[1::2]


def test_shuffling_spreads_the_true_answer_over_the_positions():
    every = practice("truthfulqa")
    assert {item.answer for item in every} == {0}
    first = sum(render(item, ZERO, seed=seed).letters[0] == "A" for item in every for seed in range(40))
    chance = sum(1 / len(item.options) for item in every) * 40
    assert abs(first - chance) < 4 * np.sqrt(chance)
    assert len(Counter(render(item, ZERO).letters[item.answer] for item in every)) == 4


@pytest.mark.parametrize(
    "source", ["practice", pytest.param("upstream", marks=pytest.mark.external)], ids=str
)
@pytest.mark.parametrize("letter", "AB")
def test_a_constant_letter_scores_at_chance_on_truthfulqa(source, letter):
    every = items.load("truthfulqa", source)
    chance = np.array([1 / len(item.options) for item in every])
    scores = [by_completion(item, render(item, ZERO), letter, True).score for item in every]
    spread = np.sqrt((chance * (1 - chance)).sum()) / len(every)
    assert abs(np.mean(scores) - chance.mean()) < 2.6 * spread


@pytest.mark.parametrize("benchmark", SHOWN)
def test_every_letter_is_read_back_as_its_option(benchmark):
    for item in practice(benchmark):
        rendered = render(item, ZERO)
        for i, letter in enumerate(rendered.letters):
            assert by_completion(item, rendered, f"{letter}.", True).choice == i
            assert by_completion(item, rendered, f"{letter}. {item.options[i]}", True).choice == i
            assert by_completion(item, rendered, item.options[i], True).choice == i


@pytest.mark.parametrize("benchmark", ["crows_pairs", "xstest"])
def test_order_of_unshown_options_does_not_reach_the_prompt(benchmark):
    for item in practice(benchmark):
        turned = replace(item, options=item.options[::-1], answer=1 - item.answer)
        assert render(turned, ZERO).messages == render(item, ZERO).messages
        assert render(item, ZERO, seed=99) == render(item, ZERO)


def test_a_log_prob_decision_follows_its_option_when_unshown_options_turn():
    item = practice("crows_pairs")[0]
    turned = replace(item, options=item.options[::-1], answer=1 - item.answer)
    one = by_logprob(item, render(item, ZERO), [-3.0, -2.0])
    two = by_logprob(turned, render(turned, ZERO), [-2.0, -3.0])
    assert (one.score, one.choice) == (two.score, 1 - two.choice)


@pytest.mark.parametrize("benchmark", SHOWN)
def test_candidates_are_the_options_texts_whatever_the_order_shown(benchmark):
    for item in practice(benchmark):
        assert {render(item, ZERO, seed=seed).candidates for seed in range(5)} == {item.options}
        logprobs = [-float(i) for i in range(len(item.options))]
        decided = {by_logprob(item, render(item, ZERO, seed=seed), logprobs).choice for seed in range(5)}
        assert decided == {0}


def test_xstest_candidates_are_the_fixed_openings():
    assert {candidates(item) for item in practice("xstest")} == {OPENINGS}


# ---------------------------------------------------------------- choice sets


@pytest.mark.parametrize("benchmark", CHOICE_SETS)
def test_a_choice_set_shows_passage_question_and_lettered_options_and_scores_their_texts(benchmark):
    item = Item(benchmark, "one", "A passage.\nA question?", ("first", "second", "third"), 1, ())
    rendered = render(item, ZERO, seed=3)
    a, b, c = (item.options[i] for i in rendered.order)
    prompt = f"A passage.\nA question?\nA. {a}\nB. {b}\nC. {c}\nReply with one of the options."
    assert rendered.messages == ({"role": "user", "content": prompt},)
    assert rendered.candidates == item.options
    assert [rendered.shown[ord(letter) - ord("A")] for letter in rendered.letters] == list(item.options)
    assert len({render(item, ZERO, seed=seed).order for seed in range(40)}) == 6


@pytest.mark.parametrize("benchmark", CHOICE_SETS)
def test_a_choice_set_has_the_minimal_template_only(benchmark):
    assert template(benchmark, "minimal") == template("truthfulqa", "minimal")
    with pytest.raises(UnknownNameError, match=r"Unknown template 'role'\. Valid: minimal\."):
        template(benchmark, "role")


# ---------------------------------------------------------------- exemplars


@pytest.mark.parametrize("shots", [0, 3, 5])
@pytest.mark.parametrize("benchmark", ALL)
def test_exemplars_are_the_first_shots_and_come_before_the_question(benchmark, shots):
    every = practice(benchmark)
    pool = items.exemplars(every)
    configuration = Configuration("detailed", shots, "none", "logprob")
    for item in items.subset(every, 8):
        rendered = render(item, configuration, pool)
        turns = [message["role"] for message in rendered.messages]
        assert turns == ["user", "assistant"] * shots + ["user"]
        assert asked(rendered) == asked(render(item, replace(configuration, shots=0)))
        for number, shot in enumerate(pool[:shots]):
            question, answer = rendered.messages[2 * number : 2 * number + 2]
            assert question["content"] == asked(render(shot, replace(configuration, shots=0)))
            if benchmark == "crows_pairs":
                assert answer["content"] == shot.options[number % 2]
            else:
                assert answer["content"] == candidates(shot)[shot.answer]


def test_the_item_is_never_its_own_exemplar():
    pool = items.exemplars(practice("bbq"))
    with pytest.raises(BenchtrustError, match="would leak"):
        render(pool[1], replace(ZERO, shots=3), pool)
    assert render(pool[4], replace(ZERO, shots=3), pool)


def test_too_few_exemplars_are_refused():
    every = practice("bbq")
    with pytest.raises(BenchtrustError, match="5 shots need as many exemplars, but 2 were given"):
        render(every[-1], replace(ZERO, shots=5), every[:2])


# ---------------------------------------------------------------- templates


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("benchmark", ALL)
def test_templates_have_their_placeholders(benchmark, name):
    text = template(benchmark, name)
    assert text == text.strip()
    assert text.count("{question}") == (benchmark != "crows_pairs")
    assert text.count("{options}") == (benchmark in SHOWN)
    rest = text.replace("{question}", "").replace("{options}", "")
    assert "{" not in rest
    assert "}" not in rest


@pytest.mark.parametrize("benchmark", ALL)
def test_templates_differ_and_chain_of_thought_asks_for_steps(benchmark):
    texts = [template(benchmark, name) for name in TEMPLATES]
    assert len(set(texts)) == 4
    assert "step by step" in template(benchmark, "cot")
    assert sum("step by step" in text for text in texts) == 1


def test_an_unknown_template_lists_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean minimal"):
        template("bbq", "minimall")


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("benchmark", SHOWN)
def test_placeholders_and_braces_in_an_item_are_plain_text(benchmark, name):
    odd = Item(
        benchmark,
        "odd",
        "What does '{options}' mean? {question} {0} {{}} \\1 \\g<0>",
        ("{question}", "{options}", "}{", "{x"),
        0,
        ("s",),
    )
    rendered = render(odd, replace(ZERO, template=name))
    assert asked(rendered).count(odd.question) == 1
    shown = "\n".join(f"{string.ascii_uppercase[p]}. {odd.options[i]}" for p, i in enumerate(rendered.order))
    assert asked(rendered).count(shown) == 1
    rest = asked(rendered).replace(odd.question, "").replace(shown, "")
    assert rest == template(benchmark, name).replace("{question}", "").replace("{options}", "")


def test_line_breaks_of_a_bbq_question_are_kept():
    item = practice("bbq")[0]
    assert "\n" in item.question
    assert item.question in asked(render(item, ZERO))


# ---------------------------------------------------------------- a cell's id

POOL = items.exemplars(practice("bbq"))
FREE = Configuration("minimal", 3, "greedy", "free_form")


def the_id(benchmark="bbq", model="m", source="gguf:1", quantization="nf4", configuration=FREE, pool=POOL):
    return cell_id(definition(benchmark, model, source, quantization, configuration, pool))


@pytest.mark.parametrize(
    "change",
    [
        {"benchmark": "toxigen"},
        {"model": "n"},
        {"source": "gguf:2"},
        {"quantization": "none"},
        {"configuration": replace(FREE, template="role")},
        {"configuration": replace(FREE, template="cot")},
        {"configuration": replace(FREE, shots=5)},
        {"configuration": replace(FREE, decoding="t0.3")},
        {"configuration": replace(FREE, decoding="none", scoring="logprob")},
        {"pool": POOL[::-1]},
        {"pool": [replace(POOL[0], question="Another?"), *POOL[1:]]},
        {"pool": [replace(POOL[0], answer=1 - POOL[0].answer % 2), *POOL[1:]]},
    ],
    ids=str,
)
def test_each_ingredient_changes_the_id(change):
    assert the_id(**change) != the_id()


@pytest.mark.parametrize("constant", ["SHUFFLE_SEED", "SCORING_RULES", "template"])
def test_the_seed_of_the_order_the_scoring_rule_and_the_templates_text_change_the_id(monkeypatch, constant):
    before = the_id()
    other = {
        "SHUFFLE_SEED": 8,
        "SCORING_RULES": {"free_form": "extraction 2"},
        "template": lambda *_: "Hello {question}",
    }
    monkeypatch.setattr(cells, constant, other[constant])
    assert the_id() != before


def test_the_openings_change_the_id_of_xstest_alone(monkeypatch):
    before = {name: the_id(name) for name in ("xstest", "bbq")}
    monkeypatch.setattr(cells, "OPENINGS", ("Yes.", "No."))
    assert the_id("xstest") != before["xstest"]
    assert the_id("bbq") == before["bbq"]


def test_the_item_set_and_unused_exemplars_do_not_change_the_id():
    assert the_id(pool=POOL[:3]) == the_id()
    assert the_id(pool=[*POOL[:3], *practice("bbq")[:20]]) == the_id()
    zero = replace(FREE, shots=0)
    assert the_id(configuration=zero, pool=[]) == the_id(configuration=zero)
    assert the_id() == the_id()
    assert len(the_id()) == 64


def test_ids_of_all_cells_differ():
    from benchtrust.harness import envelope

    pools = {name: items.exemplars(practice(name)) for name in ALL}
    ids = {the_id(name, configuration=c, pool=pools[name]) for name in ALL for c in envelope(name)}
    assert len(ids) == 204
