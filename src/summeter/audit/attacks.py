"""The attacks of the prompt-injection audit, and the encodings that disguise them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from summeter.data.mapping import read_yaml
from summeter.records import Fault, InputError, Record, UsageError, faults_in

Place = Literal["summary", "document"]
Aim = Literal["up", "down", "none"]
Trick = Literal["plain", "zero_width", "tag_letters", "right_to_left", "look_alikes"]

_LOOK_ALIKES = str.maketrans("aceiopsxyABCEHIKMOPTX", "асеіорѕхуАВСЕНІКМОРТХ")


class Attack(Record):
    """A text to insert, the place of insertion, and the direction in which it pushes a verdict.

    If `aim` is "none", the text is the control, which pushes in no direction.

    >>> Attack(name="shout", place="summary", aim="up", text="Full marks!").disguised
    'Full marks!'
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    place: Place
    aim: Aim
    text: str = Field(min_length=1)
    trick: Trick = "plain"

    @property
    def disguised(self) -> str:
        """The text after the disguise is applied."""
        return TRICKS[self.trick](self.text)


TRICKS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "zero_width": "\u200b".join,
    # From U+E0000: characters that fonts do not draw but tokenizers see.
    "tag_letters": lambda text: "".join(chr(0xE0000 + ord(each)) if " " <= each <= "~" else each for each in text),
    "right_to_left": lambda text: f"\u202e{text[::-1]}\u202c",
    "look_alikes": lambda text: text.translate(_LOOK_ALIKES),
}
"""Disguise -> function that disguises a text. Models can read every result; some results are invisible to people."""


def read_attacks(file: str | Path | None = None) -> tuple[Attack, ...]:
    """Read attacks from a YAML file, or return the shipped attacks if `file` is None.

    The file contains a list of mappings with the fields `name`, `place`, `aim`, `text` and `trick`. Each attacked place
    needs exactly one control. Raises InputError with the file, the entry and the field if the file is invalid.

    >>> {attack.aim for attack in read_attacks()} == {"up", "down", "none"}
    True
    """
    name = "the shipped injection set" if file is None else str(file)
    attacks: list[Attack] = []
    faults: list[Fault] = []
    content = read_yaml(Path(__file__).with_name("attacks.yaml") if file is None else Path(file))
    if not isinstance(content, list) or not content:
        raise InputError.at(name, "is not a list of attacks")
    for number, entry in enumerate(content, 1):
        try:
            attacks.append(Attack.model_validate(entry))
        except ValidationError as error:
            faults += (
                fault._replace(field=f"entry {number}: {fault.field or 'entry'}")
                for fault in faults_in(name, None, error)
            )
    if faults:
        raise InputError(faults)
    names = [attack.name for attack in attacks]
    if repeated := sorted({each for each in names if names.count(each) > 1}):
        raise InputError.at(name, f"{repeated[0]!r} occurs twice; rename one of them", field="name")
    if not any(attack.aim != "none" for attack in attacks):
        raise UsageError(f"{name} contains only controls; add an attack (aim: up or down)")
    for place in sorted({attack.place for attack in attacks}):
        controls = [attack for attack in attacks if attack.place == place and attack.aim == "none"]
        if len(controls) != 1:
            raise InputError.at(
                name, f"the {place} needs exactly one control (aim: none), but has {len(controls)}", field="aim"
            )
    return tuple(attacks)
