"""Free-form answers against log-probabilities: the same prompt, scored in two ways."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, pick
from benchtrust.responses import cell_means
from benchtrust.stability.item_scores import item_scores
from benchtrust.stability.resampling import interval, observed_and_resampled
from benchtrust.stability.summary import common_items

NORMS = {
    "sum": ("option_logprobs", None),
    "token": ("option_logprobs", "option_tokens"),
    "byte": ("option_logprobs", "option_bytes"),
    "letter": ("letter_logprobs", None),
}
"""Norm -> the column of log-probabilities, and of the lengths that divide them."""

NEAR = 1e-4
"""Two options this close are a tie: batching moves log-probabilities by about half as much."""

_PROMPT = ["benchmark", "model", "template", "shots"]
_ASKED = [*_PROMPT, "item_id"]
_ITEM = ["benchmark", "item_id"]


@dataclass(frozen=True)
class Rescored:
    """Responses whose log-prob choices were made by another norm.

    Attributes
    ----------
    frame : the responses; a row whose new choice cannot be scored is left out.
    n_changed : rows whose choice changed.
    n_tied : rows whose two best options differ by less than 1e-4; the first of them is taken.
    n_unknown : rows left out, because their item's key is not known and nobody else chose that option.
    """

    frame: pd.DataFrame
    n_changed: int
    n_tied: int
    n_unknown: int


def option_scores(frame: pd.DataFrame) -> pd.Series:
    """Item score of each option, as far as the scored answers of all rows tell.

    An option that was chosen has its score. Once one scored 1, all others of that item score 0; once all but
    one scored 0, that one scores 1.

    Parameters
    ----------
    frame : responses; items without any log-prob row are left out, partial scores are passed over.

    Returns
    -------
    Index: benchmark, item_id, option; NaN = not known.

    Raises
    ------
    SchemaError : an item whose answers were scored by two keys.
    """
    options = frame.loc[frame["option_logprobs"].notna(), [*_ITEM, "option_logprobs"]].drop_duplicates(_ITEM)
    options = options.assign(option=options["option_logprobs"].map(lambda found: range(len(found))))
    index = pd.MultiIndex.from_frame(options.explode("option")[[*_ITEM, "option"]].astype({"option": int}))
    whole = frame["choice"].notna() & frame["score"].isin([0, 1])
    seen = frame.loc[whole, [*_ITEM, "choice", "score"]].drop_duplicates()
    twice = seen.duplicated([*_ITEM, "choice"], keep=False)
    twice |= seen["score"].eq(1).groupby([seen[name] for name in _ITEM]).transform("sum") > 1
    if twice.any():
        raise SchemaError(f"Item {seen.loc[twice, 'item_id'].iloc[0]!r} has answers scored by two keys.")
    known = seen.astype({"choice": int}).set_index([*_ITEM, "choice"])["score"].reindex(index)
    keyed = known.eq(1).groupby(level=_ITEM).transform("any")
    n_open = known.isna().groupby(level=_ITEM).transform("sum")
    return known.mask(known.isna() & keyed, 0.0).mask(known.isna() & ~keyed & (n_open == 1), 1.0)


def rescore(frame: pd.DataFrame, norm: str) -> Rescored:
    """Choose again among the options of log-prob rows, by another norm.

    The key is not in the table: what an option scores is read from all rows, so give those of all models.

    Parameters
    ----------
    frame : responses.
    norm : ``sum`` keeps the recorded choices, ties and all; ``token`` and ``byte`` divide the summed
        log-probability of an option by its length in tokens or in bytes (UTF-8); ``letter`` takes that of the
        option's letter.

    Raises
    ------
    SchemaError : a log-prob row without the numbers that the norm needs; or as `option_scores`.
    UnknownNameError : no such norm.
    """
    source, length = NORMS[pick(norm, NORMS, "norm")]
    rows = frame[(frame["scoring"] == "logprob") & (frame["outcome"] == "scored")]
    if source == "option_logprobs" and length is None:
        return Rescored(frame, 0, 0, 0)
    for column in filter(None, (source, length)):
        if rows[column].isna().any():
            names = ", ".join(sorted(rows.loc[rows[column].isna(), "benchmark"].unique()))
            raise SchemaError(f"Norm {norm!r} needs {column!r}, which some rows of {names} lack: drop those.")
    lengths = rows[length] if length else [1.0] * len(rows)
    values = [np.divide(x, y) for x, y in zip(rows[source], lengths, strict=True)]
    choice = pd.Series([int(np.argmax(value)) for value in values], index=rows.index, dtype="Int64")
    places = pd.MultiIndex.from_frame(rows[_ITEM].assign(option=choice.astype(int)))
    score = pd.Series(option_scores(frame).reindex(places).to_numpy(), index=rows.index)
    unknown = score.index[score.isna()]
    kept = frame.copy()
    kept.loc[rows.index, "choice"], kept.loc[rows.index, "score"] = choice, score
    return Rescored(
        frame=kept.drop(index=unknown),
        n_changed=int((choice != rows["choice"]).drop(unknown).sum()),
        n_tied=sum(int((value.max() - value < NEAR).sum() > 1) for value in values),
        n_unknown=len(unknown),
    )


def compare_paths(frame: pd.DataFrame, norm: str = "sum", decoding: str = "greedy") -> pd.DataFrame:
    """Cell scores of free-form answers beside those of log-probabilities, after the same prompt.

    Parameters
    ----------
    frame : responses, one sample an item; rows that failed are left out. Both paths are scored on the items
        that both have.
    norm : how log-probabilities choose, as in `rescore`.
    decoding : the decoding of the free-form answers.

    Returns
    -------
    A row per benchmark, model, template and shots that have both paths:

    - n_items : items compared; n_left_out : items of one path only, or of unknown score under the norm.
    - n_unparsed, n_truncated : of the items compared, free-form answers from which no choice was read.
    - free_form, logprob, difference : cell scores, such answers counted as 0, and free-form minus log-prob.
    - free_form_parsed, logprob_parsed, difference_parsed : the same over the items whose free-form answer was
      read, on both paths; NaN where none was, or none of a part. What is left of the difference is due to
      parse failures.

    Raises
    ------
    SchemaError : as `rescore` and `cell_means`; several samples; or no prompt with both paths.
    UnknownNameError : no such norm.
    """
    frame = frame[frame["outcome"] != "failed"]
    on_path = (frame["scoring"] == "logprob") | (frame["decoding"] == decoding)
    asked = frame[on_path].drop_duplicates(_ASKED).groupby(_PROMPT).size()
    rows = rescore(frame, norm).frame
    free = rows[rows["decoding"] == decoding]
    if (rows["sample"] > 0).any():
        raise SchemaError("Several samples of an item: keep one, so that the two paths pair up.")
    logprob = rows[rows["scoring"] == "logprob"].merge(
        free[[*_ASKED, "outcome"]], on=_ASKED, suffixes=("", "_free")
    )
    if logprob.empty:
        raise SchemaError(f"No item has both a {decoding} and a log-prob answer to the same prompt.")
    free = cell_means(free.merge(logprob[_ASKED], on=_ASKED)).set_index(_PROMPT)
    unread = logprob["outcome_free"] != "scored"
    read = logprob.assign(
        outcome=logprob["outcome"].mask(unread, "unparsed"), score=logprob["score"].mask(unread)
    )
    table = free[["n_items", "n_unparsed", "n_truncated"]].assign(
        free_form=free["score"],
        logprob=cell_means(logprob).set_index(_PROMPT)["score"],
        free_form_parsed=free["score_parsed"],
        logprob_parsed=cell_means(read).set_index(_PROMPT)["score_parsed"],
    )
    table.insert(1, "n_left_out", asked.reindex(table.index) - table["n_items"])
    table.insert(6, "difference", table["free_form"] - table["logprob"])
    table["difference_parsed"] = table["free_form_parsed"] - table["logprob_parsed"]
    return table.reset_index()


def path_intervals(
    frame: pd.DataFrame,
    n_draws: int,
    rng: np.random.Generator,
    norm: str = "sum",
    decoding: str = "greedy",
    level: float = 0.95,
) -> pd.DataFrame:
    """Differences of `compare_paths` with intervals from items drawn again, each comparison by itself.

    Parameters
    ----------
    frame : responses, one sample an item; items that some cell lacks are left out.
    n_draws, rng : draws of items with replacement within parts, and their source.
    norm, decoding : as in `compare_paths`.
    level : confidence, between 0 and 1.

    Returns
    -------
    A row per benchmark, model, template and shots: difference (free-form minus log-prob), low, high.

    Raises
    ------
    SchemaError, UnknownNameError : as `rescore` and `resampled_cells`.
    """
    rows = rescore(frame, norm).frame
    rows = rows[(rows["scoring"] == "logprob") | (rows["decoding"] == decoding)]
    rows = common_items(rows, rows["model"].unique())
    tables = []
    for benchmark, own in rows.groupby("benchmark", sort=True):
        table = item_scores(own)
        every = observed_and_resampled(table, n_draws, rng)
        levels = table.configurations.to_frame(index=False).reset_index()
        pairs = levels[levels["scoring"] != "logprob"].merge(
            levels[levels["scoring"] == "logprob"], on=["template", "shots"], suffixes=("", "_logprob")
        )
        gaps = every[:, pairs["index"]] - every[:, pairs["index_logprob"]]
        low, high = interval(gaps[1:], level)
        for k, model in enumerate(table.models):
            found = {"difference": gaps[0, :, k], "low": low[:, k], "high": high[:, k]}
            tables.append(pairs[["template", "shots"]].assign(benchmark=benchmark, model=model, **found))
    return pd.concat(tables, ignore_index=True)[[*_PROMPT, "difference", "low", "high"]]
