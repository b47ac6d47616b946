"""The choice sets through a recording: one cell a model, options, letters and answer distributions."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchtrust import distributions, harness, items, responses
from benchtrust.grid.plan import blocks

pytest.importorskip("torch")

from benchtrust.grid import run as grid_run
from benchtrust.grid.cells import fits
from benchtrust.grid.record import collect
from benchtrust.inference.model import reader

SMALL, BASE = "SmolLM2-135M-Instruct", "gemma-3-270m"


def assert_recorded(store, n_items: int, n_models: int, names) -> None:
    """Each item once a model and set, with all that the uniformity part reads, and decided by the sums."""
    frame, table = responses.read(store), distributions.read(store.rglob("*.distributions"))
    assert len(frame) == len(table) == n_items * n_models * len(names)
    assert frame.groupby(["model", "benchmark"])["cell_id"].nunique().eq(1).all()
    key = ["model", "benchmark", "item_id", "cell_id"]
    both = frame.merge(table, on=key, validate="one_to_one")
    assert len(both) == len(frame)
    for row in both.itertuples():
        item = next(i for i in items.load(row.benchmark, "practice") if i.item_id == row.item_id)
        assert len(row.option_logprobs) == len(row.letter_logprobs) == len(item.options)
        assert row.choice == int(np.argmax(row.option_logprobs))
        assert row.score == float(row.choice == item.answer)
        assert row.positions == row.option_tokens[row.choice]
        space = int(row.model.startswith(BASE))
        assert row.option_bytes == [len(option.encode()) + space for option in item.options]
    assert set(frame["outcome"]) == {"scored"}
    shares = responses.option_probabilities(frame).groupby([*key, "sample"])["probability"].sum()
    np.testing.assert_allclose(shares, 1)


def test_all_sets_are_recorded_and_collected_with_stand_ins(record, tmp_path):
    plan = blocks([SMALL, BASE], items.CHOICE_SETS, source="practice")
    assert record(plan, 3, tmp_path / "store") == {"loads": 2, "prompts": 36}
    assert_recorded(tmp_path / "store", 3, 2, items.CHOICE_SETS)
    frame = collect(tmp_path / "store", tmp_path / "record", "practice")
    assert set(frame["benchmark"]) == set(items.CHOICE_SETS)
    assert responses.cell_means(responses.read(tmp_path / "record"))["n_items"].eq(3).all()
    facts = json.loads((tmp_path / "record" / "manifest.json").read_text())
    assert len(facts["distributions"]["files"]) == len(items.CHOICE_SETS) * 2


@pytest.mark.weights(SMALL)
def test_two_practice_items_are_recorded_with_real_weights(tmp_path):
    plan = blocks([SMALL], ["arc_challenge"], source="practice")
    grid_run.run(plan, 2, tmp_path, progress=False)
    assert_recorded(tmp_path, 2, 1, ["arc_challenge"])


@pytest.mark.weights(SMALL)
@pytest.mark.external(
    "items/mcqa/logiqa_test.txt",
    "items/mcqa/pubmedqa_ori_pqal.json",
    "items/mcqa/pubmedqa_test_ground_truth.json",
    "items/mcqa/cosmosqa_valid.csv",
)
@pytest.mark.parametrize("name", ["logiqa", "pubmedqa", "cosmosqa"])
def test_the_longest_prompts_fit_the_smallest_window_of_our_models(name):
    longest = sorted(items.load(name), key=lambda item: len(item.question), reverse=True)[:10]
    (configuration,) = harness.envelope(name)
    prompts = [harness.render(item, configuration) for item in longest]
    assert all(fits(reader(SMALL), prompt) for prompt in prompts)
    assert not any(fits(replace(reader(SMALL), context_window=300), prompt) for prompt in prompts)
