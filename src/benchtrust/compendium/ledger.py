"""The ledger: what each notebook has published, from what. One ``ledger.json`` a notebook.

    {"notebook": …, "code": …, "parameters": {…}, "seed": …, "inputs": {name: sha256},
     "sources": {name: sha256}, "lock": …, "commit": …, "dirty": …, "kept": {name: sha256},
     "committed_with": {…}, "artefacts": {name: {…}}}

No time and no absolute path is in it, so the same run writes the same bytes.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchtrust.errors import BenchtrustError, pick
from benchtrust.files import replacing

FILE = "ledger.json"
RTOL = 1e-9

Kind = Literal["figure", "table", "number"]


class LedgerError(BenchtrustError):
    """A name that is taken, malformed, or recorded by two notebooks."""


@dataclass(frozen=True)
class Artefact:
    """One published figure, table or number.

    Attributes
    ----------
    files
        SHA-256 by file name: ``x.svg``, ``x.dark.svg`` and ``x.csv`` of a figure, ``x.csv`` of a table.
    inputs
        Names of the inputs that were registered before it was recorded.
    value, display
        A number's value (or short text) and how it is shown.
    formats, labels
        How a table's columns are shown and called.
    rtol, atol
        Numbers that differ by no more than ``atol + rtol · |old|`` count as the same.
    live
        Measured in this run, so not expected to come out alike to the byte.
    public
        Names of the public files that it rests on.
    committed
        Made from committed results on these files, which are not on this machine.
    """

    name: str
    kind: Kind
    files: dict[str, str] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    alt: str = ""
    value: float | int | str | None = None
    display: str = ""
    format: str = ""
    formats: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    rtol: float = RTOL
    atol: float = 0.0
    live: bool = False
    public: list[str] = field(default_factory=list)
    committed: bool = False

    @property
    def data(self) -> str:
        """File name of the data behind a figure or table; empty for a number."""
        return next((name for name in self.files if name.endswith(".csv")), "")


@dataclass
class Ledger:
    """All that one run of a notebook has published; hashes are those at the time of the run.

    `kept` are its tables of results on public data, to be committed; `committed_with` are the parameters of
    the committed ones that it has read in their place.
    """

    notebook: str
    code: str
    parameters: dict[str, Any]
    sources: dict[str, str]
    lock: str
    commit: str | None = None
    dirty: bool = False
    inputs: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    committed_with: dict[str, Any] = field(default_factory=dict)
    artefacts: dict[str, Artefact] = field(default_factory=dict)

    @property
    def seed(self) -> int | None:
        """Value of the parameter ``seed``, if there is one."""
        return self.parameters.get("seed")

    def write(self, folder: Path) -> None:
        """Write ``ledger.json`` into `folder`, whole or not at all."""
        content = asdict(self) | {"seed": self.seed}
        text = json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False)
        with replacing(folder / FILE) as scratch:
            scratch.write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> Ledger:
    """Read the ledger in a notebook's results folder."""
    content = json.loads((folder / FILE).read_text(encoding="utf-8"))
    content.pop("seed")
    artefacts = {name: Artefact(**entry) for name, entry in content.pop("artefacts").items()}
    return Ledger(**content, artefacts=artefacts)


def read_all(results: Path) -> dict[str, Ledger]:
    """Read the ledgers below `results`, by notebook.

    Raises
    ------
    LedgerError
        Two notebooks record one name: names are unique over the book.
    """
    folders = [path.parent for path in sorted(results.rglob(FILE))]
    ledgers = {ledger.notebook: ledger for ledger in map(read, folders)}
    owners: dict[str, str] = {}
    for ledger in ledgers.values():
        for name in ledger.artefacts:
            if name in owners:
                raise LedgerError(
                    f"{name!r} is recorded by both {owners[name]} and {ledger.notebook}; rename one of them."
                )
            owners[name] = ledger.notebook
    return ledgers


def find(name: str, ledgers: dict[str, Ledger]) -> tuple[Ledger, Artefact]:
    """Return an artefact and its notebook's ledger; an unknown name raises with the nearest ones."""
    homes = {entry: ledger for ledger in ledgers.values() for entry in ledger.artefacts}
    if not homes:
        raise LedgerError("Nothing is recorded yet: run 'benchtrust run --all' first.")
    name = pick(name, homes, "artefact")
    return homes[name], homes[name].artefacts[name]
