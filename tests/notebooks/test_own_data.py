"""Own answers in place of ours, by one parameter: the page runs, and names what it could not ask."""

import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from benchtrust.compendium import ledger, notebooks, run
from benchtrust.compendium.published import Places
from benchtrust.compendium.runner import Outcome


@pytest.fixture
def run_on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Outcome, Places]]:
    """Run a notebook at its smallest sizes on a file of answers."""
    monkeypatch.setenv("BENCHTRUST_ROOT", str(notebooks.folder().parent))

    def call(notebook: str, path: Path, **values: object) -> tuple[Outcome, Places]:
        outcome = run(notebook, {"responses_path": str(path)} | values, "manual", force=True, position=None)
        return outcome, Places("manual", notebook)

    return call


def test_a_page_that_cannot_be_asked_of_a_matrix_says_so_and_ends(own_matrix: Path, run_on: Callable) -> None:
    outcome, places = run_on("stability/rank_flips", own_matrix)
    assert outcome.state == "executed"
    needed = "answers in 2 configurations of the harness (template, shots, decoding, scoring) or more"
    assert outcome.left_out[0].startswith(f"This needs {needed}; my_matrix has 1.")
    page = nbformat.read(places.executed, as_version=4)
    text = "\n".join(cell.source for cell in page.cells if cell.cell_type == "markdown")
    assert text.count("Not asked of these data") == 1
    assert "## The one-line test" not in text
    assert "## Exercises" in text
    assert not any(output.output_type == "error" for cell in page.cells for output in cell.get("outputs", ()))
    assert ledger.read(places.results).artefacts == {}


def test_the_same_page_runs_on_a_table_by_its_path_alone(own_table: Path, run_on: Callable) -> None:
    outcome, places = run_on("stability/rank_flips", own_table, n_draws=50)
    assert outcome.left_out == ()
    found = ledger.read(places.results)
    rates = (places.results / "tab-flip-rates.csv").read_text()
    assert {"alpha", "beta", "gamma"} <= set(rates.replace("\n", ",").split(","))
    assert found.artefacts["n-pairs"].value == 3
    assert str(own_table) in found.inputs


def test_a_page_on_matrices_runs_on_a_matrix(own_matrix: Path, run_on: Callable) -> None:
    outcome, places = run_on("efficiency/saturation", own_matrix, n_halves=3, n_boot=100, ceiling=0.7)
    assert outcome.left_out == ()
    assert str(own_matrix) in ledger.read(places.results).inputs
    assert json.loads(places.key.read_text())["parameters"]["responses_path"] == str(own_matrix)
