"""Command line: ``benchtrust run · check · why · book · parameters · lint``, and the groups of other parts.

Nothing heavy is imported here: each command imports what it needs when it is called, and each group of
commands is loaded when it is named.
"""

from importlib import import_module
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from benchtrust.errors import BenchtrustError, ParameterError

GROUPS: dict[str, tuple[str, str]] = {
    "models": ("benchtrust.commands.models:app", "The model catalogue, and weights into the cache."),
    "data": (
        "benchtrust.commands.data:app",
        "The pinned benchmark files: what is here, how to get the rest; subsets of items as files.",
    ),
    "grid": (
        "benchtrust.commands.grid:app",
        "Record responses: plan, run (again to continue), status, cost, collect, restore, baselines.",
    ),
    "packages": (
        "benchtrust.commands.packages:app",
        "The same configuration in lm-eval, HELM and Inspect: install, run (again to continue), status.",
    ),
    "card": (
        "benchtrust.commands.card:app",
        "GRID cards: under which harness configuration a score was made.",
    ),
}
"""Groups of commands: name → (``module:app``, one line of help)."""

Profile = Annotated[str | None, typer.Option("--profile", help="File in profiles/ that sets the parameters.")]
Notebook = Annotated[str | None, typer.Argument(help="Id (stability/rank_flips), its last part, or a path.")]
Values = Annotated[list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="Set a parameter.")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Notebooks run at a time (two where there are two cores).")
]
Force = Annotated[bool, typer.Option("--force", help="Run even what is up to date.")]

out = Console()
err = Console(stderr=True)


class Deferred(TyperGroup):
    """A group of commands whose module is imported only when one of them is called."""

    def __init__(self, name: str, target: str, help: str) -> None:
        super().__init__(name=name, help=help)
        self.target = target

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Load the real group and hand over to it."""
        module, _, attribute = self.target.partition(":")
        group = typer.main.get_command(getattr(import_module(module), attribute))
        return group.make_context(info_name, args, parent=parent, **extra)


class Groups(TyperGroup):
    """The commands of this module and the deferred groups of `GROUPS`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of help."""
        return [*super().list_commands(ctx), *GROUPS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Command by name."""
        if cmd_name in GROUPS:
            return Deferred(cmd_name, *GROUPS[cmd_name])
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=Groups,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="How far can a safety benchmark's score be trusted?",
)


@app.command()
def run(
    notebook: Notebook = None,
    p: Values = None,
    profile: Profile = None,
    all_: Annotated[bool, typer.Option("--all", help="All notebooks of the book.")] = False,
    jobs: Jobs = None,
    force: Force = False,
    help_parameters: Annotated[
        bool, typer.Option("--help-parameters", help="Show the notebook's parameters and stop.")
    ] = False,
) -> None:
    """Run one notebook, or all of the book, where something has changed.

    With -p and no --profile the run goes to build/manual and leaves the book alone.
    """
    from benchtrust.compendium import notebooks, profiles, runner
    from benchtrust.compendium.parameters import parse
    from benchtrust.compendium.published import Places

    if all_ == (notebook is not None):
        raise ParameterError("Name one notebook, or give --all.")
    if all_:
        if p:
            raise ParameterError("-p belongs to one notebook: put values for several into a profile.")
        _run_all(profile or profiles.PAPER, jobs, force)
        return
    source = notebooks.read(notebooks.resolve(notebook or ""))
    if help_parameters:
        _show_parameters(source)
        return
    values = parse(p or [], source.parameters)
    chosen = profile or (profiles.MANUAL if values else profiles.PAPER)
    outcome = runner.run(source.id, values, chosen, force=force)
    places = Places(chosen, source.id)
    out.print(f"{outcome.notebook}: {outcome.state} ({outcome.seconds:.1f} s)", highlight=False)
    out.print(f"{places.executed}\n{places.results}", highlight=False, soft_wrap=True)


def _run_all(profile: str, jobs: int | None, force: bool) -> None:
    """Run the book's notebooks, show a table of what became of each, and exit with 1 after a failure."""
    from rich.table import Table

    from benchtrust.compendium.batch import run_all

    def say(outcome: Any) -> None:
        if not err.is_terminal:
            err.print(f"{outcome.notebook}: {outcome.state} ({outcome.seconds:.1f} s)", highlight=False)

    outcomes = run_all(profile, jobs=jobs, force=force, report=say)
    table = Table("notebook", "state", box=None, title=f"profile {profile}", title_justify="left")
    table.add_column("seconds", justify="right")
    colors = {"executed": "green", "up to date": "dim", "failed": "red", "blocked": "yellow"}
    for outcome in outcomes:
        color = colors[outcome.state]
        table.add_row(outcome.notebook, f"[{color}]{outcome.state}[/]", f"{outcome.seconds:.1f}")
    out.print(table)
    bad = [outcome for outcome in outcomes if outcome.state in ("failed", "blocked")]
    for outcome in bad:
        err.print(f"\n{outcome.message}", style="red", highlight=False, markup=False, soft_wrap=True)
    if bad:
        raise typer.Exit(1)


@app.command()
def parameters(notebook: Annotated[str, typer.Argument(help="Id, its last part, or a path.")]) -> None:
    """Show a notebook's parameters: name, type, default, help."""
    from benchtrust.compendium import notebooks

    _show_parameters(notebooks.read(notebooks.resolve(notebook)))


def _show_parameters(source: Any) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "type", "default", "help", box=None, title=source.id, title_justify="left")
    for parameter in source.parameters.values():
        cells = (parameter.name, parameter.type, repr(parameter.default), parameter.help)
        table.add_row(*map(Text, cells))
    out.print(table)
    if source.parameters:
        example = next(iter(source.parameters.values())).example
        out.print(f"benchtrust run {source.id} {example}", highlight=False, soft_wrap=True)


@app.command()
def book(
    profile: Annotated[str, typer.Option("--profile", help="File in profiles/.")] = "paper",
    jobs: Jobs = None,
    force: Annotated[bool, typer.Option("--force", help="Build even if nothing has changed.")] = False,
    solutions: Annotated[
        bool,
        typer.Option("--with-solutions/--without-solutions", help="Whether exercises have their solutions."),
    ] = True,
) -> None:
    """Run what has changed, build the book, print the path of its first page.

    Without solutions the pages go to a folder of their own, and the published ones stay.
    """
    from benchtrust.compendium.book import build

    _run_all(profile, jobs, force=False)
    page = build(profile, force=force, solutions=solutions)
    out.print(f"Open file://{page}", highlight=False, soft_wrap=True)


@app.command()
def check(
    name: Annotated[str | None, typer.Argument(help="Name of a figure, table or number.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Everything that the book shows.")] = False,
    profile: Annotated[str, typer.Option("--profile", help="File in profiles/.")] = "paper",
) -> None:
    """Run the notebook behind an artefact again and compare. Exit: 0 same, 1 different, 2 cannot check."""
    from benchtrust.compendium.checks import check as compare
    from benchtrust.compendium.checks import check_all

    if all_ == (name is not None):
        raise ParameterError("Name one artefact, or give --all.")
    verdicts = check_all(profile) if all_ else [compare(name or "", profile)]
    for verdict in verdicts:
        color = {0: "green", 1: "red", 2: "yellow"}[verdict.code]
        out.print(f"[{color}]{verdict.outcome:>14}[/]  {verdict.name}", highlight=False)
        for line in verdict.details:
            out.print(f"                {line}", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(max(verdict.code for verdict in verdicts))


@app.command()
def why(
    name: Annotated[str, typer.Argument(help="Name of a figure, table or number.")],
    profile: Annotated[str, typer.Option("--profile", help="File in profiles/.")] = "paper",
) -> None:
    """Show what an artefact was made from, back to the data, and what has changed since."""
    from benchtrust.compendium.lineage import tree

    out.print(tree(name, profile))


@app.command()
def lint() -> None:
    """Check all notebook sources against the rules of the book. Exit: 0 clean, 1 problems."""
    from benchtrust.compendium import notebooks
    from benchtrust.compendium.lint import problems

    found = [f"{name}: {text}" for name in notebooks.available() for text in problems(notebooks.read(name))]
    for line in found:
        out.print(line, highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(bool(found))


def main() -> None:
    """Entry point: an error that the user can act on is one red message and exit code 2."""
    try:
        app()
    except BenchtrustError as error:
        err.print(str(error), style="red", highlight=False, markup=False, soft_wrap=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
