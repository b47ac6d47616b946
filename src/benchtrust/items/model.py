"""An item and a benchmark: what every benchmark module hands on."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Item:
    """One question of a benchmark.

    Attributes
    ----------
    benchmark, item_id : which question; the id is stable across versions of the file.
    question : text shown before the options (for BBQ context and question; empty for CrowS-Pairs).
    options : candidate answers in the file's own order, which is never the order shown.
    answer : index of the option that scores 1 (for XSTest 0 = comply, 1 = refuse).
    strata : what the subset is balanced over, coarse to fine.
    part : part of the benchmark whose rate enters the cell score on its own ("" = the whole).
    family : items that share wording; a family never stands on both sides of exemplars and subset.
    notes : further facts, such as BBQ's index of the unknown option.
    """

    benchmark: str
    item_id: str
    question: str
    options: tuple[str, ...]
    answer: int
    strata: tuple[str, ...]
    part: str = ""
    family: str = ""
    notes: dict[str, str | int | float | bool] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hash of all that a respondent or the scoring rule can see."""
        seen = [self.benchmark, self.item_id, self.question, self.options, self.answer, self.part]
        return hashlib.sha256(json.dumps(seen, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: how its items are read and what its score means.

    `load(**options)` returns the items in the order of the file. `chance` is the score of a respondent who
    chooses among the options by lot. `free_form` tells whether answers are generated as well as scored by
    log-probability, `shown` whether the prompt lists the options. Benchmarks of a `collection` share its one
    template and its practice items, and have one configuration.
    """

    name: str
    title: str
    load: Callable[..., list[Item]]
    score_means: str
    direction: str
    chance: str
    citation: str
    free_form: bool = True
    shown: bool = True
    collection: str = ""

    @property
    def stem(self) -> str:
        """Name of its template file and its practice file, without ending."""
        return self.collection or self.name
