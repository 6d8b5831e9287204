"""The released parsers: their measured results, and how strict parsing differs."""

from __future__ import annotations

import pytest
from evaluators.judging import item
from hypothesis import given
from hypothesis import strategies as st
from together import together

from summeter.evaluators.finesure.align import Align
from summeter.evaluators.finesure.fact_check import FactCheck
from summeter.evaluators.finesure.legacy import parse_alignment, parse_fact_check

NONE = "no error"
OTHER = "other error"
UNESCAPED = (
    '[{"reason": "a "quote" it is", "category": "no error"}, '
    '{"reason": "this is a predicate error", "category": "predicate error"}]'
)


@together("output, labels, types", [
        # Nothing to parse: one faithful sentence.
        ("", [0], [NONE]),
        ("I'm sorry, but I can't assist with that.", [0], [NONE]),
        # Truncated inside the list: no closing bracket, an empty slice.
        ('[{"sentence": "a", "reason": "b", "category": "entity error"}, {"sen', [0], [NONE]),
        # The first closing bracket of the text ends the list: inside a reason ...
        ('[{"sentence": "a", "reason": "see [1]", "category": "no error"}, {"category": "entity error"}]', [0], [NONE]),
        # ... or in text before it.
        ('Here [see]: [{"sentence": "a", "reason": "b", "category": "entity error"}]', [0], [NONE]),
        # JSON's constants are not Python's: N + 1 chunks.
        ('[{"reason": null, "category": "no error"}, {"reason": true, "category": "no error"}]', [0, 0, 0], [NONE] * 3),
        # One unescaped quote. Chunks: before the first "category"; the first category with the second reason, which
        # names an error; the second category.
        (
            UNESCAPED,
            [0, 1, 1], [NONE, OTHER, OTHER],
        ),
        # Only case is normalised.
        ('[{"category": " no error "}, {"category": "No Error."}, {"category": "fine"}, {"category": "NO ERROR"}]',
         [1, 1, 1, 0], [" no error ", "No Error.", "fine", "NO ERROR"]),
        ('[{"category": "entity error"}, {"category": "no\\nerror"}]', [1, 1], ["entity error", "noerror"]),
        ('{"results": [{"category": "no error"}, {"category": "linking error"}]}', [0, 1], [NONE, "linking error"]),
        # Fewer or more entries than sentences: accepted.
        ('[{"category": "no error"}]', [0], [NONE]),
        ('[{"category": "no error"}, {"category": "no error"}, {"category": "no error"}, {"category": "no error"}]',
         [0] * 4, [NONE] * 4),
        # A capitalised key: KeyError, and the fallback cannot split a list. Failure, as for the empty list.
        ('[{"Category": "no error"}]', [], []),
        ("[]", [], []),
        ('["no error"]', [], []),
        # No list: only the first object.
        ('{"category": "entity error"} {"category": "no error"}', [1], ["entity error"]),
        ('{"Category": "no error"}', [], []),
        # Fences and line breaks do no harm.
        ('```json\n[\n  {"category": "no error"}\n]\n```', [0], [NONE]),
        # The fallback searches case-sensitively.
        ('[{"x": null, "category": "Entity Error"}]', [0, 0], [NONE, NONE]),
    ],
)  # fmt: skip
def test_fact_check_as_released(output: str, labels: list[int], types: list[str]) -> None:
    found = parse_fact_check(output)
    assert [int(name.lower() != NONE) for name in found] == labels
    assert found == types


YES = '{"key fact": "a", "response": "Yes", "line number": [1, 2]}'
NO = '{"key fact": "b", "response": "No", "line number": [3]}'


@together(
    "output, present, lines",
    [
        (f"[{YES}, {NO}]", [1, 0], {1, 2, 3}),  # lines count even for "No"
        (f"```json\n[{YES}]\n```", [1], {1, 2}),
        (f'{{"results": [{YES}]}}', [], set()),  # a brace after the list
        (f"[{YES}].", [], set()),
        (f"[{YES}]\nNote: done", [], set()),
        (f"Here it is: [{YES}]", [1], {1, 2}),
        ('[{"response": "Yes.", "line number": [1]}]', [0], {1}),
        ('[{"response": " yes", "line number": [1]}]', [0], {1}),
        ('[{"response": "YES", "line number": []}]', [1], set()),
        ('[{"response": true, "line number": [1]}]', [], set()),
        ('[{"response": True, "line number": [1]}]', [], set()),
        ('[{"response": "Yes", "line number": "12"}]', [1], {1, 2}),
        ('[{"response": "Yes", "line number": "1, 2"}]', [], set()),
        ('[{"response": "Yes", "line number": ["[3]", "4"]}]', [1], {3, 4}),
        ('[{"response": "Yes", "line number": 1}]', [], set()),
        ('[{"response": "Yes", "line number": [2.9]}]', [1], {2}),
        ('[{"response": "Yes", "line number": [0, 99]}]', [1], {0, 99}),
        ('[{"response": "Yes", "line number": null}]', [], set()),
        ('[{"response": null, "line number": []}]', [], set()),
        ("[]", [], set()),
        ("", [], set()),
        ("I'm sorry, but I can't.", [], set()),
        (f"[{YES}, {NO}", [], set()),
    ],
)
def test_alignment_as_released(output: str, present: list[int], lines: set[int]) -> None:
    assert parse_alignment(output) == (present, lines)


@given(st.text())
def test_any_text_passes_without_a_warning_or_an_error(text: str) -> None:
    for output in (
        text,
        f"[{text}]",
        f'[{{"category": "{text}"}}]',
        f'[{{"response": "Yes", "line number": [{text}]}}]',
    ):
        parse_fact_check(output)
        parse_alignment(output)


def test_deep_nesting_is_a_failure_not_a_crash() -> None:
    parse_fact_check("[" * 20_000 + "]")
    assert parse_alignment("[" * 20_000) == ([], set())


def test_legacy_and_strict_labels() -> None:
    refusal = "I'm sorry, but I can't assist with that."
    released = FactCheck().read(refusal, item(), "legacy", "sig")
    assert [(j.label, j.target.index, j.target.list_id) for j in released] == [(1, 0, "legacy")]
    assert [j.status for j in FactCheck().read(refusal, item(), "strict", "sig")] == ["refused"] * 3

    four = "[" + ", ".join(['{"category": "no error"}'] * 3 + ['{"category": "entity error"}']) + "]"
    released = FactCheck().read(four, item(), "legacy", "sig")
    assert [(j.label, j.target.index, j.target.list_id) for j in released] == [
        (1, 0, "legacy"), (1, 1, "legacy"), (1, 2, "legacy"), (0, 3, "legacy"),
    ]  # fmt: skip


def test_legacy_labels_of_matching_count_refer_to_sentences() -> None:
    three = '[{"category": "no error"}, {"category": "Entity error"}, {"category": "no error"}]'
    released = FactCheck().read(three, item(), "legacy", "sig")
    assert [(j.label, j.value, j.error_type, j.target.list_id) for j in released] == [
        (1, 1.0, "no error", None), (0, 0.0, "Entity error", None), (1, 1.0, "no error", None),
    ]  # fmt: skip


def test_a_released_failure_is_unparsed() -> None:
    assert [j.status for j in FactCheck().read("[]", item(), "legacy", "sig")] == ["unparsed"] * 3
    failed = Align().read(f"[{YES}].", item(), "legacy", "sig")
    assert [(j.status, j.aspect, j.target.unit) for j in failed] == [
        *[("unparsed", "completeness", "key_fact")] * 2, ("unparsed", "conciseness", "summary"),
    ]  # fmt: skip
    assert len(Align().read("", item(key_facts=()), "legacy", "sig")) == 2


def test_conciseness_as_released_may_exceed_one() -> None:
    wild = '[{"response": "No", "line number": [0, 1, 2, 3, 99]}, {"response": "Yes", "line number": []}]'
    judgments = Align().read(wild, item(), "legacy", "sig")
    assert [j.label for j in judgments[:2]] == [0, 1]
    last = judgments[2]
    # Five distinct lines over three sentences.
    assert (last.aspect, last.target.unit, last.label) == ("conciseness", "summary", None)
    assert last.value == pytest.approx(5 / 3)
    assert last.reason == "5 distinct lines named, 3 sentences"


def test_legacy_items_of_another_count_have_their_own_list() -> None:
    judgments = Align().read(f"[{YES}]", item(), "legacy", "sig")
    assert [(j.target.index, j.target.list_id) for j in judgments[:-1]] == [(0, "legacy")]
    matching = Align().read(f"[{YES}, {NO}]", item(), "legacy", "sig")
    assert {j.target.list_id for j in matching[:-1]} == {Align().read("", item(), "strict", "sig")[0].target.list_id}
