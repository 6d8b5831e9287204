"""The steps `detect` and `select`: find and sample texts that induce errors in summaries.

The method is that of UniSumEval (Lee et al., EMNLP 2024, section 3): a detector judges the summaries of all systems, a
text is *hallucinogenic* if any of its summaries contains an error, and the benchmark is sampled from these texts. A
text without an error is clean only if no verdict is missing; a failed verdict counts as missing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from summeter.benchmark.step import (
    EvaluatorName,
    Inputs,
    LeftOut,
    Result,
    RunOptions,
    Step,
    StepContext,
    StepSettings,
    run_folder,
    run_over,
    scripted_work,
    scripts,
)
from summeter.data.dataset import Dataset
from summeter.records import Document, Judgment, Record, UsageError

DETECTOR, SECOND = "detector", "second_detector"
"""Names of the judgment sets that the step `detect` writes."""
DEFAULT_DETECTOR = "finesure.fact_check[taxonomy=unisumeval]"
"""The detector used by UniSumEval: the fact check of FineSurE with five error types."""

State = Literal["hallucinogenic", "clean", "unknown"]
"""State of a text: some summary has an error, no summary has one, or no error was found but a verdict is missing."""


class Detector(Record):
    """A detector of errors: an evaluator with its models, or an existing run over these summaries.

    Its decisions are stored as labels, so that the step `select` and the annotators use the same ones.
    """

    evaluator: EvaluatorName = Field(
        DEFAULT_DETECTOR, description="Name of an evaluator; default: UniSumEval's fact check."
    )
    models: dict[str, str] = Field(default_factory=dict, description="Models of the evaluator, by role.")
    run: Path | None = Field(None, description="Existing run with judgments of these summaries; default: a new run.")
    aspect: str = Field("faithfulness", description="Aspect whose verdicts count.")
    threshold: float | None = Field(
        None, description="Value below which a unit is an error; default: the evaluator's labels (0 is an error)."
    )
    options: RunOptions = Field(default_factory=dict, description="Options of the run, by name (`temperature`...).")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.run is not None and (self.models or self.options):
            raise ValueError("run cannot be combined with models or options; remove run or the others")
        return self


class DetectSettings(StepSettings):
    """Find errors in the summaries with one or two evaluators."""

    detector: Detector = Field(
        default_factory=Detector, description="Detector whose verdicts count: the name of an evaluator, or fields."
    )
    second: Detector | None = Field(None, description="Second detector, whose agreement with the first is measured.")

    @field_validator("detector", "second", mode="before")
    @classmethod
    def _expand_name(cls, value: Any) -> Any:
        return {"evaluator": value} if isinstance(value, str) else value

    @property
    def detectors(self) -> dict[str, Detector]:
        """The detectors, by the name of the judgment set that each writes."""
        return {DETECTOR: self.detector} | ({} if self.second is None else {SECOND: self.second})

    def asked_models(self) -> Iterable[str]:
        """Return the models that the detectors call."""
        return [model for detector in self.detectors.values() for model in detector.models.values()]

    def files(self) -> Iterable[Path]:
        """Return the existing runs, and the files of scripted models."""
        return [*(each.run for each in self.detectors.values() if each.run is not None), *scripts(self)]


class SelectSettings(StepSettings):
    """Select texts with an error in at least one summary."""

    per_source: int = Field(25, ge=1, description="Number of texts per source.")
    rank: Literal["uniform", "errors"] = Field(
        "uniform",
        description="Selection of texts: `uniform` sampling, or `errors` (the largest share of errors first).",
    )
    confirmed: bool = Field(default=False, description="Select only texts that the second detector confirms.")
    aspect: str = Field("faithfulness", description="Aspect whose verdicts count.")


class TextVerdict(NamedTuple):
    """The verdict on a text.

    `summaries` is the number of summaries of the text; `with_error` of these have an error, and `undecided` are
    undecided. `units` is the number of units (sentences or claims) with a usable verdict; `errors` of these are errors.
    `failed` is the number of units whose verdict failed.
    """

    document_id: str
    summaries: int
    with_error: int
    undecided: int
    units: int
    errors: int
    failed: int

    @property
    def state(self) -> State:
        """The state of the text: hallucinogenic, clean or unknown."""
        if self.with_error:
            return "hallucinogenic"
        return "unknown" if self.undecided or not self.summaries else "clean"

    @property
    def share(self) -> float:
        """The fraction of the usable verdicts that are errors."""
        return self.errors / self.units if self.units else 0.0


def text_verdicts(
    data: Dataset, judgments: Iterable[Judgment], *, aspect: str = "faithfulness", systems: Iterable[str] = ()
) -> dict[str, TextVerdict]:
    """Return the verdict on every text, by id.

    The label 0 means an error. A summary without an error is undecided if one of its verdicts failed or no verdict is
    usable. A missing summary also counts as undecided: each system of the data and each of `systems` should have
    summarized every text. Raises UsageError if no judgment is about the aspect, or if a judgment has no label 0 or 1.
    """
    all_systems = {*data.systems, *systems}
    by_summary: dict[tuple[str, str], list[Judgment]] = {
        (summary.document_id, summary.system): [] for summary in data.summaries
    }
    aspects = set()
    for judgment in judgments:
        aspects.add(judgment.aspect)
        key = (judgment.target.document_id, judgment.target.system)
        if judgment.aspect == aspect and judgment.target.rival is None and key in by_summary:
            by_summary[key].append(judgment)
    if not any(by_summary.values()):
        hint = f"It has the aspects: {', '.join(sorted(aspects))}" if aspects else "It has no judgments"
        raise UsageError(f"the detector has no judgments of the aspect {aspect!r} for these summaries. {hint}")
    verdicts = {}
    for document, summaries in data.items():
        units = [
            [_is_error(judgment) for judgment in by_summary[summary.document_id, summary.system]]
            for summary in summaries
        ]
        verdicts[document.id] = TextVerdict(
            document.id,
            summaries=len(summaries),
            with_error=sum(True in unit for unit in units),
            undecided=sum(True not in unit and (None in unit or not unit) for unit in units)
            + len(all_systems - {summary.system for summary in summaries}),
            units=sum(verdict is not None for unit in units for verdict in unit),
            errors=sum(verdict is True for unit in units for verdict in unit),
            failed=sum(verdict is None for unit in units for verdict in unit),
        )
    return verdicts


def _is_error(judgment: Judgment) -> bool | None:
    """Return whether a judgment reports an error, or None if the judgment failed."""
    if judgment.status != "ok":
        return None
    if judgment.label not in (0, 1):
        raise UsageError(
            f"{judgment.judge} has no label of 0 or 1 for {judgment.aspect}. Set the threshold of the step `detect`, "
            "below which a value is an error"
        )
    return judgment.label == 0


def _with_threshold(judgment: Judgment, threshold: float | None) -> Judgment:
    """Return a judgment labelled by the threshold, or unchanged if the threshold is None or the judgment failed."""
    if threshold is None or judgment.status != "ok":
        return judgment
    if judgment.value is None:
        raise UsageError(
            f"{judgment.judge} has no values of {judgment.aspect} to compare with the threshold. Remove threshold"
        )
    label = int(judgment.value >= threshold)
    return judgment if label == judgment.label else judgment.model_copy(update={"label": label, "error_type": None})


def agreement(first: Mapping[str, TextVerdict], second: Mapping[str, TextVerdict]) -> dict[str, Any]:
    """Return the agreement of two detectors on texts.

    Of the texts that are hallucinogenic according to the first detector, the second confirms some, calls some clean,
    and leaves some undecided (in UniSumEval, it confirms 1,180 of 1,199, or 98.4 %). `agreed` is the number of
    agreements among the texts that both detectors decide. A share is None if its denominator is 0.
    """
    hallucinogenic = [doc_id for doc_id, verdict in first.items() if verdict.state == "hallucinogenic"]
    states = Counter(second[doc_id].state for doc_id in hallucinogenic)
    confirmed, clean = states["hallucinogenic"], states["clean"]
    pairs = [(verdict.state, second[doc_id].state) for doc_id, verdict in first.items()]
    both = [pair for pair in pairs if "unknown" not in pair]
    agreed = sum(one == other for one, other in both)
    return {
        "hallucinogenic": len(hallucinogenic),
        "confirmed": confirmed,
        "clean": clean,
        "undecided": states["unknown"],
        "decided_by_both": len(both),
        "agreed": agreed,
        "confirmed_share": round(confirmed / (confirmed + clean), 4) if confirmed + clean else None,
        "agreed_share": round(agreed / len(both), 4) if both else None,
    }


def detect(inputs: Inputs, settings: DetectSettings, context: StepContext) -> Result:
    """Judge every summary with the detectors, and add the verdicts as judgment sets.

    Raises UsageError if there are no summaries, if a run is over other summaries, or if a detector has no usable
    verdict.
    """
    data = inputs.dataset
    if not data.summaries:
        raise UsageError("there are no summaries to judge. Summarize the documents first")
    work = scripted_work(context.work, settings)
    summarizers = _summarizers(inputs)
    verdicts: dict[str, dict[str, TextVerdict]] = {}
    models: dict[str, str] = {}
    details: dict[str, Any] = {}
    for name, detector in settings.detectors.items():
        if detector.run is not None:
            judgments = run_over(data, detector.run).judgments()
        else:
            from summeter.engine.api import evaluate

            judging = detector.model_dump(mode="json", include={"evaluator", "models", "options"})
            folder = run_folder(work, name, data, judging)
            run = evaluate(
                data, [detector.evaluator], models=detector.models, out=folder, progress=context.progress,
                **detector.options,
            )  # fmt: skip
            context.log({"run": name, "status": run.manifest.status, "judgments": run.manifest.counts})
            judgments = run.judgments()
            models |= {f"{name}.{role}": model for role, model in detector.models.items()}
        labelled = [_with_threshold(each, detector.threshold) for each in judgments if each.aspect == detector.aspect]
        verdicts[name] = text_verdicts(data, labelled or judgments, aspect=detector.aspect, systems=summarizers)
        if not any(verdict.units for verdict in verdicts[name].values()):
            reason = next((row.reason for row in judgments if row.reason), "it gives no reason")
            raise UsageError(f"{detector.evaluator} gave no usable verdict ({reason})")
        data = data.with_judgments(name, labelled)
        statuses = Counter(judgment.status for judgment in labelled)
        details[name] = {"verdicts": dict(sorted(statuses.items())), "texts": _states(verdicts[name].values())}
    details |= _compared(data, verdicts)
    count = sum(verdict.state == "hallucinogenic" for verdict in verdicts[DETECTOR].values())
    return Result(data, counts={"hallucinogenic": count}, models=models, details=details)


def _summarizers(inputs: Inputs) -> set[str]:
    """Return the systems of the step `summarize`, including systems that wrote no summary."""
    return {name for record in inputs.history if record.step == "summarize" for name in record.settings["models"]}


def select(inputs: Inputs, settings: SelectSettings, context: StepContext) -> Result:
    """Select hallucinogenic texts from each source, and leave out all other texts.

    Raises UsageError if no detector has judged the summaries, or if no text has a summary with an error.
    """
    del context
    data = inputs.dataset
    if DETECTOR not in data.judgment_sets:
        raise UsageError(f"there is no judgment set {DETECTOR!r}. Run the step `detect` first")
    summarizers = _summarizers(inputs)
    verdicts = {
        name: text_verdicts(data, data.judgments(name), aspect=settings.aspect, systems=summarizers)
        for name in (DETECTOR, SECOND)
        if name in data.judgment_sets
    }
    if settings.confirmed and SECOND not in verdicts:
        raise UsageError("confirmed needs the verdicts of a second detector. Set `second` of the step `detect`")
    first, second = verdicts[DETECTOR], verdicts.get(SECOND, {})
    reasons = {"clean": "no error was found", "unknown": "no error was found, but summaries or verdicts are missing"}
    left_out: list[LeftOut] = []
    by_source: dict[str, list[str]] = {}
    for document in data.documents.values():
        candidates = by_source.setdefault(source_of(document), [])
        why = reasons.get(first[document.id].state)
        if why is None and settings.confirmed and second[document.id].state != "hallucinogenic":
            why = "not confirmed by the second detector"
        if why is None:
            candidates.append(document.id)
        else:
            left_out.append(LeftOut("document", document.id, why))
    if not any(by_source.values()):
        raise UsageError("there is no text to select from, because no summary has a (confirmed) error")
    selected: set[str] = set()
    sources = []
    for source, candidates in by_source.items():
        ordered = ranked(source, [first[doc_id] for doc_id in candidates], settings)
        chosen, rest = ordered[: settings.per_source], ordered[settings.per_source :]
        selected.update(chosen)
        left_out += [LeftOut("document", doc_id, "not selected") for doc_id in rest]
        counts = {"candidates": len(candidates), "selected": len(chosen), "missing": settings.per_source - len(chosen)}
        sources.append({"source": source, **counts})
    missing = settings.per_source * len(by_source) - len(selected)
    details = {"sources": sources, **_compared(data, verdicts, selected), "texts": _states(first.values())}
    return Result(data.with_documents(selected), dropped=left_out, counts={"missing": missing}, details=details)


def ranked(source: str, candidates: Sequence[TextVerdict], settings: SelectSettings) -> list[str]:
    """Return the ids of the candidates from one source, in the order of selection.

    The ids are shuffled with the seed and the source's name. If `rank` is `errors`, they are then sorted by the share
    of errors, largest first. The order of `candidates` has no effect.
    """
    by_id = {verdict.document_id: verdict for verdict in candidates}
    shuffled = sorted(by_id)
    random.Random(f"{settings.seed}:{source}").shuffle(shuffled)
    if settings.rank == "errors":
        shuffled.sort(key=lambda doc_id: -by_id[doc_id].share)
    return shuffled


def source_of(document: Document) -> str:
    """Return the source of a document, or the domain if the step `source` recorded no source."""
    return str(document.extra.get("source") or document.domain or "all")


def _states(verdicts: Iterable[TextVerdict]) -> dict[str, int]:
    counts = Counter(verdict.state for verdict in verdicts)
    return {state: counts[state] for state in ("hallucinogenic", "clean", "unknown")}


def _compared(
    data: Dataset, verdicts: Mapping[str, Mapping[str, TextVerdict]], selected: set[str] | None = None
) -> dict[str, Any]:
    """Count the texts by source, domain, length and kind, and add the agreement of two detectors."""
    first, second = verdicts[DETECTOR], verdicts.get(SECOND)
    groups: dict[tuple[Any, ...], list[str]] = {}
    for document in data.documents.values():
        key = (source_of(document), document.domain, document.extra.get("length"), document.extra.get("kind"))
        groups.setdefault(key, []).append(document.id)
    strata = []
    for (source, domain, length, kind), ids in groups.items():
        row = {"source": source, "domain": domain, "length": length, "kind": kind, "texts": len(ids)}
        row |= _states(first[doc_id] for doc_id in ids)
        if second is not None:
            row["confirmed"] = sum(first[doc_id].state == second[doc_id].state == "hallucinogenic" for doc_id in ids)
        if selected is not None:
            row["selected"] = sum(doc_id in selected for doc_id in ids)
        strata.append(row)
    return {"strata": strata} if second is None else {"strata": strata, "agreement": agreement(first, second)}


DETECT = Step("detect", DetectSettings, detect)
SELECT = Step("select", SelectSettings, select)
