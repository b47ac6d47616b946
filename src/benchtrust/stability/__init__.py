"""Does the ranking survive the harness configuration? (SafetyRepro, arXiv 2605.25492)"""

from benchtrust.stability.agreement import RankAgreement, agreement_from_rates, rank_agreement
from benchtrust.stability.axes import Spread, axis_levels, level_shifts, spread_beyond_noise
from benchtrust.stability.flip_items import FlipItems, flip_items
from benchtrust.stability.flips import Orderings, Reversal, flip_rates, orderings, reversal
from benchtrust.stability.generalizability import (
    GStudy,
    component_intervals,
    component_kinds,
    d_study,
    d_study_intervals,
    g_study,
)
from benchtrust.stability.item_scores import ItemScores, item_scores, pool_decoding
from benchtrust.stability.nulls import FlipNull, IndependentNull, expected_range, flip_null, independent_null
from benchtrust.stability.paths import Rescored, compare_paths, option_scores, path_intervals, rescore
from benchtrust.stability.power import (
    detectable_differences,
    detectable_effect,
    flips_beyond_margin,
    items_needed,
)
from benchtrust.stability.propositions import proposition_checks
from benchtrust.stability.resampling import (
    ResamplingBand,
    cell_errors,
    flips_by_items,
    resampled_cells,
    resampling_band,
)
from benchtrust.stability.reversals import (
    McNemar,
    compare_cells,
    holm,
    mcnemar,
    mean_leads,
    qualitative_interaction,
)
from benchtrust.stability.settling import GapDesign, design_table, gap_design
from benchtrust.stability.specification import (
    IdentifiedSet,
    SmallestChange,
    identified_set,
    smallest_change,
    specification_curve,
    unparsed_leaders,
)
from benchtrust.stability.summary import (
    choose,
    common_items,
    complete,
    disclosure,
    flip_table,
    majority,
    one_configuration,
    reversed_by_level,
    score_spans,
    widest_reversals,
    without_sampling,
)
from benchtrust.stability.variance import (
    IMPLEMENTATION,
    group_shares,
    noise_shares,
    share_bootstrap,
    share_draws,
    variance_shares,
)
from benchtrust.stability.variants import compare_variants, turned_leaders, variant_flips, variant_intervals
from benchtrust.stability.verdicts import verdicts

__all__ = [
    "IMPLEMENTATION",
    "FlipItems",
    "FlipNull",
    "GStudy",
    "GapDesign",
    "IdentifiedSet",
    "IndependentNull",
    "ItemScores",
    "McNemar",
    "Orderings",
    "RankAgreement",
    "ResamplingBand",
    "Rescored",
    "Reversal",
    "SmallestChange",
    "Spread",
    "agreement_from_rates",
    "axis_levels",
    "cell_errors",
    "choose",
    "common_items",
    "compare_cells",
    "compare_paths",
    "compare_variants",
    "complete",
    "component_intervals",
    "component_kinds",
    "d_study",
    "d_study_intervals",
    "design_table",
    "detectable_differences",
    "detectable_effect",
    "disclosure",
    "expected_range",
    "flip_items",
    "flip_null",
    "flip_rates",
    "flip_table",
    "flips_beyond_margin",
    "flips_by_items",
    "g_study",
    "gap_design",
    "group_shares",
    "holm",
    "identified_set",
    "independent_null",
    "item_scores",
    "items_needed",
    "level_shifts",
    "majority",
    "mcnemar",
    "mean_leads",
    "noise_shares",
    "one_configuration",
    "option_scores",
    "orderings",
    "path_intervals",
    "pool_decoding",
    "proposition_checks",
    "qualitative_interaction",
    "rank_agreement",
    "resampled_cells",
    "resampling_band",
    "rescore",
    "reversal",
    "reversed_by_level",
    "score_spans",
    "share_bootstrap",
    "share_draws",
    "smallest_change",
    "specification_curve",
    "spread_beyond_noise",
    "turned_leaders",
    "unparsed_leaders",
    "variance_shares",
    "variant_flips",
    "variant_intervals",
    "verdicts",
    "widest_reversals",
    "without_sampling",
]
