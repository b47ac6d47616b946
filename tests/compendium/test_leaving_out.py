"""What cannot be asked of own data is left out of the page, with what rests on it; the rest runs."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from benchtrust.compendium import leaving_out, ledger, run
from benchtrust.compendium.notebooks import NotebookError

RECORD = 'from benchtrust.compendium import Recorder\nrecord = Recorder("part/other", globals())'
REFUSE = 'from benchtrust.errors import NotAskableError\nraise NotAskableError("This needs two models.")'
CELLS = [
    RECORD,
    "before = 1",
    "# First\n\nProse of the first.",
    f"{REFUSE}\nscores = before",
    'record.number("first", scores)',
    "# Second\n\nProse of the second.",
    'record.number("second", before)',
    "after = [score for score in scores]",
    "# Between\n\n```bash\n# no heading\n```\n\n# Third\n\nProse of the third.",
    'record.number("third", len(after))',
]


def test_a_section_that_cannot_be_asked_takes_only_what_rests_on_it(
    small_project: Path, notebook_maker: Callable[..., Path]
) -> None:
    notebook_maker(small_project / "notebooks/part/other.ipynb", CELLS)
    outcome = run("other", {"seed": 2}, "manual")
    assert outcome.left_out == ("This needs two models. Left out: First; Second; Third.",)
    build = small_project / "build/manual"
    assert list(ledger.read(build / "results/part/other").artefacts) == ["second"]
    page = nbformat.read(build / "notebooks/part/other.ipynb", as_version=4)
    prose = "\n".join(cell.source for cell in page.cells if cell.cell_type == "markdown")
    assert prose.count("This needs two models.") == 1
    for kept in ("Prose of the second.", "# Between", "# no heading"):
        assert kept in prose
    for gone in ("Prose of the first.", "# Third"):
        assert gone not in prose
    nbformat.validate(page)
    assert run("other", {"seed": 2}, "manual").left_out == outcome.left_out, "told again when up to date"


def test_in_the_book_nothing_is_left_out(small_project: Path, notebook_maker: Callable[..., Path]) -> None:
    notebook_maker(small_project / "notebooks/part/other.ipynb", CELLS)
    with pytest.raises(NotebookError, match="NotAskableError: This needs two models"):
        run("other")


def test_another_error_is_a_failure_in_a_run_by_hand_too(
    small_project: Path, notebook_maker: Callable[..., Path]
) -> None:
    notebook_maker(small_project / "notebooks/part/other.ipynb", [RECORD, "raise ValueError('no')", "x = 1"])
    with pytest.raises(NotebookError, match="failed at cell 4 of 5"):
        run("other", {"seed": 2}, "manual")


@pytest.mark.parametrize(
    ("source", "used", "given"),
    [
        ("x = y", {"y"}, {"x"}),
        ("x = x + 1", {"x"}, {"x"}),
        ("x = 1\nz = x", set(), {"x", "z"}),
        ('cells["lost"] = cells["n"]', {"cells"}, {"cells"}),
        ("for row in rows:\n    total = row", {"rows"}, {"row", "total"}),
        ("for row in rows:\n    cells[row] = cells[0]", {"rows", "cells"}, {"row", "cells"}),
        ("if here:\n    cells = {}\n    cells[0] = 1", {"here"}, {"cells"}),
        ("own = [f(x) for x in own]", {"own", "f"}, {"own"}),
        ("record.table('t', g.agg(lambda own: own.max()))", {"record", "g"}, set()),
        ("import numpy as np\nfrom a.b import c", set(), {"np", "c"}),
        ("record.keep(facts=f)", {"record", "f"}, {"kept facts"}),
        (
            "a, b = (record.kept(n) for n in ('one', 'two'))",
            {"record", "kept one", "kept two"},
            {"a", "b"},
        ),
        ("with style():\n    fig = draw(cells)", {"style", "draw", "cells"}, {"fig"}),
    ],
)
def test_names_that_a_cell_takes_and_gives(source: str, used: set[str], given: set[str]) -> None:
    assert leaving_out.names(source) == (used, given)
