"""A trained judge's card in words: what a terminal shows, and the folder's README.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from summeter.tables import number, with_interval
from summeter.training.figures import AUROC, BASELINES, CHEAP, COEFFICIENTS, JUDGE, PEOPLE

Card = Mapping[str, Any]
_NAMED = {
    "pearson": "Pearson", "spearman": "Spearman", "kendall_b": "Kendall tau-b", "mean_absolute_error": "mean error",
    "coverage": "within interval", "alpha_interval": "Krippendorff alpha",
    "pearson_with_others": "Pearson with the others",
}  # fmt: skip


def card_lines(card: Card) -> list[str]:
    """The figures that matter most, one line an aspect, and the warnings."""
    lines = [_sizes(card)]
    if card["cut"]["summaries"]:
        lines.append(
            f"{card['cut']['summaries']} of {card['data']['summaries']} summaries have inputs of more than "
            f"{card['max_tokens']} tokens: the end of the document was cut off"
        )
    where = f"on {card['figures_on']['documents']} {card['looked_at']} documents"
    for aspect in card["scales"]:
        judge = _cell(card, JUDGE, aspect, "pearson")
        beside = _beside(card, aspect, "pearson")
        lines.append(f"{aspect}: Pearson {judge} {where} ({beside})")
    for figure in _figures(card, of=JUDGE, statistic=AUROC):
        aspect = figure["aspect"]
        beside = _beside(card, aspect, AUROC)
        lines.append(f"{aspect}: AUROC {_cell(card, JUDGE, aspect, AUROC)} {where} ({beside})")
    return [*lines, *(f"warning: {text}" for text in card["warnings"])]


def _beside(card: Card, aspect: str, statistic: str) -> str:
    """The figures of the untrained baselines."""
    return ", ".join(f"{name} {_cell(card, name, aspect, statistic)}" for name in CHEAP)


def _sizes(card: Card) -> str:
    documents, rows = card["split"]["documents"], card["split"]["summaries"]
    return "; ".join(f"{part}: {rows[part]} summaries of {documents[part]} documents" for part in documents)


def _figures(card: Card, **about: Any) -> Iterator[Mapping[str, Any]]:
    for figure in card["figures"]:
        if all(figure.get(name) == value for name, value in about.items()):
            yield figure


def _cell(card: Card, of: str, aspect: str, statistic: str, domain: str | None = None, level: str = "summary") -> str:
    for figure in _figures(card, of=of, aspect=aspect, statistic=statistic, domain=domain, level=level):
        return with_interval(figure.get("value"), figure.get("low"), figure.get("high"), 2)
    return number(None)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def regression_readme(card: Card) -> str:
    """The whole card as Markdown."""
    data, backbone = card["data"], card["backbone"]
    unknown = "not known"
    facts = {
        "Data": f"{data['name']} (hash {data['hash'][:16]}), licence: {data['licence'] or unknown}; labels "
        f"{data['labels']}, {data['summaries']} summaries by {data['systems']} systems.",
        "Backbone": f"{backbone['name']}@{backbone['revision']}, licence: {backbone['licence'] or unknown}.",
        "Training": f"input {card['input']}, mode {card['mode']}, head {card['head']}, states {card['pool']}, seed "
        f"{card['seed']}, inputs of {card['max_tokens']} tokens ({card['cut']['summaries']} of {data['summaries']} "
        "summaries have some that were cut).",
        "Split": f"by document ({card['split']['hash']}). {_sizes(card)}. {_looked(card)}",
        "Not known": f"how good it is on other kinds of documents than {_kinds(card)}, on systems unlike those it was "
        "trained on, and on other scales.",
    }
    parts = [
        "# A regression judge trained by summeter",
        f"`summeter score DATA -e regression -m regressor=local/FOLDER` judges {', '.join(card['scales'])} with it.",
        "\n".join(f"- **{name}**: {text}" for name, text in facts.items()),
    ]
    if card["warnings"]:
        parts.append("\n".join(["## Warnings", "", *(f"- {text}" for text in card["warnings"])]))
    for aspect, scale in card["scales"].items():
        parts += [f"## {aspect} ({scale['low']:g} to {scale['high']:g})", _of_aspect(card, aspect)]
        width = scale["half_width"]
        parts.append(
            "No interval: too few ratings, or too few documents, to choose it by." if width is None
            else f"Intervals: the rating ± {width:.2f}, to hold {scale['coverage']:.0%} of people's ratings; here they "
            f"hold {_cell(card, JUDGE, aspect, 'coverage')}."
        )  # fmt: skip
    for figure in _figures(card, of=JUDGE, statistic=AUROC):
        aspect = figure["aspect"]
        parts += [
            f"## {aspect} (yes/no)",
            f"AUROC {_cell(card, JUDGE, aspect, AUROC)} ({_beside(card, aspect, AUROC)}; .5: chance).",
        ]
    first: Mapping[str, Any] = next(iter(card["figures"]), {})
    baselines = "; ".join(f"{name}: {about}" for name, about in BASELINES.items())
    parts.append(f"Intervals of figures: {first.get('interval', 'none')}. Baselines: {baselines}.")
    return "\n\n".join(parts) + "\n"


def _looked(card: Card) -> str:
    if card["looked_at"] == "dev":
        return (
            "The test part was not looked at: the figures are of the dev part, which chose the judge, and flatter it."
        )
    return "The figures are of the test part, which nothing was chosen by."


def _kinds(card: Card) -> str:
    return ", ".join(card["domains"]) or "these"


def _of_aspect(card: Card, aspect: str) -> str:
    statistics = (*COEFFICIENTS, "mean_absolute_error")
    rows = []
    domains = [None, *dict.fromkeys(f["domain"] for f in _figures(card, aspect=aspect) if f.get("domain"))]
    for domain in domains:
        for name in (JUDGE, *BASELINES):
            cells = [_cell(card, name, aspect, statistic, domain) for statistic in statistics]
            system = _cell(card, name, aspect, "kendall_b", level="system") if domain is None else ""
            rows.append([domain or "all", name, *cells, system])
        for figure in _figures(card, of=PEOPLE, aspect=aspect, domain=domain):
            value = with_interval(figure.get("value"), figure.get("low"), figure.get("high"), 2)
            rows.append([domain or "all", f"people: {_NAMED[figure['statistic']]}", value, "", "", "", ""])
    named = [_NAMED[statistic] for statistic in statistics]
    return _table(["domain", "judge", *named, "systems: Kendall tau-b"], rows)
