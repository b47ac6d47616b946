"""The progress bar of a recording: cells, items, tokens a second, time left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from tqdm import tqdm

from benchtrust.grid.plan import Block


class Progress:
    """Counts answers; a block's answers weigh what its model and answer limit cost."""

    def __init__(self, plan: Sequence[Block], n_items: int, show: bool) -> None:
        self._plan, self._n_items = plan, n_items
        self._done: Counter[Block] = Counter()
        self._tokens, self._started = 0.0, time.perf_counter()
        total = sum(_weight(b) * len(b.configurations) * n_items for b in plan)
        self._bar = tqdm(
            total=total,
            disable=not show,
            bar_format="{percentage:3.0f}% |{bar}| {desc} {postfix} [{elapsed}<{remaining}]",
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def found(self, block: Block, answers: int) -> None:
        """Answers of a block that were there already; they do not count for the time left."""
        if not self._bar.disable:
            self._bar.initial += _weight(block) * answers
        self._count(block, answers)

    def answered(self, block: Block, answers: int, tokens: float) -> None:
        """Answers that were just recorded, and the tokens that the model computed for them."""
        self._tokens += tokens
        self._count(block, answers)

    def _count(self, block: Block, answers: int) -> None:
        self._done[block] += answers
        cells = sum(n // self._n_items for n in self._done.values())
        all_cells = sum(len(b.configurations) for b in self._plan)
        items = sum(n // len(b.configurations) for b, n in self._done.items())
        rate = self._tokens / (time.perf_counter() - self._started)
        self._bar.set_description_str(block.name, refresh=False)
        self._bar.set_postfix_str(
            f"{cells}/{all_cells} cells, {items}/{len(self._plan) * self._n_items} items, {rate:,.0f} tok/s",
            refresh=False,
        )
        self._bar.update(_weight(block) * answers)


def _weight(block: Block) -> float:
    """What an answer of this block costs beside others: weights times tokens, prompt and answer."""
    from benchtrust.inference.catalogue import entry

    free = sum(c.max_new_tokens for c in block.configurations)
    return entry(block.model).parameters * (100 + free) / len(block.configurations)
