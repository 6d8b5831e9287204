"""What is known of documents and summaries besides judgments: the columns a study can be broken down by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from summeter.records import Document, Summary, UsageError
from summeter.scoring.table import Categorical, Groups

Key = TypeVar("Key")

KNOWN = ("system", "domain", "category", "split", "document")
"""Columns that every data set can have; others come from the data's own extra columns."""
CROSSED = " * "
"""What divides the values of two columns that are crossed."""


@dataclass(frozen=True)
class Context:
    """Domain and split of documents, category of summaries, further columns of both; empty where nothing is known.

    >>> Context(domains={"d1": "news"}).lookup("domain")("d1", "M8")
    'news'
    """

    domains: Mapping[str, str | None] = field(default_factory=dict)
    splits: Mapping[str, str | None] = field(default_factory=dict)
    categories: Mapping[tuple[str, str], str | None] = field(default_factory=dict)
    extra: Mapping[str, Mapping[tuple[str, str], str]] = field(default_factory=dict)

    @classmethod
    def of(cls, documents: Iterable[Document], summaries: Iterable[Summary]) -> Context:
        """From the documents and summaries of a data set."""
        of_document: dict[str, Mapping[str, Any]] = {}
        domains: dict[str, str | None] = {}
        splits: dict[str, str | None] = {}
        for document in documents:
            domains[document.id], splits[document.id] = document.domain, document.split
            if document.extra:
                of_document[document.id] = document.extra
        categories: dict[tuple[str, str], str | None] = {}
        extra: dict[str, dict[tuple[str, str], str]] = {}
        for summary in summaries:
            item = summary.document_id, summary.system
            categories[item] = summary.category
            for name, value in {**of_document.get(summary.document_id, {}), **summary.extra}.items():
                if isinstance(value, str | int | float):
                    extra.setdefault(name, {})[item] = str(value)
        return cls(domains, splits, categories, extra)

    @classmethod
    def later(cls, make: Callable[[], Context]) -> Context:
        """What `make` gives, made when it is first asked for: of large data it takes a while."""
        return _Later(make)

    def joined(self, other: Context) -> Context:
        """What either knows; where both know something, this one counts."""
        if isinstance(self, _Later) or isinstance(other, _Later):
            return _Later(lambda: self._with(other))
        return self._with(other)

    def _with(self, other: Context) -> Context:
        extra = {
            name: {**other.extra.get(name, {}), **self.extra.get(name, {})} for name in {**self.extra, **other.extra}
        }
        return Context(
            _joined(self.domains, other.domains),
            _joined(self.splits, other.splits),
            _joined(self.categories, other.categories),
            extra,
        )

    def lookup(self, column: str) -> Callable[[str, str], str | None]:
        """A function (document, system) -> the value of a column. Raises UsageError for an unknown column."""
        by_document = {"domain": self.domains, "split": self.splits}
        if column == "system":
            return lambda _, system: system
        if column == "document":
            return lambda document, _: document
        if column in by_document:
            return lambda document, _: by_document[column].get(document)
        if column == "category":
            return lambda document, system: self.categories.get((document, system))
        if column in self.extra:
            return lambda document, system: self.extra[column].get((document, system))
        known = ", ".join((*KNOWN, *self.extra))
        raise UsageError(f"the data have no column {column!r} to group by; there are: {known}")

    def column(self, name: str, document: Categorical, system: Categorical) -> Categorical:
        """The value of a column for each row; "a*b" crosses two columns.

        >>> context = Context(domains={"d1": "news", "d2": None})
        >>> context.column("domain*system", Categorical.of(["d1", "d2"]), Categorical.of(["A", "A"])).names
        ('news * A', None)
        """
        if "*" in name:
            names = [part.strip() for part in name.split("*")]
            if "" in names or len(set(names)) < len(names):
                raise UsageError(f"{name!r} does not cross different columns; write a*b")
            columns = [self.column(part, document, system) for part in names]
            crossed = Groups.by(*columns)
            labels = zip(*(column.take(crossed.first).labels() for column in columns), strict=True)
            return Categorical.of(None if None in label else CROSSED.join(label) for label in labels).take(crossed.of)
        look = self.lookup(name)
        items = Groups.by(document, system)
        pairs = zip(document.take(items.first).labels(), system.take(items.first).labels(), strict=True)
        values = Categorical.of([look(text or "", author or "") for text, author in pairs])
        return values.take(items.of)


class _Later(Context):
    """A context that is made when it is first asked for."""

    def __init__(self, make: Callable[[], Context]) -> None:
        object.__setattr__(self, "_make", make)

    def __getattribute__(self, name: str) -> Any:
        if name in _FIELDS:
            made = vars(self).get("_made")
            if made is None:
                made = vars(self)["_make"]()
                object.__setattr__(self, "_made", made)
            return getattr(made, name)
        return super().__getattribute__(name)


_FIELDS = frozenset(("domains", "splits", "categories", "extra"))


def _joined(own: Mapping[Key, str | None], other: Mapping[Key, str | None]) -> dict[Key, str | None]:
    return {**other, **{key: value for key, value in own.items() if value is not None}}
