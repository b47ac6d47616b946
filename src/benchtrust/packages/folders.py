"""The transformers folder that a package reads, and its hash."""

import hashlib
from functools import cache
from pathlib import Path

from benchtrust.errors import DataFileError


def folder(model: str) -> Path:
    """Folder of a model: an own transformers folder by its path, or a catalogue model's by its name.

    Raises
    ------
    DataFileError : the path is no transformers folder.
    As `benchtrust.inference.folders.nf4_as_fp32`.
    """
    if not _is_path(model):
        from benchtrust.inference.folders import nf4_as_fp32

        return nf4_as_fp32(model)
    return _whole(Path(model).expanduser())


def name(model: str) -> str:
    """Name of a model's folder, before there is one; errors as of `folder` where it could not be made."""
    if _is_path(model):
        return _whole(Path(model).expanduser()).name
    from benchtrust.inference import entry

    return entry(model).name


def _is_path(model: str) -> bool:
    path = Path(model).expanduser()
    return path.is_absolute() or path.is_dir()


def _whole(path: Path) -> Path:
    if missing := [name for name in ("config.json", "tokenizer_config.json") if not (path / name).is_file()]:
        raise DataFileError(f"{path} is no transformers folder: it has no {' and no '.join(missing)}.")
    return path.resolve()


@cache
def sha256(path: Path) -> str:
    """Hash of all files of a folder with their names; folders inside it are not read."""
    whole = hashlib.sha256()
    for file in sorted(file for file in path.iterdir() if file.is_file()):
        with file.open("rb") as handle:
            whole.update(f"{file.name} {hashlib.file_digest(handle, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()
