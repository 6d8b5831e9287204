"""Meta-evaluation: studies of judges, systems and annotators.

Studies are computed from judgments and call no model. The public API is exported here. Developers of studies use these
modules:

    inputs        judge_input(run or runs) -> JudgeInput(table, ...); gold_input(data) -> table, context; run_notes
    sample        Sample: joined votes of judges and people; .at(level) computes means of documents or systems
    measure       STATISTICS: the table of coefficients and rates; measure(sample, statistics, by=, within=) -> rows
    options       option models, and the decorator @study, which turns a function into a study and a command
    selection     gold_scores(...): merge human judgments; all_pairs(...): join each selected judge and aspect with them
    pairing       Pairing.of(a, b): summaries and judges of two runs that correspond; difference_rows(pairing)
    verdicts      decisions about differences and chance, and their wording
    results       Row and Study, the results of all studies
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from summeter.choices import AggregationRule, Average, Level, Tie, ValueOrLabel
from summeter.meta._advise import advise
from summeter.meta._agree import agree, override_rate
from summeter.meta._bias import bias
from summeter.meta._bridge import bridge
from summeter.meta._calibrate import Calibration, calibrate, calibration_study, load_calibration, save_calibration
from summeter.meta._card import card
from summeter.meta._classify import classify
from summeter.meta._compare import compare, compare_scores
from summeter.meta._correlate import correlate
from summeter.meta._errors import errors
from summeter.meta._estimate import estimate, estimate_last_judge, simulate
from summeter.meta._gate import gate
from summeter.meta._jury import jury, recheck
from summeter.meta._overlap import match_claims, overlap
from summeter.meta._people import agreement_elsewhere, agreement_lines, agreement_with_people
from summeter.meta._plan import plan_calibration, plan_comparison
from summeter.meta._prefer import prefer
from summeter.meta._protocol import protocol, protocol_named
from summeter.meta._reliability import reliability, self_consistency
from summeter.meta._sources import sources
from summeter.meta._stability import stability
from summeter.meta._trust import trust
from summeter.meta._versions import compare_runs
from summeter.meta.options import STUDIES
from summeter.meta.results import Row, Study, read_study

__all__ = [
    "AggregationRule",
    "Average",
    "Calibration",
    "Level",
    "Row",
    "Study",
    "Tie",
    "ValueOrLabel",
    "advise",
    "agree",
    "agreement_elsewhere",
    "agreement_lines",
    "agreement_with_people",
    "bias",
    "bridge",
    "calibrate",
    "calibration_study",
    "card",
    "classify",
    "compare",
    "compare_runs",
    "compare_scores",
    "correlate",
    "errors",
    "estimate",
    "estimate_last_judge",
    "gate",
    "jury",
    "load_calibration",
    "match_claims",
    "overlap",
    "override_rate",
    "plan_calibration",
    "plan_comparison",
    "prefer",
    "protocol",
    "protocol_named",
    "read_study",
    "recheck",
    "reliability",
    "save_calibration",
    "self_consistency",
    "simulate",
    "sources",
    "stability",
    "trust",
]


for _module in iter_modules(__path__):
    # Import all modules of studies, which register themselves in STUDIES.
    if _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}")


def __getattr__(name: str) -> Any:
    """Return a study that is not imported above."""
    if name in STUDIES:
        return STUDIES[name].function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
