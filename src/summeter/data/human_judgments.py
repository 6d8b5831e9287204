"""Blocks of people's judgments as judgments, and judgments as blocks: nothing is lost on the way there and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from summeter.choices import QuestionType
from summeter.data.human import BLOCKS, CROWD, PEOPLE, HumanBlock, Subject
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


def current_aspect(judgment: Judgment) -> Judgment:
    """The judgment under today's aspect: campaigns used to export `SPAN_FREE` labels as `faithfulness_spans`."""
    if judgment.aspect == "faithfulness_spans" and judgment.signature == SIGNATURES[SPAN_FREE]:
        return judgment.model_copy(update={"aspect": "faithfulness"})
    return judgment


def list_id_of(key_facts: Sequence[str]) -> str | None:
    """The name of a list of given key facts; None for an empty one."""
    return KeyFacts.of(key_facts, "given").id if key_facts else None


def to_judgments(block: HumanBlock, subject: Subject, wanted: str, readers: Iterable[str] = ()) -> Iterator[Judgment]:
    """The judgments of a block that belong to the set `wanted`.

    `readers` looked for spans in the summary, whether or not they marked any.
    """
    if wanted == CROWD:
        yield from _scores(block, subject, "crowd_ratings")
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
        voted = dict(labels[index]) if labels else {}
        if named and voted.get(PEOPLE, "") is None:
            del voted[PEOPLE]  # "no aggregated label" says nothing where annotators named types
        if not named and not voted:
            voted = {PEOPLE: None}
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
    carriers: dict[str, set[int]] = {}
    answered: dict[str, int] = {}
    for index, votes in enumerate(cells):
        target = _target(subject, "key_fact", index)
        for judge, places in votes.items():
            carriers.setdefault(judge, set()).update(places or ())
            answered[judge] = answered.get(judge, 0) + (places is not None)
            present = None if places is None else int(bool(places))
            evidence = tuple(sentences[place] for place in places or ())
            yield _judgment(target, "alignment", "completeness", judge, label=present, evidence=evidence)
    targets = [_target(subject, "sentence", index) for index in range(len(sentences))]
    for judge, carrying in carriers.items():
        every = answered[judge] == len(cells)  # else a sentence may carry a fact that was not voted on
        for index, target in enumerate(targets):
            label = int(index in carrying) if every or index in carrying else None
            why = "no vote on some key facts"
            yield _judgment(target, "alignment", "conciseness", judge, label=label, reason=why)


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

    Having marked nothing leaves no trace of its own. An annotator of spans has read a summary whose block names him
    or her anywhere; one who gave nothing but spans has read every summary with `spans` of each document in which he
    or she marked something. Aggregated spans were looked for wherever `spans` is given. An annotator without a name
    has read no other summary. `annotators` are those of all the data, of which `blocks` may be a part.
    """
    markers: dict[str, set[str]] = {}
    own: dict[tuple[str, str], set[str]] = {}
    voters: dict[tuple[str, str], set[str]] = {}
    for summary, block in blocks:
        if block.spans is not None:
            item = summary.document_id, summary.system
            own[item] = {span.judge for span in block.spans}
            voters[item] = block.annotators
            markers.setdefault(summary.document_id, set()).update(own[item])
    only_spans = annotators.only_spans
    everywhere = annotators.marked & {PEOPLE}
    return {
        item: sorted(own[item] | (annotators.marked & voters[item]) | (markers[item[0]] & only_spans) | everywhere)
        for item in own
    }


def to_block(judgments: Iterable[Judgment], subject: Subject) -> tuple[dict[str, Any], int]:
    """The block that says what these judgments of one summary say, and how many it has no place for."""
    block = _Block(subject)
    unplaced = sum(not block.add(judgment) for judgment in judgments)
    return block.finished(), unplaced


class _Block:
    """Cells by annotator while judgments come in."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.places = {(span.start, span.end): index for index, span in enumerate(subject.summary.sentences)}
        self.scores: dict[str, dict[str, dict[str, Any]]] = {}
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self.spans: dict[int, dict[str, Any]] | None = None

    def add(self, judgment: Judgment) -> bool:
        """Whether the judgment has a place in the block."""
        name = judgment.signature.partition("|")[0].removeprefix("human.")
        index, unit = judgment.target.index, judgment.target.unit
        if judgment.signature != SIGNATURES.get(name) or judgment.status not in {"ok", "skipped"}:
            return False
        match name, unit:
            case (("ratings" | "crowd_ratings" | "overall"), "summary"):
                cell = self.scores.setdefault(name, {}).setdefault(judgment.aspect, {})
                cell[judgment.judge] = _short(judgment.value)
            case ("spans", "span") if index is not None and len(judgment.evidence) == 1:
                self.spans = {**(self.spans or {}), index: _span_row(judgment)}
            case ("spans_none", "summary") | ("spans_sentences", "sentence") if judgment.aspect == "faithfulness":
                self.spans = self.spans or {}  # the labels are derived again on import
            case ("alignment", "sentence"):
                pass  # derived again on import from the key facts' sentences
            case ("sentence_labels", "sentence") if index is not None and index < len(self.places):
                self._cells(name, len(self.places))[index][judgment.judge] = judgment.label
                if judgment.error_type is not None:
                    types = self._cells("sentence_error_types", len(self.places))
                    types[index][judgment.judge] = judgment.error_type
            case ("conciseness_labels", "sentence") if index is not None and index < len(self.places):
                self._cells(name, len(self.places))[index][judgment.judge] = judgment.label
            case (("key_fact_labels" | "alignment"), "key_fact") if index is not None:
                return self._add_key_fact(name, index, judgment)
            case _:
                return False
        return True

    def _add_key_fact(self, name: str, index: int, judgment: Judgment) -> bool:
        facts = len(self.subject.key_facts)
        if judgment.target.list_id != self.subject.list_id or index >= facts:
            return False
        if name == "key_fact_labels":
            self._cells(name, facts)[index][judgment.judge] = judgment.label
            return True
        places = [self.places.get((span.start, span.end)) for span in judgment.evidence]
        self._cells(name, facts)[index][judgment.judge] = None if judgment.label is None else places
        return None not in places

    def _cells(self, name: str, count: int) -> list[dict[str, Any]]:
        return self.lists.setdefault(name, [{} for _ in range(count)])

    def finished(self) -> dict[str, Any]:
        block: dict[str, Any] = {
            name: {aspect: _cell(votes) for aspect, votes in aspects.items()} for name, aspects in self.scores.items()
        }
        block |= {name: [_cell(votes) for votes in cells] for name, cells in self.lists.items()}
        if self.spans is not None:
            block["spans"] = [self.spans[index] for index in sorted(self.spans)]
        return block


def _cell(votes: Mapping[str, Any]) -> Any:
    if not votes:
        return None
    return votes[PEOPLE] if list(votes) == [PEOPLE] else votes


def _short(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value


def _span_row(judgment: Judgment) -> dict[str, Any]:
    span = judgment.evidence[0]
    who = {} if judgment.judge == PEOPLE else {"annotator": judgment.judge}
    label = judgment.label if judgment.error_type is None else judgment.error_type
    return {**who, "start": span.start, "end": span.end, "label": label}
