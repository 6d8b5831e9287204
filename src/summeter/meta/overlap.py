"""How well do two lists of claims or key facts cover each other? Easiness precision, recall and F1.

FENICE (Scirè et al., 2024, equations 9 and 10), after the easiness of Zhang & Bansal (2021): each claim is matched
with the reference claim most like it, and each reference claim with the claim most like it.

    precision = mean over claims of max over the reference claims of sim(claim, reference)
    recall    = mean over reference claims of max over the claims of sim(claim, reference)

The similarity is ROUGE-1 F1 by default; any function of two texts may be passed in (BERTScore: FENICE, Table 8).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from summeter.data.dataset import Dataset
from summeter.data.faults import Faults
from summeter.data.formats import format_of, read_rows
from summeter.meta.context import Context
from summeter.meta.results import Row, Study, status_of
from summeter.records import InputError, UsageError
from summeter.runs.run import MANIFEST, RunFolder
from summeter.stats import bootstrap_mean
from summeter.stats.base import Floats, Values, floats
from summeter.text.rouge import rouge_n

STUDY = "overlap"
STATISTICS = ("precision", "recall", "f1")
FIELDS = ("claims", "key_facts", "facts")
"""Where a row may hold its list."""

Similarity = Callable[[str, str], float]
"""(claim, reference claim) -> how alike they are, in [0, 1]; not necessarily symmetric."""


class Easiness(NamedTuple):
    """Precision, recall and F1 of one list against a reference list, each in [0, 1] for a similarity in [0, 1].

    A value is None where its list is empty (`reason` says so). With one list empty F1 is 0, since nothing matched.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    claims: int
    references: int
    reason: str | None = None


class Lists(NamedTuple):
    """Lists of claims or key facts by document, and what to call their source."""

    by_document: Mapping[str, Sequence[str]]
    name: str


def rouge_1(claim: str, reference: str) -> float:
    """ROUGE-1 F1, the default similarity.

    >>> rouge_1("the cat sat", "the cat")
    0.8
    """
    return rouge_n(claim, reference, 1).f1


def easiness(claims: Sequence[str], references: Sequence[str], similarity: Similarity = rouge_1) -> Easiness:
    """Easiness of a list of claims against reference claims.

    "a b" and "c" against "a b" and "d e": the best matches of the claims are 1 and 0, those of the references too.

    >>> easiness(["a b", "c"], ["a b", "d e"])
    Easiness(precision=0.5, recall=0.5, f1=0.5, claims=2, references=2, reason=None)
    """
    table = [[similarity(claim, reference) for reference in references] for claim in claims]
    return easiness_of(table, len(claims), len(references))


def easiness_of(table: Values, claims: int, references: int) -> Easiness:
    """Easiness from a matrix of similarities, claims x references, for similarities computed all at once."""
    if not claims and not references:
        return Easiness(None, None, None, 0, 0, "both lists are empty")
    if not claims:
        return Easiness(None, 0.0, 0.0, 0, references, "no claims")
    if not references:
        return Easiness(0.0, None, 0.0, claims, 0, "no reference claims")
    matrix: Floats = floats(table, 2)
    if matrix.shape != (claims, references):
        raise ValueError(f"{claims} claims and {references} references, but similarities of shape {matrix.shape}")
    precision, recall = float(matrix.max(axis=1).mean()), float(matrix.max(axis=0).mean())
    whole = precision + recall
    return Easiness(precision, recall, 2 * precision * recall / whole if whole > 0 else 0.0, claims, references)


def overlap(
    first: Lists, second: Lists, *, similarity: Similarity = rouge_1, context: Context | None = None,
    by: str | None = None, measure: str = "rouge1",
) -> Study:  # fmt: skip
    """Easiness of the first lists against the second, document by document, and its mean.

    Rows of the study "overlap" with the statistics precision, recall and f1: means over documents with a bootstrap
    interval; `n` documents that have a value, `missing` that have none (one of the lists is not there, or both are
    empty), reasons in `details.missing_reasons`. `details.f1_of_means` is the F1 of the two means. `measure` is the
    similarity's name, for the signature. Raises UsageError where there is no document in common.
    """
    documents = list(dict.fromkeys([*first.by_document, *second.by_document]))
    both = [one for one in documents if one in first.by_document and one in second.by_document]
    if not both:
        raise UsageError(f"{first.name} and {second.name} have no document in common; check the doc_id of both")
    found = {one: easiness(first.by_document[one], second.by_document[one], similarity) for one in both}
    signature = f"overlap|similarity:{measure}|v:1"
    rows = list(_rows(found, documents, (first.name, second.name), signature, {}))
    if by is not None:
        look = (context or Context()).lookup(by)
        for value in dict.fromkeys(look(one, "") for one in documents):
            inside = [one for one in documents if look(one, "") == value]
            if value is None:
                continue
            group = {by: value} if by in {"domain", "category"} else {"details": {"by": by, "group": value}}
            rows.extend(_rows(found, inside, (first.name, second.name), signature, group))
    return Study(STUDY, rows, [f"{first.name} against {second.name}"])


def _rows(
    found: Mapping[str, Easiness], documents: Sequence[str], names: tuple[str, str], signature: str,
    group: Mapping[str, Any],
) -> Iterator[Row]:  # fmt: skip
    here = [found[one] for one in documents if one in found]
    means = {name: bootstrap_mean([getattr(one, name) for one in here]) for name in STATISTICS}
    absent = len(documents) - len(here)
    fields = {key: value for key, value in group.items() if key != "details"}
    precision, recall = means["precision"].value, means["recall"].value
    whole = None if precision is None or recall is None else precision + recall
    for name, got in means.items():
        reasons: dict[str, int] = {"a list is missing": absent} if absent else {}
        for one in here:
            if getattr(one, name) is None and one.reason:
                reasons[one.reason] = reasons.get(one.reason, 0) + 1
        details: dict[str, Any] = {
            **group.get("details", {}), "claims": sum(one.claims for one in here),
            "references": sum(one.references for one in here), "against": names[1], "missing_reasons": reasons,
        }  # fmt: skip
        if name == "f1" and precision is not None and recall is not None and whole:
            details["f1_of_means"] = 2 * precision * recall / whole
        yield Row(
            study=STUDY, judge=names[0], signature=signature, level="document",
            average="document", statistic=name, value=got.value, low=got.low, high=got.high, n=got.n,
            missing=got.missing + absent, status=status_of(got.value, got.status), reason=got.reason, details=details,
            interval=_interval(got.resamples) if got.low is not None else None, **fields,
        )  # fmt: skip


def _interval(resamples: int) -> str:
    return f"95% percentile bootstrap by document, {resamples} resamples, seed 0"


def cached(similarity: Similarity, size: int | None = None) -> Similarity:
    """The same similarity, remembering pairs: for dear ones, where lists repeat."""
    return lru_cache(maxsize=size)(similarity)


def lists_of(source: str | Path | RunFolder | Dataset, judge: str | None = None) -> Lists:
    """Lists of a run (what a judge prepared), a data set (given key facts), or a file of rows.

    A file holds one row a document: `doc_id` and `claims` or `key_facts`, a list of texts. In a run with several
    judges that prepared lists, `judge` (a name or signature) says whose. Raises UsageError or InputError.
    """
    if isinstance(source, Dataset):
        return _given(source)
    if isinstance(source, RunFolder):
        return _prepared(source, judge)
    path = Path(source)
    if path.is_dir():
        if (path / MANIFEST).is_file():
            return _prepared(RunFolder(path), judge)
        from summeter.data.dataset import load

        return _given(load(path))
    return _file(path)


def _given(data: Dataset) -> Lists:
    found = {name: list(one.key_facts) for name, one in data.documents.items() if one.key_facts}
    if not found:
        raise UsageError(f"the data set {data.card.name!r} has no key facts")
    return Lists(found, f"{data.card.name}: given key facts")


def _prepared(run: RunFolder, judge: str | None) -> Lists:
    made: dict[str, dict[str, list[str]]] = {}
    for entry in run.manifest.judges:
        if judge is not None and judge not in {entry.name, entry.signature}:
            continue
        found = dict(_prepared_rows(run.folder / "prepared" / f"{entry.file}.jsonl"))
        if found:
            made[entry.signature] = found
    if not made:
        raise UsageError(f"{run.folder} holds no prepared claims or key facts{f' of {judge}' if judge else ''}")
    if len(made) > 1:
        raise UsageError(f"{run.folder} holds several lists; choose one with --judge: {', '.join(made)}")
    signature, lists = next(iter(made.items()))
    return Lists(lists, signature)


def _prepared_rows(file: Path) -> Iterator[tuple[str, list[str]]]:
    if not file.exists():
        return
    for number, line in enumerate(file.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            return  # a killed writer
        try:
            row = json.loads(line)
            texts = _texts(row["data"]) if row.get("status", "ok") == "ok" else None
            name = row["document_id"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError.at(file, number, None, f"damaged: {error}") from error
        if texts is not None:
            yield name, texts


def _texts(cells: Mapping[str, Any]) -> list[str] | None:
    """The list in a row, of texts or of objects with a `text`; None where there is none."""
    for name in FIELDS:
        value = cells.get(name)
        if isinstance(value, list):
            said = [one.get("text") if isinstance(one, dict) else one for one in value]
            texts = [one for one in said if isinstance(one, str)]
            return texts if len(texts) == len(said) else None
    return None


def _file(path: Path) -> Lists:
    faults = Faults(str(path))
    found: dict[str, list[str]] = {}
    for row in read_rows(path, faults, format_of(path)):
        name, texts = row.cells.get("doc_id"), _texts(row.cells)
        if not isinstance(name, str) or not name:
            faults.add(row.line, "doc_id", "is missing; name the document")
        elif texts is None:
            faults.add(row.line, "claims", "is not a list of texts; give `claims` or `key_facts`")
        elif found.setdefault(name, texts) != texts:
            faults.add(row.line, "claims", f"differs from the earlier list of {name}; give one list a document")
    faults.stop()
    if not found:
        raise UsageError(f"{path} holds no lists")
    return Lists(found, path.name)
