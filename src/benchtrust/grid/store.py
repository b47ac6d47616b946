"""The store: one folder a block, one Parquet file a batch, written beside and moved into place."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from filelock import FileLock, Timeout

from benchtrust import distributions, responses
from benchtrust.errors import BenchtrustError, DataFileError
from benchtrust.files import replacing

if TYPE_CHECKING:
    from benchtrust.grid.cells import Cell
    from benchtrust.grid.plan import Block
    from benchtrust.items import Item

SPENT = ["cpu_s", "wall_s", "tokens", "peak_gb"]
COST = ["model", "benchmark", "block", "answers", *SPENT]
SIDE_TABLE = ".distributions"
DEFINITIONS = "cells"
ANSWERS = "*/*/*/*.parquet"


class StoreError(BenchtrustError):
    """A store that holds other cells or items than those asked for, or that cannot be written."""


def label(model: str, quantization: str) -> str:
    """Name of a model in response tables: the catalogue's, with the quantisation where it is not NF4."""
    return model if quantization == "nf4" else f"{model} ({quantization})"


def folder(store: Path, block: Block, quantization: str = "nf4") -> Path:
    """Folder of a block's batches."""
    return store / label(block.model, quantization) / block.benchmark / block.prompt


def part_path(
    store: Path, block: Block, cells: Sequence[Cell], batch: Sequence[Item], quantization: str = "nf4"
) -> Path:
    """File of a batch; its name depends on its cells and items."""
    what = json.dumps([[cell.cell_id for cell in cells], [item.sha256 for item in batch]])
    name = hashlib.sha256(what.encode()).hexdigest()[:16]
    return folder(store, block, quantization) / f"{name}.parquet"


def write_part(
    frame: pd.DataFrame, path: Path, spent: dict[str, float] | None, profiles: pd.DataFrame | None = None
) -> None:
    """Write a batch: what it cost and its side table first, its answers last.

    Each file appears whole or not at all, and a batch counts as recorded once its answers are there.

    Raises
    ------
    StoreError : the disk is full or cannot be written; what was recorded before stays as it is.
    """
    with _writing(path):
        if spent is not None:
            _write_json(path.with_suffix(".json"), spent)
        if profiles is not None and len(profiles):
            distributions.write(profiles, path.with_suffix(SIDE_TABLE))
        responses.write(frame, path)


def missing(
    store: Path,
    block: Block,
    cells: Sequence[Cell],
    chosen: Sequence[Item],
    loaded: Sequence[Item],
    quantization: str = "nf4",
) -> list[tuple[tuple[Cell, ...], list[Item]]]:
    """What is still to be asked: cells without an answer, and the items that lack one there.

    Raises
    ------
    StoreError : the block's answers are of other cells, or of items that are not the benchmark's now.
    """
    have: dict[str, set[tuple]] = {}
    hashes = {item.item_id: item.sha256 for item in loaded}
    ids = {astuple(cell.configuration): cell for cell in cells}
    for row in _answers(store, block, quantization).itertuples():
        key = row.template, row.shots, row.decoding, row.scoring
        if key in ids and row.cell_id != ids[key].cell_id:
            raise StoreError(_other_cell(store, block, ids[key], row.cell_id))
        if hashes.get(row.item_id) != row.item_hash:
            raise StoreError(_other_item(store, block, row.item_id, row.item_id in hashes))
        have.setdefault(row.item_id, set()).add(key)
    groups: dict[tuple[Cell, ...], list[Item]] = {}
    for item in chosen:
        answered = have.get(item.item_id, set())
        lacking = tuple(cell for key, cell in ids.items() if key not in answered)
        if lacking:
            groups.setdefault(lacking, []).append(item)
    return list(groups.items())


def define(store: Path, cells: Sequence[Cell]) -> None:
    """Keep what defines the cells, readable, beside their answers."""
    for cell in cells:
        path = _definition_path(store, cell.cell_id)
        if not path.exists():
            with _writing(path):
                _write_json(path, cell.definition)


def definition(store: Path, cell_id: str) -> dict | None:
    """What defines a cell of the store, if it was kept."""
    path = _definition_path(store, cell_id)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


class Claims:
    """Blocks that this run works on; another run on the same store leaves them alone.

    A claim is a lock of the operating system, so that it ends with the process however that ends.
    """

    def __init__(self, store: Path) -> None:
        self.store = store
        self._locks: dict[str, FileLock] = {}
        self._holds: Counter[str] = Counter()

    def take(self, block: Block, quantization: str, wait: bool) -> bool:
        """Claim a block; False if another run has it and `wait` is False."""
        name = folder(self.store, block, quantization).relative_to(self.store).as_posix()
        path = self.store / ".claims" / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.lock"
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path, timeout=-1 if wait else 0)
            try:
                lock.acquire()
            except Timeout:
                return False
        self._locks[block.name] = lock
        self.hold(block)
        for scratch in folder(self.store, block, quantization).glob(".*.tmp"):
            scratch.unlink(missing_ok=True)
        return True

    def hold(self, block: Block) -> None:
        """Hold a claimed block once more: for a batch that is under way."""
        self._holds[block.name] += 1

    def give(self, block: Block) -> None:
        """Give up one hold; the last one gives the block back."""
        self._holds[block.name] -= 1
        if not self._holds[block.name]:
            self._locks.pop(block.name).release()

    def give_all(self) -> None:
        """Give back what is still held."""
        while self._locks:
            self._locks.popitem()[1].release()


def answered(store: Path, block: Block, chosen: Sequence[Item], quantization: str = "nf4") -> int:
    """Answers of a block's configurations to the items that the store has, whatever their definition."""
    frame = _answers(store, block, quantization)
    if frame.empty:
        return 0
    wanted = {astuple(c) for c in block.configurations}
    mine = frame[frame["item_id"].isin([item.item_id for item in chosen])]
    return sum(tuple(key) in wanted for key in mine[responses.CONFIGURATION].itertuples(index=False))


def summary(store: Path) -> pd.DataFrame:
    """What a store holds by model and benchmark.

    Returns
    -------
    cells; the fewest and most items of a cell; answers; shares of them that were unparsed or cut by the token
    limit undecided (`truncated`); steps of generation that hung on less than 1e-3 (`near_ties`); items that
    were set aside in some cell (`failed`); cells whose exemplars did not all fit (`shortened`).
    """
    frame = responses.read(answer_files(store))
    cells = frame.groupby(["model", "benchmark", "cell_id"])
    of_cells = cells.agg(items=("item_id", "nunique"), used=("shots_used", "min"), shots=("shots", "min"))
    grouped = of_cells.assign(short=of_cells["used"] < of_cells["shots"]).groupby(["model", "benchmark"])
    table = grouped.agg(
        cells=("items", "size"), fewest=("items", "min"), most=("items", "max"), shortened=("short", "sum")
    )
    by = frame.assign(
        unparsed=frame["outcome"] == "unparsed",
        truncated=frame["outcome"] == "truncated",
        failed=frame["item_id"].where(frame["outcome"] == "failed"),
    ).groupby(["model", "benchmark"])
    counts = by.agg(answers=("item_id", "size"), near_ties=("near_ties", "sum"), failed=("failed", "nunique"))
    return table.join(counts).join(by[["unparsed", "truncated"]].mean()).reset_index()


def answer_files(store: Path) -> list[Path]:
    """Files of a store that hold answers.

    Raises
    ------
    DataFileError : there is none.
    """
    if files := sorted(store.glob(ANSWERS)):
        return files
    raise DataFileError(
        f"{store} holds no answers. Give the folder of a recording (--store), or put the committed answers "
        "there: benchtrust grid restore."
    )


def cost(store: Path) -> pd.DataFrame:
    """CPU and wall seconds, tokens, and the process's peak memory so far by batch; NaN where not noted.

    Batches stand in the order in which they were written.
    """
    rows = []
    for answers in sorted(store.glob(ANSWERS), key=lambda path: (path.stat().st_mtime_ns, path)):
        file = answers.with_suffix(".json")
        model, benchmark, block = file.parts[-4:-1]
        n = len(pd.read_parquet(answers, columns=["item_id"]))
        spent = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        rows.append(
            {"model": model, "benchmark": benchmark, "block": block, "answers": n}
            | {name: spent.get(name, float("nan")) for name in SPENT}
        )
    return pd.DataFrame(rows, columns=COST)


def _answers(store: Path, block: Block, quantization: str) -> pd.DataFrame:
    files = sorted(folder(store, block, quantization).glob("*.parquet"))
    return responses.read(files) if files else pd.DataFrame()


def _other_cell(store: Path, block: Block, cell: Cell, found: str) -> str:
    """What differs between a stored cell and the one asked for."""
    old = definition(store, found)
    head = f"{store} holds {block.name} ({cell.configuration.decoding}, {cell.configuration.scoring}) "
    tail = "Record into another folder (--store), or go back to what the store was made with."
    if old is None:
        return f"{head}as cell {found[:12]}, not {cell.cell_id[:12]}, and not what defined it. {tail}"
    old, new = _flat(old), _flat(cell.definition)
    moved = [
        f"{key} was {_short(old.get(key))} and is now {_short(new.get(key))}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]
    return f"{head}under another definition: {'; '.join(moved)}. {tail}"


def _other_item(store: Path, block: Block, item_id: str, known: bool) -> str:
    what = "whose text has changed since" if known else "which the benchmark does not have now"
    return (
        f"{store} holds answers of {block.name} to item {item_id}, {what}. Answers to two item sets are "
        "not mixed: provide the items that were asked, or record into another folder (--store)."
    )


def _flat(definition: dict) -> dict[str, object]:
    """A definition with the keys of its parts joined: ``sampling.seed``."""
    flat: dict[str, object] = {}
    for key, value in definition.items():
        inner = _flat(value) if isinstance(value, dict) else {"": value}
        flat |= {f"{key}.{name}".rstrip("."): part for name, part in inner.items()}
    return flat


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if re.fullmatch(r'"[0-9a-f]{64}"', text):
        return text[1:13]
    return text if len(text) <= 60 else text[:57] + "..."


def _definition_path(store: Path, cell_id: str) -> Path:
    return store / DEFINITIONS / f"{cell_id}.json"


def _write_json(path: Path, content: object) -> None:
    with replacing(path) as scratch:
        scratch.write_text(json.dumps(content, sort_keys=True, ensure_ascii=False), encoding="utf-8")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} could not be written ({error.strerror or error}). All that was recorded before is "
            "intact: make room, or give a folder that can be written (--store), and run again to go on."
        ) from error
