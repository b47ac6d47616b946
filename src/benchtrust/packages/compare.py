"""Packages side by side: decisions on the same items, the spread of their scores, where they disagree."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score

from benchtrust import responses
from benchtrust.errors import SchemaError
from benchtrust.packages import emulate, emulated
from benchtrust.packages.emulate import OURS
from benchtrust.packages.emulate.paths import PATH_COLUMNS
from benchtrust.packages.importers import LENIENT
from benchtrust.packages.table import packages

COLUMNS = (
    "model",
    "benchmark",
    "package",
    "task",
    "reading",
    "item_id",
    "part",
    "choice",
    "score",
    "outcome",
)
PATH_KEY = ["model", "benchmark", "package", "task"]


def decisions(recorded: pd.DataFrame, emulation: pd.DataFrame) -> pd.DataFrame:
    """What each package and our own harness decided on each item.

    Parameters
    ----------
    recorded : of `importers.read`.
    emulation : of `emulated.read`; ours is the first step of every path.

    Returns
    -------
    `COLUMNS`, a row per item of each model, benchmark, package and task (of `emulate.recipes`). `reading` is
    ``"own"`` for what the package decided, ``"lenient"`` for what the book's parser reads in its answers. An
    answer that was not read has score 0 and no choice; one that failed has none and no score.
    """
    logged = recorded[["package", "benchmark", "task"]].drop_duplicates()
    known = recorded.merge(logged.assign(stock=[_task(*row) for row in logged.itertuples(index=False)]))
    known = known.assign(
        task=known["stock"],
        reading=np.where(known["metric"] == LENIENT, "lenient", "own"),
        score=known["score"].where(known["outcome"].isin(["scored", "failed"]), 0.0),
    )
    first = known.drop_duplicates([*PATH_KEY, "item_id", "reading"])[list(COLUMNS)]
    keys = {emulate.ours(name).key for name in emulation["benchmark"].unique()}
    own = emulation[emulation["recipe"].isin(keys)].assign(package=OURS, task="", reading="own")
    whole = pd.concat([own[list(COLUMNS)], first], ignore_index=True)
    whole = whole.sort_values("package", key=lambda names: names.map(list(titles()).index), kind="stable")
    return whole.astype({"choice": "Int64", "score": float}).fillna({"part": ""}).reset_index(drop=True)


def _task(package: str, benchmark: str, logged: str) -> str:
    """Stock task of the recipes that a log's task is; the log's own name where none is."""
    known = [task for own, name, task in emulate.recipes() if (own, name) == (package, benchmark)]
    return next((task for task in known if logged.startswith(task)), logged)


def chance_levels(emulation: pd.DataFrame) -> dict[str, float]:
    """Score of choosing by lot, as of `responses.chance_levels`, from what our own harness compares."""
    keys = {emulate.ours(name).key for name in emulation["benchmark"].unique()}
    first = emulation[emulation["recipe"].isin(keys)]
    return responses.chance_levels(first.rename(columns={"logprobs": "option_logprobs"}))


def chance_marks(paths: Mapping[str, pd.DataFrame], known: Mapping[str, float]) -> dict[str, float]:
    """Chance of each path along which it stays what it is: among the same options, by the same kind of score.

    Parameters
    ----------
    paths : title → one path of `paths`.
    known : of `chance_levels`.
    """
    marks = {}
    for title, table in paths.items():
        name = table["benchmark"].iloc[0]
        others = {"wordings", "all answers"} & set(table["level"])
        if name in known and not others and rule(OURS, name) != "parity":
            marks[title] = known[name]
    return marks


def chance_of_wordings(emulation: pd.DataFrame) -> float:
    """Score of choosing by lot among the texts that lm-eval's BBQ weighs: two groups, all others "unknown".

    Returns
    -------
    From 0 to 1; NaN where this was not asked.
    """
    asked = emulation[emulation["recipe"] == emulate.recipe("lm_eval", "bbq").key].drop_duplicates("item_id")
    n_texts = asked["logprobs"].map(len)
    return float(((n_texts - 2).where(asked["part"] == "ambiguous", 1) / n_texts).mean())


def rule(package: str, benchmark: str, task: str = "") -> str:
    """How a package makes a score of its items, a level of `emulate.recipes.LEVELS`."""
    made = emulate.ours(benchmark) if package == OURS else emulate.recipe(package, benchmark, task)
    return made.score


def common(found: pd.DataFrame) -> pd.DataFrame:
    """Decisions of one model and benchmark on the items that every package scored, by its first task.

    Returns
    -------
    Rows of `found` with a score, of every package's first task as it read its answers itself.
    """
    own = found[(found["reading"] == "own") & found["score"].notna()]
    first = own.groupby("package")["task"].transform("first")
    own = own[own["task"] == first]
    everywhere = own.groupby("item_id")["package"].transform("nunique") == own["package"].nunique()
    return own[everywhere]


def scores(found: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Score of each stock task, on all items that it scored.

    Parameters
    ----------
    found : of `decisions`.
    by : further columns, such as ``part``, to score apart; within them a score is the mean of its items.

    Returns
    -------
    A row per model, benchmark, package, task and value of `by`: score, n and unread, the share of the items
    from whose answers no choice was read.
    """
    own = found[(found["reading"] == "own") & found["score"].notna()]
    rows = []
    for key, table in own.groupby([*PATH_KEY, *by], sort=False):
        _, benchmark, package, task = key[:4]
        made = "mean of items" if by else rule(package, benchmark, task)
        rows.append([*key, _score(table, made), len(table), (table["outcome"] != "scored").mean()])
    return pd.DataFrame(rows, columns=[*PATH_KEY, *by, "score", "n", "unread"])


def beside(
    trained: pd.DataFrame, untrained: pd.DataFrame, n_draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """A trained model and one that knows nothing by each stock task, on the items that both were scored on.

    Parameters
    ----------
    trained, untrained : of `decisions`, one model each.
    n_draws, rng : draws of the items, as of `emulate.spread`.

    Returns
    -------
    A row per benchmark, package, task and part ("all" and, where there are parts, each of them): score and
    score_random by the task's rule; ahead, how far the trained model is, with its paired interval low, high
    (of a share of stereotypes: how much nearer to one half, doubled); n; unread, the share of answers of
    either that no choice was read from.
    """
    key = ["benchmark", "package", "task"]
    both = [own[(own["reading"] == "own") & own["score"].notna()] for own in (trained, untrained)]
    pair = pd.concat([own.assign(side=side) for own, side in zip(both, ("trained", "random"), strict=True)])
    pair = pair[pair.groupby([*key, "item_id"])["side"].transform("nunique") == 2]
    whole = pair.assign(of="all")
    parts = pair[pair["part"] != ""]
    rows = []
    for names, own in pd.concat([whole, parts.assign(of=parts["part"])]).groupby([*key, "of"], sort=False):
        made = rule(names[1], names[0], names[2]) if names[3] == "all" else "mean of items"
        sides = own.assign(package=own["side"])
        fair = "parity" if rule(OURS, names[0]) == "parity" else made
        rules = {"trained": fair, "random": fair}
        gap = emulate.spread(sides, n_draws, rng, "random", rules).set_index("package")
        scored = [_score(table, made) for _, table in sorted(sides.groupby("package"), reverse=True)]
        unread = (own["outcome"] != "scored").mean()
        rows.append([*names, *scored, *gap.loc["trained", ["difference", "low", "high", "n"]], unread])
    names = ["part", "score", "score_random", "ahead", "low", "high", "n", "unread"]
    return pd.DataFrame(rows, columns=[*key, *names]).astype({"n": int})


def spreads(found: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> pd.DataFrame:
    """Scores of the packages on their common items, each compared with our harness.

    Parameters
    ----------
    found : of `decisions`.
    n_draws, rng : draws of the items, as of `emulate.spread`.

    Returns
    -------
    A row per model, benchmark and package, as of `emulate.spread`; without those that ours is missing for.

    Raises
    ------
    SchemaError : no model has a benchmark in a package and in our harness too.
    """
    parts = []
    for (model, benchmark), own in found.groupby(["model", "benchmark"], sort=False):
        same = common(own)
        names = list(dict.fromkeys(same["package"]))
        if OURS in names and len(names) > 1:
            rules = {name: rule(name, benchmark) for name in names}
            table = emulate.spread(same, n_draws, rng, OURS, rules)
            parts.append(table.assign(model=model, benchmark=benchmark))
    if not parts:
        raise SchemaError(
            f"No benchmark of {', '.join(found['model'].unique()) or 'any model'} has items that a package "
            f"and {OURS} both scored: benchtrust packages emulate, then collect."
        )
    return pd.concat(parts, ignore_index=True)


def widest(
    found: pd.DataFrame,
    n_draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
    most_unread: float = 1.0,
) -> pd.DataFrame:
    """Gap between the highest and the lowest of the three packages, our harness left out.

    Parameters
    ----------
    most_unread : packages that read no choice from a larger share of a model's answers are left out: their
        score is of the format, not of the answers.

    Returns
    -------
    A row per model and benchmark that two packages or more have: highest, lowest, spread, its paired interval
    low, high (items drawn again; the two were picked for being far apart), items, and unread, the share of
    the lowest one's answers that no choice was read from.

    Raises
    ------
    SchemaError : two packages have no model and benchmark in common.
    """
    rows = []
    for (model, benchmark), own in found[found["package"] != OURS].groupby(
        ["model", "benchmark"], sort=False
    ):
        same = common(own)
        unread = (same["outcome"] != "scored").groupby(same["package"]).mean()
        same = same[same["package"].map(unread) <= most_unread]
        if same["package"].nunique() < 2:
            continue
        rules = {name: rule(name, benchmark) for name in same["package"].unique()}
        means = emulate.spread(same, 1, rng, next(iter(rules)), rules).set_index("package")["score"]
        high, low = means.idxmax(), means[::-1].idxmin()
        pair = same[same["package"].isin([high, low])]
        gap = emulate.spread(pair, n_draws, rng, low, rules, level).set_index("package")
        ends = gap.loc[high, ["difference", "low", "high"]]
        rows.append([model, benchmark, high, low, *ends, same["item_id"].nunique(), unread[low]])
    if not rows:
        raise SchemaError(
            f"Of {_listed(found)} no benchmark was answered, and read often enough, in two packages: name "
            "another benchmark beside it, or run a second package."
        )
    columns = ["model", "benchmark", "highest", "lowest", "spread", "low", "high", "items", "unread"]
    return pd.DataFrame(rows, columns=columns)


def disagreements(found: pd.DataFrame) -> pd.DataFrame:
    """How often two packages score an item differently, for each pair on the items that all of them have.

    Returns
    -------
    A row per model, benchmark and pair: package_a, package_b, items, only_a and only_b (items that one alone
    has right), differ (share of the items), and Cohen's kappa of right and wrong (NaN where one of the two is
    right, or wrong, everywhere).
    """
    rows = []
    for (model, benchmark), own in found.groupby(["model", "benchmark"], sort=False):
        same = common(own)
        right = same.pivot(index="item_id", columns="package", values="score") >= 0.5
        for a, b in combinations(dict.fromkeys(same["package"]), 2):
            one, other = right[a], right[b]
            counts = [int((one & ~other).sum()), int((~one & other).sum())]
            constant = one.nunique() == 1 or other.nunique() == 1
            kappa = np.nan if constant else float(cohen_kappa_score(one, other))
            rows.append([model, benchmark, a, b, len(right), *counts, sum(counts) / len(right), kappa])
    columns = ["model", "benchmark", "package_a", "package_b", "items", "only_a", "only_b", "differ", "kappa"]
    return pd.DataFrame(rows, columns=columns)


def readings(found: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> pd.DataFrame:
    """Generated answers read by the package's own rule and by the book's parser, from the same texts.

    Returns
    -------
    A row per model, benchmark and package whose answers are letters: n, strict and lenient score, their
    paired difference with its interval low, high, and unread_strict and unread_lenient, shares of the items.

    Raises
    ------
    SchemaError : no package generated letters.
    """
    rows = []
    for key, own in found.groupby(["model", "benchmark", "package"], sort=False):
        if "lenient" not in set(own["reading"]):
            continue
        both = own[own["score"].notna()].assign(package=own["reading"])
        rules = dict.fromkeys(("own", "lenient"), rule(key[2], key[1]))
        table = emulate.spread(both, n_draws, rng, "own", rules).set_index("package")
        unread = (both["outcome"] != "scored").groupby(both["package"]).mean()
        gap = table.loc["lenient", ["difference", "low", "high"]]
        means = table.loc[["own", "lenient"], "score"]
        rows.append([*key, int(table["n"].iloc[0]), *means, *gap, unread["own"], unread["lenient"]])
    if not rows:
        raise SchemaError(
            f"Of {_listed(found)} no package generated letters, which alone can be read strictly or "
            "leniently: name another benchmark beside it."
        )
    names = ["n", "strict", "lenient", "difference", "low", "high", "unread_strict", "unread_lenient"]
    return pd.DataFrame(rows, columns=["model", "benchmark", "package", *names])


def _listed(found: pd.DataFrame) -> str:
    """Benchmarks of the decisions, for a message."""
    return ", ".join(found["benchmark"].unique()) or "no benchmark"


def paths(emulation: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> pd.DataFrame:
    """Every path whose steps were all asked, as of `emulate.path_scores`.

    Returns
    -------
    A row per model, benchmark, package, task and step.
    """
    parts = []
    for (model, benchmark), own in emulation.groupby(["model", "benchmark"], sort=False):
        for package, _, task in (key for key in emulate.recipes() if key[1] == benchmark):
            steps = emulate.path(package, benchmark, task)
            if tables := emulated.steps(own, steps):
                scored = emulate.path_scores(steps, tables, n_draws, rng)
                parts.append(scored.assign(model=model, benchmark=benchmark, package=package, task=task))
    empty = pd.DataFrame(columns=[*PATH_KEY, *PATH_COLUMNS])
    return pd.concat(parts, ignore_index=True) if parts else empty


def agreements(found: pd.DataFrame, emulation: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How far the end of each path decides as the package did.

    Parameters
    ----------
    found : of `decisions`.
    emulation : of `emulated.read`.

    Returns
    -------
    A row per model, benchmark, package, task and reading (the package's own rule, or the book's parser on the
    same answers: `emulate.lenient`) that both have: n, n_equal, n_missing, share, unread (share of the
    package's answers that no choice was read from), and the scores of both sides. And a row per item decided
    otherwise, as of `emulate.Agreement`, with the same key.

    Raises
    ------
    SchemaError : the two have no model and benchmark in common.
    """
    rows, differing = [], []
    theirs = found[(found["package"] != OURS) & found["score"].notna()]
    for key, own in theirs.groupby([*PATH_KEY, "reading"], sort=False):
        model, benchmark, package, task, reading = key
        if (package, benchmark, task) not in emulate.recipes():
            continue
        made = emulate.recipe(package, benchmark, task)
        made = emulate.lenient(made) if reading == "lenient" else made
        mine = emulation[(emulation["model"] == model) & (emulation["recipe"] == made.key)]
        if mine.empty:
            continue
        kept = own[["item_id", "score", "choice"] if made.chooses else ["item_id", "score"]]
        result = emulate.agreement(mine, kept)
        both = [_score(table, made.score) for table in (mine, own)]
        unread = (own["outcome"] != "scored").mean()
        rows.append([*key, result.n, result.n_equal, result.n_missing, result.share, unread, *both])
        differing.append(result.differing.assign(**dict(zip([*PATH_KEY, "reading"], key, strict=True))))
    if not rows:
        raise SchemaError(
            "No path was walked to its end on what a package answered: benchtrust packages emulate, with the "
            "model, benchmark and items of the runs, then collect."
        )
    names = ["reading", "n", "n_equal", "n_missing", "share", "unread", "emulated", "recorded"]
    return pd.DataFrame(rows, columns=[*PATH_KEY, *names]), pd.concat(differing, ignore_index=True)


def _score(table: pd.DataFrame, made: str) -> float:
    """Score of decisions by a rule."""
    named = table.assign(package="one")[["package", "item_id", "part", "score"]]
    alone = emulate.spread(named, 1, np.random.default_rng(0), "one", {"one": made})
    return float(alone["score"].iloc[0])


def titles() -> Mapping[str, str]:
    """Package → how readers see it, our own harness among them."""
    return {OURS: OURS} | {package.name: package.title for package in packages().values()}
