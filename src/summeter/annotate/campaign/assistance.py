"""Assistance, computed when the campaign is made: similar sentences, and another judge's verdicts.

Contextual mapping (UniSumEval; Lee et al., 2024): the share of document sentences most similar to what is shown. The
similarity here is lexical, the cosine of TF-IDF vectors over the document's sentences; scores of any other kind
come from a file.
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


class Similarity:
    """Cosine of TF-IDF vectors between a text and each sentence of one document.

    idf(w) = ln((1 + n) / (1 + df(w))) + 1, for n sentences of which df hold the word. Values in [0, 1].

    >>> [round(one, 2) for one in Similarity(["The cat sat.", "Dogs bark."]).scores("A cat sat")]
    [0.56, 0.0]
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        counts = [_counts(sentence) for sentence in sentences]
        holds = Counter(word for bag in counts for word in bag)
        self._usual = math.log(1 + len(sentences)) + 1
        self._idf = {word: math.log((1 + len(sentences)) / (1 + df)) + 1 for word, df in holds.items()}
        self._vectors = [self._unit(bag) for bag in counts]

    def scores(self, text: str) -> list[float]:
        """One value a sentence of the document."""
        wanted = self._unit(_counts(text))
        return [sum(weight * other.get(word, 0.0) for word, weight in wanted.items()) for other in self._vectors]

    def _unit(self, counts: Counter[str]) -> Vector:
        raw = {word: count * self._idf.get(word, self._usual) for word, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in raw.values()))
        return {word: weight / length for word, weight in raw.items()} if length else {}


def _counts(text: str) -> Counter[str]:
    return Counter(token.text for token in words(text))


def top(scores: Sequence[float], share: float, most: int) -> list[int]:
    """The indexes of the `share` of sentences with the highest scores (rounded up), `most` at most, the best first.

    None that scores 0.

    >>> top([0.4, 0.1, 0.0, 0.9], 0.5, 10)
    [3, 0]
    """
    wanted = min(most, math.ceil(share * len(scores)))
    best = sorted(range(len(scores)), key=lambda index: (-scores[index], index))[:wanted]
    return [index for index in best if scores[index] > 0]


def read_scores(file: Path, sentences: Mapping[str, int]) -> dict[tuple[str, str], list[float]]:
    """Scores made elsewhere, by (document, text shown); `sentences` counts each document's."""
    faults = Faults(str(file))
    by_text: dict[tuple[str, str], list[float]] = {}
    for _, line, row, _ in read_rows(file, faults, format_of(file)):
        doc_id, text, scores = row.get("doc_id"), row.get("text"), row.get("scores")
        if not isinstance(doc_id, str) or doc_id not in sentences:
            continue
        if not isinstance(text, str):
            faults.add(line, "text", "is no text; give the sentence or key fact that is shown")
        elif not isinstance(scores, list) or not all(
            isinstance(score, int | float) and not isinstance(score, bool) for score in scores
        ):
            faults.add(line, "scores", "is no list of numbers; give one a sentence of the document")
        elif len(scores) != sentences[doc_id]:
            faults.add(
                line, "scores", f"has {len(scores)} values for {sentences[doc_id]} sentences; give one a sentence"
            )
        else:
            by_text[doc_id, text] = [float(score) for score in scores]
    faults.stop()
    return by_text


class Verdicts:
    """A machine's judgments of one unit (sentences or key facts), by target."""

    def __init__(self, judgments: Sequence[Judgment]) -> None:
        self._by_summary: dict[tuple[str, str, int], Judgment] = {}
        self._by_document: dict[tuple[str, int], Judgment] = {}
        for judgment in judgments:
            target = judgment.target
            if judgment.status == "ok" and target.index is not None:
                self._by_summary[target.document_id, target.system, target.index] = judgment
                self._by_document[target.document_id, target.index] = judgment

    def of_summary(self, document: str, system: str, index: int) -> Judgment | None:
        """The judgment of a unit for a summary."""
        return self._by_summary.get((document, system, index))

    def of_document(self, document: str, index: int) -> Judgment | None:
        """The judgment of a unit of a document, whichever summary it hangs on; the last where there are several."""
        return self._by_document.get((document, index))

    def __len__(self) -> int:
        return len(self._by_summary)


def read_verdicts(machine: Machine, base: Path, data: Dataset, aspect: str, unit: Unit) -> Verdicts:
    """The verdicts of one judge, of a run (relative to the folder `base`) or of a judgment set of the data.

    Raises UsageError where there are none, or of several judges.
    """
    judge = machine.judge
    if machine.set is None:
        run = base / (machine.run or "")
        every: Iterable[Judgment] = RunFolder(run).judgments()
        where = f"{run}: the run"
    else:
        every, where = data.iter_judgments(machine.set), f"the judgment set {machine.set}"
    judgments = [judgment for judgment in every if judgment.aspect == aspect and judgment.target.unit == unit]
    judges = sorted({judgment.judge for judgment in judgments})
    known = f"judges that did: {', '.join(judges)}" if judges else "no judge did"
    if judge is not None:
        if judge not in judges:
            raise UsageError(f"{where}: no judge {judge!r} gave verdicts of {aspect} on {unit}s; {known}")
        judgments = [judgment for judgment in judgments if judgment.judge == judge]
    elif len(judges) > 1:
        raise UsageError(
            f"{where}: several judges gave verdicts of {aspect}; choose one in assistance.machine.judge: "
            f"{', '.join(judges)}"
        )
    if not judgments:
        raise UsageError(f"{where} holds no verdict of {aspect} on {unit}s; {known}")
    return Verdicts(judgments)


def decided(judgment: Judgment) -> bool | None:
    """Whether a verdict says yes; None where it does not decide.

    A label of 0 or 1 decides; without one a value on [0, 1] does at a half.
    """
    if isinstance(judgment.label, int) and judgment.label in (0, 1):
        return bool(judgment.label)
    if judgment.label is None and judgment.value is not None and 0 <= judgment.value <= 1:
        return judgment.value >= 0.5
    return None
