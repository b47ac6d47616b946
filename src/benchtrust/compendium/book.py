"""The book: sources gathered from prose, executed notebooks and results, then built and published whole."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import yaml
from rich.text import Text

from benchtrust import project
from benchtrust.compendium import architecture, audit, fingerprints, ledger, notebooks, profiles, verdicts
from benchtrust.compendium.claim_file import FILE as CLAIMS
from benchtrust.compendium.published import Places, build_folder
from benchtrust.compendium.runner import fresh
from benchtrust.errors import BenchtrustError

CONFIGURATION = ("_config.yml", "_toc.yml", fingerprints.LOCK)
BUILDERS = (
    *("audit", "audit_page", "book", "claims_page", "directives", "explorers", "glossary", "ledger"),
    *("offline", "provenance"),
)
"""Modules of the compendium that shape pages."""


class BookError(BenchtrustError):
    """A book that must not be published: a notebook without a fresh run, or warnings in the build."""


def build(profile: str = profiles.PAPER, *, force: bool = False, solutions: bool = True) -> Path:
    """Build the book from published runs and return the path of its first page.

    Nothing is built where nothing has changed. The pages in ``build/<profile>/html`` are replaced only
    by a whole build without warnings. Without solutions the pages are those in ``html-without-solutions``.

    Raises
    ------
    BookError
        A notebook of the book has no fresh run in this profile, or the build has warnings.
    """
    require_fresh(profile)
    places = build_folder(profile)
    key = stage(profile, frozenset()) | _site_key()
    site = places / ("html" if solutions else "html-without-solutions")
    stamp = site.with_name(f"{site.name}.json")
    if force or not site.exists() or not stamp.exists() or json.loads(stamp.read_text("utf-8")) != key:
        _run_jupyter_book(profile, _configuration(profile, solutions))
        stamp.unlink(missing_ok=True)
        _replace(site, places / "_build" / "html")
        stamp.write_text(json.dumps(key, indent=1), encoding="utf-8")
    return site / "index.html"


def require_fresh(profile: str) -> None:
    """Refuse where a notebook of the book failed, was never run, or has changed since its run."""
    stale = []
    for notebook in notebooks.in_book():
        if Places(profile, notebook).failed.exists():
            stale.append(f"{notebook}: its last run failed")
        elif not fresh(notebook, profile):
            stale.append(f"{notebook}: not run since it, its data or its modules changed")
    if stale:
        lines = "\n".join(f"  {line}" for line in stale)
        raise BookError(f"The book is not built:\n{lines}\nRun: benchtrust run --all --profile {profile}")
    ledger.read_all(build_folder(profile) / "results")


def stage(profile: str, stale: frozenset[str] | None = None) -> dict[str, str]:
    """Gather the book's source in ``build/<profile>/source``.

    Parameters
    ----------
    stale : set of str, optional
        Notebooks that have changed since their run; worked out where it is not given.

    Returns
    -------
    dict
        Hash of each staged file by name.
    """
    target = build_folder(profile) / "source"
    shutil.rmtree(target, ignore_errors=True)
    for name, content in _wanted(profile, stale):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return fingerprints.of_tree(target)


def _wanted(profile: str, stale: frozenset[str] | None) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the book's source: prose, notebooks, results, lists for the audit, the rooms."""
    prose = project.root() / "book"
    for path in prose.rglob("*"):
        name = path.relative_to(prose)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield name.as_posix(), path.read_bytes()
    for notebook in notebooks.in_book():
        places = Places(profile, notebook)
        yield f"{notebook}.ipynb", _page(places.executed)
        for path in places.results.iterdir():
            yield f"_results/{notebook}/{path.name}", path.read_bytes()
    yield "_results/artefacts.csv", _csv(audit.artefacts(profile, stale=stale))
    if (project.root() / CLAIMS).exists():
        yield "_results/claims.csv", _csv(verdicts.claims(profile))
    if (prose / "architecture.md").exists():
        found = architecture.rooms()
        yield "_results/architecture.html", architecture.drawing(found).encode()
        yield "_results/architecture.csv", _csv(architecture.table(found))


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False, lineterminator="\n").encode()


def _page(executed: Path) -> bytes:
    """Executed notebook with the list of its numbers at the end, unless it places that itself."""
    content = json.loads(executed.read_text(encoding="utf-8"))
    if not any("{numbers}" in "".join(cell["source"]) for cell in content["cells"]):
        cell = {"cell_type": "markdown", "id": "numbers", "metadata": {}, "source": "```{numbers}\n```"}
        content["cells"].append(cell)
    return json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False).encode()


def _site_key() -> dict[str, str]:
    """Hashes of what shapes the pages beside their sources."""
    here = Path(__file__).parent
    code = {f"{name}.py": fingerprints.of_file(here / f"{name}.py") for name in BUILDERS}
    return code | {name: fingerprints.of_file(project.root() / name) for name in CONFIGURATION}


def _configuration(profile: str, solutions: bool) -> Path:
    """The book's settings, or a copy of them that leaves out solutions, and sources, which hold them too."""
    path = project.root() / "_config.yml"
    if solutions:
        return path
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    sphinx = settings["sphinx"]["config"]
    sphinx |= {"hide_solutions": True, "html_copy_source": False}
    sphinx["html_theme_options"]["use_download_button"] = False
    copy = build_folder(profile) / "without-solutions.yml"
    copy.write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    return copy


def _run_jupyter_book(profile: str, configuration: Path) -> None:
    """Build from nothing with warnings as errors; a failure shows its warnings.

    Sphinx's own memory of an earlier build is not used: it misses changes that reach over pages, such as
    a new bibliography.
    """
    folder = build_folder(profile)
    shutil.rmtree(folder / "_build", ignore_errors=True)
    command = [
        str(Path(sys.executable).with_name("jupyter-book")),
        *("build", str(folder / "source")),
        *("--config", str(configuration)),
        *("--toc", str(project.root() / "_toc.yml")),
        *("--path-output", str(folder)),
        *("-W", "-n", "--keep-going", "-q"),
    ]
    environment = os.environ | {"BENCHTRUST_PROFILE": profile}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    output = Text.from_ansi(done.stdout + done.stderr).plain
    log = folder / "book.log"
    log.write_text(output, encoding="utf-8")
    if done.returncode:
        lines = output.splitlines()
        found = [line for line in lines if "WARNING" in line or "ERROR" in line] or lines[-20:]
        raise BookError("The book is not built:\n" + "\n".join(found) + f"\nWhole log: {log}")


def _replace(site: Path, built: Path) -> None:
    """Put the built pages in place of the published ones."""
    old = site.with_name("html.old")
    shutil.rmtree(old, ignore_errors=True)
    if site.exists():
        site.rename(old)
    built.rename(site)
    shutil.rmtree(old, ignore_errors=True)
