"""Key facts of a document with neither given key facts nor a reference: its own most central sentences.

A plain, documented stand-in, not a model: it says which sentences a summary would be expected to cover by two old
rules of thumb, that a text's topic words recur (Luhn, 1958) and that its beginning matters (Edmundson, 1969). Facts
given by people, or a reference, are better and always come first.
"""

from collections import Counter
from collections.abc import Sequence

from summeter.evaluators.support.words import analyse

LEAD_WEIGHT = 0.5
LEAST_WORDS = 3
REPEATED = 0.5


def key_facts(text: str, sentences: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """At most ``limit`` sentence spans (code points of ``text``) that stand for its key facts, in text order.

    The rule, for sentences numbered from 0 with their sets of content words:

    1. A sentence takes part if it has at least three different content words and is no question. If none does, every
       sentence with a content word takes part.
    2. Its centrality is the mean, over its content words, of the share of the other taking-part sentences that have
       the word; divided by the largest centrality of the document.
    3. Its score is centrality + 0.5 / (1 + number): the first sentence gains .5, the second .25.
    4. The best-scored sentences are taken in turn (the earlier one on equal scores), leaving out any sentence more
       than half of whose content words stand in one already taken.

    Deterministic. Raises ValueError if ``limit`` is below 1.

    >>> text = "A dam broke in Lima. The broken dam flooded Lima town. It rained. Goats ate red hats."
    >>> [text[a:b] for a, b in key_facts(text, [(0, 20), (21, 54), (55, 65), (66, 85)], 2)]
    ['A dam broke in Lima.', 'Goats ate red hats.']
    """
    if limit < 1:
        raise ValueError(f"at least one key fact must be asked for, got {limit}")
    bags = [frozenset(w.key for w in analyse(text[start:end]) if w.content) for start, end in sentences]
    taking_part = [
        i
        for i, (start, end) in enumerate(sentences)
        if len(bags[i]) >= LEAST_WORDS and not text[start:end].rstrip("\"'”’ ").endswith(("?", "？", "؟"))
    ]
    taking_part = taking_part or [i for i, bag in enumerate(bags) if bag]
    counts = Counter(key for i in taking_part for key in bags[i])
    others = max(1, len(taking_part) - 1)
    central = {i: sum(counts[key] - 1 for key in bags[i]) / others / len(bags[i]) for i in taking_part}
    top = max(central.values(), default=0.0) or 1.0
    scores = {i: central[i] / top + LEAD_WEIGHT / (1 + i) for i in taking_part}
    chosen: list[int] = []
    for i in sorted(taking_part, key=lambda i: (-scores[i], i)):
        if len(chosen) == limit:
            break
        if all(len(bags[i] & bags[j]) <= REPEATED * len(bags[i]) for j in chosen):
            chosen.append(i)
    return [(sentences[i][0], sentences[i][1]) for i in sorted(chosen)]
