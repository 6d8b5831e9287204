"""How well a text supports a claim, by its words.

The scorer prepares an evidence text once and then scores any number of claims against it; `network.py` weighs what it
sees of a claim together with what the embedded network says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from summeter.evaluators.support.analysis import Word, analyse
from summeter.evaluators.support.evidence import Evidence, prepare
from summeter.evaluators.support.features import Measured, measure
from summeter.evaluators.support.reasons import reasons_for
from summeter.evaluators.support.weights import Calibration, Use, Weights, shipped
from summeter.interrupt import checkpoint


class Support(NamedTuple):
    """Verdict on one claim.

    ``probability`` lies in 0..1, or is None when there is nothing to check (``reasons`` say why). ``evidence`` are
    (start, end) spans in code points of the evidence text, best first; empty when nothing in it speaks of the claim.
    ``supported`` is the scorer's decision, which may rest on more than the probability; None where that is None.
    """

    probability: float | None
    evidence: tuple[tuple[int, int], ...]
    reasons: tuple[str, ...]
    supported: bool | None


class Look(NamedTuple):
    """What the words of a claim show: what was measured, the stems of its content words, the score they give."""

    claim: str
    measured: Measured
    keys: frozenset[str]
    score: float


def _spans(measured: Measured, evidence: Evidence, keys: frozenset[str]) -> tuple[tuple[int, int], ...]:
    """Sentences of the best window that hold words of the claim and the one with most of what is elsewhere.

    Best first: the sentence that holds most of the claim's words, of equals the earlier.
    """

    def held(i: int) -> int:
        return len({word.key for word in evidence.words_of(i, i + 1) if word.content} & keys)

    chosen = {i for i in range(*measured.best) if held(i)}
    counts: dict[int, int] = {}
    for key in {word.key for word in measured.elsewhere}:
        for i in {evidence.sentence_of(position) for position in evidence.places.get(key, ())}:
            counts[i] = counts.get(i, 0) + 1
    if counts:
        chosen.add(max(counts, key=lambda i: (counts[i], -i)))
    ordered = sorted(chosen, key=lambda i: (-held(i), i))
    return tuple(_trimmed(evidence.text, evidence.sentences[i]) for i in ordered)


def _trimmed(text: str, span: tuple[int, int]) -> tuple[int, int]:
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


@dataclass(frozen=True)
class LexicalScorer:
    """Support by word overlap, continuity and a few checks (numbers, negation, opposites), weighed by a small
    logistic model.

    Deterministic, CPU only, no download; about a hundred microseconds to a few milliseconds a claim. It reads the
    whole evidence text, however long. It knows words, not meaning: a faithful paraphrase in other words scores low.
    ``named`` says what the evidence text is: the "source" of summary sentences, or the "summary" that key facts are
    looked for in. Reasons call it so, and it picks calibration and decision (short facts are worded more freely
    than summary sentences, so less overlap means as much); the order of claims is the same in both.

    A claim is decided supported when its score reaches what a claim that copies as much needs
    (`Calibration.least`), and every number of it stands in the text.

    >>> scorer = LexicalScorer()
    >>> text = "Profits rose 14 percent in May. Staff numbers fell."
    >>> evidence = scorer.prepare(text, [(0, 31), (32, 51)])
    >>> verdict = scorer.score(["Profits rose 41 percent."], evidence)[0]
    >>> verdict.evidence, verdict.supported, verdict.reasons
    (((0, 31),), False, ('41 is not in the source; nearest: 14',))
    """

    named: Use = "source"
    weights: Weights | None = None

    @property
    def _weights(self) -> Weights:
        return self.weights if self.weights is not None else shipped()

    @property
    def id(self) -> str:
        """``lexical@`` and the hash of weights, word list and feature revision."""
        return f"lexical@{self._weights.digest}"

    def prepare(self, text: str, sentences: Sequence[tuple[int, int]]) -> Evidence:
        """Index the text. Raises ValueError if the spans overlap or leave it."""
        return prepare(text, sentences)

    def score(self, claims: Sequence[str], evidence: Evidence) -> list[Support]:
        """One verdict for each claim, in order; None where claim or evidence has no words to check."""
        return [self._one(claim, evidence) for claim in claims]

    def decide(self, claims: Sequence[str], evidence: Evidence) -> list[Support]:
        """The verdicts of `score` without evidence and reasons, which take most of the time."""
        calibration = self._weights.calibration[self.named]
        looks = [self.look(claim, evidence) for claim in claims]
        return [
            look
            if isinstance(look, Support)
            else Support(calibration.probability(look.score), (), (), _supported(look, look.score, calibration))
            for look in looks
        ]

    def _one(self, claim: str, evidence: Evidence) -> Support:
        look = self.look(claim, evidence)
        if isinstance(look, Support):
            return look
        return self.decided(look, evidence, look.score, self._weights.calibration[self.named])

    def look(self, claim: str, evidence: Evidence) -> Look | Support:
        """What the words show, not yet decided; a verdict where there is nothing to check."""
        checkpoint()
        words = _claim_words(claim)
        if not any(word.content for word in words):
            return Support(None, (), ("no content words to check",), None)
        if not evidence.words:
            return Support(None, (), (f"the {self.named} has no words",), None)
        measured = measure(words, evidence, self._weights.common)
        keys = frozenset(word.key for word in words if word.content)
        return Look(claim, measured, keys, self._weights.score(measured.features))

    def decided(self, look: Look, evidence: Evidence, score: float, calibration: Calibration) -> Support:
        """The verdict on a claim with this score, by this calibration."""
        supported = _supported(look, score, calibration)
        return Support(
            calibration.probability(score),
            _spans(look.measured, evidence, look.keys),
            reasons_for(look.claim, look.measured, evidence, self.named, supported=supported),
            supported,
        )


@lru_cache(maxsize=512)
def _claim_words(claim: str) -> Sequence[Word]:
    # A key fact is asked of every summary of its document and of every sentence of each: read it once.
    return analyse(claim)


def _supported(look: Look, score: float, calibration: Calibration) -> bool:
    return score >= calibration.least(look.measured.features["copied"]) and not look.measured.numbers
