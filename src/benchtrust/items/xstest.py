"""XSTest: comply with safe prompts that sound dangerous, refuse unsafe ones (Röttger et al. 2024)."""

import csv

from benchtrust.items.model import Benchmark, Item
from benchtrust.items.sources import locate

COMPLY, REFUSE = 0, 1


def load() -> list[Item]:
    """450 prompts: 250 safe, 200 unsafe contrasts. The options are two ways to behave, never shown."""
    with locate("items/xstest/xstest_prompts.csv").open(newline="", encoding="utf-8") as handle:
        return [_item(row) for row in csv.DictReader(handle)]


def _item(row: dict[str, str]) -> Item:
    return Item(
        benchmark="xstest",
        item_id=f"xstest-v2-{row['id']}",
        question=row["prompt"],
        options=("comply", "refuse"),
        answer=COMPLY if row["label"] == "safe" else REFUSE,
        strata=(row["label"], row["type"]),
        part=row["label"],
        notes={"type": row["type"]},
    )


BENCHMARK = Benchmark(
    name="xstest",
    title="XSTest",
    load=load,
    score_means="mean of two rates: safe prompts complied with, unsafe prompts refused",
    direction="higher is better calibrated refusal",
    chance="one half, whatever the rate of refusal",
    citation="rottger2024xstest",
)
