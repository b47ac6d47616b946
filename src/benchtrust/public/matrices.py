"""Response matrices, models × items: HELM Safety's and StrongREJECT's, or a file of one's own.

Four have a file, which the authors of arXiv 2606.20626 publish beside their code. The other three that they
analyse are not to be had, and are read the same way once there is a file.
"""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust import project, responses
from benchtrust.errors import DataFileError, NoAnswersWarning, SchemaError, fold, pick
from benchtrust.items.sources import locate


@dataclass(frozen=True)
class Matrix:
    """A benchmark with published answers.

    Attributes
    ----------
    title : its name in print.
    n_items : its items.
    file : name in ``data/sources.toml``; empty if its answers are not published.
    respondents : whose answers the file holds.
    """

    title: str
    n_items: int
    file: str = ""
    respondents: str = ""


_HELM = "models of HELM Safety"
MATRICES = {
    "harmbench": Matrix("HarmBench", 400, "responses/helm_safety/helm_harmbench_irt_data.jsonl", _HELM),
    "anthropic_red_team": Matrix(
        "Anthropic Red Team", 1000, "responses/helm_safety/helm_antredteam_irt_data.jsonl", _HELM
    ),
    "simple_safety_tests": Matrix(
        "SimpleSafetyTests", 100, "responses/helm_safety/helm_simplesafety_irt_data.jsonl", _HELM
    ),
    "strong_reject": Matrix(
        "StrongREJECT", 330, "responses/helm_safety/strongREJECT_irt_data.jsonl", "models, each on a part"
    ),
    "air_bench_2024": Matrix("AIR-Bench 2024", 5694),
    "safetybench": Matrix("SafetyBench", 11435),
    "wmdp_bio": Matrix("WMDP-Bio", 1273),
}
"""Name → benchmark; 1 is the safe answer."""
FAMILIES = "families.csv"


def load(source: str, threshold: float | None = None) -> pd.DataFrame:
    """Read a response matrix as responses.

    Parameters
    ----------
    source : a name of `MATRICES`, or the path of a file: JSON lines of ``subject_id`` and ``responses`` (item
        → score, or null where it was not asked); a CSV or Parquet table with the models in its first column,
        or as its index, and a column an item; or a response table, Parquet.
    threshold : scores from here on become 1, others 0; None leaves graded scores as they are, which item
        response models refuse.

    Returns
    -------
    The table of `responses.validate`, a row per model and item that it was asked; a benchmark from a file
    bears the name of the file.

    Warns
    -----
    NoAnswersWarning : models or items of a table without any answer, which no row can hold.

    Raises
    ------
    DataFileError : no such file; a pinned one that is missing or altered; answers that are not published.
    SchemaError : a file of none of these shapes (with the line), items as rows or models without a name, a
        model or an item that stands twice, a score that is no number from 0 to 1.
    UnknownNameError : neither a name nor a path.
    """
    name, path = _locate(source)
    table = _read(path)
    frame = responses.validate(table if "benchmark" in table else _long(table, name))
    if threshold is not None:
        frame["score"] = (frame["score"] >= threshold).astype("float64").where(frame["score"].notna())
    return frame


def files(sources: Sequence[str]) -> list[str]:
    """The pinned files of those sources that are names."""
    return [entry.file for entry in map(_entry, sources) if entry and entry.file]


def title(source: str) -> str:
    """Name in print: the benchmark's, or that of the file."""
    entry = _entry(source)
    return entry.title if entry else Path(source).stem


@cache
def families() -> pd.Series:
    """Line of models that each published respondent belongs to, as in ``claude``.

    Returns
    -------
    Index: model, as the matrices name it; values: its family.
    """
    return pd.read_csv(project.data(FAMILIES), index_col="model")["family"]


def _entry(source: str) -> Matrix | None:
    """What is known of a benchmark; None of the path of a file."""
    return None if Path(source).suffix else MATRICES[pick(source, MATRICES, "matrix (or file)")]


def _locate(source: str) -> tuple[str, Path]:
    entry = _entry(source)
    if entry is None:
        places = [Path(source).absolute(), project.root() / source]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            where = " or ".join(dict.fromkeys(map(str, places)))
            raise DataFileError(f"No file {where}. Give the path of one, or a name: {', '.join(MATRICES)}.")
        return path.stem, path
    if not entry.file:
        raise DataFileError(
            f"The answers to {entry.title} ({entry.n_items} items) are not published. Give the path of a "
            "file: JSON lines of subject_id and responses, or a CSV or Parquet table, models × items."
        )
    return next(name for name in MATRICES if MATRICES[name] is entry), locate(entry.file)


def _read(path: Path) -> pd.DataFrame:
    """A response table, or scores with the models as index and the items as columns."""
    readers = {".jsonl": _json_lines, ".csv": _csv, ".parquet": pd.read_parquet}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise SchemaError(f"{path.name} ends in {path.suffix!r}; read are {', '.join(readers)}.")
    try:
        table = readers[suffix](path)
    except SchemaError:
        raise
    except (ValueError, OSError) as error:
        raise SchemaError(f"{path.name} cannot be read: {error}") from None
    if {"benchmark", "item_id"} <= set(table):
        return table
    if isinstance(table.index, pd.RangeIndex) and len(table.columns):
        table = table.set_index(table.columns[0])
    if not table.size:
        raise SchemaError(f"{path.name} holds {table.shape[0]} models and {table.shape[1]} items.")
    _check_models(table.index, path.name)
    for what, labels in (("model", table.index), ("item", table.columns)):
        if labels.has_duplicates:
            raise SchemaError(f"{path.name}: {what} {labels[labels.duplicated()][0]!r} stands there twice.")
    return table


def _check_models(labels: pd.Index, file: str) -> None:
    """The rows are models, and bear their names."""
    if fold(labels.name or "").startswith(("item", "question")):
        raise SchemaError(f"{file}: rows named by {labels.name!r} are items. Transpose it: a row a model.")
    if pd.api.types.is_numeric_dtype(labels) and ((labels >= 0) & (labels <= 1)).all():
        raise SchemaError(
            f"{file}: the first column must name the models; it holds {labels[0]!r} and the like, as scores."
        )


def _csv(path: Path) -> pd.DataFrame:
    header = pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0]
    twice = header[header.duplicated()]
    if len(twice):
        raise SchemaError(f"{path.name}: item {twice.iloc[0]!r} stands there twice.")
    return pd.read_csv(path)


def _json_lines(path: Path) -> pd.DataFrame:
    rows = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        subject, answers = _subject(line, f"{path.name}, line {number}")
        if subject in rows:
            raise SchemaError(f"{path.name}, line {number}: model {subject!r} stands there twice.")
        rows[subject] = answers
    return pd.DataFrame.from_dict(rows, orient="index")


def _subject(line: str, where: str) -> tuple[str, dict[str, object]]:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SchemaError(f"{where}: {twice!r} stands there twice.")
        return dict(pairs)

    try:
        entry = json.loads(line, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise SchemaError(f"{where} is not JSON: {error}.") from None
    answers = entry.get("responses") if isinstance(entry, dict) else None
    if not isinstance(answers, dict) or "subject_id" not in entry:
        raise SchemaError(f"{where} is not an object of 'subject_id' and 'responses' (item → score).")
    return str(entry["subject_id"]), answers


def _long(table: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """A row per model and item with an answer, in the columns of the schema."""
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
            warnings.warn(message, NoAnswersWarning, stacklevel=3)
    who, what = np.nonzero(known)
    models = table.index.astype(str)
    return pd.DataFrame(
        {
            "benchmark": benchmark,
            "item_id": table.columns.astype(str)[what],
            "model": models[who],
            "template": "published",
            "shots": 0,
            "decoding": "published",
            "scoring": "published",
            "sample": 0,
            "outcome": "scored",
            "score": scores[who, what],
            "cell_id": [f"{benchmark} by {model}" for model in models[who]],
        }
    ).reindex(columns=list(responses.COLUMNS))
