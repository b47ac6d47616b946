"""How near the engine comes to the machine: its operations a CPU-second against plain matrix products."""

import time
from collections import Counter
from dataclasses import replace
from statistics import median

import pytest

pytest.importorskip("torch")

import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from benchtrust.inference import attention, engine
from benchtrust.inference.packed import PackedLinear
from benchtrust.inference.slots import SlotCache

pytestmark = pytest.mark.weights
ROWS, STEPS = 64, 24


class Watch:
    """CPU-seconds by part of the engine, which linear layer met how many rows, and pairs of attention."""

    def __init__(self, model, patch: pytest.MonkeyPatch) -> None:
        self.model, self.patch, self.pairs = model, patch, 0
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[tuple[torch.nn.Module, int]] = Counter()
        head = model.network.get_output_embeddings()

        def linear(layer, x) -> str:
            self.calls[layer, x.numel() // x.shape[-1]] += 1
            return "output layer" if layer is head else "linear layers"

        def masks(_, visible, *rest) -> str:
            self.pairs += int(visible.sum())
            return "masks"

        for kind in (torch.nn.Linear, PackedLinear):
            patch.setattr(kind, "forward", self._timed(kind.forward, linear))
        patch.setattr(engine, "_masks", self._timed(engine._masks, masks))
        patch.setattr(engine, "_choose", self._timed(engine._choose, lambda *_: "choice of tokens"))
        for name in ("take", "rearrange", "update"):
            patch.setattr(SlotCache, name, self._timed(getattr(SlotCache, name), lambda *_: "cache"))
        timed = self._timed(attention.attend, lambda *_: "attention")
        patch.setitem(ALL_ATTENTION_FUNCTIONS, attention.NAME, timed)

    def _timed(self, call, part):
        def timed(*args, **kwargs):
            started = time.process_time()
            result = call(*args, **kwargs)
            spent = time.process_time() - started
            self.seconds[part(*args)] += spent
            return result

        return timed

    @property
    def operations(self) -> tuple[float, float]:
        """Those of the linear layers, and those of the scores and weighted values of attention."""
        config = self.model.network.config
        pairs = self.pairs * config.num_hidden_layers * config.num_attention_heads
        linear = sum(
            times * 2 * n * layer.in_features * layer.out_features for (layer, n), times in self.calls.items()
        )
        return linear, 4 * pairs * config.head_dim

    @torch.inference_mode()
    def products(self) -> float:
        """CPU-seconds of the linear layers' matrix products by themselves."""
        total = 0.0
        for (layer, n), times in self.calls.items():
            x = torch.randn(n, layer.in_features)
            started = time.process_time()
            layer(x)
            total += times * (time.process_time() - started)
        return total


def share(model, name: str, call) -> float:
    """Share of the matrix-product rate that `call` reaches; prints it and where the time goes."""
    with pytest.MonkeyPatch.context() as patch:
        watch = Watch(model, patch)
        started = time.process_time()
        call()
        whole = time.process_time() - started
    times, alone = [], []
    for _ in range(3):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
        alone.append(watch.products())
    linear, attention = watch.operations
    reached, rate = (linear + attention) / median(times), linear / median(alone)
    print(f"{name}: {reached / 1e9:.1f} of {rate / 1e9:.1f} Gflop a CPU-second, {reached / rate:.0%}")
    watch.seconds["everything else"] = whole - watch.seconds.total()
    for part, seconds in watch.seconds.most_common():
        print(f"  {part:17}{seconds:7.2f} s {seconds / whole:5.0%}")
    return reached / rate


def prefill(model, rendered) -> engine.Prefilled:
    """The prompts in one batch, with their options and letters, as a recording has them."""
    options = [(*r.candidates, *r.letters) for r in rendered]
    ((pieces, _),) = engine.blocks(model, [r.messages for r in rendered], options)
    return pieces


def test_prefill_reaches_seventy_percent_of_the_matrix_product_rate(model, prompts) -> None:
    rendered = prompts("truthfulqa", shots=5, n=16)
    assert share(model, "prefill, 16 prompts with 5 shots", lambda: prefill(model, rendered)) >= 0.7


@pytest.mark.parametrize("shots", [0, 5])
def test_decoding_reaches_half_of_the_matrix_product_rate(model, prompts, shots: int) -> None:
    """64 answers that differ from the first token on and never stop."""
    endless = replace(model, stop_ids=frozenset())
    pieces = prefill(model, prompts("truthfulqa", shots=shots, n=16))
    rows, seeds = [i % 16 for i in range(ROWS)], list(range(ROWS))

    def decode():
        return engine.decode(endless, pieces, rows, [5.0] * ROWS, seeds, STEPS)

    assert len({completion.token_ids for completion in decode()}) == ROWS
    assert share(model, f"decoding {ROWS} answers, {shots} shots", decode) >= 0.5
