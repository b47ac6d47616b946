"""A cell's identity: the hash of all that determines its answers, save which items were asked."""

import hashlib
import json
from collections.abc import Sequence

from benchtrust.harness.configurations import Configuration
from benchtrust.harness.prompts import OPENINGS, SHUFFLE_SEED, template
from benchtrust.items import Item

SCORING_RULES = {
    "logprob": "argmax of summed log-probability of the option's text",
    "free_form": "extraction 1",
}
"""What decides an answer, as a cell's definition names it.

The number of the free-form rules goes up, and with it all ids of free-form cells change, when they decide an
answer of the record otherwise: a test of the record tells.
"""
SAMPLE_SEED = 20260529
SAMPLING = "inverse distribution function at Philox draws keyed by (seed, cell, item, sample)"


def definition(
    benchmark: str,
    model: str,
    source: str,
    quantization: str,
    configuration: Configuration,
    exemplars: Sequence[Item],
) -> dict[str, object]:
    """All that determines a cell, readable; `cell_id` is its hash.

    Parameters
    ----------
    source : the weights, such as ``"gguf:<sha256>"`` or ``"repository@revision"``.
    exemplars : the pool; the first `shots` of it enter, by id and hash. Fewer than `shots` stand for a cell
        whose context window did not hold them all.
    """
    shots = exemplars[: configuration.shots]
    cell = {
        "benchmark": benchmark,
        "model": model,
        "weights": source,
        "quantization": quantization,
        "template": configuration.template,
        "template_text": hashlib.sha256(template(benchmark, configuration.template).encode()).hexdigest(),
        "exemplars": [[shot.item_id, shot.sha256] for shot in shots],
        "decoding": configuration.decoding,
        "scoring": configuration.scoring,
        "scoring_rule": SCORING_RULES[configuration.scoring],
        "max_new_tokens": configuration.max_new_tokens,
        "option_order_seed": SHUFFLE_SEED,
        "openings": OPENINGS if benchmark == "xstest" else None,
    }
    if len(shots) < configuration.shots:
        cell["shots_asked"] = configuration.shots
    if configuration.decoding not in ("greedy", "none"):
        cell["sampling"] = {"rule": SAMPLING, "seed": SAMPLE_SEED}
    return cell


def cell_id(cell: dict[str, object]) -> str:
    """SHA-256 of a cell's definition."""
    return hashlib.sha256(json.dumps(cell, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def sample_seed(cell_id: str, item_id: str, sample: int = 0, seed: int = SAMPLE_SEED) -> int:
    """Seed of one sampled answer: a function of (seed, cell, item, sample) alone."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{cell_id}/{item_id}/{sample}".encode()).digest()[:8], "big")
