"""The lock, environment.yml and pyproject.toml say the same."""

import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
DIRECT = [*PROJECT["dependencies"], *(entry for extra in EXTRAS.values() for entry in extra)]


def pins() -> dict[str, str]:
    """Versions of the lock by canonical name; every line is one exact pin."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    found = {}
    for line in lines:
        if line.startswith("#"):
            continue
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", line
        assert "+" not in specifier.version, f"{line}: a local version exists on one machine only"
        assert requirement.url is None
        assert requirement.marker is None
        found[canonicalize_name(requirement.name)] = specifier.version
    return found


@pytest.mark.parametrize("text", DIRECT)
def test_the_lock_pins_each_direct_dependency_within_its_range(text: str) -> None:
    requirement = Requirement(text)
    name = canonicalize_name(requirement.name)
    assert name in pins(), f"{name} is not in requirements.lock: run 'make lock'"
    assert requirement.specifier.contains(pins()[name], prereleases=True), f"{pins()[name]} is outside {text}"


def test_conda_installs_the_lock_on_the_same_pythons() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    plain = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (by_pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert by_pip == ["-r requirements.lock"]
    assert sorted(Requirement(entry).name for entry in plain) == ["pip", "python"]
    (python,) = [Requirement(entry) for entry in plain if entry.startswith("python")]
    floor = str(SpecifierSet(PROJECT["requires-python"]))
    assert floor in map(str, python.specifier)
    for version in ("3.11.5", "3.12.0", "3.13.0"):
        assert python.specifier.contains(version)
    assert not python.specifier.contains("3.11.4")


def test_the_makefile_asks_for_the_same_floor() -> None:
    floor = PROJECT["requires-python"].removeprefix(">=")
    text = (ROOT / "Makefile").read_text()
    assert f"({', '.join(floor.split('.'))})" in text
    assert floor in text.splitlines()[0]
