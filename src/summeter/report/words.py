"""Plain words for aspects, statuses and verdicts, so that every page says the same thing the same way."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from summeter.pages.numbers import number
from summeter.records import Judgment, names_no_error

Kind = Literal["good", "bad", "pad", "none", "plain"]

_ROUGE = re.compile(r"rouge[-_ ]?(?P<kind>\d+|lsum|l)(?:[-_. ](?P<side>precision|recall|f1|f|p|r))?", re.IGNORECASE)
# Not before the nearest thing of the reason itself, and not in a text quoted in brackets.
_SCALE = re.compile(r"\bscale:(\d+)-(\d+)(?:\||$)")
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


def scale_of(signature: str) -> tuple[float, float] | None:
    """The ends of the scale that a rating's signature names.

    >>> scale_of("rts|aspect:fluency|scale:1-5|v:2"), scale_of("support|v:1")
    ((1.0, 5.0), None)
    """
    match = _SCALE.search(signature)
    return (float(match[1]), float(match[2])) if match else None


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


def verdict(judgment: Judgment, system: str | None = None, distance: str | None = None) -> str:
    """A verdict in words: `supported 0.97`, `entity error`, `missing`, `not judged: unparsed`.

    `distance` says how far its value is from the threshold: `supported 0.53, close`.

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
    shown = decision if value is None or value in (0, 1) else f"{decision} {number(value)}"
    return f"{shown}, {distance}" if distance else shown


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
