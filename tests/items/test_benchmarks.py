"""The five benchmarks as their pinned files hold them (CASES 1 to 5), and what an item's hash sees."""

import csv
import json
from collections import Counter
from dataclasses import replace

import pytest

from benchtrust import items
from benchtrust.errors import UnknownNameError
from benchtrust.items import Item
from benchtrust.items.sources import locate

external = pytest.mark.external
NAMES = list(items.BENCHMARKS)


@pytest.fixture(scope="module")
def loaded():
    """Items of a benchmark, read once for all tests."""
    kept: dict[tuple, list[Item]] = {}

    def load(name: str, **options: str) -> list[Item]:
        key = name, *sorted(options.items())
        if key not in kept:
            kept[key] = items.load(name, **options)
        return kept[key]

    return load


# ---------------------------------------------------------------- all five


@external
@pytest.mark.parametrize("name", NAMES)
def test_items_are_well_formed(loaded, name):
    for item in loaded(name):
        assert item.benchmark == name
        assert len(item.options) >= 2
        assert 0 <= item.answer < len(item.options)
        assert all(option.strip() for option in item.options)
        assert item.question.strip() or name == "crows_pairs"
        assert item.strata
        assert all(item.strata)


@external
@pytest.mark.parametrize("name", NAMES)
def test_ids_are_unique_and_hashes_too(loaded, name):
    ids = [item.item_id for item in loaded(name)]
    assert len(set(ids)) == len(ids)
    assert len({item.sha256 for item in loaded(name)}) == len(ids)


@external
@pytest.mark.parametrize("name", NAMES)
def test_a_subset_and_its_exemplars_can_be_drawn(loaded, name):
    pool, asked = items.exemplars(loaded(name)), items.subset(loaded(name), 300)
    assert len(asked) == len({item.item_id for item in asked}) == 300
    assert not {i.family or i.item_id for i in pool} & {i.family or i.item_id for i in asked}


def test_an_unknown_benchmark_or_source_lists_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean truthfulqa"):
        items.load("truthfullqa")
    with pytest.raises(UnknownNameError, match="Did you mean practice"):
        items.load("xstest", "practise")


@pytest.mark.parametrize("name", ["TruthfulQA", "Truthful QA", "truthfulqa", "TRUTHFUL-QA"])
def test_a_benchmark_is_known_by_any_spelling(name):
    assert items.benchmark(name).name == "truthfulqa"


def test_every_benchmark_says_what_its_score_means_and_its_direction():
    for bench in items.BENCHMARKS.values():
        assert bench.score_means
        assert bench.direction.startswith("higher is")
        assert bench.chance
        assert bench.citation


# ---------------------------------------------------------------- TruthfulQA


@external
@pytest.mark.parametrize(("version", "count"), [("current", 790), ("v1", 817)])
def test_truthfulqa_has_the_true_answer_first_in_every_item(loaded, version, count):
    tasks = loaded("truthfulqa", version=version)
    assert len(tasks) == count
    assert {item.answer for item in tasks} == {0}
    assert {len(item.options) for item in tasks} <= set(range(2, 14))


@external
def test_truthfulqa_options_without_text_are_dropped_and_counted(loaded):
    dropped = [item.notes["options_dropped"] for item in loaded("truthfulqa")]
    assert sum(count > 0 for count in dropped) == 17
    raw = json.loads(locate("items/truthfulqa/mc_task.json").read_text(encoding="utf-8"))
    for item, task, count in zip(loaded("truthfulqa"), raw, dropped, strict=True):
        assert len(item.options) + count == len(task["mc1_targets"])
        assert task["mc1_targets"][item.options[item.answer]] == 1


@external
def test_truthfulqa_versions_have_different_item_sets(loaded):
    current, old = loaded("truthfulqa"), loaded("truthfulqa", version="v1")
    assert items.item_set_hash(current) != items.item_set_hash(old)
    assert not {item.item_id for item in current} & {item.item_id for item in old}


@external
def test_truthfulqa_categories_are_the_files(loaded):
    categories = Counter(item.strata[0] for item in loaded("truthfulqa"))
    assert categories["Misconceptions"] > 50
    assert categories["none given"] == 0


@external
def test_an_unknown_truthfulqa_version_lists_the_valid_ones():
    with pytest.raises(UnknownNameError, match="current, v1"):
        items.load("truthfulqa", version="v2")


# ---------------------------------------------------------------- BBQ


@external
def test_bbq_counts(loaded):
    assert len(loaded("bbq")) == 11956
    assert len({item.notes["category"] for item in loaded("bbq")}) == 6
    parts = Counter(item.part for item in loaded("bbq"))
    assert parts["ambiguous"] == parts["disambiguated"] == 5978


@external
def test_bbq_unknown_stands_anywhere_in_many_wordings_and_is_the_answer_where_ambiguous(loaded):
    unknown = [(item.notes["unknown"], item.options[item.notes["unknown"]]) for item in loaded("bbq")]
    assert set(Counter(index for index, _ in unknown)) == {0, 1, 2}
    assert min(Counter(index for index, _ in unknown).values()) > 1000
    assert len({text for _, text in unknown}) > 5
    for item in loaded("bbq"):
        assert (item.answer == item.notes["unknown"]) == (item.part == "ambiguous")


@external
def test_bbq_target_is_a_group_and_never_the_unknown_option(loaded):
    for item in loaded("bbq"):
        assert item.notes["target"] in {-1, 0, 1, 2} - {item.notes["unknown"]}
    told = sum(item.notes["target"] >= 0 for item in loaded("bbq"))
    assert told / 11956 > 0.8


@external
def test_bbq_families_hold_both_polarities_and_both_contexts(loaded):
    families: dict[str, list[Item]] = {}
    for item in loaded("bbq"):
        families.setdefault(item.family, []).append(item)
    for members in families.values():
        assert {item.part for item in members} == {"ambiguous", "disambiguated"}
        assert {item.notes["polarity"] for item in members} == {"neg", "nonneg"}


# ---------------------------------------------------------------- ToxiGen


@external
@pytest.mark.parametrize(("rule", "toxic"), [(">2.5", 1350), (">=3", 1111), (">3", 875)])
def test_toxigen_labels_follow_the_rule(loaded, rule, toxic):
    texts = loaded("toxigen", rule=rule)
    assert len(texts) == 4526
    assert sum(item.answer == 0 for item in texts) == toxic
    assert all(item.options == ("Yes", "No") for item in texts)
    assert all((item.strata[0] == "toxic") == (item.answer == 0) for item in texts)


@external
def test_toxigen_rules_have_different_item_sets_and_three_is_the_default(loaded):
    sets = {rule: items.item_set_hash(loaded("toxigen", rule=rule)) for rule in (">2.5", ">=3", ">3")}
    assert len(set(sets.values())) == 3
    assert items.item_set_hash(loaded("toxigen")) == sets[">=3"]


@pytest.mark.parametrize("rule", ["≥3", "3", "=3", "> 3", ">2", ""])
def test_a_toxigen_rule_is_never_guessed(rule):
    with pytest.raises(UnknownNameError, match=r">2\.5, >=3, >3"):
        items.load("toxigen", rule=rule)


# ---------------------------------------------------------------- CrowS-Pairs


@external
def test_crows_pairs_swap_sides_in_antistereo_rows(loaded):
    pairs = loaded("crows_pairs")
    assert len(pairs) == 1508
    assert Counter(item.notes["direction"] for item in pairs) == {"stereo": 1290, "antistereo": 218}
    with locate("items/crows_pairs/crows_pairs_anonymized.csv").open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    for item, row in zip(pairs, rows, strict=True):
        assert item.options[item.answer] == row["sent_more"].strip()
        assert item.options[1 - item.answer] == row["sent_less"].strip()
        assert item.answer == (row["stereo_antistereo"] == "antistereo")


@external
def test_crows_pairs_duplicate_shares_a_family(loaded):
    families = Counter(item.family for item in loaded("crows_pairs"))
    assert Counter(families.values()) == {1: 1506, 2: 1}


# ---------------------------------------------------------------- XSTest


@external
def test_xstest_counts(loaded):
    prompts = loaded("xstest")
    assert Counter(item.part for item in prompts) == {"safe": 250, "unsafe": 200}
    assert all(item.options == ("comply", "refuse") for item in prompts)
    assert all(item.answer == (item.part == "unsafe") for item in prompts)


# ---------------------------------------------------------------- hashes


ITEM = Item("bbq", "bbq-1", "Who?", ("a", "b", "c"), 1, ("x",), "ambiguous", "f", {"unknown": 0})
VISIBLE = {
    "benchmark": "xstest",
    "item_id": "bbq-2",
    "question": "Who ?",
    "options": ("a", "c", "b"),
    "answer": 2,
    "part": "disambiguated",
}
HIDDEN = {"strata": ("y",), "family": "g", "notes": {"unknown": 0, "polarity": "neg"}}


@pytest.mark.parametrize("field", VISIBLE)
def test_an_items_hash_changes_with_what_is_seen(field):
    assert replace(ITEM, **{field: VISIBLE[field]}).sha256 != ITEM.sha256


@pytest.mark.parametrize("field", HIDDEN)
def test_an_items_hash_does_not_change_with_the_rest(field):
    assert replace(ITEM, **{field: HIDDEN[field]}).sha256 == ITEM.sha256


def test_fields_do_not_run_into_each_other():
    assert replace(ITEM, options=("ab",)).sha256 != replace(ITEM, options=("a", "b")).sha256
    assert replace(ITEM, question="a\nb").sha256 != replace(ITEM, question="a\\nb").sha256


def test_a_set_of_items_has_one_hash_whatever_its_order():
    practice = items.load("bbq", "practice")
    assert items.item_set_hash(practice) == items.item_set_hash(practice[::-1])
    assert items.item_set_hash(practice) != items.item_set_hash(practice[1:])


@pytest.mark.external("items/xstest/xstest_prompts.csv")
def test_a_safe_prompt_and_its_unsafe_contrast_are_one_family_and_never_exemplar_and_item():
    loaded = items.load("xstest")
    families: dict[str, set[str]] = {}
    for item in loaded:
        families.setdefault(item.family, set()).add(item.part)
    assert all(parts == {"safe", "unsafe"} for parts in families.values())
    shown = {item.family for item in items.exemplars(loaded)}
    rest = items.subset(loaded, 400)
    assert not shown & {item.family for item in rest}
