"""Every schema that an evaluator sends uses only keywords that all servers enforce (design/schemas.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from summeter.engine.dry import Sent, dry_run
from summeter.evaluators.catalog import CATALOG, build
from summeter.models.base import Request
from summeter.runs.usage import Usage

TEXT = "The bridge opened in 1998. It is 14 metres wide. Ms. Ode, who built it, lives in the U.S. now."
SUMMARY = "The bridge is 14 metres wide. Ms. Ode built it."
ROWS = [
    {
        "doc_id": "d",
        "system": "a",
        "document": TEXT,
        "summary": SUMMARY,
        "reference": SUMMARY,
        "human": {"sentence_labels": [1, 0]},
    },
    {"doc_id": "d", "system": "b", "document": TEXT, "summary": "Ms. Ode built a bridge.", "reference": SUMMARY},
    {
        "doc_id": "e",
        "system": "a",
        "document": SUMMARY,
        "summary": TEXT,
        "key_facts": ["It opened in 1998.", "It is wide."],
    },
    {
        "doc_id": "e",
        "system": "b",
        "document": SUMMARY,
        "summary": "Wide.",
        "key_facts": ["It opened in 1998.", "It is wide."],
    },
]

ASKING = [name for name in CATALOG if any(part.asks_llm for part in build(name).components())]
SET = [  # settings with another schema
    *(f"finesure.fact_check[strategy={one}]" for one in ("basic", "instruction", "categorization", "evidence")),
    "finesure.fact_check[taxonomy=unisumeval]", "finesure.key_facts[validators=2]", "geval[key_facts=document]",
]  # fmt: skip
KNOWN = {
    "type", "properties", "required", "additionalProperties", "enum", "items", "minItems", "maxItems", "minLength",
    "maxLength", "minimum", "maximum", "anyOf", "$defs", "$ref", "title", "description",
}  # fmt: skip
LONGEST, MOST = 2000, 100


def breaches(schema: dict[str, Any], at: str = "$") -> Iterator[str]:
    """Return the parts of a schema that some server would reject or ignore."""
    if unknown := sorted(set(schema) - KNOWN):
        yield f"{at}: {', '.join(unknown)}"
    if "$ref" in schema:
        if len(schema) > 1:
            yield f"{at}: something beside $ref"
        return
    if not schema.keys() & {"type", "enum", "anyOf"}:
        yield f"{at}: anything at all is allowed"
    for name, inner in schema.get("$defs", {}).items():
        yield from breaches(inner, f"{at}.$defs.{name}")
    for place, inner in enumerate(schema.get("anyOf", [])):
        yield from breaches(inner, f"{at}.anyOf[{place}]")
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        yield from _breaches(schema, kind, at)


def _breaches(schema: dict[str, Any], kind: str, at: str) -> Iterator[str]:
    if kind == "object":
        names = list(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or schema.get("required") != names:
            yield f"{at}: an object that is open, or with properties that may be absent"
        if len(names) > MOST:
            yield f"{at}: {len(names)} properties"
        for name in names:
            yield from breaches(schema["properties"][name], f"{at}.{name}")
    elif kind == "array":
        if not 0 <= schema.get("maxItems", -1) <= MOST:
            yield f"{at}: an array without maxItems up to {MOST}"
        yield from breaches(schema.get("items", {}), f"{at}[]")
    elif kind == "string" and "enum" not in schema:
        if not 0 < schema.get("maxLength", 0) <= LONGEST:
            yield f"{at}: a free string without maxLength up to {LONGEST}"
    elif kind == "number":
        yield f"{at}: a number, whose bounds are not kept; take an enum of integers"


PLAIN = {"faithlens", "granite_guardian"}
"""Trained checkers, which reply in the form of their training and are asked for no other."""


@pytest.mark.parametrize("spec", [*ASKING, *SET])
def test_schemas_use_what_every_server_enforces(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: dict[str, dict[str, Any]] = {}
    note = Sent.call

    def keep(self: Sent, model: str, request: Request, reply: str, tally: Usage) -> None:
        if request.schema_ is not None:
            sent[request.schema_name or ""] = request.schema_
        note(self, model, request, reply, tally)

    monkeypatch.setattr(Sent, "call", keep)
    roles = {role for part in build(spec).components() for role in part.required_roles}
    dry_run(ROWS, [spec], models=dict.fromkeys(roles, "scripted/none.jsonl"))
    assert bool(sent) is (spec not in PLAIN)
    assert {form: found for form, schema in sent.items() if (found := list(breaches(schema)))} == {}
