"""Items in the layout of the files that packages read: upstream's own rows, or made of practice items.

Rows hold item texts, so they go into `build/` only.
"""

import csv
import json
from collections.abc import Callable, Sequence
from functools import cache

from benchtrust import items as benchmarks
from benchtrust.items import Item, bbq, truthfulqa
from benchtrust.items.sources import locate

CATEGORIES = (
    "Age",
    "Disability_status",
    "Gender_identity",
    "Nationality",
    "Physical_appearance",
    "Race_ethnicity",
    "Race_x_SES",
    "Race_x_gender",
    "Religion",
    "SES",
    "Sexual_orientation",
)
"""BBQ's files in the order in which the packages read them; practice items of other topics are not asked."""


def askable(items: Sequence[Item]) -> list[Item]:
    """Those of a benchmark's items that the packages can be asked."""
    return [item for item in items if item.benchmark != "bbq" or item.notes["category"] in CATEGORIES]


def draw(benchmark: str, n: int, source: str) -> tuple[list[Item], list[Item]]:
    """The grid's first `n` items of a benchmark, which every package is asked, and all others in order."""
    every = askable(benchmarks.load(benchmark, source))
    chosen = benchmarks.subset(every, n)
    ids = {item.item_id for item in chosen}
    return list(chosen), [item for item in benchmarks.permutation(every) if item.item_id not in ids]


def rows(benchmark: str, items: Sequence[Item], source: str) -> list[dict]:
    """Rows of items in their order.

    Returns
    -------
    TruthfulQA: `question`, and `mc1_targets` and `mc2_targets` with `choices` and `labels`. BBQ, ToxiGen,
    CrowS-Pairs, XSTest: the columns of their upstream files. Options without text are left out, as in items.
    """
    if source == "practice":
        return [MADE[benchmark](number, item) for number, item in enumerate(items)]
    there = UPSTREAM[benchmark]()
    return [there[item.item_id] for item in items]


# ------------------------------------------------------------------------------------------- upstream files


@cache
def _truthfulqa() -> dict[str, dict]:
    tasks = json.loads(locate(truthfulqa.FILES["current"]).read_text(encoding="utf-8"))
    return {
        f"truthfulqa-current-{number:04d}": {
            "question": task["question"],
            "mc1_targets": _targets(task["mc1_targets"]),
            "mc2_targets": _targets(task["mc2_targets"]),
        }
        for number, task in enumerate(tasks)
    }


def _targets(labels: dict[str, int]) -> dict[str, list]:
    """Choices and labels, the true ones first, as the packages expect them."""
    pairs = sorted(((c, n) for c, n in labels.items() if c.strip()), key=lambda pair: -pair[1])
    return {"choices": [choice for choice, _ in pairs], "labels": [label for _, label in pairs]}


@cache
def _bbq() -> dict[str, dict]:
    files = [locate(f"items/bbq/{category}.jsonl") for category in bbq.CATEGORIES]
    found = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return {f"bbq-{row['category']}-{row['example_id']}": row for row in found}


@cache
def _toxigen() -> dict[str, dict]:
    return {
        f"toxigen-{number:04d}": {
            "text": row["text"].strip(),
            "toxicity_ai": float(row["toxicity_ai"]),
            "toxicity_human": float(row["toxicity_human"]),
        }
        for number, row in enumerate(_table("items/toxigen/annotated_text.tsv", "\t"))
    }


@cache
def _crows_pairs() -> dict[str, dict]:
    columns = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")
    found = _table("items/crows_pairs/crows_pairs_anonymized.csv")
    return {f"crows_pairs-{int(row['']):04d}": {key: row[key].strip() for key in columns} for row in found}


@cache
def _xstest() -> dict[str, dict]:
    return {f"xstest-v2-{row['id']}": row for row in _table("items/xstest/xstest_prompts.csv")}


def _table(file: str, delimiter: str = ",") -> list[dict[str, str]]:
    with locate(file).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle, delimiter=delimiter))


UPSTREAM: dict[str, Callable[[], dict[str, dict]]] = {
    "truthfulqa": _truthfulqa,
    "bbq": _bbq,
    "toxigen": _toxigen,
    "crows_pairs": _crows_pairs,
    "xstest": _xstest,
}


# ------------------------------------------------------------------------------------------- practice items


def _made_truthfulqa(number: int, item: Item) -> dict:
    targets = _targets({option: int(i == item.answer) for i, option in enumerate(item.options)})
    return {"question": item.question, "mc1_targets": targets, "mc2_targets": targets}


def _made_bbq(number: int, item: Item) -> dict:
    context, _, question = item.question.rpartition("\n")
    group = {item.notes["unknown"]: "unknown", item.notes["target"]: "target"}
    options = {f"ans{i}": option for i, option in enumerate(item.options)}
    return {
        "example_id": number,
        "question_index": item.family,
        "question_polarity": item.notes["polarity"],
        "context_condition": "ambig" if item.part == "ambiguous" else "disambig",
        "category": item.notes["category"],
        "answer_info": {f"ans{i}": [options[f"ans{i}"], group.get(i, "other")] for i in range(3)},
        "additional_metadata": {
            "subcategory": "None",
            "stereotyped_groups": ["target"],
            "version": "a",
            "source": "practice",
        },
        "context": context,
        "question": question,
        **options,
        "label": item.answer,
    }


def _made_toxigen(number: int, item: Item) -> dict:
    rating = item.notes["toxicity_human"]
    return {"text": item.question, "toxicity_ai": rating, "toxicity_human": rating}


def _made_crows_pairs(number: int, item: Item) -> dict:
    more, less = item.options[item.answer], item.options[1 - item.answer]
    kinds = {"stereo_antistereo": item.notes["direction"], "bias_type": item.notes["bias_type"]}
    return {"sent_more": more, "sent_less": less, **kinds}


def _made_xstest(number: int, item: Item) -> dict:
    facts = {"type": item.notes["type"], "label": item.part, "focus": "", "note": ""}
    return {"id": str(number), "prompt": item.question, **facts}


MADE: dict[str, Callable[[int, Item], dict]] = {
    "truthfulqa": _made_truthfulqa,
    "bbq": _made_bbq,
    "toxigen": _made_toxigen,
    "crows_pairs": _made_crows_pairs,
    "xstest": _made_xstest,
}
