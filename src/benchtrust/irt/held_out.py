"""Does a model of the answers hold on answers, and on respondents, that it has not seen?"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import t

from benchtrust.errors import SchemaError
from benchtrust.irt.calibration import DEFAULT_PRIORS, calibrate_quietly
from benchtrust.irt.estimation import Answers, Priors, posterior, suited_nodes
from benchtrust.irt.matrix import generator
from benchtrust.irt.pool import binary_matrix
from benchtrust.irt.ranks import spearman

MODELS = ("base_rate", "1pl", "2pl")
"""Pass rate of the item; one discrimination for all items; the 2PL."""

EQUAL_LOG_A_SD = 1e-3
"""Spread of log a that makes a 2PL a 1PL."""


@dataclass(frozen=True)
class HeldOutLosses:
    """Losses on held-out answers.

    Attributes
    ----------
    losses : respondents × `MODELS`, mean −ln of the chance given to the answers (nats); NaN for a respondent
        without a held-out answer.
    n_cells : held-out answers that were predicted, per respondent.
    n_left_out : held-out answers to items that could not be calibrated without them, predicted by nothing.
    """

    losses: pd.DataFrame
    n_cells: pd.Series
    n_left_out: int

    def difference(self, first: str, second: str, level: float = 0.95) -> dict[str, float]:
        """Mean loss of `first` minus `second` over respondents, with its paired interval (low, high)."""
        own = (self.losses[first] - self.losses[second]).dropna()
        reach = t.ppf((1 + level) / 2, len(own) - 1) * own.std() / np.sqrt(len(own))
        return {"difference": own.mean(), "low": own.mean() - reach, "high": own.mean() + reach}


def held_out_log_loss(
    matrix: pd.DataFrame, rng: np.random.Generator, n_folds: int = 10, priors: Priors = DEFAULT_PRIORS
) -> HeldOutLosses:
    """Predict answers that were held out, a share of each respondent's, by 1PL, 2PL and the item's pass rate.

    Each respondent's answers are dealt into folds at random; each fold is predicted from the others: by the
    posterior of the respondent's ability, or by the item's share of right answers, (right + ½) / (n + 1).

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong, NaN = not asked.
    rng : source of the folds.
    n_folds : 10 holds out a tenth of the answers at a time.
    priors : of the items; the 1PL has the same, but for a spread of log a of next to nothing.

    Raises
    ------
    SchemaError : as `calibrate`; fewer than 2 folds, or no rng.
    """
    generator(rng)
    if n_folds < 2:
        raise SchemaError(f"{n_folds} folds: give 2 or more.")
    table = binary_matrix(matrix)
    folds = _folds(table.to_numpy(), n_folds, rng)
    equal = replace(priors, log_a_sd=EQUAL_LOG_A_SD)
    losses = np.full((len(MODELS), *table.shape), np.nan)
    for fold in range(n_folds):
        train = table.mask(folds == fold)
        held = folds == fold
        for model, chances in zip(MODELS, _predictions(train, equal, priors), strict=True):
            right = table.to_numpy() == 1
            losses[MODELS.index(model)][held] = -np.log(np.where(right, chances, 1 - chances))[held]
    predicted = ~np.isnan(losses[0])
    n_cells = predicted.sum(axis=1)
    with np.errstate(invalid="ignore"):
        means = np.nansum(losses, axis=2) / np.where(n_cells > 0, n_cells, np.nan)
    return HeldOutLosses(
        losses=pd.DataFrame(means.T, table.index, pd.Index(MODELS, name="model_of_answers")),
        n_cells=pd.Series(n_cells, table.index, name="n_cells"),
        n_left_out=int(table.notna().to_numpy().sum() - n_cells.sum()),
    )


def _folds(values: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """Fold of each answer, as equal in number within each respondent as can be; −1 where there is none."""
    folds = np.full(values.shape, -1)
    for own, row in zip(values, folds, strict=True):
        asked = np.flatnonzero(~np.isnan(own))
        row[rng.permutation(asked)] = (np.arange(len(asked)) + rng.integers(n_folds)) % n_folds
    return folds


def _predictions(train: pd.DataFrame, equal: Priors, priors: Priors) -> list[np.ndarray]:
    """Chances of a right answer to all cells by each of `MODELS`; NaN for items that are not calibrated."""
    found = [calibrate_quietly(train, own) for own in (equal, priors)]
    where = train.columns.get_indexer(found[0].items.index)
    values = train.to_numpy()[:, where]
    n, n_right = (~np.isnan(values)).sum(axis=0), np.nansum(values, axis=0)
    known = [np.broadcast_to((n_right + 0.5) / (n + 1), values.shape)]
    known += [_expected(values, calibration.items) for calibration in found]
    chances = np.full((len(MODELS), *train.shape), np.nan)
    chances[:, :, where] = known
    return list(chances)


def _expected(values: np.ndarray, items: pd.DataFrame) -> np.ndarray:
    """(N, J) chance of a right answer, averaged over the posterior of ability."""
    a, b = items["a"].to_numpy(), items["b"].to_numpy()
    answers, parameters = Answers.of(values), np.array([np.log(a), -a * b])
    found = posterior(answers, parameters, suited_nodes(answers, parameters))
    return found.weights @ found.chances.T


def parameter_stability(
    matrix: pd.DataFrame, rng: np.random.Generator, n_draws: int = 20, priors: Priors | None = DEFAULT_PRIORS
) -> pd.DataFrame:
    """Calibrate random halves of the respondents apart, to see whether a and b come out alike.

    Returns
    -------
    A row per draw and item that both halves could calibrate: draw, item, a_first, a_second, b_first,
    b_second. `half_correlations` sums them up.

    Raises
    ------
    SchemaError : as `calibrate`; fewer than 6 respondents; no draw, or no rng.
    """
    generator(rng)
    table = binary_matrix(matrix)
    if len(table) < 6 or n_draws < 1:
        raise SchemaError(f"{len(table)} respondents, {n_draws} draws: give 6 and 1, or more.")
    draws = []
    for draw in range(n_draws):
        order = rng.permutation(len(table))
        first, second = (
            calibrate_quietly(table.iloc[np.sort(own)], priors).items[["a", "b"]]
            for own in np.array_split(order, 2)
        )
        both = first.merge(second, left_index=True, right_index=True, suffixes=("_first", "_second"))
        draws.append(both.rename_axis("item").reset_index().assign(draw=draw))
    columns = ["draw", "item", "a_first", "a_second", "b_first", "b_second"]
    return pd.concat(draws, ignore_index=True)[columns]


def half_correlations(stability: pd.DataFrame) -> pd.DataFrame:
    """Spearman correlation over items of a, and of b, between the halves of each draw.

    Parameters
    ----------
    stability : of `parameter_stability`.

    Returns
    -------
    A row per draw: a, b, n_items.
    """
    rows = []
    for draw, own in stability.groupby("draw"):
        found = {name: spearman(own[f"{name}_first"], own[f"{name}_second"]) for name in ("a", "b")}
        rows.append({"draw": draw, **found, "n_items": len(own)})
    return pd.DataFrame(rows)


def shuffled(matrix: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Permute the answers to each item among the respondents who gave them.

    Pass rates stay, and whatever tells respondents apart is gone: what a method still finds is noise.

    Raises
    ------
    SchemaError : as `binary_matrix`; no rng.
    """
    generator(rng)
    table = binary_matrix(matrix)
    values = table.to_numpy().copy()
    for column in values.T:
        asked = ~np.isnan(column)
        column[asked] = rng.permutation(column[asked])
    return pd.DataFrame(values, table.index, table.columns)
