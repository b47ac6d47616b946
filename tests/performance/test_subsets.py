"""Adaptive tests against catsim, marginal Fisher, and how both grow. Run on one thread.

Compiled code is cached on disk; a small run of each first keeps its loading (or, once, compiling) out.
"""

from statistics import median
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from benchtrust.irt import adaptive_test, select_items, simulate

MODELS, ITEMS, STEPS, CHOSEN = 77, 5694, 100, 1000
FEW = 2
"""Models that catsim tests: its cost a model hardly varies."""


def made(n_models: int, n_items: int, seed: int = 1) -> tuple[SimpleNamespace, pd.DataFrame]:
    """Items with log a ~ N(0, .5²) and b ~ N(0, 1.2²) and abilities θ ~ N(0, 1), taken as known; answers."""
    rng = np.random.default_rng(seed)
    columns = {"a": np.exp(0.5 * rng.standard_normal(n_items)), "b": 1.2 * rng.standard_normal(n_items)}
    items = pd.DataFrame(columns, index=pd.RangeIndex(n_items, name="item"))
    theta = rng.standard_normal(n_models)
    known = SimpleNamespace(items=items, abilities=pd.DataFrame({"theta": theta}))
    return known, simulate(theta, items, rng)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    known, matrix = made(5, 30)
    for method in ("map", "ml"):
        adaptive_test(matrix, known.items, 5, method=method)
    select_items(matrix, 5, "marginal_fisher", known)


def posterior_mode(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> float:
    """Ability where the slope of the log posterior with θ ~ N(0, 1) is 0; it lies within Σ a of it."""
    bound = a.sum() + 1
    return brentq(lambda theta: (a * (x - expit(a * (theta - b)))).sum() - theta, -bound, bound, xtol=1e-12)


def catsim_test(bank, selector, answers: np.ndarray, estimate) -> list[int]:
    """Items that catsim asks a model; `estimate` is told items, answers and the last ability, at first 0."""
    asked: list[int] = []
    given: list[bool] = []
    theta = 0.0
    for _ in range(STEPS):
        asked.append(int(selector.select(item_bank=bank, administered_items=asked, est_theta=theta)))
        given.append(bool(answers[asked[-1]]))
        theta = estimate(asked, given, theta)
    return asked


def test_a_hundred_steps_cost_a_thousandth_of_catsim_and_ask_the_same_items(cpu_seconds) -> None:
    """Cost with the estimators of each, both by maximum likelihood.

    They differ while answers are all alike, where catsim takes Dodd's steps; so for the items, catsim's
    selector is told posterior modes.
    """
    pytest.importorskip("catsim", reason="not measured: pip install --group bench (pip 25.1 or newer)")
    from catsim.estimation import NumericalSearchEstimator
    from catsim.item_bank import ItemBank
    from catsim.selection import MaxInfoSelector

    known, matrix = made(MODELS, ITEMS)
    a, b = known.items.to_numpy().T
    bank = ItemBank(np.column_stack([a, b, np.zeros(ITEMS), np.ones(ITEMS)]))
    estimator, selector = NumericalSearchEstimator(), MaxInfoSelector()

    def likeliest(asked, given, theta):
        return estimator.estimate(
            item_bank=bank, administered_items=asked, response_vector=given, est_theta=theta
        )

    def mode(asked, given, theta):
        return posterior_mode(a[asked], b[asked], np.array(given))

    few = matrix.to_numpy()[:FEW]
    there, _ = cpu_seconds(lambda: [catsim_test(bank, selector, row, likeliest) for row in few])
    here = median(cpu_seconds(adaptive_test, matrix, known.items, STEPS, method="ml")[0] for _ in range(3))
    ratio = (there / FEW) / (here / MODELS)
    print(
        f"{STEPS} of {ITEMS:,} items, a model: catsim {there / FEW:.2f} s, "
        f"here {1000 * here / MODELS:.2f} ms, {ratio:,.0f}×"
    )
    ours = adaptive_test(matrix, known.items, STEPS).asked.to_numpy()[:FEW]
    assert ours.tolist() == [catsim_test(bank, selector, row, mode) for row in few]
    assert ratio >= 1000


@pytest.mark.parametrize("n_models", [67, 77])
def test_marginal_fisher_chooses_1000_of_5694_items_in_seconds(cpu_seconds, n_models: int) -> None:
    """Five seconds are the figure; a run fails at twice that."""
    known, matrix = made(n_models, ITEMS)
    runs = [cpu_seconds(select_items, matrix, CHOSEN, "marginal_fisher", known) for _ in range(3)]
    seconds = median(own for own, _ in runs)
    print(f"marginal Fisher, {CHOSEN:,} of {ITEMS:,} items, {n_models} models: {seconds:.2f} CPU-s")
    assert all(len(set(chosen.items)) == CHOSEN for _, chosen in runs)
    assert seconds <= 2 * 5


def test_growth_with_items_and_models_is_printed(cpu_seconds) -> None:
    """Four times the items, or models, cost at most eight times as much."""
    rows = []
    for n_models, n_items in [(77, 800), (77, 3200), (77, 12_800), (300, 3200), (1200, 3200)]:
        known, matrix = made(n_models, n_items)
        costs = {
            "adaptive": lambda m=matrix, k=known: adaptive_test(m, k.items, STEPS),
            "marginal_fisher": lambda m=matrix, k=known: select_items(m, STEPS, "marginal_fisher", k),
            "total_fisher": lambda m=matrix, k=known: select_items(m, STEPS, "total_fisher", k),
        }
        seconds = {name: median(cpu_seconds(call)[0] for _ in range(3)) for name, call in costs.items()}
        rows.append({"models": n_models, "items": n_items} | seconds)
    growth = pd.DataFrame(rows)
    print(f"CPU-s for {STEPS} items\n{growth.to_string(index=False)}")
    growth = growth.set_index(["models", "items"])
    assert (growth.loc[77, 12_800] <= 8 * growth.loc[77, 3200]).all()
    assert (growth.loc[1200, 3200] <= 8 * growth.loc[300, 3200]).all()
