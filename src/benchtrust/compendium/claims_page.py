"""Sphinx extension: the claims of the papers and their verdicts in pages.

``{claims}`` shows all of them as one table with a download; ``{verdict}`id` `` the verdict on one claim in
running text, linked to its row. Both read what the book's staging has worked out (`book.stage`).
"""

from collections import Counter
from collections.abc import Iterable
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
from benchtrust.compendium.ledger import Artefact
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
    headings, table_name, staged = HEADINGS, TABLE, STAGED
    classes, what = ("claims", "filtered"), "all claims and verdicts (CSV)"

    def run(self) -> list[nodes.Node]:
        """Build counts, table and link."""
        try:
            frame, caption = self._read(), self._caption()
        except BenchtrustError as error:
            logger.warning("%s", error, location=self.get_location(), type="benchtrust")
            return []
        table = self._table(frame)
        table.insert(0, nodes.title("", "", *caption))
        self.options["name"] = self.table_name
        self.add_name(table)
        target = f"/{self.config.benchtrust_results}/{self.staged}"
        link = provenance.download(self.what, target, self.env.docname)
        download = nodes.paragraph("", "Download: ", link)
        return [nodes.container("", self._counts(frame), table, download, classes=list(self.classes))]

    def _read(self) -> pd.DataFrame:
        return judged(self.env)

    def _counts(self, frame: pd.DataFrame) -> nodes.bullet_list:
        return counts(frame)

    def _caption(self) -> list[nodes.Node]:
        parsed = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parsed)
        if len(parsed) != 1 or not isinstance(parsed[0], nodes.paragraph):
            raise BenchtrustError(f"The table of {self.classes[0]} needs a caption of one paragraph.")
        return parsed[0].children

    def _table(self, frame: pd.DataFrame) -> nodes.table:
        header = nodes.row("", *[nodes.entry("", nodes.paragraph("", name)) for name in self.headings])
        body = [self._row(row) for row in frame.to_dict("records")]
        widths = [nodes.colspec(colwidth=width) for width in self.headings.values()]
        columns = len(self.headings)
        group = nodes.tgroup("", *widths, nodes.thead("", header), nodes.tbody("", *body), cols=columns)
        kind = f"{self.classes[0]}-table"
        return nodes.table("", group, classes=["recorded-table", "audit-table", kind, "colwidths-given"])

    def _row(self, row: dict[str, str]) -> nodes.row:
        claim = Claim(**{name: row[name] for name in Claim.__dataclass_fields__})
        where = f"{claim.where} · arXiv {claim.paper} · {claim.id}"
        cells = [
            [text(claim.statement), text(where, "claim-aside")],
            [text(published_text(claim) or "no figure")],
            [text(row["found"] or "–"), *self._origin(claim)],
            [text(row["verdict"], "claim-verdict"), text(row["reason"]), *_notes(claim)],
        ]
        entries = [nodes.entry("", *paragraphs) for paragraphs in cells]
        return nodes.row("", *entries, ids=[row_id(claim.id)], classes=[css_class(row["verdict"])])

    def _origin(self, claim: Claim) -> list[nodes.Node]:
        """Link to the artefact that the verdict rests on; nothing where there is none."""
        if not claim.artefact:
            return []
        notebook, name, _ = claim.reference
        home = recorded(self.env).get(notebook)
        shown: nodes.Node = nodes.literal("", name)
        if home and name in home.artefacts:
            shown = place_link(name, home.artefacts[name].kind, notebook, self.env.docname)
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


def place_link(name: str, kind: str, notebook: str, document: str) -> addnodes.pending_xref:
    """Link to where the book shows an artefact: a number's row in its list, a figure or table on its page."""
    number = kind == "number"
    return addnodes.pending_xref(
        "",
        nodes.literal("", name),
        refdomain="",
        reftype=recorded_number.__name__ if number else TO_ARTEFACT,
        reftarget=anchor(Artefact(name, "number")) if number else name,
        reflocation=notebook,
        refdoc=document,
    )


def counts(frame: pd.DataFrame) -> nodes.bullet_list:
    """How many claims have each verdict, and how many none."""
    times = Counter(frame["verdict"])
    shown = [(f"{times[v]} {v}", css_class(v)) for v in (*VERDICTS, NOT_RUN) if times[v]]
    return filter_counts(shown, "claims-counts")


def filter_counts(shown: Iterable[tuple[str, str]], kind: str) -> nodes.bullet_list:
    """List of counts with the class of the rows that each counts; a script makes buttons of the entries."""
    entries = [nodes.list_item("", text(words), classes=[css]) for words, css in shown]
    return nodes.bullet_list("", *entries, classes=["filter-counts", kind])


def row_id(claim: str) -> str:
    """Id of a claim's row."""
    return f"claim-{claim}"


def css_class(verdict: str) -> str:
    """Class of what has this verdict."""
    return f"verdict-{verdict.replace(' ', '-')}"


def _notes(claim: Claim) -> list[nodes.paragraph]:
    return [text(claim.note, "claim-aside")] if claim.note else []


def text(words: str, *classes: str) -> nodes.paragraph:
    """A paragraph of a cell."""
    return nodes.paragraph("", words.replace(" %", "\N{NO-BREAK SPACE}%"), classes=list(classes))


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
