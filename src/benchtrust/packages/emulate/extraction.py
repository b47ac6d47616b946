"""The packages' own rules that turn a generated answer into a letter."""

import re
import string

RUN = r"[A-Za-z0-9 ,]+"
WRAPPED = [re.compile(rf"{mark}\s*([A-Za-z0-9][A-Za-z0-9 ,]*?)\s*{mark}") for mark in (r"\$", r"\*\*")]
"""Wrappers that are taken off, one after the other."""
BRACKETED = re.compile(r"(?:^|(?<=[:,]))(\s*)\(([A-Za-z0-9])\)(?=\s*(?:[,.]|\n|\Z))")
WHOLE_LINE = re.compile(rf"^ANSWER\s*:\s*({RUN})\s*(?:$|\.)", re.I | re.M)
ANYWHERE = re.compile(rf"ANSWER\s*:\s*({RUN})(?:\W|$)", re.I)


def answer_line(text: str, n_options: int) -> int | None:
    """Position of the letter that Inspect reads, or None.

    The last line that is nothing but ``ANSWER:`` and letters counts, else the last such place anywhere. What
    stands there must be one letter of an option and no more than commas beside it.
    """
    for wrapped in WRAPPED:
        text = wrapped.sub(r"\1", text)
    text = BRACKETED.sub(r"\1\2", text)
    found = WHOLE_LINE.findall(text) or ANYWHERE.findall(text)
    if not found:
        return None
    parts = [part for part in found[-1].strip().upper().split(",") if part]
    return _position(parts[0], n_options) if len(parts) == 1 else None


def first_token(text: str, n_options: int) -> int | None:
    """Position of the letter that HELM reads: the generated text is exactly that, white space aside."""
    return _position(text.strip(), n_options)


def _position(letter: str, n_options: int) -> int | None:
    letters = string.ascii_uppercase[:n_options]
    return letters.index(letter) if len(letter) == 1 and letter in letters else None
