"""Inspect: the stock task from a task file that replaces only the loader of its data."""

import json
from pathlib import Path

from benchtrust.errors import PackageError
from benchtrust.packages.emulate import recipe
from benchtrust.packages.jobs import Job, Prepared, write_lines
from benchtrust.packages.rows import CATEGORIES

TASKS = Path(__file__).parent / "inside" / "inspect_local.py"


def prepare(job: Job, site: Path) -> Prepared:
    """Write rows, and BBQ's cache; `site` is the folder that the package is installed in."""
    rows = write_lines(job.work / "rows.jsonl", job.rows)
    evals = job.work / "evals"
    for category in CATEGORIES:
        own = [row for row in job.rows if row.get("category") == category]
        write_lines(evals / "bbq_dataset" / "bbq" / "data" / f"{category}.jsonl", own)
    (stock,) = job.task.stock
    limited = job.task.benchmark == "xstest"  # by the task itself
    limit = [] if limited else ["--max-tokens", str(recipe("inspect", job.task.benchmark).limit)]
    commands = [
        [
            *("-m", "inspect_ai", "eval", f"{TASKS}@{stock}_local", "--model", f"hf/{job.model.name}"),
            *("-M", f"model_path={job.model}", "-M", "device=cpu", "-M", "do_sample=false"),
            *limit,
            *("--display", "plain", "--log-dir", str(job.output), "--log-format", "json"),
            *arguments,
        ]
        for arguments in _parts(job)
    ]
    return Prepared(commands, {"BENCHTRUST_ROWS": str(rows), "INSPECT_EVALS_CACHE_DIR": str(evals)})


def _parts(job: Job) -> list[list[str]]:
    """Further arguments of each command."""
    if job.task.benchmark == "bbq":
        here = [category for category in CATEGORIES if any(r["category"] == category for r in job.rows)]
        return [["-T", f"subsets={','.join(here)}"]]
    if job.task.benchmark == "xstest":
        subsets = sorted({row["label"] for row in job.rows})
        return [["-T", f"subset={subset}", "--temperature", "1"] for subset in subsets]
    return [[]]


def outputs(job: Job) -> Path:
    """Folder with the logs, one a command, all items answered.

    Raises
    ------
    PackageError : a log says that its task did not succeed, or items are missing.
    """
    logs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(job.output.glob("*.json"))]
    for log in logs:
        if log["status"] != "success":
            error = (log.get("error") or {}).get("message", "no reason given")
            raise PackageError(f"Inspect's task ended as {log['status']}: {error}")
    answered = sum(len(log.get("samples") or []) for log in logs)
    if answered != len(job.items):
        raise PackageError(f"Inspect answered {answered} items instead of {len(job.items)}.")
    return job.output
