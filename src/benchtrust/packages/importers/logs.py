"""A log as all three packages have it: whose it is, and an answer for each question and metric."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from benchtrust.errors import LogError, LogVersionError

RUN = "run.json"
DEFAULT_DECODING = "package_default"


@dataclass(frozen=True)
class Answer:
    """One answer to one question under one metric.

    Attributes
    ----------
    id : of the question, in the log.
    question, options : its content, as `joins.key` takes it.
    metric : the package's name of the score.
    score : in [0, 1], 1 as the benchmark has it (the book, "What is measured"); None without a decision.
    outcome : as in a response table.
    parse : ``"logprob"`` where log-probabilities decide, else whether the package found an answer in the
        text: ``"parsed"`` or ``"unparsed"``.
    prompt : as the log has it.
    chosen : text of the chosen option, if the log tells.
    raw : generated text.
    candidates, logprobs : what was scored, and its summed log-probabilities.
    sample : number of the repetition.
    part : part of the benchmark.
    shots_used : exemplars that fitted into the prompt.
    """

    id: str
    question: str
    options: tuple[str, ...]
    metric: str
    score: float | None
    outcome: str
    parse: str
    prompt: str
    chosen: str | None = None
    raw: str | None = None
    candidates: tuple[str, ...] = ()
    logprobs: tuple[float, ...] = ()
    sample: int = 0
    part: str | None = None
    shots_used: int | None = None


@dataclass(frozen=True)
class LeftOut:
    """What a log holds and the table does not.

    Attributes
    ----------
    where, reason : which log, and why.
    ids : what was left out, as the log names it.
    loss : whether answers are missing from the table by it.
    """

    where: str
    reason: str
    ids: tuple[str, ...] = ()
    loss: bool = True


@dataclass(frozen=True)
class Log:
    """One task of a package on one model.

    Attributes
    ----------
    path : the file or folder that names the log.
    package : ``lm_eval``, ``helm`` or ``inspect``.
    benchmark : which of ours the task is; None for another.
    commit : what the package says of the code that it ran in.
    settings : further things that determine the answers.
    date : by which the later of two logs is told.
    chat : whether the log says that the prompt went through a chat template; HELM's and Inspect's never do.
    """

    path: Path
    package: str
    version: str
    model: str
    task: str
    task_version: str | None
    commit: str | None
    benchmark: str | None
    shots: int
    decoding: str
    answers: tuple[Answer, ...]
    left_out: tuple[LeftOut, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    date: str = ""
    chat: bool = False

    @property
    def template(self) -> str:
        """How items were asked, as a response table names it."""
        return f"{self.package}:{self.task}{'+chat' if self.chat else ''}"


def read_json(path: Path) -> Any:
    """Content of a JSON file.

    Raises
    ------
    LogError : missing, empty, cut off or not JSON; the message says where it ends.
    """
    if not path.is_file():
        raise LogError(f"{path} is missing: the log is incomplete. Copy the whole folder, or run again.")
    return parse(path.read_bytes(), str(path))


def parse(content: bytes, where: str) -> Any:
    """JSON of a file or an entry of one; errors as `read_json`."""
    if not content.strip():
        raise LogError(f"{where} is empty: its run did not end. Run again, or leave it out.")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise LogError(
            f"{where} ({len(content):,} bytes) is cut off or not JSON: {error}. Copy it again, or run again."
        ) from None


def run_facts(path: Path) -> dict:
    """`run.json` of our own runs, beside a log or one folder above it; empty elsewhere."""
    start = path if path.is_dir() else path.parent
    for folder in (start, start.parent):
        if (folder / RUN).is_file():
            facts = read_json(folder / RUN)
            return facts if isinstance(facts, dict) and "package" in facts else {}
    return {}


def commit_of(path: Path, found: str | None) -> str | None:
    """Commit of the package's code: `run.json`'s of our own runs, whose logs name the folder they ran in."""
    facts = run_facts(path)
    return facts.get("commit") if facts else found


def version_of(path: Path, name: str, found: str | None, given: str | None) -> str:
    """Version of the package (`name` on PyPI) that wrote a log: the log's, else `run.json`'s, else the given.

    Raises
    ------
    LogVersionError : none of them says it, or two of them say different ones.
    """
    told, given = _released(run_facts(path).get("version")), _released(given)
    said = {
        "the log": found,
        f"{RUN} beside it": told.split(",")[0] if told else None,
        "--version": _checked(given.split(",")[0]) if given else None,
    }
    known = {where: version for where, version in said.items() if version}
    if not known:
        raise LogVersionError(
            f"{path} does not say which version of its package wrote it, and versions score differently. "
            f"Look it up where it ran (pip show {name}) and give it, importing this package's logs by "
            "themselves: --version X."
        )
    if len(set(known.values())) > 1:
        words = ", ".join(f"{where} says {version}" for where, version in known.items())
        raise LogVersionError(
            f"{path}: {words}. Give the version that wrote the log, or leave --version out."
        )
    return told or given or found or ""


def _checked(version: str) -> str:
    """A version as PyPI has them."""
    try:
        Version(version)
    except InvalidVersion:
        raise LogVersionError(
            f"--version {version}: no version of a package; one is as 0.5.16 (pip show says it)."
        ) from None
    return version


def _released(text: str | None) -> str | None:
    """Version without the name before it: ``crfm-helm 0.5.16`` and ``0.5.16`` are the same."""
    if not text:
        return None
    first, *others = text.split(", ")
    return ", ".join([first.split(" ")[-1], *others])


def model_of(path: Path, name: str) -> str:
    """Name of the model: that of `run.json`, else the last part of what the log says."""
    return run_facts(path).get("model") or name.rstrip("/").split("/")[-1]


def decoding_of(temperature: float | None, do_sample: bool | None) -> str:
    """Name of a decoding: greedy, a temperature, or whatever the package does by itself."""
    if do_sample is False or temperature == 0:
        return "greedy"
    return DEFAULT_DECODING if temperature is None else f"t{temperature:g}"


def same_mean(where: str, name: str, scores: Sequence[float], logged: object) -> None:
    """Check that item scores belong to the total that the log gives.

    Raises
    ------
    LogError : their means differ.
    """
    if not isinstance(logged, int | float) or not scores:
        return
    mean = sum(scores) / len(scores)
    if abs(mean - logged) > 1e-6:
        raise LogError(
            f"{where}: its {len(scores)} answers have a mean {name} of {mean:.6g}, its totals say "
            f"{logged:.6g}. They are of different runs, or one was changed: copy both from one run."
        )


def unit(value: object) -> float | None:
    """A score from 0 to 1, or None for anything else."""
    if isinstance(value, int | float) and 0 <= value <= 1:
        return float(value)
    return None
