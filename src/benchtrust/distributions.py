"""The side table of answer distributions: for each item what the model would say, over its vocabulary.

One row a (model, cell, item): the 256 most probable tokens of the next-token distribution averaged over the
answer's positions, and the mass of all others. Written beside the responses at one named configuration.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust.errors import DataFileError, SchemaError
from benchtrust.files import replacing

CONFIGURATION = ("minimal", 0, "none", "logprob")
"""Template, shots, decoding and scoring of the cells that have a row here."""

COLUMNS = ["benchmark", "item_id", "model", "cell_id", "positions", "token_ids", "probabilities", "rest"]
TOLERANCE = 1e-4


def read(path: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """Read and check side tables: a file, a folder (every ``*.parquet`` below it), or a list of files.

    Returns
    -------
    `COLUMNS`: `token_ids` and `probabilities` are arrays of at most 256, best first; `rest` is the mass of
    all other tokens, so that the truncation error of any expectation is at most `rest` times its range.
    """
    if isinstance(path, str | Path):
        path = sorted(Path(path).rglob("*.parquet")) if Path(path).is_dir() else [path]
    files = [Path(file) for file in path]
    if not files:
        raise DataFileError("No file of answer distributions was found there.")
    return validate(pd.concat([pd.read_parquet(file) for file in files], ignore_index=True))


def in_configuration(frame: pd.DataFrame) -> pd.DataFrame:
    """Responses in the one configuration that distributions are recorded in.

    Of a table without it, those in its first configuration that is scored by log-probabilities.
    """
    axes = ["template", "shots", "decoding", "scoring"]
    scored = frame[frame["scoring"] == "logprob"]
    found = list(scored[axes].drop_duplicates().itertuples(index=False, name=None))
    place = tuple(CONFIGURATION) if tuple(CONFIGURATION) in found else next(iter(found), None)
    return frame[[row == place for row in frame[axes].itertuples(index=False, name=None)]]


def write(frame: pd.DataFrame, path: Path) -> None:
    """Check a side table and write it to one file, atomically; equal tables give equal bytes."""
    ordered = validate(frame).sort_values(["model", "benchmark", "item_id"], kind="stable")
    with replacing(path) as scratch:
        ordered.to_parquet(scratch, index=False, compression="zstd", compression_level=9)


def validate(frame: pd.DataFrame) -> pd.DataFrame:
    """Check columns, one row a (cell, item), falling probabilities that sum to one with the rest.

    Raises
    ------
    SchemaError : what is wrong, with the first item.
    """
    if lacking := [column for column in COLUMNS if column not in frame]:
        raise SchemaError(f"Answer distributions lack the columns {', '.join(lacking)}.")
    frame = frame[COLUMNS].reset_index(drop=True)
    frame["token_ids"] = [np.asarray(ids, dtype=np.int32) for ids in frame["token_ids"]]
    frame["probabilities"] = [np.asarray(p, dtype=np.float32) for p in frame["probabilities"]]
    rules = {
        "stands there twice": frame.duplicated(["cell_id", "item_id"]),
        "has not as many probabilities as tokens": frame["token_ids"].map(len)
        != frame["probabilities"].map(len),
        "has tokens that repeat": frame["token_ids"].map(lambda ids: len(set(ids.tolist())) < len(ids)),
        "has probabilities that rise": frame["probabilities"].map(lambda p: bool((np.diff(p) > 0).any())),
        "does not sum to one": (frame["probabilities"].map(np.sum) + frame["rest"] - 1).abs() > TOLERANCE,
    }
    for what, broken in rules.items():
        if broken.any():
            raise SchemaError(f"The answer distribution of {frame['item_id'][broken.idxmax()]} {what}.")
    return frame
