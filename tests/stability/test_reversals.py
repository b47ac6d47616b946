"""McNemar against published examples and its definition, and tests of reversals against closed forms."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, binomtest, chi2, norm, ttest_1samp

from benchtrust.errors import SchemaError
from benchtrust.stability import (
    compare_cells,
    holm,
    item_scores,
    mcnemar,
    mean_leads,
    pool_decoding,
    qualitative_interaction,
)

quick = settings(max_examples=60, deadline=None)
COUNTS = [(1, 7), (7, 1), (6, 16), (25, 2), (0, 5), (3, 3)]


def answers(n01: int, n10: int, both: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Two models' answers with so many items that only the second, only the first, or both have right."""
    first = np.repeat([0.0, 1.0, 1.0], [n01, n10, both])
    second = np.repeat([1.0, 0.0, 1.0], [n01, n10, both])
    return first, second


def binary(shape, seed):
    return np.random.default_rng(seed).integers(0, 2, shape).astype(float)


@pytest.mark.parametrize(("n01", "n10", "p"), [(1, 7, 0.039), (6, 16, 0.035)])
def test_published_examples(n01, n10, p):
    """Fagerland et al. (2013): airway hyper-responsiveness, and complete response to consolidation."""
    found = mcnemar(*answers(n01, n10))
    assert (found.n01, found.n10, found.n, found.n_missing) == (n01, n10, n01 + n10 + 4, 0)
    assert found.p == pytest.approx(p, abs=0.0005)
    assert found.p_ahead == pytest.approx(found.p / 2)


@pytest.mark.parametrize(("n01", "n10"), [counts for counts in COUNTS if counts != (3, 3)])
def test_mid_p_is_the_exact_p_less_the_point_probability(n01, n10):
    exact = binomtest(n01, n01 + n10).pvalue
    assert mcnemar(*answers(n01, n10)).p == pytest.approx(exact - binom.pmf(n01, n01 + n10, 0.5))


@pytest.mark.parametrize(("n01", "n10"), [counts for counts in COUNTS if counts != (3, 3)])
def test_mid_p_follows_from_the_exact_p_of_statsmodels(n01, n10):
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    exact = tables.mcnemar([[4, n01], [n10, 9]], exact=True).pvalue
    assert mcnemar(*answers(n01, n10)).p == pytest.approx(exact - binom.pmf(n01, n01 + n10, 0.5))


@pytest.mark.parametrize(("n01", "n10"), [(k, n - k) for n in range(1, 13) for k in range(n + 1)])
def test_mid_p_is_all_that_is_more_extreme_and_half_of_what_is_as_extreme(n01, n10):
    n = n01 + n10
    other, p = np.arange(n + 1), binom.pmf(np.arange(n + 1), n, 0.5)
    more, equal = abs(2 * other - n) > abs(n01 - n10), abs(2 * other - n) == abs(n01 - n10)
    found = mcnemar(*answers(n01, n10))
    assert found.p == pytest.approx(p[more].sum() + p[equal].sum() / 2)
    assert found.p_ahead == pytest.approx(p[other < n01].sum() + p[n01] / 2)


def test_no_discordant_item_gives_p_1():
    for both in (0, 5):
        found = mcnemar(*answers(0, 0, both))
        assert (found.p, found.p_ahead, found.n) == (1.0, 0.5, both)


def test_items_that_one_was_not_asked_are_left_out_and_counted():
    first, second = answers(2, 9)
    padded = np.append(first, [np.nan, 1, np.nan]), np.append(second, [1, np.nan, np.nan])
    whole, holed = mcnemar(first, second), mcnemar(*padded)
    assert holed.n_missing == 3
    assert (holed.n, holed.p) == (whole.n, whole.p)


def test_many_cells_at_once_equal_one_by_one():
    first, second = binary((3, 4, 12), 1), binary((3, 4, 12), 2)
    first[0, 1, 3] = np.nan
    found = mcnemar(first, second)
    for cell in product(range(3), range(4)):
        alone = mcnemar(first[cell], second[cell])
        for name, value in vars(alone).items():
            assert getattr(found, name)[cell] == value


@quick
@given(arrays(float, 9, elements=st.sampled_from([0.0, 1.0, np.nan])), st.randoms(use_true_random=False))
def test_mcnemar_turns_with_the_models_and_not_with_the_order_of_items(first, random):
    second = np.array([random.choice([0.0, 1.0]) for _ in first])
    order = random.sample(range(9), 9)
    found, turned = mcnemar(first, second), mcnemar(second[order], first[order])
    assert (turned.n01, turned.n10, turned.p) == (found.n10, found.n01, found.p)
    assert turned.p_ahead == pytest.approx(1 - found.p_ahead)


@pytest.mark.parametrize("m", [10, 30, 100])
def test_the_size_is_at_most_nominal(m):
    """Exact rejection rate of equally good models at .05, over the share of items that they answer apart."""
    n, k, place = np.ogrid[: m + 1, : m + 1, :m]
    p = mcnemar((place >= k) & (place < n), (place < k) & (place < n)).p
    n, k = n[..., 0], k[..., 0]
    rejected = (k <= n) & (p <= 0.05)
    for discordance in (0.05, 0.1, 0.3, 0.5, 0.8):
        size = (binom.pmf(n, m, discordance) * binom.pmf(k, n, 0.5) * rejected).sum()
        assert size <= 0.05
    assert size > 0.04


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        ([0, 1, 0.5], [0, 1, 1], "right .1. or wrong .0.: use `compare_cells`"),
        ([0, 1], [0, 1, 1], "cannot be paired"),
        (0, 1, "cannot be paired"),
    ],
)
def test_unusable_answers_are_refused(a, b, says):
    with pytest.raises(SchemaError, match=says):
        mcnemar(a, b)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@quick
@given(arrays(float, st.integers(1, 9), elements=st.floats(0, 1)))
def test_holm_equals_statsmodels(p):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])


def test_plain_means_of_right_and_wrong_answers_get_mcnemar():
    cube = binary((3, 4, 20), 3)
    table = compare_cells(cube, 0, np.random.default_rng(0))
    found = mcnemar(cube[[0, 0, 1]], cube[[1, 2, 2]])
    assert set(table["test"]) == {"mid-p McNemar"}
    assert table[["model_a", "model_b", "configuration"]].to_numpy().tolist() == [
        [a, b, c] for a, b in [(0, 1), (0, 2), (1, 2)] for c in range(4)
    ]
    for name in ("n01", "n10", "p", "p_ahead"):
        assert table[name].tolist() == getattr(found, name).ravel().tolist()
    gaps = cube[[0, 0, 1]].mean(axis=2) - cube[[1, 2, 2]].mean(axis=2)
    assert table["gap"].to_numpy() == pytest.approx(gaps.ravel())
    assert (table["p_ahead"] + table["p_behind"]).to_numpy() == pytest.approx(1)
    assert table["p_behind_holm"].tolist() == holm(table["p_behind"]).tolist()


@pytest.mark.parametrize(
    ("cube", "options", "test"),
    [
        (binary((2, 3, 8), 4), {"parts": list("aabbccdd")}, "mid-p McNemar"),
        (binary((2, 3, 8), 4), {"parts": list("aaabbbbb")}, "sign flips of items"),
        (binary((2, 3, 8), 4) / 2, {}, "sign flips of items"),
        (binary((2, 3, 8), 4), {"rule": "parity"}, "sign flips of folded items"),
    ],
)
def test_the_benchmarks_rule_picks_the_test(cube, options, test):
    table = compare_cells(item_scores(cube, **options), 50, np.random.default_rng(0))
    assert set(table["test"]) == {test}
    assert table["n01"].isna().all() == (test != "mid-p McNemar")


def test_sign_flips_of_halved_answers_agree_with_mcnemar():
    cube = binary((2, 6, 30), 5)
    flips = compare_cells(cube / 2, 40000, np.random.default_rng(0))
    exact = compare_cells(cube, 0, np.random.default_rng(0))
    assert flips["p_ahead"].to_numpy() == pytest.approx(exact["p_ahead"].to_numpy(), abs=0.01)
    assert flips["gap"].to_numpy() == pytest.approx(exact["gap"].to_numpy() / 2)


def test_sign_flips_equal_their_enumeration_with_parts_of_unequal_size():
    cube, parts = binary((2, 2, 10), 6), list("aaabbbbbbb")
    table = item_scores(cube, parts=parts)
    difference = (cube[0] - cube[1]) * table.weights
    every = np.array(list(product([-1, 1], repeat=10))) @ difference.T
    observed = difference.sum(axis=1)
    exact = (every > observed + 1e-9).mean(axis=0) + np.isclose(every, observed).mean(axis=0) / 2
    drawn = compare_cells(table, 40000, np.random.default_rng(0))["p_ahead"]
    assert drawn.to_numpy() == pytest.approx(exact, abs=0.01)


def test_decodings_pooled_by_item_show_what_one_decoding_cannot():
    """A leads on other four of twelve items in each decoding: 4 to 0 in a cell, 12 to 0 of a third pooled."""
    cube = np.zeros((2, 3, 12))
    for decoding in range(3):
        cube[0, decoding, 4 * decoding : 4 * decoding + 4] = 1
    cells = pd.MultiIndex.from_product([["m"], ["x", "y", "z"]], names=["template", "decoding"])
    table = replace(item_scores(cube), configurations=cells)
    assert compare_cells(table, 0, np.random.default_rng(0))["p_ahead"].tolist() == [0.5**5] * 3
    pooled = compare_cells(pool_decoding(table), 9999, np.random.default_rng(0))
    assert pooled["gap"].item() == pytest.approx(1 / 3)
    assert pooled["p_ahead"].item() < 0.002


def test_the_mean_lead_is_a_paired_test_of_item_means():
    rng = np.random.default_rng(14)
    cube = (rng.random((3, 6, 200)) < np.array([0.55, 0.45, 0.5])[:, None, None]).astype(float)
    table = mean_leads(cube, 8000, rng)
    for row in table.itertuples():
        difference = cube[row.model_a].mean(axis=0) - cube[row.model_b].mean(axis=0)
        assert row.mean_gap == pytest.approx(difference.mean())
        assert row.p == pytest.approx(ttest_1samp(difference, 0).pvalue, abs=0.02)
    one = mean_leads(cube[:2, :1], 40000, rng)["p"].item()
    assert one == pytest.approx(mcnemar(cube[0, 0], cube[1, 0]).p, abs=0.01)


@pytest.mark.parametrize("right", [(0.70, 0.68), (0.70, 0.31)])
def test_parity_compares_distances_from_a_half(right):
    rng = np.random.default_rng(7)
    cube = (rng.random((2, 4, 2000)) < np.reshape(right, (2, 1, 1))).astype(float)
    table = compare_cells(item_scores(cube, rule="parity"), 4000, rng)
    rarer = np.where(np.reshape(right, (2, 1, 1)) > 0.5, 1 - cube, cube)
    difference = rarer[0] - rarer[1]
    assert table["gap"].to_numpy() == pytest.approx(2 * difference.mean(axis=1))
    z = difference.sum(axis=1) / np.sqrt((difference**2).sum(axis=1))
    assert table["p_ahead"].to_numpy() == pytest.approx(norm.sf(z), abs=0.03)


@pytest.mark.parametrize("right", [(0.25, 0.75), (0.7, 0.7), (0.5, 0.5)])
def test_parity_keeps_its_size(right):
    """Equal distances from a half, on one side or on both; at a half itself the test is conservative."""
    rng = np.random.default_rng(8)
    rejected = []
    for _ in range(60):
        cube = (rng.random((2, 8, 30)) < np.reshape(right, (2, 1, 1))).astype(float)
        rejected.append((compare_cells(item_scores(cube, rule="parity"), 199, rng)["p"] <= 0.05).mean())
    assert np.mean(rejected) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 480)


def gail_simon(z: np.ndarray) -> tuple[float, float]:
    """p-values of Q+ and of min(Q+, Q-) on independent strata, from the published mixtures of chi-squares."""
    q = np.array([(np.maximum(z, 0) ** 2).sum(), (np.maximum(-z, 0) ** 2).sum()])

    def mixture(value, k):
        h = np.arange(1, k + 1)
        return float((binom.pmf(h, k, 0.5) * chi2.sf(value, h)).sum())

    return mixture(q[0], len(z)), mixture(q.min(), len(z) - 1)


def test_the_reference_is_gail_and_simons():
    """Their breast cancer trial (four subsets, p = .088), and their critical value of four strata at .05."""
    z = np.array([0.163, -0.114, -0.047, -0.151]) / np.array([0.0788, 0.0689, 0.0614, 0.0547])
    assert gail_simon(z)[1] == pytest.approx(0.088, abs=0.0005)
    assert gail_simon(np.array([np.sqrt(5.43), -9, 0, 0]))[1] == pytest.approx(0.05, abs=0.0005)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_separate_items_the_p_values_are_gail_and_simons(seed):
    """Each configuration has its own items, so the configurations are independent strata."""
    rng = np.random.default_rng(seed)
    cube = np.full((2, 5, 200), np.nan)
    for stratum in range(5):
        own = slice(40 * stratum, 40 * stratum + 40)
        cube[:, stratum, own] = rng.random((2, 40)) < 0.5
    difference = np.nan_to_num(cube[0] - cube[1])
    z = difference.sum(axis=1) / np.sqrt((difference**2).sum(axis=1))
    found = qualitative_interaction(cube, 8000, rng).iloc[0]
    assert found["p_ahead"] == pytest.approx(gail_simon(z)[0], abs=0.04)
    assert found["p_behind"] == pytest.approx(gail_simon(-z)[0], abs=0.04)
    assert found["p"] == max(found["p_ahead"], found["p_behind"])
    assert found["q_ahead"] == pytest.approx((np.maximum(z, 0) ** 2).sum(), rel=0.1)


def test_a_configuration_told_twice_is_no_further_evidence():
    cube = binary((2, 6, 30), 9)
    once, twice = (
        qualitative_interaction(items, 500, np.random.default_rng(0))
        for items in (cube, np.repeat(cube, 4, axis=1))
    )
    assert twice["p"].tolist() == once["p"].tolist()
    assert twice["q_ahead"].item() == pytest.approx(4 * once["q_ahead"].item())


def test_the_interaction_turns_with_the_models_and_ignores_the_order_of_configurations():
    cube = binary((2, 6, 25), 10)
    found = qualitative_interaction(cube, 300, np.random.default_rng(0)).iloc[0]
    turned = qualitative_interaction(cube[::-1], 300, np.random.default_rng(0)).iloc[0]
    shuffled = qualitative_interaction(cube[:, [3, 0, 5, 1, 4, 2]], 300, np.random.default_rng(0)).iloc[0]
    assert (turned["p_ahead"], turned["p_behind"]) == (found["p_behind"], found["p_ahead"])
    assert shuffled["p"] == found["p"]


def test_a_plain_reversal_is_found_and_a_plain_lead_is_none():
    rng = np.random.default_rng(11)
    better = np.array([[0.8, 0.8, 0.3, 0.3], [0.3, 0.3, 0.8, 0.8], [0.1, 0.1, 0.1, 0.1]])
    cube = (rng.random((3, 4, 60)) < better[:, :, None]).astype(float)
    p = qualitative_interaction(cube, 999, rng).set_index(["model_a", "model_b"])["p"]
    assert p[0, 1] < 0.01
    assert p[0, 2] > 0.5
    folded = item_scores(np.where(rng.random(cube.shape) < 0.5, cube, 0), rule="parity")
    assert qualitative_interaction(folded, 999, rng)["p"][0] < 0.05


def test_the_interaction_keeps_its_size_where_one_configuration_leads_by_far():
    """Least favourable: a far ahead in half of the configurations, nobody ahead in the others."""
    rng = np.random.default_rng(12)
    better = np.array([[0.95] * 3 + [0.5] * 3, [0.05] * 3 + [0.5] * 3])
    p = []
    for _ in range(200):
        shared = rng.random((2, 1, 20)) < better[:, :, None]
        own = rng.random((2, 6, 20)) < better[:, :, None]
        cube = np.where(rng.random((2, 1, 20)) < 0.5, shared, own).astype(float)
        p.append(qualitative_interaction(cube, 199, rng)["p"].item())
    assert np.mean(np.array(p) <= 0.1) <= 0.1 + 2 * np.sqrt(0.09 / 200)
    assert np.mean(np.array(p) <= 0.5) > 0.2


@pytest.mark.parametrize("rule", ["mean", "parity"])
@pytest.mark.parametrize(
    "cube", [np.ones((2, 4, 6)), np.zeros((2, 1, 1)), np.repeat(binary((1, 3, 8), 13), 2, 0)]
)
def test_models_that_tie_everywhere_have_p_1(cube, rule):
    table = item_scores(cube, rule=rule)
    assert (compare_cells(table, 20, np.random.default_rng(0))["p"] == 1).all()
    assert (qualitative_interaction(table, 20, np.random.default_rng(0))["p"] == 1).all()


@pytest.mark.parametrize("test", [compare_cells, qualitative_interaction])
def test_one_model_or_uneven_items_are_refused(test):
    with pytest.raises(SchemaError, match="models >= 2"):
        test(np.zeros((1, 3, 4)), 10, np.random.default_rng(0))
    cube = np.zeros((2, 3, 4))
    cube[1, 0, 0] = np.nan
    with pytest.raises(SchemaError, match="only one of"):
        test(cube, 10, np.random.default_rng(0))


def test_a_test_that_draws_needs_a_draw():
    for test in (compare_cells, qualitative_interaction, mean_leads):
        with pytest.raises(SchemaError, match="at least one"):
            test(binary((2, 3, 4), 15) / 2, 0, np.random.default_rng(0))


def test_cells_carry_the_levels_of_their_configuration():
    frame = pd.DataFrame(
        [
            ["toxigen", item, model, "minimal", shots, "none", "logprob", f"{model}{shots}", "scored", 1.0]
            for item in "xyz" for model in "ab" for shots in (0, 3)
        ],
        columns=["benchmark", "item_id", "model", "template", "shots", "decoding", "scoring", "cell_id",
                 "outcome", "score"],
    )  # fmt: skip
    table = compare_cells(frame, 0, np.random.default_rng(0))
    assert list(table.columns[:6]) == ["model_a", "model_b", "template", "shots", "decoding", "scoring"]
    assert table["shots"].tolist() == [0, 3]
