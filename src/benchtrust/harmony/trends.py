"""HARMONY of several models on the same items, and how it goes with their size."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

from benchtrust.errors import SchemaError
from benchtrust.harmony.index import cluster_scores, harmony, redrawn

_BLOCK = 50
"""Draws of the items held at once."""


@dataclass(frozen=True)
class PairedHarmony:
    """HARMONY of several respondents, and of the same items drawn again for all of them.

    Attributes
    ----------
    value : (m,) H of each respondent, indexed as the scores were.
    draws : n_draws × m, a row a draw of the items.
    """

    value: pd.Series
    draws: pd.DataFrame

    def mean_by(self, level: str) -> "PairedHarmony":
        """Average over the respondents that agree in a level of the index, such as a model's prompts."""
        return PairedHarmony(
            self.value.groupby(level=level, sort=False).mean(),
            self.draws.T.groupby(level=level, sort=False).mean().T,
        )


@dataclass(frozen=True)
class SizeTrend:
    """How much H changes as models grow tenfold.

    Attributes
    ----------
    slope : change of H over a tenfold number of parameters, within the kinds.
    low, high : interval for other items put to the same models.
    drift : mean of the draws minus the slope.
    low_models, high_models : interval for other models of the family, if H were a line in log size plus
        independent normal noise; NaN where no model is left over to tell the noise.
    models, sizes : number of models, and of distinct sizes.
    """

    slope: float
    low: float
    high: float
    drift: float
    low_models: float
    high_models: float
    models: int
    sizes: int


def paired_harmony(
    scores: pd.DataFrame, labels: np.ndarray, bandwidth: float, n_draws: int, rng: np.random.Generator
) -> PairedHarmony:
    """Bootstrap H of several respondents over the same draws of the items, the partitions as given.

    Differences between respondents are then free of the noise that the items bring to all of them. A cluster
    that a draw misses counts as in `harmony_interval`.

    Parameters
    ----------
    scores : m respondents × n items in [0, 1], none missing.
    labels : (n,) clusters 0..k-1 for all respondents, or (m, n) with a partition for each, in two clusters or
        more.
    bandwidth : as in `harmony`.
    n_draws, rng : draws of n items with replacement, and their source.

    Raises
    ------
    SchemaError : a missing score, labels of another shape, fewer than two draws, or as `cluster_scores` and
        `harmony`.
    """
    values, labels = scores.to_numpy(dtype="float64"), np.asarray(labels)
    if np.isnan(values).any():
        raise SchemaError(
            f"{int(np.isnan(values).sum())} scores are missing: keep the items that all were asked."
        )
    if labels.shape not in (values.shape, values.shape[1:]):
        raise SchemaError(f"Labels of shape {labels.shape} do not fit scores of {values.shape}.")
    if n_draws < 2:
        raise SchemaError(f"{n_draws} draws: at least two are needed.")
    own = list(zip(np.broadcast_to(labels, values.shape), values, strict=True))
    found = [cluster_scores(score, label) for label, score in own]
    value = pd.Series([harmony(one.accuracy, one.sizes, bandwidth).value for one in found], scores.index)
    n, draws = values.shape[1], np.empty((n_draws, len(own)))
    for start in range(0, n_draws, _BLOCK):
        counts = rng.multinomial(n, np.full(n, 1 / n), size=min(_BLOCK, n_draws - start)).astype("float64")
        drawn = [redrawn(counts, label, score, bandwidth) for label, score in own]
        draws[start : start + _BLOCK] = np.transpose(drawn)
    return PairedHarmony(value, pd.DataFrame(draws, columns=scores.index))


def size_trend(
    value: pd.Series, draws: pd.DataFrame, sizes: pd.Series, kinds: pd.Series, level: float = 0.95
) -> SizeTrend:
    """Least-squares slope of H on log10 of the size, with a level of its own for each kind of model.

    The interval over items is the slope ± z standard deviations of the draws: in simulations with 57 clusters
    of 10,000 items it covers .94 to .97 of the time. It knows nothing of other models. Two models always lie
    on a line, so that they say nothing at all of others.

    Parameters
    ----------
    value, draws : (m,) and n_draws × m, H of the models of one family, as of `paired_harmony`.
    sizes : numbers of parameters by model, > 0, in any unit.
    kinds : groups by model that are compared within themselves only, such as base and chat.
    level : of the intervals, in (0, 1).

    Raises
    ------
    SchemaError : a model without a size or kind, a size that is not positive, no kind with two sizes, or a
        level outside its range.

    Source: ordinary least squares with group effects; for the interval Davison & Hinkley (1997), section 5.2.
    """
    if not 0 < level < 1:
        raise SchemaError(f"level = {level}: give the share of the interval, such as .95.")
    models = value.index
    if lost := [m for m in models if m not in sizes.index or m not in kinds.index]:
        raise SchemaError(f"Model {lost[0]!r} has no size or kind.")
    own, kind = sizes.loc[models].to_numpy(dtype="float64"), kinds.loc[models].to_numpy()
    if not (own > 0).all():
        raise SchemaError("Sizes must be positive numbers of parameters.")
    x = pd.Series(np.log10(own)).groupby(kind).transform(lambda part: part - part.mean()).to_numpy()
    if np.allclose(x, 0):
        raise SchemaError("A trend over size needs two sizes of one kind.")
    gradient = x / (x @ x)
    slope, drawn = float(gradient @ value.to_numpy()), draws[models].to_numpy() @ gradient
    reach = norm.ppf((1 + level) / 2) * drawn.std(ddof=1)
    rest = value.groupby(kind).transform(lambda part: part - part.mean()).to_numpy() - slope * x
    df = len(models) - len(set(kind)) - 1
    spread = student.ppf((1 + level) / 2, df) * np.sqrt(rest @ rest / df / (x @ x)) if df > 0 else np.nan
    return SizeTrend(
        slope=slope,
        low=slope - reach,
        high=slope + reach,
        drift=float(drawn.mean() - slope),
        low_models=slope - spread,
        high_models=slope + spread,
        models=len(models),
        sizes=len(set(own)),
    )
