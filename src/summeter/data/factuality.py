"""Benchmarks of yes-or-no factuality read as their files are: AggreFact, LLM-AggreFact, SummaC, story-summeval.

Which column holds what is said once, in `presets.claims`. The presets make a dataset of a release; here its rows are
read for a protocol, since the same summary may stand in several of the data sets a benchmark is made of, and every row
of it must count as in the paper. A row becomes a summary of the document with that text (one article in three data sets
is one document), with `dataset`, `origin`, `cut`, `model` and `id` beside it and the label, 1 = consistent, as people's
`overall` faithfulness. Nothing is left out in silence: the
`Tally` counts duplicates, contradictions, empty texts, missing labels and missing scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, PlainValidator, StrictStr, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails

from summeter.data.dataset import Dataset, load
from summeter.data.faults import Faults, explained, meant, problem
from summeter.data.flat import SystemNames
from summeter.data.formats import Format, file_name, format_of, read_rows
from summeter.data.presets.base import zero_or_one
from summeter.data.presets.claims import CLAIMS, Claims, is_empty
from summeter.records import InputError, Judgment, Target, UsageError, describe, digest

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


def layout_named(name: str) -> Claims:
    """The layout of that name. Raises UsageError."""
    if name not in CLAIMS:
        raise UsageError(f"unknown benchmark {name!r}{meant(name, CLAIMS)}; benchmarks are: {', '.join(CLAIMS)}")
    return CLAIMS[name]


SCORE = "_score"
"""How AggreFact's columns of other people's scores end."""
RELEASED = "released|v:1"
METADATA = ("dataset", "origin", "model", "id", "source")
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
        lines = [f"{self.rows} rows ({cuts})"]
        counts = (
            (self.duplicates, "repeating another of their data set, label included; kept, as the papers count"),
            (self.contradictions, "repeating another of their data set with the other label; kept"),
            (self.shared, "with document and summary in another data set or split as well"),
            (self.unlabelled, "without a label; not measured"),
            (self.empty, "with an empty document or summary, which evaluators skip"),
        )
        lines += [f"rows {what}: {count}" for count, what in counts if count]
        if self.ungrouped:
            names = ", ".join(f"{name} ({count})" for name, count in sorted(self.ungrouped.items()))
            lines.append(f"rows by summarizers of no group; not measured: {names}")
        lines += [f"scores of {name} missing: {count}" for name, count in self.scores.items()]
        return lines


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

        benchmark = read_benchmark("aggrefact", Files([(None, Path("aggre_fact_final.csv"))]))
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


def _score(value: Any) -> float | None:
    if is_empty(value) or (isinstance(value, str) and value.strip().lower() in ("nan", "none", "null")):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise problem(f"holds {_short(value)}, which is no score; give a number, or leave it empty") from None
    if math.isinf(number):
        raise problem("is infinite; leave it empty where there is no score")
    return None if math.isnan(number) else number


class _Row(BaseModel):
    """One row by field. Validated with its `_File` as the context."""

    dataset: str | None
    origin: str | None
    model: str | None
    id: str | None
    source: str | None
    summary: StrictStr
    document: StrictStr
    cut: str
    label: int | None
    scores: dict[str, Annotated[float | None, PlainValidator(_score)]]

    @field_validator(*METADATA, mode="before")
    @classmethod
    def _text_or_none(cls, value: Any, info: ValidationInfo) -> str | None:
        form = _file(info).form
        if not is_empty(value):
            return str(value).strip()
        if info.field_name in form.required:
            raise problem(f"is empty, and every row of {form.name} has it")
        return None

    @field_validator("cut", mode="before")
    @classmethod
    def _split(cls, value: Any, info: ValidationInfo) -> str:
        expected = _file(info).cut
        if is_empty(value):
            if expected is None:
                raise problem("is empty; say val or test")
            return expected
        cut = CUTS.get(str(value).strip().lower())
        if cut is None:
            raise problem(f"holds {_short(value)}; say val or test, or leave the row out")
        if expected not in (None, cut):
            raise problem(f"holds {_short(value)}, but the file was named as that of {expected}")
        return cut

    @field_validator("label", mode="before")
    @classmethod
    def _binary(cls, value: Any, info: ValidationInfo) -> int | None:
        label = zero_or_one(value)
        if label is not None or is_empty(value):
            return label
        raise problem(f"holds {_short(value)} where {_file(info).form.name} has 1 (consistent) or 0")

    def metadata(self, benchmark: str) -> dict[str, str]:
        """The columns that are kept beside the summary; a row without a data set is of the benchmark's own."""
        named = {name: value for name in METADATA if (value := getattr(self, name)) is not None}
        named.setdefault("dataset", benchmark)
        return {**named, "cut": self.cut}


def _file(info: ValidationInfo) -> _File:
    file: _File = info.context  # type: ignore[assignment] # _File._row gives it
    return file


class _File:
    """One file of a benchmark, read row by row; faults are gathered and raised at its end."""

    def __init__(
        self, form: Claims, files: Files, path: Path, cut: str | None, texts: Mapping[tuple[str, ...], str]
    ) -> None:
        columns = {**form.columns, **{name: (column,) for name, column in files.columns.items()}}
        self.form, self.path, self.texts, self.wanted_scores = replace(form, columns=columns), path, texts, files.scores
        self.faults = Faults(file_name(path))
        if cut is not None and cut not in CUTS:
            raise UsageError(f"data: {cut!r} is no split; splits are: {', '.join(CUTS)}")
        self.cut = None if cut is None else CUTS[cut]

    def read(self, into: _Gathered) -> None:
        """Every row into `into`; raises InputError with all faults at the end of the file."""
        first = True
        for line, cells in read_rows(self.path, self.faults, _format(self.path)):
            if first:
                self._check_columns(cells)
                if self.faults.count:
                    break
            first = False
            row = self._row(line, cells)
            if row is not None:
                into.add(row)
        if first and not self.faults.count:
            self.faults.add(None, None, "holds no rows")
        self.faults.stop()

    def _check_columns(self, cells: Mapping[str, Any]) -> None:
        """By the first row: what the layout must have and has not is a fault."""
        needed = list(self.form.required)
        if self.form.texts and not self._has("document", cells):
            needed += ["source", "id"] if self.texts else ["document"]
        for name in needed:
            if not self._has(name, cells):
                self.faults.add(1, self.form.columns[name][0], self._missing(name, cells))
        if self.cut is None and not self._has("cut", cells):
            hint = "say which file is which: `data: {val: FILE, test: FILE}`"
            self.faults.add(
                1, self.form.columns["cut"][0], f"no column says whether a row is validation or test; {hint}"
            )
        for name in self.wanted_scores or ():
            if name not in cells:
                columns = ", ".join(map(str, cells))
                self.faults.add(
                    1, name, f"there is no such column of scores{meant(name, cells)}; columns are: {columns}"
                )

    def _has(self, name: str, cells: Mapping[str, Any]) -> bool:
        return any(column in cells for column in self.form.columns[name])

    def _missing(self, name: str, cells: Mapping[str, Any]) -> str:
        texts = "; or give the documents in files of their own with `texts`" if self.form.texts else ""
        return (
            f"is missing, and {self.form.name} has it; if another column holds it, say `columns: {{{name}: COLUMN}}`"
            f"{texts if name == 'document' else ''}; columns are: {', '.join(map(str, cells))}"
        )

    def _score_columns(self, cells: Mapping[str, Any]) -> Sequence[str]:
        """The columns of scores in a row: in JSON the first may lack one that others have."""
        if self.wanted_scores is not None:
            return self.wanted_scores
        return [name for name in cells if name.endswith(SCORE) and self.form.grouped]

    def _row(self, line: int, cells: Mapping[str, Any]) -> _Row | None:
        """The row, or None with its faults noted."""
        before = self.faults.count
        columns = {name: self.form.column(name, cells) for name in _Row.model_fields if name != "scores"}
        fields: dict[str, Any] = {name: cells.get(column) for name, column in columns.items()}
        fields["scores"] = {name: cells.get(name) for name in self._score_columns(cells)}
        if self.texts and not self._has("document", cells):
            key = _key([fields["source"] or "", fields["id"] or ""])
            fields["document"] = self.texts.get(key, "")
            if key not in self.texts:
                message = "is in none of the files of `texts`; add it there, or leave the row out"
                self.faults.add(line, self.form.columns["id"][0], f"{' '.join(filter(None, key))!r} {message}")
        try:
            row = _Row.model_validate(fields, context=self)
        except ValidationError as error:
            for field, message in explained(error, _not_a_text):
                self.faults.add(line, columns.get(field, field.removeprefix("scores.")), message)
            return None
        return row if self.faults.count == before else None


def _not_a_text(field: str, details: ErrorDetails) -> str:
    del field
    return f"is {describe(details['input'])}; give a text (it may be empty)"


class _Gathered:
    """The rows of all files as flat rows, each a summary of its own; what is odd about them counted."""

    def __init__(self, form: Claims) -> None:
        self.form = form
        self.tally = Tally()
        self.flat: list[dict[str, Any]] = []
        self.scores: dict[str, dict[tuple[str, str], float | None]] = {}
        self._labels: dict[tuple[str, str, str, str], int | None] = {}
        self._places: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self._names = SystemNames()

    def add(self, row: _Row) -> None:
        doc_id, claim = f"doc-{digest(row.document, 12)}", digest(row.summary, 8)
        extra = row.metadata(self.form.name)
        self._count(row, doc_id, claim, extra["dataset"])
        system = self._names.take(doc_id, row.model or f"claim-{claim}")
        flat: dict[str, Any] = {
            "doc_id": doc_id,
            "system": system,
            "document": row.document,
            "summary": row.summary,
            **extra,
        }
        if group := GROUP_OF.get(row.model or "") if self.form.grouped else None:
            flat["category"] = group
        if row.label is not None:
            flat["human"] = {"overall": {FAITHFULNESS: row.label}}
        self.flat.append(flat)
        for name, score in row.scores.items():
            self.scores.setdefault(name.removesuffix(SCORE), {})[doc_id, system] = score

    def _count(self, row: _Row, doc_id: str, claim: str, dataset: str) -> None:
        tally, cut = self.tally, row.cut
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
        model = row.model or ""
        if self.form.grouped and model not in GROUP_OF:
            tally.ungrouped[model] = tally.ungrouped.get(model, 0) + 1

    def finish(self) -> Benchmark:
        data = load(self.flat).with_card(name=self.form.name)
        self.tally.scores = {
            name: len(self.flat) - sum(score is not None for score in scores.values())
            for name, scores in self.scores.items()
        }
        released = {name: list(_judgments(name, scores)) for name, scores in self.scores.items()}
        return Benchmark(data, released, self.tally)


def _judgments(name: str, scores: Mapping[tuple[str, str], float | None]) -> Iterator[Judgment]:
    for (doc_id, system), score in scores.items():
        if score is not None:
            yield Judgment(
                target=Target(document_id=doc_id, system=system),
                aspect=FAITHFULNESS,
                judge=name,
                signature=f"{name}|{RELEASED}",
                value=score,
            )


def _format(path: Path) -> Format:
    try:
        return format_of(path)
    except UsageError:
        unknown = "ends as no format does; rename it to what it is: .csv, .tsv, .json, .jsonl or .parquet"
        message = "is a folder; name the files in it" if path.is_dir() else unknown
        raise InputError.at(path, None, None, message) from None


def _short(value: Any) -> str:
    """A cell as it stands, its beginning if it is long."""
    shown = repr(value) if not isinstance(value, int) or abs(value) < 10**20 else "a number of many digits"
    return shown if len(shown) <= 80 else f"{shown[:80]}..."


def _key(parts: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(part).strip().lower() for part in parts)


def _documents(form: Claims, files: Sequence[Path]) -> dict[tuple[str, ...], str]:
    """Texts by the columns the layout finds them by."""
    if files and not form.texts:
        raise UsageError(f"texts: {form.name} has its documents in the rows; leave `texts` out")
    documents: dict[tuple[str, ...], str] = {}
    for path in files:
        faults = Faults(file_name(path))
        for line, cells in read_rows(path, faults, _format(path)):
            text = cells.get("text")
            empty = [name for name in form.texts if is_empty(cells.get(name))]
            if empty or not isinstance(text, str):
                columns = f"{', '.join(form.texts)} and text"
                faults.add(line, empty[0] if empty else "text", f"is missing; each row of texts has {columns}")
                continue
            key = _key([str(cells[name]) for name in form.texts])
            if documents.setdefault(key, text) != text:
                faults.add(line, form.texts[-1], f"{' '.join(key)!r} is there twice with two texts; keep one")
        faults.stop()
    return documents
