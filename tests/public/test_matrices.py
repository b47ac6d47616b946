"""Response matrices: the published ones, and files of the shapes in which somebody may supply others."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchtrust import responses
from benchtrust.errors import DataFileError, NoAnswersWarning, SchemaError, UnknownNameError
from benchtrust.irt import agreement_curve, simulate
from benchtrust.public import matrices


def made(n_models: int, n_items: int, seed: int = 1) -> pd.DataFrame:
    """Made-up answers, models × items."""
    rng = np.random.default_rng(seed)
    items = pd.DataFrame(
        {"a": np.exp(0.5 * rng.standard_normal(n_items)), "b": rng.standard_normal(n_items)},
        index=pd.Index([f"item-{j}" for j in range(n_items)], name="item"),
    )
    theta = pd.Series(rng.standard_normal(n_models), [f"maker/model-{i}" for i in range(n_models)])
    return simulate(theta, items, rng)


def write_lines(matrix: pd.DataFrame, path: Path) -> Path:
    lines = [
        json.dumps({"subject_id": model, "responses": {k: None if pd.isna(v) else v for k, v in row.items()}})
        for model, row in matrix.iterrows()
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def matrix_of(frame: pd.DataFrame) -> pd.DataFrame:
    return responses.response_matrix(frame)


@pytest.mark.parametrize("shape", ["jsonl", "csv", "parquet", "indexed.parquet", "table.parquet"])
def test_each_shape_gives_the_matrix_back(shape: str, tmp_path: Path) -> None:
    matrix = made(5, 7)
    matrix.iloc[2, 3] = np.nan
    path = tmp_path / f"own.{shape}"
    plain = matrix.reset_index(names="model").rename_axis(columns=None)
    if shape == "jsonl":
        write_lines(matrix, path)
    elif shape == "csv":
        plain.to_csv(path, index=False)
    elif shape == "parquet":
        plain.to_parquet(path, index=False)
    elif shape == "indexed.parquet":
        matrix.to_parquet(path)
    else:
        responses.write(matrices.load(str(write_lines(matrix, tmp_path / "own.jsonl"))), path)
    found = matrix_of(matrices.load(str(path)))
    wanted = matrix.sort_index().sort_index(axis=1)
    assert list(found.index) == list(wanted.index)
    assert list(found.columns) == list(wanted.columns)
    np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())


@pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning")
@pytest.mark.parametrize(
    ("name", "n_models", "n_items", "values"),
    [
        ("wmdp_bio", 12, 1273, (0.0, 1.0)),
        ("air_bench_2024", 12, 5694, (0.0, 0.5, 1.0)),
        ("safetybench", 10, 11435, (0.0, 1.0)),
    ],
)
def test_a_file_of_an_unpublished_matrix_goes_through_to_an_agreement_curve(
    name: str, n_models: int, n_items: int, values: tuple[float, ...], tmp_path: Path
) -> None:
    """The three that the paper analyses and nobody publishes, at their size; AIR-Bench is graded."""
    matrix = made(n_models, n_items)
    if len(values) > 2:
        rng = np.random.default_rng(3)
        matrix = matrix.mask(rng.random(matrix.shape) < 0.2, 0.5)
    frame = matrices.load(str(write_lines(matrix, tmp_path / f"{name}.jsonl")), threshold=1.0)
    assert frame["item_id"].nunique() == n_items == matrices.MATRICES[name].n_items
    assert set(frame["benchmark"]) == {name}
    answers = matrix_of(frame)
    np.testing.assert_array_equal(answers.sum().sum(), (matrix == 1).sum().sum())
    curve = agreement_curve(answers, ["disco", "random"], [5, 50], 1, 4, np.random.default_rng(1))
    assert curve.n_items == n_items
    assert curve.table["agreement"].notna().all()


def test_an_unpublished_matrix_by_its_name_says_what_to_give() -> None:
    with pytest.raises(DataFileError, match=r"AIR-Bench 2024 \(5694 items\) are not published.*path"):
        matrices.load("air_bench_2024")


def test_graded_scores_stay_without_a_threshold(tmp_path: Path) -> None:
    graded = made(4, 5).replace({0.0: 0.25})
    path = str(write_lines(graded, tmp_path / "graded.jsonl"))
    assert set(matrices.load(path)["score"]) == {0.25, 1.0}
    assert set(matrices.load(path, threshold=0.2)["score"]) == {1.0}
    with pytest.raises(SchemaError, match="threshold"):
        agreement_curve(matrix_of(matrices.load(path)), ["random"], [2], 1, 3, np.random.default_rng(1))


def test_names_are_found_by_any_spelling_and_unknown_ones_told() -> None:
    assert matrices.title("HarmBench") == "HarmBench"
    assert matrices.files(["Harm-Bench", "own.csv", "wmdp_bio"]) == [matrices.MATRICES["harmbench"].file]
    assert matrices.title("folder/my matrix.csv") == "my matrix"
    with pytest.raises(UnknownNameError, match="harmbench"):
        matrices.title("harmbnch")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"subject_id": "m"}', "line 1 is not an object of 'subject_id' and 'responses'"),
        ("[1, 2]", "line 1 is not an object"),
        ('{"subject_id": "m", "responses": {"i": 1}}\n{"subject', "line 2 is not JSON"),
        ('{"subject_id": "m", "responses": {"i": 1, "i": 0}}', "line 1: 'i' stands there twice"),
        (
            '{"subject_id": "m", "responses": {"i": 1}}\n\n{"subject_id": "m", "responses": {}}',
            "line 3: model 'm'",
        ),
        ('{"subject_id": "m", "responses": {"i": "yes"}}', "must be numbers from 0 to 1"),
        ('{"subject_id": "m", "responses": {"i": 2}}', "must lie between 0 and 1"),
        ("", "holds 0 models"),
    ],
)
def test_a_broken_file_is_told_by_line_and_fault(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=message):
        matrices.load(str(path))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.csv", "model,i,i\na,1,0\n", "item 'i' stands there twice"),
        ("m.csv", "model,i,j\na,1,0\na,0,0\n", "model 'a' stands there twice"),
        ("m.csv", "model\na\n", "1 models and 0 items"),
        ("m.csv", "item,a,b\ni,1,0\nj,0,1\n", "rows named by 'item' are items"),
        ("m.csv", "question_id,a,b\ni,1,0\nj,0,1\n", "are items. Transpose"),
        ("m.csv", "i,j,k\n1,1,0\n0,1,1\n1,0,0\n", "the first column must name the models"),
        ("m.csv", "", "cannot be read"),
        ("m.xlsx", "x", "ends in '.xlsx'"),
    ],
)
def test_a_broken_table_is_told(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=message):
        matrices.load(str(tmp_path / name))


def test_a_damaged_parquet_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.parquet").write_text("not parquet", encoding="utf-8")
    with pytest.raises(DataFileError, match=r"m\.parquet is not readable"):
        matrices.load(str(tmp_path / "m.parquet"))


def test_a_missing_file_is_told() -> None:
    with pytest.raises(DataFileError, match=r"No file .*nowhere\.csv"):
        matrices.load("nowhere.csv")


def test_families_are_told_apart() -> None:
    families = matrices.families()
    assert families.index.is_unique
    assert families.notna().all()
    assert families["openai/gpt-4o-2024-05-13"] != families["openai/o3-2025-04-16"]


@pytest.mark.external
@pytest.mark.parametrize(
    ("name", "n_models", "n_items", "missing"),
    [
        ("harmbench", 77, 400, 0.0),
        ("anthropic_red_team", 77, 1000, 0.0),
        ("simple_safety_tests", 77, 100, 0.0),
        ("strong_reject", 43, 330, 0.526),
    ],
)
def test_published_matrices_have_their_published_shape(
    name: str, n_models: int, n_items: int, missing: float
) -> None:
    matrix = matrix_of(matrices.load(name))
    assert matrix.shape == (n_models, n_items)
    assert n_items == matrices.MATRICES[name].n_items
    assert float(matrix.isna().to_numpy().mean()) == pytest.approx(missing, abs=5e-4)
    assert set(np.unique(matrix.to_numpy()[~matrix.isna().to_numpy()])) == {0.0, 1.0}
    assert matrix.index.isin(matrices.families().index).all()


def test_models_and_items_without_any_answer_are_named(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("model,i,j,silent\na,1,0,\nmute,,,\nb,0,1,\n", encoding="utf-8")
    with pytest.warns(NoAnswersWarning) as caught:
        frame = matrices.load(str(path))
    said = [str(warning.message) for warning in caught]
    assert said == [
        "gaps: 1 models without any answer, left out: mute.",
        "gaps: 1 items without any answer, left out: silent.",
    ]
    assert {*frame["model"]} == {"a", "b"}


def test_a_path_is_looked_for_where_one_works_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``--out`` and ``data score`` do; then in the repository, where notebooks look."""
    root, here = tmp_path / "root", tmp_path / "here"
    for folder, model in ((root, "of the root"), (here, "of the folder")):
        folder.mkdir()
        (folder / "own.csv").write_text(f"model,i,j\n{model},1,0\n", encoding="utf-8")
    monkeypatch.setenv("BENCHTRUST_ROOT", str(root))
    monkeypatch.chdir(here)
    assert matrices.load("own.csv")["model"].unique().tolist() == ["of the folder"]
    (here / "own.csv").unlink()
    assert matrices.load("own.csv")["model"].unique().tolist() == ["of the root"]


def test_the_ending_may_be_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "OWN.CSV").write_text("model,i,j\na,1,0\n", encoding="utf-8")
    assert len(matrices.load(str(tmp_path / "OWN.CSV"))) == 2
