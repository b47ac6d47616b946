"""What the papers' models would cost on one GPU: an estimate on paper, from tokens and assumed rates."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from benchtrust import harness, items
from benchtrust.inference import BATCH_ROWS, catalogue

PEAK = 312e12
"""Peak of an A100 in FLOP a second, dense bfloat16, as its maker states it."""


def costs(
    n_items: Sequence[int] = (100, 300, 1000),
    own: float = 150,
    prefix: float = 600,
    answered: float = 1.0,
    peak: float = PEAK,
    prompt_use: float = 0.3,
    answer_use: float = 0.05,
) -> pd.DataFrame:
    """Tokens, FLOP and hours of the full envelope on all benchmarks, for each hub model of the catalogue.

    A token costs 2 FLOP a weight; attention and the dequantising of four-bit weights are in the assumed use
    of the GPU. A prompt is computed once for all its options and decodings, and a prefix once a batch.

    Parameters
    ----------
    n_items : items a benchmark; one that has fewer costs less than this.
    own : tokens of a prompt and its options beyond the prefix that its batch shares.
    prefix : tokens that the prompts of a batch share: instruction and exemplars, averaged over the envelope.
    answered : share of the limit on new tokens that answers use; 1 is an upper bound.
    peak : FLOP a second of the GPU at best.
    prompt_use, answer_use : shares of `peak` that are reached on prompts and while answers are decoded.

    Returns
    -------
    One row a (model, number of items), with headings for readers; tokens in millions.
    """
    envelopes = [harness.envelope(name) for name in items.BENCHMARKS]
    prompts = sum(len({(c.template, c.shots) for c in envelope}) for envelope in envelopes)
    limit = sum(c.max_new_tokens for envelope in envelopes for c in envelope)
    rows = []
    for model in (entry for entry in catalogue().values() if entry.hub):
        for n in n_items:
            read = prompts * (own * n + prefix * -(-n // BATCH_ROWS))
            written = limit * answered * n
            flop_a_token = 2e9 * model.parameters
            seconds = flop_a_token * (read / prompt_use + written / answer_use) / peak
            rows.append(
                {
                    "Model": model.name,
                    "Weights (billions)": model.parameters,
                    "Items a benchmark": n,
                    "Prompt tokens (millions)": round(read / 1e6, 2),
                    "Answer tokens (millions)": round(written / 1e6, 2),
                    "FLOP (10¹⁵)": round(flop_a_token * (read + written) / 1e15, 1),
                    "Hours on one GPU": round(seconds / 3600, 1),
                }
            )
    return pd.DataFrame(rows)
