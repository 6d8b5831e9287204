"""Read the factuality benchmarks AggreFact, LLM-AggreFact, SummaC and story-summeval.

Presets read the files for `bench protocol`. A benchmark consists of several datasets, which may share summaries; as in
the papers, every row counts. Each row becomes a summary of the document in the row. The columns `dataset`, `origin`,
`cut`, `model` and `id` are stored with the summary, and the label (1 = consistent) is its `overall` faithfulness.
Duplicates, contradictions, empty texts, missing labels and missing scores are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from summeter.data.dataset import Dataset, load
from summeter.data.flat import SystemNames
from summeter.data.formats import file_name
from summeter.data.human import RAW
from summeter.data.presets.claims import CLAIM_SYSTEM, CLAIMS, FIELDS, Claims, is_empty
from summeter.data.ratings import cell_number
from summeter.records import Fault, InputError, Judgment, Summary, Target, UsageError, digest, nearest

FAITHFULNESS = "faithfulness"
VAL, TEST = "val", "test"
CUTS = {"val": VAL, "valid": VAL, "validation": VAL, "dev": VAL, "test": TEST}
"""The names of the splits in the files, and the names that are used here."""
GROUPS: dict[str, tuple[str, ...]] = {
    "SOTA": ("BART", "PegasusDynamic", "T5", "Pegasus"),
    "XFORMER": ("BertSum", "BertExtAbs", "BertExt", "GPT2", "BERTS2S", "TranS2S"),
    "OLD": (
        "FastAbsRl", "TConvS2S", "PtGen", "PtGenCoverage", "Summa", "BottomUp", "Seq2Seq", "TextRank", "missing",
        "ImproveAbs", "NEUSUM", "ClosedBookDecoder", "RNES", "BanditSum", "ROUGESal", "MultiTask", "UnifiedExtAbs",
    ),
}  # fmt: skip
"""AggreFact's groups of summarizers (Tang et al., 2023). Lead baselines and references are in no group and are
excluded.
"""
GROUP_OF = {model: group for group, models in GROUPS.items() for model in models}


SCORE = "_score"
"""Suffix of the AggreFact columns that contain the scores of other systems."""
RELEASED = "released|v:1"
METADATA = ("dataset", "origin", "model", "id", "source")
"""Columns that are stored with a summary in addition to its cut."""


_COUNTED = {
    "duplicates": "that repeat a row of their dataset with the same label (kept, as in the papers)",
    "contradictions": "that repeat a row of their dataset with the other label (kept)",
    "shared": "whose document and summary also occur in another dataset or split",
    "unlabelled": "without a label (excluded)",
    "empty": "with an empty document or summary, which evaluators skip",
}
"""What is counted in the rows of a benchmark."""


class Benchmark(NamedTuple):
    """The data of a benchmark.

    `released` contains the scores in the files as judgments, by judge. `lines` are lines of text that describe the
    data, and `counts` their numbers.
    """

    data: Dataset
    released: Mapping[str, list[Judgment]]
    lines: Sequence[str]
    counts: Counter[str]


def read_benchmark(
    layout: str,
    files: Sequence[tuple[str | None, Path]],
    *,
    texts: Sequence[Path] = (),
    columns: Mapping[str, str] = MappingProxyType({}),
    scores: Sequence[str] | None = None,
) -> Benchmark:
    """Read the files of a benchmark, given as (split or None, path).

    `texts` are files with documents, `columns` gives the column of each renamed field, and `scores` names the columns
    of released scores; None selects the `*_score` columns of AggreFact. Raises InputError with all faults, and
    UsageError for an unknown layout or field.

        benchmark = read_benchmark("aggrefact", [(None, Path("aggre_fact_final.csv"))])
    """
    if layout not in CLAIMS:
        raise UsageError(f"unknown benchmark {layout!r}{nearest(layout, CLAIMS)}; benchmarks are: {', '.join(CLAIMS)}")
    form = CLAIMS[layout]
    unknown = next((name for name in columns if name not in FIELDS), None)
    if unknown is not None:
        what = f"columns: {form.name} has no field {unknown!r}{nearest(unknown, FIELDS)}"
        raise UsageError(f"{what}; fields are: {', '.join(FIELDS)}")
    if not files:
        raise UsageError(f"no file of {form.name} is given; give {form.about}")
    if texts and not form.texts:
        raise UsageError(f"texts: the rows of {form.name} contain the documents; leave `texts` out")
    counts, cuts, ungrouped, names = Counter[str](), Counter[str](), Counter[str](), SystemNames()
    flat: list[dict[str, Any]] = []
    score_of: dict[str, dict[tuple[str, str], float | None]] = {}
    faults: list[Fault] = []
    seen: dict[tuple[str, str], dict[tuple[str, str], set[int | None]]] = {}
    for split, path in files:
        if split is not None and split not in CUTS:
            raise UsageError(f"data: {split!r} is not a split; splits are: {', '.join(CUTS)}")
        if path.is_dir():
            raise InputError.at(path, "is a folder; give the files in it")
        data = load(
            [path, *texts],
            preset=form.name.replace("-", "_"),
            map={f"extra.{form.names(name)[0]}": column for name, column in columns.items()},
        )
        labels = {row.target: None if row.value is None else int(row.value) for row in data.iter_judgments(RAW)}
        score_columns = scores
        if score_columns is None:
            found = dict.fromkeys(name for summary in data.summaries for name in summary.extra if name.endswith(SCORE))
            score_columns = list(found) if form.grouped else []
        known = dict.fromkeys(name for summary in data.summaries for name in summary.extra)
        problems = Counter(
            (name, f"there is no such column of scores{nearest(name, known)}; columns are: {', '.join(known)}")
            for name in score_columns
            if name not in known
        )
        for document, summaries in data.items():
            doc_id = f"doc-{digest(document.text, 12)}"
            for summary in summaries:
                about, problems_of_row = _metadata(form, summary, split)
                problems.update(problems_of_row)
                label = labels.get(Target(document_id=document.id, system=summary.system))
                claim, cut, dataset = digest(summary.text, 8), about["cut"], about["dataset"]
                cuts[cut] += 1
                counts["unlabelled"] += label is None
                counts["empty"] += not (document.text.strip() and summary.text.strip())
                labels_in = seen.setdefault((doc_id, claim), {})
                if (dataset, cut) in labels_in:
                    counts["duplicates" if label in labels_in[dataset, cut] else "contradictions"] += 1
                elif labels_in:
                    counts["shared"] += 1
                labels_in.setdefault((dataset, cut), set()).add(label)
                model = about.get("model", "")
                group = GROUP_OF.get(model)
                if form.grouped and group is None:
                    ungrouped[model] += 1
                system = names.take(doc_id, model or f"{CLAIM_SYSTEM}{claim}")
                row: dict[str, Any] = {
                    "doc_id": doc_id,
                    "system": system,
                    "document": document.text,
                    "summary": summary.text,
                    **about,
                }
                if form.grouped and group is not None:
                    row["category"] = group
                if label is not None:
                    row["human"] = {"overall": {FAITHFULNESS: label}}
                flat.append(row)
                for name in score_columns:
                    value, score = summary.extra.get(name), None
                    try:
                        score = (
                            None if str(value).strip().lower() in ("nan", "none", "null", "") else cell_number(value)
                        )
                    except ValueError as error:
                        problems[name, str(error)[:200]] += 1
                    score_of.setdefault(name.removesuffix(SCORE), {})[doc_id, system] = score
        for (column, message), count in problems.items():
            faults.append(Fault(file_name(path), None, column, message + (f" ({count} rows)" if count > 1 else "")))
    if faults:
        raise InputError(faults)
    lines = [f"{len(flat)} rows ({', '.join(f'{count} {cut}' for cut, count in sorted(cuts.items()))})"]
    lines += [f"rows {what}: {counts[name]}" for name, what in _COUNTED.items() if counts[name]]
    if ungrouped:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(ungrouped.items()))
        lines.append(f"rows by summarizers without a group (excluded): {listed}")
    for name, by_item in score_of.items():
        counts[name] = len(flat) - sum(score is not None for score in by_item.values())
        lines.append(f"missing scores of {name}: {counts[name]}")
    released = {name: list(_judgments(name, by_item)) for name, by_item in score_of.items()}
    return Benchmark(load(flat).with_card(name=form.name), released, lines, counts + ungrouped)


def _metadata(form: Claims, summary: Summary, split: str | None) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the metadata of a summary, including its dataset and cut, and problems as (column, message)."""
    cells, problems = summary.extra, []
    model = re.sub(r"#\d+$", "", summary.system)
    about = {} if model.startswith(CLAIM_SYSTEM) else {"model": model}
    for name in METADATA:
        column = form.column(name, cells)
        if name != "model" and not is_empty(value := cells.get(column)):
            about[name] = str(value).strip()
        elif name in form.required and name not in about:
            problems.append((column, f"is empty, but every row of {form.name} needs it"))
    given, expected = cells.get("cut"), None if split is None else CUTS[split]
    cut = expected if is_empty(given) else CUTS.get(str(given).strip().lower())
    if cut is None and is_empty(given):
        hint = "give the split of each file: `data: {val: FILE, test: FILE}`"
        problems.append(("cut", f"no column says whether a row is validation or test; {hint}"))
    elif cut is None:
        problems.append(("cut", f"is {given!r}; give val or test, or leave the row out"))
    elif expected not in (None, cut):
        problems.append(("cut", f"is {given!r}, but the file was given as that of {expected}"))
    return {"dataset": form.name, **about, "cut": cut or ""}, problems


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
