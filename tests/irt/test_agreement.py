"""Agreement by hold-out: nothing leaks, the measures are right, and controls come out as they must."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr, t

from benchtrust import irt
from benchtrust.errors import SchemaError, UnknownNameError, UnnamedAxesWarning
from benchtrust.irt import (
    AgreementCurve,
    adaptive_test,
    agreement_curve,
    geometric_sizes,
    savings,
    split_half_reliability,
)
from benchtrust.irt.agreement import ADAPTIVE, AIPW, FOLDS
from benchtrust.irt.subsets import METHODS

few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def curve_of(map_by_newton):
    """`agreement_curve` on a bank, with its own parameters as the calibration and a plain MAP."""

    def run(made, methods, sizes, *args, **options):
        def calibrate(train):
            items = made.items.loc[train.columns]
            return replace(made, items=items, abilities=made.abilities.loc[train.index])

        given_ = {"calibrate": calibrate, "estimate": map_by_newton} | options
        return agreement_curve(made.matrix, methods, sizes, *args, **given_)

    return run


@pytest.fixture
def even(bank):
    """A bank in which no item is all right or all wrong on any three models out of four."""
    made = bank(3, 24, 40, spread=0.3)
    halves = made.matrix.where(made.matrix.mean() > 0.25, 1 - made.matrix)
    return replace(made, matrix=halves.loc[:, (halves.mean() - 0.5).abs() < 0.2])


# ---------------------------------------------------------------- what the curve says


def test_all_items_agree_with_themselves(even, curve_of):
    """The top does too, but for ties at its edge, which are broken apart in estimate and score."""
    n = even.matrix.shape[1]
    methods = ["random", "stratified", "disco", "anchor_points", "aipw"]
    found = curve_of(even, methods, [n], 6, 6, rng(1), top=2)
    assert (found.pools["n_pool"] == n).all()
    assert found.table["agreement"].to_numpy() == pytest.approx(1)
    assert (found.table["top"] > 0.9).all()
    assert found.splits["top"].max() == pytest.approx(1)
    assert found.table["error"].to_numpy() == pytest.approx(0)
    assert found.table[["agreement_low", "agreement_high"]].to_numpy() == pytest.approx(1)


@pytest.mark.parametrize("method", ["random", "marginal_fisher", "adaptive"])
def test_the_rows_of_a_split_are_those_of_doing_it_by_hand(bank, curve_of, map_by_newton, method):
    made = bank(5, 30, 60, missing=0.1)
    split = curve_of(made, [method], [7], 1, 8, rng(2)).splits.iloc[0]
    held_out = np.isin(np.arange(30), rng(2).permutation(30)[:8])
    train, test = made.matrix[~held_out], made.matrix[held_out]
    rate = train.mean()
    pool = rate.index[rate * (1 - rate) >= 0.01]
    known = replace(made, items=made.items.loc[pool], abilities=made.abilities.loc[train.index])
    if method == "adaptive":
        start = known.abilities["theta"].mean()
        guess = adaptive_test(test[pool], known.items, 7, start).theta[7]
    else:
        stream = rng(2)
        stream.permutation(30)
        stream = stream.spawn(1)[0].spawn(len(METHODS))[METHODS.index(method)]
        chosen = irt.select_items(train[pool], 7, method, known, stream)
        guess = irt.subset_scores(test, chosen, known.items, map_by_newton)
    full = test.mean(axis=1)
    scores = pd.DataFrame([rate] * 8, test.index)
    if method == "random":
        scores[pool] = np.repeat(guess.to_numpy()[:, None], len(pool), axis=1)
    else:
        parameters = known.items["a"].to_numpy(), known.items["b"].to_numpy()
        scores[pool] = irt.probability(guess.to_numpy()[:, None], *parameters)
    error = (scores.where(test.notna()).mean(axis=1) - full).abs().mean()
    assert split["agreement"] == pytest.approx(spearmanr(guess, full).statistic)
    assert split["error"] == pytest.approx(error)
    assert (split["k"], split["n_held_out"], split["n_no_answer"]) == (7, 8, 0)


def test_aipw_is_that_of_the_package_on_a_sample_of_the_calibrated_items(bank, curve_of, map_by_newton):
    made = bank(5, 30, 60)
    held_out = np.isin(np.arange(30), rng(2).permutation(30)[:8])
    train, test = made.matrix[~held_out], made.matrix[held_out]
    pool = train.columns[train.mean() * (1 - train.mean()) >= 0.01]

    def calibrate(train):
        return replace(made, items=made.items.loc[pool[:-4]], abilities=made.abilities.loc[train.index])

    split = curve_of(made, ["aipw"], [7], 1, 8, rng(2), calibrate=calibrate).splits.iloc[0]
    items, answers = made.items.loc[pool[:-4]], test[pool[:-4]]
    stream = rng(2)
    stream.permutation(30)
    stream = stream.spawn(1)[0].spawn(len(METHODS) + 1)[-1]
    sample = irt.select_items(answers, 7, "random", rng=stream)
    predictions = irt.cross_fitted(answers, sample, items, FOLDS, stream, map_by_newton)
    guess = irt.aipw(answers, sample, predictions)["estimate"]
    assert split["agreement"] == pytest.approx(spearmanr(guess, test.mean(axis=1)).statistic)


def test_predictions_make_random_items_tell_more(bank, curve_of):
    made = bank(29, 60, 300, spread=1.0)
    error = curve_of(made, ["aipw", "random"], [40], 15, 15, rng(3)).table.set_index("method")["error"]
    assert error["aipw"] < 0.9 * error["random"]


def test_aipw_wants_all_answers(bank, curve_of):
    made = bank(31, 20, 30, missing=0.2)
    with pytest.raises(SchemaError, match="has no answer to the sampled item"):
        curve_of(made, ["aipw"], [20], 2, 5, rng(1))


@few
@given(seeds, st.integers(1, 4))
def test_the_top_is_the_mean_over_all_orders_of_the_ties(bank, curve_of, seed, top):
    made = bank(seed, 15, 12)
    found = curve_of(made, ["disco"], [3], 1, 5, rng(seed), top=top).splits.iloc[0]
    test = made.matrix.iloc[np.sort(rng(seed).permutation(15)[:5])]
    train = made.matrix.drop(index=test.index)
    rate = train.mean()
    chosen = irt.select_items(train.loc[:, rate * (1 - rate) >= 0.01], 3, "disco")
    guess, full = irt.subset_scores(test, chosen).round(9).to_numpy(), test.mean(axis=1).round(9).to_numpy()

    def best(values):
        orders = [o for o in permutations(range(5)) if (np.diff(values[list(o)]) <= 0).all()]
        return np.mean([np.isin(np.arange(5), order[:top]) for order in orders], axis=0)

    assert found["top"] == pytest.approx(best(guess) @ best(full) / top)


def test_intervals_are_those_of_nadeau_and_bengio(bank, curve_of):
    made = bank(7, 40, 50)
    found = curve_of(made, ["random", "disco"], [2, 10], 9, 10, rng(3), level=0.9)
    for key, own in found.splits.groupby(["method", "size"]):
        row = found.table.set_index(["method", "size"]).loc[key]
        for name in ("agreement", "top", "error"):
            values = own[name].dropna()
            reach = t.ppf(0.95, len(values) - 1) * values.std() * np.sqrt(1 / len(values) + 10 / 30)
            assert row[name] == pytest.approx(values.mean())
            assert row[f"{name}_low"] == pytest.approx(values.mean() - reach)
            assert row[f"{name}_high"] == pytest.approx(values.mean() + reach)


def test_differences_pair_the_splits(bank, curve_of):
    made = bank(7, 40, 50)
    found = curve_of(made, ["random", "disco", "adaptive"], [1, 2, 10], 9, 10, rng(3))
    lead = irt.differences(found, "random", [1, 10], level=0.9).set_index("method")
    assert set(lead.index) == {"disco", "adaptive"}
    wide = found.splits.set_index(["method", "split", "size"])["agreement"]
    own = wide["disco"] - wide["random"]
    values = own[own.index.get_level_values("size").isin([1, 10])].groupby("split").mean().dropna()
    reach = t.ppf(0.95, len(values) - 1) * values.std() * np.sqrt(1 / len(values) + 10 / 30)
    row = lead.loc["disco"]
    assert row["n_splits"] == len(values)
    assert [row["difference"], row["high"]] == pytest.approx([values.mean(), values.mean() + reach])
    assert row["low"] == pytest.approx(values.mean() - reach)
    with pytest.raises(SchemaError, match=r"Sizes \[3\]: give one or more of \[1, 2, 10\]"):
        irt.differences(found, "random", [3])
    with pytest.raises(UnknownNameError, match="Did you mean random"):
        irt.differences(found, "randm", [2])


def test_pools_tell_how_discrimination_varies(bank, curve_of):
    made = bank(7, 40, 50)
    pools = curve_of(made, ["random"], [2], 2, 10, rng(3)).pools
    test = np.isin(np.arange(40), rng(3).permutation(40)[:10])
    rate = made.matrix[~test].mean()
    a = made.items.loc[rate * (1 - rate) >= 0.01, "a"]
    assert pools.loc[0, ["n_training", "n_held_out", "n_calibrated"]].tolist() == [30, 10, len(a)]
    assert pools.loc[0, "cv"] == pytest.approx(a.std() / a.mean())


def test_splits_without_an_agreement_are_counted_and_enter_no_mean(even, curve_of):
    """One item for four models: in some splits all answer alike."""
    found = curve_of(even, ["random"], [1], 40, 4, rng(4))
    own = found.splits["agreement"]
    row = found.table.iloc[0]
    assert 0 < own.isna().sum() < 40
    assert (row["n_splits"], row["n_undefined"]) == (40, own.isna().sum())
    assert row["agreement"] == pytest.approx(own.mean())


def test_models_that_answered_no_chosen_item_are_left_out_and_counted(even, curve_of):
    sparse = even.matrix.copy()
    sparse.loc["m2"] = np.nan
    sparse.loc[sparse.index[::3], sparse.columns[::2]] = np.nan
    found = curve_of(replace(even, matrix=sparse), ["random", "adaptive"], [1, 9], 12, 8, rng(5)).splits
    random = found.query("method == 'random' and size == 1")
    assert random["n_no_answer"].between(1, 8).any()
    assert found.query("method == 'adaptive'")["n_no_answer"].isin([0, 1]).all()
    assert (found["n_held_out"] == 8).all()


# ---------------------------------------------------------------- nothing leaks


@pytest.mark.parametrize("leak", [False, True])
def test_choosing_sees_the_training_models_only(bank, map_by_newton, leak):
    """Another set of answers of the held-out models leaves what is calibrated as it is."""
    made = bank(9, 20, 30)
    seen = []

    def calibrate(train):
        seen.append(train)
        return replace(made, items=made.items.loc[train.columns], abilities=made.abilities.loc[train.index])

    held_out = np.isin(np.arange(20), rng(6).permutation(20)[:5])
    turned = made.matrix.copy()
    turned[held_out] = 1.0
    for matrix in (made.matrix, turned):
        agreement_curve(
            matrix, ["random"], [3], 1, 5, rng(6), leak=leak, calibrate=calibrate, estimate=map_by_newton
        )
    for train, matrix in zip(seen, (made.matrix, turned), strict=True):
        filtered = matrix if leak else matrix[~held_out]
        rate = filtered.mean()
        expected = matrix.loc[~held_out, rate * (1 - rate) >= 0.01]
        pd.testing.assert_frame_equal(train, expected)
    assert leak != seen[0].equals(seen[1])


def test_the_leak_changes_the_benchmark_too(bank, curve_of):
    made = bank(11, 20, 30)
    constant = made.matrix.assign(always=1.0, never=0.0)
    items = pd.concat([made.items, pd.DataFrame({"a": 1.0, "b": [-9.0, 9.0]}, ["always", "never"])])
    wider = replace(made, matrix=constant, items=items)
    strict, leaky = (curve_of(wider, ["disco"], [500], 3, 5, rng(7), leak=leak) for leak in (False, True))
    assert strict.n_items == leaky.n_items == 32
    assert (leaky.pools["n_pool"] == 30).all()
    assert (strict.pools["n_pool"] <= 30).all()
    assert leaky.table["error"].to_numpy() == pytest.approx(0)


def test_a_method_does_not_depend_on_the_others(bank, curve_of):
    made = bank(13, 20, 30)
    names = [*METHODS, *ADAPTIVE, AIPW]
    together = curve_of(made, names, [2, 9], 3, 5, rng(8)).splits
    assert set(together["method"]) == set(names)
    for method in ("random", "anchor_points", "adaptive", "marginal_fisher", "aipw"):
        alone = curve_of(made, [method], [2, 9], 3, 5, rng(8)).splits
        own = together[together["method"] == method].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, alone)


def test_options_reach_what_they_are_for(bank, curve_of):
    made = bank(15, 20, 40, spread=1.0)
    ours, paper = (
        curve_of(made, ["marginal_fisher"], [2], 10, 8, rng(9), prior_information=prior).splits
        for prior in (1.0, 0.0)
    )
    assert not ours["error"].equals(paper["error"])
    by_map, by_ml = (curve_of(made, [name], [4], 10, 8, rng(9)).splits for name in ADAPTIVE)
    assert by_ml["error"].mean() > by_map["error"].mean()


# ---------------------------------------------------------------- families


def test_each_family_is_held_out_once(bank, curve_of):
    made = bank(17, 20, 30)
    families = {model: "abcd"[i % 4] if i else "alone" for i, model in enumerate(made.matrix.index)}
    found = curve_of(made, ["random"], [8], rng=rng(1), families=families)
    assert sorted(found.splits["n_held_out"]) == [1, 4, 5, 5, 5]
    assert np.isnan(found.splits.set_index("n_held_out").loc[1, "agreement"])
    assert found.table.loc[0, "n_undefined"] == 1
    del families["m3"]
    with pytest.raises(SchemaError, match="'m3' has no family"):
        curve_of(made, ["random"], [8], rng=rng(1), families=families)


# ---------------------------------------------------------------- controls


def test_information_beats_chance_where_discrimination_varies_and_shuffled_answers_beat_nothing(
    bank, curve_of
):
    made = bank(19, 60, 300, spread=1.0)
    methods = ["marginal_fisher", "adaptive", "random"]
    mean = curve_of(made, methods, [8], 12, 15, rng(1)).table.set_index("method")["agreement"]
    assert min(mean["marginal_fisher"], mean["adaptive"]) > mean["random"] + 0.05
    assert mean["adaptive"] > 0.8
    shuffled = made.matrix.copy()
    shuffled[:] = rng(5).permuted(made.matrix.to_numpy(), axis=0)
    control = curve_of(replace(made, matrix=shuffled), methods, [8], 20, 15, rng(2)).table
    assert (control["agreement"].abs() < 0.3).all()
    assert control["top"].mean() == pytest.approx(3 / 15, abs=0.12)


# ---------------------------------------------------------------- savings, sizes


def made_curve(agreement, sizes=(1, 2, 5, 10, 20)):
    table = pd.DataFrame({"method": "m", "size": sizes, "agreement": agreement})
    return AgreementCurve(table.sample(frac=1, random_state=1), table, table, 40)


@pytest.mark.parametrize(
    ("agreement", "k_star", "first"),
    [
        ([0.5, 0.91, 0.85, 0.9, 0.95], 10, 2),
        ([0.9, 0.9, 0.9, 0.9, 0.9], 1, 1),
        ([0.5, 0.95, 0.95, 0.95, 0.89], None, 2),
        ([0.5, 0.6, 0.7, 0.8, 0.85], None, None),
        ([np.nan, 0.95, np.nan, 0.92, 0.95], 10, 2),
    ],
)
def test_k_star_is_where_the_curve_stays_above(agreement, k_star, first):
    row = savings(made_curve(agreement)).iloc[0]
    for name, saved, expected in (("k_star", "saved", k_star), ("first_crossing", "saved_at_first", first)):
        if expected is None:
            assert row[name] is pd.NA
            assert row[saved] is pd.NA
        else:
            assert row[name] == expected
            assert row[saved] == pytest.approx(1 - expected / 40)


def test_a_lower_target_needs_no_more_items():
    curve = made_curve([0.5, 0.91, 0.85, 0.9, 0.95])
    assert savings(curve, 0.8).loc[0, "k_star"] == 2
    assert savings(curve, 0.95).loc[0, "k_star"] == 20


def test_sizes_are_the_paper_s():
    """The columns of its published selections of 79 items."""
    assert geometric_sizes(79) == [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 31, 40, 50, 63, 79]
    assert geometric_sizes(5694)[-1] == 5694
    with pytest.raises(SchemaError, match="0 items"):
        geometric_sizes(0)


@pytest.mark.parametrize("target", [90, 0, -0.5, 1.01, np.nan])
def test_a_target_is_an_agreement(target):
    with pytest.raises(SchemaError, match="above 0 and up to 1"):
        savings(made_curve([0.5, 0.91, 0.85, 0.9, 0.95]), target)


def test_what_is_named_twice_counts_once(bank, curve_of):
    """Splits would seem twice as many, and their interval too short."""
    made, split = bank(1, 20, 30), (4, 5)
    once = curve_of(made, ["random", "disco"], [5, 8], *split, rng(1))
    twice = curve_of(made, ["random", "disco", "random"], [5, 5, 8], *split, rng(1))
    pd.testing.assert_frame_equal(once.table, twice.table)
    pd.testing.assert_frame_equal(once.splits, twice.splits)


def test_held_out_models_are_drawn_and_some_stay():
    models = pd.Index(list("abcdefgh"))
    held = irt.hold_out(models, 4, rng(3), ["g"])
    assert held[0] == "g"
    assert len({*held}) == 4
    assert {*held} <= {*models}
    assert irt.hold_out(models, 5, rng(3)) == [*rng(3).permutation(models)[:5]]
    for n in (6, 25, 0):
        with pytest.raises(SchemaError, match=f"n_held_out = {n} of 8 models: hold fewer out"):
            irt.hold_out(models, n, rng(3))


# ---------------------------------------------------------------- split halves


def test_split_halves_of_copies_agree_and_of_noise_do_not(bank):
    made = bank(21, 60, 1)
    pattern = rng(1).random(60)
    copies = pd.DataFrame((pattern[:, None] > np.linspace(0.02, 0.98, 400)).astype(float))
    assert np.nanmin(split_half_reliability(copies, rng(2), 20).full) > 0.97
    noise = pd.DataFrame(rng(3).integers(0, 2, (60, 200)).astype(float))
    assert abs(split_half_reliability(noise, rng(4), 100).halves.mean()) < 0.1
    alone = pd.DataFrame({"x": made.matrix["i0"], "y": 1.0})
    assert split_half_reliability(alone, rng(5), 10).n_undefined == 10


def test_split_halves_step_up_by_spearman_and_brown(bank):
    made = bank(23, 40, 80, missing=0.1)
    found = split_half_reliability(made.matrix, rng(1), 30)
    order = rng(1).permutation(80)
    one, other = (made.matrix.iloc[:, own].mean(axis=1) for own in np.array_split(order, 2))
    assert found.halves[0] == pytest.approx(spearmanr(one, other).statistic)
    assert found.full == pytest.approx(2 * found.halves / (1 + found.halves))
    doubled = pd.concat([made.matrix, made.matrix.add_suffix("'", axis=1)], axis=1)
    assert found.full.mean() < split_half_reliability(doubled, rng(1), 30).full.mean()


# ---------------------------------------------------------------- defaults and bad input


def test_calibration_and_ability_are_those_of_the_package(bank, curve_of):
    made = bank(25, 20, 30)
    own = {"calibrate": irt.calibrate, "estimate": lambda m, i: irt.ability(m, i, "map")["theta"]}
    default = agreement_curve(made.matrix, ["total_fisher"], [4], 3, 5, rng(1))
    given_ = curve_of(made, ["total_fisher"], [4], 3, 5, rng(1), **own)
    pd.testing.assert_frame_equal(default.splits, given_.splits)


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"methods": ["marginal_fishr"]}, UnknownNameError, "Did you mean marginal_fisher"),
        ({"sizes": []}, SchemaError, "one or more whole"),
        ({"sizes": [3, 0]}, SchemaError, "at least 1"),
        ({"rng": None}, SchemaError, "rng=np.random.default_rng"),
        ({"rng": 1}, SchemaError, "rng is 1"),
        ({"n_splits": None}, SchemaError, "n_splits and n_held_out, or else families"),
        ({"families": {}}, SchemaError, "or else families"),
        ({"n_held_out": 18}, SchemaError, "n_held_out = 18 of 20 models: hold fewer out"),
        ({"n_held_out": -4}, SchemaError, "1 or more of each"),
        ({"n_splits": -1}, SchemaError, "1 or more of each"),
        ({"sizes": 2}, SchemaError, "one or more whole numbers"),
        ({"sizes": [2.5]}, SchemaError, "one or more whole numbers"),
        ({"methods": []}, SchemaError, "one or more of total_fisher"),
        ({"level": 95}, SchemaError, "a share such as"),
        ({"top": 0}, SchemaError, "at least 1"),
    ],
)
def test_designs_that_cannot_be(bank, curve_of, changes, error, says):
    made = bank(1, 20, 30)
    design = {"methods": ["random"], "sizes": [3], "n_splits": 2, "n_held_out": 5, "rng": rng()} | changes
    with pytest.raises(error, match=says):
        curve_of(made, **design)


def test_answers_that_cannot_be(bank, curve_of):
    made = bank(1, 20, 30)
    for matrix, says in [
        (made.matrix.T, "transpose"),
        (made.matrix * 0.5, "threshold"),
        (made.matrix * 0 + 1, "tells the training models apart"),
    ]:
        with pytest.raises(SchemaError, match=says):
            curve_of(replace(made, matrix=matrix), ["random"], [3], 2, 5, rng())
    with pytest.raises(SchemaError, match="2 respondents"):
        split_half_reliability(made.matrix.head(2), rng())
    with pytest.warns(UnnamedAxesWarning, match="20 rows are read as respondents"):
        curve_of(
            replace(made, matrix=made.matrix.rename_axis(index=None, columns=None)),
            ["random"],
            [3],
            2,
            5,
            rng(),
        )
