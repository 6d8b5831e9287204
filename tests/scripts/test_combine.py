"""The answers of the network that the combination is fitted on."""

from __future__ import annotations

import importlib
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


def test_an_answer_is_kept_for_what_the_network_read(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "It rained. Staff fell."
    claims = [
        script.Claim("written.copy", text, ((0, 10), (11, 22)), claim, True, "a", claim)
        for claim in ("It rained.", "Staff fell.")
    ]
    nli, file = table_nli(), tmp_path / "answers"
    first = script.answers(claims, nli, file)
    assert len(nli.texts) == 2
    assert script.answers(claims, nli, file).tolist() == first.tolist()
    assert len(nli.texts) == 2
    # Another way to choose what it reads: it is asked anew.
    monkeypatch.setattr(script, "premise", lambda *_: "Staff fell.")
    script.answers(claims, nli, file)
    assert nli.texts[2:] == [("Staff fell.", "It rained."), ("Staff fell.", "Staff fell.")]
