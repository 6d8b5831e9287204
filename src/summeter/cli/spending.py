"""Estimated and actual calls, tokens and cost of a run, and the agreement of repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from summeter.cli.common import in_options, option

if TYPE_CHECKING:
    from summeter.engine.dry import Estimate
    from summeter.engine.runs import Run
    from summeter.runs.manifest import Manifest


def money(cost: float | None, reason: str | None) -> str:
    """Format a cost as `$0.0123`, or say why it is unknown.

    >>> money(0.01234, None), money(12.5, None), money(None, "no price for x/y; add it with prices=FILE")
    ('$0.0123', '$12.50', 'cost unknown: no price for x/y; add it with --prices FILE')
    """
    if cost is None:
        from summeter.models.prices import ADDED_WITH

        # The run stores the reason as a string with the Python keyword.
        return f"cost unknown: {in_options(reason).replace(str(ADDED_WITH), option(ADDED_WITH))}"
    return f"${cost:.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def dry_lines(rows: Sequence[Estimate]) -> Iterator[str]:
    """Yield one line with estimated calls, tokens and cost per evaluator, and one with sums."""
    from summeter.pages.numbers import count

    how = ", in batches at batch prices" if any(row.batch for row in rows) else ""
    yield f"Remaining work{how} (tokens are estimates; no data were sent):"
    names = _short_names([(row.judge, row.signature) for row in rows if not row.by_source])
    for row in rows:
        items = count(row.items, "pair") if row.unit == "pair" else count(row.items, "summary", "summaries")
        most = "at most " if row.at_most else ""
        wanted = [f"at most {number:,} inputs through {model}" for model, number in (row.local or {}).items()]
        if row.calls:
            calls = f"{count(row.calls, 'call')}, about {row.tokens_in:,} tokens in and {row.tokens_out:,} out"
            wanted = [calls, *wanted, money(row.cost, row.reason)]
        name = f"{names[row.signature]}, each source alone" if row.by_source else names[row.signature]
        yield f"  {name}: {most}{items}; {'; '.join(wanted) or 'no model calls'}"
    asking = [row for row in rows if row.calls]
    if len(asking) > 1:
        why = next((row.reason for row in asking if row.cost is None), None)
        cost = None if why else sum(row.cost or 0.0 for row in asking)
        tokens_in, tokens_out = sum(row.tokens_in for row in asking), sum(row.tokens_out for row in asking)
        most = "at most " if any(row.at_most for row in asking) else ""
        yield (
            f"  together: {most}{sum(row.calls for row in asking)} calls, about {tokens_in:,} tokens in and"
            f" {tokens_out:,} out; {money(cost, why)}"
        )
    for model, context in {model: context for row in rows for model, context in (row.reads or {}).items()}.items():
        yield f"  {reading(model, context['tokens'], context['said'])}"
    if shared := sum(row.tokens_shared for row in rows):
        yield f"  {shared:,} input tokens repeat the start of an earlier prompt, which providers may cache"


def reading(model: str, tokens: int | None, source: str) -> str:
    """Return the context length of a model, in words.

    >>> reading("vllm/m", 8192, "the server at http://host/v1"), reading("vllm/m", None, "it is down")[:36]
    ('context of vllm/m: 8,192 tokens (source: the server at http://host/v1)', 'context of vllm/m: unknown (it is do')
    """
    if tokens is not None:
        return f"context of {model}: {tokens:,} tokens (source: {source})"
    return f"context of {model}: unknown ({source}); set it with --context TOKENS to judge long documents in windows"


def total(manifest: Manifest) -> str:
    """Return the cost of a run and its calls in one line."""
    parts = []
    if manifest.usage:
        used = list(manifest.usage.values())
        why = next((usage.reason for usage in used if usage.cost is None), None)
        cost = None if why else sum(usage.cost or 0.0 for usage in used)
        calls, tokens_in, tokens_out = (
            sum(getattr(usage, name) for usage in used) for name in ("calls", "tokens_in", "tokens_out")
        )
        models = ", ".join(manifest.usage)
        parts.append(f"{money(cost, why)}; {calls:,} calls to {models} ({tokens_in:,} tokens in, {tokens_out:,} out)")
        if manifest.replayed_from:
            parts.append(f"recorded in {manifest.replayed_from}, nothing was sent")
    if manifest.local:
        computed = sum(usage.computed for usage in manifest.local.values())
        parts.append(f"{computed:,} inputs computed by {', '.join(manifest.local)}")
    return "; ".join(parts) or "none, no model was called"


def run_notes(run: Run) -> Iterator[str]:
    """Yield notes on models with an unknown context length and on judges whose licence forbids commercial use."""
    manifest = run.manifest
    for model, context in manifest.contexts.items():
        if context.tokens is None and model in manifest.usage:
            yield f"note: {reading(model, None, context.said)}"
    for judge in manifest.judges:
        if judge.restricted:
            yield f"note: {judge.name}: not for commercial use: {', '.join(judge.restricted)}"


def run_lines(run: Run) -> Iterator[str]:
    """Yield one line with calls, tokens and cost per model and per evaluator.

    The lines are followed by the agreement of repeats.
    """
    manifest = run.manifest
    for model, usage in manifest.usage.items():
        prices = f" at prices of {usage.priced}" if usage.priced and usage.cost else ""
        tries = f"; {usage.retries} retries, {usage.failures} failed" if usage.retries or usage.failures else ""
        batched = f", {usage.batched} of the calls in batches" if usage.batched else ""
        cached = f" ({usage.tokens_cached:,} from the provider's cache)" if usage.tokens_cached else ""
        yield (
            f"{model}: {usage.calls} calls, {usage.tokens_in:,} tokens in{cached}, {usage.tokens_out:,} out; "
            f"{money(usage.cost, usage.reason)}{prices}{batched}{tries}"
        )
    for model, used in manifest.local.items():
        cut = f"; {used.truncated:,} of them truncated to its input or output length" if used.truncated else ""
        yield f"{model}: {used.computed:,} inputs computed{cut}, {used.asked - used.computed:,} taken from the store"
    names = _short_names([(judge.name, judge.signature) for judge in manifest.judges])
    for judge in manifest.judges:
        spent = manifest.judge_usage.get(judge.signature)
        if spent is not None and spent.calls and spent.items:
            each = round((spent.tokens_in + spent.tokens_out) / spent.items)
            yield f"  {names[judge.signature]}: {each:,} tokens per item; {money(spent.cost, spent.reason)}"
    yield from _cascades(run)
    yield from _agreement(run)


def _cascades(run: Run) -> Iterator[str]:
    """Yield lines about cascades: items decided by each judge, error bound and saved work."""
    if not any(judge.name == "cascade" for judge in run.manifest.judges):
        return
    from summeter.engine.derive import cascades

    for entry, cascade, plan, judged in cascades(run):
        first, second = cascade.judge_names
        reached, items = len(plan.first), len(judged)
        band = "" if plan.band is None else f", those with a value outside {plan.band[0]:.3g} to {plan.band[1]:.3g}"
        error = ""
        if plan.bound is not None:
            sampled = f"{plan.bound.value:.3f} on {plan.bound.n:,} items that both judged"
            error = f"; error at most {plan.bound.high:.3f} ({sampled})"
        yield f"cascade: {first} decided {reached - len(plan.passed_on):,} of {reached:,} items{band}{error}"
        saved = items - len(plan.passed_on | plan.sample)
        sampled = f" ({len(plan.sample):,} of them in the sample)" if plan.sample else ""
        share = saved / items if items else 0.0
        used = run.manifest.judge_usage.get(entry.members[1])
        worth = ""
        if used is not None and used.items and used.cost:
            worth = f", about {money(used.cost / used.items * saved, None)}"
        yield f"cascade: {second} judged {items - saved:,} of {items:,}{sampled}; {share:.0%} of its work saved{worth}"
        if plan.sample:
            command = f"summeter meta estimate {run.folder} --last-judge"
            yield f"cascade: to estimate what {second} would say about all items, by system, run: {command}"


def _short_names(judges: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Map each signature to the name of the judge.

    If several judges have the same name, the signature is mapped to a longer form.
    """
    short = {}
    for judge, signature in judges:
        repeat = next((part[4:] for part in signature.split("|")[1:] if part.startswith("rep:")), None)
        short[signature] = judge if repeat is None else f"{judge} (repeat {repeat})"
    from summeter.records import shown_signatures

    times, shown = Counter(short.values()), shown_signatures(short)
    return {signature: name if times[name] == 1 else shown[signature] for signature, name in short.items()}


def _agreement(run: Run) -> Iterator[str]:
    if int(run.manifest.options.get("repeats") or 1) < 2:
        return
    from summeter.meta._reliability import self_consistency
    from summeter.records import UsageError
    from summeter.tables import with_interval

    try:
        rows = self_consistency([run]).rows
    except UsageError:
        return  # there are no repeats that can be compared; the table of scores shows why
    for row in rows:
        if row.statistic != "identical" and not row.statistic.startswith("alpha"):
            continue
        value = f"undefined: {row.reason}" if row.value is None else with_interval(row.value, row.low, row.high)
        yield f"repeats of {row.judge}, {row.aspect}: {row.statistic} {value} (n {row.n})"
