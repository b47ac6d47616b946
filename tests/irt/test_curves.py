"""The two curves of the 2PL, far out where a careless form loses its digits."""

import numpy as np
import pytest

from benchtrust.irt import information, probability


@pytest.mark.parametrize("distance", [0.5, 5.0, 30.0, 36.0, 100.0])
def test_information_is_the_same_on_either_side_of_the_difficulty(distance):
    """P(1 - P) is even in θ - b; with 1 - P taken from P it is off by a hundredth at 32 and zero at 37."""
    ahead, behind = information(np.array([distance, -distance]), 1.3, 0.0)
    assert ahead == pytest.approx(behind, rel=1e-12)
    assert ahead > 0


def test_information_is_the_slope_of_the_curve_times_the_discrimination():
    theta, a, b, step = np.linspace(-4, 4, 9), 1.7, 0.4, 1e-6
    slope = (probability(theta + step, a, b) - probability(theta - step, a, b)) / (2 * step)
    assert information(theta, a, b) == pytest.approx(a * slope, rel=1e-6)
