"""What a recording consists of: blocks that share prompts, and the cells in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchtrust import harness, items
from benchtrust.errors import pick
from benchtrust.harness import Configuration
from benchtrust.harness.configurations import DECODINGS, SCORINGS, SHOTS, TEMPLATES
from benchtrust.inference.catalogue import entry
from benchtrust.items import SOURCES, Item

LEVELS = {"template": TEMPLATES, "shots": SHOTS, "decoding": (*DECODINGS, "none"), "scoring": SCORINGS}


@dataclass(frozen=True)
class Block:
    """Configurations of one (model, benchmark) that differ in decoding and scoring alone: same prompts."""

    model: str
    benchmark: str
    source: str
    configurations: tuple[Configuration, ...]

    @property
    def prompt(self) -> str:
        """What its configurations share: template and shots."""
        return f"{self.configurations[0].template}-{self.configurations[0].shots}"

    @property
    def name(self) -> str:
        """Model, benchmark and prompt, as in a store's folders."""
        return f"{self.model}/{self.benchmark}/{self.prompt}"


def blocks(
    models: Iterable[str],
    benchmarks: Iterable[str],
    tier: str = "full",
    source: str = "upstream",
    **axes: Sequence[str | int],
) -> list[Block]:
    """Blocks of a recording, model by model.

    Parameters
    ----------
    tier : envelope to record.
    source : ``"upstream"`` or ``"practice"`` items.
    axes : levels to keep on `template`, `shots`, `decoding`, `scoring`; an axis that is left out keeps all.
        Base models have log-prob scoring only.

    Raises
    ------
    UnknownNameError : an unknown model, benchmark, tier, source, axis or level, with the nearest names.
    """
    source = pick(source, SOURCES, "item source")
    wanted = {pick(axis, LEVELS, "axis"): levels for axis, levels in axes.items() if levels}
    wanted = {axis: {_level(axis, level) for level in levels} for axis, levels in wanted.items()}
    out = []
    for model in models:
        for name in benchmarks:
            groups: dict[tuple[str, int], list[Configuration]] = defaultdict(list)
            for c in harness.envelope(name, tier):
                kept = all(getattr(c, axis) in levels for axis, levels in wanted.items())
                if kept and (c.scoring == "logprob" or entry(model).chat):
                    groups[c.template, c.shots].append(c)
            bench = items.benchmark(name).name
            out += [Block(entry(model).name, bench, source, tuple(group)) for group in groups.values()]
    return out


def _level(axis: str, level: str | int) -> str | int:
    """The level of an axis that `level` means."""
    names = {str(name): name for name in LEVELS[axis]}
    return names[pick(str(level), names, axis)]


def asked(block: Block, n: int, loaded: Sequence[Item] | None = None) -> tuple[list[Item], list[Item]]:
    """Exemplar pool and the first `n` items of the block's benchmark (of `loaded`, if it is read already)."""
    loaded = items.load(block.benchmark, block.source) if loaded is None else loaded
    return items.exemplars(loaded), items.subset(loaded, n)
