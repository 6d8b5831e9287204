"""LettuceDetect: a small random ModernBERT gives the tokens and spans of the released method, on torch and ONNX."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from neural import checkpoints

import summeter as sm
from summeter.records import Judgment, UsageError

LIMIT = 256
LONG = "Ada sold the mill. " * 4 + "It rained in June. " * 4
TOO_LONG = "It rained in May. " * 30
ROWS = [
    {"doc_id": "a", "document": LONG, "summary": " Ada sold it. \n It rained, and she saw a boat."},
    {"doc_id": "b", "document": TOO_LONG, "summary": "Zoë left Köln 😀. No."},
    {"doc_id": "c", "document": "It rained.", "summary": "No"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("torch", "transformers"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")
    return checkpoints.modernbert(tmp_path_factory.mktemp("lettuce") / "net", seed=3)


def released(folder: Path, document: str, summary: str) -> tuple[list[tuple[int, int]], list[float]]:
    """Return the offsets of the summary's tokens and the probability that each is unsupported."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    encoded = tokenizer(
        f"Summarize the following text:\npassage 1: {document}\noutput:", summary, truncation="only_first",
        max_length=LIMIT, return_offsets_mapping=True, return_tensors="pt",
    )  # fmt: skip
    offsets = encoded.pop("offset_mapping")[0].tolist()
    first = len(offsets) - len(tokenizer(summary, add_special_tokens=False)["input_ids"]) - 1
    with torch.inference_mode():
        logits = network(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits[0]
    return [tuple(pair) for pair in offsets[first:-1]], torch.softmax(logits, -1)[first:-1, 1].tolist()


def spans_of(offsets: list[tuple[int, int]], risks: list[float], text: str) -> list[str]:
    """Return the runs of tokens whose second output is the higher one, without white space at their ends."""
    found: list[list[int]] = []
    before = False
    for (start, end), risk in zip(offsets, risks, strict=True):
        if start == end:
            continue
        if risk > 0.5 and before:
            found[-1][1] = end
        elif risk > 0.5:
            found.append([start, end])
        before = risk > 0.5
    return [bare for start, end in found if (bare := text[start:end].strip())]


def judged(spec: str, folder: Path, out: Path) -> dict[str, list[Judgment]]:
    run = sm.evaluate(ROWS, [spec], models={"lettucedetect": f"local/{folder}[max_tokens={LIMIT}]"}, out=out)
    found: dict[str, list[Judgment]] = {}
    for row in run.judgments():
        found.setdefault(row.target.document_id, []).append(row)
    return found


def values(rows: dict[str, list[Judgment]]) -> list[Any]:
    return [row.value for name in sorted(rows) for row in sorted(rows[name], key=lambda row: row.target.index or -1)]


def test_it_equals_the_released_method_on_torch_and_onnx(folder: Path, tmp_path: Path) -> None:
    found = judged("lettucedetect", folder, tmp_path / "torch")
    flagged = 0
    for row in ROWS:
        offsets, risks = released(folder, row["document"], row["summary"])
        whole, *sentences = sorted(found[row["doc_id"]], key=lambda one: one.target.unit == "sentence")
        assert whole.value == pytest.approx(1 - max(risks), abs=1e-4)
        quoted = [span.cut(row["summary"]) for span in whole.evidence]
        assert quoted == spans_of(offsets, risks, row["summary"])
        assert min(one.value for one in sentences if one.value is not None) == pytest.approx(whole.value)
        assert {span.of for span in whole.evidence} <= {"summary"}
        assert (whole.truncated_tokens is None) == (row["doc_id"] != "b")
        flagged += len(quoted)
    assert flagged > 1
    prompt = f"Summarize the following text:\npassage 1: {TOO_LONG}\noutput:"
    size = len(prompt) + len(ROWS[1]["summary"].encode()) + 4
    assert {row.truncated_tokens for row in found["b"]} == {size - LIMIT}, "a letter is a token of this tokenizer"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = checkpoints.to_onnx(folder, tmp_path / "onnx", "logits", tokens=True)
    assert values(judged("lettucedetect", fast, tmp_path / "fast")) == pytest.approx(values(found), abs=1e-4)


def test_a_word_is_supported_if_any_chunk_supports_it(folder: Path, tmp_path: Path) -> None:
    rows = judged("lettucedetect[chunk=80]", folder, tmp_path / "run")
    # A sentence has 18 letters, so a chunk has four sentences.
    parts = [LONG[: len(LONG) // 2].strip(), LONG[len(LONG) // 2 :].strip()]
    risks = np.min([released(folder, part, ROWS[0]["summary"])[1] for part in parts], axis=0)
    whole = {name: next(row for row in rows[name] if row.target.unit == "summary") for name in rows}
    assert whole["a"].value == pytest.approx(1 - risks.max(), abs=1e-4)
    assert whole["b"].truncated_tokens is None, "all chunks are read"


def test_another_language_is_refused(folder: Path, tmp_path: Path) -> None:
    named = shutil.copytree(folder, tmp_path / "lettucedect-210m-eurobert-de-v1")
    with pytest.raises(UsageError, match=r"is de: use lettucedetect\[lang=de\]"):
        judged("lettucedetect", named, tmp_path / "run")
    assert values(judged("lettucedetect[de]", named, tmp_path / "german")) != values(
        judged("lettucedetect[hu]", folder, tmp_path / "other")
    )
