"""Count the tokens and the cost of a run from its stored calls, so that killed sessions are included."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from summeter.engine.options import Options
from summeter.models.base import Request
from summeter.models.layers.budget import Budget, Replies
from summeter.models.prices import Prices, prices
from summeter.models.tokens import expected
from summeter.records import InputError, Parameter, UsageError
from summeter.runs.calls import CallStore, CallTokens
from summeter.runs.manifest import Manifest
from summeter.runs.run import CALLS, prepared_rows
from summeter.runs.totals import Work
from summeter.runs.usage import Usage, add_usage


class Spending(NamedTuple):
    """The prices, the budget, and the usage of this session by model string.

    The budget is None if spending is not limited.
    """

    prices: Prices
    budget: Budget | None
    used: dict[str, Usage]


def spending(options: Options, models: Iterable[str]) -> Spending:
    """Return the prices and the budget that the options set.

    Raises UsageError if `max_cost` is set but the price of one of the models is unknown.
    """
    table = prices(options.prices)
    if options.max_cost is not None:
        for model in models:
            if why := table.why(model):
                raise UsageError(
                    Parameter("max_cost"), " needs all prices: ", why, ", or set ", Parameter("max_tokens"), " instead"
                )
    limited = options.max_cost is not None or options.max_tokens is not None
    return Spending(table, Budget(options.max_tokens, options.max_cost) if limited else None, {})


def spent_before(stores: Iterable[CallStore], table: Prices) -> Usage:
    """Return the usage of the calls in some stores, counted by the same rules as a session.

    A call that was copied from one store to another counts once. Unreported tokens are estimated from the requests.
    Raises InputError if a request that must be read is damaged.
    """
    total, cost = Usage(), 0.0
    replies: dict[str, Replies] = defaultdict(Replies)
    calls = {
        (call.key, call.created): (call, store)
        for store in stores
        for call in chain(store.tokens(), store.tokens("turned_away"))
    }

    def estimate(key: str, store: CallStore) -> Usage:
        try:
            # pydantic's JSON parser would reject lone surrogates.
            return expected(Request.model_validate(json.loads(store.request(key))))
        except ValueError as error:
            message = f"the request stored under {key[:12]} cannot be read. Restore the file, or start a new run"
            raise InputError.at(store.path or "memory", message) from error

    for call, store in calls.values():
        tokens = replies[call.model].record(call.tokens_in, call.tokens_out, partial(estimate, call.key, store))
        total.tokens_in += tokens.tokens_in
        total.tokens_out += tokens.tokens_out
        cost += _cost(call._replace(tokens_in=tokens.tokens_in, tokens_out=tokens.tokens_out), table)
    total.cost = cost
    return total


def _cost(call: CallTokens, table: Prices) -> float:
    """Return the cost of a call in US dollars.

    Unknown prices and unreported tokens count as zero.
    """
    price = table.of(call.model, batched=call.batch is not None)
    if price is None:
        return 0.0
    return price.cost(call.tokens_in or 0, call.tokens_out or 0, call.tokens_cached or 0, call.tokens_written or 0)


def accounts(folder: Path, manifest: Manifest, work: Mapping[str, Work], session: Spending) -> Manifest:
    """Return the manifest with the usage of each model and of each judge.

    `work` holds the work of judges by signature. The retries and failures of `session` are added to those in the
    manifest.
    """
    if not (folder / CALLS).is_file():
        return manifest
    with CallStore(folder / CALLS) as store:
        calls = {call.key: call for call in store.tokens()}
        turned_away = store.tokens("turned_away")
    table, before = session.prices, manifest.usage
    entries = {judge.signature: judge for judge in manifest.judges}
    judged = {}
    for signature, judge in entries.items():
        if judge.models:
            done = work.get(signature, Work({}, 0))
            keys = dict(done.calls)
            for name in (signature, *judge.members):  # a derived judge uses the data that its members prepared
                for _, row in prepared_rows(entries[name].prepared_in(folder), []):
                    keys |= dict.fromkeys(row.get("calls", ()))
            judged[signature] = replace(_usage([calls[key] for key in keys if key in calls], table), items=done.items)
    answered: dict[str, list[CallTokens]] = defaultdict(list)
    paid: dict[str, list[CallTokens]] = defaultdict(list)
    for call in calls.values():
        answered[call.model].append(call)
    for call in (*calls.values(), *turned_away):
        paid[call.model].append(call)
    used = {}
    for model in dict.fromkeys([*before, *paid, *session.used]):
        old, now, price = before.get(model, Usage()), session.used.get(model, Usage()), table.of(model)
        used[model] = replace(
            _usage(paid[model], table),
            calls=len(answered[model]),
            batched=sum(call.batch is not None for call in answered[model]),
            retries=old.retries + now.retries,
            failures=old.failures + now.failures,
            priced=None if price is None else price.source,
        )
    return manifest.model_copy(update={"usage": used, "judge_usage": judged})


def _usage(calls: Sequence[CallTokens], table: Prices) -> Usage:
    """Return the usage of calls: their number, their tokens, and their cost in US dollars.

    If a price is unknown or a call reported no tokens, the cost is None and `reason` says why.
    """
    reasons = (table.why(model) for model in dict.fromkeys(call.model for call in calls))
    reason: str | None = next(filter(None, reasons), None)
    without_tokens = 0
    for call in calls:
        price = table.of(call.model, batched=call.batch is not None)
        reported = call.tokens_in is not None and call.tokens_out is not None
        without_tokens += not reported and price is not None and not price.free
    if reason is None and without_tokens:
        reason = f"{without_tokens} of {len(calls)} calls reported no tokens"
    return Usage(
        calls=len(calls),
        tokens_in=sum(call.tokens_in or 0 for call in calls),
        tokens_cached=sum(call.tokens_cached or 0 for call in calls),
        tokens_out=sum(call.tokens_out or 0 for call in calls),
        cost=None if reason else round(sum(_cost(call, table) for call in calls), 9),
        reason=reason,
    )


def with_usage(manifest: Manifest, used: Mapping[str, Usage], computed: Mapping[str, Usage]) -> Manifest:
    """Return the manifest with the usage of this session added.

    `used` holds the usage of local models by id, and `computed` the computing time of judges by signature.
    """
    local, compute = dict(manifest.local), dict(manifest.compute)
    add_usage(local, used)
    add_usage(compute, computed)
    return manifest.model_copy(update={"local": local, "compute": compute})
