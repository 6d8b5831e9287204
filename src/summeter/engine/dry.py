"""A dry run: what a run would send, before anything is sent.

It is the real run with LLMs that answer from the call store, as in a run with batches, and make up the reply to any
other call; and with local models that only count. Nothing leaves the machine, and nothing is kept but the counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, Unpack

from summeter.engine.executors.local import LocalExecutor
from summeter.engine.options import OptionArgs, Options, with_options
from summeter.engine.plan import Data, Job, RunPlan, make_plan, units
from summeter.engine.progress import Progress
from summeter.engine.roles import contexts
from summeter.engine.runs import Run
from summeter.engine.sync import run_sync
from summeter.engine.tools import toolbox
from summeter.engine.worker import Worker
from summeter.evaluators.base import Evaluator
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.layers.cache import Stored
from summeter.models.networks import NetworkRequest
from summeter.models.prices import Prices, prices
from summeter.models.structured import BoundLLM, Settings
from summeter.models.tokens import tokens
from summeter.runs.calls import CallStore
from summeter.runs.progress import DoneItems, DoneKey
from summeter.runs.results import RESULTS, ResultStore, result_key
from summeter.runs.run import CALLS, MANIFEST
from summeter.runs.usage import Usage

CHUNK = 256  # characters: the grain in which prompts are compared
CACHEABLE = 1024  # tokens: what providers cache begins with a prefix of so many
_VARIES = "usual length"
_WORDS = f"a sentence of about the {_VARIES} that gives a reason"
_LIST = 8  # entries where the schema leaves the number open

S = TypeVar("S", CallStore, ResultStore)
T = TypeVar("T")
Count = Callable[[str, str], None]


class Estimate(NamedTuple):
    """What one evaluator would send: calls and estimated tokens.

    `items` are left to judge: summaries, or pairs of them in one order each, as `unit` says. `tokens_shared` is that
    part of `tokens_in` which begins a prompt as an earlier one began, so that a provider's cache may serve it for
    less. `cost` is in US dollars with nothing from a cache, in `batch`es at their lower price; None where a price is
    unknown, and `reason` says which. `local` is how many inputs would go through each local model, by its id.
    `reads` is what is known, by model string, of how much the models read whose context was not told. `at_most`: the
    judge is asked where a cascade's judges before it are not sure, which nobody knows before they have judged; the
    figures are those of all items.
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
    at_most: bool = False


@with_options
def dry_run(
    data: Data,
    evaluators: Sequence[Evaluator | str],
    *,
    models: Mapping[str, str] | str | None = None,
    out: str | Path | None = None,
    **options: Unpack[OptionArgs],
) -> list[Estimate]:
    """What `evaluate` with the same arguments would still have to do; sends nothing of the data and writes nothing.
    Servers are asked how much their models read, where that was not told.

    Tokens are those of `summeter.models.tokens`; replies are assumed as long as an example of their schema. A call
    that several evaluators share counts with the first, one that is stored already with none.
    """
    # Not even a model of the hub is fetched: one that is not here is counted under the name it was given.
    plan = make_plan(data, evaluators, models, Options.of(**options), fetch=False)
    table = prices(plan.options.prices)
    run = None if out is None or not (Path(out) / MANIFEST).exists() else Run(out)
    before = None if run is None else run.manifest
    plan = plan._replace(contexts=run_sync(contexts(plan.models, plan.options, before, load=False)))
    done = DoneItems() if run is None else run.done()

    def stored(kind: type[S], name: str) -> S:
        file = None if run is None else run.folder / name
        return kind(file, readonly=True) if file is not None and file.is_file() else kind()

    with stored(CallStore, CALLS) as calls, stored(ResultStore, RESULTS) as results:
        sent = Sent(table, batched=plan.options.batch, calls=calls, results=results)
        return [run_sync(_estimate(plan, job, done, sent)) for job in plan.jobs]


async def _estimate(plan: RunPlan, job: Job, done: Container[DoneKey], sent: Sent) -> Estimate:
    models = {name: job.entry.models[role] for role, name in job.roles.items()}
    llm_roles = {name: model for name, model in models.items() if name not in plan.networks}
    tally, local = Usage(), Counter[str]()
    todo = list(units(plan.data, [job], done, plan.options.limit))
    if job.evaluator.required_roles and not isinstance(job.evaluator, DerivedEvaluator):
        llms = {role: dry(model, tally, sent, plan.asking(role)) for role, model in llm_roles.items()}
        networks = {
            role: DryNetwork(network.id, sent.counting(network.id, local))
            for role, network in plan.networks.items()
            if role in models
        }
        worker = Worker([job], _Discard(), toolbox(llms, networks), {}, Progress())
        async for _ in LocalExecutor(1).map(worker, todo):
            pass
    used = dict.fromkeys(llm_roles.values())
    reason = next(filter(None, map(sent.prices.why, used)), None)
    return Estimate(
        judge=job.evaluator.name,
        signature=job.signature,
        items=sum(unit.size for unit in todo),
        calls=tally.calls,
        tokens_in=tally.tokens_in,
        tokens_out=tally.tokens_out,
        unit="pair" if job.evaluator.pairwise else "summary",
        tokens_shared=tally.tokens_cached,
        cost=None if reason else round(tally.cost or 0.0, 6),
        reason=reason,
        batch=plan.options.batch,
        local=dict(local) or None,
        reads={model: plan.contexts[model].model_dump() for model in used if model in plan.contexts} or None,
        at_most=job.entry.partial,
    )


class _Discard:
    """A sink that keeps nothing."""

    def judged(self, *_: object) -> None: ...

    prepared = failed = judged


class Sent:
    """What a run would have sent so far: a call or an input of a local model that is stored or under way counts once,
    and prompts that begin as an earlier one are cheaper where the provider caches."""

    def __init__(
        self,
        table: Prices,
        *,
        batched: bool = False,
        calls: CallStore | None = None,
        results: Container[bytes] = (),
    ) -> None:
        self.prices = table
        self.stored = CallStore() if calls is None else calls
        self._batched = batched
        self._stored_results = results
        self._calls: set[str] = set()
        self._inputs: set[bytes] = set()
        self._prefixes: dict[str, set[int]] = {}

    def call(self, model: str, request: Request, reply: str, tally: Usage) -> None:
        """Count a call in `tally`, unless it was counted before."""
        if request.key in self._calls:
            return
        self._calls.add(request.key)
        tokens_in, tokens_out = tokens(request.prompt), tokens(reply)
        price = self.prices.of(model, batched=self._batched)
        # How many characters begin an earlier prompt to the same model, in whole chunks.
        prefixes, prompt = self._prefixes.setdefault(model, set()), request.prompt
        known, mark, same = 0, 0, True
        for end in range(CHUNK, len(prompt) + 1, CHUNK):
            mark = hash((mark, prompt[end - CHUNK : end]))
            same = same and mark in prefixes
            known = end if same else known
            prefixes.add(mark)
        shared = round(tokens_in * known / max(1, len(prompt)))
        tally += Usage(
            calls=1,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            tokens_cached=shared if shared >= CACHEABLE else 0,
            cost=0.0 if price is None else price.cost(tokens_in, tokens_out),
        )

    def counting(self, model: str, tally: Counter[str]) -> Count:
        """What notes requests to a local model (task and key, as they are stored) in `tally[model]`."""

        def count(task: str, request: str) -> None:
            key = result_key(model, task, request)
            if key not in self._inputs:
                self._inputs.add(key)
                tally[model] += key not in self._stored_results

        return count


def dry(model: str, tally: Usage, sent: Sent | None = None, settings: Settings | None = None) -> BoundLLM:
    """A bound model that answers from the call store; any other call is counted, and a reply of its schema is made
    up."""
    sent = sent or Sent(Prices({}))

    def missing(request: Request) -> Completion:
        text = json.dumps(example(request.schema_ or {"type": "object"}))
        # Different questions have different answers, and what is asked next with them in it is another question.
        text = text.replace(_VARIES, f"{request.key[:5]} length")
        sent.call(model, request, text, tally)
        sure = tuple(TokenLogprobs(token=token, logprob=0.0) for token in text) if request.top_logprobs else None
        return Completion(text=text, finish_reason="stop", logprobs=sure)

    return BoundLLM(Stored(model, sent.stored, missing), settings)


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
    if kind == "array" and "prefixItems" in schema:
        return [example(inner, defs) for inner in schema["prefixItems"]]
    if kind == "array":
        least, most = schema.get("minItems", 1), schema.get("maxItems", _LIST)
        inner = schema.get("items", {"type": "string"})
        number = max(least, 1 if inner.get("type") == "integer" else min(most, _LIST))
        values = [example(inner, defs) for _ in range(number)]
        # Lists of texts are read as sets by some forms: number them.
        return [f"{value} {place}" if isinstance(value, str) else value for place, value in enumerate(values, 1)]
    plain: dict[str, Any] = {"string": _WORDS, "integer": 1, "number": 1, "boolean": True}
    return plain.get(kind)


class DryNetwork:
    """A network that only counts."""

    def __init__(self, id_: str, count: Count) -> None:
        self.id = id_
        self._count = count

    async def ask(self, requests: Sequence[NetworkRequest[T]]) -> list[T]:
        for request in requests:
            if request.counted:
                self._count(type(request).__name__, request.key)
        return [request.blank for request in requests]
