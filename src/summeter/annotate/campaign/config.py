"""The model of a campaign file (YAML).

The text below a field is its description in docs/campaign-file.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Annotated, Any, Literal, Self, assert_never

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from summeter.annotate.campaign.people import RESERVED
from summeter.choices import QuestionType
from summeter.records import Record
from summeter.records.taxonomy import NO_ERROR, SEPARATOR, canonical_error_type

Outcome = Literal["completed", "failed_checks", "screened_out", "no_more_items"]
OUTCOMES: tuple[Outcome, ...] = ("completed", "failed_checks", "screened_out", "no_more_items")
HARD: frozenset[str] = frozenset({"failed_checks", "screened_out"})
"""Outcomes after which an annotator is offered no more work."""


def _valid(is_valid: Callable[[str], Any], advice: str) -> AfterValidator:
    """Return a validator of strings, whose message ends with `advice`."""

    def check(value: str) -> str:
        if not is_valid(value):
            raise ValueError(f"is {value!r}; {advice}")
        return value

    return AfterValidator(check)


def _distinct(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the entries. Raises ValueError if two of them have the same name or are shown as the same text."""
    names = [entry if isinstance(entry, str) else entry.name for entry in entries]
    shown = [getattr(entry, "label", "") or name for entry, name in zip(entries, names, strict=True)]
    for texts in (names, [" ".join(text.split()) for text in shown]):  # a browser collapses white space
        text, count = (Counter(texts).most_common(1) or [("", 0)])[0]
        if count > 1:
            raise ValueError(f"contains {text!r} twice; rename one entry")
    return entries


def _error_types(entries: tuple[Named, ...]) -> tuple[Named, ...]:
    """Return the error types. Raises ValueError if a name has another meaning in exports."""
    names: dict[str, str] = {}
    for name in (entry.name for entry in _distinct(entries)):
        canonical = canonical_error_type(name)
        if SEPARATOR in name:
            raise ValueError(f"{name!r} contains {SEPARATOR!r}, which separates error types in exports; rename it")
        if canonical == NO_ERROR:
            raise ValueError(f"{name!r} means that there is no error; remove it")
        if canonical in names:
            raise ValueError(f"{name!r} means the same error type as {names[canonical]!r}; rename one of them")
        names[canonical] = name
    return entries


Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, StringConstraints(strip_whitespace=True)]
Identifier = Annotated[
    str,
    _valid(
        re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}").fullmatch,
        "use at most 64 letters, digits, - and _, beginning with a letter or digit",
    ),
]
Code = Annotated[str, _valid(re.compile(r"[A-Za-z0-9_-]{1,64}").fullmatch, "use at most 64 letters, digits, - and _")]
Template = Annotated[str, _valid(lambda text: text.count("{}") == 1, "give {} once, in place of the sentence")]


def _names_as_objects(value: Any) -> Any:
    """Return the list with each plain name replaced by `{"name": NAME}`."""
    if not isinstance(value, list):
        return value
    return [{"name": entry} if isinstance(entry, str) else entry for entry in value]


class Section(Record):
    """A section of the campaign file."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Named(Section):
    """An aspect, an error type or an option with the texts that annotators read."""

    name: Text = Field(min_length=1, max_length=80)
    """Name in the log and in exports."""
    label: Text = ""
    """Text shown to annotators; default: the name."""
    question: str = ""
    """Question that annotators answer about an aspect."""
    meaning: str = ""
    """Definition of an error type, in one sentence."""


ErrorTypes = Annotated[
    tuple[Named, ...],
    BeforeValidator(_names_as_objects, json_schema_input_type=list[str | Named]),
    AfterValidator(_error_types),
]
POINTS = 11
"""Maximum number of points shown side by side."""
STEPS = 1000
"""Maximum number of steps of a slider."""
Number = Annotated[int | float, Field(ge=-1_000_000, le=1_000_000, allow_inf_nan=False)]
SMALLEST_STEP = 0.000001
"""Minimum step. Values are rounded to nine decimals, so that with a smaller step, neighbours could become equal."""
Step = Annotated[int | float, Field(ge=SMALLEST_STEP, le=1_000_000, allow_inf_nan=False)]
ShortText = Annotated[str, Field(max_length=200)]
Label = Annotated[Text, Field(min_length=1, max_length=200)]


class Anchors(Section):
    """Labels of the two ends and the middle of a scale."""

    low: ShortText = ""
    """Label of the lowest value."""
    middle: ShortText = ""
    """Label of the middle value."""
    high: ShortText = ""
    """Label of the highest value."""


class Scale(Section):
    """A rating scale, shown as points side by side or as a slider.

    The values are given by one label for each point (`labels`), or by `low`, `high` and `step`.
    """

    labels: Annotated[tuple[Label, ...], AfterValidator(_distinct)] = Field(default=(), max_length=POINTS)
    """A label for each point, in order; the values count up from `low`."""
    low: Number = 1
    """Lowest value."""
    high: Number | None = None
    """Highest value; default: the value of the last label, or 5 without labels."""
    step: Step = 1
    """Difference between neighbouring values."""
    anchors: Anchors = Anchors()
    """Labels of the ends and the middle, if not every point has a label."""
    show: Literal["points", "slider"] = "points"
    """Points side by side (at most 11) or a slider (at most 1000 steps). A slider has no value until it is moved."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        steps = (self.top - self.low) / self.step
        if len(self.labels) == 1:
            raise ValueError("labels must name two or more points")
        if self.labels and self.high is not None and self.high != self.top:
            count = len(self.labels)
            raise ValueError(f"{count} labels starting at {self.low:g} end at {self.top:g}, not at {self.high:g}")
        if self.labels and (self.anchors != Anchors() or self.show == "slider"):
            raise ValueError("labels name every point; use anchors for a slider, or to label only the ends and middle")
        if steps < 1 or abs(steps - round(steps)) > 1e-6:
            raise ValueError(f"steps of {self.step:g} from low {self.low:g} do not reach high {self.top:g}")
        if self.show == "points" and round(steps) >= POINTS:
            raise ValueError(f"{round(steps) + 1} points do not fit side by side (at most {POINTS}); use show: slider")
        if steps > STEPS:
            raise ValueError(f"a slider has at most {STEPS} steps, not {round(steps)}; use a larger step")
        return self

    @property
    def top(self) -> float:
        """The highest value."""
        if self.labels:
            return self.low + self.step * (len(self.labels) - 1)
        return 5 if self.high is None else self.high

    @property
    def values(self) -> list[float]:
        """All values in ascending order; whole numbers are integers.

        >>> Scale(low=0, high=1, step=0.5).values
        [0, 0.5, 1]
        """
        steps = round((self.top - self.low) / self.step)
        return [_short(self.low + step * self.step) for step in range(steps + 1)]

    def has(self, value: float) -> bool:
        """Return whether a value lies on the scale."""
        return any(abs(value - known) < 1e-9 for known in self.values)

    @property
    def described(self) -> str:
        """Description of the values for messages, such as `a whole number from 1 to 5`."""
        step = "" if self.step == 1 else f" by steps of {self.step:g}"
        whole = "a whole number" if all(isinstance(value, int) for value in self.values) else "a number"
        return f"{whole} from {self.low:g} to {self.top:g}{step}"

    def nearest(self, value: float) -> float:
        """Return the value on the scale that is nearest to a number.

        >>> Scale(low=1, high=5).nearest(7.2), Scale(low=0, high=1, step=0.25).nearest(0.4)
        (5, 0.5)
        """
        offset = self.low % self.step
        return _short(min(self.top, max(self.low, round((value - offset) / self.step) * self.step + offset)))

    def at(self, share: float) -> float:
        """Return the value on the scale at a relative position from 0 (low) to 1 (high)."""
        return self.nearest(self.low + (self.top - self.low) * share)

    def share(self, value: float) -> float:
        """Return the relative position of a value, from 0 (low) to 1 (high)."""
        return (value - self.low) / (self.top - self.low)

    def is_far(self, gap: float) -> bool:
        """Return whether a difference between two ratings is at least half the scale."""
        return gap > 0 and gap >= (self.top - self.low) / 2

    def noisy(self, value: float, accuracy: float, bias: float, rng: Random) -> float:
        """Return `value` with the probability `accuracy`, and another value otherwise.

        The result is shifted by `bias` times half the scale.
        """
        others = [other for other in self.values if other != value]
        rating = value if rng.random() < accuracy else rng.choice(others)
        return self.nearest(rating + (self.top - self.low) / 2 * bias)

    def to_page(self) -> dict[str, Any]:
        """Return the JSON object for pages: points with labels, or the ends and step of a slider."""
        ends = {"low": self.low, "high": _short(self.top), "step": self.step}
        anchors = self.anchors.model_dump()
        if self.show == "slider":
            return {"show": "slider", **ends, "anchors": anchors}
        labels = list(self.labels)
        if not labels:
            labels = ["" for _ in self.values]
            labels[0], labels[-1] = self.anchors.low, self.anchors.high
            if len(labels) % 2:
                labels[len(labels) // 2] = self.anchors.middle
        points = [{"value": value, "label": label} for value, label in zip(self.values, labels, strict=True)]
        return {"show": "points", **ends, "points": points}


def _short(value: float) -> float:
    rounded = round(value, 9)
    return int(rounded) if rounded == int(rounded) else rounded


class Aspect(Named):
    """An aspect on which summaries are rated or compared."""

    scale: Scale | None = None
    """Scale of this aspect, for `rating`; default: the campaign's `scale`."""


Aspects = Annotated[
    tuple[Aspect, ...],
    BeforeValidator(_names_as_objects, json_schema_input_type=list[str | Aspect]),
    AfterValidator(_distinct),
]


class Option(Section):
    """An answer option of a question."""

    name: Annotated[
        Text, _valid(lambda name: SEPARATOR not in name, f"{SEPARATOR!r} separates names in exports; use another name")
    ] = Field(min_length=1, max_length=80)
    """Text shown to annotators, and name in the log and in exports; without `+`."""
    meaning: str = Field(default="", max_length=500)
    """Definition, in one sentence."""


Options = Annotated[
    tuple[Option, ...],
    BeforeValidator(_names_as_objects, json_schema_input_type=list[str | Option]),
    AfterValidator(_distinct),
    Field(max_length=50),
]
Value = bool | Number | str
Wanted = Annotated[
    tuple[Value, ...],
    BeforeValidator(
        lambda value: value if isinstance(value, list | tuple) else [value],
        json_schema_input_type=Value | list[Value],
    ),
    Field(min_length=1),
]
"""The values for which a condition holds: one value, or a list of values."""


class OwnQuestion(Section):
    """An additional question of the campaign, asked after those of the task type."""

    name: Annotated[Text, _valid(lambda name: not set(name) & {".", SEPARATOR}, "remove '.' and '+' from the name")] = (
        Field(min_length=1, max_length=80)
    )
    """Name of the question and aspect of its judgments; without `.` and `+`."""
    question: str = Field(min_length=1, max_length=500)
    """Text of the question."""
    type: QuestionType
    """Type of answer: `scale`, `choice` (one option), `choices` (one or more options), `yes_no` or `text`."""
    hint: str = Field(default="", max_length=500)
    """Line below the question."""
    scale: Scale | None = None
    """Scale of a question of type `scale`; default: 1 to 5."""
    options: Options = ()
    """Options of a question of type `choice` or `choices`, as names or objects."""
    required: bool = True
    """Whether an answer is required."""
    when: dict[str, Wanted] = Field(default={})
    """Condition for showing the question: the value, or a list of values, that another answer must have, as in
    `{label: not_supported}`. Names are those of earlier questions or of the task type's questions (see below). All
    conditions must hold."""
    longest: int = Field(default=2000, ge=1, le=2000)
    """Maximum number of characters of a text."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        has_options = self.type in {QuestionType.CHOICE, QuestionType.CHOICES}
        if has_options and not self.options:
            raise ValueError("has no options; list two or more")
        if self.options and not has_options:
            raise ValueError(f"has options, but its type is {self.type}; only choice and choices have options")
        if self.type is QuestionType.CHOICE and len(self.options) < 2:
            raise ValueError("has one option; list two or more")
        if self.scale is not None and self.type is not QuestionType.SCALE:
            raise ValueError(f"has a scale, but its type is {self.type}; only the type scale has a scale")
        return self


class Select(Section):
    """The documents and summaries that are annotated."""

    systems: tuple[str, ...] | None = None
    """Systems whose summaries are annotated; default: all."""
    documents: tuple[str, ...] | None = None
    """Identifiers of the documents; default: all."""
    items: str | None = None
    """File with the columns `doc_id` and `system`, as written by `annotate plan --items`."""
    limit: int | None = Field(default=None, ge=1)
    """Maximum number of documents; the first ones are used."""


class BatchPlan(Section):
    """Size and lease of a batch of tasks."""

    size: int = Field(default=10, ge=1, le=200)
    """Number of tasks in a batch, without attention checks."""
    lease_minutes: float = Field(default=60, gt=0, le=60 * 24 * 60)
    """Minutes of inactivity after which unanswered tasks are offered to others."""
    per_annotator: int | None = Field(default=None, ge=1)
    """Maximum number of batches per annotator."""


class Prerequisites(Section):
    """Requirements that the platform checks.

    The defaults are those of UniSumEval (Lee et al., 2024, G.1).
    """

    approval_above: float = Field(default=95, ge=0, le=100)
    """Minimum percentage of approved submissions."""
    accepted_at_least: int = Field(default=1000, ge=0)
    """Minimum number of approved submissions."""
    locales: tuple[str, ...] = ()
    """Countries, in the platform's notation."""


class Platform(Section):
    """The platform from which annotators come."""

    name: Literal["local", "prolific", "mturk"] = "local"
    """`local` (accounts with personal links), `prolific` or `mturk`."""
    accounts: tuple[Identifier, ...] = ()
    """Names of the accounts of `local`, made of letters, digits, `-` and `_`."""
    sandbox: bool = False
    """Whether to use the sandbox of `mturk`."""
    prerequisites: Prerequisites | None = None
    """Requirements for crowd workers."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.name != "local" and self.accounts:
            raise ValueError(f"accounts are for the platform local; {self.name} identifies people by its links")
        if self.name == "local" and self.prerequisites is not None:
            raise ValueError("prerequisites are checked by crowd platforms; remove them for the platform local")
        for account in self.accounts:
            if account in RESERVED:
                raise ValueError(f"the account {account!r} is {RESERVED[account]}; use another name")
        if len(set(self.accounts)) != len(self.accounts):
            raise ValueError("an account is listed twice; remove one")
        return self


class Question(Section):
    """A comprehension question of the qualification test."""

    question: str = Field(min_length=1)
    """Text of the question."""
    choices: tuple[str, ...] = Field(min_length=2)
    """Two or more choices."""
    answer: int = Field(ge=0)
    """Index of the right choice, from 0."""

    @model_validator(mode="after")
    def _answer_exists(self) -> Self:
        if self.answer >= len(self.choices):
            raise ValueError(f"answer is {self.answer}; give an index from 0 to {len(self.choices) - 1}")
        return self


class Qualification(Section):
    """A qualification test, passed if every answer is right (UniSumEval, G.1)."""

    questions: tuple[Question, ...] = Field(min_length=1)
    """Questions of the test."""
    attempts: int = Field(default=1, ge=1)
    """Number of attempts."""


class TrainingItem(Section):
    """A training task with a known answer."""

    document: str
    """Text of the document."""
    body: dict[str, Any]
    """Texts that are shown; design/annotate.md gives the fields by task type."""
    expected: dict[str, Any]
    """Right answer; design/annotate.md gives the fields by task type."""
    feedback: str
    """Feedback shown after the answer."""


class Training(Section):
    """Training tasks with feedback, before the work."""

    made: int = Field(default=0, ge=0, le=50)
    """Number of training tasks generated in the same way as attention checks."""
    items: tuple[TrainingItem, ...] = ()
    """Training tasks of your own."""
    pass_share: Share = 0.0
    """Minimum share of right answers; annotators below it are screened out."""


FOREIGN_SENTENCE = "The lighthouse keeper tuned an old violin before the eclipse."
PARAPHRASES = ("It is stated that {}", "We learn that {}", "According to the summary, {}", "The text reports that {}")


class Reasons(Section):
    """Templates for the reasons of the machine verdicts that are shown in attention checks."""

    agreeing: tuple[Template, ...] = Field(
        default=("The text states that “{}”.", "“{}” is what the text says."), min_length=1
    )
    """Reasons for accepting a text, which replaces `{}`."""
    denying: tuple[Template, ...] = Field(
        default=("Nothing in the text says “{}”.", "“{}” does not occur in the text."), min_length=1
    )
    """Reasons for rejecting a text, which replaces `{}`."""


class Attention(Section):
    """Attention checks: tasks with a known answer, mixed in with the other tasks.

    The default texts are English.
    """

    rate: float = Field(default=0.2, ge=0, le=0.5)
    """Share of attention checks among all tasks shown."""
    pass_share: Share = 0.7
    """Minimum share of passed checks; annotators below it fail."""
    judge_after: int = Field(default=4, ge=1)
    """Number of answered checks after which `pass_share` is applied."""
    exclude: bool = True
    """Whether annotators who fail are excluded, so that their answers no longer count."""
    foreign_sentence: str = Field(default=FOREIGN_SENTENCE, min_length=1)
    """Sentence that is unrelated to every document."""
    form: Literal["usual", "unisumeval"] = "usual"
    """Form of the checks of `key_fact_alignment`. `usual`: the key fact is a paraphrased sentence of the summary;
    `unisumeval`: a paraphrased key fact of the document replaces a sentence of the summary (Lee et al., 2024)."""
    paraphrases: tuple[Template, ...] = Field(default=PARAPHRASES, min_length=1)
    """Templates for paraphrasing a sentence, which replaces `{}`."""
    reasons: Reasons = Reasons()
    """Templates for the reasons of machine verdicts in checks."""


class Similar(Section):
    """Contextual mapping: highlighting of similar document sentences."""

    share: float = Field(default=0.3, gt=0, le=1)
    """Share of the document's sentences that are highlighted."""
    most: int = Field(default=10, ge=1)
    """Maximum number of highlighted sentences."""
    scores: str | None = None
    """File of similarity scores with the columns `doc_id`, `text` and `scores` (one per document sentence)."""


Show = Literal["verdict_and_reason", "verdict", "nothing"]


class Machine(Section):
    """The machine verdicts that annotators see with a task."""

    run: str | None = None
    """Folder of the run with the verdicts."""
    set: str | None = None
    """Judgment set of the data with the verdicts, instead of a run."""
    judge: str | None = None
    """Judge whose verdicts are shown; required if there are several."""
    aspect: str | None = None
    """Aspect of the verdicts; default: the aspect of the task type."""
    show: Show = "verdict_and_reason"
    """Part of the verdict that annotators see. With `nothing` the verdict is stored but hidden. `annotate assistance`
    compares campaigns that differ in this field only."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.run is None) == (self.set is None):
            raise ValueError("needs either run or set, the source of the verdicts")
        return self


class Assistance(Section):
    """Assistance for annotators."""

    similar: Similar | None = Similar()
    """Highlighting of similar document sentences; null switches it off."""
    machine: Machine | None = None
    """Verdict of a judge, shown with each task."""
    hide_for: Share = 0.0
    """Share of annotators who see no assistance."""

    @property
    def hides_verdict(self) -> bool:
        """Whether machine verdicts are stored but not shown."""
        return self.machine is not None and self.machine.show == "nothing"

    def shown(self, assistance: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the part of a task's assistance that annotators see."""
        if assistance is None or self.machine is None or assistance.get("machine") is None:
            return assistance
        verdict = assistance["machine"]
        match self.machine.show:
            case "verdict_and_reason":
                return assistance
            case "verdict":
                return {**assistance, "machine": {**verdict, "reason": None}}
            case "nothing":
                return {**assistance, "machine": None}
            case show:
                assert_never(show)


class Codes(Section):
    """Completion codes by outcome; missing codes are generated with the campaign."""

    completed: Code | None = None
    """Code after all work is done."""
    failed_checks: Code | None = None
    """Code after too many failed checks."""
    screened_out: Code | None = None
    """Code after consent is refused or a test is failed."""
    no_more_items: Code | None = None
    """Code if no tasks are left."""


class Bonus(Section):
    """Bonus for careful work."""

    amount: float = Field(ge=0)
    """Amount, in the currency of the pay."""
    checks_at_least: Share = 0.9
    """Minimum share of passed attention checks."""
    per: Literal["batch", "campaign"] = "batch"
    """Whether the bonus is paid for each finished batch or once."""


class Pay(Section):
    """Pay of annotators."""

    currency: str = "USD"
    """Currency code (ISO 4217)."""
    per_batch: float = Field(ge=0)
    """Pay for a complete batch; an incomplete batch is paid proportionally."""
    bonus: Bonus | None = None
    """Bonus for careful work."""
    minutes_per_batch: float | None = Field(default=None, gt=0)
    """Planned minutes per batch, shown with the actual time."""


class Campaign(Section):
    """The settings of a campaign, as read from its YAML file."""

    name: Identifier
    """Name in links and exports, made of letters, digits, `-` and `_`."""
    title: str = ""
    """Title shown to annotators; default: the name."""
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}$", description="Language of the texts (ISO 639).")
    interface: str | None = Field(
        default=None,
        min_length=1,
        description="Language of the annotators' pages: a language that comes with summeter (`en`, `de`), or the path "
        "of a language file, relative to the campaign file. Default: the language of the texts if summeter has it, "
        "else English.",
    )
    task_type: str
    """`fact_verification`, `key_fact_validation`, `key_fact_alignment`, `rating`, `span_highlighting`, `pairwise`, or
    a class of your own, such as `my_tasks:Headline` ([extending](extending.md#a-new-annotation-task))."""
    data: str
    """A data file, a dataset folder, or `hf:ORG/NAME#SPLIT`; see [data](data.md)."""
    preset: str | None = None
    """Preset of a published dataset; `summeter list presets` lists them."""
    format: str | None = None
    """Format of the data file, if its name does not show it."""
    map: dict[str, str] | None = None
    """Names of your columns, as in `{summary: output, system: model}`."""
    select: Select = Select()
    """Documents and summaries that are annotated."""
    answers_per_item: int = Field(default=3, ge=1, le=1000)
    """Number of answers per task."""
    seed: int = 0
    """Random seed of the task order, the assistance arms and the attention checks."""
    order: Literal["shuffled", "as_given"] = "shuffled"
    """Order of documents and their summaries: random, or as in the data."""
    batch: BatchPlan = BatchPlan()
    """Size and lease of batches."""
    platform: Platform = Platform()
    """Platform from which annotators come."""
    consent: str = ""
    """Consent form (Markdown); without it the stage is skipped."""
    instructions: str = ""
    """Instructions (Markdown); without them the stage is skipped."""
    qualification: Qualification | None = None
    """Qualification test before the work."""
    training: Training = Training()
    """Training tasks before the work."""
    attention: Attention = Attention()
    """Attention checks."""
    assistance: Assistance = Assistance()
    """Assistance for annotators."""
    minimum_seconds: float = Field(default=0, ge=0, le=3600)
    """Minimum time for an answer; faster answers are refused."""
    aspects: Aspects = ()
    """Aspects of `rating` and `pairwise`, as names or objects; default: those of the task type."""
    scale: Scale | None = None
    """Scale of the aspects of `rating` that have none; default: 1 (bad) to 5 (excellent)."""
    best: bool = True
    """Whether annotators of `rating` also choose the best summary."""
    ties: bool = True
    """Whether annotators of `pairwise` may choose a tie."""
    error_types: ErrorTypes = ()
    """Error types of `fact_verification` (several per sentence) and `span_highlighting` (one per span), as names or
    objects; default: those of the task type."""
    questions: Annotated[tuple[OwnQuestion, ...], AfterValidator(_distinct)] = Field(default=(), max_length=30)
    """Additional questions; `rating` asks them about each summary."""
    codes: Codes = Codes()
    """Completion codes."""
    pay: Pay | None = None
    """Pay of annotators."""
    contact: str = ""
    """Contact shown on every page."""
    hosts: tuple[str, ...] = ()
    """Host names of the server, in addition to those of `annotate serve`."""
