"""Response matrices, models × items: HELM Safety's and StrongREJECT's, or a file of one's own.

Four have a file, which the authors of arXiv 2606.20626 publish beside their code. The other three that they
analyse are not to be had, and are read the same way once there is a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from benchtrust import answer_files, project, responses
from benchtrust.errors import DataFileError, pick
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
    source : a name of `MATRICES`, or the path of a file of `answer_files`.
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
    frame = responses.validate(answer_files.read(path, responses.COLUMNS, name))
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
