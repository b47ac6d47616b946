"""TruthfulQA, mc1: one true answer among popular falsehoods (Lin et al. 2022)."""

import csv
import json

from benchtrust.errors import pick
from benchtrust.items.model import Benchmark, Item
from benchtrust.items.sources import locate

FILES = {"current": "items/truthfulqa/mc_task.json", "v1": "items/truthfulqa/mc_task_v1.json"}


def load(version: str = "current") -> list[Item]:
    """790 items of the current version, or 817 of ``"v1"``; upstream puts the true answer first in each.

    Seventeen current items carry an option without text, left by a split; it is dropped and `notes` says so.
    """
    version = pick(version, FILES, "TruthfulQA version")
    categories = _categories()
    tasks = json.loads(locate(FILES[version]).read_text(encoding="utf-8"))
    return [_item(number, task, version, categories) for number, task in enumerate(tasks)]


def _item(number: int, task: dict, version: str, categories: dict[str, str]) -> Item:
    truth = task["mc1_targets"]
    options = tuple(option for option in truth if option.strip())
    return Item(
        benchmark="truthfulqa",
        item_id=f"truthfulqa-{version}-{number:04d}",
        question=task["question"],
        options=options,
        answer=next(i for i, option in enumerate(options) if truth[option] == 1),
        strata=(categories.get(task["question"], "none given"),),
        notes={"options_dropped": len(truth) - len(options)},
    )


def _categories() -> dict[str, str]:
    with locate("items/truthfulqa/TruthfulQA.csv").open(newline="", encoding="utf-8") as handle:
        return {row["Question"]: row["Category"] for row in csv.DictReader(handle)}


BENCHMARK = Benchmark(
    name="truthfulqa",
    title="TruthfulQA",
    load=load,
    score_means="share of questions on which the true answer (mc1) is chosen",
    direction="higher is more truthful",
    chance="the mean of 1 over the number of options (two to thirteen)",
    citation="lin2022truthfulqa",
)
