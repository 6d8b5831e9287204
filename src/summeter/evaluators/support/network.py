"""Words and the embedded network together: one score, one calibrated probability.

The network (an NLI cross-encoder that comes with summeter, `models/embedded/support`) reads the claim beside the
sentences that share most words with it, where the words leave doubt; elsewhere they decide alone. Its weight, and what
the joint score means, was fitted on data kept out of its training (`combination.json`, by
`scripts/network/combine.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from summeter.evaluators.support.evidence import Evidence
from summeter.evaluators.support.premises import premise
from summeter.evaluators.support.scorer import Answer, LexicalScorer, Look, Support
from summeter.evaluators.support.weights import Use, combination
from summeter.models.networks import Entailment, Network, entailments
from summeter.records import Parameter, UsageError

MODEL = "embedded/support"
BOUND = 5.0
"""No answer of the network counts as more certain than these log-odds: it is sure of some of its errors."""
DOUBT = (0.35, 0.75)
"""The network is asked about claims to which the words alone, where half of the claims are supported, give a
probability between these. Both are calibrated: a probability means the same whoever gave it. On
human.jsonl.gz, asking about the others as well changes the mean AUROC of its seven sources by .001."""
SURE = 0.7
"""From this probability on the network's answer is given as a reason."""


def log_odds(entailment: Entailment) -> float:
    """Log-odds that the claim follows from its premise, within BOUND.

    >>> round(log_odds(Entailment(0.8, 0.1, 0.1)), 3)
    1.386
    """
    least = 1 / (1 + math.exp(BOUND))
    share = min(max(entailment.entail, least), 1 - least)
    return math.log(share / (1 - share))


async def score(
    claims: Sequence[str], evidence: Evidence, use: Use, network: Network, base_rate: float = 0.5
) -> list[Support]:
    """One verdict for each claim, in order, as `LexicalScorer.score` gives them, the network included where the words
    leave doubt.

    Raises UsageError for another network than the one the combination was fitted on.
    """
    joint = combination()
    known = joint.card["network"]
    if network.id != known:
        raise UsageError(
            f"support weighs the answers of {known}, and the role 'support' is bound to {network.id}; leave it out of ",
            Parameter("models"),
            ". For a network of your own there are summac and fenice",
        )
    words = LexicalScorer(use, base_rate=base_rate)
    looks = [words.look(claim, evidence) for claim in claims]
    pairs = [
        (premise(evidence, look.keys), claim)
        for claim, look in zip(claims, looks, strict=True)
        if isinstance(look, Look) and in_doubt(look, use)
    ]
    answers = iter(await entailments(network, pairs))
    verdicts: list[Support] = []
    for look in looks:
        if isinstance(look, Support):
            verdicts.append(look)
        elif in_doubt(look, use):
            entailment = next(answers)
            verdict = words.verdict(look, evidence, Answer(log_odds(entailment), joint))
            verdicts.append(verdict._replace(reasons=_reasons(verdict, entailment)))
        else:
            verdicts.append(words.verdict(look, evidence))
    return verdicts


def in_doubt(look: Look, use: Use) -> bool:
    """Whether the network is asked about a claim."""
    least, most = DOUBT
    return least <= LexicalScorer(use).probability(look) <= most


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
