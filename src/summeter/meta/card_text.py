"""A benchmark card as Markdown: the rows of `card` laid out as the tables people read. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from summeter.meta.results import Row, Study
from summeter.tables import Table, escape_markdown, interval, number, p_value, with_missing

_ALL, _AVERAGE, _STABILITY = "all", "average of domains", "domain stability (%)"


def markdown(study: Study, title: str = "Benchmark card") -> str:
    """The card as Markdown, ending in a line feed. Every cell with missing scores says how many."""
    parts = [f"# {escape_markdown(title)}\n"]
    for section in (_means, _groups, _errors, _abstractness, _redaction, _made):
        parts.extend(section(study))
    return "\n".join(parts)


def _columns(study: Study) -> list[tuple[str | None, str | None, str | None]]:
    """(judge, signature, aspect) of the means, in order."""
    return list(dict.fromkeys((row.judge, row.signature, row.aspect) for row in study if row.statistic == "mean"))


def _means(study: Study) -> Iterator[str]:
    """A table a judge and aspect: systems by domains, with their average and stability."""
    domains = list(dict.fromkeys(row.domain for row in study if row.domain is not None and row.statistic == "mean"))
    for judge, signature, aspect in _columns(study):
        rows = [row for row in study.where(judge=judge, signature=signature, aspect=aspect) if row.category is None
                and "group" not in row.details]  # fmt: skip
        systems = list(dict.fromkeys(row.system for row in rows if row.system is not None))
        heads = [*domains, *([_AVERAGE, _STABILITY] if domains else []), _ALL]
        table = []
        for system in systems:
            mine = [row for row in rows if row.system == system]
            cells = [_first(mine, "mean", domain) for domain in domains]
            if domains:
                cells += [_first(mine, "domain_average", None), _first(mine, "domain_stability", None)]
            table.append([system or "", *cells, _first(mine, "mean", None)])
        if table:
            yield _table(f"{aspect} by {judge}", ["system", *(name or "" for name in heads)], table)


def _first(rows: Sequence[Row], statistic: str, domain: str | None) -> str:
    found = next((row for row in rows if row.statistic == statistic and row.domain == domain), None)
    if found is None:
        return ""
    return _number(found, 1 if statistic == "domain_stability" else 3)


def _number(row: Row, digits: int = 3) -> str:
    if row.value is None:
        return f"- ({row.reason})"
    return with_missing(number(row.value, digits), row.missing)


def _group_of(row: Row) -> tuple[str, str] | None:
    """(column, value) of a row about one group over all systems."""
    if row.system is not None:
        return None
    if "group" in row.details:
        return str(row.details["by"]), str(row.details["group"])
    if row.category is not None and row.domain is None:
        return "category", row.category
    if row.domain is not None and row.category is None:
        return "domain", row.domain
    return None


def _groups(study: Study) -> Iterator[str]:
    """A table a column to group by: its values by judge and aspect."""
    columns = _columns(study)
    found: dict[str, dict[str, dict[tuple[str | None, ...], Row]]] = {}
    for row in study.where(statistic="mean"):
        group = _group_of(row)
        if group is not None:
            found.setdefault(group[0], {}).setdefault(group[1], {})[(row.judge, row.signature, row.aspect)] = row
    for name, values in found.items():
        heads = [name, *(f"{aspect} ({judge})" for judge, _, aspect in columns)]
        table = [
            [value, *(_number(rows[key]) if key in rows else "" for key in columns)] for value, rows in values.items()
        ]
        yield _table(f"By {name}", heads, table)


def _errors(study: Study) -> Iterator[str]:
    """A table a judge: the share of each type among all errors, over all and by group, with the number of errors."""
    shares = [row for row in study if row.statistic == "error_share"]
    for judge, signature in dict.fromkeys((row.judge, row.signature) for row in shares):
        mine = [row for row in shares if (row.judge, row.signature) == (judge, signature)]
        types = list(dict.fromkeys(str(row.details["error_type"]) for row in mine))
        lines: dict[str, dict[str, Row]] = {}
        for row in mine:
            lines.setdefault(_place(row), {})[str(row.details["error_type"])] = row
        table = [
            [place, *(_number(cells[kind]) if cells[kind].value is not None else "-" for kind in types),
             str(next(iter(cells.values())).n), _units(cells)]
            for place, cells in lines.items()
        ]  # fmt: skip
        yield _table(f"Types of error by {judge}", ["where", *types, "errors", "of units"], table)


def _units(cells: dict[str, Row]) -> str:
    first = next(iter(cells.values()))
    return with_missing(str(first.details["units"]), first.missing)


def _place(row: Row) -> str:
    if "group" in row.details:
        return f"{row.details['by']}: {row.details['group']}"
    for name in ("system", "domain", "category"):
        value = getattr(row, name)
        if value is not None:
            return f"{name}: {value}"
    return "everything"


def _abstractness(study: Study) -> Iterator[str]:
    rows = [row for row in study if row.statistic in {"pearson", "spearman"} and row.aspect == "abstractiveness"]
    table = []
    for row in rows:
        where = "over systems" if row.level == "system" else _place(row)
        table.append([where, _people(row), row.statistic, _number(row), p_value(row.p), str(row.n)])
    if table:
        heads = ["where", "faithfulness by", "coefficient", "value", "p", "n"]
        yield _table("Abstractiveness against faithfulness", heads, table)


def _people(row: Row) -> str:
    return (row.gold_signature or "").partition("|")[0]


def _redaction(study: Study) -> Iterator[str]:
    table = []
    for row in study.where(statistic="redaction_delta"):
        counts = f"{row.details['redacted']} and {row.details['unredacted']}"
        table.append(
            [
                row.system or "all systems",
                f"{row.aspect} ({row.judge})",
                f"{_number(row)} {interval(row.low, row.high)}".rstrip(),
                counts,
            ]
        )
    if table:
        yield _table("Redacted minus unredacted", ["system", "score", "difference", "summaries"], table)


def _made(study: Study) -> Iterator[str]:
    yield "## How it was made\n"
    yield "".join(f"- {escape_markdown(text)}\n" for text in (*study.signatures(), *study.notes))


def _table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return Table.of(heads, lines, align="lr", title=title).markdown()
