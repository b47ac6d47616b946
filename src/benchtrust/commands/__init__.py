"""The groups of commands, a module each."""

from rich.console import Console
from rich.table import Table


def show(table: Table) -> None:
    """Print a table whole, however narrow the terminal or pipe."""
    out = Console()
    whole = out.measure(table, options=out.options.update(max_width=1000)).maximum
    Console(width=max(out.width, whole)).print(table)
