"""While an emulation decides, what packages answered cannot be opened."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from benchtrust.errors import PackageError
from benchtrust.packages import environments

_closed: list[Path] = []


@contextmanager
def outputs_closed() -> Iterator[None]:
    """Raise `PackageError` wherever a file of a package's run is opened inside this context."""
    _install()
    _closed.extend(environments.base().resolve() / name for name in ("runs", "work"))
    try:
        yield
    finally:
        del _closed[-2:]


@cache
def _install() -> None:
    """Python's audit hooks see every file that is opened, and stay; this one looks only while closed."""
    sys.addaudithook(_watch)


def _watch(event: str, arguments: tuple) -> None:
    if not _closed or event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    path = Path(os.path.realpath(os.fsdecode(arguments[0])))
    if any(path.is_relative_to(folder) for folder in _closed):
        raise PackageError(
            f"{path} is what a package left: an emulation decides from prompts and logits alone."
        )
