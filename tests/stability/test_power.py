"""Detectable differences and discordance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust.stability import (
    detectable_differences,
    detectable_effect,
    flip_rates,
    flips_beyond_margin,
    item_scores,
    items_needed,
)


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


@settings(max_examples=100, deadline=None)
@given(st.floats(0.01, 1), st.floats(0, 1), st.floats(0.001, 0.5), st.floats(0.5, 0.99))
def test_items_needed_is_the_smallest_number_that_shows_the_difference(
    difference, rho_d, alpha, power
) -> None:
    m = items_needed(difference, rho_d, alpha, power)
    assert detectable_effect(m, rho_d, alpha, power) <= difference * (1 + 1e-9)
    assert m == 1 or detectable_effect(m - 1, rho_d, alpha, power) > difference


def test_published_numbers_of_items() -> None:
    assert (items_needed(0.089, 0.1), items_needed(0.04, 0.1)) == (100, 491)


@pytest.mark.parametrize("bad", [{"difference": 0}, {"difference": 1.5}, {"rho_d": -0.1}, {"power": 0}])
def test_numbers_of_items_need_values_in_range(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="outside its range"):
        items_needed(**({"difference": 0.1, "rho_d": 0.1} | bad))


def test_each_pair_has_the_detectable_effect_of_its_own_discordance() -> None:
    cube = np.random.default_rng(1).integers(0, 2, (3, 7, 40)).astype(float)
    cube[1] = cube[0]
    cube[1, :, :4] = 1 - cube[0, :, :4]
    table = detectable_differences(cube)
    assert table["n_items"].tolist() == [40] * 3
    assert table["discordance"].to_numpy() == pytest.approx(
        [(cube[a] != cube[b]).mean() for a, b in [(0, 1), (0, 2), (1, 2)]]
    )
    assert table["discordance"][0] == pytest.approx(0.1)
    assert table["detectable"].to_numpy() == pytest.approx(
        [detectable_effect(40, d) for d in table["discordance"]]
    )


def test_items_not_asked_are_not_counted() -> None:
    cube = np.random.default_rng(2).integers(0, 2, (2, 2, 20)).astype(float)
    cube[:, 1, 10:] = np.nan
    (row,) = detectable_differences(cube).to_dict("records")
    apart = [(cube[0, 0] != cube[1, 0]).mean(), (cube[0, 1, :10] != cube[1, 1, :10]).mean()]
    assert row["n_items"] == 15
    assert row["discordance"] == pytest.approx(np.mean(apart))
    squares = [detectable_effect(m, d) ** 2 for m, d in zip((20, 10), apart, strict=True)]
    assert row["detectable"] == pytest.approx(np.sqrt(np.mean(squares)))


@pytest.mark.parametrize(
    ("rule", "right", "parts"),
    [
        ("mean", (0.7, 0.7), None),
        ("mean", (0.7, 0.7), ["x"] * 10 + ["y"] * 190),
        ("parity", (0.7, 0.7), None),
        ("parity", (0.3, 0.7), ["x"] * 40 + ["y"] * 160),
    ],
)
def test_detectable_differences_are_multiples_of_the_spread_of_a_gap(rule, right, parts) -> None:
    """Drawn again and again, the gap of two equally good models has the spread that the figure implies."""
    rng = np.random.default_rng(3)
    answers = (rng.random((400, 2, 1, 200)) < np.reshape(right, (2, 1, 1))).astype(float)
    tables = [item_scores(cube, parts=parts, rule=rule) for cube in answers]
    gaps = [table.cells[0].item() - table.cells[1].item() for table in tables]
    implied = [detectable_differences(table)["detectable"].item() for table in tables[:50]]
    assert np.mean(implied) == pytest.approx((1.95996 + 0.84162) * np.std(gaps), rel=0.1)


def test_leads_up_to_the_pairs_own_margin_are_ties() -> None:
    rng = np.random.default_rng(4)
    better = np.array([[0.9] * 4 + [0.2] * 4, [0.2] * 4 + [0.9] * 4, [0.55] * 8])
    cube = (rng.random((3, 8, 30)) < better[:, :, None]).astype(float)
    table, rates = flips_beyond_margin(cube), flip_rates(cube.mean(axis=2).T)
    assert table["margin"].to_numpy() == pytest.approx(detectable_differences(cube)["detectable"].to_numpy())
    assert table["rate_beyond"].tolist()[0] == rates["rho"][0] == 0.5
    assert (table["rate_beyond"] <= rates["rho"]).all()
    assert (table["n_tie"][1:] > rates["n_tie"][1:]).all()
    for row in table.itertuples():
        lead = cube[row.model_a].mean(axis=1) - cube[row.model_b].mean(axis=1)
        assert (row.n_plus, row.n_minus) == ((lead > row.margin).sum(), (lead < -row.margin).sum())
    assert flips_beyond_margin(cube, power=0.999)["rate_beyond"].max() <= table["rate_beyond"].max()


def test_models_that_answer_alike_have_no_margin() -> None:
    (row,) = flips_beyond_margin(np.ones((2, 3, 5))).to_dict("records")
    assert (row["discordance"], row["margin"], row["n_tie"], row["rate_beyond"]) == (0, 0, 3, 0)
