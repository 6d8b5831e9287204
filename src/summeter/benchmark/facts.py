"""Key facts for every document of a benchmark: one model proposes them, others vote, the majority decides.

UniSumEval, section 3.2 (Lee et al., 2024): GPT-4-turbo proposes up to 20 key facts a document, three other models say
of each whether it is useful for a summary, and why; what most of them reject is left out. The evaluator
`finesure.key_facts` does both. What is kept stands in the data with its votes (`Dataset.fact_origins`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from summeter.benchmark.step import Inputs, LeftOut, ModelSettings, Place, Result, Step, scripted_work
from summeter.data.atomic import write_lines
from summeter.data.dataset import Dataset
from summeter.engine.progress import Progress
from summeter.evaluators.finesure.key_facts import AT_MOST, MOST, KeyFactExtraction, validator_roles
from summeter.models.prompts import PromptFolder
from summeter.records import CoverageError, FactOrigin, FactVote, Origin, Record, Summary, UsageError
from summeter.runs.run import RunFolder, prepared_rows

JUDGE = "judge"
PROPOSED = "keyfacts.proposed.jsonl"
"""Every key fact that was proposed, a line each, with its votes and whether it was kept."""
REJECTED, UNVOTED = "rejected by most validators", "no validator gave a usable reply"


class FactsSettings(ModelSettings):
    """Which model proposes key facts and which vote on them (see the evaluator `finesure.key_facts`)."""

    models: dict[str, str] = Field(
        min_length=1, description="By role: `judge` proposes; `validator`, `validator2`, ... vote."
    )
    source: Literal["auto", "given", "reference", "document"] = Field(
        "auto", description="What key facts are drawn from; auto keeps given ones, else takes the reference first."
    )
    at_most: int | None = Field(
        None, ge=1, le=MOST, description="The longest list; default: 16 of a reference, 20 of a document."
    )

    @model_validator(mode="after")
    def _roles(self) -> FactsSettings:
        wanted = (JUDGE, *validator_roles(len(self.models) - 1))
        if set(self.models) != set(wanted):
            given = ", ".join(self.models)
            raise ValueError(f"models are {given}; with {len(self.models)} of them they are {', '.join(wanted)}")
        return self

    @property
    def evaluator(self) -> KeyFactExtraction:
        """What proposes and asks for votes."""
        prompts = {} if self.prompts is None else {"prompts": PromptFolder.model_validate(self.prompts)}
        return KeyFactExtraction(source=self.source, at_most=self.at_most, validators=len(self.models) - 1, **prompts)


class ProposedFact(Record):
    """A key fact that was proposed: where it comes from, with the votes on it; why it was not kept, None if it was."""

    document_id: str
    index: int
    reason: str | None
    origin: FactOrigin


class FactsOutcome(NamedTuple):
    """`data` with the key facts that were kept, every key fact that was proposed, and by id why a document has none."""

    data: Dataset
    proposed: tuple[ProposedFact, ...]
    without: Mapping[str, str]


def draw_facts(
    data: Dataset, settings: FactsSettings, run: str | Path, *, progress: Progress | None = None
) -> FactsOutcome:
    """Propose and validate key facts for every document of the data; `run` is the folder of calls and replies.

    The same call again asks only for what is missing. A document whose key facts are given keeps them with the source
    "auto", unvalidated; with any other source they are replaced. One for which there are none afterwards has none, and
    stands in `without` with the reason. Raises UsageError for data without documents, and whatever a run raises.
    """
    from summeter.engine.api import evaluate  # slow to import, and no command's options need it

    if not data.documents:
        raise UsageError("there are no documents to draw key facts from")
    folder = evaluate(
        _bare(data),
        [settings.evaluator],
        models=settings.models,
        out=run,
        progress=progress,
        temperature=settings.temperature,
        max_reply=settings.max_reply,
        seed=settings.seed,
        concurrency=settings.concurrency,
        timeout=settings.timeout,
        base_url=settings.base_url,
    )
    prepared = _prepared(folder)
    proposed: dict[str, list[ProposedFact]] = {}
    without: dict[str, str] = {}
    for doc_id in data.documents:
        row, reason = prepared.get(doc_id, (None, "the document is empty"))
        proposed[doc_id] = [] if row is None else list(_proposed(doc_id, row, settings))
        if not any(fact.reason is None for fact in proposed[doc_id]):
            without[doc_id] = reason or "there are no key facts"
    kept = {doc_id: [fact.origin for fact in facts if fact.reason is None] for doc_id, facts in proposed.items()}
    texts = {doc_id: [origin.proposed for origin in origins] for doc_id, origins in kept.items()}
    return FactsOutcome(
        data.with_key_facts(texts, {doc_id: tuple(origins) for doc_id, origins in kept.items()}),
        tuple(fact for facts in proposed.values() for fact in facts),
        without,
    )


def _bare(data: Dataset) -> Dataset:
    """The documents, each with one summary that stands for it: key facts are of documents, and a run goes by summaries
    (which the documents may not have yet)."""
    summaries = [
        Summary(document_id=doc_id, system="document", text="(the document)", splitter="none")
        for doc_id in data.documents
    ]
    return Dataset(data.documents, summaries, {}, data.card)


def _prepared(run: RunFolder) -> dict[str, tuple[dict[str, Any] | None, str | None]]:
    """What the run derived, by document; of a document for which it failed, why."""
    rows: dict[str, tuple[dict[str, Any] | None, str | None]] = {}
    (judge,) = run.manifest.judges
    for failure in run.failures():
        rows[failure.document_id] = None, failure.reason
    for _, row in prepared_rows(run.folder / "prepared" / f"{judge.file}.jsonl"):
        rows[row["document_id"]] = row["data"] or None, row["reason"]
    return rows


def _proposed(doc_id: str, data: Mapping[str, Any], settings: FactsSettings) -> Iterable[ProposedFact]:
    """The proposed key facts of a document, as the evaluator stores them (`KeyFactExtraction`)."""
    origin: Origin = data["origin"]
    model = None if origin == "given" else settings.models[JUDGE]
    facts: Sequence[str] = data.get("proposed", data.get("key_facts", ()))
    usable = [ballot for ballot in data.get("validation", ()) if ballot["votes"] is not None]
    voted = bool(usable) or "key_facts" in data
    for index, fact in enumerate(facts):
        votes = tuple(
            FactVote(judge=ballot["role"], model=ballot["model"], **ballot["votes"][index]) for ballot in usable
        )
        reason = UNVOTED if not voted else REJECTED if index in data.get("rejected", ()) else None
        known = FactOrigin(proposed=fact, origin=origin, model=model, votes=votes)
        yield ProposedFact(document_id=doc_id, index=index, reason=reason, origin=known)


# ---- as a step of a chain ----


def _step(inputs: Inputs, settings: FactsSettings, place: Place) -> Result:
    data = inputs.dataset
    work = scripted_work(place.work, settings)
    run = work / f"run-{_bare(data).hash[:12]}"  # a run is over one dataset
    outcome = draw_facts(data, settings, run, progress=place.progress)
    if len(outcome.without) == len(data.documents):
        doc_id, reason = next(iter(outcome.without.items()))
        raise CoverageError(f"no document has key facts; {doc_id}: {reason}; calls and replies are in {run}")
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
    write_lines(place.out / PROPOSED, (json.dumps(row, ensure_ascii=False) for row in rows))
    return Result(
        outcome.data,
        [*dropped, *(LeftOut("key facts", name, "there are none", why) for name, why in outcome.without.items())],
        counts={
            "key_facts_proposed": len(rows),
            "key_facts_dropped": len(dropped),
            "documents_without_key_facts": len(outcome.without),
        },
        models=settings.models,
        details={
            "at_most": AT_MOST if settings.at_most is None else settings.at_most,
            "by_origin": dict(Counter(fact.origin.origin for fact in outcome.proposed)),
            "votes": votes,
        },
    )


STEP = Step("facts", FactsSettings, _step)
