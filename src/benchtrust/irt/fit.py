"""Does one ability explain the answers of a few dozen respondents? By parametric bootstrap."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.irt.calibration import Calibration, calibrate_quietly
from benchtrust.irt.estimation import Priors
from benchtrust.irt.item_fit import s_x2
from benchtrust.irt.matrix import generator
from benchtrust.irt.pool import binary_matrix
from benchtrust.irt.ranks import spearman
from benchtrust.irt.residuals import ResidualCorrelations, eigenvalues, person_fit, q3, residuals
from benchtrust.irt.simulation import simulate_like

STATISTICS = {
    "s_x2": "upper",
    "q3": "upper",
    "eigenvalue_ratio": "lower",
    "residual_eigenvalue": "upper",
    "l_z_star": "lower",
}
"""Statistic -> the tail in which it speaks against one ability."""

SPARSE = ("q3",)
"""Statistics of a matrix with missing answers."""


@dataclass(frozen=True)
class FitBootstrap:
    """How well a 2PL fits, against what it would look like if it were true.

    Attributes
    ----------
    table : a row per statistic: observed, mean and 5 and 95 % points (low, high) of the draws, tail, p, and
        n_draws in which it was estimable. p = (1 + draws at least as extreme) / (1 + n_draws); NaN if the
        statistic is not estimable.

        - s_x2 : mean of S-X² / df over the estimable items (`s_x2` with strata of the rest score).
        - q3 : largest Q3 minus the mean (`ResidualCorrelations.excess`).
        - eigenvalue_ratio : first over second eigenvalue of the answers' correlations.
        - residual_eigenvalue : first eigenvalue of the residuals' correlations, as a share of all.
        - l_z_star : smallest l_z* (`person_fit`).
    items : a row per calibrated item: s_x2, df, n_draws in which it was estimable, and p.
    persons : frame of `person_fit`, where p_smallest is the chance that the smallest l_z* of all respondents
        is as small as this one's.
    correlations : Q3 of the pairs.
    largest_q3 : (n_draws,) largest Q3 minus the mean in each draw, which holds for all pairs at once.
    eigenvalues : component, observed share, and low and high of the draws.
    n_not_converged : draws whose calibration did not converge; they count all the same.
    """

    table: pd.DataFrame
    items: pd.DataFrame
    persons: pd.DataFrame
    correlations: ResidualCorrelations
    largest_q3: np.ndarray
    eigenvalues: pd.DataFrame
    n_not_converged: int

    def largest_pairs(self, n: int) -> pd.DataFrame:
        """The n pairs with the largest Q3, as `ResidualCorrelations.largest`.

        Their p is the chance that the largest excess of all pairs is as large as this one's.
        """
        found = self.correlations.largest(n)
        return found.assign(p=_p_values(found["excess"].to_numpy(), self.largest_q3, "upper"))


@dataclass(frozen=True)
class _Fitted:
    """What one set of answers and its calibration show; only Q3 where answers are missing."""

    statistics: dict[str, float]
    correlations: ResidualCorrelations
    items: pd.DataFrame
    persons: pd.DataFrame
    scree: np.ndarray

    @classmethod
    def of(cls, matrix: pd.DataFrame, items: pd.DataFrame, n_strata: int) -> "_Fitted":
        answers = matrix[items.index]
        pairs, persons = q3(answers, items), person_fit(answers, items)
        if answers.isna().to_numpy().any():
            return cls(
                {"q3": pairs.excess}, pairs, pd.DataFrame(columns=["s_x2", "df"]), persons, np.array([])
            )
        fitted, scree = s_x2(answers, items, n_strata), eigenvalues(answers)
        left_over = eigenvalues(residuals(answers, items))
        statistics = {
            "s_x2": float((fitted["s_x2"] / fitted["df"]).mean()),
            "q3": pairs.excess,
            "eigenvalue_ratio": float(scree[0] / scree[1]),
            "residual_eigenvalue": float(left_over[0]),
            "l_z_star": float(persons["l_z_star"].min()),
        }
        return cls(statistics, pairs, fitted, persons, scree)


def fit_bootstrap(
    matrix: pd.DataFrame,
    calibration: Calibration,
    n_draws: int,
    rng: np.random.Generator,
    n_strata: int = 5,
) -> FitBootstrap:
    """Simulate from a fitted 2PL, calibrate again, and compare the statistics of fit.

    In each draw an ability is drawn for each respondent from N(theta, se²), their posterior by MAP, so that
    the abilities of a draw are spread as those of the respondents are, whether normal or not. Answers are
    drawn to the calibrated items, missing where they are missing, and calibrated with the same priors. So the
    draws have the same weaknesses as the original: few respondents, rare answers, estimated parameters.

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong, NaN = not asked. With missing answers, only Q3.
    calibration : of `matrix`.
    n_draws : number of draws.
    rng : source of the draws.
    n_strata : of the rest score, for S-X².

    Raises
    ------
    SchemaError : as `binary_matrix`; no draw or rng; respondents of the calibration are not those of the
        matrix.

    Source: Efron & Tibshirani (1993), chapter 16; Stone, J. Educ. Meas. 37 (2000) 58–75 (item fit by
    simulation); Christensen, Makransky & Horton, Appl. Psychol. Meas. 41 (2017) 178–194 (Q3).
    """
    generator(rng)
    table = binary_matrix(matrix)
    if n_draws < 1:
        raise SchemaError(f"{n_draws} draws: give 1 or more.")
    if not table.index.equals(calibration.abilities.index):
        raise SchemaError("The calibration is of other respondents than the matrix: give its own.")
    observed = _Fitted.of(table, calibration.items, n_strata)
    drawn, converged = [], []
    for answers in simulate_like(table, calibration, n_draws, rng):
        again = calibrate_quietly(answers, calibration.priors, tolerance=calibration.tolerance)
        drawn.append(_Fitted.of(answers, again.items, n_strata))
        converged.append(again.converged)
    frame = pd.DataFrame([own.statistics for own in drawn])
    smallest = frame["l_z_star"].to_numpy() if "l_z_star" in frame else np.array([])
    own = observed.persons["l_z_star"].to_numpy()
    return FitBootstrap(
        table=_table(observed.statistics, frame),
        items=_item_table(observed.items, [one.items for one in drawn]),
        persons=observed.persons.assign(p_smallest=_p_values(own, smallest, "lower")),
        correlations=observed.correlations,
        largest_q3=frame["q3"].to_numpy(),
        eigenvalues=_scree(observed.scree, [one.scree for one in drawn]),
        n_not_converged=int(np.sum(~np.array(converged))),
    )


def _p_values(observed: np.ndarray, draws: np.ndarray, tail: str) -> np.ndarray:
    """(1 + draws at least as extreme) / (1 + draws) of each value; NaN where it or all draws are."""
    sign = 1.0 if tail == "upper" else -1.0
    draws = np.sort(sign * draws[~np.isnan(draws)])
    as_extreme = len(draws) - np.searchsorted(draws, sign * observed, side="left")
    return np.where(np.isnan(observed) | (len(draws) == 0), np.nan, (1 + as_extreme) / (1 + len(draws)))


def _table(observed: dict[str, float], draws: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for name, value in observed.items():
        own = draws[name].dropna()
        row = {"statistic": name, "observed": value, "mean": own.mean()}
        row |= {"low": own.quantile(0.05), "high": own.quantile(0.95), "tail": STATISTICS[name]}
        p = float(_p_values(np.array(value), own.to_numpy(), STATISTICS[name]))
        rows.append(row | {"p": p, "n_draws": len(own)})
    return pd.DataFrame(rows)


def _item_table(observed: pd.DataFrame, draws: list[pd.DataFrame]) -> pd.DataFrame:
    drawn = pd.DataFrame({n: own["s_x2"].reindex(observed.index) for n, own in enumerate(draws)})
    pairs = zip(observed["s_x2"], drawn.to_numpy(dtype="float64"), strict=True)
    p = [float(_p_values(np.array(value, dtype="float64"), own, "upper")) for value, own in pairs]
    return observed[["s_x2", "df"]].assign(n_draws=drawn.notna().sum(axis=1), p=p)


def _scree(observed: np.ndarray, draws: list[np.ndarray]) -> pd.DataFrame:
    n = min([len(observed), *map(len, draws)])
    columns = ["component", "observed", "low", "high"]
    if not n:
        return pd.DataFrame(columns=columns)
    low, high = np.quantile([own[:n] for own in draws], [0.05, 0.95], axis=0)
    return pd.DataFrame(dict(zip(columns, [np.arange(1, n + 1), observed[:n], low, high], strict=True)))


@dataclass(frozen=True)
class PartAgreement:
    """Rank correlation of the abilities that two parts of a benchmark show.

    Attributes
    ----------
    observed : Spearman correlation over respondents.
    draws : (n_draws,) the same where one ability explains both parts.
    p : lower tail, (1 + draws as small) / (1 + n_draws).
    """

    observed: float
    draws: np.ndarray
    p: float


def part_agreement(
    matrix: pd.DataFrame,
    calibration: Calibration,
    part: pd.Index,
    n_draws: int,
    rng: np.random.Generator,
) -> PartAgreement:
    """Do these items and the others order respondents alike, as far as errors of measurement allow it?

    Each part is calibrated by itself, and the abilities are correlated; then the same is done with answers
    simulated from one 2PL for all items, as in `fit_bootstrap`.

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong, NaN = not asked.
    calibration : of `matrix`.
    part : items of the one part; those that were set aside play no role.
    n_draws, rng : number and source of the draws.

    Raises
    ------
    SchemaError : as `binary_matrix` and `calibrate`; an item that is not in the matrix; no rng.
    """
    generator(rng)
    table = binary_matrix(matrix)
    strange = pd.Index(part).difference(table.columns)
    if len(strange):
        raise SchemaError(f"{len(strange)} items of the part are not in the matrix, such as {strange[0]!r}.")
    inside = calibration.items.index.isin(part)
    observed = _agreement(table[calibration.items.index], inside, calibration.priors)
    simulated = simulate_like(table, calibration, n_draws, rng)
    draws = np.array([_agreement(answers, inside, calibration.priors) for answers in simulated])
    return PartAgreement(observed, draws, float(_p_values(np.array(observed), draws, "lower")))


def _agreement(answers: pd.DataFrame, inside: np.ndarray, priors: Priors | None) -> float:
    """Spearman correlation of the abilities that the items inside and the others show."""
    parts = [calibrate_quietly(answers.loc[:, own], priors) for own in (inside, ~inside)]
    return spearman(*(calibration.abilities["theta"] for calibration in parts))
