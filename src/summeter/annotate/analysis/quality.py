"""How good a campaign's answers are: agreement by domain and length with intervals, and statistics of every annotator.

The coefficients are those of `meta agree`; nothing is computed twice. An annotator's agreement is that with the merged
votes of the others, as there, averaged over the aspects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from summeter.annotate.analysis.aggregate import QUESTIONS, judgments_of, question_votes_of, votes_of
from summeter.annotate.analysis.automation_bias import Case, automation_bias, cases, endorsement_rate
from summeter.annotate.analysis.status import facts
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Person
from summeter.annotate.tasks.questions import MEASURED
from summeter.choices import QuestionType
from summeter.meta import agree
from summeter.meta._agree import SPAN_F1, leave_one_out
from summeter.meta.context import Context
from summeter.meta.results import Row, Study
from summeter.meta.verdicts import ABOVE, against_chance
from summeter.records import Judgment, UsageError
from summeter.scoring.table import Categorical, JudgmentTable
from summeter.text.ngrams import words

Json = dict[str, Any]
BANDS = ("short", "medium", "long")
FEWEST = 5
"""An annotator who shares fewer answers with others is not measured: chance would speak."""
RESAMPLES = 400
NO_ANSWERS = "nobody has answered yet"
_QUESTIONS = frozenset(f"human.{kind}|merge:none|v:1" for kind in QuestionType)
ENOUGH = 0.667
"""Alpha from here on allows tentative conclusions (Krippendorff, 2004); from .8 it is called good."""


class AnnotatorStatistics(NamedTuple):
    """Statistics of one annotator.

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

    statistic: str
    pass_share: float
    agreement: Study
    annotators: tuple[AnnotatorStatistics, ...]
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


def quality(service: CampaignService, resamples: int = RESAMPLES, *, brief: bool = False) -> Quality:
    """Everything above, from the answers that count now. Raises nothing for a campaign that has just begun.

    `brief` leaves out all agreement but the headline: what `annotate status` prints, in a fraction of the time.
    """
    notes: list[str] = []
    crowd = crowd_votes(service)
    try:
        study = agreement(service, resamples, crowd=crowd, brief=brief)
    except UsageError as error:
        study, notes = Study("agree", []), [f"no agreement yet: {error}"]
    wrong = cases(service)
    annotators = tuple(annotator_statistics(service, wrong, crowd))
    counting = {person.annotator for person in service.state.not_excluded}
    return Quality(
        statistic=service.task_type.coefficients[0],
        pass_share=service.campaign.attention.pass_share,
        agreement=study,
        annotators=annotators,
        assistance=tuple(automation_bias([case for case in wrong if case.annotator in counting])),
        notes=(*notes, *_clock_notes(annotators)),
    )


def agreement(
    service: CampaignService, resamples: int = 1000, *, crowd: JudgmentTable | None = None, brief: bool = False
) -> Study:
    """Agreement of the counted answers: of all, by domain where documents have one, by length of the document.

    Every row says the kind of task in `details.kind`. Lengths are thirds of the documents by their number of words.
    `brief` gives the first coefficient, of all. Questions of the campaign have the coefficients that suit them; free
    text has none. `crowd` are the counted answers, where known already. Raises UsageError without any.
    """
    crowd = crowd_votes(service) if crowd is None else crowd
    if not len(crowd):
        raise UsageError(NO_ANSWERS)
    coefficients = service.task_type.coefficients[:1] if brief else service.task_type.coefficients
    votes: JudgmentTable | list[Judgment] = crowd
    if SPAN_F1 in coefficients:  # of the marks themselves, which a table does not hold
        votes = [vote for vote in judgments_of(service) if vote.signature not in QUESTIONS]
    questions = [vote for vote in question_votes_of(service) if vote.signature in MEASURED]
    context, columns = (Context(), [None]) if brief else _columns(service, crowd)
    rows: list[Row] = []
    notes: list[Any] = []
    for some, chosen in ((votes, coefficients), (crowd_of(JudgmentTable.of(questions)), ())):
        own: list[Row] = []
        for by in columns if len(some) else ():
            study = agree(some, by=by, coefficients=chosen, resamples=resamples, context=context)
            own += [row for row in study if not (own and _whole(row))]
            notes += study.notes
        rows += own
    kind = {"kind": service.campaign.task_type}
    return Study("agree", [row.model_copy(update={"details": {**row.details, **kind}}) for row in rows], notes)


def _columns(service: CampaignService, votes: JudgmentTable) -> tuple[Context, Sequence[str | None]]:
    """The domains and lengths of the documents, and which of these columns tell documents apart."""
    documents = service.folder.data.documents
    bands = _bands({name: len(words(document.text)) for name, document in documents.items()})
    items = set(zip(votes.document.labels(), votes.system.labels(), strict=True))
    context = Context(
        domains={name: document.domain for name, document in documents.items()},
        extra={"length": {(document, system): bands[document] for document, system in items}},
    )
    columns = ["domain"] if any(document.domain for document in documents.values()) else []
    columns += ["length"] if len(documents) >= len(BANDS) else []
    return context, columns or [None]


def crowd_votes(service: CampaignService) -> JudgmentTable:
    """The counted answers."""
    return crowd_of(votes_of(service))


def crowd_of(table: JudgmentTable) -> JudgmentTable:
    """Votes, each pair of summaries as one unit."""
    pairs = ~table.rival.equal(None)
    if not pairs.any():
        return table
    names = zip(table.system.labels(), table.rival.labels(), pairs, strict=True)
    system = Categorical.of(f"{system} vs {rival}" if pair else system for system, rival, pair in names)
    unit = Categorical.of("summary" if pair else name for name, pair in zip(table.unit.labels(), pairs, strict=True))
    label = np.where(pairs, table.value, table.label)  # one of three verdicts, no number to average
    return replace(table, system=system, rival=Categorical.same(None, len(table)), unit=unit, label=label)


def _bands(lengths: dict[str, int]) -> dict[str, str]:
    """Thirds by length; equal lengths stand in one band.

    >>> _bands({"a": 5, "b": 9, "c": 7})
    {'a': 'short', 'b': 'long', 'c': 'medium'}
    """
    ordered = sorted(lengths.values())
    place = {length: ordered.index(length) * len(BANDS) // len(ordered) for length in ordered}
    return {name: BANDS[place[length]] for name, length in lengths.items()}


def annotator_statistics(
    service: CampaignService, wrong: list[Case] | None = None, crowd: JudgmentTable | None = None
) -> list[AnnotatorStatistics]:
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
        main = [value for aspect, value in by_aspect.items() if aspect not in service.task_type.side_aspects]
        values = [value for value in main if value is not None]
        no_value = "answers of excluded annotators are not compared" if person.excluded else why
        seconds = person.seconds_median
        one = AnnotatorStatistics(
            person,
            seconds / usual if seconds is not None and usual else None,
            fmean(values) if values else None,
            by_aspect,
            None if values else no_value,
            *endorsement_rate(follows.get(person.annotator, [])),
        )
        annotators.append(one)
    return annotators


def _agreement_by_annotator(
    service: CampaignService, crowd: JudgmentTable
) -> tuple[dict[str, dict[str, float | None]], str]:
    """By annotator and aspect: the coefficient with the merged votes of the others, as `meta agree` has it."""
    agreed: dict[str, dict[str, float | None]] = {}
    try:
        if not len(crowd):
            raise UsageError(NO_ANSWERS)
        for each in leave_one_out(crowd, service.task_type.coefficients[0]):
            agreed.setdefault(each.annotator, {})[each.aspect] = each.value if each.n >= FEWEST else None
    except UsageError as error:
        return {}, str(error)
    return agreed, f"fewer than {FEWEST} answers that others gave too, or all are the same"


def _clock_notes(annotators: Sequence[AnnotatorStatistics]) -> Iterator[str]:
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
