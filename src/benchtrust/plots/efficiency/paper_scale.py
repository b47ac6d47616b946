"""Figures of the page on the scale of the paper."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MARKERS, MUTED, SPARE_COLORS, WIDTH, label_lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = tuple(SPARE_COLORS[i] for i in (2, 0, 1, 5, 3))


def bank_curves(
    curves: "pd.DataFrame", limits: Mapping[str, float], titles: Mapping[str, str], target: float
) -> "Figure":
    """Agreement by number of items, a panel per population of banks, a line per method.

    Parameters
    ----------
    curves : columns population, method, size, agreement, low, high: mean over banks, and the band to draw.
    limits : population → agreement of the whole bank with another one like it, drawn as a line.
    titles : method → name in the legend, in its order.
    target : agreement to draw a line at.
    """
    import matplotlib.pyplot as plt

    n_rows = -(-len(limits) // 3)
    size = (WIDTH, 0.9 + 2.6 * n_rows)
    fig, axes = plt.subplots(n_rows, 3, sharex=True, sharey=True, figsize=size, squeeze=False)
    for ax, (population, limit) in zip(axes.flat, limits.items(), strict=False):
        for i, (method, title) in enumerate(titles.items()):
            own = curves[(curves["population"] == population) & (curves["method"] == method)]
            look = {"color": _COLORS[i], "marker": MARKERS[i], "label": title, "markersize": 4.5}
            ax.plot(own["size"], own["agreement"], **look)
            ax.fill_between(own["size"], own["low"], own["high"], color=_COLORS[i], alpha=0.15, linewidth=0)
        _level(ax, target, f"{target:.2f}", below=True)
        ax.axhline(limit, color=INK, linewidth=1, linestyle=":", zorder=1)
        ax.set(xscale="log", ylim=(-0.05, 1.05))
        ax.set_title(population, fontsize=10.5)
    for ax in axes.flat[len(limits) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("items asked")
    for ax in axes[:, 0]:
        ax.set_ylabel("agreement")
    handles = axes[0, 0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside upper left", ncols=4, columnspacing=1.2, handletextpad=0.4)
    return fig


def items_needed(needed: "pd.DataFrame", titles: Mapping[str, str], mark: float, name: str) -> "Figure":
    """Items needed by spread of ability, a panel per method, a line per coefficient of variation.

    Parameters
    ----------
    needed : columns method, cv, spread, k_star.
    titles : method → panel title.
    mark, name : number of items to draw a line at, and what it is called.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(titles), sharex=True, sharey=True, figsize=(WIDTH, 3.7))
    spreads = sorted(needed["spread"].unique())
    for ax, (method, title) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        own = needed[needed["method"] == method]
        for i, (cv, line) in enumerate(own.groupby("cv")):
            look = {"color": _COLORS[i], "marker": MARKERS[i], "label": f"CV {cv:.2f}"}
            ax.plot(line["spread"], line["k_star"], **look)
        _level(ax, mark, name if method == [*titles][-1] else "")
        ax.set(xscale="log", yscale="log", xlabel="spread of ability")
        ax.set_xticks(spreads, [f"{spread:g}" for spread in spreads], minor=False)
        ax.set_xticks([], minor=True)
        ax.set_title(title, fontsize=10.5)
    np.atleast_1d(axes)[0].set_ylabel("items for the agreement")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=5, columnspacing=1.2)
    return fig


def by_calibration_models(found: "pd.DataFrame", known: Mapping[str, float], k: int) -> "Figure":
    """Agreement after k items by number of models calibrated on, a line per method.

    Parameters
    ----------
    found : columns method (as it is to be called), models, agreement, low, high.
    known : method → agreement with the true parameters, a dashed line.
    k : items asked.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.5))
    ends, colors = {}, {}
    for i, (method, own) in enumerate(found.groupby("method", sort=False)):
        reach = [own["agreement"] - own["low"], own["high"] - own["agreement"]]
        look = {"color": _COLORS[i], "marker": MARKERS[i], "capsize": 3, "elinewidth": 1}
        ax.errorbar(own["models"] * 1.03**i, own["agreement"], reach, **look)
        ends[method] = (own["models"].iloc[-1], own["agreement"].iloc[-1])
        colors[method] = _COLORS[i]
        if method in known:
            ax.axhline(known[method], color=_COLORS[i], linewidth=1.4, linestyle=(0, (4, 3)), zorder=1)
    counts = sorted(found["models"].unique())
    ax.set(xscale="log", xlabel="models calibrated on", ylabel=f"agreement after {k} items")
    ax.set_xticks(counts, [f"{count:.0f}" for count in counts])
    ax.set_xticks([], minor=True)
    ax.set_ylim(top=min(ax.get_ylim()[1], 1.02))
    label_lines(ax, ends, colors)
    return fig


def split_ranges(ranges: "pd.DataFrame") -> "Figure":
    """Range of the agreement of one split, a row per number of held-out models, a panel per true value.

    Parameters
    ----------
    ranges : columns truth, models, mean, low, high.
    """
    import matplotlib.pyplot as plt

    truths = ranges["truth"].unique()
    fig, axes = plt.subplots(1, len(truths), sharex=True, sharey=True, figsize=(WIDTH, 2.6), squeeze=False)
    for ax, truth in zip(axes[0], truths, strict=True):
        own = ranges[ranges["truth"] == truth]
        heights = np.arange(len(own))
        ax.hlines(heights, own["low"], own["high"], color=_COLORS[1], linewidth=5, alpha=0.4)
        ax.plot(own["mean"], heights, "o", color=_COLORS[1])
        ax.axvline(truth, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        ax.set_yticks(heights, [f"{models} models" for models in own["models"]])
        ax.set_title(f"true {truth:.2f}", fontsize=10.5)
        ax.set_xlabel("agreement")
        ax.grid(visible=False, axis="y")
    axes[0, 0].invert_yaxis()
    return fig


def growth_lines(costs: "pd.DataFrame", axes_of: Mapping[str, str]) -> "Figure":
    """CPU-seconds by size, a panel per what grows, a line per task.

    Parameters
    ----------
    costs : columns growing, task, models, items, seconds.
    axes_of : value of growing → column that it grows along.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(axes_of), sharey=True, figsize=(WIDTH, 3.5), squeeze=False)
    for ax, (growing, column) in zip(axes[0], axes_of.items(), strict=True):
        own = costs[costs["growing"] == growing]
        for i, (task, line) in enumerate(own.groupby("task", sort=False)):
            ax.plot(line[column], line["seconds"], color=_COLORS[i], marker=MARKERS[i], label=task)
        ax.set(xscale="log", yscale="log", xlabel=column)
        marks = sorted(own[column].unique())
        ax.margins(x=0.12)
        ax.set_xticks(marks, [f"{mark:,}" for mark in marks])
        ax.set_xticks([], minor=True)
    axes[0, 0].set_ylabel("CPU-seconds")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=3, columnspacing=1.2)
    return fig


def _level(ax: "Axes", value: float, name: str, below: bool = False) -> None:
    """A dashed line at a value, named above its left end or below its right one."""
    ax.axhline(value, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    at = {"xy": (0.99 if below else 0.01, value), "xytext": (0, -3 if below else 3)}
    side = {"ha": "right", "va": "top"} if below else {"ha": "left", "va": "bottom"}
    frame = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    ax.annotate(name, **at, **frame, **side, fontsize=9.5, color=MUTED)
