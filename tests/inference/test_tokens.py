"""From messages to token ids: one BOS, chat templates, options that merge with their prompt (CASES 8, 9)."""

from dataclasses import replace

import numpy as np
import pytest

from benchtrust.errors import BenchtrustError

torch = pytest.importorskip("torch")

from benchtrust.inference import option_logprobs  # noqa: E402
from benchtrust.inference.tokens import branch, encode, text  # noqa: E402

USER = [{"role": "user", "content": "How far?"}]
SHOTS = [{"role": "user", "content": "Is it?"}, {"role": "assistant", "content": "No"}, *USER]
BOS_IN_TEMPLATE = "<s>{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant] "


def with_tokenizer(tiny, tokenizer, chat: bool = True):
    made = tiny("Llama", chat=chat)
    return replace(made, tokenizer=tokenizer, entry=replace(made.entry, chat=chat))


def bos_count(model, prompt) -> int:
    return encode(model, prompt).count(model.tokenizer.bos_token_id)


# ---------------------------------------------------------------- exactly one BOS


def test_a_template_that_holds_bos_gets_no_second_one(tiny, tokenizer_maker):
    model = with_tokenizer(tiny, tokenizer_maker(BOS_IN_TEMPLATE, bos=True))
    twice = model.tokenizer(text(model, USER)).input_ids
    assert twice.count(model.tokenizer.bos_token_id) == 2
    assert bos_count(model, USER) == 1
    assert encode(model, USER) == tuple(twice[1:])


@pytest.mark.parametrize("prompt", [USER, SHOTS, "How far?", "", "<s>How far?"], ids=repr)
@pytest.mark.parametrize("chat", [True, False])
def test_bos_stands_first_and_once_where_the_tokenizer_wants_one(tiny, tokenizer_maker, prompt, chat):
    model = with_tokenizer(tiny, tokenizer_maker(bos=True), chat=chat)
    ids = encode(model, prompt)
    assert ids[0] == model.tokenizer.bos_token_id
    assert bos_count(model, prompt) == 1


def test_no_bos_is_added_where_the_tokenizer_wants_none(tiny, tokenizer_maker):
    model = with_tokenizer(tiny, tokenizer_maker(bos=False, bos_token="<s>"))
    assert model.tokenizer.bos_token_id is not None
    for prompt in (USER, SHOTS, "How far?"):
        assert bos_count(model, prompt) == 0


def test_an_option_does_not_bring_its_own_bos(tiny):
    model = tiny("Llama", bos=True)
    fork = branch(model, USER, "A mile")
    assert model.tokenizer.bos_token_id not in fork.ids
    assert model.tokenizer.decode(fork.ids) == "A mile"


# ---------------------------------------------------------------- chat and base models


def test_messages_go_through_the_chat_template(tiny):
    model = tiny("Llama")
    assert text(model, SHOTS) == (
        "<|im_start|>user\nIs it?<|im_end|>\n<|im_start|>assistant\nNo<|im_end|>\n"
        "<|im_start|>user\nHow far?<|im_end|>\n<|im_start|>assistant\n"
    )
    start = model.tokenizer.convert_tokens_to_ids("<|im_start|>")
    assert encode(model, SHOTS).count(start) == 4


def test_a_base_model_gets_plain_text_with_an_answer_cue(tiny):
    model = tiny("Llama", chat=False)
    assert text(model, SHOTS) == "Is it?\nAnswer: No\n\nHow far?\nAnswer:"
    assert model.tokenizer.decode(branch(model, SHOTS, "Yes").ids) == " Yes"
    assert option_logprobs(model, [SHOTS], [("Yes",)])[0].bytes == (4,)


def test_a_string_is_taken_as_it_is(tiny):
    for chat in (True, False):
        model = tiny("Llama", chat=chat)
        assert text(model, "How far?") == "How far?"
        assert model.tokenizer.decode(branch(model, "How far?", "Yes").ids) == "Yes"


# ---------------------------------------------------------------- options that merge with their prompt

MERGES = (("Ġ", "C"), (":", "ĠC"), ("e", "r"), ("er", ":"))


@pytest.fixture(scope="module")
def merging(tiny):
    return tiny("Llama", chat=False, merges=MERGES)


def test_the_cut_is_at_the_common_prefix(merging):
    alone = encode(merging, USER)
    plain, merged = branch(merging, USER, "B"), branch(merging, USER, "C")
    assert (plain.start, plain.merged) == (len(alone), False)
    assert merged.start < len(alone)
    assert merged.merged
    for answer, fork in (("B", plain), ("C", merged)):
        joint = merging.tokenizer.encode(text(merging, USER) + f" {answer}", add_special_tokens=False)
        assert [*alone[: fork.start], *fork.ids] == joint


def test_merged_boundaries_are_counted_and_scored_jointly(merging):
    options = ("B", "C", "Cod", "Dab")
    score = option_logprobs(merging, [USER], [options])[0]
    assert score.merged == 2
    alone = list(encode(merging, USER))
    for answer, logprob, count in zip(options, score.logprobs, score.tokens, strict=True):
        joint = merging.tokenizer.encode(text(merging, USER) + f" {answer}", add_special_tokens=False)
        start = next((i for i, (a, b) in enumerate(zip(alone, joint, strict=False)) if a != b), len(alone))
        with torch.no_grad():
            table = merging.network(input_ids=torch.tensor([joint])).logits[0].double().log_softmax(-1)
        expected = sum(float(table[i - 1, joint[i]]) for i in range(start, len(joint)))
        assert count == len(joint) - start
        np.testing.assert_allclose(logprob, expected, atol=1e-4)


def test_merging_options_do_not_disturb_other_prompts_or_options(merging):
    prompts = [SHOTS, USER, [{"role": "user", "content": "A much longer question than the others?"}]]
    options = [("C", "B"), ("B", "Cod"), ("Dab", "C")]
    together = option_logprobs(merging, prompts, options)
    for prompt, answers, score in zip(prompts, options, together, strict=True):
        for answer, logprob in zip(answers, score.logprobs, strict=True):
            alone = option_logprobs(merging, [prompt], [(answer,)])[0].logprobs[0]
            assert logprob == pytest.approx(alone, abs=1e-4)


def test_an_option_that_swallows_the_whole_prompt_needs_a_token_before_it(tiny):
    bare, started = (tiny("Llama", merges=(("A", "B"),), bos=bos) for bos in (False, True))
    with pytest.raises(BenchtrustError, match="No token stands before 'B'"):
        option_logprobs(bare, ["A"], [("B",)])
    assert option_logprobs(started, ["A"], [("B", "x")])[0].merged == 1


def test_an_empty_option_is_refused(merging):
    with pytest.raises(BenchtrustError, match="without text"):
        branch(merging, USER, "")


def test_special_tokens_in_a_prompts_text_are_not_multiplied(tiny):
    model = tiny("Llama")
    assert encode(model, "a</s>b").count(model.tokenizer.eos_token_id) == 1
