"""Files that appear whole or not at all, and what they hold, by hash."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from benchtrust.errors import DataFileError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A scratch file to write; it takes the place of `path` if the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        yield scratch
        with scratch.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """SHA-256 of a file, read piece by piece."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def require_recorded(path: Path, expected: str) -> None:
    """Refuse a file of the repository that is not the one its manifest lists.

    Raises
    ------
    DataFileError : missing or altered: both hashes, and how to restore it.
    """
    found = sha256(path) if path.is_file() else "missing"
    if found != expected:
        raise DataFileError(
            f"{path} is not the recorded file: sha256 {found}, expected {expected}. Restore it with "
            f"'git checkout -- {path}', or, if it was meant to change, record it again."
        )
