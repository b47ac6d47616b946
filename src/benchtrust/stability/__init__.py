"""Does the ranking survive the harness configuration? (SafetyRepro, arXiv 2605.25492)"""

from benchtrust.stability.agreement import RankAgreement, agreement_from_rates, rank_agreement
from benchtrust.stability.flips import Orderings, Reversal, flip_rates, orderings, reversal
from benchtrust.stability.generalizability import (
    GStudy,
    component_intervals,
    component_kinds,
    d_study,
    d_study_intervals,
    g_study,
)
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
from benchtrust.stability.variance import (
    IMPLEMENTATION,
    group_shares,
    noise_shares,
    share_bootstrap,
    share_draws,
    variance_shares,
)

__all__ = [
    "IMPLEMENTATION",
    "FlipNull",
    "GStudy",
    "IndependentNull",
    "Orderings",
    "RankAgreement",
    "Reversal",
    "agreement_from_rates",
    "choose",
    "common_items",
    "complete",
    "component_intervals",
    "component_kinds",
    "d_study",
    "d_study_intervals",
    "detectable_effect",
    "discordance",
    "flip_null",
    "flip_rates",
    "flip_table",
    "g_study",
    "group_shares",
    "independent_null",
    "majority",
    "noise_shares",
    "orderings",
    "proposition_checks",
    "rank_agreement",
    "reversal",
    "reversed_by_level",
    "share_bootstrap",
    "share_draws",
    "variance_shares",
    "widest_reversals",
]
