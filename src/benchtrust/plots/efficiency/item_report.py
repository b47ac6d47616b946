"""Figures of the page for a benchmark's owner."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import GRID, INK, MARKERS, MUTED, SPARE_COLORS, WIDTH, simulated_tag

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def fitted_curves(curves: "pd.DataFrame", items: "pd.DataFrame", kinds: Mapping[str, str]) -> "Figure":
    """Pass rate of each ability group against the fitted curve, a panel per item.

    Parameters
    ----------
    curves : of `irt.ItemReport`: item, theta, observed, low, high.
    items : index item; a, b.
    kinds : item → what it is an example of, in the order of the panels, three a row.
    """
    import matplotlib.pyplot as plt

    from benchtrust.irt import probability

    n_rows = -(-len(kinds) // 3)
    size = (WIDTH, 0.5 + 2.0 * n_rows)
    fig, grid = plt.subplots(n_rows, 3, sharex=True, sharey=True, figsize=size, squeeze=False)
    theta = np.linspace(curves["theta"].min() - 0.5, curves["theta"].max() + 0.5, 200)
    for ax in grid.flat[len(kinds) :]:
        ax.set_visible(False)
    for ax, (item, kind) in zip(grid.flat, kinds.items(), strict=False):
        own = curves[curves["item"] == item]
        a, b = items.loc[item, ["a", "b"]].astype(float)
        ax.fill_between(own["theta"], own["low"], own["high"], color=MUTED, alpha=0.25, linewidth=0)
        ax.plot(theta, probability(theta, a, b), color=SPARE_COLORS[2])
        ax.plot(own["theta"], own["observed"], "o", color=INK, markersize=5.5)
        ax.set_title(f"{kind}\n{_wrapped(item)}", fontsize=7.5)
        ax.set(ylim=(-0.05, 1.05))
    for ax in grid[-1]:
        ax.set_xlabel("ability θ (logits)", fontsize=10)
    for row in grid:
        row[0].set_ylabel("pass rate", fontsize=10)
    return fig


def _wrapped(item: str, width: int = 30) -> str:
    """A long name on two lines, broken at a word where it can be."""
    cut = max(item.rfind(mark, 0, width) for mark in "_- /") if len(item) > width else -1
    return f"{item}\n" if cut < 1 else f"{item[: cut + 1]}\n{item[cut + 1 :][:width]}"


def difficulty_scatter(items: "pd.DataFrame") -> "Figure":
    """Difficulty of each item against its pass rate; flagged items by mark.

    Parameters
    ----------
    items : of `irt.ItemReport`, calibrated ones: pass_rate, b, se_b, uninformative, redundant, misfitting.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.8))
    faulty = items["redundant"] | items["misfitting"]
    groups = {
        "no flag": (~faulty & ~items["uninformative"], MUTED, 0.45),
        "uninformative": (items["uninformative"] & ~faulty, SPARE_COLORS[0], 0.95),
        "redundant": (items["redundant"] & ~items["misfitting"], SPARE_COLORS[2], 0.95),
        "misfitting": (items["misfitting"], SPARE_COLORS[1], 0.95),
    }
    for marker, (label, (chosen, color, alpha)) in zip("osD^", groups.items(), strict=True):
        own = items[chosen]
        ax.vlines(
            own["pass_rate"],
            own["b"] - own["se_b"],
            own["b"] + own["se_b"],
            color=color,
            alpha=alpha / 3,
            lw=0.8,
        )
        look = {"color": color, "alpha": alpha, "markersize": 4.5, "label": f"{label} ({len(own)})"}
        ax.plot(own["pass_rate"], own["b"], marker, **look)
    ax.set(xlabel="pass rate (1 = safe)", ylabel="difficulty b (logits), ± SE", xlim=(-0.03, 1.03))
    fig.legend(loc="outside upper left", ncols=4, handletextpad=0.2, columnspacing=1.0)
    return fig


def wright_map(bins: "pd.DataFrame") -> "Figure":
    """Respondents and items along one scale, back to back, and what the test tells there.

    Parameters
    ----------
    bins : of `irt.wright_map`.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 3, sharey=True, figsize=(WIDTH, 3.6), width_ratios=(3, 3, 2))
    middle, height = (bins["low"] + bins["high"]) / 2, 0.9 * (bins["high"] - bins["low"])
    axes[0].barh(middle, bins["n_respondents"], height, color=SPARE_COLORS[2], alpha=0.85)
    axes[1].barh(middle, bins["n_items"], height, color=SPARE_COLORS[0], alpha=0.85, hatch="//")
    axes[2].plot(1 / np.sqrt(1 + bins["information"]), middle, color=INK)
    axes[0].invert_xaxis()
    axes[0].set(xlabel="models", ylabel="logits: ability θ, difficulty b")
    axes[1].set(xlabel="items")
    axes[2].set(xlabel="standard error of θ", xlim=(0, None))
    for ax in axes:
        ax.grid(visible=False, axis="y")
    return fig


def deciding_bars(items: "pd.DataFrame", first: str, second: str) -> "Figure":
    """What each item on which two models differ adds to the difference of their abilities, sorted.

    Parameters
    ----------
    items : of `irt.Deciding`: theta.
    first, second : the models.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.4))
    added = np.sort(items["theta"].to_numpy())[::-1]
    places = np.arange(1, len(added) + 1)
    for side, color, hatch in ((added > 0, SPARE_COLORS[2], None), (added < 0, SPARE_COLORS[0], "//")):
        ax.bar(places[side], added[side], 0.85, color=color, hatch=hatch, alpha=0.85)
    ax.axhline(0, color=MUTED, linewidth=0.8)
    n_first = int((added > 0).sum())
    look = {"xycoords": "axes fraction", "fontsize": 9.5}
    ax.annotate(f"{first} is right: {n_first} items", (0.99, 0.97), ha="right", va="top", **look)
    ax.annotate(f"{second} is right: {len(added) - n_first} items", (0.01, 0.03), va="bottom", **look)
    ax.set(xlabel="items on which the two differ, sorted", ylabel="adds to the difference of θ (logits)")
    ax.grid(visible=False, axis="x")
    return fig


def break_even_curves(
    costs: "pd.DataFrame", curve: "pd.DataFrame", k: int, k_random: int, n_items: int
) -> "Figure":
    """Costs of ranking later models by each strategy; and after how many of them a calibration has paid.

    Parameters
    ----------
    costs : of `irt.evaluation_costs`: strategy, n_later, cost.
    curve : k_random, n_calibration, n_star: break-even against random subsets of several sizes.
    k, k_random : measured sizes of the calibrated and the random subset.
    n_items : of the benchmark.
    """
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.9))
    dashes = ("-", "--", "-.")
    for i, (name, own) in enumerate(costs.groupby("strategy", sort=False)):
        left.plot(own["n_later"], own["cost"], dashes[i], color=SPARE_COLORS[i], label=name)
    left.set(xlabel="later models", ylabel="cost (answers)", ylim=(0, None))
    left.legend(loc="upper left", fontsize=9, borderaxespad=0)
    for i, (n, own) in enumerate(curve.groupby("n_calibration")):
        right.plot(own["k_random"], own["n_star"], MARKERS[i] + "-", color=SPARE_COLORS[3 + i], markersize=4)
        at = own.iloc[len(own) // 2]
        above = {"xytext": (9, 4), "ha": "left", "va": "bottom"}
        below = {"xytext": (-7, -4), "ha": "right", "va": "top"}
        look = {"textcoords": "offset points", "fontsize": 9} | (above if i else below)
        right.annotate(f"{n} calibrated", (at["k_random"], at["n_star"]), **look)
    right.axvspan(1, k, color=GRID, zorder=0, linewidth=0)
    right.axvline(k_random, color=INK, linewidth=1.4, linestyle=(0, (4, 3)))
    right.set(xscale="log", yscale="log", xlim=(1, n_items))
    right.set(xlabel="items of a random subset as good", ylabel="later models until it has paid")
    top = {"xycoords": ("data", "axes fraction"), "fontsize": 9, "color": INK, "va": "bottom"}
    right.annotate("never", (1.15, 0.02), **top)
    right.annotate(f" measured: {k_random}", (k_random, 1.0), **top)
    return fig


def graded_contrast(found: "pd.DataFrame") -> "Figure":
    """Recovery of simulated abilities from grades and from each cut: mean and 5 to 95 % of the draws.

    Parameters
    ----------
    found : of `irt.graded_contrast`.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(WIDTH, 2.9))
    readings = list(dict.fromkeys(found["reading"]))
    words = {"rmse": "error of θ̂ (logits, RMSE)", "spearman": "rank correlation with true θ"}
    for ax, (measure, label) in zip(axes, words.items(), strict=True):
        by_reading = found.groupby("reading")[measure]
        low, mean, high = by_reading.quantile(0.05), by_reading.mean(), by_reading.quantile(0.95)
        for place, reading in enumerate(readings):
            color, marker = (SPARE_COLORS[2], "o") if place == 0 else (SPARE_COLORS[0], "s")
            ax.hlines(place, low[reading], high[reading], color=color, linewidth=2.5, alpha=0.6)
            ax.plot(mean[reading], place, marker, color=color, markersize=7)
        ax.set(xlabel=label, ylim=(len(readings) - 0.4, -1.2))
        ax.grid(visible=False, axis="y")
    axes[0].set_yticks(range(len(readings)), [_reading(name) for name in readings])
    simulated_tag(axes[1])
    return fig


def _reading(name: str) -> str:
    return name if not name.endswith("+") else f"right from {name.removesuffix('+')} on"
