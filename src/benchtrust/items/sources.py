"""Upstream files: from `BENCHTRUST_DATA`, else from the cache, else downloaded; always checked by sha256."""

import hashlib
import http.client
import tomllib
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchtrust import project
from benchtrust.errors import DataFileError, pick
from benchtrust.files import replacing


@dataclass(frozen=True)
class Source:
    """One pinned upstream file.

    `url` is empty where it can only be provided by hand; `upstream` then says what it is derived from.
    """

    file: str
    url: str
    sha256: str
    licence: str
    note: str = ""
    upstream: str = ""


@cache
def sources() -> dict[str, Source]:
    """All pinned files by their name under a data folder, from `data/sources.toml`.

    Raises
    ------
    DataFileError : the repository has no such file.
    """
    text = project.data("sources.toml").read_text(encoding="utf-8")
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
    path = project.data_file(source.file)
    if not path.is_file():
        return _download(source, path)
    _check(path.read_bytes(), source, str(path))
    return path


def available(file: str) -> bool:
    """Whether a file is here already, without a download."""
    return project.data_file(file).is_file()


def _check(content: bytes, source: Source, what: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise DataFileError(
            f"{what} is not the pinned {source.file}: sha256 is {found}, expected {source.sha256}. "
            + _how_to_provide(source)
        )


def _download(source: Source, target: Path) -> Path:
    if not source.url:
        raise DataFileError(
            f"{source.file} is missing and has no address to download from. " + _how_to_provide(source)
        )
    try:
        with urllib.request.urlopen(source.url, timeout=30) as answer:
            content = answer.read()
    except (http.client.HTTPException, OSError) as error:
        raise DataFileError(
            f"{source.file} is missing (sha256 {source.sha256}) and could not be downloaded ({error}). "
            + _how_to_provide(source)
        ) from error
    _check(content, source, f"What {source.url} holds")
    with replacing(target) as scratch:
        scratch.write_bytes(content)
    return target


def _how_to_provide(source: Source) -> str:
    address = f"download {source.url} and put it" if source.url else "put it"
    origin = f"It is derived from {source.upstream}. " if source.upstream else ""
    return origin + (
        f"Either set BENCHTRUST_DATA to a folder that holds {source.file}, or {address} at "
        f"{project.cache() / 'data' / source.file}."
    )
