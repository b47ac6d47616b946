"""Figures on one configuration in several packages."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchtrust.plots import INK, MARKERS, MUTED, PAPER, SPARE_COLORS, WIDTH, chance_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UP, DOWN = "#2a6c96", "#d96a12"
WRONG = "#d8b79a"


def path_waterfall(
    paths: Mapping[str, "pd.DataFrame"], chance: Mapping[str, float] | None = None
) -> "Figure":
    """Waterfall of scores, a panel a path: each step's bar goes from the score before to its own.

    A whisker is the paired interval of the change, at the end of the bar; a step without any stays a stroke.

    Parameters
    ----------
    paths : panel title → table of `packages.emulate.path_scores`.
    chance : panel title → score of guessing, drawn as a line where it is known.
    """
    import matplotlib.pyplot as plt

    heights = [len(table) for table in paths.values()]
    size = (WIDTH, 0.9 + 0.62 * len(paths) + 0.3 * sum(heights))
    fig, axes = plt.subplots(
        len(paths), 1, figsize=size, sharex=True, squeeze=False, height_ratios=[h + 1 for h in heights]
    )
    for ax, (title, table) in zip(axes[:, 0], paths.items(), strict=True):
        _waterfall(ax, table)
        if chance and title in chance:
            chance_line(ax, chance[title], upright=True)
        ax.set_title(title, fontsize=11)
    axes[-1, 0].set_xlabel("score (whisker: 95 % interval of the change)")
    return fig


def _waterfall(ax: "Axes", table: "pd.DataFrame") -> None:
    scores, change = table["score"].to_numpy(), table["change"].to_numpy()
    places = np.arange(len(table))
    ax.plot(scores[[0, -1]], places[[0, -1]], "o", color=INK, zorder=4)
    for place, (end, step, low, high) in enumerate(
        zip(scores, change, table["low"], table["high"], strict=True)
    ):
        if place == 0:
            ax.annotate(
                f"{end:.2f}", (end, 0), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9
            )
            continue
        start = end - step
        color = UP if step > 0 else DOWN if step < 0 else MUTED
        ax.plot([start, start], [place - 1, place], color=MUTED, linewidth=0.8, zorder=1)
        ax.barh(place, step, 0.55, start, color=color, alpha=0.85, zorder=2)
        ax.plot([start, start], [place - 0.275, place + 0.275], color=color, linewidth=2, zorder=2)
        ax.plot([start + low, start + high], [place, place], color=INK, linewidth=1.4, zorder=3)
        right = max(start + high, end, start)
        text = f"{step:+.2f}".replace("-", "−") if abs(step) >= 0.005 else "0.00" if step else "0"
        text += f" → {end:.2f}" if place == places[-1] else ""
        ax.annotate(text, (right, place), xytext=(7, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set_yticks(places, table["name"])
    ax.set_ylim(len(table) - 0.1, -0.6)
    ax.grid(visible=False, axis="y")


def package_spread(
    spread: "pd.DataFrame",
    titles: Mapping[str, str],
    chance: Mapping[str, float] | None = None,
    baseline: "pd.DataFrame | None" = None,
) -> "Figure":
    """Scores of the same items in each package, a panel a benchmark, with the paired interval about ours.

    Parameters
    ----------
    spread : columns benchmark, package, score, difference, low, high (of `packages.emulate.spread`); the
        package without a difference is the one compared with.
    titles : benchmark → panel title.
    chance : benchmark → score of guessing, drawn as a line where it is known.
    baseline : the same of a model that knows nothing, drawn as open marks.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(spread["package"]))
    looks = dict(zip(names, zip(SPARE_COLORS, MARKERS, strict=False), strict=False))
    rows = [_rows(spread, benchmark, names) for benchmark in titles]
    size = (WIDTH, 0.8 + 0.5 * len(titles) + 0.3 * sum(map(len, rows)))
    fig, axes = plt.subplots(
        len(titles), 1, figsize=size, sharex=True, squeeze=False, height_ratios=[len(r) + 0.6 for r in rows]
    )
    for ax, own, (benchmark, title) in zip(axes[:, 0], rows, titles.items(), strict=True):
        reference = float(own.loc[own["difference"].isna(), "score"].iloc[0])
        ax.axvline(reference, color=INK, linewidth=1, zorder=1)
        for place, row in enumerate(own.itertuples()):
            color, marker = looks[row.package]
            if np.isfinite(row.low):
                ax.plot([reference + row.low, reference + row.high], [place, place], color=color, linewidth=2)
            ax.plot(row.score, place, marker, color=color, markersize=7, zorder=3)
        if baseline is not None:
            _open_marks(ax, _rows(baseline, benchmark, list(own["package"])), own, looks)
        if chance and benchmark in chance:
            chance_line(ax, chance[benchmark], upright=True)
        ax.set_yticks(range(len(own)), own["package"])
        ax.set_ylim(len(own) - 0.5, -0.5)
        ax.set_title(title, fontsize=11)
        ax.grid(visible=False, axis="y")
    axes[-1, 0].set_xlabel("score (bar: 95 % interval of the gap to ours)")
    return fig


def _open_marks(
    ax: "Axes", known: "pd.DataFrame", own: "pd.DataFrame", looks: Mapping[str, tuple[str, str]]
) -> None:
    """Scores of the baseline beside those of the model, in the rows of their packages."""
    places = {name: place for place, name in enumerate(own["package"])}
    for row in known.itertuples():
        _, marker = looks[row.package]
        ax.plot(row.score, places[row.package], marker, color=MUTED, mfc="none", markersize=9, zorder=2)


def item_matrix(found: "pd.DataFrame", titles: Mapping[str, str]) -> "Figure":
    """What each package makes of each item, a panel a benchmark: a column an item, a row a package.

    Items that most packages score as right stand on the left; a dot marks an answer that was not read.

    Parameters
    ----------
    found : columns benchmark, package, item_id, score (0 to 1) and outcome; the same items in every package.
    titles : benchmark → panel title.
    """
    import matplotlib.pyplot as plt

    tables = {name: _by_item(found[found["benchmark"] == name]) for name in titles}
    heights = [len(scores) for scores, _ in tables.values()]
    size = (WIDTH, 0.7 + 0.55 * len(tables) + 0.3 * sum(heights))
    fig, axes = plt.subplots(len(tables), 1, figsize=size, squeeze=False, height_ratios=heights)
    for ax, (name, (scores, unread)) in zip(axes[:, 0], tables.items(), strict=True):
        ax.pcolormesh(scores, cmap=_shades(), vmin=0, vmax=1, edgecolors=PAPER, linewidth=0.15)
        rows, columns = np.nonzero(unread.to_numpy())
        ax.plot(columns + 0.5, rows + 0.5, ".", color=INK, markersize=2.5)
        ax.set_yticks(np.arange(len(scores)) + 0.5, scores.index)
        ax.set_ylim(len(scores), 0)
        ax.set_title(titles[name], fontsize=11)
        ax.grid(visible=False)
    axes[-1, 0].set_xlabel("items, sorted (dark: right; light: wrong; dot: not read)")
    return fig


def _by_item(own: "pd.DataFrame") -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Scores and what was not read, packages × items, items that more packages have right first."""
    order = list(dict.fromkeys(own["package"]))
    scores = own.pivot(index="package", columns="item_id", values="score").loc[order]
    sums = [scores.sum(), *(scores.loc[name] for name in order)]
    ranked = np.lexsort([-np.asarray(values) for values in reversed(sums)])
    unread = own.assign(unread=own["outcome"] != "scored")
    unread = unread.pivot(index="package", columns="item_id", values="unread").loc[order]
    return scores.iloc[:, ranked], unread[scores.columns[ranked]]


def _shades():
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("right", [WRONG, UP])


def _rows(spread: "pd.DataFrame", benchmark: str, names: Sequence[str]) -> "pd.DataFrame":
    own = spread[spread["benchmark"] == benchmark].set_index("package")
    return own.loc[[name for name in names if name in own.index]].reset_index()
