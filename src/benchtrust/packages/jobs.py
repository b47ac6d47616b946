"""What one run of a package is: task, model folder, items, and the folder it works in."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchtrust.items import Item
from benchtrust.packages.table import Task


@dataclass(frozen=True)
class Job:
    """One package, benchmark and model on given items.

    Attributes
    ----------
    task : package, benchmark and stock task.
    model : transformers folder.
    items, rows : items in their order, and the same in upstream's layout.
    rest : rows of the benchmark's other items in a seeded, balanced order, for packages that draw exemplars.
    work : folder of the task's files, caches and outputs while it runs.
    """

    task: Task
    model: Path
    items: tuple[Item, ...]
    rows: tuple[dict, ...]
    rest: tuple[dict, ...]
    work: Path

    @property
    def output(self) -> Path:
        """Folder that the package is told to write into."""
        return self.work / "output"


@dataclass(frozen=True)
class Prepared:
    """Arguments of the interpreter, one list a command, and environment variables."""

    commands: list[list[str]]
    environment: dict[str, str] = field(default_factory=dict)


def write_lines(path: Path, rows: Iterable[dict]) -> Path:
    """Write rows as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path
