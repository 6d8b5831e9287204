"""Requests and their keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from models.server import asked

from summeter.models.base import Message, Request
from summeter.records import canonical, digest

TEXTS = st.text(st.characters(codec=None), max_size=30)
TURNS = st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=TEXTS)
VALUES = st.integers() | st.floats(-1, 1) | st.none()
REQUESTS = st.builds(
    Request,
    model=st.text(max_size=8) | st.just('"messages":null'),
    messages=st.lists(TURNS, max_size=3).map(tuple),
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.none() | st.integers(1, 9),
    seed=st.none() | st.integers(0, 9),
    format=st.sampled_from(["json_schema", "json_object", "text"]),
    schema_name=st.none() | st.text(max_size=4) | st.just('"messages":null'),
    schema_=st.none() | st.dictionaries(TEXTS | st.just("messages"), VALUES, max_size=3),
    draw=st.integers(0, 3),
    top_logprobs=st.none() | st.integers(1, 20),
)  # fmt: skip


@given(REQUESTS)
def test_the_key_is_the_hash_of_the_canonical_json(request_: Request) -> None:
    # A later field is omitted if it is None, so that the keys of earlier calls do not change.
    later = {"top_logprobs", "extra_body"}
    fields = {name: value for name, value in request_.model_dump().items() if name not in later or value is not None}
    assert request_.canonical == canonical(fields)
    assert request_.key == digest(fields)


BASE = asked()


def test_a_changed_copy_has_a_key_of_its_own() -> None:
    assert BASE.model_copy().key == BASE.key
    for deep in (False, True):
        changed = BASE.model_copy(update={"draw": 1}, deep=deep)
        assert (changed.key != BASE.key, changed.canonical != BASE.canonical) == (True, True)


def test_the_key_is_pinned() -> None:
    # printf '%s' '{"draw":0,...}' | sha256sum of the canonical text below.
    assert BASE.canonical == (
        '{"draw":0,"format":"text","max_tokens":null,"messages":[{"content":"hello","role":"user"}],"model":"m",'
        '"schema_":null,"schema_name":null,"seed":null,"temperature":0.0}'
    )
    assert BASE.key[:16] == "bc7fa79303868084"
