"""The look of every figure: one style, fixed colours, direct labels. Everything else is matplotlib.

INK, MUTED, GRID and PAPER are exactly the colours that the recorder replaces for dark pages, so text
and axes keep their contrast there; the colours of models are readable on both.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2329"
MUTED = "#5a6472"
GRID = "#e2e5ea"
PAPER = "#fdfdfc"
DARK = {INK: "#e6e8eb", MUTED: "#a3adba", GRID: "#343b45", PAPER: "#15181d"}

WIDTH = 6.6
"""Width of a full-column figure in inches."""

MODEL_COLORS = {
    "SmolLM2-135M-Instruct": "#d96a12",
    "Qwen2.5-Coder-0.5B-Instruct": "#2a6c96",
    "Qwen2.5-Coder-1.5B-Instruct": "#b65ad0",
    "gemma-3-270m": "#46a08f",
}
SPARE_COLORS = ("#b8860b", "#d0568f", "#6b7fd7", "#7d8a1f", "#8a6f5c", "#2f96a5")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "*")


@contextmanager
def style(rc: Mapping[str, object] | None = None) -> Iterator[None]:
    """Draw figures of the book inside this context; `rc` overrides single matplotlib settings."""
    import matplotlib as mpl

    with mpl.rc_context(_RC | {"axes.prop_cycle": mpl.cycler(color=_cycle())} | dict(rc or {})):
        yield


_RC: dict[str, object] = {
    "figure.figsize": (WIDTH, 3.7),
    "figure.constrained_layout.use": True,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.labelsize": 11,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "xtick.bottom": False,
    "xtick.major.size": 6,
    "xtick.minor.size": 4,
    "ytick.left": False,
    "ytick.major.size": 6,
    "ytick.minor.size": 4,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "legend.title_fontsize": 12,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "lines.markersize": 5.5,
    "patch.edgecolor": PAPER,
    "patch.force_edgecolor": True,
    "hatch.color": MUTED,
}


def _cycle() -> list[str]:
    return [*MODEL_COLORS.values(), *SPARE_COLORS]


def model_colors(models: Iterable[str]) -> dict[str, str]:
    """Colour per model: fixed for the recorded models, spare colours in order for others.

    Raises
    ------
    ValueError
        More models than colours can be told apart; facet the figure instead.
    """
    names = list(dict.fromkeys(models))
    others = [name for name in names if name not in MODEL_COLORS]
    if len(others) > len(SPARE_COLORS):
        raise ValueError(
            f"{len(others)} models besides the recorded ones, {len(SPARE_COLORS)} colours: facet."
        )
    spare = dict(zip(others, SPARE_COLORS, strict=False))
    return {name: MODEL_COLORS.get(name) or spare[name] for name in names}


def model_markers(models: Iterable[str]) -> dict[str, str]:
    """Marker per model, so that colour is never the only difference."""
    names = list(dict.fromkeys(models))
    known = [*MODEL_COLORS, *(name for name in names if name not in MODEL_COLORS)]
    markers = dict(zip(known, MARKERS, strict=False))
    return {name: markers[name] for name in names}


def label_lines(
    ax: "Axes",
    ends: Mapping[str, tuple[float, float]],
    colors: Mapping[str, str] | None = None,
    *,
    gap: float = 0.07,
) -> None:
    """Write each line's name at its right end, tied to it by a stroke of its colour, instead of a legend.

    Parameters
    ----------
    ax : Axes
    ends : mapping
        Name → (x, y) of the line's last point, in data units.
    colors : mapping, optional
        Name → colour; `model_colors` of the names by default.
    gap : float
        Least vertical distance of two labels, as a share of the axis.
    """
    colors = colors or model_colors(ends)
    low, high = ax.get_ylim()
    height = low - gap * (high - low)
    for name, (x, y) in sorted(ends.items(), key=lambda item: item[1][1]):
        height = max(y, height + gap * (high - low))
        ax.annotate(
            name,
            xy=(x, y),
            xytext=(16, height),
            textcoords=("offset points", "data"),
            arrowprops={"arrowstyle": "-", "color": colors[name], "linewidth": 1.5, "relpos": (0, 0.5)}
            | {"shrinkA": 2},
            color=INK,
            va="center",
            fontsize=10,
            annotation_clip=False,
        )


def chance_line(ax: "Axes", value: float, label: str = "chance", *, upright: bool = False) -> None:
    """Draw a line at the score of guessing, named at its left end, or at its foot where it is upright."""
    draw = ax.axvline if upright else ax.axhline
    draw(value, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    ax.annotate(
        label,
        xy=(value, 0) if upright else (0.005, value),
        xycoords=("data", "axes fraction") if upright else ("axes fraction", "data"),
        xytext=(3, 1) if upright else (0, 3),
        textcoords="offset points",
        color=MUTED,
        fontsize=9.5,
        va="bottom",
    )


def simulated_tag(ax: "Axes", text: str = "simulated") -> None:
    """Mark a figure whose data were not measured on any model."""
    box = {"boxstyle": "round,pad=0.35", "facecolor": PAPER, "edgecolor": MUTED, "linewidth": 0.8}
    ax.text(
        0.99, 0.98, text, transform=ax.transAxes, ha="right", va="top", fontsize=9.5, color=MUTED, bbox=box
    )


def tag(fig: "Figure", text: str) -> None:
    """Write under a figure what its data were measured on, so that it says so wherever it is shown."""
    fig.supxlabel(text, x=0.01, ha="left", fontsize=9.5, color=MUTED)
