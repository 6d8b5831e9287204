"""HOW SURE: the statistics of judging, in pure numpy on plain arrays, with typed results and never a NaN.

Array-likes take None or NaN for a missing value; rows with one are dropped in pairs and counted. What cannot be
computed has the value None, a ``status`` and a ``reason``. Generators are passed or made from a seed, never global.
"""

from .agreement import Level, krippendorff_alpha, mean_pairwise, rater_deviation
from .base import Statistic, Status
from .calibration import Bin, brier, expected_calibration_error, reliability_bins
from .classify import Classification, Confusion, auroc, classification_interval, classify, confusion, decide
from .clusters import clusters_of_equals, holm, holm_matrix
from .correlated import CorrelationComparison, permute_correlations, williams, williams_from_r
from .correlation import (
    average_ranks,
    correlate,
    kendall_b,
    kendall_binary,
    kendall_c,
    pearson,
    spearman,
)
from .correlation_draws import correlation_interval
from .grouped import GroupedStatistic, correlation_by_group, mean_correlation
from .intraclass import Model, icc
from .kappa import Weights, cohen_kappa, fleiss_kappa, gwet_ac1, gwet_ac2, mean_cohen_kappa
from .permute import Flips, PairTest, p_matrix, paired_permutation, paired_permutations, permutation_p, sign_flips
from .ppi import LabelsNeeded, PpiMean, labels_needed, ppi_mean, sample_size
from .prefer import (
    CorrectPreferences,
    OrderEffect,
    PairPreference,
    best_rates,
    both_orders,
    chain,
    compare_pair,
    correct_preferences,
    order_effect,
    points,
    tally,
    win_rates,
)
from .resample import Comparison, Interval, Method, bootstrap, bootstrap_mean, paired_bootstrap
from .spans import Overlap, mean_span_f1, overlap, span_f1
from .strengths import BradleyTerry, Games, Strength, bradley_terry, games_from_scores, win_probability
from .thresholds import (
    Candidates,
    GroupedAccuracy,
    Spread,
    Threshold,
    bootstrap_deviation,
    grouped_accuracy,
    tune_threshold,
    tune_thresholds,
)
from .ties import PairAccuracy, calibrate_ties, pairwise_accuracy
from .votes import Agreement, agreement_interval

__all__ = [
    "Agreement",
    "Bin",
    "BradleyTerry",
    "Candidates",
    "Classification",
    "Comparison",
    "Confusion",
    "CorrectPreferences",
    "CorrelationComparison",
    "Flips",
    "Games",
    "GroupedAccuracy",
    "GroupedStatistic",
    "Interval",
    "LabelsNeeded",
    "Level",
    "Method",
    "Model",
    "OrderEffect",
    "Overlap",
    "PairAccuracy",
    "PairPreference",
    "PairTest",
    "PpiMean",
    "Spread",
    "Statistic",
    "Status",
    "Strength",
    "Threshold",
    "Weights",
    "agreement_interval",
    "auroc",
    "average_ranks",
    "best_rates",
    "bootstrap",
    "bootstrap_deviation",
    "bootstrap_mean",
    "both_orders",
    "bradley_terry",
    "brier",
    "calibrate_ties",
    "chain",
    "classification_interval",
    "classify",
    "clusters_of_equals",
    "cohen_kappa",
    "compare_pair",
    "confusion",
    "correct_preferences",
    "correlate",
    "correlation_by_group",
    "correlation_interval",
    "decide",
    "expected_calibration_error",
    "fleiss_kappa",
    "games_from_scores",
    "grouped_accuracy",
    "gwet_ac1",
    "gwet_ac2",
    "holm",
    "holm_matrix",
    "icc",
    "kendall_b",
    "kendall_binary",
    "kendall_c",
    "krippendorff_alpha",
    "labels_needed",
    "mean_cohen_kappa",
    "mean_correlation",
    "mean_pairwise",
    "mean_span_f1",
    "order_effect",
    "overlap",
    "p_matrix",
    "paired_bootstrap",
    "paired_permutation",
    "paired_permutations",
    "pairwise_accuracy",
    "pearson",
    "permutation_p",
    "permute_correlations",
    "points",
    "ppi_mean",
    "rater_deviation",
    "reliability_bins",
    "sample_size",
    "sign_flips",
    "span_f1",
    "spearman",
    "tally",
    "tune_threshold",
    "tune_thresholds",
    "williams",
    "williams_from_r",
    "win_probability",
    "win_rates",
]
