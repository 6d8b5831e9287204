"""Where the bundled example is."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

NAME = "nine_domains"


def bundled() -> Path:
    """The flat file of the bundled example: inside an installed package, or beside src/ in a checkout."""
    from summeter.records import InstallError

    package = Path(str(resources.files("summeter")))
    for place in (package / "examples", package.parents[1] / "examples"):
        file = place / NAME / "summaries.jsonl"
        if file.is_file():
            return file
    raise InstallError("the bundled example is missing from this installation; install summeter again")


def fresh(folder: Path, name: str) -> None:
    """Clear an earlier demo run out of `folder`; UsageError where another run lies there."""
    from summeter.data.atomic import building, sweep
    from summeter.records import UsageError
    from summeter.runs.run import MANIFEST, read_manifest

    sweep(folder.parent, folder.name)
    if not (folder / MANIFEST).is_file():  # nothing, or a run killed at its start: `evaluate` says what it takes
        return
    if read_manifest(folder).data.source != name:
        raise UsageError(f"{folder} holds something other than an earlier demo; choose another -o")
    with building(folder):
        pass
