"""Letter logits of 25 models on 10,000 MMLU items: LLM-Uncertainty-Bench (Ye et al. 2024)."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, pick
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
    with np.load(path, allow_pickle=False) as archive:
        arrays = _checked({name: archive[name] for name in archive.files})
    labels = [_parts(label) for label in arrays["configs"]]
    known = dict.fromkeys(model for _, model, _ in labels)
    chosen = {pick(name, known, "model") for name in models} or set(known)
    no_key = arrays["gold"] < 0
    shown = np.isin(np.arange(len(no_key)), EXEMPLARS)
    source = hashlib.sha256(path.read_bytes()).hexdigest()
    cells = _cells(arrays, labels, chosen, np.flatnonzero(~no_key & ~shown), source)
    frame = pd.concat(cells, ignore_index=True).reindex(columns=list(COLUMNS))
    frame.attrs.update(n_no_key=int(no_key.sum()), n_exemplars=int((shown & ~no_key).sum()))
    return frame


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
    names = np.array([f"mmlu-10k-{i}" for i in items], dtype=object)
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
