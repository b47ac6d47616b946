"""Two recordings of one artefact side by side: what came out, which cells moved, a page that shows both.

The outcomes, from best to worst: ``same bytes`` · ``same numbers`` (within the declared tolerance) ·
``DIFFERENT`` (with the cells that moved).
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchtrust.compendium.ledger import Artefact

SAME_BYTES, SAME_NUMBERS, DIFFERENT = "same bytes", "same numbers", "DIFFERENT"
COLUMNS = ["row", "column", "old", "new"]
LISTED = 200
"""Moved cells on a page; the rest is counted."""


@dataclass(frozen=True)
class Comparison:
    """What came of one artefact.

    Attributes
    ----------
    old, new
        Its two entries in a ledger; None where one side does not record it.
    outcome
        One of the three words above.
    moved
        One row a cell that differs beyond the tolerance: `COLUMNS`.
    notes
        What can be said in words: another shape, other bytes.
    """

    old: Artefact | None
    new: Artefact | None
    outcome: str
    moved: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def known(self) -> Artefact:
        """The entry of the side that records it."""
        return self.new or self.old  # type: ignore[return-value]


Found = tuple[str, Comparison, tuple[Path, Path]]
"""A notebook, what came of one of its artefacts, and the two folders that hold the files."""


def compare(old: Artefact | None, new: Artefact | None, results: Path, results_now: Path) -> Comparison:
    """Compare two entries of one name, with their files in two folders, by the tolerance of the old one."""
    if old is None or new is None:
        note = "the notebook no longer records it" if new is None else "only the second side records it"
        return Comparison(old, new, DIFFERENT, _no_cells(), (note,))
    if old.kind != new.kind:
        return Comparison(old, new, DIFFERENT, _no_cells(), (f"kind: {old.kind} → {new.kind}",))
    if old.kind == "number":
        return _numbers(old, new)
    if old.files == new.files:
        return Comparison(old, new, SAME_BYTES, _no_cells())
    before, after = (_read(folder / entry.data) for folder, entry in ((results, old), (results_now, new)))
    moved, notes = moved_cells(before, after, old)
    if len(moved) or notes:
        return Comparison(old, new, DIFFERENT, moved, notes)
    other = sorted(file for file in old.files if old.files[file] != new.files.get(file))
    return Comparison(old, new, SAME_NUMBERS, moved, (f"bytes differ: {', '.join(other)}",))


def moved_cells(
    before: pd.DataFrame, after: pd.DataFrame, artefact: Artefact
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Each cell that differs beyond the artefact's tolerance, and notes on another shape.

    Rows are matched by position; where there are more or fewer of them, by their texts, if these tell the
    rows of both sides apart. Rows of one side alone are counted in the notes.
    """
    if list(before.columns) != list(after.columns):
        return _no_cells(), (f"columns: {', '.join(before.columns)} → {', '.join(after.columns)}",)
    labels, notes = [str(n) for n in range(1, len(before) + 1)], ()
    if len(before) != len(after):
        notes = (f"rows: {len(before)} → {len(after)}",)
        before, after, labels = _matched(before, after)
    cells = []
    for column in before.columns:
        for row in np.flatnonzero(~_close(before[column], after[column], artefact)):
            cells.append((labels[row], column, before[column].iloc[row], after[column].iloc[row]))
    return pd.DataFrame(cells, columns=COLUMNS), notes


def write_page(
    folder: Path,
    title: str,
    summary: str,
    found: Sequence[Found],
    labels: tuple[str, str],
) -> Path:
    """Write a page of comparisons with copies of their pictures and data; return its path.

    Parameters
    ----------
    found : for each comparison its notebook and the folders that hold the files of either side
    labels : what the sides are called
    """
    from jinja2 import Environment

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    entries = [_entry(folder, one, labels) for one in found]
    template = (files("benchtrust.compendium") / "static" / "comparison.html").read_text("utf-8")
    page = Environment(autoescape=True, trim_blocks=True).from_string(template)
    text = page.render(title=title, summary=summary, found=entries, labels=labels)
    (folder / "index.html").write_text(text + "\n", encoding="utf-8")
    return folder / "index.html"


def _entry(folder: Path, found: Found, labels: tuple[str, str]) -> dict[str, Any]:
    """What the page's template reads of one comparison; its files are copied beside the page."""
    notebook, comparison, sources = found
    known, pictures = comparison.known, []
    sides = zip(labels, sources, (comparison.old, comparison.new), ("first", "second"), strict=True)
    for label, source, entry, side in sides:
        for file in entry.files if entry else ():
            if not file.endswith(".dark.svg"):
                (folder / side).mkdir(exist_ok=True)
                shutil.copyfile(source / file, folder / side / file)
                pictures += [(label, f"{side}/{file}")] if file.endswith(".svg") else []
    return {
        "name": known.name,
        "kind": known.kind,
        "notebook": notebook,
        "alt": known.alt,
        "notes": comparison.notes,
        "pictures": pictures,
        "rows": comparison.moved.head(LISTED).to_dict("records"),
        "n_moved": len(comparison.moved),
    }


def _numbers(old: Artefact, new: Artefact) -> Comparison:
    if (old.value, old.display) == (new.value, new.display):
        return Comparison(old, new, SAME_BYTES, _no_cells())
    same = _close(pd.Series([old.value]), pd.Series([new.value]), old).all()
    moved = pd.DataFrame([("", "value", old.value, new.value)], columns=COLUMNS)
    return Comparison(old, new, SAME_NUMBERS if same else DIFFERENT, moved)


def _matched(before: pd.DataFrame, after: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """The rows that both sides hold, in the same order, and their texts; none where texts do not tell."""
    texts = [c for c in before if not any(pd.api.types.is_numeric_dtype(f[c]) for f in (before, after))]
    keyed = [frame.set_index(frame[texts].astype(str).agg(" · ".join, axis=1)) for frame in (before, after)]
    if not texts or not all(frame.index.is_unique for frame in keyed):
        return before.head(0), after.head(0), []
    common = keyed[0].index[keyed[0].index.isin(keyed[1].index)]
    return keyed[0].loc[common], keyed[1].loc[common], list(common)


def _close(before: pd.Series, after: pd.Series, artefact: Artefact) -> np.ndarray:
    """Whether each value is the same: numbers within the tolerance, anything else exactly."""
    if pd.api.types.is_numeric_dtype(before) and pd.api.types.is_numeric_dtype(after):
        old, new = before.to_numpy(float), after.to_numpy(float)
        return np.isclose(new, old, rtol=artefact.rtol, atol=artefact.atol, equal_nan=True)
    old, new = before.astype(object).to_numpy(), after.astype(object).to_numpy()
    return (old == new) | (pd.isna(old) & pd.isna(new))


def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def _no_cells() -> pd.DataFrame:
    return pd.DataFrame(columns=COLUMNS)
