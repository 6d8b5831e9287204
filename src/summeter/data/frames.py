"""Read rows from objects in memory: dicts, data frames, Arrow tables and datasets of Hugging Face.

The packages of these objects are not imported; an object is recognised by its attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from summeter.data.formats import Row, plain, repeated
from summeter.records import InstallError, UsageError

ACCEPTED = (
    "a path, a list of paths, an address (hf:ORG/NAME), a list of dicts, a pandas or polars DataFrame, an Arrow table, "
    "or a Dataset of Hugging Face"
)
"""What `load` accepts, for messages."""
_AT_ONCE = 1000
"""Number of rows of a frame that are converted at the same time."""


def rows_in(data: Any) -> tuple[str, Iterator[Row]]:
    """Return the name of an object for messages, and its rows.

    Raises UsageError if the object contains no rows, or has a repeated column.
    """
    name = type(data).__name__
    if isinstance(data, Mapping):
        splits = [key for key, value in data.items() if hasattr(value, "column_names")]
        if splits:
            raise UsageError(f"the data are a {name} of several splits; give one: data[{splits[0]!r}]")
        raise UsageError("the data are a dict; give a list of dicts, one per summary")
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):  # a LazyFrame of polars
        data = data.collect()
    if hasattr(data, "iter_slices"):  # polars
        return name, _plain(name, data.iter_rows(named=True))
    if hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas
        return name, _plain(name, _pandas_rows(data))
    if hasattr(data, "column_names") and hasattr(data, "features"):  # Hugging Face
        return name, _plain(name, data.with_format(None))
    if hasattr(data, "__arrow_c_stream__"):
        return name, _plain(name, _arrow_rows(data))
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise UsageError(f"the data are {name}; give {ACCEPTED}")
    return "rows", _checked(data)


def _checked(rows: Iterable[Any]) -> Iterator[Row]:
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise UsageError(f"row {number} of the data is {type(row).__name__}, not a dict; give {ACCEPTED}")
        yield Row("rows", number, dict(row))


def _plain(name: str, rows: Iterable[Mapping[Any, Any]]) -> Iterator[Row]:
    for number, row in enumerate(rows, 1):
        yield Row(name, number, {str(column): plain(value) for column, value in row.items()}, as_text=True)


def _pandas_rows(frame: Any) -> Iterator[dict[Any, Any]]:
    """Yield the rows of a DataFrame, with None for missing values."""
    if (name := repeated(map(str, frame.columns))) is not None:
        raise UsageError(f"the {type(frame).__name__} has two columns {name!r}; rename one")
    for start in range(0, len(frame), _AT_ONCE):
        part = frame.iloc[start : start + _AT_ONCE].astype(object)
        yield from part.where(part.notna(), None).to_dict("records")


def _arrow_rows(table: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of an object with the Arrow stream interface."""
    try:
        import pyarrow as pa
    except ImportError:
        raise InstallError.missing("pyarrow", "parquet") from None
    name = type(table).__name__
    try:
        reader = pa.RecordBatchReader.from_stream(table)
        if (column := repeated(reader.schema.names)) is not None:
            raise UsageError(f"the {name} has two columns {column!r}; rename one")
        for batch in reader:
            for start in range(0, len(batch), _AT_ONCE):
                yield from batch.slice(start, _AT_ONCE).to_pylist()
    except (ValueError, OverflowError) as error:  # such as the column of a table, or a date after the year 9999
        raise UsageError(f"the {name} cannot be read: {error}; give a table of strings, numbers and lists") from error
