"""The signatures of all evaluators, by which runs are resumed and compared.

A signature may change only with the judge's questions or its use of the answers; its version or its prompt then changes
too. State the reason for a change of `signatures.json` in the changelog.
"""

from __future__ import annotations

import json
from pathlib import Path

from together import together

from summeter.evaluators.catalog import CATALOG, build

SIGNATURES: dict[str, list[str]] = json.loads((Path(__file__).parent / "signatures.json").read_text("utf-8"))


@together("spec", SIGNATURES)
def test_a_signature_stays_what_it_was(spec: str) -> None:
    found = [
        part.sign(dict.fromkeys(part.required_roles, "p/m"), "rules-1", {"t": 0}) for part in build(spec).components()
    ]
    assert found == SIGNATURES[spec]


def test_every_evaluator_of_the_catalog_is_pinned() -> None:
    assert set(SIGNATURES) >= set(CATALOG)
