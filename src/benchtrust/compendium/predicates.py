"""What a published claim asks of our values: a small closed vocabulary, each word a function.

A predicate is given every value with the range in which it may lie, and answers True if the claim holds
wherever in their ranges the values lie, False if it holds nowhere, None if that depends. A value without
uncertainty is a range of one point, so that None cannot come out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchtrust.errors import pick

SLACK = 1e-9
"""Numbers this close are equal: recorded values hold twelve digits."""


@dataclass(frozen=True)
class Found:
    """Values of ours, in the unit of the claim.

    Attributes
    ----------
    labels : what tells the values apart, such as a benchmark; empty for a single value.
    value, low, high : (values,) each value and the range in which it may lie, low ≤ value ≤ high.
    """

    labels: tuple[str, ...]
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


Judge = Callable[[Found, Sequence[str], float], bool | None]


def equals(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value is the published number."""
    return _each_in(found, float(published[0]), float(published[0]))


def within(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value differs from the published number by no more than the tolerance."""
    return _each_in(found, float(published[0]) - tolerance, float(published[0]) + tolerance)


def between(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value lies between two published numbers, widened by the tolerance on either side."""
    return _each_in(found, float(published[0]) - tolerance, float(published[1]) + tolerance)


def one_of(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value is one of the published numbers."""
    allowed = np.array(published, dtype=float)[:, None]
    settled = found.high - found.low <= SLACK
    possible = ((found.low - SLACK <= allowed) & (allowed <= found.high + SLACK)).any(axis=0)
    return _three_valued(possible & settled, ~possible)


def at_least(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value is the published number or more."""
    return _each_in(found, float(published[0]), np.inf)


def below(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value is smaller than the published number."""
    bound = float(published[0]) - SLACK
    return _three_valued(found.high < bound, found.low >= bound)


def positive(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value is above zero."""
    return _three_valued(found.low > SLACK, found.high <= SLACK)


def not_negative(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value is zero or more."""
    return _each_in(found, 0.0, np.inf)


def negative(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value is below zero."""
    return below(found, ("0",), tolerance)


def zero(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """Every value is zero."""
    return _each_in(found, 0.0, 0.0)


def largest(found: Found, published: Sequence[str], tolerance: float) -> bool | None:
    """No value is above the one whose label is published."""
    own = np.array(found.labels) == pick(published[0], found.labels, "label among our values")
    ahead = found.low[own] >= found.high[~own].max() - SLACK
    behind = found.high[own] < found.low[~own].max() - SLACK
    return _three_valued(ahead, behind)


def _each_in(found: Found, lowest: float, highest: float) -> bool | None:
    inside = (lowest - SLACK <= found.low) & (found.high <= highest + SLACK)
    outside = (found.high < lowest - SLACK) | (highest + SLACK < found.low)
    return _three_valued(inside, outside)


def _three_valued(certain: np.ndarray, excluded: np.ndarray) -> bool | None:
    """True if every value is certain, False if one is excluded, None otherwise."""
    return True if certain.all() else False if excluded.any() else None


@dataclass(frozen=True)
class Predicate:
    """One word of the vocabulary.

    Attributes
    ----------
    judge : the function behind it.
    phrase : how it is said; may hold ``{published}`` and ``{tolerance}``.
    published : fewest and most published values that it takes.
    tolerance : whether it takes a tolerance.
    directional : whether a p-value can decide it: it asks on which side of a bound the values lie.
    values : fewest values of ours that it takes.
    """

    judge: Judge
    phrase: str
    published: tuple[int, int] = (1, 1)
    tolerance: bool = False
    directional: bool = False
    values: int = 1


PREDICATES = {
    "equals": Predicate(equals, "equal to {published}"),
    "within": Predicate(within, "within {tolerance} of {published}", tolerance=True),
    "between": Predicate(between, "from {published}, give or take {tolerance}", (2, 2), tolerance=True),
    "one of": Predicate(one_of, "one of {published}", (1, 99)),
    "at least": Predicate(at_least, "at least {published}", directional=True),
    "below": Predicate(below, "below {published}", directional=True),
    "positive": Predicate(positive, "above zero", (0, 0), directional=True),
    "not negative": Predicate(not_negative, "not below zero", (0, 0), directional=True),
    "negative": Predicate(negative, "below zero", (0, 0), directional=True),
    "zero": Predicate(zero, "zero", (0, 0)),
    "largest": Predicate(largest, "{published} not below any other", values=2),
}
"""The vocabulary: word in ``claims.csv`` → predicate."""
