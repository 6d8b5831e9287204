"""A sentence taken apart into statements by rules, without any model: for English, and careful.

Four shapes are taken apart, where words make them plain: clauses joined by a conjunction or a semicolon, a second verb
with the same subject, a clause with "who" or "which" between commas, and an apposition behind the subject. Whatever is
not plainly one of these stays as it is, and so does every sentence in another language: a claim too long is checked
more severely than it need be, a claim wrongly cut would be checked for what it does not say.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple


def _held(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BE: Final = _held("is are was were")
_AUXILIARY: Final = _BE | _held(
    "am has have had does do did will would can could may might must shall should cannot isn't aren't wasn't weren't "
    "hasn't haven't hadn't doesn't don't didn't won't wouldn't can't couldn't mustn't shouldn't"
)
_PAST: Final = _held(
    "said told made went took came knew got gave thought became began kept held wrote stood heard meant met ran paid "
    "sat spoke led grew lost fell sent built understood drew broke spent rose drove bought wore chose sold won sank "
    "burnt caught taught fought sought brought shot flew threw hid rode woke froze stole swore tore slept swam sang "
    "rang bent lent dealt fled forgot forgave shook struck stuck withdrew overcame undertook"
)
# Past forms that may as well be nouns, adjectives or infinitives stand in neither list (left, set, cut, read, saw).
_PRONOUN: Final = _held("he she it they we i you this these those there")
_OPENS: Final = _PRONOUN | _held("the a an his her its their our my your that both each many most some all no")
_RELATIVE: Final = _held("who which that whose whom where when what how why if whether")
_NO_VERB_BEHIND: Final = (_OPENS - _PRONOUN) | _held("by and of in with")
_NO_SUBJECT: Final = _held(
    "in on at after when as if by for with from since although though while because but and however according during "
    "before to of until unless under over yet so then once"
)
_SPEECH: Final = _held(
    "said say says told tell tells claimed claims argued argues thought thinks believed believes reported reports "
    "announced announces added adds warned warns insisted insists heard knew knows hoped hopes denied denies"
)
_NOT_ED: Final = _held("hundred indeed red bed need speed seed feed shed exceed proceed succeed bleed breed wicked")
_JOIN = re.compile(r"\s*(?:;|,?\s(?:and|but|while|whereas|yet|so)(?=\s)|—)\s*")
_AND = re.compile(r",?\s(?:and|but)\s")
_SUBJECT = 8
_NAMED = 12
LONGEST = 1000
"""Characters beyond which a sentence stays whole: it is a list, or no sentence."""


class Token(NamedTuple):
    """A word, lower-cased, and where it stands."""

    text: str
    start: int
    end: int


def clauses(sentence: str) -> tuple[str, ...]:
    """The statements of a sentence, each a sentence of its own; the sentence itself where no rule applies.

    Every word of the sentence stands in some statement, conjunctions and relative pronouns aside.

    >>> clauses("Ms. Ode, who built the bridge, was in Bern, and she was born in 1950.")
    ('Ms. Ode was in Bern.', 'She was born in 1950.', 'Ms. Ode built the bridge.')
    >>> clauses("Profits rose in May.")
    ('Profits rose in May.',)
    """
    whole = sentence.strip()
    if len(whole) > LONGEST:
        return (whole,)
    joined = [clause for part in _inserted(whole) for clause in _joined(part)]
    parts = [piece for clause in joined for part in _inserted(clause) for piece in _verbs(part)]
    return (whole,) if len(parts) == 1 else tuple(dict.fromkeys(_finished(part) for part in parts))


def words_of(text: str) -> list[Token]:
    """The words of a text in small letters, each with its place."""
    return [Token(match[0].lower().replace("’", "'"), match.start(), match.end()) for match in _WORD.finditer(text)]


def finite_verb(tokens: list[Token]) -> int | None:
    """The place of the first word that is plainly a finite verb."""
    for place, token in enumerate(tokens):
        if token.text in _AUXILIARY or token.text in _PAST:
            return place
        if _regular(token.text) and (not place or tokens[place - 1].text not in _NO_VERB_BEHIND):
            return place
    return None


def _regular(word: str) -> bool:
    return len(word) > 4 and word.endswith("ed") and word not in _NOT_ED


def _joined(text: str) -> list[str]:
    """Split where two clauses meet, each with a subject and a verb."""
    for match in _JOIN.finditer(text):
        left, right = text[: match.start()], text[match.end() :]
        plain = ";" in match[0] or "," in match[0]
        if _is_clause(left) and _opens_clause(right, plain=plain) and not _listing(left):
            return [left, *_joined(right)]
    return [text]


def _is_clause(text: str) -> bool:
    tokens = words_of(text)
    verb = finite_verb(tokens)
    if verb is None or verb == 0 or tokens[verb].text in _SPEECH:
        return False
    if tokens[0].text in _NO_SUBJECT and "," not in text:
        return False  # "When the fire broke out": the clause is not over
    return not any(token.text in _RELATIVE for token in tokens[:verb])


def _opens_clause(text: str, *, plain: bool) -> bool:
    """Whether the text begins with a subject and a verb; behind a comma or semicolon a short one may be any words."""
    tokens = words_of(text)
    verb = finite_verb(tokens)
    if verb is None or verb == 0 or any(token.text in _RELATIVE | _NO_SUBJECT for token in tokens[:verb]):
        return False
    if tokens[0].text in _OPENS or text[tokens[0].start].isupper():
        return verb <= _SUBJECT
    return plain and verb <= 2 and not tokens[0].text.endswith("ly")


def _listing(left: str) -> bool:
    """Whether something follows the verb behind a comma: the conjunction may then end a list."""
    tokens = words_of(left)
    verb = finite_verb(tokens)
    return verb is not None and "," in left[tokens[verb].end :]


def _inserted(text: str) -> list[str]:
    """Take out a relative clause, an apposition or an age behind a subject that opens the clause."""
    head, _, rest = text.partition(", ")
    inner, _, after = rest.partition(", ")
    tokens, ahead = words_of(head), words_of(inner)
    if not ahead or not after or not after[0].islower() or not _is_subject(head, tokens):
        return [text]
    verb, begins = finite_verb(ahead), finite_verb(words_of(after)) == 0
    main = f"{head} {after}"
    if ahead[0].text in {"who", "which"} and verb is not None and verb <= 2:
        follows = begins or words_of(after)[0].text not in _NO_SUBJECT | _OPENS | _RELATIVE
        return [main, f"{head} {inner[ahead[0].end :].lstrip()}"] if follows else [text]
    aside = ahead[0].text in {"a", "an", "the"} and verb is None and len(ahead) <= _NAMED
    if begins and (aside or re.fullmatch(r"\d{1,3}", inner)):
        return [main, f"{head} {_link(after, tokens)} {inner}"]
    return [text]


def _is_subject(head: str, tokens: list[Token]) -> bool:
    return (
        0 < len(tokens) <= _SUBJECT
        and head[0].isupper()
        and tokens[0].text not in _NO_SUBJECT
        and finite_verb(tokens) is None
    )


def _link(after: str, head: list[Token]) -> str:
    """The form of "to be" that the main verb's tense and the subject's number call for."""
    first = words_of(after)[0].text
    many = any(token.text == "and" for token in head) or first in {"are", "were", "have"}
    past = first not in {"is", "are", "has", "have", "will", "can", "may", "must", "does", "do"}
    return ("were" if many else "was") if past else ("are" if many else "is")


def _verbs(text: str) -> list[str]:
    """Split where a second verb follows with the first one's subject, which is then said again."""
    tokens = words_of(text)
    verb = finite_verb(tokens)
    if verb is None or not 0 < verb <= _SUBJECT or tokens[verb].text in _SPEECH:
        return [text]
    subject = text[: tokens[verb].start].strip()
    if "," in subject or any(token.text in _RELATIVE for token in tokens[:verb]):
        return [text]
    for match in _AND.finditer(text, tokens[verb].end):
        left, right = text[: match.start()], text[match.end() :]
        if _goes_on(left, right, tokens[verb]):
            return [left, *_verbs(f"{subject} {right}")]
    return [text]


def _goes_on(left: str, right: str, verb: Token) -> bool:
    """Whether the right side begins with a verb of the subject on the left."""
    ahead, behind = words_of(right), words_of(left[verb.end :])
    if len(ahead) < 2 or not behind or any(token.text in _RELATIVE | _SPEECH for token in behind):
        return False
    first = ahead[0].text
    if verb.text in _AUXILIARY:  # "was arrested and charged": the second is no verb of its own
        return first in _AUXILIARY
    return first in _AUXILIARY or first in _PAST or _regular(first)


def _finished(text: str) -> str:
    text = text.strip().rstrip(",;—").rstrip()
    text = text[:1].upper() + text[1:]
    return text if text[-1:] in ".!?\"'”’)" else f"{text}."
