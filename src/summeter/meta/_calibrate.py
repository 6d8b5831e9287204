"""Is a judge good enough to be trusted here? A calibration file from 50 or more human labels.

It says how well the judge's decisions agree with people's (Cohen's kappa, Krippendorff's alpha, with intervals by
document), what a constant answer would reach, what people reach among themselves, and which items they differ on,
the worst first. Where a dev split is named, a threshold is tuned there alone (`stats.tune_threshold`) and everything
else is measured on the rest. The file is bound to the judge's signature (which holds model, prompt and settings),
the aspect and the data: `gate` refuses it once the judge has changed, and a file changed by hand is refused as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Unpack

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from summeter._version import __version__
from summeter.choices import Level, Use
from summeter.data.atomic import write_text
from summeter.meta.gold import Votes, decisions, votes
from summeter.meta.inputs import Gold
from summeter.meta.matrix import PairedScores
from summeter.meta.results import Row, Study, status_of
from summeter.meta.selection import MetaInput, Selection, SelectionArgs, all_pairs, checks_keywords, meta_input
from summeter.records import InputError, Judgment, Parameter, Record, UsageError, digest
from summeter.runs.run import RunFolder
from summeter.stats import (
    Bootstrap,
    Interval,
    Threshold,
    classification_interval,
    cohen_kappa,
    decide,
    fleiss_kappa,
    krippendorff_alpha,
    tune_threshold,
)
from summeter.stats import classify as classify_labels
from summeter.stats.base import Floats
from summeter.stats.resample import interval_text

STUDY = "calibration"
SCHEMA: Final = "summeter-calibration/1"
FEWEST = 50
"""Fewer human labels than this do not make a calibration."""
RESAMPLES = 1000


class Evidence(Record):
    """A span a judge pointed at, with its text."""

    of: str
    start: int
    end: int
    text: str


class Disagreement(Record):
    """One unit on which judge and people differ. `distance` is |score - gold|, 1 the worst for scores in [0, 1]."""

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


class Measure(Record):
    """A coefficient or rate with its interval; `value` is None where `reason` says why.

    `interval` says what the interval is where draws were lost; else it is the calibration's, and the file has no such
    field (nor have the files of earlier versions, whose checksums stand).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int
    missing: int = 0
    reason: str | None = None
    interval: str | None = None

    @model_serializer(mode="wrap")
    def _without_usual_interval(self, fields_of: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = fields_of(self)
        if fields["interval"] is None:
            del fields["interval"]
        return fields


class Calibration(Record):
    """Everything in a calibration file. `threshold` is None where the judge's own labels are used."""

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
    kappa: Measure
    alpha: Measure
    accuracy: Measure
    balanced_accuracy: Measure
    baseline_label: int
    baseline_accuracy: float | None
    ceiling_kappa: Measure
    ceiling_alpha: Measure
    annotators: int
    interval: str
    disagreements_total: int
    disagreements: tuple[Disagreement, ...]
    checksum: str = ""

    def sealed(self) -> Calibration:
        """With the checksum of everything else."""
        return self.model_copy(update={"checksum": self._sum()})

    @property
    def intact(self) -> bool:
        """Whether nothing was changed since it was sealed."""
        return self.checksum == self._sum()

    def _sum(self) -> str:
        return digest(self.model_dump(mode="json", by_alias=True, exclude={"checksum"}), 16)


@dataclass(frozen=True)
class Rules:
    """How a judge is calibrated; see `calibrate`."""

    dev: str | None
    resamples: int
    seed: int

    @property
    def split(self) -> tuple[str, str]:
        """(column, value) of the dev split."""
        column, equals, value = (self.dev or "").partition("=")
        return (column, value) if equals else ("split", column)


@checks_keywords
def calibrate(
    run: RunFolder,
    gold: Gold,
    *,
    level: str | None = None,
    dev: str | None = None,
    allow_few: bool = False,
    listed: int = 100,
    resamples: int = RESAMPLES,
    seed: int = 0,
    **select: Unpack[SelectionArgs],
) -> Calibration:
    """Calibrate one judge of a run on one `aspect` (or `JUDGE:GOLD`) against people's labels.

    `level` is by default that of the labels people gave: sentences, else key facts, else summaries. Values of
    people that are not 0 or 1 need `gold_at_least`. `dev` names the split on which a threshold is tuned
    ("column=value", or a value of `split`). `allow_few` accepts fewer than 50 labels. `listed` is how many
    disagreements the file holds.

    Raises UsageError with fewer than 50 labels (unless `allow_few`), where several judges fit (name one in `judge`),
    and where a dev split has no label.
    """
    chosen, how = Selection(**select), Rules(dev, max(1, resamples), seed)
    read = meta_input(run, gold, chosen)
    pairs = _chosen(read, chosen, level, how)
    if chosen.gold_at_least is None:
        decisions(pairs.gold)  # raises where people's values are no yes or no
    if how.dev is None:
        _check_decisions(pairs)
    if pairs.n < FEWEST and not allow_few:
        raise UsageError(
            f"{pairs.n} human labels beside {pairs.judge.judge}'s {pairs.judge.aspect}: a calibration needs at least "
            f"{FEWEST}; label more, or accept a coarse one (",
            Parameter("allow_few", "..."),
            ")",
        )
    tuned, tested = _tuned(pairs, how)
    said = tested.x if tuned is None else decide(tested.x, tuned.threshold or 0.0)
    found = votes(read.gold, pairs.gold.aspect, pairs.level, chosen.source)
    differing = disagreements(run, tested, said, found)
    made = _measured(tested, said, how)
    ceiling = _ceiling(found, chosen, how)
    judge = pairs.judge
    return Calibration(
        summeter=__version__, judge=judge.judge, signature=judge.signature, model=judge.model,
        prompt=part_of(judge.signature, "prompt"), aspect=judge.aspect, gold_aspect=pairs.gold.aspect,
        gold_signature=_signed(pairs.gold.signature, chosen.gold_at_least),
        level=pairs.level.value, data=run.manifest.data.source, data_hash=run.manifest.data.hash,
        dev=None if tuned is None else "=".join(how.split), dev_n=0 if tuned is None else tuned.n,
        threshold=None if tuned is None else tuned.threshold,
        dev_balanced_accuracy=None if tuned is None else tuned.balanced_accuracy,
        n=made.kappa.n, missing=tested.missing, missing_reasons=tested.missing_reasons,
        kappa=made.kappa, alpha=made.alpha, accuracy=made.accuracy, balanced_accuracy=made.balanced,
        baseline_label=made.constant, baseline_accuracy=made.baseline, ceiling_kappa=ceiling.kappa,
        ceiling_alpha=ceiling.alpha, annotators=ceiling.raters,
        interval=interval_text("percentile", 0.95, "document", how.resamples, 0, how.seed),
        disagreements_total=len(differing), disagreements=tuple(differing[:listed]), schema=SCHEMA,
    ).sealed()  # fmt: skip


def _signed(signature: str, at_least: float | None) -> str:
    return signature if at_least is None else f"{signature}|at_least:{at_least:g}"


def part_of(signature: str, key: str) -> str | None:
    """A named part of a signature.

    >>> part_of("geval|judge:openai/gpt-4o|prompt:c1a0|v:1", "prompt")
    'c1a0'
    """
    parts = dict(part.partition(":")[::2] for part in signature.split("|")[1:])
    return parts.get(key)


def _chosen(read: MetaInput, chosen: Selection, level: str | None, rules: Rules) -> PairedScores:
    """The one judge's values beside people's; its own decisions where no threshold is tuned."""
    use = Use.VALUE if rules.dev is not None else Use.LABEL
    levels = [Level(level)] if level is not None else [Level.SENTENCE, Level.KEY_FACT, Level.SUMMARY]
    if levels[0].base is not levels[0]:
        raise UsageError(f"judges are calibrated on sentences, key facts or summaries, not at the level {level}")
    lost: UsageError | None = None
    for one in levels:
        try:
            found = list(all_pairs(read, one, chosen, use))
        except UsageError as error:
            lost = lost or error
            continue
        if len(found) > 1:
            judges = ", ".join(dict.fromkeys(pairs.judge.signature for pairs in found))
            raise UsageError("several judges fit; choose one with ", Parameter("judge", "..."), f": {judges}")
        return found[0]
    raise lost or UsageError("nothing to calibrate on")


def _check_decisions(pairs: PairedScores) -> None:
    said = pairs.x[~np.isnan(pairs.x)]
    undecided = not len(said) and any("no decision" in why for why in pairs.missing_reasons)
    if undecided or not np.isin(said, (0.0, 1.0)).all():
        raise UsageError(
            f"{pairs.judge.judge} gives scores, not decisions: name a dev split to tune a threshold on (",
            Parameter("dev", "..."),
            ")",
        )


def _tuned(pairs: PairedScores, rules: Rules) -> tuple[Threshold | None, PairedScores]:
    if rules.dev is None:
        return None, pairs
    column, value = rules.split
    dev = pairs.column(column).equal(value)
    if not dev.any() or dev.all():
        there = ", ".join(str(name) for name in pairs.column(column).used() if name is not None) or "none"
        rest = "nothing is left to measure on" if dev.any() else f"no row has it; {column} has: {there}"
        raise UsageError(f"no threshold can be tuned on {column}={value}: {rest}")
    part = pairs.take(dev)
    found = tune_threshold(part.y, part.x)
    if found.threshold is None:
        raise UsageError(f"no threshold can be tuned on {column}={value}: {found.reason}")
    return found, pairs.take(~dev)


class _Measured(NamedTuple):
    kappa: Measure
    alpha: Measure
    accuracy: Measure
    balanced: Measure
    constant: int
    baseline: float | None


def _measured(pairs: PairedScores, said: Floats, rules: Rules) -> _Measured:
    gold = pairs.y
    both = np.stack([said, gold])
    bootstrap = Bootstrap(pairs.document.codes, rules.resamples, seed=rules.seed)
    kappa = cohen_kappa(both, scale=(0.0, 1.0), clusters=bootstrap.codes).interval(bootstrap)
    alpha = krippendorff_alpha(both, clusters=bootstrap.codes).interval(bootstrap)
    accuracy, balanced = (
        classification_interval(gold, said, name, bootstrap) for name in ("accuracy", "balanced_accuracy")
    )
    kept = gold[~np.isnan(gold)]
    constant = int(kept.mean() >= 0.5) if len(kept) else 1
    always = np.where(np.isnan(said), np.nan, float(constant))
    return _Measured(
        _measure(kappa), _measure(alpha), _measure(accuracy), _measure(balanced), constant,
        classify_labels(gold, always).accuracy.value,
    )  # fmt: skip


def _measure(got: Interval) -> Measure:
    return Measure(
        value=got.value, low=got.low, high=got.high, n=got.n, missing=got.missing, reason=got.reason,
        interval=got.text if got.lost else None,
    )  # fmt: skip


class _Ceiling(NamedTuple):
    kappa: Measure
    alpha: Measure
    raters: int


def _ceiling(found: Votes | None, chosen: Selection, rules: Rules) -> _Ceiling:
    """What people reach among themselves, on all units that two or more of them judged."""
    alone = Measure(value=None, n=0, reason="fewer than 2 annotators: people's own agreement is not known")
    if found is None or len(found.raters) < 2:
        return _Ceiling(alone, alone, 0 if found is None else len(found.raters))
    table = found.values
    if chosen.gold_at_least is not None:
        table = np.where(np.isnan(table), np.nan, (table >= chosen.gold_at_least).astype(np.float64))
    # Neither coefficient asks who cast a vote: with NaN sorted last, hundreds of raters become a few rows.
    table = np.sort(table, axis=0)[: int((~np.isnan(table)).sum(axis=0).max(initial=1))]
    bootstrap = Bootstrap(found.document.codes, rules.resamples, seed=rules.seed)
    kappa = fleiss_kappa(table, clusters=bootstrap.codes).interval(bootstrap)
    alpha = krippendorff_alpha(table, clusters=bootstrap.codes).interval(bootstrap)
    return _Ceiling(_measure(kappa), _measure(alpha), len(found.raters))


def save_calibration(calibration: Calibration, file: str | Path) -> None:
    """Write a calibration file, whole or not at all."""
    write_text(file, calibration.model_dump_json(by_alias=True, indent=1) + "\n")


def load_calibration(file: str | Path) -> Calibration:
    """Read a calibration file. Raises InputError where it is none, or was changed by hand."""
    path = Path(file)
    try:
        found = Calibration.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such calibration file; make one with `summeter meta calibrate`") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or None
        raise InputError.at(path, None, place, f"not a calibration file of this version: {first['msg']}") from error
    if not found.intact:
        raise InputError.at(path, None, "checksum", "was changed since it was made; calibrate again")
    return found


def calibration_study(made: Calibration) -> Study:
    """A calibration as the rows of the study "calibration", with its verdict in words."""
    common: dict[str, Any] = {
        "study": STUDY, "judge": made.judge, "signature": made.signature, "model": made.model, "aspect": made.aspect,
        "gold_aspect": made.gold_aspect, "level": made.level, "average": "pooled",
        "gold_signature": made.gold_signature,
    }  # fmt: skip
    people = {**common, "judge": "people", "signature": None, "model": None}
    rows = [
        *_threshold_row(made, common),
        _row(common, "kappa_cohen", made.kappa, made),
        _row(common, "alpha_nominal", made.alpha, made),
        _row(common, "accuracy", made.accuracy, made),
        _row(common, "balanced_accuracy", made.balanced_accuracy, made),
        _row(common, "baseline_accuracy", Measure(
            value=made.baseline_accuracy, n=made.accuracy.n, missing=made.accuracy.missing,
            reason=None if made.baseline_accuracy is not None else "no labels",
        ), made, always=made.baseline_label),
        _row(people, "kappa_fleiss", made.ceiling_kappa, made, annotators=made.annotators),
        _row(people, "alpha_nominal", made.ceiling_alpha, made, annotators=made.annotators),
    ]  # fmt: skip
    return Study(STUDY, rows, [_verdict(made), *_told(made.disagreements[:5], made.disagreements_total)])


def _threshold_row(made: Calibration, common: Mapping[str, Any]) -> Iterator[Row]:
    if made.threshold is not None:
        details = {"tuned_on": made.dev, "balanced_accuracy": made.dev_balanced_accuracy}
        yield Row(**common, statistic="threshold", value=made.threshold, n=made.dev_n, details=details)


def _row(common: Mapping[str, Any], name: str, got: Measure, made: Calibration, **details: Any) -> Row:
    return Row(
        **common, statistic=name, value=got.value, low=got.low, high=got.high, n=got.n, missing=got.missing,
        status=status_of(got.value, None if got.low is not None or name == "baseline_accuracy" else "no_interval"),
        reason=got.reason, interval=got.interval or made.interval if got.low is not None else None, details=details,
    )  # fmt: skip


def _verdict(made: Calibration) -> str:
    kappa, ceiling, base = made.kappa, made.ceiling_kappa, made.baseline_accuracy
    ends = "" if kappa.low is None else f" [{kappa.low:.2f}, {kappa.high:.2f}]"
    agrees = "kappa is undefined" if kappa.value is None else f"kappa with people is {kappa.value:.2f}{ends}"
    among = "" if ceiling.value is None else f"; among people it is {ceiling.value:.2f} ({made.annotators} annotators)"
    right = "" if made.accuracy.value is None else f"; accuracy {made.accuracy.value:.0%}"
    const = "" if base is None else f" (a constant {made.baseline_label}: {base:.0%})"
    weak = ""
    if kappa.low is not None and kappa.low <= 0:
        weak = "; these labels do not show that it is better than chance"
    return f"{made.judge} on {made.aspect}: {agrees}{among}{right}{const}{weak} (n = {made.n}, missing {made.missing})"


def _told(listed: Sequence[Disagreement], total: int) -> Iterator[str]:
    if total:
        yield f"{total} disagreement{'' if total == 1 else 's'}, the worst first:"
    for one in listed:
        place = "" if one.index is None else f", {one.unit} {one.index}"
        score = "" if one.score is None else f" ({one.score:.2f})"
        why = f": {one.reason}" if one.reason else ""
        yield f"  {one.document_id}/{one.system}{place}: judge {one.decision}{score}, people {one.gold}{why}"


# ---- the items on which judge and people differ, the worst first ----

_Key = tuple[str | None, str | None, int]


def disagreements(run: RunFolder, pairs: PairedScores, decided: Floats, people: Votes | None) -> list[Disagreement]:
    """Units where the decision and people's label `pairs.y` differ: the surest errors first, then those on
    which most annotators agree."""
    keys: list[_Key] = list(zip(pairs.document.labels(), pairs.system.labels(), pairs.index.tolist(), strict=True))
    rows = [
        row for row in range(len(pairs)) if not np.isnan(decided[row] + pairs.y[row]) and decided[row] != pairs.y[row]
    ]
    if not rows:
        return []
    wanted = {keys[row] for row in rows}
    records = _records(run.judgments(), pairs, wanted)
    cast = _cast(people, wanted)
    texts = _Texts(run)
    differing = [
        _disagreement(texts, pairs, row, int(decided[row]), keys[row], records.get(keys[row]), cast.get(keys[row], {}))
        for row in rows
    ]
    return sorted(
        differing,
        key=lambda item: (-item.distance, -_agreed(item), item.document_id, item.system, item.index or 0),
    )


def _agreed(item: Disagreement) -> float:
    """The share of annotators who agree with the label."""
    return sum(vote == item.gold for vote in item.votes.values()) / len(item.votes) if item.votes else 0.0


def _records(judgments: Iterable[Judgment], pairs: PairedScores, wanted: set[_Key]) -> Mapping[_Key, Judgment]:
    records: dict[_Key, Judgment] = {}
    for judgment in judgments:
        target = judgment.target
        key = (target.document_id, target.system, -1 if target.index is None else target.index)
        fits = judgment.signature == pairs.judge.signature and judgment.aspect == pairs.judge.aspect
        if fits and target.unit == pairs.level.value and key in wanted:
            records[key] = judgment
    return records


def _cast(people: Votes | None, wanted: set[_Key]) -> dict[_Key, dict[str, float]]:
    if people is None:
        return {}
    keys = zip(people.document.labels(), people.system.labels(), people.index.tolist(), strict=True)
    return {
        key: {rater: float(vote) for rater, vote in zip(people.raters, people.values[:, place], strict=True)
              if not np.isnan(vote)}
        for place, key in enumerate(keys) if key in wanted
    }  # fmt: skip


class _Texts:
    """The texts of a run's data, looked up once."""

    def __init__(self, run: RunFolder) -> None:
        self.documents = run.data.documents
        self.summaries = {(summary.document_id, summary.system): summary for summary in run.data.summaries}

    def unit(self, key: _Key, level: Level) -> str | None:
        """The sentence, key fact or summary that was judged; None where the data do not hold it."""
        document, system, index = key
        if level is Level.KEY_FACT:
            known = self.documents.get(document or "")
            facts = known.key_facts if known is not None else ()
            return facts[index] if 0 <= index < len(facts) else None
        summary = self.summaries.get((document or "", system or ""))
        if summary is None or index < 0:
            return None if summary is None else summary.text
        texts = summary.sentence_texts
        return texts[index] if index < len(texts) else None

    def evidence(self, record: Judgment) -> Iterator[Evidence]:
        """The spans of a judgment with their texts."""
        target = record.target
        for span in record.evidence:
            if span.of == "document":
                text = self.documents[target.document_id].text
            else:
                text = self.summaries[(target.document_id, target.system)].text
            yield Evidence(of=span.of, start=span.start, end=span.end, text=span.cut(text))


def _disagreement(
    texts: _Texts,
    pairs: PairedScores,
    row: int,
    decision: int,
    key: _Key,
    record: Judgment | None,
    cast: dict[str, float],
) -> Disagreement:
    document, system, index = key
    score = None if record is None else record.value
    gold = int(pairs.y[row])
    return Disagreement(
        document_id=document or "", system=system or "", unit=pairs.level.value, index=None if index < 0 else index,
        text=texts.unit(key, pairs.level), score=score, decision=decision, gold=gold,
        distance=abs((decision if score is None else score) - gold), votes=cast,
        reason=None if record is None else record.reason,
        evidence=() if record is None else tuple(texts.evidence(record)),
    )  # fmt: skip
