"""Run a released package: reads a list of tasks as JSON and prints the results.

Runs in the interpreter of the package, without summeter.

Only the sources of weights and tokenizer (the given folder, read before timing starts) and of sentences, claims and
mentions (the given ones) are replaced. Pairs, batches, truncation, forward passes and scoring are those of the package.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
import types
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Given = dict[str, Any]
Result = dict[str, Any]


def timed(work: Callable[[], list[Any]]) -> tuple[list[Any], Result]:
    """Return the result of a function, with wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def loaders(module: Any, folder: str) -> None:
    """Make a module's AutoTokenizer and AutoModel return those of the folder, already loaded."""
    import transformers

    kept = {
        "AutoTokenizer": transformers.AutoTokenizer.from_pretrained(folder),
        "AutoModelForSequenceClassification":
            transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval(),
    }  # fmt: skip

    class Kept:
        def __init__(self, one: Any) -> None:
            self.one = one

        def from_pretrained(self, name: str) -> Any:
            del name
            return self.one

    for name, one in kept.items():
        setattr(module, name, Kept(one))


def fenice(given: Given) -> Result:
    """Run FENICE.score_batch."""
    import transformers  # noqa: F401 - it looks at what is installed, and the next lines would confuse it

    # Sentences and mentions are given. (fastcoref would not even import: its datasets wants a numpy that spaCy 3.7.4,
    # which fenice pins, does not run with.)
    nothing: dict[str, Any] = {"load": None, "download": None, "FCoref": None}
    for name in ("spacy", "spacy.cli", "fastcoref"):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(nothing, load=lambda *_, **__: None)
    coref_module = importlib.import_module("metric.coreference_resolution.coreference_resolution")
    nli_module = importlib.import_module("metric.nli.nli_aligner")
    module = importlib.import_module("metric.FENICE")
    loaders(nli_module, given["folder"])
    texts = {one["text"]: one for one in given["documents"]}
    claims = {one["text"]: one["claims"] for one in given["summaries"]}

    class Claims:
        def __init__(self, **_: Any) -> None:
            pass

        def process_batch(self, batch: list[str]) -> list[list[str]]:
            return [claims[one] for one in batch]

    class Mentions:
        def __init__(self, **_: Any) -> None:
            pass

        def predict(self, texts: list[str]) -> list[Any]:
            return [Clusters(one) for one in texts]

    class Clusters:
        def __init__(self, text: str) -> None:
            self.text = text

        def get_clusters(self, *, as_strings: bool) -> list[list[tuple[int, int]]]:
            del as_strings
            return [[(start, end) for start, end in one] for one in texts[self.text]["clusters"]]

    module.split_into_sentences_batched = lambda documents, **_: [
        [(one[start:end], start, end) for start, end in texts[one]["sentences"]] for one in documents
    ]
    module.ClaimExtractor = Claims
    coref_module.FCoref = Mentions
    counted = count_pairs(nli_module.NLIAligner)
    samples = [
        {"document": given["documents"][one["document"]]["text"], "summary": one["text"]} for one in given["summaries"]
    ]
    with tempfile.TemporaryDirectory() as place:  # the list of pronouns is read from the working directory
        (Path(place) / "data").mkdir()
        (Path(place) / "data" / "pronouns.txt").write_text("\n".join(given.get("pronouns", [])) + "\n")
        os.chdir(place)
        scorer = module.FENICE(**given.get("options", {}))
        found, spent = timed(lambda: scorer.score_batch(samples))
        os.chdir("/")
    scores = [
        {"score": float(one["score"]), "claims": [float(claim["score"]) for claim in one["alignments"]]}
        for one in found
    ]
    return {"version": version("FENICE"), "scores": scores, "pairs": counted["pairs"], **spent}


def count_pairs(aligner: Any) -> dict[str, int]:
    """Count the pairs that the network processes."""
    counted = {"pairs": 0}
    own = getattr(aligner, "own", aligner.process_batch)
    aligner.own = own

    def process_batch(self: Any, pairs: list[Any], **more: Any) -> Any:
        counted["pairs"] += len(pairs)
        return own(self, pairs, **more)

    aligner.process_batch = process_batch
    return counted


def summac(given: Given) -> Result:
    """Run SummaCZS.score, or SummaCConv.score with the given weights."""
    import numpy as np
    import torch
    from summac import model_summac as module

    loaders(module, given["folder"])
    module.model_map["given"] = {"model_card": given["folder"], "entailment_idx": 0, "contradiction_idx": 2}
    cut = {one["text"]: [one["text"][start:end] for start, end in one["sentences"]] for one in given["documents"]}
    cut |= {one["text"]: one["claims"] for one in given["summaries"]}
    module.nltk.tokenize.sent_tokenize = lambda text: cut[text]
    options = {"device": "cpu", "imager_load_cache": False, **given.get("options", {})}
    if "conv" in given:
        with tempfile.TemporaryDirectory() as place:
            weights = {name: torch.tensor(np.array(one, np.float32)) for name, one in given["conv"].items()}
            torch.save(weights, Path(place) / "conv.bin")
            scorer = module.SummaCConv(models=["given"], start_file=str(Path(place) / "conv.bin"), **options)
    else:
        scorer = module.SummaCZS(model_name="given", **options)
    sources = [given["documents"][one["document"]]["text"] for one in given["summaries"]]
    texts = [one["text"] for one in given["summaries"]]
    found, spent = timed(lambda: scorer.score(sources, texts)["scores"])
    pairs = sum(
        len(scorer.imager.build_chunk_dataset(source, text)[0]) for source, text in zip(sources, texts, strict=True)
    ) if "conv" not in given else 0  # fmt: skip
    return {"version": version("summac"), "scores": [float(one) for one in found], "pairs": pairs, **spent}


def bertscore(given: Given) -> Result:
    """Run BERTScorer.score for each summary against its document, or against all documents (`several`)."""
    from bert_score import BERTScorer

    options = given.get("options", {})
    if "counted" in given:
        options["idf_sents"] = given["counted"]
    with tempfile.TemporaryDirectory() as place:
        if "baseline" in given:
            options |= {"lang": "en", "baseline_path": str(Path(place) / "baseline.csv")}
            (Path(place) / "baseline.csv").write_text(given["baseline"])
        scorer = BERTScorer(model_type=given["folder"], device="cpu", nthreads=0, **options)
        if "baseline" in given:
            scorer.baseline_vals  # noqa: B018 - read before the file is gone
    every = [one["text"] for one in given["documents"]]
    references = [every if "several" in given else every[one["document"]] for one in given["summaries"]]
    texts = [one["text"] for one in given["summaries"]]
    found, spent = timed(lambda: [one.tolist() for one in scorer.score(texts, references)])
    return {"version": version("bert-score"), "scores": [list(one) for one in zip(*found, strict=True)], **spent}


SIDES = {"fenice": fenice, "summac": summac, "bert-score": bertscore}


def main() -> None:
    """Run `peer.py PACKAGE` with the tasks on standard input."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    out, sys.stdout = sys.stdout, sys.stderr  # the packages print
    json.dump([SIDES[sys.argv[1]](one) for one in json.load(sys.stdin)], out)


if __name__ == "__main__":
    main()
