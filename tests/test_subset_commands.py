"""``benchtrust data subset`` and ``score``: a file that goes from one machine to another."""

import re
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from benchtrust import irt
from benchtrust.commands import data
from benchtrust.irt.subsets import METHODS
from benchtrust.responses import response_matrix


def call(*arguments: str):
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(data.app, list(arguments))


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    for name in ("out", "err"):
        monkeypatch.setattr(data, name, data.Console(width=200, stderr=name == "err"))


@pytest.fixture
def answers(tmp_path):
    """CSV files of 40 models and of 5 others, on the same 30 items."""
    draw = np.random.default_rng(3)
    items = pd.DataFrame(
        {"a": np.exp(0.4 * draw.standard_normal(30)), "b": draw.standard_normal(30)},
        [f"{j:03d}" for j in range(30)],
    )
    for name, n in (("old", 40), ("new", 5)):
        theta = pd.Series(draw.standard_normal(n), [f"{name}{i}" for i in range(n)])
        irt.simulate(theta, items, draw).to_csv(tmp_path / f"{name}.csv", index_label="model")
    return tmp_path


def chosen(folder, *options: str):
    target = folder / "subset.csv"
    result = call("subset", str(folder / "old.csv"), "--k", "8", "--out", str(target), *options)
    return result, target


@pytest.mark.parametrize("method", ["marginal_fisher", "anchor_points"])
def test_what_is_written_scores_new_models_as_the_functions_do(answers, method):
    result, target = chosen(answers, "--method", method, "--seed", "4")
    assert result.exit_code == 0, result.output
    assert f"8 of 30 items by {method}, from 40 models on 30 items" in result.output
    said = call("score", str(target), str(answers / "new.csv"))
    found = pd.read_csv(StringIO(said.stdout), index_col=0)
    old, new = (
        pd.read_csv(answers / f"{n}.csv", index_col=0).rename_axis(columns="item") for n in ("old", "new")
    )
    with pytest.warns(UserWarning, match="fewer than 100"):
        calibration = irt.calibrate(old)
    own = irt.select_items(old, 8, method, calibration, np.random.default_rng(4))
    expected = irt.subset_scores(new, own, calibration.items)
    pd.testing.assert_series_equal(found[expected.name], expected, check_names=False)
    assert set(found["n_answers"]) == {8}


def test_the_warning_of_few_models_is_a_message(answers):
    result, _ = chosen(answers)
    assert "40 respondents on 30 items, fewer than 100" in result.stderr
    assert ".py" not in result.stderr


def test_the_same_command_writes_the_same_bytes(answers):
    first = chosen(answers, "--method", "random")[1].read_bytes()
    assert chosen(answers, "--method", "random")[1].read_bytes() == first
    assert chosen(answers, "--method", "random", "--seed", "1")[1].read_bytes() != first


def test_graded_scores_need_a_threshold(answers):
    graded = pd.read_csv(answers / "old.csv", index_col=0) * 0.5
    graded.to_csv(answers / "old.csv")
    result, target = chosen(answers)
    assert "explicit threshold" in str(result.exception)
    assert not target.exists()
    assert chosen(answers, "--threshold", "0.5")[0].exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--k", "31"], "choose 1 to 30"),
        (["--method", "marginal_fischer"], "Did you mean marginal_fisher"),
    ],
)
def test_wrong_options_are_named_and_write_nothing(answers, arguments, said):
    result, target = chosen(answers, *arguments)
    assert said in str(result.exception)
    assert not target.exists()


def test_wrong_files_are_named(answers):
    assert "Did you mean harmbench" in str(
        call("subset", "harmbanch", "--k", "5", "--out", "x.csv").exception
    )
    said = str(call("score", str(answers / "none.csv"), str(answers / "new.csv")).exception)
    assert "benchtrust data subset" in said
    said = str(call("score", str(answers / "old.csv"), str(answers / "new.csv")).exception)
    assert "lacks item, weight" in said
    (answers / "empty.csv").write_text("")
    assert "cannot be read" in str(
        call("score", str(answers / "empty.csv"), str(answers / "new.csv")).exception
    )


def test_k_and_out_are_asked_for(answers):
    assert call("subset", str(answers / "old.csv"), "--k", "5").exit_code == 2
    assert call("subset", str(answers / "old.csv"), "--out", "x.csv").exit_code == 2


def test_help_names_the_methods_and_the_way_back():
    plain = re.sub(r"\x1b\[[0-9;]*m", "", call("subset", "--help").output)
    for word in [*METHODS, "--k", "--out", "--threshold", "benchtrust data score", "JSON lines"]:
        assert word in plain
    assert "an exported subset" in call("score", "--help").output


def test_a_published_name_is_read(answers, monkeypatch):
    from benchtrust.public import matrices

    load = matrices.load
    monkeypatch.setattr(matrices, "load", lambda *_: load(str(answers / "old.csv")))
    target = answers / "named.csv"
    assert call("subset", "harmbench", "--k", "3", "--out", str(target)).exit_code == 0
    table = pd.read_csv(target, dtype={"item": str})
    assert table["answers_sha256"].unique().tolist() == [
        irt.answers_hash(response_matrix(load(str(answers / "old.csv"))))
    ]


def test_k_and_method_are_checked_before_the_calibration(answers, monkeypatch):
    monkeypatch.setattr(irt, "calibrate", lambda *_: pytest.fail("calibrated"))
    assert "choose 1 to 30" in str(chosen(answers, "--k", "31")[0].exception)
    assert "Did you mean" in str(chosen(answers, "--method", "marginal_fischer")[0].exception)


def test_models_without_an_answer_are_named(answers):
    with (answers / "old.csv").open("a") as file:
        file.write("mute" + "," * 30 + "\n")
    result, _ = chosen(answers)
    assert result.exit_code == 0, result.output
    assert "1 models without any answer, left out: mute" in result.stderr
    assert "from 40 models" in result.output
