"""A chosen subset as a table that stands alone: with it, others score their models."""

import hashlib

import pandas as pd

from benchtrust.errors import SchemaError, pick
from benchtrust.irt.ability import ability
from benchtrust.irt.matrix import checked, shown
from benchtrust.irt.subsets import FISHER, METHODS, Calibrated, Selection, subset_scores

COLUMNS = (
    "item",
    "weight",
    "a",
    "b",
    "se_a",
    "se_b",
    "method",
    "n_pool",
    "n_respondents",
    "answers_sha256",
)


def export_subset(matrix: pd.DataFrame, selection: Selection, calibration: Calibrated) -> pd.DataFrame:
    """Put a subset, its parameters and where they come from into one table.

    Parameters
    ----------
    matrix : the answers that items were calibrated on and chosen from, respondents × items.
    selection : the subset.
    calibration : `items` with a, b, se_a, se_b.

    Returns
    -------
    A row per item in the order of selection, columns `COLUMNS`: item; weight of an answer in the score; a, b
    and their standard errors, NaN where the calibration set the item aside; and, the same in every row,
    method, n_pool items that were chosen from, n_respondents, and `answers_hash`. Written by
    ``to_csv(index=False)`` it loses nothing; read it by ``read_csv(path, dtype={"item": str})``.

    Raises
    ------
    SchemaError : as `checked`; an item that is not in the matrix, or has no parameters though the method
        scores by ability.
    """
    table = checked(matrix)
    absent = [item for item in selection.items if item not in table.columns]
    if absent:
        raise SchemaError(f"Items of the subset that are not in the matrix: {shown(absent)}.")
    known = calibration.items.reindex(selection.table.index)
    bare = known.index[known["a"].isna()]
    if selection.method in FISHER and len(bare):
        raise SchemaError(f"Items of the subset without parameters: {shown(bare)}. Give its calibration.")
    frame = selection.table.join(known[["a", "b", "se_a", "se_b"]]).reset_index()
    return frame.assign(
        method=selection.method,
        n_pool=selection.n_pool,
        n_respondents=len(table),
        answers_sha256=answers_hash(table),
    )[[*COLUMNS]]


def answers_hash(matrix: pd.DataFrame) -> str:
    """SHA-256 of a matrix as CSV: labels and answers, rows and columns in their order."""
    text = matrix.to_csv(float_format="%.0f", index_label="respondent", lineterminator="\n")
    return hashlib.sha256(text.encode()).hexdigest()


def score_exported(matrix: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Score models on an exported subset, from the table alone.

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong, NaN = not asked; only those of the subset are
        read.
    table : of `export_subset`.

    Returns
    -------
    A row per respondent: for Fisher methods theta and se, as `ability` by MAP; for others score, in [0, 1],
    as `subset_scores`. And n_answers, of the subset.

    Raises
    ------
    SchemaError : a column that is missing, rows that differ in their method, an item twice, weights that do
        not sum to 1; as `subset_scores`.
    UnknownNameError : no such method.
    """
    selection = _selection(table)
    if selection.method in FISHER:
        parameters = table.set_index("item")[["a", "b"]]
        answers = matrix[[item for item in parameters.index if item in matrix.columns]]
        subset_scores(matrix, selection, parameters)
        return ability(answers, parameters, "map")[["theta", "se", "n_answers"]]
    score = subset_scores(matrix, selection)
    return score.to_frame().assign(n_answers=matrix[[*selection.items]].notna().sum(axis=1))


def _selection(table: pd.DataFrame) -> Selection:
    missing = [name for name in ("item", "weight", "a", "b", "method", "n_pool") if name not in table]
    if missing:
        raise SchemaError(f"The table lacks {', '.join(missing)}: is it one of `export_subset`?")
    methods = table["method"].unique()
    if len(methods) != 1:
        raise SchemaError(f"A subset has one method; the table has {shown(methods) or 'no row'}.")
    twice = table.loc[table["item"].duplicated(), "item"]
    if len(twice):
        raise SchemaError(f"Items that stand twice in the subset: {shown(twice)}.")
    weights = table["weight"].to_numpy(dtype="float64")
    if not abs(weights.sum() - 1) < 1e-9 * len(weights) + 1e-12:
        raise SchemaError(f"The weights sum to {weights.sum():g}, not 1: rows have been lost or changed.")
    method = pick(str(methods[0]), METHODS, "method")
    return Selection(method, tuple(table["item"]), weights, int(table["n_pool"].iloc[0]))
