"""The result of `trust`, as text for the terminal and as a card for the appendix of a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from summeter._version import __version__
from summeter.meta.results import Row, Study, judge_labels
from summeter.tables import Column, Table, interval, number, signed

STUDY = "trust"
TITLES = {
    "agreement": "agreement with people", "human_ceiling": "people among themselves",
    "baseline_constant": "  judge's usual vote", "baseline_majority": "  people's usual vote",
    "baseline_length": "  by length", "baseline_random": "  votes shuffled",
    "alt_test_winning_rate": "alt-test winning rate", "alt_test_winning_rate_by_document": "  by document",
    "alt_test_winning_rate_of_constant": "  of a constant", "alt_test_winning_rate_balanced": "  labels weighted",
    "alt_test_advantage_probability": "alt-test advantage", "sensitivity": "sensitivity",
    "specificity": "specificity", "rate_raw": "rate by the judge", "rate_corrected": "  Rogan-Gladen",
    "rate_ppi": "  prediction-powered", "bias": "judge minus people", "bias_own_family": "  own family",
    "partial_pearson": "effect of length", "system_ranking": "pairs of systems", "labels_needed": "labels needed",
}  # fmt: skip
"""Titles of the statistics; those of variants are indented."""
COEFFICIENTS = {
    "kappa_cohen": "Cohen's kappa", "alpha_interval": "Krippendorff's alpha", "spearman": "rank correlation"
}  # fmt: skip
ASSUMED = {
    "rate_corrected": "that sensitivity and specificity on labelled items hold for the others",
    "rate_ppi": "that labelled items are a random sample",
}
"""What each corrected rate assumes."""


class TrustStudy(Study):
    """The result of `trust`. `print` shows the verdict, its rule, the statistics and what they assume."""

    @property
    def verdict(self) -> str | None:
        """The verdict, or None if several judges or aspects were studied (see `details.verdict` of their rows)."""
        verdicts = [head.details["verdict"] for _, head, _ in by_judge(self)]
        return verdicts[0] if len(verdicts) == 1 else None

    def parts(self) -> list[Table | str]:
        """Return the verdicts, the tables, and the assumptions."""
        shown: list[Table | str] = []
        for _, head, rows in by_judge(self):
            rule = f"Rule: {head.details['rule']}."
            shown += [head.details["sentence"], rule, _table(rows), *_undefined(rows), *_group_lines(rows)]
        return [*shown, *assumptions(self.rows), *methods(self.rows), *self.notes]

    def card(self) -> list[Table | str]:
        """Return a summary for the appendix of a paper.

        It has a table per judge and aspect with the verdict as its title, the rule, the assumptions, the signatures of
        judge and people, and the version.
        """
        shown: list[Table | str] = []
        for name, head, rows in by_judge(self):
            table = replace(_table(rows), title=f"{name}: {head.details['verdict']}")
            rule = f"Rule: {head.details['rule']}."
            shown += [table, facts_of(head), rule, *_undefined(rows)]
        signatures = [text for text in self.signatures() if text not in methods(self.rows)]
        versions = [f"Computed by summeter {__version__}."]
        return [*shown, *assumptions(self.rows), *methods(self.rows), *signatures, *versions]


def by_judge(study: Study) -> list[tuple[str, Row, list[Row]]]:
    """Return the name, the row `agreement` and all rows of each judge and aspect.

    The name contains the aspect, and the model, the settings or the run if another judge has the same name.
    """

    def key(row: Row) -> tuple[str | None, str | None, Any]:
        return row.signature, row.aspect, row.details.get("run")

    heads = [row for row in study if (row.study, row.statistic) == (STUDY, "agreement") and not group_of(row)]
    return [
        (f"{name}{f' on {head.aspect}' if head.aspect else ''}", head, [row for row in study if key(row) == key(head)])
        for name, head in zip(judge_labels(heads), heads, strict=True)
    ]


def coefficient_name(name: str) -> str:
    """Return the display name of a coefficient of agreement."""
    return COEFFICIENTS.get(name, name)


def facts_of(head: Row) -> str:
    """Return the sentence of a verdict without judge and verdict."""
    return str(head.details["sentence"]).partition(f": {head.details['verdict']}. ")[2]


def group_of(row: Row) -> tuple[str, str] | None:
    """Return the column and the group of a row, or None if the row is about all items."""
    if group := row.details.get("group"):
        return row.details["by"], group
    return next(((name, group) for name in ("system", "domain", "category") if (group := getattr(row, name))), None)


def groups_of(rows: Sequence[Row], statistic: str) -> dict[str, list[Row]]:
    """Return the defined rows of a statistic that are about a group, by column."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.statistic == statistic and row.value is not None and (group := group_of(row)):
            groups.setdefault(group[0], []).append(row)
    return groups


def _table(rows: Sequence[Row]) -> Table:
    """Return the table of the defined rows that are not about a group."""
    lines = []
    for statistic, title in TITLES.items():
        for row in rows:
            if row.statistic != statistic or group_of(row) or row.value is None:
                continue
            remark = row.reason if statistic in {"rate_raw", *ASSUMED} else None
            if statistic == "agreement":
                remark = coefficient_name(row.details["coefficient"])
            elif statistic == "system_ranking":
                remark = "ordered alike; {confirmed} of {significant} significant confirmed".format(**row.details)
            elif statistic == "labels_needed":
                remark = f"to {row.details['to']}, with probability {row.details['power']:g}"
            value = number(row.value, 0 if statistic == "labels_needed" else 3)
            lines.append((title, value, interval(row.low, row.high), row.n, remark))
    heads = (Column(""), Column("value", "right"), Column("interval"), Column("n", "right"), Column(""))
    return Table(heads, tuple(lines))


def reasons(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return the statistics without a value, by reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.value is None and row.statistic in TITLES and not group_of(row):
            found.setdefault(row.reason or "", []).append(row.statistic)
    return found


def _undefined(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence that gives the reasons why statistics are undefined."""
    found = {why: ", ".join(TITLES[name].strip() for name in names) for why, names in reasons(rows).items()}
    if found:
        yield f"No value: {'; '.join(f'{titles}: {why}' for why, titles in found.items())}."


def _group_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence on the groups between which the judge's bias differs most, per column."""
    for column, several in groups_of(rows, "bias").items():
        ends = [
            f"{signed(row.value or 0.0, 2)} {interval(row.low, row.high, 2)} ({' '.join((group_of(row) or ())[1:])})"
            for choose in (min, max)
            for row in [choose(several, key=lambda row: row.value or 0.0)]
        ]
        yield f"Judge minus people by {column}: from {' to '.join(ends)}."


def assumptions(rows: Sequence[Row]) -> list[str]:
    """Return what the shown statistics assume."""
    shown = {row.statistic for row in rows if row.value is not None}
    labels = any(row.details.get("scale") == "labels" for row in rows)
    texts = [f"Agreement is with the {'majority' if labels else 'mean'} of people; ties are left out."]
    if "human_ceiling" in shown:
        texts.append("People among themselves: each vote against the merged votes of the other people on the item.")
    if "alt_test_winning_rate" in shown:
        texts.append(
            "Alt-test (Calderon et al., 2025): share of annotators whom the judge can replace at the price epsilon; "
            "Benjamini-Yekutieli at 0.05. It passes from 0.5 on."
        )
    if "rate_corrected" in shown:
        texts.append(
            f"Rogan-Gladen assumes {ASSUMED['rate_corrected']}; prediction-powered assumes {ASSUMED['rate_ppi']}."
        )
    return texts


def methods(rows: Sequence[Row]) -> list[str]:
    """Return the descriptions of the intervals of agreement."""
    return list(dict.fromkeys(row.interval for row in rows if row.statistic == "agreement" and row.interval))
