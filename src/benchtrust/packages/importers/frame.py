"""From logs to one table: questions joined to our items, a cell a package, task, model and metric."""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from benchtrust import harness, responses
from benchtrust.errors import DataFileError, SchemaError
from benchtrust.files import replacing
from benchtrust.items import Item
from benchtrust.packages import joins
from benchtrust.packages.importers.logs import Answer, LeftOut, Log

PACKAGE_COLUMNS = (
    "package",
    "version",
    "task",
    "task_version",
    "commit",
    "prompt_hash",
    "item_key",
    "metric",
    "raw_output",
    "parse",
)
"""Columns beside those of a response table.

`prompt_hash` is the SHA-256 of the prompt as the log has it, which is before the chat template in HELM and
Inspect; `item_key` that of `joins.key`; `raw_output` the generated text, or, where log-probabilities decide,
a JSON list with one for each candidate of the log; `parse` is ``parsed``, ``unparsed`` or ``logprob``.
"""
COLUMNS = (*responses.COLUMNS, *PACKAGE_COLUMNS)
SIDE = ".packages.csv"
LENIENT = "book_parser"
"""Metric of a row that holds what the book's own parser reads in a package's generated answer."""
_SIDE_KEY = ["benchmark", "item_id", "model", *responses.CONFIGURATION, "sample"]


@dataclass(frozen=True)
class Report:
    """What became of the logs.

    Attributes
    ----------
    taken : a row for each log and metric: package, version, task, model, benchmark, metric, rows, unparsed,
        failed.
    left_out : what was not taken, why, and its ids.
    unjoined : a row for each question of a benchmark of ours that none of our items is: log, package,
        benchmark, id, item_key.
    duplicated : benchmark → ids of our items whose content an earlier one has too.
    other_options : our ids of questions that the log has with other options.
    unavailable : benchmark → why its items could not be loaded, so that nothing is joined.
    """

    taken: pd.DataFrame
    left_out: tuple[LeftOut, ...]
    unjoined: pd.DataFrame
    duplicated: dict[str, tuple[str, ...]]
    other_options: tuple[str, ...]
    unavailable: dict[str, str]

    @property
    def complete(self) -> bool:
        """Whether all answers were taken, and those to benchmarks of ours joined to our items."""
        return not (any(note.loss for note in self.left_out) or len(self.unjoined) or self.unavailable)

    def missing(self) -> pd.DataFrame:
        """All that was left out or not joined, a row each: where, reason, id."""
        rows = [(note.where, note.reason, id_) for note in self.left_out for id_ in note.ids or ("",)]
        reason = "question of a benchmark of ours that is none of our items; in the table under its key"
        rows += [(row.log, reason, row.id) for row in self.unjoined.itertuples()]
        rows += [(name, reason, "") for name, reason in self.unavailable.items()]
        return pd.DataFrame(rows, columns=["where", "reason", "id"])


def frame(
    logs: Sequence[Log],
    source: str = "upstream",
    among: Mapping[str, Collection[str]] | None = None,
    lenient: bool = False,
) -> tuple[pd.DataFrame, Report]:
    """One row an item and metric of each log.

    Parameters
    ----------
    logs : of any packages; of two logs of one configuration, the later one's answer to an item counts.
    source : items that questions are joined to, ``"upstream"`` or ``"practice"``.
    among : benchmark → ids of the items that were asked, where that is known; of two items with one content
        the asked one counts.
    lenient : whether a generated letter gets a second row, metric `LENIENT`, as the book's parser reads it.

    Returns
    -------
    The table, `COLUMNS`, its first part as `responses.validate` returns it; and the report.
    """
    known, unavailable = _indexes(logs, source, among)
    rows, left_out, unjoined, other = [], [], [], []
    for log in sorted(logs, key=lambda log: (log.package, log.date, str(log.path))):
        left_out += log.left_out
        found = _rows(log, known.get(log.benchmark or ""), lenient)
        unjoined += found.unjoined
        other += found.other
        left_out += found.left_out
        rows += found.rows
    table, earlier = _latest(pd.DataFrame(rows))
    checked = responses.validate(table[list(responses.COLUMNS)])
    whole = pd.concat([checked, table[list(PACKAGE_COLUMNS)].astype("str")], axis=1)
    report = Report(
        taken=_taken(whole),
        left_out=(*left_out, *earlier),
        unjoined=pd.DataFrame(unjoined, columns=["log", "package", "benchmark", "id", "item_key"]),
        duplicated={name: index.duplicated for name, index in known.items() if index.duplicated},
        other_options=tuple(dict.fromkeys(other)),
        unavailable=unavailable,
    )
    return whole, report


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table: a response table as Parquet, and beside it, as ``.packages.csv``, the package columns.

    Raises
    ------
    SchemaError : as `responses.validate`.
    """
    responses.write(table[list(responses.COLUMNS)], path)
    raw = table["raw_output"].where(table["parse"] == "logprob")
    side = table.assign(raw_output=raw)[[*_SIDE_KEY, *PACKAGE_COLUMNS]].sort_values(_SIDE_KEY, kind="stable")
    with replacing(side_of(path)) as scratch:
        side.to_csv(scratch, index=False, lineterminator="\n")


def read(path: Path) -> pd.DataFrame:
    """Read what `write` wrote, all files below a folder together, and a recorded folder's hashes checked.

    Raises
    ------
    DataFileError, SchemaError : as `responses.read`; the package columns are missing or of another table.
    """
    table = responses.read(path)
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if absent := [side_of(file) for file in files if not side_of(file).is_file()]:
        raise DataFileError(f"{absent[0]} is missing: it holds the package columns. Import the logs again.")
    side = pd.concat([_read_side(side_of(file)) for file in files], ignore_index=True)
    merged = table.merge(side, on=_SIDE_KEY, how="left", validate="one_to_one")
    if len(side) != len(table) or merged["package"].isna().any():
        raise SchemaError(
            f"{path}: the package columns ({len(side)} rows) are of another table ({len(table)})."
        )
    merged["raw_output"] = merged["raw_output"].where(merged["parse"] == "logprob", merged["completion"])
    return merged[list(COLUMNS)]


def side_of(path: Path) -> Path:
    """File with the package columns of a response table."""
    return path.with_name(path.stem + SIDE)


def _read_side(path: Path) -> pd.DataFrame:
    side = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    return side.astype({"shots": "int64", "sample": "int64"})


def _indexes(
    logs: Sequence[Log], source: str, among: Mapping[str, Collection[str]] | None
) -> tuple[dict[str, joins.Index], dict[str, str]]:
    """Items of the logs' benchmarks by content, and why those of some could not be loaded."""
    known, unavailable = {}, {}
    for name in sorted({log.benchmark for log in logs if log.benchmark}):
        try:
            loaded = joins.upstream(name, source)
        except DataFileError as error:
            unavailable[name] = str(error)
        else:
            asked = (among or {}).get(name)
            known[name] = joins.index(i for i in loaded if not asked or i.item_id in asked)
    return known, unavailable


@dataclass(frozen=True)
class _Rows:
    rows: list[dict]
    unjoined: list[dict]
    other: list[str]
    left_out: list[LeftOut]


def _rows(log: Log, known: joins.Index | None, lenient: bool) -> _Rows:
    keys = [joins.key(log.benchmark, a.question, a.options) for a in log.answers]
    within = [(answer.metric, answer.sample) for answer in log.answers]
    joined = joins.join(keys, known, within) if known else [None] * len(keys)
    seen: Counter = Counter()
    found = _Rows([], [], [], [])
    repeated: dict[str, None] = {}
    cells = {metric: _cell_id(log, metric) for metric in {LENIENT, *(a.metric for a in log.answers)}}
    for answer, key, group, item in zip(log.answers, keys, within, joined, strict=True):
        seen[key, group] += 1
        if known and item is None and key in known.items:
            repeated[answer.id] = None
            continue
        if known and item is None:
            where = {"log": str(log.path), "package": log.package, "benchmark": log.benchmark}
            found.unjoined.append({**where, "id": answer.id, "item_key": key})
        if item and not _same_options(answer, item):
            found.other.append(item.item_id)
        number = seen[key, group]
        read = [answer]
        if lenient and item and _is_letter(answer, item):
            read.append(_leniently(answer, item))
        found.rows.extend(_row(log, one, key, item, number, cells[one.metric]) for one in read)
    if repeated:
        reason = "asked more often than the benchmark has the question"
        found.left_out.append(LeftOut(str(log.path), reason, tuple(repeated)))
    unique = {(row["log"], row["id"]): row for row in found.unjoined}
    return _Rows(found.rows, list(unique.values()), found.other, found.left_out)


def _is_letter(answer: Answer, item: Item) -> bool:
    """Whether a generated answer was to name one of the options shown; behaviours (XSTest) never are."""
    generated = answer.raw is not None and answer.parse != "logprob"
    return generated and bool(answer.options) and item.benchmark != "xstest"


def _leniently(answer: Answer, item: Item) -> Answer:
    """The same text read by the book's parser, among the options as the log shows them."""
    found = harness.extract(answer.raw or "", answer.options)
    changed = replace(answer, metric=LENIENT, score=None, outcome="unparsed", parse="unparsed", chosen=None)
    if found.choice is None:
        return changed
    chosen = answer.options[found.choice]
    score = float(joins.place(chosen, item.options) == item.answer)
    return replace(changed, score=score, outcome="scored", parse="parsed", chosen=chosen)


def _row(log: Log, answer: Answer, key: str, item: Item | None, number: int, cell: str) -> dict:
    benchmark = log.benchmark or log.task.split(":")[0]
    unnamed = f"{benchmark}-{key}" if number == 1 else f"{benchmark}-{key}-{number}"
    options = item.options if item else answer.options
    by_logprob = answer.parse == "logprob"
    return {
        "benchmark": benchmark,
        "item_id": item.item_id if item else unnamed,
        "item_hash": item.sha256 if item and _same_options(answer, item) else None,
        "part": answer.part or (item.part if item else None) or None,
        "model": log.model,
        "template": log.template,
        "shots": log.shots,
        "shots_used": None if answer.shots_used is None else min(answer.shots_used, log.shots),
        "decoding": "none" if by_logprob else log.decoding,
        "scoring": _scoring(log, answer),
        "sample": answer.sample,
        "outcome": answer.outcome,
        "score": answer.score,
        "choice": None if answer.chosen is None else joins.place(answer.chosen, options),
        **_by_option(answer, options),
        "option_tokens": None,
        "letter_logprobs": None,
        "completion": None if by_logprob else (answer.raw or ""),
        "answer_tokens": None,
        "near_ties": None,
        "cell_id": cell,
        "package": log.package,
        "version": log.version,
        "task": log.task,
        "task_version": log.task_version,
        "commit": log.commit,
        "prompt_hash": hashlib.sha256(answer.prompt.encode()).hexdigest(),
        "item_key": key,
        "metric": answer.metric,
        "raw_output": json.dumps(answer.logprobs) if by_logprob else (answer.raw or ""),
        "parse": answer.parse,
    }


def _scoring(log: Log, answer: Answer) -> str:
    """As our own harness names it; a log's further metrics are variants."""
    name = "logprob" if answer.parse == "logprob" else "free_form"
    return name if answer.metric == log.answers[0].metric else f"{name}_{answer.metric}"


def _by_option(answer: Answer, options: Sequence[str]) -> dict:
    """Log-probabilities in the order of the options, where each candidate is one of them."""
    places = [joins.place(text, options) for text in answer.candidates]
    apart = None not in places and sorted(places) == list(range(len(options)))
    whole = len(places) == len(answer.logprobs) and all(map(math.isfinite, answer.logprobs))
    if not places or not apart or not whole:
        return {"option_logprobs": None, "option_bytes": None}
    order = sorted(range(len(places)), key=lambda i: places[i])
    return {
        "option_logprobs": [min(answer.logprobs[i], 0.0) for i in order],
        "option_bytes": [len(answer.candidates[i].encode()) for i in order],
    }


def _same_options(answer: Answer, item: Item) -> bool:
    """Whether a log shows an item's options; behaviours (XSTest) are never shown."""
    if item.benchmark in ("xstest", "toxigen"):
        return True
    places = [joins.place(text, item.options) for text in answer.options]
    return None not in places and len(set(places)) == len(item.options)


def _cell_id(log: Log, metric: str) -> str:
    facts = [log.package, log.version, log.model, log.task, log.task_version, log.shots, log.decoding, metric]
    content = json.dumps([facts, log.settings], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def _latest(table: pd.DataFrame) -> tuple[pd.DataFrame, list[LeftOut]]:
    """Rows without those that a later log answers again; under other settings, that is a loss."""
    again = table.duplicated(_SIDE_KEY, keep="last")
    later = table.groupby(_SIDE_KEY, dropna=False)["cell_id"].transform("last")
    lost: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for row in table.assign(other=table["cell_id"] != later)[again].itertuples():
        lost[f"{row.template}, {row.model}", row.other].append(row.item_id)
    words = {False: "answered again in a later log", True: "answered under other settings in a later log"}
    notes = [
        LeftOut(where, words[other], tuple(dict.fromkeys(ids)), loss=other)
        for (where, other), ids in lost.items()
    ]
    return table[~again].reset_index(drop=True), notes


def _taken(table: pd.DataFrame) -> pd.DataFrame:
    keys = ["package", "version", "task", "model", "benchmark", "metric"]
    undecided = table["outcome"].isin(["unparsed", "truncated"])
    counted = table.assign(
        rows=1, unparsed=undecided.astype(int), failed=(table["outcome"] == "failed").astype(int)
    )
    return counted.groupby(keys, as_index=False)[["rows", "unparsed", "failed"]].sum()
