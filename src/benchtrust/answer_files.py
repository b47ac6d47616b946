"""Answers as people keep them in files: a response table, or a matrix, models × items.

Read are Parquet, CSV and JSON lines. A *response table* has a row per answer, in the columns of
`benchtrust.responses`. A *matrix* has the models in its first column, or as its index, and a column per item;
as JSON lines a line per model: ``subject_id`` and ``responses`` (item → score, or null where it was not
asked). A matrix holds one benchmark, which bears the name of its file, in one configuration.
"""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust.errors import DataFileError, NoAnswersWarning, SchemaError, fold

PUBLISHED = "published"
"""Level of every axis of the configuration in the answers of a matrix."""
_OF_A_TABLE = 3


def read(path: Path, columns: Mapping[str, str], benchmark: str = "") -> pd.DataFrame:
    """Read a file of answers, a row per answer.

    Parameters
    ----------
    path : a file ending in .parquet, .csv or .jsonl.
    columns : column of a response table → kind; a file with three of them or more is such a table.
    benchmark : name of a matrix's benchmark; that of the file if empty.

    Returns
    -------
    A response table as it stands in the file, or the answers of a matrix in these columns: a row per model
    and item that it was asked. Values are not checked.

    Warns
    -----
    NoAnswersWarning : models or items of a matrix without any answer, which no row can hold.

    Raises
    ------
    DataFileError : a Parquet file that is damaged.
    SchemaError : a file of none of these shapes (with the line), items as rows or models without a name, a
        model or an item that stands twice, a score that is no number.
    """
    readers = {".jsonl": _json_lines, ".csv": _csv, ".parquet": _parquet}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise SchemaError(f"{path.name} ends in {path.suffix!r}; read are {', '.join(readers)}.")
    try:
        table = readers[suffix](path, columns)
    except (SchemaError, DataFileError):
        raise
    except (ValueError, OSError) as error:
        raise SchemaError(f"{path.name} cannot be read: {error}") from None
    if _is_table(table.columns, columns):
        return table
    return _long(_matrix(table, path.name), benchmark or path.stem).reindex(columns=list(columns))


def _is_table(names: object, columns: Mapping[str, str]) -> bool:
    return len(set(names) & set(columns)) >= _OF_A_TABLE


def _parquet(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as source:
            return source.read().to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(f"{path} is not readable as Parquet ({error}): restore it.") from error


def _csv(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    header = pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0]
    if _is_table(header, columns):
        kinds = {name: columns[name].rstrip("?") for name in header if name in columns}
        texts = {name: str for name, kind in kinds.items() if kind not in ("int", "float")}
        table = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
        lists = [name for name, kind in kinds.items() if kind in ("ints", "floats")]
        return table.assign(**{name: table[name].map(json.loads, na_action="ignore") for name in lists})
    twice = header[header.duplicated()]
    if len(twice):
        raise SchemaError(f"{path.name}: item {twice.iloc[0]!r} stands there twice.")
    return pd.read_csv(path)


def _json_lines(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    entries = [_entry(line, f"{path.name}, line {number}") for number, line in lines if line.strip()]
    if entries and isinstance(entries[0][1], dict) and _is_table(entries[0][1], columns):
        return pd.DataFrame([entry for _, entry in entries])
    rows = {}
    for where, entry in entries:
        answers = entry.get("responses") if isinstance(entry, dict) else None
        if not isinstance(answers, dict) or "subject_id" not in entry:
            raise SchemaError(f"{where} is not an object of 'subject_id' and 'responses' (item → score).")
        subject = str(entry["subject_id"])
        if subject in rows:
            raise SchemaError(f"{where}: model {subject!r} stands there twice.")
        rows[subject] = answers
    return pd.DataFrame.from_dict(rows, orient="index")


def _entry(line: str, where: str) -> tuple[str, object]:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SchemaError(f"{where}: {twice!r} stands there twice.")
        return dict(pairs)

    try:
        return where, json.loads(line, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise SchemaError(f"{where} is not JSON: {error}.") from None


def _matrix(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """Scores with the models as index and the items as columns, each once."""
    if isinstance(table.index, pd.RangeIndex) and len(table.columns):
        table = table.set_index(table.columns[0])
    if not table.size:
        raise SchemaError(f"{file} holds {table.shape[0]} models and {table.shape[1]} items.")
    _check_models(table.index, file)
    for what, labels in (("model", table.index), ("item", table.columns)):
        if labels.has_duplicates:
            raise SchemaError(f"{file}: {what} {labels[labels.duplicated()][0]!r} stands there twice.")
    return table


def _check_models(labels: pd.Index, file: str) -> None:
    """The rows are models, and bear their names."""
    if fold(labels.name or "").startswith(("item", "question")):
        raise SchemaError(f"{file}: rows named by {labels.name!r} are items. Transpose it: a row a model.")
    if pd.api.types.is_numeric_dtype(labels) and ((labels >= 0) & (labels <= 1)).all():
        raise SchemaError(
            f"{file}: the first column must name the models; it holds {labels[0]!r} and the like, as scores."
        )


def _long(table: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """A row per model and item with an answer."""
    try:
        scores = table.to_numpy(dtype="float64", na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"Scores of {benchmark} must be numbers from 0 to 1, or missing ({error})."
        ) from None
    known = ~np.isnan(scores)
    for kind, labels, axis in (("models", table.index, 1), ("items", table.columns, 0)):
        silent = labels[~known.any(axis=axis)]
        if len(silent):
            names = f"{', '.join(map(str, silent[:3]))}{', …' if len(silent) > 3 else ''}"
            message = f"{benchmark}: {len(silent)} {kind} without any answer, left out: {names}."
            warnings.warn(message, NoAnswersWarning, stacklevel=4)
    who, what = np.nonzero(known)
    models = table.index.astype(str)
    return pd.DataFrame(
        {
            "benchmark": benchmark,
            "item_id": table.columns.astype(str)[what],
            "model": models[who],
            "template": PUBLISHED,
            "shots": 0,
            "decoding": PUBLISHED,
            "scoring": PUBLISHED,
            "sample": 0,
            "outcome": "scored",
            "score": scores[who, what],
            "cell_id": [f"{benchmark} by {model}" for model in models[who]],
        }
    )
