"""Checking artefacts: each verdict, and what has moved."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from rich.tree import Tree

from benchtrust.compendium import ledger
from benchtrust.compendium.checks import check, check_notebook
from benchtrust.compendium.comparison import moved_cells
from benchtrust.compendium.ledger import Artefact
from benchtrust.compendium.lineage import moved, tree
from benchtrust.errors import UnknownNameError

TABLE = Artefact("t", "table", rtol=1e-9)


@contextmanager
def changed(path: Path, old: str, new: str) -> Iterator[None]:
    """The file with a replacement in it, put back afterwards."""
    before = path.read_bytes()
    assert old in before.decode()
    path.write_bytes(before.decode().replace(old, new, 1).encode())
    try:
        yield
    finally:
        path.write_bytes(before)


def all_of(root: Path, notebook: str) -> dict[str, tuple[str, tuple[str, ...], int]]:
    """Verdicts on everything that a notebook has recorded."""
    home = ledger.read(root / "build/paper/results" / notebook)
    verdicts = check_notebook(home, list(home.artefacts.values()), "paper")
    return {verdict.name: (verdict.outcome, verdict.details, verdict.code) for verdict in verdicts}


def shown(chain: Tree) -> str:
    """What a terminal shows of a chain."""
    console = Console(width=200, file=io.StringIO())
    console.print(chain)
    return console.file.getvalue()


def test_unchanged_is_the_same_to_the_byte(executed_project: Path) -> None:
    found = all_of(executed_project, "part/source")
    assert found == {"scores": ("same bytes", (), 0), "scores-mean": ("same bytes", (), 0)}
    assert not list((executed_project / "build/paper/.tmp").iterdir())


def test_a_moved_cell_is_named(executed_project: Path) -> None:
    with changed(executed_project / "data/scores.csv", "b,0.5", "b,0.75"):
        found = all_of(executed_project, "part/source")
        assert moved("scores") == ["data/scores.csv"]
        assert moved("best") == ["data/scores.csv"]
        chain = shown(tree("best"))
    assert "changed since: now " in chain
    page = (executed_project / "build/paper/checks/scores/index.html").read_text()
    for part in ("scores differs", "<td>0.5</td><td>0.75</td>", "input changed: data/scores.csv"):
        assert part in page
    outcome, details, code = found["scores"]
    assert (outcome, code) == ("DIFFERENT", 1)
    assert details == ("input changed: data/scores.csv", "row 2, score: 0.5 → 0.75")
    assert found["scores-mean"][1][-1] == "0.375 → 0.5"
    assert moved("scores") == []


def test_small_differences_are_the_same_numbers(executed_project: Path) -> None:
    with changed(executed_project / "data/scores.csv", "b,0.5", "b,0.50000000001"):
        found = all_of(executed_project, "part/source")
    assert found["scores"][0] == "same numbers"
    assert found["scores-mean"][0] == "same numbers"


def test_missing_inputs_cannot_be_checked(executed_project: Path) -> None:
    path = executed_project / "data/scores.csv"
    path.rename(path.with_suffix(".away"))
    try:
        verdict = check("scores")
    finally:
        path.with_suffix(".away").rename(path)
    assert (verdict.outcome, verdict.code) == ("cannot check", 2)
    assert verdict.details == ("input missing: data/scores.csv",)


def test_a_failing_notebook_cannot_be_checked(executed_project: Path) -> None:
    with changed(executed_project / "notebooks/part/other.ipynb", 'level, \\".1f\\"', 'nothing, \\".1f\\"'):
        verdict = check("level-shown")
    assert verdict.code == 2
    assert any("NameError" in line for line in verdict.details)


def test_changed_code_is_noted(executed_project: Path) -> None:
    notebook = executed_project / "notebooks/part/other.ipynb"
    with changed(notebook, 'level, \\".1f\\"', 'level + 1, \\".1f\\"'):
        verdict = check("level-shown")
        assert moved("level-shown") == ["notebooks/part/other.ipynb"]
    assert verdict.outcome == "DIFFERENT"
    assert verdict.details == ("code changed: notebooks/part/other.ipynb", "0.5 → 1.5")


def test_an_unknown_name_gives_the_nearest(executed_project: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean scores"):
        check("score")


def test_the_chain_leads_back_to_the_data(executed_project: Path) -> None:
    text = shown(tree("best"))
    for part in ("best (number of part/reader)", "part/source/scores.csv", "data/scores.csv", "seed = 1"):
        assert part in text
    assert "changed since" not in text


@pytest.mark.parametrize(
    ("after", "cells", "notes"),
    [
        ({"m": ["a", "b"], "x": [1.0, 2.0]}, [], ()),
        ({"m": ["a", "b"], "x": [1.0 + 1e-12, 2.0]}, [], ()),
        ({"m": ["a", "c"], "x": [1.0, 2.0]}, ["2 m b c"], ()),
        ({"m": ["a", "b"], "x": [1.0, None]}, ["2 x 2.0 nan"], ()),
        ({"m": ["b"], "x": [3.0]}, ["b x 2.0 3.0"], ("rows: 2 → 1",)),
        ({"m": ["b", "b", "a"], "x": [3.0, 2.0, 1.0]}, [], ("rows: 2 → 3",)),
        ({"m": ["a", "b"], "y": [1.0, 2.0]}, [], ("columns: m, x → m, y",)),
    ],
)
def test_moved_cells(after: dict[str, list], cells: list[str], notes: tuple[str, ...]) -> None:
    before = pd.DataFrame({"m": ["a", "b"], "x": [1.0, 2.0]})
    moved, said = moved_cells(before, pd.DataFrame(after), TABLE)
    assert [" ".join(map(str, cell)) for cell in moved.itertuples(index=False)] == cells
    assert said == notes


def test_a_declared_tolerance_holds_for_live_measurements() -> None:
    before, after = pd.DataFrame({"s": [1.0]}), pd.DataFrame({"s": [1.4]})
    live = Artefact("t", "table", rtol=0.5, live=True)
    assert len(moved_cells(before, after, live)[0]) == 0
    assert moved_cells(before, after, TABLE)[0].to_dict("records") == [
        {"row": "1", "column": "s", "old": 1.0, "new": 1.4}
    ]


def test_the_ledger_reads_back_as_it_was_written(executed_project: Path) -> None:
    folder = executed_project / "build/paper/results/part/source"
    text = (folder / "ledger.json").read_text()
    ledger.read(folder).write(folder)
    assert (folder / "ledger.json").read_text() == text
    assert list(json.loads(text)) == sorted(json.loads(text))
