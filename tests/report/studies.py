"""Small studies in the form of the results of `sm.meta`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from report import xss

import summeter as sm
from summeter.meta.results import Row, Study

INTERVAL = "95% percentile bootstrap by document, 100 resamples, seed 0"
PEOPLE = "human.ratings|merge:mean|v:1"


def row(study: str = "correlation", statistic: str = "pearson", value: float | None = 0.5, **more: Any) -> Row:
    """Return a row of a judge; it is undefined if `value` is None."""
    lost = {} if value is not None else {"status": "undefined", "reason": "the judge's values are all the same"}
    defaults = {"judge": "rts", "signature": "rts|v:1", "aspect": "coherence", "gold_aspect": "coherence", "n": 9}
    return Row(study=study, statistic=statistic, value=value, **{**defaults, **lost, **more})


def correlation() -> Study:
    """Return rows with an interval, without one, of two aspects, and undefined."""
    full = row(value=0.5123, level="summary", average="pooled", low=0.2, high=0.8, p=0.0312, n=1200, missing=3,
               gold_signature=PEOPLE, interval=INTERVAL)  # fmt: skip
    bare = row(value=-0.25, level="summary", average="pooled", status="no_interval", reason="too few documents",
               domain="news", p=1e-9)  # fmt: skip
    other = row(value=0.1, level="summary", average="pooled", aspect="rouge1", gold_aspect="completeness")
    none = row(value=None, level="summary", average="pooled", system="cedar", n=2)
    return Study("correlation", [full, bare, other, none], ["fluency was left out: people gave no votes"])


def comparison() -> Study:
    """Return pairs of systems, one also within a domain, and rows whose value is a count."""
    test = {"comparisons": 2, "alpha": 0.05, "least_p": 0.004, "units": 9, "unit": "document", "first": "A"}
    alike = {**test, "second": "B", "p_holm": 0.4, "better": None}
    better = {**test, "second": "C", "p_holm": 0.01, "better": "A"}
    ends = {"low": -0.1, "high": 0.2}
    rows = [
        row("compare", "mean_difference", 0.04, pair="A-B", p=0.2, **ends, interval=INTERVAL, details=alike),
        row("compare", "mean_difference", 0.05, pair="A-C", details=better),
        row("compare", "mean_difference", 0.04, pair="A-B", domain="news", **ends, details=alike),
        row("compare", "cluster", 1.0, system="A"),
        row("compare", "cluster", 1.5, system="B"),
    ]
    return Study("compare", rows)


def preferences() -> Study:
    """Return a study with two types of rows."""
    return Study("prefer", [
        row("pair", "points", 4.5, pair="A-B"),
        row("correct_preferences", "correct_preferences", 2.0, details={"pairs": "chain", "run": "/secret/first"}),
    ])  # fmt: skip


def long(rows: int) -> Study:
    """Return a study with the given number of rows."""
    return Study("stability", [row("per_candidate", system=f"system {at}") for at in range(rows)])


def hostile() -> Study:
    """Return a study with each text of the corpus in every text field."""
    rows = []
    for at, text in enumerate(xss.CORPUS):
        names = dict.fromkeys(("judge", "signature", "model", "aspect", "gold_signature", "interval", "level"), text)
        groups = dict.fromkeys(("average", "system", "domain", "category", "pair"), text)
        details = {"verdict": text, "group": text, "pairs": text, "run": text}
        lost = {"value": None, "status": "undefined", "reason": text} if at % 2 else {"value": 0.5, "reason": text}
        about = {**names, **groups, **lost, "gold_aspect": f"gold {text}", "n": 1, "details": details}
        rows.append(Row(study=f"kind {text}", statistic=text, **about))
    return Study(f"study {xss.CORPUS[0]}", rows, xss.CORPUS)


def trust(texts: Sequence[str] = ("a", "b", "c", "d")) -> Study:
    """Return a study of trust in a judge and two people on 40 items, with the texts as names and as notes."""
    judge, first, second, *names = texts
    rows = [
        {"item": at, judge: (at + (at % 9 == 0)) % 2, first: at % 2, second: (at + (at % 7 == 0)) % 2,
         "system": names[at % len(names)], "domain": names[at % 5 % len(names)], "summary": "word " * (at % 6)}
        for at in range(40)
    ]  # fmt: skip
    study = sm.trust(rows, judge=judge, human=[first, second], item="item", resamples=50)
    return type(study)(study.name, study.rows, [*study.notes, *texts])
