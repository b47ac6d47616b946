"""What a notebook publishes: names, data, pictures, hashes."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

from benchtrust import plots
from benchtrust.compendium import Recorder, ledger
from benchtrust.compendium.ledger import LedgerError
from benchtrust.errors import NotAskableError, ParameterError, UnknownNameError

mpl.use("Agg")
import matplotlib.pyplot as plt

ALT = "A rising line through three points, from zero to four."
FRAME = pd.DataFrame({"x": [0, 1, 2], "y": [0.1 + 0.2, 1.0, 4.0]})
DRAW = """
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt, pandas as pd
from benchtrust import plots
from benchtrust.compendium import Recorder
frame = pd.DataFrame({"x": [0, 1, 2], "y": [0.1 + 0.2, 1.0, 4.0]})
record = Recorder("part/source", {"seed": 1})
record.input("data/scores.csv")
with plots.style():
    fig, ax = plt.subplots()
    ax.plot(frame["x"], frame["y"], marker="o")
    ax.fill_between(frame["x"], 0, frame["y"], hatch="//", alpha=0.3)
    plots.chance_line(ax, 0.25)
record.figure("line", fig, frame, alt="A rising line through three points, from zero to four.")
record.number("mean", frame["y"].mean(), ".2f")
"""


@pytest.fixture
def record(small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    monkeypatch.setenv("BENCHTRUST_RESULTS", str(tmp_path / "results"))
    return Recorder("part/source", {"seed": 1})


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def figure() -> plt.Figure:
    with plots.style():
        fig, ax = plt.subplots(figsize=(3, 2))
        ax.plot([0, 1, 2], [0, 1, 4])
        ax.set(xlabel="x", ylabel="y")
    return fig


def test_two_processes_write_the_same_bytes(
    small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This one, and another with other hashes."""
    folders = tmp_path / "here", tmp_path / "there"
    monkeypatch.setenv("BENCHTRUST_RESULTS", str(folders[0]))
    exec(DRAW, {})
    environment = os.environ | {"BENCHTRUST_RESULTS": str(folders[1]), "PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", DRAW], check=True, env=environment)
    found = [{path.name: path.read_bytes() for path in sorted(folder.iterdir())} for folder in folders]
    assert sorted(found[0]) == ["ledger.json", "line.csv", "line.dark.svg", "line.svg"]
    assert found[0] == found[1]
    text = found[0]["line.svg"].decode()
    assert not re.search(r"<dc:date>|matplotlib\.org", text)
    assert str(small_project) not in found[0]["ledger.json"].decode()


def test_figure_is_drawn_for_both_schemes_and_closed(record: Recorder, results: Path) -> None:
    fig = figure()
    record.figure("line", fig, FRAME, alt=ALT)
    light, dark = ((results / f"line{suffix}.svg").read_text().lower() for suffix in ("", ".dark"))
    for on_light, on_dark in plots.DARK.items():
        assert on_light not in dark
        assert (on_light in light) == (on_dark in dark)
    assert plots.PAPER in light
    assert not plt.fignum_exists(fig.number)


def test_data_have_no_index_and_twelve_digits(record: Recorder, results: Path) -> None:
    record.figure("line", figure(), FRAME, alt=ALT)
    assert (results / "line.csv").read_text() == "x,y\n0,0.3\n1,1\n2,4\n"


def test_entry_holds_what_an_auditor_needs(record: Recorder, results: Path, small_project: Path) -> None:
    record.number("before", 1)
    record.input("data/scores.csv")
    record.table("shown", FRAME, formats={"y": ".1f"}, labels={"y": "height"}, rtol=0.01, live=True)
    found = ledger.read(results)
    data = (small_project / "data/scores.csv").read_bytes()
    assert found.inputs == {"data/scores.csv": hashlib.sha256(data).hexdigest()}
    assert found.parameters == {"seed": 1}
    assert found.seed == 1
    assert set(found.sources) == {"src/scale.py"}
    assert found.lock == hashlib.sha256((small_project / "requirements.lock").read_bytes()).hexdigest()
    entry = found.artefacts["shown"]
    written = hashlib.sha256((results / "shown.csv").read_bytes()).hexdigest()
    assert entry.files == {"shown.csv": written}
    assert (entry.inputs, found.artefacts["before"].inputs) == (["data/scores.csv"], [])
    assert (entry.formats, entry.labels) == ({"y": ".1f"}, {"y": "height"})
    assert (entry.rtol, entry.live) == (0.01, True)


@pytest.mark.parametrize("name", ["Upper", "under_score", "-a", "a--b", "a b", "", "é"])
def test_names_are_kebab_case(record: Recorder, name: str) -> None:
    with pytest.raises(LedgerError, match="kebab-case"):
        record.number(name, 1)


def test_a_name_is_used_once(record: Recorder) -> None:
    record.number("one", 1)
    with pytest.raises(LedgerError, match="already recorded"):
        record.table("one", FRAME)


@pytest.mark.parametrize("alt", ["", "too short", "x" * 401, " " * 30])
def test_alternative_text_is_required(record: Recorder, alt: str) -> None:
    with pytest.raises(LedgerError, match="alt has"):
        record.figure("line", figure(), FRAME, alt=alt)
    plt.close("all")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.set_index("x"), "reset_index"),
        (FRAME[FRAME["x"] > 0], "reset_index"),
        (FRAME.rename_axis("cell"), "reset_index"),
        (FRAME.iloc[:0], "empty"),
        (pd.DataFrame({0: [1]}), "distinct strings"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "distinct strings"),
    ],
)
def test_data_with_an_index_are_refused(record: Recorder, frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(LedgerError, match=message):
        record.table("shown", frame)


def test_black_text_is_refused(record: Recorder) -> None:
    fig, ax = plt.subplots()
    ax.set(xlabel="x")
    with pytest.raises(LedgerError, match=r"plots\.style"):
        record.figure("line", fig, FRAME, alt=ALT)
    plt.close("all")


@pytest.mark.parametrize(
    ("value", "spec", "display"),
    [
        (0.8333, ".1%", "83.3%"),
        (-0.5, ".2f", "−0.50"),
        (3, "d", "3"),
        (3, "", "3"),
        (1234567, ",", "1,234,567"),
        (pd.Series([2]).sum(), "d", "2"),
        (pd.Series([0.5]).mean(), ".1f", "0.5"),
        ("Qwen2.5-Coder", "", "Qwen2.5-Coder"),
    ],
)
def test_numbers_are_shown_by_their_format(
    record: Recorder, results: Path, value: object, spec: str, display: str
) -> None:
    record.number("shown", value, spec)
    entry = json.loads((results / "ledger.json").read_text())["artefacts"]["shown"]
    assert entry["display"] == display


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, True, [1], "", "x" * 81])
def test_what_is_no_number_is_refused(record: Recorder, value: object) -> None:
    with pytest.raises(LedgerError):
        record.number("shown", value)
    with pytest.raises(LedgerError, match="does not fit"):
        record.number("shown", 0.5, "d")


def test_inputs_must_exist(record: Recorder) -> None:
    with pytest.raises(FileNotFoundError, match=r"data/none\.csv"):
        record.input("data/none.csv")


def test_own_data_may_lie_anywhere_in_a_run_by_hand_and_never_in_the_book(
    record: Recorder, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text("x")
    assert record.input(outside) == outside
    assert str(outside) in json.loads((results / "ledger.json").read_text())["inputs"]
    monkeypatch.setenv("BENCHTRUST_PROFILE", "paper")
    with pytest.raises(ValueError, match="outside the repository"):
        Recorder("part/source", {}).input(outside)


def test_a_folder_counts_with_all_its_files(record: Recorder, results: Path, small_project: Path) -> None:
    hashes = []
    for name in ("data/a.csv", "data/sub/b.csv"):
        (small_project / name).parent.mkdir(exist_ok=True)
        (small_project / name).write_text("1")
        record.input("data")
        hashes.append(ledger.read(results).inputs["data"])
    assert len(set(hashes)) == 2


def test_an_optional_input_registers_its_absence(record: Recorder, results: Path, tmp_path: Path) -> None:
    path = record.input(tmp_path / "cache/weights", optional=True)
    assert not path.exists()
    assert ledger.read(results).inputs == {"cache:weights": "absent"}


def test_values_injected_by_plain_papermill_are_checked(small_project: Path) -> None:
    with pytest.raises(ParameterError, match=r"declared int.*found '1'"):
        Recorder("part/source", {"seed": "1"})


def test_unknown_notebook_gives_the_nearest(small_project: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean part/source"):
        Recorder("part/sorce", {})


def test_without_a_runner_results_go_to_manual(small_project: Path) -> None:
    for _ in range(2):
        Recorder("part/other", {"level": 0.5}).number("x", 1)
    assert "x" in ledger.read(small_project / "build/manual/results/part/other").artefacts


# ---------------------------------------------------------------- own data in place of ours

OWN = """models: list[str] = ["a", "b"]
closely: str = "a"
example: list[str] = ["a", "0"]
responses_path: str = "data/scores.csv"
side_path: str = "data/side.csv"
matrices: list[str] = ["harmbench", "data/scores.csv"]"""


@pytest.fixture
def by_hand(small_project: Path, notebook_maker, monkeypatch: pytest.MonkeyPatch):
    """Make a recorder of a notebook with parameters that name ours; keywords are values given by hand."""
    notebook_maker(small_project / "notebooks/part/other.ipynb", ["x = 1"], OWN)
    (small_project / "data/side.csv").write_text("a\n")

    def make(profile: str = "manual", **values: object) -> Recorder:
        monkeypatch.setenv("BENCHTRUST_PROFILE", profile)
        namespace = {"models": ["a", "b"], "closely": "a", "example": ["a", "0"]}
        namespace |= {
            "responses_path": "data/scores.csv",
            "side_path": "data/side.csv",
            "matrices": ["harmbench", "data/scores.csv"],
        }
        return Recorder("part/other", namespace | values)

    return make


@pytest.mark.parametrize(
    ("held", "models", "closely"),
    [
        (["c", "b", "a", "b"], ["a", "b"], ["a"]),
        (["c", "b"], ["b"], ["c", "b"]),
        (["x", "y"], ["x", "y"], ["x", "y"]),
    ],
)
def test_a_default_that_names_ours_means_what_an_own_table_holds(by_hand, held, models, closely) -> None:
    record = by_hand()
    assert record.named("models", held) == models
    assert record.named("closely", held) == closely


def test_a_name_that_was_given_or_belongs_to_a_profile_must_be_there(by_hand) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean alpha"):
        by_hand(models=["alfa"]).named("models", ["alpha", "beta"])
    with pytest.raises(UnknownNameError, match="'a'"):
        by_hand("paper").named("models", ["alpha", "beta"])
    assert by_hand(models=[]).named("models", ["alpha", "beta"]) == ["alpha", "beta"]


def test_a_default_row_of_levels_means_the_first_of_an_own_table(by_hand) -> None:
    held = pd.DataFrame({"benchmark": ["x", "x"], "shots": [2, 4]})
    assert by_hand().levels("example", held) == ["x", "2"]
    assert by_hand().levels("example", held.replace({"x": "a", 2: 0})) == ["a", "0"]
    assert by_hand(example=["x", "4"]).levels("example", held) == ["x", "4"]
    assert by_hand("paper").levels("example", held) == ["a", "0"]


def test_an_input_that_belongs_to_own_data_lies_beside_them(by_hand, small_project: Path) -> None:
    own = small_project / "own/mine.parquet"
    ask = ("responses_path", "side", "side_path")
    assert by_hand().beside(*ask).name == "side.csv"
    record = by_hand(responses_path=str(own))
    assert record.beside(*ask, optional=True) is None
    with pytest.raises(
        NotAskableError, match=r"This needs side beside the answers, in .*own/side/mine\.parquet"
    ):
        record.beside(*ask)
    (small_project / "own/side").mkdir(parents=True)
    (small_project / "own/side/mine.parquet").write_text("a\n")
    assert record.beside(*ask) == small_project / "own/side/mine.parquet"
    assert by_hand(side_path="").beside(*ask, optional=True) is None


def test_own_files_among_public_matrices_are_registered(by_hand, results: Path, monkeypatch) -> None:
    monkeypatch.setenv("BENCHTRUST_RESULTS", str(results))
    record = by_hand()
    assert record.sources(["harmbench", "data/scores.csv"]) == ["harmbench", "data/scores.csv"]
    assert list(ledger.read(results).inputs) == ["data/scores.csv"]
    assert by_hand().sources("harmbench", "data/scores.csv") == ["data/scores.csv"]


def test_a_missing_path_outside_is_not_said_to_be_in_the_repository(record: Recorder) -> None:
    with pytest.raises(FileNotFoundError, match=r"^Input /nowhere/x\.csv is missing\.$"):
        record.input("/nowhere/x.csv")
    with pytest.raises(FileNotFoundError, match=r"is missing in .*If another notebook makes it"):
        record.input("data/x.csv")


def test_names_in_names_of_artefacts() -> None:
    assert Recorder.kebab("My Set_v2.1") == "my-set-v2-1"
