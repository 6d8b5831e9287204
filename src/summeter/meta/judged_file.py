"""Read the votes of a judge and of people from a file of any origin.

A *wide* file has a row per item and a column for the judge and for each annotator; a *long* file has a row per vote,
with a column of raters and a column of values. The judge of a long file is one of the raters, or a further column. A
log of an evaluation tool is a wide file (see `data.logs`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter.choices import AggregationRule
from summeter.data.faults import Faults
from summeter.data.formats import file_name
from summeter.data.logs import read_log
from summeter.data.logs.table import VoteTable
from summeter.data.ratings import cell_name, cell_number, column_pairs, columns_of, is_numeric, read_columns, word_of
from summeter.meta.inputs import LARGEST
from summeter.meta.options import LISTED, CommandLine, Judges
from summeter.meta.sample import Rater, Sample, Units, are_decisions
from summeter.records import Message, Parameter, UsageError, describe, nearest
from summeter.scoring.table import Categorical
from summeter.stats.base import Floats

LABELS = "labels"
YES = frozenset(("yes", "true", "pass", "passed", "correct", "supported", "good", "faithful", "consistent", "1"))
NO = frozenset(
    ("no", "false", "fail", "failed", "incorrect", "unsupported", "bad", "unfaithful", "inconsistent", "0")
)  # fmt: skip
"""Labels that stand for 1 and for 0, if a file has no others."""

_JUDGE = re.compile(r"((llm|ai|auto|model)[ _-]?)?(judge|autorater)([ _-]?(score|label|rating|vote|verdict))?"
                    r"|(llm|prediction|pred|metric)([ _-]?(score|label|rating|vote))?")  # fmt: skip
_HUMAN = re.compile(r"(human|annotator|rater|expert|person|people|crowd|worker|coder|assessor|gold)"
                    r"([ _-]?(score|label|rating|vote|judge?ment))?s?([ _-]?([a-z]|\d+))?")  # fmt: skip
_RATERS = frozenset(("rater", "annotator", "worker", "assessor", "coder", "participant", "user"))
_VALUES = frozenset(("value", "rating", "score", "vote", "label", "judgment", "judgement"))
_WORDS = {
    "item": {"item", "example", "instance", "sample", "case", "question", "summary", "response", ""},
    "document": {"doc", "document", "article", "source", "dialogue"},
    "system": {"system", "model"},
    "text": {"summary", "text", "output", "response", "answer", "candidate", "hypothesis"},
    "domain": {"domain"},
    "position": {"position", "order", "slot"},
    "aspect": {"aspect", "criterion", "dimension", "attribute"},
}
_IDS = frozenset(("item", "example", "instance", "doc"))
"""Names of columns of ids that need not end in "id"."""
_LONGEST_ID = 100
_COLUMNS = ("item", "document", "system", "text", "rater", "value")
COLUMN = CommandLine(metavar="COLUMN")


@dataclass(frozen=True)
class JudgedItems:
    """Votes of a judge (the first rater) and of people on items.

    `lengths` are the numbers of words of the items, if they have a text. `column` returns a column of the items by
    name, and `columns` are those by which the judge's errors are compared.
    """

    sample: Sample
    columns: tuple[str, ...]
    column: Callable[[str], Categorical]
    lengths: Floats | None = None
    notes: tuple[str, ...] = ()


class FileOptions(Judges):
    """Options for reading the votes of a judge and of people from a file.

    Columns that are not given are recognised by their names.
    """

    judge: str | None = Field(
        None,
        description="Judge: a name or signature in a RUN, a column or a rater of a FILE. Default: all, or recognised.",
    )
    human: Annotated[Sequence[str], LISTED, CommandLine(metavar="COL,...")] = Field(
        (), description="Columns of people's votes in a FILE, or raters in a long FILE. Default: recognised by name."
    )
    item: Annotated[str | None, COLUMN] = Field(
        None, description="Column of items in a FILE. Default: each row is one."
    )
    document: Annotated[str | None, COLUMN] = Field(
        None, description="Column of documents, which are resampled. Default: the items."
    )
    system: Annotated[str | None, COLUMN] = Field(None, description="Column of systems in a FILE.")
    text: Annotated[str | None, COLUMN] = Field(
        None, description="Column of judged texts in a FILE, for the length baseline."
    )
    rater: Annotated[str | None, COLUMN] = Field(
        None, description="Column of raters in a FILE with a row per vote, or in --ratings."
    )
    value: Annotated[str | None, COLUMN] = Field(None, description="Column of votes in a FILE with a row per vote.")
    scale: Annotated[str | None, CommandLine(metavar="1..5|labels")] = Field(
        None, description="Lowest and highest vote, as 1..5, or labels. Default: numbers if most votes are numbers."
    )
    positive: Annotated[str | None, CommandLine(metavar="LABEL")] = Field(
        None, description="Label in a FILE that counts as 1; all others count as 0."
    )
    reading: Annotated[Mapping[str, str | None] | None, CommandLine(python_only=True)] = Field(
        None, description="The `format`, `delimiter`, `encoding`, `ratings` and `on` of a FILE. Default: detected."
    )

    @property
    def bounds(self) -> tuple[float, ...]:
        """Lowest and highest vote, or an empty tuple."""
        if self.scale in (None, LABELS):
            return ()
        low, dots, high = (self.scale or "").partition("..")
        try:
            ends = float(low), float(high)
        except ValueError:
            ends = (1.0, 0.0)
        if not dots or not ends[0] < ends[1]:
            raise UsageError(
                Parameter("scale", str(self.scale)), " is not a scale; give LOW..HIGH, such as 1..5, or labels"
            )
        return ends


def read_judged(source: Any, given: FileOptions) -> Iterator[JudgedItems]:
    """Yield the judged items of each selected aspect in a file, or in rows in memory.

    Raises InputError, which names line and column, for a vote that is not on the scale, and UsageError if a column is
    absent or ambiguous.
    """
    faults = Faults(file_name(source) if isinstance(source, str | Path) else "rows")
    how = dict(given.reading or {})
    named, ratings, on = (how.pop(name, None) for name in ("format", "ratings", "on"))
    log = read_log(Path(source), named, how, faults) if isinstance(source, str | Path) else None
    announced: list[str] = []
    if log is None:
        cells, lines = read_columns(source, faults, named, **how)
    else:
        cells, lines = columns_of(log[1].rows.values()), log[1].lines
        faults.stop()
        given = _roles_in(log[1], given)
        text = f"{faults.file} was read as {log[0].name}: {len(lines):,} items"
        announced.append(f"{text}; judges: {', '.join(log[1].judges)}; people: {', '.join(log[1].people) or 'none'}")
    if not lines and not faults.count:
        faults.fail(None, None, "contains no rows; give one row per item or per vote")
    faults.stop()
    if ratings is not None:
        given, note = _with_ratings(faults.of(file_name(ratings)), cells, given, ratings, on)
        announced.append(note)
    votes = _VoteFile(faults, cells, lines, given)
    if votes.aspect is None:
        yield votes.items(None, announced)
        return
    found = [name for name in dict.fromkeys(map(cell_name, cells[votes.aspect])) if name is not None]
    for name in given.gold_aspects:
        if name not in found:
            raise UsageError(Parameter("aspect"), f": {faults.file} has no {name!r}{nearest(name, found)}")
    for aspect in found:
        if not given.aspects or aspect in given.gold_aspects:
            yield votes.items(aspect, announced)


def _roles_in(log: VoteTable, given: FileOptions) -> FileOptions:
    """Return the roles of the columns of a log: its only judge, or the only one whose score people gave too."""
    judge = given.judge
    if judge is None:
        rated = [name for name in log.judges if name in log.people.values()]
        found = log.judges if len(log.judges) == 1 else rated
        if len(found) != 1:
            several = f"the log has several judges: {', '.join(log.judges)}" if log.judges else "the log has no judge"
            raise UsageError(f"{several}; give ", Parameter("judge", (*log.judges, "COLUMN")[0]))
        judge = found[0]
    scores = {judge} & {*log.people.values()} or {*log.people.values()}
    people = tuple(name for name, score in log.people.items() if score in scores) if len(scores) == 1 else ()
    roles = {"item": "item", "document": "document", "system": "system", "text": "output"}
    known = {role: getattr(given, role) or (name if name in log.roles else None) for role, name in roles.items()}
    return given.model_copy(update={"judge": judge, "human": given.human or people, **known})


def _with_ratings(
    faults: Faults, cells: dict[str, list[Any]], given: FileOptions, ratings: str, on: str | None
) -> tuple[FileOptions, str]:
    """Add the votes in a second file to `cells` as a column per rater; return the roles and a note.

    The file has a row per vote, with a column of raters, or a row per item and a column per rater.
    """
    columns, lines = read_columns(ratings, faults)
    faults.stop()
    item = given.item or ("item" if "item" in cells else None)
    usual = ",".join(name for name in (item, given.system) if name in columns and name is not None)
    key = column_pairs(on or usual, "on") if on or usual else {}
    for ours, theirs in key.items():
        for name, known, file in ((ours, cells, "the FILE"), (theirs, columns, faults.file)):
            if name not in known:
                text = f": {file} has no column {name!r}{nearest(name, known)}; it has: {', '.join(known)}"
                raise UsageError(Parameter("on"), text)
    if not key:
        has = f"; the columns are: {', '.join(columns)}"
        raise UsageError(f"{faults.file}: no column identifies an item; give ", Parameter("on", "COLUMN=COLUMN"), has)
    rows: dict[Any, list[int]] = {}
    for row, names in enumerate(zip(*(map(cell_name, cells[name]) for name in key), strict=True)):
        rows.setdefault(names, []).append(row)
    others = [name for name in columns if name not in key.values()]
    rater = given.rater or next((name for name in others if word_of(name) in _RATERS), None)
    if rater is None:
        values = [name for name in others if _HUMAN.fullmatch(name.casefold())] or others
    else:
        values = [given.value] if given.value else [name for name in others if word_of(name) in _VALUES]
    if not values or not {*values, rater or values[0]} <= {*others} or (rater is not None and len(values) > 1):
        has = f"; the columns are: {', '.join(columns)}"
        asked = Parameter("rater", "COLUMN"), " and ", Parameter("value", "COLUMN")
        raise UsageError(f"{faults.file}: name the columns of raters and votes with ", *asked, has)
    people: dict[str, list[Any]] = {}
    unmatched = 0
    keys = zip(*(map(cell_name, columns[name]) for name in key.values()), strict=True)
    for number, names in enumerate(keys):
        found = rows.get(names, [])
        unmatched += not found
        if len(found) > 1:
            faults.add(lines[number], ",".join(key.values()), f"belongs to {len(found)} rows; join on more columns")
        for value in values:
            who = value if rater is None else cell_name(columns[rater][number])
            vote = columns[value][number]
            if not found or vote is None:
                continue
            if who is None:
                faults.add(lines[number], rater, "is empty; give each vote the name of its rater")
                continue
            votes = people.setdefault(
                f"{who} (ratings)" if who in cells else who, [None] * len(next(iter(cells.values())))
            )
            if votes[found[0]] is not None:
                faults.add(lines[number], value, f"is a second vote of {who!r} on this item")
            votes[found[0]] = vote
    if unmatched == len(lines):
        faults.fail(None, ",".join(key.values()), Message("matches no item; name others with ", Parameter("on")))
    faults.stop()
    cells.update(people)
    note = f"people in {faults.file}: {', '.join(people)}; {unmatched:,} of {len(lines):,} rows match no item"
    update = {"human": given.human or tuple(people), "rater": None, "value": None}
    return given.model_copy(update=update), note


class _VoteFile:
    """The columns of a file and the lines of its rows, with the roles of the columns."""

    def __init__(
        self, faults: Faults, cells: Mapping[str, Sequence[Any]], lines: Sequence[int], given: FileOptions
    ) -> None:
        self.faults, self.file, self.cells, self.lines, self.given = faults, faults.file, cells, lines, given
        self.announced: list[str] = []
        self.used = {*given.human, *filter(None, (getattr(given, name) for name in ("judge", *_COLUMNS)))}
        for name in _COLUMNS:
            if (column := getattr(given, name)) is not None and column not in cells:
                raise self._absent(name, column)
        ids = [name for name in cells if self._is_id(name)]
        keys = [name for name in ids if name.casefold().endswith("id") or name.casefold() in _IDS]
        self.item = given.item or self._only("item", self._words("item", keys))
        self.document = given.document or self._only("document", self._words("document", keys))
        self.system = given.system or self._only("system", self._words("system", ids))
        texts = [name for name in self._words("text", list(cells)) if any(" " in str(cell) for cell in cells[name])]
        self.text = given.text or self._only("text", texts, lone=True)
        self.domain, self.position, self.aspect = (
            self._only(name, self._words(name, ids), lone=True) for name in ("domain", "position", "aspect")
        )
        self.rater, self.value = given.rater, given.value
        if self.rater is None and not {*given.human} & {*cells}:
            raters = [name for name in ids if word_of(name) in _RATERS and not is_numeric(cells[name])]
            values = [name for name in cells if word_of(name) in _VALUES and name not in self.used]
            if len(raters) == 1 and (self.value is not None or len(values) == 1):
                self.rater = self._only("rater", raters)
        if self.rater is not None and self.value is None:
            values = [name for name in cells if word_of(name) in _VALUES and name not in {*self.used, self.rater}]
            self.value = self._only("value", values, needed=True)
        if self.rater is None and self.value is not None:
            raise UsageError(Parameter("value"), " needs the column of raters; give ", Parameter("rater", "COLUMN"))
        self.raters = [] if self.rater is None else list(dict.fromkeys(filter(None, map(cell_name, cells[self.rater]))))
        self.judge = self._judge(given.judge)
        self.human = tuple(given.human) or self._people()
        known = list(cells) if self.rater is None else self.raters
        for name in self.human:
            if name not in known:
                raise self._absent("human", name, known, "column" if self.rater is None else f"{self.rater}")
        if self.judge in self.human:
            raise UsageError(f"{self.judge!r} is both ", Parameter("judge"), " and ", Parameter("human"))
        if self.rater is not None and self.item is None and self.document is None:
            self._only("item", [], needed=True)

    def _fault(self, row: int, column: str, text: str | Message) -> None:
        self.faults.add(self.lines[row], column, text)

    def _judge(self, judge: str | None) -> str:
        if judge is not None:
            if judge not in self.cells and judge not in self.raters:
                known = [*self.cells, *self.raters[:20]]
                raise self._absent("judge", judge, known, "column" if self.rater is None else "column or rater")
            return judge
        if self.rater is not None and (found := [name for name in self.raters if _JUDGE.fullmatch(name.casefold())]):
            return str(self._only("judge", found, needed=True))
        names = [name for name in self.cells if _JUDGE.fullmatch(name.casefold()) and name not in self.used]
        return str(self._only("judge", names, needed=True))

    def _people(self) -> tuple[str, ...]:
        if self.rater is not None:
            return tuple(name for name in self.raters if name != self.judge)
        roles = {*self.used, self.judge, self.item, self.document, self.system, self.text}
        named = [name for name in self.cells if _HUMAN.fullmatch(name.casefold()) and name not in roles]
        if not named:
            raise self._ask("human", "no column is recognised as people's votes")
        self.announced += [f"{name} = human" for name in named]
        return tuple(named)

    def _is_id(self, name: str) -> bool:
        return name not in self.used and all(
            not isinstance(cell, str) or len(cell) <= _LONGEST_ID for cell in self.cells[name]
        )

    def _words(self, name: str, columns: Sequence[str]) -> list[str]:
        return [column for column in columns if word_of(column) in _WORDS[name] and column not in self.used]

    def _only(self, name: str, found: Sequence[str], *, needed: bool = False, lone: bool = False) -> str | None:
        """Return the only column found for a role, and announce it.

        Raises UsageError if there are several, or if there is none but one is `needed`. With `lone`, several columns
        are as good as none.
        """
        if len(found) == 1:
            self.announced.append(f"{found[0]} = {name}")
            self.used.add(found[0])
            return found[0]
        if needed or (len(found) > 1 and not lone):
            several = f"several columns may be the {name}: {', '.join(found)}" if found else f"no column is the {name}"
            raise self._ask(name, several, found[0] if found else "COLUMN")
        return None

    def _ask(self, name: str, why: str, example: str = "COLUMN") -> UsageError:
        has = f"; the columns are: {', '.join(self.cells)}"
        return UsageError(f"{self.file}: {why}; give ", Parameter(name, example), has)

    def _absent(self, name: str, column: str, known: Sequence[str] | None = None, what: str = "column") -> UsageError:
        known = list(self.cells) if known is None else known
        text = f": {self.file} has no {what} {column!r}{nearest(column, known)}; it has: {', '.join(known)}"
        return UsageError(Parameter(name), text)

    def items(self, aspect: str | None, announced: Sequence[str]) -> JudgedItems:
        """Return the items of an aspect (None if the file has no column of aspects)."""
        cells, who = self.cells, (self.judge, *self.human)
        raters = {name: number for number, name in enumerate(who)}

        def voters(row: int) -> Iterator[tuple[str, int]]:
            """Yield the column and the number of each rater with a vote in a row."""
            if self.rater is None or self.value is None:
                yield from raters.items()
                return
            name = cell_name(cells[self.rater][row])
            if name is None:
                self._fault(row, self.rater, "is empty; give each vote the name of its rater")
            elif name in raters:
                yield self.value, raters[name]
            if self.judge not in self.raters:
                yield self.judge, 0

        key = [column for column in (self.item or self.document, self.system) if column is not None]
        first: dict[Any, int] = {}
        votes: dict[tuple[int, int], tuple[int, str]] = {}
        of_row: list[int] = []
        for row in range(len(self.lines)):
            if self.aspect is not None and cell_name(cells[self.aspect][row]) != aspect:
                continue
            names = tuple(cell_name(cells[column][row]) for column in key)
            if key and names[0] is None:
                self._fault(row, key[0], "is empty; give each row the name of its item")
                continue
            if self.document is not None and cells[self.document][row] is None:
                self._fault(row, self.document, "is empty; give each row the name of its document")
                continue
            if self.item is None and self.rater is None:
                names = (*names, str(row))  # each row of a wide file is an item
            item = first.setdefault(names, len(first))
            if item == len(of_row):
                of_row.append(row)
            for column, rater in voters(row):
                cell, earlier = cells[column][row], votes.get((item, rater))
                if cell is None:
                    continue
                if earlier is None:
                    votes[item, rater] = (row, column)
                # The column of the judge repeats its vote in each row of an item.
                elif column != self.judge or self.rater is None or cell != cells[column][earlier[0]]:
                    place = f"the first is in line {self.lines[earlier[0]]}"
                    self._fault(row, column, f"is a second vote of {who[rater]!r} on this item; {place}")
        self.faults.stop()

        def names_in(column: str) -> Categorical:
            return Categorical.of([cell_name(cells[column][row]) for row in of_row])

        def column_of(name: str) -> Categorical:
            column = columns.get(name, name)
            if column not in cells:
                raise UsageError(Parameter("by"), f": {self.file} has no column {name!r}{nearest(name, cells)}")
            return names_in(column)

        roles = {"system": self.system, "domain": self.domain, "position": self.position}
        columns = {name: column for name, column in roles.items() if column is not None}
        values, labels, notes = self._values(votes, (len(raters), len(first)))
        by_document, size = self.document or self.item, len(of_row)
        documents = Categorical.of(map(str, range(size))) if by_document is None else names_in(by_document)
        systems = Categorical.same(None, size) if self.system is None else names_in(self.system)
        source = f"file:{Path(self.file).name}|v:1"
        judges = [Rater(name, f"{name}|{source}", None, aspect or "") for name in raters]
        sample = Sample.of_values(Units.of_summaries(documents, systems), judges, values)
        rule = AggregationRule.MAJORITY if labels or are_decisions(values) else AggregationRule.MEAN
        sample = replace(sample, rule=rule, names=labels, scale=self.given.bounds, source="file")
        lengths = None
        if self.text is not None:
            lengths = np.array([float(len(str(cells[self.text][row] or "").split())) for row in of_row])
        if self.announced:
            notes = [f"recognised columns: {', '.join(dict.fromkeys(self.announced))}", *notes]
        return JudgedItems(sample, tuple(columns), column_of, lengths, (*announced, *notes))

    def _values(
        self, votes: Mapping[tuple[int, int], tuple[int, str]], shape: tuple[int, int]
    ) -> tuple[Floats, tuple[str, ...], list[str]]:
        """Return the votes (raters x items), the names of the labels (empty for numbers and 0/1), and notes."""
        given, positive = [], self.given.positive
        for row, column in votes.values():
            cell = self.cells[column][row]
            if isinstance(cell, list | dict):
                self._fault(row, column, f"is {describe(cell)}; give a number or a label")
            given.append(_label(cell))
        self.faults.stop()
        known = list(dict.fromkeys(given))
        ones, notes = set[str](), list[str]()
        words = {text for text in known if not _is_number(text)}
        if positive is not None:
            if positive not in known:
                shown = f"{nearest(positive, known)}; votes are: {', '.join(known[:10])}"
                raise UsageError(Parameter("positive"), f": no vote is {positive!r}{shown}")
            ones, words = {positive}, {*words, *(known if positive not in words else ())}
        elif words and {text.casefold() for text in words} <= YES | NO:
            ones = {text for text in words if text.casefold() in YES}
            notes.append(f"1 stands for {', '.join(sorted(ones)) or 'no vote'}")
        if ones or notes:
            given = [str(int(text in ones)) if text in words else text for text in given]
        values = np.full(shape, np.nan)
        if self.given.scale == LABELS or not is_numeric(given):
            names = tuple(sorted({*given}))
            if len(names) > max(20, len(given) // 2):
                columns = ", ".join(dict.fromkeys(column for _, column in votes.values()))
                raise UsageError(f"{self.file}: too many different texts to be votes in {columns}")
            for (item, rater), text in zip(votes, given, strict=True):
                values[rater, item] = names.index(text)
            return values, () if set(names) == {"0", "1"} else names, notes
        low, high = self.given.bounds or (-LARGEST, LARGEST)
        for ((item, rater), (row, column)), text in zip(votes.items(), given, strict=True):
            try:
                value = cell_number(text)
            except ValueError as error:
                how = Message(f"{error}, or name the scale with ", Parameter("scale", LABELS))
                self._fault(row, column, how)
                continue
            if value is not None and not low <= value <= high:
                self._fault(row, column, f"is {value:g}, which is not on the scale {low:g}..{high:g}")
            values[rater, item] = np.nan if value is None else value
        self.faults.stop()
        return values, (), notes


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _label(cell: Any) -> str:
    """Return a vote as a label: "1" for 1, 1.0 and "1.0", "true" for True.

    >>> _label(" 1.0"), _label(2), _label(True), _label("Good ")
    ('1', '2', 'true', 'Good')
    """
    if isinstance(cell, bool):
        return str(cell).lower()
    text = str(cell).strip()
    return repr(float(text)).removesuffix(".0") if _is_number(text) else text
