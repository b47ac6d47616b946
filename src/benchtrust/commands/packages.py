"""``benchtrust packages``: install, run, emulate, status, collect."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchtrust.commands import show
from benchtrust.errors import BenchtrustError, PackageError

if TYPE_CHECKING:
    from benchtrust.packages.runs import Outcome, Watch

app = typer.Typer(
    no_args_is_help=True,
    help="One configuration in three evaluation packages, each in an environment of its own: "
    "install, run and emulate (again to continue), status, collect.",
)
out = Console()
err = Console(stderr=True)

Names = Annotated[
    list[str] | None, typer.Argument(help="lm_eval, helm, inspect; all three if none is named.")
]


@app.command()
def install(names: Names = None) -> None:
    """Make the environments under build/packages by uv, each from its lock. Run again to go on.

    What is there already and holds the pinned versions is left alone. A package that cannot be installed
    leaves the others whole. Exit: 0 all are there, 1 one is not.
    """
    from benchtrust.packages import environments

    failures = []
    chosen = _packages(names)
    if missing := [package for package in chosen if not environments.ready(package)]:
        least, most = (sum(package.minutes[i] for package in missing) for i in (0, 1))
        out.print(
            f"About {sum(p.gigabytes for p in missing):.1f} GB under {environments.base()}, less where uv "
            f"shares files; {least} minutes with everything in uv's cache, up to {most} with nothing there.",
            highlight=False,
            soft_wrap=True,
        )
    for package in chosen:
        started = time.perf_counter()
        try:
            made = environments.install(package)
        except PackageError as error:
            failures.append(error)
            continue
        state = f"installed in {time.perf_counter() - started:.0f} s" if made else "there already"
        out.print(f"{package.name}: {environments.versions(package)}, {state}", highlight=False)
    _end(failures)


@app.command()
def run(
    names: Names = None,
    model: Annotated[
        list[str],
        typer.Option("--model", help="Model of the catalogue, or a transformers folder; repeat for several."),
    ] = ["SmolLM2-135M-Instruct"],  # noqa: B006
    benchmark: Annotated[
        list[str] | None,
        typer.Option("--benchmark", help="Benchmark; repeat for several. All that a package has if none."),
    ] = None,
    items: Annotated[
        int, typer.Option(min=1, help="Items a benchmark: the first of the grid's order.")
    ] = 100,
    source: Annotated[
        str, typer.Option(help="upstream (pinned files) or practice (our own items).")
    ] = "upstream",
) -> None:
    """Run the packages' stock tasks, offline, on local items and one fp32 folder of the NF4 weights.

    Every package is asked the same items of the same model. Outputs and a run.json go to
    build/packages/runs/PACKAGE/MODEL/BENCHMARK. A finished run is not run again unless the model, the items
    or the lock have changed; one that fails leaves the others alone. Exit: 0 all ran, 1 one failed.
    """
    from benchtrust.packages import runs

    chosen = _tasks(names, benchmark)
    outcomes = []
    for name in model:
        for task in chosen:
            with _watched(f"{task.package} {task.benchmark} {name}") as watch:
                outcomes.append(runs.run(task, name, items, source, watch))
            _say(outcomes[-1])
    _end([PackageError(outcome.message) for outcome in outcomes if outcome.state == "failed"])


@app.command()
def emulate(
    names: Names = None,
    model: Annotated[
        list[str], typer.Option("--model", help="Model of the catalogue; repeat for several.")
    ] = ["SmolLM2-135M-Instruct"],  # noqa: B006
    benchmark: Annotated[
        list[str] | None, typer.Option("--benchmark", help="Benchmark; repeat for several. All if none.")
    ] = None,
    items: Annotated[int, typer.Option(min=1, help="Items a benchmark, as given to `run`.")] = 100,
    source: Annotated[
        str, typer.Option(help="upstream (pinned files) or practice (our own items).")
    ] = "upstream",
) -> None:
    """Ask our own harness what each package asks, one change at a time, without reading a package's answers.

    The steps lead from our nearest configuration to each named package's. What the model gave goes to
    build/packages/emulated/MODEL/BENCHMARK, and is not asked again. The packages must be installed: their
    texts are read from there.
    """
    from benchtrust.packages import emulated, environments
    from benchtrust.packages.table import packages

    tasks = _tasks(names, benchmark)
    for needed in dict.fromkeys(task.package for task in tasks):
        environments.check(packages()[needed])
    chosen = list(dict.fromkeys(task.benchmark for task in tasks))
    wanted = [package.name for package in _packages(names)]
    for name in model:
        for asked in chosen:
            for done in emulated.ask(name, asked, items, source, wanted):
                spent = "kept" if done.seconds is None else f"{done.seconds:.0f} s"
                made = done.recipe
                what = ", ".join([made.prompt, made.exemplars, made.chat, made.candidate, made.extraction])
                line = f"{name} {asked} {done.place} of {done.total}: {what}: {spent}"
                out.print(line, highlight=False, soft_wrap=True)


@app.command()
def status() -> None:
    """Show what is installed, which package has which benchmark, and what has run: items, seconds."""
    from benchtrust.packages import environments, runs
    from benchtrust.packages.table import absent, packages, tasks

    table = Table("package", "environment", box=None)
    for package in packages().values():
        try:
            environments.check(package)
            state = environments.versions(package)
        except PackageError as error:
            state = str(error)
        table.add_row(package.name, Text(state))
    show(table)
    table = Table("package", "benchmark", "stock task", "remote judge replaced by", box=None)
    for (package, name), task in tasks().items():
        table.add_row(package, name, ", ".join(task.stock), Text(task.judge.partition(" in the place")[0]))
    for (package, name), reason in absent().items():
        table.add_row(package, name, f"none: {reason}", "")
    out.print()
    show(table)
    done = runs.status()
    table = Table("package", "version", "model", "benchmark", "items of", box=None)
    for heading in ("items", "seconds", "CPU seconds"):
        table.add_column(heading, justify="right")
    for row in done.itertuples(index=False):
        facts = (row.package, row.version, row.model, row.benchmark, row.source)
        table.add_row(*facts, str(row.items), f"{row.seconds:.0f}", f"{row.cpu_seconds:.0f}")
    out.print()
    show(table) if len(done) else out.print("Nothing has run yet: benchtrust packages run")


@app.command()
def collect(
    target: Annotated[
        Path | None, typer.Option(help="Folder of the record; data/recorded/packages if none is given.")
    ] = None,
    source: Annotated[
        str, typer.Option(help="Items that were asked: upstream (pinned files) or practice (our own items).")
    ] = "upstream",
    add: Annotated[
        bool, typer.Option("--add", help="Keep what the record has of runs that are not here.")
    ] = False,
) -> None:
    """Gather the outputs of all finished runs into one response table without item texts.

    Answers are joined to our items by what the package asked. What does not join, and what cannot be read, is
    counted and listed by id. What `emulate` asked is judged and goes to the folder `emulation` beside it.
    A record holds the runs that are here: what an earlier one had beside them is removed, and said, unless
    --add keeps it, for runs that were made on several machines.
    Exit: 0 every run was taken whole, 1 something is missing, 2 there is no run.
    """
    from benchtrust import project
    from benchtrust.commands.data import show_report
    from benchtrust.errors import pick
    from benchtrust.items import SOURCES
    from benchtrust.packages.collect import collect as gathered
    from benchtrust.packages.collect import write
    from benchtrust.packages.runs import runs_folder

    source = pick(source, SOURCES, "source")
    folder = target or project.root() / "data/recorded/packages"
    table, report = gathered(runs_folder(), source)
    gone = write(table, report, runs_folder(), folder, source, add)
    show_report(report)
    out.print(f"{len(table):,} answers in {folder}", highlight=False, soft_wrap=True)
    gone += _collect_emulations(folder.parent / "emulation", source, add)
    for name in gone:
        err.print(f"{name}: no longer in the record, since no run for it is here", style="yellow")
    if not report.complete:
        raise typer.Exit(1)


def _collect_emulations(target: Path, source: str, add: bool) -> list[str]:
    """Judge and write what `emulate` asked on these items; files that an earlier record had beside them."""
    from benchtrust.packages import emulated

    found = emulated.collect(source)
    if not found:
        return []
    gone = emulated.write(found, target, add)
    for one in found:
        what = f"{one.facts['items']} items, {one.table['recipe'].nunique()} recipes"
        lacking = f", {len(one.missing)} not asked yet" if one.missing else ""
        out.print(f"emulation, {one.name}: {what}{lacking}", highlight=False, soft_wrap=True)
    return gone


def _packages(names: list[str] | None) -> list:
    from benchtrust.packages.table import package, packages

    return [package(name) for name in dict.fromkeys(names)] if names else list(packages().values())


def _tasks(names: list[str] | None, benchmarks: list[str] | None) -> list:
    """Tasks of packages and benchmarks; what a package lacks is said."""
    from benchtrust.errors import pick
    from benchtrust.packages.table import absent, tasks

    known = list(dict.fromkeys(name for _, name in tasks()))
    wanted = [pick(name, known, "benchmark") for name in benchmarks] if benchmarks else known
    pairs = [(package.name, name) for name in wanted for package in _packages(names)]
    for pair in pairs:
        if benchmarks and pair in absent():
            err.print(f"{' '.join(pair)}: {absent()[pair]}.", style="yellow", highlight=False, soft_wrap=True)
    if not (found := [tasks()[pair] for pair in pairs if pair in tasks()]):
        raise BenchtrustError(
            "No package named here has such a benchmark; `benchtrust packages status` lists all."
        )
    return found


@contextmanager
def _watched(title: str) -> "Iterator[Watch]":
    """Show the seconds and the last line of a package's log in one line that is written anew."""
    if not err.is_terminal:
        err.print(f"{title}: started", highlight=False)
        yield lambda *_: None
        return
    with err.status(title) as spinner:

        def watch(seconds: float, line: str) -> None:
            text = f"{title}  {seconds:.0f} s  {line}"
            spinner.update(Text(text[: err.width - 4], no_wrap=True))

        yield watch


def _say(outcome: "Outcome") -> None:
    where = "" if outcome.state == "failed" else f" ({outcome.seconds:.0f} s)  {outcome.folder}"
    names = f"{outcome.package} {outcome.benchmark} {outcome.model}"
    out.print(f"{names}: {outcome.state}{where}", highlight=False, soft_wrap=True)


def _end(failures: list[PackageError]) -> None:
    """Say what failed, and exit with 1 if anything did."""
    for failure in failures:
        err.print(f"\n{failure}", style="red", highlight=False, markup=False, soft_wrap=True)
    if failures:
        raise typer.Exit(1)
