"""Sabotage: exactly what hangs on a damaged input changes, and a ledger that lacks an edge is found out."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchtrust.compendium import fingerprints
from benchtrust.compendium.sabotage import (
    Outcome,
    SabotageError,
    drop_an_item,
    flip_a_response,
    sabotage,
    swap_two_models,
)

DIRECT = {"answers", "n-models"}
DOWNSTREAM = {"mean-of-answers", "first-of-answers"}


@contextmanager
def edited(path: Path, edit) -> Iterator[None]:
    """A JSON file with a change in it, put back afterwards."""
    before = path.read_text()
    content = json.loads(before)
    edit(content)
    path.write_text(json.dumps(content))
    try:
        yield
    finally:
        path.write_text(before)


def test_a_damage_changes_exactly_what_hangs_on_it(project: Path) -> None:
    before = fingerprints.of_tree(project)
    said: list[str] = []
    flip, seed = sabotage(
        seed=1, kinds=["flip a response", "change a seed"], everything=True, say=said.append
    )
    assert flip.holds, flip
    assert flip.expected == DIRECT | DOWNSTREAM
    assert flip.ran == ("part/scores", "part/reader", "part/alone")
    assert flip.stopped == ()
    assert {"answers", "mean-of-answers"} <= flip.moved
    assert "n-models" not in flip.moved
    assert {"level", "drawn"}.isdisjoint(flip.anew)
    assert seed.holds, seed
    assert seed.expected == seed.moved == {"drawn"}
    assert fingerprints.of_tree(project) == before
    assert any("3 notebooks of the profile smoke, about" in text for text in said)


def test_only_what_hangs_on_the_damage_is_run(project: Path) -> None:
    (swap,) = sabotage(seed=2, kinds=["swap two models"])
    assert swap.ran == ("part/scores", "part/reader")
    assert swap.holds, swap
    assert "mean-of-answers" not in swap.moved


def test_a_ledger_without_an_edge_is_found_out_and_so_is_an_edge_that_is_none(project: Path) -> None:
    """One artefact that rests on the responses loses its edge, one that does not is given one."""

    def edit(content: dict) -> None:
        content["artefacts"]["answers"]["inputs"].clear()
        content["artefacts"]["level"]["inputs"].append("data/recorded/grid")

    with edited(project / "build/smoke/results/part/scores/ledger.json", edit):
        (outcome,) = sabotage(seed=1, kinds=["drop an item"])
    assert not outcome.holds
    assert (outcome.unexpected, outcome.missed) == (["answers"], ["level"])
    assert "changed without an edge: answers" in outcome.lines()
    assert "an edge, but not recorded anew: level" in outcome.lines()


def test_a_damage_that_nobody_notices_does_not_hold() -> None:
    quiet = Outcome("flip a response", "x", (), (), frozenset("a"), frozenset("a"), frozenset())
    assert not quiet.holds
    assert "nothing moved: the damage was not noticed" in quiet.lines()


def test_a_missed_artefact_does_not_hold() -> None:
    outcome = Outcome("drop an item", "x", (), (), frozenset("ab"), frozenset("a"), frozenset("a"))
    assert not outcome.holds
    assert outcome.missed == ["b"]


def test_nothing_to_sabotage(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchtrust.compendium.sabotage._tables", lambda name, kind: [])
    with pytest.raises(SabotageError, match="gives anything to drop an item"):
        sabotage(kinds=["drop an item"])


def tables() -> dict[str, pd.DataFrame]:
    """Two models' answers to two items, one of them to a third item too."""
    rows = [("A", "i0", 1.0), ("A", "i1", 0.0), ("A", "i2", 1.0), ("B", "i0", 0.0), ("B", "i1", 1.0)]
    frame = pd.DataFrame(rows, columns=["model", "item_id", "score"])
    frame = frame.assign(benchmark="toxigen", outcome="scored", template="minimal", scoring="free_form")
    return {m: own.reset_index(drop=True) for m, own in frame.groupby("model")}


@pytest.mark.parametrize("seed", range(5))
def test_damages_are_what_they_are_called(seed: int) -> None:
    before, rng = tables(), np.random.default_rng(seed)
    _, flipped = flip_a_response(before, rng)
    ((file, frame),) = flipped.items()
    changed = frame["score"] != before[file]["score"]
    assert changed.sum() == 1
    assert frame.loc[changed, "item_id"].item() in ("i0", "i1")  # an item that both were asked
    _, dropped = drop_an_item(before, rng)
    gone = {m: set(before[m]["item_id"]) - set(frame["item_id"]) for m, frame in dropped.items()}
    assert len(set.union(*gone.values())) == 1
    _, swapped = swap_two_models(before, rng)
    assert set(swapped["A"]["model"]) == {"B"}
    assert set(swapped["B"]["model"]) == {"A"}
    pd.testing.assert_frame_equal(swapped["A"].drop(columns="model"), before["A"].drop(columns="model"))


def test_the_same_seed_damages_the_same() -> None:
    texts = {flip_a_response(tables(), np.random.default_rng(7))[0] for _ in range(3)}
    assert len(texts) == 1
