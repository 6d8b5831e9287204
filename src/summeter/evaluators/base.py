"""Evaluator, Prepared, Tools: what a judge is, what it derives once a document, and what it may use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from summeter.models.fitted import DataFile
from summeter.models.networks import ModelTask, Network
from summeter.models.prompts import PromptFolder, Template
from summeter.models.structured import BoundLLM
from summeter.records import (
    HASH,
    Document,
    Item,
    Judgment,
    Parameter,
    Record,
    SettingError,
    Status,
    Summary,
    Target,
    Unit,
    UsageError,
    digest,
    nearest,
    problem_of,
    signature,
)
from summeter.text.spans import sentence_spans

T = TypeVar("T")

Aggregation = Literal["share", "mean", "whole"]
Parser = Literal["strict", "legacy"]
OWN = "Apache-2.0"
"""The licence of summeter, and of what is written for it alone."""

Need = Literal["reference", "key_facts", "rival"]

_FILES = (Path, PromptFolder, DataFile)
"""Settings that name files: what these hold is signed by its hash, and where they lie is not."""


def semicolons(value: Any) -> Any:
    """A setting that is a list, as `-e` writes it: the parts between semicolons; any other value as it is."""
    return tuple(part.strip() for part in value.split(";") if part.strip()) if isinstance(value, str) else value


Semicolons = Annotated[tuple[T, ...], BeforeValidator(semicolons)]
"""A list that may be written with semicolons (`h2h[systems=A;B;C]`)."""


def named_file(what: str, hint: str = "", *, inside: str | None = None) -> BeforeValidator:
    """Reads the file that a setting names, when it is named; the parameters are those of `DataFile.read`."""
    return BeforeValidator(lambda file: None if file is None else DataFile.read(file, what, hint, inside=inside))


class Prepared(Record):
    """What an evaluator derived once for a document, for all its summaries. Stored; judgments name its id.

    `data` is plain JSON of the evaluator's own making. Where preparing failed, `status` and `reason` say so.
    """

    document_id: str
    data: dict[str, Any] = Field(default_factory=dict)
    calls: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str | None = None

    @property
    def id(self) -> str:
        """Twelve hex digits of the content; empty data has an id too."""
        return digest([self.document_id, self.data, self.status], 12)

    @property
    def stored_id(self) -> str | None:
        """The id where there is something to store: data, or a failure."""
        return self.id if self.data or self.status != "ok" else None


class Checkpoint(NamedTuple):
    """Published weights that a role is meant for: their name, and the licence that their card states. `commercial`
    False: the licence forbids commercial use. `alias`: what a server calls them, where that is another name."""

    model: str
    licence: str
    commercial: bool = True
    alias: str | None = None


@dataclass(frozen=True)
class Role:
    """A model that an evaluator may ask.

    `kind`: "llm", or the task of a local network. `default`: the model bound where the user binds none. `hint` ends the
    message where a model is missing. `checkpoints`: the published weights that the role is meant for, with their
    licences; any other model has a licence of its own.
    """

    kind: Literal["llm"] | ModelTask = "llm"
    default: str | None = None
    hint: str | None = None
    checkpoints: tuple[Checkpoint, ...] = ()


@dataclass(frozen=True)
class ExpectedJudgment:
    """A judgment that an item should have: where it cannot be had, a failed judgment takes its place. Without `unit` it
    is about the whole item, as in `target`."""

    aspect: str
    unit: Unit | None = None
    index: int | None = None
    list_id: str | None = None


@dataclass(frozen=True)
class Tools:
    """What a judge may use, by role. Made by the run, never stored.

    `llms` and `networks` hold the LLMs and the local models by role; `tools.llm("judge")`, `tools.network("nli")` give
    one, UsageError where none is bound. `signature` is the evaluator's own signature in this run; `scratch` caches what
    is expensive to derive (one dict per document and evaluator, dropped after the document).
    """

    signature: str
    llms: Mapping[str, BoundLLM] = field(default_factory=dict)
    networks: Mapping[str, Network] = field(default_factory=dict)
    scratch: dict[str, Any] = field(default_factory=dict)

    def llm(self, role: str) -> BoundLLM:
        """The model bound to `role`."""
        return _bound(self.llms, role)

    def network(self, role: str) -> Network:
        """The local network bound to `role`."""
        return _bound(self.networks, role)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What `make` gives, made once a document and kept in `scratch`."""
        if key not in self.scratch:
            self.scratch[key] = make()
        made: T = self.scratch[key]
        return made


def _bound(models: Mapping[str, T], role: str) -> T:
    if role not in models:
        raise UsageError(
            f"no model for the role {role!r}; bind one with ", Parameter("models", f"{role}=PROVIDER/MODEL")
        )
    return models[role]


class Evaluator(BaseModel):
    """A judge: frozen settings as fields, class facts, and two methods, `prepare` and `judge`.

    `aspects`: what it measures. `needs`: what an item must have. `roles`: the models it may ask (`required_roles`:
    those it asks as it is set). `reduce`: how judgments below the summary become its score ("share" of labels that are
    1, "mean" of values, or "whole": a judgment of the summary stands beside them).
    `value_range`: the least and the greatest value of its judgments, where there are such (a scale goes before it).
    `binary_units`: the units of which its judgments are 1 or 0 and nothing between.
    `reads_sentences`: whether the splitter bears on the result (and so is signed). `prepares_only`: it derives
    something of documents and judges no summary. `pairwise`: it compares two summaries of a document.
    `positional_setting`: the setting that a word without = in `-e` sets (`geval[single]`).
    `code_licence`: that of the method's released code, of which nothing is copied where it has none.

    `judge` is called only for items that can be judged: `unjudged` writes the judgments of those that `skip_reason`
    names, and of those for which `prepare` failed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    version: ClassVar[str]
    summary: ClassVar[str]
    aspects: ClassVar[tuple[str, ...]]
    needs: ClassVar[frozenset[Need]] = frozenset()
    roles: ClassVar[Mapping[str, Role]] = {}
    code_licence: ClassVar[str] = OWN
    reduce: ClassVar[Aggregation] = "share"
    value_range: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    binary_units: ClassVar[frozenset[Unit]] = frozenset()
    reads_sentences: ClassVar[bool] = True
    prepares_only: ClassVar[bool] = False
    pairwise: ClassVar[bool] = False
    positional_setting: ClassVar[str | None] = None

    if not TYPE_CHECKING:  # a type checker is to see the settings instead

        def __init__(self, **settings: Any) -> None:
            """Raises SettingError for a setting that does not exist, or a value that it cannot have."""
            try:
                super().__init__(**settings)
            except ValidationError as error:
                named = getattr(type(self), "name", type(self).__name__)
                faults = "; ".join(_setting_fault(detail, type(self)) for detail in error.errors())
                raise SettingError(f"evaluator {named!r}: {faults}") from error

    def noncommercial_weights(self, models: Mapping[str, str]) -> tuple[str, ...]:
        """Weights whose licence forbids commercial use, with that licence, among those that it is meant for: where the
        model bound to their role has their name or alias, or is a folder, and the role has no others."""
        named = []
        for name in self.required_roles:
            role, model = self.role(name), models.get(name)
            for checkpoint in role.checkpoints:
                if checkpoint.commercial or model is None:
                    continue
                names = [checkpoint.model.rpartition("/")[2], *filter(None, [checkpoint.alias])]
                alike = any(each.lower() in model.lower() for each in names)
                folder = role.kind != "llm" and not model.startswith("hf/")
                if alike or (folder and not any(other.commercial for other in role.checkpoints)):
                    named.append(f"{checkpoint.model} ({checkpoint.licence})")
        return tuple(named)

    def role(self, name: str) -> Role:
        """The role of this name; one that is not in `roles`, such as a member's of a derived judge, takes an LLM."""
        return self.roles.get(name, Role())

    def components(self) -> tuple[Evaluator, ...]:
        """The evaluators that do the work: itself, or the members of a bundle."""
        return (self,)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspects it measures as it is set: all of `aspects`, unless a setting chooses among them."""
        return self.aspects

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles whose models it asks as it is set: all of `roles`, unless a setting chooses among them."""
        return tuple(self.roles)

    @property
    def asks_llm(self) -> bool:
        """Whether it asks an LLM as it is set; local models give the same answer every time."""
        return any(self.role(name).kind == "llm" for name in self.required_roles)

    def items(self, document: Document, summaries: Sequence[Summary]) -> list[Item]:
        """What there is to judge in a document: every summary, or every ordered pair of two (`pairwise`)."""
        # The parts were validated when the data was read; building 10,000 items should not do it again.
        rivals: Sequence[Summary | None] = summaries if self.pairwise else (None,)
        return [
            Item.model_construct(document=document, summary=summary, rival=rival)
            for summary in summaries
            for rival in rivals
            if summary is not rival
        ]

    def merged(self, other: Evaluator) -> Evaluator:
        """One evaluator for the items of both, where `other` has other settings and the same signature.

        Only settings that change no judgment are unsigned (which pairs are compared). Default: itself.
        """
        return self

    def incompatible(self, systems: Collection[str]) -> str | None:
        """Why it has nothing to do in data with summaries by these systems, or None."""
        if self.pairwise and len(systems) < 2:
            return f"{self.name} compares two systems, and the data hold summaries by one only"
        return None

    def signature_fields(self) -> Mapping[str, object]:
        """What stands in the signature beside models, splitter and version. Default: changed settings."""
        return {
            name: getattr(self, name)
            for name, info in type(self).model_fields.items()
            if getattr(self, name) != info.default and not isinstance(getattr(self, name), _FILES)
        }

    @property
    def decision_threshold(self) -> float | None:
        """The value from which on it labels 1, where each label is a threshold of the value beside it; else None.
        Default: the setting `threshold`, where there is one."""
        threshold: float | None = getattr(self, "threshold", None)
        return threshold

    @property
    def rating_scale(self) -> tuple[float, float] | None:
        """The ends of the scale that its ratings are on, as its signature names it; None where it rates nothing."""
        return None

    def files_to_keep(self) -> Mapping[str, str]:
        """What a run keeps of the texts that its judgments rest on (prompts, weights): file name in the run -> text."""
        return {
            f"files/{value.path.stem}.{digest(value.text, HASH)}{value.path.suffix}": value.text
            for name in type(self).model_fields
            if isinstance(value := getattr(self, name), DataFile)
        }

    def sign(
        self, models: Mapping[str, str], splitter: str | None = None, sampling: Mapping[str, object] | None = None
    ) -> str:
        """The signature of this evaluator with these models (role -> model string).

        `sampling` holds what decides a model's draws (temperature, seed); it is signed where an LLM is asked.
        """
        roles = {role: models[role] for role in self.required_roles if role in models}
        drawn = dict(sampling or {}) if self.asks_llm else {}
        split = splitter if self.reads_sentences else None
        return signature(self.name, {**roles, **drawn, **self.signature_fields(), "split": split, "v": self.version})

    def skip_reason(self, item: Item) -> str | None:
        """Why the item cannot be judged at all (it is then skipped with this reason), or None."""
        if not item.summary.text.strip():
            return "the summary is empty"
        if not item.document.text.strip():
            return "the document is empty"
        if "reference" in self.needs and not any(text.strip() for text in item.references):
            return "there is no reference summary"
        if "key_facts" in self.needs and not item.key_facts:
            return "there are no key facts"
        if "rival" in self.needs and item.rival is None:
            return "there is no second summary to compare with"
        if item.rival is not None and not item.rival.text.strip():
            return "the second summary is empty"
        return None

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Derive once what all summaries of the document share. Default: nothing."""
        return Prepared(document_id=document.id)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Judge one item that can be judged. Returns one judgment per unit judged; never raises for a bad reply."""
        raise NotImplementedError

    def builder(self, item: Item, prepared: Prepared, tools: Tools, **fields: Any) -> JudgmentBuilder:
        """What `judge` writes its judgments with; `fields` are the builder's own (`model`, `calls`...)."""
        return JudgmentBuilder(self, item, tools.signature, prepared.stored_id, **fields)

    def expected(self, item: Item, data: Mapping[str, Any], parser: Parser = "strict") -> list[ExpectedJudgment]:
        """The judgments of an item, which fail where it cannot be judged. Default: one of the summary an aspect."""
        return [ExpectedJudgment(aspect) for aspect in self.active_aspects]

    def unjudged(self, item: Item, signature: str, prepared: Prepared | None = None) -> list[Judgment] | None:
        """The judgments of an item that is not to be judged, and None for one that is.

        Skipped judgments where `skip_reason` says why; where `prepared` is given and failed, failed ones.
        """
        builder = JudgmentBuilder(self, item, signature)
        if why := self.skip_reason(item):
            return builder.skipped(why)
        if prepared is None or prepared.status == "ok":
            return None
        builder = replace(builder, prepared=prepared.stored_id, calls=prepared.calls)
        why = prepared.reason or "nothing was prepared"
        return builder.all_failed(prepared.status, why, self.expected(item, prepared.data))

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Judgments from a raw reply of an earlier experiment on an item that can be judged, by the strict or the
        released parser."""
        raise UsageError(f"{self.name} has no parser for raw outputs; give rows with a `value` instead")


class PromptedEvaluator(Evaluator):
    """An evaluator with prompt templates: `prompts/NAME.txt` in the package of its module, or `prompt_text`.

    `prompts`: a folder whose templates replace the shipped ones of the same name. It is read once, when the evaluator
    is made, so that a file edited later changes no judgment under the same signature.
    """

    prompt_text: ClassVar[str | None] = None

    prompts: PromptFolder | None = None

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of all templates of its own that bear on its judgments."""
        return ()

    def load_template(self, name: str) -> Template:
        """The template `name`: the user's, else `prompt_text`, else that in `prompts/` beside the judge's module."""
        return Template.load(type(self).__module__.rpartition(".")[0], name, self.prompts, self.prompt_text)

    def used_templates(self) -> tuple[Template, ...]:
        """All templates that bear on its judgments."""
        return tuple(map(self.load_template, self.templates))

    @property
    def prompt_hash(self) -> str | None:
        """What stands in the signature for the templates; None where none is used."""
        hashes = [template.hash for template in self.used_templates()]
        return hashes[0] if len(hashes) == 1 else digest(hashes, HASH) if hashes else None

    def signature_fields(self) -> Mapping[str, object]:
        """Changed settings, and the prompt."""
        return {**super().signature_fields(), "prompt": self.prompt_hash}

    def files_to_keep(self) -> Mapping[str, str]:
        """As for every evaluator, and the templates."""
        texts = {f"prompts/{template.name}.{template.hash}.txt": template.source for template in self.used_templates()}
        return {**super().files_to_keep(), **texts}


def _setting_fault(detail: ErrorDetails, owner: type[Evaluator]) -> str:
    """What is wrong with a setting: which one, and what it may be."""
    setting = ".".join(map(str, detail["loc"]))
    if detail["type"] == "extra_forbidden":
        known = list(owner.model_fields)
        return f"there is no setting {setting!r}{nearest(setting, known)}; its settings: {', '.join(known) or 'none'}"
    return ": ".join(filter(None, [setting, problem_of(detail)]))


def target(item: Item, unit: Unit | None = None, index: int | None = None, list_id: str | None = None) -> Target:
    """The target of a judgment about `item`: without `unit` the summary, or the pair of two summaries."""
    rival = item.rival.system if item.rival else None
    return Target(
        document_id=item.document.id,
        system=item.summary.system,
        rival=rival,
        unit=unit or ("pair" if item.rival else "summary"),
        index=index,
        list_id=list_id,
    )


@dataclass(frozen=True)
class JudgmentBuilder:
    """Writes judgments of one evaluator about one item, so that no field is forgotten.

    `prepared` is the id of what was prepared, `calls` the keys of the calls behind the judgments.
    """

    evaluator: Evaluator
    item: Item
    signature: str
    prepared: str | None = None
    model: str | None = None
    calls: tuple[str, ...] = ()
    truncated_tokens: int | None = None

    def ok(self, aspect: str, unit: Unit | None = None, index: int | None = None, **fields: Any) -> Judgment:
        """A judgment (without `unit` of the whole item); pass `value`, `label`, `evidence`, `reason`, `list_id`..."""
        list_id = fields.pop("list_id", None)
        return Judgment(
            target=target(self.item, unit, index, list_id),
            aspect=aspect,
            judge=self.evaluator.name,
            signature=self.signature,
            model=self.model,
            prepared=self.prepared,
            calls=self.calls,
            **{"status": "ok", "truncated_tokens": self.truncated_tokens, **fields},
        )

    def failed(
        self,
        aspect: str,
        status: Status,
        reason: str,
        unit: Unit | None = None,
        index: int | None = None,
        **fields: Any,
    ) -> Judgment:
        """A judgment that could not be had, and why."""
        return self.ok(aspect, unit, index, status=status, reason=reason, **fields)

    def all_failed(self, status: Status, reason: str, expected: Iterable[ExpectedJudgment]) -> list[Judgment]:
        """A failed judgment in place of each expected one."""
        return [self.failed(one.aspect, status, reason, one.unit, one.index, list_id=one.list_id) for one in expected]

    def skipped(self, reason: str) -> list[Judgment]:
        """A skipped judgment of the item for each aspect."""
        return [self.failed(aspect, "skipped", reason) for aspect in self.evaluator.active_aspects]

    def by_sentence(
        self,
        aspect: str,
        parts: Iterable[tuple[int, T]],
        fields: Callable[[list[T]], Mapping[str, Any]],
        missing: str,
    ) -> list[Judgment]:
        """A judgment a sentence of the summary, from the parts that begin in it.

        `parts`: where each begins, and what `fields` makes the fields of a judgment from. A sentence without parts is
        skipped, and `missing` is the reason.
        """
        placed = list(parts)
        judgments = []
        for index, sentence in enumerate(sentence_spans(self.item.summary)):
            own = [part for at, part in placed if sentence.start <= at < sentence.end]
            judgments.append(
                self.ok(aspect, "sentence", index, **fields(own))
                if own
                else self.failed(aspect, "skipped", missing, "sentence", index)
            )
        return judgments
