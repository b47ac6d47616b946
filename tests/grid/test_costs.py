"""The table of costs: what the page shows is what the function gives, and the arithmetic by hand."""

from pathlib import Path

import pytest

from benchtrust.grid.costs import costs

CSV = Path(__file__).parents[2] / "book" / "_static" / "scaling-costs.csv"


@pytest.fixture(scope="module", autouse=True)
def short_answers():
    """The harness's own limits, not those of this folder's recordings."""


def test_the_book_shows_what_the_function_gives():
    assert CSV.read_text(encoding="utf-8") == costs().to_csv(index=False), (
        f"costs().to_csv({CSV.name!r}, index=False) writes it again"
    )


def test_one_batch_of_one_model_by_hand():
    table = costs([32], own=1000, prefix=0, peak=1e15, prompt_use=1, answer_use=0.5).set_index("Model")
    row = table.loc["Yi-1.5-34B-Chat"]
    prompts, answers = 5 * 12 * 32 * 1000, 4 * 32 * (9 * 3 * 24 + 3 * 3 * 128)
    assert row["Prompt tokens (millions)"] == round(prompts / 1e6, 2)
    assert row["Answer tokens (millions)"] == round(answers / 1e6, 2)
    assert row["FLOP (10¹⁵)"] == round(2 * 34.4e9 * (prompts + answers) / 1e15, 1)
    assert row["Hours on one GPU"] == round(2 * 34.4e9 * (prompts + 2 * answers) / 1e15 / 3600, 1)


@pytest.mark.parametrize(("n", "batches"), [(1, 1), (32, 1), (33, 2)])
def test_a_prefix_is_paid_once_a_batch(n, batches):
    table = costs([n], own=0, prefix=1e6)
    assert set(table["Prompt tokens (millions)"]) == {5.0 * 12 * batches}
