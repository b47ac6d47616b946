"""What a disclosure card says of HARMONY."""

import numpy as np
import pandas as pd

from benchtrust.harmony.index import cluster_scores
from benchtrust.harmony.nulls import harmony_null
from benchtrust.harmony.partitions import Partition
from benchtrust.harmony.similarity import Similarity


def disclosure(
    similarity: Similarity,
    found: Partition,
    scores: np.ndarray | pd.Series,
    bandwidth: float,
    n_draws: int,
    rng: np.random.Generator,
) -> dict:
    """How evenly the cell's score is spread over clusters of its items, as a card states it.

    Parameters
    ----------
    similarity, found : of the cell's items, and their partition.
    scores : (n,) item scores in that order; NaN = no score.
    bandwidth : b, as in `harmony`.
    n_draws, rng : random partitions of the same sizes, and their source.

    Returns
    -------
    The section `uniformity` of a card. Without a partition k is 1, and H, its null and the worst cluster are
    null.

    Raises
    ------
    SchemaError : as `harmony_null`.

    Source: the book, "The GRID card".
    """
    constants = {"bandwidth": float(bandwidth), "tau": _number(similarity.tau), "support": similarity.support}
    if found.k == 1:
        empty = dict.fromkeys(("harmony", "at_uniform", "null", "worst_cluster"))
        return {"k": 1, **constants, **empty, "reason": found.reason}
    null = harmony_null(scores, found.labels, bandwidth, n_draws, rng)
    by_lot, sizes = null.against_partitions, cluster_scores(scores, found.labels).sizes
    return {
        "k": found.k,
        **constants,
        "harmony": by_lot["value"],
        "at_uniform": by_lot["at_uniform"],
        "null": {
            "mean": by_lot["null_mean"],
            "lower": by_lot["null_low"],
            "upper": by_lot["null_high"],
            "p": by_lot["p"],
            "n_draws": n_draws,
        },
        "worst_cluster": {
            "score": null.observed.worst,
            "share": float(sizes[null.observed.worst_cluster] / sizes.sum()),
        },
        "reason": found.reason,
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
