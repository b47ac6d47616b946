"""The mean-variance plane: how even benchmarks are, and how far models agree about it (arXiv 2509.25671)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq

from benchtrust.errors import SchemaError
from benchtrust.harmony.index import cluster_scores, redrawn
from benchtrust.harmony.nulls import harmony_null

UNDETERMINED = "undetermined"


@dataclass(frozen=True)
class Heterogeneity:
    """Spread of true values behind estimates with standard errors.

    Attributes
    ----------
    sd : estimated standard deviation of the true values, at least 0.
    low, high : its interval.
    q : Cochran's Q, and `p`, of a Q as large if all true values were equal.
    n : estimates.
    """

    sd: float
    low: float
    high: float
    q: float
    p: float
    n: int


def harmony_by_model(
    labels: pd.DataFrame, scores: pd.DataFrame, bandwidth: float, n_draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """H of each model on one benchmark, beside its value at uniform accuracy and two nulls.

    Parameters
    ----------
    labels : models × items, clusters of each model's own partition; NaN = not asked. A model whose labels are
        all the same has no partition.
    scores : models × items in [0, 1], rows and columns as in `labels`; NaN = no score.
    bandwidth : as in `harmony`.
    n_draws, rng : draws of each null, and their source.

    Returns
    -------
    A row a model: model, items, k, mean (score), value (H), at_uniform, size_free, null_mean, null_low,
    null_high (mean, 5 and 95 % of random partitions of the same sizes), corrected (value minus null_mean),
    p_partitions, binomial_mean, p_binomial (lower tails), worst, worst_share (accuracy of the worst cluster,
    and its share of the items). Without a partition k is 1 and H and what follows are NaN.

    Raises
    ------
    SchemaError : frames of different models or items, or as `harmony_null`.

    Source: the book, "The mean–variance plane".
    """
    _check_frames(labels, scores)
    return pd.DataFrame(
        [_model_row(model, *_asked(labels, scores, model), bandwidth, n_draws, rng) for model in scores.index]
    )


def resampled(
    labels: pd.DataFrame, scores: pd.DataFrame, bandwidth: float, n_draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """H of the models that have a partition, items drawn again with replacement, the same for all models.

    Parameters
    ----------
    labels, scores, bandwidth : as in `harmony_by_model`; partitions are held as they are.
    n_draws, rng : draws and their source.

    Returns
    -------
    (n_draws, models) H. A draw adds noise to the clusters' accuracies, so draws lie lower than H where H is
    near its value at uniform accuracy: their spread is what they are for.

    Raises
    ------
    SchemaError : as `harmony_by_model`; no model has a partition.

    Source: Davison & Hinkley (1997), Bootstrap Methods and their Application, section 2.
    """
    _check_frames(labels, scores)
    n = labels.shape[1]
    counts = rng.multinomial(n, np.full(n, 1 / n), size=n_draws).astype("float64")
    drawn = {}
    for model in labels.index[labels.nunique(axis=1) > 1]:
        asked = (labels.loc[model].notna() & scores.loc[model].notna()).to_numpy()
        own = labels.loc[model].to_numpy()[asked].astype(int)
        score = scores.loc[model].to_numpy(dtype="float64")[asked]
        drawn[model] = redrawn(counts[:, asked], own, score, bandwidth)
    if not drawn:
        raise SchemaError("No model has a partition of this benchmark: there is no H to average.")
    return pd.DataFrame(drawn)


def standard_errors(table: pd.DataFrame, draws: Mapping[str, pd.DataFrame]) -> np.ndarray:
    """Standard error of each benchmark's mean H, for other models and other items.

    The variance of H over models, pooled over the benchmarks, holds what models and their own noise of items
    add to a mean of M models: its M-th part. The noise of items that the models share does not show there; it
    is the variance of the mean over the draws, less the M-th part of what they draw apart from each other.

    Parameters
    ----------
    table : of `plane`.
    draws : of `resampled`, for each benchmark.

    Returns
    -------
    (benchmarks,) standard errors, in the order of the table.

    Raises
    ------
    SchemaError : a benchmark with H of fewer than two models.

    Source: the book, "The mean–variance plane".
    """
    if (table["models"] < 2).any():
        name = table.loc[table["models"].idxmin(), "benchmark"]
        raise SchemaError(f"{name} has H of fewer than two models: leave it out, or give more models.")
    pooled = np.average(table["variance"], weights=table["models"] - 1)
    shared = [_shared_variance(draws[name]) for name in table["benchmark"]]
    return np.sqrt(pooled / table["models"] + shared).to_numpy()


def plane(models: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Mean and variance of H over models, by benchmark.

    Parameters
    ----------
    models : rows of `harmony_by_model` with a column benchmark.
    level : of the intervals, in (0, 1).

    Returns
    -------
    A row a benchmark, in the order met: benchmark; unevenness (1 - mean) with low and high, and mean with
    mean_low and mean_high (Student's t over models, cut to 0..1); variance with variance_low and
    variance_high (χ² over models); k (median); at_uniform, null_mean and corrected (means over models);
    models, without (models that have a partition, and that have none), items (most that a model was asked);
    place, which side of the benchmarks' medians both intervals lie on, such as "high mean, low variance", or
    "undetermined". With three or four models, two or three degrees of freedom, and H is bounded and skewed:
    the intervals say how little is known and no more. They are NaN below two models.

    Raises
    ------
    SchemaError : a level outside its range.

    Source: arXiv 2509.25671, mean–variance plane; the intervals and "undetermined" are not in the paper.
    """
    if not 0 < level < 1:
        raise SchemaError(f"level = {level}: give the share of the interval, such as .95.")
    rows = [
        {"benchmark": name, **_plane_row(own, level)} for name, own in models.groupby("benchmark", sort=False)
    ]
    table = pd.DataFrame(rows)
    sides = [_side(table, name, table[name].median()) for name in ("mean", "variance")]
    known = (sides[0] != "") & (sides[1] != "")
    table["place"] = (sides[0] + " mean, " + sides[1] + " variance").where(known, UNDETERMINED)
    return table


def heterogeneity(values: np.ndarray, errors: np.ndarray, level: float = 0.95) -> Heterogeneity:
    """Spread of true values: Paule and Mandel's estimate with the Q-profile interval.

    Parameters
    ----------
    values, errors : (n,) independent estimates and their standard errors, > 0.
    level : of the interval, in (0, 1).

    If Q is below even its lower quantile, no variance fits. Then the errors are too large, and for the upper
    end they are scaled so that Q is as expected.

    Raises
    ------
    SchemaError : fewer than three estimates, missing ones, errors that are not positive, or a level outside
        its range.

    Source: Paule & Mandel (1982), J. Res. NBS 87:377-385; Viechtbauer (2007), Statist. Med. 26:37-52.
    """
    values, errors = np.asarray(values, dtype="float64"), np.asarray(errors, dtype="float64")
    if len(values) < 3 or values.shape != errors.shape or not np.isfinite(values).all():
        raise SchemaError(
            f"{values.shape} estimates, {errors.shape} errors: give three or more, none missing."
        )
    if not (np.isfinite(errors) & (errors > 0)).all() or not 0 < level < 1:
        raise SchemaError("Standard errors must be positive, and the level must lie between 0 and 1.")
    df = len(values) - 1
    ends = stats.chi2.ppf([(1 + level) / 2, (1 - level) / 2], df)
    q = _cochran(0.0, values, errors)
    scale = np.sqrt(q / df) if 0 < q < ends[1] else 1.0
    low, sd = (_spread_at(values, errors, bound) for bound in (ends[0], df))
    high = _spread_at(values, errors * scale, ends[1])
    return Heterogeneity(sd, low, high, q, float(stats.chi2.sf(q, df)), len(values))


def _model_row(
    model: str,
    labels: np.ndarray,
    scores: np.ndarray,
    bandwidth: float,
    n_draws: int,
    rng: np.random.Generator,
) -> dict:
    k = len(np.unique(labels))
    row = {"model": model, "items": len(labels), "k": k, "mean": float(np.nanmean(scores))}
    if k == 1:
        return row | dict.fromkeys(_MEASURED, np.nan)
    null = harmony_null(scores, labels, bandwidth, n_draws, rng)
    by_lot, sizes = null.against_partitions, cluster_scores(scores, labels).sizes
    values = by_lot | {
        "corrected": by_lot["value"] - by_lot["null_mean"],
        "p_partitions": by_lot["p"],
        "binomial_mean": null.binomial.mean(),
        "p_binomial": null.p_binomial,
        "worst": null.observed.worst,
        "worst_share": sizes[null.observed.worst_cluster] / sizes.sum(),
    }
    return row | {name: float(values[name]) for name in _MEASURED}


_MEASURED = (
    "value",
    "at_uniform",
    "size_free",
    "null_mean",
    "null_low",
    "null_high",
    "corrected",
    "p_partitions",
    "binomial_mean",
    "p_binomial",
    "worst",
    "worst_share",
)


def _plane_row(own: pd.DataFrame, level: float) -> dict[str, float]:
    value = own["value"].dropna()
    n, mean, variance = len(value), value.mean(), value.var()
    tail = np.array([(1 + level) / 2, (1 - level) / 2])
    half = stats.t.ppf(tail[0], n - 1) * np.sqrt(variance / n) if n > 1 else np.nan
    ends = np.clip([mean - half, mean + half], 0, 1)
    spread = variance * (n - 1) / stats.chi2.ppf(tail, n - 1) if n > 1 else [np.nan, np.nan]
    return {
        "unevenness": 1 - mean,
        "low": 1 - ends[1],
        "high": 1 - ends[0],
        "mean": mean,
        "mean_low": ends[0],
        "mean_high": ends[1],
        "variance": variance,
        "variance_low": spread[0],
        "variance_high": spread[1],
        "k": own.loc[value.index, "k"].median(),
        **own[["at_uniform", "null_mean", "corrected"]].mean().to_dict(),
        "models": n,
        "without": len(own) - n,
        "items": int(own["items"].max()),
    }


def _side(table: pd.DataFrame, name: str, centre: float) -> pd.Series:
    low, high = table[f"{name}_low"] > centre, table[f"{name}_high"] < centre
    return pd.Series(np.select([low, high], ["high", "low"], ""), index=table.index)


def _shared_variance(draws: pd.DataFrame) -> float:
    apart = draws.sub(draws.mean()).var(axis=1).mean()
    return max(draws.mean(axis=1).var() - apart / draws.shape[1], 0.0)


def _asked(labels: pd.DataFrame, scores: pd.DataFrame, model: str) -> tuple[np.ndarray, np.ndarray]:
    asked = labels.loc[model].notna().to_numpy()
    own = labels.loc[model].to_numpy()[asked].astype(int)
    return own, scores.loc[model].to_numpy(dtype="float64")[asked]


def _check_frames(labels: pd.DataFrame, scores: pd.DataFrame) -> None:
    if not (labels.index.equals(scores.index) and labels.columns.equals(scores.columns)):
        raise SchemaError("Labels and scores must have the same models as rows and items as columns.")
    if labels.notna().sum(axis=1).eq(0).any():
        raise SchemaError(f"{labels.notna().sum(axis=1).idxmin()} has no item with a cluster: leave it out.")


def _cochran(variance: float, values: np.ndarray, errors: np.ndarray) -> float:
    weights = 1 / (errors**2 + variance)
    return float((weights * (values - np.average(values, weights=weights)) ** 2).sum())


def _spread_at(values: np.ndarray, errors: np.ndarray, q: float) -> float:
    """Standard deviation at which Cochran's Q is q; 0 if it is less everywhere."""
    if _cochran(0.0, values, errors) <= q:
        return 0.0
    top = np.ptp(values) ** 2 * len(values) / q
    return float(np.sqrt(brentq(lambda variance: _cochran(variance, values, errors) - q, 0.0, top)))
