"""What the levels of the axes do to any measure, beyond what its items would do: shifts and spread.

A measure is anything computed from the items' scores of a respondent, a model in a configuration: a cell's
score, an ability, HARMONY. Its draws are the same of items drawn again, the same items for all respondents.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.stability.flips import TIE

_DF = 1


@dataclass(frozen=True)
class Spread:
    """Spread of a measure over configurations, and what the choice of items alone would give.

    Attributes
    ----------
    observed : standard deviation over the configurations of a group, root mean square over the groups.
    noise : the same if the measure were the same in all configurations, root mean square of the draws.
    low, high : 5 and 95 % of the draws.
    p : (1 + draws at least as large as observed) / (1 + draws).
    """

    observed: float
    noise: float
    low: float
    high: float
    p: float

    @property
    def ratio(self) -> float:
        """Observed over noise: about 1 if the configuration does nothing. NaN without any noise."""
        return self.observed / self.noise if self.noise > 0 else np.nan

    @property
    def systematic(self) -> float:
        """Standard deviation that any number of items would leave, 0 if the noise is the larger one."""
        return float(np.sqrt(max(self.observed**2 - self.noise**2, 0.0)))


def axis_levels(respondents: pd.MultiIndex) -> pd.DataFrame:
    """Levels of the axes to compare like with like, respondents × axes; None = plays no part.

    Of a response table's configurations the log-probability cells have no decoding to compare, and by
    scoring they stand against the greedy answers to the same prompts only: one cell a prompt on either side.

    Parameters
    ----------
    respondents : index with the levels template, shots, decoding and scoring.

    Raises
    ------
    SchemaError : a level is missing.
    """
    levels = respondents.to_frame(index=False).set_axis(respondents)
    absent = [axis for axis in ("template", "shots", "decoding", "scoring") if axis not in levels]
    if absent:
        raise SchemaError(f"Respondents have no level {absent[0]!r}: give cells of a response table.")
    once = levels["decoding"].isin(["greedy", "none"])
    return pd.DataFrame(
        {
            "template": levels["template"],
            "shots": levels["shots"].astype(str),
            "decoding": levels["decoding"].where(levels["scoring"] == "free_form"),
            "scoring": levels["scoring"].where(once),
        }
    )


def level_shifts(
    value: pd.Series, draws: pd.DataFrame, levels: pd.DataFrame, by: str = "model", level: float = 0.95
) -> pd.DataFrame:
    """How far each level of each axis moves a measure from the other levels, within each group.

    The intervals hold all shifts at once: an estimate ± c standard deviations of the draws, where c is the
    `level` quantile of the largest standardised deviation of any shift.

    Parameters
    ----------
    value : (n,) the measure of each respondent; `by` is a level of its index.
    draws : (n_draws, n) the same of items drawn again.
    levels : (n, axes) as of `axis_levels`; None = the respondent plays no part in that axis.
    by : groups to compare within.
    level : simultaneous confidence, in (0, 1).

    Returns
    -------
    A row per group, axis and level (of two levels the second only): `by`, axis, level, n, n_others, shift
    (mean of the level minus mean of the others), se, low, high, and p, the chance of any shift this many
    standard errors from 0 if all were 0. Where no draw moves a shift, se is 0 and p 1.

    Raises
    ------
    SchemaError : shapes that do not fit, fewer than two draws, an axis without two levels in any group, or a
        confidence outside its range.

    Source: Davison & Hinkley (1997), section 4.4, for the studentised maximum.
    """
    _check(value, draws, levels, level)
    names, weights = _contrasts(value.index.get_level_values(by).to_numpy(), levels)
    shift = weights @ value.to_numpy()
    drawn = draws.to_numpy() @ weights.T
    se = drawn.std(axis=0, ddof=_DF)
    se[se <= TIE] = 0.0
    largest = _standardised(drawn - shift, se).max(axis=1)
    reach = np.quantile(largest, level) * se
    beyond = largest >= _standardised(shift, se)[:, None] * (1 - 1e-12)
    return names.rename(columns={"group": by}).assign(
        shift=shift,
        se=se,
        low=shift - reach,
        high=shift + reach,
        p=np.where(se > 0, (1 + beyond.sum(axis=1)) / (1 + len(drawn)), 1.0),
    )


def spread_beyond_noise(values: np.ndarray, draws: np.ndarray) -> Spread:
    """Compare the spread of a measure over configurations with the spread that its items alone would give.

    If the configuration does nothing, the measures of a group differ by the noise of their items, which is
    drawn as the deviations of `draws` from `values`. Items are the same in all configurations, so that what
    they move in all of them alike is no spread.

    Parameters
    ----------
    values : (groups, C) a measure in C configurations.
    draws : (n_draws, groups, C) the same of items drawn again.

    Raises
    ------
    SchemaError : shapes that do not fit, fewer than two configurations or draws, a value that is missing.

    Source: the book, "One set of responses, three answers".
    """
    values, draws = np.asarray(values, dtype="float64"), np.asarray(draws, dtype="float64")
    if values.ndim != 2 or values.shape[1] < 2 or draws.shape[1:] != values.shape or len(draws) < 2:
        raise SchemaError(
            f"Values of shape {values.shape} and draws of {draws.shape}: give (groups, configurations >= 2) "
            "and two or more draws of them."
        )
    if not (np.isfinite(values).all() and np.isfinite(draws).all()):
        raise SchemaError("A value is missing: keep the configurations in which every group has one.")
    observed = _rms(values.std(axis=-1, ddof=_DF))
    null = _rms((draws - values).std(axis=-1, ddof=_DF))
    low, high = np.quantile(null, [0.05, 0.95])
    as_large = int((null >= observed * (1 - 1e-12)).sum())
    return Spread(
        float(observed), float(_rms(null)), float(low), float(high), (1 + as_large) / (1 + len(null))
    )


def _contrasts(groups: np.ndarray, levels: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Each level against the others of its axis in each group: names, and (contrasts, n) weights."""
    rows, weights = [], []
    for group, axis in product(dict.fromkeys(groups), levels):
        own = levels[axis].where(groups == group).to_numpy()
        found = sorted(set(own[pd.notna(own)]))
        for name in found[1:] if len(found) == 2 else found if len(found) > 2 else []:
            inside = own == name
            rest = pd.notna(own) & ~inside
            rows.append([group, axis, name, inside.sum(), rest.sum()])
            weights.append(inside / inside.sum() - rest / rest.sum())
    if not rows:
        raise SchemaError("No axis has two levels in any group: there is nothing to compare.")
    return pd.DataFrame(rows, columns=["group", "axis", "level", "n", "n_others"]), np.array(weights)


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt((values**2).mean(axis=-1))


def _standardised(values: np.ndarray, se: np.ndarray) -> np.ndarray:
    return np.divide(np.abs(values), se, where=se > 0, out=np.zeros(np.shape(values)))


def _check(value: pd.Series, draws: pd.DataFrame, levels: pd.DataFrame, level: float) -> None:
    if draws.shape[1] != len(value) or len(levels) != len(value) or len(draws) < 2:
        raise SchemaError(
            f"{len(value)} values, draws of shape {draws.shape}, levels of {len(levels)} respondents: give "
            "two or more draws, a column and a row of levels for each value."
        )
    if not 0 < level < 1:
        raise SchemaError(f"level = {level}: give the share of the intervals, such as .95.")
