"""Every verdict of a local evaluator on a sentence has a reason in words and evidence that is in the text."""

from __future__ import annotations

import re

from evaluators.test_catalog import judge, row
from together import together

from summeter.data.dataset import load
from summeter.evaluators.catalog import CATALOG, build
from summeter.records import Judgment, Side
from summeter.text.punkt import punkt_split

LOCAL = [name for name in CATALOG if not any(part.asks_llm for part in build(name).components())]
DOCUMENT = (
    "The bridge over the Ems opened in 1998. It is 14 metres wide and was paid for by the town. Ms. Ode, who built it, "
    "lives in the U.S. now. The council did not approve a second bridge. 😀 Trams may cross it from May on."
)
SUMMARY = (
    "The bridge is 41 metres wide. Ms. Ode built it in 1998. The council approved a second bridge. "
    "Penguins sang quarterly. Trams may cross it from May on."
)
CODE = re.compile(r"\bnan\b|\bNone\b|\binf\b|[a-z]+_[a-z]+|<[a-z]|\w+\(\)|Traceback|\{|\}", re.IGNORECASE)


def rows() -> list[dict[str, object]]:
    return [row(document=DOCUMENT, summary=SUMMARY, reference="The bridge is 14 metres wide.", key_facts=None)]


def verdicts_of(name: str) -> list[Judgment]:
    found = judge(name, rows())
    assert found.failures == []
    return found.judgments


def edges(side: Side) -> set[tuple[int, int]]:
    """Return all spans from the start of a sentence to the end of one, stored or Punkt's."""
    data = load(rows())
    (document,) = data.documents.values()
    text = document if side == "document" else next(iter(data.summaries))
    stretches = {
        (one.start, two.end)
        for spans in (text.sentences, punkt_split(text.text))
        for at, one in enumerate(spans)
        for two in spans[at:]
    }
    return stretches | {(0, len(text.text))}


@together("name", LOCAL)
def test_negative_verdicts_have_a_reason(name: str) -> None:
    found = verdicts_of(name)
    assert found
    for one in found:
        against = one.label == 0 or (one.value is not None and one.value < 0.5)
        assert one.reason or not (against or one.status != "ok"), one


@together("name", LOCAL)
def test_reasons_are_words_for_people(name: str) -> None:
    for one in verdicts_of(name):
        if one.reason is not None:
            assert one.reason == one.reason.strip() != ""
            assert not CODE.search(one.reason), one.reason


@together("name", LOCAL)
def test_evidence_is_whole_sentences_of_the_side_it_names(name: str) -> None:
    allowed = {"document": edges("document"), "summary": edges("summary")}
    for one in verdicts_of(name):
        for span in one.evidence:
            text = DOCUMENT if span.of == "document" else SUMMARY
            assert 0 <= span.start < span.end <= len(text)
            if one.judge in {"qafacteval", "questeval"}:  # phrases and answers
                assert re.fullmatch(r"[\w .]+", span.cut(text))
            elif one.judge in {"bertscore", "dae"}:  # its evidence is the words that match worst, or those of an arc
                assert re.fullmatch(r"\w+", span.cut(text))
            else:
                assert (span.start, span.end) in allowed[span.of], span.cut(text)


def test_support_names_the_error_and_its_passage() -> None:
    found = {one.target.index: one for one in verdicts_of("support") if one.aspect == "faithfulness"}
    assert found[0].reason is not None
    assert "41 is not in the source; nearest: 14" in found[0].reason
    assert any(span.cut(DOCUMENT).startswith("It is 14 metres wide") for span in found[0].evidence)
    assert "negated in the source: 'did not approve'" in (found[2].reason or "")
    assert "'Penguins', 'sang quarterly' have no support in the source" in (found[3].reason or "")
