"""Sabotage: does a changed input reach exactly what the ledger says hangs on it?

A copy of the project is damaged in one place, drawn by a seed: a response is flipped, an item dropped, two
models swapped, a notebook's seed changed. The notebooks run again in the copy. By the ledger's graph, those
artefacts are *expected* to be recorded anew that name a damaged file among their inputs, or the data of an
artefact that has moved. The check holds if

- exactly the expected ones are recorded anew: by another value or other bytes, or from inputs with another
  hash;
- none whose value or bytes moved is missing from the expected ones;
- at least one has moved; a damage that no value shows is drawn again, a few times.

An expected artefact may keep its value, as a count of models does when an answer is flipped: an edge says
what may change. Such ones are counted. What is measured live moves in any run and counts by its inputs alone.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from benchtrust import project, responses
from benchtrust.compendium import durations, fingerprints, ledger, notebooks, profiles, runner
from benchtrust.compendium.comparison import SAME_BYTES, compare
from benchtrust.compendium.ledger import Artefact, Ledger
from benchtrust.compendium.notebooks import NotebookError
from benchtrust.compendium.published import build_folder
from benchtrust.errors import BenchtrustError

SMOKE = "smoke"
TRIES = 3
"""Damages of a kind that are drawn at most, until one moves a value."""
COPIED = ("data", "src", "notebooks", "profiles", "_toc.yml", fingerprints.LOCK)
"""What a run reads of the repository."""


class SabotageError(BenchtrustError):
    """There is nothing to sabotage: no notebook reads a table of responses, or none has a seed."""


@dataclass(frozen=True)
class Damage:
    """What was done: in words, the files that changed, and parameters by notebook that did."""

    text: str
    files: tuple[str, ...] = ()
    parameters: Mapping[str, Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of one sabotage.

    Attributes
    ----------
    ran, stopped
        Notebooks run again; what those said that did not reach their end.
    expected, anew, moved
        Artefacts expected to be recorded anew, those that were, and those whose value or bytes moved.
    """

    kind: str
    damage: str
    ran: tuple[str, ...]
    stopped: tuple[str, ...]
    expected: frozenset[str]
    anew: frozenset[str]
    moved: frozenset[str]

    @property
    def unexpected(self) -> list[str]:
        """Artefacts that changed although the graph has no edge to them."""
        return sorted((self.anew | self.moved) - self.expected)

    @property
    def missed(self) -> list[str]:
        """Artefacts that the graph has an edge to and that were not recorded anew."""
        return sorted(self.expected - self.anew)

    @property
    def holds(self) -> bool:
        """Whether exactly the expected artefacts changed, and something moved."""
        return not self.unexpected and not self.missed and bool(self.moved)

    def lines(self) -> list[str]:
        """What a reader needs beside the counts: what broke the graph, what stopped, what kept its value."""
        kept = len(self.expected - self.moved)
        return [
            *(f"changed without an edge: {name}" for name in self.unexpected),
            *(f"an edge, but not recorded anew: {name}" for name in self.missed),
            *(["nothing moved: the damage was not noticed"] if not self.moved else []),
            *(f"stopped: {stop}" for stop in self.stopped),
            f"{kept} of {len(self.expected)} expected artefacts kept their value",
        ]


# ----------------------------------------------------------------------------------------------- damages

Tables = dict[str, pd.DataFrame]
"""Response tables of one input by the name of their file."""


def flip_a_response(tables: Tables, rng: np.random.Generator) -> tuple[str, Tables]:
    """Turn one scored answer, to an item that every model was asked, into the other."""
    whole = pd.concat(tables, names=["file", "row"]).reset_index()
    asked = whole.groupby(["benchmark", "item_id"])["model"].transform("nunique")
    most = whole.groupby("benchmark")["model"].transform("nunique")
    row = whole[(whole["outcome"] == "scored") & (asked == most) & whole["score"].isin([0, 1])]
    row = row.iloc[rng.integers(len(row))]
    frame = tables[row["file"]].copy()
    frame.loc[row["row"], "score"] = 1 - row["score"]
    place = f"{row['item_id']} by {row['model']} ({row['template']}, {row['scoring']})"
    return f"{place}: score {row['score']:g} → {1 - row['score']:g}", {row["file"]: frame}


def drop_an_item(tables: Tables, rng: np.random.Generator) -> tuple[str, Tables]:
    """Drop all answers to one item."""
    whole = pd.concat(tables.values())[["benchmark", "item_id"]].drop_duplicates().sort_values("item_id")
    benchmark, item = whole.iloc[rng.integers(len(whole))]
    left = {
        file: frame[(frame["benchmark"] != benchmark) | (frame["item_id"] != item)]
        for file, frame in tables.items()
    }
    return f"{item} of {benchmark} dropped", {f: new for f, new in left.items() if len(new) < len(tables[f])}


def swap_two_models(tables: Tables, rng: np.random.Generator) -> tuple[str, Tables]:
    """Exchange the names of two models that were asked the same, or of any two."""
    counts = pd.concat(tables.values()).groupby("model")["benchmark"].value_counts().unstack(fill_value=0)
    names = sorted(counts.index)
    pairs = [(a, b) for a in names for b in names if a < b]
    alike = [(a, b) for a, b in pairs if counts.loc[a].equals(counts.loc[b])]
    one, other = (alike or pairs)[rng.integers(len(alike or pairs))]
    names = {one: other, other: one}
    new = {file: frame.assign(model=frame["model"].replace(names)) for file, frame in tables.items()}
    changed = {file: new[file] for file, frame in tables.items() if frame["model"].isin(names).any()}
    return f"{one} ↔ {other}", changed


TABLES: dict[str, Callable[[Tables, np.random.Generator], tuple[str, Tables]]] = {
    "flip a response": flip_a_response,
    "drop an item": drop_an_item,
    "swap two models": swap_two_models,
}
SEED = "change a seed"
KINDS = (*TABLES, SEED)


# ------------------------------------------------------------------------------------------------- checks


def sabotage(
    profile: str = SMOKE,
    seed: int = 0,
    kinds: Sequence[str] = KINDS,
    *,
    everything: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> list[Outcome]:
    """Damage copies of the inputs in several ways and see what changes.

    Parameters
    ----------
    profile : str
        Sizes of the runs. Results that are not fresh are made so first.
    seed : int
        Of the draws: which input, which response, item, models, notebook.
    kinds : sequence of str
        Some of `KINDS`.
    everything : bool
        Run all notebooks of the book in the copy; else only those that read a damaged file, or another
        notebook's result that has moved.
    say : callable
        Told beforehand what will run and about how long it takes, and each notebook as it begins.

    Raises
    ------
    SabotageError
        Nothing to sabotage.
    """
    order = notebooks.in_book()
    _refresh(
        [n for n in order if not (build_folder(profile) / "results" / n / ledger.FILE).exists()], say, profile
    )
    rng = np.random.default_rng(seed)
    outcomes = []
    for kind in kinds:
        for left in reversed(range(TRIES)):
            ledgers = ledger.read_all(build_folder(profile) / "results")
            homes = {name: ledgers[name] for name in order}
            target = _target(kind, homes, rng)
            touched = [n for n, h in homes.items() if everything or n == target or _meet(h.inputs, target)]
            _refresh([n for n in touched if not runner.fresh(n, profile)], say, profile)
            say(f"{kind}: {durations.estimate(touched, profile)}; input {target}")
            outcome = _try(kind, target, profile, rng, everything, say)
            if outcome.moved or not left:
                break
            say(f"{kind}: {outcome.damage}: no value moved, so that it tests nothing; another is drawn")
        outcomes.append(outcome)
        say(f"{kind}: the graph {'holds' if outcome.holds else 'does NOT hold'}")
    return outcomes


def _target(kind: str, homes: Mapping[str, Ledger], rng: np.random.Generator) -> str:
    """The notebook whose seed changes, or the input to damage, drawn by its number of answers."""
    if kind == SEED:
        weights = {name: 1 for name, home in sorted(homes.items()) if home.seed is not None}
    else:
        names = sorted({name for home in homes.values() for name in home.inputs})
        files = {n: _tables(n, kind) for n in names if not n.startswith(fingerprints.DATA)}
        weights = {n: sum(pq.read_metadata(file).num_rows for file in own) for n, own in files.items() if own}
    if not weights:
        raise SabotageError(f"No notebook of the book gives anything to {kind}.")
    shares = np.fromiter(weights.values(), float)
    return list(weights)[rng.choice(len(weights), p=shares / shares.sum())]


def _tables(name: str, kind: str) -> list[Path]:
    """Files of an input that are response tables; none where one model cannot be swapped."""
    path = fingerprints.locate(name)
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path] * (path.suffix == ".parquet")
    files = [file for file in files if {"outcome", "cell_id", "item_id"} <= set(pq.read_schema(file).names)]
    if kind == "swap two models" and files:
        models = {m for file in files for m in pd.read_parquet(file, columns=["model"])["model"].unique()}
        return files if len(models) > 1 else []
    return files


def _try(
    kind: str,
    target: str,
    profile: str,
    rng: np.random.Generator,
    everything: bool,
    say: Callable[[str], None],
) -> Outcome:
    """One sabotage in a copy of the project: damage, run again, compare with the published results."""
    published = build_folder(profile) / "results"
    old = ledger.read_all(published)
    with _copy() as root:
        damage = _change_seed(target, old) if kind == SEED else _damage(kind, target, root, rng)
        changed, seen = list(damage.files), _Seen()
        for notebook in notebooks.in_book():
            home, values = old[notebook], (damage.parameters or {}).get(notebook, {})
            expected = {a.name for a in home.artefacts.values() if values or _covers(a.inputs, changed)}
            if not (everything or expected or values or _covers(home.inputs, changed)):
                _lend(published / notebook, root, profile, notebook)
                continue
            say(f"  {notebook}")
            new, results, stop = _run(notebook, home, values, root, profile)
            seen.add(notebook, home, new, expected, (published / notebook, results), stop)
            changed += _moved_data(home, new, profile)
    return Outcome(kind, damage.text, *seen.frozen())


class _Seen:
    """What the notebooks of one sabotage gave, added up."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.stopped: list[str] = []
        self.expected: set[str] = set()
        self.anew: set[str] = set()
        self.moved: set[str] = set()

    def add(
        self,
        notebook: str,
        old: Ledger,
        new: Ledger,
        expected: set[str],
        folders: tuple[Path, Path],
        stop: str,
    ) -> None:
        """Compare what a notebook has recorded with what it had."""
        self.ran.append(notebook)
        self.stopped += [stop] if stop else []
        self.expected |= expected
        for name, entry in old.artefacts.items():
            moved = _moved(entry, new.artefacts.get(name), folders)
            self.moved |= {name} if moved else set()
            if moved or _rests_on_other(old, new, name):
                self.anew.add(name)

    def frozen(self) -> tuple[Any, ...]:
        """The fields of an outcome, in its order."""
        sets = (frozenset(group) for group in (self.expected, self.anew, self.moved))
        return tuple(self.ran), tuple(self.stopped), *sets


def _moved(old: Artefact, new: Artefact | None, folders: tuple[Path, Path]) -> bool:
    if new is None:
        return True
    return not old.live and compare(old, new, *folders).outcome != SAME_BYTES


def _rests_on_other(old: Ledger, new: Ledger, name: str) -> bool:
    """Whether an artefact was made with other parameters, or from an input with another hash, than before."""
    inputs = new.artefacts[name].inputs
    return new.parameters != old.parameters or any(new.inputs[i] != old.inputs.get(i) for i in inputs)


def _meet(inputs: Mapping[str, str], target: str) -> bool:
    """Whether one of the inputs is the target, lies in it or holds it."""
    return _covers(inputs, [target]) or any(_covers([target], [name]) for name in inputs)


def _covers(inputs: Sequence[str] | Mapping[str, str], files: Sequence[str]) -> bool:
    """Whether one of the inputs is one of the files, or a folder that holds one."""
    return any(file == name or file.startswith(f"{name}/") for name in inputs for file in files)


def _moved_data(old: Ledger, new: Ledger, profile: str) -> list[str]:
    """Names, as other notebooks read them, of data files that are not the recorded ones."""
    folder = f"build/{profile}/results/{old.notebook}"
    pairs = [(entry, new.artefacts.get(name)) for name, entry in old.artefacts.items() if entry.data]
    return [
        f"{folder}/{entry.data}"
        for entry, now in pairs
        if now is None or now.files[now.data] != entry.files[entry.data]
    ]


# --------------------------------------------------------------------------------------------------- runs


def _refresh(names: Sequence[str], say: Callable[[str], None], profile: str) -> None:
    """Make results fresh that sabotaged ones are compared with."""
    if names:
        say(f"First, to compare with: {durations.estimate(names, profile)}.")
    for name in names:
        say(f"  {name}")
        runner.run(name, profile=profile)


@contextmanager
def _copy() -> Iterator[Path]:
    """A copy of what a run reads, as the project of this process and its kernels."""
    root, before = project.root(), os.environ.get("BENCHTRUST_ROOT")
    with tempfile.TemporaryDirectory(prefix="benchtrust-sabotage-", ignore_cleanup_errors=True) as name:
        for entry in COPIED:
            copy = shutil.copytree if (root / entry).is_dir() else shutil.copy
            copy(root / entry, Path(name) / entry)
        os.environ["BENCHTRUST_ROOT"] = name
        try:
            yield Path(name).resolve()
        finally:
            os.environ.pop("BENCHTRUST_ROOT")
            if before is not None:
                os.environ["BENCHTRUST_ROOT"] = before


def _damage(kind: str, target: str, root: Path, rng: np.random.Generator) -> Damage:
    """Damage the response tables of an input in the copy; manifests get the new hashes."""
    files = _tables(target, kind)
    names = [file.resolve().relative_to(root).as_posix() for file in files]
    tables = {name: responses.read(file) for name, file in zip(names, files, strict=True)}
    text, changed = TABLES[kind](tables, rng)
    for name, frame in changed.items():
        responses.write(frame, root / name)
        _list_anew(root / name, root)
    return Damage(f"{text}, in {target}", tuple(changed))


def _list_anew(file: Path, root: Path) -> None:
    """Give a damaged file's new hash to the manifest that lists it, as one would who hides the change."""
    for folder in file.relative_to(root).parents:
        manifest = root / folder / "manifest.json"
        if manifest.is_file():
            facts = json.loads(manifest.read_text(encoding="utf-8"))
            facts.setdefault("files", {})[file.relative_to(manifest.parent).as_posix()] = (
                fingerprints.of_file(file)
            )
            manifest.write_text(json.dumps(facts), encoding="utf-8")


def _change_seed(notebook: str, ledgers: Mapping[str, Ledger]) -> Damage:
    seed = ledgers[notebook].parameters["seed"]
    return Damage(f"{notebook}: seed {seed} → {seed + 1}", (), {notebook: {"seed": seed + 1}})


def _lend(results: Path, root: Path, profile: str, notebook: str) -> Path:
    """Put results into the copy, for the notebooks that read them."""
    target = root / "build" / profile / "results" / notebook
    return Path(shutil.copytree(results, target))


def _run(
    notebook: str, home: Ledger, values: Mapping[str, Any], root: Path, profile: str
) -> tuple[Ledger, Path, str]:
    """Run a notebook in the copy; after a failure, what it had recorded until then and the last line said."""
    source, stop = notebooks.read(notebook), ""
    with runner.workspace(build_folder(profile)) as folder:
        try:
            runner.execute(
                source, profiles.effective(source, home.parameters | dict(values)), folder, profile
            )
        except NotebookError as error:
            stop = f"{str(error).splitlines()[0]} {str(error).splitlines()[-1]}"
        if not (folder / "results" / ledger.FILE).exists():
            raise NotebookError(f"{notebook} recorded nothing in the copy: {stop}")
        results = _lend(folder / "results", root, profile, notebook)
    return ledger.read(results), results, stop
