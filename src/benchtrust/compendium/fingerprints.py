"""What a result depends on, as hashes: input files, modules, the lock, the commit."""

import ast
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchtrust import project
from benchtrust.files import sha256

ABSENT = "absent"
DATA = "data:"
"""Before the name of an upstream file, wherever it lies."""
LOCK = "requirements.lock"
_DATA_SUFFIXES = {".py", ".txt", ".toml", ".csv", ".json"}


def digest(value: Any) -> str:
    """SHA-256 of a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def of_file(path: Path) -> str:
    """SHA-256 of a file, or of a folder's files with their names; `ABSENT` where there is none."""
    if path.is_dir():
        return digest(of_tree(path))
    return sha256(path) if path.exists() else ABSENT


def of_tree(folder: Path) -> dict[str, str]:
    """SHA-256 of each file below a folder by its name there; hidden files are left out."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not _hidden(p.relative_to(folder)))
    return {p.relative_to(folder).as_posix(): of_file(p) for p in files}


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "__pycache__")) for part in path.parts)


def name(path: Path) -> str:
    """Name of an input in the ledger.

    Relative to the repository, ``data:…`` below a folder of upstream files, ``cache:…`` below the cache.
    A file that lies in none of these keeps its absolute path: nobody else could find it, so only runs
    outside the profiles may use one.
    """
    upstream = [(DATA, folder) for folder in project.data_folders()]
    for prefix, folder in (("", project.root()), *upstream, ("cache:", project.cache())):
        if path.resolve().is_relative_to(folder.resolve()):
            return prefix + path.resolve().relative_to(folder.resolve()).as_posix()
    return path.resolve().as_posix()


def locate(name: str) -> Path:
    """Path of an input by its name in the ledger."""
    if name.startswith(DATA):
        return project.data_file(name.removeprefix(DATA))
    if name.startswith("cache:"):
        return project.cache() / name.removeprefix("cache:")
    return project.root() / name


def now(names: Iterable[str]) -> dict[str, str]:
    """Present hashes of inputs or modules, by name."""
    return {name: of_file(locate(name)) for name in sorted(names)}


def changed(recorded: Mapping[str, str]) -> list[str]:
    """Names of inputs or modules whose present hash is not the recorded one."""
    present = now(recorded)
    return [name for name in sorted(recorded) if present[name] != recorded[name]]


def lock() -> str:
    """Hash of the pinned environment."""
    return of_file(project.root() / LOCK)


def sources(tree: ast.Module) -> dict[str, str]:
    """Hashes of the files under ``src/`` that a notebook's code reaches by its imports.

    Imports are followed through every module. Of a sub-package that is reached, all files count (its
    templates and tables too, and modules that it picks by name); of ``compendium``, which computes
    nothing, only the modules that are imported. So a change in one part leaves the others up to date.
    """
    source = project.root() / "src"
    reached: set[Path] = set()
    waiting = list(_imports(tree))
    while waiting:
        for path in _module_files(source, waiting.pop()):
            if path not in reached:
                reached.add(path)
                if path.suffix == ".py":
                    waiting += imports(path.read_text(encoding="utf-8"))
    return now(path.relative_to(project.root()).as_posix() for path in reached)


def loaded() -> set[str]:
    """Names of the files under ``src/`` that this process has imported."""
    source = (project.root() / "src").resolve()
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    paths = (os.path.join(_real(folder), file) for folder, file in map(os.path.split, filter(None, files)))
    return {Path(p).relative_to(source.parent).as_posix() for p in paths if p.startswith(f"{source}{os.sep}")}


_real = cache(os.path.realpath)
"""Of a folder: the thousands of modules of a process lie in a few hundred."""


@cache
def imports(source: str) -> tuple[str, ...]:
    """Dotted names that a module imports, wherever in it, save those for type checkers alone."""
    return tuple(_imports(ast.parse(source)))


def _imports(tree: ast.Module) -> Iterator[str]:
    """Dotted names that a module imports, wherever in it (relative imports are not used here)."""
    for statement in _statements(tree):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Statements below a node, save those for type checkers alone; expressions hold none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case) and not _type_checking(child):
            yield child
            yield from _statements(child)


def _type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _module_files(source: Path, dotted: str) -> Iterator[Path]:
    """Files that count when `dotted` (a module, or a name in one) is imported."""
    parts = dotted.split(".")
    for depth in range(1, len(parts) + 1):
        path = source.joinpath(*parts[:depth])
        if path.is_dir():
            yield from _package_files(path, whole=depth > 1 and path.name != "compendium")
        elif path.with_suffix(".py").is_file():
            yield path.with_suffix(".py")


def _package_files(folder: Path, whole: bool) -> Iterator[Path]:
    if not whole:
        yield from (path for path in [folder / "__init__.py"] if path.is_file())
        return
    for path in folder.rglob("*"):
        if path.suffix in _DATA_SUFFIXES and not _hidden(path.relative_to(folder)):
            yield path


def commit() -> tuple[str | None, bool]:
    """Git commit of the repository and whether files that results depend on differ from it."""
    try:
        head = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--", "src", "notebooks", "data", "profiles", LOCK)
    except (OSError, subprocess.CalledProcessError):
        return None, False
    return head.strip(), bool(changed.strip())


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(project.root()), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
