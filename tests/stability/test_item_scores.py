"""Item scores of one benchmark: the cells of `cell_means`, pooled decodings, what is left out."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.responses import cell_means, score_matrix
from benchtrust.stability import item_scores, pool_decoding

DECODINGS = ("greedy", "t0.3", "t0.7")


def responses(benchmark: str, rng: np.random.Generator, n_items: int = 9) -> pd.DataFrame:
    """Answers of two models at two templates, free-form in three decodings and by log-probabilities."""
    paths = [(d, "free_form") for d in DECODINGS] + [("none", "logprob")]
    rows = [
        {
            "benchmark": benchmark, "item_id": f"i{item}", "part": "safe" if item < 4 else "unsafe",
            "model": model, "template": template, "shots": 0, "decoding": decoding, "scoring": scoring,
            "cell_id": f"{model}-{template}-{decoding}", "outcome": outcome,
            "score": float(rng.integers(0, 2)) if outcome == "scored" else np.nan,
        }
        for model, template, (decoding, scoring), item in product(
            "ab", ("minimal", "role"), paths, range(n_items)
        )
        for outcome in [rng.choice(["scored", "scored", "unparsed"])]
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("benchmark", ["toxigen", "xstest", "crows_pairs"])
def test_responses_give_the_scores_of_cell_means(benchmark):
    frame = responses(benchmark, np.random.default_rng(1))
    table = item_scores(frame.sample(frac=1, random_state=2))
    pd.testing.assert_frame_equal(
        table.cells, score_matrix(cell_means(frame)), check_names=False, check_exact=False
    )
    assert table.weights.sum(axis=1) == pytest.approx(1)
    added = table.added.sum(axis=0)
    assert added == pytest.approx(table.cells.to_numpy().T)
    assert item_scores(table) is table


def test_pooled_decodings_are_means_of_items():
    frame = responses("toxigen", np.random.default_rng(2))
    whole, pooled = item_scores(frame), pool_decoding(frame)
    assert pooled.configurations.names == ["template", "shots", "scoring"]
    expected = whole.cells.groupby(["template", "shots", "scoring"]).mean()
    pd.testing.assert_frame_equal(pooled.cells.sort_index(), expected, check_names=False)
    assert set(np.round(pooled.scores.ravel() * 3, 9)) <= {0, 1, 2, 3}


def test_an_item_that_lacks_a_decoding_is_left_out_of_its_pool_alone():
    frame = responses("toxigen", np.random.default_rng(3))
    hole = (frame["item_id"] == "i0") & (frame["decoding"] == "t0.7") & (frame["template"] == "role")
    pooled = pool_decoding(frame[~hole])
    asked = pd.Series((pooled.weights > 0).sum(axis=1), index=pooled.configurations)
    assert asked.loc[("role", 0, "free_form")] == 8
    assert asked.drop(("role", 0, "free_form")).eq(9).all()


def test_a_pair_stands_in_the_order_asked_for():
    cube = np.random.default_rng(4).integers(0, 2, (3, 4, 5)).astype(float)
    table = item_scores(cube)
    assert table.pairs == ((0, 1), (0, 2), (1, 2))
    assert table.pair(2, 0).cells.to_numpy().tolist() == table.cells[[2, 0]].to_numpy().tolist()
    with pytest.raises(UnknownNameError, match=r"Unknown model 7\. Models: 0, 1, 2"):
        table.pair(0, 7)


def test_what_was_never_asked_is_not_in_the_table():
    cube = np.zeros((2, 3, 4))
    cube[:, 1] = np.nan
    cube[:, :, 2] = np.nan
    table = item_scores(cube, parts=["x", "x", "y", "z"])
    assert list(table.configurations) == [0, 2]
    assert table.items == (0, 1, 3)
    assert table.weights.tolist() == [[0.25, 0.25, 0.5]] * 2


@pytest.mark.parametrize("options", [{"parts": ["a"] * 9}, {"rule": "parity"}])
def test_responses_bring_their_own_parts_and_rule(options):
    frame = responses("toxigen", np.random.default_rng(5))
    for items in (frame, item_scores(frame)):
        with pytest.raises(SchemaError, match="their own parts"):
            item_scores(items, **options)


def test_decodings_are_pooled_where_they_have_a_name():
    with pytest.raises(SchemaError, match="no level 'decoding'"):
        pool_decoding(item_scores(np.zeros((2, 3, 4))))
