"""Which source of a document supports each sentence or claim, conflicts among sources, and claims that none supports.

The study compares a run with the run in its folder `by_source`, in which the same judges judged each source alone.
Rows of `sources` have these statistics, for each judge:

    by_one_source   share of the sentences or claims that at least one source supports alone
    only_together   share that no source supports alone, but all sources together
    unsupported     share that neither a source alone nor all sources together support
    conflict        share that one source supports and another contradicts
    supports        share that a source (`details.group`) supports alone; `contradicts`: share that it contradicts

Rows of `source_units` are single sentences or claims; the value is the number of sources that support it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from summeter.meta.inputs import JudgeInput, RunLike, judge_input
from summeter.meta.measure import Statistic, measure
from summeter.meta.options import By, CommandLine, Draws, Judges, study
from summeter.meta.results import Row, Study, merged
from summeter.meta.sample import Rater, Sample, Units
from summeter.meta.texts import Texts
from summeter.pages.numbers import count
from summeter.records import JudgeKey, Judgment, Parameter, UsageError, judge_names
from summeter.runs.run import RunFolder
from summeter.scoring.table import Categorical, Question
from summeter.stats import Measurement
from summeter.stats.base import EMPTY, Ints

STUDY, UNITS = "sources", "source_units"
CONFLICT, TOGETHER, UNSUPPORTED, SUPPORTED = "conflict", "only together", "unsupported", "supported"
OUTCOMES = (CONFLICT, TOGETHER, UNSUPPORTED, SUPPORTED, None)
"""Outcomes of a sentence or claim, in the order of the rows; None if it is unknown because a judgment is missing."""
UNTOLD = "the judge does not distinguish contradiction from absence"
FEW = 20
"""Number of sources above which those of a single document have no rows of their own."""

Key = tuple[str, str, str, int | None, str | None]
"""A sentence or claim: document, system, unit, index and list."""


class SourcesOptions(Judges, By, Draws):
    """The options of `sources`."""

    aspect: Annotated[str | Sequence[str] | None, CommandLine(metavar="A")] = Field(
        "faithfulness", description="Aspect in which a source supports a sentence or claim. Repeatable."
    )
    most: int = Field(
        100, ge=0, description="Maximum number of sentences or claims of each judge to list, conflicts first."
    )


class _Statement(NamedTuple):
    """A sentence or claim with its judgment on all sources together, and on each source alone by the source's id."""

    key: Key
    whole: Judgment
    alone: Mapping[str, Judgment | None]

    @property
    def supporting(self) -> list[str]:
        return [source for source, judgment in self.alone.items() if judgment is not None and judgment.label == 1]

    @property
    def contradicting(self) -> list[str]:
        return [source for source, judgment in self.alone.items() if judgment is not None and judgment.contradicted]

    @property
    def is_complete(self) -> bool:
        """Whether no judgment is missing. Shares are over such units: others count as supported more easily."""
        return self.whole.label is not None and None not in self.alone.values()

    @property
    def is_conflict(self) -> bool | None:
        """Whether one source supports and another contradicts the unit, or None if this is unknown."""
        if self.supporting and self.contradicting:
            return True
        unknown = any(each is None or (each.label != 1 and each.contradicted is None) for each in self.alone.values())
        return None if unknown else False

    @property
    def outcome(self) -> str | None:
        if self.is_conflict:
            return CONFLICT
        if self.supporting:
            return SUPPORTED
        if not self.is_complete:
            return None
        return TOGETHER if self.whole.label == 1 else UNSUPPORTED


@study(SourcesOptions, command="RUN")
def sources(run: RunLike, options: SourcesOptions) -> Study:
    """Show which source supports each claim, and conflicts.

    The run must contain judgments of each source alone (`summeter score --by-source`). A sentence or claim is supported
    by a source if the judge labels it 1 when it reads only this source. Only documents with several sources are
    studied. `conflict` needs a judge that says whether a source contradicts a claim or does not mention it
    (`finesure.fact_check`, `fenice`, `summac`); for other judges its value is None. `missing` counts sentences or
    claims without a judgment on one of the sources or on all together, which are left out of these shares. If there are
    more than 20 sources, those that only one document has get no rows `supports` and `contradicts`; the rows of
    sentences and claims name them.

    Raises UsageError if the run has no judgments of single sources, or if no judge labelled sentences or claims.

        print(sm.meta.sources("runs/meeting"))
    """
    both = judge_input(run)
    folder = next(iter(both.folders.values()), None)
    if folder is None or len(both.folders) > 1:
        raise UsageError("this study takes one run")
    if (inside := folder.by_source()) is None:
        why = f"{folder.folder} contains no judgments of single sources; repeat the summeter score command with "
        raise UsageError(why, Parameter("by_source"))
    shares, listed, notes = list[Row](), list[Row](), list[str]()
    texts = Texts(folder.data), Texts(inside.data)
    documents = folder.data.documents.values()
    several = {each.id: [source.id for source in each.sources] for each in documents if len(each.sources) > 1}
    fields = {question: both.fields(question) for question in both.questions(options.judge_aspects, options.judge)}
    keys = {question: JudgeKey(each["judge"], each["signature"], each["model"]) for question, each in fields.items()}
    names = judge_names(keys.values())
    for question, of_judge in fields.items():
        by_level: dict[str, list[_Statement]] = {}
        for unit in _statements(folder, inside, question, several):
            by_level.setdefault(unit.key[2], []).append(unit)
        for level, units in by_level.items():
            units.sort(key=lambda unit: OUTCOMES.index(unit.outcome))
            about = {**of_judge, "level": level}
            judged = [each for unit in units for each in unit.alone.values() if each is not None]
            untold = UNTOLD if judged and all(each.contradicted is None for each in judged) else None
            shares += _shares(both, about, units, options, untold)
            listed += (_listed(*texts, about, unit) for unit in units[: options.most])
            notes.append(_sentence(names[keys[question]], about, units, untold))
            if len(units) > options.most:
                notes.append(f"{options.most:,} of {count(len(units), level)} are listed")
    if not shares:
        raise UsageError("no judge of the run labelled sentences or claims of a document with several sources")
    if (status := inside.manifest.status) != "complete":
        notes.append(f"{inside.folder} is {status}, not complete")
    return Study(STUDY, [*shares, *listed], notes)


def _statements(
    folder: RunFolder, inside: RunFolder, question: Question, several: Mapping[str, Sequence[str]]
) -> Iterator[_Statement]:
    """Yield the sentences and claims that a judge labelled in the documents `several`, given with their sources."""
    together, single = (
        [
            judgment
            for judgment in (confirmed[question.signature].rows() if question.signature in confirmed else ())
            if judgment.aspect == question.aspect and judgment.target.unit in {"sentence", "claim"}
        ]
        for confirmed in (folder.confirmed(), inside.confirmed())
    )
    alone = {_key(each): each for each in single if each.status == "ok"}
    for judgment in together:
        key = _key(judgment)
        if (document := key[0]) in several:
            of_sources = {name: alone.get((f"{document}/{name}", *key[1:])) for name in several[document]}
            yield _Statement(key, judgment, of_sources)


def _key(judgment: Judgment) -> Key:
    target = judgment.target
    return target.document_id, target.system, target.unit, target.index, target.list_id


def _shares(
    both: JudgeInput, about: Mapping[str, Any], units: Sequence[_Statement], options: SourcesOptions, untold: str | None
) -> Iterator[Row]:
    """Yield the shares of sentences or claims by outcome, and those that each source supports and contradicts."""

    def share(
        name: str, values: Sequence[tuple[_Statement, bool | None]], why: str | None = None, **group: str
    ) -> list[Row]:
        documents, systems, _, indexes, lists = zip(*(unit.key for unit, _ in values), strict=True)
        index = np.array([-1 if each is None else each for each in indexes], np.int64)
        document, system = Categorical.of(documents), Categorical.of(systems)
        sample = Sample.of_values(
            Units(about["level"], document, system, Categorical.of(lists), index, both.context),
            [Rater(about["judge"], about["signature"], about["model"], about["aspect"])],
            np.array([[np.nan if value is None or why else float(value) for _, value in values]]),
        )
        statistic = Statistic(name, partial(_mean, why=why), two=True)
        fields = merged(about, {"details": {"by": "source", **group} if group else {}})
        by = None if group else options.by
        return list(measure(sample, [statistic], study=STUDY, draws=options.resampling, by=by, about=fields))

    def outcomes(*names: str) -> list[tuple[_Statement, bool | None]]:
        return [(unit, unit.outcome in names if unit.is_complete else None) for unit in units]

    yield from share("by_one_source", outcomes(SUPPORTED, CONFLICT))
    yield from share("only_together", outcomes(TOGETHER))
    yield from share("unsupported", outcomes(UNSUPPORTED))
    yield from share("conflict", [(unit, unit.is_conflict if unit.is_complete else None) for unit in units], untold)
    documents: dict[str, set[str]] = {}
    for unit in units:
        for source in unit.alone:
            documents.setdefault(source, set()).add(unit.key[0])
    for source, of in documents.items():
        if len(of) > 1 or len(documents) <= FEW:
            alone = [(unit, unit.alone[source]) for unit in units if source in unit.alone]
            supports = [(unit, None if each is None else each.label == 1) for unit, each in alone]
            yield from share("supports", supports, group=source)
            if untold is None:
                contradicts = [(unit, None if each is None else each.contradicted) for unit, each in alone]
                yield from share("contradicts", contradicts, group=source)


def _mean(sample: Sample, clusters: Ints, why: str | None) -> Measurement:  # noqa: ARG001
    values = sample.x
    return Measurement(float(values.mean()) if len(values) else None, len(values), reason=why or EMPTY, rows=values)


def _listed(together: Texts, alone: Texts, about: Mapping[str, Any], unit: _Statement) -> Row:
    """Return the row of a sentence or claim, with the evidence; its offsets for a single source are those there."""
    document, system, _, index, _ = unit.key

    def shown(judgment: Judgment, texts: Texts) -> dict[str, Any]:
        fields = judgment.model_dump(include={"label", "value", "contradicted", "reason"})
        return fields | {"evidence": [each.model_dump(exclude_none=True) for each in texts.evidence(judgment)]}

    details = {
        "document": document,
        "index": index,
        "text": together.judged(unit.whole),
        "outcome": unit.outcome or "unknown",
        "supported_by": unit.supporting,
        "contradicted_by": unit.contradicting,
        "together": shown(unit.whole, together),
        "alone": {name: each and shown(each, alone) for name, each in unit.alone.items()},
        "columns": ["document", "text", "outcome", "supported_by", "contradicted_by"],
    }
    judged = sum(each is not None for each in unit.alone.values())
    unknown = {} if judged else {"status": "undefined", "reason": "no source has a judgment"}
    return Row(
        **about, **unknown, study=UNITS, statistic="supporting_sources", n=judged,
        value=len(unit.supporting) if judged else None,
        missing=len(unit.alone) - judged, system=system, details=details,
    )  # fmt: skip


def _sentence(judge: str, about: Mapping[str, Any], units: Sequence[_Statement], why: str | None) -> str:
    """Return what a judge found in words."""
    numbers = Counter(unit.outcome for unit in units)
    supported = numbers[SUPPORTED] + numbers[CONFLICT]
    conflicts = f"{numbers[CONFLICT]:,} of them contradicted by another" if why is None else f"conflicts unknown: {why}"
    unknown = f"; {numbers[None]:,} unknown" if numbers[None] else ""
    return (
        f"{about['aspect']} by {judge}: of {count(len(units), about['level'])}, {supported:,} are supported "
        f"by a source alone ({conflicts}), {numbers[TOGETHER]:,} only by the sources together, and "
        f"{numbers[UNSUPPORTED]:,} by neither{unknown}"
    )
