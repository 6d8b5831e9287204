"""Selection of the parts of a document to show to a judge if it exceeds the model's context.

A document that fits into the prompt is shown whole. Otherwise `--on-overflow` decides: "window" (the default) omits
nothing without a note, "truncate" keeps the beginning and counts the omitted tokens, and "error" does not judge the
document.

With "window", the evaluator chooses the views by the kind of question:

- Does the document support a statement? One question per window (`document_views`); a yes in one window is a yes.
- What are the key facts of the document? One question per window; the lists are joined.
- How good is the summary? Ratings of windows cannot be combined into a rating for the whole document. The judge is
  shown the beginning of the document, the passages most similar to the summary, and other passages at even distances
  (`document_views` with `near`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, takewhile, zip_longest

from summeter.models.prompts import Prompt
from summeter.models.structured import BoundLLM
from summeter.models.tokens import tokens
from summeter.records import ContextError, Document, Item, Parameter, Source
from summeter.text.chunks import WordIndex, runs, tiles
from summeter.text.spans import TextSpan, ranges_by_source

RESERVE = 0.1
"""Share of the context reserved for estimation errors and for text added by servers (a chat template, a schema)."""
MAX_TOKENS_PER_CHARACTER = 2
"""Upper bound of the estimated number of tokens per character."""
LEAST = 64
"""Minimum number of document tokens in a window."""
OVERLAP = 8
"""Maximum overlap of consecutive windows: one eighth of the length of a window."""
OPENING, NEAREST = 0.25, 0.75
"""Shares of the available tokens: the beginning fills up to the first share, and similar passages up to the second."""
GAP = "\n[...]\n"


def document_views(
    document: Document, llm: BoundLLM, frame: Prompt, reply: int, near: Sequence[str] | None = None
) -> tuple[list[TextSpan], int | None]:
    """Return the parts of a document that a judge is shown, one per question, and the number of omitted tokens.

    The number is an estimate, and None if nothing is omitted. The text of a part contains the titles of its sources; a
    window contains a part of one source, or one or several whole sources.

    `frame` is the prompt with an empty document, and `reply` the expected number of tokens of the reply (the run's
    limit on new tokens takes precedence). If `near` is given (the sentences under judgment), a document that is too
    long becomes one view of passages instead of several windows. Raises ContextError if the document does not fit and
    must not be cut, or if no part of it fits.
    """
    room = room_for(document, llm, frame, reply)
    if room is None:
        return [TextSpan(document.titled(), 0, len(document.text))], None
    longest = room // OVERLAP if near is not None else room // 2
    starts = {start for start, _ in document.parts} | {span.start for span in document.sentences}
    cut = tiles(document.text, sorted(starts), max(8, longest), tokens)
    if llm.settings.on_overflow == "truncate":
        # Cut after the last tile that fits, counting the text as a whole, since the tokens of each tile are rounded.
        text, ends = document.text, [tile.end for tile in cut]
        end = ends[bisect_right(ends, room, key=lambda end: tokens(document.titled(0, end))) - 1]
        return [TextSpan(document.titled(0, end), 0, end)], tokens(text[end:])
    costs = [tokens(tile.text) for tile in cut]
    if near is None:
        edges = {*(start for start, _ in document.parts), len(document.text)}

        def windows(size: int) -> list[TextSpan]:
            views: list[TextSpan] = []
            for first, last in ranges_by_source(
                document, cut, lambda first, last: runs(costs[first:last], size, size // OVERLAP)
            ):
                start, end = cut[first].start, cut[last - 1].end
                if views and edges.issuperset((views[-1].start, start, end)):  # whole sources, which may fit together
                    together = TextSpan(document.titled(views[-1].start, end), views[-1].start, end)
                    if tokens(together.text) <= size:
                        views[-1] = together
                        continue
                views.append(TextSpan(document.titled(start, end), start, end))
            return views

        # Each tile's tokens are rounded; if a window exceeds the room for that reason, all windows are made smaller.
        views = windows(room)
        excess = max(tokens(view.text) for view in views) / room
        return (views if excess <= 1 else windows(int(room / excess))), None
    # One view: the beginning, the tiles most similar to each sentence of `near` in turn, and tiles at even distances.
    gap = tokens(GAP)
    chosen: set[int] = set()
    named: set[tuple[Source, ...]] = set()
    """The sources of the chosen tiles; a title is shown once."""
    used = 0

    def fill(numbers: Sequence[int], limit: float) -> None:
        nonlocal used
        for number in numbers:
            offsets = cut[number].offsets
            sources = document.sources_in(*offsets)
            cost = costs[number] if not sources or sources in named else tokens(document.titled(*offsets))
            if number not in chosen and used + cost + gap <= limit:
                chosen.add(number)
                named.add(sources)
                used += cost + gap

    filled = accumulate(cost + gap for cost in costs)
    opening = sum(1 for _ in takewhile(lambda end: end <= int(room * OPENING), filled))
    fill(range(max(1, opening)), room)
    index = WordIndex([tile.text for tile in cut])
    ranked = []
    for sentence in near:
        scores = index.scores(sentence)
        ranked.append(sorted(filter(scores.__getitem__, range(len(cut))), key=scores.__getitem__, reverse=True))
    # The most similar tile of each sentence, then the second of each, and so on.
    fill([number for turn in zip_longest(*ranked) for number in turn if number is not None], room * NEAREST)
    fill(_even(len(cut)), room)
    pieces: list[str] = []
    previous = -1
    shown: tuple[Source, ...] = ()
    for number in sorted(chosen):
        if number != previous + 1:
            pieces.append(GAP)
        offsets = cut[number].offsets
        pieces.append(cut[number].text if shown == document.sources_in(*offsets) else document.titled(*offsets))
        shown = document.sources_in(*offsets)
        previous = number
    if previous != len(cut) - 1:
        pieces.append(GAP)
    omitted = sum(cost for number, cost in enumerate(costs) if number not in chosen)
    return [TextSpan("".join(pieces), 0, len(document.text))], omitted


def with_document(item: Item, text: str) -> Item:
    """Return a copy of the item with `text` as its document."""
    document = item.document.model_copy(update={"text": text, "sources": (), "sentences": ()})
    return item.model_copy(update={"document": document})


def closest(text: str, views: Sequence[TextSpan], among: Sequence[int] | None = None) -> int:
    """Return the index of the view that shares the most words with the text.

    Rare words have more weight. Ties go to the first view.
    """
    indices = list(range(len(views)) if among is None else among)
    if len(indices) == 1:
        return indices[0]
    scores = WordIndex([views[index].text for index in indices]).scores(text)
    return indices[max(range(len(indices)), key=scores.__getitem__)]


def room_for(document: Document, llm: BoundLLM, frame: Prompt, reply: int) -> int | None:
    """Return the number of tokens left for the document.

    Returns None if the document fits or if the limit is unknown.
    """
    context = llm.context
    if context is None:
        return None
    usable, answer = int(context * (1 - RESERVE)), llm.settings.max_tokens or min(reply, context // 2)
    characters = len(document.titled()) + sum(len(message.content) for message in frame.messages)
    if MAX_TOKENS_PER_CHARACTER * characters + answer <= usable:
        return None  # the usual case: no tokens are counted
    size = tokens(document.titled())
    frame_size = sum(tokens(message.content) for message in frame.messages)
    room = usable - frame_size - answer
    if size <= room:
        return None
    why = f"the document has about {size:,} tokens; the context of {llm.id} is {context:,}, of which the rest of the "
    why += f"prompt and the reply need about {frame_size + answer:,}"
    if room < LEAST:
        raise ContextError(
            f"{why}, which leaves no room for the document. Choose a model with a longer context (",
            Parameter("context", "TOKENS"),
            " sets its length), or a smaller ",
            Parameter("max_reply"),
        )
    if llm.settings.on_overflow == "error":
        raise ContextError(
            f"{why}. Choose ",
            Parameter("on_overflow", "window"),
            " or ",
            Parameter("on_overflow", "truncate"),
            ", or a model with a longer context",
        )
    return room


def _even(count: int) -> list[int]:
    """Return numbers from coarse to fine: the last, the middle, the quarters, the eighths, ...

    >>> _even(5)
    [4, 2, 1, 3, 0]
    """
    indices = dict.fromkeys([count - 1])
    parts = 2
    while len(indices) < count and parts <= 4 * count:
        indices |= dict.fromkeys(count * odd // parts for odd in range(1, parts, 2))
        parts *= 2
    return list(indices | dict.fromkeys(range(count)))
