"""Length as an evaluator: words, sentences, the share of the document's words. A baseline that a judge must beat."""

from __future__ import annotations

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.records import Item, Judgment
from summeter.text.ngrams import words


class Length(Evaluator):
    """How long a summary is: its words, its sentences, words a sentence, and its words as a share of the document's.

    It is a description, not a merit; judges and people whose ratings follow it may rate length.
    """

    name, version = "length", "1"
    summary = "words and sentences of the summary, and its words as a share of the document's"
    aspects = ("words", "sentences", "sentence_words", "compression")
    value_range = None

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Four judgments of the summary, one a measure."""
        builder = self.builder(item, prepared, tools)
        count, sentences = len(words(item.summary.text)), len(item.sentences)
        of_document = tools.once("words", lambda: len(words(item.document.text)))
        if not count or not of_document:
            side = "document" if count else "summary"
            return [builder.failed(aspect, "skipped", f"the {side} holds no word") for aspect in self.aspects]
        values = {
            "words": float(count),
            "sentences": float(sentences),
            "sentence_words": count / sentences,
            "compression": count / of_document,
        }
        reason = f"{count} words in {sentences} sentence{'' if sentences == 1 else 's'}; the document has {of_document}"
        return [builder.ok(aspect, value=value, reason=reason) for aspect, value in values.items()]
