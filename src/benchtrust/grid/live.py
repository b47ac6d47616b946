"""A few cells answered there and then, and set beside the recorded ones."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchtrust import items
from benchtrust.errors import DataFileError
from benchtrust.grid.plan import asked, blocks
from benchtrust.responses import CONFIGURATION

KEY = ["benchmark", "item_id", *CONFIGURATION]


def obstacle(model: str, fetch: bool = True) -> str:
    """Why the weights of `model` cannot be had here, in a sentence; empty if they are in the cache now."""
    from benchtrust.inference import weights

    try:
        if not (fetch or weights.have(model)):
            return f"The weights of {model} are not in the cache, and fetching is switched off."
        weights.get(model, progress=False)
    except (DataFileError, ImportError, OSError) as error:
        return str(error).split(". ")[0] + "."
    return ""


def answers(model: str, benchmarks: Sequence[str], n_items: int) -> pd.DataFrame:
    """Practice items answered now, zero-shot with the minimal template, by log-probability and greedily.

    Returns
    -------
    A response table; `.attrs["seconds"]` holds the wall time of each benchmark.
    """
    from benchtrust.grid.cells import cells
    from benchtrust.grid.run import Task, answer
    from benchtrust.inference import load

    loaded = load(model)
    axes = {"template": ["minimal"], "shots": [0], "decoding": ["none", "greedy"]}
    frames, seconds = [], {}
    for block in blocks([model], benchmarks, source="practice", **axes):
        practice = items.load(block.benchmark, block.source)
        exemplars, chosen = asked(block, n_items, practice)
        wanted = cells(block, loaded, loaded.quantization, practice, exemplars)
        started = time.perf_counter()
        frames.append(answer(loaded, Task(block, tuple(wanted), tuple(chosen), ())).frame)
        seconds[block.benchmark] = time.perf_counter() - started
    table = pd.concat(frames, ignore_index=True)
    table.attrs["seconds"] = seconds
    return table


def beside(recorded: pd.DataFrame, live: pd.DataFrame) -> pd.DataFrame:
    """Live answers beside the recorded ones of the same cell and item.

    Returns
    -------
    One row an answer that both have, or each recorded one where `live` is empty: the key; both scores, an
    answer without a choice counting as 0; `decision`, ``"same"``, ``"other"`` or ``"not asked"``; and `gap`,
    the largest difference of the options' log-probabilities in nats (NaN where there is none to take).
    """
    how = "inner" if len(live) else "left"
    key = [*KEY, "cell_id"]
    both = recorded.merge(live, on=key, how=how, suffixes=("_recorded", "_live"), validate="one_to_one")
    asked = both["outcome_live"].notna()
    pairs = zip(both["option_logprobs_recorded"], both["option_logprobs_live"], strict=True)
    gaps = [
        np.max(np.abs(np.subtract(a, b))) if isinstance(a, list) and isinstance(b, list) else np.nan
        for a, b in pairs
    ]
    same = both["choice_recorded"].fillna(-1) == both["choice_live"].fillna(-1)
    return both[KEY].assign(
        score_recorded=both["score_recorded"].fillna(0.0),
        score_live=both["score_live"].fillna(0.0).where(asked),
        decision=np.where(~asked, "not asked", np.where(same, "same", "other")),
        gap=gaps,
    )


def margins(table: pd.DataFrame) -> pd.DataFrame:
    """By how much, in nats, the best option beats the second, for every log-prob answer."""
    scored = table[table["option_logprobs"].notna()]
    ranked = [np.sort(values)[::-1] for values in scored["option_logprobs"]]
    return scored[KEY].assign(margin=[float(r[0] - r[1]) for r in ranked]).reset_index(drop=True)
