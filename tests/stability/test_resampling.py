"""Resampled items: moments of the bootstrap, items drawn whole and within parts, the drift of ρ."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap

from benchtrust.errors import SchemaError
from benchtrust.stability import (
    cell_errors,
    flip_rates,
    flips_by_items,
    item_scores,
    resampled_cells,
    resampling_band,
)


def binary(shape, seed):
    return np.random.default_rng(seed).integers(0, 2, shape).astype(float)


def drawn_cells(items, n_draws=4000, seed=0):
    return np.concatenate(list(resampled_cells(items, n_draws, np.random.default_rng(seed))))


def test_a_cells_spread_is_that_of_scipys_bootstrap():
    cube = binary((2, 3, 25), 1)
    drawn = drawn_cells(cube)
    assert drawn.mean(axis=0) == pytest.approx(cube.mean(axis=2).T, abs=0.01)
    theirs = bootstrap((cube[1, 2],), np.mean, n_resamples=4000, rng=np.random.default_rng(2))
    assert drawn[:, 2, 1].std() == pytest.approx(theirs.standard_error, rel=0.05)


def test_an_item_is_drawn_with_all_its_answers():
    cube = np.repeat(binary((2, 1, 15), 2), 6, axis=1)
    drawn = drawn_cells(cube, 200)
    assert (drawn == drawn[:, :1]).all()
    assert (resampling_band(cube, 200, np.random.default_rng(0)).per_pair == 0).all()


def test_parts_keep_their_sizes():
    cube = np.repeat(np.array([1.0] * 4 + [0.0] * 8)[None, None], 2, axis=0)
    assert drawn_cells(item_scores(cube, parts=list("aaaabbbbbbbb")), 50) == pytest.approx(0.5)
    assert drawn_cells(cube, 50).std() > 0.05


def test_parity_follows_the_resampled_mean():
    cube = binary((2, 1, 20), 3)
    plain, folded = (drawn_cells(item_scores(cube, rule=rule), 100) for rule in ("mean", "parity"))
    assert folded == pytest.approx(1 - 2 * abs(plain - 0.5))


def test_rho_of_a_stable_order_drifts_up():
    rng = np.random.default_rng(4)
    better = (rng.random((2, 24, 40)) < np.array([0.55, 0.45])[:, None, None]).astype(float)
    band = resampling_band(better, 300, rng)
    table = band.quantiles()
    assert band.observed.item() < 0.25
    assert table["drift"].to_numpy() == pytest.approx(band.per_pair.mean() - band.observed.item())
    assert table["drift"].iloc[0] > 0.03


def test_the_band_of_the_largest_stands_below_the_pairs():
    cube = binary((3, 12, 10), 5)
    band = resampling_band(cube, 100, np.random.default_rng(0))
    table = band.quantiles(0.1, 0.9)
    rates = flip_rates(cube.mean(axis=2).T)
    assert table["rho"].tolist() == [*rates["rho"], rates["rho"].max()]
    assert table["model_a"].tolist() == [*rates["model_a"], ""]
    assert (table["low"] <= table["high"]).all()
    assert table["mean"].iloc[-1] == band.per_pair.max(axis=1).mean()


def test_draws_follow_the_seed_and_not_the_block_size(monkeypatch):
    cube = binary((3, 6, 10), 6)
    whole, again = drawn_cells(cube, 30), drawn_cells(cube, 30)
    assert (whole == again).all()
    assert (whole != drawn_cells(cube, 30, seed=1)).any()
    monkeypatch.setattr("benchtrust.stability.nulls._CHUNK", 7 * 18)
    assert drawn_cells(cube, 30) == pytest.approx(whole)


def test_configurations_must_share_their_items():
    cube = binary((2, 3, 8), 7)
    cube[:, 1, 4] = np.nan
    with pytest.raises(SchemaError, match="Configurations 0 and 1 differ"):
        resampling_band(cube, 10, np.random.default_rng(0))
    cube[:, :, 4] = np.nan
    assert resampling_band(cube, 10, np.random.default_rng(0)).per_pair.shape == (10, 1)


def test_no_draw_is_no_band():
    with pytest.raises(SchemaError, match="at least one"):
        resampling_band(binary((2, 3, 4), 8), 0, np.random.default_rng(0))


@pytest.mark.parametrize("cube", [np.ones((2, 5, 6)), np.zeros((3, 1, 6)), np.zeros((2, 1, 1))])
def test_constant_scores_have_no_width(cube):
    table = resampling_band(cube, 20, np.random.default_rng(0)).quantiles()
    assert (table[["rho", "low", "high", "drift"]] == 0).all(axis=None)


def test_errors_of_cells_are_those_of_their_means_benchmark_by_benchmark():
    rows = [
        {"benchmark": name, "model": f"m{m}", "template": t, "shots": 0, "decoding": "greedy",
         "scoring": "free_form", "item_id": f"i{i}", "sample": 0, "outcome": "scored",
         "score": float(score), "cell_id": f"{name}{m}{t}"}
        for name, n in (("toxigen", 12), ("truthfulqa", 30))
        for (m, t, i), score in np.ndenumerate(binary((2, 2, n), n))
        for t in [["minimal", "role"][t]]
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    errors = cell_errors(frame, 4000, np.random.default_rng(1))
    assert len(errors) == 8
    for row in errors.itertuples():
        own = frame[(frame["benchmark"] == row.benchmark) & (frame["model"] == row.model)]
        scores = own.loc[own["template"] == row.template, "score"]
        assert row.error == pytest.approx(scores.std(ddof=0) / len(scores) ** 0.5, rel=0.06)


# ---------------------------------------------------------------- fewer items


def test_all_items_flip_as_observed_and_two_equal_models_flip_often():
    cube = binary((4, 6, 40), 9)
    table = flips_by_items(cube, [5, 40], 200, np.random.default_rng(0))
    observed = (flip_rates(cube.mean(axis=2).T)["rho"] > 0).mean()
    assert table["n_items"].tolist() == [5, 40]
    assert table.iloc[1][["flipping", "low", "high"]].to_numpy(float) == pytest.approx(observed)
    assert table["low"][0] <= table["flipping"][0] <= table["high"][0]


def test_a_single_item_flips_a_pair_if_its_answers_turn():
    """On item 0 the models change places between the configurations, on item 1 they do not."""
    cube = np.array([[[1.0, 1], [0, 1]], [[0, 0], [1, 0]]])
    table = flips_by_items(cube, [1, 2], 4000, np.random.default_rng(1))
    assert table["flipping"].to_numpy() == pytest.approx([0.5, 0.0], abs=0.03)


def test_more_items_show_that_a_better_model_is_better():
    rng = np.random.default_rng(2)
    better = (rng.random((2, 8, 2000)) < np.array([0.6, 0.4])[:, None, None]).astype(float)
    share = flips_by_items(better, [5, 50, 500], 200, rng)["flipping"]
    assert share[0] > share[1] > share[2]
    assert share[2] == 0


def test_parts_and_parity_make_the_scores_of_fewer_items():
    cube = binary((2, 3, 12), 3)
    for items in (item_scores(cube, parts=list("aaab" * 3)), item_scores(cube, rule="parity")):
        observed = (flip_rates(items.cells)["rho"] > 0).mean()
        assert flips_by_items(items, [12], 2, np.random.default_rng(0))["flipping"].item() == observed


@pytest.mark.parametrize(("sizes", "n_draws"), [([0], 5), ([13], 5), ([3, 13], 5), ([3], 0)])
def test_sizes_must_lie_within_the_items(sizes, n_draws):
    with pytest.raises(SchemaError, match="out of range"):
        flips_by_items(binary((2, 3, 12), 3), sizes, n_draws, np.random.default_rng(0))


def test_fewer_items_need_the_same_items_everywhere():
    cube = binary((2, 3, 8), 7)
    cube[:, 1, 4] = np.nan
    with pytest.raises(SchemaError, match="Configurations 0 and 1 differ"):
        flips_by_items(cube, [2], 5, np.random.default_rng(0))
