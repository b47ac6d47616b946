"""What adaptive tests and subsets want: some answers, and parameters of items that they hold."""

from collections.abc import Hashable, Mapping

import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.irt.matrix import checked, parameters_of, shown


def binary_matrix(matrix: pd.DataFrame) -> pd.DataFrame:
    """Answers as `checked` returns them, at least one.

    Raises
    ------
    SchemaError : as `checked`; no respondent or no item.
    """
    table = checked(matrix)
    if not table.size:
        raise SchemaError(f"Answers of shape {table.shape}: give one respondent and one item at least.")
    return table


def item_parameters(items: pd.DataFrame, matrix: pd.DataFrame) -> pd.DataFrame:
    """Parameters as `parameters_of` returns them, of items that a matrix holds.

    Raises
    ------
    SchemaError : as `parameters_of`; items that lie in the rows of the matrix or are not in it.
    """
    parameters = parameters_of(items)
    strange = items.index.difference(matrix.columns, sort=False)
    rows = set(matrix.index)
    if any(item in rows for item in strange):
        raise SchemaError(f"Item {strange[0]!r} is a row: transpose the matrix, respondents are its rows.")
    if len(strange):
        raise SchemaError(
            f"{len(strange)} of {len(items)} items with parameters are not in the matrix, such as "
            f"{shown(strange)}: keep the rows of items that it holds."
        )
    return parameters


def family_of(respondents: pd.Index, families: Mapping[Hashable, Hashable]) -> pd.Series:
    """Family of each respondent.

    Raises
    ------
    SchemaError : a respondent without one.
    """
    own = pd.Series([families.get(name) for name in respondents], respondents)
    if own.isna().any():
        raise SchemaError(f"{own.index[own.isna()][0]!r} has no family: name one for each respondent.")
    return own
