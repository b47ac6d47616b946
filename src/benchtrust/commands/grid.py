"""``benchtrust grid``: plan, record, collect."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchtrust.errors import BenchtrustError

app = typer.Typer(
    no_args_is_help=True, help="Record responses: plan, run (again to continue), cost, collect."
)
out = Console()

Models = Annotated[list[str], typer.Option("--model", help="Model of the catalogue; repeat for several.")]
Benchmarks = Annotated[list[str], typer.Option("--benchmark", help="Benchmark; repeat for several.")]
Tier = Annotated[str, typer.Option(help="Envelope: full, core or conservative.")]
Templates = Annotated[list[str] | None, typer.Option("--template", help="Keep this template; all if none.")]
Shots = Annotated[list[int] | None, typer.Option("--shots", help="Keep this number of exemplars.")]
Decodings = Annotated[
    list[str] | None, typer.Option("--decoding", help="greedy, t0.3, t0.7 or none (log-prob).")
]
Scorings = Annotated[list[str] | None, typer.Option("--scoring", help="free_form or logprob.")]
Source = Annotated[str, typer.Option(help="upstream (pinned files) or practice (our own items).")]
Items = Annotated[
    int, typer.Option(help="Items a benchmark. A larger number later adds items and redoes none.")
]
Store = Annotated[Path, typer.Option(help="Folder of batch files.")]
STORE = Path("build/grid/store")


def _blocks(model, benchmark, tier, template, shots, decoding, scoring, source):
    from benchtrust.grid.plan import blocks

    axes = {"template": template, "shots": shots, "decoding": decoding, "scoring": scoring}
    if not (chosen := blocks(model, benchmark, tier, source, **axes)):
        raise BenchtrustError(
            "No cell has these levels together: log-prob scoring decodes nothing (decoding none), and "
            "CrowS-Pairs and base models have no free-form answers."
        )
    return chosen


@app.command()
def plan(
    model: Models,
    benchmark: Benchmarks,
    tier: Tier = "full",
    template: Templates = None,
    shots: Shots = None,
    decoding: Decodings = None,
    scoring: Scorings = None,
    source: Source = "upstream",
    items: Items = 30,
) -> None:
    """Show the cells that a recording would hold, without loading a model."""
    table = Table("model", "benchmark", "blocks", "cells", "answers", box=None)
    chosen = _blocks(model, benchmark, tier, template, shots, decoding, scoring, source)
    for pair in dict.fromkeys((b.model, b.benchmark) for b in chosen):
        mine = [b for b in chosen if (b.model, b.benchmark) == pair]
        cells = sum(len(b.configurations) for b in mine)
        table.add_row(*pair, str(len(mine)), str(cells), str(cells * items))
    out.print(table)


@app.command()
def run(
    model: Models,
    benchmark: Benchmarks,
    tier: Tier = "full",
    template: Templates = None,
    shots: Shots = None,
    decoding: Decodings = None,
    scoring: Scorings = None,
    source: Source = "upstream",
    items: Items = 30,
    store: Store = STORE,
    quantization: Annotated[str, typer.Option(help="nf4 or none.")] = "nf4",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Record what is missing in the store. Interrupt at will and run again to continue."""
    from benchtrust.grid.run import run as record

    chosen = _blocks(model, benchmark, tier, template, shots, decoding, scoring, source)
    record(chosen, items, store, quantization, device)


@app.command()
def collect(
    target: Annotated[Path, typer.Argument(help="Folder of the committed record.")] = Path("data/recorded"),
    store: Store = STORE,
    source: Source = "upstream",
) -> None:
    """Derive decisions again, scrub item texts from completions, write the record and its manifest."""
    from benchtrust.grid.record import collect as write

    table = write(store, target, source)
    out.print(f"{len(table)} answers in {table['cell_id'].nunique()} cells: {target}", highlight=False)


@app.command()
def cost(store: Store = STORE) -> None:
    """Show CPU seconds by model, benchmark and block."""
    from benchtrust.grid.store import cost as read_cost

    frame = read_cost(store)
    table = Table(*frame.columns, box=None)
    for row in frame.itertuples(index=False):
        table.add_row(*(f"{v:.1f}" if isinstance(v, float) else str(v) for v in row))
    out.print(table)
