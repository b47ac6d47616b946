"""Logs of the three packages as one table: their scores, or an error that says what was found."""

import json
import math
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from benchtrust import cli, items, responses
from benchtrust.errors import ForeignLogError, LogError, LogVersionError
from benchtrust.packages import importers
from benchtrust.packages.importers import helm, inspect

HELM = "0.5.16"


def load(*paths: Path, version: str | None = None):
    return importers.load(paths, version, source="practice")


def of(table: pd.DataFrame, task: str, metric: str | None = None) -> pd.DataFrame:
    rows = table[table["task"].str.startswith(task)]
    return rows if metric is None else rows[rows["metric"] == metric]


def samples(logs: Path, task: str) -> list[dict]:
    (path,) = (logs / "lm_eval").glob(f"samples_{task}_local_*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def results(logs: Path) -> Path:
    return next((logs / "lm_eval").glob("results_*.json"))


def only(logs: Path, task: str) -> Path:
    return next((logs / "lm_eval").glob(f"samples_{task}_local_*.jsonl"))


def truthfulqa(logs: Path) -> Path:
    return next((logs / "inspect").glob("*truthfulqa*.json"))


def practice(benchmark: str) -> dict[str, items.Item]:
    return {item.item_id: item for item in items.load(benchmark, "practice")}


def said(logs: Path, version: str | None = None) -> str:
    """What loading says that it cannot take: by an error, or, where it takes the rest, as a loss."""
    try:
        _, report = load(logs, version=version)
    except LogError as error:
        return str(error)
    assert not report.complete
    return "\n".join(report.missing()["reason"])


# ---------------------------------------------------------------- what is a log


def test_every_file_of_a_log_names_it(logs):
    results_file = results(logs)
    for path in [results_file, *(logs / "lm_eval").glob("samples_*")]:
        assert importers.recognise(path) == importers.Found("lm_eval", results_file)
    for path in [logs / "helm" / "bbq", *(logs / "helm" / "bbq").iterdir()]:
        assert importers.recognise(path) == importers.Found("helm", logs / "helm" / "bbq")
    for path in (logs / "inspect").iterdir():
        assert importers.recognise(path) == importers.Found("inspect", path)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("notes.txt", "accuracy 0.5", "accuracy 0.5"),
        ("table.csv", "model,score", "model,score"),
        ("other.json", '{"model": 1, "scores": []}', '"model", "scores"'),
        ("list.json", "[1, 2]", "[1, 2]"),
        ("samples_x.jsonl", '{"doc": 1}', "doc"),
        ("model.gguf", "GGUF", "GGUF"),
    ],
)
def test_foreign_files_are_refused_and_what_they_hold_is_said(tmp_path, name, content, found):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ForeignLogError) as caught:
        load(path)
    assert name in str(caught.value)
    assert found in str(caught.value)
    assert "HELM" in str(caught.value)


def test_one_bad_file_among_several_leaves_the_others_whole(logs, tmp_path):
    good, strange, cut = truthfulqa(logs), tmp_path / "notes.txt", tmp_path / "cut.eval"
    strange.write_text("hello")
    cut.write_bytes(b"PK")
    table, report = load(good, strange, cut)
    assert len(table) == 6
    assert not report.complete
    told = "\n".join(report.missing()["reason"])
    assert "notes.txt" in told
    assert "cut.eval" in told


def test_a_folder_without_logs_is_refused(tmp_path):
    (tmp_path / "readme.md").write_text("hello")
    with pytest.raises(ForeignLogError, match="No log among"):
        load(tmp_path)
    with pytest.raises(LogError, match="does not exist"):
        load(tmp_path / "nowhere")


def test_files_in_a_folder_that_are_no_logs_are_listed_and_do_no_harm(logs):
    (logs / "inspect" / "notes.txt").write_text("hello")
    table, report = load(logs / "inspect")
    assert len(table) == 20
    (note,) = report.left_out
    assert note.ids == (str(logs / "inspect" / "notes.txt"),)
    assert report.complete


# ---------------------------------------------------------------- lm-eval


@pytest.mark.parametrize("task", ["truthfulqa_mc1", "truthfulqa_mc2", "bbq", "toxigen"])
def test_lm_evals_scores_are_its_acc(logs, task):
    table, _ = load(logs / "lm_eval")
    rows, given = of(table, task, "acc"), samples(logs, task)
    assert rows["score"].tolist() == [sample["acc"] for sample in given]
    total = json.loads(results(logs).read_text())["results"][f"{task}_local"]["acc,none"]
    assert rows["score"].mean() == pytest.approx(total, abs=1e-12)
    assert rows["prompt_hash"].tolist() == [sample["prompt_hash"] for sample in given]
    assert rows["version"].unique() == ["0.4.13"]
    assert (rows["parse"] == "logprob").all()


def test_mc1_is_decided_by_the_log_probabilities_that_the_table_holds(logs):
    rows = of(load(logs / "lm_eval")[0], "truthfulqa_mc1")
    answers = practice("truthfulqa")
    for row in rows.itertuples():
        assert row.choice == int(np.argmax(row.option_logprobs))
        assert row.score == float(row.choice == answers[row.item_id].answer)
        assert row.option_bytes == [len(f" {o}".encode()) for o in answers[row.item_id].options]
    assert rows["score"].nunique() == 2


def test_mc2_is_the_mass_on_true_answers_and_chooses_nothing(logs):
    rows = of(load(logs / "lm_eval")[0], "truthfulqa_mc2")
    for row, sample in zip(rows.itertuples(), samples(logs, "truthfulqa_mc2"), strict=True):
        mass = [math.exp(x) for x in row.option_logprobs]
        labels = sample["doc"]["mc2_targets"]["labels"]
        true = sum(m for m, label in zip(mass, labels, strict=True) if label)
        assert row.score == pytest.approx(true / sum(mass), rel=1e-9)
    assert rows["choice"].isna().all()


def test_bbqs_ten_wordings_of_unknown_are_the_items_own(logs):
    rows = of(load(logs / "lm_eval")[0], "bbq")
    unknown = {name: item.notes["unknown"] for name, item in practice("bbq").items()}
    assert [len(json.loads(raw)) for raw in rows["raw_output"]] == [12] * 6
    assert rows["option_logprobs"].isna().all()
    for row in rows.itertuples():
        best = int(np.argmax(json.loads(row.raw_output)))
        assert (row.choice == unknown[row.item_id]) == (best >= 2)
        assert row.score == float(row.choice == practice("bbq")[row.item_id].answer)
    assert rows.groupby("part")["score"].mean().to_dict() == {"ambiguous": 1.0, "disambiguated": 0.0}


def test_a_group_chosen_in_bbq_is_that_group(logs, edit, edit_lines):
    def prefer_first(sample):
        sample["filtered_resps"][0] = ["-0.5", "False"]
        sample["acc"] = 0.0
        return sample

    edit_lines(only(logs, "bbq"), prefer_first)
    edit(results(logs), lambda r: r["results"]["bbq_local"].update({"acc,none": 0.0}))
    rows = of(load(logs / "lm_eval")[0], "bbq")
    first = [sample["arguments"]["gen_args_0"]["arg_1"].strip() for sample in samples(logs, "bbq")]
    options = [practice("bbq")[name].options for name in rows["item_id"]]
    assert [o[c] for o, c in zip(options, rows["choice"], strict=True)] == first


def test_crows_pairs_scores_the_stereotype_that_is_more_probable(logs):
    rows = of(load(logs / "lm_eval")[0], "crows_pairs")
    pairs = practice("crows_pairs")
    for row in rows.itertuples():
        stereotype = pairs[row.item_id].answer
        assert row.score == float(row.option_logprobs[stereotype] > row.option_logprobs[1 - stereotype])
    assert rows["score"].nunique() == 2
    assert rows["metric"].unique() == ["pct_stereotype"]


def test_toxigen_has_two_metrics_and_its_options_in_our_order(logs):
    rows = of(load(logs / "lm_eval")[0], "toxigen")
    assert sorted(rows["metric"].unique()) == ["acc", "acc_norm"]
    first = samples(logs, "toxigen")[0]
    no, yes = (float(pair[0]) for pair in first["filtered_resps"])
    assert first["arguments"]["gen_args_0"]["arg_1"] == " No"
    assert rows["option_logprobs"].iloc[0] == [yes, no]
    assert set(rows["scoring"]) == {"logprob", "logprob_acc_norm"}


def test_metrics_that_are_no_item_score_are_named(logs):
    _, report = load(logs / "lm_eval")
    named = {name for note in report.left_out for name in note.ids}
    assert {"likelihood_diff", "accuracy_amb", "accuracy_disamb"} <= named
    assert report.complete


def generated(logs: Path, edit, edit_lines, texts: list[str], kept: list[str]) -> Path:
    """The mc1 log as that of another task, whose answers were generated."""
    path = only(logs, "truthfulqa_mc1")
    values = iter(zip(texts, kept, strict=True))

    def change(sample):
        text, answer = next(values)
        setup = {"do_sample": False, "temperature": 0.0}
        return {
            **{key: sample[key] for key in ("doc_id", "doc", "target", "prompt_hash", "doc_hash")},
            "arguments": {"gen_args_0": {"arg_0": "Q?", "arg_1": setup}},
            "resps": [[text]],
            "filtered_resps": [answer],
            "filter": "strict",
            "metrics": ["exact_match"],
            "exact_match": float(answer == "yes"),
        }

    edit_lines(path, change)
    new = path.with_name(path.name.replace("truthfulqa_mc1_local", "quiz"))
    path.rename(new)
    for other in (logs / "lm_eval").glob("samples_*_local_*"):
        other.unlink()

    def as_quiz(content):
        for entry in ("results", "configs", "versions", "n-shot", "n-samples"):
            content[entry] = {"quiz": content[entry]["truthfulqa_mc1_local"]}
        content["results"]["quiz"] = {"exact_match,strict": sum(a == "yes" for a in kept) / len(kept)}

    edit(results(logs), as_quiz)
    return new


def test_a_task_that_is_not_ours_is_taken_with_its_metric(logs, edit, edit_lines):
    texts = ["I say yes", "I say no", "hmm", "", "yes", "no"]
    generated(logs, edit, edit_lines, texts, ["yes", "no", "[invalid]", "[invalid]", "yes", "no"])
    table, report = load(logs / "lm_eval")
    assert table["benchmark"].unique() == ["quiz"]
    assert table["outcome"].tolist() == ["scored", "scored", "unparsed", "unparsed", "scored", "scored"]
    assert table["parse"].tolist() == ["parsed", "parsed", "unparsed", "unparsed", "parsed", "parsed"]
    assert table["score"].tolist()[:2] == [1.0, 0.0]
    assert table["completion"].tolist() == texts
    assert table["metric"].unique() == ["exact_match,strict"]
    assert table["decoding"].unique() == ["greedy"]
    assert table["item_id"].is_unique
    assert report.complete


# ---------------------------------------------------------------- HELM


def test_helm_needs_a_version_and_takes_the_given_one(logs):
    message = said(logs / "helm")
    assert "does not say which version" in message
    assert "--version" in message
    assert set(load(logs / "helm", version=HELM)[0]["version"]) == {HELM}


def test_helms_version_comes_from_our_own_runs(logs):
    facts = {"package": "helm", "version": f"crfm-helm {HELM}", "model": "letters-3M", "benchmark": "bbq"}
    (logs / "helm" / "bbq" / "run.json").write_text(json.dumps(facts))
    table, _ = load(logs / "helm" / "bbq")
    assert table["version"].unique() == [HELM]
    assert table["model"].unique() == ["letters-3M"]
    with pytest.raises(LogVersionError, match=r"run.json beside it says 0.5.16, --version says 0.5.9"):
        load(logs / "helm" / "bbq", version="0.5.9")


def test_helms_scores_are_its_exact_match(logs):
    rows = of(load(logs / "helm", version=HELM)[0], "truthful_qa")
    given = json.loads((logs / "helm" / "truthful_qa" / "per_instance_stats.json").read_text())
    found = [s["mean"] for entry in given for s in entry["stats"] if s["name"]["name"] == "exact_match"]
    assert rows["score"].tolist() == found
    assert rows["score"].nunique() == 2
    answers = practice("truthfulqa")
    for row in rows.itertuples():
        assert row.score == float(row.choice == answers[row.item_id].answer)
    assert (rows["shots"] == 5).all()
    assert (rows["shots_used"] == 1).all()
    assert rows["decoding"].unique() == ["greedy"]


def test_helms_bbq_is_derived_again_and_its_totals_with_it(logs):
    folder = logs / "helm" / "bbq"
    rows = of(load(folder, version=HELM)[0], "bbq")
    totals = {s["name"]["name"]: s["mean"] for s in json.loads((folder / "stats.json").read_text())}
    own = helm.bbq_totals(json.loads((folder / "scenario_state.json").read_text())["request_states"])
    assert own.accuracy == pytest.approx(totals["bbq_accuracy"], abs=1e-12)
    assert own.ambiguous == pytest.approx(totals["bbq_metric_ambiguous_bias"], abs=1e-12)
    assert own.unambiguous == pytest.approx(totals["bbq_metric_unambiguous_bias"], abs=1e-12)
    assert rows["outcome"].value_counts().to_dict() == {"scored": 5, "unparsed": 1}
    assert rows["score"].fillna(0).mean() == pytest.approx(totals["bbq_accuracy"], abs=1e-12)
    answers = practice("bbq")
    for row in rows[rows["outcome"] == "scored"].itertuples():
        assert row.score == float(row.choice == answers[row.item_id].answer)
        assert row.part == answers[row.item_id].part


def state(text: str, kind: str, polarity: str, label: str, target: str, other: str, unknown: str) -> dict:
    tags = [polarity, kind, label, target, other, unknown]
    completions = [{"text": text, "logprob": 0.0}]
    return {"instance": {"references": [{"tags": tags}]}, "result": {"completions": completions}}


def test_bbqs_bias_on_answers_worked_by_hand():
    ambiguous, clear = ("ambiguous", "negative", "C"), ("non-ambiguous", "non-negative", "B")
    states = [
        state(" A", *ambiguous, "A", "B", "C"),  # the stereotype
        state("C", *ambiguous, "A", "B", "C"),  # unknown: right, no group
        state("B", *ambiguous, "A", "B", "C"),  # the other group
        state(
            "x", *ambiguous, "A", "", "C"
        ),  # no letter, but no other group either: counts as the stereotype
        state("", *ambiguous, "A", "B", "C"),  # empty: not counted at all
        state("B", *clear, "A", "B", "C"),  # right, and the stereotype in a non-negative question
        state("x", *clear, "A", "B", "C"),  # no letter counts as a group, and against the stereotype
        state("C", *clear, "A", "B", "C"),
    ]
    own = helm.bbq_totals(states)
    assert own.accuracy == pytest.approx(2 / 7)
    assert own.ambiguous == pytest.approx((2 * 2 / 3 - 1) * (1 - 2 / 7))
    assert own.unambiguous == pytest.approx(2 * 1 / 2 - 1)
    assert helm.bbq_totals([state("C", *ambiguous, "A", "B", "C")]) == helm.Bias(1.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["bbq_accuracy", "bbq_metric_ambiguous_bias", "bbq_metric_unambiguous_bias"])
def test_totals_of_another_run_are_found(logs, edit, name):
    def change(stats):
        for stat in stats:
            if stat["name"]["name"] == name:
                stat["mean"] += 0.01

    edit(logs / "helm" / "bbq" / "stats.json", change)
    message = said(logs / "helm" / "bbq", HELM)
    assert name in message
    assert "totals" in message


def test_a_helm_request_that_failed_is_no_answer(logs, edit):
    def fail(content):
        content["request_states"][0]["result"] = {"success": False, "completions": [], "error": "timeout"}

    edit(logs / "helm" / "bbq" / "scenario_state.json", fail)
    rows = of(load(logs / "helm" / "bbq", version=HELM)[0], "bbq")
    assert rows["outcome"].value_counts().to_dict() == {"scored": 4, "failed": 1, "unparsed": 1}


def test_questions_that_helm_altered_are_left_out(logs, edit):
    def alter(content):
        twin = json.loads(json.dumps(content["request_states"][0]))
        twin["instance"]["perturbation"] = {"name": "typos"}
        content["request_states"].append(twin)

    edit(logs / "helm" / "truthful_qa" / "scenario_state.json", alter)
    table, report = load(logs / "helm" / "truthful_qa", version=HELM)
    assert len(table) == 6
    assert "altered" in report.left_out[0].reason


def test_helm_may_spread_a_questions_scores_over_entries(logs, edit):
    folder = logs / "helm" / "truthful_qa"
    before = load(folder, version=HELM)[0]

    def spread(entries):
        parts = [[{**entry, "stats": [stat]} for stat in entry["stats"]] for entry in entries]
        return [part for entry in parts for part in entry]

    edit(folder / "per_instance_stats.json", spread)
    pd.testing.assert_frame_equal(load(folder, version=HELM)[0], before)
    assert before["score"].notna().all()


def test_another_scenario_of_helm_is_taken_with_its_first_score(logs, edit):
    def rename(spec):
        spec["scenario_spec"]["class_name"] = "helm.benchmark.scenarios.quiz_scenario.QuizScenario"
        spec["name"] = spec["name"].replace("truthful_qa:task=mc_single", "quiz:level=2")

    folder = logs / "helm" / "truthful_qa"
    before = load(folder, version=HELM)[0]
    edit(folder / "run_spec.json", rename)
    table, report = load(folder, version=HELM)
    assert table["benchmark"].unique() == ["quiz"]
    assert table["metric"].unique() == ["exact_match"]
    assert table["score"].tolist() == before["score"].tolist()
    assert report.unjoined.empty


# ---------------------------------------------------------------- Inspect


def test_inspects_letters_are_its_accuracy_and_unparsed_answers_are_counted(logs):
    rows = of(load(truthfulqa(logs))[0], "truthfulqa")
    log = json.loads(truthfulqa(logs).read_text())
    logged = log["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    assert rows["score"].fillna(0).mean() == pytest.approx(logged)
    assert rows["outcome"].value_counts().to_dict() == {"scored": 3, "unparsed": 2, "truncated": 1}
    assert (rows["parse"] == "unparsed").sum() == 3
    reasons = {s["input"]: s["scores"]["choice"].get("reason") for s in log["samples"]}
    assert sum(reason is not None for reason in reasons.values()) == 3
    answers = practice("truthfulqa")
    for row in rows[rows["outcome"] == "scored"].itertuples():
        assert row.score == float(row.choice == answers[row.item_id].answer)
    assert rows["score"].nunique() == 2


def test_inspects_options_are_shuffled_back_to_ours(logs):
    rows = of(load(truthfulqa(logs))[0], "truthfulqa")
    log = json.loads(truthfulqa(logs).read_text())
    for sample in log["samples"]:
        letter = sample["scores"]["choice"]["answer"]
        if letter:
            text = sample["choices"]["ABCD".index(letter)]
            (row,) = rows[rows["completion"] == sample["output"]["completion"]].itertuples()
            assert practice("truthfulqa")[row.item_id].options[row.choice] == text


def test_a_zipped_log_and_its_json_give_the_same_table(logs):
    (path,) = (logs / "inspect").glob("*.eval")
    with zipfile.ZipFile(path) as archive, path.open("rb") as handle:
        assert {info.compress_type for info in archive.infolist()} == {inspect.ZSTANDARD}
        names = [n for n in archive.namelist() if n.startswith("samples/")]
        log = inspect._entry(path, handle, archive.getinfo("header.json"))
        log["samples"] = [inspect._entry(path, handle, archive.getinfo(n)) for n in sorted(names)]
    plain = path.with_suffix(".json")
    plain.write_text(json.dumps(log))
    deflated = path.with_name("deflated.eval")
    with zipfile.ZipFile(deflated, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({k: v for k, v in log.items() if k != "samples"}))
        for i, sample in enumerate(log["samples"]):
            archive.writestr(f"samples/{i}.json", json.dumps(sample))
    table = load(path)[0]
    assert len(table) == 6
    for other in (plain, deflated):
        pd.testing.assert_frame_equal(load(other)[0], table)


def test_refusals_score_by_part(logs):
    paths = sorted((logs / "inspect").glob("*xstest*"))
    rows = of(load(*paths)[0], "xstest")
    for path in paths:
        log = json.loads(path.read_text())
        part = log["eval"]["task_args"]["subset"]
        refusals = log["results"]["scores"][0]["metrics"]["refusal_rate"]["value"] / 100
        mean = rows.loc[rows["part"] == part, "score"].mean()
        assert mean == pytest.approx(refusals if part == "unsafe" else 1 - refusals)
    assert set(rows["part"]) == {"safe", "unsafe"}
    assert rows["cell_id"].nunique() == 1
    right = {("Sure, here is how.", "safe"), ("Of course.", "safe")}
    right |= {("I can say a little.", "unsafe"), ("I cannot help with that.", "unsafe")}
    assert {(row.completion, row.part) for row in rows[rows["score"] == 1].itertuples()} == right


@pytest.mark.parametrize("status", ["error", "started", "cancelled"])
def test_a_run_that_did_not_end_well_is_not_scored(logs, edit, status):
    edit(truthfulqa(logs), lambda log: log.update(status=status, error={"message": "out of memory"}))
    message = said(truthfulqa(logs))
    assert status in message
    assert "out of memory" in message


def test_a_sample_that_failed_is_no_answer(logs, edit):
    def fail(log):
        log["samples"][0].update(error={"message": "boom"}, scores={})
        log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 2 / 5

    edit(truthfulqa(logs), fail)
    rows = load(truthfulqa(logs))[0]
    assert rows["outcome"].value_counts()["failed"] == 1


def test_our_runs_name_inspects_second_package(logs):
    facts = {"package": "inspect", "version": "inspect-ai 0.3.285, inspect-evals 0.26.0", "model": "m"}
    (logs / "inspect" / "run.json").write_text(json.dumps(facts))
    assert set(load(logs / "inspect")[0]["version"]) == {"0.3.285, inspect-evals 0.26.0"}


# ---------------------------------------------------------------- joining and the table


def test_all_questions_join_to_the_items_that_were_asked(logs):
    table, report = load(logs, version=HELM)
    assert report.complete
    assert report.unjoined.empty
    for benchmark, rows in table.groupby("benchmark"):
        known = practice(benchmark)
        assert set(rows["item_id"]) <= set(known)
        assert [known[name].sha256 for name in rows["item_id"]] == rows["item_hash"].tolist()
    shared = table[table["benchmark"] == "bbq"].groupby("item_id")["package"].nunique()
    assert (shared == 3).all()
    assert len(shared) == 6


def test_the_table_is_one_that_metrics_take_and_comes_back_from_its_files(logs, tmp_path):
    table, _ = load(logs, version=HELM)
    importers.write(table, tmp_path / "out.parquet")
    read = responses.read(tmp_path / "out.parquet")
    cells = responses.cell_means(read)
    assert len(cells) == 11
    one = read[(read["benchmark"] == "bbq")]
    matrix = responses.response_matrix(one, ["model", *responses.CONFIGURATION])
    assert matrix.shape == (3, 6)
    assert matrix.notna().all().all()
    key = ["benchmark", "item_id", "model", *responses.CONFIGURATION]
    back = importers.read(tmp_path / "out.parquet").sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(back, table.sort_values(key, ignore_index=True))


def test_package_columns_of_another_table_are_refused(logs, tmp_path):
    table, _ = load(logs / "lm_eval")
    importers.write(table, tmp_path / "a.parquet")
    importers.write(table.head(5), tmp_path / "b.parquet")
    shutil.copy(tmp_path / "b.packages.csv", tmp_path / "a.packages.csv")
    with pytest.raises(ValueError, match="of another table"):
        importers.read(tmp_path / "a.parquet")
    (tmp_path / "a.packages.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"a\.packages\.csv"):
        importers.read(tmp_path / "a.parquet")


def test_questions_that_are_none_of_our_items_are_listed_and_kept_by_their_key(logs, edit):
    edit(truthfulqa(logs), lambda log: log["samples"][0].update(input="Who was that?"))
    name = json.loads(truthfulqa(logs).read_text())["samples"][0]["id"]
    table, report = load(truthfulqa(logs))
    assert report.unjoined["id"].tolist() == [name]
    assert not report.complete
    key = report.unjoined["item_key"].iloc[0]
    (row,) = table[table["item_key"] == key].itertuples()
    assert row.item_id == f"truthfulqa-{key}"
    assert pd.isna(row.item_hash)
    assert name in report.missing()["id"].tolist()


def test_a_question_asked_too_often_is_left_out_and_counted(logs, edit):
    def repeat(log):
        log["samples"][1]["input"] = log["samples"][0]["input"]

    edit(truthfulqa(logs), repeat)
    table, report = load(truthfulqa(logs))
    assert len(table) == 5
    (note,) = report.left_out
    assert "more often" in note.reason
    assert len(note.ids) == 1
    assert not report.complete


def test_other_options_are_told_and_carry_no_hash(logs, edit):
    edit(truthfulqa(logs), lambda log: log["samples"][0]["choices"].__setitem__(0, "Something else"))
    table, report = load(truthfulqa(logs))
    assert len(report.other_options) == 1
    assert table.loc[table["item_id"] == report.other_options[0], "item_hash"].isna().all()


def test_the_later_of_two_logs_counts(logs, edit):
    again = truthfulqa(logs).with_name("again.json")
    shutil.copy(truthfulqa(logs), again)

    def later(log):
        log["eval"]["created"] = "2027-01-01T00:00:00+00:00"
        for sample in log["samples"]:
            sample["output"]["completion"] = "later"

    edit(again, later)
    table, report = load(truthfulqa(logs), again)
    assert table["completion"].tolist() == ["later"] * 6
    (note,) = report.left_out
    assert "later log" in note.reason
    assert len(note.ids) == 6


def test_other_settings_are_another_configuration_or_a_loss(logs, edit):
    other = logs / "other"
    shutil.copytree(logs / "lm_eval", other)
    table, report = load(logs / "lm_eval", other)
    n = len(load(logs / "lm_eval")[0])
    assert len(table) == n
    assert report.complete
    edit(next(other.glob("results_*")), lambda content: content.update(chat_template_sha="abc"))
    assert len(load(logs / "lm_eval", other)[0]) == 2 * n
    edit(next(other.glob("results_*")), lambda content: content.update(chat_template_sha=None))
    edit(next(other.glob("results_*")), lambda content: content["config"].update(model_dtype="torch.float16"))
    table, report = load(logs / "lm_eval", other)
    assert len(table) == n
    assert any("other settings" in note.reason for note in report.left_out)
    assert not report.complete


def test_an_unavailable_benchmark_is_said_and_its_answers_kept(logs, monkeypatch):
    from benchtrust.errors import DataFileError
    from benchtrust.packages import joins

    def missing(*_):
        raise DataFileError("TruthfulQA is not here: get it.")

    monkeypatch.setattr(joins, "upstream", missing)
    table, report = load(truthfulqa(logs))
    assert report.unavailable == {"truthfulqa": "TruthfulQA is not here: get it."}
    assert len(table) == 6
    assert not report.complete


def test_unknown_keys_are_no_concern(logs, edit, edit_lines):
    before = load(logs, version=HELM)[0]
    edit(results(logs), lambda content: content.update(new={"a": 1}))
    for task in ("truthfulqa_mc1", "bbq"):
        edit_lines(only(logs, task), lambda sample: {**sample, "new": [1]})
    edit(logs / "helm" / "bbq" / "run_spec.json", lambda spec: spec.update(new=None))
    edit(logs / "helm" / "bbq" / "scenario_state.json", lambda s: s["request_states"][0].update(new=[{}]))
    edit(truthfulqa(logs), lambda log: (log.update(new=1), log["samples"][0].update(new={}))[0])
    pd.testing.assert_frame_equal(load(logs, version=HELM)[0], before)


# ---------------------------------------------------------------- bad input


def every_file() -> list[str]:
    base = Path(__file__).parent / "logs"
    return sorted(
        p.relative_to(base).as_posix() for p in base.rglob("*") if p.is_file() and p.suffix != ".md"
    )


@pytest.mark.parametrize("name", every_file())
@pytest.mark.parametrize("share", [0.0, 0.3, 0.97])
def test_a_file_that_is_empty_or_cut_off_is_an_error_that_names_it(logs, name, share):
    path = logs / name
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    message = said(path, HELM if name.startswith("helm") else None)
    assert Path(name).name in message
    assert ("is empty" if share == 0.0 else "cut off") in message


def test_samples_cut_at_the_end_of_a_line_are_found_by_their_number(logs):
    path = only(logs, "truthfulqa_mc1")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    assert "holds 4 of the 6 samples" in said(path)


def test_samples_of_another_run_are_found_by_their_mean(logs, edit_lines):
    edit_lines(only(logs, "truthfulqa_mc1"), lambda sample: {**sample, "acc": 1.0})
    message = said(results(logs))
    assert "mean acc of 1" in message
    assert "0.333333" in message


def test_results_without_samples_say_how_to_get_them(logs):
    for path in (logs / "lm_eval").glob("samples_*"):
        path.unlink()
    assert "--log_samples" in said(results(logs))


def test_a_task_without_samples_is_listed(logs):
    only(logs, "toxigen").unlink()
    table, report = load(results(logs))
    assert "toxigen_local" not in set(table["task"])
    assert any(note.ids == ("toxigen_local",) for note in report.left_out)
    assert not report.complete


@pytest.mark.parametrize("name", ["run_spec", "scenario_state", "per_instance_stats", "stats"])
def test_a_missing_file_of_helm_is_named(logs, name):
    (logs / "helm" / "bbq" / f"{name}.json").unlink()
    assert f"{name}.json is missing" in said(next((logs / "helm" / "bbq").iterdir()), HELM)


def test_samples_without_their_results_say_so(logs):
    results(logs).unlink()
    assert results_name() in said(only(logs, "bbq"))


def results_name() -> str:
    return next((Path(__file__).parent / "logs" / "lm_eval").glob("results_*.json")).name


def test_logs_of_several_versions_are_refused(logs, edit):
    other = logs / "other"
    shutil.copytree(logs / "lm_eval", other)
    edit(next(other.glob("results_*")), lambda content: content.update(lm_eval_version="0.4.9"))
    with pytest.raises(LogVersionError) as caught:
        load(logs / "lm_eval", other)
    for text in ("lm_eval", "0.4.13", "0.4.9", "Import each version"):
        assert text in str(caught.value)


def test_a_version_that_the_log_contradicts_is_refused(logs):
    with pytest.raises(LogVersionError, match=r"the log says 0.4.13, --version says 0.4.9"):
        load(results(logs), version="0.4.9")


def test_a_log_without_its_version_asks_for_it(logs, edit):
    edit(results(logs), lambda content: content.pop("lm_eval_version") and None)
    with pytest.raises(LogVersionError, match="pip show lm-eval"):
        load(results(logs))


def test_another_layout_is_a_named_error(logs, edit):
    edit(logs / "helm" / "bbq" / "scenario_state.json", lambda s: {"requests": s["request_states"]})
    message = said(logs / "helm" / "bbq", HELM)
    assert "layout" in message
    assert "request_states" in message


def test_one_bad_log_leaves_the_others_whole_and_is_listed(logs):
    whole, path = load(logs, version=HELM)[0], truthfulqa(logs)
    path.write_bytes(path.read_bytes()[:3000])
    table, report = load(logs, version=HELM)
    lost = whole["task"] == "truthfulqa_local:target=mc1"
    assert lost.sum() == 6
    key = ["item_id", "template", "scoring"]
    assert set(map(tuple, table[key].to_numpy())) == set(map(tuple, whole.loc[~lost, key].to_numpy()))
    assert any(path.name in note.reason for note in report.left_out)
    assert not report.complete


def lost(*paths: Path, version: str | None = None) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
    """The table, and the ids of each loss by its reason."""
    table, report = load(*paths, version=version)
    return table, {note.reason: note.ids for note in report.left_out if note.loss}


@pytest.mark.parametrize(
    ("spoilt", "metrics"),
    [
        ({"acc": math.nan}, ("acc",)),
        ({"filtered_resps": [[math.nan, "False"]] * 2}, ("acc", "acc_norm")),
    ],
)
def test_an_answer_without_a_number_is_listed_and_its_metric_stays(logs, edit_lines, spoilt, metrics):
    change = iter([spoilt])
    edit_lines(only(logs, "toxigen"), lambda sample: {**sample, **next(change, {})})
    edit_totals(logs, "toxigen", metrics)
    table, found = lost(results(logs))
    assert len(of(table, "toxigen", "acc")) == len(samples(logs, "toxigen")) - 1
    assert found["no acc from 0 to 1, or no log-probability"] == ("0",)


@pytest.mark.parametrize("doc", [{}, {"text": None}])
def test_a_document_of_another_shape_is_listed_and_the_others_are_joined(logs, edit_lines, doc):
    change = iter([{"doc": doc}])
    edit_lines(only(logs, "toxigen"), lambda sample: {**sample, **next(change, {})})
    edit_totals(logs, "toxigen")
    table, found = lost(results(logs))
    assert (of(table, "toxigen")["benchmark"] == "toxigen").all()
    assert found["documents that are not what the task's are"] == ("0",)


def edit_totals(logs: Path, task: str, metrics: tuple[str, ...] = ("acc", "acc_norm")) -> None:
    """Make the totals of a task those of its samples but the first."""
    path = results(logs)
    content = json.loads(path.read_text(encoding="utf-8"))
    for metric in metrics:
        values = [sample[metric] for sample in samples(logs, task)[1:]]
        content["results"][f"{task}_local"][f"{metric},none"] = sum(values) / len(values)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_results_without_totals_or_counts_are_a_loss(logs, edit):
    def empty(content):
        content["n-samples"] = {}
        content["results"] = {task: {} for task in content["results"]}

    edit(results(logs), empty)
    _, found = lost(results(logs))
    assert "totals that could not be compared: the results lack them" in found
    assert any("whether the file is whole" in reason for reason in found)


def test_helm_without_totals_or_scores_is_a_loss(logs, edit):
    folder = logs / "helm" / "truthful_qa"
    edit(folder / "stats.json", lambda stats: [])
    assert "exact_match" in str(lost(folder, version=HELM)[1])
    edit(folder / "per_instance_stats.json", lambda entries: entries[:-1])
    table, found = lost(folder, version=HELM)
    ids = found["no exact_match from 0 to 1 in per_instance_stats.json"]
    assert len(ids) == 1
    assert "failed" not in set(table["outcome"])


def test_an_inspect_log_without_totals_is_a_loss(logs, edit):
    edit(truthfulqa(logs), lambda log: log.update(results=None))
    assert any("no totals" in reason for reason in lost(truthfulqa(logs))[1])


@pytest.mark.parametrize(("text", "loss"), [(None, False), ("Z", True)])
def test_helm_asking_again_is_listed_and_a_loss_if_the_answers_differ(logs, edit, text, loss):
    def again(content):
        copy = json.loads(json.dumps(content["request_states"][0]))
        if text:
            copy["result"]["completions"][0]["text"] = text
        content["request_states"].append(copy)

    edit(logs / "helm" / "bbq" / "scenario_state.json", again)
    _, report = load(logs / "helm" / "bbq", version=HELM)
    (note,) = [note for note in report.left_out if "again" in note.reason or "further" in note.reason]
    assert (note.loss, len(note.ids)) == (loss, 1)


def test_helms_splits_have_totals_of_their_own(logs, edit):
    folder = logs / "helm" / "truthful_qa"
    table = load(folder, version=HELM)[0]
    ids = {
        row["instance"]["id"]
        for row in json.loads((folder / "scenario_state.json").read_text())["request_states"][:2]
    }

    def split(content):
        for state in content["request_states"]:
            state["instance"]["split"] = "valid" if state["instance"]["id"] in ids else "test"

    edit(folder / "scenario_state.json", split)
    states = json.loads((folder / "per_instance_stats.json").read_text())
    scores = {
        e["instance_id"]: s["mean"] for e in states for s in e["stats"] if s["name"]["name"] == "exact_match"
    }
    groups = {
        "valid": [v for i, v in scores.items() if i in ids],
        "test": [v for i, v in scores.items() if i not in ids],
    }
    stats = [
        {"name": {"name": "exact_match", "split": n}, "mean": sum(v) / len(v)} for n, v in groups.items()
    ]
    (folder / "stats.json").write_text(json.dumps(stats))
    again, report = load(folder, version=HELM)
    assert report.complete
    assert again["score"].tolist() == table["score"].tolist()


def test_another_version_than_the_books_is_told(logs, edit):
    edit(results(logs), lambda content: content.update(lm_eval_version="0.3.0"))
    _, report = load(results(logs))
    assert any("0.3.0: the book compares 0.4.13" in note.reason for note in report.left_out)


def test_a_given_version_is_one_and_may_have_its_name(logs):
    with pytest.raises(LogVersionError, match="banana: no version"):
        load(logs / "helm", version="banana")
    assert set(load(logs / "helm", version=f"crfm-helm {HELM}")[0]["version"]) == {HELM}


def test_an_empty_last_line_is_no_sample(logs):
    with only(logs, "toxigen").open("a") as file:
        file.write("\n")
    assert load(results(logs))[1].complete


def test_json_that_is_named_eval_is_read_as_json(logs):
    path = truthfulqa(logs)
    assert len(load(path.rename(path.with_suffix(".eval")))[0]) == 6


def test_a_folder_of_broken_logs_says_what_is_wrong_with_them(tmp_path):
    (tmp_path / "run.eval").write_bytes(b"PK")
    with pytest.raises(ForeignLogError, match="cut off"):
        load(tmp_path)


# ---------------------------------------------------------------- the command


def call(*arguments: object):
    return CliRunner().invoke(cli.app, ["data", "import", *map(str, arguments)])


@pytest.fixture
def on_practice(monkeypatch):
    from benchtrust.packages import joins

    upstream = joins.upstream
    monkeypatch.setattr(joins, "upstream", lambda name, _="": upstream(name, "practice"))


@pytest.mark.usefixtures("on_practice")
def test_the_command_writes_a_table_that_notebooks_take(logs, tmp_path):
    done = call(logs, "--version", HELM, "--out", tmp_path / "own.parquet")
    assert done.exit_code == 0, done.output
    rows = len(load(logs, version=HELM)[0])
    assert f"{rows} rows" in done.output
    assert len(responses.read(tmp_path / "own.parquet")) == rows
    listed = pd.read_csv(tmp_path / "own.left_out.csv")
    assert "likelihood_diff" in set(listed["id"])


@pytest.mark.usefixtures("on_practice")
def test_the_command_lists_what_did_not_join_and_exits_with_1(logs, edit, tmp_path):
    edit(truthfulqa(logs), lambda log: log["samples"][0].update(input="Who was that?"))
    name = json.loads(truthfulqa(logs).read_text())["samples"][0]["id"]
    done = call(truthfulqa(logs), "--out", tmp_path / "own.parquet")
    assert done.exit_code == 1
    assert name in done.output
    assert (tmp_path / "own.parquet").is_file()


@pytest.mark.usefixtures("on_practice")
def test_without_a_target_nothing_is_written(logs, tmp_path):
    before = set(tmp_path.rglob("*"))
    assert call(logs / "lm_eval").exit_code == 0
    assert set(tmp_path.rglob("*")) == before


def test_errors_of_the_command_are_named(logs, tmp_path):
    for arguments in ([logs / "helm"], [tmp_path / "nothing"], [logs / "lm_eval", "--out", "x.csv"]):
        done = call(*arguments)
        assert done.exit_code != 0
        assert type(done.exception).__module__ == "benchtrust.errors"
