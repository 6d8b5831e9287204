"""Which words of a sentence a passage does not have: what a reader looks for where a network gives a number only."""

from summeter.evaluators.support.analysis import analyse

_SHOWN = 4


def unmatched(sentence: str, passage: str) -> str:
    """The content words of the sentence that are not in the passage, as words of a reason.

    Inflection does not count, nor how a number is written.

    >>> unmatched("The mill was sold for two pounds.", "Ada sells her mill.")
    "not in it: 'two', 'pounds'"
    >>> unmatched("Ada sold mills.", "Ada sells her mill.")
    'all content words are in it'
    """
    there = {word.key for word in analyse(passage)}
    ours = [word for word in analyse(sentence) if word.content]
    if not ours:
        return "it has no content words"
    texts = list(dict.fromkeys(f"'{sentence[word.start : word.end][:40]}'" for word in ours if word.key not in there))
    if not texts:
        return "all content words are in it"
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return f"not in it: {', '.join(texts[:_SHOWN])}{more}"
