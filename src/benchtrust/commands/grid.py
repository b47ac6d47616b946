"""``benchtrust grid``: plan, run, status, cost, collect, restore, baselines."""

import inspect
from collections.abc import Callable
from functools import reduce, wraps
from operator import add
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchtrust import project
from benchtrust.commands import show
from benchtrust.errors import BenchtrustError

app = typer.Typer(
    no_args_is_help=True,
    help="Record responses: plan, run (again to continue), status, cost, collect, restore, baselines.",
)
out = Console()

INSTRUCT = ["SmolLM2-135M-Instruct", "Qwen2.5-Coder-0.5B-Instruct", "Qwen2.5-Coder-1.5B-Instruct"]
BENCHMARKS = ["truthfulqa", "bbq", "toxigen", "crows_pairs", "xstest"]
STORE = Path("build/grid/store")
RECORD = Path("data/recorded/grid")


def _in_repository(path: Path) -> Path:
    """A default folder lies in the repository, wherever the command is called."""
    return project.root() / path if path in (STORE, RECORD) else path


Store = Annotated[Path, typer.Option(help="Folder of batch files.", callback=_in_repository)]
Record = Annotated[Path, typer.Argument(help="Folder of a committed record.", callback=_in_repository)]
Source = Annotated[str, typer.Option(help="upstream (pinned files) or practice (our own items).")]


def _cells_to_record(
    model: Annotated[
        list[str], typer.Option("--model", help="Model of the catalogue; repeat for several.")
    ] = INSTRUCT,
    benchmark: Annotated[
        list[str], typer.Option("--benchmark", help="Benchmark; repeat for several.")
    ] = BENCHMARKS,
    tier: Annotated[str, typer.Option(help="Envelope: full, core or conservative.")] = "full",
    template: Annotated[
        list[str] | None, typer.Option("--template", help="Keep this template; all if none.")
    ] = None,
    shots: Annotated[list[int] | None, typer.Option("--shots", help="Keep this number of exemplars.")] = None,
    decoding: Annotated[
        list[str] | None, typer.Option("--decoding", help="greedy, t0.3, t0.7 or none (log-prob).")
    ] = None,
    scoring: Annotated[list[str] | None, typer.Option("--scoring", help="free_form or logprob.")] = None,
    source: Source = "upstream",
):
    from benchtrust.grid.plan import blocks

    axes = {"template": template, "shots": shots, "decoding": decoding, "scoring": scoring}
    if not (chosen := blocks(model, benchmark, tier, source, **axes)):
        raise BenchtrustError(
            "No cell has these levels together: log-prob scoring decodes nothing (decoding none), "
            "CrowS-Pairs and base models have no free-form answers, and a choice set such as arc_challenge "
            "has the minimal template without exemplars only."
        )
    return chosen


def _command_on_cells(function: Callable) -> Callable:
    """Register a command whose first argument is the blocks that the options of `_cells_to_record` name."""
    axes = list(inspect.signature(_cells_to_record).parameters.values())
    own = list(inspect.signature(function).parameters.values())[1:]

    @wraps(function)
    def command(**given):
        chosen = _cells_to_record(**{p.name: given.pop(p.name) for p in axes})
        return function(chosen, **given)

    command.__signature__ = inspect.Signature([*axes, *own])
    command.__annotations__ = {p.name: p.annotation for p in (*axes, *own)}
    del command.__wrapped__
    return app.command()(command)


Items = Annotated[
    int, typer.Option(help="Items a benchmark. A larger number later adds items and redoes none.")
]


@_command_on_cells
def plan(blocks, items: Items = 30, store: Store = STORE) -> None:
    """Show cells, prompts, tokens and time of a recording, without loading a model.

    Without options: the whole grid, three instruct models on five benchmarks, 612 cells. The time is an
    estimate from this machine's matrix products; answers are counted at their limit, so it is high.
    """
    from benchtrust import items as benchmarks
    from benchtrust.grid.estimate import encoder, matrix_rate, seconds, work
    from benchtrust.grid.store import answered
    from benchtrust.inference import entry

    table = Table(
        "model",
        "benchmark",
        "cells",
        "prompts",
        "prompt tokens",
        "answer tokens",
        "recorded",
        "hours",
        box=None,
    )
    rate, total, hours_in_all = matrix_rate(), 0, 0.0
    for model, name in dict.fromkeys((b.model, b.benchmark) for b in blocks):
        mine = [b for b in blocks if (b.model, b.benchmark) == (model, name)]
        loaded = benchmarks.load(name, mine[0].source)
        need = reduce(add, (work(b, items, loaded, encoder(model)) for b in mine))
        have = sum(answered(store, b, benchmarks.subset(loaded, items)) for b in mine) / (need.cells * items)
        hours = seconds(need.tokens, entry(model).parameters, rate) / 3600 * (1 - have)
        numbers = (need.cells, need.prompts, need.prompt_tokens, need.answer_tokens)
        table.add_row(model, name, *(f"{n:,}" for n in numbers), f"{have:.0%}", f"{hours:.1f}")
        total, hours_in_all = total + need.cells, hours_in_all + hours
    show(table)
    out.print(
        f"{total} cells, {items} items each: about {hours_in_all:.1f} hours left at most, at half of the "
        f"{rate / 1e9:.0f} GFLOP/s that a matrix product reached here just now.",
        highlight=False,
    )


@_command_on_cells
def run(
    blocks,
    items: Items = 30,
    store: Store = STORE,
    quantization: Annotated[str, typer.Option(help="nf4 or none.")] = "nf4",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    workers: Annotated[
        int, typer.Option(help="Local Dask workers, one model each; 0 answers in this process.")
    ] = 0,
    scheduler: Annotated[
        str, typer.Option(help="Address of a Dask scheduler, as tcp://host:8786, whose workers answer.")
    ] = "",
) -> None:
    """Record what is missing in the store. Interrupt at will and run again to continue.

    Without options: the whole grid, 612 cells. Two runs may share a store: each works on other blocks.
    """
    from benchtrust.grid.run import run as record

    if workers and scheduler:
        raise BenchtrustError("--workers starts workers on this machine, --scheduler uses others: give one.")
    record(blocks, items, store, quantization, device, workers=workers, scheduler=scheduler)


@app.command()
def status(store: Store = STORE) -> None:
    """Show what a store holds: cells, items, and how many answers could not be read."""
    from benchtrust.grid.store import summary

    frame = summary(store)
    table = Table("model", "benchmark", "cells", "items", "answers", "unparsed", "cut", "near ties", box=None)
    for row in frame.itertuples():
        items = f"{row.fewest}" if row.fewest == row.most else f"{row.fewest} to {row.most}"
        table.add_row(
            row.model,
            row.benchmark,
            str(row.cells),
            items,
            f"{row.answers:,}",
            f"{row.unparsed:.1%}",
            f"{row.truncated:.1%}",
            str(row.near_ties),
        )
    show(table)
    if dropped := sorted(set(frame.loc[frame["shortened"] > 0, "model"])):
        out.print(f"Exemplars were dropped for the context window of {', '.join(dropped)}.")
    for row in frame[frame["failed"] > 0].itertuples():
        out.print(f"{row.failed} items of {row.benchmark} were set aside: too long for {row.model}.")


@app.command()
def cost(store: Store = STORE) -> None:
    """Show CPU seconds and tokens by model, benchmark and block."""
    from benchtrust.grid.store import cost as read_cost

    frame = read_cost(store)
    table = Table(*frame.columns, box=None)
    for row in frame.itertuples(index=False):
        table.add_row(*(f"{v:.1f}" if isinstance(v, float) else str(v) for v in row))
    show(table)


@app.command()
def collect(
    target: Record = RECORD,
    store: Store = STORE,
    source: Source = "upstream",
) -> None:
    """Derive decisions again, scrub item texts from completions, write the record and its manifest."""
    from benchtrust.grid.record import collect as write

    table = write(store, target, source)
    out.print(f"{len(table)} answers in {table['cell_id'].nunique()} cells: {target}", highlight=False)


@app.command()
def restore(
    record: Record = RECORD,
    store: Store = STORE,
) -> None:
    """Put a record's answers back into a store, so that `run` adds items or cells and asks none again."""
    from benchtrust.grid.record import restore as put_back

    out.print(f"{put_back(record, store):,} answers put into {store}", highlight=False)


@app.command()
def baselines(
    target: Annotated[Path, typer.Argument(help="Folder to write to.")] = Path("data/recorded/constants"),
    benchmark: Annotated[list[str], typer.Option("--benchmark", help="Benchmark; repeat.")] = BENCHMARKS,
    source: Source = "upstream",
    items: Items = 30,
) -> None:
    """Write what respondents that read nothing answer: always A, always comply or refuse, a coin."""
    from benchtrust import items as benchmarks
    from benchtrust import responses
    from benchtrust.grid.baselines import constants

    for name in benchmark:
        chosen = benchmarks.subset(benchmarks.load(name, source), items)
        responses.write(constants(name, chosen), target / f"{benchmarks.benchmark(name).name}.parquet")
    out.print(f"Constants on {items} items of {', '.join(benchmark)}: {target}", highlight=False)
