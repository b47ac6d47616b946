"""What is published in a profile's build folder, and whether it still belongs to its sources."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchtrust import project
from benchtrust.compendium import fingerprints, ledger
from benchtrust.compendium.ledger import Ledger, LedgerError
from benchtrust.compendium.notebooks import Notebook


def build_folder(profile: str) -> Path:
    """Build folder of a profile."""
    return project.root() / "build" / profile


def recorded(profile: str) -> dict[str, Ledger]:
    """Ledgers of a profile's notebooks by id.

    Raises
    ------
    LedgerError
        There is none; the message says how to get them, and which profiles have some.
    """
    found = ledger.read_all(build_folder(profile) / "results")
    if not found:
        others = {path.parent.name for path in (project.root() / "build").glob("*/results")} - {profile}
        named = f" Or name one that has results by --profile: {', '.join(sorted(others))}." if others else ""
        raise LedgerError(
            f"Nothing is recorded in the profile {profile} yet: "
            f"run 'benchtrust run --all --profile {profile}'.{named}"
        )
    return found


@dataclass(frozen=True)
class Places:
    """Where the files of one notebook lie in a profile's build folder."""

    profile: str
    notebook: str

    @property
    def build(self) -> Path:
        """Build folder of the profile."""
        return build_folder(self.profile)

    @property
    def executed(self) -> Path:
        """The executed notebook."""
        return self.build / "notebooks" / f"{self.notebook}.ipynb"

    @property
    def results(self) -> Path:
        """Folder of its artefacts and ledger."""
        return self.build / "results" / self.notebook

    @property
    def failed(self) -> Path:
        """The half-executed notebook of a failure; there only while the last run failed."""
        return self.build / "failed" / f"{self.notebook}.ipynb"

    @property
    def key(self) -> Path:
        """What the published files were made from."""
        return self.build / "keys" / f"{self.notebook}.json"


def key(
    source: Notebook, values: Mapping[str, Any], inputs: Iterable[str] = (), modules: Iterable[str] = ()
) -> dict[str, Any]:
    """All that an executed notebook depends on, at present.

    Parameters
    ----------
    source, values
        The notebook and its effective parameters.
    inputs, modules
        Names of the files that its last run has read and imported.
    """
    known = fingerprints.sources(source.syntax)
    return {
        "content": source.content_hash,
        "parameters": dict(values),
        "inputs": fingerprints.now(inputs),
        "sources": known | fingerprints.now(set(modules) - set(known)),
        "lock": fingerprints.lock(),
    }


def up_to_date(source: Notebook, values: Mapping[str, Any], profile: str) -> bool:
    """Whether the published run of a notebook was made from exactly what is there now."""
    places = Places(profile, source.id)
    if places.failed.exists() or not all(p.exists() for p in (places.key, places.executed, places.results)):
        return False
    old = json.loads(places.key.read_text(encoding="utf-8"))
    return old == key(source, values, old["inputs"], old["sources"])
