"""A folder of recorded files and its manifest: what one collecting wrote, and nothing of an earlier one."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from benchtrust.errors import DataFileError
from benchtrust.grid import record

MANIFEST = "manifest.json"


def settle(target: Path, files: Sequence[Path], facts: dict) -> list[str]:
    """Write the manifest of these files, and remove those that an earlier manifest lists beside them.

    Returns
    -------
    Names of the files that were removed.
    """
    names = {path.relative_to(target).as_posix(): path for path in files}
    gone = [name for name in _listed(target) if name not in names and (target / name).is_file()]
    for name in gone:
        (target / name).unlink()
    hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in names.items()}
    text = json.dumps(
        {**facts, **record.surroundings(), "files": hashes}, indent=2, sort_keys=True, ensure_ascii=False
    )
    target.mkdir(parents=True, exist_ok=True)
    (target / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return gone


def stated(target: Path) -> list[str]:
    """Files that the manifest lists, each checked against its hash; none without a manifest.

    Raises
    ------
    DataFileError : a file is missing or not the recorded one.
    """
    for name, expected in _listed(target).items():
        file = target / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != expected:
            raise DataFileError(f"{file} is not the recorded file: restore it with 'git checkout -- {file}'.")
    return sorted(_listed(target))


def _listed(target: Path) -> dict[str, str]:
    path = target / MANIFEST
    return json.loads(path.read_text(encoding="utf-8")).get("files", {}) if path.is_file() else {}
