"""A log that was changed behind the campaign's back is noticed, and where is said; one of the first version is read."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made
from annotate.test_cli import run

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService

BEFORE = Path(__file__).parents[1] / "fixtures" / "before" / "campaign"


@pytest.fixture
def folder(tmp_path: Path) -> CampaignFolder:
    """Some batches of two people."""
    campaign = made.make(tmp_path)
    with CampaignService(campaign) as service:
        for _ in range(2):
            made.do_batch(service, "anna")
            made.do_batch(service, "ben")
        assert service.log.broken is None
    return campaign


def sql(folder: CampaignFolder, *statements: str) -> None:
    with sqlite3.connect(folder.folder / "events.sqlite") as store:
        for statement in statements:
            store.execute(statement)


def broken(folder: CampaignFolder) -> str | None:
    with CampaignService(folder, readonly=True) as service:
        return service.log.broken


DELETED = "DELETE FROM events WHERE seq = (SELECT MAX(seq) FROM events WHERE kind = 'opened' OR kind = 'answered')"


@pytest.mark.parametrize(
    ("statements", "where"),
    [
        (["DELETE FROM events WHERE seq > (SELECT MAX(seq) - 3 FROM events)"], "were written"),
        ([DELETED], "is missing"),
        (["DELETE FROM events WHERE seq = 1", "UPDATE events SET seq = seq - 1"], ""),
        (["UPDATE events SET data = replace(data, '\"seconds\":', '\"seconds\":1') WHERE kind = 'answered'"], "event "),
        (["UPDATE events SET at = at - 1 WHERE seq = 2"], "event 2 "),
        (["UPDATE events SET data = '{' WHERE seq = 4"], "event 4 cannot be read"),
        (["UPDATE events SET data = x'00ff00' WHERE seq = 4"], "event 4 cannot be read"),
        (["UPDATE events SET kind = 'nonsense' WHERE seq = 4"], "event 4 "),
        (["UPDATE events SET data = '[]' WHERE seq = 4"], "event 4 "),
    ],
)
def test_a_changed_log_is_noticed(
    folder: CampaignFolder, statements: list[str], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sql(folder, *statements)
    code = run("status", folder.folder, "--quick")
    said = capsys.readouterr().err
    assert where in said
    assert "copy or an export" in said
    assert code in (0, 2)
    assert "Traceback" not in said


def test_status_says_it_in_json_and_what_follows_is_chained_on(
    folder: CampaignFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert broken(folder) is None
    sql(folder, "UPDATE events SET at = at - 1 WHERE seq = 2")
    assert run("status", folder.folder, "--quick", "--json") == 0
    status: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert status["log_broken"] == broken(folder) == "event 2 or one before it is not as it was written"
    with CampaignService(folder) as service:
        made.do_batch(service, "anna")
    assert broken(folder) == status["log_broken"]


def test_the_log_of_the_first_version_is_read_and_chained_from_there_on(tmp_path: Path) -> None:
    folder = CampaignFolder(shutil.copytree(BEFORE, tmp_path / "campaign"))
    assert broken(folder) is None  # opened for reading: nothing is migrated
    with CampaignService(folder) as service:
        last = service.log.last_seq
        service.log.append("adjudicated", task=service.tasks.work[0].key, data={"answer": {}, "by": "x"})
        service.log.append("adjudicated", task=service.tasks.work[0].key, data={"answer": {}, "by": "y"})
    assert broken(folder) is None
    with sqlite3.connect(folder.folder / "events.sqlite") as store:
        chains = [row[0] for row in store.execute("SELECT chain FROM events ORDER BY seq")]
    assert chains[:last] == [None] * last
    assert None not in chains[last:]
    sql(folder, "UPDATE events SET at = at - 1 WHERE seq = 1")  # an old event: the first new one holds its hash
    assert broken(folder) == f"event {last + 1} or one before it is not as it was written"


def test_several_processes_keep_one_chain(tmp_path: Path) -> None:
    folder = made.make(tmp_path, answers_per_item=1)
    with CampaignService(folder) as one, CampaignService(folder) as two:
        while made.do_batch(one, "anna") + made.do_batch(two, "ben"):
            pass
    assert broken(folder) is None


def test_a_command_that_breaks_off_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CampaignService(made.make(tmp_path)) as service:
        made.do_batch(service, "anna")
        digest = service.state.digest()
        rebuilt: list[bool] = []
        monkeypatch.setattr(service.log, "_rebuild", _counted(service.log._rebuild, rebuilt))
        gate = made.Gate(service)

        def bad(transaction: Any) -> None:
            raise OverflowError("int too large to convert to float")

        def half(transaction: Any) -> None:
            transaction.emit("came", "anna", data={"study": "x"})
            raise KeyError("half done")

        futures = [service.log.submit(bad), service.submit("session", made.who("ben")), service.log.submit(half)]
        honest = service.submit("session", made.who("cleo"))
        gate.open()
        assert [type(future.exception()).__name__ for future in futures] == ["StoreError", "NoneType", "StoreError"]
        assert honest.exception() is None
        assert rebuilt == [True]  # for the half-done command only
        service.log.refresh()
        assert service.state.digest() == digest
    assert broken(CampaignFolder(service.folder.folder)) is None


def _counted(act: Callable[[], None], calls: list[bool]) -> Callable[[], None]:
    def counted() -> None:
        calls.append(True)
        act()

    return counted
