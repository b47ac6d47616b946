"""Shared by the tests of packages: stand-ins for environments and models; logs of the packages, to spoil."""

import json
import shutil
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from benchtrust.packages import environments
from benchtrust.packages.table import packages

LOGS = Path(__file__).parent / "logs"

STAND_IN = """
import json, os, sys
from pathlib import Path
arguments = dict(zip(sys.argv[2::2], sys.argv[3::2]))
print("asked with", os.environ["HF_HUB_OFFLINE"], "PYTHONPATH" in os.environ)
if os.environ.get("STAND_IN") == "fails":
    print("first line\\nWeights are missing: nothing can be done")
    sys.exit(3)
out = Path(sys.argv[sys.argv.index("--output_path") + 1]) / "model"
out.mkdir(exist_ok=True)
rows = Path("rows.jsonl").read_text().splitlines()
rows = rows[1:] if os.environ.get("STAND_IN") == "forgets" else rows
task = sys.argv[sys.argv.index("--tasks") + 1]
stamp = len(list(out.glob("results_*.json"))) + 1
(out / f"results_{stamp}.json").write_text("{}")
(out / f"samples_{task}_{stamp}.jsonl").write_text("".join(row + "\\n" for row in rows))
"""
"""Takes lm-eval's arguments and leaves files as it does."""


MODULE = "TEMPLATE = None\n\n\ndef other():\n    return call(instructions='wrong')\n\n\n"
INSTALLED = {
    "lm_eval/lm_eval/tasks/truthfulqa/truthfulqa_mc1.yaml": (
        "doc_to_text: \"{% set prompt_qa = 'Q: Is it?\\nA: It is.\\n\\nQ: Who?\\nA: Nobody.'%}"
        "{{prompt_qa + '\\n\\nQ: ' + question + '\\nA:'}}\"\n"
    ),
    "lm_eval/lm_eval/tasks/toxigen/toxigen.yaml": (
        "doc_to_text: \"Rude or not? '{{text}}'\"\ndoc_to_target: !function utils.doc_to_target\n"
    ),
    "lm_eval/lm_eval/tasks/bbq/utils.py": (
        'import missing\nUNKNOWN_RESPONSES = ["No idea", "Unclear", "Who knows"]\n'
    ),
    "inspect/inspect_ai/solver/_multiple_choice.py": (
        'SINGLE_ANSWER_TEMPLATE = r"""\nPick one of {letters}.\n\n{question}\n\n{choices}\n""".strip()\n'
    ),
    "inspect/inspect_evals/xstest/xstest.py": (
        "from x import y\n\n\ndef xstest(a):\n    return Task(system_message('Be brief.'))\n"
    ),
    "helm/helm/benchmark/run_specs/classic_run_specs.py": MODULE
    + "def get_bbq_spec(subject):\n    return call(1, instructions='Choose well.')\n\n\n"
    + "def get_truthful_qa_spec(task):\n    return call(instructions='')\n",
}
"""Made-up installations, with the files that texts are read from; texts of our own."""


@pytest.fixture
def base(tmp_path, monkeypatch) -> Path:
    """An empty folder in the place of build/packages."""
    folder = tmp_path / "packages"
    monkeypatch.setattr(environments, "base", lambda: folder)
    return folder


@pytest.fixture
def make_environment(base) -> Callable:
    """Maker of an environment: ``make_environment("lm_eval", torch="2.13.0+cpu")`` for other versions."""

    def make(name: str, marker: bool = True, **others: str) -> Path:
        package = packages()[name]
        home = environments.home(package)
        venv.EnvBuilder(with_pip=False, symlinks=True).create(home)
        site = environments.site(package)
        for pinned, version in (environments.pins(package) | others).items():
            info = site / f"{pinned.replace('-', '_')}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {pinned}\nVersion: {version}\n")
        if marker:
            (home / environments.MARKER).write_text(environments.lock_sha256(package) + "\n")
        stand_in = site / "lm_eval" / "__main__.py"
        stand_in.parent.mkdir()
        stand_in.write_text(STAND_IN)
        return home

    return make


@pytest.fixture
def model_folder(tmp_path) -> Path:
    """A folder that looks like a transformers folder and holds no model."""
    folder = tmp_path / "no-model"
    folder.mkdir()
    for name in ("config.json", "tokenizer_config.json"):
        (folder / name).write_text(json.dumps({"name": name}))
    return folder


@pytest.fixture
def logs(tmp_path) -> Path:
    """A copy of all logs."""
    return Path(shutil.copytree(LOGS, tmp_path / "logs", ignore=shutil.ignore_patterns("README.md")))


@pytest.fixture
def edit() -> Callable:
    """Change a JSON file in place: ``edit(path, lambda content: ...)`` works on the loaded content."""

    def change(path: Path, how: Callable) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        changed = how(content)
        path.write_text(json.dumps(content if changed is None else changed), encoding="utf-8")

    return change


@pytest.fixture
def edit_lines() -> Callable:
    """Change a file of JSON lines in place: each is handed over, and dropped where None comes back."""

    def change(path: Path, how: Callable) -> None:
        rows = [how(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
        kept = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows if row is not None]
        path.write_text("".join(kept), encoding="utf-8")

    return change


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Path:
    """Made-up installations of the three packages."""
    for name, text in INSTALLED.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(environments, "site", lambda package: tmp_path / package.name)
    return tmp_path


@pytest.fixture(scope="session")
def model(tiny):
    """A made-up network with a tokenizer of its own."""
    return tiny("Llama", max_position_embeddings=8192)
