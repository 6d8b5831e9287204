"""Assistance for annotators: similar document sentences and machine verdicts.

Assistance is computed when a campaign is built. Similar sentences follow the contextual mapping of UniSumEval (Lee et
al., 2024), which highlights the document sentences that are most similar to the shown text. The similarity is the
cosine of TF-IDF vectors, unless a file contains other scores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from summeter.annotate.campaign.config import Machine
from summeter.data.dataset import Dataset
from summeter.data.faults import Faults
from summeter.data.formats import format_of, read_rows
from summeter.records import Judgment, Unit, UsageError
from summeter.runs.run import RunFolder
from summeter.text.ngrams import words

Vector = dict[str, float]
Verdicts = dict[tuple[str, str | None, int | None], Judgment]
"""The judgments of a machine by document, system and index; with None as the system, the last one under any system."""


class Similarity:
    """Cosine similarity of TF-IDF vectors between a text and each sentence of a document.

    idf(w) = ln((1 + n) / (1 + df(w))) + 1, where df(w) of the n sentences contain the word w. The similarity is in
    [0, 1].

    >>> [round(one, 2) for one in Similarity(["The cat sat.", "Dogs bark."]).scores("A cat sat")]
    [0.56, 0.0]
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        counts = [_counts(sentence) for sentence in sentences]
        frequencies = Counter(word for bag in counts for word in bag)
        self._idf_of_unseen = math.log(1 + len(sentences)) + 1
        self._idf = {word: math.log((1 + len(sentences)) / (1 + df)) + 1 for word, df in frequencies.items()}
        self._vectors = [self._unit(bag) for bag in counts]

    def scores(self, text: str) -> list[float]:
        """Return the similarity of a text to each sentence of the document."""
        vector = self._unit(_counts(text))
        return [sum(weight * other.get(word, 0.0) for word, weight in vector.items()) for other in self._vectors]

    def _unit(self, counts: Counter[str]) -> Vector:
        raw = {word: count * self._idf.get(word, self._idf_of_unseen) for word, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in raw.values()))
        return {word: weight / length for word, weight in raw.items()} if length else {}


def _counts(text: str) -> Counter[str]:
    return Counter(token.text for token in words(text))


def top(scores: Sequence[float], share: float, most: int) -> list[int]:
    """Return the indexes of the sentences with the highest scores, best first.

    `share` is the fraction of all sentences to return (rounded up), and `most` the maximum number. Sentences with the
    score 0 are left out.

    >>> top([0.4, 0.1, 0.0, 0.9], 0.5, 10)
    [3, 0]
    """
    count = min(most, math.ceil(share * len(scores)))
    best = sorted(range(len(scores)), key=lambda index: (-scores[index], index))[:count]
    return [index for index in best if scores[index] > 0]


def read_scores(file: Path, sentences: Mapping[str, int]) -> dict[tuple[str, str], list[float]]:
    """Read similarity scores from a file and return them by document and shown text.

    `sentences` contains the number of sentences of each document. Rows about other documents are ignored. Raises
    InputError with all faults, by line.
    """
    faults = Faults(str(file))
    by_text: dict[tuple[str, str], list[float]] = {}
    for _, line, row, _ in read_rows(file, faults, format_of(file)):
        doc_id, text, scores = row.get("doc_id"), row.get("text"), row.get("scores")
        if not isinstance(doc_id, str) or doc_id not in sentences:
            continue
        if not isinstance(text, str):
            faults.add(line, "text", "is not a string; give the sentence or key fact that is shown")
        elif not isinstance(scores, list) or not all(
            isinstance(score, int | float) and not isinstance(score, bool) for score in scores
        ):
            faults.add(line, "scores", "is not a list of numbers; give one number per document sentence")
        elif len(scores) != sentences[doc_id]:
            faults.add(line, "scores", f"has {len(scores)} values; give {sentences[doc_id]}, one per document sentence")
        else:
            by_text[doc_id, text] = [float(score) for score in scores]
    faults.stop()
    return by_text


def read_verdicts(machine: Machine, base: Path, data: Dataset, aspect: str, unit: Unit) -> Verdicts:
    """Read the verdicts of one judge from a run or from a judgment set of the data.

    The path of a run is relative to `base`. Raises UsageError if there are no verdicts, or if several judges gave
    verdicts and the campaign file names none of them.
    """
    if machine.set is None:
        run = base / (machine.run or "")
        source: Iterable[Judgment] = RunFolder(run).judgments()
        where = f"the run {run}"
    else:
        source, where = data.iter_judgments(machine.set), f"the judgment set {machine.set}"
    judgments = [judgment for judgment in source if judgment.aspect == aspect and judgment.target.unit == unit]
    judges = sorted({judgment.judge for judgment in judgments})
    known = ", ".join(judges)
    if not judgments:
        raise UsageError(f"{where} has no verdicts of {aspect} on {unit}s; choose another source or aspect")
    if machine.judge is None and len(judges) > 1:
        raise UsageError(
            f"{where} has verdicts of {aspect} by several judges; choose one in assistance.machine.judge: {known}"
        )
    if machine.judge is not None and machine.judge not in judges:
        message = f"has no verdicts of {aspect} on {unit}s by the judge {machine.judge!r}; choose one of {known}"
        raise UsageError(f"{where} {message}")
    return verdicts_of(judgment for judgment in judgments if machine.judge in {None, judgment.judge})


def verdicts_of(judgments: Iterable[Judgment]) -> Verdicts:
    """Return the judgments on sentences or key facts by target."""
    verdicts: Verdicts = {}
    for judgment in judgments:
        target = judgment.target
        if judgment.status == "ok" and target.index is not None:
            for system in (target.system, None):
                verdicts[target.document_id, system, target.index] = judgment
    return verdicts


def decided(judgment: Judgment) -> bool | None:
    """Return whether a verdict is positive, or None if it is undecided.

    A label of 1 is positive, and a label of 0 is negative. Without a label, a value in [0, 1] is positive if it is at
    least 0.5.
    """
    if isinstance(judgment.label, int) and judgment.label in (0, 1):
        return bool(judgment.label)
    if judgment.label is None and judgment.value is not None and 0 <= judgment.value <= 1:
        return judgment.value >= 0.5
    return None
