"""Which errors summaries make: the types of error by domain, system, category and length, for a benchmark card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from summeter.data.dataset import Dataset
from summeter.meta.columns import Columns
from summeter.meta.context import Context
from summeter.meta.inputs import JudgeInput, gold_input
from summeter.meta.results import Row
from summeter.records import names_no_error
from summeter.stats.base import Bools

if TYPE_CHECKING:
    from summeter.meta.card import Plan

STUDY = "card"
PEOPLE = "people"


def error_rows(
    read: JudgeInput, gold: Dataset | None, context: Context, further: Sequence[str], plan: Plan
) -> Iterator[Row]:
    """`error_share` (of all typed errors) and `error_rate` (of all judged units) of each type, by each column.

    A unit is a sentence, claim or span with a verdict on its error; people's votes count one each, so a sentence
    that two of three annotators call an entity error has two votes for it.
    """
    if not plan.aspects or "faithfulness" in plan.aspects:
        for (judge, signature, aspect), rows in read.rows.items():
            named = plan.judge is None or plan.judge in {judge, signature}
            if aspect == "faithfulness" and named:
                found = read.columns.take(rows)
                yield from _distribution(found, {"judge": judge, "signature": signature}, context, further)
        if gold is not None:
            columns, _ = gold_input(gold, plan.select.set_name)
            found = columns.take(columns.aspect.equal("faithfulness"))
            for code in np.unique(found.signature.codes):
                part = found.take(found.signature.codes == code)
                signature = found.signature.names[code] or ""
                about = {"judge": PEOPLE, "signature": f"{signature}|merge:votes"}
                yield from _distribution(part, about, context, further)


def _distribution(columns: Columns, about: dict[str, Any], context: Context, further: Sequence[str]) -> Iterator[Row]:
    units = columns.take(np.isin(columns.unit.labels(), ["sentence", "claim", "span"]))
    kinds = np.array(
        [name is not None and not names_no_error(name) for name in units.error_type.names], dtype=np.bool_
    )  # fmt: skip
    if not len(units) or not kinds.any():
        return
    names = [name for name, kind in zip(units.error_type.names, kinds, strict=True) if kind and name is not None]
    yield from _counts(units, names, about, {})
    for column in ("domain", "system", "category", *further):
        values = context.column(column, units.document, units.system)
        for code in dict.fromkeys(values.codes.tolist()):
            value = values.names[code]
            if value is not None:
                part = units.take(np.asarray(values.codes == code))
                named = column in {"domain", "system", "category"}
                group = {column: value} if named else {"details": {"by": column, "group": value}}
                yield from _counts(part, names, about, group)


def _counts(units: Columns, names: Sequence[str], about: dict[str, Any], group: dict[str, Any]) -> Iterator[Row]:
    usable: Bools = units.status.equal("ok")
    judged, missing = int(usable.sum()), int((~usable).sum())
    counts = {name: int((units.error_type.equal(name) & usable).sum()) for name in names}
    errors = sum(counts.values())
    fields = {key: value for key, value in group.items() if key != "details"}
    for name, count in counts.items():
        details = {**group.get("details", {}), "error_type": name, "count": count, "errors": errors, "units": judged}
        for statistic, whole, why in (
            ("error_share", errors, "no error of any type here"), ("error_rate", judged, "no unit has a verdict"),
        ):  # fmt: skip
            yield Row(
                study=STUDY, **about, aspect="faithfulness", level="sentence", statistic=statistic,
                value=count / whole if whole else None, status="ok" if whole else "undefined",
                reason=None if whole else why, n=whole, missing=missing, details=details, **fields,
            )  # fmt: skip
