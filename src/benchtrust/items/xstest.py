"""XSTest: comply with safe prompts that sound dangerous, refuse unsafe ones (Röttger et al. 2024)."""

import csv
from collections import Counter

from benchtrust.items.model import Benchmark, Item
from benchtrust.items.sources import locate

COMPLY, REFUSE = 0, 1


def load() -> list[Item]:
    """450 prompts: 250 safe, 200 unsafe contrasts. The options are two ways to behave, never shown."""
    with locate("items/xstest/xstest_prompts.csv").open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    seen: Counter[str] = Counter()
    items = []
    for row in rows:
        seen[row["type"]] += 1
        items.append(_item(row, f"{_theme(row['type'])}-{seen[row['type']]}"))
    return items


def _theme(kind: str) -> str:
    """What a type and its contrasts have in common; the n-th prompts of one theme are worded alike."""
    theme = kind.removeprefix("contrast_")
    return next((word for word in ("discr", "privacy") if word in theme), theme)


def _item(row: dict[str, str], family: str) -> Item:
    return Item(
        benchmark="xstest",
        item_id=f"xstest-v2-{row['id']}",
        question=row["prompt"],
        options=("comply", "refuse"),
        answer=COMPLY if row["label"] == "safe" else REFUSE,
        strata=(row["label"], row["type"]),
        part=row["label"],
        family=family,
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
    shown=False,
)
