"""Sphinx extension: the first use of each glossary term on a page leads to its entry.

Terms are those of the ``{glossary}`` directive, singular or plural, in running text; not in headings, tables,
links, code or formulas, and not where a page sets a word apart, as it does where it defines it itself.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

APART = (nodes.table, nodes.field_list, nodes.footnote, nodes.citation)
"""What may hold paragraphs that are no running text."""


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the links into a page; the glossary's own page is left as it is."""
    targets = terms(app)
    if not targets or docname in {page for page, _ in targets.values()}:
        return
    spelt = {form: term for term in targets for form in forms(term)}
    longest_first = sorted(spelt, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")
    seen: set[str] = set()
    for text in filter(_is_running, list(doctree.findall(nodes.Text))):
        pieces, end = [], 0
        for found in pattern.finditer(text):
            if (term := spelt[found[0]]) in seen:
                continue
            seen.add(term)
            link = make_refnode(app.builder, docname, *targets[term], nodes.Text(found[0]))
            link["classes"].append("term")
            pieces += [nodes.Text(text[end : found.start()]), link]
            end = found.end()
        text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


def terms(app: Sphinx) -> dict[str, tuple[str, str]]:
    """Page and anchor of each term that is linked."""
    objects = app.env.get_domain("std").get_objects()
    found = {name: (page, anchor) for name, _, kind, page, anchor, _ in objects if kind == "term"}
    return {name: where for name, where in found.items() if name not in app.config.benchtrust_plain_words}


def forms(term: str) -> set[str]:
    """Spellings of a term: singular and plural, the first letter small or capital; acronyms as they are."""
    plural = f"{term[:-1]}ies" if re.search("[^aeiou]y$", term) else f"{term}s"
    capital = {term, plural}
    return capital if term[:2].isupper() else capital | {form[0].lower() + form[1:] for form in capital}


def _is_running(text: nodes.Text) -> bool:
    """Whether a text stands directly in a paragraph of the page's body."""
    node = text.parent
    if not isinstance(node, nodes.paragraph):
        return False
    while node := node.parent:
        if isinstance(node, APART):
            return False
    return True


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook, and the setting that names terms too plain to be linked."""
    app.add_config_value("benchtrust_plain_words", [], "env", list)
    app.connect("doctree-resolved", link_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
