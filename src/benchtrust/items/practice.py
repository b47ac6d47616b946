"""Our own practice items, in the schema of the benchmarks: they need no download."""

import json

from benchtrust import project
from benchtrust.items.model import Benchmark, Item


def load(benchmark: Benchmark) -> list[Item]:
    """Practice items of a benchmark, its own or its collection's, from `data/items/practice/`.

    Raises
    ------
    DataFileError : the repository has no such file.
    """
    path = project.data(f"items/practice/{benchmark.stem}.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Item(benchmark.name, **{**row, "options": tuple(row["options"]), "strata": tuple(row["strata"])})
        for row in rows
    ]
