"""Ability of respondents on calibrated items: posterior mode, posterior mean, maximum likelihood."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numba import njit

from benchtrust.errors import SchemaError, pick
from benchtrust.irt.estimation import Answers, posterior, suited_nodes
from benchtrust.irt.matrix import checked, parameters_of, shown

METHODS = ("map", "eap", "ml")

_TOLERANCE = 1e-10
_LONGEST = 4.0


@dataclass(frozen=True)
class ResampledAbilities:
    """Abilities, and those of items drawn again, the same items for all respondents.

    Attributes
    ----------
    value : (n,) MAP ability, indexed as the answers were.
    draws : n_draws × n, a row a draw of the items.
    """

    value: pd.Series
    draws: pd.DataFrame


def ability(matrix: pd.DataFrame, items: pd.DataFrame, method: str = "map") -> pd.DataFrame:
    """Estimate the ability of each respondent, items known.

    θ rises strictly with Σ a_j x_j over a fixed set of items. A respondent needs not have answered all items;
    items of either side that the other lacks play no part.

    Parameters
    ----------
    matrix : respondents × items; 1 right, 0 wrong, NaN not asked.
    items : frame indexed by item with a > 0 and b, such as `Calibration.items`.
    method : ``map``, posterior mode, and ``eap``, posterior mean, both with θ ~ N(0, 1); ``ml``, maximum
        likelihood.

    Returns
    -------
    A row per respondent:

    - theta : ability on the scale of b; ±inf by ``ml`` if all answers are alike, NaN without answers.
    - se : items taken as known; by ``map`` 1/√(1 + I(θ)), where I is the test information; by ``eap`` the
      standard deviation of the posterior; by ``ml`` 1/√I(θ), inf where θ is.
    - n_answers : answers to items in `items`.
    - note : why a value is not finite, else ``""``.

    ``.attrs["n_items_left_out"]`` is the number of items of the matrix that `items` lacks, and
    ``.attrs["n_items_not_asked"]`` of those in `items` that the matrix lacks.

    Raises
    ------
    SchemaError : as `matrix.checked` and `matrix.parameters_of`; no item in common.
    UnknownNameError : no such method.

    Source: Baker & Kim, Item Response Theory (2004), chapters 3 and 7.
    """
    method = pick(method, METHODS, "method")
    table, parameters = checked(matrix), parameters_of(items)
    common = table.columns.intersection(parameters.index, sort=False)
    if common.empty:
        raise SchemaError(
            f"The matrix has items {shown(table.columns)}, the parameters {shown(parameters.index)}: none in "
            "common. Are respondents the rows, and are the labels of the same kind?"
        )
    values = table[common].to_numpy()
    a, b = parameters.loc[common].to_numpy().T
    theta, se = _by_mean(values, a, b) if method == "eap" else _by_mode(values, a, b, float(method == "map"))
    frame = _frame(values, theta, se, table.index, method)
    frame.attrs["n_items_left_out"] = table.shape[1] - len(common)
    frame.attrs["n_items_not_asked"] = len(parameters) - len(common)
    return frame


def resampled_abilities(
    matrix: pd.DataFrame, items: pd.DataFrame, n_draws: int, rng: np.random.Generator
) -> ResampledAbilities:
    """Bootstrap MAP abilities over items whose parameters are taken as known.

    Differences between respondents are then free of the noise that the items bring to all of them.

    Parameters
    ----------
    matrix, items : as in `ability`.
    n_draws, rng : draws of as many items with replacement, and their source.

    Raises
    ------
    SchemaError : as `ability`; no draw.
    """
    if n_draws < 1:
        raise SchemaError(f"{n_draws} draws: at least one is needed.")
    value = ability(matrix, items)["theta"]
    common = matrix.columns.intersection(items.index, sort=False)
    values = checked(matrix)[common].to_numpy()
    a, b = parameters_of(items).loc[common].to_numpy().T
    draws = np.empty((n_draws, len(values)))
    for draw in draws:
        at = rng.integers(len(common), size=len(common))
        draw[:] = _by_mode(values[:, at], a[at], b[at], 1.0)[0]
    return ResampledAbilities(value, pd.DataFrame(draws, columns=matrix.index))


def _frame(
    values: np.ndarray, theta: np.ndarray, se: np.ndarray, labels: pd.Index, method: str
) -> pd.DataFrame:
    n_answers, n_right = (~np.isnan(values)).sum(axis=1), np.nansum(values, axis=1)
    silent = n_answers == 0
    notes = np.select(
        [silent, (n_right == n_answers) & (method == "ml"), (n_right == 0) & (method == "ml")],
        [
            "no answers",
            "no finite maximum: every answer is right",
            "no finite maximum: every answer is wrong",
        ],
        default="",
    )
    columns = {
        "theta": np.where(silent, np.nan, theta),
        "se": np.where(silent, np.nan, se),
        "n_answers": n_answers,
        "note": notes,
    }
    return pd.DataFrame(columns, index=labels)


def _by_mean(values: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    items = np.array([np.log(a), -a * b])
    answers = Answers.of(values)
    found = posterior(answers, items, suited_nodes(answers, items))
    return found.mean, found.sd


def _by_mode(values: np.ndarray, a: np.ndarray, b: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    theta, precision = np.empty(len(values)), np.empty(len(values))
    _modes(values, a, b, prior, theta, precision)
    with np.errstate(divide="ignore"):
        return theta, 1 / np.sqrt(precision)


@njit(cache=True, error_model="numpy")
def slope(answers, a, b, prior, theta):
    """Slope of a respondent's log posterior in θ, and its negative curvature; a `prior` of 0 is no prior."""
    rise, curvature = -prior * theta, prior
    for j in range(len(a)):
        if not np.isnan(answers[j]):
            z = a[j] * (theta - b[j])
            small = np.exp(-abs(z))
            surprise = (small if (z > 0) == (answers[j] == 1) else 1.0) / (1 + small)
            rise += a[j] * surprise if answers[j] == 1 else -a[j] * surprise
            curvature += a[j] * a[j] * small / (1 + small) ** 2
    return rise, curvature


@njit(cache=True, error_model="numpy")
def _modes(values, a, b, prior, theta, precision):
    """Fill the mode of each respondent and the information there.

    The slope falls in θ, so each trial bounds the mode; where a Newton step leaves the bounds or does not
    shrink, they are halved.
    """
    for i in range(len(values)):
        answers = values[i]
        n_right, n_answers = np.nansum(answers), np.sum(~np.isnan(answers))
        if prior == 0 and (n_right == 0 or n_right == n_answers):
            theta[i], precision[i] = (np.inf if n_right > 0 else -np.inf), 0.0
            continue
        low, high, at, last = -np.inf, np.inf, 0.0, np.inf
        for _ in range(200):
            rise, curvature = slope(answers, a, b, prior, at)
            if rise > 0:
                low = at
            else:
                high = at
            step = min(max(rise / curvature, -_LONGEST), _LONGEST) if curvature > 0 else 0.0
            bounded = np.isfinite(high - low)
            if abs(step) > _TOLERANCE and bounded and (abs(step) > last / 2 or not low < at + step < high):
                step = (low + high) / 2 - at
            at, last = at + step, abs(step)
            if last <= _TOLERANCE:
                break
        theta[i], precision[i] = at, slope(answers, a, b, prior, at)[1]
