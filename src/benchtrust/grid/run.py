"""Recording: each block's items in batches, each batch one file that appears whole or not at all."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from benchtrust import harness, responses
from benchtrust.errors import pick
from benchtrust.grid.plan import Block, asked
from benchtrust.grid.store import label, missing, part_path, write_part
from benchtrust.harness import Configuration, Rendered
from benchtrust.inference import engine, load
from benchtrust.inference.model import QUANTIZATIONS, Model
from benchtrust.inference.tokens import encode
from benchtrust.items import Item

SEED = 20260529


def run(
    plan: Sequence[Block],
    n_items: int,
    store: Path,
    quantization: str = "nf4",
    device: str = "auto",
    progress: bool = True,
) -> None:
    """Record every missing (cell, item) of the plan; run again to continue.

    Parameters
    ----------
    plan : blocks; those of one model should stand together: it is loaded when its first block comes.
    n_items : items a benchmark; a larger number later adds items and redoes none.
    store : folder of batch files.
    """
    quantization = pick(quantization, QUANTIZATIONS, "quantization")
    model: Model | None = None
    with tqdm(total=len(plan) * n_items, unit="item", disable=not progress, smoothing=0.05) as bar:
        for block in plan:
            exemplars, chosen = asked(block, n_items)
            groups = missing(store, block, chosen, quantization)
            bar.update(len(chosen) - sum(len(lacking) for _, lacking in groups))
            bar.set_description(block.name)
            if groups and (model is None or model.name != block.model):
                model = load(block.model, quantization, device)
            for part, lacking in groups:
                for first in range(0, len(lacking), engine.BATCH_ROWS):
                    batch = lacking[first : first + engine.BATCH_ROWS]
                    started = time.process_time(), time.perf_counter()
                    frame = answer(model, part, batch, exemplars)
                    spent = {
                        "cpu_s": time.process_time() - started[0],
                        "wall_s": time.perf_counter() - started[1],
                    }
                    write_part(frame, part_path(store, part, batch, quantization), spent)
                    bar.update(len(batch))


def answer(model: Model, block: Block, batch: Sequence[Item], exemplars: Sequence[Item]) -> pd.DataFrame:
    """Responses of one batch of items in all configurations of a block: one prefill serves them all."""
    first = block.configurations[0]
    used = fitting_shots(model, first, batch, exemplars)
    rendered = [harness.render(item, replace(first, shots=used), exemplars) for item in batch]
    scored = any(c.scoring == "logprob" for c in block.configurations)
    options = [(*r.candidates, *r.letters) if scored else () for r in rendered]
    rows: list[dict] = []
    at = 0
    for prefilled, scores in engine.blocks(model, [r.messages for r in rendered], options):
        part = slice(at, at + len(scores))
        at = part.stop
        cells = [(c, _cell(model, block, c, exemplars[:used])) for c in block.configurations]
        for _, cell in (one for one in cells if one[0].scoring == "logprob"):
            rows += [
                _logprob_row(cell, *one) for one in zip(batch[part], rendered[part], scores, strict=True)
            ]
        if free := [one for one in cells if one[0].scoring == "free_form"]:
            rows += _free_form_rows(model, prefilled, free, batch[part], rendered[part])
    return responses.validate(pd.DataFrame(rows))


def fitting_shots(
    model: Model, configuration: Configuration, batch: Sequence[Item], exemplars: Sequence[Item]
) -> int:
    """Largest number of exemplars with which every prompt and its answer fit the context window."""
    for used in range(configuration.shots, -1, -1):
        rendered = [harness.render(item, replace(configuration, shots=used), exemplars) for item in batch]
        longest = max(len(encode(model, r.messages)) for r in rendered)
        room = max(128, *(len(model.tokenizer(c).input_ids) for r in rendered for c in r.candidates))
        if longest + room <= model.context_window or used == 0:
            return used
    return 0


def _cell(model: Model, block: Block, configuration: Configuration, exemplars: Sequence[Item]) -> dict:
    """Columns that a cell's rows share; `shots_used` is smaller than `shots` where exemplars did not fit."""
    definition = harness.definition(
        block.benchmark, model.name, model.entry.source, model.quantization, configuration, exemplars
    )
    return {
        "benchmark": block.benchmark,
        "model": label(model.name, model.quantization),
        "template": configuration.template,
        "shots": configuration.shots,
        "shots_used": len(exemplars),
        "decoding": configuration.decoding,
        "scoring": configuration.scoring,
        "cell_id": harness.cell_id(definition),
        "sample": 0,
    }


def _logprob_row(cell: dict, item: Item, rendered: Rendered, scores: engine.OptionScores) -> dict:
    n = len(rendered.candidates)
    decision = harness.by_logprob(item, rendered, scores.logprobs[:n])
    return _row(cell, item, decision) | {
        "option_logprobs": list(scores.logprobs[:n]),
        "option_tokens": list(scores.tokens[:n]),
        "option_bytes": list(scores.bytes[:n]),
        "letter_logprobs": list(scores.logprobs[n:]) or None,
    }


def _free_form_rows(
    model: Model,
    prefilled: engine.Prefilled,
    cells: Sequence[tuple[Configuration, dict]],
    batch: Sequence[Item],
    rendered: Sequence[Rendered],
) -> Iterator[dict]:
    """Rows of all decodings of one prompt: its prefilled row is continued once for each, all in one batch."""
    wanted = [(c, cell, i) for c, cell in cells for i in range(len(batch))]
    completions = engine.decode(
        model,
        prefilled,
        [i for _, _, i in wanted],
        [engine.DECODINGS[c.decoding] for c, _, _ in wanted],
        [sample_seed(cell["cell_id"], batch[i].item_id) for _, cell, i in wanted],
        cells[0][0].max_new_tokens,
    )
    for (_, cell, i), completion in zip(wanted, completions, strict=True):
        decision = harness.by_completion(batch[i], rendered[i], completion.text, completion.stopped)
        yield _row(cell, batch[i], decision) | {"completion": completion.text}


def _row(cell: dict, item: Item, decision: harness.Decision) -> dict:
    return cell | {
        "item_id": item.item_id,
        "item_hash": item.sha256,
        "part": item.part,
        "outcome": decision.outcome,
        "score": decision.score,
        "choice": decision.choice,
        "option_logprobs": None,
        "option_tokens": None,
        "option_bytes": None,
        "letter_logprobs": None,
        "completion": None,
    }


def sample_seed(cell_id: str, item_id: str, sample: int = 0, seed: int = SEED) -> int:
    """Seed of one sampled answer: a function of (seed, cell, item, sample) alone."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{cell_id}/{item_id}/{sample}".encode()).digest()[:8], "big")
