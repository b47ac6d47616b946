"""The store: one folder a block, one Parquet file a batch, written beside and moved into place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from benchtrust import responses

if TYPE_CHECKING:
    from benchtrust.grid.plan import Block
    from benchtrust.items import Item


def part_path(store: Path, block: Block, batch: Sequence[Item]) -> Path:
    """File of a batch; its name depends on the block's configurations and the items."""
    what = json.dumps([[str(c) for c in block.configurations], [item.item_id for item in batch]])
    return store / block.name / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.parquet"


def write_part(frame: pd.DataFrame, path: Path, spent: dict[str, float]) -> None:
    """Write a batch, and beside it what it cost in CPU and wall seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(spent), encoding="utf-8")
    responses.write(frame, path)


def done(store: Path, block: Block) -> set[str]:
    """Items that have an answer in every configuration of the block."""
    files = sorted((store / block.name).glob("*.parquet"))
    if not files:
        return set()
    frame = responses.read(files)
    wanted = set(block.configurations)
    keys = frame[["template", "shots", "decoding", "scoring"]].itertuples(index=False, name=None)
    have: dict[str, set] = {}
    for item_id, key in zip(frame["item_id"], keys, strict=True):
        have.setdefault(item_id, set()).add((key[0], int(key[1]), key[2], key[3]))
    needed = {(c.template, c.shots, c.decoding, c.scoring) for c in wanted}
    return {item_id for item_id, cells in have.items() if needed <= cells}


def cost(store: Path) -> pd.DataFrame:
    """CPU and wall seconds by model and benchmark, with the number of answers they bought."""
    rows = []
    for file in sorted(store.glob("*/*/*/*.json")):
        model, benchmark, block = file.parts[-4:-1]
        n = len(pd.read_parquet(file.with_suffix(".parquet"), columns=["item_id"]))
        rows.append(
            {
                "model": model,
                "benchmark": benchmark,
                "block": block,
                "answers": n,
                **json.loads(file.read_text()),
            }
        )
    return pd.DataFrame(rows)
