"""Preset for REALSumm (Bhandari et al., 2020): three or four votes on each key fact ("SCU").

Two pickles contain the summaries by document number. The votes are in one CSV file per system; key facts and articles
are in further files. The votes quote the summaries, which makes it possible to find the document ids for the numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from summeter.data.faults import Faults
from summeter.data.formats import RECORD_ID, Row
from summeter.data.human import unnamed_votes
from summeter.data.presets.base import ROWS, Cells, Count, FileRole, Joined, LayoutError, Preset, python_list

STATEMENTS = 16
"""Number of statements in a HIT; those that are not key facts of the document are padding."""
_ANSWERS = {"p": 1, "n": 0, "": None}
_KINDS = ("abs", "ext")


class _Summary(NamedTuple):
    """A summary in a pickle; `number` is the number of the document."""

    kind: str
    number: str
    system: str
    row: Row
    content: Mapping[str, Any]


def sentences_of(text: str) -> list[str]:
    """Return the sentences between `<t>` and `</t>`, or an empty list if there are no such tags.

    >>> sentences_of("<t> It rained . </t> <t> We stayed . </t>"), sentences_of("It rained.")
    (['It rained .', 'We stayed .'], [])
    """
    return [sentence.strip() for sentence in re.findall(r"<t>(.*?)</t>", text, re.DOTALL) if sentence.strip()]


def _plain(text: str) -> str:
    return " ".join(sentences_of(text)) or text.strip()


def _letters(text: str) -> str:
    """Return only the letters and digits, because blanks and punctuation differ in quotations."""
    return re.sub(r"[^0-9a-z]", "", re.sub(r"</?t>|<br */?>", "", text.lower()))


def _kind_of(file: str) -> str:
    path = PurePath(file)
    stem = path.name.partition(".")[0]
    kind = next((kind for kind in _KINDS if stem == kind or f"_{kind}_systems" in str(path.parent)), None)
    if kind is None:
        raise ValueError("does not have the name and folder of either the abstractive or the extractive systems")
    return kind


def assemble(roles: Mapping[str, Sequence[Row]], faults: Faults) -> Iterator[Row]:
    """Yield one row per summary, with the document, the key facts and the votes on them."""
    summaries = list(_summaries(roles[ROWS], faults))
    votes = list(_votes(roles["votes"], summaries, faults))
    facts = _key_facts(roles["key_facts"])
    articles = _articles(roles["documents"])
    ids = _ids(summaries, votes)
    by_summary: dict[tuple[str, str, str], list[Row]] = {}
    for kind, system, vote in votes:
        by_summary.setdefault((kind, system, str(vote.cells["Input.eventId"])), []).append(vote)
    copied = Counter[str]()
    for summary in summaries:
        of_file = faults.of(summary.row.file)
        doc_id = ids.get(summary.number)
        if doc_id is None or doc_id not in facts or summary.number not in articles:
            lacks = (
                "votes that quote a summary" if doc_id is None else "key facts" if doc_id not in facts else "article"
            )
            of_file.add(summary.row.line, summary.system, f"document {summary.number} has no {lacks}")
            continue
        answers = by_summary.get((summary.kind, summary.system, doc_id), [])
        text, scores = str(summary.content.get("system_summary", "")), summary.content.get("scores")
        quoted = str(answers[0].cells.get("Input.summary_text", "")) if answers else ""
        if quoted and _letters(quoted) != _letters(text):
            copied[f"{summary.kind}_{summary.system}"] += 1
            text, scores = quoted, None
        cells = {
            "doc_id": doc_id, "system": f"{summary.kind}_{summary.system}", "document": articles[summary.number],
            "text": text, "reference": _plain(str(summary.row.cells.get("ref_summ", ""))),
            "facts": facts[doc_id], "answers": answers, "scores": scores,
        }  # fmt: skip
        yield Row(summary.row.file, summary.row.line, cells)
    for system, count in copied.items():
        what = "a text other than the one quoted by the votes; the quoted text is used, without the stored scores"
        faults.warn(None, system, f"has {what} ({count} summaries)")


def _summaries(rows: Iterable[Row], faults: Faults) -> Iterator[_Summary]:
    for row in rows:
        systems = row.cells.get("system_summaries")
        if not isinstance(systems, dict) or not all(isinstance(content, dict) for content in systems.values()):
            faults.of(row.file).add(row.line, "system_summaries", "is not an object of systems; check the preset")
            continue
        for name, content in systems.items():
            kind, number = _kind_of(row.file), str(row.cells[RECORD_ID])
            yield _Summary(kind, number, name.removesuffix(".txt"), row, content)


def _votes(rows: Iterable[Row], summaries: Sequence[_Summary], faults: Faults) -> Iterator[tuple[str, str, Row]]:
    """Yield (kind, system, row) for each HIT.

    The system is the longest system name with which the file name begins.
    """
    names = {kind: sorted({s.system for s in summaries if s.kind == kind}, key=len, reverse=True) for kind in _KINDS}
    unknown = set[str]()
    for row in rows:
        try:
            kind = _kind_of(row.file)
        except ValueError as error:
            message = str(error)
        else:
            message = f"has a name that begins with none of the systems: {', '.join(names[kind])}"
            system = next((name for name in names[kind] if row.stem.startswith(name)), None)
            if system is not None:
                yield kind, system, row
                continue
        if row.file not in unknown:
            unknown.add(row.file)
            faults.of(row.file).fail(None, None, message)


def _ids(summaries: Sequence[_Summary], votes: Sequence[tuple[str, str, Row]]) -> dict[str, str]:
    """Return document ids by number: the most frequent id of the votes that quote its summaries."""
    quoted: dict[tuple[str, str], str] = {}
    for kind, _, vote in votes:
        quoted[kind, _letters(str(vote.cells.get("Input.summary_text", "")))] = str(vote.cells["Input.eventId"])
    counts: dict[str, Counter[str]] = {}
    for summary in summaries:
        doc_id = quoted.get((summary.kind, _letters(str(summary.content.get("system_summary", "")))))
        if doc_id is not None:
            counts.setdefault(summary.number, Counter())[doc_id] += 1
    return {number: count.most_common(1)[0][0] for number, count in counts.items()}


def _key_facts(rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """Return the key facts of each document by question, without the padding (answer N)."""
    facts: dict[str, dict[str, str]] = {}
    for row in rows:
        cells = row.cells
        of_document = facts.setdefault(str(cells["eventId"]), {})
        if str(cells["answer"]).strip().upper() == "Y":
            of_document[str(cells["questionId"]).strip()] = str(cells["questionText"]).strip()
    return facts


def _articles(rows: Sequence[Row]) -> dict[str, str]:
    """Return the articles by number (the line, from 0), read from one of several copies."""
    files = list(dict.fromkeys(row.file for row in rows))
    chosen = next((file for file in files if PurePath(file).parent.name == "ptr_generator"), files[0])
    return {str(row.line - 1): str(row.cells["text"]).strip() for row in rows if row.file == chosen}


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


def _answers(vote: Row, facts: Mapping[str, str]) -> dict[str, int | None]:
    """Return the votes of one annotator on the key facts, by question."""
    questions = [str(question).strip() for question in python_list(vote.cells.get("Input.qIdList"), "Input.qIdList")]
    if len(questions) > STATEMENTS or not set(facts) <= set(questions):
        raise LayoutError("Input.qIdList", f"does not contain the {len(facts)} key facts of the document ({vote.file})")
    answers: dict[str, int | None] = {}
    for number, question in enumerate(questions, 1):
        column = f"Answer.S{number}Answer"
        answer = str(vote.cells.get(column) or "").strip().lower()
        if question in facts and answer not in _ANSWERS:
            where = f"{PurePath(vote.file).name}, line {vote.line}"
            raise LayoutError(column, f"is {answer!r}, but this layout has p (present) or n (not) ({where})")
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
    notes=("some key facts have two votes for and two against; the authors count these ties as 0",),
    convert=_convert,
    assemble=assemble,
)  # fmt: skip
