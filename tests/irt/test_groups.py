"""Grouped respondents: groups are told apart, dependence shows, and none is seen where there is none."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from benchtrust import irt
from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.irt import (
    group_abilities,
    group_agreement,
    held_out_tests,
    residual_correlations,
    robust_errors,
    simulate,
)
from benchtrust.irt.estimation import FLAT
from benchtrust.irt.groups import _slopes

pytestmark = pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning")
MODEL, CELL = ["model"], ["model", "configuration"]


def rng(seed=0):
    return np.random.default_rng(seed)


def items(n, seed=0):
    draws = rng(seed)
    labels = pd.Index([f"i{j}" for j in range(n)], name="item_id")
    return pd.DataFrame({"a": np.exp(draws.normal(0, 0.3, n)), "b": draws.normal(0, 1, n)}, labels)


def answers(means, sds, n_each, bank, seed=1):
    """Respondents of several models, abilities N(mean, sd²) in each."""
    draws = rng(seed)
    names = [(f"m{k}", c) for k in range(len(means)) for c in range(n_each)]
    theta = np.concatenate([draws.normal(m, s, n_each) for m, s in zip(means, sds, strict=True)])
    index = pd.MultiIndex.from_tuples(names, names=CELL)
    return simulate(pd.Series(theta, index), bank, draws)


@pytest.fixture(scope="module")
def tripled():
    """60 independent respondents, each three times: three decodings that say the same."""
    once = answers([0, 0], [1, 1], 30, items(20)).reset_index(drop=True)
    names = [(f"m{i}", c) for c in range(3) for i in range(len(once))]
    return pd.concat([once] * 3).set_axis(pd.MultiIndex.from_tuples(names, names=CELL))


class TestGroupAbilities:
    def test_finds_the_distribution_of_each_group_without_the_error_of_abilities(self):
        bank = items(25)
        found = group_abilities(answers([-0.8, 0.7], [0.3, 0.9], 700, bank), bank, MODEL)
        assert found["mean"].to_numpy() == pytest.approx([-0.8, 0.7], abs=0.1)
        assert found["sd"].to_numpy() == pytest.approx([0.3, 0.9], abs=0.1)
        assert found["n"].tolist() == [700, 700]

    def test_one_group_with_all_respondents_is_the_prior_of_the_calibration(self):
        matrix = answers([0.5], [2.0], 400, items(25))
        found = group_abilities(matrix, irt.calibrate(matrix, priors=None).items, MODEL)
        assert found.loc["m0", ["mean", "sd"]].tolist() == pytest.approx([0, 1], abs=2e-3)

    def test_equal_abilities_reach_the_least_spread(self):
        bank = items(10)
        same = simulate(np.zeros(1), bank, rng(3)).loc[[0] * 50]
        same.index = pd.MultiIndex.from_product([["m0"], range(50)], names=CELL)
        assert group_abilities(same, bank, MODEL).loc["m0", "sd"] == pytest.approx(0.05)

    def test_missing_answers_say_nothing(self):
        bank = items(25)
        matrix = answers([0.0], [1.0], 1500, bank)
        thinned = matrix.mask(rng(4).random(matrix.shape) < 0.4)
        thinned.iloc[0] = np.nan
        found = group_abilities(thinned, bank, MODEL)
        assert found.loc["m0", ["mean", "sd"]].tolist() == pytest.approx([0, 1], abs=0.08)
        assert found.loc["m0", "n"] == 1499

    def test_a_silent_group_and_an_unknown_level_are_refused(self):
        bank = items(5)
        matrix = answers([0.0, 0.0], [1.0, 1.0], 4, bank)
        with pytest.raises(UnknownNameError, match=r"Unknown level .* 'modle'\. Did you mean model"):
            group_abilities(matrix, bank, ["modle"])
        matrix.loc["m1"] = np.nan
        with pytest.raises(SchemaError, match="4 respondents has no answer"):
            group_abilities(matrix, bank, MODEL)


class TestResidualCorrelations:
    def test_independent_respondents_hang_together_by_nothing(self):
        bank = items(60)
        matrix = answers([-1, 1], [0.5, 0.5], 40, bank)
        found = residual_correlations(matrix, bank).to_numpy()
        off = found[~np.eye(len(found), dtype=bool)]
        assert off.mean() == pytest.approx(0, abs=0.02)
        assert off.std() == pytest.approx(1 / np.sqrt(60), rel=0.2)

    def test_copies_correlate_fully(self, tripled):
        found = residual_correlations(tripled, irt.calibrate(tripled).items)
        assert found.loc[("m4", 0), ("m4", 2)] == pytest.approx(1)
        assert np.diag(found) == pytest.approx(1)

    def test_is_the_correlation_over_common_items(self):
        bank = items(12)
        matrix = answers([0, 0], [1, 1], 3, bank)
        matrix.iloc[0, :4] = np.nan
        matrix.iloc[1, 2:] = np.nan
        found = residual_correlations(matrix, bank)
        theta = irt.ability(matrix, bank)["theta"].to_numpy()
        left = (
            matrix - irt.probability(theta[:, None], bank["a"].to_numpy(), bank["b"].to_numpy())
        ).to_numpy()
        assert found.iloc[0, 3] == pytest.approx(np.corrcoef(left[0, 4:], left[3, 4:])[0, 1])
        assert np.isnan(found.iloc[0, 1])


class TestRobustErrors:
    def test_its_information_is_that_of_the_calibration(self):
        matrix = answers([0, 0], [1, 1], 60, items(12))
        matrix = matrix.mask(rng(4).random(matrix.shape) < 0.2)
        fit = irt.calibrate(matrix)
        a, b = fit.items[["a", "b"]].to_numpy().T
        _, information = _slopes(matrix.to_numpy(), a, b, fit.priors)
        ll, ld, dd = (
            np.linalg.inv(information)[k:, m:].diagonal()[:12] for k, m in ((0, 0), (0, 12), (12, 12))
        )
        assert fit.items["se_a"].to_numpy() == pytest.approx(a * np.sqrt(ll), rel=1e-4)
        errors = np.sqrt(b**2 * ll + 2 * b * ld / a + dd / a**2)
        assert fit.items["se_b"].to_numpy() == pytest.approx(errors, rel=1e-4)

    def test_without_priors_the_slopes_sum_to_nothing(self):
        matrix = answers([0.5], [1.5], 400, items(8))
        fit = irt.calibrate(matrix, priors=None, tolerance=1e-9)
        a, b = fit.items[["a", "b"]].to_numpy().T
        slopes, _ = _slopes(matrix.to_numpy(), a, b, FLAT)
        assert np.abs(slopes.sum(axis=0)).max() < 1e-5

    def test_copies_are_as_many_respondents_as_there_are_originals(self, tripled):
        fit = irt.calibrate(tripled)
        alone, whole = (robust_errors(tripled, fit, by) for by in (CELL, MODEL))
        ratio = (whole / alone) ** 2 * (180 / 179) / (60 / 59)
        assert ratio.to_numpy() == pytest.approx(3)

    def test_is_the_error_of_the_calibration_where_the_model_holds(self):
        matrix = answers([0, 0], [1, 1], 1500, items(15))
        fit = irt.calibrate(matrix)
        ratio = robust_errors(matrix, fit, CELL) / fit.items[["se_a", "se_b"]]
        assert ratio.to_numpy() == pytest.approx(1, abs=0.15)
        assert ratio.mean().to_numpy() == pytest.approx(1, abs=0.03)

    def test_is_what_leaving_groups_out_gives(self):
        matrix = answers([0.0] * 40, [0.5] * 40, 8, items(8))
        fit = irt.calibrate(matrix)
        moved = {m: irt.calibrate(matrix.drop(m, level="model")).items["b"] for m in matrix.index.levels[0]}
        jackknife = np.sqrt(39**2 / 40 * pd.DataFrame(moved).var(axis=1))
        ratio = robust_errors(matrix, fit, MODEL)["se_b"] / jackknife
        assert ratio.median() == pytest.approx(1, abs=0.1)

    def test_a_single_group_is_refused(self):
        matrix = answers([0], [1], 20, items(6))
        with pytest.raises(SchemaError, match="single group"):
            robust_errors(matrix, irt.calibrate(matrix), MODEL)


class TestHeldOut:
    def test_a_held_out_model_is_tested_with_items_that_have_not_seen_it(self):
        matrix = answers([-1, 0, 1], [0.8] * 3, 40, items(20))
        found = held_out_tests(matrix, MODEL, 20)
        train = matrix.drop("m1", level="model")
        calibration = irt.calibrate(train)
        one = irt.adaptive_test(
            matrix.loc[["m1"]], calibration.items, 20, calibration.abilities["theta"].mean()
        )
        pd.testing.assert_frame_equal(found.theta.loc[["m1"]], one.theta, check_names=False)
        assert found.n_calibrations == 3
        assert found.theta.index.equals(matrix.index)

    def test_answers_of_the_held_out_do_not_move_its_items(self):
        matrix = answers([-1, 0, 1], [0.8] * 3, 40, items(20))
        turned = matrix.copy()
        turned.loc["m1"] = 1 - matrix.loc["m1"].to_numpy()
        one, two = (held_out_tests(own, MODEL, 1) for own in (matrix, turned))
        first = irt.calibrate(matrix.drop("m1", level="model"))
        asked = irt.adaptive_test(turned.loc[["m1"]], first.items, 1, first.abilities["theta"].mean())
        assert two.theta.loc[["m1"], 1].to_numpy() == pytest.approx(asked.theta[1].to_numpy())
        assert not np.allclose(one.theta.loc[["m0"], 1], two.theta.loc[["m0"], 1])

    def test_the_expected_score_is_that_of_all_items(self):
        matrix = answers([-0.5, 0.5], [0.8] * 2, 150, items(25))
        matrix["i0"] = 1.0
        index = matrix.index.to_frame(index=False).assign(tenth=np.arange(300) % 10)
        matrix.index = pd.MultiIndex.from_frame(index)
        found = held_out_tests(matrix, ["tenth"], 24)
        assert list(found.score.columns) == list(range(1, 25))
        assert (found.score[24] - matrix.mean(axis=1)).abs().mean() < 0.05
        assert found.score[24].mean() == pytest.approx(matrix.mean().mean(), abs=0.02)

    def test_a_single_group_is_refused(self):
        with pytest.raises(SchemaError, match="single group"):
            held_out_tests(answers([0], [1], 20, items(6)), MODEL, 5)


class TestGroupAgreement:
    def test_is_the_rank_correlation_within_each_group(self):
        matrix = answers([-1, 1], [1, 1], 12, items(9))
        truth = matrix.mean(axis=1)
        found = group_agreement(matrix.cumsum(axis=1), truth, MODEL)
        expected = [spearmanr(matrix.cumsum(axis=1).loc[m, "i4"], truth.loc[m])[0] for m in ("m0", "m1")]
        assert found["i4"].to_numpy() == pytest.approx(expected)
        assert found["i8"].to_numpy() == pytest.approx(1)

    def test_scales_of_the_groups_do_not_matter_and_ties_are_undefined(self):
        truth = answers([0, 0], [1, 1], 12, items(9)).mean(axis=1)
        estimates = pd.DataFrame(
            {1: truth.where(truth.index.get_level_values(0) == "m0", 5 - 3 * truth), 2: 1.0}
        )
        found = group_agreement(estimates, truth, MODEL)
        assert found[1].to_numpy() == pytest.approx([1, -1])
        assert found[2].isna().all()

    def test_other_respondents_are_refused(self):
        matrix = answers([0, 0], [1, 1], 4, items(9))
        with pytest.raises(SchemaError, match="another order"):
            group_agreement(matrix, matrix.mean(axis=1)[::-1], MODEL)
