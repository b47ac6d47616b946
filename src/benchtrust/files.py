"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


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
