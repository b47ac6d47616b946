"""Stock tasks as processes of their package's environment; a run is kept whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pandas as pd
from filelock import FileLock

from benchtrust import items as benchmarks
from benchtrust.errors import PackageError
from benchtrust.items import Item
from benchtrust.packages import environments, folders
from benchtrust.packages import rows as layout
from benchtrust.packages.jobs import Job, Prepared
from benchtrust.packages.table import Task, packages

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONNOUSERSITE": "1",
    "PYTHONUNBUFFERED": "1",
}
LOG_LINES = 12
MATCHER = Path(__file__).parents[1] / "harness" / "refusal.py"
Watch = Callable[[float, str], None]


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes
    ----------
    package, benchmark, model : names; the model's is that of its folder.
    state : ``"run"``, ``"up to date"`` or ``"failed"``.
    seconds, cpu_seconds : of the package's processes; of the recorded run where it is up to date.
    folder : where its outputs lie.
    message : why it failed.
    """

    package: str
    benchmark: str
    model: str
    state: str
    seconds: float
    cpu_seconds: float
    folder: Path
    message: str = ""


def runs_folder() -> Path:
    """Folder of all finished runs: ``<package>/<model>/<benchmark>/`` below it."""
    return environments.base() / "runs"


def run(task: Task, model: str, n: int, source: str = "upstream", watch: Watch | None = None) -> Outcome:
    """Run a package's stock task on a model and the grid's first `n` items of a benchmark.

    A finished run of the same lock, model and items is left as it is. What a run leaves takes its place only
    if it is whole; a failed one leaves an earlier one alone, and its files and log stay in
    ``build/packages/work``.

    Parameters
    ----------
    model : name in the catalogue, or a transformers folder.
    watch : called about twice a second with the seconds passed and the last line that the package printed.

    Raises
    ------
    BenchtrustError : items or weights that cannot be had; a package's failure is an outcome.
    """
    drawn = layout.draw(task.benchmark, n, source)
    name, package = (task.package, task.benchmark, folders.name(model)), packages()[task.package]
    try:
        environments.check(package)
    except PackageError as error:
        return Outcome(*name, "failed", 0.0, 0.0, environments.home(package), str(error))
    job = _job(task, folders.folder(model), *drawn, source)
    target = runs_folder() / task.package / job.model.name / task.benchmark
    job.work.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{job.work}.lock"):
        try:
            inputs = _inputs(job, source)
            if (there := read(target)) and inputs.items() <= there.items():
                return Outcome(*name, "up to date", there["seconds"], there["cpu_seconds"], target)
            facts = _execute(job, watch or (lambda *_: None))
            _keep(job, target, {**facts, **inputs})
        except PackageError as error:
            return Outcome(*name, "failed", 0.0, 0.0, job.work, str(error))
    return Outcome(*name, "run", facts["seconds"], facts["cpu_seconds"], target)


def read(folder: Path) -> dict:
    """What `run.json` of a run's folder says; empty if there is none, PackageError if it is not whole."""
    path = folder / "run.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        raise PackageError(f"{path} cannot be read: remove {folder} and run it again.")
    return facts


def status(folder: Path | None = None) -> pd.DataFrame:
    """Finished runs, a row each: package, version, model, benchmark, source, items, seconds, cpu_seconds."""
    found = [read(path.parent) for path in sorted((folder or runs_folder()).glob("*/*/*/run.json"))]
    columns = ["package", "version", "model", "benchmark", "source", "items", "seconds", "cpu_seconds"]
    return pd.DataFrame([{**r, "items": len(r.get("item_ids", []))} for r in found], columns=columns)


def _job(task: Task, folder: Path, chosen: list[Item], rest: list[Item], source: str) -> Job:
    work = environments.base() / "work" / task.package / folder.name / task.benchmark
    made = (tuple(layout.rows(task.benchmark, some, source)) for some in (chosen, rest))
    return Job(task, folder, tuple(chosen), *made, work)


def _inputs(job: Job, source: str) -> dict[str, object]:
    """All that determines what a run answers."""
    rows = json.dumps([job.rows, job.rest], ensure_ascii=False)
    judge = [Path(__file__).parent / "inside" / f"{job.task.package}_local.py", MATCHER]
    judged = b"".join(path.read_bytes() for path in judge) if job.task.judge else b""
    return {
        "lock_sha256": environments.lock_sha256(packages()[job.task.package]),
        "model_sha256": folders.sha256(job.model),
        "stock": list(job.task.stock),
        "source": source,
        "items_sha256": benchmarks.item_set_hash(job.items),
        "item_ids": [item.item_id for item in job.items],
        "rows_sha256": hashlib.sha256(rows.encode()).hexdigest(),
        **({"judge_sha256": hashlib.sha256(judged).hexdigest()} if judged else {}),
    }


def _execute(job: Job, watch: Watch) -> dict[str, object]:
    """Run all commands of a job; facts for `run.json`."""
    package = packages()[job.task.package]
    shutil.rmtree(job.work, ignore_errors=True)
    job.output.mkdir(parents=True)
    prepared = _module(job).prepare(job, environments.site(package))
    started, clock, cpu = datetime.now(UTC), time.perf_counter(), _cpu_seconds()
    for arguments in prepared.commands:
        command = [str(environments.python(package)), "-P", *arguments]
        if code := _call(command, job, prepared, lambda line: watch(time.perf_counter() - clock, line)):
            raise _failure(job, f"ended with {code}")
    return {
        "package": package.name,
        "version": environments.versions(package),
        "commit": environments.commit(package),
        "model": job.model.name,
        "benchmark": job.task.benchmark,
        "command": [["python", *arguments] for arguments in prepared.commands],
        "returncode": 0,
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 1),
        "cpu_seconds": round(_cpu_seconds() - cpu, 1),
    }


def _call(command: list[str], job: Job, prepared: Prepared, say: Callable[[str], None]) -> int:
    """Run one command in the work folder, its log in `log.txt` there; its exit code."""
    log = job.work / "log.txt"
    with log.open("ab") as handle:
        process = subprocess.Popen(
            command,
            cwd=job.work,
            env=_environment(job, prepared),
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=subprocess.STDOUT,
        )
        try:
            while process.poll() is None:
                say(next(iter(_last_lines(log, 1)), ""))
                time.sleep(0.5)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return process.returncode


def _environment(job: Job, prepared: Prepared) -> dict[str, str]:
    """This process's variables without Python's own; offline, and all caches in the work folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    caches = {name: str(job.work / "caches") for name in ("HF_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    return kept | caches | OFFLINE | prepared.environment


def _keep(job: Job, target: Path, facts: dict[str, object]) -> None:
    """Put what the package left, its log and `run.json` where finished runs lie."""
    try:
        left = _module(job).outputs(job)
    except PackageError as error:
        raise _failure(job, str(error)) from error
    scratch = target.with_name(f".{target.name}.writing")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(left, scratch)
    shutil.copy2(job.work / "log.txt", scratch)
    text = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
    (scratch / "run.json").write_text(text, encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    scratch.rename(target)
    shutil.rmtree(job.work)


def _module(job: Job) -> ModuleType:
    return import_module(f"benchtrust.packages.{job.task.package}")


def _failure(job: Job, what: str) -> PackageError:
    log = job.work / "log.txt"
    said = "\n".join(f"  {line}" for line in _last_lines(log, LOG_LINES))
    title = packages()[job.task.package].title
    return PackageError(f"{title} on {job.task.benchmark}: {what}\nThe end of its log, {log}:\n{said}")


def _last_lines(log: Path, n: int) -> list[str]:
    """Last lines that are not empty; a progress bar's states are lines too, and colours are left out."""
    with log.open("rb") as handle:
        handle.seek(max(0, handle.seek(0, os.SEEK_END) - 8192))
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", handle.read().decode("utf-8", "replace"))
    lines = [line.strip() for line in re.split(r"[\r\n]+", text)]
    return [line for line in lines if line][-n:]


def _cpu_seconds() -> float:
    """CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
