"""Figures of the page on the index."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MODEL_COLORS, PAPER, SPARE_COLORS, WIDTH, label_lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _ORANGE = MODEL_COLORS["Qwen2.5-Coder-0.5B-Instruct"], MODEL_COLORS["SmolLM2-135M-Instruct"]


def harmony_cases(cases: "pd.DataFrame") -> "Figure":
    """Accuracies of clusters as wide as their shares, and below the axis their performance masses, by case.

    Parameters
    ----------
    cases : a row a cluster: case, accuracy, size, mass, mean (μ), harmony, at_uniform.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(cases["case"]))
    n_rows = -(-len(names) // 3)
    fig, grid = plt.subplots(n_rows, 3, sharey=True, figsize=(WIDTH, 0.5 + 2.15 * n_rows), squeeze=False)
    for ax in grid.flat[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(grid.flat, names, strict=False):
        own = cases[cases["case"] == name]
        shares = (own["size"] / own["size"].sum()).to_numpy()
        _bars(ax, shares, own["accuracy"].to_numpy(), 0, _BLUE)
        _bars(ax, own["mass"].to_numpy(), np.full(len(own), 0.14), -0.26, _ORANGE)
        ax.axhline(own["mean"].iloc[0], color=INK, linewidth=1.1, linestyle=(0, (4, 3)))
        first = own.iloc[0]
        words = f"{name}\nH = {first['harmony']:.2f}; even: {first['at_uniform']:.2f}"
        ax.set_title(words, fontsize=9.5)
        ax.set(xlim=(0, 1), ylim=(-0.3, 1.02), xticks=[], yticks=[-0.19, 0, 0.5, 1])
        ax.set_yticklabels(["p", "0", ".5", "1"])
        ax.grid(visible=False, axis="x")
    for ax in grid[:, 0]:
        ax.set_ylabel("accuracy Ψ")
    return fig


def _bars(ax: "Axes", widths: np.ndarray, heights: np.ndarray, foot: float, color: str) -> None:
    """Bars side by side over the whole width."""
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    ax.bar(starts, heights, widths, foot, align="edge", color=color, edgecolor=PAPER, linewidth=1.2)


def spread_measures(curves: "pd.DataFrame", words: Mapping[str, str]) -> "Figure":
    """Measures of spread against the gap between clusters, a panel per way in which they come apart.

    Parameters
    ----------
    curves : columns case, gap, and a column a measure, in [0, 1].
    words : measure → its name at the line.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(curves["case"]))
    fig, axes = plt.subplots(1, len(names), sharey=True, figsize=(WIDTH, 3.2))
    lines = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))
    looks = dict(zip(words, zip((_BLUE, _ORANGE, *SPARE_COLORS), lines, strict=False), strict=True))
    for ax, name in zip(axes, names, strict=True):
        own = curves[curves["case"] == name]
        for measure, (color, line) in looks.items():
            ax.plot(own["gap"], own[measure], color=color, linestyle=line)
        ax.set_title(name, fontsize=10)
        ax.set(xlabel="gap of accuracies", xlim=(0, own["gap"].max()), ylim=(-0.03, 1.03))
    last = curves[curves["case"] == names[-1]].iloc[-1]
    ends = {words[measure]: (last["gap"], last[measure]) for measure in words}
    colors = {words[measure]: color for measure, (color, _) in looks.items()}
    label_lines(axes[-1], ends, colors, gap=0.075)
    axes[0].set_ylabel("value of the measure")
    return fig
