"""The event log: damage, failing commands, several processes and backups."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made
from annotate.test_cli import run

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService

WORKER = """
import sys
from annotate import campaigns as made
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
with CampaignService(CampaignFolder(sys.argv[1])) as service:
    while made.do_batch(service, sys.argv[2]):
        pass
    assert service.log.broken is None
"""


@pytest.fixture
def folder(tmp_path: Path) -> CampaignFolder:
    """Build a campaign with batches of two annotators."""
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
        (["PRAGMA user_version = 7"], "version"),
    ],
)
def test_a_changed_log_is_detected(
    folder: CampaignFolder, statements: list[str], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sql(folder, *statements)
    code = run("status", folder.folder, "--quick")
    error = capsys.readouterr().err
    assert where in error
    assert "events.sqlite" in error
    assert code in (0, 2)
    assert "Traceback" not in error


def test_a_damaged_log_is_reported_and_usable(folder: CampaignFolder, capsys: pytest.CaptureFixture[str]) -> None:
    sql(folder, "UPDATE events SET at = at - 1 WHERE seq = 2")
    assert run("status", folder.folder, "--quick", "--json") == 0
    status: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert status["log_broken"] == broken(folder) == "event 2 does not match its checksum"
    with CampaignService(folder) as service:
        made.do_batch(service, "anna")
    assert broken(folder) == status["log_broken"]


def test_processes_share_one_log(tmp_path: Path) -> None:
    folder = made.make(tmp_path, made.rows(8, 2, 4), answers_per_item=1, batch={"size": 2})
    names = ("anna", "ben", "cleo")
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(folder.folder), name], cwd=Path(__file__).parents[1])
        for name in names
    ]
    with CampaignService(folder) as service:
        while made.do_batch(service, "dora"):
            pass
        assert [worker.wait(120) for worker in workers] == [0, 0, 0]
        service.log.refresh()
        events = list(service.log.events())
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert all(len(slots.counted) == 1 and not slots.held for slots in service.state.items.values())
        assert made.replayed(service) == service.state.digest()
    assert broken(folder) is None


def test_a_backup_during_use_is_consistent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, target = made.make(tmp_path, made.rows(8, 2, 4), batch={"size": 2}), tmp_path / "backup"
    with CampaignService(folder) as service:
        made.do_batch(service, "anna")
        acknowledged = service.log.last_seq
        others = threading.Thread(target=lambda: [made.do_batch(service, "ben") for _ in range(10)])
        others.start()
        assert run("backup", folder.folder, "-o", target) == 0
        others.join()
        events = list(service.log.events())
    assert run("backup", folder.folder, "-o", target) == 2  # it would replace a copy
    assert str(target) in capsys.readouterr().err
    with CampaignService(CampaignFolder(target)) as copy:
        assert acknowledged <= copy.log.last_seq <= len(events)
        assert list(copy.log.events()) == events[: copy.log.last_seq]
        assert copy.log.broken is None
        assert copy.folder.links() == folder.links()
        assert made.do_batch(copy, "cleo")


def test_a_partially_failing_command_does_not_affect_others(tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path)) as service:
        made.do_batch(service, "anna")
        digest = service.state.digest()
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
        service.log.refresh()
        assert service.state.digest() == digest
    assert broken(CampaignFolder(service.folder.folder)) is None
