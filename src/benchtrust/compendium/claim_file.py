"""The file of published claims, `data/published/claims.csv`, and its schema.

One row a claim, every cell a text:

==================  ===================================================================================
id, paper, where    kebab-case name; arXiv id; what part of the paper it belongs to
statement           the claim in our own words
published, unit     the paper's figures, ``;`` between several; ``%`` and ``points`` are hundredths of what
                    is recorded, any other unit is that of the record
scale               what a test here would be about: same models, other models, mathematical
artefact            ``notebook:name:column`` of a table or figure, ``notebook:name`` of a number
rows, values        which rows of it (``column=value; …``), and how many values they must give
predicate           what must hold, a word of `benchtrust.compendium.predicates`
tolerance           in the unit, for the predicates that take one
uncertainty         ``interval LOW HIGH`` or ``p COLUMN``: columns beside the value
n                   column that says on how many items, configurations or cases a value rests
note, needs         what to keep in mind; what a test would need, where there is none here
==================  ===================================================================================
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

from benchtrust import project
from benchtrust.compendium.predicates import PREDICATES
from benchtrust.errors import BenchtrustError, UnknownNameError, pick

FILE = "data/published/claims.csv"
OTHER = "other models"
SCALES = {
    "same models": "On the paper's own models.",
    OTHER: "On other models than the paper's.",
    "mathematical": "No model enters.",
}
"""What a test is about, and how a reason says it."""
FORMAT = "notebook:name:column of a table or figure, notebook:name of a number"

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PAPER = re.compile(r"\d{4}\.\d{5}")
_REFERENCE = re.compile(r"([a-z0-9_]+/[a-z0-9_]+):([a-z0-9]+(?:-[a-z0-9]+)*)(?::([^:;=]+))?")


class ClaimError(BenchtrustError, ValueError):
    """A row of `claims.csv` that breaks the schema, or does not fit the artefact that it names."""


@dataclass(frozen=True)
class Claim:
    """One row of `claims.csv`, as it is written there."""

    id: str
    paper: str
    where: str
    statement: str
    published: str
    unit: str
    scale: str
    artefact: str
    rows: str
    values: str
    predicate: str
    tolerance: str
    uncertainty: str
    n: str
    note: str
    needs: str

    @property
    def figures(self) -> list[str]:
        """The published values."""
        return _split(self.published)

    @property
    def conditions(self) -> list[tuple[str, ...]]:
        """Column and value that a row must hold, for each condition on the rows."""
        return [tuple(part.split("=")) for part in _split(self.rows)]

    @property
    def reference(self) -> tuple[str, str, str]:
        """Notebook, artefact and column (empty for a number)."""
        notebook, name, column = _REFERENCE.fullmatch(self.artefact).groups(default="")
        return notebook, name, column


def read(path: Path | None = None) -> list[Claim]:
    """Read and check a file of claims.

    Raises
    ------
    ClaimError
        All faults at once, by line: wrong columns, a name that is taken or malformed, an unknown predicate
        or scale, a malformed artefact, a tolerance that is missing or not asked for.
    """
    path = path or project.root() / FILE
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8").fillna("")
    except pd.errors.ParserError as error:
        raise ClaimError(f"{path.name} is not a table: {error}.") from None
    wanted = [field.name for field in fields(Claim)]
    if list(frame.columns) != wanted:
        raise ClaimError(
            f"{path.name}: the columns are {', '.join(frame.columns)}; wanted: {', '.join(wanted)}."
        )
    found = [Claim(**row) for row in frame.to_dict("records")]
    times = Counter(claim.id for claim in found)
    faults = []
    for line, claim in enumerate(found, start=2):
        twice = [f"the id occurs {times[claim.id]} times"] if times[claim.id] > 1 else []
        faults += [f"line {line}, {claim.id or 'no id'}: {fault}" for fault in (*twice, *_faults(claim))]
    if faults:
        raise ClaimError(f"{path.name}:\n" + "\n".join(faults))
    return found


def _faults(claim: Claim) -> Iterator[str]:
    if not _NAME.fullmatch(claim.id):
        yield f"the id {claim.id!r} is not kebab-case"
    if not _PAPER.fullmatch(claim.paper):
        yield f"the paper {claim.paper!r} is no arXiv id, as in 2605.25492"
    if not claim.where or not claim.statement:
        yield "where and statement must be filled"
    yield from _unknown(claim.scale, SCALES, "scale")
    if claim.artefact:
        yield from _test_faults(claim)
    else:
        if not claim.needs:
            yield "without an artefact it must say what a test needs"
        given = ("rows", "values", "predicate", "tolerance", "uncertainty", "n")
        if extra := [name for name in given if getattr(claim, name)]:
            yield f"{', '.join(extra)} given without an artefact"


def _test_faults(claim: Claim) -> Iterator[str]:
    if not (match := _REFERENCE.fullmatch(claim.artefact)):
        yield f"the artefact {claim.artefact!r} is not {FORMAT}"
    elif not match[3] and (claim.rows or claim.uncertainty or claim.n or claim.values != "1"):
        yield "a number has one value and no rows, uncertainty or n"
    if not claim.values.isdigit() or int(claim.values) < 1:
        yield f"values is {claim.values!r}; write how many values are judged"
    if not all(re.fullmatch(r"[^=]+=[^=]+", part) for part in _split(claim.rows)):
        yield f"the rows {claim.rows!r} are not column=value; column=value"
    if unknown := list(_unknown(claim.predicate, PREDICATES, "predicate")):
        yield from unknown
    else:
        yield from _predicate_faults(claim)


def _predicate_faults(claim: Claim) -> Iterator[str]:
    predicate = PREDICATES[claim.predicate]
    fewest, most = predicate.published
    if not fewest <= len(claim.figures) <= most:
        wanted = fewest if fewest == most else f"{fewest} or more"
        yield f"{len(claim.figures)} published values; {claim.predicate!r} takes {wanted}"
    if claim.predicate != "largest" and not all(map(is_number, claim.figures)):
        yield f"the published value {claim.published!r} is not a number"
    if predicate.tolerance and not (is_number(claim.tolerance) and float(claim.tolerance) >= 0):
        yield f"the tolerance is {claim.tolerance!r}; {claim.predicate!r} needs one, zero or more"
    if claim.tolerance and not predicate.tolerance:
        yield f"{claim.predicate!r} takes no tolerance"
    if claim.values.isdigit() and int(claim.values) < predicate.values:
        yield f"{claim.predicate!r} takes {predicate.values} values or more"
    if claim.uncertainty and not re.fullmatch(r"interval \S+ \S+|p \S+", claim.uncertainty):
        yield f"the uncertainty {claim.uncertainty!r} is neither 'interval LOW HIGH' nor 'p COLUMN'"
    if claim.uncertainty.startswith("p ") and not predicate.directional:
        yield f"a p-value cannot decide {claim.predicate!r}: give an interval"


def _unknown(name: str, valid: Iterable[str], what: str) -> Iterator[str]:
    if name not in valid:
        try:
            yield f"unknown {what} {name!r}; write {pick(name, valid, what)!r}"
        except UnknownNameError as error:
            yield str(error)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
