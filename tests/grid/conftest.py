"""A recording with small random models in place of those of the catalogue."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@pytest.fixture(scope="session")
def standing_in(stand_in) -> Callable:
    """Context in which recordings use the random models, in batches of four."""

    @contextmanager
    def context(**config) -> Iterator[pytest.MonkeyPatch]:
        from benchtrust.grid import run

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "_loaded", {})
            patch.setattr(run, "load", lambda name, *_: stand_in(name, **config))
            patch.setattr(run, "reader", lambda name: stand_in(name, **config))
            patch.setattr(run.engine, "BATCH_ROWS", 4)
            yield patch

    return context


@pytest.fixture
def record(standing_in) -> Callable:
    """Run a plan with the random models in batches of four, counting loads and prompts asked."""
    run = pytest.importorskip("benchtrust.grid.run")

    def go(plan, n_items, store, **config) -> dict[str, int]:
        counts = {"loads": 0, "prompts": 0}

        def load(*known):
            counts["loads"] += 1
            return stand_in(*known)

        def answer(model, task):
            counts["prompts"] += len(task.batch)
            return original(model, task)

        original = run.answer
        with standing_in(**config) as patch:
            stand_in = run.load
            patch.setattr(run, "load", load)
            patch.setattr(run, "answer", answer)
            run.run(plan, n_items, store, quantization="none", progress=False)
        return counts

    return go
