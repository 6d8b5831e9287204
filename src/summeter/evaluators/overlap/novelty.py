"""Abstractiveness: the share of n-grams that are not in the document (UniSumEval, eq. 5-6)."""

from __future__ import annotations

from statistics import fmean
from typing import Final

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.records import Item, Judgment
from summeter.text.ngrams import ngrams, words

LENGTHS: Final = (1, 3, 5)


class Abstractiveness(Evaluator):
    """Compute the mean share of the summary's 1-, 3- and 5-grams that are not in the document.

    Values are in [0, 1].

    Abstractiveness describes a summary and does not measure its quality. A copy of the document has the value 0. Values
    of n for which the summary is too short are left out.
    """

    name, version = "abstractiveness", "1"
    summary = "The share of the summary's 1-, 3- and 5-grams that are new (UniSumEval, eq. 5-6)."
    aspects = ("abstractiveness",)
    reads_sentences = False

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary."""
        shares = novel_shares(item.document.text, item.summary.text)
        builder = self.builder(item, prepared, tools)
        if not shares:
            return builder.skipped("the summary contains no word")
        listed = ", ".join(f"{share:.0%} of {n}-grams" for n, share in shares.items())
        short = [str(n) for n in LENGTHS if n not in shares]
        left_out = f"; too short for {', '.join(short)}-grams" if short else ""
        return [builder.ok("abstractiveness", value=fmean(shares.values()), reason=f"new: {listed}{left_out}")]


def novel_shares(document: str, summary: str) -> dict[int, float]:
    """Return the share of the n-grams of a summary that are not in the document, for n = 1, 3 and 5.

    A length for which the summary is too short is left out. The share is 1 - |copied n-grams| / |n-grams of the
    summary|, over sets of n-grams; abstractiveness is the mean over n = 1, 3, 5 (UniSumEval, Lee et al., 2024,
    equations 5 and 6). The paper does not define words; here they are the lower-cased words of `text.ngrams.words`.

    >>> novel_shares("the cat sat on the mat", "the dog")  # 1 of 2 words is new; no 3-gram, no 5-gram
    {1: 0.5}
    """
    source, summary_words = words(document), words(summary)
    shares = {}
    for n in LENGTHS:
        if grams := ngrams(summary_words, n).keys():
            shares[n] = 1 - len(grams & ngrams(source, n).keys()) / len(grams)
    return shares
