"""The sensitivity audit, which measures how often a judge notices an error planted in a summary.

Every sampled summary is judged unchanged, with one planted error of each kind, and rewritten in several ways that keep
its meaning. A change is *noticed* (an error) or *punished* (a rewrite) if the verdict falls: the verdict on the changed
sentence if the judge gives one, and otherwise the score of the summary.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from summeter.audit.planting import ERRORS, REWRITES, Planted, Subject, is_english, plant
from summeter.audit.variants import subjects
from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset, load
from summeter.engine.api import evaluate
from summeter.engine.options import OptionArgs, with_options
from summeter.engine.plan import Data, Evaluators, chosen
from summeter.engine.progress import Progress
from summeter.engine.runs import Run
from summeter.meta.results import Row, Study, interval_row, payload
from summeter.records import Summary, UsageError
from summeter.runs.checksums import SENSITIVITY
from summeter.scoring.scores import COMPOSITE
from summeter.stats import Bootstrap

STUDY = "sensitivity"
ALL = "all"
RESAMPLES = 2000
_FALL = 1e-9  # a smaller difference is rounding
# Errors that a judge of an aspect should notice, if not all of them.
_CONCERNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("faithfulness", "consistency"), tuple(kind for kind in ERRORS if kind != "omission")),
    **dict.fromkeys(("completeness", "coverage"), ("omission",)),
    **dict.fromkeys(("conciseness", "fluency", "coherence"), ()),
}

_Question = tuple[str, str, str, str]  # judge, signature, model, aspect


class _Item(NamedTuple):
    """A planted change, with the changed summary and the system of the unchanged one."""

    summary: Summary
    system: str
    planted: Planted


class _Verdict(NamedTuple):
    """A label or number (None if unusable), and whether it is the label 0."""

    value: float | None
    rejected: bool


_UNUSABLE = _Verdict(None, rejected=False)


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
    or if nothing could be planted, and the errors of `evaluate`.
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
    items, summaries = [], []
    for number, (document, summary, _) in enumerate(english):
        subject = Subject(document, summary, wrong[document.id, summary.system])
        summaries.append(summary)
        for kind in (*ERRORS, *REWRITES):
            if planted := plant(subject, kind, (seed, number)):
                system = f"{summary.system}/{kind}"
                if system in dataset.systems:
                    raise UsageError(f"the data contain the system {system}, which is the name of a change; rename it")
                changed = {"system": system, "text": planted.text, "sentences": planted.sentences}
                items.append(_Item(Summary(**{**dict(summary), **changed}), summary.system, planted))
    if not items:
        raise UsageError("no change suits any of the sampled summaries; give more or longer summaries")
    documents = {each.document.id: each.document for each in english}
    card = dataset.card.model_copy(update={"name": f"{dataset.card.name}-sensitivity"})
    audited = Dataset(documents, [*summaries, *(item.summary for item in items)], {}, card)
    run = evaluate(audited, judges, models=models, out=out, replay=replay, progress=progress, **options)
    notes = [f"{len(items)} changes in {len(english)} summaries"]
    if len(english) < len(sampled):
        notes.append(f"{len(sampled) - len(english)} of the {len(sampled)} sampled summaries are not English")
    study = Study(STUDY, _rows(run, items, seed), notes)
    write_text(Path(out) / SENSITIVITY, json.dumps(payload(study), ensure_ascii=False, indent=1) + "\n")
    return study


def _wrong_sentences(data: Dataset) -> Mapping[tuple[str, str], set[int]]:
    """Return the sentences that a person labelled as unfaithful, by document and system."""
    wrong: dict[tuple[str, str], set[int]] = defaultdict(set)
    for name in data.judgment_sets:
        for judgment in data.iter_judgments(name):
            target = judgment.target
            if target.unit == "sentence" and judgment.aspect == "faithfulness" and judgment.label == 0:
                wrong[target.document_id, target.system or ""].add(target.index or 0)
    return wrong


def _rows(run: Run, items: Sequence[_Item], seed: int) -> list[Row]:
    verdicts: dict[_Question, dict[tuple[str, str, int | None], _Verdict]] = defaultdict(dict)
    for judgment in run.judgments():
        target = judgment.target
        if target.unit == "sentence" and target.index is not None:
            question = judgment.judge, judgment.signature, judgment.model or "", judgment.aspect
            value = judgment.label if isinstance(judgment.label, int) else judgment.value
            usable = _Verdict(value, judgment.label == 0) if judgment.status == "ok" else _UNUSABLE
            verdicts[question][target.document_id, target.system or "", target.index] = usable
    sentencewise = set(verdicts)
    for score in run.scores():
        if score.aspect == COMPOSITE:
            continue
        question = score.judge, score.signature, score.model or "", score.aspect
        verdicts[question][score.doc_id, score.system, None] = _Verdict(score.value, rejected=False)
    rows = []
    for question in sorted(verdicts):
        for kinds, statistic in ((_CONCERNS.get(question[3], ERRORS), "noticed"), (REWRITES, "punished")):
            of_kind = {
                kind: [
                    _judged(verdicts[question], item, sentences=question in sentencewise)
                    for item in items
                    if item.planted.kind == kind
                ]
                for kind in kinds
            }
            if kinds:
                pooled = [each for outcomes in of_kind.values() for each in outcomes]
                rows.append(_row(question, statistic, ALL, pooled, seed))
                rows += [_row(question, statistic, kind, outcomes, seed) for kind, outcomes in of_kind.items()]
    return rows


def _judged(
    verdicts: Mapping[tuple[str, str, int | None], _Verdict], item: _Item, *, sentences: bool
) -> dict[str, Any]:
    """Return a change with its two verdicts, the unit of these, and whether the verdict fell (None if unusable)."""
    document, at = item.summary.document_id, item.planted.at if sentences else None
    before = verdicts.get((document, item.system, at), _UNUSABLE)
    after = verdicts.get((document, item.summary.system, at), _UNUSABLE).value
    fell = None if before.value is None or after is None else after < before.value - _FALL
    passage = item.planted._asdict()
    return {
        "doc_id": document, "system": item.system,
        **{name: passage[name] for name in ("source", "original", "changed", "marked")},
        "unit": "summary" if at is None else "sentence", "before": before.value, "after": after,
        "rejected": before.rejected, "fell": fell,
    }  # fmt: skip


def _row(question: _Question, statistic: str, kind: str, items: Sequence[Mapping[str, Any]], seed: int) -> Row:
    judge, signature, model, aspect = question
    counted = [item for item in items if not item["rejected"]]
    units = {item["unit"] for item in counted}
    bootstrap = Bootstrap([item["doc_id"] for item in counted], RESAMPLES, seed=seed)
    reason = None
    if not counted:
        reason = "the judge rejects each unchanged sentence" if items else "this change suits no sampled summary"
    details = {"kind": kind, "group": kind, "rejected": len(items) - len(counted)}
    return interval_row(
        bootstrap.mean([None if item["fell"] is None else float(item["fell"]) for item in counted]),
        study=STUDY, judge=judge, signature=signature, model=model or None, aspect=aspect,
        level=units.pop() if len(units) == 1 else None, statistic=statistic, reason=reason,
        details=details if kind == ALL else {**details, "items": list(items)},
    )  # fmt: skip
