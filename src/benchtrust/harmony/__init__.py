"""Does the average stand for its parts? HARMONY (arXiv 2509.25671)."""

from benchtrust.harmony.disclosure import disclosure
from benchtrust.harmony.index import ClusterScores, Harmony, cluster_scores, harmony
from benchtrust.harmony.nulls import (
    HarmonyInterval,
    HarmonyNull,
    bias_curve,
    cross_fitted,
    harmony_interval,
    harmony_null,
    partition_stability,
    sensitivity,
)
from benchtrust.harmony.partitions import Partition, partition
from benchtrust.harmony.plane import Heterogeneity, harmony_by_model, heterogeneity, plane, resampled_mean
from benchtrust.harmony.rebalancing import (
    Association,
    Rebalanced,
    prune,
    rebalance,
    rebalance_benchmarks,
    shift_association,
)
from benchtrust.harmony.similarity import (
    FLOOR,
    Similarity,
    Support,
    Truncation,
    divergences,
    given_similarity,
    letters,
    pooled_similarity,
    predictive_similarity,
    sorted_profile,
    truncation,
    vocabulary,
)

__all__ = [
    "FLOOR",
    "Association",
    "ClusterScores",
    "Harmony",
    "HarmonyInterval",
    "HarmonyNull",
    "Heterogeneity",
    "Partition",
    "Rebalanced",
    "Similarity",
    "Support",
    "Truncation",
    "bias_curve",
    "cluster_scores",
    "cross_fitted",
    "disclosure",
    "divergences",
    "given_similarity",
    "harmony",
    "harmony_by_model",
    "harmony_interval",
    "harmony_null",
    "heterogeneity",
    "letters",
    "partition",
    "partition_stability",
    "plane",
    "pooled_similarity",
    "predictive_similarity",
    "prune",
    "rebalance",
    "rebalance_benchmarks",
    "resampled_mean",
    "sensitivity",
    "shift_association",
    "sorted_profile",
    "truncation",
    "vocabulary",
]
