"""Key-fact alignment: which sentences of the summary speak of a key fact? (FineSurE, UniSumEval.)

Aligned means: of the same matter, even where a detail contradicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from summeter.annotate.campaign.assistance import decided
from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import AnswerModel, AssistedKind, Disagreement, labelled, parsed, split_of
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Misfit, Others, Source, Task, joined_body, summary_body
from summeter.data.human_judgments import SIGNATURES, conciseness_labels
from summeter.records import Judgment, Target, Unit

_COMMON = frozenset(
    {"The", "A", "An", "It", "He", "She", "They", "We", "In", "On", "At", "This", "That", "There", "After"}
)
"""English words that are capitals for no other reason than that they begin a sentence."""


class Alignment(AnswerModel):
    """An answer."""

    sentences: list[int]
    none: bool


class KeyFactAlignment(AssistedKind):
    """One task a key fact and summary; the key facts of a summary stay together."""

    name = "key_fact_alignment"
    shaped_by = frozenset()
    code = "ka"
    needs = "documents with key facts, and summaries with at least one sentence"
    unit = "key_fact"
    focused = "key_fact"
    words_in_checks = True
    machine_aspect = "completeness"
    machine_unit: ClassVar[Unit] = "key_fact"
    decision = "sentences"

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every key fact against every summary."""
        for summary in source.summaries:
            if not summary.sentences:
                continue
            system = summary.system
            about = {"group": system, "system": system, "list_id": source.list_id}
            for index, fact in enumerate(source.facts):
                body = {"key_fact": fact, "summary": summary_body(summary)}
                yield self.work_task(source, system, index, **about, index=index, body=body)

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """In turn a slight paraphrase of a sentence, which must align to it, and the stranger, aligned to nothing.

        Of the form `unisumeval` the paraphrase of a key fact takes the place of a sentence instead.
        """
        summary = others.summary(source)
        planted = campaign.attention.form == "unisumeval"
        if summary is None or (planted and not source.facts):
            return None
        place = others.rng.randrange(len(summary.sentences))
        paraphrased = number % 2 == 0
        frames = campaign.attention.paraphrases
        frame = frames[number // 2 % len(frames)]
        shown = summary_body(summary)
        if not paraphrased:
            fact = campaign.attention.stranger
        elif planted:
            fact = others.rng.choice(source.facts)
            sentences = list(summary.sentence_texts)
            sentences[place] = paraphrase(fact, frame, campaign.language)
            shown = joined_body(sentences)
        else:
            fact = paraphrase(summary.sentence_texts[place], frame, campaign.language)
        right_verdict = number // 2 % 2 == 0
        origin = "paraphrase" if paraphrased else "foreign"
        return self.check_task(
            source,
            number,
            system=summary.system,
            body={"key_fact": fact, "summary": shown},
            expected={
                "sentence": place if paraphrased else None,
                "machine": [place] if right_verdict == paraphrased else [],
            },
            feedback=others.language.text(f"key_fact_alignment.{origin}"),
        )

    def aspects(self, campaign: Campaign) -> frozenset[str]:
        return frozenset({"completeness", "conciseness"})

    def conditions(self, campaign: Campaign) -> dict[str, tuple[Any, ...]]:
        return {"none": (True, False)}

    def read(self, answer: Any, task: Task) -> Json:
        """Checked, sentences in order."""
        given = parsed(Alignment, answer)
        most = len(task.body["summary"]["sentences"])
        if any(not 0 <= index < most for index in given.sentences):
            raise Misfit("answer.sentences", f"the summary has {most} sentences, counted from 0")
        if len(set(given.sentences)) != len(given.sentences):
            raise Misfit("answer.sentences", "names a sentence twice")
        if given.none == bool(given.sentences):
            raise Misfit("answer.none", "is true if and only if no sentence is chosen")
        return self.check_machine(task, {**given.model_dump(), "sentences": sorted(given.sentences)})

    def passed(self, task: Task, answer: Json) -> bool:
        """Whether the paraphrased sentence is among those chosen, or nothing is for the stranger."""
        place = task.expects["sentence"]
        return place in answer["sentences"] if place is not None else not answer["sentences"]

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One label of completeness, with the sentences as evidence."""
        summary = source.summary(task.system)
        sentences = answer.answer["sentences"]
        yield labelled(
            answer.annotator,
            task.target("key_fact"),
            "completeness",
            SIGNATURES["alignment"],
            yes=bool(sentences),
            evidence=tuple(summary.sentences[index] for index in sentences),
            reason=answer.answer.get("comment") or None,
        )

    def derived(self, judgments: Sequence[Judgment], sources: Mapping[str, Source]) -> Iterator[Judgment]:
        """Conciseness: whether a sentence carries some key fact, where a judge decided on all of the summary."""
        decided_on: dict[tuple[str, str, str], dict[int | None, set[tuple[int, int]]]] = {}
        for judgment in judgments:
            target = judgment.target
            if judgment.status == "ok" and judgment.signature == SIGNATURES["alignment"]:
                own = decided_on.setdefault((target.document_id, target.system, judgment.judge), {})
                own[target.index] = {(span.start, span.end) for span in judgment.evidence if span.of == "summary"}
        for (document, system, judge), own in decided_on.items():
            source = sources[document]
            sentences = [(span.start, span.end) for span in source.summary(system).sentences]
            alignment = [
                None if own.get(index) is None else [sentences.index(place) for place in own[index]]
                for index in range(len(source.facts))
            ]
            for index, label in enumerate(conciseness_labels(alignment, len(sentences))):
                if label is not None:
                    target = Target(document_id=document, system=system, unit="sentence", index=index)
                    yield labelled(judge, target, "conciseness", SIGNATURES["alignment"], yes=bool(label))

    def disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        """Any other choice of sentences."""
        return split_of([self.describe(task, answer.answer) for answer in answers])

    def describe(self, task: Task, answer: Json) -> str:
        sentences = ", ".join(str(index + 1) for index in answer["sentences"])
        return f"in sentence {sentences}" if sentences else "in none"

    def parts(self, task: Task, answer: Json) -> list[tuple[str, str]]:
        return [("sentence", str(index + 1)) for index in answer["sentences"]] or [("sentence", "none")]

    def shown_verdict(self, judgment: Judgment, task: Task) -> Json | None:
        aligned = decided(judgment)
        if aligned is None:
            return None
        return {"sentences": _touched(task, judgment) if aligned else [], "reason": judgment.reason or None}

    def accepts(self, machine: Json) -> bool:
        return bool(machine["sentences"])

    def following(self, task: Task, machine: Json) -> Json:
        return _answer(machine["sentences"])

    def same(self, machine: Json, answer: Json) -> bool:
        return set(machine["sentences"]) == set(answer["sentences"])

    def true_answer(self, task: Task, truth: Truth) -> Json:
        """Gold's sentences, else a drawn one or none."""
        drawn = int(truth.chance(task, "place") * len(task.body["summary"]["sentences"]))
        gold = truth.gold(task, "key_fact", "completeness")
        if gold is None:
            return _answer([drawn] if truth.chance(task) < truth.quality(task.system) else [])
        return _answer((_touched(task, gold) or [drawn]) if gold.label == 1 else [])

    def expected_answer(self, task: Task) -> Json:
        place = task.expects["sentence"]
        return _answer([] if place is None else [place])

    def noisy_answer(self, task: Task, right: Json, profile: Profile, rng: Random) -> Json:
        """The right answer; else none, or any one sentence."""
        aligned = bool(right["sentences"])
        label = profile.label(aligned, rng)
        if label == aligned:
            return right
        return _answer([rng.randrange(len(task.body["summary"]["sentences"]))] if label else [])

    def careless_answer(self, task: Task, letters: Sequence[str]) -> Json:
        return _answer([0])


def paraphrase(sentence: str, frame: str, language: str = "en") -> str:
    """The sentence in a frame: the same matter, not the same string.

    >>> paraphrase("The cat sat.", "We learn that {}")
    'We learn that the cat sat.'
    """
    first, _, rest = sentence.strip().partition(" ")
    small = language == "en" and first in _COMMON
    return frame.replace("{}", f"{first.lower() if small else first} {rest}".rstrip())


def _answer(sentences: Iterable[int]) -> Json:
    chosen = sorted(set(sentences))
    return {"sentences": chosen, "none": not chosen}


def _touched(task: Task, judgment: Judgment) -> list[int]:
    """The sentences of the summary that a judgment's evidence touches."""
    spans = [span for span in judgment.evidence if span.of == "summary"]
    sentences = task.body.get("summary", {}).get("sentences", ())
    return [
        index
        for index, (start, end) in enumerate(sentences)
        if any(span.start < end and start < span.end for span in spans)
    ]
