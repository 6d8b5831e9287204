"""Whole runs of fenice with a rule-based LLM and a rule-based network."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from evaluators.networks import word_classifier

from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.models.local import load
from summeter.records import UsageError

ROW = {
    "doc_id": "d", "system": "s", "document": "Ada Holm sold the old mill. She bought a red boat in May.",
    "summary": "Ada sold the mill and bought a boat. She lives in Rome.",
}  # fmt: skip
CLAIMS = ["Ada sold the mill.", "Ada bought a boat.", "Ada lives in Rome."]


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network from another package: entailment is the share of the claim's words found in the passage."""
    point = SimpleNamespace(name="words", load=lambda: lambda rest, task: word_classifier())
    monkeypatch.setattr(load, "entry_points", lambda group: [point])


def run(tmp_path: Path, *rules: dict[str, Any], name: str = "run", **options: Any) -> Run:
    file = tmp_path / "rules.jsonl"
    file.write_text("".join(json.dumps(rule) + "\n" for rule in rules), "utf-8")
    models = {"nli": "words/nli", "extractor": f"scripted/{file}"}
    return evaluate([ROW], ["fenice[claims=llm]"], models=models, out=tmp_path / name, **options)


def test_claims_of_an_llm_are_judged_stored_and_replayed(tmp_path: Path) -> None:
    made = run(tmp_path, {"match": str(ROW["summary"]), "reply": {"claims": CLAIMS}})
    found = sorted(made.judgments(), key=lambda one: one.target.index or 0)
    assert [one.claim.text for one in found if one.claim] == CLAIMS
    first, second = "Ada sold the mill and bought a boat.", "She lives in Rome."
    spans = [one.claim.span.cut(str(ROW["summary"])) for one in found if one.claim and one.claim.span]
    assert spans == [first, first, second]
    # Shares of words: all 4 of the first claim in sentence 1; 3 of the second (ada, bought, a, boat) in sentence 2,
    # below the gate of .8, and all in the document; 2 of the third (ada, lives, in, rome) in the document.
    assert [one.value for one in found] == [1.0, 1.0, 0.5]
    assert [one.reason.partition(":")[0] for one in found if one.reason] == [
        '"Ada sold the mill." is supported by sentence 1 (of 2)',
        '"Ada bought a boat." is supported by the whole document',
        '"Ada lives in Rome." is supported by the whole document',
    ]
    (judge,) = made.manifest.judges
    assert "claims:llm" in judge.signature
    assert "extractor:scripted/" in judge.signature
    assert "prompt:" in judge.signature
    (call,) = {call for one in found for call in one.calls}  # one call per summary, referenced by each of its judgments
    assert call
    (score,) = made.scores()
    assert (score.value, score.n, score.missing) == (pytest.approx(2.5 / 3), 3, 0)
    again = run(tmp_path, {"reply": "never asked"}, name="again", replay=made.folder)
    assert {one.line for one in again.judgments()} == {one.line for one in found}
    # A replay reads stored results, so it does not measure the duration.
    assert (len(made.manifest.compute), len(again.manifest.compute)) == (1, 0)


def test_an_unusable_reply_is_repaired(tmp_path: Path) -> None:
    made = run(tmp_path, {"reply": "Ada sold the mill!", "times": 1}, {"reply": {"claims": CLAIMS[:1]}})
    (found,) = made.judgments()
    assert found.claim is not None
    assert (found.claim.text, found.value, len(found.calls)) == (CLAIMS[0], 1.0, 2)


def test_missing_models_are_named_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate([ROW], ["fenice[coref=true]"], out=tmp_path / "run")
    message = str(caught.value)
    for role in ("nli", "coref", "seq2seq"):
        assert f"models={{'{role}': 'local/FOLDER'}}" in message
    assert "fenice[coref=llm]" in message
    assert "hf/Babelscape/t5-base-summarization-claim-extractor" in message
    assert "examples/train_claims.py" in message
    assert "fenice[claims=sentence]" in message
    assert not (tmp_path / "run").exists()
