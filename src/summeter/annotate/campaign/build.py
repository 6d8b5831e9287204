"""Building a campaign folder, with a fixed list of tasks, from a campaign file and data.

No model is called.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import yaml

from summeter.annotate.campaign.assistance import Similarity, Verdicts, read_scores, read_verdicts, top
from summeter.annotate.campaign.bodies import LARGEST
from summeter.annotate.campaign.config import FOREIGN_SENTENCE, OUTCOMES, PARAPHRASES, Campaign
from summeter.annotate.campaign.folder import (
    CAMPAIGN,
    DATA,
    INTERFACE,
    KEYS,
    TASKS,
    CampaignFolder,
    by_line,
    read_campaign,
    sources_of,
)
from summeter.annotate.campaign.language import (
    REFERENCE,
    SHIPPED,
    language_file,
    read_language,
    shipped_names,
)
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.tasks import TASK_TYPES, task_type_named
from summeter.annotate.tasks.base import SHAPES, TaskType
from summeter.annotate.tasks.questions import same_value
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import InvalidAnswer, Json, Material, Source, Task, key_of
from summeter.choices import QuestionType
from summeter.data.atomic import building, check_folder, write_lines, write_text
from summeter.data.dataset import Dataset, load, save
from summeter.data.faults import Faults
from summeter.data.formats import format_of, read_rows
from summeter.data.hub import is_address
from summeter.records import InputError, Span, UsageError, canonical, nearest
from summeter.text.split import split

BYTES_PER_CHARACTER = 4
"""Maximum number of bytes of a character in UTF-8."""


def build(file: str | Path, folder: str | Path, *, token: Callable[[], str] | None = None) -> Path:
    """Build the folder of a campaign, completely or not at all, and return its path.

    `token` returns random strings for the secret, the admin token and the completion codes.

    Raises InputError if the campaign file or the data is invalid, and UsageError if the folder is not empty or the data
    contains nothing that the task type could annotate.
    """
    path, target = Path(file), Path(folder)
    check_folder(target)
    campaign = read_campaign(path)
    new_token = token or (lambda: secrets.token_urlsafe(24))
    with by_line(path):
        language = _language_file(campaign, path)
        tasks, data = tasks_of(campaign, path)
    codes = campaign.codes.model_dump()
    for outcome in OUTCOMES:
        letters = "".join(letter for letter in new_token() if letter.isalnum()).upper()
        codes[outcome] = codes[outcome] or f"C{letters[:9]}"
    resolved = campaign.model_copy(
        update={
            "codes": type(campaign.codes)(**codes),
            "title": campaign.title or campaign.name,
            "interface": language.stem if language.parent == SHIPPED else INTERFACE,
        }
    )
    with building(target) as fresh:
        save(data, fresh / DATA)
        write_lines(fresh / TASKS, (task.model_dump_json(exclude_none=True) for task in tasks))
        if resolved.interface == INTERFACE:
            write_text(fresh / INTERFACE, language.read_text(encoding="utf-8"))
        text = yaml.safe_dump(resolved.model_dump(mode="json"), allow_unicode=True, sort_keys=False)
        write_text(fresh / CAMPAIGN, text)
        keys = fresh / KEYS
        keys.touch(mode=0o600)
        keys.write_text(canonical({"admin": new_token(), "secret": new_token()}) + "\n", encoding="utf-8")
        CampaignService(CampaignFolder(fresh), durable=False).close()  # creates an empty log
    return target


def tasks_of(campaign: Campaign, file: Path) -> tuple[list[Task], Dataset]:
    """Return all tasks of a campaign and the annotated data.

    The tasks are the work in the order in which it is offered, followed by the attention checks and the training tasks.
    Raises InputError and UsageError under the same conditions as `build`.
    """
    path = campaign.data if is_address(campaign.data) else file.parent / campaign.data
    mapping = None if campaign.map is None else dict(campaign.map)
    full_data = load(path, map=mapping, preset=campaign.preset, format=campaign.format, language=campaign.language)
    data = _selected(full_data, campaign, file)
    rng = Random(campaign.seed)
    task_type = task_type_named(campaign.task_type)(campaign, read_language(_language_file(campaign, file)))
    campaign = task_type.campaign
    _check_questions(task_type, campaign, file)
    sources = sources_of(data)
    work = _work(task_type, sources, rng)
    if not work:
        raise UsageError(f"{campaign.data}: nothing to annotate; {campaign.task_type} needs {task_type.needs}")
    assistant = _Assistant(campaign, file, task_type, full_data, sources, rng)
    work = [assistant.add_to(task) for task in work]
    assistant.collect_verdicts(work)
    rate = campaign.attention.rate
    count = math.ceil(round(len(work) * rate / (1 - rate), 9))  # in floating point, 12 * .2 / .8 is slightly above 3
    material = Material(tuple(sources), rng, campaign.attention.foreign_sentence, assistant.explained)
    checks = [assistant.add_to(task) for task in _checks(task_type, material, count + campaign.training.made)]
    generated = [task.model_copy(update={"key": f"training/{task.key}", "role": "training"}) for task in checks[count:]]
    from_file = [_training_task(task_type, index, campaign, file) for index in range(len(campaign.training.items))]
    return [*work, *checks[:count], *from_file, *generated], data


def warnings_of(folder: CampaignFolder) -> Iterator[str]:
    """Yield warnings about settings of a new campaign that cannot have the intended effect.

    Each warning is a sentence without a full stop.
    """
    campaign, tasks, task_type = folder.campaign, folder.tasks, folder.task_type
    if campaign.interface == REFERENCE and campaign.language not in shipped_names():
        yield (
            f"the texts are in {campaign.language!r}, but the annotators' pages are in English; set `interface` to "
            "another language or to a language file"
        )

    # Fields that the task type does not use
    if task_type.shaped_by is not None:
        for field in SHAPES:
            if field not in task_type.shaped_by and getattr(campaign, field) != Campaign.model_fields[field].default:
                yield f"{field}: {task_type.name} does not use this field; `questions` work with every task type"
        if "scale" not in task_type.shaped_by and any(aspect.scale is not None for aspect in campaign.aspects):
            yield f"aspects: {task_type.name} has no scales; add a question of the type scale instead"

    # Texts that could exceed the maximum size of a request
    characters = sum(question.longest for question in campaign.questions if question.type is QuestionType.TEXT)
    if task_type.each_summary:
        characters *= max(len(task.systems) for task in tasks.work)
    if characters * BYTES_PER_CHARACTER > LARGEST:
        yield (
            f"questions: texts with a total of {characters:,} characters may exceed the limit of {LARGEST // 1024} KiB "
            "for an answer; set `longest`"
        )

    # Accounts
    accounts, overlap, most = len(campaign.platform.accounts), campaign.answers_per_item, campaign.batch.per_annotator
    if campaign.platform.name == "local":
        if not accounts:
            yield "the campaign has no accounts, so no annotator can take part; add names to platform.accounts"
        elif accounts < overlap:
            yield f"{accounts} accounts cannot give {overlap} answers to a task, so no task will be complete"
        elif most is not None:
            possible, needed = accounts * most * campaign.batch.size, overlap * len(tasks.work)
            if possible < needed:
                yield (f"batch.per_annotator allows {accounts} accounts to give {possible} answers, not {needed}")

    # Attention checks
    attention = campaign.attention
    if attention.rate == 0:
        if campaign.pay is not None and campaign.pay.bonus is not None:
            yield "attention.rate is 0, so every annotator who finishes a batch earns the bonus"
    else:
        work = len(tasks.work) if most is None else min(len(tasks.work), campaign.batch.size * most)
        checks = min(len(tasks.checks), work * attention.rate / (1 - attention.rate))
        if checks < attention.judge_after:
            yield (
                f"an annotator sees at most about {checks:.1f} attention checks, but attention.judge_after requires "
                f"{attention.judge_after}"
            )
        is_default = attention.foreign_sentence == FOREIGN_SENTENCE or attention.paraphrases == PARAPHRASES
        if campaign.language != "en" and task_type.words_in_checks and is_default:
            yield (
                "attention.foreign_sentence and attention.paraphrases are in English by default, but the texts are in "
                f"{campaign.language!r}; checks will stand out"
            )

    # Assistance
    if campaign.assistance.hide_for > 0 and all(task.assistance is None for task in tasks.work):
        yield "assistance.hide_for has no effect, since no task has assistance"
    judged = sum(task.machine is not None for task in tasks.work)
    if campaign.assistance.machine is not None and judged < len(tasks.work):
        yield f"only {judged} of {len(tasks.work)} tasks have a machine verdict"


def _language_file(campaign: Campaign, file: Path) -> Path:
    default = campaign.language if campaign.language in shipped_names() else REFERENCE
    try:
        return language_file(campaign.interface or default, file.parent)
    except UsageError as error:
        raise InputError.at(file, str(error), field="interface") from error


def _check_questions(task_type: TaskType, campaign: Campaign, file: Path) -> None:
    """Raise InputError if a question has a reserved name or a condition on an unknown answer."""
    faults = Faults(str(file))
    known = {question.name: values for question in task_type.asks if (values := question.condition_values)}
    for index, question in enumerate(campaign.questions):
        field = f"questions.{index}"
        if question.name in task_type.reserved:
            message = f"{question.name!r} is the name of a question of {task_type.name}; use another name"
            faults.add(None, f"{field}.name", message)
        for name, expected in question.when.items():
            if name not in known:
                earlier = ", ".join(known) or "there are none"
                message = f"{name!r} is not an earlier question ({earlier}){nearest(name, known)}"
                faults.add(None, f"{field}.when.{name}", message)
                continue
            for value in expected:
                if not any(same_value(value, other) for other in known[name]):
                    answers = list(map(_in_yaml, known[name]))
                    near = nearest(_in_yaml(value), answers)
                    choices = ", ".join(answers[:20])
                    message = f"{_in_yaml(value)} is not a possible answer to {name!r}; use one of {choices}{near}"
                    faults.add(None, f"{field}.when.{name}", message)
        if values := task_type.own[index].condition_values:
            known[question.name] = values
    faults.stop()


def _in_yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _selected(data: Dataset, campaign: Campaign, file: Path) -> Dataset:
    """Return the selected documents and summaries without judgments.

    The returned documents are split into sentences.
    """
    select = campaign.select
    for noun, names, known in (
        ("system", select.systems, data.systems),
        ("document", select.documents, data.documents),
    ):
        for name in names or ():
            if name not in known:
                raise InputError.at(file, f"the data has no {noun} {name!r}", field=f"select.{noun}s")
    items = None if select.items is None else _items(file.parent / select.items, data)
    item_documents = None if items is None else {document for document, _ in items}
    documents = [
        document
        for document in data.documents.values()
        if (select.documents is None or document.id in select.documents)
        and (item_documents is None or document.id in item_documents)
    ]
    selected = {document.id: document for document in documents[: select.limit]}
    for document in selected.values():
        if not document.sentences:
            parts = split(document.text, campaign.language)
            spans = tuple(Span(of="document", start=part.start, end=part.end) for part in parts)
            selected[document.id] = document.model_copy(update={"sentences": spans})
    summaries = [
        summary
        for summary in data.summaries
        if summary.document_id in selected
        and (select.systems is None or summary.system in select.systems)
        and (items is None or (summary.document_id, summary.system) in items)
    ]
    return Dataset(selected, summaries, {}, data.card, fact_origins=data.fact_origins)


def _items(file: Path, data: Dataset) -> set[tuple[str, str]]:
    """Read the (document, system) pairs in a file.

    Raises InputError, with the lines at fault, if the data lacks some of the pairs.
    """
    faults, items = Faults(str(file)), set()
    known = {(summary.document_id, summary.system) for summary in data.summaries}
    for _, line, row, _ in read_rows(file, faults, format_of(file)):
        item = str(row.get("doc_id")), str(row.get("system"))
        if item not in known:
            faults.add(line, None, f"the data has no summary of document {item[0]!r} by system {item[1]!r}")
        items.add(item)
    faults.stop()
    return items


def _work(task_type: TaskType, sources: Sequence[Source], rng: Random) -> list[Task]:
    """Return the tasks that are neither checks nor training.

    Shuffling keeps the tasks on one document together, and also the tasks of one group.
    """
    by_document = [list(task_type.tasks(source)) for source in sources]
    if task_type.campaign.order == "shuffled":
        rng.shuffle(by_document)
        for index, tasks in enumerate(by_document):
            groups: dict[str, list[Task]] = {}
            for task in tasks:
                groups.setdefault(task.group, []).append(task)
            names = list(groups)
            rng.shuffle(names)
            by_document[index] = [task for name in names for task in groups[name]]
    return [task for tasks in by_document for task in tasks]


def _checks(task_type: TaskType, material: Material, count: int) -> list[Task]:
    """Return up to `count` attention checks, made for all documents in turn.

    The list is shorter if no more checks can be made from the documents.
    """
    checks: list[Task] = []
    usable = list(material.sources)
    material.rng.shuffle(usable)
    while usable and len(checks) < count:
        for source in list(usable):
            if len(checks) == count:
                break
            check = task_type.check(source, len(checks), material)
            if check is None:
                usable.remove(source)
            else:
                checks.append(check)
    return checks


def _training_task(task_type: TaskType, index: int, campaign: Campaign, file: Path) -> Task:
    """Return the training task that an item of the campaign file describes.

    Raises InputError if the body or the expected answer of the item is invalid.
    """
    item = campaign.training.items[index]
    systems = tuple(summary["system"] for summary in item.body.get("summaries", ()))
    task = Task(
        key=key_of("training", "item", index),
        role="training",
        document_id=f"training-{index}",
        systems=systems,
        body=item.body,
        expected=item.expected,
        feedback=item.feedback,
        text=item.document,
    )
    try:  # using the body shows whether it has all fields
        task_type.shown(task.body, systems)
        task_type.focus(task)
        task_type.read({}, task)
    except InvalidAnswer:
        pass
    except (KeyError, TypeError, AttributeError) as error:
        field = f"training.items.{index}.body"
        raise InputError.at(file, f"lacks {error}; design/annotate.md lists the fields", field=field) from error
    try:
        task_type.passed(task, task_type.right_answer(task, Gold()))
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        field = f"training.items.{index}.expected"
        raise InputError.at(file, f"lacks {error}; design/annotate.md lists the fields", field=field) from error
    return task


class _Assistant:
    """Adds assistance to tasks.

    The machine verdicts on the work are collected, because those on attention checks are made from them.
    """

    def __init__(
        self, campaign: Campaign, file: Path, task_type: TaskType, data: Dataset, sources: Sequence[Source], rng: Random
    ) -> None:
        self.task_type, self.rng, self.similar = task_type, rng, campaign.assistance.similar
        self.sources = {source.document.id: source for source in sources}
        self.scores: dict[tuple[str, str], list[float]] = {}
        self.verdicts: Verdicts | None = None
        self.by_decision: dict[bool, list[Json]] = {}
        """Machine verdicts, by whether they accept the text."""
        self.explained: dict[bool, dict[str, Json]] = {}
        """Machine verdicts that have a reason, by whether they accept the text, and by the text."""
        self.reasons = campaign.attention.reasons
        self.coverage = 0.0
        """Fraction of tasks that have a machine verdict."""
        self._similarity: dict[str, Similarity] = {}
        if self.similar is not None and self.similar.scores is not None:
            counts = {name: len(source.document.sentences) for name, source in self.sources.items()}
            self.scores = read_scores(file.parent / self.similar.scores, counts)
        machine = campaign.assistance.machine
        if machine is not None:
            if task_type.machine_aspect is None:
                known = ", ".join(name for name in TASK_TYPES if task_type_named(name).machine_aspect is not None)
                message = f"{task_type.name} cannot show machine verdicts; only {known} can"
                raise InputError.at(file, message, field="assistance.machine")
            aspect = machine.aspect or task_type.machine_aspect
            self.verdicts = read_verdicts(machine, file.parent, data, aspect, task_type.unit)

    def add_to(self, task: Task) -> Task:
        """Return the task with its assistance."""
        similar = self._similar_sentences(task)
        verdict: Json | None = None
        if self.verdicts is not None and task.role != "work":
            verdict = self._planned_verdict(task)
        elif self.verdicts is not None:
            judgment = self.task_type.machine_judgment(task, self.verdicts)
            verdict = None if judgment is None else self.task_type.verdict(judgment, task)
        if similar is None and verdict is None:
            return task
        return task.model_copy(update={"assistance": {"similar": similar or [], "machine": verdict}})

    def collect_verdicts(self, work: Sequence[Task]) -> None:
        """Collect the machine verdicts on the work."""
        if self.verdicts is None:
            return
        shown = [(task, task.machine) for task in work if task.machine]
        self.coverage = len(shown) / len(work)
        for task, machine in shown:
            accepted, text = machine["accepts"], self.task_type.focus(task)
            self.by_decision.setdefault(accepted, []).append(machine)
            if machine["reason"] is not None and text is not None:
                self.explained.setdefault(accepted, {})[text] = machine

    def _similar_sentences(self, task: Task) -> list[int] | None:
        """Return the indexes of the document sentences that are similar to the text of a task.

        Returns None if similar sentences are not highlighted.
        """
        text = self.task_type.focus(task)
        if self.similar is None or text is None:
            return None
        scores = self.scores.get((task.document_id, text))
        if scores is None and self.scores and task.role == "work":
            message = f"has no scores for {text!r} of document {task.document_id!r}; give one row per shown text"
            raise UsageError(f"{self.similar.scores}: {message}")
        if not scores:
            similarity = self._similarity.get(task.document_id)
            if similarity is None:
                similarity = Similarity(self.sources[task.document_id].document.sentence_texts)
                self._similarity = {task.document_id: similarity}
            # If the scores of the work come from a file, checks must have as many highlighted sentences as the work.
            scores = [score + (1e-9 if self.scores else 0.0) for score in similarity.scores(text)]
        return top(scores, self.similar.share, self.similar.most)

    def _planned_verdict(self, task: Task) -> Json | None:
        """Return the machine verdict for an attention check, whose decision is fixed by the check.

        Only the texts may distinguish a check from the work. If the machine made the same decision on the same text in
        the document that it comes from, the error types and the reason of that verdict are used. Otherwise, they are
        present or absent as in a random verdict with the same decision, and the reason is made from a template.
        """
        if self.rng.random() >= self.coverage or task.planned is None:
            return None
        planned = task.planned
        accepted, text = planned["accepts"], self.task_type.focus(task) or ""
        same_text = self.explained.get(accepted, {}).get(text)
        candidates = self.by_decision.get(accepted) or [
            {"values": {}, "reason": machine["reason"]}
            for verdicts in self.by_decision.values()
            for machine in verdicts
        ]
        verdict = same_text or self.rng.choice(candidates or [{"values": {}, "reason": None}])
        if same_text is None and verdict["reason"] is not None:
            template = self.rng.choice(self.reasons.agreeing if accepted else self.reasons.denying)
            verdict = {**verdict, "reason": template.replace("{}", text.strip().rstrip("."))}
        return {**verdict, **planned, "values": {**verdict["values"], **planned["values"]}}
