"""The steps of CONTRIBUTING.md, followed in a copy of the repository: what should appear appears."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from runpy import run_path

import nbformat
import pytest

from benchtrust.compendium import audit, ledger, lint, notebooks, run

ROOT = Path(__file__).parents[1]
COPIED = ("src", "data/sources.toml", "data/items/practice", "profiles", "_toc.yml", "requirements.lock")
SECTIONS = dict(
    part.split("\n", 1) for part in (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n## ")[1:]
)
STEP = re.compile(r"^\d+\. .*?(?=^\d+\. |^\n|\Z)", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`((?:[\w<>.]+/)*[\w<>]+\.(?:py|toml|yml|jsonl|ipynb))`")

ITEM = {"question": "Is a tin lid heavier than a door?", "options": ["Yes", "No"], "answer": 1}
READER = '''"""Weights: which of two things is heavier?"""

import json

from benchtrust.items.model import Benchmark, Item
from benchtrust.items.sources import locate


def load() -> list[Item]:
    """All questions of the pinned file."""
    rows = map(json.loads, locate("items/weights/weights.jsonl").read_text("utf-8").splitlines())
    return [
        Item("weights", f"weights-{n}", row["question"], tuple(row["options"]), row["answer"], ("all",))
        for n, row in enumerate(rows)
    ]


BENCHMARK = Benchmark(
    name="weights",
    title="Weights",
    load=load,
    score_means="share of questions answered rightly",
    direction="higher is better at weights",
    chance="one half",
    citation="none",
)
'''
TEMPLATES = "\n".join(
    f'{name} = "{{question}}\\n{{options}}"' for name in ("minimal", "role", "detailed", "cot")
)
ENTRY = """
[[model]]
name = "Newcomer-3B"
chat = true
parameters = 3.0
licence = "Apache-2.0"
note = "Made up."
hub = "nobody/newcomer-3b"
"""
METRIC = '''"""How far apart a model's scores lie over the configurations."""

import pandas as pd


def score_widths(scores: pd.DataFrame) -> pd.Series:
    """Largest minus smallest score of each model, from configurations × models; in [0, 1]."""
    return scores.max() - scores.min()
'''
METRIC_TEST = """import pandas as pd

from benchtrust.stability import score_widths


def test_a_model_that_never_moves_has_no_width():
    assert score_widths(pd.DataFrame({"A": [0.5, 0.5], "B": [0.25, 0.75]})).tolist() == [0, 0.5]
"""
CELLS = [
    ("markdown", "# How wide is a die?\n\n**Answer.** {number}`die-width` points.", []),
    ("code", "seed: int = 1  # of the throws\nn_throws: int = 500  # throws", ["parameters"]),
    (
        "code",
        "import numpy as np\nfrom benchtrust.compendium import Recorder\n\n"
        'record = Recorder("stability/widths", globals())\n'
        "throws = np.random.default_rng(seed).integers(1, 7, n_throws)\n"
        'record.number("die-width", int(np.ptp(throws)), "d")\nrecord.number("die-throws", n_throws, "d")',
        ["hide-input"],
    ),
    ("markdown", "## Try it\n\n`benchtrust run stability/widths -p n_throws=5`", []),
    ("markdown", "```{exercise} Fewer\n:label: ex-fewer\nWhat do two throws give?\n```", []),
    ("markdown", "````{solution} ex-fewer\nLess.\n````", []),
]


class Copy:
    """A copy of what a contribution touches; each step is noted as CONTRIBUTING.md names its file."""

    def __init__(self, root: Path) -> None:
        self.root, self.steps = root, list[str]()
        for entry in COPIED:
            copy = shutil.copytree if (ROOT / entry).is_dir() else shutil.copy
            (root / entry).parent.mkdir(parents=True, exist_ok=True)
            copy(ROOT / entry, root / entry)

    def step(self, file: str, change: Callable[[str], str] | str, **names: str) -> None:
        """Do one step: `file` as the page names it, what is new of it (all, or from the old text)."""
        path = self.root / re.sub("<(.*?)>", lambda found: names[found[1]], file)
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_text("utf-8") if path.exists() else ""
        path.write_text(change if isinstance(change, str) else change(old), encoding="utf-8")
        self.steps.append(file)

    def python(self, *command: str) -> str:
        """What Python prints in the copy."""
        own = {"PYTHONPATH": str(self.root / "src"), "BENCHTRUST_ROOT": str(self.root), "COLUMNS": "200"}
        own |= {"BENCHTRUST_DATA": str(self.root / "given"), "BENCHTRUST_CACHE": str(self.root / "cache")}
        done = subprocess.run(
            [sys.executable, *command], cwd=self.root, env=os.environ | own, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def after(old: str, new: str) -> Callable[[str], str]:
    """A change that puts `new` behind the one place that reads `old`."""

    def change(text: str) -> str:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        return text.replace(old, old + new)

    return change


def steps_of(section: str) -> list[str]:
    """Files that the numbered steps of a section name, in their order."""
    return [file for step in STEP.findall(SECTIONS[section]) for file in FILE.findall(step)]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("contributing"))


def test_a_benchmark_and_a_model(copy: Copy) -> None:
    rows = [ITEM | {"question": f"{ITEM['question']} ({n})"} for n in range(40)]
    pinned = "".join(f"{json.dumps(row)}\n" for row in rows)
    given = copy.root / "given/items/weights/weights.jsonl"
    given.parent.mkdir(parents=True)
    given.write_text(pinned, encoding="utf-8")
    facts = {"file": "items/weights/weights.jsonl", "url": "", "licence": "ours"}
    facts["sha256"] = sha256(pinned.encode()).hexdigest()
    source = "\n[[source]]\n" + "".join(f'{name} = "{value}"\n' for name, value in facts.items())
    about = {"strata": ["all"], "part": "", "notes": {}}
    practice = [row | about | {"item_id": f"p-{n}", "family": f"p-{n}"} for n, row in enumerate(rows[:24])]
    copy.steps.clear()
    copy.step("data/sources.toml", lambda text: text + source)
    copy.step("src/benchtrust/items/<name>.py", READER, name="weights")
    named = (
        after("    truthfulqa,\n", "    weights,\n"),
        after("(truthfulqa, bbq, toxigen, crows_pairs, xstest", ", weights"),
    )
    copy.step("src/benchtrust/items/__init__.py", lambda text: named[1](named[0](text)))
    copy.step("src/benchtrust/responses.py", after('"crows_pairs", "xstest"', ', "weights"'))
    copy.step("src/benchtrust/harness/templates/<name>.toml", TEMPLATES, name="weights")
    lines = "".join(f"{json.dumps(row)}\n" for row in practice)
    copy.step("data/items/practice/<name>.jsonl", lines, name="weights")
    assert copy.steps == steps_of("A benchmark")
    copy.steps.clear()
    copy.step("src/benchtrust/inference/catalogue.toml", lambda text: text + ENTRY)
    assert copy.steps == steps_of("A model")

    code = """from benchtrust import harness, items, responses
from benchtrust.cli import app
loaded = items.load("Weights")
asked = harness.render(loaded[0], harness.Configuration("cot", 0, "greedy", "free_form"))
print(len(loaded), responses.slug("WEIGHTS"), len(asked.letters))
app("grid plan --benchmark weights --source practice --model newcomer-3b --items 9".split())"""
    first, heading, row, total, *_ = copy.python("-c", code).splitlines()
    assert first.split() == ["40", "weights", "2"]
    shown = dict(zip(re.split(r"\s{2,}", heading.strip()), row.split(), strict=True))
    assert {name: shown[name] for name in ("model", "benchmark", "cells")} == {
        "model": "Newcomer-3B",
        "benchmark": "weights",
        "cells": "48",
    }
    assert total.startswith("48 cells, 9 items each")
    assert "Newcomer-3B" in copy.python("-m", "benchtrust.cli", "models", "list")


def test_a_metric(copy: Copy) -> None:
    names = {"part": "stability", "name": "widths"}
    copy.steps.clear()
    copy.step("src/benchtrust/<part>/<name>.py", METRIC, **names)
    export = "from benchtrust.stability.widths import score_widths\n"
    copy.step(
        "src/benchtrust/<part>/__init__.py",
        lambda text: text.replace("\n__all__", f"{export}\n__all__"),
        **names,
    )
    copy.step("tests/<part>/test_<name>.py", METRIC_TEST, **names)
    assert copy.steps == steps_of("A metric")
    run_it = "from runpy import run_path; run_path('tests/stability/test_widths.py')['{}']()"
    copy.python("-c", run_it.format("test_a_model_that_never_moves_has_no_width"))
    rules = run_path(str(shutil.copy(ROOT / "tests/test_imports.py", copy.root / "tests")))
    own = copy.root / "src/benchtrust/stability/widths.py"
    assert own in rules["SOURCES"]
    for rule in ("imports_go_down_only", "metrics_import_numbers_and_responses_only"):
        rules[f"test_{rule}"](own)


def test_a_notebook(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    node = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    for number, (kind, text, tags) in enumerate(CELLS):
        new = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
        node.cells.append(new(text, id=f"cell-{number}", metadata={"tags": tags} if tags else {}))
    names = {"part": "stability", "name": "widths"}
    copy.steps.clear()
    copy.step("notebooks/<part>/<name>.ipynb", nbformat.writes(node), **names)
    copy.step("_toc.yml", after("      - file: stability/envelope\n", "      - file: stability/widths\n"))
    copy.step("profiles/smoke.toml", '["stability/widths"]\nn_throws = 50\n')
    assert copy.steps == steps_of("A notebook")

    monkeypatch.setenv("BENCHTRUST_ROOT", str(copy.root))
    monkeypatch.setenv("BENCHTRUST_CACHE", str(copy.root / "cache"))
    assert notebooks.in_book() == ["stability/widths"]
    assert lint.problems(notebooks.read("stability/widths")) == []
    assert run("widths", profile="smoke", position=None).state == "executed"
    found = ledger.read(copy.root / "build/smoke/results/stability/widths").artefacts
    assert {name: number.display for name, number in found.items()} == {"die-width": "5", "die-throws": "50"}
    assert list(audit.artefacts("smoke")["state"]) == [audit.EXECUTED] * 2
