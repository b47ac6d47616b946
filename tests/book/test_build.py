"""A small whole project built into a book by the same functions, and what must never be published."""

import csv
import hashlib
import re
import shutil
from dataclasses import fields
from pathlib import Path

import nbformat
import pytest

from benchtrust.compendium import book, build, run_all
from benchtrust.compendium.book import BookError
from benchtrust.compendium.claim_file import Claim

pytestmark = pytest.mark.book

ROOT = Path(__file__).parents[2]
CODE = """import matplotlib.pyplot as plt
import pandas as pd
from benchtrust import plots
from benchtrust.compendium import Recorder

record = Recorder("part/shown", globals())
frame = pd.read_csv(record.input("data/recorded/scores.csv"))
with plots.style():
    fig, ax = plt.subplots(figsize=(3, 2))
    ax.plot(frame["cell"], frame["score"])
record.figure("score-line", fig, frame, alt="A line that falls from one half to a quarter.")
record.table("score-table", frame, formats={"score": ".1%"}, labels={"cell": "configuration"})
record.number("score-drop", float(frame["score"].max() - frame["score"].min()), ".2f")"""
SHOWN = """See {numref}`score-line` and {numref}`the-table`.

```{artefact} score-line
Scores *fall* with $c$.
```

```{artefact} score-table
:name: the-table
:columns: cell, score
The same scores.
```

```{exercise} Why?
:label: ex-why
Why does it fall? See {numref}`score-line`.
```

````{solution} ex-why
:class: dropdown
For the quicksilver in it.

```python
assert "quicksilver"
```
````"""
CLAIMS = """# Claims

```{claims}
All claims.
```
"""
CLAIM = "{id},2605.25492,scores,It falls.,{published},,{scale},part/shown:score-drop,,1,equals,,,,,\n"
INDEX = "# A small book\n\nThe score drops by {number}`score-drop`. Try {ref}`ex-why`.\n"


def write_notebook(path: Path, code: str) -> None:
    """Write a notebook with title, parameters, code and the page's directives."""
    cells = [
        nbformat.v4.new_markdown_cell("# What is shown", id="title"),
        nbformat.v4.new_code_cell("seed: int = 3", id="values", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(code, id="code"),
        nbformat.v4.new_markdown_cell(SHOWN, id="prose"),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


@pytest.fixture
def small_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("notebooks/part", "data/recorded", "data/published", "profiles", "book/_static"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("_config.yml", "requirements.lock", "book/_static/logo.svg", "book/_static/favicon.svg"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters:\n  - file: part/shown\n  - file: claims\n"
    )
    (tmp_path / "book/claims.md").write_text(CLAIMS)
    columns = ",".join(field.name for field in fields(Claim))
    rows = [
        CLAIM.format(id="drop", published=0.25, scale="other models"),
        CLAIM.format(id="no-drop", published=0, scale="mathematical"),
    ]
    (tmp_path / "data/published/claims.csv").write_text(f"{columns}\n{''.join(rows)}")
    (tmp_path / "book/index.md").write_text(INDEX)
    (tmp_path / "book/references.bib").write_text("")
    (tmp_path / "profiles/paper.toml").write_text("")
    (tmp_path / "data/recorded/scores.csv").write_text("cell,score,note\n0,0.5,first\n1,0.25,second\n")
    write_notebook(tmp_path / "notebooks/part/shown.ipynb", CODE)
    monkeypatch.setenv("BENCHTRUST_ROOT", str(tmp_path))
    return tmp_path


def published(root: Path) -> dict[str, str]:
    """Hash of each published file."""
    site = root / "build/paper/html"
    files = (path for path in site.rglob("*") if path.is_file())
    return {
        path.relative_to(site).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def never_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(book, "_run_jupyter_book", lambda *_: pytest.fail("built again"))


def test_a_book_is_built_whole_or_not_at_all(small_book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BookError, match="part/shown: not run"):
        build()
    assert [outcome.state for outcome in run_all("paper", jobs=1)] == ["executed"]
    index = build()
    check_pages(index.parent)
    first = published(small_book)
    check_pages_without_solutions(build(solutions=False).parent)
    with monkeypatch.context() as patch:
        never_again(patch)
        assert build() == index
        assert build(solutions=False).parent == index.parent.with_name("html-without-solutions")
    assert published(small_book) == first

    (small_book / "book/index.md").write_text(INDEX.replace("score-drop", "score-dorp"))
    with pytest.raises(BookError, match=r"index\.md.*'score-dorp'.*Did you mean score-drop"):
        build()
    assert published(small_book) == first
    (small_book / "book/index.md").write_text(INDEX)

    write_notebook(small_book / "notebooks/part/shown.ipynb", CODE + "\nraise ValueError('half')")
    with pytest.raises(BookError, match="not run since"):
        build()
    assert [outcome.state for outcome in run_all("paper", jobs=1)] == ["failed"]
    with pytest.raises(BookError, match="part/shown: its last run failed"):
        build()
    assert published(small_book) == first

    write_notebook(small_book / "notebooks/part/shown.ipynb", CODE)
    with pytest.raises(BookError, match="its last run failed"):
        build()


def check_pages(site: Path) -> None:
    """The page shows figure, table, number and their origin, and the data can be had."""
    page = (site / "part/shown.html").read_text()
    alt = 'alt="A line that falls from one half to a quarter."'
    assert page.count(alt) == 2
    for picture in ("score-line.svg", "score-line.dark.svg"):
        assert (site / "_images" / picture).exists()
        assert picture in page
    for text in ("Figure 1", "Table 1", "configuration", "50.0%", "from recorded responses"):
        assert text in page
    words = re.sub(r"<[^>]+>", "", page)
    for text in ("seed = 3", "benchtrust check score-line", "data/recorded/scores.csv"):
        assert text in words
    assert "second" not in page.partition('id="the-table"')[2].partition("</table>")[0]
    (data,) = site.glob("_downloads/*/score-line.csv")
    assert data.read_text().startswith("cell,score,note\n0,0.5,first")
    assert 'id="number-score-drop"' in page
    assert "quicksilver" in page
    start = (site / "index.html").read_text()
    assert 'href="part/shown.html#number-score-drop"' in start
    assert ">0.25</span>" in start
    claims = (site / "claims.html").read_text()
    assert claims.count('href="part/shown.html#number-score-drop"') == 2
    (table,) = site.glob("_downloads/*/claims.csv")
    assert [row["verdict"] for row in csv.DictReader(table.open())] == [
        "reproduced in kind",
        "not reproduced",
    ]
    for text in (page, start, claims):
        assert "unpkg" not in text
        assert "jsdelivr" not in text


def check_pages_without_solutions(site: Path) -> None:
    """Pages of their own, with the exercises, and nowhere a word of a solution."""
    page = (site / "part/shown.html").read_text()
    assert "Why does it fall?" in page
    assert 'href="part/shown.html#ex-why"' in (site / "index.html").read_text()
    texts = [path.read_bytes() for path in site.rglob("*") if path.is_file()]
    assert not [text for text in texts if b"quicksilver" in text]
