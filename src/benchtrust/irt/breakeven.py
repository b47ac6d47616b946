"""When does a calibration pay for itself? Costs of ranking models by a calibrated subset, and without one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from benchtrust.errors import SchemaError

FULL = "every item"
RANDOM = "random subset"
CALIBRATED = "calibrated subset"


@dataclass(frozen=True)
class CalibrationPlan:
    """Models that calibrate a benchmark, the subset that is chosen then, and what answers cost.

    Attributes
    ----------
    n_items : K, items of the benchmark.
    n_calibration : N, models that the calibration is made on.
    k : items of the calibrated subset, 1 to K.
    k_random : k_r, items of a random subset of the same agreement; None leaves that comparison out.
    wanted : w, share of the N models that would be run anyway, in [0, 1].
    answer_cost : c, of one answer, > 0, in any currency.
    fixed_cost : F, of calibration besides the answers, ≥ 0, in the same.

    Raises
    ------
    SchemaError : sizes, share or costs out of range.
    """

    n_items: int
    n_calibration: int
    k: int
    k_random: int | None = None
    wanted: float = 1.0
    answer_cost: float = 1.0
    fixed_cost: float = 0.0

    def __post_init__(self) -> None:
        sizes = [self.k] if self.k_random is None else [self.k, self.k_random]
        if not all(1 <= size <= self.n_items for size in sizes):
            raise SchemaError(f"Subsets of {sizes} of {self.n_items} items: give 1 to {self.n_items}.")
        if self.n_calibration < 1 or not 0 <= self.wanted <= 1:
            raise SchemaError(
                f"{self.n_calibration} models, wanted={self.wanted}: give one at least, and a share."
            )
        if not (0 < self.answer_cost < math.inf and 0 <= self.fixed_cost < math.inf):
            raise SchemaError(
                f"Costs {self.answer_cost} an answer, {self.fixed_cost} fixed: give above 0, and from 0."
            )

    @property
    def alternatives(self) -> dict[str, int]:
        """Items that a model answers without calibration, by strategy."""
        return {FULL: self.n_items} | ({} if self.k_random is None else {RANDOM: self.k_random})


def break_even(plan: CalibrationPlan) -> pd.DataFrame:
    """How many later models does it take until calibration has paid for itself?

    Let N models answer all K items so that the items can be calibrated, at c an answer and F for the work.
    Each of n later models then answers k items: N K c + F + n k c. Without calibration all models that
    somebody wants ranked, w N of those N and the n later ones, answer q items: (w N + n) q c, where q = K if
    they answer all, or q = k_r items drawn by lot, as many as give the same agreement. Calibration is cheaper
    once

        n (q − k) > N (K − w q) + F / c,

    that is from n* = ⌊(N (K − w q) + F / c) / (q − k)⌋ + 1 models on if q > k. If q ≤ k it is never cheaper
    later on, since each model costs no less. With w = 1 and F = 0 it pays against full runs at the first
    model; with w = 0 the calibration models serve for nothing else.

    Returns
    -------
    A row per alternative, `FULL` and `RANDOM`: alternative, items (q), n_star (n*, at least 1; missing if
    never), saved_per_model ((q − k) c, of each later model), outlay (N (K − w q) c + F, what the
    calibration has cost more before the first of them).
    """
    rows = []
    for name, q in plan.alternatives.items():
        unsaved = plan.n_items - plan.wanted * q
        owed = plan.n_calibration * unsaved * plan.answer_cost + plan.fixed_cost
        gain = (q - plan.k) * plan.answer_cost
        n_star = math.floor(owed / gain) + 1 if gain > 0 else None
        rows.append([name, q, n_star, gain, owed])
    columns = ["alternative", "items", "n_star", "saved_per_model", "outlay"]
    return pd.DataFrame(rows, columns=columns).astype({"n_star": "Int64"})


def evaluation_costs(plan: CalibrationPlan, n_later: Sequence[int]) -> pd.DataFrame:
    """What does ranking n later models cost, the models before them included?

    Parameters
    ----------
    plan : as in `break_even`, which has the formulas.
    n_later : numbers of later models, ≥ 0.

    Returns
    -------
    A row per strategy (`FULL`, `RANDOM`, `CALIBRATED`) and number: strategy, n_later, cost.

    Raises
    ------
    SchemaError : a negative number of models.
    """
    if min(n_later, default=0) < 0:
        raise SchemaError(f"{min(n_later)} later models: give numbers from 0 on.")
    before = plan.wanted * plan.n_calibration
    starts = {name: (q, before * q * plan.answer_cost) for name, q in plan.alternatives.items()}
    starts[CALIBRATED] = (plan.k, plan.n_calibration * plan.n_items * plan.answer_cost + plan.fixed_cost)
    rows = [
        [name, n, start + n * q * plan.answer_cost] for name, (q, start) in starts.items() for n in n_later
    ]
    return pd.DataFrame(rows, columns=["strategy", "n_later", "cost"])
