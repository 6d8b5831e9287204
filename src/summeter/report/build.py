"""Computation of the blocks of a report from runs and studies; rendering computes nothing."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePath
from typing import NamedTuple

from summeter.meta import agreement_elsewhere, compare_runs
from summeter.meta import sources as sources_of
from summeter.meta._versions import Versions
from summeter.meta.results import Study
from summeter.meta.verdicts import listed
from summeter.pages.figures import Figure
from summeter.records import JudgeKey, Phrase, UsageError, judge_names
from summeter.report import plot
from summeter.report.blocks import (
    FailureGroup,
    PairMatrix,
    Panel,
    RankTable,
    Reliability,
    RunBlock,
    RunComparison,
    StudyBlock,
    TrustBlock,
)
from summeter.report.compare import comparison
from summeter.report.failures import failures
from summeter.report.head_to_head import head_to_head
from summeter.report.head_to_head import verdict as pair_verdict
from summeter.report.items import ItemList, Where
from summeter.report.listing import listed_summaries
from summeter.report.ranks import headline, rank_tables
from summeter.report.reliability import TOLERANCE, Agreement, agreements, cautions, reliabilities
from summeter.report.strengths import panels
from summeter.report.studies import about, studies
from summeter.report.trust_studies import is_complete, trusted, verdicts
from summeter.report.views import RunView, Source, sources, views
from summeter.report.words import Gloss, gloss
from summeter.runs.run import RunFolder
from summeter.tables import Table

# Names of files and folders that do not describe the data; the name of the enclosing folder is used instead.
_GENERIC = frozenset({"summaries", "rows", "data", "stdin", "-"})
# Options that affect the numbers. Endpoints and timeouts do not affect them, and an endpoint may contain a host name.
_OPTIONS = ("limit", "seed", "temperature", "max_reply", "repeats")
# The figures of each section of the page
_FIGURES = {
    "ranking": ("trend", "intervals", "distributions"),
    "agreement": ("agreement", "calibration", "correlations", "cost"),
    "strengths": ("errors", "positions", "domains", "abstraction"),
}
# Maximum number of study names in a heading.
_TITLES = 2
_STATUSES = ("ok", "unparsed", "refused", "error", "skipped")


class Page(NamedTuple):
    """All blocks of a report. Without `runs`, the report shows only studies.

    `agreements_elsewhere` contains sentences about judges whose agreement was measured only on other data. `figures`
    are those of the sections on the ranking, on agreement with people, and on strengths. `sample` says which summaries
    are listed, or is None if all are.
    """

    title: str
    runs: tuple[RunBlock, ...]
    tables: tuple[RankTable, ...]
    panels: tuple[Panel, ...]
    figures: Mapping[str, tuple[Figure, ...]]
    head_to_head: tuple[PairMatrix, ...]
    agreements: tuple[Agreement, ...]
    agreements_elsewhere: tuple[str, ...]
    reliabilities: tuple[Reliability, ...]
    trusted: tuple[TrustBlock, ...]
    verdicts: Table
    studies: tuple[StudyBlock, ...]
    failures: tuple[FailureGroup, ...]
    items: ItemList
    sample: str | None
    comparisons: tuple[RunComparison, ...]
    sources: tuple[Source, ...]
    glossary: tuple[Gloss, ...]


def page(parts: Sequence[RunFolder | Study], *, title: str | None = None, tolerance: float = TOLERANCE) -> Page:
    """Return the blocks of a report on runs and studies, which may be in any order.

    The first run is compared with each of the others, unless `parts` contains comparisons of runs (see `compare_runs`),
    which also bring their runs. The study `sources` is added for runs in which sources were judged alone. Systems on
    which two ratings by a judge have a correlation below `tolerance` are flagged. Raises UsageError if there is neither
    a run nor a study, or if an argument is anything else.
    """
    runs = [part for part in parts if isinstance(part, RunFolder)]
    compared = [part for part in parts if isinstance(part, Versions)]
    study_list = [part for part in parts if isinstance(part, Study) and not isinstance(part, Versions)]
    judged = trusted(list(filter(is_complete, study_list)))
    for each in compared:
        pair = (each.pairing.a, each.pairing.b)
        absent = Counter(run.folder.resolve() for run in pair) - Counter(run.folder.resolve() for run in runs)
        for run in pair:
            if absent[run.folder.resolve()] > 0:
                absent[run.folder.resolve()] -= 1
                runs.append(run)
    other = next((part for part in parts if not isinstance(part, RunFolder | Study)), None)
    if other is not None:
        raise UsageError(f"a report takes runs and studies, got {type(other).__name__}")
    if not parts:
        raise UsageError("a report needs at least one run or study")
    for run in runs:
        if run.by_source() is not None:
            with suppress(UsageError):  # no judge labels sentences or claims
                study_list.append(sources_of(run))
    chosen, sample = listed_summaries(runs)
    run_views = views(runs, chosen)
    if title is None and runs:
        title = listed(list(dict.fromkeys(map(data_name, run_views))))
    elif title is None and len(judged) == 1 and len(study_list) == 1:
        title = f"How far can {judged[0].name} be trusted?"
    elif title is None:
        names = list(dict.fromkeys(about(study.name).title for study in study_list))
        title = " · ".join(names) if len(names) <= _TITLES else f"{len(names)} studies of judges"
    judges = sources(run_views)
    tables = rank_tables(run_views, judges)
    agreed = [tuple(agreements(view, judges)) for view in run_views]
    items = ItemList(run_views, judges)
    return Page(
        title=title,
        runs=tuple(_run(view, judges, of_run) for view, of_run in zip(run_views, agreed, strict=True)),
        tables=tables,
        panels=panels(run_views[0], judges, tables[0]) if tables else (),
        figures={name: tuple(_drawn(run_views, names)) if tables else () for name, names in _FIGURES.items()},
        head_to_head=head_to_head(run_views, judges),
        agreements=tuple(each for of_run in agreed for each in of_run),
        agreements_elsewhere=tuple(dict.fromkeys(line for run in runs for line in agreement_elsewhere(run))),
        reliabilities=reliabilities(runs, tolerance=tolerance),
        trusted=judged,
        verdicts=verdicts(judged),
        studies=studies([study for study in study_list if not is_complete(study)]),
        failures=failures(run_views, judges, items.where),
        items=items,
        sample=sample,
        comparisons=tuple(_comparisons(compared, run_views, items.where)),
        sources=tuple(judges),
        glossary=tuple(dict.fromkeys(map(gloss, items.aspects))),
    )


def _drawn(run_views: Sequence[RunView], names: Sequence[str]) -> Iterator[Figure]:
    """Yield the figures that can be drawn from the runs."""
    priced = any(usage.cost for view in run_views for usage in view.manifest.judge_usage.values())
    for name in names:
        if name != "cost" or priced:
            with suppress(UsageError):
                yield plot.FIGURES[name]([view.folder for view in run_views])


def _comparisons(compared: Sequence[Versions], run_views: Sequence[RunView], where: Where) -> Iterator[RunComparison]:
    """Yield the comparisons, or by default those of the first run with each of the others."""
    if not compared:
        for view in run_views[1:]:
            yield comparison(compare_runs(run_views[0].folder, view.folder), run_views[0], view, where)
    for each in compared:
        a, b = ([view for view in run_views if view.folder.folder.resolve() == run.folder.resolve()]
                for run in (each.pairing.a, each.pairing.b))  # fmt: skip
        yield comparison(each, a[0], b[-1], where)


def data_name(view: RunView) -> str:
    """Return the name on the dataset card, or else the name of the data file or folder."""
    source = PurePath(view.manifest.data.source)
    names = (view.data.card.name, source.name.partition(".")[0], source.parent.name)
    return next((name for name in names if name and name not in _GENERIC), names[0])


def _run(view: RunView, judges: Sequence[Source], agreed: Sequence[Agreement]) -> RunBlock:
    manifest, totals = view.manifest, view.folder.totals
    statuses = totals.statuses
    claims = [pair.test for pair in view.pairs if pair.test]
    verdict = (pair_verdict(view),) if view.pairs and not len(view.table) else headline(view, judges)
    gaps = [note for note in (view.table.missing(), view.table.unjudged()) if note]
    return RunBlock(
        view=view,
        data_name=data_name(view),
        when=_when(manifest.created, manifest.updated),
        judges=_judges(view),
        judged=len(view.folder.judged()),
        counts={status: statuses[status] for status in _STATUSES if status in statuses},
        wanted=sum(statuses.values()) - statuses.get("skipped", 0),
        verdict=(*verdict, *cautions(agreed)),
        missing=Phrase.join(" ", gaps) if gaps else None,
        truncated=str(totals.truncated) if totals.truncated.judgments else None,
        intervals=tuple(filter(None, dict.fromkeys([*(row.interval for row in view.table.rows), *claims]))),
        options=tuple(
            (name, str(value))
            for name in _OPTIONS
            if (value := manifest.options.get(name)) is not None and (name, value) != ("repeats", 1)
        ),
        replayed_from=PurePath(manifest.replayed_from).name if manifest.replayed_from else None,
        replay=_replay(view),
        rebuild=f"summeter report {shlex.quote(view.name)} -o report.html",
        browse=f"summeter view {shlex.quote(view.name)}",
        trust=f"summeter trust {shlex.quote(view.name)}",
    )


def _when(start: str, end: str) -> str:
    """Return a string such as `2026-11-21, 23:03 to 23:09 UTC`.

    Timestamps in other formats are returned unchanged.
    """
    try:
        first, last = datetime.fromisoformat(start).astimezone(UTC), datetime.fromisoformat(end).astimezone(UTC)
    except ValueError:
        return start
    begin, finish = f"{first:%Y-%m-%d, %H:%M}", f"{last:%Y-%m-%d, %H:%M}"
    if begin == finish:
        return f"{begin} UTC"
    return f"{begin} to {f'{last:%H:%M}' if first.date() == last.date() else finish} UTC"


def _judges(view: RunView) -> tuple[str, ...]:
    """Return the judges of a run, each with its model.

    If several judges have the same name, the settings that distinguish them are added.
    """
    keys = [JudgeKey(judge.name, judge.signature, judge.model) for judge in view.judges]
    names = judge_names(keys)
    words = []
    for judge, key in zip(view.judges, keys, strict=True):
        name = names[key]
        model = "" if judge.model is None or name.endswith(f"({judge.model})") else f" ({judge.model})"
        words.append(f"{name}{model}{', imported' if judge.imported else ''}")
    return tuple(words)


def _replay(view: RunView) -> str | None:
    """Return the command that repeats the run without a model.

    Returns None if the run contains imported judgments.
    """
    judges = view.manifest.judges
    if not judges or any(judge.imported for judge in judges):
        return None
    parts = ["summeter", "score", f"{view.name}/data"]
    options = view.manifest.options
    for name in _OPTIONS:
        # A temperature of None means the provider's default, which is not the default of summeter.
        value = "none" if name == "temperature" and name in options and options[name] is None else options.get(name)
        if value is not None and (name, value) not in {("temperature", 0), ("repeats", 1)}:
            parts += [f"--{name.replace('_', '-')}", str(value)]
    for role, tokens in (options.get("context") or {}).items():
        parts += ["--context", str(tokens) if role == "*" else f"{role}={tokens}"]
    if options.get("on_overflow", "window") != "window":
        parts += ["--on-overflow", str(options["on_overflow"])]
    return shlex.join([*parts, "--replay", view.name, "-o", f"{view.name}-again"])
