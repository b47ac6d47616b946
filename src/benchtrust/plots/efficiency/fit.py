"""Figures of the page on fit."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import MUTED, PAPER, SPARE_COLORS, WIDTH

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def scree_bands(scree: "pd.DataFrame", titles: Mapping[str, str], n: int = 8) -> "Figure":
    """Largest eigenvalues of the answers' correlations, a panel per benchmark, on the band of one ability.

    Parameters
    ----------
    scree : columns benchmark, component, observed, low, high, as shares of all eigenvalues.
    titles : benchmark → panel title.
    n : components to show.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    fig, axes = plt.subplots(1, len(titles), sharey=True, figsize=(WIDTH, 3.1), squeeze=False)
    for ax, (benchmark, title) in zip(axes[0], titles.items(), strict=True):
        own = scree[(scree["benchmark"] == benchmark) & (scree["component"] <= n)]
        ax.bar(own["component"], own["high"] - own["low"], 0.7, own["low"], color=MUTED, alpha=0.45)
        outside = (own["observed"] < own["low"]) | (own["observed"] > own["high"])
        for which, face in ((outside, SPARE_COLORS[0]), (~outside, PAPER)):
            ax.plot(
                own.loc[which, "component"],
                own.loc[which, "observed"],
                "o",
                color=SPARE_COLORS[0],
                markerfacecolor=face,
                markersize=6.5,
            )
        ax.set(title=title, xlabel="eigenvalue", xlim=(0.3, n + 0.7), xticks=range(1, n + 1))
        ax.title.set_fontsize(10.5)
        ax.grid(visible=False, axis="x")
    axes[0, 0].set_ylim(
        0, 1.1 * scree.loc[scree["benchmark"].isin(titles), ["observed", "high"]].max(axis=None)
    )
    axes[0, 0].yaxis.set_major_formatter(PercentFormatter(1, 0))
    axes[0, 0].set_ylabel("share of the variance")
    return fig


def gain_intervals(gains: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """What each model of the answers saves on held-out answers, with intervals, a row per benchmark.

    Parameters
    ----------
    gains : columns benchmark, comparison, difference, low, high (nats per answer; above 0 is a gain).
    titles : benchmark → label, from above.
    """
    import matplotlib.pyplot as plt

    comparisons = list(dict.fromkeys(gains["comparison"]))
    fig, axes = plt.subplots(
        1, len(comparisons), sharey=True, figsize=(WIDTH, 1.4 + 0.45 * len(titles)), squeeze=False
    )
    places = np.arange(len(titles))[::-1]
    for ax, comparison, color in zip(axes[0], comparisons, SPARE_COLORS, strict=False):
        own = gains[gains["comparison"] == comparison].set_index("benchmark").loc[[*titles]]
        reach = np.abs(own[["low", "high"]].to_numpy().T - own["difference"].to_numpy())
        ax.errorbar(own["difference"], places, xerr=reach, fmt="o", color=color, elinewidth=2, markersize=7)
        ax.axvline(0, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
        ax.set(title=comparison, xlabel="log-loss saved, nats per answer", ylim=(-0.6, len(titles) - 0.4))
        ax.grid(visible=False, axis="y")
        ax.locator_params(axis="x", nbins=4)
    axes[0, 0].set_yticks(places, titles.values())
    return fig


def halves_scatter(halves: "pd.DataFrame", panels: Mapping[str, str]) -> "Figure":
    """Parameters of items calibrated on two halves of the respondents: a above, b below, a column per panel.

    Parameters
    ----------
    halves : columns panel, a_first, a_second, b_first, b_second.
    panels : panel → title.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(2, len(panels), sharex="row", sharey="row", figsize=(WIDTH, 5.6), squeeze=False)
    for column, ((panel, title), color) in enumerate(zip(panels.items(), SPARE_COLORS, strict=False)):
        own = halves[halves["panel"] == panel]
        for ax, name in zip(axes[:, column], ("a", "b"), strict=True):
            ax.plot(own[f"{name}_first"], own[f"{name}_second"], "o", color=color, alpha=0.35, markersize=4)
            rho = own[f"{name}_first"].corr(own[f"{name}_second"], method="spearman")
            ax.text(0.04, 0.95, f"ρ = {rho:.2f}", transform=ax.transAxes, va="top", fontsize=10)
            ax.set_xlabel(f"{name}, first half")
        axes[0, column].set_title(title)
    for ax, name in zip(axes[:, 0], ("a", "b"), strict=True):
        ax.set_ylabel(f"{name}, second half")
    for ax in axes[0]:
        ax.set(xscale="log", yscale="log")
        _plain_ticks(ax.xaxis, (0.5, 1, 2, 5))
        _plain_ticks(ax.yaxis, (0.5, 1, 2, 5))
    for ax in axes.flat:
        low, high = min(ax.get_xlim()[0], ax.get_ylim()[0]), max(ax.get_xlim()[1], ax.get_ylim()[1])
        ax.plot([low, high], [low, high], color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        ax.set(xlim=(low, high), ylim=(low, high))
    return fig


def discrimination_steps(items: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """Distribution of a over items, of the answers and of shuffled ones, a panel per benchmark.

    Parameters
    ----------
    items : columns benchmark, kind ("answers" or "shuffled"), a.
    titles : benchmark → panel title.
    """
    import matplotlib.pyplot as plt

    n_rows = -(-len(titles) // 2)
    size = (WIDTH, 0.8 + 2.1 * n_rows)
    fig, axes = plt.subplots(n_rows, 2, sharex=True, sharey=True, figsize=size, squeeze=False)
    looks = {"answers": (SPARE_COLORS[5], "-"), "shuffled": (SPARE_COLORS[1], (0, (3, 2)))}
    for ax, (benchmark, title) in zip(axes.flat, titles.items(), strict=False):
        for kind, (color, line) in looks.items():
            own = items.loc[(items["benchmark"] == benchmark) & (items["kind"] == kind), "a"].sort_values()
            ax.plot(own, np.arange(1, len(own) + 1) / len(own), color=color, linestyle=line)
            ax.annotate(
                kind,
                xy=(own.median(), 0.5),
                xytext=(6, -4) if kind == "answers" else (6, 14),
                textcoords="offset points",
                fontsize=9.5,
            )
        ax.set_title(title)
        ax.set_xscale("log")
        _plain_ticks(ax.xaxis, (0.05, 0.2, 1, 5))
    for ax in axes.flat[len(titles) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("discrimination a")
    fig.supylabel("share of the items below", fontsize=11)
    return fig


def _plain_ticks(axis: "Axis", ticks: Sequence[float]) -> None:
    """These ticks on a logarithmic axis, as plain numbers."""
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_ticks([], minor=True)
