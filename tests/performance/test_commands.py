"""The commands of "Try it" boxes run, at the smallest sizes; of those that differ in values alone, one."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from benchtrust.compendium import notebooks, parameters, profiles, run
from benchtrust.compendium.notebooks import NotebookError

PLACEHOLDER = re.compile(
    r"/path/to/|my_|^your_|^air_bench|^wmdp|^safetybench|\b(MODEL|LARGER_MODEL|FILE|NAME)\b|^build/|recorded/papers"
)
ABSENT = "not on this machine", "data/recorded/distributions/practice"
"""What an error says where data are not here, or where the page tells the reader to record them first."""
OURS = ("benchmarks", "models", "benchmark", "model", "matrices")
"""Parameters by which the smallest sizes name what a table of one's own does not hold."""
FITTED = {"efficiency/saturation": {"ceiling": 0.5}, "efficiency/subsets": {"k": 10}}
"""What the stand-in, of 30 items and few models, takes besides."""
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
    if "boolq" in value:
        return f"{parameter}=my_set"
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
    small = profiles.values("smoke").get(name, {})
    theirs = bool(set(own.values()) & {str(value) for value in given.values()})
    if theirs or "closely" in given:
        small = {key: value for key, value in small.items() if key not in OURS}
    if theirs:
        small |= FITTED.get(name, {})
    try:
        outcome = run(name, small | given, "manual", force=True, position=None)
    except NotebookError as error:
        if any(text in str(error) for text in ABSENT):
            pytest.skip(str(error).splitlines()[-1][:200])
        raise
    print(f"{command}: {outcome.seconds:.0f} s", *outcome.left_out, sep="\n    ")
    assert outcome.state == "executed"
