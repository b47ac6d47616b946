"""The page on a decision makes itself for anyone's response table, and says what it cannot know."""

import json
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from benchtrust import project, responses
from benchtrust.compendium import Recorder
from benchtrust.compendium.notebooks import read
from benchtrust.errors import ParameterError, SchemaError, UnknownNameError

RECORD = project.root() / "data/recorded/grid"
FIRST, SECOND = "Qwen2.5-Coder-1.5B-Instruct", "Qwen2.5-Coder-0.5B-Instruct"
QUICK = {"n_draws": 200, "configurations": [1, 8], "sizes_tried": [30, 300]}
DRAWN = ("from", "to", "p-mean", "p-stable", "p-mean-all", "p-stable-all", "p-reversal", "here")
"""Numbers that depend on draws, and so on the order of the items."""


@pytest.fixture(scope="module")
def own() -> pd.DataFrame:
    """Eight configurations of two models on XSTest."""
    frame = responses.read([RECORD / model / "xstest.parquet" for model in (FIRST, SECOND)])
    chosen = frame["template"].isin(["minimal", "role"]) & frame["shots"].isin([0, 3])
    return frame[chosen & frame["decoding"].isin(["greedy", "none"])].reset_index(drop=True)


@pytest.fixture
def page(tmp_path, monkeypatch) -> Callable[..., dict]:
    """Run the page's cells on a table, figures only if `drawn`, and return its recorded numbers by name."""

    def run(frame: pd.DataFrame, drawn: bool = False, **values) -> dict:
        if not drawn:
            monkeypatch.setattr(Recorder, "figure", lambda self, name, fig, *rest: plt.close(fig))
        responses.write(frame, tmp_path / "own.parquet")
        monkeypatch.setenv("BENCHTRUST_RESULTS", str(tmp_path / "results"))
        cells = read("synthesis/decision").code
        space = {"__name__": "__main__"}
        for cell in cells:
            exec(cell.source, space)
            if "parameters" in cell.tags:
                space |= QUICK | {"responses_path": str(tmp_path / "own.parquet")} | values
        ledger = json.loads((tmp_path / "results/ledger.json").read_text())
        return {
            name.removeprefix("decision-"): entry["value"]
            for name, entry in ledger["artefacts"].items()
            if entry["kind"] == "number"
        }

    return run


def disguised(frame: pd.DataFrame) -> pd.DataFrame:
    """The same answers under other names and in another order."""
    rng = np.random.default_rng(1)
    items = dict(zip(frame["item_id"].unique(), rng.permutation(frame["item_id"].nunique()), strict=True))
    return frame.assign(
        item_id="q" + frame["item_id"].map(items).astype(str),
        model=frame["model"].map({FIRST: "beta", SECOND: "alpha"}),
        benchmark="ours",
        template=frame["template"].map({"minimal": "short", "role": "as an expert"}),
    ).sample(frac=1, random_state=2)


def test_a_permuted_copy_gives_the_same_page_and_the_claim_turned_round_turns_the_gap(own, page):
    ours = page(own, first=FIRST, second=SECOND, benchmark="xstest")
    theirs = page(disguised(own), first="beta", second="alpha", benchmark="ours")
    named = ("first", "second", "title", "where", "score-first", "score-second", "constants", *DRAWN)
    same = {name: value for name, value in ours.items() if name not in named}
    assert {name: theirs[name] for name in same} == same
    assert (theirs["first"], theirs["second"], theirs["title"]) == ("beta", "alpha", "ours")
    assert theirs["configurations"] == 8
    turned = page(own, first=SECOND, second=FIRST, benchmark="xstest")
    assert turned["gap"] == -ours["gap"]
    assert (turned["low"], turned["high"]) == (-ours["high"], -ours["low"])
    assert (turned["ahead"], turned["behind"]) == (ours["behind"], ours["ahead"])
    assert all(turned[name] == ours[name] for name in ("needed-few", "needed-many", "most-few", "most-many"))
    scores = responses.score_matrix(responses.cell_means(own))
    assert theirs["gap"] == pytest.approx((scores[FIRST] - scores[SECOND]).mean())


def test_of_one_configuration_nothing_is_said_of_others(own, page):
    alone = own[(own["template"] == "role") & (own["shots"] == 3) & (own["scoring"] == "logprob")]
    found = page(alone.assign(part=None), drawn=True, first=FIRST, second=SECOND, benchmark="xstest")
    assert found["configurations"] == 1
    assert (found["floor"], found["needed-few"]) == ("not known", "a number that is not known")
    assert found["parts-answer"] == "the table names no parts"
    assert found["low"] == found["gap"] == found["high"]


def test_a_card_that_was_named_in_advance_is_the_one_shown(own, page):
    chosen = ["role", "0", "greedy", "free_form"]
    found = page(own, first=FIRST, second=SECOND, benchmark="xstest", reported=chosen)
    assert found["where"] == "role, 0, greedy, free_form"
    cell = responses.score_matrix(responses.cell_means(own)).loc[("role", 0, "greedy", "free_form")]
    assert found["score-first"] == pytest.approx(cell[FIRST])


def test_a_clear_lead_is_said_to_hold(own, page):
    """The first model right on two thirds of the items, the second on none."""
    ahead = own.assign(
        outcome="scored", score=(own["model"] == FIRST).astype(float) * (own["item_id"].rank() > 9)
    )
    found = page(ahead, first=FIRST, second=SECOND, benchmark="xstest")
    assert found["ahead"] == 8
    assert found["claim"].startswith("holds")


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"first": "Qwen2.5-Coder-3B-Instruct"}, UnknownNameError, "Qwen2.5-Coder-1.5B-Instruct"),
        ({"first": SECOND}, SchemaError, "needs two models"),
        ({"benchmark": "bbq"}, UnknownNameError, "xstest"),
        ({"reported": ["minimal", "0"]}, SchemaError, "3 names"),
        ({"n_draws": 10}, ValueError, "give at least"),
    ],
)
def test_what_cannot_be_decided_is_refused_by_name(own, page, values, error, message):
    with pytest.raises(error, match=message):
        page(own, **{"first": FIRST, "second": SECOND, "benchmark": "xstest"} | values)


def test_models_without_a_common_configuration_are_refused(own, page):
    apart = (own["model"] == FIRST) == (own["template"] == "role")
    with pytest.raises(ParameterError, match="share no configuration"):
        page(own[apart], first=FIRST, second=SECOND, benchmark="xstest")
