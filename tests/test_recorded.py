"""The committed record: whole, of today's harness, from the pinned weights, without item texts."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from benchtrust import harness, items, responses
from benchtrust.errors import DataFileError
from benchtrust.grid.record import leaks
from benchtrust.inference import catalogue

ROOT = Path(__file__).parents[1] / "data" / "recorded"
GRID = ROOT / "grid"
SMALL = ["SmolLM2-135M-Instruct", "Qwen2.5-Coder-0.5B-Instruct"]
ALL = [*SMALL, "Qwen2.5-Coder-1.5B-Instruct", "gemma-3-270m"]
FILES = [
    "items/truthfulqa/mc_task.json",
    "items/truthfulqa/TruthfulQA.csv",
    "items/xstest/xstest_prompts.csv",
]


@pytest.fixture(scope="module")
def grid() -> pd.DataFrame:
    return responses.read(GRID)


def configurations(grid: pd.DataFrame, model: str, benchmark: str) -> set[harness.Configuration]:
    """Configurations with thirty items or more."""
    own = grid[(grid["model"] == model) & (grid["benchmark"] == benchmark)]
    counts = own.groupby(responses.CONFIGURATION)["item_id"].nunique()
    return {harness.Configuration(*key) for key, n in counts.items() if n >= 30}


@pytest.mark.parametrize("benchmark", ["truthfulqa", "xstest"])
def test_the_promised_cells_are_there(grid: pd.DataFrame, benchmark: str) -> None:
    full = harness.envelope(benchmark)
    zero_shot = {c for c in full if c.scoring == "logprob" and c.shots == 0}
    for model in ALL:
        assert zero_shot <= configurations(grid, model, benchmark), model
    for model in SMALL:
        assert {c for c in full if c.decoding in ("none", "greedy")} <= configurations(grid, model, benchmark)


@pytest.mark.parametrize("folder", ["grid", "practice"])
def test_the_manifest_says_what_the_files_hold(folder: str) -> None:
    table = responses.read(ROOT / folder)
    manifest = json.loads((ROOT / folder / "manifest.json").read_text())
    assert set(manifest["models"]) == set(table["model"])
    for name, facts in manifest["models"].items():
        own = table[table["model"] == name]
        assert facts["weights_sha256"] == catalogue()[name].gguf_sha256
        assert facts["answers"] == len(own)
        assert facts["cells"] == own["cell_id"].nunique()
        assert facts["items"] == own.groupby("benchmark")["item_id"].nunique().to_dict()
        assert facts["cpu_s"] > 0
    assert {"torch", "transformers", "bitsandbytes"} <= set(manifest["versions"])
    assert len(manifest["commit"]) == 40


def test_zero_shot_cells_are_those_of_the_present_harness(grid: pd.DataFrame) -> None:
    cells = grid[grid["shots"] == 0].drop_duplicates("cell_id")
    for row in cells.itertuples():
        configuration = harness.Configuration(row.template, 0, row.decoding, row.scoring)
        weights = catalogue()[row.model].source
        definition = harness.definition(row.benchmark, row.model, weights, "nf4", configuration, [])
        assert harness.cell_id(definition) == row.cell_id, (row.model, row.benchmark, row.template)


@pytest.mark.external(*FILES)
@pytest.mark.parametrize("benchmark", ["truthfulqa", "xstest"])
def test_items_are_the_pinned_ones_and_their_texts_are_not_in_the_record(
    grid: pd.DataFrame, benchmark: str
) -> None:
    own, loaded = grid[grid["benchmark"] == benchmark], items.load(benchmark)
    hashes = {item.item_id: item.sha256 for item in loaded}
    assert all(hashes[i] == h for i, h in zip(own["item_id"], own["item_hash"], strict=True))
    exemplars = {item.item_id for item in items.exemplars(loaded)}
    assert not exemplars & set(own["item_id"])
    assert leaks(own["completion"], loaded) == []


@pytest.mark.parametrize("damage", ["altered", "missing"])
def test_a_record_that_is_not_the_committed_one_is_refused(tmp_path: Path, damage: str) -> None:
    copy = tmp_path / "practice"
    shutil.copytree(ROOT / "practice", copy)
    assert len(responses.read(copy))
    file = next(copy.rglob("xstest.parquet"))
    if damage == "missing":
        file.unlink()
    else:
        frame = responses.read(file)
        responses.write(frame.assign(score=frame["score"].where(frame["score"].isna(), 1.0)), file)
    with pytest.raises(DataFileError, match=r"xstest\.parquet is not the recorded file: sha256 .* expected"):
        responses.read(copy)
