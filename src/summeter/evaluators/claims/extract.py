"""Claims of a summary, which are its sentences or are extracted by a network or an LLM.

A claim is an atomic statement that can be checked by itself, as in FENICE (Scirè et al., Findings of ACL 2024, section
3.1) and FActScore (Min et al., EMNLP 2023), which calls claims atomic facts. Networks and LLMs are called once per
summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from summeter.evaluators.replies import (
    Texts,
    choice,
    list_schema,
    object_schema,
    read_texts,
    show,
    text_schema,
)
from summeter.models.networks import Generate, Network
from summeter.models.prompts import Prompt, Template, fence_code
from summeter.models.structured import BoundLLM, Form
from summeter.records import Claim, ReplyError, Status, Summary, digest
from summeter.text.match import QuoteFinder
from summeter.text.ngrams import words
from summeter.text.spans import sentence_spans
from summeter.text.split import split

PACKAGE = "summeter.evaluators.claims"
TEMPLATE = "claims"
AT_MOST = 60
LONGEST = 400

SCHEMA = object_schema({"claims": list_schema(text_schema(LONGEST), AT_MOST)})


class Claims(NamedTuple):
    """The claims of a summary, each with its sentence if this sentence was found.

    If there are no claims, `status` and `reason` say why. `model` is the LLM or network that wrote the claims, or None
    if the claims are sentences.
    """

    claims: tuple[Claim, ...]
    calls: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str | None = None
    model: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The claims as strings."""
        return tuple(claim.text for claim in self.claims)

    @property
    def id(self) -> str:
        """The `list_id` of judgments on these claims, which is a hash of the texts."""
        return digest(list(self.texts), 12)


def sentence_claims(summary: Summary) -> Claims:
    """Return the claims of a summary, with each sentence as one claim."""
    return Claims(tuple(Claim(text=one.text, span=one.as_span("summary")) for one in sentence_spans(summary)))


async def generate_claims(summary: Summary, model: Network) -> Claims:
    """Return the distinct sentences that a network generates as claims (FENICE, section 3.1)."""
    (text,) = await model.ask([Generate((summary.text,))])
    texts = tuple(dict.fromkeys(text[start:end] for start, end in split(text)))
    if not texts:
        reason = f"claims of the summary: {model.id} wrote none"
        return Claims((), status="unparsed", reason=reason, model=model.id)
    return Claims(anchored(texts, summary), model=model.id)


async def extract_claims(
    summary: Summary, llm: BoundLLM, template: Template | None = None, *, at_most: int = AT_MOST
) -> Claims:
    """Ask an LLM for the claims of a summary.

    If the reply is unusable, the result has a status and no claims.
    """
    template = template or Template.load(PACKAGE, TEMPLATE)
    answer = await llm.ask(prompt(summary, template, at_most), form(summary, template))
    if answer.data is None:
        reason = f"claims of the summary: {answer.reason}"
        return Claims((), calls=answer.calls, status=answer.status, reason=reason, model=llm.id)
    return Claims(anchored(answer.data.texts[:at_most], summary), answer.calls, model=llm.id)


def prompt(summary: Summary, template: Template, at_most: int = AT_MOST) -> Prompt:
    """Return the prompt that asks for the claims of a summary."""
    return template.fill(summary=summary.text, code=fence_code(summary.text), limit=at_most)


def form(summary: Summary, template: Template) -> Form[Texts]:
    """Return the schema of a reply, together with the strict parser.

    Claims of the example in the prompt are rejected, because small models repeat them.
    """
    example = choice(template.source) or ""

    def read(reply: str) -> Texts:
        claims = read_claims(reply, (summary.text,))
        source = choice(summary.text) or ""
        for claim in claims.texts:
            text = choice(claim) or ""
            if len(text.split()) > 2 and text in example and text not in source:
                raise ReplyError(f"the claim {show(claim)} is from the prompt's example, not from the summary")
        return claims

    return Form("claims", SCHEMA, read)


def read_claims(text: str, material: Sequence[str] = ()) -> Texts:
    """Parse claims from a reply: an object with the list under "claims" or under its only key.

    `material` contains the text from which the claims were extracted. Raises ReplyError if an entry is blank or not a
    string.

    >>> read_claims('{"claims": ["A sold B.", "B is a boat.", "a sold b"]}')
    Texts(texts=('A sold B.', 'B is a boat.'), repeated=1)
    """
    claims = read_texts(text, ("claims",), "claim", material)
    return claims._replace(texts=tuple(" ".join(claim.split()) for claim in claims.texts))


def anchored(texts: Sequence[str], summary: Summary) -> tuple[Claim, ...]:
    """Return the claims, each with the sentence that it comes from, if this sentence is found.

    The sentence is the one that contains the claim, compared in the same way as quotes of language models
    (`text.match`), or else the one that contains the most words of the claim (at least half). Ties go to the first
    sentence that is not before the sentence of the previous claim.
    """
    finder = QuoteFinder(summary.text)
    words_of = [{token.text for token in words(sentence)} for sentence in summary.sentence_texts]
    claims = []
    last = 0
    for text in texts:
        quote = finder.find(text)
        inside = [
            place
            for place, sentence in enumerate(summary.sentences)
            if quote is not None and sentence.start < quote.end and quote.start < sentence.end
        ]
        if len(inside) != 1:
            claim_words = {token.text for token in words(text)}
            shared = [len(claim_words & sentence_words) for sentence_words in words_of]
            most = max([1, *shared])
            inside = [place for place, count in enumerate(shared) if count == most and 2 * most >= len(claim_words)]
        place = next((place for place in inside if place >= last), inside[0] if inside else None)
        last = last if place is None else place
        claims.append(Claim(text=text, span=None if place is None else summary.sentences[place]))
    return tuple(claims)
