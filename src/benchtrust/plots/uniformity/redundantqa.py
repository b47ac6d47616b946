"""Figures of the page on RedundantQA."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MARKERS, MUTED, SPARE_COLORS, WIDTH, model_colors, model_markers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHED = (0, (4, 3))
_COLUMNS = 3
_TICKS, _NAMES = (0, 0.25, 0.5, 0.75, 1), ("0", "", "½", "", "1")
_COLORS = (SPARE_COLORS[2], SPARE_COLORS[0], SPARE_COLORS[5], SPARE_COLORS[1])


def shared_words(shares: "pd.DataFrame", limits: Mapping[str, float]) -> "Figure":
    """Words that each question shares with its reference, as shares of the shorter and of the longer one.

    Parameters
    ----------
    shares : columns kind, shorter, longer (0 to 1), a row a question.
    limits : paraphrase → most of the shorter one's words, look-alike → least of the longer one's.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 4.0))
    ax.axvline(limits["paraphrase"], color=MUTED, linewidth=1.2, linestyle=_DASHED, zorder=1)
    ax.axhline(limits["look-alike"], color=MUTED, linewidth=1.2, linestyle=_DASHED, zorder=1)
    for i, (kind, own) in enumerate(shares.groupby("kind", sort=False)):
        look = {"marker": MARKERS[i], "color": _COLORS[i], "linestyle": "none", "alpha": 0.45}
        ax.plot(own["shorter"], own["longer"], markersize=5, label=f"{kind}s", **look)
    ax.set(xlabel="shared words, share of the shorter question's", xlim=(-0.03, 1.03))
    ax.set(ylabel="share of the longer question's", ylim=(-0.03, 1.03))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=2, handletextpad=0.2)
    return fig


def pair_ranges(ranges: "pd.DataFrame", kinds: Mapping[str, str]) -> "Figure":
    """Similarities of pairs by what they have in common, a panel a similarity: median, middle half and 90 %.

    Parameters
    ----------
    ranges : columns source (title of the panel), kind, and the quantiles q05, q25, q50, q75, q95.
    kinds : kind → label of its row, from top to bottom.
    """
    sources = list(dict.fromkeys(ranges["source"]))
    fig, axes = _panels(sources, 1.35)
    for ax, source in zip(axes, sources, strict=True):
        own = ranges[ranges["source"] == source].set_index("kind").loc[[*kinds]]
        for row, (color, marker) in enumerate(zip(_COLORS, MARKERS, strict=False)):
            q = own.iloc[row]
            ax.plot(q[["q05", "q95"]], [row, row], color=color, linewidth=1.3)
            ax.plot(q[["q25", "q75"]], [row, row], color=color, linewidth=5, solid_capstyle="butt")
            ax.plot(q["q50"], row, marker, color=INK, markersize=6)
        ax.set_ylim(len(kinds) - 0.5, -0.5)
        ax.set(xlim=(-0.03, 1.03), xticks=_TICKS, xticklabels=_NAMES)
        ax.set_yticks(range(len(kinds)), kinds.values())
        ax.grid(visible=False, axis="y")
    _outer_labels(axes, "similarity S", "")
    return fig


def estimated_against_true(profiles: "pd.DataFrame", shapes: Mapping[str, str]) -> "Figure":
    """HARMONY by clusters against HARMONY by true domains of the same simulated answers, a panel a partition.

    Parameters
    ----------
    profiles : columns source (title of the panel), shape, true, estimated.
    shapes : shape → name.
    """
    sources = list(dict.fromkeys(profiles["source"]))
    fig, axes = _panels(sources, 2.1)
    for ax, source in zip(axes, sources, strict=True):
        of = profiles[profiles["source"] == source]
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, linestyle=_DASHED, zorder=1)
        for i, (shape, name) in enumerate(shapes.items()):
            own = of[of["shape"] == shape]
            look = {"color": _COLORS[i], "linestyle": "none", "alpha": 0.7, "markersize": 4}
            ax.plot(own["true"], own["estimated"], marker=MARKERS[i], label=name, **look)
        ax.set(xlim=(-0.03, 1.03), xticks=_TICKS, xticklabels=_NAMES)
        ax.set(ylim=(-0.03, 1.03), yticks=_TICKS, yticklabels=_NAMES)
    _outer_labels(axes, "H by true domain", "H by cluster")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=4, handletextpad=0.2)
    return fig


def designed_and_simulated(means: "pd.DataFrame", shapes: Mapping[str, str]) -> "Figure":
    """HARMONY of the design and of answers simulated from it over the spread, a panel a shape.

    Parameters
    ----------
    means : columns shape, spread, designed, true.
    shapes : shape → title of its panel.
    """
    fig, axes = _panels([*shapes.values()], 1.75, columns=2)
    lines = {
        "designed": ("designed", INK, _DASHED, ""),
        "true": ("simulated", _COLORS[0], "-", MARKERS[0]),
    }
    for ax, shape in zip(axes, shapes, strict=True):
        own = means[means["shape"] == shape]
        for column, (label, color, dashes, marker) in lines.items():
            look = {"color": color, "linestyle": dashes, "marker": marker, "markersize": 4}
            ax.plot(100 * own["spread"], own[column], label=label, **look)
        ax.set_ylim(-0.03, 1.05)
    _outer_labels(axes, "spread of the accuracies (points)", "H", columns=2)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return fig


def sharpness(by_tau: "pd.DataFrame", chosen: float) -> "Figure":
    """Correlation of the two values of H, and number of clusters, over τ, a line a model.

    Parameters
    ----------
    by_tau : columns model, source (its name), tau, k, correlation (may be missing).
    chosen : τ of the other figures, drawn as a line.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, sharex=True, figsize=(WIDTH, 3.5))
    places = sorted(by_tau["tau"].unique())
    colors, markers = model_colors(by_tau["model"]), model_markers(by_tau["model"])
    for ax, column in zip(axes, ("correlation", "k"), strict=True):
        for model, own in by_tau.groupby("model", sort=False):
            look = {"color": colors[model], "marker": markers[model], "label": own["source"].iloc[0]}
            ax.plot(own["tau"], own[column], **look)
        ax.axvline(chosen, color=MUTED, linewidth=1.2, linestyle=_DASHED, zorder=1)
        ax.set_xscale("log")
        ax.set_xticks(places, [f"{tau:g}" for tau in places])
        ax.minorticks_off()
        ax.set_xlabel("τ")
    axes[0].set_ylabel("correlation of H by cluster\nwith H by true domain")
    axes[0].axhline(0, color=MUTED, linewidth=0.8, zorder=1)
    axes[1].set(ylabel="clusters", ylim=(0, None))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return fig


def real_accuracies(parts: "pd.DataFrame", means: Mapping[str, float], chance: float) -> "Figure":
    """Accuracy of each true domain and of each cluster of a model's own, a panel a model; area is the size.

    Parameters
    ----------
    parts : columns source (title of the panel), by (domain or cluster), accuracy, n.
    means : panel → accuracy over all items.
    chance : accuracy of guessing.
    """
    fig, axes = _panels([*means], 1.5, columns=2)
    for ax, source in zip(axes, means, strict=True):
        ax.axvline(100 * chance, color=MUTED, linewidth=1.2, linestyle=_DASHED, zorder=1)
        ax.axvline(100 * means[source], color=MUTED, linewidth=1.2, zorder=1)
        for row, by in enumerate(("domain", "cluster")):
            own = parts[(parts["source"] == source) & (parts["by"] == by)]
            look = {"color": _COLORS[row], "marker": MARKERS[row], "alpha": 0.6}
            ax.scatter(100 * own["accuracy"], np.full(len(own), row), s=1.2 * own["n"], **look)
        ax.set_yticks([0, 1], ["true domains", "own clusters"])
        ax.set(ylim=(1.6, -0.6), xlim=(-3, 103))
        ax.grid(visible=False, axis="y")
    _outer_labels(axes, "accuracy (%)", "", columns=2)
    return fig


def _panels(titles: list[str], height: float, columns: int = _COLUMNS) -> tuple["Figure", list["Axes"]]:
    """Panels with shared axes and their titles; places that are too many are blank."""
    import matplotlib.pyplot as plt

    columns = min(columns, len(titles))
    rows = -(-len(titles) // columns)
    size = (WIDTH, 0.9 + height * rows)
    fig, grid = plt.subplots(rows, columns, sharex=True, sharey=True, figsize=size, squeeze=False)
    axes = [*grid.ravel()]
    for ax in axes[len(titles) :]:
        ax.set_axis_off()
    for ax, title in zip(axes, titles, strict=False):
        ax.set_title(title, fontsize=10.5)
    return fig, axes[: len(titles)]


def _outer_labels(axes: list["Axes"], x: str, y: str, columns: int = _COLUMNS) -> None:
    """Name the axes of the outer panels, and number the x axis wherever nothing stands below."""
    for place, ax in enumerate(axes):
        below = place + columns < len(axes)
        ax.set_xlabel("" if below else x, fontsize=9.5)
        ax.tick_params(axis="x", labelbottom=not below)
        ax.set_ylabel("" if place % columns else y, fontsize=9.5)
