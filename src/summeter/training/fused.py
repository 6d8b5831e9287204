"""The fused judge: ridge or logistic regression over the judgments of other evaluators, fitted to people's labels.

No network is trained: it takes seconds, and is the cheapest way to a better judge where judgments are at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset
from summeter.engine.api import evaluate
from summeter.engine.options import Options
from summeter.engine.plan import make_plan
from summeter.engine.progress import Progress
from summeter.evaluators.base import Evaluator
from summeter.evaluators.catalog import rebuild
from summeter.evaluators.derived import MemberJudge, named_members
from summeter.evaluators.fused import (
    FILE,
    Combination,
    FusedMember,
    FusedModel,
    Input,
    Link,
    Measured,
    dumped,
    inputs_of,
    measure,
)
from summeter.records import UsageError, digest
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder
from summeter.scoring.table import JudgmentTable
from summeter.stats import correlate
from summeter.stats.base import Bools, Floats
from summeter.training.base import Task, Trained, Training
from summeter.training.card import Card, card_of
from summeter.training.figures import Figure, Scored, figures
from summeter.training.linear import PENALTIES, CrossFitted, calibrated, cross_fit, need_sklearn
from summeter.training.ratings import FEWEST, LABELS, Ratings, read_ratings, scale_ends
from summeter.training.regression import load_data
from summeter.training.split import fold_of, part_masks, split_texts
from summeter.training.work import Work


class FusedTraining(Training):
    """Settings of a fused judge.

    `runs` are folders of runs over the data, whose judges are the members: all of them, or those that `members` names
    as `-e` does (`rts[aspect=fluency]`, `rts@second`). A member that is in no run is judged anew where it asks no LLM
    (`models` binds local models to its roles). `data`: default that of the first run. `labels` is the judgment set
    with people's ratings; `aspects`: default SummQual's five where rated, else all that were. An aspect whose ratings
    are all 0 or 1 is fitted by logistic regression, the others by ridge regression. `folds`: into so many parts the
    documents outside the test part are divided; each is predicted by weights of the others, by which penalties,
    calibration and intervals are chosen (there is no dev part: `split.dev` is not used). `coverage` is the share of
    people's ratings that an interval is to hold.
    """

    kind: Literal["fused"] = "fused"
    data: str | None = None
    preset: str | None = None
    map: dict[str, str] = Field(default_factory=dict)
    runs: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    models: dict[str, str] = Field(default_factory=dict)
    labels: str = LABELS
    aspects: tuple[str, ...] | None = Field(default=None, min_length=1)
    folds: int = Field(default=5, ge=2)
    penalties: tuple[float, ...] = Field(default=PENALTIES, min_length=1)
    scale: tuple[float, float] | None = None
    coverage: float = Field(default=0.9, gt=0, lt=1)

    @model_validator(mode="after")
    def _has_members(self) -> FusedTraining:
        if not self.runs and not self.members:
            raise ValueError("runs or members: name the runs whose judges are fused, or the evaluators themselves")
        if not self.runs and self.data is None:
            raise ValueError("data is needed where no runs are named")
        if min(self.penalties) < 0:
            raise ValueError("penalties must not be below 0")
        return self

    def task(self, base: Path) -> FusedTask:
        """Read and check data, runs and ratings."""
        need_sklearn()
        runs = [RunFolder(base / run) for run in self.runs]
        if self.data is not None:
            data = load_data(self.data, base, preset=self.preset, columns=self.map)
        else:
            data = runs[0].data
        return FusedTask(self, data, runs)


class Source(NamedTuple):
    """A member, and the run that its judgments come from (None: it is judged by the training)."""

    evaluator: Evaluator
    member: FusedMember
    run: RunFolder | None


class FusedTask(Task):
    """A fused judge whose data, runs and ratings were read."""

    def __init__(self, how: FusedTraining, data: Dataset, runs: Sequence[RunFolder]) -> None:
        self.how, self.data = how, data
        self.ratings = read_ratings(data, how.aspects, how.labels)
        for run in runs:
            if run.manifest.data.hash != data.hash:
                raise UsageError(
                    f"{run.folder} judged other texts than those of {data.card.name}; a fused judge needs the "
                    "judgments of the summaries that people rated"
                )
        self.sources = _sources(how, data, runs)
        self.links: dict[str, Link] = {
            aspect: "logistic" if np.isin(votes[~np.isnan(votes)], (0, 1)).all() else "linear"
            for aspect, votes in self.ratings.votes.items()
        }
        self.ends = {aspect: scale_ends(self.ratings, aspect, how.scale) for aspect in self.ratings.aspects}
        self.parts = parts = split_texts(self.ratings.texts, how.split, self.ratings.domains)
        items = [(row.document_id, row.system) for row in self.ratings.summaries]
        masks = part_masks(parts, how.split, items)
        self.test_rows, self.fit_rows = masks["test"], masks["train"] | masks["dev"]
        self.has_test = how.look_at_test and bool(self.test_rows.any())
        _check_size(self.ratings, self.fit_rows, self.test_rows if self.has_test else None, "ratings")
        ratings = [[aspect, np.nan_to_num(own, nan=-1e9).tolist()] for aspect, own in self.ratings.votes.items()]
        self.key = how.model_copy(update={"data": None, "preset": None, "map": {}, "runs": ()}).digest(
            data=data.hash,
            ratings=digest(ratings),
            members=[source.member.model_dump(mode="json") for source in self.sources],
            runs=[run.manifest.updated for run in runs],
        )
        self.test = f"{data.card.name}:{parts.test}" if self.has_test else None
        self.space = 5_000_000 + 2_000 * len(data.summaries) * sum(source.run is None for source in self.sources)

    def train(self, work: Work, show: Progress) -> Trained:
        """Judge with the members that are in no run, fit, and look at the figures."""
        judgments = self.judgments(work.folder / "members", show)
        measured, inputs = self.measured(judgments)
        show.note("fitting")
        fitted = fit_fused(
            self.ratings, measured, self.fit_rows, how=self.how, links=self.links, ends=self.ends, inputs=inputs,
            test=self.test_rows if self.has_test else None,
        )  # fmt: skip
        model = FusedModel(
            members=tuple(source.member for source in self.sources), inputs=tuple(inputs), aspects=fitted.combinations
        )
        show.note("figures")
        card = _card(self, model, measured, fitted)
        return Trained(
            card, Card(card).lines(), Card(card).readme(), lambda folder: write_text(folder / FILE, dumped(model))
        )

    def measured(self, judgments: Sequence[JudgmentTable]) -> tuple[Measured, list[Input]]:
        """The inputs of every rated summary, and what they are."""
        evaluators = [source.evaluator for source in self.sources]
        items = [(row.document_id, row.system, None) for row in self.ratings.summaries]
        inputs = inputs_of(evaluators, judgments)
        if not inputs:
            raise UsageError("the members judged none of the rated summaries; there is nothing to fit")
        return measure(inputs, evaluators, items, judgments), inputs

    def judgments(self, folder: Path, show: Progress) -> list[JudgmentTable]:
        """Each member's judgments; of those that are in no run, a run in `folder` that is carried on."""
        own = [source.evaluator for source in self.sources if source.run is None]
        scored = evaluate(self.data, own, models=self.how.models or None, out=folder, progress=show) if own else None
        tables: dict[Path, JudgmentTable] = {}

        def table_of(run: RunFolder) -> JudgmentTable:
            if run.folder not in tables:
                tables[run.folder] = run.table()
            return tables[run.folder]

        judgments = []
        for source in self.sources:
            run = source.run or scored
            assert run is not None  # noqa: S101 - scored where a source has no run
            judgments.append(table_of(run).where(signature=source.member.signature))
        return judgments


def _sources(how: FusedTraining, data: Dataset, runs: Sequence[RunFolder]) -> list[Source]:
    """The members, each from the first run that has it, else to be judged. UsageError for one that asks an LLM and is
    in no run, and for judges that a fused judge cannot have as members."""
    there = [
        Source(*_of_entry(run, entry), run)
        for run in runs
        for entry in run.manifest.judges
        if not (entry.prepares_only or entry.members or entry.imported)
    ]
    if not how.members:
        chosen = there
        if not chosen:
            raise UsageError(f"{', '.join(how.runs)}: no judge there that judges summaries one by one; name members")
    else:
        chosen = []
        for named in (member for text in how.members for member in named_members(text, None)):
            wanted = named.evaluator.name, named.evaluator.model_dump(mode="json", exclude_defaults=True), named.role
            known = (each for each in there if (each.member.name, each.member.settings, each.member.role) == wanted)
            chosen.append(next(known, None) or _judged_here(how, data, named, runs))
    once = list({source.member.signature: source for source in chosen}.values())
    return _with_roles(once)


def _of_entry(run: RunFolder, entry: JudgeEntry) -> tuple[Evaluator, FusedMember]:
    """A judge of a run as a member."""
    evaluator = rebuild(entry.name, entry.settings)
    if "|rep:" in entry.signature:
        raise UsageError(
            f"{run.folder} asked {entry.name} several times ({entry.signature}), and a fused judge takes one judgment "
            "a summary; score without repeats"
        )
    networks = {role: model for role, model in entry.models.items() if evaluator.role(role).kind != "llm"}
    asks = {role: model for role, model in entry.models.items() if role not in networks}
    role = entry.roles.get("judge")
    member = FusedMember(
        name=entry.name, settings=entry.settings, role=role, signature=entry.signature, asks=asks, networks=networks
    )
    return evaluator, member


def _judged_here(how: FusedTraining, data: Dataset, named: MemberJudge, runs: Sequence[RunFolder]) -> Source:
    evaluator = named.evaluator
    if evaluator.asks_llm:
        where = f"is in none of the runs {', '.join(str(run.folder) for run in runs)}" if runs else "no run is named"
        raise UsageError(
            f"members: {named.name} asks an LLM, and {where}; score the data with it (summeter score DATA -e "
            f"{named.name} -m MODEL -o RUN) and name that run under runs"
        )
    plan = make_plan(data, [evaluator], dict(how.models), Options())
    (job,) = (job for job in plan.jobs if job.evaluator == evaluator)
    settings = evaluator.model_dump(mode="json", exclude_defaults=True)
    member = FusedMember(
        name=evaluator.name, settings=settings, signature=job.signature, networks=dict(job.entry.models)
    )
    return Source(evaluator, member, None)


_FURTHER = ("second", *(f"judge{number}" for number in range(3, 100)))
"""Roles of further LLMs that judge."""


def _with_roles(sources: Sequence[Source]) -> list[Source]:
    """With a role of its own for each further LLM that judges: a run has one model a role."""
    models: dict[str, str] = {}
    listed = []
    for source in sources:
        member = source.member
        for role, model in member.asks.items():
            taken = member.role if role == "judge" and member.role else role
            if models.setdefault(taken, model) == model:
                continue
            if role != "judge":
                raise UsageError(
                    f"the members ask two models in the role {taken} ({models[taken]}, {model}), and a run has one; "
                    "name the members that are to be fused under members"
                )
            free = next(name for name in _FURTHER if models.get(name, model) == model)
            models[free] = model
            member = member.model_copy(update={"role": free})
        listed.append(source._replace(member=member))
    return listed


def _check_size(ratings: Ratings, fit: Bools, test: Bools | None, what: str) -> None:
    """UsageError where too few documents have what is needed."""
    needed = FEWEST["train"] + FEWEST["dev"]
    counts = [(fit, needed, "to fit on")] + ([] if test is None else [(test, FEWEST["test"], "to test on")])
    for rows, fewest, use in counts:
        documents = len(np.unique(ratings.document_codes[rows]))
        if documents < fewest:
            raise UsageError(
                f"too few documents with {what}: {documents} {use}, and {fewest} are needed; rate summaries of more "
                "documents, or change split.test"
            )


class FittedFused(NamedTuple):
    """What was fitted, by aspect: the combination, its cross-fitted values (NaN on rows that were not fitted on or lack
    an input), the values of all rows by the final weights, and the penalty."""

    combinations: dict[str, Combination]
    cross_fitted: dict[str, Floats]
    values: dict[str, Floats]
    penalties: dict[str, float]
    used: dict[str, Bools]


def fit_fused(
    ratings: Ratings, measured: Measured, rows: Bools, *, how: FusedTraining, links: Mapping[str, Link],
    ends: Mapping[str, tuple[float, float]], inputs: Sequence[Input], test: Bools | None = None,
) -> FittedFused:  # fmt: skip
    """Fit every aspect on `rows` that have all inputs. UsageError where these are of too few documents, or their
    ratings all alike."""
    complete = ~np.isnan(measured.values).any(axis=1)
    # The fold of each row that is fitted on, by document; -1 for the others.
    inside = {row.document_id for row, own in zip(ratings.summaries, rows.tolist(), strict=True) if own}
    texts = {name: text for name, text in ratings.texts.items() if name in inside}
    fold = fold_of(texts, how.folds, f"{how.split.salt} {how.seed}")
    folds = np.array([fold.get(row.document_id, -1) for row in ratings.summaries], dtype=np.int64)
    fitted = FittedFused({}, {}, {}, {}, {})
    for aspect in ratings.aspects:
        rated = ratings.mean(aspect)
        used = rows & complete & ~np.isnan(rated)
        try:
            _check_size(ratings, used, None if test is None else test & complete, f"ratings of {aspect} and all inputs")
        except UsageError as error:
            # The input that most rows lack, and the first reason.
            counts = np.isnan(measured.values[rows]).sum(axis=0)
            column = int(counts.argmax())
            if not counts[column]:
                raise
            status, reason = next(why for (_, at), why in sorted(measured.why.items()) if at == column)
            lacking = f"{counts[column]} of {int(rows.sum())} summaries lack {inputs[column].aspect}"
            raise UsageError(f"{error}. {lacking} ({status}: {reason})") from error
        if len(np.unique(rated[used])) < 2:
            raise UsageError(f"all ratings of {aspect} outside the test part are alike; leave it out of aspects")
        link, (low, high) = links[aspect], ends[aspect]
        found: CrossFitted = cross_fit(measured.values[used], rated[used], link, folds[used], how.penalties)
        predicted = np.full(len(rows), np.nan)
        predicted[used] = found.predicted
        combination = found.combination.model_copy(update={"scale": (low, high)})
        if link == "linear":
            shares = (predicted[used] - low) / (high - low)
            scale = calibrated(shares, rated[used], ratings.document_codes[used], (low, high), "linear", how.coverage)
            slope = (scale.ratings[1] - scale.ratings[0]) / (high - low)
            shift = scale.ratings[0] - slope * low
            combination = combination.model_copy(
                update={"shift": shift, "slope": slope, "half_width": scale.half_width, "confidence": how.coverage}
            )
            predicted = shift + slope * predicted
        fitted.combinations[aspect] = combination
        fitted.cross_fitted[aspect] = predicted
        fitted.values[aspect] = combination.values(measured.values)
        fitted.penalties[aspect] = found.penalty
        fitted.used[aspect] = used
    return fitted


def _card(task: FusedTask, model: FusedModel, measured: Measured, fitted: FittedFused) -> dict[str, Any]:
    how, ratings = task.how, task.ratings
    complete = ~np.isnan(measured.values).any(axis=1)
    fit_rows = task.fit_rows & complete
    test_rows = task.test_rows & complete if task.has_test else np.zeros_like(complete)
    means = {aspect: float(np.nanmean(ratings.mean(aspect)[used])) for aspect, used in fitted.used.items()}
    widths = {aspect: combination.half_width for aspect, combination in model.aspects.items()}

    def listed(values: Mapping[str, Floats], rows: Bools) -> list[Figure]:
        return figures(ratings, Scored(values, widths), means, rows, resamples=how.resamples, seed=how.seed)

    def named(source: Source) -> dict[str, Any]:
        """A member: what it asks, and what that cost in the run it comes from."""
        member, run = source.member, source.run
        usage = run.manifest.judge_usage.get(member.signature) if run is not None and member.asks else None
        cost = None if usage is None or usage.cost is None or not usage.items else 1000 * usage.cost / usage.items
        return {**member.model_dump(mode="json"), "free": not member.asks, "cost_per_1000_summaries": cost}

    def weighed(aspect: str) -> list[dict[str, Any]]:
        """The inputs, the heaviest first: the weight in points of the scale for a standard deviation of the input, and
        the input's own correlation with people."""
        used = fitted.used[aspect]
        inputs = [
            {
                "input": name,
                "weight": weight * model.aspects[aspect].slope,
                "pearson_alone": correlate(measured.values[used, column], ratings.mean(aspect)[used], "pearson").value,
                "asks": model.members[model.inputs[column].member].asks,
            }
            for column, (name, weight) in enumerate(zip(model.names, model.aspects[aspect].weights, strict=True))
        ]
        return sorted(inputs, key=lambda each: (-abs(each["weight"]), each["input"]))

    cross_fitted = listed(fitted.cross_fitted, fit_rows)
    looked = listed(fitted.values, test_rows) if task.has_test else cross_fitted
    lacking = np.isnan(measured.values).sum(axis=0).tolist()
    parts = {"fit": task.fit_rows, "test": task.test_rows}
    return {
        **card_of(task, parts, test_rows if task.has_test else fit_rows, looked),
        "kind": "fused",
        "members": [named(source) for source in task.sources],
        "folds": how.folds,
        "missing": {name: count for name, count in zip(model.names, lacking, strict=True) if count},
        "scales": {
            aspect: {
                "low": task.ends[aspect][0], "high": task.ends[aspect][1], "link": each.link,
                "half_width": each.half_width, "coverage": how.coverage, "penalty": fitted.penalties[aspect],
                "summaries": int(fitted.used[aspect].sum()),
            }
            for aspect, each in model.aspects.items()
        },
        "inputs": {aspect: weighed(aspect) for aspect in model.aspects},
        "looked_at": "test" if task.has_test else "cross-fitted",
        "cross_fitted": [figure.model_dump(exclude_none=True) for figure in cross_fitted],
    }  # fmt: skip
