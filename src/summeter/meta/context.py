"""Metadata of documents and summaries: columns by which results can be grouped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from summeter.records import Document, Summary, UsageError
from summeter.scoring.table import Categorical, Groups

Key = TypeVar("Key")

KNOWN = ("system", "domain", "category", "split", "document")
"""Columns that every dataset can have. Other columns are the extra columns of the data."""
CROSSED = " * "
"""Separator of the values of crossed columns."""


@dataclass(frozen=True)
class Context:
    """Domains and splits of documents, categories of summaries, and the extra columns of both.

    >>> Context(domains={"d1": "news"}).lookup("domain")("d1", "M8")
    'news'
    """

    domains: Mapping[str, str | None] = field(default_factory=dict)
    splits: Mapping[str, str | None] = field(default_factory=dict)
    categories: Mapping[tuple[str, str], str | None] = field(default_factory=dict)
    extra: Mapping[str, Mapping[tuple[str, str], str]] = field(default_factory=dict)

    @classmethod
    def of(cls, documents: Iterable[Document], summaries: Iterable[Summary]) -> Context:
        """Return the context of the documents and summaries of a dataset."""
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
    def lazy(cls, make: Callable[[], Context]) -> Context:
        """Return a context that calls `make` when a column is first used.

        This avoids reading large data unnecessarily.
        """
        return _LazyContext(make)

    def joined(self, other: Context) -> Context:
        """Return a context with the columns of both contexts.

        If both have a value, the value of this context is used.
        """
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
        """Return a function (document, system) -> value of a column, or of crossed columns such as "a*b".

        Raises UsageError if a column is unknown.

        >>> Context(domains={"d1": "news"}).lookup("domain*system")("d1", "M8")
        'news * M8'
        """
        if "*" in column:
            names = [part.strip() for part in column.split("*")]
            if "" in names or len(set(names)) < len(names):
                raise UsageError(f"{column!r} does not cross different columns; write a*b")
            lookups = [self.lookup(name) for name in names]

            def crossed(document: str, system: str) -> str | None:
                values = [value_of(document, system) for value_of in lookups]
                return None if None in values else CROSSED.join(map(str, values))

            return crossed
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
        raise UsageError(f"the data have no column {column!r} to group by; columns are: {known}")

    def column(self, name: str, document: Categorical, system: Categorical) -> Categorical:
        """Return the value of a column for each row (see `lookup`).

        >>> context = Context(domains={"d1": "news", "d2": None})
        >>> context.column("domain*system", Categorical.of(["d1", "d2"]), Categorical.of(["A", "A"])).names
        ('news * A', None)
        """
        value_of = self.lookup(name)
        items = Groups.by(document, system)
        pairs = zip(document.take(items.first).labels(), system.take(items.first).labels(), strict=True)
        values = Categorical.of([value_of(text or "", author or "") for text, author in pairs])
        return values.take(items.of)


class _LazyContext(Context):
    """A context that is created when one of its fields is first read."""

    def __init__(self, make: Callable[[], Context]) -> None:
        vars(self)["_make"] = make

    def __getattr__(self, name: str) -> Any:  # called for a field only while it is missing
        if name not in {each.name for each in fields(Context)}:
            raise AttributeError(name)
        vars(self).update(vars(self._make()))
        return vars(self)[name]


def _joined(first: Mapping[Key, str | None], second: Mapping[Key, str | None]) -> dict[Key, str | None]:
    return {**second, **{key: value for key, value in first.items() if value is not None}}
