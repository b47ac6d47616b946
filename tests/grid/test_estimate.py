"""What a recording will cost: a prefix once a batch, prompts and options an item, answers at their limit."""

import pytest

from benchtrust import harness, items
from benchtrust.grid.estimate import encoder, matrix_rate, seconds, work
from benchtrust.grid.plan import asked, blocks
from benchtrust.inference import BATCH_ROWS


def letters(messages, text):
    return list("".join(m["role"] + m["content"] for m in messages) + text)


def first_block(benchmark, shots, scoring):
    axes = {"shots": [shots], "scoring": [scoring]}
    return blocks(["SmolLM2-135M-Instruct"], [benchmark], source="practice", **axes)[0]


@pytest.mark.parametrize(("shots", "scoring"), [(0, "logprob"), (5, "logprob"), (5, "free_form")])
def test_tokens_are_those_of_the_prompts_with_their_prefix_shared(shots, scoring):
    block = blocks(
        ["SmolLM2-135M-Instruct"], ["xstest"], source="practice", shots=[shots], scoring=[scoring]
    )[0]
    loaded = items.load("xstest", "practice")
    found = work(block, 4, loaded, letters)
    exemplars, chosen = asked(block, 4, loaded)
    texts = [
        "".join(letters(harness.render(i, block.configurations[0], exemplars).messages, "")) for i in chosen
    ]
    shared = len(texts[0]) - 1
    while any(text[:shared] != texts[0][:shared] for text in texts):
        shared -= 1
    options = sum(map(len, harness.prompts.OPENINGS)) if scoring == "logprob" else 0
    own = sum(len(text) - shared + options for text in texts)
    assert found.prompt_tokens == shared + own
    assert found.answer_tokens == 4 * sum(c.max_new_tokens for c in block.configurations)
    assert (shared > 400) == (shots == 5)


def test_a_prefix_counts_once_a_batch():
    block = blocks(["SmolLM2-135M-Instruct"], ["toxigen"], source="practice", shots=[5], scoring=["logprob"])[
        0
    ]
    loaded = items.load("toxigen", "practice")
    loaded += [
        type(i)(i.benchmark, f"{i.item_id}-{n}", i.question, i.options, i.answer, i.strata)
        for n in range(3)
        for i in loaded
    ]
    one, two = (work(block, n, loaded, letters).prompt_tokens for n in (BATCH_ROWS, BATCH_ROWS + 1))
    three = work(block, BATCH_ROWS + 2, loaded, letters).prompt_tokens
    assert two - one > 2 * (three - two)


def test_work_adds_up_and_an_unknown_tokenizer_is_guessed_from_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path))
    count = encoder("Qwen2.5-7B-Instruct")
    assert len(count([{"role": "user", "content": "x" * 400}], "")) == 100
    plan = blocks(["Qwen2.5-7B-Instruct"], ["bbq"], source="practice")
    parts = [work(block, 5, items.load("bbq", "practice"), count) for block in plan]
    both = parts[0] + parts[1]
    assert both.tokens == parts[0].tokens + parts[1].tokens
    assert (both.cells, both.prompts) == (8, 10)


def test_twice_the_rate_is_half_the_time():
    assert seconds(1000, 1.5, 2e11) == pytest.approx(seconds(1000, 1.5, 1e11) / 2)
    assert matrix_rate(64, 2) > 0
