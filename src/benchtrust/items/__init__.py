"""Benchmarks as items: five safety benchmarks from pinned files, and practice items of our own."""

import hashlib
from collections.abc import Iterable

from benchtrust.errors import pick
from benchtrust.items import bbq, crows_pairs, practice, toxigen, truthfulqa, xstest
from benchtrust.items.model import Benchmark, Item
from benchtrust.items.subset import exemplars, permutation, subset

BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK for module in (truthfulqa, bbq, toxigen, crows_pairs, xstest)
}

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Item",
    "benchmark",
    "exemplars",
    "item_set_hash",
    "load",
    "permutation",
    "subset",
]


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name; an unknown one lists the nearest."""
    return BENCHMARKS[pick(name, BENCHMARKS, "benchmark")]


def load(name: str, source: str = "upstream", **options: str) -> list[Item]:
    """Items of a benchmark in the file's order: pinned (``"upstream"``) or our own (``"practice"``)."""
    chosen = benchmark(name)
    if pick(source, ("upstream", "practice"), "item source") == "practice":
        return practice.load(chosen.name)
    return chosen.load(**options)


def item_set_hash(items: Iterable[Item]) -> str:
    """Hash of a set of items, whatever their order."""
    return hashlib.sha256("".join(sorted(item.sha256 for item in items)).encode()).hexdigest()
