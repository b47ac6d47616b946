"""Adaptive tests: each respondent is asked what tells most at the ability shown so far (arXiv 2606.20626)."""

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import pandas as pd
from numba import njit

from benchtrust.errors import SchemaError, pick
from benchtrust.irt.ability import METHODS, slope
from benchtrust.irt.pool import binary_matrix, item_parameters

ML_BOUND = 8.0
"""Largest |θ| of maximum likelihood, which is infinite after answers that are all right or all wrong."""

_NODES = np.linspace(-8, 8, 401)
_TOLERANCE = 1e-10


@dataclass(frozen=True)
class AdaptiveTest:
    """What was asked, and what it told.

    Attributes
    ----------
    asked : respondents × steps, the item of each step; None once the test has stopped.
    theta : respondents × steps, the ability after each answer (logits); NaN once the test has stopped.
    se : respondents × steps, its standard error: 1/√(1 + information) of MAP, the posterior's standard
        deviation of EAP, 1/√information of ML, all at `theta`.
    n_asked : items asked of each respondent.
    exposure : items × 1, the share of the respondents who were asked the item (Sympson & Hetter 1985).
    overlap : mean test overlap, the number of items that two respondents drawn by lot have in common over the
        mean length (Chen, Ankenmann & Spray 2003); NaN for one respondent.
    n_at_bound : steps of all respondents at which ML stands at ± `ML_BOUND`.
    left_out : items of the matrix without parameters, never asked.
    """

    asked: pd.DataFrame
    theta: pd.DataFrame
    se: pd.DataFrame
    n_asked: pd.Series
    exposure: pd.Series
    overlap: float
    n_at_bound: int
    left_out: tuple[Hashable, ...]

    def theta_after(self, k: int) -> pd.Series:
        """Ability after `k` items, or after the last one where a test stopped before; NaN if none was.

        Raises
        ------
        SchemaError : k below 1.
        """
        if k < 1:
            raise SchemaError(f"Ability after {k} items: ask for that after 1 or more.")
        return self.theta.loc[:, :k].ffill(axis=1).iloc[:, -1].rename("theta")


def adaptive_test(
    matrix: pd.DataFrame,
    items: pd.DataFrame,
    length: int,
    start: float = 0.0,
    method: str = "map",
    stop_se: float | None = None,
) -> AdaptiveTest:
    """Ask each respondent the item of maximum Fisher information at their current ability, again and again.

    No item is asked twice, and only items that the respondent has an answer to. Of items with equal
    information the first one in `items` is asked. Respondents do not depend on each other. Items lie in order
    of a, and a²/4 bounds the information of an item, so that most are never looked at.

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong, NaN = cannot be asked.
    items : parameters a and b, a row for each item that may be asked.
    length : largest number of items, at most as many as have parameters.
    start : ability at which the first item is chosen, such as the mean ability of the models that the items
        were calibrated on. It enters no estimate.
    method : ability estimate, with θ ~ N(0, 1): ``map`` posterior mode; ``eap`` posterior mean, on 401 nodes
        between -8 and 8 (enough down to a standard error of .03). Or ``ml``, without a prior and kept within
        ± `ML_BOUND`, where Fluid Benchmarking keeps it: answers that are all right or all wrong stand there.
    stop_se : stop before `length` once the standard error is at most this.

    Raises
    ------
    SchemaError : as `binary_matrix` and `item_parameters`; a length that is no whole number from 1 to the
        size of the pool, a start that is not finite, a stop that is not positive.
    UnknownNameError : no such method.

    Source: Fluid Benchmarking as in arXiv 2606.20626, algorithm 1; Lord (1980), chapter 10.
    """
    matrix = binary_matrix(matrix)
    parameters = item_parameters(items, matrix)
    kind = METHODS.index(pick(method, METHODS, "ability method"))
    _check_rules(length, len(parameters), start, stop_se)
    rank = np.argsort(-parameters["a"].to_numpy(), kind="stable")
    a, b = parameters.to_numpy()[rank].T.copy()
    answers = matrix[parameters.index[rank]].to_numpy()
    asked, theta, se = _test_all(answers, a, b, rank, length, float(start), kind, stop_se or 0.0, _NODES)
    return _result(matrix, parameters.index, np.append(rank, -1)[asked], theta, se, kind)


def _check_rules(length: int, n_items: int, start: float, stop_se: float | None) -> None:
    if isinstance(length, bool) or not (isinstance(length, Integral) and 1 <= length <= n_items):
        raise SchemaError(
            f"A test of {length!r} items from a pool of {n_items}: ask 1 to {n_items}, an integer."
        )
    if not (isinstance(start, Real) and np.isfinite(start)):
        raise SchemaError(f"Starting ability {start!r}: give a finite number.")
    if stop_se is not None and not stop_se > 0:
        raise SchemaError(f"Stopping at a standard error of {stop_se}: give one above 0, or None.")


def _result(
    matrix: pd.DataFrame, labels: pd.Index, asked: np.ndarray, theta: np.ndarray, se: np.ndarray, kind: int
) -> AdaptiveTest:
    steps = pd.RangeIndex(1, asked.shape[1] + 1, name="step")
    frame = {"index": matrix.index, "columns": steps}
    names = np.append(labels.to_numpy(dtype=object), None)
    times = np.bincount(asked[asked >= 0], minlength=len(labels))
    n_asked = (asked >= 0).sum(axis=1)
    return AdaptiveTest(
        asked=pd.DataFrame(names[asked], dtype=object, **frame),
        theta=pd.DataFrame(theta, **frame),
        se=pd.DataFrame(se, **frame),
        n_asked=pd.Series(n_asked, matrix.index, name="n_asked"),
        exposure=pd.Series(times / len(matrix), labels, name="exposure"),
        overlap=_overlap(times, n_asked),
        n_at_bound=int((np.abs(theta) == ML_BOUND).sum()) if kind == METHODS.index("ml") else 0,
        left_out=tuple(matrix.columns.difference(labels, sort=False)),
    )


def _overlap(times: np.ndarray, n_asked: np.ndarray) -> float:
    """Expected number of common items of two respondents, over the mean number of items."""
    n = len(n_asked)
    if n < 2 or not n_asked.any():
        return float("nan")
    return float((times * (times - 1)).sum() / (n * (n - 1)) / n_asked.mean())


@njit(cache=True)
def _test_all(answers, a, b, rank, length, start, kind, stop_se, nodes):
    """Items (position, -1 = stopped), abilities and standard errors: respondents × steps each.

    Items lie by falling a; `rank` tells which of equals is asked first.
    """
    n = len(answers)
    asked = np.full((n, length), -1)
    theta, se = np.full((n, length), np.nan), np.full((n, length), np.nan)
    x, a_x, b_x = np.empty(length), np.empty(length), np.empty(length)
    for i in range(n):
        free, log_posterior, now = ~np.isnan(answers[i]), -0.5 * nodes**2, start
        for step in range(length):
            item = _most_informative(now, a, b, rank, free)
            if item < 0:
                break
            free[item] = False
            x[step], a_x[step], b_x[step] = answers[i, item], a[item], b[item]
            if kind == 1:
                now, error = _posterior_mean(log_posterior, nodes, x[step], a[item], b[item])
            else:
                known = step + 1
                now, error = _mode(x[:known], a_x[:known], b_x[:known], now, 1.0 if kind == 0 else 0.0)
            asked[i, step], theta[i, step], se[i, step] = item, now, error
            if error <= stop_se:
                break
    return asked, theta, se


@njit(cache=True)
def _most_informative(theta, a, b, rank, free):
    """The free item of maximum information, among equals that of least rank; -1 if none is free.

    Items lie by falling a, so that none behind the first one with a²/4 below the maximum can reach it.
    """
    best, found = -1.0, -1
    for item in range(len(a)):
        if 0.25 * a[item] ** 2 < best:
            break
        if free[item]:
            e = np.exp(-abs(a[item] * (theta - b[item])))
            information = a[item] ** 2 * e / (1 + e) ** 2
            if information > best or (information == best and rank[item] < rank[found]):
                best, found = information, item
    return found


@njit(cache=True)
def _mode(x, a, b, theta, precision):
    """Mode of the log posterior, and its error: by Newton steps, or halves of the bracket where they fail.

    They fail if they leave the bracket or do not shrink by half. With a prior the mode lies within ± the sum
    of the discriminations; without one it is kept in ± `ML_BOUND`.
    """
    high = a.sum() if precision > 0 else ML_BOUND
    low = -high
    theta = min(max(theta, low), high)
    if precision == 0:
        for bound in (low, high):
            gradient, information = slope(x, a, b, precision, bound)
            if gradient * bound >= 0:
                return bound, _error(information)
    information, last = precision, np.inf
    while high - low > _TOLERANCE:
        gradient, information = slope(x, a, b, precision, theta)
        step = gradient / information if information > 0 else np.inf
        if abs(step) < _TOLERANCE:
            return theta + step, _error(information)
        low, high = (theta, high) if gradient > 0 else (low, theta)
        if not low < theta + step < high or abs(step) > last / 2:
            step = (low + high) / 2 - theta
        theta, last = theta + step, abs(step)
    return theta, _error(information)


@njit(cache=True)
def _error(information):
    return 1 / np.sqrt(information) if information > 0 else np.inf


@njit(cache=True)
def _posterior_mean(log_posterior, nodes, x, a, b):
    """Add an answer to the log posterior on the nodes, in place; its mean and standard deviation."""
    sign = 1.0 if x == 1 else -1.0
    for q in range(len(nodes)):
        z = sign * a * (nodes[q] - b)
        log_posterior[q] += min(z, 0.0) - np.log1p(np.exp(-abs(z)))
    weights = np.exp(log_posterior - log_posterior.max())
    mean = (weights * nodes).sum() / weights.sum()
    return mean, np.sqrt((weights * (nodes - mean) ** 2).sum() / weights.sum())
