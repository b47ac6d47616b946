"""How few items are enough? Item response theory and adaptive testing (arXiv 2606.20626)."""

from benchtrust.irt.ability import ability
from benchtrust.irt.adaptive import AdaptiveTest, adaptive_test
from benchtrust.irt.agreement import (
    AgreementCurve,
    SplitHalf,
    agreement_curve,
    differences,
    geometric_sizes,
    savings,
    split_half_reliability,
)
from benchtrust.irt.aipw import aipw, cross_fitted
from benchtrust.irt.banks import Population, agreement_on_banks, savings_on_banks
from benchtrust.irt.calibration import DEFAULT_PRIORS, Calibration, calibrate
from benchtrust.irt.curves import information, probability
from benchtrust.irt.estimation import Priors
from benchtrust.irt.simulation import simulate
from benchtrust.irt.subsets import Selection, select_items, select_sizes, subset_scores

__all__ = [
    "DEFAULT_PRIORS",
    "AdaptiveTest",
    "AgreementCurve",
    "Calibration",
    "Population",
    "Priors",
    "Selection",
    "SplitHalf",
    "ability",
    "adaptive_test",
    "agreement_curve",
    "agreement_on_banks",
    "aipw",
    "calibrate",
    "cross_fitted",
    "differences",
    "geometric_sizes",
    "information",
    "probability",
    "savings",
    "savings_on_banks",
    "select_items",
    "select_sizes",
    "simulate",
    "split_half_reliability",
    "subset_scores",
]
