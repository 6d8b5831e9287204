"""The files of `annotate export` as downloads for researchers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.platforms import platform_named
from summeter.annotate.platforms.base import Platform


class Download(NamedTuple):
    """The title, description and file extension of a download."""

    title: str
    about: str
    suffix: str


_ALL = {
    "judgments": Download("Judgments", "by annotator, adjudicated and merged", ".zip"),
    "answers": Download("Answers", "one row per answer, for a spreadsheet", ".csv"),
    "data": Download("Data with judgments", "dataset folder for the option --gold", ".zip"),
    "events": Download("Log", "all events, for annotate import", ".jsonl"),
    "submissions": Download("Submissions", "work and pay by submission", ".csv"),
    "bonuses": Download("Bonuses", "for bulk payment on the platform", ".csv"),
    "study": Download("Study settings", "for creating the study on the platform", ".json"),
}


def downloads(service: CampaignService) -> dict[str, Download]:
    """Return the downloads of a campaign by name.

    Bonuses and study settings are included only for platforms that have them.
    """
    platform = platform_named(service.campaign.platform.name)
    available = dict(_ALL)
    if type(platform).bonuses is Platform.bonuses:
        del available["bonuses"]
    if platform.name == "local":
        del available["study"]
    return available


def write(service: CampaignService, name: str) -> bytes:
    """Return the content of a file in `downloads`; several files are combined in a ZIP archive."""
    from summeter.annotate.analysis import export  # loads statistics, which the annotators' pages do not need
    from summeter.annotate.analysis.aggregate import dataset_of
    from summeter.data.dataset import save

    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / name
        file = folder / f"file{_ALL[name].suffix}"
        match name:
            case "judgments":
                export.write_judgments(service, folder)
            case "answers":
                export.write_answers(service, file)
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
        archive = Path(temporary) / "archive.zip"
        with ZipFile(archive, "w", ZIP_DEFLATED) as zipped:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    zipped.write(path, path.relative_to(folder))
        return archive.read_bytes()
