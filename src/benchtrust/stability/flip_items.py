"""Which items carry a flip?"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.stability.flips import TIE, pair_rho
from benchtrust.stability.item_scores import ItemScores, item_scores


@dataclass(frozen=True)
class FlipItems:
    """A pair of models that some configurations order one way and others the other way.

    Attributes
    ----------
    items : a row per item, what carries most first: item; ahead and behind, what it adds to the gap (a minus
        b) in the mean configuration that has a ahead, or behind; share, of `change`, which sum to 1; and
        rho_without, the flip rate if the item is left out.
    change : mean gap where a is ahead minus mean gap where it is behind, in score points, above 0.
    rho : flip rate on all items.
    n_ahead, n_behind : configurations on either side; tied ones play no part.
    """

    items: pd.DataFrame
    change: float
    rho: float
    n_ahead: int
    n_behind: int


def flip_items(
    items: ItemScores | np.ndarray | pd.DataFrame, a: Hashable, b: Hashable, tie: float = TIE
) -> FlipItems | None:
    """Share a flip out among the items, or None if no configuration reverses the pair.

    The gap of two models in a configuration is a sum over items, so its change from the configurations that
    have `a` ahead to those that have it behind is one too. An item's share is above 0 if it helps `a` more
    where `a` is ahead, and below if it pulls the other way; one on which both models answer alike throughout
    has none. Where a cell's score is by parity, the rarer answer of each model counts as observed.

    Parameters
    ----------
    items : as in `item_scores`.
    a, b : the models.
    tie : largest gap that counts as a tie.

    Raises
    ------
    SchemaError, UnknownNameError : as `item_scores`, or no such model.

    Source: the book, "One set of responses, three answers".
    """
    table = item_scores(items).pair(a, b)
    added = table.added[:, 0] - table.added[:, 1]
    gaps = added.sum(axis=0)
    ahead, behind = gaps > tie, gaps < -tie
    if not (ahead.any() and behind.any()):
        return None
    on_sides = np.column_stack([added[:, side].mean(axis=1) for side in (ahead, behind)])
    change = float(gaps[ahead].mean() - gaps[behind].mean())
    places = np.arange(len(table.items))
    left = (
        [table.on([table.items[j] for j in places[places != i]]) for i in places] if len(places) > 1 else []
    )
    frame = pd.DataFrame(on_sides, columns=["ahead", "behind"]).assign(
        share=(on_sides[:, 0] - on_sides[:, 1]) / change,
        rho_without=[pair_rho(own.cells.to_numpy(), tie)[0] for own in left] or np.nan,
    )
    frame.insert(0, "item", list(table.items))
    return FlipItems(
        items=frame.sort_values("share", ascending=False, kind="stable", ignore_index=True),
        change=change,
        rho=float(pair_rho(table.cells.to_numpy(), tie)[0]),
        n_ahead=int(ahead.sum()),
        n_behind=int(behind.sum()),
    )
