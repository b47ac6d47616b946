"""Respondents that read nothing: what a score looks like when nobody answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from benchtrust import harness, items, responses
from benchtrust.harness import Rendered
from benchtrust.harness.configurations import PLAIN
from benchtrust.items import Item
from benchtrust.items.xstest import COMPLY, REFUSE

SEED = 20260529


def _letter_a(item: Item, rendered: Rendered) -> int:
    return rendered.order[0]


def _coin(item: Item, rendered: Rendered) -> int:
    digest = hashlib.sha256(f"{SEED}/{item.benchmark}/{item.item_id}".encode()).digest()
    return int(np.random.default_rng(int.from_bytes(digest[:8], "big")).integers(len(item.options)))


CONSTANTS: dict[str, tuple[tuple[str, ...], Callable[[Item, Rendered], int]]] = {
    "always letter A": (("truthfulqa", "bbq", "toxigen", *items.CHOICE_SETS), _letter_a),
    "always comply": (("xstest",), lambda *_: COMPLY),
    "always refuse": (("xstest",), lambda *_: REFUSE),
    "always stereotype": (("crows_pairs",), lambda item, _: item.answer),
    "coin": ((*items.BENCHMARKS, *items.CHOICE_SETS), _coin),
}
"""Name → the benchmarks it makes sense on, and its choice for an item as it is shown."""


def constants(benchmark: str, chosen: Sequence[Item]) -> pd.DataFrame:
    """Responses of every constant that makes sense on a benchmark, to the given items.

    Returns
    -------
    A response table with one model a constant. "Always letter A" takes the option that is shown first under
    the recorded shuffle; the coin is thrown once an item, from a seed. All stand in the plain configuration,
    since their answers are the same in every one.
    """
    rows = [
        _row(name, item, choose(item, harness.render(item, PLAIN)))
        for name, (where, choose) in CONSTANTS.items()
        if benchmark in where
        for item in chosen
    ]
    return responses.validate(pd.DataFrame(rows))


def _row(name: str, item: Item, choice: int) -> dict:
    return {
        "benchmark": item.benchmark,
        "item_id": item.item_id,
        "item_hash": item.sha256,
        "part": item.part,
        "model": name,
        "template": PLAIN.template,
        "shots": PLAIN.shots,
        "decoding": PLAIN.decoding,
        "scoring": PLAIN.scoring,
        "sample": 0,
        "outcome": "scored",
        "score": float(choice == item.answer),
        "choice": choice,
        "option_logprobs": None,
        "option_tokens": None,
        "option_bytes": None,
        "completion": None,
        "cell_id": hashlib.sha256(f"{name}/{item.benchmark}/{SEED}".encode()).hexdigest(),
    }
