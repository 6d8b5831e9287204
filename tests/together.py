"""Many cases of one kind in one test: `@together` stands where `@pytest.mark.parametrize` would make a test of each.

A test costs more than what it checks: every process collects it, and one reports it. Thousands of cases that take one
path through the code are one test, which still names each case that fails.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def together(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on every case, and raise all failures at once, each with a note that says its case.

    `names` are the arguments that a case gives, with commas between. The fixtures of the test are those of all cases.
    """
    arguments, rows = names.split(", "), list(cases)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            failures: list[Exception] = []
            for row in rows:
                values = row if len(arguments) > 1 else (row,)
                try:
                    test(*args, **fixtures, **dict(zip(arguments, values, strict=True)))
                except Exception as failure:  # noqa: BLE001
                    failure.add_note(f"case: {', '.join(map(repr, values)):.500}")
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(rows)} cases failed", failures)

        signature = inspect.signature(test)
        own = [given for name, given in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        return run

    return decorate
