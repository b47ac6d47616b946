"""Figures on packages: what is drawn are the table's numbers."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from benchtrust import plots
from benchtrust.plots import packages as figures

mpl.use("Agg")

PATH = pd.DataFrame(
    {
        "name": ["our harness", "chat: off", "candidate: letter"],
        "score": [0.5, 0.25, 0.35],
        "change": [np.nan, -0.25, 0.1],
        "low": [np.nan, -0.4, -0.05],
        "high": [np.nan, -0.1, 0.2],
    }
)
SPREAD = pd.DataFrame(
    {
        "benchmark": "bbq",
        "package": ["our harness", "HELM"],
        "score": [0.4, 0.6],
        "difference": [np.nan, 0.2],
        "low": [np.nan, 0.1],
        "high": [np.nan, 0.3],
    }
)


@pytest.fixture(autouse=True)
def _style():
    with plots.style():
        yield
    mpl.pyplot.close("all")


def lines(ax) -> list[tuple[list[float], list[float]]]:
    return [(list(map(float, line.get_xdata())), list(map(float, line.get_ydata()))) for line in ax.lines]


def test_bars_go_from_the_score_before_to_the_steps_own():
    ax = figures.path_waterfall({"to a package": PATH}, {"to a package": 0.3}).axes[0]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert [x for pair in ends for x in sorted(pair)] == pytest.approx([0.25, 0.5, 0.25, 0.35])
    drawn = lines(ax)
    assert any(x == pytest.approx([0.1, 0.4]) and y == [1, 1] for x, y in drawn)
    assert any(x == pytest.approx([0.2, 0.45]) and y == [2, 2] for x, y in drawn)
    assert any(x == pytest.approx([0.3, 0.3]) for x, _ in drawn)
    said = {text.get_text() for text in ax.texts}
    assert {"0.50", "−0.25", "+0.10", "0.35", "chance"} <= said
    assert [label.get_text() for label in ax.get_yticklabels()] == list(PATH["name"])


def test_intervals_of_the_spread_lie_about_our_score():
    ax = figures.package_spread(SPREAD, {"bbq": "BBQ"}).axes[0]
    drawn = lines(ax)
    assert any(x == pytest.approx([0.5, 0.7]) and y == [1, 1] for x, y in drawn)
    assert any(x == pytest.approx([0.6]) and y == [1] for x, y in drawn)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["our harness", "HELM"]
