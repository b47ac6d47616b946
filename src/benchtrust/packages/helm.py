"""HELM: its scenario's files filled with local rows, laid so that HELM's own seeds draw the chosen items.

HELM shuffles, splits and samples the rows of a file by fixed seeds. Here the same draws are made beforehand,
and the chosen items are put where they fall; the other rows are for exemplars and filling.
"""

import csv
import json
import random
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from benchtrust.errors import PackageError
from benchtrust.packages.jobs import Job, Prepared, write_lines
from benchtrust.packages.rows import CATEGORIES

SUITE = "benchtrust"
TRAIN_RATIO = 0.2
TEST_SIZE = 1000
BBQ_ROWS = 2000
COLUMNS = ("Type", "Category", "Question", "Best Answer", "Correct Answers", "Incorrect Answers", "Source")
PLUGIN = Path(__file__).parent / "inside" / "helm_local.py"


def prepare(job: Job, site: Path) -> Prepared:
    """Fill the scenario's files; `site` is the folder that the package is installed in."""
    scenarios = job.output / "scenarios"
    rows = write_lines(job.work / "rows.jsonl", job.rows)
    if job.task.benchmark == "truthfulqa":
        _write_truthfulqa(scenarios / "truthful_qa" / "data" / "TruthfulQA.csv", job)
    if job.task.benchmark == "bbq":
        _write_bbq(scenarios / "bbq" / "data", job)
    (stock,) = job.task.stock
    entry = f"{stock}{',' if ':' in stock else ':'}model=huggingface/{job.model.name}"
    command = [
        *("-m", "helm.benchmark.run", "--enable-local-huggingface-models", str(job.model)),
        *("--run-entries", entry, "--suite", SUITE, "--max-eval-instances", str(len(job.items))),
        *("--num-threads", "1", "--disable-cache", "--exit-on-error"),
        *("--output-path", str(job.output), "--local-path", str(job.work / "local")),
        *(("--plugins", str(PLUGIN)) if job.task.benchmark == "xstest" else ()),
    ]
    return Prepared([command], {"BENCHTRUST_ROWS": str(rows)})


def outputs(job: Job) -> Path:
    """HELM's folder of the run, with exactly the chosen items asked.

    Raises
    ------
    PackageError : the folder is missing, or other items were asked than the chosen ones.
    """
    states = list(job.output.glob(f"runs/{SUITE}/*/scenario_state.json"))
    if len(states) != 1:
        raise PackageError(f"HELM left {len(states)} runs in {job.output} instead of one.")
    requests = json.loads(states[0].read_text(encoding="utf-8"))["request_states"]
    asked = sorted(request["instance"]["input"]["text"] for request in requests)
    wanted = sorted(_asked(job.task.benchmark, row) for row in job.rows)
    if asked != wanted:
        strange = len([text for text in asked if text not in wanted])
        raise PackageError(
            f"HELM asked {len(asked)} items, {strange} of them not among the {len(wanted)} chosen ones: its "
            "draws are not those of the pinned version."
        )
    return states[0].parent


def _asked(benchmark: str, row: dict) -> str:
    """Text of an item in HELM's scenario."""
    if benchmark == "bbq":
        return f"{row['context']}\nQuestion: {row['question']}"
    return row["question"].strip() if benchmark == "truthfulqa" else row["prompt"]


# -------------------------------------------------------------------------------------------- where rows lie


def drawn(n_eval: int, n: int) -> list[int]:
    """Which `n` of `n_eval` rows HELM asks, in its order."""
    if n > n_eval:
        raise PackageError(f"HELM can ask at most {n_eval} items of this benchmark, not {n}.")
    if n == n_eval:
        return list(range(n_eval))
    return [int(i) for i in np.random.RandomState(0).permutation(n_eval)[:n]]


def lay_truthfulqa(rows: Sequence[dict], rest: Sequence[dict]) -> list[dict]:
    """All rows in the order of HELM's file: it trains on the first fifth and draws items from the others."""
    total = len(rows) + len(rest)
    train = int(total * TRAIN_RATIO)
    places = {train + place: row for place, row in zip(drawn(total - train, len(rows)), rows, strict=True)}
    others = iter(rest)
    return [places[i] if i in places else next(others) for i in range(total)]


def lay_bbq(rows: Sequence[dict], rest: Sequence[dict], total: int = BBQ_ROWS) -> dict[str, list[dict]]:
    """Rows of each category's file.

    HELM reads the files one after the other, shuffles all rows, and draws from the last 1,000. The places
    that it draws are shared out to the categories in their order; each file ends where its share does. Rows
    of the rest fill the other places, again from the first where they are fewer.
    """
    order = list(range(total))
    random.Random(0).shuffle(order)
    first = total - TEST_SIZE
    places = sorted(order[first + i] for i in drawn(TEST_SIZE, len(rows)))
    files, start = {}, 0
    present = [category for category in CATEGORIES if _of(category, rows)]
    for category in present:
        own = _of(category, rows)
        taken, places = places[: len(own)], places[len(own) :]
        end = total if category == present[-1] else (taken[-1] + 1 + places[0]) // 2
        at = dict(zip(taken, own, strict=True))
        if not (others := _of(category, rest)):
            raise PackageError(f"All items of {category} are asked: HELM needs others for its exemplars.")
        filling = cycle(others)
        files[category] = [at[i] if i in at else next(filling) for i in range(start, end)]
        start = end
    return files


def _of(category: str, rows: Sequence[dict]) -> list[dict]:
    return [row for row in rows if row["category"] == category]


def _write_truthfulqa(path: Path, job: Job) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(COLUMNS)
        writer.writerows(_truthfulqa_columns(row) for row in lay_truthfulqa(job.rows, job.rest))


def _truthfulqa_columns(row: dict) -> list[str]:
    best, *others = row["mc1_targets"]["choices"]
    if split := [text for text in others if ";" in text]:
        raise PackageError(
            f"HELM would split an option at its semicolon: {split[0]!r} of {row['question']!r}."
        )
    return ["", "", row["question"], best, best, "; ".join(others), ""]


def _write_bbq(folder: Path, job: Job) -> None:
    files = lay_bbq(job.rows, job.rest)
    for category in CATEGORIES:
        write_lines(folder / category, files.get(category, []))
