"""Running notebooks: strict parameters, whole or not at all, only when something has changed.

A run works in ``build/<profile>/.tmp`` and moves into ``build/<profile>/notebooks`` and
``build/<profile>/results`` only when every cell has succeeded. A failed notebook leaves what was
published before untouched and is kept in ``build/<profile>/failed``; while it is there the book
refuses to build, since what is published no longer belongs to the notebook's source.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchtrust import project
from benchtrust.compendium import durations, ledger, lint, notebooks, profiles
from benchtrust.compendium.notebooks import Notebook, NotebookError
from benchtrust.compendium.published import Places, key, up_to_date
from benchtrust.files import replacing

State = Literal["executed", "up to date", "failed", "blocked"]


@dataclass(frozen=True)
class Outcome:
    """What became of one notebook: its state, seconds spent, and the message of a failure.

    `left_out` are the sentences of its page on what could not be asked of the data.
    """

    notebook: str
    state: State
    seconds: float = 0.0
    message: str = ""
    left_out: tuple[str, ...] = ()


def run(
    notebook: str,
    values: Mapping[str, Any] | None = None,
    profile: str = profiles.PAPER,
    *,
    force: bool = False,
    position: int | None = 0,
) -> Outcome:
    """Run one notebook and publish it into the profile's build folder.

    Parameters
    ----------
    notebook : str
        Id, its last part, or a path.
    values : mapping, optional
        Parameter values, put over those of the profile; names and types are checked first.
    profile : str
        Name of a file in ``profiles/``, or ``manual``.
    force : bool
        Run even if nothing has changed.
    position : int or None
        Line of the progress bar; None for no bar.

    Returns
    -------
    Outcome
        With state ``executed`` or ``up to date``.

    Raises
    ------
    NotebookError
        A cell failed: notebook, cell, source, error. Nothing is published.
    ParameterError
        An unknown name or a wrong type, before anything is executed.
    """
    source = notebooks.read(notebooks.resolve(notebook))
    lint.require_runnable(source)
    chosen = profiles.effective(source, profiles.values(profile).get(source.id, {}) | dict(values or {}))
    places = Places(profile, source.id)
    if not force and up_to_date(source, chosen, profile):
        return Outcome(source.id, "up to date", left_out=_left_out(places))
    started = time.perf_counter()
    with workspace(places.build) as folder:
        try:
            before = key(source, chosen)
            execute(source, chosen, folder, profile, position)
            _publish(before, folder, places)
        except NotebookError as error:
            message = f"{error}\n\nAs far as it ran: {places.failed}"
            _set_aside(folder / "notebook.ipynb", places, message)
            raise NotebookError(message) from None
    seconds = time.perf_counter() - started
    durations.note(source.id, profile, seconds)
    return Outcome(source.id, "executed", seconds, left_out=_left_out(places))


def _left_out(places: Places) -> tuple[str, ...]:
    """What a run by hand left out, as its page says it."""
    if places.profile != profiles.MANUAL:
        return ()
    return tuple(notebooks.read_file(places.executed, places.notebook).metadata.get(notebooks.LEFT_OUT, ()))


def fresh(notebook: str, profile: str) -> bool:
    """Whether what is published of a notebook in a profile was made from what is there now."""
    source = notebooks.read(notebook)
    return up_to_date(source, profiles.effective(source, profiles.values(profile).get(notebook, {})), profile)


@contextmanager
def workspace(build: Path) -> Iterator[Path]:
    """Temporary folder on the build's own file system, so that a finished run moves in one step."""
    (build / ".tmp").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build / ".tmp", prefix="run-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def execute(
    source: Notebook, values: Mapping[str, Any], folder: Path, profile: str, position: int | None = None
) -> None:
    """Execute a notebook into ``notebook.ipynb`` and ``results/`` of `folder`, touching nothing else."""
    from benchtrust.compendium.execution import execute_with_papermill

    changed = {name: value for name, value in values.items() if value != source.parameters[name].default}
    results = folder / "results"
    results.mkdir()
    environment = {
        "BENCHTRUST_ROOT": str(project.root()),
        "BENCHTRUST_RESULTS": str(results),
        "BENCHTRUST_PROFILE": profile,
    }
    own_data = profile == profiles.MANUAL
    execute_with_papermill(
        source, folder / "notebook.ipynb", changed, environment, position, own_data=own_data
    )


def _publish(made_from: dict[str, Any], folder: Path, places: Places) -> None:
    """Move a finished run into place; the key goes first and comes last, so a kill leaves no stale claim."""
    results = folder / "results"
    if (results / ledger.FILE).exists():
        recorded = ledger.read(results)
        _refuse_taken_names(recorded, places)
        made_from = made_from | {
            "inputs": recorded.inputs,
            "sources": made_from["sources"] | recorded.sources,
        }
    for path in (places.key, places.failed, places.failed.with_suffix(".txt")):
        path.unlink(missing_ok=True)
    for path in (places.executed, places.results, places.key):
        path.parent.mkdir(parents=True, exist_ok=True)
    if places.results.exists():
        places.results.rename(folder / "replaced")
    results.rename(places.results)
    os.replace(folder / "notebook.ipynb", places.executed)
    with replacing(places.key) as scratch:
        scratch.write_text(json.dumps(made_from, sort_keys=True, indent=1), encoding="utf-8")


def _refuse_taken_names(recorded: ledger.Ledger, places: Places) -> None:
    """Names are unique over the book; what a removed notebook left behind does not count."""
    others = ledger.read_all(places.build / "results")
    for other in set(others) & set(notebooks.available()) - {places.notebook}:
        if taken := sorted(set(recorded.artefacts) & set(others[other].artefacts)):
            raise NotebookError(
                f"{places.notebook} records {taken[0]!r}, as {other} does: rename one of them."
            )


def _set_aside(half: Path, places: Places, message: str) -> None:
    places.failed.parent.mkdir(parents=True, exist_ok=True)
    if half.exists():
        shutil.move(half, places.failed)
    else:
        shutil.copy(notebooks.folder() / f"{places.notebook}.ipynb", places.failed)
    places.failed.with_suffix(".txt").write_text(message + "\n", encoding="utf-8")
