"""Letter logits of 25 models on 10,000 MMLU items: LLM-Uncertainty-Bench (Ye et al. 2024)."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import softmax

from benchtrust.errors import SchemaError, pick
from benchtrust.files import sha256
from benchtrust.items.sources import locate
from benchtrust.responses import COLUMNS

FILE = "logits/lub_mmlu_10k_logits.npz"
FORMATS = {"outputs_base": "plain", "outputs_chat_v2": "plain", "outputs_chat_v1": "chat"}
"""Group of the file → format of the prompt: plain text, or a chat model's own chat template."""
STYLES = ("base", "shared", "task")
"""No instruction, one for all tasks, one for this task."""
READINGS = {"logprob_six_letters": 6, "logprob_four_letters": 4}
"""Level of the axis `scoring` → letters that count: the file's six, which hold "I don't know" and "None of
the above", or the four that can be right."""
EXEMPLARS = (1, 3, 5, 7, 9)
"""Items that every prompt shows with their answers (``few_shot_exp_ids`` of generate_logits.py there)."""
NEAR = 1e-3
_ARRAYS = {"logits": 3, "configs": 1, "gold": 1, "subject": 1}
_NAME = re.compile(r"(.+?)(?:-llm)?-(\d+)(?:_(\d+))?b\b", re.IGNORECASE)


@dataclass(frozen=True)
class LetterProbabilities:
    """What each configuration makes of the letters.

    Attributes
    ----------
    configurations : (c rows) model, style and format of the prompt.
    items : (n rows) indexed by item_id: subject, and key, the position of the right letter.
    values : (c, n, K) probabilities of the letters A, B, ..., each row summing to one.
    """

    configurations: pd.DataFrame
    items: pd.DataFrame
    values: np.ndarray

    @property
    def choices(self) -> np.ndarray:
        """(c, n) position of the most probable letter; a tie goes to the first."""
        return self.values.argmax(axis=2)

    @property
    def scores(self) -> np.ndarray:
        """(c, n) 1 where the most probable letter is the key, else 0."""
        return (self.choices == self.items["key"].to_numpy()).astype("float64")


def load(models: Sequence[str] = (), path: Path | None = None) -> pd.DataFrame:
    """Read the logits as responses: the most probable letter of each prompt is the answer.

    Parameters
    ----------
    models : names to read; all if none is given.
    path : file to read in place of the pinned one.

    Returns
    -------
    Responses in the columns of the schema, a row per model, prompt, reading and item. `template` is style and
    format, as in ``"shared, chat"``; `scoring` is one of `READINGS`; `part` is the item's subject. A tie goes
    to the first letter and is counted in `near_ties`, as is any lead under 1e-3: half-precision logits often
    tie. ``.attrs`` has n_no_key and n_exemplars, the items left out because the file has no right answer to
    them or because every prompt shows it.

    `responses.validate` is not called: it takes a minute for the two million rows.

    Raises
    ------
    DataFileError : the pinned file is missing or altered.
    SchemaError : an array is missing or of another shape, a configuration that does not read as
        ``group|model|style_icl1``, logits that are not finite.
    UnknownNameError : no such model.
    """
    path = path or locate(FILE)
    arrays = _read(path)
    labels = [_parts(label) for label in arrays["configs"]]
    no_key, shown = _left_out(arrays)
    source = sha256(path)
    cells = _cells(arrays, labels, _chosen(models, labels), np.flatnonzero(~no_key & ~shown), source)
    frame = pd.concat(cells, ignore_index=True).reindex(columns=list(COLUMNS))
    frame.attrs.update(n_no_key=int(no_key.sum()), n_exemplars=int((shown & ~no_key).sum()))
    return frame


def probabilities(
    models: Sequence[str] = (), reading: str = "logprob_four_letters", path: Path | None = None
) -> LetterProbabilities:
    """Read the logits as probabilities: softmax over the letters that count.

    Items are left out as in `load`.

    Parameters
    ----------
    models, path : as in `load`.
    reading : one of `READINGS`, which says how many letters count.

    Raises
    ------
    DataFileError, SchemaError : as `load`.
    UnknownNameError : no such model or reading.
    """
    n_letters = READINGS[pick(reading, READINGS, "reading")]
    arrays = _read(path or locate(FILE))
    labels = [_parts(label) for label in arrays["configs"]]
    chosen = _chosen(models, labels)
    own = [position for position, (_, model, _) in enumerate(labels) if model in chosen]
    kept = np.flatnonzero(~np.logical_or(*_left_out(arrays)))
    rows = [(labels[position][1], *labels[position][0].split(", ")) for position in own]
    facts = {"subject": arrays["subject"][kept].astype(object), "key": arrays["gold"][kept].astype(int)}
    return LetterProbabilities(
        configurations=pd.DataFrame(rows, columns=["model", "style", "format"]),
        items=pd.DataFrame(facts, index=pd.Index(_item_ids(kept), name="item_id")),
        values=softmax(arrays["logits"][np.ix_(own, kept, range(n_letters))].astype("float64"), axis=2),
    )


def families(models: Iterable[str]) -> pd.DataFrame:
    """What the names of the models say of them.

    Returns
    -------
    A row a model: model, family, parameters in billions as its name rounds them, and kind, "base" or "chat".

    Raises
    ------
    SchemaError : a name without a family and a size.
    """
    rows = []
    for model in models:
        if not (found := _NAME.match(model)):
            raise SchemaError(
                f"The name {model!r} holds no size, as in 'Llama-2-7b-hf': name its family by hand."
            )
        family, whole, tenths = found.groups()
        kind = "chat" if re.search("chat|instruct", model, re.IGNORECASE) else "base"
        rows.append((model, family, float(f"{whole}.{tenths or 0}"), kind))
    return pd.DataFrame(rows, columns=["model", "family", "parameters", "kind"])


def _read(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return _checked({name: archive[name] for name in archive.files})


def _chosen(models: Sequence[str], labels: Sequence[tuple[str, str, str]]) -> set[str]:
    known = dict.fromkeys(model for _, model, _ in labels)
    return {pick(name, known, "model") for name in models} or set(known)


def _left_out(arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Items without a key, and items that every prompt shows."""
    return arrays["gold"] < 0, np.isin(np.arange(len(arrays["gold"])), EXEMPLARS)


def _item_ids(items: np.ndarray) -> np.ndarray:
    return np.array([f"mmlu-10k-{i}" for i in items], dtype=object)


def _checked(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    for name, axes in _ARRAYS.items():
        if name not in arrays or arrays[name].ndim != axes:
            found = f"of shape {arrays[name].shape}" if name in arrays else "missing"
            raise SchemaError(f"MMLU logits: array {name!r} is {found}; expected {axes} axis or axes.")
    shape = (len(arrays["configs"]), len(arrays["gold"]), max(READINGS.values()))
    if arrays["logits"].shape != shape or len(arrays["subject"]) != shape[1]:
        raise SchemaError(
            f"MMLU logits of shape {arrays['logits'].shape} do not fit {shape[0]} configurations, "
            f"{shape[1]} keys, {len(arrays['subject'])} subjects and {shape[2]} letters."
        )
    if not np.isfinite(arrays["logits"]).all():
        raise SchemaError("MMLU logits hold values that are not finite.")
    return arrays


def _parts(label: str) -> tuple[str, str, str]:
    """Template, model and shown name of a configuration."""
    group, model, prompt = [*str(label).split("|"), "", ""][:3]
    style = prompt.removesuffix("_icl1")
    if group not in FORMATS or style not in STYLES or not model:
        raise SchemaError(
            f"MMLU configuration {str(label)!r} is not 'group|model|style_icl1' with a group of "
            f"{', '.join(FORMATS)} and a style of {', '.join(STYLES)}."
        )
    return f"{style}, {FORMATS[group]}", model, str(label)


def _cells(
    arrays: dict[str, np.ndarray],
    labels: Sequence[tuple[str, str, str]],
    models: set[str],
    items: np.ndarray,
    source: str,
) -> Iterator[pd.DataFrame]:
    """The rows of each model, prompt and reading."""
    names = _item_ids(items)
    gold, subject = arrays["gold"][items], arrays["subject"][items].astype(object)
    for position, (template, model, label) in enumerate(labels):
        if model not in models:
            continue
        for reading, n_letters in READINGS.items():
            logits = arrays["logits"][position, items, :n_letters]
            choice = logits.argmax(axis=1)
            second, best = np.partition(logits, -2, axis=1)[:, -2:].T
            yield pd.DataFrame(
                {
                    "benchmark": "mmlu",
                    "item_id": names,
                    "part": subject,
                    "model": model,
                    "template": template,
                    "shots": len(EXEMPLARS),
                    "decoding": "none",
                    "scoring": reading,
                    "sample": 0,
                    "outcome": "scored",
                    "score": (choice == gold).astype(float),
                    "choice": choice,
                    "near_ties": (best - second < NEAR).astype(int),
                    "cell_id": hashlib.sha256(f"{source} {label} {reading}".encode()).hexdigest(),
                }
            )
