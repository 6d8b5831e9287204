"""The data of the researcher's pages: expected end, annotators, files and refresh."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zipfile import ZipFile

import pytest
from annotate import campaigns as made
from annotate import crowds
from annotate.test_server import Client, serve
from lxml import html
from report import xss

from summeter.annotate.analysis.annotator import annotator_page, task_page
from summeter.annotate.analysis.export import export_events
from summeter.annotate.analysis.quality import annotator_statistics
from summeter.annotate.analysis.status import DAY, HOUR, expected_end
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Event, State
from summeter.data.dataset import load
from summeter.records import UsageError

NOW = 1_700_000_000_000
MINUTE = HOUR // 60


def answered(*ages: int) -> State:
    """Return the state of a campaign of 40 tasks whose first tasks were answered the given minutes ago."""
    state = State([f"t{number}" for number in range(40)], 1, HOUR)
    events = [("joined", None, NOW - 9 * DAY, {"platform": "local", "id": "anna"})]
    for number, age in enumerate(ages):
        at = NOW - age * MINUTE
        events.append(("assigned", f"t{number}", at, {"check": False}))
        events.append(("answered", f"t{number}", at, {"answer": {}, "seconds": 1.0, "passed": None}))
    for seq, (kind, task, at, data) in enumerate(events, 1):
        state.apply(Event(seq, at, kind, "anna", task, 1, None, data))
    return state


@pytest.mark.parametrize(
    ("ages", "hours", "pace", "how"),
    [
        # 10 answers in 2 hours are 5 an hour; the 30 that are left take 6 hours.
        (range(120, 20, -10), 6, 5.0, "at the pace since the first answer: 10 answers, 5.0 per hour; 30 left"),
        # 8 answers of two days ago say nothing of today's pace: 12 in 24 hours, and 20 are left.
        ([2 * 24 * 60] * 8 + [*range(1200, 0, -100)], 40, 0.5,
         "at the pace of the last 24 hours: 12 answers, 0.5 per hour; 20 left"),
        ((), None, None, "not known yet: 0 answers in the last 24 hours, but an estimate needs 10"),
        ((3000,) * 15, None, None, "not known yet: 0 answers in the last 24 hours, but an estimate needs 10"),
        ((60,), None, None, "not known yet: 1 answer in the last 24 hours, but an estimate needs 10"),
        ((9,) * 20, None, None, "not known yet: the first answer came less than 10 minutes ago"),
        ((60,) * 40, None, None, "all tasks are complete"),
    ],
)  # fmt: skip
def test_expected_end(ages: Sequence[int], hours: int | None, pace: float | None, how: str) -> None:
    found = expected_end(answered(*ages), 40, NOW)
    at = None if hours is None else NOW + hours * HOUR
    assert found == {"at": at, "pace": pace, "left": 40 - len(ages), "how": how}


def disputed(service: CampaignService) -> None:
    """Build a campaign in which anna and ben disagree on the second of three tasks and anna fails a check."""
    one, two, three = (task.key for task in service.tasks.work[:3])
    crowds.say(service, one, {"anna": crowds.YES, "ben": crowds.YES})
    crowds.say(service, two, {"anna": crowds.NO, "ben": crowds.YES})
    crowds.say(service, three, {"anna": {**crowds.YES, "comment": "hard to say"}})
    crowds.say(service, service.tasks.checks[0].key, {"anna": crowds.YES})


def test_the_page_of_an_annotator(tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path)) as service:
        disputed(service)
        service.exclude("ben", "a test", by="lead", rule=None)
        service.reinstate("ben", "a mistake", by="lead")
        everybody = annotator_statistics(service)
        anna = annotator_page(service, everybody, "anna")
        newest = [(row["said"], row["others"], row["same"], row["passed"]) for row in anna["answers"]]
        assert newest == [
            ("label: supported", 0, 0, False),
            ("label: supported", 0, 0, None),
            ("label: not_supported; error_types: entity error", 1, 0, None),
            ("label: supported", 1, 1, None),
        ]
        assert (anna["answered"], anna["checks_seen"], anna["checks_passed"], anna["answers_total"]) == (4, 1, 0, 4)
        assert anna["answers"][1]["comment"] == "hard to say"
        wanted = {"checks": 1, "failed": 1, "differs": 1, "all": 4}
        for only, count in wanted.items():
            assert annotator_page(service, everybody, "anna", only=only)["answers_total"] == count
        pages = [annotator_page(service, everybody, "anna", begin=at, shown=3) for at in (0, 3)]
        assert [len(page["answers"]) for page in pages] == [3, 1]
        ben = annotator_page(service, everybody, "ben")
        assert [(event["kind"], event["reason"]) for event in ben["history"]] == [
            ("excluded", "a test"),
            ("reinstated", "a mistake"),
        ]
        json.dumps([anna, ben], allow_nan=False)
        with pytest.raises(UsageError, match="unknown filter 'none'; use one of all, checks"):
            annotator_page(service, everybody, "anna", only="none")
        with pytest.raises(UsageError, match="there is no annotator 'eve'"):
            annotator_page(service, everybody, "eve")


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_annotator_pages_of_every_task_type(task_type: str, mixed: Callable[[str], CampaignFolder]) -> None:
    with CampaignService(mixed(task_type), readonly=True) as service:
        rows = annotator_statistics(service)
        for row in rows:
            page = annotator_page(service, rows, row["annotator"])
            assert page["answers_total"] == page["answered"] > 0
            assert all(row["said"] for row in page["answers"])
            assert all(row["same"] <= row["others"] == 3 for row in page["answers"] if not row["check"])
            json.dumps(page, allow_nan=False)
        for task in (service.tasks.work[0], service.tasks.checks[0]):
            page = task_page(service, task.key)
            given = [person.answers[task.key] for person in service.state.people.values() if task.key in person.answers]
            assert [row["at"] for row in page["answers"]] == sorted(answer.at for answer in given)
            assert all(text for _, text in page["texts"])
        with pytest.raises(UsageError, match="there is no task 'none'"):
            task_page(service, "none")


def parsed(page: str) -> Any:
    """Parse a page."""
    return html.document_fromstring(page)


async def lead(browser: Callable[[], Client], service: CampaignService) -> Client:
    client = browser()
    await client.get(f"/admin?token={service.folder.keys['admin']}")
    return client


def test_unchanged_pages_are_not_sent_again(tmp_path: Path) -> None:
    clock = made.Clock()
    with CampaignService(made.make(tmp_path), clock=clock) as service:
        disputed(service)

        async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
            admin = await lead(browser, service)
            task = urlencode({"key": service.tasks.work[0].key})
            for path in ("/admin", "/admin/quality", "/admin/annotator?name=anna", f"/admin/task?{task}"):
                first = await admin.get(path)
                assert first.status == 200, path
                tag = {"If-None-Match": first.headers["ETag"]}
                again = await admin.get(path, headers=tag)
                assert (again.status, await again.read()) == (304, b""), path
                crowds.say(service, service.tasks.work[4].key, {path: crowds.YES})
                assert (await admin.get(path, headers=tag)).status == 200, path
            # A pace is one of minutes, whether or not anything happens.
            tag = {"If-None-Match": (await admin.get("/admin")).headers["ETag"]}
            clock.now += 61
            assert (await admin.get("/admin", headers=tag)).status == 200

        serve(service.folder, body, service)


def test_links_files_and_annotators_require_the_token(tmp_path: Path) -> None:
    folder = made.make(tmp_path)
    with CampaignService(folder) as service:
        disputed(service)

        async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
            anna, admin = browser(), await lead(browser, service)
            await anna.get("/" + folder.links()["anna"])
            for path in ("/admin/export/events", "/admin/export/judgments", "/admin", "/admin/quality",
                         "/admin/annotator?name=anna", "/admin/task", "/admin/links.txt"):  # fmt: skip
                assert (await anna.get(path)).status == 401
            board = parsed(await (await admin.get("/admin")).text())
            figures = dict(zip(board.xpath("//dl//dt/text()"), board.xpath("//dl//dd/text()"), strict=True))
            assert figures == {
                "Expected end": "not known yet", "Complete tasks": "0 / 12", "In progress": "0",
                "Annotators": "2", "Checks passed": "0 %",
            }  # fmt: skip
            origin = str(admin.make_url("/")).rstrip("/")
            links = {name: f"{origin}/{query}" for name, query in folder.links().items()}
            assert board.xpath("//ul[@class='links']//input/@value") == [*links.values(), f"{origin}/?preview=1"]
            lines = (await (await admin.get("/admin/links.txt")).text()).splitlines()
            assert dict(line.split("\t") for line in lines) == links
            files = [path.rpartition("/")[2] for path in board.xpath("//ul[@class='exports']//a/@href")]
            assert files == ["judgments", "answers", "data", "events", "submissions"]
            assert "faithfulness" in board.xpath("string(//section[@aria-label='Agreement'])")
            assert (await admin.get("/admin/task?key=none")).status == 422
            for query in ("name=eve", "name=anna&only=none", "name=anna&from=-1", "name=anna&from=x"):
                assert (await admin.get(f"/admin/annotator?{query}")).status == 422
            for name in ("bonuses", "study", "none", "..%2fkeys.json"):
                assert (await admin.get(f"/admin/export/{name}")).status == 404

            async def file(name: str) -> bytes:
                reply = await admin.get(f"/admin/export/{name}")
                assert (reply.status, reply.headers["Content-Disposition"][:24]) == (200, 'attachment; filename="ma')
                return await reply.read()

            export_events(service, tmp_path / "own.jsonl")
            assert await file("events") == (tmp_path / "own.jsonl").read_bytes()
            with ZipFile(io.BytesIO(await file("judgments"))) as archive:
                assert set(archive.namelist()) == {"human.raw.jsonl", "human.merged.jsonl"}
                assert len(archive.read("human.raw.jsonl").splitlines()) == 5
            with ZipFile(io.BytesIO(await file("data"))) as archive:
                archive.extractall(tmp_path / "data")
            assert (await file("submissions")).startswith(b"account,answered")
            assert len(load(tmp_path / "data").judgments("human.raw")) == 5

        serve(service.folder, body, service)
    for platform in ("prolific", "mturk"):
        crowd = made.make(tmp_path / platform, platform={"name": platform})
        with CampaignService(crowd) as service:

            async def of_crowds(service: CampaignService, browser: Callable[[], Client]) -> None:
                admin = await lead(browser, service)
                board = parsed(await (await admin.get("/admin")).text())
                assert board.xpath("//ul[@class='links']//span/bdi/text()") == ["study", "preview"]
                files = board.xpath("//ul[@class='exports']//a/@href")
                assert {"/admin/export/bonuses", "/admin/export/study"} <= set(files)
                for file in files:
                    assert (await admin.get(file)).status == 200, file

            serve(service.folder, of_crowds, service)


def test_the_table_is_sortable_and_marks_low_values(tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path)) as service:
        disputed(service)

        async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
            admin = await lead(browser, service)
            orders = {}
            for query in ("", "?sort=Annotator&down=1", "?sort=Answers&down=1", "?sort=Answers", "?sort=none"):
                board = parsed(await (await admin.get(f"/admin{query}")).text())
                orders[query] = board.xpath("//table//tbody//th/a/bdi/text()")
                assert board.xpath("//td[@data-label='Checks passed'][contains(@class, 'low')]/text()") == ["0 of 1"]
            assert orders == {
                "": ["anna", "ben"],
                "?sort=Annotator&down=1": ["ben", "anna"],
                "?sort=Answers&down=1": ["anna", "ben"],
                "?sort=Answers": ["ben", "anna"],
                "?sort=none": ["anna", "ben"],
            }

        serve(service.folder, body, service)


def test_hostile_texts_are_escaped_on_every_page(tmp_path: Path) -> None:
    folder = made.make(tmp_path, title=xss.CORPUS[1], contact=xss.CORPUS[3], platform={"name": "local"})
    with CampaignService(folder) as service:
        key = service.tasks.work[0].key
        crowds.say(service, key, {text: {**crowds.NO, "comment": f"{text}\x00"} for text in xss.CORPUS})
        service.exclude(xss.CORPUS[0], xss.CORPUS[1], by=xss.CORPUS[2], rule=xss.CORPUS[3])

        async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
            admin = await lead(browser, service)
            for path in (
                "/admin",
                "/admin/quality",
                f"/admin/task?{urlencode({'key': key})}",
                *(f"/admin/annotator?{urlencode({'name': text})}" for text in xss.CORPUS),
            ):
                reply = await admin.get(path)
                page = parsed(await reply.text())
                assert reply.status == 200, path
                assert (
                    page.xpath("//main//*[self::script or self::img or self::svg or self::iframe or self::style]") == []
                )
                assert page.xpath("//@*[starts-with(name(), 'on')]") == []
                assert [link for link in page.xpath("//a/@href") if not link.startswith(("/", "#"))] == []
            assert xss.CORPUS[0] in parsed(await (await admin.get("/admin")).text()).text_content()

        serve(service.folder, body, service)
