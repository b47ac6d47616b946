"""The store: one folder a block, one Parquet file a batch, written beside and moved into place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from benchtrust import responses

if TYPE_CHECKING:
    from benchtrust.grid.plan import Block
    from benchtrust.harness import Configuration
    from benchtrust.items import Item


NO_COST = {"cpu_s": float("nan"), "wall_s": float("nan")}


def label(model: str, quantization: str) -> str:
    """Name of a model in response tables: the catalogue's, with the quantisation where it is not NF4."""
    return model if quantization == "nf4" else f"{model} ({quantization})"


def folder(store: Path, block: Block, quantization: str = "nf4") -> Path:
    """Folder of a block's batches."""
    return store / label(block.model, quantization) / block.benchmark / block.prompt


def part_path(store: Path, block: Block, batch: Sequence[Item], quantization: str = "nf4") -> Path:
    """File of a batch; its name depends on the block's configurations and the items."""
    what = json.dumps([[str(c) for c in block.configurations], [item.item_id for item in batch]])
    name = hashlib.sha256(what.encode()).hexdigest()[:16]
    return folder(store, block, quantization) / f"{name}.parquet"


def write_part(frame: pd.DataFrame, path: Path, spent: dict[str, float]) -> None:
    """Write a batch, and beside it what it cost in CPU and wall seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(spent), encoding="utf-8")
    responses.write(frame, path)


def missing(
    store: Path, block: Block, chosen: Sequence[Item], quantization: str = "nf4"
) -> list[tuple[Block, list[Item]]]:
    """What is still to be asked: the block, cut to the configurations without an answer, and their items."""
    files = sorted(folder(store, block, quantization).glob("*.parquet"))
    have: dict[str, set[tuple]] = {}
    for row in responses.read(files).itertuples() if files else ():
        key = row.template, row.shots, row.decoding, row.scoring
        have.setdefault(row.item_id, set()).add(key)
    groups: dict[tuple[Configuration, ...], list[Item]] = {}
    for item in chosen:
        cells = have.get(item.item_id, set())
        if lacking := tuple(c for c in block.configurations if astuple(c) not in cells):
            groups.setdefault(lacking, []).append(item)
    return [(replace(block, configurations=cells), items) for cells, items in groups.items()]


def cost(store: Path) -> pd.DataFrame:
    """CPU and wall seconds by model and benchmark, with the number of answers; NaN where not noted."""
    rows = []
    for answers in sorted(store.glob("*/*/*/*.parquet")):
        file = answers.with_suffix(".json")
        model, benchmark, block = file.parts[-4:-1]
        n = len(pd.read_parquet(answers, columns=["item_id"]))
        rows.append(
            {
                "model": model,
                "benchmark": benchmark,
                "block": block,
                "answers": n,
                **(json.loads(file.read_text(encoding="utf-8")) if file.exists() else NO_COST),
            }
        )
    return pd.DataFrame(rows)
