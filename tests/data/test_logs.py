"""Logs of evaluation tools, as small files in the layout that each tool writes, and `trust` on them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from data.files import write

import summeter as sm
from summeter.data.faults import Faults
from summeter.data.logs import read_log
from summeter.records import InputError, UsageError


def inspect_log(edited: bool = True) -> dict[str, Any]:
    """Two samples of two epochs; a person edited the score of the first."""
    samples: list[dict[str, Any]] = [
        {
            "id": name, "epoch": epoch, "input": "q", "target": "t", "metadata": {"topic": "x"},
            "output": {"model": "m", "choices": [], "completion": f"reply {name}"},
            "scores": {
                "grader": {"value": "C", "history": []},
                "parts": {"value": {"faith": 0.5, "cover": 3}, "history": []},
            },
        }
        for name in ("a", 2) for epoch in (1, 2)
    ]  # fmt: skip
    if edited:
        samples[0]["scores"]["grader"] = {
            "value": "I",
            "history": [
                {"value": "C", "provenance": None},
                {"value": "I", "provenance": {"author": "ann", "timestamp": "2026-01-01T00:00:00Z"}},
            ],
        }
    return {"version": 2, "status": "success", "eval": {"eval_id": "e", "model": "m"}, "plan": {}, "samples": samples}


def zipped(file: Path, log: dict[str, Any]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({k: v for k, v in log.items() if k != "samples"}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return file


def part(kind: str, score: float, metric: str | None = None) -> dict[str, Any]:
    return {"pass": score > 0, "score": score, "reason": "", "assertion": {"type": kind, "metric": metric}}


PROMPTFOO = {
    "evalId": "e",
    "results": {
        "version": 3,
        "results": [
            {
                "promptIdx": prompt, "testIdx": test, "provider": {"id": f"p{prompt}", "label": ""},
                "vars": {"document": "text", "label": 1}, "failureReason": failed, "response": {"output": "a reply"},
                "gradingResult": {
                    "score": 1,
                    "componentResults": [
                        part("llm-rubric", 0.5), part("llm-rubric", 0.25), part("equals", 1, "exact"), part("human", 1),
                    ],
                },
            }
            for prompt, test, failed in ((0, 0, 0), (1, 0, 1), (0, 1, 2))
        ],
    },
}  # fmt: skip
LM_EVAL = [
    {
        "doc_id": n, "doc": {"text": "t", "human": n}, "target": "t", "resps": [["r"]], "filtered_resps": ["r s"],
        "filter": name, "metrics": ["acc", "f1"], "acc": float(n), "f1": 0.5,
    }
    for n in (0, 1) for name in ("none", "strict")
]  # fmt: skip
EVALS: list[dict[str, Any]] = [
    {"spec": {"run_id": "r", "eval_name": "e", "completion_fns": ["gpt"]}},
    *(
        {"run_id": "r", "event_id": n, "sample_id": f"s{n // 2}", "type": kind, "data": data}
        for n, (kind, data) in enumerate([
            ("sampling", {"prompt": "p", "sampled": ["a reply"]}),
            ("metrics", {"choice": "B", "score": 0.5}),
            ("sampling", {"prompt": "p", "sampled": ["another"]}),
            ("metrics", {"choice": "A", "score": 1.0}),
        ])
    ),
    {"final_report": {}, "run_id": "r"},
]  # fmt: skip
LANGFUSE: dict[str, Any] = {
    "data": [
        {"id": "1", "traceId": "t", "name": "good", "value": 1, "dataType": "NUMERIC", "source": "EVAL"},
        {"id": "2", "traceId": "t", "name": "good", "value": 0, "dataType": "NUMERIC", "source": "ANNOTATION",
         "authorUserId": "ann"},
        {"id": "3", "traceId": "t", "observationId": "o", "name": "tone", "value": 2, "stringValue": "kind",
         "dataType": "CATEGORICAL", "source": "API"},
        {"id": "4", "traceId": "t", "name": "note", "value": "hm", "dataType": "TEXT", "source": "ANNOTATION"},
    ],
    "meta": {"page": 1},
}  # fmt: skip
PHOENIX: dict[str, Any] = {
    "data": [
        {"span_id": "s", "name": "good", "annotator_kind": "LLM", "result": {"label": "yes", "score": 0.75}},
        {"span_id": "s", "name": "good", "annotator_kind": "HUMAN", "user_id": "u",
         "result": {"label": "no", "score": None}},
    ],
    "next_cursor": None,
}  # fmt: skip
MLFLOW = [
    {
        "info": {
            "trace_id": "t", "response_preview": "a reply",
            "assessments": [
                {"assessment_name": "ok", "trace_id": "t", "source": {"source_type": kind, "source_id": name},
                 "feedback": {"value": value}, "valid": valid}
                for kind, name, value, valid in (
                    ("LLM_JUDGE", "gpt", True, True), ("HUMAN", "ann", True, False), ("HUMAN", "ann", False, True),
                )
            ],
        },
        "data": {"spans": []},
    }
]  # fmt: skip
LAYOUTS: list[tuple[str, Any, list[str], list[str], dict[str, Any]]] = [
    ("log.json", inspect_log(), ["grader", "parts.faith", "parts.cover"], ["grader (ann)"],
     {"item": "a (epoch 1)", "document": "a", "system": "m", "output": "reply a", "grader": 1, "grader (ann)": 0,
      "parts.faith": 0.5, "parts.cover": 3, "topic": "x"}),
    ("samples_t.jsonl", LM_EVAL, ["acc,none", "f1,none", "acc,strict", "f1,strict"], [],
     {"item": 0, "output": "r s", "acc,none": 0.0, "acc,strict": 0.0, "f1,none": 0.5, "f1,strict": 0.5, "text": "t",
      "human": 0}),
    ("out.json", PROMPTFOO, ["llm-rubric", "llm-rubric 2", "exact"], ["score (human)"],
     {"item": 0, "system": "p0", "output": "a reply", "llm-rubric": 0.5, "llm-rubric 2": 0.25, "exact": 1,
      "score (human)": 1, "document": "text", "label": 1}),
    ("evals.jsonl", EVALS, ["score"], [],
     {"item": "s0", "system": "gpt", "output": "a reply", "choice": "B", "score": 0.5}),
    ("scores.json", LANGFUSE, ["good", "tone"], ["good (ann)"], {"item": "t", "good": 1, "good (ann)": 0}),
    ("scores.jsonl", LANGFUSE["data"], ["good", "tone"], ["good (ann)"], {"item": "t", "good": 1, "good (ann)": 0}),
    ("spans.json", PHOENIX, ["good"], ["good (u)"], {"item": "s", "good": "yes", "good (u)": "no"}),
    ("traces.json", MLFLOW, ["ok"], ["ok (ann)"],
     {"item": "t", "document": "t", "output": "a reply", "ok": True, "ok (ann)": False}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "judges", "people", "first"), LAYOUTS)
def test_layouts(
    tmp_path: Path, name: str, content: Any, judges: list[str], people: list[str], first: dict[str, Any]
) -> None:
    faults = Faults(name)
    found = read_log(write(tmp_path / name, content), None, {}, faults)
    faults.stop()
    assert found is not None
    table = found[1]
    assert (table.judges, list(table.people), next(iter(table.rows.values()))) == (judges, people, first)
    assert len(table.rows) == {"log.json": 4, "spans.json": 1, "traces.json": 1}.get(name, 2)


def test_eval_files_are_as_json_and_damage_is_found(tmp_path: Path) -> None:
    file = zipped(tmp_path / "log.eval", inspect_log())
    tables = [
        read_log(each, None, {}, Faults("log")) for each in (file, write(tmp_path / "log.json", inspect_log()))
    ]  # fmt: skip
    assert tables[0] is not None
    assert tables[1] is not None
    assert tables[0][1].rows == tables[1][1].rows
    for content, message in ((file.read_bytes()[:-60], "not a complete zip file"), (b"{}", "not a complete zip file")):
        (tmp_path / "cut.eval").write_bytes(content)
        with pytest.raises(InputError, match=message):
            sm.trust(tmp_path / "cut.eval")
    with zipfile.ZipFile(tmp_path / "bad.eval", "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", "{")
    with pytest.raises(InputError, match=r"samples/1_epoch_1\.json: is damaged"):
        sm.trust(tmp_path / "bad.eval")


def test_eval_files_with_zstandard(tmp_path: Path) -> None:
    """The tool writes members of several frames; Python before 3.14 cannot, so that the method is set by hand."""
    pa = pytest.importorskip("pyarrow")
    frames = zipped(tmp_path / "log.eval", inspect_log())
    content = json.dumps(inspect_log()["samples"][0]).encode()
    packed = b"".join(pa.compress(half, "zstd", asbytes=True) for half in (content[:50], content[50:]))
    with zipfile.ZipFile(frames, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("samples/z.json", packed)
        member = archive.getinfo("samples/z.json")
        import zlib

        member.compress_type, member.file_size, member.CRC = 93, len(content), zlib.crc32(content)
    found = read_log(frames, None, {}, Faults("log"))
    assert found is not None
    assert len(found[1].rows) == 4


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", {**inspect_log(), "samples": {}}, r"samples: is .*must be a list"),
        ("a.json", {**inspect_log(), "samples": [{"id": 1, "scores": {"g": 1}}]}, r"samples\[0\]\.scores\.g: has no v"),
        ("a.jsonl", [LM_EVAL[0], {**LM_EVAL[1], "metrics": 1}], r"a\.jsonl:2: metrics: is .*must be a list"),
        ("a.jsonl", [LM_EVAL[0], {**LM_EVAL[2], "metrics": ["x"]}], r"a\.jsonl:2: x: is absent"),
        ("a.json", {"results": {"results": [{"promptIdx": 1}]}}, r"results\.results\[0\]\.testIdx: is absent"),
        ("a.jsonl", [EVALS[0], {"type": "match", "sample_id": "s"}], r"a\.jsonl:2: data: is absent"),
        ("a.json", {"data": [*LANGFUSE["data"], LANGFUSE["data"][0]]}, r"data\[4\]: is a second vote in 'good'"),
        ("a.json", {"data": [PHOENIX["data"][0], {"annotator_kind": "LLM"}]}, r"data\[1\]\.span_id: is absent"),
        ("a.json", [{"info": {"trace_id": "t", "assessments": [{}]}}], r"\[0\]\.info\.assessments\[0\]\.assessment_na"),
    ],
)  # fmt: skip
def test_unexpected_content_is_named(tmp_path: Path, name: str, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sm.trust(write(tmp_path / name, content))


def test_trust_on_scores_of_people_and_a_judge(tmp_path: Path) -> None:
    """The judge agrees with ann on 40 of 40 traces, and with ben on 30."""
    scores = []
    for n in range(40):
        votes = (("EVAL", None, n % 2), ("ANNOTATION", "ann", n % 2), ("ANNOTATION", "ben", n % 2 if n < 30 else 0))
        scores += [
            {"traceId": f"t{n}", "name": "good", "value": value, "source": source, "authorUserId": user}
            for source, user, value in votes
        ]
    file = write(tmp_path / "scores.jsonl", scores)
    study = sm.trust(file, resamples=50)
    assert study.one(statistic="agreement").value == 1.0
    assert "read as Langfuse scores: 40 items; judges: good; people: good (ann), good (ben)" in str(study)
    one = sm.trust(file, human=["good (ben)"], resamples=50)
    assert one.one(statistic="agreement").value == pytest.approx((35 / 40 - 0.5) / 0.5)
    two = write(tmp_path / "two.jsonl", [*scores, {**scores[0], "name": "kind"}, {**scores[1], "name": "tone"}])
    assert sm.trust(two, resamples=50).one(statistic="agreement").value == 1.0
    alone = write(tmp_path / "alone.jsonl", [each for each in scores if each["source"] == "EVAL"])
    with pytest.raises(UsageError, match="people's votes"):
        sm.trust(alone)
    with pytest.raises(UsageError, match="several judges: grader"):
        sm.trust(write(tmp_path / "log.json", inspect_log(edited=False)))


def test_votes_in_a_second_file(tmp_path: Path) -> None:
    events = EVALS[:1]
    events += [{"sample_id": f"s{n}", "type": "match", "data": {"correct": n % 2 == 0}} for n in range(40)]
    file = write(tmp_path / "evals.jsonl", events)
    wide = [{"sample_id": f"s{n}", "ann": n % 2 == 0, "ben": n % 2 == 0 or n < 10} for n in range(40)]
    long = [
        {"sample_id": each["sample_id"], "rater": name, "vote": each[name]} for each in wide for name in ("ann", "ben")
    ]
    for name, rows in (("wide.jsonl", wide), ("long.jsonl", [*long, {**long[0], "sample_id": "other"}])):
        reading = {"ratings": str(write(tmp_path / name, rows)), "on": "item=sample_id"}
        study = sm.trust(file, reading=reading, resamples=50)
        assert study.one(statistic="agreement").value == 1.0  # ties of ann and ben are left out
        ben = sm.trust(file, reading=reading, human=["ben"], resamples=50)
        assert ben.one(statistic="agreement").value == pytest.approx((35 / 40 - 0.5) / 0.5)
    assert "1 of 81 rows match no item" in " ".join(str(study).split())
    with pytest.raises(UsageError, match="no column identifies an item"):
        sm.trust(file, reading={"ratings": str(tmp_path / "wide.jsonl")})
    again = str(write(tmp_path / "again.jsonl", [wide[0], wide[0]]))
    with pytest.raises(InputError, match=r"again\.jsonl:2: ann: is a second vote of 'ann'"):
        sm.trust(file, reading={"ratings": again, "on": "item=sample_id"})
