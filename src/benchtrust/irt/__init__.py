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
from benchtrust.irt.dif import mantel_haenszel
from benchtrust.irt.estimation import Priors
from benchtrust.irt.fit import FitBootstrap, PartAgreement, fit_bootstrap, part_agreement
from benchtrust.irt.held_out import (
    HeldOut,
    half_correlations,
    held_out_log_loss,
    parameter_stability,
    shuffled,
)
from benchtrust.irt.item_fit import s_x2
from benchtrust.irt.residuals import ResidualCorrelations, eigenvalues, person_fit, q3, residuals
from benchtrust.irt.simulation import simulate
from benchtrust.irt.subsets import Selection, select_items, select_sizes, subset_scores

__all__ = [
    "DEFAULT_PRIORS",
    "AdaptiveTest",
    "AgreementCurve",
    "Calibration",
    "FitBootstrap",
    "HeldOut",
    "PartAgreement",
    "Priors",
    "ResidualCorrelations",
    "Selection",
    "SplitHalf",
    "ability",
    "adaptive_test",
    "agreement_curve",
    "aipw",
    "calibrate",
    "cross_fitted",
    "eigenvalues",
    "fit_bootstrap",
    "geometric_sizes",
    "half_correlations",
    "held_out_log_loss",
    "information",
    "mantel_haenszel",
    "parameter_stability",
    "part_agreement",
    "person_fit",
    "probability",
    "q3",
    "residuals",
    "s_x2",
    "savings",
    "select_items",
    "select_sizes",
    "shuffled",
    "simulate",
    "split_half_reliability",
    "subset_scores",
]
