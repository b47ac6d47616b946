"""The commands of "Try it" boxes run, at the smallest sizes; of those that differ in values alone, one."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from benchtrust.compendium import notebooks, parameters, profiles, run
from benchtrust.compendium.notebooks import NotebookError

PLACEHOLDER = re.compile(r"/path/to/|my_|^your_|\b(MODEL|LARGER_MODEL|FILE|NAME)\b|^build/|recorded/papers")
ABSENT = "not on this machine"
NAMES = {"A": "alpha", "B": "beta", "NAME": "my_set"}
"""Models and a benchmark of one's own → those of the table that stands for it."""


def words(command: str) -> list[str]:
    """Values of ``-p``, as ``name=value``."""
    parts = shlex.split(command)
    return [part for before, part in pairwise(parts) if before == "-p"]


def distinct() -> dict[tuple[str, ...], str]:
    """Commands that run a notebook with parameters, by the notebook and the names of these."""
    found: dict[tuple[str, ...], str] = {}
    for name in notebooks.in_book():
        for command in notebooks.read(name).commands:
            if command.startswith(f"benchtrust run {name} -p"):
                found.setdefault((name, *(word.partition("=")[0] for word in words(command))), command)
    return found


@pytest.fixture
def own(own_matrix: Path, own_table: Path, tmp_path: Path) -> dict[str, str]:
    """Files that stand for the reader's own, by what a command needs."""
    scores = pd.DataFrame({"alpha": [0.4, 0.6], "beta": [0.5, 0.5]}, ["plain", "polite"])
    scores.to_csv(tmp_path / "scores.csv")
    return {"matrix": str(own_matrix), "table": str(own_table), "scores": str(tmp_path / "scores.csv")}


def stand_in(name: str, word: str, own: dict[str, str]) -> str:
    """A value, with a file that is there for the reader's own."""
    parameter, _, value = word.partition("=")
    if set(value.split(",")) <= set(NAMES):
        return f"{parameter}={','.join(NAMES[part] for part in value.split(','))}"
    if not PLACEHOLDER.search(value):
        return word
    if parameter == "scores_path":
        return f"scores_path={own['scores']}"
    if parameter == "model":
        return "model=model-03"
    if parameter == "distributions_path" or "MODEL" in value or "recorded" in value or "build" in value:
        pytest.skip(f"needs a recording of one's own: {word}")
    matrix = name.startswith("efficiency") and name != "efficiency/configurations"
    files = [own["matrix" if matrix else "table"] if PLACEHOLDER.search(v) else v for v in value.split(",")]
    return f"{parameter}={','.join(files)}"


@pytest.mark.parametrize("command", distinct().values())
def test_a_command_to_try_runs(command: str, own: dict[str, str]) -> None:
    name = shlex.split(command)[2]
    source = notebooks.read(name)
    given = parameters.parse([stand_in(name, word, own) for word in words(command)], source.parameters)
    try:
        outcome = run(
            name, profiles.values("smoke").get(name, {}) | given, "manual", force=True, position=None
        )
    except NotebookError as error:
        if ABSENT in str(error):
            pytest.skip(str(error).splitlines()[-1][:200])
        raise
    print(f"{command}: {outcome.seconds:.0f} s", *outcome.left_out, sep="\n    ")
    assert outcome.state == "executed"
