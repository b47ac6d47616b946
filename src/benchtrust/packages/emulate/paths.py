"""Scores along a path of recipes, agreement with what a package recorded, and how packages differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.packages import environments
from benchtrust.packages.emulate.prompts import N_SHOTS
from benchtrust.packages.emulate.recipes import BEHAVIOUR, LEVELS, OURS, Recipe, Step, ours, recipes
from benchtrust.packages.table import Package, packages

NEAR = 1e-3
SAME = 1e-3
"""Largest difference of two scores of a share that counts as the same."""
DIGITS = 12
"""Decimals of a score: the same items right give the same score by every rule that weighs them alike."""

PATH_COLUMNS = [
    "step",
    "field",
    "level",
    "name",
    "score",
    "n",
    "n_unparsed",
    "equal",
    "change",
    "low",
    "high",
]
SHOTS = {"none": 0, "six fixed": 6, "five drawn": N_SHOTS}


@dataclass(frozen=True)
class Agreement:
    """How far an emulation decides as a package did.

    Attributes
    ----------
    n, n_equal : items that both have, and those decided alike.
    n_missing : items of one side only.
    differing : a row per item decided otherwise: item_id, part, choice and score on either side, margin, and
        cause: ``"near tie"`` where the emulation's margin is under 1e-3, else ``"not explained"``.
    """

    n: int
    n_equal: int
    n_missing: int
    differing: pd.DataFrame

    @property
    def share(self) -> float:
        """Share of decisions reproduced; NaN without items."""
        return self.n_equal / self.n if self.n else float("nan")


def path_scores(
    steps: Sequence[Step],
    tables: Sequence[pd.DataFrame],
    n_draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """Scores along a path, each compared with the step before on the same items.

    Parameters
    ----------
    steps : from our harness to a package's recipe (`path`).
    tables : the decisions of each step (`decisions`), the same items in the same order.
    n_draws, rng : draws of the items with replacement within parts, and their source.
    level : confidence of the intervals, between 0 and 1.

    Returns
    -------
    A row per step: step (its number), field, level, name, score, n, n_unparsed, equal (share of decisions
    equal to the step before; NaN at the first), change of the score by the step, and its paired interval
    low, high.
    """
    draws = _counts(tables[0]["part"], n_draws, rng)
    once = np.ones((1, len(tables[0])))
    rows, before = [], None
    for number, (step, table) in enumerate(zip(steps, tables, strict=True)):
        rule = step.recipe.score
        score, drawn = (_means(table, counts, rule) for counts in (once, draws))
        change, low, high, equal = np.nan, np.nan, np.nan, np.nan
        if before is not None:
            change = float(score[0] - before[0])
            low, high = np.quantile(drawn - before[1], [(1 - level) / 2, (1 + level) / 2])
            equal = float(_same(table, tables[number - 1]).mean())
        before = score[0], drawn
        unparsed = int((table["outcome"] == "unparsed").sum())
        at = (step.field, str(getattr(step.recipe, step.field)) if step.field else "", step.name)
        rows.append([number, *at, float(score[0]), len(table), unparsed, equal, change, low, high])
    return pd.DataFrame(rows, columns=PATH_COLUMNS)


def _same(a: pd.DataFrame, b: pd.DataFrame) -> pd.Series:
    """Where two tables of the same items decide alike: the same choice, or the same score where none is."""
    chosen = a["choice"].notna() & b["choice"].notna()
    alike = (a["score"] - b["score"]).abs() < SAME
    either = a["choice"].isna() & b["choice"].isna()
    return pd.Series(np.where(chosen, (a["choice"] == b["choice"]).fillna(False), either & alike), a.index)


def _counts(parts: Sequence[str], n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """How often each draw holds each item, (n_draws, items); every part keeps its size."""
    if n_draws < 1:
        raise SchemaError(f"{n_draws} draws of the items: give 1 or more.")
    named = np.asarray(parts)
    counts = np.empty((n_draws, len(named)))
    for part in np.unique(named):
        own = np.flatnonzero(named == part)
        counts[:, own] = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size=n_draws)
    return counts


def _means(table: pd.DataFrame, counts: np.ndarray, rule: str) -> np.ndarray:
    """Score of a table by a rule, one for each row of counts."""
    scores, parts = table["score"].to_numpy(), table["part"].to_numpy()
    if rule == "mean of parts":
        groups = [np.flatnonzero(parts == part) for part in np.unique(parts)]
        shares = [counts[:, own] @ scores[own] / counts[:, own].sum(axis=1) for own in groups]
        return np.mean(shares, axis=0).round(DIGITS)
    means = counts @ scores / counts.sum(axis=1)
    return (1 - 2 * np.abs(means - 0.5) if rule == "parity" else means).round(DIGITS)


def agreement(emulated: pd.DataFrame, recorded: pd.DataFrame) -> Agreement:
    """Compare an emulation's decisions with those that a package recorded.

    Parameters
    ----------
    emulated : of `decisions`.
    recorded : columns item_id and score, one row an item; choice too where the package's log tells it, NA
        where it read no answer. Without a choice on either side the scores are compared, up to 1e-3.

    Raises
    ------
    SchemaError : a column is missing, or an item stands twice.
    """
    if missing := {"item_id", "score"} - set(recorded):
        raise SchemaError(f"The recorded decisions have no column {sorted(missing)}.")
    for name, table in (("emulated", emulated), ("recorded", recorded)):
        if twice := sorted(table.loc[table["item_id"].duplicated(), "item_id"]):
            raise SchemaError(f"{len(twice)} {name} items stand twice, such as {twice[0]!r}.")
    kept = recorded.assign(choice=recorded.get("choice", pd.NA))
    both = emulated.merge(kept[["item_id", "choice", "score"]], on="item_id", suffixes=("", "_recorded"))
    ours = both[["choice", "score"]]
    theirs = both[["choice_recorded", "score_recorded"]].set_axis(["choice", "score"], axis=1)
    if "choice" not in recorded:
        ours = ours.assign(choice=pd.NA)
    same = _same(ours, theirs)
    rest = both[~same]
    cause = np.where(rest["margin"] < NEAR, "near tie", "not explained")
    columns = ["item_id", "part", "choice", "choice_recorded", "score", "score_recorded", "margin"]
    n_missing = len(emulated) + len(recorded) - 2 * len(both)
    differing = rest[columns].assign(cause=cause).reset_index(drop=True)
    return Agreement(len(both), int(same.sum()), n_missing, differing)


def implementations() -> pd.DataFrame:
    """How our harness and each package implement each benchmark, from the recipes.

    Returns
    -------
    A row per benchmark, package and stock task, ours before all others: package, version as pinned, task,
    prompt, shots and which they are, chat template, candidate, scoring (extraction, limit of a generated
    answer, and score), and truth with the order of the options.
    """
    rows = [_implementation(OURS, "", "", ours(name)) for name in dict.fromkeys(key[1] for key in recipes())]
    for (package, _, task), made in recipes().items():
        found = packages()[package]
        rows.append(_implementation(found.title, _pinned(found), task, made))
    return pd.DataFrame(rows)


def _pinned(package: Package) -> str:
    """Versions of a package's distributions, the first without its name: it is the package's own."""
    pinned, (first, *others) = environments.pins(package), package.distributions
    return ", ".join([pinned[first], *(f"{name} {pinned[name]}" for name in others)])


def _implementation(title: str, version: str, task: str, recipe: Recipe) -> dict[str, object]:
    said = {name: levels[getattr(recipe, name)] for name, levels in LEVELS.items() if levels}
    said |= BEHAVIOUR if recipe.benchmark == "xstest" else {}
    limit = f", at most {recipe.limit} token{'s' * (recipe.limit > 1)}" if recipe.generates else ""
    return {
        "package": title,
        "version": version,
        "benchmark": recipe.benchmark,
        "task": task,
        "candidate": said["candidate"],
        "prompt": said["prompt"],
        "shots": SHOTS[recipe.exemplars],
        "exemplars": said["exemplars"],
        "chat template": said["chat"] if recipe.system == "none" else f"{said['chat']}; {said['system']}",
        "scoring": f"{said['extraction']}{limit}; {said['score']}",
        "truth": said["truth"],
    }


def spread(
    scores: pd.DataFrame,
    n_draws: int,
    rng: np.random.Generator,
    reference: str,
    rules: Mapping[str, str] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Scores of the same items in several packages, each compared with one of them.

    Parameters
    ----------
    scores : columns package, item_id, part and score: one benchmark, the same items in every package.
    n_draws, rng : draws of the items with replacement within parts, and their source.
    reference : the package that the others are compared with.
    rules : package → how its items make a score (level of `score`); the mean of items where none is given.

    Returns
    -------
    A row per package, in the order of the table: package, score, n, difference from the reference and its
    paired interval low, high (NaN for the reference itself).

    Raises
    ------
    SchemaError : no row of the reference; an item that some package lacks, or that stands twice.
    """
    names = list(dict.fromkeys(scores["package"]))
    if reference not in names:
        raise SchemaError(f"No scores of {reference!r} to compare with: there are {', '.join(names)}.")
    if scores.duplicated(["package", "item_id"]).any():
        raise SchemaError("An item stands twice in a package: keep one row an item.")
    order = scores.loc[scores["package"] == reference, "item_id"]
    tables = {name: own.set_index("item_id") for name, own in scores.groupby("package")}
    if uneven := [name for name in names if set(tables[name].index) != set(order)]:
        raise SchemaError(
            f"{', '.join(uneven)} and {reference} do not have the same items: keep common ones."
        )
    tables = {name: tables[name].loc[order] for name in names}
    draws, once = _counts(tables[reference]["part"], n_draws, rng), np.ones((1, len(order)))
    rules = dict.fromkeys(names, "mean of items") | dict(rules or {})
    found = {name: [_means(tables[name], counts, rules[name]) for counts in (once, draws)] for name in names}
    rows = []
    for name in names:
        gap = [a - b for a, b in zip(found[name], found[reference], strict=True)]
        low, high = np.quantile(gap[1], [(1 - level) / 2, (1 + level) / 2])
        ends = (np.nan,) * 3 if name == reference else (float(gap[0][0]), low, high)
        rows.append([name, float(found[name][0][0]), len(order), *ends])
    return pd.DataFrame(rows, columns=["package", "score", "n", "difference", "low", "high"])
