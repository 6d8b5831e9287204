"""A trained judge's card in words: what a terminal shows, and the folder's README.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import jinja2
import numpy as np

from summeter.data.dataset import Dataset
from summeter.stats.base import Bools
from summeter.tables import number, with_interval
from summeter.training.figures import AUROC, BASELINES, CHEAP, COEFFICIENTS, JUDGE, PEOPLE, Figure, warnings
from summeter.training.ratings import Ratings
from summeter.training.split import Parts, fitted_on

_NAMED = {
    "pearson": "Pearson", "spearman": "Spearman", "kendall_b": "Kendall tau-b", "mean_absolute_error": "mean error",
    "alpha_interval": "Krippendorff alpha", "pearson_with_others": "Pearson with the others",
}  # fmt: skip
_STATISTICS = (*COEFFICIENTS, "mean_absolute_error")
_LOOKED = {
    "test": "The figures are of the test part, which nothing was chosen by.",
    "dev": "The test part was not looked at: the figures are of the dev part, which chose the judge, and flatter it.",
    "cross-fitted": "No test part was looked at: the figures are cross-fitted, each document predicted without itself.",
}


class Described(Protocol):
    """What a card says of every training."""

    how: Any
    data: Dataset
    ratings: Ratings
    parts: Parts


def card_of(task: Described, parts: Mapping[str, Bools], looked: Bools, listed: Sequence[Figure]) -> dict[str, Any]:
    """What the cards of all kinds of training have: the data, the rows of each part, and the figures of the rows that
    were looked at."""
    ratings, data, split = task.ratings, task.data, task.how.split

    def documents(rows: Bools) -> int:
        return len(np.unique(ratings.document_codes[rows]))

    return {
        "seed": task.how.seed,
        "data": {
            "name": data.card.name, "hash": data.hash, "licence": data.card.licence, "labels": task.how.labels,
            "summaries": len(ratings.summaries), "systems": len({row.system for row in ratings.summaries}),
        },
        "split": {
            "hash": task.parts.hash,
            "documents": {part: documents(rows) for part, rows in parts.items()},
            "summaries": {part: int(rows.sum()) for part, rows in parts.items()},
            "held_out_domains": list(split.held_out_domains), "held_out_systems": list(split.held_out_systems),
            "fitted_on": fitted_on(task.parts, ratings.texts),
        },
        "figures_on": {"summaries": int(looked.sum()), "documents": documents(looked)},
        "figures": [figure.model_dump(exclude_none=True) for figure in listed],
        "warnings": warnings(listed),
        "domains": sorted({domain for domain in ratings.domains.values() if domain is not None}),
    }  # fmt: skip


class Card:
    """The words of a card (`card.json`)."""

    def __init__(self, card: Mapping[str, Any]) -> None:
        self._card = card

    def lines(self) -> list[str]:
        """The figures that matter most, one line an aspect, what costs money, and the warnings."""
        card = self._card
        lines = [self._sizes()]
        if card.get("cut", {}).get("summaries"):
            lines.append(
                f"{card['cut']['summaries']} of {card['data']['summaries']} summaries have inputs of more than "
                f"{card['max_tokens']} tokens: the end of the document was cut off"
            )
        lines += [f"{count} summaries lack {name}" for name, count in card.get("missing", {}).items()]
        where = f"on {card['figures_on']['documents']} {card['looked_at']} documents"
        for aspect, statistic in [*((aspect, "pearson") for aspect in card["scales"]), *self._yes_no(AUROC)]:
            named = _NAMED.get(statistic, "AUROC")
            value, beside = self._cell(aspect, statistic), self._beside(aspect, statistic)
            lines.append(f"{aspect}: {named} {value} {where} ({beside})")
            if aspect in card.get("inputs", {}):
                most = ", ".join(f"{each['input']} {each['weight']:+.2f}" for each in card["inputs"][aspect][:3])
                lines.append(f"  weighs most: {most}")
        if "members" in card:
            lines.append(f"costs: {self._costs()}")
        return [*lines, *(f"warning: {text}" for text in card["warnings"])]

    def readme(self) -> str:
        """The whole card as Markdown."""
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("summeter.training", "."), autoescape=False, trim_blocks=True,  # noqa: S701
            lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
        )  # fmt: skip
        intervals = (figure["interval"] for figure in self._card["figures"] if "interval" in figure)
        return environment.get_template("card.md.j2").render(
            card={"members": [], "inputs": {}, **self._card}, sizes=self._sizes(), costs=self._costs(),
            looked=_LOOKED[self._card["looked_at"]], cell=self._cell, beside=self._beside, rows=self._rows,
            inputs=self._inputs, head=["domain", "judge", *map(_NAMED.__getitem__, _STATISTICS), "systems: tau-b"],
            yes_no=[aspect for aspect, _ in self._yes_no(AUROC)], baselines=BASELINES,
            interval=next(intervals, "none"),
        )  # fmt: skip

    def _sizes(self) -> str:
        documents, summaries = self._card["split"]["documents"], self._card["split"]["summaries"]
        return "; ".join(f"{part}: {summaries[part]} summaries of {documents[part]} documents" for part in documents)

    def _costs(self) -> str:
        """The members that ask an LLM, and what they cost."""
        texts = []
        for member in self._card.get("members", []):
            if not member["free"]:
                cost = member["cost_per_1000_summaries"]
                price = "at a price that is not known" if cost is None else f"at ${cost:.2f} for 1,000 summaries"
                texts.append(f"{member['name']} asks {', '.join(member['asks'].values())} {price}")
        return "; ".join(texts) or "no member asks an LLM"

    def _figures(self, part: str = "figures", **about: Any) -> Iterator[Mapping[str, Any]]:
        for figure in self._card[part]:
            if all(figure.get(name) == value for name, value in about.items()):
                yield figure

    def _cell(
        self, aspect: str, statistic: str, of: str = JUDGE, domain: str | None = None, level: str = "summary",
        part: str = "figures",
    ) -> str:  # fmt: skip
        """A figure with its interval."""
        for figure in self._figures(part, of=of, aspect=aspect, statistic=statistic, domain=domain, level=level):
            return with_interval(figure.get("value"), figure.get("low"), figure.get("high"), 2)
        return number(None)

    def _beside(self, aspect: str, statistic: str) -> str:
        """The figures of the untrained baselines."""
        return ", ".join(f"{name} {self._cell(aspect, statistic, name)}" for name in CHEAP)

    def _yes_no(self, statistic: str) -> list[tuple[str, str]]:
        return [(figure["aspect"], statistic) for figure in self._figures(of=JUDGE, statistic=statistic)]

    def _rows(self, aspect: str) -> Iterator[Sequence[str]]:
        """The rows of an aspect's table: by domain the judge, the baselines and people."""
        judges = [(name, name, "figures") for name in (JUDGE, *BASELINES)]
        if self._card["looked_at"] == "test" and "cross_fitted" in self._card:
            judges.insert(1, (f"{JUDGE}, cross-fitted", JUDGE, "cross_fitted"))
        for domain in [
            None,
            *dict.fromkeys(row["domain"] for row in self._figures(aspect=aspect) if row.get("domain")),
        ]:
            for label, of, part in judges:
                cells = [self._cell(aspect, statistic, of, domain, part=part) for statistic in _STATISTICS]
                system = self._cell(aspect, "kendall_b", of, level="system", part=part) if domain is None else ""
                yield [domain or "all", label, *cells, system]
            for figure in self._figures(of=PEOPLE, aspect=aspect, domain=domain):
                value = with_interval(figure.get("value"), figure.get("low"), figure.get("high"), 2)
                yield [domain or "all", f"people: {_NAMED[figure['statistic']]}", value, "", "", "", ""]

    def _inputs(self, aspect: str) -> Iterator[Sequence[str]]:
        """The inputs of an aspect of a fused judge, the heaviest first."""
        for each in self._card["inputs"][aspect]:
            asks = ", ".join(each["asks"].values()) or "nothing"
            yield [each["input"], f"{each['weight']:+.3f}", number(each["pearson_alone"], 2), asks]
