"""Spending of runs: counts per model and judge, budgets, dry runs; and repeats."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from engine.judges import rows
from engine.llm import MODEL, behave
from engine.test_run import files
from models.server import Call, Reply, StubServer, fail, json_reply, ok

from summeter.cli.spending import run_lines
from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.runs import Run
from summeter.engine.spending import spent_before
from summeter.meta._reliability import repeated, self_consistency
from summeter.models.base import Completion, Message, Request
from summeter.models.prices import Prices
from summeter.models.tokens import expected, tokens
from summeter.records import BudgetError, CapabilityError, UsageError
from summeter.runs.calls import CallStore
from summeter.runs.run import CALLS

# A stub reply says 11 tokens in and 7 out: 11 * 100 + 7 * 200 = 2,500 millionths of a dollar.
EACH = 0.0025


@pytest.fixture
def prices(tmp_path: Path) -> str:
    file = tmp_path / "prices.yaml"
    file.write_text("date: 2026-01-02\nmodels:\n  openai-api/stub/*: {input: 100, output: 200}\n")
    return str(file)


def run_on(server: StubServer, out: Path, **options: Any) -> Run:
    return evaluate(rows(4), ["finesure"], models=MODEL, out=out, base_url=server.url, **options)


class TestAccounts:
    def test_by_model_and_by_judge(self, tmp_path: Path, prices: str) -> None:
        with StubServer(lambda call: fail(500) if call.number == 3 else behave(call)) as server:
            manifest = run_on(server, tmp_path / "run", prices=prices).manifest
        # 4 extractions, 8 fact checks, 8 alignments, and one call tried twice.
        used = manifest.usage[MODEL]
        assert (used.calls, used.tokens_in, used.tokens_out, used.retries) == (20, 220, 140, 1)
        assert used.cost == pytest.approx(20 * EACH)
        assert (used.priced, used.reason) == ("2026-01-02", None)
        by_judge = {judge.name: manifest.judge_usage[judge.signature] for judge in manifest.judges}
        assert {name: (one.calls, one.items) for name, one in by_judge.items()} == {
            "finesure.fact_check": (8, 8), "finesure.align": (12, 8),
        }  # fmt: skip
        assert by_judge["finesure.align"].cost == pytest.approx(12 * EACH)

    def test_an_unknown_price_is_no_zero(self, tmp_path: Path) -> None:
        with StubServer(behave) as server:
            used = run_on(server, tmp_path / "run").manifest.usage[MODEL]
        assert used.cost is None
        assert used.reason == f"no price for {MODEL}; add it with prices=FILE"

    def test_a_replay_says_what_was_recorded(self, tmp_path: Path, prices: str) -> None:
        with StubServer(behave) as server:
            run = run_on(server, tmp_path / "run", prices=prices)
        again = evaluate(rows(4), run.specs, models=MODEL, replay=run.folder, out=tmp_path / "again", prices=prices)
        assert again.manifest.usage == run.manifest.usage


class TestBudget:
    def test_it_stops_resumably_and_the_end_is_the_same(self, tmp_path: Path, prices: str) -> None:
        with StubServer(behave) as server:
            whole = run_on(server, tmp_path / "whole", prices=prices)
            server.calls.clear()
            out, limit = tmp_path / "run", 0.0
            for _ in range(60):
                limit += 0.006
                with suppress(BudgetError):
                    run_on(server, out, prices=prices, max_cost=limit)
                found = Run(out).manifest
                if found.status == "complete":
                    break
                assert (found.status, found.stopped) == ("interrupted", "budget")
                assert (found.usage[MODEL].cost if found.usage else 0.0) <= limit + 1e-9
                assert not list(Run(out).failures())
            # Every call was made once, over all the sittings.
            asked = [json.dumps(call.body["messages"]) for call in server.calls]
        assert len(asked) == len(set(asked)) == 20
        assert files(out) == files(whole.folder)
        assert (found.status, found.stopped) == ("complete", None)

    def test_a_cascade_over_many_sittings_and_replayed(self, tmp_path: Path, prices: str) -> None:
        judge = "cascade[first=support,then=finesure.fact_check,share=.5,sample=3]"
        options: dict[str, Any] = {"models": MODEL, "prices": prices}
        with StubServer(behave) as server:
            whole = evaluate(rows(4), [judge], out=tmp_path / "whole", base_url=server.url, **options)
            calls = len(server.calls)
            assert 4 <= calls <= 7  # of 8 summaries: half, and a sample of 3
            server.calls.clear()
            stopped, limit = 0, 0.0
            while not stopped or Run(tmp_path / "run").manifest.status != "complete":
                limit += 0.008
                assert limit < 0.2
                with suppress(BudgetError):
                    evaluate(rows(4), [judge], out=tmp_path / "run", base_url=server.url, max_cost=limit, **options)
                    break
                stopped += 1
            assert stopped > 2
            assert len({json.dumps(call.body["messages"]) for call in server.calls}) == len(server.calls) == calls
        assert files(tmp_path / "run") == files(whole.folder)
        again = evaluate(rows(4), whole.specs, replay=whole.folder, out=tmp_path / "again", **options)
        assert files(again.folder) == files(whole.folder)

    def test_judges_that_join_a_run_by_source_share_its_budget(self, tmp_path: Path, prices: str) -> None:
        sources = [{"id": name, "text": f"It rained on {name}."} for name in ("Monday", "Tuesday")]
        data = [{"doc_id": f"d{at}", "document": sources, "summary": f"Rain {at}."} for at in range(60)]

        def joined(judge: str, limit: float) -> float:
            """Return the cost of the calls of both runs."""
            with suppress(BudgetError):
                evaluate(data, [judge], models=MODEL, out=tmp_path / "run", base_url=server.url, prices=prices,
                         by_source=True, max_cost=limit)  # fmt: skip
            return len(server.calls) * EACH

        with StubServer(lambda _: ok('{"reason": "so", "score": 3}')) as server:
            first = joined("rts", 1.0)
            assert first == pytest.approx(180 * EACH)  # 60 summaries, and each with each of 2 sources
            # A session reserves about 30 times the cost of a call for its first call.
            assert first + 30 * EACH < joined("rts[aspect=fluency]", first + 50 * EACH) <= first + 50 * EACH + 1e-9

    def test_tokens(self, tmp_path: Path) -> None:
        with StubServer(behave) as server, pytest.raises(BudgetError, match=r"of 60 tokens.* to resume") as caught:
            run_on(server, tmp_path / "run", max_tokens=60)
        assert caught.value.exit_code == 130
        assert len(server.calls) <= 3

    def test_unreported_tokens_of_earlier_sessions_count_as_in_the_session(self, tmp_path: Path, prices: str) -> None:
        """A command that is given again and again must not spend the budget anew each time."""

        def without_tokens(call: Call) -> Reply:
            body = json.loads(behave(call).content)
            return json_reply({name: part for name, part in body.items() if name != "usage"})

        options: dict[str, Any] = {"max_tokens": 2_000, "max_cost": 100.0, "prices": prices}
        with StubServer(without_tokens) as server:
            calls, spent = [], []
            for _ in range(3):
                with pytest.raises(BudgetError, match="of 2,000 tokens") as caught:
                    run_on(server, tmp_path / "run", **options)
                calls.append(len(server.calls))
                spent.append(int(str(caught.value).split(" and ")[1].split(" of ")[0].replace(",", "")))
        assert calls == [2, 2, 2]
        # The codes of fences, which a stored request has not, have a few tokens more or less.
        assert spent == pytest.approx(spent[:1] * 3, rel=0.02)

    def test_unreported_tokens_are_estimated_by_the_mean_of_reported_ones(self, tmp_path: Path) -> None:
        with CallStore() as store:
            request = Request(model="m", messages=(Message(role="user", content="It rained \ud800 all day."),))
            thought = expected(request)
            assert thought.tokens_out == 200
            for draw, told in enumerate(({}, {"tokens_in": 9, "tokens_out": 70}, {"tokens_in": 9}, {"tokens_out": 30})):
                call = request.model_copy(update={"draw": draw})
                store.put(call.key, call.canonical, Completion(text="x", **told).model_dump_json(), "m")
            spent = spent_before([store], Prices({}))
        assert spent.total_tokens == (thought.tokens_in + 200) + (9 + 70) + (9 + 70) + (thought.tokens_in + 30)

    def test_prompts_that_the_server_cut_count_in_all_sessions(self, tmp_path: Path, prices: str) -> None:
        """It answered, and bills it, though the reply cannot be used."""

        def cut(call: Call) -> Reply:
            body = json.loads(ok('{"score": 3}').content)
            return json_reply(body | {"usage": {"prompt_tokens": 1024, "completion_tokens": 7}})

        each = 1024 * 100e-6 + 7 * 200e-6
        data = [{"document": f"It rained on day {n}. " * 600, "summary": "It rained."} for n in range(9)]
        with StubServer(cut) as server:
            for _ in range(3):
                with suppress(BudgetError):
                    evaluate(data, ["rts"], models=MODEL, out=tmp_path / "run", base_url=server.url, prices=prices,
                             max_cost=6.5 * each, concurrency=1)  # fmt: skip
            calls = len(server.calls)
        used = Run(tmp_path / "run").manifest.usage[MODEL]
        assert 1 <= calls <= 6
        assert (used.calls, used.failures, used.tokens_in, used.tokens_out) == (0, calls, 1024 * calls, 7 * calls)
        assert used.cost == pytest.approx(calls * each)

    def test_replies_without_the_logprobs_count(self, tmp_path: Path, prices: str) -> None:
        def behave(call: Call) -> Reply:
            return ok('{"score": 3}' if "logprobs" in call.body else '{"steps": ["Read both."]}')

        with StubServer(behave) as server:
            for sessions in (1, 2):
                with pytest.raises(CapabilityError, match="without log-probabilities"):
                    evaluate(rows(1)[:1], ["geval[logprob]"], models=MODEL, out=tmp_path / "run", base_url=server.url,
                             prices=prices)  # fmt: skip
                used = Run(tmp_path / "run").manifest.usage[MODEL]
                assert (used.calls, used.failures, len(server.calls)) == (1, sessions, 1 + sessions)
                assert used.cost == pytest.approx((1 + sessions) * EACH)

    def test_a_killed_session_whose_model_gave_nothing_usable_counts(self, tmp_path: Path, prices: str) -> None:
        (tmp_path / "run").mkdir()
        with CallStore(tmp_path / "run" / CALLS) as store:
            store.turn_away("k", "{}", '{"text":"","tokens_in":9,"tokens_out":7}', "openai-api/stub/before")
        with StubServer(behave) as server:
            usage = run_on(server, tmp_path / "run", prices=prices).manifest.usage
        assert usage[MODEL].calls == len(server.calls)
        before = usage["openai-api/stub/before"]
        assert (before.calls, before.tokens_in, before.tokens_out) == (0, 9, 7)

    def test_money_needs_a_price(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"max_cost needs all prices: no price .* prices=FILE, or set max_tokens"):
            evaluate(rows(1), ["stareval"], models=MODEL, out=tmp_path / "run", max_cost=1.0)
        assert not (tmp_path / "run").exists()


class TestDryRun:
    def test_it_foresees_calls_and_money(self, tmp_path: Path, prices: str) -> None:
        with StubServer(behave) as server:
            found = dry_run(rows(4), ["finesure"], models=MODEL, base_url=server.url, prices=prices)
            assert server.calls == []
        assert {row.judge: row.calls for row in found} == {"finesure.fact_check": 8, "finesure.align": 12}
        for row in found:
            assert row.cost == pytest.approx((row.tokens_in * 100 + row.tokens_out * 200) / 1e6)

    def test_a_call_two_evaluators_share_counts_once(self) -> None:
        found = dry_run(rows(4), ["finesure.key_facts", "finesure.align"], models=MODEL)
        assert {row.judge: row.calls for row in found} == {"finesure.key_facts": 4, "finesure.align": 8}

    def test_stored_replies_are_those_that_later_calls_rest_on(self, tmp_path: Path) -> None:
        with StubServer(behave) as server:
            options: dict[str, Any] = {"models": MODEL, "base_url": server.url, "out": tmp_path / "run"}
            evaluate(rows(4), ["finesure.key_facts"], **options)
            (row,) = dry_run(rows(4), ["finesure.align"], **options)
            server.calls.clear()
            evaluate(rows(4), ["finesure.align"], **options)
            sent = sum(tokens(turn["content"]) for call in server.calls for turn in call.body["messages"])
        # Only the codes of the fences differ; made-up key facts would be longer.
        assert (row.calls, row.tokens_in) == (8, pytest.approx(sent, rel=0.05))

    def test_prompts_that_begin_alike(self) -> None:
        data = [{"doc_id": "d", "system": s, "document": "It rained. " * 800, "summary": f"Rain {s}."} for s in "abc"]
        (row,) = dry_run(data, ["finesure.fact_check"], models=MODEL)
        # 800 sentences of 3 tokens stand in three prompts, and can come from a cache in two of them.
        assert 0.5 < row.tokens_shared / row.tokens_in < 0.67


class TestRepeats:
    def test_each_is_a_sample_of_its_own(self, tmp_path: Path) -> None:
        turn: dict[str, int] = {}

        def moody(call: Call) -> Reply:
            turn[call.prompt] = turn.get(call.prompt, 0) + 1
            return ok(json.dumps({"stars": turn[call.prompt]}))

        with StubServer(moody) as server:
            run = evaluate(rows(3), ["stareval", "support"], models=MODEL, out=tmp_path / "run", base_url=server.url,
                           repeats=3)  # fmt: skip
            assert len(server.calls) == 3 * 6
            again = evaluate(rows(3), ["stareval", "support"], models=MODEL, out=run.folder, base_url=server.url,
                             repeats=3)  # fmt: skip
            assert len(server.calls) == 3 * 6
        signatures = [judge.signature for judge in again.manifest.judges]
        assert sum("|rep:" in one for one in signatures) == 3  # and support, which asks no model, once
        assert len(signatures) == 4
        assert len({repeated(one) for one in signatures}) == 2
        names = [line.partition(":")[0].strip() for line in run_lines(again) if "tokens per item" in line]
        assert names == [f"stareval (repeat {number})" for number in (1, 2, 3)]
        values = {score.value for score in run.scores() if score.judge == "stareval"}
        assert values == {1.0, 2.0, 3.0}

    def test_one_run_without_repeats_is_told_how(self, tmp_path: Path) -> None:
        run = evaluate(rows(2), ["support"], out=tmp_path / "run")
        with pytest.raises(UsageError, match="a run with repeats"):
            self_consistency([run])


def test_an_item_that_takes_too_long_is_an_error_and_the_others_go_on(tmp_path: Path) -> None:
    with StubServer(lambda call: Reply(hang=True) if "danced" in call.prompt else ok('{"stars": 3}')) as server:
        run = evaluate(rows(3), ["stareval"], models=MODEL, out=tmp_path / "run", base_url=server.url,
                       item_timeout=2.0)  # fmt: skip
    assert run.manifest.counts == {"ok": 3, "error": 3}
    assert {failure.reason for failure in run.failures()} == {
        "exceeded the timeout of 2 s per item, including calls and retries"
    }
