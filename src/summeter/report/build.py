"""From runs to the blocks of a page. Everything a report states is computed here or below, nothing when drawing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePath

from summeter._version import __version__
from summeter.meta.results import Study
from summeter.records import JudgeKey, UsageError, judge_names
from summeter.report.blocks import Count, ItemList, Page, Provenance, RunHead, Signed
from summeter.report.compare import comparisons
from summeter.report.failures import Failing
from summeter.report.head_to_head import head_to_head
from summeter.report.head_to_head import verdict as pair_verdict
from summeter.report.items import ItemListBuilder, JudgeFilters
from summeter.report.ranks import rank_tables, verdict
from summeter.report.reliability import TOLERANCE, reliabilities
from summeter.report.strengths import Errors, heats, panels
from summeter.report.studies import about, studies
from summeter.report.views import RunView, Source, sources, views
from summeter.report.words import ALARM, gloss
from summeter.runs.manifest import JudgeEntry, ModelUsage
from summeter.runs.run import RunFolder

# Names that say nothing: the name of the file or folder around them says more.
_GENERIC = frozenset({"summaries", "rows", "data", "stdin", "-"})
# The choices that bear on the numbers. Endpoints and time limits do not, and an endpoint may name a host.
_BEARING = ("limit", "seed", "temperature", "max_reply", "repeats")
# A heading of more names is no heading.
_NAMED = 2
_STATUSES = ("ok", "unparsed", "refused", "error", "skipped")


def page(
    parts: Sequence[RunFolder | Study], *, title: str | None = None, tolerance: float = TOLERANCE
) -> Page:  # fmt: skip
    """The blocks of a report over runs and studies, in any order. The first run is the one others are compared with.

    Systems on which a judge agrees with itself less than `tolerance` are flagged.

    Raises UsageError without a run or a study, and for anything else among them.
    """
    runs, given = _sorted(parts)
    seen = views(runs)
    found = sources(seen)
    tables = rank_tables(seen, found)
    builder = ItemListBuilder(seen, found)
    failing, errors, filters = Failing(found, builder.where), Errors(), JudgeFilters(found)
    for view in seen:
        for one in view.folder.iter_judgments():
            failing.add(view.place, one)
            filters.add(view.place, one)
            if view is seen[0]:
                errors.add(one)
    items = builder.build(filters.filters())
    order = [row.system for row in tables[0].rows] if tables else []
    return Page(
        title=title or _title(seen, given), summeter=__version__,
        heads=tuple(_head(view) for view in seen), tables=tables,
        panels=panels(seen[0], found, tables[0], errors) if tables else (),
        heats=heats(seen[0], found, order) if seen else (),
        duels=head_to_head(seen, found), reliabilities=reliabilities(runs, tolerance=tolerance),
        studies=studies(given), failures=failing.groups(), items=items,
        comparisons=comparisons(seen, found, builder.where),
        signed=tuple(_signed(seen[source.run], source) for source in found),
        provenance=tuple(_provenance(view) for view in seen), glossary=_glossary(items),
    )  # fmt: skip


def _sorted(parts: Sequence[RunFolder | Study]) -> tuple[list[RunFolder], list[Study]]:
    """Runs and studies apart, each in the order given."""
    runs = [part for part in parts if isinstance(part, RunFolder)]
    given = [part for part in parts if isinstance(part, Study)]
    strange = next((part for part in parts if not isinstance(part, RunFolder | Study)), None)
    if strange is not None:
        raise UsageError(f"a report is made of runs and studies; it was given a {type(strange).__name__}")
    if not parts:
        raise UsageError("a report needs at least one run or study")
    return runs, given


def _title(seen: Sequence[RunView], given: Sequence[Study]) -> str:
    if seen:
        return " and ".join(dict.fromkeys(data_name(view) for view in seen))
    names = list(dict.fromkeys(about(study.name).title for study in given))
    return " · ".join(names) if len(names) <= _NAMED else f"{len(names)} studies of judges"


def data_name(view: RunView) -> str:
    """What the data are called: the name on their card, else the file's own name."""
    source = PurePath(view.manifest.data.source)
    names = (view.data.card.name, source.name.partition(".")[0], source.parent.name)
    return next((name for name in names if name and name not in _GENERIC), names[0])


def _head(view: RunView) -> RunHead:
    manifest, by_status = view.manifest, view.folder.totals.statuses
    total = sum(by_status.values())
    return RunHead(
        letter=view.letter, name=view.name, status=manifest.status, alarm=ALARM.get(manifest.status),
        when=_when(manifest.created, manifest.updated),
        judges=_judges(view), data_name=data_name(view),
        documents=len(view.data.documents), summaries=len(view.data.summaries),
        judged=len(view.judged),
        systems=len(view.data.systems), domains=len(view.data.domains),
        counts=tuple(
            Count(status, by_status[status], by_status[status] / total) for status in _STATUSES if status in by_status
        ),
        wanted=total - by_status.get("skipped", 0), coverage=view.coverage,
        verdict=pair_verdict(view) if view.pairs and not len(view.table) else verdict(view),
        left_out=str(cut) if (cut := view.folder.totals.truncated).judgments else None,
    )  # fmt: skip


def _when(start: str, end: str) -> str:
    """`2026-11-21, 23:03 to 23:09 UTC`; stamps that are no times of the format runs write stay as they are."""
    try:
        first, last = datetime.fromisoformat(start).astimezone(UTC), datetime.fromisoformat(end).astimezone(UTC)
    except ValueError:
        return start
    begun = f"{first:%Y-%m-%d, %H:%M}"
    if f"{last:%Y-%m-%d, %H:%M}" == begun:
        return f"{begun} UTC"
    return f"{begun} to {last:%H:%M} UTC" if first.date() == last.date() else f"{begun} to {last:%Y-%m-%d, %H:%M} UTC"


def _judges(view: RunView) -> tuple[str, ...]:
    """Who judged, each with its model and what tells it from its namesakes."""
    named = [JudgeKey(judge.name, judge.signature, judge.model) for judge in view.judges]
    names = judge_names(named)
    return tuple(_judge_words(judge, names[one]) for judge, one in zip(view.judges, named, strict=True))


def _judge_words(judge: JudgeEntry, name: str) -> str:
    named = name if judge.model is None or name.endswith(f"({judge.model})") else f"{name} ({judge.model})"
    return f"{named}, imported" if judge.imported else named


_REDUCED = {
    "share": "share of units labelled 1", "mean": "mean of values", "whole": "value of the whole summary",
}  # fmt: skip


def _signed(view: RunView, source: Source) -> Signed:
    judge = next(one for one in view.judges if (one.name, one.signature) == (source.judge, source.signature))
    how = _REDUCED[judge.reduce]
    if any((one.judge, one.signature) == (judge.name, judge.signature) for one in view.pairs):
        how = "mean preference over documents"
    return Signed(
        letter=view.letter, label=source.label, judge=judge.name, model=judge.model, aspects=judge.aspects, reduce=how,
        signature=judge.signature, imported=judge.imported,
    )  # fmt: skip


def _provenance(view: RunView) -> Provenance:
    manifest = view.manifest
    return Provenance(
        letter=view.letter, name=view.name, data_name=data_name(view), data_hash=manifest.data.hash,
        splitter=manifest.data.splitter, summeter=manifest.summeter, python=manifest.python,
        intervals=_intervals(view),
        options=tuple(
            (name, str(value)) for name in _BEARING
            if (value := manifest.options.get(name)) is not None and (name, value) != ("repeats", 1)
        ),
        replayed_from=PurePath(manifest.replayed_from).name if manifest.replayed_from else None,
        replay=_replay(view), rebuild=f"summeter report {shlex.quote(view.name)} -o report.html",
        taken=tuple(_taken(model, used) for model, used in manifest.usage.items()),
    )  # fmt: skip


def _taken(model: str, used: ModelUsage) -> str:
    """What a model took, in a line."""
    cost = f"cost unknown ({used.reason})" if used.cost is None else f"${used.cost:,.4f}"
    return f"{model}: {used.calls:,} calls, {used.tokens_in:,} tokens in, {used.tokens_out:,} out, {cost}"


def _intervals(view: RunView) -> tuple[str, ...]:
    pairs = [pair.interval for pair in view.pairs]
    return tuple(dict.fromkeys([*(row.interval for row in view.table.rows), *pairs]))


def _replay(view: RunView) -> str | None:
    """The command that makes the run again without any model; None where judgments were imported."""
    judges = view.manifest.judges
    if not judges or any(judge.imported for judge in judges):
        return None
    parts = ["summeter", "score", f"{view.name}/data"]
    for spec in dict.fromkeys(map(_spec, judges)):
        parts += ["-e", spec]
    models = {role: model for judge in judges for role, model in judge.models.items()}
    for role, model in models.items():
        parts += ["-m", f"{role}={model}"]
    options = view.manifest.options
    for name in _BEARING:
        # A temperature of None means "the provider's own", which is not the default here.
        value = "none" if name == "temperature" and name in options and options[name] is None else options.get(name)
        if value is not None and (name, value) not in {("temperature", 0), ("repeats", 1)}:
            parts += [f"--{name.replace('_', '-')}", str(value)]
    for role, tokens in (options.get("context") or {}).items():
        parts += ["--context", str(tokens) if role == "*" else f"{role}={tokens}"]
    if options.get("on_overflow", "window") != "window":
        parts += ["--on-overflow", str(options["on_overflow"])]
    return shlex.join([*parts, "--replay", view.name, "-o", f"{view.name}-again"])


def _spec(judge: JudgeEntry) -> str:
    settings = ",".join(f"{name}={_plain(value)}" for name, value in judge.settings.items() if value is not None)
    return f"{judge.name}[{settings}]" if settings else judge.name


def _plain(value: object) -> str:
    if isinstance(value, str) and PurePath(value).is_absolute():
        return PurePath(value).name  # where a file lies is nobody's business but the owner's
    return str(value).lower() if isinstance(value, bool) else str(value)


def _glossary(items: ItemList) -> tuple[tuple[str, str, str], ...]:
    return tuple(dict.fromkeys((one.title, one.meaning, one.formula) for one in map(gloss, items.aspects)))
