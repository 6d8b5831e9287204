"""Coreference by an LLM: quotes are located or dropped, one call per document, and failures have no value."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from evaluators.networks import FakeNetwork, document, judge, table_nli

from summeter.evaluators.base import Tools
from summeter.evaluators.fenice.evaluator import Fenice
from summeter.evaluators.fenice.resolver import Quote, locate
from summeter.models.providers.scripted import Scripted
from summeter.models.structured import BoundLLM, Settings
from summeter.records import Judgment

SOURCE = document("Ana Ruiz came home.", "She won gold.", "Then she slept.")
REPLY = {
    "clusters": [
        [
            {"mention": "Ana Ruiz", "passage": "Ana Ruiz came"},
            {"mention": "She", "passage": "She won gold"},
            {"mention": "she", "passage": "where she slept"},
        ]
    ]
}
GAINED = ("Ana Ruiz won gold.", "Ana Ruiz won gold.")


def run(llm: Scripted, *texts: str, settings: Settings | None = None, **set_to: Any) -> tuple[list[Any], FakeNetwork]:
    nli = table_nli({GAINED: (0.95, 0.05, 0.0), ("She won gold.", GAINED[1]): (0.3, 0.7, 0.0)})
    tools = Tools("s", llms={"resolver": BoundLLM(llm, settings)}, networks={"nli": nli})
    return judge(Fenice(claims="sentence", coref="llm", **set_to), SOURCE, *texts, tools=tools), nli


def test_mentions_are_replaced_as_the_llm_says() -> None:
    llm = Scripted({"Ana Ruiz came home": REPLY})
    first, second = run(llm, "Ana Ruiz won gold.", "Ana Ruiz slept.")[0]
    (row,) = first
    assert (row.value, row.label) == (pytest.approx(0.95), 1)
    assert [span.cut(SOURCE.text) for span in row.evidence] == ["She won gold.", "Ana Ruiz"]
    assert len(llm.requests) == 1, "once a document"
    assert row.prepared == second[0].prepared
    assert Fenice(coref="llm").required_roles == ("nli", "resolver", "seq2seq")
    assert Fenice(coref="llm", step="nli_coref", claims="llm").templates == ("coref", "claims")
    assert "prompt:" in Fenice(coref="llm").sign({})


@pytest.mark.parametrize(
    ("quote", "place"),
    [
        (("She", "She won gold"), (20, 23)),
        (("She", "she  WON “gold”"), (20, 23)),
        (("she", "Then she slept"), (39, 42)),
        (("he", "Then she slept"), None),
        (("she", "She won gold. Then she slept and"), None),
        (("she", "Then she ate"), None),
        (("Ana", "Ana Ruiz came home. She won gold."), (0, 3)),
        (("e", "came home"), None),
    ],
)
def test_a_quote_has_one_location_or_none(quote: Quote, place: tuple[int, int] | None) -> None:
    other = ("gold", "won gold")
    clusters, lost = locate(((other, quote),), SOURCE.text)
    assert clusters == ([] if place is None else [sorted([place, (28, 32)])])
    assert lost == (place is None)


def test_ambiguous_quotes_have_no_location() -> None:
    text = "She ran. Bo sat. She ran. Bo, said Bo, fell."
    quotes = (("She", "She ran"), ("Bo", "Bo, said Bo, fell"), ("Bo", "Bo sat"))
    assert locate((quotes,), text) == ([], 2)


@pytest.mark.parametrize("reply", ["no idea", {"clusters": "none"}, {"clusters": [[{"mention": "She"}]]}, {"a": 1}])
def test_an_unusable_reply_is_a_status(reply: Any) -> None:
    llm = Scripted([{"reply": reply}])
    (rows,), nli = run(llm, "Ana Ruiz won gold.")
    row: Judgment = rows[0]
    assert (row.status, row.value) == ("unparsed", None)
    assert (row.reason or "").startswith("coreference of the document: ")
    assert len(row.calls) == len(llm.requests) == 2, "and one repair turn"
    assert not nli.texts


def test_a_long_document_is_split_into_windows() -> None:
    sentences = [f"Ana number {number} won gold and then she{number} slept." for number in range(60)]
    source = document(*sentences)

    def reply(request: Any) -> str:
        here = [number for number in range(60) if f"she{number} slept" in request.prompt]
        here = [number for number in here if f"Ana number {number} won" in request.prompt]
        clusters = [
            [
                {"mention": f"Ana number {number}", "passage": f"Ana number {number} won"},
                {"mention": f"she{number}", "passage": f"then she{number} slept"},
            ]
            for number in here
        ]
        return json.dumps({"clusters": clusters})

    llm = BoundLLM(Scripted(reply), Settings(context=1400))
    tools = Tools("s", llms={"resolver": llm}, networks={"nli": table_nli()})
    prepared = asyncio.run(Fenice(coref="llm").prepare(source, tools))
    assert prepared.data["windows"] == len(prepared.calls) > 1
    assert prepared.data["dropped"] == 0
    found = [[source.text[start:end] for start, end in cluster] for cluster in prepared.data["clusters"]]
    assert sorted(found) == sorted([f"Ana number {number}", f"she{number}"] for number in range(60))
