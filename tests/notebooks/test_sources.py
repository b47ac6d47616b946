"""The book's notebook sources keep its rules, and every profile fits them."""

import pytest

from benchtrust.compendium import notebooks, profiles
from benchtrust.compendium.lint import problems
from benchtrust.compendium.notebooks import Cell, Notebook, read, table_of_contents

NOTEBOOKS = notebooks.available()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_keeps_the_rules(name: str) -> None:
    assert problems(read(name)) == []


@pytest.mark.parametrize("profile", profiles.available())
def test_profile_names_and_types_fit(profile: str) -> None:
    profiles.values(profile)


def test_each_page_of_the_book_has_a_source() -> None:
    prose = {path.stem for path in (notebooks.folder().parent / "book").glob("*.md")}
    assert set(table_of_contents()) <= prose | set(NOTEBOOKS)


def sketch(*cells: Cell, kernel: str = "python3", metadata: dict | None = None) -> Notebook:
    parameters = Cell("code", "seed: int = 1", ("parameters",))
    title = Cell(
        "markdown", "# Title\n\n## Try it\n\n```{exercise}\n# no heading\n```\n\n```{solution} x\n```"
    )
    return Notebook(
        "part/x", notebooks.folder() / "x.ipynb", (title, parameters, *cells), kernel, metadata or {}
    )


@pytest.mark.parametrize(
    ("notebook", "message"),
    [
        (sketch(), ""),
        (sketch(Cell("code", "x = 1", outputs=({},))), "holds outputs"),
        (sketch(Cell("code", "x = 1", execution_count=1)), "holds outputs"),
        (sketch(Cell("code", "\n".join(["x = 1"] * 13))), "13 lines"),
        (sketch(Cell("code", "def f(): ...")), "defines f"),
        (sketch(Cell("code", "if True:\n    class A: ...")), "defines A"),
        (sketch(Cell("code", "%matplotlib inline")), "not valid Python"),
        (sketch(Cell("markdown", "# Second")), "2 first-level headings"),
        (sketch(Cell("markdown", "## A\n\n#### B")), "skips a level"),
        (sketch(Cell("markdown", "```{exercise}\n```")), "2 exercises but 1 solutions"),
        (sketch(kernel="ir"), "kernel is 'ir'"),
        (sketch(metadata={"papermill": {}}), "metadata hold papermill"),
        (sketch(Cell("code", "n: int = 1", ("parameters",))), "2 cells tagged"),
        (Notebook("part/x", notebooks.folder() / "x.ipynb", (), "python3"), "0 cells tagged"),
    ],
)
def test_each_rule(notebook: Notebook, message: str) -> None:
    found = problems(notebook)
    assert any(message in problem for problem in found) if message else found == []


def test_parameters_may_have_more_lines_than_a_cell() -> None:
    many = Cell("code", "\n".join(f"n{i}: int = {i}" for i in range(13)), ("parameters",))
    page = Notebook(
        "part/x", notebooks.folder() / "x.ipynb", (Cell("markdown", "# Title\n\n## Try it"), many), "python3"
    )
    assert not any("lines" in problem for problem in problems(page))
