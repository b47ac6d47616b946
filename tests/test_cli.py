"""``benchtrust models``, ``data`` and ``grid``: help, tables, and names that are nearly right."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchtrust import items, project, responses
from benchtrust.commands import data, grid, models
from benchtrust.inference import catalogue
from benchtrust.items.sources import sources

SMALL = "SmolLM2-135M-Instruct"


def call(module, *arguments: str, width: int = 200):
    return CliRunner(env={"COLUMNS": str(width), "NO_COLOR": "1"}).invoke(module.app, list(arguments))


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    for module in (data, grid, models):
        monkeypatch.setattr(module, "out", module.Console(width=200))


@pytest.mark.parametrize(
    ("module", "arguments", "said"),
    [
        (models, ["--help"], ["list", "get", "weights into the cache"]),
        (models, ["get", "--help"], ["names", "sha256", "again to go on"]),
        (data, ["--help"], ["list", "get", "pinned benchmark files"]),
        (data, ["get", "--help"], ["files", "BENCHTRUST_DATA"]),
        (grid, ["--help"], ["plan", "run", "status", "cost", "collect", "restore", "again to continue"]),
        (grid, ["plan", "--help"], ["--model", "--benchmark", "--items", "without loading a model"]),
        (
            grid,
            ["run", "--help"],
            ["--store", "--quantization", "--workers", "--scheduler", "Interrupt at will"],
        ),
        (grid, ["status", "--help"], ["could not be read"]),
        (grid, ["collect", "--help"], ["target", "manifest"]),
    ],
)
def test_help(module, arguments, said):
    result = call(module, *arguments)
    assert result.exit_code == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", result.output)
    for text in said:
        assert text in plain


@pytest.mark.parametrize("module", [models, data, grid])
def test_no_command_shows_the_help(module):
    result = call(module)
    assert "Usage" in result.output


def test_models_are_listed_with_size_source_and_licence():
    result = call(models, "list")
    assert result.exit_code == 0
    for name, model in catalogue().items():
        assert name in result.output
        assert model.licence in result.output
    assert "plain text (base)" in result.output
    assert "benchtrust models get NAME" in result.output


def test_a_model_in_the_cache_is_marked(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path))
    assert "in the cache" not in call(models, "list").output
    (tmp_path / f"models/{SMALL}/shards-fp32-{catalogue()[SMALL].gguf_sha256[:12]}").mkdir(parents=True)
    assert call(models, "list").output.count("in the cache") == 1


def test_files_are_listed_with_licence_and_whether_they_are_here(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path))
    monkeypatch.setenv("BENCHTRUST_DATA", str(tmp_path / "mine"))
    path = tmp_path / "mine/items/xstest/xstest_prompts.csv"
    path.parent.mkdir(parents=True)
    path.write_text("")
    lines = call(data, "list").output.splitlines()
    assert len(lines) == len(sources()) + 1
    assert [line.split()[0] for line in lines if " yes " in line] == ["items/xstest/xstest_prompts.csv"]
    assert sum("provide by hand" in line for line in lines) == sum(not s.url for s in sources().values())


def plan_rows(*arguments: str) -> list[list[str]]:
    result = call(grid, "plan", "--source", "practice", "--store", "nowhere", *arguments)
    assert result.exit_code == 0, result.output
    return [re.split(r"\s{2,}", line.strip()) for line in result.output.splitlines()]


def test_a_planned_recording_is_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path))
    head, *rows, total = plan_rows(
        "--model", SMALL, "--model", "gemma-3-270m", "--benchmark", "bbq", "--items", "7"
    )
    assert head[:6] == ["model", "benchmark", "cells", "prompts", "prompt tokens", "answer tokens"]
    answers = 7 * 3 * 3 * (3 * 24 + 128)
    assert [row[:4] for row in rows] == [[SMALL, "bbq", "48", "84"], ["gemma-3-270m", "bbq", "12", "84"]]
    assert [row[5] for row in rows] == [f"{answers:,}", "0"]
    assert rows[0][4] == rows[1][4]
    assert all(1_000 < int(row[4].replace(",", "")) < 100_000 and row[6] == "0%" for row in rows)
    assert total[0].startswith("60 cells, 7 items each: about ")


def test_without_options_the_plan_is_the_whole_grid_of_612_cells():
    _, *rows, total = plan_rows("--items", "4")
    assert len(rows) == 15
    assert sum(int(row[2]) for row in rows) == 612
    assert total[0].startswith("612 cells, 4 items each")


def test_what_is_recorded_leaves_the_plan_and_shows_in_the_status(tmp_path):
    store = tmp_path / "store"
    assert "128 answers put into" in call(grid, "restore", PRACTICE, "--store", str(store)).output
    axes = ["--model", SMALL, "--benchmark", "bbq", "--template", "minimal", "--shots", "0", "--items", "8"]
    row = call(grid, "plan", "--source", "practice", "--store", str(store), *axes).output.splitlines()[1]
    assert re.split(r"\s{2,}", row.strip())[6] == "50%"
    rows = [re.split(r"\s{2,}", line.strip()) for line in status(store).splitlines()[1:]]
    assert [row[:2] for row in rows] == [[SMALL, name] for name in sorted(items.BENCHMARKS)]
    assert [row[2:5] for row in rows if row[1] == "bbq"] == [["4", "8", "32"]]
    assert all(re.fullmatch(r"\d+\.\d%", share) for row in rows for share in row[5:7])


def status(store: Path) -> str:
    return call(grid, "status", "--store", str(store)).output


def test_constants_are_written_without_a_model(tmp_path):
    said = call(grid, "baselines", str(tmp_path), "--source", "practice", "--items", "10").output
    assert "Constants on 10 items" in said
    assert {path.stem for path in tmp_path.iterdir()} == set(items.BENCHMARKS)
    assert "coin" in set(responses.read(tmp_path)["model"])


PRACTICE = str(project.root() / "data/recorded/practice")
PLAN = ["plan", "--model", SMALL, "--benchmark", "bbq"]


@pytest.mark.parametrize(
    ("module", "arguments", "said"),
    [
        (models, ["get", "SmolLM2-135M"], f"Did you mean {SMALL}"),
        (models, ["get", "Yi-1.5-9B-Chat"], "comes from the hub"),
        (data, ["get", "items/xstest/xstest_promts.csv"], "Did you mean items/xstest/xstest_prompts.csv"),
        (grid, ["plan", "--model", "SmolLM2", "--benchmark", "bbq"], f"Did you mean {SMALL}"),
        (grid, ["plan", "--model", SMALL, "--benchmark", "bqq"], "Did you mean bbq"),
        (grid, [*PLAN, "--tier", "ful"], "Did you mean full"),
        (grid, [*PLAN, "--template", "minmal"], "Did you mean minimal"),
        (grid, [*PLAN, "--shots", "4"], "Valid: 0, 3, 5"),
        (grid, [*PLAN, "--decoding", "gredy"], "Did you mean greedy"),
        (grid, [*PLAN, "--scoring", "logprobs"], "Did you mean logprob"),
        (grid, [*PLAN, "--source", "practise"], "Did you mean practice"),
        (grid, [*PLAN, "--decoding", "greedy", "--scoring", "logprob"], "No cell has these levels"),
        (grid, ["run", *PLAN[1:], "--quantization", "nf5", "--source", "practice"], "Did you mean nf4"),
        (grid, ["run", *PLAN[1:], "--items", "-1", "--source", "practice"], "give a number from 0 on"),
        (grid, ["run", *PLAN[1:], "--items", "99", "--source", "practice"], "99 items asked for"),
        (grid, ["run", *PLAN[1:], "--workers", "2", "--scheduler", "tcp://x:1"], "give one"),
        (grid, ["collect", "out", "--store", "nowhere"], "nowhere holds no answers"),
        (grid, ["status", "--store", "nowhere"], "nowhere holds no answers"),
    ],
)
def test_mistakes_end_with_a_message_and_a_code(module, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHTRUST_ROOT", str(Path(__file__).parents[1]))
    result = call(module, *arguments)
    assert result.exit_code != 0
    assert said in str(result.exception)


def test_the_store_lies_in_the_repository_that_is_meant(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHTRUST_ROOT", str(tmp_path / "gone"))
    assert "gone, which is no folder" in str(call(grid, "status").exception)
    monkeypatch.setenv("BENCHTRUST_ROOT", str(tmp_path))
    said = str(call(grid, "status").exception)
    assert said.startswith(f"{tmp_path}/build/grid/store holds no answers")
    assert "benchtrust grid restore" in said


@pytest.mark.parametrize(
    "arguments", [["plan", "--items"], [*PLAN, "--shots", "none"], [*PLAN, "--itmes", "3"]]
)
def test_wrong_usage_has_code_2(arguments):
    assert call(grid, *arguments).exit_code == 2


def test_costs_of_an_empty_store_are_an_empty_table(tmp_path):
    result = call(grid, "cost", "--store", str(tmp_path))
    assert result.exit_code == 0
