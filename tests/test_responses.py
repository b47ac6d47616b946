"""The response table: each rule broken once, files that survive a kill, and cell scores worked by hand."""

import json
import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust import responses
from benchtrust.errors import DataFileError, NotAskableError, SchemaError, UnknownNameError

CONFIGURATION = ["template", "shots", "decoding", "scoring"]


def answer(item_id="i0", score=1.0, outcome="scored", **fields):
    """One valid free-form row; `score` is ignored unless scored."""
    row = {
        "benchmark": "toxigen",
        "item_id": item_id,
        "item_hash": None,
        "part": None,
        "model": "A",
        "template": "minimal",
        "shots": 0,
        "shots_used": 0,
        "decoding": "greedy",
        "scoring": "free_form",
        "sample": 0,
        "outcome": outcome,
        "score": score if outcome == "scored" else None,
        "choice": 0 if outcome == "scored" else None,
        "option_logprobs": None,
        "option_tokens": None,
        "option_bytes": None,
        "letter_logprobs": None,
        "completion": "(A)",
        "cell_id": "cell",
    }
    return row | fields


def chosen(item_id="i0", **fields):
    """One valid log-prob row with three options."""
    lists = {
        "option_logprobs": [-1.0, -2.5, -0.5],
        "option_tokens": [2, 5, 1],
        "option_bytes": [8, 20, 3],
        "letter_logprobs": [-0.1, -3.0, -4.0],
    }
    return (
        answer(item_id, decoding="none", scoring="logprob", completion=None, **lists, cell_id="lp") | fields
    )


def table(*rows):
    return pd.DataFrame(list(rows), columns=list(responses.COLUMNS))


def small():
    """Both scorings, every outcome, one stochastic item twice."""
    return table(
        answer("i1", 0.5),
        answer("i0"),
        answer("i2", outcome="unparsed"),
        answer("i3", outcome="truncated"),
        answer("i4", outcome="failed", completion=None),
        answer("i0", 0.0, sample=1, choice=1),
        chosen("i0"),
        chosen("i1", choice=2, letter_logprobs=None),
    )


# Schema


def test_a_valid_table_gets_the_dtypes_of_the_schema():
    valid = responses.validate(small())
    assert list(valid.columns) == list(responses.COLUMNS)
    expected = {"choice": "Int64", "shots": "int64", "sample": "int64", "score": "float64", "model": "str"}
    assert {name: str(valid[name].dtype) for name in expected} == expected
    assert valid["option_tokens"].iloc[6] == [2, 5, 1]
    assert valid["option_tokens"].iloc[0] is None
    assert valid["item_id"].tolist() == small()["item_id"].tolist()


def test_the_input_is_left_as_it_was():
    frame = small()
    before = frame.copy(deep=True)
    responses.validate(frame)
    responses.cell_means(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_absent_optional_columns_are_added_as_null():
    valid = responses.validate(small().drop(columns=list(responses.OPTIONAL)))
    assert valid[list(responses.OPTIONAL)].isna().all(axis=None)


def test_loose_dtypes_are_normalised():
    frame = small().astype({"choice": "float64", "shots": "int8", "score": "object", "model": "category"})
    frame["option_logprobs"] = [None if v is None else np.float32(v) for v in frame["option_logprobs"]]
    frame["option_tokens"] = [None if v is None else tuple(v) for v in frame["option_tokens"]]
    pd.testing.assert_frame_equal(responses.validate(frame), responses.validate(small()))


@pytest.mark.parametrize(
    ("written", "slug"),
    [
        ("CrowS-Pairs", "crows_pairs"),
        ("XSTest", "xstest"),
        ("Truthful QA", "truthfulqa"),
        ("WMDP-Bio", "WMDP-Bio"),
    ],
)
def test_benchmarks_are_known_by_any_spelling_and_others_kept(written, slug):
    valid = responses.validate(table(answer(benchmark=written)))
    assert valid["benchmark"].tolist() == [slug]


BREACHES = [
    ("outcome", "skipped", "must be one of scored, unparsed, truncated, failed"),
    ("score", 1.5, "between 0 and 1"),
    ("score", -0.1, "between 0 and 1"),
    ("score", np.inf, "between 0 and 1"),
    ("score", None, "if, and only if, the outcome is 'scored'"),
    ("score", "high", "must be a number"),
    ("outcome", "failed", "if, and only if, the outcome is 'scored'"),
    ("decoding", "greedy", "'none' if, and only if, scoring is 'logprob'"),
    ("scoring", "free_form", "'none' if, and only if, scoring is 'logprob'"),
    ("scoring", "logprobable", "'none' if, and only if, scoring is 'logprob'"),
    ("scoring", "", "must not be empty"),
    ("model", None, "must not be missing"),
    ("model", 7, "must be text"),
    ("shots", -1, "must not be negative"),
    ("shots", 1.5, "must be a whole number"),
    ("shots", None, "must not be missing"),
    ("shots_used", -1, "must not be negative"),
    ("shots_used", 1, "must not exceed shots"),
    ("sample", -1, "must not be negative"),
    ("choice", -1, "must not be negative"),
    ("choice", 3, "must be less than the number of options"),
    ("choice", 0.5, "must be a whole number"),
    ("option_logprobs", [-1.0, -2.0], "as long as"),
    ("option_logprobs", [-1.0, 0.1, -2.0], "finite and at most 0"),
    ("option_logprobs", [-1.0, -np.inf, -2.0], "finite and at most 0"),
    ("option_logprobs", [-1.0, np.nan, -2.0], "finite and at most 0"),
    ("option_logprobs", [-1.0, None, -2.0], "must be a list of numbers"),
    ("option_logprobs", -1.0, "must be a list of numbers"),
    ("option_logprobs", [[-1.0], [-2.0, -3.0]], "must be a list of numbers"),
    ("option_logprobs", np.zeros((3, 1)), "must be a list of numbers"),
    ("option_tokens", [1, 2], "as long as"),
    ("option_tokens", [1, 2, 0], "at least 1"),
    ("option_tokens", [1.5, 2.0, 3.0], "must be a list of whole numbers"),
    ("option_bytes", [1, 2, 3, 4], "as long as"),
    ("option_bytes", "abc", "must be a list of whole numbers"),
    ("letter_logprobs", [-1.0], "as long as"),
    ("letter_logprobs", [-1.0, -2.0, 3.0], "finite and at most 0"),
    ("letter_logprobs", [], "must not be an empty list"),
    ("item_id", "i0", "the only row with its cell_id"),
]
BLAMED = {"outcome": {"failed": "score"}, "scoring": {"free_form": "decoding", "logprobable": "decoding"}}


def test_the_table_that_each_breach_starts_from_is_valid():
    assert len(responses.validate(table(chosen("i0"), chosen("i1"), chosen("i2")))) == 3


@pytest.mark.parametrize(("column", "value", "rule"), BREACHES)
def test_each_broken_rule_is_named_with_column_row_and_value(column, value, rule):
    frame = table(chosen("i0"), chosen("i1"), chosen("i2"))
    frame[column] = frame[column].astype("object")
    frame.at[1, column] = value
    with pytest.raises(SchemaError) as caught:
        responses.validate(frame)
    blamed = BLAMED.get(column, {}).get(value, column) if isinstance(value, str) else column
    if blamed == "option_logprobs" and rule == "as long as":
        blamed = "option_tokens"
    lines = [line for line in str(caught.value).splitlines() if rule in line]
    assert any(f"column {blamed!r}, row 1, value" in line for line in lines), caught.value
    assert "row 0" not in str(caught.value)
    assert "row 2" not in str(caught.value)


def test_variants_of_logprob_scoring_have_no_decoding_either():
    variants = [chosen("i0"), chosen("i0", scoring="logprob_norm", cell_id="norm")]
    assert len(responses.validate(table(*variants))) == 2
    with pytest.raises(SchemaError, match="a variant of it"):
        responses.validate(table(chosen("i0", scoring="logprob_norm", decoding="greedy")))


def test_the_broken_value_is_shown():
    with pytest.raises(SchemaError, match=r"column 'score', row 0, value 1\.5: must lie between 0 and 1"):
        responses.validate(table(answer(score=1.5)))


def test_five_breaches_are_shown_and_the_rest_counted():
    frame = table(*(answer(f"i{k}", score=2.0) for k in range(8)))
    with pytest.raises(SchemaError) as caught:
        responses.validate(frame)
    lines = str(caught.value).splitlines()
    assert [line for line in lines if "value 2.0" in line] == lines[1:6]
    assert lines[-1] == "  and 3 more"


def test_one_cell_under_two_ids_is_a_repeated_row():
    frame = table(answer(), answer(cell_id="other"))
    with pytest.raises(SchemaError, match=r"row 1.*the only row with its benchmark, item_id, model"):
        responses.validate(frame)


def test_one_cell_id_for_two_models_is_a_repeated_row():
    with pytest.raises(SchemaError, match=r"row 1.*the only row with its cell_id"):
        responses.validate(table(answer(), answer(model="B")))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: f.rename(columns={"item_id": "item"}), "'item_id' is missing (nearest present: 'item')"),
        (
            lambda f: f.rename(columns={"item_id": "item"}),
            "'item' is not part of the schema (nearest valid: 'item_id')",
        ),
        (lambda f: f.drop(columns="completion"), "'completion' is missing"),
        (lambda f: f.assign(Shots=1), "'Shots' is not part of the schema (nearest valid: 'shots')"),
        (lambda f: pd.concat([f, f[["model"]]], axis=1), "'model' occurs more than once"),
    ],
)
def test_wrong_columns_are_named_with_the_nearest(change, says):
    with pytest.raises(SchemaError) as caught:
        responses.validate(change(small()))
    assert says in str(caught.value)


# Files


def test_written_and_read_again_nothing_changes(tmp_path):
    responses.write(small(), tmp_path / "deep" / "r.parquet")
    expected = responses.validate(small()).sort_values(
        ["benchmark", "item_id", "model", *CONFIGURATION, "sample"], ignore_index=True
    )
    pd.testing.assert_frame_equal(responses.read(tmp_path / "deep" / "r.parquet"), expected)
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["r.parquet"]


def test_equal_tables_give_equal_bytes(tmp_path):
    responses.write(small(), tmp_path / "a.parquet")
    shuffled = small().sample(frac=1, random_state=1)[sorted(responses.COLUMNS)]
    responses.write(shuffled, tmp_path / "b.parquet")
    responses.write(responses.read(tmp_path / "a.parquet"), tmp_path / "c.parquet")
    first, *others = ((tmp_path / f"{name}.parquet").read_bytes() for name in "abc")
    assert others == [first, first]
    responses.write(small().assign(completion="(B)"), tmp_path / "b.parquet")
    assert (tmp_path / "b.parquet").read_bytes() != first


def test_a_folder_or_a_list_is_read_as_one_table(tmp_path):
    for k, frame in enumerate([small().iloc[:5], small().iloc[5:]]):
        responses.write(frame, tmp_path / f"model=m{k}" / "r.parquet")
    (tmp_path / "model=m0" / ".r.parquet.123.tmp").write_bytes(b"half a file")
    whole = responses.read(tmp_path)
    assert len(whole) == 8
    assert set(whole["model"]) == {"A"}
    listed = responses.read([tmp_path / "model=m0" / "r.parquet", str(tmp_path / "model=m1")])
    pd.testing.assert_frame_equal(listed, whole)


def test_an_empty_table_survives(tmp_path):
    responses.write(small().iloc[:0], tmp_path / "r.parquet")
    pd.testing.assert_frame_equal(responses.read(tmp_path), responses.validate(small()).iloc[:0])


def test_files_without_anything_to_read_are_named(tmp_path):
    with pytest.raises(DataFileError, match=r"nowhere\.parquet does not exist"):
        responses.read(tmp_path / "nowhere.parquet")
    with pytest.raises(DataFileError, match="holds no"):
        responses.read(tmp_path)
    with pytest.raises(DataFileError, match="empty list"):
        responses.read([])


@pytest.mark.parametrize("keep", [0, 20, 0.5, 0.99])
def test_a_corrupt_file_is_named(tmp_path, keep):
    responses.write(small(), tmp_path / "r.parquet")
    content = (tmp_path / "r.parquet").read_bytes()
    (tmp_path / "r.parquet").write_bytes(
        content[: keep if isinstance(keep, int) else int(keep * len(content))]
    )
    with pytest.raises(DataFileError, match=r"r\.parquet is not readable as Parquet"):
        responses.read(tmp_path)


def test_a_file_that_breaks_the_schema_is_named(tmp_path):
    responses.write(table(answer()), tmp_path / "good.parquet")
    table(answer("i1", score=3.0)).to_parquet(tmp_path / "wrong.parquet")
    with pytest.raises(SchemaError, match=r"wrong\.parquet: .*\n.*'score', row 0"):
        responses.read(tmp_path)
    table(answer("i1")).drop(columns="completion").to_parquet(tmp_path / "wrong.parquet")
    with pytest.raises(SchemaError, match=r"wrong\.parquet: .*'completion' is missing"):
        responses.read(tmp_path)


def test_rows_repeated_across_files_are_refused(tmp_path):
    responses.write(table(answer()), tmp_path / "a.parquet")
    responses.write(table(answer()), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match=r"2 files taken together: .*\n.*the only row"):
        responses.read(tmp_path)


def test_a_refused_table_leaves_the_old_file(tmp_path):
    responses.write(table(answer()), tmp_path / "r.parquet")
    with pytest.raises(SchemaError):
        responses.write(table(answer(score=2.0)), tmp_path / "r.parquet")
    assert responses.read(tmp_path)["score"].tolist() == [1.0]


KILLED_WRITER = """
import os, sys, time
import pandas as pd
from benchtrust import responses

def stop(source, target):
    print("about to replace", flush=True)
    time.sleep(60)

frame = responses.read(sys.argv[1]).assign(score=0.25)
os.replace = stop
responses.write(frame, sys.argv[1])
"""


def test_a_writer_killed_before_the_replacement_leaves_the_old_file(tmp_path):
    path = tmp_path / "r.parquet"
    responses.write(table(answer()), path)
    old = path.read_bytes()
    paths = os.pathsep.join([str(Path(responses.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED_WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert writer.stdout.readline() == "about to replace\n"
    writer.send_signal(signal.SIGKILL)
    assert writer.wait() == -signal.SIGKILL
    writer.stdout.close()
    assert path.read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 2
    assert responses.read(tmp_path)["score"].tolist() == [1.0]


# Cell scores


def cell(*rows):
    means = responses.cell_means(table(*rows))
    assert len(means) == 1
    return means.iloc[0]


def given_answer(value):
    """Fields of an answer: a number is a score, a word an outcome."""
    return {"outcome": value} if isinstance(value, str) else {"score": value}


def rated(part, *values, benchmark):
    return [
        answer(f"{part}{k}", **given_answer(value), benchmark=benchmark, part=part)
        for k, value in enumerate(values)
    ]


def test_plain_mean_and_counts_of_every_outcome():
    means = cell(
        *rated(None, 1.0, 1.0, 0.0, "unparsed", "truncated", "failed", benchmark="toxigen"),
    )
    assert means[["n", "n_items", "n_scored", "n_unparsed", "n_truncated", "n_failed"]].tolist() == [
        6,
        5,
        3,
        1,
        1,
        1,
    ]
    assert means["score"] == means["score_low"] == means["mean"] == 2 / 5
    assert means["score_parsed"] == 2 / 3
    assert means["score_high"] == 4 / 5


def test_bbq_is_the_mean_of_its_parts():
    rows = [
        *rated("ambiguous", 1.0, 1.0, 0.0, 1.0, benchmark="bbq"),
        *rated("disambiguated", 1.0, "unparsed", benchmark="bbq"),
    ]
    means = cell(*rows)
    assert means["score"] == means["score_low"] == (3 / 4 + 1 / 2) / 2
    assert means["score_high"] == means["score_parsed"] == (3 / 4 + 1) / 2
    assert means["mean"] == 4 / 6
    assert cell(*rows[:4])["score"] == 3 / 4


def test_xstest_is_the_mean_of_the_safe_and_the_unsafe_rate():
    means = cell(
        *rated("safe", 1.0, 1.0, 1.0, 0.5, benchmark="xstest"),
        *rated("unsafe", 0.0, 1.0, benchmark="xstest"),
    )
    assert means["score"] == (3.5 / 4 + 1 / 2) / 2
    assert means["mean"] == 4.5 / 6


def test_parts_that_no_row_names_give_the_plain_mean():
    named = cell(*rated("", 1.0, 0.0, 0.0, benchmark="xstest"))
    absent = responses.cell_means(table(*rated(None, 1.0, 0.0, 0.0, benchmark="bbq")).drop(columns="part"))
    assert named["score"] == absent["score"].item() == 1 / 3


def test_parts_matter_only_where_the_rule_averages_over_them():
    rows = [*rated("a", 1.0, benchmark="toxigen"), *rated("b", 1.0, 0.0, 0.0, benchmark="toxigen")]
    assert cell(*rows)["score"] == 2 / 4
    assert cell(*rows, *rated(None, 0.0, benchmark="toxigen"))["score"] == 2 / 5
    assert cell(*(row | {"benchmark": "crows_pairs"} for row in rows))["score"] == 1.0


def test_parts_that_some_rows_lack_are_refused():
    rows = [*rated("ambiguous", 1.0, benchmark="bbq"), *rated(None, 1.0, benchmark="bbq")]
    with pytest.raises(SchemaError, match="'part' is given for some rows only"):
        responses.cell_means(table(*rows))


def test_a_part_without_an_answer_leaves_no_score():
    means = cell(
        *rated("ambiguous", 1.0, benchmark="bbq"),
        *rated("disambiguated", "unparsed", benchmark="bbq"),
    )
    assert means[["score", "score_low", "score_high"]].tolist() == [0.5, 0.5, 1.0]
    assert np.isnan(means["score_parsed"])
    broken = cell(
        *rated("ambiguous", 1.0, benchmark="bbq"),
        *rated("disambiguated", "failed", benchmark="bbq"),
    )
    assert np.isnan(broken["score"])
    assert broken["mean"] == 1.0


@pytest.mark.parametrize(
    ("scores", "score", "low", "high"),
    [
        ([1.0, 1.0, 0.0, 0.0], 1.0, 1.0, 1.0),
        ([1.0, 1.0, 1.0, 0.0], 0.5, 0.5, 0.5),
        ([1.0, 1.0, 1.0, 1.0], 0.0, 0.0, 0.0),
        ([1.0, "unparsed", "unparsed", "unparsed"], 0.5, 0.0, 1.0),
        ([1.0, "unparsed", 0.0, 0.0], 0.5, 0.5, 1.0),
        ([1.0, 1.0, 1.0, "unparsed"], 0.5, 0.0, 0.5),
        ([1.0, 1.0, "unparsed", 0.0, 0.0], 0.8, 0.8, 1.0),
        (["unparsed", "unparsed"], 0.0, 0.0, 1.0),
    ],
)
def test_crows_pairs_scores_parity_and_its_maximum_may_lie_inside(scores, score, low, high):
    means = cell(*rated(None, *scores, benchmark="CrowS-Pairs"))
    assert means[["score", "score_low", "score_high"]].tolist() == pytest.approx([score, low, high])
    assert means["benchmark"] == "crows_pairs"


def test_samples_of_an_item_are_averaged_before_the_items():
    rows = [answer("i0", s, sample=k) for k, s in enumerate([1.0, 1.0, 1.0, 0.0])]
    means = cell(*rows, answer("i1", 0.0), answer("i1", outcome="unparsed", sample=1))
    assert means["score"] == (3 / 4 + 0) / 2
    assert means["score_high"] == (3 / 4 + 1 / 2) / 2
    assert (means["n"], means["n_items"]) == (6, 2)


def test_nothing_parsed_and_nothing_answered():
    unparsed = cell(answer(outcome="unparsed"))
    assert unparsed[["score", "score_low", "score_high"]].tolist() == [0.0, 0.0, 1.0]
    assert np.isnan(unparsed["score_parsed"])
    failed = cell(answer(outcome="failed"))
    assert (failed["n"], failed["n_items"], failed["n_failed"]) == (1, 0, 1)
    assert failed[["score", "score_parsed", "score_low", "score_high", "mean"]].isna().all()


def test_cells_are_kept_apart_and_an_empty_table_has_none():
    means = responses.cell_means(small())
    assert means["cell_id"].tolist() == ["cell", "lp"]
    assert means["score"].tolist() == [(0.5 + 0.5 + 0 + 0) / 4, 1.0]
    pd.testing.assert_frame_equal(responses.cell_means(small().set_axis([0] * 8)), means)
    empty = responses.cell_means(small().iloc[:0])
    assert list(empty.columns) == list(means.columns)
    assert len(empty) == 0


def test_scores_that_contradict_their_outcome_are_refused():
    with pytest.raises(SchemaError, match=r"Row 1 has outcome 'unparsed' and score 1\.0"):
        responses.cell_means(table(answer(), answer("i1", outcome="unparsed") | {"score": 1.0}))
    with pytest.raises(SchemaError, match="Missing column: 'outcome'"):
        responses.cell_means(small().drop(columns="outcome"))


outcomes = st.one_of(st.sampled_from([0.0, 0.25, 1.0]), st.sampled_from(["unparsed", "truncated", "failed"]))
drawn_cell = st.tuples(
    st.sampled_from(["toxigen", "bbq", "xstest", "crows_pairs", "other"]),
    st.lists(st.tuples(outcomes, st.integers(0, 4), st.booleans()), min_size=1, max_size=12),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(drawn_cell, min_size=5, max_size=15))
def test_scores_lie_within_their_bounds(drawn):
    rows = [
        answer(
            f"{part}{item}",
            **given_answer(value),
            benchmark=benchmark,
            part=f"part{part}",
            sample=sample,
            cell_id=str(cell_id),
        )
        for cell_id, (benchmark, answers) in enumerate(drawn)
        for sample, (value, item, part) in enumerate(answers)
    ]
    means = responses.cell_means(table(*rows))
    assert len(means) == len(drawn)
    scored = means[means["score"].notna()]
    unscored = means[means["score"].isna()]
    assert unscored[["score_low", "score_high"]].isna().all(axis=None)
    assert (unscored["n_failed"] > 0).all()
    assert (scored["score_low"] >= 0).all()
    assert (scored["score_low"] <= scored["score"]).all()
    assert (scored["score"] <= scored["score_high"]).all()
    assert (scored["score_high"] <= 1).all()
    parsed = scored[scored["score_parsed"].notna()]
    inside = parsed["score_parsed"].between(parsed["score_low"] - 1e-12, parsed["score_high"] + 1e-12)
    assert inside.all()
    certain = scored[scored["n_unparsed"] + scored["n_truncated"] == 0]
    for column in ("score_low", "score_high", "score_parsed"):
        assert (certain[column] == certain["score"]).all()


def test_parity_bounds_are_those_of_every_completion_of_the_unparsed():
    """Against a fine grid of values of the unparsed answers, for every cell of up to six of them."""
    counts = [c for c in product(range(4), range(4), range(4)) if 0 < sum(c) <= 6]
    rows = [
        answer(f"i{k}", **given_answer(value), benchmark="crows_pairs", cell_id=f"{cell_id:03}")
        for cell_id, (right, wrong, unparsed) in enumerate(counts)
        for k, value in enumerate([1.0] * right + [0.0] * wrong + ["unparsed"] * unparsed)
    ]
    means = responses.cell_means(table(*rows))
    for (right, wrong, unparsed), low, high in zip(
        counts, means["score_low"], means["score_high"], strict=True
    ):
        m = (right + unparsed * np.linspace(0, 1, 601)) / (right + wrong + unparsed)
        reached = 1 - 2 * np.abs(m - 0.5)
        assert (low, high) == pytest.approx((reached.min(), reached.max()), abs=1e-9)


# Matrices


def grid():
    return table(
        *(
            answer(f"i{k}", float(k < right), model=model, template=template, cell_id=f"{model}{template}")
            for model, template, right in [("B", "role", 1), ("A", "role", 2), ("A", "minimal", 3)]
            for k in range(4)
        )
    )


def test_score_matrix_has_configurations_by_models_and_nan_for_a_missing_cell():
    scores = responses.score_matrix(responses.cell_means(grid()))
    assert scores.index.names == CONFIGURATION
    assert scores.columns.tolist() == ["A", "B"]
    assert scores.index.get_level_values("template").tolist() == ["minimal", "role"]
    np.testing.assert_equal(scores.to_numpy(), [[0.75, np.nan], [0.5, 0.25]])
    assert responses.score_matrix(responses.cell_means(grid()), "n_items").loc["minimal", "A"].item() == 4


def test_score_matrix_refuses_mixtures():
    cells = responses.cell_means(table(answer(), answer(benchmark="bbq")))
    with pytest.raises(SchemaError, match="2 benchmarks \\(bbq, toxigen\\)"):
        responses.score_matrix(cells)
    twice = responses.cell_means(table(answer(), answer("i1", cell_id="other")))
    with pytest.raises(SchemaError, match="Two cells for"):
        responses.score_matrix(twice)
    with pytest.raises(UnknownNameError, match="score_parsed"):
        responses.score_matrix(cells[:1], "parsed_score")


def test_response_matrix_tells_not_asked_from_wrong():
    frame = pd.concat(
        [grid(), table(answer("i4", outcome="unparsed"), answer("i5", outcome="failed"))], ignore_index=True
    )
    matrix = responses.response_matrix(frame, respondent=["model", "template"])
    assert matrix.index.tolist() == [("A", "minimal"), ("A", "role"), ("B", "role")]
    assert matrix.columns.tolist() == ["i0", "i1", "i2", "i3", "i4", "i5"]
    np.testing.assert_equal(
        matrix.to_numpy(),
        [[1, 1, 1, 0, 0, np.nan], [1, 1, 0, 0, np.nan, np.nan], [1, 0, 0, 0, np.nan, np.nan]],
    )
    left_open = responses.response_matrix(frame, respondent=["model", "template"], unparsed=None)
    assert np.isnan(left_open.loc[("A", "minimal"), "i4"])
    assert left_open.drop(columns="i4").equals(matrix.drop(columns="i4"))


def test_response_matrix_says_which_columns_tell_answers_apart():
    with pytest.raises(SchemaError, match="add template, cell_id to `respondent`"):
        responses.response_matrix(grid())
    one = responses.response_matrix(grid()[lambda f: f.template == "role"])
    assert one.index.name == "model"
    assert one.shape == (2, 4)
    with pytest.raises(SchemaError, match="add sample to `respondent`"):
        responses.response_matrix(table(answer(), answer(sample=1)))
    with pytest.raises(SchemaError, match="Repeated rows"):
        responses.response_matrix(table(answer(), answer()))
    with pytest.raises(SchemaError, match="2 benchmarks"):
        responses.response_matrix(table(answer(), answer(benchmark="bbq")))
    with pytest.raises(SchemaError, match="'modell' \\(nearest present: 'model'\\)"):
        responses.response_matrix(table(answer()), ["modell"])


# Option probabilities


def test_option_probabilities_follow_the_norm():
    frame = table(chosen("i0"), answer("i1"), chosen("i2", option_logprobs=[-1000.0, -1001.0, -1002.0]))
    tidy = responses.option_probabilities(frame)
    assert tidy["item_id"].tolist() == ["i0"] * 3 + ["i2"] * 3
    assert tidy["option"].tolist() == [0, 1, 2] * 2
    assert tidy.attrs["n_left_out"] == 1
    expected = np.exp([-1.0, -2.5, -0.5])
    assert tidy["probability"][:3].tolist() == pytest.approx(expected / expected.sum())
    stable = np.exp([0.0, -1.0, -2.0])
    assert tidy["probability"][3:].tolist() == pytest.approx(stable / stable.sum())
    per_token = np.exp([-1.0 / 2, -2.5 / 5, -0.5])
    assert responses.option_probabilities(frame, "token")["probability"][:3].tolist() == pytest.approx(
        per_token / per_token.sum()
    )
    per_byte = np.exp([-1.0 / 8, -2.5 / 20, -0.5 / 3])
    assert responses.option_probabilities(frame, norm="byte")["probability"][:3].tolist() == pytest.approx(
        per_byte / per_byte.sum()
    )
    letters = np.exp([-0.1, -3.0, -4.0])
    assert responses.option_probabilities(frame, letters=True)["probability"][:3].tolist() == pytest.approx(
        letters / letters.sum()
    )


def test_options_of_different_number_and_repeated_index_stay_apart():
    two = {
        "option_logprobs": [-1.0, -1.0],
        "option_tokens": [1, 1],
        "option_bytes": [1, 1],
        "letter_logprobs": None,
    }
    frame = table(chosen("i0"), chosen("i1", **two)).set_axis([0, 0])
    tidy = responses.option_probabilities(frame)
    assert tidy["probability"][3:].tolist() == [0.5, 0.5]
    assert tidy.groupby("item_id")["probability"].sum().tolist() == pytest.approx([1, 1])


def test_option_probabilities_without_what_the_norm_needs():
    with pytest.raises(SchemaError, match="'option_tokens'"):
        responses.option_probabilities(table(chosen(option_tokens=None)), "token")
    with pytest.raises(SchemaError, match="'option_bytes'"):
        responses.option_probabilities(table(chosen(option_bytes=[1, 2])), "byte")
    with pytest.raises(UnknownNameError, match="sum, token, byte"):
        responses.option_probabilities(small(), "tokn")
    with pytest.raises(UnknownNameError, match="norm of letters"):
        responses.option_probabilities(small(), "token", letters=True)
    free_form = responses.option_probabilities(small().iloc[:6])
    assert (len(free_form), free_form.attrs["n_left_out"]) == (0, 6)


# Import


def test_importing_the_metrics_loads_no_heavy_library():
    code = "import sys, benchtrust.responses, benchtrust.stability; print(*sys.modules)"
    paths = os.pathsep.join([str(Path(responses.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": paths},
    ).stdout.split()
    assert not {"torch", "transformers", "pandera", "statsmodels", "sklearn", "matplotlib"} & set(loaded)


def test_chosen_values_are_those_named_or_all_in_order() -> None:
    frame = pd.DataFrame({"model": ["b", "Own One", "a", "b"]})
    assert responses.chosen(frame, "model", ["own-one", "A"]) == ["Own One", "a"]
    assert responses.chosen(frame, "model", [], ["a", "c", "b"]) == ["a", "b", "Own One"]
    assert responses.chosen(frame, "model", [], aside=["b"]) == ["Own One", "a"]
    assert responses.chosen(frame, "model", ["b"], aside=["b"]) == ["b"]
    assert responses.chosen(frame, "model", ["b", "B", "a"]) == ["b", "a"]
    with pytest.raises(UnknownNameError, match="model of this table"):
        responses.chosen(frame, "model", ["own two"])


# ---------------------------------------------------------------- own answers


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_table_or_a_matrix_is_read_from_any_kind_of_file(tmp_path, suffix):
    frame = responses.validate(small())
    path, matrix = tmp_path / f"own.{suffix}", tmp_path / f"my_set.{suffix}"
    scores = pd.DataFrame({"i1": [1.0, 0.0], "i2": [0.5, None]}, pd.Index(["m1", "m2"], name="model"))
    if suffix == "csv":
        lists = [name for name, kind in responses.COLUMNS.items() if kind in ("floats?", "ints?")]
        text = frame.assign(**{name: frame[name].map(json.dumps, na_action="ignore") for name in lists})
        text.to_csv(path, index=False)
        scores.to_csv(matrix)
    elif suffix == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
        rows = [
            {"subject_id": model, "responses": own.dropna().to_dict()} for model, own in scores.iterrows()
        ]
        matrix.write_text("\n".join(map(json.dumps, rows)))
    else:
        frame.to_parquet(path)
        scores.to_parquet(matrix)
    pd.testing.assert_frame_equal(responses.read(path), frame)
    read = responses.read(matrix)
    assert set(read["benchmark"]) == {"my_set"}
    assert responses.response_matrix(read).loc["m1"].tolist() == [1.0, 0.5]
    assert len(read) == 3, "what was not asked is no row"


def test_what_a_question_needs_and_answers_lack_is_said():
    frame = responses.validate(small())
    responses.require(frame)
    with pytest.raises(NotAskableError, match=r"needs answers in 99 configurations .*; \w+ has \d"):
        responses.require(frame, configurations=99)
    with pytest.raises(NotAskableError, match=r"needs scoring by_hand and logprob; .* has"):
        responses.require(frame, levels={"scoring": ["by_hand", "logprob"]})
    with pytest.raises(NotAskableError, match="needs 9 levels of shots or more"):
        responses.require(frame, levels={"shots": 9})
    with pytest.raises(NotAskableError, match="needs 'part'; no answer"):
        responses.require(frame.assign(part=None), columns=["part"])
    with pytest.raises(NotAskableError, match="No answers are left"):
        responses.require(frame.iloc[:0])
