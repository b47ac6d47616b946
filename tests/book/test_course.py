"""The course and the theory: solutions that are code run, lessons have their notebooks and small sizes."""

import re
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchtrust.compendium import notebooks, profiles

BOOK = Path(__file__).parents[2] / "book"
THEORY = [BOOK / f"{name}.md" for name in ("flips", "theory_variance", "theory_irt", "theory_harmony")]
COURSE = BOOK / "course.md"
GRADES = ["easy", "medium", "hard"]
LESSON = re.compile(r"^## (\d) · (.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
LESSONS = dict(LESSON.findall(COURSE.read_text("utf-8")))


def fences(text: str) -> list[Token]:
    """Fenced blocks of the outermost level."""
    return [token for token in MarkdownIt().parse(text) if token.type == "fence"]


@cache
def prose() -> dict[str, str]:
    """Text of each page, notebooks' markdown included."""
    pages = {path.stem: path.read_text("utf-8") for path in BOOK.glob("*.md")}
    for name in notebooks.available():
        cells = notebooks.read(name).cells
        pages[name] = "\n\n".join(cell.source for cell in cells if cell.kind == "markdown")
    return pages


def blocks(kind: str, text: str) -> dict[str, str]:
    """Content of the exercises by title, or of the solutions by the exercise that they solve."""
    head = f"{{{kind}}} "
    return {f.info.removeprefix(head): f.content for f in fences(text) if f.info.startswith(head)}


@cache
def solutions() -> dict[str, str]:
    """Code of all solutions by exercise."""
    found = {}
    for text in prose().values():
        for exercise, content in blocks("solution", text).items():
            code = "\n".join(block.content for block in fences(content) if block.info == "python")
            found |= {exercise: code} if code else {}
    return found


@pytest.mark.parametrize("exercise", solutions())
def test_a_solution_that_is_code_runs_and_asserts(exercise: str) -> None:
    code = solutions()[exercise]
    assert re.search(r"^\s*assert ", code, re.MULTILINE), "it asserts nothing"
    exec(compile(code, exercise, "exec"), {"__name__": exercise})


def test_the_course_and_each_theory_page_have_solutions_that_are_code() -> None:
    run = set(solutions())
    for page in [*THEORY[1:], COURSE]:
        assert len(run & set(blocks("solution", page.read_text("utf-8")))) >= 3, page


def test_nothing_can_link_to_a_solution_so_that_none_is_missed_where_they_are_left_out() -> None:
    for page, text in prose().items():
        for exercise, content in blocks("solution", text).items():
            assert ":label:" not in content, (page, exercise)


@pytest.mark.parametrize("page", [*THEORY, COURSE], ids=lambda path: path.stem)
def test_each_exercise_has_a_solution(page: Path) -> None:
    text = page.read_text("utf-8")
    labels = re.findall(r"^:label: (\S+)$", "\n".join(blocks("exercise", text).values()), re.MULTILINE)
    assert len(labels) == len(blocks("exercise", text)) >= 3
    assert sorted(blocks("solution", text)) == sorted(labels)


@pytest.mark.parametrize("page", [*THEORY[1:]], ids=lambda path: path.stem)
def test_theory_pages_go_from_easy_to_hard(page: Path) -> None:
    titles = blocks("exercise", page.read_text("utf-8"))
    assert [re.search(r" · (\w+)$", title)[1] for title in titles] == GRADES


def test_there_are_six_lessons() -> None:
    assert list(LESSONS) == list("123456")


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_has_its_parts_and_exercises_from_easy_to_hard(lesson: str) -> None:
    text = LESSONS[lesson]
    for part in ("Aims", "Prerequisites", "Reading", "Notebooks", "Also to be solved"):
        assert re.search(rf"^\*{part}[.:]\*", text, re.MULTILINE), part
    grades = [re.search(r" · (\w+)$", title)[1] for title in blocks("exercise", text)]
    assert grades == sorted(grades, key=GRADES.index)
    others = re.findall(r"\{ref\}`(ex-[\w-]+)`", text)
    assert 3 <= len(grades) + len(others) <= 6
    labels = re.findall(r"^:label: (ex-\S+)$", "\n".join(prose().values()), re.MULTILINE)
    assert set(others) <= set(labels)


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_notebooks_of_a_lesson_have_sizes_for_a_class(lesson: str) -> None:
    text = LESSONS[lesson]
    commands = re.findall(r"^benchtrust run (\S+) --profile classroom$", text, re.MULTILINE)
    named = re.search(r"^\*Notebooks\.\*(.*?)(?:;|\.$)", text, re.MULTILINE | re.DOTALL)[1]
    assert commands == re.findall(r"\{doc\}`([^`]+)`", named)
    assert len(commands) >= 2
    assert set(commands) <= set(notebooks.in_book())
    assert set(commands) <= set(profiles.values("classroom"))
