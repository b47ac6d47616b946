"""Model catalogue, NF4 loading, and the engine. The only folder that imports torch, and only when called."""

from benchtrust.inference.catalogue import ModelEntry, catalogue, entry

BATCH_ROWS = 32
"""Prompts of a batch."""

__all__ = [
    "BATCH_ROWS",
    "Completion",
    "ModelEntry",
    "OptionScores",
    "catalogue",
    "embed",
    "entry",
    "generate",
    "load",
    "option_logprobs",
]


def __getattr__(name: str):
    """Import the parts that need torch when they are first used."""
    if name in {"Completion", "OptionScores", "generate", "option_logprobs"}:
        from benchtrust.inference import engine

        return getattr(engine, name)
    if name == "load":
        from benchtrust.inference.model import load

        return load
    if name == "embed":
        from benchtrust.inference.encoding import embed

        return embed
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
