"""Figures of the page on configurations as respondents."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MARKERS, MUTED, PAPER, SPARE_COLORS, WIDTH, model_colors, model_markers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def ability_strips(
    abilities: "pd.DataFrame",
    spread: "pd.DataFrame",
    models: Mapping[str, str],
    titles: Mapping[str, str],
    hollow: str = "logprob",
) -> "Figure":
    """Abilities of each model's configurations, a panel per benchmark; a bar from mean - sd to mean + sd.

    Parameters
    ----------
    abilities : columns benchmark, model, scoring, theta.
    spread : columns benchmark, model, mean, sd.
    models : model → label of its row, from above.
    titles : benchmark → panel title.
    hollow : scoring whose marks are not filled.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(titles), sharex=True, sharey=True, figsize=(WIDTH, 2.9))
    colors, markers = model_colors(models), model_markers(models)
    for ax, (benchmark, title) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        for height, model in enumerate(models):
            own = abilities[(abilities["benchmark"] == benchmark) & (abilities["model"] == model)]
            for lane, (scoring, marks) in enumerate(own.groupby("scoring", sort=True)):
                at = height + 0.1 + 0.22 * lane + 0.03 * (np.arange(len(marks)) % 4)
                fill = "none" if scoring == hollow else colors[model]
                look = {"color": colors[model], "markerfacecolor": fill, "markersize": 4}
                ax.plot(marks["theta"], at, markers[model], linestyle="", **look)
            mean, sd = spread[(spread["benchmark"] == benchmark) & (spread["model"] == model)].iloc[0][
                ["mean", "sd"]
            ]
            ax.plot([mean - sd, mean + sd], [height - 0.15] * 2, color=INK, linewidth=1.5)
            ax.plot(mean, height - 0.15, "|", color=INK, markersize=9, markeredgewidth=2)
        ax.set_title(title, fontsize=10.5)
        ax.set(xlabel="ability θ", ylim=(len(models) - 0.4, -0.5))
        ax.grid(visible=False, axis="y")
    np.atleast_1d(axes)[0].set_yticks(range(len(models)), models.values())
    return fig


def model_scatter(
    points: "pd.DataFrame",
    models: Sequence[str],
    titles: Mapping[str, str],
    names: Mapping[str, str],
    diagonal: bool = False,
) -> "Figure":
    """Two columns of `points` against each other, a panel per benchmark, a mark of its model per row.

    Parameters
    ----------
    points : columns benchmark, model and those of `names`.
    models : in the order of the legend.
    titles : benchmark → panel title.
    names : column → label of its axis, the horizontal one first.
    diagonal : whether to draw the line on which both are equal.
    """
    import matplotlib.pyplot as plt

    (x, x_label), (y, y_label) = names.items()
    fig, axes = plt.subplots(1, len(titles), sharex=True, sharey=True, figsize=(WIDTH, 2.9))
    colors, markers = model_colors(models), model_markers(models)
    for ax, (benchmark, title) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        if diagonal:
            ax.axline((0, 0), slope=1, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        for model in models:
            own = points[(points["benchmark"] == benchmark) & (points["model"] == model)]
            look = {"color": colors[model], "markersize": 4.5, "alpha": 0.8, "label": model}
            ax.plot(own[x], own[y], markers[model], linestyle="", **look)
        ax.set_title(title, fontsize=10.5)
        ax.set(xlabel=x_label)
    np.atleast_1d(axes)[0].set_ylabel(y_label)
    fig.legend(
        *ax.get_legend_handles_labels(), loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1
    )
    return fig


def item_parameters(items: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """Discrimination against difficulty with intervals, a panel per benchmark; its parts named by marks.

    Parameters
    ----------
    items : columns benchmark, part, a, b, and the ends of their intervals a_low, a_high, b_low, b_high.
    titles : benchmark → panel title.
    """
    import matplotlib.pyplot as plt

    n_rows = -(-len(titles) // 2)
    fig, axes = plt.subplots(n_rows, 2, sharey=True, squeeze=False, figsize=(WIDTH, 0.6 + 2.4 * n_rows))
    for ax, (benchmark, title) in zip(axes.flat, titles.items(), strict=False):
        own = items[items["benchmark"] == benchmark]
        for look, (part, marks) in enumerate(own.groupby("part", sort=True)):
            center = marks[["a", "b"]].to_numpy().T
            low, high = (marks[[f"a_{end}", f"b_{end}"]].to_numpy().T for end in ("low", "high"))
            reach = np.stack([center - low, high - center])
            color = SPARE_COLORS[look * 2]
            bars = {"ecolor": color, "elinewidth": 0.8, "alpha": 0.45, "fmt": "none"}
            ax.errorbar(center[1], center[0], reach[:, 0], reach[:, 1], **bars)
            face = {"markerfacecolor": PAPER if look else color, "color": color, "markersize": 5}
            ax.plot(center[1], center[0], MARKERS[look], linestyle="", label=part or "all items", **face)
        ax.set(title=title, xlabel="difficulty b", yscale="log")
        ax.set_yticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
        ax.legend(loc="upper right", fontsize=9, handletextpad=0.1, borderpad=0.1)
    for ax in axes.flat[len(titles) :]:
        ax.remove()
    for ax in axes[:, 0]:
        ax.set_ylabel("discrimination a")
    return fig


def length_curves(curves: "pd.DataFrame", titles: Mapping[str, str], target: float) -> "Figure":
    """Agreement against the number of items, a panel per benchmark, a line per scheme.

    Parameters
    ----------
    curves : columns benchmark, scheme, items, agreement.
    titles : benchmark → panel title.
    target : agreement at which a dashed line is drawn.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(titles), sharex=True, sharey=True, figsize=(WIDTH, 3.1))
    strokes = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (3, 1, 1, 1)))
    for ax, (benchmark, title) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        own = curves[curves["benchmark"] == benchmark]
        ax.axhline(target, color=MUTED, linewidth=1)
        for look, (scheme, line) in enumerate(own.groupby("scheme", sort=False)):
            color = (*SPARE_COLORS[:3:2], MUTED)[look % 3]
            ax.plot(line["items"], line["agreement"], color=color, linestyle=strokes[look], label=scheme)
        ax.set_title(title, fontsize=10.5)
        ax.set(xlabel="items asked")
    np.atleast_1d(axes)[0].set_ylabel("agreement within a model")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return fig
