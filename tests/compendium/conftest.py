"""A small whole project in a temporary folder, with notebooks that run in a second."""

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from benchtrust.compendium import run_all

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
TOC = """format: jb-book
root: index
chapters:
  - file: part/source
  - file: part/reader
  - file: part/other
"""
RECORDER = 'from benchtrust.compendium import Recorder\n\nrecord = Recorder("{id}", globals())'
SOURCE = """import pandas as pd
from scale import SCALE

frame = pd.read_csv(record.input("data/scores.csv"))
frame["score"] = frame["score"] * SCALE
record.table("scores", frame)
record.number("scores-mean", float(frame["score"].mean()), ".2f")"""
READER = """import pandas as pd

frame = pd.read_csv(record.result("part/source", "scores"))
record.number("best", frame.sort_values("score")["model"].iloc[-1])"""
OTHER = 'record.number("level-shown", level, ".1f")'


def make_notebook(
    path: Path, cells: list[str], parameters: str = "seed: int = 1  # of all draws", kernel: str = "python3"
) -> Path:
    """Write a notebook with a title, a parameters cell, and code (or, after '# ', markdown) cells."""
    built = [nbformat.v4.new_markdown_cell(f"# {path.stem.title()}")]
    if parameters:
        built.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    for cell in cells:
        new = nbformat.v4.new_markdown_cell if cell.startswith(("#", "```")) else nbformat.v4.new_code_cell
        built.append(new(cell))
    for number, cell in enumerate(built):
        cell.id = f"cell-{number}"
    path.parent.mkdir(parents=True, exist_ok=True)
    node = nbformat.v4.new_notebook(cells=built, metadata={"kernelspec": {**KERNEL, "name": kernel}})
    nbformat.write(node, path)
    return path


def make_project(root: Path) -> Path:
    """Write three notebooks: one reads data and a module, one reads its result, one stands alone."""
    for folder in ("notebooks/part", "data", "src", "profiles", "book"):
        (root / folder).mkdir(parents=True)
    (root / "_toc.yml").write_text(TOC)
    (root / "requirements.lock").write_text("numpy==2.4.6\n")
    (root / "data/scores.csv").write_text("model,score\na,0.25\nb,0.5\n")
    (root / "src/scale.py").write_text("SCALE = 1.0\n")
    (root / "src/unused.py").write_text("")
    (root / "profiles/paper.toml").write_text("")
    (root / "profiles/smoke.toml").write_text('["part/other"]\nlevel = 0.1\n')
    recorder = [RECORDER.format(id=f"part/{name}") for name in ("source", "reader", "other")]
    folder = root / "notebooks/part"
    make_notebook(folder / "source.ipynb", [recorder[0], SOURCE])
    make_notebook(folder / "reader.ipynb", [recorder[1], READER])
    make_notebook(folder / "other.ipynb", [recorder[2], OTHER], "level: float = 0.5  # height")
    return root


@pytest.fixture(scope="session")
def notebook_maker() -> Callable[..., Path]:
    return make_notebook


def enter(root: Path, patch: pytest.MonkeyPatch) -> None:
    """Make `root` the project of this process and of its kernels."""
    patch.setenv("BENCHTRUST_ROOT", str(root))
    patch.setenv("BENCHTRUST_CACHE", str(root.parent / "cache"))
    patch.setenv("PYTHONPATH", str(root / "src"))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small project as it is written, to be copied."""
    return make_project(tmp_path_factory.mktemp("template") / "project")


@pytest.fixture
def small_project(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = shutil.copytree(template, tmp_path / "project")
    enter(root, monkeypatch)
    return root


@pytest.fixture(scope="session")
def executed_once(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small project with all notebooks run once."""
    root = shutil.copytree(template, tmp_path_factory.mktemp("executed") / "project")
    with pytest.MonkeyPatch.context() as patch:
        enter(root, patch)
        outcomes = run_all("paper")
    assert [outcome.state for outcome in outcomes] == ["executed"] * 3, outcomes
    return root


@pytest.fixture
def executed_project(executed_once: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`executed_once` as the project of this process; a test puts back what it changes."""
    enter(executed_once, monkeypatch)
    return executed_once
