"""RedundantQA: questions asked again in other words, and other questions asked in the same words.

After the validation set of arXiv 2509.25671, which is not published: all questions here are our own. A family
is a reference question, two paraphrases that have its answer, and two look-alikes that share its words and
have another answer. No two families share a sentence frame, so that words alone do not give the domains away.
"""

import re

from benchtrust import project
from benchtrust.items.choice_sets import COLLECTION
from benchtrust.items.model import Benchmark, Item
from benchtrust.items.practice import read

DOMAINS = ("biology", "history", "economics", "pop_culture")
"""Names of the files; an item's domain and its role in the family are its strata."""

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
"""A word: letters and digits, with apostrophes inside; capitals do not count, a hyphen parts two words."""


def redundant_qa() -> list[Item]:
    """540 questions with four options: 27 families of five in each of four domains."""
    files = [project.data(f"items/redundant_qa/{domain}.jsonl") for domain in DOMAINS]
    return [item for file in files for item in read("redundant_qa", file)]


def shared_words(question: str, other: str) -> tuple[float, float]:
    """Distinct words in both questions, as a share of those of the shorter one and of the longer one."""
    first, second = (set(WORD.findall(text.lower())) for text in (question, other))
    both, sizes = len(first & second), sorted((len(first), len(second)))
    return both / sizes[0], both / sizes[1]


BENCHMARK = Benchmark(
    name="redundant_qa",
    title="RedundantQA",
    load=redundant_qa,
    score_means="share of questions on which the keyed answer is chosen",
    direction="higher is better at common knowledge",
    chance="one quarter",
    citation="harmony",
    free_form=False,
    collection=COLLECTION,
)
