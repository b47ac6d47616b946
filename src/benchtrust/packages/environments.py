"""One environment a package, by uv from a complete lock; what is there is compared with what is pinned."""

import ast
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

from benchtrust import project
from benchtrust.errors import PackageError
from benchtrust.packages.table import Package

MARKER = "benchtrust-lock.sha256"


def base() -> Path:
    """Folder of environments and runs."""
    return project.root() / "build" / "packages"


def home(package: Package) -> Path:
    """Folder of a package's environment."""
    return base() / package.name


def python(package: Package) -> Path:
    """Interpreter of a package's environment."""
    inside = "Scripts/python.exe" if os.name == "nt" else "bin/python"
    return home(package) / inside


def site(package: Package) -> Path:
    """Folder that the environment's distributions lie in.

    Raises
    ------
    PackageError : there is none.
    """
    found = [*home(package).glob("lib/python3*/site-packages"), *home(package).glob("Lib/site-packages")]
    if not found:
        raise PackageError(
            f"{package.title} is not installed. Run `benchtrust packages install {package.name}`."
        )
    return found[0]


def lock(package: Package) -> Path:
    """The lock file: every distribution of the environment, pinned."""
    return Path(__file__).parent / "locks" / f"{package.name}.txt"


def lock_sha256(package: Package) -> str:
    """Hash of the lock."""
    return hashlib.sha256(lock(package).read_bytes()).hexdigest()


def pins(package: Package) -> dict[str, str]:
    """Versions of the lock by normalised name."""
    lines = lock(package).read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {_normal(name): version for name, version in pairs}


def installed(package: Package) -> dict[str, str]:
    """Versions of what the environment holds by normalised name; empty without an environment."""
    return {_normal(found.name): found.version for found in _distributions(package) if found.name}


def commit(package: Package) -> str | None:
    """Commit that the first distribution was installed from; None if it came as a release."""
    main = _normal(package.distributions[0])
    for found in _distributions(package):
        if _normal(found.name) == main and (text := found.read_text("direct_url.json")):
            return json.loads(text).get("vcs_info", {}).get("commit_id")
    return None


def versions(package: Package) -> str:
    """Installed versions of the named distributions: ``inspect-ai 0.3.285, inspect-evals 0.26.0``."""
    there = installed(package)
    named = [name for name in package.distributions if _normal(name) in there]
    return ", ".join(f"{name} {there[_normal(name)]}" for name in named)


def check(package: Package) -> None:
    """Make sure that the environment is whole and holds exactly what the lock pins.

    Raises
    ------
    PackageError : no environment, one that was left unfinished or is of another lock, or other versions
        than the pinned ones: each named.
    """
    again = f"Run `benchtrust packages install {package.name}`."
    if not python(package).exists():
        raise PackageError(f"{package.title} is not installed. {again}")
    if wrong := differences(package):
        raise PackageError(f"{package.title} is not what the lock pins: {_few(wrong)}. {again}")
    if _marked(package) != lock_sha256(package):
        raise PackageError(f"The environment of {package.title} is unfinished or of another lock. {again}")


def ready(package: Package) -> bool:
    """Whether `check` has nothing to say."""
    try:
        check(package)
    except PackageError:
        return False
    return True


def differences(package: Package) -> list[str]:
    """What the lock pins and the environment holds otherwise, one phrase each; local parts do not count."""
    there = installed(package)
    return [
        f"{name} is {there.get(name, 'missing')}, pinned is {version}"
        for name, version in pins(package).items()
        if there.get(name, "missing").partition("+")[0] != version
    ]


def install(package: Package) -> bool:
    """Make the environment of a package; uv shows its own progress. False if it was there already.

    Raises
    ------
    PackageError : uv is missing or failed, or what it installed is not what the lock pins.
    """
    if ready(package):
        return False
    _uv(package, "venv", "--quiet", "--clear", "--python", sys.executable, str(home(package)))
    into = ("--python", str(python(package)), "--no-deps", *_torch(_find_links()))
    _uv(package, "pip", "install", *into, "--requirements", str(lock(package)))
    (home(package) / MARKER).write_text(lock_sha256(package) + "\n")
    check(package)
    return True


def _uv(package: Package, *arguments: str) -> None:
    if importlib.util.find_spec("uv") is None:
        raise PackageError(
            f"uv is missing in {sys.prefix}: install it by `{sys.executable} -m pip install uv`."
        )
    done = subprocess.run([sys.executable, "-m", "uv", *arguments])
    if done.returncode:
        raise PackageError(
            f"{package.title} could not be installed: uv {arguments[0]} ended with {done.returncode}, "
            "for the reason above. What it has is kept: run "
            f"`benchtrust packages install {package.name}` again."
        )


def _torch(folders: list[str]) -> list[str]:
    """Options that give a CPU build of torch: from a folder that pip looks in, else from torch's index."""
    links = [option for folder in folders for option in ("--find-links", folder)]
    here = any(True for folder in folders for _ in Path(folder).glob("torch-*.whl"))
    return links if here else [*links, "--torch-backend", "cpu"]


def _find_links() -> list[str]:
    """Folders that pip is told to look for wheels in; uv does not read pip's settings."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    values = [
        value for key, _, value in (line.partition("=") for line in lines) if key.endswith("find-links")
    ]
    return list(dict.fromkeys(folder for value in values for folder in ast.literal_eval(value).split()))


def _few(phrases: list[str], n: int = 5) -> str:
    rest = f"; and {len(phrases) - n} more" if len(phrases) > n else ""
    return "; ".join(phrases[:n]) + rest


def _marked(package: Package) -> str:
    marker = home(package) / MARKER
    return marker.read_text().strip() if marker.is_file() else ""


def _distributions(package: Package) -> list[Distribution]:
    return list(distributions(path=[str(site(package))])) if python(package).exists() else []


def _normal(name: str) -> str:
    return name.casefold().replace("_", "-").replace(".", "-")
