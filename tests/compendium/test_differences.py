"""Two profiles beside each other, what a run took, and figures side by side."""

from pathlib import Path

import pandas as pd
import pytest

from benchtrust.compendium import durations
from benchtrust.compendium.comparison import DIFFERENT, SAME_BYTES, SAME_NUMBERS, compare, write_page
from benchtrust.compendium.differences import diff
from benchtrust.compendium.ledger import Artefact
from benchtrust.errors import ParameterError


def test_what_another_parameter_moves_stands_on_one_page(executed_project: Path) -> None:
    said: list[str] = []
    found = diff("paper", "smoke", ["other"], say=said.append)
    assert (found.moved, found.compared) == (1, 1)
    assert said == [
        "To run: 1 notebook of the profile smoke, none timed on this machine yet.",
        "1 of 1: part/other",
    ]
    page = found.page.read_text()
    for part in ("<td>0.5</td><td>0.1</td>", "part/other: level 0.5 → 0.1", "1 of 1 artefacts"):
        assert part in page
    assert found.page == executed_project / "build/diff/paper--smoke/index.html"
    said.clear()
    assert diff("paper", "smoke", ["other"], say=said.append) == found
    assert said == []
    assert durations.estimate(["part/other", "part/source"], "smoke").endswith("s, and 1 not timed yet")


def test_without_running_only_what_is_there_is_compared(executed_project: Path) -> None:
    with pytest.raises(ParameterError, match="No notebook has results in both paper and smoke"):
        diff("paper", "smoke", ["source"], run_missing=False)
    with pytest.raises(ParameterError, match="name two"):
        diff("paper", "paper")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the files of a figure: another picture, and one cell that moved."""
    for side, score in (("old", 0.5), ("new", 0.75)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "f.svg").write_text(f"<svg>{side}</svg>")
        (tmp_path / side / "f.dark.svg").write_text("<svg/>")
        pd.DataFrame({"model": ["<b>a"], "score": [score]}).to_csv(tmp_path / side / "f.csv", index=False)
    return tmp_path / "old", tmp_path / "new"


def figure(sha: str, rtol: float = 1e-9) -> Artefact:
    """The entry of a figure whose files have one hash."""
    files = dict.fromkeys(("f.csv", "f.dark.svg", "f.svg"), sha)
    return Artefact("f", "figure", files, alt="A line that falls.", rtol=rtol)


def test_a_page_holds_both_pictures_and_the_rows_that_moved(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    found = compare(figure("1"), figure("2"), *folders)
    assert found.outcome == DIFFERENT
    page = write_page(tmp_path / "page", "f differs", "x", [("part/a", found, folders)], ("then", "now"))
    text = page.read_text()
    for side, label in (("first", "then"), ("second", "now")):
        assert f'<img src="{side}/f.svg" alt="A line that falls. ({label})"' in text
        assert (page.parent / side / "f.svg").exists()
    assert "<td>0.5</td><td>0.75</td>" in text
    assert (page.parent / "first/f.svg").read_text() == "<svg>old</svg>"


def test_outcomes_from_best_to_worst(folders: tuple[Path, Path]) -> None:
    assert compare(figure("1"), figure("1"), *folders).outcome == SAME_BYTES
    near = compare(figure("1", rtol=0.6), figure("2"), *folders)
    assert (near.outcome, near.notes) == (SAME_NUMBERS, ("bytes differ: f.csv, f.dark.svg, f.svg",))
    gone = compare(figure("1"), None, *folders)
    assert (gone.outcome, gone.notes) == (DIFFERENT, ("the notebook no longer records it",))
    assert compare(None, figure("1"), *folders).outcome == DIFFERENT
    number = Artefact("f", "number", value=1.0, display="1")
    assert compare(figure("1"), number, *folders).notes == ("kind: figure → number",)


def test_text_is_never_markup(folders: tuple[Path, Path], tmp_path: Path) -> None:
    pd.DataFrame({"model": ["<i>b"], "score": [0.5]}).to_csv(folders[1] / "f.csv", index=False)
    found = compare(figure("1"), figure("2"), *folders)
    page = write_page(tmp_path / "page", "t", "s", [("part/a", found, folders)], ("a", "b")).read_text()
    assert "&lt;b&gt;a" in page
    assert "<b>a" not in page


@pytest.mark.parametrize(("seconds", "words"), [(59, "59 s"), (150, "2 min"), (9000, "2.5 h")])
def test_times_in_words(seconds: float, words: str) -> None:
    assert durations.in_words(seconds) == words
