"""Network outputs for fitting the combination."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import pytest
from evaluators.networks import table_nli

pytest.importorskip("scipy", reason="needs scipy")


@pytest.fixture(scope="module")
def script(root: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "scripts" / "network")
        yield importlib.import_module("combine")


def test_outputs_are_stored_by_network_input(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "in_doubt", lambda log_odds: True)
    text = "It rained. Staff fell."
    claims = [script.Claim("facts", text, claim, True, "a", claim) for claim in ("It rained.", "Staff fell.")]
    network, kept = table_nli(), {}
    first = script.asked(claims, "source", network, kept)
    assert len(network.texts) == 2
    assert script.asked(claims, "source", network, kept).tolist() == first.tolist()
    assert len(network.texts) == 2
    # Another way to choose what it reads: it is asked anew.
    monkeypatch.setattr(script, "premise", lambda *_: "Staff fell.")
    script.asked(claims, "source", network, kept)
    assert network.texts[2:] == [("Staff fell.", "It rained."), ("Staff fell.", "Staff fell.")]


def test_the_network_is_not_run_if_the_words_are_decisive(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "in_doubt", lambda log_odds: False)
    network = table_nli()
    ((words, answer),) = script.asked(
        [script.Claim("facts", "It rained.", "It rained.", True, "a", "b")], "source", network, {}
    )
    assert network.texts == []
    assert words > 0
    assert math.isnan(answer)
