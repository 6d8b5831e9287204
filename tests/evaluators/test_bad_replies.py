"""Every LLM evaluator and the corpus of bad replies: bad replies give no value, unusual ones the right value."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import pytest
from evaluators.bad_replies import BAD, ITEM, ODD, SENTENCES, Case, Replies
from evaluators.judging import judgments_of
from together import together

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.evaluators.catalog import CATALOG, find
from summeter.evaluators.checklist.judge import Checklist, Question
from summeter.evaluators.claims.factscore import FactScore
from summeter.evaluators.entailment.faithlens import FaithLens
from summeter.evaluators.entailment.granite_guardian import GraniteGuardian
from summeter.evaluators.faithjudge.judge import FaithJudge
from summeter.evaluators.finesure.align import Align
from summeter.evaluators.finesure.fact_check import FactCheck, Strategy
from summeter.evaluators.finesure.key_facts import KeyFactExtraction
from summeter.evaluators.geval.geval import GEval
from summeter.evaluators.geval.plus import GEvalPlusFaithfulness, GEvalPlusRating
from summeter.evaluators.omission.omissions import Omissions
from summeter.evaluators.omission.qapyramid import QAPyramid
from summeter.evaluators.rating.direct import DirectAssessment
from summeter.evaluators.rating.h2h import HeadToHead
from summeter.evaluators.rating.judge import RatingJudge
from summeter.evaluators.rating.mcq import MultipleChoice, MultipleChoiceShort
from summeter.evaluators.rating.rts import ReasonThenScore, ReasonThenScoreShort
from summeter.evaluators.rating.stareval import StarEval
from summeter.evaluators.rating.together import RatedTogether
from summeter.evaluators.rating.yesno import YesNo
from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.structured import BoundLLM, Settings
from summeter.records import Judgment


class Parrot:
    """An LLM with one reply, and those in `settled` (by name of their schema) for the questions of other steps."""

    id = "test/parrot"

    def __init__(self, text: str, settled: Mapping[str, str]) -> None:
        self.text = text
        self.settled = settled
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        if request.schema_name in self.settled:
            return Completion(text=self.settled[request.schema_name], finish_reason="stop")
        self.asked.append(request)
        sure = tuple(TokenLogprobs(token=letter, logprob=0.0) for letter in self.text) if request.top_logprobs else None
        return Completion(text=self.text, finish_reason="stop", logprobs=sure)

    async def close(self) -> None: ...


class Harness(NamedTuple):
    """An evaluator, two different good replies, and the number of judgments per item.

    `plain` names cases that are good replies in this evaluator's published form. `settled` are good replies to the
    questions of other steps, by name of their schema. If `stored` is false, it reads no stored replies. If `json` is
    false, replies contain tags instead of JSON, and there is no repair turn.
    """

    evaluator: Evaluator
    good: str
    other: str
    units: int
    counted: bool = True
    plain: frozenset[str] = frozenset()
    settled: Mapping[str, str] = MappingProxyType({})
    stored: bool = True
    faulty: str = '{"score": 5}'
    json: bool = True


RTS = Harness(
    ReasonThenScore(),
    json.dumps({"reason": 'It leaps [from the boat] } "so it\'s said" \\ { to a mill.', "score": 2}),
    json.dumps({"reason": "It's one text.", "score": 5}),
    units=1, counted=False,
)  # fmt: skip
MCQ = Harness(
    MultipleChoice(), json.dumps({"answer": "B"}), json.dumps({"answer": "E"}), units=1, counted=False,
)  # fmt: skip


def _fact_check(labels: dict[str, str]) -> str:
    reasons = {"1": 'see [1] ] } "so it\'s said" \\ {', "2": "May 🏭 is not in the document", "3": "it's stated"}
    return json.dumps({key: {"reason": reasons[key], "category": label} for key, label in labels.items()})


def _binary(strategy: Strategy) -> Harness:
    good, other = (
        {str(key): {"supported": said} for key, said in enumerate(all_, 1)}
        for all_ in (("yes", "yes", "no"), ["yes"] * 3)
    )
    return Harness(FactCheck(strategy=strategy), json.dumps(good), json.dumps(other), units=3)


def _categories(*labels: str, **fields: str) -> str:
    return json.dumps({str(key): {**fields, "category": label} for key, label in enumerate(labels, 1)})


def _claims(*said: str) -> str:
    found = [{"quote": "", "reason": 'see [1] ] } "so it\'s said" \\ {', "supported": one} for one in said]
    return json.dumps({str(number): one for number, one in enumerate(found, 1)})


def _together(coherence: int, fluency: int) -> str:
    reason = 'It leaps [from the boat] } "so it\'s said" \\ { to a mill.'
    scores = {"coherence": coherence, "fluency": fluency}
    return json.dumps({name: {"reason": reason, "score": score} for name, score in scores.items()})


LISTED = Checklist(questions=(
    Question(name="invented", question="Is anything invented?", good="no", not_applicable=True),
    Question(name="order", question="Is it in order?", levels=("no", "in part", "yes"), weight=3),
))  # fmt: skip


def _listed(invented: str, order: str) -> str:
    reason = 'It leaps [from the boat] } "so it\'s said" \\ { to a mill.'
    said = {"invented": invented, "order": order}
    return json.dumps({name: {"quote": "", "reason": reason, "answer": answer} for name, answer in said.items()})


def _supported(*said: str) -> str:
    return json.dumps({str(number): {"response": one} for number, one in enumerate(said, 1)})


def _missing(present: str) -> str:
    fact = {"fact": 'It\'s "sold" [in May] } \\ {', "importance": "minor", "quote": "in May", "present": present}
    return json.dumps({"facts": [fact]})


def _answered(*said: str) -> str:
    found = [{"quote": 'see [1] ] } "so it\'s said" \\ {', "present": one} for one in said]
    return json.dumps({str(number): one for number, one in enumerate(found, 1)})


def _questions(*asked: str) -> str:
    return json.dumps({"questions": [{"question": f"Who {one} (it's said)", "answer": "Ana"} for one in asked]})


def _decision(verdict: str) -> str:
    reason = 'It leaps [from the boat] } "so it\'s said" \\ { to a mill.'
    return json.dumps({"reason": reason, "quotes": ["in May"], "verdict": verdict})


YES = Harness(YesNo(), json.dumps({"answer": "no"}), json.dumps({"answer": "yes"}), units=1, counted=False)
GEVAL = Harness(
    GEval(), json.dumps({"score": 4}), json.dumps({"score": 1}), units=1, counted=False,
    plain=frozenset({"a score in JSON", "a bare number", "unescaped quote"}), faulty='{"score": 9}',
    settled={"geval_steps": json.dumps({"steps": ["Read it.", "Give the score."]})},
)  # fmt: skip

HARNESSES = {
    "factscore": Harness(
        FactScore(), _claims("yes", "no", "yes"), _claims("yes", "yes", "yes"),
        units=3, settled={"claims": json.dumps({"claims": SENTENCES})}, stored=False,
    ),
    "factscore, its claims": Harness(
        FactScore(extractor="judge"),
        json.dumps({"claims": ["Ana sold the boat [so it's said]."]}), json.dumps({"claims": ["It burnt down."]}),
        units=1, counted=False, settled={"factscore": _claims("yes")}, stored=False,
    ),
    "finesure.fact_check": Harness(
        FactCheck(),
        _fact_check({"1": "no error", "2": "circumstantial error", "3": "no error"}),
        _fact_check({"1": "no error", "2": "no error", "3": "no error"}),
        units=3,
    ),
    "finesure.fact_check[unisumeval]": Harness(
        FactCheck(taxonomy="unisumeval"),
        _fact_check({"1": "no error", "2": "out-of-article error", "3": "no error"}),
        _fact_check({"1": "no error", "2": "no error", "3": "no error"}),
        units=3,
    ),
    "finesure.fact_check[basic]": _binary("basic"),
    "finesure.fact_check[instruction]": _binary("instruction"),
    "finesure.fact_check[categorization]": Harness(
        FactCheck(strategy="categorization"),
        _categories("no error", "circumstantial error", "no error"), _categories(*["no error"] * 3), units=3,
    ),
    "finesure.fact_check[evidence]": Harness(
        FactCheck(strategy="evidence"),
        _categories("no error", "circumstantial error", "no error", quote="Ana sold her boat", reason="it's [1] }"),
        _categories(*["no error"] * 3, quote="Ana sold her boat", reason="it's [1] }"), units=3,
    ),
    "finesure.align": Harness(
        Align(),
        json.dumps({
            "1": {"present": "yes", "lines": [1]}, "2": {"present": "yes", "lines": [1, 2]},
            "3": {"present": "no", "lines": []},
        }),
        json.dumps({str(key): {"present": "yes", "lines": [key]} for key in (1, 2, 3)}),
        units=6,
    ),
    "finesure.key_facts": Harness(
        KeyFactExtraction(source="document"),
        json.dumps({"key_facts": ["Ana sold a boat [so it's said].", "Ana bought a mill."]}),
        json.dumps({"key_facts": ["Nothing happened."]}),
        units=0, counted=False,
    ),
    "faithjudge": Harness(
        FaithJudge(unannotated="ask"), _decision("Inconsistent"), _decision("consistent"), units=1, counted=False,
    ),
    "omissions": Harness(Omissions(), _missing("no"), _missing("yes"), units=1, counted=False),
    "qapyramid": Harness(
        QAPyramid(), _answered("yes", "no", "yes"), _answered("yes", "yes", "yes"), units=3, counted=False,
        settled={"questions": _questions("sold", "bought", "left")}, stored=False,
    ),
    "qapyramid, its questions": Harness(
        QAPyramid(), _questions("sold"), _questions("left"), units=1, counted=False,
        settled={"qapyramid": _answered("yes")}, stored=False,
    ),
    "rts": RTS,
    "rts2": RTS._replace(evaluator=ReasonThenScoreShort()),
    "mcq": MCQ,
    "mcq2": MCQ._replace(evaluator=MultipleChoiceShort()),
    "h2h": MCQ._replace(evaluator=HeadToHead(), other=json.dumps({"answer": "A"})),
    "stareval": Harness(
        StarEval(), json.dumps({"stars": "4"}), json.dumps({"stars": "1"}),
        units=1, counted=False, plain=frozenset({"a bare number"}),
    ),
    "rts.together": Harness(
        RatedTogether(rated=("coherence", "fluency")), _together(2, 5), _together(5, 5), units=2, counted=False,
    ),
    "checklist": Harness(
        LISTED, _listed("no", "2"), _listed("yes", "3"), units=3, counted=False, faulty='{"invented": "maybe"}',
    ),
    "yesno": YES,
    "yesno[cot]": YES._replace(
        evaluator=YesNo(cot=True),
        good=json.dumps({"reasoning": 'It says [that] } "it\'s sold" \\ {: yes? no?', "answer": "No."}),
        other=json.dumps({"reasoning": "It's all there.", "answer": "yes"}),
    ),
    "direct": Harness(
        DirectAssessment(), json.dumps({"score": 85}), json.dumps({"score": 0}), units=1, counted=False,
        plain=frozenset({"a score in JSON", "a bare number", "unescaped quote"}), faulty='{"score": 101}',
    ),
    "geval": GEVAL,
    "geval[sample]": GEVAL._replace(evaluator=GEval(draws=1)),
    "geval[single]": GEVAL._replace(evaluator=GEval(scoring="single", steps=("Read it.", "Give the score."))),
    "geval, its steps": Harness(
        GEval(scoring="single"), json.dumps({"steps": ["Read [it's short].", "Give the score."]}),
        json.dumps({"steps": ["Guess."]}), units=1, counted=False, settled={"geval": '{"score": 3}'}, stored=False,
    ),
    "geval_plus.rating": GEVAL._replace(evaluator=GEvalPlusRating()),
    "geval_plus.faithfulness": Harness(
        GEvalPlusFaithfulness(), _supported("yes", "no", "Yes."), _supported("yes", "yes", "yes"), units=3,
    ),
}  # fmt: skip


# Changes of JSON that leave a reply in tags complete.
_OF_JSON = frozenset({
    "cut inside a string of a wrapper", "a string that holds the JSON", "unescaped quote", "comment inside",
    "doubled key", "good, then a broken second thought",
})  # fmt: skip
HARNESSES["faithlens"] = Harness(
    FaithLens(claims="summary"), "<reason>It's not in the text.</reason>\n<answer>No</answer>",
    "<answer>yes</answer>", units=1, counted=False, plain=_OF_JSON, stored=False, json=False,
)  # fmt: skip
HARNESSES["granite_guardian"] = Harness(
    GraniteGuardian(think=True), "<score> no </score>", "<score>yes</score>",
    units=1, counted=False, plain=_OF_JSON, stored=False, json=False,
)  # fmt: skip


def _from_schema(judge: RatingJudge) -> Harness:
    """Return a harness of a rating judge: good replies have the first and the last value of each field."""

    def reply(place: int) -> str:
        row = {}
        for field, schema in judge.reply.items():
            values = schema.get("enum") or [schema[end] for end in ("minimum", "maximum") if end in schema]
            row[field] = values[place] if values else f"It's [{field}] }}."
        return json.dumps(row)

    return Harness(judge, reply(0), reply(-1), units=1, counted=False, faulty=json.dumps({"no such field": 5}))


HARNESSES |= {
    name: _from_schema(find(name)())  # type: ignore[arg-type] - a RatingJudge, as the condition says
    for name in CATALOG
    if name not in HARNESSES and issubclass(find(name), RatingJudge)
}


def judge(harness: Harness, text: str, *, repair: bool = False) -> tuple[Prepared, list[Judgment], Parrot]:
    parrot = Parrot(text, harness.settled)
    bound = BoundLLM(parrot, Settings(repair=repair))
    tools = Tools(signature="sig", llms=dict.fromkeys(harness.evaluator.roles, bound))
    item = ITEM if harness.evaluator.pairwise else ITEM.model_copy(update={"rival": None})

    async def both() -> tuple[Prepared, list[Judgment]]:
        prepared = await harness.evaluator.prepare(item.document, tools)
        return prepared, await judgments_of(harness.evaluator, item, prepared, tools)

    return *asyncio.run(both()), parrot


@cache
def _plain(name: str) -> tuple[Prepared, list[Judgment], Parrot]:
    """Return what a judge makes of its plain reply."""
    return judge(HARNESSES[name], HARNESSES[name].good)


def _replies(name: str) -> Replies:
    harness, (*_, parrot) = HARNESSES[name], _plain(name)
    prompt = "\n\n".join(message.content for message in parrot.asked[0].messages)
    return Replies(harness.good, harness.other, prompt)


def _fits(harness: Harness, case: Case) -> bool:
    return (harness.counted or not case.counted) and case.name not in harness.plain


@pytest.mark.parametrize("name", HARNESSES)
@together("case", BAD)
def test_a_bad_reply_is_no_number(name: str, case: Case) -> None:
    harness = HARNESSES[name]
    if not _fits(harness, case):
        return
    reply = case.build(_replies(name))
    if harness.stored and harness.units:
        stored = harness.evaluator.read(reply, ITEM, "strict", "sig")
        assert [judgment.status for judgment in stored] == [case.status] * harness.units
    prepared, judgments, _ = judge(harness, reply)
    if not harness.units:
        assert prepared.status == case.status, prepared
        assert prepared.reason
        assert not prepared.data
        return
    assert len(judgments) == harness.units
    for judgment in judgments:
        assert judgment.status == case.status, judgment
        assert judgment.value is None
        assert judgment.label is None
        assert judgment.reason
        assert judgment.calls
    targets = [(judgment.aspect, judgment.target) for judgment in judgments]
    assert len(set(targets)) == len(targets)


@pytest.mark.parametrize("name", [name for name, harness in HARNESSES.items() if harness.json])
@together("case", ODD)
def test_odd_replies_equal_the_plain_one(name: str, case: Case) -> None:
    harness = HARNESSES[name]
    if not _fits(harness, case):
        return
    prepared, judgments, _ = judge(harness, case.build(_replies(name)))
    plain_prepared, plain, _ = _plain(name)
    assert prepared.data == plain_prepared.data
    assert prepared.status == "ok"
    assert [judgment.status for judgment in judgments] == ["ok"] * harness.units
    bare = [judgment.model_copy(update={"calls": ()}) for judgment in judgments]
    assert bare == [judgment.model_copy(update={"calls": ()}) for judgment in plain]


@pytest.mark.parametrize("name", [name for name, harness in HARNESSES.items() if harness.json])
def test_one_repair_turn_names_the_fault(name: str) -> None:
    harness = HARNESSES[name]
    prepared, judgments, parrot = judge(harness, harness.faulty, repair=True)
    assert len(parrot.asked) == 2
    assert len(parrot.asked[1].messages) == len(parrot.asked[0].messages) + 2
    own = {request.key for request in parrot.asked}
    calls = [own.intersection(keys) for keys in (prepared.calls, *(judgment.calls for judgment in judgments))]
    assert all(len(keys) == 2 for keys in calls if keys)


def test_every_llm_evaluator_has_a_harness() -> None:
    asking = {name for name in CATALOG if find(name)().asks_llm and len(find(name)().components()) == 1}
    assert asking <= set(HARNESSES)
