"""English texts that pages can show in another language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Phrase(str):
    """An English text that remembers the pattern and the values from which it was made.

    As a string, it is the English text. Pages in another language look up the pattern, and put the values into its
    translation; values that are phrases are translated too. `shown` is the English text if it is not the pattern with
    its values, as for a singular.

    >>> text = Phrase("{judge} puts {system} highest", judge="support", system="aster")
    >>> text, text.pattern, text.values["system"]
    ('support puts aster highest', '{judge} puts {system} highest', 'aster')
    """

    pattern: str
    values: Mapping[str, object]

    def __new__(cls, pattern: str, /, *, shown: str | None = None, **values: object) -> Phrase:
        """Fill the pattern, whose numbers are formatted with commas."""
        filled = {name: f"{value:,}" if isinstance(value, int) else value for name, value in values.items()}
        text = shown if shown is not None else pattern.format(**filled) if values else pattern
        self = super().__new__(cls, text)
        self.pattern, self.values = pattern, values
        return self

    @classmethod
    def join(  # type: ignore[override]  # not the method of str
        cls, separator: str, texts: Iterable[str], *, shown: str | None = None
    ) -> Phrase:
        """Join texts into one phrase, whose parts are translated one by one; `shown` is the English text.

        >>> Phrase.join("; ", ["a", "b"]).pattern
        '{part0}; {part1}'
        """
        parts = {f"part{number}": text for number, text in enumerate(texts)}
        return cls(separator.join(f"{{{name}}}" for name in parts), shown=shown, **parts)


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Return a count with its noun, such as `1 document` or `1,204 documents`."""
    return Phrase(f"{{n}} {plural or singular + 's'}", shown=f"1 {singular}" if number == 1 else None, n=number)
