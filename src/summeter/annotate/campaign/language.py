"""Language files with the texts of the annotators' pages.

Language files are shipped in `app/languages` or provided with a campaign. The reference is `en.yaml`: every language
must have the same keys and the same placeholders, so that no page mixes languages.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from summeter.data.mapping import in_order, line_of, read_model, read_yaml, yaml_lines
from summeter.pages.language import Language
from summeter.records import Fault, UsageError

SHIPPED = Path(__file__).parents[1] / "app" / "languages"
REFERENCE = "en"


def shipped_names() -> list[str]:
    """Return the names of the languages that come with summeter.

    >>> "en" in shipped_names()
    True
    """
    return sorted(file.stem for file in SHIPPED.glob("*.yaml"))


@cache
def shipped(name: str) -> Language:
    """Return a language that comes with summeter."""
    return Language.model_validate(read_yaml(SHIPPED / f"{name}.yaml"))


def language_file(interface: str, folder: Path) -> Path:
    """Return the path of a shipped or custom language file.

    The path of a custom language file is relative to `folder`. Raises UsageError if there is no such language or file.
    """
    if interface in shipped_names():
        return SHIPPED / f"{interface}.yaml"
    file = folder / interface
    if file.suffix not in {".yaml", ".yml"}:
        known = ", ".join(shipped_names())
        raise UsageError(
            f"there is no language {interface!r}; use one of {known}, or a translated copy of "
            f"{SHIPPED / f'{REFERENCE}.yaml'}"
        )
    if not file.is_file():
        raise UsageError(f"the language file {file} does not exist")
    return file


def read_language(file: Path) -> Language:
    """Read a language file. Raises InputError with all missing, unknown and invalid keys."""
    if file.parent == SHIPPED:
        return shipped(file.stem)
    language = read_model(file, Language, "a language file needs language, direction, plurals and strings")
    lines, _ = yaml_lines(file)
    faults = [
        Fault(str(file), line_of(lines, ("strings", key)), f"strings.{key}", message)
        for key, message in language.differences(shipped(REFERENCE))
    ]
    if faults:
        raise in_order(faults)
    return language
