"""How many more items and configurations would settle which of two models is ahead?"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.stability.flips import TIE
from benchtrust.stability.generalizability import g_study
from benchtrust.stability.item_scores import ItemScores, item_scores
from benchtrust.stability.power import multiple


@dataclass(frozen=True)
class GapDesign:
    """Variance components of the difference of two models, an item in a configuration being one observation.

    Attributes
    ----------
    gap : mean difference of the scores, first minus second, over the configurations.
    item, configuration, rest : variance of the difference over items, over configurations, and what is left,
        each at least 0. With one configuration its component is NaN, and no error is known.
    n_items, n_configurations : of the study.
    """

    gap: float
    item: float
    configuration: float
    rest: float
    n_items: int
    n_configurations: int

    def error(self, n_items: int, n_configurations: int) -> float:
        """Standard error of the mean gap of so many items and configurations, both drawn anew."""
        variances = self.item / n_items + self.configuration / n_configurations
        return math.sqrt(variances + self.rest / (n_items * n_configurations))

    def items_needed(
        self, difference: float, n_configurations: int, alpha: float = 0.05, power: float = 0.8
    ) -> int | None:
        """Smallest number of items at which a difference is found; None if no number suffices.

        Raises
        ------
        ValueError : alpha or power outside (0, 1).
        """
        allowed = (difference / multiple(alpha, power)) ** 2 - self.configuration / n_configurations
        if not allowed > TIE:
            return None
        return max(1, math.ceil((self.item + self.rest / n_configurations) / allowed * (1 - TIE)))


def gap_design(items: ItemScores | np.ndarray | pd.DataFrame, a: Hashable, b: Hashable) -> GapDesign:
    """Estimate what the mean gap of two models owes to its items and to its configurations.

    The difference of the two on an item in a configuration is an item effect, plus a configuration effect,
    plus the rest: a generalizability study of two random facets. Configurations are taken as drawn from more
    of their kind, whatever their axes are, and items as one population, whatever their part. An item counts
    as it does in the cell's score; by parity the rarer answer of each model counts as observed.

    Parameters
    ----------
    items : as in `item_scores`; the same items in every configuration.
    a, b : the models.

    Raises
    ------
    SchemaError : as `item_scores`; fewer than two items; configurations with different items; two models that
        differ nowhere.
    UnknownNameError : no such model.

    Source: Brennan, Generalizability Theory (2001), chapter 4, for the error of a difference.
    """
    table = item_scores(items).pair(a, b)
    if (table.weights == 0).any():
        raise SchemaError("Some items were not asked in all configurations: keep common ones.")
    differences = (table.added[:, 0] - table.added[:, 1]) * len(table.items)
    n_items, n_configurations = differences.shape
    if n_items < 2:
        raise SchemaError("One item: what items do is known from two on.")
    if np.ptp(differences) <= TIE:
        raise SchemaError(f"{a!r} and {b!r} differ by {differences.flat[0]:g} on every item: nothing varies.")
    gap = float(differences.mean())
    if n_configurations == 1:
        return GapDesign(gap, float(differences.var(ddof=1)), math.nan, 0.0, n_items, 1)
    study = g_study(differences, ["item", "configuration"])
    return GapDesign(gap, *study.components["truncated"], n_items, n_configurations)


def design_table(
    design: GapDesign,
    n_configurations: Sequence[int],
    difference: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> pd.DataFrame:
    """What so many configurations would need, and could show with the items that there are.

    Parameters
    ----------
    design : of the pair.
    n_configurations : numbers of configurations to try.
    difference : to be found, above 0, in score points; the size of the mean gap by default.
    alpha, power : of a two-sided test.

    Returns
    -------
    A row per number: n_configurations; error, the standard error of the mean gap with the study's items;
    detectable, the smallest difference that it shows; floor, the same with items without number; needed,
    items to find the difference (NA: no number does).

    Raises
    ------
    SchemaError : no number, or one below 1.
    ValueError : a size or power outside (0, 1).
    """
    if not n_configurations or min(n_configurations) < 1:
        raise SchemaError(
            f"Numbers of configurations {list(n_configurations)}: give whole ones from 1 upwards."
        )
    sought = abs(design.gap) if difference is None else difference
    rows = []
    for n in n_configurations:
        error, floor = design.error(design.n_items, n), math.sqrt(design.configuration / n)
        needed = design.items_needed(sought, n, alpha, power)
        rows.append([n, error, *(multiple(alpha, power) * e for e in (error, floor)), needed])
    table = pd.DataFrame(rows, columns=["n_configurations", "error", "detectable", "floor", "needed"])
    return table.astype({"needed": "Int64"})
