"""Sphinx extension: recorded artefacts in pages.

``{artefact} name`` shows a figure or table, ``{number}`name` `` a number in running text, ``{numbers}``
the list of a notebook's numbers; each with the way back to how it was made. An unknown name is a
warning, so an error in the book's build.
"""

import os
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode
from sphinx.writers.html5 import HTML5Translator

from benchtrust.compendium import explorers, provenance
from benchtrust.compendium import ledger as ledgers
from benchtrust.compendium.ledger import FILE, Artefact, Ledger
from benchtrust.compendium.profiles import PAPER
from benchtrust.compendium.recorder import PROFILE
from benchtrust.errors import BenchtrustError

logger = logging.getLogger(__name__)


class recorded_number(nodes.Inline, nodes.TextElement):  # noqa: N801
    """A number in running text, with its origin as a tooltip."""


def visit_number(self: HTML5Translator, node: recorded_number) -> None:
    """Open the element."""
    self.body.append(self.starttag(node, "span", "", CLASS="recorded-number", title=node["tooltip"]))


def depart_number(self: HTML5Translator, node: recorded_number) -> None:
    """Close the element."""
    self.body.append("</span>")


def recorded(env: BuildEnvironment) -> dict[str, Ledger]:
    """Ledgers of the book's source by notebook; the page is read again when one changes."""
    folder = Path(env.srcdir) / env.config.benchtrust_results
    if "benchtrust_ledgers" not in env.temp_data:
        env.temp_data["benchtrust_ledgers"] = ledgers.read_all(folder)
    for notebook in env.temp_data["benchtrust_ledgers"]:
        env.note_dependency(str(folder / notebook / FILE))
    return env.temp_data["benchtrust_ledgers"]


class ArtefactDirective(SphinxDirective):
    """Show a recorded figure or table, with the caption as content.

    Options: ``name`` (label for ``{numref}``; the artefact's name by default), ``decimals`` and
    ``columns`` for tables, ``explorer`` for a figure that the reader can play with (`explorers.KINDS`).
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged,
        "decimals": directives.nonnegative_int,
        "columns": directives.unchanged,
        "explorer": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Build the figure or table and its panel."""
        name = self.arguments[0]
        try:
            ledger, artefact = ledgers.find(name, recorded(self.env))
            if artefact.kind == "number":
                raise BenchtrustError(f"{name!r} is a number: show it by the role {{number}}`{name}`.")
            shown = (
                self._figure(ledger, artefact) if artefact.kind == "figure" else self._table(ledger, artefact)
            )
        except BenchtrustError as error:
            logger.warning("%s", error, location=self.get_location(), type="benchtrust")
            return []
        self.options.setdefault("name", artefact.name)
        self.add_name(shown)
        results, profile = self.config.benchtrust_results, self.config.benchtrust_profile
        return [shown, provenance.panel(ledger, artefact, self.env.docname, results, profile)]

    def _caption(self) -> list[nodes.Node]:
        parsed = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parsed)
        if len(parsed) != 1 or not isinstance(parsed[0], nodes.paragraph):
            raise BenchtrustError(f"Artefact {self.arguments[0]!r} needs a caption of one paragraph.")
        return parsed[0].children

    def _figure(self, ledger: Ledger, artefact: Artefact) -> nodes.figure:
        folder = f"{self.config.benchtrust_results}/{ledger.notebook}"
        figure = nodes.figure(classes=["recorded-figure"], align="default")
        for suffix, scheme in ((".svg", "on-light"), (".dark.svg", "on-dark")):
            uri = f"/{folder}/{artefact.name}{suffix}"
            figure += nodes.image(uri=uri, alt=artefact.alt, classes=[scheme, "dark-light"])
        if kind := self.options.get("explorer"):
            figure += explorers.container(kind, self._data(ledger, artefact))
        figure += nodes.caption("", "", *self._caption())
        return figure

    def _table(self, ledger: Ledger, artefact: Artefact) -> nodes.table:
        if "explorer" in self.options:
            raise BenchtrustError(f"{artefact.name!r} is a table: an explorer needs a figure.")
        frame = self._data(ledger, artefact)
        if chosen := self.options.get("columns"):
            names = [name.strip() for name in chosen.split(",")]
            if unknown := sorted(set(names) - set(frame.columns)):
                raise BenchtrustError(f"Table {artefact.name!r} has no column {unknown[0]!r}.")
            frame = frame[names]
        table = table_node(frame, artefact, self.options.get("decimals", 3))
        table.insert(0, nodes.title("", "", *self._caption()))
        return table

    def _data(self, ledger: Ledger, artefact: Artefact) -> pd.DataFrame:
        source = Path(self.env.srcdir) / self.config.benchtrust_results / ledger.notebook / artefact.data
        self.env.note_dependency(str(source))
        return pd.read_csv(source, keep_default_na=False, na_values=[""])


def table_node(frame: pd.DataFrame, artefact: Artefact, decimals: int) -> nodes.table:
    """Table with headings, numbers formatted and right-aligned."""
    labels = [artefact.labels.get(column, column.replace("_", " ")) for column in frame.columns]
    numeric = [pd.api.types.is_numeric_dtype(frame[column]) for column in frame.columns]
    texts = [
        [format_cell(value, artefact.formats.get(column, ""), decimals) for value in frame[column]]
        for column in frame.columns
    ]
    header = nodes.thead("", _row(labels, numeric))
    body = nodes.tbody("", *[_row(list(row), numeric) for row in zip(*texts, strict=True)])
    widths = [nodes.colspec(colwidth=1) for _ in labels]
    group = nodes.tgroup("", *widths, header, body, cols=len(labels))
    return nodes.table("", group, classes=["recorded-table"])


def _row(texts: list[str], numeric: list[bool]) -> nodes.row:
    row = nodes.row()
    for text, number in zip(texts, numeric, strict=True):
        row += nodes.entry("", nodes.paragraph("", text), classes=["number"] if number else [])
    return row


def format_cell(value: Any, spec: str, decimals: int) -> str:
    """Text of one cell: by `spec`, else whole numbers as they are and others with `decimals` places."""
    if pd.isna(value):
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    whole = float(value).is_integer() and "int" in type(value).__name__
    if spec.endswith("d"):
        value = int(value)
    return format(value, spec or ("d" if whole else f".{decimals}f")).replace("-", "−")


class NumberRole(SphinxRole):
    """Show a recorded number as it was formatted, linked to its entry in the list of numbers."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Build the link."""
        try:
            ledger, artefact = ledgers.find(self.text, recorded(self.env))
            if artefact.kind != "number":
                raise BenchtrustError(
                    f"{self.text!r} is a {artefact.kind}: show it by the directive {{artefact}}."
                )
        except BenchtrustError as error:
            logger.warning("%s", error, location=self.get_location(), type="benchtrust")
            return [nodes.literal("", self.text)], []
        tooltip = f"{artefact.name} = {artefact.value} · {provenance.origin(artefact)} · {ledger.notebook}"
        shown = recorded_number("", artefact.display, tooltip=tooltip)
        link = addnodes.pending_xref(
            "",
            shown,
            refdomain="",
            reftype=recorded_number.__name__,
            reftarget=anchor(artefact),
            reflocation=ledger.notebook,
            refdoc=self.env.docname,
        )
        return [link], []


def resolve_number(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, shown: nodes.TextElement
) -> nodes.Node | None:
    """Turn a number's link into one to its row in the list on its notebook's page."""
    if node["reftype"] != recorded_number.__name__:
        return None
    page = node["reflocation"]
    if page not in env.found_docs:
        return shown
    return make_refnode(app.builder, node["refdoc"], page, node["reftarget"], shown)


def anchor(artefact: Artefact) -> str:
    """Id of a number's row in the list of numbers."""
    return f"number-{artefact.name}"


class NumbersDirective(SphinxDirective):
    """List all numbers of a notebook (by default the page's own), folded; the targets of `NumberRole`."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Build the folded table; nothing where the notebook records no number."""
        notebook = self.arguments[0] if self.arguments else self.env.docname
        ledger = recorded(self.env).get(notebook)
        numbers = [a for a in ledger.artefacts.values() if a.kind == "number"] if ledger else []
        if not ledger or not numbers:
            return []
        results, profile = self.config.benchtrust_results, self.config.benchtrust_profile
        target = f"/{results}/{ledger.notebook}/{FILE}"
        command = f"benchtrust check NAME{provenance.profile_option(profile)}"
        fields = [
            *provenance.run_fields(ledger, list(ledger.inputs), all(number.committed for number in numbers)),
            ("Download", [provenance.download("ledger", target, self.env.docname)]),
            ("Check one", [nodes.literal("", command)]),
        ]
        content = nodes.container("", self._table(numbers), provenance.field_list(fields))
        return [
            provenance.folded("How the numbers on this page were made", content, f"{len(numbers)} numbers")
        ]

    def _table(self, numbers: list[Artefact]) -> nodes.table:
        frame = pd.DataFrame(
            {
                "name": [a.name for a in numbers],
                "shown": [a.display for a in numbers],
                "recorded value": [str(a.value) for a in numbers],
                "origin": [provenance.origin(a) for a in numbers],
            }
        )
        table = table_node(frame, Artefact("numbers", "table"), 3)
        for row, number in zip(table.findall(nodes.tbody).__next__(), numbers, strict=True):
            row["ids"] = [anchor(number)]
        return table


def drop_repeated_ids(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep an id at its first element only: exercises, solutions and proofs come with the same ones."""
    seen: set[str] = set()
    for element in doctree.findall(nodes.Element):
        element["ids"] = [name for name in element.get("ids", []) if name not in seen]
        seen.update(element["ids"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register directives, role and settings."""
    app.add_config_value("benchtrust_results", "_results", "env", str)
    app.add_config_value("benchtrust_profile", os.environ.get(PROFILE, PAPER), "env", str)
    app.add_directive("artefact", ArtefactDirective)
    app.add_directive("numbers", NumbersDirective)
    app.add_role("number", NumberRole())
    app.add_node(recorded_number, html=(visit_number, depart_number))
    app.connect("missing-reference", resolve_number)
    app.connect("doctree-resolved", drop_repeated_ids)
    provenance.setup_nodes(app)
    app.setup_extension("benchtrust.compendium.offline")
    app.setup_extension("benchtrust.compendium.claims_page")
    app.setup_extension("benchtrust.compendium.glossary")
    app.setup_extension("benchtrust.compendium.audit_page")
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
