"""Figures as SVG text that is the same to the byte in every run, for light and for dark pages."""

import io
import re
from typing import TYPE_CHECKING

from benchtrust.compendium.ledger import LedgerError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SALT = "benchtrust"


def render(figure: "Figure") -> str:
    """Return `figure` as SVG without date and creator, and close it.

    Raises
    ------
    LedgerError
        Some text is pure black, so drawn outside `benchtrust.plots.style`: unreadable on a dark page.
    """
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_hex

    black = [text for text in figure.findobj(mpl.text.Text) if to_hex(text.get_color()) == "#000000"]
    if any(text.get_text() for text in black):
        raise LedgerError("The figure holds black text: draw it inside 'with plots.style():'.")
    stream = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": SALT, "svg.fonttype": "path"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    plt.close(figure)
    return stream.getvalue()


def darken(text: str) -> str:
    """Replace the fixed colours of the light page in SVG text by those of the dark one."""
    from benchtrust.plots import DARK

    pattern = re.compile("|".join(map(re.escape, DARK)), re.IGNORECASE)
    return pattern.sub(lambda match: DARK[match.group().lower()], text)
