"""The four axes and the nested envelopes (SafetyRepro, section on the grid)."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import product
from typing import TYPE_CHECKING

from benchtrust.errors import pick
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

    Parameters
    ----------
    tier, conservative : as in `envelope`.
    """
    members = {
        (name, *astuple(configuration))
        for name in frame["benchmark"].unique()
        for configuration in envelope(name, tier, conservative)
    }
    keys = frame[["benchmark", *CONFIGURATION]].itertuples(index=False, name=None)
    return frame[[key in members for key in keys]]
