"""Key-fact alignment: which sentences of the summary speak of a key fact? (FineSurE, UniSumEval.)

Aligned means: of the same matter, even where a detail contradicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from summeter.annotate.campaign.answer import TaskAnswer
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import TaskType, labelled
from summeter.annotate.tasks.questions import Question
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import Json, Material, Source, Task, joined_body, summary_body
from summeter.data.human_judgments import SIGNATURES, conciseness_labels
from summeter.records import Judgment, Target

_COMMON = frozenset(
    {"The", "A", "An", "It", "He", "She", "They", "We", "In", "On", "At", "This", "That", "There", "After"}
)
"""English words that are capitals for no other reason than that they begin a sentence."""


class KeyFactAlignment(TaskType):
    """One task a key fact and summary; the key facts of a summary stay together."""

    name, code = "key_fact_alignment", "ka"
    needs = "documents with key facts, and summaries with at least one sentence"
    unit = machine_unit = "key_fact"
    aspects = frozenset({"completeness", "conciseness"})
    shaped_by = frozenset[str]()
    focused = "key_fact"
    words_in_checks = True
    machine_aspect = "completeness"

    def ask(self) -> Iterator[Question]:
        say = self.language.text
        hint = say("key_fact_alignment.hint")
        yield Question(name="sentences", type="sentences", text=say("key_fact_alignment.sentences"), hint=hint)

    def tasks(self, source: Source) -> Iterator[Task]:
        """Every key fact against every summary."""
        for summary in source.summaries:
            if not summary.sentences:
                continue
            system = summary.system
            about = {"group": system, "system": system, "list_id": source.list_id}
            for index, fact in enumerate(source.facts):
                body = {"key_fact": fact, "summary": summary_body(summary)}
                yield self.work_task(source, system, index, **about, index=index, body=body)

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """In turn a slight paraphrase of a sentence, which must align to it, and a foreign sentence, aligned to none.

        Of the form `unisumeval` the paraphrase of a key fact takes the place of a sentence instead.
        """
        summary, attention = material.summary(source), self.campaign.attention
        planted = attention.form == "unisumeval"
        if summary is None or (planted and not source.facts):
            return None
        place = material.rng.randrange(len(summary.sentences))
        paraphrased = number % 2 == 0
        frame = attention.paraphrases[number // 2 % len(attention.paraphrases)]
        shown = summary_body(summary)
        if not paraphrased:
            fact = attention.foreign_sentence
        elif planted:
            fact = material.rng.choice(source.facts)
            sentences = list(summary.sentence_texts)
            sentences[place] = paraphrase(fact, frame, self.campaign.language)
            shown = joined_body(sentences)
        else:
            fact = paraphrase(summary.sentence_texts[place], frame, self.campaign.language)
        right_verdict = number // 2 % 2 == 0
        chosen = [place] if right_verdict == paraphrased else []
        return self.check_task(
            source,
            number,
            system=summary.system,
            body={"key_fact": fact, "summary": shown},
            expected={
                "sentence": place if paraphrased else None,
                "machine": {"accepts": bool(chosen), "values": {"sentences": chosen}},
            },
            feedback=self.language.text(f"key_fact_alignment.{'paraphrase' if paraphrased else 'foreign'}"),
        )

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Whether the paraphrased sentence is among those chosen, or nothing is for a foreign one."""
        place, chosen = task.expects["sentence"], answer.values["sentences"]
        return place in chosen if place is not None else not chosen

    def judgments_of_task(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One label of completeness, with the sentences as evidence."""
        spans, chosen = source.summary(task.system).sentences, answer.answer.values["sentences"]
        yield labelled(
            answer.annotator,
            task.target("key_fact"),
            "completeness",
            SIGNATURES["alignment"],
            yes=bool(chosen),
            evidence=tuple(spans[index] for index in chosen),
            reason=answer.answer.comment,
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

    def decides(self, answer: TaskAnswer) -> bool:
        return bool(answer.values["sentences"])

    def deciding(self, task: Task, *, accepts: bool, rng: Random | None = None) -> Json:
        place = 0 if rng is None else rng.randrange(len(task.body["summary"]["sentences"]))
        return {"sentences": [place] if accepts else []}

    def verdict_values(self, judgment: Judgment, task: Task, *, accepts: bool) -> Json:
        """The sentences of the summary that the evidence touches."""
        spans = [span for span in judgment.evidence if span.of == "summary" and accepts]
        sentences = task.body["summary"]["sentences"]
        touched = [
            index
            for index, (start, end) in enumerate(sentences)
            if any(span.start < end and start < span.end for span in spans)
        ]
        return {"sentences": touched}

    def same(self, machine: Json, answer: TaskAnswer) -> bool:
        return bool(machine["values"]["sentences"] == answer.values["sentences"])

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        """The expected sentence; gold's sentences; else a drawn one or none."""
        drawn = [int(gold.chance(task, "place") * len(task.body["summary"]["sentences"]))]
        if task.expected is not None:
            place = task.expects["sentence"]
            chosen = [] if place is None else [place]
        elif (known := gold.of(task.target("key_fact"), "completeness")) is None:
            chosen = drawn if gold.chance(task) < gold.quality(task.system) else []
        else:
            accepts = known.label == 1
            chosen = self.verdict_values(known, task, accepts=accepts)["sentences"] or (drawn if accepts else [])
        return TaskAnswer(values={"sentences": chosen})


def paraphrase(sentence: str, frame: str, language: str = "en") -> str:
    """The sentence in a frame: the same matter, not the same string.

    >>> paraphrase("The cat sat.", "We learn that {}")
    'We learn that the cat sat.'
    """
    first, _, rest = sentence.strip().partition(" ")
    small = language == "en" and first in _COMMON
    return frame.replace("{}", f"{first.lower() if small else first} {rest}".rstrip())
