"""Campaign: the YAML file as one frozen model. Every fault is named by file and field before anything is written."""

from __future__ import annotations

import re
from random import Random
from typing import Annotated, Any, Literal, Self, assert_never

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from summeter.choices import QuestionType
from summeter.records import Record
from summeter.records.taxonomy import SEPARATOR

Outcome = Literal["completed", "failed_checks", "screened_out", "no_more_items"]
OUTCOMES: tuple[Outcome, ...] = ("completed", "failed_checks", "screened_out", "no_more_items")
HARD: frozenset[str] = frozenset({"failed_checks", "screened_out"})
"""Terminal outcomes: no more work is offered."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
Share = Annotated[float, Field(ge=0, le=1)]


def _named(value: Any) -> Any:
    """A list of names is a list of objects that have only a name."""
    if not isinstance(value, list):
        return value
    return [{"name": entry} if isinstance(entry, str) else entry for entry in value]


def _several(value: Any) -> Any:
    """One value is a list of one."""
    return value if isinstance(value, list | tuple) else [value]


class Section(Record):
    """A part of the file. The text below a field is what docs/campaign-file.md says about it."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Named(Section):
    """An aspect or an error type, with what annotators read about it: its `label`, where it has one, else its name."""

    name: str = Field(min_length=1, max_length=80)
    """What is stored and exported."""
    label: str = ""
    """What annotators read in its place."""
    question: str = ""
    """What annotators are asked about it (aspects)."""
    meaning: str = ""
    """What it means, in a sentence (error types)."""


Names = Annotated[tuple[Named, ...], BeforeValidator(_named, json_schema_input_type=list[str | Named])]
POINTS = 11
"""Maximum number of points shown side by side."""
STEPS = 1000
"""Maximum number of steps of a slider."""
Number = Annotated[int | float, Field(ge=-1_000_000, le=1_000_000, allow_inf_nan=False)]
SMALLEST_STEP = 0.000001
"""Values are kept to nine decimals: those a smaller step apart could become one."""
Step = Annotated[int | float, Field(ge=SMALLEST_STEP, le=1_000_000, allow_inf_nan=False)]
ShortText = Annotated[str, Field(max_length=200)]


class Anchors(Section):
    """What the ends of a scale mean, and its middle."""

    low: ShortText = ""
    """What the lowest value means."""
    middle: ShortText = ""
    """What the middle means."""
    high: ShortText = ""
    """What the highest value means."""


class Scale(Section):
    """The values an answer can have, in order: points side by side, or a slider.

    Either `labels` names every point, or `low`, `high` and `step` say which values there are.
    """

    labels: tuple[ShortText, ...] = Field(default=(), max_length=POINTS)
    """A text for each point, in order, at most 11. The values count up from `low`."""
    low: Number = 1
    """The lowest value."""
    high: Number | None = None
    """The highest value; 5 without it, with `labels` the last of them."""
    step: Step = 1
    """From one value to the next."""
    anchors: Anchors = Anchors()
    """Texts at the ends and in the middle, where not every point has one."""
    show: Literal["points", "slider"] = "points"
    """Points side by side (at most 11), or a slider (at most 1000 steps), which has no value until it is set."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        steps = (self.top - self.low) / self.step
        if len(self.labels) == 1 or any(not label.strip() for label in self.labels):
            raise ValueError("labels names every point, two or more, none of them empty")
        if self.labels and self.high is not None and self.high != self.low + self.step * (len(self.labels) - 1):
            count = len(self.labels)
            raise ValueError(f"{count} labels from {self.low:g} on end at {self._end:g}, not at {self.high:g}")
        if self.labels and (self.anchors != Anchors() or self.show == "slider"):
            raise ValueError("labels are for points, one each; for a slider, or ends and middle alone, give anchors")
        if steps < 1 or abs(steps - round(steps)) > 1e-6:
            raise ValueError(f"from low {self.low:g} by steps of {self.step:g} one does not come to high {self.top:g}")
        if self.show == "points" and round(steps) >= POINTS:
            raise ValueError(f"{round(steps) + 1} points are more than the {POINTS} that fit; give show: slider")
        if steps > STEPS:
            raise ValueError(f"a slider has at most {STEPS} steps, not {round(steps)}; give a larger step")
        return self

    @property
    def _end(self) -> float:
        return self.low + self.step * (len(self.labels) - 1)

    @property
    def top(self) -> float:
        """The highest value."""
        if self.labels:
            return self._end
        return 5 if self.high is None else self.high

    @property
    def values(self) -> list[float]:
        """All values, in order; whole ones as integers.

        >>> Scale(low=0, high=1, step=0.5).values
        [0, 0.5, 1]
        """
        steps = round((self.top - self.low) / self.step)
        return [_short(self.low + step * self.step) for step in range(steps + 1)]

    def has(self, value: float) -> bool:
        """Whether a value is one of the scale's."""
        return any(abs(value - known) < 1e-9 for known in self.values)

    @property
    def described(self) -> str:
        """In words, for messages."""
        step = "" if self.step == 1 else f" by steps of {self.step:g}"
        whole = "a whole number" if all(isinstance(value, int) for value in self.values) else "a number"
        return f"{whole} from {self.low:g} to {self.top:g}{step}"

    def nearest(self, value: float) -> float:
        """The scale's value that is nearest to any number.

        >>> Scale(low=1, high=5).nearest(7.2), Scale(low=0, high=1, step=0.25).nearest(0.4)
        (5, 0.5)
        """
        offset = self.low % self.step
        return _short(min(self.top, max(self.low, round((value - offset) / self.step) * self.step + offset)))

    def at(self, share: float) -> float:
        """The value at a share of the way from low (0) to high (1)."""
        return self.nearest(self.low + (self.top - self.low) * share)

    def share(self, value: float) -> float:
        """How far from low (0) to high (1) a value lies."""
        return (value - self.low) / (self.top - self.low)

    def is_far(self, gap: float) -> bool:
        """Whether two values that lie a gap apart contradict each other: half of the scale or more."""
        return gap > 0 and gap >= (self.top - self.low) / 2

    def noisy(self, value: float, accuracy: float, bias: float, rng: Random) -> float:
        """The value with the chance `accuracy`, else any other, moved by half the scale times the bias."""
        others = [other for other in self.values if other != value]
        given = value if rng.random() < accuracy else rng.choice(others)
        return self.nearest(given + (self.top - self.low) / 2 * bias)

    def to_page(self) -> dict[str, Any]:
        """As a page draws it: every point with its label, or a slider's ends and steps."""
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
    """A dimension that summaries are rated or compared on; `scale` is for ratings."""

    scale: Scale | None = None
    """This aspect's own scale; for the task type `rating`."""


Aspects = Annotated[tuple[Aspect, ...], BeforeValidator(_named, json_schema_input_type=list[str | Aspect])]


class Option(Section):
    """An option of a question, with a few words on what it means."""

    name: str = Field(min_length=1, max_length=80)
    """What annotators read, and what is stored and exported; without `+`."""
    meaning: str = Field(default="", max_length=500)
    """What it means, in a sentence."""

    @field_validator("name")
    @classmethod
    def _apart(cls, value: str) -> str:
        if SEPARATOR in value:
            raise ValueError(f"{value!r} would be read as several names, which {SEPARATOR!r} joins; name it without")
        return value


Options = Annotated[
    tuple[Option, ...], BeforeValidator(_named, json_schema_input_type=list[str | Option]), Field(max_length=50)
]
Value = bool | Number | str
Wanted = Annotated[
    tuple[Value, ...], BeforeValidator(_several, json_schema_input_type=Value | list[Value]), Field(min_length=1)
]


class OwnQuestion(Section):
    """A question of the campaign, asked in addition to those of the task type."""

    name: str = Field(min_length=1, max_length=80)
    """The aspect under which answers are exported; without `.` and `+`."""
    question: str = Field(min_length=1, max_length=500)
    """What annotators read."""
    type: QuestionType
    """`scale`, `choice` (one of the options), `choices` (one or more of them), `yes_no` or `text`."""
    hint: str = Field(default="", max_length=500)
    """A line below the question."""
    scale: Scale | None = None
    """Of the type `scale`; without it from 1 to 5."""
    options: Options = ()
    """Of the types `choice` and `choices`: names, or fields of each."""
    required: bool = True
    """Whether the task can be sent without an answer."""
    when: dict[str, Wanted] = Field(default={})
    """Shown only where another answer has this value, or one of these: `{label: not_supported}`. It names earlier
    questions, or what the task type asks (below); with several names all must hold."""
    longest: int = Field(default=2000, ge=1, le=2000)
    """Characters of a text."""

    @field_validator("name")
    @classmethod
    def _path(cls, value: str) -> str:
        if value != value.strip() or set(value) & {".", SEPARATOR}:
            raise ValueError(f"is {value!r}; name it without . and {SEPARATOR}, and without blanks around it")
        return value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        choosing = self.type in {QuestionType.CHOICE, QuestionType.CHOICES}
        if choosing != bool(self.options):
            lacks = (
                "needs options" if choosing else f"has no options; they are for choice and choices, not for {self.type}"
            )
            raise ValueError(lacks)
        if choosing and len(self.options) < (2 if self.type is QuestionType.CHOICE else 1):
            raise ValueError("needs two options or more")
        if len(set(self.option_names)) != len(self.options):
            raise ValueError("names an option twice")
        if self.scale is not None and self.type is not QuestionType.SCALE:
            raise ValueError(f"has no scale; that is for the type scale, not for {self.type}")
        return self

    @property
    def option_names(self) -> list[str]:
        """The names of the options, in order."""
        return [option.name for option in self.options]

    @property
    def values(self) -> tuple[Any, ...]:
        """The values that an answer may have, or one of several; none where it is a text."""
        match self.type:
            case QuestionType.SCALE:
                return tuple(self.on_scale.values)
            case QuestionType.YES_NO:
                return (True, False)
            case QuestionType.CHOICE | QuestionType.CHOICES:
                return tuple(self.option_names)
            case QuestionType.TEXT:
                return ()
            case kind:
                assert_never(kind)

    @property
    def on_scale(self) -> Scale:
        """The scale; from 1 to 5 where none is given."""
        return self.scale or Scale()

    def to_page(self) -> dict[str, Any]:
        """As a page draws it."""
        return {
            **self.model_dump(mode="json", include={"name", "question", "type", "hint", "required", "longest"}),
            "options": [option.model_dump() for option in self.options],
            "scale": self.on_scale.to_page() if self.type is QuestionType.SCALE else None,
            "when": {name: list(values) for name, values in self.when.items()},
        }


class Select(Section):
    """Which part of the data is judged; `limit` counts documents, `items` is a file as `annotate plan` writes it."""

    systems: tuple[str, ...] | None = None
    """Only summaries of these systems."""
    documents: tuple[str, ...] | None = None
    """Only these documents."""
    items: str | None = None
    """A file with the columns `doc_id` and `system`, as `annotate plan -o` writes it."""
    limit: int | None = Field(default=None, ge=1)
    """Maximum number of documents; the first ones are taken."""


class BatchPlan(Section):
    """How much is handed out at once. `size` counts tasks of the work; checks come on top."""

    size: int = Field(default=10, ge=1, le=200)
    """Tasks handed out at once; attention checks come on top."""
    lease_minutes: float = Field(default=60, gt=0, le=60 * 24 * 60)
    """Minutes without a sign of life after which open tasks go to others."""
    per_annotator: int | None = Field(default=None, ge=1)
    """The most batches a person may do."""


class Prerequisites(Section):
    """What the platform asks of people before they see the study: UniSumEval's values (Lee et al., 2024, G.1)."""

    approval_above: float = Field(default=95, ge=0, le=100)
    """Percent of approved submissions."""
    accepted_at_least: int = Field(default=1000, ge=0)
    """Number of approved submissions."""
    locales: tuple[str, ...] = ()
    """Countries, as the platform names them."""


class Platform(Section):
    """Where annotators come from."""

    name: Literal["local", "prolific", "mturk"] = "local"
    """`local` (accounts with links), `prolific` or `mturk`."""
    accounts: tuple[str, ...] = ()
    """Of `local`: a name for each person; letters, digits, `-`, `_`."""
    sandbox: bool = False
    """Of `mturk`: its test site."""
    prerequisites: Prerequisites | None = None
    """Of the crowds: whom the platform lets in."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.name != "local" and self.accounts:
            raise ValueError(f"accounts are for the platform local; those of {self.name} come from its links")
        if self.name == "local" and self.prerequisites is not None:
            raise ValueError("prerequisites are checked by a crowd platform; local accounts have none")
        for account in self.accounts:
            if not _NAME.fullmatch(account):
                raise ValueError(f"{account!r} cannot name an account; use letters, digits, - and _")
        if len(set(self.accounts)) != len(self.accounts):
            raise ValueError("an account is named twice")
        return self


class Question(Section):
    """One comprehension question; `answer` is the index of the right choice."""

    question: str = Field(min_length=1)
    """What is asked."""
    choices: tuple[str, ...] = Field(min_length=2)
    """Two answers or more."""
    answer: int = Field(ge=0)
    """The right one, counted from 0."""

    @model_validator(mode="after")
    def _answer_exists(self) -> Self:
        if self.answer >= len(self.choices):
            raise ValueError(f"answer is {self.answer}; the choices are counted from 0 to {len(self.choices) - 1}")
        return self


class Qualification(Section):
    """A test that must be passed with full marks (G.1)."""

    questions: tuple[Question, ...] = Field(min_length=1)
    """All must be answered right."""
    attempts: int = Field(default=1, ge=1)
    """How often it may be tried."""


class TrainingItem(Section):
    """A worked example: what is shown (as in `Task.body`), what is expected, and what is said afterwards."""

    document: str
    """The example's document."""
    body: dict[str, Any]
    """What is shown, as in design/annotate.md."""
    expected: dict[str, Any]
    """The right answer, as in design/annotate.md."""
    feedback: str
    """What is said after the answer."""


class Training(Section):
    """Tasks with feedback before the work; `made` of them are built like attention checks."""

    made: int = Field(default=0, ge=0, le=50)
    """Number of examples made like attention checks."""
    items: tuple[TrainingItem, ...] = ()
    """Examples of your own."""
    pass_share: Share = 0.0
    """Minimum share of right answers; those below it are screened out."""


FOREIGN_SENTENCE = "The lighthouse keeper tuned an old violin before the eclipse."
PARAPHRASES = ("It is stated that {}", "We learn that {}", "As the summary has it, {}", "One is told that {}")


class Reasons(Section):
    """What a machine might say of a text it accepts or not, where it really said nothing of it: frames around it."""

    agreeing: tuple[str, ...] = Field(default=("The text states that “{}”.", "“{}”: this is said there."), min_length=1)
    """Reasons for a text that is accepted; `{}` stands for it."""
    denying: tuple[str, ...] = Field(
        default=("Nothing in the text says “{}”.", "“{}” is not found there."), min_length=1
    )
    """Reasons for a text that is not."""

    @field_validator("*")
    @classmethod
    def _framed(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _frames(value)


def _frames(value: tuple[str, ...]) -> tuple[str, ...]:
    if any(frame.count("{}") != 1 for frame in value):
        raise ValueError("each is a frame that holds {} once, where the sentence goes")
    return value


class Attention(Section):
    """Tasks with a known answer, mixed in: `rate` is their share of all tasks shown.

    `foreign_sentence` belongs to no text; `paraphrases` are templates that turn a sentence into a key fact; `reasons`
    are templates for the machine's reasons in checks. The defaults are English.
    """

    rate: float = Field(default=0.2, ge=0, le=0.5)
    """The share of attention checks among all tasks shown."""
    pass_share: Share = 0.7
    """Minimum share of passed checks; those below it have failed."""
    judge_after: int = Field(default=4, ge=1)
    """Number of answered checks from which on they are judged."""
    exclude: bool = True
    """Whether the answers of those who failed stop counting."""
    foreign_sentence: str = Field(default=FOREIGN_SENTENCE, min_length=1)
    """A sentence that belongs to no text."""
    form: Literal["usual", "unisumeval"] = "usual"
    """`unisumeval`: in checks of `key_fact_alignment` a key fact of the document stands, paraphrased, in place of a
    sentence of the summary (Lee et al., 2024); `usual`: a sentence of the summary stands, paraphrased, in place of the
    key fact."""
    paraphrases: tuple[str, ...] = Field(default=PARAPHRASES, min_length=1)
    """Frames around a sentence, for key facts; each holds `{}` once."""
    reasons: Reasons = Reasons()
    """Templates for a machine's reasons in checks."""

    @field_validator("paraphrases")
    @classmethod
    def _framed(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _frames(value)


class Similar(Section):
    """Contextual mapping: the `share` of document sentences most similar to what is shown, `most` of them at most.

    `scores` is a file.
    """

    share: float = Field(default=0.3, gt=0, le=1)
    """The share of sentences marked."""
    most: int = Field(default=10, ge=1)
    """Maximum number of marked sentences."""
    scores: str | None = None
    """A file of your own scores: `doc_id`, `text`, `scores` (one a sentence)."""


Show = Literal["verdict_and_reason", "verdict", "nothing"]


class Machine(Section):
    """Whose verdicts are shown: a run's folder or a judgment set of the data, the judge (needed where it has several)
    and its aspect; `show` says what of them."""

    run: str | None = None
    """A run's folder."""
    set: str | None = None
    """In place of a run: a judgment set of the data."""
    judge: str | None = None
    """Needed where the run has several."""
    aspect: str | None = None
    """Needed where it is not the task type's own."""
    show: Show = "verdict_and_reason"
    """What annotators see of it. Campaigns over the same tasks that differ in this alone say what such help does
    (`annotate assistance`); with `nothing` the verdict is only kept, to be compared with."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.run is None) == (self.set is None):
            raise ValueError("names a run or a judgment set of the data: give one of run and set")
        return self


class Assistance(Section):
    """Assistance for annotators; `hide_for` is the share of annotators who get none."""

    similar: Similar | None = Similar()
    """The document's sentences that are most like what is asked about; null: none are marked."""
    machine: Machine | None = None
    """A judge's verdict for each task."""
    hide_for: Share = 0.0
    """The share of annotators who see no assistance."""

    @property
    def hides_verdict(self) -> bool:
        """Whether the machine's verdict is stored but not shown."""
        return self.machine is not None and self.machine.show == "nothing"

    def shown(self, assistance: dict[str, Any] | None) -> dict[str, Any] | None:
        """What annotators see of a task's assistance."""
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
    """Completion codes by outcome; those not given are made when the campaign is."""

    completed: str | None = None
    """After all work."""
    failed_checks: str | None = None
    """After too many failed checks."""
    screened_out: str | None = None
    """After consent was refused, or a test not passed."""
    no_more_items: str | None = None
    """Where nothing was left to do."""

    @field_validator("*")
    @classmethod
    def _plain(cls, value: str | None) -> str | None:
        if value is not None and not _CODE.fullmatch(value):
            raise ValueError("a code has letters, digits, - and _ only, at most 64")
        return value


class Bonus(Section):
    """What careful work earns on top: for each finished batch, or once, where enough checks were passed."""

    amount: float = Field(ge=0)
    """In the currency of the pay."""
    checks_at_least: Share = 0.9
    """The share of checks that must be passed."""
    per: Literal["batch", "campaign"] = "batch"
    """For each finished batch, or once."""


class Pay(Section):
    """Pay for a finished batch (in part for a part of it) and the bonus; `minutes_per_batch` as planned."""

    currency: str = "USD"
    """ISO 4217."""
    per_batch: float = Field(ge=0)
    """For a finished batch; for a part of it in part."""
    bonus: Bonus | None = None
    """For careful work."""
    minutes_per_batch: float | None = Field(default=None, gt=0)
    """Planned time, shown with the real one."""


class Campaign(Section):
    """Everything that is decided before the first annotator comes. design/annotate.md explains each field."""

    name: str
    """Stands in links and exports; letters, digits, `-`, `_`."""
    title: str = ""
    """What annotators read; without it the name."""
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}$", description="The language of the texts (ISO 639).")
    interface: str | None = Field(
        default=None,
        min_length=1,
        description="The language of the annotators' pages: one that comes with summeter (`en`, `de`), or a language "
        "file of your own, by its path from the campaign file. Not given: the language of the texts where it comes "
        "with summeter, else English.",
    )
    task_type: str
    """`fact_verification`, `key_fact_validation`, `key_fact_alignment`, `rating`, `span_highlighting`, `pairwise`, or
    a class of your own: `my_tasks:Headline` (design/annotate.md)."""
    data: str
    """A file of rows, a dataset folder, or `hf:ORG/NAME#SPLIT`: see [data](data.md)."""
    preset: str | None = None
    """A published layout, as `summeter list presets` names it."""
    format: str | None = None
    """The format of the file, where its name does not say it."""
    map: dict[str, str] | None = None
    """Your columns: `{summary: output, system: model}`."""
    select: Select = Select()
    """Which part of the data is judged."""
    answers_per_item: int = Field(default=3, ge=1, le=1000)
    """People a task; exact."""
    seed: int = 0
    """Of the order, of who gets assistance, and of the checks."""
    order: Literal["shuffled", "as_given"] = "shuffled"
    """Documents and their summaries in random order, or as in the data."""
    batch: BatchPlan = BatchPlan()
    """How much is handed out at once."""
    platform: Platform = Platform()
    """Where annotators come from."""
    consent: str = ""
    """Markdown; without it the stage is passed over."""
    instructions: str = ""
    """Markdown; without it the stage is passed over."""
    qualification: Qualification | None = None
    """A test before the work."""
    training: Training = Training()
    """Tasks with feedback before the work."""
    attention: Attention = Attention()
    """Tasks with a known answer, mixed in."""
    assistance: Assistance = Assistance()
    """Assistance for annotators."""
    minimum_seconds: float = Field(default=0, ge=0, le=3600)
    """An answer given in less time is refused."""
    aspects: Aspects = ()
    """Of `rating` and `pairwise`: names, or fields of each; without them the task type's own."""
    scale: Scale | None = None
    """For `rating`: the scale of aspects without one of their own; default: from 1 (bad) to 5 (excellent)."""
    best: bool = True
    """Of `rating`: also choose the best summary."""
    ties: bool = True
    """Of `pairwise`: a tie may be chosen."""
    error_types: Names = ()
    """Of `fact_verification` (several may hold) and `span_highlighting` (one a passage): names, or fields of each;
    without them the task type's own."""
    questions: tuple[OwnQuestion, ...] = Field(default=(), max_length=30)
    """Additional questions (`rating`: of each summary)."""
    codes: Codes = Codes()
    """Completion codes; generated if not given."""
    pay: Pay | None = None
    """What annotators earn."""
    contact: str = ""
    """Shown on every page."""
    hosts: tuple[str, ...] = ()
    """Host names under which the pages are reached, in addition to those of `annotate serve`."""

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("use letters, digits, - and _ (at most 64, beginning with a letter or digit)")
        return value

    @model_validator(mode="after")
    def _once(self) -> Self:
        for what, named in (
            ("aspects", self.aspects),
            ("error_types", self.error_types),
            ("questions", self.questions),
        ):
            if len({entry.name for entry in named}) != len(named):
                raise ValueError(f"{what} name something twice")
        return self
