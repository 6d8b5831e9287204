"""Dry runs: estimate the calls, tokens and cost of a run without sending anything.

A dry run is an ordinary run in which LLMs answer from the call store or with an example that fits the reply's schema,
and in which local models only count their inputs. Only the counts are kept.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, Unpack

from summeter.engine.options import OptionArgs, Options, with_options
from summeter.engine.plan import Data, Evaluators, Job, RunPlan, chosen, make_plan, work_items
from summeter.engine.progress import Progress
from summeter.engine.roles import contexts, possible_variants
from summeter.engine.runs import Run
from summeter.engine.sync import run_sync
from summeter.engine.worker import Worker, toolbox
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.layers.cache import Stored
from summeter.models.networks import NetworkRequest
from summeter.models.prices import Prices, prices
from summeter.models.resolve import provider_of
from summeter.models.structured import BoundLLM, Settings
from summeter.models.tokens import tokens
from summeter.runs.calls import CallStore
from summeter.runs.progress import DoneItems, DoneKey
from summeter.runs.results import RESULTS, ResultStore, result_key
from summeter.runs.run import BY_SOURCE, CALLS, MANIFEST
from summeter.runs.usage import Usage

CHUNK = 256  # size in characters of the chunks in which prefixes of prompts are compared
CACHEABLE = 1024  # minimum number of tokens in a prefix that providers cache
_VARIES = "usual length"
_WORDS = f"a sentence of about the {_VARIES} that gives a reason"
_LIST = 8  # number of entries in a list if the schema does not limit it

S = TypeVar("S", CallStore, ResultStore)
T = TypeVar("T")


class Estimate(NamedTuple):
    """The estimated calls and tokens of an evaluator.

    `items` is the number of items left to judge; `unit` says whether they are summaries or pairs, where a pair in two
    orders counts as two items. `tokens_shared` says how many of the `tokens_in` are in a prefix that is shared with an
    earlier prompt, which a provider's cache may serve at a lower price. `cost` is in US dollars without caching, at the
    price for batches if `batch` is True; if a price is unknown, `cost` is None and `reason` says why. `local` is the
    number of inputs by the id of the local model. `reads` holds detected context lengths by model string. `at_most`
    marks a judge to which a cascade passes items on; the number of these items is unknown, so the figures are those for
    all items. `by_source` marks the row for judging each source alone, in which `items` counts each source separately.
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
    by_source: bool = False


@with_options
def dry_run(
    data: Data,
    evaluators: Evaluators = None,
    *,
    models: Mapping[str, str] | str | None = None,
    out: str | Path | None = None,
    **options: Unpack[OptionArgs],
) -> list[Estimate]:
    """Estimate the calls that `evaluate` would send with the same arguments.

    No data are sent and nothing is written, but servers are asked for the context lengths of their models that are not
    given. Tokens are counted by `summeter.models.tokens`, and replies are assumed to be as long as an example that fits
    their schema. A call that several evaluators share is counted for the first of them; stored calls are not counted.
    """
    # No model is downloaded: a missing model is counted under the name by which it was given.
    judges = chosen(evaluators)
    plan = make_plan(data, judges, models, Options.of(**options), fetch=False)
    for model in plan.models.values():
        provider_of(model)  # raises UsageError for a malformed name; a dry run needs no key
    table = prices(plan.options.prices)
    runs = [
        None if out is None or not (folder / MANIFEST).exists() else Run(folder)
        for folder in (Path(out or ""), Path(out or "") / BY_SOURCE)
    ]
    run, inside = runs
    before = None if run is None else run.manifest
    variants = run_sync(possible_variants(judges, plan.models, plan.options, before, send=False))
    plan = plan if variants == judges else plan.with_evaluators(variants)
    plan = plan._replace(contexts=run_sync(contexts(plan.models, plan.options, before, load=False)))
    plans = [plan, plan.by_source()] if plan.options.by_source else [plan]

    def stored(kind: type[S], name: str) -> S:
        # The run of the sources has the calls of both.
        files = [each.folder / name for each in (inside, run) if each is not None and (each.folder / name).is_file()]
        return kind(files[0], readonly=True) if files else kind()

    with stored(CallStore, CALLS) as calls, stored(ResultStore, RESULTS) as results:
        sent = Sent(table, batched=plan.options.batch, calls=calls, results=results)
        return [
            run_sync(_estimate(each, job, DoneItems() if of is None else of.done(), sent))._replace(
                by_source=each is not plan
            )
            for each, of in zip(plans, runs, strict=False)
            for job in each.jobs
        ]


async def _estimate(plan: RunPlan, job: Job, done: Container[DoneKey], sent: Sent) -> Estimate:
    models = {name: job.entry.models[role] for role, name in job.roles.items()}
    llm_roles = {name: model for name, model in models.items() if name not in plan.networks}
    tally, local = Usage(), Counter[str]()
    todo = list(work_items(plan.data, [job], done, plan.options.limit))
    if job.evaluator.required_roles and not isinstance(job.evaluator, DerivedEvaluator):
        llms = {role: dry(model, tally, sent, plan.asking(role)) for role, model in llm_roles.items()}
        networks = {
            role: DryNetwork(network.id, sent, local) for role, network in plan.networks.items() if role in models
        }
        worker = Worker([job], _Discard(), toolbox(llms, networks), {}, Progress())
        await worker.run(todo, 1)
    used = dict.fromkeys(llm_roles.values())
    reason = next(filter(None, map(sent.prices.why, used)), None)
    return Estimate(
        judge=job.evaluator.name,
        signature=job.signature,
        items=sum(work_item.size for work_item in todo),
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
    """A sink that discards all results."""

    def judged(self, *_: object) -> None: ...

    prepared = failed = judged


class Sent:
    """Counts what a run would send, including the prompt prefixes that calls share.

    Each call and each input of a local model is counted once.
    """

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
        """Add a call to `tally` unless the call has already been counted."""
        if request.key in self._calls:
            return
        self._calls.add(request.key)
        tokens_in, tokens_out = tokens(request.prompt), tokens(reply)
        price = self.prices.of(model, batched=self._batched)
        # The number of characters shared with an earlier prompt to the same model, in whole chunks.
        prefixes, prompt = self._prefixes.setdefault(model, set()), request.prompt
        shared_characters, prefix, same = 0, 0, True
        for end in range(CHUNK, len(prompt) + 1, CHUNK):
            prefix = hash((prefix, prompt[end - CHUNK : end]))
            same = same and prefix in prefixes
            shared_characters = end if same else shared_characters
            prefixes.add(prefix)
        shared = round(tokens_in * shared_characters / max(1, len(prompt)))
        tally += Usage(
            calls=1,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            tokens_cached=shared if shared >= CACHEABLE else 0,
            cost=0.0 if price is None else price.cost(tokens_in, tokens_out),
        )

    def input(self, model: str, request: NetworkRequest[Any], tally: Counter[str]) -> None:
        """Add a request to a local model to `tally` unless it has already been counted or its result is stored."""
        key = result_key(model, type(request).__name__, request.key)
        if request.counted and key not in self._inputs:
            self._inputs.add(key)
            tally[model] += key not in self._stored_results


def dry(model: str, tally: Usage, sent: Sent | None = None, settings: Settings | None = None) -> BoundLLM:
    """Return a model that answers from the call store, or else with an example reply.

    Calls that are not stored are counted in `tally`.
    """
    sent = sent or Sent(Prices({}))

    def missing(request: Request) -> Completion:
        text = request.example or json.dumps(example(request.schema_ or {"type": "object"}))
        # Different calls get different replies, so that later prompts that contain them differ too.
        text = text.replace(_VARIES, f"{request.key[:5]} length")
        sent.call(model, request, text, tally)
        pieces = [] if request.top_logprobs is None else re.findall(r"\w+|\W+", text) if request.example else text
        logprobs = tuple(TokenLogprobs(token=piece, logprob=0.0) for piece in pieces)
        return Completion(text=text, finish_reason="stop", logprobs=logprobs or None)

    return BoundLLM(Stored(model, sent.stored, missing), settings)


def example(schema: dict[str, Any], defs: dict[str, Any] | None = None) -> Any:
    """Return an example value that fits a JSON schema of a form.

    `defs` are the definitions in the complete schema; by default, they are read from `schema`.

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
    type_ = schema.get("type", "object")
    if type_ == "object":
        return {name: example(inner, defs) for name, inner in schema.get("properties", {}).items()}
    if type_ == "array" and "prefixItems" in schema:
        return [example(inner, defs) for inner in schema["prefixItems"]]
    if type_ == "array":
        minimum, maximum = schema.get("minItems", 1), schema.get("maxItems", _LIST)
        inner = schema.get("items", {"type": "string"})
        length = max(minimum, 1 if inner.get("type") == "integer" else min(maximum, _LIST))
        values = [example(inner, defs) for _ in range(length)]
        # Texts are numbered, because some forms read lists as sets.
        return [f"{value} {number}" if isinstance(value, str) else value for number, value in enumerate(values, 1)]
    simple: dict[str, Any] = {"string": _WORDS, "integer": 1, "number": 1, "boolean": True}
    return simple.get(type_)


class DryNetwork:
    """A local model that only counts its requests in `tally`."""

    def __init__(self, id_: str, sent: Sent, tally: Counter[str]) -> None:
        self.id, self._sent, self._tally = id_, sent, tally

    async def ask(self, requests: Sequence[NetworkRequest[T]]) -> list[T]:
        for request in requests:
            self._sent.input(self.id, request, self._tally)
        return [request.blank for request in requests]
