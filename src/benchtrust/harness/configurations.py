"""The four axes and the nested envelopes (SafetyRepro, section on the grid)."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import product
from typing import TYPE_CHECKING

from benchtrust.errors import pick
from benchtrust.items import BENCHMARKS, CHOICE_SETS
from benchtrust.items import benchmark as find_benchmark
from benchtrust.responses import CONFIGURATION

if TYPE_CHECKING:
    import pandas as pd

TEMPLATES = ("minimal", "role", "detailed", "cot")
SHOTS = (0, 3, 5)
DECODINGS = ("greedy", "t0.3", "t0.7")
SCORINGS = ("free_form", "logprob")
TIERS = ("full", "core", "conservative")


@dataclass(frozen=True, order=True)
class Configuration:
    """One choice on each axis. Under log-prob scoring nothing is decoded and `decoding` is ``"none"``."""

    template: str
    shots: int
    decoding: str
    scoring: str

    @property
    def max_new_tokens(self) -> int:
        """Limit on the answer, in tokens; part of the cell."""
        if self.scoring == "logprob":
            return 0
        return 128 if self.template == "cot" else 24


PLAIN = Configuration("minimal", 0, "none", "logprob")
"""The one configuration of a choice set, and that of the side table of answer distributions."""


def envelope(
    benchmark: str, tier: str = "full", conservative: tuple[Configuration, ...] | None = None
) -> list[Configuration]:
    """Configurations of a benchmark in a tier: full 48 ⊃ core 27 ⊃ conservative 4 (CrowS-Pairs 12, 9, 4).

    A choice set has one in every tier, `PLAIN`.

    Parameters
    ----------
    benchmark : a benchmark's name; CrowS-Pairs is scored by log-probabilities only.
    tier : ``"full"``; ``"core"`` drops chain-of-thought and T = 0.7; ``"conservative"`` is, by default,
        {minimal, detailed} × {0, 5 shots} with greedy free-form answers: the paper does not list its four.
    conservative : other members for the conservative tier.

    Returns
    -------
    Configurations, free-form first.
    """
    bench = find_benchmark(benchmark)
    chosen = pick(tier, TIERS, "envelope")
    if chosen == "conservative" and conservative is not None:
        return list(conservative)
    if bench.collection:
        return [PLAIN]
    if chosen == "conservative":
        path = ("greedy", "free_form") if bench.free_form else ("none", "logprob")
        return [Configuration(t, s, *path) for t, s in product(("minimal", "detailed"), (0, 5))]
    core = chosen == "core"
    templates = tuple(t for t in TEMPLATES if not (core and t == "cot"))
    decodings = tuple(d for d in DECODINGS if not (core and d == "t0.7"))
    free = [Configuration(t, s, d, "free_form") for t, s, d in product(templates, SHOTS, decodings)]
    scored = [Configuration(t, s, "none", "logprob") for t, s in product(templates, SHOTS)]
    return (free if bench.free_form else []) + scored


def within(
    frame: pd.DataFrame, tier: str, conservative: tuple[Configuration, ...] | None = None
) -> pd.DataFrame:
    """Rows of a table (responses or cells) whose configuration lies in the envelope of their benchmark.

    On a benchmark without any of our configurations the full envelope is all that the table holds, and the
    others are empty.

    Parameters
    ----------
    tier, conservative : as in `envelope`.
    """
    tier = pick(tier, TIERS, "envelope")
    members = _members(frame, tier, conservative)
    keys = list(frame[["benchmark", *CONFIGURATION]].itertuples(index=False, name=None))
    known = members | _members(frame, "full")
    ours = {key[0] for key in keys if key in known}
    return frame[[key in members if key[0] in ours else tier == "full" for key in keys]]


def tiers(frame: pd.DataFrame) -> list[str]:
    """Envelopes that a table (responses or cells) can be looked at in: the full one, and each in which every
    benchmark has rows."""
    wanted = set(frame["benchmark"])
    return [tier for tier in TIERS if tier == "full" or set(within(frame, tier)["benchmark"]) == wanted]


def _members(
    frame: pd.DataFrame, tier: str, conservative: tuple[Configuration, ...] | None = None
) -> set[tuple[str | int, ...]]:
    """Benchmark and levels of all configurations in the envelopes of those benchmarks that are ours."""
    return {
        (name, *astuple(configuration))
        for name in {*frame["benchmark"]} & {*BENCHMARKS, *CHOICE_SETS}
        for configuration in envelope(name, tier, conservative)
    }
