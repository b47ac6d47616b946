"""Which package has which benchmark: `tasks.toml`, read by the commands, the importers and the notebooks."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchtrust.errors import pick


@dataclass(frozen=True)
class Package:
    """An evaluation package.

    Attributes
    ----------
    name, title : as commands take it, and as readers see it.
    distributions : names on PyPI whose versions the study states.
    gigabytes : measured size of its environment.
    minutes : rough time to install it, with all in uv's cache and with nothing there; `tasks.toml` says
        which of them were measured.
    """

    name: str
    title: str
    distributions: tuple[str, ...]
    gigabytes: float
    minutes: tuple[int, int]


@dataclass(frozen=True)
class Task:
    """A benchmark as a package has it.

    Attributes
    ----------
    package, benchmark : names of both.
    stock : the package's own task, or several that are run together.
    local : what was replaced to run it on local items.
    judge : what judges in the place of a remote model; empty where nothing judges.
    """

    package: str
    benchmark: str
    stock: tuple[str, ...]
    local: str
    judge: str = ""


@cache
def packages() -> dict[str, Package]:
    """All packages by name."""
    rows = _tables()["package"]
    return {row["name"]: Package(**{k: _frozen(v) for k, v in row.items()}) for row in rows}


@cache
def tasks() -> dict[tuple[str, str], Task]:
    """All tasks by package and benchmark."""
    rows = [Task(**{k: _frozen(v) for k, v in row.items()}) for row in _tables()["task"]]
    return {(task.package, task.benchmark): task for task in rows}


@cache
def absent() -> dict[tuple[str, str], str]:
    """Why a package lacks a benchmark, by package and benchmark."""
    return {(row["package"], row["benchmark"]): row["reason"] for row in _tables()["absent"]}


def package(name: str) -> Package:
    """Package of that name; case and punctuation are ignored, an unknown name lists the nearest."""
    return packages()[pick(name, packages(), "package")]


def _tables() -> dict[str, list[dict]]:
    return tomllib.loads(Path(__file__).with_name("tasks.toml").read_text(encoding="utf-8"))


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
