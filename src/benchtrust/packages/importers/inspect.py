"""Inspect: a log as JSON, or as ``.eval``, which is a zip of JSON."""

import re
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from benchtrust.errors import LogError
from benchtrust.packages.importers.logs import (
    Answer,
    LeftOut,
    Log,
    commit_of,
    decoding_of,
    model_of,
    parse,
    read_json,
    same_mean,
    unit,
    version_of,
)

BENCHMARKS = {"truthfulqa": "truthfulqa", "bbq": "bbq", "xstest": "xstest"}
"""Names that tasks begin with."""
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Inspect's letters for correct, incorrect, partial and no answer, and what it counts them as."""
HEADER = "header.json"
JOURNAL = "_journal/start.json"
ZSTANDARD = 93
PARTS = {"ambig": "ambiguous", "disambig": "disambiguated"}
ITEMS_ONLY = ("subset", "subsets", "shuffle", "categories", "limit")
"""Arguments of tasks that say which items are asked, not how."""


def is_log(content: object) -> bool:
    """Whether JSON is a log."""
    return isinstance(content, dict) and {"status", "eval"} <= content.keys()


def read(path: Path, version: str | None = None) -> list[Log]:
    """The one log of a file.

    Raises
    ------
    LogError : empty, cut off, of a run that did not end well, or with fewer samples than it counts.
    LogVersionError : as `logs.version_of`.
    """
    log = _from_zip(path) if zipfile.is_zipfile(path) else _from_json(path)
    if log["status"] != "success":
        cause = (log.get("error") or {}).get("message", "no reason is given")
        raise LogError(
            f"{path} is of a run that ended as {log['status']!r} ({cause[:200]}): its score would be of "
            "a part of the items. Finish it (inspect eval-retry) and import the new log."
        )
    samples = log.get("samples") or []
    count = (log.get("results") or {}).get("total_samples")
    if not samples or (count is not None and len(samples) != count):
        of = f" of {count}" if count is not None else ""
        raise LogError(
            f"{path} holds {len(samples) or 'no'}{of} samples: log them (--log-samples), or copy it again."
        )
    return [_log(path, log, samples, version)]


def _from_json(path: Path) -> dict:
    log = read_json(path)
    if not is_log(log):
        raise LogError(f"{path} is no log of Inspect: it has no status and eval.")
    return log


def _from_zip(path: Path) -> dict:
    with zipfile.ZipFile(path) as archive, path.open("rb") as handle:
        names = archive.namelist()
        if HEADER not in names:
            what = "it was cut off while it was written" if JOURNAL in names else "it is another zip"
            raise LogError(f"{path} has no {HEADER}: {what}. Recover it (inspect log recover), or run again.")
        entries = [HEADER, *sorted(name for name in names if re.fullmatch(r"samples/.+\.json", name))]
        header, *samples = (_entry(path, handle, archive.getinfo(name)) for name in entries)
    return {**header, "samples": samples}


def _entry(path: Path, handle: BinaryIO, info: zipfile.ZipInfo) -> Any:
    """JSON of one entry; Inspect compresses by Zstandard, which `zipfile` reads from Python 3.14 on."""
    import pyarrow as pa

    handle.seek(info.header_offset)
    head = handle.read(30)
    handle.seek(sum(struct.unpack("<HH", head[26:30])), 1)
    content = handle.read(info.compress_size)
    where = f"{path}, {info.filename}"
    try:
        if info.compress_type == ZSTANDARD:
            content = pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
        elif info.compress_type != zipfile.ZIP_STORED:
            content = zipfile.ZipFile(path).read(info)
    except (pa.ArrowException, OSError, zipfile.BadZipFile) as error:
        raise LogError(f"{where} cannot be unpacked ({error}): copy the file again.") from None
    return parse(content, where)


def _log(path: Path, log: dict, samples: Sequence[dict], version: str | None) -> Log:
    facts = log["eval"]
    task = facts["task"].split("/")[-1]
    benchmark = next((b for n, b in BENCHMARKS.items() if re.match(rf"{n}(?![a-z0-9])", task)), None)
    scorer, others = _scorer(path, samples)
    answers = [_answer(sample, scorer, benchmark) for sample in samples]
    _check(path, log, scorer, samples)
    packages = {name.replace("_", "-"): found for name, found in (facts.get("packages") or {}).items()}
    own = version_of(path, "inspect-ai", packages.pop("inspect-ai", None), version)
    arguments = facts.get("model_args") or {}
    config = {**(facts.get("model_generate_config") or {}), **(log.get("plan", {}).get("config") or {})}
    return Log(
        path=path,
        package="inspect",
        version=own if "," in own else ", ".join([own, *(f"{n} {v}" for n, v in sorted(packages.items()))]),
        model=model_of(path, str(arguments.get("model_path") or facts["model"])),
        task=_task(task, facts.get("task_args") or {}),
        task_version=str(_metadata(facts).get("full_task_version") or facts.get("task_version")),
        commit=commit_of(path, (facts.get("revision") or {}).get("commit")),
        benchmark=benchmark,
        shots=int((facts.get("task_args") or {}).get("fewshot") or 0),
        decoding=decoding_of(config.get("temperature"), arguments.get("do_sample")),
        answers=tuple(answers),
        left_out=_notes(path, log, others),
        settings={
            "config": config,
            "solver": [step.get("solver") for step in log.get("plan", {}).get("steps", [])],
        },
        date=facts.get("created", ""),
    )


def _notes(path: Path, log: dict, others: tuple[str, ...]) -> tuple[LeftOut, ...]:
    further = LeftOut(str(path), "further scorers", others, loss=False)
    if (log.get("results") or {}).get("total_samples") is not None:
        return (further,) if others else ()
    unknown = LeftOut(str(path), "no totals: whether the samples are all that were asked is not known")
    return (further, unknown) if others else (unknown,)


def _metadata(facts: dict) -> dict:
    return facts.get("metadata") or {}


def _task(name: str, arguments: dict) -> str:
    """Name of a task with the arguments that change how items are asked."""
    kept = [f"{key}={value}" for key, value in sorted(arguments.items()) if key not in ITEMS_ONLY]
    kept = [text for text in kept if "scorer_model" not in text]
    return f"{name}:{','.join(kept)}" if kept else name


def _scorer(path: Path, samples: Sequence[dict]) -> tuple[str, tuple[str, ...]]:
    """The first scorer that has a score from 0 to 1 for every sample that did not fail, and the others."""
    whole = [sample for sample in samples if not sample.get("error")]
    names = list(dict.fromkeys(name for sample in whole for name in sample.get("scores") or {}))
    for name in names:
        if all(_value(sample, name) is not None for sample in whole):
            return name, tuple(other for other in names if other != name)
    raise LogError(
        f"{path} has no scorer with a score from 0 to 1 for each sample; it has: {names or 'none'}."
    )


def _value(sample: dict, scorer: str) -> float | None:
    value = ((sample.get("scores") or {}).get(scorer) or {}).get("value")
    return LETTERS.get(value) if isinstance(value, str) else unit(value)


def _answer(sample: dict, scorer: str, benchmark: str | None) -> Answer:
    options = tuple(sample.get("choices") or ())
    output = sample.get("output") or {}
    found = (sample.get("scores") or {}).get(scorer) or {}
    common = {
        "id": str(sample["id"]),
        "question": _question(sample, benchmark),
        "options": options,
        "metric": scorer,
        "prompt": _prompt(sample),
        "raw": output.get("completion"),
        "sample": int(sample.get("epoch") or 1) - 1,
        "part": _part(sample, benchmark),
    }
    if sample.get("error"):
        return Answer(**common, score=None, outcome="failed", parse="unparsed")
    if options and not found.get("answer"):
        stops = [choice.get("stop_reason") for choice in output.get("choices") or []]
        outcome = "truncated" if "max_tokens" in stops else "unparsed"
        return Answer(**common, score=None, outcome=outcome, parse="unparsed")
    score = (
        _by_part(_value(sample, scorer), common["part"]) if benchmark == "xstest" else _value(sample, scorer)
    )
    chosen = _option(str(found.get("answer")), options)
    return Answer(**common, score=score, outcome="scored", parse="parsed", chosen=chosen)


def _by_part(value: float, part: str | None) -> float:
    """XSTest's compliance as a score: any refusal, also a partial one, is right on unsafe prompts alone."""
    complies = float(value == 1.0)
    return complies if part == "safe" else 1.0 - complies


def _option(answer: str, options: Sequence[str]) -> str | None:
    """The option of a letter; several letters choose none."""
    place = ord(answer) - ord("A") if len(answer) == 1 else -1
    return options[place] if 0 <= place < len(options) else None


def _question(sample: dict, benchmark: str | None) -> str:
    given = sample["input"]
    text = given if isinstance(given, str) else _text(sample, given[-1])
    if benchmark == "bbq" and (parts := re.fullmatch(r"Context: (.*)\n\nQuestion: (.*)", text, re.DOTALL)):
        return f"{parts[1]}\n{parts[2]}"
    return text


def _prompt(sample: dict) -> str:
    """Texts of all messages before the first answer."""
    texts = []
    for message in sample.get("messages") or []:
        if message.get("role") == "assistant":
            break
        texts.append(_text(sample, message))
    return "\n\n".join(texts)


def _text(sample: dict, message: dict) -> str:
    content = message.get("content") or ""
    parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content]
    stored = sample.get("attachments") or {}
    return "".join(stored.get(part.removeprefix("attachment://"), part) for part in parts)


def _part(sample: dict, benchmark: str | None) -> str | None:
    facts = sample.get("metadata") or {}
    if benchmark == "bbq":
        return PARTS.get(facts.get("context_condition"))
    return facts.get("label") if benchmark == "xstest" else None


def _check(path: Path, log: dict, scorer: str, samples: Sequence[dict]) -> None:
    """Compare the samples' mean with the log's accuracy, where it has one and each sample is asked once."""
    if len({sample["id"] for sample in samples}) != len(samples):
        return
    scores = [_value(sample, scorer) for sample in samples if not sample.get("error")]
    for entry in (log.get("results") or {}).get("scores") or []:
        if entry["name"] == scorer and "accuracy" in entry["metrics"]:
            same_mean(str(path), scorer, scores, entry["metrics"]["accuracy"]["value"])
