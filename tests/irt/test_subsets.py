"""Static subsets: identities, plain greedy search, brute force, and the paper's own ranks."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from benchtrust import irt
from benchtrust.errors import SchemaError, UnknownNameError, UnnamedAxesWarning
from benchtrust.irt import information, select_items, select_sizes, subset_scores
from benchtrust.irt.subsets import FISHER, METHODS, NESTED
from benchtrust.items.sources import locate

few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**32 - 1)
ANSWERS = "responses/helm_safety/helm_simplesafety_irt_data.jsonl"
PUBLISHED = "responses/helm_safety/simplesafety_published_items.csv"


def rng(seed=0):
    return np.random.default_rng(seed)


def told(made):
    """Information, items × models."""
    theta = made.abilities["theta"].to_numpy()
    return information(theta, made.items[["a"]].to_numpy(), made.items[["b"]].to_numpy())


def plainly_greedy(value, k, loss):
    chosen = []
    for _ in range(k):
        others = [item for item in range(len(value)) if item not in chosen]
        chosen.append(min(others, key=lambda item: loss(value[[*chosen, item]].sum(axis=0))))
    return chosen


def correlation_distance(matrix):
    distance = 1 - matrix.corr().fillna(0.0).to_numpy()
    np.fill_diagonal(distance, 0)
    return distance


# ---------------------------------------------------------------- Fisher methods


@few
@given(seeds, st.sampled_from([0.1, 1.0, 5.0]))
def test_the_lazy_search_finds_what_the_plain_one_finds(bank, seed, prior):
    made = bank(seed, 5, 25, spread=0.8)
    items = made.items.copy()
    items.iloc[[7, 20]] = items.iloc[3].to_numpy()
    made = type(made)(items, made.abilities, made.matrix)
    expected = plainly_greedy(told(made), 25, lambda tif: (1 / np.sqrt(prior + tif)).sum())
    found = select_items(made.matrix, 25, "marginal_fisher", made, prior_information=prior)
    assert list(found.items) == [items.index[item] for item in expected]


@few
@given(seeds)
def test_the_paper_s_form_is_the_plain_search_over_the_floored_information(bank, seed):
    made = bank(seed, 5, 15)
    expected = plainly_greedy(told(made), 15, lambda tif: (1 / np.sqrt(np.maximum(tif, 1e-12))).sum())
    found = select_items(made.matrix, 15, "marginal_fisher", made, prior_information=0)
    assert list(found.items) == [made.items.index[item] for item in expected]


@few
@given(seeds)
def test_total_fisher_takes_the_most_informative_items(bank, seed):
    made = bank(seed, 8, 30)
    total = pd.Series(told(made).sum(axis=1), made.items.index)
    found = select_items(made.matrix, 10, "total_fisher", made)
    assert list(found.items) == total.nlargest(10).index.tolist()


@few
@given(seeds)
def test_for_one_model_all_fisher_orders_are_one(bank, seed):
    made = bank(seed, 1, 20)
    total, marginal = (select_items(made.matrix, 20, name, made) for name in METHODS[:2])
    assert total.items == marginal.items


@few
@given(seeds)
def test_quartiles_get_equal_shares_in_the_order_of_marginal_fisher(bank, seed):
    made = bank(seed, 6, 48)
    found = select_items(made.matrix, 48, "marginal_fisher_quartiles", made)
    order = select_items(made.matrix, 48, "marginal_fisher", made).items
    quartile = pd.qcut(made.items["b"], 4, labels=False)
    assert [quartile[item] for item in found.items] == [0, 1, 2, 3] * 12
    for q in range(4):
        own = quartile.index[quartile == q]
        assert [i for i in found.items if i in own] == [i for i in order if i in own]


def test_items_without_parameters_are_not_chosen(bank):
    made = bank(3, 8, 20)
    part = type(made)(made.items.drop(index=["i0", "i5"]), made.abilities, made.matrix)
    found = select_items(made.matrix, 18, "marginal_fisher", part)
    assert found.n_pool == 18
    assert not {"i0", "i5"} & set(found.items)


@few
@given(seeds, st.sampled_from(FISHER), st.sampled_from([0.0, 1.0]))
def test_a_model_without_answers_has_no_ability_and_plays_no_part(bank, seed, method, prior):
    made = bank(seed, 8, 20)
    alone = select_items(made.matrix, 6, method, made, prior_information=prior)
    made.matrix.loc["silent"] = np.nan
    made.abilities.loc["silent"] = np.nan
    assert select_items(made.matrix, 6, method, made, prior_information=prior).items == alone.items


def test_a_calibration_on_a_sparse_matrix_chooses_as_one_without_the_silent_model(bank):
    made = bank(21, 30, 20)
    full = irt.calibrate(made.matrix)
    made.matrix.loc["silent"] = np.nan
    sparse = irt.calibrate(made.matrix)
    assert sparse.n_without_answers == 1
    for method in FISHER:
        found = [select_items(made.matrix, 5, method, own).items for own in (full, sparse)]
        assert found[0] == found[1]


@pytest.mark.external(ANSWERS, PUBLISHED)
@pytest.mark.parametrize("fold", [0, 41, 99])
def test_fisher_ranks_are_the_paper_s_own(map_by_newton, fold):
    """Its item parameters of a split; abilities of its training models by MAP; its three rankings."""
    lines = locate(ANSWERS).read_text().splitlines()
    records = [json.loads(line) for line in lines]
    matrix = pd.DataFrame({r["subject_id"]: r["responses"] for r in records}).T.astype(float)
    held_out = np.random.default_rng((42, fold)).choice(len(matrix), size=10, replace=False)
    published = pd.read_csv(locate(PUBLISHED)).query("fold == @fold").set_index("item_id")
    train = matrix.drop(index=matrix.index[held_out])[published.index]
    theta = map_by_newton(train, published)
    calibration = type("Paper", (), {"items": published, "abilities": theta.to_frame("theta")})
    for ours, theirs in {
        "total_fisher": "total_fisher_rank",
        "marginal_fisher": "marginal_fisher_rank",
        "marginal_fisher_quartiles": "marginal_fisher_bquant_rank",
    }.items():
        found = select_items(train, len(published), ours, calibration, prior_information=0)
        assert list(found.items) == published[theirs].sort_values().index.tolist(), ours


# ---------------------------------------------------------------- DISCO, random, stratified


def test_disco_takes_the_largest_entropy_of_the_pass_rate_first():
    answers = {"p8": 8, "p4": 4, "p5": 5, "p6": 6, "p0": 0, "p10": 10, "p1": 1, "p9": 9}
    matrix = pd.DataFrame({name: [1.0] * right + [0.0] * (10 - right) for name, right in answers.items()})
    found = select_items(matrix, 8, "disco").items
    assert found == ("p5", "p4", "p6", "p8", "p1", "p9", "p0", "p10")
    heights = [entropy([matrix[name].mean(), 1 - matrix[name].mean()]) for name in found]
    assert heights == pytest.approx(sorted(heights, reverse=True))


def test_disco_reads_missing_answers_as_not_asked():
    matrix = pd.DataFrame({"half": [1, 0, np.nan, np.nan], "third": [1, 0, 0, 0], "none": [np.nan] * 4})
    assert select_items(matrix, 3, "disco").items == ("half", "third", "none")


def test_random_items_are_each_as_likely_and_the_strata_get_their_shares(bank):
    made = bank(5, 10, 40)
    strata = pd.Series(["x"] * 24 + ["y"] * 12 + ["z"] * 4, made.items.index)
    generator = rng(1)
    times = {name: pd.Series(0, made.items.index) for name in ("random", "stratified")}
    for _ in range(500):
        for name, own in times.items():
            found = select_items(
                made.matrix, 10, name, rng=generator, strata=strata if name == "stratified" else None
            )
            own[list(found.items)] += 1
            if name == "stratified":
                assert strata[list(found.items)].value_counts().to_dict() == {"x": 6, "y": 3, "z": 1}
    for own in times.values():
        assert (own / 500).to_numpy() == pytest.approx(0.25, abs=0.08)


@few
@given(seeds, st.integers(1, 20))
def test_stratified_weights_are_the_shares_of_the_strata(bank, seed, k):
    made = bank(seed, 10, 20, missing=0.2)
    found = select_items(made.matrix, k, "stratified", rng=rng(seed))
    assert len(set(found.items)) == k
    assert found.strata.nunique() <= min(4, k)
    size = found.strata.value_counts()
    for stratum, own in found.table.groupby(found.strata[list(found.items)].to_numpy()):
        assert own["weight"].to_numpy() == pytest.approx(size[stratum] / 20 / len(own))
    assert found.weights.sum() == pytest.approx(1)
    assert set(found.strata[list(found.items)]) == set(found.strata)


def test_the_default_strata_are_quartiles_of_the_pass_rate(bank):
    made = bank(7, 50, 40)
    found = select_items(made.matrix, 8, "stratified", rng=rng(1))
    rates = made.matrix.mean().groupby(found.strata)
    assert (rates.max().to_numpy()[:-1] <= rates.min().to_numpy()[1:]).all()
    assert found.strata.nunique() == 4


# ---------------------------------------------------------------- anchor points


def test_copies_of_a_few_items_give_one_anchor_each_and_the_exact_score():
    patterns = rng(3).integers(0, 2, (30, 3)).astype(float)
    copies = np.repeat([0, 1, 2], [11, 6, 3])
    matrix = pd.DataFrame(patterns[:, copies], columns=[f"i{j}" for j in range(20)])
    found = select_items(matrix, 3, "anchor_points", rng=rng(0))
    assert [copies[int(item[1:])] for item in found.items] == [0, 1, 2]
    assert found.weights == pytest.approx([0.55, 0.3, 0.15])
    scores = subset_scores(matrix, found)
    assert scores.to_numpy() == pytest.approx(matrix.mean(axis=1).to_numpy())


@few
@given(seeds, st.integers(1, 6), st.sampled_from([0.0, 0.3]))
def test_no_swap_of_an_anchor_brings_the_items_nearer(bank, seed, k, missing):
    made = bank(seed, 12, 18, missing=missing)
    distance = correlation_distance(made.matrix)
    found = select_items(made.matrix, k, "anchor_points", rng=rng(seed))
    anchors = made.matrix.columns.get_indexer(found.items)
    loss = distance[:, anchors].min(axis=1).sum()
    for slot in range(k):
        for item in set(range(18)) - set(anchors):
            swapped = [*np.delete(anchors, slot), item]
            assert distance[:, swapped].min(axis=1).sum() >= loss - 1e-5


def test_anchors_are_mostly_the_best_of_all_subsets_and_never_far_from_them(bank):
    """A local search may stop short of the best of all 816 triples, even from six starts, but not often."""
    short = []
    for seed in range(40):
        made = bank(seed, 15, 18)
        distance = correlation_distance(made.matrix)
        best = min(distance[:, list(own)].min(axis=1).sum() for own in combinations(range(18), 3))
        found = [select_items(made.matrix, 3, "anchor_points", rng=rng(start)).items for start in range(6)]
        reached = [distance[:, made.matrix.columns.get_indexer(own)].min(axis=1).sum() for own in found]
        short.append(min(reached) / best)
    assert np.mean(np.array(short) < 1 + 1e-6) >= 0.9
    assert max(short) < 1.05


@few
@given(seeds, st.integers(1, 15))
def test_an_anchor_counts_by_its_cluster(bank, seed, k):
    made = bank(seed, 14, 15)
    found = select_items(made.matrix, k, "anchor_points", rng=rng(seed))
    distance = pd.DataFrame(correlation_distance(made.matrix), made.items.index, made.items.index)
    to_anchors = distance[list(found.items)]
    clear = (to_anchors.round(5).eq(to_anchors.round(5).min(axis=1), axis=0)).sum(axis=1) == 1
    least = to_anchors[clear].idxmin(axis=1).value_counts().reindex(found.items, fill_value=0)
    assert (found.weights * 15 >= least.to_numpy() - 1e-9).all()
    assert (found.weights * 15 >= 1 - 1e-9).all()
    assert found.weights.sum() == pytest.approx(1)
    assert (np.diff(found.weights) <= 1e-12).all()


def test_all_items_as_anchors_give_the_plain_score(bank):
    made = bank(9, 20, 12)
    found = select_items(made.matrix, 12, "anchor_points", rng=rng(0))
    assert found.weights == pytest.approx(1 / 12)


# ---------------------------------------------------------------- all methods


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_gives_one_subset_and_the_sizes_agree(bank, method):
    made = bank(11, 12, 30)
    sizes = select_sizes(made.matrix, [4, 30, 11], method, made, rng(5))
    assert {k: len(set(found.items)) for k, found in sizes.items()} == {4: 4, 30: 30, 11: 11}
    for found in sizes.values():
        assert found.weights.sum() == pytest.approx(1)
        assert found.method == method
        assert found.n_pool == 30
    again = select_sizes(made.matrix, [4, 30, 11], method, made, rng(5))
    assert all(again[k].items == sizes[k].items for k in sizes)
    if method in NESTED:
        assert sizes[11].items == sizes[30].items[:11]
        assert sizes[4].items == select_items(made.matrix, 4, method, made, rng(5)).items


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_models_plays_no_part(bank, method):
    made = bank(13, 12, 30)
    turned = made.matrix.iloc[::-1], type(made)(made.items, made.abilities.iloc[::-1], made.matrix)
    ours = select_items(made.matrix, 7, method, made, rng(2))
    theirs = select_items(turned[0], 7, method, turned[1], rng(2))
    assert ours.items == theirs.items


# ---------------------------------------------------------------- scores


def test_scores_are_weighted_means_of_the_answers_that_are_there():
    matrix = pd.DataFrame([[1, 0, 1], [1, np.nan, 0], [np.nan] * 3], ["m", "n", "o"], list("xyz"))
    found = irt.Selection("anchor_points", ("z", "x", "y"), np.array([0.5, 0.3, 0.2]), 3)
    scores = subset_scores(matrix, found)
    assert scores.name == "score"
    assert scores["m"] == pytest.approx(0.8)
    assert scores["n"] == pytest.approx(0.3 / 0.8)
    assert np.isnan(scores["o"])


def test_random_subsets_estimate_the_score_without_bias(bank):
    made = bank(15, 8, 30)
    generator = rng(3)
    for method in ("random", "stratified"):
        drawn = [
            subset_scores(made.matrix, select_items(made.matrix, 9, method, rng=generator))
            for _ in range(250)
        ]
        error = np.mean(drawn, axis=0) - made.matrix.mean(axis=1)
        assert error.to_numpy() == pytest.approx(0, abs=0.035)


def test_fisher_subsets_estimate_abilities_of_the_items_in_their_order(bank, map_by_newton):
    made = bank(17, 10, 30)
    found = select_items(made.matrix, 6, "marginal_fisher", made)
    chosen = list(found.items)
    theta = subset_scores(made.matrix, found, made.items, map_by_newton)
    expected = map_by_newton(made.matrix[chosen], made.items.loc[chosen])
    assert theta.name == "theta"
    assert theta.to_numpy() == pytest.approx(expected.to_numpy())
    default = subset_scores(made.matrix, found, made.items)
    assert default.to_numpy() == pytest.approx(expected.to_numpy())


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"k": 21}, SchemaError, "21 items from a pool of 20"),
        ({"k": 0}, SchemaError, "choose 1 to 20"),
        ({"k": 2.5}, SchemaError, "2.5 items from a pool of 20: choose 1 to 20, an integer"),
        ({"k": "3"}, SchemaError, "'3' items"),
        ({"prior_information": -1.0}, SchemaError, "0 or more"),
        ({"prior_information": np.nan}, SchemaError, "finite"),
        ({"method": "marginal_fischer"}, UnknownNameError, "Did you mean marginal_fisher"),
        ({"method": "random"}, SchemaError, "rng=np.random.default_rng"),
        ({"method": "anchor_points"}, SchemaError, "rng=np.random.default_rng"),
        ({"method": "stratified"}, SchemaError, "rng=np.random.default_rng"),
        ({"calibration": None}, SchemaError, "give the calibration"),
        ({"calibration": pd.DataFrame({"a": [1.0], "b": [0.0]})}, SchemaError, "give the calibration"),
    ],
)
def test_choices_that_cannot_be(bank, changes, error, says):
    made = bank(1, 6, 20)
    given_ = {"matrix": made.matrix, "k": 5, "method": "total_fisher", "calibration": made}
    with pytest.raises(error, match=says):
        select_items(**given_ | changes)


def test_abilities_that_are_none(bank):
    made = bank(1, 6, 20)
    silent = type(made)(made.items, made.abilities * np.nan, made.matrix)
    for method in FISHER:
        with pytest.raises(SchemaError, match="None of 6 models has an ability"):
            select_items(made.matrix, 5, method, silent)


def test_no_sizes(bank):
    made = bank(1, 6, 20)
    for method in METHODS:
        with pytest.raises(SchemaError, match="No number of items"):
            select_sizes(made.matrix, [], method, made, rng())


@pytest.mark.parametrize("method", ["anchor_points", "disco"])
def test_two_models_cannot_be_compared(bank, method):
    made = bank(1, 6, 20)
    made.matrix.iloc[2:] = np.nan
    with pytest.raises(SchemaError, match="2 model"):
        select_items(made.matrix, 5, method, rng=rng())


def test_a_swap_is_warned_of_where_no_label_could_show_it(bank):
    made = bank(1, 6, 20)
    unnamed = made.matrix.rename_axis(index=None, columns=None)
    for method in set(METHODS) - set(FISHER):
        with pytest.warns(UnnamedAxesWarning, match="6 rows are read as respondents"):
            select_items(unnamed, 5, method, rng=rng())
    with pytest.raises(SchemaError, match="transpose"):
        select_items(unnamed.T, 5, "total_fisher", made)


def test_answers_and_strata_that_do_not_fit(bank):
    made = bank(1, 6, 20)
    strata = pd.Series(np.arange(20) % 3, made.items.index)
    for matrix, says in [(made.matrix.T, "transpose"), (made.matrix * 0.7, "threshold")]:
        for method in METHODS:
            with pytest.raises(SchemaError, match=says):
                select_items(matrix, 5, method, made, rng())
    with pytest.raises(SchemaError, match="'i3' has no stratum"):
        select_items(made.matrix, 5, "stratified", rng=rng(), strata=strata.drop("i3"))
    with pytest.raises(SchemaError, match="more than one stratum: 'i3'"):
        select_items(made.matrix, 5, "stratified", rng=rng(), strata=pd.concat([strata, strata[["i3"]]]))
    with pytest.raises(SchemaError, match="2 items from 3 strata"):
        select_items(made.matrix, 2, "stratified", rng=rng(), strata=strata)
    found = select_items(made.matrix, 5, "total_fisher", made)
    with pytest.raises(SchemaError, match="not in the matrix"):
        subset_scores(made.matrix.drop(columns=found.items[2]), found, made.items)
    with pytest.raises(SchemaError, match="item parameters"):
        subset_scores(made.matrix, found)
