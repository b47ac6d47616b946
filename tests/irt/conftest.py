"""Made-up banks of items, and models that answer them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from benchtrust.irt import probability


@dataclass(frozen=True)
class Bank:
    """Known parameters (`items`), known abilities (`abilities`), and answers drawn from them (`matrix`)."""

    items: pd.DataFrame
    abilities: pd.DataFrame
    matrix: pd.DataFrame


@pytest.fixture(scope="session")
def bank() -> Callable[..., Bank]:
    """Maker of banks: ``bank(seed, n_models, n_items, spread=.5, missing=0)``; log a has sd `spread`."""

    def make(seed: int, n_models: int, n_items: int, spread: float = 0.5, missing: float = 0.0) -> Bank:
        rng = np.random.default_rng(seed)
        models = pd.Index([f"m{i}" for i in range(n_models)], name="model")
        labels = pd.Index([f"i{j}" for j in range(n_items)], name="item_id")
        a, b = np.exp(spread * rng.standard_normal(n_items)), rng.normal(-0.5, 1.2, n_items)
        theta = rng.standard_normal(n_models)
        answers = (rng.random((n_models, n_items)) < probability(theta[:, None], a, b)).astype(float)
        answers[rng.random(answers.shape) < missing] = np.nan
        return Bank(
            pd.DataFrame({"a": a, "b": b}, labels),
            pd.DataFrame({"theta": theta}, models),
            pd.DataFrame(answers, models, labels),
        )

    return make


@pytest.fixture(scope="session")
def map_by_newton() -> Callable[[pd.DataFrame, pd.DataFrame], pd.Series]:
    """A plain posterior mode, θ ~ N(0, 1), for many respondents at once."""

    def estimate(matrix: pd.DataFrame, items: pd.DataFrame) -> pd.Series:
        values, a, b = matrix.to_numpy(), items["a"].to_numpy(), items["b"].to_numpy()
        theta = np.zeros(len(values))
        for _ in range(30):
            p = probability(theta[:, None], a, b)
            slope = np.nansum(a * (values - p), axis=1) - theta
            curvature = (a**2 * p * (1 - p) * ~np.isnan(values)).sum(axis=1) + 1
            theta += np.clip(slope / curvature, -0.5, 0.5)
        return pd.Series(theta, matrix.index)

    return estimate
