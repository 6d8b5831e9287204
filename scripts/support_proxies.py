"""Training proxies for the `support` scorer: small tasks that look like its use, made from sentence pairs.

The premise hidden among others of its source; claims copied, shortened, fused, or spliced from fragments of unrelated
sentences; claims people wrote in their own words, with something invented; short facts against a text from which
their sentence may be missing. All by rule and seed; nothing human-annotated for summary evaluation is read.
"""

import gzip
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from summeter.evaluators.support.analysis import analyse
from summeter.evaluators.support.lexicon import FUNCTION_WORDS

SEED = 20250101
PER_PROXY = 2400
SPLIT = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9])")
FILES = ("nli.jsonl.gz", "fact.jsonl.gz", "synthetic.jsonl.gz")


class Row(NamedTuple):
    premise: str
    claim: str
    supported: bool
    source: str
    kind: str
    licence: str


class Example(NamedTuple):
    proxy: str
    sentences: tuple[str, ...]
    claim: str
    supported: bool
    group: str


def load(folder: Path) -> list[Row]:
    rows = []
    for name in FILES:
        with gzip.open(folder / name, "rt", encoding="utf-8") as lines:
            for line in lines:
                raw = json.loads(line)
                source, _, kind = raw["source"].partition(":")
                rows.append(
                    Row(
                        raw["premise"].strip(),
                        raw["hypothesis"].strip(),
                        raw["label"] == "entail",
                        source,
                        kind,
                        raw["licence"],
                    )
                )
    return rows


def sentences_of(text: str) -> list[str]:
    return [piece.strip() for piece in SPLIT.split(text) if len(piece.split()) > 2] or [text]


def hidden(sentences: list[str], others: list[str], rng: random.Random, target: int) -> tuple[str, ...]:
    """The sentences at a random place among distractors until the text has about ``target`` words."""
    before: list[str] = []
    after: list[str] = []
    size = sum(len(s.split()) for s in sentences)
    while size < target:
        more = sentences_of(rng.choice(others))
        size += sum(len(s.split()) for s in more)
        (before if rng.random() < 0.5 else after).extend(more)
    return (*before, *sentences, *after)


# --- claims made from sentences -----------------------------------------------------------------------------------


def compressed(sentence: str, rng: random.Random) -> str:
    """The sentence without one or two comma phrases, bracketed asides, or a closing phrase: what an extractor keeps."""
    text = re.sub(r"\s*\([^)]*\)", "", sentence).rstrip(".!? ")
    parts = re.split(r"\s*[,;]\s*", text)
    if len(parts) > 1 and rng.random() < 0.7:
        drop = rng.randrange(len(parts))
        longest = max(range(len(parts)), key=lambda i: len(parts[i]))
        if drop != longest:
            del parts[drop]
    text = ", ".join(parts)
    tail = [m.start() for m in re.finditer(r"\s(?:in|on|at|with|after|before|when|while|because|for|by|from)\s", text)]
    tail = [t for t in tail if t > len(text) * 0.45]
    if tail and rng.random() < 0.5:
        text = text[: rng.choice(tail)]
    return text


def spliced(first: str, second: str, rng: random.Random) -> str | None:
    """The start of one sentence and the end of another, joined where they share a word if they do."""
    left, right = first.rstrip(".!? ").split(), second.rstrip(".!? ").split()
    if len(left) < 7 or len(right) < 7:
        return None
    shared = [
        (i, j) for i in range(3, len(left) - 1) for j in range(1, len(right) - 3) if left[i].lower() == right[j].lower()
    ]
    if shared and rng.random() < 0.5:
        i, j = rng.choice(shared)
        return " ".join(left[: i + 1] + right[j + 1 :])
    i, j = rng.randrange(3, len(left) - 1), rng.randrange(1, len(right) - 3)
    return " ".join(left[:i] + right[j:])


def reworded(text: str, rng: random.Random) -> str:
    """A short fact in other words as far as rules go: grammar words vary, phrases move, a word may go."""
    pieces = text.split()
    swaps = {
        "the": "a", "a": "the", "was": "is", "were": "are", "is": "was", "are": "were", "had": "has", "has": "had",
        "which": "that", "but": "and", "and": "while", "in": "at", "on": "in", "of": "from", "to": "for", "for": "to",
        "his": "the", "her": "the", "their": "the", "its": "the", "after": "following", "into": "to",
    }  # fmt: skip
    found = []
    for piece in pieces:
        low = piece.lower()
        if low in swaps and rng.random() < 0.45:
            found.append(swaps[low])
        elif piece.endswith("ed") and rng.random() < 0.3:
            found.extend(["was", piece[:-2] + "ing"])
        elif rng.random() < 0.06:
            continue
        else:
            found.append(piece)
    cut = [i for i, piece in enumerate(found) if i > 2 and piece.lower() in ("in", "on", "at", "after", "with", "by")]
    if cut and rng.random() < 0.3:
        i = rng.choice(cut)
        found = found[i:] + found[:i]
    return " ".join(found)


def clause(sentence: str, rng: random.Random) -> str:
    """A short stretch of a sentence that could stand as one fact: 5 to 12 words."""
    pieces = sentence.rstrip(".!? ").split()
    size = min(len(pieces), rng.randint(5, 12))
    start = rng.randrange(0, len(pieces) - size + 1) if rng.random() < 0.5 else 0
    return " ".join(pieces[start : start + size])


# --- proxies ------------------------------------------------------------------------------------------------------


def from_rows(proxy: str, rows: list[Row], rng: random.Random, low: int, high: int) -> Iterator[Example]:
    """The rows as they are, the premise hidden in a text of ``low`` to ``high`` words of the same source."""
    others = [row.premise for row in rows]
    for row in rows:
        text = hidden(sentences_of(row.premise), others, rng, rng.randint(low, high))
        yield Example(proxy, text, row.claim, row.supported, row.premise)


def replaced(claim: str, pool: list[str], rng: random.Random, times: int) -> str:
    """The claim with words exchanged for words of the pool of the same make (number, capital, plain)."""
    pieces = claim.split()
    places = [i for i, piece in enumerate(pieces) if make_of(piece, i)]
    for i in rng.sample(places, min(times, len(places))):
        make = make_of(pieces[i], i)
        fitting = [w for w in rng.sample(pool, min(400, len(pool))) if make_of(w, 1) == make and w != pieces[i]]
        if fitting:
            pieces[i] = rng.choice(fitting)
    return " ".join(pieces)


def make_of(piece: str, at: int) -> str:
    """Number, name or plain content word; empty for grammar words."""
    key = piece.strip(".,;:'\"()").lower()
    if key[:1].isdigit():
        return "number"
    if not key.isalpha() or key in FUNCTION_WORDS:
        return ""
    return "name" if at and piece[0].isupper() else "plain"


def invented(claim: str, other: str, pool: list[str], rng: random.Random) -> str:
    """What a generator does when it invents: foreign words, or the tail of another claim."""
    if rng.random() < 0.35:
        tail = [m.start() for m in re.finditer(r"\s(?:in|on|at|with|after|before|for|by|from|who|which)\s", other)]
        if tail:
            return claim.rstrip(".!? ") + other[rng.choice(tail) :]
    return replaced(claim, pool, rng, rng.choice((1, 1, 2, 2, 3)))


def splices(proxy: str, premises: list[str], rng: random.Random, low: int, high: int) -> Iterator[Example]:
    """Extractive claims: sentences copied, shortened or fused are supported; fragments of unrelated sentences, and
    copies with a word exchanged, are not."""
    for premise in premises:
        text = hidden(sentences_of(premise), premises, rng, rng.randint(low, high))
        long = [s for s in text if len(s.split()) >= 8]
        if len(long) < 3:
            continue
        first, second, third = rng.sample(long, 3)
        joined = spliced(compressed(first, rng), compressed(second, rng), rng)
        if joined is None:
            continue
        if rng.random() < 0.25:
            joined = spliced(joined, third, rng) or joined
        if rng.random() < 0.3:
            joined = replaced(compressed(first, rng), " ".join(text).split(), rng, rng.choice((1, 2)))
        yield Example(proxy, text, joined, supported=False, group=premise)
        fact = compressed(third, rng) if rng.random() < 0.7 else third
        if rng.random() < 0.15:
            fact = f"{fact} and {compressed(second, rng)}"
        yield Example(proxy, text, fact, supported=True, group=premise)


def inventions(proxy: str, rows: list[Row], rng: random.Random, low: int, high: int) -> Iterator[Example]:
    """Entailed claims people wrote in their own words, and the same kind of claim with something invented in it."""
    others = [row.premise for row in rows]
    true = [row for row in rows if row.supported and row.kind in ("", "tldr", "split")]
    pool = [piece for row in true for piece in row.claim.split()]
    for row, other in zip(true, [*true[1:], true[0]], strict=True):
        text = hidden(sentences_of(row.premise), others, rng, rng.randint(low, high))
        if rng.random() < 0.5:
            yield Example(proxy, text, row.claim, supported=True, group=row.premise)
        else:
            yield Example(proxy, text, invented(row.claim, other.claim, pool, rng), supported=False, group=row.premise)


def presence(proxy: str, premises: list[str], everyday: list[str], rng: random.Random) -> Iterator[Example]:
    """Short reworded facts against a summary of the same document: present if their sentence was kept."""
    for premise in premises:
        whole = sentences_of(premise)
        if len(whole) < 3:
            continue
        kept = set(rng.sample(range(len(whole)), max(1, len(whole) // 2)))
        text = tuple(compressed(s, rng) if rng.random() < 0.5 else s for i, s in enumerate(whole) if i in kept)
        yes = whole[rng.choice(sorted(kept))]
        no = whole[rng.choice([i for i in range(len(whole)) if i not in kept])]
        for sentence, label in ((yes, True), (no, False)):
            fact = reworded(clause(sentence, rng), rng)
            # People reword with everyday words; a fact of another sentence often shares the subject.
            fact = replaced(fact, everyday, rng, rng.choice((0, 1, 2, 3)))
            if not label and rng.random() < 0.5:
                fact = " ".join([*yes.split()[: rng.randint(2, 4)], *fact.split()[1:]])
            yield Example(proxy, text, fact, label, premise)


def absent(proxy: str, rows: list[Row], rng: random.Random) -> Iterator[Example]:
    """Entailed claims against a short text with their premise, or with only another premise on the same subject."""
    by_name: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for piece in re.findall(r"[A-Z][a-z]{3,}", row.premise):
            by_name[piece].add(row.premise)
    others = [row.premise for row in rows]
    for row in rows:
        names = [n for n in re.findall(r"[A-Z][a-z]{3,}", row.claim) if len(by_name[n]) > 1]
        if not row.supported or not names:
            continue
        related = sorted(min((by_name[n] for n in names), key=len) - {row.premise})
        if not related:
            continue
        near = sentences_of(rng.choice(related))
        sentences = near + sentences_of(row.premise) if rng.random() < 0.5 else near
        text = hidden(sentences, others, rng, rng.randint(40, 90))
        yield Example(proxy, text, row.claim, sentences is not near, row.premise)


def examples(rows: list[Row], common: dict[str, float]) -> list[Example]:
    """All proxies, at most PER_PROXY examples each, in a fixed order."""
    rng = random.Random(SEED)
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by[row.source].append(row)
    for group in by.values():
        rng.shuffle(group)
    drop, science, wiki = by["syn_drop"], by["syn_scitldr"], by["syn_wikisplit"]
    detail = [row for row in wiki if row.kind in ("split", "missing_detail")]
    facts = [row for row in wiki if row.kind not in ("split", "missing_detail", "other_doc")]
    stories = sorted({row.premise for row in drop})
    abstracts = sorted({row.premise for row in science})
    rng.shuffle(stories)
    rng.shuffle(abstracts)
    everyday = sorted(key for key, weight in common.items() if weight < 0.6)
    proxies: dict[str, Iterable[Example]] = {
        "extract.stories": splices("extract.stories", stories, rng, 120, 400),
        "extract.science": splices("extract.science", abstracts, rng, 200, 400),
        "extract.errors": from_rows("extract.errors", drop, rng, 100, 300),
        "abstract.science": inventions("abstract.science", science, rng, 150, 400),
        "abstract.fever": inventions("abstract.fever", by["fever_dev"], rng, 100, 300),
        "abstract.mnli": inventions("abstract.mnli", by["mnli(taxinli)"], rng, 60, 200),
        "abstract.wiki": inventions("abstract.wiki", wiki, rng, 100, 300),
        "abstract.errors": from_rows("abstract.errors", science, rng, 150, 400),
        "facts.stories": presence("facts.stories", stories, everyday, rng),
        "facts.science": presence("facts.science", abstracts, everyday, rng),
        "facts.fever": absent("facts.fever", by["fever_dev"], rng),
        "facts.wiki": absent("facts.wiki", wiki, rng),
        "pairs.fever": from_rows("pairs.fever", by["fever_dev"], rng, 60, 300),
        "pairs.mnli": from_rows("pairs.mnli", by["mnli(taxinli)"], rng, 20, 120),
        "pairs.conj": from_rows("pairs.conj", by["conjnli"], rng, 20, 200),
        "pairs.wiki": from_rows("pairs.wiki", facts + detail[: len(facts)], rng, 60, 300),
    }
    found = []
    for made in proxies.values():
        kept = Counter[bool]()
        for example in made:
            if kept[example.supported] < PER_PROXY // 2:
                kept[example.supported] += 1
                # Generated summaries are often lower-cased; capital letters must not be needed.
                claim = example.claim.lower() if rng.random() < 0.5 else example.claim
                found.append(example._replace(claim=claim))
            if sum(kept.values()) >= PER_PROXY:
                break
    return found


def common_words(rows: list[Row]) -> dict[str, float]:
    """Weights below 1 for everyday words: .3 for a word in each 20th text, 1 from one text in 5,000 on.

    Frequencies are averaged over sources, so that a word common in one field only does not count as everyday.
    """
    texts: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        texts[row.source].update(sentences_of(row.premise))
    shares: dict[str, float] = defaultdict(float)
    for kept in texts.values():
        counts = Counter[str]()
        for text in kept:
            counts.update({word.key for word in analyse(text) if word.content and word.number is None})
        for key, count in counts.items():
            shares[key] += count / len(kept) / len(texts)
    low, high = math.log(20), math.log(5000)
    found = {}
    for key, share in shares.items():
        weight = 0.3 + 0.7 * (math.log(1 / share) - low) / (high - low)
        if weight < 0.9:
            found[key] = round(float(max(0.3, weight)), 2)
    return dict(sorted(found.items()))
