"""Similarity against scipy's divergence; floor, copies, supports, truncation, bad input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr

from benchtrust import distributions
from benchtrust.errors import SchemaError
from benchtrust.harmony import (
    FLOOR,
    divergences,
    given_similarity,
    letters,
    pooled_similarity,
    predictive_similarity,
    sorted_profile,
    truncation,
    vocabulary,
)
from benchtrust.responses import option_probabilities

quick = settings(max_examples=40, deadline=None)


def one_by_one(p: np.ndarray, floor: float = FLOOR) -> np.ndarray:
    """Symmetrised divergence of each pair by scipy."""
    p = np.maximum(p, floor)
    p = p / p.sum(axis=1, keepdims=True)
    return np.array([[(rel_entr(a, b) + rel_entr(b, a)).sum() for b in p] for a in p])


def side_table(full: np.ndarray, n_listed: int) -> pd.DataFrame:
    """Answer distributions as recorded: the most probable tokens, and the mass of the others."""
    order = np.argsort(-full, axis=1, kind="stable")[:, :n_listed]
    listed = np.take_along_axis(full, order, axis=1)
    table = {
        "benchmark": "b",
        "item_id": [f"i{i}" for i in range(len(full))],
        "model": "m",
        "cell_id": "c",
        "positions": 1,
        "token_ids": [*order],
        "probabilities": [*listed],
        "rest": 1 - listed.sum(axis=1),
    }
    return distributions.validate(pd.DataFrame(table))


@pytest.fixture
def mixed() -> np.ndarray:
    """40 items × 5 outcomes, some of them impossible."""
    p = np.random.default_rng(3).dirichlet(np.full(5, 0.3), 40)
    p[::7, 2] = 0
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("floor", [1e-9, 1e-6, 1e-2])
def test_divergences_are_those_of_scipy(mixed, floor):
    found = divergences(mixed, floor)
    assert found == pytest.approx(one_by_one(mixed, floor), abs=1e-10)
    assert (np.diag(found) == 0).all()
    assert (found == found.T).all()
    assert np.isfinite(found).all()


@pytest.mark.parametrize("tau", [0.3, 1.0, 5.0])
def test_similarity_is_the_paper_s_formula(mixed, tau):
    expected = np.exp(-tau / 2 * one_by_one(mixed))
    double = predictive_similarity(mixed, tau, dtype=np.float64)
    assert double.over_items() == pytest.approx(expected, abs=1e-12)
    assert predictive_similarity(mixed, tau).over_items() == pytest.approx(expected, abs=1e-7)
    assert (double.tau, double.floor) == (tau, FLOOR)


def test_blocks_change_nothing(mixed, monkeypatch):
    whole = divergences(mixed), predictive_similarity(mixed, 1.0).affinity
    monkeypatch.setattr("benchtrust.harmony.similarity._BLOCK", 7)
    assert divergences(mixed) == pytest.approx(whole[0], abs=1e-12)
    assert predictive_similarity(mixed, 1.0).affinity == pytest.approx(whole[1], abs=1e-7)


def test_two_items_by_hand():
    """KL(.5 .5 || .9 .1) + KL(.9 .1 || .5 .5) = .4 log 9; the floor is far below."""
    found = divergences([[0.5, 0.5], [0.9, 0.1]], floor=1e-12)
    assert found[0, 1] == pytest.approx(0.4 * np.log(9))


def test_the_floor_bounds_the_divergence():
    sure = np.eye(3)
    for floor in (1e-3, 1e-6, 1e-9):
        assert divergences(sure, floor).max() == pytest.approx(2 * np.log(1 / floor), rel=0.01)


def test_copies_collapse_and_keep_their_weight(mixed):
    own = np.repeat(np.arange(40), np.arange(40) % 3 + 1)
    found = predictive_similarity(mixed[own], 1.0)
    assert found.affinity.shape == (40, 40)
    assert found.weights.sum() == len(own)
    assert (found.weights[found.representative] == (own % 3) + 1).all()
    assert found.over_items() == pytest.approx(
        predictive_similarity(mixed, 1.0).over_items()[np.ix_(own, own)]
    )


def test_copies_collapse_in_a_side_table_too():
    full = np.random.default_rng(0).dirichlet(np.full(30, 0.3), 6)
    found = predictive_similarity(vocabulary(side_table(full[[0, 1, 1, 2, 3, 4, 5, 1]], 8)), 1.0)
    assert sorted(found.weights) == [1, 1, 1, 1, 1, 3]
    assert len({found.representative[i] for i in (1, 2, 7)}) == 1


@quick
@given(st.integers(0, 2**32 - 1))
def test_order_of_items_and_outcomes_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(4, 0.5), 9)
    rows, columns = rng.permutation(9), rng.permutation(4)
    found = divergences(p)
    assert divergences(p[rows]) == pytest.approx(found[np.ix_(rows, rows)], abs=1e-10)
    assert divergences(p[:, columns]) == pytest.approx(found, abs=1e-10)
    assert (found >= 0).all()
    assert (
        predictive_similarity(p[rows], 2.0).affinity.tobytes()
        == predictive_similarity(p, 2.0).affinity.tobytes()
    )


def test_sorted_profile_forgets_which_option_is_which():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), 8)
    mixed_up = np.array([row[rng.permutation(4)] for row in p])
    assert divergences(sorted_profile(mixed_up)) == pytest.approx(divergences(sorted_profile(p)), abs=1e-12)
    assert divergences(letters(mixed_up)) != pytest.approx(divergences(letters(p)), abs=1e-3)
    assert sorted_profile(p).name != letters(p).name


def responses(logprobs: dict[str, list[list[float]]]) -> pd.DataFrame:
    """Rows of one model; one cell for each list of an item."""
    rows = [
        {"item_id": item, "cell_id": f"c{cell}", "shots": cell, "option_logprobs": values}
        for item, cells in logprobs.items()
        for cell, values in enumerate(cells)
    ]
    shared = {"benchmark": "truthfulqa", "model": "m", "template": "minimal", "decoding": "none"}
    return pd.DataFrame(rows).assign(**shared, scoring="logprob", sample=0)


def test_sorted_profile_averages_cells_option_by_option_and_pads():
    """Averaged before sorting: .8 .2 and .2 .8 are .5 .5. Two options get a third at the floor."""
    log = np.log
    frame = responses(
        {
            "three": [list(log([0.2, 0.5, 0.3]))] * 2,
            "two": [list(log([0.8, 0.2])), list(log([0.2, 0.8]))],
        }
    )
    found = sorted_profile(option_probabilities(frame))
    assert list(found.items) == ["three", "two"]
    assert found.probabilities == pytest.approx(np.array([[0.5, 0.3, 0.2], [0.5, 0.5, 0.0]]))
    padded = np.array([[0.5, 0.3, 0.2], [0.5, 0.5, FLOOR]])
    assert divergences(found) == pytest.approx(one_by_one(padded), abs=1e-10)


def test_sorted_profile_refuses_what_cannot_be_averaged():
    frame = responses({"a": [[-1.0, -2.0]], "b": [[-1.0, -1.0, -1.0], [-2.0, -1.0]]})
    with pytest.raises(SchemaError, match="'b' has other numbers of options"):
        sorted_profile(option_probabilities(frame))
    two = pd.concat([responses({"a": [[-1.0, -2.0]]}), responses({"a": [[-1.0, -1.0]]}).assign(model="n")])
    with pytest.raises(SchemaError, match="2 models"):
        sorted_profile(option_probabilities(two))


def test_vocabulary_is_the_union_of_listed_tokens_and_the_rest():
    full = np.random.default_rng(5).dirichlet(np.full(200, 0.05), 12)
    table = side_table(full, 20)
    support = vocabulary(table)
    union = np.unique(np.concatenate([*table["token_ids"]]))
    assert support.probabilities.shape == (12, len(union) + 1)
    assert support.items.tolist() == table["item_id"].tolist()
    dense = np.zeros(support.probabilities.shape)
    for i, row in enumerate(table.itertuples()):
        dense[i, np.searchsorted(union, row.token_ids)] = row.probabilities
        dense[i, -1] = row.rest
    assert support.probabilities.toarray() == pytest.approx(dense, abs=1e-12)
    assert divergences(support) == pytest.approx(one_by_one(dense), abs=1e-9)


def test_truncation_spans_what_a_longer_list_would_show():
    """The affinity of the whole vocabulary, kept apart as in the support, lies where the report says."""
    tau = 0.3
    full = np.random.default_rng(6).dirichlet(np.full(400, 0.08), 15)
    table = side_table(full, 40)
    support, union = vocabulary(table), np.unique(np.concatenate([*table["token_ids"]]))
    truth = np.column_stack([full[:, union], 1 - full[:, union].sum(axis=1)]).clip(0)
    moved = np.abs(np.exp(-tau / 2 * (one_by_one(truth))) - np.exp(-tau / 2 * divergences(support)))
    report = truncation(support, tau)
    pairs = moved[np.triu_indices(15, 1)]
    assert 0 < pairs.mean() <= report.affinity_mean
    assert pairs.max() <= report.affinity_max
    assert report.rest_max == pytest.approx(table["rest"].max())
    assert report.unlisted_max >= max(
        np.delete(p, ids).max() for p, ids in zip(full, table["token_ids"], strict=True)
    )
    assert truncation(vocabulary(side_table(full, 200)), tau).affinity_mean < report.affinity_mean / 3


def test_a_side_table_of_two_cells_is_refused():
    table = side_table(np.random.default_rng(0).dirichlet(np.ones(9), 4), 3)
    with pytest.raises(SchemaError, match="select one"):
        vocabulary(pd.concat([table, table.assign(cell_id="d")]))
    with pytest.raises(SchemaError, match="item twice"):
        vocabulary(pd.concat([table, table]))


def test_pooling_averages_divergences(mixed):
    other = np.random.default_rng(9).dirichlet(np.ones(3), 40)
    pooled = pooled_similarity([predictive_similarity(mixed, 0.8), predictive_similarity(other, 0.8)])
    expected = np.exp(-0.4 * (one_by_one(mixed) + one_by_one(other)) / 2)
    assert pooled.over_items() == pytest.approx(expected, abs=1e-6)
    with pytest.raises(SchemaError, match="same items"):
        pooled_similarity([predictive_similarity(mixed, 1.0), predictive_similarity(mixed[:9], 1.0)])
    with pytest.raises(SchemaError, match="at least one"):
        pooled_similarity([])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], "Row 1 of the probabilities sums to 0.9"),
        ([[0.5, 0.5], [1.2, -0.2]], "must not be negative"),
        ([[0.5, 0.5], [np.nan, 1.0]], "NaN"),
        ([[0.5, 0.5], [np.inf, 0.0]], "infinite"),
        ([[0.5, 0.5]], "two of each"),
        ([[1.0], [1.0]], "two of each"),
        ([["a", "b"], ["c", "d"]], "must be numbers"),
        ([0.5, 0.5], "two of each"),
    ],
)
def test_bad_probabilities_are_named(rows, message):
    for call in (divergences, sorted_profile, letters, lambda p: predictive_similarity(p, 1.0)):
        with pytest.raises(SchemaError, match=message):
            call(rows)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"tau": 0}, "tau"), ({"tau": np.nan}, "tau"), ({"floor": 0}, "floor"), ({"floor": 0.5}, "1/5")],
)
def test_constants_out_of_range_are_named(mixed, changes, message):
    with pytest.raises(SchemaError, match=message):
        predictive_similarity(mixed, **{"tau": 1.0, **changes})


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (np.ones((2, 3)), "shape"),
        (np.ones((1, 1)), "two"),
        ([[1.0, -0.1], [-0.1, 1.0]], "outside"),
        ([[1.0, np.nan], [np.nan, 1.0]], "outside"),
        ([[1.0, 0.2], [0.4, 1.0]], "symmetric"),
        ([[0.5, 0.2], [0.2, 1.0]], "diagonal"),
    ],
)
def test_bad_affinities_are_named(affinity, message):
    with pytest.raises(SchemaError, match=message):
        given_similarity(affinity, "test")
