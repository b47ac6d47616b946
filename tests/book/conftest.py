"""The book of the smoke profile, served to headless Chromium."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

SITE = Path(__file__).parents[2] / "build/smoke/html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
GENERATED = {"genindex", "search", "py-modindex", "prf-prf"}


def pages() -> list[str]:
    """Pages of the book by path without suffix."""
    found = sorted(path.relative_to(SITE).with_suffix("").as_posix() for path in SITE.rglob("*.html"))
    return [page for page in found if page not in GENERATED and not page.startswith("_")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per page, or per page with figures."""
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", pages() or ["index"])
    if "page_with_figures" in metafunc.fixturenames:
        drawn = [page for page in pages() if '"recorded-figure' in (SITE / f"{page}.html").read_text("utf-8")]
        metafunc.parametrize("page_with_figures", drawn or ["index"])


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """Address of the served book."""
    if not (SITE / "index.html").exists():
        pytest.skip("no book in build/smoke/html: run 'make book PROFILE=smoke'")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def folder(site: str) -> Path:
    """The files that are served."""
    return SITE


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    if not CHROMIUM:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
