"""Claims and their verdicts: from recorded artefacts alone, with a reason, and never a silent one."""

import csv
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from benchtrust import compendium
from benchtrust.compendium import Recorder, verdicts
from benchtrust.compendium.claim_file import FILE, Claim, ClaimError, read
from benchtrust.compendium.predicates import PREDICATES
from benchtrust.compendium.verdicts import NOT_RUN, VERDICTS, claims

ROOT = Path(__file__).parents[2]
TABLE = pd.DataFrame(
    {
        "benchmark": ["TruthfulQA", "BBQ", "XSTest"],
        "tier": ["full", "full", "core"],
        "rho": [0.45, 0.30, 0.10],
        "low": [0.40, 0.20, 0.00],
        "high": [0.50, 0.42, 0.20],
        "p_holm": [0.01, 0.20, 0.049],
        "items": [30, 10, 30],
        "text": ["23/48", "x", "y"],
        "gap": [1.0, None, 2.0],
    }
)
ONE = {
    "id": "flip-truthfulqa",
    "paper": "2605.25492",
    "where": "flip rates",
    "statement": "A flip rate.",
    "published": "47.9",
    "unit": "%",
    "scale": "other models",
    "artefact": "part/source:tab-rates:rho",
    "rows": "tier=full; benchmark=TruthfulQA",
    "values": "1",
    "predicate": "within",
    "tolerance": "10",
    "uncertainty": "interval low high",
    "n": "items",
    "note": "",
    "needs": "",
}
NUMBER = {"artefact": "part/source:n-cells", "rows": "", "uncertainty": "", "n": "", "tolerance": ""}
COUNT = NUMBER | {"published": "612", "unit": "cells", "predicate": "equals", "scale": "mathematical"}
UNTESTED = dict.fromkeys(("artefact", "rows", "values", "predicate", "tolerance", "uncertainty", "n"), "")
"""What is empty where a claim cannot be tested."""


@pytest.fixture
def project(small_project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small project, in which one notebook has recorded a table and numbers."""
    publish(small_project, monkeypatch, TABLE)
    return small_project


def publish(root: Path, monkeypatch: pytest.MonkeyPatch, table: pd.DataFrame, n_cells: int = 612) -> None:
    """Record anew what claims are judged by, as a run of the notebook would."""
    monkeypatch.setenv("BENCHTRUST_RESULTS", str(root / "build/paper/results/part/source"))
    record = Recorder("part/source", {"seed": 1})
    record.table("tab-rates", table)
    record.number("n-cells", n_cells, "d")
    record.number("n-missing", "undefined")


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Writer of a file of claims: each the first one with changes."""

    def write(*changes: dict[str, str]) -> Path:
        path = tmp_path / "claims.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            table = csv.DictWriter(stream, [field.name for field in fields(Claim)])
            table.writeheader()
            table.writerows(ONE | change for change in changes)
        return path

    return write


def judged(path: Path) -> pd.Series:
    """The only claim of a file, judged."""
    (row,) = claims(path=path).to_dict("records")
    return pd.Series(row)


# ------------------------------------------------------------------------------------------------ verdicts


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced in kind"),
        ({"scale": "same models"}, "reproduced"),
        ({"scale": "mathematical"}, "reproduced"),
        ({"tolerance": "5"}, "undetermined at this size"),
        ({"tolerance": "5", "scale": "same models"}, "undetermined at this size"),
        ({"tolerance": "5", "uncertainty": ""}, "reproduced in kind"),
        ({"tolerance": "2", "uncertainty": ""}, "not reproduced"),
        ({"published": "80"}, "not reproduced"),
        ({"published": "80", "scale": "same models"}, "not reproduced"),
        ({"predicate": "at least", "tolerance": "", "uncertainty": "p p_holm"}, "not reproduced"),
        (COUNT, "reproduced"),
        (COUNT | {"published": "611"}, "not reproduced"),
        (UNTESTED | {"needs": "a GPU"}, "not testable here"),
    ],
)
def test_each_verdict(
    project: Path, written: Callable[..., Path], change: dict[str, str], verdict: str
) -> None:
    assert judged(written(change))["verdict"] == verdict


def test_the_reason_says_what_was_found_published_and_asked(
    project: Path, written: Callable[..., Path]
) -> None:
    assert judged(written({}))["reason"] == (
        "Found 45.0 % (40.0 to 50.0); 30 items; published 47.9 %. Asked: within 10 points of 47.9 %. "
        "It holds over the whole interval. On other models than the paper's."
    )
    row = judged(written({"values": "2", "rows": "tier=full", "published": "", "predicate": "negative",
                          "tolerance": "", "uncertainty": "p p_holm", "needs": "a GPU"}))  # fmt: skip
    assert row["found"] == "TruthfulQA 45.0 % (p = 0.01); BBQ 30.0 % (p = 0.2); 10 to 30 items"
    assert "no figure published" in row["reason"]
    assert row["reason"].endswith("At the paper's scale it needs a GPU.")
    row = judged(written({"predicate": "between", "published": "20; 50", "values": "2", "rows": "tier=full",
                          "uncertainty": ""}))  # fmt: skip
    assert row["reason"].startswith(
        "Found TruthfulQA 45.0, BBQ 30.0 %; 10 to 30 items; published 20 to 50 %."
    )
    assert judged(written(UNTESTED | {"needs": "a GPU"}))["reason"] == "It needs a GPU."


def test_a_verdict_changes_with_its_artefact(
    project: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written({}, COUNT | {"id": "cells"})
    assert list(claims(path=path)["verdict"]) == ["reproduced in kind", "reproduced"]
    moved = TABLE.assign(rho=0.2, low=0.1, high=0.3)
    publish(project, monkeypatch, moved, n_cells=600)
    assert list(claims(path=path)["verdict"]) == ["not reproduced", "not reproduced"]
    publish(project, monkeypatch, TABLE.assign(low=0.1))
    assert list(claims(path=path)["verdict"]) == ["undetermined at this size", "reproduced"]


@pytest.mark.parametrize(
    ("rows", "values", "verdict"),
    [
        ("benchmark=TruthfulQA", "1", "reproduced in kind"),
        ("benchmark=XSTest", "1", "reproduced in kind"),
        ("benchmark=BBQ", "1", "undetermined at this size"),
        ("tier=full", "2", "undetermined at this size"),
        ("items=30", "2", "reproduced in kind"),
    ],
)
def test_a_value_that_is_not_significant_settles_nothing(
    project: Path, written: Callable[..., Path], rows: str, values: str, verdict: str
) -> None:
    change = {"predicate": "positive", "published": "", "tolerance": "", "uncertainty": "p p_holm"}
    assert judged(written(change | {"rows": rows, "values": values}))["verdict"] == verdict


def test_a_value_outside_its_own_interval_widens_it(
    project: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(project, monkeypatch, TABLE.assign(rho=0.30))
    assert judged(written({}))["verdict"] == "undetermined at this size"


def test_rows_are_found_by_any_spelling_of_a_name_and_by_number(
    project: Path, written: Callable[..., Path]
) -> None:
    for rows in ("benchmark=truthful-qa", "items=30.0; tier=full"):
        assert judged(written({"rows": rows}))["found"].startswith("45.0 %")


def test_the_largest_needs_its_label(project: Path, written: Callable[..., Path]) -> None:
    change = {"predicate": "largest", "tolerance": "", "rows": "", "values": "3"}
    for label, verdict in (("TruthfulQA", "undetermined at this size"), ("XSTest", "not reproduced")):
        assert judged(written(change | {"published": label}))["verdict"] == verdict
    assert "Asked: XSTest not below any other." in judged(written(change | {"published": "XSTest"}))["reason"]


# ------------------------------------------------------------------------------- no value, so no verdict


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"artefact": "part/unheard:tab-rates-b:rho"}, "no notebook part/unheard yet"),
        ({"artefact": "part/other:tab-rates-b:rho"}, "part/other has not run to record tab-rates-b"),
        ({"artefact": "part/source:tab-rates-b:rho"}, "part/source has not recorded tab-rates-b"),
        ({"rows": "tier=conservative"}, "tab-rates holds 0 of the 1 values asked for"),
        ({"rows": "tier=full", "values": "3"}, "tab-rates holds 2 of the 3 values asked for"),
        ({"rows": "", "values": "2"}, "tab-rates holds 3 of the 2 values asked for"),
        ({"artefact": "part/source:tab-rates:gap", "rows": "benchmark=BBQ"}, "1 empty cells in 'gap'"),
        (NUMBER | {"artefact": "part/source:n-missing", "tolerance": "1"}, "'undefined', not as a number"),
    ],
)
def test_where_nothing_is_recorded_there_is_no_verdict(
    project: Path, written: Callable[..., Path], change: dict[str, str], reason: str
) -> None:
    row = judged(written(change))
    assert (row["verdict"], row["found"]) == (NOT_RUN, "")
    assert reason in row["reason"]
    assert NOT_RUN not in VERDICTS


def test_what_the_book_does_not_show_is_not_judged(project: Path, written: Callable[..., Path]) -> None:
    toc = project / "_toc.yml"
    toc.write_text(toc.read_text().replace("  - file: part/source\n", ""))
    assert judged(written({}))["verdict"] == NOT_RUN


def test_a_file_that_is_not_the_recorded_one_is_refused(project: Path, written: Callable[..., Path]) -> None:
    data = project / "build/paper/results/part/source/tab-rates.csv"
    data.write_text(data.read_text().replace("0.45", "0.48"))
    with pytest.raises(ClaimError, match="not the file that was recorded"):
        claims(path=written({}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"artefact": "part/other:tab-rates:rho"}, "recorded by part/source, not by part/other"),
        ({"artefact": "part/source:tab-rates:roh"}, "no column 'roh'; it has: benchmark, tier, rho"),
        ({"rows": "benhcmark=BBQ"}, "no column 'benhcmark'"),
        ({"uncertainty": "interval low hihg"}, "no column 'hihg'"),
        ({"uncertainty": "interval high low"}, "'high' is above 'low'"),
        ({"artefact": "part/source:tab-rates:text"}, "column 'text' of tab-rates holds text: '23/48'"),
        (COUNT | {"artefact": "part/source:n-cells:n"}, "n-cells is a number"),
        (COUNT | {"artefact": "part/source:tab-rates"}, "tab-rates is a table"),
    ],
)
def test_a_claim_that_does_not_fit_its_artefact_is_an_error(
    project: Path, written: Callable[..., Path], change: dict[str, str], message: str
) -> None:
    with pytest.raises(ClaimError, match=f"flip-truthfulqa.*{re.escape(message)}"):
        claims(path=written(change))


# -------------------------------------------------------------------------------------------------- schema


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "Flip_A"}, "'Flip_A' is not kebab-case"),
        ({"paper": "SafetyRepro"}, "'SafetyRepro' is no arXiv id"),
        ({"statement": ""}, "statement must be filled"),
        ({"scale": "other model"}, "Unknown scale 'other model'. Did you mean other models"),
        ({"predicate": "whitin"}, "Unknown predicate 'whitin'. Did you mean within"),
        ({"predicate": "Within"}, "unknown predicate 'Within'; write 'within'"),
        ({"tolerance": ""}, "the tolerance is ''; 'within' needs one"),
        ({"tolerance": "-1"}, "the tolerance is '-1'"),
        ({"predicate": "at least"}, "'at least' takes no tolerance"),
        ({"published": ""}, "0 published values; 'within' takes 1"),
        ({"published": "41; 54"}, "2 published values; 'within' takes 1"),
        ({"published": "about half"}, "'about half' is not a number"),
        ({"artefact": "rank_flips:tab-rates"}, "'rank_flips:tab-rates' is not notebook:name:column"),
        ({"artefact": "part/source:Tab_Rates:rho"}, "is not notebook:name:column"),
        ({"artefact": "part/source:tab-rates"}, "a number has one value and no rows"),
        ({"values": ""}, "values is ''; write how many"),
        ({"values": "0"}, "values is '0'"),
        ({"rows": "tier"}, "the rows 'tier' are not column=value"),
        ({"uncertainty": "se rho"}, "'se rho' is neither 'interval LOW HIGH' nor 'p COLUMN'"),
        ({"uncertainty": "p p_holm"}, "a p-value cannot decide 'within'"),
        ({"predicate": "largest", "tolerance": ""}, "'largest' takes 2 values or more"),
        ({"artefact": ""}, "without an artefact it must say what a test needs"),
        ({"artefact": "", "needs": "a GPU"}, "rows, values, predicate, tolerance, uncertainty, n given"),
    ],
)
def test_a_fault_is_named_with_its_line(
    written: Callable[..., Path], change: dict[str, str], message: str
) -> None:
    with pytest.raises(ClaimError, match=re.escape(message)) as caught:
        read(written({"id": "sound"}, change))
    assert "line 3" in str(caught.value)
    assert "line 2" not in str(caught.value)


def test_all_faults_are_told_at_once(written: Callable[..., Path]) -> None:
    with pytest.raises(ClaimError) as caught:
        read(written({}, {"tolerance": ""}, {"id": "third", "scale": "no"}))
    for part in ("line 2, flip-truthfulqa: the id occurs 2 times", "line 3", "line 4, third: Unknown scale"):
        assert part in str(caught.value)


def test_a_file_with_other_columns_is_refused(written: Callable[..., Path]) -> None:
    path = written({})
    path.write_text(path.read_text().replace("tolerance", "tol", 1))
    with pytest.raises(ClaimError, match=r"tol, .*wanted: id, paper"):
        read(path)
    path.write_text(path.read_text() + "," * 40 + "\n")
    with pytest.raises(ClaimError, match="is not a table"):
        read(path)


# ---------------------------------------------------------------------------------- the claims of this book


def test_the_function_stays_callable_after_its_module_is_imported() -> None:
    assert compendium.claims is verdicts.claims


def test_every_published_figure_of_safetyrepro_is_a_claim() -> None:
    found = {
        paper: {figure for claim in read(ROOT / FILE) if claim.paper == paper for figure in claim.figures}
        for paper in ("2605.25492", "2605.28873")
    }
    grid = {"612", "48", "12", "27", "9", "4", "16", "108", "98"}
    flips = {"47.9", "43.8", "35.4", "40.7", "0", "25", "50", "6", "5", "TruthfulQA", "XSTest"}
    assert found["2605.25492"] == grid | flips | {"41", "54", "22.7", "21.7"}
    assert found["2605.28873"] == {"8.9", "4.0"}


def test_the_page_explains_every_word_that_a_claim_may_use() -> None:
    page = (ROOT / "book/claims.md").read_text(encoding="utf-8")
    for word in PREDICATES:
        assert re.search(rf"^\|[^|]*\b{word}\b", page, re.MULTILINE), word
    for verdict in VERDICTS:
        assert f"*{verdict.capitalize()}*\n:" in page
