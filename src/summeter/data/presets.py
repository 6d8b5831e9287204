"""Presets: the column names and conventions of public layouts, turned into flat rows.

Each is a small function from one row to flat rows. It moves what it knows, leaves every other column as it is, and
raises `Misfit` rather than guess where a row is not in its layout. Labels are turned so that 1 means supported.
Layouts were read from the released files or their authors' documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from summeter.data.faults import meant
from summeter.records import UsageError, digest

Cells = dict[str, Any]


class Misfit(ValueError):
    """A row that is not in the preset's layout; `field` is the column at fault."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


@dataclass(frozen=True)
class Preset:
    """One public layout. `about` says whose, and what its labels become."""

    name: str
    about: str
    turn: Callable[[Cells], Iterable[Cells]]


def preset_named(name: str) -> Preset:
    """The preset of that name. Raises UsageError."""
    found = PRESETS.get(name)
    if found is None:
        raise UsageError(f"unknown preset {name!r}{meant(name, PRESETS)}; presets are: {', '.join(PRESETS)}")
    return found


def _renamed(cells: Cells, columns: Mapping[str, str]) -> Cells:
    """The row with its columns (old name: field) renamed; the other columns keep their names."""
    return {columns.get(name, name): value for name, value in cells.items()}


def _taken(cells: Cells, column: str, kind: type[Any], what: str) -> Any:
    """Remove and return a column that must be there and of that kind."""
    if column not in cells:
        raise Misfit(column, "is missing, and this layout has it; check the preset")
    value = cells.pop(column)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Misfit(column, f"is not {what}, as this layout has it; check the preset")
    return value


def _texts(cells: Cells, column: str) -> list[str]:
    value = _taken(cells, column, list, "a list of texts")
    if not all(isinstance(one, str) for one in value):
        raise Misfit(column, "is not a list of texts, as this layout has it; check the preset")
    return list(value)


def _supported(value: Any, column: str) -> int:
    """A label of 0 or 1, also as text (tables have no numbers)."""
    if value in (0, 1, "0", "1", 0.0, 1.0):
        return int(value)
    raise Misfit(column, f"holds {value!r} where this layout has 0 or 1; check the preset")


def _turned_round(value: Any, column: str) -> int | None:
    """A label with 1 = error as one with 1 = supported; null stays null."""
    return None if value is None else 1 - _supported(value, column)


def _by_place(votes: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """`{annotator: {key: [value per place]}}` as one `{annotator: value}` per place."""
    column = f"raw_annotations.{key}"
    lists = {who: one[key] for who, one in votes.items() if key in one}
    if not all(isinstance(one, list) for one in lists.values()):
        raise Misfit(column, "is not a list, as this layout has it; check the preset")
    if len({len(one) for one in lists.values()}) > 1:
        raise Misfit(column, "has annotators with different numbers of labels")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


# ------------------------------------------------------------------------------------------------ the layouts
def _finesure(cells: Cells) -> Iterable[Cells]:
    row = _renamed(cells, {"model": "system", "transcript": "document", "source": "domain"})
    sentences = _texts(row, "sentences")
    row |= {"summary": row.get("summary", " ".join(sentences)), "sentences": sentences}
    votes = row.get("raw_annotations")
    if not votes:
        return [row]
    if not isinstance(votes, dict) or not all(isinstance(one, dict) for one in votes.values()):
        raise Misfit("raw_annotations", "is not an object of annotators, as this layout has it; check the preset")
    if all("factuality_labels" in one for one in votes.values()):
        column = "raw_annotations.factuality_labels"
        labels = _by_place(votes, "factuality_labels")
        human = {
            "sentence_labels": [{who: _turned_round(label, column) for who, label in cell.items()} for cell in labels],
            "sentence_error_types": _by_place(votes, "factuality_types") or None,
        }
        del row["raw_annotations"]
        return [{**row, "human": human}]
    if row.get("key_facts") and all("key_fact_labels" in one for one in votes.values()):
        # what its sentence_labels say (the sentence carries a key fact) has no field: the column is kept
        return [{**row, "human": {"key_fact_labels": _by_place(votes, "key_fact_labels")}}]
    return [row]


def _unisumeval(cells: Cells) -> Iterable[Cells]:
    row = _renamed(cells, {"model": "system", "keyfact": "key_facts"})
    human: dict[str, Any] = {}
    if "fact_verification_label" in row:
        column = "fact_verification_label"
        labels = _taken(row, column, list, "a list with one label per sentence")
        human["sentence_labels"] = [_turned_round(label, column) for label in labels]
        if "fact_verification_error_type" in row:
            human["sentence_error_types"] = _texts(row, "fact_verification_error_type")
    if "keyfact_label" in row:
        labels = _taken(row, "keyfact_label", list, "a list with one label per key fact")
        human["key_fact_labels"] = [_supported(label, "keyfact_label") for label in labels]
    scores = {"faithfulness_score": "faithfulness", "completeness": "completeness", "conciseness": "conciseness"}
    overall = {name: row.pop(column) for column, name in scores.items() if row.get(column) is not None}
    if overall:
        human["overall"] = overall
    return [{**row, "human": human} if human else row]


def _summeval(cells: Cells) -> Iterable[Cells]:
    row = _renamed(cells, {"id": "doc_id", "model_id": "system", "decoded": "summary", "text": "document"})
    human = {}
    for column, name, who in (("expert_annotations", "ratings", "expert"),
                              ("turker_annotations", "crowd_ratings", "worker")):  # fmt: skip
        votes = _taken(row, column, list, "a list of ratings") if column in row else []
        if not all(isinstance(one, dict) for one in votes):
            raise Misfit(column, "is not a list of objects, as this layout has it; check the preset")
        aspects = dict.fromkeys(aspect for one in votes for aspect in one)
        if aspects:
            human[name] = {
                aspect: {f"{who}{place}": one.get(aspect) for place, one in enumerate(votes)} for aspect in aspects
            }
    return [{**row, "human": human} if human else row]


def _frank(cells: Cells) -> Iterable[Cells]:
    row = _renamed(cells, {"hash": "doc_id", "model_name": "system", "article": "document"})
    if "summary_sentences" not in row:
        return [row]  # benchmark_data.json: the same rows without annotations
    row["sentences"] = _texts(row, "summary_sentences")
    column = "summary_sentences_annotations"
    cells_by_sentence = _taken(row, column, list, "a list with one object per sentence")
    types = []
    for cell in cells_by_sentence:
        if not isinstance(cell, dict) or not all(isinstance(kinds, list) for kinds in cell.values()):
            raise Misfit(column, "is not a list of {annotator: [categories]}; check the preset")
        types.append({who: "+".join(map(str, kinds)) or None for who, kinds in cell.items()})
    return [{**row, "human": {"sentence_labels": types}}]


def _qags(cells: Cells) -> Iterable[Cells]:
    row = _renamed(cells, {"article": "document"})
    column = "summary_sentences"
    sentences, labels = [], []
    for one in _taken(row, column, list, "a list of sentences with responses"):
        responses = one.get("responses") if isinstance(one, dict) and isinstance(one.get("sentence"), str) else None
        if not isinstance(responses, list) or not all(isinstance(response, dict) for response in responses):
            raise Misfit(column, "is not a list of {sentence, responses}; check the preset")
        votes: dict[str, int] = {}
        for response in responses:
            who, answer = f"w{response.get('worker_id')}", response.get("response")
            if answer not in ("yes", "no") or who in votes:
                raise Misfit(column, f"has the response {answer!r} by {who}; give one yes or no per worker")
            votes[who] = int(answer == "yes")
        sentences.append(one["sentence"])
        labels.append(votes)
    return [{**row, "summary": " ".join(sentences), "sentences": sentences, "human": {"sentence_labels": labels}}]


def _claims(document: str, claim: str) -> Callable[[Cells], Iterable[Cells]]:
    """Benchmarks of (document, claim, label) rows. Their `cut` goes by claim, not by document: it is kept as it is."""

    def turn(cells: Cells) -> Iterable[Cells]:
        row = _renamed(cells, {document: "document", claim: "summary", "model_name": "system"})
        label = _supported(_taken(row, "label", object, "0 or 1"), "label")
        found = next((row[name] for name in ("id", "cnndm_id", "bbcid") if row.get(name)), None)
        if found is not None and "doc_id" not in row:  # one article is in several of the datasets, edited
            row["doc_id"] = f"{row.get('dataset')}/{found}"
        if "origin" in row or "dataset" in row:
            row.setdefault("domain", row.get("origin") or row.get("dataset"))
        if not row.get("system") and isinstance(row.get("summary"), str):
            row["system"] = f"claim-{digest(row['summary'], 8)}"  # no system is named, and a document has many claims
        return [{**row, "human": {"overall": {"faithfulness": label}}}]

    return turn


_ALL = (
    Preset("finesure", "FineSurE's data files: factuality labels turned round, error types kept", _finesure),
    Preset("unisumeval", "UniSumEval, with --map document=COLUMN: hallucination labels turned round", _unisumeval),
    Preset("summeval", "SummEval paired with its articles: expert ratings, and crowd ratings apart", _summeval),
    Preset("frank", "FRANK's benchmark_data and human_annotations_sentence: error types per sentence", _frank),
    Preset("qags", "QAGS's mturk files: yes and no per sentence and worker", _qags),
    Preset("aggrefact", "AggreFact's CSV files: the label as overall faithfulness", _claims("doc", "summary")),
    Preset("summac", "Rows of the SummaC benchmark: the label as overall faithfulness", _claims("document", "claim")),
    Preset("minicheck", "LLM-AggreFact: one claim a row, its label as overall faithfulness", _claims("doc", "claim")),
)
PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}
