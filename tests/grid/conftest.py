"""A recording with small random models in place of those of the catalogue."""

from collections.abc import Callable
from dataclasses import replace

import pytest


@pytest.fixture(scope="module", autouse=True)
def short_answers():
    """Answers of four tokens, since a byte of text is a token here."""
    from benchtrust.harness import Configuration

    with pytest.MonkeyPatch.context() as patch:
        limit = property(lambda self: 0 if self.scoring == "logprob" else 4)
        patch.setattr(Configuration, "max_new_tokens", limit)
        yield


@pytest.fixture(scope="session")
def stand_in(tiny) -> Callable:
    """Random model under a catalogue name; ``stand_in("gemma-3-270m", max_position_embeddings=900)``."""
    from benchtrust.inference import entry

    def make(name: str = "SmolLM2-135M-Instruct", **config):
        known = entry(name)
        made = tiny(
            "Llama", chat=known.chat, bos=not known.chat, **{"max_position_embeddings": 8192, **config}
        )
        return replace(made, entry=known)

    return make


@pytest.fixture
def record(stand_in, monkeypatch) -> Callable:
    """Run a plan with the random models in batches of four, counting loads and prompts asked."""
    run = pytest.importorskip("benchtrust.grid.run")

    def go(plan, n_items, store, **config) -> dict[str, int]:
        counts = {"loads": 0, "prompts": 0}

        def load(name, quantization, device):
            counts["loads"] += 1
            return stand_in(name, **config)

        def answer(model, block, batch, exemplars):
            counts["prompts"] += len(batch)
            return original(model, block, batch, exemplars)

        original = run.answer
        with monkeypatch.context() as patch:
            patch.setattr(run, "load", load)
            patch.setattr(run, "answer", answer)
            patch.setattr(run.engine, "BATCH_ROWS", 4)
            run.run(plan, n_items, store, quantization="none", progress=False)
        return counts

    return go
