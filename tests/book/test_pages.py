"""Every page of the book as a reader meets it: self-contained, readable in both schemes, whole on a phone."""

import hashlib
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page

pytestmark = pytest.mark.book

JUDGE = (Path(__file__).parent / "page.js").read_text()
WIDE = """[...document.querySelectorAll("main *")]
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
  .filter((e) => !e.closest("pre, .pst-scrollable-table-container, .cell_output, mjx-container"))
  .slice(0, 5).map((e) => e.outerHTML.slice(0, 150))"""
PANELS = """[...document.querySelectorAll("details.provenance")]
  .filter((panel) => panel.textContent.includes("benchtrust check"))
  .map((panel) => ({
    open: panel.open,
    text: panel.textContent,
    data: [...panel.querySelectorAll("a")]
      .filter((a) => a.textContent.includes("data (CSV)")).map((a) => a.href),
  }))"""
CLOSE = "document.querySelectorAll('main article details').forEach((panel) => { panel.open = false })"
SHOWN = """figures => figures.map((figure) => ["light", "dark"].map(
  (scheme) => figure.querySelector(`img.on-${scheme}`).checkVisibility({ visibilityProperty: true })))"""
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


class Visit:
    """One page opened, with all that went wrong meanwhile."""

    def __init__(self, page: Page, site: str) -> None:
        self.page, self.site, self.problems = page, site, list[str]()
        page.on("request", self._request)
        page.on("requestfailed", lambda request: self.problems.append(f"failed: {request.url}"))
        page.on("response", lambda r: r.status >= 400 and self.problems.append(f"{r.status}: {r.url}"))
        page.on("console", lambda m: m.type in ("error", "warning") and self.problems.append(m.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.site, "data:", "blob:")):
            self.problems.append(f"another host: {request.url}")

    def open(self, path: str) -> None:
        """Load a page and wait until its mathematics are set."""
        self.page.goto(f"{self.site}/{path}")
        self.page.wait_for_function(
            "!document.querySelector('main .math') || document.querySelector('main .math mjx-container')"
        )

    def file(self, folder: Path, address: str) -> Path:
        """The served file that an address names."""
        return folder / unquote(address).removeprefix(f"{self.site}/")


@pytest.fixture(scope="session")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """What the pages share is loaded once: styles, scripts and fonts."""
    context = browser.new_context(viewport=DESK, color_scheme="light", reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture
def visit(window: BrowserContext, site: str) -> Iterator[Visit]:
    """A fresh tab."""
    page = window.new_page()
    yield Visit(page, site)
    page.close()


def test_page_can_be_read_and_leads_somewhere(visit: Visit, folder: Path, page_name: str) -> None:
    """In one visit, since setting a page's mathematics takes longest."""
    visit.open(f"{page_name}.html")
    check_links(visit, folder)
    check_data(visit, folder)
    for scheme in ("light", "dark"):
        visit.page.emulate_media(color_scheme=scheme)
        check_scheme(visit, scheme)
    visit.page.set_viewport_size(PHONE)
    width = visit.page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"], visit.page.evaluate(WIDE)
    visit.page.set_viewport_size(DESK)
    visit.page.evaluate(CLOSE)
    panels = visit.page.locator("details.provenance:has-text('benchtrust check')")
    if panels.count():
        check_download(visit.page, panels.first)
    check_number(visit.page)


def check_scheme(visit: Visit, scheme: str) -> None:
    """An open page, judged in the colours that it now has."""
    visit.page.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")
    found = visit.page.evaluate(JUDGE)
    assert visit.problems == []
    kinds = ("withoutAlt", "lowContrast", "unlabelled", "unnamed", "withoutHeads", "silentDrawings")
    kinds += ("badMaths", "wideMaths", "rawMaths", "duplicateIds")
    assert {kind: found[kind] for kind in kinds if found[kind]} == {}
    assert found["texts"] > 10
    assert found["document"] == {"lang": "en", "title": True, "mains": 1, "zoom": True}
    levels = [level for level, _ in found["headings"]]
    assert levels[0] == 1, found["headings"]
    assert levels.count(1) == 1, found["headings"]
    assert all(below <= level + 1 for level, below in pairwise(levels)), found["headings"]
    for shown in found["figures"]:
        assert len(shown) == 1
        assert shown[0]["width"] > 0
        assert shown[0]["source"].endswith(".dark.svg") == (scheme == "dark")


def check_links(visit: Visit, folder: Path) -> None:
    """What a page links to in the book is there."""
    links = visit.page.evaluate(
        "[...document.querySelectorAll('main a[href], nav a[href]')].map(a => a.href)"
    )
    targets = {link.split("#")[0] for link in links if link.startswith(visit.site)}
    assert [to for to in sorted(targets) if not visit.file(folder, to).is_file()] == []


def check_data(visit: Visit, folder: Path) -> None:
    """The panels are closed, and the data that each offers have the hash that it states."""
    for panel in visit.page.evaluate(PANELS):
        assert not panel["open"]
        for address in panel["data"]:
            content = visit.file(folder, address).read_bytes()
            assert hashlib.sha256(content).hexdigest()[:16] in panel["text"]


def check_number(page: Page) -> None:
    """The first number in the text leads to its entry."""
    numbers = page.locator("a:has(> .recorded-number)")
    if not numbers.count():
        return
    shown = numbers.first.inner_text()
    numbers.first.click()
    page.wait_for_load_state()
    entry = page.locator(f"[id='{page.evaluate('location.hash.slice(1)')}']")
    entry.wait_for(state="visible")
    assert shown in entry.inner_text()


def check_download(page: Page, panel: Locator) -> None:
    """A panel opens, and what is downloaded from it has the hash that it states."""
    link = panel.get_by_role("link", name="data (CSV)", include_hidden=True)
    if not link.count():
        return
    assert not link.is_visible()
    panel.locator("summary").click()
    with page.expect_download() as download:
        link.click()
    content = Path(download.value.path()).read_bytes()
    assert hashlib.sha256(content).hexdigest()[:16] in panel.inner_text()


FOCUS = """() => {
  const e = document.activeElement, style = getComputedStyle(e);
  const of = ["outlineStyle", "outlineWidth", "boxShadow", "backgroundColor", "textDecorationLine"];
  const look = (s) => of.map((name) => s[name]).join();
  const focused = look(style);
  e.blur();
  const blurred = look(getComputedStyle(e));
  e.focus({ focusVisible: true, preventScroll: true });
  return [e.tagName, e.outerHTML.slice(0, 120), focused !== blurred];
}"""


@pytest.mark.parametrize("name", ["index", "claims", "stability/envelope", "efficiency/self_test"])
def test_what_the_keyboard_reaches_shows_that_it_has_the_focus(visit: Visit, name: str) -> None:
    visit.open(f"{name}.html")
    visit.page.evaluate("document.querySelector('main article').setAttribute('tabindex', '-1')")
    visit.page.evaluate("document.querySelector('main article').focus()")
    reached = []
    for _ in range(15):
        visit.page.keyboard.press("Tab")
        reached.append(visit.page.evaluate(FOCUS))
    assert len({text for _, text, _ in reached}) > 10
    assert [text for tag, text, seen in reached if not seen and tag != "BODY"] == []


def test_each_page_of_prose_opens_with_two_sentences() -> None:
    for path in sorted((Path(__file__).parents[2] / "book").glob("*.md")):
        opening = path.read_text(encoding="utf-8").split("\n\n")[1]
        assert not opening.startswith(("#", "`", "|", ":")), path.name
        assert len(re.findall(r"[.?!](?=\s|$)", opening)) >= 2, f"{path.name}: {opening}"


def test_search_finds_a_word(visit: Visit) -> None:
    visit.page.goto(f"{visit.site}/search.html?q=benchmark")
    visit.page.wait_for_selector("#search-results li a")
    assert visit.problems == []


def test_the_scheme_can_be_switched(browser: Browser, site: str) -> None:
    page = browser.new_page(viewport=DESK)  # a window of its own: the choice is remembered
    page.goto(f"{site}/index.html")
    button = page.locator(".theme-switch-button:visible").first
    seen = set()
    for _ in range(3):
        button.click()
        seen.add(page.evaluate("document.documentElement.dataset.theme"))
    assert seen == {"light", "dark"}
    page.close()


def test_without_scripts_the_light_figure_is_shown(
    browser: Browser, site: str, page_with_figures: str
) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{site}/{page_with_figures}.html")
    shown = page.locator("figure.recorded-figure").evaluate_all(SHOWN)
    assert shown == [[True, False]] * len(shown)
    assert shown
    page.close()


def test_the_figure_of_the_readme_is_the_one_that_the_notebook_draws() -> None:
    root = Path(__file__).parents[2]
    drawn = root / "build/smoke/results/stability/rank_flips/fig-scores-by-configuration.svg"
    if not drawn.exists():
        pytest.skip("no results in build/smoke: run 'make book PROFILE=smoke'")
    shown = root / "book/_static/scores-by-configuration.svg"
    assert shown.read_bytes() == drawn.read_bytes(), f"copy {drawn} to {shown}"
