"""How much the flip rate moves when other items of the same kind are asked."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.stability.flips import TIE, pair_rho
from benchtrust.stability.item_scores import ItemScores, item_scores, item_weights
from benchtrust.stability.nulls import blocks


@dataclass(frozen=True)
class ResamplingBand:
    """Flip rates of items drawn again with replacement.

    A band, not a confidence interval: resampling adds noise to every cell, which moves ρ itself. It drifts
    up where one model leads nearly everywhere, and down where ρ is near ½.

    Attributes
    ----------
    pairs : P pairs of models, in the order of `flip_rates`.
    observed : (P,) flip rate ρ of each pair.
    per_pair : (n_draws, P) the same of each draw.
    """

    pairs: tuple[tuple[Hashable, Hashable], ...]
    observed: np.ndarray
    per_pair: np.ndarray

    @property
    def largest(self) -> np.ndarray:
        """(n_draws,) largest ρ of each draw."""
        return self.per_pair.max(axis=1)

    def quantiles(self, low: float = 0.05, high: float = 0.95) -> pd.DataFrame:
        """Bands: a row per pair, then one for the largest ρ (model_a and model_b empty).

        Returns
        -------
        model_a, model_b, rho, then mean, low and high of the draws and `drift`, their mean minus rho.
        """
        draws = np.column_stack([self.per_pair, self.largest])
        rho = np.append(self.observed, self.observed.max())
        names = np.array([*self.pairs, ("", "")], dtype=object)
        low_high = np.quantile(draws, [low, high], axis=0)
        return pd.DataFrame(
            {
                "model_a": names[:, 0],
                "model_b": names[:, 1],
                "rho": rho,
                "mean": draws.mean(axis=0),
                "low": low_high[0],
                "high": low_high[1],
                "drift": draws.mean(axis=0) - rho,
            }
        )


def resampling_band(
    items: ItemScores | np.ndarray | pd.DataFrame, n_draws: int, rng: np.random.Generator, tie: float = TIE
) -> ResamplingBand:
    """Draw flip rates of resampled items, each item in all models and configurations at once.

    Parameters
    ----------
    items : as in `item_scores`; the same items in every configuration.
    n_draws : number of draws.
    rng : source of the items.
    tie : largest difference of cell scores that counts as a tie.

    Raises
    ------
    SchemaError, UnknownNameError : as `resampled_cells`.

    Source: the book, "Rank flips: the theory".
    """
    table = item_scores(items)
    drawn = [pair_rho(cells, tie) for cells in resampled_cells(table, n_draws, rng)]
    observed = pair_rho(table.cells.to_numpy(), tie)
    return ResamplingBand(table.pairs, observed, np.concatenate(drawn))


def flips_by_items(
    items: ItemScores | np.ndarray | pd.DataFrame,
    sizes: Sequence[int],
    n_draws: int,
    rng: np.random.Generator,
    tie: float = TIE,
) -> pd.DataFrame:
    """How many pairs flip when only some of the items are asked, in all models and configurations at once.

    Parameters
    ----------
    items : as in `item_scores`; the same items in every configuration.
    sizes : numbers of items to draw, without replacement, of whatever part.
    n_draws : draws of each size.
    rng : their source.
    tie : largest difference of cell scores that counts as a tie.

    Returns
    -------
    A row per size: n_items; flipping, the share of pairs with ρ > 0, mean over the draws, and its 5 and 95 %
    as low and high.

    Raises
    ------
    SchemaError, UnknownNameError : as `resampled_cells`; a size below 1 or above the number of items.
    """
    table = item_scores(items)
    _check_even(table)
    n = len(table.items)
    if n_draws < 1 or not all(1 <= size <= n for size in sizes):
        raise SchemaError(f"{n_draws} draws of {list(sizes)} from {n} items: a number is out of range.")
    rows = []
    for size in sizes:
        drawn = [_some_items(table, rng.choice(n, size, replace=False)) for _ in range(n_draws)]
        share = (pair_rho(np.array(drawn), tie) > 0).mean(axis=1)
        rows.append([size, share.mean(), *np.quantile(share, [0.05, 0.95])])
    return pd.DataFrame(rows, columns=["n_items", "flipping", "low", "high"])


def _some_items(table: ItemScores, chosen: np.ndarray) -> np.ndarray:
    """Cell scores (C, M) of some of the items."""
    scores = table.scores[:, :, chosen]
    weights = item_weights(~np.isnan(scores[0]), table.parts[chosen])
    return table.through_rule((np.nan_to_num(scores) * weights).sum(axis=2).T)


def cell_errors(frame: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> pd.DataFrame:
    """Standard error of each cell's score from the choice of its items.

    Parameters
    ----------
    frame : responses of two models or more, any number of benchmarks; all cells of one the same items.
    n_draws, rng : draws of items with replacement within parts, and their source.

    Returns
    -------
    Columns benchmark, model, the levels of the configuration, and error: the standard deviation over draws.

    Raises
    ------
    SchemaError, UnknownNameError : as `resampled_cells`.
    """
    tables = []
    for benchmark, own in frame.groupby("benchmark", sort=True):
        table = item_scores(own)
        errors = np.concatenate([*resampled_cells(table, n_draws, rng)]).std(axis=0)
        wide = pd.DataFrame(errors, index=table.configurations, columns=pd.Index(table.models, name="model"))
        tables.append(wide.stack().rename("error").reset_index().assign(benchmark=benchmark))
    return pd.concat(tables, ignore_index=True)


def resampled_cells(
    items: ItemScores | np.ndarray | pd.DataFrame, n_draws: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Cell scores of items drawn with replacement within their parts, (draws, C, M), in blocks.

    Raises
    ------
    SchemaError : as `item_scores`; configurations that were asked different items; no draw.
    UnknownNameError : as `item_scores`.
    """
    table = item_scores(items)
    if n_draws < 1:
        raise SchemaError(f"{n_draws} draws: at least one is needed.")
    _check_even(table)
    n_models, n_configurations, _ = table.scores.shape
    shares = table.shares.reshape(len(table.items), -1)
    counts = _counts(table.parts, n_draws, rng)
    for block in blocks(n_draws, shares.shape[1]):
        means = (counts[block] @ shares).reshape(-1, n_models, n_configurations)
        yield table.through_rule(means).swapaxes(1, 2)


def observed_and_resampled(table: ItemScores, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Cell scores as observed, then those of `resampled_cells`: (1 + draws, C, M)."""
    return np.concatenate([table.cells.to_numpy()[None], *resampled_cells(table, n_draws, rng)])


def interval(drawn: np.ndarray, level: float) -> np.ndarray:
    """Quantiles over the draws (first axis) that leave the same probability on either side: (2, ...)."""
    return np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)


def _check_even(table: ItemScores) -> None:
    """Refuse configurations that were asked different items."""
    uneven = np.flatnonzero((table.weights != table.weights[0]).any(axis=1))
    if len(uneven):
        names = table.configurations[0], table.configurations[uneven[0]]
        raise SchemaError(
            f"Configurations {names[0]} and {names[1]} differ in their items: keep common ones."
        )


def _counts(parts: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """How often each draw holds each item: (n_draws, items); every part keeps its size."""
    counts = np.empty((n_draws, len(parts)))
    for part in np.unique(parts):
        own = np.flatnonzero(parts == part)
        counts[:, own] = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size=n_draws)
    return counts
