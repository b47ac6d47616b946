"""lm-evaluation-harness: stock tasks, included by task files that change only where the data come from."""

from pathlib import Path

import yaml

from benchtrust.errors import PackageError
from benchtrust.packages.jobs import Job, Prepared, write_lines

SUFFIX = "_local"
FILES = {
    "truthfulqa_mc1": ("truthfulqa/truthfulqa_mc1.yaml", "validation"),
    "truthfulqa_mc2": ("truthfulqa/truthfulqa_mc2.yaml", "validation"),
    "bbq": ("bbq/bbq_multiple_choice.yaml", "test"),
    "toxigen": ("toxigen/toxigen.yaml", "test"),
    "crows_pairs_english": ("crows_pairs/crows_pairs_english.yaml", "test"),
}
"""Stock task → its file under the package's tasks, and the split that it asks."""

BATCH = 8


def prepare(job: Job, site: Path) -> Prepared:
    """Write rows and task files; `site` is the folder that the package is installed in."""
    data = write_lines(job.work / "rows.jsonl", job.rows)
    for stock in job.task.stock:
        path = job.work / "tasks" / f"{stock}{SUFFIX}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(task_file(stock, site, data), sort_keys=False), encoding="utf-8")
    return Prepared([_command(job, stock) for stock in reversed(job.task.stock)])


def _command(job: Job, stock: str) -> list[str]:
    """One task; what an earlier one of the job asked is taken from the package's own cache of answers.

    TruthfulQA's mc2 has all the answers of mc1, so mc1 comes after it.
    """
    return [
        *("-m", "lm_eval", "run", "--model", "hf"),
        *("--model_args", f"pretrained={job.model},dtype=float32"),
        *("--include_path", str(job.work / "tasks")),
        *("--tasks", f"{stock}{SUFFIX}"),
        *("--batch_size", str(BATCH), "--device", "cpu"),
        *("--use_cache", str(job.work / "answers")),
        *("--log_samples", "--output_path", str(job.output)),
    ]


def task_file(stock: str, site: Path, data: Path) -> dict:
    """Task file on local rows: everything else is the stock task's."""
    file, split = FILES[stock]
    changed = {
        "include": str(site / "lm_eval" / "tasks" / file),
        "task": f"{stock}{SUFFIX}",
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {"data_files": {split: str(data)}},
    }
    return changed | ({"training_split": None} if stock == "toxigen" else {})


def outputs(job: Job) -> Path:
    """Folder with a results file and a samples file a task, each with all items.

    Raises
    ------
    PackageError : a file is missing or has another number of items.
    """
    results = list(job.output.rglob("results_*.json"))
    if len(results) != len(job.task.stock):
        raise PackageError(
            f"lm-eval left {len(results)} results files in {job.output} instead of {len(job.task.stock)}."
        )
    for stock in job.task.stock:
        counts = [_lines(path) for path in results[0].parent.glob(f"samples_{stock}{SUFFIX}_*.jsonl")]
        if counts != [len(job.items)]:
            raise PackageError(f"lm-eval answered {counts} items of {stock} instead of {len(job.items)}.")
    return results[0].parent


def _lines(path: Path) -> int:
    with path.open(encoding="utf-8") as handle:
        return sum(1 for _ in handle)
