"""What a recording will cost: tokens counted on a sample of items, seconds from matrix products."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchtrust import harness
from benchtrust.grid.plan import Block, asked
from benchtrust.inference import BATCH_ROWS, weights
from benchtrust.items import Item

SAMPLE = 8
BYTES_PER_TOKEN = 4
EFFICIENCY = 0.5

Encode = Callable[[Sequence[dict[str, str]], str], Sequence[object]]


@dataclass(frozen=True)
class Work:
    """Work of a block: prompts to read and the tokens in them, and the most tokens that answers may have.

    A few-shot prefix that all prompts share counts once a batch, options count with their prompts.
    """

    cells: int
    prompts: int
    prompt_tokens: int
    answer_tokens: int

    @property
    def tokens(self) -> int:
        """Tokens that go through the network, at most."""
        return self.prompt_tokens + self.answer_tokens

    def __add__(self, other: Work) -> Work:
        return Work(
            self.cells + other.cells,
            self.prompts + other.prompts,
            self.prompt_tokens + other.prompt_tokens,
            self.answer_tokens + other.answer_tokens,
        )


def work(block: Block, n_items: int, loaded: Sequence[Item], encode: Encode) -> Work:
    """Work of a block for `n_items` items, from the mean over the first few of them."""
    exemplars, chosen = asked(block, n_items, loaded)
    sample = chosen[:SAMPLE]
    rendered = [harness.render(item, block.configurations[0], exemplars) for item in sample]
    scored = any(c.scoring == "logprob" for c in block.configurations)
    prompts = [encode(r.messages, "") for r in rendered]
    prefix = _common(prompts) if len(prompts) > 1 else 0
    options = [
        sum(len(encode((), text)) for text in (*r.candidates, *r.letters)) if scored else 0 for r in rendered
    ]
    own = [len(p) - prefix + o for p, o in zip(prompts, options, strict=True)]
    limits = sum(c.max_new_tokens for c in block.configurations)
    read = n_items * float(np.mean(own)) + -(-n_items // BATCH_ROWS) * prefix if sample else 0.0
    return Work(len(block.configurations), n_items, round(read), n_items * limits)


def encoder(model: str) -> Encode:
    """Token counter of a model: its tokenizer where its weights are in the cache, else four bytes a token."""
    if not weights.have(model):
        return lambda messages, text: range(
            sum(len(m["content"].encode()) for m in messages) // BYTES_PER_TOKEN
            + -(-len(text.encode()) // BYTES_PER_TOKEN)
        )
    from benchtrust.inference.model import reader
    from benchtrust.inference.tokens import encode

    known = reader(model)
    return lambda messages, text: encode(known, messages or text)


def seconds(tokens: int, billions: float, rate: float) -> float:
    """Seconds for that many tokens through that many billion weights, at half of `rate` FLOP/s."""
    return 2e9 * billions * tokens / (rate * EFFICIENCY)


def matrix_rate(size: int = 1024, repeats: int = 8) -> float:
    """Single-precision FLOP/s of a matrix product on this machine, now."""
    a = np.ones((size, size), np.float32)
    a @ a
    started = time.perf_counter()
    for _ in range(repeats):
        a @ a
    return 2.0 * size**3 * repeats / (time.perf_counter() - started)


def _common(prompts: Sequence[Sequence[object]]) -> int:
    """Length of the prefix that all have in common, short of the shortest."""
    shortest = min(map(len, prompts))
    first = prompts[0]
    same = (i for i in range(shortest) if any(p[i] != first[i] for p in prompts))
    return next(same, shortest - 1)
