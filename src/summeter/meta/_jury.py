"""Juries of several judges, and the labels of people that a jury doubts.

Rows of `jury` have these statistics. `judge` is a member or a jury: `majority` and `dawid_skene` for labels, `mean` and
`median` for ratings.

    agreement          of each member and jury with people; `details.ties` counts the units on which a jury is tied
    balanced_accuracy  the same for labels
    jury_gain          agreement of a jury minus that of its best member, on the same units; `p` is from a test that
                       exchanges the votes of the two by document
    error_correlation  correlation of the errors of two members (phi for labels, Pearson's for ratings)
    shared_errors      share of the errors of `judge` that the other member of `pair` makes as well
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter.choices import AggregationRule, Level, Tie, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.meta.inputs import Gold, RunLike, judge_input
from summeter.meta.measure import STATISTICS, estimate
from summeter.meta.options import (
    LISTED,
    AgreementCoefficient,
    Choice,
    CommandLine,
    Draws,
    GoldAtLeast,
    Selection,
    study,
)
from summeter.meta.results import Row, Study, interval_row, merged, named, pair_name, unique_labels
from summeter.meta.sample import Rater, Sample, are_decisions, mostly_within, rounded
from summeter.meta.selection import MetaInput, all_pairs, check_known, merged_votes, meta_input, pairs_by_level
from summeter.meta.texts import Texts
from summeter.meta.verdicts import listed
from summeter.records import Parameter, UsageError
from summeter.stats import Estimate, sign_flips
from summeter.stats.base import Bools, Floats, mean_present, undefined
from summeter.stats.dawid_skene import dawid_skene

STUDY, RECHECK = "jury", "recheck"
LEVELS = (Level.SENTENCE, Level.KEY_FACT, Level.SUMMARY)
MAJORITY, DAWID_SKENE = "majority", "dawid_skene"
_PERMUTATIONS = 2000
_ROUNDING = 1e-9


class JuryOptions(Selection, AgreementCoefficient, GoldAtLeast, Draws):
    """The options of `jury`."""

    judges: Annotated[Sequence[str], LISTED, CommandLine(metavar="A,B,...")] = Field(
        (), description="Members of the jury (names, signatures or aspects). Default: all judges of the aspect."
    )
    judge_at_least: Annotated[Mapping[str, float] | None, CommandLine(metavar="JUDGE=VALUE")] = Field(
        None,
        description="Values of a judge (its name, signature or aspect) of at least this count as 1, others as 0. "
        "Repeatable. Default: only judges that give labels are compared with people's labels.",
    )
    level: Annotated[str | None, Choice(tuple(map(str, LEVELS)), "level")] = Field(
        None, description="Unit of the votes: sentence, key_fact or summary. Default: the first with several judges."
    )


@study(JuryOptions, command="RUN...")
def jury(run: RunLike, gold: Gold, options: JuryOptions) -> Study:
    """Compare a jury of several judges with its best member.

    A jury is the majority of the judges' labels (ties are left out and counted) or the labels by Dawid and Skene
    (1979), which weigh judges by error rates that are estimated without people; for ratings, it is the mean or the
    median (of standardised ratings, if the scales differ). All are compared with people on the units that all members
    judged. The best member is chosen on one half of the documents and compared on the other, so that `jury_gain` does
    not favour it. A jury helps little if its members make the same errors (`error_correlation`, `shared_errors`).

    Raises UsageError if judges and people have nothing in common.
    """
    rows: list[Row] = []
    notes: list[str] = []
    for panel in _panels(meta_input(run, gold, options), options, notes):
        rows += panel.rows(notes)
    return Study(STUDY, rows, notes)


class RecheckOptions(JuryOptions):
    """The options of `recheck`."""

    limit: int = Field(50, ge=1, description="Number of units of each aspect to list.")


@study(RecheckOptions)
def recheck(run: RunLike, gold: Gold, options: RecheckOptions) -> Study:
    """List the labels of people that a jury doubts.

    These are the units on which the labels of a jury by Dawid and Skene (1979) differ from people's; people can judge
    them again. The value of a row (`expected_change`) is the probability of the jury's label times the mean change of
    the members' agreement with people if the label of people changed; the rows are in descending order of it. `details`
    has both factors, the labels, the index of the unit, and its text. `-o items.csv` writes the units for
    `select: {items: items.csv}` in a campaign. One judge alone is believed fully. Raises UsageError if people's votes
    are not labels.
    """
    judges, rows, notes = judge_input(run), list[Row](), list[str]()
    data = judges.data or (gold if isinstance(gold, Dataset) else None)
    panels = list(_panels(meta_input(judges, gold, options), options, notes))
    ratings = [panel.sample.gold.aspect for panel in panels if not panel.labels]
    if len(ratings) == len(panels):
        what = f"votes on {listed(ratings)} are ratings, not labels; give the smallest that counts as 1 with "
        raise UsageError(what, Parameter("gold_at_least", "VALUE"), " and ", Parameter("judge_at_least", "JUDGE=VALUE"))
    if ratings:
        notes.append(f"votes on {listed(ratings)} are ratings, not labels: left out")
    for panel in (panel for panel in panels if panel.labels):
        doubted = panel.doubted(data)
        shown = f", {options.limit} of which are listed" if len(doubted) > options.limit else ""
        notes.append(
            f"{panel.sample.gold.aspect}: the jury and people differ on {len(doubted):,} of {panel.known.sum():,} "
            f"units{shown}"
        )
        if len(panel.members) < 2:
            notes.append(
                f"{panel.sample.gold.aspect}: one judge is believed fully, so that the probabilities say nothing"
            )
        rows += doubted[: options.limit]
    return Study(RECHECK, rows, notes)


def items(study: Study) -> list[dict[str, Any]]:
    """Return the units in a study of `recheck` as flat rows, with the columns of an items file of a campaign."""
    return [
        {
            "doc_id": row.details["document"], "system": row.system, "aspect": row.aspect, "level": row.level,
            "expected_change": row.value,
            **{name: value for name, value in row.details.items() if name not in {"document", "votes"}},
            **{f"vote.{name}": vote for name, vote in row.details["votes"].items()},
        }
        for row in study
    ]  # fmt: skip


def _panels(read: MetaInput, options: JuryOptions, notes: list[str]) -> Iterator[_Panel]:
    """Yield the votes of judges and people on each aspect, at the first level with several judges, or else with one."""
    known = {name for each in read.judge.questions() for name in (each.judge, each.signature, each.aspect)}
    for names in (options.judges, options.judge_at_least or ()):
        if names:
            check_known(list(names), sorted(known), "judge")
    found: dict[tuple[str, str], _Panel] = {}
    without, thresholds = dict[str, None](), options.judge_at_least or {}
    levels = LEVELS if options.level is None else (Level(options.level),)
    for level, scored in pairs_by_level(read, levels, options):
        labelled = all_pairs(read, level, options, ValueOrLabel.LABEL)
        by_gold: dict[tuple[str, str], list[Sample]] = {}
        for scores, labels in zip(scored, labelled, strict=True):
            judge = scores.judge
            chosen = not options.judges or {judge.judge, judge.signature, judge.aspect} & {*options.judges}
            if not chosen or np.isnan(scores.x).all():
                continue
            known_by = (judge.aspect, judge.judge, judge.signature)
            at_least = next((thresholds[name] for name in known_by if name in thresholds), None)
            if at_least is not None:
                above = np.where(np.isnan(scores.x), np.nan, scores.x >= at_least)
                votes = Sample.of_values(scores.units, scores.raters, np.stack([above, scores.y]))
            elif not are_decisions(scores.y):
                votes = scores
            elif are_decisions(labels.x):
                votes = labels
            else:  # scores are not compared with labels
                without[judge.judge if judge.aspect == scores.gold.aspect else judge.aspect] = None
                continue
            by_gold.setdefault((scores.gold.aspect, scores.gold.signature), []).append(votes)
        for (aspect, signature), pairs in by_gold.items():
            key = aspect, signature if options.merge == AggregationRule.EACH else ""
            if key not in found or len(found[key].members) < 2 <= len(pairs):
                members = [each.of_raters(0) for each in pairs]
                sample = Sample.join([*members, pairs[0].of_raters(1)], read.context, explain=False)
                found[key] = _Panel(sample, options)
    if without and not found:
        what = f"{listed(list(without))} gave scores, but people labels; give the smallest score that counts as 1 with "
        raise UsageError(what, Parameter("judge_at_least", "JUDGE=VALUE"))
    if without:
        notes.append(f"{listed(list(without))} gave scores, not labels like people (option judge_at_least): left out")
    if not found:
        raise UsageError("the run and the human judgments have no selected judge in common")
    yield from found.values()


@dataclass(frozen=True)
class _Panel:
    """The votes of the members of a jury and of people (the last rater of the sample)."""

    sample: Sample
    options: JuryOptions

    @cached_property
    def labels(self) -> bool:
        """Whether all votes are labels 0 and 1."""
        return are_decisions(self.sample.matrix)

    @cached_property
    def members(self) -> dict[str, Floats]:
        """The votes of each member, by a distinct name."""
        return dict(zip(unique_labels(self.sample.raters[:-1]), self.sample.matrix, strict=False))

    @property
    def gold(self) -> Floats:
        """People's merged votes."""
        return self.sample.y

    @property
    def known(self) -> Bools:
        """Mask of the units that people and all members judged."""
        return self.sample.complete

    @cached_property
    def coefficient(self) -> str:
        """Name of the coefficient of agreement."""
        return self.options.chosen_or_usual(labels=self.labels, on_scale=self.one_scale)

    @cached_property
    def one_scale(self) -> bool:
        """Whether at least half of the values of each member are within the range of people's."""
        people = self.gold[~np.isnan(self.gold)]
        low, high = people.min(initial=np.inf), people.max(initial=-np.inf)
        return all(mostly_within(votes, low, high) for votes in self.sample.matrix)

    @cached_property
    def probability(self) -> Floats:
        """Probability of the label 1 of each unit by Dawid and Skene, from all votes of the members."""
        found = dawid_skene(self.sample.matrix[:-1])
        return np.where(np.isnan(found.probabilities).any(axis=1), np.nan, found.probabilities @ found.classes)

    @cached_property
    def juries(self) -> dict[str, Floats]:
        """The votes of each jury on the units that all members judged, NaN if they are tied."""
        votes = self.sample.matrix[:-1]
        judged: Bools = np.asarray(~np.isnan(votes).any(axis=0))
        if not self.labels:
            if not self.one_scale:
                centred = votes - mean_present(votes[:, judged], axis=1)[:, None]
                spread = np.sqrt(mean_present(centred[:, judged] ** 2, axis=1))[:, None]
                votes = centred / np.where(spread > 0, spread, 1.0)
            both = {"mean": rounded(votes.mean(axis=0)), "median": rounded(np.median(votes, axis=0))}
        else:
            unit = np.tile(np.flatnonzero(judged), len(votes))
            tied = np.abs(self.probability - 0.5) < _ROUNDING
            both = {
                MAJORITY: merged_votes(unit, votes[:, judged].ravel(), len(judged), MAJORITY, Tie.DROP),
                DAWID_SKENE: np.where(tied, np.nan, self.probability > 0.5),
            }
        return {name: np.where(judged, each, np.nan) for name, each in both.items()}

    def pair(self, judge: Floats, gold: Floats | None = None, units: Bools | None = None) -> Sample:
        """Return two sides' votes (by default, a judge's and people's) on the units that all judged."""
        values = np.stack([judge, self.gold if gold is None else gold])
        whole = Sample.of_values(self.sample.units, [self.sample.judge, self.sample.gold], values)
        used: Bools = whole.complete & self.known
        return whole.take(used if units is None else used & units)

    def rows(self, notes: list[str]) -> Iterator[Row]:
        """Yield all rows, and add notes."""
        *raters, people = self.sample.raters
        about = {"study": STUDY, "level": str(self.sample.level), "average": "pooled"}
        signatures = " + ".join(rater.signature for rater in raters)
        aspect = raters[0].aspect if len({rater.aspect for rater in raters}) == 1 else people.aspect
        fields = {name: named(Rater(name, f"{name}({signatures})", None, aspect), people) for name in self.juries}
        one = "one judge; a jury needs at least 2" if len(raters) < 2 else None
        for rater, votes in zip(raters, self.members.values(), strict=True):
            yield from self._agreements(votes, merged(about, named(rater, people)))
        for name, votes in self.juries.items():
            details: dict[str, Any] = {"ties": int((self.known & np.isnan(votes)).sum())}
            if name == DAWID_SKENE:
                details["confidence"] = self.confidence
            yield from self._agreements(votes, merged(about, fields[name], details=details), one)
        best, chosen = self._best()
        found: dict[str, list[str]] = {}
        for name, votes in self.juries.items():
            got = self._gain(votes, best) if one is None else undefined(one)
            details = {"coefficient": self.coefficient, "best_member": chosen}
            yield self._row(got, merged(about, fields[name]), statistic="jury_gain", details=details)
            if got.value is not None:
                way = "above" if got.value > 0 else "below"
                verdict = f"{way} that" if self._significant(got.p) else "not measurably different from that"
                found.setdefault(verdict, []).append(name)
        notes += (
            f"{people.aspect}: the agreement of {listed(names)} with people is {verdict} of the best member, which is "
            "chosen on one half of the documents and compared on the other"
            for verdict, names in found.items()
        )
        errors = list(self._errors(about))
        yield from errors
        alike = [
            f"{row.pair} ({row.value:.2f})"
            for row in errors
            if row.statistic == "error_correlation" and (row.low or 0) > 0
        ]
        if alike and self.labels and self.known.any():
            pair = self.pair(self.juries[DAWID_SKENE])
            notes.append(
                f"{people.aspect}: the errors of {listed(alike)} are correlated, but Dawid and Skene assume that they "
                f"are independent: {DAWID_SKENE} is {self.confidence:.0%} sure of its labels on average, and "
                f"{(pair.x == pair.y).mean():.0%} of them are people's"
            )

    @property
    def confidence(self) -> float | None:
        """Mean probability of the labels by Dawid and Skene."""
        sure = np.maximum(self.probability, 1 - self.probability)[self.known]
        return float(sure.mean()) if len(sure) else None

    def _row(self, got: Estimate, *about: Mapping[str, Any], **fields: Any) -> Row:
        """Return a row. `missing` counts the units that people judged and that are not used."""
        judged = int((~np.isnan(self.gold)).sum())
        return interval_row(replace(got, missing=judged - got.n, details={}), *about, **fields)

    def _agreements(self, votes: Floats, about: Mapping[str, Any], why: str | None = None) -> Iterator[Row]:
        for statistic in ("agreement", *(["balanced_accuracy"] if self.labels else [])):
            how = self.coefficient if statistic == "agreement" else statistic
            pair = self.pair(votes)
            if why is None and not len(pair):
                why = "no unit that people and all members judged" + (
                    "" if not self.known.any() else " is without a tie"
                )
            got = estimate(pair, how, self.options.resampling) if why is None else undefined(why)
            yield self._row(replace(got, p=None), about, statistic=statistic, details={"coefficient": how})

    def _best(self) -> tuple[Floats, list[str]]:
        """Return the votes of the member that agrees best on the other half of the documents, and its two names."""
        document = np.unique(self.sample.units.document.codes, return_inverse=True)[1]
        half = np.random.default_rng(self.options.seed).permutation(int(document.max()) + 1)[document] % 2 == 1
        best, chosen = np.full(len(self.sample), np.nan), []
        for here in (half, ~half):
            agreement = {name: self._agreement(votes, units=~here) for name, votes in self.members.items()}
            if all(value is None for value in agreement.values()):
                agreement = {name: self._agreement(votes) for name, votes in self.members.items()}
            chosen.append(max(agreement, key=lambda name: -np.inf if (at := agreement[name]) is None else at))
            best[here] = self.members[chosen[-1]][here]
        return best, chosen

    def _agreement(self, votes: Floats, gold: Floats | None = None, units: Bools | None = None) -> float | None:
        pair = self.pair(votes, gold, units)
        return STATISTICS[self.coefficient].of(pair, np.arange(len(pair))).value

    def _gain(self, votes: Floats, best: Floats) -> Estimate:
        """Return the agreement of a jury minus that of its best member, with a paired interval and p-value.

        The votes of both are the rows of one sample with two clusters per document, so that the weights of clusters
        select whose votes count in each document.
        """
        first, second = (self.pair(each, units=~np.isnan(votes)) for each in (votes, best))
        documents = np.unique(first.units.document.codes, return_inverse=True)[1].astype(np.int64)
        size = int(documents.max(initial=-1)) + 1
        twice = np.tile(np.arange(len(first)), 2)
        both = Sample.of_values(first.units.take(twice), first.raters, np.hstack([first.matrix, second.matrix]))
        agreement = STATISTICS[self.coefficient].of(both, np.concatenate([documents, documents + size])).weighted

        def gain(jury: Floats, member: Floats) -> Floats:
            return agreement(np.hstack([jury, member])) - agreement(np.hstack([member, jury]))

        got = self.options.resampling(documents).interval(
            lambda weights: gain(weights, np.zeros_like(weights)), n=len(first), width=2 * len(first),
            undefined="the agreement of the jury or of its best member is undefined",
        )  # fmt: skip
        if got.value is None:
            return got
        flips = sign_flips(size, _PERMUTATIONS, self.options.seed)
        exchanged = np.concatenate([gain(np.maximum(signs, 0.0), np.maximum(-signs, 0.0)) for signs in flips.blocks])
        # An exchange for which the agreement is undefined counts as reaching the gain.
        reached = int((~(np.abs(exchanged) < abs(got.value) - _ROUNDING)).sum())
        extra = 0 if flips.exact else 1
        got = replace(got, p=(reached + extra) / (flips.total + extra))
        if got.low is not None and got.high is not None and not self._significant(got.p):
            # The interval contains 0 unless the test finds a difference, as in `compare`.
            got = replace(got, low=min(got.low, 0.0), high=max(got.high, 0.0))
        return got

    def _significant(self, p: float | None) -> bool:
        return p is not None and p <= 1 - self.options.confidence + _ROUNDING

    def _errors(self, about: Mapping[str, Any]) -> Iterator[Row]:
        """Yield the rows about the errors that members share."""
        draws, people = self.options.resampling, self.sample.gold
        raters = dict(zip(self.members, self.sample.raters, strict=False))
        wrong = {name: votes - self.gold for name, votes in self.members.items()}
        if self.labels:
            wrong = {name: np.abs(errors) for name, errors in wrong.items()}
        for a, b in combinations(wrong, 2):
            both = self.pair(wrong[a], wrong[b])
            got = estimate(both, "pearson", draws)
            if not self.labels and not self.one_scale:
                got = undefined("the values of judges and people have different scales")
            fields = named(raters[a], people) | {
                "judge": None, "model": None, "signature": f"{raters[a].signature} vs {raters[b].signature}",
                "pair": pair_name(a, b),
            }  # fmt: skip
            yield self._row(replace(got, p=None), about, fields, statistic="error_correlation")
            for one, other in ((a, b), (b, a)) if self.labels else ():
                pair = self.pair(wrong[other], wrong[one])
                errors = int(pair.y.sum())
                got = replace(estimate(pair, "sensitivity", draws), n=errors)
                if not errors:
                    got = replace(got, reason=f"{one} makes no error")
                fields = named(raters[one], people) | {"pair": pair_name(one, other)}
                yield interval_row(replace(got, details={}), about, fields, statistic="shared_errors", missing=0)

    def doubted(self, data: Dataset | None) -> list[Row]:
        """Return a row for each unit on which the jury and people differ, those that matter most first."""
        units, people, names = self.sample.units, self.sample.gold, list(self.members)
        doubt = np.where(self.gold == 1, 1 - self.probability, self.probability)
        places = np.flatnonzero(self.known & (doubt > 0.5 + _ROUNDING))
        # The change of agreement is the same for all units with the same votes.
        change: dict[bytes, float] = {}
        before = [self._agreement(votes) for votes in self.members.values()]
        texts = None if data is None else Texts(data)
        rows = []
        for place in places.tolist():
            votes = self.sample.matrix[:, place]
            if (key := votes.tobytes()) not in change:
                flipped = self.gold.copy()
                flipped[place] = 1 - flipped[place]
                after = [self._agreement(each, flipped) for each in self.members.values()]
                pairs = zip(before, after, strict=True)
                gaps = [abs(first - last) for first, last in pairs if first is not None and last is not None]
                change[key] = float(np.mean(gaps)) if gaps else 0.0
            document, system, listing = (
                each.names[each.codes[place]] for each in (units.document, units.system, units.list_id)
            )
            index = int(units.index[place])
            details = {
                "document": document, "index": None if index < 0 else index, "list_id": listing,
                "people": int(votes[-1]), "jury": int(1 - votes[-1]), "probability": float(doubt[place]),
                "change": change[key], "votes": dict(zip(names, votes[:-1].astype(int).tolist(), strict=True)),
                "text": texts and texts.unit(units.level, document, system, index, listing),
            }  # fmt: skip
            about = {"study": RECHECK, "aspect": people.aspect, "level": str(units.level), "system": system}
            about |= {"gold_aspect": people.aspect, "gold_signature": people.signature, "details": details}
            expected = Estimate(float(doubt[place]) * change[key], int(self.known.sum()))
            rows.append(interval_row(expected, about, statistic="expected_change"))
        return sorted(rows, key=lambda row: -(row.value or 0.0))
