"""`annotate new`: a campaign's YAML and its data become a folder of frozen tasks. No model is asked."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import yaml

from summeter.annotate.assist import Similarity, Verdicts, read_scores, read_verdicts, shown_verdict, top
from summeter.annotate.campaign import OUTCOMES, Campaign, read_campaign
from summeter.annotate.tasks import kind_named
from summeter.annotate.tasks.base import Kind, Misfit, Others, Source, Task, key_of
from summeter.data.atomic import building, write_lines, write_text
from summeter.data.dataset import Dataset, load, save
from summeter.data.faults import Faults
from summeter.data.formats import format_of, read_rows
from summeter.data.human_judgments import list_id_of
from summeter.records import Document, InputError, Span, Summary, UsageError, canonical

CAMPAIGN = "campaign.yaml"
DATA = "data"
TASKS = "tasks.jsonl"
KEYS = "keys.json"
MACHINE_ASPECT = {
    "fact_verification": "faithfulness",
    "key_fact_validation": "key_fact_validity",
    "key_fact_alignment": "completeness",
}


def build(file: str | Path, folder: str | Path, *, token: Callable[[], str] | None = None) -> Path:
    """Make the campaign's folder, whole or not at all; returns it.

    `token` makes the unguessable strings (secret, admin token, codes).

    Raises InputError for a fault in the YAML or the data, UsageError where the folder holds something already or the
    data has nothing for this kind of task.
    """
    path, target = Path(file), Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists and is not empty; nothing was written: choose another folder")
    campaign = read_campaign(path)
    make = token or _token
    tasks, data = made_tasks(campaign, path)
    resolved = _with_codes(campaign, make)
    with building(target) as fresh:
        save(data, fresh / DATA)
        write_lines(fresh / TASKS, (one.model_dump_json(exclude_none=True) for one in tasks))
        text = yaml.safe_dump(resolved.model_dump(mode="json"), allow_unicode=True, sort_keys=False)
        write_text(fresh / CAMPAIGN, text)
        keys = fresh / KEYS
        keys.touch(mode=0o600)
        keys.write_text(canonical({"admin": make(), "secret": make()}) + "\n", encoding="utf-8")
    return target


def made_tasks(campaign: Campaign, file: Path) -> tuple[list[Task], Dataset]:
    """All tasks of a campaign (work in the order of offering, checks, training) and the data they are about."""
    data = _selected(campaign, file)
    kind, rng = kind_named(campaign.kind), Random(campaign.seed)
    sources = sources_of(data)
    work = _work(kind, sources, campaign, rng)
    if not work:
        raise UsageError(f"{campaign.data}: nothing to annotate; {campaign.kind} needs {kind.needs}")
    helper = _Helper(campaign, file, kind, sources, rng)
    work = [helper.help(one) for one in work]
    helper.learn(work)
    rate = campaign.attention.rate
    wanted = math.ceil(round(len(work) * rate / (1 - rate), 9))  # 12 * .2 / .8 is 3, and a little more
    others = Others(tuple(sources), rng, campaign.attention.stranger, helper.reasoned)
    checks = _checks(kind, others, campaign, wanted + campaign.training.made)
    checks = [helper.help(one) for one in checks]
    training = [one.model_copy(update={"key": f"training/{one.key}", "role": "training"}) for one in checks[wanted:]]
    explicit = [_example(kind, index, campaign, file) for index in range(len(campaign.training.items))]
    return [*work, *checks[:wanted], *explicit, *training], data


def sources_of(data: Dataset) -> list[Source]:
    """The documents with their summaries, in order; documents without a summary have nothing to judge."""
    return [
        Source(document, tuple(summaries), list_id_of(document.key_facts))
        for document, summaries in data.items() if summaries
    ]  # fmt: skip


def _token() -> str:
    return secrets.token_urlsafe(24)


def _with_codes(campaign: Campaign, make: Callable[[], str]) -> Campaign:
    codes = campaign.codes.model_dump()
    for outcome in OUTCOMES:
        letters = "".join(one for one in make() if one.isalnum()).upper()
        codes[outcome] = codes[outcome] or f"C{letters[:9]}"
    about = {"codes": type(campaign.codes)(**codes), "title": campaign.title or campaign.name}
    return campaign.model_copy(update=about)


def _selected(campaign: Campaign, file: Path) -> Dataset:
    mapping = None if campaign.map is None else dict(campaign.map)
    place = file.parent / campaign.data
    data = load(place, map=mapping, preset=campaign.preset, format=campaign.format, language=campaign.language)
    chosen = campaign.select
    for what, wanted, there in (
        ("system", chosen.systems, data.systems),
        ("document", chosen.documents, data.documents),
    ):
        for one in wanted or ():
            if one not in there:
                raise InputError.at(file, None, f"select.{what}s", f"the data has no {what} {one!r}")
    items = None if chosen.items is None else _items(file.parent / chosen.items, data)
    wanted_ids = None if items is None else {document for document, _ in items}
    documents = [
        one for one in data.documents.values()
        if (chosen.documents is None or one.id in chosen.documents) and (wanted_ids is None or one.id in wanted_ids)
    ]  # fmt: skip
    kept = {one.id: _split(one, campaign.language) for one in documents[: chosen.limit]}
    summaries: list[Summary] = [
        one for one in data.summaries
        if one.document_id in kept and (chosen.systems is None or one.system in chosen.systems)
        and (items is None or (one.document_id, one.system) in items)
    ]  # fmt: skip
    return Dataset(kept, summaries, {}, data.card)


def _items(file: Path, data: Dataset) -> set[tuple[str, str]]:
    """The (document, system) of a file with the columns doc_id and system; each must be in the data."""
    faults, found = Faults(str(file)), set()
    there = {(one.document_id, one.system) for one in data.summaries}
    for line, row in read_rows(file, faults, format_of(file, None)):
        item = str(row.get("doc_id")), str(row.get("system"))
        if item not in there:
            faults.add(line, None, f"the data has no summary of document {item[0]!r} by system {item[1]!r}")
        found.add(item)
    faults.stop()
    return found


def _split(document: Document, language: str) -> Document:
    from summeter.text.split import split

    if document.sentences:
        return document
    spans = tuple(Span(of="document", start=one.start, end=one.end) for one in split(document.text, language))
    return document.model_copy(update={"sentences": spans})


def _work(kind: Kind, sources: Sequence[Source], campaign: Campaign, rng: Random) -> list[Task]:
    """The work's tasks; shuffled, those of a document stay together, and in it those of a group."""
    by_document = [list(kind.tasks(source, campaign)) for source in sources]
    if campaign.order == "shuffled":
        rng.shuffle(by_document)
        by_document = [_by_group(tasks, rng) for tasks in by_document]
    return [task for tasks in by_document for task in tasks]


def _by_group(tasks: Iterable[Task], rng: Random) -> list[Task]:
    groups: dict[str, list[Task]] = {}
    for one in tasks:
        groups.setdefault(one.group, []).append(one)
    names = list(groups)
    rng.shuffle(names)
    return [one for name in names for one in groups[name]]


def _checks(kind: Kind, others: Others, campaign: Campaign, wanted: int) -> list[Task]:
    """`wanted` checks over all documents in turn."""
    made: list[Task] = []
    usable = list(others.sources)
    others.rng.shuffle(usable)
    while usable and len(made) < wanted:
        for source in list(usable):
            if len(made) == wanted:
                break
            one = kind.check(source, len(made), others, campaign)
            if one is None:
                usable.remove(source)
            else:
                made.append(one)
    return made


def _example(kind: Kind, index: int, campaign: Campaign, file: Path) -> Task:
    item = campaign.training.items[index]
    systems = tuple(one["system"] for one in item.body.get("summaries", ()))
    task = Task(
        key=key_of("training", "item", index), kind=kind.name, role="training", document_id=f"training-{index}",
        systems=systems, body=item.body, expected=item.expected, feedback=item.feedback, text=item.document,
    )  # fmt: skip
    try:  # whether the body has what a page and a verdict need shows when it is used
        kind.shown(task.body, systems)
        kind.focus(task)
        kind.read({}, task)
    except Misfit:
        return task
    except (KeyError, TypeError, AttributeError) as error:
        field = f"training.items.{index}.body"
        raise InputError.at(file, None, field, f"lacks {error}; see the bodies in design/annotate.md") from error
    return task


class _Helper:
    """Puts the assistance into tasks; keeps the real verdicts to lend from them to the made-up ones beside checks."""

    def __init__(self, campaign: Campaign, file: Path, kind: Kind, sources: Sequence[Source], rng: Random) -> None:
        self.kind, self.rng, self.similar = kind, rng, campaign.assistance.similar
        self.sources = {one.document.id: one for one in sources}
        self.scores: dict[tuple[str, str], list[float]] = {}
        self.verdicts: Verdicts | None = None
        self.lent: dict[str, list[dict[str, Any]]] = {}
        self.reasoned: dict[str, dict[str, dict[str, Any]]] = {}
        self.frames = campaign.attention.reasons
        self.coverage = 0.0
        self._near: dict[str, Similarity] = {}
        if self.similar is not None and self.similar.scores is not None:
            counts = {name: len(one.document.sentences) for name, one in self.sources.items()}
            self.scores = read_scores(file.parent / self.similar.scores, counts)
        machine = campaign.assistance.machine
        if machine is not None:
            if kind.name not in MACHINE_ASPECT:
                known = ", ".join(MACHINE_ASPECT)
                raise InputError.at(file, None, "assistance.machine", f"is for {known}, not for {kind.name}")
            aspect = machine.aspect or MACHINE_ASPECT[kind.name]
            self.verdicts = read_verdicts(file.parent / machine.run, machine.judge, aspect, kind.name)

    def help(self, task: Task) -> Task:
        """The task with what its page shows beside it."""
        similar, machine = self._alike(task), self._verdict(task)
        if similar is None and machine is None:
            return task
        return task.model_copy(update={"assistance": {"similar": similar or [], "machine": machine}})

    def learn(self, work: Sequence[Task]) -> None:
        """Take note of how often there is a verdict, and of what goes with it on either side."""
        shown = [(one, one.assistance["machine"]) for one in work if one.assistance and one.assistance["machine"]]
        self.coverage = len(shown) / len(work)
        for task, machine in shown:
            side, text = _side(machine), self.kind.focus(task)
            self.lent.setdefault(side, []).append(machine)
            if machine["reason"] is not None and text is not None:
                self.reasoned.setdefault(side, {})[text] = machine

    def _alike(self, task: Task) -> list[int] | None:
        text = self.kind.focus(task)
        if self.similar is None or text is None:
            return None
        given = self.scores.get((task.document_id, text))
        if given is None and self.scores and task.role == "work":
            said = f"has no scores for {text!r} of document {task.document_id!r}; give one row a text that is shown"
            raise UsageError(f"{self.similar.scores}: {said}")
        return top(given or self._lexical(task.document_id, text), self.similar.share)

    def _lexical(self, document: str, text: str) -> list[float]:
        """Our own scores. Where the work's come from a file, a check is marked as fully as they are."""
        near = self._near.get(document)
        if near is None:
            near = Similarity(self.sources[document].document.sentence_texts)
            self._near = {document: near}
        return [one + (1e-9 if self.scores else 0.0) for one in near.scores(text)]

    def _verdict(self, task: Task) -> dict[str, Any] | None:
        if self.verdicts is None:
            return None
        if task.role != "work":
            return self._made_up(task)
        document, system, index = task.document_id, task.system or "", task.index or 0
        if self.kind.name == "fact_verification":
            found = self.verdicts.sentence(document, system, index)
        elif self.kind.name == "key_fact_alignment":
            found = self.verdicts.key_fact(document, system, index)
        else:
            found = self.verdicts.fact(document, index)
        spans = [(one[0], one[1]) for one in task.body.get("summary", {}).get("sentences", ())]
        return None if found is None else shown_verdict(self.kind.name, found, spans)

    def _made_up(self, task: Task) -> dict[str, Any] | None:
        """The verdict beside a check: right or wrong as planned.

        Nothing but the texts may tell a check from the work. Where the machine gave the same verdict on the very text
        (in its own document), error types and reason are those. Else they are, or are absent, as in a real verdict of
        the same side, with a reason put into words here: one that was lent would speak of another text.
        """
        if self.rng.random() >= self.coverage or task.expected is None:
            return None
        said = task.expected["machine"]
        machine: dict[str, Any] = {"sentences" if self.kind.name == "key_fact_alignment" else "verdict": said}
        plain: dict[str, Any] = (
            {"error_types": [], "reason": None} if self.kind.name == "fact_verification" else {"reason": None}
        )
        side, text = _side(machine), self.kind.focus(task) or ""
        own = self.reasoned.get(side, {}).get(text)
        usual = self.lent.get(side) or [
            {**plain, "reason": one["reason"]} for part in self.lent.values() for one in part
        ]
        lent = own or self.rng.choice(usual or [plain])
        if own is None and lent["reason"] is not None:
            yes = side not in {"not_supported", "not_valid", "False"}
            frame = self.rng.choice(self.frames.agreeing if yes else self.frames.denying)
            lent = {**lent, "reason": frame.replace("{}", text.strip().rstrip("."))}
        return {**plain, **lent, **machine}


def _side(machine: dict[str, Any]) -> str:
    return str(machine["verdict"]) if "verdict" in machine else str(bool(machine["sentences"]))
