"""The book's notebooks in one go: in the order of what they read, some at a time."""

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from graphlib import CycleError, TopologicalSorter
from multiprocessing import get_context
from typing import Any

from benchtrust.compendium import lint, notebooks, profiles
from benchtrust.compendium.notebooks import NotebookError
from benchtrust.compendium.published import up_to_date
from benchtrust.compendium.runner import Outcome, run
from benchtrust.errors import BenchtrustError


def run_all(
    profile: str = profiles.PAPER,
    *,
    jobs: int | None = None,
    force: bool = False,
    report: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Run the notebooks of the book, each after those whose results it reads.

    Parameters
    ----------
    profile : str
        Name of a file in ``profiles/``.
    jobs : int, optional
        Notebooks run at a time; two where there are two cores.
    force : bool
        Run even what is up to date.
    report : callable
        Called with each outcome as it comes.

    Returns
    -------
    list of Outcome
        In reading order. A failure does not stop the others, only those that read its results
        (``blocked``).
    """
    order = notebooks.in_book()
    values = profiles.values(profile)
    jobs = jobs or min(2, os.cpu_count() or 1)
    schedule = _schedule(order)
    outcomes: dict[str, Outcome] = {}
    running: dict[Future[Outcome], int] = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting: list[str] = []
        while schedule.is_active():
            waiting += sorted(schedule.get_ready(), key=order.index)
            while waiting and len(running) < jobs:
                notebook = waiting.pop(0)
                if known := _without_running(notebook, values, profile, force, outcomes):
                    _settle(known, outcomes, schedule, report)
                else:
                    slot = min(set(range(jobs)) - set(running.values()))
                    running[pool.submit(_attempt, notebook, profile, force, slot)] = slot
            for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                running.pop(future)
                _settle(_result(future), outcomes, schedule, report)
    return [outcomes[notebook] for notebook in order]


def _schedule(order: list[str]) -> TopologicalSorter[str]:
    """Notebooks of the book with what each needs; prepared for `get_ready`."""
    needs = {notebook: [notebooks.resolve(n) for n in notebooks.read(notebook).needs] for notebook in order}
    for notebook, needed in needs.items():
        if missing := sorted(set(needed) - set(order)):
            raise NotebookError(f"{notebook} reads results of {missing[0]}, which is not in _toc.yml.")
    schedule = TopologicalSorter(needs)
    try:
        schedule.prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise NotebookError(f"Notebooks read each other's results in a circle: {circle}.") from None
    return schedule


def _without_running(
    notebook: str, values: Mapping[str, Any], profile: str, force: bool, outcomes: Mapping[str, Outcome]
) -> Outcome | None:
    """Outcome of a notebook that needs no kernel: up to date, blocked or not runnable; else None."""
    try:
        source = notebooks.read(notebook)
        for needed in map(notebooks.resolve, source.needs):
            if outcomes[needed].state in ("failed", "blocked"):
                return Outcome(notebook, "blocked", message=f"{notebook} reads the results of {needed}.")
        lint.require_runnable(source)
        chosen = profiles.effective(source, values.get(notebook, {}))
        fresh = not force and up_to_date(source, chosen, profile)
    except BenchtrustError as error:
        return Outcome(notebook, "failed", message=str(error))
    return Outcome(notebook, "up to date") if fresh else None


def _result(future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except BrokenProcessPool:
        raise NotebookError(
            "A worker process was killed, as happens when memory runs out. Run again with --jobs 1."
        ) from None


def _settle(
    outcome: Outcome,
    outcomes: dict[str, Outcome],
    schedule: TopologicalSorter[str],
    report: Callable[[Outcome], None],
) -> None:
    outcomes[outcome.notebook] = outcome
    schedule.done(outcome.notebook)
    report(outcome)


def _attempt(notebook: str, profile: str, force: bool, position: int) -> Outcome:
    """Run one notebook in a worker process; a failure becomes an outcome."""
    started = time.perf_counter()
    try:
        return run(notebook, profile=profile, force=force, position=position)
    except BenchtrustError as error:
        return Outcome(notebook, "failed", time.perf_counter() - started, str(error))
