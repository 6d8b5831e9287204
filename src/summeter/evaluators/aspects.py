"""The aspects summaries are judged on, by the field's names; and what a rating judge is told of each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, RootModel, ValidationError

from summeter.data.shipped import shipped_text
from summeter.records import HASH, Fault, InputError, Record, digest, problem_of

ASPECTS: dict[str, str] = {
    "faithfulness": "share of summary sentences that the document supports (FineSurE)",
    "completeness": "share of key facts that the summary holds (FineSurE)",
    "conciseness": "share of summary sentences that carry some key fact (FineSurE)",
    "composite": "mean of faithfulness, completeness and conciseness (UniSumEval)",
    "abstractiveness": "mean share of 1-, 3- and 5-grams of the summary that are not in the document (UniSumEval)",
    "words": "words of the summary",
    "sentences": "sentences of the summary",
    "sentence_words": "words of the summary a sentence",
    "compression": "words of the summary as a share of the document's",
    "rouge1": "words shared with the reference (Lin, 2004)",
    "rouge2": "word pairs shared with the reference (Lin, 2004)",
    "rougeL": "longest common subsequence with the reference (Lin, 2004)",
    "rougeLsum": "longest common subsequences, line by line (Lin, 2004)",
    "bertscore_precision": "how well the summary's tokens match some token of the reference (BERTScore)",
    "bertscore_recall": "how well the reference's tokens match some token of the summary (BERTScore)",
    "bertscore_f1": "harmonic mean of the two (BERTScore)",
    "bartscore_faithfulness": "mean log-probability of the summary's tokens, given the document (BARTScore)",
    "bartscore_precision": "mean log-probability of the summary's tokens, given the reference (BARTScore)",
    "bartscore_recall": "mean log-probability of the reference's tokens, given the summary (BARTScore)",
    "bartscore_f1": "mean of the two (BARTScore)",
    "bartscore_harmonic": "product of the two by their sum (BARTScore)",
    "bartscore_fluency": "mean log-probability of the summary's tokens, given nothing (BARTScore)",
    "entailment": "how far the summary and the reference entail each other, by an NLI network (MENLI)",
    "arcs_entailed": "share of the summary's dependency arcs that the document entails (DAE)",
    "answered": "share of questions from the summary that the document answers (QAFactEval)",
    "answer_exact": "share of questions to which summary and document give the same answer (QAFactEval)",
    "answer_f1": "how many words the summary's and the document's answers share (QAFactEval)",
    "a2cu_recall": "share of the reference's content units that the summary holds (A2CU)",
    "a2cu_precision": "share of the summary's content units that the reference holds (A2CU)",
    "a2cu_f1": "harmonic mean of the two (A2CU)",
    "a3cu_recall": "share of the reference's content units that the summary holds, estimated (A3CU)",
    "a3cu_precision": "share of the summary's content units that the reference holds, estimated (A3CU)",
    "a3cu_f1": "harmonic mean of the two (A3CU)",
    "questeval": "how well summary and reference or document answer each other's questions (QuestEval)",
    "questeval_precision": "how well the other text answers the summary's questions (QuestEval)",
    "questeval_recall": "how well the summary answers the other text's questions (QuestEval)",
    "similarity": "cosine of embeddings of the summary and of the document or reference",
    "coherence": "how well the sentences hold together as one text (SummEval; rated 1 to 5)",
    "consistency": "agreement of what is said with the document (SummEval; rated 1 to 5)",
    "fluency": "quality of the single sentences (SummEval; rated 1 to 5)",
    "relevance": "choice of the important content (SummEval; rated 1 to 5)",
    "coverage": "how much of the important content is there (rated 1 to 5)",
    "overall": "the summary all in all (rated 1 to 5)",
}
"""Aspect -> what it measures. Higher is more of it. In [0, 1], but for counts; where a judge rates it, on the scale
that its signature names (`scale:1-5`)."""


class AspectDef(Record):
    """What a rating judge is told of an aspect.

    The texts are parts of sentences, without a full stop: `definition` completes "the aspect is ...";
    `lowest` and `highest` say what a summary at the ends of the scale is like, `between` what one at the
    second, third and fourth step is like (a scale without them says how far it is to the ends). `brief` is
    the definition for the shorter prompts. `steps`, which are whole sentences, say how `geval` arrives at a score;
    without them its model writes them.
    """

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")
    definition: str = Field(min_length=1)
    lowest: str = Field(min_length=1)
    highest: str = Field(min_length=1)
    between: tuple[str, str, str] | None = None
    brief: str | None = None
    steps: tuple[str, ...] | None = Field(default=None, min_length=1)

    @property
    def short(self) -> str:
        """The brief definition, or the only one."""
        return self.brief or self.definition

    @property
    def levels(self) -> tuple[str, ...]:
        """Five descriptions, worst first."""
        between = self.between or (
            "closer to the first description than to the last",
            "about halfway between the first description and the last",
            "closer to the last description than to the first",
        )
        return (self.lowest, *between, self.highest)

    @property
    def hash(self) -> str:
        """Sixteen hex digits that change with any wording."""
        without = {"steps"} if self.steps is None else set()
        return digest(self.model_dump(mode="json", exclude=without), HASH)


class _AspectFile(RootModel[tuple[AspectDef, ...]]):
    """What a file of aspects holds: a list of them."""


def _rated() -> dict[str, AspectDef]:
    import yaml

    shipped = _AspectFile.model_validate(yaml.safe_load(shipped_text(__package__ or "", "aspects.yaml")))
    return {aspect.name: aspect for aspect in shipped.root}


RATED: dict[str, AspectDef] = _rated()
"""The aspects that rating judges know (`aspects.yaml`). A user's own come from a file: `read_aspects`."""


def unknown_aspect(name: str, known: Iterable[str]) -> ValueError:
    """What is raised for an aspect that no judge knows and no file defines."""
    return ValueError(
        f"the aspect {name!r} is not known (known: {', '.join(known)}); define it in a YAML file and give that as "
        "aspect_file"
    )


def read_aspects(file: Path) -> dict[str, AspectDef]:
    """Aspects defined in a YAML file: one mapping, or a list of them, with the fields of `AspectDef`.

    Raises InputError that names each fault by file, line (where YAML knows it) and field.

        name: tone
        definition: how far the summary keeps the tone of the document
        lowest: its tone is the opposite
        highest: its tone is the same
    """
    from summeter.data.mapping import read_yaml

    try:
        value = read_yaml(file)
    except OSError as error:
        raise InputError.at(file, None, None, f"there is no such file of aspects: {error.strerror}") from error
    several = isinstance(value, list)
    try:
        aspects = _AspectFile.model_validate(value if several else [value]).root
    except ValidationError as error:
        faults = []
        for detail in error.errors():
            row, *path = detail["loc"]
            where = [f"aspect {int(row) + 1}"] if several else []
            field = ": ".join([*where, *([".".join(map(str, path))] if path else [])]) or None
            faults.append(
                Fault(str(file), None, field, problem_of(detail) if path else "must be a mapping of fields to texts")
            )
        raise InputError(faults) from error
    by_name: dict[str, AspectDef] = {}
    for place, aspect in enumerate(aspects, 1):
        if aspect.name in by_name:
            raise InputError.at(file, None, f"aspect {place}: name", f"{aspect.name!r} is defined twice")
        by_name[aspect.name] = aspect
    if not by_name:
        raise InputError.at(file, None, None, "defines no aspect")
    return by_name
