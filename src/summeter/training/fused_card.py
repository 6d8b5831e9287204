"""A fused judge's card in words: what a terminal shows, and the folder's README.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from summeter.tables import number, with_interval
from summeter.training.figures import BASELINES, CHEAP, COEFFICIENTS, JUDGE

Card = Mapping[str, Any]


def _cell(card: Card, of: str, aspect: str, statistic: str, level: str = "summary", part: str = "figures") -> str:
    """A figure over all domains, with its interval."""
    wanted = (of, aspect, statistic, level, None)
    for figure in card[part]:
        about = (figure["of"], figure["aspect"], figure["statistic"], figure["level"], figure.get("domain"))
        if about == wanted:
            return with_interval(figure.get("value"), figure.get("low"), figure.get("high"), 2)
    return number(None)


def _paid(card: Card) -> str:
    """The members that ask an LLM, and what they cost."""
    texts = []
    for member in card["members"]:
        if not member["free"]:
            cost = member["cost_per_1000_summaries"]
            price = "at a price that is not known" if cost is None else f"at ${cost:.2f} for 1,000 summaries"
            texts.append(f"{member['name']} asks {', '.join(member['asks'].values())} {price}")
    return "; ".join(texts) or "no member asks an LLM"


def fused_lines(card: Card) -> list[str]:
    """What a terminal shows: an aspect's figure and what weighs most in it, what costs money, the warnings."""
    documents, summaries = card["split"]["documents"], card["split"]["summaries"]
    sizes = f"fitted on {summaries['fit']} summaries of {documents['fit']} documents in {card['folds']} folds"
    lines = [f"{sizes}; test: {summaries['test']} summaries of {documents['test']}"]
    lines += [f"{count} summaries lack {name}" for name, count in card["missing"].items()]
    for aspect in card["scales"]:
        judge = _cell(card, JUDGE, aspect, "pearson")
        beside = ", ".join(f"{name} {_cell(card, name, aspect, 'pearson')}" for name in CHEAP)
        most = ", ".join(f"{each['input']} {each['weight']:+.2f}" for each in card["inputs"][aspect][:3])
        lines += [f"{aspect}: Pearson {judge} on {card['looked_at']} documents ({beside})", f"  weighs most: {most}"]
    return [*lines, f"costs: {_paid(card)}", *(f"warning: {text}" for text in card["warnings"])]


def fused_readme(card: Card) -> str:
    """The whole card as Markdown."""
    data, documents = card["data"], card["split"]["documents"]
    looked = "The figures are of the test part, which nothing was chosen by."
    if card["looked_at"] != "test":
        looked = "No test part was looked at: the figures are cross-fitted, each document predicted without itself."
    about = {
        "Data": f"{data['name']} (hash {data['hash'][:16]}), licence: {data['licence'] or 'not known'}; labels "
        f"{data['labels']}, {data['summaries']} summaries by {data['systems']} systems.",
        "Training": "ridge regression (logistic where all ratings are 0 or 1), cross-fitted in "
        f"{card['folds']} folds of documents, seed {card['seed']}.",
        "Split": f"by document ({card['split']['hash']}): {documents['fit']} to fit on, {documents['test']} to test "
        f"on. {looked}",
        "Costs": f"{_paid(card)}.",
        "Not known": "how good it is on other kinds of documents, on systems unlike those it was fitted on, and on "
        "other scales. Its inputs describe form as well as merit: a system that is tuned to it learns length and "
        "overlap.",
    }
    members = [
        f"- `{member['signature']}`{' (asks ' + ', '.join(member['asks'].values()) + ')' if member['asks'] else ''}"
        for member in card["members"]
    ]
    parts = [
        "# A fused judge trained by summeter",
        f"`summeter score DATA -e fused[model=FOLDER]` judges {', '.join(card['scales'])} with it.",
        "\n".join(f"- **{name}**: {text}" for name, text in about.items()),
        "\n".join(["## Members", "", *members]),
    ]
    if card["warnings"]:
        parts.append("\n".join(["## Warnings", "", *(f"- {text}" for text in card["warnings"])]))
    for aspect in card["scales"]:
        parts += _of_aspect(card, aspect)
    baselines = "; ".join(f"{name}: {text}" for name, text in BASELINES.items())
    interval = next((figure["interval"] for figure in card["figures"] if "interval" in figure), "none")
    parts.append(f"Intervals of figures: {interval}. Baselines: {baselines}.")
    return "\n\n".join(parts) + "\n"


def _of_aspect(card: Card, aspect: str) -> list[str]:
    """An aspect's figures, interval, and inputs with their weights."""
    scale = card["scales"][aspect]
    width, coverage = scale["half_width"], scale["coverage"]
    interval = "No interval."
    if width is not None:
        held = _cell(card, JUDGE, aspect, "coverage")
        interval = f"Intervals: the value ± {width:.2f}, to hold {coverage:.0%} of people's mean ratings; here: {held}."
    head = "| input | points a standard deviation | its own Pearson | asks |\n|---|---|---|---|"
    rows = [
        f"| {each['input']} | {each['weight']:+.3f} | {number(each['pearson_alone'], 2)} | "
        f"{', '.join(each['asks'].values()) or 'nothing'} |"
        for each in card["inputs"][aspect]
    ]
    title = f"## {aspect} ({scale['low']:g} to {scale['high']:g})"
    return [title, _figures(card, aspect), interval, "\n".join([head, *rows])]


def _figures(card: Card, aspect: str) -> str:
    head = "| judge | " + " | ".join((*COEFFICIENTS, "systems: kendall_b")) + " |\n|---|---|---|---|---|"
    asked = [(name, name, "figures") for name in (JUDGE, *BASELINES)]
    if card["looked_at"] == "test":
        asked.insert(1, (f"{JUDGE}, cross-fitted", JUDGE, "cross_fitted"))
    rows = []
    for label, name, part in asked:
        cells = [_cell(card, name, aspect, statistic, part=part) for statistic in COEFFICIENTS]
        system = _cell(card, name, aspect, "kendall_b", "system", part)
        rows.append(f"| {label} | {' | '.join([*cells, system])} |")
    return "\n".join([head, *rows])
