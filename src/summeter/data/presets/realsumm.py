"""REALSumm (Bhandari et al., 2020): three or four votes on each key fact ("SCU") of 25 systems' summaries.

The summaries stand in two pickles by number, the votes in a CSV a system, the key facts and the articles apart. The
number of a document becomes its id by the summaries: each vote quotes the one it is about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from summeter.data.faults import Faults
from summeter.data.formats import RECORD_ID
from summeter.data.human import unnamed_votes
from summeter.data.presets.base import ROWS, Cells, Count, FileRole, Joined, LayoutError, Preset, Record, python_list

STATEMENTS = 16
"""Statements in a HIT; those beyond a document's key facts are padding."""
_ANSWERS = {"p": 1, "n": 0, "": None}
_KINDS = ("abs", "ext")


class _Summary(NamedTuple):
    """A system's summary of the document with a number, as its pickle has it."""

    kind: str
    number: str
    system: str
    record: Record
    content: Mapping[str, Any]


def sentences_of(text: str) -> list[str]:
    """The sentences between `<t>` and `</t>`; none where a text has no such marks.

    >>> sentences_of("<t> It rained . </t> <t> We stayed . </t>"), sentences_of("It rained.")
    (['It rained .', 'We stayed .'], [])
    """
    return [sentence.strip() for sentence in re.findall(r"<t>(.*?)</t>", text, re.DOTALL) if sentence.strip()]


def _plain(text: str) -> str:
    return " ".join(sentences_of(text)) or text.strip()


def _letters(text: str) -> str:
    """What is left of a summary to be known by: quoted in a table, its blanks and marks differ."""
    return re.sub(r"[^0-9a-z]", "", re.sub(r"</?t>|<br */?>", "", text.lower()))


def _kind_of(file: str) -> str:
    path = PurePath(file)
    stem = path.name.partition(".")[0]
    kind = next((kind for kind in _KINDS if stem == kind or f"_{kind}_systems" in str(path.parent)), None)
    if kind is None:
        raise ValueError("is neither of the abstractive nor of the extractive systems by its name or folder")
    return kind


def assemble(parts: Mapping[str, Sequence[Record]], faults: Faults) -> Iterator[Record]:
    """A row a summary: its texts, its document, the document's key facts, and the answers to each."""
    summaries = list(_summaries(parts[ROWS], faults))
    votes = list(_votes(parts["votes"], summaries, faults))
    facts = _key_facts(parts["key_facts"])
    articles = _articles(parts["documents"])
    ids = _ids(summaries, votes)
    by_summary: dict[tuple[str, str, str], list[Record]] = {}
    for kind, system, vote in votes:
        by_summary.setdefault((kind, system, str(vote.cells["Input.eventId"])), []).append(vote)
    copied = Counter[str]()
    for summary in summaries:
        own = faults.of(summary.record.file)
        doc_id = ids.get(summary.number)
        if doc_id is None or doc_id not in facts or summary.number not in articles:
            lacks = (
                "votes that quote a summary" if doc_id is None else "key facts" if doc_id not in facts else "article"
            )
            own.add(summary.record.line, summary.system, f"document {summary.number} has no {lacks}")
            continue
        answers = by_summary.get((summary.kind, summary.system, doc_id), [])
        text, scores = str(summary.content.get("system_summary", "")), summary.content.get("scores")
        quoted = str(answers[0].cells.get("Input.summary_text", "")) if answers else ""
        if quoted and _letters(quoted) != _letters(text):
            copied[f"{summary.kind}_{summary.system}"] += 1
            text, scores = quoted, None
        cells = {
            "doc_id": doc_id, "system": f"{summary.kind}_{summary.system}", "document": articles[summary.number],
            "text": text, "reference": _plain(str(summary.record.cells.get("ref_summ", ""))),
            "facts": facts[doc_id], "answers": answers, "scores": scores,
        }  # fmt: skip
        yield Record(summary.record.file, summary.record.line, cells)
    for system, count in copied.items():
        what = "another text than the one people voted on; that one is taken, the stored scores are left out"
        faults.warn(None, system, f"has {what} ({count} summaries)")


def _summaries(records: Iterable[Record], faults: Faults) -> Iterator[_Summary]:
    for record in records:
        systems = record.cells.get("system_summaries")
        if not isinstance(systems, dict) or not all(isinstance(content, dict) for content in systems.values()):
            faults.of(record.file).add(record.line, "system_summaries", "is no object of systems; check the preset")
            continue
        for name, content in systems.items():
            kind, number = _kind_of(record.file), str(record.cells[RECORD_ID])
            yield _Summary(kind, number, name.removesuffix(".txt"), record, content)


def _votes(
    records: Iterable[Record], summaries: Sequence[_Summary], faults: Faults
) -> Iterator[tuple[str, str, Record]]:
    """Each HIT with its kind and system: that of the longest name with which the name of its file begins."""
    names = {kind: sorted({s.system for s in summaries if s.kind == kind}, key=len, reverse=True) for kind in _KINDS}
    unknown = set[str]()
    for record in records:
        try:
            kind = _kind_of(record.file)
        except ValueError as error:
            what = str(error)
        else:
            what = f"begins with the name of none of the systems: {', '.join(names[kind])}"
            system = next((name for name in names[kind] if record.stem.startswith(name)), None)
            if system is not None:
                yield kind, system, record
                continue
        if record.file not in unknown:
            unknown.add(record.file)
            faults.of(record.file).fail(None, None, what)


def _ids(summaries: Sequence[_Summary], votes: Sequence[tuple[str, str, Record]]) -> dict[str, str]:
    """The id of each numbered document: the one that most of its summaries are quoted with."""
    quoted: dict[tuple[str, str], str] = {}
    for kind, _, vote in votes:
        quoted[kind, _letters(str(vote.cells.get("Input.summary_text", "")))] = str(vote.cells["Input.eventId"])
    counts: dict[str, Counter[str]] = {}
    for summary in summaries:
        doc_id = quoted.get((summary.kind, _letters(str(summary.content.get("system_summary", "")))))
        if doc_id is not None:
            counts.setdefault(summary.number, Counter())[doc_id] += 1
    return {number: count.most_common(1)[0][0] for number, count in counts.items()}


def _key_facts(records: Iterable[Record]) -> dict[str, dict[str, str]]:
    """The key facts of each document by question; the padding (answer N) is none."""
    facts: dict[str, dict[str, str]] = {}
    for record in records:
        cells = record.cells
        own = facts.setdefault(str(cells["eventId"]), {})
        if str(cells["answer"]).strip().upper() == "Y":
            own[str(cells["questionId"]).strip()] = str(cells["questionText"]).strip()
    return facts


def _articles(records: Sequence[Record]) -> dict[str, str]:
    """The articles by number: the lines of the file, from 0. Every folder of a system has a copy; one is read."""
    files = list(dict.fromkeys(record.file for record in records))
    chosen = next((file for file in files if PurePath(file).parent.name == "ptr_generator"), files[0])
    return {str(record.line - 1): str(record.cells["text"]).strip() for record in records if record.file == chosen}


def _convert(joined: Joined) -> Iterable[Cells]:
    cells = joined.cells
    facts: dict[str, str] = cells.pop("facts")
    text, answers, scores = cells.pop("text"), cells.pop("answers"), cells.pop("scores")
    row = {**cells, "summary": _plain(text), "domain": "cnndm", "split": "test", "key_facts": list(facts.values())}
    if sentences := sentences_of(text):
        row["sentences"] = sentences
    if scores is not None:
        row["scores"] = scores
    if answers:
        votes = [_answers(vote, facts) for vote in answers]
        row["human"] = {"key_fact_labels": [unnamed_votes([vote[question] for vote in votes]) for question in facts]}
    return [row]


def _answers(vote: Record, facts: Mapping[str, str]) -> dict[str, int | None]:
    """What one person said of each key fact, by question."""
    questions = [str(question).strip() for question in python_list(vote.cells.get("Input.qIdList"), "Input.qIdList")]
    if len(questions) > STATEMENTS or not set(facts) <= set(questions):
        raise LayoutError("Input.qIdList", f"does not name the {len(facts)} key facts of the document ({vote.file})")
    answers: dict[str, int | None] = {}
    for place, question in enumerate(questions, 1):
        column = f"Answer.S{place}Answer"
        answer = str(vote.cells.get(column) or "").strip().lower()
        if question in facts and answer not in _ANSWERS:
            place_of = f"{PurePath(vote.file).name}, line {vote.line}"
            raise LayoutError(column, f"holds {answer!r} where this layout has p (present) or n (not) ({place_of})")
        if question in facts:
            answers[question] = _ANSWERS[answer]
    return answers


REALSUMM = Preset(
    name="realsumm",
    about="REALSumm: votes on each key fact of 25 systems' summaries",
    licence="CC-BY-4.0",
    citation="Bhandari et al., 2020: Re-evaluating Evaluation in Text Summarization (EMNLP)",
    roles=(
        FileRole(
            ROWS, (RECORD_ID, "system_summaries"), "scores_dicts/abs.pkl and ext.pkl", files=("abs.pkl", "ext.pkl"),
            format="pickle",
        ),
        FileRole(
            "votes", ("Input.eventId", "Input.summary_text", "Input.qIdList", "Answer.S1Answer"),
            "SCU_rating_results_{abs,ext}_systems/*.csv", files=("SCU_rating_results_*_systems/*.csv",),
        ),
        FileRole(
            "key_facts", ("eventId", "questionId", "questionText", "answer"), "SCUs_list.csv",
            files=("SCUs_list.csv",),
        ),
        FileRole(
            "documents", ("text",), "selected_docs_for_human_eval/abs/ptr_generator/src.txt",
            files=("ptr_generator/src.txt", "src.txt"), format="lines",
        ),
    ),
    gives="key_facts, key_fact_labels, sentences",
    counts=(Count("all files", 100, 2500),),
    notes=("people voted 2:2 on some key facts; the authors count these ties as 0",),
    convert=_convert,
    assemble=assemble,
)  # fmt: skip
