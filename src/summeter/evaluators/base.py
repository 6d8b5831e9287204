"""Evaluator, Prepared, Tools: what a judge is, what it derives once a document, and what it may use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from summeter.models.base import (
    NLI,
    Classifier,
    Coref,
    Embedder,
    Kind,
    Regressor,
    Seq2Seq,
    TokenClassifier,
    TokenEmbedder,
)
from summeter.models.fitted import NumbersFile
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
    signature,
)

T = TypeVar("T")

Reduce = Literal["share", "mean", "whole"]
Parser = Literal["strict", "legacy"]
OWN = "Apache-2.0"
"""The licence of summeter, and of what is written for it alone."""

Need = Literal["reference", "key_facts", "rival"]

_FILES = (Path, PromptFolder, NumbersFile)
"""Settings that name files: what these hold is signed by its hash, and where they lie is not."""


def semicolons(value: Any) -> Any:
    """A setting that is a list, as `-e` writes it: the parts between semicolons; any other value as it is."""
    return tuple(part.strip() for part in value.split(";") if part.strip()) if isinstance(value, str) else value


Semicolons = Annotated[tuple[T, ...], BeforeValidator(semicolons)]
"""A list that may be written with semicolons (`h2h[systems=A;B;C]`)."""


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

    role: str
    model: str
    licence: str
    commercial: bool = True
    alias: str | None = None


@dataclass(frozen=True)
class Tools:
    """What a judge may use, by role. Made by the run, never stored.

    `llms` and `networks` hold the LLMs and the local models by role; `tools.llm("judge")`, `tools.nli("nli")` give
    one, UsageError where none is bound. The roles in an evaluator's `local_model_kinds` are networks of that kind.
    `signature` is the evaluator's own signature in this run; `scratch` caches what is expensive to
    derive (one dict per document and evaluator, dropped after the document).
    """

    signature: str
    llms: Mapping[str, BoundLLM] = field(default_factory=dict)
    networks: Mapping[str, Any] = field(default_factory=dict)
    scratch: dict[str, Any] = field(default_factory=dict)

    def llm(self, role: str) -> BoundLLM:
        """The model bound to `role`."""
        return _bound(self.llms, role)

    def nli(self, role: str) -> NLI:
        """The local model in `role`, of the kind `nli`; so below for every kind."""
        return cast("NLI", _bound(self.networks, role))

    def classifier(self, role: str) -> Classifier:
        """Of the kind `classifier`."""
        return cast("Classifier", _bound(self.networks, role))

    def token_classifier(self, role: str) -> TokenClassifier:
        """Of the kind `tokens`."""
        return cast("TokenClassifier", _bound(self.networks, role))

    def embedder(self, role: str) -> Embedder:
        """Of the kind `embed`."""
        return cast("Embedder", _bound(self.networks, role))

    def encoder(self, role: str) -> TokenEmbedder:
        """Of the kind `encoder`."""
        return cast("TokenEmbedder", _bound(self.networks, role))

    def seq2seq(self, role: str) -> Seq2Seq:
        """Of the kind `seq2seq`."""
        return cast("Seq2Seq", _bound(self.networks, role))

    def coref(self, role: str) -> Coref:
        """Of the kind `coref`."""
        return cast("Coref", _bound(self.networks, role))

    def regressor(self, role: str) -> Regressor:
        """Of the kind `regressor`."""
        return cast("Regressor", _bound(self.networks, role))

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
    """A judge: frozen settings as its own fields; class facts; two methods.

    `aspects`: what it measures. `needs`: what an item must have. `roles`: the models it may ask (`required_roles`:
    those it asks as it is set). `local_model_kinds`: which roles take a local model, and of what kind
    (`{"answers": "seq2seq"}` for `tools.seq2seq("answers")`); a role that is not there takes an LLM.
    `default_models`: models of roles that need no binding. `without_model`: by role, how it does without that model,
    for the message where none is bound. `reduce`: how judgments below the summary become its
    score ("share" of labels that are 1, "mean" of values, or "whole": a judgment of the summary stands beside them).
    `value_range`: the least and the greatest value of its judgments, where there are such (a scale goes before it).
    `binary_units`: the units of which its judgments are 1 or 0 and nothing between.
    `reads_sentences`: whether the splitter bears on the result (and so is signed). `prepares_only`: it derives
    something of documents and judges no summary. `pairwise`: it compares two summaries of a document.
    `positional_setting`: the setting that a word without = in `-e` sets (`geval[sample:20]`).
    `code_licence`: that of the method's released code, of which nothing is copied where it has none. `checkpoints`: the
    published weights it is meant for, with their licences; whatever else is bound has a licence of its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    version: ClassVar[str]
    summary: ClassVar[str]
    aspects: ClassVar[tuple[str, ...]]
    needs: ClassVar[frozenset[Need]] = frozenset()
    roles: ClassVar[tuple[str, ...]] = ()
    local_model_kinds: ClassVar[Mapping[str, Kind]] = {}
    default_models: ClassVar[Mapping[str, str]] = {}
    without_model: ClassVar[Mapping[str, str]] = {}
    code_licence: ClassVar[str] = OWN
    checkpoints: ClassVar[tuple[Checkpoint, ...]] = ()
    reduce: ClassVar[Reduce] = "share"
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

    def restricted(self, models: Mapping[str, str]) -> tuple[str, ...]:
        """Weights whose licence forbids commercial use, with that licence, among those that it is meant for: where the
        model bound to their role has their name or alias, or is a folder, and the role has no others."""
        named = []
        for checkpoint in self.checkpoints:
            model = models.get(checkpoint.role)
            if checkpoint.commercial or model is None or checkpoint.role not in self.required_roles:
                continue
            free = any(other.commercial for other in self.checkpoints if other.role == checkpoint.role)
            names = [checkpoint.model.rpartition("/")[2], *filter(None, [checkpoint.alias])]
            alike = any(name.lower() in model.lower() for name in names)
            folder = checkpoint.role in self.local_model_kinds and not model.startswith("hf/")
            if alike or (folder and not free):
                named.append(f"{checkpoint.model} ({checkpoint.licence})")
        return tuple(named)

    def parts(self) -> tuple[Evaluator, ...]:
        """The evaluators that do the work: itself, or the members of a bundle."""
        return (self,)

    @property
    def measured(self) -> tuple[str, ...]:
        """The aspects it measures as it is set: all of `aspects`, unless a setting chooses among them."""
        return self.aspects

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles whose models it asks as it is set: all of `roles`, unless a setting chooses among them."""
        return self.roles

    @property
    def samples(self) -> bool:
        """Whether it asks an LLM as it is set; networks (`local_model_kinds`) give the same answer every time."""
        return any(role not in self.local_model_kinds for role in self.required_roles)

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
        del other
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
        """The value from which on it labels 1, where each label is a threshold of the value beside it; else None."""
        return None

    @property
    def rating_scale(self) -> tuple[float, float] | None:
        """The ends of the scale that its ratings are on, as its signature names it; None where it rates nothing."""
        return None

    def kept_files(self) -> Mapping[str, str]:
        """What a run keeps of the texts that its judgments rest on (prompts, weights): file name in the run -> text."""
        return {
            f"files/{value.path.stem}.{digest(value.text, HASH)}{value.path.suffix}": value.text
            for name in type(self).model_fields
            if isinstance(value := getattr(self, name), NumbersFile)
        }

    def sign(
        self, models: Mapping[str, str], splitter: str | None = None, sampling: Mapping[str, object] | None = None
    ) -> str:
        """The signature of this evaluator with these models (role -> model string).

        `sampling` holds what decides a model's draws (temperature, seed); it is signed where an LLM is asked.
        """
        roles = {role: models[role] for role in self.required_roles if role in models}
        drawn = dict(sampling or {}) if self.samples else {}
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
        return self._rival_skip_reason(item) if "rival" in self.needs else None

    @staticmethod
    def _rival_skip_reason(item: Item) -> str | None:
        if item.rival is None:
            return "there is no second summary to compare with"
        return None if item.rival.text.strip() else "the second summary is empty"

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Derive once what all summaries of the document share. Default: nothing."""
        del tools
        return Prepared(document_id=document.id)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Judge one item. Returns one judgment per unit judged; never raises for a bad reply."""
        raise NotImplementedError

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Judgments from a raw reply of an earlier experiment, by the strict or the released parser."""
        del output, item, parser, signature
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

    def kept_files(self) -> Mapping[str, str]:
        """As for every evaluator, and the templates."""
        texts = {f"prompts/{template.name}.{template.hash}.txt": template.source for template in self.used_templates()}
        return {**super().kept_files(), **texts}


def _setting_fault(detail: Mapping[str, Any], owner: type[Evaluator]) -> str:
    """What is wrong with a setting: which one, and what it may be."""
    setting = ".".join(map(str, detail["loc"]))
    if detail["type"] == "extra_forbidden":
        known = list(owner.model_fields)
        return f"there is no setting {setting!r}{nearest(setting, known)}; its settings: {', '.join(known) or 'none'}"
    message = str(detail["msg"]).removeprefix("Value error, ")
    value = f", not {detail['input']!r}" if detail["type"] == "literal_error" else ""
    return ": ".join(filter(None, [setting, f"{message}{value}"]))


def target(item: Item, unit: Unit = "summary", index: int | None = None, list_id: str | None = None) -> Target:
    """The target of a judgment about `item`."""
    rival = item.rival.system if item.rival else None
    return Target(
        document_id=item.document.id,
        system=item.summary.system,
        rival=rival,
        unit=unit,
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

    def ok(self, aspect: str, unit: Unit = "summary", index: int | None = None, **fields: Any) -> Judgment:
        """A judgment; pass `value`, `label`, `evidence`, `reason`, `list_id`..."""
        return self._write(aspect, unit, index, "ok", fields)

    def failed(
        self,
        aspect: str,
        status: Status,
        reason: str,
        unit: Unit = "summary",
        index: int | None = None,
        **fields: Any,
    ) -> Judgment:
        """A judgment that could not be had, and why."""
        return self._write(aspect, unit, index, status, {"reason": reason, **fields})

    def _write(self, aspect: str, unit: Unit, index: int | None, status: Status, fields: dict[str, Any]) -> Judgment:
        list_id = fields.pop("list_id", None)
        return Judgment(
            target=target(self.item, unit, index, list_id),
            aspect=aspect,
            judge=self.evaluator.name,
            signature=self.signature,
            model=self.model,
            prepared=self.prepared,
            calls=self.calls,
            status=status,
            **{"truncated_tokens": self.truncated_tokens, **fields},
        )
