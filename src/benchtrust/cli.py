"""Command line: ``benchtrust run · check · why · diff · book · release · parameters · lint``, and groups.

Nothing heavy is imported here: each command imports what it needs when it is called, and each group of
commands is loaded when it is named.
"""

from collections import Counter
from importlib import import_module
from pathlib import Path
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


@app.command(add_help_option=False)
def run(
    ctx: typer.Context,
    notebook: Notebook = None,
    p: Values = None,
    profile: Profile = None,
    all_: Annotated[bool, typer.Option("--all", help="All notebooks of the book.")] = False,
    jobs: Jobs = None,
    force: Force = False,
    help_: Annotated[
        bool, typer.Option("--help", help="Show this; after the name of a notebook, its parameters.")
    ] = False,
) -> None:
    """Run one notebook, or all of the book, where something has changed.

    With -p and no --profile the run goes to build/manual and leaves the book alone.

    There own answers may take the place of ours. What cannot be asked of them is left out of the page,
    which says why. In turn: show a notebook's parameters, run it with another value, on own answers, run
    the book at its smallest sizes.

        benchtrust run stability/rank_flips --help
        benchtrust run stability/rank_flips -p margin=0.1
        benchtrust run stability/rank_flips -p responses_path=own.csv
        benchtrust run --all --profile smoke
    """
    from benchtrust.compendium import notebooks, profiles, runner
    from benchtrust.compendium.parameters import parse
    from benchtrust.compendium.published import Places

    if help_ and notebook is None:
        _show_notebooks(ctx)
        return
    if all_ == (notebook is not None):
        raise ParameterError("Name one notebook, or give --all. 'benchtrust run --help' lists them.")
    if all_:
        if p:
            raise ParameterError("-p belongs to one notebook: put values for several into a profile.")
        _run_all(profile or profiles.PAPER, jobs, force)
        return
    source = notebooks.read(notebooks.resolve(notebook or ""))
    if help_:
        _show_parameters(source)
        return
    values = parse(p or [], source.parameters)
    chosen = profile or (profiles.MANUAL if values else profiles.PAPER)
    outcome = runner.run(source.id, values, chosen, force=force)
    places = Places(chosen, source.id)
    out.print(f"{outcome.notebook}: {outcome.state} ({outcome.seconds:.1f} s)", highlight=False)
    for line in outcome.left_out:
        out.print(f"Not asked of these data: {line}", style="yellow", highlight=False, markup=False)
    out.print(f"{places.executed}\n{places.results}", highlight=False, soft_wrap=True)


def _show_notebooks(ctx: typer.Context) -> None:
    """Help of `run`, and the notebooks that it can run."""
    from rich.table import Table

    from benchtrust.compendium import notebooks

    ctx.get_help()
    table = Table("notebook", "title", box=None)
    for source in map(notebooks.read, notebooks.available()):
        table.add_row(source.id, source.title)
    out.print(table)


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
    counts = Counter(outcome.state for outcome in outcomes)
    out.print(", ".join(f"{counts[state]} {state}" for state in colors if counts[state]), highlight=False)
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

    title = f"{source.id}: {source.title}"
    table = Table("name", "type", box=None, title=title, title_justify="left")
    for column in ("default", "help"):
        table.add_column(column, overflow="fold")
    for parameter in source.parameters.values():
        cells = (parameter.name, parameter.type, parameter.shown, parameter.help)
        table.add_row(*map(Text, cells))
    out.print(table)
    tried = [command for command in source.commands if command.startswith(f"benchtrust run {source.id} -p")]
    if source.parameters and not tried:
        tried = [f"benchtrust run {source.id} {next(iter(source.parameters.values())).example}"]
    for command in tried:
        out.print(command, highlight=False, markup=False, soft_wrap=True)


@app.command()
def book(
    profile: Annotated[str, typer.Option("--profile", help="File in profiles/.")] = "paper",
    jobs: Jobs = None,
    force: Annotated[bool, typer.Option("--force", help="Build even if nothing has changed.")] = False,
    solutions: Annotated[
        bool,
        typer.Option("--with-solutions/--without-solutions", help="Whether exercises have their solutions."),
    ] = True,
    pdf: Annotated[
        bool,
        typer.Option("--pdf", help="Print it as one PDF too, linked from the first page; needs Chromium."),
    ] = False,
) -> None:
    """Run what has changed, build the book, print the path of its first page.

    Without solutions the pages go to a folder of their own, and the published ones stay.
    """
    from benchtrust.compendium.book import build

    _run_all(profile, jobs, force=False)
    page = build(profile, force=force, solutions=solutions)
    if pdf:
        from benchtrust.compendium.pdf import write

        out.print(f"Printed {write(page.parent)}", highlight=False, soft_wrap=True)
    out.print(f"Open file://{page}", highlight=False, soft_wrap=True)


@app.command()
def check(
    name: Annotated[str | None, typer.Argument(help="Name of a figure, table or number.")] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Everything that the book shows; with --sabotage, every notebook.")
    ] = False,
    profile: Annotated[
        str | None, typer.Option("--profile", help="File in profiles/ (paper; with --sabotage smoke).")
    ] = None,
    sabotage: Annotated[
        bool, typer.Option("--sabotage", help="Damage a copy of the inputs, and see what changes.")
    ] = False,
    seed: Annotated[int, typer.Option(help="With --sabotage: draws what is damaged.")] = 0,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="With --sabotage: 'flip a response', 'drop an item', 'swap two models', 'change a seed'."
        ),
    ] = None,
) -> None:
    """Run the notebook behind an artefact again and compare.

    The answer is whether the inputs are unchanged, and then: same bytes; same numbers, within the tolerance
    that the notebook declares; DIFFERENT, with the cells that moved and a page that shows old and new; or
    cannot check. Exit: 0 same, 1 different, 2 cannot check.

    With --sabotage copies of the inputs are damaged in four ways. Exactly those artefacts must be recorded
    anew that the ledger says hang on the damaged input. Exit: 0 exactly those, 1 others, 2 cannot check.

        benchtrust check fig-scores-by-configuration
        benchtrust check --all --profile smoke
        benchtrust check --sabotage --seed 3 --kind "flip a response"
    """
    if sabotage:
        if name is not None:
            raise ParameterError("--sabotage draws what it damages: give no name, but --seed.")
        _sabotage(profile or "smoke", seed, kind, all_)
        return
    from benchtrust.compendium.checks import check as compare
    from benchtrust.compendium.checks import check_all
    from benchtrust.compendium.profiles import PAPER

    if all_ == (name is not None):
        raise ParameterError("Name one artefact, or give --all.")
    profile = profile or PAPER
    verdicts = check_all(profile, say=_say) if all_ else [compare(name or "", profile)]
    for verdict in verdicts:
        color = {0: "green", 1: "red", 2: "yellow"}[verdict.code]
        out.print(f"[{color}]{verdict.outcome:>14}[/]  {verdict.name} ({verdict.inputs})", highlight=False)
        for line in (*verdict.details, *([f"side by side: {verdict.page}"] if verdict.page else [])):
            out.print(f"                {line}", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(max(verdict.code for verdict in verdicts))


def _say(text: str) -> None:
    """Progress, beside what a command answers."""
    err.print(text, style="dim", highlight=False, markup=False, soft_wrap=True)


def _sabotage(profile: str, seed: int, kinds: list[str] | None, everything: bool) -> None:
    """Damage, run, show a table, and exit with 1 where the ledger's graph does not hold."""
    from rich.table import Table

    from benchtrust.compendium.sabotage import KINDS, sabotage
    from benchtrust.errors import pick

    chosen = [pick(kind, KINDS, "kind of sabotage") for kind in kinds or KINDS]
    outcomes = sabotage(profile, seed, chosen, everything=everything, say=_say)
    table = Table("sabotage", box=None, title=f"seed {seed}, profile {profile}", title_justify="left")
    for column in ("notebooks", "expected", "anew", "moved"):
        table.add_column(column, justify="right")
    table.add_column("the graph")
    for outcome in outcomes:
        numbers = [len(x) for x in (outcome.ran, outcome.expected, outcome.anew, outcome.moved)]
        verdict = "[green]holds[/]" if outcome.holds else "[red]does NOT hold[/]"
        table.add_row(outcome.kind, *map(str, numbers), verdict)
    out.print(table)
    for outcome in outcomes:
        for line in (outcome.damage, *outcome.lines()):
            out.print(f"{outcome.kind}: {line}", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(not all(outcome.holds for outcome in outcomes))


@app.command()
def why(
    name: Annotated[str, typer.Argument(help="Name of a figure, table or number.")],
    profile: Annotated[str, typer.Option("--profile", help="File in profiles/.")] = "paper",
) -> None:
    """Show what an artefact was made from, back to the data, and which hash has moved since.

    benchtrust why fig-scores-by-configuration
    """
    from benchtrust.compendium.lineage import moved, tree

    out.print(tree(name, profile))
    changed = moved(name, profile)
    out.print(
        f"Moved since: {', '.join(changed) or 'nothing'}", highlight=False, markup=False, soft_wrap=True
    )


@app.command()
def diff(
    first: Annotated[str, typer.Argument(help="File in profiles/.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    notebook: Annotated[
        list[str] | None, typer.Argument(help="Notebooks to compare (all of the book by default).")
    ] = None,
    run_: Annotated[bool, typer.Option("--run/--no-run", help="Run what has no fresh results first.")] = True,
) -> None:
    """Compare two sets of parameters: one page of the figures, tables and numbers that moved.

    benchtrust diff paper smoke stability/rank_flips
    benchtrust diff paper classroom --no-run          # of what is there, without running anything
    """
    from benchtrust.compendium.differences import diff as compare

    found = compare(first, second, notebook or [], run_missing=run_, say=_say)
    out.print(f"{found.moved} of {found.compared} artefacts moved.", highlight=False)
    out.print(f"Open file://{found.page}", highlight=False, soft_wrap=True)


@app.command()
def release(
    out_: Annotated[
        Path | None, typer.Option("--out", help="Folder to write (build/release by default).")
    ] = None,
    profile: Annotated[str, typer.Option("--profile", help="File in profiles/.")] = "paper",
) -> None:
    """Write a release: results, notebooks, recorded data, and what others need to read and check them.

    An RO-Crate (ro-crate-metadata.json: which notebook made what from what), a data package
    (datapackage.json: types, rows and hash of every table), CITATION.cff, and SHA256SUMS. Every notebook of
    the book must have a fresh run in the profile.

        benchtrust release --out /tmp/benchtrust
        cd /tmp/benchtrust && sha256sum --quiet -c SHA256SUMS
    """
    from benchtrust.compendium.release import release as write

    folder = write(out_, profile)
    out.print(
        f"{folder}\nCheck it: cd {folder} && sha256sum --quiet -c SHA256SUMS", highlight=False, soft_wrap=True
    )


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
