"""Log-prob scoring of multi-token options against lm-eval's HFLM: the same network, the same requests."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("lm_eval", reason="lm-eval is missing: pip install --group bench (pip 25.1 or newer)")

from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

from benchtrust.inference import option_logprobs, tokens


@pytest.mark.weights
def test_five_shot_options_are_four_times_cheaper_than_with_lm_eval(model, prompts, cpu_seconds) -> None:
    """HFLM moves white space at a prompt's end into the option; here both sides get it so."""
    rendered = prompts("truthfulqa", shots=5, n=8)
    texts = [tokens.text(model, r.messages) for r in rendered]
    contexts = [text.rstrip() for text in texts]
    options = [
        [text[len(context) :] + option for option in r.candidates]
        for r, text, context in zip(rendered, texts, contexts, strict=True)
    ]
    pairs = [(c, option) for c, own in zip(contexts, options, strict=True) for option in own]
    requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
    peer = HFLM(pretrained=model.network, tokenizer=model.tokenizer, batch_size=16)
    option_logprobs(model, contexts[:1], options[:1])

    ours, scores = cpu_seconds(option_logprobs, model, contexts, options)
    theirs, answers = cpu_seconds(peer.loglikelihood, requests, disable_tqdm=True)

    found = [value for row in scores for value in row.logprobs]
    assert found == pytest.approx([value for value, _ in answers], abs=1e-3)
    print(f"{len(pairs)} options, 5 shots: lm-eval {theirs:.1f} s, here {ours:.1f} s, {theirs / ours:.1f}×")
    assert theirs >= 4 * ours
