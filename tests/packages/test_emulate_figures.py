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
    assert {"0.50", "−0.25", "+0.10 → 0.35", "chance"} <= said
    assert [label.get_text() for label in ax.get_yticklabels()] == list(PATH["name"])


def test_the_baseline_stands_in_the_rows_of_its_packages():
    known = SPREAD.assign(score=[0.3, 0.7])[::-1]
    ax = figures.package_spread(SPREAD, {"bbq": "BBQ"}, None, known).axes[0]
    marks = [(x, y) for x, y in lines(ax) if len(x) == 1]
    assert sorted(marks) == [([0.3], [0]), ([0.4], [0]), ([0.6], [1]), ([0.7], [1])]


def test_items_that_more_packages_have_right_stand_on_the_left():
    rows = [("A", "i0", 0, "scored"), ("A", "i1", 1, "scored"), ("A", "i2", 0, "unparsed")]
    rows += [("B", "i0", 1, "scored"), ("B", "i1", 1, "scored"), ("B", "i2", 0, "scored")]
    found = pd.DataFrame(rows, columns=["package", "item_id", "score", "outcome"]).assign(benchmark="bbq")
    ax = figures.item_matrix(found, {"bbq": "BBQ"}).axes[0]
    assert np.asarray(ax.collections[0].get_array()).reshape(2, 3).tolist() == [[1, 0, 0], [1, 1, 0]]
    assert lines(ax) == [([2.5], [0.5])]


def test_intervals_of_the_spread_lie_about_our_score():
    ax = figures.package_spread(SPREAD, {"bbq": "BBQ"}).axes[0]
    drawn = lines(ax)
    assert any(x == pytest.approx([0.5, 0.7]) and y == [1, 1] for x, y in drawn)
    assert any(x == pytest.approx([0.6]) and y == [1] for x, y in drawn)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["our harness", "HELM"]
