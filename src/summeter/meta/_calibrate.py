"""Calibrate a judge on at least 50 human labels, and store the result in a calibration file.

The file records the agreement of the judge's decisions with human labels (Cohen's kappa and Krippendorff's alpha, with
intervals by document), the accuracy of a constant decision, the agreement among people, and the disagreements, worst
first. With a dev split, a threshold is tuned on it (`stats.tune_threshold`), and agreement is measured on the other
rows. The file contains the judge's signature (model, prompt and settings), the aspect and the hash of the data. `gate`
rejects the file if the judge has changed or if the file was edited.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import Field, ValidationError

from summeter._version import __version__
from summeter.choices import Level, ValueOrLabel
from summeter.data.atomic import write_text
from summeter.meta.inputs import Gold
from summeter.meta.measure import estimate
from summeter.meta.options import Choice, CommandLine, Draws, GoldAtLeast, Selection, study
from summeter.meta.results import Row, Study, interval_row
from summeter.meta.sample import Sample, are_decisions
from summeter.meta.selection import PEOPLE, decisions, dev_split, meta_input, pairs_by_level, votes
from summeter.meta.texts import Evidence, Texts
from summeter.meta.verdicts import ABOVE, against_chance
from summeter.pages.numbers import count
from summeter.records import InputError, Judgment, Parameter, Record, UsageError, digest, invalid
from summeter.runs.run import RunFolder
from summeter.stats import Estimate, decide, tune_threshold
from summeter.stats import classify as classify_labels
from summeter.stats.base import Floats, undefined
from summeter.tables import with_interval

STUDY = "calibration"
SCHEMA: Final = "summeter-calibration/1"
FEWEST_LABELS = 50
"""Minimum number of human labels of a calibration."""
MOST_LISTED = 100
"""Maximum number of stored disagreements."""
_LABELS = (0.0, 1.0)


class Disagreement(Record):
    """A unit on which the judge and people disagree.

    `distance` is |score - gold|, which is at most 1 for scores in [0, 1].
    """

    document_id: str
    system: str
    unit: str
    index: int | None
    text: str | None
    score: float | None
    decision: int
    gold: int
    distance: float
    votes: dict[str, float] = Field(default_factory=dict)
    reason: str | None = None
    evidence: tuple[Evidence, ...] = ()


class Calibration(Record):
    """The content of a calibration file.

    `threshold` is None if the labels of the judge are used as decisions.
    """

    schema_: Literal["summeter-calibration/1"] = Field(default=SCHEMA, alias="schema", serialization_alias="schema")
    summeter: str
    judge: str
    signature: str
    model: str | None
    prompt: str | None
    aspect: str
    gold_aspect: str
    gold_signature: str
    level: str
    data: str
    data_hash: str
    dev: str | None
    dev_n: int
    threshold: float | None
    dev_balanced_accuracy: float | None
    n: int
    missing: int
    missing_reasons: dict[str, int]
    kappa: Estimate
    alpha: Estimate
    accuracy: Estimate
    balanced_accuracy: Estimate
    baseline_label: int
    baseline_accuracy: float | None
    ceiling_kappa: Estimate
    ceiling_alpha: Estimate
    annotators: int
    disagreements_total: int
    disagreements: tuple[Disagreement, ...]
    checksum: str = ""

    def sealed(self) -> Calibration:
        """Return a copy whose checksum matches the other fields."""
        return self.model_copy(update={"checksum": self._sum()})

    @property
    def intact(self) -> bool:
        """Whether the checksum matches the other fields."""
        return self.checksum == self._sum()

    def _sum(self) -> str:
        return digest(self.model_dump(mode="json", by_alias=True, exclude={"checksum"}), 16)


class CalibrateOptions(Selection, GoldAtLeast, Draws):
    """The options of `calibrate`."""

    aspect: Annotated[str, CommandLine(metavar="A|JUDGE:GOLD")] = Field(description="Aspect to calibrate.")
    level: Annotated[str | None, Choice(Level, "level")] = Field(
        None, description="Level of the labels. Default: sentences, else key facts, else summaries."
    )
    dev: Annotated[str | None, CommandLine(metavar="[COLUMN=]VALUE")] = Field(
        None, description="Tune a threshold on this split, and measure on the other rows."
    )
    allow_few: bool = Field(default=False, description=f"Accept fewer than {FEWEST_LABELS} labels.")


@study(CalibrateOptions)
def calibrate(run: RunFolder, gold: Gold, options: CalibrateOptions) -> Calibration:
    """Calibrate a judge on at least 50 human labels.

    The calibration contains the agreement with people, a baseline, the agreement among people, and the disagreements.
    If human values are not 0 or 1, `gold_at_least` is required. Raises UsageError if there are fewer than 50 labels
    (unless `allow_few` is True), if several judges match (select one with `judge`), or if the dev split has no labels.
    """
    levels = [Level(options.level)] if options.level is not None else [Level.SENTENCE, Level.KEY_FACT, Level.SUMMARY]
    if levels[0].base is not levels[0]:
        raise UsageError(
            f"judges are calibrated on sentences, key facts or summaries, not at the level {options.level}"
        )
    read, draws = meta_input(run, gold, options), options.resampling
    use = ValueOrLabel.LABEL if options.dev is None else ValueOrLabel.VALUE
    _, fitting = next(pairs_by_level(read, levels, options, use))
    if len(fitting) > 1:
        judges = ", ".join(dict.fromkeys(pairs.judge.signature for pairs in fitting))
        raise UsageError(f"several judges match; choose one with the option judge: {judges}")
    (pairs,) = fitting
    if options.gold_at_least is None:
        decisions(pairs.of_raters(1))  # raises if human values are not 0 or 1
    failed = np.isnan(pairs.x).all() and not any("no decision" in why for why in pairs.missing_reasons)
    if options.dev is None and not failed and not are_decisions(pairs.x):
        raise UsageError(
            f"{pairs.judge.judge} gives scores, not decisions; give a split to tune a threshold on with ",
            Parameter("dev", "SPLIT"),
        )
    if pairs.n < FEWEST_LABELS and not options.allow_few:
        raise UsageError(
            f"a calibration needs at least {FEWEST_LABELS} human labels, but {pairs.judge.judge} on "
            f"{pairs.judge.aspect} has {pairs.n}; label more units, or accept fewer with ",
            Parameter("allow_few"),
        )
    judge, aspect, split, tested, tuned = pairs.judge, pairs.gold.aspect, None, pairs, None
    if options.dev is not None:
        split, dev, tested = dev_split(pairs, options.dev)
        tuned = tune_threshold(dev.y, dev.x)
        if tuned.threshold is None:
            raise UsageError(f"no threshold can be tuned on {split}: {tuned.reason}")
    decided = tested.x if tuned is None else decide(tested.x, tuned.threshold or 0.0)
    both = Sample.of_values(tested.units, tested.raters, np.stack([decided, tested.y]))
    both = replace(both, scale=_LABELS)
    kappa = estimate(both, "kappa_cohen", draws)
    # A constant decision: the more frequent label.
    labels = tested.y[~np.isnan(tested.y)]
    constant = int(labels.mean() >= 0.5) if len(labels) else 1
    baseline = classify_labels(tested.y, np.where(np.isnan(decided), np.nan, float(constant)))["accuracy"].value
    # The agreement among people, on all units with at least two votes.
    people = votes(read.gold, aspect, Level(pairs.level), options.source)
    raters = 0 if people is None else people.max_votes if people.exchangeable else len(people.raters)
    alone = undefined("fewer than 2 annotators, so the agreement among people is unknown")
    ceilings = {"kappa_fleiss": alone, "alpha_nominal": alone}
    if people is not None and raters > 1:
        cast = people if options.gold_at_least is None else decisions(people, options.gold_at_least)
        ceilings = {name: estimate(replace(cast, scale=_LABELS), name, draws) for name in ceilings}
    differing = disagreements(run, tested, decided, people)
    settings = dict(field.partition(":")[::2] for field in judge.signature.split("|")[1:])
    at_least = "" if options.gold_at_least is None else f"|at_least:{options.gold_at_least:g}"
    return Calibration(
        summeter=__version__, judge=judge.judge, signature=judge.signature, model=judge.model,
        prompt=settings.get("prompt"), aspect=judge.aspect, gold_aspect=aspect,
        gold_signature=f"{pairs.gold.signature}{at_least}",
        level=str(pairs.level), data=run.manifest.data.source, data_hash=run.manifest.data.hash,
        dev=split, dev_n=0 if tuned is None else tuned.n, threshold=None if tuned is None else tuned.threshold,
        dev_balanced_accuracy=None if tuned is None else tuned.balanced_accuracy,
        n=kappa.n, missing=tested.missing, missing_reasons=tested.missing_reasons,
        kappa=kappa, alpha=estimate(both, "alpha_nominal", draws), accuracy=estimate(both, "accuracy", draws),
        balanced_accuracy=estimate(both, "balanced_accuracy", draws),
        baseline_label=constant, baseline_accuracy=baseline, annotators=raters,
        ceiling_kappa=ceilings["kappa_fleiss"], ceiling_alpha=ceilings["alpha_nominal"],
        disagreements_total=len(differing), disagreements=tuple(differing[:MOST_LISTED]), schema=SCHEMA,
    ).sealed()  # fmt: skip


def save_calibration(calibration: Calibration, file: str | Path) -> None:
    """Write a calibration file atomically."""
    write_text(file, calibration.model_dump_json(by_alias=True, indent=1) + "\n")


def load_calibration(file: str | Path) -> Calibration:
    """Read a calibration file. Raises InputError if it is invalid or was edited."""
    path = Path(file)
    try:
        calibration = Calibration.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such calibration file; create one with `summeter meta calibrate`") from error
    except ValidationError as error:
        raise invalid(path, None, error, "this is not a calibration file of this version") from error
    if not calibration.intact:
        raise InputError.at(path, "does not match, because the file was edited; calibrate again", field="checksum")
    return calibration


def calibration_study(calibration: Calibration) -> Study:
    """Return the study "calibration" with the rows and the verdict of a calibration."""
    known = calibration
    common: dict[str, Any] = {
        "study": STUDY, "aspect": known.aspect, "gold_aspect": known.gold_aspect, "level": known.level,
        "average": "pooled", "gold_signature": known.gold_signature,
    }  # fmt: skip
    judge = {**common, "judge": known.judge, "signature": known.signature, "model": known.model}
    people: dict[str, Any] = {**common, "judge": PEOPLE, "details": {"annotators": known.annotators}}
    rows = []
    if known.threshold is not None:
        details = {"tuned_on": known.dev, "balanced_accuracy": known.dev_balanced_accuracy}
        rows.append(Row(**judge, statistic="threshold", value=known.threshold, n=known.dev_n, details=details))
    base, n, missing = known.baseline_accuracy, known.accuracy.n, known.accuracy.missing
    baseline = undefined("no labels", n, missing) if base is None else Estimate(base, n, missing)
    rows += [
        interval_row(known.kappa, judge, statistic="kappa_cohen"),
        interval_row(known.alpha, judge, statistic="alpha_nominal"),
        interval_row(known.accuracy, judge, statistic="accuracy"),
        interval_row(known.balanced_accuracy, judge, statistic="balanced_accuracy"),
        interval_row(baseline, judge, statistic="baseline_accuracy", details={"always": known.baseline_label}),
        interval_row(known.ceiling_kappa, people, statistic="kappa_fleiss"),
        interval_row(known.ceiling_alpha, people, statistic="alpha_nominal"),
    ]
    kappa, ceiling = known.kappa, known.ceiling_kappa
    agrees = "kappa is undefined"
    if kappa.value is not None:
        verdict = against_chance("kappa_cohen", kappa.low, kappa.high)
        doubt = "" if verdict == ABOVE else f", {verdict}"
        agrees = f"kappa with people is {with_interval(kappa.value, kappa.low, kappa.high, 2)}{doubt}"
    among = "" if ceiling.value is None else f"; among people it is {ceiling.value:.2f} ({known.annotators} annotators)"
    right = "" if known.accuracy.value is None else f"; accuracy {known.accuracy.value:.0%}"
    const = "" if base is None else f" (a constant {known.baseline_label}: {base:.0%})"
    notes = [f"{known.judge} on {known.aspect}: {agrees}{among}{right}{const} (n = {known.n}, missing {known.missing})"]
    if known.disagreements_total:
        notes.append(f"{count(known.disagreements_total, 'disagreement')}, worst first:")
    for unit in known.disagreements[:5]:
        place = "" if unit.index is None else f", {unit.unit} {unit.index}"
        score = "" if unit.score is None else f" ({unit.score:.2f})"
        why = f": {unit.reason}" if unit.reason else ""
        notes.append(
            f"  {unit.document_id}/{unit.system}{place}: judge {unit.decision}{score}, people {unit.gold}{why}"
        )
    return Study(STUDY, rows, notes)


# ---- disagreements ----

_Key = tuple[str | None, str | None, int]


def disagreements(run: RunFolder, pairs: Sample, decided: Floats, people: Sample | None) -> list[Disagreement]:
    """Return the units on which decisions and human labels `pairs.y` differ.

    The units are sorted by distance, largest first, and then by the agreement of the annotators.
    """
    rows = np.flatnonzero(~np.isnan(decided + pairs.y) & (decided != pairs.y)).tolist()
    if not rows:
        return []
    keys = _keys(pairs)
    wanted = {keys[row] for row in rows}
    records: dict[_Key, Judgment] = {}
    for judgment in run.judgments():
        target = judgment.target
        key = (target.document_id, target.system, -1 if target.index is None else target.index)
        fits = judgment.signature == pairs.judge.signature and judgment.aspect == pairs.judge.aspect
        if fits and target.unit == str(pairs.level) and key in wanted:
            records[key] = judgment
    votes_on: dict[_Key, dict[str, float]] = {}
    if people is not None:
        voted = _keys(people)
        for unit, rater, vote in zip(people.unit.tolist(), people.rater.tolist(), people.value.tolist(), strict=True):
            if not np.isnan(vote):
                votes_on.setdefault(voted[unit], {})[people.raters[rater].judge] = vote
    texts, lists = Texts(run.data), pairs.units.list_id.labels()

    def differing(row: int) -> Disagreement:
        (document, system, index), record, gold = keys[row], records.get(keys[row]), int(pairs.y[row])
        decision, score = int(decided[row]), None if record is None else record.value
        return Disagreement(
            document_id=document or "", system=system or "", unit=str(pairs.level),
            index=None if index < 0 else index, text=texts.unit(pairs.level, document, system, index, lists[row]),
            score=score, decision=decision, gold=gold, distance=abs((decision if score is None else score) - gold),
            votes=votes_on.get(keys[row], {}), reason=None if record is None else record.reason,
            evidence=() if record is None else tuple(texts.evidence(record)),
        )  # fmt: skip

    def order(unit: Disagreement) -> tuple[Any, ...]:
        agreed = sum(vote == unit.gold for vote in unit.votes.values()) / max(1, len(unit.votes))
        return -unit.distance, -agreed, unit.document_id, unit.system, unit.index or 0

    return sorted(map(differing, rows), key=order)


def _keys(sample: Sample) -> list[_Key]:
    """Return the document, system and index of each unit."""
    units = sample.units
    return list(zip(units.document.labels(), units.system.labels(), units.index.tolist(), strict=True))
