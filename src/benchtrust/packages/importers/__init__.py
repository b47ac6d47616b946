"""Logs of lm-evaluation-harness, HELM and Inspect as one table, whoever ran them."""

import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from benchtrust.errors import ForeignLogError, LogError, LogVersionError
from benchtrust.packages import environments
from benchtrust.packages.importers import helm, inspect, lm_eval
from benchtrust.packages.importers.frame import (
    COLUMNS,
    LENIENT,
    PACKAGE_COLUMNS,
    Report,
    frame,
    read,
    side_of,
    write,
)
from benchtrust.packages.importers.logs import RUN, LeftOut, Log, read_json
from benchtrust.packages.table import packages

__all__ = [
    "COLUMNS",
    "LENIENT",
    "PACKAGE_COLUMNS",
    "Found",
    "LeftOut",
    "Report",
    "frame",
    "load",
    "logs_of",
    "one_version",
    "read",
    "recognise",
    "side_of",
    "write",
]

FORMATS = {"lm_eval": lm_eval, "helm": helm, "inspect": inspect}
_HELM_FILES = (helm.SPEC, helm.STATE, helm.INSTANCES, helm.TOTALS)
_READ = (
    "Read are results_*.json with samples_*.jsonl of lm-eval, a run's folder of HELM (run_spec.json, "
    "scenario_state.json, per_instance_stats.json, stats.json), and .eval or JSON logs of Inspect"
)


@dataclass(frozen=True)
class Found:
    """A log: the package that wrote it, and the file or folder that names it."""

    package: str
    path: Path


def recognise(path: str | Path) -> Found:
    """Which package wrote a file or folder, by its content.

    Any file of a log names it: samples stand for their results, a file of HELM for its folder.

    Raises
    ------
    ForeignLogError : none of the three; the message says what was found.
    LogError : missing, empty or cut off before it tells.
    """
    path = Path(path)
    if path.is_dir():
        if helm.is_run(path):
            return Found("helm", path)
        raise ForeignLogError(f"{path} is a folder without a log of its own. {_READ}.")
    if not path.is_file():
        raise LogError(f"{path} does not exist: name a log, or a folder of logs.")
    if path.name in _HELM_FILES:
        return Found("helm", path.parent)
    if path.suffix == ".jsonl" and (results := lm_eval.results_of(path)):
        return Found("lm_eval", _beside(path, results))
    if path.suffix == ".eval" and not path.read_bytes()[:64].lstrip().startswith(b"{"):
        return Found("inspect", _zip(path))
    return _by_content(path)


def load(
    paths: Iterable[str | Path], version: str | None = None, source: str = "upstream"
) -> tuple[pd.DataFrame, Report]:
    """Read logs of any of the three packages.

    Parameters
    ----------
    paths : logs, and folders with logs anywhere below them.
    version : of the package, where its logs do not say it; of HELM, where logs of several packages are read.
    source : items that questions are joined to, ``"upstream"`` or ``"practice"``.

    Returns
    -------
    Table : `COLUMNS`; `write` puts it into files that notebooks read.
    Report : what was taken, and all that was not.

    Raises
    ------
    ForeignLogError, LogError : no log could be taken, with the reasons.
    LogVersionError : a version is missing or contradicted, or logs of a package are of several versions.
    """
    logs, notes = logs_of(paths, version)
    table, report = frame(logs, source)
    return table, replace(report, left_out=(*notes, *_unpinned(logs), *report.left_out))


def logs_of(paths: Iterable[str | Path], version: str | None = None) -> tuple[list[Log], tuple[LeftOut, ...]]:
    """The logs behind paths, and the files that were not taken; errors as `load`."""
    found, notes = _find([Path(path) for path in paths])
    logs: list[Log] = []
    errors: list[LogError] = []
    alone = len({entry.package for entry in found}) == 1
    for entry in dict.fromkeys(found):
        try:
            given = version if alone or entry.package == "helm" else None
            logs += FORMATS[entry.package].read(entry.path, given)
        except LogVersionError:
            raise
        except LogError as error:
            errors.append(error)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            errors.append(
                LogError(
                    f"{entry.path} looks like a log of {entry.package} but in a layout that is not read here "
                    f"({type(error).__name__}: {error}). It may be of another version of the package."
                )
            )
    if errors and not logs:
        raise errors[0]
    if not logs:
        broken = " ".join(note.reason for note in notes if note.loss)
        raise ForeignLogError(
            f"No log among {', '.join(map(str, paths)) or 'no paths'}. {broken or _READ + '.'}"
        )
    one_version(logs)
    return logs, (*notes, *(LeftOut("", str(error)) for error in errors))


def _unpinned(logs: Iterable[Log]) -> list[LeftOut]:
    """A note on each package whose logs are of another version than the one that is pinned here."""
    notes = []
    for name, found in {log.package: log.version.split(",")[0] for log in logs}.items():
        package = packages()[name]
        pinned = environments.pins(package)[package.distributions[0]]
        if found != pinned:
            reason = f"{package.title} {found}: the book compares {pinned}; tasks of one name can differ"
            notes.append(LeftOut("", reason, loss=False))
    return notes


def one_version(logs: Iterable[Log]) -> None:
    """Make sure that each package's logs are of one version.

    Raises
    ------
    LogVersionError : a package in several versions.
    """
    said: dict[str, dict[str, str]] = {}
    for log in logs:
        said.setdefault(log.package, {}).setdefault(log.version, str(log.path))
    for package, versions in said.items():
        if len(versions) > 1:
            words = "; ".join(f"{version or 'none'} in {path}" for version, path in sorted(versions.items()))
            raise LogVersionError(
                f"Logs of {package} in {len(versions)} versions, which score differently: {words}. Import "
                "each version by itself, into a table of its own."
            )


def _find(paths: Sequence[Path]) -> tuple[list[Found], tuple[LeftOut, ...]]:
    """Logs at and below paths, and what was not taken; the error of a single path is raised."""
    found: list[Found] = []
    strange: list[str] = []
    broken: list[LeftOut] = []
    for path in paths:
        if not path.is_dir() or helm.is_run(path):
            try:
                found.append(recognise(path))
            except LogError as error:
                if len(paths) == 1:
                    raise
                broken.append(LeftOut("", str(error)))
            continue
        for file in sorted(f for f in path.rglob("*") if f.is_file() and f.name != RUN):
            try:
                found.append(recognise(file))
            except ForeignLogError:
                strange.append(str(file))
            except LogError as error:
                broken.append(LeftOut("", str(error)))
    inside = {entry.path for entry in found if entry.package == "helm"}
    strange = [name for name in strange if Path(name).parent not in inside]
    note = LeftOut("", "files that are no log", tuple(strange), loss=False)
    return found, (*broken, *((note,) if strange else ()))


def _beside(samples: Path, results: Path) -> Path:
    if not results.is_file():
        raise LogError(
            f"{samples.name} needs {results.name} beside it, which says the version and the totals: copy "
            "both from the folder that lm-eval wrote."
        )
    return results


def _zip(path: Path) -> Path:
    if not path.stat().st_size:
        raise LogError(f"{path} is empty: its run did not end. Run again, or leave it out.")
    if not zipfile.is_zipfile(path):
        raise LogError(f"{path} is no whole zip, as an .eval log is: it was cut off. Copy it again.")
    return path


def _by_content(path: Path) -> Found:
    start = path.read_bytes()[: 1 << 16].lstrip()
    if not start:
        raise LogError(f"{path} is empty: its run did not end. Run again, or leave it out.")
    if path.suffix not in (".json", ".eval") or start[:1] != b"{":
        raise ForeignLogError(f"{path} is no log ({_short(start)}). {_READ}.")
    content = read_json(path)
    if lm_eval.is_results(content):
        return Found("lm_eval", path)
    if inspect.is_log(content):
        return Found("inspect", path)
    raise ForeignLogError(
        f"{path} is JSON with {', '.join(map(json.dumps, list(content)[:6]))}: no log. {_READ}."
    )


def _short(start: bytes) -> str:
    return f"it begins with {start[:24].decode(errors='replace')!r}"
