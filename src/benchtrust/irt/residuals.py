"""What a 2PL leaves over: correlations of residuals, eigenvalues, and answers that do not suit a person."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from benchtrust.errors import SchemaError
from benchtrust.irt.ability import ability
from benchtrust.irt.curves import probability
from benchtrust.irt.item_fit import LEAST_EXPECTED
from benchtrust.irt.pool import binary_matrix, item_parameters


@dataclass(frozen=True)
class ResidualCorrelations:
    """Q3, the correlation of two items' residuals.

    Attributes
    ----------
    q3 : items × items; NaN on the diagonal and where not estimable.
    n_pairs : pairs of items.
    n_not_estimable : of them, those of whom fewer than one respondent is expected to give the less likely
        answer to both, so that a single one makes the correlation.
    """

    q3: pd.DataFrame
    n_pairs: int
    n_not_estimable: int

    @property
    def mean(self) -> float:
        """Mean of the pairs; about −1 / (J − 1) for J items that one ability explains."""
        return float(np.nanmean(self.q3)) if self.n_pairs > self.n_not_estimable else float("nan")

    @property
    def excess(self) -> float:
        """Largest Q3 minus the mean (Christensen, Makransky & Horton 2017)."""
        return float(np.nanmax(self.q3)) - self.mean if self.n_pairs > self.n_not_estimable else float("nan")

    def largest(self, n: int) -> pd.DataFrame:
        """The n pairs with the largest Q3: item_a, item_b, q3 and excess over the mean."""
        rows, columns = np.triu_indices(len(self.q3), 1)
        values = self.q3.to_numpy()[rows, columns]
        best = np.argsort(-values, kind="stable")[: min(n, self.n_pairs - self.n_not_estimable)]
        names = self.q3.index
        table = {"item_a": names[rows[best]], "item_b": names[columns[best]], "q3": values[best]}
        return pd.DataFrame(table).assign(excess=lambda own: own["q3"] - self.mean)


def residuals(matrix: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Answers minus what the 2PL expects at each respondent's ability by MAP.

    Returns
    -------
    respondents × items with parameters, in (−1, 1); NaN where there is no answer.

    Raises
    ------
    SchemaError : as `binary_matrix` and `item_parameters`.
    """
    answers, chances = _answers_and_chances(matrix, items)
    return answers - chances


def q3(matrix: pd.DataFrame, items: pd.DataFrame) -> ResidualCorrelations:
    """Correlate the residuals of each two items over the respondents who answered both.

    Raises
    ------
    SchemaError : as `binary_matrix` and `item_parameters`.

    Source: Yen, Appl. Psychol. Meas. 8 (1984) 125–145. The rule of what is estimable is the book's.
    """
    answers, chances = _answers_and_chances(matrix, items)
    asked = answers.notna().to_numpy(dtype="float64")
    values = pair_correlations((answers - chances).to_numpy(), asked)
    unlikely = np.minimum(chances, 1 - chances) * asked
    values[unlikely.T @ unlikely < LEAST_EXPECTED] = np.nan
    np.fill_diagonal(values, np.nan)
    n = len(values)
    n_known = int((~np.isnan(values)).sum()) // 2
    frame = pd.DataFrame(values, answers.columns, answers.columns)
    return ResidualCorrelations(frame, n * (n - 1) // 2, n * (n - 1) // 2 - n_known)


def _answers_and_chances(matrix: pd.DataFrame, items: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    table = binary_matrix(matrix)
    parameters = item_parameters(items, table)
    answers = table[parameters.index]
    theta = ability(answers, parameters)["theta"].fillna(0.0).to_numpy()
    return answers, probability(theta[:, None], *parameters.to_numpy().T)


def pair_correlations(values: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """(J, J) Pearson correlations over the rows that have both; NaN where undefined."""
    filled = np.where(asked > 0, values, 0.0)
    n, sums, squares = asked.T @ asked, filled.T @ asked, (filled**2).T @ asked
    spread = n * squares - sums**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return (n * (filled.T @ filled) - sums * sums.T) / np.sqrt(spread * spread.T)


def eigenvalues(table: pd.DataFrame | np.ndarray) -> np.ndarray:
    """Eigenvalues of the Pearson correlations of the columns, as shares of their sum.

    Parameters
    ----------
    table : complete respondents × items, such as answers or `residuals`; columns without variance are left
        out. Pearson correlations of 0 and 1, since tetrachoric ones of a few dozen respondents are mostly
        undefined; what hard and easy items alone do to them, a simulation shows (`fit_bootstrap`).

    Returns
    -------
    (N − 1,) or fewer shares in [0, 1], the largest first; more cannot be above 0.

    Raises
    ------
    SchemaError : a missing value; fewer than 3 rows or 2 columns with variance.
    """
    values = np.asarray(table, dtype="float64")
    if np.isnan(values).any():
        raise SchemaError(f"{int(np.isnan(values).sum())} values are missing: eigenvalues need all.")
    values = values[:, np.ptp(values, axis=0) > 0]
    if values.shape[0] < 3 or values.shape[1] < 2:
        raise SchemaError(f"{values.shape} respondents × items that vary: give 3 × 2 or more.")
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    found = np.linalg.svd(standard, compute_uv=False) ** 2 / standard.size
    return found[: min(len(values) - 1, values.shape[1])]


def person_fit(matrix: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Do a respondent's answers suit their ability? The standardised log-likelihood l_z and l_z*.

    l_z takes the estimated ability for the true one, and is then too narrow. l_z* is Snijders' correction for
    ability by MAP, θ ~ N(0, 1): asymptotically standard normal if the 2PL holds with these parameters.

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong, NaN = not asked.
    items : parameters a and b.

    Returns
    -------
    A row per respondent: theta, l_z, l_z_star, and p, the lower tail of l_z_star: wrong answers to easy items
    and right ones to hard items. NaN without answers, or where all items share one chance.

    Raises
    ------
    SchemaError : as `binary_matrix` and `item_parameters`.

    Source: Drasgow, Levine & Williams, Br. J. Math. Stat. Psychol. 38 (1985) 67–86; Snijders, Psychometrika
    66 (2001) 331–342; for MAP Magis, Raîche & Béland, J. Educ. Behav. Stat. 37 (2012) 57–81.
    """
    table = binary_matrix(matrix)
    parameters = item_parameters(items, table)
    answers = table[parameters.index]
    theta = ability(answers, parameters)["theta"]
    a, b = parameters.to_numpy().T
    asked = answers.notna().to_numpy()
    logit = a * (theta.to_numpy()[:, None] - b)
    chance = probability(theta.to_numpy()[:, None], a, b)
    variance = np.where(asked, chance * (1 - chance), 0.0)
    surprise = np.where(asked, answers.to_numpy() - chance, 0.0)
    shared = (variance * a * logit).sum(axis=1) / (variance * a**2).sum(axis=1)
    own = logit - shared[:, None] * a
    with np.errstate(divide="ignore", invalid="ignore"):
        l_z = (surprise * logit).sum(axis=1) / np.sqrt((variance * logit**2).sum(axis=1))
        l_z_star = (surprise * own).sum(axis=1) / np.sqrt((variance * own**2).sum(axis=1))
    columns = {"theta": theta, "l_z": l_z, "l_z_star": l_z_star, "p": norm.cdf(l_z_star)}
    return pd.DataFrame(columns, index=answers.index)
