"""Who may import whom, read from the sources."""

import ast
import os
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "benchtrust"
SOURCES = sorted(PACKAGE.rglob("*.py"))
METRICS = ("stability", "irt", "harmony")
FOR_METRICS = {"numpy", "scipy", "pandas", "sklearn", "statsmodels", "numba"}
HEAVY = {"torch", "transformers", "bitsandbytes", "accelerate", "gguf", "tokenizers"}
UPWARDS = {
    "errors": set(),
    "files": {"errors"},
    "project": {"errors"},
    "answer_files": {"errors"},
    "responses": {"answer_files", "errors", "files"},
    "distributions": {"errors", "files"},
    "items": {"errors", "files", "project"},
    "public": {"answer_files", "errors", "files", "project", "items", "responses"},
    "harness": {"errors", "items", "responses"},
    "inference": {"errors", "files", "project"},
    "grid": {"errors", "files", "project", "responses", "distributions", "items", "harness", "inference"},
    "packages": {
        *("errors", "files", "project", "responses", "distributions", "items", "harness", "inference", "grid")
    },
    **{part: {"errors", "responses"} for part in METRICS},
    "plots": {"irt"},
    "compendium": {"errors", "files", "project", "responses", "plots"},
}
UPWARDS["commands"] = {*UPWARDS}
UPWARDS["cli"] = {"errors", "project", "compendium", "commands"}
"""Room of the package -> the other rooms that it may import; the compendium knows nothing of the metrics."""


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """All modules that a file imports, wherever in it; ``benchtrust`` with the part that is meant."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = (
                [node.module] if node.module != "benchtrust" else [f"benchtrust.{a.name}" for a in node.names]
            )
            found |= set(names)
    return found


def outside(path: Path) -> set[str]:
    names = {name.split(".")[0] for name in imported(path)}
    return names - {"benchtrust"} - set(sys.stdlib_module_names)


def inside(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported(path) if name.startswith("benchtrust.")} - {part_of(path)}


def id_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_every_room_has_its_rule():
    assert {*UPWARDS} == {*map(part_of, SOURCES)} - {"__init__"}


def test_the_rules_allow_no_circle():
    TopologicalSorter(UPWARDS).prepare()


@pytest.mark.parametrize("path", [p for p in SOURCES if part_of(p) in METRICS], ids=id_of)
def test_metrics_import_numbers_and_responses_only(path):
    assert outside(path) <= FOR_METRICS


@pytest.mark.parametrize("path", [p for p in SOURCES if part_of(p) != "__init__"], ids=id_of)
def test_imports_go_down_only(path):
    assert inside(path) <= UPWARDS[part_of(path)]


@pytest.mark.parametrize("path", [p for p in SOURCES if part_of(p) != "inference"], ids=id_of)
def test_torch_is_imported_by_inference_alone(path):
    assert not outside(path) & HEAVY


def run_python(code: str) -> str:
    """What a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "modules",
    [
        "benchtrust.items, benchtrust.harness, benchtrust.responses",
        "benchtrust.stability, benchtrust.irt, benchtrust.harmony, benchtrust.plots",
        "benchtrust.inference, benchtrust.grid.plan, benchtrust.grid.record, benchtrust.grid.store",
        "benchtrust.cli, benchtrust.commands.models, benchtrust.commands.data, benchtrust.commands.grid",
        "benchtrust.commands.packages, benchtrust.packages.runs",
    ],
)
def test_importing_never_loads_torch(modules):
    heavy = f"[m for m in {sorted(HEAVY)} if m in sys.modules]"
    assert run_python(f"import sys, {modules}; print({heavy})") == "[]"
