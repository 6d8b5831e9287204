"""The steps `detect` and `select`: which texts lead summarizers into errors, and a sample of those.

As UniSumEval does it (Lee et al., EMNLP 2024, section 3): a detector judges the summaries of all systems; a text is
*hallucinogenic* if any of its summaries has an error; the benchmark is drawn from those. A verdict that failed is
neither an error nor its absence: a text without a found error is clean only where every verdict came.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from summeter.benchmark.step import (
    Inputs,
    LeftOut,
    Place,
    Result,
    RunOptions,
    Step,
    StepSettings,
    run_over,
    scripted_work,
    scripts,
)
from summeter.data.dataset import Dataset
from summeter.evaluators.catalog import build
from summeter.records import Document, Judgment, Record, UsageError

DETECTOR, SECOND = "detector", "second_detector"
"""The judgment sets that the step `detect` writes."""
USUAL = "finesure.fact_check[taxonomy=unisumeval]"
"""UniSumEval's detector: FineSurE's fact check with five types of error."""

State = Literal["hallucinogenic", "clean", "unknown"]
"""Of a text: some summary has an error; none has; none was found, but a verdict is missing."""


class Detector(Record):
    """Who looks for errors: an evaluator with its models, or a run that has judged these summaries already.

    The decisions are stored as labels, so that the step `select` and annotators see the same ones.
    """

    evaluator: str = Field(USUAL, description="Name of an evaluator; default: UniSumEval's fact check.")
    models: dict[str, str] = Field(default_factory=dict, description="Its models, by role.")
    run: Path | None = Field(None, description="A run that has judged these summaries.")
    aspect: str = Field("faithfulness", description="The aspect whose verdicts count.")
    threshold: float | None = Field(
        None, description="A value below is an error; default: the evaluator's own labels (0 is an error)."
    )
    options: RunOptions = Field(default_factory=dict, description="Options of a run, by name (`temperature`...).")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        build(self.evaluator)
        if self.run is not None and (self.models or self.options):
            raise ValueError("a run has its own models and options; leave out run, or these")
        return self


class DetectSettings(StepSettings):
    """Which evaluators look for errors in the summaries."""

    detector: Detector = Field(default_factory=Detector, description="The evaluator whose verdicts count, or its name.")
    second: Detector | None = Field(None, description="Another one, whose agreement is measured, or its name.")

    @field_validator("detector", "second", mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        return {"evaluator": given} if isinstance(given, str) else given

    @property
    def detectors(self) -> dict[str, Detector]:
        """The detectors by the names of their judgment sets."""
        return {DETECTOR: self.detector} | ({} if self.second is None else {SECOND: self.second})

    def asked_models(self) -> Iterable[str]:
        """The models of the detectors."""
        return [model for detector in self.detectors.values() for model in detector.models.values()]

    def files(self) -> Iterable[Path]:
        """The runs that are read, and what scripted models say."""
        return [*(each.run for each in self.detectors.values() if each.run is not None), *scripts(self)]


class SelectSettings(StepSettings):
    """How texts are chosen from those with an error in some summary."""

    per_source: int = Field(25, ge=1, description="Texts of each source.")
    rank: Literal["uniform", "errors"] = Field(
        "uniform", description="Draw them by the seed, or take those with the largest share of errors first."
    )
    confirmed: bool = Field(default=False, description="Only texts that the second detector confirms.")
    aspect: str = Field("faithfulness", description="The aspect whose verdicts count.")


class TextVerdict(NamedTuple):
    """The verdict on a text: the number of its summaries, of those with an error and of those without a full verdict;
    and of the units judged (sentences, claims), the number judged, with an error, and failed."""

    document_id: str
    summaries: int
    with_error: int
    undecided: int
    units: int
    errors: int
    failed: int

    @property
    def state(self) -> State:
        """Hallucinogenic, clean or unknown."""
        if self.with_error:
            return "hallucinogenic"
        return "unknown" if self.undecided or not self.summaries else "clean"

    @property
    def share(self) -> float:
        """The share of the usable verdicts that are errors."""
        return self.errors / self.units if self.units else 0.0


def text_verdicts(
    data: Dataset, judgments: Iterable[Judgment], *, aspect: str = "faithfulness", systems: Iterable[str] = ()
) -> dict[str, TextVerdict]:
    """The verdict on every text, by id: the label 0 is an error.

    A summary is undecided if it has no usable verdict, or a failed one and no error. A summary that is missing is
    undecided too: every text should have one by each system of the data and each of the `systems`. Raises UsageError
    where no judgment is of the aspect, or one has no label of 0 or 1.
    """
    wanted = {*data.systems, *systems}
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
        there = f"its aspects are: {', '.join(sorted(aspects))}" if aspects else "it has no judgments"
        raise UsageError(f"the detector gives no {aspect!r} of these summaries; {there}")
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
            + len(wanted - {summary.system for summary in summaries}),
            units=sum(verdict is not None for unit in units for verdict in unit),
            errors=sum(verdict is True for unit in units for verdict in unit),
            failed=sum(verdict is None for unit in units for verdict in unit),
        )
    return verdicts


def _is_error(judgment: Judgment) -> bool | None:
    """Whether a judgment says that there is an error; None where it failed."""
    if judgment.status != "ok":
        return None
    if judgment.label not in (0, 1):
        raise UsageError(
            f"{judgment.judge} gives no label of 0 or 1 for {judgment.aspect}; give `detect` a threshold below which a "
            "value is an error"
        )
    return judgment.label == 0


def _with_threshold(judgments: Iterable[Judgment], threshold: float | None) -> list[Judgment]:
    """The judgments with the labels that the threshold decides; as they are without one."""
    if threshold is None:
        return list(judgments)
    labelled = []
    for judgment in judgments:
        if judgment.status != "ok":
            labelled.append(judgment)
            continue
        if judgment.value is None:
            raise UsageError(
                f"{judgment.judge} gives no values of {judgment.aspect} to compare with the threshold; leave it out"
            )
        label = int(judgment.value >= threshold)
        changes: dict[str, Any] = {} if label == judgment.label else {"label": label, "error_type": None}
        labelled.append(judgment.model_copy(update=changes))
    return labelled


def agreement(first: Mapping[str, TextVerdict], second: Mapping[str, TextVerdict]) -> dict[str, Any]:
    """How far a second detector agrees about texts (UniSumEval: 1,180 of 1,199 confirmed, 98.4 %): of those that the
    first calls hallucinogenic, how many it confirms, calls clean, and does not decide; and in how many of the texts
    that both decide they agree. Shares are None where there is nothing to share."""
    found = [doc_id for doc_id, verdict in first.items() if verdict.state == "hallucinogenic"]
    states = Counter(second[doc_id].state for doc_id in found)
    confirmed, clean = states["hallucinogenic"], states["clean"]
    pairs = [(verdict.state, second[doc_id].state) for doc_id, verdict in first.items()]
    both = [pair for pair in pairs if "unknown" not in pair]
    agreed = sum(one == other for one, other in both)
    return {
        "hallucinogenic": len(found),
        "confirmed": confirmed,
        "clean": clean,
        "undecided": states["unknown"],
        "decided_by_both": len(both),
        "agreed": agreed,
        "confirmed_share": round(confirmed / (confirmed + clean), 4) if confirmed + clean else None,
        "agreed_share": round(agreed / len(both), 4) if both else None,
    }


def detect(inputs: Inputs, settings: DetectSettings, place: Place) -> Result:
    """Have the detectors judge every summary; their verdicts become judgment sets of the dataset.

    Raises UsageError where there is no summary, a run is over other summaries, or a detector gives no usable verdict.
    """
    data = inputs.dataset
    if not data.summaries:
        raise UsageError("there are no summaries to look for errors in; summarize the documents first")
    work = scripted_work(place.work, settings)
    summarizers = _summarizers(inputs)
    verdicts: dict[str, dict[str, TextVerdict]] = {}
    models: dict[str, str] = {}
    details: dict[str, Any] = {}
    for name, detector in settings.detectors.items():
        judgments, used = _judge(data, name, detector, place, work)
        own = [judgment for judgment in judgments if judgment.aspect == detector.aspect]
        counted = _with_threshold(own, detector.threshold)
        verdicts[name] = text_verdicts(data, counted or judgments, aspect=detector.aspect, systems=summarizers)
        if not any(verdict.units for verdict in verdicts[name].values()):
            reason = next((row.reason for row in judgments if row.reason), "no reason is given")
            raise UsageError(f"{detector.evaluator} gave no usable verdict: {reason}")
        data = data.with_judgments(name, counted)
        models |= used
        statuses = Counter(judgment.status for judgment in counted)
        details[name] = {"verdicts": dict(sorted(statuses.items())), "texts": _states(verdicts[name].values())}
    details["strata"] = list(_strata(data.documents.values(), verdicts[DETECTOR], verdicts.get(SECOND)))
    if SECOND in verdicts:
        details["agreement"] = agreement(verdicts[DETECTOR], verdicts[SECOND])
    found = sum(verdict.state == "hallucinogenic" for verdict in verdicts[DETECTOR].values())
    return Result(data, counts={"hallucinogenic": found}, models=models, details=details)


def _summarizers(inputs: Inputs) -> set[str]:
    """The systems that were asked for a summary of every text, those among them that gave none at all too."""
    return {name for record in inputs.history if record.step == "summarize" for name in record.settings["models"]}


def _judge(
    data: Dataset, name: str, detector: Detector, place: Place, work: Path
) -> tuple[list[Judgment], dict[str, str]]:
    """The judgments of a detector, and its models; its own run lies in the work folder and is carried on."""
    if detector.run is not None:
        return run_over(data, detector.run).judgments(), {}
    from summeter.engine.api import evaluate

    judged = evaluate(
        data, [detector.evaluator], models=detector.models, out=work / name, progress=place.progress,
        **detector.options,
    )  # fmt: skip
    place.log({"run": name, "status": judged.manifest.status, "judgments": judged.manifest.counts})
    return judged.judgments(), {f"{name}.{role}": model for role, model in detector.models.items()}


def select(inputs: Inputs, settings: SelectSettings, place: Place) -> Result:
    """Choose texts of each source from those that lead summarizers into errors; the others are left out.

    Raises UsageError where no detector has judged the summaries, or no text has an error.
    """
    del place
    data = inputs.dataset
    if DETECTOR not in data.judgment_sets:
        raise UsageError(f"there is no judgment set {DETECTOR!r}; run the step `detect` first")
    summarizers = _summarizers(inputs)
    first = text_verdicts(data, data.judgments(DETECTOR), aspect=settings.aspect, systems=summarizers)
    second = None
    if SECOND in data.judgment_sets:
        second = text_verdicts(data, data.judgments(SECOND), aspect=settings.aspect, systems=summarizers)
    elif settings.confirmed:
        raise UsageError("no second detector has looked for errors; name one as `second` of detect")
    left_out: list[LeftOut] = []
    chosen: set[str] = set()
    by_source: dict[str, list[str]] = {}
    for document in data.documents.values():
        candidates = by_source.setdefault(source_of(document), [])
        state = first[document.id].state
        if state == "clean":
            left_out.append(LeftOut("document", document.id, "no error was found"))
        elif state == "unknown":
            why = "no error was found, but summaries or verdicts are missing"
            left_out.append(LeftOut("document", document.id, why))
        elif settings.confirmed and second is not None and second[document.id].state != "hallucinogenic":
            left_out.append(LeftOut("document", document.id, "not confirmed by the second detector"))
        else:
            candidates.append(document.id)
    if not any(by_source.values()):
        raise UsageError("no text is left to choose from: no summary has a (confirmed) error")
    for source, candidates in by_source.items():
        ordered = ranked(source, [first[doc_id] for doc_id in candidates], settings)
        chosen.update(ordered[: settings.per_source])
        left_out += [LeftOut("document", doc_id, "not chosen") for doc_id in ordered[settings.per_source :]]
    details = {
        "sources": [
            {
                "source": source,
                "candidates": len(candidates),
                "selected": sum(doc_id in chosen for doc_id in candidates),
                "missing": max(0, settings.per_source - len(candidates)),
            }
            for source, candidates in by_source.items()
        ],
        "strata": list(_strata(data.documents.values(), first, second, chosen)),
        "texts": _states(first.values()),
    }
    if second is not None:
        details["agreement"] = agreement(first, second)
    kept = data.with_documents(chosen)
    short = sum(row["missing"] for row in details["sources"] if isinstance(row, dict))
    return Result(kept, dropped=left_out, counts={"missing": short}, details=details)


def ranked(source: str, candidates: Sequence[TextVerdict], settings: SelectSettings) -> list[str]:
    """The ids of candidates of one source in the order in which they are taken: drawn by the seed, the source's name
    and the ids, whatever their order; by share of errors, that order decides between equals."""
    by_id = {verdict.document_id: verdict for verdict in candidates}
    drawn = sorted(by_id)
    random.Random(f"{settings.seed}:{source}").shuffle(drawn)
    if settings.rank == "errors":
        drawn.sort(key=lambda doc_id: -by_id[doc_id].share)
    return drawn


def source_of(document: Document) -> str:
    """The source of a document: as the step `source` noted it, else its domain."""
    return str(document.extra.get("source") or document.domain or "all")


def _states(verdicts: Iterable[TextVerdict]) -> dict[str, int]:
    counts = Counter(verdict.state for verdict in verdicts)
    return {state: counts[state] for state in ("hallucinogenic", "clean", "unknown")}


def _strata(
    documents: Iterable[Document],
    first: Mapping[str, TextVerdict],
    second: Mapping[str, TextVerdict] | None,
    chosen: set[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Counts of texts by source, domain, length and kind."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for document in documents:
        key = (source_of(document), document.domain, document.extra.get("length"), document.extra.get("kind"))
        groups.setdefault(key, []).append(document.id)
    for (source, domain, length, kind), ids in groups.items():
        row = {"source": source, "domain": domain, "length": length, "kind": kind, "texts": len(ids)}
        row |= _states(first[doc_id] for doc_id in ids)
        if second is not None:
            found = [doc_id for doc_id in ids if first[doc_id].state == "hallucinogenic"]
            row["confirmed"] = sum(second[doc_id].state == "hallucinogenic" for doc_id in found)
        if chosen is not None:
            row["selected"] = sum(doc_id in chosen for doc_id in ids)
        yield row


DETECT = Step("detect", DetectSettings, detect)
SELECT = Step("select", SelectSettings, select)
