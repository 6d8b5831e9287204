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
    """A document that may be drawn, and what its source says of it."""

    source: str
    raw: Raw
    document: Document

    @property
    def words(self) -> int:
        """Words of the text."""
        return int(self.document.extra["words"])


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
    cleaned: dict[str, Counter[str]] = {name: Counter() for name in settings.sources}
    drafts = list(_drafts(settings, faults, cleaned))
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
        language = draft.document.extra["language"]
        if draft.words < settings.min_words:
            why = f"shorter than {settings.min_words} words", f"{draft.words} words"
        elif settings.max_words is not None and draft.words > settings.max_words:
            why = f"longer than {settings.max_words} words", f"{draft.words} words"
        elif language != settings.language:
            why = f"not in the language {settings.language}", language
        else:
            fitting.append(draft)
            continue
        left_out.append(LeftOut("document", draft.document.id, *why))
    drawn = _sampled(_without_duplicates(fitting, settings, left_out), settings, left_out)
    if not drawn:
        raise UsageError("no document is left; the settings (language, min_words, max_words) leave out all of them")
    if faults.warnings:
        place.log({"warnings": [str(fault.text) for fault in faults.warnings]})
    documents = {
        each.id: each.model_copy(update={"sentences": spans(split(each.text, settings.language), "document")})
        for each in (draft.document for draft in drawn)
    }
    licences = {document.extra.get("licence") for document in documents.values()}
    card = Card(
        name="source",
        licence=licences.pop() if len(licences) == 1 else None,
        splitter=splitter_of(settings.language),
    )
    strata = Counter(
        (document.extra["source"], document.domain or "none", document.extra["length"], document.extra["kind"])
        for document in documents.values()
    )
    own = {name: [draft.words for draft in drawn if draft.source == name] for name in settings.sources}
    details = {
        "read": dict(read),
        "cleaned": {name: dict(sorted(counts.items())) for name, counts in cleaned.items()},
        "strata": [
            {"source": source, "domain": domain, "length": length, "kind": kind, "documents": count}
            for (source, domain, length, kind), count in strata.items()
        ],
        "mean_words": {name: round(sum(words) / len(words), 1) for name, words in own.items() if words},
    }
    packages = [*libraries(Path(draft.raw.place[0]) for draft in drawn).values(), *["py3langid"] * settings.detect]
    data = Dataset(documents, (), {}, card)
    return Result(data, left_out, {"read": read.total()}, packages=packages, details=details)


def _drafts(settings: SourceSettings, faults: Faults, cleaned: Mapping[str, Counter[str]]) -> Iterator[_Draft]:
    """Every document of the sources, with what is known of it: where it is from, and its strata."""
    if settings.detect:
        import py3langid
    for name, source in settings.sources.items():
        seen: dict[str, tuple[str, int | None]] = {}
        for raw in read_raw(source.path, faults, source.columns):
            file, line = raw.place
            if raw.id in seen:
                faults.of(file).add(line or 1, "doc_id", f"{raw.id!r} is also in {seen[raw.id][0]}")
                continue
            seen[raw.id] = raw.place
            cleaned[name].update(raw.counts)
            text, left_out = cut(raw.text, settings.first_words)
            dialogue = source.category == "dialogue" if source.category else raw.turns or is_dialogue(raw.text)
            count = len(words(text))
            # No absolute path goes into a benchmark.
            below = file if is_address(source.path) else Path(file).relative_to(source.path).as_posix()
            shown = source.path if is_address(source.path) else Path(file).name if below == "." else below
            known = {
                "source": name,
                "origin": ", ".join(filter(None, (source.origin, shown if line is None else f"{shown}:{line}"))),
                "licence": source.licence or raw.extra.get("licence"),
                "language": py3langid.classify(raw.text)[0] if settings.detect else settings.language,
                "words": count,
                "length": "long" if count >= settings.long_from else "short",
                "kind": "dialogue" if dialogue else "text",
                "words_left_out": left_out or None,
            }
            columns: dict[str, Any] = masked({**raw.extra, **known})
            document = Document(
                id=f"{name}/{raw.id}",
                text=text,
                references=raw.fields.get("references", ()),
                key_facts=raw.fields.get("key_facts", ()),
                domain=source.domain or raw.fields.get("domain"),
                split=raw.fields.get("split"),
                share=source.share and raw.fields.get("share") is not False,
                extra={column: value for column, value in columns.items() if value is not None},
            )
            yield _Draft(name, raw, document)


def _without_duplicates(
    drafts: Sequence[_Draft], settings: SourceSettings, left_out: list[LeftOut]
) -> list[_Draft]:  # fmt: skip
    """The first of each group of near-duplicates, and all others; the first is withheld where one of its group is."""
    if settings.duplicates is None:
        return list(drafts)
    texts = {draft.document.id: draft.document.text for draft in drafts}
    group_of = {
        doc_id: group for group in near_duplicates(texts, threshold=settings.duplicates) for doc_id in group.ids
    }
    withheld = {
        group_of[each.document.id].ids[0] for each in drafts if each.document.id in group_of and not each.document.share
    }
    firsts = []
    for draft in drafts:
        doc_id = draft.document.id
        group = group_of.get(doc_id)
        if group is not None and group.ids[0] != doc_id:
            detail = f"of {group.ids[0]} (Jaccard index of the group from {group.similarity:.2f})"
            left_out.append(LeftOut("document", doc_id, "near-duplicate", detail))
        elif doc_id in withheld:
            firsts.append(draft._replace(document=draft.document.model_copy(update={"share": False})))
        else:
            firsts.append(draft)
    return firsts


def _sampled(drafts: Sequence[_Draft], settings: SourceSettings, left_out: list[LeftOut]) -> list[_Draft]:
    """At most `sample` documents of each source, drawn by the seed and the source's name, in the order they came."""
    if settings.sample is None:
        return list(drafts)
    drawn: set[str] = set()
    for name in settings.sources:
        ids = sorted(draft.document.id for draft in drafts if draft.source == name)
        draw = random.Random(f"{settings.seed}:{name}")
        drawn.update(draw.sample(ids, min(settings.sample, len(ids))))
    left_out += [LeftOut("document", each.document.id, "not drawn") for each in drafts if each.document.id not in drawn]
    return [draft for draft in drafts if draft.document.id in drawn]


STEP = Step("source", SourceSettings, build)
