"""Selection of the most central sentences of a document, as key facts.

The rule is used for documents that have neither key facts nor a reference. The rule is a heuristic, not a model, and
combines two observations: topic words recur in a text (Luhn, 1958), and important sentences often come first
(Edmundson, 1969).
"""

from collections import Counter
from collections.abc import Sequence

from summeter.evaluators.support.words import analyse

LEAD_WEIGHT = 0.5
MIN_WORDS = 3
MAX_SHARED = 0.5


def key_facts(text: str, sentences: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """Return the spans of at most ``limit`` sentences that serve as key facts, in text order.

    ``sentences`` are the spans of all sentences, in code points of ``text``. The rule, for sentences numbered from 0
    with their sets of content words:

    1. A sentence is eligible if it has at least three different content words and is not a question. If no sentence is
       eligible, all sentences with a content word are.
    2. The centrality of a sentence is the mean, over its content words, of the share of the other eligible sentences
       that contain the word. It is divided by the largest centrality in the document.
    3. The score is centrality + 0.5 / (1 + number), so the first sentence gains .5 and the second .25.
    4. Sentences are selected by descending score (the earlier sentence wins a tie). A sentence is skipped if a selected
       sentence contains more than half of its content words.

    The selection is deterministic. Raises ValueError if ``limit`` is below 1.

    >>> text = "A dam broke in Lima. The broken dam flooded Lima town. It rained. Goats ate red hats."
    >>> [text[a:b] for a, b in key_facts(text, [(0, 20), (21, 54), (55, 65), (66, 85)], 2)]
    ['A dam broke in Lima.', 'Goats ate red hats.']
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    bags = [frozenset(w.key for w in analyse(text[start:end]) if w.content) for start, end in sentences]
    eligible = [
        i
        for i, (start, end) in enumerate(sentences)
        if len(bags[i]) >= MIN_WORDS and not text[start:end].rstrip("\"'”’ ").endswith(("?", "？", "؟"))
    ]
    eligible = eligible or [i for i, bag in enumerate(bags) if bag]
    counts = Counter(key for i in eligible for key in bags[i])
    others = max(1, len(eligible) - 1)
    central = {i: sum(counts[key] - 1 for key in bags[i]) / others / len(bags[i]) for i in eligible}
    top = max(central.values(), default=0.0) or 1.0
    scores = {i: central[i] / top + LEAD_WEIGHT / (1 + i) for i in eligible}
    chosen: list[int] = []
    for i in sorted(eligible, key=lambda i: (-scores[i], i)):
        if len(chosen) == limit:
            break
        if all(len(bags[i] & bags[j]) <= MAX_SHARED * len(bags[i]) for j in chosen):
            chosen.append(i)
    return [(sentences[i][0], sentences[i][1]) for i in sorted(chosen)]
