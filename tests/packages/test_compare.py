"""Packages side by side: worked examples of spread, disagreement, reading and agreement."""

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.packages import compare, emulate
from benchtrust.packages.compare import OURS
from benchtrust.packages.importers import LENIENT

RNG = np.random.default_rng
SMALL = "small"


def found(benchmark: str = "truthfulqa", reading: str = "own", **packages: list) -> pd.DataFrame:
    """Decisions of packages on items numbered from 0; None is a missing score, "-" an answer not read."""
    rows = [
        {
            "model": SMALL,
            "benchmark": benchmark,
            "package": OURS if name == "ours" else name,
            "task": "",
            "reading": reading,
            "item_id": f"i{k}",
            "part": "",
            "choice": pd.NA,
            "score": 0.0 if value == "-" else value,
            "outcome": "unparsed" if value == "-" else "failed" if value is None else "scored",
        }
        for name, values in packages.items()
        for k, value in enumerate(values)
    ]
    return pd.DataFrame(rows).astype({"score": float})


def test_packages_are_compared_on_items_that_all_have_scored():
    table = compare.spreads(found(ours=[1, 1, 0, 1], helm=[0, 1, None, 1], lm_eval=[1, 1, 1]), 50, RNG(0))
    assert table["n"].tolist() == [2, 2, 2]
    assert table.set_index("package")["score"].to_dict() == {OURS: 1.0, "helm": 0.5, "lm_eval": 1.0}


def test_the_spread_is_that_of_the_three_packages_without_ours():
    table = found(ours=[0] * 4, helm=[1, 1, 1, 0], inspect=["-", 1, 0, 0], lm_eval=[1, 1, 0, 0])
    (row,) = compare.widest(table, 400, RNG(0)).to_dict("records")
    assert (row["highest"], row["lowest"], row["items"], row["unread"]) == ("helm", "inspect", 4, 0.25)
    assert row["spread"] == pytest.approx(0.5)
    assert 0 <= row["low"] <= 0.5 <= row["high"] <= 1


def test_a_package_that_read_too_few_answers_can_be_left_out_of_the_spread():
    table = found(helm=[1, 1, 1, 0], inspect=["-", "-", "-", 0], lm_eval=[1, 1, 0, 0])
    (row,) = compare.widest(table, 10, RNG(0), most_unread=0.5).to_dict("records")
    assert (row["highest"], row["lowest"], row["spread"]) == ("helm", "lm_eval", pytest.approx(0.25))
    (row,) = compare.widest(table, 10, RNG(0)).to_dict("records")
    assert (row["lowest"], row["unread"]) == ("inspect", 0.75)


def test_packages_that_score_alike_have_a_spread_of_nothing_on_all_items():
    (row,) = compare.widest(found(helm=[1, 0, 1], inspect=[0, 1, 1]), 10, RNG(0)).to_dict("records")
    assert (row["spread"], row["items"]) == (0.0, 3)
    assert row["low"] <= 0 <= row["high"]
    assert row["highest"] != row["lowest"]


def test_a_benchmark_of_one_package_has_no_spread():
    with pytest.raises(SchemaError, match="truthfulqa no benchmark was answered"):
        compare.widest(found(ours=[1, 0], lm_eval=[1, 1]), 10, RNG(0))


def test_options_that_are_weighed_have_no_second_reading():
    with pytest.raises(SchemaError, match="truthfulqa no package generated letters"):
        compare.readings(found(ours=[1, 0], lm_eval=[1, 1]), 10, RNG(0))


def test_a_trained_model_is_beside_random_weights_on_the_items_of_both():
    trained = found(helm=[1, 1, 1, 0], inspect=["-", "-", "-", "-"])
    rows = compare.beside(trained, found(helm=[0, 0, 1], inspect=["-", "-", "-"]), 400, RNG(0))
    helm, inspect = rows.to_dict("records")
    assert (helm["n"], helm["score"], helm["unread"]) == (3, 1.0, 0.0)
    assert helm["ahead"] == pytest.approx(2 / 3)
    assert 0 <= helm["low"] <= 2 / 3 <= helm["high"] <= 1
    assert (inspect["ahead"], inspect["unread"]) == (0.0, 1.0)


def test_a_share_of_stereotypes_is_better_the_nearer_it_is_to_one_half():
    trained, random = (found("crows_pairs", lm_eval=of) for of in ([1, 1, 1, 0], [1, 1, 0, 0]))
    (row,) = compare.beside(trained, random, 10, RNG(0)).to_dict("records")
    assert (row["score"], row["score_random"]) == (0.75, 0.5)
    assert row["ahead"] == pytest.approx(-0.5)


def test_chance_stands_on_paths_along_which_it_does_not_change():
    def path(benchmark: str, *levels: str) -> pd.DataFrame:
        return pd.DataFrame({"benchmark": benchmark, "level": ["", *levels]})

    made = {"a": path("bbq", "Q/A"), "b": path("bbq", "wordings"), "c": path("crows_pairs", "off")}
    assert compare.chance_marks(made, {"bbq": 1 / 3, "crows_pairs": 1.0}) == {"a": 1 / 3}
    assert compare.chance_marks(made, {}) == {}


def test_wordings_of_unknown_are_the_likelier_by_lot_the_more_there_are():
    """Ten of twelve texts are right on an ambiguous item, one of twelve on another."""
    key = emulate.recipe("lm_eval", "bbq").key
    asked = pd.DataFrame({"recipe": key, "item_id": ["a", "b"], "part": ["ambiguous", "disambiguated"]})
    asked["logprobs"] = [[0.0] * 12] * 2
    assert compare.chance_of_wordings(asked) == pytest.approx(11 / 24)
    assert np.isnan(compare.chance_of_wordings(asked.assign(recipe="other")))


def test_no_draws_are_refused():
    with pytest.raises(SchemaError, match="0 draws of the items: give 1 or more"):
        compare.spreads(found(ours=[1, 0], lm_eval=[1, 1]), 0, RNG(0))


def test_disagreement_is_counted_on_either_side_and_kappa_is_cohens():
    """Both right 4, only one 1, only the other 2, both wrong 3: agreement .7, by chance .3 + .2 = .5."""
    one = [1] * 4 + [1] + [0] * 2 + [0] * 3
    other = [1] * 4 + [0] + [1] * 2 + [0] * 3
    (row,) = compare.disagreements(found(helm=one, inspect=other)).to_dict("records")
    assert (row["only_a"], row["only_b"], row["items"]) == (1, 2, 10)
    assert row["differ"] == pytest.approx(0.3)
    assert row["kappa"] == pytest.approx((0.7 - 0.5) / 0.5)


def test_kappa_of_a_package_that_is_always_wrong_is_not_defined():
    (row,) = compare.disagreements(found(helm=[0, 0], inspect=[1, 0])).to_dict("records")
    assert np.isnan(row["kappa"])


def test_strict_and_lenient_reading_are_paired():
    strict = found(benchmark="bbq", inspect=["-", "-", 1, 0])
    lenient = found(benchmark="bbq", reading="lenient", inspect=[1, "-", 1, 0])
    (row,) = compare.readings(pd.concat([strict, lenient]), 200, RNG(0)).to_dict("records")
    assert (row["strict"], row["lenient"], row["difference"]) == (0.25, 0.5, 0.25)
    assert (row["unread_strict"], row["unread_lenient"]) == (0.5, 0.25)


def recorded(package: str, benchmark: str, task: str, metric: str, rows: list[tuple]) -> pd.DataFrame:
    """Rows (item, choice, score, outcome) as `importers.read` gives them."""
    table = pd.DataFrame(rows, columns=["item_id", "choice", "score", "outcome"])
    facts = {"package": package, "benchmark": benchmark, "task": task, "metric": metric}
    return table.assign(**facts, model=SMALL, part=None).astype({"choice": "Int64", "score": float})


def emulation(benchmark: str, recipe: emulate.Recipe, choices: list, scores: list) -> pd.DataFrame:
    table = pd.DataFrame({"choice": choices, "score": scores}).astype({"choice": "Int64", "score": float})
    facts = {"model": SMALL, "benchmark": benchmark, "recipe": recipe.key, "part": "", "margin": np.nan}
    return table.assign(
        **facts, item_id=[f"i{k}" for k in range(len(table))], outcome="scored", logprobs=None
    )


def test_decisions_come_from_logs_and_from_the_first_step():
    own = recorded(
        "inspect", "bbq", "bbq_local", "choice", [("i0", 1, 1, "scored"), ("i1", None, None, "unparsed")]
    )
    read = recorded("inspect", "bbq", "bbq_local", LENIENT, [("i0", 1, 1, "scored"), ("i1", 0, 0, "scored")])
    failed = recorded("helm", "bbq", "bbq:subject=all", "bbq_accuracy", [("i0", None, None, "failed")])
    ours = emulation("bbq", emulate.ours("bbq"), [1, 1], [1, 0])
    later = emulation("bbq", emulate.recipe("inspect", "bbq"), [0, 0], [0, 1])
    table = compare.decisions(pd.concat([own, read, failed]), pd.concat([ours, later]))
    assert list(table.columns) == list(compare.COLUMNS)
    assert table.groupby(["package", "task", "reading"], sort=False)["score"].apply(list).to_dict() == {
        (OURS, "", "own"): [1, 0],
        ("helm", "bbq", "own"): [pytest.approx(np.nan, nan_ok=True)],
        ("inspect", "bbq", "own"): [1, 0],
        ("inspect", "bbq", "lenient"): [1, 0],
    }


def test_agreement_is_with_the_end_of_the_path_and_lists_the_rest():
    rows = [("i0", 1, 1, "scored"), ("i1", 0, 0, "scored"), ("i2", None, None, "unparsed")]
    own = recorded("inspect", "bbq", "bbq_local", "choice", rows)
    end = emulation("bbq", emulate.recipe("inspect", "bbq"), [1, 2, None], [1, 0, 0])
    found = compare.decisions(own, pd.concat([emulation("bbq", emulate.ours("bbq"), [0] * 3, [0] * 3), end]))
    table, differing = compare.agreements(found, end)
    (row,) = table.to_dict("records")
    assert (row["n"], row["n_equal"], row["n_missing"]) == (3, 2, 0)
    assert row["emulated"] == row["recorded"] == pytest.approx(1 / 3)
    assert differing[["package", "item_id", "cause"]].to_numpy().tolist() == [
        ["inspect", "i1", "not explained"]
    ]


def test_a_wrong_letter_is_no_agreement_with_an_answer_that_was_not_read():
    own = recorded("inspect", "bbq", "bbq_local", "choice", [("i0", None, None, "unparsed")])
    end = emulation("bbq", emulate.recipe("inspect", "bbq"), [2], [0])
    table, _ = compare.agreements(
        compare.decisions(own, emulation("bbq", emulate.ours("bbq"), [0], [0])), end
    )
    assert table["n_equal"].tolist() == [0]


def test_nothing_in_common_is_told():
    only_ours = found(ours=[1, 0])
    with pytest.raises(SchemaError, match="packages emulate, then collect"):
        compare.spreads(only_ours, 10, RNG(0))
    with pytest.raises(SchemaError, match="packages emulate, with the model"):
        compare.agreements(only_ours, emulation("bbq", emulate.ours("bbq"), [0], [0]))


def test_a_package_whose_every_request_failed_is_in_no_pair():
    table = compare.disagreements(found(helm=[1, 0], inspect=[None, None], lm_eval=[1, 1]))
    assert table[["package_a", "package_b"]].to_numpy().tolist() == [["helm", "lm_eval"]]


def test_a_score_without_a_choice_is_compared_as_a_score():
    recipe = emulate.recipe("lm_eval", "truthfulqa", "truthfulqa_mc2")
    rows = [("i0", 0, 0.3, "scored"), ("i1", 1, 0.7, "scored")]
    own = recorded("lm_eval", "truthfulqa", "truthfulqa_mc2_local", "acc", rows)
    end = emulation("truthfulqa", recipe, [None, None], [0.3, 0.6])
    first = emulation("truthfulqa", emulate.ours("truthfulqa"), [0, 0], [1, 0])
    table, _ = compare.agreements(compare.decisions(own, first), end)
    assert (table["n"].tolist(), table["n_equal"].tolist()) == ([2], [1])


def test_chance_is_one_over_the_options_that_our_harness_compares():
    ours = emulation("bbq", emulate.ours("bbq"), [0, 0], [0, 0]).assign(logprobs=[[-1.0, -2.0], [-1.0] * 4])
    later = emulation("bbq", emulate.recipe("lm_eval", "bbq"), [0], [0]).assign(logprobs=[[-1.0] * 12])
    assert compare.chance_levels(pd.concat([ours, later])) == {"bbq": pytest.approx((1 / 2 + 1 / 4) / 2)}


def test_only_whole_paths_have_scores():
    steps = emulate.path("lm_eval", "toxigen")
    parts = [emulation("toxigen", step.recipe, [k % 2, 1], [k % 2, 1]) for k, step in enumerate(steps)]
    table = compare.paths(pd.concat(parts), 20, RNG(0))
    assert table["field"].tolist() == [step.field for step in steps]
    assert table["score"].tolist() == [(k % 2 + 1) / 2 for k in range(len(steps))]
    assert compare.paths(pd.concat(parts[1:]), 20, RNG(0)).empty


def test_a_score_follows_its_packages_rule_and_a_part_is_a_mean():
    """BBQ here is the mean of two parts, in lm-eval the mean of all items: one of three, and one of one."""
    table = pd.concat([found(benchmark="bbq", **{name: [1, 0, 0, 1]}) for name in ("ours", "lm_eval")])
    table = table.assign(part=["a", "a", "a", "b"] * 2)
    table["task"] = table["package"].map({OURS: "", "lm_eval": "bbq"})
    whole = compare.scores(table).set_index("package")
    assert whole["score"].to_dict() == {OURS: pytest.approx((1 / 3 + 1) / 2), "lm_eval": 0.5}
    parts = compare.scores(table, ["part"])
    assert parts["score"].tolist() == pytest.approx([1 / 3, 1, 1 / 3, 1])
    assert parts["n"].tolist() == [3, 1, 3, 1]
