"""Estimated against true HARMONY: what is known of a perfect, a blind and a broken similarity."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchtrust.errors import SchemaError
from benchtrust.harmony import accuracy_profiles, given_similarity, harmony, redundant_qa

DOMAINS = ["biology", "history", "economics", "music"]
N = 200
ITEMS = [f"item {i}" for i in range(N)]
TRUE = pd.Series(np.array(DOMAINS)[np.arange(N) % 4], index=ITEMS)
PROFILES = accuracy_profiles(DOMAINS, [0.1, 0.2, 0.3, 0.4, 0.5])


def blocks(of: pd.Series, inside: float = 0.9):
    """Items of a kind are alike, others are not."""
    same = of.to_numpy()[:, None] == of.to_numpy()
    affinity = np.where(same, inside, 0.05)
    np.fill_diagonal(affinity, 1)
    return given_similarity(affinity, "kinds", of.index)


def validated(similarity, seed: int = 1, n_draws: int = 300, **options):
    arguments = {"k_range": (2, 8), "bandwidth": 0.1, "n_null": 0} | options
    rng = np.random.default_rng(seed)
    return redundant_qa(similarity, TRUE, PROFILES, n_draws=n_draws, rng=rng, **arguments)


# ---------------------------------------------------------------- designed profiles


def test_each_shape_has_one_mean_and_every_domain_in_every_place():
    assert len(PROFILES) == 4 * 5 * 4
    np.testing.assert_allclose(PROFILES.mean(axis=1), 0.5)
    spread = PROFILES.max(axis=1) - PROFILES.min(axis=1)
    np.testing.assert_allclose(spread, PROFILES.index.get_level_values("spread"))
    for (shape, _), own in PROFILES.groupby(level=["shape", "spread"]):
        sorted_places = np.sort(own.to_numpy(), axis=1)
        np.testing.assert_allclose(sorted_places, sorted_places[:1].repeat(4, axis=0), err_msg=shape)
        np.testing.assert_allclose(np.sort(own, axis=0), np.sort(own, axis=0)[:, :1].repeat(4, axis=1))
    lowest = PROFILES.xs("one below", level="shape").to_numpy()
    assert ((lowest < 0.5).sum(axis=1) == 1).all()


def test_harmony_falls_with_the_spread_in_all_shapes_but_the_halves():
    value = PROFILES.apply(lambda row: harmony(row.to_numpy()).value, axis=1).groupby(
        level=["shape", "spread"]
    )
    assert value.std().max() < 1e-9
    by_spread = value.mean().unstack()
    assert (by_spread.drop("halves").diff(axis=1).iloc[:, 1:] < 0).all(axis=None)
    np.testing.assert_allclose(by_spread.loc["halves"], 1)


def test_profiles_stay_between_0_and_1():
    with pytest.raises(SchemaError, match=r"outside 0\.\.1"):
        accuracy_profiles(DOMAINS, [0.1, 0.8])
    with pytest.raises(SchemaError, match="3 domains"):
        accuracy_profiles(DOMAINS[:3], [0.1])


# ---------------------------------------------------------------- estimated against true


def test_clusters_that_are_the_domains_give_the_same_harmony():
    found = validated(blocks(TRUE))
    assert found.partition.k == 4
    assert (found.ari, found.homogeneity) == (1, pytest.approx(1))
    np.testing.assert_allclose(found.profiles["estimated"], found.profiles["true"])
    own = found.correlations.loc["estimated"]
    assert own[["pearson", "pearson_low", "spearman", "spearman_low"]].to_numpy() == pytest.approx(1)
    lot = found.correlations.loc["by_lot"]
    assert lot["pearson_high"] < 0.5
    assert lot["pearson_low"] < 0.2


def test_clusters_that_have_nothing_to_do_with_the_domains_are_no_better_than_chance():
    other = pd.Series(np.random.default_rng(5).integers(4, size=N), index=ITEMS)
    found = validated(blocks(other))
    assert abs(found.ari) < 0.05
    assert found.homogeneity < 0.05
    own, lot = found.correlations["pearson"]
    assert abs(own) < 0.35
    assert abs(lot) < 0.35
    assert found.profiles["estimated"].min() > found.profiles["true"].min() + 0.2


def test_a_coarser_partition_is_in_between():
    pairs = TRUE.replace({"history": "biology", "music": "economics"})
    found = validated(blocks(pairs))
    assert found.partition.k == 2
    assert 0.3 < found.homogeneity < 0.7
    halves = found.profiles.xs("halves", level="shape")
    assert found.profiles["estimated"].corr(found.profiles["true"]) < 0.9
    assert len(halves) == 20


def test_designed_and_true_values_and_correlations_by_hand():
    found = validated(blocks(TRUE), seed=3)
    expected = PROFILES.apply(lambda row: harmony(row.to_numpy()).value, axis=1)
    pd.testing.assert_series_equal(found.profiles["designed"], expected, check_names=False)
    x, y = found.profiles["by_lot"], found.profiles["true"]
    row = found.correlations.loc["by_lot"]
    assert row["pearson"] == pytest.approx(stats.pearsonr(x, y).statistic)
    assert row["spearman"] == pytest.approx(stats.spearmanr(x, y).statistic)
    assert row["pearson_low"] < row["pearson"] < row["pearson_high"]
    assert row["spearman_low"] < row["spearman"] < row["spearman_high"]
    assert row["n_undefined"] == 0


def test_answers_follow_the_accuracies_of_the_true_domains():
    """Accuracies of 0 and 1 make the answers certain; domains of several sizes tell them apart."""
    sizes = [20, 40, 60, 80]
    uneven = pd.Series(np.repeat(DOMAINS, sizes), index=ITEMS)
    sure = pd.DataFrame(1.0 - np.eye(4), columns=DOMAINS)
    found = redundant_qa(blocks(uneven), uneven, sure, (2, 8), 0.5, 50, np.random.default_rng(2), n_null=0)
    expected = [harmony(row, np.array(sizes), 0.5).value for row in sure.to_numpy()]
    assert len({round(value, 6) for value in expected}) == 4
    np.testing.assert_allclose(found.profiles["designed"], expected)
    np.testing.assert_allclose(found.profiles["true"], expected)
    np.testing.assert_allclose(found.profiles["estimated"], expected)


def test_the_order_of_items_and_domains_changes_the_clusters_names_only():
    mixed = TRUE.sample(frac=1, random_state=4)
    found = redundant_qa(
        blocks(mixed), TRUE, PROFILES[DOMAINS[::-1]], (2, 8), 0.1, 50, np.random.default_rng(1), n_null=0
    )
    assert found.ari == 1
    np.testing.assert_allclose(found.profiles["designed"], validated(blocks(TRUE)).profiles["designed"])
    np.testing.assert_allclose(found.profiles["estimated"], found.profiles["true"])


def test_one_seed_gives_one_result():
    first, second = validated(blocks(TRUE), seed=7), validated(blocks(TRUE), seed=7)
    pd.testing.assert_frame_equal(first.profiles, second.profiles)
    pd.testing.assert_frame_equal(first.correlations, second.correlations)
    assert not first.profiles["true"].equals(validated(blocks(TRUE), seed=8).profiles["true"])


def test_without_a_partition_there_is_no_estimate_and_no_correlation():
    alike = given_similarity(np.full((N, N), 0.5) + np.eye(N) / 2, "all alike", ITEMS)
    found = validated(alike)
    assert found.partition.k == 1
    assert found.partition.reason.startswith("no partition")
    assert found.profiles[["estimated", "by_lot"]].isna().all(axis=None)
    assert found.profiles["true"].notna().all()
    assert found.correlations["pearson"].isna().all()
    assert found.correlations["n_undefined"].eq(300).all()
    assert (found.ari, found.homogeneity) == (0, 0)


def test_what_does_not_fit_is_named():
    similarity, rng = blocks(TRUE), np.random.default_rng(1)
    ask = {"k_range": (2, 8), "bandwidth": 0.1, "n_draws": 10, "rng": rng, "n_null": 0}
    with pytest.raises(SchemaError, match="Item 'item 0' has no domain"):
        redundant_qa(similarity, TRUE.drop("item 0"), PROFILES, **ask)
    with pytest.raises(SchemaError, match="Domain 'music' has items or accuracies, not both"):
        redundant_qa(similarity, TRUE, PROFILES.drop(columns="music"), **ask)
    with pytest.raises(SchemaError, match="Domain 'art' has items or accuracies, not both"):
        redundant_qa(similarity, TRUE, PROFILES.assign(art=0.5), **ask)
    with pytest.raises(SchemaError, match="2 profiles, 10 draws"):
        redundant_qa(similarity, TRUE, PROFILES.iloc[:2], **ask)
    with pytest.raises(SchemaError, match="80 profiles, 0 draws"):
        redundant_qa(similarity, TRUE, PROFILES, **{**ask, "n_draws": 0})
