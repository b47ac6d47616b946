"""RedundantQA as METHODS.md demands it: families, words, frames, options, keys."""

import re
from collections import Counter, defaultdict
from itertools import combinations

import pytest

from benchtrust import items
from benchtrust.items.redundant_qa import DOMAINS, WORD, shared_words

UNCLEAN = re.compile(r"\s[,.;:?!]|  |[\t\u00a0\u200b\ufffd\u2018\u2019\u201c\u201d]")
FUNCTION_WORDS = set(
    WORD.findall(
        """a an the this that these those and or but nor if of to in on at by for from with without
        under over         into onto through during between among against across around after before
        until since about as than         then is are was were be been being am do does did done has
        have had having can could will would should may         might must who whom whose which what
        when where why how many much not no it its they them their he him         his she her we us
        our you your i my me there here one all each every any some another other others
        only more most less both own same such so very too also up down out off"""
    )
)
"""Closed classes of words; whatever else stands in a question is content."""


@pytest.fixture(scope="module")
def families() -> dict[str, list[items.Item]]:
    found = defaultdict(list)
    for item in items.load("RedundantQA"):
        found[item.family].append(item)
    return found


@pytest.fixture(scope="module")
def every(families) -> list[items.Item]:
    return [item for family in families.values() for item in family]


def keyed(item: items.Item) -> str:
    return item.options[item.answer].casefold()


def frame(question: str) -> str:
    """A question with each run of content words blanked out."""
    return re.sub(r"_( _)*", "_", " ".join(w if w in FUNCTION_WORDS else "_" for w in words(question)))


def words(question: str) -> list[str]:
    return WORD.findall(question.lower())


def test_words_and_shares_by_hand():
    assert words("Who put Spider-Man's 2 masks on?") == ["who", "put", "spider", "man's", "2", "masks", "on"]
    assert shared_words("A b c d", "a B x") == (2 / 3, 2 / 4)
    assert frame("In which big red house did the old cat of Rome live?") == "in which _ did the _ of _"


def test_each_domain_has_whole_families(families):
    assert Counter(family[0].strata[0] for family in families.values()) == {
        domain.replace("_", " "): 27 for domain in DOMAINS
    }
    for name, family in families.items():
        assert [item.strata[1] for item in family] == ["reference", *["paraphrase"] * 2, *["look-alike"] * 2]
        assert {item.strata[0] for item in family} == {family[0].strata[0]}
        assert [item.item_id for item in family] == [
            f"{name}-{role}" for role in ("r", "p1", "p2", "l1", "l2")
        ]
        assert all(item.notes == {"role": item.strata[1]} for item in family)


def test_ids_questions_and_hashes_are_unique(every):
    for values in (
        [item.item_id for item in every],
        [item.question.casefold() for item in every],
        [item.sha256 for item in every],
    ):
        assert len(set(values)) == len(every) == 540


def test_a_paraphrase_has_the_answer_and_at_most_two_fifths_of_the_words(families):
    for reference, *paraphrases, _, _ in families.values():
        for item in paraphrases:
            assert set(item.options) == set(reference.options)
            assert keyed(item) == keyed(reference)
            assert shared_words(reference.question, item.question)[0] <= 0.4, item.item_id


def test_a_look_alike_has_another_answer_and_at_least_three_fifths_of_the_words(families):
    for reference, _, _, *look_alikes in families.values():
        for item in look_alikes:
            assert keyed(item) != keyed(reference), item.item_id
            assert shared_words(reference.question, item.question)[1] >= 0.6, item.item_id


def test_no_two_families_share_a_sentence_frame(every):
    owners = defaultdict(set)
    for item in every:
        owners[frame(item.question)].add(item.family)
    assert not {shape: names for shape, names in owners.items() if len(names) > 1}


def test_questions_of_two_families_are_no_look_alikes(every):
    said = [(item.family, item.item_id, set(words(item.question))) for item in every]
    for (family, first, own), (other, second, theirs) in combinations(said, 2):
        if family != other:
            assert len(own & theirs) < 0.6 * max(len(own), len(theirs)), (first, second)


def test_questions_and_options_are_clean(every):
    for item in every:
        assert re.fullmatch(r"[A-Z].*\?", item.question), item.item_id
        assert item.question.count("?") == 1
        assert len({option.casefold() for option in item.options}) == 4, item.item_id
        for option in item.options:
            assert re.fullmatch(r"[A-Z0-9].*[^.?!,]|\d", option), item.item_id
        assert not any(UNCLEAN.search(text) for text in (item.question, *item.options)), item.item_id


def test_the_key_stands_anywhere_in_every_domain_and_role(every):
    counts = defaultdict(Counter)
    for item in every:
        for group in [(item.strata[0],), item.strata]:
            counts[group][item.answer] += 1
    for (_, *role), count in counts.items():
        assert set(count) == set(range(4))
        assert max(count.values()) - min(count.values()) <= (1 if role else 3)


def test_length_does_not_give_the_answer_away(every):
    for domain in {item.strata[0] for item in every}:
        ranks, longest, shortest = [], 0, 0
        own = [item for item in every if item.strata[0] == domain]
        for item in own:
            lengths = [len(option) for option in item.options]
            true = lengths[item.answer]
            ranks.append((sum(n < true for n in lengths) + (lengths.count(true) - 1) / 2) / 3)
            longest += true == max(lengths)
            shortest += true == min(lengths)
        assert 0.4 <= sum(ranks) / len(own) <= 0.6, domain
        assert max(longest, shortest) <= 0.45 * len(own), domain


def test_nothing_speaks_of_the_present(every):
    passing = r"\b(now|nowadays|today|current|currently|recent|recently|latest|this year)\b"
    assert not [item.item_id for item in every if re.search(passing, item.question, re.IGNORECASE)]


def test_at_least_25_families_a_domain_can_be_asked_whole(every):
    shown = {item.family for item in items.exemplars(every)}
    asked = items.subset(every, 515)
    assert Counter(item.family for item in asked) == dict.fromkeys({item.family for item in every} - shown, 5)
    assert min(Counter(item.strata[0] for item in asked).values()) >= 125


def test_every_beginning_of_the_subset_is_balanced(every):
    for n in (20, 100, 300):
        count = Counter(item.strata[0] for item in items.subset(every, n))
        assert max(count.values()) - min(count.values()) <= 5
