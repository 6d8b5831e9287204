"""Summaries of redacted copies of documents, made like those of the originals.

UniSumEval (Lee et al., 2024, Table 5) compares the two.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from summeter.benchmark.select import DETECT, DetectSettings
from summeter.benchmark.step import Inputs, Result, StepContext, StepRecord
from summeter.benchmark.summarize import STEP as SUMMARIZE
from summeter.benchmark.summarize import SummarizeSettings
from summeter.data.dataset import Dataset
from summeter.records import UsageError


def summarize_copies(
    data: Dataset, copies: Collection[str], history: Sequence[StepRecord], context: StepContext
) -> Result:
    """Add summaries of the documents with the ids `copies`, and verdicts on them, to the data.

    The systems, prompts and lengths are those of the step `summarize` in the history, and the detectors are those of
    the step `detect`. A detector whose verdicts were read from a run is not applied to the copies. A copy that no
    system summarized is dropped. `counts` of the result contains the numbers of new summaries and verdicts. Raises
    UsageError if the history contains no step `summarize`, and the errors of the two steps.
    """
    records = {record.step: record.settings for record in history}
    if SUMMARIZE.name not in records:
        raise UsageError(
            "redact: pairs: the input has no record of the step `summarize`, so the redacted texts cannot be "
            "summarized in the same way. Redact the documents first and summarize the result, or start from the folder "
            "of a step after `summarize`"
        )
    documents = Dataset({doc_id: data.documents[doc_id] for doc_id in copies}, (), {}, data.card)
    writing = SummarizeSettings.model_validate(records[SUMMARIZE.name])
    kind = writing.kind
    if not isinstance(kind, str):
        kind = {domain: name for domain, name in kind.items() if domain in documents.domains}
    # Documents were truncated before they were redacted, and a placeholder may have more words than the replaced text.
    writing = writing.model_copy(update={"kind": kind, "words": None})
    written = SUMMARIZE.run(Inputs(documents, None, ()), writing, context._replace(work=context.work / SUMMARIZE.name))
    new, models = written.data or documents, dict(written.models)
    checking = DetectSettings.model_validate(records.get(DETECT.name, {}))
    if DETECT.name in records and checking.detector.run is None:
        if checking.second is not None and checking.second.run is not None:
            checking = checking.model_copy(update={"second": None})
        checked = DETECT.run(Inputs(new, None, ()), checking, context._replace(work=context.work / DETECT.name))
        new, models = checked.data or new, models | dict(checked.models)
    order = {doc_id: position for position, doc_id in enumerate(data.documents)}
    kept = data.with_documents(order.keys() - (set(copies) - new.documents.keys()))
    summaries = sorted((*kept.summaries, *new.summaries), key=lambda summary: order[summary.document_id])
    merged = Dataset(kept.documents, summaries, {}, data.card, fact_origins=kept.fact_origins)
    for name in kept.judgment_sets:
        added = new.judgments(name) if name in new.judgment_sets else ()
        merged = merged.with_judgments(name, [*kept.iter_judgments(name), *added])
    verdicts = sum(len(new.judgments(name)) for name in new.judgment_sets)
    counts = {"redacted_summaries": len(new), "redacted_verdicts": verdicts}
    return Result(merged, written.dropped, counts=counts, models=models)
