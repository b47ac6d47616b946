"""Free-form answers to decisions: which option, or why none."""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

QUOTES = str.maketrans("“”„«»‘’‚", '"""""\'\'\'')
NEXT_QUESTION = re.compile(
    r"\n[\s#*]*(?:question|q|text|context|user|human|request|text and question)(?:\s*\d+)?\s*[:.]", re.I
)
FINAL_CUE = re.compile(
    r"\banswer\b(?:\s+is\b|\s*[:\-])(?!\s*not\b)(?:\s+(?:most likely|likely|probably|clearly|definitely))?"
    r"\s*(?:option\b|choice\b)?\s*:?",
    re.I,
)
MARKED = re.compile(r"(?:(?<!\w)[*\"']+|[(\[{]+)([A-Z])(?=[)\]}*\"'.:])")
NAMED = re.compile(
    r"\b(?i:options?|choices?|letters?|choose|chose|pick|select|either|both|between)"
    r"(?i:\s+(?:is|are))?[\s\"'*(\[]+([A-Z])(?![\w'])"
)
JOINED = re.compile(r"[\s.)*\]\"]*(?:,|/|&|\bor\b|\band\b)(?:\s*(?:or|and)\b)?[\s(*\[\"]*([A-Za-z])(?![\w'])")
DENIED = re.compile(r"\s+is\s+(?:not|wrong|incorrect|false)\b", re.I)
NEXT_LABEL = re.compile(r"[^\n]*\n\s*[*(\[]*([A-Z])[.):\]]")
WORDS_AFTER_A_LETTER = ("because", "since", "as", "is", "or", "and")


@dataclass(frozen=True)
class Extraction:
    """What an answer decides.

    `choice` is an index into the options as shown, or None; `outcome` is ``"parsed"``, ``"ambiguous"``
    (several options are named) or ``"unparsed"`` (none is); `rule` names the rule that decided.
    """

    choice: int | None
    outcome: str
    rule: str


def extract(text: str, options: Sequence[str]) -> Extraction:
    """Find the chosen option in a free-form answer.

    Rules, first that applies: after the last "answer is" or "Answer:", else from the start: a leading letter
    (ambiguous if a second one is joined to it, or if the answer lists the options again); an option's own
    text; a letter that is named ("option B", "(B)"). What follows the model's own next question is ignored.

    Parameters
    ----------
    text : the completion, up to the first stop token.
    options : option texts in the order shown, lettered A, B, C, ...
    """
    text = text.translate(QUOTES)
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
    """A letter at the start, and any letter or option text behind it that contradicts it."""
    match = re.match(r"[\s\"'*_`(\[{]*([A-Za-z])(?![^\W_]|')", zone)
    if not match or not _is_name(match[1], rest := zone[match.end() :], options):
        return set()
    bare = not rest.strip(" .!*_`)]}\"'\n")
    marked = re.match(r"[.):*\]\n,;/-]|\s+[-–—:]", rest) or re.search(r"[(\[*]\s*$", zone[: match.start(1)])
    said = match[1].isupper() and _next_word(rest) in WORDS_AFTER_A_LETTER and not DENIED.match(rest)
    spoken = said or JOINED.match(rest)
    if not (bare or marked or spoken):
        return set()
    chosen = {_index(match[1]), *_joined(rest, options)}
    if listed := NEXT_LABEL.match(rest):
        chosen |= {_index(listed[1])} & set(range(len(options)))
    behind = _plain(rest)
    exact = {i for i, option in enumerate(options) if behind and _plain(option) == behind}
    return chosen | exact if exact and not exact & chosen else chosen


def _by_text(zone: str, options: Sequence[str]) -> set[int]:
    """Options whose text stands in the answer (the longest where one holds another), or that it begins."""
    said = _plain(zone)
    plain = [_plain(option) for option in options]
    starts = {i for i, option in enumerate(plain) if option and f"{said} ".startswith(f"{option} ")}
    for i in list(starts):
        rest = said.removeprefix(plain[i])
        starts |= {
            j for j, option in enumerate(plain) if option and re.match(rf" (?:or|and) {option}\b", rest)
        }
    inside = starts or {i for i, option in enumerate(plain) if option and _holds(said, option)}
    longest = {
        i for i in inside if not any(plain[i] != plain[j] and _holds(plain[j], plain[i]) for j in inside)
    }
    if longest or len(said) < 12:
        return longest
    return {i for i, option in enumerate(plain) if option.startswith(said)}


def _named(zone: str, options: Sequence[str]) -> set[int]:
    """Letters that are named as options, anywhere, and those joined to them."""
    found: set[int] = set()
    for match in (*MARKED.finditer(zone), *NAMED.finditer(zone)):
        rest = zone[match.end() :]
        if _is_name(match[1], rest, options):
            found |= {_index(match[1]), *_joined(rest, options)}
    return found


def _joined(rest: str, options: Sequence[str]) -> set[int]:
    """The letter that "or", "and", a comma or a stroke joins to the one before `rest`."""
    match = JOINED.match(rest)
    return {_index(match[1])} if match and _is_name(match[1], rest[match.end() :], options) else set()


def _is_name(letter: str, rest: str, options: Sequence[str]) -> bool:
    """Whether a single letter names an option, and is neither the article ("A dog") nor the pronoun."""
    if _index(letter) >= len(options):
        return False
    if letter in "Ii":
        return _next_word(rest.removeprefix(",")) in ("", "because", "is") or bool(_joined(rest, options))
    return letter not in "Aa" or _next_word(rest) in ("", *WORDS_AFTER_A_LETTER)


def _next_word(rest: str) -> str:
    """The word that follows on the same line, lower case; empty if a mark or nothing follows."""
    match = re.match(r"[ \t]+([A-Za-z']+)", rest)
    return match[1].casefold() if match else ""


def _index(letter: str) -> int:
    return string.ascii_uppercase.index(letter.upper())


def _holds(text: str, part: str) -> bool:
    """Whether `part` stands in `text` as whole words."""
    return f" {part} " in f" {text} "


def _plain(text: str) -> str:
    """Words alone, lower case."""
    return " ".join(re.sub(r"[^\w\s]", "", text).casefold().split())
