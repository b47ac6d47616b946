"""Does the average stand for its parts? HARMONY (arXiv 2509.25671)."""

from benchtrust.harmony.baselines import embedding_similarity, ngram_similarity
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
from benchtrust.harmony.validation import RedundantQA, accuracy_profiles, redundant_qa

__all__ = [
    "FLOOR",
    "Association",
    "ClusterScores",
    "Harmony",
    "HarmonyInterval",
    "HarmonyNull",
    "Partition",
    "Rebalanced",
    "RedundantQA",
    "Similarity",
    "Support",
    "Truncation",
    "accuracy_profiles",
    "bias_curve",
    "cluster_scores",
    "cross_fitted",
    "divergences",
    "embedding_similarity",
    "given_similarity",
    "harmony",
    "harmony_interval",
    "harmony_null",
    "letters",
    "ngram_similarity",
    "partition",
    "partition_stability",
    "pooled_similarity",
    "predictive_similarity",
    "prune",
    "rebalance",
    "rebalance_benchmarks",
    "redundant_qa",
    "sensitivity",
    "shift_association",
    "sorted_profile",
    "truncation",
    "vocabulary",
]
