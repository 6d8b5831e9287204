"""N models summarize each document, at one length: the first half of building a benchmark.

SummQual's normalisation: the first model (the lead) writes freely, and the number of its sentences is put into the
prompt of the others, so that judgments compare content and not length. Models named as free keep their own length
(SummQual: a fine-tuned summarizer that takes no instructions).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from summeter.benchmark.sources import cut, read_documents
from summeter.data.atomic import write_lines, write_text
from summeter.data.dataset import Dataset, load
from summeter.engine.executor import LocalExecutor
from summeter.engine.progress import Progress, Silent
from summeter.engine.sync import run_sync
from summeter.engine.worker import FATAL
from summeter.evaluators.fences import fence_code
from summeter.evaluators.replies import clean, is_refusal, read_reply, show
from summeter.models.prompts import Template
from summeter.models.resolve import Bound, CallSettings, bind
from summeter.models.structured import BoundLLM, Form
from summeter.records import Document, ModelError, Parameter, ReplyError, UsageError
from summeter.runs.calls import CallStore
from summeter.text.split import split

PACKAGE = "summeter.benchmark"
SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"summary": {"type": "string", "maxLength": 8000}}, "required": ["summary"],
    "additionalProperties": False,
}  # fmt: skip

SUMMARIES, FAILURES, MANIFEST, CALLS = "summaries.jsonl", "failures.jsonl", "summarize.json", "calls.sqlite"


class Summarizing(NamedTuple):
    """What is asked. `models` maps system names to model strings, the lead first; `free` names systems that are
    told no length; `normalise` False leaves every system its own length. `kind` is what the documents are called
    in the prompt ("document", "news article"...); `words` cuts documents to their first so many words.
    """

    models: Mapping[str, str]
    free: tuple[str, ...] = ()
    normalise: bool = True
    kind: str = "document"
    words: int | None = None
    language: str = "en"
    prompts: Path | None = None

    @property
    def lead(self) -> str:
        """The system whose length the others are given."""
        return next(iter(self.models))


class Written(NamedTuple):
    """What became of one document and one system: `text`, or None with status and reason."""

    document: Document
    system: str
    model: str
    text: str | None
    status: str
    reason: str | None
    asked: int | None
    calls: tuple[str, ...]


class Outcome(NamedTuple):
    """`data` holds the summaries that came (None where none did); `missing` those that did not, with reasons."""

    folder: Path
    data: Dataset | None
    missing: tuple[Written, ...]


def summarize(
    documents: Dataset | str | Path | Iterable[Mapping[str, Any]], asked: Summarizing, out: str | Path, *,
    calls: CallSettings | None = None, limit: int | None = None, progress: Progress | None = None,
) -> Outcome:  # fmt: skip
    """Have every model summarize every document; write `out`.

    `out` holds `summaries.jsonl` (flat rows: what `summeter score` and `data import` read, with `model`,
    `asked_sentences` and `written_sentences` beside), `failures.jsonl`, `summarize.json` and the calls: the same
    call again asks only for what is missing. A document whose lead gave no summary has none by the systems that
    wait for its length either; they stand in `failures.jsonl` as skipped, and are never asked at another length.

    Raises UsageError for no models or an unknown name in `free`, and whatever a model string or the documents raise.
    """
    _check(asked)
    found = read_documents(documents)[:limit]
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / CALLS).exists())):
        raise UsageError(f"{folder} is not empty and holds no summaries of ours; choose another ", Parameter("out"))
    run_sync(bind(asked.models, None, calls).close())  # a missing key is told of before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    with CallStore(folder / CALLS) as store:
        bound = bind(asked.models, store, calls)
        width = (calls or CallSettings()).max_connections
        written = run_sync(_all(found, asked, bound, LocalExecutor(width), progress or Silent()))
        usage = {model: meter.usage.as_dict() for model, meter in bound.meters.items()}
    return _save(folder, written, asked, usage)


def _check(asked: Summarizing) -> None:
    if not asked.models:
        raise UsageError("no models given; bind one or more with ", Parameter("models", "SYSTEM=PROVIDER/MODEL"))
    for name in asked.free:
        if name not in asked.models:
            raise UsageError(f"{name!r} is to be left free, but is no system; systems: {', '.join(asked.models)}")
    if asked.words is not None and asked.words < 1:
        raise UsageError(f"documents cannot be cut to {asked.words} words")


async def _all(
    documents: tuple[Document, ...], asked: Summarizing, bound: Bound, executor: LocalExecutor, show: Progress
) -> list[Written]:
    template = Template.load(PACKAGE, "summarize", asked.prompts)
    order = {document.id: place for place, document in enumerate(documents)}
    written: list[Written] = []

    async def one(document: Document) -> list[Written]:
        found = await _document(document, asked, bound.llms, template)
        for each in found:
            show.advance(ok=each.status == "ok")
        return found

    try:
        with show:
            show.start(len(documents) * len(asked.models))
            async for found in executor.map(one, documents):
                written += found
    finally:
        await bound.close()
    systems = list(asked.models)
    return sorted(written, key=lambda one: (order[one.document.id], systems.index(one.system)))


async def _document(
    document: Document, asked: Summarizing, llms: Mapping[str, BoundLLM], template: Template
) -> list[Written]:
    """The lead first, where its length is needed; then the others, side by side."""
    text, _ = cut(document.text, asked.words)
    shown = document.model_copy(update={"text": text, "sentences": ()})

    async def write(system: str, sentences: int | None) -> Written:
        prompt = template.fill(document=text, document_code=fence_code(text), kind=asked.kind, sentences=sentences)
        return await _write(shown, system, llms[system], prompt, sentences)

    first = await write(asked.lead, None)
    length = len(split(first.text, asked.language)) if first.text else None
    others = [name for name in asked.models if name != asked.lead]
    waiting = [name for name in others if asked.normalise and name not in asked.free]
    lost = [] if length else waiting
    doing = [write(name, length if name in waiting else None) for name in others if name not in lost]
    why = f"{asked.lead} gave no summary to take the length of"
    return [
        first,
        *await asyncio.gather(*doing),
        *(Written(shown, name, llms[name].id, None, "skipped", why, None, ()) for name in lost),
    ]


async def _write(document: Document, system: str, llm: BoundLLM, prompt: Any, sentences: int | None) -> Written:
    about = (document, system, llm.id)
    try:
        answer = await llm.ask(prompt, Form("summary", SCHEMA, lambda reply: read_summary(reply, (document.text,))))
    except FATAL:
        raise
    except ModelError as error:
        return Written(*about, None, "error", str(error), sentences, ())
    return Written(*about, answer.data, answer.status, answer.reason, sentences, answer.calls)


def read_summary(reply: str, material: tuple[str, ...] = ()) -> str:
    """The summary in a reply: the text under "summary". Raises ReplyError for anything else, an empty one too.

    >>> read_summary('{"summary": "It rained."}')
    'It rained.'
    """
    return read_reply(reply, _summary, wanted=lambda value: isinstance(value, dict), material=material)


def _summary(value: Any) -> str:
    text = value.get("summary")
    if not isinstance(text, str) or not any(sign.isalnum() for sign in text):
        raise ReplyError(f'expected a text under "summary", got {show(text)}')
    if is_refusal(text):
        raise ReplyError(f"refused: {show(text)}", kind="refused")
    return clean(text)


def _save(folder: Path, written: list[Written], asked: Summarizing, usage: Mapping[str, Any]) -> Outcome:
    rows = [_row(one, asked.language) for one in written if one.text is not None]
    missing = tuple(one for one in written if one.text is None)
    write_lines(folder / SUMMARIES, (json.dumps(row, ensure_ascii=False) for row in rows))
    write_lines(folder / FAILURES, (json.dumps(_lost(one), ensure_ascii=False) for one in missing))
    exact = Counter(row["system"] for row in rows if row["written_sentences"] == row["asked_sentences"])
    about = {
        "schema": "summeter-summarize/1", "models": dict(asked.models), "lead": asked.lead, "free": list(asked.free),
        "normalise": asked.normalise, "kind": asked.kind, "words": asked.words,
        "prompt": Template.load(PACKAGE, "summarize", asked.prompts).hash,
        "counts": dict(Counter(one.status for one in written)),
        "at_length": {name: [exact[name], sum(row["system"] == name for row in rows)] for name in asked.models},
        "usage": usage,
    }  # fmt: skip
    write_text(folder / MANIFEST, json.dumps(about, ensure_ascii=False, indent=1) + "\n")
    return Outcome(folder, load(folder / SUMMARIES, language=asked.language) if rows else None, missing)


def _row(one: Written, language: str) -> dict[str, Any]:
    document, text = one.document, one.text or ""
    known = {
        "references": list(document.references), "key_facts": list(document.key_facts), "domain": document.domain,
        "split": document.split,
    }  # fmt: skip
    return {
        "doc_id": document.id, "system": one.system, "document": document.text, "summary": text,
        **{name: value for name, value in known.items() if value},
        "model": one.model, "asked_sentences": one.asked, "written_sentences": len(split(text, language)),
    }  # fmt: skip


def _lost(one: Written) -> dict[str, Any]:
    return {
        "doc_id": one.document.id, "system": one.system, "model": one.model, "status": one.status,
        "reason": one.reason, "calls": list(one.calls),
    }  # fmt: skip
