"""The engine against plain one-by-one scoring and transformers' own generation, on small random models."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from benchtrust.errors import BenchtrustError, UnknownNameError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from benchtrust.inference import engine, generate, option_logprobs  # noqa: E402
from benchtrust.inference.tokens import ContextOverflowError, branch, encode, text  # noqa: E402

KINDS = ["Llama", "Qwen2", "Gemma3", "Mistral"]
LONG = "A sailor asked the harbour master how long the tide would hold, and the answer was not a short one. "
PROMPTS = [
    "Hi?",
    "How far is it to the harbour?",
    LONG,
    "Why?\n" + LONG * 2 + "So?",
    "12",
    LONG + "And then?",
]
OPTIONS = [
    ("A", "B", "C", "yes"),
    ("x", "It is a mile.", "abcdefghijklmnopqrst"),
    ("No", "No, it is not"),
    ("Sure, I can help.", "I'm sorry, no.", "A", "B"),
    ("é", "naïve ☂", "z"),
    ("twenty characters!!!", "y"),
]
SHARED = "You are a careful reader. Take the question literally.\n\nQuestion: "


@pytest.fixture(scope="module", params=KINDS)
def model(request, tiny):
    return tiny(request.param, chat=request.param != "Gemma3", bos=request.param in ("Gemma3", "Mistral"))


@pytest.fixture(scope="module")
def llama(tiny):
    return tiny("Llama")


def chat(content: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content}]


@torch.no_grad()
def plain(model, context: str, answer: str) -> tuple[float, int]:
    """Summed log-probability and number of tokens of an answer, one forward pass without cache or mask."""
    bos = [model.tokenizer.bos_token_id] if model.tokenizer.bos_token_id is not None else []
    alone = bos + model.tokenizer.encode(context, add_special_tokens=False)
    joint = bos + model.tokenizer.encode(context + answer, add_special_tokens=False)
    start = next((i for i, (a, b) in enumerate(zip(alone, joint, strict=False)) if a != b), len(alone))
    logprobs = model.network(input_ids=torch.tensor([joint])).logits[0].double().log_softmax(-1)
    return sum(float(logprobs[i - 1, joint[i]]) for i in range(start, len(joint))), len(joint) - start


def assert_same_as_plain(model, prompts, options, **plan) -> None:
    scores = option_logprobs(model, prompts, options, **plan)
    space = "" if model.entry.chat or isinstance(prompts[0], str) else " "
    for prompt, answers, score in zip(prompts, options, scores, strict=True):
        expected = [plain(model, text(model, prompt), space + answer) for answer in answers]
        np.testing.assert_allclose(score.logprobs, [e for e, _ in expected], atol=1e-4, rtol=0)
        assert score.tokens == tuple(n for _, n in expected)
        assert score.bytes == tuple(len((space + answer).encode()) for answer in answers)


# ---------------------------------------------------------------- log-probabilities of options


def test_options_against_plain_scoring(model):
    assert_same_as_plain(model, [chat(p) for p in PROMPTS], OPTIONS)


def test_plain_strings_against_plain_scoring(model):
    assert_same_as_plain(model, PROMPTS, OPTIONS)


def test_options_behind_a_shared_prefix_against_plain_scoring(model):
    assert_same_as_plain(model, [chat(SHARED + p) for p in PROMPTS], OPTIONS)


def test_options_behind_exemplars_against_plain_scoring(model):
    shots = [*chat("Is it far?"), {"role": "assistant", "content": "No"}] * 3
    prompts = [[*shots, *chat(p)] for p in PROMPTS]
    assert_same_as_plain(model, prompts, [("A", "No", "Yes, it is far from here")] * len(prompts))


def test_one_prompt_that_is_all_prefix_of_another(model):
    assert_same_as_plain(
        model, [LONG, LONG + "more", LONG + "more and more"], [("A", " b c"), ("x",), ("yz",)]
    )


def test_options_of_every_length(model):
    options = [tuple("abcdefghijklmnopqrst"[:n] for n in range(1, 21))]
    assert_same_as_plain(model, [chat(LONG)], options)


def test_a_window_is_shorter_than_the_prompts(tiny):
    for kind in ("Gemma3", "Mistral"):
        made = tiny(kind)
        assert made.network.config.sliding_window < len(encode(made, chat(LONG)))
        wide = tiny(kind, sliding_window=2048)
        narrow, open_ = (option_logprobs(m, [LONG], [("a",)])[0].logprobs[0] for m in (made, wide))
        assert abs(narrow - open_) > 1e-2


@pytest.mark.parametrize("rows", [1, 2, 5, 32])
def test_batch_size_does_not_matter(model, rows):
    assert_same_as_plain(model, [chat(p) for p in PROMPTS], OPTIONS, batch_rows=rows)


@pytest.mark.parametrize("tokens", [1, 300, 10**6])
def test_size_of_pieces_does_not_matter(model, monkeypatch, tokens):
    monkeypatch.setattr(engine, "PIECE_TOKENS", tokens)
    assert_same_as_plain(model, [chat(SHARED + p) for p in PROMPTS], OPTIONS)


@pytest.mark.parametrize("rows", [1, 3])
def test_size_of_the_output_layers_chunks_does_not_matter(model, monkeypatch, rows):
    monkeypatch.setattr(engine, "HEAD_ROWS", rows)
    assert_same_as_plain(model, [chat(p) for p in PROMPTS], OPTIONS)


def test_order_and_neighbours_do_not_matter(model):
    prompts = [chat(SHARED + p) for p in PROMPTS]
    together = [s.logprobs for s in option_logprobs(model, prompts, OPTIONS)]
    backwards = [s.logprobs for s in option_logprobs(model, prompts[::-1], OPTIONS[::-1])][::-1]
    alone = [option_logprobs(model, [p], [o])[0].logprobs for p, o in zip(prompts, OPTIONS, strict=True)]
    for a, b, c in zip(together, backwards, alone, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4, rtol=0)
        np.testing.assert_allclose(a, c, atol=1e-4, rtol=0)


def test_an_option_does_not_see_its_neighbours(model):
    prompt = chat(LONG)
    alone = option_logprobs(model, [prompt], [("It is far",)])[0].logprobs[0]
    others = ("It is far from here", "B", "It is far", "It is", "☂☂☂")
    assert option_logprobs(model, [prompt], [others])[0].logprobs[2] == pytest.approx(alone, abs=1e-4)


def test_a_rerun_is_bit_identical(model):
    prompts = [chat(p) for p in PROMPTS]
    assert option_logprobs(model, prompts, OPTIONS) == option_logprobs(model, prompts, OPTIONS)


def test_equal_prompts_and_equal_options_have_equal_scores(model):
    one, two = option_logprobs(model, [chat("Hi"), chat("Hi")], [("A", "A"), ("A", "A")])
    assert len({*one.logprobs, *two.logprobs}) == 1


def test_the_shared_prefix_is_held_once(model, monkeypatch):
    monkeypatch.setattr(engine, "PIECE_TOKENS", 100)
    ((pieces, _),) = engine.blocks(model, [chat(SHARED + p) for p in PROMPTS], OPTIONS)
    assert len(pieces) > 1
    (prefix,) = {id(piece.prefix): piece.prefix for piece in pieces}.values()
    assert len(prefix.layers[0].keys) == 1
    assert prefix.length >= len(SHARED)
    for piece in pieces:
        assert prefix.length + piece.cache.length == piece.seen.shape[1]


def test_nothing_is_recorded_for_gradients(model):
    assert not any(p.requires_grad for p in model.network.parameters())
    for pieces, _ in engine.blocks(model, [chat("Hi")], [("A",)]):
        assert not any(piece.last_hidden.requires_grad for piece in pieces)
        assert not any(layer.keys.requires_grad for piece in pieces for layer in piece.cache.layers)


def test_prompts_without_options_and_no_prompts_at_all(model):
    scores = option_logprobs(model, [chat("Hi"), chat("Ho")], [(), ("A",)])
    assert scores[0].logprobs == scores[0].tokens == ()
    assert len(scores[1].logprobs) == 1
    assert option_logprobs(model, [], []) == []
    assert generate(model, [], "greedy", [], 4) == []


def test_numbers_that_do_not_fit_are_refused(llama):
    with pytest.raises(BenchtrustError, match="2 prompts but 1 lists of options"):
        option_logprobs(llama, ["a", "b"], [("A",)])
    with pytest.raises(BenchtrustError, match="2 prompts but 1 seeds"):
        generate(llama, ["a", "b"], "t0.7", [1], 4)


@pytest.mark.parametrize("answers", [1, 3])
def test_the_distribution_is_the_mean_over_the_positions_of_the_best_answer(model, monkeypatch, answers):
    monkeypatch.setattr(engine, "TOP_TOKENS", 20)
    monkeypatch.setattr(engine, "HEAD_ROWS", 3)
    prompts, options = [chat(p) for p in PROMPTS], OPTIONS
    counts = [min(answers, len(row)) for row in options]
    found = [s for _, scores in engine.blocks(model, prompts, options, answers=counts) for s in scores]
    for prompt, row, n, scores in zip(prompts, options, counts, found, strict=True):
        best = int(np.argmax(scores.logprobs[:n]))
        fork = branch(model, prompt, row[best])
        ids = encode(model, prompt)[: fork.start] + fork.ids
        with torch.no_grad():
            logits = model.network(input_ids=torch.tensor([ids])).logits[0].double()
        mean = logits[fork.start - 1 : -1].softmax(-1).mean(0)
        kept = scores.distribution
        assert kept.positions == len(fork.ids)
        assert len(kept.token_ids) == 20
        assert kept.probabilities == pytest.approx(mean[list(kept.token_ids)].tolist(), abs=1e-5)
        assert kept.rest == pytest.approx(1 - float(mean.topk(20).values.sum()), abs=1e-5)
        assert min(kept.probabilities) >= np.delete(mean.numpy(), kept.token_ids).max() - 1e-6


def test_an_option_without_text_is_refused(llama):
    with pytest.raises(BenchtrustError, match="without text"):
        option_logprobs(llama, ["Hi"], [("A", "")])


def test_an_empty_prompt_is_refused_unless_bos_stands_before_it(llama, tiny):
    with pytest.raises(BenchtrustError, match="empty prompt"):
        option_logprobs(llama, [""], [("A",)])
    assert_same_as_plain(tiny("Llama", bos=True), [""], [("A", "B or C")])


# ---------------------------------------------------------------- greedy


def as_transformers_would(model, prompt, length: int, penalty: float = 1.0) -> list[int]:
    """Greedy tokens by transformers with every setting that could change them set."""
    ids = torch.tensor([encode(model, prompt)])
    settings = transformers.GenerationConfig(
        do_sample=False,
        num_beams=1,
        repetition_penalty=penalty,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        max_new_tokens=length,
        eos_token_id=sorted(model.stop_ids),
        pad_token_id=0,
    )
    shipped, model.network.generation_config = model.network.generation_config, settings
    try:
        out = model.network.generate(ids, attention_mask=torch.ones_like(ids), generation_config=settings)
    finally:
        model.network.generation_config = shipped
    return out[0, ids.shape[1] :].tolist()


def until_stop(tokens: list[int], stops) -> list[int]:
    end = next((i for i, token in enumerate(tokens) if token in stops), len(tokens))
    return tokens[:end]


def test_greedy_is_greedy_whatever_the_model_ships_with(model):
    assert model.network.generation_config.do_sample
    assert model.network.generation_config.repetition_penalty == 1.3
    prompts = [chat(p) for p in PROMPTS]
    answers = generate(model, prompts, "greedy", [0] * len(prompts), 20)
    differs = False
    for prompt, answer in zip(prompts, answers, strict=True):
        expected = as_transformers_would(model, prompt, 20)
        assert list(answer.token_ids) == until_stop(expected, model.stop_ids)
        assert answer.text == model.tokenizer.decode(answer.token_ids, skip_special_tokens=True)
        assert answer.near_ties == 0
        differs |= as_transformers_would(model, prompt, 20, penalty=1.3) != expected
    assert differs


def test_greedy_needs_no_seed_and_does_not_depend_on_the_batch(model):
    prompts = [chat(SHARED + p) for p in PROMPTS]
    one = generate(model, prompts, "greedy", range(6), 12)
    two = generate(model, prompts[::-1], "greedy", [9] * 6, 12, batch_rows=2)[::-1]
    three = [generate(model, [p], "greedy", [4], 12)[0] for p in prompts]
    assert [a.token_ids for a in one] == [a.token_ids for a in two] == [a.token_ids for a in three]


def test_a_longer_limit_only_adds_tokens(llama):
    short, long_ = (generate(llama, [LONG], "greedy", [0], n)[0].token_ids for n in (5, 15))
    assert long_[: len(short)] == short


# ---------------------------------------------------------------- stop tokens


@pytest.fixture
def forced(tiny):
    """Maker of a model that always says one token; with that token's id."""

    def make(token: str):
        made = tiny("Llama", seed=3)
        identifier = made.tokenizer.convert_tokens_to_ids(token)
        head = made.network.get_output_embeddings()
        head.bias = torch.nn.Parameter(torch.zeros(head.weight.shape[0]), requires_grad=False)
        head.bias[identifier] = 1e6
        return made, identifier

    return make


@pytest.mark.parametrize("token", ["</s>", "<|im_end|>"])
def test_the_first_stop_token_ends_the_answer_and_is_not_part_of_it(forced, token):
    made, identifier = forced(token)
    assert identifier in made.stop_ids
    for decoding in ("greedy", "t0.3", "t0.7"):
        answer = generate(made, ["Hi"], decoding, [1], 9)[0]
        assert (answer.text, answer.token_ids, answer.stopped) == ("", (), True)


def test_a_limit_cuts_an_answer_and_says_so(forced):
    answer = generate(forced("q")[0], ["Hi"], "greedy", [1], 5)[0]
    assert (answer.text, answer.stopped) == ("qqqqq", False)


def test_stop_tokens_are_the_union_of_all_that_name_one(tiny):
    made = tiny("Llama")
    named = {made.tokenizer.convert_tokens_to_ids(t) for t in ("</s>", "<|im_end|>")}
    shipped = set(made.network.generation_config.eos_token_id)
    configured = made.network.config.eos_token_id
    configured = set(configured if isinstance(configured, list) else [configured]) - {None}
    assert shipped == {3, 5}
    assert made.stop_ids == named | shipped | configured


def test_rows_that_stop_early_leave_the_others_as_they_were(llama):
    stops = 0
    seeds = list(range(40))
    together = generate(llama, [LONG] * 40, "t0.7", seeds, 24)
    for seed, answer in zip(seeds, together, strict=True):
        stops += answer.stopped
        if seed % 8 == 0 or answer.stopped:
            assert generate(llama, [LONG], "t0.7", [seed], 24)[0].token_ids == answer.token_ids
    assert 0 < stops < 40


# ---------------------------------------------------------------- sampling


def test_one_seed_is_identical_and_another_is_not(model):
    one, two, three = (generate(model, [LONG], "t0.7", [seed], 20)[0] for seed in (1, 1, 2))
    assert one == two
    assert one.token_ids != three.token_ids


def test_a_sample_does_not_depend_on_its_neighbours(model):
    prompts = [chat(p) for p in PROMPTS]
    seeds = [11, 12, 13, 14, 15, 16]
    one = generate(model, prompts, "t0.3", seeds, 10)
    two = generate(model, prompts[::-1], "t0.3", seeds[::-1], 10, batch_rows=4)[::-1]
    three = [generate(model, [p], "t0.3", [s], 10)[0] for p, s in zip(prompts, seeds, strict=True)]
    assert [a.token_ids for a in one] == [a.token_ids for a in two] == [a.token_ids for a in three]


def test_rows_may_be_continued_several_times_under_different_settings(model):
    prompts = [chat(p) for p in PROMPTS]
    (pieces, _), *rest = engine.blocks(model, prompts, [("A", "B")] * 6)
    assert not rest
    rows, heat, seeds = [5, 0, 5, 3, 5, 0], [0.0, 0.3, 0.7, 0.0, 0.0, 0.3], [1, 2, 3, 4, 5, 2]
    mixed = engine.decode(model, pieces, rows, heat, seeds, 8)
    names = {0.0: "greedy", 0.3: "t0.3", 0.7: "t0.7"}
    for row, temperature, seed, answer in zip(rows, heat, seeds, mixed, strict=True):
        alone = generate(model, [prompts[row]], names[temperature], [seed], 8)[0]
        assert answer.token_ids == alone.token_ids
    assert mixed[0].token_ids == mixed[4].token_ids
    assert mixed[1].token_ids == mixed[5].token_ids


def test_answers_share_a_row_until_they_part(model, monkeypatch):
    sizes, plain = [], engine._forward

    def counted(*arguments):
        sizes.append(arguments[1].shape)
        return plain(*arguments)

    (pieces, _), *_ = engine.blocks(model, [chat(PROMPTS[0])], [()])
    monkeypatch.setattr(engine, "_forward", counted)
    answers = engine.decode(model, pieces, [0] * 6, [0.0, 0.0, 0.7, 0.7, 0.7, 0.3], [1, 2, 3, 3, 4, 5], 8)
    for step, shape in enumerate(sizes, start=1):
        going_on = {a.token_ids[:step] for a in answers if len(a.token_ids) >= step}
        assert shape == (len(going_on), 1)
    assert answers[0].token_ids == answers[1].token_ids
    assert answers[2] == answers[3]
    assert 1 < max(rows for rows, _ in sizes) < 6


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_paths_take_places_without_overwriting_what_another_needs(parents):
    order, sources = engine._places(parents)
    assert sorted(order) == list(range(len(parents)))
    assert sources == [parents[path] for path in order]
    rows = list("abcdef") + [""] * 12
    moved = [(place, source) for place, source in enumerate(sources) if place != source]
    taken = [rows[source] for _, source in moved]
    for (place, _), value in zip(moved, taken, strict=True):
        rows[place] = value
    assert rows[: len(order)] == ["abcdef"[source] for source in sources]
    stay = {place for place, source in enumerate(sources) if place == source}
    assert stay == {parent for parent in parents if parent < len(parents)}


@pytest.mark.parametrize(("decoding", "temperature"), [("t0.3", 0.3), ("t0.7", 0.7)])
def test_frequencies_of_first_tokens_follow_the_tempered_softmax(tiny, decoding, temperature):
    soft = tiny("Llama", seed=5, initializer_range=0.15)
    draws = 4000
    (pieces, _), *_ = engine.blocks(soft, [LONG], [()])
    sampled = engine.decode(soft, pieces, [0] * draws, [temperature] * draws, range(draws), 1)
    counts = Counter(answer.token_ids for answer in sampled)
    with torch.no_grad():
        logits = soft.network(input_ids=torch.tensor([encode(soft, LONG)])).logits[0, -1].double()

    def p_value(heat: float) -> float:
        expected = (logits / heat).softmax(-1).numpy() * draws
        stops = sum(expected[i] for i in soft.stop_ids)
        common = [i for i in np.flatnonzero(expected >= 8) if i not in soft.stop_ids]
        seen = [counts[(int(i),)] for i in common]
        wanted = [expected[i] for i in common]
        rest = (draws - sum(seen), draws - sum(wanted))
        assert len(common) > 5
        assert stops < draws
        return chisquare([*seen, rest[0]], [*wanted, rest[1]]).pvalue

    assert p_value(temperature) > 1e-3
    assert p_value(temperature * 1.25) < 1e-6
    assert generate(soft, [LONG], decoding, [7], 1)[0] == sampled[7]


def test_an_unknown_decoding_lists_the_nearest(llama):
    with pytest.raises(UnknownNameError, match=r"Did you mean t0\.7"):
        generate(llama, ["Hi"], "t0.77", [1], 4)


# ---------------------------------------------------------------- near ties


def test_exact_ties_are_counted(tiny):
    flat = tiny("Llama", seed=9)
    flat.network.get_output_embeddings().weight.zero_()
    answer = generate(flat, ["Hi"], "greedy", [1], 6)[0]
    assert answer.near_ties == 6
    assert list(answer.token_ids) == as_transformers_would(flat, "Hi", 6) == [0] * 6


def test_a_tie_between_two_tokens_goes_to_the_first(tiny):
    made = tiny("Llama", seed=9)
    weight = made.network.get_output_embeddings().weight
    likely = generate(made, ["Hi"], "greedy", [1], 1)[0].token_ids[0]
    others = [token for token in (40, 200) if token != likely]
    weight[others] = weight[likely].clone()
    first = min(likely, *others)
    for count in (1, 7):
        answers = generate(made, ["Hi"] * count, "greedy", [1] * count, 1)
        assert {answer.token_ids for answer in answers} == {(first,)}
        assert all(answer.near_ties == 1 for answer in answers)


def test_a_clear_choice_is_no_tie(forced):
    assert generate(forced("q")[0], ["Hi"], "greedy", [1], 6)[0].near_ties == 0


def test_draws_close_to_a_boundary_are_counted(tiny):
    """Two tokens share all probability, half each: a draw is near when it is near one half, zero or one."""
    made = tiny("Llama", seed=9)
    head = made.network.get_output_embeddings()
    head.weight.zero_()
    head.bias = torch.nn.Parameter(torch.full((head.weight.shape[0],), -1e4), requires_grad=False)
    head.bias[[40, 41]] = 0.0
    (pieces, _), *_ = engine.blocks(made, ["Hi"], [()])
    answers = engine.decode(made, pieces, [0] * 3000, [0.7] * 3000, range(3000), 1)
    draws = [np.random.Generator(np.random.Philox(key=seed)).random(1)[0] for seed in range(3000)]
    for answer, draw in zip(answers, draws, strict=True):
        assert answer.token_ids == ((40,) if draw <= 0.5 else (41,))
        distance = min(abs(draw - 0.5), draw, 1 - draw)
        assert answer.near_ties == (distance < 1e-3)
    assert 0 < sum(answer.near_ties for answer in answers) < 40


# ---------------------------------------------------------------- the context window


def test_what_does_not_fit_is_refused_and_never_cut(tiny):
    small = tiny("Llama", max_position_embeddings=40)
    assert small.context_window == 40
    fits = "x" * 36
    assert option_logprobs(small, [fits], [("abcd",)])
    assert len(generate(small, [fits], "greedy", [0], 4)) == 1
    with pytest.raises(ContextOverflowError, match="41 tokens do not fit tiny-Llama's context window of 40"):
        option_logprobs(small, [fits], [("abcde",)])
    with pytest.raises(ContextOverflowError, match="41 tokens"):
        generate(small, [fits], "greedy", [0], 5)
    with pytest.raises(ContextOverflowError, match="Use fewer exemplars"):
        option_logprobs(small, ["x" * 41], [()])
