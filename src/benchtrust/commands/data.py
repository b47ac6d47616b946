"""``benchtrust data``: the pinned benchmark files, subsets of items as files, logs of packages as tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchtrust.errors import ParameterError
from benchtrust.files import replacing

if TYPE_CHECKING:
    import pandas as pd

    from benchtrust.packages.importers import Report

app = typer.Typer(
    no_args_is_help=True,
    help="The pinned benchmark files: what is here, and how to get the rest. Subsets of items as files. "
    "Logs of lm-eval, HELM and Inspect as response tables.",
)
out = Console()
err = Console(stderr=True)

Matrix = Annotated[
    str,
    typer.Argument(
        help="A published matrix, such as harmbench, or a file of models × items: JSON lines, CSV, Parquet."
    ),
]
Threshold = Annotated[
    float | None, typer.Option(help="Graded scores from here on are right; needed if there are any.")
]


@app.command("list")
def list_files() -> None:
    """Show all pinned files, their licence, and whether they are here."""
    from benchtrust.items.sources import available, sources

    table = Table(box=None)
    table.add_column("file", overflow="fold")
    for heading in ("licence", "here", "address"):
        table.add_column(heading)
    for source in sources().values():
        address = "has one" if source.url else "provide by hand"
        table.add_row(source.file, source.licence, "yes" if available(source.file) else "no", address)
    out.print(table)


@app.command()
def get(
    files: Annotated[
        list[str] | None, typer.Argument(help="File names; all items' files if none is given.")
    ] = None,
) -> None:
    """Find, download and check files. Set BENCHTRUST_DATA to use a folder that you have."""
    from benchtrust.items.sources import locate, sources

    for file in files or [name for name in sources() if name.startswith("items/")]:
        out.print(f"ok  {locate(file)}", highlight=False, soft_wrap=True)


@app.command()
def commit(
    notebook: Annotated[str, typer.Argument(help="Id, its last part, or a path.")],
    profile: Annotated[str, typer.Option("--profile", help="File in profiles/.")] = "paper",
) -> None:
    """Put a run's results on public data into data/recorded/public, for machines without the data."""
    from benchtrust.compendium import notebooks
    from benchtrust.compendium.kept import commit as commit_kept

    for path in commit_kept(notebooks.resolve(notebook), profile):
        out.print(path, highlight=False, soft_wrap=True)


@app.command()
def subset(
    matrix: Matrix,
    k: Annotated[int, typer.Option("--k", help="Number of items.")],
    target: Annotated[Path, typer.Option("--out", help="CSV to write; one that is there is replaced.")],
    method: Annotated[str, typer.Option(help="How to choose them.")] = "marginal_fisher",
    threshold: Threshold = None,
    seed: Annotated[int, typer.Option(help="Of methods that draw.")] = 0,
) -> None:
    """Choose k items, and write them with all that is needed to score another model on them.

    Methods: marginal_fisher, total_fisher, marginal_fisher_quartiles, anchor_points, disco, random,
    stratified. Score models on the file by: benchtrust data score.
    """
    import numpy as np

    from benchtrust import irt
    from benchtrust.errors import pick
    from benchtrust.irt.subsets import METHODS, check_sizes

    method = pick(method, METHODS, "method")
    answers = _answers(matrix, threshold)
    check_sizes([k], answers.shape[1])
    with _warnings_said():
        calibration = irt.calibrate(answers)
    chosen = irt.select_items(answers, k, method, calibration, np.random.default_rng(seed))
    table = irt.export_subset(answers, chosen, calibration)
    with replacing(target) as scratch:
        table.to_csv(scratch, index=False, lineterminator="\n")
    out.print(
        f"{k} of {chosen.n_pool} items by {chosen.method}, from {len(answers)} models on {answers.shape[1]} "
        f"items ({len(calibration.set_aside)} not calibrated): {target}",
        highlight=False,
        soft_wrap=True,
    )


@app.command()
def score(
    file: Annotated[Path, typer.Argument(help="CSV of `benchtrust data subset`.")],
    matrix: Matrix,
    threshold: Threshold = None,
) -> None:
    """Score models on an exported subset, from its file and their answers alone: CSV, a row per model."""
    import pandas as pd

    from benchtrust.errors import DataFileError, SchemaError
    from benchtrust.irt import score_exported

    if not file.is_file():
        raise DataFileError(f"No file {file}. Write one: benchtrust data subset MATRIX --k 20 --out {file}")
    try:
        table = pd.read_csv(file, dtype={"item": str})
    except ValueError as error:
        raise SchemaError(f"{file} cannot be read: {error}") from None
    typer.echo(score_exported(_answers(matrix, threshold), table).to_csv(lineterminator="\n"), nl=False)


@app.command("import")
def import_logs(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Logs, or folders with logs below: results_*.json with samples_*.jsonl of lm-eval; a run's "
            "folder of HELM; .eval or .json of Inspect.",
            show_default=False,
        ),
    ],
    target: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Parquet file to write; one that is there is replaced. Without it: look only."
        ),
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="Of the package, where its logs do not say it: HELM's never do.")
    ] = None,
    source: Annotated[
        str, typer.Option(help="Items that questions are joined to: upstream (pinned files) or practice.")
    ] = "upstream",
) -> None:
    """Turn logs of lm-eval, HELM or Inspect into a response table.

    The format is told by content, and each log is checked: whole, of one version of its package, its answers
    those of its totals. Questions of TruthfulQA, BBQ, ToxiGen, CrowS-Pairs and XSTest are joined to our items
    by what they say; other tasks are taken too, with their first score from 0 to 1. What was not taken or
    not joined is listed. Exit: 0 all taken and joined, 1 not all (the rest is written), 2 nothing.

    Beside the table, .packages.csv holds version, task, commit, prompt hash and parse outcome of each answer,
    and .left_out.csv, if there is anything, all that was left out.

    \b
    Log samples in lm-eval by --log_samples; say which HELM it was; Inspect logs all by itself:
      benchtrust data import out_lm_eval/ --out lm_eval.parquet
      benchtrust data import benchmark_output/runs/suite/ --version 0.5.16 --out helm.parquet
      benchtrust data import logs/*.eval --out inspect.parquet
      benchtrust run NOTEBOOK -p responses_path=$PWD/inspect.parquet -p models=model-a,model-b
    """
    from benchtrust.packages import importers

    if target and target.suffix != ".parquet":
        raise ParameterError(
            f"--out {target}: a response table is Parquet; name a file that ends in .parquet."
        )
    if target and (target.is_dir() or any(above.is_file() for above in target.parents)):
        raise ParameterError(f"--out {target}: no file can be written there; name a new one.")
    table, report = importers.load(logs, version, source)
    show_report(report)
    if target:
        importers.write(table, target)
        missing, rest = report.missing(), target.with_suffix(".left_out.csv")
        rest.unlink(missing_ok=True)
        if len(missing):
            with replacing(rest) as scratch:
                missing.to_csv(scratch, index=False, lineterminator="\n")
        out.print(f"{len(table)} rows: {target}", highlight=False, soft_wrap=True)
    raise typer.Exit(0 if report.complete else 1)


def show_report(report: "Report", most: int = 20) -> None:
    """Say what was taken, and by id, the first ones, what was not."""
    for row in report.taken.itertuples(index=False):
        text = (
            f"{row.package} {row.version}, {row.task} on {row.model}: {row.rows} answers to {row.benchmark} "
            f"by {row.metric}, {row.unparsed} without a decision, {row.failed} failed"
        )
        out.print(text, highlight=False, markup=False, soft_wrap=True)
    for (where, reason), group in report.missing().groupby(["where", "reason"], sort=False):
        ids = [text for text in group["id"] if text]
        more = f" and {len(ids) - most} more" if len(ids) > most else ""
        listed = f": {len(ids)} ({', '.join(ids[:most])}{more})" if ids else ""
        text = f"{where}: {reason}{listed}" if where else f"{reason}{listed}"
        err.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)
    if other := report.other_options:
        more = f" and {len(other) - most} more" if len(other) > most else ""
        text = f"{len(other)} questions have other options than our items: {', '.join(other[:most])}{more}"
        err.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)


def _answers(matrix: str, threshold: float | None) -> "pd.DataFrame":
    from benchtrust.public import matrices
    from benchtrust.responses import response_matrix

    with _warnings_said():
        return response_matrix(matrices.load(matrix, threshold))


@contextmanager
def _warnings_said() -> Iterator[None]:
    """Say warnings as messages, without the place in the code."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        err.print(str(warning.message), style="yellow", highlight=False, markup=False, soft_wrap=True)
