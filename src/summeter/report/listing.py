"""The summaries that a page lists if the runs are too large to list all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from summeter.data.folder import JUDGMENTS
from summeter.data.human import RAW
from summeter.meta.options import People
from summeter.meta.selection import block_rows, merged_rows
from summeter.report.items import FAILED, VOTED
from summeter.report.views import Summaries
from summeter.runs.run import RunFolder
from summeter.scoring.table import Groups, JudgmentTable, Question

PAGE_BYTES = 7_500_000
"""Size of the texts and verdicts that a page lists. If there are more, it lists a sample of the summaries."""
# Size of verdicts on the page, as a share of the size of judgments on disk; measured with `support` and LLM judges
_VERDICTS = 0.4
# Summaries of the same document are listed together, so that systems can be compared, but at most so many.
_TOGETHER = 100


def listed_summaries(runs: Sequence[RunFolder]) -> tuple[Summaries | None, str | None]:
    """Return the summaries to list and a sentence about them, or None for both if all summaries are listed.

    A quarter of the size goes to each of: summaries that a judge could not judge, those on which people and a judge
    differ, those with the lowest ranking score in the first run, and a random sample (with seed 0), which also gets
    what the others do not need. A summary brings those by the other systems of its document.
    """
    systems: dict[str, dict[str, None]] = {}  # those that were judged, by document
    texts = short = verdicts = 0.0
    for run in runs:
        judged, count = run.judged(), 0
        for document, of_document in run.data.systems_by_document().items():
            if kept := [system for system in of_document if (document, system) in judged]:
                systems.setdefault(document, {}).update(dict.fromkeys(kept))
                count += len(kept)
        sizes = {file.stem: file.stat().st_size for file in (run.folder / "data").glob("*.jsonl")}
        share = count / max(1, len(run.data))
        texts += share * sum(sizes.values())
        short += share * sizes.get("summaries", 0)
        files = (judge.judgments_in(run.folder) for judge in run.manifest.judges)
        verdicts += _VERDICTS * sum(file.stat().st_size for file in files if file.is_file())
    if texts + verdicts <= PAGE_BYTES or not systems:
        return None, None
    summaries = sum(map(len, systems.values()))
    each = (short + verdicts) / summaries
    reasons = {
        "on which a judge failed": _failed(runs),
        "on which people and a judge differ": chain.from_iterable(map(_differing, runs)),
        "with the lowest scores": _lowest(runs[0]),
        "at random": _shuffled(systems),
    }
    chosen: dict[tuple[str, str], None] = {}
    documents: set[str] = set()
    found, size = [], 0.0
    for reason, candidates in reasons.items():
        before, limit = len(documents), PAGE_BYTES if reason == "at random" else size + PAGE_BYTES / len(reasons)
        for document, system in candidates:
            if size >= limit:
                break
            if (document, system) in chosen or system not in systems.get(document, ()):
                continue
            names = list(systems[document])
            start = names.index(system) // _TOGETHER * _TOGETHER
            group = [(document, name) for name in names[start : start + _TOGETHER]]
            chosen |= dict.fromkeys(group)
            size += each * len(group)
            if document not in documents:
                documents.add(document)
                owner = next(run.data for run in runs if document in run.data.documents)
                size += len(owner.documents[document].model_dump_json().encode())
        if len(documents) > before:
            found.append(f"{len(documents) - before:,} {reason}")
    sentence = (
        f"{len(chosen):,} of {summaries:,} summaries are listed, those of {len(documents):,} of {len(systems):,} "
        f"documents: {', '.join(found)}. The filters apply to these, and all numbers above to all summaries."
    )
    return frozenset(chosen), sentence


def _failed(runs: Sequence[RunFolder]) -> Iterator[tuple[str, str]]:
    for run in runs:
        rows = run.totals.unusable
        kept = rows.status.equal(*FAILED)
        yield from _keys(rows.document.take(kept).labels(), rows.system.take(kept).labels())


def _differing(run: RunFolder) -> list[tuple[str, str]]:
    """Return the summaries with units on which people and a judge differ, those with most units first."""
    votes = JudgmentTable.read(run.folder / "data" / JUDGMENTS / f"{RAW}.jsonl")
    people = [
        merged_rows(rows, aspect, People())[0]
        for level, aspect in VOTED
        if (rows := block_rows(votes, aspect, level)) is not None
    ]
    if not people:
        return []
    documents = {name for table in people for name in table.document.used()}
    judged = run.table()
    both = JudgmentTable.concat([*people, judged.take(judged.document.equal(*documents))])
    units = Groups.by(both.document, both.system, both.aspect, both.unit, both.index, both.list_id)
    count = sum(map(len, people))
    label = np.full(len(units), np.nan)
    label[units.of[:count]] = both.label[:count]
    rows = np.abs(both.label - label[units.of]) == 1
    keys = _keys(both.document.take(rows).labels(), both.system.take(rows).labels())
    return [key for key, _ in Counter(keys).most_common()]


def _lowest(run: RunFolder) -> Iterator[tuple[str, str]]:
    column = run.totals.systems.lead()
    if column is None:
        return iter(())
    scores = run.totals.scores
    lead = scores.take(scores.question(Question(*column)))
    order = lead.take(np.argsort(lead.value, kind="stable")[: np.count_nonzero(~np.isnan(lead.value))])  # NaN last
    return _keys(order.document.labels(), order.system.labels())


def _shuffled(systems: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, str]]:
    keys = [(document, system) for document, of_document in systems.items() for system in of_document]
    return (keys[at] for at in np.random.default_rng(0).permutation(len(keys)))


def _keys(documents: Iterable[str | None], systems: Iterable[str | None]) -> Iterator[tuple[str, str]]:
    return ((str(document), str(system)) for document, system in zip(documents, systems, strict=True))
