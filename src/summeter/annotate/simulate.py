"""Simulated annotators with a given accuracy, bias, speed and laziness.

They are used in tests, tutorials and power analyses. A `Script` generates the requests of one annotator; `simulate`
sends the requests of many annotators to a campaign service.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from random import Random

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.people import Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.annotate.tasks.task import Json, Task
from summeter.records import UsageError

Steps = Generator[tuple[str, Json], Json, None]
_SPREAD = 0.4
"""Standard deviation of the logarithm of the time per task."""
_HASTE = 0.1
"""Time per task of an annotator who does not read, as a fraction of the typical time."""


class Script:
    """The requests of one simulated annotator.

    `answers` is the number of answers given so far. The random generator is seeded with `seed` and the annotator's
    name.
    """

    def __init__(self, folder: CampaignFolder, visitor: Visitor, profile: Profile, gold: Gold, seed: int = 0) -> None:
        self.folder, self.visitor, self.profile, self.gold = folder, visitor, profile, gold
        self.annotator = folder.names.annotator(visitor)
        self.answers = 0
        self._rng = Random(f"{seed}/{self.annotator}")
        self._seed = seed
        self._tasks: dict[str, Task] = {}

    def steps(self) -> Steps:
        """Yield the name and body of each request until the annotator is done.

        The caller sends the reply to each request to the generator (`generator.send`).
        """
        session = yield "session", {}
        while (stage := session["stage"]) not in {"work", "done"}:
            match stage:
                case "consent":
                    yield "consent", {"agreed": True}
                case "instructions":
                    yield "instructions", {}
                case "qualification":
                    yield "qualification", self._test_answers(session["qualification"])
                case _:
                    shown = session["training"]["tasks"][0]
                    yield "training", self._answer(shown, f"sim{self._seed}-training-{shown['id']}")
            session = yield "session", {}
        if stage == "done" and not session["done"]["more"]:
            return
        while (batch := (yield "batch", {})["batch"]) is not None:
            for number, shown in enumerate(batch["tasks"]):
                if shown["answer"] is None:
                    yield "answers", self._answer(shown, f"sim{self._seed}-{batch['number']:04d}-{number:04d}")
                    self.answers += 1
            yield "finish", {}

    def _test_answers(self, shown_test: Json) -> Json:
        test = self.folder.campaign.qualification
        choices = {}
        for shown, question in zip(shown_test["questions"], test.questions if test else (), strict=True):
            reads = self._rng.random() >= self.profile.laziness
            choices[shown["id"]] = question.answer if reads else self._rng.randrange(len(question.choices))
        return {"answers": choices, "answer_id": f"sim{self._seed}-test-{shown_test['attempts_left']:04d}"}

    def _answer(self, shown: Json, answer_id: str) -> Json:
        if not self._tasks:
            names, tasks = self.folder.names, self.folder.tasks.by_key
            self._tasks = {names.task(self.annotator, key): task for key, task in tasks.items()}
        task_type, task = self.folder.task_type, self._tasks[shown["id"]]
        letters = self.folder.letters(self.annotator, task)
        machine = (shown["assistance"] or {}).get("machine")
        seconds = self.profile.seconds * math.exp(self._rng.gauss(0, _SPREAD))
        answer, lazy = task_type.simulated(task, machine, self.profile, self.gold, self._rng, order=letters)
        return {
            "answer_id": answer_id,
            "task": shown["id"],
            "answer": task_type.page_answer(answer, letters),
            "seconds": max(round(seconds * _HASTE if lazy else seconds, 1), shown["minimum_seconds"]),
        }


def crowd(folder: CampaignFolder, profiles: Sequence[Profile], gold: Gold, *, seed: int = 0) -> list[Script]:
    """Return the script of one simulated annotator per profile.

    The annotators use the accounts of the campaign, or generated identifiers if its platform has no accounts. Raises
    UsageError if there are fewer accounts than profiles.
    """
    platform, names = folder.campaign.platform, folder.names
    if platform.name != "local":
        ids = [f"simulated{seed}x{number}" for number in range(len(profiles))]
    elif len(platform.accounts) < len(profiles):
        raise UsageError(
            f"the campaign has {len(platform.accounts)} accounts for {len(profiles)} annotators; "
            "add names to platform.accounts, or simulate fewer annotators"
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
    """Run all scripts until they are done, and return the number of answers.

    In each round, every active annotator sends one request, in random order, so that one commit stores many answers.
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
