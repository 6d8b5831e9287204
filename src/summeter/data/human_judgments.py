"""Convert `human` blocks to judgments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from summeter.choices import QuestionType
from summeter.data.human import BLOCKS, CROWD, PEOPLE, RAW, HumanBlock, Subject, voters_of
from summeter.records import (
    Judgment,
    KeyFacts,
    Span,
    Summary,
    Target,
    Unit,
    joined_error_types,
    names_no_error,
    signature,
    unnamed,
)

NO_VOTE = "no vote"
SPAN_FREE = "spans_none"
"""Name of the labels that are 1 if a summary has no error span, otherwise 0."""
SPAN_SENTENCES = "spans_sentences"
"""Name of the labels that are 1 if no error span overlaps a sentence, otherwise 0."""

SIGNATURES = {
    name: signature(f"human.{name}", {"v": 1}) for name in (*BLOCKS, SPAN_FREE, SPAN_SENTENCES, *map(str, QuestionType))
}
"""The signature of the judgments from each field, such as `human.ratings|v:1`."""
SPAN_LABELS = frozenset({SIGNATURES[SPAN_FREE], SIGNATURES[SPAN_SENTENCES]})
"""Signatures of the labels that are derived from spans."""


def list_id_of(key_facts: Sequence[str]) -> str | None:
    """Return the id of a list of key facts, or None if the list is empty."""
    return KeyFacts.of(key_facts, "given").id if key_facts else None


def to_judgments(block: HumanBlock, subject: Subject, wanted: str, readers: Iterable[str] = ()) -> Iterator[Judgment]:
    """Yield the judgments of a block that belong to the set `wanted`.

    `readers` are the annotators who searched the summary for spans, whether or not they marked any.
    """
    yield from (record.judgment for record in block.judgments or () if record.set == wanted)
    target = _target(subject, "summary")
    if wanted == CROWD:
        yield from score_judgments(target, block.crowd_ratings, "crowd_ratings")
    if wanted != RAW:
        return
    yield from score_judgments(target, block.ratings, "ratings")
    yield from score_judgments(target, block.overall, "overall")
    yield from _sentences(block, subject)
    yield from _labels(block.conciseness_labels, subject, "sentence", "conciseness_labels", "conciseness")
    yield from _labels(block.key_fact_labels, subject, "key_fact", "key_fact_labels", "completeness")
    yield from _alignment(block, subject)
    yield from _spans(block, subject)
    yield from _span_labels(block, subject, readers)


def _target(subject: Subject, unit: Unit, index: int | None = None) -> Target:
    list_id = subject.list_id if unit == "key_fact" else None
    summary = subject.summary
    return Target(document_id=summary.document_id, system=summary.system, unit=unit, index=index, list_id=list_id)


def _judgment(
    target: Target, block: str, aspect: str, judge: str, *, label: int | None, reason: str = NO_VOTE, **more: Any
) -> Judgment:
    """Return a judgment with a label, or a skipped judgment if the label is None (no vote)."""
    if label is None:
        more |= {"status": "skipped", "reason": reason}
    value = None if label is None else float(label)
    return Judgment(
        target=target, aspect=aspect, judge=judge, signature=SIGNATURES[block], value=value, label=label, **more
    )


def score_judgments(
    target: Target, scores: Mapping[str, Mapping[str, float | None]] | None, name: str
) -> Iterator[Judgment]:
    """Yield the judgments of a summary from the field `name`, which contains `{aspect: {annotator: value}}`."""
    for aspect, votes in (scores or {}).items():
        for judge, value in votes.items():
            fields: dict[str, Any] = {"target": target, "aspect": aspect, "judge": judge, "signature": SIGNATURES[name]}
            outcome = {"status": "skipped", "reason": NO_VOTE} if value is None else {"value": value}
            yield Judgment(**fields, **outcome)


def _sentences(block: HumanBlock, subject: Subject) -> Iterator[Judgment]:
    labels, types = block.sentence_labels, block.sentence_error_types
    for index in range(len(labels or types or ())):
        typed = {judge: name for judge, name in types[index].items() if name is not None} if types else {}
        voted: dict[str, Any] = dict(labels[index]) if labels else dict.fromkeys(types[index]) if types else {}
        if typed and voted.get(PEOPLE, "") is None and PEOPLE not in typed:
            del voted[PEOPLE]  # a missing aggregated label is irrelevant if annotators gave types
        target = _target(subject, "sentence", index)
        for judge in {**voted, **typed}:
            error_type, label = typed.get(judge), voted.get(judge)
            if isinstance(label, str):
                error_type, label = label, None
            if error_type is not None and label is None:
                label = int(names_no_error(error_type))
            yield _judgment(target, "sentence_labels", "faithfulness", judge, label=label, error_type=error_type)


def _labels(
    cells: Sequence[Mapping[str, int | None]] | None, subject: Subject, unit: Unit, block: str, aspect: str
) -> Iterator[Judgment]:
    for index, votes in enumerate(cells or ()):
        target = _target(subject, unit, index)
        for judge, label in votes.items():
            yield _judgment(target, block, aspect, judge, label=label)


def _alignment(block: HumanBlock, subject: Subject) -> Iterator[Judgment]:
    """Yield the judgments of key facts, with sentences as evidence, and those of conciseness."""
    cells, sentences = block.alignment or (), subject.summary.sentences
    for index, votes in enumerate(cells):
        target = _target(subject, "key_fact", index)
        for judge, indexes in votes.items():
            present = None if indexes is None else int(bool(indexes))
            evidence = tuple(sentences[number] for number in indexes or ())
            yield _judgment(target, "alignment", "completeness", judge, label=present, evidence=evidence)
    targets = [_target(subject, "sentence", index) for index in range(len(sentences))]
    for judge in dict.fromkeys(judge for votes in cells for judge in votes):
        labels = conciseness_labels([votes.get(judge) for votes in cells], len(sentences))
        for target, label in zip(targets, labels, strict=True):
            reason = "no vote on some key facts"
            yield _judgment(target, "alignment", "conciseness", judge, label=label, reason=reason)


def conciseness_labels(alignment: Sequence[Collection[int] | None], sentences: int) -> list[int | None]:
    """Return for each sentence 1 if it conveys a key fact, or 0 if it does not.

    `alignment` contains the sentences of each key fact. If a vote on some key fact is missing (None), all labels are
    None, because otherwise only sentences that convey a key fact would have a label.

    >>> conciseness_labels([[0], []], 2), conciseness_labels([[0], None], 2)
    ([1, 0], [None, None])
    """
    aligned: set[int] = set()
    for indexes in alignment:
        if indexes is None:
            return [None] * sentences
        aligned.update(indexes)
    return [int(index in aligned) for index in range(sentences)]


def _spans(block: HumanBlock, subject: Subject) -> Iterator[Judgment]:
    for index, span in enumerate(block.spans or ()):
        yield _judgment(
            _target(subject, "span", index),
            "spans",
            "faithfulness",
            span.judge,
            label=span.supported,
            error_type=span.label if isinstance(span.label, str) else None,
            evidence=(Span(of="summary", start=span.start, end=span.end),),
        )


def _span_labels(block: HumanBlock, subject: Subject, readers: Iterable[str]) -> Iterator[Judgment]:
    """Yield labels of the summary and its sentences, derived from error spans (SummQual)."""
    for judge in readers:
        errors = [span for span in block.spans or () if span.judge == judge and not span.supported]
        yield _judgment(_target(subject, "summary"), SPAN_FREE, "faithfulness", judge, label=int(not errors))
        for index, sentence in enumerate(subject.summary.sentences):
            overlapping = [span.label for span in errors if span.start < sentence.end and sentence.start < span.end]
            yield _judgment(
                _target(subject, "sentence", index),
                SPAN_SENTENCES,
                "faithfulness",
                judge,
                label=int(not overlapping),
                error_type=joined_error_types(label for label in overlapping if isinstance(label, str)),
            )


class SpanAnnotators:
    """The annotators who marked spans in any summary, and those of them who also gave other votes."""

    def __init__(self) -> None:
        self.marked: set[str] = set()
        self.said_more: set[str] = set()

    def note(self, block: Mapping[str, Any]) -> None:
        """Add the annotators of a valid block."""
        self.marked |= {judge for judge in _marked_by(block) if not unnamed(judge)}
        self.said_more |= voters_of(block)


def _marked_by(block: Mapping[str, Any]) -> set[str]:
    return {span.get("annotator") or PEOPLE for span in block.get("spans") or ()}


def span_readers(
    blocks: Iterable[tuple[Summary, Mapping[str, Any]]], annotators: SpanAnnotators
) -> dict[tuple[str, str], list[str]]:
    """Return the annotators who searched each summary for spans, by (document, system).

    If a block has the field `span_annotators`, it lists these annotators. Otherwise they are inferred. An annotator of
    spans has searched each summary whose block contains one of their votes. An annotator who only marked spans has also
    searched every summary with `spans` of each document in which they marked one. Aggregated spans were searched for in
    every summary with `spans`. An unidentified annotator has searched no other summary. `annotators` are the annotators
    of all the data, of which `blocks`, which are valid, may be a subset.
    """
    markers: dict[str, set[str]] = {}
    readers: dict[tuple[str, str], set[str]] = {}
    inferred: list[tuple[str, str]] = []
    for summary, block in blocks:
        item = summary.document_id, summary.system
        markers.setdefault(summary.document_id, set()).update(_marked_by(block))
        if (listed := block.get("span_annotators")) is not None:
            readers[item] = {*listed, *_marked_by(block)}
        elif block.get("spans") is not None:
            readers[item] = _marked_by(block) | (annotators.marked & {PEOPLE, *voters_of(block)})
            inferred.append(item)
    for item in inferred:
        readers[item] |= markers[item[0]] & annotators.marked - annotators.said_more - {PEOPLE}
    return {item: sorted(judges) for item, judges in readers.items()}
