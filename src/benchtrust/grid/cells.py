"""The cells of a block: which exemplars fit the model's context window, and each cell's identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from benchtrust import harness
from benchtrust.grid.plan import Block
from benchtrust.harness import Configuration, Rendered
from benchtrust.inference.model import Model, Reader
from benchtrust.inference.tokens import encode
from benchtrust.items import Item

LONGEST = 32
ANSWER_ROOM = 128


@dataclass(frozen=True)
class Cell:
    """A configuration as it is run: `shots_used` exemplars fit, `definition` is hashed to `cell_id`."""

    configuration: Configuration
    shots_used: int
    cell_id: str
    definition: dict = field(hash=False, compare=False)


def cells(
    block: Block, model: Model | Reader, quantization: str, loaded: Sequence[Item], exemplars: Sequence[Item]
) -> list[Cell]:
    """Cells of a block, one a configuration.

    Parameters
    ----------
    loaded : all items of the benchmark: how many exemplars fit is decided once, for the longest of them, so
        that a cell is the same whichever items are asked.
    exemplars : the pool.
    """
    used = fitting_shots(model, block.configurations[0], loaded, exemplars)
    made = []
    for c in block.configurations:
        definition = harness.definition(
            block.benchmark, model.name, model.entry.source, quantization, c, exemplars[:used]
        )
        made.append(Cell(c, used, harness.cell_id(definition), definition))
    return made


def fitting_shots(
    model: Model | Reader, configuration: Configuration, loaded: Sequence[Item], exemplars: Sequence[Item]
) -> int:
    """Largest number of exemplars with which the benchmark's longest prompts and answers fit the window."""
    pool = {item.item_id for item in exemplars}
    asked = [item for item in loaded if item.item_id not in pool]
    longest = sorted(asked, key=_size, reverse=True)[:LONGEST]
    room = _room(model, [text for item in longest for text in harness.candidates(item)])
    for used in range(configuration.shots, 0, -1):
        prompts = [harness.render(i, replace(configuration, shots=used), exemplars).messages for i in longest]
        if max(len(encode(model, prompt)) for prompt in prompts) + room <= model.context_window:
            return used
    return 0


def fits(model: Model | Reader, rendered: Rendered) -> bool:
    """Whether a prompt and the longest answer to it fit the window, by the rule of `fitting_shots`."""
    room = _room(model, rendered.candidates)
    return len(encode(model, rendered.messages)) + room <= model.context_window


def _room(model: Model | Reader, candidates: Sequence[str]) -> int:
    """Tokens to leave for an answer: the longest of the candidates, or what a free-form one may take."""
    return max([ANSWER_ROOM, *(len(model.tokenizer(text).input_ids) for text in candidates)])


def _size(item: Item) -> tuple[int, str]:
    return len(item.question) + sum(map(len, item.options)), item.item_id
