"""Settings files that are refused: the exit code, and the line and field of the fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark.chains import command
from together import together

RUN = {
    "summarise: {}": "2: summarise",
    "source:\n  sources:\n    n: {path: x, pth: y}": "4: source.sources.n.pth",
    "source:\n  sources:\n    n: {domain: x}": "4: source.sources.n.path",
    "source: {sources: {n: {path: x, share: 'no'}}}": "2: source.sources.n.share",
    "source: {sources: {}}": "2: source.sources",
    "source: {sources: {a/b: x}}": "2: source",
    "source: {sources: {a: ''}}": "2: source.sources.a.path",
    "source: {sources: {a: x}, min_words: 5, max_words: 4}": "2: source: max_words",
    "source: {sources: {a: x}, on_fault: keep-valid}": "2: source.on_fault",
    "input: x\nsource: {sources: {n: x}}": "2: input",
    "summarize: 7": "2: summarize",
    "summarize: {models: {a: b/c}}": "1: input",
    "input: x\nsummarize:\n  models: {a: b/c}\n  word: 7": "5: summarize.word",
    "input: x\nsummarize:\n  models: {a: b/c}\n  words: 0": "5: summarize.words",
    "input: x\nsummarize: {models: {}}": "3: summarize.models",
    "input: x\nsummarize: {models: {s: o/m}, length_from: bigg}": "3: summarize: length_from",
    "input: x\nsummarize: {models: {s: o/m}, free: [who]}": "3: summarize: free",
    "input: x\nsummarize: {models: {s: o/m}, categories: {t: large}}": "3: summarize: categories",
    "input: x\nsummarize: {models: {s: o/m}, prefixes: {t: x}}": "3: summarize: prefixes",
    "input: x\nsummarize: {models: {s: o/m}, prefixes: {s: x}}": "3: summarize: prefixes: 's' is not a local",
    "name: b\ninput: x\nsummarize: {models: {a: b/c}}": "2: name",
    "input: x\ndetect: {detector: finesur}": "3: detect.detector",
    "input: x\ndetect: {detector: {run: x, models: {judge: a/b}}}": "3: detect.detector: run",
    "input: x\ndetect: {detector: {options: {temprature: 1}}}": "3: detect.detector.options",
    "input: x\nfacts: {models: {judge: x/y, validators: x/y}}": "3: facts: models",
    "input: x\nfacts: {models: {validator: x/y}}": "3: facts: models",
    "input: x\nfacts: {models: {}}": "3: facts.models",
    "input: x\nrelease: {splits: {dev: 0.5, test: 0.9}}": "3: release.splits",
    "input: x\nrelease: {datasheet: {purpos: To test.}}": "3: release.datasheet.purpos",
    "input: x\nannotate: {simulate: {annotators: 1, lazy: 2}}": "3: annotate.simulate: lazy",
}
"""The lines after `name: a`, and the line and field of the fault."""

CAMPAIGNS = {
    "x: {task_type: fact_verifikation}": "campaigns.x.task_type",
    "x: {task_type: rating, attention: {rate: 2}}": "campaigns.x.attention.rate",
    "x: {task_type: rating, dat: 1}": "campaigns.x.dat",
    "x: {task_type: rating, data: y}": "campaigns.x: data",
    "x: {}": "campaigns.x.task_type",
    "x: {task_type: rating, arms: [verdict]}": "campaigns.x.arms",
    "x: {task_type: fact_verification, arms: [label]}": "campaigns.x.arms",
    "x: {task_type: key_fact_validation}, y: {task_type: key_fact_validation}": "campaigns: x and y",
    "validated: {task_type: rating}": "campaigns: 'validated'",
    "a-verdict: {task_type: rating}, a: {task_type: fact_verification, arms: [verdict]}": "campaigns: 'a-verdict'",
}
RUN |= {f"input: x\nannotate: {{campaigns: {{{text}}}}}": f"3: annotate: {field}" for text, field in CAMPAIGNS.items()}

PROTOCOL = {
    "protocol: [": "2",
    "- a": "",
    "protocol: x": "1: data",
    "protocol: x\ndata: y\nevaluator: z": "3: evaluator",
    "protocol: x\ndata: y\noptions: {limt: 3}": "3: options",
    "protocol: x\ndata:": "2: data",
    "protocol: x\ndata: y\nscores: A": "3: scores",
    "protocol: x\ndata: y\nthresholds: true": "3: thresholds",
    "protocol: x\ndata: y\nresamples: 100000000": "3: resamples",
    "protocol: own\ndata: y\naspect: faithfulness": "3: aspect",
}

SETS = "title: t\nsets: {news: {data: d.jsonl, aspect: a, statistic: auroc}}\njudges: "
BOARD = {
    "title: t\nsets: {news: {data: d, aspect: a, statistic: kendal_b}}\njudges: {m: {evaluator: rouge, needs: LLM}}": (
        "2: sets.news.statistic"
    ),
    "title: t\nsets: {news: {data: d, aspect: a, statistic: auroc, options: {levl: 1}}}\njudges: {}": (
        "2: sets.news.options"
    ),
    f"{SETS}{{mine: {{needs: LLM}}}}": "3: judges: mine",
    f"{SETS}{{mine: {{needs: LLM, runs: {{nws: mine}}}}}}": "3: judges: mine",
    f"{SETS}{{mine: {{needs: magic, runs: {{news: mine}}}}}}": "3: judges.mine.needs",
    f"{SETS}{{../mine: {{needs: LLM, evaluator: length}}}}": "3: judges: '../mine'",
    f"{SETS}{{mine: {{needs: LLM, evaluator: lenght}}}}": "3: judges.mine.evaluator",
}

FILES = [
    *(("run", f"name: a\n{text}\n", place) for text, place in RUN.items()),
    ("run", "input: x\nsummarize: {models: {a: b/c}}\n", "1: name"),
    ("run", "name: a\n", ""),
    ("run", "- a\n", ""),
    *(("protocol", f"{text}\n", place) for text, place in PROTOCOL.items()),
    *(("leaderboard", f"{text}\n", place) for text, place in BOARD.items()),
]


@together("verb, text, place", FILES)
def test_a_faulty_file_has_line_and_field(
    verb: str, text: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text, "utf-8")
    assert command("bench", verb, file, "-o", tmp_path / "out") == 2
    assert f"{file}:{place}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
