"""Summaries of redacted copies, written and checked as those of the originals were (UniSumEval, Table 5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from summeter.benchmark.select import DETECT, DetectSettings
from summeter.benchmark.step import Inputs, Place, Result, StepRecord
from summeter.benchmark.summarize import STEP as SUMMARIZE
from summeter.benchmark.summarize import SummarizeSettings
from summeter.data.dataset import Dataset
from summeter.records import UsageError


def summarize_copies(data: Dataset, copies: Collection[str], history: Sequence[StepRecord], place: Place) -> Result:
    """The data with summaries of the documents `copies`, which have none yet, and with verdicts on these summaries.

    The systems, prompts and lengths are those of the step `summarize` in the history, the detectors those of its step
    `detect`; one that was read from a run cannot be asked again and gives no verdicts. A copy that no system summarized
    is left out. `counts` holds the numbers of new summaries and verdicts. Raises UsageError where the history has no
    step `summarize`, and whatever the two steps raise.
    """
    records = {record.step: record.settings for record in history}
    if SUMMARIZE.name not in records:
        raise UsageError(
            "redact: pairs: there is no record of how the summaries were written, so the redacted texts cannot be "
            "summarized in the same way; redact the documents first and summarize the result, or begin with the folder "
            "of a step after `summarize`"
        )
    documents = Dataset({doc_id: data.documents[doc_id] for doc_id in copies}, (), {}, data.card)
    writing = SummarizeSettings.model_validate(records[SUMMARIZE.name])
    kind = writing.kind
    if not isinstance(kind, str):
        kind = {domain: name for domain, name in kind.items() if domain in documents.domains}
    # The documents were cut before they were redacted, and a placeholder may have more words than what it stands for.
    writing = writing.model_copy(update={"kind": kind, "words": None})
    written = SUMMARIZE.run(Inputs(documents, None, ()), writing, place._replace(work=place.work / SUMMARIZE.name))
    new, models = written.data or documents, dict(written.models)
    checking = DetectSettings.model_validate(records.get(DETECT.name, {}))
    if DETECT.name in records and checking.detector.run is None:
        if checking.second is not None and checking.second.run is not None:
            checking = checking.model_copy(update={"second": None})
        checked = DETECT.run(Inputs(new, None, ()), checking, place._replace(work=place.work / DETECT.name))
        new, models = checked.data or new, models | dict(checked.models)
    order = {doc_id: position for position, doc_id in enumerate(data.documents)}
    kept = data.with_documents(order.keys() - (set(copies) - new.documents.keys()))
    summaries = sorted((*kept.summaries, *new.summaries), key=lambda summary: order[summary.document_id])
    whole = Dataset(kept.documents, summaries, {}, data.card, fact_origins=kept.fact_origins)
    for name in kept.judgment_sets:
        own = new.judgments(name) if name in new.judgment_sets else ()
        whole = whole.with_judgments(name, [*kept.iter_judgments(name), *own])
    verdicts = sum(len(new.judgments(name)) for name in new.judgment_sets)
    counts = {"redacted_summaries": len(new), "redacted_verdicts": verdicts}
    return Result(whole, written.dropped, counts=counts, models=models)
