"""How single values of a table are shown."""

import numpy as np
import pandas as pd
import pytest

from benchtrust.compendium.directives import format_cell, table_node
from benchtrust.compendium.ledger import Artefact
from benchtrust.compendium.provenance import origin


@pytest.mark.parametrize(
    ("value", "spec", "shown"),
    [
        (0.123456, "", "0.123"),
        (-0.5, "", "−0.500"),
        (np.int64(12), "", "12"),
        (12.0, "d", "12"),
        (0.25, ".1%", "25.0%"),
        (float("nan"), ".1%", "–"),
        (np.True_, "", "yes"),
        ("a-b", "", "a-b"),
    ],
)
def test_cells(value: object, spec: str, shown: str) -> None:
    assert format_cell(value, spec, 3) == shown


def test_numbers_are_set_apart_from_text() -> None:
    frame = pd.DataFrame({"model_name": ["a", "b"], "score": [0.5, None]})
    artefact = Artefact("t", "table", formats={"score": ".2f"}, labels={"score": "ρ"})
    rows = [
        [(entry.astext(), "number" in entry["classes"]) for entry in row.children]
        for row in table_node(frame, artefact, 3).findall(lambda node: node.tagname == "row")
    ]
    assert rows == [
        [("model name", False), ("ρ", True)],
        [("a", False), ("0.50", True)],
        [("b", False), ("–", True)],
    ]


@pytest.mark.parametrize(
    ("artefact", "words"),
    [
        (Artefact("x", "number", inputs=["data/recorded/a.parquet"]), "from recorded responses"),
        (Artefact("x", "number", inputs=["data/recorded/a.parquet"], live=True), "measured live"),
        (Artefact("x", "number", inputs=["data/published/claims.csv"]), "computed here"),
        (Artefact("x", "number", public=["data:a.csv"], inputs=["data/recorded/a"]), "recomputed here"),
        (Artefact("x", "number", public=["data:a.csv"], committed=True), "from committed results"),
        (Artefact("x", "number", public=["data:a.csv"], live=True), "measured live"),
    ],
)
def test_origin(artefact: Artefact, words: str) -> None:
    assert origin(artefact) == words
