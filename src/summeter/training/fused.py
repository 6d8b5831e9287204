"""Train the fused judge: ridge or logistic regression on the judgments of other evaluators.

The regression is fitted to human ratings. No network is trained, so the fit takes only seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

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
    FusedMember,
    FusedModel,
    Input,
    Link,
    Measured,
    inputs_of,
    measure,
    save,
)
from summeter.records import UsageError
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder
from summeter.scoring.table import JudgmentTable
from summeter.stats import correlate
from summeter.stats.base import Bools, Floats
from summeter.training.base import Task, Trained, Training
from summeter.training.card import Card, card_of
from summeter.training.figures import Figure, figures
from summeter.training.linear import PENALTIES, calibrated, cross_fit, need_sklearn
from summeter.training.ratings import check_sizes, read_ratings
from summeter.training.regression import load_data
from summeter.training.split import fold_of
from summeter.training.work import Work


class FusedTraining(Training):
    """Settings of a fused judge.

    `runs` are the folders of runs over the data. Their judges are the members: all of them, or those in `members`,
    which are written as for the option `-e` (`rts[aspect=fluency]`, `rts@second`). A member that is in none of the runs
    is judged during the training if it calls no LLM; `models` assigns local models to its roles. `data` defaults to the
    data of the first run. An aspect whose ratings are all 0 or 1 is fitted by logistic regression, and other aspects by
    ridge regression. `folds` is the number of folds into which the documents outside the test set are divided. Each
    fold is predicted by a fit to the other folds, and these predictions are used to choose the penalties, the
    calibration and the intervals; `split.dev` is not used. `penalties` holds the candidate penalties.
    """

    kind: Literal["fused"] = "fused"
    data: str | None = None
    runs: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    models: dict[str, str] = Field(default_factory=dict)
    folds: int = Field(default=5, ge=2)
    penalties: tuple[float, ...] = Field(default=PENALTIES, min_length=1)

    @model_validator(mode="after")
    def _check(self) -> FusedTraining:
        if not self.runs and not self.members:
            raise ValueError("runs or members is required: give the runs whose judges are fused, or the evaluators")
        if not self.runs and self.data is None:
            raise ValueError("data is required if no runs are given")
        if min(self.penalties) < 0:
            raise ValueError("penalties must not be negative")
        return self

    def task(self, base: Path) -> FusedTask:
        """Read and check the data, the runs and the ratings, and return the task."""
        need_sklearn()
        runs = [RunFolder(base / run) for run in self.runs]
        if self.data is not None:
            data = load_data(self.data, base, preset=self.preset, columns=self.map)
        else:
            data = runs[0].data
        return FusedTask(self, data, runs)


class Source(NamedTuple):
    """A member of a fused judge, with the run that contains its judgments.

    `run` is None if the member is judged during the training.
    """

    evaluator: Evaluator
    member: FusedMember
    run: RunFolder | None


class FusedTask(Task):
    """The training of a fused judge, with its data, runs and ratings."""

    how: FusedTraining

    def __init__(self, how: FusedTraining, data: Dataset, runs: Sequence[RunFolder]) -> None:
        super().__init__(how, data, read_ratings(data, how.aspects, how.labels))
        for run in runs:
            run.check_data(data, "A fused judge needs judgments of the rated summaries")
        self.sources = _sources(how, data, runs)
        self.links: dict[str, Link] = {
            aspect: "logistic" if np.isin(votes[~np.isnan(votes)], (0, 1)).all() else "linear"
            for aspect, votes in self.ratings.votes.items()
        }
        self.rows = {"fit": self.rows["train"] | self.rows["dev"], "test": self.rows["test"]}
        check_sizes(self.ratings, self.used_rows)
        self.key = how.model_copy(update={"data": None, "preset": None, "map": {}, "runs": ()}).digest(
            data=data.hash,
            ratings=self.ratings.digest,
            members=[source.member.model_dump(mode="json") for source in self.sources],
            runs=[run.manifest.updated for run in runs],
        )
        self.space = 5_000_000 + 2_000 * len(data.summaries) * sum(source.run is None for source in self.sources)

    @property
    def used_rows(self) -> dict[str, Bools]:
        """The subsets that are used: those to fit on and, if it is evaluated, the test set."""
        return self.rows if self.test else {"fit": self.rows["fit"]}

    def train(self, work: Work, show: Progress) -> Trained:
        """Run the members that are in no run, fit the weights, and compute the figures."""
        judgments = self.judgments(work.folder / "members", show)
        measured, inputs = self.measured(judgments)
        show.note("fitting")
        fitted = fit_fused(self, measured, inputs)
        show.note("figures")
        card = _card(self, measured, fitted)
        return Trained(card, Card(card).lines(), Card(card).readme(), lambda folder: save(fitted.model, folder / FILE))

    def measured(self, judgments: Sequence[JudgmentTable]) -> tuple[Measured, list[Input]]:
        """Return the values of the inputs for all rated summaries, and the descriptions of the inputs."""
        evaluators = [source.evaluator for source in self.sources]
        items = [(row.document_id, row.system, None) for row in self.ratings.summaries]
        inputs = inputs_of(evaluators, judgments)
        if not inputs:
            raise UsageError("the members judged none of the rated summaries, so nothing can be fitted")
        return measure(inputs, evaluators, items, judgments), inputs

    def judgments(self, folder: Path, show: Progress) -> list[JudgmentTable]:
        """Return the judgments of each member.

        Members that are in no run are judged in a run in `folder`, which can be resumed.
        """
        unjudged = [source.evaluator for source in self.sources if source.run is None]
        runs = {source.run.folder: source.run for source in self.sources if source.run is not None}
        read = {name: run.table() for name, run in runs.items()}
        if unjudged:
            scored = evaluate(self.data, unjudged, models=self.how.models or None, out=folder, progress=show)
            read[folder] = scored.table()
        return [
            read[folder if source.run is None else source.run.folder].where(signature=source.member.signature)
            for source in self.sources
        ]


def _sources(how: FusedTraining, data: Dataset, runs: Sequence[RunFolder]) -> list[Source]:
    """Return the members, each with the first run that contains it.

    Members that are in no run have None as their run and must still be judged. Raises UsageError for a member that
    calls an LLM and is in no run, and for judges that cannot be members.
    """
    available = [
        Source(*_of_entry(run, entry), run)
        for run in runs
        for entry in run.manifest.judges
        if not (entry.prepares_only or entry.members or entry.imported)
    ]
    if not how.members:
        sources = available
        if not sources:
            raise UsageError(f"{', '.join(how.runs)}: these runs have no judge of single summaries; set members")
    else:
        sources = []
        for named in (member for text in how.members for member in named_members(text, None)):
            wanted = named.evaluator.name, named.evaluator.model_dump(mode="json", exclude_defaults=True), named.role
            matches = (
                source
                for source in available
                if (source.member.name, source.member.settings, source.member.role) == wanted
            )
            sources.append(next(matches, None) or _judged_here(how, data, named, runs))
    unique = list({source.member.signature: source for source in sources}.values())
    return _with_roles(unique)


def _of_entry(run: RunFolder, entry: JudgeEntry) -> tuple[Evaluator, FusedMember]:
    """Return the evaluator of a run's judge, and the judge as a member.

    Raises UsageError for a judge with repeats.
    """
    evaluator = rebuild(entry.name, entry.settings)
    if "|rep:" in entry.signature:
        raise UsageError(
            f"{run.folder} contains repeats of {entry.name} ({entry.signature}), but a fused judge needs one judgment "
            "per summary; score without repeats"
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
        where = f"is in none of the runs {', '.join(str(run.folder) for run in runs)}" if runs else "no runs are given"
        raise UsageError(
            f"members: {named.name} calls an LLM, and {where}; score the data with it (summeter score DATA -e "
            f"{named.name} -m MODEL -o RUN) and add that run to runs"
        )
    plan = make_plan(data, [evaluator], dict(how.models), Options())
    (job,) = (job for job in plan.jobs if job.evaluator == evaluator)
    settings = evaluator.model_dump(mode="json", exclude_defaults=True)
    member = FusedMember(
        name=evaluator.name, settings=settings, signature=job.signature, networks=dict(job.entry.models)
    )
    return Source(evaluator, member, None)


_FURTHER = ("second", *(f"judge{number}" for number in range(3, 100)))
"""The roles of further judge LLMs."""


def _with_roles(sources: Sequence[Source]) -> list[Source]:
    """Return the sources with a separate role for each further judge LLM, since a run has one model per role.

    Raises UsageError if the members use two models in a role other than `judge`.
    """
    models: dict[str, str] = {}
    changed = []
    for source in sources:
        member = source.member
        for role, model in member.asks.items():
            current = member.role if role == "judge" and member.role else role
            if models.setdefault(current, model) == model:
                continue
            if role != "judge":
                raise UsageError(
                    f"the members use two models in the role {current} ({models[current]}, {model}), but a run has one "
                    "model per role; select members with the setting members"
                )
            free = next(name for name in _FURTHER if models.get(name, model) == model)
            models[free] = model
            member = member.model_copy(update={"role": free})
        changed.append(source._replace(member=member))
    return changed


class FittedFused(NamedTuple):
    """A fitted judge.

    `cross_fitted` holds the cross-fitted predictions of each aspect, which are NaN for rows that were not used or lack
    an input. `penalties` holds the penalty of each aspect, and `used` the mask of the rows used for its fit.
    """

    model: FusedModel
    cross_fitted: dict[str, Floats]
    penalties: dict[str, float]
    used: dict[str, Bools]


def fit_fused(task: FusedTask, measured: Measured, inputs: Sequence[Input]) -> FittedFused:
    """Fit each aspect to the rated summaries outside the test set that have all inputs.

    Raises UsageError if these summaries belong to too few documents or if their ratings are all equal.
    """
    how, ratings, rows = task.how, task.ratings, task.rows["fit"]
    complete = ~np.isnan(measured.values).any(axis=1)
    # The fold of each row of the fit, by document; -1 for other rows.
    inside = {row.document_id for row, selected in zip(ratings.summaries, rows.tolist(), strict=True) if selected}
    texts = {name: text for name, text in ratings.texts.items() if name in inside}
    fold = fold_of(texts, how.folds, f"{how.split.salt} {how.seed}")
    folds = np.array([fold.get(row.document_id, -1) for row in ratings.summaries], dtype=np.int64)
    usable = {subset: in_subset & complete for subset, in_subset in task.used_rows.items()}
    combinations, cross_fitted, penalties, used_rows = {}, {}, {}, {}
    for aspect in ratings.aspects:
        rated = ratings.mean(aspect)
        used = usable["fit"] & ~np.isnan(rated)
        try:
            check_sizes(ratings, {**usable, "fit": used}, f"ratings of {aspect} and all inputs")
        except UsageError as error:
            # The input with the most missing values, and the first reason.
            counts = np.isnan(measured.values[rows]).sum(axis=0)
            column = int(counts.argmax())
            if not counts[column]:
                raise
            status, reason = next(why for (_, index), why in sorted(measured.why.items()) if index == column)
            missing = f"{counts[column]} of {int(rows.sum())} summaries have no value of {inputs[column].aspect}"
            raise UsageError(f"{error}. {missing} ({status}: {reason})") from error
        if len(np.unique(rated[used])) < 2:
            raise UsageError(f"all ratings of {aspect} outside the test set are equal; remove it from aspects")
        link, (low, high) = task.links[aspect], task.ends[aspect]
        predicted = np.full(len(rows), np.nan)
        combination, penalties[aspect], predicted[used] = cross_fit(
            measured.values[used], rated[used], link, folds[used], how.penalties
        )
        combination = combination.model_copy(update={"scale": (low, high)})
        if link == "linear":
            shares = (predicted[used] - low) / (high - low)
            scale = calibrated(shares, rated[used], ratings.document_codes[used], (low, high), "linear", how.coverage)
            slope = (scale.ratings[1] - scale.ratings[0]) / (high - low)
            shift = scale.ratings[0] - slope * low
            combination = combination.model_copy(
                update={"shift": shift, "slope": slope, "half_width": scale.half_width, "confidence": how.coverage}
            )
            predicted = shift + slope * predicted
        combinations[aspect], cross_fitted[aspect], used_rows[aspect] = combination, predicted, used
    members = tuple(source.member for source in task.sources)
    model = FusedModel(members=members, inputs=tuple(inputs), aspects=combinations)
    return FittedFused(model, cross_fitted, penalties, used_rows)


def _card(task: FusedTask, measured: Measured, fitted: FittedFused) -> dict[str, Any]:
    how, ratings, model = task.how, task.ratings, fitted.model
    complete = ~np.isnan(measured.values).any(axis=1)
    fit_rows = task.rows["fit"] & complete
    means = {aspect: float(np.nanmean(ratings.mean(aspect)[used])) for aspect, used in fitted.used.items()}
    widths = {aspect: combination.half_width for aspect, combination in model.aspects.items()}

    def listed(values: Mapping[str, Floats], rows: Bools) -> list[Figure]:
        return figures(ratings, values, widths, means, rows, resamples=how.resamples, seed=how.seed)

    def describe(source: Source) -> dict[str, Any]:
        """Return a member as an entry of the card, with its cost per 1,000 summaries in US dollars."""
        member, run = source.member, source.run
        usage = run.manifest.judge_usage.get(member.signature) if run is not None and member.asks else None
        cost = None if usage is None or usage.cost is None or not usage.items else 1000 * usage.cost / usage.items
        return {**member.model_dump(mode="json"), "free": not member.asks, "cost_per_1000_summaries": cost}

    def weights(aspect: str) -> list[dict[str, Any]]:
        """Return the inputs by decreasing absolute weight.

        Weights are in points of the scale per standard deviation of the input.
        """
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
    evaluated, on_evaluated = fit_rows, cross_fitted
    if task.test:
        values = {aspect: combination.values(measured.values) for aspect, combination in model.aspects.items()}
        evaluated = task.rows["test"] & complete
        on_evaluated = listed(values, evaluated)
    missing = np.isnan(measured.values).sum(axis=0).tolist()
    return {
        **card_of(task, evaluated, on_evaluated),
        "kind": "fused",
        "members": [describe(source) for source in task.sources],
        "folds": how.folds,
        "missing": {name: count for name, count in zip(model.names, missing, strict=True) if count},
        "scales": {
            aspect: {
                "low": task.ends[aspect][0], "high": task.ends[aspect][1], "link": each.link,
                "half_width": each.half_width, "coverage": how.coverage, "penalty": fitted.penalties[aspect],
                "summaries": int(fitted.used[aspect].sum()),
            }
            for aspect, each in model.aspects.items()
        },
        "inputs": {aspect: weights(aspect) for aspect in model.aspects},
        "looked_at": "test" if task.test else "cross-fitted",
        "cross_fitted": [figure.model_dump(exclude_none=True) for figure in cross_fitted],
    }  # fmt: skip
