"""The command line: short messages, exit codes, a quick start."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchtrust import cli
from benchtrust.compendium import batch, book, checks, runner, sabotage


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Exit code of a call."""
    monkeypatch.setattr(sys, "argv", ["benchtrust", *arguments])
    monkeypatch.setattr(cli, "out", cli.Console(width=200))
    monkeypatch.setattr(cli, "err", cli.Console(width=200, stderr=True))
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return caught.value.code or 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "sorce"), "Did you mean part/source"),
        (("run", "other", "-p", "levle=1"), "Did you mean level"),
        (("run", "other", "-p", "level=x"), "declared float"),
        (("run", "other", "--profile", "papre"), "Did you mean paper"),
        (("run",), "Name one notebook, or give --all"),
        (("run", "other", "--all"), "Name one notebook, or give --all"),
        (("check", "score"), "Did you mean scores"),
        (("check", "scores", "--sabotage"), "give no name, but --seed"),
        (("check", "--sabotage", "--kind", "flip"), "Did you mean flip a response"),
        (("diff", "paper", "papre"), "Did you mean paper"),
        (("why", "bst"), "Did you mean best"),
        (("parameters", "nothing-like-it"), "Valid: part/other"),
    ],
)
def test_mistakes_are_one_message_and_code_2(
    executed_project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    assert call(monkeypatch, *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_parameters_are_shown(
    executed_project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (("parameters", "other"), ("run", "other", "--help")):
        assert call(monkeypatch, *arguments) == 0
        text = capsys.readouterr().out
        for part in ("level", "float", "0.5", "height", "benchtrust run part/other -p level=0.5"):
            assert part in text


def test_help_of_run_teaches_and_lists_the_notebooks(
    executed_project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "run", "--help") == 0
    text = capsys.readouterr().out
    for part in ("Usage", "--profile", "responses_path=own.csv", "part/other", "Other"):
        assert part in text
    assert call(monkeypatch, "run", "--help", "othr") == 2
    assert "Did you mean part/other" in capsys.readouterr().err


def test_where_nothing_is_recorded_it_is_said_where_something_is(
    executed_project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (("why", "best"), ("check", "best"), ("check", "--all")):
        assert call(monkeypatch, *arguments, "--profile", "smoke") == 2
        said = capsys.readouterr().err
        assert "run --all --profile smoke" in said
        assert "by --profile: paper" in said


@pytest.mark.parametrize("name", ["other", "part/other", "notebooks/part/other.ipynb"])
def test_a_notebook_has_several_names(
    executed_project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert call(monkeypatch, "run", name) == 0
    assert "part/other: up to date" in capsys.readouterr().out


def test_the_summary_of_all_notebooks_ends_with_what_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = [
        runner.Outcome("part/source", "executed", 61.24),
        runner.Outcome(
            "part/other", "failed", 2.0, "part/other failed at cell 4 of 5:\n\n    1 / 0\n\nZeroDivisionError"
        ),
        runner.Outcome("part/reader", "blocked", message="part/reader reads the results of part/other."),
        runner.Outcome("part/more", "executed", 1.0),
    ]
    monkeypatch.setattr(batch, "run_all", lambda *_, report, **__: [report(o) or o for o in outcomes])
    assert call(monkeypatch, "run", "--all", "--profile", "smoke") == 1
    told = capsys.readouterr()
    assert [line.split() for line in told.out.splitlines() if "part/source" in line] == [
        ["part/source", "executed", "61.2"]
    ]
    assert "2 executed, 1 failed, 1 blocked" in told.out
    assert "part/source: executed (61.2 s)" in told.err
    assert told.err.rstrip().endswith("part/reader reads the results of part/other.")
    assert "    1 / 0\n\nZeroDivisionError" in told.err
    assert "\x1b" not in told.out + told.err


def test_what_own_data_could_not_be_asked_is_said(
    executed_project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = runner.Outcome(
        "part/other", "executed", 1.0, left_out=("This needs two models. Left out: First.",)
    )
    monkeypatch.setattr(runner, "run", lambda *_, **__: outcome)
    assert call(monkeypatch, "run", "other", "-p", "level=0.7") == 0
    assert "Not asked of these data: This needs two models. Left out: First." in capsys.readouterr().out


@pytest.mark.parametrize("outcome", ["same bytes", "same numbers", "DIFFERENT", "cannot check"])
def test_exit_codes_of_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], outcome: str
) -> None:
    worst, other = checks.Verdict("line", outcome, ("0.5 → 1.0",)), checks.Verdict("dot", "same bytes")
    monkeypatch.setattr(checks, "check", lambda name, profile: worst)
    monkeypatch.setattr(checks, "check_all", lambda profile, say: [worst, other])
    for arguments in (("check", "line"), ("check", "--all", "--profile", "smoke")):
        assert call(monkeypatch, *arguments) == {"DIFFERENT": 1, "cannot check": 2}.get(outcome, 0)
        text = capsys.readouterr().out
        assert f"{outcome}  line (inputs unchanged)" in text
        assert "0.5 → 1.0" in text


@pytest.mark.parametrize("holds", [True, False])
def test_exit_codes_of_sabotage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], holds: bool
) -> None:
    expected = frozenset({"line", "dot"} if holds else {"dot"})
    outcome = sabotage.Outcome(
        "drop an item", "i0", ("n",), (), expected, frozenset({"line", "dot"}), expected
    )
    monkeypatch.setattr(sabotage, "sabotage", lambda *given, **named: [outcome])
    assert call(monkeypatch, "check", "--sabotage") == (0 if holds else 1)
    text = capsys.readouterr().out
    assert ("does NOT hold" in text) == ("changed without an edge: line" in text) == (not holds)


def test_why_names_what_has_moved(
    executed_project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = executed_project / "data/scores.csv"
    before = path.read_bytes()
    for content, said in ((before, "Moved since: nothing"), (b"m,s\n", "Moved since: data/scores.csv")):
        path.write_bytes(content)
        try:
            assert call(monkeypatch, "why", "best") == 0
        finally:
            path.write_bytes(before)
        assert said in capsys.readouterr().out


def test_a_group_is_loaded_only_when_called(
    executed_project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(cli.GROUPS, "absent", ("no.such.module:app", "A group for later."))
    monkeypatch.setitem(cli.GROUPS, "again", ("benchtrust.cli:app", "The same commands."))
    assert call(monkeypatch, "--help") == 0
    assert "A group for later." in capsys.readouterr().out
    assert call(monkeypatch, "again", "parameters", "other") == 0
    assert "part/other" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["benchtrust", "absent", "command"])
    with pytest.raises(ModuleNotFoundError):
        cli.main()


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    code = "import sys; from benchtrust import cli; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("torch", "papermill", "sphinx", "pandas", "matplotlib", "numpy"):
        assert f"'{heavy}'" not in loaded
    started = time.process_time()
    subprocess.run([sys.executable, "-m", "benchtrust.cli", "--help"], capture_output=True, check=True)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(("option", "solutions"), [((), True), (("--without-solutions",), False)])
def test_the_book_has_solutions_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...], solutions: bool
) -> None:
    called = {}
    monkeypatch.setattr(cli, "_run_all", lambda *_, **__: None)
    monkeypatch.setattr(book, "build", lambda profile, **options: called.update(options))
    assert call(monkeypatch, "book", *option) == 0
    assert called["solutions"] is solutions
