"""Figures that a reader can play with: recorded numbers in a page, drawn by ``book/_static/explorers/*.js``.

A page that was opened from a disk may fetch nothing, so the numbers stand in it. Without scripts the recorded
picture is shown.
"""

import json

import pandas as pd
from docutils import nodes

from benchtrust.errors import pick

KINDS = ("icc", "harmony", "envelope", "selftest")
"""Explorers that the script knows."""


def container(kind: str, data: pd.DataFrame) -> nodes.raw:
    """The place of an explorer, with the numbers behind its figure as JSON: column → values.

    Raises
    ------
    UnknownNameError
        No such explorer.
    """
    kind = pick(kind, KINDS, "explorer")
    columns = data.astype(object).where(data.notna(), None).to_dict("list")
    numbers = json.dumps(columns, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    html = (
        f'<div class="explorer" data-explorer="{kind}">'
        f'<script type="application/json">{numbers}</script></div>\n'
    )
    return nodes.raw("", html, format="html")
