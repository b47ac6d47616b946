"""Questions are joined to items by what they say, whatever their order, spacing or marks."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchtrust import items
from benchtrust.items import Item
from benchtrust.packages import joins

ONE = Item(
    "bbq", "one", "A boy and a man met.\nWho was late?", ("The boy", "The man", "Not known"), 2, ("s",)
)


def changed(**parts) -> str:
    return joins.item_key(replace(ONE, **parts))


@pytest.mark.parametrize(
    "question",
    [
        "A boy and a man met. Who was late?",
        "  A boy\tand a  man met.\n\nWho was late? ",
        "A boy and a man met.\u00a0Who was late?",
        "A boy and a man met.\n\uff37ho was late?",
    ],
)
def test_spacing_and_composition_do_not_matter(question):
    assert changed(question=question) == joins.item_key(ONE)


@pytest.mark.parametrize(
    "question", ["A boy and a man met.\nWho was early?", "a boy and a man met.\nWho was late?"]
)
def test_words_and_case_do(question):
    assert changed(question=question) != joins.item_key(ONE)


def test_quotes_and_dashes_are_plain():
    assert joins.key("xstest", "“Don’t” – he said") == joins.key("xstest", '"Don\'t" - he said')


@given(st.permutations(ONE.options))
def test_options_have_no_order(options):
    assert changed(options=tuple(options)) == joins.item_key(ONE)


def test_options_name_the_item_in_bbq_and_not_in_truthfulqa():
    other = ("The boy", "The man", "Unknown")
    assert changed(options=other) != joins.item_key(ONE)
    assert changed(benchmark="truthfulqa", options=other) == changed(benchmark="truthfulqa")


def test_the_two_sentences_name_a_pair_in_either_order():
    assert joins.key("crows_pairs", "", ("a b", "c d")) == joins.key("crows_pairs", "", ("c d", "a b"))
    assert joins.key("crows_pairs", "", ("a b", "c d")) != joins.key("crows_pairs", "", ("a b", "c e"))


def test_a_text_does_not_run_over_from_question_to_options():
    assert joins.key(None, "a", ("b",)) != joins.key(None, "a b", ())


@pytest.mark.parametrize("benchmark", list(items.BENCHMARKS))
def test_practice_items_have_keys_of_their_own(benchmark):
    loaded = joins.upstream(benchmark, "practice")
    known = joins.index(loaded)
    assert known.duplicated == ()
    assert joins.join([joins.item_key(item) for item in loaded], known) == loaded


def test_the_nth_occurrence_is_the_nth_item_of_one_content_and_no_item_is_answered_twice():
    twin = replace(ONE, item_id="two")
    known = joins.index([ONE, twin, replace(ONE, item_id="other", question="Else?")])
    key = joins.item_key(ONE)
    assert known.duplicated == ("two",)
    found = joins.join([key, "unknown", key, key], known)
    assert [item and item.item_id for item in found] == ["one", None, "two", None]


def test_metrics_and_samples_repeat_items_without_using_them_up():
    key = joins.item_key(ONE)
    within = [("acc", 0), ("acc", 1), ("acc_norm", 0)]
    assert joins.join([key] * 3, joins.index([ONE]), within) == [ONE] * 3


@pytest.mark.parametrize(
    ("text", "place"),
    {"The boy": 0, " the boy. ": 0, "THE MAN": 1, "Not  known.": 2, "The": None, "": None}.items(),
    ids=repr,
)
def test_place_of_an_option(text, place):
    assert joins.place(text, ONE.options) == place


def test_a_text_that_two_options_are_has_no_place():
    assert joins.place("yes", ("Yes", "yes.")) is None


@pytest.mark.external
@pytest.mark.parametrize(
    ("benchmark", "rows", "twice"),
    [
        ("truthfulqa", 819, 0),
        ("bbq", 11956, 10),
        ("toxigen", 4526, 0),
        ("crows_pairs", 1508, 1),
        ("xstest", 450, 0),
    ],
)
def test_upstream_items_are_found_again_and_the_few_with_one_content_told_apart(benchmark, rows, twice):
    loaded = joins.upstream(benchmark)
    known = joins.index(loaded)
    assert (len(loaded), len(known.duplicated)) == (rows, twice)
    found = joins.join([joins.item_key(item) for item in loaded], known)
    assert [item and item.item_id for item in found] == [item.item_id for item in loaded]
