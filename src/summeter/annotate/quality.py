"""How good a campaign's answers are: agreement by domain and length with intervals, and every annotator's standing.

The coefficients are those of `meta agree`; nothing is computed twice. An annotator's agreement is that with the merged
votes of the others, as there, averaged over the aspects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from summeter.annotate.endorsement import Case, cases, pull, share
from summeter.annotate.judgments import judgments_of
from summeter.annotate.state import Person
from summeter.annotate.status import contradicted, waited
from summeter.annotate.tasks.rating import BEST
from summeter.data.dataset import Dataset
from summeter.data.human import RAW
from summeter.meta import Draws, Level, Selection, agree, of_judgments, votes
from summeter.meta.agree import Panel
from summeter.meta.ballots import merge
from summeter.meta.coefficients import Measure, measure, scale_of
from summeter.meta.gold import aspects
from summeter.meta.results import Row, Study
from summeter.records import Judgment, Summary, UsageError
from summeter.text.ngrams import words

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk

Json = dict[str, Any]
LABELS = ("alpha_nominal", "ac1", "identical")
COEFFICIENTS = {
    "rating": ("alpha_interval", "alpha_ordinal", "alpha_nominal", "identical"),
    "pairwise": ("alpha_nominal", "alpha_ordinal", "identical"),
    "span_highlighting": (*LABELS, "span_f1"),
}
"""What is computed for a kind of task (else LABELS); the first is the one that annotators are compared by."""
BANDS = ("short", "medium", "long")
FEWEST = 5
"""An annotator who shares fewer answers with others is not measured: chance would speak."""
RESAMPLES = 400
ENOUGH = 0.667
"""Alpha from here on allows tentative conclusions (Krippendorff, 2004); from .8 it is called good."""
_DIFFERENT = " vs "


class Standing(NamedTuple):
    """One annotator.

    `agreement` is the mean over aspects of the coefficient with the others' merged votes (`by_aspect`), None where
    `why` says why. `seconds_median` is of the times that the browser claims, `seconds_waited` of those that the server
    saw from showing to answer (with answers that waited for the network, longer), `contradicted` the number of answers
    that claim time which had not passed. `pace` is the median time beside the campaign's. `endorsement` is the share
    of answers that say what the machine says where it is wrong, of `endorsement_n`.
    """

    annotator: str
    arm: str
    outcome: str | None
    excluded: bool
    answered: int
    checks_passed: int
    checks_seen: int
    seconds_median: float | None
    seconds_waited: float | None
    contradicted: int
    pace: float | None
    agreement: float | None
    by_aspect: dict[str, float | None]
    why: str | None
    endorsement: float | None
    endorsement_n: int

    @property
    def check_rate(self) -> float | None:
        """The share of attention checks passed."""
        return self.checks_passed / self.checks_seen if self.checks_seen else None

    def to_json(self) -> Json:
        """As `--json` and the page give it."""
        return {**self._asdict(), "check_rate": self.check_rate}


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
        """One row an aspect: the coefficient of this kind of task over all documents."""
        return [row for row in self.agreement.where(study="agreement", statistic=self.statistic) if _whole(row)]

    def to_json(self) -> Json:
        """As `--json` and the page give it."""
        said = [{"aspect": row.aspect, "words": in_words(row)} for row in self.headline()]
        return {
            "kind": self.kind, "statistic": self.statistic, "pass_share": self.pass_share,
            "agreement": self.agreement.to_dicts(), "said": said,
            "annotators": [one.to_json() for one in self.annotators],
            "assistance": [row.model_dump() for row in self.assistance], "notes": list(self.notes),
        }  # fmt: skip


def _clocks(people: Sequence[Standing]) -> Iterator[str]:
    for one in people:
        if one.contradicted:
            said = "claims more time than had passed" if one.contradicted == 1 else "claim more time than had passed"
            yield f"{one.contradicted} of {one.answered} answers of {one.annotator} {said} by the server's clock"


def _whole(row: Row) -> bool:
    return row.domain is None and "group" not in row.details


def quality(desk: Desk, draws: Draws | None = None, *, brief: bool = False) -> Quality:
    """Everything above, from the answers that count now. Raises nothing for a campaign that has just begun.

    `brief` leaves out all agreement but the headline: what `annotate status` prints, in a fraction of the time.
    """
    kind = desk.campaign.kind
    names = COEFFICIENTS.get(kind, LABELS)
    notes: list[str] = []
    data: Dataset | None = None
    try:
        data = panel_data(desk, lengths=not brief)
        study = agreement(desk, draws or Draws(RESAMPLES), data, brief=brief)
    except UsageError as error:
        study, notes = Study("agree", []), [f"no agreement yet: {error}"]
    wrong = cases(desk)
    people = tuple(standings(desk, wrong, data))
    notes += _clocks(people)
    return Quality(kind, names[0], desk.campaign.attention.pass_share, study, people, tuple(pull(wrong)), tuple(notes))


def agreement(
    desk: Desk, draws: Draws | None = None, data: Dataset | None = None, *, brief: bool = False
) -> Study:  # fmt: skip
    """Agreement of the counted answers: of all, by domain where documents have one, by length of the document.

    `data` is that of `panel_data` where it is made already; `brief` gives the first coefficient of all, and no groups.

    Every row says the kind of task in `details.kind`. Lengths are thirds of the documents by their number of words.
    Raises UsageError where nobody has answered yet.
    """
    data = panel_data(desk) if data is None else data
    names = COEFFICIENTS.get(desk.campaign.kind, LABELS)
    panel = Panel(coefficients=names[:1] if brief else names)
    columns: list[str | None] = []
    if not brief and any(one.domain for one in data.documents.values()):
        columns.append("domain")
    if not brief and len(data.documents) >= len(BANDS):
        columns.append("length")
    rows: list[Row] = []
    found = Study("agree", [])
    for by in columns or [None]:
        found = agree(data, select=Selection(by=by), panel=panel, draws=draws)
        rows += [row for row in found if not (rows and _whole(row))]
    about = {"kind": desk.campaign.kind}
    return Study("agree", [row.model_copy(update={"details": {**row.details, **about}}) for row in rows], found.notes)


def panel_data(desk: Desk, *, lengths: bool = True) -> Dataset:
    """The campaign's data with the counted answers, a column `length`, and each pair of summaries as one unit.

    Without `lengths` the column is left out: counting the words of thousands of documents takes seconds.

    Raises UsageError where nobody has answered yet.
    """
    given = judgments_of(desk)
    if not given:
        raise UsageError("nobody has answered yet")
    data = desk.folder.data
    extra: dict[str, Json] = {}
    if lengths:
        bands = _bands({name: len(words(one.text)) for name, one in data.documents.items()})
        extra = {name: {"length": band} for name, band in bands.items()}
    if desk.campaign.kind == "pairwise":
        given = [_as_unit(one) for one in given]
        items = dict.fromkeys((one.target.document_id, one.target.system) for one in given)
        summaries = [Summary(document_id=document, system=system, text="", splitter="none",
                             extra=extra.get(document, {})) for document, system in items]  # fmt: skip
    elif not lengths:
        summaries = list(data.summaries)
    else:
        summaries = [
            one.model_copy(update={"extra": {**one.extra, **extra[one.document_id]}}) for one in data.summaries
        ]
    return Dataset(data.documents, summaries, {}, data.card).with_judgments(RAW, given)


def _as_unit(one: Judgment) -> Judgment:
    """A choice between two summaries as a vote on the pair."""
    target = one.target
    name = f"{target.system}{_DIFFERENT}{target.rival}"
    pair = target.model_copy(update={"system": name, "rival": None, "unit": "summary"})
    return one.model_copy(update={"target": pair, "label": None})


def _bands(lengths: dict[str, int]) -> dict[str, str]:
    """Thirds by length; equal lengths stand in one band.

    >>> _bands({"a": 5, "b": 9, "c": 7})
    {'a': 'short', 'b': 'long', 'c': 'medium'}
    """
    ordered = sorted(lengths.values())
    place = {length: ordered.index(length) * len(BANDS) // len(ordered) for length in ordered}
    return {name: BANDS[place[length]] for name, length in lengths.items()}


def standings(desk: Desk, wrong: list[Case] | None = None, data: Dataset | None = None) -> list[Standing]:
    """Every annotator, in order of joining.

    `wrong` are the cases of `endorsement.cases`, `data` that of `panel_data`, where known already.
    """
    found = cases(desk) if wrong is None else wrong
    usual = [answer.seconds for person in desk.state.people.values() for answer in person.answers.values()]
    middle = median(usual) if usual else None
    agreed, why = _agreed(desk, data)
    own: dict[str, list[Case]] = {}
    for one in found:
        own.setdefault(one.annotator, []).append(one)
    return [
        _standing(person, middle, agreed.get(person.annotator, {}), why, own.get(person.annotator, []))
        for person in desk.state.people.values()
    ]


def _standing(
    person: Person, middle: float | None, agreed: dict[str, float | None], why: str, own: list[Case]
) -> Standing:  # fmt: skip
    times = [one.seconds for one in person.answers.values()]
    usual = median(times) if times else None
    values = [value for aspect, value in agreed.items() if value is not None and aspect != BEST]
    rate, n = share(own)
    lacking = "answers of excluded people are set beside nobody's" if person.excluded else why
    return Standing(
        person.annotator, person.arm, person.ended, person.excluded, len(person.answers), person.checks_passed,
        person.checks_seen, usual, waited(person), contradicted(person),
        usual / middle if usual is not None and middle else None,
        fmean(values) if values else None, agreed, None if values else lacking, rate, n,
    )  # fmt: skip


def _agreed(desk: Desk, data: Dataset | None) -> tuple[dict[str, dict[str, float | None]], str]:
    """By annotator and aspect: the coefficient with the merged votes of the others, as `meta agree` has it."""
    statistic = COEFFICIENTS.get(desk.campaign.kind, LABELS)[0]
    try:
        columns = of_judgments((panel_data(desk) if data is None else data).judgments(RAW))
    except UsageError as error:
        return {}, str(error)
    found: dict[str, dict[str, float | None]] = {}
    for aspect in aspects(columns):
        cast = votes(columns, aspect, Level.SUMMARY)
        if cast is None:
            continue
        how = Measure(scale_of(cast.values))
        for place, rater in enumerate(cast.raters):
            own = ~np.isnan(cast.values[place])
            others = merge(np.delete(cast.values[:, own], place, axis=0), cast.unit)
            pair = np.stack([cast.values[place, own], others])
            enough = int((~np.isnan(others)).sum()) >= FEWEST
            value = measure(statistic, pair, cast.document.codes[own], how).value if enough else None
            found.setdefault(rater, {})[aspect] = value
    return found, f"fewer than {FEWEST} answers that others gave too, or all are the same"


def in_words(row: Row) -> str:
    """A coefficient in words, by the limits that are customary for alpha (Krippendorff, 2004): .667 and .8.

    >>> in_words(Row(study="agreement", statistic="alpha_nominal", value=0.02, low=-0.01, high=0.05, n=9))
    'no better than chance'
    """
    if row.value is None:
        return f"cannot be said: {row.reason}"
    if (row.low if row.low is not None else row.value) <= 0:
        open_ = row.high is not None and row.high >= ENOUGH
        return "cannot be told from chance: too few documents" if open_ else "no better than chance"
    if row.value >= 0.8:
        return "good"
    if row.value >= ENOUGH:
        return "enough for tentative conclusions"
    return "above chance, but under the customary .667"
