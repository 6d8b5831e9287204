"""The step `source`: raw documents of several sources as the first dataset of a benchmark."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, StrictBool, field_validator, model_validator

from summeter.benchmark.raw.reading import Raw, files_of, is_dialogue, libraries, read_raw
from summeter.benchmark.sources import cut
from summeter.benchmark.step import Inputs, LeftOut, Package, Place, Result, Step, StepSettings
from summeter.data.dataset import Dataset
from summeter.data.duplicates import THRESHOLD, near_duplicates
from summeter.data.faults import Faults
from summeter.data.flat import spans, splitter_of
from summeter.data.folder import Card
from summeter.data.hub import is_address
from summeter.records import Document, Record, UsageError
from summeter.records.addresses import masked
from summeter.text.ngrams import words
from summeter.text.split import split


class RawSource(Record):
    """One source of documents."""

    path: str = Field(min_length=1, description="A file, a folder or `hf:...`.")
    domain: str | None = Field(None, description="Domain of its documents.")
    licence: str | None = Field(None, description="Licence of its texts.")
    origin: str | None = Field(None, description="Who published it, or where.")
    share: StrictBool = Field(default=True, description="Whether its texts may be passed on.")
    category: Literal["dialogue", "text"] | None = Field(
        None, description="Whether its texts are dialogues; default: each text shows it."
    )
    columns: dict[str, str] = Field(default_factory=dict, description="Columns of flat files, by field.")


class SourceSettings(StepSettings):
    """Which raw documents are read, and which of them are kept."""

    sources: dict[str, RawSource] = Field(min_length=1, description="Sources by name: path, domain, licence, origin...")
    sample: int | None = Field(200, ge=1, description="Documents of each source, drawn by the seed; none: all.")
    first_words: int | None = Field(None, ge=1, description="Keep the first so many words of a text (SummQual: 700).")
    min_words: int = Field(1, ge=1, description="Leave out shorter texts.")
    max_words: int | None = Field(None, ge=1, description="Leave out longer texts.")
    long_from: int = Field(901, ge=1, description="Words from which a text counts as long (UniSumEval: over 900).")
    language: str = Field("en", description="ISO 639-1 code of the texts; those in other languages are left out.")
    detect: bool = Field(default=True, description="Find out the language of each text (extra `build`).")
    duplicates: float | None = Field(
        THRESHOLD, gt=0, le=1, description="Leave out near-duplicates: least Jaccard index of 5-grams; none: keep them."
    )
    on_fault: Literal["error", "skip"] = Field(
        "error", description="A file or row that cannot be read: error, or skip it."
    )

    @field_validator("sources", mode="before")
    @classmethod
    def _paths(cls, sources: Any) -> Any:
        """A source may be its path alone."""
        if not isinstance(sources, Mapping):
            return sources
        return {name: {"path": source} if isinstance(source, str) else source for name, source in sources.items()}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.max_words is not None and self.max_words < self.min_words:
            raise ValueError(f"max_words ({self.max_words}) is less than min_words ({self.min_words})")
        for name in self.sources:
            if not name.strip() or "/" in name:
                raise ValueError(f"{name!r} cannot name a source: ids of documents are SOURCE/ID")
        return self

    def files(self) -> Iterable[Path]:
        """The files and folders of the sources."""
        return [Path(source.path) for source in self.sources.values() if not is_address(source.path)]

    def packages(self) -> Iterable[Package]:
        """What reads the documents and identifies their languages."""
        detect = [Package("py3langid", "build", "or set detect to false")] if self.detect else []
        return [
            *(
                Package(module, "sources")
                for module in libraries(file for path in self.files() for file in files_of(path))
            ),
            *detect,
        ]


class _Draft(NamedTuple):
    """A document on its way: of which source, as read, and what is known of it."""

    source: str
    raw: Raw
    text: str
    words: int
    left_out: int
    dialogue: bool
    language: str | None
    share: bool

    @property
    def id(self) -> str:
        return f"{self.source}/{self.raw.id}"


def build(inputs: Inputs, settings: SourceSettings, place: Place) -> Result:
    """Read, clean and describe the documents; leave out what does not fit, near-duplicates, and what is not drawn.

    Raises InputError with every file that cannot be read, UsageError where a source gives no document.
    """
    if inputs.folder is not None:
        raise UsageError("the first step reads raw documents, not a folder of an earlier step")
    for source in settings.sources.values():
        if not is_address(source.path) and place.out.resolve().is_relative_to(Path(source.path).resolve()):
            raise UsageError(f"the step's folder lies in the source {source.path}, which would hold it the next time")
    faults = Faults("sources", settings.on_fault)
    counts: dict[str, Counter[str]] = {name: Counter() for name in settings.sources}
    drafts = list(_drafts(settings, faults, counts))
    faults.stop()
    read = Counter(draft.source for draft in drafts)
    if empty := [name for name in settings.sources if not read[name]]:
        raise UsageError(f"the source {empty[0]!r} ({settings.sources[empty[0]].path}) gives no document")
    left_out = [
        LeftOut("file" if row.line is None else "row", f"{row.file}{'' if row.line is None else f':{row.line}'}",
                "cannot be read", row.reason)
        for row in faults.dropped
    ]  # fmt: skip
    fitting = []
    for draft in drafts:
        why = _unfit(draft, settings)
        if why is None:
            fitting.append(draft)
        else:
            left_out.append(LeftOut("document", draft.id, *why))
    different = _without_duplicates(fitting, settings, left_out)
    drawn = _sampled(different, settings, left_out)
    if not drawn:
        raise UsageError("no document is left; the settings (language, min_words, max_words) leave out all of them")
    if faults.warnings:
        place.log({"warnings": [str(fault.text) for fault in faults.warnings]})
    return _result(drawn, settings, left_out, counts, read)


def _drafts(settings: SourceSettings, faults: Faults, counts: Mapping[str, Counter[str]]) -> Iterator[_Draft]:
    identify = _identifier() if settings.detect else None
    for name, source in settings.sources.items():
        seen: dict[str, tuple[str, int | None]] = {}
        for raw in read_raw(source.path, faults, source.columns):
            if raw.id in seen:
                faults.of(raw.place[0]).add(raw.place[1] or 1, "doc_id", f"{raw.id!r} is also in {seen[raw.id][0]}")
                continue
            seen[raw.id] = raw.place
            counts[name].update(raw.counts)
            text, left_out = cut(raw.text, settings.first_words)
            dialogue = source.category == "dialogue" if source.category else raw.turns or is_dialogue(raw.text)
            language = None if identify is None else identify(raw.text)
            share = source.share and raw.fields.get("share") is not False
            yield _Draft(name, raw, text, len(words(text)), left_out, dialogue, language, share)


def _identifier() -> Any:
    import py3langid

    return lambda text: str(py3langid.classify(text)[0])


def _unfit(draft: _Draft, settings: SourceSettings) -> tuple[str, str] | None:
    """Why a document is left out, and the detail."""
    if draft.words < settings.min_words:
        return f"shorter than {settings.min_words} words", f"{draft.words} words"
    if settings.max_words is not None and draft.words > settings.max_words:
        return f"longer than {settings.max_words} words", f"{draft.words} words"
    if draft.language is not None and draft.language != settings.language:
        return f"not in the language {settings.language}", draft.language
    return None


def _without_duplicates(
    drafts: Sequence[_Draft], settings: SourceSettings, left_out: list[LeftOut]
) -> list[_Draft]:  # fmt: skip
    """The first of each group of near-duplicates, and all others; the first is withheld where one of its group is."""
    if settings.duplicates is None:
        return list(drafts)
    groups = near_duplicates({draft.id: draft.text for draft in drafts}, threshold=settings.duplicates)
    kept = {doc_id: group.ids[0] for group in groups for doc_id in group.ids}
    similar = {doc_id: group.similarity for group in groups for doc_id in group.ids}
    for draft in drafts:
        first = kept.get(draft.id, draft.id)
        if first != draft.id:
            detail = f"of {first} (Jaccard index of the group from {similar[draft.id]:.2f})"
            left_out.append(LeftOut("document", draft.id, "near-duplicate", detail))
    withheld = {kept[draft.id] for draft in drafts if draft.id in kept and not draft.share}
    firsts = [draft for draft in drafts if kept.get(draft.id, draft.id) == draft.id]
    return [draft._replace(share=False) if draft.id in withheld else draft for draft in firsts]


def _sampled(drafts: Sequence[_Draft], settings: SourceSettings, left_out: list[LeftOut]) -> list[_Draft]:
    """At most `sample` documents of each source, drawn by the seed and the source's name, in the order they came."""
    if settings.sample is None:
        return list(drafts)
    drawn: set[str] = set()
    for name in settings.sources:
        ids = sorted(draft.id for draft in drafts if draft.source == name)
        draw = random.Random(f"{settings.seed}:{name}")
        drawn.update(draw.sample(ids, min(settings.sample, len(ids))))
    left_out += [LeftOut("document", draft.id, "not drawn") for draft in drafts if draft.id not in drawn]
    return [draft for draft in drafts if draft.id in drawn]


def _result(
    drafts: Sequence[_Draft], settings: SourceSettings, left_out: Sequence[LeftOut],
    cleaned: Mapping[str, Counter[str]], read: Counter[str],
) -> Result:  # fmt: skip
    documents = {draft.id: _document(draft, settings) for draft in drafts}
    known = [document.extra for document in documents.values()]
    licences = {extra.get("licence") for extra in known}
    card = Card(
        name="source",
        licence=licences.pop() if len(licences) == 1 else None,
        splitter=splitter_of(settings.language),
    )
    strata = Counter(
        (document.extra["source"], document.domain or "none", document.extra["length"], document.extra["kind"])
        for document in documents.values()
    )
    details = {
        "read": dict(read),
        "cleaned": {name: dict(sorted(counts.items())) for name, counts in cleaned.items()},
        "strata": [
            {"source": source, "domain": domain, "length": length, "kind": kind, "documents": count}
            for (source, domain, length, kind), count in strata.items()
        ],
        "mean_words": {
            name: round(sum(own) / len(own), 1)
            for name in settings.sources
            if (own := [draft.words for draft in drafts if draft.source == name])
        },
    }
    packages = [*libraries(Path(draft.raw.place[0]) for draft in drafts).values(), *["py3langid"] * settings.detect]
    data = Dataset(documents, (), {}, card)
    return Result(data, left_out, {"read": read.total()}, packages=packages, details=details)


def _known(draft: _Draft, settings: SourceSettings) -> dict[str, Any]:
    """What is known of a document besides its text: where it is from, and its strata."""
    source = settings.sources[draft.source]
    file, line = draft.raw.place
    name = source.path if is_address(source.path) else _relative(file, source.path)
    known = {
        "source": draft.source,
        "origin": ", ".join(filter(None, (source.origin, name if line is None else f"{name}:{line}"))),
        "licence": source.licence or draft.raw.extra.get("licence"),
        "language": draft.language or settings.language,
        "words": draft.words,
        "length": "long" if draft.words >= settings.long_from else "short",
        "kind": "dialogue" if draft.dialogue else "text",
        "words_left_out": draft.left_out or None,
    }
    columns: dict[str, Any] = masked({**draft.raw.extra, **known})
    return {name: value for name, value in columns.items() if value is not None}


def _relative(file: str, path: str) -> str:
    """A file's name below its source's folder; no absolute path goes into a benchmark."""
    return Path(file).name if file == path else Path(file).relative_to(path).as_posix()


def _document(draft: _Draft, settings: SourceSettings) -> Document:
    fields = draft.raw.fields
    return Document(
        id=draft.id,
        text=draft.text,
        sentences=spans(split(draft.text, settings.language), "document"),
        references=fields.get("references", ()),
        key_facts=fields.get("key_facts", ()),
        domain=settings.sources[draft.source].domain or fields.get("domain"),
        split=fields.get("split"),
        share=draft.share,
        extra=_known(draft, settings),
    )


STEP = Step("source", "raw documents, cleaned and sampled", SourceSettings, build)
