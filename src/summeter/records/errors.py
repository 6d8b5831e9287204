"""The one tree of errors. Each says what happened, where, and what to do next.

SummeterError                 exit 1
|- UsageError                 exit 2   the command or the call makes no sense
|  |- InputError              exit 2   a file is at fault: named by file, line and field
|  `- SettingError            exit 2   an evaluator's setting is at fault: named, with the nearest ones
|- InstallError               exit 2   something is not installed; names the command that adds it
|- GateError                  exit 3
|- CoverageError              exit 4   too few usable judgments
|- BudgetError                exit 130 the next call would pass the budget; the run can be carried on
|- WorkerError                exit 1   workers of a run keep dying; what is finished is kept
|- ModelError                 exit 1   a model did not answer
|  |- TransientError                   worth another try (429, 5xx, reset, timeout)
|  |  `- OutageError                   the endpoint answered before and cannot be reached now
|  |- UnreachableError        exit 2   no server answers at the address; ends the run, which can be carried on
|  |- CapabilityError                  the endpoint lacks something that was asked for
|  |- ContextError                     the prompt is longer than the model reads
|  `- ReplayMiss             exit 2   the recorded run holds no such call
`- ReplyError                          a model answered, but not usably; becomes a status, never a number
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from summeter.records.base import Record


class Parameter(NamedTuple):
    """A parameter that a message names: in Python by its name, on the command line by its option (`--max-cost`).

    >>> str(Parameter("max_cost")), str(Parameter("prices", "FILE")), str(Parameter("models", "judge=openai/gpt-4o"))
    ('max_cost', 'prices=FILE', "models={'judge': 'openai/gpt-4o'}")
    """

    name: str
    value: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        key, equals, value = self.value.partition("=")
        return f"{self.name}={ {key: value} if equals else self.value }"


class Message(str):
    """A text with parameters in it: as a string, what a Python caller reads; `worded` says it in other words.

    >>> text = Message("set ", Parameter("max_cost"), ", or raise ", Parameter("max_tokens", "9000"))
    >>> text, text.worded(lambda parameter: f"--{parameter.name}")
    ('set max_cost, or raise max_tokens=9000', 'set --max_cost, or raise --max_tokens')
    """

    parts: tuple[str | Parameter, ...]

    def __new__(cls, *parts: str | Parameter) -> Message:
        """Messages among the parts keep their own parts; other strings that are put together with one lose them."""
        self = super().__new__(cls, "".join(map(str, parts)))
        nested = ((part.parts if isinstance(part, Message) else (part,)) for part in parts)
        self.parts = tuple(part for several in nested for part in several)
        return self

    def worded(self, name: Callable[[Parameter], str]) -> str:
        """The text with each parameter as `name` has it."""
        return "".join(name(part) if isinstance(part, Parameter) else part for part in self.parts)


def nearest(name: object, known: Iterable[str]) -> str:
    """` (did you mean this?)` for the known name that is most like this one; empty where none is near.

    >>> nearest("tempreature", ["seed", "temperature"])
    ' (did you mean temperature?)'
    """
    near = get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


class SummeterError(Exception):
    """Base of every error summeter raises on purpose. Its text may name parameters (`Parameter`), which a Python caller
    and a user of the command line each read in their own words.

    >>> str(UsageError("runs/a is a file; choose another ", Parameter("out")))
    'runs/a is a file; choose another out'
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, *parts: str | Parameter) -> None:
        self._text = Message(*parts)
        super().__init__(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        # To another process without the constructor, which may want more than the text.
        return _revived, (type(self), self.args), self.__dict__

    def worded(self, name: Callable[[Parameter], str]) -> str:
        """The text with each parameter as `name` has it."""
        return self._text.worded(name)


def _revived(kind: type[SummeterError], args: tuple[Any, ...]) -> SummeterError:
    return kind.__new__(kind, *args)


class UsageError(SummeterError):
    """A command or call that cannot be carried out as given."""

    exit_code: ClassVar[int] = 2


class SettingError(UsageError, ValueError):
    """A setting of an evaluator that does not exist, or with a value that it cannot have."""


class Fault(NamedTuple):
    """One thing wrong with an input file; `line` counts from 1, `field` is the column (or None for the row)."""

    file: str
    line: int | None
    field: str | None
    message: str

    @property
    def text(self) -> Message:
        """The whole of it in one line: place, field, message."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return Message(f"{place}: {self.field}: " if self.field else f"{place}: ", self.message)

    def __str__(self) -> str:
        return self.text


class InputError(UsageError):
    """Faulty input. Carries every fault found, in file order.

    >>> str(InputError([Fault("a.jsonl", 3, "summary", "is null; give a text (it may be empty)")]))
    'a.jsonl:3: summary: is null; give a text (it may be empty)'
    """

    SHOWN: ClassVar[int] = 20

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        lines = [fault.text for fault in self.faults[: self.SHOWN]]
        rest = f"\n... and {len(self.faults) - self.SHOWN} more" if len(self.faults) > self.SHOWN else ""
        parts = (part for line in lines for part in ("\n", line))
        super().__init__(*list(parts)[1:], rest)

    @classmethod
    def at(cls, file: str | Path, line: int | None, field: str | None, message: str) -> InputError:
        """One fault."""
        return cls([Fault(str(file), line, field, message)])


class InstallError(UsageError):
    """A missing package; the message names the command that adds it."""

    @classmethod
    def missing(cls, what: str, extra: str) -> InstallError:
        """`what` needs an extra that is not installed."""
        return cls(f"{what} is not installed; add it with: pip install 'summeter[{extra}]'")


class GateError(SummeterError):
    """A score is under the gate that was set."""

    exit_code: ClassVar[int] = 3


class CoverageError(SummeterError):
    """Too small a share of what was to be judged has a usable judgment."""

    exit_code: ClassVar[int] = 4


class BudgetError(SummeterError):
    """The run's budget allows no further call; what is finished is kept and the run can be carried on."""

    exit_code: ClassVar[int] = 130


class PendingCall(SummeterError):
    """A call waits for the next batch: its item is left to a later round."""


class WriteError(SummeterError):
    """What a run takes in cannot be kept: it ends before it asks for more, and can be carried on."""

    @classmethod
    def of(cls, file: object, what: str, error: Exception) -> WriteError:
        """The failed write of a file, which is `what`."""
        return cls(
            f"{file}: {what} cannot be written: {error}; nothing more was asked. What was finished is kept, and the "
            "same again carries on once it can be written"
        )


class WorkerError(SummeterError):
    """The workers of a run cannot begin, or keep dying: what is finished is kept and the run can be carried on."""


class ModelError(SummeterError):
    """A model gave no answer. `reply` is the one that came and cannot be used, where it came to that: it was paid for
    (a `models.Completion`; see `models.base.turned_away`)."""

    reply: Record | None = None


class TransientError(ModelError):
    """A failure worth another try. `retry_after`: seconds after which the server wants to be asked again, or None.
    `throttled`: the endpoint has more calls than it can take (429, 503, 529)."""

    def __init__(self, message: str, *, retry_after: float | None = None, throttled: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.throttled = throttled


class OutageError(TransientError):
    """An endpoint that answered before cannot be reached: its server may be restarting."""


class UnreachableError(ModelError):
    """No server answers at the address: every call would fail, so the run stops."""

    exit_code: ClassVar[int] = 2


class AccessError(ModelError):
    """The endpoint turns us away (401, 403, 404, a redirect): every call would fail alike, so the run stops."""

    exit_code: ClassVar[int] = 2


class CapabilityError(ModelError):
    """The endpoint cannot do what was asked (a response format, a seed, log-probabilities)."""

    def __init__(self, message: str, *, lacks: str) -> None:
        super().__init__(message)
        self.lacks = lacks


class ContextError(ModelError):
    """What is to be judged does not fit into the model's context: one item's failure, no other's."""


class ReplayMiss(ModelError):
    """A replayed run asks for a call that was never recorded."""

    exit_code: ClassVar[int] = 2


ReplyFault = Literal["no_json", "meaningless", "wrong_count", "ambiguous", "truncated", "refused"]
REPLY_FAULTS: dict[ReplyFault, str] = {
    "no_json": "no JSON",  # nothing of the form asked for, or broken: FineSurE's first class of failure
    "meaningless": "meaningless",  # of that form, but it says nothing that could be meant: the second
    "wrong_count": "wrong count",  # too few verdicts, too many, or of other units: the third
    "ambiguous": "ambiguous",  # several answers, and nothing says which one counts
    "truncated": "truncated",  # it ends before the answer does
    "refused": "refused",
}
"""Classes of unusable replies, after section 4.2 of FineSurE (Song et al., 2024) and beyond, and the words that
reasons begin with."""


class ReplyError(SummeterError):
    """A reply that came but cannot be used. `kind` becomes the judgment's status.

    `fault` is its class; the text begins with that in words, save for a refusal, whose status says it.
    `detail` is the message alone.

    >>> str(ReplyError("no entry for sentence 2", fault="wrong_count"))
    'wrong count: no entry for sentence 2'
    """

    def __init__(
        self, message: str, *, kind: Literal["unparsed", "refused"] = "unparsed", fault: ReplyFault | None = None
    ) -> None:
        self.kind: Literal["unparsed", "refused"] = kind
        self.fault: ReplyFault = "refused" if kind == "refused" else fault or "meaningless"
        self.detail = message
        super().__init__(message if kind == "refused" else f"{REPLY_FAULTS[self.fault]}: {message}")

    def within(self, where: str) -> ReplyError:
        """The same failure, with the place it is at before its message."""
        return ReplyError(f"{where}: {self.detail}", kind=self.kind, fault=self.fault)


def fault_of(reason: str | None) -> ReplyFault | None:
    """The class that a stored reason names, or None. It stands first, or behind what was asked for.

    >>> fault_of("key facts from the document: no JSON: the reply is empty")
    'no_json'
    """
    faults = {words: fault for fault, words in REPLY_FAULTS.items()}
    return next((faults[part] for part in (reason or "").split(": ")[:4] if part in faults), None)


def first_error(error: BaseException) -> BaseException:
    """The first single error inside a group of errors (or groups): what a caller can act on.

    >>> first_error(ExceptionGroup("two", [UsageError("a"), UsageError("b")]))
    UsageError('a')
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
