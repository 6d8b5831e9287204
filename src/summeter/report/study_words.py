"""What each study tells, in a sentence for readers."""

from __future__ import annotations

from typing import NamedTuple


class About(NamedTuple):
    """A heading and, where the rows of that name have one thing to say, the sentence that says it."""

    title: str
    meaning: str | None


STUDIES = {
    "correlation": About(
        "Correlation with people",
        "How far a judge's scores rise and fall with people's: 1 is in step, 0 is no relation, below 0 the reverse "
        "(pairwise_accuracy is the share of pairs that both put in the same order).",
    ),
    "classification": About(
        "Right and wrong decisions",
        "How often a judge's yes or no is people's: a balanced accuracy of 0.5 is no better than a coin, 1 is never "
        "wrong.",
    ),
    "protocol": About(
        "A benchmark's protocol",
        "Balanced accuracy on the benchmark's test rows, by data set and averaged as its paper does: 0.5 is no better "
        "than a coin, 1 is never wrong. Thresholds were tuned where the protocol says.",
    ),
    "errors": About(
        "Types of error",
        "Of the sentences that people call wrong in some way, the share to which the judge gives the same kind of "
        "error.",
    ),
    "prefer": About("Who is preferred", None),
    "pair": About(
        "Pairs of systems",
        "What the first system of a pair wins by the judge (points), and whether people prefer the same one (agree: 1 "
        "yes, 0 no).",
    ),
    "correct_preferences": About(
        "Correct preferences", "For how many of n pairs of systems the judge prefers the one that people prefer."
    ),
    "win_rate": About("Win rates", "A system's share of points against all the others: 0.5 is as many won as lost."),
    "best_rate": About("Best of all", "The share of documents on which a system is the best."),
    "bradley_terry": About(
        "Strength of systems",
        "How strong a system is by all its wins and losses together: 0 is the average, and a difference of 1 is won "
        "73 times in 100.",
    ),
    "stability": About("The same trust for every system", None),
    "per_candidate": About(
        "Correlation on each system",
        "How far judge and people go together on the summaries of one system: a judge that is even-handed has much "
        "the same number for each.",
    ),
    "candidate_spread": About(
        "Spread over systems", "How much that correlation differs between systems: 0 is the same trust for all."
    ),
    "meta_correlation": About(
        "Trust and quality",
        "Whether trust depends on how good a system is: below 0, the judge agrees less with people the better the "
        "system.",
    ),
    "reliability": About(
        "Agreement of two judges",
        "How far two judges go together on the summaries of one system: where it is low, do not trust either alone.",
    ),
    "reliability_check": About(
        "Does agreement of judges foretell trust?",
        "Whether judges agree with people on those systems on which they agree with each other: 1 always, 0 no "
        "relation.",
    ),
    "verdict": About("Where people are needed", "1 where two judges agree too little to do without people, else 0."),
    "dependence": About(
        "Aspects that go together",
        "How far two aspects rise and fall together: a judge far above people may be scoring one thing twice.",
    ),
    "self_consistency": About(
        "The same question again", "How far a judge says the same when it is asked the same again: 1 is always."
    ),
    "agree": About("Agreement of people", None),
    "agreement": About(
        "Among annotators",
        "How far annotators agree beyond chance: 1 is full agreement, 0 is chance (shares such as identical and "
        "span_f1 do not allow for chance).",
    ),
    "annotator": About("Each annotator", "How far one annotator agrees with the others together."),
    "agreement_without": About(
        "Without one annotator", "Agreement of the others: where it rises, the one left out is who disagrees."
    ),
    "judge_and_people": About(
        "Judge and people", "How far a judge agrees with the merged votes of people, as two raters."
    ),
    "agreement_with_judge": About(
        "The judge as one more annotator",
        "Agreement among annotators and the judge: well below that of people alone, the judge is not one of them.",
    ),
    "overruled": About(
        "Overruled", "How often people decided against the machine's verdict that they were shown."
    ),
    "reasons": About(
        "What reasons speak of",
        "How many of a judge's reasons speak of another aspect than the one it was asked about (share_other_aspect), "
        "or only of others: such a judge may be scoring something else.",
    ),
    "estimate": About(
        "People's mean, estimated",
        "What people would say of a system on average, had they judged every summary: few votes of theirs, and many "
        "of the judge's corrected by them.",
    ),
    "calibration": About(
        "The judge on trial",
        "How far the judge's decisions are people's, on data that did not choose its threshold.",
    ),
    "card": About(
        "Benchmark card", "What these data and scores are like: means, how steady they are, and where they differ."
    ),
    "compare": About(
        "Are the differences more than chance?",
        "How far the first of a pair is ahead of the second: where an interval holds 0 or p is not small, it may be "
        "chance; members of one cluster are not told apart.",
    ),
    "bias": About("Bias of judges", None),
    "position": About(
        "Place of showing",
        "flip_rate: how many verdicts turn when two summaries swap places; slot_preference: of these, the share that "
        "chose the first place (0.5 is no leaning).",
    ),
    "length": About(
        "Length",
        "Whether a judge favours long summaries: partial_pearson is that at equal scores of people, length_gap by how "
        "much more than people do; 0 is not at all.",
    ),
    "self_preference": About(
        "Its own kind",
        "How much more than people a judge favours summaries of its own family: 0 is not at all.",
    ),
    "overlap": About(
        "Two lists of key facts", "How much of one list of key facts is in the other: 1 is all, 0 nothing."
    ),
    "gate": About("Gate", "The means that were held against a bound."),
}  # fmt: skip


def about(study: str) -> About:
    """What a study is; an unknown one keeps its name.

    >>> about("win_rate").title, about("mine").title
    ('Win rates', 'mine')
    """
    return STUDIES.get(study, About(study, None))
