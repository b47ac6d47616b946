"""The drawing of the rooms: what the sources import, all of it and nothing else."""

import ast
import xml.etree.ElementTree as ElementTree
from graphlib import CycleError
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust.compendium import architecture
from benchtrust.compendium.architecture import PACKAGE, PARTS, Room


@pytest.fixture(scope="module")
def found():
    return architecture.rooms()


def graph(*edges: str, rooms: str = "") -> dict[str, Room]:
    """Rooms of one letter each; an edge "ab" is an import of b by a."""
    names = sorted({*"".join(edges), *rooms})
    return {name: Room(name, "", frozenset(b for a, b in edges if a == name)) for name in names}


def reachable(arrows: list[tuple[str, str]], start: str) -> set[str]:
    ends = {b for a, b in arrows if a == start}
    return ends.union(*(reachable(arrows, end) for end in ends))


graphs = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda e: e[0] > e[1])).map(
    lambda edges: graph(*(f"{'abcdefg'[a]}{'abcdefg'[b]}" for a, b in edges), rooms="abcdefg")
)


def test_every_folder_and_module_is_a_room_and_says_what_it_is_for(found):
    entries = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert {*found} == {name for name in entries if not name.startswith("__")} | {"notebooks"}
    assert [room.name for room in found.values() if len(room.purpose) < 20] == []


def test_imports_are_those_of_the_sources(found):
    for name in ("irt", "grid", "compendium"):
        trees = [ast.parse(path.read_text("utf-8")) for path in (PACKAGE / name).rglob("*.py")]
        nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        dotted = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
        reached = {entry.split(".")[1] for entry in dotted if entry.startswith("benchtrust.")}
        assert found[name].imports == reached - {name}
    assert "commands" in found["cli"].imports
    assert {*PARTS} <= found["notebooks"].imports


@settings(deadline=None, max_examples=40)
@given(graphs)
def test_arrows_are_the_fewest_that_imply_all_imports(rooms):
    arrows = architecture.arrows(rooms)
    for name, room in rooms.items():
        assert room.imports <= reachable(arrows, name)
        for arrow in [arrow for arrow in arrows if arrow[0] == name]:
            assert arrow[1] in room.imports
            assert arrow[1] not in reachable([other for other in arrows if other != arrow], name)


@settings(deadline=None, max_examples=40)
@given(graphs)
def test_a_room_stands_above_all_that_it_imports(rooms):
    height = architecture.levels(rooms)
    assert all(height[own] < height[name] for name, room in rooms.items() for own in room.imports)


def test_the_parts_stand_side_by_side(found):
    assert len({architecture.levels(found)[part] for part in PARTS}) == 1


def test_rooms_that_import_each_other_are_refused():
    with pytest.raises(CycleError):
        architecture.levels(graph("ab", "bc", "ca"))


def test_the_drawing_says_in_words_what_it_shows_and_no_box_lies_on_another(found):
    figure = ElementTree.fromstring(architecture.drawing(found))
    picture = figure.find("svg")
    said = picture.find("desc").text
    assert picture.get("role") == "img"
    assert all(f"{name} imports" in said for name, _ in architecture.arrows(found))
    boxes = [[float(box.get(side)) for side in ("y", "x", "width")] for box in picture.findall("rect")]
    assert len(boxes) == len(found) == len([text for text in picture.findall("text") if text.text in found])
    rows = pairwise(sorted(boxes))
    assert all(x + width < right or y != below for (y, x, width), (below, right, _) in rows)
    assert all(x >= 0 and x + width <= architecture.WIDTH for _, x, width in boxes)
    assert len(picture.findall("g/path")) == len(architecture.arrows(found))


def test_the_table_lists_all_imports(found):
    table = architecture.table(found).set_index("Room")
    assert {*table.index} == {*found}
    assert table.loc["errors", "Imports"] == "nothing"
    assert {*table.loc["grid", "Imports"].split(", ")} == {*found["grid"].imports}
