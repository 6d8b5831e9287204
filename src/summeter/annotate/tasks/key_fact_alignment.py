"""Key-fact alignment: the summary sentences that convey a key fact (FineSurE, UniSumEval).

A sentence is aligned with a key fact if it is about the same matter, even if it contradicts a detail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from summeter.annotate.campaign.state import Answer, TaskAnswer
from summeter.annotate.tasks.base import TaskType, labelled
from summeter.annotate.tasks.questions import Question
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import Json, Material, Source, Task, joined_body, summary_body
from summeter.data.human_judgments import SIGNATURES, conciseness_labels
from summeter.records import Judgment, Target

_COMMON = frozenset(
    {"The", "A", "An", "It", "He", "She", "They", "We", "In", "On", "At", "This", "That", "There", "After"}
)
"""English words that are capitalized only at the beginning of a sentence."""


class KeyFactAlignment(TaskType):
    """The task type `key_fact_alignment`, with one task per key fact and summary.

    The tasks of a summary stay together.
    """

    name, code = "key_fact_alignment", "ka"
    needs = "documents with key facts, and summaries with at least one sentence"
    unit = "key_fact"
    aspects = frozenset({"completeness", "conciseness"})
    shaped_by = frozenset[str]()
    focused = "key_fact"
    words_in_checks = True
    machine_aspect = "completeness"

    def ask(self) -> Iterator[Question]:
        text, hint = (self.language.text(f"key_fact_alignment.{key}") for key in ("sentences", "hint"))
        yield Question(name="sentences", type="sentences", text=text, hint=hint)

    def tasks(self, source: Source) -> Iterator[Task]:
        """Yield one task for each key fact and each summary that has sentences."""
        for summary in source.summaries:
            if not summary.sentences:
                continue
            system = summary.system
            about = {"group": system, "system": system, "list_id": source.list_id}
            for index, fact in enumerate(source.facts):
                body = {"key_fact": fact, "summary": summary_body(summary)}
                yield self.work_task(source, system, index, **about, index=index, body=body)

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """Return a check whose key fact is a paraphrased sentence or a foreign sentence, in turn.

        The paraphrased sentence of the summary must be aligned; a foreign sentence must not. With the form
        `unisumeval`, a paraphrased key fact replaces a sentence of the summary instead.
        """
        summary, attention = material.summary(source), self.campaign.attention
        replaces_sentence = attention.form == "unisumeval"
        if summary is None or (replaces_sentence and not source.facts):
            return None
        position = material.rng.randrange(len(summary.sentences))
        paraphrased = number % 2 == 0
        template = attention.paraphrases[number // 2 % len(attention.paraphrases)]
        shown = summary_body(summary)
        if not paraphrased:
            fact = attention.foreign_sentence
        elif replaces_sentence:
            fact = material.rng.choice(source.facts)
            sentences = list(summary.sentence_texts)
            sentences[position] = paraphrase(fact, template, self.campaign.language)
            shown = joined_body(sentences)
        else:
            fact = paraphrase(summary.sentence_texts[position], template, self.campaign.language)
        verdict_is_right = number // 2 % 2 == 0
        chosen = [position] if verdict_is_right == paraphrased else []
        return self.check_task(
            source,
            number,
            system=summary.system,
            body={"key_fact": fact, "summary": shown},
            expected={"sentence": position if paraphrased else None},
            planned={"accepts": bool(chosen), "values": {"sentences": chosen}},
            feedback=self.language.text(f"key_fact_alignment.{'paraphrase' if paraphrased else 'foreign'}"),
        )

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Return whether the expected sentence is chosen (none, if the key fact is foreign)."""
        expected, chosen = task.expected["sentence"], answer.values["sentences"]
        return expected in chosen if expected is not None else not chosen

    def judgments_of_task(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """Yield a completeness label with the chosen sentences as evidence."""
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
        """Yield the conciseness labels of summary sentences.

        They follow from the answers of annotators who aligned all key facts with a summary.
        """
        alignments: dict[tuple[str, str, str], dict[int | None, set[tuple[int, int]]]] = {}
        for judgment in judgments:
            target = judgment.target
            if judgment.status == "ok" and judgment.signature == SIGNATURES["alignment"]:
                spans_by_fact = alignments.setdefault((target.document_id, target.system, judgment.judge), {})
                spans = {(span.start, span.end) for span in judgment.evidence if span.of == "summary"}
                spans_by_fact[target.index] = spans
        for (document, system, judge), spans_by_fact in alignments.items():
            source = sources[document]
            sentences = [(span.start, span.end) for span in source.summary(system).sentences]
            alignment = [
                None if spans_by_fact.get(index) is None else [sentences.index(span) for span in spans_by_fact[index]]
                for index in range(len(source.facts))
            ]
            for index, label in enumerate(conciseness_labels(alignment, len(sentences))):
                if label is not None:
                    target = Target(document_id=document, system=system, unit="sentence", index=index)
                    yield labelled(judge, target, "conciseness", SIGNATURES["alignment"], yes=bool(label))

    def verdict_values(self, judgment: Judgment, task: Task, *, accepts: bool) -> Json:
        """Return the summary sentences that overlap the evidence."""
        spans = [span for span in judgment.evidence if span.of == "summary" and accepts]
        sentences = task.body["summary"]["sentences"]
        indexes = [
            index
            for index, (start, end) in enumerate(sentences)
            if any(span.start < end and start < span.end for span in spans)
        ]
        return {"sentences": indexes}

    def same(self, machine: Json, answer: TaskAnswer) -> bool:
        return bool(machine["values"]["sentences"] == answer.values["sentences"])

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        """Return the sentence that a check expects, or the gold sentences of a task.

        Without a gold judgment, return a random sentence or an empty list.
        """
        random_sentence = [int(gold.chance(task, "place") * len(task.body["summary"]["sentences"]))]
        if task.expected:
            expected = task.expected["sentence"]
            chosen = [] if expected is None else [expected]
        elif (known := gold.of(task.target("key_fact"), "completeness")) is None:
            chosen = random_sentence if gold.chance(task) < gold.quality(task.system) else []
        else:
            accepts = known.label == 1
            sentences = self.verdict_values(known, task, accepts=accepts)["sentences"]
            chosen = sentences or (random_sentence if accepts else [])
        return TaskAnswer(values={"sentences": chosen})


def paraphrase(sentence: str, template: str, language: str = "en") -> str:
    """Return a template with a sentence in place of `{}`, beginning in lower case if possible.

    >>> paraphrase("The cat sat.", "We learn that {}")
    'We learn that the cat sat.'
    """
    first, _, rest = sentence.strip().partition(" ")
    lower = language == "en" and first in _COMMON
    return template.replace("{}", f"{first.lower() if lower else first} {rest}".rstrip())
