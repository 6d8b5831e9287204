"""Pair the summaries and judges of two runs, such as yesterday's run `a` and today's run `b`.

    Pairing.of(a, b)          which summaries and judges correspond
    pairing.scores            the scores of both runs by judge and aspect, one value per pair of summaries
    difference_rows(pairing)  the means, and the tested differences `b` minus `a`

Summaries correspond if their document and system are the same. If a document has another text in `b`, its summaries are
not paired, because a change of their scores says nothing about the systems. A summary with another text is paired: its
change is what a comparison of versions measures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from summeter.choices import Level
from summeter.meta._compare import pair_row
from summeter.meta.inputs import context_of
from summeter.meta.results import Row, merged
from summeter.meta.sample import rows_by_name
from summeter.meta.selection import group_fields
from summeter.meta.verdicts import SAME as SAME_VALUE
from summeter.meta.verdicts import listed
from summeter.pages.numbers import count
from summeter.records import JudgeKey, Parameter, UsageError, nearest, signature_changes
from summeter.runs.run import RunFolder
from summeter.scoring.scores import ScoreTable
from summeter.scoring.systems import FIRST, NEUTRAL
from summeter.scoring.table import Categorical, Groups, Question, model_names
from summeter.stats import PairDifference, paired_differences
from summeter.stats.base import Bools, Floats, Ints

STUDY = "versions"
A, B = "a", "b"
"""Names of the two runs in `PairDifference` and in the details of rows."""
Text = Literal["same", "changed", "only_a", "only_b"]
TEXTS: tuple[Text, ...] = get_args(Text)
SAME, CHANGED, ONLY_A, ONLY_B = range(len(TEXTS))


class PairedJudges(NamedTuple):
    """A judge of run `a` and the corresponding judge of run `b`. One of them is None if it has no counterpart.

    `changes` says in words how their signatures differ; it is empty if they are equal.
    """

    a: JudgeKey | None
    b: JudgeKey | None
    changes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the judge."""
        return next(key.judge for key in (self.b, self.a) if key is not None)


@dataclass(frozen=True)
class PairedScores:
    """The scores of one aspect in both runs, by corresponding judges.

    `items` are the numbers of the paired summaries (see `Pairing`) that have a score in at least one run, or a reason
    why there is none. `a` and `b` contain their scores, NaN if missing. `model` is that of the judge in `b`.
    """

    first: Question
    second: Question
    model: str | None
    items: Ints
    a: Floats
    b: Floats


@dataclass(frozen=True)
class Pairing:
    """The summaries and judges of two runs, and which of them correspond.

    The items are the summaries of both runs. `document` has the document of each item, and `pair` the number of its
    system in `systems`: pairs of names, one of which is None if the system is only in one run. `text` is an index in
    `TEXTS`. `resplit` marks the items whose sentences differ, and `moved` those whose documents differ, which are not
    paired.
    """

    a: RunFolder
    b: RunFolder
    systems: tuple[tuple[str | None, str | None], ...]
    judges: tuple[PairedJudges, ...]
    document: Categorical
    pair: Ints
    text: Ints
    resplit: Bools
    moved: Bools

    @classmethod
    def of(cls, a: RunFolder, b: RunFolder, pair_systems: Mapping[str, str] | None = None) -> Pairing:
        """Return the pairing of two runs.

        `pair_systems` maps names of systems in `a` to their names in `b`; other systems are paired by name. Raises
        UsageError if a name is unknown, or if two systems are paired with the same one.
        """
        systems = _pair_systems(a.data.systems, b.data.systems, pair_systems or {})
        # The texts of equal data need not be read.
        read = bool(pair_systems) or a.manifest.data.hash != b.manifest.data.hash
        (old_documents, old), (new_documents, new) = (
            _hashes(run, {names[side]: number for number, names in enumerate(systems)}, read=read)
            for side, run in enumerate((a, b))
        )
        keys = list(dict.fromkeys((*old, *new)))
        text: Ints = np.zeros(len(keys), np.int64)
        resplit, moved = np.zeros((2, len(keys)), np.bool_)
        for item, key in enumerate(keys):
            before, after = old.get(key), new.get(key)
            if before is None or after is None:
                text[item] = ONLY_B if before is None else ONLY_A
            else:
                text[item] = SAME if before[0] == after[0] else CHANGED
                resplit[item] = before != after
            if key[0] in old_documents and key[0] in new_documents:
                moved[item] = old_documents[key[0]] != new_documents[key[0]]
        return cls(
            a,
            b,
            tuple(systems),
            tuple(pair_judges(_judge_keys(a), _judge_keys(b))),
            Categorical.of(doc_id for doc_id, _ in keys),
            np.array([number for _, number in keys], np.int64),
            text,
            resplit,
            moved,
        )

    def __len__(self) -> int:
        return len(self.text)

    @cached_property
    def paired(self) -> Bools:
        """Mask of the items that both runs have, and whose documents are the same."""
        return (self.text <= CHANGED) & ~self.moved

    @cached_property
    def system(self) -> Categorical:
        """The system of each item; a renamed system has its name in `b`."""
        return Categorical.of(new or old for old, new in self.systems).take(self.pair)

    def unpaired(self, a: str, b: str) -> Iterator[str]:
        """Yield notes on the summaries that are not paired; `a` and `b` are the names of the runs."""
        moved = self.moved & (self.text <= CHANGED)
        if moved.any():
            summaries = count(int(moved.sum()), "summary is", "summaries are")
            documents = listed([str(name) for name in self.document.take(moved).used()])
            yield f"warning: {summaries} not compared, because these documents have another text in {a}: {documents}"
        for code, name in ((ONLY_A, a), (ONLY_B, b)):
            if alone := int((self.text == code).sum()):
                yield f"{count(alone, 'summary is', 'summaries are')} only in {name}"

    def items_of(self, side: str, document: Categorical, system: Categorical) -> Ints:
        """Return the number of each row's item, or -1 if it is not paired.

        The rows are those of a table of run `side` ("a" or "b").
        """
        groups = Groups.by(document, system)
        labels = zip(document.take(groups.first).labels(), system.take(groups.first).labels(), strict=True)
        number_of = {names[side == B]: number for number, names in enumerate(self.systems)}
        numbers = [self._numbers.get((doc_id, number_of.get(name, -1)), -1) for doc_id, name in labels]
        return np.array(numbers, np.int64)[groups.of]

    @cached_property
    def _numbers(self) -> dict[tuple[str, int], int]:
        """Numbers of the paired items by document and pair of systems."""
        items = np.flatnonzero(self.paired)
        keys = zip(self.document.take(items).labels(), self.pair[items].tolist(), strict=True)
        return dict(zip(keys, items.tolist(), strict=True))

    @cached_property
    def scores(self) -> list[PairedScores]:
        """Scores of the paired summaries, by corresponding judges and by the aspects that both judged."""
        tables: list[tuple[ScoreTable, Ints]] = []
        for side, run in ((A, self.a), (B, self.b)):
            scores = run.totals.scores
            items = self.items_of(side, scores.document, scores.system)
            tables.append((scores.take(items >= 0), items[items >= 0]))
        asked = [dict.fromkeys(run.totals.scores.questions()) for run in (self.a, self.b)]
        found = []
        # Pairs are formed within each aspect, because a composite has the name of its judge but another signature.
        for aspect in dict.fromkeys(question.aspect for question in asked[0]):
            first_keys, second_keys = (
                [JudgeKey(*question[:2]) for question in questions if question.aspect == aspect] for questions in asked
            )
            for first, second, _ in pair_judges(first_keys, second_keys):
                if first is None or second is None:
                    continue
                question, other = Question(*first[:2], aspect), Question(*second[:2], aspect)
                values, judged = np.full((2, len(self)), np.nan), np.zeros(len(self), np.bool_)
                for at, ((scores, items), named) in enumerate(zip(tables, (question, other), strict=True)):
                    rows = scores.question(named)
                    values[at, items[rows]], judged[items[rows]] = scores.value[rows], True
                model = model_names(scores.take(rows).model) if rows.any() else None
                known = np.flatnonzero(judged)
                found.append(PairedScores(question, other, model, known, *values[:, known]))
        return sorted(
            found, key=lambda each: FIRST.index(each.first.aspect) if each.first.aspect in FIRST else len(FIRST)
        )


def difference_rows(
    pairing: Pairing,
    *,
    aspects: Collection[str] = (),
    judge: str | None = None,
    by: str | None = None,
    alpha: float = 0.05,
    permutations: int = 10_000,
    seed: int = 0,
    corrected: bool = True,
) -> list[Row]:
    """Return the differences of means `b` minus `a`, as rows with the statistic `mean_difference`.

    There is a row for each judge, aspect and system. If there are several systems, there is also one for all systems
    (`system` is None), in which the value of a document is the mean over its systems. With `by`, there is one for each
    value of a column, over all systems; `domain*system` separates them. Only summaries with a score in both runs count.

    The test is that of `meta compare`: scores are exchanged document by document. Holm's correction covers all judges
    and aspects of all systems together (or of the only system), and their intervals hold simultaneously with confidence
    1 - `alpha`. Separate corrections cover single systems, the rows of `by`, and aspects such as length, for which a
    higher value is not better. If `corrected` is False, each test and interval stands alone. `details` contains the
    means `a` and `b`, `p_holm`, `better` ("a", "b" or None), the number of `summaries`, and how many of them have a
    `changed` score. `aspects` and `judge` (name or signature) select rows.
    """
    columns = [
        each
        for each in pairing.scores
        if (not aspects or each.first.aspect in aspects)
        and judge in (None, each.first.judge, each.first.signature, each.second.signature)
    ]
    context = context_of(pairing.b.data) if by is not None else None
    parts: list[tuple[tuple[int, bool], PairedScores, dict[str, Any], Bools]] = []
    for scores in columns:
        names = pairing.system.take(scores.items)
        systems = [({"system": name}, rows) for name, rows in rows_by_name(names)]
        neutral, only = scores.first.aspect in NEUTRAL, systems[0][0] if len(systems) == 1 else {}
        parts.append(((0, neutral), scores, only, np.ones(len(scores.items), np.bool_)))
        if not only:
            parts += [((1, neutral), scores, fields, rows) for fields, rows in systems]
        if by is not None and context is not None:
            about = merged(only, {"details": {"by": by}})
            values = rows_by_name(context.column(by, pairing.document.take(scores.items), names))
            parts += [((2, neutral), scores, merged(about, group_fields(by, value)), rows) for value, rows in values]
    parts.sort(key=lambda part: (part[0][0] == 2, part[0][1]))
    tables = [_by_document(pairing, scores, rows) for _, scores, _, rows in parts]
    tested: dict[int, PairDifference] = {}
    for family in dict.fromkeys(part[0] for part in parts):
        members = [at for at, part in enumerate(parts) if part[0] == family]
        for together in [members] if corrected else [[at] for at in members]:
            pairs = paired_differences([tables[at] for at in together], alpha, permutations, seed)
            for at, (pair,) in zip(together, pairs, strict=True):
                tested[at] = pair
    made: list[Row] = []
    for at, ((_, scores, fields, rows), table) in enumerate(zip(parts, tables, strict=True)):
        pair = tested[at]
        means = {run: float(np.nanmean(values)) if pair.n else None for run, values in table.items()}
        gaps = (scores.b - scores.a)[rows]
        counts = {"summaries": int((~np.isnan(gaps)).sum()), "changed": int((np.abs(gaps) > SAME_VALUE).sum())}
        details = {"details": {**means, **counts, "signature_a": scores.first.signature}}
        about = {"study": STUDY, "level": Level.SUMMARY.value, "model": scores.model}
        about |= {name: getattr(scores.second, name) for name in ("judge", "signature", "aspect")}
        shown = pair._replace(reason=pair.reason if pair.n else "no summary has a score in both runs")
        made.append(pair_row(shown, alpha, about, fields, details, statistic="mean_difference"))
    return made


def _by_document(pairing: Pairing, scores: PairedScores, rows: Bools) -> dict[str, Floats]:
    """Return the mean of the selected scores by document in `b` and `a`, NaN if no summary has a score in both."""
    documents = pairing.document.take(scores.items[rows]).dense()
    a, b = scores.a[rows], scores.b[rows]
    both = ~np.isnan(a) & ~np.isnan(b)
    size = len(documents.names)
    counts = np.bincount(documents.codes[both], minlength=size)
    with np.errstate(invalid="ignore"):
        return {
            run: np.bincount(documents.codes[both], weights=values[both], minlength=size) / counts
            for run, values in ((B, b), (A, a))
        }


def _pair_systems(
    a: Sequence[str], b: Sequence[str], renamed: Mapping[str, str]
) -> list[tuple[str | None, str | None]]:
    """Return pairs of names: the renamed systems, those with equal names, and those of one run."""
    for names, known, run in ((renamed, a, "first"), (renamed.values(), b, "second")):
        for name in names:
            if name not in known:
                message = f": the {run} run has no system {name!r}{nearest(name, known)}; it has: {', '.join(known)}"
                raise UsageError(Parameter("pair_systems"), message)
    if len(set(renamed.values())) < len(renamed):
        raise UsageError(Parameter("pair_systems"), " pairs two systems of the first run with one of the second")
    taken = set(renamed.values())
    pairs: list[tuple[str | None, str | None]] = []
    for name in a:
        other = renamed.get(name, name if name in b and name not in taken else None)
        pairs.append((name, other))
    matched = {other for _, other in pairs}
    return [*pairs, *((None, name) for name in b if name not in matched)]


def _judge_keys(run: RunFolder) -> list[JudgeKey]:
    judges = (judge for judge in run.manifest.judges if not judge.prepares_only)
    return [JudgeKey(judge.name, judge.signature, judge.model) for judge in judges]


def pair_judges(a: Sequence[JudgeKey], b: Sequence[JudgeKey]) -> Iterator[PairedJudges]:
    """Yield the judges of two runs in pairs.

    Judges with the same signature are paired, then the only ones with the same name and model, then the only ones with
    the same name.
    """
    found: dict[JudgeKey, JudgeKey] = {}
    for identity in (slice(0, 2), slice(0, 3, 2), slice(0, 1)):
        left = [key for key in a if key not in found]
        right = [key for key in b if key not in found.values()]
        for key in left:
            rivals, others = ([one for one in side if one[identity] == key[identity]] for side in (left, right))
            if len(rivals) == len(others) == 1:
                found[key] = others[0]
    for key in a:
        other = found.get(key)
        yield PairedJudges(key, other, signature_changes(key.signature, other.signature) if other else ())
    matched = set(found.values())
    yield from (PairedJudges(None, key) for key in b if key not in matched)


def _hashes(
    run: RunFolder, number_of: Mapping[str | None, int], *, read: bool
) -> tuple[dict[str, int], dict[tuple[str, int], tuple[int, int]]]:
    """Return a hash of each document, and of the text and the sentences of each summary by document and system.

    `number_of` maps systems to their numbers. If `read` is False, no text is read, and all hashes are 0.
    """
    if not read:
        by_document = run.data.systems_by_document()
        items = [(name, number_of[system]) for name, systems in by_document.items() for system in systems]
        return dict.fromkeys(by_document, 0), dict.fromkeys(items, (0, 0))
    documents, summaries = {}, {}
    for document, of_document in run.data.items():
        documents[document.id] = hash(document.text)
        for each in of_document:
            sentences = hash(tuple((span.start, span.end) for span in each.sentences))
            summaries[document.id, number_of[each.system]] = hash(each.text), sentences
    return documents, summaries
