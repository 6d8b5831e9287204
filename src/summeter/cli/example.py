"""The bundled example."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

NAME = "nine_domains"


def bundled() -> Path:
    """Return the path of the bundled example. Raises InstallError if the file is missing."""
    from summeter.records import InstallError

    package = Path(str(resources.files("summeter")))
    for folder in (package / "examples", package.parents[1] / "examples"):
        file = folder / NAME / "summaries.jsonl"
        if file.is_file():
            return file
    raise InstallError("the bundled example is missing from this installation; reinstall summeter")


def fresh(folder: Path, name: str) -> None:
    """Remove an earlier demo run from `folder`.

    Raises UsageError if the folder contains another run.
    """
    from summeter.data.atomic import building, sweep
    from summeter.records import UsageError
    from summeter.runs.run import MANIFEST, read_manifest

    sweep(folder.parent, folder.name)
    if not (folder / MANIFEST).is_file():  # an empty folder, or a run killed at its start, which `evaluate` handles
        return
    if read_manifest(folder).data.source != name:
        raise UsageError(f"{folder} holds a run over other data; choose another folder with -o")
    with building(folder):
        pass
