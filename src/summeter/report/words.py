"""Plain words for aspects, statuses and verdicts, used on all pages."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from summeter.meta.verdicts import decision_words
from summeter.pages.numbers import number
from summeter.records import Judgment, Phrase, Status, names_no_error

VerdictStyle = Literal["good", "bad", "pad", "none", "plain"]

_ROUGE = re.compile(r"rouge[-_ ]?(?P<kind>\d+|lsum|l)(?:[-_. ](?P<side>precision|recall|f1|f|p|r))?", re.IGNORECASE)
# `_JOINED` separates reasons, but not before "nearest: ", which belongs to the reason, and not within brackets.
_SCALE = re.compile(r"\bscale:(\d+)-(\d+)(?:\||$)")
_JOINED = re.compile(r"; (?!nearest: )(?![^()]*\))")


class Gloss(NamedTuple):
    """The title and meaning of an aspect or a study, as phrases that pages translate.

    `meaning` is one sentence for readers, or None. `formula` is that of an aspect, or an empty string.
    """

    title: str
    meaning: str | None
    formula: str = ""


_GLOSSES = {
    "faithfulness": Gloss(
        Phrase("faithfulness"),
        "How much of the summary the source supports. 1 means that no sentence is wrong or made up.",
        "supported sentences ÷ sentences (for judges that split a summary into claims: the mean over claims)",
    ),
    "completeness": Gloss(
        Phrase("completeness"),
        "How many of the key facts that a good summary should contain are in this one.",
        "key facts present ÷ key facts",
    ),
    "conciseness": Gloss(
        Phrase("conciseness"),
        "How much of the summary conveys key facts. Sentences that convey none are padding.",
        "sentences that convey some key fact ÷ sentences",
    ),
    "composite": Gloss(
        Phrase("composite"),
        "The mean of the three; it exists only if all three could be judged.",
        "(faithfulness + completeness + conciseness) ÷ 3",
    ),
    "abstractiveness": Gloss(
        Phrase("abstractiveness"),
        "How much the summary differs in wording from the source. Neither high nor low is good in itself.",
        "mean share of the 1-, 3- and 5-grams of the summary that are not in the source",
    ),
}


def gloss(aspect: str) -> Gloss:
    """Return the title, meaning and formula of an aspect; an unknown aspect keeps its name.

    >>> gloss("rouge2").title
    'ROUGE-2'
    """
    if aspect in _GLOSSES:
        return _GLOSSES[aspect]
    if match := _ROUGE.fullmatch(aspect):
        kind = match["kind"].upper().replace("LSUM", "Lsum")
        side = f" {match['side']}" if match["side"] else ""
        what = Phrase("{size}-grams", size=kind) if kind.isdigit() else Phrase("longest common subsequences of words")
        meaning = Phrase("Overlap of {ngrams} with the reference summary. It compares words, not meaning.", ngrams=what)
        shared = Phrase("{ngrams} shared with the reference (Lin, 2004)", ngrams=what)
        return Gloss(f"ROUGE-{kind}{side}", meaning, shared)
    title = Phrase(aspect)
    return Gloss(title, Phrase("The judge's score for {aspect}.", aspect=title), "mean over summaries")


STATUS = {
    "ok": "judged",
    "unparsed": "the reply could not be read",
    "refused": "the judge refused to answer",
    "skipped": "there was nothing to judge",
    "error": "the request to the judge failed",
}

ALARM = {
    "running": "This run has not finished (or was killed): the page covers only what was judged so far.",
    "interrupted": "This run was interrupted: the page covers only what was judged before. "
    "Repeat the summeter score command to continue.",
    "incomplete": "In this run, some items failed and have no judgment. "
    "Repeat the summeter score command to try them again.",
    "failed": "This run failed before it finished: the page covers only what was judged before. "
    "Repeat the summeter score command to continue.",
}


def scale_of(signature: str) -> tuple[float, float] | None:
    """Return the ends of the scale in the signature of a rating, or None for other signatures.

    >>> scale_of("rts|aspect:fluency|scale:1-5|v:2"), scale_of("support|v:1")
    ((1.0, 5.0), None)
    """
    match = _SCALE.search(signature)
    return (float(match[1]), float(match[2])) if match else None


def style_of(status: Status, label: int | str | None, aspect: str) -> VerdictStyle:
    """Return the style of a verdict.

    It is good, bad, pad (padding), none (not judged) or plain (a number without a decision).
    """
    if status != "ok":
        return "none"
    if label is None:
        return "plain"
    if names_no_error(label) if isinstance(label, str) else label == 1:
        return "good"
    return "pad" if aspect == "conciseness" else "bad"


def verdict(judgment: Judgment, system: str | None = None, distance: str | None = None) -> str:
    """Return a verdict in words.

    Examples are `supported 0.97`, `entity error`, `missing` and `not judged: unparsed`. `distance` says how far the
    value is from the threshold, as in `supported 0.53, close`. The verdict on a pair is given from the side of `system`
    (default: the system shown first), as in `better than birch (shown first)`.
    """
    if (rival := judgment.target.rival) is not None:
        first = system != rival
        other = rival if first else judgment.target.system
        if judgment.status != "ok" or judgment.value is None:
            return Phrase("not judged against {rival}: {status}", rival=other, status=Phrase(judgment.status))
        preference = judgment.value if first else 1.0 - judgment.value
        relation = (
            "level with {rival} ({place})" if preference == 0.5
            else "better than {rival} ({place})" if preference > 0.5 else "worse than {rival} ({place})"
        )  # fmt: skip
        return Phrase(relation, rival=other, place=Phrase("shown first" if first else "shown second"))
    if judgment.status != "ok":
        return not_judged(judgment.status)
    decision = decision_words(judgment.aspect, judgment.label, judgment.error_type)
    value = judgment.value
    if decision is None:
        return number(value)
    # A value of 0 or 1 repeats the decision.
    shown = decision if value is None or value in (0, 1) else Phrase.join(" ", [decision, number(value)])
    return Phrase.join(", ", [shown, distance]) if distance else shown


def not_judged(status: Status) -> str:
    """Return the status of a missing judgment in words."""
    return Phrase("not judged: {status}", status=Phrase(status))


def reasons(judgment: Judgment, *, prose: bool = False) -> tuple[str, ...]:
    """Return the single reasons for a judgment.

    The reasons include how much of the document was not shown to the judge, if any. Evaluators of summeter join several
    reasons with "; ". A reason that was written by a model (the judgment has calls) or imported (`prose`) is not split,
    because it may contain semicolons.
    """
    text = judgment.reason or ""
    parts = [text] if prose or judgment.calls else _JOINED.split(text)
    if judgment.truncated_tokens:
        parts.append(f"about {judgment.truncated_tokens:,} tokens of the source were not shown to the judge")
    return tuple(part for part in parts if part)
