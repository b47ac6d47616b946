"""Figures of the synthesis."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import (
    INK,
    MARKERS,
    MUTED,
    PAPER,
    SPARE_COLORS,
    WIDTH,
    label_lines,
    model_colors,
    model_markers,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def axis_shifts(shifts: "pd.DataFrame", models: Sequence[str], titles: Mapping[str, str]) -> "Figure":
    """Shift from each level of each axis with its interval, a panel per benchmark, a lane per model.

    Parameters
    ----------
    shifts : columns benchmark, model, axis, level, shift, low, high; filled where 0 is outside.
    models : in the order of the lanes and of the legend.
    titles : benchmark → panel title.
    """
    import matplotlib.pyplot as plt

    rows = list(dict.fromkeys(zip(shifts["axis"], shifts["level"], strict=True)))
    fig, axes = plt.subplots(
        1, len(titles), sharey=True, sharex=True, squeeze=False, figsize=(WIDTH, 1.2 + 0.42 * len(rows))
    )
    colors, markers = model_colors(models), model_markers(models)
    for ax, (benchmark, title) in zip(axes[0], titles.items(), strict=True):
        ax.axvline(0, color=MUTED, linewidth=1.2)
        for lane, model in enumerate(models):
            own = shifts[(shifts["benchmark"] == benchmark) & (shifts["model"] == model)]
            at = [rows.index(row) for row in zip(own["axis"], own["level"], strict=True)]
            heights = np.array(at) + 0.24 * (lane - (len(models) - 1) / 2)
            ax.hlines(heights, own["low"], own["high"], color=colors[model], linewidth=1.2)
            sure = ((own["low"] > 0) | (own["high"] < 0)).to_numpy()
            for which, face in ((sure, colors[model]), (~sure, PAPER)):
                look = {"color": colors[model], "markerfacecolor": face, "markersize": 4.5, "linestyle": ""}
                name = {"label": model} if face == colors[model] else {}
                ax.plot(own["shift"][which], heights[which], markers[model], **look, **name)
        for border in (i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0]):
            ax.axhline(border - 0.5, color=MUTED, linewidth=0.8)
        ax.set(ylim=(len(rows) - 0.5, -0.5), xlabel="shift of θ")
        ax.set_title(title, fontsize=10.5)
        ax.grid(visible=False, axis="y")
    axes[0, 0].set_yticks(range(len(rows)), [_level_name(*row) for row in rows])
    fig.legend(
        *ax.get_legend_handles_labels(), loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1
    )
    return fig


def short_tests(pairs: "pd.DataFrame", size: int, n_items: int) -> "Figure":
    """What a short test keeps of each flip, and how often it flips, a row per benchmark and pair.

    Parameters
    ----------
    pairs : columns title, pair; share, share_low, share_high (NaN where nothing flips); rho, rho_low,
        rho_high, rho_all. Low and high are of random tests of the same size.
    size, n_items : of the short and of the whole test.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(WIDTH, 1.5 + 0.27 * len(pairs)))
    heights = np.arange(len(pairs))
    for ax, name in zip(axes, ("share", "rho"), strict=True):
        ends = pairs[f"{name}_low"], pairs[f"{name}_high"]
        ax.hlines(heights, *ends, color=MUTED, alpha=0.45, linewidth=8, label=f"{size} at random, 5 to 95 %")
        ax.plot(pairs[name], heights, "o", color=SPARE_COLORS[0], label=f"{size} that inform most")
    axes[0].axvline(size / n_items, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
    axes[1].plot(
        pairs["rho_all"], heights, "|", color=INK, markersize=12, markeredgewidth=2, label=f"all {n_items}"
    )
    for ax in axes:
        for border in (i for i in heights[1:] if pairs["title"].iloc[i] != pairs["title"].iloc[i - 1]):
            ax.axhline(border - 0.5, color=MUTED, linewidth=0.8)
        ax.grid(visible=False, axis="y")
    axes[0].set_yticks(heights, pairs["title"] + ": " + pairs["pair"], fontsize=9)
    axes[0].set(xlabel="share of the flip that is kept", ylim=(len(pairs) - 0.5, -0.5))
    axes[0].xaxis.set_major_formatter(PercentFormatter(1, 0))
    axes[0].xaxis.set_major_locator(MaxNLocator(4))
    axes[1].set(xlabel="flip rate ρ", xlim=(-0.02, 0.52))
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside upper left", ncols=3, handletextpad=0.4)
    return fig


def three_answers(spreads: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """Spread of each measure over the configurations in units of its items' noise, a panel per benchmark.

    Parameters
    ----------
    spreads : columns benchmark, measure, ratio, low, high (of the noise, in the same unit), beyond: filled.
    titles : benchmark → panel title.
    """
    import matplotlib.pyplot as plt

    measures = list(dict.fromkeys(spreads["measure"]))
    fig, axes = plt.subplots(
        1, len(titles), sharey=True, sharex=True, squeeze=False, figsize=(WIDTH, 0.9 + 0.42 * len(measures))
    )
    for ax, (benchmark, title) in zip(axes[0], titles.items(), strict=True):
        ax.axvline(1, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
        for row in spreads[spreads["benchmark"] == benchmark].itertuples():
            at = measures.index(row.measure)
            look = SPARE_COLORS[at % len(SPARE_COLORS)]
            ax.hlines(at, row.low, row.high, color=MUTED, alpha=0.45, linewidth=9)
            face = look if row.beyond else PAPER
            ax.plot(row.ratio, at, MARKERS[at], color=look, markerfacecolor=face, markersize=7)
        ax.set_title(title, fontsize=10.5)
        ax.set(ylim=(len(measures) - 0.5, -0.5), xlabel="× item noise")
        ax.grid(visible=False, axis="y")
    axes[0, 0].set_yticks(range(len(measures)), measures)
    ends = spreads[["ratio", "low", "high"]]
    axes[0, 0].set(xscale="log", xlim=(0.8 * ends.min(axis=None), 1.3 * ends.max(axis=None)))
    axes[0, 0].set_xticks([0.5, 1, 2, 4], ["½", "1", "2", "4"])
    axes[0, 0].minorticks_off()
    return fig


def gap_rows(rows: "pd.DataFrame", first: str, second: str) -> "Figure":
    """Mean gap of two models on all items and on parts of them, with the range over the configurations.

    Parameters
    ----------
    rows : columns name, items, mean, low, high (over the configurations), from, to (band that holds them).
    first, second : models; above 0 the first is ahead.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 1.3 + 0.3 * len(rows)))
    heights = np.arange(len(rows))
    ax.axvline(0, color=MUTED, linewidth=1.2)
    ax.hlines(heights, rows["from"], rows["to"], color=MUTED, alpha=0.3, linewidth=9)
    ax.hlines(heights, rows["low"], rows["high"], color=SPARE_COLORS[0], linewidth=3)
    ax.plot(rows["mean"], heights, "o", color=INK, markersize=6)
    fewer = rows["items"] < rows["items"].max()
    ax.set_yticks(heights, rows["name"] + np.where(fewer, " (" + rows["items"].astype(str) + " items)", ""))
    reach = 1.05 * rows[["from", "to"]].abs().max(axis=None)
    ax.set(ylim=(len(rows) - 0.5, -1.2), xlim=(-reach, reach))
    ax.set_xlabel(f"score of {first} minus that of {second}")
    for side, name, place in ((-1, second, "left"), (1, first, "right")):
        ax.annotate(f"{name} ahead", (side * reach, -1.15), color=MUTED, fontsize=9.5, ha=place, va="top")
    ax.grid(visible=False, axis="y")
    return fig


def settling_lines(designs: "pd.DataFrame", gap: float, n_items: int) -> "Figure":
    """Smallest gap that is found, against the number of items, a line per number of configurations.

    Parameters
    ----------
    designs : columns n_configurations, n_items, detectable; NaN = not known, not drawn.
    gap : size of the observed mean gap, drawn as a line.
    n_items : of the study, drawn as a line.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.6))
    colors, ends = {}, {}
    strokes = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (3, 1, 1, 1)))
    for look, (count, own) in enumerate(designs.dropna().groupby("n_configurations")):
        name = f"{count} configuration" + "s" * (count > 1)
        colors[name] = SPARE_COLORS[look % len(SPARE_COLORS)]
        ax.plot(own["n_items"], own["detectable"], color=colors[name], linestyle=strokes[look % len(strokes)])
        ends[name] = (own["n_items"].iloc[-1], own["detectable"].iloc[-1])
    ax.axhline(gap, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    ends["observed mean gap"], colors["observed mean gap"] = (designs["n_items"].max(), gap), INK
    ax.axvline(n_items, color=MUTED, linewidth=1)
    ax.set(xscale="log", xlabel="items", ylabel="smallest gap that is found", ylim=(0, None))
    ax.set_xticks(sorted(set(designs["n_items"])), [f"{n:,}" for n in sorted(set(designs["n_items"]))])
    ax.minorticks_off()
    look = {"color": MUTED, "fontsize": 9.5, "textcoords": "offset points", "xytext": (4, -2), "va": "top"}
    ax.annotate("asked here", (n_items, 1), xycoords=("data", "axes fraction"), **look)
    label_lines(ax, ends, colors)
    return fig


def _level_name(axis: str, level: str) -> str:
    """A level as the figure names it: the number of exemplars says what it counts."""
    words = {"free_form": "free-form", "logprob": "log-probability"}
    return f"{level} shots" if axis == "shots" else words.get(level, level)
