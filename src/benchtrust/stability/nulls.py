"""Nulls of the flip rate: what it is when no model is better than another (the book, "Rank flips")."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, pick
from benchtrust.responses import CELL_RULES, CONFIGURATION, response_matrix, slug
from benchtrust.stability.flips import TIE, leads

_CHUNK = 2**22
"""Numbers held at once while drawing."""


@dataclass(frozen=True)
class FlipNull:
    """Flip rates observed and under models that are exchangeable within items.

    Attributes
    ----------
    pairs : P pairs of models, in the order of `flip_rates`.
    observed : (P,) flip rate ρ of each pair.
    per_pair : (n_draws, P) the same under the null.
    largest : (n_draws,) the largest ρ of each draw.
    """

    pairs: tuple[tuple[Hashable, Hashable], ...]
    observed: np.ndarray
    per_pair: np.ndarray
    largest: np.ndarray

    @property
    def lower_tail(self) -> float:
        """P-value of an order as stable as observed: (1 + #{largest <= observed}) / (1 + draws)."""
        stable = self.largest <= self.observed.max() + TIE
        return (1 + int(stable.sum())) / (1 + len(stable))


@dataclass(frozen=True)
class IndependentNull:
    """Flip rates and orderings of models that are tied in every cell.

    Attributes
    ----------
    largest : (n_draws,) the largest ρ over the pairs of models.
    orderings : (n_draws,) strict orderings reached.
    """

    largest: np.ndarray
    orderings: np.ndarray


def flip_null(
    items: np.ndarray | pd.DataFrame,
    n_draws: int,
    rng: np.random.Generator,
    parts: Sequence[Hashable] | None = None,
    rule: str = "mean",
    tie: float = TIE,
) -> FlipNull:
    """Draw flip rates with the models' labels permuted within items.

    Each draw permutes the models once per item and applies this permutation in every configuration, so that
    what the configurations share through their items stays in the null.

    Parameters
    ----------
    items : (models, configurations, items) item scores in [0, 1], NaN = not asked. Or the responses to one
        benchmark, one sample per item: unparsed answers count as 0, parts and rule are those of `cell_means`.
    n_draws : number of draws.
    rng : source of the permutations.
    parts : (items,) labels, for an array: a cell's score is the mean of the rates of the parts asked there.
    rule : ``mean``, or ``parity`` for 1 - 2 |m - .5| of the cell's mean m, for an array.
    tie : largest difference of cell scores that counts as a tie.

    Raises
    ------
    SchemaError : a wrong shape, fewer than two models, nothing asked, or an item asked of some models only.
    UnknownNameError : no such rule.

    Source: the book, "Rank flips: the theory".
    """
    if isinstance(items, pd.DataFrame):
        if parts is not None or rule != "mean":
            raise SchemaError("Responses bring their own parts and rule: give these with an array only.")
        cube, labels = _cube(items)
        parts, rule = _rule(items, labels[2])
    else:
        cube = np.asarray(items, dtype="float64")
        labels = tuple(map(range, cube.shape))
    parity = pick(rule, ["mean", "parity"], "rule") == "parity"
    _check_same_items(cube, labels)
    shares = _shares(cube, parts)
    observed = _flip_rates(shares.sum(axis=0), parity, tie)
    item = np.arange(len(shares))[:, None]
    drawn = [
        _flip_rates(shares[item, order].sum(axis=1), parity, tie)
        for order in _permutations(n_draws, shares.shape, rng)
    ]
    per_pair = np.concatenate([np.empty((0, len(observed))), *drawn])
    pairs = tuple(combinations(labels[0], 2))
    return FlipNull(pairs, observed, per_pair, per_pair.max(axis=1))


def independent_null(
    n_configurations: int, n_models: int, n_draws: int, rng: np.random.Generator
) -> IndependentNull:
    """Draw the largest flip rate and the orderings reached by tied models whose cells share nothing.

    Parameters
    ----------
    n_configurations, n_models : size of the table of cell scores, each independent continuous noise.
    n_draws : number of draws.
    rng : source of the noise.

    Raises
    ------
    SchemaError : fewer than two models or no configuration.

    Source: the book, "Rank flips: the theory".
    """
    if n_models < 2 or n_configurations < 1:
        raise SchemaError(
            f"{n_models} model(s) in {n_configurations} configuration(s): need two in one or more."
        )
    largest, reached = np.empty(n_draws), np.empty(n_draws, dtype=int)
    for block in _blocks(n_draws, n_configurations * n_models**2):
        noise = rng.standard_normal((block.stop - block.start, n_configurations, n_models))
        ahead = (leads(noise) > 0).sum(axis=1)
        largest[block] = np.minimum(ahead, n_configurations - ahead).max(axis=1) / n_configurations
        reached[block] = [len(np.unique(order, axis=0)) for order in noise.argsort(axis=2)]
    return IndependentNull(largest, reached)


_Labels = tuple[Sequence[Hashable], ...]


def _cube(frame: pd.DataFrame) -> tuple[np.ndarray, _Labels]:
    """Responses as models × configurations × items, and the labels of the three axes."""
    matrix = response_matrix(frame, ["model", *CONFIGURATION])
    models = list(matrix.index.unique("model"))
    cells = matrix.index.droplevel("model").unique()
    cube = np.stack([matrix.xs(model).reindex(cells).to_numpy(float) for model in models])
    return cube, (models, list(cells), list(matrix.columns))


def _rule(frame: pd.DataFrame, items: Sequence[Hashable]) -> tuple[list[str] | None, str]:
    """Part of each item, if the benchmark averages over parts, and the rule on top of it."""
    rule = CELL_RULES.get(slug(frame["benchmark"].iloc[0]), "mean")
    if rule != "mean_of_parts":
        return None, rule
    if "part" not in frame or frame["part"].isna().all():
        return None, "mean"
    return list(frame.groupby("item_id")["part"].first()[items]), "mean"


def _check_same_items(cube: np.ndarray, labels: _Labels) -> None:
    if cube.ndim != 3 or len(cube) < 2:
        raise SchemaError(f"Item scores of shape {cube.shape}: need (models >= 2, configurations, items).")
    asked = ~np.isnan(cube)
    uneven = np.argwhere(asked != asked[0])
    if len(uneven):
        model, cell, item = (axis[place] for axis, place in zip(labels, uneven[0], strict=True))
        raise SchemaError(
            f"Item {item!r} in configuration {cell!r} has an answer of only one of {labels[0][0]!r} and "
            f"{model!r} (and {len(uneven) - 1} more such): complete it, or drop it there for all models."
        )
    if not asked.any():
        raise SchemaError("No item was asked in any configuration: nothing to permute.")


def _shares(cube: np.ndarray, parts: Sequence[Hashable] | None) -> np.ndarray:
    """What each item adds to a cell's score: items × models × configurations that asked anything."""
    n_items = cube.shape[2]
    named = pd.Series([""] * n_items if parts is None else list(parts), dtype="object")
    if len(named) != n_items or named.isna().any():
        raise SchemaError(f"{named.count()} parts for {n_items} items: give each item one label.")
    labels = pd.factorize(named)[0]
    asked = ~np.isnan(cube[0])
    per_part = asked @ np.eye(labels.max() + 1)[labels]
    n_parts = (per_part > 0).sum(axis=1, keepdims=True)
    weight = np.divide(asked, per_part[:, labels] * n_parts, where=asked, out=np.zeros(asked.shape))
    return np.transpose(np.nan_to_num(cube) * weight, (2, 0, 1))[:, :, n_parts[:, 0] > 0]


def _permutations(n_draws: int, shape: tuple[int, ...], rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Orders of the models, (draws, items, models), in blocks."""
    n_items, n_models, _ = shape
    for block in _blocks(n_draws, int(np.prod(shape))):
        n = block.stop - block.start
        yield rng.permuted(np.tile(np.arange(n_models), (n, n_items, 1)), axis=2)


def _blocks(n_draws: int, numbers_per_draw: int) -> Iterator[slice]:
    size = max(1, _CHUNK // numbers_per_draw)
    for start in range(0, n_draws, size):
        yield slice(start, min(start + size, n_draws))


def _flip_rates(scores: np.ndarray, parity: bool, tie: float) -> np.ndarray:
    """Flip rate of each pair from cell scores (..., models, configurations)."""
    if parity:
        scores = 1 - 2 * np.abs(scores - 0.5)
    lead = leads(np.swapaxes(scores, -1, -2), tie)
    fewer = np.minimum((lead > 0).sum(axis=-2), (lead < 0).sum(axis=-2))
    return fewer / lead.shape[-2]
