"""Records and tables as data frames, and as HTML in notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any, Literal, TypeVar

from summeter.records import InstallError, Record
from summeter.tables import Table, number

T = TypeVar("T", bound=Record)

SHOWN = 10
"""Number of records that a notebook shows."""
_EMPTY: tuple[object, ...] = (None, (), [], {}, "")


def to_frame(rows: Iterable[Mapping[str, Any]], library: Literal["pandas", "polars"] = "pandas") -> Any:
    """Return the rows as a data frame of pandas or polars.

    In polars, a dictionary is JSON text, because the types of its fields can differ from row to row. Raises
    InstallError, which names the extra to install, if the library is not installed.
    """
    try:
        if library == "pandas":
            import pandas as pd

            return pd.DataFrame(list(rows))
        import polars as pl
    except ImportError as error:
        raise InstallError.missing(library, library) from error
    cells = (
        {name: json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict) else cell for name, cell in row.items()}
        for row in rows
    )
    return pl.DataFrame(list(cells), infer_schema_length=None, strict=False)


class Frames:
    """Base of results that can be converted to data frames, and that notebooks show as a table."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        raise NotImplementedError

    def table(self) -> Table:
        """Return the table that notebooks show."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame."""
        return to_frame(self.to_dicts())

    def to_polars(self) -> Any:
        """Return the rows as a polars data frame."""
        return to_frame(self.to_dicts(), "polars")

    def _repr_html_(self) -> str:
        return self.table().html()


class Records(Frames, tuple[T, ...]):
    """A tuple of records, such as judgments or scores.

    >>> from summeter.records import Judgment, Target
    >>> target = Target(document_id="d", system="aster")
    >>> judgments = Records([Judgment(target=target, aspect="fluency", judge="ann", signature="ann|v:1", value=4.0)])
    >>> judgments.to_dicts()[0]["system"], judgments[0].value
    ('aster', 4.0)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the records, or the number and the first one if there are many."""
        if len(self) <= SHOWN:
            return super().__repr__()
        return f"<{len(self):,} records: {self[0]!r}, ...>"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the records as dictionaries. The fields of the target of a judgment are its own columns."""
        return list(map(_flat, self))

    def table(self) -> Table:
        """Return a table of the first records, without empty columns."""
        rows = [_flat(record) for record in islice(self, SHOWN)]
        heads = [name for name in dict.fromkeys(chain(*rows)) if any(row.get(name) not in _EMPTY for row in rows)]
        left = f"; the first {SHOWN} are shown" if len(self) > SHOWN else ""
        note = f"{len(self):,} record{'s' * (len(self) != 1)}{left}"
        return Table.of(heads, [[_cell(row.get(name)) for name in heads] for row in rows], notes=[note])


def _flat(record: Record) -> dict[str, Any]:
    row = record.model_dump()
    return {**row.pop("target", {}), **row}


def _cell(value: object) -> str:
    if value in _EMPTY:
        return ""
    if isinstance(value, tuple | list | dict):
        return f"{len(value)} entr{'y' if len(value) == 1 else 'ies'}"
    return number(value) if isinstance(value, float) else shortened(str(value), 40)


def shortened(text: str, width: int = 80) -> str:
    """Return a text, or its beginning with an ellipsis if it is longer than `width`.

    >>> shortened("a long text", 7)
    'a long…'
    """
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
