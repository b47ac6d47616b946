"""A folder of recorded files and its manifest: what one collecting wrote, and nothing of an earlier one."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from benchtrust.errors import DataFileError
from benchtrust.grid import record


def settle(target: Path, files: Sequence[Path], facts: dict, keep: bool = False) -> list[str]:
    """Write the manifest of these files, and remove those that an earlier manifest lists beside them.

    Parameters
    ----------
    files : written anew, below `target`.
    facts : for the manifest; ``runs`` among them.
    keep : leave the earlier files where they are, with what the earlier manifest says of them.

    Returns
    -------
    Names of the files that were removed.
    """
    earlier = manifest(target)
    names = {path.relative_to(target).as_posix(): path for path in files}
    hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in names.items()}
    others = {name: sha256 for name, sha256 in earlier.get("files", {}).items() if name not in names}
    gone = []
    if keep:
        hashes |= others
        facts = {name: _joined(earlier.get(name), value) for name, value in facts.items()}
    else:
        gone = [name for name in others if (target / name).is_file()]
        for name in gone:
            (target / name).unlink()
    text = json.dumps(
        {**facts, **record.surroundings(), "files": hashes}, indent=2, sort_keys=True, ensure_ascii=False
    )
    target.mkdir(parents=True, exist_ok=True)
    (target / record.MANIFEST).write_text(text + "\n", encoding="utf-8")
    return gone


def stated(target: Path) -> list[str]:
    """Files that the manifest lists, each checked against its hash; none without a manifest.

    Raises
    ------
    DataFileError : a file is missing or not the recorded one.
    """
    listed = manifest(target).get("files", {})
    for name, expected in listed.items():
        file = target / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != expected:
            raise DataFileError(f"{file} is not the recorded file: restore it with 'git checkout -- {file}'.")
    return sorted(listed)


def manifest(target: Path) -> dict:
    """What the manifest of a folder says; empty without one."""
    path = target / record.MANIFEST
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _joined(earlier: object, now: object) -> object:
    """Facts of both: of a name that both have, what is said now."""
    if isinstance(earlier, dict) and isinstance(now, dict):
        return earlier | now
    if isinstance(earlier, list) and isinstance(now, list):
        return sorted({*earlier, *now})
    return now
