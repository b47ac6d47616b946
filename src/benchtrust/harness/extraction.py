"""Free-form answers to decisions: which option, or why none."""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

NEXT_QUESTION = re.compile(
    r"\n\s*(?:question|q|text|context|user|human|request|text and question)\s*[:.]", re.I
)
FINAL_CUE = re.compile(r"\banswer\b(?:\s+is\b|\s*[:\-])(?!\s*not\b)\s*(?:option\b|choice\b)?\s*:?", re.I)
NAMED = re.compile(r"(?:\b(?:option|choice|choose|pick|select|letter)\s+[\"'*(]*|[(*\"'])([A-Z])\b", re.I)
JOINED = re.compile(r"^[\s.)*\]]*(?:,|/|&|\bor\b|\band\b)[\s(*\[]*([A-Z])(?![\w'’])")
WORDS_AFTER_A_LETTER = ("because", "since", "as", "is", "or", "and")


@dataclass(frozen=True)
class Extraction:
    """What an answer decides.

    `choice` is an index into the options as shown, or None; `outcome` is ``"parsed"``, ``"ambiguous"`` (several
    options are named) or ``"unparsed"`` (none is); `rule` names the rule that decided.
    """

    choice: int | None
    outcome: str
    rule: str


def extract(text: str, options: Sequence[str]) -> Extraction:
    """Find the chosen option in a free-form answer.

    Rules, first that applies: after the last "answer is" or "Answer:", else from the start: a leading letter;
    an option's own text; a letter that is named ("option B", "(B)"). What follows the model's own next question
    is ignored.

    Parameters
    ----------
    text : the completion, up to the first stop token.
    options : option texts in the order shown, lettered A, B, C, ...
    """
    own = NEXT_QUESTION.split("\n" + text, maxsplit=1)[0].strip() or text.strip()
    cues = list(FINAL_CUE.finditer(own))
    if cues and (found := _decide(own[cues[-1].end() :], options)).outcome != "unparsed":
        return Extraction(found.choice, found.outcome, f"cue, {found.rule}")
    return _decide(own, options)


def _decide(zone: str, options: Sequence[str]) -> Extraction:
    for rule, find in (("leading letter", _leading), ("option text", _by_text), ("named letter", _named)):
        choices = find(zone, options)
        if len(choices) == 1:
            return Extraction(choices.pop(), "parsed", rule)
        if choices:
            return Extraction(None, "ambiguous", rule)
    return Extraction(None, "unparsed", "none")


def _leading(zone: str, options: Sequence[str]) -> set[int]:
    """A letter at the start; the text behind it may not contradict it, nor a second letter be joined to it."""
    match = re.match(r"[\s\"'*_(\[]*([A-Za-z])(?![\w'’])", zone)
    if not match:
        return set()
    letter, rest = match[1], zone[match.end() :]
    bare = not rest.strip(" .*_)\"'\n")
    marked = bool(re.match(r"[.):*\]\n,;/-]", rest)) or zone[: match.start(1)].strip(" \n").endswith(
        ("(", "[", "*")
    )
    spoken = (
        letter.isupper() and rest.lstrip().split(" ", 1)[0].strip(",.").casefold() in WORDS_AFTER_A_LETTER
    )
    if not (bare or marked or spoken) or not 0 <= _index(letter) < len(options):
        return set()
    chosen = {_index(letter)}
    if joined := JOINED.match(rest):
        chosen.add(_index(joined[1]))
    behind = _plain(rest)
    exact = {i for i, option in enumerate(options) if behind and _plain(option) == behind}
    return chosen | exact if exact and not exact & chosen else chosen


def _by_text(zone: str, options: Sequence[str]) -> set[int]:
    """Options whose text stands in the answer (the longest where one holds another), or that it begins."""
    said = _plain(zone)
    plain = [_plain(option) for option in options]
    starts = {i for i, option in enumerate(plain) if option and f"{said} ".startswith(f"{option} ")}
    inside = starts or {i for i, option in enumerate(plain) if option and f" {option} " in f" {said} "}
    longest = {i for i in inside if not any(plain[i] != plain[j] and plain[i] in plain[j] for j in inside)}
    if longest or len(said) < 12:
        return longest
    return {i for i, option in enumerate(plain) if option.startswith(said)}


def _named(zone: str, options: Sequence[str]) -> set[int]:
    """Letters that are named as options, anywhere."""
    return {_index(m[1]) for m in NAMED.finditer(zone) if 0 <= _index(m[1]) < len(options)}


def _index(letter: str) -> int:
    return string.ascii_uppercase.index(letter.upper())


def _plain(text: str) -> str:
    """Words alone, lower case."""
    return " ".join(re.sub(r"[^\w\s]", "", text.replace("’", "'")).casefold().split())
