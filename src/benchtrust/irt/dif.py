"""Differential item functioning: does an item treat a family of models otherwise than the rest?"""

import warnings
from collections.abc import Hashable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import norm

from benchtrust.errors import SchemaError
from benchtrust.irt.item_fit import LEAST_EXPECTED, NOT_ESTIMABLE, rest_strata
from benchtrust.irt.pool import binary_matrix, family_of

LEAST_FAMILY = 8
"""Smallest family that is compared with the rest."""

_DELTA = -2.35
_ALPHA = 0.05
_SMALL, _LARGE = 1.0, 1.5


def mantel_haenszel(
    matrix: pd.DataFrame,
    families: Mapping[Hashable, Hashable],
    n_strata: int = 5,
    least: int = LEAST_FAMILY,
) -> pd.DataFrame:
    """Compare each large family with all other respondents of about the same score, item by item.

    Respondents are matched by strata of the score on the other items.

    Parameters
    ----------
    matrix : complete answers, respondents × items, 1 right, 0 wrong.
    families : respondent -> family.
    n_strata : strata at most.
    least : smallest family that is compared.

    Returns
    -------
    A row per family of at least `least` respondents and item:

    - family, item, n_family, n_others.
    - delta : −2.35 ln of the pooled odds ratio of others to family, on the delta scale of the Educational
      Testing Service: below 0 the item is harder for the family than for others of equal score. ±inf where
      the family, or the others, give one answer only in all strata.
    - se : standard error of delta; NaN where delta is not finite.
    - p : Mantel–Haenszel test of delta = 0, with the continuity correction.
    - p_adjusted : after Benjamini and Hochberg, over the estimable items of the family.
    - ets : ``A`` if \\|delta\\| < 1 or it is not significant at .05; ``C`` if \\|delta\\| ≥ 1.5 and
      significantly above 1; else ``B``. ``""`` where delta is not finite.
    - note : ``"not estimable"`` where, over the strata that tell anything, one of the four combinations of
      family and answer is expected of fewer than one respondent; delta, se, p are NaN there.

    Raises
    ------
    SchemaError : as `binary_matrix`; a missing answer; a respondent without a family; no family of that size;
        fewer than 2 strata.

    Source: Holland & Thayer (1988); Zieky (1993) for the classes; se by Robins, Breslow & Greenland (1986).
    """
    table = binary_matrix(matrix)
    values = table.to_numpy()
    if np.isnan(values).any():
        raise SchemaError(f"{int(np.isnan(values).sum())} answers are missing: matching by score needs all.")
    family = family_of(table.index, families)
    sizes = family.value_counts()
    large = sizes.index[(sizes >= least) & (len(family) - sizes >= least)]
    if not len(large):
        raise SchemaError(f"No family of {least} or more with as many others; the largest has {sizes.max()}.")
    strata = rest_strata(values, n_strata)
    return pd.concat(
        [_compared(name, (family == name).to_numpy(), values, strata, table.columns) for name in large],
        ignore_index=True,
    )


def _compared(
    name: Hashable, member: np.ndarray, values: np.ndarray, strata: np.ndarray, items: pd.Index
) -> pd.DataFrame:
    """All items of one family."""
    from statsmodels.stats.multitest import multipletests

    rows = [_one_item(member, values[:, j], strata[:, j]) for j in range(values.shape[1])]
    found = pd.DataFrame(rows, columns=["delta", "se", "p", "note"])
    found.insert(0, "item", items)
    sizes = {"family": name, "n_family": int(member.sum()), "n_others": int((~member).sum())}
    tested = found["p"].notna()
    adjusted = np.full(len(found), np.nan)
    if tested.any():
        adjusted[tested] = multipletests(found.loc[tested, "p"], method="fdr_bh")[1]
    return found.assign(**sizes, p_adjusted=adjusted, ets=_classes(found))[
        ["family", "item", "n_family", "n_others", "delta", "se", "p", "p_adjusted", "ets", "note"]
    ]


def _one_item(member: np.ndarray, answers: np.ndarray, strata: np.ndarray) -> tuple[float, float, float, str]:
    """Delta, its standard error, p and note."""
    from statsmodels.stats.contingency_tables import StratifiedTable

    counts = np.zeros((2, 2, strata.max() + 1))
    np.add.at(counts, (member.astype(int), 1 - answers.astype(int), strata), 1)
    by_group, by_answer = counts.sum(axis=1), counts.sum(axis=0)
    counts = counts[:, :, (by_group > 0).all(axis=0) & (by_answer > 0).all(axis=0)]
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0)[None] / counts.sum(axis=(0, 1))
    if expected.sum(axis=2).min() < LEAST_EXPECTED:
        return np.nan, np.nan, np.nan, NOT_ESTIMABLE
    found = StratifiedTable(counts)
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        delta, se = _DELTA * found.logodds_pooled, abs(_DELTA) * found.logodds_pooled_se
    p = float(found.test_null_odds(correction=True).pvalue)
    return float(delta), float(se) if np.isfinite(delta) else np.nan, p, ""


def _classes(found: pd.DataFrame) -> np.ndarray:
    size = found["delta"].abs()
    beyond = (size - _SMALL) / found["se"] > norm.ppf(1 - _ALPHA)
    classes = np.select(
        [~np.isfinite(found["delta"]), (size < _SMALL) | (found["p"] >= _ALPHA), (size >= _LARGE) & beyond],
        ["", "A", "C"],
        default="B",
    )
    return classes
