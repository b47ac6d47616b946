"""A release: what the book shows and rests on, in one folder that others can read and check.

``ro-crate-metadata.json`` says which notebook made what from what, ``datapackage.json`` what the tables hold,
``CITATION.cff`` how to cite it, and ``SHA256SUMS`` is checked by ``sha256sum -c SHA256SUMS`` alone.
"""

import shutil
import subprocess
import tempfile
from datetime import date
from pathlib import Path

import yaml

from benchtrust import project
from benchtrust.compendium import audit, fingerprints, ledger, notebooks, profiles, verdicts
from benchtrust.compendium.book import require_fresh
from benchtrust.compendium.claim_file import FILE as CLAIMS
from benchtrust.compendium.ledger import Ledger
from benchtrust.compendium.published import Places, build_folder
from benchtrust.compendium.release import crate, data_package
from benchtrust.errors import BenchtrustError

SUMS, CITATION = "SHA256SUMS", "CITATION.cff"
PLAIN = ("LICENSE", "NOTICE", "requirements.lock", CLAIMS)
"""Files of the repository that go along where they are there."""


class ReleaseError(BenchtrustError):
    """A folder that holds something else, or a file that is not the recorded one."""


def release(out: Path | None = None, profile: str = profiles.PAPER) -> Path:
    """Write a release of the published results of a profile.

    Parameters
    ----------
    out : path, optional
        Folder to write, ``build/release`` by default; an older release in it is replaced.
    profile : str
        Profile whose results are released.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    BookError
        A notebook of the book has no fresh run.
    ReleaseError
        The folder holds something else than a release, or a result is not the file that its ledger lists.
    """
    out = out or project.root() / "build" / "release"
    if out.exists() and any(out.iterdir()) and not (out / crate.FILE).exists():
        raise ReleaseError(f"{out} holds something else than a release: name another folder.")
    require_fresh(profile)
    recorded = ledger.read_all(build_folder(profile) / "results")
    homes = {name: recorded[name] for name in notebooks.in_book() if name in recorded}
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".release-") as name:
        folder = Path(name) / "release"
        write(folder, homes, profile)
        shutil.rmtree(out, ignore_errors=True)
        folder.rename(out)
    return out


def write(folder: Path, homes: dict[str, Ledger], profile: str) -> None:
    """Write a release of these ledgers into a new folder."""
    commit, day = _commit()
    _copy(folder, homes, profile)
    audit.artefacts(profile, stale=frozenset()).to_csv(folder / "audit.csv", index=False, lineterminator="\n")
    if (project.root() / CLAIMS).exists():
        verdicts.claims(profile).to_csv(folder / "claims.csv", index=False, lineterminator="\n")
    citation = _cite(folder, commit, day)
    data_package.write(folder, homes, citation, day)
    crate.write(folder, homes, citation, day)
    _sums(folder)


def _copy(folder: Path, homes: dict[str, Ledger], profile: str) -> None:
    """Copy results, notebooks, and the inputs that lie in the repository."""
    root = project.root()
    for notebook, home in homes.items():
        places = Places(profile, notebook)
        for artefact in home.artefacts.values():
            for file, sha in artefact.files.items():
                if fingerprints.of_file(places.results / file) != sha:
                    raise ReleaseError(f"{places.results / file} is not the file that its ledger lists.")
        shutil.copytree(places.results, folder / "results" / notebook)
        _put(root / f"notebooks/{notebook}.ipynb", folder / f"notebooks/{notebook}.ipynb")
    inputs = {name for home in homes.values() for name in home.inputs if crate.inside(name)}
    for name in sorted({*inputs, *PLAIN}):
        if (root / name).exists():
            _put(root / name, folder / name)


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    else:
        shutil.copy(source, target)


def _commit() -> tuple[str | None, str]:
    """Commit of the repository and its day; today where there is none."""
    commit, _ = fingerprints.commit()
    if commit is None:
        return None, date.today().isoformat()
    command = ["git", "-C", str(project.root()), "show", "-s", "--format=%cs", commit]
    return commit, subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _cite(folder: Path, commit: str | None, day: str) -> dict:
    """Write the repository's citation with commit and day, and return it."""
    citation = yaml.safe_load((project.root() / CITATION).read_text(encoding="utf-8"))
    citation |= {"date-released": day} | ({"commit": commit} if commit else {})
    text = yaml.safe_dump(citation, sort_keys=False, allow_unicode=True)
    (folder / CITATION).write_text(text, encoding="utf-8")
    return citation


def _sums(folder: Path) -> None:
    """Write the hash of every file, as ``sha256sum`` reads it."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = [f"{fingerprints.of_file(folder / file)}  {file}\n" for file in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
