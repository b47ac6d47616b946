"""The practice items are well formed, balanced and readable: read from the files, without the package."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "data" / "items" / "practice"
BENCHMARKS = ["truthfulqa", "bbq", "toxigen", "crows_pairs", "xstest", "choice_sets"]
KEYS = ["item_id", "question", "options", "answer", "strata", "part", "family", "notes"]
# space before a mark, tab, hard or zero-width space, broken character, curly quotes
UNCLEAN = re.compile(r"\s[,.;:?!]|[\t\u00a0\u200b\ufffd\u2018\u2019\u201c\u201d]")
# words that say nothing about what a prompt is about
PLAIN = set(
    re.findall(r"\w+", "and are but can could does for from get her him how the was what when who why with")
)


def read(benchmark: str) -> list[dict]:
    text = (FOLDER / f"{benchmark}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def spread(values, of=(0, 1, 2)) -> int:
    """Largest count minus smallest count over all values that could occur."""
    counts = Counter(values)
    assert set(counts) <= set(of)
    return max(counts[v] for v in of) - min(counts[v] for v in of)


def families(items: list[dict]) -> dict[str, list[dict]]:
    found = defaultdict(list)
    for item in items:
        found[item["family"]].append(item)
    return found


def texts(item: dict) -> list[str]:
    said = [v for v in item["notes"].values() if isinstance(v, str)]
    return [*item["question"].split("\n"), *item["options"], *item["strata"], *said]


# ---------------------------------------------------------------- all files


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_schema(benchmark):
    items = read(benchmark)
    assert len(items) >= 24
    for item in items:
        assert list(item) == KEYS
        assert isinstance(item["answer"], int)
        assert not isinstance(item["answer"], bool)
        assert 0 <= item["answer"] < len(item["options"])
        assert all(isinstance(item[k], str) for k in ["item_id", "question", "part", "family"])
        assert all(isinstance(text, str) and text for text in item["options"] + item["strata"])
        assert item["strata"]
        assert isinstance(item["notes"], dict)
        assert all(isinstance(v, str | int | float) for v in item["notes"].values())


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_ids_are_numbered_in_the_order_of_the_file(benchmark):
    ids = [item["item_id"] for item in read(benchmark)]
    assert ids == [f"practice-{benchmark}-{i:03d}" for i in range(1, len(ids) + 1)]


def test_families_do_not_cross_files():
    owners = defaultdict(set)
    for benchmark in BENCHMARKS:
        for item in read(benchmark):
            assert item["family"].startswith(f"practice-{benchmark}-")
            owners[item["family"]].add(benchmark)
    assert all(len(names) == 1 for names in owners.values())


@pytest.mark.parametrize("benchmark", ["truthfulqa", "toxigen", "crows_pairs", "choice_sets"])
def test_items_without_a_partner_are_their_own_family(benchmark):
    assert all(item["family"] == item["item_id"] and item["part"] == "" for item in read(benchmark))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_no_option_and_no_item_occurs_twice(benchmark):
    items = read(benchmark)
    for item in items:
        assert len({text.casefold() for text in item["options"]}) == len(item["options"]), item["item_id"]
    seen = Counter((item["question"], tuple(sorted(item["options"]))) for item in items)
    assert max(seen.values()) == 1
    if benchmark in ("truthfulqa", "toxigen", "xstest", "choice_sets"):
        assert len({item["question"].casefold() for item in items}) == len(items)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_text_is_clean(benchmark):
    raw = (FOLDER / f"{benchmark}.jsonl").read_bytes().decode("utf-8")
    assert raw.endswith("}\n")
    assert "\r" not in raw
    assert "\n\n" not in raw
    for item in read(benchmark):
        for text in texts(item):
            assert "  " not in text, item["item_id"]
            assert text == text.strip(), item["item_id"]
            assert not UNCLEAN.search(text), item["item_id"]


@pytest.mark.parametrize("benchmark", ["truthfulqa", "bbq", "toxigen", "xstest", "choice_sets"])
def test_questions_are_whole_sentences(benchmark):
    for item in read(benchmark):
        for line in item["question"].split("\n"):
            assert line[0].isupper(), item["item_id"]
            assert line[-1] in ".?!", item["item_id"]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_strata_are_balanced(benchmark):
    """No finest stratum holds more than twice as many items as another; each level has two or more."""
    items = read(benchmark)
    depth = {len(item["strata"]) for item in items}
    assert len(depth) == 1
    for level in range(depth.pop()):
        assert len({item["strata"][level] for item in items}) >= 2
    counts = Counter(tuple(item["strata"]) for item in items)
    assert min(counts.values()) >= 2
    assert max(counts.values()) <= 2 * min(counts.values())


# ---------------------------------------------------------------- TruthfulQA


def test_truthfulqa_true_answer_stands_first():
    """Upstream has this quirk, and the tests of shuffling need it."""
    for item in read("truthfulqa"):
        assert item["answer"] == 0
        assert 3 <= len(item["options"]) <= 5
        assert item["question"].endswith("?")
        assert len(item["strata"]) == 1
        assert set(item["notes"]) == {"why"}
        assert item["notes"]["why"].endswith(".")


def test_truthfulqa_has_at_least_seven_categories():
    assert len({item["strata"][0] for item in read("truthfulqa")}) >= 7


@pytest.mark.parametrize("benchmark", ["truthfulqa", "choice_sets"])
def test_length_does_not_give_the_answer_away(benchmark):
    """Rank of the true option's length: 0 shortest, 1 longest; about .5 if length says nothing."""
    items = read(benchmark)
    ranks, longest, shortest = [], 0, 0
    for item in items:
        lengths = [len(option) for option in item["options"]]
        true = lengths[item["answer"]]
        false = [n for i, n in enumerate(lengths) if i != item["answer"]]
        ranks.append(sum((n < true) + (n == true) / 2 for n in false) / len(false))
        longest += true == max(lengths)
        shortest += true == min(lengths)
    assert 0.4 <= sum(ranks) / len(ranks) <= 0.6
    assert longest <= 0.4 * len(items)
    assert shortest <= 0.4 * len(items)


def test_truthfulqa_options_share_one_style():
    for item in read("truthfulqa"):
        for option in item["options"]:
            assert option[0].isupper(), item["item_id"]
            assert option[-1] not in ".?!", item["item_id"]
        lengths = [len(option) for option in item["options"]]
        assert max(lengths) <= max(1.5 * min(lengths), min(lengths) + 4), item["item_id"]
        hedge = r"\b(probably|perhaps|maybe|may|might|possibly|often|usually|scientific|evidence)\b"
        assert not re.search(hedge, item["options"][0], re.IGNORECASE), item["item_id"]


# ---------------------------------------------------------------- choice sets


def test_choice_sets_have_four_domains_and_the_answer_stands_anywhere():
    items = read("choice_sets")
    domains = Counter(item["strata"][0] for item in items)
    assert set(domains.values()) == {6}
    assert len(domains) == 4
    assert spread((item["answer"] for item in items), range(4)) == 0
    for domain in domains:
        assert len({item["answer"] for item in items if item["strata"] == [domain]}) == 4


def test_choice_sets_options_share_one_style_and_the_answer_has_a_reason():
    for item in read("choice_sets"):
        assert len(item["options"]) == 4
        assert item["question"].endswith("?")
        assert set(item["notes"]) == {"why"}
        assert item["notes"]["why"].endswith(".")
        for option in item["options"]:
            assert option[0].isupper(), item["item_id"]
            assert option[-1] not in ".?!", item["item_id"]


# ---------------------------------------------------------------- BBQ


def test_bbq_notes_parts_and_strata_agree():
    for item in read("bbq"):
        notes = item["notes"]
        assert set(notes) == {"unknown", "target", "polarity", "category"}
        assert len(item["options"]) == 3
        assert item["part"] in ("ambiguous", "disambiguated")
        assert item["strata"] == [item["part"], notes["category"]]
        assert notes["polarity"] in ("neg", "nonneg")
        assert notes["unknown"] in range(3)
        assert notes["target"] in range(3)
        assert notes["unknown"] != notes["target"]
        assert (item["answer"] == notes["unknown"]) == (item["part"] == "ambiguous")
        assert item["question"].count("\n") == 1
        assert item["question"].split("\n")[1].startswith("Who ")
        assert item["question"].endswith("?")


def test_bbq_pairs_are_complete():
    """A scenario gives four items: context ambiguous or not, question negative or non-negative."""
    for name, items in families(read("bbq")).items():
        cells = {(item["notes"]["polarity"], item["part"]): item for item in items}
        assert len(cells) == len(items) == 4, name
        assert len({item["notes"]["category"] for item in items}) == 1
        for polarity in ("neg", "nonneg"):
            ambiguous, plain = cells[polarity, "ambiguous"], cells[polarity, "disambiguated"]
            assert ambiguous["options"] == plain["options"]
            assert ambiguous["notes"] == plain["notes"]
            (short, asked), (long, asked_too) = (x["question"].split("\n") for x in (ambiguous, plain))
            assert asked == asked_too
            assert long.startswith(short + " ")
        for part in ("ambiguous", "disambiguated"):
            contexts = {cells[polarity, part]["question"].split("\n")[0] for polarity in ("neg", "nonneg")}
            assert len(contexts) == 1
        asked = {item["question"].split("\n")[1] for item in items}
        assert len(asked) == 2
        groups = [{o for i, o in enumerate(x["options"]) if i != x["notes"]["unknown"]} for x in items]
        assert all(g == groups[0] for g in groups)
        assert len({x["options"][x["notes"]["target"]] for x in items}) == 1
        right = {x["options"][x["answer"]] for x in items if x["part"] == "disambiguated"}
        assert right == groups[0], "the two questions of a disambiguated context have different answers"


def test_bbq_half_of_the_disambiguated_answers_go_along_with_the_stereotype():
    along = defaultdict(list)
    for item in read("bbq"):
        if item["part"] == "disambiguated":
            notes = item["notes"]
            agrees = (item["answer"] == notes["target"]) == (notes["polarity"] == "neg")
            along[notes["category"]].append(agrees)
    assert len(along) >= 4
    for agrees in along.values():
        assert sum(agrees) * 2 == len(agrees)


def test_bbq_positions_are_spread():
    items = read("bbq")
    assert spread(item["notes"]["unknown"] for item in items) <= 2
    assert spread(item["notes"]["target"] for item in items) <= 2
    assert spread(item["answer"] for item in items) <= 2
    for part in ("ambiguous", "disambiguated"):
        assert spread(item["answer"] for item in items if item["part"] == part) <= 1


def test_bbq_wording_of_unknown_varies():
    wordings = Counter(item["options"][item["notes"]["unknown"]] for item in read("bbq"))
    assert len(wordings) >= 5
    assert max(wordings.values()) <= 0.3 * sum(wordings.values())


# ---------------------------------------------------------------- ToxiGen


def test_toxigen_label_follows_the_human_value():
    for item in read("toxigen"):
        notes = item["notes"]
        assert set(notes) == {"toxicity_human", "group"}
        assert item["options"] == ["Yes", "No"]
        assert 1 <= notes["toxicity_human"] <= 5
        toxic = notes["toxicity_human"] >= 3
        assert item["answer"] == (0 if toxic else 1)
        assert item["strata"] == ["toxic" if toxic else "benign", notes["group"]]


def test_toxigen_labels_are_balanced_within_each_group():
    by_group = defaultdict(list)
    for item in read("toxigen"):
        by_group[item["notes"]["group"]].append(item["answer"])
    assert len(by_group) >= 5
    for answers in by_group.values():
        assert sum(answers) * 2 == len(answers)


def test_toxigen_the_rule_matters():
    """The three rules in use give three different numbers of toxic items, as upstream."""
    values = [item["notes"]["toxicity_human"] for item in read("toxigen")]
    assert sum(v > 2.5 for v in values) > sum(v >= 3 for v in values) > sum(v > 3 for v in values)


def test_toxigen_length_does_not_give_the_label_away():
    mean = {}
    for label in (0, 1):
        lengths = [len(item["question"]) for item in read("toxigen") if item["answer"] == label]
        mean[label] = sum(lengths) / len(lengths)
    assert abs(mean[0] - mean[1]) <= 0.15 * max(mean.values())


# ---------------------------------------------------------------- CrowS-Pairs


def test_crows_pairs_answer_follows_the_direction():
    for item in read("crows_pairs"):
        notes = item["notes"]
        assert set(notes) == {"direction", "bias_type"}
        assert item["question"] == ""
        assert item["answer"] == {"stereo": 0, "antistereo": 1}[notes["direction"]]
        assert item["strata"] == [notes["bias_type"]]


def test_crows_pairs_are_minimal_pairs_of_sentences():
    for item in read("crows_pairs"):
        assert len(item["options"]) == 2
        for sentence in item["options"]:
            assert sentence[0].isupper(), item["item_id"]
            assert sentence.endswith("."), item["item_id"]
        first, second = (sentence.split() for sentence in item["options"])
        while first and second and first[0] == second[0]:
            first, second = first[1:], second[1:]
        while first and second and first[-1] == second[-1]:
            first, second = first[:-1], second[:-1]
        assert 1 <= max(len(first), len(second)) <= 2, item["item_id"]


def test_crows_pairs_directions_and_bias_types():
    items = read("crows_pairs")
    share = sum(item["notes"]["direction"] == "antistereo" for item in items) / len(items)
    assert 0.15 <= share <= 0.25
    assert len({item["notes"]["bias_type"] for item in items}) >= 5


# ---------------------------------------------------------------- XSTest


def test_xstest_answer_follows_the_part():
    for item in read("xstest"):
        assert item["options"] == ["comply", "refuse"]
        assert item["answer"] == {"safe": 0, "unsafe": 1}[item["part"]]
        assert set(item["notes"]) == {"type"}
        assert item["strata"] == [item["part"], item["notes"]["type"]]
        assert item["notes"]["type"].startswith("contrast_") == (item["part"] == "unsafe")
        assert item["question"].endswith("?")


def test_xstest_pairs_are_complete():
    """A safe prompt and its unsafe contrast share the type and at least one telling word."""
    for name, items in families(read("xstest")).items():
        assert sorted(item["part"] for item in items) == ["safe", "unsafe"], name
        assert len({item["notes"]["type"].removeprefix("contrast_") for item in items}) == 1, name
        words = [set(re.findall(r"[a-z]{3,}", item["question"].lower())) - PLAIN for item in items]
        stems = [{word[:5] for word in group} for group in words]
        assert stems[0] & stems[1], name


def test_xstest_has_several_types():
    counts = Counter(item["notes"]["type"] for item in read("xstest"))
    assert len(counts) >= 10
