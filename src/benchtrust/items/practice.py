"""Our own practice items, in the schema of the benchmarks: they need no download."""

import json
from pathlib import Path

from benchtrust import project
from benchtrust.items.model import Benchmark, Item


def load(benchmark: Benchmark) -> list[Item]:
    """Practice items of a benchmark, its own or its collection's, from `data/items/practice/`.

    Raises
    ------
    DataFileError : the repository has no such file.
    """
    return read(benchmark.name, project.data(f"items/practice/{benchmark.stem}.jsonl"))


def read(benchmark: str, path: Path) -> list[Item]:
    """Items of a benchmark from a file of our own, one JSON object a line."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Item(benchmark, **{**row, "options": tuple(row["options"]), "strata": tuple(row["strata"])})
        for row in rows
    ]
