"""Five multiple-choice sets of knowledge and reading, for the uniformity part alone: no safety benchmarks.

All are asked in one configuration, with one template; our own practice items serve them all.
"""

import csv
import json
import re
from collections.abc import Callable, Sequence

from benchtrust.items.model import Benchmark, Item
from benchtrust.items.sources import locate

COLLECTION = "choice_sets"
LETTERED = re.compile(r"([A-D])[.? ]\s*(.+)")


def arc_challenge() -> list[Item]:
    """1,172 science questions for schools with three to five options (test part)."""
    return _labelled("arc_challenge", "items/mcqa/arc_challenge_test.jsonl")


def commonsenseqa() -> list[Item]:
    """1,221 everyday questions with five options (development part).

    Twenty-four of them offer one option twice; it is kept once and `notes` says so.
    """
    return _labelled("commonsenseqa", "items/mcqa/csqa_dev.jsonl")


def logiqa() -> list[Item]:
    """651 passages with a question of logic and four options (test part, English).

    The key names a letter, not a place: in nineteen items the options stand in the order A, C, B, D.
    """
    blocks = _read("items/mcqa/logiqa_test.txt").strip().split("\n\n")
    items = []
    for number, block in enumerate(blocks):
        key, passage, question, *lines = block.split("\n")
        options = _by_letter(lines)
        keyed = options["abcd".index(key)]
        items.append(_item("logiqa", f"{number:04d}", question, options, keyed, passage=passage))
    return items


def pubmedqa() -> list[Item]:
    """500 abstracts without their conclusion and a question to answer by yes, no or maybe (test part)."""
    papers = json.loads(_read("items/mcqa/pubmedqa_ori_pqal.json"))
    asked = json.loads(_read("items/mcqa/pubmedqa_test_ground_truth.json"))
    return [
        _item(
            "pubmedqa",
            number,
            papers[number]["QUESTION"],
            ("yes", "no", "maybe"),
            decision,
            passage="\n".join(papers[number]["CONTEXTS"]),
            strata=(decision,),
        )
        for number, decision in asked.items()
    ]


def cosmosqa() -> list[Item]:
    """2,985 questions with four options about what 2,445 short stories leave unsaid (validation part)."""
    with locate("items/mcqa/cosmosqa_valid.csv").open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    return [
        _item(
            "cosmosqa",
            row["id"].rsplit("##")[-1],
            row["question"],
            [row[f"answer{i}"] for i in range(4)],
            row[f"answer{row['label']}"],
            passage=row["context"],
        )
        for row in rows
    ]


def _read(file: str) -> str:
    return locate(file).read_text(encoding="utf-8")


def _labelled(benchmark: str, file: str) -> list[Item]:
    items = []
    for row in map(json.loads, _read(file).splitlines()):
        options = {choice["label"]: choice["text"] for choice in row["question"]["choices"]}
        keyed = options[row["answerKey"]]
        items.append(_item(benchmark, row["id"], row["question"]["stem"], list(options.values()), keyed))
    return items


def _by_letter(lines: Sequence[str]) -> list[str]:
    """Options in the order of their letters; a line that begins with none has that of its place."""
    found = [LETTERED.match(line) for line in lines]
    texts = {
        label[1] if label else place: label[2] if label else line
        for place, line, label in zip("ABCD", lines, found, strict=True)
    }
    return [texts[letter] for letter in "ABCD"]


def _item(
    benchmark: str,
    number: str,
    question: str,
    options: Sequence[str],
    keyed: str,
    *,
    passage: str = "",
    strata: tuple[str, ...] = (),
) -> Item:
    """An item; questions on one passage are a family, and an option that is there twice is kept once."""
    distinct = tuple(dict.fromkeys(option.strip() for option in options))
    return Item(
        benchmark=benchmark,
        item_id=f"{benchmark}-{number}",
        question="\n".join(part.strip() for part in (passage, question) if part),
        options=distinct,
        answer=distinct.index(keyed.strip()),
        strata=strata,
        family=passage or question,
        notes={"options_dropped": len(options) - len(distinct)},
    )


def _set(load: Callable[[], list[Item]], title: str, better: str, chance: str, citation: str) -> Benchmark:
    return Benchmark(
        name=load.__name__,
        title=title,
        load=load,
        score_means="share of questions on which the keyed answer is chosen",
        direction=f"higher is better at {better}",
        chance=chance,
        citation=citation,
        free_form=False,
        collection=COLLECTION,
    )


BENCHMARKS = (
    _set(arc_challenge, "ARC-Challenge", "school science", "close to one quarter", "clark2018arc"),
    _set(
        commonsenseqa, "CommonsenseQA", "everyday knowledge", "close to one fifth", "talmor2019commonsenseqa"
    ),
    _set(logiqa, "LogiQA", "reasoning from a passage", "one quarter", "liu2020logiqa"),
    _set(pubmedqa, "PubMedQA", "reading medical abstracts", "one third", "jin2019pubmedqa"),
    _set(cosmosqa, "CosmosQA", "reading between the lines", "one quarter", "huang2019cosmosqa"),
)
