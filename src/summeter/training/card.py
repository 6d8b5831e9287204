"""Make the card of a trained judge, with the lines for the terminal and the README.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jinja2

from summeter.stats.base import Bools
from summeter.tables import number, with_interval
from summeter.training.base import Task
from summeter.training.figures import AUROC, BASELINES, COEFFICIENTS, JUDGE, PEOPLE, UNTRAINED, Figure, warnings
from summeter.training.split import fitted_on

_NAMES = {
    "pearson": "Pearson", "spearman": "Spearman", "kendall_b": "Kendall tau-b",
    "mean_absolute_error": "mean absolute error",
    "alpha_interval": "Krippendorff alpha", "pearson_with_others": "Pearson with the others",
}  # fmt: skip
_STATISTICS = (*COEFFICIENTS, "mean_absolute_error")
_EVALUATED = {
    "test": "The figures are those of the test set, which was not used for training or selection.",
    "dev": "The test set was not evaluated: the figures are those of the dev set, which was used for selection, so "
    "they are optimistic.",
    "cross-fitted": "No test set was evaluated: the figures are cross-fitted, so each document is predicted without "
    "its own ratings.",
}


def card_of(task: Task, evaluated: Bools, listed: Sequence[Figure]) -> dict[str, Any]:
    """Return the entries that all cards have: the data, the sizes of the subsets, and the figures.

    `evaluated` is the mask of the rows on which the figures in `listed` were computed.
    """
    ratings, data, split = task.ratings, task.data, task.how.split
    return {
        "seed": task.how.seed,
        "data": {
            "name": data.card.name, "hash": data.hash, "licence": data.card.licence, "labels": task.how.labels,
            "summaries": len(ratings.summaries), "systems": len({row.system for row in ratings.summaries}),
        },
        "split": {
            "hash": task.partition.hash,
            "documents": {subset: ratings.document_count(rows) for subset, rows in task.rows.items()},
            "summaries": {subset: int(rows.sum()) for subset, rows in task.rows.items()},
            "held_out_domains": list(split.held_out_domains), "held_out_systems": list(split.held_out_systems),
            "fitted_on": fitted_on(task.partition, ratings.texts),
        },
        "figures_on": {"summaries": int(evaluated.sum()), "documents": ratings.document_count(evaluated)},
        "figures": [figure.model_dump(exclude_none=True) for figure in listed],
        "warnings": warnings(listed),
        "domains": sorted({domain for domain in ratings.domains.values() if domain is not None}),
    }  # fmt: skip


def _interval(figure: Mapping[str, Any]) -> str:
    return with_interval(figure.get("value"), figure.get("low"), figure.get("high"), 2)


class Card:
    """The texts made from a card (`card.json`)."""

    def __init__(self, card: Mapping[str, Any]) -> None:
        self._card = card

    def lines(self) -> list[str]:
        """Return lines with the most important figures of each aspect, the costs, and the warnings."""
        card = self._card
        lines = [self._sizes()]
        if card.get("cut", {}).get("summaries"):
            lines.append(
                f"{card['cut']['summaries']} of {card['data']['summaries']} summaries have inputs of more than "
                f"{card['max_tokens']} tokens: the end of the document was truncated"
            )
        lines += [f"{count} summaries have no value of {name}" for name, count in card.get("missing", {}).items()]
        where = f"on {card['figures_on']['documents']} {card['looked_at']} documents"
        for aspect, statistic in [*((aspect, "pearson") for aspect in card["scales"]), *self._yes_no(AUROC)]:
            label = _NAMES.get(statistic, "AUROC")
            value, baselines = self._cell(aspect, statistic), self._baselines(aspect, statistic)
            lines.append(f"{aspect}: {label} {value} {where} ({baselines})")
            if aspect in card.get("inputs", {}):
                largest = ", ".join(f"{each['input']} {each['weight']:+.2f}" for each in card["inputs"][aspect][:3])
                lines.append(f"  largest weights: {largest}")
        if "members" in card:
            lines.append(f"costs: {self._costs()}")
        return [*lines, *(f"warning: {text}" for text in card["warnings"])]

    def readme(self) -> str:
        """Return the card as Markdown."""
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("summeter.training", "."), autoescape=False, trim_blocks=True,  # noqa: S701
            lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
        )  # fmt: skip
        intervals = (figure["interval"] for figure in self._card["figures"] if "interval" in figure)
        return environment.get_template("card.md.j2").render(
            card={"members": [], "inputs": {}, **self._card}, sizes=self._sizes(), costs=self._costs(),
            evaluated=_EVALUATED[self._card["looked_at"]], cell=self._cell, untrained=self._baselines, rows=self._rows,
            inputs=self._inputs, head=["domain", "judge", *map(_NAMES.__getitem__, _STATISTICS), "systems: tau-b"],
            yes_no=[aspect for aspect, _ in self._yes_no(AUROC)], baselines=BASELINES,
            interval=next(intervals, "none"),
        )  # fmt: skip

    def _sizes(self) -> str:
        documents, summaries = self._card["split"]["documents"], self._card["split"]["summaries"]
        return "; ".join(f"{name}: {summaries[name]} summaries of {documents[name]} documents" for name in documents)

    def _costs(self) -> str:
        """Return a description of the members that call an LLM, with their costs in US dollars."""
        texts = []
        for member in self._card.get("members", []):
            if not member["free"]:
                cost = member["cost_per_1000_summaries"]
                price = "at an unknown price" if cost is None else f"at ${cost:.2f} per 1,000 summaries"
                texts.append(f"{member['name']} calls {', '.join(member['asks'].values())} {price}")
        return "; ".join(texts) or "no member calls an LLM"

    def _figures(self, section: str = "figures", **about: Any) -> list[Mapping[str, Any]]:
        return [each for each in self._card[section] if all(each.get(name) == value for name, value in about.items())]

    def _cell(
        self, aspect: str, statistic: str, of: str = JUDGE, domain: str | None = None, level: str = "summary",
        section: str = "figures",
    ) -> str:  # fmt: skip
        """Return a figure with its interval as text."""
        found = self._figures(section, of=of, aspect=aspect, statistic=statistic, domain=domain, level=level)
        return _interval(found[0]) if found else number(None)

    def _baselines(self, aspect: str, statistic: str) -> str:
        """Return the figures of the untrained baselines as text."""
        return ", ".join(f"{name} {self._cell(aspect, statistic, name)}" for name in UNTRAINED)

    def _yes_no(self, statistic: str) -> list[tuple[str, str]]:
        return [(figure["aspect"], statistic) for figure in self._figures(of=JUDGE, statistic=statistic)]

    def _rows(self, aspect: str) -> Iterator[Sequence[str]]:
        """Yield the rows of an aspect's table: the judge, the baselines and the annotators for each domain."""
        judges = [(name, name, "figures") for name in (JUDGE, *BASELINES)]
        if self._card["looked_at"] == "test" and "cross_fitted" in self._card:
            judges.insert(1, (f"{JUDGE}, cross-fitted", JUDGE, "cross_fitted"))
        for domain in dict.fromkeys([None, *(row.get("domain") for row in self._figures(aspect=aspect))]):
            for label, of, section in judges:
                cells = [self._cell(aspect, statistic, of, domain, section=section) for statistic in _STATISTICS]
                system = self._cell(aspect, "kendall_b", of, level="system", section=section) if domain is None else ""
                yield [domain or "all", label, *cells, system]
            for figure in self._figures(of=PEOPLE, aspect=aspect, domain=domain):
                yield [domain or "all", f"people: {_NAMES[figure['statistic']]}", _interval(figure), "", "", "", ""]

    def _inputs(self, aspect: str) -> Iterator[Sequence[str]]:
        """Yield the table rows of a fused judge's inputs for an aspect, by decreasing absolute weight."""
        for each in self._card["inputs"][aspect]:
            asks = ", ".join(each["asks"].values()) or "nothing"
            yield [each["input"], f"{each['weight']:+.3f}", number(each["pearson_alone"], 2), asks]
