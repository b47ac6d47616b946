"""``benchtrust models``, ``data`` and ``grid``: help, tables, and names that are nearly right."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchtrust import items
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
        (grid, ["--help"], ["plan", "run", "collect", "cost", "again to continue"]),
        (grid, ["plan", "--help"], ["--model", "--benchmark", "--items", "without loading a model"]),
        (grid, ["run", "--help"], ["--store", "--quantization", "--device", "Interrupt at will"]),
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
    (tmp_path / f"models/{SMALL}/fp32-{catalogue()[SMALL].gguf_sha256[:12]}").mkdir(parents=True)
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


def test_a_planned_recording_is_counted():
    result = call(
        grid, "plan", "--model", SMALL, "--model", "gemma-3-270m", "--benchmark", "bbq", "--items", "7"
    )
    assert result.exit_code == 0
    rows = [re.split(r"\s{2,}", line.strip()) for line in result.output.splitlines()]
    assert rows == [
        ["model", "benchmark", "blocks", "cells", "answers"],
        [SMALL, "bbq", "12", "48", str(48 * 7)],
        ["gemma-3-270m", "bbq", "12", "12", str(12 * 7)],
    ]


def test_the_whole_grid_is_612_cells():
    chosen = [SMALL, "Qwen2.5-Coder-0.5B-Instruct", "Qwen2.5-Coder-1.5B-Instruct"]
    options = [f"--model={name}" for name in chosen] + [f"--benchmark={name}" for name in items.BENCHMARKS]
    lines = call(grid, "plan", *options).output.splitlines()[1:]
    assert sum(int(line.split()[-2]) for line in lines) == 612


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
        (grid, ["collect", "out", "--store", "nowhere"], "nowhere does not exist"),
    ],
)
def test_mistakes_end_with_a_message_and_a_code(module, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHTRUST_ROOT", str(Path(__file__).parents[1]))
    result = call(module, *arguments)
    assert result.exit_code != 0
    assert said in str(result.exception)


@pytest.mark.parametrize(
    "arguments", [["plan"], ["plan", "--model", SMALL], [*PLAN, "--shots", "none"], [*PLAN, "--itmes", "3"]]
)
def test_wrong_usage_has_code_2(arguments):
    assert call(grid, *arguments).exit_code == 2


def test_costs_of_an_empty_store_are_an_empty_table(tmp_path):
    result = call(grid, "cost", "--store", str(tmp_path))
    assert result.exit_code == 0
