"""The items on which a judge and people differ, the worst first, with what the judge said and pointed at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from pydantic import Field

from summeter.choices import Level
from summeter.meta.gold import Votes
from summeter.meta.matrix import PairedScores
from summeter.records import Judgment, Record
from summeter.runs.run import RunFolder
from summeter.stats.base import Floats


class Evidence(Record):
    """A span a judge pointed at, with its text."""

    of: str
    start: int
    end: int
    text: str


class Disagreement(Record):
    """One unit on which judge and people differ. `distance` is |score - gold|, 1 the worst for scores in [0, 1]."""

    document_id: str
    system: str
    unit: str
    index: int | None
    text: str | None
    score: float | None
    decision: int
    gold: int
    distance: float
    votes: dict[str, float] = Field(default_factory=dict)
    reason: str | None = None
    evidence: tuple[Evidence, ...] = ()


_Key = tuple[str | None, str | None, int]


def disagreements(run: RunFolder, pairs: PairedScores, said: Floats, found: Votes | None) -> list[Disagreement]:
    """Units where the decision `said` and people's label `pairs.y` differ: the surest errors first, then those on
    which most annotators agree."""
    keys: list[_Key] = list(zip(pairs.document.labels(), pairs.system.labels(), pairs.index.tolist(), strict=True))
    rows = [row for row in range(len(pairs)) if not np.isnan(said[row] + pairs.y[row]) and said[row] != pairs.y[row]]
    wanted = {keys[row] for row in rows}
    records = _records(run.judgments(), pairs, wanted) if wanted else {}
    cast = _cast(found, wanted)
    texts = _Texts(run) if wanted else None
    made = [
        _one(texts, pairs, row, int(said[row]), keys[row], records.get(keys[row]), cast.get(keys[row], {}))
        for row in rows if texts is not None
    ]  # fmt: skip
    return sorted(made, key=lambda one: (-one.distance, -_agreed(one), one.document_id, one.system, one.index or 0))


def _agreed(one: Disagreement) -> float:
    return sum(vote == one.gold for vote in one.votes.values()) / len(one.votes) if one.votes else 0.0


def _records(judgments: Iterable[Judgment], pairs: PairedScores, wanted: set[_Key]) -> Mapping[_Key, Judgment]:
    made: dict[_Key, Judgment] = {}
    for one in judgments:
        index = -1 if one.target.index is None else one.target.index
        key = (one.target.document_id, one.target.system, index)
        fits = one.signature == pairs.judge.signature and one.aspect == pairs.judge.aspect
        if fits and one.target.unit == pairs.level.value and key in wanted:
            made[key] = one
    return made


def _cast(found: Votes | None, wanted: set[_Key]) -> dict[_Key, dict[str, float]]:
    if found is None:
        return {}
    keys = zip(found.document.labels(), found.system.labels(), found.index.tolist(), strict=True)
    return {
        key: {rater: float(vote) for rater, vote in zip(found.raters, found.values[:, place], strict=True)
              if not np.isnan(vote)}
        for place, key in enumerate(keys) if key in wanted
    }  # fmt: skip


class _Texts:
    """The texts of a run's data, looked up once."""

    def __init__(self, run: RunFolder) -> None:
        self.documents = run.data.documents
        self.summaries = {(one.document_id, one.system): one for one in run.data.summaries}

    def unit(self, key: _Key, level: Level) -> str | None:
        """The sentence, key fact or summary that was judged; None where the data do not hold it."""
        document, system, index = key
        if level is Level.KEY_FACT:
            known = self.documents.get(document or "")
            facts = known.key_facts if known is not None else ()
            return facts[index] if 0 <= index < len(facts) else None
        summary = self.summaries.get((document or "", system or ""))
        if summary is None or index < 0:
            return None if summary is None else summary.text
        texts = summary.sentence_texts
        return texts[index] if index < len(texts) else None

    def evidence(self, record: Judgment) -> Iterator[Evidence]:
        """The spans of a judgment with their texts."""
        target = record.target
        for span in record.evidence:
            if span.of == "document":
                text = self.documents[target.document_id].text
            else:
                text = self.summaries[(target.document_id, target.system)].text
            yield Evidence(of=span.of, start=span.start, end=span.end, text=span.cut(text))


def _one(
    texts: _Texts,
    pairs: PairedScores,
    row: int,
    decision: int,
    key: _Key,
    record: Judgment | None,
    cast: dict[str, float],
) -> Disagreement:
    document, system, index = key
    score = None if record is None else record.value
    gold = int(pairs.y[row])
    return Disagreement(
        document_id=document or "", system=system or "", unit=pairs.level.value, index=None if index < 0 else index,
        text=texts.unit(key, pairs.level), score=score, decision=decision, gold=gold,
        distance=abs((decision if score is None else score) - gold), votes=cast,
        reason=None if record is None else record.reason,
        evidence=() if record is None else tuple(texts.evidence(record)),
    )  # fmt: skip
