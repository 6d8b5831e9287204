"""`annotate new`: a campaign's YAML and its data become a folder of frozen tasks. No model is asked."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    Tasks,
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
from summeter.annotate.campaign.people import RESERVED
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
from summeter.records import Document, InputError, Span, Summary, UsageError, canonical, nearest
from summeter.records.taxonomy import NO_ERROR, SEPARATOR, canonical_error_type
from summeter.text.split import split

BYTES = 4
"""Of a character, at most."""


def build(file: str | Path, folder: str | Path, *, token: Callable[[], str] | None = None) -> Path:
    """Make the campaign's folder, whole or not at all; returns it.

    `token` makes the unguessable strings (secret, admin token, codes).

    Raises InputError for a fault in the YAML or the data, UsageError where the folder holds something already or the
    data has nothing for this kind of task.
    """
    path, target = Path(file), Path(folder)
    check_folder(target)
    campaign = read_campaign(path)
    new_token = token or _token
    with by_line(path):
        language = _language_file(campaign, path)
        tasks, data = tasks_of(campaign, path)
    resolved = _with_codes(campaign, new_token).model_copy(
        update={"interface": language.stem if language.parent == SHIPPED else INTERFACE}
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
    return target


def tasks_of(campaign: Campaign, file: Path) -> tuple[list[Task], Dataset]:
    """All tasks of a campaign (work in the order of offering, checks, training) and the data they are about."""
    _check_accounts(campaign, file)
    _check_texts(campaign, file)
    _check_error_types(campaign, file)
    whole = _loaded(campaign, file)
    data = _selected(whole, campaign, file)
    rng = Random(campaign.seed)
    task_type = task_type_named(campaign.task_type)(campaign, read_language(_language_file(campaign, file)))
    campaign = task_type.campaign
    _check_questions(task_type, campaign, file)
    sources = sources_of(data)
    work = _work(task_type, sources, rng)
    if not work:
        raise UsageError(f"{campaign.data}: nothing to annotate; {campaign.task_type} needs {task_type.needs}")
    helper = _Helper(campaign, file, task_type, whole, sources, rng)
    work = [helper.help(task) for task in work]
    helper.learn(work)
    rate = campaign.attention.rate
    wanted = math.ceil(round(len(work) * rate / (1 - rate), 9))  # 12 * .2 / .8 is 3, and a little more
    material = Material(tuple(sources), rng, campaign.attention.foreign_sentence, helper.explained)
    checks = _checks(task_type, material, wanted + campaign.training.made)
    checks = [helper.help(task) for task in checks]
    training = [task.model_copy(update={"key": f"training/{task.key}", "role": "training"}) for task in checks[wanted:]]
    explicit = [_example(task_type, index, campaign, file) for index in range(len(campaign.training.items))]
    return [*work, *checks[:wanted], *explicit, *training], data


def warnings_of(folder: CampaignFolder) -> list[str]:
    """Warnings about a new campaign; they do not stop the build.

    Sentences without a full stop, each on one thing that will not go as it seems to be meant.
    """
    campaign, tasks = folder.campaign, folder.tasks
    return [
        *_language_warnings(campaign),
        *_shape_warnings(campaign, folder.task_type),
        *_question_warnings(campaign, tasks, folder.task_type),
        *_account_warnings(campaign, tasks),
        *_check_warnings(campaign, tasks, folder.task_type),
        *_assistance_warnings(campaign, tasks),
    ]


def _language_warnings(campaign: Campaign) -> Iterator[str]:
    if campaign.interface == REFERENCE and campaign.language not in shipped_names():
        yield (
            f"the texts are in {campaign.language!r} and the annotators' pages in English; `interface` names another "
            "language, or a file of your own"
        )


def _check_accounts(campaign: Campaign, file: Path) -> None:
    """Only a new campaign is refused: one that was built before still opens."""
    faults = Faults(str(file))
    for index, account in enumerate(campaign.platform.accounts):
        if account in RESERVED:
            faults.add(None, f"platform.accounts.{index}", f"{account!r} is {RESERVED[account]}; give another name")
    faults.stop()


def _check_texts(campaign: Campaign, file: Path) -> None:
    """Refuse options that annotators cannot read or distinguish.

    Only a new campaign is refused: one that was built before still opens.
    """
    faults = Faults(str(file))
    lists = list(_choices(campaign))
    for field, text in {
        **_names(campaign),
        **{field: text for texts in lists for field, text in texts.items()},
    }.items():
        if not text.strip():
            faults.add(None, field, f"is {text!r}; give a text that can be read")
        elif text != text.strip():
            faults.add(None, field, f"is {text!r}; leave out the blanks around it")
    for texts in lists:
        first: dict[str, str] = {}
        for field, text in texts.items():
            seen = " ".join(text.split())  # a browser shows blanks in a row as one
            if seen and seen in first:
                faults.add(None, field, f"annotators read {seen!r} at {first[seen]} too; give it another text")
            first.setdefault(seen, field)
    faults.stop()


def _names(campaign: Campaign) -> dict[str, str]:
    """The names of aspects and error types, by field."""
    lists = (("aspects", campaign.aspects), ("error_types", campaign.error_types))
    return {f"{field}.{index}.name": entry.name for field, entries in lists for index, entry in enumerate(entries)}


def _choices(campaign: Campaign) -> Iterator[dict[str, str]]:
    """What annotators read of each list that they choose from, by field."""
    scales = {"scale": campaign.scale}
    for name, entries in (("aspects", campaign.aspects), ("error_types", campaign.error_types)):
        yield {
            f"{name}.{index}.{'label' if entry.label else 'name'}": entry.label or entry.name
            for index, entry in enumerate(entries)
        }
    for index, aspect in enumerate(campaign.aspects):
        scales[f"aspects.{index}.scale"] = aspect.scale
    for index, question in enumerate(campaign.questions):
        scales[f"questions.{index}.scale"] = question.scale
        yield {f"questions.{index}.options.{place}.name": name for place, name in enumerate(question.option_names)}
    for field, scale in scales.items():
        if scale is not None:
            yield {f"{field}.labels.{place}": label for place, label in enumerate(scale.labels)}


def _check_error_types(campaign: Campaign, file: Path) -> None:
    """Only a new campaign is refused: one that was built before still opens.

    Names that records read as one type, or as none, would be lost where both are ticked.
    """
    names: dict[str, str] = {}
    for index, error_type in enumerate(campaign.error_types):
        name = error_type.name
        canonical_name = canonical_error_type(name)
        message = None
        if SEPARATOR in name:
            message = f"{name!r} would be read as several types, which {SEPARATOR!r} joins; name it without"
        elif canonical_name == NO_ERROR:
            message = f"{name!r} says that there is no error; leave it out"
        elif canonical_name in names:
            message = f"{name!r} would be read as the same type as {names[canonical_name]!r}; give it another name"
        if message is not None:
            raise InputError.at(file, None, f"error_types.{index}.name", message)
        names[canonical_name] = name


def _language_file(campaign: Campaign, file: Path) -> Path:
    """The language file of the annotators' pages."""
    usual = campaign.language if campaign.language in shipped_names() else REFERENCE
    try:
        return language_file(campaign.interface or usual, file.parent)
    except UsageError as error:
        raise InputError.at(file, None, "interface", str(error)) from error


def _check_questions(task_type: TaskType, campaign: Campaign, file: Path) -> None:
    """Each question has a name of its own, and its conditions name what stands before it."""
    faults = Faults(str(file))
    known = {question.name: values for question in task_type.asks if (values := question.condition_values)}
    for index, question in enumerate(campaign.questions):
        place = f"questions.{index}"
        if question.name in task_type.reserved:
            message = f"{question.name!r} is what {task_type.name} itself asks; give the question another name"
            faults.add(None, f"{place}.name", message)
        for name, wanted in question.when.items():
            if name not in known:
                before = ", ".join(known) or "nothing"
                message = f"names {name!r}; a condition names what is answered before: {before}{nearest(name, known)}"
                faults.add(None, f"{place}.when.{name}", message)
                continue
            for value in wanted:
                if not any(same_value(value, other) for other in known[name]):
                    answers = list(map(_in_yaml, known[name]))
                    near = nearest(_in_yaml(value), answers)
                    message = f"{_in_yaml(value)} is no answer to {name!r}; it has: {', '.join(answers[:20])}{near}"
                    faults.add(None, f"{place}.when.{name}", message)
        if question.values:
            known[question.name] = question.values
    faults.stop()


def _in_yaml(value: object) -> str:
    """A value as a campaign's file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _token() -> str:
    return secrets.token_urlsafe(24)


def _with_codes(campaign: Campaign, new_token: Callable[[], str]) -> Campaign:
    codes = campaign.codes.model_dump()
    for outcome in OUTCOMES:
        letters = "".join(letter for letter in new_token() if letter.isalnum()).upper()
        codes[outcome] = codes[outcome] or f"C{letters[:9]}"
    about = {"codes": type(campaign.codes)(**codes), "title": campaign.title or campaign.name}
    return campaign.model_copy(update=about)


def _loaded(campaign: Campaign, file: Path) -> Dataset:
    mapping = None if campaign.map is None else dict(campaign.map)
    place = campaign.data if is_address(campaign.data) else file.parent / campaign.data
    return load(place, map=mapping, preset=campaign.preset, format=campaign.format, language=campaign.language)


def _selected(data: Dataset, campaign: Campaign, file: Path) -> Dataset:
    """The documents and summaries that are judged; the data's own judgments stay behind."""
    chosen = campaign.select
    for what, wanted, known in (
        ("system", chosen.systems, data.systems),
        ("document", chosen.documents, data.documents),
    ):
        for name in wanted or ():
            if name not in known:
                raise InputError.at(file, None, f"select.{what}s", f"the data has no {what} {name!r}")
    items = None if chosen.items is None else _items(file.parent / chosen.items, data)
    wanted_ids = None if items is None else {document for document, _ in items}
    documents = [
        document
        for document in data.documents.values()
        if (chosen.documents is None or document.id in chosen.documents)
        and (wanted_ids is None or document.id in wanted_ids)
    ]
    kept = {document.id: _split(document, campaign.language) for document in documents[: chosen.limit]}
    summaries: list[Summary] = [
        summary
        for summary in data.summaries
        if summary.document_id in kept
        and (chosen.systems is None or summary.system in chosen.systems)
        and (items is None or (summary.document_id, summary.system) in items)
    ]
    return Dataset(kept, summaries, {}, data.card, fact_origins=data.fact_origins)


def _items(file: Path, data: Dataset) -> set[tuple[str, str]]:
    """The (document, system) of a file with the columns doc_id and system; each must be in the data."""
    faults, items = Faults(str(file)), set()
    known = {(summary.document_id, summary.system) for summary in data.summaries}
    for _, line, row, _ in read_rows(file, faults, format_of(file)):
        item = str(row.get("doc_id")), str(row.get("system"))
        if item not in known:
            faults.add(line, None, f"the data has no summary of document {item[0]!r} by system {item[1]!r}")
        items.add(item)
    faults.stop()
    return items


def _split(document: Document, language: str) -> Document:
    if document.sentences:
        return document
    spans = tuple(Span(of="document", start=part.start, end=part.end) for part in split(document.text, language))
    return document.model_copy(update={"sentences": spans})


def _work(task_type: TaskType, sources: Sequence[Source], rng: Random) -> list[Task]:
    """The work's tasks; shuffled, those of a document stay together, and in it those of a group."""
    by_document = [list(task_type.tasks(source)) for source in sources]
    if task_type.campaign.order == "shuffled":
        rng.shuffle(by_document)
        by_document = [_by_group(tasks, rng) for tasks in by_document]
    return [task for tasks in by_document for task in tasks]


def _by_group(tasks: Iterable[Task], rng: Random) -> list[Task]:
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.group, []).append(task)
    names = list(groups)
    rng.shuffle(names)
    return [task for name in names for task in groups[name]]


def _checks(task_type: TaskType, material: Material, wanted: int) -> list[Task]:
    """`wanted` checks over all documents in turn."""
    checks: list[Task] = []
    usable = list(material.sources)
    material.rng.shuffle(usable)
    while usable and len(checks) < wanted:
        for source in list(usable):
            if len(checks) == wanted:
                break
            check = task_type.check(source, len(checks), material)
            if check is None:
                usable.remove(source)
            else:
                checks.append(check)
    return checks


def _example(task_type: TaskType, index: int, campaign: Campaign, file: Path) -> Task:
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
    try:  # whether the body has what a page and a verdict need shows when it is used
        task_type.shown(task.body, systems)
        task_type.focus(task)
        task_type.read({}, task)
    except InvalidAnswer:
        pass
    except (KeyError, TypeError, AttributeError) as error:
        field = f"training.items.{index}.body"
        raise InputError.at(file, None, field, f"lacks {error}; see the bodies in design/annotate.md") from error
    try:
        task_type.passed(task, task_type.right_answer(task, Gold()))
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        field = f"training.items.{index}.expected"
        raise InputError.at(file, None, field, f"says nothing of {error}; see Checks in design/annotate.md") from error
    return task


class _Helper:
    """Puts the assistance into tasks; keeps the real verdicts to lend from them to the made-up ones beside checks."""

    def __init__(
        self, campaign: Campaign, file: Path, task_type: TaskType, data: Dataset, sources: Sequence[Source], rng: Random
    ) -> None:
        self.task_type, self.rng, self.similar = task_type, rng, campaign.assistance.similar
        self.sources = {source.document.id: source for source in sources}
        self.scores: dict[tuple[str, str], list[float]] = {}
        self.verdicts: Verdicts | None = None
        self.lent: dict[bool, list[Json]] = {}
        self.explained: dict[bool, dict[str, Json]] = {}
        self.frames = campaign.attention.reasons
        self.coverage = 0.0
        self._near: dict[str, Similarity] = {}
        if self.similar is not None and self.similar.scores is not None:
            counts = {name: len(source.document.sentences) for name, source in self.sources.items()}
            self.scores = read_scores(file.parent / self.similar.scores, counts)
        machine = campaign.assistance.machine
        if machine is not None:
            if task_type.machine_aspect is None:
                known = ", ".join(name for name in TASK_TYPES if task_type_named(name).machine_aspect is not None)
                raise InputError.at(file, None, "assistance.machine", f"is for {known}, not for {task_type.name}")
            aspect = machine.aspect or task_type.machine_aspect
            self.verdicts = read_verdicts(machine, file.parent, data, aspect, task_type.machine_unit)

    def help(self, task: Task) -> Task:
        """The task with what its page shows beside it."""
        similar, machine = self._alike(task), self._verdict(task)
        if similar is None and machine is None:
            return task
        return task.model_copy(update={"assistance": {"similar": similar or [], "machine": machine}})

    def learn(self, work: Sequence[Task]) -> None:
        """Take note of how often there is a verdict, and of what goes with it on either side."""
        if self.verdicts is None:
            return
        shown = [(task, task.machine) for task in work if task.machine]
        self.coverage = len(shown) / len(work)
        for task, machine in shown:
            accepted, text = machine["accepts"], self.task_type.focus(task)
            self.lent.setdefault(accepted, []).append(machine)
            if machine["reason"] is not None and text is not None:
                self.explained.setdefault(accepted, {})[text] = machine

    def _alike(self, task: Task) -> list[int] | None:
        text = self.task_type.focus(task)
        if self.similar is None or text is None:
            return None
        given = self.scores.get((task.document_id, text))
        if given is None and self.scores and task.role == "work":
            lacks = f"has no scores for {text!r} of document {task.document_id!r}; give one row a text that is shown"
            raise UsageError(f"{self.similar.scores}: {lacks}")
        scores = given or self._lexical(task.document_id, text)
        return top(scores, self.similar.share, self.similar.most)

    def _lexical(self, document: str, text: str) -> list[float]:
        """Our own scores. Where the work's come from a file, a check is marked as fully as they are."""
        near = self._near.get(document)
        if near is None:
            near = Similarity(self.sources[document].document.sentence_texts)
            self._near = {document: near}
        return [score + (1e-9 if self.scores else 0.0) for score in near.scores(text)]

    def _verdict(self, task: Task) -> Json | None:
        if self.verdicts is None:
            return None
        if task.role != "work":
            return self._planned(task)
        judgment = self.task_type.machine_judgment(task, self.verdicts)
        return None if judgment is None else self.task_type.verdict(judgment, task)

    def _planned(self, task: Task) -> Json | None:
        """The verdict beside a check: right or wrong as planned.

        Nothing but the texts may tell a check from the work. Where the machine gave the same verdict on the very text
        (in its own document), error types and reason are those. Else they are, or are absent, as in a real verdict of
        the same side, with a reason put into words here: one that was lent would speak of another text.
        """
        if self.rng.random() >= self.coverage or task.expected is None:
            return None
        planned = task.expected["machine"]
        accepted, text = planned["accepts"], self.task_type.focus(task) or ""
        own = self.explained.get(accepted, {}).get(text)
        usual = self.lent.get(accepted) or [
            {"values": {}, "reason": machine["reason"]} for side in self.lent.values() for machine in side
        ]
        lent = own or self.rng.choice(usual or [{"values": {}, "reason": None}])
        if own is None and lent["reason"] is not None:
            frame = self.rng.choice(self.frames.agreeing if accepted else self.frames.denying)
            lent = {**lent, "reason": frame.replace("{}", text.strip().rstrip("."))}
        return {**lent, **planned, "values": {**lent["values"], **planned["values"]}}


def _shape_warnings(campaign: Campaign, task_type: TaskType) -> Iterator[str]:
    """Of fields that change nothing for this kind of task."""
    if task_type.shaped_by is None:
        return
    for field in SHAPES:
        if field not in task_type.shaped_by and getattr(campaign, field) != Campaign.model_fields[field].default:
            yield f"{field}: {task_type.name} asks nothing that it would change; `questions` are for every task type"
    if "scale" not in task_type.shaped_by and any(aspect.scale is not None for aspect in campaign.aspects):
        yield f"aspects: {task_type.name} has no scales; ask a question of the type scale instead"


def _question_warnings(campaign: Campaign, tasks: Tasks, task_type: TaskType) -> Iterator[str]:
    """Of texts that a page lets people write and the server would refuse for their length."""
    texts = sum(question.longest for question in campaign.questions if question.type is QuestionType.TEXT)
    times = max((len(task.systems) for task in tasks.work), default=1) if task_type.each_summary else 1
    if texts * times * BYTES > LARGEST:
        yield (
            f"questions: texts of {texts * times:,} characters may be too long together for an answer of "
            f"{LARGEST // 1024} KiB; give `longest`"
        )


def _account_warnings(campaign: Campaign, tasks: Tasks) -> Iterator[str]:
    if campaign.platform.name != "local":
        return
    accounts, overlap = len(campaign.platform.accounts), campaign.answers_per_item
    most = campaign.batch.per_annotator
    if not accounts:
        yield "nobody can take part: name people in platform.accounts"
    elif accounts < overlap:
        yield f"{accounts} accounts cannot give {overlap} answers to a task; no task will be complete"
    elif most is not None:
        possible, needed = accounts * most * campaign.batch.size, overlap * len(tasks.work)
        if possible < needed:
            yield (
                f"{accounts} accounts may give {possible} of the {needed} answers; "
                "batch.per_annotator lets them do no more"
            )


def _check_warnings(campaign: Campaign, tasks: Tasks, task_type: TaskType) -> Iterator[str]:
    plan, size, most = campaign.attention, campaign.batch.size, campaign.batch.per_annotator
    if plan.rate == 0:
        if campaign.pay is not None and campaign.pay.bonus is not None:
            yield "attention.rate is 0: whoever finishes a batch gets the bonus"
        return
    work = len(tasks.work) if most is None else min(len(tasks.work), size * most)
    met = min(len(tasks.checks), work * plan.rate / (1 - plan.rate))
    if met < plan.judge_after:
        yield (
            f"a person meets about {met:.1f} attention checks at most, and is judged by them after "
            f"{plan.judge_after} (attention.judge_after)"
        )
    foreign = campaign.language != "en" and task_type.words_in_checks
    if foreign and (plan.foreign_sentence == FOREIGN_SENTENCE or plan.paraphrases == PARAPHRASES):
        yield (
            "attention.foreign_sentence and attention.paraphrases are English unless given, and the texts are not "
            f"({campaign.language}): checks will stand out"
        )


def _assistance_warnings(campaign: Campaign, tasks: Tasks) -> Iterator[str]:
    if campaign.assistance.hide_for > 0 and all(task.assistance is None for task in tasks.work):
        yield "assistance.hide_for: no task has assistance that could be hidden"
    judged = sum(task.machine is not None for task in tasks.work)
    if campaign.assistance.machine is not None and judged < len(tasks.work):
        yield f"the machine's verdict stands beside {judged} of {len(tasks.work)} tasks; it has none on the others"
