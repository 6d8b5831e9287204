"""A run's files, flipped, cut, deleted, zeroed and filled with garbage: nothing is lost unsaid, and `score` mends it.

Reading commands give what they gave before, or end with 2 and say why; `score` again ends in the scores of the run
undisturbed, or says why it cannot.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from cli.commands import ends

from fuzz import Check

ROWS = [
    {
        "doc_id": f"d{number}", "system": system, "key_facts": [f"Boat {number} was sold."],
        "document": f"Ana sold boat {number} on Monday. Everybody came to see it. It rained all the {number} hours.",
        "summary": f"Boat {number} was sold. {text}", "human": {"overall": {"faithfulness": number % 2}},
    }
    for number in range(4)
    for system, text in (("aster", "It rained."), ("birch", "Nobody came to see it on that Monday."))
]  # fmt: skip
RULES = [
    {"match": "Boat 3", "reply": "I would rather not."},
    {"match": ["Boat 2", "Nobody"], "error": "model"},
    {"match": "key facts", "reply": {"key_facts": ["Ana sold a boat.", "Everybody came."]}},
    {"reply": {"reason": "Grammatical.", "score": 4}},
]
JUDGES = (
    "support", "abstractiveness", "rts[aspect=fluency]", "finesure.key_facts",
    "ensemble[of=rts+mcq,aspect=fluency]",
)  # fmt: skip
TWICE = 2  # each damage in one or two places


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, the rules of a scripted model, and a finished run."""
    folder = tmp_path_factory.mktemp("damage")
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    (folder / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in RULES), encoding="utf-8")
    return folder


def score(place: Path, run: Path) -> int:
    judges = [word for name in JUDGES for word in ("-e", name)]
    return ends("score", place / "data.jsonl", *judges, "-m", f"scripted/{place / 'rules.jsonl'}", "-o", run, "--quiet")


def scores(run: Path) -> list[bytes]:
    """The rows of scores.csv, which come in another order where the lines of judgments do."""
    return sorted((run / "scores.csv").read_bytes().splitlines())


def damaged(content: bytes, random: Random) -> bytes:
    """The content after a damage that a disk or a person may do."""
    start = random.randrange(len(content) + 1)
    end = min(len(content), start + random.choice((1, 16, 300, 4096)))
    lines = content.splitlines(keepends=True)
    random.shuffle(lines)
    flipped = bytes([content[start] ^ 1 << random.randrange(8)]) if start < len(content) else b"\n"
    kinds = {
        "flip": content[:start] + flipped + content[start + 1 :],
        "cut": content[:start],
        "hole": content[:start] + content[end:],
        "zeros": content[:start] + bytes(end - start) + content[end:],
        "garbage": content[:start] + random.randbytes(end - start) + content[end:],
        "twice": content[:end] + content[start:],
        "lines": b"".join(lines[: random.randint(0, len(lines))]),
    }
    return kinds[random.choice(("flip", "flip", *kinds))]


def test_damaged_runs(
    place: Path, fuzz: Callable[[Check], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.disable(logging.CRITICAL)
    run = tmp_path / "run"
    assert score(place, run) == 0
    sound = scores(run)
    gate = ("gate", run, "--min", "faithfulness=0", "--json")
    capsys.readouterr()
    before = ends(*gate), capsys.readouterr().out
    assert before[0] == 4  # one item could not be judged
    shutil.copytree(run, tmp_path / "sound")
    files = sorted(file.relative_to(run) for file in run.rglob("*") if file.is_file() and file.name != ".lock")

    def broken(random: Random) -> None:
        shutil.rmtree(run)
        shutil.copytree(tmp_path / "sound", run)
        for name in random.sample(files, random.randint(1, TWICE)):
            if random.random() < 0.1:
                (run / name).unlink()
            else:
                (run / name).write_bytes(damaged((run / name).read_bytes(), random))

    def check(random: Random) -> None:
        broken(random)
        capsys.readouterr()
        code = ends(*gate)
        out, err = capsys.readouterr()
        assert (code, out) == before or (code == 2 and err.startswith("summeter: ")), (code, out, err)
        code = ends("report", run)
        assert code == 0 or (code == 2 and capsys.readouterr().err.startswith("summeter: "))
        shutil.copytree(run, tmp_path / "broken", dirs_exist_ok=True)
        code = ends("rescore", run)
        assert (code == 0 and scores(run) == sound) or code == 2, code
        code = score(place, run)
        err = capsys.readouterr().err
        assert code in (0, 1, 2), (code, err)
        if code:
            assert "summeter: " in err, err
        else:
            assert scores(run) == sound
            assert (ends(*gate), capsys.readouterr().out) == before

    fuzz(check)
    logging.disable(logging.NOTSET)
