"""Removal of bounds from schemas, for providers that refuse them."""

from __future__ import annotations

from summeter.models.base import Message, Request
from summeter.models.providers.payload import without_bounds
from summeter.models.resolve import resolve

SCHEMA = {
    "type": "object",
    "properties": {
        "minItems": {"$ref": "#/$defs/maximum"},
        "list": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": 5},
            "minItems": 1,
            "maxItems": 9,
        },
        "or": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
    },
    "required": ["minItems", "list", "or"],
    "additionalProperties": False,
    "$defs": {"maximum": {"type": "string", "maxLength": 300, "enum": ["maxLength"]}},
}
BARE = {
    "type": "object",
    "properties": {
        "minItems": {"$ref": "#/$defs/maximum"},
        "list": {"type": "array", "items": {"type": "integer"}},
        "or": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["minItems", "list", "or"],
    "additionalProperties": False,
    "$defs": {"maximum": {"type": "string", "enum": ["maxLength"]}},
}


def test_bounds_go_and_names_stay() -> None:
    assert without_bounds(SCHEMA) == BARE
    assert list(without_bounds(SCHEMA)) == list(SCHEMA)  # the order of a reply


def test_anthropic_is_sent_none_and_the_request_keeps_them() -> None:
    llm = resolve("anthropic/claude", environ={"ANTHROPIC_API_KEY": "k" * 20})
    turn = Message(role="user", content="?")
    request = Request(model=llm.id, messages=(turn,), format="json_schema", schema_name="x", schema_=SCHEMA)
    assert llm.payload(request)["output_config"]["format"]["schema"] == BARE  # type: ignore[attr-defined]
    assert request.schema_ == SCHEMA
