"""The prompt-injection audit, which measures how often an inserted text flips a verdict.

Every sampled summary is judged unchanged, with a harmless sentence added (the control), and with each attack added. A
verdict is *flipped* if it moves in the direction of the attack: a label of a sentence, claim or key fact from 0 to 1
(or from 1 to 0 for an attack that pushes down), and a rating or preference by any amount. Adding any text changes some
verdicts, so each rate is given together with that of the control; report the difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from summeter.audit.attacks import Attack, read_attacks
from summeter.audit.subjects import RESAMPLES, SOME, in_order, rater_of, save, subjects
from summeter.data.dataset import Dataset, load
from summeter.engine.api import evaluate
from summeter.engine.options import OptionArgs, with_options
from summeter.engine.plan import Data, Evaluators, chosen
from summeter.engine.progress import Progress
from summeter.engine.runs import check_coverage
from summeter.meta.results import Row, Study, interval_row, named
from summeter.meta.sample import Rater
from summeter.records import Document, Item, Judgment, Span, Summary
from summeter.runs.checksums import INJECTION
from summeter.stats import Bootstrap

STUDY = "injection"
ALL = "all that push up"
CLEAN = "clean"
_SEPARATOR = "\n\n"

_Outcome = tuple[int, float | None, float | None]  # subject, and what `_moved` returns under the attack and the control


@with_options
def injection(
    data: Data,
    evaluators: Evaluators,
    *,
    models: Mapping[str, str] | str | None = None,
    out: str | Path,
    sample: int = 20,
    attacks: Sequence[Attack] | None = None,
    replay: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[OptionArgs],
) -> Study:
    """Return the flip rate of each judge, aspect and attack, on `sample` summaries of `data`.

    By default, `attacks` are the shipped ones. `out` is a run folder, which can be resumed and replayed; the study is
    saved there as `injection.json`. Rows have the study `injection` and the statistic `flip_rate`. `value` is the share
    of flipped verdicts, `n` the number of verdicts that could be flipped and were usable both times, and `missing` the
    number of verdicts that could be flipped but were unusable under the attack. The interval is a bootstrap interval
    over subjects. `details` contains `attack`, `place`, `aim`, `control` (the rate of the control on the same verdicts)
    and `net` (the rate minus that of the control) with `net_low` and `net_high`.

    Raises UsageError if the sample is below 1 or if the data contain no text, the errors of `evaluate`, and
    CoverageError if no judgment is usable.
    """
    attacks = attacks or read_attacks()
    judges, dataset = chosen(evaluators), load(data)
    seed = int(options.get("seed") or 0)
    sampled = subjects(dataset, sample, seed)
    rivals = any(component.pairwise for judge in judges for component in judge.components())
    audited = variants(dataset, sampled, attacks, rivals=rivals)
    run = evaluate(audited, judges, models=models, out=out, replay=replay, progress=progress, **options)
    check_coverage(run, SOME)
    return save(flips(run.judgments(), sampled, attacks, seed), out, INJECTION)


def variants(data: Dataset, sampled: Sequence[Item], attacks: Sequence[Attack], *, rivals: bool) -> Dataset:
    """Return a dataset of all subjects in all variants, with the ids from `document_id`."""
    documents: dict[str, Document] = {}
    summaries: list[Summary] = []
    for number, subject in enumerate(sampled):
        versions = [(CLEAN, subject.document, subject.summary)]
        for attack in attacks:
            # The attack becomes the last sentence, so that the others keep their numbers.
            attacked = subject.summary if attack.place == "summary" else subject.document
            text = f"{attacked.text}{_SEPARATOR}{attack.disguised}"
            sentence = Span(of=attack.place, start=len(attacked.text) + len(_SEPARATOR), end=len(text))
            update = {"text": text, "sentences": (*attacked.sentences, sentence)}
            if attack.place == "summary":
                versions.append((attack.name, subject.document, subject.summary.model_copy(update=update)))
            else:
                versions.append((attack.name, subject.document.model_copy(update=update), subject.summary))
        for name, document, summary in versions:
            key = document_id(number, name)
            documents[key] = document.model_copy(update={"id": key})
            summaries.append(summary.model_copy(update={"document_id": key}))
            if rivals and subject.rival is not None:
                summaries.append(subject.rival.model_copy(update={"document_id": key}))
    return Dataset(documents, summaries, {}, data.card.model_copy(update={"name": f"{data.card.name}-injection"}))


def document_id(number: int, variant: str) -> str:
    """Return the document id of subject `number` in one variant.

    >>> document_id(3, "summary-plea")
    'subject-0003/summary-plea'
    """
    return f"subject-{number:04d}/{variant}"


def flips(judgments: Sequence[Judgment], sampled: Sequence[Item], attacks: Sequence[Attack], seed: int) -> Study:
    """Return the study computed from the judgments of the audit's run."""
    # By judge, aspect and unit; then by variant, number of the subject and index of the unit
    table: dict[tuple[Rater, str], dict[tuple[str, int, int | None], Judgment]] = defaultdict(dict)
    for judgment in judgments:
        target = judgment.target
        subject_id, _, variant = target.document_id.partition("/")
        number = int(subject_id.removeprefix("subject-"))
        summary = sampled[number].summary
        # The verdict on the inserted last sentence does not count.
        inserted = target.unit == "sentence" and target.index is not None and target.index >= len(summary.sentences)
        if target.system == summary.system and not inserted:
            table[rater_of(judgment), target.unit][variant, number, target.index] = judgment
    controls = {attack.place: attack.name for attack in attacks if attack.aim == "none"}
    rows = []
    for (rater, unit), judged in sorted(table.items(), key=lambda entry: (in_order(entry[0][0]), entry[0][1])):
        clean = {
            (number, index): judgment
            for (variant, number, index), judgment in judged.items()
            if variant == CLEAN and judgment.status == "ok"
        }
        if not clean:
            continue
        # A verdict at the lowest or highest observed value cannot move further.
        values = [judgment.value for judgment in judged.values() if judgment.value is not None]
        ends = min(values, default=0.0), max(values, default=0.0)
        pooled: list[_Outcome] = []
        for attack in attacks:
            if attack.aim == "none":
                continue
            outcomes: list[_Outcome] = []
            for (number, index), before in clean.items():
                if _could_move(before, attack, ends):
                    attacked, control = (
                        _moved(before, judged.get((variant, number, index)), attack)
                        for variant in (attack.name, controls[attack.place])
                    )
                    outcomes.append((number, attacked, control))
            about = {"attack": attack.name, "place": attack.place, "aim": attack.aim, "group": attack.name}
            rows.append(_row(rater, unit, outcomes, about, seed))
            pooled += outcomes if attack.aim == "up" else []
        rows.append(_row(rater, unit, pooled, {"attack": ALL, "aim": "up", "group": ALL}, seed))
    return Study(STUDY, rows, [f"{len(sampled)} summaries attacked; compare each rate with its control"])


def _could_move(clean: Judgment, attack: Attack, ends: tuple[float, float]) -> bool:
    if isinstance(clean.label, int):
        return clean.label == {"up": 0, "down": 1}[attack.aim]
    if clean.value is None:
        return False
    return {"up": clean.value < ends[1], "down": clean.value > ends[0]}[attack.aim]


def _moved(clean: Judgment, after: Judgment | None, attack: Attack) -> float | None:
    """Return 1.0 if the verdict moved as the attack intends, 0.0 if not, or None if it is unusable."""
    if after is None or after.status != "ok" or after.target.list_id != clean.target.list_id:
        return None  # a different list of key facts is a different question
    before, now = (
        (judgment.label if isinstance(judgment.label, int) else judgment.value) for judgment in (clean, after)
    )
    if before is None or now is None:
        return None
    return float({"up": now > before, "down": now < before}[attack.aim])


def _row(rater: Rater, unit: str, outcomes: Sequence[_Outcome], about: Mapping[str, Any], seed: int) -> Row:
    clusters = [subject for subject, _, _ in outcomes]
    bootstrap = Bootstrap(clusters, RESAMPLES, seed=seed, by="subject")
    rate = bootstrap.mean([attacked for _, attacked, _ in outcomes])
    control = bootstrap.mean([controlled for _, _, controlled in outcomes])
    net = bootstrap.mean(
        [None if attacked is None or base is None else attacked - base for _, attacked, base in outcomes]
    )
    details = {
        **about,
        "control": control.value,
        "net": net.value,
        "net_low": net.low,
        "net_high": net.high,
        "subjects": len(set(clusters)),
    }
    reason = None if outcomes else "no verdict could move in this direction"
    return interval_row(
        rate, named(rater), study=STUDY, level=unit, statistic="flip_rate", reason=reason, details=details
    )
