"""Key-fact alignment: which sentences of the summary speak of a key fact? (FineSurE, UniSumEval.)

Aligned means: of the same matter, even where a detail contradicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from summeter.annotate.tasks.base import (
    Given,
    Kind,
    Misfit,
    Others,
    Source,
    Task,
    key_of,
    machine_fits,
    parsed,
    text_of,
)
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, Target

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign
    from summeter.annotate.state import Answer


_COMMON = frozenset(
    {"The", "A", "An", "It", "He", "She", "They", "We", "In", "On", "At", "This", "That", "There", "After"}
)
"""English words that are capitals for no other reason than that they begin a sentence."""


class Alignment(Given):
    """An answer."""

    sentences: list[int]
    none: bool


class KeyFactAlignment(Kind):
    """One task a key fact and summary; the key facts of a summary stay together."""

    name = "key_fact_alignment"
    needs = "documents with key facts, and summaries with at least one sentence"

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every key fact against every summary."""
        del campaign
        document = source.document.id
        for summary in source.summaries:
            if not summary.sentences:
                continue
            shown = text_of(summary)
            for index, fact in enumerate(source.facts):
                yield Task(
                    key=key_of("ka", document, summary.system, index), kind=self.name, document_id=document,
                    system=summary.system, index=index, list_id=source.list_id,
                    group=key_of(document, summary.system), body={"key_fact": fact, "summary": shown},
                )  # fmt: skip

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """In turn a slight paraphrase of a sentence, which must align to it, and a fixed stranger, which must not."""
        summaries = [one for one in source.summaries if one.sentences]
        if not summaries:
            return None
        summary = others.rng.choice(summaries)
        place = others.rng.randrange(len(summary.sentences))
        paraphrased = number % 2 == 0
        frames, stranger = campaign.attention.paraphrases, campaign.attention.stranger
        frame = frames[number // 2 % len(frames)]
        fact = paraphrase(summary.sentence_texts[place], frame, campaign.language) if paraphrased else stranger
        said = "One of the sentences says almost the same." if paraphrased else "No sentence speaks of this."
        return Task(
            key=key_of("ka-check", number), kind=self.name, role="check", document_id=source.document.id,
            system=summary.system, body={"key_fact": fact, "summary": text_of(summary)},
            expected={"sentence": place if paraphrased else None,
                      "machine": [place] if (number // 2 % 2 == 0) == paraphrased else []},
            feedback=said,
        )  # fmt: skip

    def focus(self, task: Task) -> str | None:
        """The key fact."""
        return str(task.body["key_fact"])

    def agrees(self, task: Task, answer: dict[str, Any]) -> bool | None:
        """Whether the same sentences were chosen as by the machine."""
        machine = (task.assistance or {}).get("machine")
        return None if machine is None else set(machine["sentences"]) == set(answer["sentences"])

    def read(self, answer: Any, task: Task) -> dict[str, Any]:
        """Checked, sentences in order."""
        given = parsed(Alignment, answer)
        most = len(task.body["summary"]["sentences"])
        if any(not 0 <= one < most for one in given.sentences):
            raise Misfit("answer.sentences", f"the summary has {most} sentences, counted from 0")
        if len(set(given.sentences)) != len(given.sentences):
            raise Misfit("answer.sentences", "names a sentence twice")
        if given.none == bool(given.sentences):
            raise Misfit("answer.none", "is true if and only if no sentence is chosen")
        read = {**given.model_dump(), "sentences": sorted(given.sentences)}
        machine_fits(self, task, read)
        return read

    def passed(self, task: Task, answer: dict[str, Any]) -> bool:
        """Whether the paraphrased sentence is among those chosen, or nothing is for the stranger."""
        if task.expected is None:
            return False
        place = task.expected["sentence"]
        return place in answer["sentences"] if place is not None else not answer["sentences"]

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One label of completeness, with the sentences as evidence."""
        summary = next(one for one in source.summaries if one.system == task.system)
        label = int(bool(answer.answer["sentences"]))
        yield Judgment(
            target=Target(document_id=task.document_id, system=task.system or "", unit="key_fact", index=task.index,
                          list_id=task.list_id),
            aspect="completeness", judge=answer.annotator, signature=SIGNATURES["alignment"], value=float(label),
            label=label, evidence=tuple(summary.sentences[one] for one in answer.answer["sentences"]),
            reason=answer.answer.get("comment") or None,
        )  # fmt: skip


def paraphrase(sentence: str, frame: str, language: str = "en") -> str:
    """The sentence in a frame: the same matter, not the same string.

    >>> paraphrase("The cat sat.", "We learn that {}")
    'We learn that the cat sat.'
    """
    first, _, rest = sentence.strip().partition(" ")
    small = language == "en" and first in _COMMON
    return frame.replace("{}", f"{first.lower() if small else first} {rest}".rstrip())
