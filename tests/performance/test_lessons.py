"""The lessons of the course: their notebooks, at the sizes for a class, run in under two minutes together."""

import re
from pathlib import Path

import pytest

from benchtrust.compendium import run

COURSE = (Path(__file__).parents[2] / "book/course.md").read_text("utf-8")
COMMAND = re.compile(r"^benchtrust run (\S+) --profile classroom$", re.MULTILINE)
SECTIONS = [text for text in COURSE.split("\n## ") if COMMAND.search(text)]
LESSONS = {text.splitlines()[0]: COMMAND.findall(text) for text in SECTIONS}
SECONDS = 120


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs_in_two_minutes(lesson: str) -> None:
    seconds = {name: run(name, {}, "classroom", force=True).seconds for name in LESSONS[lesson]}
    print(f"{lesson}: " + ", ".join(f"{name} {own:.0f} s" for name, own in seconds.items()))
    assert sum(seconds.values()) <= SECONDS
