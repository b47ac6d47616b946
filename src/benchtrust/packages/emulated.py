"""Our own harness as the fourth package, and each step of the paths: asked once, judged when collected.

What a model gave is kept in `build/packages/emulated/MODEL/BENCHMARK/`, a file for each thing it was asked,
named by its content. The record holds decisions and log-probabilities by item id, no text.
"""

import hashlib
import json
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from benchtrust.errors import BenchtrustError, DataFileError
from benchtrust.files import replacing
from benchtrust.inference import entry
from benchtrust.items import Item
from benchtrust.packages import emulate, environments
from benchtrust.packages import rows as layout
from benchtrust.packages.emulate import Recipe, Request
from benchtrust.packages.emulate.deciding import COLUMNS as DECIDED
from benchtrust.packages.recorded import settle, stated
from benchtrust.packages.table import packages

COLUMNS = ("model", "benchmark", "recipe", *DECIDED, "logprobs")
ASKED = "asked_{}.json"


@dataclass(frozen=True)
class Done:
    """One thing that a model was asked: number `place` of `total`, and the seconds; None if kept before."""

    place: int
    total: int
    recipe: Recipe
    seconds: float | None


@dataclass(frozen=True)
class Emulated:
    """Decisions of a model on a benchmark.

    Attributes
    ----------
    table : `COLUMNS`, a row per recipe (`Recipe.key`) and item; `logprobs` of the candidates in the recipe's
        order, None of a generated answer.
    missing : recipes on the paths that were not asked yet.
    facts : for the manifest.
    """

    table: pd.DataFrame
    missing: tuple[Recipe, ...]
    facts: dict

    @property
    def name(self) -> str:
        """``model/benchmark``."""
        return "/".join(self.table.loc[0, ["model", "benchmark"]])


def folder() -> Path:
    """Folder of all that was asked: ``<model>/<benchmark>/`` below it."""
    return environments.base() / "emulated"


def recipes(benchmark: str, names: Collection[str] | None = None) -> list[Recipe]:
    """Recipes on the paths to the named packages (all if None), each once: NF4 first, long answers last."""
    wanted = names or packages()
    keys = [key for key in emulate.recipes() if key[1] == benchmark and key[0] in wanted]
    found = {step.recipe.key: step.recipe for key in keys for step in emulate.path(*key)}
    return sorted(found.values(), key=lambda made: (made.precision != "nf4", made.generates * made.limit))


def ask(
    model: str,
    benchmark: str,
    n: int,
    source: str = "upstream",
    names: Collection[str] | None = None,
) -> Iterator[Done]:
    """Ask a catalogue model what the recipes of a benchmark ask; what is kept already is not asked again.

    Parameters
    ----------
    n, source : the grid's first `n` items, as `runs.run` takes them.
    names : packages whose paths are walked; all if None.

    Raises
    ------
    As `emulate.decisions`, and `benchtrust.inference.load`.
    """
    chosen, rest = layout.draw(benchmark, n, source)
    own = folder() / entry(model).name / benchmark
    facts = {"source": source, "item_ids": [i.item_id for i in chosen], "weights": entry(model).source}
    with replacing(own / ASKED.format(n)) as scratch:
        scratch.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    engines, wanted = emulate.Engines(entry(model).name), recipes(benchmark, names)
    for place, recipe in enumerate(wanted, start=1):
        given = _request(recipe, chosen, rest)
        path, started = own / _name(model, recipe, given), time.perf_counter()
        if path.is_file():
            yield Done(place, len(wanted), recipe, None)
            continue
        answers = emulate.answers(given, engines[recipe.precision])
        seconds = round(time.perf_counter() - started, 1)
        with replacing(path) as scratch:
            scratch.write_text(json.dumps({"seconds": seconds, "given": answers}, ensure_ascii=False))
        yield Done(place, len(wanted), recipe, seconds)


def collect(source: str = "upstream") -> list[Emulated]:
    """What was asked on these items, judged.

    Of several numbers of items that one is taken on which most recipes were asked, the larger of two alike.
    Errors as of `decided`.
    """
    best: dict[Path, Emulated] = {}
    for path in sorted(folder().glob(f"*/*/{ASKED.format('*')}")):
        if json.loads(path.read_text(encoding="utf-8"))["source"] != source:
            continue
        found, own = decided(path), path.parent
        if len(found.table) and (own not in best or _whole(found) > _whole(best[own])):
            best[own] = found
    return list(best.values())


def _whole(found: Emulated) -> tuple[int, int]:
    return found.table["recipe"].nunique(), found.facts["items"]


def decided(asked: Path) -> Emulated:
    """Judge what a model was asked on a benchmark, from the file that says which items these were.

    Raises
    ------
    BenchtrustError : items that were asked are not to be had.
    PackageError : a package that recipes take texts from is not installed.
    """
    facts, own = json.loads(asked.read_text(encoding="utf-8")), asked.parent
    model, benchmark = own.parts[-2:]
    chosen, rest = layout.draw(benchmark, len(facts["item_ids"]), facts["source"])
    if [item.item_id for item in chosen] != facts["item_ids"]:
        raise BenchtrustError(
            f"{own} holds answers to other items than the grid's first {len(chosen)}: ask again, "
            "`benchtrust packages emulate`."
        )
    tables, missing, seconds = [], [], {}
    for recipe in recipes(benchmark):
        path = own / _name(model, recipe, _request(recipe, chosen, rest))
        if not path.is_file():
            missing.append(recipe)
            continue
        kept = json.loads(path.read_text(encoding="utf-8"))
        seconds[path.name] = kept["seconds"]
        tables.append(_judged(recipe, chosen, kept["given"]))
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS)
    table = table.assign(model=model, benchmark=benchmark)
    said = {"items": len(chosen), "weights": facts["weights"], "seconds": round(sum(seconds.values()), 1)}
    return Emulated(table[list(COLUMNS)], tuple(missing), said | {"source": facts["source"]})


def write(found: Sequence[Emulated], target: Path, keep: bool = False) -> list[str]:
    """Write ``target/<model>/<benchmark>.parquet`` and a manifest that says what each recipe is.

    Parameters
    ----------
    keep : leave what an earlier record holds of other models and benchmarks.

    Returns
    -------
    Files of an earlier record that this one lacks; they are removed, unless they are kept.
    """
    files, known = [], {r.key: r for step in emulate.recipes().values() for r in recipes(step.benchmark)}
    runs = {}
    for one in found:
        files.append(target / f"{one.name}.parquet")
        with replacing(files[-1]) as scratch:
            one.table.to_parquet(scratch, index=False, compression="zstd", compression_level=9)
        runs[one.name] = one.facts | {"recipes": one.table["recipe"].nunique(), "missing": len(one.missing)}
    used = {key for one in found for key in one.table["recipe"]}
    named = {key: {k: v for k, v in asdict(known[key]).items() if k != "score"} for key in sorted(used)}
    return settle(target, files, {"runs": runs, "recipes": named}, keep)


def read(target: Path) -> pd.DataFrame:
    """Read what `write` wrote: all models and benchmarks, `COLUMNS`, checked against the manifest.

    Raises
    ------
    DataFileError : there is none, or a file is not the one of the manifest.
    """
    if not (files := [target / name for name in stated(target)]):
        raise DataFileError(f"{target} holds no emulation: benchtrust packages emulate, then collect.")
    table = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    return table.astype({"choice": "Int64"})


def steps(table: pd.DataFrame, path: Sequence[emulate.Step]) -> list[pd.DataFrame] | None:
    """Decisions of each step of a path, for `emulate.path_scores`; None if one was not asked.

    Parameters
    ----------
    table : of `read`, one model and benchmark.
    """
    own = dict(iter(table.groupby("recipe")))
    if not all(step.recipe.key in own for step in path):
        return None
    return [own[step.recipe.key].reset_index(drop=True) for step in path]


def _request(recipe: Recipe, chosen: Sequence[Item], rest: Sequence[Item]) -> Request:
    drawn = recipe.exemplars == "five drawn"
    train = emulate.helm_train(recipe.benchmark, chosen, rest) if drawn else ()
    return emulate.request(recipe, emulate.lay_out(recipe.truth, chosen), train)


def _name(model: str, recipe: Recipe, given: Request) -> str:
    """File of an answer: named by the weights and by all that the model was given."""
    content = f"{entry(model).source} {recipe.precision} {given.sha256}"
    return f"{hashlib.sha256(content.encode()).hexdigest()[:16]}.json"


def _judged(recipe: Recipe, chosen: Sequence[Item], given: list) -> pd.DataFrame:
    found = emulate.judge(recipe, emulate.lay_out(recipe.truth, chosen), given)
    return found.assign(recipe=recipe.key, logprobs=None if recipe.generates else pd.Series(given))
