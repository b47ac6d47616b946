"""A release as others meet it: by sha256sum, frictionless, rocrate and the schema of citations."""

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
import yaml
from rocrate.rocrate import ROCrate

from benchtrust.compendium import ledger
from benchtrust.compendium.book import BookError
from benchtrust.compendium.release import ReleaseError, data_package, release
from benchtrust.errors import DataFileError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def released(executed_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the small project."""
    out = tmp_path_factory.mktemp("out") / "release"
    for name in ("CITATION.cff", "LICENSE"):
        shutil.copy(ROOT / name, executed_once / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHTRUST_ROOT", str(executed_once))
        return release(out)


def sums(folder: Path) -> subprocess.CompletedProcess[str]:
    """What sha256sum alone says of a release."""
    command = ["sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_sha256sum_alone_checks_every_file(released: Path, tmp_path: Path) -> None:
    assert sums(released).returncode == 0
    listed = {line.split("  ", 1)[1] for line in (released / "SHA256SUMS").read_text().splitlines()}
    found = {path.relative_to(released).as_posix() for path in released.rglob("*") if path.is_file()}
    assert listed == found - {"SHA256SUMS"}
    copy = shutil.copytree(released, tmp_path / "copy")
    with (copy / "results/part/source/scores.csv").open("a") as stream:
        stream.write("c,1\n")
    done = sums(copy)
    assert done.returncode == 1
    assert "results/part/source/scores.csv: FAILED" in done.stdout


def test_frictionless_finds_the_tables_as_the_package_says(released: Path, tmp_path: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    package = frictionless.Package(str(released / "datapackage.json"))
    report = package.validate()
    assert report.valid, report.to_summary()
    paths = {resource.path: resource for resource in package.resources}
    assert {"audit.csv", "results/part/source/scores.csv", "data/scores.csv"} <= set(paths)
    scores = paths["results/part/source/scores.csv"]
    assert scores.rows == 2
    assert [(field.name, field.type) for field in scores.schema.fields] == [
        ("model", "string"),
        ("score", "number"),
    ]
    copy = shutil.copytree(released, tmp_path / "copy")
    (copy / "results/part/source/scores.csv").write_text("model,score\na,high\n")
    errors = {
        e.type for task in frictionless.validate(str(copy / "datapackage.json")).tasks for e in task.errors
    }
    assert {"type-error", "row-count", "hash-count"} <= errors


def test_frictionless_takes_answers_with_gaps_and_lists(tmp_path: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    answers = pd.DataFrame(
        {"item": ["i1", "i2"], "tokens": pd.array([3, None], "Int64"), "logprobs": [[-1.0, -2.5], None]}
    )
    answers.to_parquet(tmp_path / "answers.parquet")
    citation = {"title": "Answers", "version": "1", "license": "Apache-2.0"}
    data_package.write(tmp_path, {}, citation, "2026-01-31")
    package = frictionless.Package(str(tmp_path / "datapackage.json"))
    report = package.validate()
    assert report.valid, report.to_summary()
    (resource,) = package.resources
    assert resource.rows == 2
    assert [field.type for field in resource.schema.fields] == ["string", "number", "any"]


def test_the_crate_says_which_notebook_made_what_from_what(released: Path) -> None:
    crate = ROCrate(released)
    assert str(crate.datePublished)[:4].isdigit()
    run = crate.get("#run-part/source")
    assert run.type == "CreateAction"
    assert run["instrument"].id == "notebooks/part/source.ipynb"
    assert [entry.id for entry in run["object"]] == ["data/scores.csv", "#part/source-seed"]
    assert [entry.id for entry in run["result"]] == [
        f"results/part/source/{f}" for f in ("ledger.json", "scores.csv")
    ]
    reader = crate.get("#run-part/reader")
    assert reader["object"][0].id == "results/part/source/scores.csv"
    listed = {entity.id for entity in crate.data_entities}
    found = {path.relative_to(released).as_posix() for path in released.rglob("*") if path.is_file()}
    assert listed == found - {"ro-crate-metadata.json", "SHA256SUMS"}


def test_the_crate_gives_the_hashes_of_the_ledger(released: Path) -> None:
    graph = json.loads((released / "ro-crate-metadata.json").read_text())["@graph"]
    known = {entity["@id"]: entity for entity in graph}
    home = ledger.read(released / "results/part/source")
    sha = home.artefacts["scores"].files["scores.csv"]
    assert known["results/part/source/scores.csv"]["sha256"] == sha
    assert known["data/scores.csv"]["sha256"] == home.inputs["data/scores.csv"]


def test_every_artefact_is_in_the_audit_of_the_release(released: Path) -> None:
    table = pd.read_csv(released / "audit.csv", keep_default_na=False)
    assert list(table["artefact"]) == ["scores", "scores-mean", "best", "level-shown"]
    assert set(table["state"]) == {"executed here"}


@pytest.mark.parametrize("place", ["repository", "release"])
def test_the_citation_keeps_to_its_schema(released: Path, place: str) -> None:
    text = ((ROOT if place == "repository" else released) / "CITATION.cff").read_text()
    vendor = files(pytest.importorskip("check_jsonschema")) / "builtin_schemas/vendor"
    schema = json.loads((vendor / "citation-file-format.json").read_text())
    citation = json.loads(json.dumps(yaml.safe_load(text), default=str))
    jsonschema.validate(citation, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(citation | {"licence": "Apache-2.0"}, schema)


def test_the_version_is_that_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]}"' in text


def test_the_same_results_give_the_same_release(
    released: Path, tmp_path: Path, executed_project: Path
) -> None:
    again = release(tmp_path / "again")
    assert (again / "SHA256SUMS").read_text() == (released / "SHA256SUMS").read_text()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path, executed_project: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ReleaseError, match="something else than a release"):
        release(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_stale_or_altered_results_are_not_released(tmp_path: Path, executed_project: Path) -> None:
    data = executed_project / "data/scores.csv"
    home = executed_project / "build/paper/results/part/source/ledger.json"
    sha = ledger.read(home.parent).artefacts["scores"].files["scores.csv"]
    for path, old, new, error in (
        (data, "b,0.5", "b,0.75", BookError),
        (home, sha, "0" * 64, ReleaseError),
    ):
        before = path.read_text()
        path.write_text(before.replace(old, new))
        try:
            with pytest.raises(error):
                release(tmp_path / "out")
        finally:
            path.write_text(before)
    assert not (tmp_path / "out").exists()


def test_answers_are_as_many_as_their_manifest_says(tmp_path: Path) -> None:
    folder = tmp_path / "data/recorded/practice"
    shutil.copytree(ROOT / "data/recorded/practice", folder)
    citation = {"title": "t", "version": "1", "license": "Apache-2.0"}
    data_package.write(tmp_path, {}, citation, "2026-01-01")
    package = json.loads((tmp_path / "datapackage.json").read_text())
    manifest = json.loads((folder / "manifest.json").read_text())
    said = sum(model["answers"] for model in manifest["models"].values())
    assert sum(resource["rows"] for resource in package["resources"]) == said
    manifest["models"]["SmolLM2-135M-Instruct"]["answers"] += 1
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataFileError, match="holds 128 answers, not 129"):
        data_package.write(tmp_path, {}, citation, "2026-01-01")
