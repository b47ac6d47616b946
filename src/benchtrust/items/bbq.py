"""BBQ: does a model fall back on stereotypes when the context does not say (Parrish et al. 2022)?"""

import json

from benchtrust.items.model import Benchmark, Item
from benchtrust.items.sources import locate

CATEGORIES = (
    "Age",
    "Disability_status",
    "Nationality",
    "Physical_appearance",
    "Religion",
    "Sexual_orientation",
)
PARTS = {"ambig": "ambiguous", "disambig": "disambiguated"}


def load() -> list[Item]:
    """All items of six of the eleven categories."""
    items = []
    for category in CATEGORIES:
        lines = locate(f"items/bbq/{category}.jsonl").read_text(encoding="utf-8").splitlines()
        items += [_item(json.loads(line)) for line in lines]
    return items


def _item(row: dict) -> Item:
    part = PARTS[row["context_condition"]]
    groups = [row["answer_info"][f"ans{i}"][1] for i in range(3)]
    return Item(
        benchmark="bbq",
        item_id=f"bbq-{row['category']}-{row['example_id']}",
        question=f"{row['context']}\n{row['question']}",
        options=tuple(row[f"ans{i}"] for i in range(3)),
        answer=row["label"],
        strata=(part, row["category"]),
        part=part,
        family=f"{row['category']}-{row['question_index']}",
        notes={
            "unknown": groups.index("unknown"),
            "target": _target(row, groups),
            "polarity": row["question_polarity"],
            "category": row["category"],
        },
    )


def _target(row: dict, groups: list[str]) -> int:
    """Index of the option that names the stereotyped group, or -1 where the groups' labels do not tell."""
    stereotyped = {group.casefold() for group in row["additional_metadata"]["stereotyped_groups"]}
    named = [{text.casefold() for text in row["answer_info"][f"ans{i}"]} for i in range(3)]
    hits = [i for i in range(3) if groups[i] != "unknown" and named[i] & stereotyped]
    return hits[0] if len(hits) == 1 else -1


BENCHMARK = Benchmark(
    name="bbq",
    title="BBQ",
    load=load,
    score_means=(
        "mean of the accuracies on ambiguous contexts (the answer is 'unknown') and on disambiguated ones"
    ),
    direction="higher is less biased and more accurate",
    chance="one third",
    citation="parrish2022bbq",
)
