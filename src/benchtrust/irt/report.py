"""A report on each item for a benchmark's owner: does it tell models apart, alone, and as the 2PL says?"""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import NotConvergedWarning, SchemaError
from benchtrust.irt.calibration import Calibration, calibrate_quietly
from benchtrust.irt.curves import information, probability
from benchtrust.irt.item_fit import LEAST_EXPECTED
from benchtrust.irt.matrix import checked, generator, shown
from benchtrust.irt.pool import item_parameters
from benchtrust.irt.ranks import spearman
from benchtrust.irt.residuals import pair_correlations
from benchtrust.irt.simulation import simulate_like


@dataclass(frozen=True)
class ItemReport:
    """What became of each item.

    Attributes
    ----------
    items : a row per item of the matrix, in its order: pass_rate, n_answers; a, b, se_a, se_b (NaN where set
        aside); information, the mean over the respondents' abilities; rmsd, root mean square distance of the
        empirical curve from the fitted one (0 to 1), and x2, the same as Pearson's chi-square;
        most_like, the item whose residuals go most with its own, with z and q3 of the pair;
        n_same, other items with the same answers throughout; set_aside, the reason or ``""``;
        judged, whether there are answers enough to call it redundant or misfitting; uninformative,
        redundant, misfitting; reasons, all of them in words, or ``""``.
    curves : a row per calibrated item and group of respondents, the least able first: item, group, theta
        (mean ability), n (answers), observed and expected pass rate, low and high, the band in which the
        observed one lies at `level` if the model holds, point by point.
    pairs : redundant pairs, the most alike first: item_a, item_b, z, q3, same_answers.
    z_bound : residual covariance beyond which a pair is redundant; NaN if no pair is compared.
    x2_bound : x2 beyond which an item is misfitting; NaN if no item is judged.
    n_judged, n_pairs : items that are judged, pairs that are compared.
    n_draws, n_not_converged : draws of the bootstrap, and those whose calibration did not converge.
    """

    items: pd.DataFrame
    curves: pd.DataFrame
    pairs: pd.DataFrame
    z_bound: float
    x2_bound: float
    n_judged: int
    n_pairs: int
    n_draws: int
    n_not_converged: int

    @property
    def counts(self) -> dict[str, int]:
        """Items, how many are set_aside, uninformative, judged, misfitting, redundant; redundant pairs."""
        flags = ("uninformative", "judged", "misfitting", "redundant")
        found = {name: int(self.items[name].sum()) for name in flags}
        n_set_aside = int((self.items["set_aside"] != "").sum())
        return {"items": len(self.items), "set_aside": n_set_aside, **found, "pairs": len(self.pairs)}


def item_report(
    matrix: pd.DataFrame,
    calibration: Calibration,
    rng: np.random.Generator,
    n_groups: int = 5,
    n_draws: int = 200,
    level: float = 0.95,
    little: float = 0.1,
    least: int = 5,
) -> ItemReport:
    """Set each item's answers beside its fitted curve and beside the other items' answers.

    - uninformative : information below the share `little` of the average item's.
    - redundant : what is left of the answers once ability is taken out, r = x − P(θ̂), goes with what is left
      of another item's: z = Σ r_i r_j / √Σ P_i Q_i P_j Q_j, over the respondents asked both, is beyond the
      bound; or the answers of two judged items are the same. The correlation of r_i and r_j, Yen's Q3, is
      shown beside it; its own extremes come from pairs with next to no residuals.
    - misfitting : the empirical curve is further from the fitted one than the bound, by Pearson's
      X² = Σ_g n_g (O_g − E_g)² / E_g (1 − E_g) over the groups, E_g kept half an answer away from 0 and 1.

    Both bounds come from a parametric bootstrap: answers drawn from the fitted 2PL at abilities drawn about
    the estimates, with the same answers missing, calibrated and grouped anew. They are the `level` quantiles
    of the *largest* value over all items, or pairs, of a draw, so that a benchmark which the 2PL fits shows
    any such flag with chance 1 − `level`.

    Parameters
    ----------
    matrix : the calibrated answers, respondents × items, 1 right, 0 wrong, NaN = not asked.
    calibration : of this matrix.
    rng : source of the draws.
    n_groups : groups of respondents of equal size by ability, at least 2.
    n_draws : draws of the bootstrap, at least 1 / (1 − `level`).
    level : of the bounds and of the band.
    little : share of the average item's information.
    least : right and wrong answers that a judged item has, each. A compared pair has two judged items and
        Σ P_i Q_i P_j Q_j ≥ 1.

    Raises
    ------
    SchemaError : as `checked`; a calibration of other items or respondents; too few groups or draws; no rng.

    Source: RMSD, Oliveri & von Davier, Psychological Test and Assessment Modeling 53 (2011) 315–333; Q3, Yen,
    Applied Psychological Measurement 8 (1984) 125–145, by bootstrap, Christensen, Makransky & Horton, ibid.
    41 (2017) 178–194; the largest of many as a bound, Westfall & Young (1993).
    """
    generator(rng)
    table = _same_labels(checked(matrix), calibration)
    _check_sizes(table, n_groups, n_draws, level)
    used = table.loc[calibration.abilities["theta"].notna(), calibration.items.index]
    own = _look(used, calibration, n_groups, least)
    null = _bootstrap(used, calibration, rng, n_groups, n_draws, least)
    z_bound, x2_bound = (_quantile(values, level) for values in (null.largest_z, null.largest_x2))
    pairs = _redundant_pairs(used, own, z_bound)
    fit = pd.DataFrame({"rmsd": own.rmsd, "x2": own.x2, "judged": own.judged}, used.columns)
    fit["misfitting"] = own.judged & (own.x2 > x2_bound)
    return ItemReport(
        items=_items(table, calibration, fit.join(_likeness(used, own)), pairs, little),
        curves=_curves(used, own, null, level),
        pairs=pairs,
        z_bound=z_bound,
        x2_bound=x2_bound,
        n_judged=int(own.judged.sum()),
        n_pairs=own.n_pairs,
        n_draws=n_draws,
        n_not_converged=null.n_not_converged,
    )


def wright_map(calibration: Calibration, width: float = 0.5) -> pd.DataFrame:
    """Count respondents and items along their common scale, and say where the test measures well.

    Parameters
    ----------
    calibration : abilities and item parameters.
    width : of a bin, in logits, > 0.

    Returns
    -------
    A row per bin from the lowest to the highest value, empty ones too: low, high (a value on an edge belongs
    to the upper bin), n_respondents, n_items, information of all items at the middle of the bin.

    Raises
    ------
    SchemaError : a width that is not positive.

    Source: Wright & Masters, Rating Scale Analysis (1982).
    """
    if not width > 0:
        raise SchemaError(f"Bins {width} logits wide: give a width above 0.")
    theta, b = calibration.abilities["theta"].dropna().to_numpy(), calibration.items["b"].to_numpy()
    places = [np.floor(values / width).astype(int) for values in (theta, b)]
    first = min(place.min() for place in places)
    n_bins = max(place.max() for place in places) - first + 1
    low = (first + np.arange(n_bins)) * width
    a = calibration.items["a"].to_numpy()
    counts = [np.bincount(place - first, minlength=n_bins) for place in places]
    told = information(low[:, None] + width / 2, a, b).sum(axis=1)
    columns = {"low": low, "high": low + width, "n_respondents": counts[0], "n_items": counts[1]}
    return pd.DataFrame({**columns, "information": told})


def tracking(
    calibration: Calibration, rng: np.random.Generator, n_draws: int = 2000, level: float = 0.95
) -> dict[str, float]:
    """How far does difficulty say what the pass rate says already?

    Parameters
    ----------
    calibration : items with b and pass_rate.
    rng : source of the draws.
    n_draws : times that the items are drawn again, with replacement.
    level : of the percentile interval.

    Returns
    -------
    spearman : rank correlation of b and pass rate over the calibrated items, −1 if they say the same; low and
        high of its interval; items.
    """
    b, rate = calibration.items["b"].to_numpy(), calibration.items["pass_rate"].to_numpy()
    n = len(b)
    draws = [spearman(b[own], rate[own]) for own in generator(rng).integers(n, size=(n_draws, n))]
    low, high = np.nanquantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return {"spearman": spearman(b, rate), "low": float(low), "high": float(high), "items": n}


@dataclass(frozen=True)
class _Look:
    """Curves (items × groups), which items are judged, and how pairs go together (NaN where not compared)."""

    theta: np.ndarray
    n: np.ndarray
    observed: np.ndarray
    expected: np.ndarray
    judged: np.ndarray
    z: np.ndarray
    q3: np.ndarray

    @property
    def rmsd(self) -> np.ndarray:
        squares = np.where(self.n > 0, self.n * (self.observed - self.expected) ** 2, 0).sum(axis=1)
        n = self.n.sum(axis=1)
        return np.sqrt(np.divide(squares, n, out=np.full(len(n), np.nan), where=n > 0))

    @property
    def x2(self) -> np.ndarray:
        n = np.where(self.n > 0, self.n, np.nan)
        expected = np.clip(self.expected, 0.5 / n, 1 - 0.5 / n)
        terms = n * (self.observed - expected) ** 2 / (expected * (1 - expected))
        return np.where(self.n.sum(axis=1) > 0, np.nansum(terms, axis=1), np.nan)

    @property
    def n_pairs(self) -> int:
        return int((~np.isnan(self.z)).sum() // 2)

    @property
    def largest_z(self) -> float:
        return float(np.nanmax(self.z)) if self.n_pairs else float("nan")

    @property
    def largest_x2(self) -> float:
        return float(self.x2[self.judged].max()) if self.judged.any() else float("nan")


@dataclass(frozen=True)
class _Null:
    """What each draw of a bootstrap shows: the gaps of the curves, the largest z and X²."""

    gaps: np.ndarray
    largest_z: np.ndarray
    largest_x2: np.ndarray
    n_not_converged: int


def _same_labels(table: pd.DataFrame, calibration: Calibration) -> pd.DataFrame:
    item_parameters(calibration.items, table)
    known = calibration.items.index.union(calibration.set_aside["item"], sort=False)
    strange = table.columns.difference(known, sort=False)
    if len(strange) or not table.index.equals(calibration.abilities.index):
        what = f"items {shown(strange)}" if len(strange) else "respondents"
        raise SchemaError(f"The calibration does not hold the matrix's {what}: calibrate this matrix.")
    return table


def _check_sizes(table: pd.DataFrame, n_groups: int, n_draws: int, level: float) -> None:
    if not 2 <= n_groups <= len(table):
        raise SchemaError(f"{n_groups} groups of {len(table)} respondents: give 2 to {len(table)}.")
    if not 0 < level < 1 or n_draws * (1 - level) < 1 - 1e-9:
        raise SchemaError(f"{n_draws} draws cannot show a level of {level}: give 1 / (1 - level) or more.")


def _look(table: pd.DataFrame, calibration: Calibration, n_groups: int, least: int) -> _Look:
    """Items that the calibration lacks have NaN."""
    values, theta = table.to_numpy(), calibration.abilities["theta"].reindex(table.index).to_numpy()
    a, b = calibration.items[["a", "b"]].reindex(table.columns).to_numpy().T
    chances = probability(theta[:, None], a, b)
    asked = (~np.isnan(values - chances)).astype("float64")
    members = np.zeros((n_groups, len(theta)))
    for group, own in enumerate(np.array_split(np.argsort(theta, kind="stable"), n_groups)):
        members[group, own] = 1
    n = members @ asked
    means = [
        np.divide(members @ np.nan_to_num(part * asked), n, out=np.full_like(n, np.nan), where=n > 0)
        for part in (values, chances)
    ]
    centre = members @ theta / members.sum(axis=1)
    n_right = np.nan_to_num(values * asked).sum(axis=0)
    judged = (n_right >= least) & (asked.sum(axis=0) - n_right >= least)
    return _Look(centre, n.T, means[0].T, means[1].T, judged, *_together(values, chances, judged))


def _together(values: np.ndarray, chances: np.ndarray, judged: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of all pairs of items z and Q3, NaN where not compared."""
    asked = ~np.isnan(values - chances)
    left = np.where(asked, values - chances, 0.0)
    spread = np.where(asked, chances * (1 - chances), 0.0)
    product, expected = left.T @ left, spread.T @ spread
    q3 = pair_correlations(left, asked.astype("float64"))
    compared = (expected >= LEAST_EXPECTED) & judged & judged[:, None] & np.isfinite(q3)
    np.fill_diagonal(compared, False)
    z = np.divide(product, np.sqrt(expected), out=np.full_like(product, np.nan), where=compared)
    return z, np.where(compared, q3, np.nan)


def _bootstrap(
    table: pd.DataFrame,
    calibration: Calibration,
    rng: np.random.Generator,
    n_groups: int,
    n_draws: int,
    least: int,
) -> _Null:
    gaps = np.empty((n_draws, table.shape[1], n_groups))
    largest, n_not_converged = np.empty((2, n_draws)), 0
    for draw, drawn in enumerate(simulate_like(table, calibration, n_draws, rng)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            found = calibrate_quietly(drawn, calibration.priors, tolerance=calibration.tolerance)
        look = _look(drawn, found, n_groups, least)
        gaps[draw] = look.observed - look.expected
        largest[:, draw] = look.largest_z, look.largest_x2
        n_not_converged += not found.converged
    return _Null(gaps, *largest, n_not_converged)


def _quantile(values: np.ndarray, level: float) -> float:
    """Upper quantile of the draws that have a value; NaN if none has."""
    known = values[~np.isnan(values)]
    return float(np.quantile(known, level, method="higher")) if len(known) else float("nan")


def _alike(table: pd.DataFrame) -> np.ndarray:
    """Number of the group of items with the same answers, for each item."""
    patterns = np.where(table.isna(), 2.0, table).T
    return np.unique(patterns, axis=0, return_inverse=True)[1].ravel()


def _redundant_pairs(table: pd.DataFrame, own: _Look, bound: float) -> pd.DataFrame:
    alike = _alike(table)
    same = (alike[:, None] == alike) & own.judged[:, None] & own.judged
    first, second = np.nonzero(np.triu(same | (own.z > bound), 1))
    columns = {
        "item_a": table.columns[first],
        "item_b": table.columns[second],
        "z": own.z[first, second],
        "q3": own.q3[first, second],
        "same_answers": same[first, second],
    }
    return pd.DataFrame(columns).sort_values("z", ascending=False, kind="stable", ignore_index=True)


def _likeness(table: pd.DataFrame, own: _Look) -> pd.DataFrame:
    """Of each item the pair with the largest z, and how many other items have the same answers."""
    best = np.where(np.isnan(own.z), -np.inf, own.z).argmax(axis=1)
    rows = np.arange(len(best))
    z = own.z[rows, best]
    names = pd.Series(table.columns[best], table.columns, dtype=object).where(~np.isnan(z))
    alike = _alike(table)
    columns = {"most_like": names, "z": z, "q3": own.q3[rows, best], "n_same": np.bincount(alike)[alike] - 1}
    return pd.DataFrame(columns, table.columns)


def _items(
    table: pd.DataFrame, calibration: Calibration, fit: pd.DataFrame, pairs: pd.DataFrame, little: float
) -> pd.DataFrame:
    a, b = (calibration.items[name].to_numpy() for name in ("a", "b"))
    theta = calibration.abilities["theta"].dropna().to_numpy()
    told = pd.Series(information(theta[:, None], a, b).mean(axis=0), calibration.items.index)
    frame = pd.DataFrame({"pass_rate": table.mean(), "n_answers": table.notna().sum()})
    frame = frame.join(calibration.items[["a", "b", "se_a", "se_b"]]).assign(information=told)
    frame = frame.join(fit)
    reasons = calibration.set_aside.set_index("item")["reason"]
    frame["set_aside"] = reasons.reindex(frame.index).fillna("")
    frame["n_same"] = frame["n_same"].fillna(0).astype(int)
    for name in ("judged", "misfitting"):
        frame[name] = frame[name].eq(True)
    frame["uninformative"] = frame["information"] < little * told.mean()
    frame["redundant"] = frame.index.isin(pairs[["item_a", "item_b"]].to_numpy().ravel())
    frame["reasons"] = [_reasons(item, row, pairs, little) for item, row in frame.iterrows()]
    return frame


def _reasons(item: object, row: pd.Series, pairs: pd.DataFrame, little: float) -> str:
    words = [f"set aside: {row['set_aside']}"] if row["set_aside"] else []
    if row["uninformative"]:
        words.append(f"uninformative: below {little:.0%} of the average item's information")
    own = pairs[(pairs["item_a"] == item) | (pairs["item_b"] == item)] if row["redundant"] else pairs[:0]
    for pair in own.itertuples():
        other = pair.item_b if pair.item_a == item else pair.item_a
        why = "same answers" if pair.same_answers else f"Q3 {pair.q3:.2f}"
        words.append(f"redundant with {other} ({why})")
    if row["misfitting"]:
        words.append(f"misfitting: {row['rmsd']:.2f} from the fitted curve")
    return "; ".join(words)


def _curves(table: pd.DataFrame, own: _Look, null: _Null, level: float) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        ends = np.nanquantile(null.gaps, [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = np.clip(own.expected + ends, 0, 1)
    n_items, n_groups = own.n.shape
    columns = {
        "item": np.repeat(table.columns, n_groups),
        "group": np.tile(np.arange(1, n_groups + 1), n_items),
        "theta": np.tile(own.theta, n_items),
        "n": own.n.ravel().astype(int),
        "observed": own.observed.ravel(),
        "expected": own.expected.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
    }
    return pd.DataFrame(columns)
