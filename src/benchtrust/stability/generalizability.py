"""Generalizability theory: would other items and other configurations rank the models alike?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, pick
from benchtrust.stability.flips import TIE
from benchtrust.stability.variance import band, item_cube, sum_of_squares

CROSS = " × "
"""Between the facets in the name of an interaction."""


@dataclass(frozen=True)
class GStudy:
    """Variance components of scores on fully crossed random facets.

    Attributes
    ----------
    components : a row per facet and per interaction ("model × item_id"), the highest last; that one holds the
        error too. Columns: source, df, ss, ms (mean square), component (estimated variance of its effects;
        negative ones are shown), truncated (the same, 0 if negative), share (of the sum of truncated ones).
    n_levels : levels of each facet; the first facet is the object of measurement.
    """

    components: pd.DataFrame
    n_levels: dict[str, int]


def g_study(items: np.ndarray | pd.DataFrame, facets: Sequence[str]) -> GStudy:
    """Estimate the variance components of a fully crossed random design with one score per combination.

    Expected mean squares of a balanced design, solved in closed form: the component of a source is the
    alternating sum of the mean squares of all sources that contain it, over the number of scores per
    combination of its levels. A negative estimate stays as it is in the estimates of the others.

    Parameters
    ----------
    items : array with an axis for each facet, or responses to one benchmark, with one sample per item and an
        answer for every combination of the facets; unparsed answers count as 0. Items are one facet whatever
        their part: pass the rows of one part for its own study. Cell rules play no part here.
    facets : names of the axes, or the columns to cross, ``item_id`` among them. The object of measurement
        (``model``) comes first. Two facets or any number more.

    Raises
    ------
    SchemaError : names that do not fit the axes, fewer than two facets, a facet with one level, a missing or
        infinite score (it says which), scores that are all equal; as `response_matrix`.

    Source: Brennan, Generalizability Theory (2001), chapters 3 and 5.
    """
    values, levels = _values(items, list(facets))
    n = np.array(values.shape)
    axes = _sources(len(n))
    ss = np.array([sum_of_squares(values, source, len(n)) for source in axes])
    df = np.array([np.prod(n[list(source)] - 1) for source in axes])
    component = _solve(n) @ (ss / df)
    truncated = component.clip(min=0)
    names = [CROSS.join(facets[axis] for axis in source) for source in axes]
    table = pd.DataFrame({"source": names, "df": df, "ss": ss, "ms": ss / df, "component": component})
    table = table.assign(truncated=truncated, share=truncated / truncated.sum())
    return GStudy(table, dict(zip(facets, map(len, levels), strict=True)))


def component_intervals(
    study: GStudy, n_draws: int, rng: np.random.Generator, level: float = 0.95
) -> pd.DataFrame:
    """Generalized confidence intervals of the variance components.

    Each mean square is replaced by ss / χ² with a drawn χ² of its df, and the components are solved for
    again; the interval holds the middle of the draws, cut at 0. For a component that is a single mean square
    it is the exact chi-square interval. Assumed: effects that are independent and normal, and a balanced
    design. Binary item scores are not normal; in simulations of three models, with normal effects and with
    binary scores, coverage of the model's component was within 3 points of nominal all the same.

    Three models leave 2 df. The upper end of a 95 % interval then lies about 40 times as high as the
    estimate, or higher: three models hardly tell how much models differ in general.

    Parameters
    ----------
    study : result of `g_study`.
    n_draws : number of draws; ends of a 95 % interval want 10,000 or more.
    rng : source of the draws.
    level : confidence.

    Returns
    -------
    Columns source, df, component, low, high.

    Source: Chiang, Technometrics 43 (2001) 356–367; Burdick, Borror & Montgomery (2005).
    """
    drawn = _drawn(study, n_draws, rng)
    low, high = band(drawn, drawn, level)
    return study.components[["source", "df", "component"]].assign(low=low, high=high)


def d_study(study: GStudy, n_levels: Mapping[str, Sequence[int]]) -> pd.DataFrame:
    """How dependable are means of the objects over given numbers of items, templates, decodings, shots?

    Truncated components are used; every facet is random, so that the universe is all items and configurations
    like those of the study.

    Parameters
    ----------
    study : result of `g_study`.
    n_levels : facet -> the numbers of its levels to try; facets left out keep the number of the study.

    Returns
    -------
    A row per combination of numbers: a column for each facet but the object of measurement, and

    - relative_error, absolute_error : error variance of a mean as one compares objects, or reads it as it is.
    - e_rho2 : generalizability coefficient, object variance over itself plus the relative error, in [0, 1].
    - phi : dependability, the same with the absolute error, in [0, e_rho2].

    A coefficient is NaN where both its variances are 0.

    Raises
    ------
    UnknownNameError : no such facet, or the object of measurement.
    SchemaError : no number, or one that is not whole and positive.

    Source: Brennan, Generalizability Theory (2001), chapter 4.
    """
    surface, weights = _designs(study, n_levels)
    return surface.assign(**_coefficients(study.components["truncated"].to_numpy(), weights))


def component_kinds(study: GStudy) -> pd.DataFrame:
    """Truncated components added up by what they do to a ranking of the objects (the first facet).

    Returns
    -------
    Columns kind, component, share: the object; object × item; object × configuration (with any facets but
    items); all three; and everything without the object, which moves all objects alike.

    Raises
    ------
    SchemaError : no facet ``item_id``.
    """
    target = next(iter(study.n_levels))
    if "item_id" not in study.n_levels:
        raise SchemaError(f"Facets {list(study.n_levels)} lack 'item_id'.")
    sources = [set(source.split(CROSS)) for source in study.components["source"]]
    kinds = [_kind(source, target) for source in sources]
    table = study.components[["truncated", "share"]].groupby(pd.Series(kinds, name="kind"), sort=False).sum()
    return table.reset_index().rename(columns={"truncated": "component"})


def _kind(source: set[str], target: str) -> str:
    if target not in source:
        return f"without the {target}"
    if source == {target}:
        return target
    if source == {target, "item_id"}:
        return f"{target}{CROSS}item"
    return "all three" if "item_id" in source else f"{target}{CROSS}configuration"


def d_study_intervals(
    study: GStudy,
    n_levels: Mapping[str, Sequence[int]],
    n_draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """Generalized confidence intervals of the coefficients of `d_study`.

    Draws and assumptions are those of `component_intervals`; of two facets, E ρ² at the study's own numbers
    gets the exact interval of Feldt (1965).

    Returns
    -------
    The frame of `d_study` with e_rho2_low, e_rho2_high, phi_low, phi_high. A draw whose variances are all 0
    counts as a coefficient of 0 in the lower end and of 1 in the upper.
    """
    surface, weights = _designs(study, n_levels)
    table = surface.assign(**_coefficients(study.components["truncated"].to_numpy(), weights))
    drawn = _coefficients(_drawn(study, n_draws, rng), weights)
    for name in ("e_rho2", "phi"):
        low, high = (np.nan_to_num(drawn[name], nan=empty) for empty in (0.0, 1.0))
        table[f"{name}_low"], table[f"{name}_high"] = band(low, high, level)
    return table


def _values(items: np.ndarray | pd.DataFrame, facets: list[str]) -> tuple[np.ndarray, list[list]]:
    """Checked scores with an axis per facet, and the levels of each."""
    if len(facets) < 2 or len(set(facets)) < len(facets):
        raise SchemaError(f"Facets {facets}: name two or more, each once, the object of measurement first.")
    if isinstance(items, pd.DataFrame):
        values, levels = _from_responses(items, facets)
    else:
        values = np.asarray(items, dtype="float64")
        levels = [list(range(n)) for n in values.shape]
    if values.ndim != len(facets):
        raise SchemaError(f"Scores of shape {values.shape} for the facets {facets}: give an axis for each.")
    for name, found in zip(facets, levels, strict=True):
        if len(found) < 2:
            raise SchemaError(f"Facet {name!r} has {len(found)} level(s): leave it out, it does not vary.")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = ", ".join(f"{name}={own[at]!r}" for name, own, at in zip(facets, levels, bad[0], strict=True))
        raise SchemaError(f"No score at {where} (and {len(bad) - 1} more such): complete the design.")
    if np.ptp(values) <= TIE * np.abs(values).max():
        raise SchemaError(f"All {values.size} scores are {values.flat[0]:g}: no variance to share.")
    return values, levels


def _from_responses(frame: pd.DataFrame, facets: list[str]) -> tuple[np.ndarray, list[list]]:
    if "item_id" not in facets:
        raise SchemaError(f"Facets {facets} lack 'item_id': a generalizability study is over items.")
    others = [name for name in facets if name != "item_id"]
    values, levels = item_cube(frame, others)
    order = [[*others, "item_id"].index(name) for name in facets]
    return values.transpose(order), [levels[axis] for axis in order]


def _sources(n_axes: int) -> list[tuple[int, ...]]:
    """All sets of axes but the empty one, by size."""
    return [own for size in range(1, n_axes + 1) for own in combinations(range(n_axes), size)]


def _solve(n: np.ndarray) -> np.ndarray:
    """(sources, sources) matrix that turns mean squares into variance components."""
    sources = [set(source) for source in _sources(len(n))]
    signs = [[(own <= other) * (-1) ** len(other - own) for other in sources] for own in sources]
    repeats = [np.prod(np.delete(n, list(own))) for own in sources]
    return np.array(signs) / np.array(repeats)[:, None]


def _drawn(study: GStudy, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """(sources, draws) truncated components from mean squares ss / χ²."""
    table = study.components
    chi2 = rng.chisquare(table["df"].to_numpy(), size=(n_draws, len(table))).T
    ms = table["ss"].to_numpy()[:, None] / chi2
    return (_solve(np.array(list(study.n_levels.values()))) @ ms).clip(min=0)


def _designs(study: GStudy, n_levels: Mapping[str, Sequence[int]]) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers of levels to try, and (2, designs, sources) weights of the components in the two errors."""
    target, *others = study.n_levels
    numbers = {name: [study.n_levels[name]] for name in others}
    numbers |= {pick(name, others, "facet"): list(values) for name, values in n_levels.items()}
    for name, values in numbers.items():
        if not values or any(value < 1 or value != int(value) for value in values):
            raise SchemaError(f"Numbers of levels {values} of {name!r}: give whole numbers from 1 upwards.")
    surface = pd.DataFrame(list(product(*numbers.values())), columns=others).astype(int)
    sources = [source.split(CROSS) for source in study.components["source"]]
    means = [1 / surface[[name for name in own if name != target]].prod(axis=1) for own in sources]
    in_errors = np.array([[target in own and own != [target], own != [target]] for own in sources])
    return surface, in_errors.T[:, None, :] * np.array(means).T


def _coefficients(components: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Errors and coefficients (designs, ...) from components (sources, ...), the object's first."""
    universe = components[0]
    relative, absolute = weights @ components
    with np.errstate(invalid="ignore"):
        e_rho2, phi = universe / (universe + relative), universe / (universe + absolute)
    return {"relative_error": relative, "absolute_error": absolute, "e_rho2": e_rho2, "phi": phi}
