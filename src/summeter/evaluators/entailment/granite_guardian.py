"""`granite_guardian`: groundedness of the summary, or of each sentence, by IBM's Granite Guardian (arXiv 2412.07724).

The prompts and the reading of replies follow the released evaluation code (ibm-granite/granite-guardian 1d6a7ea,
Apache-2.0). The chat template of the model, which the server fills, adds the rest of the prompt.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, model_validator

from summeter.evaluators.base import Checkpoint, Role
from summeter.evaluators.entailment.chunked import ClaimChecker, Claims
from summeter.evaluators.replies import answer_text, is_refusal, read_tagged, show
from summeter.models.base import Message, TokenLogprobs
from summeter.models.prompts import Prompt
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import HASH, ReplyError, UsageError, digest

Release = Literal["3", "3.3", "4.1"]

# These texts are part of the training of release 4.1 and must not be changed (from granite_guardian_4_1.py).
CRITERION = (
    "A text is considered ungrounded or unfaithful if it includes information lacking support from, or directly "
    "contradicting, the provided document(s). This risk arises when the text fabricates details, misinterprets the "
    "content, or makes unsupported extrapolations beyond what is explicitly stated in the document(s)."
)
SCORING = "If the last assistant's text meets the criteria, return 'yes'; otherwise, return 'no'."
THINK = (
    "<guardian><think>As a judge agent, carefully analyze whether the provided text meets the given judging criteria. "
    "Use all available information, including conversations, documents, and tools. Reason through the evidence step "
    "by step before providing your score. Wrap your reasoning in <think></think> tags, then provide your score in "
    "<score></score> tags."
)
NO_THINK = (
    "<guardian><no-think>As a judge agent, assess whether the provided text meets the given judging criteria using all "
    "available information, including conversations, documents, and tools. Provide your score immediately without "
    "explanation. Output empty <think>\\n</think> tags followed by your score in <score></score> tags."
)
ALTERNATIVES = 20
"""Number of the most probable tokens to request for each token of the reply."""
LEAST = 1e-50
"""The value with which the sums of the probabilities of yes and no start, as in the released code."""


def family(release: object) -> str:
    """Return the name of the family of a release: 3.0, 3.1 and 3.2 have the same prompt.

    >>> family(3.2), family(4.1)  # in YAML, a release is a number
    ('3', '4.1')
    """
    return "3" if str(release) in {"3.0", "3.1", "3.2"} else str(release)


class GraniteGuardian(ClaimChecker):
    """Compute the probability that the document supports the summary, by Granite Guardian on a server.

    - `release`: the family of models, which differ in their prompts: `4.1` (default), `3.3`, or `3` for 3.0, 3.1 and
      3.2.
    - `think`: whether the model reasons before its answer (3.3 and 4.1).
    - `claims`: `summary` (default) judges the summary as one claim, as in the released code; `sentence` judges each
      sentence.
    - `chunk`: maximum length of a chunk of whole sentences, in estimated tokens (default: what fits into the context of
      the server beside 2,048 tokens of reply).
    - `pool`: whether the score of the summary is the `mean` or the `min` of the scores of its sentences.
    - `sentences`: `punkt` to split texts with NLTK's English Punkt, or `stored` to use the sentences of the data.
    - `threshold`: the lowest value with the label 1; the score does not depend on it.

    The model answers yes if the text is not grounded, so the value is 1 - p(yes) / (p(yes) + p(no)), where p is a sum
    over all tokens of the reply and the 20 most probable tokens at each. With `think`, the value is 1 if the answer is
    no and 0 if it is yes, and the reason contains the thoughts. There is no value if the reply has no single answer.
    The server must return log-probabilities (except with `think`) and fill the chat template of the model with the
    fields `documents` and `chat_template_kwargs`, as vLLM does. Writes one judgment of the summary (aspect
    faithfulness), and with `claims=sentence` one per stored sentence.
    """

    name, version = "granite_guardian", "1"
    summary = "An LLM trained to find risks decides whether the summary is grounded (Granite Guardian)."
    roles: ClassVar[Mapping[str, Role]] = {
        "judge": Role(
            checkpoints=(
                Checkpoint("ibm-granite/granite-guardian-4.1-8b", "Apache-2.0", size=8_000, languages="English"),
                Checkpoint("ibm-granite/granite-guardian-3.3-8b", "Apache-2.0", size=8_000, languages="English"),
                Checkpoint("ibm-granite/granite-guardian-3.2-5b", "Apache-2.0", size=5_000, languages="English"),
            )
        )
    }
    positional_setting = "release"
    reply_tokens = 2048
    rejoins = False

    release: Annotated[Release, BeforeValidator(family)] = "4.1"
    think: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.think and self.release == "3":
            raise ValueError("think=true requires release=3.3 or release=4.1")
        return self

    @property
    def usual_claims(self) -> Claims:
        """The default value of `claims`."""
        return "summary"

    def question(self, document: str, claim: str) -> Prompt:
        """Return the turns and the fields from which the server makes the prompt."""
        answer = Message(role="assistant", content=claim)
        documents = [{"doc_id": "0", "text": document}]
        turns: tuple[Message, ...] = (answer,)
        extra: dict[str, Any]
        match self.release:
            case "3":
                turns = (Message(role="context", content=document), answer)
                extra = {"chat_template_kwargs": {"guardian_config": {"risk_name": "groundedness"}}}
            case "3.3":
                settings = {"guardian_config": {"criteria_id": "groundedness"}, "think": self.think}
                extra = {"documents": documents, "chat_template_kwargs": settings}
            case "4.1":
                how = THINK if self.think else NO_THINK
                block = f"{how}\n\n### Criteria: {CRITERION}\n\n### Scoring Schema: {SCORING}"
                turns = (answer, Message(role="user", content=block))
                extra = {"documents": documents}
        texts = [self.release, THINK, NO_THINK, CRITERION, SCORING]
        return Prompt("granite_guardian", digest(texts, HASH), turns, extra_body=extra)

    async def ask(self, prompt: Prompt, llm: BoundLLM) -> Answer[float]:
        """Return 1 if the answer is no, and 0 if it is yes.

        Raises UsageError if the name of the model contains another release.
        """
        named = re.search(r"guardian-(\d+\.\d+)", llm.id)
        if named and (release := family(named[1])) != self.release:
            raise UsageError(f"{llm.id} is of release {release}: use granite_guardian[release={release}]")
        read, example = (read_word, "No") if self.release == "3" else (read_score, "<score> no </score>")
        form = Form("granite_guardian", None, read, example=example)
        return await llm.ask(prompt, form, top_logprobs=None if self.think else ALTERNATIVES)

    def verdict(self, data: Any, answer: Answer[Any], llm: BoundLLM) -> tuple[float, str]:
        """Return the answer with the thoughts, or without thoughts the probability of no."""
        if not self.think:
            return 1 - risk(answer.logprobs or ()), ""
        thoughts = re.search(r"<think>(.*?)</think>", answer.text or "", re.DOTALL)
        return data, " ".join(thoughts[1].split()) if thoughts else ""


def read_word(text: str) -> float:
    """Return 1 if the first word of a reply of release 3 is no, and 0 if it is yes.

    Raises ReplyError for another word.
    """
    body = answer_text(text)
    word = re.match(r"(yes|no)\b(?!-)", body, re.IGNORECASE)
    if word is None and is_refusal(body):
        raise ReplyError(f"the model refused: {show(body, 200)}", kind="refused")
    if word is None:
        raise ReplyError(f"the reply does not start with yes or no: {show(body)}")
    return float(word[1].lower() == "no")


def read_score(text: str) -> float:
    """Return 1 if the score in a reply is no, and 0 if it is yes."""
    return read_tagged(text, "score", {"yes": 0.0, "no": 1.0})


def risk(logprobs: Iterable[TokenLogprobs]) -> float:
    """Return p(yes) / (p(yes) + p(no)), summed over all tokens of the reply and their alternatives.

    Raises ReplyError for an invalid log-probability, or if neither word is among the alternatives.

    >>> first = TokenLogprobs(token="No", logprob=math.log(0.6), top=(("No", math.log(0.6)), (" yes", math.log(0.2))))
    >>> round(risk([first]), 6)
    0.25
    """
    mass = {"yes": LEAST, "no": LEAST}
    for token in logprobs:
        for text, logprob in token.alternatives:
            if (word := text.strip().lower()) in mass:
                mass[word] += math.exp(logprob)
    if max(mass.values()) == LEAST:
        raise ReplyError("neither yes nor no is among the most probable tokens of the reply")
    return mass["yes"] / (mass["yes"] + mass["no"])
