"""Figures of the pages on adaptive tests and static subsets."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import GRID, INK, MARKERS, MUTED, SPARE_COLORS, WIDTH, label_lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_DASHED = (0, (4, 3))
_Z95 = 1.96


# ---------------------------------------------------------------- adaptive tests


def adaptive_path(steps: "pd.DataFrame", full: float, n_items: int) -> "Figure":
    """Ability after each step of one adaptive test, with its 95 % band and the difficulty of each item asked.

    Parameters
    ----------
    steps : columns step, b, answer (1 right, 0 wrong), theta, se.
    full, n_items : ability on all items, drawn as a line, and how many these are.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    fig, ax = plt.subplots(figsize=(WIDTH, 4.2))
    step, last = steps["step"], steps.iloc[-1]
    low, high = steps["theta"] - _Z95 * steps["se"], steps["theta"] + _Z95 * steps["se"]
    ax.fill_between(step, low, high, color=SPARE_COLORS[2], alpha=0.25, linewidth=0)
    ax.plot(step, steps["theta"], color=SPARE_COLORS[2], linewidth=2.4)
    ax.axhline(full, color=MUTED, linewidth=1.2, linestyle=_DASHED, zorder=1)
    for answer, marker, color in ((1, "o", SPARE_COLORS[5]), (0, "X", SPARE_COLORS[0])):
        own = steps[steps["answer"] == answer]
        label = f"item asked, {'safe' if answer else 'unsafe'} answer"
        ax.plot(own["step"], own["b"], marker, color=color, markersize=8, label=label)
    ends = {
        "θ̂ with\n95 % band": (last["step"], last["theta"]),
        f"θ̂ on all\n{n_items} items": (last["step"], full),
    }
    ax.set(xlabel="step", ylabel="ability θ̂ and difficulty b (logits)")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    label_lines(ax, ends, dict(zip(ends, (SPARE_COLORS[2], MUTED), strict=True)), gap=0.13)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=2, handletextpad=0.2)
    return fig


def short_against_full(tests: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """Ability after k items against that on all items: a row per benchmark, a column per k, a mark per model.

    Parameters
    ----------
    tests : columns benchmark, k, theta, se, full.
    titles : benchmark → label of its row.
    """
    import matplotlib.pyplot as plt

    sizes = list(dict.fromkeys(tests["k"]))
    size = (WIDTH, 0.8 + 1.75 * len(titles))
    fig, grid = plt.subplots(len(titles), len(sizes), sharex="row", sharey="row", figsize=size, squeeze=False)
    for row, (benchmark, title) in zip(grid, titles.items(), strict=True):
        of = tests[tests["benchmark"] == benchmark]
        ends = of["full"].min() - 0.2, of["full"].max() + 0.2
        for ax, k in zip(row, sizes, strict=True):
            own = of[of["k"] == k]
            if own.empty:
                ax.set_axis_off()
                continue
            look = {"color": SPARE_COLORS[2], "markersize": 4, "elinewidth": 1, "alpha": 0.8}
            ax.errorbar(own["full"], own["theta"], _Z95 * own["se"], fmt="o", **look)
            ax.plot(ends, ends, color=MUTED, linewidth=1.2, linestyle=_DASHED, zorder=1)
        row[0].set_ylabel(f"{title}\nθ̂ after k items", fontsize=9.5)
    for ax, k in zip(grid[0], sizes, strict=True):
        ax.set_title(f"k = {k}", fontsize=10.5)
    for ax in grid[-1]:
        ax.set_xlabel("θ̂ on all", fontsize=9.5)
    return fig


def stopping(
    lengths: "pd.DataFrame", least: "pd.DataFrame", titles: Mapping[str, str], stop_se: float
) -> "Figure":
    """Items until a standard error is reached, and the least error that all items allow, over ability.

    Parameters
    ----------
    lengths : columns benchmark, full (ability), n_asked, se, outcome (``reached``, or why not).
    least : columns benchmark, theta, se: the error of a test of all items.
    titles : benchmark → title of its column.
    stop_se : the rule.
    """
    import matplotlib.pyplot as plt

    fig, grid = plt.subplots(2, len(titles), sharex=True, sharey="row", figsize=(WIDTH, 5.2), squeeze=False)
    looks = {"stopped by the rule": ("o", SPARE_COLORS[2]), "not stopped by it": ("X", SPARE_COLORS[0])}
    for top, bottom, (benchmark, title) in zip(*grid, titles.items(), strict=True):
        own, curve = lengths[lengths["benchmark"] == benchmark], least[least["benchmark"] == benchmark]
        for label, (marker, color) in looks.items():
            part = own[(own["outcome"] == "reached") == (label == "stopped by the rule")]
            top.plot(part["full"], part["n_asked"], marker, color=color, alpha=0.8)
            bottom.plot(part["full"], part["se"], marker, color=color, alpha=0.8, label=label)
        bottom.plot(curve["theta"], curve["se"], color=MUTED, label="least error, all items asked")
        bottom.axhline(stop_se, color=INK, linewidth=1.2, linestyle=_DASHED, label="the rule")
        top.set_title(title, fontsize=10.5)
        top.set_yscale("log")
        top.yaxis.set_major_formatter("{x:g}")
        bottom.set(xlabel="θ̂ on all items", ylim=(0, 1.02))
    grid[0, 0].set_ylabel("items asked")
    grid[1, 0].set_ylabel("standard error at the end")
    fig.legend(*bottom.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return fig


def exposure_and_overlap(
    exposure: "pd.DataFrame", pairs: "pd.DataFrame", titles: Mapping[str, str]
) -> "Figure":
    """How often each item is asked, and what two tests share against how far apart their models are.

    Parameters
    ----------
    exposure : columns benchmark, rank, exposure: items from the most asked one.
    pairs : columns benchmark, gap (of the two abilities), overlap (share of common items).
    titles : benchmark → name.
    """
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.7))
    for i, (benchmark, title) in enumerate(titles.items()):
        look = {"color": SPARE_COLORS[2 * i], "marker": MARKERS[i]}
        own = exposure[(exposure["benchmark"] == benchmark) & (exposure["exposure"] > 0)]
        left.plot(own["rank"], own["exposure"], markersize=3.5, label=title, **look)
        of = pairs[pairs["benchmark"] == benchmark].sort_values("gap")
        right.plot(of["gap"], of["overlap"], look["marker"], color=look["color"], markersize=2.5, alpha=0.25)
        bands = np.array_split(of[["gap", "overlap"]].to_numpy(), 8)
        right.plot(*np.array([band.mean(axis=0) for band in bands if len(band)]).T, **look)
    left.set(xlabel="items, most asked first", ylabel="share of the models asked", ylim=(-0.03, 1.03))
    right.set(xlabel="distance of two models in θ̂", ylabel="common items of two tests", ylim=(-0.03, 1.03))
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return fig


# ---------------------------------------------------------------- static subsets


def overlap_heatmap(shares: "pd.DataFrame") -> "Figure":
    """Share of common items of each pair of subsets; methods × methods, named as they are to be shown."""
    import matplotlib.pyplot as plt
    import seaborn as sns

    fig, ax = plt.subplots(figsize=(WIDTH, 4.4))
    look = {"vmin": 0, "vmax": 1, "cmap": "viridis", "cbar": False, "annot": True, "fmt": ".2f"}
    sns.heatmap(shares, ax=ax, annot_kws={"fontsize": 9.5}, **look)
    ax.set(xlabel="", ylabel="")
    ax.grid(visible=False)
    ax.set_xticklabels(shares.columns, rotation=40, ha="right", rotation_mode="anchor")
    return fig


def subset_maps(items: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """Difficulty and discrimination of all items, those of a subset marked: a panel per subset.

    Parameters
    ----------
    items : columns a and b, and a column of booleans per subset.
    titles : subset → title of its panel.
    """
    fig, axes = _panels(titles)
    for ax, name in zip(axes, titles, strict=True):
        own = items[name].astype(bool)
        ax.plot(items["b"], items["a"], ".", color=MUTED, markersize=3, alpha=0.35)
        ax.plot(items.loc[own, "b"], items.loc[own, "a"], "o", color=SPARE_COLORS[0], markersize=4.5)
    _outer_labels(axes, "difficulty b", "discrimination a")
    return fig


def subset_information(
    curves: "pd.DataFrame", abilities: "np.ndarray", titles: Mapping[str, str]
) -> "Figure":
    """Test information of subsets over ability, a panel per subset, the others behind; ticks are the models.

    Parameters
    ----------
    curves : columns method, theta, information.
    abilities : of the models that were calibrated on.
    titles : subset → title of its panel.
    """
    fig, axes = _panels(titles)
    lines = dict(list(curves.groupby("method")))
    for ax, name in zip(axes, titles, strict=True):
        for other in titles:
            ax.plot(lines[other]["theta"], lines[other]["information"], color=GRID, linewidth=1)
        ax.plot(lines[name]["theta"], lines[name]["information"], color=SPARE_COLORS[2], linewidth=2.2)
        ax.plot(abilities, np.full(len(abilities), 0.03), "|", color=INK, transform=ax.get_xaxis_transform())
    _outer_labels(axes, "ability θ", "information")
    return fig


def rank_shifts(shifts: "pd.DataFrame") -> "Figure":
    """Places by which a subset ranks models below (+) or above (-) the whole benchmark; models × methods."""
    import matplotlib.pyplot as plt
    import seaborn as sns

    fig, ax = plt.subplots(figsize=(WIDTH, 1.4 + 0.235 * len(shifts)))
    reach = max(1, float(shifts.abs().max().max()))
    look = {"center": 0, "vmin": -reach, "vmax": reach, "cmap": "PuOr", "cbar": False}
    sns.heatmap(shifts, ax=ax, annot=True, fmt="+.3g", annot_kws={"fontsize": 8.5}, **look)
    ax.set(xlabel="", ylabel="")
    ax.grid(visible=False)
    ax.tick_params(axis="y", labelsize=8.5)
    ax.set_xticklabels(shifts.columns, rotation=40, ha="right", rotation_mode="anchor")
    return fig


def score_intervals(estimates: "pd.DataFrame", estimators: Mapping[str, str]) -> "Figure":
    """Estimated score of each model with its interval, and the score on all items as a tick.

    Parameters
    ----------
    estimates : columns model, estimator, estimate, low, high, score, in the order of the rows.
    estimators : estimator → name.
    """
    import matplotlib.pyplot as plt

    models = list(dict.fromkeys(estimates["model"]))
    fig, ax = plt.subplots(figsize=(WIDTH, 1.4 + 0.27 * len(models)))
    places = np.arange(len(models))
    for i, (estimator, name) in enumerate(estimators.items()):
        own = estimates[estimates["estimator"] == estimator].set_index("model").loc[models]
        height = places + (i - (len(estimators) - 1) / 2) * 0.36
        look = {"color": SPARE_COLORS[2 * i], "marker": MARKERS[i], "markersize": 4}
        error = [own["estimate"] - own["low"], own["high"] - own["estimate"]]
        ax.errorbar(own["estimate"], height, xerr=error, linestyle="none", elinewidth=1.3, label=name, **look)
    ax.plot(own["score"], places, "|", color=INK, markersize=13, markeredgewidth=2, label="all items")
    ax.set_yticks(places, models, fontsize=8.5)
    ax.set(xlabel="share of safe answers", ylim=(len(models) - 0.4, -0.6))
    ax.grid(visible=False, axis="y")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return fig


def coverage_by_score(
    coverage: "pd.DataFrame", designs: Mapping[str, str], estimators: Mapping[str, str], level: float
) -> "Figure":
    """Share of the samples whose interval holds a model's score, over that score; a panel per design.

    Parameters
    ----------
    coverage : columns design, estimator, score, coverage.
    designs, estimators : name → how it is to be shown.
    level : nominal coverage, a line.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(designs), sharey=True, figsize=(WIDTH, 3.5), squeeze=False)
    for ax, (design, title) in zip(axes[0], designs.items(), strict=True):
        for i, (estimator, name) in enumerate(estimators.items()):
            own = coverage[(coverage["design"] == design) & (coverage["estimator"] == estimator)]
            look = {"color": SPARE_COLORS[2 * i], "marker": MARKERS[i], "alpha": 0.85}
            ax.plot(own["score"], own["coverage"], linestyle="none", label=name, **look)
        ax.axhline(level, color=MUTED, linewidth=1.2, linestyle=_DASHED, zorder=1)
        ax.set_title(title, fontsize=10.5)
        ax.set_xlabel("share of safe answers on all items")
    axes[0, 0].set(ylabel="intervals that hold it", ylim=(-0.03, 1.03))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return fig


def anchor_starts(tries: "pd.DataFrame") -> "Figure":
    """How well subsets stand for all items, and how well they rank: anchor points and random subsets.

    Parameters
    ----------
    tries : columns kind, distance (mean, of the items from the nearest chosen one), agreement.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.5))
    for i, (kind, own) in enumerate(tries.groupby("kind", sort=False)):
        look = {"color": SPARE_COLORS[2 * i], "marker": MARKERS[i], "alpha": 0.7}
        ax.plot(own["distance"], own["agreement"], linestyle="none", label=kind, **look)
    ax.set(xlabel="mean distance 1 - r of an item from the nearest chosen one")
    ax.set(ylabel="rank agreement with\nthe whole benchmark")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return fig


def _panels(titles: Mapping[str, str]) -> tuple["Figure", "np.ndarray"]:
    """Four small panels a row, with shared axes and their titles; those too many are blank."""
    import matplotlib.pyplot as plt

    rows = -(-len(titles) // 4)
    size = (WIDTH, 0.6 + 1.75 * rows)
    fig, grid = plt.subplots(rows, 4, sharex=True, sharey=True, figsize=size, squeeze=False)
    axes = grid.ravel()
    for ax in axes[len(titles) :]:
        ax.set_axis_off()
    for ax, title in zip(axes, titles.values(), strict=False):
        ax.set_title(title, fontsize=9.5)
    return fig, axes[: len(titles)]


def _outer_labels(axes: "np.ndarray", x: str, y: str) -> None:
    for place, ax in enumerate(axes):
        ax.set_xlabel(x if place + 4 >= len(axes) else "", fontsize=9.5)
        ax.set_ylabel("" if place % 4 else y, fontsize=9.5)
