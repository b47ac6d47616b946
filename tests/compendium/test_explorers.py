"""How a figure that can be played with comes into a page: picture, numbers, warnings for what is absent."""

import json
import re
from io import StringIO
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from benchtrust import plots
from benchtrust.compendium import Recorder
from benchtrust.compendium.explorers import KINDS, container

STATIC = Path(__file__).parents[2] / "book/_static"
DATA = pd.DataFrame({"item": ["one </script>", "two"], "theta": [0.25, None], "n": [1, 2]})
COLUMNS = {"item": ["one </script>", "two"], "theta": [0.25, None], "n": [1, 2]}
PAGE = (
    "# Page\n\n```{artefact} fig-x\n:explorer: icc\nA caption.\n```\n\n```{artefact} tab-x\nA table.\n```\n"
)


@pytest.fixture
def source(small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book's source as staging leaves it, with a figure and a table."""
    folder = tmp_path / "source"
    monkeypatch.setenv("BENCHTRUST_RESULTS", str(folder / "_results/part/source"))
    record = Recorder("part/source", {"seed": 1})
    with plots.style():
        record.figure("fig-x", plt.figure(), DATA, "A figure with nothing in it.")
    record.table("tab-x", DATA)
    return folder


def build(source: Path, page: str) -> tuple[str, str]:
    """The page, and the warnings."""
    (source / "index.md").write_text(page)
    warnings, out = StringIO(), source.parent / "out"
    settings = {"extensions": ["myst_parser", "benchtrust.compendium.directives"], "html_theme": "basic"}
    with docutils_namespace():
        app = Sphinx(source, None, out, out / "trees", "html", settings, status=None, warning=warnings)
        app.build()
    return (out / "index.html").read_text(), warnings.getvalue()


def test_the_figure_holds_its_picture_and_its_numbers(source: Path) -> None:
    html, warnings = build(source, PAGE)
    assert "Unknown" not in warnings
    (figure,) = re.findall(r'<figure class="[^"]*recorded-figure.*?</figure>', html, re.DOTALL)
    assert figure.count("<img") == 2
    assert "A caption." in figure
    pattern = (
        r'<div class="explorer" data-explorer="icc"><script type="application/json">(.*?)</script></div>'
    )
    (numbers,) = re.findall(pattern, figure, re.DOTALL)
    assert json.loads(numbers) == COLUMNS
    assert html.count("data-explorer") == 1


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        (":explorer: icc", ":explorer: icx", "Unknown explorer 'icx'. Did you mean icc"),
        ("tab-x\n", "tab-x\n:explorer: icc\n", "'tab-x' is a table: an explorer needs a figure"),
    ],
)
def test_what_cannot_be_played_with_is_a_warning(source: Path, old: str, new: str, warning: str) -> None:
    assert old in PAGE
    assert warning in build(source, PAGE.replace(old, new))[1]


def test_numbers_that_json_lacks_are_null_and_no_text_ends_the_script() -> None:
    html = container("icc", DATA).astext()
    assert html.count("</script>") == 1
    assert "NaN" not in html


def test_the_scripts_know_exactly_these_explorers() -> None:
    script = (STATIC / "explorers.js").read_text(encoding="utf-8")
    (known,) = re.findall(r"^const EXPLORERS = \(\) => \(\{ (.*) \}\);$", script, re.MULTILINE)
    assert sorted(known.split(", ")) == sorted(KINDS)
    assert sorted(path.stem for path in (STATIC / "explorers").iterdir()) == sorted(KINDS)
    for name in KINDS:
        assert f"function {name}(box, data)" in (STATIC / f"explorers/{name}.js").read_text(encoding="utf-8")
