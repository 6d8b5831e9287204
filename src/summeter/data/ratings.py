"""Join human ratings in a second file with the summaries of a dataset.

A *long* file has one row per rating, with columns for the summary, the rater, the aspect and the value. A *wide* file
has one row per summary, or per summary and rater, and one column per aspect, or one per rater of a single aspect. The
key is any set of columns that identifies a summary. A rating becomes the same judgment as a rating in a `human` block.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from summeter.data.faults import Faults
from summeter.data.formats import FORMATS, Row, file_name, format_to_read, read_rows
from summeter.data.frames import rows_in
from summeter.data.human import PEOPLE, number_of
from summeter.data.human_judgments import SIGNATURES, score_judgments
from summeter.records import Document, Judgment, Message, Parameter, Summary, Target, UsageError, describe, nearest
from summeter.tables import Table

Ratings = Any
"""The path of a file, or rows in memory (see `data.frames`)."""
Names = str | Sequence[str] | Mapping[str, str]
"""Columns as `"a,b"`, as a list, or as a mapping. In a string, `a=b` stands for `{"a": "b"}`."""

FIELDS = ("doc_id", "system", "category", "domain", "split")
"""Fields of the data that can be part of a key; the kept columns of the data can too."""
LISTED = 3
"""Maximum number of unmatched rows and of unrated summaries that a report describes."""

# Names of columns in lower case, without signs and without "id" or "name" at the end
_RATER = {"rater", "annotator", "worker", "judge", "evaluator", "assessor", "coder", "participant", "user"}
_ASPECT = {"aspect", "criterion", "dimension", "metric", "question", "attribute"}
_VALUE = {"value", "rating", "score", "vote", "answer", "label", "judgment", "judgement", "response"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
# Columns whose names say that they are aspects, and not raters
_ASPECT_NAME = re.compile(
    "accura|clar|coher|complet|concis|consist|correct|cover|engag|error|fact|faith|fluen|focus|gramm|ground|halluc|help"
    "|inform|label|length|natural|overall|point|precis|q[0-9]|quality|rating|readab|recall|relev|safe|score|struct"
    "|style|tone|useful",
    re.IGNORECASE,
)
# Columns whose numbers are no ratings: ids, and the index of a table
_NO_RATING = re.compile(r"|Unnamed: \d+|(?i:index|id|.+[_ -]id)|.+[a-z](Id|ID)")

_Columns = Mapping[str, Sequence[Any]]
_Key = tuple[str | None, ...]
_Layout = Literal["long", "wide"]
_Cell = tuple[int, str, str, Any]
"""The number of a row, an aspect, the column with the rating, and the content of the cell."""


class Summaries(Protocol):
    """The methods of a `Dataset` with which ratings are joined."""

    def systems_by_document(self) -> Mapping[str, Sequence[str]]: ...
    def items(self) -> Iterator[tuple[Document, list[Summary]]]: ...


Scores = Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]]
"""Ratings as `{(document, system): {aspect: {rater: value}}}`, in the order of the summaries."""


class Scale(NamedTuple):
    """The observed scale of an aspect, and the numbers of raters, summaries and votes.

    `raters` is 0 if the file does not distinguish raters.
    """

    aspect: str
    low: float
    high: float
    raters: int
    summaries: int
    votes: int


class RatingsReport(NamedTuple):
    """What was read from a file of ratings. As a string, it is a table with a few lines of text.

    `key` and `rater` are columns of the file. `unmatched` is the number of `rows` that match no summary, and `unrated`
    is the number of `summaries` without a rating; the first of them are described. `unread` are the columns of the file
    that are neither part of the key nor ratings. `maybe_raters` are columns that were read as aspects, but whose names
    may be those of raters.
    """

    file: str
    layout: _Layout
    key: tuple[str, ...]
    rater: str | None
    scales: tuple[Scale, ...]
    rows: int
    unmatched: int
    first_unmatched: tuple[str, ...]
    summaries: int
    unrated: int
    first_unrated: tuple[str, ...]
    unread: tuple[str, ...]
    maybe_raters: tuple[str, ...]

    def __str__(self) -> str:
        raters = "one rating per summary" if self.rater is None else f"raters in {self.rater!r}"
        table = Table.of(
            ["aspect", "min", "max", "raters", "summaries", "votes"],
            [(*scale[:3], scale.raters or None, f"{scale.summaries:,}", f"{scale.votes:,}") for scale in self.scales],
            align="lrrrrr",
            show=[str, "{:g}".format, "{:g}".format],
        )
        lines = [f"ratings in {self.file} ({self.layout}, joined by {', '.join(self.key)}; {raters})", table.text()]
        for count, first, what in (
            (self.unmatched, self.first_unmatched, f"of {self.rows:,} rows match no summary"),
            (self.unrated, self.first_unrated, f"of {self.summaries:,} summaries have no rating"),
        ):
            if count:
                lines.append(f"{count:,} {what}: {'; '.join(first)}{'; ...' if count > len(first) else ''}")
        if self.unread:
            lines.append(f"columns that are not ratings: {', '.join(self.unread)}")
        if self.maybe_raters:
            lines.append(
                f"note: {', '.join(self.maybe_raters)} are read as aspects; if each is a rater, name them as `rater`, "
                "and what they rated as `aspects`"
            )
        return "\n".join(lines)


def rating_judgments(ratings: Scores, others: Callable[[], Iterator[Judgment]] | None) -> Iterator[Judgment]:
    """Yield other judgments, except ratings of the same summary, aspect and rater, and then the ratings."""
    for judgment in () if others is None else others():
        scores = ratings.get((judgment.target.document_id, judgment.target.system), {})
        if judgment.signature != SIGNATURES["ratings"] or judgment.judge not in scores.get(judgment.aspect, {}):
            yield judgment
    for (document, system), scores in ratings.items():
        yield from score_judgments(Target(document_id=document, system=system), scores, "ratings")


def join(
    data: Summaries,
    ratings: Ratings,
    on: Names | None,
    rater: str | None,
    aspects: Names | None,
    sources: Mapping[str, str],
) -> tuple[Scores, RatingsReport]:
    """Read ratings and join them with the summaries of `data` (see `Dataset.with_ratings`).

    `sources` maps fields of the data to the columns from which they were read.
    """
    faults = Faults(file_name(ratings) if isinstance(ratings, str | Path) else "ratings")
    columns, lines = read_columns(ratings, faults)
    if not lines and not faults.count:
        faults.fail(None, None, "contains no rows; give one row per rating or one per summary")
    faults.stop()
    key = _key(data, columns, faults.file, on, sources)
    item, targets, row_keys, summary_keys = _matches(data, columns, key, lines, faults)
    if rater is None:
        found = [name for name in columns if word_of(name) in _RATER and name not in key.values()]
        if len(found) > 1:
            what = f"{faults.file} has several columns that may be the raters: {', '.join(found)}; give "
            otherwise = ", or another, or, if each has the ratings of one rater, "
            both = Parameter("rater", f"'{','.join(found)}'"), " and ", Parameter("aspects", "ASPECT")
            raise UsageError(what, Parameter("rater", found[0]), otherwise, *both)
        rater = next(iter(found), None)
    rater_columns = (
        [] if rater is None else [rater] if rater in columns else [name.strip() for name in rater.split(",")]
    )
    for name in rater_columns:
        if name not in columns:
            raise UsageError(_no_column("rater", name, columns, faults.file))
    used = {*key.values(), *rater_columns}
    if len(rater_columns) > 1:  # a column for each rater
        rated = [] if aspects is None else list(column_pairs(aspects, "aspects"))
        if len(rated) != 1:
            what = f"{faults.file} has a column for each rater; name the one aspect that they rated with "
            raise UsageError(what, Parameter("aspects", "ASPECT"))
        layout: _Layout = "wide"
        cells: Iterator[_Cell] = (
            (row, rated[0], name, cell) for name in rater_columns for row, cell in enumerate(columns[name])
        )
        unread = tuple(name for name in columns if name not in used)
    else:
        layout, cells, unread = _layout(columns, used, aspects, faults.file)

    scores: dict[int, dict[str, dict[str, float]]] = {}
    row_of: dict[tuple[int, str, str], int] = {}
    again: list[tuple[int, str, int, str, str]] = []
    """The second ratings by a rater: row, column, row of the first rating, aspect and rater."""
    for row, aspect, column, content in cells:
        number = item[row]
        try:
            value = cell_number(content)
        except ValueError as error:
            faults.add(lines[row], column, str(error))
            continue
        if value is None or number < 0:
            continue
        if not aspect:
            faults.add(lines[row], column, "has no aspect; name the aspect of each rating")
            continue
        who = column if len(rater_columns) > 1 else PEOPLE if rater is None else cell_name(columns[rater][row])
        if who is None:
            faults.add(lines[row], rater, "is empty; give each rating the name of its rater")
            continue
        if (first := row_of.get((number, aspect, who))) is not None:
            again.append((row, column, first, aspect, who))
            continue
        row_of[number, aspect, who] = row
        scores.setdefault(number, {}).setdefault(aspect, {})[who] = value
    for row, column, first, aspect, who in again if rater is not None else again[:1]:
        by = "" if rater is None else f" by {who!r}"
        message = Message(
            f"is a second rating of the {aspect} of this summary{by}; the first is in line {lines[first]}"
        )
        if rater is None:
            more = f" ({len(again):,} such ratings). If there are several raters, name their column with "
            message = Message(message, more, Parameter("rater", "COLUMN"))
        faults.add(lines[row], column, message)
    faults.stop()
    if not scores:
        raise UsageError(f"{faults.file} has no rating of any summary: all cells that match one are empty")

    names = tuple(dict.fromkeys(aspect for _, aspect, _ in row_of))
    scales = []
    for name in names:
        votes = [of_item[name] for of_item in scores.values() if name in of_item]
        given = [value for by_rater in votes for value in by_rater.values()]
        raters = 0 if rater is None else len({who for by_rater in votes for who in by_rater})
        scales.append(Scale(name, min(given), max(given), raters, len(votes), len(given)))
    unmatched = [row for row, number in enumerate(item) if number < 0]
    unrated = [number for number in range(len(targets)) if number not in scores]
    joined = {targets[number]: scores[number] for number in sorted(scores)}
    in_file = list(key.values())
    guessed = layout == "wide" and rater is None and aspects is None and len(names) > 1
    return joined, RatingsReport(
        file=faults.file,
        layout=layout,
        key=tuple(in_file),
        rater=rater,
        scales=tuple(scales),
        rows=len(lines),
        unmatched=len(unmatched),
        first_unmatched=tuple(f"line {lines[row]} ({_shown(in_file, row_keys[row])})" for row in unmatched[:LISTED]),
        summaries=len(targets),
        unrated=len(unrated),
        first_unrated=tuple(_shown(key, summary_keys[number]) for number in unrated[:LISTED]),
        unread=unread,
        maybe_raters=names if guessed and not any(map(_ASPECT_NAME.search, names)) else (),
    )


def read_columns(
    ratings: Ratings,
    faults: Faults,
    named: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> tuple[dict[str, list[Any]], list[int]]:
    """Return the columns of a file or of rows in memory, in which None is an empty cell, and the line of each row.

    `named` is the format of the file (default: by its suffix); `delimiter` and `encoding` are as in `read_rows`.
    Content that cannot be read is added to `faults`.
    """
    rows: Iterable[Row]
    if isinstance(ratings, str | Path):
        try:
            kind = format_to_read(ratings, named, faults)
        except UsageError:
            suffixes = ", ".join(f".{name}" for name in FORMATS)
            raise UsageError(f"{ratings} is not a file of ratings; give a file with one of {suffixes}") from None
        rows = () if kind is None else read_rows(ratings, faults, kind, delimiter=delimiter, encoding=encoding)
    else:
        _, rows = rows_in(ratings)
    lines: list[int] = []

    def contents() -> Iterator[Mapping[str, Any]]:
        for row in rows:
            yield row.cells
            lines.append(row.line)

    return columns_of(contents()), lines


def columns_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of rows, in which None is an empty cell.

    >>> columns_of([{"a": 1}, {"a": " ", "b": "x"}])
    {'a': [1, None], 'b': [None, 'x']}
    """
    columns: dict[str, list[Any]] = {}
    texts: dict[str, str] = {}  # stores equal strings once
    count = 0
    for row in rows:
        for name, cell in row.items():
            cells = columns.setdefault(name, [])
            cells.extend([None] * (count - len(cells)))
            cells.append((texts.setdefault(cell, cell) if cell.strip() else None) if isinstance(cell, str) else cell)
        count += 1
    for cells in columns.values():
        cells.extend([None] * (count - len(cells)))
    return columns


def column_pairs(names: Names, parameter: str) -> dict[str, str]:
    """Parse names of columns.

    >>> column_pairs("id, system=model", "on")
    {'id': 'id', 'system': 'model'}
    """
    if isinstance(names, Mapping):
        return dict(names)
    pairs: dict[str, str] = {}
    for text in names.split(",") if isinstance(names, str) else names:
        name, _, column = (part.strip() for part in text.partition("="))
        if not name or name in pairs:
            raise UsageError(Parameter(parameter), f" needs names of columns, each once, not {names!r}")
        pairs[name] = column or name
    return pairs


def _no_column(parameter: str, column: str, columns: Iterable[str], file: str) -> Message:
    known = list(columns)
    text = f": {file} has no column {column!r}{nearest(column, known)}; it has: {', '.join(known)}"
    return Message(Parameter(parameter), text)


def _key(data: Summaries, columns: _Columns, file: str, on: Names | None, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of the file that identify a summary, by the name of the column in the data."""
    if on is None:
        usual = {
            name: column
            for name in ("doc_id", "system")
            for column in (sources.get(name, name), name)
            if column in columns
        }
        if "doc_id" not in usual:
            what = f"{file} has no column doc_id; name the columns that identify a summary with "
            raise UsageError(what, _likely(data, columns), f"; it has: {', '.join(columns)}")
        return usual
    fields = {column: field.removeprefix("extra.") for field, column in sources.items()}
    key = {fields.get(name, name): column for name, column in column_pairs(on, "on").items()}
    for column in key.values():
        if column not in columns:
            text = _no_column("on", column, columns, file)
            raise UsageError(text, "; for another name, give ", _likely(data, columns))
    known = FIELDS if key.keys() <= set(FIELDS) else tuple(_fields(data))
    for name in key:
        if name not in known:
            what = f": the data have no column {name!r}{nearest(name, known)}; they have: {', '.join(known)}"
            raise UsageError(Parameter("on"), what, "; for another name, give ", _likely(data, columns))
    return key


def _fields(data: Summaries) -> dict[str, list[str | None]]:
    """Return the columns of the data that can be part of a key, with one value per summary."""
    columns: dict[str, list[str | None]] = {name: [] for name in FIELDS}
    for number, (document, summary) in enumerate((each, one) for each, several in data.items() for one in several):
        own = {"doc_id": document.id, "system": summary.system, "category": summary.category,
               "domain": document.domain, "split": document.split}  # fmt: skip
        for name, value in {**summary.extra, **own}.items():
            cells = columns.setdefault(name, [])
            cells.extend([None] * (number - len(cells)))
            cells.append(cell_name(value))
    for cells in columns.values():
        cells.extend([None] * (len(columns["doc_id"]) - len(cells)))
    return columns


def _likely(data: Summaries, columns: _Columns) -> Parameter:
    """Return `on` with the columns of data and file that have most values in common, if they identify summaries."""
    values = {name: set(map(cell_name, cells)) - {None} for name, cells in columns.items()}
    ours = {name: set(cells) for name, cells in _fields(data).items() if len(set(cells)) == len(cells)}
    pairs = [(name, column) for name in ours for column in values if ours[name] & values[column]]
    if not pairs:
        return Parameter("on", "DATA_COLUMN=COLUMN")
    name, column = max(  # small ids equal ratings
        pairs,
        key=lambda pair: (
            pair[0] == pair[1],
            bool(_NO_RATING.fullmatch(pair[1])),
            len(ours[pair[0]] & values[pair[1]]),
        ),
    )
    return Parameter("on", f"'{name}'" if name == column else f"{name}={column}")


def _matches(
    data: Summaries, columns: _Columns, key: Mapping[str, str], lines: Sequence[int], faults: Faults
) -> tuple[list[int], list[tuple[str, str]], list[_Key], list[_Key]]:
    """Return the number of the summary of each row, or -1, and the summaries as (document, system).

    The last two lists are the keys of the rows and of the summaries. Raises UsageError if the key of a row belongs to
    several summaries, and InputError if no row matches.
    """
    targets = [(document, system) for document, systems in data.systems_by_document().items() for system in systems]
    fields: Mapping[str, Sequence[str | None]]
    if key.keys() <= {"doc_id", "system"}:  # the texts of large data need not be read
        fields = {"doc_id": [document for document, _ in targets], "system": [system for _, system in targets]}
    else:
        fields = _fields(data)
    ours = list(zip(*(fields[name] for name in key), strict=True))
    theirs = [tuple(map(cell_name, cells)) for cells in zip(*(columns[column] for column in key.values()), strict=True)]
    counts = Counter(ours)
    numbers = {value: number for number, value in enumerate(ours) if None not in value}
    for line, value in zip(lines, theirs, strict=True):
        if value in numbers and counts[value] > 1:
            what = f"{faults.file}:{line}: {_shown(key.values(), value)} belongs to {counts[value]} summaries"
            names = Parameter("on", f"'{','.join([*key, 'COLUMN'])}'")
            raise UsageError(f"{what}; add a column that distinguishes them, such as system, with ", names)
    item = [numbers.get(value, -1) for value in theirs]
    if max(item) < 0:
        first, other = (" or ".join(_shown(names, value) for value in islice(dict.fromkeys(values), LISTED))
                        for names, values in ((key, ours), (key.values(), theirs)))  # fmt: skip
        what = f"no row matches: {other}, but in the data {first}; name other columns with "
        faults.fail(None, None, Message(what, _likely(data, columns)))
        faults.stop()
    return item, targets, theirs, ours


def _shown(names: Iterable[str], key: _Key) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in zip(names, key, strict=True))


def cell_name(cell: Any) -> str | None:
    """Return a part of a key or the name of a rater as a string; numbers in tables may be floats."""
    if cell is None or isinstance(cell, str):
        return cell or None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def cell_number(cell: Any) -> float | None:
    """Return a rating, or None for an empty cell. Raises ValueError for anything but a number."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    value = float(cell) if isinstance(cell, str) and _NUMBER.fullmatch(cell.strip()) else cell
    if (number := number_of(value)) is None:
        shown = repr(cell) if isinstance(cell, str) else describe(cell)
        raise ValueError(f"is {shown}; give a number, or leave the cell empty for no vote")
    return number


def _layout(
    columns: _Columns, used: AbstractSet[str], aspects: Names | None, file: str
) -> tuple[_Layout, Iterator[_Cell], tuple[str, ...]]:
    """Return the layout, the cells with ratings, and the columns that are not used.

    The aspect of a cell is empty if the file does not name it.
    """
    others = [name for name in columns if name not in used]
    numeric = [name for name in others if not _NO_RATING.fullmatch(name) and is_numeric(columns[name])]
    wanted = {} if aspects is None else {column: name for name, column in column_pairs(aspects, "aspects").items()}
    values = [name for name in others if word_of(name) in _VALUE]
    # Numbers of questions are aspects if another column has the values.
    naming = [name for name in others if word_of(name) in _ASPECT and (values or name not in numeric)]
    if not naming or (wanted and wanted.keys() <= set(others)):
        for column in wanted:
            if column not in columns:
                raise UsageError(_no_column("aspects", column, columns, file))
        if not (named := wanted or {name: name for name in numeric}):
            how = ("; name the columns with ratings with ", Parameter("aspects", "'A,B'"))
            raise UsageError(f"{file} has no column of numbers besides {', '.join(used)}", *how)
        cells = ((row, aspect, name, cell) for name, aspect in named.items() for row, cell in enumerate(columns[name]))
        return "wide", cells, tuple(name for name in others if name not in named)
    values = values or [name for name in numeric if name not in naming]
    for found, what in ((naming, "aspect"), (values, "value")):
        if len(found) != 1:
            several = (
                f"several columns with the {what}s ({', '.join(found)})" if found else f"no column with the {what}s"
            )
            raise UsageError(f"{file} has one row per rating, but {several}; call the column to read {what!r}")
    (by,), (value,) = naming, values
    known = {str(cell): str(cell) for cell in columns[by] if cell is not None}
    for name in wanted:
        if name not in known:
            text = f": column {by!r} of {file} has no {name!r}{nearest(name, known)}; it has: {', '.join(known)}"
            raise UsageError(Parameter("aspects"), text)
    named = {"": "", **(wanted or known)}
    pairs = enumerate("" if cell is None else str(cell) for cell in columns[by])
    long_cells = ((row, named[name], value, columns[value][row]) for row, name in pairs if name in named)
    return "long", long_cells, tuple(name for name in others if name not in (by, value))


def word_of(name: str) -> str:
    return re.sub(r"(id|name)$", "", re.sub(r"[^a-z]", "", name.casefold()))


def is_numeric(cells: Sequence[Any]) -> bool:
    """Return whether at least half of the filled cells are numbers, so that the others are mistakes."""
    numbers = filled = 0
    for cell in cells:
        if cell is not None:
            filled += 1
            numbers += number_of(cell) is not None or (isinstance(cell, str) and bool(_NUMBER.fullmatch(cell.strip())))
    return filled > 0 and 2 * numbers >= filled
