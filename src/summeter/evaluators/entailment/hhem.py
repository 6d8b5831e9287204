"""`hhem`: the probability that the summary is consistent with the document, by HHEM-2.1-Open (Vectara, 2024)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from summeter.evaluators.base import Checkpoint, Role, Tools
from summeter.evaluators.entailment.chunked import ClaimChecker, Claims, Verdicts
from summeter.models.networks import ClassifyTokens, CountTokens, Framing, softmax
from summeter.text.spans import TextSpan

# The prompt of the released code (modeling_hhem_v2.py of vectara/hallucination_evaluation_model, Apache-2.0), which is
# part of the training. The outputs of the token <pad> at its beginning are those of the whole input.
FRAMING = Framing(
    "only_first",
    "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {0}\n\nHypothesis: {1}",
    limit=sys.maxsize,
)


class HHEM(ClaimChecker):
    """Compute the probability that the summary is consistent with the document (HHEM-2.1-Open).

    - `chunk`: maximum length of a chunk of whole sentences, in tokens; the best chunk decides. By default, the document
      is not divided, as in the released code, and its length is limited only by memory.
    - `claims`: `summary` (default) judges the summary as one claim, as in the released code; `sentence` judges each
      sentence.
    - `pool`: whether the score of the summary is the `mean` or the `min` of the scores of its sentences.
    - `sentences`: `punkt` to split texts with NLTK's English Punkt, or `stored` to use the sentences of the data.
    - `threshold`: the lowest value with the label 1; the score does not depend on it. The released code has none.

    The network (role `hhem`) is the encoder of a T5 with two outputs, and the value is the softmax of the second one.
    Writes one judgment of the summary (aspect faithfulness), in [0, 1], and with `claims=sentence` one per stored
    sentence.
    """

    name, version = "hhem", "1"
    summary = "A network trained to find hallucinations compares summary and document (HHEM-2.1-Open)."
    roles: ClassVar[Mapping[str, Role]] = {
        "hhem": Role(
            "token_classifier",
            checkpoints=(
                Checkpoint(
                    "vectara/hallucination_evaluation_model",
                    "Apache-2.0",
                    size=110,
                    languages="English",
                    convert="hhem",
                ),
            ),
        )
    }
    rejoins = False

    @property
    def usual_claims(self) -> Claims:
        """The default value of `claims`."""
        return "summary"

    async def sizes(self, spans: Sequence[TextSpan], tools: Tools) -> tuple[Sequence[int], int]:
        """Return the length of each piece of the document in tokens, and the maximum length of a chunk."""
        counts = [CountTokens(span.text) for span in spans]
        return await tools.network("hhem").ask(counts), self.chunk or sys.maxsize

    async def verdicts(self, chunks: Sequence[TextSpan], claims: Sequence[str], tools: Tools) -> Verdicts:
        """Return the probability of the second output at the first token, for all pairs of a chunk and a claim."""
        rows = [ClassifyTokens((chunk.text, claim), 2, FRAMING) for chunk in chunks for claim in claims]
        found = await tools.network("hhem").ask(rows)
        logits = np.array([tokens.logits[0] for tokens in found], dtype=np.float64)
        return Verdicts(softmax(logits.reshape(len(chunks), len(claims), 2))[:, :, 1])
