"""The step `facts`: one model proposes key facts for every document, and others vote.

In UniSumEval (Lee et al., 2024, section 3.2), GPT-4-turbo proposes up to 20 key facts per document, and three other
models say whether each key fact is useful for a summary, and why. Key facts that the majority rejects are dropped. Both
parts are done by the evaluator `finesure.key_facts`. The votes on each key fact are stored in `Dataset.fact_origins`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from summeter.benchmark.step import (
    Inputs,
    LeftOut,
    ModelSettings,
    Result,
    Step,
    StepContext,
    hash_of,
    run_folder,
    scripted_work,
)
from summeter.data.atomic import write_lines
from summeter.data.dataset import Dataset
from summeter.engine.progress import Progress
from summeter.evaluators.finesure.key_facts import AT_MOST, MOST, KeyFactExtraction, validator_roles
from summeter.models.prompts import PromptFolder
from summeter.records import CoverageError, FactOrigin, FactVote, Origin, Record, Summary, UsageError
from summeter.runs.run import prepared_rows

JUDGE = "judge"
PROPOSED = "keyfacts.proposed.jsonl"
"""File with all proposed key facts, one per line, with the votes and whether the key fact was kept."""
REJECTED, UNVOTED = "rejected by most validators", "no validator gave a usable reply"


class FactsSettings(ModelSettings):
    """Propose key facts for each document and vote on them (see the evaluator `finesure.key_facts`)."""

    models: dict[str, str] = Field(
        min_length=1, description="By role: `judge` proposes; `validator`, `validator2`, ... vote."
    )
    source: Literal["auto", "given", "reference", "document"] = Field(
        "auto",
        description="Where key facts come from; auto: given key facts, else the reference, else the document.",
    )
    at_most: int | None = Field(
        None, ge=1, le=MOST, description="Maximum number of key facts; default: 16 per reference, 20 per document."
    )

    @model_validator(mode="after")
    def _check_roles(self) -> FactsSettings:
        roles = (JUDGE, *validator_roles(len(self.models) - 1))
        if set(self.models) != set(roles):
            raise ValueError(
                f"models has the roles {', '.join(self.models)}; with {len(self.models)} models, use {', '.join(roles)}"
            )
        return self

    @property
    def evaluator(self) -> KeyFactExtraction:
        """The evaluator that proposes key facts and asks for votes."""
        prompts = {} if self.prompts is None else {"prompts": PromptFolder.model_validate(self.prompts)}
        return KeyFactExtraction(source=self.source, at_most=self.at_most, validators=len(self.models) - 1, **prompts)


class ProposedFact(Record):
    """A proposed key fact.

    `origin` contains the source of the key fact and the votes on it. `reason` says why the key fact was dropped, or is
    None if it was kept.
    """

    document_id: str
    index: int
    reason: str | None
    origin: FactOrigin


class FactsOutcome(NamedTuple):
    """The result of `draw_facts`.

    `data` contains the key facts that were kept, and `proposed` all proposed key facts. `without_facts` maps the id of
    each document without key facts to the reason.
    """

    data: Dataset
    proposed: tuple[ProposedFact, ...]
    without_facts: Mapping[str, str]


def draw_facts(
    data: Dataset, settings: FactsSettings, run: str | Path, *, progress: Progress | None = None
) -> FactsOutcome:
    """Propose and validate key facts for every document of the data.

    The calls and replies of models are stored in the folder `run`, so a repeated call asks only for what is missing.
    With the source `auto`, a document that has key facts keeps them without a vote; with another source, they are
    replaced. Raises UsageError if the data contain no documents, and the errors of a run.
    """
    from summeter.engine.api import evaluate  # slow to import, and not needed for the options of a command

    if not data.documents:
        raise UsageError("there are no documents to draw key facts from")
    folder = evaluate(
        _with_stub_summaries(data),
        [settings.evaluator],
        models=settings.models,
        out=run,
        progress=progress,
        **settings.run_options,
    )
    rows: dict[str, tuple[dict[str, Any] | None, str | None]] = {}  # prepared data, or the reason for a failure
    (judge,) = folder.manifest.judges
    for failure in folder.failures():
        rows[failure.document_id] = None, failure.reason
    for _, row in prepared_rows(folder.folder / "prepared" / f"{judge.file}.jsonl"):
        rows[row["document_id"]] = row["data"] or None, row["reason"]
    proposed: dict[str, list[ProposedFact]] = {}
    without_facts: dict[str, str] = {}
    for doc_id in data.documents:
        prepared, reason = rows.get(doc_id, (None, "the document is empty"))
        proposed[doc_id] = [] if prepared is None else _proposed_facts(doc_id, prepared, settings)
        if not any(fact.reason is None for fact in proposed[doc_id]):
            without_facts[doc_id] = reason or "there are no key facts"
    origins = {
        doc_id: tuple(fact.origin for fact in facts if fact.reason is None) for doc_id, facts in proposed.items()
    }
    texts = {doc_id: [origin.proposed for origin in kept] for doc_id, kept in origins.items()}
    return FactsOutcome(
        data.with_key_facts(texts, origins),
        tuple(fact for facts in proposed.values() for fact in facts),
        without_facts,
    )


def _with_stub_summaries(data: Dataset) -> Dataset:
    """Return the documents with one stub summary each.

    A run iterates over summaries, which may not exist yet.
    """
    summaries = [
        Summary(document_id=doc_id, system="document", text="(the document)", splitter="none")
        for doc_id in data.documents
    ]
    return Dataset(data.documents, summaries, {}, data.card)


def _proposed_facts(doc_id: str, data: Mapping[str, Any], settings: FactsSettings) -> list[ProposedFact]:
    """Return the proposed key facts of a document, given the data from `KeyFactExtraction`."""
    origin: Origin = data["origin"]
    model = None if origin == "given" else settings.models[JUDGE]
    facts: Sequence[str] = data.get("proposed", data.get("key_facts", ()))
    usable = [ballot for ballot in data.get("validation", ()) if ballot["votes"] is not None]
    voted = bool(usable) or "key_facts" in data
    proposed = []
    for index, fact in enumerate(facts):
        votes = tuple(
            FactVote(judge=ballot["role"], model=ballot["model"], **ballot["votes"][index]) for ballot in usable
        )
        reason = UNVOTED if not voted else REJECTED if index in data.get("rejected", ()) else None
        fact_origin = FactOrigin(proposed=fact, origin=origin, model=model, votes=votes)
        proposed.append(ProposedFact(document_id=doc_id, index=index, reason=reason, origin=fact_origin))
    return proposed


# ---- the step ----


def _facts(inputs: Inputs, settings: FactsSettings, context: StepContext) -> Result:
    data = inputs.dataset
    work = scripted_work(context.work, settings)
    stubs = _with_stub_summaries(data)
    run = run_folder(work, "run", stubs, settings.model_dump(mode="json"), [hash_of(file) for file in settings.files()])
    outcome = draw_facts(data, settings, run, progress=context.progress)
    if len(outcome.without_facts) == len(data.documents):
        doc_id, reason = next(iter(outcome.without_facts.items()))
        raise CoverageError(f"no document has key facts ({doc_id}: {reason}). Calls and replies are in {run}")
    rows: list[dict[str, Any]] = []
    dropped: list[LeftOut] = []
    votes: dict[str, dict[str, int]] = {}
    for fact in outcome.proposed:
        about = {"document_id": fact.document_id, "index": fact.index, "kept": fact.reason is None}
        rows.append(about | fact.origin.model_dump(exclude={"review"}))
        if fact.reason is not None:
            against = [f"{vote.judge}: {vote.reason}" for vote in fact.origin.votes if not vote.useful and vote.reason]
            detail = "; ".join([f"“{fact.origin.proposed}”", *against])
            dropped.append(LeftOut("key fact", f"{fact.document_id}/{fact.index}", fact.reason, detail))
        for vote in fact.origin.votes:
            counts = votes.setdefault(vote.judge, {"votes": 0, "useful": 0})
            counts["votes"] += 1
            counts["useful"] += vote.useful
    write_lines(context.out / PROPOSED, (json.dumps(row, ensure_ascii=False) for row in rows))
    return Result(
        outcome.data,
        [*dropped, *(LeftOut("key facts", name, "there are none", why) for name, why in outcome.without_facts.items())],
        counts={
            "key_facts_proposed": len(rows),
            "key_facts_dropped": len(dropped),
            "documents_without_key_facts": len(outcome.without_facts),
        },
        models=settings.models,
        details={
            "at_most": AT_MOST if settings.at_most is None else settings.at_most,
            "by_origin": dict(Counter(fact.origin.origin for fact in outcome.proposed)),
            "votes": votes,
        },
    )


STEP = Step("facts", FactsSettings, _facts)
