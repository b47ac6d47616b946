"""The vocabulary of claims: each word can say yes, no and, where a value has a range, that it depends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchtrust.compendium.predicates import PREDICATES, Found
from benchtrust.errors import UnknownNameError

INF = float("inf")


def found(*ranges: tuple[float, float] | float, labels: str = "abcdef") -> Found:
    """Values with their ranges; a single number has no uncertainty."""
    ends = np.array([r if isinstance(r, tuple) else (r, r) for r in ranges], dtype=float)
    return Found(tuple(labels[: len(ranges)]), ends[:, 0], ends[:, 0], ends[:, 1])


def say(word: str, published: str, tolerance: float, *ranges: tuple[float, float] | float) -> bool | None:
    return PREDICATES[word].judge(found(*ranges), published.split(), tolerance)


CASES = [
    ("equals", "612", 0, (612,), (611,), ((600, 620),)),
    ("within", "47.9", 10, (37.9, 57.9), (37.8,), ((30, 45),)),
    ("between", "41 54", 1, (40, 55), (39.9,), ((50, 60),)),
    ("one of", "0 25 50", 0, (0, 25, 50), (25, 30), ((20, 26),)),
    ("at least", "22.7", 0, (22.7, 30), (22.6,), ((20, 30),)),
    ("below", "16", 0, (15.9,), (16,), ((10, 17),)),
    ("positive", "", 0, (0.1, 2), (0, 2), ((-1, 1), 2)),
    ("not negative", "", 0, (0, 2), (-0.1, 2), ((-1, 1), 2)),
    ("negative", "", 0, (-0.1,), (0,), ((-1, 1),)),
    ("zero", "", 0, (0, 0), (0, 1), ((-1, 1),)),
    ("largest", "b", 0, (1, 2, 2), (1, 2, 3), ((1, 2), (1.5, 3), 1)),
]


def test_every_word_is_tried() -> None:
    assert [case[0] for case in CASES] == list(PREDICATES)


@pytest.mark.parametrize(("word", "published", "tolerance", "yes", "no", "depends"), CASES)
def test_each_word_says_yes_no_and_it_depends(
    word: str, published: str, tolerance: float, yes: tuple, no: tuple, depends: tuple
) -> None:
    assert say(word, published, tolerance, *yes) is True
    assert say(word, published, tolerance, *no) is False
    assert say(word, published, tolerance, *depends) is None


@pytest.mark.parametrize("word", [word for word, predicate in PREDICATES.items() if predicate.directional])
def test_a_value_that_may_lie_anywhere_settles_nothing(word: str) -> None:
    published = ["1"] * PREDICATES[word].published[0]
    assert PREDICATES[word].judge(found((-INF, INF)), published, 0) is None


def test_one_value_that_fails_refutes_a_claim_about_all() -> None:
    assert say("positive", "", 0, (-1, 1), 0) is False
    assert say("within", "5", 1, 5, (4, 9), 7) is False


def test_the_largest_is_found_by_its_label() -> None:
    three = found(1, 3, 2)
    assert PREDICATES["largest"].judge(three, ["B"], 0) is True
    assert PREDICATES["largest"].judge(three, ["c"], 0) is False
    with pytest.raises(UnknownNameError, match="Unknown label"):
        PREDICATES["largest"].judge(three, ["z"], 0)


def test_a_clear_lead_stands_beside_wide_ranges() -> None:
    assert say("largest", "a", 0, (5, 6), (1, 5), (0, 4)) is True
    assert say("largest", "a", 0, (1, 2), (3, 9), (0, 4)) is False


@pytest.mark.parametrize("word", PREDICATES)
@given(data=st.data())
def test_what_is_said_of_a_range_is_said_of_every_part_of_it(word: str, data: st.DataObject) -> None:
    predicate = PREDICATES[word]
    number = st.integers(-4, 4).map(float)
    n = data.draw(st.integers(predicate.values, 4))
    ranges = [tuple(sorted(data.draw(st.tuples(number, number)))) for _ in range(n)]
    parts = [tuple(sorted(data.draw(st.tuples(*[st.floats(*ends)] * 2)))) for ends in ranges]
    published = sorted(data.draw(number) for _ in range(predicate.published[0]))
    figures = ["a"] if word == "largest" else [str(figure) for figure in published]
    said = predicate.judge(found(*ranges), figures, 1.0)
    assert said is None or predicate.judge(found(*parts), figures, 1.0) is said
