"""The section on each judge that `trust` studied: verdict, the numbers behind it, and what they assume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from summeter.meta._trust import CONSTANT, CORRECTED, RANKS, REPLACES, TOO_FEW
from summeter.meta.results import Row, Study, pivot
from summeter.meta.trust_study import (
    ASSUMED,
    TITLES,
    assumptions,
    by_judge,
    coefficient_name,
    facts_of,
    group_of,
    groups_of,
    reasons,
)
from summeter.pages.figures import Axis, Figure, Line, Point, Points, Rows
from summeter.pages.numbers import count, number, with_interval
from summeter.report.blocks import TrustBlock, TrustPart
from summeter.tables import Table, p_value

_RULER = {
    "agreement": "the judge", "human_ceiling": "ceiling: people among themselves",
    "baseline_constant": "constant: the judge's usual vote", "baseline_majority": "majority: people's usual vote",
    "baseline_length": "length: votes assigned by length", "baseline_random": "random: the judge's votes shuffled",
}  # fmt: skip
_ALT_TESTS = {
    "alt_test_winning_rate": "judge", "alt_test_winning_rate_by_document": "judge, by document",
    "alt_test_winning_rate_balanced": "judge, labels weighted equally",
    "alt_test_winning_rate_of_constant": "constant",
}  # fmt: skip
_RATES = {"rate_raw": "by the judge, raw", "rate_corrected": "Rogan-Gladen", "rate_ppi": "prediction-powered"}
_NO_ERRORS = "that the judge makes no errors, or that they cancel out"
_LENGTHS = {
    "length_judge": "length and the judge's values", "length_people": "length and people's values",
    "length_gap": "difference of the two", "partial_pearson": "length and the judge's values, given people's",
}  # fmt: skip
_DECIDING = {
    REPLACES: ("agreement", "replaced"), CORRECTED: ("agreement", "saving", "replaced"),
    RANKS: ("order", "agreement", "saving"), CONSTANT: ("agreement", "order", "gain"),
    TOO_FEW: ("agreement", "items", "documents"),
}  # fmt: skip
"""The numbers that decide each verdict."""
Values = Mapping[str, Row]
"""The rows about all items, by statistic."""


def is_complete(study: Study) -> bool:
    """Return whether a study contains all statistics that `trust` gives for a judge."""
    wanted = {*TITLES} - {"alt_test_winning_rate_by_document", "alt_test_winning_rate_balanced", "partial_pearson"}
    found = by_judge(study)
    return bool(found) and all(
        head.details.get("verdict") in _DECIDING and wanted <= {row.statistic for row in rows}
        for _, head, rows in found
    )


def trusted(studies: Sequence[Study]) -> tuple[TrustBlock, ...]:
    """Return one block per judge and aspect of complete studies."""
    found = [(study, *each) for study in studies for each in by_judge(study)]
    return tuple(_block(f"trust-{number_of}", *each) for number_of, each in enumerate(found, 1))


def verdicts(blocks: Sequence[TrustBlock]) -> Table:
    """Return a table with the verdict and the deciding numbers of each judge and aspect."""
    rows = [(block.name, block.verdict, tuple(": ".join(fact) for fact in block.facts)) for block in blocks]
    return Table.of(["judge", "verdict", "numbers that decide"], rows)


def _block(id_: str, study: Study, name: str, head: Row, rows: Sequence[Row]) -> TrustBlock:
    one = {row.statistic: row for row in rows if not group_of(row)}
    parts = (
        _agreement(one), _alt_test(one), _errors(one, rows), _biases(one, rows), _ranking(one["system_ranking"]),
        _labels(one["labels_needed"]), _undefined(rows),
    )  # fmt: skip
    details = head.details
    votes = f"{count(head.n, 'item')} with votes of the judge and of people ({head.missing:,} others), " + ", ".join(
        count(details[f"{noun}s"], noun) for noun in ("document", "annotator")
    )
    intervals = list(dict.fromkeys(row.interval for row in rows))
    sources: dict[str, list[str | None]] = {
        "Votes": [votes], "Judge": [head.signature], "People": [head.gold_signature], "Intervals": intervals
    }  # fmt: skip
    return TrustBlock(
        id_, name, details["verdict"], facts_of(head), details["rule"],
        tuple(_deciding(one)[each] for each in _DECIDING[details["verdict"]]),
        tuple(part for part in parts if part.texts or part.tables or part.figures),
        {title: tuple(filter(None, texts)) for title, texts in sources.items()},
        (*assumptions(rows), *study.notes),
    )  # fmt: skip


def _estimate(row: Row) -> str:
    return with_interval(row.value, row.low, row.high)


def _deciding(one: Values) -> dict[str, tuple[str, str]]:
    """Return the title and the text of the numbers that can decide a verdict."""
    head, constant = one["agreement"], one["alt_test_winning_rate_of_constant"]
    details = head.details
    saving, test = details["saving"], one.get("alt_test_winning_rate_by_document", one["alt_test_winning_rate"])
    replaced = f"{_replaced(test)} (a constant: {_replaced(constant)})"
    if (balanced := one.get("alt_test_winning_rate_balanced")) is not None:
        test, rate = balanced, balanced.details["of_constant"]
        replaced = f"{_replaced(test)} with labels weighted equally (a constant: omega {number(rate)})"
    return {
        "agreement": (f"agreement ({coefficient_name(head.details['coefficient'])})", _estimate(head)),
        "order": ("rank correlation", number(details["order"])),
        "replaced": ("annotators whom it can replace", "untested" if test.value is None else replaced),
        "saving": ("labels that it saves", "unknown" if saving is None else f"{saving:.0%}"),
        "gain": ("closer to people than their usual vote by", number(details["gain"])),
        "items": ("items with votes of both", f"{head.n:,}"),
        "documents": ("documents", f"{details['documents']:,}"),
    }


def _replaced(test: Row) -> str:
    """Return how many annotators can be replaced by a test."""
    each = test.details["annotators"]
    return f"{sum(person['replaced'] for person in each)} of {len(each)}"


def _agreement(one: Values) -> TrustPart:
    head, ceiling = one["agreement"], one["human_ceiling"]
    lines = []
    for statistic, label in _RULER.items():
        row = one[statistic]
        lines.append(Line(label, row.value, row.low, row.high, row.n))
        if row is ceiling and (same := row.details.get("judge")) is not None:
            lines.append(Line("the judge against the same votes", same, n=row.n))
    least = min((end for line in lines for end in (line.value, line.low) if end is not None), default=0.0)
    axis = Axis("1 is perfect agreement, 0 is chance", min(0.0, -(-least // -0.2) * -0.2 if least < 0 else 0.0), 1)
    figure = Figure("Agreement with people", [Rows(coefficient_name(head.details["coefficient"]), axis, lines)])
    text = (
        "Each vote of a person is compared with the merged votes of the others, who are fewer than in the first line; "
        "the judge is compared with the same votes below."
    )
    return TrustPart("Agreement", () if ceiling.value is None else (text,), (figure,), ())


def _alt_test(one: Values) -> TrustPart:
    plain, constant = one["alt_test_winning_rate"], one["alt_test_winning_rate_of_constant"]
    if plain.value is None:
        return TrustPart("Alternative annotator test", (f"Not computed: {plain.reason}.",), (), ())
    forms: list[tuple[str, str, str, str]] = []
    for statistic, label in _ALT_TESTS.items():
        if (row := one.get(statistic)) is None:
            continue
        forms.append((label, number(row.value), _replaced(row), number(row.details["advantage"])))
        if (rate := row.details.get("of_constant")) is not None:
            forms.append(("constant, labels weighted equally", number(rate), "", ""))
    advantage = one["alt_test_advantage_probability"]
    forms[0] = (*forms[0][:3], _estimate(advantage))
    rated = one.get("alt_test_winning_rate_by_document", plain)
    curves = {name: row.details["curve"] for name, row in (("judge", rated), ("constant", constant))}
    axes = Axis("epsilon, the price of people", 0, 0.3), Axis("winning rate", 0, 1)
    panels = [
        Points(f"The {name}", *axes, [Point("", x, y, line=name) for x, y in curve if y is not None])
        for name, curve in curves.items()
    ]
    annotators = [
        (each["annotator"], each["n"], number(each["judge"]), number(each["person"]), p_value(each["p"]),
         "yes" if each["replaced"] else "no")
        for each in rated.details["annotators"]
    ]  # fmt: skip
    text = (
        f"Omega is the share of annotators whom the judge can replace at epsilon {plain.details['epsilon']:g}, and rho "
        "is the mean share of items on which the judge is at least as close to the other people as the annotator. From "
        "an omega of 0.5 on, the test is passed; a form that a constant passes too proves nothing."
    )
    of_annotators = ["annotator", "n", "judge wins", "annotator wins", "p", "replaceable"]
    return TrustPart(
        "Alternative annotator test", (text,), (Figure("Winning rate by epsilon", panels),),
        (
            Table.of(["form of the test", "omega", "annotators", "rho"], forms, align="lr"),
            Table.of(of_annotators, annotators, align="lrrrrl"),
        ),
    )  # fmt: skip


def _errors(one: Values, rows: Sequence[Row]) -> TrustPart:
    tables = []
    names = ("sensitivity", "specificity")
    shown = [row for row in rows if row.statistic in names]
    if any(row.value is not None for row in shown):
        groups: dict[Any, str] = {None: "all items"}
        groups |= {group: ": ".join(group) for row in shown if (group := group_of(row))}
        after = {"n": lambda here: f"{max(row.n for row in here):,}"}
        tables.append(
            pivot(
                shown, group_of, "statistic", lambda row: "" if row is None else _estimate(row), lines=groups,
                heads=("items",), after=after, align="lr",
            )
        )  # fmt: skip
    rates = []
    for statistic, label in _RATES.items():
        row = one[statistic]
        if row.value is not None:
            assumed = ASSUMED.get(statistic, _NO_ERRORS)
            rates.append((label, _estimate(row), f"{row.n:,}", (assumed, *filter(None, [row.reason]))))
    if rates:
        heads = ["share of 1" if one["agreement"].details["scale"] == "labels" else "mean vote", "value", "n"]
        tables.append(Table.of([*heads, "assumes"], rates, align="lrrl"))
    return TrustPart("Errors and rates", (), (), tuple(tables))


def _biases(one: Values, rows: Sequence[Row]) -> TrustPart:
    whole, family = one["bias"], one["bias_own_family"]
    title, text = "Biases", "Mean difference between the judge's votes and people's; 0 is no bias."
    lengths = [
        (label, _estimate(row), p_value(row.p), f"{row.n:,}")
        for statistic, label in _LENGTHS.items()
        if (row := one.get(statistic)) is not None and row.value is not None
    ]
    tables = (Table.of(["correlation", "value", "p", "n"], lengths, align="lr"),) if lengths else ()
    if whole.value is None:
        return TrustPart(title, (), (), tables)
    shown = {"all items": whole}
    if family.value is not None:
        shown[f"own family ({', '.join(family.details['own_systems'])}) minus other systems"] = family
    groups = groups_of(rows, "bias")
    shown |= {": ".join(group_of(row) or ()): row for several in groups.values() for row in several}
    ends = (end for row in shown.values() for end in (row.value, row.low, row.high))
    most = max([0.05, *(abs(end) for end in ends if end is not None)])
    lines = [Line(label, row.value, row.low, row.high, row.n) for label, row in shown.items()]
    by = f"overall and by {', '.join(groups)}" if groups else "overall"
    figure = Figure("Judge minus people", [Rows(by, Axis("judge minus people, in votes", -most, most), lines)])
    return TrustPart(title, (text,), (figure,), tables)


def _ranking(row: Row) -> TrustPart:
    if row.value is None:
        return TrustPart("Ranking of systems", (), (), ())
    details = row.details
    text = (
        f"Judge and people put {row.value:.0%} of {count(row.n, 'pair')} of systems in the same order. People tell "
        f"{details['significant']} apart (permutation test, Holm's correction); the judge confirms "
        f"{details['confirmed']} and reverses {details['reversed']}."
    )
    if details["reversed_pairs"]:
        text += f" Reversed: {', '.join(' and '.join(pair) for pair in details['reversed_pairs'])}."
    means = sorted(details["means"].items(), key=lambda entry: -(entry[1][1] or 0.0))
    lines = [(name, number(by_people), number(judge), number(judge - by_people)) for name, (judge, by_people) in means]
    table = Table.of(["system", "mean by people", "mean by the judge", "difference"], lines, align="lr")
    return TrustPart("Ranking of systems", (text,), (), (table,))


def _labels(row: Row) -> TrustPart:
    text = f"None can be given: {row.reason}."
    if row.value is not None:
        text = (
            f"About {row.value:,.0f} labelled items are needed to {row.details['to']} with probability "
            f"{row.details['power']:g}; there are {row.n:,}."
        )
    return TrustPart("Labels needed", (text,), (), ())


def _undefined(rows: Sequence[Row]) -> TrustPart:
    titles, main = {}, ""
    for statistic, title in TITLES.items():
        main = main if title.startswith(" ") else title
        titles[statistic] = title if main == title else f"{main}: {title.strip()}"
    lines = [(tuple(titles[name] for name in names), why) for why, names in reasons(rows).items()]
    tables = (Table.of(["statistic", "reason"], lines),) if lines else ()
    return TrustPart("Without a value", (), (), tables)
