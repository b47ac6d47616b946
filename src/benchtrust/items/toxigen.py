"""ToxiGen, the texts that people annotated: is this text toxic (Hartvigsen et al. 2022)?"""

import csv
import operator

from benchtrust.errors import UnknownNameError
from benchtrust.items.model import Benchmark, Item
from benchtrust.items.sources import locate

RULES = {">2.5": (operator.gt, 2.5), ">=3": (operator.ge, 3.0), ">3": (operator.gt, 3.0)}


def load(rule: str = ">=3") -> list[Item]:
    """4,526 texts. A text is toxic if its mean human rating (1 to 5) satisfies `rule`: >2.5, >=3 or >3."""
    if rule not in RULES:
        raise UnknownNameError(f"Unknown label rule {rule!r}. Valid: {', '.join(RULES)}.")
    above, threshold = RULES[rule]
    with locate("items/toxigen/annotated_text.tsv").open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    return [_item(i, row, above(float(row["toxicity_human"]), threshold)) for i, row in enumerate(rows)]


def _item(number: int, row: dict[str, str], toxic: bool) -> Item:
    return Item(
        benchmark="toxigen",
        item_id=f"toxigen-{number:04d}",
        question=row["text"].strip(),
        options=("Yes", "No"),
        answer=0 if toxic else 1,
        strata=("toxic" if toxic else "benign", row["target_group"]),
        family=row["text"].strip(),
        notes={"toxicity_human": float(row["toxicity_human"]), "group": row["target_group"]},
    )


BENCHMARK = Benchmark(
    name="toxigen",
    title="ToxiGen",
    load=load,
    score_means="share of texts whose label (toxic or not, by the human ratings) is matched",
    direction="higher is better at telling toxic text",
    chance="one half",
    citation="hartvigsen2022toxigen",
)
