"""Tasks, and the material from which attention checks are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from pydantic import Field

from summeter.records import Document, Record, Summary, Target, Unit

Json = dict[str, Any]
Role = Literal["work", "check", "training"]


class InvalidAnswer(Exception):
    """Raised if an answer is invalid; `path` is the path of the invalid field."""

    def __init__(self, path: str | Sequence[str], message: str) -> None:
        super().__init__(message)
        self.path = tuple(path.split(".")) if isinstance(path, str) else tuple(path)

    @property
    def field(self) -> str:
        """The path, joined by dots."""
        return ".".join(self.path)


class Task(Record):
    """A task for an annotator.

    `body` contains the shown texts; design/annotate.md lists the fields of each task type. `systems` are the systems
    whose summaries are shown under letters. `text` is the document of a training task whose document is not in the
    data. `expected` contains the expected answer of a check or a training task, and `planned` the machine verdict that
    is shown with a check. These fields and `role` are never sent to browsers.
    """

    key: str
    role: Role = "work"
    document_id: str
    system: str | None = None
    rival: str | None = None
    systems: tuple[str, ...] = ()
    index: int | None = None
    list_id: str | None = None
    group: str = ""
    body: Json
    assistance: Json | None = None
    expected: Json = Field(default={})
    planned: Json | None = None
    feedback: str | None = None
    text: str | None = None

    @property
    def machine(self) -> Json | None:
        """The machine verdict of the task, or None."""
        verdict: Json | None = (self.assistance or {}).get("machine")
        return verdict

    def target(self, unit: Unit = "summary", **fields: Any) -> Target:
        """Return the target of a judgment on the task; `fields` override fields of the target."""
        summary = {"document_id": self.document_id, "system": self.system or "", "rival": self.rival}
        return Target(**{**summary, "unit": unit, "index": self.index, "list_id": self.list_id, **fields})


class Source(NamedTuple):
    """A document with its summaries; `list_id` identifies its list of key facts."""

    document: Document
    summaries: tuple[Summary, ...]
    list_id: str | None

    @property
    def facts(self) -> tuple[str, ...]:
        """The key facts of the document."""
        return self.document.key_facts

    def summary(self, system: str | None) -> Summary:
        """Return the summary by a system."""
        return next(summary for summary in self.summaries if summary.system == system)


class Material(NamedTuple):
    """Material for attention checks, sampled from other documents with `rng`.

    `foreign_sentence` is used if there are no other documents. `explained` contains the texts for which the machine
    gave a reason, by whether the machine accepted them. Such texts are preferred, so that the reason shown in a check
    is about the text of the check.
    """

    sources: Sequence[Source]
    rng: Random
    foreign_sentence: str
    explained: Mapping[bool, Mapping[str, Any]] = {}

    def summary(self, source: Source) -> Summary | None:
        """Sample a summary of the document that has sentences, or return None if there is none."""
        summaries = [summary for summary in source.summaries if summary.sentences]
        return self.rng.choice(summaries) if summaries else None

    def foreign(self, source: Source, *, accepted: bool | None = None) -> str:
        """Sample a sentence from a summary of another document.

        `accepted` is the decision of the machine verdict that will be shown with the sentence, or None.
        """
        sentences = [
            sentence
            for other in self._elsewhere(source)
            for summary in other.summaries
            for sentence in summary.sentence_texts
        ]
        return self._choose(sentences, accepted=accepted) if sentences else self.foreign_sentence

    def foreign_fact(self, source: Source, *, accepted: bool | None = None) -> str:
        """Sample a key fact of another document, or a foreign sentence if there are no key facts."""
        facts = [fact for other in self._elsewhere(source) for fact in other.facts if fact not in source.facts]
        return self._choose(facts, accepted=accepted) if facts else self.foreign(source, accepted=accepted)

    def scrambled(self, source: Source) -> str:
        """Return a summary of another document, with the words in random order."""
        texts = [
            summary.text for other in self._elsewhere(source) for summary in other.summaries if summary.text.strip()
        ]
        words = (self.rng.choice(texts) if texts else self.foreign_sentence).split()
        self.rng.shuffle(words)
        return " ".join(words)

    def _choose(self, texts: Sequence[str], *, accepted: bool | None) -> str:
        known: Mapping[str, Any] = {} if accepted is None else self.explained.get(accepted, {})
        return self.rng.choice([text for text in texts if text in known] or texts)

    def _elsewhere(self, source: Source) -> list[Source]:
        """Sample a few other documents, because using all would be slow in large campaigns."""
        sampled = self.rng.sample(self.sources, min(8, len(self.sources)))
        others = [other for other in sampled if other.document.id != source.document.id]
        return others or [other for other in self.sources if other.document.id != source.document.id][:8]


def key_of(*parts: str | int) -> str:
    """Return a readable ASCII task key, made of parts that may contain any characters.

    >>> key_of("fv", "doc 1", "sys/A", 3)
    'fv/doc%201/sys%2FA/3'
    """
    return "/".join(quote(str(part), safe="", errors="surrogatepass") for part in parts)


def summary_body(summary: Summary) -> Json:
    """Return the JSON of a summary for the body of a task."""
    return {"text": summary.text, "sentences": [[span.start, span.end] for span in summary.sentences]}


def joined_body(sentences: Sequence[str]) -> Json:
    """Return the JSON of a text made of sentences, in the format of `summary_body`."""
    spans, offset = [], 0
    for sentence in sentences:
        spans.append([offset, offset + len(sentence)])
        offset += len(sentence) + 1
    return {"text": " ".join(sentences), "sentences": spans}
