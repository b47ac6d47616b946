"""Upstream files: found by `BENCHTRUST_DATA`, else in the cache, else downloaded; always checked by sha256."""

import hashlib
import os
import tomllib
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchtrust import project
from benchtrust.errors import DataFileError, pick


@dataclass(frozen=True)
class Source:
    """One pinned upstream file. `url` is empty where it can only be provided by hand."""

    file: str
    url: str
    sha256: str
    licence: str
    note: str = ""


@cache
def sources() -> dict[str, Source]:
    """All pinned files by their name under a data folder, from `data/sources.toml`."""
    text = (project.root() / "data" / "sources.toml").read_text(encoding="utf-8")
    return {entry["file"]: Source(**entry) for entry in tomllib.loads(text)["source"]}


def locate(file: str) -> Path:
    """Path of a checked upstream file.

    Looks in each folder of `BENCHTRUST_DATA` (joined by ``:``), then in the cache, then downloads.

    Raises
    ------
    UnknownNameError : a file that is not pinned, with the nearest names.
    DataFileError : missing or altered: the name, expected and found hash, and both ways to provide it.
    """
    source = sources()[pick(file, sources(), "data file")]
    kept = project.cache() / "data" / source.file
    for folder in [*_folders(), kept.parents[len(Path(source.file).parts) - 1]]:
        if (path := folder / source.file).exists():
            return _checked(path, source)
    return _download(source, kept)


def available(file: str) -> bool:
    """Whether a file is here already, without a download."""
    return any((folder / file).exists() for folder in [*_folders(), project.cache() / "data"])


def _folders() -> list[Path]:
    named = os.environ.get("BENCHTRUST_DATA", "")
    return [Path(entry).expanduser() for entry in named.split(os.pathsep) if entry]


def _checked(path: Path, source: Source) -> Path:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != source.sha256:
        raise DataFileError(
            f"{path} is not the pinned {source.file}: sha256 is {found}, expected {source.sha256}. "
            + _how_to_provide(source)
        )
    return path


def _download(source: Source, target: Path) -> Path:
    if not source.url:
        raise DataFileError(
            f"{source.file} is missing and has no address to download from. " + _how_to_provide(source)
        )
    temporary = target.with_suffix(target.suffix + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with urllib.request.urlopen(source.url, timeout=30) as answer:
            temporary.write_bytes(answer.read())
    except (urllib.error.URLError, OSError) as error:
        raise DataFileError(
            f"{source.file} is missing (sha256 {source.sha256}) and could not be downloaded ({error}). "
            + _how_to_provide(source)
        ) from error
    _checked(temporary, source)
    temporary.replace(target)
    return target


def _how_to_provide(source: Source) -> str:
    address = f"download {source.url} and put it" if source.url else "put it"
    return (
        f"Either set BENCHTRUST_DATA to a folder that holds {source.file}, or {address} at "
        f"{project.cache() / 'data' / source.file}."
    )
