"""The aspects on which summaries are judged, and the definitions that rating judges show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import yaml
from pydantic import Field, RootModel, ValidationError

from summeter.data.shipped import shipped_text
from summeter.records import HASH, Fault, InputError, Record, digest, problem_of

ASPECTS: dict[str, str] = {
    "faithfulness": "share of summary sentences that the document supports (FineSurE)",
    "completeness": "share of key facts that the summary conveys (FineSurE)",
    "conciseness": "share of summary sentences that convey a key fact (FineSurE)",
    "composite": "mean of faithfulness, completeness and conciseness (UniSumEval)",
    "abstractiveness": "mean share of 1-, 3- and 5-grams of the summary that are not in the document (UniSumEval)",
    "words": "number of words of the summary",
    "sentences": "number of sentences of the summary",
    "sentence_words": "words per sentence of the summary",
    "compression": "words of the summary divided by words of the document",
    "rouge1": "words shared with the reference (Lin, 2004)",
    "rouge2": "word pairs shared with the reference (Lin, 2004)",
    "rougeL": "longest common subsequence with the reference (Lin, 2004)",
    "rougeLsum": "longest common subsequences, line by line (Lin, 2004)",
    "bertscore_precision": "mean similarity of the summary's tokens to their best match in the reference (BERTScore)",
    "bertscore_recall": "mean similarity of the reference's tokens to their best match in the summary (BERTScore)",
    "bertscore_f1": "harmonic mean of precision and recall (BERTScore)",
    "bartscore_faithfulness": "mean log-probability of the summary's tokens, given the document (BARTScore)",
    "bartscore_precision": "mean log-probability of the summary's tokens, given the reference (BARTScore)",
    "bartscore_recall": "mean log-probability of the reference's tokens, given the summary (BARTScore)",
    "bartscore_f1": "mean of precision and recall (BARTScore)",
    "bartscore_harmonic": "product of precision and recall divided by their sum (BARTScore)",
    "bartscore_fluency": "mean log-probability of the summary's tokens, without a source (BARTScore)",
    "entailment": "entailment between summary and reference, by an NLI network (MENLI)",
    "arcs_entailed": "share of the summary's dependency arcs that the document entails (DAE)",
    "answered": "share of questions from the summary that the document answers (QAFactEval)",
    "answer_exact": "share of questions to which summary and document give the same answer (QAFactEval)",
    "answer_f1": "word overlap (F1) of the summary's and the document's answers (QAFactEval)",
    "a2cu_recall": "share of the reference's content units that the summary contains (A2CU)",
    "a2cu_precision": "share of the summary's content units that the reference contains (A2CU)",
    "a2cu_f1": "harmonic mean of precision and recall (A2CU)",
    "a3cu_recall": "estimated share of the reference's content units that the summary contains (A3CU)",
    "a3cu_precision": "estimated share of the summary's content units that the reference contains (A3CU)",
    "a3cu_f1": "harmonic mean of precision and recall (A3CU)",
    "questeval": "how well the summary and the document or reference answer each other's questions (QuestEval)",
    "questeval_precision": "how well the document or reference answers the summary's questions (QuestEval)",
    "questeval_recall": "how well the summary answers the questions of the document or reference (QuestEval)",
    "similarity": "cosine similarity of the embeddings of the summary and the document or reference",
    "coherence": "quality of the summary as one connected text (SummEval; rated 1 to 5)",
    "consistency": "agreement of the summary's statements with the document (SummEval; rated 1 to 5)",
    "fluency": "quality of the individual sentences (SummEval; rated 1 to 5)",
    "relevance": "selection of the important content (SummEval; rated 1 to 5)",
    "coverage": "how much of the important content the summary covers (rated 1 to 5)",
    "overall": "overall quality of the summary (rated 1 to 5)",
    "checklist": "weighted mean of the questions of a checklist that apply to the summary",
}
"""Aspect -> the quantity that it measures. A higher value means more of this quantity.

Values are in [0, 1], except counts and log-probabilities; ratings are on the scale in the judge's signature
(`scale:1-5`).
"""


class AspectDef(Record):
    """The definition of an aspect in the prompts of rating judges.

    The texts are phrases without a full stop. `definition` completes "the aspect is ...". `lowest` and `highest`
    describe summaries at the ends of the scale, and `between` those at the second, third and fourth point; by default,
    the prompt states only the distance of these points to the ends. `brief` is the definition in the shorter prompts.
    `steps` are sentences that tell `geval` how to arrive at a score; by default, the model of `geval` writes them.
    `title` is the name in prompts of other languages (`shown`), by default `name`.
    """

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")
    definition: str = Field(min_length=1)
    lowest: str = Field(min_length=1)
    highest: str = Field(min_length=1)
    between: tuple[str, str, str] | None = None
    brief: str | None = None
    steps: tuple[str, ...] | None = Field(default=None, min_length=1)
    title: str | None = Field(default=None, min_length=1)

    @property
    def shown(self) -> str:
        """The title, or `name` if `title` is not set."""
        return self.title or self.name

    @property
    def short(self) -> str:
        """The brief definition, or `definition` if `brief` is not set."""
        return self.brief or self.definition

    @property
    def levels(self) -> tuple[str, ...]:
        """Five descriptions of the points of the scale, from worst to best."""
        between = self.between or (
            "closer to the first description than to the last",
            "about halfway between the first description and the last",
            "closer to the last description than to the first",
        )
        return (self.lowest, *between, self.highest)

    @property
    def hash(self) -> str:
        """The first sixteen hexadecimal digits of the hash of all texts."""
        without = {name for name in ("steps", "title") if getattr(self, name) is None}
        return digest(self.model_dump(mode="json", exclude=without), HASH)


_AspectFile = RootModel[tuple[AspectDef, ...]]


@cache
def rated(language: str | None = None) -> Mapping[str, AspectDef]:
    """Return the predefined aspects of rating judges, by default in English.

    >>> rated("de")["coherence"].shown
    'Kohärenz'
    """
    text = shipped_text(__package__ or "", "aspects.yaml" if language is None else f"aspects.{language}.yaml")
    return {aspect.name: aspect for aspect in _AspectFile.model_validate(yaml.safe_load(text)).root}


RATED = rated()
"""The predefined aspects of rating judges (`aspects.yaml`). `read_aspects` reads user-defined aspects from a file."""


def unknown_aspect(name: str, known: Iterable[str]) -> ValueError:
    """Return the error for an aspect that is neither known nor defined in a file."""
    return ValueError(
        f"the aspect {name!r} is unknown (known: {', '.join(known)}); define it in a YAML file and set aspect_file to "
        "that file"
    )


def read_aspects(file: Path) -> dict[str, AspectDef]:
    """Read aspect definitions from a YAML file: one mapping (see `AspectDef`) or a list of them.

    Raises InputError with the file, the line (if YAML reports it) and the field of each error. An example:

        name: tone
        definition: how far the summary keeps the tone of the document
        lowest: its tone is the opposite
        highest: its tone is the same
    """
    from summeter.data.mapping import read_yaml

    value = read_yaml(file)
    several = isinstance(value, list)
    try:
        aspects = _AspectFile.model_validate(value if several else [value]).root
    except ValidationError as error:
        noun = "aspect" if several else None
        raise InputError(faults_of_list(file, error, noun, "must be a mapping of fields to strings")) from error
    by_name: dict[str, AspectDef] = {}
    for place, aspect in enumerate(aspects, 1):
        if aspect.name in by_name:
            raise InputError.at(file, f"{aspect.name!r} is defined twice", field=f"aspect {place}: name")
        by_name[aspect.name] = aspect
    if not by_name:
        raise InputError.at(file, "defines no aspect")
    return by_name


def faults_of_list(file: Path, error: ValidationError, noun: str | None, shape: str) -> list[Fault]:
    """Return the faults of a list of records in a YAML file.

    A field is named like `aspect 2: name`, or only by its name if `noun` is None because the file has a single record.
    `shape` says what a record must be.
    """
    faults = []
    for detail in error.errors():
        number, *path = detail["loc"]
        where = [] if noun is None else [f"{noun} {int(number) + 1}"]
        field = ": ".join([*where, *([".".join(map(str, path))] if path else [])]) or None
        faults.append(Fault(str(file), None, field, problem_of(detail) if path else shape))
    return faults
