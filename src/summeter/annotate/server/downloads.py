"""The files of `annotate export`, for the researcher's browser.

What writes them loads when it is asked for: serving annotators needs no statistics.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.platforms import platform_named
from summeter.annotate.platforms.base import Platform
from summeter.data.atomic import write_text


class Download(NamedTuple):
    """A file as the page offers it: what it is called and what it holds."""

    title: str
    about: str
    suffix: str
    write: Callable[[CampaignService, Path], None]


def _zipped(target: Path, folder: Path, files: Iterable[Path]) -> None:
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(folder))


def _judgments(service: CampaignService, target: Path) -> None:
    from summeter.annotate.analysis.export import write_judgments

    with TemporaryDirectory() as place:
        folder = Path(place)
        _zipped(target, folder, write_judgments(service, folder))


def _data(service: CampaignService, target: Path) -> None:
    from summeter.annotate.analysis.aggregate import dataset_of
    from summeter.data.dataset import save

    with TemporaryDirectory() as place:
        folder = Path(place) / "data"
        save(dataset_of(service), folder)
        _zipped(target, folder, sorted(path for path in folder.rglob("*") if path.is_file()))


def _events(service: CampaignService, target: Path) -> None:
    from summeter.annotate.analysis.export import export_events

    export_events(service, target)


def _submissions(service: CampaignService, target: Path) -> None:
    from summeter.annotate.analysis.export import write_submissions

    write_submissions(service, target)


def _bonuses(service: CampaignService, target: Path) -> None:
    from summeter.annotate.analysis.export import write_bonuses

    write_bonuses(service, target)


def _study(service: CampaignService, target: Path) -> None:
    from summeter.annotate.analysis.export import study_settings

    write_text(target, json.dumps(study_settings(service.campaign), indent=2, ensure_ascii=False) + "\n")


_ALL = {
    "judgments": Download("Judgments", "each annotator's, the adjudicated and the merged ones", ".zip", _judgments),
    "data": Download("Data with the judgments", "a dataset folder, for --gold of the studies", ".zip", _data),
    "events": Download("The log", "every event, as annotate import takes it", ".jsonl", _events),
    "submissions": Download("Submissions", "what everybody did and earned", ".csv", _submissions),
    "bonuses": Download("Bonuses", "as the platform pays them in bulk", ".csv", _bonuses),
    "study": Download("Study settings", "what the platform must be told", ".json", _study),
}


def downloads(service: CampaignService) -> dict[str, Download]:
    """What there is for this campaign, by name: bonuses and settings only of a platform that takes them."""
    platform = platform_named(service.campaign.platform.name)
    pays = type(platform).bonuses is not Platform.bonuses
    absent = {name for name, there in (("bonuses", pays), ("study", platform.name != "local")) if not there}
    return {name: download for name, download in _ALL.items() if name not in absent}


def write(service: CampaignService, download: Download) -> bytes:
    """The file."""
    with TemporaryDirectory() as place:
        target = Path(place) / f"file{download.suffix}"
        download.write(service, target)
        return target.read_bytes()
