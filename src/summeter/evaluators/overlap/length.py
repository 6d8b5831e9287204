"""The length of a summary as an evaluator, which is a baseline that judges should outperform."""

from __future__ import annotations

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.records import Item, Judgment
from summeter.text.ngrams import words


class Length(Evaluator):
    """Compute the words, sentences, words per sentence and relative length of a summary.

    The relative length is the number of words of the summary divided by that of the document.

    Length describes a summary and does not measure its quality; ratings that correlate with it may depend on length.
    """

    name, version = "length", "1"
    summary = "The number of words and sentences of the summary, and its share of the document's words."
    aspects = ("words", "sentences", "sentence_words", "compression")
    value_range = None

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return four judgments of the summary, one per measure."""
        builder = self.builder(item, prepared, tools)
        count, sentences = len(words(item.summary.text)), len(item.sentences)
        of_document = tools.once("words", lambda: len(words(item.document.text)))
        if not count or not of_document:
            side = "document" if count else "summary"
            return builder.skipped(f"the {side} contains no word")
        values = {
            "words": float(count),
            "sentences": float(sentences),
            "sentence_words": count / sentences,
            "compression": count / of_document,
        }
        reason = f"{count} words in {sentences} sentence{'' if sentences == 1 else 's'}; the document has {of_document}"
        return [builder.ok(aspect, value=value, reason=reason) for aspect, value in values.items()]
