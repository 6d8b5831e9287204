"""Benchmarks of yes-or-no factuality read as their files are: AggreFact, LLM-AggreFact, SummaC, story-summeval.

The presets turn one row at a time; here whole files are read, since the same summary may stand in several of the data
sets a benchmark is made of, and every row of it must count as in the paper. A row becomes a summary of the document
with that text (one article in three data sets is one document), with `dataset`, `origin`, `cut`, `model` and `id`
beside it and the label, 1 = consistent, as people's `overall` faithfulness. Nothing is left out in silence: the
`Tally` counts duplicates, contradictions, empty texts, missing labels and missing scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from summeter.data.dataset import Dataset, load
from summeter.data.faults import Faults, describe, meant
from summeter.data.formats import Format, file_name, format_of, read_rows
from summeter.records import InputError, Judgment, Target, UsageError, digest

FAITHFULNESS = "faithfulness"
VAL, TEST = "val", "test"
CUTS = {"val": VAL, "valid": VAL, "validation": VAL, "dev": VAL, "test": TEST}
"""What a split may be called, and what it is called here."""
GROUPS: dict[str, tuple[str, ...]] = {
    "SOTA": ("BART", "PegasusDynamic", "T5", "Pegasus"),
    "XFORMER": ("BertSum", "BertExtAbs", "BertExt", "GPT2", "BERTS2S", "TranS2S"),
    "OLD": (
        "FastAbsRl", "TConvS2S", "PtGen", "PtGenCoverage", "Summa", "BottomUp", "Seq2Seq", "TextRank", "missing",
        "ImproveAbs", "NEUSUM", "ClosedBookDecoder", "RNES", "BanditSum", "ROUGESal", "MultiTask", "UnifiedExtAbs",
    ),
}  # fmt: skip
"""AggreFact's kinds of summarizers (Tang et al., 2023). Leads and references are in none and are not measured."""
GROUP_OF = {model: group for group, models in GROUPS.items() for model in models}


@dataclass(frozen=True)
class Layout:
    """One benchmark's files: the columns by field (any of several names), and which fields a row must have.

    `texts`: the documents stand in files of their own, found by the columns of that tuple.
    """

    name: str
    about: str
    columns: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...] = ("document", "summary", "label", "dataset")
    grouped: bool = False
    texts: tuple[str, ...] = ()


LAYOUTS: dict[str, Layout] = {
    one.name: one
    for one in (
        Layout(
            "aggrefact", "aggre_fact_final.csv or aggre_fact_sota.csv (Tang et al., 2023)",
            {"document": ("doc",), "summary": ("summary",), "label": ("label",), "dataset": ("dataset",),
             "origin": ("origin",), "model": ("model_name",), "cut": ("cut",), "id": ("id",)},
            ("document", "summary", "label", "dataset", "origin", "model", "cut"), grouped=True,
        ),
        Layout(
            "llm-aggrefact", "LLM-AggreFact's dev and test files (Tang et al., 2024)",
            {"document": ("doc",), "summary": ("claim",), "label": ("label",), "dataset": ("dataset",),
             "cut": ("cut",)},
        ),
        Layout(
            "summac",
            "the SummaC benchmark's rows, one JSON object a line (Laban et al., 2022)",
            {"document": ("document",), "summary": ("claim",), "label": ("label",), "dataset": ("dataset",),
             "origin": ("origin",), "model": ("model_name",), "cut": ("cut",),
             "id": ("id", "cnndm_id", "bbcid", "hash")},
        ),
        Layout(
            "story-summeval",
            "the long-form set of FENICE (Scire et al., 2024), with the stories in files of their own",
            {"document": ("text", "document", "story"), "summary": ("summary",), "label": ("factual", "label"),
             "source": ("source",), "id": ("text_id",), "model": ("system_id",), "cut": ("cut", "split")},
            ("summary", "label"), texts=("source", "text_id"),
        ),
    )
}  # fmt: skip


def layout_named(name: str) -> Layout:
    """The layout of that name. Raises UsageError."""
    found = LAYOUTS.get(name)
    if found is None:
        raise UsageError(f"unknown benchmark {name!r}{meant(name, LAYOUTS)}; benchmarks are: {', '.join(LAYOUTS)}")
    return found


SCORE = "_score"
"""How AggreFact's columns of other people's scores end."""
RELEASED = "released|v:1"
BESIDE = ("dataset", "origin", "model", "id", "source")
"""Columns that are kept beside a summary, with its cut."""


@dataclass
class Tally:
    """What was met in the files, counted."""

    rows: int = 0
    cuts: dict[str, int] = field(default_factory=dict)
    duplicates: int = 0
    contradictions: int = 0
    shared: int = 0
    unlabelled: int = 0
    empty: int = 0
    ungrouped: dict[str, int] = field(default_factory=dict)
    scores: dict[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The counts in words, those that are 0 left out."""
        cuts = ", ".join(f"{count} {cut}" for cut, count in sorted(self.cuts.items()))
        told = [f"{self.rows} rows ({cuts})"]
        counts = (
            (self.duplicates, "repeating another of their data set, label included; kept, as the papers count"),
            (self.contradictions, "repeating another of their data set with the other label; kept"),
            (self.shared, "with document and summary in another data set or split as well"),
            (self.unlabelled, "without a label; not measured"),
            (self.empty, "with an empty document or summary, which evaluators skip"),
        )
        told += [f"rows {what}: {count}" for count, what in counts if count]
        if self.ungrouped:
            names = ", ".join(f"{name} ({count})" for name, count in sorted(self.ungrouped.items()))
            told.append(f"rows by summarizers of no group; not measured: {names}")
        told += [f"scores of {name} missing: {count}" for name, count in self.scores.items()]
        return told


class Benchmark(NamedTuple):
    """A benchmark read: its data, the scores that came in its files (a list of judgments a judge), and the counts."""

    data: Dataset
    released: dict[str, list[Judgment]]
    tally: Tally


@dataclass(frozen=True)
class Files:
    """Where a benchmark is: (split or None, file) pairs, files of documents, columns renamed, columns of scores.

    `scores` None takes those the layout is known to bring (AggreFact's `*_score`).
    """

    files: Sequence[tuple[str | None, Path]]
    texts: Sequence[Path] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    scores: Sequence[str] | None = None


def read_benchmark(layout: str, files: Files) -> Benchmark:
    """Read a benchmark's files.

    Raises InputError with every fault by file, line and column, UsageError for an unknown layout or field.

        found = read_benchmark("aggrefact", Files([(None, Path("aggre_fact_final.csv"))]))
    """
    form = layout_named(layout)
    unknown = next((name for name in files.columns if name not in form.columns), None)
    if unknown is not None:
        raise UsageError(
            f"columns: {form.name} has no field {unknown!r}{meant(unknown, form.columns)}; "
            f"fields are: {', '.join(form.columns)}"
        )
    if not files.files:
        raise UsageError(f"no file of {form.name} is named; give {form.about}")
    texts = _documents(form, files.texts)
    gathered = _Gathered(form)
    for cut, path in files.files:
        _File(form, files, path, cut, texts).read(gathered)
    return gathered.finish()


class _Row(NamedTuple):
    document: str
    summary: str
    label: int | None
    extra: dict[str, str]
    scores: dict[str, float | None]


class _File:
    """One file of a benchmark, read row by row; faults are gathered and raised at its end."""

    def __init__(
        self, form: Layout, files: Files, path: Path, cut: str | None, texts: Mapping[tuple[str, ...], str]
    ) -> None:
        self.form, self.path, self.texts, self.asked = form, path, texts, files.scores
        self.names = {**form.columns, **{name: (column,) for name, column in files.columns.items()}}
        self.faults = Faults(file_name(path))
        if cut is not None and cut not in CUTS:
            raise UsageError(f"data: {cut!r} is no split; splits are: {', '.join(CUTS)}")
        self.cut = None if cut is None else CUTS[cut]

    def read(self, into: _Gathered) -> None:
        """Every row into `into`; raises InputError with all faults at the end of the file."""
        first = True
        for line, cells in read_rows(self.path, self.faults, _format(self.path)):
            if first:
                self._checked(cells)
                if self.faults.count:
                    break
            first = False
            row = self._row(line, cells)
            if row is not None:
                into.add(row)
        if first and not self.faults.count:
            self.faults.add(None, None, "holds no rows")
        self.faults.stop()

    def _checked(self, cells: Mapping[str, Any]) -> None:
        """By the first row: what the layout must have and has not is a fault."""
        needed = list(self.form.required)
        if self.form.texts and not self._has("document", cells):
            needed += ["source", "id"] if self.texts else ["document"]
        for name in needed:
            if not self._has(name, cells):
                self.faults.add(1, self.names[name][0], self._missing(name, cells))
        if self.cut is None and not self._has("cut", cells):
            self.faults.add(1, self.names["cut"][0], "no column says whether a row is validation or test; say which "
                            "file is which: `data: {val: FILE, test: FILE}`")  # fmt: skip
        for name in self.asked or ():
            if name not in cells:
                self.faults.add(1, name, f"there is no such column of scores{meant(name, cells)}; columns are: "
                                         f"{', '.join(map(str, cells))}")  # fmt: skip

    def _has(self, name: str, cells: Mapping[str, Any]) -> bool:
        return any(column in cells for column in self.names[name])

    def _cell(self, name: str, cells: Mapping[str, Any]) -> tuple[str, Any]:
        """The column that holds a field in this row, and what it holds; None where it is empty or absent.

        In JSON the rows of one file may differ in their keys (SummaC's do).
        """
        columns = self.names.get(name, (name,))
        column = next((one for one in columns if cells.get(one) not in (None, "")), None)
        return (columns[0], None) if column is None else (column, cells[column])

    def _missing(self, name: str, cells: Mapping[str, Any]) -> str:
        apart = "; or give the documents in files of their own with `texts`" if self.form.texts else ""
        return (
            f"is missing, and {self.form.name} has it; if another column holds it, say `columns: {{{name}: COLUMN}}`"
            f"{apart if name == 'document' else ''}; columns are: {', '.join(map(str, cells))}"
        )

    def _scores(self, cells: Mapping[str, Any]) -> Sequence[str]:
        """The columns of scores in a row: in JSON the first may lack one that others have."""
        if self.asked is not None:
            return self.asked
        return [name for name in cells if name.endswith(SCORE) and self.form.grouped]

    def _row(self, line: int, cells: Mapping[str, Any]) -> _Row | None:
        before = self.faults.count
        extra: dict[str, str] = {}
        for name in BESIDE:
            column, value = self._cell(name, cells)
            if value is not None:
                extra[name] = str(value).strip()
            elif name in self.form.required:
                self.faults.add(line, column, f"is empty, and every row of {self.form.name} has it")
        extra.setdefault("dataset", self.form.name)
        summary = self._text(line, "summary", cells)
        document, cut = self._document(line, cells, extra), self._cut(line, cells)
        label = self._label(line, *self._cell("label", cells))
        numbers = {name: self._number(line, name, cells.get(name)) for name in self._scores(cells)}
        if self.faults.count > before or document is None or summary is None or cut is None:
            return None
        return _Row(document, summary, label, {**extra, "cut": cut}, numbers)

    def _text(self, line: int, name: str, cells: Mapping[str, Any]) -> str | None:
        column = next((one for one in self.names[name] if one in cells), self.names[name][0])
        value = cells.get(column)
        if isinstance(value, str):
            return value
        self.faults.add(line, column, f"is {describe(value)}; give a text (it may be empty)")
        return None

    def _document(self, line: int, cells: Mapping[str, Any], extra: Mapping[str, str]) -> str | None:
        if not self.texts or self._has("document", cells):
            return self._text(line, "document", cells)
        key = _key([extra.get("source", ""), extra.get("id", "")])
        if key not in self.texts:
            self.faults.add(line, self.names["id"][0], f"{' '.join(filter(None, key))!r} is in none of the files of "
                                                       "`texts`; add it there, or leave the row out")  # fmt: skip
        return self.texts.get(key)

    def _cut(self, line: int, cells: Mapping[str, Any]) -> str | None:
        column, value = self._cell("cut", cells)
        if value is None:
            if self.cut is None:
                self.faults.add(line, column, "is empty; say val or test")
            return self.cut
        found = CUTS.get(str(value).strip().lower())
        if found is None:
            self.faults.add(line, column, f"holds {_short(value)}; say val or test, or leave the row out")
        elif self.cut is not None and found != self.cut:
            self.faults.add(line, column, f"holds {_short(value)}, but the file was named as that of {self.cut}")
        return found

    def _label(self, line: int, column: str, value: Any) -> int | None:
        if value in (None, ""):
            return None
        if value in (0, 1):
            return int(value)
        if isinstance(value, str) and value.strip() in ("0", "1", "0.0", "1.0"):
            return int(float(value))
        self.faults.add(line, column, f"holds {_short(value)} where {self.form.name} has 1 (consistent) or 0")
        return None

    def _number(self, line: int, column: str, value: Any) -> float | None:
        if value in (None, "") or (isinstance(value, str) and value.strip().lower() in ("nan", "none", "null")):
            return None
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            self.faults.add(line, column, f"holds {_short(value)}, which is no score; give a number, or leave it empty")
            return None
        if math.isinf(number):
            self.faults.add(line, column, "is infinite; leave it empty where there is no score")
            return None
        return None if math.isnan(number) else number


class _Gathered:
    """The rows of all files as flat rows, each a summary of its own; what is odd about them counted."""

    def __init__(self, form: Layout) -> None:
        self.form = form
        self.tally = Tally()
        self.flat: list[dict[str, Any]] = []
        self.scores: dict[str, dict[tuple[str, str], float | None]] = {}
        self._labels: dict[tuple[str, str, str, str], int | None] = {}
        self._places: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self._taken: dict[tuple[str, str], int] = {}

    def add(self, row: _Row) -> None:
        doc_id, claim = f"doc-{digest(row.document, 12)}", digest(row.summary, 8)
        self._count(row, doc_id, claim)
        system = self._system(doc_id, row.extra.get("model") or f"claim-{claim}")
        flat: dict[str, Any] = {
            "doc_id": doc_id,
            "system": system,
            "document": row.document,
            "summary": row.summary,
            **row.extra,
        }
        if group := GROUP_OF.get(row.extra.get("model", "")) if self.form.grouped else None:
            flat["category"] = group
        if row.label is not None:
            flat["human"] = {"overall": {FAITHFULNESS: row.label}}
        self.flat.append(flat)
        for name, score in row.scores.items():
            self.scores.setdefault(name.removesuffix(SCORE), {})[doc_id, system] = score

    def _count(self, row: _Row, doc_id: str, claim: str) -> None:
        tally, cut, dataset = self.tally, row.extra["cut"], row.extra["dataset"]
        tally.rows += 1
        tally.cuts[cut] = tally.cuts.get(cut, 0) + 1
        tally.unlabelled += row.label is None
        tally.empty += not (row.document.strip() and row.summary.strip())
        here, known = (doc_id, claim, dataset, cut), self._places.setdefault((doc_id, claim), set())
        if here in self._labels:
            same = self._labels[here] == row.label
            tally.duplicates, tally.contradictions = tally.duplicates + same, tally.contradictions + (not same)
        elif known:
            tally.shared += 1
        self._labels[here] = row.label
        known.add((dataset, cut))
        model = row.extra.get("model", "")
        if self.form.grouped and model not in GROUP_OF:
            tally.ungrouped[model] = tally.ungrouped.get(model, 0) + 1

    def _system(self, doc_id: str, name: str) -> str:
        """The name, with #2, #3 where the document has summaries by it already: data sets overlap."""
        made, number = name, self._taken.get((doc_id, name), 0) + 1
        # A summarizer may itself be called as a second summary by another is here.
        while number > 1 and (doc_id, made := f"{name}#{number}") in self._taken:
            number += 1
        self._taken[doc_id, name] = number
        self._taken.setdefault((doc_id, made), 1)
        return made

    def finish(self) -> Benchmark:
        data = load(self.flat).with_card(name=self.form.name)
        self.tally.scores = {
            name: len(self.flat) - sum(one is not None for one in found.values()) for name, found in self.scores.items()
        }
        released = {name: list(_judgments(name, found)) for name, found in self.scores.items()}
        return Benchmark(data, released, self.tally)


def _judgments(name: str, scores: Mapping[tuple[str, str], float | None]) -> Iterator[Judgment]:
    for (doc_id, system), score in scores.items():
        if score is not None:
            yield Judgment(
                target=Target(document_id=doc_id, system=system), aspect=FAITHFULNESS, judge=name,
                signature=f"{name}|{RELEASED}", value=score,
            )  # fmt: skip


def _format(path: Path) -> Format:
    try:
        return format_of(path)
    except UsageError:
        what = (
            "is a folder; name the files in it" if path.is_dir()
            else "ends as no format does; rename it to what it is: .csv, .tsv, .json, .jsonl or .parquet"
        )  # fmt: skip
        raise InputError.at(path, None, None, what) from None


def _short(value: Any) -> str:
    """A cell as it stands, its beginning if it is long."""
    shown = repr(value) if not isinstance(value, int) or abs(value) < 10**20 else "a number of many digits"
    return shown if len(shown) <= 80 else f"{shown[:80]}..."


def _key(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip().lower() for part in parts)


def _documents(form: Layout, files: Sequence[Path]) -> dict[tuple[str, ...], str]:
    """Texts by the columns the layout finds them by."""
    if files and not form.texts:
        raise UsageError(f"texts: {form.name} has its documents in the rows; leave `texts` out")
    found: dict[tuple[str, ...], str] = {}
    for path in files:
        faults = Faults(file_name(path))
        for line, cells in read_rows(path, faults, _format(path)):
            text = cells.get("text")
            lacking = [name for name in form.texts if cells.get(name) in (None, "")]
            if lacking or not isinstance(text, str):
                faults.add(line, lacking[0] if lacking else "text", f"is missing; each row of texts has "
                                                                    f"{', '.join(form.texts)} and text")  # fmt: skip
                continue
            key = _key([str(cells[name]) for name in form.texts])
            if found.setdefault(key, text) != text:
                faults.add(line, form.texts[-1], f"{' '.join(key)!r} is there twice with two texts; keep one")
        faults.stop()
    return found
