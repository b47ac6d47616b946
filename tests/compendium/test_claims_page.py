"""How claims and verdicts come into pages: rows, counts, links, and warnings for what is not there."""

import re
import shutil
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from benchtrust.compendium import Recorder, ledger
from benchtrust.compendium.audit import artefacts
from benchtrust.compendium.claim_file import Claim
from benchtrust.compendium.claims_page import counts, css_class
from benchtrust.compendium.verdicts import claims

COLUMNS = ",".join(Claim.__dataclass_fields__)
ROWS = """below,2605.25492,rates,It is low.,0.5,,other models,part/source:tab-rates:rho,,1,below,,,,Mind it.,
cells,2605.25492,grid,There are 612 cells.,612,cells,mathematical,part/source:n-cells,,1,equals,,,,,
absent,2605.25492,grid,Something else.,,,other models,part/source:n-none,,1,positive,,,,,
large,2605.25492,scale,Large models too.,,,other models,,,,,,,,,a GPU
"""
INDEX = """# Start

```{toctree}
claims
part/source
```

The rate: {verdict}`below`.
"""
CLAIMS = "# Claims\n\n```{claims}\nAll claims.\n```\n\n```{artefacts}\nAll artefacts.\n```\n"
SHOWN = "# Shown\n\n```{artefact} tab-rates\nRates.\n```\n\n```{numbers}\n```\n"


@pytest.fixture
def source(small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book's source as staging leaves it, with results and judged claims."""
    results = small_project / "build/paper/results"
    monkeypatch.setenv("BENCHTRUST_RESULTS", str(results / "part/source"))
    record = Recorder("part/source", {"seed": 1})
    record.table("tab-rates", pd.DataFrame({"benchmark": ["BBQ"], "rho": [0.25]}))
    record.number("n-cells", 612, "d")
    folder = tmp_path / "source"
    shutil.copytree(results, folder / "_results")
    (tmp_path / "claims.csv").write_text(f"{COLUMNS}\n{ROWS}")
    claims(path=tmp_path / "claims.csv").to_csv(folder / "_results/claims.csv", index=False)
    artefacts(stale=frozenset()).to_csv(folder / "_results/artefacts.csv", index=False)
    (folder / "part").mkdir()
    for name, text in {"index": INDEX, "claims": CLAIMS, "part/source": SHOWN}.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def build(source: Path) -> tuple[dict[str, str], str]:
    """Pages by name, and the warnings."""
    warnings = StringIO()
    settings = {"extensions": ["myst_parser", "benchtrust.compendium.directives"], "html_theme": "basic"}
    out = source.parent / "out"
    with docutils_namespace():
        app = Sphinx(source, None, out, out / "trees", "html", settings, status=None, warning=warnings)
        app.build()
    pages = {page.relative_to(out).as_posix(): page.read_text() for page in out.rglob("*.html")}
    return pages, warnings.getvalue()


def test_every_claim_has_a_row_with_its_verdict_reason_and_link(source: Path) -> None:
    pages, warnings = build(source)
    assert warnings == ""
    rows = dict(re.findall(r'<tr class="[^"]*" id="claim-(\w+)">(.*?)</tr>', pages["claims.html"], re.DOTALL))
    assert list(rows) == ["below", "cells", "absent", "large"]
    plain = {name: re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)) for name, row in rows.items()}
    for part in ("It is low.", "arXiv 2605.25492", "0.25", "reproduced in kind", "Asked: below 0.5."):
        assert part in plain["below"]
    assert "Mind it." in plain["below"]
    assert "612 cells" in plain["cells"]
    assert "not run part/source has not recorded n-none" in plain["absent"]
    assert "no figure" in plain["absent"]
    assert "not testable here It needs a GPU." in plain["large"]
    assert 'href="part/source.html#tab-rates"' in rows["below"]
    assert 'href="part/source.html#number-n-cells"' in rows["cells"]
    assert "href" not in rows["absent"] + rows["large"]
    assert 'href="claims.html#claim-below"' in pages["index.html"]
    assert ">reproduced in kind</em>" in pages["index.html"]


def test_the_table_can_be_downloaded(source: Path) -> None:
    pages, _ = build(source)
    (address,) = re.findall(r'href="(_downloads/\w+/claims\.csv)"', pages["claims.html"])
    table = pd.read_csv(source.parent / "out" / address, keep_default_na=False)
    assert list(table["verdict"]) == ["reproduced in kind", "reproduced", "not run", "not testable here"]


@pytest.mark.parametrize(
    ("page", "old", "new", "warning"),
    [
        ("index.md", "`below`", "`belwo`", "Unknown claim 'belwo'. Did you mean below"),
        ("claims.md", "All claims.", "", "table of claims needs a caption"),
        ("claims.md", "All artefacts.", "", "table of artefacts needs a caption"),
    ],
)
def test_what_is_not_there_is_a_warning(source: Path, page: str, old: str, new: str, warning: str) -> None:
    path = source / page
    path.write_text(path.read_text().replace(old, new))
    assert warning in build(source)[1]


def test_every_artefact_has_a_row_with_its_state_and_a_link_to_its_place(source: Path) -> None:
    pages, _ = build(source)
    page = pages["claims.html"]
    rows = dict(re.findall(r'<tr class="[^"]*" id="artefact-([\w-]+)">(.*?)</tr>', page, re.DOTALL))
    assert list(rows) == ["n-cells", "tab-rates"]
    assert 'href="part/source.html#tab-rates"' in rows["tab-rates"]
    assert 'href="part/source.html#number-n-cells"' in rows["n-cells"]
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", rows["n-cells"]))
    for part in ("number · 612", "executed here", "notebooks/part/source.ipynb", "no file"):
        assert part in plain
    assert "2 executed here" in page
    (address,) = re.findall(r'href="(_downloads/\w+/artefacts\.csv)"', page)
    assert len(pd.read_csv(source.parent / "out" / address)) == 2


def test_without_claims_both_warn(source: Path) -> None:
    (source / "_results/claims.csv").unlink()
    assert build(source)[1].count("There are no judged claims") == 2


def test_counts_hold_every_verdict_that_occurs_and_what_was_not_run() -> None:
    frame = pd.DataFrame({"verdict": ["not run", "reproduced", "reproduced in kind", "reproduced"]})
    entries = [(e.astext(), e["classes"]) for e in counts(frame).findall(nodes.list_item)]
    assert entries == [
        ("2 reproduced", ["verdict-reproduced"]),
        ("1 reproduced in kind", ["verdict-reproduced-in-kind"]),
        ("1 not run", ["verdict-not-run"]),
    ]
    assert css_class("not run") == "verdict-not-run"


def test_an_artefact_that_another_page_labels_otherwise_is_linked_by_its_page(source: Path) -> None:
    page = source / "part/source.md"
    page.write_text(page.read_text().replace("tab-rates\n", "tab-rates\n:name: other\n"))
    pages, warnings = build(source)
    assert warnings == ""
    assert 'href="part/source.html"><code' in pages["claims.html"]
    assert ledger.read(source / "_results/part/source").artefacts["tab-rates"].kind == "table"
