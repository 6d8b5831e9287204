"""Whether the parts work here: for `summeter doctor`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from summeter.engine.api import evaluate
from summeter.evaluators.catalog import find, names
from summeter.records import SummeterError

_ROW = {"document": "The bridge opened in 1998. It is 14 metres wide.", "summary": "The bridge is 14 metres wide."}


def selfcheck() -> Iterator[tuple[str, str, bool]]:
    """(part, what was found, whether it works) for the catalog and the embedded evaluator."""
    for name in names():
        try:
            find(name)
        except (SummeterError, ImportError, AttributeError) as error:
            yield f"evaluator {name}", f"cannot be loaded: {error}", False
    with tempfile.TemporaryDirectory() as folder:
        run = evaluate([_ROW], ["support"], out=folder)
        counts = run.manifest.counts
    judged = counts.get("ok", 0)
    yield "embedded evaluator", f"judged {judged} of {sum(counts.values())} units", judged == sum(counts.values())
