"""A model beside its variant: items that both were asked, changes of choice or outcome, score differences."""

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.responses import cell_means
from benchtrust.stability import (
    compare_variants,
    flip_rates,
    turned_leaders,
    variant_flips,
    variant_intervals,
)


def row(model, item, choice, score, template="minimal"):
    return {
        "benchmark": "toxigen", "model": model, "template": template, "shots": 0, "decoding": "greedy",
        "scoring": "free_form", "item_id": item, "sample": 0, "choice": choice, "score": score,
        "outcome": "unparsed" if choice is None else "scored", "cell_id": model + template,
    }  # fmt: skip


def table(*rows):
    return pd.DataFrame(rows).astype({"choice": "Int64", "score": "float64"})


def test_changes_are_counted_on_the_items_that_both_were_asked():
    frame = table(
        row("a", "i", 0, 1.0), row("a", "j", 1, 0.0), row("a", "k", None, None), row("a", "l", None, None),
        row("a", "only a", 0, 1.0),
        row("a (none)", "i", 0, 1.0), row("a (none)", "j", 0, 1.0), row("a (none)", "k", 0, 1.0),
        row("a (none)", "l", None, None),
        row("b", "i", 1, 0.0),
    )  # fmt: skip
    (found,) = compare_variants(frame, {"a": "a (none)"}).itertuples()
    assert (found.model, found.n_items, found.changed) == ("a", 4, 0.5)
    assert (found.score, found.score_variant, found.difference) == (0.25, 0.75, 0.5)


def test_configurations_of_one_of_them_alone_are_left_out():
    frame = table(row("a", "i", 0, 1.0), row("v", "i", 0, 1.0), row("v", "i", 0, 1.0, "role"))
    assert compare_variants(frame, {"a": "v"})["template"].tolist() == ["minimal"]
    with pytest.raises(SchemaError, match="Nothing was asked of both a and v"):
        compare_variants(frame[frame["model"] == "a"], {"a": "v"})


def test_leaders_that_turn_are_counted_and_ties_and_gaps_are_not():
    scores = pd.DataFrame({"a": [0.6, 0.6, 0.5, 0.9], "b": [0.4, 0.4, 0.5, None]}, index=list("wxyz"))
    others = pd.DataFrame({"a": [0.3, 0.7, 0.1, 0.1], "b": [0.4, 0.2, 0.5, 0.5]}, index=list("wxyz"))
    (found,) = turned_leaders(scores, others.loc[list("zyxw")]).itertuples()
    assert (found.model_a, found.model_b, found.n, found.turned) == ("a", "b", 3, 1)
    assert turned_leaders(scores, others, tie=0.15)["turned"][0] == 0
    with pytest.raises(SchemaError, match="differ"):
        turned_leaders(scores, others[["b", "a"]])


def answers(scores):
    """Responses of models in the configurations minimal and role: model → template → scores of items."""
    rows = [
        row(model, f"i{k}", int(score), float(score), template)
        for model, cells in scores.items()
        for template, found in cells.items()
        for k, score in enumerate(found)
    ]
    return table(*rows)


TURNED = answers(
    {
        "a": {"minimal": [1, 1, 0], "role": [1, 1, 1]},
        "b": {"minimal": [1, 0, 0], "role": [1, 0, 0]},
        "a*": {"minimal": [0, 0, 0], "role": [1, 1, 1]},
        "b*": {"minimal": [1, 0, 0], "role": [1, 0, 0]},
    }
)
STARS = {"a": "a*", "b": "b*"}


def test_flip_rates_of_the_models_of_their_variants_and_with_the_variant_as_an_axis():
    cells = cell_means(TURNED)
    (found,) = variant_flips(cells, STARS, ("plain", "starred")).itertuples()
    assert (found.benchmark, found.model_a, found.model_b, found.n) == ("toxigen", "a", "b", 2)
    assert (found.plain, found.starred, found.joint, found.turned) == (0, 0.5, 0.25, 1)
    same = variant_flips(cells, {"a": "a", "b": "b"}, ("one", "two"))
    assert same[["one", "two", "joint"]].eq(0).all(axis=None)
    assert same["turned"].eq(0).all()


def test_a_margin_makes_ties_of_what_turned():
    assert variant_flips(cell_means(TURNED), STARS, ("plain", "starred"), tie=0.4)["turned"].eq(0).all()


def test_the_move_of_the_mean_score_is_exact_and_within_its_interval():
    moved = variant_intervals(TURNED, STARS, 300, np.random.default_rng(0)).set_index("model")
    assert moved.loc["a", "difference"] == pytest.approx(-1 / 3)
    assert moved.loc["a", "low"] < -1 / 3 < moved.loc["a", "high"] <= 0
    assert moved.loc["b", ["difference", "low", "high"]].eq(0).all()


def test_a_variant_that_answers_alike_moves_nothing_and_flips_as_the_models_do():
    twin = TURNED[TURNED["model"].isin(["a*", "b*"])]
    twin = pd.concat([twin, twin.assign(model=twin["model"] + "*")])
    names = {"a*": "a**", "b*": "b**"}
    (found,) = variant_flips(cell_means(twin), names, ("one", "two")).itertuples()
    cells = cell_means(twin).pivot(index=["template"], columns="model", values="score")
    assert found.one == found.two == found.joint == flip_rates(cells[["a*", "b*"]])["rho"][0]
    assert found.turned == 0
