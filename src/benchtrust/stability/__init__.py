"""Does the ranking survive the harness configuration? (SafetyRepro, arXiv 2605.25492)"""

from benchtrust.stability.agreement import RankAgreement, agreement_from_rates, rank_agreement
from benchtrust.stability.flips import Orderings, Reversal, flip_rates, orderings, reversal
from benchtrust.stability.nulls import FlipNull, IndependentNull, flip_null, independent_null
from benchtrust.stability.power import detectable_effect, discordance
from benchtrust.stability.propositions import proposition_checks
from benchtrust.stability.summary import (
    choose,
    common_items,
    complete,
    flip_table,
    majority,
    reversed_by_level,
    widest_reversals,
)

__all__ = [
    "FlipNull",
    "IndependentNull",
    "Orderings",
    "RankAgreement",
    "Reversal",
    "agreement_from_rates",
    "choose",
    "common_items",
    "complete",
    "detectable_effect",
    "discordance",
    "flip_null",
    "flip_rates",
    "flip_table",
    "independent_null",
    "majority",
    "orderings",
    "proposition_checks",
    "rank_agreement",
    "reversal",
    "reversed_by_level",
    "widest_reversals",
]
