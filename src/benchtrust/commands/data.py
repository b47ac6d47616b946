"""``benchtrust data``: the pinned benchmark files."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(
    no_args_is_help=True, help="The pinned benchmark files: what is here, and how to get the rest."
)
out = Console()


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
