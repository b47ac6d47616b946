"""The book as one document for print: each page once, in order, links within it, nothing for screens only."""

import re
import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from benchtrust.compendium import pdf
from benchtrust.compendium.book import BookError

INDEX = """<html><head>
<link rel="stylesheet" href="_static/a.css">
<script>window.MathJax = {}</script><script src="_static/search.js"></script></head>
<body><nav>aside</nav><article class="bd-article"><h1>A book</h1>
<p><span class="book-pdf">Printed by make pdf.</span></p><div class="toctree-wrapper"><ul>
<li class="toctree-l1"><a href="part/one.html">One</a></li>
<li class="toctree-l1"><a href="part/two.html">Two</a></li>
</ul></div></article></body></html>"""
ONE = """<html><body><article class="bd-article"><h1 id="same">One
<a class="headerlink" href="#same">#</a></h1>
<img class="on-light" src="../_images/x.svg" alt="x"><img class="on-dark" src="../_images/x.dark.svg" alt="x">
<div class="explorer"><script type="application/json">{}</script></div><a href="#same">here</a>
<a href="two.html#same">there</a><a href="two.html">two</a><a href="https://example.org/a#b">out</a>
<a href="../_downloads/data.csv">data</a><details class="provenance"><p>hash</p></details>
</article></body></html>"""
TWO = '<html><body><article class="bd-article"><h1 id="same">Two</h1></article></body></html>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "part").mkdir()
    for name, page in {"index": INDEX, "part/one": ONE, "part/two": TWO}.items():
        (tmp_path / f"{name}.html").write_text(page)
    return tmp_path


def test_the_pages_follow_each_other_and_their_links_stay_within(site: Path) -> None:
    document = BeautifulSoup(pdf.one_document(site), "html.parser")
    assert [tag["id"] for tag in document.select("article")] == ["index", "part-one", "part-two"]
    ids = [tag["id"] for tag in document.select("[id]")]
    assert len(ids) == len(set(ids))
    links = {tag.get_text(): tag["href"] for tag in document.select("a")}
    assert links == {
        "One": "#part-one",
        "Two": "#part-two",
        "here": "#part-one--same",
        "there": "#part-two--same",
        "two": "#part-two",
        "out": "https://example.org/a#b",
    }
    assert {link[1:] for link in links.values() if link.startswith("#")} <= set(ids)


def test_what_only_screens_have_is_left_out(site: Path) -> None:
    text = pdf.one_document(site)
    assert re.findall(r'src="([^"]*)"', text) == ["_images/x.svg"]
    for gone in ("aside", "hash", "explorer", "headerlink", "search.js"):
        assert gone not in text
    for there in ("_static/a.css", "window.MathJax", "<title>A book</title>", "data"):
        assert there in text


def test_without_chromium_no_page_is_touched(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(site))
    with pytest.raises(BookError, match="Chromium: install"):
        pdf.write(site)
    assert (site / "index.html").read_text() == INDEX


@pytest.mark.parametrize("said", ["exit 1", "exit 0"])
def test_a_browser_that_prints_nothing_leaves_no_link(
    site: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    browser = site / "chromium"
    browser.write_text(f"#!/bin/sh\n{said}\n")
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", f"{site}:/usr/bin:/bin")
    with pytest.raises(BookError, match="printed no PDF"):
        pdf.write(site)
    assert (site / "index.html").read_text() == INDEX
    assert not (site / "_whole.html").exists()


@pytest.mark.book
@pytest.mark.skipif(not any(map(shutil.which, pdf.CHROMIUM)), reason="Chromium is not installed")
def test_the_first_page_links_what_was_printed(site: Path) -> None:
    printed = pdf.write(site)
    assert printed.read_bytes().startswith(b"%PDF")
    link = BeautifulSoup((site / "index.html").read_text(), "html.parser").select_one(".book-pdf a")
    assert (site / link["href"]) == printed
