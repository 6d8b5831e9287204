"""The contract of every evaluator of the catalog, and a defined result for every edge case."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args, get_origin

import pytest
from evaluators.fused_models import written
from evaluators.networks import networks
from together import together

from summeter.data.dataset import Dataset, load
from summeter.engine.dry import dry
from summeter.engine.plan import Job, item_key, jobs, splitter, work_items
from summeter.engine.progress import Progress
from summeter.engine.worker import Worker
from summeter.evaluators.aspects import ASPECTS
from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.evaluators.catalog import CATALOG, build, find
from summeter.evaluators.derived import DerivedEvaluator, MemberJudgments
from summeter.evaluators.entailment import lite2pyramid
from summeter.models.base import Completion, Request
from summeter.models.networks import ModelTask
from summeter.models.structured import BoundLLM
from summeter.records import Judgment, ModelError, UsageError
from summeter.runs.manifest import JudgeEntry
from summeter.runs.progress import ItemKey
from summeter.runs.run import Failure
from summeter.runs.usage import Usage

NAMES = list(CATALOG)
DOCUMENT = "The bridge opened in 1998. It is 14 metres wide. Ms. Ode, who built it, lives in the U.S. now."
SUMMARY = "The bridge is 14 metres wide. Ms. Ode built it."


class Collected:
    """A sink that collects everything."""

    def __init__(self) -> None:
        self.judgments: list[Judgment] = []
        self.failures: list[Failure] = []

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        self.judgments += judgments

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None: ...

    def failed(self, failure: Failure) -> None:
        self.failures.append(failure)


def row(system: str = "a", **fields: Any) -> dict[str, Any]:
    """A flat row without missing values."""
    facts = ["The bridge is 14 metres wide.", "Ms. Ode built the bridge."]
    whole = {"doc_id": "d", "system": system, "document": DOCUMENT, "summary": SUMMARY,
             "reference": "A bridge 14 metres wide.", "key_facts": facts}  # fmt: skip
    return {key: value for key, value in {**whole, **fields}.items() if value is not None}


def usable(spec: str) -> Evaluator:
    """Return an evaluator that can judge the rows: without the labels or the fitted model that it usually needs."""
    if spec == "faithjudge":
        return build("faithjudge[unannotated=ask]")
    if spec != "fused":
        return build(spec)
    with TemporaryDirectory() as folder:
        return build(f"fused[{written(Path(folder))}]")


class Unreachable:
    """A model that never answers."""

    id = "unreachable"

    async def complete(self, request: Request) -> Completion:
        raise ModelError(f"{self.id} does not answer")

    async def ask(self, requests: Sequence[Any]) -> list[Any]:
        raise ModelError(f"{self.id} does not answer")


def judge(spec: str, rows: Sequence[Mapping[str, Any]], *, reachable: bool = True) -> Collected:
    """Return all judgments of one evaluator; LLMs reply with a valid example of the schema, networks by words."""
    evaluator = usable(spec)
    data = load(rows)
    roles = {role: "dry/model" for part in evaluator.components() for role in part.roles}
    work = jobs([evaluator], roles, splitter(data), {"t": 0.0})
    sink = Collected()
    local = {name for part in evaluator.components() for name, role in part.roles.items() if role.kind != "llm"}
    llms = {role: dry(model, Usage()) for role, model in roles.items() if role not in local}
    if not reachable:
        llms = {role: BoundLLM(Unreachable()) for role in llms}

    def tools(job: Job) -> Tools:
        bound = networks(job.evaluator)
        return Tools(job.signature, llms, bound if reachable else dict.fromkeys(bound, Unreachable()))

    asking = [job for job in work if not isinstance(job.evaluator, DerivedEvaluator)]
    worker = Worker(asking, sink, tools, {}, Progress())
    asyncio.run(worker.run(work_items(data, worker.jobs, (), None), 1))
    for job in work:
        if isinstance(job.evaluator, DerivedEvaluator):
            sink.judgments += derived(job.evaluator, job, data, sink.judgments)
    return sink


def derived(evaluator: DerivedEvaluator, job: Job, data: Dataset, judgments: list[Judgment]) -> list[Judgment]:
    """Return the judgments of a derived judge, skipped items included."""
    found: list[Judgment] = []
    for one in (one for document, summaries in data.items() for one in evaluator.items(document, summaries)):
        skipped = evaluator.unjudged(one, job.signature)
        if skipped is not None:
            found += skipped
            continue
        mine = [row for row in judgments if row.target.item == item_key(one)]
        by_member = tuple(tuple(row for row in mine if row.signature == name) for name in job.entry.members)
        found += evaluator.derive([MemberJudgments(item_key(one), by_member)], job.signature)
    return found


def pair(name: str, **fields: Any) -> list[dict[str, Any]]:
    """Return the row under test, and a second system's if the evaluator compares two."""
    found = [row(**fields)]
    if find(name).pairwise:
        found.append(row("b", **{key: value for key, value in fields.items() if key != "summary"}))
    return found


@pytest.mark.parametrize("name", NAMES)
class TestContract:
    def test_class_attributes(self, name: str) -> None:
        found = find(name)
        assert found.name == name
        assert found.version
        assert found.summary
        assert found.__doc__
        assert set(found.aspects) <= set(ASPECTS)
        assert found.model_config["frozen"]

    def test_required_roles_are_declared(self, name: str) -> None:
        for part in usable(name).components():
            assert set(part.required_roles) <= set(part.roles)
            assert part.asks_llm == any(part.roles[role].kind == "llm" for role in part.required_roles)
        kinds = {"llm", *get_args(ModelTask)}
        for role in find(name).roles.values():
            assert role.kind in kinds

    @together("empty", ["document", "summary"])
    def test_an_empty_text_is_skipped_for_each_aspect_without_a_call(self, name: str, empty: str) -> None:
        found = [row for row in judge(name, pair(name, **{empty: " "})).judgments if row.target.system == "a"]
        parts = [part for part in usable(name).components() if not part.prepares_only]
        assert {(row.judge, row.aspect) for row in found} == {
            (part.name, aspect) for part in parts for aspect in part.active_aspects
        }
        assert {(row.status, row.reason, row.calls, row.target.index) for row in found} <= {
            ("skipped", f"the {empty} is empty", (), None)
        }

    def test_failed_preparation_fails_each_aspect(self, name: str) -> None:
        ((document, summaries),) = load(pair(name)).items()
        prepared = Prepared(document_id="d", status="refused", reason="it would not", calls=("key",))
        for part in usable(name).components():
            for item in part.items(document, summaries):
                rows = part.unjudged(item, "sig", prepared)
                assert rows is not None
                assert {row.aspect for row in rows} == set(part.active_aspects)
                assert {(row.status, row.reason, row.calls, row.value) for row in rows} <= {
                    ("refused", "it would not", ("key",), None)
                }

    def test_a_model_that_does_not_answer_is_an_error_and_no_number(self, name: str) -> None:
        asking = [part for part in usable(name).components() if part.required_roles and not part.prepares_only]
        if not asking or any(isinstance(part, DerivedEvaluator) for part in asking):
            pytest.skip("it asks no model itself")
        found = judge(name, pair(name), reachable=False)
        assert found.judgments == []
        assert {(failure.status, failure.reason) for failure in found.failures} == {
            ("error", "unreachable does not answer")
        }

    def test_every_judgment_is_signed_addressed_explained_and_deterministic(self, name: str) -> None:
        found, again = judge(name, pair(name)), judge(name, pair(name)).judgments
        assert found.failures == []
        assert sorted(found.judgments, key=lambda j: str(j.key)) == sorted(again, key=lambda j: str(j.key))
        parts = {part.name: part for part in usable(name).components()}
        measured = {(part.name, aspect) for part in usable(name).components() for aspect in part.active_aspects}
        for one in found.judgments:
            assert one.judge in parts
            assert one.signature.startswith(f"{one.judge}|")
            assert "|v:" in one.signature
            assert (one.judge, one.aspect) in measured
            assert (one.target.document_id, one.target.system in {"a", "b"}) == ("d", True)
            for span in one.evidence:
                text = DOCUMENT if span.of == "document" else SUMMARY
                assert span.cut(text).strip()
        if not all(part.prepares_only for part in parts.values()):
            assert found.judgments

    def test_settings_are_in_the_signature_and_rebuild_it(self, name: str) -> None:
        for part in build(name).components():
            again = type(part)(**part.model_dump(mode="json", exclude_defaults=True))
            assert again.sign({}, "rules-1") == part.sign({}, "rules-1")

    def test_an_unknown_setting_is_a_usage_error(self, name: str) -> None:
        with pytest.raises(UsageError, match=r"there is no setting 'no_such_setting'.*its settings: "):
            build(f"{name}[no_such_setting=1]")
        with pytest.raises(UsageError, match="no_such_setting"):
            find(name)(no_such_setting=1)


def other_values(annotation: Any) -> list[Any]:
    """Return the values of a setting that has a closed set of them."""
    if annotation is bool:
        return ["true", "false"]
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [value for inner in get_args(annotation) for value in other_values(inner)]


# These need what the fakes lack: trained weights, a table of baselines.
NOT_FAKED = ("summac[method=conv]", "bertscore[rescale=true]")
SETTINGS = [
    spec
    for name in NAMES
    if name not in {"cascade", "fused"}
    for setting, info in find(name).model_fields.items()
    for value in dict.fromkeys(other_values(info.annotation))
    if value not in {str(info.default), str(info.default).lower()} and info.default != (value,)
    if (spec := f"{name}[{setting}={value}]") not in NOT_FAKED
]


@pytest.mark.parametrize("spec", SETTINGS)
def test_every_value_of_a_setting_is_judged_by_and_signed(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = spec.partition("[")[0]
    if spec == "lite3pyramid[parsed=true]":  # the parser itself is tested in tests/neural
        monkeypatch.setattr(lite2pyramid, "parsed_units", lambda texts: (lite2pyramid.ContentUnit(text=texts[0]),))
    if spec == "geval[steps=tuned]":
        spec = "geval[steps=tuned,aspect=completeness]"
    found = judge(spec, pair(name))
    assert found.failures == []
    assert {row.status for row in found.judgments} <= {"ok", "skipped"}
    measured = {aspect for part in build(spec).components() for aspect in part.active_aspects}
    assert measured <= {row.aspect for row in found.judgments}
    if [part.sign({}) for part in build(spec).components()] == [part.sign({}) for part in build(name).components()]:
        # The default, stated explicitly.
        assert found.judgments == judge(name, pair(name)).judgments


OK, SKIPPED = {"ok"}, {"skipped"}
REFERENCE_BASED = {
    "rouge": SKIPPED, "bertscore": SKIPPED, "menli": SKIPPED, "menli.combined": SKIPPED, "a3cu": SKIPPED,
    "a2cu": SKIPPED,
    "unieval": OK | SKIPPED,  # only relevance needs one
}  # fmt: skip
KEY_FACT_BASED = {"lite2pyramid": SKIPPED, "lite3pyramid": SKIPPED}
# A run of one summary cannot be scaled; some sentences contain nothing that a judge asks about.
USUAL = {"menli.combined": OK | SKIPPED, "dae": OK | SKIPPED, "qafacteval": OK | SKIPPED, "questeval": OK | SKIPPED}
NO_WORDS = ("abstractiveness", "length", "fused")

# Statuses of an item's judgments by edge case; OK for evaluators that are not listed.
EDGES: dict[str, tuple[dict[str, Any], dict[str, set[str]]]] = {
    "empty document": ({"document": ""}, dict.fromkeys(NAMES, SKIPPED)),
    "blank document": ({"document": " \n "}, dict.fromkeys(NAMES, SKIPPED)),
    "empty summary": ({"summary": ""}, dict.fromkeys(NAMES, SKIPPED)),
    "blank summary": ({"summary": "\t \n"}, dict.fromkeys(NAMES, SKIPPED)),
    "one sentence": ({"summary": "The bridge is 14 metres wide."}, {}),
    "no key facts": ({"key_facts": None}, KEY_FACT_BASED),
    "no key facts, no reference": ({"key_facts": None, "reference": None}, {**REFERENCE_BASED, **KEY_FACT_BASED}),
    "missing reference": ({"reference": None}, REFERENCE_BASED),
    "blank reference": ({"reference": " ", "key_facts": None}, {**REFERENCE_BASED, **KEY_FACT_BASED}),
    "identical text": ({"summary": DOCUMENT}, {}),
    "summary longer than source": ({"summary": " ".join([DOCUMENT] * 5)}, {}),
    "one word": ({"document": "Rain.", "summary": "Rain.", "reference": "Rain.", "key_facts": ["Rain."]}, {}),
    "CJK": ({"document": "桥长十四米。它很新。", "summary": "桥长十四米。", "reference": "桥长十四米。",
             "key_facts": ["桥长十四米"]}, {"support": SKIPPED, "cascade": OK | SKIPPED}),
    "a very long sentence": ({"summary": "The bridge is wide and " * 150 + "old."}, {}),
    # It contains no words, so the overlap judges and `support` have nothing to compare.
    "no words": ({"summary": "... !!! 🎻"}, {"support": OK | SKIPPED, "cascade": OK | SKIPPED,
                                             **dict.fromkeys(NO_WORDS, SKIPPED)}),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@together("edge", EDGES)
def test_edge_cases_have_one_defined_result(name: str, edge: str) -> None:
    fields, expected = EDGES[edge]
    found = judge(name, pair(name, **fields))
    mine = [one for one in found.judgments if "a" in (one.target.system, one.target.rival)]
    assert found.failures == []
    assert {one.status for one in mine} <= expected.get(name, USUAL.get(name, OK))
    assert all(one.value is None and one.reason for one in mine if one.status != "ok")
    if not build(name).components()[0].prepares_only:
        assert mine


# What is refused before any judge runs, and a word of the message (mostly the name of the setting).
REFUSED = {
    "rogue": r"did you mean rouge\?\); known: ", "rouge[stemmer=true": "closing", "rouge[stemmer]": "KEY=VALUE",
    "rts[aspect=coherance]": "evaluator 'rts': the aspect 'coherance' is unknown",
    "factscore[batch=0]": "batch", "rts2[definitions=long]": "definitions", "mcq2[definitions=long]": "definitions",
    "h2h[sytems=a;b]": r"there is no setting 'sytems' \(did you mean systems\?\)",
    "h2h[order=ba]": "order: is 'ba'; give both or ab", "h2h[systems=a;a]": "systems", "h2h[pairs=a:a]": "pairs",
    "h2h[pairs=a]": "pairs", "h2h[pairs=a:b:c]": "pairs", "h2h[pairs=a:b;b:a]": "twice",
    "h2h[pairs=a:b,systems=a;c]": "cannot be combined",
    **dict.fromkeys(
        ("rts.together[rated=fluency]", "rts.together[rated=fluency;fluency]", "rts.together[rated='']"), "rated"
    ),
    "rts.together[rated=fluency;tone]": "tone",
    "ensemble[of=rts]": "needs at least two evaluators", "ensemble[of=rts+rogue]": "no evaluator 'rogue'",
    "ensemble[of=rts+h2h]": "h2h is a pairwise judge", "ensemble[of=rts+rts]": "listed twice",
    "ensemble[of=rts+mcq,at_least=3]": "there are only 2", "ensemble[of=rts+support]": "same aspect",
    "ensemble[of=rts+ensemble]": "cannot be a member",
    "geval[draws=0]": "draws", "geval[draws=x]": "draws", "geval[sampel]": "scoring", "geval[aspect=tone]": "tone",
    "geval[steps=tuned]": "tuned steps", "geval[steps='']": "steps", "geval[steps=' ; ']": "steps",
    "geval[steps=[]]": "steps", "geval[steps=[' ']]": "steps",
    **dict.fromkeys(
        ("geval[single,draws=6]", "geval[logprob,draws=5]", "geval_plus[single,draws=3]"),
        "`draws` requires scoring=sample",
    ),
    "geval_plus.rating[aspect=faithfulness]": "faithfulness", "geval_plus[aspect=coherence]": "aspect",
    "finesure[strategy=basic,taxonomy=unisumeval]": "taxonomy=unisumeval has no effect",
    "finesure.fact_check[strategy=basic,taxonomy=unisumeval]": "taxonomy=unisumeval has no effect",
}  # fmt: skip


@together("spec, said", REFUSED.items())
def test_an_invalid_evaluator_is_refused(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        build(spec)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rouge[stemmer=[}]", "[}"),
        ("support[max_key_facts=!!python/object/apply:os.system [id]]", "!!python/object/apply:os.system [id]"),
        ("rouge[measure=2024-13-01]", "2024-13-01"),
    ],
)
def test_invalid_yaml_settings_are_not_executed(text: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def called(_: str) -> int:
        raise AssertionError("the setting was carried out")

    monkeypatch.setattr("os.system", called)
    with pytest.raises(UsageError) as caught:
        build(text)
    assert str(caught.value).startswith(f"evaluator {text!r}: {value!r} is not a YAML value: ")
    assert "\n" not in str(caught.value)


def test_a_rating_scale_is_known_where_the_parser_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The import of scores reads the scale of every evaluator, also on a machine without extras."""

    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", missing)
    scales = {part.name: part.rating_scale for name in NAMES for part in usable(name).components()}
    assert scales["questeval"] is None
    assert scales["rts"] == scales["geval"] == (1, 5)
    assert scales["direct"] == (0, 100)
