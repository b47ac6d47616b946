"""One notebook through papermill: fixed kernel, clean metadata, failures told in full."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import CellControlSignal
from papermill.exceptions import PapermillExecutionError
from rich.text import Text

from benchtrust import project
from benchtrust.compendium import leaving_out
from benchtrust.compendium.notebooks import KERNEL, Notebook, NotebookError

REPRODUCIBLE = {
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "JUPYTER_PREFER_ENV_PATH": "1",
    "MPLBACKEND": "agg",
}
"""Environment of every kernel: fixed hash seed, one BLAS thread (one order of sums), the venv's kernel, and
figures that are shown where they are recorded alone."""


def execute_with_papermill(
    source: Notebook,
    output: Path,
    values: Mapping[str, Any],
    environment: Mapping[str, str],
    position: int | None,
    *,
    own_data: bool = False,
) -> None:
    """Execute `source` into `output`.

    Parameters
    ----------
    source : Notebook
        Checked by `lint.require_runnable`.
    output : Path
        Executed notebook; after a failure it holds what was executed until then.
    values : mapping
        Parameters to inject; papermill puts them into a cell of their own.
    environment : mapping
        Variables for the kernel.
    position : int or None
        Line of the progress bar (cell i of n, elapsed); None for no bar.
    own_data : bool
        Leave out what cannot be asked of the data (`leaving_out`); else that is a failure.

    Raises
    ------
    NotebookError
        A cell raised, the kernel died, or the run stopped before the last cell.
    """
    bar = {"desc": source.id, "position": position, "leave": False, "disable": None}
    private = {"IPYTHONDIR": str(output.parent / "ipython")}
    try:
        with _environment(REPRODUCIBLE | private | dict(environment)):
            papermill.execute_notebook(
                str(source.path),
                str(output),
                parameters=dict(values),
                kernel_name=KERNEL,
                engine_name=leaving_out.ENGINE if own_data else None,
                cwd=str(project.root()),
                progress_bar=False if position is None else bar,
                extra_arguments=["--IPKernelApp.log_level=50"],
            )
    except PapermillExecutionError as error:
        raise _failure(source, error.source, f"{error.ename}: {error.evalue}") from None
    except (RuntimeError, CellControlSignal) as error:  # the kernel died, hung or did not start
        raise _failure(source, _last_running(output), str(error)) from None
    node = nbformat.read(output, as_version=4)
    leaving_out.page(node)
    _require_complete(source, node)
    _strip_run_metadata(node)
    nbformat.write(node, output)


def _failure(source: Notebook, cell: str, error: str) -> NotebookError:
    """Error with notebook, cell number, cell source and message, free of terminal colours."""
    numbers = [index for index, known in enumerate(source.cells, start=1) if known.source == cell]
    where = f"cell {numbers[0]} of {len(source.cells)}" if numbers else "the cell of injected parameters"
    code = "\n".join(f"    {line}" for line in cell.splitlines())
    plain = Text.from_ansi(error).plain.strip()
    return NotebookError(f"{source.id} failed at {where}:\n\n{code}\n\n{plain}")


def _last_running(output: Path) -> str:
    """Source of the cell during which the kernel died."""
    cells = nbformat.read(output, as_version=4).cells if output.exists() else []
    running = [c.source for c in cells if c.metadata.get("papermill", {}).get("status") == "running"]
    return running[-1] if running else ""


def _require_complete(source: Notebook, node: nbformat.NotebookNode) -> None:
    """Refuse a run that stopped early without an error, as by ``sys.exit()``."""
    for cell in node.cells:
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None:
            raise _failure(source, cell.source, "This cell was not executed: the run stopped before it.")


def _strip_run_metadata(node: nbformat.NotebookNode) -> None:
    """Drop times and paths, so that the same run gives the same file."""
    node.metadata.pop("papermill", None)
    for number, cell in enumerate(node.cells):
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = f"injected-parameters-{number}"


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
