"""Verdicts on published claims: `data/published/claims.csv` beside what the notebooks have recorded.

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

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust import project
from benchtrust.compendium import fingerprints, ledger, notebooks, profiles
from benchtrust.compendium.ledger import Artefact, Ledger
from benchtrust.compendium.predicates import PREDICATES, Found
from benchtrust.compendium.published import Places, build_folder
from benchtrust.errors import BenchtrustError, UnknownNameError, fold, pick

FILE = "data/published/claims.csv"
REPRODUCED, IN_KIND = "reproduced", "reproduced in kind"
NOT_REPRODUCED, UNDETERMINED = "not reproduced", "undetermined at this size"
NOT_TESTABLE = "not testable here"
VERDICTS = (REPRODUCED, IN_KIND, NOT_REPRODUCED, UNDETERMINED, NOT_TESTABLE)
NOT_RUN = "not run"
"""Not a verdict: what the claim is judged by is not recorded."""
OTHER = "other models"
SCALES = {
    "same models": "On the paper's own models.",
    OTHER: "On other models than the paper's.",
    "mathematical": "No model enters.",
}
ALPHA = 0.05
"""A value whose p-value is not below this may lie anywhere."""

_HUNDREDTHS = ("%", "points")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PAPER = re.compile(r"\d{4}\.\d{5}")
_REFERENCE = re.compile(r"([a-z0-9_]+/[a-z0-9_]+):([a-z0-9]+(?:-[a-z0-9]+)*)(?::([^:;=]+))?")
_FORMAT = "notebook:name:column of a table or figure, notebook:name of a number"
_SHOWN = 6


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
    def reference(self) -> tuple[str, str, str]:
        """Notebook, artefact and column (empty for a number)."""
        notebook, name, column = _REFERENCE.fullmatch(self.artefact).groups(default="")
        return notebook, name, column


@dataclass(frozen=True)
class Judgement:
    """What came of a claim: its verdict, or `NOT_RUN`; our values as text; the reason."""

    verdict: str
    found: str
    reason: str


class _NotRunError(Exception):
    """No value to judge by; the message says what is missing."""


def claims(profile: str = profiles.PAPER, path: Path | None = None) -> pd.DataFrame:
    """Judge every published claim by what the notebooks of the book have recorded.

    Parameters
    ----------
    profile : str
        Profile whose build folder is read.
    path : path, optional
        Another file of claims than `data/published/claims.csv`.

    Returns
    -------
    DataFrame
        One row a claim: the columns of the file, and `verdict` (one of `VERDICTS`, or `NOT_RUN`, which is
        none), `found` (our values) and `reason`.

    Raises
    ------
    ClaimError
        A row breaks the schema or does not fit its artefact, or an artefact's data are not as recorded.
    """
    recorded = ledger.read_all(build_folder(profile) / "results")
    shown = {name: recorded[name] for name in notebooks.in_book() if name in recorded}
    rows = [asdict(claim) | asdict(judge(claim, shown, profile)) for claim in read(path)]
    return pd.DataFrame(rows)


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


def judge(claim: Claim, ledgers: Mapping[str, Ledger], profile: str) -> Judgement:
    """Work out the verdict on one claim from the artefact that it names."""
    if not claim.artefact:
        return Judgement(NOT_TESTABLE, "", f"It needs {claim.needs}.")
    try:
        found, shown = _find(claim, ledgers, profile)
    except _NotRunError as gap:
        return Judgement(NOT_RUN, "", str(gap))
    holds = PREDICATES[claim.predicate].judge(found, claim.figures, float(claim.tolerance or 0))
    if holds is None:
        return Judgement(UNDETERMINED, shown, _reason(claim, shown, holds))
    kept = IN_KIND if claim.scale == OTHER else REPRODUCED
    return Judgement(kept if holds else NOT_REPRODUCED, shown, _reason(claim, shown, holds))


# ------------------------------------------------------------------------------------------------- schema


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
        yield f"the artefact {claim.artefact!r} is not {_FORMAT}"
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
    if claim.predicate != "largest" and not all(map(_is_number, claim.figures)):
        yield f"the published value {claim.published!r} is not a number"
    if predicate.tolerance and not (_is_number(claim.tolerance) and float(claim.tolerance) >= 0):
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


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


# ------------------------------------------------------------------------------------------------- values


def _find(claim: Claim, ledgers: Mapping[str, Ledger], profile: str) -> tuple[Found, str]:
    """Our values for a claim, in its unit, and how they are shown."""
    artefact = _artefact(claim, ledgers, profile)
    column = claim.reference[2]
    if (artefact.kind == "number") != (not column):
        raise ClaimError(f"{claim.id}: {artefact.name} is a {artefact.kind}: write {_FORMAT}.")
    if artefact.kind == "number":
        if isinstance(artefact.value, str):
            raise _NotRunError(f"{artefact.name} is recorded as {artefact.value!r}, not as a number.")
        value = np.array([_unit(claim) * artefact.value])
        return Found(("",), value, value, value), _figure(value[0], claim.unit)
    frame = _chosen_rows(claim, _data(claim, artefact, profile), artefact)
    value = _unit(claim) * _numbers(claim, frame, column, artefact)
    low, high, spread = _ranges(claim, frame, value, artefact)
    labels = _labels(frame)
    shown = _shown(claim, labels, value, spread, _size(claim, frame, artefact))
    return Found(labels, value, low, high), shown


def _artefact(claim: Claim, ledgers: Mapping[str, Ledger], profile: str) -> Artefact:
    notebook, name, _ = claim.reference
    homes = [home for home, entry in ledgers.items() if name in entry.artefacts]
    if homes and notebook not in homes:
        raise ClaimError(f"{claim.id}: {name} is recorded by {homes[0]}, not by {notebook}.")
    if not homes and notebook not in notebooks.available():
        raise _NotRunError(f"There is no notebook {notebook} yet that would record {name}.")
    if not homes:
        option = "" if profile == profiles.PAPER else f" --profile {profile}"
        state = "has not recorded" if notebook in ledgers else "has not run to record"
        raise _NotRunError(f"{notebook} {state} {name}: benchtrust run {notebook}{option}")
    return ledgers[notebook].artefacts[name]


def _data(claim: Claim, artefact: Artefact, profile: str) -> pd.DataFrame:
    """The data behind a table or figure, which must be the bytes that the ledger knows."""
    path = Places(profile, claim.reference[0]).results / artefact.data
    if fingerprints.of_file(path) != artefact.files[artefact.data]:
        raise ClaimError(
            f"{claim.id}: {path} is not the file that was recorded: run {claim.reference[0]} again."
        )
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def _chosen_rows(claim: Claim, frame: pd.DataFrame, artefact: Artefact) -> pd.DataFrame:
    for part in _split(claim.rows):
        name, wanted = part.split("=")
        column = _column(claim, frame, name, artefact)
        if pd.api.types.is_numeric_dtype(column) and _is_number(wanted):
            frame = frame[np.isclose(column.astype(float), float(wanted))]
        else:
            frame = frame[column.astype(str).map(fold) == fold(wanted)]
    if len(frame) != int(claim.values):
        where = f" ({claim.rows})" if claim.rows else ""
        raise _NotRunError(
            f"{artefact.name} holds {len(frame)} of the {claim.values} values asked for{where}."
        )
    return frame


def _column(claim: Claim, frame: pd.DataFrame, name: str, artefact: Artefact) -> pd.Series:
    if name not in frame:
        raise ClaimError(f"{claim.id}: {artefact.name} has no column {name!r}; it has: {', '.join(frame)}.")
    return frame[name]


def _numbers(claim: Claim, frame: pd.DataFrame, name: str, artefact: Artefact) -> np.ndarray:
    """A column as numbers; an empty cell is a value that is not there."""
    column = _column(claim, frame, name, artefact)
    if column.isna().any():
        raise _NotRunError(f"{artefact.name} holds {int(column.isna().sum())} empty cells in {name!r}.")
    if not pd.api.types.is_numeric_dtype(column):
        raise ClaimError(f"{claim.id}: column {name!r} of {artefact.name} holds text: {column.iloc[0]!r}.")
    return column.to_numpy(float)


def _ranges(
    claim: Claim, frame: pd.DataFrame, value: np.ndarray, artefact: Artefact
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Where each value may lie, lowest and highest, and how that is shown.

    A value outside its own interval widens it. A value that is not significant may lie anywhere.
    """
    kind, *names = claim.uncertainty.split() or [""]
    beside = [_numbers(claim, frame, name, artefact) for name in names]
    if kind == "interval":
        low, high = (_unit(claim) * ends for ends in beside)
        if (low > high).any():
            raise ClaimError(f"{claim.id}: in {artefact.name} {names[0]!r} is above {names[1]!r}.")
        spread = [
            f" ({_plain(a, claim.unit)} to {_plain(b, claim.unit)})" for a, b in zip(low, high, strict=True)
        ]
        return np.minimum(low, value), np.maximum(high, value), spread
    if kind == "p":
        open_ = beside[0] >= ALPHA
        spread = [f" (p = {p:.2g})" for p in beside[0]]
        return np.where(open_, -np.inf, value), np.where(open_, np.inf, value), spread
    return value, value, [""] * len(value)


def _labels(frame: pd.DataFrame) -> tuple[str, ...]:
    """What tells the rows apart: the first column of texts that are all different."""
    texts = [c for c in frame if not pd.api.types.is_numeric_dtype(frame[c]) and frame[c].is_unique]
    return tuple(frame[texts[0]].astype(str)) if len(frame) > 1 and texts else ("",) * len(frame)


# -------------------------------------------------------------------------------------------------- words


def _shown(claim: Claim, labels: tuple[str, ...], value: np.ndarray, spread: list[str], size: str) -> str:
    figures = [_figure(v, claim.unit) + s for v, s in zip(value, spread, strict=True)]
    each = [f"{label} {figure}".strip() for label, figure in zip(labels, figures, strict=True)]
    if len(each) > _SHOWN:
        low, high = _plain(value.min(), claim.unit), _figure(value.max(), claim.unit)
        each = [f"{len(each)} values from {low} to {high}"]
    return "; ".join([*each, size] if size else each)


def _size(claim: Claim, frame: pd.DataFrame, artefact: Artefact) -> str:
    """On how much the values rest, as in ``10 to 30 items``."""
    if not claim.n:
        return ""
    n = _numbers(claim, frame, claim.n, artefact)
    number = f"{n.min():.0f}" if n.min() == n.max() else f"{n.min():.0f} to {n.max():.0f}"
    return f"{number} {claim.n.replace('_', ' ')}"


def _reason(claim: Claim, shown: str, holds: bool | None) -> str:
    """What was found, what was published, what was asked, and whether it holds."""
    published = f"published {published_text(claim)}" if claim.published else "no figure published"
    kind = claim.uncertainty.split()[0] if claim.uncertainty else ""
    answer = {
        True: {"interval": "It holds over the whole interval."}.get(kind, "It holds."),
        False: {"interval": "It holds nowhere in the interval."}.get(kind, "It does not hold."),
        None: {"p": f"Not every p-value is below {ALPHA}."}.get(kind, "The interval allows both."),
    }[holds]
    needs = [f"At the paper's scale it needs {claim.needs}."] if claim.needs else []
    found = f"Found {shown}; {published}."
    return " ".join([found, f"Asked: {criterion(claim)}.", answer, SCALES[claim.scale], *needs])


def criterion(claim: Claim) -> str:
    """What the predicate asks, in words."""
    figures = claim.figures or [""]
    return PREDICATES[claim.predicate].phrase.format(
        published=published_text(claim),
        first=figures[0],
        last=_with_unit(figures[-1], claim.unit),
        tolerance=_with_unit(claim.tolerance, claim.unit),
    )


def published_text(claim: Claim) -> str:
    """The published values with their unit; of a label it is left out."""
    text = ", ".join(claim.figures)
    return text if claim.predicate == "largest" else _with_unit(text, claim.unit)


def _unit(claim: Claim) -> float:
    return 100.0 if claim.unit in _HUNDREDTHS else 1.0


def _figure(value: float, unit: str) -> str:
    return _with_unit(_plain(value, unit), unit)


def _plain(value: float, unit: str) -> str:
    whole = unit not in _HUNDREDTHS and float(value).is_integer()
    spec = ".1f" if unit in _HUNDREDTHS else ".0f" if whole else ".3g"
    return f"{value:{spec}}".replace("-", "−")


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if text and unit else text
