"""Results on public data that not every machine has: kept by a run that has them, committed for the others.

``data/recorded/public/<notebook>/`` holds a CSV a table, numbers only, and ``manifest.json``: the
parameters of the run, the SHA-256 of the data and of the tables.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchtrust import project
from benchtrust.compendium import fingerprints, ledger
from benchtrust.compendium.ledger import LedgerError
from benchtrust.compendium.profiles import PAPER
from benchtrust.compendium.published import Places
from benchtrust.errors import DataFileError
from benchtrust.files import require_recorded

FOLDER = "data/recorded/public"
MANIFEST = "manifest.json"


def file(name: str) -> str:
    """File of a kept table among the results of a run."""
    return f"kept-{name}.csv"


def get(absent: Sequence[str]) -> list[str]:
    """Commands that fetch public files by their names in the ledger, or say how to provide them."""
    return [f"benchtrust data get {name.removeprefix(fingerprints.DATA)}" for name in absent]


def committed(notebook: str, name: str, absent: Sequence[str]) -> tuple[Path, dict[str, Any]]:
    """Path of a committed table, and the parameters that it was computed with.

    Parameters
    ----------
    absent
        Names of the public files that are not here, for the message.

    Raises
    ------
    DataFileError
        It is missing, or not the file of the manifest.
    """
    folder = project.root() / FOLDER / notebook
    path, manifest = folder / f"{name}.csv", folder / MANIFEST
    facts = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {"files": {}}
    if path.name not in facts["files"] or not path.exists():
        raise DataFileError(
            f"{notebook} needs {_files(absent)}, and no committed result {name!r} stands in for it. "
            f"Provide it: {'; '.join(get(absent))}."
        )
    require_recorded(path, facts["files"][path.name])
    return path, facts["parameters"]


def require_same(made_with: Mapping[str, Any], parameters: Mapping[str, Any], absent: Sequence[str]) -> None:
    """Refuse parameters that committed results were not computed with.

    Raises
    ------
    DataFileError
        It names the parameters, and how to get the data.
    """
    others = [name for name in parameters if parameters[name] != made_with.get(name)]
    if others:
        wanted, had = (", ".join(f"{n} = {v.get(n)!r}" for n in others) for v in (parameters, made_with))
        raise DataFileError(
            f"With {wanted} this has to be computed from {_files(absent)}, which is not on this machine; the "
            f"committed results have {had}. Provide the data: {'; '.join(get(absent))}."
        )


def commit(notebook: str, profile: str = PAPER) -> list[Path]:
    """Put what a notebook's run has kept into the repository, in place of what was committed before.

    Returns
    -------
    list of Path
        The tables and their manifest.

    Raises
    ------
    LedgerError
        No run, a run without all of its public data, or one that kept nothing.
    """
    results = Places(profile, notebook).results
    if not (results / ledger.FILE).exists():
        raise LedgerError(f"{notebook} has no run: benchtrust run {notebook} --profile {profile}")
    run = ledger.read(results)
    data = {name: sha for name, sha in run.inputs.items() if name.startswith(fingerprints.DATA)}
    absent = [name for name, sha in data.items() if sha == fingerprints.ABSENT]
    if absent or not run.kept:
        reason = f"had no {_files(absent)}" if absent else "kept nothing"
        raise LedgerError(f"The last run of {notebook} {reason}: there is nothing to commit.")
    folder = project.root() / FOLDER / notebook
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    paths = [Path(shutil.copy(results / file(name), folder / f"{name}.csv")) for name in sorted(run.kept)]
    hashes = {path.name: fingerprints.of_file(path) for path in paths}
    facts = {"data": data, "files": hashes, "parameters": run.parameters}
    text = json.dumps(facts, indent=2, sort_keys=True, ensure_ascii=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return [*paths, folder / MANIFEST]


def _files(names: Sequence[str]) -> str:
    return ", ".join(name.removeprefix(fingerprints.DATA) for name in names)
