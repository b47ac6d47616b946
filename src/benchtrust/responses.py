"""The one table: a row per (model, configuration, benchmark, item, sample), and the views the metrics read.

`read`, `write` and `validate` keep its schema (the book, "What is measured"); `cell_means`,
`score_matrix`, `response_matrix` and `option_probabilities` are the only ways from it into a metric.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust import answer_files
from benchtrust.errors import DataFileError, NotAskableError, SchemaError, fold, pick
from benchtrust.files import replacing, require_recorded

COLUMNS = {
    "benchmark": "text",
    "item_id": "text",
    "item_hash": "text?",
    "part": "text?",
    "model": "text",
    "template": "text",
    "shots": "int",
    "shots_used": "int?",
    "decoding": "text",
    "scoring": "text",
    "sample": "int",
    "outcome": "text",
    "score": "float?",
    "choice": "int?",
    "option_logprobs": "floats?",
    "option_tokens": "ints?",
    "option_bytes": "ints?",
    "letter_logprobs": "floats?",
    "completion": "text?",
    "answer_tokens": "int?",
    "near_ties": "int?",
    "cell_id": "text",
}
"""Column -> kind; ``?`` marks a column that may hold nulls.

`option_bytes` counts the UTF-8 bytes of what `option_logprobs` scores: the option as it follows the prompt,
so that after a base model's ``Answer:`` its leading space counts too.
"""

OPTIONAL = ("shots_used", "item_hash", "part", "letter_logprobs", "answer_tokens", "near_ties")
"""Columns that reading and writing add, all null, where a table lacks them."""

OUTCOMES = ("scored", "unparsed", "truncated", "failed")
BENCHMARKS = ("truthfulqa", "bbq", "toxigen", "crows_pairs", "xstest")
CHOICE_SETS = ("arc_challenge", "commonsenseqa", "logiqa", "pubmedqa", "cosmosqa", "redundant_qa")
CONFIGURATION = ["template", "shots", "decoding", "scoring"]
CELL = ["benchmark", "model", *CONFIGURATION, "cell_id"]

CELL_RULES = {"bbq": "mean_of_parts", "xstest": "mean_of_parts", "crows_pairs": "parity"}
"""How item scores make a cell score where it is not the plain mean (the book, "What is measured")."""

_ROW_KEY = ["cell_id", "benchmark", "item_id", "sample"]
_FULL_KEY = ["benchmark", "item_id", "model", *CONFIGURATION, "sample"]
_OPTION_LISTS = ["option_logprobs", "option_tokens", "option_bytes", "letter_logprobs"]
_DTYPES = {"text": "str", "int": "Int64", "float": "float64", "floats": "object", "ints": "object"}
_SHOWN = 5

_Breach = tuple[int, str, object, str]


def slug(benchmark: str) -> str:
    """Canonical name of a benchmark that we know by any spelling; another name as it is."""
    return {fold(name): name for name in (*BENCHMARKS, *CHOICE_SETS)}.get(fold(benchmark), benchmark)


def read(path: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """Read and check responses.

    Parameters
    ----------
    path : a file of `answer_files` (a response table, or a matrix, models × items: Parquet, CSV or JSON
        lines), a folder (every ``*.parquet`` below it), or a list of either. The files of a folder with a
        ``manifest.json`` that lists their SHA-256 are checked against it.

    Returns
    -------
    The table as `validate` returns it, files in the order of their names.

    Raises
    ------
    DataFileError : nothing is there, a file is not readable, or not the one of the manifest.
    SchemaError : a rule is broken; the message names the file.
    """
    if isinstance(path, str | Path):
        _check_manifest(Path(path))
    files = _files(path)
    frames = [_load(file) for file in files]
    try:
        return validate(pd.concat(frames, ignore_index=True))
    except SchemaError as error:
        for file, frame in zip(files, frames, strict=True):
            try:
                validate(frame)
            except SchemaError as cause:
                raise SchemaError(f"{file}: {cause}") from None
        raise SchemaError(f"The {len(files)} files taken together: {error}") from None


def chosen(
    frame: pd.DataFrame,
    column: str,
    names: Sequence[str],
    order: Iterable[str] = (),
    aside: Collection[str] = (),
) -> list[str]:
    """Values of a column, such as models: those that are named, or all if none is.

    Parameters
    ----------
    frame : responses.
    column : benchmark, model or another column of texts.
    names : values wanted, in any spelling; one given twice counts once.
    order : values that come first if all are given; others follow as the table has them.
    aside : values that are left out unless they are named.

    Returns
    -------
    The values as the table spells them.

    Raises
    ------
    UnknownNameError : a name that the table does not hold, with the nearest ones.
    """
    held = list(dict.fromkeys(frame[column]))
    if names:
        return list(dict.fromkeys(pick(name, held, f"{column} of this table") for name in names))
    every = dict.fromkeys([*(name for name in order if name in held), *held])
    return [name for name in every if name not in aside]


def require(
    frame: pd.DataFrame,
    *,
    configurations: int = 1,
    levels: Mapping[str, int | Sequence[str]] | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Refuse responses that lack what a question needs, on any benchmark.

    Parameters
    ----------
    frame : responses.
    configurations : least number of configurations.
    levels : axis → least number of its levels, or the levels that must be there.
    columns : columns in which at least one answer must have a value.

    Raises
    ------
    NotAskableError : what is needed, and the benchmark on which it is missing.
    """
    if frame.empty:
        raise NotAskableError("No answers are left: the models share no configuration, or no items.")
    for name, own in frame.groupby("benchmark"):
        if (n := len(own[CONFIGURATION].drop_duplicates())) < configurations:
            axes = ", ".join(CONFIGURATION)
            needed = f"answers in {configurations} configurations of the harness ({axes}) or more"
            raise NotAskableError(f"This needs {needed}; {name} has {n}.")
        for axis, wanted in (levels or {}).items():
            _require_levels(own[axis].astype(str).unique().tolist(), axis, wanted, str(name))
        if empty := [column for column in columns if own[column].isna().all()]:
            raise NotAskableError(f"This needs {empty[0]!r}; no answer to {name} has a value there.")


def _require_levels(held: list[str], axis: str, wanted: int | Sequence[str], name: str) -> None:
    if isinstance(wanted, int):
        lacks, needed = len(held) < wanted, f"{wanted} levels of {axis} or more"
    else:
        lacks, needed = not set(wanted) <= set(held), f"{axis} {' and '.join(wanted)}"
    if lacks:
        raise NotAskableError(f"This needs {needed}; {name} has {', '.join(held)}.")


def write(frame: pd.DataFrame, path: str | Path) -> None:
    """Check responses and write them to one Parquet file, atomically.

    A reader sees the old file or the new one, never half of one. Rows are sorted by their key and the options
    of the writer are fixed, so equal tables give equal bytes (under one version of pyarrow).

    Raises
    ------
    SchemaError : as `validate`; nothing is written then.
    """
    import pyarrow.parquet as pq

    table = _arrow(validate(frame).sort_values(_FULL_KEY, kind="stable"))
    with replacing(Path(path)) as scratch:
        pq.write_table(table, scratch, compression="zstd", compression_level=9, version="2.6")


def validate(frame: pd.DataFrame) -> pd.DataFrame:
    """Check a response table and return it with the columns, order and dtypes of the schema.

    Returns
    -------
    A new frame, index 0..n-1, rows in the given order: ``Int64`` for `choice`, ``int64`` for `shots` and
    `sample`, ``float64`` for `score`, ``str`` for text, lists of Python numbers for the per-option columns.
    Benchmarks known by another spelling get their canonical one; absent optional columns are added as null.

    Raises
    ------
    SchemaError : a missing or unexpected column (with the nearest name), or broken rules: the first five by
        column, row (position from 0), value and rule, and the number of further ones.
    """
    frame, breaches = _normalise(_with_columns(frame))
    if not breaches:
        breaches = _broken_rules(frame)
    if breaches:
        raise _schema_error(breaches)
    return frame.astype({"shots": "int64", "sample": "int64"})


def cell_means(frame: pd.DataFrame) -> pd.DataFrame:
    """Score every cell: one row per benchmark, model, configuration and cell id.

    Samples of an item are averaged first, then items: by their plain mean m, or by the benchmark's rule in
    `CELL_RULES`. ``mean_of_parts`` is the mean of the rates of the parts present (the plain mean if no row
    names a part; pass the rows of one part to get its own rate); ``parity`` is 1 - 2 |m - .5|.

    Parameters
    ----------
    frame : responses; any number of benchmarks.

    Returns
    -------
    `CELL` columns, then

    - n, n_scored, n_unparsed, n_truncated, n_failed : rows, in all and by outcome.
    - n_items : items with an answer.
    - score : cell score in [0, 1], unparsed and truncated answers counted as 0 before the rule.
    - score_parsed : the same over parsed answers only.
    - score_low, score_high : range of the cell score as the unparsed answers run from 0 to 1 (by ``parity``
      the maximum may lie inside the range of m).
    - mean : mean over items with unparsed as 0, without the rule.

    A failed row says that the harness broke or that the item was too long for the model, not what the model
    would have answered: it enters no score, only n and n_failed. A score is NaN where a part (or the whole
    cell) has no answer to average.

    Raises
    ------
    SchemaError : a needed column is missing, a score contradicts its outcome, or, by ``mean_of_parts``, only
        some rows of a cell name their part.

    Source: the book, "What is measured" (cell score by benchmark, unparsed answers and their bounds).
    """
    rows = _checked(frame, [*CELL, "item_id", "outcome", "score"])
    rows["part"] = _parts(rows)
    failed, scored = rows["outcome"] == "failed", rows["outcome"] == "scored"
    rows = rows.assign(
        parsed=rows["score"],
        low=rows["score"].where(scored | failed, 0.0),
        high=rows["score"].where(scored | failed, 1.0),
        **{f"n_{name}": (rows["outcome"] == name).astype(int) for name in OUTCOMES},
    )
    counts = rows.groupby(CELL, dropna=False)[[f"n_{name}" for name in OUTCOMES]].sum()
    items = rows.groupby([*CELL, "part", "item_id"], dropna=False)[["low", "high", "parsed"]].mean()
    by_cell = items.groupby(CELL, dropna=False)["low"]
    parts = items.groupby([*CELL, "part"], dropna=False).mean()
    rates = parts.groupby(CELL, dropna=False).mean(skipna=False)
    counts.insert(0, "n", counts.sum(axis=1))
    counts.insert(1, "n_items", by_cell.count())
    return counts.join(_through_rule(rates)).assign(mean=by_cell.mean()).reset_index()


def score_matrix(cells: pd.DataFrame, value: str = "score") -> pd.DataFrame:
    """Lay the cells of one benchmark out as configurations × models, the input of the stability metrics.

    Parameters
    ----------
    cells : frame of `cell_means`, one benchmark.
    value : which of its columns to lay out.

    Returns
    -------
    Index: template, shots, decoding, scoring; columns: models; NaN where a cell is missing. Both sorted.

    Raises
    ------
    SchemaError : several benchmarks, or two cells for one model and configuration (their cell ids differ).
    UnknownNameError : no such value.
    """
    _need(cells, ["benchmark", "model", *CONFIGURATION])
    value = pick(value, [c for c in cells.columns if c not in CELL], "value")
    _one_benchmark(cells)
    keys = [*CONFIGURATION, "model"]
    twice = cells.duplicated(keys)
    if twice.any():
        where = cells.loc[twice, keys].iloc[0].to_dict()
        raise SchemaError(f"Two cells for {where}: keep one cell_id per model and configuration.")
    return cells.set_index(keys)[value].unstack("model").sort_index()


def response_matrix(
    frame: pd.DataFrame, respondent: Sequence[str] = ("model",), unparsed: float | None = 0.0
) -> pd.DataFrame:
    """Lay the answers to one benchmark out as respondents × items, the input of item response models.

    Parameters
    ----------
    frame : responses to one benchmark.
    respondent : columns that together name a respondent, such as model, template, shots, decoding, scoring.
    unparsed : score of an unparsed or truncated answer; None leaves it NaN.

    Returns
    -------
    Scores in [0, 1]; NaN = not asked (or failed: the harness broke). Index: respondents; columns: item ids.
    Both sorted.

    Raises
    ------
    SchemaError : several benchmarks; or two answers of a respondent to an item, with the columns that tell
        them apart.
    """
    respondent = [respondent] if isinstance(respondent, str) else list(respondent)
    rows = _checked(frame, ["benchmark", *respondent, "item_id", "outcome", "score"])
    _one_benchmark(rows)
    keys = [*respondent, "item_id"]
    twice = rows.duplicated(keys, keep=False)
    if twice.any():
        raise _ambiguous(rows[twice], keys)
    answered = rows["outcome"].isin(["scored", "failed"])
    value = rows["score"].where(answered, np.nan if unparsed is None else unparsed)
    return rows.assign(value=value).set_index(keys)["value"].unstack("item_id").sort_index()


def option_probabilities(frame: pd.DataFrame, norm: str = "sum", letters: bool = False) -> pd.DataFrame:
    """Turn stored log-probabilities into a probability for each option.

    Parameters
    ----------
    frame : responses; rows without log-probabilities (free-form answers) are left out and counted.
    norm : ``sum`` of the option's log-probabilities, or that per ``token`` or per ``byte`` (UTF-8).
    letters : use the log-probabilities of the options' letters (norm ``sum`` only).

    Returns
    -------
    Tidy frame: `CELL` columns, item_id, sample, `option` (index from 0) and `probability`, which sums to 1 in
    a row of the input. ``.attrs["n_left_out"]`` is the number of rows without log-probabilities.

    Raises
    ------
    SchemaError : a needed column is missing, or lengths are missing for the norm asked for.
    UnknownNameError : no such norm.
    """
    norms = {"sum": None} if letters else {"sum": None, "token": "option_tokens", "byte": "option_bytes"}
    length = norms[pick(norm, norms, "norm of letters" if letters else "norm")]
    source = "letter_logprobs" if letters else "option_logprobs"
    keys = [*CELL, "item_id", "sample"]
    lists = [source, length] if length else [source]
    _need(frame, [*keys, *lists])
    rows = frame.loc[frame[source].notna(), [*keys, *lists]].reset_index(drop=True)
    sizes = rows[source].map(len)
    if length and not rows[length].map(len, na_action="ignore").equals(sizes):
        raise SchemaError(f"norm={norm!r} needs {length!r} of every option: use 'sum' or drop those rows.")
    tidy = rows.assign(option=sizes.map(range)).explode([*lists, "option"])
    logprob = tidy[source].astype("float64") / (tidy[length].astype("float64") if length else 1.0)
    weight = np.exp(logprob - logprob.groupby(level=0).transform("max"))
    probability = weight / weight.groupby(level=0).transform("sum")
    tidy = tidy[keys].assign(option=tidy["option"].astype("int64"), probability=probability)
    tidy.attrs["n_left_out"] = len(frame) - len(rows)
    return tidy.reset_index(drop=True)


def chance_levels(frame: pd.DataFrame) -> dict[str, float]:
    """Score of a respondent who chooses among the options by lot, by benchmark.

    The mean over items of 1 over the number of options, read from rows with log-probabilities; benchmarks
    without such rows are left out. Under CrowS-Pairs' rule it is the score of a share of one half: 1.
    """
    known = frame.loc[frame["option_logprobs"].notna(), ["benchmark", "item_id", "option_logprobs"]]
    items = known.drop_duplicates(["benchmark", "item_id"])
    lot = (1 / items["option_logprobs"].map(len)).groupby(items["benchmark"]).mean()
    return {name: 1.0 if CELL_RULES.get(name) == "parity" else float(share) for name, share in lot.items()}


def _files(path: str | Path | Iterable[str | Path]) -> list[Path]:
    if not isinstance(path, str | Path):
        files = [file for entry in path for file in _files(entry)]
        if not files:
            raise DataFileError("An empty list of paths: name at least one response file.")
        return files
    path = Path(path)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*.parquet") if file.is_file())
        if not files:
            raise DataFileError(f"{path} holds no *.parquet file.")
        return files
    if not path.exists():
        raise DataFileError(f"{path} does not exist: name a file of responses or a folder of them.")
    return [path]


def _check_manifest(folder: Path) -> None:
    """Compare the files of a recorded folder with the hashes that its manifest lists."""
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        return
    for name, expected in json.loads(manifest.read_text(encoding="utf-8")).get("files", {}).items():
        require_recorded(folder / name, expected)


def _load(file: Path) -> pd.DataFrame:
    try:
        return _with_columns(answer_files.read(file, COLUMNS))
    except SchemaError as error:
        message = str(error)
        raise SchemaError(message if file.name in message else f"{file}: {message}") from None


def _arrow(frame: pd.DataFrame):
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "floats": pa.list_(pa.float64()),
        "ints": pa.list_(pa.int64()),
    }
    return pa.table(
        {
            name: pa.array(frame[name], type=types[kind.rstrip("?")], from_pandas=True)
            for name, kind in COLUMNS.items()
        }
    )


def _with_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the columns of the schema in its order, or an error that names the wrong ones."""
    present = [str(name) for name in frame.columns]
    missing = [name for name in COLUMNS if name not in present and name not in OPTIONAL]
    unknown = [name for name in present if name not in COLUMNS]
    twice = sorted({name for name in present if present.count(name) > 1})
    faults = [
        *(f"column {name!r} is missing{_nearest(name, unknown or present, 'present')}" for name in missing),
        *(f"column {name!r} is not part of the schema{_nearest(name, COLUMNS, 'valid')}" for name in unknown),
        *(f"column {name!r} occurs more than once" for name in twice),
    ]
    if faults:
        raise SchemaError("Responses with wrong columns: " + "; ".join(faults) + ".")
    return frame.reset_index(drop=True).reindex(columns=list(COLUMNS))


def _nearest(name: str, names: Iterable[str], what: str) -> str:
    by_fold = {fold(entry): entry for entry in names}
    near = get_close_matches(fold(name), list(by_fold), n=1, cutoff=0.0)
    return f" (nearest {what}: {by_fold[near[0]]!r})" if near else ""


def _need(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        hints = (f"{name!r}{_nearest(name, map(str, frame.columns), 'present')}" for name in missing)
        raise SchemaError(f"Missing column: {', '.join(hints)}.")


def _normalise(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[_Breach]]:
    """The frame in the dtypes of the schema, and the values that do not fit theirs."""
    typed, breaches = {}, []
    for name, kind in COLUMNS.items():
        base = kind.rstrip("?")
        typed[name], misfits, words = _PARSERS[base](frame[name])
        breaches += [(int(row), name, frame[name].iloc[row], words) for row in np.flatnonzero(misfits)]
    result = pd.DataFrame(typed)
    return result.assign(benchmark=_slugs(result["benchmark"])), breaches


def _parse_text(values: pd.Series) -> tuple[pd.Series, np.ndarray, str]:
    if isinstance(values.dtype, pd.StringDtype):
        return values.astype("str"), np.zeros(len(values), dtype=bool), "must be text"
    fits = values.isna().to_numpy() | np.array([isinstance(value, str) for value in values], dtype=bool)
    return values.where(fits).astype("str"), ~fits, "must be text"


def _parse_float(values: pd.Series) -> tuple[pd.Series, np.ndarray, str]:
    if pd.api.types.is_float_dtype(values.dtype):
        return values.astype("float64"), np.zeros(len(values), dtype=bool), "must be a number"
    missing = values.isna().to_numpy()
    real = np.array([isinstance(value, Real) for value in values], dtype=bool) & ~missing
    numbers = [float(value) if ok else np.nan for value, ok in zip(values, real, strict=True)]
    return pd.Series(numbers, dtype="float64"), ~(real | missing), "must be a number"


def _parse_int(values: pd.Series) -> tuple[pd.Series, np.ndarray, str]:
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("Int64"), np.zeros(len(values), dtype=bool), "must be a whole number"
    numbers, misfits, _ = _parse_float(values)
    whole = numbers.isna() | (np.isfinite(numbers) & (numbers == np.floor(numbers)))
    return numbers.where(whole).astype("Int64"), misfits | ~whole.to_numpy(), "must be a whole number"


def _parse_floats(values: pd.Series) -> tuple[pd.Series, np.ndarray, str]:
    return *_parse_lists(values, Real), "must be a list of numbers"


def _parse_ints(values: pd.Series) -> tuple[pd.Series, np.ndarray, str]:
    return *_parse_lists(values, Integral), "must be a list of whole numbers"


def _parse_lists(values: pd.Series, number: type) -> tuple[pd.Series, np.ndarray]:
    lists: list[list | None] = []
    misfits = []
    kind = "i" if number is Integral else "f"
    for value in values:
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == kind:
            lists.append(value.tolist())
            misfits.append(False)
            continue
        missing = pd.api.types.is_scalar(value) and pd.isna(value)
        entries = value.tolist() if isinstance(value, np.ndarray) else value
        fits = isinstance(entries, list | tuple) and all(isinstance(entry, number) for entry in entries)
        lists.append([int(x) if number is Integral else float(x) for x in entries] if fits else None)
        misfits.append(not (fits or missing))
    return pd.Series(lists, dtype="object"), np.array(misfits, dtype=bool)


_PARSERS = {
    "text": _parse_text,
    "int": _parse_int,
    "float": _parse_float,
    "floats": _parse_floats,
    "ints": _parse_ints,
}


def _slugs(names: pd.Series) -> pd.Series:
    return names.map({name: slug(name) for name in names.dropna().unique()}).astype("str")


def _broken_rules(frame: pd.DataFrame) -> list[_Breach]:
    """Breaches as pandera tells them; it is not asked, nor imported, where nothing is broken."""
    rules = list(_rules(frame))
    needed = [name for name, kind in COLUMNS.items() if not kind.endswith("?")]
    if all(good.all() for *_, good in rules) and not frame[needed].isna().any(axis=None):
        return []
    import pandera.pandas as pa

    checks: dict[str, list] = {name: [] for name in COLUMNS}
    for name, words, good in rules:
        checks[name].append(pa.Check(lambda _, good=good: good, error=words, ignore_na=False))
    schema = pa.DataFrameSchema(
        {
            name: pa.Column(_DTYPES[kind.rstrip("?")], checks[name], nullable=kind.endswith("?"))
            for name, kind in COLUMNS.items()
        }
    )
    try:
        schema.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        cases = error.failure_cases.replace({"check": {"not_nullable": "must not be missing"}})
        return list(cases[["index", "column", "failure_case", "check"]].itertuples(index=False, name=None))
    return []


def _rules(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.Series]]:
    """Column, the rule in words, and for each row whether it holds (missing values are for `nullable`)."""
    for name in (name for name, kind in COLUMNS.items() if kind == "text"):
        yield name, "must not be empty", frame[name] != ""
    numbers = frame[["shots", "shots_used", "sample", "choice"]].astype("float64")
    for name in numbers:
        yield name, "must not be negative", ~(numbers[name] < 0)
    yield "shots_used", "must not exceed shots", ~(numbers["shots_used"] > numbers["shots"])
    outcome, score = frame["outcome"], frame["score"]
    yield "outcome", f"must be one of {', '.join(OUTCOMES)}", outcome.isin(OUTCOMES) | outcome.isna()
    yield "score", "must lie between 0 and 1", score.isna() | score.between(0, 1)
    yield "score", "must be given if, and only if, the outcome is 'scored'", _score_fits_outcome(frame)
    no_decoding = frame["decoding"] == "none"
    logprob = frame["scoring"].str.match(r"logprob(_|$)")
    rule = "must be 'none' if, and only if, scoring is 'logprob' or a variant of it ('logprob_…')"
    yield "decoding", rule, no_decoding == logprob
    yield from _list_rules(frame)
    again = frame.duplicated(_ROW_KEY)
    yield "item_id", f"must be the only row with its {', '.join(_ROW_KEY)}", ~again
    first = ~frame.duplicated(_FULL_KEY)
    yield "item_id", f"must be the only row with its {', '.join(_FULL_KEY)}", first | again


def _list_rules(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.Series]]:
    lists = frame[_OPTION_LISTS]
    lengths = lists.map(len, na_action="ignore").astype("float64")
    length = lengths.bfill(axis=1).iloc[:, 0]
    for name in _OPTION_LISTS:
        yield name, "must not be an empty list", lengths[name] != 0
        equal = lengths[name].isna() | (lengths[name] == length)
        yield name, "must be as long as the row's other option lists", equal
    for name in ("option_logprobs", "letter_logprobs"):
        yield name, "must be finite and at most 0", _each(lists[name], lambda x: -np.inf < x <= 0)
    for name in ("option_tokens", "option_bytes"):
        yield name, "must be at least 1", _each(lists[name], lambda x: x >= 1)
    too_far = frame["choice"].astype("float64") >= lengths["option_logprobs"]
    yield "choice", "must be less than the number of options", ~too_far


def _each(lists: pd.Series, holds) -> pd.Series:
    return lists.map(lambda values: values is None or all(map(holds, values))).astype(bool)


def _score_fits_outcome(frame: pd.DataFrame) -> pd.Series:
    return frame["score"].notna() == (frame["outcome"] == "scored")


def _schema_error(breaches: list[_Breach]) -> SchemaError:
    order = list(COLUMNS)
    breaches = sorted(breaches, key=lambda breach: (breach[0], order.index(breach[1])))
    lines = [
        f"  column {column!r}, row {row}, value {_short(value)}: {words}"
        for row, column, value, words in breaches[:_SHOWN]
    ]
    if len(breaches) > _SHOWN:
        lines.append(f"  and {len(breaches) - _SHOWN} more")
    return SchemaError("Responses that break the schema (rows count from 0):\n" + "\n".join(lines))


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _checked(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """A copy with canonical benchmark names, whose outcomes and scores can be trusted to agree."""
    _need(frame, columns)
    rows = frame.assign(benchmark=_slugs(frame["benchmark"]), score=frame["score"].astype("float64"))
    rows = rows.reset_index(drop=True)
    good = rows["outcome"].isin(OUTCOMES) & _score_fits_outcome(rows)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        outcome, score = rows["outcome"].iloc[row], rows["score"].iloc[row]
        raise SchemaError(f"Row {row} has outcome {outcome!r} and score {score}: run `validate` first.")
    return rows


def _parts(rows: pd.DataFrame) -> pd.Series:
    """Part of each row where its benchmark averages over parts, else ``""``."""
    by_parts = rows["benchmark"].map(CELL_RULES).eq("mean_of_parts")
    named = rows["part"].fillna("") if "part" in rows else pd.Series("", index=rows.index)
    part = named.where(by_parts, "")
    unnamed = part.eq("").groupby([rows[name] for name in CELL], dropna=False).transform("mean")
    mixed = (unnamed > 0) & (unnamed < 1)
    if mixed.any():
        cell = rows.loc[mixed, CELL].iloc[0].to_dict()
        raise SchemaError(
            f"Column 'part' is given for some rows only of cell {cell}: give it for all or none."
        )
    return part


def _through_rule(rates: pd.DataFrame) -> pd.DataFrame:
    """Cell scores and bounds from the rates low, high (unparsed as 0, as 1) and parsed, indexed by cell."""
    parity = rates.index.get_level_values("benchmark").map(CELL_RULES) == "parity"
    folded = 1 - 2 * (rates - 0.5).abs()
    ends = folded[["low", "high"]]
    top = ends.max(axis=1, skipna=False).mask((rates["low"] <= 0.5) & (rates["high"] >= 0.5), 1.0)
    return pd.DataFrame(
        {
            "score": rates["low"].mask(parity, folded["low"]),
            "score_parsed": rates["parsed"].mask(parity, folded["parsed"]),
            "score_low": rates["low"].mask(parity, ends.min(axis=1, skipna=False)),
            "score_high": rates["high"].mask(parity, top),
        }
    )


def _one_benchmark(frame: pd.DataFrame) -> None:
    names = sorted(_slugs(frame["benchmark"]).unique())
    if len(names) > 1:
        found = f"{len(names)} benchmarks ({', '.join(names)})"
        raise NotAskableError(f"{found} in one matrix: select one first.")


def _ambiguous(rows: pd.DataFrame, keys: list[str]) -> SchemaError:
    """The error for respondents with several answers to one item: what tells those answers apart."""
    groups = rows.groupby(keys, dropna=False)
    others = [name for name in [*CELL, "sample"] if name in rows and name not in keys]
    apart = [name for name in others if groups[name].nunique(dropna=False).gt(1).any()]
    where = ", ".join(f"{name}={rows[name].iloc[0]!r}" for name in keys)
    if not apart:
        return SchemaError(f"Repeated rows ({where}): run `validate` on the table.")
    advice = f"add {', '.join(apart)} to `respondent`, or keep one answer of each"
    return NotAskableError(f"Several answers of one respondent to one item ({where}): {advice}.")
