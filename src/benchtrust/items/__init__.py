"""Benchmarks as items: five on safety and six choice sets, one of them our own; and practice items."""

import hashlib
from collections.abc import Iterable

from benchtrust.errors import pick
from benchtrust.items import (
    bbq,
    choice_sets,
    crows_pairs,
    practice,
    redundant_qa,
    toxigen,
    truthfulqa,
    xstest,
)
from benchtrust.items.model import Benchmark, Item
from benchtrust.items.subset import exemplars, permutation, subset

SOURCES = ("upstream", "practice")
"""Where items are from: pinned files, or our own."""

BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK for module in (truthfulqa, bbq, toxigen, crows_pairs, xstest)
}
"""The five safety benchmarks, over which the harness is varied."""

CHOICE_SETS: dict[str, Benchmark] = {
    bench.name: bench for bench in (*choice_sets.BENCHMARKS, redundant_qa.BENCHMARK)
}
"""Six multiple-choice sets, no safety benchmarks, for the uniformity part; one configuration each.

The last, RedundantQA, is our own; the others come from pinned files.
"""

__all__ = [
    "BENCHMARKS",
    "CHOICE_SETS",
    "Benchmark",
    "Item",
    "benchmark",
    "exemplars",
    "item_set_hash",
    "load",
    "permutation",
    "subset",
    "titles",
]


def benchmark(name: str) -> Benchmark:
    """The benchmark or choice set of that name; an unknown one lists the nearest."""
    known = BENCHMARKS | CHOICE_SETS
    return known[pick(name, known, "benchmark")]


def titles(names: Iterable[str]) -> dict[str, str]:
    """Titles in print of benchmarks by their names; one that is not ours bears its name."""
    known = BENCHMARKS | CHOICE_SETS
    return {name: known[name].title if name in known else name for name in names}


def load(name: str, source: str = "upstream", **options: str) -> list[Item]:
    """Items of a benchmark in the file's order: pinned (``"upstream"``) or our own (``"practice"``)."""
    chosen = benchmark(name)
    if pick(source, SOURCES, "item source") == "practice":
        return practice.load(chosen)
    return chosen.load(**options)


def item_set_hash(items: Iterable[Item]) -> str:
    """Hash of a set of items, whatever their order."""
    return hashlib.sha256("".join(sorted(item.sha256 for item in items)).encode()).hexdigest()
