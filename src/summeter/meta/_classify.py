"""Judges as classifiers of sentences, key facts or summaries, compared with human labels 0 and 1.

Label 1 is the positive class: supported, present, consistent. Sensitivity is the share of supported sentences that the
judge labels supported, and specificity is the share of erroneous sentences that the judge labels erroneous. Balanced
accuracy is the mean of the two, which does not depend on the choice of the positive class.

A decision is the judge's label, or a value that is 0 or 1. Scores are turned into decisions by a threshold, which is
given or is tuned on a split of the data that is then left out of the test (the percentile protocol of AggreFact).
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter.choices import Level, ValueOrLabel
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.measure import AUROC, estimate, pair_fields
from summeter.meta.options import By, Choice, CommandLine, Draws, GoldAtLeast, Selection, study
from summeter.meta.results import Row, Study, interval_row, merged
from summeter.meta.sample import ABSENT, OTHER_LIST, Sample, are_decisions
from summeter.meta.selection import all_pairs, decisions, dev_split, groups, meta_input, notes
from summeter.records import Parameter, UsageError
from summeter.scoring.table import Groups
from summeter.stats import Estimate, decide, tune_threshold
from summeter.stats.base import undefined

STUDY = "classification"
STATISTICS = ("balanced_accuracy", "sensitivity", "specificity", "precision", "recall", "f1", AUROC)
NEEDS_THRESHOLD = "the judge gives scores, not decisions; give a threshold, or tune one on a dev split"


class ClassifyOptions(Selection, GoldAtLeast, By, Draws):
    """The options of `classify`."""

    level: Annotated[str, Choice(Level, "level")] = Field(
        Level.SENTENCE, description="Unit of the decisions: sentence, key_fact or summary."
    )
    threshold: float | None = Field(None, description="Scores above it become 1.")
    tune: Annotated[str | None, CommandLine(metavar="[COLUMN=]VALUE")] = Field(
        None, description="Tune the threshold on this split, and measure on the other rows."
    )


@study(ClassifyOptions, command="RUN...")
def classify(run: RunLike, gold: Gold, options: ClassifyOptions) -> Study:
    """Measure judges as classifiers of human labels.

    Statistics are balanced accuracy, sensitivity, specificity, precision, recall, F1 and AUROC. At the summary level,
    human values must be 0 or 1, unless `gold_at_least` gives the smallest value that counts as 1 (with
    `gold_at_least=1.0`, all sentences must be supported).

    Rows have the study "classification" and one of these statistics, all in [0, 1], or the `success_ratio`, which is
    the share of judged summaries whose judgments are usable and complete (on exactly the units that people judged).

    Raises UsageError if judges and people have nothing in common, if the level is not supported, or if the dev split is
    empty.

        sm.meta.classify(run, data.judgments("human.raw"), level="sentence")
    """
    level, threshold, tune = Level(options.level), options.threshold, options.tune
    if level.base is not level:
        raise UsageError(f"the level {level} has means, not decisions; choose sentence, key_fact or summary")
    if threshold is not None and tune is not None:
        raise UsageError("give either ", Parameter("threshold"), " or a split to tune it on with ", Parameter("tune"))
    read = meta_input(run, gold, options)
    scored = list(all_pairs(read, level, options))
    for pairs in scored:
        decisions(pairs.of_raters(1))  # raises if human values are not 0 or 1
    labelled = list(all_pairs(read, level, options, ValueOrLabel.LABEL))
    rows: list[Row] = []
    for scores, labels in zip(scored, labelled, strict=True):
        tested, reason, details = scores, None, dict[str, Any]()
        if tune is not None:
            name, dev, tested = dev_split(scores, tune)
            tuned = tune_threshold(dev.y, dev.x)
            details = {
                "tuned_on": name, "tuned_n": dev.n, "threshold": tuned.threshold,
                "tuned_balanced_accuracy": tuned.balanced_accuracy,
            }  # fmt: skip
            if tuned.threshold is None:
                decided, reason = np.full(len(tested), np.nan), f"no threshold could be tuned: {tuned.reason}"
            else:
                decided = decide(tested.x, tuned.threshold)
        elif threshold is not None:
            decided, details = decide(scores.x, threshold), {"threshold": threshold}
        elif are_decisions(labels.x):
            decided = labels.x
        else:  # shares of labels are not decisions unless all are 0 or 1
            decided, reason = np.full(len(scores), np.nan), NEEDS_THRESHOLD
        for group in groups(tested, options.by):
            units = slice(None) if group.column is None else tested.units.column(group.column).equal(group.value)
            pairs = group.sample
            decided_pairs = Sample.of_values(pairs.units, pairs.raters, np.stack([decided[units], pairs.y]))
            about = merged(pair_fields(pairs), group.fields(), study=STUDY, average="pooled")
            for name in STATISTICS[:-1]:
                got = estimate(decided_pairs, name, options.resampling)
                rows.append(interval_row(got, about, statistic=name, reason=reason, details=details))
            rows.append(interval_row(estimate(pairs, AUROC, options.resampling), about, statistic=AUROC))
        rows.append(_success(scores))
    return Study(STUDY, rows, notes(read, options, level, scored))


def _success(pairs: Sample) -> Row:
    """Return a row with the share of judged summaries that have usable and complete judgments.

    The judgments must be on exactly the units that people judged.
    """
    items = Groups.by(pairs.units.document, pairs.units.system)
    reasons = pairs.reasons
    whys = [why or "" for why in reasons.names]
    no_judge = np.array([f"judge: {ABSENT}" in why or "judge: skipped" in why for why in whys])[reasons.codes]
    no_gold = np.array([any(f"gold: {why}" in text for why in (ABSENT, OTHER_LIST)) for text in whys])[reasons.codes]
    judged, shown, bad = (items.count(rows) > 0 for rows in (~no_judge, ~no_gold, np.isnan(pairs.x) | no_gold))
    counted = judged & shown
    n = int(counted.sum())
    value = float((counted & ~bad).sum() / n) if n else None
    missing = int((shown & ~judged).sum())
    share = Estimate(value, n, missing) if n else undefined("no summary was judged by both sides", 0, missing)
    about = merged(pair_fields(pairs), study=STUDY, average="pooled")
    details = {"usable": int((counted & ~bad).sum())}
    return interval_row(share, about, statistic="success_ratio", details=details)
