"""Runs with a network: signatures by its weights, resumption, replay and dry runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Role, Tools
from summeter.models.networks import CountTokens, Embed, ScoreTarget, TokenLimit, entailments
from summeter.records import Item, Judgment, ReplayMiss, UsageError
from summeter.runs.results import RESULTS, ResultStore

ROWS = [
    {"doc_id": f"d{place}", "system": system, "document": f"ab cd {place} ef. gh ab.", "summary": f"{text} {place}."}
    for place in range(3)
    for system, text in (("s", "ab cd"), ("t", "gh gh gh"))
]


class Entailed(Evaluator):
    """The probability that the document entails the summary, and their similarity."""

    name: ClassVar[str] = "entailed"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "is it entailed"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness",)
    roles: ClassVar[Mapping[str, Role]] = {"nli": Role("classifier"), "embed": Role("encoder")}

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        texts = (item.document.text, item.summary.text)
        network = tools.network("nli")
        (found,) = await entailments(network, [texts])
        one, two = await tools.network("embed").ask([Embed(text) for text in texts])
        counts, (limit,) = await network.ask([CountTokens(text) for text in texts]), await network.ask([TokenLimit()])
        near = f"{float(one @ two):.6f}, {counts} of {limit}"
        return [
            JudgmentBuilder(self, item, tools.signature, model=network.id).ok(
                "faithfulness", value=found.entail, reason=near
            )
        ]


def models(folders: Path) -> dict[str, str]:
    return {"nli": f"local/{folders / 'bert'}", "embed": f"local/{folders / 'encoder'}"}


def values(folder: Path) -> list[str]:
    return sorted(line for file in (folder / "judgments").glob("*.jsonl") for line in file.read_text().splitlines())


def test_a_run_is_signed_by_the_weights_and_keeps_its_results(folders: Path, tmp_path: Path) -> None:
    run = evaluate(ROWS, [Entailed()], models=models(folders), out=tmp_path / "run")
    (judge,) = run.manifest.judges
    assert run.manifest.counts == {"ok": 6}
    assert f"nli:{judge.models['nli']}|embed:{judge.models['embed']}|" in judge.signature
    assert judge.models["nli"].startswith("local/bert@")
    assert "|t:0" not in judge.signature, "nothing is sampled"
    assert str(folders) not in (tmp_path / "run" / "run.json").read_text()
    used = run.manifest.local[judge.models["nli"]]
    assert (used.asked, used.computed, used.truncated) == (6, 6, 0)
    with ResultStore(tmp_path / "run" / RESULTS) as store:
        # 6 pairs, 9 different texts counted (3 documents, 6 summaries), and the limit
        assert store.counts()[judge.models["nli"]] == 6 + 9 + 1
        assert store.counts()[judge.models["embed"]] == 9


def test_a_run_is_replayed_without_the_model_and_gives_the_same_bytes(folders: Path, tmp_path: Path) -> None:
    for name in ("bert", "encoder"):
        shutil.copytree(folders / name, tmp_path / "m" / name)
    bound = models(tmp_path / "m")
    evaluate(ROWS, [Entailed()], models=bound, out=tmp_path / "run")
    shutil.rmtree(tmp_path / "m")
    with pytest.raises(UsageError, match="does not exist"):
        evaluate(ROWS, [Entailed()], models=bound, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()
    evaluate(ROWS, [Entailed()], models=bound, out=tmp_path / "again", replay=tmp_path / "run")
    assert values(tmp_path / "again") == values(tmp_path / "run")
    evaluate(ROWS, [Entailed()], models=bound, out=tmp_path / "third", replay=tmp_path / "again")
    assert values(tmp_path / "third") == values(tmp_path / "run")
    other = [{**ROWS[0], "summary": "never seen"}]
    with pytest.raises(ReplayMiss, match="does not contain this result"):
        evaluate(other, [Entailed()], models=bound, out=tmp_path / "miss", replay=tmp_path / "run")


def test_a_run_that_is_carried_on_computes_the_rest_only(folders: Path, tmp_path: Path) -> None:
    evaluate(ROWS, [Entailed()], models=models(folders), out=tmp_path / "run", limit=1)
    run = evaluate(ROWS, [Entailed()], models=models(folders), out=tmp_path / "run")
    used = run.manifest.local[run.manifest.judges[0].models["nli"]]
    assert (used.asked, used.computed) == (6, 6)


def test_other_weights_are_another_judge(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "bert", tmp_path / "bert")
    config = json.loads((tmp_path / "bert" / "config.json").read_text())
    (tmp_path / "bert" / "config.json").write_text(json.dumps({**config, "note": "retrained"}))
    bound = models(folders)
    run = evaluate(ROWS, [Entailed()], models=bound, out=tmp_path / "run")
    again = evaluate(ROWS, [Entailed()], models={**bound, "nli": str(tmp_path / "bert")}, out=tmp_path / "run")
    assert len(run.manifest.judges) == 1
    assert len({judge.signature for judge in again.manifest.judges}) == 2


def test_a_dry_run_counts_each_pair_once_and_none_that_is_stored(folders: Path, tmp_path: Path) -> None:
    (row,) = dry_run(ROWS, [Entailed()], models=models(folders), out=tmp_path / "run")
    assert row.calls == 0
    assert sorted((row.local or {}).values()) == [6, 9]
    evaluate(ROWS, [Entailed()], models=models(folders), out=tmp_path / "run", limit=1)
    (row,) = dry_run(ROWS, [Entailed()], models=models(folders), out=tmp_path / "run")
    assert sorted((row.local or {}).values()) == [4, 6]
    (row,) = dry_run(ROWS, [Entailed()], models={**models(folders), "nli": "hf/nobody/has-this"})
    assert (row.local or {})["hf/nobody/has-this"] == 6


def test_a_role_without_a_model_says_how_to_bind_one(folders: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'nli': 'local/FOLDER'\} or models=\{'nli': 'hf/ORG/NAME@REVISION'\}"):
        evaluate(ROWS, [Entailed()], models={}, out=tmp_path / "run")
    with pytest.raises(UsageError, match="needs a local model"):
        evaluate(ROWS, [Entailed()], models={**models(folders), "nli": "openai/gpt-4o"}, out=tmp_path / "run")


class TwoWriters(Evaluator):
    """The difference of the summary's log-likelihoods in two networks."""

    name: ClassVar[str] = "two_writers"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "two networks of one kind"
    aspects: ClassVar[tuple[str, ...]] = ("fluency",)
    value_range: ClassVar[tuple[float, float] | None] = None
    roles: ClassVar[Mapping[str, Role]] = {"asks": Role("seq2seq"), "answers": Role("seq2seq")}

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        request = ScoreTarget(item.document.text, item.summary.text)
        ((asks,), (answers,)) = [await tools.network(role).ask([request]) for role in self.roles]
        return [JudgmentBuilder(self, item, tools.signature).ok("fluency", value=asks, reason=str(answers))]


class OtherKind(Entailed):
    """An evaluator whose role `answers` is an NLI model."""

    name: ClassVar[str] = "other_kind"
    roles: ClassVar[Mapping[str, Role]] = {"answers": Role("classifier")}


def test_two_networks_of_a_kind_serve_one_evaluator(folders: Path, tmp_path: Path) -> None:
    bound = {"asks": f"local/{folders / 't5'}", "answers": f"local/{folders / 'bart'}"}
    run = evaluate(ROWS, [TwoWriters()], models=bound, out=tmp_path / "run")
    assert run.manifest.counts == {"ok": 6}
    (judge,) = run.manifest.judges
    assert judge.models["asks"].startswith("local/t5@")
    assert judge.models["answers"].startswith("local/bart@")
    assert all(float(row.reason or 0) != row.value for row in run.judgments())
    swapped = evaluate(ROWS, [TwoWriters()], models=dict(zip(bound, reversed(bound.values()), strict=True)))
    pairs = zip(run.judgments(), swapped.judgments(), strict=True)
    assert all(row.value == float(other.reason or 0) for row, other in pairs)
    (counted,) = dry_run(ROWS, [TwoWriters()], models=bound)
    assert sorted((counted.local or {}).values()) == [6, 6]


def test_a_role_has_one_task_in_a_run(folders: Path) -> None:
    bound = {"asks": f"local/{folders / 't5'}", "answers": f"local/{folders / 'bart'}"}
    with pytest.raises(UsageError, match="a classifier model for other_kind, but a seq2seq"):
        evaluate(ROWS, [TwoWriters(), OtherKind()], models=bound)
