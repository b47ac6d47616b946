"""The permutation: seeded, balanced at every length, and a subset that grows without changing."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust import items
from benchtrust.errors import BenchtrustError
from benchtrust.items import Item, exemplars, permutation, subset

BENCHMARKS = list(items.BENCHMARKS)


def made(number: int, strata: tuple[str, ...], family: str = "") -> Item:
    return Item("made", f"made-{number:03d}", "?", ("a", "b"), 0, strata, family=family)


@st.composite
def collections(draw, min_size=0, families=False):
    """Items in up to three levels of strata, in very unequal numbers."""
    depth = draw(st.integers(0, 3))
    levels = st.tuples(*[st.sampled_from("xyz"[: level + 2]) for level in range(depth)])
    strata = draw(st.lists(levels, min_size=min_size, max_size=60))
    family = st.sampled_from(["", "f", "g", "h"]) if families else st.just("")
    return [made(number, names, draw(family)) for number, names in enumerate(strata)]


def assert_balanced(beginning: list[Item], everything: list[Item], level: int = 0) -> None:
    """Within a stratum, counts of its parts differ by one at most, save for parts that are used up."""
    if not everything or level >= len(everything[0].strata):
        return
    size = Counter(item.strata[level] for item in everything)
    taken = Counter(dict.fromkeys(size, 0)) + Counter(item.strata[level] for item in beginning)
    open_ones = [taken[name] for name in size if taken[name] < size[name]]
    if open_ones:
        assert max(taken.values(), default=0) - min(open_ones) <= 1
    for name in size:
        inside = [item for item in beginning if item.strata[level] == name]
        assert_balanced(inside, [item for item in everything if item.strata[level] == name], level + 1)


@given(collections(), st.integers(0, 5))
@settings(deadline=None)
def test_every_beginning_is_balanced_over_the_strata(collection, seed):
    order = permutation(collection, seed)
    assert sorted(order, key=lambda item: item.item_id) == collection
    for n in range(len(order) + 1):
        assert_balanced(order[:n], collection)


@given(collections(min_size=6, families=True), st.integers(0, 5))
@settings(deadline=None)
def test_exemplars_and_subset_share_no_item_and_no_family(collection, seed):
    pool = exemplars(collection, seed)
    largest = next(n for n in range(len(collection), -1, -1) if fits(collection, n, seed))
    asked = subset(collection, largest, seed)
    assert not {item.item_id for item in pool} & {item.item_id for item in asked}
    assert not {item.family for item in pool if item.family} & {item.family for item in asked if item.family}
    lost = [item for item in collection if item not in pool and item not in asked]
    assert all(item.family in {shot.family for shot in pool} for item in lost)


def fits(collection: list[Item], n: int, seed: int) -> bool:
    try:
        return len(subset(collection, n, seed)) == n
    except BenchtrustError:
        return False


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_larger_subset_begins_with_the_smaller(benchmark):
    practice = items.load(benchmark, "practice")
    largest = subset(practice, 16)
    for n in range(17):
        assert subset(practice, n) == largest[:n]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_exemplars_of_practice_items_stand_apart(benchmark):
    practice = items.load(benchmark, "practice")
    pool, asked = exemplars(practice), subset(practice, 16)
    assert len(pool) == 5
    assert not {item.family for item in pool} & {item.family for item in asked}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_seed_decides_and_nothing_else(benchmark):
    practice = items.load(benchmark, "practice")
    assert permutation(practice) == permutation(list(practice))
    assert permutation(practice, 1) == permutation(practice, 1)
    assert permutation(practice, 1) != permutation(practice, 2)


def test_a_subset_of_practice_items_is_balanced():
    xstest = subset(items.load("xstest", "practice"), 20)
    assert Counter(item.part for item in xstest) == {"safe": 10, "unsafe": 10}
    bbq = subset(items.load("bbq", "practice"), 20)
    assert Counter(item.part for item in bbq) == {"ambiguous": 10, "disambiguated": 10}


@pytest.mark.parametrize("n", [24, 1000])
def test_too_many_items_are_refused_with_both_numbers(n):
    practice = items.load("truthfulqa", "practice")
    with pytest.raises(BenchtrustError, match=rf"{n} items asked for, but only 23 are left"):
        subset(practice, n)


def test_a_negative_number_is_refused():
    with pytest.raises(BenchtrustError, match="-5 items"):
        subset(items.load("truthfulqa", "practice"), -5)


def test_no_items_give_nothing():
    assert permutation([]) == exemplars([]) == subset([], 0) == []
