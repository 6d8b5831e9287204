"""Script: what one made annotator asks for, step by step. It sends nothing itself: whoever runs it carries requests.

Each step yields (request, body) with the names of `requests.REQUESTS` and gets the reply.
"""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import Any

from summeter.annotate.folder import CampaignFolder
from summeter.annotate.people import Names, Visitor
from summeter.annotate.simulate.profile import Page, Profile, respond
from summeter.annotate.simulate.truth import Truth
from summeter.annotate.tasks import kind_named
from summeter.annotate.tasks.base import Task
from summeter.records import UsageError

Json = dict[str, Any]
Steps = Generator[tuple[str, Json], Json, None]


class Script:
    """One made annotator at work in a campaign, until there is nothing left for them.

    `answers` counts the answers given. Everything random is drawn from `seed` and the person's name.
    """

    def __init__(self, folder: CampaignFolder, visitor: Visitor, profile: Profile, truth: Truth, seed: int = 0) -> None:
        self.folder, self.visitor, self.profile, self.truth = folder, visitor, profile, truth
        names = Names(folder.keys.secret)
        self.annotator = names.annotator(visitor)
        self.kind = kind_named(folder.campaign.kind)
        self.answers = 0
        self._names = names
        self._rng = Random(f"{seed}/{self.annotator}")
        self._seed = seed
        self._tasks: dict[str, Task] = {}

    def steps(self) -> Steps:
        """Every request from the first visit to the end."""
        session = yield "session", {}
        stage = session["stage"]
        while stage not in {"work", "done"}:
            stage = yield from getattr(self, f"_{stage}")(session)
            session = yield "session", {}
        if stage == "done" and session["done"]["more"]:  # there is work again: somebody was excluded, say
            stage = "work"
        while stage != "done":
            stage = yield from self._batch()

    def _consent(self, _: Json) -> Generator[tuple[str, Json], Json, str]:
        return str((yield "consent", {"agreed": True})["stage"])

    def _instructions(self, _: Json) -> Generator[tuple[str, Json], Json, str]:
        return str((yield "instructions", {})["stage"])

    def _qualification(self, session: Json) -> Generator[tuple[str, Json], Json, str]:
        test = self.folder.campaign.qualification
        given = {}
        for one, question in zip(session["qualification"]["questions"], test.questions if test else (), strict=True):
            read = self._rng.random() >= self.profile.laziness
            given[one["id"]] = question.answer if read else self._rng.randrange(len(question.choices))
        attempt = session["qualification"]["attempts_left"]
        body = {"answers": given, "answer_id": f"sim{self._seed}-test-{attempt:04d}"}
        return str((yield "qualification", body)["stage"])

    def _training(self, session: Json) -> Generator[tuple[str, Json], Json, str]:
        shown = session["training"]["tasks"][0]
        body = self._answer(shown, f"sim{self._seed}-training-{shown['id']}")
        return str((yield "training", body)["stage"])

    def _batch(self) -> Generator[tuple[str, Json], Json, str]:
        found = yield "batch", {}
        batch = found["batch"]
        if batch is None:
            return "done"
        for number, shown in enumerate(batch["tasks"]):
            if shown["answer"] is None:
                yield "answers", self._answer(shown, f"sim{self._seed}-{batch['number']:04d}-{number:04d}")
                self.answers += 1
        yield "finish", {}
        return "work"

    def _answer(self, shown: Json, answer_id: str) -> Json:
        task = self._task(shown["id"])
        letters = self._names.order(self.annotator, task.key, task.systems)
        machine = (shown["assistance"] or {}).get("machine")
        reply = respond(self.profile, Page(task, machine, letters), self.truth.answer(task), self._rng)
        return {
            "answer_id": answer_id, "task": shown["id"], "answer": self.kind.relettered(reply.answer, letters),
            "seconds": max(reply.seconds, shown["minimum_seconds"]),
        }  # fmt: skip

    def _task(self, called: str) -> Task:
        """The task behind the name that this person's browser has for it."""
        if not self._tasks:
            self._tasks = {self._names.task(self.annotator, key): one for key, one in self.folder.tasks.by_key.items()}
        return self._tasks[called]


def crowd(
    folder: CampaignFolder, profiles: list[Profile], truth: Truth, *, seed: int = 0
) -> list[Script]:  # fmt: skip
    """One made annotator a profile: the campaign's own accounts where it is local, else made-up ids.

    Raises UsageError where there are fewer accounts than profiles.
    """
    platform, names = folder.campaign.platform, Names(folder.keys.secret)
    if platform.name != "local":
        ids = [f"simulated{seed}x{number}" for number in range(len(profiles))]
    elif len(platform.accounts) < len(profiles):
        raise UsageError(
            f"the campaign has {len(platform.accounts)} accounts for {len(profiles)} annotators; "
            "name more under platform.accounts, or simulate fewer with --annotators"
        )
    else:
        ids = list(platform.accounts[: len(profiles)])
    return [
        Script(folder, Visitor(platform.name, name, study=names.made(platform.name, name)), one, truth, seed)
        for name, one in zip(ids, profiles, strict=True)
    ]
