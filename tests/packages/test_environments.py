"""Environments of the packages: complete locks, versions compared, faults told, failures kept apart."""

import re

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from benchtrust.commands import packages as commands
from benchtrust.errors import PackageError
from benchtrust.packages import environments
from benchtrust.packages.table import packages

PACKAGES = list(packages().values())
LM_EVAL = packages()["lm_eval"]


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    for console in ("out", "err"):
        monkeypatch.setattr(commands, console, commands.Console(width=300))


# ---------------------------------------------------------------- locks


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_a_lock_pins_every_distribution_exactly_and_names_no_place(package):
    text = environments.lock(package).read_text()
    assert "://" not in text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in lines:
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
        assert specifier.operator == "=="
        assert "+" not in specifier.version, f"{line}: a local version exists on one machine only"
    assert len(environments.pins(package)) == len(lines) > 50
    assert {*package.distributions, "torch", "transformers"} <= {*environments.pins(package)}


def test_the_study_is_made_with_these_versions():
    pinned = {name: environments.pins(p)[name] for p in PACKAGES for name in p.distributions}
    assert pinned == {
        "lm-eval": "0.4.13",
        "crfm-helm": "0.5.16",
        "inspect-ai": "0.3.285",
        "inspect-evals": "0.26.0",
    }
    for shared in ("torch", "transformers"):
        assert len({environments.pins(p)[shared] for p in PACKAGES}) == 1


# ---------------------------------------------------------------- what is there


def test_what_the_lock_pins_is_accepted_whatever_the_build(make_environment):
    make_environment("lm_eval", torch="2.13.0+cpu")
    environments.check(LM_EVAL)
    assert environments.versions(LM_EVAL) == "lm-eval 0.4.13"
    assert environments.commit(LM_EVAL) is None


def test_another_version_is_told_with_both_and_never_used(make_environment):
    make_environment("lm_eval", **{"lm-eval": "0.4.12"})
    with pytest.raises(
        PackageError, match=r"lm-eval is 0\.4\.12, pinned is 0\.4\.13.*packages install lm_eval"
    ):
        environments.check(LM_EVAL)


def test_a_distribution_that_is_missing_is_told(make_environment, base):
    home = make_environment("lm_eval")
    (info,) = home.rglob("numpy-*.dist-info")
    (info / "METADATA").unlink()
    info.rmdir()
    with pytest.raises(PackageError, match=r"numpy is missing, pinned is \d"):
        environments.check(LM_EVAL)


def test_no_environment_and_an_unfinished_one_are_told(make_environment, base):
    with pytest.raises(PackageError, match="lm-evaluation-harness is not installed"):
        environments.check(LM_EVAL)
    home = make_environment("lm_eval", marker=False)
    with pytest.raises(PackageError, match="unfinished or of another lock"):
        environments.check(LM_EVAL)
    (home / environments.MARKER).write_text("0" * 64)
    with pytest.raises(PackageError, match="unfinished or of another lock"):
        environments.check(LM_EVAL)


def test_the_commit_of_an_installation_from_a_repository_is_known(make_environment):
    home = make_environment("lm_eval")
    (info,) = home.rglob("lm_eval-*.dist-info")
    (info / "direct_url.json").write_text('{"url": "x", "vcs_info": {"commit_id": "abc", "vcs": "git"}}')
    assert environments.commit(LM_EVAL) == "abc"


# ---------------------------------------------------------------- installing


def test_installing_twice_asks_uv_once(make_environment, base, monkeypatch):
    asked = []

    def uv(package, *arguments):
        asked.append(arguments[0])
        if arguments[0] == "pip":
            make_environment(package.name, marker=False)

    monkeypatch.setattr(environments, "_uv", uv)
    assert environments.install(LM_EVAL)
    assert asked == ["venv", "pip"]
    assert not environments.install(LM_EVAL)
    assert asked == ["venv", "pip"]


def test_what_uv_installs_otherwise_than_pinned_is_an_error(make_environment, base, monkeypatch):
    wrong = {"transformers": "4.0.0"}
    monkeypatch.setattr(
        environments,
        "_uv",
        lambda package, what, *_: what == "pip" and make_environment(package.name, marker=False, **wrong),
    )
    with pytest.raises(PackageError, match=r"transformers is 4\.0\.0, pinned is 5"):
        environments.install(LM_EVAL)


def test_one_package_that_fails_leaves_the_others(make_environment, base, monkeypatch):
    def uv(package, what, *_):
        if package.name == "helm":
            raise PackageError("HELM could not be installed")
        if what == "pip":
            make_environment(package.name, marker=False)

    monkeypatch.setattr(environments, "_uv", uv)
    done = CliRunner().invoke(commands.app, ["install"])
    assert done.exit_code == 1
    assert "HELM could not be installed" in done.output
    assert re.search(r"About 4\.\d GB", done.output)
    assert done.output.index("GB") < done.output.index("lm-eval 0.4.13, installed in")
    assert "inspect-ai 0.3.285, inspect-evals 0.26.0, installed in" in done.output
    again = CliRunner().invoke(commands.app, ["install", "lm_eval", "inspect"])
    assert again.exit_code == 0
    assert again.output.count("there already") == 2
    assert "GB" not in again.output


def test_a_machine_without_uv_is_told_how_to_get_it(base, monkeypatch):
    monkeypatch.setattr(environments.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PackageError, match=r"uv is missing in .* -m pip install uv"):
        environments.install(LM_EVAL)


def test_uv_that_fails_is_an_error_with_its_code(base, monkeypatch):
    monkeypatch.setattr(environments.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(environments.sys, "executable", _false(base))
    with pytest.raises(PackageError, match="could not be installed: uv venv ended with 1"):
        environments.install(LM_EVAL)


def _false(base) -> str:
    base.mkdir()
    path = base / "false"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("wheels", "options"),
    [
        (["torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl"], ["--find-links", "FOLDER"]),
        (["other-1.0-py3-none-any.whl"], ["--find-links", "FOLDER", "--torch-backend", "cpu"]),
    ],
)
def test_torch_comes_as_a_cpu_build(tmp_path, wheels, options):
    for wheel in wheels:
        (tmp_path / wheel).touch()
    wanted = [str(tmp_path) if option == "FOLDER" else option for option in options]
    assert environments._torch([str(tmp_path)]) == wanted


def test_folders_that_pip_looks_in_are_passed_on(monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels/one /wheels/two\n/wheels/three")
    assert {"/wheels/one", "/wheels/two", "/wheels/three"} <= {*environments._find_links()}
