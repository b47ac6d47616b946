"""Figures of the pages on public logits and on trends over size."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MUTED, PAPER, SPARE_COLORS, WIDTH, model_colors, model_markers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def agreement_strips(points: "pd.DataFrame", rows: Sequence[str], columns: Mapping[str, str]) -> "Figure":
    """Agreement of clusters with known groupings, a panel per grouping, a lane of marks per support.

    Parameters
    ----------
    points : columns support and those of `columns`.
    rows : supports, from above.
    columns : column → title of its panel.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(columns), sharex=True, sharey=True, figsize=(WIDTH, 2.5))
    for ax, (column, title) in zip(np.atleast_1d(axes), columns.items(), strict=True):
        ax.axvline(0, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
        for lane, support in enumerate(rows):
            own = points.loc[points["support"] == support, column].to_numpy()
            at = lane + 0.06 * (np.arange(len(own)) % 7 - 3)
            ax.plot(own, at, "os"[lane % 2], color=SPARE_COLORS[2 * lane], markersize=4.5, alpha=0.75)
        ax.set(title=title, xlabel="adjusted Rand index", ylim=(len(rows) - 0.5, -0.5))
        ax.grid(visible=False, axis="y")
    np.atleast_1d(axes)[0].set_yticks(range(len(rows)), rows)
    return fig


def evenness_by_accuracy(points: "pd.DataFrame", at_uniform: float) -> "Figure":
    """HARMONY against accuracy, a mark per configuration, above what equally hard subjects would give.

    Parameters
    ----------
    points : columns accuracy, value, binomial_mean and format ("plain" or "chat").
    at_uniform : H at equal accuracy in all clusters, a dashed line.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.6))
    line = points.sort_values("accuracy")
    ax.plot(line["accuracy"], line["binomial_mean"], "_", color=MUTED, markersize=6)
    looks = {"plain": ("o", SPARE_COLORS[2], SPARE_COLORS[2]), "chat": ("s", SPARE_COLORS[1], PAPER)}
    for kind, (marker, color, face) in looks.items():
        own = points[points["format"] == kind]
        label = f"prompt in {'plain text' if kind == 'plain' else 'chat format'}"
        ax.plot(own["accuracy"], own["value"], marker, color=color, markerfacecolor=face, ls="", label=label)
    ax.axhline(at_uniform, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    look = {"color": MUTED, "fontsize": 9.5}
    right = points["accuracy"].max()
    ax.text(right, at_uniform + 0.004, "equal accuracy", va="bottom", ha="right", **look)
    ax.text(right, line["binomial_mean"].iloc[-1] - 0.012, "and with noise", va="top", ha="right", **look)
    ax.set(xlabel="accuracy over all items", ylabel="HARMONY by subject, H")
    ax.legend(loc="lower left")
    return fig


def harness_strips(points: "pd.DataFrame", bars: "pd.DataFrame") -> "Figure":
    """HARMONY of each model's configurations in a row, and how far items alone would move one of them.

    Parameters
    ----------
    points : columns model, format ("plain" or "chat"), value.
    bars : columns model, middle and reach, in the order of the rows from above.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 0.9 + 0.23 * len(bars)))
    for height, row in enumerate(bars.itertuples()):
        ends = [row.middle - row.reach, row.middle + row.reach]
        ax.plot(ends, [height] * 2, color=MUTED, linewidth=6, alpha=0.35, solid_capstyle="butt")
        for kind, marker, color in (("plain", "o", SPARE_COLORS[2]), ("chat", "s", SPARE_COLORS[1])):
            own = points.loc[(points["model"] == row.model) & (points["format"] == kind), "value"]
            face = color if kind == "plain" else PAPER
            label = None if height else {"plain": "plain text", "chat": "chat format"}[kind]
            look = {"markerfacecolor": face, "markersize": 4.5, "label": label}
            ax.plot(own, np.full(len(own), height), marker, color=color, linestyle="", **look)
    ax.set_yticks(range(len(bars)), bars["model"], fontsize=9)
    ax.set(xlabel="HARMONY by subject, H", ylim=(len(bars) - 0.4, -0.6))
    ax.grid(visible=False, axis="y")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper right", ncols=2, fontsize=10)
    return fig


def size_lines(points: "pd.DataFrame", families: Sequence[str], rows: Mapping[str, str]) -> "Figure":
    """HARMONY against size, a column of panels per family, a row per partition, a line per kind of model.

    Parameters
    ----------
    points : columns partition, family, kind ("base" or "chat"), parameters in billions, value, and
        low and high, the interval over items.
    families : columns from the left.
    rows : partition → label of its axis, from above.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter, NullLocator

    shape = {"sharex": True, "sharey": "row", "squeeze": False, "figsize": (WIDTH, 0.8 + 1.9 * len(rows))}
    fig, axes = plt.subplots(len(rows), len(families), **shape)
    looks = {"base": ("o", SPARE_COLORS[2], "-"), "chat": ("s", SPARE_COLORS[1], (0, (4, 2)))}
    for line, (partition, label) in zip(axes, rows.items(), strict=True):
        for ax, family in zip(line, families, strict=True):
            for kind, (marker, color, stroke) in looks.items():
                mine = (points["partition"] == partition) & (points["family"] == family)
                own = points[mine & (points["kind"] == kind)].sort_values("parameters")
                look = {"color": color, "linestyle": stroke, "linewidth": 1.4, "markersize": 4, "label": kind}
                face = color if kind == "base" else PAPER
                ax.vlines(own["parameters"], own["low"], own["high"], color=color, linewidth=1.2)
                ax.plot(own["parameters"], own["value"], marker=marker, markerfacecolor=face, **look)
            ax.set(xscale="log")
            ax.set_xticks([2, 7, 70], ["2", "7", "70"])
            ax.xaxis.set_minor_locator(NullLocator())
            ax.xaxis.set_minor_formatter(NullFormatter())
        line[0].set_ylabel(label)
    for ax, family in zip(axes[0], families, strict=True):
        ax.set_title(family, fontsize=10.5, color=INK)
    axes[-1][len(families) // 2].set_xlabel("billion parameters")
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return fig


def recorded_points(points: "pd.DataFrame", titles: Mapping[str, str], short: Mapping[str, str]) -> "Figure":
    """HARMONY of a few models against size, a panel per benchmark; no line, since they are no family.

    Parameters
    ----------
    points : columns benchmark, model, parameters in billions, value, low, high.
    titles : benchmark → panel title.
    short : model → name in the legend.
    """
    import matplotlib.pyplot as plt

    n_columns = min(3, len(titles))
    n_rows = -(-len(titles) // n_columns)
    shape = {"sharex": True, "sharey": True, "squeeze": False, "figsize": (WIDTH, 0.9 + 1.5 * n_rows)}
    fig, axes = plt.subplots(n_rows, n_columns, **shape)
    models = list(dict.fromkeys(points.sort_values("parameters")["model"]))
    colors, markers = model_colors(models), model_markers(models)
    handles = {}
    for ax, (benchmark, title) in zip(axes.flat, titles.items(), strict=False):
        own = points[points["benchmark"] == benchmark]
        for row in own.itertuples():
            ax.plot([row.parameters] * 2, [row.low, row.high], color=colors[row.model], linewidth=1.2)
            (mark,) = ax.plot(row.parameters, row.value, markers[row.model], color=colors[row.model])
            handles[row.model] = mark
        ax.set(xscale="log", ylim=(-0.03, 1.03), xlim=(0.1, 2))
        ax.set_xticks([0.1, 0.3, 1], ["0.1", "0.3", "1"])
        ax.minorticks_off()
        ax.set_title(title, fontsize=10.5)
    for ax in axes.flat[len(titles) :]:
        ax.remove()
    for ax in axes[:, 0]:
        ax.set_ylabel("HARMONY H")
    for ax in axes.flat[max(0, len(titles) - n_columns) : len(titles)]:
        ax.set_xlabel("billion parameters", fontsize=10)
    names = [short.get(model, model) for model in handles]
    fig.legend(handles.values(), names, loc="outside upper left", ncols=4, handletextpad=0.1, columnspacing=1)
    return fig
