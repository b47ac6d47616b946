"""Flip rates of every benchmark at once, as a reader of a table wants them."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from benchtrust.errors import NotAskableError, SchemaError, pick
from benchtrust.responses import CONFIGURATION, cell_means, score_matrix
from benchtrust.stability.flips import TIE, flip_rates, reversal

REVERSAL = ["ahead", "lead_a", "behind", "lead_b"]


def flip_table(cells: pd.DataFrame, models: Sequence[str], margin: float = 0.0) -> pd.DataFrame:
    """Flip rate of each pair of models on each benchmark.

    Parameters
    ----------
    cells : output of `responses.cell_means`.
    models : models to compare; a pair is compared in the configurations that both have.
    margin : differences of at most this many score points (0..1) count as ties.

    Returns
    -------
    One row per benchmark and pair: the columns of `flip_rates`, and `hangs_on_unparsed`: whether a reversal
    exists under one way to count unparsed answers (as wrong, or left out) and not under the other.
    """
    tables = []
    for benchmark, own in cells.groupby("benchmark", sort=True):
        rates, left_out = (_rates(own, models, value, margin) for value in ("score", "score_parsed"))
        reversed_ = [(table[["n_plus", "n_minus"]].min(axis=1) > 0).to_numpy() for table in (rates, left_out)]
        tables.append(rates.assign(benchmark=benchmark, hangs_on_unparsed=reversed_[0] != reversed_[1]))
    table = pd.concat(tables, ignore_index=True)
    return table[["benchmark", *(c for c in table.columns if c != "benchmark")]]


def choose(frame: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """The models to compare, as the table spells them.

    Raises
    ------
    UnknownNameError : a model that the table does not hold, with the nearest names.
    NotAskableError : fewer than two.
    """
    chosen = [pick(name, frame["model"].unique(), "model of this table") for name in models]
    if len(set(chosen)) < 2:
        raise NotAskableError(f"A comparison needs two models; found {', '.join(chosen) or 'none'}.")
    return chosen


def reversed_by_level(cells: pd.DataFrame, a: str, b: str, margin: float = 0.0) -> pd.DataFrame:
    """Configurations that order a pair against its majority, by the levels of each axis.

    Returns
    -------
    One row per benchmark, axis and level: `configurations` that both models have, and those `reversed`.
    """
    rows = []
    for benchmark, own in cells.groupby("benchmark", sort=True):
        scores = score_matrix(own)
        turned = majority(scores, a, b, max(margin, TIE)).rename("turned").reset_index()
        both = scores[[a, b]].notna().all(axis=1).to_numpy()
        for axis in ("scoring", "decoding", "template", "shots"):
            for level, group in turned[both].groupby(axis, sort=True):
                rows.append(
                    [benchmark, axis, str(level), len(group), int(group["turned"].fillna(False).sum())]
                )
    return pd.DataFrame(rows, columns=["benchmark", "axis", "level", "configurations", "reversed"])


def widest_reversals(cells: pd.DataFrame, models: Sequence[str], tie: float = TIE) -> pd.DataFrame:
    """For each benchmark and pair the two configurations that reverse it by most.

    Returns
    -------
    benchmark, model_a, model_b; `ahead`, `lead_a`, `behind` and `lead_b` as in `Reversal`, configurations as
    text; empty text and NaN where no configuration reverses the pair.
    """
    rows = []
    for benchmark, own in cells.groupby("benchmark", sort=True):
        scores = score_matrix(own)
        for a, b in combinations([m for m in models if m in scores], 2):
            found = reversal(scores, a, b, tie)
            row = ["", np.nan, "", np.nan]
            if found is not None:
                ahead, behind = (", ".join(map(str, c)) for c in (found.ahead, found.behind))
                row = [ahead, found.lead_a, behind, found.lead_b]
            rows.append([benchmark, a, b, *row])
    return pd.DataFrame(rows, columns=["benchmark", "model_a", "model_b", *REVERSAL])


def one_configuration(frame: pd.DataFrame, where: Sequence[str | int]) -> pd.DataFrame:
    """Responses in one configuration of one benchmark.

    Parameters
    ----------
    where : benchmark, template, shots, decoding and scoring, numbers as text or not.

    Raises
    ------
    SchemaError : not five names, or a configuration that the table does not hold.
    UnknownNameError : a level that the table does not hold, with those that it does.
    """
    axes = ["benchmark", *CONFIGURATION]
    if len(where) != len(axes):
        raise SchemaError(f"{len(where)} names, {', '.join(map(str, where))}; needed: {', '.join(axes)}.")
    own = frame
    for axis, level in zip(axes, where, strict=True):
        levels = {str(found): found for found in frame[axis].unique()}
        own = own[own[axis] == levels[pick(str(level), levels, axis)]]
    if own.empty:
        raise SchemaError(f"No responses in {', '.join(map(str, where))}: log-prob cells have decoding none.")
    return own


def without_sampling(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells whose answers are not drawn by lot (greedy, log-prob); all, where the table names neither."""
    kept = cells["decoding"].isin(["greedy", "none"])
    return cells[kept] if kept.any() else cells


def score_spans(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean, lowest and highest cell score of each model, on the items that every cell was asked.

    Parameters
    ----------
    frame : responses; the models need not have the same configurations.

    Returns
    -------
    A row per benchmark and model, in the order of the table: score (mean over its cells), low, high, cells,
    items.
    """
    asked = common_items(frame, frame["model"].unique())
    scores = cell_means(asked).groupby(["benchmark", "model"])["score"]
    spans = scores.agg(score="mean", low="min", high="max", cells="size")
    spans["items"] = asked.groupby(["benchmark", "model"])["item_id"].nunique()
    order = pd.MultiIndex.from_frame(asked[["benchmark", "model"]].drop_duplicates())
    return spans.reindex(order).reset_index()


def disclosure(
    cells: pd.DataFrame, models: Sequence[str], reported: Mapping[str, str | int], tie: float = TIE
) -> pd.DataFrame:
    """A model's score in one reported configuration, and how far it and its rank move over all others.

    Parameters
    ----------
    cells : output of `responses.cell_means`, in configurations that all `models` have.
    reported : axis → level. On a benchmark without that scoring, its log-prob configuration with the same
        template and shots is taken.
    tie : models whose scores are this close share the better rank.

    Returns
    -------
    A row per benchmark and model: score, rank (1 = best) and unread (share of answers without a choice) as
    reported; low, high, rank_low, rank_high over the configurations.

    Raises
    ------
    SchemaError : the configuration is not among the cells of a benchmark.
    """
    tables = []
    for benchmark, own in cells.groupby("benchmark", sort=False):
        scores = score_matrix(own)[list(models)]
        ahead = [[(row > row[m] + tie).sum() + 1 for m in models] for _, row in scores.iterrows()]
        ranks = pd.DataFrame(ahead, index=scores.index, columns=scores.columns)
        place = _place(scores.index, reported, benchmark)
        unread = own.assign(unread=(own["n_unparsed"] + own["n_truncated"]) / own["n"])
        tables.append(
            pd.DataFrame(
                {
                    "benchmark": benchmark,
                    "model": list(models),
                    "score": scores.loc[place].to_numpy(),
                    "rank": ranks.loc[place].to_numpy(),
                    "low": scores.min().to_numpy(),
                    "high": scores.max().to_numpy(),
                    "rank_low": ranks.min().to_numpy(),
                    "rank_high": ranks.max().to_numpy(),
                    "unread": score_matrix(unread, "unread").loc[place, list(models)].to_numpy(),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def _place(index: pd.MultiIndex, reported: Mapping[str, str | int], benchmark: str) -> tuple:
    """The reported configuration, or that of log-prob scoring with the same prompt."""
    wanted = tuple(reported[axis] for axis in index.names)
    scored = dict(reported) | {"decoding": "none", "scoring": "logprob"}
    for place in (wanted, tuple(scored[axis] for axis in index.names)):
        if place in index:
            return place
    raise SchemaError(f"{benchmark} has no cells at {', '.join(map(str, wanted))}.")


def complete(frame: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Responses of the given models in the configurations that all of them have, on each benchmark."""
    own = frame[frame["model"].isin(models)]
    key = ["benchmark", *CONFIGURATION]
    present = own.groupby(key)["model"].transform("nunique")
    return own[present == len(set(models))].reset_index(drop=True)


def common_items(frame: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Responses of the given models to the items that each of their cells was asked.

    Cells that are compared must not differ in their items: what only some were asked is left out.
    """
    own = frame[frame["model"].isin(models)]
    cells = own.groupby("benchmark")["cell_id"].transform("nunique")
    asked = own.groupby(["benchmark", "item_id"])["cell_id"].transform("nunique")
    return own[asked == cells].reset_index(drop=True)


def majority(scores: pd.DataFrame, a: str, b: str, tie: float = TIE) -> pd.Series:
    """Whether each configuration orders a pair against the majority; NA where tied or missing.

    With as many configurations on either side, those that have `b` ahead count as against.
    """
    lead = scores[a] - scores[b]
    sign = np.sign(lead.where(lead.abs() > tie, 0.0))
    usual = 1.0 if (sign > 0).sum() >= (sign < 0).sum() else -1.0
    return (sign != usual).astype("boolean").where(sign.notna() & (sign != 0))


def _rates(cells: pd.DataFrame, models: Sequence[str], value: str, margin: float) -> pd.DataFrame:
    scores = score_matrix(cells, value)
    return flip_rates(scores[[m for m in models if m in scores]], tie=max(margin, TIE))
