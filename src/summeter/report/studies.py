"""Blocks for studies: one per study name, with a table and its meaning per type of row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from summeter.meta._compare import STUDY as COMPARE
from summeter.meta._compare import matrices, pair_sentence
from summeter.meta.results import Row, Study
from summeter.report import plot
from summeter.report.blocks import StudyBlock, StudyTable
from summeter.report.words import Gloss

LONG = 60
"""Number of rows above which a table is collapsed at first."""
MAX_PAIRS = 10
"""Number of pairs of systems above which a matrix is shown instead of sentences."""

# Keys of `details` that distinguish rows
_DETAILS = ("group", "pairs")
_NUMBER = "study"
_ORDER = ("run", "judge", "aspect", "level", "average", "system", "domain", "category", "pair", *_DETAILS, "statistic")


def studies(results: Sequence[Study]) -> tuple[StudyBlock, ...]:
    """Return one block per study name, in order of first appearance."""
    by_name: dict[str, list[Study]] = {}
    for study in results:
        by_name.setdefault(study.name, []).append(study)
    return tuple(_block(name, namesakes) for name, namesakes in by_name.items())


def _block(name: str, namesakes: Sequence[Study]) -> StudyBlock:
    rows = [row for study in namesakes for row in study]
    # If there are many pairs, a matrix and one summarising sentence are clearer than a sentence for each pair.
    many = sum(row.pair is not None and "p_holm" in row.details for row in rows) > MAX_PAIRS
    kinds = list(dict.fromkeys(row.study for row in rows))
    return StudyBlock(
        title=about(name).title,
        matrices=tuple(table for study in namesakes for table in matrices(study)) if many else (),
        tables=tuple(_table(kind, namesakes, titled=kinds != [name]) for kind in kinds),
        verdicts=()
        if many
        else _distinct(
            pair_sentence(row) if row.study == COMPARE and "p_holm" in row.details else row.details.get("verdict")
            for row in rows
        ),
        notes=_distinct(note for study in namesakes for note in study.notes),
        signatures=_distinct(row.signature for row in rows),
        people=_distinct(row.gold_signature for row in rows),
        intervals=_distinct(row.interval for row in rows),
        figure=plot.cost(Study.join(namesakes)) if any(map(plot.has_agreement, rows)) else None,
    )


def _distinct(texts: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text and isinstance(text, str)))


def _table(kind: str, namesakes: Sequence[Study], *, titled: bool) -> StudyTable:
    # Several studies may have the same name; their numbers distinguish them.
    numbered = [(number, row) for number, study in enumerate(namesakes, 1) for row in study if row.study == kind]
    by_column = [_names(row) for _, row in numbered]
    order = dict.fromkeys([*_ORDER, *(name for _, row in numbered for name in row.named)])
    columns = [column for column in order if any(column in names for names in by_column)]
    names = [tuple(cells.get(column, "") for column in columns) for cells in by_column]
    numbers = [number for number, _ in numbered]
    first: dict[tuple[str, ...], int] = {}
    # If rows of two studies have equal cells, a column with the number of the study is added.
    if any(first.setdefault(cells, number) != number for number, cells in zip(numbers, names, strict=True)):
        columns.insert(0, _NUMBER)
        names = [(str(number), *cells) for number, cells in zip(numbers, names, strict=True)]
    texts = about(kind)
    return StudyTable(
        title=texts.title if titled else None,
        meaning=texts.meaning,
        columns=tuple(columns),
        names=tuple(names),
        rows=tuple(row for _, row in numbered),
        folded=len(numbered) > LONG or sum("p_holm" in row.details for _, row in numbered) > MAX_PAIRS,
    )


def _names(row: Row) -> dict[str, str]:
    """Return the cells that identify a row, by column, omitting columns that do not apply."""
    if row.named:
        return {name: text for name, text in {"judge": row.judge, "system": row.system, **row.named}.items() if text}
    names = {name: getattr(row, name) for name in _ORDER if name in Row.model_fields}
    names["aspect"] = row.aspect or row.gold_aspect
    if row.aspect and row.gold_aspect and row.aspect != row.gold_aspect:
        names["aspect"] = f"{row.aspect} against {row.gold_aspect}"
    names |= {name: text for name in _DETAILS if isinstance(text := row.details.get(name), str)}
    if isinstance(run := row.details.get("run"), str):
        # Absolute local paths are not written to the report.
        names["run"] = PurePath(run).name if PurePath(run).is_absolute() else run
    return {name: text for name, text in names.items() if text}


# ---- headings and meanings


STUDIES = {
    "correlation": Gloss(
        "Correlation with people",
        "Correlation of a judge's scores with people's: 1 is perfect agreement, 0 is no relation, below 0 is "
        "disagreement (pairwise_accuracy is the share of pairs that both put in the same order).",
    ),
    "classification": Gloss(
        "Classification",
        "How often a judge's yes or no equals people's. A balanced accuracy of 0.5 is chance, 1 is perfect.",
    ),
    "trust": Gloss("Trust in a judge", None),
    "protocol": Gloss(
        "Benchmark protocol",
        "Balanced accuracy on the test rows of the benchmark, by dataset and averaged as in its paper: 0.5 is chance, "
        "1 is perfect. Thresholds were tuned where the protocol says so.",
    ),
    "errors": Gloss(
        "Error types",
        "The share of sentences with an error in which the judge names the same error type as people.",
    ),
    "prefer": Gloss("Pairwise ranking", None),
    "pair": Gloss(
        "Pairs of systems",
        "points: what the first system of a pair wins by the judge. agree: whether people prefer the same system (1 "
        "yes, 0 no).",
    ),
    "correct_preferences": Gloss(
        "Correct preferences", "The number of pairs of systems on which the judge and people prefer the same system."
    ),
    "win_rate": Gloss("Win rates", "A system's share of the points against all others: 0.5 is average."),
    "best_rate": Gloss("Best of all", "The share of documents on which a system is the best."),
    "bradley_terry": Gloss(
        "Strength of systems (Bradley-Terry)",
        "Strength estimated from all wins and losses: 0 is the average; a system 1 above another wins 73 of 100 times.",
    ),
    "stability": Gloss("Correlation per system", None),
    "per_candidate": Gloss(
        "Correlation on each system",
        "Correlation of judge and people over the summaries of one system. An even-handed judge has similar values on "
        "all systems.",
    ),
    "candidate_spread": Gloss(
        "Spread over systems", "Standard deviation of that correlation over systems: 0 means equal on all systems."
    ),
    "meta_correlation": Gloss(
        "Correlation with system quality",
        "Whether agreement with people depends on the quality of the system: below 0, it falls as quality rises.",
    ),
    "reliability": Gloss(
        "Agreement of two judges",
        "Correlation of two judges over the summaries of one system. Where it is low, trust neither alone.",
    ),
    "reliability_check": Gloss(
        "Does agreement of judges predict agreement with people?",
        "Correlation, over systems, of the agreement between judges and their agreement with people: 1 predicts it "
        "perfectly, 0 not at all.",
    ),
    "verdict": Gloss("Where people are needed", "1 where two judges agree too little to replace people, else 0."),
    "dependence": Gloss(
        "Inter-aspect correlation",
        "Correlation of two aspects. A judge far above people may score one quality under two names.",
    ),
    "self_consistency": Gloss(
        "Repeated questions", "How often a judge answers the same when it is asked again: 1 is always."
    ),
    "agree": Gloss("Agreement of people", None),
    "agreement": Gloss(
        "Inter-annotator agreement",
        "Agreement beyond chance: 1 is perfect, 0 is chance (shares such as identical and span_f1 are not corrected "
        "for chance).",
    ),
    "annotator": Gloss("Each annotator", "Agreement of one annotator with the others together."),
    "agreement_without": Gloss(
        "Without one annotator", "Agreement of the others: where it rises, the one left out disagrees with them."
    ),
    "judge_and_people": Gloss(
        "Judge and people", "Agreement of a judge with the merged votes of people, as two raters."
    ),
    "agreement_with_judge": Gloss(
        "The judge as one more annotator",
        "Agreement of annotators and judge together. Far below that of people alone, the judge differs from them.",
    ),
    "overruled": Gloss("Override rate", "How often people decided against the machine's verdict that they were shown."),
    "agreement_with_people": Gloss(
        "Agreement with people on these data",
        "Balanced accuracy (0.5 is chance) or rank correlation (0 is chance) of a judge and the people who judged the "
        "same summaries.",
    ),
    "estimate": Gloss(
        "Estimated mean of people",
        "What people would say about a system on average if they judged every summary: the judge's scores, "
        "corrected with a few human judgments.",
    ),
    "plan": Gloss(
        "Labels to collect",
        "Half the width of the interval to expect from a number of human labels. Smaller is more precise.",
    ),
    "calibration": Gloss(
        "Calibration of the judge",
        "Agreement of the judge's decisions with people's, on data that were not used to choose its threshold.",
    ),
    "card": Gloss("Dataset card", "A description of data and scores: means, their stability and their differences."),
    "compare": Gloss(
        "Significance of differences",
        "How far the first system of a pair is ahead of the second. If the interval includes 0 or p is not small, the "
        "difference may be chance; members of one cluster do not differ significantly.",
    ),
    "bridge": Gloss(
        "Old and new judge",
        "Two judges on the same summaries: offset is the mean of the new score minus the old one, slope the ratio of "
        "their spreads, and same_conclusions the share of pairs of systems on which both draw the same conclusion.",
    ),
    "bias": Gloss("Bias of judges", None),
    "position": Gloss(
        "Position bias",
        "flip_rate: the share of verdicts that change when the order of two summaries is swapped; slot_preference: the "
        "share of pairs whose first summary won in both orders, minus that of the second summary (0: no bias).",
    ),
    "length": Gloss(
        "Length bias",
        "Whether a judge favours long summaries: partial_pearson is the correlation with length at equal human scores, "
        "and length_gap is the excess over people; 0 is no bias.",
    ),
    "self_preference": Gloss(
        "Self-preference",
        "How much more than people a judge favours summaries of its model family: 0 is no bias.",
    ),
    "overlap": Gloss(
        "Overlap of lists of claims",
        "Similarity of two lists of claims, not a share of facts. precision: the mean, over claims, of the highest "
        "ROUGE-1 F1 with a reference claim; recall: the same of the reference claims. 1: same words, 0: none shared.",
    ),
    "advise": Gloss(
        "Which judge for these data",
        "How well each judge agrees with people, and what it costs. On the frontier, no less expensive judge agrees "
        "better with people.",
    ),
    "sources": Gloss(
        "Sources",
        "The share of sentences or claims that at least one source supports alone (by_one_source), that only all "
        "sources together support (only_together), that are supported by neither (unsupported), and that one source "
        "supports and another contradicts (conflict).",
    ),
    "source_units": Gloss(
        "Sources of each sentence or claim",
        "The value is the number of sources that support it alone. Conflicts come first.",
    ),
    "versions": Gloss("Comparison of two runs", "Means of the second run minus those of the first."),
    "gate": Gloss("Gate", "Means, and differences to an earlier run, that were compared with a bound."),
}


def about(study: str) -> Gloss:
    """Return the title and meaning of a study; an unknown study keeps its name.

    >>> about("win_rate").title, about("mine").title
    ('Win rates', 'mine')
    """
    return STUDIES.get(study, Gloss(study, None))
