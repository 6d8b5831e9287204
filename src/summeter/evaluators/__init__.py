"""Evaluators by class name, and the base classes for new ones.

    from summeter.evaluators import FineSurE, Rouge
    from summeter.evaluators import Evaluator, Item, Judgment, Prepared, Role, Tools

Classes are imported when they are first used; the module `catalog` maps catalog names to classes. docs/extending.md
explains how to write an evaluator. The imports below are only for type checkers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from summeter.evaluators.catalog import CATALOG
from summeter.lazy import attributes

if TYPE_CHECKING:
    from summeter.evaluators.aspects import AspectDef as AspectDef
    from summeter.evaluators.base import Evaluator as Evaluator
    from summeter.evaluators.base import JudgmentBuilder as JudgmentBuilder
    from summeter.evaluators.base import Prepared as Prepared
    from summeter.evaluators.base import Role as Role
    from summeter.evaluators.base import Tools as Tools
    from summeter.evaluators.cascade import Cascade as Cascade
    from summeter.evaluators.derived import DerivedEvaluator as DerivedEvaluator
    from summeter.evaluators.derived import MemberJudge as MemberJudge
    from summeter.evaluators.derived import MemberJudgments as MemberJudgments
    from summeter.evaluators.ensemble import Ensemble as Ensemble
    from summeter.evaluators.entailment.summac import SummaC as SummaC
    from summeter.evaluators.fenice.evaluator import Fenice as Fenice
    from summeter.evaluators.finesure.align import Align as Align
    from summeter.evaluators.finesure.align import FineSurE as FineSurE
    from summeter.evaluators.finesure.fact_check import FactCheck as FactCheck
    from summeter.evaluators.finesure.key_facts import KeyFactExtraction as KeyFactExtraction
    from summeter.evaluators.fused import Fused as Fused
    from summeter.evaluators.geval.geval import GEval as GEval
    from summeter.evaluators.geval.plus import GEvalPlus as GEvalPlus
    from summeter.evaluators.geval.plus import GEvalPlusFaithfulness as GEvalPlusFaithfulness
    from summeter.evaluators.geval.plus import GEvalPlusRating as GEvalPlusRating
    from summeter.evaluators.llm import LLMJudge as LLMJudge
    from summeter.evaluators.overlap.bertscore import BertScore as BertScore
    from summeter.evaluators.overlap.length import Length as Length
    from summeter.evaluators.overlap.novelty import Abstractiveness as Abstractiveness
    from summeter.evaluators.overlap.rouge import Rouge as Rouge
    from summeter.evaluators.overlap.similarity import Similarity as Similarity
    from summeter.evaluators.rating.direct import DirectAssessment as DirectAssessment
    from summeter.evaluators.rating.h2h import HeadToHead as HeadToHead
    from summeter.evaluators.rating.judge import Rating as Rating
    from summeter.evaluators.rating.judge import RatingJudge as RatingJudge
    from summeter.evaluators.rating.mcq import MultipleChoice as MultipleChoice
    from summeter.evaluators.rating.mcq import MultipleChoiceShort as MultipleChoiceShort
    from summeter.evaluators.rating.rts import ReasonThenScore as ReasonThenScore
    from summeter.evaluators.rating.rts import ReasonThenScoreShort as ReasonThenScoreShort
    from summeter.evaluators.rating.stareval import StarEval as StarEval
    from summeter.evaluators.rating.together import RatedTogether as RatedTogether
    from summeter.evaluators.rating.yesno import YesNo as YesNo
    from summeter.evaluators.support.evaluator import Support as Support
    from summeter.models.prompts import Prompt as Prompt
    from summeter.models.prompts import Template as Template
    from summeter.models.structured import Form as Form
    from summeter.records import Item as Item
    from summeter.records import Judgment as Judgment
    from summeter.records import ReplyError as ReplyError

_BASES = {
    "AspectDef": "summeter.evaluators.aspects",
    "DerivedEvaluator": "summeter.evaluators.derived",
    "Evaluator": "summeter.evaluators.base",
    "Form": "summeter.models.structured",
    "Item": "summeter.records",
    "Judgment": "summeter.records",
    "JudgmentBuilder": "summeter.evaluators.base",
    "LLMJudge": "summeter.evaluators.llm",
    "MemberJudge": "summeter.evaluators.derived",
    "MemberJudgments": "summeter.evaluators.derived",
    "Prepared": "summeter.evaluators.base",
    "Prompt": "summeter.models.prompts",
    "Rating": "summeter.evaluators.rating.judge",
    "RatingJudge": "summeter.evaluators.rating.judge",
    "ReplyError": "summeter.records",
    "Role": "summeter.evaluators.base",
    "Template": "summeter.models.prompts",
    "Tools": "summeter.evaluators.base",
}
_MODULES = _BASES | {path.rpartition(":")[2]: path.rpartition(":")[0] for path in CATALOG.values()}

__all__ = sorted(_MODULES)  # noqa: PLE0605 - generated from the catalog
__getattr__, __dir__ = attributes(__name__, _MODULES)
