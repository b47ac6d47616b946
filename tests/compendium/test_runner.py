"""Runs: whole or not at all, in the right order, and only when something has changed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchtrust.compendium import ledger, notebooks, profiles, run, run_all
from benchtrust.compendium.notebooks import NotebookError
from benchtrust.compendium.published import up_to_date
from benchtrust.errors import ParameterError

OTHER = 'from benchtrust.compendium import Recorder\nRecorder("part/other", globals()).number("n", 1)'


def stale(profile: str = "paper") -> set[str]:
    """Notebooks that would run again."""
    values = profiles.values(profile)
    sources = map(notebooks.read, notebooks.in_book())
    return {
        source.id
        for source in sources
        if not up_to_date(source, profiles.effective(source, values.get(source.id, {})), profile)
    }


def files(folder: Path) -> dict[str, bytes]:
    """Everything published below a build folder."""
    kept = [path for path in sorted(folder.rglob("*")) if path.is_file() and "failed" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in kept}


def test_a_result_is_read_by_the_next_notebook(executed_project: Path) -> None:
    results = executed_project / "build/paper/results"
    ledgers = ledger.read_all(results)
    assert ledgers["part/reader"].artefacts["best"].value == "b"
    assert list(ledgers["part/reader"].inputs) == ["build/paper/results/part/source/scores.csv"]
    assert set(ledgers["part/source"].sources) == {"src/scale.py"}
    assert stale() == set()
    assert [outcome.state for outcome in run_all("paper")] == ["up to date"] * 3


def test_the_executed_notebook_is_clean(executed_project: Path) -> None:
    text = (executed_project / "build/paper/notebooks/part/source.ipynb").read_text()
    for trace in ("papermill", "iopub", "start_time", str(executed_project)):
        assert trace not in text
    assert not list((executed_project / "build/paper/.tmp").iterdir())


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("data/scores.csv", "0.25", "0.35", {"part/source"}),
        ("src/scale.py", "1.0", "2.0", {"part/source"}),
        ("src/unused.py", "", "X = 1\n", set()),
        ("notebooks/part/other.ipynb", "# Other", "# Another", {"part/other"}),
        ("notebooks/part/other.ipynb", "level: float = 0.5", "level: float = 0.6", {"part/other"}),
        ("profiles/paper.toml", "", '["part/other"]\nlevel = 0.7\n', {"part/other"}),
        ("profiles/paper.toml", "", '["part/other"]\nlevel = 0.5\n', set()),
        ("requirements.lock", "2.4.6", "2.4.7", {"part/source", "part/reader", "part/other"}),
        ("build/paper/results/part/source/scores.csv", "0.25", "0.45", {"part/reader"}),
        ("_toc.yml", "format", "# pages\nformat", set()),
    ],
)
def test_a_change_outdates_exactly_what_depends_on_it(
    executed_project: Path, file: str, old: str, new: str, expected: set[str]
) -> None:
    path = executed_project / file
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new, 1) if old else new)
    try:
        assert stale() == expected
    finally:
        path.write_text(before)
    assert stale() == set()


@pytest.mark.parametrize("gone", ["keys/part/other.json", "notebooks/part/other.ipynb", "data"])
def test_what_is_gone_is_run_again(executed_project: Path, gone: str) -> None:
    path = executed_project / ("data/scores.csv" if gone == "data" else f"build/paper/{gone}")
    away = path.with_suffix(".away")
    path.rename(away)
    try:
        assert stale() == ({"part/source"} if gone == "data" else {"part/other"})
    finally:
        away.rename(path)


def test_changed_data_reach_the_reader_only_if_the_result_changes(
    executed_project: Path, tmp_path: Path
) -> None:
    build, path = executed_project / "build", executed_project / "data/scores.csv"
    before = path.read_text()
    shutil.copytree(build, tmp_path / "build")
    try:
        path.write_text(before.replace("\n", "\r\n"))
        assert [outcome.state for outcome in run_all("paper")] == ["executed", "up to date", "up to date"]
    finally:
        path.write_text(before)
        shutil.rmtree(build)
        shutil.move(tmp_path / "build", build)
    assert stale() == set()


FAILURES = {
    "raises": ("x = 1\nraise ValueError('\\x1b[31mno such cell\\x1b[0m')", "ValueError: no such cell"),
    "exits": ("import sys\nsys.exit()", "SystemExit|not executed"),
    "dies": ("import os\nos._exit(1)", "Kernel died"),
    "records twice": (
        'r = Recorder("part/other", globals())\nr.number("a", 1)\nr.number("a", 1)',
        "already recorded",
    ),
    "takes a name": (
        'Recorder("part/other", globals()).number("taken", 1)',
        "part/other records 'taken', as part/source does",
    ),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_publishes_nothing(
    small_project: Path, notebook_maker: Callable[..., Path], kind: str
) -> None:
    code, message = FAILURES[kind]
    imports = "from benchtrust.compendium import Recorder"
    path = small_project / "notebooks/part/other.ipynb"
    notebook_maker(path, [OTHER])
    if kind == "takes a name":
        other = f'{imports}\nRecorder("part/source", globals()).number("taken", 1)'
        notebook_maker(small_project / "notebooks/part/source.ipynb", [other])
        run("source")
    if kind == "raises":
        run("other")
    before = files(small_project / "build/paper")
    notebook_maker(path, [imports, code, "print('after')"])
    with pytest.raises(NotebookError, match=message) as caught:
        run("other")
    assert files(small_project / "build/paper") == before
    failed = small_project / "build/paper/failed/part"
    assert (failed / "other.ipynb").exists()
    assert (failed / "other.txt").read_text().strip() == str(caught.value)
    assert "part/other" in stale()
    if kind == "raises":
        for part in ("part/other failed at cell 4 of 5", "raise ValueError", "no such cell"):
            assert part in str(caught.value)
        assert "\x1b" not in str(caught.value)
        notebook_maker(path, [OTHER])
        assert run("other").state == "executed"
        assert not list(failed.iterdir())


def test_refused_before_execution(small_project: Path, notebook_maker: Callable[..., Path]) -> None:
    path = small_project / "notebooks/part/other.ipynb"
    with pytest.raises(ParameterError, match="Did you mean level"):
        run("other", {"levle": 0.5})
    with pytest.raises(ParameterError, match="declared float"):
        run("other", {"level": "0.5"})
    refused = [
        ({"kernel": "julia-1.10"}, "kernel is 'julia-1.10'.*python3.*save"),
        ({"parameters": ""}, "found 0 cells tagged 'parameters'"),
        ({"parameters": "seed = 1"}, "typed literal"),
        ({"cells": ["x = ("]}, "not valid Python"),
    ]
    for options, message in refused:
        notebook_maker(path, **({"cells": [OTHER]} | options))
        with pytest.raises(NotebookError, match=message):
            run("other")
    notebook_maker(path, ["x = 1"], "")
    content = json.loads(path.read_text())
    tagged = {"cell_type": "code", "id": "p", "metadata": {"tags": ["parameters"]}, "source": "seed: int = 1"}
    content["cells"].append(tagged | {"outputs": [], "execution_count": None})
    path.write_text(json.dumps(content))
    with pytest.raises(NotebookError, match="before all other code"):
        run("other")
    assert not (small_project / "build").exists()


def test_values_given_by_hand_are_recorded(small_project: Path) -> None:
    run("other", {"level": 2}, profile="manual")
    found = ledger.read(small_project / "build/manual/results/part/other")
    assert found.parameters == {"level": 2.0}
    assert found.artefacts["level-shown"].value == 2.0
    assert not (small_project / "build/paper").exists()


def test_a_failure_blocks_only_its_readers(small_project: Path, notebook_maker: Callable[..., Path]) -> None:
    notebook_maker(small_project / "notebooks/part/source.ipynb", ["raise ValueError('bad')"])
    seen = []
    outcomes = run_all("smoke", jobs=2, report=seen.append)
    assert [outcome.state for outcome in outcomes] == ["failed", "blocked", "executed"]
    assert "ValueError: bad" in outcomes[0].message
    assert "part/source" in outcomes[1].message
    assert len(seen) == 3
    found = ledger.read(small_project / "build/smoke/results/part/other")
    assert found.artefacts["level-shown"].value == 0.1


def test_notebooks_in_a_circle_are_refused(small_project: Path, notebook_maker: Callable[..., Path]) -> None:
    for name, other in (("source", "reader"), ("reader", "source")):
        cell = f'path = record.result("part/{other}", "x")'
        notebook_maker(small_project / f"notebooks/part/{name}.ipynb", [cell])
    with pytest.raises(NotebookError, match="circle"):
        run_all("paper")


def test_plain_papermill_works(small_project: Path, tmp_path: Path) -> None:
    source = str(small_project / "notebooks/part/other.ipynb")
    command = [sys.executable, "-m", "papermill", source, str(tmp_path / "out.ipynb"), "-p", "level", "0.25"]
    subprocess.run(command, check=True, capture_output=True, env=dict(os.environ))
    found = ledger.read(small_project / "build/manual/results/part/other")
    assert found.parameters == {"level": 0.25}
