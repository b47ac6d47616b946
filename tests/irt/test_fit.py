"""Fit by parametric bootstrap: quiet where the 2PL holds, loud where it does not."""

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.irt import calibrate, fit_bootstrap, part_agreement, person_fit, q3, s_x2, simulate
from benchtrust.irt.fit import STATISTICS, _p_values

pytestmark = pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning")


def rng(seed=0):
    return np.random.default_rng(seed)


def run(answers, n_draws=19, seed=1):
    return fit_bootstrap(answers, calibrate(answers), n_draws, rng(seed))


@pytest.mark.parametrize(
    ("tail", "p"), [("upper", [4 / 5, 1 / 5, 5 / 5, np.nan]), ("lower", [3 / 5, 5 / 5, 2 / 5, np.nan])]
)
def test_p_counts_draws_at_least_as_extreme(tail, p):
    draws = np.array([3.0, 2.0, np.nan, 4.0, 1.0])
    np.testing.assert_allclose(_p_values(np.array([2.0, 5.0, 1.0, np.nan]), draws, tail), p)
    assert np.isnan(_p_values(np.array([2.0]), np.array([np.nan]), tail)).all()


def test_quiet_where_one_ability_explains_all(bank):
    """Six banks: no statistic is significant at .05 in more than two of them."""
    small = [run(bank(seed, 50, 25).matrix, seed=seed).table.set_index("statistic")["p"] for seed in range(6)]
    p = pd.DataFrame(small)
    assert list(p) == list(STATISTICS)
    assert ((p <= 0.05).sum() <= 2).all()
    assert p.mean().between(0.2, 0.8).all()


def test_two_abilities_are_found(bank):
    made = bank(20, 77, 60, spread=0.2)
    theta = rng(21).standard_normal((2, 77))
    halves = [made.items.iloc[:30], made.items.iloc[30:]]
    answers = [
        simulate(pd.Series(own, made.matrix.index), part, rng(22 + i))
        for i, (own, part) in enumerate(zip(theta, halves, strict=True))
    ]
    found = run(pd.concat(answers, axis=1))
    p = found.table.set_index("statistic")["p"]
    assert (p[["eigenvalue_ratio", "residual_eigenvalue"]] == 1 / 20).all()
    assert found.eigenvalues.loc[1, "observed"] > found.eigenvalues.loc[1, "high"]
    pairs = found.largest_pairs(20)
    same = pairs["item_a"].isin(halves[0].index) == pairs["item_b"].isin(halves[0].index)
    assert same.mean() >= 0.8


def test_a_copied_item_and_an_upside_down_respondent_are_named(bank):
    answers = bank(30, 77, 40, spread=0.2).matrix
    middling = (answers.mean() - 0.5).abs().nsmallest(2).index
    answers[middling[1]] = answers[middling[0]]
    answers.loc["m7"] = 1 - (answers.drop("m7").mean() > 0.5)
    found = run(answers)
    first = found.largest_pairs(3).iloc[0]
    assert {first["item_a"], first["item_b"]} == set(middling)
    assert first["p"] == 1 / 20
    assert found.persons["p_smallest"].idxmin() == "m7"
    assert found.persons.loc["m7", "p_smallest"] == 1 / 20
    assert (found.persons.drop("m7")["p_smallest"] > 0.05).mean() > 0.9


def test_what_is_observed_is_what_the_single_statistics_say(bank):
    answers = bank(40, 60, 30).matrix
    fitted = calibrate(answers)
    found = fit_bootstrap(answers, fitted, 3, rng(2))
    observed = found.table.set_index("statistic")["observed"]
    own = s_x2(answers[fitted.items.index], fitted.items, 5)
    assert observed["s_x2"] == pytest.approx((own["s_x2"] / own["df"]).mean())
    assert observed["q3"] == q3(answers, fitted.items).excess
    assert observed["l_z_star"] == person_fit(answers, fitted.items)["l_z_star"].min()
    ratio = found.eigenvalues["observed"]
    assert observed["eigenvalue_ratio"] == pytest.approx(ratio[0] / ratio[1])
    assert found.items["p"].isna().equals(own["s_x2"].isna() | (found.items["n_draws"] == 0))
    assert found.n_not_converged == 0


@pytest.mark.parametrize("n_abilities", [1, 2])
def test_parts_that_measure_different_abilities_disagree(bank, n_abilities):
    made = bank(45, 77, 60, spread=0.2)
    theta = pd.DataFrame(rng(46).standard_normal((77, n_abilities)), made.matrix.index)
    parts = [made.items.index[:25], made.items.index[25:]]
    answers = pd.concat(
        [simulate(theta.iloc[:, -i], made.items.loc[own], rng(47 + i)) for i, own in enumerate(parts)], axis=1
    )
    found = part_agreement(answers, calibrate(answers), parts[0], 19, rng(49))
    assert (found.p <= 0.05) == (n_abilities == 2)
    assert found.draws.mean() > 0.55
    assert (found.observed < 0.5) == (n_abilities == 2)
    by_hand = [calibrate(answers[own]).abilities["theta"] for own in parts]
    assert found.observed == pytest.approx(by_hand[0].corr(by_hand[1], method="spearman"))
    with pytest.raises(SchemaError, match="'i999'"):
        part_agreement(answers, calibrate(answers), ["i1", "i999"], 2, rng())


def test_missing_answers_leave_q3_alone(bank):
    answers = bank(50, 60, 15, missing=0.3).matrix
    found = run(answers, n_draws=5)
    assert found.table["statistic"].tolist() == ["q3"]
    assert found.table["p"].between(1 / 6, 1).all()
    assert found.eigenvalues.empty
    assert found.persons["p_smallest"].isna().all()
    assert found.largest_pairs(4)["p"].notna().all()


def test_equal_seeds_give_equal_draws(bank):
    answers = bank(60, 30, 12).matrix
    pd.testing.assert_frame_equal(run(answers, 4, 3).table, run(answers, 4, 3).table)


def test_bad_input_is_refused(bank):
    answers = bank(70, 30, 12).matrix
    with pytest.raises(SchemaError, match="0 draws"):
        run(answers, 0)
    with pytest.raises(SchemaError, match="other respondents"):
        fit_bootstrap(answers.iloc[:20], calibrate(answers), 2, rng())
