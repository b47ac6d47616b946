"""Pairs of abilities against their standard errors, and halves of the items against each other."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from benchtrust.errors import SchemaError
from benchtrust.irt import ability, ability_pairs, calibrate, half_agreement, simulate, split_half_reliability

pytestmark = pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning")


def abilities(theta: list[float], se: list[float]) -> pd.DataFrame:
    labels = pd.Index([f"m{i}" for i in range(len(theta))], name="model")
    return pd.DataFrame({"theta": theta, "se": se}, labels, dtype="float64")


# ---------------------------------------------------------------- pairs


def test_a_pair_is_its_gap_over_both_errors():
    found = ability_pairs(abilities([0.0, 1.96 * 0.5, 0.0], [0.3, 0.4, 0.3]))
    assert found[["respondent_a", "respondent_b"]].to_numpy().tolist() == [
        ["m0", "m1"],
        ["m0", "m2"],
        ["m1", "m2"],
    ]
    assert found["gap"].to_numpy() == pytest.approx([-0.98, 0, 0.98])
    assert found["se"].to_numpy() == pytest.approx([0.5, np.hypot(0.3, 0.3), 0.5])
    assert found["p"].to_numpy() == pytest.approx([0.05, 1, 0.05], abs=1e-4)


@pytest.mark.parametrize("method", ["map", "eap"])
def test_p_is_how_often_the_order_is_wrong(bank, method):
    made = bank(seed=5, n_models=400, n_items=40)
    found = ability_pairs(ability(made.matrix, made.items, method))
    truth = made.abilities["theta"]
    gap = truth[found["respondent_a"]].to_numpy() - truth[found["respondent_b"]].to_numpy()
    wrong = np.sign(gap) != np.sign(found["gap"])
    for low, high in ((0, 0.2), (0.2, 0.6), (0.6, 1)):
        near = (found["p"] >= low) & (found["p"] < high)
        assert near.sum() > 5000
        assert wrong[near].mean() == pytest.approx(found["p"][near].mean() / 2, abs=0.025)


@pytest.mark.parametrize("theta", [[0.0], [0.0, np.inf], [0.0, np.nan]])
def test_pairs_of_nothing_are_refused(theta):
    with pytest.raises(SchemaError, match="each with a finite θ"):
        ability_pairs(abilities(theta, [0.1] * len(theta)))


# ---------------------------------------------------------------- halves


def test_scores_agree_as_by_split_half_reliability(bank):
    matrix = bank(seed=1, n_models=40, n_items=30, missing=0.2).matrix
    found = half_agreement(matrix, np.random.default_rng(3), n_draws=4)
    expected = split_half_reliability(matrix, np.random.default_rng(3), n_draws=4)
    assert found["score"].to_numpy() == pytest.approx(expected.halves)


def test_halves_are_calibrated_apart_and_only_those_asked_for_are_correlated(bank):
    matrix = bank(seed=2, n_models=40, n_items=30).matrix
    among = matrix.index[::3]
    found = half_agreement(matrix, np.random.default_rng(4), n_draws=1, among=among).iloc[0]
    order = np.random.default_rng(4).permutation(30)
    first, second = (matrix.iloc[:, np.sort(own)] for own in (order[:15], order[15:]))
    theta = [calibrate(half).abilities.loc[among, "theta"] for half in (first, second)]
    assert found["theta"] == pytest.approx(spearmanr(*theta).statistic)
    assert found["theta_with_score"] == pytest.approx(
        spearmanr(theta[0], second.mean(axis=1)[among]).statistic
    )


def test_where_one_trait_answers_theta_agrees_with_itself_more_than_scores_do():
    rng = np.random.default_rng(8)
    log_a, labels = rng.normal(0, 1, 80), pd.Index([f"i{j}" for j in range(80)], name="item")
    items = pd.DataFrame({"a": np.exp(log_a), "b": rng.normal(0, 1, 80)}, labels)
    theta = pd.Series(rng.standard_normal(500), pd.Index([f"m{i}" for i in range(500)], name="model"))
    found = half_agreement(simulate(theta, items, rng), rng, n_draws=5)
    assert (found["theta"] > found["score"] + 0.01).all()
    assert (found["theta_with_score"] > found["score"]).all()


def test_shuffled_answers_agree_no_more_than_by_chance(bank):
    matrix = bank(seed=3, n_models=60, n_items=40).matrix
    rng = np.random.default_rng(6)
    shuffled = matrix.apply(rng.permutation, axis=0)
    whole, chance = (half_agreement(m, rng, n_draws=10)["theta"].mean() for m in (matrix, shuffled))
    assert whole > 0.7
    assert abs(chance) < 0.2


def test_constant_halves_are_nan_and_not_counted_as_agreement(bank):
    made = bank(seed=4, n_models=30, n_items=20)
    matrix = made.matrix.copy()
    matrix.iloc[:4] = 1.0
    found = half_agreement(matrix, np.random.default_rng(0), n_draws=2, among=matrix.index[:4])
    assert found.isna().all(axis=None)


@pytest.mark.parametrize(
    ("among", "n_draws", "words"),
    [(["m0", "m1", "nobody"], 1, "'nobody'"), (["m0", "m1"], 1, "2 respondents"), (None, 0, "0 draws")],
)
def test_bad_requests_are_named(bank, among, n_draws, words):
    matrix = bank(seed=4, n_models=10, n_items=10).matrix
    with pytest.raises(SchemaError, match=words):
        half_agreement(matrix, np.random.default_rng(0), n_draws=n_draws, among=among)
