"""Runs on own data: what cannot be asked of them is left out of the page and named, the rest runs.

A cell that raises `NotAskableError` is left out, and with it each later cell that uses a name which only a
cell left out gives. The page says once, where it begins, what the data lack and which sections that takes.
"""

import ast
from collections.abc import Iterator
from typing import Any

import nbformat
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, papermill_engines

from benchtrust.compendium.notebooks import LEFT_OUT
from benchtrust.errors import NotAskableError

ENGINE = "leaving-out"


class _Client(PapermillNotebookClient):
    def papermill_execute_cells(self) -> None:
        """Execute all cells but those that cannot be asked of the data."""
        unknown: dict[str, str] = {}
        for index, cell in enumerate(self.nb.cells):
            try:
                self.nb_man.cell_start(cell, index)
                if cell.cell_type == "code":
                    self._attempt(cell, index, unknown)
            except CellExecutionError as error:
                self.nb_man.cell_exception(self.nb.cells[index], cell_index=index, exception=error)
                break
            finally:
                self.nb_man.cell_complete(self.nb.cells[index], cell_index=index)

    def _attempt(self, cell: NotebookNode, index: int, unknown: dict[str, str]) -> None:
        """Execute a cell or mark it as left out; `unknown` holds the names that are not given, and why."""
        used, given = names(cell.source)
        reason = next((unknown[name] for name in sorted(used & set(unknown))), "")
        if not reason:
            try:
                self.execute_cell(cell, index)
            except CellExecutionError as error:
                if error.ename != NotAskableError.__name__:
                    raise
                reason = " ".join(error.evalue.split())
        for name in given:
            unknown.pop(name, None)
        if reason:
            cell.outputs, cell.execution_count, cell.metadata[LEFT_OUT] = [], None, reason
            unknown |= dict.fromkeys(given, reason)


class _Engine(Engine):
    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, start_timeout: int = 60, extra_arguments: Any = (), **_: Any
    ) -> NotebookNode:
        """Execute a notebook as papermill does, with the client above."""
        options = {"kernel_name": kernel_name, "startup_timeout": start_timeout, "timeout": None}
        return _Client(nb_man, extra_arguments=list(extra_arguments), **options).execute()


papermill_engines.register(ENGINE, _Engine)


def names(source: str) -> tuple[set[str], set[str]]:
    """Names that a cell takes from earlier ones, and names that it gives to later ones.

    A name of which a part is set (``cells["lost"] = …``) is taken and given. So are tables that are kept
    (``record.keep(facts=…)``) and read again (``record.kept("facts")``).
    """
    used: set[str] = set()
    given: set[str] = set()
    for statement in ast.parse(source).body:
        nodes = list(ast.walk(statement))
        loaded = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        stored, own = set(_stored(nodes)), set(_own(nodes))
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        used |= (loaded - own | set(_read_again(nodes))) - given
        given |= stored | set(_kept(nodes))
    return used, given


def _stored(nodes: list[ast.AST]) -> Iterator[str]:
    """Names that are set, or of which a part is, or that are imported; not those within a comprehension."""
    targets = [node.target for node in nodes if isinstance(node, ast.comprehension)]
    inside = {id(node) for target in targets for node in ast.walk(target)}
    for node in nodes:
        if id(node) in inside:
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(getattr(node, "ctx", None), ast.Store):
            while isinstance(node, ast.Subscript | ast.Attribute):
                node = node.value
            if isinstance(node, ast.Name):
                yield node.id


def _kept(nodes: list[ast.AST]) -> Iterator[str]:
    """Tables that `Recorder.keep` is given."""
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "keep":
            yield from (f"kept {keyword.arg}" for keyword in node.keywords)


def _read_again(nodes: list[ast.AST]) -> Iterator[str]:
    """Tables that a statement reads by `Recorder.kept`; any text in it may be the name of one."""
    if any(isinstance(node, ast.Attribute) and node.attr == "kept" for node in nodes):
        yield from (f"kept {node.value}" for node in nodes if isinstance(node, ast.Constant))


def _own(nodes: list[ast.AST]) -> Iterator[str]:
    """Variables of comprehensions and lambdas."""
    yield from (node.arg for node in nodes if isinstance(node, ast.arg))
    for node in nodes:
        if isinstance(node, ast.comprehension):
            yield from (n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))


def page(node: NotebookNode) -> None:
    """Take the cells that were left out off a page, and say there what the data lack."""
    sections = _sections([part for cell in node.cells for part in _at_headings(cell)])
    missing: dict[str, list[str]] = {}
    for title, cells in sections:
        for reason in _reasons(cells):
            missing.setdefault(reason, []).append(title)
    if not missing:
        return
    node.cells, said = [], set()
    for _, cells in sections:
        news = [reason for reason in _reasons(cells) if reason not in said]
        notes = [_note(reason, missing[reason], number) for number, reason in enumerate(news, len(said))]
        kept = [cell for cell in cells if LEFT_OUT not in cell.metadata]
        code = [cell for cell in kept if cell.cell_type == "code"]
        if _reasons(cells) and not code:
            kept = [_heading(cells[0])] if news else []
        node.cells += [*kept[:1], *notes, *kept[1:]]
        said |= set(news)
    node.metadata[LEFT_OUT] = [f"{reason} Left out: {'; '.join(gone)}." for reason, gone in missing.items()]


def _reasons(cells: list[NotebookNode]) -> list[str]:
    return list(dict.fromkeys(cell.metadata[LEFT_OUT] for cell in cells if LEFT_OUT in cell.metadata))


def _sections(cells: list[NotebookNode]) -> list[tuple[str, list[NotebookNode]]]:
    """Title and cells of a page's head and of each of its sections."""
    found: list[tuple[str, list[NotebookNode]]] = []
    for cell in cells:
        first = cell.source.lstrip().partition("\n")[0]
        if not found or (cell.cell_type == "markdown" and first.startswith("#")):
            found.append((first.lstrip("# "), []))
        found[-1][1].append(cell)
    return found


def _at_headings(cell: NotebookNode) -> Iterator[NotebookNode]:
    """A cell, in as many as it has sections: a heading begins one, outside of fenced text."""
    parts, fenced = [[]], False
    for line in cell.source.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced and parts[-1]:
            parts.append([])
        parts[-1].append(line)
    if cell.cell_type != "markdown" or len(parts) == 1:
        yield cell
        return
    for number, lines in enumerate(parts):
        yield nbformat.v4.new_markdown_cell("\n".join(lines).strip(), id=f"{cell.id}-{number}")


def _heading(cell: NotebookNode) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(cell.source.lstrip().partition("\n")[0], id=cell.id)


def _note(reason: str, gone: list[str], number: int) -> NotebookNode:
    titles = "; ".join(f"*{title}*" for title in gone)
    text = f"> **Not asked of these data.** {reason}\n>\n> Left out for that: {titles}."
    return nbformat.v4.new_markdown_cell(text, id=f"left-out-{number}")
