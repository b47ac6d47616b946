"""Where things lie: the repository, its build folder, the cache outside it."""

import os
from pathlib import Path

from platformdirs import user_cache_path

from benchtrust.errors import BenchtrustError, DataFileError


def root() -> Path:
    """Repository root: `BENCHTRUST_ROOT`, else the nearest one above the working folder or this file.

    Raises
    ------
    BenchtrustError : `BENCHTRUST_ROOT` names no folder; or no repository is found.
    """
    if named := os.environ.get("BENCHTRUST_ROOT"):
        if not Path(named).is_dir():
            raise BenchtrustError(
                f"BENCHTRUST_ROOT is {named}, which is no folder: set it to a clone of the repository, or "
                "unset it and run inside one."
            )
        return Path(named).resolve()
    for start in (Path.cwd(), Path(__file__).resolve()):
        for folder in (start, *start.parents):
            if (folder / "_toc.yml").exists() and (folder / "notebooks").is_dir():
                return folder
    raise BenchtrustError(
        "This command needs the repository (its notebooks and recorded responses). "
        "Run it inside a clone, or set BENCHTRUST_ROOT to one."
    )


def data(name: str) -> Path:
    """Path of a file in the repository's `data` folder.

    Raises
    ------
    DataFileError : it is not there, as where `BENCHTRUST_ROOT` names another folder than a clone.
    """
    path = root() / "data" / name
    if path.is_file():
        return path
    raise DataFileError(
        f"{root()} has no data/{name}, so it is no whole clone of the repository: set BENCHTRUST_ROOT to "
        "one, or unset it and run inside one."
    )


def cache() -> Path:
    """Folder for downloads and weights, outside the repository: `BENCHTRUST_CACHE` or the user's cache."""
    named = os.environ.get("BENCHTRUST_CACHE")
    folder = Path(named).expanduser() if named else user_cache_path("benchtrust", appauthor=False)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def data_folders() -> list[Path]:
    """Where upstream files are looked for, in order: the folders of `BENCHTRUST_DATA`, then the cache's."""
    named = os.environ.get("BENCHTRUST_DATA", "").split(os.pathsep)
    return [*(Path(entry).expanduser() for entry in named if entry), cache() / "data"]


def data_file(file: str) -> Path:
    """Path of an upstream file by its name under a data folder: the first that is there, else the cache's."""
    places = [folder / file for folder in data_folders()]
    return next((path for path in places if path.is_file()), places[-1])
