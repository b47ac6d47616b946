"""How few items are enough? Item response theory and adaptive testing (arXiv 2606.20626)."""

from benchtrust.irt.ability import ability
from benchtrust.irt.adaptive import AdaptiveTest, adaptive_test
from benchtrust.irt.agreement import (
    AgreementCurve,
    SplitHalf,
    agreement_curve,
    geometric_sizes,
    savings,
    split_half_reliability,
)
from benchtrust.irt.aipw import aipw, cross_fitted
from benchtrust.irt.calibration import DEFAULT_PRIORS, Calibration, calibrate
from benchtrust.irt.curves import information, probability
from benchtrust.irt.estimation import Priors
from benchtrust.irt.resolution import ability_pairs, half_agreement
from benchtrust.irt.simulation import simulate
from benchtrust.irt.subsets import Selection, select_items, select_sizes, subset_scores

__all__ = [
    "DEFAULT_PRIORS",
    "AdaptiveTest",
    "AgreementCurve",
    "Calibration",
    "Priors",
    "Selection",
    "SplitHalf",
    "ability",
    "ability_pairs",
    "adaptive_test",
    "agreement_curve",
    "aipw",
    "calibrate",
    "cross_fitted",
    "geometric_sizes",
    "half_agreement",
    "information",
    "probability",
    "savings",
    "select_items",
    "select_sizes",
    "simulate",
    "split_half_reliability",
    "subset_scores",
]
