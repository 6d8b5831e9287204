"""Abstractiveness: the share of n-grams that are not in the document (UniSumEval, eq. 5-6)."""

from __future__ import annotations

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.records import Item, Judgment
from summeter.text.novelty import LENGTHS, novelty


class Abstractiveness(Evaluator):
    """Compute the mean share of the summary's 1-, 3- and 5-grams that are not in the document.

    Values are in [0, 1].

    Abstractiveness describes a summary and does not measure its quality. A copy of the document has the value 0. Values
    of n for which the summary is too short are left out.
    """

    name, version = "abstractiveness", "1"
    summary = "share of the summary's 1-, 3- and 5-grams that are new (UniSumEval, eq. 5-6)"
    aspects = ("abstractiveness",)
    reads_sentences = False

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary."""
        new = novelty(item.document.text, item.summary.text)
        builder = self.builder(item, prepared, tools)
        if new.value is None:
            return builder.skipped("the summary contains no word")
        shares = ", ".join(f"{share:.0%} of {n}-grams" for n, share in new.by_n.items())
        short = [str(n) for n in LENGTHS if n not in new.by_n]
        left_out = f"; too short for {', '.join(short)}-grams" if short else ""
        return [builder.ok("abstractiveness", value=new.value, reason=f"new: {shares}{left_out}")]
