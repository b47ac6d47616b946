"""Figures of the page on sensitivity and nulls."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MARKERS, MODEL_COLORS, MUTED, PAPER, SPARE_COLORS, WIDTH, label_lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _ORANGE = MODEL_COLORS["Qwen2.5-Coder-0.5B-Instruct"], MODEL_COLORS["SmolLM2-135M-Instruct"]
_COLORS = (_ORANGE, _BLUE, *SPARE_COLORS)


def sharpness_ranges(
    ranges: "pd.DataFrame", titles: Mapping[str, str], defaults: Mapping[str, float]
) -> "Figure":
    """τ at which the median pair's similarity is between .9 and .1, and ½, a panel per support.

    Parameters
    ----------
    ranges : columns support, benchmark, low (similarity .9), half, high (.1).
    titles : benchmark → label, from above.
    defaults : support → its τ.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(defaults), sharey=True, figsize=(WIDTH, 1.3 + 0.3 * len(titles)))
    for ax, (support, default) in zip(axes, defaults.items(), strict=True):
        own = ranges[ranges["support"] == support].set_index("benchmark")
        for place, name in enumerate(titles):
            if name in own.index:
                low, half, high = own.loc[name, ["low", "half", "high"]]
                ax.plot(
                    [low, high], [place, place], color=_BLUE, linewidth=5, alpha=0.5, solid_capstyle="butt"
                )
                ax.plot(half, place, "o", color=_BLUE)
        ax.axvline(default, color=_ORANGE, linewidth=1.6, linestyle=(0, (5, 2)))
        ax.annotate(
            f"τ = {default:g}", (default, -0.75), xytext=(4, 0), textcoords="offset points", va="center"
        )
        ax.set(title=support, xlabel="τ, 1 / nat", xscale="log", ylim=(len(titles) - 0.4, -1.1))
        _plain_ticks(ax, (0.001, 0.01, 0.1, 1, 10, 100, 1000))
        ax.grid(visible=False, axis="y")
    axes[0].set_yticks(range(len(titles)), titles.values())
    return fig


def sweep_panels(sweep: "pd.DataFrame", titles: Mapping[str, str], bandwidth: float) -> "Figure":
    """H against τ, a line per b and a panel per benchmark, on the band of random partitions at one b.

    Parameters
    ----------
    sweep : columns benchmark, tau, bandwidth, k, value, null_low, null_high.
    titles : benchmark → panel title.
    bandwidth : the b of the band.
    """
    import matplotlib.pyplot as plt

    n_rows = -(-len(titles) // 3)
    fig, grid = plt.subplots(n_rows, 3, sharex=True, figsize=(WIDTH, 0.9 + 1.8 * n_rows), squeeze=False)
    bandwidths = sorted(sweep["bandwidth"].unique())
    colors = {f"b = {b:g}": color for b, color in zip(bandwidths, _COLORS, strict=False)}
    for ax in grid.flat[len(titles) :]:
        ax.set_visible(False)
    for ax, (benchmark, title) in zip(grid.flat, titles.items(), strict=False):
        own = sweep[sweep["benchmark"] == benchmark]
        band = own[own["bandwidth"] == bandwidth]
        ax.fill_between(band["tau"], band["null_low"], band["null_high"], color=MUTED, alpha=0.3, linewidth=0)
        for (name, color), b, marker in zip(colors.items(), bandwidths, MARKERS, strict=False):
            line = own[own["bandwidth"] == b]
            ax.plot(line["tau"], line["value"], marker=marker, color=color, markersize=4, label=name)
        for row in band.itertuples():
            ax.annotate(f"{row.k}", (row.tau, 1.1), ha="center", fontsize=8.5, color=MUTED)
        ax.set(xscale="log", ylim=(-0.03, 1.22), yticks=[0, 0.5, 1])
        _plain_ticks(ax, sorted(own["tau"].unique()))
        ax.set_title(title, fontsize=10)
    _shared_labels(grid, len(titles), "τ", "H")
    last = sweep[sweep["tau"] == sweep["tau"].max()].set_index(["benchmark", "bandwidth"])["value"]
    shown = [*titles][: 3 * n_rows][min(2, len(titles) - 1)]
    ends = {f"b = {b:g}": (sweep["tau"].max(), last[shown, b]) for b in bandwidths}
    label_lines(grid.flat[min(2, len(titles) - 1)], ends, colors, gap=0.16)
    return fig


def null_strips(found: "pd.DataFrame", titles: Mapping[str, str], models: Mapping[str, str]) -> "Figure":
    """H of each benchmark on the band of random partitions, a panel per model; filled where it is lower.

    Parameters
    ----------
    found : columns model, benchmark, k, value, null_low, null_high, low, high (bootstrap), lower (boolean).
    titles : benchmark → label, from above.
    models : model → panel title.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(
        1, len(models), sharex=True, sharey=True, figsize=(WIDTH, 1.4 + 0.33 * len(titles)), squeeze=False
    )
    for ax, (model, title) in zip(axes[0], models.items(), strict=True):
        own = found[found["model"] == model].set_index("benchmark")
        for place, name in enumerate(titles):
            if name in own.index:
                _strip(ax, place, own.loc[name])
        ax.set_title(title, fontsize=10)
        ax.set(xlabel="H", ylim=(len(titles) - 0.4, -0.6), xlim=(-0.04, 1.04))
        ax.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        ax.grid(visible=False, axis="y")
    axes[0, 0].set_yticks(range(len(titles)), titles.values())
    return fig


def _strip(ax: "Axes", place: int, row: "pd.Series") -> None:
    ax.plot([row["null_low"], row["null_high"]], [place, place], color=MUTED, linewidth=9, alpha=0.35)
    ax.plot([row["low"], row["high"]], [place, place], color=_BLUE, linewidth=1.6)
    ax.plot(row["value"], place, "o", color=_BLUE, markerfacecolor=_BLUE if row["lower"] else PAPER)


def bias_panels(curves: "pd.DataFrame") -> "Figure":
    """Mean H against the number of items, a line per k, a panel per case; dotted, the truth.

    Parameters
    ----------
    curves : columns case, k, n_items, true, mean.
    """
    import matplotlib.pyplot as plt

    cases = list(dict.fromkeys(curves["case"]))
    fig, axes = plt.subplots(1, len(cases), sharey=True, figsize=(WIDTH, 3.3), squeeze=False)
    colors = {f"k = {k}": color for k, color in zip(sorted(curves["k"].unique()), _COLORS, strict=False)}
    for ax, case in zip(axes[0], cases, strict=True):
        own = curves[curves["case"] == case]
        for (name, color), (_, line), marker in zip(colors.items(), own.groupby("k"), MARKERS, strict=False):
            ax.plot(line["n_items"], line["mean"], marker=marker, color=color, markersize=4.5, label=name)
            ax.axhline(line["true"].iloc[0], color=color, linewidth=1.3, linestyle=":")
        ax.set_title(case, fontsize=10)
        ax.set(xscale="log", xlabel="items", xlim=(0.7 * own["n_items"].min(), 1.3 * own["n_items"].max()))
        _plain_ticks(ax, (100, 1000))
    last = curves[(curves["case"] == cases[-1]) & (curves["n_items"] == curves["n_items"].max())]
    ends = {f"k = {row.k}": (row.n_items, row.mean) for row in last.itertuples()}
    label_lines(axes[0, -1], ends, colors, gap=0.09)
    axes[0, 0].set_ylabel("mean H")
    return fig


def stability_strips(
    stability: "pd.DataFrame", titles: Mapping[str, str], words: Mapping[str, str]
) -> "Figure":
    """Adjusted Rand index of other partitions with the reference, a row per benchmark, a panel per cause.

    Parameters
    ----------
    stability : columns benchmark, varied, ari.
    titles : benchmark → label, from above.
    words : varied → panel title.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(
        1, len(words), sharex=True, sharey=True, figsize=(WIDTH, 1.3 + 0.5 * len(titles))
    )
    for ax, (varied, title), color in zip(axes, words.items(), _COLORS, strict=False):
        for place, name in enumerate(titles):
            own = stability[(stability["varied"] == varied) & (stability["benchmark"] == name)]
            ax.plot(own["ari"], np.full(len(own), place), "o", color=color, alpha=0.55)
            ax.plot([own["ari"].median()], [place], "|", color=INK, markersize=18, markeredgewidth=1.8)
        ax.set_title(title, fontsize=10)
        ax.set(xlabel="ARI", xlim=(-0.08, 1.08), ylim=(len(titles) - 0.5, -0.5))
        ax.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        ax.grid(visible=False, axis="y")
    axes[0].set_yticks(range(len(titles)), titles.values())
    return fig


def _shared_labels(grid: np.ndarray, n: int, x: str, y: str) -> None:
    """Name the axes once: the horizontal one under the lowest panel of each column."""
    for ax in grid[:, 0]:
        ax.set_ylabel(y)
    for column in range(grid.shape[1]):
        below = [row for row in range(len(grid)) if row * grid.shape[1] + column < n]
        if below:
            grid[below[-1], column].set_xlabel(x)
            grid[below[-1], column].tick_params(labelbottom=True)


def _plain_ticks(ax: "Axes", values: Sequence[float]) -> None:
    """Ticks of a logarithmic axis at these values, written out."""
    from matplotlib.ticker import NullLocator

    low, high = ax.get_xlim()
    shown = [value for value in values if low <= value <= high]
    ax.set_xticks(shown, [f"{value:g}".removeprefix("0") for value in shown])
    ax.xaxis.set_minor_locator(NullLocator())
