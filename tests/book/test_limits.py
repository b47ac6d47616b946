"""The pages of limits: what a paper says of its own ends, and an answer that rests on results."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = {"safetyrepro": "2605.25492", "irt": "2606.20626", "harmony": "2509.25671"}
ROLE = re.compile(r"\{(\w+)\}`(?:[^`<]*<)?([^`>]+)>?`")
QUOTED = ("2PL", "16 GB")
"""The model's name, and what the paper states."""


def sections(paper: str) -> dict[str, str]:
    """Text of each section of a page of limits by its heading."""
    text = (ROOT / f"book/limits_{paper}.md").read_text("utf-8")
    return dict(part.split("\n", 1) for part in text.split("\n## ")[1:])


def roles(text: str, kind: str) -> set[str]:
    return {target.strip() for role, target in ROLE.findall(text) if role == kind}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_limit_has_an_answer_that_rests_on_a_result(paper: str) -> None:
    *limits, last = sections(paper).items()
    assert last[0] == "What it does not discuss"
    assert len(limits) >= 6
    for heading, text in limits:
        limit, here = text.split("*Here.*")
        assert limit.strip().startswith("*The limit.*"), heading
        assert any(roles(here, kind) for kind in ("doc", "number", "verdict")), heading
    for point in last[1].split("\n- ")[1:]:
        assert roles(point, "doc") | roles(point, "number") or "parameter" in point, point


@pytest.mark.parametrize("paper", PAPERS)
def test_verdicts_are_on_claims_of_this_paper(paper: str) -> None:
    with (ROOT / "data/published/claims.csv").open(encoding="utf-8", newline="") as handle:
        own = {row["id"] for row in csv.DictReader(handle) if row["paper"] == PAPERS[paper]}
    assert roles("\n".join(sections(paper).values()), "verdict") <= own


@pytest.mark.parametrize("paper", PAPERS)
def test_no_result_is_typed(paper: str) -> None:
    for heading, text in sections(paper).items():
        said = ROLE.sub("", text.split("*Here.*")[-1])
        for phrase in QUOTED:
            said = said.replace(phrase, "")
        assert not re.search(r"\d", said), heading
