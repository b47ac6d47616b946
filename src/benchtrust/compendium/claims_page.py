"""Sphinx extension: the claims of the papers and their verdicts in pages.

``{claims}`` shows all of them as one table with a download; ``{verdict}`id` `` the verdict on one claim in
running text, linked to its row. Both read what the book's staging has worked out (`book.stage`).
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode

from benchtrust.compendium import provenance
from benchtrust.compendium.claim_file import Claim
from benchtrust.compendium.directives import anchor, recorded, recorded_number
from benchtrust.compendium.verdicts import NOT_RUN, VERDICTS, published_text
from benchtrust.errors import BenchtrustError, pick

STAGED = "claims.csv"
"""File of judged claims, in the folder of the results in the book's source."""
TABLE = "tab-claims"
HEADINGS = {"Claim": 30, "Published": 14, "Found here": 20, "Verdict and reason": 36}
"""Headings of the table and their share of its width."""
TO_CLAIM, TO_ARTEFACT = "recorded_claim", "recorded_artefact"

logger = logging.getLogger(__name__)


def judged(env: BuildEnvironment) -> pd.DataFrame:
    """Judged claims of the book's source by id; the page is read again when they change."""
    path = Path(env.srcdir) / env.config.benchtrust_results / STAGED
    if not path.exists():
        raise BenchtrustError("There are no judged claims: data/published/claims.csv is missing.")
    env.note_dependency(str(path))
    return pd.read_csv(path, dtype=str, keep_default_na=False).set_index("id", drop=False)


class ClaimsDirective(SphinxDirective):
    """Count the verdicts, show every claim, offer the table as CSV; the caption is the content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Build counts, table and link."""
        try:
            frame, caption = judged(self.env), self._caption()
        except BenchtrustError as error:
            logger.warning("%s", error, location=self.get_location(), type="benchtrust")
            return []
        table = self._table(frame)
        table.insert(0, nodes.title("", "", *caption))
        self.options["name"] = TABLE
        self.add_name(table)
        target = f"/{self.config.benchtrust_results}/{STAGED}"
        link = provenance.download("all claims and verdicts (CSV)", target, self.env.docname)
        download = nodes.paragraph("", "Download: ", link)
        return [nodes.container("", counts(frame), table, download, classes=["claims"])]

    def _caption(self) -> list[nodes.Node]:
        parsed = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parsed)
        if len(parsed) != 1 or not isinstance(parsed[0], nodes.paragraph):
            raise BenchtrustError("The table of claims needs a caption of one paragraph.")
        return parsed[0].children

    def _table(self, frame: pd.DataFrame) -> nodes.table:
        header = nodes.row("", *[nodes.entry("", nodes.paragraph("", text)) for text in HEADINGS])
        body = [self._row(row) for row in frame.to_dict("records")]
        widths = [nodes.colspec(colwidth=width) for width in HEADINGS.values()]
        group = nodes.tgroup("", *widths, nodes.thead("", header), nodes.tbody("", *body), cols=len(HEADINGS))
        return nodes.table("", group, classes=["recorded-table", "claims-table", "colwidths-given"])

    def _row(self, row: dict[str, str]) -> nodes.row:
        claim = Claim(**{name: row[name] for name in Claim.__dataclass_fields__})
        where = f"{claim.where} · arXiv {claim.paper} · {claim.id}"
        cells = [
            [_text(claim.statement), _text(where, "claim-aside")],
            [_text(published_text(claim) or "no figure")],
            [_text(row["found"] or "–"), *self._origin(claim)],
            [_text(row["verdict"], "claim-verdict"), _text(row["reason"]), *_notes(claim)],
        ]
        entries = [nodes.entry("", *paragraphs) for paragraphs in cells]
        return nodes.row("", *entries, ids=[row_id(claim.id)], classes=[css_class(row["verdict"])])

    def _origin(self, claim: Claim) -> list[nodes.Node]:
        """Link to the artefact that the verdict rests on; nothing where there is none."""
        if not claim.artefact:
            return []
        notebook, name, _ = claim.reference
        home = recorded(self.env).get(notebook)
        shown = nodes.literal("", name)
        if home and name in home.artefacts:
            number = home.artefacts[name].kind == "number"
            shown = addnodes.pending_xref(
                "",
                shown,
                refdomain="",
                reftype=recorded_number.__name__ if number else TO_ARTEFACT,
                reftarget=anchor(home.artefacts[name]) if number else name,
                reflocation=notebook,
                refdoc=self.env.docname,
            )
        return [nodes.paragraph("", "", shown, classes=["claim-aside"])]


class VerdictRole(SphinxRole):
    """Show the verdict on a claim, linked to its row."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Build the link."""
        try:
            frame = judged(self.env)
            row = frame.loc[pick(self.text, frame.index, "claim")]
        except BenchtrustError as error:
            logger.warning("%s", error, location=self.get_location(), type="benchtrust")
            return [nodes.literal("", self.text)], []
        link = addnodes.pending_xref(
            "",
            nodes.emphasis("", row["verdict"]),
            refdomain="",
            reftype=TO_CLAIM,
            reftarget=row_id(row["id"]),
            refdoc=self.env.docname,
        )
        return [link], []


def counts(frame: pd.DataFrame) -> nodes.bullet_list:
    """How many claims have each verdict, and how many none; a script makes buttons of the entries."""
    times = Counter(frame["verdict"])
    entries = [
        nodes.list_item("", _text(f"{times[verdict]} {verdict}"), classes=[css_class(verdict)])
        for verdict in (*VERDICTS, NOT_RUN)
        if times[verdict]
    ]
    return nodes.bullet_list("", *entries, classes=["claims-counts"])


def row_id(claim: str) -> str:
    """Id of a claim's row."""
    return f"claim-{claim}"


def css_class(verdict: str) -> str:
    """Class of what has this verdict."""
    return f"verdict-{verdict.replace(' ', '-')}"


def _notes(claim: Claim) -> list[nodes.paragraph]:
    return [_text(claim.note, "claim-aside")] if claim.note else []


def _text(text: str, *classes: str) -> nodes.paragraph:
    return nodes.paragraph("", text.replace(" %", "\N{NO-BREAK SPACE}%"), classes=list(classes))


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, shown: nodes.TextElement
) -> nodes.Node | None:
    """Turn a link to a claim or an artefact into one to where the book shows it, else into plain text."""
    labels = env.get_domain("std").anonlabels
    if node["reftype"] == TO_CLAIM:
        page = labels.get(TABLE, ("", ""))[0]
        return make_refnode(app.builder, node["refdoc"], page, node["reftarget"], shown) if page else shown
    if node["reftype"] != TO_ARTEFACT:
        return None
    page, name = node["reflocation"], node["reftarget"]
    if page not in env.found_docs:
        return shown
    home, target, *_ = labels.get(name, ("", ""))
    return make_refnode(app.builder, node["refdoc"], page, target if home == page else "", shown)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register directive, role and links."""
    app.add_directive("claims", ClaimsDirective)
    app.add_role("verdict", VerdictRole())
    app.connect("missing-reference", resolve)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
