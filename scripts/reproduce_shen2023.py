"""Recompute the tables of Shen et al. (Findings of EMNLP 2023) from the raw replies and write reports/reproduction.md.

    python scripts/reproduce_shen2023.py DATA [-o reports/reproduction.md]

DATA is a folder with `shen2023.jsonl.gz` (summaries and experts' ratings), `shen2023.outputs.jsonl.gz` (raw RTS and
MCQ replies), `shen2023.h2h.jsonl.gz` (raw head-to-head replies) and `shen2023.expected.json` (the printed cells). The
replies are parsed twice, as in the paper's released code (legacy) and strictly; everything else is computed by
summeter. The page contains numbers only, no texts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NamedTuple

from summeter import __version__
from summeter.data.dataset import Dataset, load
from summeter.engine.outputs import Imported, import_outputs
from summeter.evaluators.base import Parser
from summeter.meta import papers, self_consistency
from summeter.meta.papers.base import place_of
from summeter.runs.run import RunFolder

Key = tuple[str, str, str]
"""(table, row, column), as in `shen2023.expected.json`."""

COEFFICIENTS = ("spearman", "pearson", "kendall")
WORDS = {
    "Spear.": "spearman", "Pear.": "pearson", "Kend.": "kendall", "66 pairs": "66", "11 pairs": "11", "LLM": "llm",
    "Human": "human", "agree": "mark", "people": "human", "rts": "chat_rts", "mcq": "chat_mcq",
}  # fmt: skip
"""The words of the columns of `summeter table` in the printed cells."""

TITLES = {
    "4": "Table 4: correlation with people, 1,200 summaries pooled",
    "5": "Table 5: correct preferences, of 66 pairs and of the 11 closest",
    "6": "Table 6: meta-correlation",
    "7": "Table 7: correlation of reliability and agreement with people",
    "21": "Table 21: human mean of each system",
    "22": "Table 22: head-to-head points of three pairs",
    "23": "Table 23: correlation with people by system, RTS",
    "24": "Table 24: correlation with people by system, MCQ",
    "25": "Table 25: mean of each system, by judge and people",
    "29": "Table 29: reliability by system, RTS against MCQ",
}
HALF_UP = {"21", "25"}
"""Tables printed to two digits, with halves rounded up. Others print correlations to three digits, or exact numbers."""


class Runs(NamedTuple):
    """The replies as runs, parsed by one parser, with the import counts."""

    data: Dataset
    ratings: RunFolder
    pairs: RunFolder
    imported: list[Imported]


class Cell(NamedTuple):
    """A printed cell with the recomputed values. `expected` is True if the data are known to reproduce it."""

    key: Key
    paper: float
    value: float | None
    strict: float | None
    expected: bool

    @property
    def agrees(self) -> bool:
        """True if the values are equal to the printed digit."""
        return self.value is not None and rounded(self.key[0], self.value) == rounded(self.key[0], self.paper)


def rounded(table: str, value: float) -> str:
    """Return a value as its table prints it.

    >>> rounded("21", 4.205), rounded("4", -0.04196), rounded("5", 57.0)
    ('4.21', '-0.042', '57.00')
    """
    if table in HALF_UP:
        return str(Decimal(repr(round(value, 10))).quantize(Decimal("0.01"), ROUND_HALF_UP))
    if table in {"5", "22"}:
        return f"{value:.2f}"
    return f"{round(value, 3) + 0.0:.3f}"


def read(folder: Path, parser: Parser, work: Path) -> Runs:
    """Import the replies into runs below `work`."""
    data = load(folder / "shen2023.jsonl.gz")
    imported: list[Imported] = []
    for name in ("outputs", "h2h"):
        imported += import_outputs(data, folder / f"shen2023.{name}.jsonl.gz", work / parser / name, parser).imported
    return Runs(data, RunFolder(work / parser / "outputs"), RunFolder(work / parser / "h2h"), imported)


def measure(runs: Runs) -> dict[Key, float | None]:
    """Return all cells of the ten tables that the data allow; None if a statistic is undefined."""
    return {
        key: row.value
        for number in TITLES
        for row in papers.table(f"shen2023.{number}", runs.pairs if number == "22" else runs.ratings, runs.data).study
        for key in [_key(number, *place_of(row))]
    }


def _key(number: str, line: str, column: str) -> Key:
    """Return the key of a cell of a table in `shen2023.expected.json`."""
    aspect, _, what = column.partition(" ")
    statistic = WORDS.get(what, what)
    if number in {"4", "5", "6"}:
        line = f"ChatGPT-{line.upper()}"
    elif number == "7":
        line = line.replace(" ", "")
    aspect = "avg" if aspect == "Avg." else aspect
    return number, "avg" if line == "Avg." else line, f"{aspect}.{statistic}" if what else aspect


def compare(folder: Path, legacy: Mapping[Key, float | None], strict: Mapping[Key, float | None]) -> list[Cell]:
    """Return all printed cells, in the order of the file, with the recomputed values."""
    printed = json.loads((folder / "shen2023.expected.json").read_text(encoding="utf-8"))["cells"]
    cells = []
    for one in printed:
        key = one["table"], one["row"], one["col"]
        cells.append(Cell(key, one["paper"], legacy.get(key), strict.get(key), one["match"]))
    return cells


class Repeats(NamedTuple):
    """Repeated questions: the number of ids, of changed scores, and the agreement by judge and aspect."""

    ids: int
    changed: int
    alphas: dict[str, float | None]


def asked_twice(folder: Path, data: Dataset, work: Path) -> Repeats:
    """Return the agreement of replies to ids that were asked twice, as two runs of one judge."""
    with gzip.open(folder / "shen2023.outputs.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    names = ("doc_id", "system", "evaluator", "aspect")
    by_id: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        by_id.setdefault(tuple(row[name] for name in names), []).append(row)
    twice = [found for found in by_id.values() if len(found) > 1]
    runs = []
    for number in (0, -1):
        raw = work / f"asked{number}.jsonl"
        raw.write_text("".join(json.dumps(found[number]) + "\n" for found in twice), encoding="utf-8")
        import_outputs(data, raw, work / f"repeat{number}", "legacy")
        runs.append(RunFolder(work / f"repeat{number}"))
    study = self_consistency(runs, resamples=0)
    same = study.where(statistic="identical")
    changed = sum(round((1 - (row.value or 0.0)) * row.n) for row in same)
    alphas = {f"{row.judge} {row.aspect}": row.value for row in study.where(statistic="alpha_interval")}
    return Repeats(sum(row.n for row in same), changed, alphas)


def page(cells: Sequence[Cell], runs: tuple[Runs, Runs], repeats: Repeats) -> str:
    """Return the page as Markdown."""
    legacy, strict = runs
    agreeing = sum(cell.agrees for cell in cells)
    parts = [
        "# Reproduction: Shen et al. (2023), cell by cell",
        "",
        (f"Generated by `python scripts/reproduce_shen2023.py DATA` with summeter {__version__}; do not edit. "
        "The raw ChatGPT replies that the authors released are parsed as in their code (legacy), and all values "
        "are computed from these scores. A cell agrees if it is equal to the printed value to the printed digit."),
        "",
        (f"**{agreeing} of {len(cells)} cells agree.** The other {len(cells) - agreeing} are listed below, with the "
        "evidence that the computation is correct."),
        "",
        *_summary(cells), "", *_conventions(), "", *_exceptions(cells, legacy), "",
        *_strictness(cells, legacy, strict), "", *_repeats(repeats), "", "## All cells", "",
        *(line for table in TITLES for line in _cells(table, cells)),
    ]  # fmt: skip
    return "\n".join(parts).rstrip() + "\n"


def _summary(cells: Sequence[Cell]) -> list[str]:
    lines = ["| table | cells | agree | change with strict parsing | largest change |", "|---|---|---|---|---|"]
    for table, title in TITLES.items():
        cells_of_table = [cell for cell in cells if cell.key[0] == table]
        moved = [cell for cell in cells_of_table if _moves(cell)]
        most = max((_move(cell) for cell in cells_of_table), default=0.0)
        lines.append(
            f"| {title} | {len(cells_of_table)} | {sum(cell.agrees for cell in cells_of_table)} | {len(moved)} | {most:.4f} |"
        )
    return lines


def _conventions() -> list[str]:
    return [
        "## How the cells are made",
        "",
        "- The human score is the mean of the three experts' ratings; crowd workers are not used.",
        "- Correlations are Spearman's rho, Pearson's r and Kendall's tau-b, printed to three digits.",
        (
            "- Table 5: a system gets 1, 1/2 or 0 points per document against another; a pair is correct if the points by "
            "judge and by people are on the same side of one half. The 11 pairs are the neighbours in the human ranking "
            "by the average of the four aspects."
        ),
        (
            "- Table 6: rho over 12 systems between the human mean of a system and the judge's correlation with people on "
            "it, with the same coefficient in both steps. Table 7: the same with the reliability of Table 29."
        ),
        (
            "- Tables 21 and 25 are printed to two digits, with halves rounded up; the average in Table 21 is that of the "
            "four printed cells."
        ),
        (
            "- Table 22: the mean points of both orders; the mark is 1 if judge and people prefer the same system. "
            "The data contain three of the paper's eleven pairs."
        ),
    ]


def _exceptions(cells: Sequence[Cell], runs: Runs) -> list[str]:
    lines = [
        "## Cells that do not agree",
        "",
        "| table | row | column | printed | recomputed |",
        "|---|---|---|---|---|",
    ]
    others = [cell for cell in cells if not cell.agrees]
    for cell in others:
        table, row, column = cell.key
        lines.append(f"| {table} | {row} | {column} | {cell.paper:g} | {_shown(cell.value)} |")
    rts = [cell for cell in cells if cell.agrees and _is_rts_coherence(cell.key)]
    tables = sorted({cell.key[0] for cell in rts}, key=int)
    total, number = _sum_of(runs.data, "M15", "consistency")
    values = {cell.key[1:]: cell.value or 0.0 for cell in cells if cell.key[0] == "4"}
    better = " and ".join(
        name for name in COEFFICIENTS
        if values["ChatGPT-RTS", f"coherence.{name}"] > values["ChatGPT-MCQ", f"coherence.{name}"]
    ) or "no coefficient"  # fmt: skip
    lines += [
        "",
        (
            f"- **Table 4, ChatGPT-RTS, coherence.** The same scores give {len(rts)} other printed cells on RTS coherence "
            f"to the digit (in Tables {', '.join(tables)}), including the correlation with people on every system, so they "
            "are the scores of the paper's other tables. The recomputed values are above the printed ones. According to "
            f"them, RTS agrees better with people on coherence than MCQ in {better}, while the paper finds MCQ better."
        ),
        (
            f"- **Tables 21 and 25, M15, human consistency.** The {number} expert ratings sum to {total:g}, a mean of "
            f"{total / number:.4f}. A printed 4.95 requires a sum of at least {4.945 * number:g}. The caption "
            "says that the means are those reported by Fabbri et al., so the cell was not computed from the ratings."
        ),
    ]
    return lines


def _is_rts_coherence(key: Key) -> bool:
    table, row, column = key
    if not column.startswith("coherence"):
        return False
    if table in {"4", "5", "6", "7"}:
        return "RTS" in row
    return table in {"23", "29"} or (table == "25" and column.endswith("chat_rts"))


def _sum_of(data: Dataset, system: str, aspect: str) -> tuple[float, int]:
    values = [one.value for one in data.judgments("human.raw")
              if one.target.system == system and one.aspect == aspect and one.value is not None]  # fmt: skip
    return sum(values), len(values)


def _strictness(cells: Sequence[Cell], legacy: Runs, strict: Runs) -> list[str]:
    lines = [
        "## Changes with strict parsing",
        "",
        (
            "The released code always finds a score: if nothing else matches, it takes the last digit from 1 to 5 in the "
            "reply. Strict parsing accepts unambiguous replies only; the others have no score and are counted."
        ),
        "",
        "| judge | replies | repeated | usable | unusable | different score |",
        "|---|---|---|---|---|---|",
    ]
    otherwise = _read_otherwise(legacy, strict)
    lines += [
        f"| {one.judge} | {one.rows} | {one.repeated} | {one.ok} | {one.failed} | {otherwise.get(one.judge, 'none')} |"
        for one in strict.imported
    ]
    moved = sorted((cell for cell in cells if _moves(cell)), key=lambda cell: -_move(cell))
    lines += ["", f"{len(moved)} of {len(cells)} cells change at the printed digit. The largest changes:", "",
              "| table | row | column | legacy | strict | change |", "|---|---|---|---|---|---|"]  # fmt: skip
    for cell in moved[:25]:
        table, row, column = cell.key
        move = f"{(cell.strict or 0.0) - (cell.value or 0.0):+.4f}"
        lines.append(f"| {table} | {row} | {column} | {_shown(cell.value)} | {_shown(cell.strict)} | {move} |")
    return lines


def _read_otherwise(legacy: Runs, strict: Runs) -> dict[str, str]:
    """Return, by judge, the numbers of usable replies whose score differs from the legacy score, by aspect."""
    study = self_consistency([legacy.ratings, strict.ratings], resamples=0).where(statistic="identical")
    found: dict[str, list[str]] = {}
    for row in study:
        other = round((1 - (row.value or 0.0)) * row.n)
        if other:
            found.setdefault(str(row.judge), []).append(f"{other} ({row.aspect})")
    return {judge: ", ".join(parts) for judge, parts in found.items()}


def _repeats(repeats: Repeats) -> list[str]:
    lines = [
        "## Repeated questions",
        "",
        (
            f"{repeats.ids} questions were asked twice, at temperature 0; {repeats.changed} of the second replies have "
            "a different score. The last reply counts, as in the released code. Krippendorff's alpha (interval) of both:"
        ),
        "",
        "| judge and aspect | alpha |",
        "|---|---|",
    ]
    return [*lines, *(f"| {name} | {_shown(value)} |" for name, value in repeats.alphas.items())]


def _cells(table: str, cells: Sequence[Cell]) -> Iterator[str]:
    yield from (f"### {TITLES[table]}", "", "| row | column | printed | recomputed | agrees | strict |",
                "|---|---|---|---|---|---|")  # fmt: skip
    for cell in cells:
        if cell.key[0] == table:
            agrees = "yes" if cell.agrees else "**no**"
            _, row, column = cell.key
            yield (f"| {row} | {column} | {cell.paper:g} | {_shown(cell.value)} | {agrees} | "
                   f"{'same' if cell.strict == cell.value else _shown(cell.strict)} |")  # fmt: skip
    yield ""


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{round(value, 6) + 0.0:g}" if abs(value) >= 10 else f"{value + 0.0:.6f}"


def _move(cell: Cell) -> float:
    return 0.0 if cell.value is None or cell.strict is None else abs(cell.strict - cell.value)


def _moves(cell: Cell) -> bool:
    """Return whether strict parsing changes the cell at the printed digit."""
    if cell.value is None or cell.strict is None:
        return cell.value is not cell.strict
    return rounded(cell.key[0], cell.value) != rounded(cell.key[0], cell.strict)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; returns 1 if a cell that is expected to agree does not."""
    parser = argparse.ArgumentParser(description="Recompute the tables of Shen et al. (2023).")
    parser.add_argument("data", type=Path, help="folder with the shen2023 files")
    parser.add_argument("-o", "--output", type=Path, default=Path("reports/reproduction.md"), help="output file")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        legacy, strict = (read(options.data, parser_name, work) for parser_name in ("legacy", "strict"))
        cells = compare(options.data, measure(legacy), measure(strict))
        options.output.write_text(
            page(cells, (legacy, strict), asked_twice(options.data, legacy.data, work)), encoding="utf-8"
        )
    lost = [cell for cell in cells if cell.expected and not cell.agrees]
    for cell in lost:
        print(f"does not agree: {cell}", file=sys.stderr)
    print(f"{sum(cell.agrees for cell in cells)} of {len(cells)} cells agree: {options.output}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
