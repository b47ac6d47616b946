"""Figures of the pages on the mean-variance plane and on rebalancing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MUTED, PAPER, SPARE_COLORS, WIDTH, model_colors, model_markers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHED = (0, (4, 3))
_LEAST = 1e-6
"""Variances below this are drawn here."""


def harmony_rows(table: "pd.DataFrame", titles: Mapping[str, str], short: Mapping[str, str]) -> "Figure":
    """H of each model on each benchmark, with its null and its value at uniform accuracy.

    Parameters
    ----------
    table : columns benchmark, model, value, at_uniform, null_low, null_high, found (whether our test found a
        partition).
    titles, short : benchmark and model → label.
    """
    import matplotlib.pyplot as plt

    models = list(dict.fromkeys(table["model"]))
    colors, markers = model_colors(models), model_markers(models)
    step = len(models) + 1.2
    fig, ax = plt.subplots(figsize=(WIDTH, 0.9 + 0.17 * step * len(titles)))
    for row, name in enumerate(titles):
        own = table[table["benchmark"] == name]
        for place, (_, cut) in enumerate(own.iterrows()):
            y, color = row * step + place, colors[cut["model"]]
            if np.isnan(cut["value"]):
                ax.annotate("no cut", (0.5, y), color=MUTED, fontsize=8, va="center")
                continue
            ax.plot(
                [cut["null_low"], cut["null_high"]],
                [y, y],
                color=MUTED,
                alpha=0.45,
                linewidth=6,
                solid_capstyle="butt",
            )
            ax.plot(cut["at_uniform"], y, "|", color=INK, markersize=9)
            face = color if cut["found"] else PAPER
            ax.plot(cut["value"], y, markers[cut["model"]], color=color, markerfacecolor=face, markersize=6.5)
    centres = [row * step + (len(models) - 1) / 2 for row in range(len(titles))]
    ax.set_yticks(centres, list(titles.values()))
    ax.set(xlabel="HARMONY", ylim=(step * len(titles) - 0.8, -1))
    ax.grid(axis="y", visible=False)
    _model_key(fig, models, short, colors, markers)
    return fig


def _model_key(fig: "Figure", models: list, short: Mapping, colors: Mapping, markers: Mapping) -> None:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], color=colors[m], marker=markers[m], linestyle="", label=short.get(m, m))
        for m in models
    ]
    keys += [
        Line2D(
            [],
            [],
            color=MUTED,
            alpha=0.45,
            linewidth=6,
            solid_capstyle="butt",
            label="random partitions, 5 to 95 %",
        ),
        Line2D([], [], color=INK, marker="|", linestyle="", markersize=9, label="at uniform accuracy"),
        Line2D(
            [],
            [],
            color=MUTED,
            marker="o",
            linestyle="",
            markerfacecolor=PAPER,
            label="hollow: no partition by our test",
        ),
    ]
    fig.legend(handles=keys, loc="outside upper left", ncols=2, fontsize=9, handletextpad=0.7)


def mean_variance(table: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """Benchmarks by mean and variance of H over models, with intervals, and the medians that part the plane.

    Parameters
    ----------
    table : columns of `harmony.plane`.
    titles : benchmark → label.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 5.2))
    ends = {}
    for color, (_, row) in zip(_cycle(len(table)), table.iterrows(), strict=True):
        x, y = max(row["variance"], _LEAST), row["mean"]
        settled = row["place"] != "undetermined"
        ax.plot(
            [max(row["variance_low"], _LEAST), max(row["variance_high"], _LEAST)],
            [y, y],
            color=color,
            linewidth=1,
            alpha=0.6,
        )
        ax.plot([x, x], [row["mean_low"], row["mean_high"]], color=color, linewidth=1, alpha=0.6)
        ax.plot(x, y, "o", color=color, markersize=8, markerfacecolor=color if settled else PAPER)
        ends[titles[row["benchmark"]]] = (max(row["variance_high"], _LEAST), y, color)
    ax.axhline(table["mean"].median(), color=MUTED, linestyle=_DASHED, linewidth=1.2, zorder=1)
    ax.axvline(
        max(table["variance"].median(), _LEAST), color=MUTED, linestyle=_DASHED, linewidth=1.2, zorder=1
    )
    ax.set(xscale="log", xlabel="variance of HARMONY over models", ylabel="mean HARMONY over models")
    _name_points(ax, ends)
    return fig


def _name_points(ax: "Axes", ends: Mapping[str, tuple[float, float, str]]) -> None:
    """Names in a column at the right, each tied to its point (x, y) by a stroke of its colour."""
    names = sorted(ends, key=lambda name: ends[name][1])
    low, high = ax.get_ylim()
    heights = [-np.inf]
    for name in names:
        heights.append(max(ends[name][1], heights[-1] + 0.06 * (high - low)))
    shift = np.mean(heights[1:]) - np.mean([ends[name][1] for name in names])
    for name, height in zip(names, heights[1:], strict=True):
        x, y, color = ends[name]
        line = {"arrowstyle": "-", "color": color, "linewidth": 1, "linestyle": ":", "relpos": (0, 0.5)}
        at = (1.03, height - shift)
        where = {"xytext": at, "textcoords": ("axes fraction", "data"), "annotation_clip": False}
        ax.annotate(name, (x, y), **where, arrowprops=line, color=INK, va="center", fontsize=10)


def _cycle(n: int) -> list[str]:
    from benchtrust.plots import MODEL_COLORS

    colors = [*MODEL_COLORS.values(), *SPARE_COLORS]
    return [colors[i % len(colors)] for i in range(n)]


def moves(table: "pd.DataFrame", titles: Mapping[str, str], alpha: float) -> "Figure":
    """Move of each benchmark's mean score under pruning, beside random pruning of as many items.

    Parameters
    ----------
    table : columns benchmark, move, low, high, random_sd, p_bh; NaN where there is no cut.
    titles : benchmark → label.
    alpha : benchmarks with a corrected p below it are filled.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 1.2 + 0.42 * len(table)))
    for y, (_, row) in enumerate(table.iterrows()):
        if np.isnan(row["move"]):
            ax.annotate("no partition", (0, y), color=MUTED, fontsize=9.5, ha="center", va="center")
            continue
        reach = 1.96 * row["random_sd"]
        ax.plot([-reach, reach], [y, y], color=MUTED, alpha=0.4, linewidth=9, solid_capstyle="butt")
        ax.plot([row["low"], row["high"]], [y, y], color=SPARE_COLORS[2], linewidth=1.6)
        face = SPARE_COLORS[2] if row["p_bh"] < alpha else PAPER
        ax.plot(row["move"], y, "o", color=SPARE_COLORS[2], markerfacecolor=face, markersize=8)
    ax.axvline(0, color=MUTED, linewidth=1.2, zorder=1)
    ax.set_yticks(range(len(table)), [titles[name] for name in table["benchmark"]])
    ax.set(xlabel="mean score after pruning minus before", ylim=(len(table) - 0.4, -0.6))
    ax.grid(axis="y", visible=False)
    _moves_key(fig)
    return fig


def _moves_key(fig: "Figure") -> None:
    from matplotlib.lines import Line2D

    color = SPARE_COLORS[2]
    keys = [
        Line2D([], [], color=color, marker="o", label="pruned by similarity, 95 %"),
        Line2D(
            [], [], color=MUTED, alpha=0.4, linewidth=9, solid_capstyle="butt", label="random pruning, 95 %"
        ),
        Line2D([], [], color=color, marker="o", linestyle="", label="filled: more than random"),
    ]
    fig.legend(
        handles=keys, loc="outside upper left", ncols=3, fontsize=9, handletextpad=0.4, columnspacing=1
    )


def move_by_harmony(table: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """How far each benchmark's score moves against its H before, with the mean random move below.

    Parameters
    ----------
    table : columns benchmark, harmony_before, size (absolute move), random (mean size of a random move).
    titles : benchmark → label.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 4.4))
    known, ends = table.dropna(subset=["size"]), {}
    for color, (_, row) in zip(_cycle(len(known)), known.iterrows(), strict=True):
        ax.plot([row["harmony_before"]] * 2, [row["random"], row["size"]], color=color, linewidth=1.2)
        ax.plot(row["harmony_before"], row["random"], "_", color=color, markersize=12)
        ax.plot(row["harmony_before"], row["size"], "o", color=color, markersize=8)
        ends[titles[row["benchmark"]]] = (row["harmony_before"], row["size"], color)
    ax.set(xlabel="HARMONY before pruning", ylabel="size of the move (score)")
    ax.set_ylim(bottom=0)
    _name_points(ax, ends)
    return fig
