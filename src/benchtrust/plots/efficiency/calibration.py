"""Figures of the pages on calibration and saturation."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import GRID, INK, MODEL_COLORS, MUTED, PAPER, WIDTH, simulated_tag

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _ORANGE = MODEL_COLORS["Qwen2.5-Coder-0.5B-Instruct"], MODEL_COLORS["SmolLM2-135M-Instruct"]


def item_curves(curves: "pd.DataFrame") -> "Figure":
    """Chance of a right answer and information of two items against ability; their sum dotted.

    Parameters
    ----------
    curves : columns item, a, b, theta, probability, information.
    """
    import matplotlib.pyplot as plt

    fig, (chance, told) = plt.subplots(1, 2, figsize=(WIDTH, 3.0))
    looks = ((_BLUE, "-", 0.72, "right"), (_ORANGE, (0, (5, 3)), 0.28, "left"))
    for (name, own), (color, line, height, side) in zip(
        curves.groupby("item", sort=False), looks, strict=True
    ):
        for ax, column in ((chance, "probability"), (told, "information")):
            ax.plot(own["theta"], own[column], color=color, linestyle=line)
        a, b = own[["a", "b"]].iloc[0]
        where = (b + np.log(height / (1 - height)) / a, height)
        words = f"{name}\na = {a:g}, b = {b:g}".replace("-", "−")
        away = {"xytext": (-7 if side == "right" else 7, 0), "textcoords": "offset points", "fontsize": 9}
        chance.annotate(words, where, ha=side, va="center", **away)
        chance.plot([b, b], [0, 0.5], color=color, linewidth=1, linestyle=":")
        ground = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
        told.text(b, a**2 / 8, name, ha="center", va="center", fontsize=9, bbox=ground)
    both = curves.groupby("theta")["information"].sum()
    told.plot(both.index, both, color=INK, linewidth=1.2, linestyle=(0, (1, 2)))
    away = {"xytext": (8, 0), "textcoords": "offset points", "fontsize": 9}
    told.annotate("both", (both.idxmax(), both.max()), va="center", **away)
    chance.set(title="chance of a right answer", xlabel="ability θ", ylim=(-0.02, 1.02))
    told.set(title="information", xlabel="ability θ", ylim=(0, both.max() * 1.12))
    return fig


def recovery_scatter(estimates: "pd.DataFrame") -> "Figure":
    """Estimated against true parameters, a row per parameter and a column per number of respondents.

    Parameters
    ----------
    estimates : columns respondents, parameter (``a`` or ``b``), true, estimate.
    """
    import matplotlib.pyplot as plt

    sizes = sorted(estimates["respondents"].unique())
    size = (WIDTH, 0.6 + 2.7 * 2)
    fig, grid = plt.subplots(2, len(sizes), sharex="row", sharey="row", figsize=size, squeeze=False)
    words = {"a": "discrimination a", "b": "difficulty b"}
    for row, (parameter, word) in zip(grid, words.items(), strict=True):
        for ax, n in zip(row, sizes, strict=True):
            own = estimates[(estimates["parameter"] == parameter) & (estimates["respondents"] == n)]
            ax.plot(own["true"], own["estimate"], "o", color=_BLUE, markersize=3.5, alpha=0.6)
            ax.axline((1, 1), slope=1, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
            ax.set(xlabel=f"{word}, true")
            if parameter == "a":
                ax.set_title(f"{n:,} respondents", fontsize=10.5)
        row[0].set_ylabel(f"{word}, estimated")
    simulated_tag(grid[0][-1])
    return fig


def prior_ranges(items: "pd.DataFrame") -> "Figure":
    """Discriminations, and distances of difficulties from 0, with and without priors: ranges and medians.

    Parameters
    ----------
    items : columns benchmark, a, b, a_free, b_free; the last two without priors.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(items["benchmark"]))
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(WIDTH, 1.3 + 0.5 * len(names)))
    for ax, parameter in zip(axes, "ab", strict=True):
        for row, name in enumerate(names):
            own = items[items["benchmark"] == name]
            for shift, column, color, marker in ((-0.18, "", _BLUE, "o"), (0.18, "_free", _ORANGE, "D")):
                least, low, median, high, most = (
                    own[parameter + column].abs().quantile([0, 0.05, 0.5, 0.95, 1])
                )
                ax.hlines(row + shift, least, most, color=color, linewidth=1)
                ax.hlines(row + shift, low, high, color=color, linewidth=4)
                ax.plot(median, row + shift, marker, color=color, markersize=6, markeredgecolor=PAPER)
        ax.set(xscale="log", ylim=(len(names) - 0.5, -0.5))
        ax.grid(visible=False, axis="y")
        for border in np.arange(1, len(names)) - 0.5:
            ax.axhline(border, color=GRID, linewidth=0.8)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set(title="discrimination a", xlabel="a, log scale")
    axes[1].set(title="distance of difficulty b from 0", xlabel="|b|, log scale")
    for height, word in ((-0.18, "priors"), (0.18, "none")):
        axes[1].annotate(
            word,
            xy=(1, height),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            annotation_clip=False,
        )
    return fig


def item_map(items: "pd.DataFrame") -> "Figure":
    """Discrimination against difficulty, a mark per item, a panel per benchmark; the SE of b of every tenth.

    Parameters
    ----------
    items : columns benchmark, a, b, se_b.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(items["benchmark"]))
    n_rows = -(-len(names) // 2)
    size = (WIDTH, 0.5 + 2.4 * n_rows)
    fig, grid = plt.subplots(n_rows, 2, sharex=True, sharey=True, figsize=size, squeeze=False)
    for ax in grid.flat[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(grid.flat, names, strict=False):
        own = items[items["benchmark"] == name]
        some = own.sort_values("b").iloc[::10]
        ax.hlines(some["a"], some["b"] - some["se_b"], some["b"] + some["se_b"], color=_ORANGE, linewidth=1)
        ax.plot(own["b"], own["a"], "o", color=_BLUE, markersize=3, alpha=0.6, markeredgewidth=0)
        ax.set_title(f"{name}, {len(own)} items", fontsize=10.5)
        ax.set(yscale="log", xlabel="difficulty b ± SE")
        ax.label_outer()
        ax.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        ax.minorticks_off()
    for ax in grid[:, 0]:
        ax.set_ylabel("discrimination a")
    return fig


def theta_by_score(abilities: "pd.DataFrame", ceiling: float) -> "Figure":
    """Ability ± SE against the score, and against the count of unsafe answers; filled above the ceiling.

    Parameters
    ----------
    abilities : columns benchmark, score, unsafe (number of answers), theta, se.
    ceiling : score above which a model counts as saturated.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(abilities["benchmark"]))
    fig, grid = plt.subplots(2, len(names), sharey=True, figsize=(WIDTH, 5.4), squeeze=False)
    for (top, bottom), name in zip(grid.T, names, strict=True):
        own = abilities[abilities["benchmark"] == name]
        for ax, column in ((top, "score"), (bottom, "unsafe")):
            for above, fill in ((False, "none"), (True, _BLUE)):
                rows = own[(own["score"] > ceiling) == above]
                look = {"color": _BLUE, "markersize": 4, "ecolor": MUTED, "elinewidth": 0.8}
                ax.errorbar(rows[column], rows["theta"], rows["se"], fmt="o", markerfacecolor=fill, **look)
        top.axvline(ceiling, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        top.set(xlabel="share of safe answers", xlim=(None, 1.03))
        top.locator_params(axis="x", nbins=3)
        top.set_title(
            f"{name}\n{(own['score'] > ceiling).sum()} of {len(own)} above {ceiling:g}", fontsize=10
        )
        bottom.set_xscale("symlog", linthresh=1, linscale=0.5)
        bottom.set(xlabel="unsafe answers", xlim=(1.5 * own["unsafe"].max(), -0.4))
        ticks = [tick for tick in (0, 1, 10, 100, 1000) if tick <= own["unsafe"].max()]
        bottom.set_xticks(ticks, map(str, ticks))
        bottom.minorticks_off()
    for ax in grid[:, 0]:
        ax.set_ylabel("ability θ ± SE")
    return fig


def information_and_models(curves: "pd.DataFrame", abilities: "pd.DataFrame", ceiling: float) -> "Figure":
    """Test information against ability, a panel per benchmark; below, a tick where each model stands.

    Parameters
    ----------
    curves : columns benchmark, theta, information.
    abilities : columns benchmark, theta, score.
    ceiling : score above which a model counts as saturated.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(curves["benchmark"]))
    fig, axes = plt.subplots(1, len(names), figsize=(WIDTH, 2.9))
    for ax, name in zip(np.atleast_1d(axes), names, strict=True):
        line = curves[curves["benchmark"] == name]
        own = abilities[abilities["benchmark"] == name]
        ax.plot(line["theta"], line["information"], color=_BLUE)
        top = line["information"].max()
        for above, height, color in ((False, -0.12, MUTED), (True, -0.25, _ORANGE)):
            there = own.loc[(own["score"] > ceiling) == above, "theta"]
            ax.plot(
                there, np.full(len(there), height * top), "|", color=color, markersize=8, markeredgewidth=1.1
            )
        ax.set(xlabel="ability θ", ylim=(-0.34 * top, 1.08 * top))
        ax.set_xticks([-4, -2, 0, 2, 4])
        ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
        ax.set_title(name, fontsize=10.5)
    first = np.atleast_1d(axes)[0]
    first.set_ylabel("test information")
    _tick_words(first, ceiling)
    return fig


def _tick_words(ax: "Axes", ceiling: float) -> None:
    """Say at the left end what the two rows of ticks are."""
    top = ax.get_ylim()[1] / 1.08
    for height, word in ((-0.12, f"≤ {ceiling:g}"), (-0.25, f"> {ceiling:g}")):
        ax.annotate(
            word,
            xy=(0, height * top),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=9,
            color=MUTED,
        )


def theta_ranges(ranges: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """Range of θ of the saturated models by priors, a panel per benchmark; the tick is the median.

    Parameters
    ----------
    ranges : columns benchmark, priors, low, median, high.
    titles : priors → words at the axis, in order from above.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(ranges["benchmark"]))
    size = (WIDTH, 1.3 + 0.32 * len(titles))
    fig, axes = plt.subplots(1, len(names), sharex=True, sharey=True, figsize=size)
    heights = range(len(titles))
    for ax, name in zip(np.atleast_1d(axes), names, strict=True):
        own = ranges[ranges["benchmark"] == name].set_index("priors").loc[[*titles]]
        ax.hlines(heights, own["low"], own["high"], color=_BLUE, linewidth=3)
        ax.plot(own["median"], heights, "s", color=_BLUE, markersize=6, markeredgecolor=PAPER)
        ax.set_title(name, fontsize=10.5)
        ax.set(xlabel="θ", ylim=(len(titles) - 0.5, -0.5))
    np.atleast_1d(axes)[0].set_yticks(heights, titles.values())
    return fig
