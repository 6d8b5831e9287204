"""Task, and what every kind of task can do: show itself, read an answer, say whether a check was passed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from summeter.records import Document, Judgment, Record, Summary

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign, Named
    from summeter.annotate.state import Answer

Role = Literal["work", "check", "training"]
LONGEST = 2000
"""Characters of a comment or a reason."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Task(Record):
    """One question to a person. design/annotate.md gives `body` by kind; `expected` and `role` never leave the server.

    `text` stands in for the document of a worked example that is not in the data. `systems` are those whose summaries
    are shown under letters.
    """

    key: str
    kind: str
    role: Role = "work"
    document_id: str
    system: str | None = None
    rival: str | None = None
    systems: tuple[str, ...] = ()
    index: int | None = None
    list_id: str | None = None
    group: str = ""
    body: dict[str, Any]
    assistance: dict[str, Any] | None = None
    expected: dict[str, Any] | None = None
    feedback: str | None = None
    text: str | None = None


class Misfit(Exception):
    """An answer that does not fit its task, by field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Given(BaseModel):
    """What every answer may hold."""

    model_config = ConfigDict(extra="forbid", strict=True)

    machine: Literal["agree", "disagree"] | None = None
    comment: str | None = Field(default=None, max_length=LONGEST)


G = TypeVar("G", bound=Given)


class Source(NamedTuple):
    """A document with the summaries of it that are judged; `facts` are its key facts and `list_id` their name."""

    document: Document
    summaries: tuple[Summary, ...]
    list_id: str | None

    @property
    def facts(self) -> tuple[str, ...]:
        """Key facts of the document."""
        return self.document.key_facts


class Others(NamedTuple):
    """What checks are made of: sentences and words of other documents, drawn with `rng`.

    `reasoned` holds, by verdict, the texts on which the machine gave that verdict and said why: such a text is taken
    where there is one, so that beside a check stands a reason that speaks of the very text.
    """

    sources: Sequence[Source]
    rng: Random
    stranger: str
    reasoned: Mapping[str, Mapping[str, Any]] = {}

    def foreign(self, source: Source, verdict: str = "") -> str:
        """A sentence of a summary of another document; the fixed stranger where there is none."""
        found = [
            one for other in self._elsewhere(source) for summary in other.summaries for one in summary.sentence_texts
        ]
        return self._chosen(found, verdict) if found else self.stranger

    def foreign_fact(self, source: Source, verdict: str = "") -> str:
        """A key fact of another document, else a foreign sentence."""
        found = [one for other in self._elsewhere(source) for one in other.facts if one not in source.facts]
        return self._chosen(found, verdict) if found else self.foreign(source, verdict)

    def _chosen(self, found: Sequence[str], verdict: str) -> str:
        known = self.reasoned.get(verdict, ())
        return self.rng.choice([one for one in found if one in known] or found)

    def jumble(self, source: Source) -> str:
        """A foreign text with its words in random order: wrong in whatever way one looks at it."""
        found = [one.text for other in self._elsewhere(source) for one in other.summaries if one.text.strip()]
        words = (self.rng.choice(found) if found else self.stranger).split()
        self.rng.shuffle(words)
        return " ".join(words)

    def _elsewhere(self, source: Source) -> list[Source]:
        """A few other documents (all would be slow in a large campaign)."""
        others = [one for one in self.rng.sample(self.sources, min(8, len(self.sources)))
                  if one.document.id != source.document.id]  # fmt: skip
        return others or [one for one in self.sources if one.document.id != source.document.id][:8]


class Kind(ABC):
    """A kind of task. `needs` says in words what the data must hold for it."""

    name: ClassVar[str]
    needs: ClassVar[str]
    lettered: ClassVar[bool] = False

    @abstractmethod
    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """The work on one document."""

    @abstractmethod
    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """The `number`-th attention check, about this document; None where it offers nothing to make one of."""

    @abstractmethod
    def read(self, answer: Any, task: Task) -> dict[str, Any]:
        """A browser's answer as it is stored (letters already replaced). Raises Misfit."""

    @abstractmethod
    def passed(self, task: Task, answer: dict[str, Any]) -> bool:
        """Whether a stored answer is what a check (or training task) expects."""

    @abstractmethod
    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """A stored answer to a task of the work as judgments."""

    def focus(self, task: Task) -> str | None:
        """The text whose like is highlighted in the document."""
        del task
        return None

    def agrees(self, task: Task, answer: dict[str, Any]) -> bool | None:
        """Whether the answer says what the machine's verdict said; None where a kind has no such verdict."""
        del task, answer
        return None

    def shown(self, body: dict[str, Any], letters: Sequence[str]) -> dict[str, Any]:
        """The body as a browser gets it; `letters` are the systems in the order of showing."""
        del letters
        return body

    def unlettered(self, answer: Any, letters: Sequence[str]) -> Any:
        """A browser's answer with systems in place of letters (what does not fit is left for `read` to refuse)."""
        del letters
        return answer

    def relettered(self, answer: dict[str, Any], letters: Sequence[str]) -> dict[str, Any]:
        """A stored answer as the browser sent it."""
        del letters
        return answer


def parsed(model: type[G], answer: Any) -> G:
    """An answer as its model; Misfit names the first field that is wrong."""
    try:
        return model.model_validate(answer)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(["answer", *(str(part) for part in first["loc"])])
        raise Misfit(field, first["msg"].removeprefix("Value error, ")) from error


def machine_fits(kind: Kind, task: Task, answer: dict[str, Any]) -> None:
    """Raise Misfit where agreeing with the machine and the answer itself say different things."""
    agrees = kind.agrees(task, answer)
    if agrees is None or answer["machine"] is None:
        return
    if (answer["machine"] == "agree") != agrees:
        raise Misfit("answer.machine", f"says {answer['machine']}, but the answer itself says otherwise")


def text_of(summary: Summary) -> dict[str, Any]:
    """A summary as a page needs it."""
    return {"text": summary.text, "sentences": [[span.start, span.end] for span in summary.sentences]}


def joined(sentences: Sequence[str]) -> dict[str, Any]:
    """Sentences as a text of their own, as `text_of` gives it."""
    spans, at = [], 0
    for one in sentences:
        spans.append([at, at + len(one)])
        at += len(one) + 1
    return {"text": " ".join(sentences), "sentences": spans}


def key_of(*parts: str | int) -> str:
    """A readable key of a task, in ASCII, from parts of any script.

    >>> key_of("fv", "doc 1", "sys/A", 3)
    'fv/doc%201/sys%2FA/3'
    """
    return "/".join(quote(str(part), safe="", errors="surrogatepass") for part in parts)


def listed(names: Sequence[Named], usual: Sequence[tuple[str, str]], about: str) -> list[dict[str, str]]:
    """Aspects or error types as a page needs them: the campaign's, else the usual; `about` names the second field."""
    if names:
        return [{"name": one.name, about: one.question or one.meaning} for one in names]
    return [{"name": name, about: text} for name, text in usual]


def chosen_from(names: Sequence[str], known: Sequence[str], field: str) -> None:
    """Raise Misfit unless each name is known and named once."""
    for one in names:
        if one not in known:
            raise Misfit(field, f"{one!r} is not one of: {', '.join(known)}")
    if len(set(names)) != len(names):
        raise Misfit(field, "names something twice")
