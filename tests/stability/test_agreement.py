"""Rank agreement against scipy, the identity of τ_R with ρ, and undefined pairs."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau

from benchtrust.errors import SchemaError
from benchtrust.stability import agreement_from_rates, flip_rates, rank_agreement

quick = settings(max_examples=60, deadline=None)
with_ties = arrays(
    float, st.tuples(st.integers(2, 7), st.integers(2, 5)), elements=st.sampled_from([0.0, 0.5, 1.0, np.nan])
)


@quick
@given(with_ties)
def test_mean_tau_b_equals_scipy_pair_by_pair(scores):
    taus = [
        np.nan if np.isnan(x + y).any() else kendalltau(x, y, variant="b").statistic
        for x, y in combinations(scores, 2)
    ]
    agreement = rank_agreement(scores)
    assert agreement.n_pairs == len(taus)
    assert agreement.n_undefined == np.isnan(taus).sum()
    if agreement.n_undefined < agreement.n_pairs:
        assert agreement.tau == pytest.approx(np.nanmean(taus), abs=1e-12)
    else:
        assert np.isnan(agreement.tau)


@quick
@given(st.integers(2, 12), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_identity_of_tau_r_with_the_flip_rates(n_configurations, n_models, seed):
    scores = np.random.default_rng(seed).random((n_configurations, n_models))
    rates = flip_rates(scores)
    assert (rates["n_tie"] == 0).all()
    by_pair = (n_configurations * (1 - 2 * rates["rho"]) ** 2 - 1) / (n_configurations - 1)
    assert agreement_from_rates(rates) == pytest.approx(by_pair.mean(), abs=1e-15)
    assert rank_agreement(scores).tau == pytest.approx(by_pair.mean(), abs=1e-12)


@pytest.mark.parametrize(
    "scores", [[[0.5, 0.5, 0.1], [0.1, 0.5, 0.9]], [[0.1, 0.2]], [[0.1, np.nan], [0.2, 0.1]]]
)
def test_flip_rates_do_not_determine_agreement_with_ties_gaps_or_one_configuration(scores):
    assert np.isnan(agreement_from_rates(flip_rates(np.array(scores))))


def test_constant_and_missing_rankings_are_counted_not_averaged():
    scores = np.array([[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.5, 0.5, 0.5], [0.3, np.nan, 0.1]])
    agreement = rank_agreement(scores)
    assert (agreement.tau, agreement.n_pairs, agreement.n_undefined) == (1.0, 6, 5)


def test_near_equal_floats_are_ties():
    exact = rank_agreement(np.array([[0.3, 0.3, 0.1], [0.1, 0.2, 0.3]]))
    noisy = rank_agreement(np.array([[0.1 + 0.2, 0.3, 0.1], [0.1, 0.2, 0.3]]))
    assert noisy == exact


def test_order_of_rows_and_columns_does_not_matter():
    rng = np.random.default_rng(3)
    scores = pd.DataFrame(rng.integers(0, 4, (12, 4)) / 4, columns=list("ABCD"))
    shuffled = scores.sample(frac=1, random_state=0)[list("CADB")]
    assert rank_agreement(shuffled).tau == pytest.approx(rank_agreement(scores).tau, abs=1e-14)


def test_opposite_rankings_disagree_fully():
    assert rank_agreement(np.array([[1, 2, 3], [3, 2, 1]])).tau == -1.0


def test_one_configuration_is_refused():
    with pytest.raises(SchemaError, match="one configuration"):
        rank_agreement(np.array([[0.1, 0.2]]))
