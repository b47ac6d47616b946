"""``benchtrust card``: GRID cards of recorded cells."""

import html
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchtrust.errors import DataFileError, ParameterError, UnknownNameError

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
out = Console()

RECORD = Path("data/recorded/grid")
SCHEMA = "card.schema.json"
SECTIONS = ("score", "model", "harness", "items", "provenance", "uniformity")
SHORT = 12
NEAR = 3
STYLE = """
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere }
h1 { font-size: 1.5rem }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; table-layout: fixed }
caption { text-align: left; font-weight: 700; font-size: 1.2rem }
tr { border-bottom: 1px solid #8888 }
th, td { padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: top }
th { font-weight: 500; width: 25% }
td + td { font-size: .85rem; width: 40% }
summary { cursor: pointer; padding: .3rem 0 }
@media (max-width: 40rem) { tr { display: grid } tr > * { padding: 0; width: auto !important } }
"""


@app.command()
def card(
    cell: Annotated[
        str | None,
        typer.Argument(metavar="CELL", help="A cell's id, or as much of its beginning as tells it apart."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Cards of all cells, and one page of them.")] = False,
    responses: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A collected record; data/recorded/grid if none is given."),
    ] = None,
    target: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where to write.")] = Path(
        "build/cards"
    ),
) -> None:
    """State the harness configuration behind a score: the GRID card of a recorded cell.

    Without CELL, list the cells with the beginnings of their ids. With one, write its card (JSON), a page of
    it (HTML that loads nothing from elsewhere) and the JSON Schema that it keeps.

    A card states the score, its uncertainty and how many answers could be read; the weights and their
    quantisation; template, exemplars, decoding and scoring rule by name and hash; the hash of the items;
    commit, versions and hardware. Given the items, `benchtrust.harness.card.prompts(card, items)` makes the
    exact prompts again, or says what has changed.

    The items are needed: set BENCHTRUST_DATA, or let them be downloaded (`benchtrust data get`).

    Try these; the last one needs no download:

    - `benchtrust card | grep xstest`
    - `benchtrust card 3f2a` (a beginning from the first column)
    - `benchtrust card --responses data/recorded/practice --all`
    """
    from benchtrust import harness, project
    from benchtrust import responses as table

    if all_ and cell is not None:
        raise ParameterError("Name one cell, or give --all.")
    folder = responses or project.root() / RECORD
    manifest = _manifest(folder)
    frame = table.read(folder)
    if not all_ and cell is None:
        out.print(_listed(frame), highlight=False, markup=False, soft_wrap=True)
        return
    if cell is not None:
        frame = frame[frame["cell_id"] == find(frame["cell_id"].unique(), cell)]
    weights, loaded = _ingredients(frame, manifest)
    cards = [
        harness.card(rows, loaded[benchmark], weights[model], manifest)
        for (benchmark, model, _), rows in frame.groupby(["benchmark", "model", "cell_id"], sort=False)
    ]
    written = write(cards, target, "index" if all_ else cards[0]["cell_id"])
    for path in [written[0], target] if all_ else written:
        out.print(str(path), highlight=False, markup=False, soft_wrap=True)


def find(ids: Iterable[str], beginning: str) -> str:
    """The id that begins so.

    Raises
    ------
    UnknownNameError : none does, with the nearest ids; or several do, with the first of them.
    """
    ids = sorted(ids)
    found = [i for i in ids if i.startswith(beginning.casefold())]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(i[: max(SHORT, len(beginning) + 4)] for i in found[:NEAR])
        raise UnknownNameError(
            f"{len(found)} cells begin with {beginning!r} ({some}, ...): give more of the id."
        )
    shared = (beginning.casefold()[:n] for n in range(len(beginning), 0, -1))
    near = next((some for start in shared if (some := [i for i in ids if i.startswith(start)])), [])
    hint = f"Nearest: {', '.join(i[:SHORT] for i in near[:NEAR])}. " if near else ""
    raise UnknownNameError(
        f"No cell begins with {beginning!r}. {hint}List the {len(ids)} cells with: benchtrust card"
    )


def write(cards: list[dict], target: Path, name: str) -> list[Path]:
    """Write a page of the cards, their schema, and each card as ``<cell id>.json``; the paths, page first."""
    from benchtrust.harness.card import schema

    files = {f"{name}.html": page(cards), SCHEMA: _json(schema())}
    files |= {f"{made['cell_id']}.json": _json(made) for made in cards}
    target.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (target / file).write_text(content, encoding="utf-8")
    return [target / file for file in files]


def page(cards: list[dict]) -> str:
    """One HTML page: a card in full, or several that unfold."""
    if len(cards) == 1:
        title, body = f"GRID card: {_title(cards[0])}", _tables(cards[0])
    else:
        title = f"{len(cards)} GRID cards"
        body = "\n".join(
            f"<details><summary>{html.escape(_title(c))}</summary>\n{_tables(c)}</details>" for c in cards
        )
    head = html.escape(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{head}</title>'
        f"<style>{STYLE}</style></head>\n<body><main><h1>{head}</h1>\n{body}</main></body></html>\n"
    )


def _title(made: dict) -> str:
    score, model, cell = made["score"], made["model"], made["harness"]["definition"]
    read = cell["scoring"] if cell["decoding"] == "none" else f"{cell['scoring']} {cell['decoding']}"
    axes = f"{cell['template']}, {made['harness']['shots_used']} shots, {read}"
    return f"{score['title']}, {model['name']} ({model['quantization']}), {axes}: {score['score']:.3f}"


def _summary(made: dict) -> str:
    score = made["score"]
    read = f"{score['n_scored']} of {score['n']} answers were read and scored"
    if score["uncertainty"] is None:
        return f"Score {score['score']:.3f}; {read}."
    found = score["uncertainty"]
    interval = f"{found['level']:.0%} interval {found['lower']:.3f} to {found['upper']:.3f}"
    return f"Score {score['score']:.3f}, {interval} over items; {read}."


def _tables(made: dict) -> str:
    """A table a section that the card has: field, value, what it means."""
    from benchtrust.harness.card import fields, schema

    tables = []
    for section in (name for name in SECTIONS if name in made):
        rows = [
            f"<tr><th scope=row>{'.<wbr>'.join(field.path[1:])}</th>"
            f"<td>{html.escape(_shown(field.of(made)))}</td><td>{html.escape(field.description)}</td></tr>"
            for field in fields()
            if field.path[0] == section
        ]
        caption = schema()["properties"][section]["title"]
        tables.append(f"<table><caption>{caption}</caption>\n{chr(10).join(rows)}\n</table>\n")
    return f"<p>{_summary(made)}<br>Cell <code>{made['cell_id']}</code></p>\n{''.join(tables)}"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json(value: dict) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _listed(frame) -> str:
    """The cells, a line each."""
    from benchtrust.responses import CONFIGURATION

    counts = frame.groupby(["benchmark", "model", *CONFIGURATION, "cell_id"])["item_id"].nunique()
    cells = counts.rename("items").reset_index()
    cells.insert(0, "cell", cells.pop("cell_id").str[:SHORT])
    return cells.to_string(index=False)


def _manifest(folder: Path) -> dict:
    path = folder / "manifest.json"
    if not path.is_file():
        raise DataFileError(
            f"{path} is missing: a card states commit, date, versions and hardware, which only a collected "
            "record has. Collect a store with: benchtrust grid collect FOLDER"
        )
    return json.loads(path.read_text(encoding="utf-8"))


def _ingredients(frame, manifest: dict) -> tuple[dict[str, str], dict[str, list]]:
    """What determines the weights of each model, and the items of each benchmark."""
    from benchtrust import items
    from benchtrust.inference import entry

    weights = {label: entry(label.split(" (")[0]).source for label in frame["model"].unique()}
    source = manifest.get("items", "upstream")
    return weights, {name: items.load(name, source) for name in frame["benchmark"].unique()}
