"""GRID card: under which harness configuration a score was made, and from it the exact prompts again."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust import items, responses
from benchtrust.errors import BenchtrustError, SchemaError
from benchtrust.harness.cells import cell_id, definition
from benchtrust.harness.configurations import Configuration
from benchtrust.harness.prompts import OPENINGS, render, template
from benchtrust.items import Item

VERSION = "1.0"
N_BOOT = 2000
LEVEL = 0.95
SEED = 20260529
METHOD = f"bootstrap over items, within each part; seed {SEED}"
LABEL = re.compile(r"(?P<name>.+?)(?: \((?P<quantization>[^()]+)\))?")
MAPPING = "x-every_eval_ever"
EVERY_EVAL_EVER = "0.3.0"


@dataclass(frozen=True)
class Field:
    """A field of a card: its path, what it holds, and its path in an every_eval_ever record ("" = none)."""

    path: tuple[str, ...]
    description: str
    every_eval_ever: str

    def of(self, card: Mapping) -> object:
        """The field's value in a card; None where it is absent."""
        found: object = card
        for key in self.path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found


@cache
def schema() -> dict:
    """JSON Schema of a card (draft 2020-12), `card.schema.json`."""
    return json.loads(Path(__file__).with_name("card.schema.json").read_text(encoding="utf-8"))


def fields() -> list[Field]:
    """All fields of a card in the order of its schema."""
    return list(_fields(schema(), ()))


def _fields(node: dict, path: tuple[str, ...]) -> Iterator[Field]:
    for name, child in node["properties"].items():
        if "properties" in child:
            yield from _fields(child, (*path, name))
        else:
            yield Field((*path, name), child["description"], child.get(MAPPING, ""))


def card(
    rows: pd.DataFrame,
    loaded: Sequence[Item],
    weights: str,
    manifest: Mapping,
    uniformity: Mapping | None = None,
) -> dict:
    """GRID card of one cell.

    Parameters
    ----------
    rows : the cell's responses, all of them.
    loaded : all items of the benchmark, from the source that the manifest names.
    weights : what determines the model's weights, such as ``"gguf:<sha256>"`` or ``"repository@revision"``.
    manifest : of the record, as `benchtrust grid collect` writes it.
    uniformity : of `harmony.disclosure`, if the card is to say how even the score is.

    Returns
    -------
    A card that `check` accepts: plain JSON types; equal input gives an equal card.

    Raises
    ------
    SchemaError : not exactly one cell, or the manifest lacks something that a card states.
    BenchtrustError : the cell's definition, or an item, is not what it was when it was recorded; or no answer
        can be scored.
    """
    means = responses.cell_means(rows)
    if len(means) != 1:
        raise SchemaError(f"A card is of one cell, but these rows are of {len(means)}.")
    cell = means.iloc[0]
    asked = _asked(rows, loaded)
    facts = manifest.get("models", {}).get(cell["model"], {})
    made = {
        "card_version": VERSION,
        "cell_id": cell["cell_id"],
        "score": _score(rows, cell),
        "model": _model(cell["model"], weights, facts, manifest),
        "harness": _harness(rows, cell, loaded, weights, manifest),
        "items": {
            "source": manifest.get("items"),
            "n_items": len(asked),
            "item_set_hash": items.item_set_hash(asked),
            "item_ids": sorted(item.item_id for item in asked),
        },
        "provenance": _provenance(cell, manifest),
    }
    made |= {"uniformity": uniformity} if uniformity is not None else {}
    made = json.loads(json.dumps(made))
    made["harness"]["prompts_sha256"] = _hash(_rebuild(made, loaded))
    check(made)
    return made


def check(card: Mapping) -> None:
    """Hold a card against its schema, and its cell id against its definition.

    Raises
    ------
    SchemaError : the fields that are wrong, with what is wrong (the first five).
    """
    from jsonschema import Draft202012Validator

    found = [f"{e.json_path}: {e.message[:160]}" for e in Draft202012Validator(schema()).iter_errors(card)]
    if not found and cell_id(card["harness"]["definition"]) != card["cell_id"]:
        found = ["$.cell_id: is not the SHA-256 of $.harness.definition; one of them was altered"]
    if found:
        more = [f"and {len(found) - 5} more"] if len(found) > 5 else []
        raise SchemaError("Not a GRID card:\n" + "\n".join(f"  {line}" for line in [*found[:5], *more]))


def prompts(card: Mapping, loaded: Iterable[Item]) -> dict[str, list[dict[str, str]]]:
    """The exact messages that the score of a card rests on, made again from the card and the items.

    Parameters
    ----------
    card : a card, as `json.load` reads it.
    loaded : the benchmark's items, exemplars among them; further ones are passed over.

    Returns
    -------
    Item id → messages, in the order of the ids.

    Raises
    ------
    SchemaError : not a card.
    BenchtrustError : a template, an exemplar, an item or the rendering is not what the card states.
    """
    check(card)
    made = _rebuild(card, loaded)
    if (found := _hash(made)) != (stated := card["harness"]["prompts_sha256"]):
        raise BenchtrustError(
            f"The prompts come out otherwise than the card states (SHA-256 {found[:12]}, not {stated[:12]}), "
            f"though template, exemplars and items are the same: {_go_back(card)}"
        )
    return made


def every_eval_ever(card: Mapping, organization: str) -> dict:
    """A card as a record of the every_eval_ever schema, by the mapping that the card's schema states.

    Values without a place of their own stand among the additional details, as text.

    Parameters
    ----------
    organization : who provides the result.
    """
    date = datetime.fromisoformat(card["provenance"]["date"]).replace(tzinfo=UTC)
    stamp, name = str(int(date.timestamp())), card["model"]["name"]
    values = {field.every_eval_ever: field.of(card) for field in fields()} | {
        "schema_version": EVERY_EVAL_EVER,
        "evaluation_id": f"{card['score']['benchmark']}/{name}/{card['cell_id'][:16]}/{stamp}",
        "retrieved_timestamp": stamp,
        "source_metadata.source_type": "evaluation_run",
        "source_metadata.source_organization_name": organization,
        "source_metadata.evaluator_relationship": "third_party",
        "model_info.additional_details.deployment_type": "self_deployed",
        "model_info.additional_details.model_availability": "open_weights",
        "evaluation_results[].source_data.source_type": "other",
    }
    if not card["harness"]["definition"]["max_new_tokens"]:
        del values["evaluation_results[].generation_config.generation_args.max_tokens"]
    record: dict = {}
    for path, value in values.items():
        if path and value is not None:
            _put(record, path, value)
    return record


def _put(record: dict, path: str, value: object) -> None:
    *folders, name = path.split(".")
    for folder in folders:
        if folder.endswith("[]"):
            record = record.setdefault(folder.removesuffix("[]"), [{}])[0]
        else:
            record = record.setdefault(folder, {})
    as_text = folders and folders[-1] in ("additional_details", "details") and not isinstance(value, str)
    record[name] = json.dumps(value, ensure_ascii=False) if as_text else value


def _score(rows: pd.DataFrame, cell: pd.Series) -> dict:
    if np.isnan(cell["score"]):
        raise BenchtrustError(
            f"Cell {cell['cell_id'][:12]} has no answer to score ({cell['n_failed']} of {cell['n']} failed): "
            "record it again."
        )
    bench = items.benchmark(cell["benchmark"])
    rule = responses.CELL_RULES.get(bench.name, "mean")
    parsed = cell["score_parsed"]
    return {
        "benchmark": bench.name,
        "title": bench.title,
        "means": bench.score_means,
        "direction": bench.direction,
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0,
        "max_score": 1,
        "rule": rule,
        "chance": bench.chance,
        "score": float(cell["score"]),
        "score_parsed": None if np.isnan(parsed) else float(parsed),
        "score_low": float(cell["score_low"]),
        "score_high": float(cell["score_high"]),
        **{name: int(cell[name]) for name in ("n", *(f"n_{outcome}" for outcome in responses.OUTCOMES))},
        "uncertainty": _uncertainty(rows, rule),
    }


def _uncertainty(rows: pd.DataFrame, rule: str) -> dict | None:
    """Standard error and percentile interval of the cell score, from items drawn again within their parts."""
    from scipy.stats import bootstrap

    answered = rows[rows["outcome"] != "failed"].fillna({"score": 0.0, "part": ""})
    part = answered["part"] if rule == "mean_of_parts" else ""
    scores = answered.assign(part=part).groupby(["part", "item_id"])["score"].mean()
    parts = [of_part.to_numpy(float) for _, of_part in scores.groupby("part")]
    if min(map(len, parts)) < 2:
        return None

    def cell_score(*drawn: np.ndarray, axis: int = -1) -> np.ndarray:
        rate = np.mean([of_part.mean(axis=axis) for of_part in drawn], axis=0)
        return 1 - 2 * np.abs(rate - 0.5) if rule == "parity" else rate

    rng = np.random.default_rng(SEED)
    found = bootstrap(
        parts, cell_score, n_resamples=N_BOOT, confidence_level=LEVEL, method="percentile", rng=rng
    )
    return {
        "standard_error": float(found.standard_error),
        "method": METHOD,
        "lower": float(found.confidence_interval.low),
        "upper": float(found.confidence_interval.high),
        "level": LEVEL,
        "interval_method": "percentiles of the same draws",
        "n_items": len(scores),
        "n_draws": N_BOOT,
    }


def _model(label: str, weights: str, facts: Mapping, manifest: Mapping) -> dict:
    name, quantization = _name(label)
    source = facts.get("source")
    return {
        "name": name,
        "id": source if isinstance(source, str) and "/" in source else name,
        "weights": weights,
        "source": source,
        "quantization": quantization,
        "prompting": facts.get("prompting"),
        "licence": facts.get("licence"),
        "engine": {
            "name": "transformers",
            "version": manifest.get("versions", {}).get("transformers"),
        },
    }


def _name(label: str) -> tuple[str, str]:
    """Name and quantisation of a model, from what response tables call it."""
    found = LABEL.fullmatch(label)
    return found["name"], found["quantization"] or "nf4"


def _harness(
    rows: pd.DataFrame, cell: pd.Series, loaded: Sequence[Item], weights: str, manifest: Mapping
) -> dict:
    name, quantization = _name(cell["model"])
    asked = int(cell["shots"])
    used = int(rows["shots_used"].fillna(asked).max())
    configuration = Configuration(cell["template"], asked, cell["decoding"], cell["scoring"])
    pool = items.exemplars(loaded)[:used]
    made = definition(cell["benchmark"], name, weights, quantization, configuration, pool)
    if cell_id(made) != cell["cell_id"]:
        raise BenchtrustError(
            f"Cell {cell['cell_id'][:12]} is cell {cell_id(made)[:12]} in the present harness: the template, "
            "an exemplar, the weights or the scoring rule has changed. Check out the commit of its record "
            f"({manifest.get('commit')}) and make the card there, or record it again (benchtrust grid run)."
        )
    return {
        "package": {"name": "benchtrust", "version": manifest.get("versions", {}).get("benchtrust")},
        "shots_asked": asked,
        "shots_used": used,
        "temperature": _temperature(cell["decoding"]),
        "prompts_sha256": "",
        "definition": made,
    }


def _temperature(decoding: str) -> float | None:
    if decoding == "none":
        return None
    return 0.0 if decoding == "greedy" else float(decoding.removeprefix("t"))


def _provenance(cell: pd.Series, manifest: Mapping) -> dict:
    file = f"{cell['model']}/{cell['benchmark']}.parquet"
    sha256 = manifest.get("files", {}).get(file)
    facts = {key: manifest.get(key) for key in ("date", "commit", "python", "versions")}
    return facts | {
        "hardware": manifest.get("machine"),
        "batch_plan": manifest.get("batch_plan"),
        "responses_file": file if sha256 else None,
        "responses_sha256": sha256,
    }


def _asked(rows: pd.DataFrame, loaded: Sequence[Item]) -> list[Item]:
    """Items that the rows answer, as they were worded then."""
    by_id = {item.item_id: item for item in loaded}
    hashes = rows.drop_duplicates("item_id").set_index("item_id")["item_hash"]
    other = [i for i, sha256 in hashes.items() if i not in by_id or by_id[i].sha256 != sha256]
    if other:
        raise BenchtrustError(
            f"{len(other)} of {len(hashes)} items are not those that were answered ({', '.join(other[:3])}): "
            "they are missing, or worded otherwise. Load the source and version of the items that were asked."
        )
    return [by_id[i] for i in hashes.index]


def _rebuild(card: Mapping, loaded: Iterable[Item]) -> dict[str, list[dict[str, str]]]:
    """Messages by item, from what the card says; refuses any text that it does not mean."""
    cell, by_id = card["harness"]["definition"], {item.item_id: item for item in loaded}
    text = template(cell["benchmark"], cell["template"])
    if hashlib.sha256(text.encode()).hexdigest() != cell["template_text"]:
        raise BenchtrustError(
            f"The text of template {cell['template']!r} of {cell['benchmark']} is not the card's: "
            + _go_back(card)
        )
    if cell["openings"] not in (None, list(OPENINGS)):
        raise BenchtrustError(f"XSTest's openings are not the card's: {_go_back(card)}")
    for item_id, sha256 in cell["exemplars"]:
        if item_id not in by_id or by_id[item_id].sha256 != sha256:
            raise BenchtrustError(_other_items(card, f"exemplar {item_id} is missing or another text"))
    exemplars = [by_id[item_id] for item_id, _ in cell["exemplars"]]
    ids = card["items"]["item_ids"]
    if absent := [item_id for item_id in ids if item_id not in by_id]:
        raise BenchtrustError(_other_items(card, f"{len(absent)} are missing, {absent[0]} among them"))
    asked = [by_id[item_id] for item_id in ids]
    if items.item_set_hash(asked) != card["items"]["item_set_hash"]:
        raise BenchtrustError(_other_items(card, "at least one is another text (their set has another hash)"))
    configuration = Configuration(cell["template"], len(exemplars), cell["decoding"], cell["scoring"])
    seed = cell["option_order_seed"]
    return {i.item_id: list(render(i, configuration, exemplars, seed).messages) for i in asked}


def _hash(messages: Mapping[str, list[dict[str, str]]]) -> str:
    ordered = [messages[item_id] for item_id in sorted(messages)]
    return hashlib.sha256(json.dumps(ordered, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _go_back(card: Mapping) -> str:
    return f"check out commit {card['provenance']['commit']}, where the card's answers come from."


def _other_items(card: Mapping, what: str) -> str:
    return (
        f"The {card['score']['benchmark']} items are not the card's: {what}. It means the items of source "
        f"{card['items']['source']!r} with set hash {card['items']['item_set_hash'][:12]}."
    )
