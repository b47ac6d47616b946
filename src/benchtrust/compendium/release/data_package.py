"""The tables of a release as a data package: path, hash, number of rows, and the type of each column."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchtrust.compendium import fingerprints
from benchtrust.compendium.ledger import Ledger
from benchtrust.errors import DataFileError

FILE = "datapackage.json"
MANIFEST = "manifest.json"
MEDIA = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}


def write(folder: Path, homes: dict[str, Ledger], citation: dict[str, Any], day: str) -> None:
    """Describe every table below `folder` in ``datapackage.json``.

    Raises
    ------
    DataFileError
        Recorded responses that are not as many as their manifest says.
    """
    for manifest in folder.glob(f"data/recorded/*/{MANIFEST}"):
        _check_answers(manifest)
    labels = {f"results/{n}/{a.data}": a.labels for n, home in homes.items() for a in home.artefacts.values()}
    titles = {f"results/{n}/{a.data}": a.name for n, home in homes.items() for a in home.artefacts.values()}
    files = sorted(path for path in folder.rglob("*") if path.suffix in MEDIA)
    resources = []
    for path in files:
        name = path.relative_to(folder).as_posix()
        resources.append(_resource(path, name, labels.get(name, {}), titles.get(name, "")))
    package = {
        "name": "benchtrust",
        "title": citation["title"],
        "version": citation["version"],
        "created": f"{day}T00:00:00Z",
        "licenses": [{"name": citation["license"], "path": "LICENSE"}],
        "profile": "data-package",
        "resources": resources,
    }
    text = json.dumps(package, indent=1, ensure_ascii=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def _resource(path: Path, name: str, labels: dict[str, str], title: str) -> dict[str, Any]:
    """One table: where it lies, what it holds; bytes of CSV alone, since frictionless counts no others."""
    fields, rows = _csv(path, labels) if path.suffix == ".csv" else _parquet(path)
    return {
        "name": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
        "path": name,
        **({"title": title} if title else {}),
        "format": path.suffix[1:],
        "mediatype": MEDIA[path.suffix],
        "encoding": "utf-8",
        **({"bytes": path.stat().st_size} if path.suffix == ".csv" else {}),
        "hash": f"sha256:{fingerprints.of_file(path)}",
        "rows": rows,
        "fields": len(fields),
        "schema": {"fields": fields, "missingValues": [""]},
    }


def _csv(path: Path, labels: dict[str, str]) -> tuple[list[dict[str, str]], int]:
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)
    fields = [
        {"name": column, "type": _type(frame[column])}
        | ({"title": labels[column]} if column in labels else {})
        for column in frame
    ]
    return fields, len(frame)


def _type(column: pd.Series) -> str:
    """Frictionless type of a column; text where numbers are not all finite."""
    if pd.api.types.is_bool_dtype(column):
        return "boolean"
    if pd.api.types.is_integer_dtype(column):
        return "integer"
    if pd.api.types.is_float_dtype(column):
        return "string" if np.isinf(column).any() else "number"
    return "string"


def _parquet(path: Path) -> tuple[list[dict[str, str]], int]:
    table = pq.read_table(path)
    fields = [
        {"name": name, "type": _arrow_type(column), "description": str(column.type)}
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return fields, table.num_rows


def _arrow_type(column: pa.ChunkedArray) -> str:
    """Type of a column as frictionless reads it: lists as they are, whole numbers with gaps as floats."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return "any"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) and not column.null_count:
        return "integer"
    return "number" if pa.types.is_integer(kind) or pa.types.is_floating(kind) else "string"


def _check_answers(manifest: Path) -> None:
    """Compare the rows of recorded responses with what their manifest says of each model."""
    facts = json.loads(manifest.read_text(encoding="utf-8"))
    for model, said in facts["models"].items():
        files = [name for name in facts["files"] if name.startswith(f"{model}/")]
        found = sum(pq.ParquetFile(manifest.parent / name).metadata.num_rows for name in files)
        if found != said["answers"]:
            raise DataFileError(f"{manifest.parent}/{model} holds {found} answers, not {said['answers']}.")
