"""Detectable differences and discordance."""

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.stability import detectable_effect, discordance


@pytest.mark.parametrize(("m", "points"), [(100, 8.9), (500, 4.0), (30, 16.2)])
def test_published_values_at_a_discordance_of_a_tenth(m: int, points: float) -> None:
    assert 100 * detectable_effect(m, 0.1) == pytest.approx(points, abs=0.05)


def test_a_difference_of_that_size_is_found_with_the_stated_power() -> None:
    rng = np.random.default_rng(3)
    m, rho_d = 400, 0.3
    delta = detectable_effect(m, rho_d)
    ahead = rng.multinomial(m, [(rho_d + delta) / 2, (rho_d - delta) / 2, 1 - rho_d], size=4000)
    z = (ahead[:, 0] - ahead[:, 1]) / np.sqrt(ahead[:, 0] + ahead[:, 1])
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("bad", [{"m": 0}, {"rho_d": 1.2}, {"alpha": 0}, {"power": 1}])
def test_values_outside_their_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="outside its range"):
        detectable_effect(**({"m": 30, "rho_d": 0.1} | bad))


def test_discordance_counts_items_in_each_configuration() -> None:
    rows = [
        ("a", "minimal", 0, "i1", 1.0), ("a", "minimal", 0, "i2", None), ("a", "role", 0, "i1", 1.0),
        ("b", "minimal", 0, "i1", 0.0), ("b", "minimal", 0, "i2", 0.0), ("b", "role", 3, "i1", 1.0),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["model", "template", "shots", "item_id", "score"])
    frame = frame.assign(decoding="greedy", scoring="free_form")
    assert discordance(frame, "a", "b").to_dict() == {("minimal", 0, "greedy", "free_form"): 0.5}
    with pytest.raises(SchemaError, match="no common item"):
        discordance(frame[frame["template"] == "role"], "a", "b")
