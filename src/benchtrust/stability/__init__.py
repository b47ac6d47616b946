"""Does the ranking survive the harness configuration? (SafetyRepro, arXiv 2605.25492)"""

from benchtrust.stability.agreement import RankAgreement, rank_agreement
from benchtrust.stability.flips import Orderings, Reversal, flip_rates, orderings, reversal
from benchtrust.stability.nulls import FlipNull, IndependentNull, flip_null, independent_null

__all__ = [
    "FlipNull",
    "IndependentNull",
    "Orderings",
    "RankAgreement",
    "Reversal",
    "flip_null",
    "flip_rates",
    "independent_null",
    "orderings",
    "rank_agreement",
    "reversal",
]
