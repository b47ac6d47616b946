"""The book as one PDF: the articles of all pages, in reading order in one document, printed by Chromium."""

import re
import shutil
import subprocess
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urldefrag

from bs4 import BeautifulSoup, Tag

from benchtrust.compendium.book import BookError

NAME = "benchtrust.pdf"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_MS = 5_000
"""Time on Chromium's virtual clock, which stands still while a script works, until a document is printed."""

_PLACE = re.compile(r'<span class="book-pdf">[^<]*</span>')
_LINK = f'<span class="book-pdf"><a href="{NAME}">The whole book as one PDF</a></span>'
_NOT_PRINTED = (
    "script, style, button, input, .headerlink, .on-dark, .explorer, details.provenance, details.hide"
)


def write(site: Path) -> Path:
    """Print a built book to `NAME` in its folder, and link it from its first page.

    Raises
    ------
    BookError : no Chromium on the PATH, or one that printed nothing.
    """
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        raise BookError(f"A PDF is printed by Chromium: install one of {', '.join(CHROMIUM)}.")
    whole, target, index = site / "_whole.html", site / NAME, site / "index.html"
    whole.write_text(one_document(site), encoding="utf-8")
    try:
        _print(browser, whole, target)
    finally:
        whole.unlink()
    index.write_text(_PLACE.sub(_LINK, index.read_text(encoding="utf-8")), encoding="utf-8")
    return target


def one_document(site: Path) -> str:
    """All pages of a built book as one HTML document for print; links between pages lead within it."""
    first = _soup(site / "index.html")
    links = first.select("article .toctree-l1 > a")
    names = ["index.html", *dict.fromkeys(urldefrag(link["href"]).url for link in links)]
    head = first.select('link[rel~="stylesheet"]')
    articles = [_article(site, name, set(names)) for name in names]
    mathjax = [tag for tag in first.select("head script") if "mathjax" in str(tag).lower()]
    body = "\n".join(map(str, articles))
    title = first.h1.get_text().removesuffix("#") if first.h1 else ""
    styles = "\n".join(map(str, [*head, *mathjax]))
    return (
        '<!doctype html><html lang="en" data-theme="light" class="book-in-print"><head><meta charset="utf-8">'
        f"<title>{title}</title>\n{styles}</head>\n<body><main>\n{body}\n</main></body></html>\n"
    )


def _soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def _article(site: Path, name: str, names: set[str]) -> Tag:
    """The article of a page, with what is for screens only taken out and its ids made its own."""
    page = (site / name).read_text(encoding="utf-8")
    end = "</article>"
    article = BeautifulSoup(page[page.index("<article") : page.rindex(end) + len(end)], "html.parser").article
    article["id"] = _id(name)
    for tag in article.select(_NOT_PRINTED):
        tag.decompose()
    for tag in article.select("[id]"):
        tag["id"] = _id(name, tag["id"])
    for image in article.select("img[src]"):
        image["src"] = normpath(join(dirname(name), image["src"]))
    for link in article.select("a[href]"):
        _lead_within(link, name, names)
    return article


def _lead_within(link: Tag, name: str, names: set[str]) -> None:
    """Let a link lead to its place in the document; one to a file of the site becomes plain text."""
    url, fragment = urldefrag(link["href"])
    if ":" in url.split("/")[0]:
        return
    target = normpath(join(dirname(name), url)) if url else name
    if target in names:
        link["href"] = f"#{_id(target, unquote(fragment))}"
    else:
        link.name = "span"
        del link["href"]


def _id(name: str, own: str = "") -> str:
    page = name.removesuffix(".html").replace("/", "-")
    return f"{page}--{own}" if own else page


def _print(browser: str, document: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    command = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"),
        *("--generate-pdf-document-outline", f"--virtual-time-budget={PATIENCE_MS}"),
        *(f"--print-to-pdf={target}", document.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or not target.exists():
        raise BookError(f"Chromium printed no PDF:\n{done.stderr.strip()[-2000:]}")
