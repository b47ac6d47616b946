"""Verdicts on published claims: `data/published/claims.csv` beside what the notebooks have recorded.

The claims and their columns: `benchtrust.compendium.claim_file`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust.compendium import fingerprints, ledger, notebooks, profiles
from benchtrust.compendium.claim_file import FORMAT, OTHER, SCALES, Claim, ClaimError, is_number, read
from benchtrust.compendium.ledger import Artefact, Ledger
from benchtrust.compendium.predicates import PREDICATES, Found
from benchtrust.compendium.published import Places, build_folder
from benchtrust.errors import fold

REPRODUCED, IN_KIND = "reproduced", "reproduced in kind"
NOT_REPRODUCED, UNDETERMINED = "not reproduced", "undetermined at this size"
NOT_TESTABLE = "not testable here"
VERDICTS = (REPRODUCED, IN_KIND, NOT_REPRODUCED, UNDETERMINED, NOT_TESTABLE)
NOT_RUN = "not run"
"""Not a verdict: what the claim is judged by is not recorded."""
ALPHA = 0.05
"""A value whose p-value is not below this may lie anywhere."""

_HUNDREDTHS = ("%", "points")


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


# ------------------------------------------------------------------------------------------------- values


def _find(claim: Claim, ledgers: Mapping[str, Ledger], profile: str) -> tuple[Found, str]:
    """Our values for a claim, in its unit, and how they are shown."""
    artefact = _artefact(claim, ledgers, profile)
    column = claim.reference[2]
    if (artefact.kind == "number") != (not column):
        raise ClaimError(f"{claim.id}: {artefact.name} is a {artefact.kind}: write {FORMAT}.")
    if artefact.kind == "number":
        if isinstance(artefact.value, str):
            raise _NotRunError(f"{artefact.name} is recorded as {artefact.value!r}, not as a number.")
        value = np.array([_unit(claim) * artefact.value])
        return Found(("",), value, value, value), _with_unit(_plain(value[0], claim.unit), claim.unit)
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
    for name, wanted in claim.conditions:
        column = _column(claim, frame, name, artefact)
        if pd.api.types.is_numeric_dtype(column) and is_number(wanted):
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
    plain = [_plain(v, claim.unit) for v in value]
    if any(spread):
        figures = [_with_unit(v, claim.unit) + s for v, s in zip(plain, spread, strict=True)]
        text = "; ".join(_labelled(labels, figures))
    else:
        text = _with_unit(", ".join(_labelled(labels, plain)), claim.unit)
    return f"{text}; {size}" if size else text


def _labelled(labels: tuple[str, ...], texts: list[str]) -> list[str]:
    return [f"{label} {text}".strip() for label, text in zip(labels, texts, strict=True)]


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
    return PREDICATES[claim.predicate].phrase.format(
        published=published_text(claim),
        tolerance=_with_unit(claim.tolerance, "points" if claim.unit == "%" else claim.unit),
    )


def published_text(claim: Claim) -> str:
    """The published values with their unit; of a label it is left out."""
    text = (" to " if claim.predicate == "between" else ", ").join(claim.figures)
    return text if claim.predicate == "largest" else _with_unit(text, claim.unit)


def _unit(claim: Claim) -> float:
    return 100.0 if claim.unit in _HUNDREDTHS else 1.0


def _plain(value: float, unit: str) -> str:
    whole = unit not in _HUNDREDTHS and float(value).is_integer()
    spec = ".1f" if unit in _HUNDREDTHS else ".0f" if whole else ".3g"
    return f"{value:{spec}}".replace("-", "−")


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if text and unit else text
