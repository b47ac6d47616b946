"""Does the average stand for its parts? HARMONY (arXiv 2509.25671)."""

from benchtrust.harmony.baselines import embedding_similarity, ngram_similarity
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
from benchtrust.harmony.plane import (
    Heterogeneity,
    harmony_by_model,
    heterogeneity,
    plane,
    resampled,
    standard_errors,
)
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
from benchtrust.harmony.trends import PairedHarmony, SizeTrend, paired_harmony, size_trend
from benchtrust.harmony.validation import RedundantQA, accuracy_profiles, redundant_qa

__all__ = [
    "FLOOR",
    "Association",
    "ClusterScores",
    "Harmony",
    "HarmonyInterval",
    "HarmonyNull",
    "Heterogeneity",
    "PairedHarmony",
    "Partition",
    "Rebalanced",
    "RedundantQA",
    "Similarity",
    "SizeTrend",
    "Support",
    "Truncation",
    "accuracy_profiles",
    "bias_curve",
    "cluster_scores",
    "cross_fitted",
    "disclosure",
    "divergences",
    "embedding_similarity",
    "given_similarity",
    "harmony",
    "harmony_by_model",
    "harmony_interval",
    "harmony_null",
    "heterogeneity",
    "letters",
    "ngram_similarity",
    "paired_harmony",
    "partition",
    "partition_stability",
    "plane",
    "pooled_similarity",
    "predictive_similarity",
    "prune",
    "rebalance",
    "rebalance_benchmarks",
    "redundant_qa",
    "resampled",
    "sensitivity",
    "shift_association",
    "size_trend",
    "sorted_profile",
    "standard_errors",
    "truncation",
    "vocabulary",
]
