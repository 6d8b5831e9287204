"""Words and the embedded network together: one calibrated probability.

The network (an NLI cross-encoder that comes with summeter, `models/embedded/support`) reads the claim beside the
sentences that share most words with it, where the words leave doubt; elsewhere they decide alone. Its weight was fitted
on claims that it was not trained on (`combination.json`, by `scripts/network/combine.py`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence, Set
from functools import cache
from typing import Any, NamedTuple

from summeter.data.shipped import shipped_text
from summeter.evaluators.support.scorer import LexicalScorer, Look, Support, Use, sigmoid
from summeter.evaluators.support.words import Evidence
from summeter.interrupt import checkpoint
from summeter.models.networks import Entailment, Network, entailments
from summeter.records import Parameter, UsageError

MODEL = "embedded/support"
BOUND = 5.0
"""Limit of the network's log-odds in either direction, because some of its errors have extreme probabilities."""
DOUBT = (0.35, 0.75)
"""The network is asked about claims to which the words alone, where half of the claims are supported, give a
probability between these."""
SURE = 0.7
"""From this probability on the network's answer is given as a reason."""
ROOM = 110
"""Words of a premise; one sentence may have more."""
NEAR = 0.2
"""What a sentence counts of the better of its neighbours: the one before often says who `she` is."""
LENGTH = 0.3
"""The power of its length that a sentence's count is divided by: long sentences have words of everything."""


class Weights(NamedTuple):
    """What words and network mean together: a weight of the log-odds of each, and a shift. ``reworded``: the network
    counts by so much more where no word of the claim is matched."""

    words: float
    network: float
    reworded: float
    shift: float

    def log_odds(self, words: float, network: float, unmatched: float) -> float:
        """Log-odds of support; ``unmatched`` is the share of the claim's words that the best sentence lacks.

        >>> Weights(1.0, 0.2, 0.4, 0.0).log_odds(0.5, network=-5.0, unmatched=0.5)
        -1.5
        """
        return self.words * words + (self.network + self.reworded * unmatched) * network + self.shift


@cache
def combination() -> Mapping[str, Any]:
    """What comes with the package to combine words and network: `card` and `model` (numbers by use)."""
    stored: Mapping[str, Any] = json.loads(shipped_text(str(__package__), "combination.json"))
    return stored


def signed() -> dict[str, object]:
    """The part of a signature that the network adds."""
    model = json.dumps(combination()["model"], sort_keys=True)
    return {"joint": hashlib.sha256(model.encode()).hexdigest()[:16], "doubt": list(DOUBT)}


async def score(
    claims: Sequence[str], evidence: Evidence, use: Use, network: Network, base_rate: float = 0.5
) -> list[Support]:
    """One verdict for each claim, in order, as `LexicalScorer.score` gives them, the network included where the words
    leave doubt.

    Raises UsageError for another network than the one the combination was fitted on.
    """
    known = combination()["card"]["network"]
    if network.id != known:
        raise UsageError(
            f"support weighs the answers of {known}, and the role 'support' is bound to {network.id}; leave it out of ",
            Parameter("models"),
            ". For a network of your own there are summac and fenice",
        )
    weights = Weights(**combination()["model"][use])
    scorer = LexicalScorer(use, base_rate=base_rate)
    looks = [scorer.look(claim, evidence) for claim in claims]
    asked = {i: look for i, look in enumerate(looks) if isinstance(look, Look) and in_doubt(scorer.log_odds(look))}
    pairs = [(premise(evidence, look.keys), claims[i]) for i, look in asked.items()]
    answers = dict(zip(asked, await entailments(network, pairs), strict=True))
    verdicts = []
    for i, look in enumerate(looks):
        if isinstance(look, Support):
            verdicts.append(look)
        elif i not in answers:
            verdicts.append(scorer.verdict(look, scorer.log_odds(look)))
        else:
            joint = weights.log_odds(scorer.log_odds(look), counted(answers[i], look), unmatched(look))
            verdict = scorer.verdict(look, joint)
            verdicts.append(verdict._replace(reasons=_reasons(verdict, answers[i])))
    return verdicts


def in_doubt(log_odds: float) -> bool:
    """Whether the network is asked about a claim to which the words give these log-odds."""
    least, most = DOUBT
    return least <= sigmoid(log_odds) <= most


def counted(entailment: Entailment, look: Look) -> float:
    """The network's log-odds as they count: it does not speak for a claim with a number that stands nowhere."""
    return min(log_odds(entailment), 0.0) if "number" in look.conflicts else log_odds(entailment)


def unmatched(look: Look) -> float:
    """The share of the claim's words that the best sentence lacks."""
    return 1 - look.features.overlap.sentence


def log_odds(entailment: Entailment) -> float:
    """Log-odds that the claim follows from its premise, within BOUND.

    >>> round(log_odds(Entailment(0.8, 0.1, 0.1)), 3)
    1.386
    """
    least = 1 / (1 + math.exp(BOUND))
    share = min(max(entailment.entail, least), 1 - least)
    return math.log(share / (1 - share))


def premise(evidence: Evidence, keys: Set[str], needed: Collection[int] = ()) -> str:
    """The sentences that speak most of a claim, in the order of the text, as many as ROOM holds.

    A sentence counts by its words of the claim's content words (`keys`: their stems), rare ones more than those in
    every sentence, and by those of its neighbours. `needed` are sentences that are taken first, by number. The evidence
    must have a sentence with words.

    >>> from summeter.evaluators.support.words import prepare
    >>> text = "Profits rose in May. It rained. Staff fell in May."
    >>> premise(prepare(text, [(0, 20), (21, 31), (32, 50)]), {"profit", "staff", "may"})
    'Profits rose in May. It rained. Staff fell in May.'
    """
    checkpoint()
    count = len(evidence.sentences)
    shared = [{word.key for word in evidence.words_of(i, i + 1)} & keys for i in range(count)]
    weight = {key: math.log(1 + count / max(1, sum(key in own for own in shared))) for key in keys}
    # Sets have no order of their own; sums in another order differ in the last digit, and ties would fall otherwise.
    own = [math.fsum(weight[key] for key in held) for held in shared]
    near = [max(own[max(0, i - 1) : i] + own[i + 1 : i + 2], default=0.0) for i in range(count)]
    score = [(own[i] + NEAR * near[i]) / _size(evidence, i) ** LENGTH for i in range(count)]
    chosen: list[int] = []
    words = 0
    for i in sorted(range(count), key=lambda i: (i not in needed, -score[i], i)):
        if not chosen or i in needed or words + _size(evidence, i) <= ROOM:
            chosen.append(i)
            words += _size(evidence, i)
    return " ".join(evidence.text[slice(*evidence.sentences[i])].strip() for i in sorted(chosen))


def _size(evidence: Evidence, sentence: int) -> int:
    return evidence.bounds[sentence + 1] - evidence.bounds[sentence]


def _reasons(verdict: Support, entailment: Entailment) -> tuple[str, ...]:
    """The reasons, and the network's where it is sure: words first, for they can be checked at a glance."""
    if verdict.supported and entailment.entail >= SURE:
        return (*verdict.reasons, f"it follows from this, says the network ({_short(entailment.entail)})")
    if verdict.supported is False and entailment.contradict >= SURE:
        return (*verdict.reasons, f"contradicted here, says the network ({_short(entailment.contradict)})")
    if verdict.supported is False and entailment.entail < 1 - SURE:
        return (*verdict.reasons, f"it does not follow from this, says the network ({_short(entailment.entail)})")
    return verdict.reasons


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0") if share < 0.995 else "1.0"
