"""The step `source`: build the first dataset of a benchmark from raw documents."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, StrictBool, field_validator, model_validator

from summeter.benchmark.raw.reading import files_of, is_dialogue, libraries, read_raw
from summeter.benchmark.sources import truncate
from summeter.benchmark.step import Inputs, LeftOut, Package, Result, Step, StepContext, StepSettings
from summeter.data.dataset import Dataset
from summeter.data.duplicates import THRESHOLD, near_duplicates
from summeter.data.faults import Faults
from summeter.data.flat import splitter_of, with_sentences
from summeter.data.folder import Card
from summeter.data.hub import is_address
from summeter.records import Document, Record, UsageError
from summeter.records.addresses import masked
from summeter.text.ngrams import words


class RawSource(Record):
    """A source of documents."""

    path: str = Field(min_length=1, description="A file, a folder or `hf:...`.")
    domain: str | None = Field(None, description="Domain of its documents.")
    licence: str | None = Field(None, description="Licence of its texts.")
    origin: str | None = Field(None, description="Publisher or place of publication.")
    share: StrictBool = Field(default=True, description="Whether its texts may be shared.")
    category: Literal["dialogue", "text"] | None = Field(
        None, description="Whether its texts are dialogues; default: detected for each text."
    )
    columns: dict[str, str] = Field(default_factory=dict, description="Columns of flat files, by field.")


class SourceSettings(StepSettings):
    """Read raw documents, and select those that fit the criteria."""

    sources: dict[str, RawSource] = Field(
        min_length=1, description="Sources by name. A source is a path, or the fields below."
    )
    sample: int | None = Field(200, ge=1, description="Number of documents sampled from each source; null: all.")
    first_words: int | None = Field(
        None, ge=1, description="Truncate texts to this number of words (SummQual: 700); default: keep whole texts."
    )
    min_words: int = Field(1, ge=1, description="Minimum number of words of a text.")
    max_words: int | None = Field(None, ge=1, description="Maximum number of words of a text.")
    long_from: int = Field(901, ge=1, description="Minimum number of words of a long text (UniSumEval: over 900).")
    language: str = Field("en", description="ISO 639-1 code of the language; texts in other languages are left out.")
    detect: bool = Field(default=True, description="Detect the language of each text (extra `build`).")
    duplicates: float | None = Field(
        THRESHOLD,
        gt=0,
        le=1,
        description="Minimum Jaccard index of word 5-grams at which a text is left out as a near-duplicate; null: keep "
        "near-duplicates.",
    )
    on_fault: Literal["error", "skip"] = Field(
        "error", description="What to do with files and rows that cannot be read: `error` or `skip`."
    )

    @field_validator("sources", mode="before")
    @classmethod
    def _expand_paths(cls, sources: Any) -> Any:
        if not isinstance(sources, Mapping):
            return sources
        return {name: {"path": source} if isinstance(source, str) else source for name, source in sources.items()}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.max_words is not None and self.max_words < self.min_words:
            raise ValueError(f"max_words ({self.max_words}) is less than min_words ({self.min_words})")
        for name in self.sources:
            if not name.strip() or "/" in name:
                raise ValueError(f"{name!r} is not a valid source name; ids of documents are SOURCE/ID")
        return self

    def files(self) -> Iterable[Path]:
        """Return the files and folders of the sources."""
        return [Path(source.path) for source in self.sources.values() if not is_address(source.path)]

    def packages(self) -> Iterable[Package]:
        """Return the packages that read the documents and identify their languages."""
        detect = [Package("py3langid", "build", "or set detect to false")] if self.detect else []
        return [
            *(
                Package(module, "sources")
                for module in libraries(file for path in self.files() for file in files_of(path))
            ),
            *detect,
        ]


def build(inputs: Inputs, settings: SourceSettings, context: StepContext) -> Result:
    """Read, clean and describe documents, filter them, and draw a sample.

    Unsuitable documents and near-duplicates are left out. Raises InputError with all files that cannot be read, and
    UsageError if a source contains no documents.
    """
    if inputs.folder is not None:
        raise UsageError("the first step reads raw documents, not the folder of an earlier step")
    for source in settings.sources.values():
        if not is_address(source.path) and context.out.resolve().is_relative_to(Path(source.path).resolve()):
            raise UsageError(
                f"the output folder is inside the source {source.path}, so the next run would read it. Choose another "
                "output folder"
            )
    faults = Faults("sources", settings.on_fault)
    cleaned: dict[str, Counter[str]] = {name: Counter() for name in settings.sources}
    file_of: dict[str, Path] = {}
    read = list(_documents(settings, faults, cleaned, file_of))
    faults.stop()
    read_counts = Counter(document.extra["source"] for document in read)
    if empty := [name for name in settings.sources if not read_counts[name]]:
        raise UsageError(f"the source {empty[0]!r} ({settings.sources[empty[0]].path}) contains no documents")
    left_out = [
        LeftOut("file" if row.line is None else "row", f"{row.file}{'' if row.line is None else f':{row.line}'}",
                "cannot be read", row.reason)
        for row in faults.dropped
    ]  # fmt: skip
    fitting = []
    for document in read:
        language, count = document.extra["language"], document.extra["words"]
        if count < settings.min_words:
            why = f"shorter than {settings.min_words} words", f"{count} words"
        elif settings.max_words is not None and count > settings.max_words:
            why = f"longer than {settings.max_words} words", f"{count} words"
        elif language != settings.language:
            why = f"not in the language {settings.language}", language
        else:
            fitting.append(document)
            continue
        left_out.append(LeftOut("document", document.id, *why))
    sample = _sample(_without_duplicates(fitting, settings, left_out), settings, left_out)
    if not sample:
        raise UsageError("no document is left. Check the settings language, min_words and max_words")
    if faults.warnings:
        context.log({"warnings": [str(fault.text) for fault in faults.warnings]})
    documents = {each.id: with_sentences(each, settings.language) for each in sample}
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
    lengths = {
        name: [each.extra["words"] for each in sample if each.extra["source"] == name] for name in settings.sources
    }
    details = {
        "read": dict(read_counts),
        "cleaned": {name: dict(sorted(counts.items())) for name, counts in cleaned.items()},
        "strata": [
            {"source": source, "domain": domain, "length": length, "kind": kind, "documents": count}
            for (source, domain, length, kind), count in strata.items()
        ],
        "mean_words": {name: round(sum(counts) / len(counts), 1) for name, counts in lengths.items() if counts},
    }
    packages = [*libraries(file_of[doc_id] for doc_id in documents).values(), *["py3langid"] * settings.detect]
    data = Dataset(documents, (), {}, card)
    return Result(data, left_out, {"read": read_counts.total()}, packages=packages, details=details)


def _documents(
    settings: SourceSettings, faults: Faults, cleaned: Mapping[str, Counter[str]], file_of: dict[str, Path]
) -> Iterator[Document]:
    """Yield every document of the sources, with its provenance and strata.

    The changes by cleaning are counted in `cleaned`, and the files are stored in `file_of` by the id of the document.
    """
    if settings.detect:
        import py3langid
    for name, source in settings.sources.items():
        seen: dict[str, tuple[str, int | None]] = {}
        for raw in read_raw(source.path, faults, source.columns):
            file, line = raw.location
            if raw.id in seen:
                faults.of(file).add(line or 1, "doc_id", f"{raw.id!r} is also in {seen[raw.id][0]}")
                continue
            seen[raw.id] = raw.location
            cleaned[name].update(raw.counts)
            text, left_out = truncate(raw.text, settings.first_words)
            dialogue = source.category == "dialogue" if source.category else raw.turns or is_dialogue(raw.text)
            count = len(words(text))
            # A benchmark contains no absolute paths.
            relative = file if is_address(source.path) else Path(file).relative_to(source.path).as_posix()
            shown = source.path if is_address(source.path) else Path(file).name if relative == "." else relative
            provenance = {
                "source": name,
                "origin": ", ".join(filter(None, (source.origin, shown if line is None else f"{shown}:{line}"))),
                "licence": source.licence or raw.extra.get("licence"),
                "language": py3langid.classify(raw.text)[0] if settings.detect else settings.language,
                "words": count,
                "length": "long" if count >= settings.long_from else "short",
                "kind": "dialogue" if dialogue else "text",
                "words_left_out": left_out or None,
            }
            columns: dict[str, Any] = masked({**raw.extra, **provenance})
            parts = [each for each in raw.fields.get("sources", ()) if each.start < len(text)]  # of a truncated text
            document = Document(
                id=f"{name}/{raw.id}",
                text=text,
                sources=tuple(each.model_copy(update={"end": min(each.end, len(text))}) for each in parts),
                references=raw.fields.get("references", ()),
                key_facts=raw.fields.get("key_facts", ()),
                domain=source.domain or raw.fields.get("domain"),
                split=raw.fields.get("split"),
                share=source.share and raw.fields.get("share") is not False,
                extra={column: value for column, value in columns.items() if value is not None},
            )
            file_of[document.id] = Path(file)
            yield document


def _without_duplicates(
    documents: Sequence[Document], settings: SourceSettings, left_out: list[LeftOut]
) -> list[Document]:
    """Keep the first document of each group of near-duplicates.

    This document is withheld if any document of the group is withheld.
    """
    if settings.duplicates is None:
        return list(documents)
    texts = {document.id: document.text for document in documents}
    group_of = {
        doc_id: group for group in near_duplicates(texts, threshold=settings.duplicates) for doc_id in group.ids
    }
    withheld = {group_of[each.id].ids[0] for each in documents if each.id in group_of and not each.share}
    firsts = []
    for document in documents:
        doc_id = document.id
        group = group_of.get(doc_id)
        if group is not None and group.ids[0] != doc_id:
            detail = f"of {group.ids[0]} (Jaccard index at least {group.similarity:.2f})"
            left_out.append(LeftOut("document", doc_id, "near-duplicate", detail))
        elif doc_id in withheld:
            firsts.append(document.model_copy(update={"share": False}))
        else:
            firsts.append(document)
    return firsts


def _sample(documents: Sequence[Document], settings: SourceSettings, left_out: list[LeftOut]) -> list[Document]:
    """Sample at most `settings.sample` documents from each source, keeping their order.

    The random generator is seeded with the seed and the name of the source.
    """
    if settings.sample is None:
        return list(documents)
    sampled: set[str] = set()
    for name in settings.sources:
        ids = sorted(document.id for document in documents if document.extra["source"] == name)
        generator = random.Random(f"{settings.seed}:{name}")
        sampled.update(generator.sample(ids, min(settings.sample, len(ids))))
    ids_left_out = [document.id for document in documents if document.id not in sampled]
    left_out += [LeftOut("document", doc_id, "not sampled") for doc_id in ids_left_out]
    return [document for document in documents if document.id in sampled]


STEP = Step("source", SourceSettings, build)
