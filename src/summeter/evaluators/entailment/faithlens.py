"""`faithlens`: an LLM trained to explain whether the document supports each summary sentence (arXiv 2512.20182)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Literal

from summeter.evaluators.base import Checkpoint, Role
from summeter.evaluators.entailment.chunked import ClaimChecker
from summeter.evaluators.replies import answer_text, read_tagged
from summeter.models.base import Message
from summeter.models.prompts import Prompt
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import HASH, digest

# The text is part of the LLM's training and must not be changed: USER_PROMPT_OURS of S1s-Z/FaithLens (fda061a), whose
# pyproject.toml states the Apache License 2.0.
USER = """\
Determine whether the provided claim is consistent with the corresponding document. Consistency in this context \
implies that all information presented in the claim is substantiated by the document. If not, it should be considered \
inconsistent.\x20

- First, think step by step about whether all the information in the claim is fully supported by the document within \
<think> and </think> tags.\x20

- Then, please provide an easy-to-understand explanation for your answer within <reason> and </reason> tags.

- Finally, assess the claim's consistency with the document by responding with either "Yes" or "No" and wrap your \
final answer in <answer> and </answer> tags.

Document: [DOCUMENT]
Claim: [CLAIM]
"""


class FaithLens(ClaimChecker):
    """Ask whether a chunk of the document supports each summary sentence, with an explanation (FaithLens).

    - `chunk`: maximum length of a chunk of whole sentences, in estimated tokens (default: what fits beside 2,048 tokens
      of reply into 32,768 tokens, or into the context of the server).
    - `claims`: `sentence` (default) judges each sentence of the summary, as in the released code; `summary` judges the
      summary as one claim.
    - `pool`: whether the score of the summary is the `min` (default, as in the released code) or the `mean` of the
      scores of its sentences.
    - `sentences`: `punkt` to split texts as the released code does, or `stored` to use the sentences of the data.
    - `threshold`: the lowest value with the label 1; it matters only for `pool=mean`.

    A chunk supports a sentence (1) if the answer is yes, and does not (0) if it is no; the best chunk decides. There is
    no verdict without exactly one answer outside the tags `think` and `reason`; the released code reads such replies as
    no. The reason of a sentence contains the explanation for its best chunk, and the reason of the summary the
    explanations of all answers that agree with its label. The released code samples at temperature 0.6 with the seed
    2024; here, the run's temperature is used. Writes one judgment per stored sentence and one of the summary (aspect
    faithfulness).
    """

    name, version = "faithlens", "1"
    summary = "A trained LLM explains whether chunks of the document support each sentence (FaithLens)."
    roles: ClassVar[Mapping[str, Role]] = {
        "judge": Role(
            checkpoints=(
                Checkpoint("ssz1111/FaithLens", "none stated", alias="faithlens", size=8000, languages="English"),
            )
        )
    }
    binary_units = frozenset({"sentence"})
    places = 32768
    reply_tokens = 2048

    pool: Literal["mean", "min"] = "min"

    def question(self, document: str, claim: str) -> Prompt:
        """Return the prompt of the LLM, worded as in the training."""
        before, between, after = re.split(r"\[DOCUMENT\]|\[CLAIM\]", USER)
        turn = Message(role="user", content=f"{before}{document}{between}{claim}{after}")
        return Prompt("faithlens", digest(USER, HASH), (turn,))

    async def ask(self, prompt: Prompt, llm: BoundLLM) -> Answer[tuple[float, str]]:
        """Return 1 for yes and 0 for no, with the explanation."""
        return await llm.ask(prompt, FORM)


def parse(text: str) -> tuple[float, str]:
    """Return 1 for yes or 0 for no, and the explanation.

    Raises ReplyError if the reply has no answer, several answers or an answer other than yes and no.

    >>> parse("<think>Sold.</think><reason> It was sold. </reason><answer>No</answer>")
    (0.0, 'It was sold.')
    """
    value = read_tagged(text, "answer", {"yes": 1.0, "no": 0.0})
    reason = re.search(r"<reason>(.*?)</reason>", answer_text(text), re.DOTALL)
    return value, " ".join(reason[1].split()) if reason else ""


FORM = Form("faithlens", None, parse, example="<reason>It is not in the document.</reason><answer>No</answer>")
