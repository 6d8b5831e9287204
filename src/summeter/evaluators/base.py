"""Base classes of evaluators: `Evaluator`, `Prepared`, `Tools`, `JudgmentBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

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

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset

T = TypeVar("T")

Aggregation = Literal["share", "mean", "whole"]
Parser = Literal["strict", "legacy"]
OWN = "Apache-2.0"
"""The licence of summeter, and of evaluators without released code."""

Need = Literal["reference", "key_facts", "rival"]


def semicolons(value: Any) -> Any:
    """Split a string at semicolons; return any other value unchanged."""
    return tuple(part.strip() for part in value.split(";") if part.strip()) if isinstance(value, str) else value


Semicolons = Annotated[tuple[T, ...], BeforeValidator(semicolons)]
"""A tuple that may be written as a string with semicolons (`h2h[systems=A;B;C]`)."""


def _distinct(values: tuple[T, ...]) -> tuple[T, ...]:
    if not values or len(set(values)) < len(values):
        raise ValueError("must contain at least one value, and none twice")
    return values


Choices = Annotated[tuple[T, ...], BeforeValidator(semicolons), AfterValidator(_distinct)]
"""Like `Semicolons`, but with at least one value and no repeated values."""


def named_file(noun: str, hint: str = "", *, inside: str | None = None) -> BeforeValidator:
    """Return a validator that reads the file named by a setting.

    Its parameters are those of `DataFile.read`.
    """
    return BeforeValidator(lambda file: None if file is None else DataFile.read(file, noun, hint, inside=inside))


class Prepared(Record):
    """Data that an evaluator derives once per document for all summaries of the document.

    The data are stored in the run, and judgments refer to them by `id`. `data` is a JSON object whose form the
    evaluator defines. If the preparation failed, `status` and `reason` say why.
    """

    document_id: str
    data: dict[str, Any] = Field(default_factory=dict)
    calls: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str | None = None

    @property
    def id(self) -> str:
        """The first twelve hexadecimal digits of the hash of the content."""
        return digest([self.document_id, self.data, self.status], 12)

    @property
    def stored_id(self) -> str | None:
        """The id, or None if there are no data and no failure to store."""
        return self.id if self.data or self.status != "ok" else None


class Checkpoint(NamedTuple):
    """Published weights for a role, with their name and the licence stated on their model card.

    `commercial` is False if the licence forbids commercial use. `alias` is the name that servers use, or None if they
    use `model`. `size` is the number of parameters in millions, `tokens` the longest input, and `languages` those of
    the training data; each is None if no source states it. `convert` is the kind of checkpoint for `summeter models
    convert`, or None if the files can be loaded as they are. `unavailable` says why the weights cannot be used, or is
    None if they can.
    """

    model: str
    licence: str
    commercial: bool = True
    alias: str | None = None
    size: int | None = None
    tokens: int | None = None
    languages: str | None = None
    convert: str | None = None
    unavailable: str | None = None

    def named_in(self, model: str) -> bool:
        """Return whether a model string contains the name or the alias of the checkpoint."""
        names = [self.model.rpartition("/")[2], *filter(None, [self.alias])]
        return any(name.lower() in model.lower() for name in names)


@dataclass(frozen=True)
class Role:
    """A model that an evaluator may use.

    `kind` is "llm" or the task of a local network. `hint` is appended to the error message that is raised if no model
    is bound. `checkpoints` are the published weights for this role; the licences of other models are not checked.
    """

    kind: Literal["llm"] | ModelTask = "llm"
    hint: str | None = None
    checkpoints: tuple[Checkpoint, ...] = ()


@dataclass(frozen=True)
class ExpectedJudgment:
    """A judgment that an item should have.

    If the item cannot be judged, it is written as failed.

    If `unit` is None, the judgment is about the whole item, as in `target`.
    """

    aspect: str
    unit: Unit | None = None
    index: int | None = None
    list_id: str | None = None


@dataclass(frozen=True)
class Tools:
    """The models that a judge may use, by role.

    The run creates this object and never stores it.

    `llms` and `networks` hold the LLMs and the local networks by role. `signature` is the evaluator's signature in this
    run. `scratch` caches expensive intermediate results; there is one dict per document and evaluator, which is
    discarded after the document.
    """

    signature: str
    llms: Mapping[str, BoundLLM] = field(default_factory=dict)
    networks: Mapping[str, Network] = field(default_factory=dict)
    scratch: dict[str, Any] = field(default_factory=dict)

    def llm(self, role: str) -> BoundLLM:
        """Return the LLM bound to `role`. Raises UsageError if no model is bound."""
        return _bound(self.llms, role)

    def network(self, role: str) -> Network:
        """Return the local network bound to `role`. Raises UsageError if no model is bound."""
        return _bound(self.networks, role)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Return the result of `make`, computed once per document and cached in `scratch`."""
        if key not in self.scratch:
            self.scratch[key] = make()
        result: T = self.scratch[key]
        return result


def _bound(models: Mapping[str, T], role: str) -> T:
    if role not in models:
        raise UsageError(
            f"no model is bound to the role {role!r}; bind one with ",
            Parameter("models", f"{role}=PROVIDER/MODEL"),
        )
    return models[role]


class Evaluator(BaseModel):
    """Base class of evaluators, with frozen settings and the methods `prepare` and `judge`.

    The settings are fields of the class. The class attributes and properties are:

    - `aspects`: the aspects that it judges. `needs`: what an item must have.
    - `roles`: the models that it may use. `required_roles`: the roles that it uses with its current settings.
    - `reduce`: how the score of a summary is computed: "share" is the share of labels that are 1, "mean" the mean of
      the values, and "whole" the judgment of the summary itself.
    - `value_range`: the lowest and the highest possible value, or None if values are unbounded. A rating scale takes
      precedence.
    - `binary_units`: the kinds of unit whose judgments are always 0 or 1.
    - `reads_sentences`: whether results depend on the sentence splitter, which is then part of the signature.
    - `prepares_only`: whether it derives data from documents and writes no judgments. `pairwise`: whether it compares
      two summaries.
    - `positional_setting`: the setting that receives a value given without a name in `-e` (`geval[single]`).
    - `code_licence`: the licence of the method's released code.
    - `measured_agreement`: the agreement with people by aspect, as measured for summeter (`reports/quality.md`). A run
      prints it next to the scores if the data of the run contain no human judgments of the aspect.

    `judge` is called only for items that can be judged; `unjudged` returns the judgments of all other items.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    version: ClassVar[str]
    summary: ClassVar[str]
    aspects: ClassVar[tuple[str, ...]]
    needs: ClassVar[frozenset[Need]] = frozenset()
    roles: ClassVar[Mapping[str, Role]] = {}
    code_licence: ClassVar[str] = OWN
    measured_agreement: ClassVar[Mapping[str, str]] = {}
    reduce: ClassVar[Aggregation] = "share"
    value_range: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    binary_units: ClassVar[frozenset[Unit]] = frozenset()
    reads_sentences: ClassVar[bool] = True
    prepares_only: ClassVar[bool] = False
    pairwise: ClassVar[bool] = False
    positional_setting: ClassVar[str | None] = None

    if not TYPE_CHECKING:  # type checkers see the fields instead

        def __init__(self, **settings: Any) -> None:
            """Create an evaluator. Raises SettingError for an unknown setting or an invalid value."""
            try:
                super().__init__(**settings)
            except ValidationError as error:
                faults = []
                settings = list(type(self).model_fields)
                for detail in error.errors():
                    setting = ".".join(map(str, detail["loc"]))
                    if detail["type"] == "extra_forbidden":
                        faults.append(
                            f"there is no setting {setting!r}{nearest(setting, settings)}; its settings: "
                            f"{', '.join(settings) or 'none'}"
                        )
                    else:
                        faults.append(": ".join(filter(None, [setting, problem_of(detail)])))
                name = getattr(type(self), "name", type(self).__name__)
                raise SettingError(f"evaluator {name!r}: {'; '.join(faults)}") from error

    def noncommercial_weights(self, models: Mapping[str, str]) -> tuple[str, ...]:
        """Return the bound models whose licence forbids commercial use, each with its licence.

        A model matches a checkpoint of its role if the name of the model contains the name or the alias of the
        checkpoint, or if the model is a local folder and all checkpoints of the role are non-commercial.
        """
        restricted = []
        for name in self.required_roles:
            role, model = self.role(name), models.get(name)
            for checkpoint in role.checkpoints:
                if checkpoint.commercial or model is None:
                    continue
                is_folder = role.kind != "llm" and not model.startswith("hf/")
                if checkpoint.named_in(model) or (
                    is_folder and not any(other.commercial for other in role.checkpoints)
                ):
                    restricted.append(f"{checkpoint.model} ({checkpoint.licence})")
        return tuple(restricted)

    def role(self, name: str) -> Role:
        """Return the role `name`.

        If `name` is not in `roles` (a role used by a member of a derived judge), return an LLM role.
        """
        return self.roles.get(name, Role())

    def components(self) -> tuple[Evaluator, ...]:
        """Return the evaluators that write the judgments: this one, or the components of a bundle."""
        return (self,)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspects that are judged with the current settings. Default: all of `aspects`."""
        return self.aspects

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles whose models are used with the current settings. Default: all of `roles`."""
        return tuple(self.roles)

    @property
    def asks_llm(self) -> bool:
        """Whether an LLM is used with the current settings."""
        return any(self.role(name).kind == "llm" for name in self.required_roles)

    def items(self, document: Document, summaries: Sequence[Summary]) -> list[Item]:
        """Return one item per summary, or one per ordered pair of summaries if `pairwise`."""
        # Documents and summaries were validated when they were read; do not validate them again for 10,000 items.
        rivals: Sequence[Summary | None] = summaries if self.pairwise else (None,)
        return [
            Item.model_construct(document=document, summary=summary, rival=rival)
            for summary in summaries
            for rival in rivals
            if summary is not rival
        ]

    def merged(self, other: Evaluator) -> Evaluator:
        """Return one evaluator for the items of this one and of `other`, which has the same signature.

        The two can differ only in settings that do not affect judgments and are therefore not part of the signature,
        such as the pairs to compare. Default: this evaluator.
        """
        return self

    def with_data(self, data: Dataset) -> Evaluator:
        """Return this evaluator with what it uses from the whole dataset, which becomes part of its signature.

        Default: this evaluator.
        """
        return self

    def without_logprobs(self) -> Evaluator | None:
        """Return the variant for models that give no log-probabilities.

        Return None if no log-probabilities are needed, if there is no such variant, or if the user's settings exclude
        it. Default: None.
        """
        return None

    def incompatible(self, systems: Collection[str]) -> str | None:
        """Return why data with summaries by these systems cannot be judged, or None if they can."""
        if self.pairwise and len(systems) < 2:
            return f"{self.name} compares two systems, but the data contain summaries by only one"
        return None

    def signature_fields(self) -> Mapping[str, object]:
        """Return the fields of the signature except models, splitter and version.

        Default: the changed settings, with the hash of the content for a data file.
        """
        fields = {}
        for name, info in type(self).model_fields.items():
            value = getattr(self, name)
            if value != info.default and not isinstance(value, Path | PromptFolder):
                fields[name] = digest(value.text, HASH) if isinstance(value, DataFile) else value
        return fields

    @property
    def decision_threshold(self) -> float | None:
        """The lowest value with the label 1, or None if labels do not depend on values.

        Default: `threshold`.
        """
        threshold: float | None = getattr(self, "threshold", None)
        return threshold

    @property
    def rating_scale(self) -> tuple[float, float] | None:
        """The ends of the rating scale, as in the signature, or None if the evaluator does not rate."""
        return None

    def files_to_keep(self) -> Mapping[str, str]:
        """Return the texts on which judgments depend (prompts, weights), by their file name in the run."""
        return {
            f"files/{value.path.stem}.{digest(value.text, HASH)}{value.path.suffix}": value.text
            for name in type(self).model_fields
            if isinstance(value := getattr(self, name), DataFile)
        }

    def sign(
        self, models: Mapping[str, str], splitter: str | None = None, sampling: Mapping[str, object] | None = None
    ) -> str:
        """Return the signature of this evaluator with these models (role -> model string).

        `sampling` holds the sampling parameters (temperature, seed); they are part of the signature only if an LLM is
        used.
        """
        roles = {role: models[role] for role in self.required_roles if role in models}
        sampled = dict(sampling or {}) if self.asks_llm else {}
        split = splitter if self.reads_sentences else None
        return signature(self.name, {**roles, **sampled, **self.signature_fields(), "split": split, "v": self.version})

    def skip_reason(self, item: Item) -> str | None:
        """Return why the item is skipped, or None if it can be judged."""
        if not item.summary.text.strip():
            return "the summary is empty"
        if not item.document.text.strip():
            return "the document is empty"
        if "reference" in self.needs and not item.references:
            return "there is no reference summary"
        if "key_facts" in self.needs and not item.key_facts:
            return "there are no key facts"
        if "rival" in self.needs and item.rival is None:
            return "there is no second summary to compare with"
        if item.rival is not None and not item.rival.text.strip():
            return "the second summary is empty"
        return None

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Derive the data that all summaries of the document share. Default: no data."""
        return Prepared(document_id=document.id)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Judge one item and return one judgment per unit.

        An unusable reply gives judgments with a status, never an exception.
        """
        raise NotImplementedError

    def builder(self, item: Item, prepared: Prepared, tools: Tools, **fields: Any) -> JudgmentBuilder:
        """Return a builder of judgments about the item.

        `fields` are the fields that all judgments share.
        """
        return JudgmentBuilder(self, item, tools.signature, prepared.stored_id, **fields)

    def expected(self, item: Item, data: Mapping[str, Any], parser: Parser = "strict") -> list[ExpectedJudgment]:
        """Return the judgments that an item should have.

        Default: one judgment of the summary per aspect.
        """
        return [ExpectedJudgment(aspect) for aspect in self.active_aspects]

    def unjudged(self, item: Item, signature: str, prepared: Prepared | None = None) -> list[Judgment] | None:
        """Return the judgments of an item that cannot be judged, or None if it can be judged.

        The judgments are skipped if `skip_reason` returns a reason, and failed if the preparation failed.
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
        """Return judgments from a raw reply of an experiment, read by the strict or the released parser.

        The item must be one for which `unjudged` returns None. Raises UsageError if the evaluator has no parser.
        """
        raise UsageError(f"{self.name} has no parser for raw outputs; give rows with a `value` instead")


class PromptedEvaluator(Evaluator):
    """An evaluator with prompt templates.

    A template is the file `prompts/NAME.txt` in the package of the evaluator's module, or `prompt_text`.

    `prompts` is a folder whose templates replace the shipped ones of the same name. The folder is read once, when the
    evaluator is created, so that later edits do not change judgments under the same signature.
    """

    prompt_text: ClassVar[str | None] = None

    prompts: PromptFolder | None = None

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates that affect the judgments."""
        return ()

    def load_template(self, name: str) -> Template:
        """Return the template `name`.

        It is read from the user's folder, or else from `prompt_text`, or else from the shipped file.
        """
        return Template.load(type(self).__module__.rpartition(".")[0], name, self.prompts, self.prompt_text)

    def used_templates(self) -> tuple[Template, ...]:
        """Return all templates that affect the judgments."""
        return tuple(map(self.load_template, self.templates))

    @property
    def prompt_hash(self) -> str | None:
        """The hash of the templates, as in the signature, or None if no template is used."""
        hashes = [template.hash for template in self.used_templates()]
        return hashes[0] if len(hashes) == 1 else digest(hashes, HASH) if hashes else None

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings and the hash of the prompts."""
        return {**super().signature_fields(), "prompt": self.prompt_hash}

    def files_to_keep(self) -> Mapping[str, str]:
        """Return the files that every evaluator keeps and the prompt templates."""
        texts = {f"prompts/{template.name}.{template.hash}.txt": template.source for template in self.used_templates()}
        return {**super().files_to_keep(), **texts}


def target(item: Item, unit: Unit | None = None, index: int | None = None, list_id: str | None = None) -> Target:
    """Return the target of a judgment: the unit, or the summary or pair if `unit` is None."""
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
    """Builds the judgments of one evaluator about one item.

    `prepared` is the id of the prepared data. `calls` are the keys of the LLM calls on which the judgments are based.
    """

    evaluator: Evaluator
    item: Item
    signature: str
    prepared: str | None = None
    model: str | None = None
    calls: tuple[str, ...] = ()
    truncated_tokens: int | None = None

    def ok(self, aspect: str, unit: Unit | None = None, index: int | None = None, **fields: Any) -> Judgment:
        """Return a judgment of `unit`, or of the item if `unit` is None, with these fields."""
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
        """Return a judgment without a value, with the status and the reason."""
        return self.ok(aspect, unit, index, status=status, reason=reason, **fields)

    def all_failed(self, status: Status, reason: str, expected: Iterable[ExpectedJudgment]) -> list[Judgment]:
        """Return a failed judgment for each expected judgment."""
        return [self.failed(one.aspect, status, reason, one.unit, one.index, list_id=one.list_id) for one in expected]

    def skipped(self, reason: str) -> list[Judgment]:
        """Return a skipped judgment of the item for each aspect."""
        return [self.failed(aspect, "skipped", reason) for aspect in self.evaluator.active_aspects]

    def by_sentence(
        self,
        aspect: str,
        entries: Iterable[tuple[int, T]],
        fields: Callable[[list[T]], Mapping[str, Any]],
        missing: str,
    ) -> list[Judgment]:
        """Return one judgment per sentence, computed from the entries that start in the sentence.

        `entries` are pairs of an offset and an object; `fields` computes the fields of a judgment from the objects of
        one sentence. A sentence without entries is skipped with the reason `missing`.
        """
        by_offset = list(entries)
        judgments = []
        for index, sentence in enumerate(sentence_spans(self.item.summary)):
            inside = [entry for offset, entry in by_offset if sentence.start <= offset < sentence.end]
            judgments.append(
                self.ok(aspect, "sentence", index, **fields(inside))
                if inside
                else self.failed(aspect, "skipped", missing, "sentence", index)
            )
        return judgments
