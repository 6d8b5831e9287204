"""What every preset is made of: a name, a line about it, and the function that turns a row of the layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Strict, TypeAdapter, ValidationError

Cells = dict[str, Any]
Text = Annotated[str, Strict()]
T = TypeVar("T")


class LayoutError(ValueError):
    """A row that is not in the preset's layout; `field` is the column at fault."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


@dataclass(frozen=True)
class Preset:
    """One public layout. `about` says whose, and what its labels become; `turn` makes flat rows of one row."""

    name: str
    about: str
    turn: Callable[[Cells], Iterable[Cells]]


def renamed(cells: Cells, columns: Mapping[str, str]) -> Cells:
    """The row with its columns (old name: field) renamed; the other columns keep their names."""
    return {columns.get(name, name): value for name, value in cells.items()}


def taken(cells: Cells, column: str, form: TypeAdapter[T], what: str) -> T:
    """Remove a column that must be there, and return it in the form that the layout has; `what` names the form."""
    if column not in cells:
        raise LayoutError(column, "is missing, and this layout has it; check the preset")
    return formed(cells.pop(column), column, form, what)


def formed(value: Any, column: str, form: TypeAdapter[T], what: str) -> T:
    """A value in the form that the layout has. Raises LayoutError."""
    try:
        return form.validate_python(value)
    except ValidationError:
        raise LayoutError(column, f"is not {what}, as this layout has it; check the preset") from None


TEXTS: TypeAdapter[list[str]] = TypeAdapter(list[Text])
LIST: TypeAdapter[list[Any]] = TypeAdapter(list[Any])


def supported(value: Any, column: str) -> int:
    """A label of 0 or 1, also as text (tables have no numbers)."""
    if value in (0, 1, "0", "1", 0.0, 1.0):
        return int(value)
    raise LayoutError(column, f"holds {value!r} where this layout has 0 or 1; check the preset")


def inverted(value: Any, column: str) -> int | None:
    """A label with 1 = error as one with 1 = supported; null stays null."""
    return None if value is None else 1 - supported(value, column)
