"""What the audits have in common: the sample, the judges, and the file of the study."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset
from summeter.engine.plan import item_of
from summeter.meta.results import Study, payload
from summeter.meta.sample import Rater
from summeter.records import Item, Judgment, UsageError
from summeter.scoring import Score

RESAMPLES = 2000
SOME = 1e-9
"""Share of usable judgments below which an audit is refused, because it would show nothing."""


def subjects(data: Dataset, sample: int, seed: int) -> list[Item]:
    """Return up to `sample` non-empty summaries, drawn without replacement, in the order of the data.

    The rival is the next non-empty summary of the same document by another system, or None if there is none. Raises
    UsageError if the sample is below 1 or if no summary has text.
    """
    if sample < 1:
        raise UsageError(f"the sample must have at least 1 summary, not {sample}")
    candidates = [
        item_of(
            document,
            summary,
            next((rival for rival in (*summaries[at + 1 :], *summaries[:at]) if rival.text.strip()), None),
        )
        for document, summaries in data.items()
        for at, summary in enumerate(summaries)
        if summary.text.strip() and document.text.strip()
    ]
    if not candidates:
        raise UsageError("the data contain no summary with text, so there is nothing to audit")
    if len(candidates) <= sample:
        return candidates
    sample_numbers = np.random.default_rng(seed).choice(len(candidates), sample, replace=False)
    return [candidates[number] for number in sorted(sample_numbers.tolist())]


def rater_of(answer: Judgment | Score) -> Rater:
    """Return the judge and the aspect of a judgment or score."""
    return Rater(answer.judge, answer.signature, answer.model, answer.aspect)


def in_order(rater: Rater) -> tuple[str, ...]:
    """Return a key that sorts judges by name, signature, model and aspect."""
    return rater.judge, rater.signature, rater.model or "", rater.aspect


def save(study: Study, out: str | Path, name: str) -> Study:
    """Write a study to the file `name` of the run folder `out`, and return it."""
    write_text(Path(out) / name, json.dumps(payload(study), ensure_ascii=False, indent=1) + "\n")
    return study
