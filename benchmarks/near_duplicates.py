"""Near-duplicates among random documents, some with planted copies: time, memory and pairs.

    python benchmarks/near_duplicates.py [--documents 20000] [--words 400] [--lsh]

A tenth of the documents are in pairs, of which one has up to 4 words in 100 changed. With --lsh the same by MinHash-LSH
(pip install datasketch), each candidate checked by Jaccard: what it does not find it misses. Target: 20,000 documents
of 400 words under 30 s and 512 MiB on one core.
"""

from __future__ import annotations

import argparse
import random
import resource
import time

from summeter.data.duplicates import SHINGLE, THRESHOLD, near_duplicates
from summeter.text.ngrams import words

VOCABULARY = [f"w{number}" for number in range(20_000)]
WEIGHTS = [1 / (rank + 1) for rank in range(len(VOCABULARY))]


def documents(count: int, size: int) -> dict[str, str]:
    draw = random.Random(1)
    texts = {str(place): draw.choices(VOCABULARY, WEIGHTS, k=size) for place in range(count)}
    for place in range(0, count // 10, 2):
        copy = list(texts[str(place)])
        for at in draw.sample(range(size), max(1, int(size * draw.choice([0.005, 0.01, 0.02, 0.03, 0.04])))):
            copy[at] = draw.choice(VOCABULARY)
        texts[str(place + 1)] = copy
    return {name: " ".join(tokens) for name, tokens in texts.items()}


def by_lsh(texts: dict[str, str]) -> int:
    """How many pairs MinHash-LSH finds."""
    from datasketch import MinHash, MinHashLSH

    index, sets, hashes = MinHashLSH(threshold=THRESHOLD, num_perm=128), {}, {}
    for name, text in texts.items():
        tokens = [token.text for token in words(text)]
        sets[name] = {" ".join(tokens[at : at + SHINGLE]).encode() for at in range(len(tokens) - SHINGLE + 1)}
        hashes[name] = MinHash(128)
        hashes[name].update_batch(sets[name])
        index.insert(name, hashes[name])
    return sum(
        other < name and len(sets[name] & sets[other]) / len(sets[name] | sets[other]) >= THRESHOLD
        for name in texts
        for other in index.query(hashes[name])
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=400)
    parser.add_argument("--lsh", action="store_true")
    options = parser.parse_args()
    texts = documents(options.documents, options.words)
    begin = time.perf_counter()
    pairs = by_lsh(texts) if options.lsh else len(near_duplicates(texts))
    took = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.documents} documents of {options.words} words: {pairs} pairs, {took:.1f} s, peak {peak:.0f} MiB")


if __name__ == "__main__":
    main()
