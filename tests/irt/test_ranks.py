"""The rank correlation of the part: scipy's, with missing numbers, rounding and constants told apart."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchtrust.irt.ranks import spearman


def test_pairs_that_lack_a_number_are_left_out():
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 6, (2, 40)).astype(float)
    first[3], second[[3, 8]] = np.nan, np.nan
    expected = spearmanr(first, second, nan_policy="omit").statistic
    assert spearman(first, second) == pytest.approx(expected)


def test_sums_in_another_order_tie():
    assert spearman([0.1 + 0.2, 0.3, 1.0, 2.0], [1, 2, 3, 4]) == pytest.approx(
        spearman([0, 0, 1, 2], [1, 2, 3, 4])
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2], [2, 1]),
        ([1, 2, np.nan], [2, 1, 3]),
        ([1, 1, 1], [1, 2, 3]),
        ([1, 2, 2, 2], [np.nan, 1, 2, 3]),
    ],
)
def test_fewer_than_three_numbers_and_constants_say_nothing(first, second):
    assert np.isnan(spearman(first, second))
