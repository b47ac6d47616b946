"""The five choice sets as their pinned files hold them, read a second time by other means."""

import json
import urllib.request
from collections import Counter
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from benchtrust import items, responses
from benchtrust.errors import DataFileError
from benchtrust.items import Item
from benchtrust.items.sources import locate

FILES = {
    "arc_challenge": ["items/mcqa/arc_challenge_test.jsonl"],
    "commonsenseqa": ["items/mcqa/csqa_dev.jsonl"],
    "logiqa": ["items/mcqa/logiqa_test.txt"],
    "pubmedqa": ["items/mcqa/pubmedqa_ori_pqal.json", "items/mcqa/pubmedqa_test_ground_truth.json"],
    "cosmosqa": ["items/mcqa/cosmosqa_valid.csv"],
}
EVERY = [pytest.param(name, marks=pytest.mark.external(*files)) for name, files in FILES.items()]


@pytest.fixture(scope="module")
def loaded():
    """Items of a set, read once for all tests."""
    return cache(items.load)


def keyed(item: Item) -> str:
    return item.options[item.answer]


# ---------------------------------------------------------------- all five


def test_choice_sets_are_no_safety_benchmarks():
    assert list(items.CHOICE_SETS) == [*FILES, "redundant_qa"] == list(responses.CHOICE_SETS)
    assert tuple(items.BENCHMARKS) == responses.BENCHMARKS
    assert not set(items.BENCHMARKS) & set(items.CHOICE_SETS)


@pytest.mark.parametrize("spelling", ["ARC-Challenge", "CommonsenseQA", "LogiQA", "PubMedQA", "CosmosQA"])
def test_a_choice_set_is_known_by_its_papers_spelling(spelling):
    bench = items.benchmark(spelling)
    assert bench.title == spelling
    assert bench.name == responses.slug(spelling)
    assert bench.direction.startswith("higher is")


@pytest.mark.parametrize("name", EVERY)
def test_items_are_well_formed_and_ids_unique(loaded, name):
    for item in loaded(name):
        assert item.benchmark == name
        assert item.item_id.startswith(f"{name}-")
        assert 0 <= item.answer < len(item.options)
        assert len(item.options) == len(set(item.options)) >= 3
        assert all(text and text == text.strip() for text in (*item.options, item.question))
        assert (item.part, item.benchmark) == ("", name)
    assert len({item.item_id for item in loaded(name)}) == len(loaded(name))
    assert len({item.sha256 for item in loaded(name)}) == len(loaded(name))


@pytest.mark.parametrize("name", EVERY)
def test_a_subset_is_the_same_each_time_grows_and_shares_no_passage_with_the_exemplars(loaded, name):
    again = items.load(name)
    largest = items.subset(loaded(name), 300)
    assert items.subset(again, 300) == largest
    assert items.subset(again, 200) == largest[:200]
    assert largest != loaded(name)[:300]
    shown = {item.family for item in items.exemplars(again)}
    assert not shown & {item.family for item in largest}


@pytest.mark.parametrize("name", list(FILES))
def test_practice_items_serve_every_set(name):
    practice = items.load(name, "practice")
    assert {item.benchmark for item in practice} == {name}
    assert len(items.subset(practice, 19)) == 19
    strata = Counter(item.strata[0] for item in items.subset(practice, 8))
    assert max(strata.values()) - min(strata.values()) <= 1
    assert len(strata) == 4


# ---------------------------------------------------------------- files that are missing or altered


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data, an empty cache and no network."""

    def unreachable(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCHTRUST_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.mark.parametrize("name", list(FILES))
def test_a_missing_file_is_named_with_both_ways_to_provide_it(nowhere, name):
    with pytest.raises(DataFileError) as caught:
        items.load(name)
    file = FILES[name][0]
    for part in (file, "BENCHTRUST_DATA", "https://", str(nowhere / "cache" / "data" / file)):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", list(FILES))
def test_an_altered_file_is_never_read(nowhere, name):
    path = nowhere / "data" / FILES[name][0]
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    with pytest.raises(DataFileError, match="is not the pinned"):
        items.load(name)


# ---------------------------------------------------------------- ARC-Challenge and CommonsenseQA


def second_reading(file: str) -> list[tuple[str, str, list[str], str]]:
    """Id, question, options and keyed option of each row."""
    rows = [json.loads(line) for line in locate(file).read_text(encoding="utf-8").splitlines()]
    meta = ["id", "answerKey", ["question", "stem"]]
    frame = pd.json_normalize(rows, ["question", "choices"], meta)
    keys = frame.loc[frame["label"] == frame["answerKey"]].set_index("id")["text"]
    options = frame.groupby(["id", "question.stem"], sort=False)["text"].agg(list)
    return [(name, stem, texts, keys[name]) for (name, stem), texts in options.items()]


@pytest.mark.external(*FILES["arc_challenge"])
def test_arc_challenge(loaded):
    every = loaded("arc_challenge")
    assert len(every) == 1172
    for item, row in zip(every, second_reading(FILES["arc_challenge"][0]), strict=True):
        assert (item.item_id.removeprefix("arc_challenge-"), item.question) == row[:2]
        assert (list(item.options), keyed(item)) == row[2:]
    assert Counter(len(item.options) for item in every) == {4: 1165, 3: 4, 5: 3}
    assert Counter(item.answer for item in every) == {0: 266, 1: 311, 2: 310, 3: 285}
    assert not any(item.notes["options_dropped"] for item in every)


@pytest.mark.external(*FILES["commonsenseqa"])
def test_commonsenseqa_keeps_a_repeated_option_once(loaded):
    every = loaded("commonsenseqa")
    assert len(every) == 1221
    for item, row in zip(every, second_reading(FILES["commonsenseqa"][0]), strict=True):
        assert (item.item_id.removeprefix("commonsenseqa-"), item.question) == row[:2]
        assert keyed(item) == row[3]
        assert set(item.options) == set(row[2])
        assert len(item.options) + item.notes["options_dropped"] == len(row[2]) == 5
    assert Counter(item.notes["options_dropped"] for item in every) == {0: 1197, 1: 24}


# ---------------------------------------------------------------- LogiQA


def rows_of_logiqa() -> list[list[str]]:
    """Key, passage, question and four options of each item: the file has eight lines an item."""
    lines = locate(FILES["logiqa"][0]).read_text(encoding="utf-8").split("\n")
    assert not any(lines[::8])
    return [lines[i + 1 : i + 8] for i in range(0, len(lines), 8)]


@pytest.mark.external(*FILES["logiqa"])
def test_logiqa_passages_questions_and_keys(loaded):
    every, rows = loaded("logiqa"), rows_of_logiqa()
    assert len(every) == len(rows) == 651
    assert Counter("abcd"[item.answer] for item in every) == {"a": 132, "b": 159, "c": 179, "d": 181}
    for item, (key, passage, question, *_) in zip(every, rows, strict=True):
        assert "abcd"[item.answer] == key
        assert item.question == f"{passage.strip()}\n{question.strip()}"
        assert item.family == passage


@pytest.mark.external(*FILES["logiqa"])
def test_logiqa_options_stand_in_the_order_of_their_letters_as_the_key_means_them(loaded):
    """A line that begins with a letter belongs to it; the three lines that do not belong to their place."""
    astray, bare, moved = 0, 0, 0
    for item, (key, _, _, *lines) in zip(loaded("logiqa"), rows_of_logiqa(), strict=True):
        starts = [line[0] if line[1] in ".? " else "" for line in lines]
        bare += starts.count("")
        astray += starts == list("ACBD")
        moved += starts == list("ACBD") and key in "bc"
        for place, (letter, start, line) in enumerate(zip("ABCD", starts, lines, strict=True)):
            option = item.options["ABCD".index(start or letter)]
            assert option == (line[2:] if start else line).strip(), (item.item_id, place)
    assert (astray, moved, bare) == (19, 12, 3)


@pytest.mark.external(*FILES["logiqa"])
def test_logiqa_keys_solve_two_puzzles_whose_options_are_out_of_order(loaded):
    """Two keys of B that logic settles: by their place in the file they would mean option C."""
    valves = loaded("logiqa")[108]
    assert all(number in keyed(valves) for number in ("No.2", "No.3"))
    some_are_not = loaded("logiqa")[114]
    assert " not " in keyed(some_are_not)


# ---------------------------------------------------------------- PubMedQA and CosmosQA


@pytest.mark.external(*FILES["pubmedqa"])
def test_pubmedqa_asks_the_500_test_papers_with_their_whole_abstract(loaded):
    every = loaded("pubmedqa")
    papers, key = (json.loads(locate(file).read_text(encoding="utf-8")) for file in FILES["pubmedqa"])
    assert len(every) == len(key) == 500
    assert Counter(map(keyed, every)) == {"yes": 276, "no": 169, "maybe": 55}
    for item in every:
        number = item.item_id.removeprefix("pubmedqa-")
        paper = papers[number]
        assert keyed(item) == key[number] == paper["final_decision"]
        assert item.question.split("\n")[-1] == paper["QUESTION"].strip()
        assert item.question.count("\n") == len(paper["CONTEXTS"])
        assert all(text.strip() in item.question for text in paper["CONTEXTS"])
        assert paper["LONG_ANSWER"] not in item.question
        assert item.options == ("yes", "no", "maybe")


@pytest.mark.external(*FILES["pubmedqa"])
def test_a_subset_of_pubmedqa_is_balanced_over_the_labels_as_far_as_they_go(loaded):
    for n in (30, 150):
        counts = Counter(map(keyed, items.subset(loaded("pubmedqa"), n)))
        assert max(counts.values()) - min(counts.values()) <= 2, n
    counts = Counter(map(keyed, items.subset(loaded("pubmedqa"), 300)))
    assert counts["maybe"] >= 50
    assert abs(counts["yes"] - counts["no"]) <= 2


@pytest.mark.external(*FILES["cosmosqa"])
def test_cosmosqa(loaded):
    every = loaded("cosmosqa")
    rows = pd.read_csv(locate(FILES["cosmosqa"][0]), dtype=str, keep_default_na=False)
    assert len(every) == len(rows) == 2985
    assert Counter(item.answer for item in every) == {0: 744, 1: 729, 2: 761, 3: 751}
    assert len({item.family for item in every}) == rows["context"].nunique() == 2445
    for item, row in zip(every, rows.itertuples(), strict=True):
        assert item.item_id.removeprefix("cosmosqa-") == row.id.split("##")[5]
        assert item.question == f"{row.context.strip()}\n{row.question.strip()}"
        assert item.options == tuple(row[i].strip() for i in range(4, 8))
        assert item.answer == int(row.label)
