"""What adaptive tests and subsets want: some answers, and parameters of items that they hold."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.irt.matrix import checked, generator, parameters_of, shown
from benchtrust.irt.ranks import LEAST


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


def check_held_out(n_held_out: int, n: int) -> None:
    """Some respondents are held out, and enough stay.

    Raises
    ------
    SchemaError : none held out, or fewer than 3 left.
    """
    if not 1 <= n_held_out <= n - LEAST:
        raise SchemaError(
            f"n_held_out = {n_held_out} of {n} models: hold fewer out, at least one; {LEAST} or more must "
            "be left to calibrate and choose items on."
        )


def hold_out(
    respondents: pd.Index, n_held_out: int, rng: np.random.Generator, surely: Sequence[Hashable] = ()
) -> list[Hashable]:
    """Draw respondents to be held out.

    Parameters
    ----------
    respondents : labels, each once.
    n_held_out : how many, those of `surely` included, which come first.
    rng : source of the draw.

    Raises
    ------
    SchemaError : as `check_held_out`; no rng.
    """
    order = generator(rng).permutation(respondents)
    check_held_out(n_held_out, len(order))
    first = np.isin(order, list(surely))
    return [*order[first], *order[~first]][:n_held_out]
