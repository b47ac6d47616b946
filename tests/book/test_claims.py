"""The page of claims as a reader uses it: whole without scripts, chosen from with them, cards on a phone."""

import csv
import json
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from benchtrust.compendium import notebooks
from benchtrust.compendium.verdicts import NOT_RUN

pytestmark = pytest.mark.book

ROOT = Path(__file__).parents[2]
CLAIMS = ROOT / "data/published/claims.csv"
VERDICTS = "rows => rows.map((r) => [r.id.slice(6), r.querySelector('.claim-verdict').innerText])"
"""Of each claim, by its id without the ``claim-`` of its row."""
PHONE = {"width": 390, "height": 844}


def rows() -> list[dict[str, str]]:
    with CLAIMS.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def recorded() -> list[tuple[str, str]]:
    """Kind and name of each artefact in the ledgers of the book that is looked at."""
    homes = (ROOT / "build/smoke/results").rglob("ledger.json")
    ledgers = [json.loads(path.read_text()) for path in homes]
    return sorted((a["kind"], name) for home in ledgers for name, a in home["artefacts"].items())


def ids() -> list[str]:
    return [row["id"] for row in rows()]


def shown(page: Page) -> list[str]:
    """Ids of the rows that can be seen."""
    found = page.locator(".claims-table tbody tr:visible").evaluate_all("rows => rows.map((row) => row.id)")
    return [name.removeprefix("claim-") for name in found]


def test_without_scripts_every_claim_stands_in_the_table(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/claims.html")
    assert shown(page) == ids()
    assert page.locator(".claims button, .claims input").count() == 0
    context.close()


def test_claims_are_chosen_by_verdict_and_by_words(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/claims.html")
    status = page.locator(".claims").get_by_role("status")
    total = len(ids())
    assert shown(page) == ids()
    button = page.locator(".claims-counts button").first
    number, verdict = button.inner_text().split(" ", 1)
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert len(shown(page)) == int(number)
    assert set(page.locator(".claims-table tr:visible .claim-verdict").all_inner_texts()) == {verdict}
    assert status.inner_text() == f"{number} of {total} claims shown"
    button.click()
    assert shown(page) == ids()
    page.get_by_role("searchbox", name="Show claims that hold these words").fill("one-line-TEST nothing")
    assert shown(page) == []
    page.get_by_role("searchbox", name="Show claims that hold these words").fill("PROP-RANGE")
    assert shown(page) == ["prop-range"]
    page.close()


def test_the_counts_add_up(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/claims.html")
    counted = [int(b.inner_text().split()[0]) for b in page.locator(".claims-counts button").all()]
    assert sum(counted) == len(ids())
    page.close()


def test_every_artefact_stands_in_the_table_and_can_be_downloaded(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False, accept_downloads=True)
    page = context.new_page()
    page.goto(f"{site}/claims.html")
    rows = page.locator(".artefacts-table tbody tr")
    shown = rows.evaluate_all("rows => rows.map(r => [r.querySelector('p.claim-aside').innerText, r.id])")
    found = sorted((kind.split(" · ")[0], name.removeprefix("artefact-")) for kind, name in shown)
    assert found == recorded()
    with page.expect_download() as download:
        page.get_by_role("link", name="all artefacts").click()
    table = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    assert sorted((row["kind"], row["artefact"]) for row in table) == recorded()
    assert {row["state"] for row in table} <= {"executed here", "from recorded results"}
    context.close()


def test_artefacts_are_chosen_by_state_and_by_words_with_the_keyboard(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/claims.html")
    box = page.locator(".artefacts")
    button = box.locator(".filter-counts button").last
    number, state = button.inner_text().split(" ", 1)
    button.focus()
    page.keyboard.press("Enter")
    assert box.get_by_role("status").inner_text() == f"{number} of {len(recorded())} artefacts shown"
    states = box.locator("tr:visible .claim-verdict").all_inner_texts()
    assert set(states) == {state}
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("fig-scores-by-configuration")
    assert box.get_by_role("status").inner_text().startswith("1 of ")
    box.locator("tbody tr:visible a").first.click()
    page.wait_for_url("**/stability/rank_flips.html#fig-scores-by-configuration")
    page.close()


def test_on_a_phone_a_claim_is_a_card_that_fits(browser: Browser, site: str) -> None:
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    page.goto(f"{site}/claims.html")
    table = page.locator(".claims-table").bounding_box()
    assert table is not None
    assert table["x"] + table["width"] <= PHONE["width"]
    cells = [cell.bounding_box() for cell in page.locator("#claim-grid-cells td").all()]
    assert all(above["y"] + above["height"] <= below["y"] + 1 for above, below in pairwise(cells))
    page.locator(".claims-counts button").first.click()
    assert 0 < len(shown(page)) < len(ids())
    context.close()


def test_a_verdict_in_the_text_leads_to_its_row(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/limits_safetyrepro.html")
    link = page.locator("main a[href*='claims.html#claim-']").first
    verdict = link.inner_text()
    link.click()
    row = page.locator(":target")
    row.wait_for(state="visible")
    assert row.locator(".claim-verdict").inner_text() == verdict
    page.close()


def test_a_claim_waits_only_for_a_notebook_that_is_not_in_the_book_or_left_part_out(
    browser: Browser, site: str
) -> None:
    smoke = tomllib.loads((ROOT / "profiles/smoke.toml").read_text())
    part = {name for name, values in smoke.items() if {"benchmarks", "models"} & set(values)}
    page = browser.new_page()
    page.goto(f"{site}/claims.html")
    names = {row["id"]: row["artefact"].split(":")[0] for row in rows()}
    there = {claim for claim, name in names.items() if name in notebooks.in_book() and name not in part}
    verdicts = dict(page.locator("tr[id^='claim-']").evaluate_all(VERDICTS))
    assert [claim for claim in names if claim in there and verdicts[claim] == NOT_RUN] == []
    page.close()
