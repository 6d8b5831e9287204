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

T = TypeVar("T")

Aggregation = Literal["share", "mean", "whole"]
Parser = Literal["strict", "legacy"]
OWN = "Apache-2.0"
"""The licence of summeter, and of evaluators without released code."""

Need = Literal["reference", "key_facts", "rival"]

_FILES = (Path, PromptFolder, DataFile)
"""Types of settings that name files. Signatures contain the hash of the content, never the path."""


def semicolons(value: Any) -> Any:
    """Split the text of a list setting at semicolons; return any other value unchanged."""
    return tuple(part.strip() for part in value.split(";") if part.strip()) if isinstance(value, str) else value


Semicolons = Annotated[tuple[T, ...], BeforeValidator(semicolons)]
"""A tuple that may be written as text with semicolons (`h2h[systems=A;B;C]`)."""


def _distinct(values: tuple[T, ...]) -> tuple[T, ...]:
    if not values or len(set(values)) < len(values):
        raise ValueError("must contain at least one value, and none twice")
    return values


Choices = Annotated[tuple[T, ...], BeforeValidator(semicolons), AfterValidator(_distinct)]
"""As `Semicolons`, with at least one value and without repetitions."""


def named_file(noun: str, hint: str = "", *, inside: str | None = None) -> BeforeValidator:
    """Return a validator that reads the file named by a setting; parameters as in `DataFile.read`."""
    return BeforeValidator(lambda file: None if file is None else DataFile.read(file, noun, hint, inside=inside))


class Prepared(Record):
    """What an evaluator derives once per document for all its summaries.

    It is stored in the run, and judgments refer to it by `id`. `data` is JSON whose form the evaluator defines. If
    preparing failed, `status` and `reason` say why.
    """

    document_id: str
    data: dict[str, Any] = Field(default_factory=dict)
    calls: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str | None = None

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits of the hash of the content."""
        return digest([self.document_id, self.data, self.status], 12)

    @property
    def stored_id(self) -> str | None:
        """The id if there is data or a failure to store, else None."""
        return self.id if self.data or self.status != "ok" else None


class Checkpoint(NamedTuple):
    """Published weights for a role: their name and the licence on their model card.

    `commercial` is False if the licence forbids commercial use. `alias` is the name that servers use, if it differs.
    """

    model: str
    licence: str
    commercial: bool = True
    alias: str | None = None


@dataclass(frozen=True)
class Role:
    """A model that an evaluator may use.

    `kind` is "llm" or the task of a local network. `hint` is
    appended to the error message if no model is bound. `checkpoints` are the published weights for this role; other
    models are not checked for their licence.
    """

    kind: Literal["llm"] | ModelTask = "llm"
    hint: str | None = None
    checkpoints: tuple[Checkpoint, ...] = ()


@dataclass(frozen=True)
class ExpectedJudgment:
    """A judgment that an item should have, written as failed if the item cannot be judged.

    Without `unit` it is about the whole item, as in `target`.
    """

    aspect: str
    unit: Unit | None = None
    index: int | None = None
    list_id: str | None = None


@dataclass(frozen=True)
class Tools:
    """The models that a judge may use, by role. Created by the run, never stored.

    `llms` and `networks` hold the LLMs and the local networks by role. `signature` is the evaluator's signature in this
    run. `scratch` caches expensive intermediate results (one dict per document and evaluator, dropped after the
    document).
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
            f"no model is assigned to the role {role!r}; assign one with ",
            Parameter("models", f"{role}=PROVIDER/MODEL"),
        )
    return models[role]


class Evaluator(BaseModel):
    """A judge of summaries: settings as frozen fields, class attributes, and the methods `prepare` and `judge`.

    - `aspects`: the aspects it judges. `needs`: what an item must have.
    - `roles`: the models it may use; `required_roles` are those it uses with its settings.
    - `reduce`: how a summary's score is computed: "share" of labels that are 1, "mean" of values, or "whole" for the
      judgment of the summary itself.
    - `value_range`: the least and the greatest value, or None if values are unbounded. A rating scale takes precedence.
    - `binary_units`: units whose judgments are all 0 or 1.
    - `reads_sentences`: whether results depend on the sentence splitter, which is then part of the signature.
    - `prepares_only`: it derives data from documents and writes no judgments. `pairwise`: it compares two summaries.
    - `positional_setting`: the setting of a value without a name in `-e` (`geval[single]`).
    - `code_licence`: the licence of the method's released code.
    - `measured_agreement`: agreement with people by aspect, as measured for summeter (`reports/quality.md`). A run
      prints it next to the scores if its data have no human judgments of the aspect.

    `judge` is called only for items that can be judged; `unjudged` writes the judgments of the others.
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
            """Raises SettingError for an unknown setting or an invalid value."""
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
        """Return the bound weights whose licence forbids commercial use, each with that licence.

        A model matches a checkpoint of its role if it contains the checkpoint's name or alias, or if it is a local
        folder and all checkpoints of the role are non-commercial.
        """
        restricted = []
        for name in self.required_roles:
            role, model = self.role(name), models.get(name)
            for checkpoint in role.checkpoints:
                if checkpoint.commercial or model is None:
                    continue
                names = [checkpoint.model.rpartition("/")[2], *filter(None, [checkpoint.alias])]
                same_name = any(name.lower() in model.lower() for name in names)
                is_folder = role.kind != "llm" and not model.startswith("hf/")
                if same_name or (is_folder and not any(other.commercial for other in role.checkpoints)):
                    restricted.append(f"{checkpoint.model} ({checkpoint.licence})")
        return tuple(restricted)

    def role(self, name: str) -> Role:
        """Return the role `name`, or an LLM role if it is not in `roles` (a member's role of a derived judge)."""
        return self.roles.get(name, Role())

    def components(self) -> tuple[Evaluator, ...]:
        """Return the evaluators that do the work: itself, or the components of a bundle."""
        return (self,)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspects that it judges with its settings. Default: all of `aspects`."""
        return self.aspects

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles whose models it uses with its settings. Default: all of `roles`."""
        return tuple(self.roles)

    @property
    def asks_llm(self) -> bool:
        """Whether it uses an LLM with its settings. Local models are deterministic."""
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
        """Return one evaluator for the items of both; `other` has the same signature.

        Only settings that do not affect judgments are unsigned (such as which pairs are compared). Default: itself.
        """
        return self

    def incompatible(self, systems: Collection[str]) -> str | None:
        """Return why it cannot judge data with summaries by these systems, or None."""
        if self.pairwise and len(systems) < 2:
            return f"{self.name} compares two systems, but the data contain summaries by only one"
        return None

    def signature_fields(self) -> Mapping[str, object]:
        """Return the fields of the signature other than models, splitter and version. Default: changed settings."""
        return {
            name: getattr(self, name)
            for name, info in type(self).model_fields.items()
            if getattr(self, name) != info.default and not isinstance(getattr(self, name), _FILES)
        }

    @property
    def decision_threshold(self) -> float | None:
        """The value from which labels are 1, or None if labels do not depend on values. Default: `threshold`."""
        threshold: float | None = getattr(self, "threshold", None)
        return threshold

    @property
    def rating_scale(self) -> tuple[float, float] | None:
        """The ends of the rating scale, as in the signature, or None for evaluators that do not rate."""
        return None

    def files_to_keep(self) -> Mapping[str, str]:
        """Return the texts that judgments depend on (prompts, weights), by file name in the run."""
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
        """Return why the item cannot be judged, so that it is skipped, or None."""
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
        """Derive what all summaries of the document share. Default: nothing."""
        return Prepared(document_id=document.id)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Judge one item. Return one judgment per unit; an unusable reply is a status, never an exception."""
        raise NotImplementedError

    def builder(self, item: Item, prepared: Prepared, tools: Tools, **fields: Any) -> JudgmentBuilder:
        """Return a builder of judgments about the item; `fields` are those all judgments share."""
        return JudgmentBuilder(self, item, tools.signature, prepared.stored_id, **fields)

    def expected(self, item: Item, data: Mapping[str, Any], parser: Parser = "strict") -> list[ExpectedJudgment]:
        """Return the judgments that an item should have. Default: one per aspect, of the summary."""
        return [ExpectedJudgment(aspect) for aspect in self.active_aspects]

    def unjudged(self, item: Item, signature: str, prepared: Prepared | None = None) -> list[Judgment] | None:
        """Return the judgments of an item that cannot be judged, or None if it can.

        They are skipped judgments if `skip_reason` returns a reason, and failed ones if `prepared` failed.
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
        """Return judgments from a raw reply of an experiment, by the strict or the released parser.

        The item must be one that can be judged. Raises UsageError if the evaluator has no parser.
        """
        raise UsageError(f"{self.name} has no parser for raw outputs; give rows with a `value` instead")


class PromptedEvaluator(Evaluator):
    """An evaluator with prompt templates: `prompts/NAME.txt` in the package of its module, or `prompt_text`.

    `prompts`: a folder whose templates replace the shipped ones of the same name. It is read once, when the evaluator
    is created, so that later edits do not change judgments under the same signature.
    """

    prompt_text: ClassVar[str | None] = None

    prompts: PromptFolder | None = None

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates that affect its judgments."""
        return ()

    def load_template(self, name: str) -> Template:
        """Return the template `name`: the user's, or else `prompt_text`, or else the shipped file."""
        return Template.load(type(self).__module__.rpartition(".")[0], name, self.prompts, self.prompt_text)

    def used_templates(self) -> tuple[Template, ...]:
        """Return all templates that affect its judgments."""
        return tuple(map(self.load_template, self.templates))

    @property
    def prompt_hash(self) -> str | None:
        """The hash of the templates in the signature, or None if no template is used."""
        hashes = [template.hash for template in self.used_templates()]
        return hashes[0] if len(hashes) == 1 else digest(hashes, HASH) if hashes else None

    def signature_fields(self) -> Mapping[str, object]:
        """Return changed settings and the hash of the prompts."""
        return {**super().signature_fields(), "prompt": self.prompt_hash}

    def files_to_keep(self) -> Mapping[str, str]:
        """Return the files of every evaluator and the prompt templates."""
        texts = {f"prompts/{template.name}.{template.hash}.txt": template.source for template in self.used_templates()}
        return {**super().files_to_keep(), **texts}


def target(item: Item, unit: Unit | None = None, index: int | None = None, list_id: str | None = None) -> Target:
    """Return the target of a judgment: a unit or, without `unit`, the summary or the pair."""
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

    `prepared` is the id of the prepared data, `calls` the keys of the LLM calls behind the judgments.
    """

    evaluator: Evaluator
    item: Item
    signature: str
    prepared: str | None = None
    model: str | None = None
    calls: tuple[str, ...] = ()
    truncated_tokens: int | None = None

    def ok(self, aspect: str, unit: Unit | None = None, index: int | None = None, **fields: Any) -> Judgment:
        """Return a judgment of `unit` or, without it, of the item, with these fields."""
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
        """Return a judgment without a value, with the reason."""
        return self.ok(aspect, unit, index, status=status, reason=reason, **fields)

    def all_failed(self, status: Status, reason: str, expected: Iterable[ExpectedJudgment]) -> list[Judgment]:
        """Return a failed judgment for each expected one."""
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
        """Return one judgment per sentence of the summary, computed from the entries that start in it.

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
