"""An index of a run: the records of each summary, and columns to filter and sort by.

The index is a DuckDB file in the user's cache folder. It holds documents, summaries, scores and one row per judgment,
but not the judgments themselves: it has the offsets of their lines in the files of the run.
"""

from __future__ import annotations

import json
import os
import time
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from summeter._version import __version__
from summeter.data.dataset import Dataset
from summeter.data.folder import JUDGMENTS, read_card
from summeter.data.human import RAW
from summeter.meta.options import People
from summeter.meta.selection import block_rows, merged_rows
from summeter.records import Document, KeyFacts, Summary, digest
from summeter.report.items import VOTED, ItemList
from summeter.report.ranks import ColumnKey, label_of
from summeter.report.views import RunView, sources
from summeter.report.words import gloss
from summeter.runs.readers import Known, RunReader, SummaryReader, human_reader, key_fact_lists
from summeter.runs.run import RunFolder, read_manifest
from summeter.runs.totals import RunTotals
from summeter.scoring import JudgmentTable, Records, Score, ScoreTable, SystemTable
from summeter.scoring.table import Categorical, Question, Vocabulary
from summeter.stats.base import Ints

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PAGE = 20
"""Number of summaries on a page."""
MAX_WORDS = 50
"""Number of words that a search may have; each is a condition of a query."""
KEPT = 60.0
"""Number of seconds for which the index of a run that is still running is kept, whatever was judged since."""
LAYOUT = 2
"""Changes with the tables below, so that older indexes are replaced."""
_MEMORY = "400MB"
_BATCH = 5000
_TABLES = """
CREATE TABLE about (value VARCHAR);
CREATE TABLE documents (document INTEGER, id VARCHAR, domain VARCHAR, words VARCHAR, record VARCHAR);
CREATE TABLE summaries (item INTEGER, document INTEGER, system VARCHAR, words VARCHAR, record VARCHAR);
CREATE TABLE facts (list_id VARCHAR, record VARCHAR);
CREATE TABLE scores (item INTEGER, question INTEGER, model VARCHAR, value DOUBLE, n BIGINT, missing BIGINT,
    status VARCHAR, reason VARCHAR);
CREATE TABLE lines (item INTEGER, people BOOLEAN, file INTEGER, start BIGINT, length BIGINT);
CREATE TEMP TABLE judged (item INTEGER, judge INTEGER, status INTEGER, error_type INTEGER, aspect INTEGER, unit INTEGER,
    "index" BIGINT, list_id INTEGER, label DOUBLE);
CREATE TEMP TABLE votes (item INTEGER, aspect INTEGER, unit INTEGER, "index" BIGINT, list_id INTEGER, label DOUBLE);
"""
_UNIT = ("aspect", "unit", "index", "list_id")
# Strings of judgments are stored as their numbers in `about["names"]`.
_JUDGMENTS = """
CREATE TABLE judgments AS SELECT item, judge, judged.status, CASE WHEN judged.label = 0 THEN error_type END error_type,
    judged.label = 0 AND aspect = ? AS wrong, coalesce(judged.label <> votes.label, FALSE) AS differs
FROM judged LEFT JOIN votes USING (item, aspect, unit, "index", list_id) ORDER BY item
"""


class Filters(NamedTuple):
    """What a page shows: the parameters of its address.

    `document` is the id of a document. `error` is a type of error, or "any". `people` is "differ" for the summaries on
    which a judge and people disagree. A judgment must meet `judge`, `error`, `status` and `people` together. `order` is
    a title in `RunIndex.orders`. `text` has at most MAX_WORDS words.
    """

    document: str = ""
    system: str = ""
    domain: str = ""
    judge: str = ""
    error: str = ""
    status: str = ""
    people: str = ""
    text: str = ""
    order: str = ""


def cache_folder() -> Path:
    """Return the folder of the indexes: summeter/view in the XDG cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "summeter" / "view"


class RunIndex:
    """The index of a run, which is built when it is missing or older than the files of the run.

    `time` is when its files were read. The index of a run that is still running is kept for `kept` seconds: at least
    KEPT, and ten times as long as it took to build.

    Raises UsageError if the folder is not a run, and InputError if a file of the run is damaged.
    """

    def __init__(self, folder: Path, note: Callable[[str], None] = lambda _: None) -> None:
        """Open the index of a run. `note` is called with a message before the index is built."""
        import duckdb

        self.time, self._begun = datetime.now(UTC), time.monotonic()
        self.run = RunFolder(folder)
        self.stamp = stamp(folder)
        file = cache_folder() / f"{digest(str(folder.resolve()), 16)}.duckdb"
        try:
            self._open(file)
        except (duckdb.Error, ValueError):  # it is missing, damaged, or about another state of the run
            note(f"writing an index of {folder}")
            build(self.run, file, self.stamp)
            self._open(file)
        self.kept = max(KEPT, 10 * (time.monotonic() - self._begun))

    def _open(self, file: Path) -> None:
        import duckdb

        if not file.is_file():
            raise ValueError("there is no index")
        self._connection = duckdb.connect(file, read_only=True, config={"memory_limit": _MEMORY})
        self.about: dict[str, Any] = json.loads(self._rows("SELECT value FROM about")[0][0])
        if self.about["stamp"] != self.stamp:
            self.close()
            raise ValueError("the run has changed")

    def current(self) -> bool:
        """Return whether the files of the run are unchanged, or whether it is too early to build the index again."""
        folder, manifest = self.run.folder, self.run.manifest
        if manifest.status == "running" and time.monotonic() - self._begun < self.kept:
            now = read_manifest(folder)
            # A run that has ended in the meantime, or was started anew, is shown as it is now.
            if (now.status, now.created) == ("running", manifest.created):
                return True
        return self.stamp == stamp(folder)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        return self._connection.cursor().execute(sql, values).fetchall()

    @cached_property
    def _questions(self) -> list[Question]:
        return [Question(*question) for question in self.about["questions"]]

    @cached_property
    def judges(self) -> dict[str, int]:
        """The number of each judge in run.json, by its label on the page."""
        view = self._view((), {})
        names = {source.entry.signature: source.label for source in sources([view])}
        judges = self.run.manifest.judges
        return {names[judge.signature]: at for at, judge in enumerate(judges) if judge.signature in names}

    @cached_property
    def orders(self) -> dict[str, tuple[int, str]]:
        """The number of a question and ASC or DESC, by title; the first is the default."""
        view = self._view((), {})
        labels = [label_of(ColumnKey(0, *question[:3]), view, sources([view])) for question in self._questions]
        titles = [gloss(question.aspect).title for question in self._questions]
        named = [
            title if titles.count(title) == 1 else f"{title} by {label}"
            for title, label in zip(titles, labels, strict=True)
        ]
        first = sorted(enumerate(named), key=lambda one: one[0] != self.about["lead"])
        return {
            f"{end} {name}": (at, direction)
            for at, name in first
            for end, direction in (("lowest", "ASC"), ("highest", "DESC"))
        }

    def find(self, filters: Filters, start: int, count: int = PAGE) -> tuple[int, list[int]]:
        """Return how many summaries the filters select, and the numbers of those from `start`."""
        where, values = self._where(filters)
        question, direction = self.orders.get(filters.order) or next(iter(self.orders.values()), (-1, "ASC"))
        total = self._rows(f"SELECT count(*) FROM summaries {where}", values)[0][0]  # noqa: S608 - values are bound
        rows = self._rows(
            f"SELECT item FROM summaries LEFT JOIN (SELECT item, value FROM scores WHERE question = ?) USING (item) "  # noqa: S608
            f"{where} ORDER BY value {direction} NULLS LAST, item LIMIT ? OFFSET ?",
            [question, *values, count, start],
        )
        return total, [item for (item,) in rows]

    def _where(self, filters: Filters) -> tuple[str, list[object]]:
        """Return the condition on summaries as SQL, and the values of its parameters."""
        conditions: list[str] = []
        values: list[object] = []

        def add(condition: str, *needed: object) -> None:
            conditions.append(condition)
            values.extend(needed)

        if filters.document:
            add("document IN (SELECT document FROM documents WHERE id = ?)", filters.document)
        if filters.system:
            add("system = ?", filters.system)
        if filters.domain:
            add("document IN (SELECT document FROM documents WHERE domain = ?)", filters.domain)
        for word in filters.text.lower().split():
            found = "SELECT document FROM documents WHERE contains(words, ?)"
            add(f"(contains(words, ?) OR document IN ({found}))", word, word)
        judged: dict[str, object] = {}
        if filters.judge:
            judged["judge = ?"] = self.judges.get(filters.judge, -1)
        if filters.status:
            judged["status = ?"] = self._number(filters.status)
        if filters.error == "any":
            judged["wrong = ?"] = True
        elif filters.error:
            judged["error_type = ?"] = self._number(filters.error)
        if filters.people:
            judged["differs = ?"] = True
        if judged:
            found = f"SELECT item FROM judgments WHERE {' AND '.join(judged)}"  # noqa: S608 - values are bound
            add(f"item IN ({found})", *judged.values())
        return f"WHERE {' AND '.join(conditions)}" if conditions else "", values

    def _number(self, name: str) -> int:
        names: list[str] = self.about["names"]
        return names.index(name) if name in names else -1

    def items(self, numbers: Sequence[int], judge: str = "") -> ItemList:
        """Return summaries with their documents and judgments, in this order.

        The verdicts of `judge`, if it is given, are shown first.
        """
        records = self._rows("SELECT item, document, record FROM summaries WHERE item IN ?", [[*numbers]])
        summaries = {item: Summary.model_validate_json(record) for item, _, record in records}
        found = self._rows(
            "SELECT record FROM documents WHERE document IN ? ORDER BY document", [[number for _, number, _ in records]]
        )
        view = self._view([Document.model_validate_json(record) for (record,) in found], summaries)
        order = [(summaries[number].document_id, summaries[number].system) for number in numbers]
        items = ItemList([view], sources([view]), order)
        chosen = [at for at, source in enumerate(items.sources) if source.label == judge]
        vars(items)["filters"] = {
            aspect: sorted(judges, key=lambda at: at not in chosen) for aspect, judges in items.filters.items()
        }
        return items

    def _view(self, documents: Iterable[Document], summaries: Mapping[int, Summary]) -> RunView:
        """Return the view of a few summaries, whose properties are read from the index, not from the whole run."""
        keys = {item: (summary.document_id, summary.system) for item, summary in summaries.items()}
        card = read_card(self.run.folder / "data")
        data = Dataset({document.id: document for document in documents}, summaries.values(), {}, card)
        judged, people = self._known(keys, people=False), self._known(keys, people=True)
        reader, votes = RunReader(self.run, known=judged), SummaryReader()
        votes.known = people
        lists = {row.target.list_id for key in keys.values() for row in reader.read(*key)}
        facts = self._rows("SELECT list_id, record FROM facts WHERE list_id IN ?", [[*lists]])
        view = RunView(0, "", self.run)
        vars(view).update(
            data=data,
            shown=data,
            items=reader,
            judged=set(keys.values()),
            people=votes,
            scores=self._scores(keys),
            table=SystemTable([]),
            pairs=[],
            questions=frozenset(Question(*question) for question in self.about["judged"]),
            key_facts={list_id: KeyFacts.model_validate_json(record) for list_id, record in facts},
        )
        return view

    def _known(self, keys: Mapping[int, tuple[str, str]], *, people: bool) -> Known:
        sql = "SELECT item, file, start, length FROM lines WHERE item IN ? AND people = ? ORDER BY item, file, start"
        offsets: dict[tuple[str, str], array[int]] = {}
        for item, *place in self._rows(sql, [[*keys], people]):
            offsets.setdefault(keys[item], array("q")).extend(place)
        return [self.run.folder / file for file in self.about["files"][int(people)]], offsets

    def _scores(self, keys: Mapping[int, tuple[str, str]]) -> ScoreTable:
        columns = ("model", "value", "n", "missing", "status", "reason")
        sql = f"SELECT item, question, {', '.join(columns)} FROM scores WHERE item IN ? ORDER BY question"  # noqa: S608
        return ScoreTable.of(
            Score(
                doc_id=keys[item][0],
                system=keys[item][1],
                **dict(zip(("judge", "signature", "aspect"), self._questions[question][:3], strict=True)),
                **dict(zip(columns, cells, strict=True)),
            )
            for item, question, *cells in self._rows(sql, [[*keys]])
        )


def stamp(folder: Path) -> str:
    """Return a hash of the sizes and modification times of the files that an index depends on."""
    files = [folder / name for name in ("run.json", "progress.jsonl", "failures.jsonl")]
    for inside in ("judgments", "prepared", "data", f"data/{JUDGMENTS}"):
        files += sorted((folder / inside).glob("*.json*"))
    states = [(str(file.relative_to(folder)), status.st_size, status.st_mtime_ns)
              for file in files if file.is_file() and (status := file.stat())]  # fmt: skip
    return digest([LAYOUT, __version__, states], 32)


def build(run: RunFolder, file: Path, known_stamp: str) -> None:
    """Write the index of a run to `file`, which is replaced when the index is complete."""
    import duckdb

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # indexes contain the texts of runs
    new = file.with_suffix(f".{os.getpid()}.new")
    try:
        with duckdb.connect(new, config={"memory_limit": _MEMORY, "temp_directory": str(new.with_suffix(".tmp"))}) as c:
            c.execute(_TABLES)
            c.execute("SET checkpoint_threshold = '100MB'")  # each checkpoint compresses
            about = _Builder(c, run).build()
            c.execute("INSERT INTO about VALUES (?)", [json.dumps({**about, "stamp": known_stamp})])
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


class _Builder:
    """Fills the tables of an index."""

    def __init__(self, connection: DuckDBPyConnection, run: RunFolder) -> None:
        self.connection, self.run = connection, run
        self.documents: dict[str, int] = {}
        self.systems: dict[str, int] = {}
        self.domains: dict[str, str] = {}
        self.names = Vocabulary()
        judges = Vocabulary((judge.signature, at) for at, judge in enumerate(run.manifest.judges))
        self.numbers = {"signature": judges, "list_id": Vocabulary()}
        # For each summary: the numbers of its document and its system
        self.keys = np.zeros(0, np.int64)

    def _stored_documents(self, judged: Container[tuple[str, str]]) -> Iterator[Document]:
        """Yield the documents, and store them with their judged summaries."""
        keys: list[int] = []
        documents: list[list[Any]] = [[], [], [], [], []]
        summaries: list[list[Any]] = [[], [], [], [], []]
        for document, of_document in self.run.data.items():
            yield document
            number = self.documents[document.id] = len(self.documents)
            if document.domain is not None:
                self.domains[document.id] = document.domain
            words = f"{document.id} {document.text}".lower()
            _append(documents, number, document.id, document.domain, words, document.model_dump_json())
            for summary in of_document:
                if (document.id, summary.system) in judged:
                    words = f"{summary.system} {summary.text}".lower()
                    _append(summaries, len(keys), number, summary.system, words, summary.model_dump_json())
                    keys.append(number << 32 | self.systems.setdefault(summary.system, len(self.systems)))
            if len(documents[0]) >= _BATCH:
                self._insert("documents", documents)
                self._insert("summaries", summaries)
        self._insert("documents", documents)
        self._insert("summaries", summaries)
        self.keys = np.array(keys, np.int64)

    def _insert(self, table: str, columns: Sequence[Any]) -> None:
        """Append columns to a table, and clear those that are lists."""
        batch = {
            f"c{at}": np.array(column, np.int64 if isinstance(column[0], int) else object)
            if isinstance(column, list)
            else np.ascontiguousarray(column)
            for at, column in enumerate(columns)
            if len(column)
        }
        if batch:
            self.connection.register("batch", batch)
            self.connection.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608 - names of tables above
            self.connection.unregister("batch")
        for column in columns:
            if isinstance(column, list):
                column.clear()

    def _items(self, document: Categorical, system: Categorical) -> Ints:
        """Return the number of each row's summary, or -1 if the index does not have it."""
        documents = np.array([self.documents.get(name or "", -1) for name in document.names], np.int64)
        systems = np.array([self.systems.get(name or "", -1) for name in system.names], np.int64)
        rows = documents[document.codes] << 32 | systems[system.codes]
        if not len(self.keys):
            return np.full(len(rows), -1, np.int64)
        order = np.argsort(self.keys, kind="stable")
        at = np.minimum(self.keys.searchsorted(rows, sorter=order), len(self.keys) - 1)
        return np.where(self.keys[order[at]] == rows, order[at], -1).astype(np.int64)

    def build(self) -> dict[str, Any]:
        """Fill the tables, and return the values that hold for all summaries."""
        run = self.run
        readers = RunReader(run), human_reader(run)
        facts = key_fact_lists(run, self._stored_documents(set(readers[0].items())))
        self._insert("facts", [list(facts), [each.model_dump_json() for each in facts.values()]])
        for at, reader in enumerate(readers):
            offsets = reader.known[1]
            places = [np.frombuffer(offset, np.int64).reshape(-1, 3) for offset in offsets.values()]
            names = Categorical.of(document for document, _ in offsets), Categorical.of(system for _, system in offsets)
            item = np.repeat(self._items(*names), [len(place) for place in places])
            if places:
                file, start, length = np.concatenate(places).T
                kept = item >= 0
                lines = [item, np.full(len(item), bool(at)), file, start, length]
                self._insert("lines", [column[kept] for column in lines])
        votes = JudgmentTable.read(run.folder / "data" / JUDGMENTS / f"{RAW}.jsonl")
        for level, aspect in VOTED:
            if (rows := block_rows(votes, aspect, level)) is not None:
                self._judgments("votes", merged_rows(rows, aspect, People())[0], _UNIT)
        totals = RunTotals.of(self._stored(run.tables()), run.reduce, self.domains, run.seed, run.partial)
        self.connection.execute(_JUDGMENTS, [self.names["faithfulness"]])
        scores = totals.scores
        questions = scores.questions()
        of = np.zeros(len(scores), np.int64)
        for at, question in enumerate(questions):
            of[scores.question(question)] = at
        item = self._items(scores.document, scores.system)
        cells = [item, of, scores.model.labels(), scores.value, scores.n, scores.missing, scores.status.labels(),
                 scores.reason.labels()]  # fmt: skip
        self._insert("scores", [cell[item >= 0] for cell in cells])
        self.connection.execute("UPDATE scores SET value = NULL WHERE isnan(value)")
        lead = totals.systems.lead()
        means = totals.systems if len(totals.systems) or not totals.pairs else Records(totals.pairs)
        return {
            "questions": [question[:3] for question in questions],
            "lead": -1 if lead is None else questions.index(Question(*lead)),
            "judged": sorted({(key.judge, key.signature, key.aspect) for key in totals.tally}),
            "files": [[str(file.relative_to(run.folder)) for file in reader.known[0]] for reader in readers],
            "systems": list(self.systems),
            "domains": list(dict.fromkeys(self.domains.values())),
            "names": list(self.names),
            "errors": sorted({key.error_type for key in totals.tally if key.wrong and key.error_type}),
            "statuses": totals.statuses,
            "people": bool(self.connection.execute("SELECT count(*) FROM votes").fetchall()[0][0]),
            "means": means.table().html(),
            "summaries": len(self.keys),
        }

    def _stored(self, tables: Iterable[JudgmentTable]) -> Iterator[JudgmentTable]:
        """Yield the tables, and store their rows."""
        for table in tables:
            self._judgments("judged", table, ("signature", "status", "error_type", *_UNIT))
            yield table

    def _judgments(self, into: str, table: JudgmentTable, columns: Sequence[str]) -> None:
        """Store the columns of judgments and their labels; a pair is stored for both summaries."""
        for system in (table.system, table.rival):
            item = self._items(table.document, system)
            rows = table.take(item >= 0)
            cells: list[Any] = [item[item >= 0]]
            for name in columns:
                column = getattr(rows, name)
                if isinstance(column, Categorical):
                    numbers = self.numbers.get(name, self.names)
                    column = np.array([numbers[each] for each in column.names], np.int32)[column.codes]
                cells.append(column)
            self._insert(into, [*cells, rows.label])


def _append(columns: Sequence[list[Any]], *cells: object) -> None:
    for column, cell in zip(columns, cells, strict=True):
        column.append(cell)
