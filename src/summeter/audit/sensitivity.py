"""The sensitivity audit, which measures how often a judge notices an error planted in a summary.

Every sampled summary is judged unchanged, with one planted error of each kind, and rewritten in several ways that keep
its meaning. A change is *noticed* (an error) or *punished* (a rewrite) if the verdict falls: the verdict on the changed
sentence if the judge gives one, and otherwise the score of the summary.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from summeter.audit.planting import ERRORS, REWRITES, Planted, Subject, is_english, plant
from summeter.audit.subjects import RESAMPLES, SOME, in_order, rater_of, save, subjects
from summeter.data.dataset import Dataset, load
from summeter.engine.api import evaluate
from summeter.engine.options import OptionArgs, with_options
from summeter.engine.plan import Data, Evaluators, chosen
from summeter.engine.progress import Progress
from summeter.engine.runs import Run, check_coverage
from summeter.meta.results import Row, Study, interval_row, named
from summeter.meta.sample import Rater
from summeter.records import UsageError
from summeter.runs.checksums import SENSITIVITY
from summeter.scoring.scores import COMPOSITE
from summeter.stats import Bootstrap

STUDY = "sensitivity"
ALL = "all"
_FALL = 1e-9  # a smaller difference is rounding
# Errors that a judge of an aspect should notice, if not all of them.
_CONCERNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("faithfulness", "consistency"), tuple(kind for kind in ERRORS if kind != "omission")),
    **dict.fromkeys(("completeness", "coverage"), ("omission",)),
    **dict.fromkeys(("conciseness", "fluency", "coherence"), ()),
}


@with_options
def sensitivity(
    data: Data,
    evaluators: Evaluators,
    *,
    models: Mapping[str, str] | str | None = None,
    out: str | Path,
    sample: int = 20,
    replay: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[OptionArgs],
) -> Study:
    """Return how often each judge notices planted errors and punishes rewrites, on `sample` summaries of `data`.

    The texts must be English. `out` is a run folder, which can be resumed and replayed; the changed summaries have the
    system `SYSTEM/KIND` there, and the study is saved as `sensitivity.json`. Rows have the study `sensitivity` and the
    statistic `noticed` (errors) or `punished` (rewrites). `value` is the share of changes after which the verdict fell,
    `n` the number of changes with two usable verdicts, and `missing` the number without. The interval is a bootstrap
    interval over documents. `details` contains `kind` ("all" for all kinds together), `rejected` (the number of changes
    left out because the judge gave the unchanged sentence the label 0) and, for one kind, `items`: each change with its
    document, system, `source`, `original`, `changed` and `marked` passage, and the verdicts `before` and `after`.

    Raises UsageError if the sample is below 1, if the data contain no English text, if a judge compares two summaries,
    or if nothing could be planted, the errors of `evaluate`, and CoverageError if no judgment is usable.
    """
    judges, dataset = chosen(evaluators), load(data)
    for name in (part.name for judge in judges for part in judge.components() if part.pairwise):
        raise UsageError(f"{name} compares two summaries; this audit needs judges of one summary")
    seed = int(options.get("seed") or 0)
    sampled = subjects(dataset, sample, seed)
    english = [each for each in sampled if is_english(each.document.text, each.summary.text)]
    if not english:
        raise UsageError("none of the sampled summaries is English, and the rules for changes are English")
    wrong = _wrong_sentences(dataset)
    items: list[Planted] = []
    for number, each in enumerate(english):
        subject = Subject(each.document, each.summary, wrong[each.document.id, each.summary.system])
        items += filter(None, (plant(subject, kind, (seed, number)) for kind in (*ERRORS, *REWRITES)))
    if taken := {item.summary.system for item in items} & set(dataset.systems):
        raise UsageError(f"the data contain the system {min(taken)}, which is the name of a change; rename it")
    if not items:
        raise UsageError("no change suits any of the sampled summaries; give more or longer summaries")
    documents = {each.document.id: each.document for each in english}
    card = dataset.card.model_copy(update={"name": f"{dataset.card.name}-sensitivity"})
    summaries = [*(each.summary for each in english), *(item.summary for item in items)]
    audited = Dataset(documents, summaries, {}, card)
    run = evaluate(audited, judges, models=models, out=out, replay=replay, progress=progress, **options)
    check_coverage(run, SOME)
    notes = [f"{len(items)} changes in {len(english)} summaries"]
    if len(english) < len(sampled):
        notes.append(f"{len(sampled) - len(english)} of the {len(sampled)} sampled summaries are not English")
    return save(Study(STUDY, _rows(run, items, seed), notes), out, SENSITIVITY)


def _wrong_sentences(data: Dataset) -> Mapping[tuple[str, str], set[int]]:
    """Return the sentences that a person labelled as unfaithful, by document and system."""
    wrong: dict[tuple[str, str], set[int]] = defaultdict(set)
    for name in data.judgment_sets:
        for judgment in data.iter_judgments(name):
            target = judgment.target
            if target.unit == "sentence" and judgment.aspect == "faithfulness" and judgment.label == 0:
                wrong[target.document_id, target.system or ""].add(target.index or 0)
    return wrong


def _rows(run: Run, items: Sequence[Planted], seed: int) -> list[Row]:
    # Labels and numbers (None if unusable) by document, system and sentence, which is None for the whole summary
    verdicts: dict[Rater, dict[tuple[str, str, int | None], float | None]] = defaultdict(dict)
    rejected: dict[Rater, set[tuple[str, str, int | None]]] = defaultdict(set)
    for judgment in run.judgments():
        target = judgment.target
        if target.unit == "sentence" and target.index is not None:
            rater, sentence = rater_of(judgment), (target.document_id, target.system or "", target.index)
            value = judgment.label if isinstance(judgment.label, int) else judgment.value
            verdicts[rater][sentence] = value if judgment.status == "ok" else None
            if judgment.status == "ok" and judgment.label == 0:
                rejected[rater].add(sentence)
    sentencewise = set(verdicts)
    for score in run.scores():
        if score.aspect != COMPOSITE:
            verdicts[rater_of(score)][score.doc_id, score.system, None] = score.value
    rows = []
    for rater, of_unit in sorted(verdicts.items(), key=lambda entry: in_order(entry[0])):
        outcomes: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for item in items:
            at = item.at if rater in sentencewise else None
            unit = item.summary.document_id, item.system, at
            before, after = of_unit.get(unit), of_unit.get((item.summary.document_id, item.summary.system, at))
            outcomes[item.kind].append({
                "doc_id": item.summary.document_id, "system": item.system, "source": item.source,
                "original": item.original, "changed": item.changed, "marked": item.marked,
                "unit": "summary" if at is None else "sentence", "before": before, "after": after,
                "rejected": unit in rejected[rater],
                "fell": None if before is None or after is None else after < before - _FALL,
            })  # fmt: skip
        for kinds, statistic in ((_CONCERNS.get(rater.aspect, ERRORS), "noticed"), (REWRITES, "punished")):
            if kinds:
                pooled = [each for kind in kinds for each in outcomes[kind]]
                rows.append(_row(rater, statistic, ALL, pooled, seed))
                rows += [_row(rater, statistic, kind, outcomes[kind], seed) for kind in kinds]
    return rows


def _row(rater: Rater, statistic: str, kind: str, items: Sequence[Mapping[str, Any]], seed: int) -> Row:
    counted = [item for item in items if not item["rejected"]]
    units = {item["unit"] for item in counted}
    rate = Bootstrap([item["doc_id"] for item in counted], RESAMPLES, seed=seed).mean(
        [None if item["fell"] is None else float(item["fell"]) for item in counted]
    )
    reason = None
    if not counted:
        reason = "the judge rejects each unchanged sentence" if items else "this change suits no sampled summary"
    details = {"kind": kind, "group": kind, "rejected": len(items) - len(counted)}
    return interval_row(
        rate, named(rater), study=STUDY, level=units.pop() if len(units) == 1 else None, statistic=statistic,
        reason=reason,
        details=details if kind == ALL else {**details, "items": list(items)},
    )  # fmt: skip
