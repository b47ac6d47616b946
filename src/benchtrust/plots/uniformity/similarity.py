"""Figures of the page on similarity and partition."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MARKERS, MODEL_COLORS, MUTED, SPARE_COLORS, WIDTH

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_COLORS = (*MODEL_COLORS.values(), *SPARE_COLORS)


def affinity_heatmaps(affinities: Mapping[str, np.ndarray], labels: Mapping[str, np.ndarray]) -> "Figure":
    """Similarities of items sorted by cluster, a panel per support; lines part the clusters.

    Parameters
    ----------
    affinities : title → (n, n) similarities.
    labels : title → (n,) clusters, by which rows and columns are sorted.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(affinities), figsize=(WIDTH, 3.1), squeeze=False)
    for ax, (title, affinity) in zip(axes[0], affinities.items(), strict=True):
        order = np.argsort(labels[title], kind="stable")
        image = ax.imshow(affinity[np.ix_(order, order)], cmap="cividis", vmin=0, vmax=1)
        edges = np.cumsum(np.bincount(labels[title]))[:-1] - 0.5
        for edge in edges:
            ax.axhline(edge, color="white", linewidth=0.7)
            ax.axvline(edge, color="white", linewidth=0.7)
        ax.set_title(title, fontsize=9.5)
        ax.set(xticks=[], yticks=[], xlabel=f"{len(order)} items, by cluster")
        ax.grid(visible=False)
    bar = fig.colorbar(image, ax=axes[0], shrink=0.75, pad=0.02)
    bar.set_label("similarity S")
    bar.outline.set_visible(False)
    return fig


def embedding_scatter(points: "pd.DataFrame") -> "Figure":
    """Second and third coordinate of the spectral embedding, a mark per item, a panel per support.

    Parameters
    ----------
    points : columns support, x, y, cluster (0, 1, …, the largest first).
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(points["support"]))
    fig, axes = plt.subplots(1, len(names), figsize=(WIDTH, 3.0), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        own = points[points["support"] == name]
        for cluster, items in own.groupby("cluster"):
            look = {"color": _COLORS[cluster % len(_COLORS)], "marker": MARKERS[cluster % 7]}
            ax.plot(items["x"], items["y"], linestyle="", markersize=4, alpha=0.75, **look)
        ax.set_title(f"{name}, k = {own['cluster'].nunique()}", fontsize=9.5)
        ax.set(xlabel="coordinate 2", xticks=[], yticks=[])
    axes[0][0].set_ylabel("coordinate 3")
    return fig


def silhouette_lines(sweep: "pd.DataFrame") -> "Figure":
    """Mean silhouette by number of clusters, a panel per support, and the largest without clusters (dashed).

    Parameters
    ----------
    sweep : columns support, k, silhouette, null (NaN if none was drawn).
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(sweep["support"]))
    fig, axes = plt.subplots(1, len(names), sharey=True, figsize=(WIDTH, 2.9), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        own = sweep[sweep["support"] == name]
        best = own.loc[own["silhouette"].idxmax()]
        ax.plot(own["k"], own["silhouette"], "-", color=_COLORS[1])
        ax.plot(best["k"], best["silhouette"], "o", color=_COLORS[1], markersize=7)
        line = own["null"].iloc[0]
        if np.isfinite(line):
            ax.axhline(line, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
            away = {"xytext": (0, 3), "textcoords": "offset points", "fontsize": 9, "color": MUTED}
            ax.annotate("without clusters", (own["k"].max(), line), ha="right", va="bottom", **away)
        ax.set_title(f"{name}\nlargest at k = {best['k']:.0f}", fontsize=9.5)
        ax.set(xlabel="clusters k", xticks=[k for k in (2, 5, 10, 15, 20) if k <= own["k"].max()])
    axes[0][0].set_ylim(min(0, sweep["silhouette"].min()), 1.1 * sweep[["silhouette", "null"]].max(axis=None))
    axes[0][0].set_ylabel("mean silhouette")
    return fig


def agreement_map(agreement: "pd.DataFrame", labels: Mapping[str, str]) -> "Figure":
    """Agreement of clusters with known labels: a row per benchmark and model, a column per label.

    Parameters
    ----------
    agreement : columns title, and one of adjusted Rand indices per label, NaN where the label is constant.
    labels : column → its name.
    """
    import matplotlib.pyplot as plt

    values = agreement[[*labels]].to_numpy(dtype="float64")
    fig, ax = plt.subplots(figsize=(WIDTH, 1.3 + 0.27 * len(values)))
    ax.imshow(np.ma.masked_invalid(values), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            words = f"{value:.2f}".replace("-", "−")
            ax.text(
                column,
                row,
                words,
                ha="center",
                va="center",
                fontsize=8.5,
                color="white" if value < 0.6 else "#1b1b1b",
            )
        else:
            ax.text(column, row, "·", ha="center", va="center", color=MUTED)
    ax.set_xticks(range(len(labels)), labels.values(), color=INK, fontsize=9)
    ax.set_yticks(range(len(values)), agreement["title"], fontsize=9)
    ax.xaxis.tick_top()
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return fig
