"""Quality of a campaign's answers: agreement, and statistics of annotators.

The coefficients are those of `meta agree`. The agreement of an annotator is the agreement with the merged votes of the
other annotators, averaged over the aspects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from summeter.annotate.analysis.aggregate import QUESTIONS, judgments_of, question_votes_of, votes_of
from summeter.annotate.analysis.automation_bias import Case, automation_bias, cases, endorsement_rate
from summeter.annotate.analysis.status import row_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.tasks.questions import COMPARABLE
from summeter.choices import QuestionType
from summeter.meta import agree
from summeter.meta._agree import SPAN_F1, leave_one_out
from summeter.meta.results import Row, Study
from summeter.meta.sample import Context
from summeter.meta.verdicts import ABOVE, against_chance
from summeter.records import Judgment, UsageError
from summeter.scoring.table import Categorical, JudgmentTable
from summeter.text.ngrams import words

Json = dict[str, Any]
BANDS = ("short", "medium", "long")
FEWEST = 5
"""Minimum number of answers on units shared with others that an annotator's agreement requires."""
RESAMPLES = 400
NO_ANSWERS = "there are no answers yet"
_QUESTIONS = frozenset(f"human.{type_}|merge:none|v:1" for type_ in QuestionType)
TENTATIVE = 0.667
"""Minimum alpha for tentative conclusions (Krippendorff, 2004); alpha is considered good from 0.8."""


class Quality(NamedTuple):
    """Agreement, the rows of `annotator_statistics`, and automation bias.

    `statistic` is the main agreement coefficient of the task type.
    """

    statistic: str
    agreement: Study
    annotators: list[Json]
    assistance: tuple[Row, ...]
    notes: tuple[str, ...]

    def headline(self) -> list[Row]:
        """Return one row per aspect, with the main coefficient over all documents."""
        rows: dict[str | None, Row] = {}
        for row in self.agreement.where(study="agreement"):
            is_main = row.statistic == self.statistic or row.gold_signature in _QUESTIONS
            if is_main and _is_of_all_documents(row):
                rows.setdefault(row.aspect, row)
        return list(rows.values())


def quality(service: CampaignService, resamples: int = RESAMPLES, *, brief: bool = False) -> Quality:
    """Return the quality of the counted answers.

    If there are no answers, the result is empty except for a note. With `brief`, only the main coefficients over all
    documents are computed, which is much faster.
    """
    notes: list[str] = []
    crowd = crowd_votes(service)
    try:
        study = agreement(service, resamples, crowd=crowd, brief=brief)
    except UsageError as error:
        study, notes = Study("agree", []), [f"no agreement yet: {error}"]
    wrong = cases(service)
    annotators = annotator_statistics(service, wrong, crowd)
    for row in annotators:
        if n := row["contradicted"]:
            notes.append(
                f"{n} of {row['answered']} answers of {row['annotator']} {'claims' if n == 1 else 'claim'} more time "
                "than had passed by the server's clock"
            )
    not_excluded = {person.annotator for person in service.state.not_excluded}
    return Quality(
        statistic=service.task_type.coefficients[0],
        agreement=study,
        annotators=annotators,
        assistance=tuple(automation_bias([case for case in wrong if case.annotator in not_excluded])),
        notes=tuple(notes),
    )


def agreement(
    service: CampaignService, resamples: int = 1000, *, crowd: JudgmentTable | None = None, brief: bool = False
) -> Study:
    """Return the agreement over all documents, by domain and by document length.

    The agreement is computed from the counted answers. `details.kind` of each row is the task type. Lengths are thirds
    of the documents by number of words. With `brief`, only the first coefficient over all documents is computed.
    Additional questions have the coefficients that suit the type of their answers; free text has none. `crowd` is the
    result of `crowd_votes`, if it is available already. Raises UsageError if there are no answers.
    """
    crowd = crowd_votes(service) if crowd is None else crowd
    if not len(crowd):
        raise UsageError(NO_ANSWERS)
    coefficients = service.task_type.coefficients[:1] if brief else service.task_type.coefficients
    votes: JudgmentTable | list[Judgment] = crowd
    if SPAN_F1 in coefficients:  # span F1 needs the spans, which a table does not contain
        votes = [vote for vote in judgments_of(service) if vote.signature not in QUESTIONS]
    questions = [vote for vote in question_votes_of(service) if vote.signature in COMPARABLE]
    context, columns = (Context(), [None]) if brief else _columns(service, crowd)
    rows: list[Row] = []
    notes: list[Any] = []
    for judgments, chosen in ((votes, coefficients), (crowd_of(JudgmentTable.of(questions)), ())):
        found: list[Row] = []
        for by in columns if len(judgments) else ():
            study = agree(judgments, by=by, coefficients=chosen, resamples=resamples, context=context)
            found += [row for row in study if not (found and _is_of_all_documents(row))]
            notes += study.notes
        rows += found
    details = {"kind": service.campaign.task_type}
    return Study("agree", [row.model_copy(update={"details": {**row.details, **details}}) for row in rows], notes)


def _columns(service: CampaignService, votes: JudgmentTable) -> tuple[Context, Sequence[str | None]]:
    """Return the domains and length classes of documents, and the columns to group by."""
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
    """Return the votes of the counted answers, with each pair of summaries as one unit."""
    return crowd_of(votes_of(service))


def crowd_of(table: JudgmentTable) -> JudgmentTable:
    """Return a table of votes with each pair of summaries as one unit."""
    pairs = ~table.rival.equal(None)
    if not pairs.any():
        return table
    names = zip(table.system.labels(), table.rival.labels(), pairs, strict=True)
    system = Categorical.of(f"{system} vs {rival}" if pair else system for system, rival, pair in names)
    unit = Categorical.of("summary" if pair else name for name, pair in zip(table.unit.labels(), pairs, strict=True))
    label = np.where(pairs, table.value, table.label)  # a pair has three labels, not numbers to average
    return replace(table, system=system, rival=Categorical.same(None, len(table)), unit=unit, label=label)


def _bands(lengths: dict[str, int]) -> dict[str, str]:
    """Return the length class of each document, which is a third of the documents.

    Documents of equal length are in the same class.
    >>> _bands({"a": 5, "b": 9, "c": 7})
    {'a': 'short', 'b': 'long', 'c': 'medium'}
    """
    ordered = sorted(lengths.values())
    thirds = {length: ordered.index(length) * len(BANDS) // len(ordered) for length in ordered}
    return {name: BANDS[thirds[length]] for name, length in lengths.items()}


def annotator_statistics(
    service: CampaignService, wrong: list[Case] | None = None, crowd: JudgmentTable | None = None
) -> list[Json]:
    """Return the row of each annotator (`status.row_of`) with further statistics, in order of joining.

    `by_aspect` contains the agreement with the merged votes of the other annotators, and `agreement` the mean over
    aspects; if it is None, `why` gives the reason. `pace` is the annotator's median time per task divided by that of
    the campaign. `endorsement` is the fraction of the `endorsement_n` answers to wrong machine verdicts that agree with
    the machine.

    `wrong` is the result of `automation_bias.cases`, and `crowd` that of `crowd_votes`, if available already.
    """
    wrong = cases(service) if wrong is None else wrong
    people = service.state.people.values()
    times = [answer.seconds for person in people for answer in person.answers.values()]
    campaign_median = median(times) if times else None
    agreements, why = _agreement_by_annotator(service, crowd_votes(service) if crowd is None else crowd)
    cases_by_annotator: dict[str, list[Case]] = {}
    for case in wrong:
        cases_by_annotator.setdefault(case.annotator, []).append(case)
    rows = []
    for person in people:
        by_aspect = agreements.get(person.annotator, {})
        main = [value for aspect, value in by_aspect.items() if aspect not in service.task_type.side_aspects]
        values = [value for value in main if value is not None]
        reason = "answers of excluded annotators are not compared" if person.excluded else why
        seconds = person.seconds_median
        endorsement, n = endorsement_rate(cases_by_annotator.get(person.annotator, []))
        rows.append(
            row_of(service, person)
            | {
                "pace": seconds / campaign_median if seconds is not None and campaign_median else None,
                "agreement": fmean(values) if values else None,
                "by_aspect": by_aspect,
                "why": None if values else reason,
                "endorsement": endorsement,
                "endorsement_n": n,
            }
        )
    return rows


def _agreement_by_annotator(
    service: CampaignService, crowd: JudgmentTable
) -> tuple[dict[str, dict[str, float | None]], str]:
    """Return the leave-one-out agreement by annotator and aspect.

    The second element of the result is the reason for missing values.
    """
    agreements: dict[str, dict[str, float | None]] = {}
    try:
        if not len(crowd):
            raise UsageError(NO_ANSWERS)
        for rater, got in leave_one_out(crowd, service.task_type.coefficients[0]):
            agreements.setdefault(rater.judge, {})[rater.aspect] = got.value if got.n >= FEWEST else None
    except UsageError as error:
        return {}, str(error)
    return agreements, f"fewer than {FEWEST} answers to tasks that others answered, or all answers are equal"


def _is_of_all_documents(row: Row) -> bool:
    return row.domain is None and "group" not in row.details


def in_words(row: Row) -> str:
    """Return an interpretation of a coefficient in words.

    The limits are 0.667 and 0.8, as for alpha (Krippendorff, 2004).
    >>> in_words(Row(study="agreement", statistic="alpha_nominal", value=0.02, low=-0.01, high=0.05, n=9))
    'cannot be told from chance'
    """
    if row.value is None:
        return f"not available: {row.reason}"
    if (verdict := against_chance(row.statistic, row.low, row.high)) != ABOVE:
        return verdict
    if row.value >= 0.8:
        return "good"
    if row.value >= TENTATIVE:
        return "sufficient for tentative conclusions"
    return f"{ABOVE}, but below the customary limit of 0.667"
