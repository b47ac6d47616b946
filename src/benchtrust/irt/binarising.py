"""What does it cost to make right or wrong of graded judgments? Samejima's model beside the 2PL in it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import kendalltau

from benchtrust.errors import SchemaError
from benchtrust.irt.ability import ability
from benchtrust.irt.curves import probability
from benchtrust.irt.matrix import generator, named
from benchtrust.irt.ranks import spearman

GRADES = "grades"
_NODES = np.linspace(-6, 6, 241)


def threshold_sensitivity(grades: pd.DataFrame, thresholds: Sequence[float]) -> pd.DataFrame:
    """Does the order of the models hang on where graded scores are cut?

    Parameters
    ----------
    grades : scores, respondents × items, NaN = not asked.
    thresholds : scores from here on count as 1.

    Returns
    -------
    A row per threshold: threshold; share, of the answers that count as 1; tau, Kendall's τ_b of the mean
    binarised score with the mean grade (NaN if all tie); n_turned, pairs of respondents that the two order
    oppositely; n_tied, pairs that the mean grade orders and the threshold does not; n_pairs.

    Raises
    ------
    SchemaError : fewer than two respondents or no threshold.
    """
    if len(grades) < 2 or not len(thresholds):
        raise SchemaError(f"{len(grades)} respondents, {len(thresholds)} thresholds: give 2 and 1 at least.")
    first, second = np.triu_indices(len(grades), 1)
    means = grades.mean(axis=1).to_numpy()
    before = _signs(means, first, second)
    rows = []
    for threshold in thresholds:
        binary = (grades >= threshold).astype("float64").where(grades.notna())
        scores = binary.mean(axis=1).to_numpy()
        after = _signs(scores, first, second)
        rows.append(
            {
                "threshold": threshold,
                "share": float(np.nanmean(binary.to_numpy())),
                "tau": float(kendalltau(np.round(means, 12), np.round(scores, 12)).statistic),
                "n_turned": int((before * after < 0).sum()),
                "n_tied": int(((before != 0) & (after == 0)).sum()),
                "n_pairs": len(first),
            }
        )
    return pd.DataFrame(rows)


def graded_probability(theta: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the chance of each grade, P(x ≥ c) = σ(a(θ − b_c)) of one less that of the next.

    Parameters
    ----------
    theta : (N,) abilities.
    a : (J,) discriminations, > 0.
    b : (J, C) rising difficulties of reaching grades 1 to C.

    Returns
    -------
    (N, J, C + 1), each in [0, 1]; grades sum to 1. Cut at grade c, items are a 2PL of a and b_c.

    Source: Samejima, Psychometric Monograph 17 (1969).
    """
    reach = probability(np.asarray(theta)[:, None, None], np.asarray(a)[:, None], b)
    edge = np.ones((*reach.shape[:2], 1))
    return -np.diff(np.concatenate([edge, reach, 0 * edge], axis=2), axis=2)


def graded_information(theta: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Fisher information (N, J) of one graded answer, Σ_c (dP_c/dθ)² / P_c.

    Arguments as `graded_probability`. It is that of the 2PL for one step, and of no cut of the grades more.

    Source: Samejima (1969).
    """
    z = np.asarray(a)[:, None] * (np.asarray(theta)[:, None, None] - b)
    rise = np.asarray(a)[:, None] * expit(z) * expit(-z)
    edge = np.zeros((*rise.shape[:2], 1))
    slopes = -np.diff(np.concatenate([edge, rise, edge], axis=2), axis=2)
    chances = graded_probability(theta, a, b)
    return np.divide(slopes**2, chances, out=np.zeros_like(slopes), where=chances > 0).sum(axis=2)


def simulate_graded(
    theta: np.ndarray | pd.Series, a: np.ndarray, b: np.ndarray, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw grades 0 to C of Samejima's model, respondents × items; arguments as `graded_probability`."""
    labelled = pd.Series(theta, dtype="float64")
    chances = graded_probability(labelled.to_numpy(), a, b)
    drawn = generator(rng).random((*chances.shape[:2], 1)) > np.cumsum(chances, axis=2)[:, :, :-1]
    return named(pd.DataFrame(drawn.sum(axis=2).astype("float64"), index=labelled.index))


def graded_ability(grades: pd.DataFrame, a: np.ndarray, b: np.ndarray) -> pd.DataFrame:
    """Posterior mean of ability from grades, θ ~ N(0, 1), items known.

    Parameters
    ----------
    grades : respondents × items, whole numbers 0 to C, NaN = not asked.
    a, b : as in `graded_probability`.

    Returns
    -------
    theta and se, the mean and the standard deviation of the posterior on 241 nodes between −6 and 6; 0 and 1
    without answers.

    Raises
    ------
    SchemaError : a value that is no grade of the items.
    """
    values = grades.to_numpy(dtype="float64")
    asked = ~np.isnan(values)
    if not np.isin(values[asked], np.arange(np.shape(b)[1] + 1)).all():
        raise SchemaError(f"Grades must be whole numbers from 0 to {np.shape(b)[1]}, or NaN.")
    chances = np.log(np.maximum(graded_probability(_NODES, a, b), np.finfo(float).tiny))
    log_posterior = np.tile(-(_NODES**2) / 2, (len(values), 1))
    for item in range(values.shape[1]):
        own = asked[:, item]
        log_posterior[own] += chances[:, item, values[own, item].astype(int)].T
    weights = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = weights @ _NODES
    spread = np.sqrt(np.maximum(weights @ _NODES**2 - mean**2, 0))
    return pd.DataFrame({"theta": mean, "se": spread}, grades.index)


def graded_contrast(
    n_respondents: int,
    n_items: int,
    n_draws: int,
    rng: np.random.Generator,
    n_grades: int = 5,
    step: float = 1.0,
    location: float = 0.0,
) -> pd.DataFrame:
    """Simulate graded answers, and estimate ability from the grades and from every cut of them.

    Abilities are N(0, 1), discriminations log-normal with sd .3 of the logarithm, the middles of the items'
    steps N(`location`, 1), and their steps `step` apart. Items are known to all readings, so that they differ
    by the answers alone.

    Parameters
    ----------
    n_respondents, n_items : at least 3 and 1.
    n_draws : simulated tests.
    rng : source of everything.
    n_grades : at least 2; 2 leaves nothing to throw away.
    step : logits between the difficulties of grades that follow each other, > 0.
    location : mean of the middles; negative: most answers get high grades.

    Returns
    -------
    A row per draw and reading (`GRADES`, or "1+", "2+", …: from this grade on is right): draw, reading;
    share, of answers that count as right (mean grade over the highest one for `GRADES`); spearman and rmse of
    the estimates with the true abilities; se, the mean posterior standard deviation.

    Raises
    ------
    SchemaError : a size below those named, or no rng.
    """
    if n_respondents < 3 or n_items < 1 or n_draws < 1 or n_grades < 2 or not step > 0:
        raise SchemaError(
            f"{n_respondents} respondents, {n_items} items, {n_draws} draws, {n_grades} grades, step {step}: "
            "give at least 3, 1, 1, 2, and a step above 0."
        )
    generator(rng)
    offsets = (np.arange(n_grades - 1) - (n_grades - 2) / 2) * step
    rows = []
    for draw in range(n_draws):
        theta = rng.standard_normal(n_respondents)
        a = np.exp(0.3 * rng.standard_normal(n_items))
        b = location + rng.standard_normal((n_items, 1)) + offsets
        grades = simulate_graded(theta, a, b, rng)
        found = {GRADES: (grades.to_numpy().mean() / (n_grades - 1), graded_ability(grades, a, b))}
        for cut in range(1, n_grades):
            binary = (grades >= cut).astype("float64")
            own = ability(binary, pd.DataFrame({"a": a, "b": b[:, cut - 1]}, binary.columns), "eap")
            found[f"{cut}+"] = (binary.to_numpy().mean(), own)
        rows += [
            {"draw": draw, "reading": name, "share": float(share), **_recovery(theta, own)}
            for name, (share, own) in found.items()
        ]
    return pd.DataFrame(rows)


def _recovery(theta: np.ndarray, found: pd.DataFrame) -> dict[str, float]:
    guess = found["theta"].to_numpy()
    rmse = float(np.sqrt(np.mean((guess - theta) ** 2)))
    return {"spearman": spearman(guess, theta), "rmse": rmse, "se": float(found["se"].mean())}


def _signs(values: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.sign(np.round(values[first] - values[second], 12))
