"""Compare summeter with the released classes of BARTScore and UniEval on the same texts and small networks.

    python benchmarks/parity seq2seq --peers FOLDER [--write]

FOLDER contains `BARTScore/bart_score.py` of neulab/BARTScore, and `UniEval/` (`utils.py`, `metric/`) of
maszhongming/UniEval; both run unchanged on transformers 5. Sentences are given, so that splitters are not compared, and
texts are processed one by one, because padding changes the sixth digit. `--write` stores the results in
tests/neural/seq2seq.json, with which tests/neural/test_seq2seq_parity.py compares without the released code.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
FIXTURE = HERE.parents[1] / "tests" / "neural" / "seq2seq.json"

LONG = "the boat sank near kiel and nobody saw it go. " * 40
PAIRS = [
    ["Ana Ode built the mill in Bern.", "Ana sold a mill."],
    ["Ana Ode built the mill in Bern.", "Bern has a mill, built by Ana Ode."],
    ["The ferry left Kiel at noon.", "It left."],
    [LONG, "nobody saw it."],
    ["It rained.", LONG],
    ["", "It rained."],
    ["It rained.", ""],
    ["Rain</s>and snow.", "It</s>rained."],
]
TEXTS = [
    {
        "source": "Ana Ode built the mill in Bern. She sold it in May.",
        "sentences": ["Ana sold the mill.", "It stood in Bern."],
        "reference": "The mill was sold in May.",
    },
    {"source": LONG, "sentences": ["The boat sank.", "All saw it.", "Kiel is near."], "reference": "A boat sank."},
    {"source": "It rained.", "sentences": ["Rain fell."], "reference": LONG},
    {"source": "Rain</s>and snow.", "sentences": ["It</s>rained."], "reference": "Rain</s>fell."},
]


def bartscore(peers: Path, folder: Path) -> list[float]:
    """Return the results of the released class for each pair."""
    sys.path.insert(0, str(peers / "BARTScore"))
    from bart_score import BARTScorer  # type: ignore[import-not-found]

    scorer = BARTScorer(device="cpu", checkpoint=str(folder))
    return list(scorer.score([source for source, _ in PAIRS], [target for _, target in PAIRS], batch_size=1))


def unieval(peers: Path, folder: Path) -> list[dict[str, float]]:
    """Return the results of the released classes for each text."""
    known = {" ".join(text["sentences"]): text["sentences"] for text in TEXTS}
    for name, members in {"nltk": {"sent_tokenize": known.__getitem__}, "prettytable": {"PrettyTable": None}}.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        sys.modules[name] = module
    sys.path.insert(0, str(peers / "UniEval"))
    from metric.evaluator import SumEvaluator, UniEvaluator  # type: ignore[import-not-found]

    judge = object.__new__(SumEvaluator)
    judge.scorer = UniEvaluator(str(folder), device="cpu")
    judge.scorer.score = partial(judge.scorer.score, batch_size=1)
    judge.task, judge.dimensions = "summarization", ["coherence", "consistency", "fluency", "relevance"]
    data = [{**text, "system_output": " ".join(text["sentences"])} for text in TEXTS]
    rows: list[dict[str, Any]] = judge.evaluate(data)
    return [{name: float(value) for name, value in row.items()} for row in rows]


def main() -> None:
    """Run the comparison; see the module docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True, help="folder of the released code")
    parser.add_argument("--write", action="store_true", help="write the fixture")
    given = parser.parse_args()
    sys.path.insert(0, str(HERE.parents[1] / "tests"))
    from neural import seq2seq_networks

    with tempfile.TemporaryDirectory() as place:
        bart, t5 = seq2seq_networks.bart(Path(place) / "bart"), seq2seq_networks.t5(Path(place) / "t5")
        fixture = {
            "bartscore": {"pairs": PAIRS, "scores": bartscore(given.peers, bart)},
            "unieval": {"texts": TEXTS, "scores": unieval(given.peers, t5)},
        }
    print(json.dumps({name: part["scores"] for name, part in fixture.items()}, indent=1))
    if given.write:
        FIXTURE.write_text(json.dumps(fixture, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
