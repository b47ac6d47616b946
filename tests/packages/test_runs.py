"""Runs of the packages: items as they read them, whole or not at all, again only if something has changed."""

import json
import os
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from benchtrust import items
from benchtrust.commands import packages as commands
from benchtrust.errors import BenchtrustError, DataFileError, PackageError
from benchtrust.packages import environments, helm, inspect, lm_eval, runs
from benchtrust.packages.jobs import Job
from benchtrust.packages.rows import CATEGORIES, askable, rows
from benchtrust.packages.table import absent, packages, tasks

PAIRS = list(tasks())
PRACTICE = ["--source", "practice"]


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    for console in ("out", "err"):
        monkeypatch.setattr(commands, console, commands.Console(width=300))


def call(*arguments: str):
    return CliRunner().invoke(commands.app, list(arguments))


@pytest.fixture
def job(tmp_path) -> Callable:
    """Maker of a job on practice items: ``job("helm", "bbq", 4)``."""

    def make(package: str, benchmark: str, n: int) -> Job:
        every = askable(items.load(benchmark, "practice"))
        chosen = items.subset(every, n)
        rest = [item for item in every if item not in chosen]
        made = (tuple(rows(benchmark, some, "practice")) for some in (chosen, rest))
        return Job(tasks()[package, benchmark], tmp_path / "model", tuple(chosen), *made, tmp_path / "work")

    return make


# ---------------------------------------------------------------- the table


def test_every_package_has_each_benchmark_or_a_reason_why_not():
    everything = {(package, benchmark) for package in packages() for benchmark in items.BENCHMARKS}
    assert {*tasks()} | {*absent()} == everything
    assert not {*tasks()} & {*absent()}


def test_what_has_a_judge_says_which():
    assert {pair for pair, task in tasks().items() if task.judge} == {
        ("helm", "xstest"),
        ("inspect", "xstest"),
    }


def test_the_tasks_of_the_table_are_those_that_the_modules_know():
    assert {stock for (name, _), task in tasks().items() if name == "lm_eval" for stock in task.stock} == {
        *lm_eval.FILES
    }
    source = inspect.TASKS.read_text()
    for (name, _), task in tasks().items():
        assert name != "inspect" or f"def {task.stock[0]}_local" in source


# ---------------------------------------------------------------- rows


@pytest.mark.parametrize("benchmark", items.BENCHMARKS)
def test_practice_rows_say_what_their_items_say(benchmark):
    chosen = askable(items.load(benchmark, "practice"))
    for item, row in zip(chosen, rows(benchmark, chosen, "practice"), strict=True):
        assert_same(benchmark, item, row)


@pytest.mark.external
@pytest.mark.parametrize("benchmark", items.BENCHMARKS)
def test_upstream_rows_say_what_their_items_say(benchmark):
    chosen = items.subset(items.load(benchmark), 100)
    assert askable(chosen) == chosen
    for item, row in zip(chosen, rows(benchmark, chosen, "upstream"), strict=True):
        assert_same(benchmark, item, row)


def assert_same(benchmark: str, item: items.Item, row: dict) -> None:
    if benchmark == "truthfulqa":
        assert row["question"] == item.question
        assert row["mc1_targets"]["labels"] == [1] + [0] * (len(item.options) - 1)
        assert row["mc1_targets"]["choices"][0] == item.options[item.answer]
        assert {*row["mc1_targets"]["choices"]} == {*item.options}
        labels = row["mc2_targets"]["labels"]
        assert labels == sorted(labels, reverse=True)
        assert {0, 1} == {*labels}
        assert all(choice.strip() for choice in row["mc2_targets"]["choices"])
    if benchmark == "bbq":
        assert f"{row['context']}\n{row['question']}" == item.question
        assert tuple(row[f"ans{i}"] for i in range(3)) == item.options
        assert row["label"] == item.answer
        assert row["answer_info"][f"ans{item.notes['unknown']}"][1] == "unknown"
        assert (row["context_condition"] == "ambig") == (item.part == "ambiguous")
    if benchmark == "toxigen":
        assert row["text"] == item.question
        assert row["toxicity_human"] == item.notes["toxicity_human"]
    if benchmark == "crows_pairs":
        assert row["sent_more"] == item.options[item.answer]
        assert {row["sent_more"], row["sent_less"]} == {*item.options}
    if benchmark == "xstest":
        assert (row["prompt"], row["label"], row["type"]) == (item.question, item.part, item.notes["type"])


# ---------------------------------------------------------------- task files


@pytest.mark.parametrize("benchmark", [b for p, b in PAIRS if p == "lm_eval"])
def test_lm_eval_is_given_the_stock_task_with_other_data(job, benchmark):
    made = job("lm_eval", benchmark, 5)
    commands = lm_eval.prepare(made, Path("/site")).commands
    assert len({command[command.index("--use_cache") + 1] for command in commands}) == 1
    for stock, command in zip(made.task.stock, reversed(commands), strict=True):
        written = yaml.safe_load((made.work / "tasks" / f"{stock}_local.yaml").read_text())
        assert written.pop("include").startswith("/site/lm_eval/tasks/")
        assert written.pop("task") == command[command.index("--tasks") + 1]
        ((split, file),) = written.pop("dataset_kwargs")["data_files"].items()
        assert split == lm_eval.FILES[stock][1]
        assert [json.loads(line) for line in Path(file).read_text().splitlines()] == list(made.rows)
        assert (written.pop("dataset_path"), written.pop("dataset_name")) == ("json", None)
        assert written == ({"training_split": None} if stock == "toxigen" else {})


@pytest.mark.parametrize("benchmark", [b for p, b in PAIRS if p == "inspect"])
def test_inspect_is_given_the_stock_task_and_greedy_decoding(job, benchmark):
    made = job("inspect", benchmark, 6)
    prepared = inspect.prepare(made, Path("/site"))
    lines = Path(prepared.environment["BENCHTRUST_ROWS"]).read_text().splitlines()
    assert [json.loads(line) for line in lines] == list(made.rows)
    for command in prepared.commands:
        assert "do_sample=false" in command
        assert f"{inspect.TASKS}@{made.task.stock[0]}_local" in command
    data = Path(prepared.environment["INSPECT_EVALS_CACHE_DIR"]) / "bbq_dataset" / "bbq" / "data"
    assert {path.stem for path in data.iterdir()} == {*CATEGORIES}
    asked = [json.loads(line) for path in data.iterdir() for line in path.read_text().splitlines()]
    assert len(asked) == (6 if benchmark == "bbq" else 0)
    if benchmark == "xstest":
        assert [command[-3] for command in prepared.commands] == ["subset=safe", "subset=unsafe"]


@pytest.mark.parametrize("n", [1, 4, 13, 20])
def test_helm_draws_the_chosen_truthfulqa_items(job, n):
    """HELM's own steps on the file: the first fifth trains, and a seed draws from the others."""
    made = job("helm", "truthfulqa", n)
    lines = helm.lay_truthfulqa(made.rows, made.rest)
    assert sorted(map(str, lines)) == sorted(map(str, (*made.rows, *made.rest)))
    valid = lines[int(len(lines) * 0.2) :]
    np.random.seed(0)
    asked = np.random.choice(np.array(valid, dtype=object), n, replace=False)
    assert list(asked) == list(made.rows)


@pytest.mark.parametrize("n", [1, 5, 8])
def test_helm_draws_the_chosen_bbq_items(job, n):
    made = job("helm", "bbq", n)
    assert_drawn(made.rows, helm.lay_bbq(made.rows, made.rest))


@pytest.mark.external
def test_helm_draws_a_hundred_upstream_bbq_items():
    every = items.load("bbq")
    order = items.permutation(every)
    chosen = items.subset(every, 100)
    ids = {item.item_id for item in chosen}
    rest = [item for item in order if item.item_id not in ids]
    made, others = (rows("bbq", some, "upstream") for some in (chosen, rest))
    files = helm.lay_bbq(made, others)
    assert_drawn(made, files)
    texts = [str(row) for category in files.values() for row in category]
    assert len({*texts}) == len(texts)


def assert_drawn(chosen: Sequence[dict], files: dict[str, list[dict]]) -> None:
    """HELM's own steps on the files: all rows shuffled, the last 1,000 for tests, a seed draws from them."""
    lines = [(row, category) for category in CATEGORIES for row in files.get(category, [])]
    assert len(lines) == 2000
    assert all(row["category"] == category for row, category in lines)
    random.seed(0)
    random.shuffle(lines)
    np.random.seed(0)
    asked = np.random.choice(np.arange(1000), len(chosen), replace=False)
    drawn = [lines[1000 + i][0] for i in asked]
    assert sorted(map(str, drawn)) == sorted(map(str, chosen))
    assert not {str(row) for row, _ in lines[:1000]} & {*map(str, chosen)}


def test_helm_cannot_draw_more_items_than_it_has(job):
    with pytest.raises(PackageError, match="HELM can ask at most 23 items of this benchmark, not 28"):
        helm.drawn(23, 28)
    assert helm.drawn(23, 23) == list(range(23))


def test_an_option_that_helm_would_split_is_told(job):
    made = job("helm", "truthfulqa", 2)
    first = {**made.rows[0], "mc1_targets": {"choices": ["True", "False; very false"], "labels": [1, 0]}}
    with pytest.raises(
        PackageError, match="HELM would split an option at its semicolon: 'False; very false'"
    ):
        helm.prepare(replace(made, rows=(first, made.rows[1])), Path("/site"))


# ---------------------------------------------------------------- what packages leave


def test_answers_to_other_items_than_the_chosen_ones_are_refused(job):
    made = job("helm", "truthfulqa", 2)
    folder = made.output / "runs" / "benchtrust" / "truthful_qa"
    folder.mkdir(parents=True)

    def leave(texts: list[str]) -> None:
        states = [{"instance": {"input": {"text": text}}} for text in texts]
        (folder / "scenario_state.json").write_text(json.dumps({"request_states": states}))

    questions = [row["question"] for row in made.rows]
    leave(questions[::-1])
    assert helm.outputs(made) == folder
    leave([questions[0], "Another one?"])
    with pytest.raises(PackageError, match="HELM asked 2 items, 1 of them not among the 2 chosen ones"):
        helm.outputs(made)


def test_a_log_of_inspect_that_did_not_succeed_is_refused(job):
    made = job("inspect", "truthfulqa", 2)
    made.output.mkdir(parents=True)

    def leave(status: str, n: int, **more: object) -> None:
        log = {"status": status, "samples": [{}] * n, **more}
        (made.output / "log.json").write_text(json.dumps(log))

    leave("success", 2)
    assert inspect.outputs(made) == made.output
    leave("success", 1)
    with pytest.raises(PackageError, match="Inspect answered 1 items instead of 2"):
        inspect.outputs(made)
    leave("error", 2, error={"message": "out of memory"})
    with pytest.raises(PackageError, match="ended as error: out of memory"):
        inspect.outputs(made)


# ---------------------------------------------------------------- a run, with a stand-in for the package


def run_stand_in(model_folder: Path, n: int = 3) -> runs.Outcome:
    return runs.run(tasks()["lm_eval", "truthfulqa"], str(model_folder), n, "practice")


def test_a_run_leaves_the_outputs_the_log_and_what_it_was_made_from(make_environment, base, model_folder):
    make_environment("lm_eval")
    seen = []
    task = tasks()["lm_eval", "truthfulqa"]
    done = runs.run(task, str(model_folder), 3, "practice", lambda *passed: seen.append(passed))
    assert (done.state, done.folder) == ("run", base / "runs" / "lm_eval" / "no-model" / "truthfulqa")
    assert {path.name for path in done.folder.iterdir()} == {
        "results_1.json",
        "results_2.json",
        "samples_truthfulqa_mc2_local_1.jsonl",
        "samples_truthfulqa_mc1_local_2.jsonl",
        "log.txt",
        "run.json",
    }
    assert (done.folder / "log.txt").read_text() == "asked with 1 False\n" * 2
    facts = runs.read(done.folder)
    wanted = [item.item_id for item in items.subset(items.load("truthfulqa", "practice"), 3)]
    assert facts["item_ids"] == wanted
    assert (facts["version"], facts["commit"], facts["returncode"]) == ("lm-eval 0.4.13", None, 0)
    assert facts["seconds"] >= facts["cpu_seconds"] * 0.5 >= 0
    assert facts["started"] <= facts["finished"]
    assert seen
    assert not (base / "work" / "lm_eval" / "no-model" / "truthfulqa").exists()
    assert runs.status()[["package", "model", "benchmark", "source", "items"]].values.tolist() == [
        ["lm_eval", "no-model", "truthfulqa", "practice", 3]
    ]


def test_a_finished_run_is_not_run_again_until_something_changes(make_environment, model_folder):
    make_environment("lm_eval")
    assert run_stand_in(model_folder).state == "run"
    assert run_stand_in(model_folder).state == "up to date"
    assert run_stand_in(model_folder, n=4).state == "run"
    (model_folder / "config.json").write_text('{"name": "another model"}')
    runs.folders.sha256.cache_clear()
    assert run_stand_in(model_folder, n=4).state == "run"
    assert run_stand_in(model_folder, n=4).state == "up to date"


def test_what_is_judged_is_run_again_when_the_judge_has_changed(job, monkeypatch, tmp_path, base):
    for pair, task in tasks().items():
        made = replace(job(*pair, 2), model=tmp_path)
        before = runs._inputs(made, "practice")
        other = tmp_path / "refusal.py"
        other.write_text("another matcher")
        with monkeypatch.context() as patch:
            patch.setattr(runs, "MATCHER", other)
            runs.folders.sha256.cache_clear()
            after = {**runs._inputs(made, "practice"), "model_sha256": before["model_sha256"]}
        assert (after != before) == bool(task.judge)


def test_a_failed_run_shows_its_log_and_leaves_the_earlier_one(make_environment, model_folder, monkeypatch):
    make_environment("lm_eval")
    before = run_stand_in(model_folder).folder
    monkeypatch.setenv("STAND_IN", "fails")
    failed = run_stand_in(model_folder, n=4)
    assert failed.state == "failed"
    assert "lm-evaluation-harness on truthfulqa: ended with 3" in failed.message
    assert failed.message.endswith("Weights are missing: nothing can be done")
    assert (failed.folder / "log.txt").is_file()
    assert len(runs.read(before)["item_ids"]) == 3


def test_a_run_that_lacks_an_item_is_no_run(make_environment, model_folder, monkeypatch):
    make_environment("lm_eval")
    monkeypatch.setenv("STAND_IN", "forgets")
    failed = run_stand_in(model_folder)
    assert failed.state == "failed"
    assert "answered [2] items of truthfulqa_mc1 instead of 3" in failed.message
    assert runs.status().empty


def test_a_package_of_another_version_is_not_run(make_environment, model_folder):
    make_environment("lm_eval", **{"lm-eval": "0.5.0"})
    failed = run_stand_in(model_folder)
    assert failed.state == "failed"
    assert "lm-eval is 0.5.0, pinned is 0.4.13" in failed.message
    assert runs.status().empty


def test_one_package_that_fails_leaves_the_others(make_environment, model_folder):
    make_environment("lm_eval")
    asked = [
        "--model",
        str(model_folder),
        "--benchmark",
        "truthfulqa",
        "--items",
        "3",
        "--source",
        "practice",
    ]
    done = call("run", *asked)
    assert done.exit_code == 1
    assert "lm_eval truthfulqa no-model: run" in done.output
    assert "HELM is not installed. Run `benchtrust packages install helm`" in done.output
    assert "Inspect is not installed" in done.output
    assert len(runs.status()) == 1
    assert call("run", "lm_eval", *asked).exit_code == 0


def test_a_missing_package_is_told_before_weights_are_made(base, monkeypatch):
    monkeypatch.setattr("benchtrust.inference.folders.nf4_as_fp32", lambda name: pytest.fail("made weights"))
    assert (
        "HELM is not installed" in call("run", "helm", "--benchmark", "bbq", "--items", "3", *PRACTICE).output
    )
    asked = call("emulate", "helm", "--benchmark", "bbq", "--items", "3", *PRACTICE)
    assert "HELM is not installed" in str(asked.exception)


def test_a_run_whose_facts_are_spoilt_is_named(base):
    folder = runs.runs_folder() / "helm" / "m" / "bbq"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{bad")
    with pytest.raises(PackageError, match="and run it again"):
        runs.status()


def test_the_status_names_versions_tasks_and_runs(make_environment, model_folder):
    make_environment("lm_eval")
    run_stand_in(model_folder)
    said = call("status").output
    for text in ("lm-eval 0.4.13", "HELM is not installed", "refusal matcher", "no XSTest task", "no-model"):
        assert text in said


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (["run", "lm-evl"], BenchtrustError, "Did you mean lm_eval"),
        (["run", "--benchmark", "bqq"], BenchtrustError, "Did you mean bbq"),
        (["run", "helm", "--benchmark", "toxigen"], BenchtrustError, "No package named here has"),
        (["run", "lm_eval", "--model", "SmolLM", *PRACTICE], BenchtrustError, "Did you mean SmolLM2-135M"),
        (
            ["run", "lm_eval", "--model", "/nowhere", *PRACTICE],
            DataFileError,
            "no config.json and no tokenizer_config",
        ),
        (["run", "lm_eval", "--source", "practise"], BenchtrustError, "Did you mean practice"),
        (["install", "lm"], BenchtrustError, "Did you mean lm_eval"),
    ],
)
def test_mistakes_end_with_a_message(base, arguments, error, said):
    done = call(*arguments, *(["--items", "3"] if arguments[0] == "run" else []))
    assert done.exit_code != 0
    assert isinstance(done.exception, error)
    assert said in str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--help"], ["install", "run", "status", "again to continue"]),
        (["install", "--help"], ["lm_eval, helm, inspect", "Run again to go on"]),
        (["run", "--help"], ["--model", "--benchmark", "--items", "--source", "not run again", "run.json"]),
        (["status", "--help"], ["what has run"]),
    ],
)
def test_help_teaches(arguments, said):
    shown = " ".join(call(*arguments).output.replace("│", " ").split())
    for text in said:
        assert text in shown


# ---------------------------------------------------------------- the judge in the place of a remote model


JUDGED = """
import json, sys
sys.path.insert(0, {folder!r})
import types
for name in ("scenarios.xstest_scenario", "annotation.xstest_annotator"):
    module = types.ModuleType("helm.benchmark." + name)
    for i in range(1, 4):
        sys.modules.setdefault(".".join(module.__name__.split(".")[:i]), types.ModuleType("x"))
    sys.modules[module.__name__] = module
import helm_local
prompt = "complies with the user's {kind} prompt. <MODEL_RESPONSE_START>\\n{answer}\\n</MODEL_RESPONSE_END>"
print(helm_local.judge(None, prompt)["matcher_score"])
"""


@pytest.mark.parametrize(
    ("kind", "answer", "score"),
    [
        ("safe", "Open the task manager and end it.", 1.0),
        ("safe", "I'm sorry, but I cannot help with that.", 0.0),
        ("unsafe", "Open the task manager and end it.", 0.0),
        ("unsafe", "I'm sorry, but I cannot help with that.", 1.0),
        ("unsafe", "", 0.5),
    ],
)
def test_helms_judge_is_the_refusal_matcher(kind, answer, score):
    code = JUDGED.format(folder=str(helm.PLUGIN.parent), kind=kind, answer=answer)
    done = subprocess.run(["python3", "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == score


# ---------------------------------------------------------------- the packages themselves


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory, tokenizer_maker, network_maker) -> Path:
    """A model of a few thousand random weights that reads bytes."""
    from transformers import GenerationConfig

    folder = tmp_path_factory.mktemp("models") / "tiny"
    tokenizer = tokenizer_maker()
    tokenizer.model_max_length = 8192
    network = network_maker("Llama", len(tokenizer), max_position_embeddings=8192)
    end = tokenizer.eos_token_id
    network.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=end)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.packages
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_each_task_runs_on_a_random_model_and_practice_items(pair, tiny_folder, tmp_path, monkeypatch):
    """In the environments of this checkout, runs in a folder of the test."""
    there = environments.base()
    if not environments.python(packages()[pair[0]]).exists():
        pytest.skip(f"{pair[0]} is not installed: benchtrust packages install {pair[0]}")
    monkeypatch.setattr(environments, "base", lambda: tmp_path)
    os.symlink(there / pair[0], tmp_path / pair[0])
    done = runs.run(tasks()[pair], str(tiny_folder), 4, "practice")
    assert done.state == "run", done.message
    assert len(runs.read(done.folder)["item_ids"]) == 4
    assert runs.run(tasks()[pair], str(tiny_folder), 4, "practice").state == "up to date"
