"""From an item and a configuration to the exact messages, and to the options as they are scored."""

import hashlib
import re
import string
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchtrust.errors import BenchtrustError, pick
from benchtrust.harness.configurations import Configuration
from benchtrust.items import Item
from benchtrust.items import benchmark as find_benchmark

LETTERS = string.ascii_uppercase
SHUFFLE_SEED = 7
OPENINGS = ("Sure, I can help with that.", "I'm sorry, but I can't help with that.")
PLACEHOLDER = re.compile(r"\{question\}|\{options\}")


@dataclass(frozen=True)
class Rendered:
    """A prompt and what is scored after it.

    Attributes
    ----------
    messages : chat turns, exemplars first; the last one asks for an answer.
    order : shown order of the options, `order[position] = index in item.options`; empty where none are shown.
    candidates : text scored for each option, in the order of `item.options`.
    letters : letter of each option, in the order of `item.options`; empty where none are shown.
    """

    messages: tuple[dict[str, str], ...]
    order: tuple[int, ...]
    candidates: tuple[str, ...]
    letters: tuple[str, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """Option texts in the order shown."""
        return tuple(self.candidates[i] for i in self.order)


@cache
def template(benchmark: str, name: str) -> str:
    """Text of a prompt template, with ``{question}`` and ``{options}`` to fill."""
    path = Path(__file__).parent / "templates" / f"{find_benchmark(benchmark).stem}.toml"
    texts = tomllib.loads(path.read_text(encoding="utf-8"))
    return texts[pick(name, texts, "template")].strip()


def render(
    item: Item,
    configuration: Configuration,
    exemplars: Sequence[Item] = (),
    seed: int = SHUFFLE_SEED,
) -> Rendered:
    """Messages for one item.

    Parameters
    ----------
    item : the item asked.
    configuration : template and shots are used here; decoding and scoring do not change the prompt.
    exemplars : pool to take the first `shots` from; must not hold the item.
    seed : of the order in which options are shown, which depends on (seed, item) alone.

    Raises
    ------
    BenchtrustError : too few exemplars, or the item among them.
    """
    shots = list(exemplars[: configuration.shots])
    if len(shots) < configuration.shots:
        raise BenchtrustError(
            f"{configuration.shots} shots need as many exemplars, but {len(shots)} were given."
        )
    if item.item_id in {shot.item_id for shot in shots}:
        raise BenchtrustError(f"{item.item_id} is asked and shown as an exemplar: its answer would leak.")
    messages: list[dict[str, str]] = []
    for number, shot in enumerate(shots):
        messages.append({"role": "user", "content": _question(shot, configuration.template, seed)})
        messages.append({"role": "assistant", "content": _exemplar_answer(shot, number)})
    messages.append({"role": "user", "content": _question(item, configuration.template, seed)})
    order = _order(item, seed)
    letters = tuple(LETTERS[order.index(i)] for i in range(len(order)))
    return Rendered(tuple(messages), order, candidates(item), letters)


def candidates(item: Item) -> tuple[str, ...]:
    """Text whose log-probability stands for each option: its full text, or XSTest's fixed openings."""
    return OPENINGS if item.benchmark == "xstest" else item.options


def _question(item: Item, name: str, seed: int) -> str:
    shown = "\n".join(f"{LETTERS[p]}. {item.options[i]}" for p, i in enumerate(_order(item, seed)))
    fields = {"{question}": item.question, "{options}": shown}
    return PLACEHOLDER.sub(lambda found: fields[found[0]], template(item.benchmark, name))


def _exemplar_answer(item: Item, number: int) -> str:
    """The right answer's text; for CrowS-Pairs, where none is right, the two sides in turn."""
    if item.benchmark == "crows_pairs":
        return item.options[number % 2]
    return candidates(item)[item.answer]


def _order(item: Item, seed: int) -> tuple[int, ...]:
    if not find_benchmark(item.benchmark).shown:
        return ()
    digest = hashlib.sha256(f"{seed}/{item.benchmark}/{item.item_id}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    return tuple(int(i) for i in rng.permutation(len(item.options)))
