"""Q3, eigenvalues and person fit: against plain formulas, and with dependence and odd respondents put in."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from benchtrust.errors import SchemaError
from benchtrust.irt import ability, eigenvalues, person_fit, q3, residuals, simulate


def rng(seed=0):
    return np.random.default_rng(seed)


# ---------------------------------------------------------------- Q3


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_q3_is_the_correlation_of_residuals(bank, missing):
    made = bank(1, 300, 12, missing=missing)
    theta = ability(made.matrix, made.items)["theta"].to_numpy()[:, None]
    left = made.matrix - expit(made.items["a"].to_numpy() * (theta - made.items["b"].to_numpy()))
    pd.testing.assert_frame_equal(residuals(made.matrix, made.items), left)
    found = q3(made.matrix, made.items)
    wanted = left.corr().where(~np.eye(12, dtype=bool))
    np.testing.assert_allclose(found.q3, wanted.where(found.q3.notna()), atol=1e-12)
    assert found.n_not_estimable < 20


def test_one_ability_leaves_a_slightly_negative_mean(bank):
    """−1 / (J − 1) where J residuals sum to nothing, a little more where ability shrinks to 0."""
    made = bank(2, 3000, 60, spread=0.1)
    assert q3(made.matrix, made.items).mean == pytest.approx(-1 / 59, abs=0.004)


def test_two_items_that_share_more_than_ability_stand_out(bank):
    made = bank(3, 400, 20)
    twin = np.where(rng(1).random(400) < 0.7, made.matrix["i4"], made.matrix["i7"])
    found = q3(made.matrix.assign(i7=twin), made.items.assign(b=0.0))
    first = found.largest(3).iloc[0]
    assert {first["item_a"], first["item_b"]} == {"i4", "i7"}
    assert first["q3"] > 0.5
    assert first["excess"] == found.excess == first["q3"] - found.mean


def test_pairs_of_rare_answers_are_not_estimable_and_counted(bank):
    """Two easy items that the same single model fails correlate by 1, which says nothing."""
    made = bank(4, 77, 10)
    easy = made.items.assign(b=made.items["b"].where(~made.items.index.isin(["i1", "i2"]), -6.0))
    answers = made.matrix.assign(i1=1.0, i2=1.0)
    answers.loc["m5", ["i1", "i2"]] = 0.0
    found = q3(answers, easy)
    assert np.isnan(found.q3.loc["i1", "i2"])
    assert found.n_pairs == 45
    assert found.n_not_estimable == found.q3.isna().to_numpy()[np.triu_indices(10, 1)].sum() >= 1
    assert len(found.largest(100)) == 45 - found.n_not_estimable


def test_nothing_estimable_is_said_so(bank):
    made = bank(5, 6, 4)
    found = q3(made.matrix, made.items.assign(b=-9.0))
    assert found.n_not_estimable == found.n_pairs == 6
    assert np.isnan(found.mean)
    assert np.isnan(found.excess)
    assert found.largest(5).empty


# ---------------------------------------------------------------- eigenvalues


@pytest.mark.parametrize(("n", "n_items"), [(200, 12), (20, 50)])
def test_eigenvalues_are_those_of_the_correlations(bank, n, n_items):
    answers = bank(6, n, n_items).matrix.assign(constant=1.0)
    varying = answers.loc[:, answers.nunique() > 1]
    found = eigenvalues(answers)
    by_hand = np.linalg.eigvalsh(np.corrcoef(varying.to_numpy().T))[::-1] / varying.shape[1]
    np.testing.assert_allclose(found, by_hand[: len(found)], atol=1e-12)
    assert len(found) == min(n - 1, varying.shape[1])
    assert found.sum() == pytest.approx(1)


def test_eigenvalues_want_complete_answers_that_vary(bank):
    answers = bank(7, 10, 5).matrix
    with pytest.raises(SchemaError, match="vary"):
        eigenvalues(answers * 0)
    answers.loc["m1", ["i1", "i2"]] = np.nan
    with pytest.raises(SchemaError, match="2 values are missing"):
        eigenvalues(answers)


# ---------------------------------------------------------------- persons


def test_the_correction_is_that_of_snijders(bank):
    """His equation with r_0 = −θ, the slope of the log prior, written out for one respondent at a time."""
    made = bank(8, 30, 25, missing=0.2)
    found = person_fit(made.matrix, made.items)
    for name, answers in made.matrix.iterrows():
        own = answers.dropna()
        a, b = made.items.loc[own.index].to_numpy().T
        theta = ability(made.matrix.loc[[name]], made.items)["theta"].iloc[0]
        p = expit(a * (theta - b))
        slope, w = a * p * (1 - p), np.log(p / (1 - p))
        r = slope / (p * (1 - p))
        c = (slope * w).sum() / (slope * r).sum()
        centred = ((own - p) * w).sum() + c * -theta
        spread = np.sqrt(((w - c * r) ** 2 * p * (1 - p)).sum())
        assert found.loc[name, "l_z_star"] == pytest.approx(centred / spread, abs=1e-7)
        log_likelihood = np.log(np.where(own == 1, p, 1 - p)).sum()
        expected = (p * np.log(p) + (1 - p) * np.log(1 - p)).sum()
        l_z = (log_likelihood - expected) / np.sqrt((p * (1 - p) * w**2).sum())
        assert found.loc[name, "l_z"] == pytest.approx(l_z, abs=1e-9)


def test_l_z_star_is_standard_normal_where_l_z_is_too_narrow(bank):
    made = bank(9, 2, 60)
    theta = rng(2).standard_normal(4000)
    found = person_fit(simulate(theta, made.items, rng(3)), made.items)
    assert found["l_z_star"].std() == pytest.approx(1, abs=0.05)
    assert found["l_z_star"].mean() == pytest.approx(0, abs=0.08)
    assert found["l_z"].std() < found["l_z_star"].std() - 0.03
    assert 0.03 < (found["p"] < 0.05).mean() < 0.075


def test_right_on_hard_and_wrong_on_easy_items_is_found(bank):
    items = bank(10, 2, 40).items.sort_values("b")
    ordered = np.repeat([1.0, 0.0], 20)
    answers = pd.DataFrame([ordered, ordered[::-1]], ["as it should be", "upside down"], items.index)
    found = person_fit(answers, items)
    assert found.loc["as it should be", "l_z_star"] > 1
    assert found.loc["upside down", "p"] < 1e-6


def test_a_respondent_without_answers_has_no_fit(bank):
    made = bank(11, 5, 8)
    made.matrix.loc["m2"] = np.nan
    found = person_fit(made.matrix, made.items)
    assert found.loc["m2"].isna().all()
    assert found.drop("m2").notna().all(axis=None)
