"""Do a judge's reasons speak of the aspect it was asked about, or of another (Shen et al., EMNLP 2023, appendix G).

A judge that is asked for fluency and complains of missing facts has scored something else. Which aspects a reason
speaks of is told by words, without a model: a list for each aspect, in our words, which a user can add to.
Aspects that people, too, explain alike share one list (`KIN`). What such lists find and miss was measured on
released reasons: docs/meta-people.md, "reasons".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from summeter.meta.results import Row, Study, interval_row, resampling
from summeter.meta.selection import Selection, checks_keywords
from summeter.records import InputError, Judgment, UsageError
from summeter.runs.run import RunFolder
from summeter.stats.base import undefined
from summeter.stats.resample import Resampling

KIN = {"faithfulness": "consistency", "completeness": "relevance", "coverage": "relevance"}
"""Aspect -> the aspect whose words it shares."""

LEXICON: dict[str, tuple[str, ...]] = {
    "coherence": (
        "coheren*", "incoheren*", "cohesi*", "flow", "flows", "transition*", "disjoint*", "disconnect*", "connect*",
        "abrupt*",
        "organi*", "disorgani*", "well structured", "well-structured", "structure of the summary", "overall structure",
        "logical*", "follow from*", "hang together", "hangs together", "jump*", "leap*", "choppy", "unrelated",
        "stand alone", "stands alone", "in order", "out of order", "sequence",
    ),
    "consistency": (
        "consisten*", "inconsisten*", "fact", "facts", "factual*", "accura*", "inaccura*", "faithful*", "unfaithful*",
        "contradict*", "misrepresent*", "mislead*", "hallucinat*", "supported by", "not supported", "unsupported",
        "fabricat*", "made up",
        "incorrect*", "false*", "untrue", "wrong*", "aligns with", "align with", "not in the document",
        "not in the article", "not mentioned in", "not stated in", "discrepanc*", "distort*",
    ),
    "fluency": (
        "fluen*", "disfluen*", "gramma*", "ungrammatical*", "well-written", "well written", "poorly written",
        "readab*", "easy to read", "hard to read", "awkward*", "typo*", "spelling", "misspel*", "punctuation",
        "phras*", "wording", "sentence structure*", "syntax", "capitali*", "fragment*", "incomplete sentence*",
        "run-on", "stilted", "clumsy",
    ),
    "relevance": (
        "relevan*", "irrelevan*", "important", "importance", "main point*", "key point*", "main idea*", "main event*",
        "main message", "main topic*", "main focus", "main information", "main aspect*", "main detail*",
        "key information", "key detail*", "key fact*", "key aspect*", "key element*", "key event*", "crucial",
        "essential", "captur*", "omit*", "omission*", "leave out", "leaves out", "left out", "leaving out",
        "is missing", "missing important", "missing key", "missing some", "misses", "fails to mention",
        "fails to include", "does not mention", "does not include", "does not provide", "does not cover",
        "could have included", "only covers", "only focuses", "only mentions", "only provides", "lacks detail*",
        "lacks some", "lacks important", "lacks key", "lacks context", "lacks information", "lack of detail*",
        "more detail*", "comprehensive*", "complete picture", "completeness", "incomplete summary", "covers",
        "coverage",
    ),
    "conciseness": (
        "concise*", "succinct*", "brief", "briefly", "brevity", "verbos*", "wordy", "wordiness", "redundan*",
        "repetit*", "repeats", "repeated*", "unnecessary", "superfluous", "too long", "lengthy",
    ),
}  # fmt: skip
"""Aspect -> its words and phrases; * stands for any ending."""

# A reason that the evaluator wrote itself: of numbers, of verdicts it counted, of words it did not find.
_COMPUTED = re.compile(r"\|variant:(?:logprob|sample)\b|^(?:finesure\.align|ensemble|support)(?:\||$)")
_OVERALL = "overall"


_Judge = tuple[str, str, str | None, str]
"""Name, signature, model and aspect."""


class _Reason(NamedTuple):
    document: str
    aspects: frozenset[str] | None
    """Those it speaks of; None where the judgment has no reason."""


def speaks_of(reason: str, words: Mapping[str, Iterable[str]] | None = None) -> frozenset[str]:
    """The aspects of which a reason speaks: those with a word in it.

    >>> sorted(speaks_of("It reads well, but leaves out the main point."))
    ['relevance']
    """
    lists = (words or LEXICON).items()
    return frozenset(aspect for aspect, phrases in lists if _pattern(tuple(phrases)).search(reason))


def read_words(file: Path) -> dict[str, tuple[str, ...]]:
    """The shipped lists with those of a YAML file added: a mapping of aspects to lists of words or phrases.

    Raises InputError that names what is wrong.

        tone: [tone, ironic*, too formal]
    """
    import yaml

    try:
        lists = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError.at(file, None, None, f"cannot be read as YAML: {error}") from error
    if not isinstance(lists, dict) or not lists:
        raise InputError.at(file, None, None, "must be a mapping of aspects to lists of words")
    words = dict(LEXICON)
    for aspect, more in lists.items():
        if not (isinstance(more, list) and more and all(isinstance(text, str) and text.strip(" *") for text in more)):
            raise InputError.at(file, None, str(aspect), "must be a list of words or phrases")
        kin = KIN.get(str(aspect), str(aspect))
        words[kin] = (*words.get(kin, ()), *more)
    return words


@checks_keywords
def reasons(
    run: RunFolder | Iterable[Judgment],
    *,
    aspect: str | Sequence[str] | None = None,
    judge: str | None = None,
    words: Mapping[str, Sequence[str]] | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Study:
    """Of a judge's reasons on an aspect, the share that speak of another aspect, and of which.

    Rows a judge and aspect, in [0, 1]: `off_aspect_rate`; `off_aspect_only_rate`, of reasons that in all their words
    never speak of their own aspect; and `speaks_of`, one row an aspect spoken of (`details.group`), its own included.
    `n` are reasons, `missing` judgments without one. Aspects that share words (`KIN`) count as one; `overall` may
    speak of anything and is left out, as are reasons that no judge gave: what `geval`, `finesure.align`, `ensemble`
    and `support` write down of their own. `words` are lists by aspect (default: LEXICON). Raises UsageError where
    there is no reason at all.
    """
    chosen, resample = Selection(aspect=aspect, judge=judge), resampling(resamples, confidence, seed)
    lists = dict(words or LEXICON)
    judges: dict[_Judge, list[_Reason]] = {}
    for judgment in run.judgments() if isinstance(run, RunFolder) else run:
        if _is_meant(judgment, chosen):
            given = judgment.reason if judgment.status == "ok" else None
            reason = _Reason(judgment.target.document_id, speaks_of(given, lists) if given else None)
            key = (judgment.judge, judgment.signature, judgment.model, judgment.aspect)
            judges.setdefault(key, []).append(reason)
    rows = [
        row
        for key, given_reasons in judges.items()
        if any(reason.aspects is not None for reason in given_reasons)
        for row in _rows(key, given_reasons, lists, resample)
    ]
    if not rows:
        raise UsageError("no judgment has a reason; judges that give one are rts, rts.together, finesure.fact_check...")
    return Study("reasons", rows)


def _is_meant(judgment: Judgment, chosen: Selection) -> bool:
    if judgment.aspect == _OVERALL or judgment.status == "skipped" or _COMPUTED.search(judgment.signature):
        return False
    wanted = not chosen.aspects or judgment.aspect in chosen.aspects
    return wanted and chosen.judge in {None, judgment.judge, judgment.signature}


@cache
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    parts = [r"\s+".join(re.escape(word) for word in phrase.split()).replace(r"\*", r"\w*") for phrase in phrases]
    return re.compile(rf"\b(?:{'|'.join(parts)})(?!\w)", re.IGNORECASE)


def _rows(
    judge: _Judge, given: Sequence[_Reason], words: Mapping[str, Sequence[str]], resample: Resampling
) -> Iterator[Row]:
    aspect = judge[-1]
    about: dict[str, Any] = dict(zip(("judge", "signature", "model", "aspect"), judge, strict=True))
    own = KIN.get(aspect, aspect)
    documents = [reason.document for reason in given]

    def rate(name: str, holds: Callable[[frozenset[str]], bool], **more: Any) -> Row:
        """The share of reasons of which something holds."""
        values = np.array([np.nan if reason.aspects is None else holds(reason.aspects) for reason in given])
        estimate = resample(documents).mean(values)
        return interval_row(
            estimate, study="reasons", statistic=name, **about, reason="no judgment has a reason", **more
        )

    if own not in words:
        n = sum(reason.aspects is not None for reason in given)
        why = f"no words are known for {aspect}; give a list of them"
        unknown = undefined("off_aspect_rate", why, n, len(given) - n)
        yield interval_row(unknown, about, study="reasons", statistic=unknown.name)
        return
    yield rate("off_aspect_rate", lambda aspects: bool(aspects - {own}))
    yield rate("off_aspect_only_rate", lambda aspects: bool(aspects) and own not in aspects)
    for name in words:
        yield rate("speaks_of", frozenset([name]).issubset, details={"group": name})
