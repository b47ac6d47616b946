"""How few items are enough? Item response theory and adaptive testing (arXiv 2606.20626)."""

from benchtrust.irt.ability import ability
from benchtrust.irt.calibration import DEFAULT_PRIORS, Calibration, calibrate
from benchtrust.irt.curves import information, probability
from benchtrust.irt.estimation import Priors
from benchtrust.irt.simulation import simulate

__all__ = [
    "DEFAULT_PRIORS",
    "Calibration",
    "Priors",
    "ability",
    "calibrate",
    "information",
    "probability",
    "simulate",
]
