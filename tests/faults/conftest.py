"""A small project whose notebooks read recorded responses, one of them another's result."""

import json
from itertools import product
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from benchtrust import responses
from benchtrust.compendium import fingerprints
from benchtrust.compendium.batch import run_all

RECORDER = 'from benchtrust.compendium import Recorder\n\nrecord = Recorder("part/{id}", globals())'
SCORES = """import pandas as pd
from benchtrust import responses

record.number("level", 0.5)
frame = responses.read(record.input("data/recorded/grid"))
cells = frame.groupby(["model", "item_id"], as_index=False)["score"].mean()
record.table("answers", cells)
record.number("n-models", frame["model"].nunique(), "d")"""
READER = """import pandas as pd

frame = pd.read_csv(record.result("part/scores", "answers"))
record.number("mean-of-answers", float(frame["score"].mean()))
record.number("first-of-answers", float(frame["score"].iloc[0]))"""
ALONE = """import numpy as np

record.number("drawn", float(np.random.default_rng(seed).normal()))"""


def answer(model: str, item: str, score: float) -> dict:
    """One answer in free form."""
    return dict.fromkeys(responses.COLUMNS) | {
        "benchmark": "toxigen",
        "item_id": item,
        "model": model,
        "template": "minimal",
        "shots": 0,
        "shots_used": 0,
        "decoding": "greedy",
        "scoring": "free_form",
        "sample": 0,
        "outcome": "scored",
        "score": score,
        "choice": int(score),
        "completion": "(A)",
        "cell_id": f"cell-{model}",
    }


def write_notebook(root: Path, name: str, code: str, parameters: str = "level: float = 0.5") -> None:
    """Write a notebook with its parameters, its recorder and one cell."""
    cells = [
        nbformat.v4.new_code_cell(parameters, id="values", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(RECORDER.format(id=name), id="recorder"),
        nbformat.v4.new_code_cell(code, id="code"),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    node = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(node, root / f"notebooks/part/{name}.ipynb")


@pytest.fixture(scope="session")
def recorded_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with every notebook run in its smoke profile."""
    root = tmp_path_factory.mktemp("recorded") / "project"
    for folder in ("notebooks/part", "src", "profiles", "data/recorded/grid"):
        (root / folder).mkdir(parents=True)
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters:\n  - file: part/scores\n  - file: part/reader\n"
        "  - file: part/alone\n"
    )
    (root / "requirements.lock").write_text("numpy==2.4.6\n")
    for profile in ("paper", "smoke"):
        (root / f"profiles/{profile}.toml").write_text("")
    sums = {}
    for number, model in enumerate(("A", "B")):
        rows = [answer(model, f"i{i}", float((i + k + number) % 2)) for i, k in product(range(3), range(1))]
        path = root / f"data/recorded/grid/{model}/toxigen.parquet"
        responses.write(pd.DataFrame(rows), path)
        sums[f"{model}/toxigen.parquet"] = fingerprints.of_file(path)
    facts = {"files": sums, "models": {model: {"answers": 3} for model in ("A", "B")}}
    (root / "data/recorded/grid/manifest.json").write_text(json.dumps(facts))
    write_notebook(root, "scores", SCORES)
    write_notebook(root, "reader", READER)
    write_notebook(root, "alone", ALONE, "seed: int = 1")
    with pytest.MonkeyPatch.context() as patch:
        enter(root, patch)
        outcomes = run_all("smoke", jobs=1)
    assert [outcome.state for outcome in outcomes] == ["executed"] * 3, outcomes
    return root


def enter(root: Path, patch: pytest.MonkeyPatch) -> None:
    """Make `root` the project of this process and of its kernels."""
    patch.setenv("BENCHTRUST_ROOT", str(root))
    patch.setenv("BENCHTRUST_CACHE", str(root.parent / "cache"))


@pytest.fixture
def project(recorded_project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    enter(recorded_project, monkeypatch)
    return recorded_project
