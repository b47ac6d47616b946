"""Figures that can be played with: with scripts and without, by keyboard, on a phone, on paper."""

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from benchtrust.harmony import harmony

pytestmark = pytest.mark.book

PAGE, EVENNESS = "efficiency/calibration.html", "uniformity/index.html"
RESULTS = Path(__file__).parents[2] / "build/smoke/results"
DATA = RESULTS / "efficiency/calibration/fig-calibration-curves.csv"
CASES = RESULTS / "uniformity/index/fig-harmony-cases.csv"
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """The page with the item curves."""
    yield from opened(browser, f"{site}/{PAGE}")


@pytest.fixture
def evenness(browser: Browser, site: str) -> Iterator[Page]:
    """The page with the index of evenness."""
    yield from opened(browser, f"{site}/{EVENNESS}")


def opened(browser: Browser, address: str) -> Iterator[Page]:
    """A page, from which whatever it says on the console fails a test."""
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda m: m.type in ("error", "warning") and said.append(m.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    yield page
    assert said == []
    page.close()


def recorded(file: Path = DATA) -> list[dict[str, str]]:
    if not file.exists():
        pytest.skip("no results in build/smoke: run 'make book PROFILE=smoke'")
    with file.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def numbers(page: Page) -> list[list[str]]:
    """The rows of the explorer's table: name, then P, information, SE, SE with the prior, or Ψ, w, p."""
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


@pytest.mark.parametrize("path", [PAGE, EVENNESS])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_stands_in_place_of_the_picture_and_fits_a_phone(
    browser: Browser, site: str, path: str, scheme: str
) -> None:
    page = browser.new_page(viewport=PHONE, color_scheme=scheme)
    page.goto(f"{site}/{path}")
    figure = page.locator("figure:has(.explorer)")
    assert not any(image.is_visible() for image in figure.locator("img").all())
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    box = figure.bounding_box()
    shown = [p for p in figure.locator("input, select, svg, table, button").all() if p.is_visible()]
    assert len(shown) > 10
    for part in shown:
        own = part.bounding_box()
        assert own["x"] >= box["x"] - 1
        assert own["x"] + own["width"] <= box["x"] + box["width"] + 1
    assert figure.locator(".explorer-charts svg").first.bounding_box()["width"] > 300
    page.close()


@pytest.mark.parametrize("path", [PAGE, EVENNESS])
def test_without_scripts_the_picture_is_there_and_no_slider(browser: Browser, site: str, path: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/{path}")
    figure = page.locator("figure:has(.explorer)")
    assert figure.locator("img.on-light").is_visible()
    assert figure.locator("input").count() == 0
    assert "{" not in figure.inner_text()
    context.close()


@pytest.mark.parametrize("path", [PAGE, EVENNESS])
def test_on_paper_the_picture_is_printed(browser: Browser, site: str, path: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/{path}")
    page.emulate_media(media="print")
    figure = page.locator("figure:has(.explorer)")
    assert figure.locator("img.on-light").is_visible()
    assert not figure.locator(".explorer-controls").is_visible()
    page.close()


def says(page: Page) -> str:
    return page.locator(".explorer").get_by_role("status").inner_text()


def expected(accuracy: list[float], sizes: list[float], b: float) -> tuple[list[list[str]], str]:
    """Table and sentence of a profile, by the package's own index."""
    own = harmony(accuracy, sizes, b)
    shares = [size / sum(sizes) for size in sizes]
    rows = [
        [f"cluster {i + 1}", *map(as_shown, row)]
        for i, row in enumerate(zip(accuracy, shares, own.masses, strict=True))
    ]
    sentence = (
        f"H = {as_shown(own.value)} at b = {as_shown(b)}; H(w)/log k, its value at equal accuracies, is "
        f"{as_shown(own.at_uniform)}; size-free H {as_shown(own.size_free)}; weighted SD {as_shown(own.sd)}; "
        f"worst cluster {as_shown(own.worst)}."
    )
    return [*rows, ["all", as_shown(own.mean), "1.00", "1.00"]], sentence


def profiles() -> dict[str, tuple[list[float], list[float], float]]:
    """Accuracies, sizes and b of each recorded case."""
    cases: dict[str, tuple[list[float], list[float], float]] = {}
    for row in recorded(CASES):
        accuracy, sizes, _ = cases.setdefault(row["case"], ([], [], float(row["bandwidth"])))
        accuracy.append(float(row["accuracy"]))
        sizes.append(float(row["size"]))
    return cases


def test_the_index_of_each_recorded_profile_is_the_packages(evenness: Page) -> None:
    cases = profiles()
    first = expected(*next(iter(cases.values())))
    assert (numbers(evenness), says(evenness)) == first
    for name, profile in cases.items():
        evenness.locator(".explorer select").select_option(name)
        assert (numbers(evenness), says(evenness)) == expected(*profile)
        bars = [evenness.locator(f".explorer-charts svg >> nth={n}").locator("rect").count() for n in (0, 1)]
        assert bars == [len(profile[0])] * 2


def test_the_keyboard_moves_a_part_its_size_the_bandwidth_and_the_number_of_parts(evenness: Page) -> None:
    accuracy, sizes, b = next(iter(profiles().values()))
    bars = evenness.locator(".explorer-charts svg").first
    picture = bars.locator("rect").first.get_attribute("height")
    for group, name, key, times in (
        ("cluster 1", "accuracy Ψ", "ArrowRight", 7),
        ("cluster 2", "size", "ArrowRight", 3),
        ("index", "bandwidth b", "ArrowLeft", 2),
    ):
        slider(evenness, group, name).focus()
        for _ in range(times):
            evenness.keyboard.press(key)
    accuracy, sizes = [accuracy[0] + 0.07, *accuracy[1:]], [sizes[0], sizes[1] + 3, *sizes[2:]]
    rows, sentence = expected(accuracy, sizes, b - 0.02)
    assert (numbers(evenness), says(evenness)) == (rows, sentence)
    assert bars.locator("rect").first.get_attribute("height") != picture
    assert as_shown(accuracy[0]) in bars.get_attribute("aria-label")
    assert slider(evenness, "cluster 2", "size").get_attribute("aria-valuetext") == f"{sizes[1]:.0f}"
    slider(evenness, "index", "clusters k").focus()
    evenness.keyboard.press("ArrowLeft")
    assert (numbers(evenness), says(evenness)) == expected(accuracy[:-1], sizes[:-1], b - 0.02)
    group = evenness.locator(".explorer").get_by_role("group", name=f"cluster {len(accuracy)}")
    assert group.count() == 0
    evenness.get_by_role("button", name="As in the picture").press("Enter")
    assert (numbers(evenness), says(evenness)) == expected(*next(iter(profiles().values())))
