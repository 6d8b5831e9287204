"""Script: what one simulated annotator asks for, step by step.

It sends nothing itself. Each step yields (request, body) with the names of `requests.REQUESTS` and gets the reply.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from random import Random
from typing import NamedTuple

from summeter.annotate.campaign.answer import TaskAnswer
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.people import Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.tasks.base import TaskType
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.annotate.tasks.task import Json, Task
from summeter.records import UsageError

Steps = Generator[tuple[str, Json], Json, None]
_Step = Generator[tuple[str, Json], Json, str]
_SPREAD = 0.4
"""Standard deviation of the logarithm of the time for a task."""
_HASTE = 0.1
"""The share of the usual time that somebody takes who does not read."""


class Page(NamedTuple):
    """What a person has before them: the task, the machine's verdict where it is shown, the order of the systems."""

    task: Task
    machine: Json | None
    letters: Sequence[str]


class Reply(NamedTuple):
    """An answer, and the seconds it took."""

    answer: TaskAnswer
    seconds: float


def respond(task_type: TaskType, profile: Profile, page: Page, gold: Gold, rng: Random) -> Reply:
    """How an annotator of this profile answers."""
    seconds = profile.seconds * math.exp(rng.gauss(0, _SPREAD))
    answer, lazy = task_type.simulated(page.task, page.machine, profile, gold, rng, order=page.letters)
    return Reply(answer, round(seconds * _HASTE if lazy else seconds, 1))


class Script:
    """One simulated annotator at work in a campaign, until there is nothing left for them.

    `answers` counts the answers given. Everything random is drawn from `seed` and the person's name.
    """

    def __init__(self, folder: CampaignFolder, visitor: Visitor, profile: Profile, gold: Gold, seed: int = 0) -> None:
        self.folder, self.visitor, self.profile, self.gold = folder, visitor, profile, gold
        self.annotator = folder.names.annotator(visitor)
        self.answers = 0
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

    def _consent(self, _: Json) -> _Step:
        return str((yield "consent", {"agreed": True})["stage"])

    def _instructions(self, _: Json) -> _Step:
        return str((yield "instructions", {})["stage"])

    def _qualification(self, session: Json) -> _Step:
        test = self.folder.campaign.qualification
        choices = {}
        for shown, question in zip(session["qualification"]["questions"], test.questions if test else (), strict=True):
            reads = self._rng.random() >= self.profile.laziness
            choices[shown["id"]] = question.answer if reads else self._rng.randrange(len(question.choices))
        attempt = session["qualification"]["attempts_left"]
        body = {"answers": choices, "answer_id": f"sim{self._seed}-test-{attempt:04d}"}
        return str((yield "qualification", body)["stage"])

    def _training(self, session: Json) -> _Step:
        shown = session["training"]["tasks"][0]
        body = self._answer(shown, f"sim{self._seed}-training-{shown['id']}")
        return str((yield "training", body)["stage"])

    def _batch(self) -> _Step:
        batch = (yield "batch", {})["batch"]
        if batch is None:
            return "done"
        for number, shown in enumerate(batch["tasks"]):
            if shown["answer"] is None:
                yield "answers", self._answer(shown, f"sim{self._seed}-{batch['number']:04d}-{number:04d}")
                self.answers += 1
        yield "finish", {}
        return "work"

    def _answer(self, shown: Json, answer_id: str) -> Json:
        task_type, task = self.folder.task_type, self._task(shown["id"])
        letters = self.folder.letters(self.annotator, task)
        machine = (shown["assistance"] or {}).get("machine")
        reply = respond(task_type, self.profile, Page(task, machine, letters), self.gold, self._rng)
        return {
            "answer_id": answer_id,
            "task": shown["id"],
            "answer": task_type.page_answer(reply.answer, letters),
            "seconds": max(reply.seconds, shown["minimum_seconds"]),
        }

    def _task(self, task_id: str) -> Task:
        """The task behind the name that this person's browser has for it."""
        if not self._tasks:
            names, tasks = self.folder.names, self.folder.tasks.by_key
            self._tasks = {names.task(self.annotator, key): task for key, task in tasks.items()}
        return self._tasks[task_id]


def crowd(folder: CampaignFolder, profiles: Sequence[Profile], gold: Gold, *, seed: int = 0) -> list[Script]:
    """One simulated annotator a profile: the campaign's own accounts where it is local, else ids of their own.

    Raises UsageError where there are fewer accounts than profiles.
    """
    platform, names = folder.campaign.platform, folder.names
    if platform.name != "local":
        ids = [f"simulated{seed}x{number}" for number in range(len(profiles))]
    elif len(platform.accounts) < len(profiles):
        raise UsageError(
            f"the campaign has {len(platform.accounts)} accounts for {len(profiles)} annotators; "
            "name more under platform.accounts, or simulate fewer annotators"
        )
    else:
        ids = list(platform.accounts[: len(profiles)])
    return [
        Script(
            folder, Visitor(platform.name, name, study=names.simulated_study(platform.name, name)), profile, gold, seed
        )
        for name, profile in zip(ids, profiles, strict=True)
    ]


def simulate(service: CampaignService, scripts: Sequence[Script], *, seed: int = 0) -> int:
    """Have everybody work until nothing is left for them; the number of answers given.

    In each round everyone still at work takes one step, in random order: each commit holds many answers.
    """
    rng = Random(seed)
    waiting: list[tuple[Script, Steps, Json | None]] = [(script, script.steps(), None) for script in scripts]
    while waiting:
        rng.shuffle(waiting)
        sent: list[tuple[Script, Steps, Future[Json]]] = []
        for script, steps, reply in waiting:
            try:
                request, body = next(steps) if reply is None else steps.send(reply)
            except StopIteration:
                continue
            sent.append((script, steps, service.submit(request, script.visitor, body)))
        waiting = [(script, steps, future.result()) for script, steps, future in sent]
    return sum(script.answers for script in scripts)
