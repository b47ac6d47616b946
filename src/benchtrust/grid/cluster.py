"""Tasks answered by Dask workers, on this machine or on many.

A worker needs the package and a model's weights: items travel in the task, and its answers travel back to the
client, which alone writes the store.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from threading import Lock

from benchtrust.errors import BenchtrustError
from benchtrust.grid.run import Answers, Task, perform

try:
    import dask
    from dask.system import CPU_COUNT
    from distributed import (
        CancelledError,
        Client,
        Future,
        KilledWorker,
        LocalCluster,
        as_completed,
        get_worker,
    )
except ImportError as error:
    raise BenchtrustError(
        'Workers need Dask, which is not installed: pip install "benchtrust[cluster]".'
    ) from error

PACKAGES = ("benchtrust", "torch", "transformers", "bitsandbytes")
"""What an answer depends on, so that all machines need one version of each."""
TASKS_A_WORKER = 2
CONNECT_SECONDS = 30
LOCAL = {
    # Dask would set its variables in this process too, and leave them set.
    "distributed.nanny.pre-spawn-environ": {},
    # A worker that starts again imports torch first: on a busy machine that takes longer than 15 seconds.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
}
LOST = (
    "The connection to the Dask scheduler was lost. Answers that came before are in the store: start the "
    "scheduler again, and run again to go on."
)
END = object()


def results(
    todo: Iterator[Task | None], workers: int = 0, scheduler: str = ""
) -> Iterator[tuple[Task, Answers]]:
    """Tasks with their answers, in the order in which they are done.

    Parameters
    ----------
    todo : tasks in the order of the plan, drawn as workers come free; see `answered`.
    workers : worker processes to start on this machine; they share its cores, and stop at the end.
    scheduler : address of a running Dask scheduler whose workers answer instead.

    Raises
    ------
    BenchtrustError : no scheduler answers, a worker has another version of one of `PACKAGES`, a task ended
        its workers again and again, or the scheduler went away. What a task itself raises is raised as it is.
    """
    with _client(workers, scheduler) as client:
        if not _workers(client):
            logging.getLogger(__name__).warning("No worker at %s yet: waiting for the first.", scheduler)
            client.wait_for_workers(1)
        check_versions(client)
        yield from answered(client, todo)


@contextmanager
def _client(workers: int, scheduler: str) -> Iterator[Client]:
    """A client of the scheduler, or of workers that end with it."""
    if scheduler:
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise BenchtrustError(
                f"No Dask scheduler answers at {scheduler} ({error}). Start one with `dask scheduler`, and "
                "workers with `dask worker ADDRESS --nthreads 1 --nworkers N --memory-limit 0` on each "
                "machine; or answer on this machine alone, with --workers N."
            ) from error
        with client:
            yield client
        return
    with (
        dask.config.set(LOCAL),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            env=_threads(workers),
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _threads(workers: int) -> dict[str, str]:
    """Variables that share the cores among local workers; what the user has set stays."""
    chosen = os.environ.get("OMP_NUM_THREADS") or str(max(1, CPU_COUNT // workers))
    return {"OMP_NUM_THREADS": chosen, "MKL_NUM_THREADS": os.environ.get("MKL_NUM_THREADS") or chosen}


def check_versions(client: Client) -> None:
    """Compare `PACKAGES` on all workers with the client's.

    Raises
    ------
    BenchtrustError : a worker has another version of one, or none.
    """
    for package, wanted in VERSIONS.items():
        for address, found in client.run(version, package, on_error="return").items():
            _compare(address, package, _public(found), wanted)


def _installed(package: str) -> str:
    """The version of a package that is installed here, or "none"."""
    try:
        return _public(version(package))
    except PackageNotFoundError:
        return "none"


def _public(found: str | Exception) -> str:
    """A version without the label of its build, such as ``+cpu``: machines may differ in that."""
    return found.partition("+")[0] if isinstance(found, str) else "none"


def _compare(address: str, package: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise BenchtrustError(
            f"The worker at {address} has {package} {found}, this run has {wanted}. Install one version "
            "(requirements.lock) on all machines, start the workers again, and run again to go on."
        )


VERSIONS = {package: _installed(package) for package in PACKAGES}


def answered(client: Client, todo: Iterator[Task | None]) -> Iterator[tuple[Task, Answers]]:
    """Tasks with their answers, at most `TASKS_A_WORKER` for each worker under way.

    Workers take tasks in the order of `todo`, so that each seldom loads another model. A worker that dies has
    its tasks done by others. After a failure no more tasks are sent, those under way are still yielded, and
    the failure that came first in `todo` is raised.

    Parameters
    ----------
    todo : tasks; where it gives None, all that are under way are yielded before it is asked again.
    """
    numbers = count()
    under_way: dict[Future, tuple[int, Task]] = {}
    failures: dict[int, Exception] = {}
    finished, paused = as_completed(loop=client.loop), False
    while True:
        room = TASKS_A_WORKER * max(1, _workers(client))
        while not failures and len(under_way) < room and not (paused and under_way):
            if (task := next(todo, END)) is END:
                break
            if paused := task is None:
                continue
            n = next(numbers)
            future = client.submit(_perform, task, VERSIONS, pure=False, priority=-n)
            under_way[future] = n, task
            finished.add(future)
        if not under_way:
            break
        future = next(finished)
        n, task = under_way.pop(future)
        try:
            answers = _answers(future, task)
        except Exception as error:
            failures[n] = error
        else:
            yield task, answers
    if failures:
        raise failures[min(failures)]


def _workers(client: Client) -> int:
    try:
        return len(client.nthreads())
    except OSError as error:
        raise BenchtrustError(LOST) from error


def _answers(future: Future, task: Task) -> Answers:
    try:
        return future.result()
    except KilledWorker as error:
        ids = [item.item_id for item in task.batch]
        raise BenchtrustError(
            f"{error.allowed_failures + 1} workers died one after the other over {task.block.name}, items "
            f"{', '.join(ids)}; the last was at {error.last_worker.address}. Most often the memory does not "
            "hold the model: start fewer workers, or take a larger machine or a smaller model. Answers of "
            "other batches are in the store: run again to go on."
        ) from error
    except CancelledError as error:
        raise BenchtrustError(LOST) from error


_one_at_a_time = Lock()


def _perform(task: Task, wanted: dict[str, str]) -> Answers:
    """On a worker: answer one task at a time, whatever number of threads the worker was given."""
    for package, number in wanted.items():
        _compare(get_worker().address, package, _installed(package), number)
    with _one_at_a_time:
        return perform(task)
