"""Checking artefacts: run the notebook behind one again, and say whether the same comes out.

The verdicts, from best to worst: ``same bytes`` · ``same numbers`` (within the declared tolerance) ·
``DIFFERENT`` (with the cells that moved) · ``cannot check``.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust.compendium import fingerprints, ledger, lint, notebooks, profiles, runner
from benchtrust.compendium.ledger import Artefact, Ledger
from benchtrust.compendium.published import Places, build_folder
from benchtrust.errors import BenchtrustError

SAME_BYTES, SAME_NUMBERS, DIFFERENT, CANNOT = "same bytes", "same numbers", "DIFFERENT", "cannot check"
CODES = {SAME_BYTES: 0, SAME_NUMBERS: 0, DIFFERENT: 1, CANNOT: 2}
SHOWN = 10
"""Moved cells that are listed; the rest is counted."""


@dataclass(frozen=True)
class Verdict:
    """Outcome for one artefact, with what was found."""

    name: str
    outcome: str
    details: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """Exit code: 0 same, 1 different, 2 cannot check."""
        return CODES[self.outcome]


def check(name: str, profile: str = profiles.PAPER) -> Verdict:
    """Check one artefact by name.

    Raises
    ------
    UnknownNameError
        No artefact of that name; the message holds the nearest ones.
    """
    home, artefact = ledger.find(name, ledger.read_all(build_folder(profile) / "results"))
    return next(check_notebook(home, [artefact], profile))


def check_all(profile: str = profiles.PAPER) -> list[Verdict]:
    """Check everything that the notebooks of the book have recorded, running each notebook once."""
    ledgers = ledger.read_all(build_folder(profile) / "results")
    if not ledgers:
        raise ledger.LedgerError(f"Nothing is recorded yet: run 'benchtrust run --all --profile {profile}'.")
    checks = (check_notebook(home, list(home.artefacts.values()), profile) for home in ledgers.values())
    return list(itertools.chain.from_iterable(checks))


def check_notebook(home: Ledger, artefacts: list[Artefact], profile: str) -> Iterator[Verdict]:
    """Run a notebook again with its recorded parameters, in a temporary folder, and compare `artefacts`."""
    changed = fingerprints.changed(home.inputs)
    if missing := [name for name in changed if fingerprints.of_file(fingerprints.locate(name)) == "absent"]:
        for artefact in artefacts:
            yield Verdict(artefact.name, CANNOT, tuple(f"input missing: {name}" for name in missing))
        return
    with runner.workspace(build_folder(profile)) as folder:
        try:
            source = notebooks.read(home.notebook)
            lint.require_runnable(source)
            runner.execute(source, profiles.effective(source, home.parameters), folder, profile)
            new = ledger.read(folder / "results")
        except (BenchtrustError, FileNotFoundError) as error:
            for artefact in artefacts:
                yield Verdict(artefact.name, CANNOT, tuple(str(error).splitlines()))
            return
        notes = [f"input changed: {name}" for name in changed]
        if new.code != home.code:
            notes.append(f"code changed: notebooks/{home.notebook}.ipynb")
        for artefact in artefacts:
            outcome, details = _compare(
                artefact, new, Places(profile, home.notebook).results, folder / "results"
            )
            yield Verdict(artefact.name, outcome, (*notes, *details))


def _compare(old: Artefact, ledger_now: Ledger, results: Path, results_now: Path) -> tuple[str, list[str]]:
    """Outcome and details for one artefact."""
    new = ledger_now.artefacts.get(old.name)
    if new is None:
        return DIFFERENT, ["the notebook no longer records it"]
    if old.kind == "number":
        if (old.value, old.display) == (new.value, new.display):
            return SAME_BYTES, []
        same = _close(pd.Series([old.value]), pd.Series([new.value]), old).all()
        return (SAME_NUMBERS if same else DIFFERENT), [f"{old.value} → {new.value}"]
    if old.files == new.files:
        return SAME_BYTES, []
    before, after = (pd.read_csv(folder / old.data) for folder in (results, results_now))
    if moved := list(moved_cells(before, after, old)):
        more = [f"… and {len(moved) - SHOWN} more"] if len(moved) > SHOWN else []
        return DIFFERENT, moved[:SHOWN] + more
    pictures = sorted(file for file in old.files if old.files[file] != new.files.get(file))
    return SAME_NUMBERS, [f"bytes differ: {', '.join(pictures)}"]


def moved_cells(before: pd.DataFrame, after: pd.DataFrame, artefact: Artefact) -> Iterator[str]:
    """Each cell that differs beyond the artefact's tolerance, as row, column, old and new value."""
    if list(before.columns) != list(after.columns):
        yield f"columns: {', '.join(before.columns)} → {', '.join(after.columns)}"
        return
    if len(before) != len(after):
        yield f"rows: {len(before)} → {len(after)}"
        return
    for column in before.columns:
        for row in np.flatnonzero(~_close(before[column], after[column], artefact)):
            yield f"row {row + 1}, {column}: {before[column].iloc[row]} → {after[column].iloc[row]}"


def _close(before: pd.Series, after: pd.Series, artefact: Artefact) -> np.ndarray:
    """Whether each value is the same: numbers within the tolerance, anything else exactly."""
    if pd.api.types.is_numeric_dtype(before) and pd.api.types.is_numeric_dtype(after):
        old, new = before.to_numpy(float), after.to_numpy(float)
        return np.isclose(new, old, rtol=artefact.rtol, atol=artefact.atol, equal_nan=True)
    return ((before == after) | (before.isna() & after.isna())).to_numpy(bool)
