"""The committed record: whole, of today's harness, from the pinned weights, without item texts."""

import hashlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from benchtrust import distributions, harness, items, responses, stability
from benchtrust.errors import DataFileError
from benchtrust.grid.record import MARK, leaks, rescore
from benchtrust.inference import catalogue

ROOT = Path(__file__).parents[1] / "data" / "recorded"
GRID = ROOT / "grid"
INSTRUCT = ["SmolLM2-135M-Instruct", "Qwen2.5-Coder-0.5B-Instruct", "Qwen2.5-Coder-1.5B-Instruct"]
BASE = "gemma-3-270m"
FOLDERS = ["grid", "practice", "precision", "random", "self_test", "uniformity"]
FEWEST = 30
"""Items that every cell was asked at least."""


@pytest.fixture(scope="module")
def grid() -> pd.DataFrame:
    return responses.read(GRID)


def configurations(grid: pd.DataFrame, model: str, benchmark: str) -> set[harness.Configuration]:
    """Configurations with the fewest items that are promised, or more."""
    own = grid[(grid["model"] == model) & (grid["benchmark"] == benchmark)]
    counts = own.groupby(responses.CONFIGURATION)["item_id"].nunique()
    return {harness.Configuration(*key) for key, n in counts.items() if n >= FEWEST}


def test_all_612_cells_are_there_and_the_base_models_60(grid: pd.DataFrame) -> None:
    found = {(m, b): configurations(grid, m, b) for m in [*INSTRUCT, BASE] for b in items.BENCHMARKS}
    for (model, benchmark), cells in found.items():
        full = harness.envelope(benchmark)
        wanted = full if model != BASE else [c for c in full if c.scoring == "logprob"]
        assert cells == set(wanted), (model, benchmark)
    assert sum(len(cells) for (model, _), cells in found.items() if model != BASE) == 612


def configurations_of(frame: pd.DataFrame) -> set[tuple[str, harness.Configuration]]:
    keys = frame[["benchmark", *responses.CONFIGURATION]].drop_duplicates()
    return {(benchmark, harness.Configuration(*key)) for benchmark, *key in keys.itertuples(index=False)}


def test_random_weights_were_asked_by_log_probability_and_in_the_conservative_envelope() -> None:
    wanted = {
        (benchmark, c)
        for benchmark in items.BENCHMARKS
        for c in harness.envelope(benchmark)
        if c.scoring == "logprob" or c in harness.envelope(benchmark, "conservative")
    }
    assert configurations_of(responses.read(ROOT / "random")) == wanted


def test_the_precision_axis_is_the_core_envelope_of_two_benchmarks() -> None:
    frame = responses.read(ROOT / "precision")
    wanted = {(b, c) for b in ("xstest", "toxigen") for c in harness.envelope(b, "core")}
    for model in INSTRUCT:
        assert configurations_of(frame[frame["model"] == f"{model} (none)"]) == wanted


def test_models_share_at_least_the_promised_items(grid: pd.DataFrame) -> None:
    shared = stability.common_items(grid, INSTRUCT).groupby("benchmark")["item_id"].nunique()
    assert (shared >= FEWEST).all()
    assert set(shared.index) == set(items.BENCHMARKS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_answer_distributions_belong_to_the_cells_of_the_named_configuration(folder: str) -> None:
    table, frame = distributions.read(ROOT / "distributions" / folder), responses.read(ROOT / folder)
    named = frame[
        [tuple(key) == distributions.CONFIGURATION for key in frame[responses.CONFIGURATION].values]
    ]
    key = ["model", "benchmark", "cell_id", "item_id"]
    assert set(map(tuple, table[key].to_numpy())) == set(map(tuple, named[key].to_numpy()))
    facts = json.loads((ROOT / folder / "manifest.json").read_text())["distributions"]
    for name, sha in facts["files"].items():
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == sha
    assert facts["left_out"]["mean"] == pytest.approx(table["rest"].mean(), abs=1e-4)


def test_the_record_is_small_enough_for_a_repository() -> None:
    assert sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file()) < 30e6


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_manifest_says_what_the_files_hold(folder: str) -> None:
    table = responses.read(ROOT / folder)
    manifest = json.loads((ROOT / folder / "manifest.json").read_text())
    assert set(manifest["models"]) == set(table["model"])
    for name, facts in manifest["models"].items():
        own = table[table["model"] == name]
        assert facts["weights"] == catalogue()[name.split(" (")[0]].source
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


@pytest.mark.external
@pytest.mark.parametrize("benchmark", list(items.BENCHMARKS))
def test_items_are_the_pinned_ones_and_their_texts_are_not_in_the_record(
    grid: pd.DataFrame, benchmark: str
) -> None:
    own, loaded = grid[grid["benchmark"] == benchmark], items.load(benchmark)
    hashes = {item.item_id: item.sha256 for item in loaded}
    assert all(hashes[i] == h for i, h in zip(own["item_id"], own["item_hash"], strict=True))
    exemplars = {item.item_id for item in items.exemplars(loaded)}
    assert not exemplars & set(own["item_id"])
    assert leaks(own["completion"], loaded) == []


@pytest.mark.parametrize("folder", ["practice", "self_test"])
def test_practice_answers_are_decided_by_the_present_rules(folder: str) -> None:
    table = responses.read(ROOT / folder)
    for benchmark, own in table.groupby("benchmark"):
        pd.testing.assert_frame_equal(rescore(own, items.load(benchmark, "practice")), own)


@pytest.mark.external
@pytest.mark.parametrize("benchmark", list(items.BENCHMARKS))
def test_answers_are_decided_by_the_present_rules(grid: pd.DataFrame, benchmark: str) -> None:
    """Rules that decide otherwise need another number in `SCORING_RULES`, and the record new decisions."""
    own = grid[grid["benchmark"] == benchmark]
    whole = own["completion"].notna() & ~own["completion"].str.contains(MARK, na=False)
    assert whole.sum() > 300 or not (own["scoring"] == "free_form").any()
    pd.testing.assert_frame_equal(rescore(own, items.load(benchmark)), own)


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
