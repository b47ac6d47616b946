"""Which item a log's question is: joined by what it says, never by its number."""

import hashlib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from benchtrust import items as benchmarks
from benchtrust.items import Item

QUOTES = str.maketrans("‘’‚‛“”„‟‐‑‒–—−", "''''\"\"\"\"------")
BY_OPTIONS = ("bbq", "crows_pairs")
"""Benchmarks in which the question alone does not name the item; the others' options vary with versions."""
KEY_LENGTH = 16


@dataclass(frozen=True)
class Index:
    """Items of one benchmark by the key of their content.

    Attributes
    ----------
    items : key → items with that content, in their order.
    duplicated : ids of items whose content an earlier item has too.
    """

    items: dict[str, tuple[Item, ...]]
    duplicated: tuple[str, ...]


def normal(text: str) -> str:
    """Text as it is compared: composed characters (NFKC), plain quotes and dashes, single spaces."""
    plain = unicodedata.normalize("NFKC", text).translate(QUOTES)
    return re.sub(r"\s+", " ", plain).strip()


def key(benchmark: str | None, question: str, options: Iterable[str] = ()) -> str:
    """Key of an item's content: 16 hexadecimal digits of its SHA-256.

    Parameters
    ----------
    benchmark : one of ours, which says what names an item: the question for TruthfulQA, ToxiGen and XSTest;
        context, question and options for BBQ; the two sentences, as options, for CrowS-Pairs. None for a task
        that is not ours: question and options.
    question : all that stands before the options, as `Item.question` has it.
    options : in any order.
    """
    named = benchmark is None or benchmark in BY_OPTIONS
    content = [normal(question), sorted(map(normal, options)) if named else []]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:KEY_LENGTH]


def item_key(item: Item) -> str:
    """Key of one of our items."""
    return key(item.benchmark, item.question, item.options)


def index(loaded: Iterable[Item]) -> Index:
    """Items by the key of their content, duplicates noted."""
    found: dict[str, list[Item]] = defaultdict(list)
    for item in loaded:
        found[item_key(item)].append(item)
    twice = [item.item_id for same in found.values() for item in same[1:]]
    return Index({name: tuple(same) for name, same in found.items()}, tuple(twice))


def upstream(benchmark: str, source: str = "upstream") -> list[Item]:
    """Items that logs are joined to; for TruthfulQA also those that only its first version (v1) has.

    Raises
    ------
    DataFileError : a file that is neither here nor to be had.
    """
    loaded = benchmarks.load(benchmark, source)
    if benchmark != "truthfulqa" or source != "upstream":
        return loaded
    known = {item_key(item) for item in loaded}
    return loaded + [item for item in benchmarks.load(benchmark, version="v1") if item_key(item) not in known]


def join(keys: Sequence[str], known: Index, within: Sequence[Hashable] | None = None) -> list[Item | None]:
    """The item of each key, or None.

    Where several items have one content, its n-th occurrence is the n-th of them; an occurrence beyond the
    last has none, so that no item is answered twice.

    Parameters
    ----------
    keys : one for each row.
    within : of each row, what repeats the items (metric, sample); None if nothing does.
    """
    seen: dict[Hashable, int] = defaultdict(int)
    joined: list[Item | None] = []
    for name, group in zip(keys, within or [None] * len(keys), strict=True):
        same = known.items.get(name, ())
        place = seen[name, group]
        seen[name, group] += 1
        joined.append(same[place] if place < len(same) else None)
    return joined


def place(text: str, options: Sequence[str]) -> int | None:
    """Index of the one option that a text is, up to case and a full stop at the end; None if not one."""
    wanted = _loose(text)
    hits = [i for i, option in enumerate(options) if _loose(option) == wanted]
    return hits[0] if len(hits) == 1 else None


def _loose(text: str) -> str:
    return normal(text).removesuffix(".").casefold()
