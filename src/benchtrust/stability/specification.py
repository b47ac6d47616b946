"""One pair of models over all configurations: its gaps, their range, and what turns the order."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.responses import score_matrix
from benchtrust.stability.flips import TIE, score_table
from benchtrust.stability.item_scores import ItemScores, item_scores
from benchtrust.stability.resampling import interval, resampled_cells
from benchtrust.stability.reversals import compare_cells, pair_gaps


@dataclass(frozen=True)
class IdentifiedSet:
    """What can be said of a pair's gap by someone who does not know the configuration.

    Attributes
    ----------
    low, high : smallest and largest gap (score of a minus score of b) over the n configurations.
    half_width : half the width of a band that holds all n true gaps at once, at the level asked for; so each
        true end point lies within it of the observed one. Ends taken from noise lie too far out on average.
    share_ahead, share_tied, share_behind : shares of the configurations; they sum to 1.
    n : number of configurations.
    """

    low: float
    high: float
    half_width: float
    share_ahead: float
    share_tied: float
    share_behind: float
    n: int

    @property
    def band(self) -> tuple[float, float]:
        """The set widened by the half width: holds the gap of every configuration."""
        return self.low - self.half_width, self.high + self.half_width


@dataclass(frozen=True)
class SmallestChange:
    """The fewest axes on which two configurations that reverse a pair differ.

    Attributes
    ----------
    n_axes : that number, at least 1.
    pairs : a row per pair of configurations that reverses by so few: the levels where a is ahead
        (``ahead_…``) and where it is behind (``behind_…``), `changed` ("template + shots"), lead_a, lead_b.
    by_axis : a row per axis: pairs of configurations that differ there alone, `n_pairs`, and those of them
        that reverse, `n_reversing`.
    """

    n_axes: int
    pairs: pd.DataFrame
    by_axis: pd.DataFrame


def identified_set(
    items: ItemScores | np.ndarray | pd.DataFrame,
    a: Hashable,
    b: Hashable,
    n_draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
    tie: float = TIE,
) -> IdentifiedSet:
    """Range of the gap of two models over the configurations, with a simultaneous item-bootstrap band.

    The half width is the `level` quantile of the largest distance, over the configurations, between a
    resampled gap and the observed one.

    Parameters
    ----------
    items : as in `item_scores`; the same items in every configuration.
    a, b : the models.
    n_draws, rng : draws of items with replacement within parts, and their source.
    level : confidence of the band, between 0 and 1.
    tie : largest gap that counts as a tie.

    Raises
    ------
    SchemaError, UnknownNameError : as `item_scores` and `resampled_cells`, or no such model.

    Source: the book, "Rank flips: the theory".
    """
    table = item_scores(items).pair(a, b)
    gaps = pair_gaps(table.cells.to_numpy())[0]
    gaps = np.where(np.abs(gaps) <= TIE, 0.0, gaps)
    drawn = _resampled_gaps(table, n_draws, rng)
    return IdentifiedSet(
        low=float(gaps.min()),
        high=float(gaps.max()),
        half_width=float(np.quantile(np.abs(drawn - gaps).max(axis=1), level)),
        share_ahead=float((gaps > tie).mean()),
        share_tied=float((np.abs(gaps) <= tie).mean()),
        share_behind=float((gaps < -tie).mean()),
        n=len(gaps),
    )


def specification_curve(
    items: ItemScores | np.ndarray | pd.DataFrame,
    a: Hashable,
    b: Hashable,
    n_draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """Gap of two models in each configuration, sorted, with what its items can say of it.

    Parameters
    ----------
    items, a, b, n_draws, rng : as in `identified_set`.
    level : confidence of each interval by itself, between 0 and 1.

    Returns
    -------
    A row per configuration, the smallest gap first: `rank` from 1, the levels of the configuration, `gap`
    (score of a minus that of b), `low` and `high` (percentiles of the item bootstrap, of no width where the
    answers never differ), n01, n10, p, p_holm and test of `compare_cells`, Holm over this pair's rows.

    Raises
    ------
    SchemaError, UnknownNameError : as `identified_set`.

    Source: Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4:1208-1214, for the curve.
    """
    table = item_scores(items).pair(a, b)
    low, high = interval(_resampled_gaps(table, n_draws, rng), level)
    curve = compare_cells(table, n_draws, rng).assign(low=low, high=high)
    curve = curve.sort_values("gap", kind="stable", ignore_index=True)
    curve.insert(0, "rank", curve.index + 1)
    axes = list(table.configurations.names)
    return curve[["rank", *axes, "gap", "low", "high", "n01", "n10", "p", "p_holm", "test"]]


def smallest_change(
    scores: pd.DataFrame, a: Hashable, b: Hashable, tie: float = TIE
) -> SmallestChange | None:
    """Find the smallest changes of configuration that reverse two models, or None if no change does.

    Two configurations are as far apart as the number of axes on which they differ. Where the axes hold both
    scoring and decoding, a change of scoring counts once: log-prob scoring has no decoding to keep.

    Parameters
    ----------
    scores : configurations × models, the axes as levels of the index; NaN = missing cell, compared with none.
    a, b : the models.
    tie : largest difference that counts as a tie.

    Raises
    ------
    SchemaError : as `score_table`, or axes without names.
    UnknownNameError : no such model.

    Source: the book, "Rank flips: the theory".
    """
    lead = _lead(score_table(scores), a, b).dropna()
    if None in lead.index.names:
        raise SchemaError("The axes of the configurations need names: name the levels of the index.")
    levels = lead.index.to_frame(index=False)
    ahead, behind = np.flatnonzero(lead > tie), np.flatnonzero(lead < -tie)
    if not (len(ahead) and len(behind)):
        return None
    differ = _axes_changed(levels)
    n_changed = differ[:, ahead[:, None], behind].sum(axis=0)
    i, j = np.nonzero(n_changed == n_changed.min())
    i, j = ahead[i], behind[j]
    names = np.array(levels.columns)
    pairs = pd.concat(
        [
            levels.iloc[k].reset_index(drop=True).add_prefix(side)
            for k, side in ((i, "ahead_"), (j, "behind_"))
        ],
        axis=1,
    ).assign(
        changed=[" + ".join(names[differ[:, x, y]]) for x, y in zip(i, j, strict=True)],
        lead_a=lead.to_numpy()[i],
        lead_b=-lead.to_numpy()[j],
    )
    sign = np.where(lead.abs() <= tie, 0, np.sign(lead))
    return SmallestChange(int(n_changed.min()), pairs, _by_axis(names, differ, sign))


def unparsed_leaders(cells: pd.DataFrame, a: Hashable, b: Hashable, tie: float = TIE) -> pd.DataFrame:
    """Who leads each configuration of one benchmark, by how unparsed answers count.

    Parameters
    ----------
    cells : output of `responses.cell_means`, one benchmark.
    a, b : the models.
    tie : largest difference that counts as a tie.

    Returns
    -------
    Index: template, shots, decoding, scoring, of the configurations that both have.

    - as_wrong, left_out : the leader with unparsed answers counted as 0 and left out: a, b or "tie"; None
      where a score is missing.
    - lead_low, lead_high : range of a's lead as unparsed answers run from 0 to 1.
    - bounds : the leader whatever they were, or "either".
    - changes : whether as_wrong and left_out differ, a tie told apart; NA where one is missing.
    - turns : whether one names a and the other b.

    Raises
    ------
    SchemaError : as `score_matrix`.
    UnknownNameError : no such model.
    """
    scores = {
        name: score_matrix(cells, name) for name in ("score", "score_parsed", "score_low", "score_high")
    }
    lead = {name: _lead(table, a, b) for name, table in scores.items()}
    frame = pd.DataFrame(
        {
            "as_wrong": _leader(lead["score"], a, b, tie),
            "left_out": _leader(lead["score_parsed"], a, b, tie),
            "lead_low": scores["score_low"][a] - scores["score_high"][b],
            "lead_high": scores["score_high"][a] - scores["score_low"][b],
        }
    )[lead["score"].notna()]
    low, high = (_leader(frame[f"lead_{end}"], a, b, tie) for end in ("low", "high"))
    both = frame[["as_wrong", "left_out"]].notna().all(axis=1)
    changes = (frame["as_wrong"] != frame["left_out"]).astype("boolean").where(both)
    tied = frame[["as_wrong", "left_out"]].eq("tie").any(axis=1)
    return frame.assign(bounds=low.where(low == high, "either"), changes=changes, turns=changes & ~tied)


def _resampled_gaps(table: ItemScores, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Gaps of the table's two models, (n_draws, C)."""
    return np.concatenate([pair_gaps(cells)[:, 0] for cells in resampled_cells(table, n_draws, rng)])


def _lead(scores: pd.DataFrame, a: Hashable, b: Hashable) -> pd.Series:
    for model in (a, b):
        if model not in scores:
            raise UnknownNameError(f"Unknown model {model!r}. Models: {', '.join(map(str, scores))}.")
    return scores[a] - scores[b]


def _leader(lead: pd.Series, a: Hashable, b: Hashable, tie: float) -> pd.Series:
    names = np.select([lead > tie, lead < -tie, lead.notna()], [a, b, "tie"], default=None)
    return pd.Series(names, index=lead.index, dtype="object")


def _axes_changed(levels: pd.DataFrame) -> np.ndarray:
    """Whether two configurations differ on an axis: (axes, C, C)."""
    codes = np.stack([pd.factorize(levels[axis])[0] for axis in levels])
    differ = codes[:, :, None] != codes[:, None, :]
    axes = list(levels)
    if {"scoring", "decoding"} <= set(axes):
        differ[axes.index("decoding")] &= ~differ[axes.index("scoring")]
    return differ


def _by_axis(names: np.ndarray, differ: np.ndarray, sign: np.ndarray) -> pd.DataFrame:
    """Pairs of configurations that differ on one axis alone, and those of them that reverse the sign."""
    alone = differ & (differ.sum(axis=0) == 1) & np.triu(np.ones(differ.shape[1:], dtype=bool))
    reverses = np.outer(sign, sign) < 0
    return pd.DataFrame(
        {
            "axis": names,
            "n_pairs": alone.sum(axis=(1, 2)),
            "n_reversing": (alone & reverses).sum(axis=(1, 2)),
        }
    )
