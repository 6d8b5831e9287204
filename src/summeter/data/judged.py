"""Blocks of people's judgments as judgments, and judgments as blocks: nothing is lost on the way there and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from summeter.data.human import BLOCKS, CROWD, PEOPLE, PER_KEY_FACT, SCORES, Subject, votes
from summeter.records import Judgment, KeyFacts, Span, Summary, Target, Unit, names_no_error, signature

NO_VOTE = "no vote"


SIGNATURES = {name: signature(f"human.{name}", {"v": 1}) for name in BLOCKS}
"""What a block's judgments are signed with: `human.ratings|v:1`."""


def list_id_of(key_facts: Sequence[str]) -> str | None:
    """The name of a list of given key facts; None for an empty one."""
    return KeyFacts.of(key_facts, "given").id if key_facts else None


def to_judgments(block: Mapping[str, Any], subject: Subject, wanted: str) -> Iterator[Judgment]:
    """The judgments of a checked block that belong to the set `wanted`."""
    if wanted == CROWD:
        yield from _scores(block, subject, "crowd_ratings")
        return
    yield from _scores(block, subject, "ratings")
    yield from _scores(block, subject, "overall")
    yield from _sentences(block, subject)
    yield from _key_facts(block, subject)
    yield from _alignment(block, subject)
    yield from _spans(block, subject)


def _target(summary: Summary, unit: Unit, index: int | None = None, list_id: str | None = None) -> Target:
    return Target(document_id=summary.document_id, system=summary.system, unit=unit, index=index, list_id=list_id)


def _skipped(target: Target, aspect: str, judge: str, block: str, reason: str = NO_VOTE) -> Judgment:
    return Judgment(
        target=target, aspect=aspect, judge=judge, signature=SIGNATURES[block], status="skipped", reason=reason
    )


def _scores(block: Mapping[str, Any], subject: Subject, name: str) -> Iterator[Judgment]:
    target, mark = _target(subject.summary, "summary"), SIGNATURES[name]
    for aspect, cell in (block.get(name) or {}).items():
        for judge, value in votes(cell):
            if value is None:
                yield _skipped(target, aspect, judge, name)
            else:
                yield Judgment(target=target, aspect=aspect, judge=judge, signature=mark, value=float(value))


def _sentences(block: Mapping[str, Any], subject: Subject) -> Iterator[Judgment]:
    labels, types = block.get("sentence_labels"), block.get("sentence_error_types")
    name, mark = "sentence_labels", SIGNATURES["sentence_labels"]
    for index in range(len(labels or types or ())):
        target = _target(subject.summary, "sentence", index)
        kinds = {judge: kind for judge, kind in votes(types[index] if types else None) if kind is not None}
        voted = dict(votes(labels[index])) if labels else {}
        if kinds and voted.get(PEOPLE, "") is None:
            del voted[PEOPLE]  # "no aggregated label" says nothing where annotators named types
        if not kinds and not voted:
            voted = {PEOPLE: None}
        for judge in {**voted, **kinds}:
            kind, vote = kinds.get(judge), voted.get(judge)
            if isinstance(vote, str):
                kind, vote = vote, None
            if vote is None and kind is None:
                yield _skipped(target, "faithfulness", judge, name)
                continue
            label = _decided(vote, kind)
            yield Judgment(
                target=target, aspect="faithfulness", judge=judge, signature=mark, value=float(label), label=label,
                error_type=kind,
            )  # fmt: skip


def _decided(vote: Any, kind: str | None) -> int:
    """The label: as voted, else what the error type implies."""
    if kind is not None and vote is None:
        return int(names_no_error(kind))
    return int(vote)


def _key_facts(block: Mapping[str, Any], subject: Subject) -> Iterator[Judgment]:
    name, mark = "key_fact_labels", SIGNATURES["key_fact_labels"]
    cells = block.get(name) or ()
    for index, cell in enumerate(cells):
        target = _target(subject.summary, "key_fact", index, subject.list_id)
        for judge, vote in votes(cell):
            if vote is None:
                yield _skipped(target, "completeness", judge, name)
            else:
                yield Judgment(
                    target=target, aspect="completeness", judge=judge, signature=mark, value=float(vote),
                    label=int(vote),
                )  # fmt: skip


def _alignment(block: Mapping[str, Any], subject: Subject) -> Iterator[Judgment]:
    name, mark = "alignment", SIGNATURES["alignment"]
    cells, sentences = block.get(name) or (), subject.summary.sentences
    carried: dict[str, set[int]] = {}
    answered: dict[str, int] = {}
    for index, cell in enumerate(cells):
        target = _target(subject.summary, "key_fact", index, subject.list_id)
        for judge, places in votes(cell):
            carried.setdefault(judge, set()).update(places or ())
            answered[judge] = answered.get(judge, 0) + (places is not None)
            if places is None:
                yield _skipped(target, "completeness", judge, name)
                continue
            present = int(bool(places))
            yield Judgment(
                target=target, aspect="completeness", judge=judge, signature=mark, value=float(present),
                label=present, evidence=tuple(sentences[place] for place in places),
            )  # fmt: skip
    for judge, kept in carried.items():
        for index in range(len(sentences)):
            target = _target(subject.summary, "sentence", index)
            if index not in kept and answered[judge] < len(cells):  # it may carry a fact that was not voted on
                yield _skipped(target, "conciseness", judge, name, "no vote on some key facts")
            else:
                label = int(index in kept)
                yield Judgment(
                    target=target, aspect="conciseness", judge=judge, signature=mark, value=float(label), label=label
                )


def _spans(block: Mapping[str, Any], subject: Subject) -> Iterator[Judgment]:
    for index, span in enumerate(block.get("spans") or ()):
        named = span["label"] if isinstance(span["label"], str) else None
        label = _decided(None if named else span["label"], named)
        yield Judgment(
            target=_target(subject.summary, "span", index), aspect="faithfulness",
            judge=span.get("annotator") or PEOPLE, signature=SIGNATURES["spans"], value=float(label), label=label,
            error_type=named, evidence=(Span(of="summary", start=span["start"], end=span["end"]),),
        )  # fmt: skip


def to_block(judgments: Iterable[Judgment], subject: Subject) -> tuple[dict[str, Any], int]:
    """The block that says what these judgments of one summary say, and how many it has no place for."""
    block = _Block(subject)
    homeless = sum(not block.add(judgment) for judgment in judgments)
    return block.finished(), homeless


class _Block:
    """Cells by annotator while judgments come in."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.places = {(span.start, span.end): index for index, span in enumerate(subject.summary.sentences)}
        self.scores: dict[str, dict[str, dict[str, Any]]] = {}
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self.spans: dict[int, dict[str, Any]] = {}

    def add(self, judgment: Judgment) -> bool:
        """Whether the judgment has a place in the block."""
        name = judgment.signature.partition("|")[0].removeprefix("human.")
        index, unit = judgment.target.index, judgment.target.unit
        if judgment.signature != SIGNATURES.get(name) or judgment.status not in {"ok", "skipped"}:
            return False
        if name in SCORES and unit == "summary":
            cell = self.scores.setdefault(name, {}).setdefault(judgment.aspect, {})
            cell[judgment.judge] = _short(judgment.value)
            return True
        if index is None:
            return False
        if name == "spans" and unit == "span" and len(judgment.evidence) == 1:
            self.spans[index] = _span_row(judgment)
            return True
        return self._add_to_list(name, unit, index, judgment)

    def _add_to_list(self, name: str, unit: Unit, index: int, judgment: Judgment) -> bool:
        judge = judgment.judge
        if name == "sentence_labels" and unit == "sentence" and index < len(self.places):
            self._cells(name, len(self.places))[index][judge] = judgment.label
            if judgment.error_type is not None:
                self._cells("sentence_error_types", len(self.places))[index][judge] = judgment.error_type
            return True
        if name == "alignment" and unit == "sentence":
            return True  # derived from the key facts' sentences; derived again on import
        facts = len(self.subject.key_facts)
        known = judgment.target.list_id == self.subject.list_id and index < facts
        if name not in PER_KEY_FACT or unit != "key_fact" or not known:
            return False
        if name == "key_fact_labels":
            self._cells(name, facts)[index][judge] = judgment.label
            return True
        places = [self.places.get((span.start, span.end)) for span in judgment.evidence]
        self._cells(name, facts)[index][judge] = None if judgment.label is None else places
        return None not in places

    def _cells(self, name: str, count: int) -> list[dict[str, Any]]:
        return self.lists.setdefault(name, [{} for _ in range(count)])

    def finished(self) -> dict[str, Any]:
        block: dict[str, Any] = {
            name: {aspect: _cell(voted) for aspect, voted in aspects.items()} for name, aspects in self.scores.items()
        }
        block |= {name: [_cell(voted) for voted in cells] for name, cells in self.lists.items()}
        if self.spans:
            block["spans"] = [self.spans[index] for index in sorted(self.spans)]
        return block


def _cell(voted: dict[str, Any]) -> Any:
    if not voted:
        return None
    return voted[PEOPLE] if list(voted) == [PEOPLE] else voted


def _short(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value


def _span_row(judgment: Judgment) -> dict[str, Any]:
    span = judgment.evidence[0]
    who = {} if judgment.judge == PEOPLE else {"annotator": judgment.judge}
    label = judgment.label if judgment.error_type is None else judgment.error_type
    return {**who, "start": span.start, "end": span.end, "label": label}
