"""Notebooks as sources: finding them by name, their cells, their parameters, their hashes."""

import ast
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from benchtrust import project
from benchtrust.compendium import parameters
from benchtrust.compendium.fingerprints import digest
from benchtrust.errors import BenchtrustError, ParameterError, UnknownNameError, pick

KERNEL = "python3"
LEFT_OUT = "benchtrust_left_out"
"""In the metadata of a cell why it was left out; in those of a page what it says of that."""


class NotebookError(BenchtrustError):
    """A notebook that cannot be run, or failed: notebook, cell, source, error."""


@dataclass(frozen=True)
class Cell:
    """One cell: ``code`` or ``markdown``, its source and tags."""

    kind: str
    source: str
    tags: tuple[str, ...] = ()
    outputs: tuple[Any, ...] = ()
    execution_count: int | None = None


@dataclass(frozen=True)
class Notebook:
    """A notebook's source.

    Attributes
    ----------
    id
        Path under ``notebooks/`` without suffix, as in ``stability/rank_flips``.
    """

    id: str
    path: Path
    cells: tuple[Cell, ...]
    kernel: str
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> list[Cell]:
        """Code cells in order."""
        return [cell for cell in self.cells if cell.kind == "code"]

    @cached_property
    def prose(self) -> str:
        """Its markdown."""
        return "\n\n".join(cell.source for cell in self.cells if cell.kind == "markdown")

    @property
    def title(self) -> str:
        """Its first heading."""
        return next((line.lstrip("# ") for line in self.prose.splitlines() if line.startswith("# ")), self.id)

    @property
    def commands(self) -> list[str]:
        """Commands of its boxes for a shell, such as "Try it", without their comments."""
        return list(commands(self.prose))

    @cached_property
    def parameters(self) -> dict[str, parameters.Parameter]:
        """Declared parameters by name."""
        tagged = [cell for cell in self.code if "parameters" in cell.tags]
        if len(tagged) != 1:
            raise ParameterError(
                f"{self.id}: found {len(tagged)} cells tagged 'parameters'; a notebook has exactly one."
            )
        return parameters.declared(tagged[0].source, self.id)

    @cached_property
    def code_hash(self) -> str:
        """Hash of the code that computes: prose, tags and the parameters cell are left out."""
        return digest([cell.source for cell in self.code if "parameters" not in cell.tags])

    @cached_property
    def content_hash(self) -> str:
        """Hash of all that a reader sees: every cell with its tags, and the kernel."""
        return digest([[cell.kind, cell.source, list(cell.tags)] for cell in self.cells] + [self.kernel])

    @cached_property
    def syntax(self) -> ast.Module:
        """Syntax tree of all code cells."""
        try:
            return ast.parse("\n\n".join(cell.source for cell in self.code))
        except SyntaxError as error:
            raise NotebookError(f"{self.id}: not valid Python: {error.msg}: {error.text}") from None

    @cached_property
    def needs(self) -> list[str]:
        """Notebooks whose results this one reads, by its calls of ``record.result("notebook", …)``."""
        return sorted(set(_result_calls(self.syntax)))


def commands(text: str) -> Iterator[str]:
    """Commands of the ``bash`` blocks of a page, continued lines joined."""
    for block in re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield shlex.join(words)


def _result_calls(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="result"), args=[ast.Constant(value=str(name)), _]):
                yield name


def folder() -> Path:
    """Folder of the notebook sources."""
    return project.root() / "notebooks"


def available() -> list[str]:
    """Ids of all notebooks, sorted."""
    found = folder().rglob("*.ipynb")
    return sorted(
        path.relative_to(folder()).with_suffix("").as_posix()
        for path in found
        if ".ipynb_checkpoints" not in path.parts
    )


def resolve(name: str) -> str:
    """Return the id that `name` means: an id, its last part, or a path; else raise with the nearest ids."""
    ids = available()
    if not ids:
        raise NotebookError(f"No notebooks found in {folder()}.")
    plain = name.removesuffix(".ipynb").removeprefix("./").removeprefix("notebooks/")
    if Path(plain).is_absolute():
        plain = Path(plain).as_posix().removeprefix(f"{folder().as_posix()}/")
    if plain in ids:
        return plain
    last = [entry for entry in ids if entry.rsplit("/", 1)[-1] == plain.rsplit("/", 1)[-1]]
    if len(last) == 1 and "/" not in plain:
        return last[0]
    if len(last) > 1:
        raise UnknownNameError(f"Notebook {name!r} is ambiguous: {', '.join(last)}.")
    try:
        return pick(plain, ids, "notebook")
    except UnknownNameError as error:
        tails = {entry.rsplit("/", 1)[-1]: entry for entry in ids}
        near = last or [tails[n] for n in get_close_matches(plain.rsplit("/", 1)[-1], tails)]
        if "Did you mean" in str(error) or not near:
            raise
        raise UnknownNameError(f"{error} Did you mean {', '.join(near)}?") from None


def read(notebook: str) -> Notebook:
    """Read the source of a notebook given by id."""
    return read_file(folder() / f"{notebook}.ipynb", notebook)


def read_file(path: Path, notebook: str) -> Notebook:
    """Read any notebook file as a `Notebook` with the given id."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        cells = tuple(_cell(cell) for cell in content["cells"])
    except (json.JSONDecodeError, KeyError) as error:
        raise NotebookError(f"{path} is not a notebook: {error!r}.") from None
    metadata = content.get("metadata", {})
    return Notebook(notebook, path, cells, metadata.get("kernelspec", {}).get("name", ""), metadata)


def _cell(cell: dict[str, Any]) -> Cell:
    return Cell(
        kind=cell["cell_type"],
        source="".join(cell["source"]),
        tags=tuple(cell.get("metadata", {}).get("tags", ())),
        outputs=tuple(cell.get("outputs", ())),
        execution_count=cell.get("execution_count"),
    )


def table_of_contents() -> list[str]:
    """Pages of the book in reading order, as named in ``_toc.yml`` (without suffix)."""
    return list(_pages(yaml.safe_load((project.root() / "_toc.yml").read_text(encoding="utf-8"))))


def _pages(entry: Any) -> Iterator[str]:
    if isinstance(entry, list):
        for child in entry:
            yield from _pages(child)
    if isinstance(entry, dict):
        if page := entry.get("root") or entry.get("file"):
            yield page
        for key in ("parts", "chapters", "sections", "subtrees", "entries"):
            yield from _pages(entry.get(key))


def in_book() -> list[str]:
    """Ids of the notebooks that the table of contents names, in reading order."""
    known = set(available())
    return [page for page in table_of_contents() if page in known]
