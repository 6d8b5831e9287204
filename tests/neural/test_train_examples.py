"""The training scripts in examples/: judges use their output, and interrupted training resumes."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import os
import random
import runpy
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import summeter as sm

pytest.importorskip("accelerate", reason="needs accelerate: make neural")

EXAMPLES = Path(__file__).parents[2] / "examples"
WORDS = ("ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "rs", "tu", "vw", "xy")
OPTIONS = ("--learning-rate", 3e-3, "--batch", 8, "--save-steps", 25, "--epochs", 4)


def ran(script: str, *arguments: object) -> str:
    """Run the script in this process and return its output."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setattr(sys, "argv", [script, *map(str, arguments)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    return out.getvalue()


def written(file: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    with (gzip.open if file.suffix == ".gz" else open)(file, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return file


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def pairs(premises: int = 100, seed: int = 3) -> list[dict[str, str]]:
    """Return NLI pairs: half of the words are entailed by all premises, the others by none."""
    draw = random.Random(seed)
    rows = []
    for number in range(premises):
        premise, source = " ".join(draw.sample(WORDS, 4)), f"made:{number % 2}"
        for hypothesis, label in (
            (draw.choice(WORDS[:6]), "entail"),
            (draw.choice(WORDS[6:]), ["not", "contradict"][number % 2]),
        ):
            rows.append({"premise": premise, "hypothesis": hypothesis, "label": label, "source": source})
    return rows


@pytest.fixture(scope="module")
def trained(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("nli")
    data = written(folder / "pairs.jsonl.gz", pairs())
    dev = written(folder / "dev.jsonl", pairs(40, seed=4))
    out = ran("train_nli.py", data, "--model", folders / "encoder", "--dev", dev, "-o", folder / "nli", *OPTIONS)
    return folder / "nli", out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run of `factscore` with a scripted extractor that splits summaries at "and"."""
    folder = tmp_path_factory.mktemp("claims")
    draw = random.Random(5)
    rows, rules = [], []
    for number in range(40):
        halves = [" ".join(draw.choices(WORDS, k=3)) for _ in range(2)]
        summary = f"{' and '.join(halves)} {number}."
        rows.append({"document": f"{' '.join(draw.choices(WORDS, k=14))} {number}.", "summary": summary})
        rules.append({"match": summary, "reply": {"claims": [halves[0], f"{halves[1]} {number}"]}})
    extractor = written(folder / "extractor.jsonl", rules)
    judge = written(folder / "judge.jsonl", [{"reply": "no idea"}])
    models = {"extractor": f"scripted/{extractor}", "judge": f"scripted/{judge}"}
    sm.evaluate(rows, ["factscore"], models=models, out=folder / "run")
    return folder / "run"


class TestNli:
    def test_the_evaluation_is_reported_by_source(self, trained: tuple[Path, str]) -> None:
        out = trained[1]
        values = json.loads(out[out.index("{\n") :])
        assert {"eval_auroc", "eval_accuracy made:0", "eval_auroc made:1"} <= values.keys()
        assert values["eval_auroc"] > 0.8

    def test_summac_uses_the_trained_network(self, trained: tuple[Path, str]) -> None:
        rows = [
            {"document": "ab cd ef gh.", "system": name, "summary": text}
            for name, text in (("true", "ef."), ("false", "rs."))
        ]
        run = sm.evaluate(rows, ["summac"], models={"nli": f"local/{trained[0]}"})
        values = {score.system: score.value for score in run.scores()}
        assert values["true"] > values["false"]

    def test_a_resumed_training_gives_the_same_weights(self, folders: Path, tmp_path: Path) -> None:
        data = written(tmp_path / "pairs.jsonl", pairs(60))
        options = (data, "--model", folders / "encoder", "--learning-rate", 1e-3, "--batch", 8, "--save-steps", 4,
                   "--epochs", 3)  # fmt: skip
        command = [sys.executable, str(EXAMPLES / "train_nli.py"), *map(str, options), "-o", str(tmp_path / "killed")]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
        while not (tmp_path / "killed.checkpoints" / "checkpoint-20" / "trainer_state.json").is_file():
            assert child.poll() is None
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert not (tmp_path / "killed").exists()
        assert "checkpoint-" in ran("train_nli.py", *options, "-o", tmp_path / "killed")
        ran("train_nli.py", *options, "-o", tmp_path / "whole")
        assert weights(tmp_path / "killed") == weights(tmp_path / "whole")

    def test_a_second_stage_starts_from_the_first(self, trained: tuple[Path, str], tmp_path: Path) -> None:
        data = written(tmp_path / "pairs.jsonl", pairs(20, seed=5))
        dev = written(tmp_path / "dev.jsonl", pairs(40, seed=4))
        out = ran("train_nli.py", data, "--model", trained[0], "--dev", dev, "-o", tmp_path / "nli",
                  "--learning-rate", 1e-9, "--save-steps", 2)  # fmt: skip
        assert json.loads(out[out.index("{\n") :])["eval_auroc"] > 0.8

    def test_the_loss_and_the_mix(self) -> None:
        torch = pytest.importorskip("torch")
        script = runpy.run_path(str(EXAMPLES / "train_nli.py"))

        class Outputs:
            logits = torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]).log()

        labels = torch.tensor([script["ALLOWED"]["not"], script["ALLOWED"]["entail"]])
        wanted = -(math.log(0.3 + 0.2) + math.log(0.5)) / 2
        assert float(script["loss"](Outputs(), labels)) == pytest.approx(wanted)
        rows = [{"source": source, "at": at} for source in ("a", "b:x", "b:y", "c") for at in range(10)]
        mixed = script["mix"](rows, {"a": "2.5", "c": "0"}, {"b": "3"})
        assert [sum(row["source"][0] == name for row in mixed) for name in "abc"] == [25, 3, 0]
        with pytest.raises(SystemExit, match="no row has the source 'd'; sources: a, b:x, b:y, c"):
            script["mix"](rows, {"d": "1"}, {})

    def test_an_invalid_row_is_reported_with_file_line_and_field(self, tmp_path: Path) -> None:
        rows = pairs(2)
        read = runpy.run_path(str(EXAMPLES / "train_nli.py"))["read"]
        rows[1]["label"] = "maybe"
        with pytest.raises(SystemExit, match=r"pairs.jsonl:2: label: 'maybe' is not one of entail, neutral"):
            read([written(tmp_path / "pairs.jsonl", rows)])


class TestErrorTypes:
    @staticmethod
    def labelled(documents: int) -> list[dict[str, Any]]:
        """Return labelled sentences: those with "zz" have an entity error, those with "yy" also an out-of-context
        error."""
        draw, rows = random.Random(2), []
        for number in range(documents):
            kinds = [draw.randrange(3) for _ in range(2)]
            sentences = [f"{draw.choice(WORDS)} {('ab', 'zz', 'zz yy')[kind]}." for kind in kinds]
            types = [("NoE", "EntE", "EntE+OutE")[kind] for kind in kinds]
            document, labels = f"{' '.join(draw.choices(WORDS, k=6))} {number}.", [{"ana": one} for one in types]
            rows.append({"document": document, "summary": " ".join(sentences), "sentences": sentences,
                         "human": {"sentence_labels": labels}})  # fmt: skip
        return rows

    def test_error_types_judges_with_it(self, folders: Path, tmp_path: Path) -> None:
        data = written(tmp_path / "labelled.jsonl", self.labelled(60))
        ran("train_error_types.py", data, "--model", folders / "bert", "-o", tmp_path / "types", "--epochs", 10,
            "--batch", 4, "--learning-rate", 2e-3)  # fmt: skip
        config = json.loads((tmp_path / "types" / "config.json").read_text("utf-8"))
        assert config["id2label"] == {"0": "no error", "1": "entity error", "2": "out-of-context error"}
        new = self.labelled(75)[60:]
        models = {"error_types": f"local/{tmp_path / 'types'}"}
        run = sm.evaluate(new, ["error_types"], models=models, out=tmp_path / "run")
        judgments = list(run.judgments())
        wanted = {
            (row.target.document_id, row.target.index): row.label
            for row in sm.load(new).iter_judgments("human.raw")
        }  # fmt: skip
        right = [row.label == wanted[row.target.document_id, row.target.index] for row in judgments]
        assert len(right) == 30
        assert sum(right) > 24
        assert {row.error_type for row in judgments} > {"no error"}
        assert all((row.label == 1) == (row.error_type == "no error") == (row.value == 1.0) for row in judgments)
        (pooled,) = [
            row for row in sm.meta.errors(run, sm.load(new)).rows
            if (row.details.get("group"), row.statistic) == ("all errors", "localisation_accuracy")
        ]  # fmt: skip
        assert pooled.value is not None
        assert pooled.value > 0.7
        again = sm.evaluate(new, ["error_types"], out=tmp_path / "again", replay=tmp_path / "run")
        assert [row.line for row in again.judgments()] == [row.line for row in run.judgments()]

    def test_a_classifier_without_nli_labels_is_refused(self, folders: Path) -> None:
        rows = [{"document": "ab cd.", "summary": "ab."}]
        with pytest.raises(
            sm.SummeterError, match="has the labels entailment, neutral, contradiction; error_types needs"
        ):
            sm.evaluate(rows, ["error_types"], models={"error_types": f"local/{folders / 'bert'}"})


class TestClaims:
    def test_fenice_extracts_claims_with_the_trained_network(self, run: Path, folders: Path, tmp_path: Path) -> None:
        read = runpy.run_path(str(EXAMPLES / "train_claims.py"))["read"]
        rows = read(run)
        assert len(rows) == 40
        assert {len(row["claims"]) for row in rows} == {2}
        out = ran("train_claims.py", run, "--model", folders / "t5", "-o", tmp_path / "claims", "--epochs", 2,
                  "--learning-rate", 3e-3)  # fmt: skip
        losses = [
            float(line.split("'eval_loss': '")[1].split("'")[0]) for line in out.splitlines() if "eval_loss" in line
        ]
        assert losses[-1] < losses[0]
        generation = json.loads((tmp_path / "claims" / "generation_config.json").read_text("utf-8"))
        assert generation["max_new_tokens"] == 512
        models = {"nli": f"local/{folders / 'bert'}", "seq2seq": f"local/{tmp_path / 'claims'}"}
        judged = sm.evaluate([{"document": "ab cd ef gh.", "summary": "ab cd and ef gh."}], ["fenice"], models=models)
        assert {row.judge for row in judged.judgments()} == {"fenice"}

    def test_an_invalid_row_is_reported_with_file_line_and_field(self, tmp_path: Path) -> None:
        read = runpy.run_path(str(EXAMPLES / "train_claims.py"))["read"]
        with pytest.raises(SystemExit, match=r"rows.jsonl:1: claims: must be a list of strings"):
            read(written(tmp_path / "rows.jsonl", [{"summary": "a", "claims": "a"}]))
