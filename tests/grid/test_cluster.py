"""Workers: the same files as in one process, whatever dies; models kept; failures that say what happened."""

import importlib
import os
import pickle
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from benchtrust.errors import BenchtrustError
from benchtrust.grid.plan import blocks
from benchtrust.grid.progress import Progress
from benchtrust.grid.store import SIDE_TABLE, Claims

pytest.importorskip("torch")
pytest.importorskip("distributed")

import dask
import distributed
from distributed.utils import get_mp_context

from benchtrust.grid import cluster
from benchtrust.grid import run as grid_run
from benchtrust.inference.tokens import ContextOverflowError

SMALL, BASE = "SmolLM2-135M-Instruct", "gemma-3-270m"
PRELOAD = """
import os, signal, time
from pathlib import Path
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from benchtrust.grid import run
from benchtrust.harness import Configuration
from benchtrust.inference import entry
from benchtrust.inference.model import wrap
from benchtrust.inference.tokens import ContextOverflowError

folder = Path({folder!r})
torch.set_num_threads(1)
Configuration.max_new_tokens = property(lambda self: 0 if self.scoring == "logprob" else 4)
run.engine.BATCH_ROWS = 4
original = run.original = getattr(run, "original", run.answer)  # Dask may read this file twice

def note(*words):
    with open(folder / "log", "a") as file:
        file.write(" ".join(map(str, [os.getpid(), *words])) + "\\n")

def load(name, *_):
    note("load", name)
    network = AutoModelForCausalLM.from_pretrained(folder / name)
    return wrap(entry(name), network, AutoTokenizer.from_pretrained(folder / name))

def answer(model, task):
    note("answer", task.batch[0].item_id)
    time.sleep(0.2)
    if task.device == "fatal":
        os.kill(os.getpid(), signal.SIGKILL)
    if task.device == "overflow":
        raise ContextOverflowError("99 tokens do not fit")
    return original(model, task)

run.load, run.answer = load, answer
"""


@dataclass
class Workers:
    """Two worker processes with the random models, and what they note."""

    client: distributed.Client
    folder: Path

    @property
    def address(self) -> str:
        return self.client.scheduler.address

    def log(self) -> list[list[str]]:
        """Process, "load" or "answer", and of what."""
        file = self.folder / "log"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def pids(self) -> set[int]:
        return set(self.client.run(os.getpid).values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory, stand_in):
    """The random models on disk, and the script that makes workers use them."""
    path = tmp_path_factory.mktemp("workers")
    for name in (SMALL, BASE):
        model = stand_in(name)
        settings = model.network.generation_config
        settings.update(do_sample=False, temperature=None, top_k=None, eos_token_id=settings.eos_token_id)
        model.network.save_pretrained(path / name)
        model.tokenizer.save_pretrained(path / name)
    (path / "preload.py").write_text(PRELOAD.format(folder=str(path)))
    return path


@pytest.fixture(scope="module")
def workers(folder) -> Iterator[Workers]:
    """Forked from a process that has imported the libraries, since each that dies is replaced."""
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}))
        get_mp_context().set_forkserver_preload(["distributed", "transformers", "benchtrust.grid.run"])
        with dask.config.set({"distributed.worker.preload": [str(folder / "preload.py")]}):
            client = stack.enter_context(cluster._client(2, ""))
        yield Workers(client, folder)


@pytest.fixture(autouse=True)
def in_this_process(standing_in) -> Iterator[None]:
    """The random model here too, in batches of four."""
    with standing_in():
        yield


def plan(models=(SMALL,), names=("xstest",)):
    axes = {"template": ["minimal", "detailed"], "shots": [0], "decoding": ["none", "t0.7"]}
    return blocks(models, names, source="practice", **axes)


def record(store: Path, n_items: int = 16, **how) -> dict[str, bytes]:
    """Record the plan, and return the files of its answers."""
    grid_run.run(plan(), n_items, store, quantization="none", progress=False, **how)
    files = [path for path in store.rglob("*") if path.suffix in (".parquet", SIDE_TABLE)]
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(files)}


def tasks(store: Path, n_items: int = 12, chosen=None, device: str = "cpu"):
    chosen = chosen or plan()
    bar = Progress(chosen, n_items, show=False)
    return grid_run.tasks(chosen, n_items, store, "none", device, Claims(store), bar)


# ---------------------------------------------------------------- the same answers


@pytest.fixture(scope="module")
def whole(standing_in, tmp_path_factory) -> dict[str, bytes]:
    """What one process records."""
    with standing_in():
        return record(tmp_path_factory.mktemp("one"))


def test_two_workers_write_the_files_of_one_process(workers, whole, tmp_path):
    assert record(tmp_path, scheduler=workers.address) == whole
    assert Counter(Path(name).suffix for name in whole) == {".parquet": 2 * 4, ".distributions": 4}


def test_a_killed_worker_leaves_no_trace(workers, whole, tmp_path):
    before, victim = len(workers.log()), min(workers.pids())

    def kill() -> None:
        """Kill the worker just after it has begun a batch, once there are two files."""
        while len(list(tmp_path.rglob("*.parquet"))) < 2:
            time.sleep(0.01)
        begun = len(workers.log())
        while [str(victim), "answer"] not in [line[:2] for line in workers.log()[begun:]]:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    assert record(tmp_path, scheduler=workers.address) == whole
    assert not killer.is_alive()
    assert victim not in workers.pids()
    begun = [line for line in workers.log()[before:] if line[1] == "answer"]
    assert len(begun) > 2 * 4


# ---------------------------------------------------------------- the order of tasks


def test_workers_go_through_the_plan_model_by_model_with_two_tasks_each(workers, tmp_path):
    workers.client.wait_for_workers(2)
    before, drawn, done, most = len(workers.log()), 0, 0, 0
    todo = list(tasks(tmp_path, 12, plan((SMALL, BASE))))

    def lazily():
        nonlocal drawn, most
        for task in todo:
            drawn += 1
            most = max(most, drawn - done)
            yield task

    for _ in cluster.answered(workers.client, lazily()):
        done += 1
    assert done == len(todo) == 2 * 2 * 3
    assert most == 2 * 2
    loads = [name for _, what, name in workers.log()[before:] if what == "load"]
    assert len(loads) <= 2 * 2 + 2, "one a model and worker, and a few where Dask moves a waiting task"


def test_nothing_is_under_way_when_the_plan_goes_on_after_a_pause(workers, tmp_path):
    first, second, third = list(tasks(tmp_path))[:3]
    yielded = []

    def pausing():
        yield first
        yield second
        yield None
        assert len(yielded) == 2
        yield None
        yield third

    for task, _ in cluster.answered(workers.client, pausing()):
        yielded.append(task)
    assert yielded[2] == third


def test_a_worker_with_several_threads_answers_one_task_at_a_time(tmp_path, monkeypatch):
    busy, most = 0, 0

    def answer(model, task):
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        time.sleep(0.05)
        busy -= 1

    monkeypatch.setattr(grid_run, "answer", answer)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as local,
        distributed.Client(local) as client,
    ):
        assert len(list(cluster.answered(client, tasks(tmp_path)))) == 2 * 3
    assert most == 1


def test_a_task_travels_whole(tmp_path):
    task = next(tasks(tmp_path))
    again = pickle.loads(pickle.dumps(task))
    assert again == task
    assert [cell.definition for cell in again.cells] == [cell.definition for cell in task.cells]
    assert [item.notes for item in again.batch] == [item.notes for item in task.batch]


# ---------------------------------------------------------------- failures


def test_what_a_task_raises_is_raised_here_after_the_others_under_way(workers, tmp_path):
    good, bad = list(tasks(tmp_path)), next(tasks(tmp_path / "bad", device="overflow"))
    given = []
    with pytest.raises(ContextOverflowError, match="99 tokens do not fit"):
        given += cluster.answered(workers.client, iter([good[0], bad, *good[1:]]))
    assert all(task in [one for one, _ in given] for task in good[:3])


def test_a_task_that_kills_its_workers_is_named(workers, tmp_path):
    workers.client.wait_for_workers(2)
    scheduler = workers.client.cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 0
    fatal = next(tasks(tmp_path, device="fatal"))
    try:
        with pytest.raises(BenchtrustError, match="workers died one after the other") as caught:
            list(cluster.answered(workers.client, iter([fatal])))
    finally:
        scheduler.allowed_failures = allowed
    assert fatal.block.name in str(caught.value)
    assert all(item.item_id in str(caught.value) for item in fatal.batch)


@pytest.mark.parametrize("package", ["benchtrust", "torch", "transformers", "bitsandbytes"])
@pytest.mark.parametrize("there", ["99.0", None])
def test_another_version_on_a_worker_is_an_error_that_names_the_package(package, there):
    class Stub:
        def run(self, function, name, on_error):
            assert on_error == "return"
            other = there or PackageNotFoundError(name)
            return {"tcp://a:1": function(name), "tcp://b:2": other if name == package else function(name)}

    said = (
        rf"tcp://b:2 has {package} {there or 'none'}, this run has {cluster.VERSIONS[package]}\. Install one"
    )
    with pytest.raises(BenchtrustError, match=said):
        cluster.check_versions(Stub())


def test_builds_of_one_version_may_differ():
    class Stub:
        def run(self, function, name, on_error):
            return {"tcp://a:1": cluster.VERSIONS[name] + "+cu999"}

    cluster.check_versions(Stub())
    assert all(found[0].isdigit() and "+" not in found for found in cluster.VERSIONS.values())


def test_another_version_on_a_worker_is_an_error_before_anything_is_asked(workers, tmp_path, monkeypatch):
    own = cluster.VERSIONS["torch"]
    monkeypatch.setitem(cluster.VERSIONS, "torch", "99.0")
    asked = []
    todo = (asked.append(task) or task for task in tasks(tmp_path))
    with pytest.raises(BenchtrustError, match=f"has torch {own}, this run has 99.0"):
        next(cluster.results(todo, scheduler=workers.address))
    assert asked == []


def test_a_worker_that_joins_later_with_another_version_is_found(workers, tmp_path, monkeypatch):
    monkeypatch.setitem(cluster.VERSIONS, "bitsandbytes", "99.0")
    with pytest.raises(BenchtrustError, match=r"The worker at tcp://\S+ has bitsandbytes"):
        next(cluster.answered(workers.client, tasks(tmp_path)))


def test_no_scheduler_is_an_error_that_says_how_to_start_one(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(BenchtrustError, match=r"tcp://127.0.0.1:1 .*`dask scheduler`.*`dask worker ADDRESS"):
        record(tmp_path, scheduler="tcp://127.0.0.1:1")


def test_a_scheduler_that_goes_away_is_an_error(tmp_path, monkeypatch):
    def answer(model, task):
        local.loop.add_callback(local.scheduler.close)
        time.sleep(1)

    monkeypatch.setattr(grid_run, "answer", answer)
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as local,
        pytest.raises(BenchtrustError, match="connection to the Dask scheduler was lost"),
    ):
        list(cluster.results(tasks(tmp_path), scheduler=local.scheduler.address))


def test_dask_that_is_not_installed_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "benchtrust.grid.cluster")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BenchtrustError, match=r'pip install "benchtrust\[cluster\]"'):
        importlib.import_module("benchtrust.grid.cluster")


def test_local_workers_share_the_cores_unless_the_user_has_said_otherwise(monkeypatch):
    monkeypatch.setattr(cluster, "CPU_COUNT", 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    assert cluster._threads(3) == {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    assert cluster._threads(9)["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert cluster._threads(3) == {"OMP_NUM_THREADS": "5", "MKL_NUM_THREADS": "5"}
