"""Every command on a page is one: its words and options, notebook, profile, parameters and their values."""

import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from typer.core import TyperCommand

from benchtrust import cli
from benchtrust.compendium import notebooks, parameters, profiles
from benchtrust.errors import BenchtrustError

ROOT = notebooks.folder().parent
PAGES = {name: notebooks.read(name).prose for name in notebooks.available()}
PAGES |= {path.name: path.read_text("utf-8") for path in (*(ROOT / "book").glob("*.md"), ROOT / "README.md")}
SHOWN = [(page, command) for page, text in PAGES.items() for command in notebooks.commands(text)]
OURS = [(page, command) for page, command in SHOWN if re.match(r"(\.venv/bin/)?benchtrust ", command)]


@pytest.fixture
def parse(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """Options and arguments of a command after all checks of the command line, before anything is done."""
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(TyperCommand, "invoke", lambda self, context: seen.append(context.params))

    def call(command: str) -> dict[str, Any]:
        with pytest.raises(SystemExit) as done:
            cli.app(shlex.split(command)[1:])
        assert not done.value.code, command
        return seen.pop()

    return call


def check_run(given: dict[str, Any]) -> None:
    """A `run` names a notebook, a profile and parameters that there are, with values of their types."""
    if given["profile"]:
        profiles.values(given["profile"])
    assert given["notebook"] or given["all_"] or given["help_"]
    if given["notebook"]:
        source = notebooks.read(notebooks.resolve(given["notebook"]))
        parameters.parse(given["p"] or [], source.parameters)


@pytest.mark.parametrize(("page", "command"), OURS)
def test_a_command_on_a_page_is_one(parse: Callable, page: str, command: str) -> None:
    given = parse(command)
    if shlex.split(command)[1] == "run":
        check_run(given)


def test_each_notebook_shows_a_command_that_runs_it() -> None:
    for name in notebooks.available():
        assert any(
            command.startswith(f"benchtrust run {name}") for command in notebooks.read(name).commands
        ), name


@pytest.mark.parametrize(
    "command",
    [
        "benchtrust rn stability/rank_flips",
        "benchtrust run stability/rank_flips --profil paper",
        "benchtrust run stability/rank_flops",
        "benchtrust run stability/rank_flips -p margn=0.1",
        "benchtrust run stability/rank_flips -p margin=wide",
        "benchtrust grid run --items many",
        "benchtrust grid rn",
        "benchtrust run",
    ],
)
def test_a_mistake_in_a_command_is_seen(parse: Callable, command: str) -> None:
    with pytest.raises((BenchtrustError, AssertionError)):
        check_run(parse(command))
