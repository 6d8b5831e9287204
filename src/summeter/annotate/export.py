"""Files out of a campaign and in: judgments, a platform's CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from summeter.annotate.aggregate import MERGED, merged_of
from summeter.annotate.folder import JUDGMENTS
from summeter.annotate.judgments import judgments_of
from summeter.annotate.platforms import platform_named
from summeter.annotate.platforms.base import submissions, write_csv
from summeter.data.atomic import write_lines, write_text

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign
    from summeter.annotate.desk import Desk
    from summeter.annotate.platforms.base import Said
    from summeter.annotate.state import Person, State
    from summeter.annotate.store.log import Turn


def write_judgments(desk: Desk, *, complete_only: bool = False) -> dict[Path, int]:
    """Rebuild the views in judgments/; the number of judgments by file. Adjudicated ones only where there are any.

    With `complete_only` a task with fewer answers than wanted has no merged label (`merged_of`).
    """
    settled, both = judgments_of(desk, adjudicated=True), merged_of(desk, complete_only=complete_only)
    sets = {"human.raw": judgments_of(desk), "human.adjudicated": settled, MERGED: both}
    written: dict[Path, int] = {}
    for name, found in sets.items():
        if found or name == "human.raw":
            path = desk.folder.folder / JUDGMENTS / f"{name}.jsonl"
            written[path] = write_lines(path, (one.model_dump_json(exclude_none=True) for one in found))
    return written


def write_csv_of(desk: Desk, file: Path) -> int:
    """Write submissions and outcomes as the campaign's platform reads them; returns the number of submissions."""
    platform = platform_named(desk.campaign.platform.name)
    write_text(file, write_csv(platform.columns(), platform.rows(desk)))
    return sum(1 for _ in submissions(desk))


def write_bonuses_of(desk: Desk, file: Path) -> int:
    """Write the bonuses as the campaign's platform takes them; returns the number of submissions that earned one.

    Raises UsageError where the platform pays none.
    """
    write_text(file, platform_named(desk.campaign.platform.name).bonuses(desk))
    return sum(one.bonus > 0 for one in submissions(desk))


def study_of(campaign: Campaign) -> dict[str, Any]:
    """What a platform must be told to set the study up: title, link, codes, pay, prerequisites in its own terms."""
    platform, codes = platform_named(campaign.platform.name), campaign.codes.model_dump()
    wanted = campaign.platform.prerequisites
    asked = {} if wanted is None else platform.prerequisites(wanted)
    pay = None if campaign.pay is None else campaign.pay.model_dump()
    return {"title": campaign.title, "platform": platform.name, "link": f"/{platform.link}", "completion_codes": codes,
            "pay": pay, **asked}  # fmt: skip


def import_csv(desk: Desk, file: Path) -> tuple[int, int]:
    """Note what the platform's CSV says of submissions; (noted, rows about some that never came here).

    What was noted already is not noted again.
    """
    name = desk.campaign.platform.name
    said = platform_named(name).read(file)

    def decide(turn: Turn[State]) -> tuple[int, int]:
        known = {one.visitor["id"]: one for one in turn.state.people.values() if one.visitor["platform"] == name}
        noted = [one for one in said if one.id in known and _came(known[one.id], one)]
        for one in noted:
            _note(turn, known[one.id].annotator, one)
        return len(noted), len(said) - len(noted)

    return desk.log.do(decide)


def _came(person: Person, said: Said) -> bool:
    return not said.session or any(one.session == said.session for one in person.submissions)


def _note(turn: Turn[State], annotator: str, said: Said) -> None:
    if turn.state.people[annotator].said.get(said.session) != said.data["status"]:
        turn.emit("platform", annotator, data=dict(said.data))
