"""The prompt-injection audit, which measures how often an inserted text flips a verdict.

Every sampled summary is judged unchanged, with a harmless sentence added (the control), and with each attack added. A
verdict is *flipped* if it moves in the direction of the attack: a label of a sentence, claim or key fact from 0 to 1
(or from 1 to 0 for an attack that pushes down), and a rating or preference by any amount. Adding any text changes some
verdicts, so each rate is given together with that of the control; report the difference.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from summeter.audit.attacks import Attack, read_attacks
from summeter.audit.variants import CLEAN, Subject, document_id, subjects, variants
from summeter.data.atomic import write_text
from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.engine.options import OptionArgs, with_options
from summeter.engine.plan import Data, Evaluators, chosen
from summeter.engine.progress import Progress
from summeter.meta.results import Row, Study, interval_row, payload
from summeter.records import Judgment
from summeter.runs.checksums import INJECTION
from summeter.stats import Bootstrap

STUDY = "injection"
ALL = "all that push up"
RESAMPLES = 2000

_Question = tuple[str, str, str, str, str]  # judge, signature, model, aspect, unit
_Key = tuple[str, str, str, str, str, int | None]  # and the index within the unit


class _AttackedUnit(NamedTuple):
    """A verdict that an attack could flip.

    It consists of the subject, the key and the judgment of the unchanged summary.
    """

    subject: int
    key: _Key
    clean: Judgment


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

    Raises UsageError if the sample is below 1 or if the data contain no text, and the errors of `evaluate`.
    """
    attacks = attacks or read_attacks()
    judges, dataset = chosen(evaluators), load(data)
    seed = int(options.get("seed") or 0)
    sampled = subjects(dataset, sample, seed)
    rivals = any(component.pairwise for judge in judges for component in judge.components())
    audited = variants(dataset, sampled, attacks, rivals=rivals)
    run = evaluate(audited, judges, models=models, out=out, replay=replay, progress=progress, **options)
    study = flips(run.judgments(), sampled, attacks, seed)
    write_text(Path(out) / INJECTION, json.dumps(payload(study), ensure_ascii=False, indent=1) + "\n")
    return study


def flips(judgments: Sequence[Judgment], sampled: Sequence[Subject], attacks: Sequence[Attack], seed: int) -> Study:
    """Return the study computed from the judgments of the audit's run."""
    table: dict[tuple[str, _Key], Judgment] = {}  # by document of the audit
    for judgment in judgments:
        subject, target = sampled[_subject_number(judgment.target.document_id)], judgment.target
        # The verdict on the inserted last sentence does not count.
        inserted = (
            target.unit == "sentence" and target.index is not None and target.index >= len(subject.summary.sentences)
        )
        if target.system == subject.summary.system and not inserted:
            names = judgment.judge, judgment.signature, judgment.model or "", judgment.aspect
            table[target.document_id, (*names, target.unit, target.index)] = judgment
    controls = {attack.place: attack.name for attack in attacks if attack.aim == "none"}
    questions: dict[_Question, list[_AttackedUnit]] = defaultdict(list)
    observed: dict[_Question, list[float]] = defaultdict(list)
    for (document, key), judgment in table.items():
        if document.endswith(f"/{CLEAN}") and judgment.status == "ok":
            questions[key[:5]].append(_AttackedUnit(_subject_number(document), key, judgment))
        if judgment.value is not None:
            observed[key[:5]].append(judgment.value)
    rows = []
    for question in sorted(questions):
        # A verdict at the lowest or highest observed value cannot move further.
        ends = (min(observed[question]), max(observed[question])) if observed[question] else (0.0, 0.0)
        pooled: list[_Outcome] = []
        for attack in attacks:
            if attack.aim == "none":
                continue
            control = controls[attack.place]
            outcomes = [
                (unit.subject, _moved(unit, table, attack.name, attack), _moved(unit, table, control, attack))
                for unit in questions[question]
                if _could_move(unit.clean, attack, ends)
            ]
            about = {"attack": attack.name, "place": attack.place, "aim": attack.aim, "group": attack.name}
            rows.append(_row(question, outcomes, about, seed))
            pooled += outcomes if attack.aim == "up" else []
        rows.append(_row(question, pooled, {"attack": ALL, "aim": "up", "group": ALL}, seed))
    return Study(STUDY, rows, [f"{len(sampled)} summaries attacked; compare each rate with its control"])


def _subject_number(document: str) -> int:
    return int(document.partition("/")[0].rpartition("-")[2])


def _could_move(clean: Judgment, attack: Attack, ends: tuple[float, float]) -> bool:
    if isinstance(clean.label, int):
        return clean.label == {"up": 0, "down": 1}[attack.aim]
    if clean.value is None:
        return False
    return {"up": clean.value < ends[1], "down": clean.value > ends[0]}[attack.aim]


def _moved(
    unit: _AttackedUnit, table: Mapping[tuple[str, _Key], Judgment], variant: str, attack: Attack
) -> float | None:
    """Return 1.0 if the verdict moved as the attack intends, 0.0 if not, or None if it is unusable."""
    after = table.get((document_id(unit.subject, variant), unit.key))
    if after is None or after.status != "ok" or after.target.list_id != unit.clean.target.list_id:
        return None  # a different list of key facts is a different question
    before, now = (
        (judgment.label if isinstance(judgment.label, int) else judgment.value) for judgment in (unit.clean, after)
    )
    if before is None or now is None:
        return None
    return float({"up": now > before, "down": now < before}[attack.aim])


def _row(question: _Question, outcomes: Sequence[_Outcome], about: Mapping[str, Any], seed: int) -> Row:
    judge, signature, model, aspect, unit = question
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
    return interval_row(
        rate,
        study=STUDY,
        judge=judge,
        signature=signature,
        model=model or None,
        aspect=aspect,
        level=unit,
        statistic="flip_rate",
        reason=None if outcomes else "no verdict could move in this direction",
        details=details,
    )
