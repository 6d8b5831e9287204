"""How often a text inside the judged material turns a judge's verdict.

Every chosen summary is judged as it is, with a harmless sentence added (the control), and with each attack added.
A verdict is *flipped* when it moves the way the attack pushes: a sentence, claim or key fact from 0 to 1 (or from 1
to 0 for an attack that pushes down), a rating or preference by any amount. Adding any text moves some verdicts, so
each rate stands beside the control's, and the difference of the two is the figure to cite.
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
from summeter.data.dataset import Dataset, load
from summeter.engine.api import evaluate
from summeter.engine.options import OptionArgs, with_options
from summeter.engine.plan import Data
from summeter.engine.progress import Progress
from summeter.evaluators.base import Evaluator
from summeter.evaluators.catalog import build
from summeter.meta.results import Row, Study, interval_row, payload
from summeter.records import Judgment, UsageError
from summeter.runs.seals import INJECTION
from summeter.stats import Bootstrap

STUDY = "injection"
ALL = "all that push up"
RESAMPLES = 2000

_Question = tuple[str, str, str, str, str]  # judge, signature, model, aspect, unit
_Key = tuple[str, str, str, str, str, int | None]  # and the index within the unit


class _Unit(NamedTuple):
    """One verdict that an attack could move: where it is, its clean judgment, and the subject it belongs to."""

    subject: int
    key: _Key
    clean: Judgment


class _Outcome(NamedTuple):
    """Whether a verdict moved (1.0, 0.0; None: no usable one) under an attack, and under its control."""

    subject: int
    attacked: float | None
    control: float | None


@with_options
def injection(
    data: Data,
    evaluators: Sequence[Evaluator | str],
    *,
    models: Mapping[str, str] | str | None = None,
    out: str | Path,
    sample: int = 20,
    attacks: Sequence[Attack] | None = None,
    replay: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[OptionArgs],
) -> Study:
    """The flip rate of each judge, aspect and attack, on `sample` summaries of `data`; `attacks` default to the shipped
    set.

    `out` is a run's folder like any other (it resumes and replays); the study is kept in it as `injection.json`.
    Rows have the study `injection` and the statistic `flip_rate`: `value` is the share of verdicts turned, `n` the
    verdicts that could be turned and were usable both times, `missing` those whose attacked reply was unusable;
    the interval is a bootstrap over subjects. `details` hold `attack`, `place`, `aim`, `control` (the control's
    rate on the same verdicts) and `net` (rate minus control) with `net_low` and `net_high`.

    Raises UsageError for a sample under 1 or data without text, and whatever `evaluate` raises.
    """
    if sample < 1:
        raise UsageError(f"the sample must hold at least 1 summary, not {sample}")
    attacks = attacks or read_attacks()
    judges = [build(evaluator) if isinstance(evaluator, str) else evaluator for evaluator in evaluators]
    dataset = data if isinstance(data, Dataset) else load(data)
    seed = int(options.get("seed") or 0)
    chosen = subjects(dataset, sample, seed)
    rivals = any(part.pairwise for judge in judges for part in judge.components())
    audited = variants(dataset, chosen, attacks, rivals=rivals)
    run = evaluate(audited, judges, models=models, out=out, replay=replay, progress=progress, **options)
    study = flips(run.judgments(), chosen, attacks, seed)
    write_text(Path(out) / INJECTION, json.dumps(payload(study), ensure_ascii=False, indent=1) + "\n")
    return study


def flips(judgments: Sequence[Judgment], chosen: Sequence[Subject], attacks: Sequence[Attack], seed: int) -> Study:
    """The study, from the judgments of the audit's run."""
    table: dict[tuple[str, _Key], Judgment] = {}  # by document of the audit
    for judgment in judgments:
        subject, where = chosen[_subject_number(judgment.target.document_id)], judgment.target
        # An attack adds a last sentence, which is no verdict to turn.
        added = where.unit == "sentence" and where.index is not None and where.index >= len(subject.summary.sentences)
        if where.system == subject.summary.system and not added:
            names = judgment.judge, judgment.signature, judgment.model or "", judgment.aspect
            table[where.document_id, (*names, where.unit, where.index)] = judgment
    controls = {attack.place: attack.name for attack in attacks if attack.aim == "none"}
    questions: dict[_Question, list[_Unit]] = defaultdict(list)
    seen: dict[_Question, list[float]] = defaultdict(list)
    for (document, key), judgment in table.items():
        if document.endswith(f"/{CLEAN}") and judgment.status == "ok":
            questions[key[:5]].append(_Unit(_subject_number(document), key, judgment))
        if judgment.value is not None:
            seen[key[:5]].append(judgment.value)
    rows = []
    for question in sorted(questions):
        # A verdict that stands at the lowest or the highest value seen has no room to move there.
        ends = (min(seen[question]), max(seen[question])) if seen[question] else (0.0, 0.0)
        pooled: list[_Outcome] = []
        for attack in attacks:
            if attack.aim == "none":
                continue
            control = controls[attack.place]
            outcomes = [
                _Outcome(unit.subject, _moved(unit, table, attack.name, attack), _moved(unit, table, control, attack))
                for unit in questions[question]
                if _could_move(unit.clean, attack, ends)
            ]
            about = {"attack": attack.name, "place": attack.place, "aim": attack.aim, "group": attack.name}
            rows.append(_row(question, outcomes, about, seed))
            pooled += outcomes if attack.aim == "up" else []
        rows.append(_row(question, pooled, {"attack": ALL, "aim": "up", "group": ALL}, seed))
    return Study(STUDY, rows, [f"{len(chosen)} summaries attacked; a rate is to be read beside its control"])


def _subject_number(document: str) -> int:
    return int(document.partition("/")[0].rpartition("-")[2])


def _could_move(clean: Judgment, attack: Attack, ends: tuple[float, float]) -> bool:
    if isinstance(clean.label, int):
        return clean.label == {"up": 0, "down": 1}[attack.aim]
    if clean.value is None:
        return False
    return {"up": clean.value < ends[1], "down": clean.value > ends[0]}[attack.aim]


def _moved(unit: _Unit, table: Mapping[tuple[str, _Key], Judgment], variant: str, attack: Attack) -> float | None:
    """1.0 where the verdict went the attack's way, 0.0 where not, None where there is no usable one."""
    after = table.get((document_id(unit.subject, variant), unit.key))
    if after is None or after.status != "ok" or after.target.list_id != unit.clean.target.list_id:
        return None  # another list of key facts is another question
    before, now = (
        (judgment.label if isinstance(judgment.label, int) else judgment.value) for judgment in (unit.clean, after)
    )
    if before is None or now is None:
        return None
    return float({"up": now > before, "down": now < before}[attack.aim])


def _row(question: _Question, outcomes: Sequence[_Outcome], about: Mapping[str, Any], seed: int) -> Row:
    judge, signature, model, aspect, unit = question
    clusters = [outcome.subject for outcome in outcomes]
    bootstrap = Bootstrap(clusters, RESAMPLES, seed=seed, by="subject")
    rate = bootstrap.mean([outcome.attacked for outcome in outcomes])
    control = bootstrap.mean([outcome.control for outcome in outcomes])
    both = [
        None if outcome.attacked is None or outcome.control is None else outcome.attacked - outcome.control
        for outcome in outcomes
    ]
    net = bootstrap.mean(both)
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
        reason=None if outcomes else "no verdict had room to move this way",
        details=details,
    )
