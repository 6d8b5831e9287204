"""Figures of runs and studies: `sm.plot` and `summeter plot`.

    import summeter as sm

    sm.plot.intervals(run, aspect="faithfulness").save("means.pdf")

Each function returns a `Figure` with `svg` and `save(path)`, which Jupyter shows. The numbers are those of scores and
studies: the means are those of `run.summary()`, and the agreement with people is that of `sm.meta.correlate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter import meta
from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.data.human import RAW
from summeter.meta._advise import SPEARMAN
from summeter.meta._advise import STUDY as ADVISE
from summeter.meta._correlate import CorrelateOptions
from summeter.meta.inputs import Gold, context_of
from summeter.meta.measure import AUROC, estimate
from summeter.meta.options import Choice, Draws, GoldAtLeast, Selection
from summeter.meta.results import Row, Study, judge_labels, unique_labels
from summeter.meta.sample import Sample, rows_by_name
from summeter.meta.selection import all_pairs, check_known, decisions, group_label, meta_input
from summeter.meta.verdicts import agreement_name
from summeter.pages.figures import Axis, Cell, Figure, Line, Matrix, Point, Points, Rows
from summeter.pages.numbers import count, with_interval
from summeter.records import Parameter, UsageError
from summeter.report.blocks import ErrorCount
from summeter.report.ranks import ColumnKey, Key, axis, label_of, of_column
from summeter.report.strengths import domain_means, error_counts
from summeter.report.views import RunView, sources, views
from summeter.report.words import gloss
from summeter.runs.run import RunFolder
from summeter.scoring import SystemScore
from summeter.scoring.systems import FIRST, leading_column
from summeter.scoring.table import Question

Runs = RunFolder | Sequence[RunFolder]
Names = str | Sequence[str] | None

BARS = 20
"""Number of bars of a histogram."""
_NOTHING_IN_COMMON = "judges and people judged nothing in common; give human judgments on the data of the run"
_CELLS = 60
"""Points of a scatter plot that share a cell of a grid with this number of cells per axis are drawn as one."""
_LINES = ("accent", "bad", "people", "pad", "ink", "soft")
"""Colours of the lines of a trend; a panel has as many systems."""
_GROUPS = 10
"""Maximum number of points of a calibration curve."""


def intervals(runs: Runs, *, aspect: Names = None, judge: str | None = None) -> Figure:
    """Draw the mean of each system with its interval, best first.

    The means are over the documents that all systems share. `aspect` (one or several) and `judge` (name or signature)
    select what is drawn; by default, these are the aspects by which systems are ranked. Raises UsageError if the runs
    do not have them.
    """
    panels, notes = [], []
    columns, left_out = _columns(runs, aspect, judge)
    for view, key, title in columns:
        means = [(name, view.table.compared(name, key)) for name in _systems(view, key)]
        known = [mean for _, mean in means if mean is not None]
        rows = [
            Line(name, None) if mean is None
            else Line(name, mean.value, *mean.ends, mean.n, view.table.flag(name, key) or "")
            for name, mean in means
        ]  # fmt: skip
        panels.append(Rows(title, Axis(f"mean {_unit(view, key)}", *axis(_ends(known), key[1])), rows))
        notes.append(_counted(title, [mean.n for mean in known], sum(mean.missing for mean in known)))
        notes += filter(None, [view.table.note(key)])
    methods = _sentences(row.interval for view, _, _ in columns for row in view.table.rows)
    caption = [*dict.fromkeys(notes), *methods, *left_out]
    return Figure("Means of systems", panels, caption)


def distributions(runs: Runs, *, aspect: Names = None, judge: str | None = None) -> Figure:
    """Draw a histogram of the scores of each system's summaries, and a line at their mean.

    Systems, aspects and judges are selected and ordered as in `intervals`.
    """
    panels, notes = [], []
    columns, left_out = _columns(runs, aspect, judge)
    for view, key, title in columns:
        scores = view.scores.take(view.scores.question(Question(*key)))
        by_system = {name: scores.value[scores.system.equal(name)] for name in _systems(view, key)}
        present = {name: values[~np.isnan(values)] for name, values in by_system.items()}
        low, high = axis([float(value) for values in present.values() for value in values], key[1])
        # Halves do not overflow where the difference of two extreme values does.
        places = {name: (values / 2 - low / 2) / (high / 2 - low / 2) for name, values in present.items()}
        counts = {name: np.histogram(values, BARS, (0, 1))[0].tolist() for name, values in places.items()}
        rows = [
            Line(name, float(values.mean()) if len(values) else None, n=len(values), bars=counts[name])
            for name, values in present.items()
        ]
        panels.append(Rows(title, Axis(_unit(view, key, " of a summary"), low, high), rows))
        sizes = [len(values) for values in present.values()]
        notes.append(_counted(title, sizes, sum(map(len, by_system.values())) - sum(sizes)))
    bars = f"Heights are numbers of summaries in {BARS} equally wide bins, on one scale per panel. Lines mark means."
    return Figure("Distributions of scores", panels, [*dict.fromkeys(notes), bars, *left_out])


def domains(runs: Runs, *, aspect: Names = None, judge: str | None = None) -> Figure:
    """Draw the means of each system in each domain as a matrix.

    Raises UsageError if the data has fewer than two domains.
    """
    panels, notes = [], ["Means of few summaries are uncertain."]
    columns, left_out = _columns(runs, aspect, judge)
    for view, key, title in columns:
        by_system = domain_means(view, key)
        names = list(dict.fromkeys(row.domain for row in view.table.by_domain if row.domain is not None))
        if len(names) < 2:
            continue
        found = {(name, mean.domain): mean for name, row in by_system.items() for mean in row}
        systems = [name for name in _systems(view, key) if name in by_system]
        # Many systems are rows, so that the matrix fits the page.
        rows, heads = (systems, names) if len(systems) > max(6, len(names)) else (names, systems)
        means = [[found.get((row, head), found.get((head, row))) for head in heads] for row in rows]
        cells = [[Cell(None) if mean is None else Cell(mean.value, mean.n) for mean in row] for row in means]
        values = [mean.value for mean in found.values() if mean.value is not None]
        panels.append(Matrix(title, rows, heads, cells, *axis(values, key[1]), f"mean {_unit(view, key)}"))
        if missing := sum(mean.missing for mean in found.values()):
            notes.append(f"{count(missing, 'score')} missing ({title}).")
    if not panels:
        raise UsageError("the data has fewer than two domains; give each document a `domain`")
    return Figure("Domains by systems", panels, [*notes, *left_out])


def groups(runs: Runs, *, by: str | Sequence[str] = "domain", aspect: Names = None, judge: str | None = None) -> Figure:
    """Draw the mean of each group of summaries with its interval.

    `by` is one or several columns, such as "domain" or "length*input_type", which crosses two. Aspects and judges are
    selected as in `intervals`. Raises UsageError if the data do not have the columns.
    """
    panels, notes, methods = [], [], []
    columns, left_out = _columns(runs, aspect, judge)
    for view, key, title in columns:
        scores = view.scores.take(view.scores.question(Question(*key)))
        context, resampling = context_of(view.data), Draws(seed=view.seed).resampling
        for name in [by] if isinstance(by, str) else by:
            means = {
                group: resampling(scores.document.codes[rows]).mean(scores.value[rows])
                for group, rows in rows_by_name(context.column(name, scores.document, scores.system))
            }
            if not means:
                raise UsageError(f"no summary has a value in the column {name}")
            rows = [Line(group, mean.value, mean.low, mean.high, mean.n) for group, mean in means.items()]
            ends = [end for mean in means.values() for end in (mean.value, mean.low, mean.high) if end is not None]
            shown = f"{title}, by {name}"
            panels.append(Rows(shown, Axis(f"mean {_unit(view, key)}", *axis(ends, key[1])), rows))
            missing = sum(mean.missing for mean in means.values())
            notes.append(_counted(shown, [mean.n for mean in means.values()], missing, "group"))
            methods += [mean.interval for mean in means.values()]
    return Figure("Means of groups", panels, [*dict.fromkeys(notes), *_sentences(methods), *left_out])


def errors(runs: Runs, *, judge: str | None = None) -> Figure:
    """Draw how often each error type was found in the sentences of each system.

    Raises UsageError if no judge of faithfulness judged sentences.
    """
    once = "A sentence with several error types counts once under each of them."
    return Figure("Error types", _error_panels(runs, judge, {"": None}), [once])


def positions(runs: Runs, *, judge: str | None = None) -> Figure:
    """Draw how often each error type was found in the first, middle and last third of the summaries of each system.

    Raises UsageError if no judge of faithfulness judged several sentences of a summary.
    """
    thirds = "A sentence is in the third of the summary in which its middle is, counted in sentences."
    panels = _error_panels(runs, judge, {"first third": 1, "middle third": 2, "last third": 3})
    return Figure("Error types by position", panels, [thirds, "Summaries of one sentence are left out."])


def _error_panels(runs: Runs, judge: str | None, parts: Mapping[str, int | None]) -> list[Matrix]:
    """Return one panel per judge. `parts` are the thirds of summaries that have columns, by name (see `TallyKey`)."""
    panels, judges = [], []
    for view in views_of(runs):
        labelled = sources([view])
        counts = {part: error_counts(view.folder.totals.tally, labelled, third) for part, third in parts.items()}
        for source in labelled:
            found: dict[str, dict[str, ErrorCount]] = {}
            for part, by_system in counts.items():
                for name, rows in by_system.items():
                    for row in rows:
                        if row.source == source.label:
                            found.setdefault(name, {})[part] = row
            if found:
                judges.append(source.entry.name)
            if found and judge in (None, source.entry.name, source.entry.signature):
                panels.append(_error_panel(source.label, found, [*parts]))
    if not judges:
        raise UsageError("no judge of the run judged the faithfulness of sentences; score with finesure or support")
    if not panels:
        check_known([judge or ""], list(dict.fromkeys(judges)), "judge")
    return panels


def _error_panel(title: str, found: Mapping[str, Mapping[str, ErrorCount]], parts: Sequence[str]) -> Matrix:
    totals = Counter[str]()
    for row in (row for by_part in found.values() for row in by_part.values()):
        totals.update(dict(row.types))
    types = [None, *sorted(totals, key=lambda name: (-totals[name], name))]
    rows = []
    for name, by_part in found.items():
        known = list(by_part.values())
        sentences = sum(row.sentences for row in known)
        cells = [
            Cell(100 * by_part[part].of(each) / by_part[part].sentences, by_part[part].of(each))
            if part in by_part
            else Cell(None)
            for each in types
            for part in parts
        ]
        rows.append((sum(row.unsupported for row in known) / sentences, name, count(sentences, "sentence"), cells))
    rows.sort(key=lambda row: -row[0])
    # "any error" does not determine the darkest shade.
    most = max(cell.value or 0.0 for *_, cells in rows for cell in (cells[len(parts) :] or cells))
    scale = "errors per 100 judged sentences (darkest: at least this many); below: number of errors"
    heads = [", ".join(filter(None, [each or "any error", part])) for each in types for part in parts]
    names = [f"{name} ({sentences})" for _, name, sentences, _ in rows]
    return Matrix(title, names, heads, [row[-1] for row in rows], 0, most or 1, scale, digits=0, counted="errors")


def abstraction(runs: Runs, *, judge: str | None = None) -> Figure:
    """Draw the mean faithfulness of each system against its mean abstractiveness, with intervals of faithfulness.

    `judge` selects the judges of faithfulness. Raises UsageError if the runs do not have both aspects.
    """
    across = {view.number: key for view, key, _ in _columns(runs, "abstractiveness", None)[0]}
    panels, notes = [], []
    for view, key, title in _columns(runs, "faithfulness", judge)[0]:
        if (other := across.get(view.number)) is None:
            continue
        pairs = [(view.table.cell(name, other), view.table.cell(name, key)) for name in _systems(view, key)]
        known = [(x, y) for x, y in pairs if x is not None and y is not None]
        points = [Point(y.system, x.value, y.value, *y.ends) for x, y in known if y.value is not None]
        low, high = axis(_ends([y for _, y in known]), key[1])
        panels.append(Points(title, Axis(_unit(view, other), 0, 1), Axis(_unit(view, key), low, high), points))
        notes.append(_counted(title, [y.n for _, y in known], sum(y.missing for _, y in known)))
        notes += _sentences(y.interval for _, y in known)
    if not panels:
        raise UsageError("no run has both faithfulness and abstractiveness")
    note = "A system that copies is faithful without effort; systems are comparable at the same abstractiveness."
    return Figure("Faithfulness against abstractiveness", panels, [*dict.fromkeys(notes), note])


def trend(runs: Runs, *, aspect: Names = None, judge: str | None = None) -> Figure:
    """Draw the mean of each system in each of several runs on the same documents, in the order of their dates.

    If every run has one system, and no two runs have the same, they are drawn as one line. `aspect` is by default the
    aspect by which systems are ranked. Raises UsageError if no two runs have the same documents and judge.
    """
    columns, _ = _columns(runs, aspect, judge)
    lead = columns[leading_column([key[2] for _, key, _ in columns])][1][2]
    documents = frozenset(columns[0][0].scores.document.names)
    by_key: dict[Key, list[RunView]] = {}
    titles: dict[Key, str] = {}
    others: dict[str, None] = {}
    for view, key, title in columns:
        titles.setdefault(key, title.replace(f"{view.letter} · ", ""))
        if frozenset(view.scores.document.names) != documents:
            others[view.name] = None
        elif aspect is not None or key[2] == lead:
            by_key.setdefault(key, []).append(view)
    panels, notes = [], []
    for key, found in by_key.items():
        dated = sorted(found, key=lambda view: view.manifest.created)
        means = [
            (at, row) for at, view in enumerate(dated) for row in of_column(view.table, key) if row.value is not None
        ]
        lines: dict[str, list[tuple[int, SystemScore]]] = {}
        for at, row in means:
            lines.setdefault(row.system, []).append((at, row))
        if len(lines) == len(means) == len(dated):
            lines = {"the system of each run": means}
        if max(map(len, lines.values()), default=0) < 2:
            continue
        dates = tuple(f"{view.letter} {view.manifest.created[:10]}" for view in dated)
        ends = _ends([row for _, row in means])
        y = Axis(f"mean {_unit(dated[0], key)}", min(ends), max(ends))
        for first in range(0, len(lines), len(_LINES)):
            shown = list(lines.items())[first : first + len(_LINES)]
            points = [
                Point(
                    name if row is line[-1][1] else "", at + (number_of - (len(shown) - 1) / 2) * 0.06,
                    row.value or 0.0, *row.ends, line=name, colour=_LINES[number_of],
                )
                for number_of, (name, line) in enumerate(shown)
                for at, row in line
            ]  # fmt: skip
            panels.append(Points(titles[key], Axis("run", -0.5, len(dated) - 0.5, dates), y, points))
        notes += [f"{view.letter}: {view.name}, {view.manifest.created[:16].replace('T', ' ')} UTC." for view in dated]
        notes += [_counted(titles[key], [row.n for _, row in means], sum(row.missing for _, row in means))]
        notes += _sentences(row.interval for _, row in means)
    if not panels:
        raise UsageError("a trend needs several runs on the same documents with the same judge and systems")
    if others:
        notes.append(f"Left out, since they judge other documents than {columns[0][0].name}: {', '.join(others)}.")
    return Figure("Means by date of the run", panels, [*dict.fromkeys(notes)])


def correlations(runs: Runs, gold: Gold | None = None, **options: Any) -> Figure:
    """Draw the correlation of each judge with people in each domain.

    The keywords are those of `sm.meta.correlate`, of which `by` can be another column, and the first of `coefficients`
    is shown (default: spearman). Raises UsageError if there are no human judgments, or fewer than two domains.
    """
    chosen = {"by": "domain", "coefficients": ("spearman",), "resamples": 0, **options}
    folders = _folders(runs)
    study = meta.correlate(folders, _people(folders, gold, options.get("judgment_set", RAW)), **chosen)
    shown = [row for row in study if row.statistic == chosen["coefficients"][0]]
    groups = list(dict.fromkeys(group_label(row) for row in shown))
    if len(groups) < 3:
        raise UsageError(f"the data has fewer than two groups by {chosen['by']}")
    panels = []
    for pair in dict.fromkeys((row.aspect, row.gold_aspect) for row in shown):
        rows = [row for row in shown if (row.aspect, row.gold_aspect) == pair]
        cells: dict[str, dict[str | None, Cell]] = {}
        for name, row in zip(judge_labels(rows), rows, strict=True):
            cells.setdefault(name or "", {})[group_label(row)] = Cell(row.value, row.n)
        matrix = [[found.get(group, Cell(None)) for group in groups] for found in cells.values()]
        low = min([0.0, *(row.value for row in rows if row.value is not None)])
        scale = f"{agreement_name(chosen['coefficients'][0])} with people; n = {_UNITS[Level(rows[0].level or '')][1]}"
        panels.append(
            Matrix(gloss(pair[0] or "").title, list(cells), [each or "all" for each in groups], matrix, low, 1, scale)
        )
    why = [f"Without a value: {reason}" for reason in dict.fromkeys(row.reason for row in shown if row.value is None)]
    caption = ["Correlations of few values are uncertain.", *_sentences(why)]
    return Figure("Correlation with people by group", panels, caption)


def agreement(runs: Runs, gold: Gold | None = None, **options: Any) -> Figure:
    """Draw the values of each judge against those of people, with their correlation.

    `gold` is by default the human judgments in the data of the run. The keywords are those of `sm.meta.correlate`, such
    as `aspect`, `judge`, `level` and `coefficients`, of which the first is shown (default: spearman). Raises UsageError
    if there are no human judgments.
    """
    chosen = CorrelateOptions.checked({"coefficients": ("spearman",), **options})
    level, panels, methods = Level(chosen.level), [], []
    folders = _folders(runs)
    read = meta_input(folders, _people(folders, gold, chosen.judgment_set), chosen)
    for judged, name in _named(all_pairs(read, level, chosen)):
        sample = judged.at(level) if level.base is Level.SUMMARY else judged
        if not sample.n:
            continue
        got = estimate(sample, chosen.coefficients[0], chosen.resampling)
        shown = f"undefined ({got.reason})" if got.value is None else with_interval(got.value, got.low, got.high)
        note = f"{agreement_name(chosen.coefficients[0])} {shown}, {_n(sample, level)}"
        x, y = _value_axis(sample.x, sample.judge.signature), _value_axis(sample.y, "")
        same = x == y
        names = list(sample.units.system.labels()) if level is Level.SYSTEM else None
        if names:  # means of systems are close to each other, and their names need space
            x, y = _around(sample.x), _around(sample.y)
        axes = Axis(f"value by {name}", *x), Axis(f"{sample.gold.aspect} by people", *y)
        title = f"{gloss(sample.judge.aspect).title} by {name}"
        panels.append(Points(title, *axes, _joined_points(sample, axes, names), note, same))
        methods.append(got.interval)
    if not panels:
        raise UsageError(_NOTHING_IN_COMMON)
    area = "" if level is Level.SYSTEM else f"The area of a point is the number of {_UNITS[level][1]}. "
    dashed = "Dashed: equal values." if any(panel.diagonal for panel in panels) else ""
    caption = [*filter(None, [f"{area}{dashed}".strip()]), *_sentences(methods), *_sentences(read.judge.notes)]
    return Figure("Judges against people", panels, caption)


_UNITS = {
    Level.SENTENCE: ("sentence", "sentences"), Level.KEY_FACT: ("key fact", "key facts"),
    Level.SUMMARY: ("summary", "summaries"), Level.DOCUMENT: ("document", "documents"),
    Level.SYSTEM: ("system", "systems"),
}  # fmt: skip


class CalibrationOptions(Selection, GoldAtLeast, Draws):
    """The options of `calibration`."""

    level: Annotated[str | None, Choice(Level, "level")] = Field(
        None, description="Level of the labels. Default: sentences, else key facts, else summaries."
    )


def calibration(runs: Runs, gold: Gold | None = None, **options: Any) -> Figure:
    """Draw, for the values that each judge gave, the share of units that people labelled 1.

    The values of a calibrated judge lie on the diagonal. Units are grouped by value or, if there are more than ten
    different values, into ten groups of about equal size. `gold` is by default the human judgments in the data of the
    run, and the keywords select judges and people as in `sm.meta.correlate`. Raises UsageError if there are no human
    judgments, or if they are not 0 or 1 and `gold_at_least` is not given.
    """
    chosen = CalibrationOptions.checked(options)
    levels = [Level(chosen.level)] if chosen.level else [Level.SENTENCE, Level.KEY_FACT, Level.SUMMARY]
    panels: list[Points] = []
    methods: list[str] = []
    first_error: UsageError | None = None
    folders = _folders(runs)
    read, drawn = meta_input(folders, _people(folders, gold, chosen.judgment_set), chosen), set()
    for level in levels:
        try:
            samples = _named(all_pairs(read, level, chosen))
        except UsageError as error:
            first_error = first_error or error
            continue
        for sample, name in samples:
            key = sample.judge, sample.gold.aspect
            try:
                decisions(sample.of_raters(1))
            except UsageError as error:
                first_error = first_error or error
                continue
            if key not in drawn and sample.n:
                drawn.add(key)
                panel, method = _calibration_panel(sample, name, level, chosen)
                panels.append(panel)
                methods.append(method)
    if not panels:
        raise first_error or UsageError(_NOTHING_IN_COMMON)
    caption = [
        "The area of a point is the number of units. Dashed: the share equals the judge's value.",
        *_sentences(methods),
    ]
    return Figure("Calibration of judges", panels, caption)


def _calibration_panel(sample: Sample, name: str, level: Level, options: CalibrationOptions) -> tuple[Points, str]:
    used = sample.take(sample.complete)
    x, y, documents = used.x, used.y, used.units.document.codes
    known = np.unique(x)
    edges = known if len(known) <= _GROUPS else np.unique(np.quantile(x, np.linspace(0, 1, _GROUPS + 1)[:-1]))
    group = np.searchsorted(edges, x, side="right")
    points, method = [], ""
    for rows in (group == each for each in np.unique(group)):
        got = options.resampling(documents[rows]).mean(y[rows])
        method = method or got.interval or ""
        points.append(Point("", float(x[rows].mean()), got.value or 0.0, got.low, got.high, size=got.n))
    sizes = [point.size for point in points]
    note = f"{_n(sample, level)}; {min(sizes)} to {max(sizes)} per point" if len(sizes) > 1 else _n(sample, level)
    x_axis = Axis(f"value by {name}", *_value_axis(x, sample.judge.signature))
    title = f"{gloss(sample.judge.aspect).title} by {name}"
    share = Axis("share labelled 1 by people", 0, 1)
    return Points(title, x_axis, share, points, note, diagonal=x_axis[1:] == share[1:]), method


def stability(runs: Runs, gold: Gold | None = None, **options: Any) -> Figure:
    """Draw the correlation of each judge with people on a system against the mean human score of the system.

    The note has the meta-correlation (Shen et al., 2023). `gold` is by default the human judgments in the data of the
    run. The keywords are those of `sm.meta.stability`, of whose `coefficients` the first is shown (default: spearman).
    Raises UsageError if there are no human judgments.
    """
    folders, options = _folders(runs), {"coefficients": ("spearman",), **options}
    study = meta.stability(folders, _people(folders, gold), **options).where(study="meta_correlation")
    return _over_systems(study, "Agreement with people by quality of systems", lambda row: (
        f"mean {row.gold_aspect} by people", f"meta-correlation ({agreement_name(row.statistic)})"
    ))  # fmt: skip


def reliability(runs: Runs, gold: Gold | None = None, **options: Any) -> Figure:
    """Draw the correlation of each judge with people on a system against its correlation with another judge.

    The note has the correlation of both over systems (Shen et al., 2023). `gold` is by default the human judgments in
    the data of the run. The keywords are those of `sm.meta.reliability`, of whose `coefficients` the first is shown
    (default: spearman). Raises UsageError if there are no human judgments, or no two judges of an aspect.
    """
    folders, options = _folders(runs), {"coefficients": ("spearman",), "dependence": False, **options}
    study = meta.reliability(folders, _people(folders, gold), **options).where(study="reliability_check")
    return _over_systems(study, "Agreement with people by agreement of judges", lambda row: (
        f"correlation with {row.details['with_judge'].partition('|')[0]}", agreement_name(row.statistic)
    ))  # fmt: skip


def _over_systems(study: Study, title: str, labels: Callable[[Row], tuple[str, str]]) -> Figure:
    """Return a scatter plot of the systems for each correlation over systems.

    `labels` returns the label of the x axis and the name of the correlation.
    """
    rows = [row for row in study if row.statistic == study[0].statistic]
    panels = []
    for row, name in zip(rows, judge_labels(rows), strict=True):
        points = [Point(system, x, y) for system, (x, y) in row.details["systems"].items()]
        if points:
            x_axis, y_axis = (
                _around(np.array(values)) for values in zip(*(point[1:3] for point in points), strict=True)
            )
            x_label, what = labels(row)
            shown = f"undefined ({row.reason})" if row.value is None else with_interval(row.value, row.low, row.high)
            group = f", {group_label(row)}" if group_label(row) else ""
            panels.append(Points(
                f"{gloss(row.aspect or '').title} by {name}{group}", Axis(x_label, *x_axis),
                Axis("correlation with people", *y_axis), points, f"{what} {shown}, n = {count(row.n, 'system')}",
            ))  # fmt: skip
    if not panels:
        raise UsageError(_NOTHING_IN_COMMON)
    return Figure(title, panels, _sentences(row.interval for row in rows))


def cost(runs: Runs | Study, gold: Gold | None = None, **options: Any) -> Figure:
    """Draw the agreement of each judge with people against the cost of 1,000 summaries.

    `runs` can also be the result of `sm.meta.advise`, whose keywords these are. A line joins the judges for which no
    cheaper judge agrees better with people, and the point of the recommended judge is filled.
    """
    if isinstance(runs, Study):
        study = runs
    else:
        folders = _folders(runs)
        study = meta.advise(folders, _people(folders, gold), **options)
    rows = list(filter(has_agreement, study))
    panels = []
    for aspect in dict.fromkeys(row.gold_aspect for row in rows):
        shown = [row for row in rows if row.gold_aspect == aspect]
        costs = {_judge_of(row): row.value for row in study.where(statistic="cost_per_1000", gold_aspect=aspect)}
        points = [
            Point(
                name or "", costs.get(_judge_of(row)), row.value or 0.0, row.low, row.high,
                filled=bool(row.details.get("recommended")), line="frontier" * bool(row.details.get("frontier")),
            )
            for name, row in zip(judge_labels(shown), shown, strict=True)
        ]  # fmt: skip
        ends = [end for row in shown for end in (row.value, row.low, row.high) if end is not None]
        x = Axis("US dollars per 1,000 summaries", 0, max((point.x or 0.0 for point in points), default=0.0) or 1.0)
        y = Axis(f"{agreement_name(shown[0].statistic)} with people", min(ends), max(ends))
        n = ", ".join(f"{number_of:,}" for number_of in sorted({row.n for row in shown}))
        note = f"n = {n} {_UNITS[Level(shown[0].level or '')][1]}"
        panels.append(Points(gloss(aspect or "").title, x, y, points, note, unknown="cost unknown"))
    if not panels:
        raise UsageError("no judge has a defined agreement with people")
    legend = "Filled: recommended. Dashed line: no cheaper judge agrees better."
    return Figure("Agreement with people against cost", panels, [legend, *_sentences(row.interval for row in rows)])


def has_agreement(row: Row) -> bool:
    """Return whether a row of `sm.meta.advise` has the agreement of a judge with people."""
    return row.study == ADVISE and row.statistic in (AUROC, SPEARMAN) and row.value is not None


def _judge_of(row: Row) -> tuple[str | None, ...]:
    return row.signature, row.aspect, row.details.get("run")


FIGURES: Mapping[str, Callable[..., Figure]] = {
    function.__name__: function
    for function in (
        intervals, distributions, groups, trend, agreement, calibration, correlations, stability, reliability, errors,
        positions, abstraction, domains, cost,
    )
}  # fmt: skip
"""The figures by name."""
CROSSED: Mapping[str, Sequence[str]] = {
    "unisumeval.3": ("length*input_type",),
    "unisumeval.4": ("category*length", "category*input_type"),
}
"""Figures of papers that are drawn by `groups`, and its `by`. Their form is ours: the paper's was not at hand."""
UNDECLARED: Mapping[str, str] = {
    "finesure.2": "intervals",
    **{f"shen2023.{number}": "stability, reliability and agreement" for number in range(1, 6)},
    **{f"summqual.{number}": "intervals, domains and agreement" for number in range(1, 4)},
}
"""The figures that come closest to those of papers whose contents are not known."""


# ---- what is drawn ----


def _folders(runs: Runs) -> list[RunFolder]:
    folders = [runs] if isinstance(runs, RunFolder) else list(runs)
    for run in folders:
        if not isinstance(run, RunFolder):
            raise UsageError(f"figures are drawn from runs, got {type(run).__name__}")
    if not folders:
        raise UsageError("no run given")
    return folders


def views_of(runs: Runs) -> list[RunView]:
    """Return the views of one or several runs."""
    return views(_folders(runs))


def _columns(runs: Runs, aspect: Names, judge: str | None) -> tuple[list[tuple[RunView, Key, str]], list[str]]:
    """Return the selected columns of the tables of systems with their titles, and lines about what is left out.

    Raises UsageError if an aspect or the judge is in no run.
    """
    all_views = views_of(runs)
    listed = sources(all_views)
    found = [(view, key) for view in all_views for key in view.table.columns()]
    if not found:
        raise UsageError("the run has no scores of systems")
    if judge is not None:
        if all(judge != key[1] for _, key in found):  # not a signature
            check_known([judge], list(dict.fromkeys(key[0] for _, key in found)), "judge")
        found = [(view, key) for view, key in found if judge in key[:2]]
    known = list(dict.fromkeys(key[2] for _, key in found))
    wanted = [name for name in known if name in FIRST] or known
    others = [name for name in known if name not in wanted]
    if aspect is not None:
        wanted, others = [aspect] if isinstance(aspect, str) else list(aspect), []
        check_known(wanted, known, "aspect")
    columns = [
        (view, key, f"{gloss(key[2]).title} by {label_of(ColumnKey(view.number, *key), view, listed)}")
        for view, key in sorted(found, key=lambda entry: known.index(entry[1][2]))
        if key[2] in wanted
    ]
    scored = [any(row.value is not None for row in of_column(view.table, key)) for view, key, _ in columns]
    if not any(scored):
        raise UsageError(f"no summary has a score for {', '.join(wanted)}")
    without = [title for (_, _, title), known in zip(columns, scored, strict=True) if not known]
    lines = {"Not drawn": others, "Without scores": without}
    return list(compress(columns, scored)), [f"{what}: {', '.join(names)}." for what, names in lines.items() if names]


def _systems(view: RunView, key: Key) -> list[str]:
    """Return the systems of a column by their rankings and means on shared documents, best first."""
    rows = [row for row in view.table.rows if (row.judge, row.signature, row.aspect) == key]
    return view.table.ordered([row.system for row in rows], key)


def _people(folders: Sequence[RunFolder], gold: Gold | None, judgment_set: str = RAW) -> Gold:
    """Return the human judgments, by default those in the data of the first run. Raises UsageError if it has none."""
    people = folders[0].data if gold is None else gold
    if isinstance(people, Dataset) and judgment_set == RAW and RAW not in people.judgment_sets:
        where = "the data of the run has none" if gold is None else "the given data has none"
        message = f"this figure needs human judgments, and {where}; give data that has them with "
        raise UsageError(message, Parameter("gold", "DATA"))
    return people


# ---- texts, axes and points ----


def _named(samples: Iterable[Sample]) -> list[tuple[Sample, str]]:
    """Return each sample with a name of its judge that no other judge of the aspect has."""
    by_aspect: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        by_aspect.setdefault((sample.judge.aspect, sample.gold.aspect), []).append(sample)
    return [
        named
        for listed in by_aspect.values()
        for named in zip(listed, unique_labels([sample.judge for sample in listed]), strict=True)
    ]


def _unit(view: RunView, key: Key, of: str = "") -> str:
    """Return the quantity of a column, with the reduction of judgments to a score if the source has one."""
    reductions = [source.reduction for source in sources([view]) if source.key[1:] == key[:2]]
    known = [text for text in reductions if text.startswith(("share", "mean of ratings"))]
    return f"{gloss(key[2]).title}{of}{f' ({known[0]})' if known else ''}"


def _ends(means: Sequence[Any]) -> list[float]:
    return [end for mean in means for end in (mean.value, *mean.ends) if end is not None]


def _value_axis(values: Any, signature: str) -> tuple[float, float]:
    return axis([float(value) for value in values[~np.isnan(values)]], signature)


def _around(values: Any) -> tuple[float, float]:
    """Return a range that is slightly wider than that of the values."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = (high - low) * 0.05 or 0.5
    return low - margin, high + margin


def _counted(title: str, sizes: Sequence[int], missing: int, each: str = "system") -> str:
    """Return a line on the number of scores, such as `n = 18 summaries per system, 0 missing.`"""
    least, most = min(sizes, default=0), max(sizes, default=0)
    shown = f"n = {'' if least == most else f'{least:,} to '}{most:,} summaries per {each}"
    return f"{shown}, {missing:,} missing{f' ({title})' if missing or least != most else ''}."


def _n(sample: Sample, level: Level) -> str:
    """Return the number of units with both values, and of those without."""
    missing = f", {sample.missing:,} missing" if sample.missing else ""
    return f"n = {count(sample.n, *_UNITS[level])}{missing}"


def _sentences(texts: Iterable[str | None]) -> list[str]:
    """Return the distinct texts as sentences."""
    return [f"{text}." for text in dict.fromkeys(texts) if text]


def _joined_points(sample: Sample, axes: tuple[Axis, Axis], names: Sequence[str | None] | None) -> list[Point]:
    """Return the points of a sample. Without names, points in the same cell of a fine grid are one."""
    rows = np.flatnonzero(sample.complete)
    if names is not None:
        return [Point(names[row] or "", float(sample.x[row]), float(sample.y[row])) for row in rows.tolist()]
    values = np.stack([sample.x, sample.y])[:, rows]
    low, high = np.array([(axis.low, axis.high) for axis in axes]).T[:, :, None]
    cells = np.rint((values - low) / (high - low) * _CELLS)
    _, cell = np.unique(cells, axis=1, return_inverse=True)
    sizes = np.bincount(cell.ravel())
    x, y = (np.bincount(cell.ravel(), weights=side) / sizes for side in values)
    groups = zip(x.tolist(), y.tolist(), sizes.tolist(), strict=True)
    return [Point("", across, up, size=size) for across, up, size in groups]
