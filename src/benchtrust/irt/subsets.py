"""Static subsets: the same few items for every model, and what their answers say (arXiv 2606.20626)."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from numbers import Integral
from typing import Protocol

import numpy as np
import pandas as pd
from numba import njit

from benchtrust.errors import SchemaError, pick
from benchtrust.irt.ability import ability
from benchtrust.irt.curves import information
from benchtrust.irt.matrix import generator, shown, warn_unnamed
from benchtrust.irt.medoids import k_medoids
from benchtrust.irt.pool import binary_matrix, item_parameters

FISHER = ("total_fisher", "marginal_fisher", "marginal_fisher_quartiles")
"""Methods that rank items by their information, and respondents by ability."""

RANDOM = ("random", "stratified")
"""Methods whose items are a random sample."""

NESTED = (*FISHER, "disco", "random")
"""Methods whose subset of k items is the beginning of every larger one."""

METHODS = (*NESTED, "anchor_points", "stratified")

FLOOR = 1e-12
"""Least test information in the paper's form of marginal Fisher."""

_QUARTILES = 4
_LEAST = 3

Estimate = Callable[[pd.DataFrame, pd.DataFrame], pd.Series]
"""From answers (respondents × items) and item parameters to abilities."""


class Calibrated(Protocol):
    """What selection reads of a calibration."""

    items: pd.DataFrame
    abilities: pd.DataFrame


@dataclass(frozen=True)
class Selection:
    """A subset of items.

    Attributes
    ----------
    method : how it was selected.
    items : k labels in the order of selection (anchor points: the largest cluster first).
    weights : (k,) what an answer counts in the estimated score; they sum to 1.
    n_pool : items that were to be chosen from.
    strata : item -> stratum, of all items of the pool; None unless drawn by strata.
    """

    method: str
    items: tuple[Hashable, ...]
    weights: np.ndarray
    n_pool: int
    strata: pd.Series | None = None

    @property
    def table(self) -> pd.DataFrame:
        """Index: items in order; column weight."""
        return pd.DataFrame({"weight": self.weights}, pd.Index(self.items, name="item"))


def select_items(
    matrix: pd.DataFrame,
    k: int,
    method: str,
    calibration: Calibrated | None = None,
    rng: np.random.Generator | None = None,
    prior_information: float = 1.0,
    strata: pd.Series | None = None,
) -> Selection:
    """Choose k items by one of `METHODS`.

    - ``total_fisher`` : most information, summed over the calibrated models' abilities.
    - ``marginal_fisher`` : greedily the least Σ_m 1/√(1 + TIF_m), where TIF_m is the information of the
      chosen items at the ability of model m.
    - ``marginal_fisher_quartiles`` : the order of marginal_fisher, dealt out in turn from the four quartiles
      of b, the easiest first.
    - ``anchor_points`` : the medoids of k clusters of items by the distance 1 - r, with the Pearson
      correlation r of two items over the models that have both (0 where it is undefined); an answer counts by
      the size of its cluster. Clusters by FasterPAM from k medoids drawn at random.
    - ``disco`` : largest entropy of the pass rate.
    - ``random`` : a simple random sample.
    - ``stratified`` : a random sample of each stratum, in proportion to its size.

    Ties go to the item that stands first.

    Parameters
    ----------
    matrix : answers of the models to select on, respondents × items, 1 right, 0 wrong, NaN = not asked.
    k : number of items.
    calibration : of these models, for the Fisher methods: `items` (a, b) and `abilities` (theta). Items
        without parameters are not chosen; models without an ability (NaN, of no answers) play no part.
    rng : source of the draws, for ``anchor_points``, ``random`` and ``stratified``.
    prior_information : the 1 in marginal Fisher. 0 gives the paper's form, Σ_m 1/√max(TIF_m, 1e-12), which
        is not concave, so that every item is looked at in each step.
    strata : item -> stratum, for ``stratified``; at most k of them. By default the quartiles of the pass rate
        (k groups if k < 4).

    Raises
    ------
    SchemaError : as `binary_matrix` and `item_parameters`; k that is no whole number from 1 to the size of
        the pool; no calibration, rng or stratum where one is needed; a calibration without any ability;
        prior information below 0; fewer than 3 models with answers for ``anchor_points`` or ``disco``.
    UnknownNameError : no such method.

    Warns
    -----
    UnnamedAxesWarning : no axis says what it holds, and no item parameters show a swap.

    Source: arXiv 2606.20626; for anchor points after Vivek et al., arXiv 2309.08638; for DISCO after
    Rubinstein et al., arXiv 2510.07959.
    """
    return select_sizes(matrix, [k], method, calibration, rng, prior_information, strata)[k]


def select_sizes(
    matrix: pd.DataFrame,
    sizes: Sequence[int],
    method: str,
    calibration: Calibrated | None = None,
    rng: np.random.Generator | None = None,
    prior_information: float = 1.0,
    strata: pd.Series | None = None,
) -> dict[int, Selection]:
    """Choose subsets of several sizes: as `select_items`, with what they share computed once."""
    method = pick(method, METHODS, "method")
    table = binary_matrix(matrix)
    if method not in FISHER:
        warn_unnamed(matrix)
    matrix = table
    if method in ("anchor_points", *RANDOM):
        generator(rng)
    if method in FISHER:
        _check_prior(prior_information)
        parameters, abilities = _calibrated(calibration, matrix, method)
        matrix = matrix[parameters.index]
    check_sizes(sizes, matrix.shape[1])
    if method in ("anchor_points", "disco"):
        _check_models(matrix, method)
    if method == "anchor_points":
        distance = _distance(matrix.to_numpy())
        return {k: _anchor_points(distance, matrix.columns, k, rng) for k in sizes}
    if method == "stratified":
        return {k: _stratified(matrix, k, strata, rng) for k in sizes}
    if method == "random":
        order = rng.permutation(matrix.shape[1])
    elif method == "disco":
        order = np.argsort(_imbalance(matrix.to_numpy()), kind="stable")
    else:
        order = _fisher_order(parameters, abilities, max(sizes), method, prior_information)
    return {k: _equal(method, matrix.columns[order[:k]], matrix.shape[1]) for k in sizes}


def map_ability(matrix: pd.DataFrame, items: pd.DataFrame) -> pd.Series:
    """Ability by MAP, the default wherever one is estimated."""
    return ability(matrix, items, "map")["theta"]


def subset_scores(
    matrix: pd.DataFrame,
    selection: Selection,
    items: pd.DataFrame | None = None,
    estimate: Estimate = map_ability,
) -> pd.Series:
    """Estimate each respondent from the answers to a subset, as its method intends.

    Parameters
    ----------
    matrix : answers, respondents × items; only those of the subset are read.
    selection : the subset.
    items : parameters a and b of its items, for the Fisher methods.
    estimate : ability of respondents from answers and parameters; MAP by default.

    Returns
    -------
    Fisher methods: ability, named ``theta``. Others: weighted mean of the answers that are there, named
    ``score``, in [0, 1]; NaN where none is.

    Raises
    ------
    SchemaError : as `binary_matrix` and `item_parameters`; an item of the subset that is not in the matrix,
        or no parameters where they are needed.
    """
    chosen = list(selection.items)
    absent = [item for item in chosen if item not in matrix.columns]
    if absent:
        raise SchemaError(f"{len(absent)} items of the subset are not in the matrix, such as {absent[0]!r}.")
    answers = binary_matrix(matrix[chosen])
    if selection.method not in FISHER:
        values = answers.to_numpy()
        total = np.where(np.isnan(values), 0.0, selection.weights).sum(axis=1)
        right = np.nansum(values * selection.weights, axis=1)
        return pd.Series(right / np.where(total > 0, total, np.nan), answers.index, name="score")
    if items is None:
        raise SchemaError(f"Method {selection.method!r} estimates abilities: give the item parameters.")
    return estimate(answers, item_parameters(items.loc[chosen], answers)).rename("theta")


def check_sizes(sizes: Sequence[int], n_pool: int) -> None:
    """Sizes of subsets that a pool can give.

    Raises
    ------
    SchemaError : none, or one that is no whole number from 1 to the size of the pool.
    """
    bad = [k for k in sizes if isinstance(k, bool) or not (isinstance(k, Integral) and 1 <= k <= n_pool)]
    if bad or not len(sizes):
        found = f"{bad[0]!r} items" if bad else "No number of items"
        raise SchemaError(f"{found} from a pool of {n_pool}: choose 1 to {n_pool}, an integer.")


def _check_prior(information: float) -> None:
    if not 0 <= information < np.inf:
        raise SchemaError(f"Prior information {information}: give a finite number, 0 or more.")


def _check_models(matrix: pd.DataFrame, method: str) -> None:
    n_models = int(matrix.notna().any(axis=1).sum())
    if n_models < _LEAST:
        raise SchemaError(f"{n_models} model(s) with answers: {method!r} compares {_LEAST} at the least.")


def _calibrated(
    calibration: Calibrated | None, matrix: pd.DataFrame, method: str
) -> tuple[pd.DataFrame, np.ndarray]:
    """Checked parameters of the items, and the abilities of the models that have one."""
    if not hasattr(calibration, "abilities"):
        raise SchemaError(f"Method {method!r} reads item parameters and abilities: give the calibration.")
    parameters = item_parameters(calibration.items, matrix)
    abilities = calibration.abilities["theta"].to_numpy(dtype="float64")
    known = abilities[~np.isnan(abilities)]
    if not len(known):
        raise SchemaError(f"None of {len(abilities)} models has an ability: method {method!r} needs some.")
    return parameters, known


def _equal(method: str, items: pd.Index, n_pool: int) -> Selection:
    return Selection(method, tuple(items), np.full(len(items), 1 / len(items)), n_pool)


def _imbalance(answers: np.ndarray) -> np.ndarray:
    """|2p - 1| of each item, which falls as the entropy of its pass rate p rises; 1 without an answer."""
    right, n = np.nansum(answers, axis=0), (~np.isnan(answers)).sum(axis=0)
    return np.where(n > 0, np.abs(2 * right - n) / np.maximum(n, 1), 1.0)


def _fisher_order(
    parameters: pd.DataFrame, abilities: np.ndarray, k: int, method: str, prior_information: float
) -> np.ndarray:
    """Positions of the first items, k or more."""
    a, b = parameters["a"].to_numpy(), parameters["b"].to_numpy()
    told = information(abilities, a[:, None], b[:, None])
    if method == "total_fisher":
        return np.argsort(-told.sum(axis=1), kind="stable")
    n = k if method == "marginal_fisher" else len(told)
    if prior_information > 0:
        order = _lazily_greedy(told, n, float(prior_information))
    else:
        order = _plainly_greedy(told, n)
    return order if method == "marginal_fisher" else _dealt(order, b)


def _dealt(order: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Deal an order out in turn from the quartiles of b."""
    quartile = _quantile_group(b, _QUARTILES)[order]
    turn = pd.Series(quartile).groupby(quartile).cumcount().to_numpy()
    return order[np.lexsort((quartile, turn))]


def _plainly_greedy(told: np.ndarray, k: int) -> np.ndarray:
    """Items (of items × models information) that in turn make Σ_m 1/√max(TIF_m, FLOOR) least."""
    total, free = np.zeros(told.shape[1]), np.ones(len(told), dtype=bool)
    order = np.empty(k, dtype=int)
    for step in range(k):
        loss = (1 / np.sqrt(np.maximum(total + told, FLOOR))).sum(axis=1)
        order[step] = np.where(free, loss, np.inf).argmin()
        free[order[step]] = False
        total += told[order[step]]
    return order


@njit(cache=True)
def _lazily_greedy(told, k, prior_information):
    """Items that in turn make Σ_m 1/√(prior information + TIF_m) least (Minoux 1978).

    What an item gains never grows as others join, so that an old gain is a bound: an item whose fresh gain
    stays on top of the heap is the best one, and the others need no look.
    """
    total = np.full(told.shape[1], prior_information)
    heap = [(-_gain(total, told[item]), item, 0) for item in range(len(told))]
    heapify(heap)
    order = np.empty(k, np.int64)
    for step in range(k):
        _, item, fresh = heappop(heap)
        while fresh < step:
            heappush(heap, (-_gain(total, told[item]), item, step))
            _, item, fresh = heappop(heap)
        order[step] = item
        total += told[item]
    return order


@njit(cache=True)
def _gain(total, told):
    """Σ_m 1/√total - 1/√(total + told), without cancellation."""
    gain = 0.0
    for m in range(len(total)):
        root, wider = np.sqrt(total[m]), np.sqrt(total[m] + told[m])
        gain += told[m] / (root * wider * (root + wider))
    return gain


def _distance(answers: np.ndarray) -> np.ndarray:
    """1 - Pearson r of all pairs of items over the respondents with both answers; 1 where r is undefined.

    From counts, which are exact in 32 bits; of binary answers the sum of squares is the sum.
    """
    asked = (~np.isnan(answers)).astype("float32")
    right = np.nan_to_num(answers).astype("float32")
    n, sums = asked.T @ asked, right.T @ asked
    variance = n * sums - sums**2
    covariance = n * (right.T @ right) - sums * sums.T
    spread = np.sqrt(variance * variance.T)
    r = np.divide(covariance, spread, out=np.zeros_like(spread), where=spread > 0)
    distance = np.clip(1 - r, 0, 2)
    np.fill_diagonal(distance, 0)
    return distance


def _anchor_points(distance: np.ndarray, items: pd.Index, k: int, rng: np.random.Generator) -> Selection:
    medoids, sizes = k_medoids(distance, k, rng)
    order = np.argsort(-sizes, kind="stable")
    weights = sizes[order] / len(distance)
    return Selection("anchor_points", tuple(items[medoids[order]]), weights, len(distance))


def _stratified(
    matrix: pd.DataFrame, k: int, strata: pd.Series | None, rng: np.random.Generator
) -> Selection:
    strata = _pass_rate_groups(matrix, k) if strata is None else _given_strata(strata, matrix, k)
    codes = pd.factorize(strata, sort=True)[0]
    sizes = np.bincount(codes)
    shares = _proportional(sizes, k)
    drawn = [
        np.sort(rng.choice(np.flatnonzero(codes == h), size=n, replace=False)) for h, n in enumerate(shares)
    ]
    weights = np.repeat(sizes / shares / len(codes), shares)
    chosen = matrix.columns[np.concatenate(drawn)]
    return Selection("stratified", tuple(chosen), weights, len(codes), strata)


def _pass_rate_groups(matrix: pd.DataFrame, k: int) -> pd.Series:
    """Quartiles of the pass rate, or k groups where k < 4; an item without answer belongs to the lowest."""
    rate = matrix.mean().fillna(0.0)
    n_groups = min(k, _QUARTILES)
    return pd.Series(_quantile_group(rate.to_numpy(), n_groups), matrix.columns, name="stratum")


def _quantile_group(values: np.ndarray, n_groups: int) -> np.ndarray:
    """Number of the quantile group, from 0; a value on an edge belongs to the lower group."""
    edges = np.quantile(values, np.arange(1, n_groups) / n_groups)
    return np.searchsorted(edges, values, side="left")


def strata_of(items: pd.Index, strata: pd.Series) -> pd.Series:
    """Stratum of each item.

    Raises
    ------
    SchemaError : an item without one, or with more than one.
    """
    twice = strata.index[strata.index.duplicated()]
    if len(twice):
        raise SchemaError(
            f"Items with more than one stratum: {shown(twice.unique())}. Name one for each item."
        )
    own = strata.reindex(items)
    if own.isna().any():
        raise SchemaError(f"Item {own.index[own.isna()][0]!r} has no stratum: name one for each item.")
    return own


def _given_strata(strata: pd.Series, matrix: pd.DataFrame, k: int) -> pd.Series:
    own = strata_of(matrix.columns, strata)
    if own.nunique() > k:
        raise SchemaError(f"{k} items from {own.nunique()} strata: choose at least one of each.")
    return own


def _proportional(sizes: np.ndarray, k: int) -> np.ndarray:
    """Share k items out among strata in proportion to their sizes, at least one each (Sainte-Laguë)."""
    shares = np.ones(len(sizes), dtype=int)
    for _ in range(k - len(sizes)):
        shares[(sizes / (2 * shares + 1)).argmax()] += 1
    return shares
