"""The step `summarize`: several models summarize each document at the same length.

Lengths are normalized as in SummQual: the first model (the lead) chooses the length, and the other models are asked for
the same number of sentences, so that judgments compare content and not length. Models listed in `free` choose their own
length, such as the fine-tuned summarizer of SummQual, which takes no instructions. Local encoder-decoders (BART,
Flan-T5, PEGASUS) also choose their own length; their input is the document, optionally after a prefix.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from summeter.benchmark.sources import truncate
from summeter.benchmark.step import Inputs, LeftOut, ModelSettings, Result, Step, StepContext, scripted_work
from summeter.data.dataset import Dataset
from summeter.data.flat import spans, splitter_of
from summeter.engine.sync import run_sync
from summeter.engine.worker import FATAL, concurrently
from summeter.evaluators.replies import clean, is_refusal, read_reply, show
from summeter.models.local.load import build, identify
from summeter.models.local.names import is_local
from summeter.models.networks import Generate, Generation, Network
from summeter.models.prompts import PromptFolder, Template, fence_code
from summeter.models.resolve import CallSettings, bind
from summeter.models.structured import BoundLLM, Form, Settings
from summeter.records import CoverageError, Document, ModelError, ReplyError, Summary, UsageError
from summeter.runs.calls import CallStore
from summeter.runs.manifest import USAGE_FIELDS
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.usage import Usage
from summeter.text.split import split

PACKAGE, CALLS = "summeter.benchmark", "calls.sqlite"
EMPTY = "the summary is empty"
"""Start of the reason that is given for a reply without words."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"summary": {"type": "string", "maxLength": 8000}},
    "required": ["summary"],
    "additionalProperties": False,
}
PromptForm = Literal["summeter", "unisumeval"]
TEMPLATES: Mapping[PromptForm, str] = {"summeter": "summarize", "unisumeval": "summarize_unisumeval"}
KIND = "document"
"""Default noun for a document in the prompts."""
CALL_COUNTS = (
    "hits", "joined", "sent", "retries", "failures", "tokens_in", "tokens_out", "tokens_cached", "without_tokens",
    "seconds",
)  # fmt: skip
"""The counts of each model's calls that are logged."""


class SummarizeSettings(ModelSettings):
    """Summarize the documents with several systems at the same length."""

    models: dict[str, str] = Field(
        min_length=1, description="Systems by name: a model, or a local encoder-decoder (`local/...`, `hf/...`)."
    )
    length_from: str | None = Field(
        None, description="Lead system: the others are asked for as many sentences as it wrote; default: the first."
    )
    free: tuple[str, ...] = Field((), description="Systems that choose their own length, as local systems always do.")
    normalise: bool = Field(default=True, description="Ask the other systems for the lead's number of sentences.")
    kind: str | dict[str, str] = Field(KIND, description="Noun for a document in the prompt, or nouns by domain.")
    words: int | None = Field(None, ge=1, description="Truncate documents to the first N words (SummQual: 700).")
    limit: int | None = Field(None, ge=1, description="Summarize only the first N documents.")
    language: str = Field("en", description="ISO 639-1 code of the texts, for counting sentences.")
    form: PromptForm = Field(
        "summeter", description="Prompt: `summeter`, which uses `kind`, or `unisumeval`, the prompt of UniSumEval."
    )
    categories: dict[str, str] = Field(
        default_factory=dict, description="Categories of systems, which studies can compare."
    )
    prefixes: dict[str, str] = Field(
        default_factory=dict, description='Texts before the document in the input of local systems ("summarize: ").'
    )
    beams: int | None = Field(None, ge=1, description="Number of beams of local systems; default: the model's setting.")
    max_new_tokens: int | None = Field(
        None, ge=1, description="Maximum length of summaries of local systems, in tokens."
    )
    min_new_tokens: int | None = Field(
        None, ge=1, description="Minimum length of summaries of local systems, in tokens."
    )

    @model_validator(mode="after")
    def _check_systems(self) -> Self:
        fields = {
            "free": self.free,
            "categories": self.categories,
            "prefixes": self.prefixes,
            "length_from": [self.lead],
        }
        for field, names in fields.items():
            for name in names:
                if name not in self.models:
                    raise ValueError(f"{field}: there is no system {name!r}; systems: {', '.join(self.models)}")
        for name in self.prefixes:
            if not is_local(self.models[name]):
                raise ValueError(f"prefixes: {name!r} is not a local system; only local systems take a prefix")
        return self

    @property
    def lead(self) -> str:
        """The system that sets the length for the other systems."""
        return next(iter(self.models)) if self.length_from is None else self.length_from


class Written(NamedTuple):
    """The summary of a document by a system.

    If the summary failed, `text` is None, and `status` and `reason` say why. `asked` is the number of sentences that
    the prompt asked for, or None.
    """

    document: Document
    system: str
    model: str
    text: str | None
    status: str
    reason: str | None
    asked: int | None

    @property
    def outcome(self) -> str:
        """The status, or `empty` for a reply without words."""
        return "empty" if self.status == "unparsed" and EMPTY in (self.reason or "") else self.status


_Writer = Callable[[Document, str, int | None], Awaitable[Written]]
"""A function that writes a summary, given the document, the noun for it, and the number of sentences."""


def summarize(inputs: Inputs, settings: SummarizeSettings, context: StepContext) -> Result:
    """Summarize every document with every system.

    Calls are stored in the work folder, so a repeated step asks only for what is missing. If the lead writes no summary
    of a document, the systems that need the length of that summary are skipped. Raises CoverageError if there is no
    summary at all, and UsageError if a model string is invalid.
    """
    data = inputs.dataset
    with_text = [document for document in data.documents.values() if document.text.strip()]
    documents = with_text[: settings.limit]
    if not documents:
        raise UsageError("summarize: there is no document with text")
    if not isinstance(settings.kind, str):
        domains = sorted({document.domain for document in documents if document.domain})
        for domain in settings.kind:
            if domain not in domains:
                raise UsageError(
                    f"kind: no document has the domain {domain!r}. Domains: {', '.join(domains) or 'none'}"
                )
    template = Template.load(
        PACKAGE,
        TEMPLATES[settings.form],
        None if settings.prompts is None else PromptFolder.model_validate(settings.prompts),
    )
    calls = CallSettings(
        settings=lambda _: Settings(settings.temperature, settings.max_reply, settings.seed),
        base_url=settings.base_url,
        timeout=settings.timeout,
        max_connections=settings.concurrency,
    )
    hosted = {name: model for name, model in settings.models.items() if not is_local(model)}
    networks = [identify(name, model, "seq2seq") for name, model in settings.models.items() if name not in hosted]
    generation = Generation(settings.max_new_tokens, settings.beams, settings.min_new_tokens)
    work = scripted_work(context.work, settings)
    work.mkdir(parents=True, exist_ok=True)
    local: dict[str, Usage] = {}
    written: list[Written] = []
    with ExitStack() as stack:
        store = stack.enter_context(CallStore(work / CALLS))
        results = stack.enter_context(ResultStore(work / RESULTS)) if networks else None
        bound = bind(hosted, store, calls)
        writers: dict[str, _Writer] = {
            name: partial(_write, name, llm=llm, template=template) for name, llm in bound.llms.items()
        }
        for name, network in build(networks, results, local).items():
            prefix = settings.prefixes.get(name, "")
            writers[name] = partial(_generate, name, network=network, prefix=prefix, generation=generation)

        async def write_all() -> None:
            try:
                with context.progress as show:
                    show.start(len(documents) * len(writers))
                    work_on = partial(_summaries, settings=settings, writers=writers)
                    async for summaries in concurrently(work_on, documents, settings.concurrency):
                        written.extend(summaries)
                        for summary in summaries:
                            show.advance(ok=summary.status == "ok")
            finally:
                await bound.close()

        run_sync(write_all())
        usage: dict[str, Any] = {model: llm.usage.fields(CALL_COUNTS) for model, llm in bound.models.items()}
        usage |= {model: counts.fields(USAGE_FIELDS["local"]) for model, counts in local.items()}
    context.log({"usage": usage})
    order = {document.id: number for number, document in enumerate(documents)}
    systems = list(settings.models)
    written.sort(key=lambda summary: (order[summary.document.id], systems.index(summary.system)))
    result = _result(written, settings, template, data)
    left_out = [LeftOut("document", document.id, "is beyond the limit") for document in with_text[len(documents) :]]
    empty = (document for document in data.documents.values() if not document.text.strip())
    left_out += [LeftOut("document", document.id, "has no text") for document in empty]
    return replace(result, dropped=[*left_out, *result.dropped])


async def _summaries(
    document: Document, *, settings: SummarizeSettings, writers: Mapping[str, _Writer]
) -> list[Written]:
    """Summarize a document with the lead, and then concurrently with the other systems."""
    text, left_out = truncate(document.text, settings.words)
    if left_out:
        sentences = spans(split(text, settings.language), "document")
        sources = (
            each.model_copy(update={"end": min(each.end, len(text))}) for each in document.sources_in(0, len(text))
        )
        document = document.model_copy(update={"text": text, "sources": tuple(sources), "sentences": sentences})
    kind = settings.kind if isinstance(settings.kind, str) else settings.kind.get(document.domain or "", KIND)
    first = await writers[settings.lead](document, kind, None)
    length = len(split(first.text, settings.language)) if first.text else None
    others = [name for name in settings.models if name != settings.lead]
    with_length = [
        name
        for name in others
        if settings.normalise and name not in settings.free and not is_local(settings.models[name])
    ]
    skipped = [] if length else with_length
    reason = f"{settings.lead} wrote no summary, which sets the length"
    return [
        first,
        *await asyncio.gather(
            *(
                writers[name](document, kind, length if name in with_length else None)
                for name in others
                if name not in skipped
            )
        ),
        *(Written(document, name, settings.models[name], None, "skipped", reason, None) for name in skipped),
    ]


async def _write(
    system: str, document: Document, kind: str, sentences: int | None, *, llm: BoundLLM, template: Template
) -> Written:
    text = document.text
    prompt = template.fill(document=text, document_code=fence_code(text), kind=kind, sentences=sentences)
    try:
        answer = await llm.ask(prompt, Form("summary", SCHEMA, lambda reply: read_summary(reply, (text,))))
    except FATAL:
        raise
    except ModelError as error:
        return Written(document, system, llm.id, None, "error", str(error), sentences)
    return Written(document, system, llm.id, answer.data, answer.status, answer.reason, sentences)


async def _generate(
    system: str,
    document: Document,
    kind: str,
    sentences: int | None,
    *,
    network: Network,
    prefix: str,
    generation: Generation,
) -> Written:
    """Summarize with a local encoder-decoder; the noun and the number of sentences are ignored."""
    del kind, sentences
    (text,) = await network.ask([Generate((prefix + document.text,), generation)])
    if not any(map(str.isalnum, text)):
        return Written(document, system, network.id, None, "unparsed", f"{EMPTY}: {show(text)}", None)
    return Written(document, system, network.id, clean(text), "ok", None, None)


def read_summary(reply: str, material: tuple[str, ...] = ()) -> str:
    """Return the text under "summary" in a JSON reply.

    Raises ReplyError if the text is missing, empty or a refusal.

    >>> read_summary('{"summary": "It rained."}')
    'It rained.'
    """

    def read(value: Any) -> str:
        text = value.get("summary")
        if not isinstance(text, str):
            raise ReplyError(f'expected a string under "summary", got {show(text)}')
        if not any(map(str.isalnum, text)):
            raise ReplyError(f'{EMPTY}: expected a string under "summary", got {show(text)}')
        if is_refusal(text):
            raise ReplyError(f"refused: {show(text)}", kind="refused")
        return clean(text)

    return read_reply(reply, read, wanted=lambda value: isinstance(value, dict), material=material)


def _result(written: Sequence[Written], settings: SummarizeSettings, template: Template, data: Dataset) -> Result:
    summaries = []
    for each in written:
        if each.text is not None:
            sentences = spans(split(each.text, settings.language), "summary")
            extra = {"model": each.model, "asked_sentences": each.asked, "written_sentences": len(sentences)}
            summaries.append(
                Summary(
                    document_id=each.document.id,
                    system=each.system,
                    text=each.text,
                    sentences=sentences,
                    splitter=splitter_of(settings.language),
                    category=settings.categories.get(each.system),
                    extra=extra,
                )
            )
    failed = [each for each in written if each.text is None]
    if not summaries:
        first = failed[0]
        raise CoverageError(f"every summary failed, the first being by {first.system} ({first.status}: {first.reason})")
    summarized = {summary.document_id for summary in summaries}
    documents = {each.document.id: each.document for each in written}
    dropped = [LeftOut("summary", f"{each.document.id} by {each.system}", each.status, each.reason) for each in failed]
    dropped += [LeftOut("document", doc_id, "has no summary") for doc_id in documents if doc_id not in summarized]
    extras = {name: [each.extra for each in summaries if each.system == name] for name in settings.models}
    changes: dict[str, Any] = {"counts": {}, "files": {}, "origin": None, "splitter": splitter_of(settings.language)}
    return Result(
        Dataset(
            {doc_id: document for doc_id, document in documents.items() if doc_id in summarized},
            summaries,
            {},
            data.card.model_copy(update=changes),
            fact_origins=data.fact_origins,
        ),
        dropped,
        models={each.system: each.model for each in written},
        details={
            "lead": settings.lead,
            "prompt": template.hash,
            "prompt_text": template.source,
            "by_system": {
                name: dict(sorted(Counter(each.outcome for each in written if each.system == name).items()))
                for name in settings.models
            },
            "at_length": {
                name: [
                    sum(each["asked_sentences"] == each["written_sentences"] for each in of_system),
                    len(of_system),
                ]
                for name, of_system in extras.items()
            },
        },
    )


STEP = Step("summarize", SummarizeSettings, summarize, reads="documents")
