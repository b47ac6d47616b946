"""Recording: valid rows, nothing done twice, and a kill in mid-run that leaves no trace."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchtrust import harness, items, responses
from benchtrust.grid.plan import asked, blocks
from benchtrust.grid.store import cost, folder, label, missing, part_path
from benchtrust.harness import Configuration

pytest.importorskip("torch")

from benchtrust.grid import run as grid_run
from benchtrust.inference import generate, option_logprobs
from benchtrust.inference.tokens import ContextOverflowError, encode

SMALL, BASE = "SmolLM2-135M-Instruct", "gemma-3-270m"
CONFIGURATION = ["template", "shots", "decoding", "scoring"]


def plan(models=(SMALL,), names=("toxigen", "xstest"), **axes):
    kept = {"template": ["minimal"], "shots": [0, 3], "decoding": ["none", "greedy", "t0.7"]} | axes
    return blocks(models, names, source="practice", **kept)


def contents(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*.parquet"))}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, stand_in):
    """Five benchmarks, two models, zero-shot; BBQ with three shots too; five items in two batches."""
    store = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid_run, "load", lambda name, *_: stand_in(name))
        patch.setattr(grid_run.engine, "BATCH_ROWS", 4)
        everything = plan((SMALL, BASE), tuple(items.BENCHMARKS), shots=[0])
        everything += plan((SMALL,), ("bbq",), shots=[3])
        grid_run.run(everything, 5, store, quantization="none", progress=False)
    return store


# ---------------------------------------------------------------- rows


def test_every_cell_has_every_item_once(recorded):
    frame = responses.read(recorded)
    per_model = frame.groupby("model")["cell_id"].nunique()
    assert dict(per_model) == {f"{SMALL} (none)": 5 * 3 + 1, f"{BASE} (none)": 5}
    assert set(frame.groupby(["model", "benchmark", "cell_id"])["item_id"].nunique()) == {5}
    assert len(frame) == 5 * frame.groupby("model")["cell_id"].nunique().sum()
    for name, group in frame.groupby("benchmark"):
        chosen = items.subset(items.load(name, "practice"), 5)
        hashes = {item.item_id: item.sha256 for item in chosen}
        assert dict(zip(group["item_id"], group["item_hash"], strict=True)) == hashes


def test_one_configuration_has_one_cell_and_the_whole_table_can_be_scored(recorded):
    frame = responses.read(recorded)
    assert set(frame.groupby(["model", "benchmark", *CONFIGURATION])["cell_id"].nunique()) == {1}
    means = responses.cell_means(frame)
    assert means["score"].notna().all()
    assert (means["n"] == 5).all()


def test_log_prob_rows_hold_options_and_letters_and_no_text(recorded):
    frame = responses.read(recorded)
    scored = frame[frame["scoring"] == "logprob"]
    for row in scored.itertuples():
        item = next(i for i in items.load(row.benchmark, "practice") if i.item_id == row.item_id)
        assert (
            len(row.option_logprobs) == len(row.option_tokens) == len(row.option_bytes) == len(item.options)
        )
        shown = row.benchmark in ("truthfulqa", "bbq", "toxigen")
        assert (row.letter_logprobs is not None) == shown
        assert row.choice == int(np.argmax(row.option_logprobs))
        assert row.score == float(row.choice == item.answer)
    assert scored["completion"].isna().all()
    assert (scored["outcome"] == "scored").all()


def test_free_form_rows_hold_text_and_no_log_probs(recorded):
    frame = responses.read(recorded)
    free = frame[frame["scoring"] == "free_form"]
    assert free["completion"].notna().all()
    assert free[["option_logprobs", "option_tokens", "option_bytes", "letter_logprobs"]].isna().all(axis=None)
    assert set(free["outcome"]) <= {"scored", "unparsed", "truncated"}
    assert set(free["decoding"]) == {"greedy", "t0.7"}


def test_rows_agree_with_the_engine_called_directly(recorded, stand_in):
    model = stand_in(SMALL)
    frame = responses.read(recorded)
    frame = frame[(frame["model"] == f"{SMALL} (none)") & (frame["benchmark"] == "bbq")]
    loaded = items.load("bbq", "practice")
    pool, by_id = items.exemplars(loaded), {item.item_id: item for item in loaded}
    for row in frame[frame["decoding"].isin(["none", "greedy", "t0.7"])].itertuples():
        if row.item_id != frame["item_id"].iloc[0]:
            continue
        configuration = Configuration(row.template, row.shots, row.decoding, row.scoring)
        rendered = harness.render(by_id[row.item_id], configuration, pool)
        if row.scoring == "logprob":
            score = option_logprobs(model, [rendered.messages], [(*rendered.candidates, *rendered.letters)])[
                0
            ]
            np.testing.assert_allclose(
                [*row.option_logprobs, *row.letter_logprobs], score.logprobs, atol=1e-4
            )
        else:
            seed = grid_run.sample_seed(row.cell_id, row.item_id)
            answer = generate(model, [rendered.messages], row.decoding, [seed], 4)[0]
            assert row.completion == answer.text


def test_cell_ids_are_those_of_the_definition(recorded, stand_in):
    frame = responses.read(recorded)
    row = frame[(frame["benchmark"] == "bbq") & (frame["shots"] == 3)].iloc[0]
    pool = items.exemplars(items.load("bbq", "practice"))
    name = row["model"].removesuffix(" (none)")
    configuration = Configuration(*row[CONFIGURATION])
    source = stand_in(name).entry.source
    cell = harness.definition("bbq", name, source, "none", configuration, pool)
    assert row["cell_id"] == harness.cell_id(cell)


def test_seeds_of_samples_differ_by_cell_item_and_replicate():
    seeds = {grid_run.sample_seed(c, i, s) for c in "ab" for i in "xy" for s in (0, 1)}
    assert len(seeds) == 8
    assert grid_run.sample_seed("a", "x") == grid_run.sample_seed("a", "x", 0)
    assert all(0 <= seed < 2**64 for seed in seeds)


# ---------------------------------------------------------------- nothing is done twice


def test_a_second_run_does_nothing(record, tmp_path):
    assert record(plan(shots=[0]), 5, tmp_path) == {"loads": 1, "prompts": 10}
    before = contents(tmp_path)
    assert record(plan(shots=[0]), 5, tmp_path) == {"loads": 0, "prompts": 0}
    assert record(plan(shots=[0]), 3, tmp_path) == {"loads": 0, "prompts": 0}
    assert contents(tmp_path) == before
    assert record(plan(), 5, tmp_path) == {"loads": 1, "prompts": 10}


def test_more_items_leave_the_old_files_as_they_are(record, tmp_path):
    record(plan(shots=[0]), 5, tmp_path)
    before = contents(tmp_path)
    assert record(plan(shots=[0]), 9, tmp_path)["prompts"] == 8
    after = contents(tmp_path)
    assert before.items() <= after.items()
    frame = responses.read(tmp_path)
    assert set(frame.groupby("cell_id")["item_id"].nunique()) == {9}


def test_more_configurations_are_added_without_asking_the_old_ones_again(record, tmp_path):
    one = {"names": ("toxigen",), "shots": [0]}
    record(plan(**one, decoding=["none"]), 3, tmp_path)
    before = contents(tmp_path)
    record(plan(**one, decoding=["none", "greedy"]), 3, tmp_path)
    record(plan(**one, decoding=["greedy", "t0.7"]), 4, tmp_path)
    record(plan(**one), 4, tmp_path)
    assert before.items() <= contents(tmp_path).items()
    frame = responses.read(tmp_path)
    assert set(frame.groupby("cell_id")["item_id"].nunique()) == {4}
    assert frame["cell_id"].nunique() == 3
    block = plan(**one)[0]
    assert missing(tmp_path, block, asked(block, 4)[1], "none") == []


def test_two_quantisations_do_not_meet_in_one_file(tmp_path):
    block = plan()[0]
    chosen = asked(block, 3)[1]
    paths = {part_path(tmp_path, block, chosen, q) for q in ("nf4", "none")}
    assert len(paths) == 2
    assert folder(tmp_path, block) == tmp_path / block.name
    assert (label(SMALL, "nf4"), label(SMALL, "none")) == (SMALL, f"{SMALL} (none)")


def test_a_model_is_loaded_once_for_all_its_blocks(record, tmp_path):
    assert record(plan((SMALL, BASE), decoding=["none"]), 1, tmp_path) == {"loads": 2, "prompts": 8}


def test_a_quantisation_is_checked_before_anything_is_asked(tmp_path):
    with pytest.raises(KeyError, match="Did you mean nf4"):
        grid_run.run(plan(), 2, tmp_path, quantization="nf5", progress=False)


def test_costs_are_read_where_a_kill_left_a_note_without_answers(record, tmp_path):
    record(plan(shots=[0]), 2, tmp_path)
    some = next(tmp_path.rglob("*.json"))
    some.with_name("0" * 16 + ".json").write_text('{"cpu_s": 1.0, "wall_s": 1.0}')
    frame = cost(tmp_path)
    assert list(frame.columns) == ["model", "benchmark", "block", "answers", "cpu_s", "wall_s"]
    assert len(frame) == 2
    assert frame["answers"].sum() == len(responses.read(tmp_path))
    assert (frame["cpu_s"] > 0).all()
    assert cost(tmp_path / "nothing").empty


# ---------------------------------------------------------------- killed in mid-run

CHILD = """
import sys, time
from dataclasses import replace
from pathlib import Path
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from benchtrust.grid import run
from benchtrust.grid.plan import blocks
from benchtrust.inference import entry
from benchtrust.inference.model import wrap

torch.set_num_threads(1)
saved, store = sys.argv[1:]
network = AutoModelForCausalLM.from_pretrained(saved)
model = wrap(entry("SmolLM2-135M-Instruct"), network, AutoTokenizer.from_pretrained(saved))
original = run.answer
def slow(*arguments):
    time.sleep(0.15)
    return original(*arguments)
run.load, run.answer, run.engine.BATCH_ROWS = lambda *_: model, slow, 4
run.Configuration.max_new_tokens = property(lambda self: 0 if self.scoring == "logprob" else 4)
plan = blocks(["SmolLM2-135M-Instruct"], ["toxigen", "xstest"], source="practice", template=["minimal"],
              shots=[0], decoding=["none", "t0.7"])
run.run(plan, 16, Path(store), quantization="none", progress=False)
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory, stand_in):
    """The random model on disk, for other processes, with the settings that it ships with."""
    path = tmp_path_factory.mktemp("saved")
    model = stand_in(SMALL)
    shipped = model.network.generation_config.eos_token_id
    model.network.generation_config.update(
        do_sample=False, temperature=None, top_k=None, eos_token_id=shipped
    )
    model.network.save_pretrained(path)
    model.tokenizer.save_pretrained(path)
    return path


def start(saved: Path, store: Path) -> subprocess.Popen:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", CHILD, str(saved), str(store)], env=environment)


def test_a_killed_recording_goes_on_as_if_nothing_had_happened(saved, record, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    victim = start(saved, broken)
    task = plan(shots=[0], decoding=["none", "t0.7"])
    record(task, 16, whole)
    deadline = time.monotonic() + 300
    while len(list(broken.rglob("*.parquet"))) < 3 and victim.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(victim.pid, signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    left = contents(broken)
    assert 3 <= len(left) < len(contents(whole)) == 8
    responses.read(broken)
    again = record(task, 16, broken)
    assert again["prompts"] == 4 * (8 - len(left))
    assert left.items() <= contents(broken).items()
    assert contents(broken) == contents(whole)
    pd.testing.assert_frame_equal(responses.read(broken), responses.read(whole))


# ---------------------------------------------------------------- the context window


def few_shot(name: str = "toxigen", shots: int = 5):
    return plan(names=(name,), shots=[shots])[0]


def test_whole_exemplars_are_dropped_where_they_do_not_fit(stand_in):
    block = few_shot()
    pool, chosen = asked(block, 4)
    roomy = stand_in(SMALL)
    configuration = block.configurations[0]
    lengths = [
        max(
            len(encode(roomy, harness.render(item, replace(configuration, shots=n), pool).messages))
            for item in chosen
        )
        for n in range(6)
    ]
    assert grid_run.fitting_shots(roomy, configuration, chosen, pool) == 5
    for n in range(1, 6):
        exact = stand_in(SMALL, max_position_embeddings=lengths[n] + 128)
        tight = stand_in(SMALL, max_position_embeddings=lengths[n] + 127)
        assert grid_run.fitting_shots(exact, configuration, chosen, pool) == n
        assert grid_run.fitting_shots(tight, configuration, chosen, pool) == n - 1


def test_rows_say_how_many_exemplars_were_used_and_are_another_cell(stand_in):
    block = few_shot()
    pool, chosen = asked(block, 4)
    full = grid_run.answer(stand_in(SMALL), block, chosen, pool)
    cut = grid_run.answer(stand_in(SMALL, max_position_embeddings=1100), block, chosen, pool)
    assert set(full["shots_used"]) == {5}
    assert set(cut["shots"]) == {5}
    assert len(set(cut["shots_used"])) == 1
    assert 0 < cut["shots_used"].iloc[0] < 5
    assert not set(full["cell_id"]) & set(cut["cell_id"])


def test_a_question_that_does_not_fit_by_itself_is_an_error(stand_in):
    block = few_shot()
    pool, chosen = asked(block, 4)
    with pytest.raises(ContextOverflowError, match="tokens do not fit"):
        grid_run.answer(stand_in(SMALL, max_position_embeddings=100), block, chosen, pool)


def test_notes_of_cost_are_plain_numbers(recorded):
    for path in recorded.rglob("*.json"):
        assert set(json.loads(path.read_text())) == {"cpu_s", "wall_s"}
        assert path.with_suffix(".parquet").is_file()
