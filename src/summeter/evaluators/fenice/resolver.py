"""Coreference by an LLM (role `resolver`): clusters of mentions, quoted by the LLM and found in the document.

A mention such as "she" stands in many places, so it comes with a passage around it. What is not quoted well enough to
have one place is dropped and counted, never guessed.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from summeter.evaluators.base import Prepared
from summeter.evaluators.fenice.coref import Clusters, Mention
from summeter.evaluators.replies import field, is_object, list_schema, object_schema, read_reply, text_schema
from summeter.evaluators.windows import document_views
from summeter.models.prompts import Template, fence_code
from summeter.models.structured import BoundLLM, Form
from summeter.records import Document, ReplyError
from summeter.text.match import QuoteFinder

TEMPLATE = "coref"
MOST = 200
"""Clusters of a reply, and mentions of a cluster."""
REPLY_TOKENS = 2000
"""What a reply is expected to take."""
EXACT = 1.0
"""A passage has all its words in the document: a mention stands at a place, not near one."""

SCHEMA = object_schema(
    {
        "clusters": list_schema(
            list_schema(object_schema({"mention": text_schema(200), "passage": text_schema(400)}), MOST),
            MOST,
            least=None,
        )
    }
)


class Quote(NamedTuple):
    """A mention, and a passage in which it stands."""

    mention: str
    passage: str


Quotes = tuple[tuple[Quote, ...], ...]


async def resolve(document: Document, llm: BoundLLM, template: Template) -> Prepared:
    """The clusters of a document, as `Prepared.data`: {"clusters": [[(start, end)...]...], "dropped": mentions that
    have no place}, in code points; with "windows" and "truncated_tokens" where it is longer than the LLM reads."""
    frame = template.fill(document="", document_code=fence_code(""))
    seen = document_views(document, llm, frame, REPLY_TOKENS)
    clusters: list[list[Mention]] = []
    calls: tuple[str, ...] = ()
    dropped = 0
    for number, view in enumerate(seen.views, 1):
        text = view.text
        answer = await llm.ask(template.fill(document=text, document_code=fence_code(text)), form(text))
        calls += answer.calls
        if answer.data is None:
            where = "" if len(seen.views) == 1 else f"window {number} of {len(seen.views)}: "
            why = f"mentions of the document: {where}{answer.reason}"
            return Prepared(document_id=document.id, status=answer.status, reason=why, calls=calls)
        located, lost = locate(answer.data, text)
        start = view.start or 0
        clusters += [[(start + first, start + last) for first, last in cluster] for cluster in located]
        dropped += lost
    data: dict[str, object] = {"clusters": joined(clusters), "dropped": dropped}
    if len(seen.views) > 1:
        data["windows"] = len(seen.views)
    if seen.truncated_tokens is not None:
        data["truncated_tokens"] = seen.truncated_tokens
    return Prepared(document_id=document.id, data=data, calls=calls)


def form(document: str) -> Form[Quotes]:
    """The schema of a reply, and the strict reader of one."""
    return Form(TEMPLATE, SCHEMA, lambda reply: read_reply(reply, read, wanted=is_object, material=(document,)))


def read(value: Any) -> Quotes:
    """The clusters of a reply as they are quoted. ReplyError where one is not of the form asked for.

    >>> read({"clusters": [[{"mention": "She", "passage": "She ran"}]]})
    ((Quote(mention='She', passage='She ran'),),)
    """
    clusters = field(value, "clusters")
    if not isinstance(clusters, list) or not all(isinstance(cluster, list) for cluster in clusters):
        raise ReplyError("`clusters` is no list of lists")
    found = []
    for cluster in clusters:
        quotes = []
        for entry in cluster:
            if not is_object(entry):
                raise ReplyError("a mention is no object with `mention` and `passage`")
            quote = Quote(field(entry, "mention"), field(entry, "passage"))
            if not all(isinstance(text, str) and text.strip() for text in quote):
                raise ReplyError("a mention or its passage is no text")
            quotes.append(quote)
        found.append(tuple(quotes))
    return tuple(found)


def locate(clusters: Quotes, text: str) -> tuple[list[list[Mention]], int]:
    """Clusters as (start, end) in code points of `text`, in its order, and how many mentions have no place: their
    passage is not there or stands there twice, or the mention is not in it or twice. A cluster of one is left out.

    >>> quotes = (Quote("Ana", "Ana sat"), Quote("she", "she ran"), Quote("it", "it fell"))
    >>> locate((quotes,), "Ana sat. Then she ran.")
    ([[(0, 3), (14, 17)]], 1)
    """
    finder, located, lost = QuoteFinder(text), list[list[Mention]](), 0
    for cluster in clusters:
        places = [_place(quote, finder) for quote in cluster]
        lost += places.count(None)
        mentions = sorted({place for place in places if place is not None})
        if len(mentions) > 1:
            located.append(mentions)
    return located, lost


def _place(quote: Quote, finder: QuoteFinder) -> Mention | None:
    passage = finder.find(quote.passage, minimum=EXACT)
    if passage is None:
        return None
    stretch = finder.text[passage.start : passage.end]
    words = r"\s+".join(map(re.escape, quote.mention.split()))
    places = [match.span() for match in re.finditer(rf"(?<!\w){words}(?!\w)", stretch)]
    if finder.text.count(stretch) != 1 or len(places) != 1:
        return None
    ((start, end),) = places
    return passage.start + start, passage.start + end


def joined(clusters: Clusters) -> list[list[Mention]]:
    """Clusters that share a mention are one: windows of a document overlap.

    >>> joined([[(0, 3), (9, 12)], [(20, 22), (30, 33)], [(9, 12), (40, 43)]])
    [[(20, 22), (30, 33)], [(0, 3), (9, 12), (40, 43)]]
    """
    merged: list[set[Mention]] = []
    for cluster in clusters:
        held = set(cluster)
        for other in [known for known in merged if known & held]:
            merged.remove(other)
            held |= other
        merged.append(held)
    return [sorted(cluster) for cluster in merged]
