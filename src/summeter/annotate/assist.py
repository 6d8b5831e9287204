"""Help beside a task, worked out before anybody is asked: similar sentences, and another judge's verdicts.

Contextual mapping (UniSumEval; Lee et al., 2024): the share of document sentences most similar to what is shown. The
similarity here is lexical, the cosine of TF-IDF vectors over the document's sentences; scores of any other kind
come from a file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from summeter.data.faults import Faults
from summeter.data.formats import format_of, read_rows
from summeter.records import Judgment, UsageError
from summeter.runs.run import RunFolder
from summeter.text.ngrams import words

Vector = dict[str, float]


class Similarity:
    """Cosine of TF-IDF vectors between a text and each sentence of one document.

    idf(w) = ln((1 + n) / (1 + df(w))) + 1, for n sentences of which df hold the word. Values in [0, 1].

    >>> [round(one, 2) for one in Similarity(["The cat sat.", "Dogs bark."]).scores("A cat sat")]
    [0.62, 0.0]
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        counts = [_counts(one) for one in sentences]
        holds = Counter(word for one in counts for word in one)
        self._usual = math.log(1 + len(sentences)) + 1
        self._idf = {word: math.log((1 + len(sentences)) / (1 + df)) + 1 for word, df in holds.items()}
        self._vectors = [self._unit(one) for one in counts]

    def scores(self, text: str) -> list[float]:
        """One value a sentence of the document."""
        wanted = self._unit(_counts(text))
        return [sum(weight * other.get(word, 0.0) for word, weight in wanted.items()) for other in self._vectors]

    def _unit(self, counts: Counter[str]) -> Vector:
        raw = {word: count * self._idf.get(word, self._usual) for word, count in counts.items()}
        length = math.sqrt(sum(one * one for one in raw.values()))
        return {word: one / length for word, one in raw.items()} if length else {}


def _counts(text: str) -> Counter[str]:
    return Counter(token.text for token in words(text))


def top(scores: Sequence[float], share: float) -> list[int]:
    """The indexes of the `share` of sentences with the highest scores (rounded up), in order; none that scores 0.

    >>> top([0.1, 0.9, 0.0, 0.4], 0.5)
    [1, 3]
    """
    most = math.ceil(share * len(scores))
    best = sorted(range(len(scores)), key=lambda index: (-scores[index], index))[:most]
    return sorted(index for index in best if scores[index] > 0)


def read_scores(file: Path, sentences: Mapping[str, int]) -> dict[tuple[str, str], list[float]]:
    """Scores made elsewhere, by (document, text shown); `sentences` counts each document's."""
    faults = Faults(str(file))
    found: dict[tuple[str, str], list[float]] = {}
    for line, row in read_rows(file, faults, format_of(file, None)):
        doc_id, text, scores = row.get("doc_id"), row.get("text"), row.get("scores")
        if not isinstance(doc_id, str) or doc_id not in sentences:
            continue
        if not isinstance(text, str):
            faults.add(line, "text", "is no text; give the sentence or key fact that is shown")
        elif not isinstance(scores, list) or not all(
            isinstance(one, int | float) and not isinstance(one, bool) for one in scores
        ):
            faults.add(line, "scores", "is no list of numbers; give one a sentence of the document")
        elif len(scores) != sentences[doc_id]:
            faults.add(
                line, "scores", f"has {len(scores)} values for {sentences[doc_id]} sentences; give one a sentence"
            )
        else:
            found[doc_id, text] = [float(one) for one in scores]
    faults.stop()
    return found


class Verdicts:
    """What a machine said, by target."""

    def __init__(self, judgments: Sequence[Judgment]) -> None:
        self._by_unit: dict[tuple[str, str, str, int], Judgment] = {}
        self._facts: dict[tuple[str, int], Judgment] = {}
        for one in judgments:
            target = one.target
            if one.status != "ok" or target.index is None:
                continue
            self._by_unit[target.document_id, target.system, target.unit, target.index] = one
            if target.unit == "key_fact":
                self._facts[target.document_id, target.index] = one

    def sentence(self, document: str, system: str, index: int) -> Judgment | None:
        """The verdict on a sentence of a summary."""
        return self._by_unit.get((document, system, "sentence", index))

    def key_fact(self, document: str, system: str, index: int) -> Judgment | None:
        """The verdict on a key fact for a summary."""
        return self._by_unit.get((document, system, "key_fact", index))

    def fact(self, document: str, index: int) -> Judgment | None:
        """The verdict on a key fact of a document, whichever summary it hangs on."""
        return self._facts.get((document, index))

    def __len__(self) -> int:
        return len(self._by_unit)


def read_verdicts(folder: Path, judge: str | None, aspect: str, kind: str) -> Verdicts:
    """The verdicts of one judge of a run. Raises UsageError where there are none, or of several judges."""
    run = RunFolder(folder)
    unit = "sentence" if kind == "fact_verification" else "key_fact"
    found = [one for one in run.judgments() if one.aspect == aspect and one.target.unit == unit]
    judges = sorted({one.judge for one in found})
    if judge is not None:
        if judge not in judges:
            raise UsageError(f"{folder}: no judge {judge!r} gave verdicts of {aspect} on {unit}s; {_have(judges)}")
        found = [one for one in found if one.judge == judge]
    elif len(judges) > 1:
        raise UsageError(f"{folder}: several judges gave verdicts of {aspect}; choose one in assistance.machine.judge: "
                         f"{', '.join(judges)}")  # fmt: skip
    if not found:
        raise UsageError(f"{folder}: the run holds no verdict of {aspect} on {unit}s; {_have(judges)}")
    return Verdicts(found)


def _have(judges: Sequence[str]) -> str:
    return f"judges that did: {', '.join(judges)}" if judges else "no judge did"


def decided(judgment: Judgment) -> bool | None:
    """Whether a verdict says yes; None where it does not decide.

    A label of 0 or 1 decides; without one a value on [0, 1] does at a half.
    """
    if isinstance(judgment.label, int) and judgment.label in (0, 1):
        return bool(judgment.label)
    if judgment.label is None and judgment.value is not None and 0 <= judgment.value <= 1:
        return judgment.value >= 0.5
    return None


def shown_verdict(kind: str, judgment: Judgment, sentences: Sequence[tuple[int, int]]) -> dict[str, Any] | None:
    """A verdict as a page gets it (design/annotate.md); `sentences` are the offsets of the summary's."""
    said = decided(judgment)
    if said is None:
        return None
    reason = judgment.reason or None
    if kind == "fact_verification":
        types = [judgment.error_type] if judgment.error_type and not said else []
        return {"verdict": "supported" if said else "not_supported", "error_types": types, "reason": reason}
    if kind == "key_fact_validation":
        return {"verdict": "valid" if said else "not_valid", "reason": reason}
    spans = [(one.start, one.end) for one in judgment.evidence if one.of == "summary"]
    touched = [index for index, (start, end) in enumerate(sentences)
               if any(low < end and start < high for low, high in spans)]  # fmt: skip
    return {"sentences": touched if said else [], "reason": reason}
