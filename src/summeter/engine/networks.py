"""The local models of a run: found when it is planned, bound when it starts, counted when it ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from summeter.evaluators.base import Evaluator
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.base import Kind
from summeter.records import UsageError
from summeter.runs.manifest import LocalTaken, Manifest

if TYPE_CHECKING:
    from summeter.models.local.batcher import LocalUsage
    from summeter.models.local.bind import Network


def kinds_of(evaluators: Sequence[Evaluator]) -> dict[str, Kind]:
    """The kinds of all roles that take a local model. UsageError for a role that is two things at once."""
    found: dict[str, Kind] = {}
    for evaluator in _every(evaluators):
        for role in evaluator.required_roles:
            kind = evaluator.local_model_kinds.get(role)
            if kind is not None and found.setdefault(role, kind) != kind:
                raise UsageError(f"the role {role!r} is a {kind} model to {evaluator.name} and a {found[role]} "
                                 "model to another evaluator; run them apart")  # fmt: skip
    return found


def brought(evaluators: Sequence[Evaluator]) -> dict[str, str]:
    """The models that evaluators bring along, by role."""
    return {
        role: part.default_models[role]
        for part in _every(evaluators)
        for role in part.required_roles
        if role in part.default_models
    }


def _every(evaluators: Iterable[Evaluator]) -> Iterator[Evaluator]:
    """All that do some work: parts of bundles, and the members of derived judges under whatever role."""
    for part in (part for whole in evaluators for part in whole.parts()):
        if isinstance(part, DerivedEvaluator):
            yield from _every(member.evaluator for member in part.members)
        yield part


class ModelLookup(NamedTuple):
    """How local models are looked for: `offline` takes nothing from the hub; `fetch` False neither, and a model of the
    hub that is not here is then none; `replay` is the run whose models are meant."""

    offline: bool = False
    fetch: bool = True
    replay: Path | None = None


def find(evaluators: Sequence[Evaluator], bound: Mapping[str, str], lookup: ModelLookup) -> dict[str, Network]:
    """Role -> local model, for the roles that are bound. Nothing is loaded."""
    kinds = {role: kind for role, kind in kinds_of(evaluators).items() if role in bound}
    return {role: _identify(role, bound[role], kind, lookup) for role, kind in kinds.items()}


def _identify(role: str, text: str, kind: Kind, lookup: ModelLookup) -> Network:
    from summeter.models.local.bind import Network, identify

    offline = lookup.offline or not lookup.fetch or lookup.replay is not None
    try:
        return identify(role, text, kind, offline=offline, recorded=_recorded(lookup.replay, role))
    except UsageError:
        if lookup.fetch or lookup.offline or not text.startswith("hf/"):
            raise
        return Network(role, kind, text)


def _recorded(replay: Path | None, role: str) -> list[str]:
    if replay is None:
        return []
    from summeter.runs.run import read_manifest

    judges = read_manifest(replay).judges
    return list(dict.fromkeys(judge.models[role] for judge in judges if role in judge.models))


def with_usage(manifest: Manifest, used: Mapping[str, LocalUsage]) -> Manifest:
    """The manifest with what each local model did, this session and those before it."""
    from dataclasses import asdict

    local = dict(manifest.local)
    for model, usage in used.items():
        before = local.get(model, LocalTaken())
        local[model] = LocalTaken(**{name: getattr(before, name) + number for name, number in asdict(usage).items()})
    return manifest.model_copy(update={"local": local})


def copy_results(replay: Path, folder: Path) -> None:
    """The new run holds the results it was replayed from, so that it can be replayed in turn."""
    import sqlite3

    from summeter.runs.results import RESULTS

    source, copy = replay / RESULTS, folder / RESULTS
    if not source.exists() or copy.exists():
        return
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(copy)) as new:
        old.backup(new)
