"""Real data in their released layouts: presets agree with an independent conversion."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from data.files import put, write
from data.flat_view import flat_rows

from summeter.data.dataset import Dataset, load

pytestmark = pytest.mark.shared
Rows = list[dict[str, Any]]


def converted(shared: Path, name: str) -> Rows:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def by_summary(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["doc_id"], row["system"]): row for row in rows}


def votes(cells: list[dict[str, Any]]) -> list[list[Any]]:
    """Return the values of each cell, since released votes have no annotators."""
    return [list(cell.values()) for cell in cells]


@pytest.mark.parametrize(("name", "count"), [("cnndm", 235), ("xsum", 239)])
def test_qags(shared: Path, tmp_path: Path, name: str, count: int) -> None:
    rows = converted(shared, f"qags_{name}")
    released = [
        {"article": row["document"], "summary_sentences": [
            {"sentence": sentence, "responses": [
                {"worker_id": int(who[1:]), "response": "yes" if vote else "no"} for who, vote in cell.items()]}
            for sentence, cell in zip(row["sentences"], row["human"]["sentence_labels"], strict=True)]}
        for row in rows
    ]  # fmt: skip
    data = load(put(tmp_path / f"mturk_{name}.jsonl", released), preset="qags")
    assert (len(data), len(data.documents)) == (count, count)
    read = by_summary(flat_rows(data))
    for key, row in by_summary(rows).items():
        assert read[key]["human"]["sentence_labels"] == row["human"]["sentence_labels"]
        assert read[key]["domain"] == row["domain"]


def test_summeval(shared: Path, tmp_path: Path) -> None:
    rows = converted(shared, "shen2023")
    released = [
        {"id": row["doc_id"], "model_id": row["system"], "decoded": row["summary"], "references": row["references"],
         **{column: [dict(zip(ratings, values, strict=True))
                     for values in zip(*(cell.values() for cell in ratings.values()), strict=True)]
            for column, ratings in (("expert_annotations", row["human"]["ratings"]),
                                    ("turker_annotations", row["human"]["crowd_ratings"]))}}
        for row in rows
    ]  # fmt: skip
    texts = {row["doc_id"].rpartition("-")[2]: row["document"] for row in rows}
    files = [put(tmp_path / "aligned.jsonl", released)]
    documents = put(tmp_path / "articles.jsonl", ({"id": name, "article": text} for name, text in texts.items()))
    data = load(files, preset="summeval", documents=documents)
    assert (len(data), len(data.documents)) == (1200, 100)
    read = by_summary(flat_rows(data))
    for key, row in by_summary(rows).items():
        assert read[key]["document"] == row["document"]
        for block in ("ratings", "crowd_ratings"):
            for aspect, cell in row["human"][block].items():
                assert list(read[key]["human"][block][aspect].values()) == list(cell.values())


def realsumm(rows: Rows, root: Path) -> Iterator[Path]:
    """Write the files of REALSumm for flat rows: pickles, votes per system, key facts and articles."""
    documents = list(dict.fromkeys(row["doc_id"] for row in rows))
    pickles: dict[str, dict[int, Any]] = {"abs": {}, "ext": {}}
    facts: dict[str, list[str]] = {}
    hits: dict[tuple[str, str], Rows] = {}
    for row in rows:
        kind, _, system = row["system"].partition("_")
        number, facts[row["doc_id"]] = documents.index(row["doc_id"]), row["key_facts"]
        marked = " ".join(f"<t> {sentence} </t>" for sentence in row["sentences"])
        record = pickles[kind].setdefault(number, {"ref_summ": f"<t> {row['reference']} </t>", "system_summaries": {}})
        record["system_summaries"][f"{system}.txt"] = {"system_summary": marked, "scores": {}}
        labels = row["human"]["key_fact_labels"]
        for who in labels[0]:
            answers = {f"Answer.S{n + 1}Answer": "p" if cell[who] else "n" for n, cell in enumerate(labels)}
            questions = {"Input.eventId": row["doc_id"], "Input.qIdList": str([f"{n}" for n in range(16)])}
            empty = {f"Answer.S{n}Answer": "" for n in range(1, 17)}
            hits.setdefault((kind, system), []).append({**questions, "Input.summary_text": marked, **empty, **answers})
    for kind, content in pickles.items():
        yield write(root / f"{kind}.pkl", pickle.dumps(content))
    for (kind, system), own in hits.items():
        yield write(root / f"SCU_rating_results_{kind}_systems" / f"{system}.csv", own)
    scus = [{"eventId": doc_id, "questionId": n, "questionText": own[n] if n < len(own) else "BLANK",
             "answer": "Y" if n < len(own) else "N"} for doc_id, own in facts.items() for n in range(16)]  # fmt: skip
    yield write(root / "SCUs_list.csv", scus)
    texts = {row["doc_id"]: row["document"] for row in rows}
    yield write(root / "ptr_generator" / "src.txt", "\n".join(texts[doc_id] for doc_id in documents).encode())


def labels_of(data: Dataset) -> int:
    return sum(len(row["human"]["key_fact_labels"]) for row in flat_rows(data))


def test_realsumm(shared: Path, tmp_path: Path) -> None:
    rows = converted(shared, "realsumm")
    data = load(list(realsumm(rows, tmp_path / "realsumm")), preset="realsumm")
    assert (len(data), len(data.documents), len(data.systems), labels_of(data)) == (2500, 100, 25, 26400)
    assert data.warnings == ()
    read = by_summary(flat_rows(data))
    for key, row in by_summary(rows).items():
        assert read[key]["key_facts"] == row["key_facts"]
        assert votes(read[key]["human"]["key_fact_labels"]) == votes(row["human"]["key_fact_labels"])
        assert read[key]["document"] == row["document"].strip()


def test_finesure(shared: Path, tmp_path: Path) -> None:
    rows = converted(shared, "finesure_samples")
    factuality, facts = [], []
    for row in rows:
        renamed = {"domain": "source", "system": "model", "document": "transcript"}
        kept = ("doc_id", "domain", "split", "system", "document", "reference", "sentences")
        common = {renamed.get(name, name): row[name] for name in kept}
        human = row["human"]
        if "sentence_labels" in human:
            people = list(human["sentence_labels"][0])
            own = {who: {"factuality_labels": [1 - cell[who] for cell in human["sentence_labels"]]} for who in people}
            factuality.append(common | {"raw_annotations": own})
        else:
            people = list(human["key_fact_labels"][0])
            own = {who: {"key_fact_labels": [cell[who] for cell in human["key_fact_labels"]]} for who in people}
            facts.append((common | {"raw_annotations": own}, row["key_facts"]))
    lists = put(tmp_path / "human-keyfact-list.json",
                ({"doc_id": row["doc_id"], "key_facts": own} for row, own in facts))  # fmt: skip
    frank = load(put(tmp_path / "frank-data.json", factuality), preset="finesure")
    real = load([put(tmp_path / "realsumm-data.json", (row for row, _ in facts)), lists], preset="finesure")
    read = by_summary([*flat_rows(frank), *flat_rows(real)])
    assert (len(frank), len(real)) == (10, 10)
    for key, row in by_summary(rows).items():
        for block in ("sentence_labels", "key_fact_labels"):
            assert read[key]["human"].get(block) == row["human"].get(block)
