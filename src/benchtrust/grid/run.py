"""Recording: each block's items in batches, each batch one file that appears whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import pandas as pd

from benchtrust import distributions, harness, items, responses
from benchtrust.errors import BenchtrustError, pick
from benchtrust.grid.cells import Cell, cells, fits
from benchtrust.grid.plan import Block, asked
from benchtrust.grid.progress import Progress
from benchtrust.grid.store import Claims, define, label, missing, part_path, write_part
from benchtrust.harness import Rendered
from benchtrust.inference import engine, load
from benchtrust.inference.model import QUANTIZATIONS, Model, reader
from benchtrust.items import Item


@dataclass(frozen=True)
class Task:
    """One batch: items to ask in the cells of a block that lack them, with the exemplars that fit."""

    block: Block
    cells: tuple[Cell, ...]
    batch: tuple[Item, ...]
    exemplars: tuple[Item, ...]
    quantization: str = "nf4"
    device: str = "auto"


@dataclass(frozen=True)
class Answers:
    """What a batch gave: responses, answer distributions (may be empty), and what it cost."""

    frame: pd.DataFrame
    profiles: pd.DataFrame
    spent: dict[str, float]


def run(
    plan: Sequence[Block],
    n_items: int,
    store: Path,
    quantization: str = "nf4",
    device: str = "auto",
    progress: bool = True,
    workers: int = 0,
    scheduler: str = "",
) -> None:
    """Record every missing (cell, item) of the plan; run again to continue.

    Parameters
    ----------
    plan : blocks; those of one model should stand together: it is loaded when its first block comes.
    n_items : items a benchmark; a larger number later adds items and redoes none.
    store : folder of batch files. Several runs may share one: a block is worked on by one of them.
    workers : local Dask workers, each with a model of its own; 0 answers in this process.
    scheduler : address of a Dask scheduler whose workers answer instead.

    Raises
    ------
    StoreError : the store was made with another definition of a cell or other items, or cannot be written.
    """
    quantization = pick(quantization, QUANTIZATIONS, "quantization")
    claims = Claims(store)
    with Progress(plan, n_items, progress) as bar:
        todo = tasks(plan, n_items, store, quantization, device, claims, bar)
        try:
            with closing(_results(todo, workers, scheduler)) as results:
                for task, answers in results:
                    path = part_path(store, task.block, task.cells, task.batch, task.quantization)
                    write_part(answers.frame, path, answers.spent, answers.profiles)
                    claims.give(task.block)
                    bar.answered(task.block, len(task.cells) * len(task.batch), answers.spent["tokens"])
        finally:
            claims.give_all()


def tasks(
    plan: Sequence[Block],
    n_items: int,
    store: Path,
    quantization: str,
    device: str,
    claims: Claims,
    bar: Progress,
) -> Iterator[Task | None]:
    """Batches that are still to be asked, block by block; blocks that another run has come last.

    None comes before each wait for another run: what is under way should be finished first.
    """
    waiting: list[Block] = []
    for block, wait in [(b, False) for b in plan] + [(b, True) for b in plan]:
        if wait and block not in waiting:
            continue
        if wait:
            yield None
        if not claims.take(block, quantization, wait):
            waiting.append(block)
            continue
        loaded = items.load(block.benchmark, block.source)
        exemplars, chosen = asked(block, n_items, loaded)
        wanted = cells(block, reader(block.model), quantization, loaded, exemplars)
        groups = missing(store, block, wanted, chosen, loaded, quantization)
        define(store, wanted)
        todo = sum(len(lacking) * len(of) for of, lacking in groups)
        bar.found(block, len(chosen) * len(wanted) - todo)
        for of, lacking in groups:
            for first in range(0, len(lacking), engine.BATCH_ROWS):
                batch = tuple(lacking[first : first + engine.BATCH_ROWS])
                claims.hold(block)
                yield Task(block, of, batch, tuple(exemplars[: of[0].shots_used]), quantization, device)
        claims.give(block)


def _results(todo: Iterator[Task | None], workers: int, scheduler: str) -> Iterator[tuple[Task, Answers]]:
    if workers or scheduler:
        from benchtrust.grid.cluster import results

        yield from results(todo, workers, scheduler)
        return
    for task in todo:
        if task is not None:
            yield task, perform(task)


_loaded: dict[tuple[str, str, str], Model] = {}


def perform(task: Task) -> Answers:
    """Answer a task with its model, which stays loaded until another one is asked for.

    Raises
    ------
    BenchtrustError : the weights that are loaded here are not those that the task's cells are defined by.
    """
    key = task.block.model, task.quantization, task.device
    if key not in _loaded:
        _loaded.clear()
        _loaded[key] = load(*key)
    model, wanted = _loaded[key], task.cells[0].definition["weights"]
    if model.entry.source != wanted:
        raise BenchtrustError(
            f"{model.name} is {model.entry.source} here, but the run asks for {wanted}: "
            "set the same revision wherever answers are computed."
        )
    return answer(model, task)


def answer(model: Model, task: Task) -> Answers:
    """Responses of one batch of items in all cells of a task: one prefill serves them all.

    An item that does not fit the model's context window is set aside whole: its rows are ``"failed"``.
    """
    started = time.process_time(), time.perf_counter()
    prompts, too_long = _prompts(model, task)
    rendered = [r for _, r in prompts]
    scored = [cell for cell in task.cells if cell.configuration.scoring == "logprob"]
    free = [cell for cell in task.cells if cell.configuration.scoring == "free_form"]
    profiled = next((c for c in scored if astuple(c.configuration) == distributions.CONFIGURATION), None)
    options = [(*r.candidates, *r.letters) if scored else () for r in rendered]
    answers = [len(r.candidates) if profiled else 0 for r in rendered]
    failed = harness.Decision(None, None, "failed")
    rows = [_row(_shared_columns(task, cell), item, failed) for cell in task.cells for item in too_long]
    profiles, tokens, at = [], 0, 0
    for prefilled, scores in engine.blocks(
        model, [r.messages for r in rendered], options, engine.BATCH_ROWS, answers
    ):
        part = slice(at, at + len(scores))
        at = part.stop
        asked = prompts[part]
        for cell in scored:
            shared = _shared_columns(task, cell)
            rows += [_logprob_row(shared, *one, s) for one, s in zip(asked, scores, strict=True)]
        if profiled:
            shared = _shared_columns(task, profiled)
            profiles += [_profile_row(shared, i, s) for (i, _), s in zip(asked, scores, strict=True)]
        if free:
            rows += _free_form_rows(model, task, prefilled, free, asked)
        tokens += sum(piece.computed for piece in prefilled)
    tokens += sum(row["answer_tokens"] or 0 for row in rows)
    spent = {
        "cpu_s": time.process_time() - started[0],
        "wall_s": time.perf_counter() - started[1],
        "tokens": tokens,
        "peak_gb": model.peak_bytes / 1e9,
    }
    table = pd.DataFrame(profiles, columns=distributions.COLUMNS)
    return Answers(responses.validate(pd.DataFrame(rows)), table, spent)


def _prompts(model: Model, task: Task) -> tuple[list[tuple[Item, Rendered]], list[Item]]:
    """Items of a task with their prompts, and the items whose prompts do not fit the model."""
    configuration = replace(task.cells[0].configuration, shots=task.cells[0].shots_used)
    prompts, too_long = [], []
    for item in task.batch:
        rendered = harness.render(item, configuration, task.exemplars)
        if fits(model, rendered):
            prompts.append((item, rendered))
        else:
            too_long.append(item)
    return prompts, too_long


def _shared_columns(task: Task, cell: Cell) -> dict:
    """Columns that a cell's rows share; `shots_used` is smaller than `shots` where exemplars did not fit."""
    return {
        "benchmark": task.block.benchmark,
        "model": label(task.block.model, task.quantization),
        "template": cell.configuration.template,
        "shots": cell.configuration.shots,
        "shots_used": cell.shots_used,
        "decoding": cell.configuration.decoding,
        "scoring": cell.configuration.scoring,
        "cell_id": cell.cell_id,
        "sample": 0,
    }


def _logprob_row(shared: dict, item: Item, rendered: Rendered, scores: engine.OptionScores) -> dict:
    n = len(rendered.candidates)
    decision = harness.by_logprob(item, rendered, scores.logprobs[:n])
    return _row(shared, item, decision) | {
        "option_logprobs": list(scores.logprobs[:n]),
        "option_tokens": list(scores.tokens[:n]),
        "option_bytes": list(scores.bytes[:n]),
        "letter_logprobs": list(scores.logprobs[n:]) or None,
    }


def _profile_row(shared: dict, item: Item, scores: engine.OptionScores) -> dict:
    found = scores.distribution
    return {
        "benchmark": shared["benchmark"],
        "item_id": item.item_id,
        "model": shared["model"],
        "cell_id": shared["cell_id"],
        "positions": found.positions,
        "token_ids": found.token_ids,
        "probabilities": found.probabilities,
        "rest": found.rest,
    }


def _free_form_rows(
    model: Model,
    task: Task,
    prefilled: engine.Prefilled,
    free: Sequence[Cell],
    asked: Sequence[tuple[Item, Rendered]],
) -> Iterator[dict]:
    """Rows of all decodings of one prompt: its prefilled row is continued once for each, all in one batch."""
    wanted = [(cell, i) for cell in free for i in range(len(asked))]
    completions = engine.decode(
        model,
        prefilled,
        [i for _, i in wanted],
        [engine.DECODINGS[cell.configuration.decoding] for cell, _ in wanted],
        [harness.sample_seed(cell.cell_id, asked[i][0].item_id) for cell, i in wanted],
        free[0].configuration.max_new_tokens,
    )
    for (cell, i), completion in zip(wanted, completions, strict=True):
        decision = harness.by_completion(*asked[i], completion.text, completion.stopped)
        yield _row(_shared_columns(task, cell), asked[i][0], decision) | {
            "completion": completion.text,
            "answer_tokens": len(completion.token_ids),
            "near_ties": completion.near_ties,
        }


def _row(shared: dict, item: Item, decision: harness.Decision) -> dict:
    return shared | {
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
        "answer_tokens": None,
        "near_ties": None,
    }
