"""Figures that can be played with: with scripts and without, by keyboard, on a phone, on paper."""

import csv
import math
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page

from benchtrust import irt, responses, stability
from benchtrust.harmony import harmony
from benchtrust.harness.configurations import TIERS

pytestmark = pytest.mark.book

PAGE, EVENNESS = "efficiency/calibration.html", "uniformity/index.html"
ENVELOPE, SELFTEST = "stability/envelope.html", "efficiency/self_test.html"
PAGES = [PAGE, EVENNESS, ENVELOPE, SELFTEST]
RESULTS = Path(__file__).parents[2] / "build/smoke/results"
DATA = RESULTS / "efficiency/calibration/fig-calibration-curves.csv"
CASES = RESULTS / "uniformity/index/fig-harmony-cases.csv"
CELLS = RESULTS / "stability/envelope/fig-cell-heatmap.csv"
BANK = RESULTS / "efficiency/self_test/fig-self-test.csv"
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """The page with the item curves."""
    yield from opened(browser, f"{site}/{PAGE}")


@pytest.fixture
def evenness(browser: Browser, site: str) -> Iterator[Page]:
    """The page with the index of evenness."""
    yield from opened(browser, f"{site}/{EVENNESS}")


@pytest.fixture
def cells(browser: Browser, site: str) -> Iterator[Page]:
    """The page with the envelope."""
    yield from opened(browser, f"{site}/{ENVELOPE}")


@pytest.fixture
def selftest(browser: Browser, site: str) -> Iterator[Page]:
    """The page with the test that the reader takes."""
    yield from opened(browser, f"{site}/{SELFTEST}")


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


@pytest.mark.parametrize("path", PAGES)
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
    assert len(shown) >= 8
    for part in shown:
        own = part.bounding_box()
        assert own["x"] >= box["x"] - 1
        assert own["x"] + own["width"] <= box["x"] + box["width"] + 1
    assert figure.locator(".explorer-charts svg").first.bounding_box()["width"] > 300
    page.close()


@pytest.mark.parametrize("path", PAGES)
def test_without_scripts_the_picture_is_there_and_no_slider(browser: Browser, site: str, path: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/{path}")
    figure = page.locator("figure:has(.explorer)")
    assert figure.locator("img.on-light").is_visible()
    assert figure.locator("input").count() == 0
    assert "{" not in figure.inner_text()
    context.close()


@pytest.mark.parametrize("path", PAGES)
def test_on_paper_the_picture_is_printed(browser: Browser, site: str, path: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/{path}")
    page.emulate_media(media="print")
    figure = page.locator("figure:has(.explorer)")
    assert figure.locator("img.on-light").is_visible()
    assert not figure.locator(".explorer").is_visible()
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


def table_of(benchmark: str, keep: dict[str, list[object]] | None = None) -> pd.DataFrame:
    """Recorded scores, configurations × models, of the levels that are kept; decoding ``none`` always is."""
    frame = pd.DataFrame(recorded(CELLS)).astype({"score": float, "shots": int})
    models = list(dict.fromkeys(frame["model"]))
    own = frame[frame["benchmark"] == benchmark]
    for axis, levels in (keep or {}).items():
        own = own[own[axis].isin([*levels, "none"])]
    return own.pivot(index=responses.CONFIGURATION, columns="model", values="score")[models]


def flips_shown(page: Page) -> list[list[str]]:
    rows = page.locator(".explorer table").nth(1).locator("tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]


def flips_expected(scores: pd.DataFrame) -> list[list[str]]:
    """The explorer's table of pairs, by the package's own flip rates."""
    place = {model: at for at, model in enumerate(scores.columns, start=1)}
    rows = stability.flip_rates(scores).itertuples()
    return [
        [
            f"{place[r.model_a]} / {place[r.model_b]}",
            *map(str, (r.n_plus, r.n_minus, r.n_tie)),
            f"{r.rho:.3f}",
        ]
        for r in rows
    ]


def orders_expected(scores: pd.DataFrame) -> dict[str, int]:
    """Orders that are reached, with the models' numbers for their names."""
    numbered = scores.set_axis([str(at) for at in range(1, scores.shape[1] + 1)], axis=1)
    found = stability.orderings(numbered).table
    return dict(zip(found["ordering"], found["n"], strict=True))


def orders_shown(page: Page) -> dict[str, int]:
    texts = [
        text.text_content() for text in page.locator(".explorer-charts svg").nth(1).locator("text").all()
    ]
    return {name: int(count) for name, count in zip(texts[::2], texts[1::2], strict=True)}


def test_each_envelope_of_each_benchmark_has_the_packages_flip_rates(cells: Page) -> None:
    benchmark, tier = cells.get_by_label("benchmark"), cells.get_by_label("start from")
    assert benchmark.locator("option").count() == len({row["benchmark"] for row in recorded(CELLS)})
    for name in benchmark.locator("option").all_inner_texts():
        for size in TIERS:
            benchmark.select_option(name)
            tier.select_option(size)
            inside = [
                row for row in recorded(CELLS) if row["benchmark"] == name and row["tier"] in within(size)
            ]
            scores = table_of(name).loc[
                list({(r["template"], int(r["shots"]), r["decoding"], r["scoring"]) for r in inside})
            ]
            assert flips_shown(cells) == flips_expected(scores), (name, size)
            assert says(cells).startswith(f"{len(scores)} of {len(table_of(name))} configurations")
            orders = orders_expected(scores)
            assert orders_shown(cells) == dict(list(orders.items())[:8])


def within(size: str) -> tuple[str, ...]:
    """Tiers that lie in a tier, itself among them."""
    return TIERS[TIERS.index(size) :]


def test_the_keyboard_takes_levels_out_and_the_ranking_follows(cells: Page) -> None:
    name = cells.get_by_label("benchmark").locator("option").first.inner_text()
    before = flips_shown(cells)
    for group, level in (("template", "cot"), ("scoring", "logprob"), ("decoding", "t0.7")):
        box = cells.get_by_role("group", name=group).get_by_role("checkbox", name=level)
        box.focus()
        cells.keyboard.press("Space")
        assert not box.is_checked()
    keep = {
        "template": ["minimal", "role", "detailed"],
        "scoring": ["free_form"],
        "decoding": ["greedy", "t0.3"],
    }
    scores = table_of(name, keep)
    assert flips_shown(cells) == flips_expected(scores) != before
    assert (
        cells.get_by_label("start from").evaluate("select => select.selectedOptions[0].text") == "own choice"
    )
    order = " > ".join(scores.mean().sort_values(ascending=False).index)
    assert f"By the mean over them: {order}." in says(cells)
    faint, all_marks = (cells.locator(f".explorer-charts {one}").count() for one in (".left-out", ".mark"))
    assert all_marks - faint == scores.size
    for box in cells.get_by_role("group", name="exemplars").get_by_role("checkbox").all():
        box.uncheck()
    assert says(cells) == "No configuration is chosen: tick a level of each axis."
    assert flips_shown(cells) == []
    cells.get_by_label("start from").select_option("full")
    assert flips_shown(cells) == before


def test_flip_rates_of_any_scores_are_the_packages(cells: Page) -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        scores = rng.integers(0, 4, (rng.integers(2, 12), rng.integers(2, 5))) / 3
        scores[rng.random(scores.shape) < 0.1] = np.nan
        rows = [[None if np.isnan(x) else x for x in row] for row in scores]
        found = cells.evaluate("rows => flipRates(rows)", rows)
        told = [(p["plus"], p["minus"], p["tie"], p["rho"]) for p in found]
        own = stability.flip_rates(scores)
        wanted = own[["n_plus", "n_minus", "n_tie", "rho"]].itertuples(index=False, name=None)
        for got, want in zip(told, wanted, strict=True):
            assert got == pytest.approx(want, nan_ok=True)
        orders = cells.evaluate("rows => ordersReached(rows, (model) => model)", rows)
        table = stability.orderings(scores).table
        assert dict(orders) == dict(zip(table["ordering"], table["n"], strict=True))


def bank() -> pd.DataFrame:
    return pd.read_csv(BANK, index_col="item") if BANK.exists() else pytest.skip("no results in build/smoke")


def take(page: Page, wanted: list[bool]) -> list[str]:
    """Answer by keyboard, rightly or not, as many questions; the items that were asked."""
    frame, asked = bank().reset_index(), []
    for at, right in enumerate(wanted):
        question = page.locator(".explorer .question").inner_text()
        (row,) = frame[frame["question"] == question].itertuples()
        asked.append(row.item)
        options = page.locator(".explorer .option:visible")
        assert options.all_inner_texts() == [
            getattr(row, f"option_{n}") for n in range(1, options.count() + 1)
        ]
        options.nth(row.key - 1 if right else row.key % options.count()).focus()
        page.keyboard.press("Enter")
        assert says(page).startswith("Right." if right else "Not so:")
        if at + 1 < len(wanted):
            assert page.evaluate("document.activeElement.textContent") == "Next question"
            page.keyboard.press("Enter")
    return asked


def steps_shown(page: Page) -> list[list[str]]:
    rows = page.locator(".explorer-steps tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]


def test_the_reader_is_asked_and_rated_as_the_package_would(selftest: Page) -> None:
    parameters = bank()[["a", "b"]]
    wanted = [True, False, True, True, False, True][: len(parameters)]
    asked = take(selftest, wanted)
    given = dict(zip(asked, map(float, wanted), strict=True))
    matrix = pd.DataFrame([given], ["you"]).reindex(columns=parameters.index)
    test = irt.adaptive_test(matrix, parameters, len(asked), method="eap")
    assert asked == test.asked.loc["you"].tolist()
    rows = steps_shown(selftest)
    assert [row[4:6] for row in rows] == [
        [as_shown(theta), as_shown(se)]
        for theta, se in zip(test.theta.loc["you"], test.se.loc["you"], strict=True)
    ]
    likeliest = irt.ability(matrix, parameters, "ml")["theta"].iloc[0]
    assert rows[-1][-1] == as_shown(likeliest)
    assert rows[0][-1] == "∞"
    belief = selftest.locator(".explorer-charts svg").first
    assert as_shown(test.theta.loc["you"].iloc[-1]) in belief.get_attribute("aria-label")
    assert belief.locator("path").count() == 2


def test_the_models_beside_the_reader_have_the_same_items(selftest: Page) -> None:
    frame = bank()
    asked = take(selftest, [True, False, True])
    columns = [name for name in frame.columns if " · " in name]
    theirs = frame.loc[asked, columns].T.astype(float)
    theta = irt.ability(theirs, frame[["a", "b"]], "eap")["theta"]
    rows = selftest.locator(".explorer-others tbody tr").all()
    shown = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}
    assert next(iter(shown)) == "you"
    for model, own in theta.groupby(theta.index.str.split(" · ").str[0]):
        cells = shown[f"{model}, {len(own)} configurations"]
        right = theirs.loc[own.index].sum(axis=1).mean()
        assert cells == [
            f"{right:.1f}",
            as_shown(own.mean()),
            f"{as_shown(own.min())} to {as_shown(own.max())}",
        ]


def test_ability_of_any_answers_is_the_packages(selftest: Page) -> None:
    rng = np.random.default_rng(3)
    for n, right in product((1, 4, 30), (0.0, 0.5, 1.0)):
        items = pd.DataFrame({"a": rng.lognormal(0, 0.5, n), "b": rng.normal(0, 1.5, n)})
        answers = rng.random(n) < right
        given = [
            {"a": a, "b": b, "right": bool(x)} for (a, b), x in zip(items.to_numpy(), answers, strict=True)
        ]
        matrix = pd.DataFrame([answers.astype(float)])
        test = irt.adaptive_test(matrix, items, n, method="eap")
        found = selftest.evaluate(
            "own => { const { mean, sd } = posteriorOf(own); return [mean, sd]; }", given
        )
        assert found == pytest.approx([test.theta[n].iloc[0], test.se[n].iloc[0]], abs=1e-9)
        likeliest = irt.ability(matrix, items, "ml")["theta"].iloc[0]
        told = selftest.evaluate("own => likeliest(own)", given)
        assert told == pytest.approx(likeliest, abs=1e-8)


def test_the_test_starts_again_and_ends_with_the_bank(selftest: Page) -> None:
    first = selftest.locator(".explorer .question").inner_text()
    n = len(bank())
    assert len(set(take(selftest, [True] * n))) == n
    assert not selftest.get_by_role("button", name="Next question").is_visible()
    assert selftest.evaluate("document.activeElement.textContent") == "Start again"
    selftest.keyboard.press("Enter")
    assert selftest.locator(".explorer .question").inner_text() == first
    assert steps_shown(selftest) == []
