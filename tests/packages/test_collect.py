"""Finished runs as one record: the items that were asked, no item text, broken runs beside whole ones."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from benchtrust import items, responses
from benchtrust.errors import BenchtrustError, DataFileError, LogVersionError
from benchtrust.grid.record import MARK, leaks
from benchtrust.packages import importers
from benchtrust.packages.collect import collect, write

RUNS = {
    ("lm_eval", "bbq"): "lm-eval 0.4.13",
    ("lm_eval", "truthfulqa"): "lm-eval 0.4.13",
    ("helm", "bbq"): "crfm-helm 0.5.16",
    ("helm", "truthfulqa"): "crfm-helm 0.5.16",
    ("inspect", "truthfulqa"): "inspect-ai 0.3.285, inspect-evals 0.26.0",
    ("inspect", "xstest"): "inspect-ai 0.3.285, inspect-evals 0.26.0",
}
STOCK = {"bbq": ["bbq_local"], "truthfulqa": ["truthfulqa_mc1_local", "truthfulqa_mc2_local"]}


def outputs(logs: Path, package: str, benchmark: str) -> list[Path]:
    """Files that a package left of one benchmark."""
    if package == "helm":
        return list((logs / "helm" / {"truthfulqa": "truthful_qa"}.get(benchmark, benchmark)).iterdir())
    if package == "inspect":
        return list((logs / "inspect").glob(f"*{benchmark}*"))
    named = [next((logs / "lm_eval").glob(f"samples_{task}_*")) for task in STOCK[benchmark]]
    return [*named, next((logs / "lm_eval").glob("results_*"))]


@pytest.fixture
def runs(logs, edit, tmp_path) -> Path:
    """Finished runs as `benchtrust packages run` leaves them."""
    base = tmp_path / "runs"
    for (package, benchmark), version in RUNS.items():
        folder = base / package / "small" / benchmark
        folder.mkdir(parents=True)
        for path in outputs(logs, package, benchmark):
            shutil.copy(path, folder)
        if package == "lm_eval":
            only = STOCK[benchmark]

            def keep(content, only=only):
                for entry in ("results", "configs", "n-samples"):
                    content[entry] = {task: content[entry][task] for task in only}

            edit(next(folder.glob("results_*")), keep)
        facts = {"package": package, "version": version, "model": "small", "benchmark": benchmark}
        facts |= {"source": "practice", "item_ids": [], "seconds": 1.5, "command": [["python", "/here"]]}
        (folder / "run.json").write_text(json.dumps(facts))
        (folder / "log.txt").write_text("done")
    return base


def change(folder: Path, **facts) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def test_all_runs_become_one_table(runs):
    table, report = collect(runs, "practice")
    assert list(table.columns) == list(importers.COLUMNS)
    counts = table.groupby(["package", "benchmark"]).size().to_dict()
    assert counts == {
        ("helm", "bbq"): 12,
        ("helm", "truthfulqa"): 12,
        ("inspect", "truthfulqa"): 12,
        ("inspect", "xstest"): 8,
        ("lm_eval", "bbq"): 6,
        ("lm_eval", "truthfulqa"): 12,
    }
    lenient = table[table["metric"] == importers.LENIENT]
    assert lenient.groupby(["package", "benchmark"]).size().tolist() == [6, 6, 6]
    assert set(table["model"]) == {"small"}
    assert set(table["version"]) == {"0.4.13", "0.5.16", "0.3.285, inspect-evals 0.26.0"}
    assert report.complete


def test_the_record_is_read_back_checked_and_small(runs, tmp_path):
    table, report = collect(runs, "practice")
    target = tmp_path / "record"
    write(table, report, runs, target, "practice")
    key = ["package", "benchmark", "scoring", "item_id"]
    back = importers.read(target).sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(back, table.sort_values(key, ignore_index=True))
    assert len(responses.read(target)) == len(table)
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["items"] == "practice"
    entry = manifest["runs"]["helm/small/bbq"]
    assert entry == {"answers": 12, "items": 6, "version": "crfm-helm 0.5.16", "seconds": 1.5}
    assert "/here" not in (target / "manifest.json").read_text()
    again = tmp_path / "again"
    write(*collect(runs, "practice"), runs, again, "practice")
    for path in target.rglob("*"):
        if path.is_file() and path.name != "manifest.json":
            assert path.read_bytes() == (again / path.relative_to(target)).read_bytes()


def test_a_record_lists_its_own_runs_alone(runs, tmp_path):
    target = tmp_path / "record"
    write(*collect(runs, "practice"), runs, target, "practice")
    (target / "notes.csv").write_text("mine")
    shutil.rmtree(runs / "helm" / "small" / "bbq")
    gone = write(*collect(runs, "practice"), runs, target, "practice")
    assert gone == ["helm/small/bbq.packages.csv", "helm/small/bbq.parquet"]
    manifest = json.loads((target / "manifest.json").read_text())
    assert not [name for name in manifest["files"] if name.startswith("helm/small/bbq")]
    assert "notes.csv" not in manifest["files"]
    assert (target / "notes.csv").read_text() == "mine"
    assert set(importers.read(target)["benchmark"][importers.read(target)["package"] == "helm"]) == {
        "truthfulqa"
    }


def test_runs_of_another_machine_can_be_added_to_a_record(runs, tmp_path):
    target = tmp_path / "record"
    write(*collect(runs, "practice"), runs, target, "practice")
    before, whole = importers.read(target), json.loads((target / "manifest.json").read_text())
    shutil.rmtree(runs / "helm")
    assert write(*collect(runs, "practice"), runs, target, "practice", keep=True) == []
    pd.testing.assert_frame_equal(importers.read(target), before)
    after = json.loads((target / "manifest.json").read_text())
    assert (after["runs"], after["files"]) == (whole["runs"], whole["files"])


def test_a_run_of_fewer_items_does_not_take_the_place_of_a_recorded_one(runs, tmp_path):
    target = tmp_path / "record"
    write(*collect(runs, "practice"), runs, target, "practice")
    path = target / "manifest.json"
    facts = json.loads(path.read_text())
    asked = facts["runs"]["helm/small/bbq"]["items"]
    facts["runs"]["helm/small/bbq"]["items"] = asked + 1
    path.write_text(json.dumps(facts))
    with pytest.raises(BenchtrustError, match=rf"helm/small/bbq \({asked}, not {asked + 1}\)"):
        write(*collect(runs, "practice"), runs, target, "practice", keep=True)


def test_a_record_of_two_versions_of_a_package_is_refused(runs, tmp_path):
    target = tmp_path / "record"
    write(*collect(runs, "practice"), runs, target, "practice")
    path = target / "manifest.json"
    path.write_text(path.read_text().replace("crfm-helm 0.5.16", "crfm-helm 0.5.15"))
    shutil.rmtree(runs / "helm" / "small" / "bbq")
    with pytest.raises(LogVersionError, match=r"helm/small/bbq by crfm-helm 0\.5\.15, the runs here are"):
        write(*collect(runs, "practice"), runs, target, "practice", keep=True)


def test_a_generated_letter_is_read_strictly_and_leniently(runs):
    table, _ = collect(runs, "practice")
    own = table[(table["package"] == "inspect") & (table["benchmark"] == "truthfulqa")]
    by_item = own.pivot(index="item_id", columns="metric", values="outcome")
    assert (by_item["choice"] != "scored").sum() > (by_item[importers.LENIENT] != "scored").sum()
    both = own.pivot(index="item_id", columns="metric", values="choice").dropna()
    assert len(both) == 3
    assert (both["choice"] == both[importers.LENIENT]).all()


@pytest.mark.parametrize("name", ["helm/small/bbq.parquet", "helm/small/bbq.packages.csv"])
def test_an_altered_record_is_refused(runs, tmp_path, name):
    table, report = collect(runs, "practice")
    write(table, report, runs, tmp_path / "record", "practice")
    path = tmp_path / "record" / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DataFileError, match=path.name):
        importers.read(tmp_path / "record")


def test_no_item_text_is_left_in_what_was_generated(runs, edit, tmp_path):
    known = {item.question: item for item in items.load("truthfulqa", "practice")}
    log = next((runs / "inspect" / "small" / "truthfulqa").glob("*.json"))
    path = next(p for p in log.parent.glob("*.json") if p.name != "run.json")

    def say_it_all(content):
        for sample in content["samples"]:
            item = known[sample["input"]]
            text = f"You ask: {item.question} I choose {item.options[0]}."
            sample["output"]["completion"] = text

    edit(path, say_it_all)
    table, report = collect(runs, "practice")
    own = table[(table["package"] == "inspect") & (table["benchmark"] == "truthfulqa")]
    assert own["completion"].str.contains(MARK).all()
    assert (own["completion"] == own["raw_output"]).all()
    assert leaks(own["completion"], list(known.values())) == []
    write(table, report, runs, tmp_path / "record", "practice")
    for path in (tmp_path / "record").rglob("*"):
        if path.is_file():
            content = path.read_bytes().decode(errors="replace")
            assert not any(item.question in content for item in known.values())


def test_a_broken_run_leaves_the_others_whole(runs):
    before, _ = collect(runs, "practice")
    (runs / "helm" / "small" / "bbq" / "scenario_state.json").write_text("{")
    table, report = collect(runs, "practice")
    lost = (before["package"] == "helm") & (before["benchmark"] == "bbq")
    pd.testing.assert_frame_equal(table, before[~lost].reset_index(drop=True))
    (note,) = [note for note in report.left_out if note.where == "helm/small/bbq"]
    assert "scenario_state.json" in note.reason
    assert not report.complete


def test_answers_that_join_to_no_item_are_listed_and_not_recorded(runs, edit):
    folder = runs / "inspect" / "small" / "truthfulqa"
    path = next(p for p in folder.glob("*.json") if p.name != "run.json")
    edit(path, lambda log: log["samples"][2].update(input="What is this?"))
    name = json.loads(path.read_text())["samples"][2]["id"]
    table, report = collect(runs, "practice")
    assert report.unjoined["id"].tolist() == [name]
    assert len(table) == 60
    assert not report.complete


def test_items_that_were_asked_and_not_answered_are_listed(runs):
    asked = [item.item_id for item in items.load("bbq", "practice")]
    change(runs / "helm" / "small" / "bbq", item_ids=asked)
    asked_too = [item.item_id for item in items.load("truthfulqa", "practice")]
    for package in ("lm_eval", "helm", "inspect"):
        change(runs / package / "small" / "truthfulqa", item_ids=asked_too)
    table, report = collect(runs, "practice")
    (note,) = [note for note in report.left_out if note.where == "helm/small/bbq"]
    answered = set(table.loc[(table["package"] == "helm") & (table["benchmark"] == "bbq"), "item_id"])
    assert set(note.ids) == set(asked) - answered
    assert report.unjoined.empty
    assert not report.complete


def test_runs_on_other_items_are_left_out(runs):
    change(runs / "helm" / "small" / "bbq", source="upstream")
    table, report = collect(runs, "practice")
    assert ("helm", "bbq") not in set(zip(table["package"], table["benchmark"], strict=True))
    assert report.complete
    assert any("upstream" in note.reason for note in report.left_out)


def test_another_version_of_a_package_is_told(runs, edit):
    change(runs / "helm" / "small" / "bbq", version="crfm-helm 0.5.9")
    with pytest.raises(LogVersionError, match=r"0\.5\.16"):
        collect(runs, "practice")
    edit(
        next((runs / "lm_eval" / "small" / "bbq").glob("results_*")), lambda r: r.update(lm_eval_version="9")
    )
    with pytest.raises(LogVersionError, match=r"run.json beside it says 0\.4\.13"):
        collect(runs, "practice")


def test_no_runs_at_all_say_how_to_make_some(tmp_path):
    with pytest.raises(BenchtrustError, match="benchtrust packages run"):
        collect(tmp_path)
