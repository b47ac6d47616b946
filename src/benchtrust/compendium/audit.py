"""The audit: every artefact of the book with its state and origin, one row each, from the ledgers alone."""

import pandas as pd

from benchtrust.compendium import fingerprints, ledger, notebooks, profiles, provenance
from benchtrust.compendium.ledger import Artefact, Ledger
from benchtrust.compendium.published import build_folder
from benchtrust.compendium.runner import fresh

EXECUTED, RECORDED, STALE = "executed here", "from recorded results", "stale"
STATES = (EXECUTED, RECORDED, STALE)
COLUMNS = ["artefact", "kind", "state", "origin", "shown", "notebook", "parameters", "inputs", "sha256"]


def artefacts(profile: str = profiles.PAPER, *, stale: frozenset[str] | None = None) -> pd.DataFrame:
    """List every artefact that the notebooks of the book have recorded.

    Parameters
    ----------
    profile : str
        Profile whose build folder is read.
    stale : set of str, optional
        Notebooks that have changed since their run; worked out where it is not given.

    Returns
    -------
    DataFrame
        `COLUMNS`, in reading order. `state` is one of `STATES`: a notebook that has changed since its run
        (or whose data or modules have) makes its artefacts stale; what was made from committed results on
        data that are not here is from recorded results. `shown` is a number's display, `sha256` the hash
        of the data behind a table or figure.
    """
    recorded = ledger.read_all(build_folder(profile) / "results")
    homes = [recorded[name] for name in notebooks.in_book() if name in recorded]
    old = {h.notebook for h in homes if not fresh(h.notebook, profile)} if stale is None else stale
    rows = [_row(home, entry, home.notebook in old) for home in homes for entry in home.artefacts.values()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(home: Ledger, artefact: Artefact, stale: bool) -> dict[str, str]:
    values = home.committed_with if artefact.committed else home.parameters
    read = [f"{name} {_short(home.inputs[name])}" for name in artefact.inputs]
    return {
        "artefact": artefact.name,
        "kind": artefact.kind,
        "state": STALE if stale else RECORDED if artefact.committed else EXECUTED,
        "origin": provenance.origin(artefact),
        "shown": artefact.display,
        "notebook": home.notebook,
        "parameters": "; ".join(f"{name} = {value!r}" for name, value in values.items()),
        "inputs": "; ".join(read),
        "sha256": artefact.files.get(artefact.data, ""),
    }


def _short(sha: str) -> str:
    return sha if sha == fingerprints.ABSENT else sha[:12]
