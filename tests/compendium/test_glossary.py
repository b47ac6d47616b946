"""Terms of the glossary: linked where a page first uses them, and nowhere else."""

import re
from io import StringIO
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from benchtrust.compendium.glossary import forms

BOOK = Path(__file__).parents[2] / "book"
WORDS = """# Words

````{glossary}
Item
  A question. An ability is another word.

Ability
Cross-fitted item
MAP
Support
  Others.
````
"""
PAGE = """# Item and ability

The `item` of $item$ is *item*, see [the item](words), and Items come first; then items.

| ability |
|---|
| ability |

Abilities of a model, its ability. A cross-fitted item, an item-writer and a map support nothing but MAP.

```{toctree}
words
```
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("glossary")
    (folder / "index.md").write_text(PAGE)
    (folder / "words.md").write_text(WORDS)
    out, warnings = folder / "out", StringIO()
    settings = {
        "extensions": ["myst_parser", "benchtrust.compendium.glossary"],
        "html_theme": "basic",
        "myst_enable_extensions": ["dollarmath"],
        "benchtrust_plain_words": ["Support"],
    }
    with docutils_namespace():
        app = Sphinx(folder, None, out, out / "trees", "html", settings, status=None, warning=warnings)
        app.build()
    assert warnings.getvalue() == ""
    return {name: (out / f"{name}.html").read_text() for name in ("index", "words")}


def test_the_first_use_in_running_text_leads_to_the_entry(pages: dict[str, str]) -> None:
    link = r'<a class="term reference internal" href="words.html#([^"]+)">([^<]+)</a>'
    links = re.findall(link, pages["index"])
    assert [text for _, text in links] == ["Items", "Abilities", "cross-fitted item", "MAP"]
    for anchor, _ in links:
        assert f'id="{anchor}"' in pages["words"]


def test_the_text_is_left_as_it_was(pages: dict[str, str]) -> None:
    text = re.sub(r"<[^>]+>", "", pages["index"])
    assert "and Items come first; then items." in text
    assert "A cross-fitted item, an item-writer and a map support nothing but MAP." in text


def test_the_glossary_does_not_link_to_itself(pages: dict[str, str]) -> None:
    assert 'class="term reference' not in pages["words"]


@pytest.mark.parametrize(
    ("term", "spelt"),
    [
        ("Ability", {"Ability", "ability", "Abilities", "abilities"}),
        ("Bank", {"Bank", "bank", "Banks", "banks"}),
        ("Key", {"Key", "key", "Keys", "keys"}),
        ("MAP", {"MAP", "MAPs"}),
    ],
)
def test_forms(term: str, spelt: set[str]) -> None:
    assert forms(term) == spelt


def test_the_book_s_glossary_is_one_directive_with_each_term_once() -> None:
    tokens = MarkdownIt().parse((BOOK / "glossary.md").read_text("utf-8"))
    (glossary,) = [token for token in tokens if token.type == "fence"]
    assert tokens[-1] is glossary, "a term after the directive is no entry"
    terms = [line for line in glossary.content.splitlines() if line and line[0] not in " :"]
    assert len(terms) == len(set(map(str.casefold, terms))) > 50
