"""Rows of our own for the training of the support network: claims made from sentences, by rule and seed.

Sentence pairs written for NLI hold few claims like those of summaries. From the premises of the training rows (never
those held out) come: sentences copied, shortened, fused or worded a little differently (entail); the start of one
sentence with the end of another, words exchanged for others of the same text or of another, a foreign detail put at
the end, and short facts of a sentence that was left out of the text (not). A text has two to five sentences.
"""

import hashlib
import random
from collections.abc import Iterator
from typing import NamedTuple

from support_proxies import clause, compressed, make_of, replaced, reworded, sentences_of, spliced

SOURCES = ("syn_drop", "syn_scitldr", "syn_wikisplit")  # whose premises are texts of several sentences
WORDS = 75  # of a text, so that text and claim fit into what the network is trained on
JOINS = (" and ", ", and ", " while ", ", while ", "; ", ", ")


class Pair(NamedTuple):
    premise: str
    hypothesis: str
    label: str  # entail or not


def held_out(premise: str) -> bool:
    """One premise in twenty is kept for choosing the scoring rule; all its rows go with it."""
    return hashlib.sha256(premise.encode()).digest()[0] < 13


def window(sentences: list[str], rng: random.Random) -> list[str]:
    """Neighbouring sentences of WORDS words at most, and one at least."""
    start = rng.randrange(len(sentences))
    found = [sentences[start]]
    for sentence in sentences[start + 1 : start + 5]:
        if sum(len(one.split()) for one in (*found, sentence)) > WORDS:
            break
        found.append(sentence)
    return found


def made(premises: list[str], wanted: int, rng: random.Random) -> Iterator[Pair]:
    """`wanted` pairs, about as many of either label, from texts of at least two sentences where there are any."""
    pools = [sentences_of(premise) for premise in premises]
    pools = [pool for pool in pools if any(len(one.split()) >= 7 for one in pool)]
    count = 0
    while count < wanted:
        text = window(rng.choice(pools), rng)
        if len(text) < 2 and rng.random() < 0.8:
            continue
        foreign = rng.choice(rng.choice(pools))
        pair = supported(text, rng) if rng.random() < 0.5 else unsupported(text, foreign, rng)
        if pair is not None and 3 <= len(pair.hypothesis.split()) <= 40 and sum(map(len, text)) < 700:
            count += 1
            yield pair


def supported(text: list[str], rng: random.Random) -> Pair:
    first = rng.choice(text)
    claim = first if rng.random() < 0.15 else compressed(first, rng)
    kind = rng.random()
    if kind < 0.3 and len(text) > 1:
        second = compressed(rng.choice([one for one in text if one is not first] or text), rng)
        claim = claim.rstrip(".!? ") + rng.choice(JOINS) + second
    elif kind < 0.6:
        claim = reworded(claim, rng) if rng.random() < 0.5 else gentle(clause_of(first, rng), rng)
    return Pair(" ".join(text), dressed(claim, rng), "entail")


def unsupported(text: list[str], foreign: str, rng: random.Random) -> Pair | None:
    first = rng.choice(text)
    claim = compressed(first, rng)
    own = " ".join(text).split()
    kind = rng.random()
    if kind < 0.3 and len(text) > 1:
        second = rng.choice([one for one in text if one is not first] or text)
        joined = spliced(claim, compressed(second, rng), rng)
        if joined is None or joined in " ".join(text):
            return None
        claim = joined
    elif kind < 0.5:
        claim = changed(claim, own, rng)
    elif kind < 0.7:
        claim = changed(gentle(claim, rng), foreign.split(), rng)
    elif kind < 0.85:
        tail = [i for i, word in enumerate(foreign.split()) if i > 2 and word in TAILS]
        if not tail:
            return None
        claim = claim.rstrip(".!? ") + " " + " ".join(foreign.rstrip(".!? ").split()[rng.choice(tail) :][:8])
    elif len(text) > 1:
        kept = [one for one in text if one is not first]
        fact = gentle(clause_of(first, rng), rng)
        if rng.random() < 0.5:
            fact = " ".join([*kept[0].split()[: rng.randint(1, 3)], *fact.split()[1:]])
        return Pair(" ".join(kept), dressed(fact, rng), "not")
    else:
        return None
    return (
        None if claim == compressed(first, rng) or claim in first else Pair(" ".join(text), dressed(claim, rng), "not")
    )


TAILS = {"in", "on", "at", "with", "after", "before", "for", "by", "from", "who", "which", "because", "during", "when"}


def changed(claim: str, pool: list[str], rng: random.Random) -> str:
    """One or two words exchanged for others of the same make (number, name, plain)."""
    names = [i for i, piece in enumerate(claim.split()) if make_of(piece, i) in {"name", "number"}]
    return replaced(claim, pool, rng, 1 if names and rng.random() < 0.6 else 2)


def clause_of(sentence: str, rng: random.Random) -> str:
    return clause(sentence, rng) if len(sentence.split()) > 6 else sentence


def gentle(claim: str, rng: random.Random) -> str:
    return reworded(claim, rng) if rng.random() < 0.3 else claim


def dressed(claim: str, rng: random.Random) -> str:
    """As generated summaries are written: a capital or none, a full stop or none."""
    claim = claim.strip(" ,;:")
    if rng.random() < 0.4:
        claim = claim[:1].upper() + claim[1:]
    return claim if claim.endswith((".", "!", "?")) or rng.random() < 0.3 else claim + rng.choice((".", " ."))
