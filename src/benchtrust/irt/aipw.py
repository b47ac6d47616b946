"""A benchmark's score from a random sample of its items, helped by predictions for all of them."""

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.irt.curves import probability
from benchtrust.irt.matrix import generator
from benchtrust.irt.pool import binary_matrix, item_parameters
from benchtrust.irt.subsets import RANDOM, Estimate, Selection, map_ability, strata_of


def aipw(
    matrix: pd.DataFrame,
    sample: Selection | Sequence[Hashable],
    predictions: pd.DataFrame,
    strata: pd.Series | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Estimate mean scores from a random sample of items: predictions for all, corrected on the sample.

    μ̂ = N⁻¹ [Σ_all P̂_i + Σ_sample (x_i - P̂_i) / π_i], π_i = k / N, or n_h / N_h in stratum h. It is unbiased
    however wrong the predictions are, if they do not see the answers that are set against them
    (`cross_fitted`); good ones make the interval short. The standard error is that of mean residuals x - P̂ of
    a sample drawn without replacement, stratum by stratum.

    Only for items drawn by lot. A subset chosen for its information is no sample: nothing here corrects it.

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong; only those to sampled items are read.
    sample : selection by ``random`` or ``stratified``, which brings its strata; or items drawn by lot.
    predictions : chance of a right answer, respondents × all N items of the benchmark.
    strata : item -> stratum of all N items, where `sample` is a list of items drawn by strata.
    level : confidence of the interval, by Student's t with k - (number of strata) degrees of freedom.

    Returns
    -------
    Index: respondents of `matrix`; columns estimate, se, low, high. Estimate and interval may leave [0, 1];
    se and interval are NaN where a stratum of several items has only one of them in the sample.

    Raises
    ------
    SchemaError : as `binary_matrix`; a selection that is not random; a sampled item without an answer; a
        prediction that is missing or outside [0, 1]; an item without a stratum, or a stratum without a
        sampled item; a level outside (0, 1).

    Source: Robins, Rotnitzky & Zhao (1994); the difference estimator of Särndal, Swensson & Wretman (1992),
    chapter 6.
    """
    from scipy.stats import t

    if not 0 < level < 1:
        raise SchemaError(f"Confidence {level}: give a share between 0 and 1, such as 0.95.")
    strata = _strata(sample, predictions, strata)
    items = list(sample.items if isinstance(sample, Selection) else sample)
    answers = _sampled_answers(matrix, items, predictions)
    predicted = _checked_predictions(predictions, answers.index)
    by_stratum = (answers - predicted[items]).T.groupby(strata[items].to_numpy())
    size, n = strata.value_counts(), by_stratum.size()
    empty = size.index.difference(n.index)
    if len(empty):
        raise SchemaError(f"Stratum {empty[0]!r} has no item in the sample: draw at least one of each.")
    share, part = size[n.index] / len(strata), n / size[n.index]
    estimate = predicted.mean(axis=1) + by_stratum.mean().mul(share, axis=0).sum()
    spread = by_stratum.var(ddof=1).where(part < 1, 0.0)
    se = np.sqrt(spread.mul(share**2 * (1 - part) / n, axis=0).sum(skipna=False))
    reach = se * t.ppf((1 + level) / 2, max(len(items) - len(size), 1))
    return pd.DataFrame({"estimate": estimate, "se": se, "low": estimate - reach, "high": estimate + reach})


def cross_fitted(
    matrix: pd.DataFrame,
    sample: Selection | Sequence[Hashable],
    items: pd.DataFrame,
    n_folds: int,
    rng: np.random.Generator,
    estimate: Estimate = map_ability,
) -> pd.DataFrame:
    """Predict every item of a benchmark from the ability shown on the sampled items of other folds.

    Where the other folds hold no sampled item, ability is 0, the mean of its prior.

    Parameters
    ----------
    matrix : answers, respondents × items; only those of the sample are read.
    sample : selection, or items.
    items : parameters a and b of all N items of the benchmark.
    n_folds : parts that the N items are cut into at random, from 2 to N.
    rng : source of the folds.
    estimate : ability of respondents from answers and parameters; MAP by default.

    Returns
    -------
    Chance of a right answer, respondents × N items, as `aipw` takes it.

    Raises
    ------
    SchemaError : as `binary_matrix` and `item_parameters`; a number of folds out of range; a sampled item
        without parameters or not in the matrix; no rng.

    Source: arXiv 2606.20626 for the model; Chernozhukov et al. (2018) for cross-fitting.
    """
    if not 2 <= n_folds <= len(items):
        raise SchemaError(f"{n_folds} folds of {len(items)} items: give 2 to {len(items)}.")
    sampled = list(sample.items if isinstance(sample, Selection) else sample)
    answers = _sampled_answers(matrix, sampled, items.T)
    parameters = item_parameters(items, items.T)
    fold = generator(rng).permutation(np.arange(len(items)) % n_folds)
    fold_of_sampled = fold[items.index.get_indexer(sampled)]
    chances = np.empty((len(answers), len(items)))
    for own in range(n_folds):
        others = answers.loc[:, fold_of_sampled != own]
        theta = pd.Series(0.0, answers.index)
        if others.shape[1]:
            theta = estimate(others, parameters.loc[others.columns])
        a, b = parameters.to_numpy()[fold == own].T
        chances[:, fold == own] = probability(theta.to_numpy()[:, None], a, b)
    return pd.DataFrame(chances, answers.index, items.index)


def _strata(
    sample: Selection | Sequence[Hashable], predictions: pd.DataFrame, strata: pd.Series | None
) -> pd.Series:
    """Stratum of each of the N items; one for all unless drawn by strata."""
    if isinstance(sample, Selection):
        if sample.method not in RANDOM:
            raise SchemaError(
                f"Items chosen by {sample.method!r} are no random sample: give one by {' or '.join(RANDOM)}."
            )
        if strata is not None:
            raise SchemaError("The selection brings its strata: leave `strata` out.")
        if sample.n_pool != predictions.shape[1]:
            raise SchemaError(
                f"Drawn from {sample.n_pool} items, predicted {predictions.shape[1]}: they must be the same."
            )
        strata = sample.strata
    if strata is None:
        return pd.Series(0, predictions.columns)
    return strata_of(predictions.columns, strata)


def _sampled_answers(matrix: pd.DataFrame, items: list[Hashable], benchmark: pd.DataFrame) -> pd.DataFrame:
    """Answers to the sampled items, all of them there."""
    for where, labels in (("in the matrix", matrix.columns), ("among the benchmark's", benchmark.columns)):
        absent = [item for item in items if item not in labels]
        if absent:
            raise SchemaError(f"{len(absent)} sampled items are not {where}, such as {absent[0]!r}.")
    answers = binary_matrix(matrix[items])
    gaps = answers.isna()
    if gaps.to_numpy().any():
        respondent = gaps.any(axis=1).idxmax()
        item = gaps.loc[respondent].idxmax()
        raise SchemaError(
            f"{respondent!r} has no answer to the sampled item {item!r}: ask it, or leave the respondent out."
        )
    return answers


def _checked_predictions(predictions: pd.DataFrame, respondents: pd.Index) -> pd.DataFrame:
    absent = respondents.difference(predictions.index)
    if len(absent):
        raise SchemaError(f"No predictions for {absent[0]!r}: give a row for each respondent.")
    predicted = predictions.loc[respondents].astype("float64")
    if not ((predicted >= 0) & (predicted <= 1)).to_numpy().all():
        raise SchemaError("Predictions must be chances in [0, 1], none missing: see `cross_fitted`.")
    return predicted
