"""Plain words for aspects, statuses and verdicts, so that every page says the same thing the same way."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from summeter.records import Judgment, names_no_error

Kind = Literal["good", "bad", "pad", "none", "plain"]

_ROUGE = re.compile(r"rouge[-_ ]?(?P<kind>\d+|lsum|l)(?:[-_. ](?P<side>precision|recall|f1|f|p|r))?", re.IGNORECASE)
# Not before the nearest thing of the reason itself, and not in a text quoted in brackets.
_JOINED = re.compile(r"; (?!nearest: )(?![^()]*\))")


class Gloss(NamedTuple):
    """What an aspect is: a heading, one sentence for readers, and the formula."""

    title: str
    meaning: str
    formula: str


_GLOSSES = {
    "faithfulness": Gloss(
        "faithfulness",
        "How much of the summary the source supports. 1 means that no sentence is wrong or made up.",
        "supported sentences ÷ sentences (for judges that split a summary into claims: the mean over claims)",
    ),
    "completeness": Gloss(
        "completeness",
        "How many of the key facts a good summary should hold are in this one.",
        "key facts present ÷ key facts",
    ),
    "conciseness": Gloss(
        "conciseness",
        "How much of the summary carries key facts. Sentences that carry none are padding.",
        "sentences that carry some key fact ÷ sentences",
    ),
    "composite": Gloss(
        "composite",
        "The three together; it exists only where all three could be judged.",
        "(faithfulness + completeness + conciseness) ÷ 3",
    ),
    "abstractiveness": Gloss(
        "abstractiveness",
        "How far the summary uses wording of its own. Neither high nor low is good in itself.",
        "mean share of 1-, 3- and 5-grams of the summary that the source does not hold",
    ),
}


def gloss(aspect: str) -> Gloss:
    """What an aspect is; an unknown one keeps its name.

    >>> gloss("rouge2").title
    'ROUGE-2'
    """
    if aspect in _GLOSSES:
        return _GLOSSES[aspect]
    if match := _ROUGE.fullmatch(aspect):
        kind = match["kind"].upper().replace("LSUM", "Lsum")
        side = f" {match['side']}" if match["side"] else ""
        what = f"{kind}-grams" if kind.isdigit() else "longest common subsequences of words"
        meaning = f"Overlap of {what} with the reference summary. It sees words, not meaning."
        return Gloss(f"ROUGE-{kind}{side}", meaning, f"{what} shared with the reference (Lin, 2004)")
    return Gloss(aspect, f"The judge's score for {aspect}.", "mean over summaries")


NEUTRAL = frozenset({"abstractiveness"})
"""Aspects where more is not better."""

STATUS = {
    "ok": "judged",
    "unparsed": "the reply could not be read",
    "refused": "the judge refused to answer",
    "skipped": "there was nothing to judge",
    "error": "the judge could not be asked",
}

ALARM = {
    "running": "This run has not finished (or was killed): what follows covers only what was judged so far.",
    "interrupted": "This run was interrupted: what follows covers only what was judged before. "
    "The same summeter score command carries it on.",
    "incomplete": "In this run some items met an error and have no judgment. "
    "The same summeter score command tries them again.",
    "failed": "This run failed before its end: what follows covers only what was judged before. "
    "The same summeter score command carries it on.",
}


SAME = 1e-9
"""Means no further apart are equal: what parts them is the order in which they were summed."""


def same(value: float | None, other: float | None) -> bool:
    """Whether two numbers are equal but for rounding.

    >>> same(0.1 + 0.2, 0.3), same(0.3, 0.301), same(None, None)
    (True, False, False)
    """
    return value is not None and other is not None and abs(value - other) <= SAME


def number(value: float | None, digits: int = 2) -> str:
    """A number for reading; a dash where there is none, and a real minus sign.

    >>> number(-0.126), number(None)
    ('−0.13', '–')
    """
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "−")


def interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """`[0.88, 0.94]`, or nothing where there is no interval."""
    return "" if low is None or high is None else f"[{number(low, digits)}, {number(high, digits)}]"


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """`0.91 [0.88, 0.94]`."""
    return f"{number(value)} {interval(low, high)}".rstrip()


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 document`, `1,204 documents`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def ordinal(place: int) -> str:
    """`1st`, `2nd`, `11th`."""
    end = "th" if 10 <= place % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{end}"


def kind(judgment: Judgment) -> Kind:
    """The look of a verdict: good, bad, padding, not judged, or a plain number without a side."""
    if judgment.status != "ok":
        return "none"
    if judgment.label is None:
        return "plain"
    good = names_no_error(judgment.label) if isinstance(judgment.label, str) else judgment.label == 1
    if good:
        return "good"
    return "pad" if judgment.aspect == "conciseness" else "bad"


def verdict(judgment: Judgment, system: str | None = None) -> str:
    """A verdict in words: `supported 0.97`, `entity error`, `missing`, `not judged: unparsed`.

    On a pair, as seen from `system` (default: the one shown first): `better than birch (shown first)`.
    """
    if judgment.target.rival is not None:
        return _pair_verdict(judgment, judgment.target.rival, system)
    if judgment.status != "ok":
        return f"not judged: {judgment.status}"
    decision = decision_words(judgment.aspect, judgment.label, judgment.error_type)
    value = judgment.value
    if decision is None:
        return number(value)
    # A bare 0 or 1 beside the decision says nothing new.
    return decision if value is None or value in (0, 1) else f"{decision} {number(value)}"


def reasons(judgment: Judgment, *, prose: bool = False) -> tuple[str, ...]:
    """The reasons one by one, and how much of the document the judge was not shown.

    Evaluators of our own join several reasons with "; ". What a model (the judgment names its calls) or a stranger
    (`prose`) wrote stays in one piece, since there a semicolon may be one of a sentence.
    """
    text = judgment.reason or ""
    parts = [text] if prose or judgment.calls else _JOINED.split(text)
    if judgment.truncated_tokens:
        parts.append(f"about {judgment.truncated_tokens:,} tokens of the source were not shown to the judge")
    return tuple(part for part in parts if part)


def _pair_verdict(judgment: Judgment, rival: str, system: str | None) -> str:
    first = system != rival
    other = rival if first else judgment.target.system
    if judgment.status != "ok" or judgment.value is None:
        return f"not judged against {other}: {judgment.status}"
    value = judgment.value if first else 1.0 - judgment.value
    relation = "level with" if value == 0.5 else "better than" if value > 0.5 else "worse than"
    return f"{relation} {other} (shown {'first' if first else 'second'})"


def decision_words(aspect: str, label: int | str | None, error_type: str | None) -> str | None:
    """A decision in words; None where nothing was decided."""
    if label is None or isinstance(label, str):
        return label
    if aspect == "completeness":
        return "covered" if label == 1 else "missing"
    if aspect == "conciseness":
        return "carries a key fact" if label == 1 else "padding"
    if label == 1:
        return "supported"
    return "unsupported" if error_type is None or names_no_error(error_type) else error_type


# ---- studies ----


class About(NamedTuple):
    """A heading and, where all rows of that name say one thing, the sentence that says it."""

    title: str
    meaning: str | None


STUDIES = {
    "correlation": About(
        "Correlation with people",
        "Correlation of a judge's scores with people's: 1 is perfect agreement, 0 is no relation, below 0 is "
        "disagreement (pairwise_accuracy is the share of pairs that both put in the same order).",
    ),
    "classification": About(
        "Classification",
        "How often a judge's yes or no equals people's. A balanced accuracy of 0.5 is chance, 1 is perfect.",
    ),
    "protocol": About(
        "Benchmark protocol",
        "Balanced accuracy on the test rows of the benchmark, by data set and averaged as in its paper: 0.5 is chance, "
        "1 is perfect. Thresholds were tuned where the protocol says so.",
    ),
    "errors": About(
        "Error types",
        "The share of sentences with an error in which the judge names the same error type as people.",
    ),
    "prefer": About("Pairwise ranking", None),
    "pair": About(
        "Pairs of systems",
        "points: what the first system of a pair wins by the judge. agree: whether people prefer the same system (1 "
        "yes, 0 no).",
    ),
    "correct_preferences": About(
        "Correct preferences", "The number of pairs of systems on which the judge and people prefer the same system."
    ),
    "win_rate": About("Win rates", "A system's share of the points against all others: 0.5 is average."),
    "best_rate": About("Best of all", "The share of documents on which a system is the best."),
    "bradley_terry": About(
        "Strength of systems (Bradley-Terry)",
        "Strength estimated from all wins and losses: 0 is the average; a system 1 above another wins 73 of 100 times.",
    ),
    "stability": About("Correlation per system", None),
    "per_candidate": About(
        "Correlation on each system",
        "Correlation of judge and people over the summaries of one system. An even-handed judge has similar values on "
        "all systems.",
    ),
    "candidate_spread": About(
        "Spread over systems", "Standard deviation of that correlation over systems: 0 means equal on all systems."
    ),
    "meta_correlation": About(
        "Correlation with system quality",
        "Whether agreement with people depends on the quality of the system: below 0, it falls as quality rises.",
    ),
    "reliability": About(
        "Agreement of two judges",
        "Correlation of two judges over the summaries of one system. Where it is low, trust neither alone.",
    ),
    "reliability_check": About(
        "Does agreement of judges predict agreement with people?",
        "Correlation, over systems, of the agreement between judges and their agreement with people: 1 predicts it "
        "perfectly, 0 not at all.",
    ),
    "verdict": About("Where people are needed", "1 where two judges agree too little to replace people, else 0."),
    "dependence": About(
        "Inter-aspect correlation",
        "Correlation of two aspects. A judge far above people may score one quality under two names.",
    ),
    "self_consistency": About(
        "Repeated questions", "How often a judge answers the same when it is asked again: 1 is always."
    ),
    "agree": About("Agreement of people", None),
    "agreement": About(
        "Inter-annotator agreement",
        "Agreement beyond chance: 1 is perfect, 0 is chance (shares such as identical and span_f1 are not corrected "
        "for chance).",
    ),
    "annotator": About("Each annotator", "Agreement of one annotator with the others together."),
    "agreement_without": About(
        "Without one annotator", "Agreement of the others: where it rises, the one left out disagrees with them."
    ),
    "judge_and_people": About(
        "Judge and people", "Agreement of a judge with the merged votes of people, as two raters."
    ),
    "agreement_with_judge": About(
        "The judge as one more annotator",
        "Agreement of annotators and judge together. Far below that of people alone, the judge differs from them.",
    ),
    "overruled": About(
        "Override rate", "How often people decided against the machine's verdict that they were shown."
    ),
    "reasons": About(
        "What reasons are about",
        "How many of a judge's reasons mention an aspect other than the one asked about (off_aspect_rate), or only "
        "others: the judge may score something else.",
    ),
    "estimate": About(
        "Estimated mean of people",
        "What people would say of a system on average, had they judged every summary: the judge's scores corrected by "
        "a few votes of people.",
    ),
    "calibration": About(
        "Calibration of the judge",
        "Agreement of the judge's decisions with people's, on data that did not choose its threshold.",
    ),
    "card": About("Dataset card", "A description of data and scores: means, their stability and their differences."),
    "compare": About(
        "Significance of differences",
        "How far the first of a pair is ahead of the second. Where an interval holds 0 or p is not small, the "
        "difference may be chance; members of one cluster do not differ significantly.",
    ),
    "bias": About("Bias of judges", None),
    "position": About(
        "Position bias",
        "flip_rate: how many verdicts change when two summaries swap places; slot_preference: the share of these that "
        "chose the first place (0.5 is no bias).",
    ),
    "length": About(
        "Length bias",
        "Whether a judge favours long summaries: partial_pearson is the correlation with length at equal scores of "
        "people, length_gap how much more than people; 0 is no bias.",
    ),
    "self_preference": About(
        "Self-preference",
        "How much more than people a judge favours summaries of its own model family: 0 is no bias.",
    ),
    "overlap": About(
        "Overlap of key-fact lists", "The share of one list of key facts that is in the other: 1 is all, 0 none."
    ),
    "gate": About("Gate", "The means that were compared with a bound."),
}  # fmt: skip


def about(study: str) -> About:
    """What a study is; an unknown one keeps its name.

    >>> about("win_rate").title, about("mine").title
    ('Win rates', 'mine')
    """
    return STUDIES.get(study, About(study, None))
