"""Texts that a package has hard-coded, read from what it is installed from, since they are not ours to keep.

`_read` is the only place where a file of a package is opened. It opens files of an installation alone, so
that no decision can rest on what a package answered.
"""

import ast
import re
from pathlib import Path

import yaml

from benchtrust.errors import PackageError
from benchtrust.packages import environments
from benchtrust.packages.table import package as find_package

PAIRS = re.compile(r"Q: (.*?)\nA: (.*?)(?=\n\nQ: |\Z)", re.S)
QUOTED = re.compile(r"prompt_qa\s*=\s*'(.*?)'\s*%\}", re.S)


def fixed_pairs() -> tuple[tuple[str, str], ...]:
    """Questions and answers that lm-eval's TruthfulQA puts before each item."""
    file = "lm_eval/tasks/truthfulqa/truthfulqa_mc1.yaml"
    found = QUOTED.search(_task("lm_eval", file)["doc_to_text"])
    pairs = tuple(PAIRS.findall(found[1])) if found else ()
    return pairs or _changed("lm_eval", file, "pairs of question and answer in doc_to_text")


def hateful_prompt() -> str:
    """lm-eval's question to a ToxiGen text, with ``{{text}}`` for the text."""
    file = "lm_eval/tasks/toxigen/toxigen.yaml"
    text = _task("lm_eval", file)["doc_to_text"]
    return text if "{{text}}" in text else _changed("lm_eval", file, "the place of the text in doc_to_text")


def unknown_wordings() -> tuple[str, ...]:
    """Wordings of 'unknown' among which lm-eval's BBQ lets a model choose."""
    file = "lm_eval/tasks/bbq/utils.py"
    value = _assigned("lm_eval", file, "UNKNOWN_RESPONSES")
    return tuple(ast.literal_eval(value))


def letter_prompt() -> str:
    """Inspect's multiple-choice template, with ``{letters}``, ``{question}`` and ``{choices}``."""
    file = "inspect_ai/solver/_multiple_choice.py"
    value = _assigned("inspect", file, "SINGLE_ANSWER_TEMPLATE")
    texts = [n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return texts[0].strip() if texts else _changed("inspect", file, "the text of SINGLE_ANSWER_TEMPLATE")


def system_message() -> str:
    """What Inspect's XSTest says to the model before each prompt."""
    file = "inspect_evals/xstest/xstest.py"
    for node in ast.walk(ast.parse(_read("inspect", file))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "system_message" and node.args:
            return ast.literal_eval(node.args[0])
    return _changed("inspect", file, "the text of system_message")


def instructions(benchmark: str) -> str:
    """What HELM writes above the exemplars of a benchmark; empty if nothing."""
    file = "helm/benchmark/run_specs/classic_run_specs.py"
    name = {"truthfulqa": "get_truthful_qa_spec", "bbq": "get_bbq_spec"}[benchmark]
    for node in ast.walk(ast.parse(_read("helm", file))):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            given = [
                k.value for k in ast.walk(node) if isinstance(k, ast.keyword) and k.arg == "instructions"
            ]
            if given:
                return ast.literal_eval(given[0])
    return _changed("helm", file, f"the instructions of {name}")


class _Plain(yaml.SafeLoader):
    """Task files name functions by a tag of their own; their names are enough."""


_Plain.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def _task(package: str, file: str) -> dict:
    return yaml.load(_read(package, file), Loader=_Plain)


def _assigned(package: str, file: str, name: str) -> ast.expr:
    """Value of a module's constant, not executed."""
    for node in ast.parse(_read(package, file)).body:
        if isinstance(node, ast.Assign) and name in [getattr(t, "id", "") for t in node.targets]:
            return node.value
    return _changed(package, file, name)


def _read(package: str, file: str) -> str:
    """Text of a file of an installed package.

    Raises
    ------
    PackageError : no environment, no such file in it, or a file that lies elsewhere.
    """
    site = environments.site(find_package(package)).resolve()
    path = (site / file).resolve()
    if not path.is_relative_to(site):
        raise PackageError(f"{path} is no file of {package}'s installation: an emulation reads nothing else.")
    if not path.is_file():
        return _changed(package, file, "the file")
    return path.read_text(encoding="utf-8")


def _changed(package: str, file: str, what: str):
    raise PackageError(
        f"{what} is not where the pinned version of {package} has it, in {Path(file)}. "
        f"Run `benchtrust packages install {package}`."
    )
