"""What the rating judges share: one aspect, one question, one verdict an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import Field, model_validator

from summeter.evaluators.aspects import RATED, AspectDef, read_aspects
from summeter.evaluators.base import Evaluator, JudgmentBuilder, Parser, Prepared, Tools
from summeter.evaluators.fences import fence_code
from summeter.evaluators.windows import seen, shown
from summeter.models.prompts import Prompt, Template
from summeter.models.structured import BoundLLM, Form
from summeter.records import InputError, Item, Judgment, ReplyError, Summary, Unit

PACKAGE = "summeter.evaluators.rating"


class Verdict(NamedTuple):
    """What a reply says; `value` on the judge's scale."""

    value: float
    reason: str | None = None


class AspectJudge(Evaluator):
    """A judge of one aspect. `aspect` is one of `RATED`, or one of the user's own.

    `aspect_file`: a YAML file that defines the aspect (see `read_aspects`); it is read once, when the
    evaluator is made, and what it says is kept in `definition`, so that a run needs no file to be resumed.
    `prompts`: a folder whose template of this judge's name replaces the shipped one.

    Writes one judgment an item. A reply that cannot be used gives a judgment without a value. `scale`, on which
    the values are, stands in the signature, so that no rating is taken for a share.
    """

    aspects: ClassVar[tuple[str, ...]] = tuple(RATED)
    roles: ClassVar[tuple[str, ...]] = ("judge",)
    reads_sentences: ClassVar[bool] = False
    unit: ClassVar[Unit] = "summary"
    scale: ClassVar[str | None] = "1-5"
    package: ClassVar[str] = PACKAGE
    reply_tokens: ClassVar[int] = 200
    schema_: ClassVar[dict[str, Any]]

    aspect: str = "coherence"
    aspect_file: Path | None = Field(default=None, exclude=True)
    definition: AspectDef | None = None
    prompts: Path | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or fields.get("aspect_file") is None:
            return fields
        if fields.get("definition") is not None:
            raise ValueError("give an `aspect_file` or a `definition`, not both")
        file = Path(fields["aspect_file"])
        known = read_aspects(file)
        name = fields.get("aspect") or next(iter(known))
        if name not in known or (len(known) > 1 and not fields.get("aspect")):
            raise InputError.at(file, None, "name", f"defines {', '.join(known)}; choose one with aspect=NAME")
        return {**fields, "aspect": name, "definition": known[name]}

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.definition is None and self.aspect not in RATED:
            raise ValueError(
                f"the aspect {self.aspect!r} is not known (known: {', '.join(RATED)}); define it in a YAML file "
                "and give that as aspect_file"
            )
        if self.definition is not None and self.definition.name != self.aspect:
            raise ValueError(f"the definition is of {self.definition.name!r}, not of {self.aspect!r}")
        return self

    @property
    def measured(self) -> tuple[str, ...]:
        """The one aspect it is set to."""
        return (self.aspect,)

    @property
    def about(self) -> AspectDef:
        """What the judge is told of the aspect."""
        return self.definition or RATED[self.aspect]

    @property
    def template(self) -> str:
        """The name of its prompt template."""
        return self.name

    @property
    def prompt_hash(self) -> str:
        """What stands in the signature for the prompt."""
        return Template.load(self.package, self.template, self.prompts).hash

    def signature_fields(self) -> Mapping[str, object]:
        """The aspect always; the wording of a user's own; the prompt; the scale."""
        own = self.definition.hash if self.definition is not None else None
        return {"aspect": self.aspect, "def": own, "prompt": self.prompt_hash, "scale": self.scale}

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call, one judgment."""
        del prepared
        builder = JudgmentBuilder(self, item, tools.signature)
        if why := self.skip_reason(item):
            return [builder.failed(self.aspect, "skipped", why, self.unit)]
        llm = tools.llm("judge")
        seen, cut = view(item, llm, self.prompt, self.reply_tokens)
        answer = await llm.ask(self.prompt(seen), self.form(seen))
        builder = JudgmentBuilder(self, item, tools.signature, model=llm.id, calls=answer.calls)
        if answer.data is None:
            why = answer.reason or "no usable reply"
            return [builder.failed(self.aspect, answer.status, why, self.unit, truncated_tokens=cut)]
        return [self._written(builder, answer.data, cut)]

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """The judgment in a stored reply: in this judge's form or the published one, or by the released parser."""
        builder = JudgmentBuilder(self, item, signature)
        if why := self.skip_reason(item):
            return [builder.failed(self.aspect, "skipped", why, self.unit)]
        try:
            return [self._written(builder, self._by(parser, output, item))]
        except ReplyError as error:
            return [builder.failed(self.aspect, error.kind, str(error), self.unit)]

    def prompt(self, item: Item) -> Prompt:
        """The document first, behind the same words for every judge: a provider's prefix cache can then serve it
        for all summaries of a document, all aspects and all judges."""
        return Template.load(self.package, self.template, self.prompts).fill(aspect=self.about, **texts(item))

    def form(self, item: Item) -> Form[Verdict]:
        """The schema of a reply to this item, and the strict reader of one."""
        return Form(self.template, self.schema_, lambda text: self._by("strict", text, item))

    def strict(self, text: str, material: Sequence[str] = ()) -> Verdict:
        """The verdict in a reply, or ReplyError: never a guess, and never a quotation from `material`, the
        texts under judgment."""
        raise NotImplementedError

    def released(self, text: str) -> Verdict:
        """The verdict as the released code took it. Default: as `strict`, where there is none of its own."""
        return self.strict(text)

    def _by(self, parser: Parser, text: str, item: Item) -> Verdict:
        if parser == "legacy":
            return self.released(text)
        rival = (item.rival.text,) if item.rival else ()
        return self.strict(text, (item.document.text, item.summary.text, *rival))

    def _written(self, builder: JudgmentBuilder, verdict: Verdict, cut: int | None = None) -> Judgment:
        return builder.ok(self.aspect, self.unit, value=verdict.value, reason=verdict.reason, truncated_tokens=cut)


def texts(item: Item) -> dict[str, Any]:
    """The texts of an item with the codes of their fences. The document's code hangs on the document alone."""
    document, summary = item.document.text, item.summary.text
    rival = item.rival.text if item.rival else None
    return {
        "document": document, "document_code": fence_code(document),
        "summary": summary, "rival": rival, "summary_code": fence_code(document, summary, rival or ""),
    }  # fmt: skip


def view(item: Item, llm: BoundLLM, prompt: Callable[[Item], Prompt], reply: int) -> tuple[Item, int | None]:
    """The item as a judge that rates the whole is shown it, and how many tokens of the document it is not shown.

    A document that is too long for the model becomes its opening and the passages nearest to the summary (see
    `evaluators.windows`); ratings by window would have no sum.
    """
    if llm.context is None:
        return item, None
    near = [*_parts(item.summary), *(_parts(item.rival) if item.rival else ())]
    found = shown(item.document, llm, prompt(seen(item, "")), reply, near)
    if found.whole:
        return item, None
    return seen(item, found.views[0].text), found.truncated_tokens


def _parts(summary: Summary) -> tuple[str, ...]:
    return summary.sentence_texts or (summary.text,)


def sentence() -> dict[str, Any]:
    """The schema of a reason in one sentence."""
    return {"type": "string", "maxLength": 400}
