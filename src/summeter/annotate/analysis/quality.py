"""How good a campaign's answers are: agreement by domain and length with intervals, and every annotator's standing.

The coefficients are those of `meta agree`; nothing is computed twice. An annotator's agreement is that with the merged
votes of the others, as there, averaged over the aspects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from summeter.annotate.analysis.aggregate import QUESTIONS, judgments_of, question_votes_of, votes_of
from summeter.annotate.analysis.automation_bias import Case, automation_bias, cases, endorsement_rate
from summeter.annotate.analysis.status import facts
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Person
from summeter.annotate.tasks.base import Kind
from summeter.annotate.tasks.questions import MEASURED
from summeter.choices import QuestionType
from summeter.data.dataset import Dataset
from summeter.data.human import RAW
from summeter.meta import agree
from summeter.meta._agree import leave_one_out
from summeter.meta.results import Row, Study
from summeter.meta.verdicts import ABOVE, against_chance
from summeter.records import Judgment, Summary, UsageError
from summeter.scoring.table import JudgmentTable, Names
from summeter.text.ngrams import words

Json = dict[str, Any]
BANDS = ("short", "medium", "long")
FEWEST = 5
"""An annotator who shares fewer answers with others is not measured: chance would speak."""
RESAMPLES = 400
_QUESTIONS = frozenset(f"human.{kind}|merge:none|v:1" for kind in QuestionType)
ENOUGH = 0.667
"""Alpha from here on allows tentative conclusions (Krippendorff, 2004); from .8 it is called good."""


class Standing(NamedTuple):
    """How one annotator's answers stand beside the others'.

    `agreement` is the mean over aspects of the coefficient with the others' merged votes (`by_aspect`), None where
    `why` says why. `pace` is the median time beside the campaign's. `endorsement` is the share of answers that say
    what the machine says where it is wrong, of `endorsement_n`.
    """

    person: Person
    pace: float | None
    agreement: float | None
    by_aspect: dict[str, float | None]
    why: str | None
    endorsement: float | None
    endorsement_n: int

    def to_json(self) -> Json:
        """As `--json` and the page give it."""
        seen = self.person.checks_seen
        rate = self.person.checks_passed / seen if seen else None
        compared = {name: value for name, value in self._asdict().items() if name != "person"}
        return {**facts(self.person), **compared, "check_rate": rate}


class Quality(NamedTuple):
    """Agreement (rows of the study "agree"), annotators in order of joining, and what assistance does.

    `pass_share` is the campaign's own: who passes a smaller share of checks is marked.
    """

    kind: str
    statistic: str
    pass_share: float
    agreement: Study
    annotators: tuple[Standing, ...]
    assistance: tuple[Row, ...]
    notes: tuple[str, ...]

    def headline(self) -> list[Row]:
        """One row an aspect: the coefficient of this kind of task over all documents, of a campaign's own question the
        one that suits its answers."""
        rows: dict[str | None, Row] = {}
        for row in self.agreement.where(study="agreement"):
            main = row.statistic == self.statistic or row.gold_signature in _QUESTIONS
            if main and _whole(row):
                rows.setdefault(row.aspect, row)
        return list(rows.values())

    def to_json(self) -> Json:
        """As `--json` and the page give it."""
        return {
            "kind": self.kind,
            "statistic": self.statistic,
            "pass_share": self.pass_share,
            "agreement": self.agreement.to_dicts(),
            "said": [
                {"aspect": row.aspect, "statistic": row.statistic, "words": in_words(row)} for row in self.headline()
            ],
            "annotators": [annotator.to_json() for annotator in self.annotators],
            "assistance": [row.model_dump() for row in self.assistance],
            "notes": list(self.notes),
        }


def quality(service: CampaignService, resamples: int = RESAMPLES, *, brief: bool = False) -> Quality:
    """Everything above, from the answers that count now. Raises nothing for a campaign that has just begun.

    `brief` leaves out all agreement but the headline: what `annotate status` prints, in a fraction of the time.
    """
    notes: list[str] = []
    crowd = crowd_votes(service)
    try:
        study = _headline(service, crowd, resamples) if brief else agreement(service, resamples)
    except UsageError as error:
        study, notes = Study("agree", []), [f"no agreement yet: {error}"]
    wrong = cases(service)
    annotators = tuple(standings(service, wrong, crowd))
    counting = {person.annotator for person in service.state.counting}
    return Quality(
        kind=service.campaign.kind,
        statistic=service.kind.coefficients[0],
        pass_share=service.campaign.attention.pass_share,
        agreement=study,
        annotators=annotators,
        assistance=tuple(automation_bias([case for case in wrong if case.annotator in counting])),
        notes=(*notes, *_clock_notes(annotators)),
    )


def agreement(service: CampaignService, resamples: int = 1000) -> Study:
    """Agreement of the counted answers: of all, by domain where documents have one, by length of the document.

    Every row says the kind of task in `details.kind`. Lengths are thirds of the documents by their number of words.
    Raises UsageError where nobody has answered yet.
    """
    votes = [_on_one_unit(judgment) for judgment in judgments_of(service)]
    _check_any(votes)
    rows: list[Row] = []
    study = Study("agree", [])
    notes: list[Any] = []
    for part, coefficients in _parts(service.kind, votes):
        data = _panel(service, part)
        columns: list[str | None] = []
        if any(document.domain for document in data.documents.values()):
            columns.append("domain")
        if len(data.documents) >= len(BANDS):
            columns.append("length")
        some: list[Row] = []
        for by in columns or [None]:
            study = agree(data, by=by, coefficients=coefficients, resamples=resamples)
            some += [row for row in study if not (some and _whole(row))]
        rows += some
        notes += study.notes
    return _of_kind(service, rows, notes)


def _parts(kind: Kind, votes: Sequence[Judgment]) -> Iterator[tuple[list[Judgment], tuple[str, ...]]]:
    """The votes on what the kind asks, with its coefficients; those on the campaign's questions, which have their own.

    Free text is in neither.
    """
    yield [judgment for judgment in votes if judgment.signature not in QUESTIONS], kind.coefficients
    questions = [judgment for judgment in votes if judgment.signature in MEASURED]
    if questions:
        yield questions, ()


def _headline(service: CampaignService, crowd: JudgmentTable, resamples: int) -> Study:
    """Agreement of all, by the first coefficient of the kind."""
    _check_any(crowd)
    rows = list(agree(crowd, coefficients=service.kind.coefficients[:1], resamples=resamples))
    questions = [_on_one_unit(vote) for vote in question_votes_of(service) if vote.signature in MEASURED]
    if questions:
        rows += agree(questions, resamples=resamples)
    return _of_kind(service, rows, ())


def _of_kind(service: CampaignService, rows: Iterable[Row], notes: Sequence[Any]) -> Study:
    kind = {"kind": service.campaign.kind}
    return Study("agree", [row.model_copy(update={"details": {**row.details, **kind}}) for row in rows], notes)


def _check_any(votes: Sized) -> None:
    if not len(votes):
        raise UsageError("nobody has answered yet")


def crowd_votes(service: CampaignService) -> JudgmentTable:
    """The counted answers."""
    return crowd_of(votes_of(service))


def crowd_of(table: JudgmentTable) -> JudgmentTable:
    """Votes, each pair of summaries as one unit."""
    pairs = ~table.rival.equal(None)
    if not pairs.any():
        return table
    names = zip(table.system.labels(), table.rival.labels(), pairs, strict=True)
    system = Names.of(f"{system} vs {rival}" if pair else system for system, rival, pair in names)
    unit = Names.of("summary" if pair else name for name, pair in zip(table.unit.labels(), pairs, strict=True))
    label = np.where(pairs, table.value, table.label)  # one of three verdicts, no number to average
    return replace(table, system=system, rival=Names.same(None, len(table)), unit=unit, label=label)


def _panel(service: CampaignService, votes: Sequence[Judgment]) -> Dataset:
    """The campaign's data with the counted answers and a column `length`."""
    _check_any(votes)
    data = service.folder.data
    summaries = {(summary.document_id, summary.system): summary for summary in data.summaries}
    for target in (judgment.target for judgment in votes):
        pair = target.document_id, target.system
        if pair not in summaries:
            summaries[pair] = Summary(document_id=pair[0], system=pair[1], text="", splitter="none")
    bands = _bands({name: len(words(document.text)) for name, document in data.documents.items()})
    banded = [
        summary.model_copy(update={"extra": {**summary.extra, "length": bands[summary.document_id]}})
        for summary in summaries.values()
    ]
    return Dataset(data.documents, banded, {}, data.card).with_judgments(RAW, votes)


def _on_one_unit(judgment: Judgment) -> Judgment:
    """A choice between two summaries as a vote on the pair."""
    target = judgment.target
    if target.rival is None:
        return judgment
    pair = target.model_copy(update={"system": f"{target.system} vs {target.rival}", "rival": None, "unit": "summary"})
    return judgment.model_copy(update={"target": pair})


def _bands(lengths: dict[str, int]) -> dict[str, str]:
    """Thirds by length; equal lengths stand in one band.

    >>> _bands({"a": 5, "b": 9, "c": 7})
    {'a': 'short', 'b': 'long', 'c': 'medium'}
    """
    ordered = sorted(lengths.values())
    place = {length: ordered.index(length) * len(BANDS) // len(ordered) for length in ordered}
    return {name: BANDS[place[length]] for name, length in lengths.items()}


def standings(
    service: CampaignService, wrong: list[Case] | None = None, crowd: JudgmentTable | None = None
) -> list[Standing]:
    """Every annotator, in order of joining.

    `wrong` are the cases of `automation_bias.cases`, `crowd` the counted answers, where known already.
    """
    wrong = cases(service) if wrong is None else wrong
    people = service.state.people.values()
    times = [answer.seconds for person in people for answer in person.answers.values()]
    usual = median(times) if times else None
    agreed, why = _agreement_by_annotator(service, crowd_votes(service) if crowd is None else crowd)
    follows: dict[str, list[Case]] = {}
    for case in wrong:
        follows.setdefault(case.annotator, []).append(case)
    annotators = []
    for person in people:
        by_aspect = agreed.get(person.annotator, {})
        main = [value for aspect, value in by_aspect.items() if aspect not in service.kind.side_aspects]
        values = [value for value in main if value is not None]
        no_value = "answers of excluded people are set beside nobody's" if person.excluded else why
        seconds = person.seconds_median
        standing = Standing(
            person,
            seconds / usual if seconds is not None and usual else None,
            fmean(values) if values else None,
            by_aspect,
            None if values else no_value,
            *endorsement_rate(follows.get(person.annotator, [])),
        )
        annotators.append(standing)
    return annotators


def _agreement_by_annotator(
    service: CampaignService, crowd: JudgmentTable
) -> tuple[dict[str, dict[str, float | None]], str]:
    """By annotator and aspect: the coefficient with the merged votes of the others, as `meta agree` has it."""
    agreed: dict[str, dict[str, float | None]] = {}
    try:
        _check_any(crowd)
        for each in leave_one_out(crowd, service.kind.coefficients[0]):
            agreed.setdefault(each.annotator, {})[each.aspect] = each.value if each.n >= FEWEST else None
    except UsageError as error:
        return {}, str(error)
    return agreed, f"fewer than {FEWEST} answers that others gave too, or all are the same"


def _clock_notes(annotators: Sequence[Standing]) -> Iterator[str]:
    for person in (annotator.person for annotator in annotators):
        n = person.contradicted
        if n:
            claim = "claims" if n == 1 else "claim"
            yield (
                f"{n} of {len(person.answers)} answers of {person.annotator} {claim} more time than had passed "
                "by the server's clock"
            )


def _whole(row: Row) -> bool:
    """Whether a row is of all documents."""
    return row.domain is None and "group" not in row.details


def in_words(row: Row) -> str:
    """A coefficient in words, by the limits that are customary for alpha (Krippendorff, 2004): .667 and .8.

    >>> in_words(Row(study="agreement", statistic="alpha_nominal", value=0.02, low=-0.01, high=0.05, n=9))
    'cannot be told from chance'
    """
    if row.value is None:
        return f"cannot be said: {row.reason}"
    if (verdict := against_chance(row.statistic, row.low, row.high)) != ABOVE:
        return verdict
    if row.value >= 0.8:
        return "good"
    if row.value >= ENOUGH:
        return "enough for tentative conclusions"
    return f"{ABOVE}, but under the customary .667"
