"""Statistics of judgments, such as agreement, correlation, significance and intervals.

Functions take array-likes in which None or NaN is a missing value; rows with a missing value are dropped and counted. A
statistic that cannot be computed has the value None, a ``status`` and a ``reason``; no result is NaN. Random generators
are passed in or made from a seed, never global.
"""

from .agreement import (
    MeasurementLevel,
    Model,
    Weights,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    icc,
    krippendorff_alpha,
    masi_alpha,
    mean_of_items,
    mean_pairwise,
)
from .base import Estimate, Status
from .classification import auroc, classify, decide
from .correlation import (
    correlate,
    correlation_by_group,
    correlation_of,
    permute_correlations,
    williams,
    williams_from_r,
)
from .ppi import PpiMean, error_to_find, labels_needed, labels_to_find, ppi_mean
from .preference import (
    OrderEffect,
    Rates,
    best_rates,
    bradley_terry,
    order_effect,
    points,
    side_of_half,
    win_rates,
)
from .resample import Bootstrap, Measurement, of_rows
from .risk import RiskBound, certified, risk_bound, risk_p_value
from .significance import (
    MIN_DOCUMENTS,
    Flips,
    PairDifference,
    clusters_of_equals,
    corrected,
    enough_permutations,
    holm,
    least_p,
    paired_differences,
    permuted_differences,
    sign_flips,
)
from .spans import span_f1
from .thresholds import Candidates, Threshold, tune_threshold
from .ties import pairwise_accuracy

__all__ = [
    "MIN_DOCUMENTS",
    "Bootstrap",
    "Candidates",
    "Estimate",
    "Flips",
    "Measurement",
    "MeasurementLevel",
    "Model",
    "OrderEffect",
    "PairDifference",
    "PpiMean",
    "Rates",
    "RiskBound",
    "Status",
    "Threshold",
    "Weights",
    "auroc",
    "best_rates",
    "bradley_terry",
    "certified",
    "classify",
    "clusters_of_equals",
    "cohen_kappa",
    "corrected",
    "correlate",
    "correlation_by_group",
    "correlation_of",
    "decide",
    "enough_permutations",
    "error_to_find",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "holm",
    "icc",
    "krippendorff_alpha",
    "labels_needed",
    "labels_to_find",
    "least_p",
    "masi_alpha",
    "mean_of_items",
    "mean_pairwise",
    "of_rows",
    "order_effect",
    "paired_differences",
    "pairwise_accuracy",
    "permute_correlations",
    "permuted_differences",
    "points",
    "ppi_mean",
    "risk_bound",
    "risk_p_value",
    "side_of_half",
    "sign_flips",
    "span_f1",
    "tune_threshold",
    "williams",
    "williams_from_r",
    "win_rates",
]
