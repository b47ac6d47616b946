"""Who explains the variance of the cell scores: the model, or how it was asked? (arXiv 2605.25492)"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, pick
from benchtrust.responses import response_matrix
from benchtrust.stability.flips import TIE
from benchtrust.stability.item_scores import part_rule

IMPLEMENTATION = ("template", "decoding", "shots")
"""The factors that SafetyRepro sums up as "implementation", to be set beside the model."""

RESIDUAL, REMAINDER = "residual", "remainder"

Groups = Mapping[str, Sequence[str]]


def variance_shares(cells: pd.DataFrame, response: str, factors: Sequence[str]) -> pd.DataFrame:
    """Share the variance of cell scores out among factors: type II analysis of variance, main effects only.

    Parameters
    ----------
    cells : a row per cell, such as those of `responses.cell_means`; rows without a response are left out.
    response : column of numbers, such as ``score``.
    factors : columns that are crossed, such as model, template, decoding, shots; two levels each or more.

    Returns
    -------
    A row per source: the factors, ``residual`` (every interaction, and noise) and ``remainder`` (by how much
    the sums of squares miss the total where cells are missing; 0 on a balanced grid). Columns:

    - df, ss : degrees of freedom, sum of squares.
    - eta2 : ss over the total sum of squares; sums to 1.
    - omega2 : (ss - df·MS) / (total + MS) with the residual mean square MS. It may be negative. The residual
      gets what is left, n·MS / (total + MS), so that this column sums to 1 too.

    ``.attrs["n_left_out"]`` is the number of rows without a response.

    Raises
    ------
    UnknownNameError : no such column.
    SchemaError : a response that is no finite number or is constant (there is nothing to share), a factor
        with a missing value or with one level, factors that cannot be told apart, no residual (saturated).

    Source: SafetyRepro (arXiv 2605.25492), variance attribution; ω² as in Olejnik & Algina (2003).
    """
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    factors = [pick(name, cells.columns, "column") for name in factors]
    rows = _rows(cells, pick(response, cells.columns, "column"), factors)
    terms = " + ".join(f"C({term})" for term in rows.columns[1:])
    anova = anova_lm(ols(f"y ~ {terms}", rows).fit(), typ=2)
    ss, df = anova["sum_sq"].to_numpy(), anova["df"].to_numpy()
    total = float(((rows["y"] - rows["y"].mean()) ** 2).sum())
    remainder = total - ss.sum()
    remainder = 0.0 if abs(remainder) <= TIE * total else remainder
    eta2, omega2 = _effect_sizes(ss, df, total)
    table = pd.DataFrame(
        {
            "source": [*factors, RESIDUAL, REMAINDER],
            "df": np.append(df, 0).astype(int),
            "ss": np.append(ss, remainder),
            "eta2": np.append(eta2, remainder / total),
            "omega2": np.append(omega2, remainder / (total + ss[-1] / df[-1])),
        }
    )
    table.attrs["n_left_out"] = len(cells) - len(rows)
    return table


def group_shares(shares: pd.DataFrame, groups: Groups) -> pd.DataFrame:
    """Put one row for each group in the place of its members: their df, ss, eta2 and omega2 added up.

    Parameters
    ----------
    shares : frame of `variance_shares`.
    groups : name of a group -> its sources, such as ``{"implementation": IMPLEMENTATION}``.

    Raises
    ------
    UnknownNameError : no such source.
    SchemaError : a source named twice; a column that cannot be added up, such as an end of a band (give the
        groups to `share_bootstrap` then).
    """
    names, members = _members(list(shares["source"]), groups)
    others = [name for name in shares if name not in ("source", "df", "ss", "eta2", "omega2")]
    if others:
        raise SchemaError(f"Columns {', '.join(others)} cannot be added up: leave them out.")
    numbers = shares.drop(columns="source")
    sums = {name: members.astype(numbers[name].dtype) @ numbers[name].to_numpy() for name in numbers}
    return pd.DataFrame({"source": names, **sums})


def noise_shares(shares: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """What η² would be if the response were independent normal noise.

    On a balanced grid or not, η² of a source then has a beta distribution with parameters df / 2 and
    (total df - df) / 2, and df / total df is its mean.

    Parameters
    ----------
    shares : a row per source, residual included, with ``source`` and ``df``, grouped or not.
    level : quantile of the noise distribution to give beside its mean, between 0 and 1.

    Returns
    -------
    Columns source, df, eta2 (the mean) and eta2_high (the quantile).

    Source: the book, "Who explains the variance?"; 7 of 107 df for implementation in SafetyRepro's grid.
    """
    from scipy.stats import beta

    table = shares[["source", "df"]].reset_index(drop=True)
    df, total = table["df"].to_numpy(dtype="float64"), table["df"].sum()
    high = np.zeros(len(df))
    some = df > 0
    high[some] = beta.ppf(level, df[some] / 2, (total - df[some]) / 2)
    return table.assign(eta2=df / total, eta2_high=high)


def share_bootstrap(
    frame: pd.DataFrame,
    factors: Sequence[str],
    n_draws: int,
    rng: np.random.Generator,
    groups: Groups | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Resample items: how far do the shares move, and how much of each is noise from the choice of items?

    All cells share their items, so one draw of items serves all cells. From each part, one item fewer than it
    has is drawn with replacement: the variance of a mean over the draws is then its unbiased estimate. The
    noise of a source is the mean, over the draws, of the sum of squares that drawn minus observed cell scores
    have on it. Where a cell score is a mean (or a mean over parts), ss is in expectation what it would be
    over all items that could be asked, plus this noise; for the residual: interaction plus noise. By
    ``parity`` the noise comes out too high (1.2 to 2.2 times in simulations): folding at .5 hides part of it.

    Parameters
    ----------
    frame : responses to one benchmark, one sample per item, every item asked in every cell of a balanced
        grid; unparsed answers count as 0, parts and rule are those of `cell_means`.
    factors : columns that are crossed and name a cell, such as model, template, decoding, shots.
    n_draws : number of draws, at least 1.
    rng : source of the draws.
    groups : as in `group_shares`.
    level : probability between the ends of bands and intervals.

    Returns
    -------
    A row per source, the factors (or groups) and ``residual``:

    - df, ss, eta2, omega2 : as in `variance_shares`.
    - eta2_low, eta2_high, omega2_low, omega2_high : resampling bands. Drawing adds the noise a second time,
      so they drift towards the sources that it falls on: they show how far shares move, and are no confidence
      intervals.
    - ss_noise : what the choice of items is expected to add to ss.
    - systematic : ss - ss_noise over its sum, the share without this noise. Where noise is nearly all, it may
      lie outside [0, 1]; NaN where noise exceeds the total.
    - systematic_low, systematic_high : interval for it, cut to [0, 1]: quantiles of the draws less twice the
      noise; a draw with nothing left counts as 0 in the lower end and as 1 in the upper. In simulations with
      10 to 100 binary items, 95 % intervals covered in .93 to 1.00 of the cases; with 10 items most are wide.

    ``.attrs["n_constant"]`` is the number of draws without variance, which enter no band.

    Raises
    ------
    UnknownNameError : no such source in `groups`.
    SchemaError : as `response_matrix` and `variance_shares`; an answer that is missing from the grid (it says
        which); a part with one item; no draw with variance.

    Source: the book, "Who explains the variance?"; draws of n - 1 after McCarthy & Snowden (1985).
    """
    scores, shape, df = _drawn_scores(frame, factors, n_draws, rng)
    names, members = _members([*factors, RESIDUAL], groups or {})
    ss = _main_effects(scores, shape)
    noise = members @ _main_effects(scores[:, 1:] - scores[:, :1], shape).mean(axis=1)
    kept = np.ptp(scores, axis=0) > TIE * np.abs(scores).max(axis=0)
    if kept.sum() < 2:
        raise SchemaError(f"None of {n_draws} draws has variance: draw more, or ask more items.")
    sizes = _effect_sizes(ss[:, kept], df, ss[:, kept].sum(axis=0))
    ss = members @ ss
    table = pd.DataFrame({"source": names, "df": members.astype(int) @ df, "ss": ss[:, 0]})
    for name, drawn in zip(("eta2", "omega2"), (members @ size for size in sizes), strict=True):
        table[name] = drawn[:, 0]
        table[f"{name}_low"], table[f"{name}_high"] = band(drawn[:, 1:], drawn[:, 1:], level)
    table["ss_noise"] = noise
    table["systematic"] = _ratio(ss[:, 0] - noise, np.nan)
    cut = [np.clip(_ratio(ss[:, 1:] - 2 * noise[:, None], empty), 0, 1) for empty in (0, 1)]
    table["systematic_low"], table["systematic_high"] = band(*cut, level)
    table.attrs["n_constant"] = int((~kept).sum())
    return table


def share_draws(
    frame: pd.DataFrame,
    factors: Sequence[str],
    n_draws: int,
    rng: np.random.Generator,
    groups: Groups | None = None,
) -> pd.DataFrame:
    """η² of each source, as observed (row 0) and of resampled items (a row a draw), for bands of differences.

    Parameters
    ----------
    As in `share_bootstrap`.

    Returns
    -------
    A column per source, the factors (or groups) and ``residual``; NaN in a draw without variance.

    Raises
    ------
    As `share_bootstrap`.
    """
    scores, shape, _ = _drawn_scores(frame, factors, n_draws, rng)
    names, members = _members([*factors, RESIDUAL], groups or {})
    ss = members @ _main_effects(scores, shape)
    total = ss.sum(axis=0)
    return pd.DataFrame((ss / np.where(total > 0, total, np.nan)).T, columns=names)


def item_cube(frame: pd.DataFrame, factors: Sequence[str]) -> tuple[np.ndarray, list[list]]:
    """Responses to one benchmark on a balanced grid: an axis per factor, in their order, and one of items.

    Parameters
    ----------
    frame : responses to one benchmark; unparsed answers count as 0.
    factors : columns that together name a cell.

    Returns
    -------
    Item scores in [0, 1], and the sorted levels of each axis, item ids last.

    Raises
    ------
    SchemaError : as `response_matrix`, or an answer that is missing from the grid; it says which.
    """
    matrix = response_matrix(frame, factors)
    cells = pd.MultiIndex.from_frame(matrix.index.to_frame(index=False))
    levels = [sorted(cells.unique(factor)) for factor in factors]
    grid = pd.MultiIndex.from_product(levels, names=factors)
    values = matrix.set_axis(cells).reindex(grid).to_numpy(dtype="float64")
    missing = np.argwhere(np.isnan(values))
    if len(missing):
        cell, item = missing[0]
        where = ", ".join(f"{name}={level!r}" for name, level in zip(factors, grid[cell], strict=True))
        raise SchemaError(
            f"No answer to item {matrix.columns[item]!r} at {where} (and {len(missing) - 1} more such): "
            "complete the grid, or leave out that item or level everywhere."
        )
    return values.reshape([*map(len, levels), -1]), [*levels, list(matrix.columns)]


def sum_of_squares(values: np.ndarray, axes: Sequence[int], n_axes: int) -> np.ndarray:
    """Sum of squares of the effect of some crossed axes (their interaction, if several) on a balanced grid.

    Parameters
    ----------
    values : (n_1, ..., n_axes, ...) scores; axes beyond the first `n_axes` are kept.
    axes : the axes of the effect, counted from 0.
    """
    others = tuple(axis for axis in range(n_axes) if axis not in axes)
    effect = values.mean(axis=others, keepdims=True)
    for axis in axes:
        effect = effect - effect.mean(axis=axis, keepdims=True)
    repeats = np.prod([values.shape[axis] for axis in others])
    return repeats * (effect**2).sum(axis=tuple(range(n_axes)))


def band(low: np.ndarray, high: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles over the draws (last axis) that leave the same probability on either side."""
    tail = (1 - level) / 2
    return np.quantile(low, tail, axis=-1), np.quantile(high, 1 - tail, axis=-1)


def _rows(cells: pd.DataFrame, response: str, factors: list[str]) -> pd.DataFrame:
    """Rows with a response: checked columns y, f0, f1, ..., the factors as numbers of their levels."""
    try:
        y = cells[response].astype("float64")
    except (TypeError, ValueError) as error:
        raise SchemaError(f"Response {response!r} must be numbers ({error}).") from None
    if np.isinf(y).any():
        raise SchemaError(f"Response {response!r} must be finite; NaN marks a missing cell.")
    used = cells[y.notna()]
    for name in factors:
        if used[name].isna().any():
            raise SchemaError(f"Factor {name!r} has a missing value: name the level of every row.")
    codes = {f"f{i}": pd.factorize(used[name])[0] for i, name in enumerate(factors)}
    rows = pd.DataFrame({"y": y[y.notna()].to_numpy(), **codes})
    levels = {name: list(used[name].unique()) for name in factors}
    n_parameters = 1 + sum(len(found) - 1 for found in levels.values())
    _check_grid(rows["y"].to_numpy(), levels, len(rows) - n_parameters)
    _check_told_apart(rows, factors)
    return rows


def _check_grid(y: np.ndarray, levels: Mapping[str, list], df_residual: int) -> None:
    """Refuse what has no answer: no factor, one level, no residual, no variance."""
    if not levels:
        raise SchemaError("No factor: name at least one column that may explain the response.")
    for name, found in levels.items():
        if len(found) < 2:
            text = f"one level ({found[0]!r})" if found else "no level"
            raise SchemaError(f"Factor {name!r} has {text}: it explains nothing here; leave it out.")
    if df_residual < 1:
        raise SchemaError(
            f"{len(y)} scores for {len(y) - df_residual} parameters: the model is saturated and leaves no "
            "residual. Leave out a factor, or add cells."
        )
    if np.ptp(y) <= TIE * np.abs(y).max():
        raise SchemaError(f"The response is constant ({y[0]:g} in {len(y)} cells): no variance to share.")


def _check_told_apart(rows: pd.DataFrame, factors: list[str]) -> None:
    """Refuse factors whose levels only occur together."""
    design = np.ones((len(rows), 1))
    for i, name in enumerate(factors):
        dummies = np.eye(rows[f"f{i}"].max() + 1)[rows[f"f{i}"]][:, 1:]
        design = np.hstack([design, dummies])
        if np.linalg.matrix_rank(design) < design.shape[1]:
            others = ", ".join(factors[:i])
            raise SchemaError(
                f"Factor {name!r} cannot be told apart from {others}: some of their levels occur only "
                "together. Leave one out, or select rows in which they are crossed."
            )


def _effect_sizes(ss: np.ndarray, df: np.ndarray, total: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """η² and ω² from the sums of squares (sources, ...) of the factors and, last, the residual."""
    ms = ss[-1] / df[-1]
    owed = np.append(df[:-1], -1 - df[:-1].sum())
    return ss / total, (ss - np.multiply.outer(owed, ms)) / (total + ms)


def _members(sources: list[str], groups: Groups) -> tuple[list[str], np.ndarray]:
    """Names of the groups and of the sources left alone; (names, sources) 1 where a source is a member."""
    if len(set(sources)) < len(sources):
        raise SchemaError(f"A source is named twice in {', '.join(sources)}: give one table at a time.")
    group = {pick(source, sources, "source"): name for name, own in groups.items() for source in own}
    if len(group) < sum(map(len, groups.values())):
        raise SchemaError(f"A source is named twice in {dict(groups)}: put each into one group.")
    codes, names = pd.factorize(pd.Series([group.get(source, source) for source in sources]))
    return list(names), np.eye(len(names))[:, codes]


def _drawn_scores(
    frame: pd.DataFrame, factors: Sequence[str], n_draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, tuple[int, ...], np.ndarray]:
    """(cells, 1 + draws) scores on a checked grid, its shape, and df of the factors and the residual."""
    cube, levels = item_cube(frame, factors)
    shape = cube.shape[:-1]
    scores = _cell_scores(frame, cube, levels[-1], n_draws, rng)
    df = np.array([*(n - 1 for n in shape), np.prod(shape) - 1 - sum(n - 1 for n in shape)])
    _check_grid(scores[:, 0], dict(zip(factors, levels, strict=False)), df[-1])
    return scores, shape, df


def _cell_scores(
    frame: pd.DataFrame, cube: np.ndarray, items: list, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """(cells, 1 + draws) cell scores by the benchmark's rule: as observed, then of resampled items."""
    if n_draws < 1:
        raise SchemaError(f"{n_draws} draws: a band needs one or more.")
    parts, rule = part_rule(frame, items)
    labels, names = pd.factorize(pd.Series(parts or [""] * len(items)))
    sizes = np.bincount(labels)
    if sizes.min() < 2:
        raise SchemaError(f"Part {names[sizes.argmin()]!r} has one item: resampling needs two of each part.")
    weight = np.empty((len(items), 1 + n_draws))
    for part, n in enumerate(sizes):
        drawn = rng.multinomial(n - 1, np.full(n, 1 / n), size=n_draws).T / (n - 1)
        weight[labels == part] = np.hstack([np.full((n, 1), 1 / n), drawn]) / len(sizes)
    scores = cube.reshape(-1, len(items)) @ weight
    return 1 - 2 * np.abs(scores - 0.5) if rule == "parity" else scores


def _main_effects(scores: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(factors + 1, draws) sums of squares of the factors and the residual, from (cells, draws)."""
    grid = scores.reshape(*shape, -1)
    effects = [sum_of_squares(grid, [axis], len(shape)) for axis in range(len(shape))]
    total = ((scores - scores.mean(axis=0)) ** 2).sum(axis=0)
    return np.array([*effects, total - sum(effects)])


def _ratio(ss: np.ndarray, empty: float) -> np.ndarray:
    """Shares (sources, ...) of their sum; `empty` where nothing is left to share."""
    total = ss.sum(axis=0)
    return np.where(total > 0, ss / np.where(total > 0, total, 1), empty)
