"""The release as an RO-Crate: each notebook an action that made artefacts from inputs.

Process Run Crate in short: a ``CreateAction`` a notebook, with the notebook as its instrument, the inputs as
its objects and the artefacts as its results. Upstream files that are not in the release are named by their
hash.
"""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from benchtrust.compendium import fingerprints
from benchtrust.compendium.ledger import Ledger

FILE = "ro-crate-metadata.json"
LICENSE = "https://spdx.org/licenses/{}"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
FORMATS = {
    ".cff": "application/yaml",
    ".csv": "text/csv",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".svg": "image/svg+xml",
}


def inside(name: str) -> bool:
    """Whether an input of that name lies in the repository."""
    return not name.startswith((fingerprints.DATA, "cache:", "/", "build/"))


def write(folder: Path, homes: dict[str, Ledger], citation: dict[str, Any], day: str) -> None:
    """Write ``ro-crate-metadata.json`` for what lies in `folder`."""
    crate = ROCrate()
    crate.name, crate.datePublished = citation["title"], day
    crate.description = "Notebooks, recorded responses, results and verdicts of the book."
    crate.root_dataset["version"] = citation["version"]
    licence = _entity(crate, LICENSE.format(citation["license"]), "CreativeWork", name=citation["license"])
    crate.license = licence
    crate.creator = [
        _entity(crate, f"#author-{number}", "Organization", name=author["name"])
        for number, author in enumerate(citation["authors"], start=1)
    ]
    crate.root_dataset["conformsTo"] = _entity(crate, PROFILE, "CreativeWork", name="Process Run Crate")
    python = _entity(crate, "#python", "ComputerLanguage", name="Python")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        _add(crate, folder, path, homes, python)
    for notebook, home in homes.items():
        _add_action(crate, notebook, home)
    crate.metadata.write(folder)


def _add(crate: ROCrate, folder: Path, path: Path, homes: dict[str, Ledger], python: ContextEntity) -> None:
    """Describe one file."""
    name = path.relative_to(folder).as_posix()
    facts: dict[str, Any] = {
        "name": path.name,
        "contentSize": str(path.stat().st_size),
        "sha256": fingerprints.of_file(path),
        "encodingFormat": FORMATS.get(path.suffix, "text/plain"),
    }
    notebook = PurePosixPath(name).parent.relative_to("results").as_posix() if name[:8] == "results/" else ""
    home = homes.get(notebook)
    for artefact in home.artefacts.values() if home else ():
        if path.name in artefact.files:
            facts["name"] = artefact.name
            facts |= {"description": artefact.alt} if artefact.alt else {}
    if path.suffix == ".ipynb":
        facts |= {"@type": ["File", "SoftwareSourceCode"], "programmingLanguage": python}
    crate.add_file(path, name, properties=facts)


def _add_action(crate: ROCrate, notebook: str, home: Ledger) -> None:
    """Describe the run of one notebook."""
    files = [f for artefact in home.artefacts.values() for f in artefact.files]
    values = [
        _entity(crate, f"#{notebook}-{name}", "PropertyValue", name=name, value=str(value))
        for name, value in home.parameters.items()
    ]
    _entity(
        crate,
        f"#run-{notebook}",
        "CreateAction",
        name=f"Run of {notebook}",
        instrument=crate.get(f"notebooks/{notebook}.ipynb"),
        object=[*_inputs(crate, home), *values],
        result=[crate.get(f"results/{notebook}/{file}") for file in ["ledger.json", *files]],
        description=f"commit {home.commit}{' with local changes' if home.dirty else ''}",
    )


def _inputs(crate: ROCrate, home: Ledger) -> Iterable[Any]:
    """Files of the release that a run has read, and upstream files by name and hash."""
    for name, sha in home.inputs.items():
        own = name.split("/results/", 1)
        path = f"results/{own[1]}" if name.startswith("build/") and len(own) == 2 else name
        below = [e for e in crate.data_entities if e.id == path or e.id.startswith(f"{path}/")]
        if below:
            yield from below
        else:
            yield _entity(crate, f"#{name}", "CreativeWork", name=name, sha256=sha)


def _entity(crate: ROCrate, identifier: str, kind: str, **facts: Any) -> ContextEntity:
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind} | facts))
