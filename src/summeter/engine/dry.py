"""A dry run: what a run would send, before anything is sent.

It is the real run with LLMs that make up schema-valid replies and local models that only count. Nothing leaves the
machine, and nothing is kept but the counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

from summeter.engine.api import toolbox
from summeter.engine.contexts import contexts
from summeter.engine.executor import LocalExecutor
from summeter.engine.options import OptionArgs, Options, with_options
from summeter.engine.plan import Data, Job, RunPlan, make_plan, units
from summeter.engine.progress import Silent
from summeter.engine.runs import Run
from summeter.engine.sync import run_sync
from summeter.engine.worker import Worker
from summeter.evaluators.base import Evaluator
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.base import Completion, Entailment, Generation, Kind, Request, TokenLogprobs, TokenStates
from summeter.models.prices import Price, Prices, prices
from summeter.models.structured import BoundLLM, Settings
from summeter.models.tokens import tokens
from summeter.records import Judgment
from summeter.runs.calls import CallStore
from summeter.runs.journal import ItemKey
from summeter.runs.manifest import JudgeEntry
from summeter.runs.results import RESULTS, ResultStore, result_key
from summeter.runs.run import CALLS, MANIFEST, DoneKey, Failure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK = 256  # characters: the grain in which prompts are compared
CACHEABLE = 1024  # tokens: what providers cache begins with a prefix of so many
LIMIT = 500
"""Tokens that a local model is taken to read."""
_VARIES = "usual length"
_WORDS = f"a sentence of about the {_VARIES} that gives a reason"
_LIST = 8  # entries where the schema leaves the number open

Count = Callable[[str, Sequence[tuple[str, ...]]], None]


class Estimate(NamedTuple):
    """What one evaluator would send: calls and estimated tokens.

    `items` are left to judge: summaries, or pairs of them in one order each, as `unit` says. `tokens_shared` is that
    part of `tokens_in` which begins a prompt as an earlier one began, so that a provider's cache may serve it for
    less. `cost` is in US dollars with nothing from a cache, in `batch`es at their lower price; None where a price is
    unknown, and `reason` says which. `local` is how many inputs would go through each local model, by its id.
    `reads` is what is known, by model string, of how much the models read whose context was not told.
    """

    judge: str
    signature: str
    items: int
    calls: int
    tokens_in: int
    tokens_out: int
    unit: Literal["summary", "pair"] = "summary"
    tokens_shared: int = 0
    cost: float | None = None
    reason: str | None = None
    batch: bool = False
    local: dict[str, int] | None = None
    reads: dict[str, dict[str, Any]] | None = None


@with_options
def dry_run(
    data: Data, evaluators: Sequence[Evaluator | str], *, models: Mapping[str, str] | str | None = None,
    out: str | Path | None = None, **options: Unpack[OptionArgs],
) -> list[Estimate]:  # fmt: skip
    """What `evaluate` with the same arguments would still have to do; sends nothing of the data and writes nothing.
    Servers are asked how much their models read, where that was not told.

    Tokens are those of `summeter.models.tokens`; replies are assumed as long as an example of their schema. A call
    that several evaluators share counts with the first, one that is stored already with none.
    """
    # Not even a model of the hub is fetched: one that is not here is counted under the name it was given.
    plan = make_plan(data, evaluators, models, Options.of(**options), fetch=False)
    table = prices(plan.options.prices)
    folder = None if out is None or not (Path(out) / MANIFEST).exists() else Path(out)
    plan = plan._replace(contexts=run_sync(contexts(plan.models, plan.options, folder, load=False)))
    done = frozenset(_done(folder)) if folder is not None else frozenset()
    stored = folder is not None and (folder / CALLS).is_file()
    kept = folder is not None and bool(plan.networks) and (folder / RESULTS).is_file()
    with (
        CallStore(folder / CALLS if stored and folder else None) as store,
        ResultStore(folder / RESULTS if kept and folder else None) as results,
    ):
        known = _Known(done, Seen(store, partial(_price, table, batch=plan.options.batch)), set(), results)
        return [run_sync(_estimate(plan, job, known, table)) for job in plan.jobs]


class _Known(NamedTuple):
    """What is done, what other evaluators would ask already, and what is stored."""

    done: frozenset[DoneKey]
    seen: Seen
    inputs: set[bytes]
    results: ResultStore


def _price(table: Prices, model: str, *, batch: bool) -> Price | None:
    price = table.of(model)
    return price.batched if batch and price is not None else price


def _done(folder: Path) -> list[DoneKey]:
    return [entry.key for entry in Run(folder).progress()]


async def _estimate(plan: RunPlan, job: Job, known: _Known, table: Prices) -> Estimate:
    models = {name: job.entry.models[role] for role, name in job.roles.items()}
    llm_roles = {name: model for name, model in models.items() if name not in plan.networks}
    tallies: dict[str, Counter[str]] = {model: Counter() for model in llm_roles.values()}
    local: Counter[str] = Counter()
    todo = list(units(plan.data, [job], known.done, plan.options.limit))
    if job.evaluator.required_roles and not isinstance(job.evaluator, DerivedEvaluator):
        llms = {role: dry(model, tallies[model], known.seen, plan.asking(role)) for role, model in llm_roles.items()}
        networks = {
            role: dry_network(one.kind, one.id, counting(one.id, local, known.inputs, known.results))
            for role, one in plan.networks.items() if role in models
        }  # fmt: skip
        worker = Worker([job], _Discard(), toolbox(llms, networks), {}, Silent().advance)
        async for _ in LocalExecutor(1).map(worker, todo):
            pass
    tally: Counter[str] = sum(tallies.values(), Counter())
    why = next((why for model in tallies if (why := table.why(model))), None)
    return Estimate(
        judge=job.evaluator.name, signature=job.signature, items=sum(unit.size for unit in todo), calls=tally["calls"],
        tokens_in=tally["tokens_in"], tokens_out=tally["tokens_out"],
        unit="pair" if job.evaluator.pairwise else "summary", tokens_shared=tally["tokens_shared"],
        cost=None if why else round(tally["nanodollars"] / 1e9, 6), reason=why,
        batch=plan.options.batch, local=dict(local) or None,
        reads={model: plan.contexts[model].model_dump() for model in tallies if model in plan.contexts} or None,
    )  # fmt: skip


class _Discard:
    """A sink that keeps nothing."""

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Nothing is kept."""

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Nothing is kept."""

    def failed(self, failure: Failure) -> None:
        """Nothing is kept."""


class Seen:
    """What a run would have sent so far: calls that are stored or under way are made once, and prompts that begin
    as an earlier one are cheaper where the provider caches. `price` is what a model costs."""

    def __init__(self, stored: Container[str] = (), price: Callable[[str], Price | None] = lambda _: None) -> None:
        self._stored = stored
        self._price = price
        self._keys: set[str] = set()
        self._prefixes: dict[str, set[int]] = {}

    def is_new(self, key: str) -> bool:
        """Whether this call would be sent."""
        if key in self._keys or key in self._stored:
            return False
        self._keys.add(key)
        return True

    def nanodollars(self, model: str, tokens_in: int, tokens_out: int) -> int:
        """What one call costs, in billionths of a dollar: call by call, since long prompts may cost more a token."""
        price = self._price(model)
        return 0 if price is None else round(price.cost(tokens_in, tokens_out) * 1e9)

    def shared(self, model: str, prompt: str) -> int:
        """How many characters of the prompt begin an earlier one to the same model, in whole chunks."""
        prefixes = self._prefixes.setdefault(model, set())
        known, mark, same = 0, 0, True
        for end in range(CHUNK, len(prompt) + 1, CHUNK):
            mark = hash((mark, prompt[end - CHUNK : end]))
            same = same and mark in prefixes
            known = end if same else known
            prefixes.add(mark)
        return known


class DryLLM:
    """Answers any request with an example of the schema asked for."""

    def __init__(self, model: str, tally: Counter[str], seen: Seen | None = None) -> None:
        self._id = model
        self._tally = tally
        self._seen = seen or Seen()

    @property
    def id(self) -> str:
        """The model string of the model it stands for."""
        return self._id

    async def complete(self, request: Request) -> Completion:
        """Count the request and make up a reply."""
        text = json.dumps(example(request.schema_ or {"type": "object"}))
        # Different questions have different answers, and what is asked next with them in it is another question.
        text = text.replace(_VARIES, f"{request.key[:5]} length")
        tokens_in, tokens_out = tokens(request.prompt), tokens(text)
        if self._seen.is_new(request.key):
            self._tally.update(calls=1, tokens_in=tokens_in, tokens_out=tokens_out)
            self._tally.update(nanodollars=self._seen.nanodollars(self._id, tokens_in, tokens_out))
            shared = round(tokens_in * self._seen.shared(self._id, request.prompt) / max(1, len(request.prompt)))
            self._tally.update(tokens_shared=shared if shared >= CACHEABLE else 0)
        sure = tuple(TokenLogprobs(token=one, logprob=0.0) for one in text) if request.top_logprobs else None
        return Completion(
            text=text, finish_reason="stop", tokens_in=tokens_in, tokens_out=tokens_out, logprobs=sure
        )  # fmt: skip

    async def close(self) -> None:
        """Nothing to let go of."""


def dry(
    model: str, tally: Counter[str], seen: Seen | None = None, settings: Settings | None = None
) -> BoundLLM:  # fmt: skip
    """A bound model that only counts; without repair turns, which nobody can foresee."""
    return BoundLLM(DryLLM(model, tally, seen), (settings or Settings())._replace(repair=False))


def example(schema: dict[str, Any], defs: dict[str, Any] | None = None) -> Any:
    """A value that fits a JSON schema (of the kinds used in forms); `defs` are those of the whole schema.

    >>> example({"type": "object", "properties": {"a": {"enum": ["yes", "no"]}, "b": {"type": "integer"}}})
    {'a': 'yes', 'b': 1}
    """
    defs = schema.get("$defs", {}) if defs is None else defs
    if "$ref" in schema:
        return example(defs[schema["$ref"].removeprefix("#/$defs/")], defs)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if "anyOf" in schema:
        return example(schema["anyOf"][0], defs)
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: example(inner, defs) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return _array(schema, defs)
    plain: dict[str, Any] = {"string": _WORDS, "integer": 1, "number": 1, "boolean": True}
    return plain.get(kind)


def _array(schema: dict[str, Any], defs: dict[str, Any]) -> list[Any]:
    if "prefixItems" in schema:
        return [example(inner, defs) for inner in schema["prefixItems"]]
    least, most = schema.get("minItems", 1), schema.get("maxItems", _LIST)
    inner = schema.get("items", {"type": "string"})
    number = max(least, 1 if inner.get("type") == "integer" else min(most, _LIST))
    values = [example(inner, defs) for _ in range(number)]
    # Lists of texts are read as sets by some forms: number them.
    return [f"{value} {place}" if isinstance(value, str) else value for place, value in enumerate(values, 1)]


def counting(model: str, tally: Counter[str], seen: set[bytes], stored: Container[bytes] = ()) -> Count:
    """What notes the inputs of a task (as the models name it in the store) in `tally[model]`, each once, and none that
    is stored."""

    def count(task: str, inputs: Sequence[tuple[str, ...]]) -> None:
        for one in inputs:
            key = result_key(model, task, one)
            if key not in seen:
                seen.add(key)
                tally[model] += key not in stored

    return count


def dry_network(kind: Kind, model: str, count: Count) -> Any:
    """A network that only counts. Nothing entails anything, so that what depends on a result is asked for in full."""
    made = {"nli": _NLI, "embed": _Encoder, "encoder": _Encoder, "seq2seq": _Seq2Seq, "coref": _Coref}[kind]
    return made(model, count)


class _Dry:
    def __init__(self, id_: str, count: Count) -> None:
        self.id = id_
        self._count = count


class _NLI(_Dry):
    limit = LIMIT

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 + 1 for text in texts]

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        self._count("nli", pairs)
        return [Entailment(0.0, 1.0, 0.0)] * len(pairs)


class _Encoder(_Dry):
    layers = 12

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        self._count("embedding", [(text,) for text in texts])
        return np.ones((len(texts), 1), dtype=np.float32)

    async def states(self, texts: Sequence[str], layer: int | None = None) -> list[TokenStates]:
        self._count("states", [(text, str(layer)) for text in texts])
        return [_words(text) for text in texts]


class _Seq2Seq(_Dry):
    async def generate(self, sources: Sequence[str], how: Generation | None = None) -> list[str]:
        self._count("generated", [(one, str(how)) for one in sources])
        return list(sources)

    async def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self._count("log-likelihood", pairs)
        return [-1.0] * len(pairs)


class _Coref(_Dry):
    async def clusters(self, text: str) -> list[list[tuple[int, int]]]:
        self._count("coref", [(text,)])
        return []


def _words(text: str) -> TokenStates:
    import re

    import numpy as np

    found = list(re.finditer(r"\S+", text))
    return TokenStates(
        tokens=tuple(one[0] for one in found), ids=tuple(range(len(found))), offsets=tuple(one.span() for one in found),
        special=(False,) * len(found), states=np.ones((len(found), 2), dtype=np.float32),
    )  # fmt: skip
