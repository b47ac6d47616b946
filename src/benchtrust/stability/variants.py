"""A model beside a variant of itself, such as its unquantised weights: does it answer alike?"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.responses import CONFIGURATION, cell_means
from benchtrust.stability.flips import TIE, flip_rates, leads
from benchtrust.stability.item_scores import item_scores
from benchtrust.stability.resampling import interval, observed_and_resampled

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


def variant_flips(
    cells: pd.DataFrame, variants: Mapping[str, str], levels: tuple[str, str], tie: float = TIE
) -> pd.DataFrame:
    """Flip rates of the models, of their variants, and with the variant as one more axis of the envelope.

    Parameters
    ----------
    cells : output of `responses.cell_means`, holding both.
    variants : model → name of its variant.
    levels : names of the columns for the models' and for the variants' flip rate.
    tie : largest difference that counts as a tie.

    Returns
    -------
    A row per benchmark and pair of models: benchmark, model_a, model_b; n configurations; the two rates, and
    ``joint`` over the configurations of both; turned, as `turned_leaders`.

    Raises
    ------
    SchemaError : as `flip_rates`.
    """
    tables = []
    for benchmark, own in cells.groupby("benchmark", sort=True):
        wide = own.pivot(index=list(CONFIGURATION), columns="model", values="score")
        one = wide[list(variants)]
        two = wide[list(variants.values())].set_axis(one.columns, axis=1)
        joint = pd.concat([one, two], keys=levels)
        rho = {
            name: flip_rates(scores, tie)["rho"]
            for name, scores in zip((*levels, "joint"), (one, two, joint), strict=True)
        }
        turned = turned_leaders(one, two, tie)
        turned.insert(0, "benchmark", benchmark)
        tables.append(turned.assign(**rho))
    return pd.concat(tables, ignore_index=True)


def variant_intervals(
    frame: pd.DataFrame,
    variants: Mapping[str, str],
    n_draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """How far a model's score moves in its variant, on the mean of the envelope, with items drawn again.

    Parameters
    ----------
    frame : responses of the models and of their variants, one sample an item; items and configurations that
        one of a pair lacks are left out.
    variants : model → name of its variant.
    n_draws, rng : draws of items with replacement within parts, and their source.
    level : confidence, between 0 and 1.

    Returns
    -------
    A row per benchmark and model: difference, the mean over configurations of the variant's score minus the
    model's; low, high.

    Raises
    ------
    SchemaError : as `resampled_cells`.
    """
    rows = []
    for benchmark, asked in frame.groupby("benchmark", sort=True):
        for pair in variants.items():
            table = item_scores(asked[asked["model"].isin(pair)]).pair(*pair)
            draws = observed_and_resampled(table, n_draws, rng)
            moved = (draws[..., 1] - draws[..., 0]).mean(axis=1)
            low, high = interval(moved[1:], level)
            rows.append((benchmark, pair[0], moved[0], low, high))
    return pd.DataFrame(rows, columns=["benchmark", "model", "difference", "low", "high"])
