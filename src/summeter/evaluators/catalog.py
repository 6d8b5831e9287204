"""The catalog of evaluators: name -> "module:Class".

Other packages add names through the entry-point group `summeter.evaluators`. A module is imported when one of its names
is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from summeter.evaluators.base import Evaluator
from summeter.records import InstallError, UsageError, nearest

CATALOG: dict[str, str] = {
    "support": "summeter.evaluators.support.evaluator:Support",
    "abstractiveness": "summeter.evaluators.overlap.novelty:Abstractiveness",
    "length": "summeter.evaluators.overlap.length:Length",
    "rouge": "summeter.evaluators.overlap.rouge:Rouge",
    "bertscore": "summeter.evaluators.overlap.bertscore:BertScore",
    "similarity": "summeter.evaluators.overlap.similarity:Similarity",
    "finesure": "summeter.evaluators.finesure.align:FineSurE",
    "finesure.fact_check": "summeter.evaluators.finesure.fact_check:FactCheck",
    "finesure.key_facts": "summeter.evaluators.finesure.key_facts:KeyFactExtraction",
    "finesure.align": "summeter.evaluators.finesure.align:Align",
    "omissions": "summeter.evaluators.omission.omissions:Omissions",
    "qapyramid": "summeter.evaluators.omission.qapyramid:QAPyramid",
    "faithjudge": "summeter.evaluators.faithjudge.judge:FaithJudge",
    "error_types": "summeter.evaluators.error_types:ErrorTypes",
    "factscore": "summeter.evaluators.claims.factscore:FactScore",
    "fenice": "summeter.evaluators.fenice.evaluator:Fenice",
    "summac": "summeter.evaluators.entailment.summac:SummaC",
    "dae": "summeter.evaluators.entailment.dae:DAE",
    "bartscore": "summeter.evaluators.seq2seq.bartscore:BartScore",
    "unieval": "summeter.evaluators.seq2seq.unieval:UniEval",
    "trueteacher": "summeter.evaluators.seq2seq.trueteacher:TrueTeacher",
    "qafacteval": "summeter.evaluators.questions.qafacteval:QAFactEval",
    "alignscore": "summeter.evaluators.entailment.alignscore:AlignScore",
    "minicheck": "summeter.evaluators.entailment.minicheck:MiniCheck",
    "faithlens": "summeter.evaluators.entailment.faithlens:FaithLens",
    "granite_guardian": "summeter.evaluators.entailment.granite_guardian:GraniteGuardian",
    "hhem": "summeter.evaluators.entailment.hhem:HHEM",
    "lettucedetect": "summeter.evaluators.entailment.lettucedetect:LettuceDetect",
    "lite2pyramid": "summeter.evaluators.entailment.lite2pyramid:Lite2Pyramid",
    "lite3pyramid": "summeter.evaluators.entailment.lite2pyramid:Lite3Pyramid",
    "a2cu": "summeter.evaluators.seq2seq.a2cu:A2CU",
    "a3cu": "summeter.evaluators.overlap.a3cu:A3CU",
    "questeval": "summeter.evaluators.questions.questeval:QuestEval",
    "menli": "summeter.evaluators.entailment.menli:Menli",
    "menli.combined": "summeter.evaluators.entailment.menli:MenliCombined",
    "rts": "summeter.evaluators.rating.rts:ReasonThenScore",
    "rts2": "summeter.evaluators.rating.rts:ReasonThenScoreShort",
    "mcq": "summeter.evaluators.rating.mcq:MultipleChoice",
    "mcq2": "summeter.evaluators.rating.mcq:MultipleChoiceShort",
    "stareval": "summeter.evaluators.rating.stareval:StarEval",
    "h2h": "summeter.evaluators.rating.h2h:HeadToHead",
    "rts.together": "summeter.evaluators.rating.together:RatedTogether",
    "checklist": "summeter.evaluators.checklist.judge:Checklist",
    "yesno": "summeter.evaluators.rating.yesno:YesNo",
    "direct": "summeter.evaluators.rating.direct:DirectAssessment",
    "geval": "summeter.evaluators.geval.geval:GEval",
    "geval_plus": "summeter.evaluators.geval.plus:GEvalPlus",
    "geval_plus.faithfulness": "summeter.evaluators.geval.plus:GEvalPlusFaithfulness",
    "geval_plus.rating": "summeter.evaluators.geval.plus:GEvalPlusRating",
    "ensemble": "summeter.evaluators.ensemble:Ensemble",
    "cascade": "summeter.evaluators.cascade:Cascade",
    "regression": "summeter.evaluators.regression:Regression",
    "fused": "summeter.evaluators.fused:Fused",
}

UNAVAILABLE: dict[str, str] = {
    "factcg": "no evaluator has been written for it",
    "hdm2": "its prompt and the form of its replies were not found in a released source",
    "osiris": "its prompt and the form of its replies were not found in a released source",
    "paladin_mini": "its prompt and the form of its replies were not found in a released source",
}
"""Published judges that are not in the catalog, and why."""

GROUP = "summeter.evaluators"


def names() -> dict[str, str]:
    """Return a mapping of all known names to "module:Class", starting with the names of this package."""
    known = dict(CATALOG)
    for point in entry_points(group=GROUP):
        known.setdefault(point.name, point.value)
    return known


def find(name: str) -> type[Evaluator]:
    """Return the evaluator class with a catalog name.

    Raises UsageError if the name is unknown and InstallError if the class cannot be imported.
    """
    known = CATALOG if name in CATALOG else names()  # reading the names of other packages takes milliseconds
    if name in UNAVAILABLE and name not in known:
        raise UsageError(f"the evaluator {name!r} is not available: {UNAVAILABLE[name]}")
    if name not in known:
        raise UsageError(f"there is no evaluator {name!r}{nearest(name, known)}; known: {', '.join(sorted(known))}")
    module, _, attribute = known[name].partition(":")
    try:
        evaluator = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InstallError(f"the evaluator {name!r} ({known[name]}) cannot be loaded: {error}") from error
    if not (isinstance(evaluator, type) and issubclass(evaluator, Evaluator)):
        raise UsageError(f"{known[name]} (catalog name {name!r}) is not an Evaluator")
    return evaluator


def build(text: str) -> Evaluator:
    """Return an evaluator from `name` or `name[key=value,...]`, as given to `-e`.

    >>> build("rouge[stemmer=true]").stemmer
    True
    """
    import yaml

    name, bracket, rest = text.strip().partition("[")
    if bracket and not rest.endswith("]"):
        raise UsageError(f"evaluator {text!r}: the closing ] is missing")
    settings: dict[str, Any] = {}
    for pair in split_outside(rest.removesuffix("]"), ","):
        key, equals, value = pair.partition("=")
        if not equals and (setting := find(name).positional_setting):
            key, equals, value = setting, "=", pair
        if not equals:
            raise UsageError(f"evaluator {text!r}: {pair!r} is not KEY=VALUE")
        try:
            settings[key.strip()] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2024-13-01
            why = getattr(error, "problem", None) or str(error).partition("\n")[0]
            raise UsageError(f"evaluator {text!r}: {value.strip()!r} is not a YAML value: {why}") from error
    return rebuild(name, settings)


def split_outside(text: str, separator: str) -> list[str]:
    """Split a string at separators outside brackets, and omit blank pieces.

    >>> split_outside("rts+mcq[aspect=fluency]", "+")
    ['rts', 'mcq[aspect=fluency]']
    """
    pieces, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == separator and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return [stripped for piece in pieces if (stripped := piece.strip())]


def rebuild(name: str, settings: Mapping[str, Any]) -> Evaluator:
    """Return an evaluator from its catalog name and settings.

    Raises UsageError if the name or a setting is invalid.
    """
    return find(name)(**settings)
