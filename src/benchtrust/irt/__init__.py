"""How few items are enough? Item response theory and adaptive testing (arXiv 2606.20626)."""

from benchtrust.irt.ability import (
    ResampledAbilities,
    ability,
    resampled_abilities,
)
from benchtrust.irt.adaptive import (
    AdaptiveTest,
    adaptive_test,
)
from benchtrust.irt.agreement import (
    AgreementCurve,
    SplitHalf,
    agreement_curve,
    differences,
    geometric_sizes,
    savings,
    split_half_reliability,
)
from benchtrust.irt.aipw import (
    aipw,
    cross_fitted,
)
from benchtrust.irt.banks import (
    Population,
    agreement_on_banks,
    savings_on_banks,
)
from benchtrust.irt.binarising import (
    graded_ability,
    graded_contrast,
    graded_information,
    graded_probability,
    simulate_graded,
    threshold_sensitivity,
)
from benchtrust.irt.breakeven import (
    CalibrationPlan,
    break_even,
    evaluation_costs,
)
from benchtrust.irt.calibration import (
    DEFAULT_PRIORS,
    Calibration,
    calibrate,
)
from benchtrust.irt.curves import (
    information,
    probability,
)
from benchtrust.irt.deciding import (
    Deciding,
    deciding_items,
)
from benchtrust.irt.dif import (
    mantel_haenszel,
)
from benchtrust.irt.estimation import (
    Priors,
)
from benchtrust.irt.export import (
    answers_hash,
    export_subset,
    score_exported,
)
from benchtrust.irt.fit import (
    FitBootstrap,
    PartAgreement,
    fit_bootstrap,
    part_agreement,
)
from benchtrust.irt.groups import (
    HeldOutTests,
    group_abilities,
    group_agreement,
    held_out_tests,
    residual_correlations,
    robust_errors,
)
from benchtrust.irt.held_out import (
    HeldOutLosses,
    half_correlations,
    held_out_log_loss,
    parameter_stability,
    shuffled,
)
from benchtrust.irt.item_fit import (
    s_x2,
)
from benchtrust.irt.level_dif import (
    LevelDif,
    level_dif,
)
from benchtrust.irt.pool import (
    hold_out,
)
from benchtrust.irt.report import (
    ItemReport,
    item_report,
    tracking,
    wright_map,
)
from benchtrust.irt.residuals import (
    ResidualCorrelations,
    eigenvalues,
    person_fit,
    q3,
    residuals,
)
from benchtrust.irt.resolution import (
    ability_pairs,
    half_agreement,
)
from benchtrust.irt.simulation import (
    simulate,
)
from benchtrust.irt.subsets import (
    Selection,
    select_items,
    select_sizes,
    subset_scores,
)

__all__ = [
    "DEFAULT_PRIORS",
    "AdaptiveTest",
    "AgreementCurve",
    "Calibration",
    "CalibrationPlan",
    "Deciding",
    "FitBootstrap",
    "HeldOutLosses",
    "HeldOutTests",
    "ItemReport",
    "LevelDif",
    "PartAgreement",
    "Population",
    "Priors",
    "ResampledAbilities",
    "ResidualCorrelations",
    "Selection",
    "SplitHalf",
    "ability",
    "ability_pairs",
    "adaptive_test",
    "agreement_curve",
    "agreement_on_banks",
    "aipw",
    "answers_hash",
    "break_even",
    "calibrate",
    "cross_fitted",
    "deciding_items",
    "differences",
    "eigenvalues",
    "evaluation_costs",
    "export_subset",
    "fit_bootstrap",
    "geometric_sizes",
    "graded_ability",
    "graded_contrast",
    "graded_information",
    "graded_probability",
    "group_abilities",
    "group_agreement",
    "half_agreement",
    "half_correlations",
    "held_out_log_loss",
    "held_out_tests",
    "hold_out",
    "information",
    "item_report",
    "level_dif",
    "mantel_haenszel",
    "parameter_stability",
    "part_agreement",
    "person_fit",
    "probability",
    "q3",
    "resampled_abilities",
    "residual_correlations",
    "residuals",
    "robust_errors",
    "s_x2",
    "savings",
    "savings_on_banks",
    "score_exported",
    "select_items",
    "select_sizes",
    "shuffled",
    "simulate",
    "simulate_graded",
    "split_half_reliability",
    "subset_scores",
    "threshold_sensitivity",
    "tracking",
    "wright_map",
]
