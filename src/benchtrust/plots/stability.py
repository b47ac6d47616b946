"""Figures of the part on stability."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import (
    GRID,
    INK,
    MARKERS,
    MUTED,
    PAPER,
    SPARE_COLORS,
    WIDTH,
    chance_line,
    label_lines,
    model_colors,
    model_markers,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def configuration_dots(
    cells: "pd.DataFrame",
    models: Sequence[str],
    chance: Mapping[str, float],
    reversed_rows: Mapping[str, Container[tuple[str, str]]],
    titles: Mapping[str, str],
) -> "Figure":
    """Dot plot of cell scores: a row per configuration, a panel per benchmark, a mark per model.

    Parameters
    ----------
    cells : frame of `responses.cell_means`.
    models : models to show, in the order of the legend.
    chance : benchmark → score of guessing, drawn as a line where it is known.
    reversed_rows : benchmark → (decoding, "template, shots") rows to shade, in which a pair is reversed.
    titles : benchmark → panel title.
    """
    import matplotlib.pyplot as plt

    rows = _configuration_rows(cells)
    fig, axes = plt.subplots(1, len(titles), sharey=True, figsize=(WIDTH, 1.4 + 0.235 * len(rows)))
    colors, markers = model_colors(models), model_markers(models)
    place = {row: i for i, row in enumerate(rows)}
    for ax, (benchmark, title) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        own = cells[cells["benchmark"] == benchmark]
        for row in reversed_rows[benchmark]:
            ax.axhspan(place[row] - 0.5, place[row] + 0.5, color=GRID, zorder=0, linewidth=0)
        for model in models:
            of = own[own["model"] == model]
            heights = [place[row] for row in _row_keys(of)]
            ax.plot(of["score"], heights, markers[model], color=colors[model], markersize=6.5, label=model)
        if benchmark in chance:
            ax.axvline(chance[benchmark], color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        for border in (i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0]):
            ax.axhline(border - 0.5, color=MUTED, linewidth=0.8)
        ax.set(title=title, xlabel="score", xlim=(-0.04, min(1.04, cells["score"].max() + 0.12)))
        ax.grid(visible=False, axis="y")
    _configuration_axis(np.atleast_1d(axes)[0], rows)
    handles, labels = ax.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1.0)
    return fig


def cell_heatmap(cells: "pd.DataFrame", models: Sequence[str], titles: Mapping[str, str]) -> "Figure":
    """Heat map of cell scores: a row per configuration, a panel per benchmark, a column per model.

    Parameters
    ----------
    cells : frame of `responses.cell_means`.
    models : models in the order of the columns, numbered from 1.
    titles : benchmark → panel title.
    """
    import matplotlib.pyplot as plt

    rows = _configuration_rows(cells)[::-1]
    fig, axes = plt.subplots(1, len(titles), sharey=True, figsize=(WIDTH, 1.6 + 0.17 * len(rows)))
    axes = np.atleast_1d(axes)
    cells = cells.assign(row=_row_keys(cells))
    for ax, (benchmark, title) in zip(axes, titles.items(), strict=True):
        own = cells[cells["benchmark"] == benchmark]
        grid = own.pivot(index="row", columns="model", values="score").reindex(index=rows, columns=models)
        ax.pcolormesh(grid.to_numpy(), vmin=0, vmax=1, cmap="viridis", linewidth=0)
        ax.set_xticks(np.arange(len(models)) + 0.5, range(1, len(models) + 1))
        ax.set_title(title, fontsize=10.5)
        ax.set(xlabel="", ylabel="")
        ax.grid(visible=False)
        for border in (i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0]):
            ax.axhline(border, color=PAPER, linewidth=3)
    _configuration_axis(axes[0], rows, 0.5, left=-1.35)
    axes[0].set_ylim(len(rows), 0)
    bar = fig.colorbar(axes[0].collections[0], ax=list(axes), location="bottom", aspect=50, pad=0.015)
    bar.set_label("score of the cell")
    bar.outline.set_visible(False)
    return fig


def rates_by_tier(
    rates: "pd.DataFrame", chance: "pd.DataFrame", titles: Mapping[str, str], tiers: Sequence[str]
) -> "Figure":
    """Flip rate of each pair by tier of the envelope, a panel per benchmark, with a band of chance.

    Parameters
    ----------
    rates : columns benchmark, tier, pair, rho.
    chance : columns benchmark, tier, low, high: range of the largest ρ of tied models.
    titles : benchmark → panel title.
    tiers : in the order of the axis.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(titles), sharey=True, figsize=(WIDTH, 4.0))
    pairs = list(dict.fromkeys(rates["pair"]))
    looks = dict(zip(pairs, zip(SPARE_COLORS, MARKERS, strict=False), strict=False))
    places = range(len(tiers))
    for ax, (benchmark, title) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        band = chance[chance["benchmark"] == benchmark].set_index("tier").loc[list(tiers)]
        ax.bar(places, band["high"] - band["low"], 0.8, band["low"], color=MUTED, alpha=0.3, label="chance")
        for pair, (color, marker) in looks.items():
            own = rates[(rates["benchmark"] == benchmark) & (rates["pair"] == pair)].set_index("tier")
            ax.plot(places, own.loc[list(tiers), "rho"], marker=marker, color=color, label=pair)
        ax.set_xticks(places, tiers, rotation=60, ha="right", rotation_mode="anchor", fontsize=9.5)
        ax.set_title(title, fontsize=10.5)
        ax.set(ylim=(-0.02, 0.52), xlim=(-0.6, len(tiers) - 0.4))
        ax.grid(visible=False, axis="x")
    np.atleast_1d(axes)[0].set_ylabel("flip rate ρ")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left")
    return fig


def null_histograms(
    draws: Mapping[str, "np.ndarray"], observed: Mapping[str, float], titles: Mapping[str, str]
) -> "Figure":
    """Histograms of the flip rate of exchangeable models, a row per benchmark; observed as a line."""
    import matplotlib.pyplot as plt

    size = (WIDTH, 0.9 + 0.75 * len(titles))
    fig, axes = plt.subplots(len(titles), 1, sharex=True, sharey=True, figsize=size, squeeze=False)
    for ax, (benchmark, title) in zip(axes[:, 0], titles.items(), strict=True):
        values, counts = np.unique(np.round(draws[benchmark], 9), return_counts=True)
        width = 0.8 * np.diff(values).min() if len(values) > 1 else 0.02
        ax.bar(values, counts / counts.sum(), width=width, color=MUTED, alpha=0.55)
        ax.axvline(observed[benchmark], color=INK, linewidth=2)
        ax.set_ylabel(title, rotation=0, ha="right", va="center")
        ax.annotate(
            f"{observed[benchmark]:.3f}",
            xy=(observed[benchmark], 1),
            xycoords=("data", "axes fraction"),
            xytext=(5, -3),
            textcoords="offset points",
            va="top",
            fontsize=9.5,
        )
    axes[0, 0].set(xlim=(-0.02, 0.55), yticks=[])
    axes[-1, 0].set_xlabel("flip rate ρ: exchangeable models (bars, share of draws), observed (line)")
    return fig


def share_bars(shares: "pd.DataFrame", sources: Sequence[str]) -> "Figure":
    """Bars of the share of variance of each source, a group per benchmark, with what noise alone would give.

    Parameters
    ----------
    shares : columns benchmark, source, eta2, noise.
    sources : in the order of the bars.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.4))
    benchmarks = list(dict.fromkeys(shares["benchmark"]))
    width = 0.8 / len(sources)
    for i, source in enumerate(sources):
        own = shares[shares["source"] == source].set_index("benchmark").loc[benchmarks]
        at = np.arange(len(benchmarks)) + (i - (len(sources) - 1) / 2) * width
        color = MUTED if source == "residual" else SPARE_COLORS[2 * i]
        ax.bar(at, own["eta2"], width * 0.92, color=color, alpha=0.85, label=source)
        ax.hlines(own["noise"], at - width / 2, at + width / 2, color=INK, linewidth=2)
    ax.plot([], [], color=INK, linewidth=2, label="noise alone")
    ax.set_xticks(range(len(benchmarks)), benchmarks)
    ax.grid(visible=False, axis="x")
    ax.set(ylabel="share of the variance, η²", ylim=(0, 1))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=4, columnspacing=1.2)
    return fig


def design_lines(surface: "pd.DataFrame", benchmarks: Iterable[str], wanted: float) -> "Figure":
    """Generalizability coefficient by number of items, a panel per benchmark, a line per design.

    Parameters
    ----------
    surface : columns benchmark, configurations (of the design), items, e_rho2.
    benchmarks : in the order of the panels.
    wanted : coefficient to draw a line at.
    """
    import matplotlib.pyplot as plt

    names = list(benchmarks)
    fig, axes = plt.subplots(1, len(names), sharey=True, figsize=(WIDTH, 3.3))
    for ax, name in zip(np.atleast_1d(axes), names, strict=True):
        own = surface[surface["benchmark"] == name]
        for i, (design, line) in enumerate(own.groupby("configurations", sort=False)):
            look = {"color": SPARE_COLORS[i], "marker": MARKERS[i]}
            ax.plot(
                line["items"], line["e_rho2"], label=f"{design} configuration{'s' * (design > 1)}", **look
            )
        ax.axhline(wanted, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        ax.set(xscale="log", ylim=(-0.03, 1.03), xlabel="items")
        ax.set_title(name, fontsize=10.5)
    np.atleast_1d(axes)[0].set_ylabel("E ρ² of the models' means")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=4, columnspacing=1.0)
    return fig


def path_scatter(paths: "pd.DataFrame", models: Sequence[str], titles: Mapping[str, str]) -> "Figure":
    """Free-form against log-prob score of the same prompt, a panel per benchmark, a mark per cell.

    Parameters
    ----------
    paths : frame of `stability.compare_paths`.
    models : models in the order of the legend.
    titles : benchmark → panel title.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(titles), sharex=True, sharey=True, figsize=(WIDTH, 2.9))
    colors, markers = model_colors(models), model_markers(models)
    for ax, (benchmark, title) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        for model in models:
            own = paths[(paths["benchmark"] == benchmark) & (paths["model"] == model)]
            look = {"color": colors[model], "alpha": 0.8, "label": model}
            ax.plot(own["logprob"], own["free_form"], markers[model], **look)
        ax.set_title(title, fontsize=10.5)
        ax.set(xlabel="log-probability", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    np.atleast_1d(axes)[0].set_ylabel("free-form, greedy")
    handles = ax.get_legend_handles_labels()
    fig.legend(*handles, loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1.0)
    return fig


def variant_bubbles(
    compared: "pd.DataFrame", models: Mapping[str, str], titles: Mapping[str, str], axes: tuple[str, str]
) -> "Figure":
    """Score of a variant against the model's, a row per benchmark and a column per model.

    The area of a mark is the number of cells at its place.

    Parameters
    ----------
    compared : frame of `stability.compare_variants`.
    models : model → title of its column, from left to right.
    titles : benchmark → label of its row.
    axes : what the scores of the model and of its variant are called.
    """
    import matplotlib.pyplot as plt

    shape = (len(titles), len(models))
    size = (WIDTH, 0.9 + WIDTH / max(shape[1], 3) * 0.8 * shape[0])
    fig, grid = plt.subplots(*shape, sharex=True, sharey=True, figsize=size, squeeze=False)
    colors = model_colors(models)
    for row, (benchmark, title) in zip(grid, titles.items(), strict=True):
        for ax, model in zip(row, models, strict=True):
            own = compared[(compared["benchmark"] == benchmark) & (compared["model"] == model)]
            places = own.round(3).groupby(["score", "score_variant"]).size().reset_index(name="cells")
            ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
            look = {"s": 26 * places["cells"], "color": colors[model], "alpha": 0.75, "linewidth": 0}
            ax.scatter(places["score"], places["score_variant"], zorder=2, **look)
            ax.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), aspect="equal")
        row[0].set_ylabel(f"{title}\n{axes[1]}")
    for ax, title in zip(grid[0], models.values(), strict=True):
        ax.set_title(title, fontsize=10.5)
    for ax in grid[-1]:
        ax.set_xlabel(axes[0])
    return fig


def score_ranges(
    told: "pd.DataFrame", models: Sequence[str], constants: "pd.DataFrame | None" = None
) -> "Figure":
    """Reported score of each model, and a line over its range, a group per benchmark.

    Parameters
    ----------
    told : columns benchmark, model, score, low, high.
    models : models in the order within a group, from the top.
    constants : columns benchmark, model, score: respondents drawn as a named line through the group.
    """
    import matplotlib.pyplot as plt

    benchmarks = list(dict.fromkeys(told["benchmark"]))
    room = 0.05 + 0.19 * len(models) + (0 if constants is None else 0.3)
    fig, ax = plt.subplots(figsize=(WIDTH, 1.2 + room * len(benchmarks)))
    colors, markers = model_colors(models), model_markers(models)
    step = (0.66 if constants is None else 0.5) / len(models)
    for i, model in enumerate(models):
        own = told[told["model"] == model].set_index("benchmark").reindex(benchmarks)
        heights = np.arange(len(benchmarks)) + (i - (len(models) - 1) / 2) * step
        ax.hlines(heights, own["low"], own["high"], color=colors[model], linewidth=2.5, alpha=0.6)
        ax.plot(own["score"], heights, markers[model], color=colors[model], markersize=7, label=model)
    if constants is not None:
        _constant_ticks(ax, constants, benchmarks)
    ax.set_yticks(range(len(benchmarks)), benchmarks)
    ax.set(xlim=(-0.03, 1.03), xlabel="score")
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    fig.legend(loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1.0)
    return fig


def _constant_ticks(ax: "Axes", constants: "pd.DataFrame", benchmarks: Sequence[str]) -> None:
    """A line through a benchmark's group for each score of constants, their names above and below in turn."""
    for place, benchmark in enumerate(benchmarks):
        own = constants[constants["benchmark"] == benchmark].groupby("score")["model"].agg(" · ".join)
        ax.vlines(own.index, place - 0.3, place + 0.3, colors=MUTED, zorder=1)
        for i, (score, names) in enumerate(own.items()):
            below = i % 2
            where = {"ha": "center", "va": "top" if below else "bottom"}
            look = {"fontsize": 7.5, "color": MUTED}
            ax.text(score, place + (0.31 if below else -0.31), names.replace("always ", ""), **where, **look)


def specification_curve(curve: "pd.DataFrame", alpha: float) -> "Figure":
    """Gap of a pair in each configuration, sorted, with intervals; below, the levels of each configuration.

    Parameters
    ----------
    curve : frame of `stability.specification_curve` with the axes template, shots and decoding.
    alpha : a gap whose `p_holm` is at most this is drawn filled.
    """
    import matplotlib.pyplot as plt

    levels = [(axis, level) for axis in _AXES for level in _AXES[axis] if (curve[axis] == level).any()]
    shape = {"height_ratios": (2.2, 0.2 * len(levels))}
    fig, (top, below) = plt.subplots(
        2, 1, sharex=True, figsize=(WIDTH, 2.6 + 0.23 * len(levels)), **{"gridspec_kw": shape}
    )
    top.vlines(curve["rank"], curve["low"], curve["high"], color=MUTED, linewidth=1.2, alpha=0.6)
    sure = curve["p_holm"] <= alpha
    top.plot(curve["rank"], curve["gap"], "o", color=SPARE_COLORS[2], markerfacecolor=PAPER)
    top.plot(curve["rank"][sure], curve["gap"][sure], "o", color=SPARE_COLORS[2])
    top.axhline(0, color=INK, linewidth=1)
    top.set_ylabel("gap of the pair")
    for row, (axis, level) in enumerate(levels):
        own = curve[curve[axis] == level]
        below.plot(own["rank"], [row] * len(own), "s", color=MUTED, markersize=3.6)
    names = [
        f"{level} shots" if axis == "shots" else DECODING_LABELS.get(level, level) for axis, level in levels
    ]
    below.set_yticks(range(len(levels)), names, fontsize=9)
    below.invert_yaxis()
    for border in (i for i in range(1, len(levels)) if levels[i][0] != levels[i - 1][0]):
        below.axhline(border - 0.5, color=MUTED, linewidth=0.8)
    below.set_xlabel("configurations, by gap")
    for ax in (top, below):
        ax.grid(visible=False, axis="x")
    return fig


DECODING_LABELS = {
    "none": "log-probability",
    "greedy": "free-form, greedy",
    "t0.3": "free-form, T = 0.3",
    "t0.7": "free-form, T = 0.7",
}
_AXES = {
    "template": ("minimal", "role", "detailed", "cot"),
    "shots": (0, 3, 5),
    "decoding": tuple(DECODING_LABELS),
}


def _row_keys(cells: "pd.DataFrame") -> list[tuple[str, str]]:
    return [(c.decoding, f"{c.template}, {c.shots}") for c in cells.itertuples()]


def _configuration_rows(cells: "pd.DataFrame") -> list[tuple[str, str]]:
    """Rows from the top: log-prob, greedy, sampled; templates from short to long; shots rising."""
    templates = {name: i for i, name in enumerate(("minimal", "role", "detailed", "cot"))}
    decodings = {name: i for i, name in enumerate(DECODING_LABELS)}
    order = {
        key: (decodings.get(c.decoding, 9), c.decoding, templates.get(c.template, 9), c.template, c.shots)
        for key, c in zip(_row_keys(cells), cells.itertuples(), strict=True)
    }
    return sorted(order, key=order.__getitem__, reverse=True)


def _configuration_axis(
    ax: "Axes", rows: Sequence[tuple[str, str]], offset: float = 0.0, left: float = -0.62
) -> None:
    """Label rows, `offset` above their number, by template and shots, and name each way of answering once."""
    ax.set_yticks(np.arange(len(rows)) + offset, [label for _, label in rows], fontsize=9)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    for decoding in dict.fromkeys(way for way, _ in rows):
        middle = np.mean([i for i, row in enumerate(rows) if row[0] == decoding]) + offset
        where = {"xy": (left, middle), "xycoords": ("axes fraction", "data")}
        text = DECODING_LABELS.get(decoding, decoding)
        ax.annotate(text, **where, rotation=90, ha="center", va="center", fontsize=10, color=INK)


def margin_rings(ax: "Axes", margins: "pd.DataFrame", titles: Mapping[str, str]) -> None:
    """Lead of the best option over the second on each item: rings for recorded, dots for live answers."""
    ring = {"facecolors": "none", "edgecolors": INK, "s": 70}
    looks = {"recorded": ring, "live": {"color": SPARE_COLORS[1], "s": 18}}
    for when, look in looks.items():
        for row, (benchmark, _) in enumerate(titles.items()):
            own = margins[(margins["benchmark"] == benchmark) & (margins["when"] == when)].sort_values(
                "item_id"
            )
            heights = row + np.linspace(-0.3, 0.3, len(own))
            ax.scatter(own["margin"], heights, label=when if row == 0 and len(own) else None, **look)
    ax.set_yticks(range(len(titles)), list(titles.values()))
    ax.set(xlabel="lead of the best option over the second (nats)", xlim=(0, None))
    ax.grid(visible=False, axis="y")
    ax.legend(loc="lower right")


def labeller_lines(scores: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """Score of each model by who labels its answers, a line per model.

    Parameters
    ----------
    scores : labellers × models.
    titles : labeller → its name on the axis, in the order of the axis.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.6))
    colors, markers = model_colors(scores.columns), model_markers(scores.columns)
    table = scores.loc[list(titles)]
    for model in table:
        ax.plot(range(len(table)), table[model], marker=markers[model], color=colors[model])
    ax.set_xticks(range(len(table)), titles.values())
    ax.set(ylabel="score", ylim=(0.45, 1.0), xlim=(-0.2, len(table) - 0.9))
    chance_line(ax, 0.5, "always the same")
    label_lines(ax, {model: (len(table) - 1, table[model].iloc[-1]) for model in table}, colors)
    ax.grid(visible=False, axis="x")
    return fig


def rho_triangles(below: "pd.DataFrame", above: "pd.DataFrame", models: Sequence[str]) -> "Figure":
    """Flip rates of all pairs of models on two envelopes, one below the diagonal, one above it; 0 is grey.

    Parameters
    ----------
    below, above : frames of `stability.flip_rates`; a pair that `above` lacks stays empty there.
    models : in the order of rows and columns.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    place = {model: i for i, model in enumerate(models)}
    grid = np.full((len(models), len(models)), np.nan)
    for rates, side in ((below, max), (above, min)):
        for row in rates.itertuples():
            pair = place[row.model_a], place[row.model_b]
            grid[side(pair), sum(pair) - side(pair)] = row.rho
    fig, ax = plt.subplots(figsize=(WIDTH, WIDTH))
    on_both_grounds = plt.get_cmap("viridis_r")(np.linspace(0, 0.8, 256))
    colors = ListedColormap(on_both_grounds).with_extremes(under=GRID)
    cells = np.ma.masked_invalid(grid)
    mesh = ax.pcolormesh(cells, vmin=1e-9, vmax=0.5, cmap=colors, edgecolor=PAPER, linewidth=0.6)
    ax.set_yticks(np.arange(len(models)) + 0.5, models, fontsize=8.5)
    ax.set_xticks(np.arange(len(models)) + 0.5, models, fontsize=8.5, rotation=90)
    ax.set(aspect="equal")
    ax.invert_yaxis()
    ax.grid(visible=False)
    bar = fig.colorbar(mesh, ax=ax, location="bottom", aspect=40, shrink=0.6, pad=0.02)
    bar.set_label("flip rate ρ")
    bar.outline.set_visible(False)
    return fig


def rho_by_gap(pairs: "pd.DataFrame", names: Mapping[str, str], alpha: float) -> "Figure":
    """Flip rate of each pair against the size of its mean gap, a panel per envelope.

    Parameters
    ----------
    pairs : columns envelope, gap (of the means, absolute; below 1e-4 at the left edge), rho, detectable,
        p_reversal.
    names : envelope → panel title.
    alpha : a pair whose `p_reversal` is at most this is drawn filled.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(names), sharex=True, sharey=True, figsize=(WIDTH, 3.3))
    pairs = pairs.assign(gap=pairs["gap"].clip(lower=1.2e-4))
    for ax, (envelope, title) in zip(np.atleast_1d(axes), names.items(), strict=True):
        own = pairs[pairs["envelope"] == envelope]
        real = own["p_reversal"] <= alpha
        look = {"marker": "o", "linestyle": "", "color": SPARE_COLORS[2]}
        shade = {"color": GRID, "zorder": 0, "linewidth": 0}
        ax.axvspan(1e-4, own["detectable"].median(), label="below δ* of a cell (median)", **shade)
        own_look = look | {"markerfacecolor": PAPER, "alpha": 0.8}
        ax.plot(own["gap"][~real], own["rho"][~real], label="flips, if any, within the noise", **own_look)
        ax.plot(own["gap"][real], own["rho"][real], label="a real reversal", **look)
        ax.set(xscale="log", xlim=(1e-4, 1), ylim=(-0.03, 0.53), xlabel="gap of the mean scores")
        ax.set_title(title, fontsize=10.5)
    np.atleast_1d(axes)[0].set_ylabel("flip rate ρ")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=2, columnspacing=1.2)
    return fig


def flips_by_items(shares: "pd.DataFrame", names: Mapping[str, str]) -> "Figure":
    """Share of the pairs that flip against the number of items asked, a line per envelope.

    Parameters
    ----------
    shares : frame of `stability.flips_by_items` with a column envelope.
    names : envelope → name of its line.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(WIDTH, 3.3))
    colors = dict(zip(names.values(), SPARE_COLORS[2:], strict=False))
    for (envelope, name), marker in zip(names.items(), MARKERS, strict=False):
        own = shares[shares["envelope"] == envelope]
        ax.fill_between(own["n_items"], own["low"], own["high"], color=colors[name], alpha=0.18, linewidth=0)
        ax.plot(own["n_items"], own["flipping"], marker=marker, color=colors[name])
    ends = {name: shares[shares["envelope"] == e].iloc[-1] for e, name in names.items()}
    ax.set(xscale="log", ylim=(0, None), xlabel="items asked", ylabel="share of pairs with ρ > 0")
    label_lines(ax, {name: (end["n_items"], end["flipping"]) for name, end in ends.items()}, colors)
    return fig
