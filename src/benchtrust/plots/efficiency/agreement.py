"""Figures of the page on agreement and savings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MARKERS, MODEL_COLORS, MUTED, SPARE_COLORS, WIDTH, simulated_tag

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = {
    "adaptive": "adaptive test",
    "adaptive_ml": "adaptive, by ML",
    "total_fisher": "total Fisher",
    "marginal_fisher": "marginal Fisher",
    "marginal_fisher_quartiles": "marginal, quartiles of b",
    "disco": "DISCO",
    "anchor_points": "anchor points",
    "stratified": "stratified random",
    "aipw": "AIPW",
    "random": "random",
}
"""Methods of selection as figures and tables name them."""


def method_look(method: str) -> dict[str, object]:
    """Colour, marker and dashes of a method, the same in every figure."""
    if method == "random":
        return {"color": MUTED, "marker": "", "linestyle": (0, (4, 2))}
    place = [*METHODS].index(method)
    colors = [*MODEL_COLORS.values(), *SPARE_COLORS]
    return {"color": colors[place], "marker": MARKERS[place], "linestyle": "-"}


def agreement_curves(
    curves: "pd.DataFrame",
    limits: Mapping[str, float],
    groups: Sequence[Sequence[str]],
    target: float,
) -> "Figure":
    """Agreement by number of items: a column per benchmark, a row per group of methods, random in each.

    Parameters
    ----------
    curves : columns benchmark, method, size, agreement, agreement_low, agreement_high. The band of the first
        method of a row is drawn.
    limits : benchmark → reliability of the whole by its split halves.
    groups : methods of each row.
    target : agreement to reach.
    """
    import matplotlib.pyplot as plt

    shape = {"squeeze": False, "sharex": "col", "sharey": True}
    fig, axes = plt.subplots(len(groups), len(limits), figsize=(WIDTH, 1.2 + 2.3 * len(groups)), **shape)
    for row, methods in zip(axes, groups, strict=True):
        for ax, (benchmark, limit) in zip(row, limits.items(), strict=True):
            own = curves[curves["benchmark"] == benchmark]
            _method_lines(ax, own, ["random", *methods], "agreement", methods[:1])
            ax.axhline(target, color=INK, linewidth=0.9, label="target")
            ax.axhline(limit, color=INK, linewidth=1.2, linestyle=":", label="split halves")
            ax.set(xscale="log", ylim=(0, 1.03))
        row[0].set_ylabel("agreement (ρ)")
    for ax, benchmark in zip(axes[0], limits, strict=True):
        ax.set_title(benchmark, fontsize=10.5)
    _items_axis(axes[-1])
    _legend(fig, axes[:, 0])
    return fig


def error_curves(curves: "pd.DataFrame", methods: Sequence[str]) -> "Figure":
    """Mean absolute error of the score by number of items, a panel per benchmark.

    Parameters
    ----------
    curves : columns benchmark, method, size, error, error_low, error_high. The band of the first method is
        drawn.
    methods : which to draw.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(curves["benchmark"]))
    fig, axes = plt.subplots(1, len(names), figsize=(WIDTH, 3.5), squeeze=False, sharey=True)
    for ax, benchmark in zip(axes[0], names, strict=True):
        _method_lines(ax, curves[curves["benchmark"] == benchmark], methods, "error", methods[:1])
        ax.set_title(benchmark, fontsize=10.5)
        ax.set(xscale="log")
    axes[0, 0].set(ylabel="mean absolute error", ylim=(0, None))
    _items_axis(axes[0])
    _legend(fig, axes[0, :1])
    return fig


def spread_savings(simulated: "pd.DataFrame", measured: "pd.DataFrame") -> "Figure":
    """Share of items saved by the coefficient of variation of the discriminations.

    Parameters
    ----------
    simulated : columns method, cv, saved: banks that differ in spread alone, as lines.
    measured : columns benchmark, cv, saved, saved_low, saved_high: benchmarks, as points with intervals.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.8))
    for method, own in simulated.groupby("method", sort=False):
        look = method_look(method)
        ax.plot(own["cv"], own["saved"], label=f"{METHODS[method]}, simulated", **look)
    highest = measured["saved_low"].idxmax()
    for one in measured.itertuples():
        ax.plot([one.cv] * 2, [one.saved_low, one.saved_high], color=INK, linewidth=1)
        ax.plot(one.cv, one.saved, "o", color=INK, markersize=6)
        above = one.Index == highest
        end, offset, va = (one.saved_high, 5, "bottom") if above else (one.saved_low, -4, "top")
        place = {"xytext": (0, offset), "textcoords": "offset points", "ha": "center", "va": va}
        ax.annotate(one.benchmark, (one.cv, end), fontsize=9, **place)
    ax.set(xlabel="coefficient of variation of the discriminations", ylabel="share of items saved")
    ax.set_ylim(min(measured["saved_low"].min(), simulated["saved"].min()) - 0.06, 1.11)
    ax.legend(loc="lower right")
    simulated_tag(ax, "lines simulated, points measured")
    return fig


def _method_lines(
    ax: "Axes", own: "pd.DataFrame", methods: Sequence[str], measure: str, banded: Sequence[str]
) -> None:
    for method in methods:
        line, look = own[own["method"] == method], method_look(method)
        ax.plot(line["size"], line[measure], label=METHODS[method], markersize=4, linewidth=1.4, **look)
        if method in banded:
            ends = line[f"{measure}_low"], line[f"{measure}_high"]
            ax.fill_between(line["size"], *ends, color=look["color"], alpha=0.15, linewidth=0)


def _items_axis(axes: np.ndarray) -> None:
    for ax in axes:
        ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"], fontsize=9)
        ax.minorticks_off()
        ax.set_xlim(0.9, 1.15 * ax.dataLim.x1)
        ax.set_xlabel("items asked")


def _legend(fig: "Figure", axes: Sequence["Axes"]) -> None:
    """Names of all lines above the panels, each once."""
    lines = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        lines |= dict(zip(labels, handles, strict=True))
    fig.legend(lines.values(), lines, loc="outside upper left", ncols=3, handlelength=2.2, columnspacing=1.2)
