"""ClaimMatch precision, recall and F1 of two lists of claims or key facts.

As in FENICE (Scirè et al., 2024, equations 9 and 10; after Zhang & Bansal, 2021), each claim is matched with the most
similar reference claim, and each reference claim with the most similar claim.

    precision = mean over claims of max over the reference claims of sim(claim, reference)
    recall    = mean over reference claims of max over the claims of sim(claim, reference)

A list belongs to a document or a summary. The list of a summary is compared with that of the same summary, or else with
that of its document. The similarity is ROUGE-1 F1 by default and can be any function of two texts (BERTScore in FENICE,
Table 8).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, SkipValidation

from summeter.data.dataset import Dataset, load
from summeter.data.faults import Faults
from summeter.data.formats import format_of, read_rows
from summeter.meta.options import By, CommandLine, Draws, study
from summeter.meta.results import Row, Study, interval_row, merged
from summeter.meta.sample import Context
from summeter.meta.selection import group_fields
from summeter.records import UsageError
from summeter.runs.run import MANIFEST, RunFolder, prepared_rows
from summeter.stats.base import floats
from summeter.stats.resample import Resampling
from summeter.text.rouge import rouge_n

STUDY = "overlap"
STATISTICS = ("precision", "recall", "f1")
FIELDS = ("claims", "key_facts", "facts")
"""Fields of a row that can contain a list, in order of preference."""

Similarity = Callable[[str, str], float]
"""A function (claim, reference claim) -> similarity in [0, 1], which need not be symmetric."""


class ClaimMatch(NamedTuple):
    """Precision, recall and F1 of a list against a reference list.

    Values are in [0, 1] for a similarity in [0, 1]. Precision (recall) is None if the list (reference list) is empty;
    `reason` then says why. If exactly one list is empty, F1 is 0.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    claims: int
    references: int
    reason: str | None = None


Item = tuple[str, str | None]
"""The (document, system) to which a list belongs. The system is None for the list of a document."""


class Lists(NamedTuple):
    """Lists of claims or key facts of documents and summaries, and the name of their source."""

    lists: Mapping[Item, Sequence[str]]
    name: str

    def of(self, item: Item) -> Sequence[str] | None:
        """Return the list of a summary, or else that of its document, or None if there is neither list."""
        return self.lists.get(item, self.lists.get((item[0], None)))


def rouge_1(claim: str, reference: str) -> float:
    """Return the ROUGE-1 F1 of two texts, the default similarity.

    >>> rouge_1("the cat sat", "the cat")
    0.8
    """
    return rouge_n(claim, reference, 1).f1


def match_claims(claims: Sequence[str], references: Sequence[str], similarity: Similarity = rouge_1) -> ClaimMatch:
    """Return the ClaimMatch of a list of claims against reference claims.

    In the example, the best similarities are 1 and 0 both for the claims and for the references.

    >>> match_claims(["a b", "c"], ["a b", "d e"])
    ClaimMatch(precision=0.5, recall=0.5, f1=0.5, claims=2, references=2, reason=None)
    """
    if not claims and not references:
        return ClaimMatch(None, None, None, 0, 0, "both lists are empty")
    if not claims:
        return ClaimMatch(None, 0.0, 0.0, 0, len(references), "no claims")
    if not references:
        return ClaimMatch(0.0, None, 0.0, len(claims), 0, "no reference claims")
    matrix = floats([[similarity(claim, reference) for reference in references] for claim in claims], 2)
    precision, recall = float(matrix.max(axis=1).mean()), float(matrix.max(axis=0).mean())
    total = precision + recall
    f1 = 2 * precision * recall / total if total > 0 else 0.0
    return ClaimMatch(precision, recall, f1, len(claims), len(references))


class OverlapOptions(By, Draws):
    """The options of `overlap`."""

    resamples: int = Field(2000, ge=0, description="Resamples of the bootstrap by document; 0 for no intervals.")
    similarity: Annotated[Similarity, CommandLine(python_only=True)] = Field(
        rouge_1, description="Similarity of a claim and a reference claim, in [0, 1]. Default: ROUGE-1 F1."
    )
    measure: Annotated[str, CommandLine(python_only=True)] = Field(
        "rouge1", description="Name of the similarity, for the signature."
    )
    context: Annotated[SkipValidation[Context | None], CommandLine(python_only=True)] = Field(
        None, description="Columns for `by` (see `inputs.context_of`)."
    )


@study(OverlapOptions)
def overlap(first: Lists, second: Lists, options: OverlapOptions) -> Study:
    """Match claims or key facts with reference lists.

    Rows have the study "overlap" and the statistics `precision`, `recall` and `f1` of ClaimMatch (FENICE, equations
    9-10), which are means over lists with a bootstrap interval by document. `n` is the number of lists with a value,
    and `missing` the number of lists without a value (because one list is missing or both are empty);
    `details.missing_reasons` has the reasons. `details.f1_of_means` is the F1 of the mean precision and recall. Raises
    UsageError if the sources have no document in common.
    """
    all_items = dict.fromkeys((*first.lists, *second.lists))
    summaries = [item for item in all_items if item[1] is not None]
    covered = {document for document, _ in summaries}
    # The lists of documents are compared only if neither side has lists of summaries.
    items = [*(item for item in all_items if item[1] is None and item[0] not in covered), *summaries]
    match_by_item = {
        item: match_claims(claims, references, options.similarity)
        for item in items
        if (claims := first.of(item)) is not None and (references := second.of(item)) is not None
    }
    if not match_by_item:
        raise UsageError(f"{first.name} and {second.name} have no document in common; check the doc_id of both")
    groups: list[tuple[dict[str, Any], list[Item]]] = [({}, items)]
    if options.by is not None:
        value_of = (options.context or Context()).lookup(options.by)
        values = {item: value_of(item[0], item[1] or "") for item in items}
        groups += [
            (group_fields(options.by, value), [item for item in items if values[item] == value])
            for value in dict.fromkeys(values.values()) if value is not None
        ]  # fmt: skip
    about = {
        "study": STUDY,
        "judge": first.name,
        "signature": f"overlap|similarity:{options.measure}|v:1",
        "level": "document",
        "average": "document",
    }
    rows = [
        row
        for fields, group_items in groups
        for row in _rows(match_by_item, group_items, merged(about, fields), second.name, options.resampling)
    ]
    return Study(STUDY, rows, [f"{first.name} against {second.name}"])


def _rows(
    match_by_item: Mapping[Item, ClaimMatch],
    items: Sequence[Item],
    about: Mapping[str, Any],
    against: str,
    resample: Resampling,
) -> Iterator[Row]:
    matches = {item: match_by_item[item] for item in items if item in match_by_item}
    bootstrap = resample([document for document, _ in matches])
    means = {name: bootstrap.mean([getattr(match, name) for match in matches.values()]) for name in STATISTICS}
    absent = len(items) - len(matches)
    precision, recall = means["precision"].value, means["recall"].value
    for name, estimate in means.items():
        reasons = Counter(match.reason for match in matches.values() if getattr(match, name) is None and match.reason)
        details: dict[str, Any] = {
            "claims": sum(match.claims for match in matches.values()),
            "references": sum(match.references for match in matches.values()),
            "against": against,
            "missing_reasons": {**({"a list is missing": absent} if absent else {}), **reasons},
        }
        if name == "f1" and precision is not None and recall is not None and precision + recall:
            details["f1_of_means"] = 2 * precision * recall / (precision + recall)
        yield interval_row(estimate, about, statistic=name, missing=estimate.missing + absent, details=details)


def lists_of(source: str | Path | RunFolder | Dataset, judge: str | None = None) -> Lists:
    """Return the lists of a run, a dataset (the key facts) or a file of rows.

    The lists of a run are those that a judge prepared for documents, or else the claims of summaries that a judge
    judged (fenice, factscore). If several judges have lists, `judge` (a name or signature) selects one. A file has one
    row per document or summary, with `doc_id`, optionally `system`, and a list of strings in `claims` or `key_facts`.
    Raises UsageError if there are no lists or if several judges have lists, and InputError if a row is invalid.
    """
    if not isinstance(source, RunFolder | Dataset):
        path = Path(source)
        if not path.is_dir():
            return _file(path)
        source = RunFolder(path) if (path / MANIFEST).is_file() else load(path)
    if isinstance(source, RunFolder):
        return _of_run(source, judge)
    lists: dict[Item, list[str]] = {
        (name, None): list(document.key_facts) for name, document in source.documents.items() if document.key_facts
    }
    if not lists:
        raise UsageError(f"the dataset {source.card.name!r} has no key facts")
    return Lists(lists, f"{source.card.name}: given key facts")


def _of_run(run: RunFolder, judge: str | None) -> Lists:
    """Return the lists that a judge prepared for documents, or else the claims of summaries that it judged."""
    lists: dict[str, dict[Item, list[str]]] = {}
    for entry in run.manifest.judges:
        if judge is None or judge in {entry.name, entry.signature}:
            for _, row in prepared_rows(entry.prepared_in(run.folder)):
                if row.get("status", "ok") == "ok" and (texts := _texts(row["data"])) is not None:
                    lists.setdefault(entry.signature, {})[row["document_id"], None] = texts
    if not lists:
        claims: dict[str, dict[Item, dict[int, str]]] = {}
        for judgment in run.iter_judgments():
            target, claim = judgment.target, judgment.claim
            if claim is not None and target.unit == "claim" and judge in {None, judgment.judge, judgment.signature}:
                of_judge = claims.setdefault(judgment.signature, {})
                of_judge.setdefault((target.document_id, target.system), {})[target.index or 0] = claim.text
        for signature, by_item in claims.items():
            lists[signature] = {item: [texts[at] for at in sorted(texts)] for item, texts in by_item.items()}
    if not lists:
        raise UsageError(f"{run.folder} has no claims or key facts{f' of {judge}' if judge else ''}")
    if len(lists) > 1:
        raise UsageError(
            f"{run.folder} has lists of several judges; choose one with the option judge: {', '.join(lists)}"
        )
    ((signature, of_items),) = lists.items()
    return Lists(of_items, signature)


def _texts(cells: Mapping[str, Any]) -> list[str] | None:
    """Return the list in a cell (strings, or objects with a `text`), or None if there is no list."""
    for name in FIELDS:
        value = cells.get(name)
        if isinstance(value, list):
            entries = [entry.get("text") if isinstance(entry, dict) else entry for entry in value]
            texts = [text for text in entries if isinstance(text, str)]
            return texts if len(texts) == len(entries) else None
    return None


def _file(path: Path) -> Lists:
    """Return the lists of a file.

    If all systems of each document have the same list, the lists are those of documents.
    """
    faults = Faults(str(path))
    lists: dict[Item, list[str]] = {}
    for row in read_rows(path, faults, format_of(path)):
        name, system, texts = row.cells.get("doc_id"), row.cells.get("system"), _texts(row.cells)
        item = f"{name}" if system is None else f"{name} by {system}"
        if not isinstance(name, str) or not name:
            faults.add(row.line, "doc_id", "is missing; give the id of the document")
        elif system is not None and not isinstance(system, str):
            faults.add(row.line, "system", "is not a string")
        elif texts is None:
            faults.add(row.line, "claims", "is not a list of strings; give `claims` or `key_facts`")
        elif lists.setdefault((name, system), texts) != texts:
            faults.add(
                row.line, "claims", f"differs from an earlier list of {item}; give one list per document or summary"
            )
    faults.stop()
    if not lists:
        raise UsageError(f"{path} has no lists")
    first: dict[str, list[str]] = {}
    for (document, _), texts in lists.items():
        first.setdefault(document, texts)
    if all(first[document] == texts for (document, _), texts in lists.items()):
        return Lists({(document, None): texts for document, texts in first.items()}, path.name)
    return Lists(lists, path.name)
