"""What sharing the prompt saves, as a ratio of CPU seconds in one run."""

import time

import pytest
import torch

from benchtrust import harness, items
from benchtrust.inference import load, option_logprobs, tokens

MODEL = "SmolLM2-135M-Instruct"


def plain(model, prompts, options) -> list[list[float]]:
    """Every option by itself: the whole prompt and the option in one forward pass."""
    out = []
    for prompt, texts in zip(prompts, options, strict=True):
        sums = []
        for text in texts:
            fork = tokens.branch(model, prompt, text)
            ids = tokens.encode(model, prompt)[: fork.start] + fork.ids
            with torch.inference_mode():
                logits = model.network(input_ids=torch.tensor([ids])).logits[0].float().log_softmax(-1)
            sums.append(sum(float(logits[fork.start - 1 + j, token]) for j, token in enumerate(fork.ids)))
        out.append(sums)
    return out


@pytest.mark.weights
def test_five_shot_options_cost_a_quarter_or_less_of_scoring_each_alone() -> None:
    loaded = items.load("truthfulqa", "practice")
    configuration = harness.Configuration("minimal", 5, "none", "logprob")
    rendered = [harness.render(i, configuration, items.exemplars(loaded)) for i in items.subset(loaded, 6)]
    prompts, options = [r.messages for r in rendered], [r.candidates for r in rendered]
    model = load(MODEL)
    option_logprobs(model, prompts[:1], options[:1])
    started = time.process_time()
    shared = option_logprobs(model, prompts, options)
    middle = time.process_time()
    alone = plain(model, prompts, options)
    ratio = (time.process_time() - middle) / (middle - started)
    print(f"one by one / shared = {ratio:.1f} (CPU seconds, {MODEL}, 5 shots)")
    for row, sums in zip(shared, alone, strict=True):
        assert row.logprobs == pytest.approx(sums, abs=1e-3)
    assert ratio >= 4
