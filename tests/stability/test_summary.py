"""Flip rates of several benchmarks at once."""

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.responses import CONFIGURATION, score_matrix
from benchtrust.stability import (
    choose,
    common_items,
    complete,
    disclosure,
    flip_rates,
    flip_table,
    majority,
    one_configuration,
    reversed_by_level,
    score_spans,
    widest_reversals,
)

CONFIGURATIONS = [("minimal", k, "greedy", "free_form") for k in (0, 3, 5)]


def cells(scores: dict[str, dict[str, list[float | None]]], parsed: dict | None = None) -> pd.DataFrame:
    """Cell scores: benchmark → model → score in each configuration (None: no such cell)."""
    rows = []
    for benchmark, models in scores.items():
        for model, values in models.items():
            for configuration, value in zip(CONFIGURATIONS, values, strict=True):
                if value is not None:
                    left_out = (parsed or scores)[benchmark][model][CONFIGURATIONS.index(configuration)]
                    rows.append([benchmark, model, *configuration, value, left_out])
    names = ["benchmark", "model", "template", "shots", "decoding", "scoring", "score", "score_parsed"]
    return pd.DataFrame(rows, columns=names)


def test_each_benchmark_has_its_own_pairs() -> None:
    table = flip_table(
        cells({"bbq": {"a": [1, 0, 1], "b": [0, 1, 0]}, "xstest": {"a": [1, 1, 1], "b": [0, 0, 0]}}),
        ["a", "b"],
    )
    assert table.set_index("benchmark")["rho"].to_dict() == {"bbq": pytest.approx(1 / 3), "xstest": 0}


def test_a_pair_is_compared_where_both_have_a_cell() -> None:
    table = flip_table(
        cells({"bbq": {"a": [1, 0, 1], "b": [0, 1, None], "c": [None, 0.5, None]}}), ["a", "b", "c"]
    )
    assert table.set_index(["model_a", "model_b"])["n"].to_dict() == {
        ("a", "b"): 2,
        ("a", "c"): 1,
        ("b", "c"): 1,
    }


def test_a_margin_makes_small_differences_ties_and_never_a_reversal() -> None:
    rng = np.random.default_rng(1)
    scores = cells({"bbq": {m: list(rng.random(3)) for m in "ab"}})
    rates = [flip_table(scores, ["a", "b"], margin)["rho"].item() for margin in (0, 0.1, 0.3, 1)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == 0


def test_a_reversal_that_hangs_on_unparsed_answers_is_marked() -> None:
    counted = {"bbq": {"a": [0.5, 0.4, 0.5], "b": [0.4, 0.5, 0.4]}}
    left_out = {"bbq": {"a": [0.5, 0.6, 0.5], "b": [0.4, 0.5, 0.4]}}
    assert flip_table(cells(counted, left_out), ["a", "b"])["hangs_on_unparsed"].item()
    assert not flip_table(cells(counted), ["a", "b"])["hangs_on_unparsed"].item()


def test_complete_keeps_the_configurations_that_all_models_have() -> None:
    frame = cells(
        {"bbq": {"a": [1, 0, 1], "b": [0, 1, None]}, "xstest": {"a": [1, None, None], "b": [1, None, 1]}}
    )
    kept = complete(frame, ["a", "b"])
    assert sorted(zip(kept["benchmark"], kept["model"], kept["shots"], strict=True)) == [
        *(("bbq", model, shots) for model in "ab" for shots in (0, 3)),
        *(("xstest", model, 0) for model in "ab"),
    ]


def test_majority_marks_as_many_rows_as_the_flip_rate_counts() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        scores = pd.DataFrame(rng.integers(0, 3, (9, 2)) / 2.0, columns=["a", "b"])
        turned = majority(scores, "a", "b")
        rates = flip_rates(scores).iloc[0]
        assert turned.sum() == min(rates["n_plus"], rates["n_minus"])
        assert turned.isna().sum() == rates["n_tie"]


def test_models_are_found_by_another_spelling_and_two_are_needed() -> None:
    frame = cells({"bbq": {"Model-A": [1, 0, 1], "model_b": [0, 1, 0]}})
    assert choose(frame, ["model-a", "Model B"]) == ["Model-A", "model_b"]
    with pytest.raises(UnknownNameError, match="Did you mean Model-A"):
        choose(frame, ["Model-AA", "model_b"])
    with pytest.raises(SchemaError, match="needs two"):
        choose(frame, ["model_b", "model-b"])


def test_reversed_configurations_are_counted_by_level() -> None:
    table = reversed_by_level(cells({"bbq": {"a": [1, 0, 1], "b": [0, 1, None]}}), "a", "b")
    by_shots = table[table["axis"] == "shots"].set_index("level")[["configurations", "reversed"]]
    assert by_shots.to_dict("index") == {
        "0": {"configurations": 1, "reversed": 0},
        "3": {"configurations": 1, "reversed": 1},
    }
    per_axis = {"scoring": 1, "decoding": 1, "shots": 1, "template": 1}
    assert table.groupby("axis")["reversed"].sum().to_dict() == per_axis


def test_only_items_that_every_cell_was_asked_are_compared() -> None:
    asked = {"a0": "xyz", "a1": "xy", "b0": "yz", "c0": ""}
    rows = [
        {"benchmark": "bbq", "model": cell[0], "cell_id": cell, "item_id": item}
        for cell, items in asked.items()
        for item in items
    ]
    other = [{"benchmark": "xstest", "model": "a", "cell_id": "x0", "item_id": "only here"}]
    frame = pd.DataFrame(rows + other)
    kept = common_items(frame, ["a", "b"])
    assert set(kept.loc[kept["benchmark"] == "bbq", "item_id"]) == {"y"}
    assert (kept["benchmark"] == "xstest").sum() == 1
    alone = common_items(frame, ["a"])
    assert set(alone.loc[alone["benchmark"] == "bbq", "item_id"]) == {"x", "y"}


def test_the_widest_reversal_of_each_pair_is_named_and_others_stay_empty() -> None:
    table = widest_reversals(
        cells({"bbq": {"a": [0.9, 0.2, 0.5], "b": [0.1, 0.4, 0.4], "c": [1, 1, 1]}}), "abc"
    )
    first, *others = table.itertuples()
    assert (first.model_a, first.model_b) == ("a", "b")
    assert (first.lead_a, first.lead_b) == pytest.approx((0.8, 0.2))
    assert first.ahead != first.behind
    assert all(row.ahead == row.behind == "" and np.isnan(row.lead_a) for row in others)
    assert len(others) == 2


def test_what_a_leaderboard_shows_and_what_it_leaves_out() -> None:
    table = cells({"bbq": {"a": [0.5, 0.9, 0.9], "b": [0.5, 0.1, 0.1], "c": [0.6, 0.3, 0.3]}})
    table = table.assign(n_unparsed=1, n_truncated=0, n=4)
    first = dict(zip(CONFIGURATION, score_matrix(table).index[0], strict=True))
    told = disclosure(table, ["a", "b", "c"], first).set_index("model")
    assert told["score"].tolist() == [0.5, 0.5, 0.6]
    assert told["rank"].tolist() == [2, 2, 1]
    assert told[["rank_low", "rank_high"]].to_numpy().tolist() == [[1, 2], [2, 3], [1, 2]]
    assert told[["low", "high"]].to_numpy().tolist() == [[0.5, 0.9], [0.1, 0.5], [0.3, 0.6]]
    assert (told["unread"] == 0.25).all()
    with pytest.raises(SchemaError, match="bbq has no cells at minimal, 99"):
        disclosure(table, ["a", "b", "c"], first | {"template": "minimal", "shots": 99})


def test_scores_span_the_cells_of_each_model_on_the_items_that_all_were_asked() -> None:
    asked = [
        ("a", "minimal", "i", 1), ("a", "minimal", "j", 0), ("a", "minimal", "only a", 1),
        ("a", "role", "i", 1), ("a", "role", "j", 1),
        ("coin", "minimal", "i", 0), ("coin", "minimal", "j", 1),
    ]  # fmt: skip
    frame = pd.DataFrame(asked, columns=["model", "template", "item_id", "score"])
    frame = frame.assign(
        benchmark="toxigen", shots=0, decoding="none", scoring="logprob", sample=0, outcome="scored",
        cell_id=frame["model"] + frame["template"], score=frame["score"].astype(float),
    )  # fmt: skip
    spans = score_spans(frame).set_index("model")
    assert spans.loc["a", ["score", "low", "high", "cells", "items"]].tolist() == [0.75, 0.5, 1, 2, 2]
    assert spans.loc["coin", ["score", "low", "high", "cells", "items"]].tolist() == [0.5, 0.5, 0.5, 1, 2]


def test_one_configuration_is_found_by_its_five_names_or_the_wrong_one_is_named() -> None:
    frame = cells({"bbq": {"a": [1, 0, 1], "b": [0, 1, 0]}})
    found = one_configuration(frame, ["BBQ", "minimal", "3", "greedy", "free_form"])
    assert found["shots"].tolist() == [3, 3]
    with pytest.raises(SchemaError, match=r"4 names.*benchmark, template, shots, decoding, scoring"):
        one_configuration(frame, ["bbq", "minimal", "3", "greedy"])
    with pytest.raises(UnknownNameError, match=r"shots '99'.*Valid: 0, 3, 5"):
        one_configuration(frame, ["bbq", "minimal", "99", "greedy", "free_form"])
