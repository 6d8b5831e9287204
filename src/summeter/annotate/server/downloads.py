"""The files of `annotate export`, for the researcher's browser."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.platforms import platform_named
from summeter.annotate.platforms.base import Platform


class Download(NamedTuple):
    """A file as the page offers it: its title and what it holds."""

    title: str
    about: str
    suffix: str


_ALL = {
    "judgments": Download("Judgments", "each annotator's, the adjudicated and the merged ones", ".zip"),
    "data": Download("Data with the judgments", "a dataset folder, for --gold of the studies", ".zip"),
    "events": Download("The log", "every event, as annotate import takes it", ".jsonl"),
    "submissions": Download("Submissions", "what everybody did and earned", ".csv"),
    "bonuses": Download("Bonuses", "as the platform pays them in bulk", ".csv"),
    "study": Download("Study settings", "for setting up the study at the platform", ".json"),
}


def downloads(service: CampaignService) -> dict[str, Download]:
    """The files of this campaign, by name; bonuses and settings only for a platform that takes them."""
    platform = platform_named(service.campaign.platform.name)
    pays = type(platform).bonuses is not Platform.bonuses
    absent = {name for name, there in (("bonuses", pays), ("study", platform.name != "local")) if not there}
    return {name: download for name, download in _ALL.items() if name not in absent}


def write(service: CampaignService, name: str) -> bytes:
    """The file of a name in `downloads`; several files come as a ZIP archive."""
    from summeter.annotate.analysis import export  # loads statistics, which serving annotators does not need
    from summeter.annotate.analysis.aggregate import dataset_of
    from summeter.data.dataset import save

    with TemporaryDirectory() as place:
        folder = Path(place) / name
        file = folder / f"file{_ALL[name].suffix}"
        match name:
            case "judgments":
                export.write_judgments(service, folder)
            case "data":
                save(dataset_of(service), folder)
            case "events":
                export.export_events(service, file)
            case "submissions":
                export.write_submissions(service, file)
            case "bonuses":
                export.write_bonuses(service, file)
            case _:
                export.write_study_settings(service, file)
        if file.is_file():
            return file.read_bytes()
        archive = Path(place) / "archive.zip"
        with ZipFile(archive, "w", ZIP_DEFLATED) as zipped:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    zipped.write(path, path.relative_to(folder))
        return archive.read_bytes()
