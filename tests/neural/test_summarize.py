"""Local encoder-decoders (BART, T5) as summarizers, with small random networks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from neural import checkpoints

from summeter.benchmark.step import Manifest, read_log, run_step
from summeter.benchmark.summarize import STEP, SummarizeSettings
from summeter.data.dataset import Dataset, load

DOCUMENTS = [
    {"doc_id": "a", "document": "It rained on Monday. The river rose."},
    {"doc_id": "b", "document": "The shop opened. Many came. All were glad."},
]


def written(folder: Path, models: dict[str, str], **settings: Any) -> tuple[Manifest, Dataset, dict[str, int]]:
    """Return the step's manifest, its data, and the counts of the local models."""
    rows = folder / "documents.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in DOCUMENTS))
    chosen = SummarizeSettings(models=models, max_new_tokens=12, beams=2, **settings)
    manifest = run_step(STEP, rows, folder / "out", chosen)
    usage = [row["usage"] for row in read_log(folder) if "usage" in row][-1]
    return manifest, load(folder / "out"), next(counts for counts in usage.values() if "computed" in counts)


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_a_local_system_writes_what_its_network_generates(kind: str, tmp_path: Path) -> None:
    import transformers

    folder = checkpoints.seq2seq(tmp_path / kind, kind, seed=4)
    rules = tmp_path / "rules.jsonl"
    rules.write_text('{"reply": {"summary": "One thing."}}\n')
    models = {"lead": f"scripted/{rules}", kind: f"local/{folder}", "asked": f"local/{folder}"}
    manifest, data, usage = written(tmp_path, models, prefixes={"asked": "sum: "})
    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    texts = {(each.document_id, each.system): each.text for each in data.summaries}
    for row in DOCUMENTS:
        for system, prefix in ((kind, ""), ("asked", "sum: ")):
            inputs = tokens(prefix + row["document"], return_tensors="pt", truncation=True)
            ids = network.generate(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], do_sample=False,
                max_new_tokens=12, num_beams=2,
            )[0]  # fmt: skip
            text = tokens.decode(ids, skip_special_tokens=True).strip()
            key = (row["doc_id"], system)
            assert texts[key].strip() == text if key in texts else not any(map(str.isalnum, text))
    assert usage["asked"] == 4
    assert sum(sum(counts.values()) for counts in manifest.details["by_system"].values()) == 6
    again, same, usage = written(tmp_path, models, prefixes={"asked": "sum: "})
    assert (again.files, same.summaries) == (manifest.files, data.summaries)
    assert usage["computed"] == 0  # the store answers


def test_a_local_system_beside_a_hosted_one_is_given_no_length(tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    rules.write_text('{"reply": {"summary": "One thing. Another thing."}}\n')
    folder = checkpoints.seq2seq(tmp_path / "bart", "bart", seed=4)
    models = {"lead": f"scripted/{rules}", "bart": f"local/{folder}", "other": f"scripted/{rules}"}
    _, data, _ = written(tmp_path, models)
    asked = {(each.system, each.extra["asked_sentences"]) for each in data.summaries}
    assert {("lead", None), ("other", 2)} <= asked
    assert ("bart", 2) not in asked
