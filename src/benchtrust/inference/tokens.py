"""From messages to token ids: chat templates, exactly one BOS, joint encoding of prompt and option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchtrust.errors import BenchtrustError
from benchtrust.inference.model import Model

Message = dict[str, str]
Prompt = str | Sequence[Message]


class ContextOverflowError(BenchtrustError):
    """A prompt with its answer that is longer than the model's context window."""


@dataclass(frozen=True)
class Branch:
    """An option behind a prompt: it forks from the prompt's tokens at `start` and has these `ids`.

    `start` is the prompt's length unless the tokenizer merges across the boundary (`merged`).
    """

    start: int
    ids: tuple[int, ...]
    merged: bool


def text(model: Model, prompt: Prompt) -> str:
    """The exact text that is tokenised.

    A string is taken as it is. Messages go through the model's chat template; for a base model they become
    plain text, questions and answers apart by an ``Answer:`` cue.
    """
    if isinstance(prompt, str):
        return prompt
    if model.entry.chat:
        return model.tokenizer.apply_chat_template(list(prompt), tokenize=False, add_generation_prompt=True)
    turns = [f"\nAnswer: {m['content']}\n\n" if m["role"] == "assistant" else m["content"] for m in prompt]
    return "".join(turns) + "\nAnswer:"


def continuation(model: Model, prompt: Prompt, answer: str) -> str:
    """Text of an answer as it follows the prompt: after a base model's ``Answer:`` comes a space."""
    plain = not isinstance(prompt, str) and not model.entry.chat
    return f" {answer}" if plain and answer else answer


def encode(model: Model, prompt: Prompt) -> tuple[int, ...]:
    """Token ids of a prompt, with exactly one BOS where the tokenizer wants one.

    Raises
    ------
    BenchtrustError : a prompt without a single token.
    """
    if not (ids := _encode_text(model, text(model, prompt))):
        raise BenchtrustError(f"An empty prompt has nothing that {model.name} could continue.")
    return ids


def branch(model: Model, prompt: Prompt, answer: str) -> Branch:
    """Encode prompt and option jointly and cut at the common prefix with the prompt alone.

    Raises
    ------
    BenchtrustError : an option without text, or nothing before its first token that could predict it.
    """
    if not answer:
        raise BenchtrustError("An option without text has no log-probability.")
    alone = encode(model, prompt)
    joint = _encode_text(model, text(model, prompt) + continuation(model, prompt, answer))
    start = next(
        (i for i, (a, b) in enumerate(zip(alone, joint, strict=False)) if a != b), min(len(alone), len(joint))
    )
    start = min(start, len(joint) - 1)
    if start < 1:
        raise BenchtrustError(f"No token stands before {answer!r} to predict it: the prompt is too short.")
    return Branch(start, joint[start:], merged=start < len(alone))


def check_window(model: Model, length: int) -> None:
    """Raise if a sequence of `length` tokens does not fit; tokens are never cut."""
    if length > model.context_window:
        raise ContextOverflowError(
            f"{length} tokens do not fit {model.name}'s context window of {model.context_window}. "
            "Use fewer exemplars or a shorter answer limit."
        )


def _encode_text(model: Model, whole: str) -> tuple[int, ...]:
    tokenizer = model.tokenizer
    ids = tokenizer(whole, add_special_tokens=False).input_ids
    wanted = tokenizer("").input_ids[:1]
    if wanted and wanted[0] == tokenizer.bos_token_id and ids[:1] != wanted:
        ids = wanted + ids
    return tuple(ids)
