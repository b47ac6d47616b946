"""Results on public data: recomputed where the data are, else read from what is committed; the badge."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from benchtrust.commands import data
from benchtrust.compendium import Recorder, fingerprints, kept, ledger, provenance
from benchtrust.compendium.ledger import LedgerError
from benchtrust.errors import DataFileError

FILE, OTHER = "responses/made/labels.csv", "logits/made.csv"
NOTEBOOK = "part/source"
MEANS = pd.DataFrame({"model": ["a", "b"], "score": [0.1 + 0.2, 1.0], "n": [3, 4]})
COMMITTED = f"{kept.FOLDER}/{NOTEBOOK}"


@pytest.fixture
def mine(small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder named by BENCHTRUST_DATA; empty."""
    monkeypatch.setenv("BENCHTRUST_DATA", str(tmp_path / "mine"))
    return tmp_path / "mine"


@pytest.fixture
def start(small_project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Recorder]:
    """Begin a run of the notebook in a profile, in that profile's folder of results."""

    def begin(profile: str = "paper", **parameters: int) -> Recorder:
        results = small_project / "build" / profile / "results" / NOTEBOOK
        monkeypatch.setenv("BENCHTRUST_RESULTS", str(results))
        monkeypatch.setenv("BENCHTRUST_PROFILE", profile)
        return Recorder(NOTEBOOK, {"seed": 1} | parameters)

    return begin


def put(folder: Path, file: str = FILE, text: str = "label\n1\n") -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run(record: Recorder, *files: str) -> pd.DataFrame:
    """What a notebook does: keep where the data are, then read back and publish."""
    if record.public(*(files or (FILE,))):
        record.keep(means=MEANS)
    table = record.kept("means")
    record.number("best", table["score"].max(), ".2f")
    return table


def ledger_of(project: Path, profile: str = "paper") -> ledger.Ledger:
    return ledger.read(project / "build" / profile / "results" / NOTEBOOK)


@pytest.fixture
def committed(small_project: Path, mine: Path, start: Callable[..., Recorder]) -> Path:
    """A project with committed results, and without the data."""
    path = put(mine)
    run(start())
    kept.commit(NOTEBOOK)
    path.unlink()
    return small_project / COMMITTED


# ---------------------------------------------------------------- with the data


def test_with_the_data_results_are_recomputed_here(mine, start, small_project):
    path = put(mine)
    table = run(start())
    pd.testing.assert_frame_equal(table, MEANS.assign(score=[0.3, 1.0]))
    made = ledger_of(small_project)
    assert made.inputs == {f"data:{FILE}": fingerprints.of_file(path)}
    assert made.committed_with == {}
    best = made.artefacts["best"]
    assert (best.public, best.committed) == ([f"data:{FILE}"], False)
    assert provenance.origin(best) == "recomputed here"


def test_what_was_recorded_before_has_its_own_badge(mine, start, small_project):
    put(mine)
    record = start()
    record.number("before", 1)
    run(record)
    found = {name: provenance.origin(entry) for name, entry in ledger_of(small_project).artefacts.items()}
    assert found == {"before": "computed here", "best": "recomputed here"}


def test_a_name_is_kept_once_and_must_be_kept_to_be_read(mine, start):
    put(mine)
    record = start()
    record.public(FILE)
    record.keep(means=MEANS)
    with pytest.raises(LedgerError, match="'means' is already kept"):
        record.keep(means=MEANS)
    with pytest.raises(LedgerError, match="Nothing is kept as 'mean'; kept: means"):
        record.kept("mean")


def test_a_file_has_one_name_wherever_it_lies(mine, tmp_path):
    assert fingerprints.locate(f"data:{FILE}") == tmp_path / "cache/data" / FILE
    for folder in (tmp_path / "cache/data", mine):
        path = put(folder)
        assert fingerprints.name(path) == f"data:{FILE}"
        assert fingerprints.locate(f"data:{FILE}") == path


def test_files_that_arrive_make_a_run_stale(mine):
    recorded = fingerprints.now([f"data:{FILE}"])
    assert recorded == {f"data:{FILE}": "absent"}
    put(mine)
    assert fingerprints.changed(recorded) == [f"data:{FILE}"]


# ---------------------------------------------------------------- without the data


def test_without_the_data_committed_results_stand_in_and_say_so(committed, start, small_project):
    table = run(start())
    pd.testing.assert_frame_equal(table, MEANS.assign(score=[0.3, 1.0]))
    made = ledger_of(small_project)
    assert made.inputs == {f"data:{FILE}": "absent", COMMITTED: fingerprints.of_file(committed)}
    assert made.committed_with == {"seed": 1}
    assert provenance.origin(made.artefacts["best"]) == "from committed results"


def test_the_panel_shows_how_committed_results_were_made_and_how_to_remake_them(
    committed, start, small_project
):
    run(start("smoke", seed=7))
    made = ledger_of(small_project, "smoke")
    panel = provenance.panel(made, made.artefacts["best"], "page", "_results", "smoke").astext()
    assert "seed = 1" in panel
    assert "seed = 7" not in panel
    assert f"benchtrust data get {FILE}" in panel
    assert f"benchtrust run {NOTEBOOK}" in panel


def test_the_panel_of_recomputed_results_names_no_command_to_get_data(mine, start, small_project):
    put(mine)
    run(start(seed=7))
    made = ledger_of(small_project)
    panel = provenance.panel(made, made.artefacts["best"], "page", "_results", "paper").astext()
    assert "seed = 7" in panel
    assert "data get" not in panel


def test_each_data_set_has_its_own_badge(committed, mine, start, small_project):
    record = start()
    run(record)
    put(mine, OTHER)
    record.public(OTHER)
    record.keep(others=MEANS)
    record.number("second", record.kept("others")["n"].sum(), "d")
    found = {name: provenance.origin(entry) for name, entry in ledger_of(small_project).artefacts.items()}
    assert found == {"best": "from committed results", "second": "recomputed here"}


def test_all_files_of_a_data_set_must_be_here(committed, mine, start):
    put(mine, OTHER)
    assert not start().public(FILE, OTHER)
    put(mine)
    assert start().public(FILE, OTHER)


def test_other_parameters_given_by_hand_are_refused(committed, start):
    assert len(run(start("manual"))) == 2
    with pytest.raises(DataFileError, match="With seed = 2 this has to be computed from") as caught:
        run(start("manual", seed=2))
    assert "have seed = 1" in str(caught.value)
    assert f"benchtrust data get {FILE}" in str(caught.value)


@pytest.mark.parametrize("name", ["means.csv", "manifest.json"])
def test_what_is_not_committed_cannot_stand_in(committed, start, name):
    (committed / name).unlink()
    with pytest.raises(DataFileError, match=f"needs {FILE}, and no committed result 'means'") as caught:
        run(start())
    assert f"benchtrust data get {FILE}" in str(caught.value)


def test_an_altered_result_is_refused(committed, start):
    path = committed / "means.csv"
    path.write_text(path.read_text().replace("0.3", "0.4"))
    with pytest.raises(DataFileError, match=r"means\.csv is not the recorded file"):
        run(start())


# ---------------------------------------------------------------- committing


def test_a_commit_replaces_what_was_there_and_names_data_and_parameters(committed, mine, start):
    path = put(mine)
    (committed / "old.csv").write_text("x\n1\n")
    run(start(seed=3))
    written = kept.commit(NOTEBOOK)
    assert {file.name for file in committed.iterdir()} == {file.name for file in written}
    facts = json.loads((committed / "manifest.json").read_text())
    assert facts == {
        "data": {f"data:{FILE}": fingerprints.of_file(path)},
        "files": {"means.csv": fingerprints.of_file(committed / "means.csv")},
        "parameters": {"seed": 3},
    }


def test_a_run_without_the_data_has_nothing_to_commit(committed, start):
    run(start())
    before = (committed / "manifest.json").read_bytes()
    with pytest.raises(LedgerError, match=f"had no {FILE}"):
        kept.commit(NOTEBOOK)
    assert (committed / "manifest.json").read_bytes() == before


def test_a_run_with_some_of_the_data_would_lose_the_other_results(committed, mine, start):
    record = start()
    run(record)
    put(mine, OTHER)
    record.public(OTHER)
    record.keep(others=MEANS)
    with pytest.raises(LedgerError, match=f"had no {FILE}"):
        kept.commit(NOTEBOOK)
    assert (committed / "means.csv").is_file()


def test_no_run_and_a_run_that_kept_nothing(mine, start):
    with pytest.raises(LedgerError, match=f"has no run: benchtrust run {NOTEBOOK}"):
        kept.commit(NOTEBOOK)
    start().number("x", 1)
    with pytest.raises(LedgerError, match="kept nothing"):
        kept.commit(NOTEBOOK)


def test_the_command_commits_a_notebook_by_its_last_name(mine, start, small_project):
    put(mine)
    run(start())
    done = CliRunner().invoke(data.app, ["commit", "source"])
    assert done.exit_code == 0, done.output
    assert (small_project / COMMITTED / "means.csv").is_file()
