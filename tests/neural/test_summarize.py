"""Local encoder-decoders as summarizers: BART's and T5's loading code on small random networks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from neural import checkpoints

from summeter.benchmark import Summarizing, summarize
from summeter.models.networks import Generation

DOCUMENTS = [
    {"doc_id": "a", "document": "It rained on Monday. The river rose."},
    {"doc_id": "b", "document": "The shop opened. Many came. All were glad."},
]
HOW = Generation(max_new_tokens=12, num_beams=2)


def written(out: Path) -> dict[tuple[str, str], str]:
    rows = [json.loads(line) for line in (out / "summaries.jsonl").read_text().splitlines()]
    return {(row["doc_id"], row["system"]): row["summary"] for row in rows}


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_a_local_system_writes_what_its_network_generates(kind: str, tmp_path: Path) -> None:
    import transformers

    folder = checkpoints.seq2seq(tmp_path / kind, kind, seed=4)
    model = f"local/{folder}"
    settings = Summarizing({kind: model, "asked": model}, prefixes={"asked": "sum: "}, generation=HOW)
    outcome = summarize(DOCUMENTS, settings, tmp_path / "out")
    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    texts = written(tmp_path / "out")
    missing = {(lost.document.id, lost.system) for lost in outcome.missing}
    assert len(texts) + len(missing) == 4
    for row in DOCUMENTS:
        for system, prefix in ((kind, ""), ("asked", "sum: ")):
            inputs = tokens(prefix + row["document"], return_tensors="pt", truncation=True)
            ids = network.generate(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], do_sample=False,
                max_new_tokens=12, num_beams=2,
            )[0]  # fmt: skip
            text = tokens.decode(ids, skip_special_tokens=True).strip()
            key = (row["doc_id"], system)
            assert texts.get(key, "").strip() == text if key not in missing else not any(map(str.isalnum, text))
    about = json.loads((tmp_path / "out" / "summarize.json").read_text())
    (local,) = about["usage"].values()
    assert local["asked"] == 4
    assert sum(sum(counts.values()) for counts in about["by_system"].values()) == 4
    again = summarize(DOCUMENTS, settings, tmp_path / "out")
    assert written(tmp_path / "out") == texts
    assert len(again.missing) == len(missing)
    (local,) = json.loads((tmp_path / "out" / "summarize.json").read_text())["usage"].values()
    assert local["computed"] == 0  # the store answers


def test_a_local_system_beside_a_hosted_one_is_told_no_length(tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    rules.write_text('{"reply": {"summary": "One thing. Another thing."}}\n')
    folder = checkpoints.seq2seq(tmp_path / "bart", "bart", seed=4)
    models = {"lead": f"scripted/{rules}", "bart": f"local/{folder}", "other": f"scripted/{rules}"}
    summarize(DOCUMENTS, Summarizing(models, generation=HOW), tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out" / "summaries.jsonl").read_text().splitlines()]
    asked = {(row["system"], row["asked_sentences"]) for row in rows}
    assert {("lead", None), ("other", 2)} <= asked
    assert ("bart", 2) not in asked
