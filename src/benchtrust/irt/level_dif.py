"""Do the levels of a harness axis change items, or only shift all of them? DIF with labels exchanged."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import chi2

from benchtrust.errors import SchemaError
from benchtrust.irt.item_fit import LEAST_EXPECTED, rest_strata
from benchtrust.irt.pool import binary_matrix

_CELLS = 2**22
"""Numbers held at once while labels are exchanged."""


@dataclass(frozen=True)
class LevelDif:
    """Items that a level of one axis treats otherwise than the other levels do.

    Attributes
    ----------
    items : a row per item that is estimable at some level: item; level, where it stands out most; z, signed
        root of the Mantel–Haenszel χ² there, below 0 if the item is harder than for others of equal score;
        p, the chance that any item has one as large when the labels are exchanged.
    n_flagged : items that a test which takes respondents as independent flags at some level.
    null : (n_draws,) the same with the labels exchanged.
    n_respondents : that have a level; the others are left out.
    n_not_estimable : items left out, where too few answers are expected at every level.
    """

    items: pd.DataFrame
    n_flagged: int
    null: np.ndarray
    n_respondents: int
    n_not_estimable: int

    @property
    def p(self) -> float:
        """(1 + draws with as many flagged items) / (1 + draws)."""
        return float((1 + (self.null >= self.n_flagged).sum()) / (1 + len(self.null)))


def level_dif(
    matrix: pd.DataFrame,
    levels: pd.Series,
    blocks: pd.Series,
    n_draws: int,
    rng: np.random.Generator,
    alpha: float = 0.05,
    n_strata: int = 5,
) -> LevelDif:
    """Compare each level of an axis with the others, item by item, at equal score on the other items.

    The test is `mantel_haenszel` with the levels as families. It takes respondents as independent, which
    configurations of a few models are not, so its p-values are not believed: the number of items that it
    flags is held against the same with the levels' labels exchanged within blocks, all that a block has at
    one level together. Answers, scores and what hangs together stay as they are; what an axis would do to
    items goes.

    Parameters
    ----------
    matrix : complete answers, respondents × items, 1 right, 0 wrong.
    levels : (n,) level of each respondent, NaN or None = left out.
    blocks : (n,) within which labels are exchanged: respondents that agree in all but this axis and what
        should move along with it, such as the same model and shots when the axis is the template.
    n_draws, rng : exchanges and their source.
    alpha : a level flags items whose p is at most this after Benjamini and Hochberg over its items.
    n_strata : strata of the rest score at most.

    Raises
    ------
    SchemaError : as `mantel_haenszel`; levels and blocks that do not fit the matrix; fewer than two levels;
        no block that has two of them; no draw.

    Source: Holland & Thayer (1988) for the test; labels exchanged in blocks, Good (2005), Permutation Tests.
    """
    table = binary_matrix(matrix)
    values, names, codes, block = _taking_part(table.to_numpy(), levels, blocks, n_draws)
    tests = _Tests(values, rest_strata(values, n_strata))
    z, tested = (part.reshape(len(names), -1) for part in tests(_members(codes[None], len(names))))
    largest, flagged = [], []
    for draws in _exchanged(codes, block, n_draws, values.shape[1], rng):
        drawn, own = tests(_members(draws, len(names)))
        largest.append(np.abs(drawn).reshape(len(draws), -1).max(axis=1))
        flagged.append(
            _flagged(drawn, own, alpha).reshape(len(draws), len(names), -1).any(axis=1).sum(axis=1)
        )
    best = np.abs(z).argmax(axis=0)
    top = z[best, np.arange(z.shape[1])]
    p = (1 + (np.concatenate(largest)[:, None] >= np.abs(top) - 1e-9).sum(axis=0)) / (1 + n_draws)
    found = pd.DataFrame({"item": table.columns, "level": names[best], "z": top, "p": p})
    known = tested.any(axis=0)
    return LevelDif(
        items=found[known].sort_values("p", kind="stable", ignore_index=True),
        n_flagged=int(_flagged(z, tested, alpha).any(axis=0).sum()),
        null=np.concatenate(flagged),
        n_respondents=len(values),
        n_not_estimable=int((~known).sum()),
    )


def _taking_part(
    values: np.ndarray, levels: pd.Series, blocks: pd.Series, n_draws: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Answers of those that have a level; names of the levels; number of each one's level and block."""
    if len(levels) != len(values) or len(blocks) != len(values) or n_draws < 1:
        raise SchemaError(
            f"{len(levels)} levels and {len(blocks)} blocks of {len(values)} respondents, {n_draws} draws: "
            "give a level and a block for each respondent, and one draw at least."
        )
    takes_part = pd.notna(levels).to_numpy()
    own = values[takes_part]
    if np.isnan(own).any():
        raise SchemaError(f"{int(np.isnan(own).sum())} answers are missing: matching by score needs all.")
    names, codes = np.unique(levels.to_numpy()[takes_part].astype(str), return_inverse=True)
    block = pd.factorize(blocks.to_numpy()[takes_part])[0]
    if len(names) < 2 or pd.Series(codes).groupby(block).nunique().max() < 2:
        raise SchemaError(f"Levels {', '.join(names) or 'none'}: no block has two to exchange.")
    return own, names, codes, block


class _Tests:
    """Mantel–Haenszel tests of many families at once, the respondents' answers and strata fixed."""

    def __init__(self, values: np.ndarray, strata: np.ndarray) -> None:
        inside = strata[:, :, None] == np.arange(strata.max() + 1)
        self._shape = inside.shape[1:]
        self._asked = inside.reshape(len(values), -1).astype("float64")
        self._right = (inside * values[:, :, None]).reshape(len(values), -1)

    def __call__(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(families, items) signed root of χ², 0 where not estimable, and where it is estimable."""
        n, right = self._asked.sum(axis=0), self._right.sum(axis=0)
        own, own_right = members @ self._asked, members @ self._right
        tells = (own > 0) & (own < n) & (right > 0) & (right < n)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = np.where(tells, own * right / n, 0.0)
            variance = np.where(tells, expected * (n - own) * (n - right) / (n * (n - 1)), 0.0)
        others, wrong = np.where(tells, right, 0.0) - expected, np.where(tells, own, 0.0) - expected
        neither = np.where(tells, n - own - right, 0.0) + expected
        corners = [self._summed(part) for part in (expected, others, wrong, neither)]
        tested = np.min(corners, axis=0) >= LEAST_EXPECTED
        excess = self._summed(np.where(tells, own_right, 0.0) - expected)
        size = np.maximum(np.abs(excess) - 0.5, 0.0)
        spread = np.sqrt(self._summed(variance))
        return np.sign(excess) * np.divide(size, spread, where=tested, out=np.zeros_like(size)), tested

    def _summed(self, counts: np.ndarray) -> np.ndarray:
        return counts.reshape(len(counts), *self._shape).sum(axis=2)


def _members(codes: np.ndarray, n_levels: int) -> np.ndarray:
    """(draws × levels, n) who is at each level, from levels (draws, n)."""
    return (codes[:, None] == np.arange(n_levels)[:, None]).reshape(-1, codes.shape[1]).astype("float64")


def _exchanged(
    codes: np.ndarray, block: np.ndarray, n_draws: int, n_items: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Levels with their labels exchanged within blocks, (draws, n) at a time."""
    step = max(1, _CELLS // (n_items * 8 * len(codes)))
    for start in range(0, n_draws, step):
        draws = np.empty((min(step, n_draws - start), len(codes)), dtype=int)
        for own in (np.flatnonzero(block == name) for name in range(block.max() + 1)):
            present, place = np.unique(codes[own], return_inverse=True)
            draws[:, own] = rng.permuted(np.tile(present, (len(draws), 1)), axis=1)[:, place]
        yield draws


def _flagged(z: np.ndarray, tested: np.ndarray, alpha: float) -> np.ndarray:
    """Whether each item is flagged after Benjamini and Hochberg over the tested items of its row."""
    p = np.where(tested, chi2.sf(z**2, 1), np.inf)
    order = np.sort(p, axis=1)
    m = tested.sum(axis=1, keepdims=True)
    limit = alpha * np.arange(1, p.shape[1] + 1) / np.maximum(m, 1)
    last = np.where(order <= limit, order, -1.0).max(axis=1, keepdims=True)
    return p <= last
