"""N models summarize each document, at one length: the first half of building a benchmark.

SummQual's normalisation: the first model (the lead) writes freely, and the number of its sentences is put into the
prompt of the others, so that judgments compare content and not length. Models named as free keep their own length
(SummQual: a fine-tuned summarizer that takes no instructions). Local encoder-decoders (BART, Flan-T5, PEGASUS) read the
document alone, or behind a prefix, and keep theirs.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pydantic import Field

from summeter.benchmark.sources import cut, read_documents
from summeter.benchmark.step import (
    SCRIPTED,
    Inputs,
    LeftOut,
    Package,
    Place,
    Result,
    Step,
    StepSettings,
    local_packages,
    scripted_work,
)
from summeter.data.atomic import write_lines, write_text
from summeter.data.dataset import Dataset, load
from summeter.data.hub import is_address
from summeter.engine.executors.local import LocalExecutor
from summeter.engine.progress import Progress
from summeter.engine.sync import run_sync
from summeter.engine.worker import FATAL
from summeter.evaluators.replies import clean, is_refusal, read_reply, show
from summeter.models.local.load import build, identify
from summeter.models.local.names import is_local
from summeter.models.networks import Generate, Generation, Network
from summeter.models.prompts import PromptFolder, Template, fence_code
from summeter.models.resolve import Bound, CallSettings, bind
from summeter.models.structured import BoundLLM, Form, Settings
from summeter.records import CoverageError, Document, ModelError, Parameter, ReplyError, UsageError
from summeter.records.text import SHARE
from summeter.runs.calls import CallStore
from summeter.runs.manifest import USAGE_FIELDS
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.usage import Usage
from summeter.text.split import split

PACKAGE = "summeter.benchmark"
EMPTY = "the summary is empty"
"""How the reason begins for a reply without a word."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"summary": {"type": "string", "maxLength": 8000}},
    "required": ["summary"],
    "additionalProperties": False,
}

SUMMARIES, FAILURES, MANIFEST, CALLS = "summaries.jsonl", "failures.jsonl", "summarize.json", "calls.sqlite"


PromptForm = Literal["summeter", "unisumeval"]
"""The prompts: ours, which names the kind of document, and the text of UniSumEval's, which asks for JSON."""
TEMPLATES: Mapping[PromptForm, str] = {"summeter": "summarize", "unisumeval": "summarize_unisumeval"}
KIND = "document"
"""What documents are called in the prompt where nobody says."""


class Summarizing(NamedTuple):
    """What to write. `models` maps system names to model strings, the lead first; `free` names systems that are
    given no length; `normalise` False leaves every system its own length, `length_from` names another lead. `kind` is
    what the documents are called in the prompt ("document", "news article"...), or by domain; `words` cuts documents to
    their first so many words. `form` is the prompt. `categories` says of what kind a system is ("open source"...).
    `prefixes` are put before the documents of local systems ("summarize: "), which `generation` holds for.
    """

    models: Mapping[str, str]
    free: tuple[str, ...] = ()
    normalise: bool = True
    kind: str | Mapping[str, str] = KIND
    words: int | None = None
    language: str = "en"
    prompts: Path | None = None
    length_from: str | None = None
    form: PromptForm = "summeter"
    categories: Mapping[str, str] = MappingProxyType({})
    prefixes: Mapping[str, str] = MappingProxyType({})
    generation: Generation = Generation()

    @property
    def lead(self) -> str:
        """The system whose length the others are given."""
        return next(iter(self.models)) if self.length_from is None else self.length_from

    @property
    def local(self) -> dict[str, str]:
        """The systems that are local encoder-decoders."""
        return {name: model for name, model in self.models.items() if is_local(model)}

    def kind_of(self, domain: str | None) -> str:
        """What a document of a domain is called."""
        return self.kind if isinstance(self.kind, str) else self.kind.get(domain or "", KIND)


class Written(NamedTuple):
    """The summary of a document by a system: `text`, or None with status and reason."""

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
    documents: Dataset | str | Path | Iterable[Mapping[str, Any]],
    settings: Summarizing,
    out: str | Path,
    *,
    calls: CallSettings | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Have every model summarize every document; write `out`.

    `out` holds `summaries.jsonl` (flat rows: what `summeter score` and `data import` read, with `model`,
    `asked_sentences` and `written_sentences` beside), `failures.jsonl`, `summarize.json` and the calls: the same
    call again asks only for what is missing. A document whose lead gave no summary has none by the systems that
    wait for its length either; they stand in `failures.jsonl` as skipped, and are never asked at another length.

    Raises UsageError for no models or an unknown name in `free`, and whatever a model string or the documents raise.
    """
    _check(settings)
    own = None if settings.prompts is None else PromptFolder.model_validate(settings.prompts)
    template = Template.load(PACKAGE, TEMPLATES[settings.form], own)
    sources = read_documents(documents)[:limit]
    _check_domains(settings, sources)
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / CALLS).exists())):
        raise UsageError(f"{folder} is not empty and holds no summaries of ours; choose another ", Parameter("out"))
    hosted = {name: model for name, model in settings.models.items() if name not in settings.local}
    run_sync(bind(hosted, None, calls).close())  # a missing key raises before anything is written
    networks = [identify(name, model, "seq2seq") for name, model in settings.local.items()]
    folder.mkdir(parents=True, exist_ok=True)
    local: dict[str, Usage] = {}
    with ExitStack() as stack:
        store = stack.enter_context(CallStore(folder / CALLS))
        results = stack.enter_context(ResultStore(folder / RESULTS)) if networks else None
        bound = bind(hosted, store, calls)
        writers: dict[str, _Writer] = {
            name: partial(_write, llm=llm, template=template) for name, llm in bound.llms.items()
        }
        for name, network in build(networks, results, local).items():
            writers[name] = partial(
                _generate, network=network, prefix=settings.prefixes.get(name, ""), how=settings.generation
            )
        width = (calls or CallSettings()).max_connections
        written = run_sync(_all(sources, settings, bound, writers, LocalExecutor(width), progress or Progress()))
        usage: dict[str, Any] = {model: meter.usage.fields(CALL_COUNTS) for model, meter in bound.meters.items()}
        usage |= {model: counts.fields(USAGE_FIELDS["local"]) for model, counts in local.items()}
    outcome = _save(folder, written, settings, template, usage)
    return outcome if outcome.data is None else outcome._replace(data=_with_extra(outcome.data, sources))


def _check(settings: Summarizing) -> None:
    if not settings.models:
        raise UsageError("no models given; bind one or more with ", Parameter("models", "SYSTEM=PROVIDER/MODEL"))
    named = [(name, "left free") for name in settings.free]
    named += [(settings.lead, "the lead")] if settings.length_from is not None else []
    named += [(name, "given a category") for name in settings.categories]
    named += [(name, "given a prefix") for name in settings.prefixes]
    for name, role in named:
        if name not in settings.models:
            raise UsageError(f"{name!r} is to be {role}, but is no system; systems: {', '.join(settings.models)}")
    for name in settings.prefixes:
        if name not in settings.local:
            raise UsageError(f"{name!r} is given a prefix, which only local systems take; word its prompt instead")
    if settings.words is not None and settings.words < 1:
        raise UsageError(f"documents cannot be cut to {settings.words} words")


def _check_domains(settings: Summarizing, documents: Iterable[Document]) -> None:
    """Raise UsageError for a kind that is given to a domain that no document has."""
    if not isinstance(settings.kind, str):
        domains = {document.domain for document in documents if document.domain}
        for domain in settings.kind:
            if domain not in domains:
                there = ", ".join(sorted(domains)) or "none"
                raise UsageError(f"a kind is given for the domain {domain!r}, which no document has; domains: {there}")


CALL_COUNTS = (
    "asked", "hits", "joined", "sent", "retries", "failures", "tokens_in", "tokens_out", "tokens_cached", "untold",
    "seconds", "waited",
)  # fmt: skip
"""What is kept of each model's calls."""


class _Request(NamedTuple):
    """What a system is to write: of which document (as it is shown), called what, in how many sentences."""

    document: Document
    system: str
    kind: str
    sentences: int | None


_Writer = Callable[[_Request], Awaitable[Written]]


async def _all(
    documents: tuple[Document, ...],
    settings: Summarizing,
    bound: Bound,
    writers: Mapping[str, _Writer],
    executor: LocalExecutor,
    show: Progress,
) -> list[Written]:
    order = {document.id: place for place, document in enumerate(documents)}
    written: list[Written] = []

    async def write_all(document: Document) -> list[Written]:
        results = await _document(document, settings, writers)
        for summary in results:
            show.advance(ok=summary.status == "ok")
        return results

    try:
        with show:
            show.start(len(documents) * len(settings.models))
            async for results in executor.map(write_all, documents):
                written += results
    finally:
        await bound.close()
    systems = list(settings.models)
    return sorted(written, key=lambda summary: (order[summary.document.id], systems.index(summary.system)))


async def _document(document: Document, settings: Summarizing, writers: Mapping[str, _Writer]) -> list[Written]:
    """The lead first, where its length is needed; then the others, side by side."""
    text, _ = cut(document.text, settings.words)
    source = document.model_copy(update={"text": text, "sentences": ()})
    kind = settings.kind_of(document.domain)

    async def write(system: str, sentences: int | None) -> Written:
        return await writers[system](_Request(source, system, kind, sentences))

    first = await write(settings.lead, None)
    length = len(split(first.text, settings.language)) if first.text else None
    others = [name for name in settings.models if name != settings.lead]
    free = {*settings.free, *settings.local}
    waiting = [name for name in others if settings.normalise and name not in free]
    skipped = [] if length else waiting
    requests = [write(name, length if name in waiting else None) for name in others if name not in skipped]
    reason = f"{settings.lead} gave no summary to take the length of"
    return [
        first,
        *await asyncio.gather(*requests),
        *(Written(source, name, settings.models[name], None, "skipped", reason, None, ()) for name in skipped),
    ]


async def _write(request: _Request, *, llm: BoundLLM, template: Template) -> Written:
    document, text, sentences = request.document, request.document.text, request.sentences
    about = (document, request.system, llm.id)
    prompt = template.fill(document=text, document_code=fence_code(text), kind=request.kind, sentences=sentences)
    try:
        answer = await llm.ask(prompt, Form("summary", SCHEMA, lambda reply: read_summary(reply, (text,))))
    except FATAL:
        raise
    except ModelError as error:
        return Written(*about, None, "error", str(error), sentences, ())
    return Written(*about, answer.data, answer.status, answer.reason, sentences, answer.calls)


async def _generate(request: _Request, *, network: Network, prefix: str, how: Generation) -> Written:
    """The summary of a local encoder-decoder, which is told no length."""
    about = (request.document, request.system, network.id)
    (text,) = await network.ask([Generate((prefix + request.document.text,), how)])
    if not _has_words(text):
        return Written(*about, None, "unparsed", f"{EMPTY}: {show(text)}", None, ())
    return Written(*about, clean(text), "ok", None, None, ())


def read_summary(reply: str, material: tuple[str, ...] = ()) -> str:
    """The summary in a reply: the text under "summary". Raises ReplyError for anything else, an empty one too.

    >>> read_summary('{"summary": "It rained."}')
    'It rained.'
    """
    return read_reply(reply, _summary, wanted=lambda value: isinstance(value, dict), material=material)


def _summary(value: Any) -> str:
    text = value.get("summary")
    if not isinstance(text, str):
        raise ReplyError(f'expected a text under "summary", got {show(text)}')
    if not _has_words(text):
        raise ReplyError(f'{EMPTY}: expected a text under "summary", got {show(text)}')
    if is_refusal(text):
        raise ReplyError(f"refused: {show(text)}", kind="refused")
    return clean(text)


def _has_words(text: str) -> bool:
    return any(sign.isalnum() for sign in text)


def _save(
    folder: Path, written: list[Written], settings: Summarizing, template: Template, usage: Mapping[str, Any]
) -> Outcome:
    rows = [_row(summary, settings) for summary in written if summary.text is not None]
    missing = tuple(summary for summary in written if summary.text is None)
    write_lines(folder / SUMMARIES, (json.dumps(row, ensure_ascii=False) for row in rows))
    write_lines(folder / FAILURES, (json.dumps(_lost(summary), ensure_ascii=False) for summary in missing))
    exact = Counter(row["system"] for row in rows if row["written_sentences"] == row["asked_sentences"])
    manifest = {
        "schema": "summeter-summarize/1",
        "models": dict(settings.models),
        "lead": settings.lead,
        "free": list(settings.free),
        "normalise": settings.normalise,
        "kind": settings.kind if isinstance(settings.kind, str) else dict(settings.kind),
        "form": settings.form,
        "words": settings.words,
        "prompt": template.hash,
        "prompt_text": template.source,
        "counts": dict(Counter(summary.status for summary in written)),
        "by_system": {
            name: dict(sorted(Counter(outcome_of(each) for each in written if each.system == name).items()))
            for name in settings.models
        },
        "at_length": {name: [exact[name], sum(row["system"] == name for row in rows)] for name in settings.models},
        "usage": usage,
    }
    write_text(folder / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")
    return Outcome(folder, load(folder / SUMMARIES, language=settings.language) if rows else None, missing)


def _with_extra(data: Dataset, sources: Iterable[Document]) -> Dataset:
    """The data with what else is known of its documents (source, licence...), which flat rows hold with summaries."""
    extra = {document.id: document.extra for document in sources}
    documents = {
        doc_id: document.model_copy(update={"extra": extra[doc_id]}) for doc_id, document in data.documents.items()
    }
    summaries = []
    for summary in data.summaries:
        own = {name: value for name, value in summary.extra.items() if name not in extra[summary.document_id]}
        summaries.append(summary.model_copy(update={"extra": own}))
    return Dataset(documents, summaries, {}, data.card, data.warnings)


def outcome_of(summary: Written) -> str:
    """The status, where a reply without a word is `empty`."""
    return "empty" if summary.status == "unparsed" and EMPTY in (summary.reason or "") else summary.status


def _row(summary: Written, settings: Summarizing) -> dict[str, Any]:
    document, text = summary.document, summary.text or ""
    optional = {
        "references": list(document.references),
        "key_facts": list(document.key_facts),
        "domain": document.domain,
        "split": document.split,
        "category": settings.categories.get(summary.system),
    }
    return {
        **document.extra,
        "doc_id": document.id,
        "system": summary.system,
        "document": document.text,
        "summary": text,
        **({} if document.share else {SHARE: False}),
        **{name: value for name, value in optional.items() if value},
        "model": summary.model,
        "asked_sentences": summary.asked,
        "written_sentences": len(split(text, settings.language)),
    }


def _lost(summary: Written) -> dict[str, Any]:
    return {
        "doc_id": summary.document.id,
        "system": summary.system,
        "model": summary.model,
        "status": summary.status,
        "reason": summary.reason,
        "calls": list(summary.calls),
    }


# ---- as a step of a chain ----


class SummarizeSettings(StepSettings):
    """Which models write, at which length (see `Summarizing`). `documents` names a file or folder of documents, where
    no step before gives them; `temperature`, `max_reply`, `concurrency` and `timeout` are those of a run, `beams`,
    `max_new_tokens` and `min_new_tokens` those of local systems (default: the model's own).
    """

    models: dict[str, str] = Field(min_length=1)
    documents: str | None = None
    free: tuple[str, ...] = ()
    normalise: bool = True
    length_from: str | None = None
    kind: str | dict[str, str] = KIND
    words: int | None = Field(default=None, ge=1)
    language: str = "en"
    form: PromptForm = "summeter"
    prompts: Path | None = None
    categories: dict[str, str] = Field(default_factory=dict)
    prefixes: dict[str, str] = Field(default_factory=dict)
    beams: int | None = Field(default=None, ge=1)
    max_new_tokens: int | None = Field(default=None, ge=1)
    min_new_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=0.0, ge=0, le=10)
    max_reply: int | None = Field(default=None, ge=1)
    concurrency: int = Field(default=16, ge=1)
    timeout: float = Field(default=120.0, gt=0)

    def files(self) -> Iterable[Path]:
        """The documents, the prompts, and what scripted models say."""
        named = [self.documents] if self.documents and not is_address(self.documents) else []
        scripted = [model.removeprefix(SCRIPTED) for model in self.models.values() if model.startswith(SCRIPTED)]
        return [*map(Path, [*named, *scripted]), *([self.prompts] if self.prompts else [])]

    def packages(self) -> Iterable[Package]:
        """What local networks need."""
        return local_packages(self.models.values())

    @property
    def task(self) -> Summarizing:
        """What is to be written."""
        return Summarizing(
            self.models,
            free=self.free,
            normalise=self.normalise,
            kind=self.kind,
            words=self.words,
            language=self.language,
            prompts=self.prompts,
            length_from=self.length_from,
            form=self.form,
            categories=self.categories,
            prefixes=self.prefixes,
            generation=Generation(self.max_new_tokens, self.beams, self.min_new_tokens),
        )


def _step(inputs: Inputs, settings: SummarizeSettings, place: Place) -> Result:
    documents = settings.documents if inputs.data is None else inputs.data
    if documents is None:
        raise UsageError("summarize: there are no documents; name them under `documents`, or add a step before it")
    calls = CallSettings(
        settings=Settings(settings.temperature, settings.max_reply, settings.seed),
        timeout=settings.timeout,
        max_connections=settings.concurrency,
    )
    work = scripted_work(place.work, settings.models.values())
    outcome = summarize(documents, settings.task, work, calls=calls, progress=place.progress)
    if outcome.data is None:
        raise CoverageError(f"no summary came; the reasons are in {work / FAILURES}")
    about = json.loads((work / MANIFEST).read_text("utf-8"))
    place.log({"usage": about["usage"]})
    dropped = [
        LeftOut("summary", f"{lost.document.id} by {lost.system}", lost.status, lost.reason) for lost in outcome.missing
    ]
    kept = outcome.data.documents
    whole = dict.fromkeys(lost.document.id for lost in outcome.missing if lost.document.id not in kept)
    dropped += [LeftOut("document", doc_id, "has no summary") for doc_id in whole]
    return Result(
        outcome.data,
        dropped,
        models={summary.system: summary.extra["model"] for summary in outcome.data.summaries},
        details={name: about[name] for name in ("lead", "prompt", "prompt_text", "by_system", "at_length")},
    )


STEP = Step("summarize", "several models summarize every document, at one length", SummarizeSettings, _step)
