"""What item response models read: answers, respondents × items, and the parameters of items."""

import warnings
from collections.abc import Hashable, Iterable

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, UnnamedAxesWarning, fold

RESPONDENT_NAMES = ("respondent", "model", "person", "subject", "examinee", "student", "participant", "user")
ITEM_NAMES = ("item", "question")
"""Words by which an axis says what it holds; ``item_id`` and ``Items`` are found too."""

_NAMES = {"index": "respondent", "columns": "item"}
_SHOWN = 3


def checked(matrix: pd.DataFrame) -> pd.DataFrame:
    """Check answers and return them as floats.

    Parameters
    ----------
    matrix : respondents × items, values 0, 1 or NaN (not asked). An axis named by one of `RESPONDENT_NAMES`
        or `ITEM_NAMES` must be the right one; the frames of `responses.response_matrix` are so named.

    Returns
    -------
    (N, J) frame of ``float64``, labels as they were; axes without a name are ``respondent`` and ``item``.

    Raises
    ------
    SchemaError : not a frame, items as rows or respondents as columns, labels that occur twice, or values
        other than 0, 1, NaN.
    """
    if not isinstance(matrix, pd.DataFrame):
        raise SchemaError(f"Answers came as {type(matrix).__name__}: give a frame of respondents × items.")
    if holds(matrix.index) == "items" or holds(matrix.columns) == "respondents":
        names = f"rows {list(matrix.index.names)}, columns {list(matrix.columns.names)}"
        raise SchemaError(f"Items × respondents ({names}): transpose the matrix, respondents are its rows.")
    for axis, labels in (("respondent", matrix.index), ("item", matrix.columns)):
        if labels.has_duplicates:
            twice = labels[labels.duplicated()].unique()
            raise SchemaError(f"Labels of more than one {axis}: {shown(twice)}. Give each its own.")
    values = _numbers(matrix)
    _check_values(values, matrix)
    return named(pd.DataFrame(values, index=matrix.index, columns=matrix.columns))


def named(matrix: pd.DataFrame) -> pd.DataFrame:
    """The matrix with axes ``respondent`` and ``item`` where they have no name."""
    unnamed = {axis: name for axis, name in _NAMES.items() if getattr(matrix, axis).names == [None]}
    return matrix.rename_axis(**unnamed)


def parameters_of(items: pd.DataFrame) -> pd.DataFrame:
    """Check 2PL parameters and return their columns a and b as floats.

    Raises
    ------
    SchemaError : not a frame, a missing column, labels that occur twice, a ≤ 0, or a value that is not
        finite.
    """
    if not isinstance(items, pd.DataFrame):
        raise SchemaError(
            f"Items came as {type(items).__name__}: give a frame, a row per item, with a and b."
        )
    missing = [name for name in ("a", "b") if name not in items]
    if missing:
        raise SchemaError(
            f"Items lack {' and '.join(missing)}, they have {list(items.columns)}: a and b are needed."
        )
    if items.index.has_duplicates:
        twice = items.index[items.index.duplicated()].unique()
        raise SchemaError(f"Items that occur more than once: {shown(twice)}. Of two rows keep one.")
    parameters = items[["a", "b"]].astype("float64")
    values = parameters.to_numpy()
    wrong = ~np.isfinite(values).all(axis=1) | (values[:, 0] <= 0)
    if wrong.any():
        bad = parameters[wrong]
        a, b = bad.iloc[0]
        raise SchemaError(
            f"Items without finite b and a > 0: {shown(bad.index)}; the first has a = {a:g}, b = {b:g}. "
            "Leave them out."
        )
    return parameters


def generator(rng: object) -> np.random.Generator:
    """The source of draws.

    Raises
    ------
    SchemaError : anything else, such as a seed.
    """
    if not isinstance(rng, np.random.Generator):
        raise SchemaError(f"rng is {rng!r}, which draws nothing: give rng=np.random.default_rng(seed).")
    return rng


def shown(labels: Iterable[Hashable]) -> str:
    """The first few labels, and how many more there are."""
    labels = list(labels)
    more = f" and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
    return ", ".join(map(repr, labels[:_SHOWN])) + more


def holds(labels: pd.Index) -> str:
    """What the name of an axis says that it holds, or ``""``."""
    words = [fold(name) for name in labels.names if name is not None]
    kinds = {"respondents": RESPONDENT_NAMES, "items": ITEM_NAMES}
    found = [kind for kind, names in kinds.items() if any(word.startswith(names) for word in words)]
    return found[0] if len(found) == 1 else ""


def warn_unnamed(matrix: pd.DataFrame) -> None:
    """Warn that a swap of rows and columns would go unseen, if no axis says what it holds."""
    if holds(matrix.index) or holds(matrix.columns):
        return
    rows, columns = matrix.shape
    warnings.warn(
        f"The {rows} rows are read as respondents and the {columns} columns as items; name the axes to have "
        "this checked: matrix.rename_axis(index='respondent', columns='item').",
        UnnamedAxesWarning,
        stacklevel=3,
    )


def _numbers(matrix: pd.DataFrame) -> np.ndarray:
    try:
        return matrix.to_numpy(dtype="float64", na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"Answers must be 0, 1 or NaN ({error}).") from None


def _check_values(values: np.ndarray, matrix: pd.DataFrame) -> None:
    wrong = ~((values == 0) | (values == 1) | np.isnan(values))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise SchemaError(
            f"{wrong.sum()} values are not 0, 1 or NaN; the first is {values[row, column]:g}, of respondent "
            f"{matrix.index[row]!r} on item {matrix.columns[column]!r}. Graded scores need an explicit "
            "threshold: (matrix >= 0.5).astype(float).where(matrix.notna())."
        )
