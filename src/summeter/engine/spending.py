"""What a run took, in tokens and money: counted from its stored calls, so that a killed session is counted too."""

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
from summeter.models.prices import Price, Prices, prices
from summeter.models.tokens import expected
from summeter.records import InputError, Parameter, UsageError
from summeter.runs.calls import CallStore, CallTokens
from summeter.runs.manifest import Manifest
from summeter.runs.run import CALLS, prepared_rows
from summeter.runs.totals import Work
from summeter.runs.usage import Usage


class Spending(NamedTuple):
    """What the run's own models may take (`budget`, None without one) and cost; `used` counts this session's calls."""

    prices: Prices
    budget: Budget | None
    used: dict[str, Usage]


def spending(options: Options, models: Iterable[str]) -> Spending:
    """The prices and budget that `options` ask for. UsageError for a budget in money over a model without a price."""
    table = prices(options.prices)
    if options.max_cost is not None:
        for model in models:
            if why := table.why(model):
                raise UsageError(
                    Parameter("max_cost"), " cannot be kept: ", why, ", or set ", Parameter("max_tokens"), " instead"
                )
    limited = options.max_cost is not None or options.max_tokens is not None
    return Spending(table, Budget(options.max_tokens, options.max_cost) if limited else None, {})


def spent_before(store: CallStore, table: Prices) -> Usage:
    """What the stored calls of a run took, by the rule that the calls of a session are counted by. InputError for a
    damaged request that must be read for it."""
    total, cost = Usage(), 0.0
    replies: dict[str, Replies] = defaultdict(Replies)

    def thought(key: str) -> Usage:
        try:
            # Not by pydantic's reader of JSON, which takes no lone surrogate.
            return expected(Request.model_validate(json.loads(store.request(key))))
        except ValueError as error:
            damaged = f"the request stored under {key[:12]} cannot be read; restore the file, or make a new run"
            raise InputError.at(store.path or "memory", None, None, damaged) from error

    for call in chain(store.tokens(), store.tokens("turned_away")):
        tokens = replies[call.model].record(call.tokens_in, call.tokens_out, partial(thought, call.key))
        total.tokens_in += tokens.tokens_in
        total.tokens_out += tokens.tokens_out
        cost += _cost(call._replace(tokens_in=tokens.tokens_in, tokens_out=tokens.tokens_out), table)
    total.cost = cost
    return total


def _price(call: CallTokens, table: Prices) -> Price | None:
    return table.of(call.model, batched=call.batch is not None)


def _cost(call: CallTokens, table: Prices) -> float:
    """US dollars of a call; what has no price, and tokens that nobody told, add nothing."""
    price = _price(call, table)
    if price is None:
        return 0.0
    return price.cost(call.tokens_in or 0, call.tokens_out or 0, call.tokens_cached or 0, call.tokens_written or 0)


def accounts(folder: Path, manifest: Manifest, work: Mapping[str, Work], session: Spending) -> Manifest:
    """The manifest with what each model and each judge took. `asked` is by signature; `session` adds its own
    retries and failures."""
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
            own = work.get(signature, Work({}, 0))
            keys = dict(own.calls)
            for name in (signature, *judge.members):  # what its members prepared, a derived judge rests on too
                for _, row in prepared_rows(folder / "prepared" / f"{entries[name].file}.jsonl", []):
                    keys |= dict.fromkeys(row.get("calls", ()))
            taken = _taken([calls[key] for key in keys if key in calls], table)
            judged[signature] = replace(taken, items=own.items)
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
            _taken(paid[model], table),
            calls=len(answered[model]),
            batched=sum(call.batch is not None for call in answered[model]),
            retries=old.retries + now.retries,
            failures=old.failures + now.failures,
            priced=None if price is None else price.source,
        )
    return manifest.model_copy(update={"usage": used, "judge_usage": judged})


def _taken(calls: Sequence[CallTokens], table: Prices) -> Usage:
    reasons = (table.why(model) for model in dict.fromkeys(call.model for call in calls))
    reason: str | None = next(filter(None, reasons), None)
    without = [call for call in calls if call.tokens_in is None or call.tokens_out is None]
    untold = sum(price is not None and not price.free for price in (_price(call, table) for call in without))
    if reason is None and untold:
        reason = f"{untold} of {len(calls)} calls told no tokens"
    return Usage(
        calls=len(calls),
        tokens_in=sum(call.tokens_in or 0 for call in calls),
        tokens_cached=sum(call.tokens_cached or 0 for call in calls),
        tokens_out=sum(call.tokens_out or 0 for call in calls),
        cost=None if reason else round(sum(_cost(call, table) for call in calls), 9),
        reason=reason,
    )


def with_usage(manifest: Manifest, used: Mapping[str, Usage], computed: Mapping[str, Usage]) -> Manifest:
    """The manifest with what each local model did, and how long was computed for each judge, this session and those
    before it."""
    local, compute = dict(manifest.local), dict(manifest.compute)
    for model, usage in used.items():
        local[model] = local.get(model, Usage()) + usage
    for signature, usage in computed.items():
        compute[signature] = compute.get(signature, Usage()) + usage
    return manifest.model_copy(update={"local": local, "compute": compute})
