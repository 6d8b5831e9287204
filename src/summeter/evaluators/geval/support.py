"""`geval_plus.faithfulness`: is each sentence of the summary supported, yes or no (G-Eval+; UniSumEval, 2024).

That sentences are asked about one by one in a single reply, with yes or no, is UniSumEval's; that the score is the
share of yes is drawn from its section 3.3, since no code was released. The wording and the JSON reply are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from summeter.evaluators.fences import lines
from summeter.evaluators.llm import NO_DATA, NoVerdict, material, texts
from summeter.evaluators.replies import NO_YES, choice, entries, keyed_schema, read_reply, show
from summeter.evaluators.supported import SentenceJudge, SupportVerdict
from summeter.records import Item, ReplyError

LABELS = {"no": False, "yes": True}


class GEvalPlusFaithfulness(SentenceJudge):
    """Yes or no a sentence, in one call a summary.

    Writes one judgment a sentence (aspect faithfulness): label 1 and value 1.0 where it is supported, else 0 and
    0.0; the summary's score is the share that is. A reply that cannot be used gives one failed judgment a sentence.
    """

    name: ClassVar[str] = "geval_plus.faithfulness"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "An LLM judge says of each sentence whether the document supports it (G-Eval+)."
    reply_tokens: ClassVar[int] = 12

    @property
    def template(self) -> str:
        """The name of its prompt template."""
        return "geval_plus_faithfulness"

    def holes(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The document first, as for every judge."""
        del data
        return {"sentences": lines(item.sentences), **texts(item)}

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """An object with one required property a sentence."""
        del data
        return keyed_schema(len(item.sentences), "verdict", {"response": NO_YES})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> tuple[SupportVerdict | NoVerdict, ...]:
        """Yes or no for every sentence."""
        del data
        count = len(item.sentences)
        return read_reply(
            text,
            lambda value: tuple(map(_verdict, entries(value, count, "sentence"), range(1, count + 1))),
            material=material(item)[:2],
            wordless=True,
        )


def _verdict(entry: Any, place: int) -> SupportVerdict:
    word = entry.get("response") if isinstance(entry, dict) else entry
    label = LABELS.get(choice(word) or "")
    if label is None:
        raise ReplyError(f"sentence {place}: the response is {show(word)}, not yes or no")
    return SupportVerdict(label)
