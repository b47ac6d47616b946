"""Rules for notebook sources. The first group is checked before every run, all of them by the tests."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from benchtrust.compendium.notebooks import KERNEL, Notebook, NotebookError
from benchtrust.errors import BenchtrustError

MAX_LINES = 12
_HEADING = re.compile(r"^(#{1,6})\s+(.*)$", re.MULTILINE)
_FENCE = re.compile(r"^(`{3,}|~{3,}|:{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def require_runnable(notebook: Notebook) -> None:
    """Raise `NotebookError` with everything that forbids running `notebook`."""
    if found := list(obstacles(notebook)):
        raise NotebookError("\n".join(f"{notebook.id}: {text}" for text in found))


def obstacles(notebook: Notebook) -> Iterator[str]:
    """What forbids a run: wrong kernel, no proper parameters cell, code that cannot be parsed."""
    if notebook.kernel != KERNEL:
        yield (
            f"its kernel is {notebook.kernel or 'not set'!r}, but notebooks run on {KERNEL!r}; choose "
            f'"Python 3 (ipykernel)" and save, or set metadata.kernelspec.name to "{KERNEL}".'
        )
    try:
        _ = notebook.parameters
        first = next(cell for cell in notebook.code if cell.source.strip())
        if "parameters" not in first.tags:
            yield "the cell tagged 'parameters' must come before all other code."
        _ = notebook.syntax
    except BenchtrustError as error:
        yield str(error).removeprefix(f"{notebook.id}: ")


def problems(notebook: Notebook) -> list[str]:
    """All rules that `notebook` breaks, one line each; empty if none."""
    return [*obstacles(notebook), *_outputs(notebook), *_cells(notebook), *_structure(notebook)]


def _outputs(notebook: Notebook) -> Iterator[str]:
    if any(cell.outputs or cell.execution_count for cell in notebook.code):
        yield "it holds outputs: strip them (nbstripout, or 'Clear All Outputs' and save)."
    if extra := set(notebook.metadata) - {"kernelspec", "language_info"}:
        yield f"its metadata hold {', '.join(sorted(extra))}: remove."


def _cells(notebook: Notebook) -> Iterator[str]:
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.kind != "code":
            continue
        lines = cell.source.strip().splitlines()
        if len(lines) > MAX_LINES and "parameters" not in cell.tags:  # a line a parameter, however many
            yield f"cell {number} has {len(lines)} lines; at most {MAX_LINES}: move the work into src/."
        if re.search(r"^\s*[%!]", cell.source, re.MULTILINE):
            yield f"cell {number} holds a magic or shell line."
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield f"cell {number} defines {node.name}: move it into src/."


def headings(notebook: Notebook) -> list[tuple[int, str]]:
    """Level and text of each heading in the prose, fenced blocks left out."""
    prose = "\n\n".join(_FENCE.sub("", cell.source) for cell in notebook.cells if cell.kind == "markdown")
    return [(len(marks), text.strip()) for marks, text in _HEADING.findall(prose)]


def _structure(notebook: Notebook) -> Iterator[str]:
    found = headings(notebook)
    tops = [text for level, text in found if level == 1]
    if len(tops) != 1 or found[0][0] != 1:
        yield f"it has {len(tops)} first-level headings; it needs exactly one, at the start."
    for (level, _), (below, text) in pairwise(found):
        if below > level + 1:
            yield f"the heading {text!r} skips a level."
    if not any(text.casefold() == "try it" for _, text in found):
        yield "it has no section 'Try it'."
    prose = "\n".join(cell.source for cell in notebook.cells if cell.kind == "markdown")
    exercises, solutions = prose.count("{exercise}"), prose.count("{solution}")
    if not exercises:
        yield "it has no exercise."
    if solutions < exercises:
        yield f"{exercises} exercises but {solutions} solutions."
