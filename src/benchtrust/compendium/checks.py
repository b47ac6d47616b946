"""Checking artefacts: run the notebook behind one again, and say whether the same comes out.

First whether the inputs are unchanged; then, from best to worst: ``same bytes`` · ``same numbers`` (within
the declared tolerance) · ``DIFFERENT`` (with the cells that moved, and a page that shows both) ·
``cannot check``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchtrust.compendium import durations, fingerprints, ledger, lint, notebooks, profiles, runner
from benchtrust.compendium.comparison import (
    DIFFERENT,
    SAME_BYTES,
    SAME_NUMBERS,
    Comparison,
    compare,
    write_page,
)
from benchtrust.compendium.ledger import Artefact, Ledger
from benchtrust.compendium.published import build_folder, recorded
from benchtrust.errors import BenchtrustError

CANNOT = "cannot check"
CODES = {SAME_BYTES: 0, SAME_NUMBERS: 0, DIFFERENT: 1, CANNOT: 2}
UNCHANGED, CHANGED, MISSING = "inputs unchanged", "inputs changed", "inputs missing"
SHOWN = 10
"""Moved cells that are listed; the rest is counted."""


@dataclass(frozen=True)
class Verdict:
    """Outcome for one artefact, with what was found.

    `inputs` says whether the files that the notebook read are those of the record; `page`, after a
    difference, is the page that shows both sides.
    """

    name: str
    outcome: str
    details: tuple[str, ...] = ()
    inputs: str = UNCHANGED
    page: Path | None = None

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
    home, artefact = ledger.find(name, recorded(profile))
    return next(check_notebook(home, [artefact], profile))


def check_all(
    profile: str = profiles.PAPER, *, say: Callable[[str], None] = lambda text: None
) -> list[Verdict]:
    """Check everything that the notebooks of the book have recorded, running each notebook once.

    `say` is told how long it will take, and each notebook as it begins.
    """
    ledgers = recorded(profile)
    say(f"Runs again: {durations.estimate(list(ledgers), profile)}.")
    verdicts: list[Verdict] = []
    for number, (notebook, home) in enumerate(ledgers.items(), start=1):
        say(f"{number} of {len(ledgers)}: {notebook}")
        verdicts += check_notebook(home, list(home.artefacts.values()), profile)
    return verdicts


def check_notebook(home: Ledger, artefacts: list[Artefact], profile: str) -> Iterator[Verdict]:
    """Run a notebook again with its recorded parameters, in a temporary folder, and compare `artefacts`."""
    changed = fingerprints.changed(home.inputs)
    if missing := [name for name in changed if fingerprints.of_file(fingerprints.locate(name)) == "absent"]:
        lines = tuple(f"input missing: {name}" for name in missing)
        yield from (Verdict(artefact.name, CANNOT, lines, MISSING) for artefact in artefacts)
        return
    state = CHANGED if changed else UNCHANGED
    with runner.workspace(build_folder(profile)) as folder:
        try:
            source = notebooks.read(home.notebook)
            lint.require_runnable(source)
            runner.execute(source, profiles.effective(source, home.parameters), folder, profile)
            new = ledger.read(folder / "results")
        except (BenchtrustError, FileNotFoundError) as error:
            lines = tuple(str(error).splitlines())
            yield from (Verdict(artefact.name, CANNOT, lines, state) for artefact in artefacts)
            return
        notes = [f"input changed: {name}" for name in changed]
        if new.code != home.code:
            notes.append(f"code changed: notebooks/{home.notebook}.ipynb")
        for artefact in artefacts:
            yield _verdict(home, artefact, new, folder, profile, notes, state)


def _verdict(
    home: Ledger, old: Artefact, new: Ledger, folder: Path, profile: str, notes: list[str], state: str
) -> Verdict:
    """Verdict on one artefact, and after a difference its page."""
    folders = build_folder(profile) / "results" / home.notebook, folder / "results"
    found = compare(old, new.artefacts.get(old.name), *folders)
    page = None
    if found.outcome == DIFFERENT:
        said = "; ".join(notes or [UNCHANGED])
        page = write_page(
            build_folder(profile) / "checks" / old.name,
            f"{old.name} differs",
            f"As recorded with the profile {profile}, and as run again; {said}.",
            [(home.notebook, found, folders)],
            ("recorded", "run again"),
        )
    return Verdict(old.name, found.outcome, (*notes, *lines(found)), state, page)


def lines(found: Comparison) -> list[str]:
    """What was found, for a terminal: notes, and the first moved cells."""
    cells = [
        f"{f'row {cell.row}, {cell.column}: ' if cell.row else ''}{cell.old} → {cell.new}"
        for cell in found.moved.head(SHOWN).itertuples()
    ]
    more = [f"… and {len(found.moved) - SHOWN} more"] if len(found.moved) > SHOWN else []
    return [*found.notes, *cells, *more]
