"""Small runs, written through the journal like real ones, with judges that follow simple rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from summeter.data.dataset import load, save
from summeter.records import Document, Judgment, KeyFacts, Span, Status, Summary, Target
from summeter.runs.journal import Journal
from summeter.runs.manifest import DataEntry, JudgeEntry, Manifest, RunStatus
from summeter.runs.run import Failure, RunFolder

Row = dict[str, Any]
Judge = Callable[[Document, Summary, JudgeEntry], list[Judgment]]

BRIDGE = (
    "The council voted 9 to 4 on Tuesday to close the bridge for 14 months.\n\n"
    "Repairs cost €3.5 million. Cyclists may still cross."
)
TALK = "Ana: Is the 😀 table free at 8?\nBo: At nine. I can hold it.\nAna: Nine is fine."
FACTS = ["The bridge closes for 14 months.", "Cyclists may still cross."]

ROWS: list[Row] = [
    {
        "doc_id": "bridge", "system": "cedar", "domain": "news", "document": BRIDGE, "key_facts": FACTS,
        "summary": "The bridge closes for 41 months. A concert is planned.",
        "human": {
            "sentence_labels": [0, 1], "sentence_error_types": ["circumstantial error", "no error"],
            "key_fact_labels": [0, 0], "alignment": [[], []],
        },
    },
    {
        "doc_id": "bridge", "system": "aster", "domain": "news", "document": BRIDGE, "key_facts": FACTS,
        "summary": "The bridge closes for 14 months. Cyclists may still cross.",
        "human": {"sentence_labels": [{"a": 1, "b": 1, "c": 0}, 1], "key_fact_labels": [1, 1], "alignment": [[0], [1]]},
    },
    {
        "doc_id": "talk", "system": "cedar", "domain": "booking", "document": TALK,
        "key_facts": ["A table is held at nine."],
        "summary": "Bo holds the 😀 table at nine.",
    },
    {
        "doc_id": "talk", "system": "aster", "domain": "booking", "document": TALK,
        "key_facts": ["A table is held at nine."],
        "summary": "",
    },
]  # fmt: skip

FACT_CHECK = JudgeEntry(
    name="mock.fact_check", signature="mock.fact_check|judge:scripted/one|v:1", model="scripted/one",
    models={"judge": "scripted/one"}, aspects=("faithfulness",), reduce="share", file="mock.fact_check",
    threshold=0.5,
)  # fmt: skip
ALIGN = JudgeEntry(
    name="mock.align", signature="mock.align|judge:scripted/one|v:1", model="scripted/one",
    models={"judge": "scripted/one"}, aspects=("completeness", "conciseness"), reduce="share", file="mock.align",
)  # fmt: skip
NOVELTY = JudgeEntry(
    name="abstractiveness", signature="abstractiveness|v:1", aspects=("abstractiveness",), reduce="mean", file="novelty"
)


def judgment(document: Document, summary: Summary, entry: JudgeEntry, aspect: str, **fields: Any) -> Judgment:
    """Return a judgment; `unit`, `index`, `list_id` and `rival` are fields of its target."""
    target = Target(
        document_id=document.id, system=summary.system, rival=fields.pop("rival", None),
        unit=fields.pop("unit", "summary"), index=fields.pop("index", None), list_id=fields.pop("list_id", None),
    )  # fmt: skip
    return Judgment(
        target=target, aspect=aspect, judge=entry.name, signature=entry.signature, model=entry.model, **fields
    )  # fmt: skip


def find(text: str, piece: str) -> Span:
    """Return the span of the first occurrence of `piece` in a document."""
    start = text.index(piece)
    return Span(of="document", start=start, end=start + len(piece))


def fact_check(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """41 is an error, the concert unparsed, the table supported with overlapping spans; an empty text is skipped."""
    if not summary.text:
        return [failed(document, summary, entry, "faithfulness", "skipped", "the summary is empty")]
    made = []
    for index, text in enumerate(summary.sentence_texts):
        fields: Row = {"unit": "sentence", "index": index, "value": 0.97, "label": 1, "error_type": "no error"}
        if "41" in text:
            fields |= {
                "value": 0.12, "label": 0, "error_type": "entity error",
                "reason": "41 is not in the source; nearest: 14",
                "evidence": (find(document.text, "for 14 months"),),
            }  # fmt: skip
        elif "concert" in text:
            made.append(failed(document, summary, entry, "faithfulness", "unparsed", "no verdict for this sentence",
                               unit="sentence", index=index))  # fmt: skip
            continue
        elif "table" in text:
            fields |= {"evidence": (find(document.text, "the 😀 table"), find(document.text, "😀 table free"),
                                    find(document.text, "I can hold it."))}  # fmt: skip
        made.append(judgment(document, summary, entry, "faithfulness", **fields))
    return made


def lenient(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """The same as `fact_check`, but 41 is supported."""
    return [
        one.model_copy(update={"label": 1, "value": 0.9, "error_type": "no error"}) if one.label == 0 else one
        for one in fact_check(document, summary, entry)
    ]


def align(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """A key fact is covered if a sentence contains its last word."""
    if not summary.text:
        return [failed(document, summary, entry, aspect, "skipped", "the summary is empty") for aspect in entry.aspects]
    facts = KeyFacts.of(document.key_facts, "given")
    made, aligned = [], set()
    for index, fact in enumerate(facts.texts):
        sentences = [at for at, text in enumerate(summary.sentence_texts) if fact.split()[-1] in text]
        aligned |= set(sentences)
        made.append(
            judgment(
                document, summary, entry, "completeness", unit="key_fact", index=index, list_id=facts.id,
                value=float(bool(sentences)), label=int(bool(sentences)),
                evidence=tuple(summary.sentences[at] for at in sentences),
            )
        )  # fmt: skip
    for index in range(len(summary.sentences)):
        label = int(index in aligned)
        fields: Row = {"unit": "sentence", "index": index, "value": float(label), "label": label}
        made.append(judgment(document, summary, entry, "conciseness", **fields))
    return made


def novelty(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """One value per summary, from its length."""
    if not summary.text:
        return [failed(document, summary, entry, "abstractiveness", "skipped", "the summary is empty")]
    return [judgment(document, summary, entry, "abstractiveness", value=min(1.0, len(summary.text) / 100))]


def failed(
    document: Document, summary: Summary, entry: JudgeEntry, aspect: str, status: Status, reason: str, **fields: Any
) -> Judgment:
    """Return a judgment without a value."""
    return judgment(document, summary, entry, aspect, status=status, reason=reason, **fields)


def make(
    folder: Path, rows: Sequence[Row] = ROWS,
    judges: Mapping[JudgeEntry, Judge] | Sequence[tuple[JudgeEntry, Judge]] = (
        (FACT_CHECK, fact_check), (ALIGN, align), (NOVELTY, novelty),
    ),
    *, status: RunStatus = "complete", errors: Sequence[tuple[str, str, str]] = (), documents: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> RunFolder:  # fmt: skip
    """Write a run to `folder`.

    `errors` are (document, system, reason) of items on which the first judge fails. Only the first `documents`
    documents are judged.
    """
    data = load(list(rows))
    folder.mkdir(parents=True)
    save(data, folder / "data")
    pairs = list(judges.items() if isinstance(judges, Mapping) else judges)
    broken = {(doc_id, system): reason for doc_id, system, reason in errors}
    manifest = Manifest(
        schema="summeter-run/1", summeter="0.1.0", python="3.11.2", created="2026-11-21T10:00:00+00:00",
        updated="2026-11-21T10:04:00+00:00", status=status, judges=tuple(entry for entry, _ in pairs),
        data=DataEntry(source="mine.jsonl", hash=data.hash, documents=len(data.documents), summaries=len(data),
                       splitter=data.card.splitter), options={"seed": None, "temperature": 0.0} | dict(options or {}),
    )  # fmt: skip
    with Journal(folder) as journal:
        for entry, judge in pairs:
            for document, summaries in list(data.items())[:documents]:
                for summary in summaries:
                    key = (document.id, summary.system)
                    if entry is pairs[0][0] and key in broken:
                        journal.failed(Failure(
                            document_id=key[0], system=key[1], judge=entry.name, signature=entry.signature,
                            aspects=entry.aspects, status="error", reason=broken[key], at="2026-11-21T10:01:00+00:00",
                        ))  # fmt: skip
                    else:
                        made = judge(document, summary, entry)
                        for rival in dict.fromkeys(one.target.rival for one in made) or {None: None}:
                            item = [one for one in made if one.target.rival == rival]
                            journal.judged(entry, (*key, rival), item)
        journal.manifest(manifest)
    return RunFolder(folder)
