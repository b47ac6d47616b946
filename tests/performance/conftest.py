"""What the speed tests share: a small real model on one thread, prompts of practice items, CPU-seconds."""

import time
from collections.abc import Callable

import pytest

MODEL = "SmolLM2-135M-Instruct"


@pytest.fixture(scope="session")
def model():
    """The smallest instruct model; one thread, so that CPU-seconds count no waiting."""
    torch = pytest.importorskip("torch")
    from benchtrust.inference import load

    torch.set_num_threads(1)
    return load(MODEL, device="cpu")


@pytest.fixture(scope="session")
def prompts() -> Callable:
    """Rendered prompts: ``prompts("truthfulqa", shots=5, n=8)``."""
    from benchtrust import harness, items

    def render(benchmark: str, shots: int, n: int):
        loaded = items.load(benchmark, "practice")
        configuration = harness.Configuration("minimal", shots, "none", "logprob")
        pool = items.exemplars(loaded)
        return [harness.render(item, configuration, pool) for item in items.subset(loaded, n)]

    return render


@pytest.fixture(scope="session")
def cpu_seconds() -> Callable:
    """CPU-seconds of a call and what it returns; other processes disturb them less than the wall clock."""

    def measure(call: Callable, *args, **kwargs):
        started = time.process_time()
        result = call(*args, **kwargs)
        return time.process_time() - started, result

    return measure
