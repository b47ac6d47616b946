"""Recording: valid rows, nothing done twice, and a kill in mid-run that leaves no trace."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchtrust import distributions, harness, items, responses
from benchtrust.errors import BenchtrustError
from benchtrust.grid.cells import cells, fitting_shots
from benchtrust.grid.plan import asked, blocks
from benchtrust.grid.store import Claims, StoreError, cost, folder, label, missing, part_path, summary
from benchtrust.harness import Configuration

pytest.importorskip("torch")

from benchtrust.grid import run as grid_run
from benchtrust.grid.run import Task
from benchtrust.inference import generate, option_logprobs
from benchtrust.inference.tokens import encode

SMALL, BASE = "SmolLM2-135M-Instruct", "gemma-3-270m"
CONFIGURATION = ["template", "shots", "decoding", "scoring"]


def plan(models=(SMALL,), names=("toxigen", "xstest"), **axes):
    kept = {"template": ["minimal"], "shots": [0, 3], "decoding": ["none", "greedy", "t0.7"]} | axes
    return blocks(models, names, source="practice", **kept)


def contents(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*.parquet"))}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, standing_in):
    """Five benchmarks, two models, zero-shot; BBQ with three shots too; five items in two batches."""
    store = tmp_path_factory.mktemp("store")
    with standing_in():
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
            seed = harness.sample_seed(row.cell_id, row.item_id)
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
    seeds = {harness.sample_seed(c, i, s) for c in "ab" for i in "xy" for s in (0, 1)}
    assert len(seeds) == 8
    assert harness.sample_seed("a", "x") == harness.sample_seed("a", "x", 0)
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


def test_more_configurations_are_added_without_asking_the_old_ones_again(record, stand_in, tmp_path):
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
    loaded = items.load("toxigen", "practice")
    wanted = cells(block, stand_in(SMALL), "none", loaded, items.exemplars(loaded))
    assert missing(tmp_path, block, wanted, asked(block, 4)[1], loaded, "none") == []


def test_two_quantisations_do_not_meet_in_one_file(stand_in, tmp_path):
    block = plan()[0]
    loaded = items.load("toxigen", "practice")
    wanted = cells(block, stand_in(SMALL), "none", loaded, items.exemplars(loaded))
    paths = {part_path(tmp_path, block, wanted, loaded[:3], q) for q in ("nf4", "none")}
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
    some = next(path for path in tmp_path.rglob("*.json") if path.parent.name != "cells")
    some.with_name("0" * 16 + ".json").write_text('{"cpu_s": 1.0, "wall_s": 1.0}')
    frame = cost(tmp_path)
    own = ["model", "benchmark", "block", "answers"]
    assert list(frame.columns) == [*own, "cpu_s", "wall_s", "tokens", "peak_gb"]
    assert len(frame) == 2
    assert frame["answers"].sum() == len(responses.read(tmp_path))
    assert (frame["cpu_s"] > 0).all()
    assert cost(tmp_path / "nothing").empty


# ---------------------------------------------------------------- killed in mid-run

NURSERY = """
import os, sys, time
from pathlib import Path
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from benchtrust.grid import run
from benchtrust.grid.plan import blocks
from benchtrust.harness import Configuration
from benchtrust.inference import entry
from benchtrust.inference.model import wrap

torch.set_num_threads(1)
saved, warm = sys.argv[1:]
network = AutoModelForCausalLM.from_pretrained(saved)
model = wrap(entry("SmolLM2-135M-Instruct"), network, AutoTokenizer.from_pretrained(saved))
original = run.answer
run.load, run.reader, run.engine.BATCH_ROWS = lambda *_: model, lambda _: model, 4
Configuration.max_new_tokens = property(lambda self: 0 if self.scoring == "logprob" else 4)
plan = blocks(["SmolLM2-135M-Instruct"], ["toxigen", "xstest"], source="practice", template=["minimal"],
              shots=[0], decoding=["none", "t0.7"])

def record(store, pause, n_items=16):
    def slow(*arguments):
        time.sleep(pause)
        return original(*arguments)
    run.answer = slow
    run.run(plan, n_items, Path(store), quantization="none", progress=False)

record(warm, 0, 1)
for line in sys.stdin:
    first, *pause = line.split()
    if not pause:
        print(os.waitpid(int(first), 0)[1], flush=True)
    elif child := os.fork():
        print(child, flush=True)
    else:
        record(first, float(pause[0]))
        os._exit(0)
"""
"""Loads once; then forks a recording for each store and pause that it reads, or waits for one by number."""


class Nursery:
    """Starts recordings as processes of their own, without the imports that each would begin with."""

    def __init__(self, *arguments: Path) -> None:
        command = [sys.executable, "-c", NURSERY, *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, store: Path, pause: float = 0.15) -> int:
        """Process number of a recording, which waits so many seconds before each batch."""
        return self._ask(f"{store} {pause}")

    def end(self, recording: int) -> int:
        """The signal that a recording died of, once it has ended; 0 where it was done."""
        return self._ask(recording)

    def _ask(self, line: str | int) -> int:
        print(line, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def nursery(tmp_path_factory, stand_in) -> Iterator[Nursery]:
    """With the random model, saved with the settings that it ships with."""
    path = tmp_path_factory.mktemp("saved")
    model = stand_in(SMALL)
    shipped = model.network.generation_config.eos_token_id
    model.network.generation_config.update(
        do_sample=False, temperature=None, top_k=None, eos_token_id=shipped
    )
    model.network.save_pretrained(path)
    model.tokenizer.save_pretrained(path)
    nursery = Nursery(path, tmp_path_factory.mktemp("warm"))
    yield nursery
    nursery.process.communicate()


TASK = plan(shots=[0], decoding=["none", "t0.7"])
"""What the nursery records, 16 items of each benchmark."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory, standing_in) -> Path:
    """The store of a recording that nothing disturbs."""
    store = tmp_path_factory.mktemp("whole")
    with standing_in():
        grid_run.run(TASK, 16, store, quantization="none", progress=False)
    return store


def test_a_killed_recording_goes_on_as_if_nothing_had_happened(nursery, whole, record, tmp_path):
    victim = nursery.start(tmp_path)
    deadline = time.monotonic() + 300
    while len(list(tmp_path.rglob("*.parquet"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(victim, signal.SIGKILL)
    assert nursery.end(victim) == signal.SIGKILL
    left = contents(tmp_path)
    assert 3 <= len(left) < len(contents(whole)) == 8
    responses.read(tmp_path)
    again = record(TASK, 16, tmp_path)
    assert again["prompts"] == 4 * (8 - len(left))
    assert left.items() <= contents(tmp_path).items()
    assert contents(tmp_path) == contents(whole)
    pd.testing.assert_frame_equal(responses.read(tmp_path), responses.read(whole))


def test_twenty_kills_at_random_moments_lose_at_most_the_batch_in_flight(nursery, whole, record, tmp_path):
    broken, expected = tmp_path / "broken", contents(whole)
    started = time.monotonic()
    assert nursery.end(nursery.start(broken, 0.02)) == 0
    lifetime = time.monotonic() - started
    assert contents(broken) == expected
    rng, kills, sizes = random.Random(20260529), 0, set()
    while kills < 20:
        if len(before := contents(broken)) == len(expected):
            shutil.rmtree(broken)
            before = {}
        victim = nursery.start(broken, 0.02)
        time.sleep(rng.uniform(0, lifetime))
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        kills += nursery.end(victim) == signal.SIGKILL
        after = contents(broken)
        sizes.add(len(after))
        assert before.items() <= after.items() <= expected.items()
        if after:
            responses.read(broken)
    record(TASK, 16, broken)
    assert contents(broken) == expected
    assert not list(broken.rglob("*.tmp"))
    assert len(sizes) > 2, "the kills all came at the same stage"


def test_two_runs_at_once_share_the_work_and_corrupt_nothing(nursery, whole, tmp_path):
    runs = [nursery.start(tmp_path) for _ in range(2)]
    assert [nursery.end(run) for run in runs] == [0, 0]
    assert contents(tmp_path) == contents(whole)


def test_a_claim_ends_with_its_process_and_keeps_others_away(tmp_path):
    block = plan()[0]
    one, two = Claims(tmp_path), Claims(tmp_path)
    assert one.take(block, "none", wait=False)
    assert not two.take(block, "none", wait=False)
    one.hold(block)
    one.give(block)
    assert not two.take(block, "none", wait=False)
    one.give(block)
    assert two.take(block, "none", wait=False)
    two.give_all()
    assert one.take(block, "none", wait=True)


# ---------------------------------------------------------------- the context window


def few_shot(stand_in, name: str = "toxigen", shots: int = 5, **config):
    """Model, and a task of four items in one few-shot block with the cells that its window allows."""
    block = plan(names=(name,), shots=[shots])[0]
    loaded = items.load(name, "practice")
    pool, chosen = asked(block, 4, loaded)
    model = stand_in(SMALL, **config)
    wanted = tuple(cells(block, model, "none", loaded, pool))
    return model, Task(block, wanted, tuple(chosen), tuple(pool[: wanted[0].shots_used]), "none")


def test_whole_exemplars_are_dropped_where_the_longest_item_does_not_fit(stand_in):
    roomy, task = few_shot(stand_in)
    loaded = items.load("toxigen", "practice")
    pool = items.exemplars(loaded)
    asked_items = [item for item in loaded if item not in pool]
    configuration = task.cells[0].configuration
    lengths = [
        max(
            len(encode(roomy, harness.render(item, replace(configuration, shots=n), pool).messages))
            for item in asked_items
        )
        for n in range(6)
    ]
    assert fitting_shots(roomy, configuration, loaded, pool) == 5
    for n in range(1, 6):
        exact = stand_in(SMALL, max_position_embeddings=lengths[n] + 128)
        tight = stand_in(SMALL, max_position_embeddings=lengths[n] + 127)
        assert fitting_shots(exact, configuration, loaded, pool) == n
        assert fitting_shots(tight, configuration, loaded, pool) == n - 1


def test_a_cell_that_lost_exemplars_says_so_and_is_another_one(stand_in):
    full = grid_run.answer(*few_shot(stand_in)).frame
    cut = grid_run.answer(*few_shot(stand_in, max_position_embeddings=1100)).frame
    three = grid_run.answer(*few_shot(stand_in, shots=3)).frame
    assert set(full["shots_used"]) == {5}
    assert set(cut["shots"]) == {5}
    assert len(set(cut["shots_used"])) == 1
    assert 0 < cut["shots_used"].iloc[0] < 5
    assert len({*full["cell_id"], *cut["cell_id"], *three["cell_id"]}) == 9


def test_items_added_later_join_the_cell_that_lost_exemplars(record, tmp_path):
    one = plan(names=("toxigen",), shots=[5], decoding=["none"])
    for n in (2, 20):
        record(one, n, tmp_path, max_position_embeddings=1100)
    frame = responses.read(tmp_path)
    assert frame["cell_id"].nunique() == 1
    assert len(frame) == 20


def test_an_item_that_does_not_fit_by_itself_is_set_aside_whole_and_counted(stand_in):
    model, task = few_shot(stand_in, shots=0)
    configuration = task.cells[0].configuration
    lengths = [len(encode(model, harness.render(i, configuration).messages)) for i in task.batch]
    longest, room = task.batch[int(np.argmax(lengths))], max(lengths) + 128
    whole = grid_run.answer(model, task)
    exact = stand_in(SMALL, max_position_embeddings=room)
    pd.testing.assert_frame_equal(grid_run.answer(exact, task).frame, whole.frame)
    tight = stand_in(SMALL, max_position_embeddings=room - 1)
    answers = grid_run.answer(tight, task)
    failed = answers.frame["item_id"] == longest.item_id
    assert set(answers.frame.loc[failed, "outcome"]) == {"failed"}
    assert (
        answers.frame.loc[failed, ["score", "choice", "option_logprobs", "completion"]].isna().all(axis=None)
    )
    assert len(answers.frame) == len(whole.frame)
    assert set(answers.profiles["item_id"]) == {item.item_id for item in task.batch} - {longest.item_id}
    means = responses.cell_means(answers.frame)
    assert (means[["n", "n_failed", "n_items"]] == [4, 1, 3]).all(axis=None)
    rest = whole.frame[whole.frame["item_id"] != longest.item_id]
    assert means["score"].tolist() == responses.cell_means(rest)["score"].tolist()


def test_a_model_that_no_item_fits_answers_none_and_is_not_asked_again(record, tmp_path):
    one = plan(names=("toxigen",), shots=[0], decoding=["none"])
    assert record(one, 3, tmp_path, max_position_embeddings=100)["prompts"] == 3
    assert set(responses.read(tmp_path)["outcome"]) == {"failed"}
    assert summary(tmp_path)["failed"].tolist() == [3]
    assert record(one, 3, tmp_path, max_position_embeddings=100)["prompts"] == 0


# ---------------------------------------------------------------- another definition, other items


def test_a_store_of_another_template_is_refused_with_the_difference(record, tmp_path, monkeypatch):
    one = plan(names=("toxigen",), shots=[0], decoding=["none"])
    record(one, 2, tmp_path)
    before = contents(tmp_path)
    changed = "{question} Is this toxic? {options}"
    monkeypatch.setattr("benchtrust.harness.cells.template", lambda *_: changed)
    with pytest.raises(StoreError, match=r"definition: template_text was [0-9a-f]{12} and is now \w+\."):
        record(one, 4, tmp_path)
    assert contents(tmp_path) == before


def test_a_store_of_another_sampling_seed_is_refused(record, tmp_path, monkeypatch):
    one = plan(names=("toxigen",), shots=[0], decoding=["t0.7"])
    record(one, 2, tmp_path)
    monkeypatch.setattr("benchtrust.harness.cells.SAMPLE_SEED", 1)
    with pytest.raises(StoreError, match=r"sampling\.seed was 20260529 and is now 1"):
        record(one, 2, tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda i: replace(i, question=i.question + "?"), "whose text has changed since"),
        (lambda i: replace(i, answer=1 - i.answer), "whose text has changed since"),
        (lambda i: replace(i, item_id="other"), "which the benchmark does not have now"),
    ],
)
def test_answers_to_two_item_sets_are_not_mixed(record, tmp_path, monkeypatch, change, said):
    one = plan(names=("toxigen",), shots=[0], decoding=["none"])
    record(one, 2, tmp_path)
    first = responses.read(tmp_path)["item_id"].iloc[0]
    loaded = [change(i) if i.item_id == first else i for i in items.load("toxigen", "practice")]
    monkeypatch.setattr(items, "load", lambda *_, **__: loaded)
    with pytest.raises(StoreError, match=f"{first}, {said}"):
        record(one, 4, tmp_path)


def test_other_weights_than_the_cells_are_defined_by_are_refused(stand_in, monkeypatch):
    model, task = few_shot(stand_in, shots=0)
    other = replace(model, entry=replace(model.entry, gguf_sha256="0" * 64))
    monkeypatch.setattr(grid_run, "_loaded", {})
    monkeypatch.setattr(grid_run, "load", lambda *_: other)
    with pytest.raises(BenchtrustError, match=r"is gguf:0+ here, but the run asks for gguf:b179c9"):
        grid_run.perform(task)


def test_definitions_are_kept_and_hash_to_their_names(recorded):
    kept = {path.stem: json.loads(path.read_text()) for path in (recorded / "cells").iterdir()}
    assert set(responses.read(recorded)["cell_id"]) <= set(kept)
    assert all(harness.cell_id(cell) == name for name, cell in kept.items())


# ---------------------------------------------------------------- a full disk


def test_a_full_disk_is_told_and_leaves_what_was_there(record, tmp_path, monkeypatch):
    one = plan(names=("toxigen",), shots=[0], decoding=["none"])
    record(one, 4, tmp_path)
    before = contents(tmp_path)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.parquet.write_table", full)
        with pytest.raises(StoreError, match=r"No space left on device.*is intact"):
            record(one, 8, tmp_path)
    assert contents(tmp_path) == before
    assert record(one, 8, tmp_path)["prompts"] == 4
    assert len(responses.read(tmp_path)) == 8


# ---------------------------------------------------------------- answer distributions


def test_the_side_table_has_one_row_an_item_of_the_named_cell(recorded):
    table = distributions.read(recorded.rglob("*.distributions"))
    frame = responses.read(recorded)
    named = frame[[tuple(row) == distributions.CONFIGURATION for row in frame[CONFIGURATION].to_numpy()]]
    assert len(table) == len(named) == 2 * 5 * 5
    both = named.merge(table, on=["model", "benchmark", "item_id", "cell_id"], validate="one_to_one")
    lengths = [row.option_tokens[row.choice] for row in both.itertuples()]
    assert both["positions"].tolist() == lengths


def test_notes_of_cost_are_plain_numbers(recorded):
    for path in set(recorded.rglob("*.json")) - set((recorded / "cells").iterdir()):
        assert set(json.loads(path.read_text())) == {"cpu_s", "wall_s", "tokens", "peak_gb"}
        assert path.with_suffix(".parquet").is_file()
