"""One seeded, stratified permutation: exemplars are its first items, a subset is its next n."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from benchtrust.errors import BenchtrustError
from benchtrust.items.model import Item

POOL = 5
SEED = 20260529


def permutation(items: Sequence[Item], seed: int = SEED) -> list[Item]:
    """All items in a seeded order in which every beginning is balanced over the strata, coarse to fine."""
    rng = np.random.default_rng(seed)
    shuffled = [items[i] for i in rng.permutation(len(items))]
    return _interleave(shuffled, 0, rng)


def exemplars(items: Sequence[Item], seed: int = SEED) -> list[Item]:
    """The pool of five exemplars, reserved before any subset; 3 shots are its first three."""
    return permutation(items, seed)[:POOL]


def subset(items: Sequence[Item], n: int, seed: int = SEED) -> list[Item]:
    """First `n` items of the permutation that are neither exemplars nor of an exemplar's family.

    A larger `n` adds items and changes none.

    Raises
    ------
    BenchtrustError : `n` is negative, or fewer than `n` items are left.
    """
    order = permutation(items, seed)
    reserved = {_family(item) for item in order[:POOL]}
    left = [item for item in order[POOL:] if _family(item) not in reserved]
    if n < 0:
        raise BenchtrustError(f"{n} items asked for: give a number from 0 on.")
    if n > len(left):
        raise BenchtrustError(f"{n} items asked for, but only {len(left)} are left beside the exemplars.")
    return left[:n]


def _family(item: Item) -> str:
    return item.family or item.item_id


def _interleave(items: list[Item], level: int, rng: np.random.Generator) -> list[Item]:
    """Deal the strata of one level in turn, each in its own balanced order."""
    if not items or level >= len(items[0].strata):
        return items
    strata: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        strata[item.strata[level]].append(item)
    queues = [_interleave(strata[key], level + 1, rng) for key in sorted(strata)]
    queues = [queues[i] for i in rng.permutation(len(queues))]
    longest = max(map(len, queues))
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]
