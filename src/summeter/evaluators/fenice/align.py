"""How well the document supports a claim: levels, gate and maxima, as the paper has them and as the released code does.

A passage's score for a claim comes from the network's probabilities of the claim given the passage. The paper (Scirè et
al., Findings of ACL 2024, section 3.2): score = p_entail - p_contradict; the best sentence, with its coreferences
resolved, decides unless it stays under T, and then the best window or the whole document does. The released code:
p_entail - p_neutral, and the best passage of all levels, without a gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from summeter.evaluators.entailment.premises import CONTRADICT, ENTAIL, NEUTRAL, Floats, Premises
from summeter.evaluators.fenice.coref import Clusters, Version, legacy_versions, versions
from summeter.interrupt import checkpoint
from summeter.models.networks import Network, entailments
from summeter.records import Document
from summeter.text.chunks import windows
from summeter.text.spans import TextSpan, sentence_spans

Variant = Literal["paper", "legacy"]
LevelName = Literal["sentence", "coref", "window", "document"]


class Best(NamedTuple):
    """The passage that decides: its level, its score, the network's probabilities, and the spans of the document it
    is made of."""

    level: LevelName
    score: float
    row: Floats
    spans: tuple[TextSpan, ...]
    version: Version | None = None


class Verdict(NamedTuple):
    """What decides on a claim, the network's rows of all sentences, and, where a larger passage decides, the sentence
    it came before or replaced."""

    best: Best
    sentences: Floats
    narrow: Best | None = None


@dataclass(frozen=True)
class Rules:
    """What is compared: see `Fenice`."""

    variant: Variant = "paper"
    window: int = 5
    stride: int = 1
    gate: float = 0.8
    coref: bool = False
    levels: bool = True
    nearest: int | None = None

    @property
    def subtracted(self) -> int:
        """The class whose probability is taken off that of entailment."""
        return {"paper": CONTRADICT, "legacy": NEUTRAL}[self.variant]

    def score(self, table: Floats) -> Floats:
        """Scores of passages, from -1 to 1, of probabilities (..., 3).

        >>> Rules().score(np.array([[0.5, 0.1, 0.4]])).round(9).tolist()
        [0.1]
        >>> Rules(variant="legacy").score(np.array([[0.5, 0.1, 0.4]])).round(9).tolist()
        [0.4]
        """
        scores: Floats = table[..., ENTAIL] - table[..., self.subtracted]
        return scores


def sentence_windows(count: int, rules: Rules) -> list[tuple[int, int]]:
    """Windows of neighbouring sentences as (first, behind last).

    Paper: i = 1..n-j+1, so a document of fewer than j sentences has none; with a stride, the last one still ends with
    the document. Legacy: one window of everything there, which is then never used, and a stride loses the tail.

    >>> sentence_windows(12, Rules(variant="legacy", stride=5))
    [(0, 5), (5, 10)]
    >>> sentence_windows(12, Rules(stride=5))
    [(0, 5), (5, 10), (7, 12)]
    """
    size = rules.window
    if rules.variant == "legacy":
        return [(first, first + size) for first in range(0, count - size + 1, rules.stride)] or [(0, count)]
    return windows(count, size, rules.stride) if count >= size else []


class Aligner:
    """A document made ready for the claims of all its summaries.

    `whole` are the spans that stand for the whole document (one, where the network reads it in one), `clusters`
    the mentions that mean the same.
    """

    def __init__(
        self,
        document: Document,
        network: Network,
        rules: Rules,
        whole: Sequence[TextSpan],
        clusters: Clusters = (),
    ) -> None:
        self.rules = rules
        self.text = document.text
        self.sentences = sentence_spans(document)
        self.clusters = clusters
        self._network = network
        self._premises = Premises(network, [sentence.text for sentence in self.sentences], rules.nearest)
        self._larger: list[tuple[LevelName, TextSpan]] = []
        cut = sentence_windows(len(self.sentences), rules) if rules.levels else []
        # The released code reads windows and document only where there are two windows.
        if rules.levels and (rules.variant == "paper" or len(cut) > 1):
            self._larger += [("window", TextSpan.joined(self.sentences[first:last])) for first, last in cut]
            self._larger += [("document", span) for span in whole]
        self._wide = Premises(network, [span.text for _, span in self._larger], rules.nearest)

    async def verdicts(self, claims: Sequence[str]) -> list[Verdict]:
        """What decides on each claim."""
        tables = await self._premises.against(claims)
        best = [self._sentence(table) for table in tables]
        if self.rules.coref:
            best = await self._resolved(claims, best)
        last = await self._widened(claims, best) if self._larger else best
        return [
            Verdict(decisive, table, None if decisive is narrow else narrow)
            for decisive, table, narrow in zip(last, tables, best, strict=True)
        ]

    def _sentence(self, table: Floats) -> Best:
        scores = self.rules.score(table)
        at = int(np.nanargmax(scores))  # the first of equals, as everywhere here
        return Best("sentence", float(scores[at]), table[at], (self.sentences[at],))

    async def _resolved(self, claims: Sequence[str], best: Sequence[Best]) -> list[Best]:
        """The best version of each claim's best sentence, where one is better than the sentence itself."""
        by_claim = [self._versions(current.spans[0]) for current in best]
        pairs = [
            (version.text, claim) for claim, candidates in zip(claims, by_claim, strict=True) for version in candidates
        ]
        rows = dict(zip(pairs, await entailments(self._network, pairs), strict=True))
        resolved = []
        for claim, current, candidates in zip(claims, best, by_claim, strict=True):
            for version in candidates:
                checkpoint()
                row = np.array(rows[version.text, claim])
                score = float(self.rules.score(row))
                if score > current.score:
                    current = Best("coref", score, row, (current.spans[0], version.name), version)  # noqa: PLW2901
            resolved.append(current)
        return resolved

    def _versions(self, sentence: TextSpan) -> list[Version]:
        if self.rules.variant == "legacy":
            # The released code looks for the sentence by its text, and finds the first that reads the same.
            first = next(span for span in self.sentences if span.text.strip() == sentence.text.strip())
            return legacy_versions(self.text, first, self.clusters)
        return versions(self.text, sentence, self.clusters)

    async def _widened(self, claims: Sequence[str], best: Sequence[Best]) -> list[Best]:
        """The best larger passage: instead of a sentence under the gate (paper), or where it is better (legacy)."""
        gated = self.rules.variant == "paper"
        open_places = [at for at, current in enumerate(best) if not gated or current.score < self.rules.gate]
        tables = await self._wide.against([claims[at] for at in open_places])
        widened = list(best)
        for at, table in zip(open_places, tables, strict=True):
            scores = self.rules.score(table)
            place = int(np.nanargmax(scores))
            if gated or scores[place] > best[at].score:
                level, span = self._larger[place]
                widened[at] = Best(level, float(scores[place]), table[place], (span,))
        return widened
