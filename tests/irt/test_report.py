"""The item report: planted faults are found, sound items left alone, its numbers are what they say."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchtrust import irt
from benchtrust.errors import SchemaError
from benchtrust.irt import information, item_report, tracking, wright_map

pytestmark = pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning")
N_DRAWS = 40


def rng(seed=0):
    return np.random.default_rng(seed)


def report_on(matrix, **settings):
    calibration = irt.calibrate(matrix)
    return item_report(matrix, calibration, rng(1), **{"n_draws": N_DRAWS} | settings), calibration


@pytest.fixture(scope="module")
def planted(bank):
    """300 respondents, 60 sound items, and: a twin, a near twin, a hump, a bare guess, and two constants."""
    made = bank(4, 300, 60, spread=0.2)
    matrix, theta, draw = made.matrix.copy(), made.abilities["theta"], rng(9)
    matrix["twin"] = matrix["i3"]
    matrix["near"] = matrix["i5"].where(draw.random(300) < 0.8, 1 - matrix["i5"])
    matrix["hump"] = (theta.abs() < 0.8).astype(float)
    matrix["guess"] = (draw.random(300) < 0.5).astype(float)
    matrix["easy"], matrix["hard"] = 1.0, 0.0
    return matrix


@pytest.fixture(scope="module")
def found(planted):
    return report_on(planted, little=0.2)[0]


def test_a_twin_is_redundant_with_its_item(found):
    assert found.items.loc[["i3", "twin"], "redundant"].all()
    assert "redundant with twin (same answers)" in found.items.loc["i3", "reasons"]
    assert found.items.loc[["i3", "twin"], "n_same"].tolist() == [1, 1]
    twins = found.pairs[found.pairs["same_answers"]]
    assert twins[["item_a", "item_b"]].to_numpy().tolist() == [["i3", "twin"]]
    assert twins["q3"].item() == pytest.approx(1)


def test_an_item_that_mostly_repeats_another_is_redundant_with_it(found):
    assert found.items.loc["near", "most_like"] == "i5"
    assert found.items.loc["i5", "most_like"] == "near"
    assert found.items.loc[["i5", "near"], "redundant"].all()
    assert found.items.loc["near", "z"] > found.z_bound


def test_a_curve_that_falls_again_is_misfitting(found):
    assert found.items.loc["hump", "misfitting"]
    assert found.items["misfitting"].equals(found.items["judged"] & (found.items["x2"] > found.x2_bound))
    assert "misfitting" in found.items.loc["hump", "reasons"]


def test_an_item_that_everyone_guesses_is_uninformative(found):
    assert found.items.loc["guess", "uninformative"]
    assert "below 20%" in found.items.loc["guess", "reasons"]


def test_constant_items_are_set_aside_with_their_reason(found):
    items = found.items
    assert items.loc[["easy", "hard"], "reasons"].tolist() == [
        "set aside: every answer is right",
        "set aside: every answer is wrong",
    ]
    assert items.loc[["easy", "hard"], ["a", "b", "information", "rmsd"]].isna().all(axis=None)
    flags = ["uninformative", "redundant", "misfitting", "judged"]
    assert not items.loc[["easy", "hard"], flags].any(axis=None)
    assert found.n_judged == len(items) - 2 == 64


def test_every_flag_is_counted(found):
    assert found.counts == {
        "items": 66,
        "set_aside": 2,
        "uninformative": found.items["reasons"].str.contains("uninformative").sum(),
        "judged": found.n_judged,
        "misfitting": found.items["reasons"].str.contains("misfitting").sum(),
        "redundant": found.items["reasons"].str.contains("redundant").sum(),
        "pairs": len(found.pairs),
    }


def test_sound_items_have_no_flag(found):
    sound = [f"i{j}" for j in range(60) if j not in (3, 5)]
    assert (found.items.loc[sound, "reasons"] == "").all()


def test_answers_that_the_model_fits_seldom_show_a_flag(bank):
    n_misfitting = n_redundant = 0
    for seed in range(6):
        result, _ = report_on(bank(seed, 80, 12).matrix, n_draws=20)
        n_misfitting += result.items["misfitting"].any()
        n_redundant += len(result.pairs) > 0
    assert max(n_misfitting, n_redundant) <= 2


def test_the_few_answers_of_a_hard_item_are_not_judged(bank):
    matrix = bank(2, 60, 10).matrix.copy()
    matrix["rare"] = 0.0
    matrix.iloc[:3, -1] = 1.0
    matrix["as rare"] = matrix["rare"]
    result, _ = report_on(matrix, n_draws=20)
    own = result.items.loc[["rare", "as rare"]]
    assert own["n_same"].tolist() == [1, 1]
    assert not own[["judged", "redundant", "misfitting"]].any(axis=None)
    assert own["rmsd"].notna().all()


def test_the_numbers_are_those_of_their_definitions(planted, found):
    calibration = irt.calibrate(planted)
    a, b = calibration.items[["a", "b"]].to_numpy().T
    theta = calibration.abilities["theta"].to_numpy()[:, None]
    told = pd.Series(information(theta, a, b).mean(axis=0), calibration.items.index)
    np.testing.assert_allclose(found.items.loc[told.index, "information"], told)
    residuals = planted[calibration.items.index] - irt.probability(theta, a, b)
    pair = residuals[["i5", "near"]]
    assert found.items.loc["near", "q3"] == pytest.approx(pair.corr().iloc[0, 1])
    spread = pd.DataFrame(irt.probability(theta, a, b), planted.index, calibration.items.index)
    spread = spread * (1 - spread)
    z = (pair["i5"] * pair["near"]).sum() / np.sqrt((spread["i5"] * spread["near"]).sum())
    assert found.items.loc["near", "z"] == pytest.approx(z)


def test_curves_hold_every_answer_once(bank):
    matrix = bank(7, 63, 8, missing=0.3).matrix
    result, calibration = report_on(matrix, n_draws=20, n_groups=4)
    curves = result.curves.assign(right=lambda c: c["n"] * c["observed"])
    by_item = curves.groupby("item", sort=False)[["n", "right"]].sum()
    np.testing.assert_array_equal(by_item["n"], matrix.notna().sum())
    np.testing.assert_allclose(by_item["right"] / by_item["n"], calibration.items["pass_rate"])
    assert (curves.groupby("item")["theta"].diff().dropna() > 0).all()
    assert curves["group"].unique().tolist() == [1, 2, 3, 4]
    square = curves["n"] * (curves["observed"] - curves["expected"]) ** 2
    rmsd = np.sqrt(square.groupby(curves["item"], sort=False).sum() / by_item["n"])
    np.testing.assert_allclose(result.items["rmsd"], rmsd)
    expected = curves["expected"].clip(0.5 / curves["n"], 1 - 0.5 / curves["n"])
    terms = curves["n"] * (curves["observed"] - expected) ** 2 / (expected * (1 - expected))
    np.testing.assert_allclose(result.items["x2"], terms.groupby(curves["item"], sort=False).sum())


def test_the_band_holds_the_observed_curve_as_often_as_it_says(bank):
    inside = []
    for seed in range(5):
        curves = report_on(bank(seed, 60, 12).matrix, n_draws=30, level=0.9)[0].curves
        inside.append(curves["observed"].between(curves["low"] - 1e-9, curves["high"] + 1e-9).mean())
    assert 0.83 < np.mean(inside) < 0.97


def test_one_seed_gives_one_report(bank):
    matrix = bank(1, 50, 8).matrix
    one, two = (report_on(matrix, n_draws=20)[0] for _ in range(2))
    pd.testing.assert_frame_equal(one.items, two.items)
    pd.testing.assert_frame_equal(one.curves, two.curves)


def test_respondents_without_answers_play_no_part(bank):
    matrix = bank(1, 50, 8).matrix
    with_silent = pd.concat([matrix, pd.DataFrame(np.nan, pd.Index(["mute"]), matrix.columns)])
    one, two = report_on(matrix, n_draws=20)[0], report_on(with_silent, n_draws=20)[0]
    pd.testing.assert_frame_equal(one.curves, two.curves)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_groups": 1}, "2 to 50"),
        ({"n_groups": 51}, "2 to 50"),
        ({"n_draws": 19}, "cannot show a level of 0.95"),
        ({"level": 1.0}, "cannot show"),
    ],
)
def test_sizes_that_cannot_be(bank, settings, said):
    with pytest.raises(SchemaError, match=said):
        report_on(bank(1, 50, 8).matrix, **settings)


def test_another_matrix_s_calibration_is_refused(bank):
    matrix = bank(1, 50, 8).matrix
    calibration = irt.calibrate(matrix)
    with pytest.raises(SchemaError, match="respondents"):
        item_report(matrix.iloc[:-1], calibration, rng())
    with pytest.raises(SchemaError, match="not in the matrix"):
        item_report(matrix.iloc[:, :-1], calibration, rng())
    with pytest.raises(SchemaError, match="items 'more'"):
        item_report(matrix.assign(more=1.0), calibration, rng())


# ---------------------------------------------------------------- Wright map, tracking


def test_a_wright_map_counts_everyone_once(bank):
    calibration = irt.calibrate(bank(5, 70, 30).matrix)
    bins = wright_map(calibration, 0.4)
    assert bins[["n_respondents", "n_items"]].sum().tolist() == [70, 30]
    np.testing.assert_allclose(bins["low"].diff().dropna(), 0.4)
    b = calibration.items["b"]
    for row in bins.itertuples():
        assert row.n_items == ((b >= row.low) & (b < row.high)).sum()
    middle = (bins["low"] + bins["high"]) / 2
    a = calibration.items["a"].to_numpy()
    expected = information(middle.to_numpy()[:, None], a, b.to_numpy()).sum(axis=1)
    np.testing.assert_allclose(bins["information"], expected)


def test_a_wright_map_needs_a_width(bank):
    with pytest.raises(SchemaError, match="width above 0"):
        wright_map(irt.calibrate(bank(5, 70, 5).matrix), 0.0)


def test_difficulty_tracks_the_pass_rate_as_its_ranks_do(bank):
    calibration = irt.calibrate(bank(5, 70, 30).matrix)
    items = calibration.items
    in_order = replace(calibration, items=items.assign(b=-items["pass_rate"]))
    assert tracking(in_order, rng(), 50) == pytest.approx(
        {"spearman": -1.0, "low": -1.0, "high": -1.0, "items": 30}
    )
    unrelated = replace(calibration, items=items.assign(b=(items["pass_rate"].rank() - 15.5) ** 2))
    found = tracking(unrelated, rng(), 500)
    own = unrelated.items[["b", "pass_rate"]].corr("spearman").iloc[0, 1]
    assert found["spearman"] == pytest.approx(own)
    assert found["low"] < found["spearman"] < found["high"]
    assert found["low"] < 0 < found["high"]
