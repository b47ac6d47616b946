"""Sphinx extension: every artefact of the book in one table, by the directive ``{artefacts}``.

It shows what the book's staging has listed from the ledgers (`audit.artefacts`): state, notebook and inputs,
with a link to the place where an artefact stands, and the whole table as CSV.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from benchtrust.compendium import provenance
from benchtrust.compendium.audit import STATES
from benchtrust.compendium.claims_page import ClaimsDirective, filter_counts, place_link, text
from benchtrust.errors import BenchtrustError

STAGED = "artefacts.csv"
"""File of the listed artefacts, in the folder of the results in the book's source."""
TABLE = "tab-artefacts"
HEADINGS = {"Artefact": 34, "State": 20, "Made by": 22, "From": 24}
"""Headings of the table and their share of its width."""
NAMED = 2
"""Inputs that a row names; the rest is counted, and stands in the CSV."""

logger = logging.getLogger(__name__)


class ArtefactsDirective(ClaimsDirective):
    """Count the states, show every artefact, offer the table as CSV; the caption is the content."""

    headings, table_name, staged = HEADINGS, TABLE, STAGED
    classes, what = ("artefacts", "filtered"), "all artefacts with parameters and hashes (CSV)"

    def _read(self) -> pd.DataFrame:
        path = Path(self.env.srcdir) / self.config.benchtrust_results / STAGED
        if not path.exists():
            raise BenchtrustError("There is no list of artefacts in the book's source.")
        self.env.note_dependency(str(path))
        return pd.read_csv(path, dtype=str, keep_default_na=False)

    def _counts(self, frame: pd.DataFrame) -> nodes.bullet_list:
        times = Counter(frame["state"])
        shown = [(f"{times[state]} {state}", css_class(state)) for state in STATES if times[state]]
        return filter_counts(shown, "artefacts-counts")

    def _row(self, row: dict[str, str]) -> nodes.row:
        name, notebook = row["artefact"], row["notebook"]
        link = place_link(name, row["kind"], notebook, self.env.docname)
        shown = f"{row['kind']} · {row['shown']}" if row["shown"] else row["kind"]
        origin = [] if row["origin"] in ("", row["state"]) else [text(row["origin"], "claim-aside")]
        cells = [
            [nodes.paragraph("", "", link), text(shown, "claim-aside")],
            [text(row["state"], "claim-verdict"), *origin],
            [nodes.paragraph("", "", provenance.page_link(notebook), classes=["claim-aside"])],
            [text(_inputs(row["inputs"]), "claim-aside")],
        ]
        entries = [nodes.entry("", *paragraphs) for paragraphs in cells]
        return nodes.row("", *entries, ids=[f"artefact-{name}"], classes=[css_class(row["state"])])


def css_class(state: str) -> str:
    """Class of what has this state."""
    return f"state-{state.replace(' ', '-')}"


def _inputs(inputs: str) -> str:
    """Names of the first inputs, and how many more there are."""
    names = [entry.rsplit(" ", 1)[0] for entry in inputs.split("; ") if entry]
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return "; ".join([*names[:NAMED], *more]) or "no file: simulated, or from its parameters"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("artefacts", ArtefactsDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
