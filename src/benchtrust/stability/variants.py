"""A model beside a variant of itself, such as its unquantised weights: does it answer alike?"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.responses import CONFIGURATION, cell_means
from benchtrust.stability.flips import TIE, leads

_CELL = ["benchmark", "model", *CONFIGURATION]


def compare_variants(frame: pd.DataFrame, variants: Mapping[str, str]) -> pd.DataFrame:
    """Cells of each model beside those of its variant, on the items that both were asked.

    Parameters
    ----------
    frame : responses of both, one sample an item.
    variants : model → name of its variant in the table.

    Returns
    -------
    A row per benchmark, model and configuration that both have: n_items; changed, the share of items on which
    choice or outcome differ; score, score_variant, and difference, the variant's minus the model's.

    Raises
    ------
    SchemaError : nothing that both were asked.
    """
    asked = [*_CELL, "item_id"]
    own = frame[frame["model"].isin(list(variants))]
    theirs = frame[frame["model"].isin(list(variants.values()))]
    theirs = theirs.assign(model=theirs["model"].map({variant: name for name, variant in variants.items()}))
    own, theirs = (a.merge(b[asked], on=asked) for a, b in ((own, theirs), (theirs, own)))
    if own.empty:
        named = "; ".join(f"{name} and {variant}" for name, variant in variants.items())
        raise SchemaError(f"Nothing was asked of both {named}.")
    both = own[[*asked, "choice", "outcome"]].merge(theirs, on=asked, suffixes=("", "_variant"))
    chosen, other = (both[name].fillna(-1) for name in ("choice", "choice_variant"))
    both = both.assign(changed=(chosen != other) | (both["outcome"] != both["outcome_variant"]))
    table = both.groupby(_CELL)["changed"].agg(n_items="size", changed="mean")
    scores = [cell_means(rows).set_index(_CELL)["score"] for rows in (own, theirs)]
    table = table.assign(score=scores[0], score_variant=scores[1])
    return table.assign(difference=table["score_variant"] - table["score"]).reset_index()


def turned_leaders(scores: pd.DataFrame, others: pd.DataFrame, tie: float = TIE) -> pd.DataFrame:
    """Configurations in which a pair's leader is one model in `scores` and the other in `others`.

    Parameters
    ----------
    scores, others : configurations × models, the same models in the same order; matched by configuration.
    tie : largest difference that counts as a tie.

    Returns
    -------
    A row per pair, in the order of `flip_rates`: model_a, model_b, n configurations of both, turned.

    Raises
    ------
    SchemaError : other models.
    """
    if list(scores.columns) != list(others.columns):
        raise SchemaError(f"Models {list(scores.columns)} and {list(others.columns)} differ.")
    shared = scores.index.intersection(others.index)
    one, two = (leads(table.loc[shared].to_numpy(float), max(tie, TIE)) for table in (scores, others))
    rows = pd.DataFrame(combinations(scores.columns, 2), columns=["model_a", "model_b"])
    known = ~np.isnan(one * two)
    return rows.assign(n=known.sum(axis=0), turned=(one * two == -1).sum(axis=0))
