"""Emulations: asked once, judged as they would be at once, recorded without text, refused when altered."""

import json

import pandas as pd
import pytest

pytest.importorskip("torch")

from benchtrust import items
from benchtrust.errors import BenchtrustError, DataFileError
from benchtrust.packages import emulate, emulated

MODEL = "SmolLM2-135M-Instruct"
N = 4


@pytest.fixture
def asked(installed, base, model, monkeypatch):
    """ToxiGen's practice items, asked of the made-up network under a catalogue name."""
    monkeypatch.setattr(emulate, "Engines", lambda name: {"nf4": model, "fp32": model})
    return list(emulated.ask(MODEL, "toxigen", N, "practice"))


def test_what_was_asked_is_not_asked_again(asked, monkeypatch):
    assert [done.place for done in asked] == list(range(1, len(asked) + 1))
    assert all(done.seconds is not None for done in asked)
    monkeypatch.setattr(emulate, "Engines", lambda name: {})
    again = list(emulated.ask(MODEL, "toxigen", N, "practice"))
    assert [done.seconds for done in again] == [None] * len(asked)
    with pytest.raises(KeyError):
        list(emulated.ask(MODEL, "toxigen", N + 1, "practice"))


def test_a_kept_answer_is_judged_as_one_given_at_once(asked, model):
    (found,) = emulated.collect("practice")
    assert found.name == f"{MODEL}/toxigen"
    assert found.missing == ()
    assert emulated.collect("upstream") == []
    chosen = items.subset(items.load("toxigen", "practice"), N)
    for recipe in emulated.recipes("toxigen"):
        own = found.table[found.table["recipe"] == recipe.key].reset_index(drop=True)
        at_once = emulate.decisions(recipe, chosen, model)
        pd.testing.assert_frame_equal(own[list(at_once.columns)], at_once)
        assert [len(given) for given in own["logprobs"]] == [2] * N


def test_paths_are_whole_or_not_drawn(asked, base):
    steps = emulate.path("lm_eval", "toxigen")
    (found,) = emulated.collect("practice")
    assert len(emulated.steps(found.table, steps)) == len(steps)
    folder = base / "emulated" / MODEL / "toxigen"
    next(path for path in sorted(folder.iterdir()) if path.name != emulated.ASKED).unlink()
    (found,) = emulated.collect("practice")
    assert len(found.missing) == 1
    assert emulated.steps(found.table, steps) is None


def test_the_record_is_read_back_and_holds_no_text(asked, tmp_path):
    found = emulated.collect("practice")
    target = tmp_path / "emulation"
    assert emulated.write(found, target) == []
    back = emulated.read(target)
    pd.testing.assert_frame_equal(back.drop(columns="logprobs"), found[0].table.drop(columns="logprobs"))
    assert [list(given) for given in back["logprobs"]] == [
        list(given) for given in found[0].table["logprobs"]
    ]
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["recipes"][emulate.ours("toxigen").key]["prompt"] == "minimal"
    assert manifest["runs"][f"{MODEL}/toxigen"]["items"] == N
    texts = [item.question for item in items.load("toxigen", "practice")]
    for path in target.rglob("*"):
        if path.is_file():
            assert not any(text in path.read_bytes().decode(errors="replace") for text in texts)


def test_an_altered_or_missing_record_is_refused(asked, tmp_path):
    target = tmp_path / "emulation"
    with pytest.raises(DataFileError, match="packages emulate"):
        emulated.read(target)
    emulated.write(emulated.collect("practice"), target)
    path = target / MODEL / "toxigen.parquet"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DataFileError, match=r"toxigen\.parquet is not the recorded file"):
        emulated.read(target)


def test_answers_to_other_items_are_not_taken(asked, base):
    path = base / "emulated" / MODEL / "toxigen" / emulated.ASKED.format(4)
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"item_ids": facts["item_ids"][::-1]}))
    with pytest.raises(BenchtrustError, match="other items than the grid's first 4"):
        emulated.collect("practice")


def test_asking_fewer_or_more_items_leaves_what_was_asked(asked, base):
    next(emulated.ask(MODEL, "toxigen", 3, "practice"))
    (found,) = emulated.collect("practice")
    assert (found.facts["items"], found.missing) == (4, ())


def test_recipes_of_all_paths_stand_once_long_answers_last():
    found = emulated.recipes("truthfulqa")
    assert len({recipe.key for recipe in found}) == len(found)
    assert found[0] == emulate.ours("truthfulqa")
    assert found[-1].limit == max(recipe.limit for recipe in found)
    assert len(emulated.recipes("truthfulqa", ["lm_eval"])) < len(found)
