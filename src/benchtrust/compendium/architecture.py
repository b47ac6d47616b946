"""The rooms of the package and who imports whom, read from the sources: a drawing and a table for the book.

A room is a folder or a module directly below ``benchtrust``. Its line of explanation is the first sentence of
its docstring.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from html import escape
from itertools import pairwise
from pathlib import Path

import pandas as pd

from benchtrust.compendium import fingerprints, notebooks

PACKAGE = Path(__file__).parents[1]
PARTS = ("stability", "irt", "harmony")
"""The metrics, which stand side by side."""
NOTEBOOKS = "notebooks"
JOINED = "Join the rooms, one page of the book each."

WIDTH, ROW, BOX, HEIGHT = 720, 74, 98, 30
SWEEPS = 24
_ENTRY = re.compile(r'"(benchtrust\.\w+)[\w.]*:\w+"')

Edge = tuple[str, str]


@dataclass(frozen=True)
class Room:
    """One room: what it is for, and the other rooms that its files import, by import or as an entry point."""

    name: str
    purpose: str
    imports: frozenset[str]


def rooms() -> dict[str, Room]:
    """All rooms of the package by name, and the notebooks as one more."""
    files: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        files.setdefault(path.relative_to(PACKAGE).parts[0].removesuffix(".py"), []).append(path)
    del files["__init__"]
    found = {}
    for name, paths in files.items():
        head = next((path for path in paths if path.parent == PACKAGE / name), paths[0])
        texts = [path.read_text(encoding="utf-8") for path in paths]
        reached = {room for text in texts for room in _reached(text)} & set(files)
        found[name] = Room(name, _purpose(head), frozenset(reached - {name}))
    code = ["\n".join(cell.source for cell in notebooks.read(n).code) for n in notebooks.available()]
    joined = {room for text in code for room in _reached(text)} & set(files)
    return found | {NOTEBOOKS: Room(NOTEBOOKS, JOINED, frozenset(joined))}


def _reached(source: str) -> Iterator[str]:
    """Second parts of the dotted names that a source imports, or names as entry points."""
    for dotted in (*fingerprints.imports(source), *_ENTRY.findall(source)):
        if dotted.startswith("benchtrust."):
            yield dotted.split(".")[1]


def _purpose(path: Path) -> str:
    """First paragraph of a docstring, without marks of code."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].replace("`", "").split())


def levels(found: Mapping[str, Room]) -> dict[str, int]:
    """Height of each room above the ground: one more than the highest that it imports, the parts level.

    Raises
    ------
    CycleError
        Rooms that import each other in a circle.
    """
    graph = {name: set(room.imports) for name, room in found.items()}
    lowest = set().union(*(graph.get(part, set()) for part in PARTS))
    graph |= {part: lowest for part in PARTS if part in graph}
    height: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        height[name] = 1 + max((height[own] for own in graph[name]), default=-1)
    return height


def arrows(found: Mapping[str, Room]) -> list[Edge]:
    """Imports that no chain of other imports implies."""
    reach: dict[str, set[str]] = {}
    for name in sorted(found, key=levels(found).__getitem__):
        reach[name] = set(found[name].imports).union(*(reach[own] for own in found[name].imports))
    return [
        (name, own)
        for name, room in found.items()
        for own in sorted(room.imports)
        if not any(own in reach[other] for other in room.imports - {own})
    ]


def table(found: Mapping[str, Room]) -> pd.DataFrame:
    """A row a room, the highest first: its name, what it is for, all that it imports."""
    height = levels(found)
    order = sorted(found.values(), key=lambda room: (-height[room.name], room.name))
    rows = [(room.name, room.purpose, ", ".join(sorted(room.imports)) or "nothing") for room in order]
    return pd.DataFrame(rows, columns=["Room", "What it is for", "Imports"])


def drawing(found: Mapping[str, Room]) -> str:
    """The rooms as boxes in rows, with arrows to what they import: SVG in the colours of the page."""
    height, edges = levels(found), arrows(found)
    places, paths = _layout(height, edges)
    bottom = ROW * max(height.values()) + 2 * HEIGHT
    said = ". ".join(f"{name} imports {', '.join(b for a, b in edges if a == name)}" for name in found)
    lines = "\n".join(f'<path d="{_curve(path)}" marker-end="url(#import)"/>' for path in paths)
    boxes = "\n".join(_box(name, *places[name]) for name in found)
    return f"""<div tabindex="0" role="group" aria-label="Drawing of the rooms" style="overflow-x: auto">
<svg viewBox="0 0 {WIDTH} {bottom}" role="img" aria-labelledby="rooms-title rooms-imports"
 style="min-width: 600px; width: 100%; font: 13px var(--sans, sans-serif)">
<title id="rooms-title">Rooms of the package; an arrow leads from a room to one that it imports</title>
<desc id="rooms-imports">{escape(said)}.</desc>
<defs><marker id="import" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0L8 4L0 8z" style="fill: var(--muted, #5a6472)"/></marker></defs>
<g style="fill: none; stroke: var(--muted, #5a6472)">
{lines}
</g>
{boxes}
</svg>
</div>
"""


def _box(name: str, x: float, y: float) -> str:
    width = 2 if name in PARTS else 1
    look = f"fill: var(--tint, #f5f6f4); stroke: var(--muted, #5a6472); stroke-width: {width}"
    corner = f'x="{x - BOX / 2:.1f}" y="{y - HEIGHT / 2:.1f}"'
    return (
        f'<rect {corner} width="{BOX}" height="{HEIGHT}" rx="5" style="{look}"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" style="fill: currentColor">{name}</text>'
    )


def _layout(
    height: Mapping[str, int], edges: list[Edge]
) -> tuple[dict[str, tuple[float, float]], list[list[tuple[float, float]]]]:
    """Centres of the boxes, and the points that each arrow runs through, one a row.

    Where an arrow passes a row it takes a place in it, and the places of a row are sorted by the mean of
    their neighbours above and below, by turns, so that few arrows cross (Sugiyama, Tagawa & Toda 1981).
    """
    chains = [_chain(edge, height) for edge in edges]
    rows: list[list] = [[] for _ in range(max(height.values()) + 1)]
    for name in height:
        rows[height[name]].append(name)
    for chain in chains:
        for level, knot in zip(range(height[chain[0]] - 1, height[chain[-1]], -1), chain[1:-1], strict=True):
            rows[level].append(knot)
    links = [link for chain in chains for link in pairwise(chain)]
    x = {knot: place for row in rows for knot, place in zip(row, _spread(row), strict=True)}
    for sweep in range(SWEEPS):
        side = 1 if sweep % 2 else 0
        for row in rows if side else rows[::-1]:
            near = {knot: [x[pair[side]] for pair in links if pair[1 - side] == knot] for knot in row}
            row.sort(key=lambda knot, near=near: sum(near[knot]) / len(near[knot]) if near[knot] else x[knot])
            x |= dict(zip(row, _spread(row), strict=True))
    top = max(height.values())
    y = {knot: HEIGHT + ROW * (top - level) for level, row in enumerate(rows) for knot in row}
    return {name: (x[name], y[name]) for name in height}, [[(x[k], y[k]) for k in chain] for chain in chains]


def _chain(edge: Edge, height: Mapping[str, int]) -> list:
    """The two ends of an arrow, and a knot for each row between them."""
    return [edge[0], *((*edge, level) for level in range(height[edge[0]] - 1, height[edge[1]], -1)), edge[1]]


def _spread(row: list) -> list[float]:
    """Places of a row from left to right; a box takes more room than an arrow that passes."""
    widths = [BOX + 14 if isinstance(knot, str) else 26 for knot in row]
    stretch = (WIDTH - sum(widths)) / (len(row) + 1)
    places, at = [], stretch
    for width in widths:
        places.append(at + width / 2)
        at += width + stretch
    return places


def _curve(path: list[tuple[float, float]]) -> str:
    """A smooth line from the lower edge of a box through all points to the upper edge of another."""
    (x, y), *middle, (end, low) = path
    points = [(x, y + HEIGHT / 2), *middle, (end, low - HEIGHT / 2)]
    text = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (a, b), (c, d) in pairwise(points):
        half = (b + d) / 2
        text += f"C{a:.1f} {half:.1f} {c:.1f} {half:.1f} {c:.1f} {d:.1f}"
    return text
