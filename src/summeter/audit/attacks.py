"""The injection set: texts that try to command a judge, and the disguises they come in."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from summeter.data.mapping import parse_yaml
from summeter.records import Fault, InputError, Record, UsageError, faults_in

Place = Literal["summary", "document"]
Aim = Literal["up", "down", "none"]
Trick = Literal["plain", "zero_width", "tag_letters", "right_to_left", "look_alikes"]

_LOOK_ALIKES = str.maketrans("aceiopsxyABCEHIKMOPTX", "асеіорѕхуАВСЕНІКМОРТХ")


class Attack(Record):
    """One text, where it is put, and which way it pushes. `aim` "none" marks a control, which pushes nowhere.

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
        """The text as it is put in."""
        return TRICKS[self.trick](self.text)


TRICKS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "zero_width": "\u200b".join,
    # U+E0000 and up: letters that no font draws and every tokenizer sees.
    "tag_letters": lambda text: "".join(chr(0xE0000 + ord(each)) if " " <= each <= "~" else each for each in text),
    "right_to_left": lambda text: f"\u202e{text[::-1]}\u202c",
    "look_alikes": lambda text: text.translate(_LOOK_ALIKES),
}
"""Disguise -> how it changes a text. Each leaves it readable to a model, and some hide it from people."""


def read_attacks(file: str | Path | None = None) -> tuple[Attack, ...]:
    """The attacks of a YAML file (a list of `name, place, aim, text, trick`), or the shipped set.

    Raises InputError naming file, entry and field; there must be a control for each place that is attacked.

    >>> {attack.aim for attack in read_attacks()} == {"up", "down", "none"}
    True
    """
    name = "the shipped injection set" if file is None else str(file)
    attacks: list[Attack] = []
    faults: list[Fault] = []
    try:
        source = resources.files("summeter.audit") / "attacks.yaml" if file is None else Path(file)
        read = parse_yaml(source.read_text(encoding="utf-8"), Path(name))
    except OSError as error:
        raise InputError.at(name, None, None, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError.at(name, None, None, f"is not UTF-8 text: {error}") from error
    if not isinstance(read, list) or not read:
        raise InputError.at(name, None, None, "is not a list of attacks")
    for number, entry in enumerate(read, 1):
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
    if twice := sorted({each for each in names if names.count(each) > 1}):
        raise InputError.at(name, None, "name", f"{twice[0]!r} stands there twice")
    if not any(attack.aim != "none" for attack in attacks):
        raise UsageError(f"{name} holds controls only, and no attack")
    for place in sorted({attack.place for attack in attacks}):
        controls = [attack for attack in attacks if attack.place == place and attack.aim == "none"]
        if len(controls) != 1:
            raise InputError.at(
                name, None, "aim", f"the {place} needs exactly one control (aim: none), it has {len(controls)}"
            )
    return tuple(attacks)
