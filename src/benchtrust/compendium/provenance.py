"""How an artefact was made, as a folded panel under it."""

from pathlib import PurePosixPath

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from benchtrust.compendium import fingerprints, kept
from benchtrust.compendium.ledger import FILE, Artefact, Ledger
from benchtrust.compendium.profiles import PAPER

RESPONSES = "data/recorded"


class disclosure(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes in lower case)
    """A part that the reader opens: attributes ``summary``, ``badge`` and ``classes``."""


def visit_disclosure(self: HTML5Translator, node: disclosure) -> None:
    """Open the element."""
    badge = f'<span class="badge-origin">{self.encode(node["badge"])}</span>' if node["badge"] else ""
    self.body.append(
        self.starttag(node, "details", "")
        + f"<summary><span>{self.encode(node['summary'])}</span>{badge}</summary>\n"
    )


def depart_disclosure(self: HTML5Translator, node: disclosure) -> None:
    """Close the element."""
    self.body.append("</details>\n")


def origin(artefact: Artefact) -> str:
    """Where an artefact's numbers come from, in three words."""
    if artefact.live:
        return "measured live"
    if artefact.public:
        return "from committed results" if artefact.committed else "recomputed here"
    if any(name.startswith(RESPONSES) for name in artefact.inputs):
        return "from recorded responses"
    return "computed here"


def panel(ledger: Ledger, artefact: Artefact, document: str, results: str, profile: str) -> disclosure:
    """Panel under a figure or table.

    Parameters
    ----------
    document : str
        Page that shows it.
    results : str
        Folder of all results in the book's source.
    """
    folder = f"/{results}/{ledger.notebook}"
    files = [file for file in artefact.files if not file.endswith(".dark.svg")]
    downloads = [(_kind(file), f"{folder}/{file}") for file in files] + [("ledger", f"{folder}/{FILE}")]
    rows = [
        *run_fields(ledger, artefact.inputs, artefact.committed),
        *_recompute(ledger, artefact),
        ("SHA-256", [_code(f"{file} {artefact.files[file][:16]}…") for file in files]),
        ("Download", [download(text, target, document) for text, target in downloads]),
        ("Check it", [_code(f"benchtrust check {artefact.name}{profile_option(profile)}")]),
    ]
    return folded("How this was made", field_list(rows), origin(artefact))


def run_fields(
    ledger: Ledger, inputs: list[str], committed: bool = False
) -> list[tuple[str, list[nodes.Node]]]:
    """What the run behind an artefact depended on, or the run whose results were `committed`."""
    values = ledger.committed_with if committed else ledger.parameters
    parameters = [_code(f"{name} = {value!r}") for name, value in values.items()]
    read = [_code(f"{name} {ledger.inputs[name][:12]}") for name in inputs]
    source = fingerprints.digest(ledger.sources)
    hashes = [f"code {ledger.code[:12]}", f"src {source[:12]}", f"lock {ledger.lock[:12]}"]
    commit = (
        f"{ledger.commit[:12]}{', with local changes' if ledger.dirty else ''}" if ledger.commit else "none"
    )
    return [
        ("Notebook", [page_link(ledger.notebook)]),
        ("Parameters", parameters or [nodes.Text("none")]),
        ("Inputs", read or [nodes.Text("none")]),
        ("Versions", [*map(_code, hashes), _code(f"commit {commit}")]),
    ]


def _recompute(ledger: Ledger, artefact: Artefact) -> list[tuple[str, list[nodes.Node]]]:
    """What to do on this machine, which lacks the data, to compute a committed result again."""
    if not artefact.committed:
        return []
    absent = [name for name in artefact.public if ledger.inputs[name] == fingerprints.ABSENT]
    commands = [*kept.get(absent), f"benchtrust run {ledger.notebook}"]
    return [("Data are not here", [nodes.Text("to compute it again:"), *map(_code, commands)])]


def folded(summary: str, content: nodes.Node, badge: str = "") -> disclosure:
    """A closed panel with the given content."""
    return disclosure("", content, summary=summary, badge=badge, classes=["provenance"])


def field_list(rows: list[tuple[str, list[nodes.Node]]]) -> nodes.field_list:
    """Name and values per row."""
    fields = []
    for name, values in rows:
        paragraph = nodes.paragraph()
        for position, value in enumerate(values):
            paragraph += [nodes.Text("\u2002·\u2002"), value] if position else [value]
        fields.append(nodes.field("", nodes.field_name("", name), nodes.field_body("", paragraph)))
    return nodes.field_list("", *fields, classes=["provenance-fields"])


def download(text: str, target: str, document: str) -> addnodes.download_reference:
    """Link that saves a file of the book's source."""
    return addnodes.download_reference("", nodes.Text(text), reftarget=target, refdoc=document)


def page_link(notebook: str) -> addnodes.pending_xref:
    """Link to the page of a notebook, showing its path."""
    return addnodes.pending_xref(
        "",
        _code(f"notebooks/{notebook}.ipynb"),
        refdomain="std",
        reftype="doc",
        reftarget=f"/{notebook}",
        refexplicit=True,
        refwarn=False,
    )


def profile_option(profile: str) -> str:
    """How a command names the profile; nothing for the published one."""
    return "" if profile == PAPER else f" --profile {profile}"


def _code(text: str) -> nodes.literal:
    return nodes.literal("", text)


def _kind(file: str) -> str:
    return {".csv": "data (CSV)", ".svg": "figure (SVG)"}[PurePosixPath(file).suffix]


def setup_nodes(app: Sphinx) -> None:
    """Register the panel's node for HTML."""
    app.add_node(disclosure, html=(visit_disclosure, depart_disclosure))
