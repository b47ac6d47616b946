"""Fit of items: do answers rise with the score as the 2PL says? S-X² of Orlando and Thissen."""

import numpy as np
import pandas as pd
from numba import njit
from scipy.stats import chi2

from benchtrust.errors import SchemaError
from benchtrust.irt.curves import probability
from benchtrust.irt.estimation import Answers, suited_nodes
from benchtrust.irt.pool import binary_matrix, item_parameters

LEAST_EXPECTED = 1.0
"""Smallest expected count with which a cell is used by itself."""

NOT_ESTIMABLE = "not estimable"

_NEGLIGIBLE = 1e-18


def s_x2(
    matrix: pd.DataFrame, items: pd.DataFrame, n_strata: int | None = None, n_parameters: int = 2
) -> pd.DataFrame:
    """Compare right and wrong answers with what the 2PL expects of respondents with the same score.

    The expected share of right answers among them comes from the distribution of the score over items, given
    ability (Lord and Wingersky), and θ ~ N(0, 1). Strata in which fewer than one right or one wrong answer is
    expected join their smaller neighbour.

    Parameters
    ----------
    matrix : complete answers, respondents × items, 1 right, 0 wrong; items without parameters are left out.
    items : parameters a and b.
    n_strata : None compares respondents with equal total scores; those with none or all right are left out,
        since their answers are certain. A number puts respondents into at most so many strata of the score on
        the other items, for samples too small for single scores.
    n_parameters : estimated for each item, taken off the degrees of freedom.

    Returns
    -------
    A row per item of `items`:

    - s_x2 : Σ (observed − expected)² / expected over strata, right and wrong; NaN if not estimable.
    - df : strata − `n_parameters`.
    - p : upper tail of χ² with df degrees of freedom; good with hundreds of respondents and parameters by
        maximum likelihood. For a few dozen take `fit_bootstrap`.
    - note : ``"not estimable"`` where fewer than one degree of freedom is left, else ``""``.

    Raises
    ------
    SchemaError : as `binary_matrix` and `item_parameters`; a missing answer; fewer than 2 strata.

    Source: Orlando & Thissen, Appl. Psychol. Meas. 24 (2000) 50–64; Lord & Wingersky, Appl. Psychol. Meas. 8
    (1984) 453–461. Strata of the rest score are the book's.
    """
    values, parameters = complete(matrix, items)
    statistic, n_used = chi_squares(values, *parameters.to_numpy().T, n_strata)
    df = n_used - n_parameters
    known = df >= 1
    columns = {
        "s_x2": np.where(known, statistic, np.nan),
        "df": df,
        "p": np.where(known, chi2.sf(statistic, np.maximum(df, 1)), np.nan),
        "note": np.where(known, "", NOT_ESTIMABLE),
    }
    return pd.DataFrame(columns, parameters.index)


def complete(matrix: pd.DataFrame, items: pd.DataFrame) -> tuple[np.ndarray, pd.DataFrame]:
    """Answers (N, J) to the items with parameters, none missing, and these parameters.

    Raises
    ------
    SchemaError : as `binary_matrix` and `item_parameters`; a missing answer.
    """
    table = binary_matrix(matrix)
    parameters = item_parameters(items, table)
    values = table[parameters.index].to_numpy()
    n_missing = int(np.isnan(values).sum())
    if n_missing:
        raise SchemaError(
            f"{n_missing} of {values.size} answers are missing: scores of respondents who were asked "
            "different items do not compare. Q3, person fit and the held-out log-loss take missing answers."
        )
    return values, parameters


def rest_strata(values: np.ndarray, n_strata: int) -> np.ndarray:
    """(N, J) number of the stratum of each respondent by the score on the items other than each.

    Strata are quantile groups; equal scores fall into the same one, so that there may be fewer.

    Raises
    ------
    SchemaError : fewer than 2 strata.
    """
    if n_strata < 2:
        raise SchemaError(f"{n_strata} strata: give 2 or more.")
    rest = values.sum(axis=1, keepdims=True) - values
    edges = np.quantile(rest, np.arange(1, n_strata) / n_strata, axis=0)
    return (rest > edges[:, None, :]).sum(axis=0)


def chi_squares(
    values: np.ndarray, a: np.ndarray, b: np.ndarray, n_strata: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """(J,) S-X² and numbers of strata after joining; parameters as `s_x2`."""
    right, wrong = rest_score_chances(values, a, b)
    at = np.arange(len(a))
    total = values.sum(axis=1).astype(int)[:, None]
    if n_strata is None:
        inside = ((total > 0) & (total < len(a)))[:, 0]
        values, total = values[inside], total[inside]
        strata = np.broadcast_to(total, values.shape)
        if_right, if_wrong = right[at, total - 1], wrong[at, total]
    else:
        strata, rest = rest_strata(values, n_strata), total - values.astype(int)
        if_right, if_wrong = right[at, rest], wrong[at, rest]
    return _joined_chi_squares(values, if_right / (if_right + if_wrong), strata, LEAST_EXPECTED)


def rest_score_chances(values: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(J, J) chance of score s on the items other than j, together with a right and a wrong answer to j.

    Ability is integrated out over nodes that suit these answers; the chances of an item sum to 1.
    """
    nodes = suited_nodes(Answers.of(values), np.array([np.log(a), -a * b]))
    weights = np.exp(-(nodes**2) / 2)
    chances = probability(nodes[:, None], a, b)
    right, wrong = np.zeros((2, len(a), len(a)))
    _add_rest_scores(chances, weights / weights.sum(), right, wrong)
    return right, wrong


@njit(cache=True)
def _add_rest_scores(chances, weights, right, wrong):
    """Add up the distribution of the score without each item over nodes.

    An item is taken out of the distribution of the whole score from the end at which errors shrink.
    """
    n = chances.shape[1]
    whole = np.empty(n + 1)
    for q in range(len(weights)):
        _lord_wingersky(chances[q], whole)
        likely = np.flatnonzero(whole > _NEGLIGIBLE)
        low, high = likely[0], likely[-1]
        for j in range(n):
            p, rest = chances[q, j], 0.0
            if p < 0.5:
                odds, scale = p / (1 - p), 1 / (1 - p)
                for s in range(low, min(high, n - 1) + 1):
                    rest = max(whole[s] * scale - odds * rest, 0.0)
                    right[j, s] += weights[q] * p * rest
                    wrong[j, s] += weights[q] * (1 - p) * rest
            else:
                odds, scale = (1 - p) / p, 1 / p
                for s in range(high - 1, max(low, 1) - 2, -1):
                    rest = max(whole[s + 1] * scale - odds * rest, 0.0)
                    right[j, s] += weights[q] * p * rest
                    wrong[j, s] += weights[q] * (1 - p) * rest


@njit(cache=True)
def _lord_wingersky(chances, whole):
    """Fill the distribution of the number of right answers, item by item."""
    whole[:] = 0.0
    whole[0] = 1.0
    for j in range(len(chances)):
        for s in range(j + 1, 0, -1):
            whole[s] = whole[s] * (1 - chances[j]) + whole[s - 1] * chances[j]
        whole[0] *= 1 - chances[j]


@njit(cache=True)
def _joined_chi_squares(values, expected, strata, least):
    """χ² and number of strata of each item; strata that expect too few join their smaller neighbour."""
    n_items = values.shape[1]
    statistic, n_used = np.zeros(n_items), np.zeros(n_items, np.int64)
    for j in range(n_items):
        table = np.zeros((strata.max() + 1, 3))
        for i in range(len(values)):
            table[strata[i, j]] += np.array([1.0, values[i, j], expected[i, j]])
        table = table[table[:, 0] > 0]
        while len(table) > 1:
            few = np.flatnonzero((table[:, 2] < least) | (table[:, 0] - table[:, 2] < least))
            if not len(few):
                break
            g = few[0]
            below = g > 0 and (g == len(table) - 1 or table[g - 1, 0] <= table[g + 1, 0])
            to = g - 1 if below else g + 1
            table[to] += table[g]
            table = np.concatenate((table[:g], table[g + 1 :]))
        for g in range(len(table)):
            n, seen, wanted = table[g]
            if wanted >= least and n - wanted >= least:
                statistic[j] += (seen - wanted) ** 2 * n / (wanted * (n - wanted))
                n_used[j] += 1
    return statistic, n_used
