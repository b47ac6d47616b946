"""Configurations and envelopes, prompts, extraction and scoring."""

from benchtrust.harness.card import card
from benchtrust.harness.cells import cell_id, definition, sample_seed
from benchtrust.harness.configurations import Configuration, envelope, tiers, within
from benchtrust.harness.extraction import Extraction, extract
from benchtrust.harness.prompts import Rendered, candidates, render, template
from benchtrust.harness.refusal import classify
from benchtrust.harness.scoring import Decision, by_completion, by_logprob

__all__ = [
    "Configuration",
    "Decision",
    "Extraction",
    "Rendered",
    "by_completion",
    "by_logprob",
    "candidates",
    "card",
    "cell_id",
    "classify",
    "definition",
    "envelope",
    "extract",
    "render",
    "sample_seed",
    "template",
    "tiers",
    "within",
]
