"""Figures of the part on efficiency."""

from collections.abc import Mapping, Sequence
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MARKERS, MODEL_COLORS, MUTED, SPARE_COLORS, WIDTH, simulated_tag
from benchtrust.plots import INK, MARKERS, MUTED, SPARE_COLORS, WIDTH, label_lines
from benchtrust.plots import GRID, INK, MODEL_COLORS, MUTED, PAPER, WIDTH, simulated_tag

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = {
    "adaptive": "adaptive test",
    "adaptive_ml": "adaptive, by ML",
    "total_fisher": "total Fisher",
    "marginal_fisher": "marginal Fisher",
    "marginal_fisher_quartiles": "marginal, quartiles of b",
    "disco": "DISCO",
    "anchor_points": "anchor points",
    "stratified": "stratified random",
    "aipw": "AIPW",
    "random": "random",
}
"""Methods of selection as figures and tables name them."""


def method_look(method: str) -> dict[str, object]:
    """Colour, marker and dashes of a method, the same in every figure."""
    if method == "random":
        return {"color": MUTED, "marker": "", "linestyle": (0, (4, 2))}
    place = [*METHODS].index(method)
    colors = [*MODEL_COLORS.values(), *SPARE_COLORS]
    return {"color": colors[place], "marker": MARKERS[place], "linestyle": "-"}


def agreement_curves(
    curves: "pd.DataFrame",
    limits: Mapping[str, float],
    groups: Sequence[Sequence[str]],
    target: float,
) -> "Figure":
    """Agreement by number of items: a column per benchmark, a row per group of methods, random in each.

    Parameters
    ----------
    curves : columns benchmark, method, size, agreement, agreement_low, agreement_high. The band of the first
        method of a row is drawn.
    limits : benchmark → agreement of the whole benchmark with itself.
    groups : methods of each row.
    target : agreement to reach.
    """
    import matplotlib.pyplot as plt

    shape = {"squeeze": False, "sharex": "col", "sharey": True}
    fig, axes = plt.subplots(len(groups), len(limits), figsize=(WIDTH, 1.2 + 2.3 * len(groups)), **shape)
    for row, methods in zip(axes, groups, strict=True):
        for ax, (benchmark, limit) in zip(row, limits.items(), strict=True):
            own = curves[curves["benchmark"] == benchmark]
            _method_lines(ax, own, ["random", *methods], "agreement", methods[:1])
            ax.axhline(target, color=INK, linewidth=0.9)
            ax.axhline(limit, color=INK, linewidth=1.2, linestyle=":")
            ax.set(xscale="log", ylim=(0, 1.03))
        row[0].set_ylabel("agreement, Spearman's ρ")
    for ax, benchmark in zip(axes[0], limits, strict=True):
        ax.set_title(benchmark, fontsize=10.5)
    _items_axis(axes[-1])
    _legend(fig, axes[:, 0])
    return fig


def error_curves(curves: "pd.DataFrame", methods: Sequence[str]) -> "Figure":
    """Mean absolute error of the score by number of items, a panel per benchmark.

    Parameters
    ----------
    curves : columns benchmark, method, size, error, error_low, error_high. The band of the first method is
        drawn.
    methods : which to draw.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(curves["benchmark"]))
    fig, axes = plt.subplots(1, len(names), figsize=(WIDTH, 3.5), squeeze=False, sharey=True)
    for ax, benchmark in zip(axes[0], names, strict=True):
        _method_lines(ax, curves[curves["benchmark"] == benchmark], methods, "error", methods[:1])
        ax.set_title(benchmark, fontsize=10.5)
        ax.set(xscale="log")
    axes[0, 0].set(ylabel="mean absolute error of the score", ylim=(0, None))
    _items_axis(axes[0])
    _legend(fig, axes[0, :1])
    return fig


def spread_savings(simulated: "pd.DataFrame", measured: "pd.DataFrame") -> "Figure":
    """Share of items saved by the coefficient of variation of the discriminations.

    Parameters
    ----------
    simulated : columns method, cv, saved: banks that differ in spread alone, as lines.
    measured : columns benchmark, cv, saved, saved_low, saved_high: benchmarks, as points with intervals.
from benchtrust.plots import GRID, INK, MARKERS, MUTED, SPARE_COLORS, WIDTH, simulated_tag
from benchtrust.plots import INK, MARKERS, MUTED, PAPER, SPARE_COLORS, WIDTH, model_colors, model_markers
from benchtrust.plots import GRID, INK, MARKERS, MUTED, SPARE_COLORS, WIDTH, label_lines

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
    for method, own in simulated.groupby("method", sort=False):
        look = method_look(method)
        ax.plot(own["cv"], own["saved"], label=f"{METHODS[method]}, simulated", **look)
    for one in measured.itertuples():
        ax.plot([one.cv] * 2, [one.saved_low, one.saved_high], color=INK, linewidth=1)
        ax.plot(one.cv, one.saved, "o", color=INK, markersize=6)
        ax.annotate(one.benchmark, (one.cv, one.saved), xytext=(6, 5), textcoords="offset points", fontsize=9)
    ax.set(xlabel="coefficient of variation of the discriminations", ylabel="share of items saved")
    ax.set_ylim(-0.03, 1.03)
    ax.legend(loc="lower right")
    simulated_tag(ax, "lines simulated, points measured")
    return fig


def _method_lines(
    ax: "Axes", own: "pd.DataFrame", methods: Sequence[str], measure: str, banded: Sequence[str]
) -> None:
    for method in methods:
        line, look = own[own["method"] == method], method_look(method)
        ax.plot(line["size"], line[measure], label=METHODS[method], markersize=4, linewidth=1.4, **look)
        if method in banded:
            ends = line[f"{measure}_low"], line[f"{measure}_high"]
            ax.fill_between(line["size"], *ends, color=look["color"], alpha=0.15, linewidth=0)


def _items_axis(axes: np.ndarray) -> None:
    for ax in axes:
        ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
        ax.minorticks_off()
        ax.set_xlim(0.9, 1.15 * ax.dataLim.x1)
        ax.set_xlabel("items asked")


def _legend(fig: "Figure", axes: Sequence["Axes"]) -> None:
    """Names of all lines above the panels, each once."""
    lines = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        lines |= dict(zip(labels, handles, strict=True))
    fig.legend(lines.values(), lines, loc="outside upper left", ncols=3, handlelength=2.2, columnspacing=1.2)
_COLORS = tuple(SPARE_COLORS[i] for i in (2, 0, 1, 5, 3))


def bank_curves(
    curves: "pd.DataFrame", limits: Mapping[str, float], titles: Mapping[str, str], target: float
) -> "Figure":
    """Agreement by number of items, a panel per population of banks, a line per method.

    Parameters
    ----------
    curves : columns population, method, size, agreement, low, high: mean over banks, and the band to draw.
    limits : population → agreement of the whole bank with another one like it, drawn as a line.
    titles : method → name in the legend, in its order.
    target : agreement to draw a line at.
    """
    import matplotlib.pyplot as plt

    n_rows = -(-len(limits) // 3)
    size = (WIDTH, 0.9 + 2.6 * n_rows)
    fig, axes = plt.subplots(n_rows, 3, sharex=True, sharey=True, figsize=size, squeeze=False)
    for ax, (population, limit) in zip(axes.flat, limits.items(), strict=False):
        for i, (method, title) in enumerate(titles.items()):
            own = curves[(curves["population"] == population) & (curves["method"] == method)]
            look = {"color": _COLORS[i], "marker": MARKERS[i], "label": title, "markersize": 4.5}
            ax.plot(own["size"], own["agreement"], **look)
            ax.fill_between(own["size"], own["low"], own["high"], color=_COLORS[i], alpha=0.15, linewidth=0)
        _level(ax, target, f"{target:.2f}", below=True)
        ax.axhline(limit, color=INK, linewidth=1, linestyle=":", zorder=1)
        ax.set(xscale="log", ylim=(-0.05, 1.05))
        ax.set_title(population, fontsize=10.5)
    for ax in axes.flat[len(limits) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("items asked")
    for ax in axes[:, 0]:
        ax.set_ylabel("agreement")
    handles = axes[0, 0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside upper left", ncols=4, columnspacing=1.2, handletextpad=0.4)
    return fig


def items_needed(needed: "pd.DataFrame", titles: Mapping[str, str], mark: float, name: str) -> "Figure":
    """Items needed by spread of ability, a panel per method, a line per coefficient of variation.

    Parameters
    ----------
    needed : columns method, cv, spread, k_star.
    titles : method → panel title.
    mark, name : number of items to draw a line at, and what it is called.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(titles), sharex=True, sharey=True, figsize=(WIDTH, 3.7))
    spreads = sorted(needed["spread"].unique())
    for ax, (method, title) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        own = needed[needed["method"] == method]
        for i, (cv, line) in enumerate(own.groupby("cv")):
            look = {"color": _COLORS[i], "marker": MARKERS[i], "label": f"CV {cv:.2f}"}
            ax.plot(line["spread"], line["k_star"], **look)
        _level(ax, mark, name if method == [*titles][-1] else "")
        ax.set(xscale="log", yscale="log", xlabel="spread of ability")
        ax.set_xticks(spreads, [f"{spread:g}" for spread in spreads], minor=False)
        ax.set_xticks([], minor=True)
        ax.set_title(title, fontsize=10.5)
    np.atleast_1d(axes)[0].set_ylabel("items for the agreement")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=5, columnspacing=1.2)
    return fig


def by_calibration_models(found: "pd.DataFrame", known: Mapping[str, float], k: int) -> "Figure":
    """Agreement after k items by number of models calibrated on, a line per method.

    Parameters
    ----------
    found : columns method (as it is to be called), models, agreement, low, high.
    known : method → agreement with the true parameters, a dashed line.
    k : items asked.
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
    ends, colors = {}, {}
    for i, (method, own) in enumerate(found.groupby("method", sort=False)):
        reach = [own["agreement"] - own["low"], own["high"] - own["agreement"]]
        look = {"color": _COLORS[i], "marker": MARKERS[i], "capsize": 3, "elinewidth": 1}
        ax.errorbar(own["models"] * 1.03**i, own["agreement"], reach, **look)
        ends[method] = (own["models"].iloc[-1], own["agreement"].iloc[-1])
        colors[method] = _COLORS[i]
        if method in known:
            ax.axhline(known[method], color=_COLORS[i], linewidth=1.4, linestyle=(0, (4, 3)), zorder=1)
    counts = sorted(found["models"].unique())
    ax.set(xscale="log", xlabel="models calibrated on", ylabel=f"agreement after {k} items")
    ax.set_xticks(counts, [f"{count:.0f}" for count in counts])
    ax.set_xticks([], minor=True)
    ax.set_ylim(top=min(ax.get_ylim()[1], 1.02))
    label_lines(ax, ends, colors)
    return fig


def split_ranges(ranges: "pd.DataFrame") -> "Figure":
    """Range of the agreement of one split, a row per number of held-out models, a panel per true value.

    Parameters
    ----------
    ranges : columns truth, models, mean, low, high.
    """
    import matplotlib.pyplot as plt

    truths = ranges["truth"].unique()
    fig, axes = plt.subplots(1, len(truths), sharex=True, sharey=True, figsize=(WIDTH, 2.6), squeeze=False)
    for ax, truth in zip(axes[0], truths, strict=True):
        own = ranges[ranges["truth"] == truth]
        heights = np.arange(len(own))
        ax.hlines(heights, own["low"], own["high"], color=_COLORS[1], linewidth=5, alpha=0.4)
        ax.plot(own["mean"], heights, "o", color=_COLORS[1])
        ax.axvline(truth, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        ax.set_yticks(heights, [f"{models} models" for models in own["models"]])
        ax.set_title(f"true {truth:.2f}", fontsize=10.5)
        ax.set_xlabel("agreement")
        ax.grid(visible=False, axis="y")
    axes[0, 0].invert_yaxis()
    return fig


def growth_lines(costs: "pd.DataFrame", axes_of: Mapping[str, str]) -> "Figure":
    """CPU-seconds by size, a panel per what grows, a line per task.

    Parameters
    ----------
    costs : columns growing, task, models, items, seconds.
    axes_of : value of growing → column that it grows along.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(axes_of), sharey=True, figsize=(WIDTH, 3.5), squeeze=False)
    for ax, (growing, column) in zip(axes[0], axes_of.items(), strict=True):
        own = costs[costs["growing"] == growing]
        for i, (task, line) in enumerate(own.groupby("task", sort=False)):
            ax.plot(line[column], line["seconds"], color=_COLORS[i], marker=MARKERS[i], label=task)
        ax.set(xscale="log", yscale="log", xlabel=column)
        marks = sorted(own[column].unique())
        ax.margins(x=0.12)
        ax.set_xticks(marks, [f"{mark:,}" for mark in marks])
        ax.set_xticks([], minor=True)
    axes[0, 0].set_ylabel("CPU-seconds")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=3, columnspacing=1.2)
    return fig


def _level(ax: "Axes", value: float, name: str, below: bool = False) -> None:
    """A dashed line at a value, named above its left end or below its right one."""
    ax.axhline(value, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    at = {"xy": (0.99 if below else 0.01, value), "xytext": (0, -3 if below else 3)}
    side = {"ha": "right", "va": "top"} if below else {"ha": "left", "va": "bottom"}
    frame = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    ax.annotate(name, **at, **frame, **side, fontsize=9.5, color=MUTED)
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
    fig, axes = plt.subplots(1, len(titles), sharex=True, sharey=True, figsize=(WIDTH, 3.0), squeeze=False)
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
