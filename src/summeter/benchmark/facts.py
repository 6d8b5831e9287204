"""The step `facts`: one model proposes key facts for every document, and others vote.

In UniSumEval (Lee et al., 2024, section 3.2), GPT-4-turbo proposes up to 20 key facts per document, and three other
models say whether each key fact is useful for a summary, and why. Key facts that the majority rejects are dropped. Both
parts are done by the evaluator `finesure.key_facts`. The votes on each key fact are stored in `Dataset.fact_origins`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

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
from summeter.evaluators.finesure.key_facts import AT_MOST, MOST, KeyFactExtraction, validator_roles
from summeter.models.prompts import PromptFolder
from summeter.records import CoverageError, FactOrigin, FactVote, Origin, Summary, UsageError
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


def _facts(inputs: Inputs, settings: FactsSettings, context: StepContext) -> Result:
    """Propose and validate key facts for every document of the data.

    With the source `auto`, a document that has key facts keeps them without a vote; with another source, they are
    replaced. Raises UsageError if the data contain no documents, CoverageError if no document has key facts, and the
    errors of a run.
    """
    from summeter.engine.api import evaluate  # slow to import, and not needed for the options of a command

    data = inputs.dataset
    if not data.documents:
        raise UsageError("there are no documents to draw key facts from")
    # A run iterates over summaries, which may not exist yet.
    stubs = [
        Summary(document_id=doc_id, system="document", text="(the document)", splitter="none")
        for doc_id in data.documents
    ]
    stub_data = Dataset(data.documents, stubs, {}, data.card)
    files = [hash_of(file) for file in settings.files()]
    out = run_folder(scripted_work(context.work, settings), "run", stub_data, settings.model_dump(mode="json"), files)
    run = evaluate(
        stub_data,
        [settings.evaluator],
        models=settings.models,
        out=out,
        progress=context.progress,
        **settings.run_options,
    )
    prepared: dict[str, tuple[dict[str, Any] | None, str | None]] = {}  # the data, or the reason for a failure
    (judge,) = run.manifest.judges
    for failure in run.failures():
        prepared[failure.document_id] = None, failure.reason
    for _, row in prepared_rows(judge.prepared_in(run.folder)):
        prepared[row["document_id"]] = row["data"] or None, row["reason"]
    rows: list[dict[str, Any]] = []
    dropped: list[LeftOut] = []
    without_facts: list[LeftOut] = []
    origins: dict[str, tuple[FactOrigin, ...]] = {}
    votes: dict[str, dict[str, int]] = {}
    for doc_id in data.documents:
        extracted, failed = prepared.get(doc_id, (None, "the document is empty"))
        kept = []
        for index, (fact, reason) in enumerate([] if extracted is None else _proposed(extracted, settings)):
            about = {"document_id": doc_id, "index": index, "kept": reason is None}
            rows.append(about | fact.model_dump(exclude={"review"}))
            if reason is None:
                kept.append(fact)
            else:
                against = [f"{vote.judge}: {vote.reason}" for vote in fact.votes if not vote.useful and vote.reason]
                detail = "; ".join([f"“{fact.proposed}”", *against])
                dropped.append(LeftOut("key fact", f"{doc_id}/{index}", reason, detail))
            for vote in fact.votes:
                counts = votes.setdefault(vote.judge, {"votes": 0, "useful": 0})
                counts["votes"] += 1
                counts["useful"] += vote.useful
        if not kept:
            without_facts.append(LeftOut("key facts", doc_id, "there are none", failed or "there are no key facts"))
        origins[doc_id] = tuple(kept)
    if len(without_facts) == len(data.documents):
        first = without_facts[0]
        raise CoverageError(f"no document has key facts ({first.id}: {first.detail}). Calls and replies are in {out}")
    write_lines(context.out / PROPOSED, (json.dumps(row, ensure_ascii=False) for row in rows))
    return Result(
        data.with_key_facts({doc_id: [fact.proposed for fact in kept] for doc_id, kept in origins.items()}, origins),
        [*dropped, *without_facts],
        counts={
            "key_facts_proposed": len(rows),
            "key_facts_dropped": len(dropped),
            "documents_without_key_facts": len(without_facts),
        },
        models=settings.models,
        details={
            "at_most": AT_MOST if settings.at_most is None else settings.at_most,
            "by_origin": dict(Counter(row["origin"] for row in rows)),
            "votes": votes,
        },
    )


def _proposed(data: Mapping[str, Any], settings: FactsSettings) -> Iterator[tuple[FactOrigin, str | None]]:
    """Yield each proposed key fact of a document, and the reason for dropping it, or None if it is kept.

    `data` are those that `KeyFactExtraction` prepared.
    """
    origin: Origin = data["origin"]
    model = None if origin == "given" else settings.models[JUDGE]
    usable = [ballot for ballot in data.get("validation", ()) if ballot["votes"] is not None]
    voted = bool(usable) or "key_facts" in data
    for index, fact in enumerate(data.get("proposed", data.get("key_facts", ()))):
        votes = tuple(
            FactVote(judge=ballot["role"], model=ballot["model"], **ballot["votes"][index]) for ballot in usable
        )
        reason = UNVOTED if not voted else REJECTED if index in data.get("rejected", ()) else None
        yield FactOrigin(proposed=fact, origin=origin, model=model, votes=votes), reason


STEP = Step("facts", FactsSettings, _facts)
