"""Nulls: reference values, the permutation against enumeration, and agreement with the response table."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.responses import cell_means, score_matrix
from benchtrust.stability import expected_range, flip_null, flip_rates, independent_null


def max_rho(cube, rule=lambda m: m):
    return flip_rates(rule(cube.mean(axis=2)).T)["rho"].max()


@pytest.mark.parametrize(
    ("n_configurations", "rho", "low", "high", "reached"),
    [
        (48, 0.476, 0.438, 0.500, 6.00),
        (27, 0.464, None, None, 5.96),
        (12, 0.455, None, None, 5.3),
        (9, 0.428, None, None, 4.9),
        (4, 0.431, None, None, 3.1),
    ],
)
def test_independent_null_gives_the_reference_values(n_configurations, rho, low, high, reached):
    null = independent_null(n_configurations, 3, 4000, np.random.default_rng(1))
    assert null.largest.mean() == pytest.approx(rho, abs=0.006)
    assert null.orderings.mean() == pytest.approx(reached, abs=0.08)
    if low is not None:
        assert np.quantile(null.largest, [0.05, 0.95]) == pytest.approx([low, high], abs=0.001)


def test_independent_null_of_two_models_is_binomial():
    null = independent_null(4, 2, 4000, np.random.default_rng(2))
    expected = (0.25 * 8 + 0.5 * 6) / 16
    assert null.largest.mean() == pytest.approx(expected, abs=0.01)
    assert null.orderings.mean() == pytest.approx(2 - 2 / 16, abs=0.02)


def test_flip_null_follows_the_enumerated_distribution():
    """Three models, two items: all 36 pairs of permutations, each as likely."""
    rng = np.random.default_rng(4)
    cube = rng.integers(0, 4, (3, 5, 2)) / 4
    exact = [
        max_rho(np.stack([cube[list(p), :, 0], cube[list(q), :, 1]], axis=2))
        for p, q in product(permutations(range(3)), repeat=2)
    ]
    drawn = flip_null(cube, 6000, rng).largest
    assert len(set(exact)) > 1
    for rho in set(exact):
        assert np.isclose(drawn, rho).mean() == pytest.approx(np.isclose(exact, rho).mean(), abs=0.025)


def test_flip_null_keeps_one_permutation_across_configurations():
    """One item decides all cells alike: the order never flips, whatever the labels."""
    cube = np.repeat(np.array([[[1.0]], [[0.5]], [[0.0]]]), 6, axis=1)
    null = flip_null(cube, 50, np.random.default_rng(0))
    assert null.per_pair.shape == (50, 3)
    assert (null.per_pair == 0).all()


def test_flip_null_permutes_items_independently():
    """Two models, one never worse on any item: the null breaks this up."""
    cube = np.zeros((2, 24, 100))
    cube[0] = np.random.default_rng(1).random((24, 100)) < 0.1
    null = flip_null(cube, 400, np.random.default_rng(0))
    assert null.observed.item() == 0
    assert null.largest.mean() > 0.25
    assert null.lower_tail < 0.05


def test_shared_items_lower_the_null():
    """Latent correlation .6 of a model's answers to an item over 48 cells: about .36 (.21-.46)."""
    rng = np.random.default_rng(5)

    def draws(r):
        shape = (3, 48, 100)
        latent = np.sqrt(r) * rng.standard_normal((3, 1, 100)) + np.sqrt(1 - r) * rng.standard_normal(shape)
        return flip_null((latent > 0).astype(float), 40, rng).largest

    shared = np.concatenate([draws(0.6) for _ in range(40)])
    assert shared.mean() == pytest.approx(0.36, abs=0.03)
    assert np.quantile(shared, [0.05, 0.95]) == pytest.approx([0.21, 0.458], abs=0.05)
    assert draws(0.0).mean() > 0.43


def test_lower_tail_is_a_valid_p_value():
    rng = np.random.default_rng(6)
    tails = []
    for _ in range(300):
        latent = rng.standard_normal((3, 1, 30)) + rng.standard_normal((3, 12, 30))
        tails.append(flip_null((latent > 0).astype(float), 99, rng).lower_tail)
    assert np.mean(np.array(tails) <= 0.1) < 0.15
    assert min(tails) < 0.05


def test_lower_tail_counts_the_observed_value():
    cube = np.repeat(np.array([[[1.0]], [[0.0]]]), 3, axis=1)
    assert flip_null(cube, 9, np.random.default_rng(0)).lower_tail == 1.0


@pytest.mark.parametrize(
    ("rule", "transform"), [("mean", lambda m: m), ("parity", lambda m: 1 - 2 * abs(m - 0.5))]
)
def test_observed_rates_are_flip_rates_of_the_cells(rule, transform):
    cube = np.random.default_rng(7).integers(0, 2, (4, 12, 9)).astype(float)
    null = flip_null(cube, 3, np.random.default_rng(0), rule=rule)
    rates = flip_rates(transform(cube.mean(axis=2)).T)
    assert null.observed.tolist() == rates["rho"].tolist()
    assert list(null.pairs) == list(zip(rates["model_a"], rates["model_b"], strict=True))
    assert (null.largest == null.per_pair.max(axis=1)).all()


def test_items_not_asked_are_left_out_of_the_cell():
    cube = np.random.default_rng(8).integers(0, 2, (3, 6, 10)).astype(float)
    cube[:, 2, :4] = np.nan
    cube[:, 5] = np.nan
    expected = flip_rates(np.nanmean(cube[:, :5], axis=2).T)["rho"]
    null = flip_null(cube, 3, np.random.default_rng(0))
    assert null.observed.tolist() == expected.tolist()


def test_parts_weigh_equally():
    cube = np.random.default_rng(9).integers(0, 2, (3, 16, 12)).astype(float)
    cube[:, 0, :2] = np.nan
    parts = ["a"] * 2 + ["b"] * 10
    whole = (cube[:, 1:, :2].mean(axis=2) + cube[:, 1:, 2:].mean(axis=2)) / 2
    cells = np.concatenate([cube[:, :1, 2:].mean(axis=2), whole], axis=1)
    null = flip_null(cube, 3, np.random.default_rng(0), parts=parts)
    assert null.observed.tolist() == flip_rates(cells.T)["rho"].tolist()
    assert null.observed.tolist() != flip_rates(np.nanmean(cube, axis=2).T)["rho"].tolist()


def test_parity_applies_to_the_mean_of_the_parts():
    cube = np.array(
        [
            [[1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0]],
            [[1, 0, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]],
        ]
    )
    parts = (cube[:, :, :2].mean(axis=2) + cube[:, :, 2:].mean(axis=2)) / 2
    assert parts.tolist() == [[0.25, 0.75], [0.5, 1.0]]
    null = flip_null(cube, 3, np.random.default_rng(0), parts=list("aabbbb"), rule="parity")
    assert null.observed.tolist() == [0.5]


@pytest.mark.parametrize("benchmark", ["toxigen", "bbq", "CrowS-Pairs"])
def test_responses_give_the_cells_of_cell_means(benchmark):
    rng = np.random.default_rng(10)
    rows = [
        {
            "benchmark": benchmark,
            "item_id": f"i{item}",
            "part": "ambiguous" if item < 3 else "disambiguated",
            "model": model,
            "template": template,
            "shots": shots,
            "decoding": "greedy",
            "scoring": "free_form",
            "cell_id": f"{model}-{template}-{shots}",
            "outcome": outcome,
            "score": float(rng.integers(0, 2)) if outcome == "scored" else np.nan,
        }
        for model in "BCA"
        for template in ("minimal", "role", "detailed")
        for shots in (0, 3, 5)
        for item in range(11)
        for outcome in [rng.choice(["scored", "scored", "unparsed"])]
    ]
    frame = pd.DataFrame(rows)
    rates = flip_rates(score_matrix(cell_means(frame)))
    null = flip_null(frame.sample(frac=1, random_state=1), 5, np.random.default_rng(0))
    assert null.observed.tolist() == rates["rho"].tolist()
    assert null.pairs == (("A", "B"), ("A", "C"), ("B", "C"))
    with pytest.raises(SchemaError, match=r"'i4'.*'A'"):
        flip_null(frame[~((frame.item_id == "i4") & (frame.model == "B"))], 5, np.random.default_rng(0))
    with pytest.raises(SchemaError, match="their own parts"):
        flip_null(frame, 5, np.random.default_rng(0), parts=["a"] * 11)


def test_same_seed_same_draws():
    cube = np.random.default_rng(0).integers(0, 2, (3, 6, 10)).astype(float)
    one, two = (flip_null(cube, 30, np.random.default_rng(1)).per_pair for _ in range(2))
    other = flip_null(cube, 30, np.random.default_rng(2)).per_pair
    assert (one == two).all()
    assert not (one == other).all()


def test_draws_do_not_depend_on_the_block_size(monkeypatch):
    cube = np.random.default_rng(0).integers(0, 2, (3, 6, 10)).astype(float)
    whole = flip_null(cube, 30, np.random.default_rng(1)).per_pair
    whole_independent = independent_null(6, 3, 30, np.random.default_rng(1))
    monkeypatch.setattr("benchtrust.stability.nulls._CHUNK", 7 * cube.size)
    assert (flip_null(cube, 30, np.random.default_rng(1)).per_pair == whole).all()
    monkeypatch.setattr("benchtrust.stability.nulls._CHUNK", 7 * 54)
    assert (independent_null(6, 3, 30, np.random.default_rng(1)).largest == whole_independent.largest).all()


def uneven():
    cube = np.zeros((2, 3, 4))
    cube[1, 2, 3] = np.nan
    return cube


@pytest.mark.parametrize(
    ("cube", "options", "error", "says"),
    [
        (uneven(), {}, SchemaError, "Item 3 in configuration 2"),
        (np.zeros((1, 3, 4)), {}, SchemaError, "models >= 2"),
        (np.zeros((3, 4)), {}, SchemaError, "shape"),
        (np.full((2, 3, 4), np.nan), {}, SchemaError, "No item was asked"),
        (np.zeros((2, 3, 4)), {"parts": ["a", "b"]}, SchemaError, "2 parts for 4 items"),
        (np.zeros((2, 3, 4)), {"parts": ["a", "b", None, "a"]}, SchemaError, "3 parts for 4 items"),
        (np.zeros((2, 3, 4)), {"rule": "paritty"}, UnknownNameError, "parity"),
    ],
)
def test_unusable_items_are_refused(cube, options, error, says):
    with pytest.raises(error, match=says):
        flip_null(cube, 5, np.random.default_rng(0), **options)


def test_independent_null_needs_two_models_and_a_configuration():
    for shape in ((0, 3), (4, 1)):
        with pytest.raises(SchemaError):
            independent_null(*shape, 5, np.random.default_rng(0))


@pytest.mark.parametrize(("n", "published"), [(1, 0), (2, 1.128), (5, 2.326), (10, 3.078), (25, 3.931)])
def test_the_range_that_noise_gives_is_that_of_control_charts(n, published):
    assert expected_range(n) == pytest.approx(published, abs=6e-4)


def test_no_value_has_no_range():
    with pytest.raises(ValueError, match="at least one"):
        expected_range(0)
