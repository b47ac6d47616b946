"""Figures that can be played with: with scripts and without, by keyboard, on a phone, on paper."""

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.book

PAGE = "efficiency/calibration.html"
DATA = Path(__file__).parents[2] / "build/smoke/results/efficiency/calibration/fig-calibration-curves.csv"
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """The page, from which whatever it says on the console fails a test."""
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda m: m.type in ("error", "warning") and said.append(m.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{site}/{PAGE}")
    yield page
    assert said == []
    page.close()


def recorded() -> list[dict[str, str]]:
    if not DATA.exists():
        pytest.skip("no results in build/smoke: run 'make book PROFILE=smoke'")
    with DATA.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def numbers(page: Page) -> list[list[str]]:
    """The rows of the explorer's table: name, P, information, SE, SE with the prior."""
    rows = page.locator(".explorer tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]


def slider(page: Page, group: str, name: str) -> Locator:
    return page.locator(".explorer").get_by_role("group", name=group).get_by_role("slider", name=name)


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", path)]


def as_shown(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def test_it_begins_with_the_recorded_numbers(page: Page) -> None:
    rows = [row for row in recorded() if float(row["theta"]) == 0]
    told = [float(row["information"]) for row in rows]
    both = [*told, sum(told)]
    expected = [[row["item"], as_shown(float(row["probability"]))] for row in rows] + [["both", ""]]
    for line, value in zip(expected, both, strict=True):
        line += [as_shown(value), as_shown(1 / math.sqrt(value)), as_shown(1 / math.sqrt(1 + value))]
    assert numbers(page) == expected


def test_its_curves_are_the_recorded_ones(page: Page) -> None:
    drawn = [points(path.get_attribute("d") or "") for path in page.locator(".explorer-charts path").all()]
    assert len(drawn) == 5
    fills = (
        "[...document.querySelectorAll('.explorer-charts path')].map((path) => getComputedStyle(path).fill)"
    )
    assert set(page.evaluate(fills)) == {"none"}
    items = list(dict.fromkeys(row["item"] for row in recorded()))
    for name, curve in zip(items, drawn, strict=False):
        own = [float(row["probability"]) for row in recorded() if row["item"] == name]
        assert len(curve) == len(own)
        heights = [y for _, y in curve]
        scale = (heights[0] - heights[-1]) / (own[-1] - own[0])
        assert heights == pytest.approx([heights[0] - scale * (p - own[0]) for p in own], abs=0.02)


def test_the_keyboard_moves_an_item_and_a_respondent(page: Page) -> None:
    before, chart = numbers(page), page.locator(".explorer-charts path").first
    first, second = chart.get_attribute("d"), page.locator(".explorer-charts path").nth(1).get_attribute("d")
    steeper = slider(page, "item 1", "discrimination a")
    steeper.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    a, b = 1.5, -1.0
    assert steeper.get_attribute("aria-valuetext") == as_shown(a)
    chance = 1 / (1 + math.exp(-a * (0 - b)))
    after = numbers(page)
    assert after[0][1:3] == [as_shown(chance), as_shown(a**2 * chance * (1 - chance))]
    assert after[1] == before[1]
    assert after[2] != before[2]
    assert chart.get_attribute("d") != first
    assert page.locator(".explorer-charts path").nth(1).get_attribute("d") == second
    slider(page, "respondent", "ability θ").focus()
    page.keyboard.press("ArrowLeft")
    moved = 1 / (1 + math.exp(-a * (-0.1 - b)))
    assert numbers(page)[0][1] == as_shown(moved)
    status = page.locator(".explorer").get_by_role("status").inner_text()
    assert status.startswith("At θ = −0.10")
    assert page.locator(".explorer-charts svg").first.get_attribute("aria-label").count(as_shown(moved)) == 1
    page.get_by_role("button", name="As in the picture").press("Enter")
    assert numbers(page) == before
    assert chart.get_attribute("d") == first


def test_it_stands_in_place_of_the_picture_and_fits_a_phone(browser: Browser, site: str, scheme: str) -> None:
    page = browser.new_page(viewport=PHONE, color_scheme=scheme)
    page.goto(f"{site}/{PAGE}")
    figure = page.locator("figure:has(.explorer)")
    assert not any(image.is_visible() for image in figure.locator("img").all())
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    box = figure.bounding_box()
    for part in figure.locator("input, svg, table, button").all():
        own = part.bounding_box()
        assert own["x"] >= box["x"] - 1
        assert own["x"] + own["width"] <= box["x"] + box["width"] + 1
    assert figure.locator(".explorer-charts svg").first.bounding_box()["width"] > 300
    page.close()


def test_without_scripts_the_picture_is_there_and_no_slider(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/{PAGE}")
    figure = page.locator("figure:has(.explorer)")
    assert figure.locator("img.on-light").is_visible()
    assert figure.locator("input").count() == 0
    assert "{" not in figure.inner_text()
    context.close()


def test_on_paper_the_picture_is_printed(page: Page) -> None:
    page.emulate_media(media="print")
    figure = page.locator("figure:has(.explorer)")
    assert figure.locator("img.on-light").is_visible()
    assert not figure.locator(".explorer-controls").is_visible()
