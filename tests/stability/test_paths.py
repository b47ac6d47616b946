"""Two ways to score one prompt: norms by hand, option scores against the items, parse failures apart."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchtrust import items, responses
from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.stability import compare_paths, option_scores, path_intervals, rescore

RECORD = Path(__file__).parents[2] / "data" / "recorded" / "grid"
LOGPROBS = [-4.0, -6.0, -9.0]
TOKENS = [1, 2, 9]
BYTES = [4, 12, 9]
LETTERS = [-3.0, -0.5, -2.0]


def row(item, choice, score, scoring="logprob", **more):
    logprob = scoring == "logprob"
    return {
        "benchmark": "bbq", "item_id": item, "part": "ambiguous", "model": "a", "template": "minimal",
        "shots": 0, "decoding": "none" if logprob else "greedy", "scoring": scoring, "sample": 0,
        "outcome": "unparsed" if choice is None else "scored", "choice": choice, "score": score,
        "option_logprobs": LOGPROBS if logprob else None, "option_tokens": TOKENS if logprob else None,
        "option_bytes": BYTES if logprob else None, "letter_logprobs": LETTERS if logprob else None,
        "cell_id": scoring,
    } | more  # fmt: skip


def table(*rows):
    return pd.DataFrame(rows).astype({"choice": "Int64", "score": "float64"})


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ([(0, 1.0)], [1, 0, 0]),
        ([(0, 0.0), (2, 0.0)], [0, 1, 0]),
        ([(1, 0.0)], [np.nan, 0, np.nan]),
        ([(1, 0.0), (2, 1.0)], [0, 0, 1]),
        ([(1, 0.5)], [np.nan] * 3),
    ],
)
def test_options_score_what_their_choices_scored(choices, expected):
    frame = table(*[row("i", *choice, model=f"m{n}") for n, choice in enumerate(choices)])
    assert option_scores(frame).to_numpy() == pytest.approx(np.array(expected), nan_ok=True)


@pytest.mark.parametrize("choices", [[(0, 1.0), (1, 1.0)], [(0, 1.0), (0, 0.0)]])
def test_answers_scored_by_two_keys_are_refused(choices):
    with pytest.raises(SchemaError, match="'i' has answers scored by two keys"):
        option_scores(table(*[row("i", *choice, model=f"m{n}") for n, choice in enumerate(choices)]))


@pytest.mark.parametrize(("norm", "choice"), [("sum", 0), ("token", 2), ("byte", 1), ("letter", 1)])
def test_each_norm_by_hand(norm, choice):
    """Sums -4, -6, -9; per token -4, -3, -1; per byte -1, -.5, -1; letters -3, -.5, -2."""
    frame = table(row("i", 0, 0.0), row("i", 1, 1.0, "free_form"), row("j", 0, 1.0))
    found = rescore(frame, norm)
    assert found.frame["choice"].tolist() == [choice, 1, choice]
    assert found.frame["score"].tolist() == [float(choice == 1), 1.0, float(choice == 0)]
    assert (found.n_changed, found.n_tied, found.n_unknown) == (0 if norm == "sum" else 2, 0, 0)


def test_a_choice_that_nobody_scored_is_left_out_and_counted():
    frame = table(row("i", 0, 0.0), row("j", 0, 1.0))
    found = rescore(frame, "token")
    assert (found.n_unknown, found.frame["item_id"].tolist()) == (1, ["j"])


def test_near_ties_are_counted():
    near = table(row("i", 0, 1.0, option_logprobs=[-4.0, -8.00001, -90.0]))
    assert rescore(near, "token").n_tied == 1


def test_what_a_norm_needs_must_be_there():
    with pytest.raises(SchemaError, match="'letter' needs 'letter_logprobs', which some rows of bbq"):
        rescore(table(row("i", 0, 1.0, letter_logprobs=None)), "letter")
    with pytest.raises(UnknownNameError, match="Did you mean token"):
        rescore(table(row("i", 0, 1.0)), "tokens")


def test_a_failed_row_keeps_its_place_and_has_no_choice():
    failed = row("i", None, None, outcome="failed", option_logprobs=None)
    found = rescore(table(failed, row("i", 0, 1.0, shots=3)), "token")
    assert found.frame["outcome"].tolist() == ["failed", "scored"]


@pytest.mark.parametrize("benchmark", ["bbq", "truthfulqa", "toxigen"])
def test_on_the_record_the_largest_sum_is_the_choice(benchmark):
    frame = responses.read(RECORD / "SmolLM2-135M-Instruct" / f"{benchmark}.parquet")
    frame = frame[frame["option_logprobs"].notna()].reset_index(drop=True)
    assert len(frame) > 50
    ones = frame["option_tokens"].map(lambda lengths: [1] * len(lengths))
    again = rescore(frame.assign(option_tokens=ones), "token")
    assert (again.n_changed, again.n_unknown) == (0, 0)
    assert again.frame["score"].tolist() == frame["score"].tolist()


@pytest.mark.external
@pytest.mark.parametrize("benchmark", ["bbq", "truthfulqa", "xstest", "crows_pairs"])
def test_known_option_scores_are_the_items_keys(benchmark):
    known = option_scores(responses.read(sorted(RECORD.rglob(f"{benchmark}.parquet")))).dropna()
    keys = {item.item_id: item.answer for item in items.load(benchmark)}
    assert len(known) > 20
    assert all(score == (keys[item] == option) for (_, item, option), score in known.items())


def test_parse_failures_stand_apart():
    frame = table(
        *[row(f"i{n}", 0, float(n < 3)) for n in range(4)],
        row("i0", 0, 1.0, "free_form"),
        row("i1", None, None, "free_form"),
        row("i2", None, None, "free_form", outcome="truncated"),
        row("i3", 1, 1.0, "free_form"),
    )
    (found,) = compare_paths(frame).to_dict("records")
    assert (found["n_items"], found["n_left_out"], found["n_unparsed"], found["n_truncated"]) == (4, 0, 1, 1)
    assert (found["free_form"], found["logprob"], found["difference"]) == (0.5, 0.75, -0.25)
    assert (found["free_form_parsed"], found["logprob_parsed"]) == (1.0, 0.5)
    assert found["difference_parsed"] == 0.5


def test_parts_weigh_equally_on_both_paths():
    parts = ["ambiguous"] * 3 + ["disambiguated"]
    frame = table(
        *[row(f"i{n}", 0, float(n == 3), part=part) for n, part in enumerate(parts)],
        *[row(f"i{n}", 0, float(n == 3), "free_form", part=part) for n, part in enumerate(parts[:3])],
        row("i3", None, None, "free_form", part="disambiguated"),
    )
    (found,) = compare_paths(frame).to_dict("records")
    assert (found["free_form"], found["logprob"]) == (0.0, 0.5)
    assert np.isnan(found["difference_parsed"])


def test_items_of_one_path_and_other_decodings_do_not_enter():
    frame = table(
        row("i", 0, 1.0), row("j", 0, 1.0), row("i", 1, 0.0, "free_form"), row("k", 1, 0.0, "free_form"),
        row("i", 0, 1.0, "free_form", decoding="t0.7", cell_id="warm"),
        row("i", 0, 1.0, shots=3, cell_id="x"),
    )  # fmt: skip
    (greedy,) = compare_paths(frame).to_dict("records")
    assert (greedy["n_items"], greedy["n_left_out"], greedy["difference"]) == (1, 2, -1.0)
    (warm,) = compare_paths(frame, decoding="t0.7").to_dict("records")
    assert (warm["n_items"], warm["n_left_out"], warm["difference"]) == (1, 1, 0.0)
    with pytest.raises(SchemaError, match=r"No item has both a t0\.3"):
        compare_paths(frame, decoding="t0.3")
    with pytest.raises(SchemaError, match="Several samples"):
        compare_paths(pd.concat([frame, frame[:1].assign(sample=1)]))


def test_intervals_belong_to_the_differences_and_narrow_with_more_items():
    rng = np.random.default_rng(4)
    widths = []
    for n in (10, 160):
        right = rng.random((2, 2, n)) < [[[0.3], [0.8]], [[0.5], [0.5]]]
        rows = [
            row(f"i{i}", int(not hit), float(hit), path, model=f"m{m}", benchmark="toxigen", part=None)
            for (m, p, i), hit in np.ndenumerate(right)
            for path in [("logprob", "free_form")[p]]
        ]
        found = path_intervals(table(*rows), 400, np.random.default_rng(1))
        plain = compare_paths(table(*rows))
        assert found["difference"].tolist() == pytest.approx(plain["difference"].tolist())
        assert (found["low"] <= found["difference"]).all()
        assert (found["difference"] <= found["high"]).all()
        widths.append((found["high"] - found["low"]).mean())
    assert widths[1] < widths[0] / 2
    assert found["low"][0] > 0 > found["low"][1]
