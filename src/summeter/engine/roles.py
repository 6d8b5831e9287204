"""The models of a run by role: which they are, the local ones found, and how much each reads.

How much a model reads is asked once, where the user did not say, and kept in the run: a document that does not fit is
shown in parts, so what a judge is asked hangs on this number. A replay and a run that is carried on go by the number of
the run before; a server that now reads less is handed no more than it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from summeter.engine.options import Options
from summeter.evaluators.base import Evaluator
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.context_length import context_lengths
from summeter.models.networks import ModelTask
from summeter.models.providers.provider import Options as EndpointOptions
from summeter.records import Message, Parameter, UsageError, nearest
from summeter.runs.manifest import Manifest, ModelContext

if TYPE_CHECKING:
    from summeter.models.local.load import BoundNetwork


def parts_of(evaluators: Iterable[Evaluator]) -> list[Evaluator]:
    """The parts of all evaluators, in order."""
    return [part for evaluator in evaluators for part in evaluator.components()]


def default_models(evaluators: Sequence[Evaluator]) -> dict[str, str]:
    """The models that evaluators bring along, by role."""
    return {
        name: default
        for part in _with_members(evaluators)
        for name in part.required_roles
        if (default := part.role(name).default) is not None
    }


class ReplaySession(NamedTuple):
    """Evaluators of a replay, and the models of their roles, of which each role has one."""

    evaluators: list[Evaluator]
    models: dict[str, str]


def replay_sessions(
    evaluators: Iterable[Evaluator], run: Manifest, given: Mapping[str, str], sampling: Mapping[str, object]
) -> list[ReplaySession]:
    """The sessions that repeat a recorded run, in its order: consecutive judges whose roles have the same models share
    one.

    An evaluator is repeated with the models of every judge that the run has under its name and signature, unless the
    models that are `given` by role are others. One without such a judge comes last, with the model of each role that
    had a single model in the run.
    """
    by_role: dict[str, set[str]] = {}
    for entry in run.judges:
        for role, model in entry.models.items():
            by_role.setdefault(entry.roles.get(role, role), set()).add(model)
    single = {role: next(iter(names)) for role, names in by_role.items() if len(names) == 1}
    repeated: list[tuple[int, Evaluator, dict[str, str]]] = []
    for evaluator in evaluators:
        judges = {
            place: judge
            for place, judge in enumerate(run.judges)
            if judge.name == evaluator.name
            and not judge.imported
            and all(given.get(role, model) == model for role, model in judge.models.items())
            and judge.signature == evaluator.sign(judge.models, run.data.splitter, sampling)
        }
        # A member that another role's model answered counts only where there is no other.
        own = {place: judge for place, judge in judges.items() if not judge.roles} or judges
        repeated += [(place, evaluator, judge.models) for place, judge in own.items()]
        if not own:
            repeated.append((len(run.judges), evaluator, single))
    sessions: list[ReplaySession] = []
    for _, evaluator, models in sorted(repeated, key=lambda each: each[0]):
        bound = {**models, **given}
        if not sessions or any(sessions[-1].models.get(role, model) != model for role, model in bound.items()):
            sessions.append(ReplaySession([], {}))
        sessions[-1].evaluators.append(evaluator)
        sessions[-1].models.update(bound)
    return sessions


def check_roles(evaluators: Sequence[Evaluator], models: Iterable[str]) -> None:
    """UsageError for a model in a role that none of the evaluators asks for: mostly a slip of the pen."""
    names = ", ".join(dict.fromkeys(evaluator.name for evaluator in evaluators))
    roles = sorted({role for part in parts_of(evaluators) for role in part.required_roles})
    for role in models:
        if role not in roles and not roles:
            raise UsageError(
                Parameter("models"),
                f" binds a model to the role {role!r}, but no model is asked by {names}; drop ",
                Parameter("models"),
                ", or choose other evaluators with ",
                Parameter("evaluators"),
                " (`summeter list evaluators`)",
            )
        if role not in roles:
            raise UsageError(
                Parameter("models"),
                f" binds a model to the role {role!r}, which no evaluator asks for"
                f"{nearest(role, roles)}; roles of {names}: {', '.join(roles)}",
            )


def models_of(evaluator: Evaluator, names: Mapping[str, str], models: Mapping[str, str]) -> dict[str, str]:
    """The models of an evaluator's roles (role -> name in the run). UsageError that names all roles without a model."""
    missing = [role for role, name in names.items() if name not in models]
    if not missing:
        return {role: models[name] for role, name in names.items()}
    parts: list[str | Parameter] = []
    for role in missing:
        name = names[role]
        asked = evaluator.role(role)
        if asked.kind != "llm":
            from summeter.models.local.load import how_to_bind

            how = how_to_bind(name)
        else:
            example = Parameter("models", f"{name}=openai/gpt-4o")
            how = Message(Parameter("models", f"{name}=PROVIDER/MODEL"), " (for example ", example, ")")
        also = ". It also" if parts else evaluator.name
        hint = f". {asked.hint.removesuffix('.')}" if asked.hint else ""
        parts += [f"{also} asks a model in the role {name!r}; bind one with ", how, hint]
    raise UsageError(*parts)


def _with_members(evaluators: Iterable[Evaluator]) -> Iterator[Evaluator]:
    """All that do some work: parts of bundles, and the members of derived judges under whatever role."""
    for part in parts_of(evaluators):
        if isinstance(part, DerivedEvaluator):
            yield from _with_members(member.evaluator for member in part.members)
        yield part


# ---- local models ----


class ModelLookup(NamedTuple):
    """How local models are looked for: `offline` takes nothing from the hub; `fetch` False neither, and a model of the
    hub that is not here is then none; `replay` is the run whose models are meant."""

    offline: bool = False
    fetch: bool = True
    replay: Manifest | None = None

    def find(self, evaluators: Sequence[Evaluator], bound: Mapping[str, str]) -> dict[str, BoundNetwork]:
        """Role -> local model, for the roles that are bound. Nothing is loaded. UsageError for a role that is two
        things at once."""
        tasks: dict[str, ModelTask] = {}
        for evaluator in _with_members(evaluators):
            for role in evaluator.required_roles:
                task = evaluator.role(role).kind
                if task != "llm" and tasks.setdefault(role, task) != task:
                    raise UsageError(
                        f"the role {role!r} is a {task} model to {evaluator.name} and a {tasks[role]} "
                        "model to another evaluator; run them apart"
                    )
        return {role: self._find(role, bound[role], task) for role, task in tasks.items() if role in bound}

    def _find(self, role: str, text: str, task: ModelTask) -> BoundNetwork:
        from summeter.models.local.load import BoundNetwork, identify

        judges = () if self.replay is None else self.replay.judges
        recorded = dict.fromkeys(judge.models[role] for judge in judges if role in judge.models)
        if text in recorded:
            recorded = {text: None}
        offline = self.offline or not self.fetch or self.replay is not None
        try:
            return identify(role, text, task, offline=offline, recorded=list(recorded))
        except UsageError:
            if self.fetch or self.offline or not text.startswith("hf/"):
                raise
            return BoundNetwork(role, task, text)


# ---- how much the models read ----


async def contexts(
    models: Mapping[str, str],
    options: Options,
    before: Manifest | None,
    *,
    replay: Manifest | None = None,
    load: bool = True,
) -> dict[str, ModelContext]:
    """Model string -> what it reads, of the models (by role) whose context was not told.

    `before` is the run that is carried on, if there is one; `replay` the one that answers, which nobody is asked about.
    With `load` a server may load its model to know. Nothing here fails a run.
    """
    wanted = dict.fromkeys(model for role, model in models.items() if options.context_of(role) is None)
    if replay is not None:
        return {model: replay.contexts[model] for model in wanted if model in replay.contexts}
    recorded = {} if before is None else before.contexts
    lengths = await context_lengths(wanted, EndpointOptions(options.base_url, options.timeout), load=load)
    for model, now in lengths.items():
        old = recorded.get(model, now)
        if old.tokens is not None and (now.tokens is None or now.tokens >= old.tokens):
            lengths[model] = old
        elif old.tokens is not None:
            said = f"{now.said}, and it was {old.tokens:,} in an earlier session"
            lengths[model] = ModelContext(tokens=now.tokens, said=said)
    return lengths
