"""Documents longer than the model reads: which stretches of a document a judge is shown, and in how many questions.

Where a document fits beside the rest of its prompt and the reply, it is shown whole, and all of this changes nothing.
Where it does not, `--on-overflow` decides: "window" (the default) loses nothing silently, "truncate" keeps the
beginning and says how much is left out, "error" judges nothing.

What "window" means is for the evaluator to say, since it depends on the question:

- Does the document support this? One question a window (`document_views`); yes in one window is yes.
- What are its key facts? One question a window, then the lists joined.
- How good is the summary? Several windows give no rating of the whole: the judge is shown the document's opening, the
  passages nearest to the summary, and others at even distances (`document_views` with `near`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, takewhile, zip_longest
from typing import NamedTuple

from summeter.models.prompts import Prompt
from summeter.models.structured import BoundLLM
from summeter.models.tokens import tokens
from summeter.records import ContextError, Document, Item, Parameter
from summeter.text.chunks import WordIndex, runs, tiles
from summeter.text.spans import TextSpan

RESERVE = 0.1
"""Share of the context left free: what the estimate misses, and what the server adds (a chat template, a schema)."""
MAX_TOKENS_PER_CHARACTER = 2
"""Upper bound of the estimate."""
LEAST = 64
"""Tokens of a document below which a window is no reading any more."""
OVERLAP = 8
"""A window repeats the end of the one before: at most one part in so many of it."""
OPENING, NEAREST = 0.25, 0.75
"""Of the room for passages: filled with the opening up to the first share, with the nearest up to the second."""
GAP = "\n[...]\n"


class DocumentView(NamedTuple):
    """A stretch of a document as one question shows it: `text`, which begins at code point `start` of the document.

    `start` is None where the text is made of several stretches.
    """

    text: str
    start: int | None


class DocumentViews(NamedTuple):
    """The views a judge is shown. `truncated_tokens`: how much of the document stands in none (estimated), or None."""

    views: tuple[DocumentView, ...]
    truncated_tokens: int | None = None

    @property
    def whole(self) -> bool:
        """Whether one question shows the document as it is."""
        return len(self.views) == 1 and self.truncated_tokens is None


def document_views(
    document: Document, llm: BoundLLM, frame: Prompt, reply: int, near: Sequence[str] | None = None
) -> DocumentViews:
    """What of the document a judge is shown.

    `frame` is the prompt with an empty document, `reply` the tokens the answer may take (the run's own limit on new
    tokens goes before it). With `near` (the sentences of what is judged) a document that is too long becomes one view
    of passages instead of several windows. Raises ContextError where the document does not fit and must not be cut,
    or where nothing of it fits.
    """
    room = room_for(document, llm, frame, reply)
    if room is None:
        return DocumentViews((DocumentView(document.text, 0),))
    longest = room // OVERLAP if near is not None else room // 2
    cut = tiles(document.text, [span.start for span in document.sentences], max(8, longest), tokens)
    if llm.settings.on_overflow == "truncate":
        # Up to the last tile with which it still fits: counted as a whole, since the tiles' own counts are rounded.
        text, ends = document.text, [tile.end for tile in cut]
        end = ends[bisect_right(ends, room, key=lambda end: tokens(text[:end])) - 1]
        return DocumentViews((DocumentView(text[:end], 0),), tokens(text[end:]))
    costs = [tokens(tile.text) for tile in cut]
    if near is not None:
        return _passages(cut, costs, room, near)
    views = _windows(document.text, cut, costs, room)
    over = max(tokens(view.text) for view in views) / room
    # Tiles are counted in whole tokens: where that added up to too little, the windows are made a little smaller.
    return DocumentViews(tuple(views if over <= 1 else _windows(document.text, cut, costs, int(room / over))))


def _windows(text: str, cut: Sequence[TextSpan], costs: Sequence[int], room: int) -> list[DocumentView]:
    spans = [(cut[first].start, cut[last - 1].end) for first, last in runs(costs, room, room // OVERLAP)]
    return [DocumentView(text[start:end], start) for start, end in spans]


def with_document(item: Item, text: str) -> Item:
    """The item with this text for its document's: what a question on one view is asked about."""
    document = item.document.model_copy(update={"text": text, "sentences": ()})
    return item.model_copy(update={"document": document})


def closest(text: str, views: Sequence[DocumentView], among: Sequence[int] | None = None) -> int:
    """The number of the view that shares most of the text's words, those that stand in few views counting more;
    among equals the first."""
    places = list(range(len(views)) if among is None else among)
    if len(places) == 1:
        return places[0]
    scores = WordIndex([views[place].text for place in places]).scores(text)
    return places[max(range(len(places)), key=scores.__getitem__)]


def room_for(document: Document, llm: BoundLLM, frame: Prompt, reply: int) -> int | None:
    """Tokens left for the document in one question; None where it fits or the limit is unknown."""
    context = llm.context
    if context is None:
        return None
    usable, answer = int(context * (1 - RESERVE)), llm.settings.max_tokens or min(reply, context // 2)
    letters = len(document.text) + sum(len(message.content) for message in frame.messages)
    if MAX_TOKENS_PER_CHARACTER * letters + answer <= usable:
        return None  # as nearly always: nothing need be counted
    size = tokens(document.text)
    frame_size = sum(tokens(message.content) for message in frame.messages)
    room = usable - frame_size - answer
    if size <= room:
        return None
    why = f"the document has about {size:,} tokens; {llm.id} reads {context:,}, and the rest of the question and "
    why += f"the reply take about {frame_size + answer:,}"
    if room < LEAST:
        raise ContextError(
            f"{why}: no room is left for it. Choose a model that reads more (",
            Parameter("context", "TOKENS"),
            " says how much it reads), or a smaller ",
            Parameter("max_reply"),
        )
    if llm.settings.on_overflow == "error":
        raise ContextError(
            f"{why}. Choose ",
            Parameter("on_overflow", "window"),
            " or ",
            Parameter("on_overflow", "truncate"),
            ", or a model that reads more",
        )
    return room


def _passages(cut: Sequence[TextSpan], costs: Sequence[int], room: int, near: Sequence[str]) -> DocumentViews:
    """The opening, the tiles nearest to each sentence of `near` in turn, and tiles at even distances; in text order."""
    gap = tokens(GAP)
    chosen: set[int] = set()
    held = 0

    def fill(places: Sequence[int], upto: float) -> None:
        nonlocal held
        for place in places:
            if place not in chosen and held + costs[place] + gap <= upto:
                chosen.add(place)
                held += costs[place] + gap

    ends = accumulate(cost + gap for cost in costs)
    opening = sum(1 for _ in takewhile(lambda end: end <= int(room * OPENING), ends))
    fill(range(max(1, opening)), room)
    index = WordIndex([tile.text for tile in cut])
    ranked = []
    for sentence in near:
        scores = index.scores(sentence)
        ranked.append(sorted(filter(scores.__getitem__, range(len(cut))), key=scores.__getitem__, reverse=True))
    # Each sentence's nearest tile, then each one's second, and so on.
    fill([place for turn in zip_longest(*ranked) for place in turn if place is not None], room * NEAREST)
    fill(_even(len(cut)), room)
    parts: list[str] = []
    before = -1
    for place in sorted(chosen):
        if place != before + 1:
            parts.append(GAP)
        parts.append(cut[place].text)
        before = place
    if before != len(cut) - 1:
        parts.append(GAP)
    left = sum(cost for place, cost in enumerate(costs) if place not in chosen)
    return DocumentViews((DocumentView("".join(parts), None),), left)


def _even(count: int) -> list[int]:
    """Places from coarse to fine: the last, the middle, the quarters, the eighths...

    >>> _even(5)
    [4, 2, 1, 3, 0]
    """
    places = dict.fromkeys([count - 1])
    parts = 2
    while len(places) < count and parts <= 4 * count:
        places |= dict.fromkeys(count * odd // parts for odd in range(1, parts, 2))
        parts *= 2
    return list(places | dict.fromkeys(range(count)))
