"""Define exceptions. Each message says what happened, where, and what to do next.

SummeterError                 exit 1
|- UsageError                 exit 2   invalid command or call
|  |- InputError              exit 2   invalid input file; gives file, line and field
|  |- SettingError            exit 2   unknown or invalid setting of an evaluator
|  `- InstallError            exit 2   missing package; gives the command that installs it
|- GateError                  exit 3   a score is below its threshold
|- CoverageError              exit 4   too few usable judgments
|- BudgetError                exit 130 the next call would exceed the budget; the run can be resumed
|- PendingCall                exit 1   a call waits for the next batch
|- WriteError                 exit 1   a file of the run cannot be written; the run can be resumed
|- WorkerError                exit 1   workers cannot start or keep crashing; finished work is kept
|- ModelError                 exit 1   a model did not answer
|  |- TransientError                   temporary failure (429, 5xx, reset, timeout); retried
|  |  `- OutageError                   an endpoint that answered before is unreachable
|  |- UnreachableError        exit 2   no server answers at the address; stops the run, which can be resumed
|  |- AccessError             exit 2   the endpoint denies access; stops the run
|  |- CapabilityError                  the endpoint does not support a requested feature
|  |- ContextError                     the prompt exceeds the context length of the model
|  `- ReplayMiss              exit 2   the recorded run does not contain the call
`- ReplyError                          the reply is unusable; becomes the status of a judgment
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from summeter.records.base import Record


class Parameter(NamedTuple):
    """A parameter in a message, shown as a name in Python and as an option on the command line.

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
    """A message with parameters. As a string, it is worded for Python; `worded` rewords it.

    >>> text = Message("set ", Parameter("max_cost"), ", or raise ", Parameter("max_tokens", "9000"))
    >>> text, text.worded(lambda parameter: f"--{parameter.name}")
    ('set max_cost, or raise max_tokens=9000', 'set --max_cost, or raise --max_tokens')
    """

    parts: tuple[str | Parameter, ...]

    def __new__(cls, *parts: str | Parameter) -> Message:
        """Join strings, parameters and messages; the parts of nested messages are preserved."""
        self = super().__new__(cls, "".join(map(str, parts)))
        nested = ((part.parts if isinstance(part, Message) else (part,)) for part in parts)
        self.parts = tuple(part for several in nested for part in several)
        return self

    def worded(self, name: Callable[[Parameter], str]) -> str:
        """Return the text, with each parameter formatted by `name`."""
        return "".join(name(part) if isinstance(part, Parameter) else part for part in self.parts)


def nearest(name: object, known: Iterable[str]) -> str:
    """Return ` (did you mean NAME?)` with the most similar known name, or "" if none is similar.

    >>> nearest("tempreature", ["seed", "temperature"])
    ' (did you mean temperature?)'
    """
    near = get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


class SummeterError(Exception):
    """Base class of all errors. The message may contain parameters (see `Message`).

    >>> str(UsageError("runs/a is a file; choose another ", Parameter("out")))
    'runs/a is a file; choose another out'
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, *parts: str | Parameter) -> None:
        self._text = Message(*parts)
        super().__init__(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickling avoids the constructor, because its parameters differ between subclasses.
        return _revived, (type(self), self.args), self.__dict__

    def worded(self, name: Callable[[Parameter], str]) -> str:
        """Return the text, with each parameter formatted by `name`."""
        return self._text.worded(name)


def _revived(kind: type[SummeterError], args: tuple[Any, ...]) -> SummeterError:
    return kind.__new__(kind, *args)


class UsageError(SummeterError):
    """The command or call is invalid."""

    exit_code: ClassVar[int] = 2


class SettingError(UsageError, ValueError):
    """A setting of an evaluator is unknown or invalid."""


class Fault(NamedTuple):
    """One fault of an input file.

    `line` is counted from 1, or None if the fault is not in a specific line. `field` is None if the whole row is
    faulty.
    """

    file: str
    line: int | None
    field: str | None
    message: str

    @property
    def text(self) -> Message:
        """The fault as `file:line: field: message`."""
        location = self.file if self.line is None else f"{self.file}:{self.line}"
        return Message(f"{location}: {self.field}: " if self.field else f"{location}: ", self.message)

    def __str__(self) -> str:
        return self.text


class InputError(UsageError):
    """The input is invalid.

    `faults` contains all faults in file order; the message shows the first 20.

    >>> str(InputError([Fault("a.jsonl", 3, "summary", "is null; give a string (it may be empty)")]))
    'a.jsonl:3: summary: is null; give a string (it may be empty)'
    """

    SHOWN: ClassVar[int] = 20

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        lines = [fault.text for fault in self.faults[: self.SHOWN]]
        rest = f"\n... and {len(self.faults) - self.SHOWN} more" if len(self.faults) > self.SHOWN else ""
        parts = (part for line in lines for part in ("\n", line))
        super().__init__(*list(parts)[1:], rest)

    @classmethod
    def at(cls, file: str | Path, message: str, *, line: int | None = None, field: str | None = None) -> InputError:
        """Return an error with one fault."""
        return cls([Fault(str(file), line, field, message)])


class InstallError(UsageError):
    """A package is missing. The message contains the command that installs the package."""

    @classmethod
    def missing(cls, what: str, extra: str) -> InstallError:
        """Return an error for `what`, which is not installed and belongs to an extra of summeter."""
        return cls(f"{what} is not installed; add it with: pip install 'summeter[{extra}]'")


class GateError(SummeterError):
    """A score is below its threshold."""

    exit_code: ClassVar[int] = 3


class CoverageError(SummeterError):
    """The share of units with a usable judgment is too small."""

    exit_code: ClassVar[int] = 4


class BudgetError(SummeterError):
    """The budget allows no further call. Finished work is kept and the run can be resumed."""

    exit_code: ClassVar[int] = 130


class PendingCall(SummeterError):
    """A call waits for the next batch; the item is judged in a later round."""


class WriteError(SummeterError):
    """A file of the run cannot be written. The run stops and can be resumed."""

    @classmethod
    def of(cls, file: object, what: str, error: Exception) -> WriteError:
        """Return an error which says that `file`, which contains `what`, cannot be written."""
        return cls(
            f"{file}: {what} cannot be written: {error}; no further call was made. Finished work is kept; make "
            "the file writable, then repeat the command to resume"
        )


class WorkerError(SummeterError):
    """Workers cannot start or keep crashing. Finished work is kept and the run can be resumed."""


class ModelError(SummeterError):
    """A model did not answer. `reply` is the rejected `models.Completion`, or None."""

    reply: Record | None = None


class TransientError(ModelError):
    """A temporary failure; the call may be retried.

    `retry_after` is the delay, in seconds, that the server requests, or None if it requests none. `throttled` is true
    if the endpoint is overloaded (429, 503, 529), and `unanswered` if it has never answered, not even with an error.
    """

    def __init__(
        self,
        *parts: str | Parameter,
        retry_after: float | None = None,
        throttled: bool = False,
        unanswered: bool = False,
    ) -> None:
        super().__init__(*parts)
        self.retry_after = retry_after
        self.throttled = throttled
        self.unanswered = unanswered


class OutageError(TransientError):
    """An endpoint that answered before is unreachable; its server may be restarting."""


class UnreachableError(ModelError):
    """No server answers at the address. The run stops, because every call would fail."""

    exit_code: ClassVar[int] = 2


class AccessError(ModelError):
    """The endpoint denies access (401, 403, 404, redirect). The run stops."""

    exit_code: ClassVar[int] = 2


class CapabilityError(ModelError):
    """The endpoint does not support `lacks`: a response format, a seed or log-probabilities."""

    def __init__(self, message: str, *, lacks: str) -> None:
        super().__init__(message)
        self.lacks = lacks


class ContextError(ModelError):
    """The prompt exceeds the context length of the model. Only this item fails."""


class ReplayMiss(ModelError):
    """A replayed run requests a call that was not recorded."""

    exit_code: ClassVar[int] = 2


ReplyFault = Literal["no_json", "meaningless", "wrong_count", "ambiguous", "truncated", "refused"]
REPLY_FAULTS: dict[ReplyFault, str] = {
    "no_json": "no JSON",  # missing or malformed JSON: FineSurE's first failure class
    "meaningless": "meaningless",  # valid format without a usable answer: the second class
    "wrong_count": "wrong count",  # too few or too many verdicts, or verdicts on other units: the third class
    "ambiguous": "ambiguous",  # several answers, none marked as final
    "truncated": "truncated",  # the reply ends within the answer
    "refused": "refused",
}
"""Classes of unusable replies and the words with which their reasons begin. The first three follow section 4.2 of
FineSurE (Song et al., 2024)."""


class ReplyError(SummeterError):
    """The reply is unusable. `kind` becomes the status of the judgment.

    `fault` is the class of the fault; the message begins with this class unless the reply is a refusal. `detail` is the
    message without the class.

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
        """Return the same error with `where` in front of the message."""
        return ReplyError(f"{where}: {self.detail}", kind=self.kind, fault=self.fault)


def fault_of(reason: str | None) -> ReplyFault | None:
    """Return the fault class that a stored reason contains, or None if it contains none.

    The class is at the beginning of the reason or after the name of the call.

    >>> fault_of("key facts from the document: no JSON: the reply is empty")
    'no_json'
    """
    faults = {words: fault for fault, words in REPLY_FAULTS.items()}
    return next((faults[part] for part in (reason or "").split(": ")[:4] if part in faults), None)


def first_error(error: BaseException) -> BaseException:
    """Return the first error in a (nested) exception group, or the error itself.

    >>> first_error(ExceptionGroup("two", [UsageError("a"), UsageError("b")]))
    UsageError('a')
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
