"""From finished runs of the packages to one committed record, without item texts."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from benchtrust import items as benchmarks
from benchtrust.errors import BenchtrustError, LogError, LogVersionError
from benchtrust.grid import record
from benchtrust.packages import environments, importers, joins
from benchtrust.packages.importers import LeftOut, Log, Report
from benchtrust.packages.importers.logs import RUN, read_json
from benchtrust.packages.recorded import manifest, settle
from benchtrust.packages.table import packages

FACTS = ("version", "commit", "seconds", "cpu_seconds", "started", "finished", "model_sha256", "lock_sha256")
"""What the manifest keeps of each run's ``run.json``, if it is there."""


def collect(runs: Path, source: str = "upstream") -> tuple[pd.DataFrame, Report]:
    """All finished runs as one table.

    Parameters
    ----------
    runs : folder with ``<package>/<model>/<benchmark>/``, each with the package's outputs and ``run.json``.
    source : items that were asked, ``"upstream"`` or ``"practice"``; runs on others are left out.

    Returns
    -------
    Table : `importers.COLUMNS`, one row an item and metric of a run, generated letters also as the book's
        parser reads them; item spans in generated texts are replaced; only answers that join to one of our
        items.
    Report : as of `importers.load`. Runs that cannot be read, and items that were asked and have no answer,
        are left out in it, the others whole.

    Raises
    ------
    BenchtrustError : there is no finished run.
    LogVersionError : runs of one package in several versions.
    """
    folders = sorted(path.parent for path in runs.glob(f"*/*/*/{RUN}"))
    if not folders:
        raise BenchtrustError(f"{runs} holds no finished run. Make some: benchtrust packages run --help")
    logs, asked, notes = _logs(folders, source)
    if not logs:
        raise BenchtrustError(f"No run on {source} items in {runs} can be read: {notes[0].reason}")
    importers.one_version(logs)
    among: dict[str, list[str]] = {}
    for folder, ids in asked.items():
        among.setdefault(folder.name, []).extend(ids)
    table, report = importers.frame(logs, source, among, lenient=True)
    table = table[table["item_id"].isin(_ours(table, source))].reset_index(drop=True)
    table = _scrubbed(table, source)
    notes += _unanswered(table, asked)
    return table, replace(report, left_out=(*notes, *report.left_out))


def write(
    table: pd.DataFrame,
    report: Report,
    runs: Path,
    target: Path,
    source: str = "upstream",
    keep: bool = False,
) -> list[str]:
    """Write a table of `collect` to ``target/<package>/<model>/<benchmark>.parquet``, and `manifest.json`.

    `importers.read` gives it back, checked against the manifest; `responses.read` the response table alone.

    Parameters
    ----------
    keep : leave what an earlier record holds of other runs.

    Returns
    -------
    Files of an earlier record that this one lacks; they are removed, unless they are kept.

    Raises
    ------
    BenchtrustError : what is kept is on other items; or a run here has fewer than the record has of it.
    LogVersionError : what is kept is of another version of a package.
    """
    facts = _manifest(table, report, runs) | {"items": source}
    if keep:
        earlier = manifest(target)
        if earlier.get("items", source) != source:
            raise BenchtrustError(
                f"{target} holds runs on {earlier['items']} items, these are on {source}: name another "
                "--target, or collect without --add."
            )
        _same_versions(earlier.get("runs", {}), facts["runs"])
        _none_smaller(earlier.get("runs", {}), facts["runs"])
    files = []
    for key, group in table.groupby(["package", "model", "benchmark"], sort=True):
        package, model, benchmark = map(str, key)
        path = target / package / model / f"{benchmark}.parquet"
        importers.write(group.reset_index(drop=True), path)
        files += [path, importers.side_of(path)]
    return settle(target, files, facts, keep)


def _same_versions(earlier: dict[str, dict], now: dict[str, dict]) -> None:
    """Check that the runs of a record and those added to it are of one version a package."""
    pinned = {name.split("/")[0]: run["version"] for name, run in now.items()}
    for name, run in earlier.items():
        wanted = pinned.get(name.split("/")[0], run["version"])
        if name not in now and run["version"] != wanted:
            raise LogVersionError(
                f"The record has {name} by {run['version']}, the runs here are by {wanted}: run all again, "
                "or collect without --add."
            )


def _none_smaller(earlier: dict[str, dict], now: dict[str, dict]) -> None:
    """Check that no run replaces one of more items."""
    smaller = {name: run for name, run in now.items() if run["items"] < earlier.get(name, run)["items"]}
    if smaller:
        told = ", ".join(
            f"{name} ({run['items']}, not {earlier[name]['items']})" for name, run in smaller.items()
        )
        raise BenchtrustError(
            f"The record has more items of {told}: run as many, name another --target, or collect without "
            "--add."
        )


def _logs(folders: list[Path], source: str) -> tuple[list[Log], dict[Path, list[str]], list[LeftOut]]:
    """Logs of the runs on these items, the items that each was asked, and what could not be read."""
    logs: list[Log] = []
    asked: dict[Path, list[str]] = {}
    notes: list[LeftOut] = []
    for folder in folders:
        name = "/".join(folder.parts[-3:])
        facts = read_json(folder / RUN)
        if facts.get("source", source) != source:
            notes.append(LeftOut(name, f"a run on {facts['source']} items", loss=False))
            continue
        if facts.get("lock_sha256", now := _lock(folder)) != now:
            notes.append(
                LeftOut(name, f"a run of {facts.get('version')}, not of the pinned lock: run it again")
            )
            continue
        try:
            found, _ = importers.logs_of([folder])
        except LogVersionError:
            raise
        except LogError as error:
            notes.append(LeftOut(name, str(error)))
            continue
        logs += found
        asked[folder] = list(facts.get("item_ids", []))
    return logs, asked, notes


def _lock(folder: Path) -> str | None:
    """Hash of the lock that is pinned for the package of a run's folder."""
    package = packages().get(folder.parts[-3])
    return environments.lock_sha256(package) if package else None


def _ours(table: pd.DataFrame, source: str) -> set[str]:
    """Ids of our items of the table's benchmarks."""
    names = [name for name in table["benchmark"].unique() if name in benchmarks.BENCHMARKS]
    return {item.item_id for name in names for item in joins.upstream(name, source)}


def _scrubbed(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """The table with item spans replaced in all that was generated."""
    parts = []
    for name, group in table.groupby("benchmark", sort=False):
        loaded = joins.upstream(str(name), source)
        text = pd.Series(record.scrub(group["completion"], loaded), index=group.index, dtype="str")
        raw = group["raw_output"].where(group["parse"] == "logprob", text)
        parts.append(group.assign(completion=text, raw_output=raw))
    return pd.concat(parts).sort_index() if parts else table


def _unanswered(table: pd.DataFrame, asked: dict[Path, list[str]]) -> list[LeftOut]:
    """Items that a run was asked and that have no row of it."""
    notes = []
    for folder, ids in asked.items():
        package, model, benchmark = folder.parts[-3:]
        own = (table["package"] == package) & (table["model"] == model) & (table["benchmark"] == benchmark)
        answered = set(table.loc[own, "item_id"])
        if missing := [item for item in ids if item not in answered]:
            notes.append(LeftOut("/".join(folder.parts[-3:]), "asked, but not answered", tuple(missing)))
    return notes


def _manifest(table: pd.DataFrame, report: Report, runs: Path) -> dict:
    """What was collected, from which runs, and what is missing."""
    keys = ["package", "model", "benchmark"]
    counts = table.groupby(keys).agg(
        answers=("item_id", "size"), items=("item_id", "nunique"), versions=("version", "first")
    )
    found = {
        "/".join(key): {"answers": int(row.answers), "items": int(row.items), "version": row.versions}
        for key, row in zip(counts.index, counts.itertuples(), strict=True)
    }
    for name, entry in found.items():
        facts = read_json(runs / name / RUN)
        entry.update({fact: facts[fact] for fact in FACTS if facts.get(fact) is not None})
    missing = report.missing()
    lost = missing[missing["id"] != ""].groupby("reason")["id"].size()
    return {
        "runs": found,
        "not_joined": sorted(report.unjoined["id"]),
        "left_out": {str(reason): int(n) for reason, n in lost.items()},
    }
