"""The dates on which vendors close hosted models, from `closing.csv`.

Each row names the page on which the date was read, and the day. Pages of vendors are preferred to pages that quote
them. A model that is not listed may close at any time, and so may a model of another provider with the same name:
vendors' dates apply only to their own platforms.
"""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterable
from functools import cache

from summeter.data.shipped import shipped_text
from summeter.records import Record

NOTICE = 90
"""The number of days before its closing date from which a run with a model is preceded by a warning."""


class Closing(Record):
    """What a vendor says about the end of a model.

    `closes` is the closing date. If no date was found, it is None, and `not_before` may be the earliest date that
    the vendor names. `replacement` is the model that the vendor recommends, or None. `source` is the page that was
    read, on the day `read`.
    """

    model: str
    closes: datetime.date | None
    not_before: datetime.date | None
    replacement: str | None
    source: str
    read: datetime.date

    def state(self, today: datetime.date) -> str:
        """Return in words whether and when the model closes.

        >>> day = datetime.date(2026, 12, 11)
        >>> closing_dates()["openai/gpt-5"].state(day - datetime.timedelta(13))
        'closes on 2026-12-11, in 13 days'
        >>> closing_dates()["openai/gpt-5"].state(day)
        'closed on 2026-12-11'
        """
        if self.closes is not None:
            days = (self.closes - today).days
            return f"closes on {self.closes}, in {days} days" if days > 0 else f"closed on {self.closes}"
        return f"not before {self.not_before}" if self.not_before else "no date found"


@cache
def closing_dates() -> dict[str, Closing]:
    """Return what vendors say about the end of their models, by model string."""
    rows = csv.DictReader(shipped_text("summeter.models", "closing.csv").splitlines())
    return {row["model"]: Closing.model_validate({name: text or None for name, text in row.items()}) for row in rows}


def closing_warnings(models: Iterable[str], today: datetime.date | None = None) -> list[str]:
    """Return a warning for each model that has closed, or closes within `NOTICE` days of `today`."""
    today = today or datetime.datetime.now(datetime.UTC).date()
    found = (closing_dates().get(model) for model in dict.fromkeys(models))
    return [
        f"{each.model} {each.state(today)}"
        + (f"; its vendor recommends {each.replacement}" if each.replacement else "")
        + ". `summeter meta bridge` compares two models"
        for each in found
        if each is not None and each.closes is not None and (each.closes - today).days <= NOTICE
    ]
