"""Coreference resolution by an LLM (role `resolver`).

Mentions such as "she" occur many times, so the LLM quotes each mention with a surrounding passage, which is located in
the document. Mentions whose quotes do not determine a single location are dropped and counted.
"""

from __future__ import annotations

import re
from typing import Any

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
"""Maximum number of clusters in a reply, and of mentions in a cluster."""
REPLY_TOKENS = 2000
"""Expected number of tokens of a reply."""
EXACT = 1.0
"""All words of a passage must occur in the document."""

SCHEMA = object_schema(
    {
        "clusters": list_schema(
            list_schema(object_schema({"mention": text_schema(200), "passage": text_schema(400)}), MOST),
            MOST,
            least=None,
        )
    }
)


Quote = tuple[str, str]
"""A mention and a passage that contains it."""
Quotes = tuple[tuple[Quote, ...], ...]


async def resolve(document: Document, llm: BoundLLM, template: Template) -> Prepared:
    """Ask an LLM for the coreference clusters of a document and return them as prepared data.

    The data are {"clusters": [[(start, end)...]...], "dropped": number of mentions that were not located}, with offsets
    in code points. For documents longer than the LLM's context, the data also contain "windows" and "truncated_tokens".
    """
    frame = template.fill(document="", document_code=fence_code(""))
    views, cut = document_views(document, llm, frame, REPLY_TOKENS)
    clusters: list[list[Mention]] = []
    calls: tuple[str, ...] = ()
    dropped = 0
    for number, view in enumerate(views, 1):
        text = view.text
        answer = await llm.ask(template.fill(document=text, document_code=fence_code(text)), form(text))
        calls += answer.calls
        if answer.data is None:
            where = "" if len(views) == 1 else f"window {number} of {len(views)}: "
            why = f"coreference of the document: {where}{answer.reason}"
            return Prepared(document_id=document.id, status=answer.status, reason=why, calls=calls)
        located, unlocated = locate(answer.data, document.text[view.start : view.end])
        clusters += [[(view.start + first, view.start + last) for first, last in cluster] for cluster in located]
        dropped += unlocated
    data: dict[str, object] = {"clusters": joined(clusters), "dropped": dropped}
    if len(views) > 1:
        data["windows"] = len(views)
    if cut is not None:
        data["truncated_tokens"] = cut
    return Prepared(document_id=document.id, data=data, calls=calls)


def form(document: str) -> Form[Quotes]:
    """Return the schema of a reply, together with the strict parser."""
    return Form(TEMPLATE, SCHEMA, lambda reply: read_reply(reply, read, wanted=is_object, material=(document,)))


def read(value: Any) -> Quotes:
    """Parse the quoted clusters in a reply. Raises ReplyError if the form is invalid.

    >>> read({"clusters": [[{"mention": "She", "passage": "She ran"}]]})
    ((('She', 'She ran'),),)
    """
    clusters = field(value, "clusters")
    if not isinstance(clusters, list) or not all(isinstance(cluster, list) for cluster in clusters):
        raise ReplyError("`clusters` is not a list of lists")
    found = []
    for cluster in clusters:
        quotes = []
        for entry in cluster:
            if not is_object(entry):
                raise ReplyError("a mention is not an object with `mention` and `passage`")
            quote = field(entry, "mention"), field(entry, "passage")
            if not all(isinstance(text, str) and text.strip() for text in quote):
                raise ReplyError("a mention or its passage is blank or not a string")
            quotes.append(quote)
        found.append(tuple(quotes))
    return tuple(found)


def locate(clusters: Quotes, text: str) -> tuple[list[list[Mention]], int]:
    """Return the clusters of located mentions, and the number of unlocated mentions.

    Locations are (start, end) in code points.

    A mention has no location if its passage does not occur exactly once in the text, or if the mention does not occur
    exactly once in the passage. Clusters with only one mention are left out.

    >>> quotes = (("Ana", "Ana sat"), ("she", "she ran"), ("it", "it fell"))
    >>> locate((quotes,), "Ana sat. Then she ran.")
    ([[(0, 3), (14, 17)]], 1)
    """
    finder, located, unlocated = QuoteFinder(text), list[list[Mention]](), 0
    for cluster in clusters:
        located_quotes = [_place(quote, finder) for quote in cluster]
        unlocated += located_quotes.count(None)
        mentions = sorted({mention for mention in located_quotes if mention is not None})
        if len(mentions) > 1:
            located.append(mentions)
    return located, unlocated


def _place(quote: Quote, finder: QuoteFinder) -> Mention | None:
    mention, text = quote
    passage = finder.find(text, minimum=EXACT)
    if passage is None:
        return None
    quoted = finder.text[passage.start : passage.end]
    words = r"\s+".join(map(re.escape, mention.split()))
    matches = [match.span() for match in re.finditer(rf"(?<!\w){words}(?!\w)", quoted)]
    if finder.text.count(quoted) != 1 or len(matches) != 1:
        return None
    ((start, end),) = matches
    return passage.start + start, passage.start + end


def joined(clusters: Clusters) -> list[list[Mention]]:
    """Merge clusters that share a mention, which occur because the windows of a document overlap.

    >>> joined([[(0, 3), (9, 12)], [(20, 22), (30, 33)], [(9, 12), (40, 43)]])
    [[(20, 22), (30, 33)], [(0, 3), (9, 12), (40, 43)]]
    """
    merged: list[set[Mention]] = []
    for cluster in clusters:
        union = set(cluster)
        for other in [known for known in merged if known & union]:
            merged.remove(other)
            union |= other
        merged.append(union)
    return [sorted(cluster) for cluster in merged]
