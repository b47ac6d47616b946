"""Colours: fixed per model, readable on both grounds, apart under colour blindness."""

import colorsys
import itertools

import matplotlib as mpl
import numpy as np
import pytest

from benchtrust import plots

mpl.use("Agg")
import matplotlib.pyplot as plt

MODELS = list(plots.MODEL_COLORS)
# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
DEFICIENCY = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}

TO_LMS = [[0.412221, 0.536333, 0.051446], [0.211903, 0.680700, 0.107397], [0.088302, 0.281719, 0.629979]]
FROM_LMS = [[0.210454, 0.793618, -0.004072], [1.977998, -2.428592, 0.450594], [0.025904, 0.782772, -0.808676]]


def linear(color: str) -> np.ndarray:
    rgb = np.array(mpl.colors.to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Perceptual coordinates of a linear RGB colour (Ottosson 2020)."""
    return np.array(FROM_LMS) @ np.cbrt(np.array(TO_LMS) @ np.clip(rgb, 0, 1))


def luminance(color: str) -> float:
    return float(linear(color) @ [0.2126, 0.7152, 0.0722])


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_ink_and_muted_text_are_readable_on_both_grounds() -> None:
    for color in (plots.INK, plots.MUTED):
        assert contrast(color, plots.PAPER) >= 4.5
        assert contrast(plots.DARK[color], plots.DARK[plots.PAPER]) >= 4.5


@pytest.mark.parametrize("color", [*plots.MODEL_COLORS.values(), *plots.SPARE_COLORS])
def test_lines_stand_out_on_both_grounds(color: str) -> None:
    assert contrast(color, plots.PAPER) >= 3
    assert contrast(color, plots.DARK[plots.PAPER]) >= 3


@pytest.mark.parametrize("kind", DEFICIENCY)
def test_the_recorded_models_stay_apart_under_colour_blindness(kind: str) -> None:
    seen = {model: np.array(DEFICIENCY[kind]) @ linear(color) for model, color in plots.MODEL_COLORS.items()}
    for a, b in itertools.combinations(seen.values(), 2):
        assert np.linalg.norm(oklab(a) - oklab(b)) > 0.09


def test_hues_differ() -> None:
    hues = [colorsys.rgb_to_hsv(*mpl.colors.to_rgb(color))[0] for color in plots.MODEL_COLORS.values()]
    assert len({round(hue, 1) for hue in hues}) == len(hues)


def test_a_model_keeps_its_colour_and_marker_in_any_company() -> None:
    alone = plots.model_colors(["gemma-3-270m"])
    together = plots.model_colors(["other", "gemma-3-270m", "another"])
    assert alone["gemma-3-270m"] == together["gemma-3-270m"]
    assert len(set(together.values())) == 3
    assert (
        plots.model_markers(["gemma-3-270m"])["gemma-3-270m"] == plots.model_markers(MODELS)["gemma-3-270m"]
    )
    with pytest.raises(ValueError, match="facet"):
        plots.model_colors(map(str, range(7)))


def test_labels_at_line_ends_do_not_overlap() -> None:
    with plots.style():
        fig, ax = plt.subplots()
        ax.set(xlim=(0, 1), ylim=(0, 1))
        plots.label_lines(ax, {model: (1, 0.5 + 0.001 * i) for i, model in enumerate(MODELS)})
        fig.canvas.draw()
        boxes = [mpl.text.Text.get_window_extent(text) for text in ax.texts]
    plt.close(fig)
    for a, b in itertools.combinations(boxes, 2):
        assert not a.overlaps(b)
