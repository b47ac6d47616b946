"""lm-evaluation-harness: ``results_*.json`` with the ``samples_*.jsonl`` of its tasks beside it."""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

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

PREFERRED = ("acc", "exact_match", "f1")
"""Metrics of tasks that are not ours, the first that a task has; else its first from 0 to 1."""
NO_ANSWER = "[invalid]"
"""What its filters put where they find no answer."""


class Known(NamedTuple):
    """A task that is a benchmark of ours: content of a document, metrics, whether the best option decides."""

    name: str
    benchmark: str
    content: Callable[[dict], tuple[str, Sequence[str]]]
    metrics: tuple[str, ...] = ("acc",)
    decides: bool = True


def _bbq(doc: dict) -> tuple[str, Sequence[str]]:
    return f"{doc['context']}\n{doc['question']}", [doc[f"ans{i}"] for i in range(3)]


def _truthfulqa(doc: dict) -> tuple[str, Sequence[str]]:
    return doc["question"], doc["mc1_targets"]["choices"]


TASKS = (
    Known("truthfulqa_mc1", "truthfulqa", _truthfulqa),
    Known("truthfulqa_mc2", "truthfulqa", _truthfulqa, decides=False),
    Known("bbq", "bbq", _bbq),
    Known("toxigen", "toxigen", lambda doc: (doc["text"], ("Yes", "No")), ("acc", "acc_norm")),
    Known(
        "crows_pairs_english",
        "crows_pairs",
        lambda doc: ("", (doc["sent_more"], doc["sent_less"])),
        ("pct_stereotype",),
    ),
)
PARTS = {"ambig": "ambiguous", "disambig": "disambiguated"}


def is_results(content: object) -> bool:
    """Whether JSON is a results file."""
    return isinstance(content, dict) and {"results", "configs"} <= content.keys()


def results_of(samples: Path) -> Path | None:
    """Results file that a samples file belongs to; None if the name is not one of a samples file."""
    stamp = re.fullmatch(r"samples_.+_(\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl", samples.name)
    return samples.with_name(f"results_{stamp[1]}.json") if stamp else None


def read(path: Path, version: str | None = None) -> list[Log]:
    """Logs of all tasks of one results file.

    Raises
    ------
    LogError : no samples, cut off or fewer than the results count, or others than those they were made of;
        of several tasks, if none can be read.
    LogVersionError : as `logs.version_of`.
    """
    results = read_json(path)
    stamp = path.stem.removeprefix("results_")
    files = {task: path.with_name(f"samples_{task}_{stamp}.jsonl") for task in results["configs"]}
    there = {task: file for task, file in files.items() if file.is_file()}
    if not there:
        raise LogError(
            f"{path} has no samples of {', '.join(files) or 'any task'} beside it, so no "
            "answers: run lm-eval with --log_samples, or copy the whole folder."
        )
    stated = version_of(path, "lm-eval", results.get("lm_eval_version"), version)
    made, notes = [], []
    for task, file in there.items():
        try:
            made.append(_log(path, results, task, file, stated))
        except LogError as error:
            if task == list(there)[-1] and not made:
                raise
            notes.append(LeftOut("", str(error)))
    if missing := tuple(task for task in files if task not in there):
        notes.append(LeftOut(str(path), "tasks without a samples file (--log_samples)", missing))
    made[0] = replace(made[0], left_out=(*made[0].left_out, *notes))
    return made


def _log(path: Path, results: dict, task: str, file: Path, version: str) -> Log:
    count = results.get("n-samples", {}).get(task, {}).get("effective")
    every = _samples(file, count)
    known = _known(task, every)
    samples = [sample for sample in every if not known or _content(known, sample["doc"])]
    metrics, others = _metrics(file, samples, known)
    valid = {metric: [s for s in _of(samples, metric) if _sound(s, metric)] for metric in metrics}
    totals = _check(file, valid, results["results"].get(task, {}))
    answers = [_answer(task, sample, metric, known) for metric in metrics for sample in valid[metric]]
    notes = [
        LeftOut(str(file), "documents that are not what the task's are", _ids(every, samples)),
        LeftOut(str(file), "metrics that are no item score, or a variant", others, loss=False),
        LeftOut(str(file), "totals that could not be compared: the results lack them", totals),
        *(
            LeftOut(str(file), f"no {m} from 0 to 1, or no log-probability", _ids(_of(samples, m), valid[m]))
            for m in metrics
        ),
    ]
    if count is None:
        notes.append(LeftOut(str(file), "results without n-samples: whether the file is whole is not known"))
    config = results["configs"][task]
    setup = results.get("config", {})
    return Log(
        path=path,
        package="lm_eval",
        version=version,
        model=model_of(path, _model(results)),
        task=task,
        task_version=_text(results.get("versions", {}).get(task)),
        commit=commit_of(path, results.get("git_hash")),
        benchmark=known.benchmark if known else None,
        shots=int(results.get("n-shot", {}).get(task) or 0),
        decoding=_decoding(samples[0]),
        answers=tuple(answers),
        left_out=tuple(note for note in notes if note.ids or count is None),
        settings={
            "chat_template": results.get("chat_template_sha"),
            "system": results.get("system_instruction_sha"),
            "multiturn": results.get("fewshot_as_multiturn"),
            "gen_kwargs": setup.get("gen_kwargs"),
            "dtype": setup.get("model_dtype"),
            "output_type": config.get("output_type"),
        },
        date=str(results.get("date") or ""),
        chat=bool(results.get("chat_template_sha")),
    )


def _samples(file: Path, n: int | None) -> list[dict]:
    lines = file.read_bytes().rstrip().splitlines()
    if not lines:
        raise LogError(f"{file} is empty: its run did not end. Run again, or leave it out.")
    samples = [parse(line, f"{file}, line {number}") for number, line in enumerate(lines, 1)]
    strange = [
        i for i, sample in enumerate(samples, 1) if not {"doc", "arguments", "metrics"} <= sample.keys()
    ]
    if strange:
        raise LogError(
            f"{file}, line {strange[0]}: no sample of lm-eval (it lacks doc, arguments or metrics)."
        )
    asked = len({sample["doc_id"] for sample in samples})
    if n is not None and asked != n:
        raise LogError(
            f"{file} holds {asked} of the {n} samples that its results count: copy the whole file."
        )
    return samples


def _known(task: str, samples: Sequence[dict]) -> Known | None:
    """The task of ours that a name begins with, if any of its documents is what they are there."""
    for known in TASKS:
        if re.match(rf"{known.name}(?![a-z0-9])", task):
            return known if any(_content(known, sample["doc"]) for sample in samples) else None
    return None


def _content(known: Known, doc: dict) -> tuple[str, Sequence[str]] | None:
    """Question and options of a document; None if it is not what the task's documents are."""
    try:
        question, options = known.content(doc)
    except (KeyError, TypeError):
        return None
    return (question, options) if all(isinstance(text, str) for text in (question, *options)) else None


def _ids(samples: Sequence[dict], kept: Sequence[dict]) -> tuple[str, ...]:
    """Numbers of the documents of samples that were not kept."""
    there = {id(sample) for sample in kept}
    return tuple(str(sample["doc_id"]) for sample in samples if id(sample) not in there)


def _name(sample: dict, metric: str) -> str:
    """A metric with its filter, as totals have it; lm-eval calls "no filter" none."""
    return metric if sample.get("filter", "none") == "none" else f"{metric},{sample['filter']}"


def _metrics(file: Path, samples: Sequence[dict], known: Known | None) -> tuple[list[str], tuple[str, ...]]:
    """Metrics to take and the others."""
    every = list(dict.fromkeys(_name(s, m) for s in samples for m in s["metrics"] if m in s))
    scores = [name for name in every if all(unit(_value(s, name)) is not None for s in _of(samples, name))]
    if known:
        own = [name for name in every if name.split(",")[0] in known.metrics]
        taken = [name for name in own if any(_sound(sample, name) for sample in _of(samples, name))]
    else:
        ranked = [n for p in PREFERRED for n in scores if n.split(",")[0] == p]
        taken = (ranked or scores)[:1]
    if not taken:
        raise LogError(f"{file} has no score from 0 to 1 for each item; its metrics: {', '.join(every)}.")
    return taken, tuple(name for name in every if name not in taken)


def _of(samples: Sequence[dict], name: str) -> list[dict]:
    return [sample for sample in samples if any(_name(sample, m) == name for m in sample["metrics"])]


def _value(sample: dict, name: str) -> object:
    return sample.get(name.split(",")[0])


def _sound(sample: dict, name: str) -> bool:
    """Whether a sample has a score from 0 to 1, and a number for each candidate that is weighed."""
    requests = _arguments(sample)
    if not _weighed(requests):
        return unit(_value(sample, name)) is not None
    values = (float(_first(answer)) for answer in sample["filtered_resps"])
    return unit(_value(sample, name)) is not None and not any(map(math.isnan, values))


def _weighed(requests: Sequence[tuple]) -> bool:
    """Whether log-probabilities of continuations were asked for, not a text."""
    return len(requests[0]) > 1 and isinstance(requests[0][-1], str)


def _check(file: Path, samples: dict[str, list[dict]], totals: dict) -> tuple[str, ...]:
    """Compare the scores of each metric with its total; the metrics that have none."""
    without = []
    for name, own in samples.items():
        logged = totals.get(f"{name.split(',')[0]},{own[0].get('filter', 'none')}")
        same_mean(str(file), name, [float(_value(sample, name)) for sample in own], logged)
        without += [] if isinstance(logged, int | float) else [name]
    return tuple(without)


def _arguments(sample: dict) -> list[tuple]:
    """Requests of a sample: context and continuation, or context and generation settings."""
    given = sample["arguments"]
    rows = given.values() if isinstance(given, dict) else given
    return [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in rows]


def _answer(task: str, sample: dict, metric: str, known: Known | None) -> Answer:
    requests = _arguments(sample)
    doc = sample["doc"]
    question, options = known.content(doc) if known else (_generic(doc), ())
    common = {
        "id": f"{task}:{sample['doc_id']}",
        "question": question,
        "options": tuple(options),
        "metric": metric,
        "score": float(_value(sample, metric)),
        "outcome": "scored",
        "prompt": str(requests[0][0]),
        "part": PARTS.get(doc.get("context_condition")) if known and known.benchmark == "bbq" else None,
    }
    if _weighed(requests):
        return Answer(**common, parse="logprob", **_by_logprob(sample, requests, metric, known))
    text = _first(sample["resps"])
    if _first(sample.get("filtered_resps", [])) == NO_ANSWER:
        return Answer(**{**common, "score": None, "outcome": "unparsed"}, parse="unparsed", raw=text)
    return Answer(**common, parse="parsed", raw=text)


def _by_logprob(sample: dict, requests: Sequence[tuple], metric: str, known: Known | None) -> dict:
    candidates = tuple(str(request[1]) for request in requests)
    logprobs = tuple(float(_first(answer)) for answer in sample["filtered_resps"])
    found = {"candidates": candidates, "logprobs": logprobs}
    if not known or not known.decides or len(candidates) != len(logprobs):
        return found
    lengths = [len(text.strip()) if metric.startswith("acc_norm") else 1 for text in candidates]
    ranked = [value / length for value, length in zip(logprobs, lengths, strict=True)]
    chosen = candidates[ranked.index(max(ranked))].strip()
    return {**found, "chosen": _own_unknown(chosen, candidates, known.content(sample["doc"])[1], known)}


def _own_unknown(chosen: str, candidates: Sequence[str], options: Sequence[str], known: Known) -> str:
    """The item's option of a candidate: BBQ's ten wordings of "unknown" all stand for the item's own."""
    groups = [text.strip() for text in candidates[:2]]
    if known.benchmark != "bbq" or chosen in groups:
        return chosen
    return next((option for option in options if option.strip() not in groups), chosen)


def _first(value: object) -> str:
    """The first text in nested lists."""
    while isinstance(value, list):
        value = value[0] if value else ""
    return str(value)


def _generic(doc: object) -> str:
    return json.dumps(doc, sort_keys=True, ensure_ascii=False)


def _decoding(sample: dict) -> str:
    request = _arguments(sample)[0]
    if len(request) < 2 or not isinstance(request[1], dict):
        return "none"
    return decoding_of(request[1].get("temperature"), request[1].get("do_sample"))


def _model(results: dict) -> str:
    arguments = results.get("config", {}).get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.split("=", 1) for part in arguments.split(",") if "=" in part)
    named = (arguments or {}).get("pretrained") or (arguments or {}).get("model")
    return str(results.get("model_name") or named or results.get("model_source") or "unnamed")


def _text(value: object) -> str | None:
    return None if value is None else str(value)
