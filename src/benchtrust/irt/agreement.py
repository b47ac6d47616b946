"""How few items rank new models as the whole benchmark does? Models are held out (arXiv 2606.20626)."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, pick
from benchtrust.irt.adaptive import adaptive_test
from benchtrust.irt.aipw import aipw, cross_fitted
from benchtrust.irt.calibration import calibrate
from benchtrust.irt.curves import probability
from benchtrust.irt.matrix import generator, warn_unnamed
from benchtrust.irt.pool import binary_matrix, check_held_out, family_of
from benchtrust.irt.ranks import LEAST, ranks, spearman
from benchtrust.irt.subsets import (
    FISHER,
    METHODS,
    Calibrated,
    Estimate,
    map_ability,
    select_items,
    select_sizes,
    subset_scores,
)

ADAPTIVE = ("adaptive", "adaptive_ml")
"""Adaptive tests, with abilities by MAP or by maximum likelihood."""

AIPW = "aipw"
"""Random items, from which `irt.aipw` estimates the score."""

FOLDS = 5
"""Parts that AIPW cuts the items into, to predict each from the others."""

MIN_VARIANCE = 0.01
"""Items with p(1 - p) below this are not worth asking."""

MEASURES = ("agreement", "top", "error")


@dataclass(frozen=True)
class AgreementCurve:
    """How well subsets rank held-out models.

    Attributes
    ----------
    table : a row per method and size: the mean over splits of each of `MEASURES`, with the ends of its
        interval (``agreement_low``, ``agreement_high`` and so on), n_splits, and n_undefined, the splits
        without an agreement, which enter no mean.
    splits : a row per split, method and size: k items used, agreement, top, error, n_held_out models,
        n_no_answer of them to which nothing that they answered was asked (they are left out there).
    pools : a row per split: n_training models, n_held_out, n_pool items after the filter, n_calibrated of
        them with parameters, and cv, the coefficient of variation of their discriminations.
    n_items : items of the benchmark.
    """

    table: pd.DataFrame
    splits: pd.DataFrame
    pools: pd.DataFrame
    n_items: int


@dataclass(frozen=True)
class SplitHalf:
    """Agreement of a benchmark's random halves.

    Attributes
    ----------
    halves : (n_draws,) Spearman correlation of the respondents' scores on two halves; NaN where undefined.
    full : (n_draws,) the same stepped up to the whole length, 2r / (1 + r); NaN for r = -1.
    n_undefined : draws in which all respondents tie on a half.
    """

    halves: np.ndarray
    full: np.ndarray
    n_undefined: int


def geometric_sizes(n_items: int, n: int = 20) -> list[int]:
    """Sizes of subsets, round(geomspace(1, n_items, n)), each once.

    Raises
    ------
    SchemaError : no item, or no size.

    Source: arXiv 2606.20626.
    """
    if n_items < 1 or n < 1:
        raise SchemaError(f"{n} sizes of subsets of {n_items} items: give 1 and 1, or more.")
    return [int(size) for size in np.unique(np.round(np.geomspace(1, n_items, n)))]


def agreement_curve(
    matrix: pd.DataFrame,
    methods: Sequence[str],
    sizes: Sequence[int],
    n_splits: int | None = None,
    n_held_out: int | None = None,
    rng: np.random.Generator | None = None,
    families: Mapping[Hashable, Hashable] | None = None,
    leak: bool = False,
    top: int = 3,
    level: float = 0.95,
    prior_information: float = 1.0,
    calibrate: Callable[[pd.DataFrame], Calibrated] = calibrate,
    estimate: Estimate = map_ability,
) -> AgreementCurve:
    """Hold models out, choose items on the others, and compare what the items say with the whole benchmark.

    In each split, items with p(1 - p) < `MIN_VARIANCE` over the other models are dropped, the rest is
    calibrated and chosen from, on the other models only; a size beyond what is left takes all of it. The
    estimate of a held-out model is that of `subset_scores`, or the ability of an adaptive test that starts at
    the mean ability of the other models. The whole benchmark's score is the mean over all items that a model
    has an answer to.

    - agreement : Spearman correlation of estimate and score; undefined with fewer than 3 models or where all
      tie.
    - top : share of the `top` best models by score that are among the `top` best by estimate, expected where
      ties are broken by lot, on either side apart; by chance top / n_held_out.
    - error : mean absolute error of the score. An ability speaks through the expected score of all items in
      the pool, and each item that was dropped or not calibrated counts by its pass rate on the other models.

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong, NaN = not asked.
    methods : of `METHODS` and `ADAPTIVE`, or `AIPW`, which draws from the calibrated items and wants all
        answers of the held-out models to them. One named twice counts once, and so does a size.
    sizes : numbers of items, such as `geometric_sizes`.
    n_splits, n_held_out : random splits, and the models held out in each. Or leave both out and give
    families : respondent -> family; each family in turn is held out.
    rng : source of splits and subsets.
    leak : filter the items once, over all models, held-out ones included, and score the whole benchmark on
        what is left, as the paper's code does.
    top : models that count as the best; at most as many as a split holds out.
    level : confidence of the intervals, mean ± t s √(1 / n + held out / others): splits share their models,
        so that n splits tell less than n samples. The ends may leave the range of a measure. (Families: with
        the mean ratio.)
    prior_information : as in `select_items`; 0 for the paper's form.
    calibrate, estimate : from training answers to `items` (a, b) and `abilities` (theta); from answers and
        items to abilities, by MAP unless another is given.

    Raises
    ------
    SchemaError : as `binary_matrix`; no rng; both schemes or none; a respondent without a family; fewer than
        3 models left to train on; no method, a size, number of splits or `top` below 1; a level outside 0..1;
        a split that no item survives.
    UnknownNameError : no such method.

    Warns
    -----
    UnnamedAxesWarning, FewRespondentsWarning : as `irt.calibrate`.

    Source: arXiv 2606.20626, agreement; intervals by Nadeau & Bengio, Machine Learning 52 (2003) 239–281.
    """
    answers, matrix = matrix, binary_matrix(matrix)
    warn_unnamed(answers)
    methods = [methods] if isinstance(methods, str) else methods
    methods = [*dict.fromkeys(pick(name, (*METHODS, *ADAPTIVE, AIPW), "method") for name in methods)]
    _check_settings(methods, sizes, top, level)
    sizes = [*dict.fromkeys(sizes)]
    held_out = _held_out(matrix.index, n_splits, n_held_out, rng, families)
    whole = matrix.loc[:, _varies(matrix)] if leak else matrix
    rows, pools = [], []
    for number, (test, stream) in enumerate(zip(held_out, rng.spawn(len(held_out)), strict=True)):
        split = _Split.of(whole, test, calibrate, leak)
        own = {"split": number}
        pools.append(own | _pool(split))
        drawing = (*METHODS, AIPW)
        streams = dict(zip(drawing, stream.spawn(len(drawing)), strict=True))
        for method in methods:
            known = _estimates(split, method, sizes, streams.get(method), prior_information, estimate)
            rows += [own | {"method": method} | _measures(split, *one, top) for one in known]
    splits = pd.DataFrame(rows)
    pools = pd.DataFrame(pools)
    return AgreementCurve(_summary(splits, _ratio(pools), level), splits, pools, matrix.shape[1])


def savings(curve: AgreementCurve, target: float = 0.9) -> pd.DataFrame:
    """How many items does each method need for a mean agreement of `target`?

    Returns
    -------
    A row per method; missing where the agreement is not reached:

    - k_star : smallest size from which on the mean agreement is at least `target`, at this and each larger
      size.
    - saved : share of the benchmark that need not be asked, 1 - k_star / n_items.
    - first_crossing, saved_at_first : the same of the smallest size with at least `target`, wherever the
      curve goes after it.

    Raises
    ------
    SchemaError : a target outside (0, 1].

    Source: arXiv 2606.20626, savings; k* is the book's.
    """
    if not 0 < target <= 1:
        raise SchemaError(f"An agreement of {target:g} to reach: give one above 0 and up to 1, such as 0.9.")
    rows = []
    for method, own in curve.table.groupby("method", sort=False):
        own = own.sort_values("size")
        sizes, reached = own["size"].to_numpy(), (own["agreement"] >= target).to_numpy()
        stays = reached[::-1].cumprod()[::-1].astype(bool)
        k_star, first = (sizes[which].min() if which.any() else pd.NA for which in (stays, reached))
        rows.append({"method": method, "k_star": k_star, "first_crossing": first})
    table = pd.DataFrame(rows).astype({"k_star": "Int64", "first_crossing": "Int64"})
    table.insert(2, "saved", 1 - table["k_star"] / curve.n_items)
    return table.assign(saved_at_first=1 - table["first_crossing"] / curve.n_items)


def differences(
    curve: AgreementCurve, baseline: str, sizes: Sequence[int], level: float = 0.95
) -> pd.DataFrame:
    """How much better than another method does each agree, split by split?

    Parameters
    ----------
    curve : as of `agreement_curve`.
    baseline : method to compare with.
    sizes : sizes of the curve. In each split the mean over those at which both agreements are defined.
    level : confidence of the intervals, as of the curve's own.

    Returns
    -------
    A row per method: difference in agreement, low, high, and n_splits, those with any such size.

    Raises
    ------
    SchemaError : a size that is not on the curve.
    UnknownNameError : no such method.
    """
    known = curve.splits["size"].unique().tolist()
    if not len(sizes) or not set(sizes) <= set(known):
        raise SchemaError(f"Sizes {list(sizes)}: give one or more of {known}.")
    asked = curve.splits[curve.splits["size"].isin(sizes)]
    wide = asked.pivot(index=["split", "size"], columns="method", values="agreement")
    own = pick(baseline, wide.columns, "method")
    gaps = wide.sub(wide[own], axis=0).drop(columns=own).groupby("split").mean()
    mean, reach = gaps.mean(), _reach(gaps.std(), gaps.count(), _ratio(curve.pools), level)
    ends = {"difference": mean, "low": mean - reach, "high": mean + reach, "n_splits": gaps.count()}
    return pd.DataFrame(ends).rename_axis("method").reset_index()


def split_half_reliability(matrix: pd.DataFrame, rng: np.random.Generator, n_draws: int = 200) -> SplitHalf:
    """How well would a benchmark agree with another of its kind and length?

    The items are halved at random, and the respondents' mean scores on the halves are correlated by rank.
    The step up to the whole length, by Spearman and Brown, is exact for correlations of scores and close for
    those of ranks. A subset can agree better with the whole than this, since its items are among the whole's.

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong, NaN = not asked.
    rng : source of the halves.
    n_draws : number of draws.

    Raises
    ------
    SchemaError : as `binary_matrix`; fewer than 3 respondents or 2 items, no draw, no rng.

    Source: Spearman (1910); Brown (1910).
    """
    generator(rng)
    values = binary_matrix(matrix).to_numpy()
    n, n_items = values.shape
    if n < LEAST or n_items < 2 or n_draws < 1:
        raise SchemaError(f"{n} respondents, {n_items} items, {n_draws} draws: give 3, 2 and 1, or more.")
    halves = np.empty(n_draws)
    for draw in range(n_draws):
        order = rng.permutation(n_items)
        first, second = (_row_means(values[:, own]) for own in np.array_split(order, 2))
        halves[draw] = spearman(first, second)
    full = np.divide(2 * halves, 1 + halves, out=np.full(n_draws, np.nan), where=halves > -1)
    return SplitHalf(halves, full, int(np.isnan(halves).sum()))


@dataclass(frozen=True)
class _Split:
    """Training answers to the pool, held-out answers to all items, and what the training models say.

    `pass_rates` are those of all items on the training models.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    calibration: Calibrated
    pass_rates: pd.Series

    @classmethod
    def of(
        cls,
        matrix: pd.DataFrame,
        test: np.ndarray,
        calibrate: Callable[[pd.DataFrame], Calibrated],
        leak: bool,
    ) -> "_Split":
        train = matrix[~test]
        pool = train if leak else train.loc[:, _varies(train)]
        if not pool.shape[1]:
            raise SchemaError("No item tells the training models apart: hold fewer out.")
        rates = train.mean()
        return cls(pool, matrix[test], calibrate(pool), rates.fillna(rates.mean()))

    @property
    def pool(self) -> pd.Index:
        return self.train.columns

    def score(self, estimate: pd.Series) -> np.ndarray:
        """Score on all items that a model has an answer to, from its ability or its score on the pool."""
        chances = np.tile(self.pass_rates.to_numpy(), (len(self.test), 1))
        if estimate.name == "theta":
            items = self.calibration.items
            where = self.test.columns.get_indexer(items.index)
            theta = estimate.to_numpy()[:, None]
            chances[:, where] = probability(theta, items["a"].to_numpy(), items["b"].to_numpy())
        else:
            chances[:, self.test.columns.get_indexer(self.pool)] = estimate.to_numpy()[:, None]
        return _row_means(np.where(self.test.notna(), chances, np.nan))


def _check_settings(methods: Sequence[str], sizes: Sequence[int], top: int, level: float) -> None:
    if not methods:
        raise SchemaError(f"No method: give one or more of {', '.join((*METHODS, *ADAPTIVE, AIPW))}.")
    if not np.size(sizes) or np.ndim(sizes) != 1 or any(size < 1 or size != int(size) for size in sizes):
        raise SchemaError(f"Sizes {sizes}: give one or more whole numbers, each at least 1.")
    if top < 1 or not 0 < level < 1:
        raise SchemaError(f"top = {top}, level = {level}: give at least 1, and a share such as .95.")


def _held_out(
    respondents: pd.Index,
    n_splits: int | None,
    n_held_out: int | None,
    rng: np.random.Generator | None,
    families: Mapping[Hashable, Hashable] | None,
) -> list[np.ndarray]:
    """For each split, which respondents are held out."""
    generator(rng)
    n = len(respondents)
    if min(n_splits or 1, n_held_out or 1) < 1:
        raise SchemaError(f"{n_splits} splits, {n_held_out} models held out: give 1 or more of each.")
    if families is None and n_splits and n_held_out:
        held_out = [np.isin(np.arange(n), rng.permutation(n)[:n_held_out]) for _ in range(n_splits)]
    elif families is not None and n_splits is n_held_out is None:
        own = family_of(respondents, families)
        held_out = [(own == family).to_numpy() for family in own.unique()]
    else:
        raise SchemaError("Give n_splits and n_held_out, or else families.")
    check_held_out(max(int(test.sum()) for test in held_out), n)
    return held_out


def _varies(matrix: pd.DataFrame) -> np.ndarray:
    """Which items have p(1 - p) of `MIN_VARIANCE` or more."""
    rate = matrix.mean()
    return (rate * (1 - rate) >= MIN_VARIANCE).to_numpy()


def _estimates(
    split: _Split,
    method: str,
    sizes: Sequence[int],
    rng: np.random.Generator | None,
    prior_information: float,
    estimate: Estimate,
) -> Iterator[tuple[int, int, pd.Series]]:
    """Size, items used, and the estimates of the held-out models."""
    items, abilities = split.calibration.items, split.calibration.abilities
    n_pool = len(items) if method in (*FISHER, *ADAPTIVE, AIPW) else len(split.pool)
    used = {size: min(size, n_pool) for size in sizes}
    if method in ADAPTIVE:
        kind = "map" if method == "adaptive" else "ml"
        test = adaptive_test(
            split.test[items.index], items, max(used.values()), float(abilities["theta"].mean()), kind
        )
        yield from ((size, k, test.theta_after(k)) for size, k in used.items())
        return
    if method == AIPW:
        yield from ((size, k, _by_aipw(split, k, rng, estimate)) for size, k in used.items())
        return
    chosen = select_sizes(
        split.train, sorted({*used.values()}), method, split.calibration, rng, prior_information
    )
    for size, k in used.items():
        yield size, k, subset_scores(split.test, chosen[k], items, estimate)


def _by_aipw(split: _Split, k: int, rng: np.random.Generator, estimate: Estimate) -> pd.Series:
    """Scores of the held-out models from k items drawn by lot."""
    items = split.calibration.items
    answers = split.test[items.index]
    sample = select_items(answers, k, "random", rng=rng)
    predictions = cross_fitted(answers, sample, items, min(FOLDS, len(items)), rng, estimate)
    return aipw(answers, sample, predictions)["estimate"].rename("score")


def _measures(split: _Split, size: int, k: int, estimate: pd.Series, top: int) -> dict[str, float]:
    full = _row_means(split.test.to_numpy())
    known = ~np.isnan(estimate.to_numpy()) & ~np.isnan(full)
    guess, truth = estimate.to_numpy()[known], full[known]
    errors = np.abs(split.score(estimate)[known] - truth)
    return {
        "size": size,
        "k": k,
        "agreement": spearman(guess, truth),
        "top": _top_agreement(guess, truth, top),
        "error": errors.mean() if len(errors) else np.nan,
        "n_held_out": len(full),
        "n_no_answer": int((~known).sum()),
    }


def _row_means(values: np.ndarray) -> np.ndarray:
    """Means over the numbers of each row; NaN where it has none."""
    n = (~np.isnan(values)).sum(axis=1)
    return np.nansum(values, axis=1) / np.where(n > 0, n, np.nan)


def _top_agreement(guess: np.ndarray, truth: np.ndarray, top: int) -> float:
    """Expected share of the best by truth among the best by guess; NaN unless there are more than `top`."""
    if len(truth) <= top:
        return float("nan")
    return float(_chance_of_top(guess, top) @ _chance_of_top(truth, top) / top)


def _chance_of_top(values: np.ndarray, top: int) -> np.ndarray:
    """Chance of each to be among the `top` largest when ties are broken by lot."""
    own = ranks(values)
    ahead = (own[:, None] < own).sum(axis=1)
    tied = (own[:, None] == own).sum(axis=1)
    return np.clip((top - ahead) / tied, 0, 1)


def _pool(split: _Split) -> dict[str, float]:
    a = split.calibration.items["a"]
    return {
        "n_training": len(split.train),
        "n_held_out": len(split.test),
        "n_pool": len(split.pool),
        "n_calibrated": len(a),
        "cv": a.std() / a.mean(),
    }


def _ratio(pools: pd.DataFrame) -> float:
    """Models held out for each one trained on, mean over splits."""
    return float((pools["n_held_out"] / pools["n_training"]).mean())


def _reach(
    spread: pd.Series | pd.DataFrame, n: pd.Series | pd.DataFrame, ratio: float, level: float
) -> pd.Series | pd.DataFrame:
    """Half of the interval of Nadeau & Bengio, from standard deviations over n splits."""
    from scipy.stats import t

    return spread * np.sqrt(1 / n + ratio) * t.ppf((1 + level) / 2, (n - 1).clip(lower=1))


def _summary(splits: pd.DataFrame, ratio: float, level: float) -> pd.DataFrame:
    """Means over splits with their intervals."""
    groups = splits.groupby(["method", "size"], sort=False)
    mean, n = groups[[*MEASURES]].mean(), groups[[*MEASURES]].count()
    reach = _reach(groups[[*MEASURES]].std(), n, ratio, level)
    ends = {}
    for name in MEASURES:
        ends |= {name: mean[name], f"{name}_low": mean[name] - reach[name]}
        ends[f"{name}_high"] = mean[name] + reach[name]
    table = pd.DataFrame(ends).assign(n_splits=groups.size())
    return table.assign(n_undefined=table["n_splits"] - n["agreement"]).reset_index()
