"""Respondents that come in groups, such as the configurations of one model, and so are no random sample.

A group is named by levels of the respondents' index: ``["model"]``, or ``["model", "template", "shots"]``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, pick
from benchtrust.irt.adaptive import adaptive_test
from benchtrust.irt.calibration import Calibration, calibrate
from benchtrust.irt.curves import probability
from benchtrust.irt.estimation import FLAT, Answers, Priors, posterior, suited_nodes
from benchtrust.irt.pool import binary_matrix, item_parameters
from benchtrust.irt.ranks import LEAST, spearman
from benchtrust.irt.residuals import residuals

_NODES = np.linspace(-8, 8, 401)
_LEAST_SD = 0.05


@dataclass(frozen=True)
class HeldOutTests:
    """Adaptive tests of groups that the items were not calibrated on.

    Attributes
    ----------
    theta : respondents × steps, ability after each answer, on the scale of the respondent's calibration.
    score : respondents × steps, the score of all items that this ability lets expect, in [0, 1].
    n_calibrations : number of groups.
    """

    theta: pd.DataFrame
    score: pd.DataFrame
    n_calibrations: int


def group_abilities(matrix: pd.DataFrame, items: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Mean and standard deviation of ability in each group, θ ~ N(mean, sd²) there, items known.

    By marginal maximum likelihood, so that neither the error of the abilities nor their pull to a common mean
    enters: the spread of estimated abilities has both.

    Parameters
    ----------
    matrix : respondents × items; 1 right, 0 wrong, NaN not asked.
    items : frame indexed by item with a > 0 and b, of items in the matrix.
    by : levels of the respondents' index that name a group.

    Returns
    -------
    A row per group, in the order of its name: mean, sd (at least 0.05: smaller ones are not told from none),
    n respondents with answers. Mean and sd of the standard normal prior of a calibration are 0 and 1.

    Raises
    ------
    SchemaError : as `pool.binary_matrix` and `pool.item_parameters`; a group without answers.
    UnknownNameError : the index has no such level.

    Source: Mislevy, Psychometrika 49 (1984) 359–381.
    """
    matrix = binary_matrix(matrix)
    a, b = item_parameters(items, matrix).to_numpy().T
    answers = matrix[items.index].to_numpy()
    members = _members(matrix.index, by)
    rows = []
    for own in members.values():
        known = answers[own][~np.isnan(answers[own]).all(axis=1)]
        if not len(known):
            raise SchemaError(f"A group of {len(own)} respondents has no answer to an item with parameters.")
        rows.append([*_distribution(known, a, b), len(known)])
    levels = _levels(matrix.index, by)
    names = pd.DataFrame(list(members), columns=levels)
    return names.join(pd.DataFrame(rows, columns=["mean", "sd", "n"])).set_index(levels)


def residual_correlations(matrix: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Correlation over items of what the model leaves unexplained in the answers of two respondents.

    The residual is x - P(θ̂), with θ̂ by MAP. If respondents answered independently given their abilities, the
    correlations would lie about 0; how closely, `simulate` tells. It is Yen's Q3 with the sides exchanged.

    Parameters
    ----------
    matrix : respondents × items; 1 right, 0 wrong, NaN not asked.
    items : frame indexed by item with a > 0 and b, of items in the matrix.

    Returns
    -------
    respondents × respondents in [-1, 1], 1 on the diagonal; of two respondents over the items that both
    answered, NaN with fewer than 3 of them.

    Raises
    ------
    SchemaError : as `pool.binary_matrix` and `pool.item_parameters`.

    Source: after Yen, Applied Psychological Measurement 8 (1984) 125–145.
    """
    return residuals(matrix, items).T.corr(min_periods=LEAST)


def robust_errors(matrix: pd.DataFrame, calibration: Calibration, by: Sequence[str]) -> pd.DataFrame:
    """Standard errors of items where answers within a group hang together.

    The sandwich H⁻¹ (Σ_g s_g s_g') H⁻¹ with H the information of all answers and s_g the slope of a group's
    marginal log-likelihood, less its mean. It asks nothing of the answers within a group, and of groups only
    that they are independent and many: with few its errors are too small, with one a parameter it is nought.

    Parameters
    ----------
    matrix : the answers that were calibrated on, respondents × items.
    calibration : of `matrix`.
    by : levels of the respondents' index that name a group. All levels make each respondent a group: what
        then differs from the errors of the calibration is misfit, and noise of the sandwich.

    Returns
    -------
    Index: items of the calibration; columns se_a, se_b.

    Raises
    ------
    SchemaError : as `pool.binary_matrix` and `pool.item_parameters`; fewer than 2 groups.
    UnknownNameError : the index has no such level.

    Source: White, Econometrica 50 (1982) 1–25; Liang & Zeger, Biometrika 73 (1986) 13–22.
    """
    matrix = binary_matrix(matrix)
    parameters = item_parameters(calibration.items, matrix)
    members = list(_members(matrix.index, by).values())
    if len(members) < 2:
        raise SchemaError("A single group: nothing tells how groups vary.")
    a, b = parameters.to_numpy().T
    slopes, information = _slopes(matrix[parameters.index].to_numpy(), a, b, calibration.priors or FLAT)
    of_groups = np.array([slopes[own].sum(axis=0) for own in members])
    of_groups -= of_groups.mean(axis=0)
    root = np.linalg.solve(information, of_groups.T) * np.sqrt(len(members) / (len(members) - 1))
    on_l, on_d = np.split(root, 2)
    errors = [a * np.linalg.norm(on_l, axis=1), np.linalg.norm(b[:, None] * on_l + on_d / a[:, None], axis=1)]
    return pd.DataFrame(dict(zip(("se_a", "se_b"), errors, strict=True)), parameters.index)


def held_out_tests(matrix: pd.DataFrame, by: Sequence[str], length: int) -> HeldOutTests:
    """Test each group adaptively with items calibrated on all other groups.

    The tests are those of `adaptive_test` by MAP and start at the mean ability of the other groups. What is
    held out decides what is measured: leave out a model, and it is new to the items; leave out one of its
    configurations, and the items have seen its like.

    Parameters
    ----------
    matrix : respondents × items; 1 right, 0 wrong, NaN not asked.
    by : levels of the respondents' index that name a group.
    length : number of items; a test stops before where fewer have parameters.

    Raises
    ------
    SchemaError : as `calibrate` and `adaptive_test`; fewer than 2 groups.
    UnknownNameError : the index has no such level.
    """
    matrix = binary_matrix(matrix)
    members = list(_members(matrix.index, by).values())
    if len(members) < 2:
        raise SchemaError("A single group: nothing is left to calibrate on.")
    theta, score = [], []
    for own in members:
        test, train = matrix.iloc[own], matrix.drop(matrix.index[own])
        found = calibrate(train)
        start = float(found.abilities["theta"].mean())
        asked = adaptive_test(test[found.items.index], found.items, min(length, len(found.items)), start)
        theta.append(asked.theta.reindex(columns=range(1, length + 1)).ffill(axis=1))
        score.append(_expected(theta[-1], found.items, train.mean()))
    return HeldOutTests(*(pd.concat(own).loc[matrix.index] for own in (theta, score)), len(members))


def group_agreement(estimates: pd.DataFrame, truth: pd.Series, by: Sequence[str]) -> pd.DataFrame:
    """Spearman correlation of estimates and truth among the respondents of each group.

    Abilities of groups that were calibrated apart stand on scales of their own, so that only ranks within a
    group compare.

    Parameters
    ----------
    estimates : respondents × steps, such as `HeldOutTests.theta`.
    truth : what they estimate, by the same respondents.
    by : levels of the respondents' index that name a group.

    Returns
    -------
    groups × steps in [-1, 1]; NaN with fewer than 3 respondents or where all of a side tie.

    Raises
    ------
    SchemaError : the two sides have other respondents, or in another order.
    UnknownNameError : the index has no such level.
    """
    if not estimates.index.equals(truth.index):
        raise SchemaError("Estimates and truth are of other respondents, or in another order: reindex one.")
    members = _members(estimates.index, by)
    values, whole = estimates.to_numpy(), truth.to_numpy()
    rows = [[spearman(step, whole[own]) for step in values[own].T] for own in members.values()]
    levels = _levels(estimates.index, by)
    names = pd.DataFrame(list(members), columns=levels)
    return pd.DataFrame(rows, names.set_index(levels).index, estimates.columns)


def _slopes(
    values: np.ndarray, a: np.ndarray, b: np.ndarray, priors: Priors
) -> tuple[np.ndarray, np.ndarray]:
    """(N, 2J) slope of each respondent's log-likelihood in log a and d, and the (2J, 2J) information of all.

    The information is that of complete data and of the priors, minus what is lost since abilities are not
    observed (Louis 1982).
    """
    answers, items = Answers.of(values), np.array([np.log(a), -a * b])
    found = posterior(answers, items, suited_nodes(answers, items))
    lever = np.stack([np.outer(a, found.nodes), np.ones_like(found.chances)])
    spread = found.chances * (1 - found.chances)
    n, n_items = values.shape
    information = np.zeros((2, n_items, 2, n_items))
    each, slopes = np.arange(n_items), np.empty((n, 2 * n_items))
    for i, weights in enumerate(found.weights):
        residuals = np.nan_to_num(values[i][:, None] - found.chances)
        at_nodes = (lever * residuals).reshape(2 * n_items, -1)
        slopes[i] = at_nodes @ weights
        lost = (at_nodes * weights) @ at_nodes.T - np.outer(slopes[i], slopes[i])
        information -= lost.reshape(information.shape)
        known = np.einsum("kjq,ljq,jq->klj", lever, lever, spread * weights) * ~np.isnan(values[i])
        information[:, each, :, each] += known.transpose(2, 0, 1)
        information[0, each, 0, each] -= slopes[i, :n_items]
    for k, (precision, trust) in enumerate(zip(priors.precision, priors.trust(n_items), strict=True)):
        information[k, :, k] += precision * (np.eye(n_items) - trust / n_items)
    return slopes, information.reshape(2 * n_items, 2 * n_items)


def _expected(theta: pd.DataFrame, items: pd.DataFrame, pass_rates: pd.Series) -> pd.DataFrame:
    """Expected score of all items; one without parameters counts by its pass rate."""
    chances = probability(theta.to_numpy()[:, :, None], items["a"].to_numpy(), items["b"].to_numpy())
    others = pass_rates.drop(items.index).sum()
    return pd.DataFrame((chances.sum(axis=2) + others) / len(pass_rates), theta.index, theta.columns)


def _levels(respondents: pd.Index, by: Sequence[str]) -> list[str]:
    return [pick(name, respondents.names, "level of the respondents' index") for name in by]


def _members(respondents: pd.Index, by: Sequence[str]) -> dict[tuple, np.ndarray]:
    """Name of each group -> positions of its respondents."""
    frame = respondents.to_frame(index=False)[_levels(respondents, by)]
    return {name: own.index.to_numpy() for name, own in frame.groupby([*frame], dropna=False)}


def _distribution(answers: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of the abilities behind the answers, by maximum likelihood."""
    from scipy.optimize import minimize
    from scipy.special import log_expit, logsumexp

    z = a[:, None] * (_NODES - b[:, None])
    likelihood = (answers == 1) @ log_expit(z) + (answers == 0) @ log_expit(-z)

    def loss(own: np.ndarray) -> float:
        mean, log_sd = own
        log_density = -0.5 * ((_NODES - mean) / np.exp(log_sd)) ** 2
        return float(
            len(answers) * logsumexp(log_density) - logsumexp(likelihood + log_density, axis=1).sum()
        )

    bounds = [(_NODES[0], _NODES[-1]), (np.log(_LEAST_SD), np.log(_NODES[-1]))]
    mean, log_sd = minimize(loss, [0.0, 0.0], method="L-BFGS-B", bounds=bounds).x
    return float(mean), float(np.exp(log_sd))
