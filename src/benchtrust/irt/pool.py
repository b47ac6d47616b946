"""What adaptive tests and subsets want: answers that are right or wrong, and parameters that fit them."""

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, fold

_NAMES = {"index": "respondent", "columns": "item"}
_SHOWN = 3


def binary_matrix(matrix: pd.DataFrame) -> pd.DataFrame:
    """Check answers, respondents × items, and return them as floats: 1 right, 0 wrong, NaN not asked.

    Axes without a name are named ``respondent`` and ``item``.

    Raises
    ------
    SchemaError : no frame, no respondent or item, labels that occur twice, rows named as items, or values
        other than 0, 1 and NaN.
    """
    if not isinstance(matrix, pd.DataFrame):
        raise SchemaError(f"Answers came as {type(matrix).__name__}: give a frame of respondents × items.")
    if not matrix.size:
        raise SchemaError(f"Answers of shape {matrix.shape}: give one respondent and one item at least.")
    if any(fold(name).startswith("item") for name in matrix.index.names if name is not None):
        raise SchemaError(
            f"Rows named {matrix.index.name!r}: transpose the matrix, respondents are its rows."
        )
    for axis, labels in (("respondent", matrix.index), ("item", matrix.columns)):
        if labels.has_duplicates:
            twice = labels[labels.duplicated()][0]
            raise SchemaError(f"Labels of more than one {axis}: {twice!r}. Give each its own.")
    names = {axis: name for axis, name in _NAMES.items() if getattr(matrix, axis).names == [None]}
    return _floats(matrix).rename_axis(**names)


def _floats(matrix: pd.DataFrame) -> pd.DataFrame:
    try:
        values = matrix.to_numpy(dtype="float64", na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"Answers must be 0, 1 or NaN ({error}).") from None
    wrong = np.argwhere(~((values == 0) | (values == 1) | np.isnan(values)))
    if len(wrong):
        row, column = wrong[0]
        raise SchemaError(
            f"{len(wrong)} answers are not 0, 1 or NaN; the first is {values[row, column]:g}, of "
            f"{matrix.index[row]!r} to {matrix.columns[column]!r}. Graded scores need an explicit threshold: "
            "(matrix >= 0.5).astype(float).where(matrix.notna())."
        )
    return pd.DataFrame(values, matrix.index, matrix.columns)


def item_parameters(items: pd.DataFrame, matrix: pd.DataFrame) -> pd.DataFrame:
    """Check 2PL parameters against the items of a matrix and return their columns a and b as floats.

    Raises
    ------
    SchemaError : a missing column, labels that occur twice, items that lie in the rows of the matrix or are
        not in it, a ≤ 0, or a value that is not finite.
    """
    missing = [name for name in ("a", "b") if name not in items]
    if missing:
        raise SchemaError(f"Items lack {' and '.join(missing)}: give a frame of items × (a, b).")
    if items.index.has_duplicates:
        raise SchemaError(f"Item {items.index[items.index.duplicated()][0]!r} has two rows: keep one.")
    strange = items.index.difference(matrix.columns, sort=False)
    if strange.isin(matrix.index).any():
        raise SchemaError(f"Item {strange[0]!r} is a row: transpose the matrix, respondents are its rows.")
    if len(strange):
        raise SchemaError(
            f"{len(strange)} of {len(items)} items with parameters are not in the matrix, such as "
            f"{', '.join(map(repr, strange[:_SHOWN]))}: keep the rows of items that it holds."
        )
    parameters = items[["a", "b"]].astype("float64")
    bad = ~np.isfinite(parameters).all(axis=1) | (parameters["a"] <= 0)
    if bad.any():
        a, b = parameters.loc[bad.idxmax()]
        raise SchemaError(f"Item {bad.idxmax()!r} has a = {a:g}, b = {b:g}: need finite values and a > 0.")
    return parameters
