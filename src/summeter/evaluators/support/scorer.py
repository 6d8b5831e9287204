"""How well a text supports a claim, by its words.

The scorer prepares an evidence text once and then scores any number of claims against it; `network.py` weighs what it
sees of a claim together with what the embedded network says.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from summeter.evaluators.support.analysis import Word, analyse
from summeter.evaluators.support.checks import CONFLICTS, findings, reasons_for
from summeter.evaluators.support.evidence import Evidence, prepare
from summeter.evaluators.support.features import Measured, measure
from summeter.evaluators.support.scene import Finding, Kind, Scene
from summeter.evaluators.support.weights import THRESHOLD, Combination, Model, Seen, Use, shipped
from summeter.interrupt import checkpoint


class Support(NamedTuple):
    """Verdict on one claim.

    ``probability`` lies in 0..1, or is None when there is nothing to check (``reasons`` say why). ``evidence`` are
    (start, end) spans in code points of the evidence text, best first; empty when nothing in it speaks of the claim.
    """

    probability: float | None
    evidence: tuple[tuple[int, int], ...]
    reasons: tuple[str, ...]

    @property
    def supported(self) -> bool | None:
        """Whether the probability is at least THRESHOLD; None where there is none."""
        return None if self.probability is None else self.probability >= THRESHOLD


class Answer(NamedTuple):
    """What the network says of a claim, and what that means beside the words."""

    log_odds: float
    combination: Combination


class Look(NamedTuple):
    """What the words of a claim show: what was measured, the stems of its content words, what was found against it."""

    measured: Measured
    keys: frozenset[str]
    scene: Scene
    findings: Sequence[Finding]

    @property
    def conflicts(self) -> dict[Kind, int]:
        """How many findings of each kind count against the score."""
        return dict(Counter(finding.kind for finding in self.findings if finding.kind in CONFLICTS))


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
    """Support by word overlap, continuity and the table of checks, weighed by a small logistic model.

    Deterministic, CPU only, no download; about a hundred microseconds to a few milliseconds a claim. It reads the
    whole evidence text, however long. It knows words, not meaning: a faithful paraphrase in other words scores low.
    ``named`` says what the evidence text is: the "source" of summary sentences, or the "summary" that key facts are
    looked for in. Reasons call it so, and it picks the weights (short facts are worded more freely than summary
    sentences, so less overlap means as much). ``base_rate`` is the share of claims that are supported where it is used:
    probabilities are calibrated for one half, and moved to it.

    >>> scorer = LexicalScorer()
    >>> text = "Profits rose 14 percent in May. Staff numbers fell."
    >>> evidence = scorer.prepare(text, [(0, 31), (32, 51)])
    >>> verdict = scorer.score(["Profits rose 41 percent."], evidence)[0]
    >>> verdict.evidence, verdict.supported, verdict.reasons
    (((0, 31),), False, ('41 is not in the source; nearest: 14',))
    """

    named: Use = "source"
    model: Model | None = None
    base_rate: float = 0.5

    @property
    def _model(self) -> Model:
        return self.model if self.model is not None else shipped()

    @property
    def id(self) -> str:
        """``lexical@`` and the hash of weights, word list and feature revision."""
        return f"lexical@{self._model.digest}"

    def prepare(self, text: str, sentences: Sequence[tuple[int, int]]) -> Evidence:
        """Index the text. Raises ValueError if the spans overlap or leave it."""
        return prepare(text, sentences)

    def score(self, claims: Sequence[str], evidence: Evidence) -> list[Support]:
        """One verdict for each claim, in order; None where claim or evidence has no words to check."""
        looks = (self.look(claim, evidence) for claim in claims)
        return [look if isinstance(look, Support) else self.verdict(look, evidence) for look in looks]

    def probabilities(self, claims: Sequence[str], evidence: Evidence) -> list[float | None]:
        """The probabilities of `score` without evidence and reasons."""
        looks = (self.look(claim, evidence) for claim in claims)
        return [None if isinstance(look, Support) else self.probability(look) for look in looks]

    def look(self, claim: str, evidence: Evidence) -> Look | Support:
        """What the words show, not yet weighed; a verdict where there is nothing to check."""
        checkpoint()
        words = _claim_words(claim)
        if not any(word.content for word in words):
            return Support(None, (), ("no content words to check",))
        if not evidence.words:
            return Support(None, (), (f"the {self.named} has no words",))
        measured = measure(words, evidence, self._model.common)
        keys = frozenset(word.key for word in words if word.content)
        return Look(measured, keys, *findings(claim, measured, evidence, self.named))

    def seen(self, look: Look, network: float = 0.0) -> Seen:
        """What a calibration reads of a claim that was looked at; ``network``: the log-odds of the network, which
        does not speak for a claim with a number that stands nowhere."""
        if "number" in look.conflicts:
            network = min(network, 0.0)
        score = self._model.uses[self.named].score(look.measured.features, look.conflicts)
        return Seen(score, network, 1 - look.measured.features["sentence"], look.scene.evidence.is_dialogue)

    def probability(self, look: Look, network: Answer | None = None) -> float:
        """The calibrated probability, by the words alone or with the network's answer."""
        if network is None:
            return self._model.uses[self.named].calibration.probability(self.seen(look), self.base_rate)
        calibration = network.combination.uses[self.named]
        return calibration.probability(self.seen(look, network.log_odds), self.base_rate)

    def verdict(self, look: Look, evidence: Evidence, network: Answer | None = None) -> Support:
        """The verdict on a claim that was looked at."""
        probability = self.probability(look, network)
        reasons = reasons_for(look.scene, look.findings, supported=probability >= THRESHOLD)
        return Support(probability, _spans(look.measured, evidence, look.keys), reasons)


@lru_cache(maxsize=512)
def _claim_words(claim: str) -> Sequence[Word]:
    # A key fact is asked of every summary of its document and of every sentence of each: read it once.
    return analyse(claim)
