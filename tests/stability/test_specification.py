"""One pair over all configurations: range of the gap, curve, smallest change, unparsed answers."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.responses import cell_means
from benchtrust.stability import (
    compare_cells,
    flip_rates,
    flip_table,
    holm,
    identified_set,
    item_scores,
    smallest_change,
    specification_curve,
    unparsed_leaders,
)

quick = settings(max_examples=20, deadline=None)
AXES = ["template", "shots", "decoding", "scoring"]
ENVELOPE = [(t, s, d, "free_form") for t, s, d in product("mr", (0, 3), ("greedy", "t0.3"))] + [
    (t, s, "none", "logprob") for t, s in product("mr", (0, 3))
]


def binary(shape, seed):
    return np.random.default_rng(seed).integers(0, 2, shape).astype(float)


def envelope_scores(values) -> pd.DataFrame:
    return pd.DataFrame(values, index=pd.MultiIndex.from_tuples(ENVELOPE, names=AXES), columns=["a", "b"])


def test_the_identified_set_runs_from_the_smallest_to_the_largest_gap():
    cube = binary((3, 9, 15), 1)
    gaps = cube[2].mean(axis=1) - cube[0].mean(axis=1)
    found = identified_set(cube, 2, 0, 200, np.random.default_rng(0))
    assert (found.low, found.high) == pytest.approx((gaps.min(), gaps.max()))
    assert found.share_ahead == (gaps > 1e-9).mean()
    assert found.share_ahead + found.share_tied + found.share_behind == 1
    assert found.band == (found.low - found.half_width, found.high + found.half_width)
    turned = identified_set(cube, 0, 2, 200, np.random.default_rng(0))
    assert (turned.low, turned.half_width) == pytest.approx((-found.high, found.half_width))


def test_the_band_of_one_configuration_is_the_normal_one_with_many_items():
    rng = np.random.default_rng(2)
    cube = (rng.random((2, 1, 1500)) < 0.5).astype(float)
    error = (cube[0] - cube[1]).std() / np.sqrt(1500)
    assert identified_set(cube, 0, 1, 2000, rng).half_width == pytest.approx(1.96 * error, rel=0.08)
    assert identified_set(cube, 0, 1, 2000, rng, level=0.5).half_width == pytest.approx(
        0.674 * error, rel=0.1
    )


def test_the_band_holds_the_gaps_of_all_configurations_at_once():
    rng = np.random.default_rng(3)
    better = np.array([np.linspace(0.3, 0.7, 8), np.full(8, 0.5)])
    true = better[0] - better[1]
    held = []
    for _ in range(150):
        cube = (rng.random((2, 8, 60)) < better[:, :, None]).astype(float)
        found = identified_set(cube, 0, 1, 200, rng)
        low, high = (
            found.low + np.array([-1, 1]) * found.half_width,
            found.high + np.array([-1, 1]) * found.half_width,
        )
        held.append(low[0] <= true.min() <= low[1] and high[0] <= true.max() <= high[1])
    assert np.mean(held) >= 0.92


def test_the_curve_is_sorted_and_tests_each_configuration():
    cube = binary((2, 10, 20), 4)
    curve = specification_curve(cube, 0, 1, 500, np.random.default_rng(0))
    cells = compare_cells(cube, 0, np.random.default_rng(0)).set_index("configuration")
    assert curve["gap"].is_monotonic_increasing
    assert curve["rank"].tolist() == list(range(1, 11))
    assert (curve["low"] <= curve["gap"]).all()
    assert (curve["gap"] <= curve["high"]).all()
    for name in ("gap", "n01", "n10", "p"):
        assert curve[name].to_numpy() == pytest.approx(cells.loc[curve["configuration"], name].to_numpy())
    assert curve["p_holm"].to_numpy() == pytest.approx(holm(curve["p"]))


def test_intervals_of_the_curve_are_normal_with_many_items_and_empty_without_discordance():
    rng = np.random.default_rng(5)
    cube = (rng.random((2, 3, 1500)) < 0.5).astype(float)
    cube[1, 2] = cube[0, 2]
    curve = specification_curve(cube, 0, 1, 2000, rng).set_index("configuration")
    width = (curve["high"] - curve["low"]).sort_index().to_numpy()
    error = (cube[0] - cube[1]).std(axis=1) / np.sqrt(1500)
    assert width == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert (curve.loc[2, ["gap", "low", "high"]] == 0).all()


def test_parity_has_a_curve_too():
    curve = specification_curve(
        item_scores(binary((2, 4, 12), 6), rule="parity"), 0, 1, 50, np.random.default_rng(0)
    )
    assert set(curve["test"]) == {"sign flips of folded items"}


def brute_force(scores, a, b):
    """Pairs of configurations that reverse a and b, with the axes on which they differ."""
    found = {}
    for c, d in product(scores.index, repeat=2):
        if scores.loc[c, a] > scores.loc[c, b] and scores.loc[d, a] < scores.loc[d, b]:
            changed = {axis for axis, x, y in zip(AXES, c, d, strict=True) if x != y}
            found[c, d] = changed - {"decoding"} if "scoring" in changed else changed
    return found


@quick
@given(arrays(float, (len(ENVELOPE), 2), elements=st.sampled_from([0.0, 0.5, 1.0, np.nan])))
def test_the_smallest_change_equals_brute_force(values):
    scores = envelope_scores(values)
    every = brute_force(scores, "a", "b")
    found = smallest_change(scores, "a", "b")
    assert (found is not None) == (flip_rates(scores)["rho"].item() > 0)
    if found is None:
        return
    least = min(map(len, every.values()))
    pairs = {
        (tuple(row[f"ahead_{axis}"] for axis in AXES), tuple(row[f"behind_{axis}"] for axis in AXES)): row
        for row in found.pairs.to_dict("records")
    }
    assert found.n_axes == least
    assert set(pairs) == {pair for pair, changed in every.items() if len(changed) == least}
    for pair, row in pairs.items():
        assert set(row["changed"].split(" + ")) == every[pair]
        lead = scores["a"] - scores["b"]
        assert (row["lead_a"], row["lead_b"]) == (lead[pair[0]], -lead[pair[1]])
    alone = [next(iter(changed)) for changed in every.values() if len(changed) == 1]
    assert found.by_axis.set_index("axis")["n_reversing"].to_dict() == {x: alone.count(x) for x in AXES}


def test_scoring_and_decoding_are_one_change():
    values = np.zeros((len(ENVELOPE), 2))
    values[ENVELOPE.index(("m", 0, "greedy", "free_form"))] = [1, 0]
    values[ENVELOPE.index(("m", 0, "none", "logprob"))] = [0, 1]
    found = smallest_change(envelope_scores(values), "a", "b")
    assert (found.n_axes, found.pairs["changed"].tolist()) == (1, ["scoring"])
    by_axis = found.by_axis.set_index("axis")
    assert by_axis["n_pairs"].to_dict() == {"template": 6, "shots": 6, "decoding": 4, "scoring": 8}


def test_a_distant_reversal_counts_its_axes():
    values = np.zeros((len(ENVELOPE), 2))
    values[ENVELOPE.index(("m", 0, "greedy", "free_form"))] = [1, 0]
    values[ENVELOPE.index(("r", 3, "t0.3", "free_form"))] = [0, 1]
    found = smallest_change(envelope_scores(values), "a", "b")
    assert (found.n_axes, found.pairs["changed"].tolist()) == (3, ["template + shots + decoding"])
    assert found.by_axis["n_reversing"].sum() == 0


def test_other_axes_and_unnamed_ones():
    scores = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]}, index=pd.Index(["en", "de"], name="language"))
    assert smallest_change(scores, "a", "b").pairs["changed"].tolist() == ["language"]
    with pytest.raises(SchemaError, match="need names"):
        smallest_change(scores.rename_axis(None), "a", "b")
    with pytest.raises(UnknownNameError, match="'c'"):
        smallest_change(scores, "a", "c")


def responses(outcomes: dict[str, str]) -> pd.DataFrame:
    """Answers in one configuration: model -> a letter an item, r(ight), w(rong), u(nparsed)."""
    rows = [
        ["toxigen", f"i{n}", model, "m", 0, "greedy", "free_form", model, *value]
        for model, letters in outcomes.items()
        for n, letter in enumerate(letters)
        for value in [{"r": ("scored", 1.0), "w": ("scored", 0.0), "u": ("unparsed", np.nan)}[letter]]
    ]
    return pd.DataFrame(rows, columns=["benchmark", "item_id", "model", *AXES, "cell_id", "outcome", "score"])


@pytest.mark.parametrize(
    ("a", "b", "as_wrong", "left_out", "bounds", "changes", "turns"),
    [
        ("rrww", "rwww", "a", "a", "a", False, False),
        ("rruu", "rrrw", "b", "a", "either", True, True),
        ("rruw", "rrww", "tie", "a", "either", True, False),
        ("rrru", "wwuw", "a", "a", "a", False, False),
        ("uuuu", "rrww", "b", None, "either", pd.NA, pd.NA),
    ],
)
def test_leaders_by_how_unparsed_answers_count(a, b, as_wrong, left_out, bounds, changes, turns):
    row = unparsed_leaders(cell_means(responses({"a": a, "b": b})), "a", "b").iloc[0]
    assert (row["as_wrong"], row["left_out"], row["bounds"]) == (as_wrong, left_out, bounds)
    assert row["changes"] is changes or row["changes"] == changes
    assert row["turns"] is turns or row["turns"] == turns
    assert row["lead_low"] <= row["lead_high"]


def test_bounds_of_a_lead_run_from_all_wrong_against_all_right():
    row = unparsed_leaders(cell_means(responses({"a": "ruww", "b": "rruw"})), "a", "b").iloc[0]
    assert (row["lead_low"], row["lead_high"]) == (0.25 - 0.75, 0.5 - 0.5)


@quick
@given(st.lists(st.tuples(*[st.text("rwu", min_size=4, max_size=4)] * 2), min_size=1, max_size=4))
def test_a_flip_that_hangs_on_unparsed_answers_has_a_configuration_that_changes(cells):
    frame = pd.concat(
        [
            responses({"a": a, "b": b}).assign(shots=shots, cell_id=lambda f, s=shots: f["model"] + str(s))
            for shots, (a, b) in enumerate(cells)
        ]
    )
    means = cell_means(frame)
    leaders = unparsed_leaders(means, "a", "b")
    known = leaders["changes"].notna()
    if flip_table(means, ["a", "b"])["hangs_on_unparsed"].item():
        assert leaders["changes"].fillna(True).any()
    sure = leaders["bounds"].isin(["a", "b"])
    assert (leaders.loc[sure, "as_wrong"] == leaders.loc[sure, "bounds"]).all()
    assert not (leaders.loc[known & sure, "turns"]).any()


def test_a_configuration_that_one_model_lacks_is_not_compared():
    frame = responses({"a": "rr", "b": "rw"})
    more = responses({"a": "rw"}).assign(shots=3, cell_id="a3")
    assert len(unparsed_leaders(cell_means(pd.concat([frame, more])), "a", "b")) == 1
    with pytest.raises(UnknownNameError, match="'c'"):
        unparsed_leaders(cell_means(frame), "a", "c")


def test_a_gap_of_rounding_is_no_gap():
    items = np.array([[[0.1, 0.2], [1.0, 1.0]], [[0.3, 0.0], [0.0, 0.0]]])
    found = identified_set(items, 0, 1, 20, np.random.default_rng(0))
    assert (found.low, found.share_tied, found.share_behind) == (0, 0.5, 0)
