"""Task: one question to a person; and the material that tasks and their attention checks are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from summeter.records import Document, Record, Summary, Target, Unit

Json = dict[str, Any]
Role = Literal["work", "check", "training"]


class InvalidAnswer(Exception):
    """An answer that does not fit its task: `path` leads to the part at fault."""

    def __init__(self, path: str | Sequence[str], message: str) -> None:
        super().__init__(message)
        self.path = tuple(path.split(".")) if isinstance(path, str) else tuple(path)

    @property
    def field(self) -> str:
        """The path as a text."""
        return ".".join(self.path)


class Task(Record):
    """One question to a person; `body` holds the shown text (design/annotate.md).

    `expected` and `role` never leave the server.

    `text` stands in for the document of a worked example that is not in the data. `systems` are those whose summaries
    are shown under letters.
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
    expected: Json | None = None
    feedback: str | None = None
    text: str | None = None

    @property
    def machine(self) -> Json | None:
        """The machine's verdict that is shown beside the task."""
        verdict: Json | None = (self.assistance or {}).get("machine")
        return verdict

    @property
    def expects(self) -> Json:
        """What a check or a training task expects."""
        return self.expected or {}

    def target(self, unit: Unit = "summary", **parts: Any) -> Target:
        """What a judgment is about: the task's own target, but for `parts`."""
        place = {"document_id": self.document_id, "system": self.system or "", "rival": self.rival}
        return Target(**{**place, "unit": unit, "index": self.index, "list_id": self.list_id, **parts})


class Source(NamedTuple):
    """A document with the summaries of it that are judged; `list_id` is the name of its key facts."""

    document: Document
    summaries: tuple[Summary, ...]
    list_id: str | None

    @property
    def facts(self) -> tuple[str, ...]:
        """Key facts of the document."""
        return self.document.key_facts

    def summary(self, system: str | None) -> Summary:
        """The summary by a system."""
        return next(summary for summary in self.summaries if summary.system == system)


class Material(NamedTuple):
    """What attention checks are made of: sentences and words of other documents, drawn with `rng`.

    `explained` holds, by whether the machine accepted it, the texts for which the machine gave a reason: such a text
    is taken where there is one, so that beside a check stands a reason that speaks of the very text.
    """

    sources: Sequence[Source]
    rng: Random
    foreign_sentence: str
    explained: Mapping[bool, Mapping[str, Any]] = {}

    def summary(self, source: Source) -> Summary | None:
        """A summary of the document that has sentences; None where there is none."""
        summaries = [summary for summary in source.summaries if summary.sentences]
        return self.rng.choice(summaries) if summaries else None

    def foreign(self, source: Source, *, accepted: bool | None = None) -> str:
        """A sentence of a summary of another document; `attention.foreign_sentence` where there is none.

        `accepted` is what the machine's verdict beside it will be.
        """
        sentences = [
            sentence
            for other in self._elsewhere(source)
            for summary in other.summaries
            for sentence in summary.sentence_texts
        ]
        return self._choose(sentences, accepted=accepted) if sentences else self.foreign_sentence

    def foreign_fact(self, source: Source, *, accepted: bool | None = None) -> str:
        """A key fact of another document, else a foreign sentence."""
        facts = [fact for other in self._elsewhere(source) for fact in other.facts if fact not in source.facts]
        return self._choose(facts, accepted=accepted) if facts else self.foreign(source, accepted=accepted)

    def scrambled(self, source: Source) -> str:
        """A foreign text with its words in random order: worse than any summary in every respect."""
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
        """A few other documents (all would be slow in a large campaign)."""
        drawn = self.rng.sample(self.sources, min(8, len(self.sources)))
        own = source.document.id
        others = [other for other in drawn if other.document.id != own]
        return others or [other for other in self.sources if other.document.id != own][:8]


def key_of(*parts: str | int) -> str:
    """A readable key of a task, in ASCII, from parts of any script.

    >>> key_of("fv", "doc 1", "sys/A", 3)
    'fv/doc%201/sys%2FA/3'
    """
    return "/".join(quote(str(part), safe="", errors="surrogatepass") for part in parts)


def summary_body(summary: Summary) -> Json:
    """A summary as a page needs it."""
    return {"text": summary.text, "sentences": [[span.start, span.end] for span in summary.sentences]}


def joined_body(sentences: Sequence[str]) -> Json:
    """Sentences as a text of their own, in the form of `summary_body`."""
    spans, offset = [], 0
    for sentence in sentences:
        spans.append([offset, offset + len(sentence)])
        offset += len(sentence) + 1
    return {"text": " ".join(sentences), "sentences": spans}
