"""Blocks of people's judgments as judgments, and judgments as blocks: nothing is lost on the way there and back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from summeter.choices import QuestionType
from summeter.data.human import BLOCKS, CROWD, PEOPLE, RAW, HumanBlock, Subject
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
"""The block of labels that say whether a summary has no error span (1) or some (0)."""
SPAN_SENTENCES = "spans_sentences"
"""The block of labels that say whether a sentence is touched by no error span (1) or by some (0)."""

SIGNATURES = {
    name: signature(f"human.{name}", {"v": 1}) for name in (*BLOCKS, SPAN_FREE, SPAN_SENTENCES, *map(str, QuestionType))
}
"""What a block's judgments are signed with: `human.ratings|v:1`."""
SPAN_LABELS = frozenset({SIGNATURES[SPAN_FREE], SIGNATURES[SPAN_SENTENCES]})
"""Signatures of the labels derived from spans: only annotators who looked for spans have them."""


def list_id_of(key_facts: Sequence[str]) -> str | None:
    """The name of a list of given key facts; None for an empty one."""
    return KeyFacts.of(key_facts, "given").id if key_facts else None


def to_judgments(block: HumanBlock, subject: Subject, wanted: str, readers: Iterable[str] = ()) -> Iterator[Judgment]:
    """The judgments of a block that belong to the set `wanted`.

    `readers` looked for spans in the summary, whether or not they marked any.
    """
    yield from (record.judgment for record in block.judgments or () if record.set == wanted)
    if wanted == CROWD:
        yield from _scores(block, subject, "crowd_ratings")
    if wanted != RAW:
        return
    yield from _scores(block, subject, "ratings")
    yield from _scores(block, subject, "overall")
    yield from _sentences(block, subject)
    yield from _carriers(block, subject)
    yield from _key_facts(block, subject)
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
    """A label; None is a vote that was not cast."""
    if label is None:
        more |= {"status": "skipped", "reason": reason}
    value = None if label is None else float(label)
    mark = SIGNATURES[block]
    return Judgment(target=target, aspect=aspect, judge=judge, signature=mark, value=value, label=label, **more)


def _scores(block: HumanBlock, subject: Subject, name: str) -> Iterator[Judgment]:
    target = _target(subject, "summary")
    for aspect, votes in (getattr(block, name) or {}).items():
        for judge, value in votes.items():
            about: dict[str, Any] = {"target": target, "aspect": aspect, "judge": judge, "signature": SIGNATURES[name]}
            outcome = {"status": "skipped", "reason": NO_VOTE} if value is None else {"value": value}
            yield Judgment(**about, **outcome)


def _sentences(block: HumanBlock, subject: Subject) -> Iterator[Judgment]:
    labels, types = block.sentence_labels, block.sentence_error_types
    for index in range(len(labels or types or ())):
        named = {judge: name for judge, name in types[index].items() if name is not None} if types else {}
        voted: dict[str, Any] = dict(labels[index]) if labels else dict.fromkeys(types[index]) if types else {}
        if named and voted.get(PEOPLE, "") is None and PEOPLE not in named:
            del voted[PEOPLE]  # "no aggregated label" says nothing where annotators named types
        target = _target(subject, "sentence", index)
        for judge in {**voted, **named}:
            error_type, label = named.get(judge), voted.get(judge)
            if isinstance(label, str):
                error_type, label = label, None
            if error_type is not None and label is None:
                label = int(names_no_error(error_type))
            yield _judgment(target, "sentence_labels", "faithfulness", judge, label=label, error_type=error_type)


def _carriers(block: HumanBlock, subject: Subject) -> Iterator[Judgment]:
    """Whether a sentence carries a key fact, as people said of the sentence itself."""
    for index, votes in enumerate(block.conciseness_labels or ()):
        target = _target(subject, "sentence", index)
        for judge, label in votes.items():
            yield _judgment(target, "conciseness_labels", "conciseness", judge, label=label)


def _key_facts(block: HumanBlock, subject: Subject) -> Iterator[Judgment]:
    for index, votes in enumerate(block.key_fact_labels or ()):
        target = _target(subject, "key_fact", index)
        for judge, label in votes.items():
            yield _judgment(target, "key_fact_labels", "completeness", judge, label=label)


def _alignment(block: HumanBlock, subject: Subject) -> Iterator[Judgment]:
    """Each key fact with its sentences; then each sentence, which is concise if it carries a fact."""
    cells, sentences = block.alignment or (), subject.summary.sentences
    for index, votes in enumerate(cells):
        target = _target(subject, "key_fact", index)
        for judge, places in votes.items():
            present = None if places is None else int(bool(places))
            evidence = tuple(sentences[place] for place in places or ())
            yield _judgment(target, "alignment", "completeness", judge, label=present, evidence=evidence)
    targets = [_target(subject, "sentence", index) for index in range(len(sentences))]
    for judge in dict.fromkeys(judge for votes in cells for judge in votes):
        labels = conciseness_labels([votes.get(judge) for votes in cells], len(sentences))
        for target, label in zip(targets, labels, strict=True):
            why = "no vote on some key facts"
            yield _judgment(target, "alignment", "conciseness", judge, label=label, reason=why)


def conciseness_labels(alignment: Sequence[Collection[int] | None], sentences: int) -> list[int | None]:
    """Whether each sentence carries a key fact, 1 or 0, by one annotator's `alignment`: the sentences of each key fact.

    All are None unless the annotator voted on every key fact (None: no vote): only sentences that carry one would
    have a label, and every summary would seem concise.

    >>> conciseness_labels([[0], []], 2), conciseness_labels([[0], None], 2)
    ([1, 0], [None, None])
    """
    carrying: set[int] = set()
    for places in alignment:
        if places is None:
            return [None] * sentences
        carrying.update(places)
    return [int(index in carrying) for index in range(sentences)]


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
    """Whether a reader found the summary, and each sentence, free of error spans (SummQual's hallucination label)."""
    for judge in readers:
        errors = [span for span in block.spans or () if span.judge == judge and not span.supported]
        yield _judgment(_target(subject, "summary"), SPAN_FREE, "faithfulness", judge, label=int(not errors))
        for index, sentence in enumerate(subject.summary.sentences):
            touching = [span.label for span in errors if span.start < sentence.end and sentence.start < span.end]
            yield _judgment(
                _target(subject, "sentence", index),
                SPAN_SENTENCES,
                "faithfulness",
                judge,
                label=int(not touching),
                error_type=joined_error_types(label for label in touching if isinstance(label, str)),
            )


class SpanAnnotators:
    """Who marked spans in any summary of the data, and who said more of a summary with `spans` than where they are."""

    def __init__(self) -> None:
        self.marked: set[str] = set()
        self.said_more: set[str] = set()

    def note(self, block: HumanBlock) -> None:
        """Take the names of a block."""
        if block.spans is not None:
            self.marked |= {span.judge for span in block.spans if not unnamed(span.judge)}
            self.said_more |= block.annotators

    @property
    def only_spans(self) -> set[str]:
        """Those who gave nothing but spans."""
        return self.marked - {PEOPLE} - self.said_more


def span_readers(
    blocks: Iterable[tuple[Summary, HumanBlock]], annotators: SpanAnnotators
) -> dict[tuple[str, str], list[str]]:
    """Who looked for spans in which (document, system), whether or not they marked any.

    A block with `span_annotators` says so itself. Without them, having marked nothing leaves no trace. An annotator of
    spans has read a summary whose block names him or her anywhere; one who gave nothing but spans has read every
    summary with `spans` of each document in which he or she marked something. Aggregated spans were looked for
    wherever `spans` is given. An annotator without a name has read no other summary. `annotators` are those of all the
    data, of which `blocks` may be a part.
    """
    markers: dict[str, set[str]] = {}
    own: dict[tuple[str, str], set[str]] = {}
    voters: dict[tuple[str, str], set[str]] = {}
    given: dict[tuple[str, str], list[str]] = {}
    for summary, block in blocks:
        item = summary.document_id, summary.system
        markers.setdefault(summary.document_id, set()).update(span.judge for span in block.spans or ())
        if block.span_annotators is not None:
            given[item] = sorted({*block.span_annotators, *(span.judge for span in block.spans or ())})
        elif block.spans is not None:
            own[item] = {span.judge for span in block.spans}
            voters[item] = block.annotators
    only_spans = annotators.only_spans
    everywhere = annotators.marked & {PEOPLE}
    return given | {
        item: sorted(own[item] | (annotators.marked & voters[item]) | (markers[item[0]] & only_spans) | everywhere)
        for item in own
    }
