"""Results of promptfoo, written with `promptfoo eval -o results.json`.

Source: `src/types/index.ts` (version 3 of the results), and the ratings that people give in the web viewer, which are a
component of the assertion type "human" that replaces score and reason of the whole row (`ResultsTable`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from summeter.data.logs.table import Log, LogFormat, Record, VoteTable

_ERROR = 2
"""The `failureReason` of a row without a result."""


def _read(log: Log, table: VoteTable) -> None:
    records = list(log.objects(Record(None, "", log.whole), "results.results"))
    prompts = Counter(
        provider for provider, _ in {(_provider(each), each.content.get("promptIdx")) for each in records}
    )
    for record in records:
        content, system = record.content, _provider(record)
        absent = [name for name in ("testIdx", "promptIdx") if name not in content]
        for name in absent:
            log.faults.add(None, f"{record.path}.{name}", "is absent; each result has one")
        if absent or content.get("failureReason") == _ERROR:
            continue
        if prompts[system] > 1:
            system = f"{system}, prompt {content['promptIdx']}"
        text = content["response"].get("output") if isinstance(content.get("response"), Mapping) else None
        row = table.row(
            record, content["testIdx"], content["promptIdx"], item=content["testIdx"], system=system,
            output=text if isinstance(text, str) else None,
        )  # fmt: skip
        seen: Counter[str] = Counter()
        for part in log.objects(record, "gradingResult.componentResults", needed=False):
            kind = log.get(part, "assertion.type", str, needed=False)
            name = log.get(part, "assertion.metric", str, needed=False) or kind
            if name is None:
                continue  # the result of a set of assertions, whose members have their own
            if kind == "human":
                table.vote(row, part, "score", part.content.get("score"), "human")
                continue
            seen[name] += 1
            table.vote(row, part, name if seen[name] == 1 else f"{name} {seen[name]}", part.content.get("score"))
        table.described(row, log.get(record, "vars", dict, needed=False) or {})


def _provider(record: Record) -> str | None:
    provider = record.content.get("provider")
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    return None if provider is None else str(provider)


def _recognised(first: Mapping[str, object]) -> bool:
    results = first.get("results")
    return isinstance(results, Mapping) and isinstance(results.get("results"), list)


FORMAT = LogFormat("promptfoo results", _recognised, _read)
