"""A model beside its variant: items that both were asked, changes of choice or outcome, score differences."""

import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.stability import compare_variants, turned_leaders


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
