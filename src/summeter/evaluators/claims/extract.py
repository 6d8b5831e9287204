"""The claims of a summary: its sentences, what a sequence-to-sequence network writes, or what an LLM lists.

A claim is an elementary statement that can be checked by itself, after FENICE (Scirè et al., Findings of ACL 2024,
section 3.1) and FActScore (Min et al., EMNLP 2023: atomic facts). Networks and LLMs are asked once a summary.
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
    """The claims of a summary, each with the sentence it comes from, where one was found.

    `status` is "ok", or why there are none, with a `reason`. `model` is the LLM or network that wrote the claims, None
    for sentences.
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
        """Twelve hex digits that change with any text of the list: the `list_id` of judgments on these claims."""
        return digest(list(self.texts), 12)


def sentence_claims(summary: Summary) -> Claims:
    """Each sentence as one claim."""
    return Claims(tuple(Claim(text=one.text, span=one.as_span("summary")) for one in sentence_spans(summary)))


async def generate_claims(summary: Summary, model: Network) -> Claims:
    """Each sentence that the network writes for the summary as one claim (FENICE, section 3.1), without repetitions."""
    (text,) = await model.ask([Generate((summary.text,))])
    texts = tuple(dict.fromkeys(text[start:end] for start, end in split(text)))
    if not texts:
        reason = f"claims of the summary: {model.id} wrote none"
        return Claims((), status="unparsed", reason=reason, model=model.id)
    return Claims(anchored(texts, summary), model=model.id)


async def extract_claims(
    summary: Summary, llm: BoundLLM, template: Template | None = None, *, at_most: int = AT_MOST
) -> Claims:
    """Ask `llm` for the claims of a summary, with the shipped template or another. An unusable reply is a status."""
    template = template or Template.load(PACKAGE, TEMPLATE)
    answer = await llm.ask(prompt(summary, template, at_most), form(summary, template))
    if answer.data is None:
        reason = f"claims of the summary: {answer.reason}"
        return Claims((), calls=answer.calls, status=answer.status, reason=reason, model=llm.id)
    return Claims(anchored(answer.data.texts[:at_most], summary), answer.calls, model=llm.id)


def prompt(summary: Summary, template: Template, at_most: int = AT_MOST) -> Prompt:
    """What the extractor is asked."""
    return template.fill(summary=summary.text, code=fence_code(summary.text), limit=at_most)


def form(summary: Summary, template: Template) -> Form[Texts]:
    """The schema of a reply, and the strict reader of one. A claim of the prompt's own example is no claim of the
    summary: small models repeat it."""
    example = choice(template.source) or ""

    def read(reply: str) -> Texts:
        claims = read_claims(reply, (summary.text,))
        own = choice(summary.text) or ""
        for claim in claims.texts:
            words_of_claim = choice(claim) or ""
            if len(words_of_claim.split()) > 2 and words_of_claim in example and words_of_claim not in own:
                raise ReplyError(f"the claim {show(claim)} is the prompt's example, and not of the summary")
        return claims

    return Form("claims", SCHEMA, read)


def read_claims(text: str, material: Sequence[str] = ()) -> Texts:
    """Claims from a reply: an object with the list under "claims", or under its only key. An entry that is empty or
    no text is a fault of the whole reply. `material` is what they were drawn from.

    >>> read_claims('{"claims": ["A sold B.", "B is a boat.", "a sold b"]}')
    Texts(texts=('A sold B.', 'B is a boat.'), repeated=1)
    """
    claims = read_texts(text, ("claims",), "claim", material)
    return claims._replace(texts=tuple(" ".join(claim.split()) for claim in claims.texts))


def anchored(texts: Sequence[str], summary: Summary) -> tuple[Claim, ...]:
    """Claims with the sentence of the summary that each comes from, where one is found.

    That is the sentence in which the claim stands, as language models quote (`text.match`); else the one that has most
    of its words (at least half; among equals, the first one not before the sentence of the claim before).
    """
    finder = QuoteFinder(summary.text)
    held = [{token.text for token in words(sentence)} for sentence in summary.sentence_texts]
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
            wanted = {token.text for token in words(text)}
            shared = [len(wanted & sentence) for sentence in held]
            most = max([1, *shared])
            inside = [place for place, many in enumerate(shared) if many == most and 2 * most >= len(wanted)]
        place = next((place for place in inside if place >= last), inside[0] if inside else None)
        last = last if place is None else place
        claims.append(Claim(text=text, span=None if place is None else summary.sentences[place]))
    return tuple(claims)
