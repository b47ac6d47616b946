"""Nulls of the flip rate: what it is when no model is better than another (the book, "Rank flips")."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr

from benchtrust.errors import SchemaError
from benchtrust.stability.flips import TIE, leads, pair_rho
from benchtrust.stability.item_scores import ItemScores, item_scores

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
    items: ItemScores | np.ndarray | pd.DataFrame,
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
    items, parts, rule : as in `item_scores`.
    n_draws : number of draws.
    rng : source of the permutations.
    tie : largest difference of cell scores that counts as a tie.

    Raises
    ------
    SchemaError, UnknownNameError : as `item_scores`.

    Source: the book, "Rank flips: the theory".
    """
    table = item_scores(items, parts, rule)
    shares = table.shares
    observed = pair_rho(table.cells.to_numpy(), tie)
    item = np.arange(len(shares))[:, None]
    drawn = [
        pair_rho(table.through_rule(shares[item, order].sum(axis=1)).swapaxes(1, 2), tie)
        for order in _permutations(n_draws, shares.shape, rng)
    ]
    per_pair = np.concatenate([np.empty((0, len(observed))), *drawn])
    return FlipNull(table.pairs, observed, per_pair, per_pair.max(axis=1))


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
    for block in blocks(n_draws, n_configurations * n_models**2):
        noise = rng.standard_normal((block.stop - block.start, n_configurations, n_models))
        ahead = (leads(noise) > 0).sum(axis=1)
        largest[block] = np.minimum(ahead, n_configurations - ahead).max(axis=1) / n_configurations
        reached[block] = [len(np.unique(order, axis=0)) for order in noise.argsort(axis=2)]
    return IndependentNull(largest, reached)


def _permutations(n_draws: int, shape: tuple[int, ...], rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Orders of the models, (draws, items, models), in blocks."""
    n_items, n_models, _ = shape
    for block in blocks(n_draws, int(np.prod(shape))):
        n = block.stop - block.start
        yield rng.permuted(np.tile(np.arange(n_models), (n, n_items, 1)), axis=2)


def blocks(n_draws: int, numbers_per_draw: int) -> Iterator[slice]:
    """Cut draws into slices of a bounded size in memory."""
    size = max(1, _CHUNK // numbers_per_draw)
    for start in range(0, n_draws, size):
        yield slice(start, min(start + size, n_draws))


def expected_range(n: int) -> float:
    """Expected range of n independent standard normal values: what noise alone spreads n cells over.

    Raises
    ------
    ValueError : n below 1.

    Source: Tippett (1925).
    """
    if n < 1:
        raise ValueError(f"{n} values have no range: at least one is needed.")
    x = np.linspace(-10, 10, 4001)
    return float(np.trapezoid(1 - ndtr(x) ** n - ndtr(-x) ** n, x))
